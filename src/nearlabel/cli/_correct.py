"""``nearlabel audit --apply``: DATA with corrected labels, in a new file."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.audit import Correction, apply_corrections, read_corrections
from nearlabel.cli import _console, _data, _kept
from nearlabel.datasets import Dataset, write_npz
from nearlabel.datasets.tables import check_same_format, column_names_of, copy_with_labels
from nearlabel.files.atomic_file import check_can_be_written
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import Matrix

_ARRAYS = ".npz"


def main(arguments: argparse.Namespace) -> None:
    """Read DATA and corrections, check all of them, write the copy, print the changes."""
    _check_out(arguments)
    corrections = read_corrections(arguments.apply, id_column=arguments.id)
    ids = None if arguments.id is None else _kept.open_kept(arguments)[arguments.id]
    data = _data.open_data(_kept.without_kept(arguments))
    Y = apply_corrections(data.Y, corrections, label_names=data.label_names, ids=ids)
    changes = list(_changes(data, Y))
    if arguments.file.suffix.lower() == _ARRAYS:
        _write_arrays(arguments.file, replace(data, Y=Y))
    else:
        _write_table(arguments, changes)
    _console.print_lines(f"{_told(corrections, changes)}\nData: {arguments.file}")


def _check_out(arguments: argparse.Namespace) -> None:
    """Refuse a file that cannot or must not be written, or would have another format, before anything is read."""
    file = arguments.file
    _data.check_file(arguments.data)
    is_table = _data.is_file(arguments.data) and column_names_of(Path(arguments.data)) is not None
    if is_table and file.suffix.lower() != _ARRAYS:
        check_same_format(Path(arguments.data), file)
    elif file.suffix.lower() != _ARRAYS:
        raise ValueError(f"--out must end in {_ARRAYS} for {arguments.data}, got {file.name!r}.")
    check_can_be_written(file, name="--out")
    _data.check_other_file(file, [arguments.apply], "--out", "the corrections")
    if file.exists() and not arguments.force:
        raise FileExistsError(f"{file} already exists. Hint: --force overwrites it.")


def _changes(data: Dataset, corrected: Matrix) -> Iterator[tuple[int, str, float]]:
    """Yield row, name of the label and new value, NaN for unknown, of each cell that changes."""
    before, after = PartialLabels.of(data.Y, dtype=None), PartialLabels.of(corrected, dtype=None)
    differ = _differ(before.labels, after.labels) + _differ(_mask(before), _mask(after))
    values, cells = after.with_nan(), sparse.coo_array(differ)
    for row, label in sorted(zip(cells.row.tolist(), cells.col.tolist(), strict=True)):
        yield row, data.label_names[label], float(values[row, label])


def _differ(one: Matrix, other: Matrix) -> Any:
    return sparse.csr_array(one, dtype=np.int8) != sparse.csr_array(other, dtype=np.int8)


def _mask(parts: PartialLabels) -> Matrix:
    return sparse.csr_array(parts.labels.shape, dtype=np.int8) if parts.unknown is None else parts.unknown


def _write_arrays(file: Path, data: Dataset) -> None:
    if data.X.dtype.kind == "O":
        raise ValueError(f"--out must end like DATA if columns contain no numbers, got {file.name!r}.")
    write_npz(file, data)


def _write_table(arguments: argparse.Namespace, changes: Sequence[tuple[int, str, float]]) -> None:
    column = arguments.labels_column
    copy_with_labels(
        Path(arguments.data),
        arguments.file,
        changes,
        labels_column=column,
        separator="" if column is None else _data.separator_of(arguments),
        unknown=arguments.unknown,
    )


def _told(corrections: Sequence[Correction], changes: Sequence[tuple[int, str, float]]) -> str:
    n_rows = len({row for row, _, _ in changes})
    cells, rows = ("cell" if len(changes) == 1 else "cells"), ("row" if n_rows == 1 else "rows")
    as_they_were = len({(one.id or one.row, one.label) for one in corrections}) - len(changes)
    told = f"Corrected {len(changes)} {cells} in {n_rows} {rows}"
    return told + (f"; {as_they_were} had the correct value already." if as_they_were else ".")
