"""Groups of samples assigned to folds so that each fold gets about its share of every stratum."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from nearlabel.labels import distinct_labelsets
from nearlabel.model_selection._strata import strata_of
from nearlabel.utils.types import CSR, IntArray, Matrix


def deal_groups(labels: Matrix, groups: IntArray, order: int, n_folds: int, random: RandomState | None) -> IntArray:
    """Return the fold of every sample, the same for all samples of a group; groups are numbered 0, 1, ...

    With `random` the order of equal groups and of equal folds is drawn.
    """
    n_groups = int(groups.max()) + 1
    if random is None:
        return _deal(_strata_of_groups(labels, groups, order), n_folds)[groups]
    groups = random.permutation(n_groups)[groups]
    return random.permutation(n_folds)[_deal(_strata_of_groups(labels, groups, order), n_folds)][groups]


def _strata_of_groups(labels: Matrix, groups: IntArray, order: int) -> CSR:
    """Return how many rows of each stratum each group has, and how many rows in all (n_groups, n_strata + 1)."""
    labelsets, kinds, _ = distinct_labelsets(labels)
    strata = strata_of(labelsets, order).of_labelsets
    labelsets_of_groups = sparse.coo_array((np.ones(len(groups), dtype=np.int64), (groups, kinds)))
    sizes = sparse.csr_array(np.bincount(groups)[:, np.newaxis])
    of_groups = sparse.hstack([labelsets_of_groups.tocsr() @ strata, sizes], format="csr")
    return sparse.csr_array(of_groups).sorted_indices()  # equal groups give equal sums


def _deal(strata: CSR, n_folds: int) -> IntArray:
    """Return the fold of every group: greedily the one by which the chi-square distance to equal parts grows least.

    That distance is the sum, over strata and folds, of the squared number of the fold's rows in the stratum, divided by
    the rows of the stratum. Groups by which it grows most in an empty fold come first, among equals the lower one;
    among equal folds the lower one is chosen. All groups share the last stratum, their rows, so an empty fold is always
    the best.
    """
    weights = 1 / np.maximum(np.asarray(strata.sum(axis=0)), 1)
    growth = (strata * strata) @ weights
    held = np.zeros((strata.shape[1], n_folds))
    fold_of_groups: IntArray = np.empty(strata.shape[0], dtype=np.intp)
    for group in np.argsort(-growth, kind="stable").tolist():
        entries = slice(*strata.indptr[group : group + 2])
        which, rows = strata.indices[entries], strata.data[entries]
        # A sum over the rows of an array is the same everywhere, unlike a product of matrices: it decides ties.
        fold = int(np.argmin((held[which] * (rows * weights[which])[:, np.newaxis]).sum(axis=0)))
        held[which, fold] += rows
        fold_of_groups[group] = fold
    return fold_of_groups
