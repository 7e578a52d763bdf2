"""What was understood of DATA, in a paragraph and three rows, and with --dry-run what would be fitted to it."""

from __future__ import annotations

import argparse
import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import nearlabel
from nearlabel.cli import _console, _data
from nearlabel.utils.characters import escape_line

# Text, since the help page loads no room.
Dataset: TypeAlias = "nearlabel.datasets.Dataset"

_ROWS = 3
_NAMED = 4  # names of a list in the paragraph
_LONGEST, _SHORTER = 30, 22  # characters of a name or a cell, in the paragraph and in a row
_MOST_IN_ROW = 40  # features and labels, which may fit a wide terminal
_NOUNS = {  # of one feature of a kind, and of several
    "number": ("number", "numbers"),
    "flag": ("yes/no", "yes/no"),
    "category": ("category", "categories"),
    "code": ("numbered category", "numbered categories"),
    "text": ("text", "texts"),
    "date": ("date", "dates"),
}
_HELD_OUT = {"loo": "leave-one-out", "none": ""}
_TITLES = {  # properties of a plan
    "methods": "method",
    "n_neighbors": "neighbours (k)",
    "scales": "scaling",
    "distances": "distance",
    "searches": "search",
    "thresholds": "thresholds",
}


def facts_of(arguments: argparse.Namespace, data: Dataset) -> dict[str, Any]:
    """Return the paragraph, the columns left out and the first rows as plain data."""
    from nearlabel.datasets.glance import first_rows

    rows = [
        {
            "features": {name: _plain(value) for name, value in row.features.first},
            "more_features": row.features.n - len(row.features.first),
            "labels": list(row.labels.first),
            "more_labels": row.labels.n - len(row.labels.first),
            "unknown_labels": list(row.unknown.first),
            "more_unknown_labels": row.unknown.n - len(row.unknown.first),
        }
        for row in first_rows(data, _ROWS, _MOST_IN_ROW)
    ]
    return {"in_words": paragraph(arguments, data), "left_out": _left_out(arguments), "first_rows": rows}


def print_understood(arguments: argparse.Namespace, data: Dataset) -> None:
    """Print the paragraph and the first rows."""
    _console.print_text(paragraph(arguments, data))
    _console.print_lines("", *_lines_of_rows(data), "")


# The paragraph.


def paragraph(arguments: argparse.Namespace, data: Dataset) -> str:
    """Return what was understood of DATA in a few sentences; the option follows each guess."""
    groups = "" if data.groups is None else f" in {_counted(len(set(data.groups.tolist())), 'group')} (--groups)"
    left_out = _left_out(arguments)
    sentences = [
        f"Data set {data.name}: {_counted(data.X.shape[0], 'row')}{groups}",
        _features(data),
        _missing(data),
        _labels(arguments, data),
        *_of_labels_in_rows(data),
        f"Left out: {_listed(left_out[:_NAMED], len(left_out))}" if left_out else "",
        _guessed_format(arguments),
    ]
    return " ".join(f"{sentence}." for sentence in sentences if sentence)


def _features(data: Dataset) -> str:
    """Return how many features there are of each kind, and the first ones."""
    from nearlabel.datasets.glance import features_by_kind

    groups = []
    for kind, names, n_columns in features_by_kind(data, _NAMED):
        columns = f" in {_counted(n_columns, 'column')}" if n_columns != names.n else ""
        noun = _NOUNS[kind][names.n != 1]
        groups.append(f"{names.n:,} {noun} ({_listed(names.first, names.n)}){columns}")
    return f"{_counted(len(data.feature_names), 'feature')}: {', '.join(groups)}"


def _missing(data: Dataset) -> str:
    from nearlabel.datasets.glance import n_missing_features

    n_missing = n_missing_features(data)
    is_missing = "is" if n_missing == 1 else "are"
    return f"{_counted(n_missing, 'cell')} of features {is_missing} missing (--impute in fit)" if n_missing else ""


def _labels(arguments: argparse.Namespace, data: Dataset) -> str:
    """Return how many labels there are, the first ones, and where and how DATA has them."""
    names = data.label_names
    labels = f"{_counted(len(names), 'label')} ({_listed(names[:_NAMED], len(names))})"
    if not _data.is_file(arguments.data):
        return labels
    if arguments.labels_column is not None:
        return f"{labels}, {_in_column(arguments)}"
    if arguments.labels is None and arguments.labels_prefix is None:
        return f"{labels}, as the file declares them"
    return f"{labels}, a column each{_written(arguments, names)}"


def _in_column(arguments: argparse.Namespace) -> str:
    """Return the columns of the tags, and how they have them."""
    from nearlabel.datasets.glance import written_labels

    file, named = Path(arguments.labels_file or arguments.data), arguments.labels_column
    columns = (named,) if isinstance(named, str) else tuple(named)
    guess = nearlabel.datasets.tables.guess_separator_of(file, columns)
    separator = arguments.labels_separator or guess or nearlabel.datasets.tables.SEPARATOR
    noun = "column" if len(columns) == 1 else "columns"
    words = f"in the {noun} {_listed(columns[:_NAMED], len(columns))}"
    of_file = written_labels(file, columns, separator, most=1)
    if of_file.cells.first:
        words += f", written as {_cell(of_file.cells.first[0], 2 * _LONGEST)}"
    if arguments.join_by is not None:
        words += f", of all rows of one {_short(arguments.join_by)}"
    if not of_file.is_split:
        return words
    is_guess = arguments.labels_separator is None and separator == guess
    return f"{words}, separated by {separator!r}{' (a guess: --labels-separator sets another)' if is_guess else ''}"


def _written(arguments: argparse.Namespace, columns: Sequence[str]) -> str:
    """Return the distinct cells of columns of labels."""
    from nearlabel.datasets.glance import written_labels

    cells, has_empty, _ = written_labels(Path(arguments.labels_file or arguments.data), columns, None, most=_NAMED)
    shown = [str(cell) for cell in cells.first]
    known = f", written as {_listed(shown, cells.n)}" if shown else ""
    return f"{known}{' or empty' if has_empty else ''}"


def _of_labels_in_rows(data: Dataset) -> Iterator[str]:
    """Yield how many labels a row has, and how many label cells are unknown."""
    figures = nearlabel.labels.describe(data.Y)
    mean = f"{figures['cardinality']:.3g}"
    yield f"A row has {mean} {'label' if mean == '1' else 'labels'} on average"
    n_without, n_unknown = int(figures["rows_without_labels"]), int(figures.get("unknown_cells", 0))
    if n_without:
        yield f"{_counted(n_without, 'row')} {'has' if n_without == 1 else 'have'} none"
    if n_unknown:
        are = "label cell is" if n_unknown == 1 else "label cells are"
        yield f"{n_unknown:,} {are} unknown ({figures['unknown_share']:.1%})"


def _left_out(arguments: argparse.Namespace) -> list[str]:
    """Return the columns of DATA that are neither features nor labels."""
    groups = getattr(arguments, "groups", None)
    of_groups = [] if groups in (None, _data.DUPLICATES) else [groups]
    joined = [] if arguments.join_by is None else [arguments.join_by]
    return list(dict.fromkeys([*(arguments.ignore or ()), *of_groups, *joined]))


def _guessed_format(arguments: argparse.Namespace) -> str:
    """Return the format of standard input if it was guessed."""
    if not _console.is_spooled(arguments) or arguments.input_format is not None:
        return ""
    return f"Standard input is {Path(arguments.data).suffix[1:]} (a guess by its content: --input-format sets another)"


# The first rows.


def _lines_of_rows(data: Dataset) -> Iterator[str]:
    """Yield two lines for each row, of its features and of its labels, that fit the terminal."""
    from nearlabel.datasets.glance import first_rows

    width, more = _console.width(), "more (not 0)" if hasattr(data.X, "indptr") else "more"
    for number, row in enumerate(first_rows(data, _ROWS, _MOST_IN_ROW), start=1):
        start = f"row {number}: "
        pairs = [f"{_short(name, _SHORTER)}={_cell(value, _SHORTER)}" for name, value in row.features.first]
        yield start + (_fitted(pairs, row.features.n, width - len(start), more) or "all features are 0")
        yield f"{'-> ':>{len(start)}}{_labels_of_row(row, width - len(start))}"


def _labels_of_row(row: Any, room: int) -> str:
    """Return the labels that a row carries, and those that are unknown: how many, if their names do not fit."""
    carried, unknown = ([_short(name, _SHORTER) for name in of.first] for of in (row.labels, row.unknown))
    if not unknown:
        return _fitted(carried, row.labels.n, room, "more") or "none"
    number = f"{row.unknown.n:,} unknown"
    known = f"{_fitted(carried, row.labels.n, room - len(f'; {number}'), 'more')}; " if carried else ""
    named = f"{known}unknown: {', '.join(unknown)}"
    return named if len(unknown) == row.unknown.n and len(named) <= room else f"{known}{number}"


def _fitted(items: Sequence[str], n: int, room: int, more: str) -> str:
    """Return the first items in as many characters, at least one of them, and how many more of `n` there are."""
    best = ""
    for n_shown in range(1, len(items) + 1):
        rest = f" and {n - n_shown:,} {more}" if n_shown < n else ""
        text = f"{', '.join(items[:n_shown])}{rest}"
        if best and len(text) > room:
            break
        best = text
    return best


# With --dry-run: what would be fitted.


def add_dry_run_option(parser: argparse.ArgumentParser) -> None:
    """Add --dry-run."""
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="print what was understood of DATA and what would be tried and fitted, and write nothing; default: no",
    )


def print_plan(
    arguments: argparse.Namespace, data: Dataset, tried: Mapping[str, Any], *, n_fitted: int, test: Dataset | None
) -> None:
    """Print what was understood of DATA, and what would be tried and fitted; rows not fitted are held out.

    `tried` has tuples of methods, numbers of neighbours and so on.
    """
    n_held = data.X.shape[0] - n_fitted
    held_out = arguments.validate if "validate" in arguments else arguments.cv
    facts = {
        **{_TITLES[name]: _in_line(values) for name, values in tried.items()},
        "columns": f"{_data.counted(data.feature_kinds)}, by MixedFeaturesEncoder"
        if data.X.dtype.kind == "O"
        else None,
        "missing features": _data.imputation(arguments),
        "selected by": nearlabel.metrics.evaluation.title_of(arguments.metric),
        "evaluated by": _HELD_OUT.get(held_out, f"{held_out} folds"),
        "guarantee": "{} {:g}, by {} rows held out".format(*arguments.guarantee, n_held) if n_held else None,
        "test data": None if test is None else f"{test.name}, {_counted(test.X.shape[0], 'row')}",
        "time limit": f"{arguments.time_limit:g} seconds",
        "fitted to": None if arguments.file is None else _counted(n_fitted, "row"),
        "model": None if arguments.file is None else str(arguments.file),
    }
    rows = [(name, value) for name, value in facts.items() if value]
    if arguments.format == "json":
        _console.print_json(facts_of(arguments, data) | {"would_be_tried": dict(rows)})
    elif arguments.format == "csv":
        _console.print_csv([{"property": name, "value": value} for name, value in rows])
    else:
        print_understood(arguments, data)
        _console.print_table("Would be tried and fitted", ("property", "value"), rows, left=2)
        _console.print_text("Nothing was tried or written (--dry-run).")


def tried_by(tuning: nearlabel.experiments.Tuning) -> dict[str, tuple[Any, ...]]:
    """Return what a tuning tries."""
    numbers = tuning.n_neighbors
    specs = {name: nearlabel.experiments.MethodSpec.of(method) for name, method in tuning.methods.items()}
    has_neighbors = any(spec.has_neighbors for spec in specs.values())
    thresholds = (
        name.rpartition("@")[2] if spec.thresholds is not None else "the method's own" for name, spec in specs.items()
    )
    return {
        "methods": tuple(tuning.methods),
        "n_neighbors": (numbers if isinstance(numbers, tuple) else tuple(range(1, numbers + 1))) * has_neighbors,
        "scales": tuning.scales,
        "searches": tuple(tuning.searches) * has_neighbors,
        "thresholds": tuple(dict.fromkeys(thresholds)),
    }


def _in_line(values: Sequence[Any]) -> str:
    """Return values with commas between them; of successive numbers the first and the last."""
    if len(values) > 1 and isinstance(values[0], int) and values == tuple(range(values[0], values[0] + len(values))):
        return f"{values[0]} to {values[-1]}"
    return ", ".join(map(str, values))


# Numbers, names and cells.


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _listed(first: Sequence[str], n: int) -> str:
    names = ", ".join(map(_short, first))
    return names if n == len(first) else f"{names} and {n - len(first):,} more"


def _short(name: str, longest: int = _LONGEST) -> str:
    """Return a name on one line; of a long one both ends, as names of columns often have the same beginning."""
    text = escape_line(name)
    end = longest // 3
    return text if len(text) <= longest else f"{text[: longest - end - 3]}...{text[-end:]}"


def _cell(value: Any, longest: int = _LONGEST) -> str:
    """Return a cell: a text in quotes, a number with six digits, a date as in files."""
    if value is None or value != value:
        return "missing"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dt.datetime):
        return str(value.date() if value.time() == dt.time() else value)
    text = repr(value[:longest] if isinstance(value, str) else value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _plain(value: Any) -> Any:
    """Return a cell as JSON has it."""
    return value.isoformat() if isinstance(value, dt.datetime) else value
