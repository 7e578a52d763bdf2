"""Findings in features and rows that give labels away: leaking columns, rows in the order of labels, later rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy import sparse, special, stats

from nearlabel.datasets.doctor._finding import Finding, listed, percent
from nearlabel.datasets.doctor._tables import CATEGORY, DATE, Table
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import CSR, AnyArray, BoolArray, FloatArray, IntArray, Matrix

_MOST_ROWS, _MOST_LABELS, _MOST_COLUMNS, _MOST_PAIRS = 2000, 200, 5000, 100
_LEAST = 10  # rows with and without a label
_NEARLY = 0.995  # area under the ROC curve
_CHANCE = 1e-6  # of a finding, over all columns and labels
_FEW_RUNS = 0.5  # of those by chance
_LATER = 0.2  # of the rows
_DIFFERENT = 0.1  # between two shares that matters


def giveaway_findings(table: Table, Y: PartialLabels, names: Sequence[str]) -> Iterator[Finding]:
    """Yield the findings in features, order of rows and dates by which labels could be guessed."""
    labels = _known_labels(Y)
    if labels.size:
        carried = sparse.csc_array(Y.labels)[:, labels]
        shown = [names[label] for label in labels.tolist()]
        yield from _leaking(table, carried, shown)
        yield from _sorted_rows(carried.toarray() == 1, shown)
        for other in table.others:
            if other.kind == DATE and (order := _dates_of(other.values)) is not None:
                yield from _later_rows(other.name, order, carried.toarray() == 1, shown)


def _known_labels(Y: PartialLabels) -> IntArray:
    """Return the most frequent labels that are known everywhere, with enough rows of both classes."""
    n_rows, n_labels = Y.labels.shape
    n_with = np.bincount(Y.labels.indices, minlength=n_labels)
    usable = np.minimum(n_with, n_rows - n_with) >= _LEAST
    if Y.unknown is not None:
        usable &= np.bincount(Y.unknown.indices, minlength=n_labels) == 0
    labels = np.flatnonzero(usable)
    return labels[np.argsort(-n_with[labels], kind="stable")[:_MOST_LABELS]]


# Features that predict a label.


def _leaking(table: Table, carried: CSR, labels: Sequence[str]) -> Iterator[Finding]:
    """Find columns by a threshold of which a label is known: most rows with it are above, and most others below."""
    matrix, columns = _columns_of(table)
    n_rows, n_columns = matrix.shape
    some = np.sort(np.random.default_rng(0).permutation(n_rows)[:_MOST_ROWS])
    areas = _areas(matrix[some], carried[some].toarray() == 1)
    found: list[tuple[str, str, float]] = []
    for column, label in np.argwhere(np.maximum(areas, 1 - areas) >= _NEARLY)[:_MOST_PAIRS].tolist():
        has_it = carried[:, [label]].toarray().ravel() == 1
        area = _areas(matrix[:, [column]], has_it[:, np.newaxis])[0, 0]
        area = max(area, 1 - area)
        ways = special.gammaln(n_rows + 1) - special.gammaln(has_it.sum() + 1) - special.gammaln((~has_it).sum() + 1)
        if area >= _NEARLY and ways > np.log(2 * n_columns * len(labels) / _CHANCE):
            found.append((columns[column], labels[label], float(area)))
    if found:
        best = sorted(found, key=lambda one: -one[2])
        pairs = listed([f"{column} -> {label}" for column, label, _ in best])
        exactly = "exactly" if best[-1][2] == 1 else "exactly or nearly"
        cases = "" if len(found) == 1 else f", in {len(found)} cases"
        sentence = f"A column predicts a label {exactly}{cases}: {pairs}."
        leaks = ",".join(dict.fromkeys(column.partition("=")[0] for column, _, _ in best[:3]))
        remedy = (
            "Was it known before the label was? If it was derived from the label, predictions of new samples will be"
            f" worse than all figures: leave it out, --ignore {leaks}."
        )
        severity = "note" if sparse.issparse(matrix) else "warning"  # a word may well be the name of a label
        yield Finding("leaking_columns", severity, sentence, remedy, {"columns": pairs, "count": len(found)})


def _columns_of(table: Table) -> tuple[Matrix, list[str]]:
    """Return columns to compare with labels, and their names: numbers, and each frequent category."""
    X = (
        table.X[:, :_MOST_COLUMNS]
        if not sparse.issparse(table.X)
        else sparse.csr_array(table.X != 0).astype(np.float64)
    )
    columns, names = [X], list(table.names[: X.shape[1]])
    for other in table.compared:
        if other.kind == CATEGORY:
            codes = other.codes
            values, first, counts = np.unique(codes, return_index=True, return_counts=True)
            for code, row, count in zip(values, first, counts, strict=True):
                if count >= _LEAST and len(names) < _MOST_COLUMNS:
                    columns.append((codes == code)[:, np.newaxis].astype(np.float64))
                    names.append(f"{other.name}={other.cells[row]}")
    return (columns[0] if len(columns) == 1 else np.column_stack(columns)), names


def _areas(X: Matrix, carried: BoolArray) -> FloatArray:
    """Return the area under the ROC curve (n_columns, n_labels) of each column for each label, ties as halves."""
    n_with = carried.sum(axis=0)
    n_without = len(carried) - n_with
    with np.errstate(invalid="ignore", divide="ignore"):
        if sparse.issparse(X):  # of 0 and 1
            shares = (X.T @ carried.astype(np.float64)) / n_with, (X.T @ (~carried).astype(np.float64)) / n_without
            return np.asarray(0.5 + (shares[0] - shares[1]) / 2)
        ranks = stats.rankdata(np.nan_to_num(X, nan=-np.inf), axis=0)
        sums = ranks.T @ carried.astype(np.float64)
        return np.asarray(np.nan_to_num((sums - n_with * (n_with + 1) / 2) / (n_with * n_without), nan=0.5))


# The order of rows.


def _sorted_rows(carried: BoolArray, labels: Sequence[str]) -> Iterator[Finding]:
    """Find labels whose rows are together: by the runs test of Wald and Wolfowitz, for all labels at once."""
    n_rows = len(carried)
    n_with = carried.sum(axis=0).astype(np.float64)
    pairs = 2 * n_with * (n_rows - n_with)
    runs = 1 + (carried[1:] != carried[:-1]).sum(axis=0)
    expected = 1 + pairs / n_rows
    deviation = np.sqrt(pairs * (pairs - n_rows) / (n_rows**2 * (n_rows - 1)))
    p_values = stats.norm.cdf((runs - expected) / deviation) * len(labels)
    found = np.flatnonzero((p_values < _CHANCE) & (runs < _FEW_RUNS * expected))
    if found.size:
        worst = int(found[np.argmin(runs[found] / expected[found])])
        shown = listed([labels[label] for label in found.tolist()])
        sentence = (
            f"Rows with the same labels are together. {labels[worst]!r} changes {int(runs[worst]) - 1:,} times from row"
            f" to row, in random order about {round(expected[worst]) - 1:,} times."
        )
        remedy = (
            "Folds here are shuffled; elsewhere, shuffle before you split, as in KFold(shuffle=True). If the order is"
            " that of time, estimate on later rows: --split-by with the column of dates."
        )
        evidence = {"labels": shown, "count": len(found), "changes": int(runs[worst]) - 1}
        yield Finding("sorted_rows", "note", sentence, remedy, evidence)


def _dates_of(values: AnyArray) -> Any:
    """Return dates as numpy has them; None if they are texts, or some are missing."""
    try:
        dates = np.asarray(values).astype("datetime64[us]")
    except (TypeError, ValueError, OverflowError):
        return None
    return None if np.isnat(dates).any() else dates


def _later_rows(column: str, dates: Any, carried: BoolArray, labels: Sequence[str]) -> Iterator[Finding]:
    """Find labels whose share differs in the last fifth of the rows by a date."""
    start = np.quantile(dates.astype(np.int64), 1 - _LATER, method="higher").astype("datetime64[us]")
    later = dates >= start
    n_later, n_before = int(later.sum()), int((~later).sum())
    if min(n_later, n_before) < _LEAST:
        return
    shares = carried[~later].mean(axis=0), carried[later].mean(axis=0)
    pooled = carried.mean(axis=0)
    deviation = np.sqrt(pooled * (1 - pooled) * (1 / n_later + 1 / n_before))
    difference = np.abs(shares[1] - shares[0])
    p_values = 2 * stats.norm.sf(difference / deviation) * len(labels)
    found = np.flatnonzero((p_values < _CHANCE) & (difference > _DIFFERENT))
    if found.size:
        most = int(found[np.argmax(difference[found])])
        shown = listed([labels[label] for label in found.tolist()])
        sentence = (
            f"Later rows have other labels: from {str(start)[:10]} on, the last fifth by {column}, {labels[most]!r} is"
            f" on {percent(shares[1][most])} of the rows, before on {percent(shares[0][most])}."
        )
        remedy = f"Estimate and select for later rows: fit --split-by {column}."
        evidence = {"labels": shown, "count": len(found), "columns": column}
        yield Finding("later_rows_differ", "warning", sentence, remedy, evidence)
