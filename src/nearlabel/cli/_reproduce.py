"""``nearlabel reproduce``: printed tables of a paper beside our own numbers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from nearlabel.cli import _console
from nearlabel.cli._comparison import title_of
from nearlabel.experiments import (
    Curve,
    Paper,
    PrintedCell,
    PrintedRelation,
    RankedMeasure,
    Ranking,
    ReproducedOrder,
    Reproduction,
    paper_names,
)
from nearlabel.report import draw_panels

_COLUMNS = ("data set", "method", "k", "measure", "printed", "ours", "difference", "ours, read otherwise")
_N_NAMES = 4  # the columns before the figures
_SHARED = ("metric", "printed", "ours", "difference", "p_value")  # columns that relations have with figures and tests


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paper", metavar="PAPER", help="one of: " + ", ".join(paper_names()))
    parser.add_argument("--table", metavar="N", action="append", default=[], help="repeatable; default: all tables")
    parser.add_argument(
        "--figure", metavar="N", action="append", default=[], help="repeatable; drawn into --out, else into this folder"
    )
    parser.add_argument(
        "--ranking",
        metavar="N",
        action="append",
        default=[],
        help="repeatable; of papers that claim an order of methods",
    )
    parser.add_argument(
        "--out", type=Path, default=None, help="folder for records and figures; the same command resumes"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a look: fewer folds and data sets where that saves much; says which"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    parser.add_argument("--format", choices=_console.FORMATS, default="table", help="default: table")


def main(arguments: argparse.Namespace) -> None:
    """Reproduce the tables, rankings and figures asked for, or all of them."""
    with _console.progress_bar("folds") as progress:
        paper = Paper(
            arguments.paper, out=arguments.out, n_workers=arguments.jobs, progress=progress, quick=arguments.quick
        )
        all_tables = sorted([*paper.tables, *paper.orders], key=int)
        _check_known("table", arguments.table, all_tables)
        _check_known("figure", arguments.figure, paper.figures)
        _check_known("ranking", arguments.ranking, paper.rankings)
        everything = not (arguments.table or arguments.figure or arguments.ranking)
        tables = [
            paper.reproduce_order(n) if n in paper.orders else paper.reproduce_table(n)
            for n in (all_tables if everything else arguments.table)
        ]
        rankings = [paper.reproduce_ranking(n) for n in (paper.rankings if everything else arguments.ranking)]
        figures = [paper.reproduce_figure(n) for n in (paper.figures if everything else arguments.figure)]
    if arguments.format == "json":
        parts: list[Reproduction | ReproducedOrder | Ranking | Curve] = [*tables, *rankings, *figures]
        _console.print_json([part.as_dict() for part in parts])
    elif arguments.format == "csv":
        _print_csv(tables, rankings, figures)
    else:
        for table in tables:
            if isinstance(table, ReproducedOrder):
                _print_order(table)
            else:
                _print_table(table)
        for ranking in rankings:
            _print_ranking(ranking)
        for figure in figures:
            _print_figure(figure)
    for figure in figures if arguments.out or arguments.figure else ():
        _draw(figure, arguments.out or Path(), tell=arguments.format == "table")


def _check_known(kind: str, asked: Sequence[str], known: Sequence[str]) -> None:
    """Refuse an unknown table or figure before any other is run."""
    for number in asked:
        if number not in known:
            raise ValueError(f"{kind} must be one of {', '.join(known) or 'none'}, got {number}.")


def _print_csv(
    tables: Sequence[Reproduction | ReproducedOrder], rankings: Sequence[Ranking], figures: Sequence[Curve]
) -> None:
    """Print one row a figure or relation of a table, value, mean rank or test of a ranking, or point of a curve."""
    of_rankings = ("mean_rank", "statistic", "p_value", "n_pairs")
    of_orders = [field.name for field in fields(PrintedRelation) if field.name not in _SHARED]
    columns = ("table", "ranking", "figure", *(field.name for field in fields(PrintedCell)), *of_rankings, *of_orders)
    rows = [
        {"table": table.table} | asdict(cell) | {"beside": json.dumps(cell.beside)}
        for table in tables
        if isinstance(table, Reproduction)
        for cell in table.cells
    ]
    rows += [
        {"table": table.table} | asdict(relation)
        for table in tables
        if isinstance(table, ReproducedOrder)
        for relation in table.relations
    ]
    ranked = [
        {"ranking": ranking.ranking, "dataset": dataset, "method": method, "metric": measure.metric, "ours": value}
        for ranking in rankings
        for measure in ranking.measures
        for dataset, values in measure.values.items()
        for method, value in values.items()
    ]
    ranked += [
        {"ranking": ranking.ranking, "method": method, "metric": measure.metric, "mean_rank": rank}
        for ranking in rankings
        for measure in ranking.measures
        for method, rank in measure.mean_ranks.items()
    ]
    ranked += [
        {"ranking": ranking.ranking} | asdict(test) | {"method": " - ".join(test.methods)}
        for ranking in rankings
        for test in ranking.tests
    ]
    points = [
        {"figure": curve.figure, "dataset": dataset, "n_neighbors": k, "ours": value}
        for curve in figures
        for dataset, line in curve.series.items()
        for k, value in line.items()
    ]
    everything = (*rows, *ranked, *points)
    _console.print_csv([{column: row.get(column) for column in columns} for row in everything])


def _print_table(table: Reproduction) -> None:
    rows = [_row(*pair, table.decimals) for pair in zip(table.cells, _marks(table.cells), strict=True)]
    used = [column for column in range(len(_COLUMNS)) if any(row[column] for row in rows)]
    _console.print_table(
        f"{table.paper}, table {table.table}: {table.title}",
        [_COLUMNS[column] for column in used],
        [[row[column] for column in used] for row in rows],
        left=sum(column < _N_NAMES for column in used),
    )
    differences = table.largest_differences().items()
    for mark, cell in zip(_marks(table.cells), table.cells, strict=True):
        if mark:
            _console.print_text(f"{mark} {cell.remark}.")
    largest = ", ".join(f"{metric} {_number(value, table.decimals + 1)}" for metric, value in differences)
    _console.print_text(f"Largest differences: {largest}.")
    for note in table.notes:
        _console.print_text(f"Note: {note}")
    _console.print_text("")


def _print_order(order: ReproducedOrder) -> None:
    testable = any(relation.of_printed is not None for relation in order.relations)
    rows = [
        (title_of(r.metric), r.better, r.worse, _yes(r.printed), *((_yes(r.of_printed),) if testable else ()),
         _yes(r.ours), "" if r.difference is None else _number(r.difference, 4, sign="+"),
         "" if r.p_value is None else f"{r.p_value:.2g}")
        for r in order.relations
    ]  # fmt: skip
    of_printed = ("by its figures",) if testable else ()
    _console.print_table(
        f"{order.paper}, table {order.table}: {order.title}",
        ("measure", "better", "worse", "printed", *of_printed, "ours", "difference", "p"),
        rows,
        left=3,
    )
    scores = [
        (method, f"{score.printed:+d}", *((f"{score.of_printed:+d}",) if testable else ()), f"{score.ours:+d}")
        for method, score in order.scores.items()
    ]
    _console.print_table("Wins less losses", ("method", "printed", *of_printed, "ours"), scores)
    agree = sum(relation.printed and relation.ours for relation in order.relations)
    printed = sum(relation.printed for relation in order.relations)
    others = sum(relation.ours for relation in order.relations) - agree
    _console.print_text(f"Of {printed} printed relations {agree} come out; {others} others do.")
    for note in order.notes:
        _console.print_text(f"Note: {note}")
    _console.print_text("")


def _yes(value: bool | None) -> str:
    return "yes" if value else ""


def _print_ranking(ranking: Ranking) -> None:
    _console.print_text(f"{ranking.paper}, ranking {ranking.ranking}: {ranking.title}")
    for measure in ranking.measures:
        _print_measure(measure)
    rows = [
        (test.dataset, test.metric, " - ".join(test.methods), f"{test.difference:+.4f}", f"{test.statistic:.2f}",
         f"{test.p_value:.2g}", str(test.n_pairs))
        for test in ranking.tests
    ]  # fmt: skip
    columns = ("data set", "measure", "methods", "difference", "t", "p", "folds")
    _console.print_table(
        "Paired t-tests over the folds, corrected for their overlap; t > 0: the first is better",
        columns,
        rows,
        left=3,
    )
    for note in ranking.notes:
        _console.print_text(f"Note: {note}")
    _console.print_text("")


def _print_measure(measure: RankedMeasure) -> None:
    """Print a measure's table, the methods in the order of their mean ranks."""
    methods = sorted(measure.mean_ranks, key=lambda method: measure.mean_ranks[method])
    rows = [(dataset, *(f"{values[m]:.4f}" for m in methods)) for dataset, values in measure.values.items()]
    rows.append(("mean rank", *(f"{measure.mean_ranks[m]:.2f}" for m in methods)))
    claim = f" (the paper: {measure.claim})" if measure.claim else ""
    _console.print_table(f"{measure.metric}{claim}", ("data set", *methods), rows)


def _marks(cells: Sequence[PrintedCell]) -> list[str]:
    """Return a sign for each cell whose printed figure cannot be right: (a), (b) and so on."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    return [f"({next(letters)})" if cell.remark else "" for cell in cells]


def _row(cell: PrintedCell, mark: str, decimals: int) -> tuple[str, ...]:
    printed = f"{mark} {_number(cell.printed, decimals, cell.printed_std)}".lstrip()
    ours = _number(cell.ours, decimals, cell.std if cell.printed_std is not None else None)
    difference = _number(cell.difference, decimals, sign="+")
    beside = ", ".join(f"{reading} {_number(value, decimals)}" for reading, value in cell.beside.items())
    k = "" if cell.n_neighbors is None else str(cell.n_neighbors)
    return cell.dataset, cell.method or "", k, cell.metric, printed, ours, difference, beside


def _number(value: float, decimals: int, std: float | None = None, *, sign: str = "") -> str:
    if isinstance(value, int):
        return f"{value:{sign}}"
    rounded = round(value, decimals) + 0.0  # no -0.0000
    return f"{rounded:{sign}.{decimals}f}" + (f" ± {std:.{decimals}f}" if std is not None else "")


def _print_figure(curve: Curve) -> None:
    numbers = list(next(iter(curve.series.values())))
    rows = [(str(k), *(f"{line[k]:.4f}" for line in curve.series.values())) for k in numbers]
    _console.print_table(f"{curve.paper}, figure {curve.figure}: {curve.title}", ("k", *curve.series), rows)
    for note in curve.notes:
        _console.print_text(f"Note: {note}")


def _draw(curve: Curve, folder: Path, *, tell: bool) -> None:
    file = draw_panels(
        {"share of instances": curve.series}, folder / f"{curve.paper}-figure{curve.figure}.png", title=curve.title
    )
    if tell:
        _console.print_text(f"Figure: {file}")
