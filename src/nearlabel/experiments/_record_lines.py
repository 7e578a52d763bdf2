"""Records as lines of JSON with a checksum; lines may be untrusted, and every field is checked.

A file is read as bytes and split into lines before decoding, so that each error names its line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from nearlabel.files.check_sums import with_sum, without_sum
from nearlabel.metrics.evaluation import PER_LABEL, PER_ROW

Record: TypeAlias = dict[str, Any]

COUNTS_OF_LABELS = ("support", "true_positives", "false_positives", "false_negatives")
FIGURES_OF_LABELS = (*COUNTS_OF_LABELS, "roc_auc", "average_precision", "log_loss", "brier_score")
MADE_AGAIN = "Hint: remove this line and all later lines; the command that wrote them creates them again."
_REQUIRED = ("dataset", "seed", "fold", "method", "n_neighbors", "metric", "value")
_KEY = (*_REQUIRED[:-1], "search")
_SHOWN = 60  # characters shown of an invalid line
_LARGEST = 2**63 - 1


class Line(NamedTuple):
    """A JSON object in a line of a file: the line number, from 1, its content, and whether its checksum was checked."""

    number: int
    content: Record
    has_sum: bool


def line_of(content: Mapping[str, Any]) -> bytes:
    """Return a line, with its checksum as the last field."""
    return json.dumps(with_sum(content)).encode("ascii") + b"\n"


def lines_in(file: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of a file with their numbers, without an unfinished last line of a killed process."""
    with file.open("rb") as opened:
        for number, line in enumerate(opened, 1):
            if line.endswith(b"\n"):
                yield number, line[:-1]


def records_in(file: Path) -> Iterator[Line]:
    """Yield the checked records of a file; raise ValueError for a damaged or repeated record."""
    found: dict[tuple[Any, ...], int] = {}
    for line in records_of(lines_in(file), file):
        first = found.setdefault(tuple(line.content.get(name) for name in _KEY), line.number)
        if first != line.number:
            raise ValueError(
                f"{file}, line {line.number}: must be a record of its own, got that of line {first} again."
            )
        yield line


def records_of(lines: Iterable[tuple[int, bytes]], file: Path) -> Iterator[Line]:
    """Yield the checked records of numbered lines; raise ValueError for a damaged record."""
    have_sums = False
    for number, text in lines:
        line = record_of(text, file, number)
        check_has_sum(line, have_sums, file)
        have_sums = line.has_sum
        yield line


def check_has_sum(line: Line, have_sums: bool, file: Path) -> None:
    """Raise ValueError if a line has no checksum although earlier lines have one."""
    if have_sums and not line.has_sum:
        raise ValueError(
            f"{file}, line {line.number}: must have a checksum, as the line before, got none. {MADE_AGAIN}"
        )


def record_of(text: bytes, file: Path, number: int) -> Line:
    """Return the record in a line.

    Raises
    ------
    ValueError
        If the record is damaged, or a field is missing or invalid; the message names the file and the line.
    """
    line = object_of(text, file, number)
    missing = [name for name in _REQUIRED if name not in line.content]
    if missing:
        raise ValueError(f"{file}, line {number}: must be a record, got one without {', '.join(missing)}.")
    for name, value in line.content.items():
        is_right, expected = _FIELDS.get(name, (_is_plain, "text, a number or null"))
        if name != "table" and not is_right(value):
            raise ValueError(f"{file}, line {number}: {name} must be {expected}, got {_short(value)}. {MADE_AGAIN}")
    _check_table(line, file)
    return line


def _check_table(line: Line, file: Path) -> None:
    """Raise ValueError unless a record has a table if its metric requires one, and no table otherwise."""
    where, has_table = f"{file}, line {line.number}", "table" in line.content
    if line.content["metric"] not in _TABLES:
        if has_table:
            raise ValueError(f"{where}: must be a record without a table, got one. {MADE_AGAIN}")
        return
    is_right, expected = _TABLES[line.content["metric"]]
    if not has_table:
        raise ValueError(f"{where}: must be a record with {expected}, got none. {MADE_AGAIN}")
    if not is_right(line.content["table"]):
        raise ValueError(f"{where}: table must be {expected}, got {_short(line.content['table'])}. {MADE_AGAIN}")


def object_of(text: bytes, file: Path, number: int) -> Line:
    """Return the JSON object in lines of a file from this line on, without its checksum.

    Raises
    ------
    ValueError
        If it is not a JSON object, or its checksum does not match.
    """
    shown = _shown(text[: _SHOWN + 1].decode("utf-8", "backslashreplace"))
    try:
        value = json.loads(text.decode("utf-8"))
    except json.JSONDecodeError as error:
        line = number + error.lineno - 1
        raise ValueError(f"{file}, line {line}: must be JSON, got {shown!r}. {MADE_AGAIN}") from error
    except (ValueError, RecursionError) as error:  # not UTF-8, a number with thousands of digits, thousands of brackets
        raise ValueError(f"{file}, line {number}: must be JSON in UTF-8, got {shown!r}. {MADE_AGAIN}") from error
    if not isinstance(value, dict):
        raise ValueError(f"{file}, line {number}: must be an object of JSON, got {shown!r}.")
    try:
        return Line(number, *without_sum(value))
    except ValueError as error:
        raise ValueError(
            f"{file}, line {number}: must be as nearlabel wrote it, got other content: {error}. {MADE_AGAIN}"
        ) from error


def _short(value: object) -> str:
    return _shown(repr(value)[: _SHOWN + 1])


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + " ..."


def _is_name(value: object) -> bool:
    """Return whether a value is non-blank text that can be encoded as UTF-8; JSON also allows lone surrogates."""
    return (
        isinstance(value, str)
        and bool(value.strip())
        and not any("\ud800" <= character <= "\udfff" for character in value)
    )


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST


def _is_number(value: object) -> bool:
    if type(value) not in (int, float):
        return False
    try:
        return math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:
        return False


def _or_null(is_right: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or is_right(value)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | str) or _is_number(value)


def _is_table(value: object) -> bool:
    """Return whether a value is a table of the metrics of each label on a fold."""
    if not isinstance(value, dict) or not _is_count(value.get("rows")) or not isinstance(value.get("label"), list):
        return False
    columns = {name: of for name, of in value.items() if name != "rows"}
    if not columns.keys() >= set(FIGURES_OF_LABELS) or not all(map(_is_name, value["label"])):
        return False
    return all(
        isinstance(of, list) and len(of) == len(value["label"]) and all(map(_is_of_column(name), of))
        for name, of in columns.items()
        if name != "label"
    )


def _is_table_of_rows(value: object) -> bool:
    """Return whether a value is a table of the label sets of a fold's test samples."""
    if not isinstance(value, dict) or not {"label", "row", "true", "predicted"} <= value.keys():
        return False
    labels, rows = value["label"], value["row"]
    if not all(isinstance(of, list) for of in value.values()) or not all(map(_is_name, labels)):
        return False
    sets = [of for name, of in value.items() if name not in ("label", "row")]
    return all(map(_is_count, rows)) and all(
        len(of) == len(rows) and all(_is_label_set(each, len(labels)) for each in of) for of in sets
    )


def _is_label_set(value: object, n_labels: int) -> bool:
    """Return whether a value is a list of ascending label indices."""
    if not isinstance(value, list) or not all(map(_is_count, value)):
        return False
    return all(before < after for before, after in pairwise([*value, n_labels]))


def _is_of_column(name: str) -> Callable[[object], bool]:
    return _is_count if name in (*COUNTS_OF_LABELS, "known_rows") else _or_null(_is_number)


_FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "dataset": (_is_name, "a name"),
    "seed": (_or_null(_is_count), "a number from 0 or null"),
    "fold": (_is_count, "a number from 0"),
    "method": (_is_name, "a name"),
    "n_neighbors": (_or_null(_is_count), "a number from 0 or null"),
    "metric": (_is_name, "a name"),
    "search": (_is_name, "a name"),
    "value": (_or_null(_is_number), "a finite number or null"),
    "greater_is_better": (lambda value: isinstance(value, bool), "true or false"),
    "skipped": (_is_count, "a number from 0"),
}
_TABLES: dict[str, tuple[Callable[[object], bool], str]] = {
    PER_LABEL: (_is_table, "a table of labels"),
    PER_ROW: (_is_table_of_rows, "a table of rows"),
}


# Checks of the fields of a `plan.json` that readers of records need, since a file may be untrusted.

_MOST_FOLDS = 1_000_000


def check_plan(plan: Mapping[str, Any], file: Path) -> None:
    """Raise ValueError unless a plan has the fields that readers of its records need."""
    if not isinstance(plan.get("problems"), dict):
        raise ValueError(f"{file} must be a plan that nearlabel wrote, got one without problems.")
    for name, (is_right, expected) in _PLAN_FIELDS.items():
        if name in plan and not is_right(plan[name]):
            raise ValueError(f"{file} must be a plan that nearlabel wrote, with {expected} as {name}, got another.")
    missing = [name for name in ("methods", *(() if "n_parts" in plan else ("cv", "seeds"))) if name not in plan]
    if missing:
        raise ValueError(f"{file} must be a plan that nearlabel wrote, got one without {', '.join(missing)}.")
    if "seeds" in plan and len(plan["seeds"]) * plan.get("cv", 1) > _MOST_FOLDS:
        raise ValueError(f"{file} must be a plan of at most {_MOST_FOLDS:,} folds, got more.")


def _is_number_of_folds(value: object) -> bool:
    return type(value) is int and 1 <= value <= _MOST_FOLDS


def _is_text_or_null(value: object) -> bool:
    return value is None or isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _are_texts_by_name(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _are_seeds(value: object) -> bool:
    return isinstance(value, list) and len(value) <= _MOST_FOLDS and all(type(each) is int for each in value)


_PLAN_FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "problems": (_are_texts_by_name, "digests"),
    "methods": (_are_texts, "a list of names"),
    "cv": (_is_number_of_folds, f"a number of folds up to {_MOST_FOLDS:,}"),
    "n_parts": (_is_number_of_folds, f"a number of folds up to {_MOST_FOLDS:,}"),
    "first_folds": (lambda value: value is None or _is_number_of_folds(value), "a number of folds or null"),
    "seeds": (_are_seeds, "a list of numbers"),
    "scale": (_is_text_or_null, "a name or null"),
    "impute": (_is_text_or_null, "a name or null"),
    "stratify": (lambda value: value is None or type(value) is int, "an order or null"),
    "kinds": (lambda value: isinstance(value, dict) and all(map(_are_texts_by_name, value.values())), "kinds"),
}
