"""A finding, and all findings of a data set: as records, as a data frame, as text."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from nearlabel.utils.tables import frame_of_records, names_within
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import BoolArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import canonical, row_blocks, uneven_blocks

SEVERE, WARNING, NOTE = SEVERITIES = ("severe", "warning", "note")
_WIDTH, _INDENT, _NAMES_WIDTH = 80, 9, 48


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong with a data set, or worth knowing.

    Parameters
    ----------
    kind : str
        Kind of the finding, such as "empty_rows"; the page on examining data lists the kinds.
    severity : {"severe", "warning", "note"}
        "severe": predictions or their measured quality are certainly affected. "warning": probably. "note": seldom.
    sentence : str
        Description of the finding.
    remedy : str
        How to fix it.
    evidence : dict of str to int, float or str
        The numbers in the sentence.
    """

    kind: str
    severity: str
    sentence: str
    remedy: str
    evidence: dict[str, int | float | str] = field(default_factory=dict)

    def to_record(self) -> dict[str, Any]:
        """Return a flat dict: the finding and its evidence.

        Returns
        -------
        dict
            The keys "kind", "severity", "sentence" and "remedy", and those of the evidence.
        """
        return {
            "kind": self.kind,
            "severity": self.severity,
            "sentence": self.sentence,
            "remedy": self.remedy,
            **self.evidence,
        }


class Examination(Sequence[Finding]):
    """The findings of `examine`, the most severe first: a sequence of `Finding`.

    Parameters
    ----------
    findings : iterable of Finding
        In any order.
    notes : iterable of str
        Parts that were not examined, or examined on some rows only.

    Examples
    --------
    >>> from nearlabel.datasets import examine
    >>> examine([[1.0, 5.0], [2.0, 5.0], [4.0, 5.0]], search=False).to_records()[0]["columns"]
    '1'
    """

    def __init__(self, findings: Sequence[Finding], notes: Sequence[str] = ()) -> None:
        self._findings = tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)))
        self.notes = tuple(notes)

    def __getitem__(self, index: Any) -> Any:
        """Return a finding, or a tuple of some."""
        return self._findings[index]

    def __len__(self) -> int:
        """Return the number of findings."""
        return len(self._findings)

    def __iter__(self) -> Iterator[Finding]:
        """Yield the findings, the most severe first."""
        return iter(self._findings)

    @property
    def severe(self) -> tuple[Finding, ...]:
        """The severe findings."""
        return tuple(finding for finding in self if finding.severity == SEVERE)

    def to_records(self) -> list[dict[str, Any]]:
        """Return one flat dict for each finding.

        Returns
        -------
        list of dict
            As `Finding.to_record` gives them.
        """
        return [finding.to_record() for finding in self]

    def to_frame(self) -> Any:
        """Return a data frame with a row for each finding, which needs pandas.

        Returns
        -------
        pandas.DataFrame
            Evidence that a finding lacks is missing.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return frame_of_records(self.to_records())

    def __repr__(self) -> str:
        counts = Counter(finding.severity for finding in self)
        return f"Examination: {', '.join(f'{counts[severity]} {severity}' for severity in SEVERITIES)}"

    def __str__(self) -> str:
        lines = ["Nothing was found."] if not self else []
        for finding in self:
            lines += _wrapped(finding.severity, f"{finding.kind}: {finding.sentence}")
            lines += _wrapped("", f"Remedy: {finding.remedy}")
        for note in self.notes:
            lines += ["", *textwrap.wrap(note, _WIDTH)]
        return "\n".join(lines)


def _wrapped(head: str, text: str) -> list[str]:
    indent = " " * _INDENT
    return textwrap.wrap(text, _WIDTH, initial_indent=head.ljust(_INDENT), subsequent_indent=indent)


def listed(names: Sequence[Any]) -> str:
    """Return names with commas between them, and the number of further ones."""
    return names_within(names, _NAMES_WIDTH)


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: 1 row, 2,000 rows."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def percent(share: float) -> str:
    """Return a share in percent, with two significant digits."""
    return f"{float(f'{100 * share:.2g}'):g} %"


# Findings in the rows: empty ones, equal ones, equal ones with other label sets, rows of the test set.

MOST_DUPLICATES, MANY_DUPLICATES = 0.05, 0.01  # shares of the rows: scores of held-out samples may err by as much
_WORDS = 0.5  # from this share of zeros on, rows are taken for words
_BLOCK_BYTES = 2**21

Keys: TypeAlias = NDArray[np.uint64]  # two of n random keys of 64 bits are equal with a probability of n² / 2^65


def row_keys(X: Matrix) -> Keys:
    """Return a key (n_rows,) of each row of a dense or canonical CSR array: equal ones for equal rows."""
    digests = _of_stored(X) if sparse.issparse(X) else _of_values(X)
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def n_distinct_rows(keys: Keys, n_columns: int) -> int:
    """Return how many rows identifiers distinguish: distinct ones.

    All rows count if most are copies, or if a single column makes the row: then equal values are equal rows.
    """
    n_distinct = len(np.unique(keys))
    return n_distinct if n_columns > 1 and 2 * n_distinct >= len(keys) else len(keys)


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


def empty_finding(X: Matrix, empty: BoolArray) -> Iterator[Finding]:
    """Yield the finding of empty rows, if there are some: severe where the other rows are words."""
    n_empty, n_rows = int(empty.sum()), len(empty)
    if not n_empty:
        return
    n_nonzero = np.count_nonzero(X.data if sparse.issparse(X) else X)
    has_words = n_nonzero < (1 - _WORDS) * n_rows * X.shape[1]
    why = "In the Euclidean distance they are near every short row, and become the neighbours of many."
    yield Finding(
        "empty_rows",
        SEVERE if has_words else WARNING,
        f"{counted(n_empty, 'row')} ({percent(n_empty / n_rows)}) contain{'s' * (n_empty == 1)} no value but 0. "
        + (why if has_words else "They have no direction, and may mean missing values."),
        "Search by the cosine, to which empty rows are farthest: --search exact:metric=cosine. Or leave them out.",
        {"rows": n_empty, "share": n_empty / n_rows, "first_row": int(empty.argmax())},
    )


def duplicate_findings(keys: Keys, empty: BoolArray, Y: PartialLabels | None) -> Iterator[Finding]:
    """Yield the findings of equal rows that are not empty."""
    number = np.flatnonzero(~empty)
    _, first, group, size = np.unique(keys[~empty], return_index=True, return_inverse=True, return_counts=True)
    n_copies = len(number) - len(size)
    if not n_copies:
        return
    share = n_copies / len(keys)
    first_copied = int(number[first[size > 1].min()])
    yield Finding(
        "duplicates",
        SEVERE if share > MOST_DUPLICATES else WARNING if share > MANY_DUPLICATES else NOTE,
        f"{counted(n_copies, 'row')} ({percent(share)}) repeat{'s' * (n_copies == 1)} an earlier row."
        f" Scores of held-out samples are too good if {'its' if n_copies == 1 else 'their'}"
        " copy is in the training data.",
        "Leave copies out, or keep copies in one fold: --groups duplicates, in Python groups=duplicate_groups(X).",
        {"rows": n_copies, "share": share, "first_row": first_copied},
    )
    if Y is not None:
        yield from _conflicts(group, size, Y.rows(number), len(keys))


def _conflicts(group: NDArray[np.intp], size: NDArray[np.intp], Y: PartialLabels, n_rows: int) -> Iterator[Finding]:
    unlike = _unlike(group, size, Y)
    n_groups, n_inside = int(unlike.sum()), int(size[unlike].sum())
    if n_groups:
        yield Finding(
            "conflicting_duplicates",
            WARNING,
            f"{counted(n_inside, 'row')} in {counted(n_groups, 'group')} of equal rows have other label sets than rows"
            " equal to them: no method can be right on all of them.",
            "Check their labels, and add features that distinguish them.",
            {"rows": n_inside, "groups": n_groups, "share": n_inside / n_rows},
        )


def _unlike(group: NDArray[np.intp], size: NDArray[np.intp], Y: PartialLabels) -> BoolArray:
    """Return in which groups (n_groups,) some label is carried by one row, and known not to be by another."""
    member = sparse.csr_array((np.ones(len(group), np.int64), (group, np.arange(len(group)))), (len(size), len(group)))
    counted_in = member @ Y.labels  # rows that carry a label that some row of the group carries, or do not know it
    if Y.unknown is not None:
        counted_in += (member @ Y.unknown.astype(np.int64)) * (counted_in > 0)
    counted_in = counted_in.tocoo()
    unlike = np.zeros(len(size), dtype=bool)
    unlike[counted_in.row[counted_in.data < size[counted_in.row]]] = True
    return unlike


def row_findings(X: Matrix, keys: Keys, Y: PartialLabels | None) -> Iterator[Finding]:
    """Yield the findings in rows X, which have these keys: empty and equal ones."""
    empty = empty_rows(X)
    yield from empty_finding(X, empty)
    yield from duplicate_findings(keys, empty, Y)


def common_finding(X: Matrix, keys: Keys, test: Matrix) -> Iterator[Finding]:
    """Yield the finding of test samples that are also training samples X, empty ones apart."""
    if sparse.issparse(test) != sparse.issparse(X):
        test = sparse.csr_array(test) if sparse.issparse(X) else test.toarray()
    n_common, n_rows = int(np.isin(row_keys(test)[~empty_rows(test)], keys).sum()), test.shape[0]
    if n_common:
        share = n_common / n_rows
        yield Finding(
            "test_rows_in_training",
            SEVERE if share > MANY_DUPLICATES else WARNING,
            f"{counted(n_common, 'test sample')} ({percent(share)}) {'is' if n_common == 1 else 'are'} equal to a"
            " training sample, so scores on the test samples are too good.",
            "Leave them out of the training data.",
            {"rows": n_common, "share": share},
        )
