"""What must hold for an answer that a reader gives, whatever its input was."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import zlib
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np
from scipy import sparse

from fuzz.target import WrongAnswerError
from nearlabel.datasets import Dataset, open_rows, read_npz, write_npz

MOST_CELLS = 10**7  # of answers that are compared cell by cell
MOST_COLUMNS = 10**5  # of answers that are written and read again: a row of svmlight may name column 999,999,999


def check(holds: Any, problem: str) -> None:
    """Raise WrongAnswerError unless something holds."""
    if not holds:
        raise WrongAnswerError(problem)


def check_dataset(data: Dataset) -> None:
    """Check that the parts of a data set agree, and that its labels are 0, 1 or unknown."""
    X, Y = data.X, data.Y
    check(X.ndim == 2 and Y.ndim == 2, f"shapes: {X.shape}, {Y.shape}")
    check(X.shape[0] == Y.shape[0] > 0, f"rows: {X.shape[0]} of X, {Y.shape[0]} of Y")
    check(len(data.feature_names) == X.shape[1], "feature_names: as many as columns")
    check(len(data.label_names) == Y.shape[1], "label_names: as many as columns")
    check(len(data.feature_kinds) == X.shape[1], "feature_kinds: as many as columns")
    check(data.source and data.name is not None, "source: is told")
    for matrix in (X, Y):
        if sparse.issparse(matrix):
            matrix.check_format(full_check=True)
            check(sparse.csr_array(matrix.copy()).has_canonical_format, "csr: canonical")
    values = Y.data if sparse.issparse(Y) else Y
    unknown = np.isnan(values)
    check(np.isin(values[~unknown], (0, 1)).all(), "Y: only 0, 1 and NaN")
    check(Y.dtype == (np.float64 if unknown.any() else np.int64), f"Y: of type {Y.dtype}, unknown {unknown.any()}")
    if X.dtype != object:
        check(X.dtype == np.float64, f"X: of type {X.dtype}")


def same_matrix(one: Any, other: Any) -> bool:
    """Return whether two matrices are equal, NaN to NaN, and stored alike."""
    if one.shape != other.shape or one.dtype != other.dtype or sparse.issparse(one) != sparse.issparse(other):
        return False
    if sparse.issparse(one):
        parts = zip((one.data, one.indices, one.indptr), (other.data, other.indices, other.indptr), strict=True)
        return all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in parts)
    if one.dtype == object:
        return one.tolist() == other.tolist() or all(map(_same, one.ravel(), other.ravel()))
    return np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _same(one: Any, other: Any) -> bool:
    return one == other or (one != one and other != other)


def check_same(one: Dataset, other: Dataset, what: str) -> None:
    """Check that two data sets are equal, apart from name and source."""
    check(same_matrix(one.X, other.X), f"{what}: X is another")
    check(same_matrix(one.Y, other.Y), f"{what}: Y is another")
    for part in ("feature_names", "label_names", "feature_kinds"):
        check(getattr(one, part) == getattr(other, part), f"{what}: {part} are others")


def check_written(data: Dataset, folder: Path) -> None:
    """Write an answer to NPZ and read it again; for one in eight, since it costs more than most reading does."""
    if max(data.X.shape[1], data.Y.shape[1]) > MOST_COLUMNS or data.sample_weight is not None:  # NPZ has no weights
        return
    if data.X.dtype != object and zlib.crc32(repr((data.feature_names, data.X.shape)).encode()) % 8 == 0:
        try:
            path = write_npz(folder / "again.npz", data)
        except ValueError:
            names = (*data.feature_names, *data.label_names)
            check(any(name.endswith("\0") for name in names), "not written, though all names can be")
            return
        check_same(data, read_npz(path), "written and read again")


def check_rows(path: Path, data: Dataset, **options: Any) -> None:
    """Check that the rows of a file in blocks are those that reading it whole gives."""
    if math.prod(data.X.shape) > MOST_CELLS or not 0 < data.X.shape[1] <= MOST_COLUMNS:
        return
    if len(set(data.feature_names)) < data.X.shape[1]:
        return
    blocks = [block.X for block in open_rows(path, data.feature_names, block_rows=2, **options)]
    X = sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.vstack(blocks)
    whole = data.X
    if sparse.issparse(X) != sparse.issparse(whole):
        X, whole = (m.toarray() if sparse.issparse(m) else m for m in (X, whole))
    if sparse.issparse(X):
        check((X.shape == whole.shape and (whole != X).nnz == 0) or np.isnan(whole.data).any(), "open_rows: other rows")
    else:
        check(same_matrix(X, whole), "open_rows: other rows")


# Independent readings of simple files, by other programs than ours.


def check_csv(path: Path, data: Dataset, *, delimiter: str, labels: Iterable[str], ignored: Iterable[str] = ()) -> None:
    """Compare features of a CSV file with what Python's csv module reads, where it has as many rows."""
    text = path.read_bytes().decode("utf-8-sig", "replace")
    if "\r" in text.replace("\r\n", "") or "\ufffd" in text or "\x00" in text:
        return  # other ends of lines, another encoding: the csv module reads them otherwise
    before = csv.field_size_limit(len(text) + 1)  # it refuses cells that ours reads
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if line]
    finally:
        csv.field_size_limit(before)  # of the whole process
    if len(lines) != data.X.shape[0] + 1:
        return
    names = lines[0] if len(lines[1]) == len(lines[0]) else ["", *lines[0]]
    for column, name in enumerate(data.feature_names):
        check(name in names, f"csv: there is no column {name[:40]!r}")
        at = names.index(name)
        for row, line in enumerate(lines[1:]):
            _check_number(line[at], data.X[row, column], f"csv: row {row}, column {name[:40]!r}")


_MISSING = ("", "na", "n/a", "nan", "null", "none")
_TRUTHS = {"true": 1.0, "false": 0.0}


def _check_number(text: str, value: Any, where: str) -> None:
    text = text.strip()
    if text.lower() in _MISSING:
        check(math.isnan(value), f"{where}: {text!r} was read as {value}")
        return
    try:
        expected = _TRUTHS.get(text.lower())
        expected = float(text) if expected is None else expected
    except ValueError:
        raise WrongAnswerError(f"{where}: {text[:40]!r}, which is no number, was read as {value}") from None
    check("_" not in text, f"{where}: {text[:40]!r} was read as a number")
    check(_same(expected, value), f"{where}: {text[:40]!r} was read as {value}")


def check_arff(path: Path, data: Dataset, n_labels: int) -> None:
    """Compare a plain dense ARFF file of numbers, labels first, with its cells by `float`."""
    content = path.read_bytes()
    head, found, body = content.partition(b"@data\n")
    if not found or any(mark in content for mark in (b"'", b'"', b"%", b"\\", b"\r", b"\x00", b"?")):
        return
    if b"{" in body or not body.isascii() or any(len(line) > 10_000 for line in body.splitlines()):
        return
    lines = [line for line in body.split(b"\n") if line.strip()]
    check(len(lines) == data.X.shape[0], f"arff: {data.X.shape[0]} rows of {len(lines)}")
    if not all(kind == "number" for kind in data.feature_kinds) or b"date" in head.lower():
        return
    for row, line in enumerate(lines):
        cells = line.split(b",")
        if len(cells) != data.X.shape[1] + n_labels:
            return  # blanks, too, part cells in some files
        for column, cell in enumerate(cells[n_labels:]):
            _check_number(cell.decode(), data.X[row, column], f"arff: row {row}, column {column}")


def check_arff_blanks(path: Path, data: Dataset, n_labels: int) -> None:
    """Compare a plain ARFF file of numbers between commas, blanks or tabs with what splitting its lines gives."""
    _, found, body = path.read_bytes().partition(b"@data\n")
    if not found or set(body) - set(b"0123456789+-.eE{}, \t\n") or body.lstrip().startswith(b"{"):
        return
    if not all(kind == "number" for kind in data.feature_kinds):
        return
    lines = [line.partition(b"{") for line in body.split(b"\n") if line.strip()]
    check(len(lines) == data.X.shape[0], f"arff: {data.X.shape[0]} rows of {len(lines)}")
    for row, (line, brace, weight) in enumerate(lines):
        cells = line.replace(b",", b" ").split()
        check(len(cells) == data.X.shape[1] + n_labels, f"arff: row {row} has {len(cells)} cells")
        for column, cell in enumerate(cells[n_labels:]):
            _check_number(cell.decode(), data.X[row, column], f"arff: row {row}, column {column}")
        expected = float(weight.rstrip(b"} \t").decode()) if brace else 1.0
        got = 1.0 if data.sample_weight is None else data.sample_weight[row]
        check(expected == got, f"arff: row {row} weighs {got}")


def check_cells(data: Dataset) -> None:
    """Check that each cell of an array of objects is of the kind of its column."""
    types: dict[str, Any] = {
        "number": float,
        "category": (str, NoneType),
        "text": (str, NoneType),
        "date": (datetime, float),
    }
    for column, kind in enumerate(data.feature_kinds):
        for cell in data.X[:, column]:
            check(isinstance(cell, types[kind]), f"cells: {type(cell).__name__} in a column of kind {kind}")


def check_svmlight(path: Path, data: Dataset, base: int, label_base: int) -> None:
    """Compare a svmlight file with its tokens by `split`, `int` and `float`."""
    rows = []
    is_first, n_rows = True, 0  # those that a matrix declares, in which an empty line is one
    for whole in path.read_bytes().removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        line = whole.partition(b"#")[0]
        tokens = line.split()
        if is_first and len(tokens) in (2, 3) and all(token.isdigit() for token in tokens):
            n_rows = int(tokens[0]) if len(tokens) == 2 else 0
        elif tokens:
            if b"," in line:  # only between labels, with blanks around or scores before
                labels, *pairs = b",".join(part.strip() for part in line.split(b",")).split()
                rows.append([re.sub(rb":[^,]+", b"", labels), *pairs])
            else:
                rows.append(tokens if not line[:1].isspace() and b":" not in tokens[0] else [b"", *tokens])
        elif len(rows) < n_rows and line == whole:
            rows.append([b""])
        is_first = is_first and not tokens
    check(len(rows) == data.X.shape[0], f"svmlight: {data.X.shape[0]} rows of {len(rows)}")
    for row, (labels, *pairs) in enumerate(rows):
        wanted: dict[int, float] = {}
        for pair in pairs:
            index, _, value = pair.partition(b":")
            if index != b"qid":
                wanted[int(index) - base] = float(value)
        one = slice(data.X.indptr[row], data.X.indptr[row + 1])
        got = {k: v for k, v in zip(data.X.indices[one].tolist(), data.X.data[one].tolist(), strict=True) if v}
        check(got == {k: v for k, v in wanted.items() if v}, f"svmlight: features of row {row}: {got}"[:300])
        carried = {int(float(label)) - label_base for label in labels.split(b",") if label}
        ones = data.Y.indices[data.Y.indptr[row] : data.Y.indptr[row + 1]].tolist()
        check(set(ones) == carried, f"svmlight: labels of row {row}: {ones[:20]}")


def check_json_lines(path: Path, data: Dataset) -> None:
    """Compare the features of JSON lines, or of an array, with the values that `json` reads."""
    text = path.read_bytes().decode("utf-8-sig", "surrogatepass")
    if path.suffix == ".json" and text.lstrip().startswith("["):
        objects = json.loads(text, parse_int=float)
    else:
        objects = [json.loads(line, parse_int=float) for line in text.split("\n") if line.strip()]
    check(len(objects) == data.X.shape[0], f"json: {data.X.shape[0]} rows of {len(objects)}")
    for column, name in enumerate(data.feature_names):
        for row, one in enumerate(objects):
            value = one.get(name)
            if isinstance(value, bool | float):
                check(_same(float(value), data.X[row, column]), f"json: row {row}, {name[:40]!r}")
            elif value is None and name in one:
                check(math.isnan(data.X[row, column]), f"json: row {row}, {name[:40]!r}")
