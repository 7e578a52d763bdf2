"""Searches as they are kept: their parameters and training rows, from which they are built anew.

What a search derives from the rows, such as trees, panels in single precision and indexes of other libraries, is larger
than they are, tied to a version, and read by compiled code that trusts every number in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from nearlabel.neighbors import (
    DaskNeighbors,
    ExactNeighbors,
    FaissHNSWNeighbors,
    FaissIVFNeighbors,
    UsearchNeighbors,
)
from nearlabel.persistence._replaced import replaced
from nearlabel.persistence._soundness import sound
from nearlabel.utils.types import Matrix


def _rows_of_exact(search: Any) -> Matrix:
    rows = search._rows
    return rows if search._distinct is None else rows[search._distinct.group_of]


def _rows_of_index(search: Any) -> Matrix:
    _require_same_again(search)
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
class KeptSearch:
    """What stands in a file for a search.

    `rows` (n_samples, n_features) are None if it was not fitted; `feature_names` are those of a data frame.
    """

    kind: str
    parameters: dict[str, Any]
    rows: Matrix | None
    feature_names: Any

    @classmethod
    def of(cls, search: Any) -> KeptSearch:
        """Take what `rebuilt` needs."""
        fitted = hasattr(search, "n_samples_fit_")
        rows = _in_memory(_ROWS_OF[type(search)](search)) if fitted else None
        parameters = replaced(search.get_params(deep=False), _in_memory)
        return cls(type(search).__name__, parameters, rows, getattr(search, "feature_names_in_", None))

    def rebuilt(self) -> Any:
        """Return the search, fitted if it was."""
        search = _KINDS[self.kind](**replaced(self.parameters, sound))
        if self.rows is not None:
            search.fit(sound(self.rows))
        if self.feature_names is not None:
            search.feature_names_in_ = self.feature_names
        return search


def with_kept_searches(model: Any) -> Any:
    """Return the model as it goes into a file; raise ValueError if it holds a search that cannot be kept."""
    return replaced(model, _kept)


def with_searches(model: Any) -> Any:
    """Return the model as it was before `with_kept_searches`; raise ValueError if a part of it is not sound."""
    return replaced(model, _restored)


def _kept(part: Any) -> Any:
    if isinstance(part, DaskNeighbors):
        raise ValueError(
            "model must not search on a cluster to be kept, got DaskNeighbors. Hint: fit it with"
            " search=ExactNeighbors(), which gives the same answers."
        )
    return KeptSearch.of(part) if type(part) in _ROWS_OF else _in_memory(part)


def _restored(part: Any) -> Any:
    return part.rebuilt() if isinstance(part, KeptSearch) else sound(part)


def _in_memory(part: Any) -> Any:
    """Return a memory map as an array, which is what it is in another file; other things as they are."""
    return part.view(np.ndarray) if isinstance(part, np.memmap) else part


def _require_same_again(search: Any) -> None:
    """Raise ValueError unless the same rows give the same index."""
    seed = getattr(search, "random_state", 0)
    if not getattr(search, "reproducible", True) or not isinstance(seed, int | np.integer):
        raise ValueError(
            f"search must have reproducible=True and an integer random_state to be kept, got {search!r}. Its index"
            " is not kept but built anew by load_model."
        )
