"""Columns, and pairs of columns, that give a label away: a threshold, or values, show which rows carry it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import betaln
from scipy.stats import hypergeom, rankdata

from nearlabel.datasets.doctor._finding import Finding, counted, listed
from nearlabel.datasets.doctor._tables import DATE, Other, Table
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import AnyArray, BoolArray, FloatArray, IntArray, Matrix
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
_MOST_PAIRED = 24  # columns of numbers, and columns of values: their pairs are examined
_ROWS_OF_PAIRS = 1_000  # of the search for likely ones
_MOST_PROOFS = 100  # of pairs of numbers, in all rows
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
    alone = sorted(set(_leaks(table, chosen, rows)))
    some = rows if len(rows) <= _ROWS_OF_PAIRS else np.sort(random.choice(rows, _ROWS_OF_PAIRS, replace=False))
    together = sorted(_pair_leaks(table, chosen, some, alone))
    of_labels = [names[label] for label in labels]
    return [*_finding(alone, of_labels), *_pair_finding(together, of_labels)], notes


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
    some = _of_rows(Y, rows)
    for X, names in ((table.X, table.names), _dates(table)):
        for pair in _ordered_leaks(_ordered_pairs(X, rows, some), X, Y, log_tries):
            yield pair.label, names[pair.column]
    for name, codes in (*_few_values(table, least=2), *_categories(table.others)):
        for label in _likely_by_values(codes[rows], some):
            carries, known = _of_label(Y, label)
            if _is_leak(_by_values(codes[known], carries[known]), carries, known, log_tries):
                yield label, name


def _of_rows(Y: PartialLabels, rows: IntArray) -> PartialLabels:
    return PartialLabels(*(None if part is None else sparse.csr_array(part)[rows].astype(np.float64) for part in Y))


def _dates(table: Table) -> tuple[FloatArray, list[str]]:
    """Return dates as numbers, and the names of their columns."""
    dates = [(other.name, other.dates) for other in table.others if other.kind == DATE]
    days = [(name, values) for name, values in dates if values is not None]
    X = np.column_stack([values for _, values in days]) if days else np.empty((table.X.shape[0], 0))
    return X, [name for name, _ in days]


# Likely pairs by the ranks of numbers: rows with the label have far larger ranks, or far smaller ones.


def _ordered_pairs(X: Matrix, rows: IntArray, Y: PartialLabels) -> list[_Pair]:
    """Return the most promising pairs by the difference of the mean ranks of rows with and without the label."""
    pairs: list[_Pair] = []
    for columns, gaps in _gaps(X, rows, Y):
        column, label = np.nonzero(gaps >= _LEAST_GAP)
        pairs += map(_Pair, columns[column].tolist(), label.tolist(), gaps[column, label].tolist())
    return sorted(pairs, key=lambda pair: -pair.score)[:_MOST_PAIRS]


def _gaps(X: Matrix, rows: IntArray, Y: PartialLabels) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield columns and, for each label, the difference of their mean ranks in rows with and without it: at most 1."""
    n_with, n_known = class_sizes(Y)
    n_rows, n_labels = Y.labels.shape
    for columns, ranks, at_zero in _ranks(X, rows, n_labels):
        with_label = _summed(ranks, Y.labels) + np.outer(at_zero, n_with)
        unknown = 0.0 if Y.unknown is None else _summed(ranks, Y.unknown) + np.outer(at_zero, n_rows - n_known)
        without = n_rows * (n_rows + 1) / 2 - unknown - with_label
        yield columns, 2 / n_rows * np.abs(with_label / n_with - without / (n_known - n_with))


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


def _few_values(table: Table, least: int) -> Iterator[tuple[str, IntArray]]:
    """Yield the names and values, from 0 on, of columns with few whole numbers, which differ by `least` or more."""
    if sparse.issparse(table.X):  # numbers of words
        return
    for column, name in enumerate(table.names):
        values = table.X[:, column]
        low, high = values.min(), values.max()
        if least <= high - low <= _FEW_VALUES and (values == np.rint(values)).all():
            yield name, (values - low).astype(np.intp)


def _categories(others: Iterable[Other]) -> Iterator[tuple[str, IntArray]]:
    for other in others:
        if other.kind != DATE and other.n_distinct <= min(_MOST_CATEGORIES, len(other.values) / 2):
            yield other.name, _numbered(np.nan_to_num(other.codes))


def _likely_by_values(codes: IntArray, Y: PartialLabels) -> list[int]:
    """Return the labels that nearly follow from the value in the chosen rows, with twice as many wrong as allowed."""
    n_with, n_known = class_sizes(Y)
    of_value = sparse.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))))
    carry = as_dense(of_value @ Y.labels)
    lack = of_value.sum(axis=1).reshape(-1, 1) - carry - (0 if Y.unknown is None else as_dense(of_value @ Y.unknown))
    return np.flatnonzero(np.minimum(carry, lack).sum(axis=0) <= 2 * _allowed(n_with, n_known)).tolist()


# Pairs of columns, neither of which shows the label alone.


def _ratio(a: FloatArray, b: FloatArray) -> FloatArray:
    return a / np.where(b == 0, np.nan, b)


_FORMS: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "{} - {}": np.subtract,
    "|{} - {}|": lambda a, b: np.abs(a - b),  # far or near, and equal or not
    "{} + {}": np.add,
    "{} * {}": np.multiply,
    "{} / {}": _ratio,
}


class _Together(NamedTuple):
    """A label, the name of a pair of columns as it shows the label, and the two columns."""

    label: int
    name: str
    columns: tuple[str, ...]


def _pair_leaks(
    table: Table, Y: PartialLabels, rows: IntArray, alone: Sequence[tuple[int, str]]
) -> Iterator[_Together]:
    """Yield for each label and pair of columns the first way in which both together give the label away."""
    some = _of_rows(Y, rows)
    n_with, n_known = class_sizes(some)
    labels = np.flatnonzero(np.minimum(n_with, n_known - n_with) >= LEAST_OF_CLASS)
    some, of_all = (PartialLabels(*(part if part is None else part[:, labels] for part in of)) for of in (some, Y))
    shown: set[tuple[int, tuple[str, ...]]] = {(label, (column,)) for label, column in alone}
    for place, name, columns in (*_value_pairs(table, of_all, rows, some), *_number_pairs(table, of_all, rows, some)):
        label = int(labels[place])
        if not shown & {(label, known) for known in (columns, *((column,) for column in columns))}:
            shown.add((label, columns))
            yield _Together(label, name, columns)


def _number_pairs(table: Table, Y: PartialLabels, rows: IntArray, some: PartialLabels) -> Iterator[_Together]:
    """Yield the pairs of numbers or dates of which the difference or another form shows a label by a threshold."""
    X, names = _dates(table)
    if not sparse.issparse(table.X):  # numbers of words
        chosen = _worth_pairing(table.X[rows], some)
        X, names = np.column_stack([table.X[:, chosen], X]), [*(table.names[column] for column in chosen), *names]
    pairs = np.array(list(combinations(range(len(names)), 2)), dtype=np.intp).reshape(-1, 2)
    log_tries = float(np.log(max(1, len(pairs) * len(_FORMS) * Y.labels.shape[1])))
    drawn = np.arange(len(rows))
    likely: list[tuple[float, int, str, IntArray]] = []
    for form in _FORMS:
        for block in row_blocks(len(pairs), 8 * len(rows), _BLOCK_BYTES):
            found = _ordered_pairs(_combined(form, X[rows], pairs[block]), drawn, some)
            likely += [(-gap, label, form, pairs[block][place]) for place, label, gap in found]
    n_proofs = 0
    for _, label, form, pair in sorted(likely, key=lambda found: found[:2]):
        if n_proofs < _MOST_PROOFS and _best_together(form, X[np.ix_(rows, pair)], some, label, slack=2):
            n_proofs += 1
            both = _best_together(form, X[:, pair], Y, label)
            if both is not None and _is_leak(both, *_of_label(Y, label), log_tries):
                columns = tuple(names[column] for column in pair)
                yield _Together(label, form.format(*columns), columns)


def _best_together(form: str, X: FloatArray, Y: PartialLabels, label: int, slack: int = 1) -> _Split | None:
    """Return the split by two columns together, or None if it has too many wrong rows, or not half those of either."""
    carries, known = _of_label(Y, label)
    values = _lowest_if_missing(np.column_stack([X, _combined(form, X, np.array([[0, 1]]))])[known])
    first, second, both = (
        _by_threshold(column[order], carries[known][order])
        for column, order in zip(values.T, np.argsort(values, axis=0).T, strict=True)
    )
    few = both.n_wrong <= slack * _allowed(carries[known].sum(), known.sum())
    return both if few and 2 * both.n_wrong < min(first.n_wrong, second.n_wrong) else None


def _worth_pairing(X: FloatArray, Y: PartialLabels) -> list[int]:
    """Return columns: those whose ranks differ most between rows with and without some label, and those most like them.

    A difference shows a label where one column alone shows a little of it, and the other varies as it does.
    """
    if X.shape[1] <= _MOST_PAIRED:
        return list(range(X.shape[1]))
    telling, ranks = np.zeros(X.shape[1]), np.empty_like(X)
    for columns, gaps in _gaps(X, np.arange(len(X)), Y):
        telling[columns] = gaps.max(axis=1, initial=0.0)
        ranks[:, columns] = rankdata(_lowest_if_missing(X[:, columns]), axis=0) - (len(X) + 1) / 2
    chosen = np.argsort(-telling, kind="stable")[: _MOST_PAIRED // 2]
    ranks /= np.linalg.norm(ranks, axis=0) + np.finfo(float).tiny
    like = np.abs(ranks[:, chosen].T @ ranks).max(axis=0)  # Spearman's correlation
    like[chosen] = 0
    return sorted({*chosen.tolist(), *np.argsort(-like, kind="stable")[: _MOST_PAIRED // 2].tolist()})


def _combined(form: str, X: FloatArray, pairs: IntArray) -> FloatArray:
    with np.errstate(all="ignore"):  # of infinite values
        return _FORMS[form](X[:, pairs[:, 0]], X[:, pairs[:, 1]])


def _value_pairs(table: Table, Y: PartialLabels, rows: IntArray, some: PartialLabels) -> Iterator[_Together]:
    """Yield the pairs of columns that show a label by their values, or by whether these are equal."""
    coded = sorted((*_few_values(table, least=1), *_categories(table.others)), key=lambda column: column[1].max())
    texts = [(other.name, other.codes) for other in table.others if other.kind != DATE]
    joint: list[Any] = [(_joint, "{} with {}", *pair) for pair in combinations(coded[:_MOST_PAIRED], 2)]
    equal: list[Any] = [(np.equal, "{} = {}", *pair) for pair in combinations(texts[:_MOST_PAIRED], 2)]
    log_tries = float(np.log(max(1, len(joint + equal) * Y.labels.shape[1])))
    for combine, form, (first, a), (second, b) in joint + equal:
        for label in _likely_by_values(_numbered(combine(a[rows], b[rows])), some):
            carries, known = _of_label(Y, label)
            both = _by_values(_numbered(combine(a, b)[known]), carries[known])
            alone = [_by_values(values[known], carries[known]).n_wrong for values in (a, b) if combine is _joint]
            better = all(2 * both.n_wrong < n_wrong for n_wrong in alone)
            if better and _is_leak(both, carries, known, log_tries):
                yield _Together(label, form.format(first, second), (first, second))


def _joint(a: AnyArray, b: AnyArray) -> AnyArray:
    return a * (int(b.max()) + 1) + b


def _numbered(values: AnyArray) -> IntArray:
    numbers: IntArray = np.unique(values, return_inverse=True)[1]
    return numbers


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
                if _is_leak(_by_threshold(values[of_known], carries[of_known]), carries, known, log_tries):
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


def _is_leak(split: _Split, carries: BoolArray, known: BoolArray, log_tries: float) -> bool:
    """Return whether few rows are wrong, fewer than by chance in the best of all tries."""
    n_rows, n_with = int(known.sum()), int(carries[known].sum())
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


def _pair_finding(leaks: Sequence[_Together], names: Sequence[str]) -> Iterator[Finding]:
    if not leaks:
        return
    columns = list(dict.fromkeys(column for leak in leaks for column in leak.columns))
    pairs = listed([f"{leak.name} ({names[leak.label]})" for leak in leaks])
    n_pairs = len({leak.columns for leak in leaks})
    show = counted(n_pairs, "pair", "of columns shows", "of columns show")
    sentence = (
        f"{show} which rows carry a label, with hardly a wrong row, though neither column does alone: {pairs}."
        " Were both known before the labels were?"
    )
    remedy = f"If not, leave out what will not be known, of: --ignore {','.join(columns[:_MOST_NAMED])}."
    evidence = {"count": n_pairs, "columns": listed(columns), "n_labels": len({leak.label for leak in leaks})}
    yield Finding("leaking_pairs", "warning", sentence, remedy, evidence | {"pairs": pairs})
