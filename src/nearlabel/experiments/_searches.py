"""Searches by name: ``exact:metric=cosine``, ``faiss-ivf:n_probe=4``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sklearn.base import clone

from nearlabel.experiments._methods import Part
from nearlabel.neighbors import (
    ExactNeighbors,
    FaissHNSWNeighbors,
    FaissIVFNeighbors,
    PrecomputedNeighbors,
    UsearchNeighbors,
)
from nearlabel.utils.types import Matrix, NeighborSearch

SEARCHES: Mapping[str, Any] = MappingProxyType(
    {
        "exact": ExactNeighbors,
        "faiss-ivf": FaissIVFNeighbors,
        "faiss-hnsw": FaissHNSWNeighbors,
        "usearch": UsearchNeighbors,
    }
)

_OF_THE_TRUTH = ("metric", "n_jobs")  # what the exact search that another is measured by has in common with it


def make_search(spec: str) -> Any:
    """Return the unfitted search that a specification stands for.

    Parameters
    ----------
    spec : str
        A name of `SEARCHES`, then any number of ``:parameter=value``.

    Raises
    ------
    ValueError
        If there is no such search or parameter, or a value makes no sense.
    ImportError
        If the search needs a library that is not installed.

    Examples
    --------
    >>> make_search("exact:metric=cosine")
    ExactNeighbors(metric='cosine')
    """
    search = Part.parse("search", SEARCHES, spec).make()
    if hasattr(search, "_check_parameters"):
        search._check_parameters()
    return search


def reference_of(spec: str) -> str:
    """Return the specification of the exact search by the same metric, on as many threads."""
    options = Part.parse("search", SEARCHES, spec).parameters
    return ":".join(["exact", *(f"{name}={options[name]}" for name in _OF_THE_TRUTH if name in options)])


class Finder:
    """Finds, once, the neighbours that methods on the same features share, and keeps them and the seconds it took.

    Parameters
    ----------
    search : object with `fit` and `kneighbors`
        Is cloned for each selection of features.
    """

    def __init__(self, search: NeighborSearch) -> None:
        self.search = search
        self.found: dict[str, PrecomputedNeighbors] = {}
        self.seconds: dict[str, float] = {}

    def find(self, selection: str, X: Matrix, X_test: Matrix, n_neighbors: int) -> PrecomputedNeighbors:
        """Return the neighbours, among the training rows, of the training rows and of the test rows.

        `selection` names the features that are selected.
        """
        search = clone(self.search)
        start = time.perf_counter()
        found = PrecomputedNeighbors.from_search(search, X, X_test, n_neighbors=n_neighbors, check_rows=False)
        self.seconds[selection] = time.perf_counter() - start
        self.found[selection] = found
        return found
