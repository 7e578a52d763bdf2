"""Problems of a data set that make neighbours worse, in its columns, rows, labels and neighbours."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets.doctor._columns import column_findings
from nearlabel.datasets.doctor._finding import Examination, Finding
from nearlabel.datasets.doctor._labels import label_findings
from nearlabel.datasets.doctor._neighbors import neighbor_findings
from nearlabel.datasets.doctor._others import other_findings
from nearlabel.datasets.doctor._rows import (
    Keys,
    common_finding,
    duplicate_findings,
    empty_finding,
    empty_rows,
    n_distinct_rows,
    row_keys,
)
from nearlabel.datasets.doctor._tables import Table, table_of
from nearlabel.neighbors import ExactNeighbors
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_integer, tag_matrix, tags_of, without_sparse_frame


def examine(
    X: MatrixLike | Dataset,
    y: MatrixLike | None = None,
    *,
    X_test: MatrixLike | Dataset | None = None,
    feature_kinds: Sequence[str] | None = None,
    transformer: Any = None,
    search: Any = True,
    neighbors: Any = None,
    n_neighbors: int = 10,
    max_rows: int = 100_000,
    random_state: int = 0,
    feature_names: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
) -> Examination:
    """Find problems of a data set that make neighbours worse, with a remedy for each.

    In the columns: identifiers, dates, text, constants, ranges far apart, missing and infinite values, more columns
    than rows. In the rows: empty ones, equal ones, equal ones with other label sets, copies of test samples. In the
    labels: one class only, few rows, equal labels, tags that were not separated. In the neighbours, by one search:
    hubs, near duplicates, equal distances.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_samples, n_features), or Dataset
        May have missing and infinite values; a data frame or an array of objects may have categories, texts and dates.
        A sparse X stays sparse.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,), default=None
        Label sets, as 0 and 1, or NaN where they are unknown, or the tags of each sample. None: those of a Dataset,
        else none are examined.
    X_test : array-like, data frame or sparse container of shape (n_test, n_features), or Dataset, default=None
        Samples to predict; those that are also training samples are counted.
    feature_kinds : sequence of str of length n_features, default=None
        The kinds of the columns of a data frame or of an array of objects: "number", "category", "text" or "date".
        None: those of a Dataset, else the probable kinds, which are a finding unless they are numbers.
    transformer : object with `fit_transform`, default=None
        Transforms X before the search, such as the result of `nearlabel.experiments.make_preparation`. None: numbers
        are unchanged; other columns are encoded by `nearlabel.preprocessing.MixedFeaturesEncoder`, without
        identifiers, and without dates unless `feature_kinds` names them.
    search : bool or object with `fit` and `kneighbors`, default=True
        Finds the neighbours; True: `ExactNeighbors`, by the Euclidean distance. False: the neighbours are not examined,
        which is much faster.
    neighbors : object with `kneighbors`, or pair of arrays (n_samples, n_neighbors), default=None
        Neighbours that were found before, to save the search: a fitted search, `PrecomputedNeighbors`, or distances and
        indices, nearest first, of each row without itself.
    n_neighbors : int, default=10
        Number of neighbours, at most the number of other rows.
    max_rows : int, default=100_000
        Maximum number of rows of the search; of more rows a random sample is drawn. Other checks use all rows.
    random_state : int, default=0
        Seed of that sample.
    feature_names, label_names : sequence of str, default=None
        Names for the findings. None: those of a Dataset or data frame, else the numbers of the columns, from 0.

    Returns
    -------
    Examination
        The findings, the most severe first.

    Raises
    ------
    ValueError
        If X or y are malformed, or do not agree in number of rows, columns or names.

    Notes
    -----
    Memory apart from X, the search and the neighbours is bounded by blocks, plus some 200 bytes a row.

    References
    ----------
    Radovanović, Nanopoulos and Ivanović, "Hubs in Space", JMLR 11, 2010: the skewness of occurrences.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.datasets import examine
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([np.arange(50), rng.random(50), rng.random(50)])
    >>> print(examine(X, feature_names=("id", "width", "height"), search=False))
    severe   id_like: 1 column numbers the rows, like identifiers: id.
             Remedy: Leave out columns that are not measurements: --ignore id.
    """
    check_integer("n_neighbors", n_neighbors, low=1)
    check_integer("max_rows", max_rows, low=2)
    table, Y, names = _parts(X, y, feature_names, feature_kinds, label_names)
    rows = table.keyed()
    keys = row_keys(rows)
    n_distinct = n_distinct_rows(keys, rows.shape[1])
    findings: list[Finding] = [*other_findings(table.others, n_distinct), *column_findings(table, n_distinct)]
    findings += _of_rows(table, rows, keys, Y, X_test.with_arrays().X if isinstance(X_test, Dataset) else X_test)
    notes: list[str] = []
    if Y is not None:
        findings += label_findings(Y, names)
    if neighbors is not None or search is not False:
        if neighbors is None:
            rows, transformer = _searched(X.X if isinstance(X, Dataset) else X, table, transformer)
            found, notes = _neighbors(rows, transformer, search, n_neighbors, max_rows, random_state)
        else:
            found = _given(neighbors, table.X.shape[0])
        if found is not None:
            findings += neighbor_findings(*found)
    return Examination(findings, notes)


def _parts(
    X: Any,
    y: Any,
    feature_names: Sequence[str] | None,
    feature_kinds: Sequence[str] | None,
    label_names: Sequence[str] | None,
) -> tuple[Table, PartialLabels | None, tuple[str, ...]]:
    """Return the table, the label sets as CSR, and the names of the labels."""
    if isinstance(X, Dataset):
        X = X.with_arrays()
        y = X.Y if y is None else y
        feature_names = X.feature_names if feature_names is None else feature_names
        feature_kinds = X.feature_kinds if feature_kinds is None else feature_kinds
        label_names = X.label_names if label_names is None else label_names
        X = X.X
    table = table_of(X, feature_names, feature_kinds)
    if y is None:
        return table, None, ()
    tags = tags_of(y)
    if tags is not None:
        y, known = tag_matrix(tags)
        label_names = list(known) if label_names is None else label_names
    elif label_names is None and hasattr(y, "columns"):
        label_names = list(map(str, y.columns))
    Y = _label_sets(y)
    n_rows, n_labels = Y.labels.shape
    if n_rows != table.X.shape[0]:
        raise ValueError(f"y must have as many rows as X, {table.X.shape[0]}, got {n_rows}.")
    names = list(map(str, range(n_labels))) if label_names is None else label_names
    if len(names) != n_labels:
        raise ValueError(f"label_names must be {n_labels} names, one for each label, got {len(names)}.")
    return table, Y, tuple(map(str, names))


def _label_sets(y: Any) -> PartialLabels:
    """Return label sets as CSR."""
    y = without_sparse_frame(y)
    if np.ndim(y) == 1 and not sparse.issparse(y):
        y = np.ma.asarray(y).reshape(-1, 1) if np.ma.isMaskedArray(y) else np.asarray(y).reshape(-1, 1)
    labels, unknown = PartialLabels.of(y)
    return PartialLabels(sparse.csr_array(labels), None if unknown is None else sparse.csr_array(unknown))


def _of_rows(table: Table, X: Matrix, keys: Keys, Y: PartialLabels | None, X_test: Any) -> Iterator[Finding]:
    """Yield the findings in rows X of a table, which have these keys."""
    if not X.shape[1]:
        return
    empty = empty_rows(X)
    yield from empty_finding(X, empty)
    yield from duplicate_findings(keys, empty, Y)
    if X_test is not None:
        of_test = table_of(X_test, None, table.kinds, what="X_test")
        if of_test.n_columns != table.n_columns:
            raise ValueError(f"X_test must have {table.n_columns} features, as X, got {of_test.n_columns}.")
        test = of_test.keyed()
        yield from common_finding(keys, row_keys(_alike(test, X)), empty_rows(test))


def _alike(test: Matrix, X: Matrix) -> Matrix:
    """Return test samples in the container of the training samples."""
    if sparse.issparse(test) == sparse.issparse(X):
        return test
    return sparse.csr_array(test) if sparse.issparse(X) else test.toarray()


def _given(neighbors: Any, n_rows: int) -> tuple[FloatArray, IntArray, int]:
    """Return distances and indices that were found before, and the number of rows they are of."""
    found = neighbors.kneighbors() if hasattr(neighbors, "kneighbors") else neighbors
    distances, indices = map(np.asarray, found)
    if distances.ndim != 2 or distances.shape != indices.shape or len(indices) != n_rows or not distances.size:
        raise ValueError(
            f"neighbors must be distances and indices of shape ({n_rows}, n_neighbors), got shapes"
            f" {distances.shape} and {indices.shape}."
        )
    return distances, indices, n_rows


def _searched(X: Any, table: Table, transformer: Any) -> tuple[Any, Any]:
    """Return the rows whose neighbours are searched, and the transformer applied to them before."""
    if transformer is not None:
        return (X if hasattr(X, "shape") else np.asarray(X)), transformer
    return (table.cells(), table.encoder()) if table.compared else (table.X, None)


def _prepared(transformer: Any, rows: Any) -> Any:
    if transformer is None:
        return rows
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Column .* categories in")  # which is a finding here
        return clone(transformer).fit_transform(rows)


def _neighbors(
    rows: Any, transformer: Any, search: Any, n_neighbors: int, max_rows: int, random_state: int
) -> tuple[tuple[FloatArray, IntArray, int] | None, list[str]]:
    """Return distances, indices and the number of their rows, or None; and notes on parts that were not searched."""
    n_rows = rows.shape[0]
    if n_rows < 2 or not rows.shape[1]:
        return None, ["Neighbours were not searched: there are none."]
    notes = []
    if n_rows > max_rows:
        chosen = np.sort(np.random.default_rng(random_state).choice(n_rows, max_rows, replace=False))
        rows = rows.iloc[chosen] if hasattr(rows, "iloc") else rows[chosen]
        notes = [f"Neighbours are those among {max_rows:,} of the {n_rows:,} rows, drawn at random."]
    try:
        X = _prepared(transformer, rows)
    except ValueError as error:  # a method would reject the rows, too
        return None, [f"Neighbours were not searched: {str(error).splitlines()[0]}"]
    if not np.isfinite(X.data if sparse.issparse(X) else X).all():
        return None, ["Neighbours were not searched: rows have missing or infinite values."]
    fitted = (ExactNeighbors() if search is True else clone(search, safe=False)).fit(X)
    distances, indices = fitted.kneighbors(None, min(n_neighbors, X.shape[0] - 1))
    return (distances, indices, X.shape[0]), notes
