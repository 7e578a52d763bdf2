"""The terminal: tables, JSON and CSV, progress and notes; DATA from standard input, and errors as messages."""

from __future__ import annotations

import argparse
import csv
import errno
import json
import math
import re
import shlex
import shutil
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import nearlabel
from nearlabel.cli._arguments import OF_TABLES, as_text
from nearlabel.utils import characters
from nearlabel.utils.characters import escape_line
from nearlabel.utils.messages import AdviceWarning, ParameterError, ParameterWarning
from nearlabel.utils.messages import print_notes as print_notes  # commands ask this module for all that they print
from nearlabel.utils.naming import import_optional
from nearlabel.utils.progress import hiding_progress
from nearlabel.utils.progress import progress_bar as progress_bar

FORMATS = ("table", "json", "csv")
PAGE_FORMATS = (*FORMATS, "markdown", "latex")  # of commands whose tables are for a page or a paper
INTERRUPTED = 130  # the exit code, as shells have it for SIGINT
_OF_RICH = ("table", "text")
_RICH = {"extra": "cli", "purpose": "The command line"}
_QUIET = ContextVar("_QUIET", default=False)


def add_format_option(parser: argparse.ArgumentParser, formats: Sequence[str] = FORMATS) -> None:
    """Add --format, for commands that print tables."""
    parser.add_argument("--format", choices=formats, default="table", help="default: table")


def check_format(name: str) -> None:
    """Raise ImportError if a format needs a library that is not installed: before the work is done."""
    if name in _OF_RICH:
        import_optional("rich.table", **_RICH)


def print_markdown(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> None:
    """Print a title and a table as Markdown."""
    ruler = ["---" if number < left else "---:" for number in range(len(columns))]
    cells = [[escape_line(cell).strip().replace("|", "\\|") for cell in row] for row in (columns, ruler, *rows)]
    lines = ["| " + " | ".join(row) + " |" for row in cells]
    sys.stdout.write("\n".join([f"**{escape_line(title)}**", "", *lines, "", ""]))


def print_paragraph(text: str) -> None:
    """Print a line of prose as a paragraph of Markdown."""
    if text:
        sys.stdout.write(escape_line(text) + "\n\n")


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
    """Print a line of prose, wrapped to the width of the terminal."""
    _console().print(escape_line(text), highlight=False)


def print_lines(*lines: str) -> None:
    """Print lines without wrapping them: what names in them have of ends of lines is escaped."""
    sys.stdout.writelines(escape_line(line) + "\n" for line in lines)


_LATEX = str.maketrans(
    {character: f"\\{character}" for character in "{}$&#%_"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    | {"[": "{[}", "*": "{*}"}  # after the end of a line they would be its options
    | {"±": r"$\pm$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "–": "--"}
)


def print_latex(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> None:
    """Print a table as a tabular of LaTeX that needs no package; the title is a comment."""
    print_comment(title)
    header, *lines = (" & ".join(map(_latex, row)) + r" \\" for row in (columns, *rows))
    kinds = "l" * left + "r" * (len(columns) - left)
    table = (rf"\begin{{tabular}}{{{kinds}}}", r"\hline", header, r"\hline", *lines, r"\hline", r"\end{tabular}")
    sys.stdout.write("\n".join([*table, "", ""]))


def _latex(cell: str) -> str:
    """Return a cell as LaTeX prints it; the sign of a number is a minus."""
    return re.sub(r"^-(?=\d)", "$-$", escape_line(cell).strip().translate(_LATEX))


def print_comment(text: str) -> None:
    """Print a line of prose as a comment of LaTeX."""
    if text:
        sys.stdout.write(f"% {escape_line(text)}\n")


class Page(NamedTuple):
    """The format of tables and prose: terminal, Markdown or LaTeX; of these the terminal has a width."""

    print_table: Callable[..., None]
    print_text: Callable[[str], None]


SCREEN: Page = Page(print_table, print_text)
MARKDOWN = Page(print_markdown, print_paragraph)
LATEX = Page(print_latex, print_comment)
PAGES = {"table": SCREEN, "markdown": MARKDOWN, "latex": LATEX}  # by their formats


def print_json(value: Any) -> None:
    """Print standard JSON: NaN and infinity become null."""
    sys.stdout.write(json.dumps(finite(value), indent=1) + "\n")


def print_csv(
    rows: Sequence[Mapping[str, Any]], *, columns: Sequence[str] | None = None, file: TextIO | None = None
) -> None:
    """Print rows with the same keys as CSV with a header, to a file or the screen; `columns` allow for no row."""
    names = list(rows[0] if columns is None else columns)
    writer = csv.DictWriter(file or sys.stdout, fieldnames=names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


@contextmanager
def quietly(quiet: bool) -> Iterator[None]:
    """Hide progress bars and advice on data if `quiet`."""
    token = _QUIET.set(quiet)
    try:
        with hiding_progress(quiet):
            yield
    finally:
        _QUIET.reset(token)


def is_quiet() -> bool:
    """Return whether only results and errors are printed."""
    return _QUIET.get()


@contextmanager
def warnings_in_one_line(arguments: argparse.Namespace) -> Iterator[None]:
    """Print warnings as notes on standard error, each once, with options for parameters; quiet hides advice."""
    shown: set[str] = set()

    def show(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
        if str(message) not in shown and not (is_quiet() and issubclass(category, AdviceWarning)):
            named = message.message(partial(_show, arguments)) if isinstance(message, ParameterWarning) else message
            print_notes([str(named)])
        shown.add(str(message))

    with warnings.catch_warnings():
        # Commands match columns by name and pass plain arrays in the order of the model.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.filterwarnings("always", category=ParameterWarning)  # every guess is always shown
        warnings.showwarning = show
        yield


def _console() -> Any:
    console = import_optional("rich.console", **_RICH).Console
    # In a file or pipe nothing is folded: users search it by line. Markup is off, since names may look like it ("[b]").
    return console(width=width() if sys.stdout.isatty() else 10_000, markup=False, emoji=False)


def finite(value: Any) -> Any:
    """Return plain data with null for numbers that JSON does not have, and without half characters."""
    if isinstance(value, Mapping):
        return {key: finite(v) for key, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, str):
        return characters.shown(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


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


def print_method_tables(page: Page, tables: Sequence[MethodTable], headers: Sequence[str], *, every: bool) -> int:
    """Print tables with the same metrics as columns, and return how many metrics are not printed.

    On the screen, metrics that do not fit next to the others are printed below them if `every` metric is wanted, else
    left out.
    """
    blocks = _blocks(tables, headers) if page is SCREEN else [[*range(len(headers))]]
    printed = blocks if every else blocks[:1]
    for table in tables:
        for number, block in enumerate(printed):
            first, *others = zip(*table.columns(headers, block), strict=True)
            page.print_table("" if number else table.title, first, others)
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


# DATA from standard input, kept in a file while a command runs: readers go through a file more than once.

STDIN = "-"
INPUT_FORMATS = ("arff", "csv", "json", "jsonl", "npz", "parquet", "svm", "tsv", "txt", "xlsx")
_FOLDERS = "nearlabel-stdin-"


@contextmanager
def spooled(arguments: argparse.Namespace) -> Iterator[None]:
    """Replace ``-`` as DATA by a file while a command runs."""
    wanted = getattr(arguments, "input_format", None)
    if getattr(arguments, "data", None) == STDIN:
        with tempfile.TemporaryDirectory(prefix=_FOLDERS) as folder:
            arguments.data = str(_written(Path(folder), wanted))
            yield
    elif wanted is None:
        yield
    else:
        raise ValueError(f"--input-format must go with {STDIN} as DATA, got {arguments.data}. Hint: rename the file.")


def _written(folder: Path, wanted: str | None) -> Path:
    """Return a file with the content of standard input; its suffix is that of the requested or detected format."""
    file = folder / "stdin"
    try:
        with file.open("wb") as out:
            if sys.stdin is not None:  # it may be closed
                with progress_bar("reading standard input"):
                    shutil.copyfileobj(sys.stdin.buffer, out)
    except OSError as error:  # a full disk: the system's error names no file
        raise OSError(error.errno, error.strerror, f"temporary folder {folder.parent}") from error
    if not file.stat().st_size:
        raise ValueError("standard input must contain data, got nothing.")
    return file.rename(
        file.with_suffix(nearlabel.datasets.tables.suffix_of_content(file) if wanted is None else f".{wanted}")
    )


def read_bytes() -> bytes:
    """Return all that standard input gives, whose encoding is not the terminal's to choose; nothing if it is closed."""
    return b"" if sys.stdin is None else sys.stdin.buffer.read()


def is_spooled(arguments: argparse.Namespace) -> bool:
    """Return whether DATA is the file that replaced standard input."""
    return Path(getattr(arguments, "data", None) or "").parent.name.startswith(_FOLDERS)


def without_folder(message: str, arguments: argparse.Namespace) -> str:
    """Return a message that names standard input instead of the file that replaced it."""
    return message.replace(str(Path(arguments.data)), "standard input") if is_spooled(arguments) else message


# Errors of the library as messages of the command line, which name options instead of parameters.

# Parameters of the library and the options for them, of which a command has at most one. Parameters that also occur in
# the specification of a method or search, such as `metric` and `thresholds`, keep their names.
_SAME = (*OF_TABLES, "column", "metrics", "out_of_range", "state", "time_limit", "trusted")
_OPTIONS = {name: (name,) for name in _SAME} | {
    "corrections": ("apply",), "cv": ("cv", "validate"), "dates": ("date",), "file": ("figure",), "id_column": ("id",),
    "method": ("method", "methods"), "methods": ("methods", "method"), "n_cells": ("n",), "n_neighbors": ("k",),
    "existing='add'": ("force",), "existing='replace'": ("replace",), "existing='skip'": ("skip_existing",),
    "n_rows": ("rows",), "n_workers": ("jobs",), "row_names": ("id", "ignore"), "scale": ("scale", "scales"),
}  # fmt: skip
_OF_FIT = {"categorical": "fit --categorical", "dates": "fit --date", "text": "fit --text"}  # of hints elsewhere
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def message_of(error: Exception, arguments: argparse.Namespace) -> str:
    """Return the message for an error of a command; that of a file that cannot be opened or written begins with it."""
    if isinstance(error, OSError) and error.strerror:
        file = error.filename
        if file is None and error.errno in _NO_SPACE:  # the system does not name what was written
            file = getattr(arguments, "file", None) or getattr(arguments, "out", None) or "standard output"
        if file is not None:
            return " ".join([f"{file}: {error.strerror}.", *getattr(error, "__notes__", [])])
    if isinstance(error, MemoryError) and str(error):
        return f"not enough memory: {str(error).rstrip('.')}."
    if isinstance(error, ParameterError):
        return error.message(partial(_show, arguments))
    subject, must, rest = str(error).partition(" must ")  # every message begins with the parameter that must change
    return _option(subject, arguments) + must + rest or "not enough memory."


def _show(arguments: argparse.Namespace, name: str, value: Any) -> str:
    """Return ``--ignore a,b`` for the parameter `ignore` and the value ``["a", "b"]``, as a shell takes it."""
    option = _option(name, arguments)
    if value is None:
        return option
    if option == name:
        option = _OF_FIT.get(name, name)
    if isinstance(value, str):
        return f"{option} {shlex.quote(value)}"
    return f"{option} {shlex.quote(as_text(tuple(value)))}"


def _option(parameter: str, arguments: argparse.Namespace) -> str:
    """Return the option of the present command for a parameter, or the parameter if there is no option."""
    known = _OPTIONS.get(parameter, ())
    if parameter == "row_names" and getattr(arguments, "file", "") is None:  # tune --id must go with --out
        known = known[1:]
    options = (option for option in known if option in arguments)
    return next((f"--{option.replace('_', '-')}" for option in options), parameter)


def options_named(parameter: str) -> list[str]:
    """Return the options, of any command, for a parameter of the library."""
    return [f"--{name.replace('_', '-')}" for name in _OPTIONS.get(parameter.replace("-", "_"), ())]
