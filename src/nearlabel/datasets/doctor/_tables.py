"""X of any container as one matrix, with columns that are no numbers apart; and the findings in its rows."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.utils import check_array

from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._nominal import AGAIN
from nearlabel.datasets._numbered_names import counts_of
from nearlabel.datasets._numeric_columns import are_few, have_words
from nearlabel.datasets.doctor._finding import Finding, counted, percent
from nearlabel.preprocessing import MixedFeaturesEncoder
from nearlabel.utils.containers import (
    as_array,
    check_exact,
    checked_container,
    checked_samples,
    columns_of,
    is_categorical,
    is_frame,
    missing,
    objects_of,
)
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import AnyArray, BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import canonical, row_blocks, uneven_blocks

CATEGORY, TEXT, DATE, IDENTIFIER = "category", "text", "date", "identifier"
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_SAMPLED_VALUES = 1000
_CODE_BYTES = 6  # a float64 represents them exactly


class Other:
    """A column without numbers; `is_declared` is whether its kind was declared, rather than guessed."""

    def __init__(self, name: str, kind: str, values: AnyArray, *, is_declared: bool) -> None:
        self.name, self.kind, self.values, self.is_declared = name, kind, values, is_declared

    @property
    def is_compared(self) -> bool:
        """Whether rows are compared by it; identifiers, and dates that were not declared, should be left out."""
        return self.is_declared or self.kind in (CATEGORY, TEXT)

    @cached_property
    def lacking(self) -> BoolArray:
        """Which values are missing; for texts also those with blanks only."""
        return np.asarray(missing(self.values) | (self._texts == ""))

    @cached_property
    def n_distinct(self) -> int:
        """Number of distinct values."""
        return len(set(self._texts[~self.lacking].tolist()))

    @property
    def constant(self) -> bool:
        """Whether it has one value only."""
        return self.n_distinct == 1 and not self.lacking.any()

    @property
    def has_words(self) -> bool:
        """Whether most values are of several words."""
        return have_words(self._texts[~self.lacking].tolist())

    @cached_property
    def _texts(self) -> AnyArray:
        return objects_of([str(value).strip() for value in self.values])

    @property
    def cells(self) -> AnyArray:
        """The values for an encoder, None where one is missing: categories of several types are no error here."""
        return np.where(self.lacking, np.array(None), self.values if self.kind == DATE else self._texts)

    @property
    def dates(self) -> FloatArray | None:
        """The dates as numbers, NaN where one is missing; None if they are texts in another order than 2026-01-31."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="no explicit representation of timezones")  # all become UTC
            try:
                dates = np.where(self.lacking, np.array(None), self.values).astype("datetime64[us]")
            except (TypeError, ValueError):
                return None
        return np.where(np.isnat(dates), np.nan, dates.astype(np.float64))

    @cached_property
    def codes(self) -> FloatArray:
        """A number above 0 for each value, equal for equal ones; NaN for a missing one."""
        known = {text: _code(text) for text in set(self._texts.tolist())}
        codes = np.array([known[text] for text in self._texts], dtype=np.float64)
        return np.where(self.lacking, np.nan, codes)


def _code(text: str) -> int:
    return 1 + int.from_bytes(blake2b(text.encode(), digest_size=_CODE_BYTES).digest(), "big")


class Table:
    """A dense or canonical CSR matrix of float64 and the names of its columns; other columns apart.

    `kinds` are those of all columns in their order; other rows of the same columns are read by them in the same way.
    `coded` are the columns of the matrix that are each the first of a value of a nominal attribute of ARFF.
    """

    def __init__(
        self,
        X: Matrix,
        names: Sequence[str],
        others: Sequence[Other] = (),
        kinds: Sequence[str] | None = None,
        coded: Sequence[int] = (),
    ) -> None:
        self.X, self.names, self.others, self.kinds, self.coded = X, tuple(names), tuple(others), kinds, coded

    @property
    def n_columns(self) -> int:
        """Number of all columns."""
        return len(self.names) + len(self.others)

    @property
    def compared(self) -> list[Other]:
        """The columns by which rows are compared in addition to numbers."""
        return [other for other in self.others if other.is_compared]

    @cached_property
    def keyed(self) -> Matrix:
        """A matrix whose rows are equal where rows are: numbers, and codes of other compared columns."""
        compared = self.compared
        return np.column_stack([self.X, *(other.codes for other in compared)]) if compared else self.X

    @cached_property
    def keys(self) -> Keys:
        """A key of each row."""
        return row_keys(self.keyed)

    @cached_property
    def missing_rows(self) -> BoolArray:
        """Which rows have a missing number or date, which most methods refuse."""
        dates = [other.lacking for other in self.compared if other.kind == DATE]
        return np.asarray(np.logical_or.reduce([rows_with(np.isnan, self.X), *dates]))

    @cached_property
    def infinite_rows(self) -> BoolArray:
        """Which rows have an infinite number."""
        return rows_with(np.isinf, self.X)

    @cached_property
    def n_distinct(self) -> int:
        """How many rows identifiers distinguish: distinct ones.

        All rows count if most are copies, or if a single column makes the row: then equal values are equal rows.
        """
        n_distinct = len(np.unique(self.keys))
        return n_distinct if self.keyed.shape[1] > 1 and 2 * n_distinct >= len(self.keys) else len(self.keys)

    def cells(self) -> AnyArray:
        """Return the columns that are compared, as an array of objects."""
        cells = np.empty((self.X.shape[0], len(self.names) + len(self.compared)), dtype=object)
        cells[:, : len(self.names)] = self.X
        for place, other in enumerate(self.compared, start=len(self.names)):
            cells[:, place] = other.cells
        return cells

    def encoder(self) -> MixedFeaturesEncoder:
        """Return the encoder of `cells`."""
        places: dict[str, list[int]] = {CATEGORY: [], TEXT: [], DATE: []}
        for place, other in enumerate(self.compared, start=len(self.names)):
            places[other.kind].append(place)
        names = [*self.names, *(other.name for other in self.compared)]
        return MixedFeaturesEncoder(
            categorical=places[CATEGORY], text=places[TEXT], dates=places[DATE], feature_names=names
        )


def rows_with(test: Callable[[AnyArray], BoolArray], X: Matrix) -> BoolArray:
    """Return which rows have a value that passes a test, which 0 does not."""
    if sparse.issparse(X):
        bad = np.searchsorted(X.indptr, np.flatnonzero(test(X.data)), side="right") - 1
        return np.isin(np.arange(X.shape[0]), bad)
    blocks = row_blocks(X.shape[0], max(8 * X.shape[1], 1), _BLOCK_BYTES)
    return np.concatenate([test(X[block]).any(axis=1) for block in blocks])


def table_of(
    X: MatrixLike | Dataset, names: Sequence[str] | None, kinds: Sequence[str] | None = None, *, what: str = "X"
) -> Table:
    """Return X as a table; `names` None are those of a Dataset or data frame, else the numbers of the columns.

    `kinds` are those of the columns of cells; None: those of a Dataset, else their probable kinds.

    Raises
    ------
    ValueError
        If X is not two-dimensional or has no row or column, `names` or `kinds` are not one for each column, or a column
        is not of its kind.
    """
    if isinstance(X, Dataset):
        data = X.with_arrays()
        X, names = data.X, data.feature_names if names is None else names
        kinds = data.feature_kinds if kinds is None else kinds
    X = checked_container(what, X)
    if not is_frame(X):
        check_exact(what, X)
    if sparse.issparse(X):
        matrix = canonical(sparse.csr_array(X).astype(np.float64, copy=False))
        known = _checked(matrix.shape, names, kinds, what)
        return Table(matrix, known, coded=_coded(known, kinds))
    if not is_frame(X):
        X = np.asarray(X)
        known = _checked(X.shape, names, kinds, what)
        if X.dtype.kind in "biuf":
            return Table(X.astype(np.float64, copy=False), known, coded=_coded(known, kinds))
    else:
        known = _checked(X.shape, _names_of_frame(X) if names is None else names, kinds, what)
    return _of_columns(columns_of(X), known, kinds, X.shape[0], what)


def _coded(names: Sequence[str], kinds: Sequence[str] | None) -> list[int]:
    """Return the columns of the values of nominal attributes, the first of two of each value."""
    if kinds is None or CATEGORY not in counts_of(kinds):
        return []
    pairs = enumerate(zip(names, kinds, strict=True))
    return [at for at, (name, kind) in pairs if kind == CATEGORY and "=" in name and not name.endswith(AGAIN)]


def _names_of_frame(X: Any) -> list[str]:
    return [str(name) for name in getattr(X, "column_names", getattr(X, "columns", ()))]


def _checked(
    shape: tuple[int, ...], names: Sequence[str] | None, kinds: Sequence[str] | None, what: str
) -> tuple[str, ...]:
    if len(shape) != 2 or 0 in shape:
        raise ValueError(
            f"{what} must be of shape (n_samples, n_features), with a row and a column, got shape {shape}."
        )
    names = list(map(str, range(shape[1]))) if names is None else names
    if len(names) != shape[1]:
        raise ValueError(f"feature_names must be {shape[1]} names, one for each column of {what}, got {len(names)}.")
    if kinds is not None and len(kinds) != shape[1]:
        raise ValueError(f"feature_kinds must be {shape[1]} kinds, one for each column of {what}, got {len(kinds)}.")
    return tuple(map(str, names))


def _of_columns(
    columns: Iterable[Any], names: Sequence[str], kinds: Sequence[str] | None, n_rows: int, what: str
) -> Table:
    values: list[FloatArray] = []
    of_values: list[str] = []
    others: list[Other] = []
    found: list[str] = []
    for place, (column, name) in enumerate(zip(columns, names, strict=True)):
        kind = None if kinds is None else kinds[place]
        numbers = _as_numbers(column) if kind in (None, "number", "flag", "code") else None
        if numbers is not None:
            check_exact(what, column)
            values.append(numbers)
            of_values.append(name)
        elif kind in ("number", "flag", "code"):
            raise ValueError(
                f"{what} must contain numbers in column {name!r}, as feature_kinds declares, got other values."
            )
        else:
            others.append(_other(column, name, kind))
        found.append("number" if numbers is not None else others[-1].kind)
    X = np.column_stack(values) if values else np.empty((n_rows, 0))
    return Table(X, of_values, others, found)


def _other(column: Any, name: str, kind: str | None) -> Other:
    values = as_array(column).astype(object)
    seeming = Other(name, CATEGORY, values, is_declared=False)
    if kind is not None:
        return Other(name, kind, values, is_declared=kind != IDENTIFIER)
    seeming.kind = CATEGORY if is_categorical(column) else _kind_of(seeming)
    return seeming


def _as_numbers(column: Any) -> FloatArray | None:
    """Return numbers, with NaN where they are missing, or None where some value is none."""
    values = as_array(column)
    if values.dtype.kind not in "biufO" or is_categorical(column):
        return None
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return None


def _kind_of(other: Other) -> str:
    """Return the probable kind of a column: dates, identifiers, categories or texts."""
    texts = [str(value) for value in other.values[~other.lacking]]
    if texts and all(_DATE.match(text) for text in texts[:_SAMPLED_VALUES]):
        return DATE
    if 1 < other.n_distinct == len(other.values) and not other.has_words:
        return IDENTIFIER
    return CATEGORY if are_few(other.n_distinct, len(texts)) else TEXT


# Findings in the rows: empty ones, equal ones, equal ones with other label sets, rows of the test set.

MOST_DUPLICATES, MANY_DUPLICATES = 0.05, 0.01  # shares of the rows: scores of held-out samples may err by as much
_WORDS = 0.5  # from this share of zeros on, rows are taken for words
_BLOCK_BYTES = 2**21

Keys: TypeAlias = AnyArray  # uint64: two of n random keys of 64 bits are equal with a probability of n² / 2^65


def row_keys(X: Matrix) -> Keys:
    """Return a key (n_rows,) of each row of a dense or canonical CSR array: equal ones for equal rows."""
    digests = _of_stored(X) if sparse.issparse(X) else _of_values(X)
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def duplicate_groups(X: MatrixLike) -> IntArray:
    """Number the rows so that exactly equal rows have one number: groups to be held out together.

    Parameters
    ----------
    X : array-like, data frame of numbers or sparse container of shape (n_samples, n_features)
        Rows; they may have missing values, which are equal to each other here. An array of objects contains cells of
        several kinds, like `Dataset.X` of mixed columns.

    Returns
    -------
    groups : ndarray of int of shape (n_samples,)
        From 0 on. The probability that two different rows get one number by mistake is n_samples² / 2^65.

    Raises
    ------
    ValueError
        If X is not two-dimensional, or contains anything but numbers and is not an array of objects.

    Examples
    --------
    >>> from nearlabel.datasets import duplicate_groups
    >>> a, b, c = duplicate_groups([[1, 0], [2, 0], [1, 0]]).tolist()
    >>> a == c, a == b
    (True, False)
    """
    X = checked_samples("X", X)
    if isinstance(X, np.ndarray) and X.dtype.kind == "O":
        rows = check_array(X, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
        of_cells: IntArray = np.unique([repr(row) for row in rows.tolist()], return_inverse=True)[1]
        return of_cells
    rows = check_array(X, accept_sparse="csr", dtype=np.float64, ensure_all_finite=False, ensure_min_samples=0)
    groups: IntArray = np.unique(row_keys(canonical(rows) if sparse.issparse(rows) else rows), return_inverse=True)[1]
    return groups


def _of_values(X: Matrix) -> list[bytes]:
    digests: list[bytes] = []
    for block in row_blocks(X.shape[0], 8 * X.shape[1], _BLOCK_BYTES):
        part = np.ascontiguousarray(X[block] + 0.0)  # turns -0.0 into 0.0
        digests += [blake2b(row, digest_size=8).digest() for row in part]
    return digests


def _of_stored(X: Matrix) -> Iterator[bytes]:
    for block in uneven_blocks(16 * np.diff(X.indptr).astype(np.int64), _BLOCK_BYTES):
        part = X[block]
        part.eliminate_zeros()
        columns, values, bounds = part.indices.astype(np.int64), part.data.astype(np.float64), part.indptr.tolist()
        for start, stop in pairwise(bounds):
            digest = blake2b(columns[start:stop], digest_size=8)
            digest.update(values[start:stop])
            yield digest.digest()


def empty_rows(X: Matrix) -> BoolArray:
    """Return which rows (n_rows,) contain no value but 0."""
    if not sparse.issparse(X):
        return np.asarray(~X.any(axis=1))
    n_nonzero = np.diff(X.indptr)
    if not X.data.all():  # explicit zeros
        zero = np.searchsorted(X.indptr, np.flatnonzero(X.data == 0), side="right") - 1
        n_nonzero = n_nonzero - np.bincount(zero, minlength=X.shape[0])
    return np.asarray(n_nonzero == 0)


def _unlike(group: IntArray, size: IntArray, Y: PartialLabels) -> BoolArray:
    """Return in which groups (n_groups,) some label is carried by one row, and known not to be by another."""
    member = sparse.csr_array((np.ones(len(group), np.int64), (group, np.arange(len(group)))), (len(size), len(group)))
    counted_in = member @ Y.labels  # rows that carry a label that some row of the group carries, or do not know it
    if Y.unknown is not None:
        counted_in += (member @ Y.unknown.astype(np.int64)) * (counted_in > 0)
    counted_in = counted_in.tocoo()
    unlike = np.zeros(len(size), dtype=bool)
    unlike[counted_in.row[counted_in.data < size[counted_in.row]]] = True
    return unlike


def row_findings(table: Table, Y: PartialLabels | None) -> Iterator[Finding]:
    """Yield the findings in the rows of a table: empty and equal ones."""
    empty = empty_rows(table.keyed)
    yield from _empty(table.keyed, empty)
    yield from _duplicates(table.keys, empty, Y)


def _empty(X: Matrix, empty: BoolArray) -> Iterator[Finding]:
    """Yield the finding of empty rows: severe where the other rows are words."""
    n_empty, n_rows = int(empty.sum()), len(empty)
    if not n_empty:
        return
    n_nonzero = np.count_nonzero(X.data if sparse.issparse(X) else X)
    severity, why = "warning", "They have no direction, and may mean missing values."
    if n_nonzero < (1 - _WORDS) * n_rows * X.shape[1]:
        severity = "severe"
        why = "In the Euclidean distance they are near every short row, and become the neighbours of many."
    contain = "contains" if n_empty == 1 else "contain"
    sentence = f"{counted(n_empty, 'row')} ({percent(n_empty / n_rows)}) {contain} no value but 0. {why}"
    remedy = "Search by the cosine, to which empty rows are farthest: --search exact:metric=cosine. Or leave them out."
    evidence = {"rows": n_empty, "share": n_empty / n_rows, "first_row": int(empty.argmax())}
    yield Finding("empty_rows", severity, sentence, remedy, evidence)


def _duplicates(keys: Keys, empty: BoolArray, Y: PartialLabels | None) -> Iterator[Finding]:
    """Yield the findings of equal rows that are not empty."""
    number = np.flatnonzero(~empty)
    _, first, group, size = np.unique(keys[~empty], return_index=True, return_inverse=True, return_counts=True)
    n_copies = len(number) - len(size)
    if not n_copies:
        return
    share = n_copies / len(keys)
    severity = "severe" if share > MOST_DUPLICATES else "warning" if share > MANY_DUPLICATES else "note"
    repeat, their = ("repeats", "its") if n_copies == 1 else ("repeat", "their")
    sentence = (
        f"{counted(n_copies, 'row')} ({percent(share)}) {repeat} an earlier row."
        f" Scores of held-out samples are too good if {their} copy is in the training data."
    )
    remedy = "Leave copies out, or keep copies in one fold: --groups duplicates, in Python groups=duplicate_groups(X)."
    evidence = {"rows": n_copies, "share": share, "first_row": int(number[first[size > 1].min()])}
    yield Finding("duplicates", severity, sentence, remedy, evidence)
    if Y is not None:
        yield from _conflicts(group, size, Y.rows(number), len(keys))


def _conflicts(group: IntArray, size: IntArray, Y: PartialLabels, n_rows: int) -> Iterator[Finding]:
    unlike = _unlike(group, size, Y)
    n_groups, n_inside = int(unlike.sum()), int(size[unlike].sum())
    if n_groups:
        sentence = (
            f"{counted(n_inside, 'row')} in {counted(n_groups, 'group')} of equal rows have other label sets than rows"
            " equal to them: no method can be right on all of them."
        )
        remedy = (
            "Check their labels, and add features that distinguish them. If there is a row for each tag of a sample:"
            " --join-by with the column of its ids."
        )
        evidence = {"rows": n_inside, "groups": n_groups, "share": n_inside / n_rows}
        yield Finding("conflicting_duplicates", "warning", sentence, remedy, evidence)


def common_finding(training: Table, of_test: Table) -> Iterator[Finding]:
    """Yield the finding of test samples that are also training samples, empty ones apart."""
    test = of_test.keyed
    if sparse.issparse(test) != sparse.issparse(training.keyed):
        test = sparse.csr_array(test) if sparse.issparse(training.keyed) else test.toarray()
    n_common, n_rows = int(np.isin(row_keys(test)[~empty_rows(test)], training.keys).sum()), test.shape[0]
    if n_common:
        share, are = n_common / n_rows, "is" if n_common == 1 else "are"
        severity = "severe" if share > MANY_DUPLICATES else "warning"
        sentence = (
            f"{counted(n_common, 'test sample')} ({percent(share)}) {are} equal to a training sample, so scores on the"
            " test samples are too good."
        )
        remedy = "Leave them out of the training data."
        yield Finding("test_rows_in_training", severity, sentence, remedy, {"rows": n_common, "share": share})
