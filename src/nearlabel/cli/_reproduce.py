"""``nearlabel reproduce``: printed tables of a paper beside our own numbers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from nearlabel.cli import _console
from nearlabel.experiments import Curve, Paper, PrintedCell, Reproduction, paper_names
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
        "--out", type=Path, default=None, help="folder for records and figures; the same command resumes"
    )
    parser.add_argument("--jobs", type=int, default=1, help="processes; default: 1")
    parser.add_argument("--format", choices=_console.FORMATS, default="table", help="default: table")


def main(arguments: argparse.Namespace) -> None:
    """Reproduce the tables and figures asked for, or all of them."""
    with _console.progress_bar("folds") as progress:
        paper = Paper(arguments.paper, out=arguments.out, n_workers=arguments.jobs, progress=progress)
        _check_known("table", arguments.table, paper.tables)
        _check_known("figure", arguments.figure, paper.figures)
        everything = not arguments.table and not arguments.figure
        tables = [paper.reproduce_table(n) for n in (paper.tables if everything else arguments.table)]
        figures = [paper.reproduce_figure(n) for n in (paper.figures if everything else arguments.figure)]
    if arguments.format == "json":
        _console.print_json([*(table.as_dict() for table in tables), *(figure.as_dict() for figure in figures)])
    elif arguments.format == "csv":
        _print_csv(tables, figures)
    else:
        for table in tables:
            _print_table(table)
        for figure in figures:
            _print_figure(figure)
    for figure in figures if arguments.out or arguments.figure else ():
        _draw(figure, arguments.out or Path(), tell=arguments.format == "table")


def _check_known(kind: str, asked: Sequence[str], known: Sequence[str]) -> None:
    """Refuse an unknown table or figure before any other is run."""
    for number in asked:
        if number not in known:
            raise ValueError(f"{kind} must be one of {', '.join(known) or 'none'}, got {number}.")


def _print_csv(tables: Sequence[Reproduction], figures: Sequence[Curve]) -> None:
    """Print one row a figure of a table or point of a curve; a point has nothing printed beside."""
    columns = ("table", "figure", *(field.name for field in fields(PrintedCell)))
    rows = [
        {"table": table.table} | asdict(cell) | {"beside": json.dumps(cell.beside)}
        for table in tables
        for cell in table.cells
    ]
    points = [
        {"figure": curve.figure, "dataset": dataset, "n_neighbors": k, "ours": value}
        for curve in figures
        for dataset, line in curve.series.items()
        for k, value in line.items()
    ]
    _console.print_csv([dict.fromkeys(columns) | row for row in (*rows, *points)])


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
