"""Corrections of cells of y: read from a file, and checked against their data."""

from __future__ import annotations

import numbers
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.audit._exports import is_export, values_in
from nearlabel.datasets.tables import column_names_of, did_you_mean, locate_row, read_columns, shortened
from nearlabel.utils.containers import checked_container, is_frame
from nearlabel.utils.messages import first_of
from nearlabel.utils.tags import tag_matrix, tags_of
from nearlabel.utils.targets import PartialLabels, label_names_of
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import cells_of

UNKNOWN = "?"
_MOST_SHOWN, _LONGEST, _MOST_DIGITS = 8, 60, 18
_COLUMNS = ("label", "correct")  # which each file of corrections has
_VALUES = {**dict.fromkeys(("0", "0.0", "false", "no"), 0), **dict.fromkeys(("1", "1.0", "true", "yes"), 1)}


@dataclass(frozen=True)
class Correction:
    """The correct value of one cell of y.

    Parameters
    ----------
    label : object
        Name of the label.
    correct : int or None
        0 or 1; None: it is unknown whether the label applies.
    row : int, default=None
        Number of the sample, from 0. None: the id identifies it.
    id : str, default=""
        Id of the sample.
    given : int, default=None
        The value, 0 or 1, that the cell had during the review. None: any.
    """

    label: Any
    correct: int | None
    row: int | None = None
    id: str = ""
    given: int | None = None


class Changes(NamedTuple):
    """Cells whose value changes, row by row; NaN is unknown."""

    rows: IntArray
    labels: IntArray
    values: FloatArray


def read_corrections(
    path: str | os.PathLike[str],
    *,
    id_column: str | None = None,
    y: MatrixLike | None = None,
    label_names: Sequence[Any] | None = None,
    ids: Sequence[Any] | None = None,
) -> list[Correction]:
    r"""Read corrections from a table, such as that of `nearlabel audit --csv`, or an export of an annotation tool.

    Parameters
    ----------
    path : path-like
        CSV, Excel, JSON or Parquet with the columns ``label``, the name of a label, and ``correct``: 0 or 1, also
        in words such as "no" and "true", or ? (unknown). Lines with an empty value are left out. ``row`` is the number
        of the sample, from 0. ``given``, if it exists and is not empty, is the value that the cell had. Other columns
        are ignored. Or what Label Studio (JSON, JSON_MIN, CSV), doccano (JSON lines) or prodigy (JSON lines) export of
        tasks of `nearlabel audit --format` or `nearlabel predict --format`.
    id_column : str, default=None
        Column of ids, which identify samples in place of ``row``.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels), default=None
        The present label sets, for an export: corrections are the cells in which annotators differ from them.
    label_names : sequence of length n_labels, default=None
        Names of the labels, for an export. None: the columns of a frame, or the numbers of the columns.
    ids : sequence of length n_samples, default=None
        The cells of `id_column`, for an export.

    Returns
    -------
    list of Correction
        In the order of the file; of an export, in the order of the samples.

    Raises
    ------
    ValueError
        If a column is missing, or a cell has an invalid value; the message contains the line. If an export has no
        answer, comes without `y`, or a task names no sample, or a label that does not exist.
    OSError
        If the file cannot be read.
    ImportError
        If pyarrow (extra ``tables``) is not installed.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.audit import read_corrections
    >>> path = Path(tempfile.mkdtemp()) / "corrections.csv"
    >>> _ = path.write_text("row,label,given,correct\n3,calm,0,1\n5,calm,1,\n8,loud,1,?\n")
    >>> read_corrections(path)  # doctest: +NORMALIZE_WHITESPACE
    [Correction(label='calm', correct=1, row=3, id='', given=0),
     Correction(label='loud', correct=None, row=8, id='', given=1)]
    """
    path = Path(path)
    if is_export(path):
        return _of_export(path, y, label_names, id_column, ids)
    names = column_names_of(path)
    if names is None:
        raise ValueError(f"corrections must be a CSV, Excel, JSON or Parquet file, got {path}.")
    wanted = [*_COLUMNS, "row" if id_column is None else id_column]
    for name in wanted:
        if name not in names:
            raise ValueError(f"corrections must have a column {name!r}, got {_some(names)} in {path}.")
    cells = read_columns(path, dict.fromkeys([*wanted, *({"given"} & set(names))], "corrections"))
    said = {name: [_text(value) for value in values] for name, values in cells.items()}
    lines = [dict(zip(said, line, strict=True)) for line in zip(*said.values(), strict=True)]
    return [_correction(path, at, line, id_column) for at, line in enumerate(lines) if line["correct"]]


def _of_export(
    path: Path, y: Any, label_names: Sequence[Any] | None, id_column: str | None, ids: Sequence[Any] | None
) -> list[Correction]:
    if y is None or (ids is None) != (id_column is None):
        needed = "y" if y is None else "ids with id_column"
        raise ValueError(f"corrections from an annotation tool must go with {needed}, got {path} alone.")
    given = PartialLabels.of(y, dtype=None)
    names = list(label_names_of(y, given.labels.shape[1]) if label_names is None else label_names)
    found = values_in(path, given, names, id_column=id_column, ids=ids)
    return [
        Correction(
            names[cell.label],
            cell.value,
            row=cell.row if ids is None else None,
            id="" if ids is None else _text(ids[cell.row]),
            given=None if np.isnan(cell.given) else int(cell.given),
        )
        for cell in found
    ]


def _some(names: Sequence[str]) -> str:
    """Return the first of the names, for a message."""
    return ", ".join(name[:_LONGEST] for name in names[:_MOST_SHOWN]) + (", ..." if len(names) > _MOST_SHOWN else "")


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _correction(path: Path, at: int, line: Mapping[str, str], id_column: str | None) -> Correction:
    def wrong(name: str, expected: str) -> ValueError:
        return ValueError(f"{path}, {locate_row(path, at)}: {name} must be {expected}, got {shortened(line[name])}.")

    given, correct = line.get("given", "").lower(), line["correct"].lower()
    if correct not in (*_VALUES, UNKNOWN):
        raise wrong("correct", "0, 1, ? or empty")
    if given not in (*_VALUES, UNKNOWN, ""):
        raise wrong("given", "0, 1 or empty")
    if id_column is not None and not line[id_column]:
        raise wrong(id_column, "the id of a row")
    row = None
    if id_column is None:
        number = line["row"].removesuffix(".0")  # spreadsheets may write numbers this way
        if not (number.isascii() and number.isdecimal() and len(number) <= _MOST_DIGITS):
            raise wrong("row", "the number of a row, from 0")
        row = int(number)
    row_id = "" if id_column is None else line[id_column]
    return Correction(line["label"], _VALUES.get(correct), row, row_id, _VALUES.get(given))


def changes_of(
    corrections: Iterable[Correction],
    given: PartialLabels,
    label_names: Sequence[Any],
    ids: Sequence[Any] | None = None,
) -> Changes:
    """Return the changes that corrections make in label sets, after all of them were checked.

    Raises
    ------
    ValueError
        If a row or label does not exist, a cell gets two values, or one that is none of 0, 1 and None, or had another
        value during the review, unless all cells have the correct values already.
    """
    corrections = list(corrections)
    for one in corrections:
        if one.correct not in (0, 1, None):
            raise ValueError(f"corrections must be 0, 1 or None, got {one.correct!r} for {_cell(one)}.")
    rows = _rows(corrections, given.labels.shape[0], ids)
    labels = _labels(corrections, label_names)
    wanted: dict[tuple[int, int], Correction] = {}
    for place, one in zip(zip(rows, labels, strict=True), corrections, strict=True):
        other = wanted.setdefault(place, one)
        if other.correct != one.correct:
            both = " and ".join(_shown(value) for value in (other.correct, one.correct))
            raise ValueError(f"corrections must give each cell one value, got {both} for {_cell(one)}.")
    places = sorted(wanted)
    at = np.array(places, dtype=np.intp).reshape(-1, 2)
    present = _present(given, at[:, 0], at[:, 1])
    correct = np.array([wanted[place].correct for place in places], dtype=np.float64)  # None becomes NaN
    differ = ~((correct == present) | (np.isnan(correct) & np.isnan(present)))
    if differ.any():  # otherwise these corrections were applied before
        for place, value in zip(places, present.tolist(), strict=True):
            _check_present(wanted[place], value)
    return Changes(at[differ, 0], at[differ, 1], correct[differ])


def _rows(corrections: Sequence[Correction], n_rows: int, ids: Sequence[Any] | None) -> list[int]:
    if ids is None:
        for one in corrections:
            if not isinstance(one.row, numbers.Integral) or not 0 <= one.row < n_rows:
                raise ValueError(f"corrections must name rows from 0 to {n_rows - 1}, got {_cell(one)}.")
        return [int(one.row) for one in corrections if one.row is not None]
    if len(ids) != n_rows:
        raise ValueError(f"ids must be {n_rows}, one for each row, got {len(ids)}.")
    places: dict[str, list[int]] = {}
    for row, name in enumerate(map(_text, ids)):
        places.setdefault(name, []).append(row)
    found = [places.get(_text(one.id), []) for one in corrections]
    for one, rows in zip(corrections, found, strict=True):
        if len(rows) != 1:
            got = f"{one.id!r}, which rows {rows[0]} and {rows[1]} have" if rows else f"{one.id!r}, which no row has"
            hint = " Hint: corrections without ids name rows by number." if rows else ""
            raise ValueError(f"corrections must name one row by each id, got {got}.{hint}")
    return [rows[0] for rows in found]


def _labels(corrections: Sequence[Correction], label_names: Sequence[Any]) -> list[int]:
    """Return columns; a file has names as texts, whatever they are in the data."""
    columns: dict[Any, int] = {str(name).strip(): column for column, name in enumerate(label_names)}
    columns |= {name: column for column, name in enumerate(label_names)}
    for one in corrections:
        if one.label not in columns:
            hint = did_you_mean(str(one.label), map(str, label_names))
            raise ValueError(f"corrections must name labels of the data, got {shortened(one.label)}.{hint}")
    return [columns[one.label] for one in corrections]


def _present(given: PartialLabels, rows: IntArray, labels: IntArray) -> FloatArray:
    """Return the values of cells, NaN where they are unknown."""
    present = cells_of(given.labels, rows, labels).astype(np.float64)
    if given.unknown is not None:
        present[cells_of(given.unknown, rows, labels).astype(np.bool_)] = np.nan
    return present


def _check_present(one: Correction, present: float) -> None:
    if one.given is not None and one.given != present:
        is_now = _shown(None if np.isnan(present) else int(present))
        raise ValueError(
            f"corrections must match the present data, got {_cell(one)}, which was {one.given} and is {is_now}."
            " Hint: repeat the audit."
        )


def _cell(one: Correction) -> str:
    return f"row {one.id or one.row}, label {one.label!r}"


def _shown(value: int | None) -> str:
    return UNKNOWN if value is None else str(value)


# Label sets with corrected cells, in the container of the original.


def apply_corrections(
    y: MatrixLike,
    corrections: Iterable[Correction],
    *,
    label_names: Sequence[Any] | None = None,
    ids: Sequence[Any] | None = None,
) -> Any:
    """Return label sets with corrected cells; y does not change.

    Parameters
    ----------
    y : array-like, pandas data frame or sparse container of shape (n_samples, n_labels), or tags
        0 and 1, and NaN where a cell is unknown; or the tags of each sample, as a list, tuple, array or pandas Series
        of lists, tuples or sets.
    corrections : iterable of Correction
        Result of `read_corrections`.
    label_names : sequence of length n_labels, default=None
        Names of the labels; for tags, the allowed tags. None: the columns of a frame, the tags, or the numbers of the
        columns.
    ids : sequence of length n_samples, default=None
        Ids of the samples in the corrections. None: the corrections use their numbers.

    Returns
    -------
    corrected label sets
        In the container of y; integers become float64 where a cell becomes unknown.

    Raises
    ------
    ValueError
        If a sample or label does not exist, a cell gets two values, the present value of a cell differs from the one in
        the correction, or a tag would become unknown.
    TypeError
        If y is a data frame of a library other than pandas.

    Examples
    --------
    >>> from nearlabel.audit import Correction, apply_corrections
    >>> apply_corrections([[0, 1], [1, 1]], [Correction(1, correct=0, row=0, given=1)])
    array([[0, 0],
           [1, 1]])
    >>> apply_corrections([["calm"], ["loud"]], [Correction("loud", correct=1, row=0)])
    [['calm', 'loud'], ['loud']]
    """
    tags = tags_of(y)
    if tags is not None:
        labels, found = tag_matrix(tags)
        names = list(found) if label_names is None else list(label_names)
        return _with_tags(y, tags, _of_tags(corrections, labels, list(found), names, ids), names)
    given = PartialLabels.of(y, dtype=None)
    names = list(label_names_of(y, given.labels.shape[1]) if label_names is None else label_names)
    if len(names) != given.labels.shape[1]:
        raise ValueError(f"label_names must be {given.labels.shape[1]} names, one for each label, got {len(names)}.")
    return _with_cells(y, changes_of(corrections, given, names, ids))


def _of_tags(
    corrections: Iterable[Correction], labels: Matrix, found: list[Any], names: list[Any], ids: Sequence[Any] | None
) -> Changes:
    """Return the changes of tags, whose columns are in the order of `names`."""
    every = np.zeros((len(labels), len(names)), dtype=np.int64)
    columns = {name: column for column, name in enumerate(names)}
    if absent := [name for name in found if name not in columns]:
        raise ValueError(f"label_names must have all tags of y, got none for {first_of(absent, 5)}.")
    every[:, [columns[name] for name in found]] = labels
    changes = changes_of(corrections, PartialLabels(every, None), names, ids)
    if np.isnan(changes.values).any():
        row, label = (one[np.isnan(changes.values)][0] for one in (changes.rows, changes.labels))
        raise ValueError(f"corrections must be 0 or 1 where y has tags, got ? for row {row}, label {names[label]!r}.")
    return changes


def _with_tags(y: Any, tags: Sequence[Collection[str]], changes: Changes, names: Sequence[Any]) -> Any:
    rows = list(tags)
    for row, label, value in zip(*(part.tolist() for part in changes), strict=True):
        rows[row] = _row_of_tags(rows[row], names[label], bool(value))
    if hasattr(y, "iloc"):
        return type(y)(rows, index=y.index, name=y.name)
    if isinstance(y, np.ndarray):
        found = np.empty(len(rows), dtype=object)
        found[:] = rows
        return found
    return tuple(rows) if isinstance(y, tuple) else rows


def _row_of_tags(row: Any, tag: Any, carried: bool) -> Any:
    """Return the tags of a sample with one more, which comes last, or without one."""
    kept = [other for other in row if other != tag] + [tag] * carried
    return np.array(kept, dtype=object) if isinstance(row, np.ndarray) else type(row)(kept)


def _with_cells(y: Any, changes: Changes) -> Any:
    is_unknown = bool(np.isnan(changes.values).any())
    if sparse.issparse(y):
        return _with_entries(y, changes, is_unknown)
    if hasattr(y, "iloc"):
        return _with_columns(y, changes)
    if is_frame(y):
        raise TypeError(f"y must be an array, a pandas data frame, sparse or tags, got {type(y).__name__}.")
    corrected = np.array(checked_container("y", y))
    if is_unknown and corrected.dtype.kind in "iub":
        corrected = corrected.astype(np.float64)
    corrected[changes.rows, changes.labels] = changes.values
    return corrected


def _with_entries(y: Any, changes: Changes, is_unknown: bool) -> Any:
    """Return a sparse container with other entries in place of those that change; zeros are not stored."""
    stored = sparse.coo_array(y)
    dtype = np.float64 if is_unknown and y.dtype.kind in "iub" else y.dtype
    n_labels = y.shape[1]
    stays = ~np.isin(stored.row * np.intp(n_labels) + stored.col, changes.rows * n_labels + changes.labels)
    new = changes.values != 0  # NaN is stored
    rows = np.concatenate([stored.row[stays], changes.rows[new]])
    columns = np.concatenate([stored.col[stays], changes.labels[new]])
    values = np.concatenate([stored.data[stays].astype(dtype), changes.values[new].astype(dtype)])
    return type(y)(sparse.coo_array((values, (rows, columns)), shape=y.shape).asformat(y.format))


def _with_columns(y: Any, changes: Changes) -> Any:
    corrected = y.copy()
    for label in np.unique(changes.labels).tolist():
        of_label = changes.labels == label
        column, values = y.iloc[:, label], changes.values[of_label]
        cells = np.array(column, dtype=object)
        value_type = bool if column.dtype.kind == "b" else int
        cells[changes.rows[of_label]] = [None if np.isnan(value) else value_type(value) for value in values]
        dtype = _dtype_with_unknown(column.dtype) if np.isnan(values).any() else column.dtype
        corrected.isetitem(label, type(column)(cells, index=column.index, name=column.name).astype(dtype))
    return corrected


def _dtype_with_unknown(dtype: Any) -> Any:
    """Return the type of a column with missing values: float64 for NumPy integers, which keeps the values."""
    if dtype.kind not in "iub":
        return dtype
    if hasattr(dtype, "fill_value"):
        return type(dtype)(np.float64, 0)
    return np.float64 if isinstance(dtype, np.dtype) else dtype
