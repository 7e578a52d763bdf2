"""Scores of how far leave-one-out evidence contradicts the given labels of samples, cell by cell.

All scores derive from one number, the self-confidence of a cell: the probability of its given value. It does not depend
on which of the two values is called 1. It is rounded to twelve digits, so that a probability of 0.1 of the given value
is the same number for a positive and a negative, where 1 - 0.9 would be smaller than 0.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, as_score_matrix, cells_of, check_integer, entries, row_blocks

_DIGITS = 12
_ROUNDING = 1e-13  # a probability that is a sum may exceed 1; its self-confidence does not, when rounded
_SLACK = 1e-9  # a mean of equal numbers differs from them by rounding
_BYTES_PER_CELL = 32  # of temporary arrays


class Block(NamedTuple):
    """Some consecutive samples, their labels and the leave-one-out predictions for them.

    Parameters
    ----------
    first_row : int
        Row number of the first sample.
    probabilities : array-like or sparse container of shape (n_rows, n_labels)
        Leave-one-out probabilities, or shares of votes. An absent entry of a sparse container is 0.
    labels : array-like, data frame or sparse container of shape (n_rows, n_labels)
        0 and 1, and NaN where a cell is unknown.
    shares : array-like or sparse container of shape (n_rows, n_labels), default=None
        Shares of the neighbours' votes, which order cells of equal probability. None: row and label order them.
    """

    first_row: int
    probabilities: MatrixLike
    labels: MatrixLike
    shares: MatrixLike | None = None


class Cells(NamedTuple):
    """Cells of y, the most suspicious first.

    Parameters
    ----------
    rows, labels : ndarray of int of shape (n_cells,)
        Row and column numbers.
    quality : ndarray of shape (n_cells,)
        The score that orders them, ascending: `self_confidence`, or `prior_odds`.
    disagreement : ndarray of shape (n_cells,)
        Share of the neighbours' votes for the other value; NaN where no shares were given.
    confidence : ndarray of shape (n_cells,)
        Their `self_confidence`.
    """

    rows: IntArray
    labels: IntArray
    quality: FloatArray
    disagreement: FloatArray
    confidence: FloatArray

    def first(self, n_cells: int) -> Cells:
        """Return the first cells in the order of suspicion: quality, disagreement, row, label."""
        order = np.lexsort((self.labels, self.rows, -self.disagreement, self.quality))[:n_cells]
        columns: list[Any] = [column[order] for column in self]
        return Cells(*columns)


def self_confidence(probabilities: MatrixLike, labels: MatrixLike) -> FloatArray:
    """Return the probability of the given value of each cell: p of a positive, 1 - p of a negative.

    Lower is more suspicious. The logarithm and the margin, ``2 g - 1``, give the same order of cells.

    Parameters
    ----------
    probabilities : array-like or sparse container of shape (n_samples, n_labels)
        Leave-one-out probabilities, or shares of votes, from 0 to 1.
    labels : array-like, data frame or sparse container of shape (n_samples, n_labels)
        0 and 1, and NaN where a cell is unknown.

    Returns
    -------
    quality : ndarray of shape (n_samples, n_labels)
        From 0 to 1, rounded to twelve digits; NaN where a cell is unknown.

    Raises
    ------
    ValueError
        If there is no sample, shapes differ, labels have values other than 0, 1 and NaN, or probabilities are not from
        0 to 1.

    References
    ----------
    C. Northcutt, L. Jiang, I. Chuang: Confident Learning: Estimating Uncertainty in Dataset Labels. Journal of
    Artificial Intelligence Research 70, 2021.

    Examples
    --------
    >>> from nearlabel.audit import self_confidence
    >>> self_confidence([[0.9, 0.9]], [[1, 0]])
    array([[0.9, 0.1]])
    """
    scores, given = _checked(probabilities, labels)
    quality: FloatArray = np.empty(scores.shape)
    for block in row_blocks(scores.shape[0], _BYTES_PER_CELL * scores.shape[1]):
        quality[block] = _confidence(as_dense(scores[block]), as_dense(given.labels[block]))
        if given.unknown is not None:
            quality[block][as_dense(given.unknown[block])] = np.nan
    return quality


def positive_shares(labels: MatrixLike) -> FloatArray:
    """Return the share of the known cells of each label that are positive.

    Parameters
    ----------
    labels : array-like, data frame or sparse container of shape (n_samples, n_labels)
        0 and 1, and NaN where a cell is unknown.

    Returns
    -------
    shares : ndarray of shape (n_labels,)
        NaN for a label without a known cell.
    """
    n_known, n_positive = _counts(PartialLabels.of(labels, name="labels", dtype=None))
    return np.asarray(np.where(n_known > 0, n_positive / np.maximum(n_known, 1), np.nan))


def halfway_prior(labels: MatrixLike) -> FloatArray:
    """Return a prior of each label halfway between its own share of positives and that of all labels, in log-odds.

    With its own share as its prior, a label is assumed to have as many wrong positives as wrong negatives; with the
    share of all labels, all cells of a value are assumed to be wrong equally often. Real data are mostly in between. If
    0 and 1 are exchanged in all labels, so are the priors.

    Parameters
    ----------
    labels : array-like, data frame or sparse container of shape (n_samples, n_labels)
        0 and 1, and NaN where a cell is unknown.

    Returns
    -------
    prior : ndarray of shape (n_labels,)
        From 0 to 1; NaN for a label without a known cell.

    Examples
    --------
    >>> from nearlabel.audit import halfway_prior
    >>> halfway_prior([[1, 0], [1, 0], [1, 1], [0, 0], [0, 0]]).round(2)  # the shares are 0.6, 0.2 and, of all, 0.4
    array([0.5 , 0.29])
    """
    n_known, n_positive = _counts(PartialLabels.of(labels, name="labels", dtype=None))
    overall = n_positive.sum() / max(1, n_known.sum())
    share = positive_shares(labels)
    positive, negative = np.sqrt(share * overall), np.sqrt((1.0 - share) * (1.0 - overall))
    return np.asarray(positive / (positive + negative))


def prior_odds(probabilities: MatrixLike, labels: MatrixLike, *, prior: ArrayLike | None = None) -> FloatArray:
    """Return the ratio of `self_confidence` to the prior of the given value, for each cell.

    It is how many times as likely the given value is as in any sample.

    Lower is more suspicious. A probability of 0.1 is strong evidence against a positive of a label that half of the
    samples have, and no evidence against one of a label that one sample in twenty has.

    Parameters
    ----------
    probabilities, labels
        As in `self_confidence`.
    prior : array-like of shape (n_labels,), default=None
        Prior probability of each label. None: its share of positives.

    Returns
    -------
    quality : ndarray of shape (n_samples, n_labels)
        At least 0, rounded to twelve digits; NaN where a cell is unknown.

    Raises
    ------
    ValueError
        As `self_confidence`, or if `prior` is not a number from 0 to 1 for each label.

    Examples
    --------
    >>> from nearlabel.audit import prior_odds
    >>> prior_odds([[0.2], [0.5], [0.1], [0.9]], [[1], [0], [0], [0]]).round(2).ravel()
    array([0.8 , 0.67, 1.2 , 0.13])
    """
    confidence = self_confidence(probabilities, labels)
    given = PartialLabels.of(labels, name="labels", dtype=None).labels
    shares = _shares_of_values(positive_shares(labels) if prior is None else prior, confidence.shape[1])
    for block in row_blocks(len(confidence), _BYTES_PER_CELL * confidence.shape[1]):
        confidence[block] = _over(confidence[block], np.where(as_dense(given[block]) == 1, shares[1], shares[0]))
    return confidence


def disagreement(shares: MatrixLike, labels: MatrixLike) -> FloatArray:
    """Return the share of the neighbours' votes for the value other than the given one.

    Higher is more suspicious: 1 minus the `self_confidence` of the shares.

    Parameters
    ----------
    shares : array-like or sparse container of shape (n_samples, n_labels)
        Share of the neighbours that carry each label, or of their weights.
    labels : array-like, data frame or sparse container of shape (n_samples, n_labels)
        0 and 1, and NaN where a cell is unknown.

    Returns
    -------
    ndarray of shape (n_samples, n_labels)
        From 0 to 1; NaN where a cell is unknown.

    Examples
    --------
    >>> from nearlabel.audit import disagreement
    >>> disagreement([[0.9, 0.9]], [[1, 0]]).round(2)
    array([[0.1, 0.9]])
    """
    return np.asarray(1.0 - self_confidence(shares, labels))


def blocks_of(probabilities: MatrixLike, labels: MatrixLike, shares: MatrixLike | None = None) -> Iterator[Block]:
    """Yield arrays in blocks, as `most_suspicious` takes them.

    Parameters
    ----------
    probabilities, labels, shares
        As in `Block`, of all samples.

    Yields
    ------
    Block
        Consecutive samples, few enough to keep temporary arrays small.
    """
    scores, given = _checked(probabilities, labels)
    votes = None if shares is None else as_score_matrix(shares, name="shares")
    for block in row_blocks(scores.shape[0], _BYTES_PER_CELL * scores.shape[1]):
        yield Block(block.start, scores[block], given.rows(block).with_nan(), None if votes is None else votes[block])


def most_suspicious(blocks: Iterable[Block], n_cells: int, *, prior: ArrayLike | None = None) -> Cells:
    """Return the most suspicious cells of all blocks, the worst first.

    Cells are ordered by `self_confidence`, or by `prior_odds` if `prior` is given. Among equal ones, the first is the
    cell that more of the neighbours' votes disagree with, then the lower row, then the lower label. The result never
    contains unknown cells, or cells that no evidence contradicts, with a self-confidence of 1; so it may have fewer
    than n_cells.

    The memory needed is that of the largest block. If both probabilities and labels are sparse, only cells that are
    stored in one of them are visited: then 100,000 samples and 10,000 labels are no more work than their votes.

    Parameters
    ----------
    blocks : iterable of Block
        All samples, in any order.
    n_cells : int
        Largest number of cells.
    prior : array-like of shape (n_labels,), default=None
        Prior probability of each label: `halfway_prior`, which found most errors on the sets we tried, or
        `positive_shares`. None: order by self-confidence.

    Returns
    -------
    Cells
        Rows, labels, and the scores that order them.

    Raises
    ------
    ValueError
        If there is no block, one is malformed as in `self_confidence`, or a parameter is out of range.

    Examples
    --------
    >>> from nearlabel.audit._scores import blocks_of, most_suspicious
    >>> p, y = [[0.9, 0.2], [0.3, 0.1], [0.8, 0.9]], [[0, 0], [1, 1], [1, 1]]
    >>> cells = most_suspicious(blocks_of(p, y), 3)
    >>> list(zip(cells.rows.tolist(), cells.labels.tolist(), cells.quality.tolist()))
    [(0, 0, 0.1), (1, 1, 0.1), (1, 0, 0.3)]
    """
    n_cells = check_integer("n_cells", n_cells, low=1)
    worst: Cells | None = None
    for block in blocks:
        bound = np.inf if worst is None or len(worst.rows) < n_cells else worst.quality[-1]
        found = _of_block(block, n_cells, prior, bound)
        worst = found if worst is None else _joined(worst, found).first(n_cells)
    if worst is None:
        raise ValueError("blocks must have at least one block, got none.")
    return worst


def _of_block(block: Block, n_cells: int, prior: ArrayLike | None, bound: float) -> Cells:
    """Return the most suspicious cells of a block, at most `bound` in quality."""
    scores, given = _checked(block.probabilities, block.labels)
    rows, labels, confidence = _contradicted(scores, given)
    quality = confidence
    if prior is not None:
        shares = _shares_of_values(prior, scores.shape[1])
        quality = _over(quality, shares[cells_of(given.labels, rows, labels).astype(np.intp), labels])
    if len(quality) > n_cells:
        bound = min(bound, np.partition(quality, n_cells - 1)[n_cells - 1])
    some = quality <= bound
    rows, labels, quality, confidence = rows[some], labels[some], quality[some], confidence[some]
    against = np.full(len(rows), np.nan)
    if block.shares is not None:
        votes = as_score_matrix(block.shares, name="shares")
        against = 1.0 - _confidence(cells_of(votes, rows, labels), cells_of(given.labels, rows, labels))
    return Cells(rows + block.first_row, labels, quality, against, confidence).first(n_cells)


def _counts(given: PartialLabels) -> tuple[IntArray, IntArray]:
    """Return how many cells of each label are known, and how many of them are positive, (n_labels,) each."""
    n_samples, n_labels = given.labels.shape
    n_known = np.full(n_labels, n_samples)
    if given.unknown is not None:
        n_known = n_known - as_dense(given.unknown.sum(axis=0))
    return n_known, as_dense(given.labels.sum(axis=0, dtype=np.int64))


def _contradicted(scores: Matrix, given: PartialLabels) -> tuple[IntArray, IntArray, FloatArray]:
    """Return row, label and self-confidence of the known cells whose self-confidence is below 1."""
    if sparse.issparse(scores) and sparse.issparse(given.labels):
        rows, labels, _ = entries(scores.astype(np.bool_) + given.labels.astype(np.bool_))
        quality = _confidence(cells_of(scores, rows, labels), cells_of(given.labels, rows, labels))
        below = quality < 1
        rows, labels, quality = rows[below], labels[below], quality[below]
    else:
        every = _confidence(as_dense(scores), as_dense(given.labels))
        rows, labels = np.nonzero(every < 1)
        quality = every[rows, labels]
    if given.unknown is not None:
        known = ~cells_of(given.unknown, rows, labels).astype(np.bool_)
        rows, labels, quality = rows[known], labels[known], quality[known]
    return rows, labels, quality


def _confidence(scores: Any, labels: Any) -> FloatArray:
    """Return the probability of the given value of cells, in any shape."""
    return np.asarray(np.round(np.where(labels == 1, scores, 1.0 - scores), _DIGITS), dtype=np.float64)


def _over(quality: FloatArray, shares: FloatArray) -> FloatArray:
    """Return the self-confidence of known cells divided by the prior of their values, in any shape."""
    if ((shares == 0) & ~np.isnan(quality)).any():
        raise ValueError("prior must be above 0 for every value that a label has, got 0.")
    return np.round(quality / shares, _DIGITS)


def _shares_of_values(prior: ArrayLike, n_labels: int) -> FloatArray:
    """Return the shares of negatives and of positives (2, n_labels)."""
    positive = np.asarray(prior, dtype=np.float64)
    if positive.shape != (n_labels,) or not ((positive >= 0) & (positive <= 1) | np.isnan(positive)).all():
        raise ValueError(f"prior must be {n_labels} numbers from 0 to 1, one for each label, got {prior!r}.")
    return np.stack([1.0 - positive, positive])


def _joined(one: Cells, other: Cells) -> Cells:
    columns: list[Any] = [np.concatenate(parts) for parts in zip(one, other, strict=True)]
    return Cells(*columns)


def _checked(probabilities: MatrixLike, labels: MatrixLike) -> tuple[Matrix, PartialLabels]:
    """Return probabilities and labels of one shape, dense or CSR."""
    given = PartialLabels.of(labels, name="labels", dtype=None)
    scores = as_score_matrix(probabilities, name="probabilities")
    if scores.shape != given.labels.shape:
        raise ValueError(f"probabilities must be of the shape of labels, {given.labels.shape}, got {scores.shape}.")
    if scores.shape[0] == 0:
        raise ValueError(f"labels must have at least one sample, got shape {scores.shape}.")
    values = scores.data if sparse.issparse(scores) else scores
    if values.size and not (values.min() >= -_ROUNDING and values.max() <= 1 + _ROUNDING):
        raise ValueError(f"probabilities must be from 0 to 1, got values from {values.min()} to {values.max()}.")
    return scores, given
