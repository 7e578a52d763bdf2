"""Pairs of labels as columns of an indicator matrix: a sample carries a pair if it carries both."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nearlabel.utils.types import CSR


def label_pairs(labels: CSR) -> CSR:
    """Return an indicator matrix (n_samples, n_pairs) of the pairs that occur, ordered by first, then second label.

    `labels` (n_samples, n_labels) is a canonical CSR array of ones.
    """
    n_labels_of = np.diff(labels.indptr)
    rows = np.repeat(np.arange(labels.shape[0]), n_labels_of)
    n_behind = np.repeat(labels.indptr[1:], n_labels_of) - 1 - np.arange(labels.nnz)
    rows_of_pairs, pairs = [rows[:0]], [labels.indices[:0].astype(np.int64)]
    for offset in range(1, int(n_labels_of.max(initial=1))):
        first = np.flatnonzero(n_behind >= offset)
        rows_of_pairs.append(rows[first])
        pairs.append(labels.indices[first].astype(np.int64) * labels.shape[1] + labels.indices[first + offset])
    occurring, columns = np.unique(np.concatenate(pairs), return_inverse=True)
    ones = np.ones(len(columns), dtype=np.int64)
    return sparse.csr_array((ones, (np.concatenate(rows_of_pairs), columns)), shape=(labels.shape[0], len(occurring)))
