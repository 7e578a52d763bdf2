"""Distances of chosen pairs of rows, summed over the features in their order, in float64: they order the neighbours.

Elementwise operations and additions one after the other give the same bits on every machine, for dense and sparse rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.neighbors.exact._kernels import sum_pairs, sum_sparse_pairs
from nearlabel.utils.arrays import row_blocks, uneven_blocks
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix

_FEATURES_AT_A_TIME = 128
_NUMBERS_AT_A_TIME = 2**15  # as float64 they fit into the cache
_CACHE_LINE = 8  # float64 numbers

_KINDS: dict[tuple[Any, Any], int] = {(np.subtract, np.square): 0, (np.multiply, np.positive): 1}  # for kernels

Term: TypeAlias = Callable[..., FloatArray]  # of the combined features; takes `out` as a ufunc does
Pairs: TypeAlias = tuple[IntArray, IntArray]  # indices of queries and of rows, one of each for a pair


def sum_over_features(left: Matrix, right: Matrix, pairs: Pairs, combine: np.ufunc, term: Term) -> FloatArray:
    """Return, for each pair (row of left, row of right), the sum over the features in their order, in float64.

    The terms are ``term(combine(a, b))``; `combine` is `numpy.subtract` or `numpy.multiply`, and `term` of 0 is 0. Both
    sides are dense, of any type and layout, or both CSR in canonical form.
    """
    if (combine, term) in _KINDS:
        sum_by_kernel = sum_sparse_pairs if sparse.issparse(left) else sum_pairs
        summed = sum_by_kernel(_KINDS[combine, term], left, right, pairs)
        if summed is not None:
            return summed
    if sparse.issparse(left):
        return _sum_over_stored_features(left, right, pairs, combine, term)
    sums: FloatArray = np.zeros(len(pairs[0]))
    for features in row_blocks(left.shape[1], 1, _FEATURES_AT_A_TIME):
        for block in row_blocks(len(sums), features.stop - features.start, _NUMBERS_AT_A_TIME):
            a, b = left[pairs[0][block], features], right[pairs[1][block], features]
            sums[block] = _added(sums[block], a, b, combine, term)
    return sums


def _added(total: FloatArray, left: FloatArray, right: FloatArray, combine: np.ufunc, term: Term) -> FloatArray:
    """Return a total (n_pairs,) to which the terms of features (n_pairs, n_features) are added one after the other.

    `numpy.sum` adds pairwise along the contiguous axis, but one number after the other along another axis. So the
    values of a feature are contiguous, and there are at least two pairs: for a single pair, the other axis would be
    contiguous.
    """
    n_pairs, n_features = left.shape
    lines = -(-n_features // _CACHE_LINE) | 1  # odd: a power of two would map all rows to the same lines of the cache
    combined = np.empty((n_pairs, lines * _CACHE_LINE))[:, :n_features]
    combine(left, right, out=combined, dtype=np.float64)
    summands = np.zeros((1 + n_features, max(n_pairs, 2)))
    summands[0, :n_pairs] = total
    term(combined.T, out=summands[1:, :n_pairs])
    sums: FloatArray = np.add.reduce(summands, axis=0)[:n_pairs]
    return sums


def _sum_over_stored_features(left: CSR, right: CSR, pairs: Pairs, combine: np.ufunc, term: Term) -> FloatArray:
    sums: FloatArray = np.empty(len(pairs[0]))
    stored = np.diff(left.indptr)[pairs[0]] + np.diff(right.indptr)[pairs[1]]
    for block in uneven_blocks(64 * stored.astype(np.int64)):
        a, b = (as_float64(rows[which[block]]) for rows, which in zip((left, right), pairs, strict=True))
        combined = (a - b if combine is np.subtract else a.multiply(b)).tocsr()
        combined.sort_indices()
        pair = np.repeat(np.arange(combined.shape[0]), np.diff(combined.indptr))
        # bincount adds one after the other, and the features of a row come in order.
        sums[block] = np.bincount(pair, weights=term(combined.data), minlength=combined.shape[0])
    return sums


def as_float64(rows: Matrix) -> Matrix:
    """Return float64 rows, dense or CSR."""
    return rows.astype(np.float64, copy=False)
