"""The multi-label svmlight format: ``label,label index:value ...``.

scikit-learn reads it too; here the rows go straight into the matrices, and a mistake is reported with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._lines import NUMBER_PATTERN, Lines, malformed, name_of_data, parse_numbers
from nearlabel.datasets._nominal import SparseRows
from nearlabel.datasets._numbered_names import NumberedNames
from nearlabel.utils.types import CSR, FloatArray, IntArray
from nearlabel.utils.validation import check_integer

_INDEX = rb"\d{1,9}+(?!\d)"  # fits a 32-bit index
_LABEL = _INDEX + rb"(?:\.0*+)?+"  # some writers give labels as floats
_ROW = re.compile(rb"(?:(%b(?:,%b)*+)(?![^\s]))?+((?:\s++%b:%b)*+)\s*+" % (_LABEL, _LABEL, _INDEX, NUMBER_PATTERN))
_DIMENSIONS = re.compile(rb"\s*(\d+)\s+(\d+)\s+(\d+)\s*")
_MOST_DIGITS = 18  # of an integer of 64 bits
_QUERY = re.compile(rb"\sqid:\d+")
_MOST_LABELS = 4_000_000  # unless the caller declares the number; the largest public data sets have 3 million
_MOST_COLUMNS = 2**31 - 1  # which 32 bits can number
_COLONS = bytes.maketrans(b":\t\n", b"   ")

_Base: TypeAlias = bool | Literal["auto"]  # whether columns count from 0


def read_svmlight(
    path: str | Path,
    n_features: int | None = None,
    n_labels: int | None = None,
    *,
    zero_based: bool | Literal["auto"] = True,
    labels_zero_based: bool | Literal["auto"] = True,
    max_unpacked_bytes: int | None = None,
) -> Dataset:
    r"""Read a multi-label file in svmlight (LIBSVM) format.

    A row is a comma list of label numbers (none: the row begins with a blank or with its first feature), then
    ``index:value`` pairs. ``qid:n`` is ignored, ``#`` begins a comment. A first line of three integers (rows, features,
    labels), as in the extreme classification repository, is accepted. Empty lines are ignored.

    Parameters
    ----------
    path : path-like
        Plain, gzip or bzip2.
    n_features, n_labels : int, default=None
        Number of columns of X and Y; by default the largest index decides. Pass them for a test file that may lack the
        last columns, and `n_labels` for a file of more than 4,000,000 labels: each label takes time and memory, whether
        a row has it or not, so a larger number in the file alone raises an error.
    zero_based : bool or "auto", default=True
        Whether feature indices count from 0. With True a file that counts from 1 only gets an empty first column, which
        changes no distance; "auto" assumes that a file without index 0 counts from 1, which may differ between two
        parts of one data set.
    labels_zero_based : bool or "auto", default=True
        Whether label numbers count from 0. "auto" assumes that a file without label 0 counts from 1: an empty label
        would change every metric that averages over labels.
    max_unpacked_bytes : int, default=None
        How many bytes a compressed file may unpack to. None: 100 times its size, at least 512 MiB.

    Returns
    -------
    Dataset
        X and Y are CSR arrays (n_samples, n_features) and (n_samples, n_labels); names are the indices as text.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    TypeError, ValueError
        If a row is malformed or an index out of range (with file and line), or a parameter is of a wrong kind.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "pets.svm"
    >>> _ = path.write_text("0,2 0:3.5 # a cat\n 1:2\n")
    >>> pets = read_svmlight(path)
    >>> pets.Y.toarray().tolist(), pets.X.toarray().tolist()
    ([[1, 0, 1], [0, 0, 0]], [[3.5, 0.0], [0.0, 2.0]])
    """
    path = Path(path)
    _check_arguments(n_features, n_labels, zero_based=zero_based, labels_zero_based=labels_zero_based)
    with Lines(path, max_unpacked_bytes) as lines:
        reader = _Reader(path, n_features, n_labels)
        for first_line, block in lines.blocks():
            reader.add(first_line, block)
    X, Y = reader.matrices(zero_based, labels_zero_based)
    names = NumberedNames(X.shape[1]), NumberedNames(Y.shape[1])
    return Dataset(X, Y.astype(np.int64), *names, name_of_data(path), source=str(path))


def svmlight_rows(lines: Lines) -> Iterator[CSR]:
    """Yield the features of the rows in blocks of CSR rows, each as wide as it needs; labels are ignored."""
    for first_line, block in lines.blocks():
        reader = _Reader(lines.path, None, _MOST_COLUMNS)
        reader.add(first_line, block)
        yield reader.features()


def _check_arguments(n_features: int | None, n_labels: int | None, **bases: object) -> None:
    for name, value in (("n_features", n_features), ("n_labels", n_labels)):
        if value is not None:
            check_integer(name, value, low=1)
    for name, base in bases.items():
        if base not in (True, False, "auto"):
            raise ValueError(f"{name} must be True, False or 'auto', got {base!r}.")


class _Reader:
    """The rows read so far, and the numbers of columns where known."""

    def __init__(self, path: Path, n_features: int | None, n_labels: int | None) -> None:
        self._path = path
        self._n_features = n_features
        self._n_labels = n_labels
        self._n_rows: int | None = None
        self._X = SparseRows()
        self._Y = SparseRows()

    def add(self, first_line: int, block: bytes) -> None:
        """Read one block of lines."""
        rows = list(self._rows(first_line, block))
        numbers = [number for number, _, _ in rows]
        heads, tails = [head for _, head, _ in rows], [tail for _, _, tail in rows]
        labels = parse_numbers(b",".join(filter(None, heads)), ",")
        label_counts = [head.count(b",") + 1 if head else 0 for head in heads]
        self._append("label", numbers, label_counts, labels, np.ones(len(labels)))
        pairs = parse_numbers(b" ".join(tails).translate(_COLONS), " ").reshape(-1, 2)
        counts = [tail.count(b":") for tail in tails]
        self._append("feature index", numbers, counts, pairs[:, 0], pairs[:, 1].copy())

    def _rows(self, first_line: int, block: bytes) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield (line number, labels, pairs) of the lines that contain a row."""
        for number, line in enumerate(block.split(b"\n"), first_line):
            row = line.partition(b"#")[0]
            if not row.strip():
                continue
            if number == 1 and (dimensions := _DIMENSIONS.fullmatch(row)):
                self._take_dimensions(dimensions.groups())
                continue
            yield number, *self._split(number, row)

    def _take_dimensions(self, dimensions: Sequence[bytes]) -> None:
        """Take the numbers of rows, features and labels from the first line, unless the caller passed them."""
        if max(map(len, dimensions)) > _MOST_DIGITS:
            problem = f"numbers of rows, features and labels must have at most {_MOST_DIGITS} digits, got"
            raise malformed(self._path, 1, f"{problem} one of {max(map(len, dimensions))}.")
        self._n_rows, n_features, n_labels = map(int, dimensions)
        if self._n_features is None and n_features > _MOST_COLUMNS:
            raise malformed(self._path, 1, f"there must be at most {_MOST_COLUMNS} features, got {n_features}.")
        if self._n_labels is None and n_labels > _MOST_LABELS:
            problem = f"there must be at most {_MOST_LABELS} labels, got {n_labels}. Hint: n_labels={n_labels}."
            raise malformed(self._path, 1, problem)
        self._n_features = self._n_features or n_features
        self._n_labels = self._n_labels or n_labels

    def _split(self, number: int, row: bytes) -> tuple[bytes, bytes]:
        if b"qid:" in row:
            row = _QUERY.sub(b"", row)
        match = _ROW.fullmatch(row if row[:1].isspace() or b":" not in row.split(None, 1)[0] else b" " + row)
        if match is None:
            got = row.strip()[:60].decode("latin-1")
            raise malformed(self._path, number, f"a row must read 'label,label index:value ...', got {got!r}.")
        return match[1] or b"", match[2]

    def _append(self, what: str, lines: list[int], counts: list[int], columns: FloatArray, values: FloatArray) -> None:
        rows = np.repeat(np.arange(len(lines)), np.array(counts, dtype=np.intp))
        indices = columns.astype(np.intp)
        order = np.lexsort((indices, rows))
        same = (np.diff(rows[order]) == 0) & (np.diff(indices[order]) == 0)
        if same.any():
            at = order[np.flatnonzero(same)[0]]
            problem = f"a {what} must occur once in a row, got {indices[at]} twice."
            raise malformed(self._path, lines[rows[at]], problem)
        if not np.isfinite(values).all():
            at = np.flatnonzero(~np.isfinite(values))[0]
            raise malformed(self._path, lines[rows[at]], f"a value must be finite, got {values[at]}.")
        self._check_range(what, lines, rows, indices)
        store = self._Y if what == "label" else self._X
        store.append(len(lines), rows, indices[order], values[order])

    def _check_range(self, what: str, lines: list[int], rows: IntArray, indices: IntArray) -> None:
        limit = self._n_labels if what == "label" else self._n_features
        if limit is None and what == "label" and indices.max(initial=0) >= _MOST_LABELS:
            at = int(np.argmax(indices))
            problem = f"a label must be below {_MOST_LABELS}, got {indices[at]}. Hint: n_labels={indices[at] + 1}."
            raise malformed(self._path, lines[rows[at]], problem)
        if limit is not None and indices.max(initial=0) > limit:  # exactly `limit` is right where indices count from 1
            at = int(np.argmax(indices))
            raise malformed(self._path, lines[rows[at]], f"a {what} must be below {limit}, got {indices[at]}.")

    def features(self) -> CSR:
        """Return X as wide as its largest index needs."""
        return self._X.matrix(self._X.width)

    def matrices(self, zero_based: _Base, labels_zero_based: _Base) -> tuple[CSR, CSR]:
        """Return X and Y."""
        if not len(self._X):
            raise ValueError(f"{self._path} must contain at least one row, got none.")
        if self._n_rows not in (None, len(self._X)):
            raise ValueError(
                f"{self._path} must contain {self._n_rows} rows as its first line states, got {len(self._X)}."
                " Hint: a row without labels and features is an empty line, which is ignored."
            )
        if zero_based == "auto":
            zero_based = self._X.first_column == 0
        if labels_zero_based == "auto":
            labels_zero_based = not self._Y.width or self._Y.first_column == 0
        X = _finish(self._path, self._X, "feature index", self._n_features, bool(zero_based))
        return X, _finish(self._path, self._Y, "label", self._n_labels, bool(labels_zero_based))


def _finish(path: Path, store: SparseRows, what: str, width: int | None, zero_based: bool) -> CSR:
    if store.width and not zero_based:
        if store.first_column == 0:
            raise ValueError(f"{path}: a {what} must be at least 1 where they count from 1, got 0.")
        store.shift(-1)
    if width is not None and store.width > width:
        raise ValueError(f"{path}: a {what} must be below {width}, got {store.width - 1}.")
    if not (width or store.width):
        raise ValueError(f"{path} must contain at least one {what}, got none.")
    return store.matrix(width if width is not None else store.width)
