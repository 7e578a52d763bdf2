"""The folds of plans and of their records: whether a run is finished, and whether its methods can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nearlabel.experiments.records import Record

# A seed (None: given split) and a fold number.
FoldKey = tuple[int | None, int]


def planned_folds(plan: Mapping[str, Any], *, given: bool) -> set[FoldKey]:
    """Return the folds of each data set in the description of a plan, for a given split or for shuffles."""
    if "n_parts" in plan:  # `ThresholdPlan`: as many runs on the given split
        return {(None, number) for number in range(plan["n_parts"])}
    if given:
        return {(None, 0)}
    numbers = range(min(plan["cv"], plan.get("first_folds") or plan["cv"]))
    return {(seed, number) for seed in plan["seeds"] for number in numbers}


@dataclass(frozen=True)
class FoldsOfMethods:
    """The folds of one data set.

    Parameters
    ----------
    dataset : str
        Name.
    planned, found : dict of str to set
        For each method, the folds of the plans, and those in the records.
    comparable : bool
        Whether all methods have the same folds, and those with numbers of neighbours the same numbers in each.
    """

    dataset: str
    planned: Mapping[str, set[FoldKey]]
    found: Mapping[str, set[FoldKey]]
    comparable: bool

    @classmethod
    def of(cls, dataset: str, plans: Iterable[Mapping[str, Any]], records: Iterable[Record]) -> FoldsOfMethods:
        """Return the folds of a data set, from plans and records."""
        own = [record for record in records if record["dataset"] == dataset]
        given = any(record["seed"] is None for record in own)
        planned: dict[str, set[FoldKey]] = {}
        for plan in plans:
            for method in plan["methods"] if dataset in plan["problems"] else ():
                planned.setdefault(method, set()).update(planned_folds(plan, given=given))
        settings: dict[str, set[tuple[FoldKey, int | None]]] = {method: set() for method in planned}
        for record in own:
            key = (record["seed"], record["fold"]), record["n_neighbors"]
            settings.setdefault(record["method"], set()).add(key)
        found = {method: {fold for fold, _ in of} for method, of in settings.items()}
        by_neighbors = [of for of in settings.values() if any(k is not None for _, k in of)]
        return cls(dataset, planned, found, _all_equal(list(found.values())) and _all_equal(by_neighbors))

    @property
    def n_planned(self) -> int:
        """Number of folds planned for any method; at least those in the records."""
        return len(set().union(*self.planned.values(), *self.found.values()))

    @property
    def notes(self) -> list[str]:
        """Notes about missing folds."""
        notes = []
        if any(planned - self.found[method] for method, planned in self.planned.items()):
            notes.append(f"{self._counts()}: the run is not finished.")
        if not self.comparable:
            words = "the methods do not share all folds and numbers of neighbours, so none is marked as the best."
            notes.append(f"On {self.dataset} {words}")
        return notes

    def _counts(self) -> str:
        if not any(self.found.values()):  # nor is it known whether the split was given
            return f"No fold of {self.dataset} is in the records"
        methods_of: dict[int, list[str]] = {}
        for method, folds in self.found.items():
            methods_of.setdefault(len(folds), []).append(method)
        if len(methods_of) == 1:
            return f"{next(iter(methods_of))} of {self.n_planned} folds are in the records of {self.dataset}"
        each = " and ".join(f"{count} of {', '.join(methods)}" for count, methods in methods_of.items())
        return f"Of {self.n_planned} folds the records of {self.dataset} contain {each}"


def _all_equal(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values)
