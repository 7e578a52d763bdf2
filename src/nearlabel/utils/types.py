"""Aliases and protocols shared by all layers; shapes live in docstrings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]

LabelType: TypeAlias = type[np.int8] | type[np.int64]  # of the cells of an indicator matrix

# scipy ships no types: a sparse array is Any to the type checker, these names say which one is meant.
CSR: TypeAlias = Any
Matrix: TypeAlias = Any  # a dense NDArray or a CSR array
LabelSets: TypeAlias = NDArray[Any] | CSR  # predictions: an array, or CSR where y was sparse
MatrixLike: TypeAlias = Any  # what a user may pass: array, nested list, data frame, any sparse container
Table: TypeAlias = Mapping[str, NDArray[Any]]  # column names to arrays of one length


class NeighborSearch(Protocol):
    """Anything that finds neighbours: scikit-learn's own duck type.

    `kneighbors` gives two arrays of shape (n_queries, n_neighbors), nearest first. ``X=None`` means the training rows,
    each without itself.
    """

    def fit(self, X: MatrixLike, y: None = None) -> Self:
        """Index the rows of X (n_samples, n_features)."""
        ...

    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the distances and the training indices of the nearest rows."""
        ...
