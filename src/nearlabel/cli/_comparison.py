"""Show a comparison of methods: a table by metric and method, and panels over k."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from nearlabel.cli import _console
from nearlabel.comparison import Order
from nearlabel.experiments import Cell, Record, SearchCost
from nearlabel.metrics import CATALOGUE
from nearlabel.plots import NeighborsCurveDisplay, NeighborsPanelsDisplay

_DIRECTIONS = {name: metric.greater_is_better for name, metric in CATALOGUE.items()}


def names(text: str) -> tuple[str, ...]:
    """Parse ``a,b``."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def some_names(text: str) -> tuple[str, ...]:
    """Parse ``a,b``, at least one."""
    if not names(text):
        raise argparse.ArgumentTypeError(f"must name at least one, got {text!r}")
    return names(text)


def directions_of(records: Iterable[Record]) -> dict[str, bool]:
    """Return by metric whether greater is better: of the catalogue, and of others as their records say."""
    return _DIRECTIONS | {r["metric"]: r["greater_is_better"] for r in records if "greater_is_better" in r}


def show(cells: Sequence[Cell], format_: str, directions: Mapping[str, bool] = _DIRECTIONS) -> None:
    """Print the cells as a table, JSON or CSV; `directions` tell by metric whether greater is better."""
    _show(cells, format_, partial(_print_dataset, directions=directions))


def show_costs(costs: Sequence[SearchCost], format_: str) -> None:
    """Print the costs of searches as a table, JSON or CSV."""
    _show(costs, format_, _print_costs)


def _show(figures: Sequence[Any], format_: str, print_dataset: Callable[[str, Sequence[Any]], None]) -> None:
    """Print dataclasses in a format; as tables, one for each data set."""
    if format_ == "json":
        _console.print_json([asdict(each) for each in figures])
    elif format_ == "csv":
        _console.print_csv([asdict(each) for each in figures])
    else:
        for dataset in dict.fromkeys(each.dataset for each in figures):
            print_dataset(dataset, [each for each in figures if each.dataset == dataset])


def panels(cells: Sequence[Cell], metrics: Sequence[str]) -> NeighborsPanelsDisplay:
    """Return a panel for each metric with each method's means over the number of neighbours."""
    lines: dict[str, dict[str, dict[int, float]]] = {}
    for metric in metrics:
        heading = f"{title_of(metric)} ({'higher' if CATALOGUE[metric].greater_is_better else 'lower'} is better)"
        for cell in cells:
            if cell.metric == metric and isinstance(cell.n_neighbors, int):
                lines.setdefault(heading, {}).setdefault(cell.method, {})[cell.n_neighbors] = cell.mean
    return NeighborsPanelsDisplay({heading: curves(of_methods) for heading, of_methods in lines.items()})


def curves(series: Mapping[str, Mapping[int, float]]) -> list[NeighborsCurveDisplay]:
    """Return a line for each name, from its values by number of neighbours."""
    return [NeighborsCurveDisplay(list(of), list(of.values()), name=name) for name, of in series.items()]


def print_order(order: Order, heading: str) -> None:
    """Print how many methods each is significantly better than, less how many are better than it, best first."""
    by_metric = order.by_metric()
    rows = [
        (method, *(f"{by_metric[m][method]:+d}" for m in by_metric), f"{n:+d}") for method, n in order.scores.items()
    ]
    _console.print_table(heading, ("method", *map(title_of, by_metric), "total"), rows)


def _print_dataset(dataset: str, cells: Sequence[Cell], directions: Mapping[str, bool]) -> None:
    methods = list(dict.fromkeys(cell.method for cell in cells))
    numbers = sorted({cell.n_neighbors for cell in cells if isinstance(cell.n_neighbors, int)})
    rows = []
    for metric in dict.fromkeys(cell.metric for cell in cells):
        of_metric = [cell for cell in cells if cell.metric == metric]
        rows += _rows(metric, directions.get(metric), methods, of_metric, single=len(numbers) <= 1)
    if not numbers:
        over = "mean ± deviation over folds" if _deviation(cells[0]) else "one fold"
    elif len(numbers) > 1:
        over = f"k = {_shown(numbers)}: mean over k, and each method's best k on these test folds"
    else:
        over = f"k = {numbers[0]}" + (", mean ± deviation over folds" if _deviation(cells[0]) else "")
    _console.print_table(f"{dataset}: {over}", ("metric", "", *methods), rows, left=2)


def _print_costs(dataset: str, costs: Sequence[SearchCost]) -> None:
    """Print a line for each method, search and metric, the mean over the numbers of neighbours."""
    numbers = sorted({cost.n_neighbors for cost in costs if isinstance(cost.n_neighbors, int)})
    rows = [
        (cost.method, cost.search, title_of(cost.metric), f"{cost.exact:.4f}", f"{cost.value:.4f}",
         f"{cost.difference + 0.0:+.4f}", f"{cost.recall:.4f}", f"{cost.exact_seconds:.3f}", f"{cost.seconds:.3f}")
        for cost in costs
        if not isinstance(cost.n_neighbors, int)
    ]  # fmt: skip
    at = f"@{numbers[0]}" if len(numbers) == 1 else ""
    columns = ("method", "search", "metric", "exact", "searched", "difference", f"recall{at}")
    title = f"{dataset}: k = {_shown(numbers)}, mean over folds{'' if at else ' and k'}; seconds of search a fold"
    _console.print_table(title, (*columns, "s, exact", "s, searched"), rows, left=3)


def _rows(
    metric: str, greater_is_better: bool | None, methods: Sequence[str], cells: Sequence[Cell], *, single: bool
) -> list[tuple[str, ...]]:
    mean = {cell.method: cell for cell in cells if not isinstance(cell.n_neighbors, int)}  # or of a method without k
    if greater_is_better is None:  # a count of the predictions, neither good nor bad
        return [(title_of(metric), "" if single else "mean", *(f"{mean[m].mean:.4f} " for m in methods))]
    better = max if greater_is_better else min
    best_method = better(mean.values(), key=_mean)
    marked = {method: "*" if mean[method].mean == best_method.mean else " " for method in mean}
    name = f"{title_of(metric)} {'↑' if greater_is_better else '↓'}"
    if single:
        return [(name, "", *(f"{mean[m].mean:.4f}{_deviation(mean[m])}{marked[m]}" for m in methods))]
    best = [
        _best_number([c for c in cells if c.method == m and isinstance(c.n_neighbors, int)], better) for m in methods
    ]
    return [(name, "mean", *(f"{mean[m].mean:.4f}{marked[m]}" for m in methods)), ("", "best", *best)]


def _shown(numbers: Sequence[int]) -> str:
    """Return ``1..30`` for a whole range, else the numbers."""
    whole_range = len(numbers) > 1 and list(numbers) == list(range(numbers[0], numbers[-1] + 1))
    return f"{numbers[0]}..{numbers[-1]}" if whole_range else ", ".join(map(str, numbers))


def _best_number(cells: list[Cell], better: Callable[..., Cell]) -> str:
    """Return the best value over the numbers of neighbours, and where; nothing for a method without."""
    if not cells:
        return ""
    best = better(cells, key=_mean)
    return f"{best.mean:.4f} (k={best.n_neighbors}) "


def _deviation(cell: Cell) -> str:
    return "" if math.isnan(cell.std) else f" ± {cell.std:.4f}"


def _mean(cell: Cell) -> float:
    return cell.mean


def title_of(metric: str) -> str:
    """Return what a table prints of a metric."""
    if metric in CATALOGUE:
        return CATALOGUE[metric].title
    return metric if ":" in metric else metric.replace("_", " ")  # module:function stays as it was written
