"""Plot of the space of three labels as a cube."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nearlabel.plots._display import Display
from nearlabel.plots._figure import BLUE, GREY, INK, ORANGE, PAPER
from nearlabel.utils.types import FloatArray

# Direction of each axis in the plot: right, back, up.
_AXES = np.array([[1.0, 0.0], [0.42, 0.3], [0.0, 1.0]])
_CORNERS = np.array(list(product((0, 1), repeat=3)))


class LabelCubeDisplay(Display):
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
        self.probabilities: FloatArray = np.asarray(probabilities, dtype=np.float64)
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
        ax.plot([x], [y], "o", color=ORANGE, markersize=8, zorder=4)
        numbers = ", ".join(f"{p:g}" for p in self.probabilities)
        _write(ax, rf"$\hat{{p}}$ = ({numbers})", (x, y), (0, -18), color=ORANGE, ha="right", zorder=5)

    def _draw_distance(self, ax: Any, number: int, labelset: Any, distance: float, **style: Any) -> None:
        """Draw the line from the probabilities to a label set, with the distance and the corner's name."""
        p, corner = self.probabilities @ _AXES, labelset @ _AXES
        ax.plot(*zip(p, corner, strict=True), **({"color": BLUE, "linewidth": 1.6, "zorder": 3} | style))
        ax.plot([corner[0]], [corner[1]], "o", color=BLUE, markersize=8, zorder=4)
        words, side = rf"$y_{{{number}}}$ = ({', '.join(map(str, labelset))})", 8 if corner[0] >= 0.5 else -8
        _write(ax, words, corner, (side, 6), ha="left" if side > 0 else "right")
        words, box = rf"$D_{{y_{number}}}$ = {distance:.2f}", {"facecolor": PAPER, "edgecolor": "none", "pad": 1.5}
        _write(ax, words, (p + corner) / 2, (0, 0), color=BLUE, ha="center", va="center", zorder=5, bbox=box)


def _draw_edges(ax: Any) -> None:
    """Draw the edges of the cube, hidden ones dashed, and the names of the axes."""
    behind = np.array([0, 1, 0])  # the only corner behind all faces
    for a, b in ((a, b) for a in _CORNERS for b in _CORNERS if (b - a).sum() == 1 and (b >= a).all()):
        hidden = (a == behind).all() or (b == behind).all()
        ends = zip(a @ _AXES, b @ _AXES, strict=True)
        ax.plot(*ends, color=GREY if hidden else INK, linestyle="--" if hidden else "-", linewidth=1, zorder=1)
    for number, (end, shift) in enumerate(zip(_AXES, [(0, -16), (-10, 8), (-16, 0)], strict=True), 1):
        _write(ax, rf"$y^{{({number})}}$", end / 2, shift, ha="center")
    _write(ax, "(0, 0, 0)", (0, 0), (-6, -14), ha="right")


def _write(ax: Any, words: str, place: Any, shift: tuple[float, float], **style: Any) -> None:
    """Write text at a position, with an offset in points."""
    ax.annotate(words, place, shift, textcoords="offset points", fontsize=10, **style)
