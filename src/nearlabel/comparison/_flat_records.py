"""Flat records of any program, from CSV or JSON lines files, pandas frames or lists of dicts; every cell is checked."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from nearlabel.experiments import Record

REQUIRED = ("dataset", "fold", "method", "metric", "value")
_BLANK = (None, "")
_TRUTHS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


class Located(NamedTuple):
    """A record and its position in its source, for messages: "meka.csv, line 3"."""

    place: str
    record: Record


def read_file(path: Path) -> list[Located]:
    """Read the records of a ``.csv`` or ``.jsonl`` file.

    Raises
    ------
    ValueError
        If the file has another suffix, a column is missing, or a cell is invalid for its column.
    OSError
        If the file cannot be read.
    """
    rows = _ROWS_OF.get(path.suffix.lower())
    if rows is None:
        raise ValueError(
            f"{path} must be a .csv or .jsonl file, or a folder that nearlabel wrote, got suffix {path.suffix!r}."
            " Hint: the page Comparing methods describes the files."
        )
    try:
        return checked_records(rows(path))
    except (UnicodeDecodeError, csv.Error) as error:
        raise ValueError(f"{path} must be text in UTF-8, got {error}.") from error


def rows_of_frame(frame: Any) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the rows of a pandas frame, None where a cell is missing."""
    cells = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
    return ((f"frame, row {number}", row) for number, row in enumerate(cells))


def rows_of_list(records: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield dicts with their numbers."""
    return ((f"records[{number}]", record) for number, record in enumerate(records))


def checked_records(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> list[Located]:
    """Return the records of some rows; raise ValueError if a field is missing or invalid, or a record occurs twice.

    Optional fields are left out if the row has no such column; columns with other names are ignored.
    """
    found: dict[tuple[Any, ...], Located] = {}
    for place, row in rows:
        located = Located(place, _checked(place, row))
        first = found.setdefault(key_of(located.record), located)
        if first is not located:
            raise ValueError(
                f"{place}: each record must occur once, got {described(located.record)} again, which is in"
                f" {first.place}. Hint: distinguish them by a column seed or n_neighbors."
            )
    return list(found.values())


def key_of(record: Record) -> tuple[Any, ...]:
    """Return the values that identify a record within a source."""
    return tuple(record.get(name) for name in ("dataset", "seed", "fold", "method", "n_neighbors", "metric"))


def described(record: Record) -> str:
    """Return a description of a record's key."""
    names = ("dataset", "seed", "fold", "method", "n_neighbors", "metric")
    return ", ".join(f"{name} {record[name]}" for name in names if record.get(name) is not None)


def _checked(place: str, row: Mapping[str, Any]) -> Record:
    missing = [name for name in REQUIRED if name not in row]
    if missing:
        raise ValueError(
            f"{place}: a record must have {', '.join(REQUIRED)}, got none of {', '.join(missing)} (found:"
            f" {', '.join(map(str, row)) or 'nothing'}). Hint: name the columns so."
        )
    record: Record = {}
    for name, (read, expected) in _FIELDS.items():
        if name in row:
            try:
                record[name] = read(row[name])
            except (TypeError, ValueError, OverflowError) as error:
                raise ValueError(f"{place}, column {name}: must be {expected}, got {row[name]!r}.") from error
    record.setdefault("n_neighbors", None)
    return record


def _name(cell: object) -> str:
    if not isinstance(cell, str) or not cell.strip():
        raise ValueError
    return cell.strip()


def _number(cell: Any) -> float:
    if isinstance(cell, bool):
        raise TypeError
    return float(cell)


def _whole_number(cell: Any) -> int:
    number = _number(cell)  # a frame's columns of numbers with gaps are floats
    if number != int(number) or number < 0:
        raise ValueError
    return int(number)


def _value(cell: Any) -> float | None:
    number = math.nan if cell in _BLANK else _number(cell)
    if math.isinf(number):
        raise ValueError
    return None if math.isnan(number) else number


def _truth(cell: object) -> bool:
    text = str(cell).strip().lower()
    if text not in _TRUTHS:
        raise ValueError
    return _TRUTHS[text]


def _optional(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda cell: None if cell in _BLANK else read(cell)


# For each field: how to read it, and a description of valid values.
_FIELDS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "dataset": (_name, "a name"),
    "seed": (_optional(_whole_number), "a whole number, or empty for a given split"),
    "fold": (_whole_number, "a whole number, 0 for the first fold"),
    "method": (_name, "a name"),
    "n_neighbors": (_optional(_whole_number), "a whole number, or empty"),
    "metric": (_name, "a name"),
    "value": (_value, "a finite number, or empty where the metric is undefined"),
    "greater_is_better": (_optional(_truth), "true or false"),
}


def _rows_of_csv(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        first = file.readline()
        file.seek(0)
        reader = csv.reader(file, delimiter=max(",;\t", key=first.count), strict=True)
        columns = [name.strip() for name in next(reader, ())]
        missing = [name for name in REQUIRED if name not in columns]
        if missing:
            raise ValueError(
                f"{path}, line 1: must name the columns {', '.join(REQUIRED)}, got none of {', '.join(missing)} (found:"
                f" {', '.join(columns) or 'nothing'})."
            )
        for cells in reader:
            place = f"{path}, line {reader.line_num}"
            if cells and len(cells) != len(columns):
                raise ValueError(f"{place}: must have {len(columns)} cells, as line 1, got {len(cells)}.")
            if cells:
                yield place, dict(zip(columns, cells, strict=True))


def _rows_of_json_lines(path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield f"{path}, line {number}", _parsed(line, f"{path}, line {number}")


def _parsed(line: str, place: str) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place}: must be JSON, got {line.strip()[:60]!r}.") from error
    if not isinstance(row, dict):
        raise ValueError(f"{place}: must be an object of JSON, got {line.strip()[:60]!r}.")
    return row


_ROWS_OF = {".csv": _rows_of_csv, ".tsv": _rows_of_csv, ".jsonl": _rows_of_json_lines}
