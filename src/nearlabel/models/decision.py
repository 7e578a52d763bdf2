"""From scores to label sets: pure functions, each of one rule.

Scores are a dense array or a CSR array (n_samples, n_labels); values that a CSR array does not store are scores of 0,
or, in `SparseScores`, the score of their label. Label sets are returned as an int64 indicator matrix in the same
container.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from nearlabel.utils.containers import checked_container, require_dense
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import cells_of, entry_rows, row_blocks, stacked


def cut(scores: Matrix | SparseScores, thresholds: ArrayLike = 0.5, *, strict: bool = False) -> Matrix:
    """Predict the labels whose score reaches the threshold.

    Parameters
    ----------
    scores : ndarray, CSR array or SparseScores of shape (n_samples, n_labels)
        Scores. A threshold that 0 reaches fills the label's column of a CSR array.
    thresholds : float or array-like of shape (n_labels,), default=0.5
        One for all labels or one for each.
    strict : bool, default=False
        Whether a score equal to the threshold is below it.

    Returns
    -------
    labels : ndarray or CSR array of shape (n_samples, n_labels)
        Indicator matrix.

    Raises
    ------
    ValueError
        If there is neither one threshold nor one for each label, or one is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> cut(np.array([[0.2, 0.5, 0.9]]))
    array([[0, 1, 1]])
    >>> cut(np.array([[0.2, 0.5, 0.9]]), strict=True)
    array([[0, 0, 1]])
    """
    scores = scores if isinstance(scores, SparseScores) else checked_container("scores", scores)
    limits = _one_each("thresholds", thresholds, scores.shape[1], "labels").astype(np.float64)
    if np.isnan(limits).any():
        raise ValueError(f"thresholds must not be NaN, got it for label {np.flatnonzero(np.isnan(limits))[0]}.")
    passes = np.greater if strict else np.greater_equal
    if isinstance(scores, SparseScores):
        return scores.choose(passes(scores.stored.data, limits[scores.stored.indices]), passes(scores.unvoted, limits))
    if not sparse.issparse(scores):
        return passes(scores, limits).astype(np.int64)
    stored = sparse.csr_array(scores)
    chosen = passes(stored.data, limits[stored.indices])
    filled = np.flatnonzero(passes(0.0, limits))
    return _entries_where(stored, chosen) if not len(filled) else _filled(stored, chosen, filled)


def at_least_one(labels: Matrix, scores: Matrix) -> Matrix:
    """Give each sample without a label the label of highest score, the lower index on a tie.

    Parameters
    ----------
    labels : ndarray or CSR array of shape (n_samples, n_labels)
        Indicator matrix.
    scores : ndarray or CSR array of shape (n_samples, n_labels)
        Scores, at least 0 where sparse. A sample of equal scores gets label 0.

    Returns
    -------
    labels : ndarray or CSR array of shape (n_samples, n_labels)
        Indicator matrix with at least one label for each sample.

    Examples
    --------
    >>> import numpy as np
    >>> at_least_one(np.array([[0, 0, 0], [1, 0, 0]]), np.array([[0.1, 0.4, 0.4], [0.5, 0.1, 0.2]]))
    array([[0, 1, 0],
           [1, 0, 0]])
    """
    labels, scores = checked_container("labels", labels), checked_container("scores", scores)
    empty = np.flatnonzero(np.asarray(labels.sum(axis=1)) == 0)
    best = np.asarray(scores[empty].argmax(axis=1)).ravel()  # older scipy returns a column
    if not sparse.issparse(labels):
        filled = labels.copy()
        filled[empty, best] = 1
        return filled
    top = (np.ones(len(empty), dtype=np.int64), (empty, best))
    return (labels + sparse.csr_array(top, shape=labels.shape)).tocsr()


def top_labels(scores: Matrix, sizes: ArrayLike) -> Matrix:
    """Predict, for each sample, the given number of labels of highest score, lower indices on a tie.

    Parameters
    ----------
    scores : ndarray or CSR array of shape (n_samples, n_labels)
        Scores; in a CSR array only labels with stored scores can be predicted.
    sizes : int or array-like of int of shape (n_samples,)
        Numbers of labels; 0 predicts none.

    Returns
    -------
    labels : ndarray or CSR array of shape (n_samples, n_labels)
        Indicator matrix.

    Raises
    ------
    ValueError
        If there is neither one size nor one for each sample.

    Examples
    --------
    >>> import numpy as np
    >>> top_labels(np.array([[0.3, 0.9, 0.3], [0.3, 0.9, 0.3]]), [2, 0])
    array([[1, 1, 0],
           [0, 0, 0]])
    """
    scores = checked_container("scores", scores)
    wanted = _one_each("sizes", sizes, scores.shape[0], "rows")
    if sparse.issparse(scores):
        stored = sparse.csr_array(scores)
        row = np.repeat(np.arange(stored.shape[0]), np.diff(stored.indptr))
        order = np.lexsort((stored.indices, _best_first(stored.data), row))
        place = np.empty(len(row), dtype=np.intp)
        place[order] = np.arange(len(row)) - stored.indptr[row[order]]
        return _entries_where(stored, place < wanted[row])
    labels = np.zeros(scores.shape, dtype=np.int64)
    for rows in row_blocks(scores.shape[0], 32 * scores.shape[1]):
        order = np.argsort(_best_first(scores[rows]), axis=1, kind="stable")
        chosen = np.arange(scores.shape[1]) < wanted[rows, np.newaxis]
        np.put_along_axis(labels[rows], order, chosen.astype(np.int64), axis=1)
    return labels


def within_sizes(labels: Matrix, scores: Matrix, *, at_least: int = 0, at_most: int | None = None) -> Matrix:
    """Bound the number of labels of each sample: add those of highest score, or drop those of lowest.

    Parameters
    ----------
    labels : ndarray of shape (n_samples, n_labels)
        Indicator matrix.
    scores : ndarray of shape (n_samples, n_labels)
        Scores; of equal ones the lower label index is kept or added first.
    at_least : int, default=0
        A sample with fewer labels gets the best of the others.
    at_most : int, default=None
        A sample with more labels keeps the best of them. None: any number.

    Returns
    -------
    labels : ndarray of shape (n_samples, n_labels)
        Indicator matrix.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[0.1, 0.4, 0.3], [0.5, 0.1, 0.2]])
    >>> within_sizes(np.array([[0, 0, 0], [1, 1, 1]]), scores, at_least=1, at_most=2)
    array([[0, 1, 0],
           [1, 0, 1]])
    """
    require_dense("labels", labels)
    require_dense("scores", scores)
    sizes = labels.sum(axis=1)
    wanted = np.clip(sizes, at_least, labels.shape[1] if at_most is None else at_most)
    rows = np.flatnonzero(sizes != wanted)
    bounded = labels.copy()
    order = np.lexsort((_best_first(scores[rows]), 1 - labels[rows]), axis=1)
    first = np.arange(labels.shape[1]) < wanted[rows, np.newaxis]
    kept = np.zeros((len(rows), labels.shape[1]), dtype=labels.dtype)
    np.put_along_axis(kept, order, first.astype(labels.dtype), axis=1)
    bounded[rows] = kept
    return bounded


def _filled(scores: CSR, chosen: BoolArray, columns: IntArray) -> CSR:
    """Return the chosen entries, and those columns full but for entries that are stored and not chosen."""
    n, n_columns = scores.shape[0], len(columns)
    full = (np.ones(n * n_columns, dtype=np.int64), np.tile(columns, n), np.arange(0, n * n_columns + 1, n_columns))
    missed = np.isin(scores.indices, columns) & ~chosen
    inside = np.isin(scores.indices, columns) & chosen
    labels = sparse.csr_array(full, shape=scores.shape) - _entries_where(scores, missed)
    labels = (labels + _entries_where(scores, chosen & ~inside)).tocsr()
    labels.eliminate_zeros()
    labels.sort_indices()
    return labels


def _one_each(name: str, numbers: ArrayLike, n: int, what: str) -> Any:
    require_dense(name, numbers)
    values = np.asarray(numbers)
    if values.shape not in ((), (1,), (n,)):
        raise ValueError(f"{name} must be one number or one for each of the {n} {what}, got shape {values.shape}.")
    return np.broadcast_to(values, n)


def _best_first(scores: Any) -> FloatArray:
    """Return numbers that ascend as the scores descend; unsigned scores have no negative of their own type."""
    negated: FloatArray = np.negative(scores, dtype=np.float64)
    return negated


def _entries_where(scores: CSR, chosen: BoolArray) -> CSR:
    labels = sparse.csr_array((chosen.astype(np.int64), scores.indices, scores.indptr), shape=scores.shape, copy=True)
    labels.eliminate_zeros()
    labels.sort_indices()
    return labels


# Scores with a sparse y: stored for the labels that have a vote; all other labels have one score each.


@dataclass(frozen=True)
class SparseScores:
    """Scores (n_queries, n_labels): `stored` ones with sorted indices, and the score of each label without a vote."""

    stored: CSR
    unvoted: FloatArray  # (n_labels,)

    @classmethod
    def like(cls, votes: CSR, scores: FloatArray, unvoted: FloatArray) -> SparseScores:
        """Take the score of each stored vote, in the order of storage."""
        return cls(sparse.csr_array((scores, votes.indices, votes.indptr), shape=votes.shape), np.asarray(unvoted))

    @classmethod
    def joined(cls, parts: Sequence[SparseScores]) -> SparseScores | FloatArray:
        """Return the scores of several blocks of queries; as an array if labels without a vote differ between them."""
        first, *others = parts
        if all(np.array_equal(part.unvoted, first.unvoted) for part in others):
            return cls(stacked([part.stored for part in parts]), first.unvoted)
        return np.vstack([part.toarray() for part in parts])

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of `toarray()`."""
        n_queries, n_labels = self.stored.shape
        return int(n_queries), int(n_labels)

    @property
    def nbytes(self) -> int:
        """The bytes of the stored scores and of their labels."""
        return int(self.stored.data.nbytes + self.stored.indices.nbytes)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: Any) -> SparseScores:
        """Return the scores of some queries."""
        return SparseScores(self.stored[rows], self.unvoted)

    def toarray(self) -> FloatArray:
        """Return all scores as an array."""
        scores = np.tile(self.unvoted, (self.stored.shape[0], 1))
        scores[entry_rows(self.stored), self.stored.indices] = self.stored.data
        return scores

    def choose(self, stored: BoolArray, unvoted: BoolArray) -> CSR:
        """Return the label sets of decisions on the stored scores, and on each label without a vote.

        Labels predicted even without a vote are common to most queries; only their columns are filled.
        """
        rows, labels, common = entry_rows(self.stored), self.stored.indices, np.flatnonzero(unvoted)
        empty_row, empty_column = np.nonzero(self._is_stored()[:, common].toarray() == 0)
        entries = np.concatenate([rows[stored], empty_row]), np.concatenate([labels[stored], common[empty_column]])
        decided = sparse.csr_array((np.ones(len(entries[0]), dtype=np.int64), entries), shape=self.stored.shape)
        decided.sort_indices()
        return decided

    def _is_stored(self) -> CSR:
        """Return 1 where a score is stored, even if it is 0."""
        ones = np.ones(self.stored.nnz, dtype=np.int8)
        return sparse.csr_array((ones, self.stored.indices, self.stored.indptr), shape=self.stored.shape)

    def top(self, n_labels: int) -> tuple[FloatArray, IntArray]:
        """Return the best labels of each query, as `top_of_dense` does, without a dense matrix.

        A query with v stored scores finds its best among those and the best ``n_labels + v`` labels without a vote, of
        which at most v are stored for this query.
        """
        other_rows, others = self._best_unvoted(n_labels)
        entries = np.concatenate([entry_rows(self.stored), other_rows]), np.concatenate([self.stored.indices, others])
        values = np.concatenate([self.stored.data, self.unvoted[others]])
        scores = sparse.csr_array((values, entries), shape=self.stored.shape)
        scores.sort_indices()
        order = np.lexsort((-scores.data, entry_rows(scores)))
        best = order[scores.indptr[:-1, np.newaxis] + np.arange(n_labels)]
        return scores.data[best], scores.indices[best].astype(np.intp)

    def _best_unvoted(self, n_labels: int) -> tuple[IntArray, IntArray]:
        """Return rows and labels of the best `n_labels` labels that have no vote in a row, or of all of them."""
        by_score = np.argsort(-self.unvoted, kind="stable")
        sizes = np.minimum(n_labels + np.diff(self.stored.indptr), self.stored.shape[1])
        rows = np.repeat(np.arange(len(sizes)), sizes)
        labels = by_score[np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)]
        unvoted = cells_of(self._is_stored(), rows, labels) == 0
        return rows[unvoted], labels[unvoted]
