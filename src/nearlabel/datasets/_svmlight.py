"""The multi-label svmlight format: ``label,label index:value ...``, and the matrices of extreme classification.

scikit-learn reads it too; here the rows go straight into the matrices, and a mistake is reported with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._lines import (
    BYTE_ORDER_MARK,
    NUMBER_PATTERN,
    Lines,
    malformed,
    name_of_data,
    only_returned,
    parse_numbers,
)
from nearlabel.datasets._nominal import SparseRows
from nearlabel.datasets._numbered_names import NumberedNames
from nearlabel.datasets._table_file import EXACT, NOT_EXACT, is_exact
from nearlabel.files.untrusted import naming_too_large
from nearlabel.utils.types import CSR, FloatArray, IntArray
from nearlabel.utils.validation import check_integer

_INDEX = rb"\d{1,9}+(?!\d)"  # fits a 32-bit index
_LABEL = _INDEX + rb"(?:\.0*+)?+"  # some writers give labels as floats
_ROW = re.compile(rb"(?:(%b(?:,%b)*+)(?![^\s]))?+((?:\s++%b:%b)*+)\s*+" % (_LABEL, _LABEL, _INDEX, NUMBER_PATTERN))
_SCORED = re.compile(rb"(%b:%b(?:,%b:%b)++)((?:\s++%b:%b)++)\s*+" % ((_INDEX, NUMBER_PATTERN) * 3))
_DIMENSIONS = re.compile(rb"\s*(\d+)\s+(\d+)(?:\s+(\d+))?\s*")
_MOST_DIGITS = 18  # of an integer of 64 bits
_QUERY = re.compile(rb"\s++qid:\d++(?!\S|\s*+,)")  # not among the labels
_MOST_LABELS = 4_000_000  # unless the caller declares the number; the largest public data sets have 3 million
_MOST_COLUMNS = 2**31 - 1  # which 32 bits can number
_COLONS = bytes.maketrans(b":\t\n", b"   ")
_MATRICES = (("X_Xf", "X_Y"), ("ft_mat", "lbl_mat"))  # in the names of files of features, and of their labels
_HINTS = (  # what begins as a malformed row does may be of another kind
    (re.compile(rb"%%MatrixMarket"), "scipy.io.mmread reads Matrix Market files."),
    (re.compile(rb"[-+]?+\d*+\.\d++(?:[eE][-+]?+\d++)?+$"), "propensities, a number on each line, are no rows."),
    (re.compile(rb"\d++\s++\d++$"), "pairs of numbers, such as those that an evaluation filters out, are no rows."),
    (re.compile(rb"\d++(?:[\s,;]++\d++)++$"), "a first line of numbers must be the rows, features and labels."),
    (re.compile(rb"[^#]*?:[-+]?+\d++,\d"), "decimals must have a point."),
    (re.compile(rb"qid:"), "qid:n must come behind the labels, or a blank."),
    (re.compile(rb"[^\d\s]"), "a table must end in .csv or .tsv."),
)

_Base: TypeAlias = bool | Literal["auto"]  # whether columns count from 0


@naming_too_large
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
    ``index:value`` pairs. ``qid:n`` is ignored, ``#`` begins a comment. Labels may have the score 1, as in
    ``3:1,5:1 0:0.5``, if no other row begins with a pair, which may be a label or a feature. A first line of three
    integers (rows, features, labels), as in the extreme classification repository, is accepted. Empty lines are
    ignored.

    A first line of two integers (rows, columns) begins a matrix, as in the newer files of that repository. Then an
    empty line is a row, and the labels are a matrix of their own: those of ``trn_X_Xf.txt`` are in ``trn_X_Y.txt``,
    those of ``trn_ft_mat.txt`` in ``trn_lbl_mat.txt``, in the same folder.

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
    if reader.is_matrix and not reader.has_labels:
        reader.add_labels(_labels_beside(path), max_unpacked_bytes)
    X, Y = reader.matrices(zero_based, labels_zero_based)
    names = NumberedNames(X.shape[1]), NumberedNames(Y.shape[1])
    return Dataset(X, Y.astype(np.int64), *names, name_of_data(path), source=str(path))


def svmlight_rows(lines: Lines) -> Iterator[CSR]:
    """Yield the features of the rows in blocks of CSR rows, each as wide as it needs; labels are ignored."""
    reader = _Reader(lines.path, None, _MOST_COLUMNS)
    for first_line, block in lines.blocks():
        reader.add(first_line, block)
        yield reader.features()


def _labels_beside(path: Path) -> Path:
    """Return the file of the labels of a matrix of features."""
    for features, labels in _MATRICES:
        if labels in path.name:
            expected = f"{path} must be a matrix of features, got one of labels by its name"
            raise ValueError(f"{expected}. Hint: {path.name.replace(labels, features)} next to it.")
        if features in path.name and (beside := path.with_name(path.name.replace(features, labels))).is_file():
            return beside
    names = " and ".join(f"data_{part}.txt" for part in _MATRICES[0])
    raise ValueError(
        f"{path} must have labels, got a matrix without (its first line has two numbers)."
        f" Hint: features and labels are two files in one folder, named such as {names}."
    )


def _check_arguments(n_features: int | None, n_labels: int | None, **bases: object) -> None:
    for name, value in (("n_features", n_features), ("n_labels", n_labels)):
        if value is not None:
            check_integer(name, value, low=1)
    for name, base in bases.items():
        if base not in (True, False, "auto"):
            raise ValueError(f"{name} must be True, False or 'auto', got {base!r}.")


class _Reader:
    """The rows read so far, and the numbers of columns where known.

    `pairs` are what pairs mean: "feature index", or "label" in a matrix of labels.
    """

    def __init__(self, path: Path, n_features: int | None, n_labels: int | None, pairs: str = "feature index") -> None:
        self._path = path
        self._limits = {"feature index": n_features, "label": n_labels}
        self._pairs = pairs
        self._n_rows: int | None = None
        self._rows_of = {"feature index": SparseRows(), "label": SparseRows()}
        self._n_read = 0
        self._first_labels: bytes | None = None  # of a first row without features
        self._begins_with_pair = self._has_scores = 0  # the first lines that do
        self.is_matrix = False

    @property
    def has_labels(self) -> bool:
        """Whether some row has a label."""
        return self._rows_of["label"].width > 0

    def add(self, first_line: int, block: bytes) -> None:
        """Read one block of lines."""
        rows = list(self._rows(first_line, block.removeprefix(BYTE_ORDER_MARK) if first_line == 1 else block))
        numbers = [number for number, _, _ in rows]
        heads, tails = [head for _, head, _ in rows], [tail for _, _, tail in rows]
        labels = parse_numbers(b",".join(filter(None, heads)), ",")
        label_counts = [head.count(b",") + 1 if head else 0 for head in heads]
        if self._pairs != "label":
            self._append("label", numbers, label_counts, labels, np.ones(len(labels)))
        text = b" ".join(tails).translate(_COLONS)
        pairs = parse_numbers(text, " ").reshape(-1, 2)
        counts = [tail.count(b":") for tail in tails]
        if (large := np.flatnonzero(np.abs(pairs[:, 1]) >= EXACT)).size:
            self._check_exact(large, text, np.repeat(numbers, counts))
        del text  # the memory of a block is bounded
        self._append(self._pairs, numbers, counts, pairs[:, 0], pairs[:, 1].copy())

    def add_labels(self, path: Path, limit: int | None) -> None:
        """Read the labels of the rows from a matrix of their own."""
        reader = _Reader(path, None, self._limits["label"], pairs="label")
        with Lines(path, limit) as lines:
            for first_line, block in lines.blocks():
                reader.add(first_line, block)
        n_rows, n_labelled = len(self._rows_of["feature index"]), len(reader._rows_of["label"])
        if n_labelled != n_rows:
            raise ValueError(f"{path} must contain {n_rows} rows, as {self._path} does, got {n_labelled}.")
        self._rows_of["label"], self._limits["label"] = reader._rows_of["label"], reader._limits["label"]

    def _rows(self, first_line: int, block: bytes) -> Iterator[tuple[int, bytes, bytes]]:
        """Yield (line number, labels, pairs) of the lines that contain a row."""
        for number, line in enumerate(block.split(b"\n")[:-1], first_line):
            if b"\r" in line and b"\r" in line.rstrip(b"\r"):
                raise only_returned(self._path, number)
            row = line.partition(b"#")[0]
            if not row.strip():
                if self.is_matrix and row == line and self._n_read < (self._n_rows or 0):
                    self._n_read += 1
                    yield number, b"", b""
                continue
            if self._n_rows is None and not self._n_read and (dimensions := _DIMENSIONS.fullmatch(row)):
                self._take_dimensions(number, [one for one in dimensions.groups() if one is not None])
                continue
            labels, pairs = self._split(number, row)
            if not self._n_read and not pairs.strip():
                self._first_labels = labels
            self._n_read += 1
            yield number, labels, pairs

    def _take_dimensions(self, line: int, dimensions: Sequence[bytes]) -> None:
        """Take the numbers of rows and columns from the first line, unless the caller passed them."""
        if max(map(len, dimensions)) > _MOST_DIGITS:
            problem = f"numbers of rows, features and labels must have at most {_MOST_DIGITS} digits, got"
            raise malformed(self._path, line, f"{problem} one of {max(map(len, dimensions))}.")
        self._n_rows, *widths = map(int, dimensions)
        self.is_matrix = len(widths) == 1
        for what, width in zip([self._pairs] if self.is_matrix else ["feature index", "label"], widths, strict=True):
            if self._limits[what] is None:
                self._check_width(line, what, width)
                self._limits[what] = width

    def _check_width(self, line: int, what: str, width: int) -> None:
        if what == "label" and width > _MOST_LABELS:
            problem = f"there must be at most {_MOST_LABELS} labels, got {width}. Hint: n_labels={width}."
            raise malformed(self._path, line, problem)
        if what != "label" and width > _MOST_COLUMNS:
            raise malformed(self._path, line, f"there must be at most {_MOST_COLUMNS} features, got {width}.")

    def _split(self, number: int, row: bytes) -> tuple[bytes, bytes]:
        if b"qid:" in row and not (row := _QUERY.sub(b"", row)).strip():
            raise malformed(self._path, number, "a row must have labels or features, got a query only.")
        if not row[:1].isspace() and b":" in row.split(None, 1)[0]:
            if (match := _ROW.fullmatch(b" " + row)) is not None:
                self._begins_with_pair = self._begins_with_pair or number
                self._check_alike(number)
                return b"", match[2]
        elif (match := _ROW.fullmatch(row)) is not None:
            return match[1] or b"", match[2]
        return self._split_otherwise(number, row)

    def _split_otherwise(self, number: int, row: bytes) -> tuple[bytes, bytes]:
        """Return the labels and pairs of a row with blanks around commas, or scores of labels."""
        match = _ROW.fullmatch(b",".join(part.strip() for part in row.split(b","))) if b"," in row else None
        if match is not None and match[1]:
            return match[1], match[2]
        scored = _SCORED.fullmatch(row)
        if scored is None:
            text = row.strip()[:200]
            hint = next((hint for pattern, hint in _HINTS if pattern.match(text)), None)
            got = f"{text[:60].decode('latin-1')!r}.{'' if hint is None else f' Hint: {hint}'}"
            raise malformed(self._path, number, f"a row must read 'label,label index:value ...', got {got}")
        self._has_scores = self._has_scores or number
        self._check_alike(number)
        labels, _, scores = zip(*(part.partition(b":") for part in scored[1].split(b",")), strict=True)
        for label, score in zip(labels, scores, strict=True):
            if float(score) != 1:
                problem = f"a score of a label must be 1, got {score.decode()[:60]} for label {label.decode()}."
                raise malformed(self._path, number, f"{problem} Hint: write the labels that apply, as in '3,5 0:0.5'.")
        return b",".join(labels), scored[2]

    def _check_alike(self, number: int) -> None:
        """Raise ValueError if a row begins with a pair where labels have scores: it may be either."""
        if self._begins_with_pair and self._has_scores:
            problem = f"labels must have no scores if rows begin with a pair, got scores in line {self._has_scores}"
            got = f"and a pair, of a label or a feature, in line {self._begins_with_pair}"
            raise malformed(self._path, number, f"{problem} {got}. Hint: write labels as in '3,5 0:0.5'.")

    def _check_exact(self, large: IntArray, text: bytes, lines: IntArray) -> None:
        """Raise ValueError for the first of some pairs whose value is an integer that float64 would round."""
        values = text.split()[1::2]
        for pair in large.tolist():
            value = values[pair].decode()
            if not is_exact(value) and np.isfinite(float(value)):
                problem = f"a value must be a number, got {value[:60]} {NOT_EXACT}."
                raise malformed(self._path, int(lines[pair]), problem)

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
        if what == self._pairs == "label" and (values != 1).any():
            at = int(np.argmax(values != 1))
            problem = f"the value of a label must be 1, got {values[at]:g} for label {indices[at]}."
            raise malformed(self._path, lines[rows[at]], f"{problem} Hint: keep the labels that apply, with value 1.")
        self._rows_of[what].append(len(lines), rows, indices[order], values[order])

    def _check_range(self, what: str, lines: list[int], rows: IntArray, indices: IntArray) -> None:
        limit = self._limits[what]
        if limit is None and what == "label" and indices.max(initial=0) >= _MOST_LABELS:
            at = int(np.argmax(indices))
            problem = f"a label must be below {_MOST_LABELS}, got {indices[at]}. Hint: n_labels={indices[at] + 1}."
            raise malformed(self._path, lines[rows[at]], problem)
        if limit is not None and indices.max(initial=0) > limit:  # exactly `limit` is right where indices count from 1
            at = int(np.argmax(indices))
            raise malformed(self._path, lines[rows[at]], f"a {what} must be below {limit}, got {indices[at]}.")

    def features(self) -> CSR:
        """Return the rows of X that were not returned before, as wide as their largest index needs."""
        X = self._rows_of["feature index"]
        self._rows_of = {"feature index": SparseRows(), "label": SparseRows()}
        return X.matrix(X.width)

    def matrices(self, zero_based: _Base, labels_zero_based: _Base) -> tuple[CSR, CSR]:
        """Return X and Y."""
        X, Y = self._rows_of["feature index"], self._rows_of["label"]
        if not len(X):
            raise ValueError(f"{self._path} must contain at least one row, got none.")
        if self._n_rows not in (None, len(X)):
            raise ValueError(
                f"{self._path} must contain {self._n_rows} rows as its first line states, got {len(X)}."
                " Hint: a row without labels and features is an empty line, which is ignored."
            )
        if self._first_labels and len(X) > 1 and int(float(self._first_labels.partition(b",")[0])) == len(X) - 1:
            got = f"{self._first_labels[:60].decode()!r}, and as many rows behind it"
            problem = f"the first line must be a row, or the rows, features and labels with blanks between, got {got}."
            raise malformed(self._path, 1, problem)
        if zero_based == "auto":
            zero_based = self.is_matrix or X.first_column == 0
        if labels_zero_based == "auto":
            labels_zero_based = self.is_matrix or not Y.width or Y.first_column == 0
        limits = self._limits
        of_features = _finish(self._path, X, "feature index", limits["feature index"], zero_based=bool(zero_based))
        return of_features, _finish(self._path, Y, "label", limits["label"], zero_based=bool(labels_zero_based))


def _finish(path: Path, store: SparseRows, what: str, width: int | None, *, zero_based: bool) -> CSR:
    if store.width and not zero_based:
        if store.first_column == 0:
            raise ValueError(f"{path}: a {what} must be at least 1 where they count from 1, got 0.")
        store.shift(-1)
    if width is not None and store.width > width:
        raise ValueError(f"{path}: a {what} must be below {width}, got {store.width - 1}.")
    if not (width or store.width):
        hint = "a row is 'label,label index:value ...'"
        raise ValueError(f"{path} must contain at least one {what}, got none. Hint: {hint}.")
    return store.matrix(width if width is not None else store.width)
