"""Type aliases and protocols; shapes are documented in docstrings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

AnyArray: TypeAlias = NDArray[Any]
FloatArray: TypeAlias = NDArray[np.float64]
Float32Array: TypeAlias = NDArray[np.float32]
IntArray: TypeAlias = NDArray[np.intp]
BoolArray: TypeAlias = NDArray[np.bool_]

LabelType: TypeAlias = type[np.int8] | type[np.int64]  # type of the cells of an indicator matrix

# scipy has no type hints: a sparse array is Any for type checkers; these names document the type.
CSR: TypeAlias = Any
Matrix: TypeAlias = Any  # a dense NDArray or a CSR array
LabelSets: TypeAlias = NDArray[Any] | CSR  # predictions: an array, or CSR if y was sparse
MatrixLike: TypeAlias = Any  # accepted from users: array, nested list, data frame, any sparse container
Table: TypeAlias = Mapping[str, NDArray[Any]]  # column names to arrays of equal length


class NeighborSearch(Protocol):
    """A search for neighbours, with the same duck type as in scikit-learn.

    `kneighbors` returns two arrays of shape (n_queries, n_neighbors), nearest first. ``X=None`` means the training
    samples, each without itself.
    """

    def fit(self, X: MatrixLike, y: None = None) -> Self:
        """Index the rows of X (n_samples, n_features)."""
        ...

    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the distances and the indices of the nearest training samples."""
        ...
