"""One shared search for the label sets and the scores of the same samples."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from nearlabel.utils.types import FloatArray, IntArray, Matrix


def searching_once(model: Any) -> Any:
    """Return a fitted model that searches only once for several consecutive calls with the same samples.

    It is a copy of all parts around the search: a pipeline's last step, thresholds, the lazy classifier itself. A model
    without a search is returned unchanged.
    """
    if isinstance(model, Pipeline):
        name, last = model.steps[-1]
        return _with(model, steps=[*model.steps[:-1], (name, searching_once(last))])
    if hasattr(getattr(model, "search_", None), "kneighbors"):
        return _with(model, search_=_LastAnswer(model.search_))
    inner = getattr(model, "estimator_", None)
    return model if inner is None else _with(model, estimator_=searching_once(inner))


def _with(model: Any, **attributes: Any) -> Any:
    changed = copy(model)
    vars(changed).update(attributes)
    return changed


class _LastAnswer:
    """A fitted search that stores its last result."""

    def __init__(self, search: Any) -> None:
        self._search = search
        self._asked: tuple[Matrix, int] | None = None
        self._answer: tuple[FloatArray, IntArray] | None = None

    @property
    def searched(self) -> Any:
        """The fitted search."""
        return self._search

    def __getattr__(self, name: str) -> Any:
        return getattr(self._search, name)

    def kneighbors(self, X: Matrix, n_neighbors: int) -> Any:
        """Return distances and indices of the nearest training samples."""
        if self._asked is None or self._asked[1] != n_neighbors or not _are_equal(self._asked[0], X):
            self._answer = self._search.kneighbors(X, n_neighbors)
            self._asked = X, n_neighbors
        return self._answer


def _are_equal(A: Matrix, B: Matrix) -> bool:
    """Return whether two matrices are identical objects, or have equal contents in the same storage."""
    if A is B:
        return True
    if not (sparse.issparse(A) and sparse.issparse(B)):
        return type(A) is type(B) and np.array_equal(A, B)
    return A.shape == B.shape and all(
        np.array_equal(getattr(A, part), getattr(B, part)) for part in ("data", "indices", "indptr")
    )
