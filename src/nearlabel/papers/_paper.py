"""Printed tables beside our own numbers. A paper is one TOML file: experiments, and tables with the printed cells."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from nearlabel.comparison import paired_tests, paired_values
from nearlabel.datasets import Dataset, fetch_dataset
from nearlabel.experiments import Cell, Plan, Problem, Progress, ThresholdPlan, run, summarise
from nearlabel.experiments.records import Record
from nearlabel.labels import describe, frequencies
from nearlabel.papers._printed_orders import ReproducedOrder, reproduce_order
from nearlabel.papers._ranking import Ranking, rank_methods
from nearlabel.utils.validation import check_choice

Loader = Callable[..., Dataset]

_PROTOCOLS: Mapping[str, Callable[..., Plan | ThresholdPlan]] = {"methods": Plan, "thresholds": ThresholdPlan}


@dataclass(frozen=True)
class PrintedCell:
    """A printed figure beside ours.

    Parameters
    ----------
    dataset : str
        Name, or "average" over the data sets.
    method : str or None
        Method; None for a statistic of the data.
    n_neighbors : int, "mean" or None
        Number of neighbours.
    metric : str
        Measure, or statistic.
    printed : float
        The printed figure.
    printed_std : float or None
        The printed standard deviation.
    ours : float
        Our figure.
    std : float or None
        Our standard deviation over folds.
    difference : float
        Ours less the printed one.
    beside : dict of str to float
        Our figure by other readings of the cell: another measure, another option of the method.
    remark : str
        Why the printed figure cannot be right; "" if it can.
    """

    dataset: str
    method: str | None
    n_neighbors: int | str | None
    metric: str
    printed: float
    printed_std: float | None
    ours: float
    std: float | None
    difference: float
    beside: dict[str, float] = field(default_factory=dict)
    remark: str = ""


@dataclass(frozen=True)
class Reproduction:
    """One table of a paper, reproduced.

    Parameters
    ----------
    paper, table, title : str
        Name of the paper, number and title of the table.
    decimals : int
        How many the paper prints.
    notes : tuple of str
        What a reader must know to compare.
    cells : tuple of PrintedCell
        Its figures.
    """

    paper: str
    table: str
    title: str
    decimals: int
    notes: tuple[str, ...]
    cells: tuple[PrintedCell, ...]

    def largest_differences(self) -> dict[str, float]:
        """Return, for each metric, the largest absolute difference over the cells."""
        largest: dict[str, float] = {}
        for cell in self.cells:
            # A count's difference stays a whole number.
            largest[cell.metric] = max(abs(cell.difference), largest.get(cell.metric, 0))
        return largest

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self) | {"largest_differences": self.largest_differences()}


@dataclass(frozen=True)
class Curve:
    """One figure of a paper, reproduced.

    Parameters
    ----------
    paper, figure, title : str
        Name of the paper, number and title of the figure.
    notes : tuple of str
        What a reader must know to compare.
    series : dict of str to dict of int to float
        For each data set, the value for each number of neighbours.
    """

    paper: str
    figure: str
    title: str
    notes: tuple[str, ...]
    series: dict[str, dict[int, float]]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)


def paper_names() -> list[str]:
    """Return the names of the papers that can be reproduced."""
    folder = resources.files("nearlabel.papers")
    return sorted(Path(file.name).stem for file in folder.iterdir() if file.name.endswith(".toml"))


class Paper:
    """A publication's experiments and tables.

    Parameters
    ----------
    name : str
        One of `paper_names`.
    load : callable, default=fetch_dataset
        Takes a name and ``subset=`` "all", "train" or "test".
    out : str or path, default=None
        Folder for the records, one sub-folder an experiment; an interrupted run resumes there.
    n_workers : int, default=1
        Processes.
    progress : callable, default=None
        As for `run`.
    quick : bool, default=False
        Run fewer folds and data sets where the paper's file says so, as a look; the notes say what was left out.

    Raises
    ------
    ValueError
        If there is no such paper.
    """

    def __init__(
        self,
        name: str,
        *,
        load: Loader = fetch_dataset,
        out: str | os.PathLike[str] | None = None,
        n_workers: int = 1,
        progress: Progress | None = None,
        quick: bool = False,
    ) -> None:
        check_choice("paper", name, paper_names())
        text = (resources.files("nearlabel.papers") / f"{name}.toml").read_text(encoding="utf-8")
        self._facts = tomllib.loads(text)
        self._load = load
        self._out = None if out is None else Path(out)
        self._n_workers = n_workers
        self._progress = progress
        self._quick = quick
        self._records: dict[str, list[Record]] = {}

    @property
    def name(self) -> str:
        """The name."""
        return str(self._facts["name"])

    @property
    def title(self) -> str:
        """The title."""
        return str(self._facts["title"])

    @property
    def reference(self) -> str:
        """Authors, journal, year."""
        return str(self._facts["reference"])

    @property
    def seeds(self) -> str:
        """The seeds of each experiment's shuffles, in words."""
        experiments = self._facts["experiments"].items()
        return "; ".join(f"{', '.join(map(str, facts.get('seeds', [0])))} ({name})" for name, facts in experiments)

    @property
    def tables(self) -> list[str]:
        """Numbers of the tables."""
        return list(self._facts.get("tables", {}))

    @property
    def orders(self) -> list[str]:
        """Numbers of the tables that print an order of methods."""
        return list(self._facts.get("orders", {}))

    @property
    def figures(self) -> list[str]:
        """Numbers of the figures."""
        return list(self._facts.get("figures", {}))

    @property
    def rankings(self) -> list[str]:
        """Numbers of the rankings: orders of methods that the paper claims without printing figures."""
        return list(self._facts.get("rankings", {}))

    def reproduce_table(self, number: str) -> Reproduction:
        """Run what a table needs and put the printed figures beside.

        Raises
        ------
        ValueError
            If the table is not known.
        """
        check_choice("table", number, self.tables)
        facts = self._facts["tables"][number]
        cells = self._statistics(facts) if "statistics" in facts else self._results(facts)
        notes = (*facts.get("notes", ()), *self._left_out(facts.get("experiments", ())))
        return Reproduction(self.name, number, facts["title"], facts.get("decimals", 4), notes, tuple(cells))

    def reproduce_order(self, number: str) -> ReproducedOrder:
        """Run what an order needs and put the printed order beside.

        Raises
        ------
        ValueError
            If the order is not known.
        """
        check_choice("order", number, self.orders)
        facts = self._facts["orders"][number]
        tables = [self._facts["tables"][table] for table in facts["tables"]]
        experiments = list(dict.fromkeys(experiment for table in tables for experiment in table["experiments"]))
        for experiment in experiments:
            self._run(experiment)
        records = [record for experiment in experiments for record in self._records[experiment]]
        notes = (*facts.get("notes", ()), *self._left_out(experiments))
        printed = [row for table in tables for row in table["printed"]]
        return reproduce_order(self.name, number, {**facts, "notes": notes}, printed, records)

    def reproduce_figure(self, number: str) -> Curve:
        """Run what a figure needs and return its curves.

        Raises
        ------
        ValueError
            If the figure is not known.
        """
        check_choice("figure", number, self.figures)
        facts = self._facts["figures"][number]
        series: dict[str, dict[int, float]] = {}
        for cell in self._run(facts["experiment"]):
            if (cell.method, cell.metric) == (facts["method"], facts["metric"]) and isinstance(cell.n_neighbors, int):
                series.setdefault(cell.dataset, {})[cell.n_neighbors] = cell.mean
        return Curve(self.name, number, facts["title"], tuple(facts.get("notes", ())), series)

    def reproduce_ranking(self, number: str) -> Ranking:
        """Run what a ranking needs, rank the methods and compare pairs of them.

        Raises
        ------
        ValueError
            If the ranking is not known.
        """
        check_choice("ranking", number, self.rankings)
        facts = self._facts["rankings"][number]
        cells = [cell for experiment in facts["experiments"] for cell in self._run(experiment)]
        records = [record for experiment in facts["experiments"] for record in self._records[experiment]]
        measures = [rank_methods(cells, metric, claim) for metric, claim in facts["claims"].items()]
        tests = [
            test
            for metric, first, second in facts["tests"]
            for values in paired_values(records, "folds", [metric], [first, second])
            for test in paired_tests(values, "corrected-t")
        ]
        return Ranking(self.name, number, facts["title"], tuple(facts.get("notes", ())), tuple(measures), tuple(tests))

    def _statistics(self, facts: Mapping[str, Any]) -> list[PrintedCell]:
        split = facts.get("split", False)
        ours = {
            name: self._facts_of_split(name) if split else _facts_of(self._load(name)) for name in facts["statistics"]
        }
        return [
            PrintedCell(name, None, None, statistic, printed, None, ours[name][statistic], None, difference)
            for name, statistic, printed in facts["printed"]
            for difference in [ours[name][statistic] - printed]
        ]

    def _facts_of_split(self, name: str) -> dict[str, float]:
        training, test = (self._load(name, subset=part) for part in ("train", "test"))
        share = frequencies(training.Y) / training.Y.shape[0]
        return _facts_of(training) | {
            "training_instances": training.X.shape[0],
            "test_instances": test.X.shape[0],
            "lowest_frequency": float(share.min()),
            "highest_frequency": float(share.max()),
        }

    def _results(self, facts: Mapping[str, Any]) -> list[PrintedCell]:
        cells = [cell for experiment in facts["experiments"] for cell in self._run(experiment)]
        found = {(c.dataset, c.method, c.n_neighbors, c.metric): c for c in cells + _averages(cells)}
        complete = not any(map(self._quick_facts, facts["experiments"]))
        printed = facts["printed"] if complete else _those_found(facts["printed"], found)
        return [_beside_printed(row, found, facts) for row in printed]

    def _quick_facts(self, experiment: str) -> dict[str, Any]:
        """Return what is run in place of what the paper ran; nothing unless a look is wanted."""
        facts: dict[str, Any] = self._facts["experiments"][experiment].get("quick", {})
        return facts if self._quick else {}

    def _left_out(self, experiments: Iterable[str]) -> list[str]:
        """Return a note on each experiment that is run in part."""
        quick = {experiment: self._quick_facts(experiment) for experiment in experiments}
        return [
            f"A look only: experiment {experiment} was run with {', '.join(f'{k} = {v}' for k, v in facts.items())}."
            for experiment, facts in quick.items()
            if facts
        ]

    def _run(self, experiment: str) -> list[Cell]:
        if experiment not in self._records:
            facts = self._facts["experiments"][experiment] | self._quick_facts(experiment)
            facts.pop("quick", None)
            problems: dict[str, Problem] = {name: self._load(name) for name in facts.pop("datasets", ())}
            for name, (whole, n_labels) in facts.pop("with_labels", {}).items():
                problems[name] = _with_labels(self._load(whole), n_labels)
            for name in facts.pop("given_split", ()):
                problems[name] = (self._load(name, subset="train"), self._load(name, subset="test"))
            settings: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in facts.items()}
            plan = _PROTOCOLS[settings.pop("protocol", "methods")](**settings)
            look = "-quick" if self._quick_facts(experiment) else ""
            out = None if self._out is None else self._out / f"{self.name}-{experiment}{look}"
            self._records[experiment] = run(plan, problems, out=out, n_workers=self._n_workers, progress=self._progress)
        return summarise(self._records[experiment])


def _with_labels(dataset: Dataset, n_labels: int) -> Dataset:
    """Return the rows that have at least so many labels."""
    rows = np.flatnonzero(np.asarray(dataset.Y.sum(axis=1)).reshape(-1) >= n_labels)
    return replace(dataset, X=dataset.X[rows], Y=dataset.Y[rows])


def _those_found(printed: list[list[Any]], found: Mapping[tuple[str, str, int | str | None, str], Cell]) -> list[Any]:
    """Return the printed cells that were run, without averages, which are of other data sets."""
    return [row for row in printed if row[0] != "average" and (row[0], row[1], row[2] or None, row[3]) in found]


def _beside_printed(
    row: list[Any], found: Mapping[tuple[str, str, int | str | None, str], Cell], facts: Mapping[str, Any]
) -> PrintedCell:
    dataset, method, number, metric, printed, *printed_std = row
    k = number or None  # TOML has no null
    ours = found[dataset, method, k, metric]
    other_metrics = facts.get("beside_metrics", {}).get(metric, ())
    other_methods = facts.get("beside_methods", {}).get(method, ())
    remarks = {(of, who, what): remark for of, who, what, remark in facts.get("remarks", ())}
    beside = {other: found[dataset, method, k, other].mean for other in other_metrics}
    beside |= {other.removeprefix(f"{method}:"): found[dataset, other, k, metric].mean for other in other_methods}
    return PrintedCell(
        dataset=dataset,
        method=method,
        n_neighbors=k,
        metric=metric,
        printed=printed,
        printed_std=printed_std[0] if printed_std else None,
        ours=ours.mean,
        std=ours.std if np.isfinite(ours.std) else None,
        difference=ours.mean - printed,
        beside=beside,
        remark=remarks.get((dataset, method, metric), ""),
    )


def _averages(cells: list[Cell]) -> list[Cell]:
    """Return the means over the data sets, as data set "average"."""
    groups: dict[tuple[str, int | str | None, str], list[float]] = {}
    for cell in cells:
        groups.setdefault((cell.method, cell.n_neighbors, cell.metric), []).append(cell.mean)
    nan = float("nan")
    return [Cell("average", *key, mean=float(np.mean(means)), std=nan, spread=nan) for key, means in groups.items()]


def _facts_of(dataset: Dataset) -> dict[str, float]:
    figures = describe(dataset.Y)
    return figures | {"instances": dataset.X.shape[0], "features": dataset.X.shape[1], "labels": dataset.Y.shape[1]}
