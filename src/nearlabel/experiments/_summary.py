"""Means of records over folds, for tables."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from nearlabel.experiments.records import Record


@dataclass(frozen=True)
class Cell:
    """A mean over folds, for one cell of a table.

    Parameters
    ----------
    dataset, method : str
        Names, as in the records.
    n_neighbors : int, "mean" or None
        Number of neighbours; "mean" for the mean over all of them, None if the method has no such number.
    metric : str
        Name of the metric.
    mean : float
        Mean over the folds of a shuffle, then over the shuffles.
    std : float
        Standard deviation over the folds of a shuffle (n - 1), averaged over the shuffles; nan for a single fold.
    spread : float
        Standard deviation of the shuffles' means (n - 1); nan for a single shuffle.
    """

    dataset: str
    method: str
    n_neighbors: int | str | None
    metric: str
    mean: float
    std: float
    spread: float


def summarise(records: Iterable[Record]) -> list[Cell]:
    """Return a cell for each data set, method, number of neighbours and metric, and for the mean over the numbers.

    Data sets and methods are in the order of the records, and numbers of neighbours ascend. The mean over them comes
    last and has ``n_neighbors="mean"``: in each fold the values of all numbers of neighbours are averaged first, as in
    Tables 2 and 3 of Spyromitros et al. (2008). A value that is None (a metric undefined on that fold) is left out.

    Examples
    --------
    >>> from nearlabel.experiments import summarise
    >>> record = {"dataset": "toy", "seed": 0, "method": "brknn", "n_neighbors": 3, "metric": "hamming_loss"}
    >>> cells = summarise([record | {"fold": 0, "value": 0.25}, record | {"fold": 1, "value": 0.75}])
    >>> [(cell.n_neighbors, cell.mean) for cell in cells]
    [(3, 0.5), ('mean', 0.5)]
    """
    values: dict[tuple[str, str, int | str | None, str], dict[tuple[int | None, int], list[float]]]
    values = defaultdict(lambda: defaultdict(list))
    for r in records:
        numbers = (None,) if r["n_neighbors"] is None else (r["n_neighbors"], "mean")
        for k in numbers if r["value"] is not None else ():
            values[r["dataset"], r["method"], k, r["metric"]][r["seed"], r["fold"]].append(r["value"])
    pairs = {pair: place for place, pair in enumerate(dict.fromkeys(key[:2] for key in values))}
    return [_cell(key, values[key]) for key in sorted(values, key=lambda key: (pairs[key[:2]], *_place(key[2])))]


def _place(n_neighbors: int | str | None) -> tuple[bool, int]:
    """Return a sort key of numbers of neighbours, with the mean last."""
    return isinstance(n_neighbors, str), n_neighbors if isinstance(n_neighbors, int) else 0


def _cell(key: tuple[str, str, int | str | None, str], by_fold: dict[tuple[int | None, int], list[float]]) -> Cell:
    shuffles: dict[int | None, list[float]] = defaultdict(list)
    for (seed, _), of_fold in by_fold.items():
        shuffles[seed].append(float(np.mean(of_fold)))
    means = [float(np.mean(folds)) for folds in shuffles.values()]
    deviation = float(np.mean([_deviation(folds) for folds in shuffles.values()]))
    return Cell(*key, mean=float(np.mean(means)), std=deviation, spread=_deviation(means))


def _deviation(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")
