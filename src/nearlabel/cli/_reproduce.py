"""``nearlabel reproduce``: compare the printed tables of a paper with our own numbers."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

import nearlabel
from nearlabel.cli import _arguments, _comparison, _console, _imports
from nearlabel.utils.names import PAPERS

SUMMARY = "reproduce the tables of a paper"
EXAMPLES = ("nearlabel reproduce zhang2007 --table 1",)
LOADS = ("experiments", "metrics", "papers", "plots")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "paper", metavar="PAPER", help=f"one of {', '.join(PAPERS)}, or the path of a .toml file of your own"
    )
    for option, which in (
        ("--table", "default: all tables"),
        ("--figure", "saved in --out, or in the current folder"),
        ("--ranking", "for papers that claim an order of methods"),
    ):
        parser.add_argument(option, metavar="N", action="append", default=[], help=f"repeatable; {which}")
    for option in ("--method", "--metric"):
        parser.add_argument(
            option,
            type=_named_object,
            metavar="NAME=WHAT",
            action="append",
            default=[],
            help="meaning of a name in your own .toml file, such as mine=./mine.py:Mine, which runs its code;"
            " repeatable",
        )
    parser.add_argument(
        "--out", type=_arguments.folder, help="folder for records and figures; the same command resumes"
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="less than two minutes: fewer folds, data sets or methods; the first line lists what is left out",
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of processes; default: 1")
    _console.add_format_option(parser, _console.PAGE_FORMATS)


def _named_object(text: str) -> tuple[str, str]:
    """Parse ``name=package.module:Name``."""
    name, equals, what = text.partition("=")
    if not name or not equals or not what:
        raise argparse.ArgumentTypeError(f"must be NAME=WHAT, as in mine=./mine.py:Mine, got {text!r}")
    return name, what


# Text, since the help page loads no room.
Figure: TypeAlias = "nearlabel.papers.Curve | nearlabel.papers.LabelCube | nearlabel.papers.DistancePairs"
Part: TypeAlias = "Figure | nearlabel.papers.Reproduction | nearlabel.papers.ReproducedOrder | nearlabel.papers.Ranking"

_TITLE_WIDTH = 70  # letters of a line above a figure
# The columns of CSV, each once: of cells, of rankings and of orders.
_KINDS = ("table", "ranking", "figure", "row")
_OF_RANKINGS = ("mean_rank", "statistic", "p_value", "n_pairs")


def main(arguments: argparse.Namespace) -> None:
    """Reproduce the tables, rankings and figures asked for, or all of them."""
    paper = nearlabel.papers.Paper(
        arguments.paper,
        methods={name: _imports.method(what) for name, what in arguments.method},
        metrics={name: _imports.metric(what) for name, what in arguments.metric},
        out=arguments.out,
        n_workers=arguments.jobs,
        quick=arguments.quick,
    )
    tables, rankings, numbers = _wanted(arguments, paper)
    files = _figure_files(arguments, paper, numbers) if arguments.out or arguments.figure else []
    parts: list[Part] = [paper.reproduce_table(number) for number in tables]
    parts += [paper.reproduce_ranking(number) for number in rankings]
    figures = [paper.reproduce_figure(number) for number in numbers]
    for figure, file in zip(figures, files, strict=False):
        _display(figure).write(file, title="\n".join(textwrap.wrap(figure.title, _TITLE_WIDTH)))
    _print(paper, [*parts, *figures], arguments.format, quick=arguments.quick)
    for file in files if arguments.format == "table" else ():
        _console.print_text(f"Figure: {file}")


def _wanted(arguments: argparse.Namespace, paper: nearlabel.papers.Paper) -> list[Sequence[str]]:
    """Return the numbers of tables, rankings and figures to reproduce; refuse an unknown one before any is run."""
    known = {"table": paper.tables, "ranking": paper.rankings, "figure": paper.figures}
    asked = {kind: getattr(arguments, kind) for kind in known}
    for kind, numbers in asked.items():
        for number in numbers:
            if number not in known[kind]:
                raise ValueError(f"{kind} must be one of {', '.join(known[kind]) or 'none'}, got {number}.")
    return list(asked.values() if any(asked.values()) else known.values())


def _omissions(left_out: Mapping[str, str]) -> str:
    """Return in one sentence or two what --quick left out of the experiments that were run."""
    in_full = [name for name, what in left_out.items() if not what]
    if len(in_full) == len(left_out):
        return f"--quick leaves out nothing here: {', '.join(in_full)} ran in full."
    in_part = "; ".join(f"{name} leaves out {what}" for name, what in left_out.items() if what)
    others = f"; in full: {', '.join(in_full)}" if in_full else ""
    return f"A preview only (--quick). Experiments: {in_part}{others}."


def _print(paper: nearlabel.papers.Paper, parts: Sequence[Part], format_: str, *, quick: bool) -> None:
    if quick and paper.left_out and format_ in ("json", "csv"):
        _console.print_notes([_omissions(paper.left_out)])
    if format_ == "json":
        _console.print_json([part.as_dict() for part in parts])
    elif format_ == "csv":
        rows = [row for part in parts for row in part.rows()]
        _console.print_csv([{column: _csv_cell(row.get(column)) for column in _columns()} for row in rows])
    else:
        page = _console.PAGES[format_]
        if page is _console.MARKDOWN:
            print_origin(page, paper, sys.argv[1:])
        if paper.left_out and quick:
            page.print_text(_omissions(paper.left_out))
        for part in parts:
            print_part(page, part)


def _csv_cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | tuple) else value


def _figure_files(arguments: argparse.Namespace, paper: nearlabel.papers.Paper, numbers: Sequence[str]) -> list[Path]:
    """Return where figures are drawn; raise OSError or ImportError, before anything is run, if they cannot be."""
    folder = arguments.out or Path()
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{paper.name}-figure{number}.png" for number in numbers]
    for file in files:
        nearlabel.plots.check_figure_file(file, name="--out")
    return files


def _columns() -> tuple[str, ...]:
    """Return the columns of CSV: what a row is of, then the fields of cells, of rankings and of orders."""
    kinds = nearlabel.papers.PrintedCell, nearlabel.papers.PrintedRelation
    of_cells, of_orders = ([field.name for field in fields(kind)] for kind in kinds)
    return tuple(dict.fromkeys((*_KINDS, *of_cells, *_OF_RANKINGS, *of_orders)))


def _display(figure: Figure) -> Any:
    """Return a figure in the form in which it is drawn."""
    if isinstance(figure, nearlabel.papers.LabelCube):
        return nearlabel.plots.LabelCubeDisplay(figure.probabilities, figure.labelsets)
    if isinstance(figure, nearlabel.papers.DistancePairs):
        return nearlabel.plots.DoubleDistancesDisplay(figure.dx, figure.dy, figure.loss, marks=figure.marks)
    title = nearlabel.metrics.evaluation.title_of(figure.metric)
    return nearlabel.plots.NeighborsPanelsDisplay({title: _comparison.curves(figure.series)})


# Print reproduced tables, orders, rankings and figures of a paper: on the screen, or as Markdown.

_COLUMNS_OF_TABLE = (
    "data set", "label set", "method", "k", "metric", "printed", "ours", "difference", "ours, other reading",
)  # fmt: skip
_N_NAMES = 5  # the columns before the numbers


def print_origin(page: _console.Page, paper: nearlabel.papers.Paper, arguments: Sequence[str]) -> None:
    """Print where the numbers that follow come from: the paper, the command, the day, the versions, the seeds."""
    environment = ", ".join(f"{name} {value}" for name, value in nearlabel.experiments.made_with().items())
    page.print_text(f"# {paper.name}: {paper.title}")
    page.print_text(paper.reference)
    page.print_text(
        f"Made by `nearlabel {' '.join(arguments)}` on {dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, with"
        f" {environment}. Random draws have the seed 0; the shuffles of cross-validations have the seeds"
        f" {paper.seeds}."
    )


def print_part(page: _console.Page, part: Part) -> None:
    """Print a table, an order, a ranking or a figure, then its notes."""
    papers = nearlabel.papers
    printers: dict[type, Callable[[_console.Page, Any], None]] = {
        papers.Reproduction: _print_table,
        papers.ReproducedOrder: _print_order,
        papers.Ranking: _print_ranking,
        papers.Curve: _print_figure,
        papers.LabelCube: _print_cube,
        papers.DistancePairs: _print_pairs,
    }
    printers[type(part)](page, part)
    for note in part.notes:
        page.print_text(f"Note: {note}")
    if not isinstance(part, papers.Curve | papers.LabelCube | papers.DistancePairs):
        page.print_text("")


def _print_table(page: _console.Page, table: nearlabel.papers.Reproduction) -> None:
    """Print the cells, without columns that are empty in all of them, the remarks and the largest differences."""
    marks = _marks(table.cells)
    rows = [_row(cell, mark, table.decimals) for cell, mark in zip(table.cells, marks, strict=True)]
    used = [column for column in range(len(_COLUMNS_OF_TABLE)) if any(row[column] for row in rows)]
    page.print_table(
        f"{table.paper}, table {table.table}: {table.title}",
        [_COLUMNS_OF_TABLE[column] for column in used],
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


def _print_order(page: _console.Page, order: nearlabel.papers.ReproducedOrder) -> None:
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


def _relation_row(relation: nearlabel.papers.PrintedRelation, testable: bool) -> tuple[str, ...]:
    who = (relation.printed, *((relation.of_printed,) if testable else ()), relation.ours)
    return (
        nearlabel.metrics.evaluation.title_of(relation.metric),
        relation.better,
        relation.worse,
        *("yes" if says_so else "" for says_so in who),
        "" if relation.difference is None else _number(relation.difference, 4, sign="+"),
        "" if relation.p_value is None else f"{relation.p_value:.2g}",
    )


def _print_ranking(page: _console.Page, ranking: nearlabel.papers.Ranking) -> None:
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


def _print_ranked(page: _console.Page, ranked: nearlabel.papers.RankedMetric) -> None:
    """Print the means by one metric, the methods in the order of their mean ranks."""
    methods = sorted(ranked.mean_ranks, key=lambda method: ranked.mean_ranks[method])
    rows = [(dataset, *(f"{values[m]:.4f}" for m in methods)) for dataset, values in ranked.values.items()]
    rows.append(("mean rank", *(f"{ranked.mean_ranks[m]:.2f}" for m in methods)))
    claim = f" (the paper: {ranked.claim})" if ranked.claim else ""
    page.print_table(f"{ranked.metric}{claim}", ("data set", *methods), rows)


def _print_figure(page: _console.Page, curve: nearlabel.papers.Curve) -> None:
    """Print the curves as a table, a column for each data set."""
    numbers = list(next(iter(curve.series.values())))
    rows = [(str(k), *(f"{line[k]:.4f}" for line in curve.series.values())) for k in numbers]
    page.print_table(f"{curve.paper}, figure {curve.figure}: {curve.title}", ("k", *curve.series), rows)


def _print_cube(page: _console.Page, cube: nearlabel.papers.LabelCube) -> None:
    """Print how far each label set is from the probabilities."""
    p = ", ".join(f"{probability:g}" for probability in cube.probabilities)
    rows = [
        (f"y{number}", str(labelset), f"{distance:.4f}")
        for number, (labelset, distance) in enumerate(zip(cube.labelsets, cube.distances, strict=True), 1)
    ]
    title = f"{cube.paper}, figure {cube.figure}: {cube.title}; p = ({p})"
    page.print_table(title, ("", "label set", "Dy"), rows, left=2)


def _print_pairs(page: _console.Page, pairs: nearlabel.papers.DistancePairs) -> None:
    """Print both distances and the wrong labels of each pair, and which are marked."""
    values = zip(pairs.row, pairs.dx, pairs.dy, pairs.loss, strict=True)
    rows = [
        (pairs.remark(place), str(row), f"{dx:.4f}", f"{dy:.4f}", str(loss))
        for place, (row, dx, dy, loss) in enumerate(values)
    ]
    title = f"{pairs.paper}, figure {pairs.figure}: {pairs.title}; row {pairs.query} of {pairs.dataset}"
    page.print_table(title, ("", "row of T1", "Dx", "Dy", "wrong labels"), rows, left=1)


def _marks(cells: Sequence[nearlabel.papers.PrintedCell]) -> list[str]:
    """Return a mark for each cell whose printed number cannot be right: (a), (b) and so on."""
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    return [f"({next(letters)})" if cell.remark else "" for cell in cells]


def _row(cell: nearlabel.papers.PrintedCell, mark: str, decimals: int) -> tuple[str, ...]:
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
