"""Labels that follow the order of the rows in the file, or change with a date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse
from scipy.stats import hypergeom, norm

from nearlabel.datasets.doctor._finding import Finding, counted, listed, percent
from nearlabel.datasets.doctor._leaks import LOG_CHANCE, class_sizes
from nearlabel.datasets.doctor._tables import DATE, Table
from nearlabel.models.out_of_sample import ranks_of, split_at
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix

FEW_RUNS = 0.5  # of the number expected in a random order
FAR = 0.5  # twice the probability that a row with the label comes after one without it, minus 1; of 1 all do
LARGE_EFFECT = 0.3  # Cohen's h of two rates: 20 % and 33 %, or 0 % and 2.2 %; 0.2 is small, 0.5 medium
_LEAST_SHARE = 0.05  # of the rows, earlier and later


def order_findings(table: Table, Y: PartialLabels, names: Sequence[str]) -> Iterator[Finding]:
    """Yield the findings of labels that follow the order of the rows, or of dates."""
    yield from _sorted_rows(Y, names)
    for other in table.others:
        dates = other.dates if other.kind == DATE else None
        if dates is not None:
            yield from _later_rows(other.name, dates, Y, names)


def _sorted_rows(Y: PartialLabels, names: Sequence[str]) -> Iterator[Finding]:
    """Compare, for each label, the number of runs of rows that carry it, and their mean place, with a random order."""
    n_with, n_known = class_sizes(Y)
    n_without = n_known - n_with
    row, label = _places(Y)
    n_runs = np.bincount(label[_starts(row, label)], minlength=len(names))
    with np.errstate(divide="ignore", invalid="ignore"):  # a label of one class
        far = np.abs((2 * np.bincount(label, row, len(names)) / n_with - n_known + 1) / n_without)
        deviates = far * np.sqrt(3 * n_with * n_without / (n_known + 1))
        few = n_runs <= FEW_RUNS * n_with * (n_without + 1) / n_known
    log_limit = LOG_CHANCE - np.log(2 * len(names))
    is_far = (far >= FAR) & (norm.logsf(deviates) + np.log(2) < log_limit)
    chosen = np.flatnonzero(few & (n_without > 0))
    log_chance = hypergeom.logcdf(n_runs[chosen], n_known[chosen], n_without[chosen] + 1, n_with[chosen])
    in_runs = chosen[log_chance < log_limit]
    found = np.union1d(np.flatnonzero(is_far), in_runs)
    if not len(found):
        return
    shown = listed([names[label] for label in found])
    sentence = (
        f"{counted(len(found), 'label', 'follows', 'follow')} the order of the rows, mostly first, mostly last, or in"
        f" long runs: {shown}. Folds of consecutive rows, or a split into first and last rows, then have other labels"
        " for training than for a test."
    )
    remedy = (
        "Shuffle the rows for other programs and in Python: KFold(5, shuffle=True, random_state=0). The commands"
        " shuffle. If runs are parts of one thing, keep it in one fold: --groups COLUMN."
    )
    evidence = {"labels": shown, "count": len(found), "in_runs": len(in_runs), "first_or_last": int(is_far.sum())}
    yield Finding("sorted_rows", "note", sentence, remedy, evidence)


def _places(Y: PartialLabels) -> tuple[IntArray, IntArray]:
    """Return the places of the rows with each label among those where it is known, and the labels, in their order."""
    row, label = _cells(Y.labels)
    if Y.unknown is None:
        return row, label
    n_rows, n_labels = Y.labels.shape
    unknown_row, unknown_label = _cells(Y.unknown)
    n_before = np.searchsorted(unknown_label * n_rows + unknown_row, label * n_rows + row)
    return row - n_before + np.searchsorted(unknown_label, np.arange(n_labels))[label], label


def _cells(matrix: Matrix) -> tuple[IntArray, IntArray]:
    by_label = sparse.csc_array(matrix)
    labels = np.repeat(np.arange(matrix.shape[1]), np.diff(by_label.indptr))
    return by_label.indices.astype(np.int64), labels.astype(np.int64)


def _starts(row: IntArray, label: IntArray) -> BoolArray:
    """Return which rows with a label follow none with it."""
    return np.append(True, (np.diff(row) != 1) | (np.diff(label) != 0))[: len(row)]


def _later_rows(column: str, dates: FloatArray, Y: PartialLabels, names: Sequence[str]) -> Iterator[Finding]:
    """Compare the rates of labels in about the latest fifth of the rows with a date with those before."""
    dated = np.flatnonzero(~np.isnan(dates))
    if len(np.unique(dates[dated])) < 2:
        return
    earlier, later = (Y.rows(dated[rows]) for rows in split_at(ranks_of(dates[dated], len(dated))))
    share = later.labels.shape[0] / len(dated)
    if not _LEAST_SHARE <= share <= 1 - _LEAST_SHARE:
        return
    (before, n_before), (after, n_after) = class_sizes(earlier), class_sizes(later)
    with np.errstate(invalid="ignore"):  # a label that is unknown
        rates = np.vstack([before / n_before, after / n_after])
    effect = np.abs(np.diff(2 * np.arcsin(np.sqrt(rates)), axis=0)).ravel()
    large = np.flatnonzero(effect >= LARGE_EFFECT)
    n_all, n_with = (n_before + n_after)[large], (before + after)[large]
    less = hypergeom.logcdf(after[large], n_all, n_with, n_after[large])
    more = hypergeom.logsf(after[large] - 1, n_all, n_with, n_after[large])
    found = large[np.minimum(less, more) < LOG_CHANCE - np.log(2 * len(names))]
    if not len(found):
        return
    found = found[np.argsort(-effect[found], kind="stable")]
    shown = listed([f"{names[label]} ({' -> '.join(map(percent, rates[:, label]))})" for label in found])
    rates_of = counted(len(found), "label", "has another rate", "have other rates")
    sentence = (
        f"{rates_of} in the latest rows by {column} ({percent(share)} of them) than before: {shown}."
        " Scores of rows that are left out whatever their date are then too good for later rows."
    )
    remedy = (
        f"Evaluate on later rows: nearlabel fit --split-by {column}. Train on recent rows, or again when rates change."
    )
    evidence = {"columns": column, "labels": shown, "count": len(found), "share": share}
    yield Finding("later_rows_differ", "warning", sentence, remedy, evidence)
