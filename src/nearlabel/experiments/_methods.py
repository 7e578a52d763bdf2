"""Methods by name: ``mlknn``, ``brknn-a``, ``lpknn:ties=first``, ``brknn:majority=half:weights=distance``."""

from __future__ import annotations

import ast
import difflib
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from nearlabel._typing import NeighborSearch
from nearlabel.lazy import BRkNN, BRkNNa, BRkNNb, LPkNN, MLkNN

METHODS: Mapping[str, Any] = MappingProxyType(
    {"brknn": BRkNN, "brknn-a": BRkNNa, "brknn-b": BRkNNb, "lpknn": LPkNN, "mlknn": MLkNN}
)


def make_method(spec: str, n_neighbors: int, search: NeighborSearch | None = None) -> Any:
    """Return the unfitted classifier that a specification stands for.

    Parameters
    ----------
    spec : str
        A name of `METHODS`, then any number of ``:parameter=value``.
    n_neighbors : int
        Number of neighbours.
    search : object with `fit` and `kneighbors`, default=None
        Finds the neighbours.

    Raises
    ------
    ValueError
        If there is no such method or parameter.

    Examples
    --------
    >>> make_method("mlknn:smoothing=0.5", 8)
    MLkNN(n_neighbors=8, smoothing=0.5)
    """
    name, *options = spec.split(":")
    if name not in METHODS:
        near = difflib.get_close_matches(name.lower(), METHODS, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"method must be one of {sorted(METHODS)}, got {name!r}.{hint}")
    parameters = dict(_parse_option(name, option) for option in options)
    return METHODS[name](n_neighbors, search=search, **parameters)


def _parse_option(name: str, option: str) -> tuple[str, Any]:
    parameter, equals, text = option.partition("=")
    known = set(inspect.signature(METHODS[name]).parameters) - {"n_neighbors", "search"}
    if parameter not in known or not equals:
        raise ValueError(f"option of method {name!r} must be parameter=value, of {sorted(known)}, got {option!r}.")
    try:
        return parameter, ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return parameter, text
