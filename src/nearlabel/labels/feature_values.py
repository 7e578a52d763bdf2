"""The distinct values of features as columns of 0 and 1, from which values and labels are counted together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.utils.blocks import uneven_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix


class FeatureValues(NamedTuple):
    """The present values of some features, that is, all but 0.

    `indicators`, CSC (n_samples, n_values), has a column for each value, with 1 in the rows that have it; the columns
    of one feature are adjacent. `feature` (n_values,) is the feature of each value, counted from the first one;
    `n_features` is their number.
    """

    indicators: Any
    feature: IntArray
    n_features: int

    def sum_by_feature(self, values: Matrix) -> Matrix:
        """Sum the values of each feature: (n_values,) or (n_values, n), dense or CSR, to (n_features, ...)."""
        ones = np.ones(len(self.feature), dtype=values.dtype)
        entries = (ones, (self.feature, np.arange(len(self.feature))))
        return sparse.csr_array(entries, shape=(self.n_features, len(self.feature))) @ values


def feature_values(X: Matrix, n_bins: int, bytes_per_feature: int = 0) -> Iterator[FeatureValues]:
    """Yield the values of the features of X, block by block of features.

    The value 0 means absence and gets no column, so sparse data stay sparse. A feature with at most `n_bins` other
    values keeps them unchanged. The values of other features are discretised into bins of equal frequency: a value that
    exceeds r of the m present ones is in bin ``floor(n_bins · r / m)``, so equal values share a bin and some bins may
    be empty. Stored zeros count as absent: dense and sparse data give the same values.
    """
    columns = _canonical_columns(X) if sparse.issparse(X) else None
    n_present = np.full(X.shape[1], X.shape[0]) if columns is None else np.diff(columns.indptr).astype(np.int64)
    for block in uneven_blocks(64 * n_present + bytes_per_feature):
        yield _values_of(sparse.csc_array(X[:, block]) if columns is None else columns[:, block], n_bins)


def _canonical_columns(X: Any) -> Any:
    """Return CSC with duplicate entries summed; the user's matrix is not changed."""
    columns = sparse.csc_array(X)
    if not columns.has_canonical_format:
        columns = columns.copy()
        columns.sum_duplicates()
    return columns


def _values_of(X: Any, n_bins: int) -> FeatureValues:
    """Return the values of a block of features, CSC in canonical form."""
    present = X.data != 0
    feature = np.repeat(np.arange(X.shape[1]), np.diff(X.indptr))[present]
    row, value = X.indices[present], X.data[present]
    order = np.lexsort((value, feature))
    feature, row, value = feature[order], row[order], value[order]
    code = _bins(feature, value, n_bins)
    starts = np.flatnonzero(_changes(feature, code))
    indptr = np.append(starts, len(row))
    shape = (X.shape[0], len(starts))
    indicators = sparse.csc_array((np.ones(len(row), dtype=np.int64), row, indptr), shape=shape)
    return FeatureValues(indicators, feature[starts], X.shape[1])


def _bins(feature: IntArray, value: FloatArray, n_bins: int) -> IntArray:
    """Return, for present values sorted by feature and value, the number of each value's bin within its feature."""
    if not len(feature):
        return np.zeros(0, dtype=np.int64)
    place = np.arange(len(feature))
    first = _changes(feature)
    start, size = np.maximum.accumulate(np.where(first, place, 0)), np.bincount(feature)[feature]
    distinct = _changes(feature, value)
    n_smaller = np.maximum.accumulate(np.where(distinct, place, 0)) - start
    number = np.cumsum(distinct)
    rank = number - number[start]
    n_distinct = np.bincount(feature, weights=distinct)[feature]
    return np.where(n_distinct <= n_bins, rank, n_bins * n_smaller // size)


def _changes(*keys: FloatArray | IntArray) -> FloatArray:
    """Return which of the sorted entries differ from the entry before."""
    first = np.zeros(len(keys[0]), dtype=np.bool_)
    first[:1] = True
    for key in keys:
        first[1:] |= key[1:] != key[:-1]
    return np.asarray(first)
