"""What another search than the exact one costs: neighbours that it misses, and what the methods lose by that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from nearlabel.experiments._folds import Fold, Problem
from nearlabel.experiments._methods import MethodSpec, split_selection
from nearlabel.experiments._plan import Plan
from nearlabel.experiments._searches import Finder, make_search, reference_of
from nearlabel.experiments._summary import Cell, summarise
from nearlabel.experiments.records import Record
from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors._recall import found_shares
from nearlabel.utils.validation import each_once

# What is measured of a search, beside the measures of a plan.
RECALL, SECONDS = "neighbor_recall", "search_seconds"


@dataclass(frozen=True)
class SearchPlan:
    """A comparison that is run with other searches, and with the exact search by the same metric beside.

    Its records have a key "search" beside those of a `Plan`, and two measures more: "neighbor_recall", the mean share
    of the test rows' true neighbours that the search finds, and "search_seconds", the time that it takes to fit the
    training rows and to find the neighbours of training and test rows. Seconds are the one value that differs from run
    to run.

    Parameters
    ----------
    plan : Plan
        The comparison; its methods are methods by neighbours.
    searches : tuple of str
        Specifications as `make_search` takes them.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown, a number out of range or a method has no neighbours.
    ImportError
        If a search needs a library that is not installed.
    """

    plan: Plan
    searches: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "searches", each_once("searches", self.searches))
        for search in self.searches:
            make_search(search)
        for method in self.plan.methods:
            if not MethodSpec.parse(method).has_neighbors:
                raise ValueError(f"methods must have n_neighbors to be compared by searches, got {method!r}.")

    @property
    def _run(self) -> tuple[str, ...]:
        """The searches, each exact one that another is measured by before it."""
        return tuple(dict.fromkeys(each for search in self.searches for each in (reference_of(search), search)))

    def folds(self, problems: Mapping[str, Problem]) -> Iterator[Fold]:
        """Yield every fold of every problem, in a fixed order; raise as `Plan.folds` does."""
        return self.plan.folds(problems)

    def describe(self, problems: Mapping[str, Problem]) -> dict[str, Any]:
        """Return what decides the records, but for the seconds."""
        return self.plan.describe(problems) | {"searches": self.searches}

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
        some = fold.X[fold.training[:64]]
        Finder(ExactNeighbors()).find("", some, some, 1)  # the first search of a process loads what others find there
        finders: dict[str, Finder] = {}
        for search in self._run:
            finders[search] = Finder(make_search(search))
            yield from self.plan.values_by(finders[search], fold)
            for method in self.plan.methods:
                selection = split_selection(method)[0]
                true, found = (finders[each].found[selection].queries[0] for each in (reference_of(search), search))
                for k in self.plan.n_neighbors:
                    yield float(found_shares(true.nearest(k), found.nearest(k)).mean())
                yield finders[search].seconds[selection]


@dataclass(frozen=True)
class SearchCost:
    """What a search costs and saves a method, mean over the folds.

    Parameters
    ----------
    dataset, method, search : str
        Names, as in the records.
    n_neighbors : int or "mean"
        Number of neighbours; "mean" for the mean over all of them.
    metric : str
        Name of the measure.
    exact, value, difference : float
        The measure with the exact search by the same metric, with the search, and what is added to the former.
    recall : float
        Share of the test rows' true neighbours that the search finds.
    exact_seconds, seconds : float
        Time of the exact search and of the search, in a fold, whatever the number of neighbours.
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
    """Return a line for each data set, method, search, number of neighbours, and their mean, and metric.

    Parameters
    ----------
    plan : SearchPlan
        What was run.
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
    lines = [
        _cost(key, search, cells)
        for search in plan.searches
        for key in keys
        if key in cells[search] and key in cells[reference_of(search)]  # measures may be undefined
    ]
    place = {method: number for number, method in enumerate(plan.plan.methods)}
    return sorted(lines, key=lambda line: (line.dataset, place[line.method]))


def _key(cell: Cell) -> tuple[str, str, Any, str]:
    return cell.dataset, cell.method, cell.n_neighbors, cell.metric


def _cost(key: tuple[str, str, Any, str], search: str, cells: Mapping[str, Mapping[Any, float]]) -> SearchCost:
    dataset, method, n_neighbors, metric = key
    true, found = cells[reference_of(search)], cells[search]
    seconds = dataset, method, None, SECONDS
    return SearchCost(
        dataset,
        method,
        search,
        n_neighbors,
        metric,
        exact=true[key],
        value=found[key],
        difference=found[key] - true[key],
        recall=found[dataset, method, n_neighbors, RECALL],
        exact_seconds=true[seconds],
        seconds=found[seconds],
    )
