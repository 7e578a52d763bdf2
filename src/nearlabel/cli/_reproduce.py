"""``nearlabel reproduce``: printed tables of a paper beside our own numbers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from nearlabel.cli import _console
from nearlabel.experiments import Curve, Paper, PrintedCell, RankedMeasure, Ranking, Reproduction, paper_names
from nearlabel.report import draw_panels

_COLUMNS = ("data set", "method", "k", "measure", "printed", "ours", "difference", "ours, read otherwise")
_N_NAMES = 4  # the columns before the figures


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
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    parser.add_argument("--format", choices=_console.FORMATS, default="table", help="default: table")


def main(arguments: argparse.Namespace) -> None:
    """Reproduce the tables, rankings and figures asked for, or all of them."""
    with _console.progress_bar("folds") as progress:
        paper = Paper(arguments.paper, out=arguments.out, n_workers=arguments.jobs, progress=progress)
        _check_known("table", arguments.table, paper.tables)
        _check_known("figure", arguments.figure, paper.figures)
        _check_known("ranking", arguments.ranking, paper.rankings)
        everything = not (arguments.table or arguments.figure or arguments.ranking)
        tables = [paper.reproduce_table(n) for n in (paper.tables if everything else arguments.table)]
        rankings = [paper.reproduce_ranking(n) for n in (paper.rankings if everything else arguments.ranking)]
        figures = [paper.reproduce_figure(n) for n in (paper.figures if everything else arguments.figure)]
    if arguments.format == "json":
        parts: list[Reproduction | Ranking | Curve] = [*tables, *rankings, *figures]
        _console.print_json([part.as_dict() for part in parts])
    elif arguments.format == "csv":
        _print_csv(tables, rankings, figures)
    else:
        for table in tables:
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


def _print_csv(tables: Sequence[Reproduction], rankings: Sequence[Ranking], figures: Sequence[Curve]) -> None:
    """Print one row a figure of a table, value, mean rank or test of a ranking, or point of a curve."""
    of_rankings = ("mean_rank", "statistic", "p_value", "n_folds")
    columns = ("table", "ranking", "figure", *(field.name for field in fields(PrintedCell)), *of_rankings)
    rows = [
        {"table": table.table} | asdict(cell) | {"beside": json.dumps(cell.beside)}
        for table in tables
        for cell in table.cells
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
    rows = [_row(cell, table.decimals) for cell in table.cells]
    used = [column for column in range(len(_COLUMNS)) if any(row[column] for row in rows)]
    _console.print_table(
        f"{table.paper}, table {table.table}: {table.title}",
        [_COLUMNS[column] for column in used],
        [[row[column] for column in used] for row in rows],
        left=sum(column < _N_NAMES for column in used),
    )
    differences = table.largest_differences().items()
    largest = ", ".join(f"{metric} {_number(value, table.decimals + 1)}" for metric, value in differences)
    _console.print_text(f"Largest differences: {largest}.")
    for note in table.notes:
        _console.print_text(f"Note: {note}")
    _console.print_text("")


def _print_ranking(ranking: Ranking) -> None:
    _console.print_text(f"{ranking.paper}, ranking {ranking.ranking}: {ranking.title}")
    for measure in ranking.measures:
        _print_measure(measure)
    rows = [
        (test.dataset, test.metric, " - ".join(test.methods), f"{test.difference:+.4f}", f"{test.statistic:.2f}",
         f"{test.p_value:.2g}", str(test.n_folds))
        for test in ranking.tests
    ]  # fmt: skip
    columns = ("data set", "measure", "methods", "difference", "t", "p", "folds")
    _console.print_table("Paired two-tailed t-tests over the folds", columns, rows, left=3)
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


def _row(cell: PrintedCell, decimals: int) -> tuple[str, ...]:
    printed = _number(cell.printed, decimals, cell.printed_std)
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
