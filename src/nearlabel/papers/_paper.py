"""A paper: its experiments are run once, and its tables, figures and rankings are computed from the records."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from nearlabel.datasets import Dataset
from nearlabel.experiments import Cell, Plan, Problem, Progress, Record, ThresholdPlan, run, summarise
from nearlabel.metrics import CATALOGUE
from nearlabel.papers import _printed_table
from nearlabel.papers._paper_file import NOT_OF_THE_PLAN, PROTOCOLS, check_runs_no_code, load_named, read_paper
from nearlabel.papers._printed_order import Ranking, ReproducedOrder, reproduce_order, reproduce_ranking
from nearlabel.utils.progress import progress_bar
from nearlabel.utils.validation import check_choice

Loader = Callable[..., Dataset]


@dataclass(frozen=True)
class Curve:
    """One figure of a paper, reproduced.

    Parameters
    ----------
    paper, figure, title, metric : str
        Name of the paper, number and title of the figure, and the metric that it shows.
    notes : tuple of str
        What a reader must know to compare.
    series : dict of str to dict of int to float
        For each data set, the value for each number of neighbours.
    """

    paper: str
    figure: str
    title: str
    metric: str
    notes: tuple[str, ...]
    series: dict[str, dict[int, float]]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a flat dict for each point."""
        for dataset, line in self.series.items():
            for k, value in line.items():
                yield {"figure": self.figure, "dataset": dataset, "n_neighbors": k, "ours": value}


class Paper:
    """The experiments, tables, figures and rankings of a publication.

    Parameters
    ----------
    paper : str or path
        One of `paper_names`, or the path of a ``.toml`` file (the page Add a paper describes it).
    load : callable, default=None
        Function that gets the name of a data set and ``subset=`` "all", "train" or "test", and returns a `Dataset`.
        None: the data sets of the file's section ``data``, then "multidigits" and those of
        `nearlabel.datasets.fetch_dataset`.
    methods, metrics : mapping of str to object, default=None
        Your own classifiers and metrics by their names in the file, as `Plan` accepts them. A file cannot name a
        ``package.module:Name`` itself, since reading a paper must not run third-party code.
    out : str or path, default=None
        Folder for the records, one sub-folder for each experiment; an interrupted run resumes there.
    n_workers : int, default=1
        Number of processes.
    progress : callable, default=None
        As for `run`. None: a bar for each experiment.
    quick : bool, default=False
        Run fewer folds, data sets and methods where the paper's file defines this; the notes and `left_out` list the
        omissions.

    Attributes
    ----------
    name, title, reference : str
        Name of the paper, its title, and authors, journal and year.
    tables, figures, rankings : list of str
        Numbers of the tables (of results, of statistics, of orders of methods), of the figures, and of the rankings:
        orders of methods that the paper claims without printed numbers.

    Raises
    ------
    ValueError
        If there is no such paper, or the file is not that of a paper.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from nearlabel.papers import Paper
    >>> Paper("spyromitros2008").tables
    ['1', '2', '3']
    """

    def __init__(
        self,
        paper: str | os.PathLike[str],
        *,
        load: Loader | None = None,
        methods: Mapping[str, Any] | None = None,
        metrics: Mapping[str, Any] | None = None,
        out: str | os.PathLike[str] | None = None,
        n_workers: int = 1,
        progress: Progress | None = None,
        quick: bool = False,
    ) -> None:
        self._facts = read_paper(paper)
        self.name: str = self._facts["name"]
        self.title: str = self._facts["title"]
        self.reference: str = self._facts["reference"]
        self.tables = self._numbers("tables", "orders")
        self.figures = self._numbers("figures", "cubes", "pairs")
        self.rankings = self._numbers("rankings")
        self._load: Loader = partial(load_named, self._facts.get("data", {})) if load is None else load
        self._objects = {"methods": methods or {}, "metrics": metrics or {}}
        self._out = None if out is None else Path(out)
        self._n_workers = n_workers
        self._progress = progress
        self._quick = quick
        self._records: dict[str, list[Record]] = {}

    @property
    def seeds(self) -> str:
        """Description of the seeds of each experiment's shuffles."""
        experiments = self._facts["experiments"].items()
        return "; ".join(f"{', '.join(map(str, facts.get('seeds', [0])))} ({name})" for name, facts in experiments)

    def _numbers(self, *kinds: str) -> list[str]:
        """Return the numbers of sections, sorted by value; names that are not numbers of a few digits come first."""
        numbers = [number for kind in kinds for number in self._facts.get(kind, {})]
        return sorted(numbers, key=lambda number: (int(number) if re.fullmatch(r"\d{1,9}", number) else 0, number))

    def reproduce_table(self, number: str) -> _printed_table.Reproduction | ReproducedOrder:
        """Run the experiments of a table, and return our numbers or our order of methods next to the printed ones.

        Raises
        ------
        ValueError
            If there is no such table, or its experiments do not give a printed cell.
        """
        check_choice("table", number, self.tables)
        if number in self._facts.get("orders", {}):
            return self._order(number)
        facts = self._facts["tables"][number]
        cells = self._statistics(facts) if "statistics" in facts else self._results(facts)
        notes = self._notes(facts, facts.get("experiments", ()))
        return _printed_table.Reproduction(
            self.name, number, facts["title"], facts.get("decimals", 4), notes, tuple(cells)
        )

    def reproduce_figure(self, number: str) -> Curve | _printed_table.LabelCube | _printed_table.DistancePairs:
        """Compute a figure: the curves of an experiment, which is run, a cube of labels, or pairs of samples.

        Raises
        ------
        ValueError
            If there is no such figure.
        """
        check_choice("figure", number, self.figures)
        if number in self._facts.get("cubes", {}):
            return _printed_table.label_cube(self.name, number, self._facts["cubes"][number])
        if number in self._facts.get("pairs", {}):
            facts = self._facts["pairs"][number]
            return _printed_table.distance_pairs(self.name, number, facts, self._load(facts["dataset"]))
        return self._curve(number)

    def _curve(self, number: str) -> Curve:
        """Run the experiment of a figure and return its curves."""
        facts = self._facts["figures"][number]
        series: dict[str, dict[int, float]] = {}
        for cell in self._cells([facts["experiment"]]):
            if (cell.method, cell.metric) == (facts["method"], facts["metric"]) and isinstance(cell.n_neighbors, int):
                series.setdefault(cell.dataset, {})[cell.n_neighbors] = cell.mean
        notes = self._notes(facts, [facts["experiment"]])
        return Curve(self.name, number, facts["title"], facts["metric"], notes, series)

    def reproduce_ranking(self, number: str) -> Ranking:
        """Run the experiments of a ranking, rank the methods and test pairs of them.

        Raises
        ------
        ValueError
            If there is no such ranking.
        """
        check_choice("ranking", number, self.rankings)
        facts = self._facts["rankings"][number]
        facts = {**facts, "notes": self._notes(facts, facts["experiments"])}
        cells = self._cells(facts["experiments"])
        return reproduce_ranking(self.name, number, facts, cells, self._records_of(facts["experiments"]))

    def _order(self, number: str) -> ReproducedOrder:
        facts = self._facts["orders"][number]
        tables = [self._facts["tables"][table] for table in facts["tables"]]
        experiments = list(dict.fromkeys(experiment for table in tables for experiment in table["experiments"]))
        printed = [row for table in tables for row in table["printed"]]
        facts = {**facts, "notes": self._notes(facts, experiments)}
        return reproduce_order(self.name, number, facts, printed, self._records_of(experiments))

    def _statistics(self, facts: Mapping[str, Any]) -> Iterable[_printed_table.PrintedCell]:
        data = {}
        for name in facts["statistics"]:
            parts = self._split(name) if facts.get("split", False) else (self._load(name),)
            data[name] = [_with_names(part, facts.get("label_names", {}).get(name)) for part in parts]
        return _printed_table.statistics_beside_printed(facts["printed"], data)

    def _results(self, facts: Mapping[str, Any]) -> Iterable[_printed_table.PrintedCell]:
        experiments = facts["experiments"]
        complete = not any(map(self._instead, experiments))
        cells = list(_printed_table.results_beside_printed(facts, self._cells(experiments), complete=complete))
        wins = wins_beside_printed(facts, cells, self._records_of(experiments)) if "wins" in facts else ()
        return [*cells, *wins]

    def _notes(self, facts: Mapping[str, Any], experiments: Iterable[str]) -> tuple[str, ...]:
        """Return the notes of the file, and a note on each experiment that is run only partly."""
        left_out = {name: self._left_out(name) for name in experiments}
        in_part = [f"A preview only: experiment {name} leaves out {what}." for name, what in left_out.items() if what]
        return *facts.get("notes", ()), *in_part

    @property
    def left_out(self) -> dict[str, str]:
        """The parts that a quick run left out of each experiment, in words; empty if it ran in full."""
        return {name: self._left_out(name) for name in self._records}

    def _left_out(self, experiment: str) -> str:
        return left_out_of(self._facts["experiments"][experiment], self._instead(experiment))

    def _instead(self, experiment: str) -> dict[str, Any]:
        """Return the settings that replace the paper's for a quick run."""
        facts: dict[str, Any] = self._facts["experiments"][experiment].get("quick", {})
        return facts if self._quick else {}

    def _split(self, name: str) -> tuple[Dataset, Dataset]:
        return self._load(name, subset="train"), self._load(name, subset="test")

    def _cells(self, experiments: Iterable[str]) -> list[Cell]:
        return [cell for experiment in experiments for cell in summarise(self._run(experiment))]

    def _records_of(self, experiments: Iterable[str]) -> list[Record]:
        return [record for experiment in experiments for record in self._run(experiment)]

    def _run(self, experiment: str) -> list[Record]:
        """Return the records of an experiment, which is run when they are needed for the first time."""
        if experiment not in self._records:
            facts = self._facts["experiments"][experiment] | self._instead(experiment)
            plan = _plan_of(facts, self._objects)
            look = "-quick" if self._instead(experiment) else ""
            out = None if self._out is None else self._out / f"{self.name}-{experiment}{look}"
            problems = self._problems(facts)
            shown = progress_bar(f"folds of {experiment}") if self._progress is None else nullcontext(self._progress)
            with shown as tell:
                self._records[experiment] = run(plan, problems, out=out, n_workers=self._n_workers, progress=tell)
        return self._records[experiment]

    def _problems(self, facts: Mapping[str, Any]) -> dict[str, Problem]:
        """Load the data sets of an experiment."""
        problems: dict[str, Problem] = {name: self._load(name) for name in facts.get("datasets", ())}
        for name, (whole, n_labels) in facts.get("with_labels", {}).items():
            problems[name] = _with_labels(self._load(whole), n_labels)
        return problems | {name: self._split(name) for name in facts.get("given_split", ())}


def _plan_of(facts: Mapping[str, Any], objects: Mapping[str, Mapping[str, Any]]) -> Plan | ThresholdPlan:
    """Return the plan of an experiment's section, with the user's objects in place of their names."""
    # TOML has lists where plans have tuples.
    settings: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in facts.items()
        if name not in NOT_OF_THE_PLAN
    }
    for kind, by_name in objects.items():
        names = settings.get(kind, ())
        for name in names:
            if name not in by_name:
                check_runs_no_code(kind, name)
        if any(name in by_name for name in names):
            settings[kind] = {name: by_name.get(name, name) for name in names}
    return PROTOCOLS[facts.get("protocol", "methods")](**settings)


def _with_labels(dataset: Dataset, n_labels: int) -> Dataset:
    """Return the samples with at least a given number of labels."""
    rows = np.flatnonzero(np.asarray(dataset.Y.sum(axis=1)).reshape(-1) >= n_labels)
    return replace(dataset, X=dataset.X[rows], Y=dataset.Y[rows])


def _with_names(dataset: Dataset, names: Sequence[str] | None) -> Dataset:
    """Return the data set with the paper's label names; None: with its own names."""
    return dataset if names is None else replace(dataset, label_names=tuple(names))


# The parts that a quick run leaves out of an experiment, in words.

_UNITS = {"methods": "folds", "thresholds": "runs"}  # of the protocols
_NUMBERS = {"methods": "cv", "thresholds": "n_parts"}  # the setting with their number, 10 by default
_LISTS = {"datasets": "data sets", "given_split": "data sets", "with_labels": "data sets", "methods": "methods"}


def left_out_of(facts: Mapping[str, Any], instead: Mapping[str, Any]) -> str:
    """Return what an experiment does without, given its settings and those that replace them.

    Examples
    --------
    >>> left_out_of({"cv": 10, "methods": ["br", "cbm"]}, {"first_folds": 2, "methods": ["br"]})
    '8 of 10 folds and 1 of 2 methods (cbm)'
    """
    return " and ".join(part for setting in instead if (part := _left_out(facts, setting, instead[setting])))


def _left_out(facts: Mapping[str, Any], setting: str, value: Any) -> str:
    """Return what one setting leaves out."""
    if setting == "first_folds":
        protocol = facts.get("protocol", "methods")
        number = facts.get(_NUMBERS[protocol], 10)
        per_shuffle = " of each shuffle" if len(facts.get("seeds", (0,))) > 1 else ""
        return f"{number - value} of {number} {_UNITS[protocol]}{per_shuffle}" if value < number else ""
    if setting in _LISTS:
        missing = [name for name in facts.get(setting, ()) if name not in value]
        return f"{len(missing)} of {len(facts[setting])} {_LISTS[setting]} ({', '.join(missing)})" if missing else ""
    return f"its own {setting} (here {value}, in the paper {facts.get(setting, 'the default')})"


# The last line of a table of results: the number of metrics on which each method is best, or better than another.

# Method and number of neighbours.
_Who: TypeAlias = tuple[str | None, int | str | None]


def wins_beside_printed(
    table: Mapping[str, Any], cells: Iterable[_printed_table.PrintedCell], records: Iterable[Record]
) -> Iterator[_printed_table.PrintedCell]:
    """Yield the printed numbers of metrics that a method wins, next to ours.

    A method wins a metric if no other value of the data set in the table is better; equal values both win. This is how
    Spyromitros et al. (2008) count, Tables 2 and 3: "the number of metrics for which it achieves the best result", and
    "the number of metrics for which [the extensions] are better than the base".

    Parameters
    ----------
    table : mapping
        ``wins``: rows of data set, method, number of neighbours, metrics won, and, of some, metrics in which the method
        is better than ``base``. Rows of data sets that were not run are left out.
    cells : iterable of PrintedCell
        Our cells of the table.
    records : iterable of dict
        Records of the experiments, with the direction of metrics outside the catalogue.

    Raises
    ------
    ValueError
        If it is unknown whether a greater value of a metric is better.
    """
    of_datasets = _values_by_metric(cells, records)
    for dataset, method, k, *printed in table.get("wins", ()):
        who = method, k or None  # TOML has no null
        by_metric = [values for values in of_datasets[dataset] if who in values]
        ours = {"wins": sum(values[who] == max(values.values()) for values in by_metric)}
        if len(printed) > 1:
            base = table["base"], who[1]
            better = sum(base in values and values[who] > values[base] for values in by_metric)
            ours[f"better_than_{table['base']}"] = better
        for (metric, count), in_print in zip(ours.items(), printed, strict=True):
            if by_metric:
                yield _printed_table.PrintedCell(dataset, *who, metric, in_print, None, count, None, count - in_print)


def _values_by_metric(
    cells: Iterable[_printed_table.PrintedCell], records: Iterable[Record]
) -> Mapping[str, Sequence[Mapping[_Who, float]]]:
    """Return, for each data set, the values of each metric, with the sign that makes greater values better."""
    greater = {record["metric"]: record["greater_is_better"] for record in records if "greater_is_better" in record}
    greater |= {name: metric.greater_is_better for name, metric in CATALOGUE.items()}
    values: dict[str, dict[str, dict[_Who, float]]] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        if greater.get(cell.metric) is None:
            raise ValueError(f"wins must be of metrics with a known direction, got {cell.metric}.")
        sign = 1 if greater[cell.metric] else -1
        values[cell.dataset][cell.metric][cell.method, cell.n_neighbors] = sign * cell.ours
    return defaultdict(list, {dataset: list(by_metric.values()) for dataset, by_metric in values.items()})
