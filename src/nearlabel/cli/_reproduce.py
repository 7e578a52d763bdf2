"""``nearlabel reproduce``: printed tables of a paper beside our own numbers."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path

from nearlabel.cli import _console
from nearlabel.cli._comparison import curves
from nearlabel.cli._reproduced import print_origin, print_part
from nearlabel.papers import (
    Curve,
    Paper,
    PrintedCell,
    PrintedRelation,
    Ranking,
    ReproducedOrder,
    Reproduction,
    paper_names,
)
from nearlabel.plots import NeighborsPanelsDisplay, check_figure_file

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
    parser.add_argument("--format", choices=_console.PAGE_FORMATS, default="table", help="default: table")


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
        numbers = paper.figures if everything else arguments.figure
        files = _figure_files(arguments, paper, numbers) if arguments.out or arguments.figure else []
        tables = [
            paper.reproduce_order(n) if n in paper.orders else paper.reproduce_table(n)
            for n in (all_tables if everything else arguments.table)
        ]
        rankings = [paper.reproduce_ranking(n) for n in (paper.rankings if everything else arguments.ranking)]
        figures = [paper.reproduce_figure(n) for n in numbers]
    for figure, file in zip(figures, files, strict=False):
        _draw(figure, file)
    if arguments.format == "json":
        parts: list[Reproduction | ReproducedOrder | Ranking | Curve] = [*tables, *rankings, *figures]
        _console.print_json([part.as_dict() for part in parts])
    elif arguments.format == "csv":
        _print_csv(tables, rankings, figures)
    else:
        page = _console.MARKDOWN if arguments.format == "markdown" else _console.SCREEN
        if page is _console.MARKDOWN:
            print_origin(page, paper, sys.argv[1:])
        for part in (*tables, *rankings, *figures):
            print_part(page, part)
        for file in files if arguments.format == "table" else ():
            _console.print_text(f"Figure: {file}")


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


def _figure_files(arguments: argparse.Namespace, paper: Paper, numbers: Sequence[str]) -> list[Path]:
    """Return where figures are drawn; raise OSError or ImportError, before anything is run, if they cannot be."""
    folder = arguments.out or Path()
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{paper.name}-figure{number}.png" for number in numbers]
    for file in files:
        check_figure_file(file, name="--out")
    return files


def _draw(curve: Curve, file: Path) -> None:
    NeighborsPanelsDisplay({"share of instances": curves(curve.series)}).write(file, title=curve.title)
