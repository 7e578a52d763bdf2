"""Findings in the labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse

from nearlabel.datasets.doctor._finding import NOTE, SEVERE, WARNING, Finding, counted, listed, percent
from nearlabel.datasets.doctor._rows import row_keys
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import IntArray, Matrix

TAKE_UNKNOWN = ("BRkNN", "BRkNNa", "BRkNNb", "MLkNN", "BinaryRelevance")  # methods above this room
LEAST_ROWS = 5  # of a class: with fewer, some of five folds have none
_SEPARATORS = ("|", ";", ",")
_LEAST_JOINED = 2  # labels, and a tenth of all, which contain a separator


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
    yield from _joined_tags(names)
    yield from _one_class(np.flatnonzero(rarer == 0), names)
    yield from _rare(np.flatnonzero((rarer > 0) & (rarer < LEAST_ROWS)), names)
    yield from _equal(Y.with_nan(), np.flatnonzero(rarer > 0), names)


def _unknown(unknown: Matrix, names: Sequence[str]) -> Iterator[Finding]:
    labels = np.unique(unknown.indices)
    shown, share = listed([names[label] for label in labels]), unknown.nnz / np.prod(unknown.shape)
    yield Finding(
        "missing_labels",
        WARNING,
        f"{counted(len(labels), 'label')} {_are(labels)} unknown for some rows ({counted(unknown.nnz, 'cell')},"
        f" {percent(share)} of all): {shown}. Most methods do not accept them.",
        f"{', '.join(TAKE_UNKNOWN)} use the known cells. For other methods leave those rows or labels out.",
        {"values": int(unknown.nnz), "share": float(share), "count": len(labels), "labels": shown},
    )


def _nothing_known(unknown: Matrix) -> Iterator[Finding]:
    rows = np.flatnonzero(np.diff(unknown.indptr) == unknown.shape[1])
    if len(rows):
        share = len(rows) / unknown.shape[0]
        yield Finding(
            "rows_without_known_labels",
            NOTE,
            f"{counted(len(rows), 'row')} ({percent(share)}) {'has' if len(rows) == 1 else 'have'} no known label."
            " Methods do not learn from such rows, and metrics do not count them.",
            "Leave them out of training; predict them.",
            {"rows": len(rows), "share": share, "first_row": int(rows[0])},
        )


def _joined_tags(names: Sequence[str]) -> Iterator[Finding]:
    """Find a separator that many labels contain, with parts that occur again in other labels."""
    for separator in _SEPARATORS:
        joined = [name for name in names if separator in name]
        parts = [part.strip() for name in names for part in name.split(separator)]
        if len(joined) < max(_LEAST_JOINED, 0.1 * len(names)) or len(set(parts)) == len(parts):
            continue
        yield Finding(
            "joined_tags",
            SEVERE,
            f"{counted(len(joined), 'label')} of {len(names)} contain {separator!r} between parts that occur in other"
            f" labels: {listed(joined)}. Each combination of tags becomes a separate label.",
            f"Separate the tags: --labels-separator '{separator}'.",
            {"labels": listed(joined), "count": len(joined), "separator": separator},
        )


def _one_class(labels: IntArray, names: Sequence[str]) -> Iterator[Finding]:
    if len(labels):
        shown = listed([names[label] for label in labels])
        yield Finding(
            "one_class_labels",
            WARNING,
            f"{counted(len(labels), 'label')} {_are(labels)} carried by no row or by all: {shown}. Such a label is"
            " predicted as this constant.",
            "Leave them out, or add rows with the other class.",
            {"labels": shown, "count": len(labels)},
        )


def _rare(labels: IntArray, names: Sequence[str]) -> Iterator[Finding]:
    if len(labels):
        shown = listed([names[label] for label in labels])
        yield Finding(
            "rare_labels",
            NOTE,
            f"{counted(len(labels), 'label')} {_are(labels)} carried by under {LEAST_ROWS} rows, or by nearly all rows:"
            f" {shown}. Neighbours seldom vote for a rare label.",
            "Stratified folds (--stratify), tuned thresholds (@macro-f); mean metrics over labels depend on them.",
            {"labels": shown, "count": len(labels)},
        )


def _are(labels: IntArray) -> str:
    return "is" if len(labels) == 1 else "are"


def _equal(Y: Matrix, labels: IntArray, names: Sequence[str]) -> Iterator[Finding]:
    columns = sparse.csr_array(Y[:, labels].T)
    columns.sort_indices()
    _, first, group = np.unique(row_keys(columns), return_index=True, return_inverse=True)
    copies = np.flatnonzero(first[group] != np.arange(len(labels)))
    if len(copies):
        pairs = listed([f"{names[labels[copy]]} = {names[labels[first[group[copy]]]]}" for copy in copies])
        yield Finding(
            "equal_labels",
            WARNING,
            f"{counted(len(copies), 'label')} {_are(copies)} carried by the same rows as an earlier label: {pairs}.",
            "Keep one of them: the other counts twice in every mean, and adds no information.",
            {"labels": pairs, "count": len(copies)},
        )
