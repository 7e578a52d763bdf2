"""Print tables, JSON and CSV on standard output, progress and notes on standard error."""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import math
import re
import shutil
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from nearlabel.utils.messages import AdviceWarning, Progress, listening
from nearlabel.utils.naming import import_optional

FORMATS = ("table", "json", "csv")
PAGE_FORMATS = (*FORMATS, "markdown")  # of commands whose output is a page of documentation
_OF_RICH = ("table", "text")
_RICH = {"extra": "cli", "purpose": "The command line"}
_QUIET = ContextVar("_QUIET", default=False)


def add_format_option(parser: argparse.ArgumentParser) -> None:
    """Add --format, for commands that print tables."""
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")


def check_format(name: str) -> None:
    """Raise ImportError if a format needs a library that is not installed: before the work is done."""
    if name in _OF_RICH:
        import_optional("rich.table", **_RICH)


def print_markdown(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> None:
    """Print a title and a table as Markdown."""
    ruler = ["---" if number < left else "---:" for number in range(len(columns))]
    cells = [[escape_line(cell).replace("|", "\\|") for cell in row] for row in (columns, ruler, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    sys.stdout.write("\n".join([f"**{escape_line(title)}**", "", *lines, "", ""]))


def print_paragraph(text: str) -> None:
    """Print a line of prose as a paragraph of Markdown."""
    if text:
        sys.stdout.write(escape_controls(text) + "\n\n")


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> None:
    """Print a title, unless it is empty, and a table.

    The first `left` columns are left-aligned, the others right-aligned. In a narrow terminal the cells of the former
    are folded; those of the latter are not, since a number must stay in one piece.
    """
    table = import_optional("rich.table", **_RICH).Table(box=import_optional("rich.box", **_RICH).SIMPLE_HEAD)
    lines = [tuple(map(escape_line, line)) for line in (columns, *rows)]
    of_columns = list(zip(*lines, strict=True))
    headers = [column[0] for column in of_columns]
    if _table_width(of_columns) > width():
        headers[left:] = [_compact(column) for column in of_columns[left:]]
    for number, header in enumerate(headers):
        is_left = number < left
        table.add_column(header, justify="left" if is_left else "right", overflow="fold", no_wrap=not is_left)
    for line in lines[1:]:
        table.add_row(*line)
    console = _console()
    if title:
        console.print(escape_line(title), style="bold", highlight=False)
    console.print(table)


def width() -> int:
    """Return the width of the terminal in characters; for a file or pipe it is COLUMNS, or 80."""
    return shutil.get_terminal_size().columns


def least_width(columns: Iterable[Sequence[str]], *, left: int = 1) -> int:
    """Return the least width of a table, without folding, from its columns with their headers first."""
    columns = [tuple(map(escape_line, column)) for column in columns]
    compact = [(_compact(column), *column[1:]) for column in columns[left:]]
    return _table_width([*columns[:left], *compact])


def _table_width(columns: Iterable[Sequence[str]]) -> int:
    """Return the width of a table with the frame and the gaps that rich draws."""
    return 1 + sum(3 + max(len(line) for cell in column for line in cell.split("\n")) for column in columns)


def _compact(column: Sequence[str]) -> str:
    """Return the header of a column in two lines at most, hardly wider than the cells; an arrow stays with its word."""
    header, *cells = column
    least = max(map(len, ["-", *cells]))
    whole = header.replace(" ↑", "\xa0↑").replace(" ↓", "\xa0↓")
    wrapped = (textwrap.wrap(whole, n, break_long_words=False, break_on_hyphens=False) for n in count(least))
    return "\n".join(next(lines for lines in wrapped if len(lines) <= 2)).replace("\xa0", " ")


def print_text(text: str) -> None:
    """Print prose, wrapped to the width of the terminal."""
    _console().print(escape_controls(text), highlight=False)


def print_lines(text: str) -> None:
    """Print text without wrapping its lines."""
    sys.stdout.write(escape_controls(text) + "\n")


class Page(NamedTuple):
    """The format of tables and prose: terminal or Markdown."""

    print_table: Callable[..., None]
    print_text: Callable[[str], None]


SCREEN = Page(print_table, print_text)
MARKDOWN = Page(print_markdown, print_paragraph)


def print_json(value: Any) -> None:
    """Print standard JSON: NaN and infinity become null."""
    sys.stdout.write(json.dumps(_finite(value), indent=1) + "\n")


def print_csv(rows: Sequence[Mapping[str, Any]], *, columns: Sequence[str] | None = None) -> None:
    """Print rows with the same keys as CSV with a header; with `columns`, there may be no row."""
    writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0] if columns is None else columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def print_notes(notes: Iterable[str]) -> None:
    """Print each note as one line on standard error; a full disk loses the note, and nothing else."""
    for note in notes:
        with suppress(OSError):
            sys.stderr.write(f"nearlabel: {escape_line(' '.join(line.strip() for line in note.splitlines()))}\n")


@contextmanager
def quietly(quiet: bool) -> Iterator[None]:
    """Hide progress bars and advice on data if `quiet`."""
    token = _QUIET.set(quiet)
    try:
        yield
    finally:
        _QUIET.reset(token)


def is_quiet() -> bool:
    """Return whether only results and errors are printed."""
    return _QUIET.get()


@contextmanager
def warnings_in_one_line() -> Iterator[None]:
    """Print warnings as notes on standard error, each once; advice is not printed if quiet."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        if str(message) not in shown and not (is_quiet() and issubclass(category, AdviceWarning)):
            print_notes([str(message)])
        shown.add(str(message))

    with warnings.catch_warnings():
        # Commands match columns by name and pass plain arrays in the order of the model.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.showwarning = show
        yield


@contextmanager
def progress_bar(what: str) -> Iterator[Progress]:
    """Show progress and the time left on standard error, if it is a terminal and not `quietly`.

    Within another bar it is not shown: there is one bar at a time.
    """
    if _QUIET.get() or not sys.stderr.isatty():
        with listening(None):  # the outer bar must not show the end of an inner part
            yield lambda done, total: None
        return
    progress_module = import_optional("rich.progress", **_RICH)
    escape = import_optional("rich.markup", **_RICH).escape
    console, left = import_optional("rich.console", **_RICH).Console(stderr=True), _Left()
    columns = (*progress_module.Progress.get_default_columns()[:-1], _time_left_column(progress_module, left))
    with progress_module.Progress(*columns, console=console, transient=True) as bars:
        bar = _Bar(partial(bars.update, bars.add_task(escape(escape_line(what)), total=None)))
        with listening(bar.hear, left.expect), quietly(True):
            yield bar.tell


class _Left:
    """The time left by the work's own estimate, which runs down until the next one."""

    def __init__(self) -> None:
        self._end: float | None = None

    def expect(self, seconds: float) -> None:
        """Note the time left."""
        self._end = time.monotonic() + seconds

    def __bool__(self) -> bool:
        return self._end is not None

    def __str__(self) -> str:
        left = 0.0 if self._end is None else max(self._end - time.monotonic(), 0.0)
        return str(dt.timedelta(seconds=math.ceil(left)))


def _time_left_column(progress_module: Any, left: _Left) -> Any:
    """Return rich's column of the remaining time, or the estimate of the work itself if there is one.

    rich extrapolates the pace of the last half minute. In a long run no part may end in that time, and parts differ.
    """
    text = import_optional("rich.text", **_RICH).Text

    class TimeLeft(progress_module.TimeRemainingColumn):
        def render(self, task: Any) -> Any:
            return text(f"{left} left", style="progress.remaining") if left else super().render(task)

    return TimeLeft()


class _Bar:
    """A progress bar over parts of the work; the current part counts by the search or reading that is farthest."""

    def __init__(self, show: Callable[..., Any]) -> None:
        self._show = show
        self._done, self._total, self._share = 0, 1, 0.0

    def tell(self, done: int, total: int) -> None:
        """Show the number of finished parts."""
        self._done, self._total, self._share = done, total, 0.0
        self._show(completed=done, total=total)

    def hear(self, share: float) -> None:
        """Show the progress of a search or a reading in the present part, which has other work after it."""
        self._share = max(self._share, 0.99 * share)
        self._show(completed=min(self._done + self._share, self._total), total=self._total)


def _console() -> Any:
    console = import_optional("rich.console", **_RICH).Console
    # In a file or pipe nothing is folded: users search it by line. Markup is off, since names may look like it ("[b]").
    return console(width=width() if sys.stdout.isatty() else 10_000, markup=False, emoji=False)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Escape control characters in text from files, which could move, colour or overwrite what a terminal shows.

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")  # also those of text direction
_CONTROLS_IN_LINE = re.compile(rf"[\t\n]|{_CONTROLS.pattern}")


def escape_controls(text: str) -> str:
    r"""Return text with control characters as ``\x1b``; newlines and tabs stay."""
    return _CONTROLS.sub(_escaped, text)


def escape_line(text: str) -> str:
    r"""Return one line of text with control characters, newlines and tabs as ``\x1b``, ``\n`` and ``\t``."""
    return _CONTROLS_IN_LINE.sub(_escaped, text)


def _escaped(control: re.Match[str]) -> str:
    return control[0].encode("unicode_escape").decode("ascii")


# Tables of methods and metrics: a row for each method, and as many metrics side by side as the width allows.


class MethodTable(NamedTuple):
    """A title, the cells of each method, one for each metric, and the header of the methods."""

    title: str
    cells: Mapping[str, Sequence[str]]
    of: str = "method"

    def columns(self, headers: Sequence[str], numbers: Sequence[int]) -> list[tuple[str, ...]]:
        """Return the column of the methods and those of some metrics, each with its header first."""
        of_metrics = [(headers[n], *(cells[n] for cells in self.cells.values())) for n in numbers]
        return [(self.of, *self.cells), *of_metrics]


def print_method_tables(tables: Sequence[MethodTable], headers: Sequence[str], *, every: bool) -> int:
    """Print tables with the same metrics as columns, and return how many metrics are not printed.

    Metrics that do not fit next to the others are printed below them if `every` metric is wanted, else left out.
    """
    blocks = _blocks(tables, headers)
    printed = blocks if every else blocks[:1]
    for table in tables:
        for number, block in enumerate(printed):
            first, *others = zip(*table.columns(headers, block), strict=True)
            print_table("" if number else table.title, first, others)
    return len(headers) - sum(map(len, printed))


def _blocks(tables: Sequence[MethodTable], headers: Sequence[str]) -> list[list[int]]:
    """Divide the columns so that each part fits the width in every table."""
    blocks: list[list[int]] = [[]]
    for number in range(len(headers)):
        wider = [*blocks[-1], number]
        needed = max(least_width(table.columns(headers, wider)) for table in tables)
        if blocks[-1] and needed > width():
            blocks.append([number])
        else:
            blocks[-1] = wider
    return blocks
