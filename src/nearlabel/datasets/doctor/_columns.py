"""Findings in the columns of X, from one pass over its rows in blocks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.stats import rankdata
from sklearn.utils.sparsefuncs import min_max_axis

from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets._nominal import attribute_of
from nearlabel.datasets.doctor._finding import Finding, counted, listed
from nearlabel.datasets.doctor._tables import CATEGORY, DATE, IDENTIFIER, TEXT, Other, Table, table_of
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, row_blocks, uneven_blocks

FAR_APART = 100  # ranges: then a feature of the small range has a ten-thousandth of the weight in a squared distance
LEAST_ROWS = 20  # of fewer rows a column of whole numbers is often distinct by chance
_FEW = 0.05  # of the rows
_SAMPLED_ROWS = 1000
_RISING = 0.99  # rank correlation with the row number
_COINCIDENCES = 5  # expected among numbers drawn at random: with a probability below 1 % there is none
_DATES = (19000101, 21001231)
_EPOCH = (631152000, 2**31 - 1)  # seconds from 1990 to 2038
_BLOCK_BYTES = 2**22


class Columns(NamedTuple):
    """Statistics (n_columns,) of the columns: of finite values, the least and the largest, and if all are whole."""

    low: FloatArray
    high: FloatArray
    whole: BoolArray
    n_missing: IntArray
    n_infinite: IntArray
    n_nonzero: IntArray

    @property
    def constant(self) -> BoolArray:
        """Whether a column has one value only."""
        return np.asarray((self.low == self.high) & (self.n_missing + self.n_infinite == 0))


def statistics_of(X: Matrix) -> Columns:
    """Return the statistics of the columns of a float64 array or a canonical CSR array."""
    n_columns = X.shape[1]
    total = Columns(
        np.full(n_columns, np.inf),
        np.full(n_columns, -np.inf),
        np.ones(n_columns, dtype=bool),
        *np.zeros((3, n_columns), dtype=np.intp),
    )
    for block in _blocks_of(X):
        part = _of_sparse(X[block].tocsc()) if sparse.issparse(X) else _of_dense(X[block])
        np.fmin(total.low, part.low, out=total.low)
        np.fmax(total.high, part.high, out=total.high)
        np.logical_and(total.whole, part.whole, out=total.whole)
        for sums, counts in zip(total[3:], part[3:], strict=True):
            sums += counts
    return total


def _blocks_of(X: Matrix) -> Iterable[slice]:
    if sparse.issparse(X):
        return uneven_blocks(16 * np.diff(X.indptr).astype(np.int64), _BLOCK_BYTES)
    return row_blocks(X.shape[0], 8 * X.shape[1], _BLOCK_BYTES)


def _of_dense(rows: FloatArray) -> Columns:
    finite = np.isfinite(rows)
    n_rows, n_columns = rows.shape
    n_missing = n_infinite = np.zeros(n_columns, dtype=np.intp)
    if not finite.all():
        n_missing = np.isnan(rows).sum(axis=0)
        n_infinite = n_rows - finite.sum(axis=0) - n_missing
        rows = np.where(finite, rows, np.nan)
    low, high = np.fmin.reduce(rows, axis=0), np.fmax.reduce(rows, axis=0)
    whole = ((rows == np.rint(rows)) | ~finite).all(axis=0)
    return Columns(low, high, whole, n_missing, n_infinite, np.count_nonzero(rows, axis=0))


def _of_sparse(rows: Matrix) -> Columns:
    n_columns = rows.shape[1]
    column = np.repeat(np.arange(n_columns), np.diff(rows.indptr))

    def count(chosen: BoolArray) -> IntArray:
        return np.bincount(column[chosen], minlength=n_columns)

    finite, missing = np.isfinite(rows.data), np.isnan(rows.data)
    whole = count(finite & (rows.data != np.rint(rows.data))) == 0
    known = sparse.csc_array((np.where(finite, rows.data, np.nan), rows.indices, rows.indptr), shape=rows.shape)
    low, high = min_max_axis(known, axis=0, ignore_nan=True)
    return Columns(low, high, whole, count(missing), count(~finite & ~missing), count(rows.data != 0))


def column_findings(table: Table) -> Iterator[Finding]:
    """Yield the findings in the columns that are numbers, and missing or constant values in others."""
    X, names = table.X, table.names
    columns = statistics_of(X)
    n_rows, n_columns = X.shape
    missing = dict(zip(names, columns.n_missing.tolist(), strict=True))
    missing |= {other.name: int(other.lacking.sum()) for other in table.compared if other.kind == DATE}
    impute = "Impute them: --impute median, or sklearn.impute.SimpleImputer. Or leave the columns or rows out."
    if any(missing.values()):
        yield _unusable("missing_values", missing, table.missing_rows, impute)
    infinite = dict(zip(names, columns.n_infinite.tolist(), strict=True))
    if any(infinite.values()):
        yield _unusable("infinite_values", infinite, table.infinite_rows, "Leave the columns or rows out.")
    named = named_columns(X, columns, table.n_distinct)
    found = {kind: [names[column] for column in of_kind] for kind, of_kind in named.items()}
    yield from id_finding(found["numbers"], "severe", "number", "the rows")
    yield from id_finding(found["identifiers"], "warning", "contain", "a different whole number in each row")
    yield from date_finding(found["dates"])
    yield from _coded_findings(table, columns)
    constant = [names[column] for column in np.flatnonzero(columns.constant)]
    yield from _constant([*constant, *(other.name for other in table.others if other.constant)])
    others = np.setdiff1d(np.arange(n_columns), [column for of_kind in named.values() for column in of_kind])
    yield from _ranges(columns, others, n_rows, names)
    yield from _many(round(columns.n_nonzero[~columns.constant].sum() / n_rows), n_rows)


def _coded_findings(table: Table, columns: Columns) -> Iterator[Finding]:
    """Yield the findings of nominal attributes of ARFF whose values distinguish all rows, or most."""
    occurs = columns.n_nonzero > columns.n_missing
    n_values = Counter(attribute_of(table.names[at]) for at in table.coded if occurs[at])
    n_rows, n_distinct = table.X.shape[0], table.n_distinct
    names = [name for name, n in n_values.items() if n == n_distinct >= LEAST_ROWS]
    yield from id_finding(names, "severe", "contain", "a different category in each row")
    many = [(name, n) for name, n in n_values.items() if _are_many(n, n_rows, n_distinct)]
    yield from _many_categories(many, "Leave them out: --ignore {some}.")


def _many(n_used: int, n_rows: int) -> Iterator[Finding]:
    """Compare the number of features that a row uses on average, words of a text or all, with that of the rows."""
    if n_used > n_rows:
        sentence = (
            f"A row has {counted(n_used, 'feature')} other than 0 on average, more than the number of rows"
            f" ({n_rows:,}): most distances are nearly equal."
        )
        remedy = "Select features (igs+mlknn), or reduce them by sklearn.decomposition."
        yield Finding("more_columns_than_rows", "warning", sentence, remedy, {"features": n_used, "rows": n_rows})


def _unusable(kind: str, counts: Mapping[str, int], rows: BoolArray, remedy: str) -> Finding:
    total, n_rows, first, shown = sum(counts.values()), int(rows.sum()), int(rows.argmax()), _by_column(counts.items())
    where = f"in row {first}" if n_rows == 1 else f"in {n_rows:,} rows, the first of which is row {first}"
    what = counted(total, kind.replace("_", " ").removesuffix("s"))
    sentence = f"X has {what} {where} (counted from 0), by column: {shown}. Most methods refuse them."
    evidence = {"values": total, "columns": shown, "rows": n_rows, "first_row": first}
    severity = "severe" if n_rows > max(1, _FEW * len(rows)) else "warning"  # the other rows can be examined
    return Finding(kind, severity, sentence, remedy, evidence)


def _by_column(counts: Iterable[tuple[str, int]]) -> str:
    return listed([f"{name} ({count:,})" for name, count in counts if count])


def named_columns(X: Matrix, columns: Columns, n_distinct: int) -> dict[str, list[int]]:
    """Return the columns that are "dates", that are the "numbers" of the rows, and other "identifiers" of rows.

    `n_distinct` is the number of distinct rows.
    """
    n_copies = X.shape[0] - n_distinct
    full = (columns.n_missing + columns.n_infinite == 0) & ~columns.constant
    full &= (columns.n_nonzero >= n_distinct - 1) & (n_distinct >= LEAST_ROWS)
    chosen: list[int] = np.flatnonzero(full).tolist()
    kinds: dict[str, list[int]] = {"dates": [], "identifiers": [], "numbers": []}
    for column, in_order in zip(chosen, _in_order_of_rows(X, chosen), strict=True):
        kind = _kind_of(X, column, columns, in_order, n_copies)
        if kind is not None:
            kinds[kind].append(column)
    return kinds


def _kind_of(X: Matrix, column: int, columns: Columns, in_order: bool, n_copies: int) -> str | None:
    """Return "dates", "numbers" of the rows or other "identifiers"; None for a measurement.

    Among n whole numbers drawn at random from their range, n² / (2 span) pairs are expected to be equal.
    """
    n_rows, span = X.shape[0] - n_copies, columns.high[column] - columns.low[column] + 1
    if not columns.whole[column]:
        return "numbers" if in_order else None
    if _is_date(X, column, columns):
        return "dates"
    by_chance = span < n_rows or (n_rows**2 / (2 * span) < _COINCIDENCES and not in_order)
    if by_chance or not _tells_apart(as_dense(X[:, [column]]).ravel(), n_copies):
        return None
    return "numbers" if in_order or span < 2 * n_rows else "identifiers"


def _in_order_of_rows(X: Matrix, columns: list[int]) -> BoolArray:
    """Return which columns rise or fall with the row number, by some rows."""
    rows = X[:: max(1, X.shape[0] // _SAMPLED_ROWS)][:, columns]
    ranks = rankdata(as_dense(rows), axis=0)
    ranks -= ranks.mean(axis=0)
    place = np.arange(len(ranks)) - (len(ranks) - 1) / 2
    lengths = np.sqrt((ranks**2).sum(axis=0) * (place**2).sum())
    return np.asarray(np.abs(place @ ranks) > _RISING * lengths)


def _tells_apart(values: FloatArray, n_copies: int) -> bool:
    """Return whether values differ in all rows except copies; some rows are compared before all are sorted."""
    some = values[:_SAMPLED_ROWS]
    return len(some) - len(np.unique(some)) <= n_copies == len(values) - len(np.unique(values))


def _is_date(X: Matrix, column: int, columns: Columns) -> bool:
    """Return whether whole numbers are dates like 20260131, or seconds or milliseconds since 1970."""
    low, high = columns.low[column], columns.high[column]
    if _DATES[0] <= low and high <= _DATES[1]:
        rest, day = np.divmod(as_dense(X[:, [column]]).ravel(), 100)
        month = rest % 100
        return bool(((day >= 1) & (day <= 31) & (month >= 1) & (month <= 12)).all())
    return any(_EPOCH[0] * unit <= low and high <= _EPOCH[1] * unit for unit in (1, 1000))


def id_finding(names: Sequence[str], severity: str, verb: str, what: str) -> Iterator[Finding]:
    """Yield the finding of columns that identify rows, if there are some."""
    if names:
        columns = counted(len(names), "column", f"{verb}s", verb)
        sentence = f"{columns} {what}, like identifiers: {listed(names)}."
        remedy = f"Leave out columns that are not measurements: --ignore {','.join(names[:3])}."
        yield Finding("id_like", severity, sentence, remedy, {"count": len(names), "columns": listed(names)})


def date_finding(names: Sequence[str]) -> Iterator[Finding]:
    """Yield the finding of columns of dates, if there are some."""
    if names:
        sentence = (
            f"{counted(len(names), 'column', 'contains', 'contain')} dates: {listed(names)}. As numbers they"
            " make rows of the same time neighbours, and outweigh other features."
        )
        remedy = (
            f"Leave dates out, or compute ages, months or weekdays from them: --ignore {','.join(names[:3])}. Or"
            f" compare them as days: --date {','.join(names[:3])}."
        )
        yield Finding("date_like", "warning", sentence, remedy, {"count": len(names), "columns": listed(names)})


def _constant(names: Sequence[str]) -> Iterator[Finding]:
    if names:
        columns = counted(len(names), "column", "has", "have")
        sentence = f"{columns} the same value in all rows: {listed(names)}."
        remedy = "They need no remedy, as they do not change distances. Check whether an export lost their values."
        yield Finding("constant_columns", "note", sentence, remedy, {"count": len(names), "columns": listed(names)})


def _ranges(columns: Columns, chosen: IntArray, n_rows: int, names: Sequence[str]) -> Iterator[Finding]:
    """Compare ranges with the lower end of all: a tenth of the features may be narrow. A rare word is not wide."""
    with np.errstate(over="ignore", invalid="ignore"):
        widths = (columns.high - columns.low)[chosen]
    chosen, widths = chosen[widths > 0], widths[widths > 0]
    if len(widths) < 2:
        return
    narrow = float(np.quantile(widths, 0.1, method="lower"))
    wide = np.flatnonzero((widths > FAR_APART * narrow) & (columns.n_nonzero[chosen] > n_rows / 2))
    if len(wide):
        order = np.argsort(-widths[wide], kind="stable")
        widest = listed([names[column] for column in chosen[wide[order]]])
        ratio = float(widths[wide].max() / narrow)
        sentence = f"Ranges of features differ by up to {ratio:,.0f} times, so the widest dominate Euclidean distances"
        remedy = "Scale the features: --scale minmax, or sklearn.preprocessing.MinMaxScaler."
        evidence = {"ratio": ratio, "count": len(wide), "columns": widest}
        yield Finding("ranges_far_apart", "severe", f"{sentence}: {widest}.", remedy, evidence)


# A description of each column of a table.

_NOTES = {"dates": "date_like", "identifiers": "id_like", "numbers": "id_like"}


def describe_columns(
    X: MatrixLike | Dataset, *, feature_names: Sequence[str] | None = None, feature_kinds: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Describe each column: its kind, and the numbers of its distinct and missing values.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features), or Dataset
        Numbers, categories, texts and dates.
    feature_names : sequence of str of length n_features, default=None
        None: those of a Dataset or data frame, else the numbers of the columns, from 0.
    feature_kinds : sequence of str of length n_features, default=None
        As in `examine`.

    Returns
    -------
    list of dict
        For each column "column", its name; "kind", "number", "category", "text", "date" or, for texts that are in one
        row each, "identifier"; "missing" and "distinct", numbers of rows and of values; and "note": "constant",
        "id_like", "date_like" and "many_categories" as `examine` finds them, else "".

    Raises
    ------
    ValueError
        If X is malformed, or names or kinds are not one for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.datasets import describe_columns
    >>> X = np.array([[92, "soul"], [171, "punk"], [128, None], [70, "soul"]], dtype=object)
    >>> for column in describe_columns(X, feature_names=("tempo", "genre"), feature_kinds=("number", "category")):
    ...     print(column)
    {'column': 'tempo', 'kind': 'number', 'missing': 0, 'distinct': 4, 'note': ''}
    {'column': 'genre', 'kind': 'category', 'missing': 1, 'distinct': 2, 'note': ''}
    """
    table = table_of(X, feature_names, feature_kinds)
    numbers, others = _of_numbers(table), (_of_other(other, table.n_distinct) for other in table.others)
    kinds = table.kinds or ("number",) * len(table.names)
    return [next(numbers if kind == "number" else others) for kind in kinds]


def _of_numbers(table: Table) -> Iterator[dict[str, Any]]:
    columns = statistics_of(table.X)
    named = named_columns(table.X, columns, table.n_distinct)
    notes = {at: _NOTES[kind] for kind, places in named.items() for at in places}
    notes |= dict.fromkeys(np.flatnonzero(columns.constant).tolist(), "constant")
    by_column = sparse.csc_array(table.X) if sparse.issparse(table.X) else table.X
    for at, name in enumerate(table.names):
        values = as_dense(by_column[:, [at]]).ravel()
        n_distinct = len(np.unique(values[~np.isnan(values)]))
        yield _described(name, "number", int(columns.n_missing[at]), n_distinct, notes.get(at, ""))


def _of_other(other: Other, n_distinct: int) -> dict[str, Any]:
    note = "constant" if other.constant else "id_like" if identifies(other, n_distinct) else ""
    note = note or ("many_categories" if has_many_categories(other, n_distinct) else "")
    note = note or ("date_like" if other.kind == DATE and not other.is_declared else "")
    return _described(other.name, other.kind, int(other.lacking.sum()), other.n_distinct, note)


def _described(name: str, kind: str, n_missing: int, n_distinct: int, note: str) -> dict[str, Any]:
    return {"column": name, "kind": kind, "missing": n_missing, "distinct": n_distinct, "note": note}


# Findings in columns without numbers: categories, texts, dates, identifiers.

_MOST_NAMED = 3  # columns in the text of a remedy


def other_findings(table: Table) -> Iterator[Finding]:
    """Yield the findings in columns without numbers, whether their kinds are declared or not."""
    others, n_distinct = table.others, table.n_distinct
    identifiers = [other for other in others if identifies(other, n_distinct)]
    seeming = [other for other in others if not other.is_declared]
    yield from date_finding([other.name for other in seeming if other.kind == DATE])
    yield from id_finding([other.name for other in identifiers], "severe", "contain", "a different text in each row")
    yield from _undeclared([other for other in seeming if other.is_compared and other not in identifiers])
    many = [(other.name, other.n_distinct) for other in others if has_many_categories(other, n_distinct)]
    remedy = "If they contain several words, compare these: --text {some}. Or leave them out: --ignore {some}."
    yield from _many_categories(many, remedy)
    yield from _missing([other for other in others if other.kind in (CATEGORY, TEXT)])


def identifies(other: Other, n_distinct: int) -> bool:
    """Return whether a column seems to identify rows: it has texts, single words that are in no other distinct row."""
    all_distinct = other.kind in (CATEGORY, TEXT) and n_distinct >= LEAST_ROWS and other.n_distinct == n_distinct
    return other.kind == IDENTIFIER or (all_distinct and (other.kind == CATEGORY or not other.has_words))


def has_many_categories(other: Other, n_distinct: int) -> bool:
    """Return whether most rows have a category of their own, without each distinct row having one."""
    return other.kind == CATEGORY and _are_many(other.n_distinct, len(other.values), n_distinct)


def _are_many(n_values: int, n_rows: int, n_distinct: int) -> bool:
    return n_rows >= LEAST_ROWS and n_rows / 2 < n_values < n_distinct


def _undeclared(others: Sequence[Other]) -> Iterator[Finding]:
    if not others:
        return
    names = [other.name for other in others]
    options = [("--categorical", CATEGORY), ("--text", TEXT)]
    of_kind = {option: [other.name for other in others if other.kind == kind] for option, kind in options}
    proposed = " ".join(f"{option} {','.join(some[:_MOST_NAMED])}" for option, some in of_kind.items() if some)
    columns = counted(len(names), "column", "contains", "contain")
    sentence = f"{columns} texts or categories: {listed(names)}. Distances depend on which of the two they are."
    remedy = (
        f"Declare them: {proposed}, in Python nearlabel.preprocessing.MixedFeaturesEncoder; or leave them out:"
        f" --ignore {','.join(names[:_MOST_NAMED])}."
    )
    yield Finding("text_columns", "severe", sentence, remedy, {"count": len(names), "columns": listed(names)})


def _many_categories(n_values: Sequence[tuple[str, int]], remedy: str) -> Iterator[Finding]:
    if n_values:
        shown = _by_column(n_values)
        remedy = remedy.format(some=",".join(name for name, _ in n_values[:_MOST_NAMED]))
        columns = counted(len(n_values), "column", "of categories distinguishes", "of categories distinguish")
        sentence = f"{columns} most rows from all others: {shown}."
        yield Finding("many_categories", "warning", sentence, remedy, {"count": len(n_values), "columns": shown})


def _missing(others: Sequence[Other]) -> Iterator[Finding]:
    counts = {other.name: int(other.lacking.sum()) for other in others}
    total = sum(counts.values())
    if total:
        shown, are = _by_column(counts.items()), "is" if total == 1 else "are"
        cells = f"{counted(total, 'cell')} of categories and texts {are} missing"
        sentence = f"{cells}, by column: {shown}. Each differs from all others."
        remedy = (
            "They need no remedy. MixedFeaturesEncoder(missing_categories='category') treats missing ones as equal."
        )
        yield Finding("missing_categories", "note", sentence, remedy, {"values": total, "columns": shown})
