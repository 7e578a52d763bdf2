"""The strata of folds: samples of each label, of each pair of labels, and samples without labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.model_selection._label_pairs import label_pairs
from nearlabel.utils.types import CSR, IntArray, Matrix


class Strata(NamedTuple):
    """Which strata each label set belongs to, one at least: an indicator matrix (n_labelsets, n_strata).

    `turns` (n_strata,) is the order in which strata are assigned: no label 0, pairs 1, labels 2.
    """

    of_labelsets: CSR
    turns: IntArray


def strata_of(labelsets: Matrix, order: int) -> Strata:
    """Return the strata of label sets (n_labelsets, n_labels): pairs of labels if `order` is 2, labels, no label."""
    labels = sparse.csr_array(labelsets).sorted_indices()
    without = sparse.csr_array((np.diff(labels.indptr) == 0).astype(np.int64)[:, np.newaxis])
    parts = [*([label_pairs(labels)] if order == 2 else []), labels, without]
    turns = np.repeat([1, 2, 0][-len(parts) :], [part.shape[1] for part in parts])
    return Strata(sparse.csr_array(sparse.hstack(parts, format="csr")), turns)
