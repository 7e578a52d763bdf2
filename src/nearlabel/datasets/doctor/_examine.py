"""Problems of a data set that make neighbours worse, in its columns, rows, labels and neighbours."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import clone

from nearlabel.datasets._dataset import Dataset
from nearlabel.datasets.doctor._columns import column_findings, other_findings
from nearlabel.datasets.doctor._finding import Examination, Finding, counted, listed, percent
from nearlabel.datasets.doctor._label_names import name_findings
from nearlabel.datasets.doctor._leaks import leak_findings
from nearlabel.datasets.doctor._order import order_findings
from nearlabel.datasets.doctor._tables import Table, common_finding, row_findings, row_keys, rows_with, table_of
from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.votes import LEAST_ROWS, MOST_OF_ALL, all_tied, occurrences, share_of_most_used, skewness
from nearlabel.utils.containers import check_row_names, without_sparse_frame
from nearlabel.utils.tags import tag_matrix, tags_of
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_integer

_Texts: TypeAlias = Sequence[str] | None


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
    labels: one class only, few rows, equal labels, tags that were not separated, columns, or pairs of them, that give
    a label away, an order of the rows, other rates in later rows. In the neighbours, by one search: hubs, near
    duplicates, equal distances.

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
        Maximum number of rows of the search; of more rows a random sample is drawn. Other checks use all rows, except
        that columns that give a label away are sought in at most 20,000 rows, and proven in all.
    random_state : int, default=0
        Seed of these samples.
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
    findings: list[Finding] = [*other_findings(table), *column_findings(table), *_of_rows(table, Y, X_test)]
    notes: list[str] = []
    if Y is not None:
        leaks, notes = leak_findings(table, Y, names, random_state)
        findings += [*label_findings(Y, names), *leaks, *order_findings(table, Y, names)]
    if neighbors is not None or search is not False:
        if neighbors is None:
            rows, transformer = _searched(X.X if isinstance(X, Dataset) else X, table, transformer)
            chosen, drawn = _drawn(rows.shape[0], max_rows, random_state)
            found, more = _neighbors(rows, chosen, table, transformer, search, n_neighbors)
            notes += drawn + more
        else:
            found = _given(neighbors, table.X.shape[0])
        if found is not None:
            findings += neighbor_findings(*found)
    return Examination(findings, notes)


def _parts(
    X: Any, y: Any, feature_names: _Texts, feature_kinds: _Texts, label_names: _Texts
) -> tuple[Table, PartialLabels | None, tuple[str, ...]]:
    """Return the table, the label sets as CSR, and the names of the labels."""
    if isinstance(X, Dataset):
        X = X.with_arrays()
        y = X.Y if y is None else y
        label_names = X.label_names if label_names is None else label_names
    table = table_of(X, feature_names, feature_kinds)
    if y is None:
        return table, None, ()
    check_row_names(X=X, y=y)
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


def _of_rows(table: Table, Y: PartialLabels | None, X_test: Any) -> Iterator[Finding]:
    """Yield the findings in the rows of a table."""
    if not table.keyed.shape[1]:
        return
    yield from row_findings(table, Y)
    if X_test is not None:
        of_test = table_of(X_test, None, table.kinds, what="X_test")
        if of_test.n_columns != table.n_columns:
            raise ValueError(f"X_test must have {table.n_columns} features, as X, got {of_test.n_columns}.")
        yield from common_finding(table, of_test)


def _given(neighbors: Any, n_rows: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Return distances and indices that were found before, and the numbers of the rows they are of."""
    found = neighbors.kneighbors() if hasattr(neighbors, "kneighbors") else neighbors
    distances, indices = map(np.asarray, found)
    if distances.ndim != 2 or distances.shape != indices.shape or len(indices) != n_rows or not distances.size:
        raise ValueError(
            f"neighbors must be distances and indices of shape ({n_rows}, n_neighbors), got shapes"
            f" {distances.shape} and {indices.shape}."
        )
    return distances, indices, np.arange(n_rows)


def _searched(X: Any, table: Table, transformer: Any) -> tuple[Any, Any]:
    """Return the rows whose neighbours are searched, and the transformer applied to them before."""
    if transformer is not None:
        return (X if hasattr(X, "shape") else np.asarray(X)), transformer
    return (table.cells(), table.encoder()) if table.compared else (table.X, None)


def _drawn(n_rows: int, max_rows: int, random_state: int) -> tuple[IntArray, list[str]]:
    """Return the numbers of the rows whose neighbours are searched, and a note if they are a random sample."""
    if n_rows <= max_rows:
        return np.arange(n_rows), []
    chosen = np.sort(np.random.default_rng(random_state).choice(n_rows, max_rows, replace=False))
    return chosen, [f"Neighbours are those among {max_rows:,} of the {n_rows:,} rows, drawn at random."]


def _neighbors(
    rows: Any, chosen: IntArray, table: Table, transformer: Any, search: Any, n_neighbors: int
) -> tuple[tuple[FloatArray, IntArray, IntArray] | None, list[str]]:
    """Return distances, indices and the numbers of their rows, or None; and notes on rows that were not searched."""
    if len(chosen) < 2 or not rows.shape[1]:
        return None, ["Neighbours were not searched: there are none."]
    notes = []
    try:
        X, known = _transformed(rows, chosen, table, transformer)
    except ValueError as error:  # a method would reject the rows, too
        return None, [f"Neighbours were not searched: {str(error).splitlines()[0]}"]
    finite = ~rows_with(lambda values: ~np.isfinite(values), X)
    X, known = (X, known) if finite.all() else (X[finite], known[finite])
    if len(known) < len(chosen):
        notes = [f"Neighbours are those among the {len(known):,} rows without missing or infinite values."]
    if len(known) < 2:
        return None, ["Neighbours were not searched: rows have missing or infinite values."]
    fitted = (ExactNeighbors() if search is True else clone(search, safe=False)).fit(X)
    distances, indices = fitted.kneighbors(None, min(n_neighbors, X.shape[0] - 1))
    return (distances, indices, known), notes


def _transformed(rows: Any, chosen: IntArray, table: Table, transformer: Any) -> tuple[Matrix, IntArray]:
    """Return the chosen rows as a transformer gives them, or those that are complete if it refuses others."""
    if len(chosen) < rows.shape[0]:
        rows = rows.iloc[chosen] if hasattr(rows, "iloc") else rows[chosen]
    if transformer is None:
        return rows, chosen
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Column .* categories in")  # which is a finding here
        try:
            return clone(transformer).fit_transform(rows), chosen
        except ValueError:
            complete = ~(table.missing_rows | table.infinite_rows)[chosen]
            if complete.all() or complete.sum() < 2:
                raise
        kept = np.flatnonzero(complete)
        rows = rows.iloc[kept] if hasattr(rows, "iloc") else rows[kept]
        return clone(transformer).fit_transform(rows), chosen[complete]


# Findings in the neighbours of the rows: hubs, near duplicates, distances that do not distinguish rows.

MANY = 0.1  # of all places, to the most used hundredth of the rows: 10 times its share
SKEWED = 1.0  # of the occurrences; a rule of thumb
NEARLY_EQUAL = 1e-3  # of the median distance to the nearest row
FEW_NEAR = 0.005  # of the rows: in one dimension a thousandth is as near by chance


def neighbor_findings(distances: FloatArray, indices: IntArray, rows: IntArray) -> Iterator[Finding]:
    """Yield the findings in the lists (n_lists, n_neighbors) of rows, nearest first, each without itself.

    `rows` are the numbers of the rows in X, for evidence.
    """
    yield from _hubs(indices, rows)
    yield from _near_duplicates(distances[:, 0])
    alike = all_tied(distances) & (distances[:, 0] > 0)
    if distances.shape[1] > 1 and alike.mean() > MOST_OF_ALL:
        sentence = (
            f"For {percent(alike.mean())} of the rows all {distances.shape[1]} neighbours are at the same distance, so"
            " the order of the rows decides which are the neighbours."
        )
        evidence = {"share": float(alike.mean()), "n_neighbors": distances.shape[1]}
        remedy = "Use features or a metric that distinguish rows."
        yield Finding("equal_distances", "severe", sentence, remedy, evidence)


def _hubs(indices: IntArray, rows: IntArray) -> Iterator[Finding]:
    n_rows = len(rows)
    occurs = occurrences(indices, n_rows)
    n_top, share, skewed = -(-n_rows // 100), share_of_most_used(occurs), skewness(occurs)
    never = float((occurs == 0).mean())
    fair = n_rows >= LEAST_ROWS
    severity = "severe" if fair and share > MOST_OF_ALL else "warning" if fair and share > MANY else "note"
    if severity == "note" and skewed <= SKEWED:
        return
    sentence = (
        f"{counted(n_top, 'row', '(1 %) takes', '(1 %) take')} {percent(share)} of all places among"
        f" {indices.shape[1]} neighbours, and {percent(never)} of the rows are no row's neighbour (skewness"
        f" {skewed:.2g})."
    )
    remedy = "Try --scale minmax, the cosine (--search exact:metric=cosine), and fewer features."
    evidence = {"share": share, "skewness": skewed, "never_share": never, "n_neighbors": indices.shape[1]}
    yield Finding("hubs", severity, sentence, remedy, evidence | {"first_row": int(rows[occurs.argmax()])})


def _near_duplicates(nearest: FloatArray) -> Iterator[Finding]:
    apart = nearest[nearest > 0]
    if not len(apart):
        return
    n_near = int((apart <= NEARLY_EQUAL * np.median(apart)).sum())
    share = n_near / len(nearest)
    if n_near > 1 and share > FEW_NEAR:
        sentence = (
            f"{counted(n_near, 'row')} ({percent(share)}) are nearly equal to another: nearer than a thousandth of the"
            " usual distance to the nearest row."
        )
        remedy = "Check whether they were measured twice, or are parts of one thing. Put such rows into one fold."
        yield Finding("near_duplicates", "warning", sentence, remedy, {"rows": n_near, "share": share})


# Findings in the labels.

TAKE_UNKNOWN = ("BRkNN", "BRkNNa", "BRkNNb", "MLkNN", "BinaryRelevance")  # methods above this room
LEAST_ROWS_OF_CLASS = 5  # of a class: with fewer, some of five folds have none


def label_findings(Y: PartialLabels, names: Sequence[str]) -> Iterator[Finding]:
    """Yield the findings in label sets, canonical CSR with unknown cells, and in the names of the labels."""
    n_rows, n_labels = Y.labels.shape
    n_with = np.bincount(Y.labels.indices, minlength=n_labels)
    n_known = np.full(n_labels, n_rows)
    if Y.unknown is not None:
        n_known = n_rows - np.bincount(Y.unknown.indices, minlength=n_labels)
        yield from _unknown(Y.unknown, names)
        yield from _nothing_known(Y.unknown)
    rarer = np.minimum(n_with, n_known - n_with)
    yield from name_findings(names, n_with)
    yield from _one_class([names[label] for label in np.flatnonzero(rarer == 0).tolist()])
    is_rare = (rarer > 0) & (rarer < LEAST_ROWS_OF_CLASS)
    yield from _rare([names[label] for label in np.flatnonzero(is_rare).tolist()])
    yield from _equal(Y.with_nan(), np.flatnonzero(rarer > 0), names)


def _unknown(unknown: Matrix, names: Sequence[str]) -> Iterator[Finding]:
    labels = np.unique(unknown.indices)
    shown, share = listed([names[label] for label in labels]), unknown.nnz / np.prod(unknown.shape)
    sentence = (
        f"{counted(len(labels), 'label', 'is', 'are')} unknown for some rows ({counted(unknown.nnz, 'cell')},"
        f" {percent(share)} of all): {shown}. Most methods do not accept them."
    )
    remedy = f"{', '.join(TAKE_UNKNOWN)} use the known cells. For other methods leave those rows or labels out."
    evidence = {"values": int(unknown.nnz), "share": float(share), "count": len(labels), "labels": shown}
    yield Finding("missing_labels", "warning", sentence, remedy, evidence)


def _nothing_known(unknown: Matrix) -> Iterator[Finding]:
    rows = np.flatnonzero(np.diff(unknown.indptr) == unknown.shape[1])
    if len(rows):
        share, have = len(rows) / unknown.shape[0], "has" if len(rows) == 1 else "have"
        sentence = (
            f"{counted(len(rows), 'row')} ({percent(share)}) {have} no known label."
            " Methods do not learn from such rows, and metrics do not count them."
        )
        remedy = "Leave them out of training; predict them."
        evidence = {"rows": len(rows), "share": share, "first_row": int(rows[0])}
        yield Finding("rows_without_known_labels", "note", sentence, remedy, evidence)


def _one_class(names: Sequence[str]) -> Iterator[Finding]:
    if names:
        labels = counted(len(names), "label", "is", "are")
        sentence = f"{labels} carried by no row or by all: {listed(names)}. Such a label is predicted as this constant."
        remedy = "Leave them out, or add rows with the other class."
        yield Finding("one_class_labels", "warning", sentence, remedy, {"labels": listed(names), "count": len(names)})


def _rare(names: Sequence[str]) -> Iterator[Finding]:
    if names:
        sentence = (
            f"{counted(len(names), 'label', 'is', 'are')} carried by under {LEAST_ROWS_OF_CLASS} rows, or by nearly"
            f" all rows: {listed(names)}. Neighbours seldom vote for a rare label."
        )
        remedy = "Stratified folds (--stratify), tuned thresholds (@macro-f); mean metrics over labels depend on them."
        yield Finding("rare_labels", "note", sentence, remedy, {"labels": listed(names), "count": len(names)})


def _equal(Y: Matrix, labels: IntArray, names: Sequence[str]) -> Iterator[Finding]:
    columns = sparse.csr_array(Y[:, labels].T)
    columns.sort_indices()
    _, first, group = np.unique(row_keys(columns), return_index=True, return_inverse=True)
    copies = np.flatnonzero(first[group] != np.arange(len(labels)))
    if len(copies):
        pairs = listed([f"{names[labels[copy]]} = {names[labels[first[group[copy]]]]}" for copy in copies])
        labels_are = counted(len(copies), "label", "is", "are")
        sentence = f"{labels_are} carried by the same rows as an earlier label: {pairs}."
        remedy = "Keep one of them: the other counts twice in every mean, and adds no information."
        yield Finding("equal_labels", "warning", sentence, remedy, {"labels": pairs, "count": len(copies)})
