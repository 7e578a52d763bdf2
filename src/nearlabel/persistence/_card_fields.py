"""Read the fields of a card from untrusted JSON, with a check of each type."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from nearlabel.persistence._changes import ModelChanges
from nearlabel.persistence._data_summary import DataSummary

_Reader = Callable[[Any], Any]
NOT_ON_ALL: Mapping[str, Any] = {"kept": [], "changes": None, "guarantee": ""}  # optional fields, left out if empty
_NOT_FINITE = ("inf", "-inf", "nan")


def read_fields(content: Any) -> dict[str, Any]:
    """Return the fields for `ModelCard`; raise a ValueError that names the first invalid field."""
    return _fields({**NOT_ON_ALL, **content}, _OF_CARD)


def read_format(content: Any) -> int:
    """Return the format version, which is read first, since the other fields depend on it."""
    if not isinstance(content, dict) or "format" not in content:
        raise ValueError("what has no format number")
    number: int = _named("format", _count, content["format"])
    return number


def _fields(content: Any, readers: Mapping[str, _Reader]) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise ValueError("no table of fields")
    if content.keys() != readers.keys():
        raise ValueError(f"fields that lack or exceed: {', '.join(sorted(content.keys() ^ readers.keys()))[:200]}")
    return {name: _named(name, read, content[name]) for name, read in readers.items()}


def _named(name: str, read: _Reader, value: Any) -> Any:
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("neither true nor false")
    return value


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:  # True is not a number
        raise ValueError("no whole number from 0")
    return value


def _number(value: Any) -> float:
    """Read a number, or the text of a number that JSON cannot represent."""
    if isinstance(value, str) and value in _NOT_FINITE:
        return float(value)
    if type(value) not in (int, float) or not abs(value) <= sys.float_info.max:
        raise ValueError("no number")
    return float(value)


def _optional(read: _Reader) -> _Reader:
    return lambda value: None if value is None else read(value)


def _tuple_of(read: _Reader) -> _Reader:
    def read_all(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise ValueError("no list")
        return tuple(read(one) for one in value)

    return read_all


def _dict_of(read: _Reader) -> _Reader:
    def read_all(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError("no table")
        return {name: read(one) for name, one in value.items()}

    return read_all


def _summary(value: Any) -> DataSummary:
    known = {"label_counts": None, "unknown_cells": None, **value} if isinstance(value, dict) else value  # optional
    summary = DataSummary(**_fields(known, _OF_DATA))
    for each, number, what in (
        (summary.feature_names, summary.features, "names"),
        (summary.label_names, summary.labels, "names"),
        (summary.label_counts, summary.labels, "counts"),
    ):
        if each is not None and number is not None and len(each) != number:
            raise ValueError(f"{len(each)} {what} of {number}")
    return summary


_OF_DATA: Mapping[str, _Reader] = {
    "name": _optional(_text),
    "rows": _optional(_count),
    "features": _optional(_count),
    "labels": _optional(_count),
    "feature_names": _optional(_tuple_of(_text)),
    "label_names": _optional(_tuple_of(_text)),
    "label_counts": _optional(_tuple_of(_count)),
    "unknown_cells": _optional(_count),
    "cardinality": _optional(_number),
    "density": _optional(_number),
    "digest_X": _optional(_text),
    "digest_Y": _optional(_text),
}
_OF_CHANGES: Mapping[str, _Reader] = {
    "added": _count,
    "forgotten": _count,
    "new_labels": _tuple_of(_text),
    "thresholds_stale": _flag,
    "n_neighbors_stale": _flag,
}
_OF_CARD: Mapping[str, _Reader] = {
    "format": _count,
    "created": _text,
    "versions": _dict_of(_text),
    "method": _text,
    "parameters": _dict_of(_text),
    "data": _summary,
    "thresholds": _optional(_tuple_of(_number)),
    "scores": _dict_of(_number),
    "measured": _text,
    "foreign_types": _tuple_of(_text),
    "notes": _text,
    "kept": _tuple_of(_text),
    "changes": _optional(lambda value: ModelChanges(**_fields(value, _OF_CHANGES))),
    "guarantee": _text,
}
