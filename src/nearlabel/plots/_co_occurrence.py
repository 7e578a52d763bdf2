"""Heat map of labels that occur together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from nearlabel import labels
from nearlabel.plots import _figure
from nearlabel.utils.messages import shortened
from nearlabel.utils.targets import labels_and_names
from nearlabel.utils.types import MatrixLike
from nearlabel.utils.validation import as_dense, check_integer

_LONGEST = 22


class CoOccurrenceDisplay(_figure.Display):
    """Heat map of label co-occurrence: among the samples with the row's label, the share with the column's label.

    Made by `from_labels`.

    Parameters
    ----------
    counts : array-like of shape (n_labels, n_labels)
        Number of samples that have both labels; on the diagonal, the number that have the label, at least one.
    label_names : sequence of str of length n_labels
        Names of the labels.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last drawing.
    figure_ : matplotlib Figure
        The figure that contains these axes.

    Raises
    ------
    ValueError
        If there are no labels, the matrix is not square, a label has no samples, or the number of names is wrong.

    See Also
    --------
    nearlabel.labels.co_occurrence : The counts.

    Examples
    --------
    >>> from nearlabel.plots import CoOccurrenceDisplay
    >>> display = CoOccurrenceDisplay([[40, 10], [10, 20]], ["sea", "beach"])
    >>> display.shares
    array([[ nan, 0.25],
           [0.5 ,  nan]])
    """

    def __init__(self, counts: Any, label_names: Sequence[str]) -> None:
        self.counts = np.asarray(counts)
        self.label_names = tuple(map(str, label_names))
        n = len(self.label_names)
        if not n or self.counts.shape != (n, n) or not np.diag(self.counts).all():
            raise ValueError(
                f"counts must be of shape ({n}, {n}), a line and a column for each of the label_names, at least one,"
                f" each with a row, got shape {self.counts.shape}."
            )
        self.shares = self.counts / np.diag(self.counts)[:, np.newaxis]
        np.fill_diagonal(self.shares, np.nan)

    @classmethod
    def from_labels(
        cls,
        Y: MatrixLike,
        *,
        label_names: Sequence[str] | None = None,
        n_labels: int = 40,
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Draw the co-occurrence of labels.

        Parameters
        ----------
        Y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1, or the tags of each sample.
        label_names : sequence of str, default=None
            Names of the labels. None: the tags, or the columns of a data frame, else their numbers.
        n_labels : int, default=40
            Maximum number of labels; the most frequent are drawn. Labels that do not occur are left out.
        ax : matplotlib Axes, default=None
            As in `plot`.
        **style : properties of matplotlib
            Style of the cells, for instance ``cmap``.

        Returns
        -------
        CoOccurrenceDisplay
            Drawn.

        Raises
        ------
        ValueError
            If Y is malformed, no label occurs, or the number of names is wrong.
        ImportError
            If matplotlib is not installed (extra ``plot``).
        """
        most = check_integer("n_labels", n_labels, low=1)
        matrix, known = labels_and_names(Y)
        names: list[Any] = list(known if label_names is None else label_names)
        if len(names) != matrix.shape[1]:
            raise ValueError(f"label_names must be of length {matrix.shape[1]}, the labels of Y, got {len(names)}.")
        shown = labels.most_frequent(matrix, most)
        if not len(shown):
            raise ValueError("y must have a label that occurs, got none.")
        counts = as_dense(labels.co_occurrence(matrix[:, shown]))
        return cls(counts, [names[label] for label in shown]).plot(ax, **style)

    def _size(self) -> tuple[float, float]:
        side = 1.8 + 0.22 * max(len(self.label_names), 8)
        return side + 1.0, side

    def _draw(self, ax: Any, **style: Any) -> None:
        cells = _figure.draw_cells(ax, self._cells(), self.shares[self.shares > 0], **style)
        names = [shortened(name, _LONGEST) for name in self.label_names]
        places = np.arange(len(names)) + 0.5
        ax.set_xticks(places, names, rotation=90, fontsize=8, parse_math=False)
        ax.set_yticks(places, names, fontsize=8, parse_math=False)
        ax.set(xlim=(0, len(names)), ylim=(len(names), 0), aspect="equal")
        ax.tick_params(length=0)
        ax.spines[:].set_color(_figure.GREY)
        bar = ax.figure.colorbar(cells, ax=ax, shrink=0.7)
        bar.set_label("share with the column's label", fontsize=8)
        bar.ax.tick_params(labelsize=8)
        bar.outline.set_edgecolor(_figure.GREY)

    def _cells(self) -> list[tuple[int, int]]:
        """Return row and column of each pair of labels that occurs."""
        return [(int(line), int(column)) for line, column in np.argwhere(self.shares > 0)]

    def _tips(self) -> list[str]:
        names, counts, shares = self.label_names, self.counts, self.shares
        return [
            f"{names[i]}, {names[j]}: {counts[i, j]:,} samples, {100 * shares[i, j]:.0f} % of {names[i]}"
            for i, j in self._cells()
        ]
