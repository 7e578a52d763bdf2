"""What is reproduced of a paper, as a page: on the screen, or in Markdown."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import platform
from collections.abc import Sequence

from nearlabel import __version__
from nearlabel.cli import _console
from nearlabel.cli._comparison import title_of
from nearlabel.papers import Curve, Paper, PrintedCell, RankedMeasure, Ranking, ReproducedOrder, Reproduction

_COLUMNS = ("data set", "method", "k", "measure", "printed", "ours", "difference", "ours, read otherwise")
_N_NAMES = 4  # the columns before the figures
_LIBRARIES = ("numpy", "scipy", "scikit-learn")


def print_part(page: _console.Page, part: Reproduction | ReproducedOrder | Ranking | Curve) -> None:
    """Print a table, an order, a ranking or a figure."""
    if isinstance(part, Reproduction):
        _print_table(page, part)
    elif isinstance(part, ReproducedOrder):
        _print_order(page, part)
    elif isinstance(part, Ranking):
        _print_ranking(page, part)
    else:
        _print_figure(page, part)


def print_origin(page: _console.Page, paper: Paper, arguments: Sequence[str]) -> None:
    """Print where the figures that follow come from: the command, the day, the versions, how rows were dealt out."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in _LIBRARIES)
    page.print_text(f"# {paper.name}: {paper.title}")
    page.print_text(paper.reference)
    page.print_text(
        f"Made by `nearlabel {' '.join(arguments)}` on {dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, with nearlabel"
        f" {__version__}, {versions}, Python {platform.python_version()}. What draws at random has the seed 0; the"
        f" shuffles of cross-validations have the seeds {paper.seeds}."
    )


def _print_table(page: _console.Page, table: Reproduction) -> None:
    rows = [_row(*pair, table.decimals) for pair in zip(table.cells, _marks(table.cells), strict=True)]
    used = [column for column in range(len(_COLUMNS)) if any(row[column] for row in rows)]
    page.print_table(
        f"{table.paper}, table {table.table}: {table.title}",
        [_COLUMNS[column] for column in used],
        [[row[column] for column in used] for row in rows],
        left=sum(column < _N_NAMES for column in used),
    )
    differences = table.largest_differences().items()
    for mark, cell in zip(_marks(table.cells), table.cells, strict=True):
        if mark:
            page.print_text(f"{mark} {cell.remark}.")
    largest = ", ".join(f"{metric} {_number(value, table.decimals + 1)}" for metric, value in differences)
    if table.cells:
        page.print_text(f"Largest differences: {largest}.")
    for note in table.notes:
        page.print_text(f"Note: {note}")
    page.print_text("")


def _print_order(page: _console.Page, order: ReproducedOrder) -> None:
    testable = any(relation.of_printed is not None for relation in order.relations)
    rows = [
        (title_of(r.metric), r.better, r.worse, _yes(r.printed), *((_yes(r.of_printed),) if testable else ()),
         _yes(r.ours), "" if r.difference is None else _number(r.difference, 4, sign="+"),
         "" if r.p_value is None else f"{r.p_value:.2g}")
        for r in order.relations
    ]  # fmt: skip
    of_printed = ("by its figures",) if testable else ()
    page.print_table(
        f"{order.paper}, table {order.table}: {order.title}",
        ("measure", "better", "worse", "printed", *of_printed, "ours", "difference", "p"),
        rows,
        left=3,
    )
    scores = [
        (method, f"{score.printed:+d}", *((f"{score.of_printed:+d}",) if testable else ()), f"{score.ours:+d}")
        for method, score in order.scores.items()
    ]
    page.print_table("Total order: wins less losses", ("method", "printed", *of_printed, "ours"), scores)
    agree = sum(relation.printed and relation.ours for relation in order.relations)
    printed = sum(relation.printed for relation in order.relations)
    others = sum(relation.ours for relation in order.relations) - agree
    page.print_text(f"Of {printed} printed relations {agree} come out; {others} others do.")
    for note in order.notes:
        page.print_text(f"Note: {note}")
    page.print_text("")


def _yes(value: bool | None) -> str:
    return "yes" if value else ""


def _print_ranking(page: _console.Page, ranking: Ranking) -> None:
    page.print_text(f"{ranking.paper}, ranking {ranking.ranking}: {ranking.title}")
    for measure in ranking.measures:
        _print_measure(page, measure)
    rows = [
        (test.dataset, test.metric, " - ".join(test.methods), f"{test.difference:+.4f}", f"{test.statistic:.2f}",
         f"{test.p_value:.2g}", str(test.n_pairs))
        for test in ranking.tests
    ]  # fmt: skip
    columns = ("data set", "measure", "methods", "difference", "t", "p", "folds")
    page.print_table(
        "Paired t-tests over the folds, corrected for their overlap; t > 0: the first is better",
        columns,
        rows,
        left=3,
    )
    for note in ranking.notes:
        page.print_text(f"Note: {note}")
    page.print_text("")


def _print_measure(page: _console.Page, measure: RankedMeasure) -> None:
    """Print a measure's table, the methods in the order of their mean ranks."""
    methods = sorted(measure.mean_ranks, key=lambda method: measure.mean_ranks[method])
    rows = [(dataset, *(f"{values[m]:.4f}" for m in methods)) for dataset, values in measure.values.items()]
    rows.append(("mean rank", *(f"{measure.mean_ranks[m]:.2f}" for m in methods)))
    claim = f" (the paper: {measure.claim})" if measure.claim else ""
    page.print_table(f"{measure.metric}{claim}", ("data set", *methods), rows)


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


def _print_figure(page: _console.Page, curve: Curve) -> None:
    numbers = list(next(iter(curve.series.values())))
    rows = [(str(k), *(f"{line[k]:.4f}" for line in curve.series.values())) for k in numbers]
    page.print_table(f"{curve.paper}, figure {curve.figure}: {curve.title}", ("k", *curve.series), rows)
    for note in curve.notes:
        page.print_text(f"Note: {note}")
