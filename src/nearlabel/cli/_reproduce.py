"""``nearlabel reproduce``: compare the printed tables of a paper with our own numbers."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path

from nearlabel.cli import _console
from nearlabel.cli._comparison import curves
from nearlabel.cli._reproduced import Part, print_origin, print_part
from nearlabel.metrics.evaluation import title_of
from nearlabel.papers import Curve, DistancePairs, LabelCube, Paper, PrintedCell, PrintedRelation
from nearlabel.plots import DoubleDistancesDisplay, LabelCubeDisplay, NeighborsPanelsDisplay, check_figure_file

_TITLE_WIDTH = 70  # letters of a line above a figure
# The columns of CSV, each once: of cells, of rankings and of orders.
_KINDS = ("table", "ranking", "figure", "row")
_OF_RANKINGS = ("mean_rank", "statistic", "p_value", "n_pairs")


def main(arguments: argparse.Namespace) -> None:
    """Reproduce the tables, rankings and figures asked for, or all of them."""
    with _console.progress_bar("folds") as progress:
        paper = Paper(
            arguments.paper,
            methods=dict(arguments.method),
            metrics=dict(arguments.metric),
            out=arguments.out,
            n_workers=arguments.jobs,
            progress=progress,
            quick=arguments.quick,
        )
        tables, rankings, numbers = _wanted(arguments, paper)
        files = _figure_files(arguments, paper, numbers) if arguments.out or arguments.figure else []
        parts: list[Part] = [paper.reproduce_table(number) for number in tables]
        parts += [paper.reproduce_ranking(number) for number in rankings]
        figures = [paper.reproduce_figure(number) for number in numbers]
    for figure, file in zip(figures, files, strict=False):
        _draw(figure, file)
    _print(paper, [*parts, *figures], arguments.format, quick=arguments.quick)
    for file in files if arguments.format == "table" else ():
        _console.print_text(f"Figure: {file}")


def _wanted(arguments: argparse.Namespace, paper: Paper) -> list[Sequence[str]]:
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


def _print(paper: Paper, parts: Sequence[Part], format_: str, *, quick: bool) -> None:
    if quick and paper.left_out and format_ in ("json", "csv"):
        _console.print_notes([_omissions(paper.left_out)])
    if format_ == "json":
        _console.print_json([part.as_dict() for part in parts])
    elif format_ == "csv":
        rows = [row for part in parts for row in part.rows()]
        _console.print_csv([{column: _csv_cell(row.get(column)) for column in _columns()} for row in rows])
    else:
        page = _console.MARKDOWN if format_ == "markdown" else _console.SCREEN
        if page is _console.MARKDOWN:
            print_origin(page, paper, sys.argv[1:])
        if paper.left_out and quick:
            page.print_text(_omissions(paper.left_out))
        for part in parts:
            print_part(page, part)


def _csv_cell(value: object) -> object:
    return json.dumps(value) if isinstance(value, dict | tuple) else value


def _figure_files(arguments: argparse.Namespace, paper: Paper, numbers: Sequence[str]) -> list[Path]:
    """Return where figures are drawn; raise OSError or ImportError, before anything is run, if they cannot be."""
    folder = arguments.out or Path()
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"{paper.name}-figure{number}.png" for number in numbers]
    for file in files:
        check_figure_file(file, name="--out")
    return files


def _columns() -> tuple[str, ...]:
    """Return the columns of CSV: what a row is of, then the fields of cells, of rankings and of orders."""
    of_cells, of_orders = ([field.name for field in fields(kind)] for kind in (PrintedCell, PrintedRelation))
    return tuple(dict.fromkeys((*_KINDS, *of_cells, *_OF_RANKINGS, *of_orders)))


def _draw(figure: Curve | LabelCube | DistancePairs, file: Path) -> None:
    _display(figure).write(file, title="\n".join(textwrap.wrap(figure.title, _TITLE_WIDTH)))


def _display(
    figure: Curve | LabelCube | DistancePairs,
) -> LabelCubeDisplay | DoubleDistancesDisplay | NeighborsPanelsDisplay:
    """Return a figure in the form in which it is drawn."""
    if isinstance(figure, LabelCube):
        return LabelCubeDisplay(figure.probabilities, figure.labelsets)
    if isinstance(figure, DistancePairs):
        return DoubleDistancesDisplay(figure.dx, figure.dy, figure.loss, marks=figure.marks)
    return NeighborsPanelsDisplay({title_of(figure.metric): curves(figure.series)})
