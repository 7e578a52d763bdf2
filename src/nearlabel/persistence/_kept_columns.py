"""Columns of the training data that are saved for people, such as ids and titles: JSON lines in the model's file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np

from nearlabel.files.zip_limits import LARGEST_KEPT

_NO_TEXTS = (list, tuple, set, dict, np.ndarray)


def as_kept(keep: Any, n_rows: int | None) -> dict[str, tuple[str, ...]]:
    """Return columns of texts by name, one text for each training sample; raise TypeError or ValueError otherwise.

    `n_rows` is None if the number of training samples is unknown; then all columns must have the same length.
    """
    if keep is None:
        return {}
    if not hasattr(keep, "items"):
        raise TypeError(f"keep must map names of columns to their values, got {type(keep).__name__}.")
    columns = {_name(name): _texts(name, values) for name, values in keep.items()}
    for name, texts in columns.items():
        n_rows = len(texts) if n_rows is None else n_rows
        if len(texts) != n_rows:
            raise ValueError(
                f"keep must have a value for each of {n_rows} training samples, got {len(texts)} of {name!r}."
            )
    return columns


def kept_to_lines(columns: Mapping[str, Sequence[str]]) -> bytes:
    """Return columns as JSON lines, one list of texts per sample."""
    rows = zip(*columns.values(), strict=True)
    lines = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    content = lines.encode("utf-8", "surrogatepass")
    if len(content) > LARGEST_KEPT:
        raise ValueError(f"keep must take at most {LARGEST_KEPT} bytes, got {len(content)}. Hint: keep shorter texts.")
    return content


def kept_from_lines(content: bytes, names: Sequence[str], n_rows: int | None) -> dict[str, tuple[str, ...]]:
    """Return the columns of untrusted lines; raise ValueError at the first line that is not one text per column.

    So memory is bounded by the length of the content: only the current line can contain anything else.
    """
    rows = [_row(line, len(names)) for line in _lines(content, n_rows)]
    return {name: tuple(row[place] for row in rows) for place, name in enumerate(names)}


def _lines(content: bytes, n_rows: int | None) -> Iterable[bytes]:
    n_lines = content.count(b"\n")
    if n_rows is not None and n_lines != n_rows:
        raise ValueError(f"saved columns of {n_lines} rows, but the card has {n_rows}")
    return BytesIO(content)


def _row(line: bytes, n_columns: int) -> tuple[str, ...]:
    row = json.loads(line)
    if not isinstance(row, list) or len(row) != n_columns or not all(isinstance(text, str) for text in row):
        raise ValueError(f"saved columns with a line that is not a list of {n_columns} texts")
    return tuple(row)


def _name(name: object) -> str:
    if not isinstance(name, str) or not name:
        raise TypeError(f"keep must name each column by a str that is not empty, got {name!r}.")
    return name


def _texts(name: object, values: Any) -> tuple[str, ...]:
    if isinstance(values, (str, bytes, Mapping)) or not np.iterable(values):
        raise TypeError(f"keep must map {name!r} to a sequence of texts or numbers, got {values!r}.")
    return tuple(_text(name, value) for value in values)


def _text(name: object, value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, _NO_TEXTS):
        raise TypeError(f"keep must map {name!r} to a sequence of texts or numbers, got {value!r} in it.")
    return "" if _is_missing(value) else str(value)


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # the missing value of pandas, whose comparisons are neither true nor false
        return True
