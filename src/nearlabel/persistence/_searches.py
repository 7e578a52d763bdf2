"""Searches are saved as their parameters and training samples, and fitted again on loading.

The data structures of a search (trees, panels in single precision, indexes of other libraries) are larger than the
samples, depend on a version, and are read by compiled code that trusts every number in them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from nearlabel.databases import VectorTable
from nearlabel.lazy import LazyClassifier
from nearlabel.neighbors import (
    DaskNeighbors,
    ExactNeighbors,
    FaissHNSWNeighbors,
    FaissIVFNeighbors,
    UsearchNeighbors,
)
from nearlabel.persistence._tree_map import map_parts
from nearlabel.persistence._validate_arrays import validate_arrays
from nearlabel.utils.fitted_shapes import check_fitted_shapes
from nearlabel.utils.types import Matrix


def _rows_of_exact(search: Any) -> Matrix:
    rows: Matrix = search._all_rows()
    return rows


def _rows_of_index(search: Any) -> Matrix:
    _require_reproducible(search)
    return search._points.values


def _rows_of_sklearn(search: Any) -> Matrix:
    return search._fit_X


_ROWS_OF: dict[type, Callable[[Any], Matrix]] = {
    ExactNeighbors: _rows_of_exact,
    FaissHNSWNeighbors: _rows_of_index,
    FaissIVFNeighbors: _rows_of_index,
    UsearchNeighbors: _rows_of_index,
    KNeighborsTransformer: _rows_of_sklearn,
    NearestNeighbors: _rows_of_sklearn,
}
_KINDS = {kind.__name__: kind for kind in _ROWS_OF}


@dataclass(frozen=True)
class SavedSearch:
    """Replaces a search in a file.

    `rows` (n_samples, n_features) are None for an unfitted search; `feature_names` are those of a data frame.
    """

    kind: str
    parameters: dict[str, Any]
    rows: Matrix | None
    feature_names: Any

    @classmethod
    def of(cls, search: Any) -> SavedSearch:
        """Return the parameters and samples that `rebuilt` needs."""
        fitted = hasattr(search, "n_samples_fit_")
        rows = _in_memory(_ROWS_OF[type(search)](search)) if fitted else None
        parameters = map_parts(search.get_params(deep=False), _in_memory)
        if "device" in parameters:
            parameters["device"] = None  # it depends on the machine, and does not affect results
        return cls(type(search).__name__, parameters, rows, getattr(search, "feature_names_in_", None))

    def rebuilt(self) -> Any:
        """Return the search, fitted if the original was fitted."""
        search = _KINDS[self.kind](**map_parts(self.parameters, validate_arrays))
        if self.rows is not None:
            search.fit(validate_arrays(self.rows))
        if self.feature_names is not None:
            search.feature_names_in_ = self.feature_names
        return search


def with_saved_searches(model: Any) -> Any:
    """Return the model with each search as `SavedSearch`; raise ValueError if one cannot be saved."""
    return map_parts(model, _saved)


def with_searches(model: Any) -> Any:
    """Undo `with_saved_searches`; raise ValueError if a part of the model contradicts itself."""
    return map_parts(model, _restored)


def _saved(part: Any) -> Any:
    if isinstance(part, DaskNeighbors):
        raise ValueError(
            "model must not search on a cluster to be saved, got DaskNeighbors. Hint: fit it with"
            " search=ExactNeighbors(), which gives the same results."
        )
    if isinstance(part, VectorTable):
        raise ValueError(
            f"model must not search in a database to be saved, got {part!r}. Hint: its rows are stored there, so it can"
            " be fitted again; to save it, fit the classifier to the result of table.read(), with"
            " search=ExactNeighbors()."
        )
    return SavedSearch.of(part) if type(part) in _ROWS_OF else _in_memory(part)


def _restored(part: Any) -> Any:
    if isinstance(part, SavedSearch):
        return part.rebuilt()
    if isinstance(part, LazyClassifier) and hasattr(part, "label_names_"):
        check_fitted_shapes(part, part._fitted_shapes())
    return validate_arrays(part)


def _in_memory(part: Any) -> Any:
    """Return a memory map as a plain array, since its file is not saved; return anything else unchanged."""
    return part.view(np.ndarray) if isinstance(part, np.memmap) else part


def _require_reproducible(search: Any) -> None:
    """Raise ValueError unless the same samples give the same index."""
    seed = getattr(search, "random_state", 0)
    if not getattr(search, "reproducible", True) or not isinstance(seed, int | np.integer):
        raise ValueError(
            f"search must have reproducible=True and an integer random_state to be saved, got {search!r}."
            " Hint: load_model builds its index again from the training samples."
        )
