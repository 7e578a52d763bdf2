"""Validate scikit-learn's decision trees, whose indices compiled code uses without checks.

A forged tree could make the code read outside its arrays, or loop forever. So a tree is trusted only inside an
estimator that compares the number of features of X with its own before it calls the tree, and only after these numbers
and all indices were checked.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from nearlabel.persistence._allow_list import TREE
from nearlabel.persistence._skops_schema import nodes_of
from nearlabel.persistence._tree_map import map_parts

_LOADER = "TreeNode"
_LEAF = -1  # the children of a leaf
# Audited estimators of trees. Gradient boosting, for example, passes X to its trees without checking their size.
_HOLDERS = frozenset({"DecisionTreeClassifier", "RandomForestClassifier"})
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
