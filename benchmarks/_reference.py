"""The neighbours by definition, in float64 by plain differences, and how many answers agree with them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_SLACK = 1e-9  # of the largest norms; the rounding of a float64 product is a thousand times smaller
_AT_A_TIME = 10  # queries


def nearest_by_differences(X: Any, queries: Any, k: int, metric: str, *, own: bool = False) -> NDArray[np.int64]:
    """Return the k nearest rows of each query, equal distances ordered by index.

    Rows that are farther than the k-th nearest beyond all doubt, by a float64 product, are left out; of the others the
    differences are squared and added in float64, one feature after the other. The cosine of a and b is the root of
    (a·b)² / (a·a b·b), which is exact on small whole numbers; empty rows are nearest to each other.

    Parameters
    ----------
    X, queries : ndarray or CSR array
    k : int
    metric : {"euclidean", "cosine"}
    own : bool, default=False
        Whether query i is row i, which is not its own neighbour.

    Returns
    -------
    indices : ndarray of shape (n_queries, k)
    """
    X, queries = X.astype(np.float64), queries.astype(np.float64)
    lengths, query_lengths = _norms(X), _norms(queries)
    found = np.empty((queries.shape[0], k), dtype=np.int64)
    for i in range(queries.shape[0]):
        query = queries[[i]]
        if i % _AT_A_TIME == 0:
            products = _dense(X @ queries[i : i + _AT_A_TIME].T)  # X is read from memory once for all of them
        rough = _rough_ranks(products[:, i % _AT_A_TIME], lengths, query_lengths[i], metric)
        if own:
            rough[i] = np.inf
        scale = 1 if metric == "cosine" else query_lengths[i] ** 2 + lengths.max() ** 2
        near = np.flatnonzero(rough <= np.partition(rough, k - 1)[k - 1] + _SLACK * scale)
        found[i] = near[np.argsort(_ranks(_dense(X[near]), _dense(query), metric), kind="stable")[:k]]
    return found


def agreement(found: NDArray[Any], reference: NDArray[np.int64]) -> float:
    """Return the share of queries whose set of neighbours is the reference's; `found` may hold more queries."""
    sample = found[: len(reference)]
    return float((np.sort(sample, axis=1) == np.sort(reference, axis=1)).all(axis=1).mean())


def _rough_ranks(products: NDArray[Any], lengths: NDArray[Any], length: float, metric: str) -> NDArray[Any]:
    if metric == "cosine":
        return 1 - products / np.maximum(lengths * length, np.finfo(float).tiny)
    return lengths**2 + length**2 - 2 * products


def _ranks(rows: NDArray[Any], query: NDArray[Any], metric: str) -> NDArray[Any]:
    if metric == "cosine":
        products = _in_order(rows * query)
        squared = products**2 / np.maximum(_in_order(rows**2) * _in_order(query**2), np.finfo(float).tiny)
        both_empty = ~rows.any(axis=1) & ~query.any()
        return np.where(both_empty, -1.0, -np.sign(products) * np.sqrt(squared))
    return _in_order((rows - query) ** 2)


def _in_order(terms: NDArray[Any]) -> NDArray[Any]:
    return np.cumsum(terms, axis=1)[:, -1]  # numpy.sum adds in another order


def _norms(X: Any) -> NDArray[Any]:
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else (X**2).sum(axis=1)
    return np.sqrt(np.asarray(squares).ravel())


def _dense(X: Any) -> NDArray[Any]:
    return X.toarray() if sparse.issparse(X) else X
