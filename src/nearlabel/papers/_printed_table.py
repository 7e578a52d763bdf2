"""The cells of a printed table next to our own, and the figures of the two distances."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from nearlabel.datasets import Dataset
from nearlabel.experiments import Cell
from nearlabel.labels import cardinality, describe, frequencies
from nearlabel.lazy.double_distances import double_distances
from nearlabel.neighbors import ExactNeighbors
from nearlabel.solvers.feature_scaling import FeatureScaling
from nearlabel.solvers.label_probabilities import LabelProbabilities
from nearlabel.utils.types import Matrix

# Data set, method, number of neighbours, metric.
_Key: TypeAlias = tuple[str, str, int | str | None, str]


@dataclass(frozen=True)
class PrintedCell:
    """A printed number next to ours.

    Parameters
    ----------
    dataset : str
        Name, or "average" over the data sets.
    method : str or None
        Method; None for a statistic of the data.
    n_neighbors : int, "mean" or None
        Number of neighbours.
    metric : str
        Metric, or statistic.
    printed : float
        The printed number.
    printed_std : float or None
        The printed standard deviation.
    ours : float
        Our number.
    std : float or None
        Our standard deviation over folds.
    difference : float
        Our number minus the printed one.
    beside : dict of str to float
        Our number for other interpretations of the cell: another metric or another option of the method.
    remark : str
        Reason why the printed number cannot be correct; "" otherwise.
    label_set : tuple of str, default=None
        For a statistic of one label set, its labels: the statistic is for samples with exactly these; None: for all
        samples.
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
    label_set: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Reproduction:
    """One table of a paper, reproduced.

    Parameters
    ----------
    paper, table, title : str
        Name of the paper, number and title of the table.
    decimals : int
        Number of printed decimals.
    notes : tuple of str
        What a reader must know to compare.
    cells : tuple of PrintedCell
        The numbers of the table.
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
            # The largest difference of counts stays an integer.
            largest[cell.metric] = max(abs(cell.difference), largest.get(cell.metric, 0))
        return largest

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self) | {"largest_differences": self.largest_differences()}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a flat dict for each cell."""
        for cell in self.cells:
            yield {"table": self.table} | asdict(cell)


def results_beside_printed(table: Mapping[str, Any], cells: Sequence[Cell], *, complete: bool) -> Iterator[PrintedCell]:
    """Yield the printed results of a table next to ours; only those that were run.

    Raises
    ------
    ValueError
        If no experiment of the table gives a printed cell.
    """
    found = {(c.dataset, c.method, c.n_neighbors, c.metric): c for c in [*cells, *_averages(cells)]}
    for row in table["printed"]:
        key: _Key = (row[0], row[1], row[2] or None, row[3])  # TOML has no null
        # An average over fewer data sets is not comparable with the printed one.
        if complete or (row[0] != "average" and key in found):
            yield _beside_printed(table, key, row[4:], found)


def _beside_printed(
    table: Mapping[str, Any], key: _Key, printed: Sequence[float], found: Mapping[_Key, Cell]
) -> PrintedCell:
    """Return a printed number, with its standard deviation if printed, next to ours and other interpretations."""
    dataset, method, k, metric = key
    others = {other: (dataset, method, k, other) for other in table.get("beside_metrics", {}).get(metric, ())}
    for other in table.get("beside_methods", {}).get(method, ()):
        others[other.removeprefix(f"{method}:")] = dataset, other, k, metric
    missing = [wanted for wanted in (key, *others.values()) if wanted not in found]
    if missing:
        raise ValueError(f"the experiments of a table must give each printed cell, got none for {missing[0]}.")
    remarks = {(of, who, what): remark for of, who, what, remark in table.get("remarks", ())}
    ours = found[key]
    return PrintedCell(
        dataset=dataset,
        method=method,
        n_neighbors=k,
        metric=metric,
        printed=printed[0],
        printed_std=printed[1] if len(printed) > 1 else None,
        ours=ours.mean,
        std=ours.std if np.isfinite(ours.std) else None,
        difference=ours.mean - printed[0],
        beside={reading: found[other].mean for reading, other in others.items()},
        remark=remarks.get((dataset, method, metric), ""),
    )


def _averages(cells: Iterable[Cell]) -> list[Cell]:
    """Return the means over the data sets, as data set "average"."""
    groups: dict[tuple[str, int | str | None, str], list[float]] = {}
    for cell in cells:
        groups.setdefault((cell.method, cell.n_neighbors, cell.metric), []).append(cell.mean)
    nan = float("nan")
    return [Cell("average", *key, mean=float(np.mean(means)), std=nan, spread=nan) for key, means in groups.items()]


# The printed statistics of data sets next to our own.


def statistics_beside_printed(
    printed: Iterable[Sequence[Any]], data: Mapping[str, Sequence[Dataset]]
) -> Iterator[PrintedCell]:
    """Yield the printed statistics of data sets next to ours.

    Parameters
    ----------
    printed : iterable of rows
        Data set; name of a statistic, or the labels of a label set whose samples are counted; value.
    data : mapping of str to sequence of Dataset
        Each data set, or its training and test parts.

    Raises
    ------
    ValueError
        If a statistic or a label does not exist.
    """
    ours = {name: statistics_of(*parts) for name, parts in data.items()}
    for dataset, what, value in printed:
        if isinstance(what, list):
            metric, label_set = "instances", tuple(what)
            found: float | None = _instances_with(data[dataset][0], label_set)
        else:
            metric, label_set = what, None
            found = ours[dataset].get(what)
        if found is None:
            raise ValueError(
                f"a printed statistic must be one of {', '.join(ours[dataset])}, got {what!r} of {dataset}."
            )
        yield PrintedCell(dataset, None, None, metric, value, None, found, None, found - value, label_set=label_set)


def statistics_of(data: Dataset, test: Dataset | None = None) -> dict[str, float]:
    """Return the size of a data set and statistics of its labels; for two parts those of the training part, and more.

    For two parts: the frequencies of labels in the training part, and for each part the number of samples, the
    cardinality, the percentage of samples with several labels, and the percentage of rare labels.
    """
    shape = {"instances": data.X.shape[0], "features": data.X.shape[1], "labels": data.Y.shape[1]}
    statistics = describe(data.Y) | shape
    if test is None:
        return statistics
    share = frequencies(data.Y) / data.Y.shape[0]
    statistics |= {"lowest_frequency": float(share.min()), "highest_frequency": float(share.max())}
    return statistics | _statistics_of_part("training", data.Y) | _statistics_of_part("test", test.Y)


def _statistics_of_part(part: str, Y: Matrix) -> dict[str, float]:
    """Return statistics of the label sets of a part, as in Table 9 of Zhang and Zhou (2007)."""
    n_rows = Y.shape[0]
    several = np.asarray(Y.sum(axis=1)) > 1
    rare = 100 * frequencies(Y) < n_rows  # in integers: "only less than 1% instances"
    return {
        f"{part}_instances": n_rows,
        f"{part}_cardinality": cardinality(Y),
        f"{part}_multilabel_percent": 100 * float(several.mean()),
        f"{part}_rare_labels_percent": 100 * float(rare.mean()),
    }


def _instances_with(data: Dataset, label_set: Sequence[str]) -> int:
    """Return the number of samples that have exactly these labels."""
    unknown = [label for label in label_set if label not in data.label_names]
    if unknown:
        raise ValueError(
            f"the labels of a printed label set must be of {', '.join(data.label_names)}, got {unknown[0]!r} of"
            f" {data.name}."
        )
    wanted = np.isin(data.label_names, label_set)
    n_shared, n_labels = np.asarray(data.Y @ wanted), np.asarray(data.Y.sum(axis=1))
    return int(((n_shared == wanted.sum()) & (n_labels == wanted.sum())).sum())


# Figures of the two distances of NLDD: the label space as a cube, and one sample paired with others.


_MARKS = {"m1, nearest in the features": (1.0, 0.0), "m2, nearest in the labels": (0.0, 1.0)}


@dataclass(frozen=True)
class LabelCube:
    """A figure of the space of three labels: probabilities in the unit cube, and label sets at its corners.

    Parameters
    ----------
    paper, figure, title : str
        Name of the paper, number and title of the figure.
    notes : tuple of str
        Notes for the comparison.
    probabilities : tuple of three float
        Of the labels.
    labelsets : tuple of tuples of three int
        Corners of the cube.
    distances : tuple of float
        Dy, the Euclidean distance from the probabilities to each label set.
    """

    paper: str
    figure: str
    title: str
    notes: tuple[str, ...]
    probabilities: tuple[float, ...]
    labelsets: tuple[tuple[int, ...], ...]
    distances: tuple[float, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield a flat dict for each label set."""
        for labelset, distance in zip(self.labelsets, self.distances, strict=True):
            yield {"figure": self.figure, "row": str(labelset), "metric": "dy", "ours": distance}


@dataclass(frozen=True)
class DistancePairs:
    """A figure of one sample paired with others: a point for each pair, by its two distances.

    Parameters
    ----------
    paper, figure, title : str
        Name of the paper, number and title of the figure.
    notes : tuple of str
        Notes for the comparison.
    dataset : str
        Name of the data set.
    query : int
        The query, by its row number in the data set.
    row : tuple of int
        The samples with which it is paired, by row number.
    dx, dy : tuple of float
        The distance in the features, and that from the query's label probabilities to the row's label set.
    loss : tuple of int
        Number of labels in which the two label sets differ.
    marks : dict of str to int
        Indices of the pairs to which the regression would be fitted.
    """

    paper: str
    figure: str
    title: str
    notes: tuple[str, ...]
    dataset: str
    query: int
    row: tuple[int, ...]
    dx: tuple[float, ...]
    dy: tuple[float, ...]
    loss: tuple[int, ...]
    marks: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        """Return plain dicts and lists, for JSON."""
        return asdict(self)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Yield three flat dicts for each pair."""
        for place, row in enumerate(self.row):
            same = {"figure": self.figure, "dataset": self.dataset, "row": row, "remark": self.remark(place)}
            for metric in ("dx", "dy", "loss"):
                yield {**same, "metric": metric, "ours": getattr(self, metric)[place]}

    def remark(self, place: int) -> str:
        """Return the marks of a pair.

        Parameters
        ----------
        place : int
            The number of the pair.

        Returns
        -------
        str
            Its marks, or an empty text.
        """
        return "; ".join(name for name, marked in self.marks.items() if marked == place)


def label_cube(paper: str, number: str, facts: Mapping[str, Any]) -> LabelCube:
    """Return the figure of a section [cubes.N], with the distances."""
    p, labelsets = np.array(facts["probabilities"]), np.array(facts["labelsets"])
    distances = np.sqrt(((labelsets - p) ** 2).sum(axis=1))
    drawn = tuple(p.tolist()), tuple(map(tuple, labelsets.tolist())), tuple(distances.tolist())
    return LabelCube(paper, number, facts["title"], tuple(facts.get("notes", ())), *drawn)


def distance_pairs(paper: str, number: str, facts: Mapping[str, Any], data: Dataset) -> DistancePairs:
    """Return the figure of a section [pairs.N]: a sample of T2 with all of T1, as in Algorithm 1 of the paper."""
    random, n_samples = check_random_state(facts["seed"]), facts["n_samples"]
    if n_samples > data.X.shape[0]:
        raise ValueError(f"[pairs.{number}] n_samples must be at most {data.X.shape[0]}, got {n_samples}.")
    T1, T2 = np.split(random.permutation(data.X.shape[0])[:n_samples], 2)
    query = T2[facts["row"]]
    probabilities = LabelProbabilities.fit(None, data.X[T1], data.Y[T1], random, None).predict(data.X[[query]])
    scaling = FeatureScaling.by_deviation(data.X[T1])
    candidates = double_distances(ExactNeighbors(), scaling(data.X[T1]), data.Y[T1])
    pairs = candidates.of_rows(scaling(data.X[[query]]), probabilities)
    loss = np.asarray(abs(data.Y[T1] - data.Y[[query] * len(T1)]).sum(axis=1)).reshape(-1)
    rows, dx, dy, losses = (tuple(column.tolist()) for column in (T1, pairs.dx, pairs.dy, loss))
    marks = {name: pairs.place_of_first(weights) for name, weights in _MARKS.items()}
    notes = tuple(facts.get("notes", ()))
    return DistancePairs(paper, number, facts["title"], notes, data.name, int(query), rows, dx, dy, losses, marks)
