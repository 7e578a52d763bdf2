"""The features of an ARFF file that has texts or dates: cells of several kinds, as those of tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np

from nearlabel.datasets._arff_header import Attribute, Header
from nearlabel.datasets._arff_parts import SparseCells
from nearlabel.datasets._java_dates import date_reader
from nearlabel.datasets._nominal import CellRows, is_true, says_yes_or_no
from nearlabel.datasets._numeric_columns import EXPECTED, Cells, FeatureKind, Kinds, as_text
from nearlabel.datasets._table_file import check_filled, did_you_mean, shortened
from nearlabel.utils.containers import date_of
from nearlabel.utils.messages import ParameterError
from nearlabel.utils.types import AnyArray

SAMPLE_WEIGHT = "sample_weight"  # the name by which the weights of rows are ignored

_Source: TypeAlias = Literal["number", "flag", "nominal", "text", "date"]
# Which kinds of features each attribute may be; the first is its own.
_KINDS: dict[_Source, tuple[FeatureKind, ...]] = {
    "number": ("number", "category"),
    "flag": ("number", "category", "text"),
    "nominal": ("category", "text", "date"),
    "text": ("text", "category", "date"),
    "date": ("date",),
}


def attributes_beside(header: Header, labels: Iterable[int], ignore: Sequence[str]) -> list[int]:
    """Return the columns of the features: all but labels and ignored ones.

    Raises
    ------
    TypeError, ValueError
        If `ignore` is no sequence of names, names a label or nothing, or leaves no feature; or if a feature is
        relational.
    """
    if isinstance(ignore, str) or not all(isinstance(name, str) for name in ignore):
        raise TypeError(f"ignore must be a sequence of names of attributes, got {ignore!r}. Hint: [{ignore!r}].")
    known, ignored, of_labels = set(header.names), set(ignore), set(labels)
    for name in ignore:
        if name not in known and name != SAMPLE_WEIGHT:
            hint = did_you_mean(name, header.names)
            raise ValueError(f"ignore must name attributes of {header.path}, got {shortened(name)}.{hint}")
    if both := [header.names[column] for column in labels if header.names[column] in ignored]:
        raise ValueError(f"ignore must name features of {header.path}, got the label {shortened(both[0])}.")
    features = [column for column in range(len(header.names)) if column not in of_labels]
    used = [column for column in features if header.names[column] not in ignored]
    if features and not used:
        raise ValueError(f"ignore must leave at least one feature of {header.path}, got the names of all.")
    if relations := [header.names[column] for column in used if header.attributes[column].declared == "relation"]:
        problem = f"attribute {shortened(relations[0])} of {header.path} must be a feature, got a relational one."
        raise ParameterError("{problem} Hint: {ignore} leaves it out.", {"ignore": relations}, {"problem": problem})
    return used


def check_named(header: Header, features: Iterable[int], kinds: Kinds) -> None:
    """Raise ValueError unless options of kinds name features."""
    names = {header.names[column] for column in features}
    for name, kind in kinds.items():
        if name not in names:
            option = {"category": "categorical", "date": "dates"}.get(kind, kind)
            hint = did_you_mean(name, names)
            raise ValueError(f"{option} must name features of {header.path}, got {shortened(name)}.{hint}")


def has_cells(attributes: Iterable[Attribute], kinds: Kinds) -> bool:
    """Return whether some features are no numbers and no codes: a text or a date, or one that an option names."""
    return bool(kinds) or any(attribute.declared in ("text", "date") for attribute in attributes)


def as_cells(path: Path, attribute: Attribute, kind: FeatureKind | None = None) -> tuple[Attribute, FeatureKind]:
    """Return an attribute whose cells are objects of a kind, by default its own, and the kind.

    Raises
    ------
    ValueError
        If the attribute cannot be of this kind, or its dates have a format that is not known.
    """
    source = _source(attribute)
    found = _KINDS[source][0] if kind is None else kind
    if found not in _KINDS[source]:
        expected = EXPECTED[found]
        raise ValueError(f"attribute {shortened(attribute.name)} of {path} must contain {expected}, got {source}.")
    read = None if found == source == "number" else _reader(path, attribute, source, found)
    missing = None if found in ("category", "text") else np.nan
    return replace(attribute, read=read, missing=missing), found


def _source(attribute: Attribute) -> _Source:
    if attribute.values is not None:
        return "flag" if says_yes_or_no(attribute) else "nominal"
    return attribute.declared  # type: ignore[return-value]


def _reader(path: Path, attribute: Attribute, source: _Source, kind: FeatureKind) -> Callable[[str], Any]:
    """Return the function that reads a cell, without a question mark for a missing one."""
    plain = replace(attribute, read=None)
    if source == "number":
        return lambda text: as_text(plain.encode(text))
    if kind == "number":
        yes_first = is_true(attribute)
        return lambda text: abs(plain.code(text) - yes_first)
    if kind == "date":
        return _date_reader(path, attribute)
    if attribute.values is None:
        return lambda text: text if text.strip() else None
    values = attribute.values
    return lambda text: values[int(plain.code(text))].strip() or None


def _date_reader(path: Path, attribute: Attribute) -> Callable[[str], Any]:
    if attribute.declared != "date":
        read: Callable[[str], Any] = date_of
    else:
        try:
            read = date_reader(attribute.date_format)
        except ValueError as error:
            got = f"{attribute.date_format[:60]!r}, {error}"
            problem = f"the date {shortened(attribute.name)} of {path} must have a known format, got {got}."
            template = "{problem} Hint: a year is yyyy, a time HH:mm:ss; or {ignore} leaves it out."
            raise ParameterError(template, {"ignore": [attribute.name]}, {"problem": problem}) from None

    def read_or_tell(text: str) -> Any:
        try:
            return read(text)
        except (ValueError, OverflowError):
            expected = repr(attribute.date_format) if attribute.date_format else "such as 2026-01-31"
            hint = "" if "yyyy" in expected or "y" not in attribute.date_format else " Hint: a year has four digits."
            problem = f"attribute {attribute.name!r} must be a date {expected}, got {shortened(text)}.{hint}"
            raise ValueError(problem) from None

    return read_or_tell


class MixedRows:
    """A growing array of objects, of all features in the order of the file."""

    def __init__(self, path: Path, attributes: Sequence[Attribute]) -> None:
        self._path, self._attributes = path, attributes
        self._n_cells = self._n_written = 0
        self._rows = CellRows(len(attributes))

    def append(self, cells: SparseCells | AnyArray) -> None:
        """Add rows of objects; a cell that a sparse row leaves out is 0, or the value declared first."""
        if isinstance(cells, SparseCells):
            self._n_cells += cells.n_rows * len(self._attributes)
            self._n_written += cells.n_rows + len(cells.values)
            check_filled(self._path, self._n_cells, self._n_written, "ignore leaves texts and dates out")
            rows: AnyArray = np.empty((cells.n_rows, len(self._attributes)), dtype=np.object_)
            rows[:] = [_left_out(attribute) for attribute in self._attributes]
            rows[cells.rows, cells.columns] = cells.values
            cells = rows
        self._rows.append(cells)

    def matrix(self) -> Cells:
        """Return all rows."""
        return self._rows.matrix()


def _left_out(attribute: Attribute) -> Any:
    """Return the cell that a sparse row leaves out: 0, or the value declared first."""
    if attribute.is_required:
        return attribute.missing  # the reader of rows lets none be left out
    return attribute.encode("0" if attribute.values is None else attribute.values[0])
