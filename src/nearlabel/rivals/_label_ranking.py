"""Parts of methods that rank labels: pairs of labels, a threshold for each row, and a virtual label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from nearlabel.utils.types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class LabelPairs:
    """All pairs (j, l) in Y_i x Ȳ_i of all rows i, by row, then j, then l; rows with no or with all labels have none.

    A cell is a label of a row; cells are numbered row by row.
    """

    relevant: IntArray  # the cells of all j in any pair
    partners: IntArray  # number of pairs of each
    minus: IntArray  # (n_pairs,): the cell of l
    weights: FloatArray  # (n_pairs,): 1 / (|Y_i| |Ȳ_i|)
    n_rows: int
    n_labels: int

    @classmethod
    def of(cls, labels: IntArray) -> Self:
        """List the pairs of an indicator matrix (n_rows, n_labels)."""
        n_rows, n_labels = labels.shape
        sizes = labels.sum(axis=1)
        lacking = n_labels - sizes
        relevant, irrelevant = np.flatnonzero(labels * (lacking > 0)[:, np.newaxis]), np.flatnonzero(labels == 0)
        rows = relevant // n_labels
        partners = lacking[rows]
        n_pairs = int(partners.sum())
        small = np.int32 if max(labels.size, n_pairs) <= np.iinfo(np.int32).max else np.int64
        shift = (np.cumsum(lacking) - lacking)[rows] - (np.cumsum(partners) - partners)
        minus = irrelevant.astype(small)[np.repeat(shift.astype(small), partners) + np.arange(n_pairs, dtype=small)]
        return cls(relevant, partners, minus, np.repeat(1.0 / (sizes[rows] * partners), partners), n_rows, n_labels)

    @property
    def plus(self) -> IntArray:
        """The cell of j (n_pairs,)."""
        return np.repeat(self.relevant, self.partners)

    def of_rows(self, values: FloatArray) -> FloatArray:
        """Return the value of each pair's row, from one value per row."""
        return np.repeat(values[self.relevant // self.n_labels], self.partners)

    def margins(self, scores: FloatArray) -> FloatArray:
        """Return s_ij - s_il of every pair, from scores (n_rows, n_labels)."""
        flat = scores.ravel()
        return np.asarray(np.repeat(flat[self.relevant], self.partners) - flat.take(self.minus))

    def spread(self, values: FloatArray) -> FloatArray:
        """Return the values of the pairs summed in their cells, + at j and - at l (n_rows, n_labels)."""
        sums = -np.bincount(self.minus, values, self.n_rows * self.n_labels).astype(np.float64, copy=False)
        sums[self.relevant] += np.add.reduceat(values, np.cumsum(self.partners) - self.partners)
        return np.asarray(sums.reshape(self.n_rows, self.n_labels))

    def count(self, chosen: BoolArray) -> FloatArray:
        """Return how many of the selected pairs consist of two labels, a symmetric matrix (n_labels, n_labels)."""
        j, l = self.plus[chosen] % self.n_labels, self.minus[chosen] % self.n_labels  # noqa: E741
        counts = np.bincount(j * self.n_labels + l, minlength=self.n_labels**2).reshape(self.n_labels, -1)
        return (counts + counts.T).astype(np.float64)


# A threshold on the scores of each row that is linear in these scores.
#
# Elisseeff and Weston (2001) call it the set size predictor; Zhang and Zhou (2006) use the same.

_OUTSIDE = 0.1  # distance from the scores of a threshold that excludes all or no labels, as in the authors' program
_RANK_TOLERANCE = 1e-8  # the scores of a row often have a constant sum up to rounding, which must not be fitted


def best_thresholds(scores: FloatArray, labels: IntArray) -> FloatArray:
    """Return, for each row, the threshold with the fewest wrong labels.

    Candidates are the midpoints between the sorted scores of the row, and 0.1 below and above all of them. Ties go to
    the lowest.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_labels)
        Scores.
    labels : ndarray of shape (n_rows, n_labels)
        Indicator matrix.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    order = np.argsort(scores, axis=1)
    rising, right = np.take_along_axis(scores, order, axis=1), np.take_along_axis(labels, order, axis=1)
    candidates = np.column_stack(
        [rising[:, 0] - _OUTSIDE, (rising[:, :-1] + rising[:, 1:]) / 2, rising[:, -1] + _OUTSIDE]
    )
    missed = np.cumsum(np.pad(right, ((0, 0), (1, 0))), axis=1)  # relevant labels below the threshold
    wrongly = np.cumsum(np.pad(1 - right, ((0, 0), (0, 1)))[:, ::-1], axis=1)[:, ::-1]  # irrelevant labels above it
    errors = (missed + wrongly).astype(np.float64)
    errors[:, 1:-1][rising[:, :-1] == rising[:, 1:]] = np.inf  # no threshold separates equal scores
    return np.take_along_axis(candidates, np.argmin(errors, axis=1)[:, np.newaxis], axis=1)[:, 0]


def fit_size_predictor(scores: FloatArray, labels: IntArray) -> FloatArray:
    """Return the least-squares fit of the best thresholds: the coefficients of the scores, followed by the constant."""
    design = np.column_stack([scores, np.ones(len(scores))])
    return np.asarray(np.linalg.lstsq(design, best_thresholds(scores, labels), rcond=_RANK_TOLERANCE)[0])


def above_threshold(scores: FloatArray, coef: FloatArray) -> FloatArray:
    """Return the scores minus the predicted threshold of their row."""
    return np.asarray(scores - (scores @ coef[:-1] + coef[-1])[:, np.newaxis])


# A virtual label against which a single label is ranked.


def has_pairs(labels: IntArray) -> bool:
    """Return whether some row carries one label and lacks another."""
    return bool((labels != labels[:, :1]).any())


def with_virtual_label(labels: IntArray) -> IntArray:
    """Append the virtual label, carried by the rows without labels."""
    return np.column_stack([labels, 1 - labels[:, 0]])


def virtual_threshold(n_labels: int) -> FloatArray:
    """Return the size predictor whose threshold is the score of the virtual label, the last one."""
    return np.asarray(np.eye(n_labels + 1)[n_labels - 1])
