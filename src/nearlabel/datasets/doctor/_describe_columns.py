"""A description of each column of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets.doctor._columns import named_columns, statistics_of
from nearlabel.datasets.doctor._others import has_many_categories, identifies
from nearlabel.datasets.doctor._rows import n_distinct_rows, row_keys
from nearlabel.datasets.doctor._tables import DATE, Other, Table, table_of
from nearlabel.utils.types import MatrixLike

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
    if isinstance(X, Dataset):
        feature_names = X.feature_names if feature_names is None else feature_names
        feature_kinds = X.feature_kinds if feature_kinds is None else feature_kinds
        X = X.X
    table = table_of(X, feature_names, feature_kinds)
    rows = table.keyed()
    n_distinct = n_distinct_rows(row_keys(rows), rows.shape[1])
    numbers, others = _of_numbers(table, n_distinct), iter(table.others)
    kinds = table.kinds or ("number",) * len(table.names)
    return [next(numbers) if kind == "number" else _of_other(next(others), n_distinct) for kind in kinds]


def _of_numbers(table: Table, n_distinct: int) -> Iterator[dict[str, Any]]:
    columns = statistics_of(table.X)
    notes = {at: _NOTES[kind] for kind, places in named_columns(table.X, columns, n_distinct).items() for at in places}
    notes |= dict.fromkeys(np.flatnonzero(columns.constant).tolist(), "constant")
    by_column = sparse.csc_array(table.X) if sparse.issparse(table.X) else table.X
    for at, name in enumerate(table.names):
        values = by_column[:, [at]]
        values = np.asarray(values.toarray() if sparse.issparse(values) else values).ravel()
        n_distinct = len(np.unique(values[~np.isnan(values)]))
        yield _described(name, "number", int(columns.n_missing[at]), n_distinct, notes.get(at, ""))


def _of_other(other: Other, n_distinct: int) -> dict[str, Any]:
    note = "constant" if other.constant else "id_like" if identifies(other, n_distinct) else ""
    note = note or ("many_categories" if has_many_categories(other, n_distinct) else "")
    note = note or ("date_like" if other.kind == DATE and not other.is_declared else "")
    return _described(other.name, other.kind, int(other.lacking.sum()), other.n_distinct, note)


def _described(name: str, kind: str, n_missing: int, n_distinct: int, note: str) -> dict[str, Any]:
    return {"column": name, "kind": kind, "missing": n_missing, "distinct": n_distinct, "note": note}
