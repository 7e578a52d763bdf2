"""Metrics of the ranking of labels by their scores: rank 1 is the largest score.

Equal scores. The paper defines them for ranking loss only, where an equal pair is an error. ``ties`` selects the rule:

- ``"pessimistic"`` (default): equal scores share their worst rank, so an irrelevant label ranks above every label with
  the same score. Independent of the order of the labels; scikit-learn's rule.
- ``"optimistic"``: relevant labels rank first among equal scores. Independent of the order of the labels.
- ``"low"``: the lower label index ranks better among equal scores. ``"index"`` is the former name of this rule.
- ``"high"``: the higher label index ranks better among equal scores, as in Mulan and the authors' code.
- ``"average"``: the mean over all orders of equal scores, by closed forms [1]_. Independent of the order of the labels.

Trivial samples. A sample without labels, or with all of them, has no pair of labels to rank, so one-error, ranking loss
and average precision are undefined for it. ``trivial="drop"`` (default, as in the authors' code) leaves it out of the
mean; ``"keep"`` counts it with the value stated for each metric. For coverage only a sample without labels is trivial.
If every sample is dropped, the result is nan, without a warning.

If y_true has unknown cells (NaN, see `nearlabel.metrics`), only the known labels of each sample are ranked. A sample
without known labels is left out, even with ``trivial="keep"``.

References
----------
.. [1] McSherry, Najork: Computing information retrieval performance measures efficiently in the presence of tied
   scores. ECIR 2008.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from nearlabel.metrics.counts import mean
from nearlabel.metrics.inputs import TieRule, TrivialRule, Truth, check_ties, check_trivial, declared, is_sparse
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, row_blocks

BLOCK_BYTES = 2**20  # small enough for the temporaries of a block to stay in the processor's cache


@declared("one-error", greater_is_better=False)
def one_error(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the share of samples whose top-ranked label is not relevant.

    Equation 2 of [1]_, which averages over all samples; the authors' code leaves out the trivial ones, which is the
    default here. scikit-learn has no such metric.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        Several labels on top are an error unless all of them are relevant ("pessimistic"), one of them is
        ("optimistic", the authors' code), or the first or last one is ("low", "high"); or the share of the irrelevant
        ones among them is counted ("average").
    trivial : {"drop", "keep"}, default="drop"
        Whether samples without labels and samples with all labels are dropped, or kept: the former with the value 1, as
        in Mulan, since no top label can be relevant, the latter with 0.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 (best) to 1; nan if every sample is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, the weights are malformed, or an option is unknown.

    References
    ----------
    .. [1] Zhang, Zhou: ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40, 2007.

    Examples
    --------
    >>> y_true, y_score = [[1, 0, 0], [0, 1, 0]], [[0.5, 0.5, 0.1], [0.2, 0.7, 0.1]]
    >>> one_error(y_true, y_score)
    0.5
    >>> one_error(y_true, y_score, ties="optimistic")
    0.0
    """
    return top_is_wrong(rank(y_true, y_score, ties, sample_weight), trivial)


@declared("coverage", greater_is_better=False)
def coverage(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean number of steps down the ranking to the last relevant label.

    Equation 3 of [1]_: the mean of the worst rank of a relevant label, minus 1. So it is
    ``sklearn.metrics.coverage_error(y_true, y_score) - 1`` if every sample has a label.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        Order of equal scores: relevant labels last, relevant labels first, lower label index first, higher label
        index first, or the mean over all orders.
    trivial : {"drop", "keep"}, default="drop"
        Whether samples without labels are dropped, or kept with the value 0, as in Mulan; the authors' code, and
        scikit-learn's value minus 1, give -1. A sample with all labels is not trivial: its last relevant label has
        depth ``n_labels - 1``, and the paper and all other libraries include it.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to ``n_labels - 1``, smaller is better; nan if every sample is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, the weights are malformed, or an option is unknown.

    References
    ----------
    .. [1] Zhang, Zhou: ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40, 2007.

    Examples
    --------
    >>> coverage([[1, 0, 0], [0, 1, 1]], [[0.5, 0.5, 0.1], [0.2, 0.7, 0.1]])  # ranks 2 and 3: (1 + 2) / 2
    1.5
    """
    return depth(rank(y_true, y_score, ties, sample_weight), trivial)


@declared("ranking loss", greater_is_better=False)
def ranking_loss(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean share of the pairs (relevant, irrelevant) in which the irrelevant label ranks above.

    Equation 4 of [1]_, where an equal pair is an error ("pessimistic"). With ``trivial="keep"`` it equals
    :func:`sklearn.metrics.label_ranking_loss`.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        An equal pair is an error, not an error, an error if the irrelevant label has the lower or the higher index, or
        half an error.
    trivial : {"drop", "keep"}, default="drop"
        Whether samples without labels and samples with all labels are dropped, or kept with the value 0, as in Mulan
        and scikit-learn.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 (best) to 1; nan if every sample is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, the weights are malformed, or an option is unknown.

    References
    ----------
    .. [1] Zhang, Zhou: ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40, 2007.

    Examples
    --------
    >>> ranking_loss([[1, 0, 0]], [[0.5, 0.5, 0.1]])  # 1 of 2 pairs
    0.5
    >>> ranking_loss([[1, 0, 0]], [[0.5, 0.5, 0.1]], ties="low")
    0.0
    """
    return reversed_share(rank(y_true, y_score, ties, sample_weight), trivial)


@declared("average precision")
def average_precision(
    y_true: MatrixLike,
    y_score: MatrixLike,
    *,
    ties: TieRule = "pessimistic",
    trivial: TrivialRule = "drop",
    sample_weight: ArrayLike | None = None,
) -> float:
    """Return the mean over samples of the mean precision at the ranks of the relevant labels.

    Equation 5 of [1]_. With ``trivial="keep"`` it equals :func:`sklearn.metrics.label_ranking_average_precision_score`.
    It is not :func:`sklearn.metrics.average_precision_score`, the area under a label's precision-recall curve, which is
    `mean_average_precision` here.

    Parameters
    ----------
    y_true : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Indicator matrix of the relevant labels.
    y_score : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Scores, larger is better; an absent entry of a sparse container is a score of 0. Infinities are allowed.
    ties : {"pessimistic", "optimistic", "low", "high", "average"}, default="pessimistic"
        Equal scores all get their worst rank, or are ranked with the relevant labels first, by rising or falling label
        index, or in all orders, over which the mean is taken. "pessimistic" is not the smallest possible value here:
        relevant labels that share a rank also count for each other, so that two relevant labels among three equal ones
        give 2/3, while the order (irrelevant, relevant, relevant) gives (1/2 + 2/3) / 2.
    trivial : {"drop", "keep"}, default="drop"
        Whether samples without labels and samples with all labels are dropped, or kept with the value 1, as in
        scikit-learn. Mulan drops the former and keeps the latter.
    sample_weight : array-like of shape (n_samples,), default=None
        Sample weights, at least 0. A sample with weight 2 counts as two equal samples. None: all weights are 1.

    Returns
    -------
    float
        From 0 to 1 (best); nan if every sample is dropped.

    Raises
    ------
    ValueError
        If a matrix is not two-dimensional or is empty, the shapes differ, `y_true` contains anything but 0 and 1,
        `y_score` contains NaN or a value that is not a number, the weights are malformed, or an option is unknown.

    References
    ----------
    .. [1] Zhang, Zhou: ML-KNN: a lazy learning approach to multi-label learning. Pattern Recognition 40, 2007.

    Examples
    --------
    >>> average_precision([[1, 0, 1]], [[0.9, 0.5, 0.1]])  # (1/1 + 2/3) / 2
    0.8333333333333333
    """
    return precision_of_ranks(rank(y_true, y_score, ties, sample_weight), trivial)


# Ranks of the relevant labels, computed once; each of the four metrics is one line based on them.
#
# All four metrics are computed from two counts of each relevant label: how many relevant labels rank no worse than it
# (itself included), and how many irrelevant labels rank above it. Their sum is its rank. Sorting each row costs O(L log
# L), and everything after the sort is done for the relevant labels only, so no pair of labels is ever enumerated. With
# ``ties="average"`` the same sums come from closed forms for the groups of equal scores. An unknown cell has the score
# NaN, which sorts behind all others: it is above no relevant label.


class RowSums(NamedTuple):
    """Sums per row that the metrics need, arrays of shape (n_samples,); all zero in a row without relevant labels."""

    n_relevant: IntArray
    wrong_on_top: NDArray[Any]  # an irrelevant label ranks above the best relevant one
    last_rank: NDArray[Any]  # of the relevant label ranked worst
    reversed_pairs: NDArray[Any]  # pairs (relevant, irrelevant) in the wrong order
    precisions: NDArray[Any]  # summed over the relevant labels: the share of relevant labels down to its rank


@dataclass(frozen=True)
class Ranking:
    """The row sums, with the number of labels that are known and the weights of the rows."""

    rows: RowSums
    n_known: Any  # labels of each row (n_samples,), or of all rows
    weights: FloatArray | None = None  # (n_samples,); None: 1 each

    @property
    def has_none(self) -> BoolArray:
        """Return which rows have no relevant label."""
        return np.equal(self.rows.n_relevant, 0)

    @property
    def has_none_or_all(self) -> BoolArray:
        """Return which rows have no pair of a relevant and an irrelevant label: all their rankings are equally good."""
        has_all: BoolArray = np.equal(self.rows.n_relevant, self.n_known)
        return self.has_none | has_all


def rank(y_true: MatrixLike, y_score: MatrixLike, ties: TieRule, sample_weight: Any = None) -> Ranking:
    """Check the user's label sets and scores, and return their ranking."""
    truth = Truth.of(y_true, sample_weight)
    return rank_checked(truth, truth.scores(y_score), ties)


def rank_checked(truth: Truth, scores: Matrix, ties: TieRule) -> Ranking:
    """Return the ranking of blank scores (n_left, n_labels), in blocks of rows."""
    rule = check_ties(ties)
    n_rows, n_labels = truth.labels.shape
    blocks = [
        _row_sums(as_dense(truth.labels[rows]).astype(bool), -as_dense(scores[rows]), rule)
        for rows in row_blocks(n_rows, bytes_per_row=8 * n_labels, budget=BLOCK_BYTES)
    ]
    sums = RowSums(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))
    return Ranking(sums, truth.n_known(axis=1), truth.weights)


def top_is_wrong(ranking: Ranking, trivial: TrivialRule) -> float:
    """Return the share of rows whose top label is not relevant."""
    return _mean_of(ranking, ranking.rows.wrong_on_top, ranking.has_none_or_all, ranking.has_none, trivial)


def depth(ranking: Ranking, trivial: TrivialRule) -> float:
    """Return the mean number of steps down the ranking to the last relevant label."""
    return _mean_of(ranking, ranking.rows.last_rank - 1, ranking.has_none, 0, trivial)


def reversed_share(ranking: Ranking, trivial: TrivialRule) -> float:
    """Return the mean share of the pairs (relevant, irrelevant) that are in the wrong order."""
    n_relevant = ranking.rows.n_relevant
    n_pairs = np.maximum(n_relevant * (ranking.n_known - n_relevant), 1)  # no pair: a trivial row, replaced below
    return _mean_of(ranking, ranking.rows.reversed_pairs / n_pairs, ranking.has_none_or_all, 0, trivial)


def precision_of_ranks(ranking: Ranking, trivial: TrivialRule) -> float:
    """Return the mean, over rows, of the mean precision at the ranks of the relevant labels."""
    n_relevant = np.maximum(ranking.rows.n_relevant, 1)  # no relevant label: a trivial row, replaced below
    return _mean_of(ranking, ranking.rows.precisions / n_relevant, ranking.has_none_or_all, 1, trivial)


def _mean_of(ranking: Ranking, values: Any, is_trivial: BoolArray, kept_as: Any, trivial: TrivialRule) -> float:
    return mean_of_rows(values, is_trivial, kept_as, trivial, ranking.weights)


def mean_of_rows(
    values: Any, is_trivial: BoolArray, kept_as: Any, trivial: TrivialRule, weights: FloatArray | None
) -> float:
    """Return the mean of values (n_samples,), where trivial rows are left out or have the value `kept_as`."""
    check_trivial(trivial)
    if trivial == "keep":
        return mean(np.where(is_trivial, kept_as, values), weights)
    return mean(values[~is_trivial], None if weights is None else weights[~is_trivial])


def _row_sums(relevant: BoolArray, losses: FloatArray, ties: TieRule) -> RowSums:
    """Sum over the relevant labels of each row; `losses` are the negated scores, so that the best comes first."""
    if ties == "high":
        return _row_sums(relevant[:, ::-1], losses[:, ::-1], "low")
    if ties == "average":
        return _expected_sums(relevant, losses)
    n_rows, n_labels = relevant.shape
    places, n_hits, n_wrong = _relevant_labels(relevant, losses, ties)
    row = places // n_labels
    n_relevant = np.bincount(row, minlength=n_rows)
    filled, first, last = _ends(n_relevant)
    wrong_on_top, last_rank = np.zeros(n_rows, dtype=bool), np.zeros(n_rows, dtype=np.intp)
    wrong_on_top[filled] = n_wrong[first] > 0
    last_rank[filled] = (n_hits + n_wrong)[last]
    reversed_pairs = np.bincount(row, weights=n_wrong, minlength=n_rows)
    precisions = np.bincount(row, weights=n_hits / (n_hits + n_wrong), minlength=n_rows)
    return RowSums(n_relevant, wrong_on_top, last_rank, reversed_pairs, precisions)


def _ends(sizes: IntArray) -> tuple[BoolArray, IntArray, IntArray]:
    """Return which rows are not empty, and the flat positions of the first and the last item of each of them."""
    filled = sizes > 0
    last = np.cumsum(sizes)[filled] - 1
    return filled, last - sizes[filled] + 1, last


def _expected_sums(relevant: BoolArray, losses: FloatArray) -> RowSums:
    """Return the means of the row sums over all orders of equal scores.

    A group of `size` equal scores, `hits` of them relevant, follows `above` labels, `before` of them relevant. From
    McSherry and Najork, Computing information retrieval performance measures efficiently in the presence of tied scores
    (ECIR 2008).
    """
    n_rows, n_labels = relevant.shape
    order = np.argsort(losses, axis=1)
    places = np.flatnonzero(np.take_along_axis(relevant, order, axis=1))
    start, end = _tie_groups(np.take_along_axis(losses, order, axis=1), places)
    opens, hits = np.unique(start, return_counts=True)  # the groups that contain a relevant label
    row, above = np.divmod(opens, n_labels)
    best = np.searchsorted(places, opens)  # the first relevant label of each group, in `places`
    size = end[best] - opens
    before = best - np.searchsorted(places, row * n_labels)
    filled, first, last = _ends(np.bincount(row, minlength=n_rows))
    wrong_on_top, last_rank = np.zeros((2, n_rows))
    wrong_on_top[filled] = np.where(above > 0, 1, (size - hits) / size)[first]
    last_rank[filled] = (above + hits * (size + 1) / (hits + 1))[last]
    n_wrong = above - before + (size - hits) / 2  # above each relevant label, on average
    precisions = hits / size * _sum_of_precisions(above, before, size, hits, n_labels)
    return RowSums(
        np.bincount(places // n_labels, minlength=n_rows),
        wrong_on_top,
        last_rank,
        np.bincount(row, weights=hits * n_wrong, minlength=n_rows),
        np.bincount(row, weights=precisions, minlength=n_rows),
    )


def _sum_of_precisions(above: IntArray, before: IntArray, size: IntArray, hits: IntArray, n_labels: int) -> FloatArray:
    """Return the sum, over the places of a group, of the expected precision at that place if its label is relevant.

    At place j of the group it is ``(before + 1 + (j - 1) * slope) / (above + j)``; harmonic numbers give the sum.
    """
    harmonic = np.append(0.0, np.cumsum(1 / np.arange(1, n_labels + 1)))
    slope = (hits - 1) / np.maximum(size - 1, 1)
    total: FloatArray = (before + 1 - slope * (above + 1)) * (harmonic[above + size] - harmonic[above]) + slope * size
    return total


def _relevant_labels(relevant: BoolArray, losses: FloatArray, ties: TieRule) -> tuple[IntArray, IntArray, IntArray]:
    """Return the places and the two counts of the relevant labels, row after row, best label first.

    A place is a position in the block after every row is sorted and the rows are concatenated.
    """
    n_labels = relevant.shape[1]
    # The order within a group of equal scores matters for "low" only; a stable sort is slower.
    order = np.argsort(losses, axis=1, kind="stable" if ties == "low" else None)
    places = np.flatnonzero(np.take_along_axis(relevant, order, axis=1))
    row_start = places // n_labels * n_labels
    before_row = np.searchsorted(places, row_start)  # relevant labels in the rows before
    if ties == "optimistic":  # in a group of equal scores the relevant labels come first
        start, _ = _tie_groups(np.take_along_axis(losses, order, axis=1), places)
        n_hits = np.arange(1, places.size + 1) - before_row
        n_wrong = start - row_start - (np.searchsorted(places, start) - before_row)
        return places, n_hits, n_wrong
    end = places + 1
    if ties == "pessimistic":  # a group of equal scores shares its worst rank
        _, end = _tie_groups(np.take_along_axis(losses, order, axis=1), places)
    n_hits = np.searchsorted(places, end) - before_row
    return places, n_hits, end - row_start - n_hits


def _tie_groups(ordered: FloatArray, places: IntArray) -> tuple[IntArray, IntArray]:
    """Return, for each place, where its group of equal scores starts and where the next group starts."""
    opens = np.ones(ordered.shape, dtype=bool)
    opens[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    bounds = np.append(np.flatnonzero(opens), ordered.size)
    group = np.searchsorted(bounds, places, side="right")
    return bounds[group - 1], bounds[group]


# Blocks of rows of two matrices for ranking within each row; few cells of sparse matrices become dense.


def line_blocks(first: Matrix, second: Matrix) -> Iterator[slice]:
    """Yield slices of rows whose non-empty columns fit the memory budget, if the rows are about equally dense."""
    n_lines, n_cells = first.shape
    bytes_per_line = 8 * n_cells
    if is_sparse(first) and is_sparse(second):
        n_stored = max(1.0, (first.nnz + second.nnz) / n_lines)
        n_together = max(1.0, math.sqrt(BLOCK_BYTES / (8 * n_stored)))  # each line adds its columns to all the others
        bytes_per_line = min(bytes_per_line, int(BLOCK_BYTES / n_together))
    yield from row_blocks(n_lines, bytes_per_line, BLOCK_BYTES)


def absent_columns(first: Matrix, second: Matrix) -> IntArray:
    """Return the columns in which neither of two matrices has an entry; none unless both are sparse."""
    if not (is_sparse(first) and is_sparse(second)):
        return np.empty(0, dtype=np.intp)
    is_absent = np.ones(first.shape[1], dtype=bool)
    is_absent[first.indices] = is_absent[second.indices] = False
    return np.flatnonzero(is_absent)
