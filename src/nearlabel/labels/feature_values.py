"""The values that features have, as columns of 0 and 1: what counts of values and labels are made from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.utils.blocks import uneven_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix


class FeatureValues(NamedTuple):
    """The present values of some features, that is all but 0.

    `indicators`, CSC (n_samples, n_values), has a column for each value, 1 in the rows that have it; columns of one
    feature lie side by side. `feature` (n_values,) counts features from the first of them, `n_features` is how many
    there are.
    """

    indicators: Any
    feature: IntArray
    n_features: int

    def sum_by_feature(self, values: Matrix) -> Matrix:
        """Add what belongs to one feature: (n_values,) or (n_values, n), dense or CSR, to (n_features, ...)."""
        ones = np.ones(len(self.feature), dtype=values.dtype)
        entries = (ones, (self.feature, np.arange(len(self.feature))))
        return sparse.csr_array(entries, shape=(self.n_features, len(self.feature))) @ values


def feature_values(X: Matrix, n_bins: int, bytes_per_feature: int = 0) -> Iterator[FeatureValues]:
    """Yield the values of the features of X, block by block of features.

    Of each feature the value 0 stands for absence; no column is made for it, so sparse rows stay sparse. A feature with
    at most `n_bins` other values keeps each as it is. The others' are cut into bins of equal frequency: a value that
    exceeds r of the m present ones is in bin ``floor(n_bins · r / m)``, so equal values share a bin and some bins may
    be missing. Stored zeros count as absent: dense and sparse rows have the same values.
    """
    columns = _canonical_columns(X) if sparse.issparse(X) else None
    n_present = np.full(X.shape[1], X.shape[0]) if columns is None else np.diff(columns.indptr).astype(np.int64)
    for block in uneven_blocks(64 * n_present + bytes_per_feature):
        yield _values_of(sparse.csc_array(X[:, block]) if columns is None else columns[:, block], n_bins)


def _canonical_columns(X: Any) -> Any:
    """Return CSC without entries stored in parts; the user's matrix is not changed."""
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
    """Return, for present values sorted by feature and value, a number that tells those of a feature apart."""
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
    """Tell, of sorted entries, which are the first of their kind."""
    first = np.zeros(len(keys[0]), dtype=np.bool_)
    first[:1] = True
    for key in keys:
        first[1:] |= key[1:] != key[:-1]
    return np.asarray(first)
