"""Columns that give a label away: a threshold, or its values, show which rows carry it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import betaln
from scipy.stats import hypergeom, rankdata

from nearlabel.datasets.doctor._finding import Finding, counted, listed
from nearlabel.datasets.doctor._tables import DATE, Other, Table
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, row_blocks

MOST_WRONG = 0.005  # of the rows with a known label
MOST_WRONG_OF_CLASS = 0.1  # of the rows of its rarer class
LOG_CHANCE = float(np.log(1e-6))  # of a split as good, among all columns, thresholds and labels
LEAST_OF_CLASS = 5  # rows with the label, and rows without it
_LEAST_GAP = 0.75  # twice the area under the ROC curve minus 1: at least 0.8 if a tenth of the rarer class is wrong
_MOST_ROWS, _LEAST_ROWS, _MOST_CELLS = 20_000, 2_000, 4_000_000  # of the search for likely pairs
_MOST_LABELS = 1_000
_MOST_PAIRS = 500  # that are examined in all rows
_MOST_CATEGORIES = 1_000
_FEW_VALUES = 20  # of whole numbers, which may then be codes of categories
_MOST_NAMED = 3  # columns in the text of a remedy
_BLOCK_BYTES = 2**22


class _Pair(NamedTuple):
    """A column that may show a label: the place of both, and the difference of the ranks."""

    column: int
    label: int
    score: float


class _Split(NamedTuple):
    """Rows with a label according to a column: how many, how many of them do, how many rows of all are wrong."""

    n_told: int
    n_right: int
    n_wrong: int
    log_tries: float


def leak_findings(
    table: Table, Y: PartialLabels, names: Sequence[str], random_state: int
) -> tuple[list[Finding], list[str]]:
    """Return the finding of columns that give labels away, if there are some, and notes on random samples."""
    random = np.random.default_rng(random_state)
    rows = _drawn_rows(table, random)
    labels = _examinable(Y.rows(rows), table.n_columns)
    notes = []
    if len(rows) < table.X.shape[0]:
        n_all = f"{table.X.shape[0]:,}"
        notes.append(
            f"Columns that give labels away were sought in {len(rows):,} of the {n_all} rows, drawn at random."
        )
    if len(labels) > _MOST_LABELS:
        notes.append(f"They were sought for {_MOST_LABELS:,} of the {len(labels):,} labels, drawn at random.")
        labels = np.sort(random.choice(labels, _MOST_LABELS, replace=False))
    if not len(labels):
        return [], []
    chosen = PartialLabels(*(None if part is None else sparse.csc_array(part)[:, labels] for part in Y))
    found = sorted(set(_leaks(table, chosen, rows)))
    return list(_finding(found, [names[label] for label in labels])), notes


def _drawn_rows(table: Table, random: np.random.Generator) -> IntArray:
    n_rows = table.X.shape[0]
    n_cells = (table.X.nnz if sparse.issparse(table.X) else table.X.size) + n_rows * len(table.others)
    most = int(np.clip(_MOST_CELLS * n_rows / max(1, n_cells), _LEAST_ROWS, _MOST_ROWS))
    return np.arange(n_rows) if n_rows <= most else np.sort(random.choice(n_rows, most, replace=False))


def _examinable(Y: PartialLabels, n_columns: int) -> IntArray:
    """Return the labels of which a column without a wrong row would hardly be chance."""
    n_with, n_known = class_sizes(Y)
    rarer = np.minimum(n_with, n_known - n_with)
    log_ways = -betaln(n_known - rarer + 1, rarer + 1) - np.log(n_known + 1)  # of choosing the rows of a class
    return np.flatnonzero((rarer >= LEAST_OF_CLASS) & (np.log(n_columns * len(rarer)) - log_ways < LOG_CHANCE))


def class_sizes(Y: PartialLabels) -> tuple[FloatArray, FloatArray]:
    """Return for each label the number of rows that carry it, and of rows where it is known."""
    n_rows, n_labels = Y.labels.shape
    n_with = np.asarray(Y.labels.sum(axis=0), dtype=np.float64).reshape(n_labels)
    n_unknown = 0 if Y.unknown is None else np.asarray(Y.unknown.sum(axis=0)).reshape(n_labels)
    return n_with, np.asarray(n_rows - n_unknown + np.zeros(n_labels))


def _leaks(table: Table, Y: PartialLabels, rows: IntArray) -> Iterator[tuple[int, str]]:
    """Yield the number of a label and the name of a column that gives it away."""
    log_tries = float(np.log(table.n_columns * Y.labels.shape[1]))
    some = PartialLabels(*(None if part is None else sparse.csr_array(part)[rows].astype(np.float64) for part in Y))
    dates = [(other.name, other.dates) for other in table.others if other.kind == DATE]
    days = [(name, values) for name, values in dates if values is not None]
    of_days = np.column_stack([values for _, values in days]) if days else np.empty((table.X.shape[0], 0))
    for X, names in ((table.X, table.names), (of_days, [name for name, _ in days])):
        for pair in _ordered_leaks(_ordered_pairs(X, rows, some), X, Y, log_tries):
            yield pair.label, names[pair.column]
    for name, codes in (*_few_values(table), *_categories(table.others)):
        for label in _likely_by_values(codes[rows], some):
            carries, known = _of_label(Y, label)
            if _is_leak(_by_values(codes[known], carries[known]), carries[known], log_tries):
                yield label, name


# Likely pairs by the ranks of numbers: rows with the label have far larger ranks, or far smaller ones.


def _ordered_pairs(X: Matrix, rows: IntArray, Y: PartialLabels) -> list[_Pair]:
    """Return the most promising pairs by the difference of the mean ranks of rows with and without the label."""
    n_with, n_known = class_sizes(Y)
    n_rows, n_labels = Y.labels.shape
    pairs: list[_Pair] = []
    for columns, ranks, at_zero in _ranks(X, rows, n_labels):
        with_label = _summed(ranks, Y.labels) + np.outer(at_zero, n_with)
        unknown = 0.0 if Y.unknown is None else _summed(ranks, Y.unknown) + np.outer(at_zero, n_rows - n_known)
        without = n_rows * (n_rows + 1) / 2 - unknown - with_label
        gaps = 2 / n_rows * np.abs(with_label / n_with - without / (n_known - n_with))
        column, label = np.nonzero(gaps >= _LEAST_GAP)
        pairs += map(_Pair, columns[column].tolist(), label.tolist(), gaps[column, label].tolist())
    return sorted(pairs, key=lambda pair: -pair.score)[:_MOST_PAIRS]


def _summed(ranks: Matrix, labels: Matrix) -> FloatArray:
    """Return the sums (n_columns, n_labels) of the ranks of the rows with each label."""
    return as_dense(ranks.T @ labels) if sparse.issparse(ranks) else np.asarray(labels.T @ ranks).T


def _ranks(X: Matrix, rows: IntArray, n_labels: int) -> Iterator[tuple[IntArray, Matrix, FloatArray]]:
    """Yield blocks of columns with the mean ranks of their values; the sparse ones less the rank of 0, which follows.

    A missing value is less than all others.
    """
    if not sparse.issparse(X):
        for block in row_blocks(X.shape[1], 8 * len(rows), _BLOCK_BYTES):
            columns = np.arange(X.shape[1])[block]
            yield columns, rankdata(_lowest_if_missing(X[np.ix_(rows, columns)]), axis=0), np.zeros(len(columns))
        return
    by_column = sparse.csc_array(X if len(rows) == X.shape[0] else X[rows], copy=True)
    by_column.eliminate_zeros()
    used = np.flatnonzero(np.diff(by_column.indptr) >= LEAST_OF_CLASS)
    for block in row_blocks(len(used), 8 * n_labels, _BLOCK_BYTES):
        yield used[block], *_sparse_ranks(by_column[:, used[block]])


def _lowest_if_missing(values: FloatArray) -> FloatArray:
    return np.where(np.isnan(values), -np.inf, values)


def _sparse_ranks(X: Matrix) -> tuple[Matrix, FloatArray]:
    """Return ranks less the rank of 0, as CSC, and the rank of 0 in each column; equal values have their mean rank."""
    values, n_stored = _lowest_if_missing(X.data), np.diff(X.indptr)
    column = np.repeat(np.arange(X.shape[1]), n_stored)
    order = np.lexsort((values, column))
    values = values[order]
    starts = np.flatnonzero(np.append(True, (values[1:] != values[:-1]) | (column[1:] != column[:-1])))
    n_equal = np.diff(np.append(starts, len(values)))
    ranks = np.repeat(starts + (n_equal + 1) / 2, n_equal) - X.indptr[column]  # column is in order already
    n_zeros = X.shape[0] - n_stored
    at_zero = np.bincount(column[values < 0], minlength=X.shape[1]) + (n_zeros + 1) / 2
    ranks += np.where(values > 0, n_zeros[column], 0) - at_zero[column]
    of_stored = np.empty_like(ranks)
    of_stored[order] = ranks
    return sparse.csc_array((of_stored, X.indices, X.indptr), shape=X.shape), at_zero


# Likely pairs by the values of categories, and of whole numbers with few values, which may be their codes.


def _few_values(table: Table) -> Iterator[tuple[str, IntArray]]:
    """Yield the names and values, from 0 on, of columns with three whole numbers or more, but few."""
    if sparse.issparse(table.X):  # numbers of words
        return
    for column, name in enumerate(table.names):
        values = table.X[:, column]
        low, high = values.min(), values.max()
        if 2 <= high - low <= _FEW_VALUES and (values == np.rint(values)).all():
            yield name, (values - low).astype(np.intp)


def _categories(others: Iterable[Other]) -> Iterator[tuple[str, IntArray]]:
    for other in others:
        if other.kind != DATE and other.n_distinct <= min(_MOST_CATEGORIES, len(other.values) / 2):
            yield other.name, np.unique(np.nan_to_num(other.codes), return_inverse=True)[1]


def _likely_by_values(codes: IntArray, Y: PartialLabels) -> list[int]:
    """Return the labels that nearly follow from the value in the chosen rows, with twice as many wrong as allowed."""
    n_with, n_known = class_sizes(Y)
    of_value = sparse.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))))
    carry = as_dense(of_value @ Y.labels)
    lack = of_value.sum(axis=1).reshape(-1, 1) - carry - (0 if Y.unknown is None else as_dense(of_value @ Y.unknown))
    return np.flatnonzero(np.minimum(carry, lack).sum(axis=0) <= 2 * _allowed(n_with, n_known)).tolist()


# Proof of a pair, in all rows.


def _allowed(n_with: Any, n_known: Any) -> Any:
    """Return how many rows may be wrong."""
    return np.minimum(MOST_WRONG * n_known, MOST_WRONG_OF_CLASS * np.minimum(n_with, n_known - n_with))


def _ordered_leaks(pairs: Sequence[_Pair], X: Matrix, Y: PartialLabels, log_tries: float) -> Iterator[_Pair]:
    """Yield the pairs of which a threshold on the column shows the label."""
    for column in sorted({pair.column for pair in pairs}):
        values = _lowest_if_missing(as_dense(X[:, [column]]).ravel())
        order = np.argsort(values)
        for pair in pairs:
            if pair.column == column:
                carries, known = _of_label(Y, pair.label)
                of_known = order[known[order]]
                if _is_leak(_by_threshold(values[of_known], carries[of_known]), carries[known], log_tries):
                    yield pair


def _of_label(Y: PartialLabels, label: int) -> tuple[BoolArray, BoolArray]:
    """Return which rows carry a label, and in which it is known."""
    known = np.ones(Y.labels.shape[0], dtype=bool)
    if Y.unknown is not None:
        known = ~as_dense(Y.unknown[:, [label]]).ravel().astype(bool)
    return as_dense(Y.labels[:, [label]]).ravel() == 1, known


def _by_threshold(values: FloatArray, carries: BoolArray) -> _Split:
    """Return the best split of values in ascending order."""
    last = np.flatnonzero(values[1:] != values[:-1])
    if not len(last):
        return _Split(0, 0, len(values), 0.0)
    n_rows, n_with = len(values), int(carries.sum())
    below, with_below = last + 1, np.cumsum(carries)[last]
    n_told, n_right = np.append(n_rows - below, below), np.append(n_with - with_below, with_below)
    n_wrong = n_told + n_with - 2 * n_right
    best = int(n_wrong.argmin())
    return _Split(int(n_told[best]), int(n_right[best]), int(n_wrong[best]), float(np.log(len(n_told))))


def _by_values(codes: IntArray, carries: BoolArray) -> _Split:
    """Return the split by the values that most often go with the label."""
    n_rows, n_with = np.bincount(codes), np.bincount(codes, weights=carries)
    told = 2 * n_with > n_rows
    n_wrong = np.where(told, n_rows - n_with, n_with).sum()
    return _Split(int(n_rows[told].sum()), int(n_with[told].sum()), int(n_wrong), len(n_rows) * float(np.log(2)))


def _is_leak(split: _Split, carries: BoolArray, log_tries: float) -> bool:
    """Return whether few rows are wrong, fewer than by chance in the best of all tries."""
    n_rows, n_with = len(carries), int(carries.sum())
    if split.n_wrong > _allowed(n_with, n_rows):
        return False
    log_chance = hypergeom.logsf(split.n_right - 1, n_rows, n_with, split.n_told)
    return bool(log_chance + split.log_tries + log_tries < LOG_CHANCE)


def _finding(leaks: Sequence[tuple[int, str]], names: Sequence[str]) -> Iterator[Finding]:
    if not leaks:
        return
    columns = list(dict.fromkeys(column for _, column in leaks))
    labels = list(dict.fromkeys(label for label, _ in leaks))
    pairs = listed([f"{column} ({names[label]})" for label, column in leaks])
    show = counted(len(columns), "column", "alone shows", "alone show")
    sentence = (
        f"{show} which rows carry a label, by a threshold or by values, with hardly a wrong row: {pairs}."
        " Was this known before the labels were?"
    )
    remedy = (
        f"If not, leave out what will not be known: --ignore {','.join(columns[:_MOST_NAMED])}. If so, as of a word"
        " that is the name of its label, it needs no remedy."
    )
    evidence = {"count": len(columns), "columns": listed(columns), "n_labels": len(labels), "pairs": pairs}
    yield Finding("leaking_features", "warning", sentence, remedy, evidence)
