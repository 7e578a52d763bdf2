"""The shares of the training samples in the scores of queries: of votes exactly, of ML-MLM's label sets for display."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.lazy._engine import total_weight
from nearlabel.utils.types import CSR, FloatArray, MatrixLike
from nearlabel.utils.validation import row_blocks

_SHARPNESS, _TYPICAL = 2.0, 10  # as `GaussianWeights`
_LEAST = 1e-17  # of all shares of a query that are dropped together


def of_votes(self: Any, X: MatrixLike) -> CSR:
    """Return each neighbour's share of the votes of a query (n_queries, n_training).

    A query whose neighbours all weigh 0, by a function of the user, has no shares; its scores are 0.

    Raises
    ------
    ValueError
        If cells of y are unknown: each label then has neighbours of its own.
    """
    queries = self._queries(X)
    if self._cells is not None:
        raise ValueError(
            f"y must have no unknown cells for shares of training samples, got {type(self).__name__} with some: each"
            " label has neighbours of its own. Hint: explain shows them."
        )
    neighbors = self._find_neighbors(queries)
    (n_queries, k), weights = neighbors.indices.shape, self._vote_weights(neighbors)
    shares = np.full(n_queries * k, 1 / k) if weights is None else (weights / total_weight(weights)).ravel()
    ends = np.arange(0, n_queries * k + 1, k)
    return _tidy(sparse.csr_array((shares, neighbors.indices.ravel(), ends), shape=(n_queries, self._n_samples)))


def of_labelsets(self: Any, X: MatrixLike) -> CSR:
    """Return the weight of each label set of an `MLMLM`, divided over its training samples (n_queries, n_training).

    Samples of a label set share its weight in proportion to exp(-2 d² / r²), relative to the nearest of them, where d
    is the distance to the query and r that of the query to its tenth nearest training sample.
    """
    queries = self._queries(X)
    order, n_training = np.argsort(self._labelset_of, kind="stable"), len(self._labelset_of)
    labelset = self._labelset_of[order]
    starts = np.flatnonzero(np.append(True, labelset[1:] != labelset[:-1]))
    parts = []
    for rows, candidates, _ in self._answers(queries):
        weights = candidates.weights(self.power_)
        for block in row_blocks(len(weights), 64 * n_training):
            distances = self._distances.between(rows[block], self._rows)[:, order]
            shares = weights[block][:, labelset] * _shares_within(distances, starts)
            query, place = np.nonzero(shares > _LEAST / n_training)
            found = shares[query, place], (query, order[place])
            parts.append(sparse.csr_array(found, shape=(len(shares), n_training)))
    return _tidy(sparse.vstack(parts, format="csr"))


def _shares_within(distances: FloatArray, starts: Any) -> FloatArray:
    """Return the share of each column in its segment of columns (n_queries, n_columns), which begin at `starts`."""
    n_columns = distances.shape[1]
    place = min(_TYPICAL, n_columns) - 1
    unit = np.maximum(np.partition(distances, place, axis=1)[:, [place]], np.finfo(np.float64).tiny)
    sizes = np.diff(np.append(starts, n_columns))
    nearest = np.repeat(np.minimum.reduceat(distances, starts, axis=1), sizes, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        beyond = ((distances - nearest) / unit) * ((distances + nearest) / unit)
        kernel = np.exp(-_SHARPNESS * beyond)
    # NaN: of infinite distances, of samples that lack all features.
    kernel = np.where(distances == nearest, 1.0, np.nan_to_num(kernel, nan=0.0))
    return np.asarray(kernel / np.repeat(np.add.reduceat(kernel, starts, axis=1), sizes, axis=1))


def _tidy(shares: CSR) -> CSR:
    """Return shares with sorted columns, each once, without zeros."""
    shares.sum_duplicates()
    shares.eliminate_zeros()
    return shares
