"""Searches by name: ``exact:metric=cosine``, ``faiss-ivf:n_probe=4``."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors
from nearlabel.selection.parts import Part, check_search
from nearlabel.utils import names
from nearlabel.utils.naming import named
from nearlabel.utils.types import Matrix, NeighborSearch

SEARCHES = named("search", names.SEARCHES)

_OF_THE_EXACT = ("metric", "n_jobs")  # options that the exact search shares with the search that is compared with it


def make_search(spec: Any) -> Any:
    """Return the unfitted search of a specification.

    Parameters
    ----------
    spec : str or object with `fit` and `kneighbors`
        A key of `SEARCHES`, followed by any number of ``:parameter=value``; or ``package.module:Name`` with options,
        which is imported: **this executes the code of that module**; or a search, which is cloned.

    Returns
    -------
    object with `fit` and `kneighbors`
        A new search.

    Raises
    ------
    ValueError
        If there is no such search or option, or a value is invalid.
    TypeError
        If an object is not a search.
    ImportError
        If the search needs a library that is not installed, or a module cannot be imported.

    Examples
    --------
    >>> make_search("exact:metric=cosine")
    ExactNeighbors(metric='cosine')
    """
    search = Part.of("search", SEARCHES, spec).make()
    for method in ("fit", "kneighbors"):
        if not hasattr(search, method):
            raise TypeError(f"search must have {method}, got {search!r} of type {type(search).__name__}.")
    if hasattr(search, "_check_parameters"):
        search._check_parameters()
    return search


def usual_search(scale: str) -> str:
    """Return the name of the default search for a scaling of the features.

    For samples with norm 1, cosine and Euclidean distance give the same order. But a text without any known word has
    norm 0, so by the Euclidean distance it is nearer to every text than two texts with few common words are to each
    other.

    Parameters
    ----------
    scale : {"none", "minmax", "standard", "tfidf"}
        How the features are scaled.

    Returns
    -------
    str
        "exact:metric=cosine" for "tfidf", else "exact".

    Examples
    --------
    >>> usual_search("tfidf"), usual_search("minmax")
    ('exact:metric=cosine', 'exact')
    """
    return "exact:metric=cosine" if scale == "tfidf" else "exact"


def check_searches(searches: Mapping[str, Any]) -> None:
    """Raise an error unless each search can be created, and guests pass `nearlabel.testing.check_search`."""
    for name, search in searches.items():
        check_search(name, make_search(search))


def exact_search_for(spec: Any) -> str:
    """Return the specification of the exact search with the same distance and number of threads."""
    if isinstance(spec, str):
        given = dict(option.partition("=")[::2] for option in spec.split(":"))
    else:
        defaults, own = ExactNeighbors().get_params(), spec.get_params() if hasattr(spec, "get_params") else {}
        given = {name: own[name] for name in _OF_THE_EXACT if name in own and own[name] != defaults[name]}
    return ":".join(["exact", *(f"{name}={given[name]}" for name in _OF_THE_EXACT if name in given)])


class Finder:
    """Finds the neighbours shared by methods on the same features once, and stores them and the time taken.

    Parameters
    ----------
    search : object with `fit` and `kneighbors`
        The search; cloned for each selection of features.
    """

    def __init__(self, search: NeighborSearch) -> None:
        self.search = search
        self.found: dict[Part | None, PrecomputedNeighbors] = {}
        self.seconds: dict[Part | None, float] = {}

    def find(self, selection: Part | None, X: Matrix, X_test: Matrix, n_neighbors: int) -> PrecomputedNeighbors:
        """Return the nearest training samples of the training samples and of the test samples.

        `selection` identifies the selection of features; None: all features.
        """
        search = clone(self.search, safe=False)
        start = time.perf_counter()
        found = PrecomputedNeighbors.from_search(search, X, X_test, n_neighbors=n_neighbors, check_rows=False)
        self.seconds[selection] = time.perf_counter() - start
        self.found[selection] = found
        return found
