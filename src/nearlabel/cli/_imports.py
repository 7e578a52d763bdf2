"""Names of your own code on the command line, which allows it to run: ``module:Class`` and ``./file.py:Class``.

Only texts that are written on the command line come here. Names in files (papers, plans, records, cards, the state of
tune) go to the library as texts, which it refuses to import.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from typing import Any

import nearlabel
from nearlabel.utils.naming import import_folders, names_an_import


def method(text: str) -> Any:
    """Return a method: the text itself, or its specification if it names your own code."""
    return _imported(nearlabel.experiments.MethodSpec.of, text)


def search(text: str) -> Any:
    """Return a search: the text itself, or the object if it names your own code."""
    return _imported(nearlabel.experiments.make_search, text)


def metric(text: str) -> Any:
    """Return a metric: the text itself, or the object if it names your own code."""
    return _imported(nearlabel.experiments.make_metric, text)


def sampler(text: str) -> Any:
    """Return a sampler: the text itself, or the object if it names your own code."""
    return _imported(nearlabel.experiments.make_sampler, text)


def thresholds(text: str) -> Any:
    """Return thresholds: the text itself, or by its text the object if it names your own code."""
    made = method(f"brknn@{text}")
    return text if isinstance(made, str) else {text: made.thresholds}


def by_text(what: str, of: Callable[[str], Any], texts: Iterable[str]) -> dict[str, Any]:
    """Return methods, searches or metrics by their texts, which are their names in records."""
    from nearlabel.utils.validation import each_once

    return {text: of(text) for text in each_once(what, texts)}


def candidate(
    of_method: str, n_neighbors: int | None, scale: str, of_search: str, **options: Any
) -> nearlabel.experiments.Candidate:
    """Return the candidate of a method and a search."""
    objects = {"method_object": method(of_method), "search_object": search(of_search)}
    own = {name: thing for name, thing in objects.items() if not isinstance(thing, str)}
    return nearlabel.experiments.Candidate(of_method, n_neighbors, scale, of_search, **own, **options)


def _imported(make: Callable[..., Any], text: str) -> Any:
    """Return what a text names; the folder of your code stays on the path of this process until the command ends.

    The code may import others of the folder later, and processes that estimators start begin with a copy of the path.
    """
    if not names_an_import(text):
        return text
    made = make(text, allow_imports=True)
    sys.path.extend(folder for folder in import_folders if folder not in sys.path)
    return made
