"""Searches are saved as their parameters and training samples, and fitted again on loading.

The data structures of a search (trees, indexes of other libraries) are larger than the samples, depend on a version,
and are read by compiled code that trusts every number in them. The packed panels of a large exact search are the
exception: packing takes most of the time, and its arrays can be checked.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from operator import attrgetter, methodcaller
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors
from sklearn.tree import DecisionTreeClassifier

from nearlabel import neighbors
from nearlabel.lazy import LazyClassifier
from nearlabel.persistence._allow_list import TREE, nodes_of
from nearlabel.utils.estimators import check_fitted_shapes
from nearlabel.utils.types import AnyArray, Matrix

PACKED_FROM = 2**24  # values of samples: below, packing takes half a second at most
ReadPacked: TypeAlias = Callable[[int], dict[str, AnyArray]]  # the arrays of a packed search, by its number


def _rows_of_index(search: Any) -> Matrix:
    """Return the rows of an approximate search; raise ValueError unless the same samples give the same index."""
    seed = getattr(search, "random_state", 0)
    if not getattr(search, "reproducible", True) or not isinstance(seed, int | np.integer):
        raise ValueError(
            f"search must have reproducible=True and an integer random_state to be saved, got {search!r}."
            " Hint: load_model builds its index again from the training samples."
        )
    return search._points.values


_ROWS_OF: dict[type, Callable[[Any], Matrix]] = {
    neighbors.ExactNeighbors: methodcaller("_all_rows"),
    **dict.fromkeys(
        (neighbors.FaissHNSWNeighbors, neighbors.FaissIVFNeighbors, neighbors.UsearchNeighbors), _rows_of_index
    ),
    **dict.fromkeys((KNeighborsTransformer, NearestNeighbors), attrgetter("_fit_X")),
}
_KINDS = {kind.__name__: kind for kind in _ROWS_OF}


@dataclass(frozen=True)
class SavedSearch:
    """Replaces a search in a file.

    `rows` (n_samples, n_features) are None for an unfitted search, and for one whose samples are among `packed` arrays:
    this is their number, 0 without. `feature_names` are those of a data frame.
    """

    kind: str
    parameters: dict[str, Any]
    rows: Matrix | None
    feature_names: Any
    packed: int = 0

    @classmethod
    def of(cls, search: Any, packed: Packed | None = None) -> SavedSearch:
        """Return the parameters and samples that `rebuilt` needs; put those of a large search among packed arrays."""
        fitted = hasattr(search, "n_samples_fit_")
        number = 0 if packed is None else packed.add(search)
        rows = _in_memory(_ROWS_OF[type(search)](search)) if fitted and not number else None
        parameters = map_parts(search.get_params(deep=False), _in_memory)
        if "device" in parameters:
            parameters["device"] = None  # it depends on the machine, and does not affect results
        return cls(type(search).__name__, parameters, rows, getattr(search, "feature_names_in_", None), number)

    def rebuilt(self, arrays_of: ReadPacked | None = None) -> Any:
        """Return the search, fitted if the original was fitted."""
        search = _KINDS[self.kind](**map_parts(self.parameters, validate_arrays))
        if self.packed and arrays_of is not None and isinstance(search, neighbors.ExactNeighbors):
            neighbors.fit_to_packed(search, arrays_of(self.packed))
        elif self.rows is not None:
            search.fit(validate_arrays(self.rows))
        if self.feature_names is not None:
            search.feature_names_in_ = self.feature_names
        return search


class Packed:
    """The arrays of large exact searches, by the numbers of the searches from 1 on."""

    def __init__(self) -> None:
        self.arrays: dict[int, dict[str, AnyArray]] = {}

    def add(self, search: Any) -> int:
        """Return the number of a search; 0 if it is small or has no packed panels."""
        n_values = getattr(search, "n_samples_fit_", 0) * getattr(search, "n_features_in_", 0)
        is_large = isinstance(search, neighbors.ExactNeighbors) and n_values >= PACKED_FROM
        arrays = neighbors.packed_arrays(search) if is_large else {}
        if not arrays:
            return 0
        self.arrays[len(self.arrays) + 1] = arrays
        return len(self.arrays)


def with_saved_searches(model: Any, packed: Packed | None) -> Any:
    """Return the model with each search as `SavedSearch`; raise ValueError if one cannot be saved."""
    return map_parts(model, partial(_saved, packed=packed))


def with_searches(model: Any, arrays_of: ReadPacked) -> Any:
    """Undo `with_saved_searches`; raise ValueError if a part of the model contradicts itself."""
    return map_parts(model, partial(_restored, arrays_of=arrays_of))


def _saved(part: Any, packed: Packed | None) -> Any:
    if isinstance(part, neighbors.DaskNeighbors):
        raise ValueError(
            "model must not search on a cluster to be saved, got DaskNeighbors. Hint: fit it with"
            " search=ExactNeighbors(), which gives the same results."
        )
    if isinstance(part, neighbors.VectorTable):
        raise ValueError(
            f"model must not search in a database to be saved, got {part!r}. Hint: its rows are stored there, so it can"
            " be fitted again; to save it, fit the classifier to the result of table.read(), with"
            " search=ExactNeighbors()."
        )
    return SavedSearch.of(part, packed) if type(part) in _ROWS_OF else _in_memory(part)


def _restored(part: Any, arrays_of: ReadPacked) -> Any:
    if isinstance(part, SavedSearch):
        return part.rebuilt(arrays_of)
    if isinstance(part, LazyClassifier) and hasattr(part, "label_names_"):
        check_fitted_shapes(part, part._fitted_shapes())
    return validate_arrays(part)


def _in_memory(part: Any) -> Any:
    """Return a memory map as a plain array, since its file is not saved; return anything else unchanged."""
    return part.view(np.ndarray) if isinstance(part, np.memmap) else part


# Replace parts of an estimator at any depth.


def map_parts(thing: Any, change: Callable[[Any], Any]) -> Any:
    """Return `thing` with `change` applied to each of its parts.

    Lists, tuples, dicts, arrays of objects, estimators and objects of nearlabel are searched. Containers of a changed
    part are copied shallowly; all others are returned unchanged, so the input is not modified and no numbers are
    copied. An object referenced twice is still one object in the result.
    """
    return _TreeMap(change).of(thing)


class _TreeMap:
    """One traversal, which stores the result of every object by its id."""

    def __init__(self, change: Callable[[Any], Any]) -> None:
        self._change = change
        self._seen: dict[int, tuple[Any, Any]] = {}  # keeps each object alive, so that its id is not reused

    def of(self, thing: Any) -> Any:
        if id(thing) not in self._seen:
            new = self._change(thing)
            self._seen[id(thing)] = thing, new  # set before the recursion, to stop at cycles
            if new is thing:
                self._seen[id(thing)] = thing, self._inside(thing)
        return self._seen[id(thing)][1]

    def _inside(self, thing: Any) -> Any:
        if isinstance(thing, dict):
            return self._like(thing, thing, lambda parts: _with_items(thing, parts))
        if isinstance(thing, np.ndarray) and thing.dtype == object:
            return self._like(thing, dict(np.ndenumerate(thing)), lambda parts: _with_items(thing, parts))
        if isinstance(thing, list | tuple):
            make = getattr(type(thing), "_make", type(thing))
            return self._like(thing, dict(enumerate(thing)), lambda parts: make(parts.values()))
        if isinstance(thing, BaseEstimator) or type(thing).__module__.partition(".")[0] == "nearlabel":
            return self._like(thing, getattr(thing, "__dict__", {}), lambda parts: _with_attributes(thing, parts))
        return thing

    def _like(self, thing: Any, parts: dict[Any, Any], make: Callable[[dict[Any, Any]], Any]) -> Any:
        new = {key: self.of(part) for key, part in parts.items()}
        return thing if all(new[key] is part for key, part in parts.items()) else make(new)


def _with_items(thing: Any, items: dict[Any, Any]) -> Any:
    clone = copy.copy(thing)
    for key, item in items.items():
        clone[key] = item
    return clone


def _with_attributes(thing: Any, attributes: dict[str, Any]) -> Any:
    clone = copy.copy(thing)
    vars(clone).update(attributes)  # also works for frozen dataclasses
    return clone


# Validate parts of a model that compiled code uses without checks.
#
# scipy does not check the indices of a sparse matrix, and numpy does not check the position of a random generator:
# forged values would read memory outside the array.

# For each bit generator: the keys of the array position in its state, and the largest valid position.
_POSITIONS = {"MT19937": ("state", "pos", 624), "Philox": (None, "buffer_pos", 4)}


def validate_arrays(part: Any) -> Any:
    """Return a part unchanged; raise ValueError for a sparse matrix or random generator with invalid positions."""
    if sparse.issparse(part) and hasattr(part, "check_format"):
        part.check_format(full_check=True)  # by default scipy checks lengths only
    elif isinstance(part, np.random.RandomState):
        _validate_position(part.get_state(legacy=False))
    elif isinstance(part, np.random.Generator):
        _validate_position(part.bit_generator.state)
    return part


def _validate_position(state: Any) -> None:
    within, field, end = _POSITIONS.get(state["bit_generator"], (None, "", 0))
    position = (state if within is None else state[within]).get(field, 0)
    if not 0 <= position <= end:
        raise ValueError(f"a random generator has position {position} of {end}")


# Validate scikit-learn's decision trees, whose indices compiled code uses without checks.
#
# A forged tree could make the code read outside its arrays, or loop forever. So a tree is trusted only inside an
# estimator that compares the number of features of X with its own before it calls the tree, and only after these
# numbers and all indices were checked.

_LOADER = "TreeNode"
_LEAF = -1  # the children of a leaf
# Audited estimators of trees. Gradient boosting, for example, passes X to its trees without checking their size.
_HOLDERS = frozenset(
    {"DecisionTreeClassifier", "RandomForestClassifier", "ExtraTreeClassifier", "ExtraTreesClassifier"}
)
_ROOMS = ("sklearn.tree", "sklearn.ensemble")


def checks_trees(schema: Any) -> bool:
    """Return whether `validate_trees` can check every tree in a model of this schema."""
    named = {(node.get("__module__"), node.get("__class__")) for node in nodes_of(schema)}
    of_trees = {kind for module, kind in named if str(module).startswith(_ROOMS) and f"{module}.{kind}" != TREE}
    return of_trees <= _HOLDERS


def validate_trees(model: Any, schema: Any) -> Any:
    """Return a model unchanged; raise ValueError for a tree with invalid indices, or a tree that was not found.

    A tree outside an estimator (for example in a set) is not found, but it is counted in the schema.
    """
    found: dict[int, Any] = {}

    def validated(part: Any) -> Any:
        if isinstance(part, DecisionTreeClassifier) and hasattr(part, "tree_"):
            _validate_holder(part)
            found[id(part.tree_)] = part.tree_
        return part

    map_parts(model, validated)
    numbers = [node.get("__id__") for node in nodes_of(schema) if node.get("__loader__") == _LOADER]
    n_trees = len({number for number in numbers if number is not None}) + numbers.count(None)
    if len(found) != n_trees:
        raise ValueError(f"it has {n_trees} trees, but {len(found)} in estimators")
    return model


def _validate_holder(estimator: Any) -> None:
    """Raise ValueError unless a tree matches its estimator and is valid."""
    tree, n_features = estimator.tree_, getattr(estimator, "n_features_in_", None)
    if f"{type(tree).__module__}.{type(tree).__name__}" != TREE:
        raise ValueError(f"a decision tree contains a {type(tree).__name__}")
    if type(n_features) is not int or n_features != tree.n_features:
        raise ValueError(f"a tree is of {tree.n_features} features, its estimator of {n_features!r}")
    if not 1 <= tree.node_count <= tree.capacity:  # before any array of the tree is used: they have that length
        raise ValueError(f"a tree has {tree.node_count} nodes of {tree.capacity}")
    _validate_nodes(tree)


def _validate_nodes(tree: Any) -> None:
    """Raise ValueError unless features exist, each node has one parent with a lower index, and no path is too long.

    `decision_path` allocates memory for paths of the recorded depth.
    """
    left, right = tree.children_left, tree.children_right
    inner = np.flatnonzero(left != _LEAF)
    features = tree.feature[inner]
    if ((features < 0) | (features >= tree.n_features)).any():
        raise ValueError("a tree splits by a feature that does not exist")
    children = np.concatenate([left[inner], right[inner]])
    parents = np.concatenate([inner, inner])
    if ((children <= parents) | (children >= tree.node_count)).any() or len(np.unique(children)) < len(children):
        raise ValueError("a tree leads to a node that does not exist or has another parent")
    level, depth = inner[inner == 0], 0  # the inner nodes of equal depth, from the root
    while len(level) and depth <= tree.max_depth:
        below = np.concatenate([left[level], right[level]])
        level, depth = below[left[below] != _LEAF], depth + 1
    if depth > tree.max_depth:
        raise ValueError(f"a tree has longer paths than its depth, {tree.max_depth}")
