"""Plot of the two distances of NLDD, with the expected loss of its regression."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import check_is_fitted

from nearlabel.lazy import NLDD
from nearlabel.lazy.double_distances import Pairs
from nearlabel.models.unwrapped import unwrapped
from nearlabel.plots import _figure
from nearlabel.utils.containers import checked_container, require_dense, without_mask
from nearlabel.utils.targets import as_label_matrix
from nearlabel.utils.types import FloatArray, IntArray, MatrixLike
from nearlabel.utils.validation import as_dense, check_integer

_N_LINES, _N_STEPS = 6, 50  # number of lines of equal expected loss, and of points of their grid
_MOST_TICKS = 12


class DoubleDistancesDisplay(_figure.Display):
    """Pairs of a query and a training sample by their two distances, coloured by the number of wrong labels.

    The x-axis is the distance Dx between features, the y-axis the distance Dy from the query's label probabilities to
    the training sample's label set. Lines connect points of equal expected loss, with the weights that
    `nearlabel.lazy.NLDD` gives to the distances: the steeper the lines, the more the features count. `from_estimator`
    draws the pairs to which the regression was fitted; `from_query` draws one query with all training samples, as in
    figure 2 of Gweon et al. (2019).

    Parameters
    ----------
    dx, dy : array-like of shape (n_pairs,)
        The distances.
    loss : array-like of shape (n_pairs,), default=None
        Number of labels in which the two label sets differ, shown by the colour of the point. None: unknown.
    expected_loss : callable, default=None
        Function of arrays dx and dy that returns the expected loss, such as `NLDD.expected_loss`. None: no lines.
    marks : mapping of str to int, default=None
        Indices of single pairs to circle, by name.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last drawing.
    figure_ : matplotlib Figure
        The figure that contains these axes.

    Raises
    ------
    ValueError
        If there are no pairs, the lengths differ, or a mark is not the index of a pair.

    References
    ----------
    H. Gweon, M. Schonlau, S. H. Steiner: Nearest labelset using double distances for multi-label classification. PeerJ
    Computer Science 5:e242, 2019.

    Examples
    --------
    >>> from nearlabel.plots import DoubleDistancesDisplay
    >>> display = DoubleDistancesDisplay([1.2, 3.0], [0.9, 0.4], [2, 0], marks={"nearest in the labels": 1})
    >>> file = display.write("pairs.png", title="Two rows")  # doctest: +SKIP
    """

    def __init__(
        self,
        dx: ArrayLike,
        dy: ArrayLike,
        loss: ArrayLike | None = None,
        *,
        expected_loss: Callable[[FloatArray, FloatArray], FloatArray] | None = None,
        marks: Mapping[str, int] | None = None,
    ) -> None:
        for name, values in (("dx", dx), ("dy", dy), ("loss", loss)):
            require_dense(name, values)
        self.dx: FloatArray = np.asarray(dx, dtype=np.float64)
        self.dy: FloatArray = np.asarray(dy, dtype=np.float64)
        self.loss: IntArray | None = None if loss is None else np.asarray(loss).astype(np.int64)
        self.expected_loss = expected_loss
        self.marks = {} if marks is None else dict(marks)
        shapes = [self.dx.shape, self.dy.shape, *([] if self.loss is None else [self.loss.shape])]
        if len(set(shapes)) > 1 or self.dx.ndim != 1 or not self.dx.size:
            raise ValueError(
                "dx, dy and loss must be of one shape (n_pairs,) with at least one pair,"
                f" got {', '.join(map(str, shapes))}."
            )
        for name, place in self.marks.items():
            if not 0 <= place < len(self.dx):
                raise ValueError(f"marks must be numbers of pairs below {len(self.dx)}, got {name!r}: {place}.")

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **style: Any) -> Self:
        """Draw the pairs of training samples to which the weights of a fitted NLDD were fitted.

        Parameters
        ----------
        estimator : fitted estimator
            An `NLDD`, or a pipeline, parameter search or threshold classifier around one, as
            `nearlabel.models.explain` accepts them.
        ax : matplotlib Axes, default=None
            As in `plot`.
        **style : properties of matplotlib
            Style of the points.

        Returns
        -------
        DoubleDistancesDisplay
            Drawn.

        Raises
        ------
        TypeError
            If the estimator does not contain an `NLDD`.
        ValueError
            If it has no pairs because it was fitted to a single sample.
        sklearn.exceptions.NotFittedError
            If it is not fitted.
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        nldd = _nldd_of(estimator)
        return cls(*nldd.pairs_.T, expected_loss=nldd.expected_loss).plot(ax, **style)

    @classmethod
    def from_query(
        cls,
        estimator: Any,
        X: MatrixLike,
        Y: MatrixLike | None = None,
        *,
        row: int = 0,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw one query with all training samples; circle the nearest by each distance, and the predicted one.

        Parameters
        ----------
        estimator : fitted estimator
            As in `from_estimator`.
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Samples.
        Y : array-like, data frame or sparse container of shape (n_samples, n_labels), default=None
            Their label sets as an indicator matrix of 0 and 1. None: unknown; all points have one colour.
        row : int, default=0
            Row of the query in X.
        ax : matplotlib Axes, default=None
            As in `plot`.
        **style : properties of matplotlib
            Style of the points.

        Returns
        -------
        DoubleDistancesDisplay
            Drawn.

        Raises
        ------
        TypeError
            If the estimator does not contain an `NLDD`.
        ValueError
            If there is no such row, X does not match the classifier, or Y is malformed or does not match both.
        sklearn.exceptions.NotFittedError
            If the estimator is not fitted.
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        nldd, one, true = _nldd_of(estimator), *_row_of(X, Y, row)
        dx, dy, labelset = nldd.distances_to_rows(unwrapped(estimator).transformed(one))
        pairs = Pairs(np.arange(len(labelset)), labelset, dx[0], dy[0])
        weights = {
            "nearest in the features": (1.0, 0.0),
            "nearest in the labels": (0.0, 1.0),
            "predicted": (float(nldd.coef_[1]), float(nldd.coef_[2])),
        }
        marks = {name: pairs.place_of_first(of) for name, of in weights.items()}
        loss = None if true is None else _loss(nldd, labelset, true)
        return cls(dx[0], dy[0], loss, expected_loss=nldd.expected_loss, marks=marks).plot(ax, **style)

    def _size(self) -> tuple[float, float]:
        return 6.4, 5.2

    def _draw(self, ax: Any, **style: Any) -> None:
        _figure.set_open_frame(ax)
        ax.set(xlabel="distance in the features, Dx", ylabel="distance in the label space, Dy")
        area = float(np.clip(6000 / len(self.dx), 8, 40))
        colours = {"color": _figure.BLUE} if self.loss is None else _colours(self.loss)
        points = ax.scatter(self.dx, self.dy, **({"s": area, "linewidths": 0} | colours | style))
        if self.loss is not None:
            _draw_bar(ax, points, int(colours["vmax"]))
        if self.expected_loss is not None:
            _draw_lines(ax, self.expected_loss)
        for number, (name, place) in enumerate(self.marks.items()):  # later marks of one point are larger, so visible
            colour = (_figure.INK, _figure.GREEN, _figure.BLUE)[number % 3]
            point = self.dx[place], self.dy[place]
            _figure.draw_mark(ax, name, point, number, color=colour, markersize=9 + 3 * number)
        _figure.set_legend(ax)


def _nldd_of(estimator: Any) -> NLDD:
    """Return the NLDD inside a fitted estimator."""
    found = unwrapped(estimator).classifier
    if not isinstance(found, NLDD):
        raise TypeError(
            "estimator must be an NLDD, or a pipeline, parameter search or threshold classifier around one,"
            f" got {type(estimator).__name__}."
        )
    check_is_fitted(found)
    return found


def _row_of(X: MatrixLike, Y: MatrixLike | None, row: int) -> tuple[Any, Any]:
    """Return one row as X with a single sample, and its label set or None."""
    X, labels = checked_container("X", X), None if Y is None else as_label_matrix(Y)
    number, (rows, true) = check_integer("row", row, low=0), indexable(X, labels)
    n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    if number >= n_rows:
        raise ValueError(f"row must be below the number of samples {n_rows}, got {row}.")
    return _safe_indexing(rows, [number]), None if true is None else as_dense(true[[number]])


def _loss(nldd: NLDD, labelset: IntArray, true: Any) -> IntArray:
    """Return the number of labels in which each training label set differs from the true one (1, n_labels)."""
    labelsets = as_dense(nldd.labelsets_)
    if true.shape[1] != labelsets.shape[1]:
        raise ValueError(f"Y must have {labelsets.shape[1]} labels, as the training data, got {true.shape[1]}.")
    return np.asarray((labelsets != true).sum(axis=1)[labelset])


def _colours(loss: IntArray) -> dict[str, Any]:
    """Return the colours of points by their loss: blue for an exact match."""
    most = max(int(loss.max()), 1)
    return {"c": loss, "cmap": _figure.colours_of_counts(most + 1), "vmin": -0.5, "vmax": most + 0.5}


def _draw_bar(ax: Any, points: Any, most: int) -> None:
    bar = ax.figure.colorbar(points, ax=ax, shrink=0.7, ticks=range(0, most + 1, 1 + most // _MOST_TICKS))
    bar.set_label("wrong labels", fontsize=9)
    bar.outline.set_edgecolor(_figure.GREY)


def _draw_lines(ax: Any, expected_loss: Callable[[FloatArray, FloatArray], FloatArray]) -> None:
    """Draw lines of equal expected loss within the current limits of the axes."""
    x, y = (np.linspace(low, high, _N_STEPS) for low, high in (ax.get_xlim(), ax.get_ylim()))
    grid = expected_loss(*np.meshgrid(x, y))
    if np.ptp(grid):
        lines = ax.contour(
            x, y, grid, levels=_N_LINES, colors=_figure.INK, linewidths=0.7, linestyles="solid", zorder=0
        )
        ax.clabel(lines, fontsize=8, fmt="%g wrong")


# Plot of the space of three labels as a cube.

# Direction of each axis in the plot: right, back, up.
_AXES = np.array([[1.0, 0.0], [0.42, 0.3], [0.0, 1.0]])
_CORNERS = np.array(list(product((0, 1), repeat=3)))


class LabelCubeDisplay(_figure.Display):
    """Probabilities of three labels as a point in a cube, and its distances to the label sets at the corners.

    Figure 1 of Gweon et al. (2019): a label set is a corner of the unit cube, label probabilities are a point in the
    cube, and nearer label sets are more likely. Distances are written next to the lines, since the plot is a
    projection.

    Parameters
    ----------
    probabilities : array-like of shape (3,)
        Probabilities of the labels.
    labelsets : array-like of shape (n_labelsets, 3)
        Label sets of 0 and 1.

    Attributes
    ----------
    distances : ndarray of shape (n_labelsets,)
        Euclidean distance from the probabilities to each label set.
    ax_ : matplotlib Axes
        Axes of the last drawing.
    figure_ : matplotlib Figure
        The figure that contains these axes.

    Raises
    ------
    ValueError
        If there are not three probabilities in [0, 1], or the label sets do not have three labels.

    References
    ----------
    H. Gweon, M. Schonlau, S. H. Steiner: Nearest labelset using double distances for multi-label classification. PeerJ
    Computer Science 5:e242, 2019.

    Examples
    --------
    >>> from nearlabel.plots import LabelCubeDisplay
    >>> LabelCubeDisplay([0.8, 0.4, 0.0], [[1, 1, 0], [1, 0, 0]]).distances.round(3).tolist()
    [0.632, 0.447]
    """

    def __init__(self, probabilities: ArrayLike, labelsets: ArrayLike) -> None:
        require_dense("probabilities", probabilities)
        require_dense("labelsets", labelsets)
        self.probabilities: FloatArray = np.asarray(without_mask(probabilities), dtype=np.float64)
        self.labelsets = np.asarray(labelsets)
        p, sets = self.probabilities, self.labelsets
        if p.shape != (3,) or not ((p >= 0) & (p <= 1)).all():
            raise ValueError(f"probabilities must be three numbers in [0, 1], got {p.tolist()}.")
        if sets.ndim != 2 or sets.shape[1] != 3 or not np.isin(sets, (0, 1)).all():
            raise ValueError(f"labelsets must be of shape (n_labelsets, 3) and of 0 and 1, got {sets.tolist()}.")
        self.distances: FloatArray = np.sqrt(((sets - p) ** 2).sum(axis=1))

    def _size(self) -> tuple[float, float]:
        return 6.4, 5.6

    def _draw(self, ax: Any, **style: Any) -> None:
        ax.set_axis_off()
        ax.set(aspect="equal", xlim=(-0.25, 1.75), ylim=(-0.2, 1.45))
        _draw_edges(ax)
        for number, (labelset, distance) in enumerate(zip(self.labelsets, self.distances, strict=True), 1):
            self._draw_distance(ax, number, labelset, distance, **style)
        x, y = self.probabilities @ _AXES
        ax.plot([x], [y], "o", color=_figure.ORANGE, markersize=8, zorder=4)
        numbers = ", ".join(f"{p:g}" for p in self.probabilities)
        _write(ax, rf"$\hat{{p}}$ = ({numbers})", (x, y), (0, -18), color=_figure.ORANGE, ha="right", zorder=5)

    def _draw_distance(self, ax: Any, number: int, labelset: Any, distance: float, **style: Any) -> None:
        """Draw the line from the probabilities to a label set, with the distance and the corner's name."""
        p, corner = self.probabilities @ _AXES, labelset @ _AXES
        ax.plot(*zip(p, corner, strict=True), **({"color": _figure.BLUE, "linewidth": 1.6, "zorder": 3} | style))
        ax.plot([corner[0]], [corner[1]], "o", color=_figure.BLUE, markersize=8, zorder=4)
        words, side = rf"$y_{{{number}}}$ = ({', '.join(map(str, labelset))})", 8 if corner[0] >= 0.5 else -8
        _write(ax, words, corner, (side, 6), ha="left" if side > 0 else "right")
        words = rf"$D_{{y_{number}}}$ = {distance:.2f}"
        box = {"facecolor": _figure.PAPER, "edgecolor": "none", "pad": 1.5}
        _write(ax, words, (p + corner) / 2, (0, 0), color=_figure.BLUE, ha="center", va="center", zorder=5, bbox=box)


def _draw_edges(ax: Any) -> None:
    """Draw the edges of the cube, hidden ones dashed, and the names of the axes."""
    behind = np.array([0, 1, 0])  # the only corner behind all faces
    for a, b in ((a, b) for a in _CORNERS for b in _CORNERS if (b - a).sum() == 1 and (b >= a).all()):
        hidden = (a == behind).all() or (b == behind).all()
        colour, dashes = (_figure.GREY, "--") if hidden else (_figure.INK, "-")
        ends = zip(a @ _AXES, b @ _AXES, strict=True)
        ax.plot(*ends, color=colour, linestyle=dashes, linewidth=1, zorder=1)
    for number, (end, shift) in enumerate(zip(_AXES, [(0, -16), (-10, 8), (-16, 0)], strict=True), 1):
        _write(ax, rf"$y^{{({number})}}$", end / 2, shift, ha="center")
    _write(ax, "(0, 0, 0)", (0, 0), (-6, -14), ha="right")


def _write(ax: Any, words: str, place: Any, shift: tuple[float, float], **style: Any) -> None:
    """Write text at a position, with an offset in points."""
    ax.annotate(words, place, shift, textcoords="offset points", fontsize=10, **style)
