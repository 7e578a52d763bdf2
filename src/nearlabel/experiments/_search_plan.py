"""Comparison of searches with the exact search: missed neighbours, effect on metrics, and time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearlabel.experiments._folds import Fold
from nearlabel.experiments._plan import Plan
from nearlabel.experiments._record_lines import Record
from nearlabel.experiments._summary import Cell, summarise
from nearlabel.neighbors import ExactNeighbors
from nearlabel.selection.data import Problem
from nearlabel.selection.parts import by_name, describe_object, described
from nearlabel.selection.searches import Finder, check_searches, exact_search_for, make_search
from nearlabel.utils.types import FloatArray, IntArray

# Metrics of a search, in addition to the metrics of a plan.
RECALL, SECONDS = "neighbor_recall", "search_seconds"


@dataclass(frozen=True)
class SearchPlan:
    """A comparison of methods with several searches, and with the exact search by the same distance.

    Its records have a key "search" in addition to those of a `Plan`, and two more metrics: "neighbor_recall", the mean
    share of the test samples' true neighbours that the search finds, and "search_seconds", the time to fit the training
    samples and to find the neighbours of training and test samples. Only the seconds differ from run to run.

    Parameters
    ----------
    plan : Plan
        The comparison; each of its methods must have a number of neighbours and no search of its own.
    searches : tuple of str or search, or mapping of str to them
        Searches as `make_search` accepts them. In a mapping you choose the names in the records. A search that is not
        nearlabel's own must pass `nearlabel.testing.check_search`.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown, a number is out of range, a method cannot share neighbours, or a search fails a check; in
        the last case the message begins with the name of the check.
    ImportError
        If a search needs a library that is not installed, or a module cannot be imported.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Plan, SearchPlan, run, search_costs
    >>> plan = Plan(methods=("brknn",), n_neighbors=(5,), cv=2, metrics=("hamming_loss",))
    >>> plan = SearchPlan(plan, ("exact:metric=manhattan",))
    >>> records = run(plan, {"multidigits": load_multidigits()})
    >>> sorted({record["metric"] for record in records})
    ['hamming_loss', 'neighbor_recall', 'search_seconds']
    """

    plan: Plan
    searches: Any  # __post_init__ makes it a dict: the search of each name

    def __post_init__(self) -> None:
        object.__setattr__(self, "searches", by_name("searches", self.searches))
        check_searches(self.searches)
        for name, search in self.searches.items():
            if name != search and name in map(exact_search_for, self.searches.values()):
                raise ValueError(f"searches must not give the name of the exact search to another one, got {name!r}.")
        for method in self.plan.methods:
            if not self.plan.spec_of(method).shares_search:
                raise ValueError(
                    f"methods must have n_neighbors and no search of their own to be compared by searches,"
                    f" got {method!r}."
                )

    @property
    def _run(self) -> dict[str, Any]:
        """The searches by name, each after the exact search with which it is compared."""
        run: dict[str, Any] = {}
        for name, search in self.searches.items():
            exact = exact_search_for(search)
            run.setdefault(exact, exact)
            run.setdefault(name, search)
        return run

    def folds(self, problems: Mapping[str, Problem]) -> Iterator[Fold]:
        """Yield every fold of every data set, in a fixed order; raise as `Plan.folds` does."""
        return self.plan.folds(problems)

    def describe(self, problems: Mapping[str, Problem]) -> dict[str, Any]:
        """Return the inputs that determine the records, except for the seconds."""
        descriptions = {name: describe_object(make_search(search)) for name, search in self.searches.items()}
        searches = described(self.searches, descriptions)
        plan = self.plan.describe(problems)
        objects = {**plan.get("objects", {}), "searches": searches}
        return plan | {"searches": list(self.searches)} | ({"objects": objects} if searches else {})

    def settings(self, fold: Fold) -> Iterator[Record]:
        """Yield the records of a fold in their order, still without values."""
        for search in self._run:
            for record in self.plan.settings(fold):
                yield record | {"search": search}
            for method in self.plan.methods:
                for k in self.plan.n_neighbors:
                    yield fold.label() | {"method": method, "n_neighbors": k, "metric": RECALL, "search": search}
                yield fold.label() | {"method": method, "n_neighbors": None, "metric": SECONDS, "search": search}

    def values(self, fold: Fold) -> Iterator[float | None]:
        """Yield the values of a fold's records."""
        first = fold.X[fold.training[:64]]
        _, some = self.plan.prepared(fold, fold.X[fold.training], first)
        # The first search of a process loads libraries; that time must not count for the first measurement.
        Finder(ExactNeighbors()).find(None, some, some, 1)
        finders: dict[str, Finder] = {}
        for name, search in self._run.items():
            finders[name] = Finder(make_search(search))
            exact = exact_search_for(search)
            yield from self.plan.values_by(finders[name], fold)
            for method in self.plan.methods:
                selection = self.plan.spec_of(method).selection
                true, found = (finders[each].found[selection].queries[0] for each in (exact, name))
                for k in self.plan.n_neighbors:
                    yield _recall(true.nearest(k), found.nearest(k))
                yield finders[name].seconds[selection]


def _recall(true: tuple[FloatArray, IntArray], found: tuple[FloatArray, IntArray]) -> float:
    """Return the mean share of true neighbours that are found; a neighbour as near as the last one counts as found.

    The arguments are distances and indices (n_queries, n_neighbors) of both. Distances of a user's search may be
    rounded differently, so a true neighbour is also recognised by its index.
    """
    as_near = found[0] <= true[0][:, -1:]
    among_true = (found[1][:, :, np.newaxis] == true[1][:, np.newaxis]).any(axis=2)
    return float(((as_near | among_true).sum(axis=1) / true[1].shape[1]).mean())


@dataclass(frozen=True)
class SearchCost:
    """The effect of a search on a method: metric, recall and time, as means over the folds.

    Parameters
    ----------
    dataset, method, search : str
        Names, as in the records.
    n_neighbors : int or "mean"
        Number of neighbours; "mean" for the mean over all of them.
    metric : str
        Name of the metric.
    exact, value, difference : float
        The metric with the exact search by the same distance, with this search, and their difference, this search minus
        exact.
    recall : float
        Share of the test samples' true neighbours that the search finds.
    exact_seconds, seconds : float
        Time of the exact search and of this search per fold, for all numbers of neighbours.
    """

    dataset: str
    method: str
    search: str
    n_neighbors: int | str
    metric: str
    exact: float
    value: float
    difference: float
    recall: float
    exact_seconds: float
    seconds: float


def search_costs(plan: SearchPlan, records: Iterable[Record]) -> list[SearchCost]:
    """Return the costs for each data set, method, search, number of neighbours (and their mean), and metric.

    Parameters
    ----------
    plan : SearchPlan
        The plan that was run.
    records : iterable of dict
        Its records.

    Returns
    -------
    list of SearchCost
        In the order of the methods, then of the searches.
    """
    by_search: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_search[record["search"]].append(record)
    cells = {search: {_key(cell): cell.mean for cell in summarise(of_it)} for search, of_it in by_search.items()}
    keys = dict.fromkeys(key for of_search in cells.values() for key in of_search if key[3] not in (RECALL, SECONDS))
    exact = {name: exact_search_for(search) for name, search in plan.searches.items()}
    lines = [
        _cost(key, search, exact[search], cells)
        for search in plan.searches
        for key in keys
        if key in cells[search] and key in cells[exact[search]]  # values may be undefined
    ]
    place = {method: number for number, method in enumerate(plan.plan.methods)}
    return sorted(lines, key=lambda line: (line.dataset, place[line.method]))


def _key(cell: Cell) -> tuple[str, str, Any, str]:
    return cell.dataset, cell.method, cell.n_neighbors, cell.metric


def _cost(
    key: tuple[str, str, Any, str], search: str, exact: str, cells: Mapping[str, Mapping[Any, float]]
) -> SearchCost:
    dataset, method, n_neighbors, metric = key
    true, found = cells[exact], cells[search]
    seconds = dataset, method, None, SECONDS
    recall = found[dataset, method, n_neighbors, RECALL]
    values = true[key], found[key], found[key] - true[key], recall, true[seconds], found[seconds]
    return SearchCost(dataset, method, search, n_neighbors, metric, *values)
