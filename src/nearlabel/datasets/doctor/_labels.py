"""Findings in the labels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy import sparse

from nearlabel.datasets.doctor._finding import NOTE, SEVERE, WARNING, Finding, counted, listed
from nearlabel.datasets.doctor._rows import row_keys
from nearlabel.utils.types import IntArray, Matrix

LEAST_ROWS = 5  # of a class: with fewer, some of five folds have none
_SEPARATORS = ("|", ";", ",")
_LEAST_JOINED = 2  # labels, and a tenth of all, which hold a separator


def label_findings(Y: Matrix, names: Sequence[str]) -> Iterator[Finding]:
    """Yield the findings in label sets, a canonical CSR array of 0 and 1, and in the names of the labels."""
    n_rows = Y.shape[0]
    n_with = np.bincount(Y.indices, minlength=Y.shape[1])
    rarer = np.minimum(n_with, n_rows - n_with)
    yield from _joined_tags(names)
    yield from _one_class(np.flatnonzero(rarer == 0), names)
    yield from _rare(np.flatnonzero((rarer > 0) & (rarer < LEAST_ROWS)), names)
    yield from _equal(Y, np.flatnonzero(rarer > 0), names)


def _joined_tags(names: Sequence[str]) -> Iterator[Finding]:
    """Find a separator that many labels hold, with parts that occur again in other labels."""
    for separator in _SEPARATORS:
        joined = [name for name in names if separator in name]
        parts = [part.strip() for name in names for part in name.split(separator)]
        if len(joined) < max(_LEAST_JOINED, 0.1 * len(names)) or len(set(parts)) == len(parts):
            continue
        yield Finding(
            "joined_tags",
            SEVERE,
            f"{counted(len(joined), 'label')} of {len(names)} hold {separator!r} between parts that occur in other"
            f" labels: {listed(joined)}. Each combination of tags is a label of its own.",
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
            f"{counted(len(labels), 'label')} {_are(labels)} carried by under {LEAST_ROWS} rows, or by all but so few:"
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
            f"{counted(len(copies), 'label')} {_are(copies)} carried by the same rows as a label before: {pairs}.",
            "Keep one of them: the other counts twice in every mean, and adds no information.",
            {"labels": pairs, "count": len(copies)},
        )
