"""Print reproduced tables, orders, rankings and figures of a paper: on the screen, or as Markdown."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from nearlabel.cli import _console
from nearlabel.experiments import made_with
from nearlabel.metrics.evaluation import title_of
from nearlabel.papers import (
    Curve,
    DistancePairs,
    LabelCube,
    Paper,
    PrintedCell,
    PrintedRelation,
    RankedMetric,
    Ranking,
    ReproducedOrder,
    Reproduction,
)

_COLUMNS = ("data set", "label set", "method", "k", "metric", "printed", "ours", "difference", "ours, other reading")
_N_NAMES = 5  # the columns before the numbers

if TYPE_CHECKING:
    Part: TypeAlias = Reproduction | ReproducedOrder | Ranking | Curve | LabelCube | DistancePairs


def print_origin(page: _console.Page, paper: Paper, arguments: Sequence[str]) -> None:
    """Print where the numbers that follow come from: the paper, the command, the day, the versions, the seeds."""
    environment = ", ".join(f"{name} {value}" for name, value in made_with().items())
    page.print_text(f"# {paper.name}: {paper.title}")
    page.print_text(paper.reference)
    page.print_text(
        f"Made by `nearlabel {' '.join(arguments)}` on {dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, with"
        f" {environment}. Random draws have the seed 0; the shuffles of cross-validations have the seeds"
        f" {paper.seeds}."
    )


def print_part(page: _console.Page, part: Part) -> None:
    """Print a table, an order, a ranking or a figure, then its notes."""
    if isinstance(part, Reproduction):
        _print_table(page, part)
    elif isinstance(part, ReproducedOrder):
        _print_order(page, part)
    elif isinstance(part, Ranking):
        _print_ranking(page, part)
    elif isinstance(part, LabelCube):
        _print_cube(page, part)
    elif isinstance(part, DistancePairs):
        _print_pairs(page, part)
    else:
        _print_figure(page, part)
    for note in part.notes:
        page.print_text(f"Note: {note}")
    if not isinstance(part, Curve | LabelCube | DistancePairs):
        page.print_text("")


def _print_table(page: _console.Page, table: Reproduction) -> None:
    """Print the cells, without columns that are empty in all of them, the remarks and the largest differences."""
    marks = _marks(table.cells)
    rows = [_row(cell, mark, table.decimals) for cell, mark in zip(table.cells, marks, strict=True)]
    used = [column for column in range(len(_COLUMNS)) if any(row[column] for row in rows)]
    page.print_table(
        f"{table.paper}, table {table.table}: {table.title}",
        [_COLUMNS[column] for column in used],
        [[row[column] for column in used] for row in rows],
        left=sum(column < _N_NAMES for column in used),
    )
    for mark, cell in zip(marks, table.cells, strict=True):
        if mark:
            page.print_text(f"{mark} {cell.remark}.")
    differences = table.largest_differences().items()
    if differences:
        largest = ", ".join(f"{metric} {_number(value, table.decimals + 1)}" for metric, value in differences)
        page.print_text(f"Largest differences: {largest}.")


def _print_order(page: _console.Page, order: ReproducedOrder) -> None:
    """Print the relations, the total order, and how many relations agree."""
    testable = any(relation.of_printed is not None for relation in order.relations)
    of_printed = ("by its figures",) if testable else ()  # this column is left out of orders that have no answer
    page.print_table(
        f"{order.paper}, table {order.table}: {order.title}",
        ("metric", "better", "worse", "printed", *of_printed, "ours", "difference", "p"),
        [_relation_row(relation, testable) for relation in order.relations],
        left=3,
    )
    scores = [
        (method, f"{score.printed:+d}", *((f"{score.of_printed:+d}",) if testable else ()), f"{score.ours:+d}")
        for method, score in order.scores.items()
    ]
    page.print_table("Ranking: significant wins minus losses", ("method", "printed", *of_printed, "ours"), scores)
    agree = sum(relation.printed and relation.ours for relation in order.relations)
    printed = sum(relation.printed for relation in order.relations)
    others = sum(relation.ours for relation in order.relations) - agree
    page.print_text(f"{agree} of {printed} printed relations are reproduced; {others} others are found.")


def _relation_row(relation: PrintedRelation, testable: bool) -> tuple[str, ...]:
    who = (relation.printed, *((relation.of_printed,) if testable else ()), relation.ours)
    return (
        title_of(relation.metric),
        relation.better,
        relation.worse,
        *("yes" if says_so else "" for says_so in who),
        "" if relation.difference is None else _number(relation.difference, 4, sign="+"),
        "" if relation.p_value is None else f"{relation.p_value:.2g}",
    )


def _print_ranking(page: _console.Page, ranking: Ranking) -> None:
    """Print a table of means and mean ranks for each metric, then the tests."""
    page.print_text(f"{ranking.paper}, ranking {ranking.ranking}: {ranking.title}")
    for ranked in ranking.metrics:
        _print_ranked(page, ranked)
    rows = [
        (test.dataset, test.metric, " - ".join(test.methods), f"{test.difference:+.4f}", f"{test.statistic:.2f}",
         f"{test.p_value:.2g}", str(test.n_pairs))
        for test in ranking.tests
    ]  # fmt: skip
    columns = ("data set", "metric", "methods", "difference", "t", "p", "folds")
    title = "Paired t-tests over the folds, corrected for their overlap; t > 0: the first is better"
    page.print_table(title, columns, rows, left=3)


def _print_ranked(page: _console.Page, ranked: RankedMetric) -> None:
    """Print the means by one metric, the methods in the order of their mean ranks."""
    methods = sorted(ranked.mean_ranks, key=lambda method: ranked.mean_ranks[method])
    rows = [(dataset, *(f"{values[m]:.4f}" for m in methods)) for dataset, values in ranked.values.items()]
    rows.append(("mean rank", *(f"{ranked.mean_ranks[m]:.2f}" for m in methods)))
    claim = f" (the paper: {ranked.claim})" if ranked.claim else ""
    page.print_table(f"{ranked.metric}{claim}", ("data set", *methods), rows)


def _print_figure(page: _console.Page, curve: Curve) -> None:
    """Print the curves as a table, a column for each data set."""
    numbers = list(next(iter(curve.series.values())))
    rows = [(str(k), *(f"{line[k]:.4f}" for line in curve.series.values())) for k in numbers]
    page.print_table(f"{curve.paper}, figure {curve.figure}: {curve.title}", ("k", *curve.series), rows)


def _print_cube(page: _console.Page, cube: LabelCube) -> None:
    """Print how far each label set is from the probabilities."""
    p = ", ".join(f"{probability:g}" for probability in cube.probabilities)
    rows = [
        (f"y{number}", str(labelset), f"{distance:.4f}")
        for number, (labelset, distance) in enumerate(zip(cube.labelsets, cube.distances, strict=True), 1)
    ]
    title = f"{cube.paper}, figure {cube.figure}: {cube.title}; p = ({p})"
    page.print_table(title, ("", "label set", "Dy"), rows, left=2)


def _print_pairs(page: _console.Page, pairs: DistancePairs) -> None:
    """Print both distances and the wrong labels of each pair, and which are marked."""
    values = zip(pairs.row, pairs.dx, pairs.dy, pairs.loss, strict=True)
    rows = [
        (pairs.remark(place), str(row), f"{dx:.4f}", f"{dy:.4f}", str(loss))
        for place, (row, dx, dy, loss) in enumerate(values)
    ]
    title = f"{pairs.paper}, figure {pairs.figure}: {pairs.title}; row {pairs.query} of {pairs.dataset}"
    page.print_table(title, ("", "row of T1", "Dx", "Dy", "wrong labels"), rows, left=1)


def _marks(cells: Sequence[PrintedCell]) -> list[str]:
    """Return a mark for each cell whose printed number cannot be right: (a), (b) and so on."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    return [f"({next(letters)})" if cell.remark else "" for cell in cells]


def _row(cell: PrintedCell, mark: str, decimals: int) -> tuple[str, ...]:
    printed = f"{mark} {_number(cell.printed, decimals, cell.printed_std)}".lstrip()
    ours = _number(cell.ours, decimals, cell.std if cell.printed_std is not None else None)
    difference = _number(cell.difference, decimals, sign="+")
    beside = ", ".join(f"{reading} {_number(value, decimals)}" for reading, value in cell.beside.items())
    k = "" if cell.n_neighbors is None else str(cell.n_neighbors)
    labels = " + ".join(cell.label_set or ())
    return cell.dataset, labels, cell.method or "", k, cell.metric, printed, ours, difference, beside


def _number(value: float, decimals: int, std: float | None = None, *, sign: str = "") -> str:
    if isinstance(value, int):
        return f"{value:{sign}}"
    rounded = round(value, decimals) + 0.0  # no -0.0000
    return f"{rounded:{sign}.{decimals}f}" + (f" ± {std:.{decimals}f}" if std is not None else "")
