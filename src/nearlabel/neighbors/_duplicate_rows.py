"""Equal rows: the search treats each group as one row, and its result is expanded to all of them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nearlabel.neighbors._candidates import first_of_each
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix

_WORTH_SHARE, _WORTH_SIZE = 0.9, 16  # share of distinct rows, or size of a group, that makes grouping faster


class DuplicateRows:
    """Groups of equal rows: the `first` row of each (n_groups,), ascending, and the `group_of` each row (n_rows,)."""

    def __init__(self, first: IntArray, group_of: IntArray) -> None:
        self.first, self.group_of = first, group_of
        self._members = np.argsort(group_of, kind="stable")
        self._sizes = np.bincount(group_of)

    def expand(self, ranks: FloatArray, groups: IntArray, k: int) -> tuple[FloatArray, IntArray]:
        """Return rank and index (n_queries, k) of the k nearest rows, given those of the nearest groups.

        A group that is not among the k nearest by (rank, first row) has no row among the k nearest.
        """
        answer = np.empty((len(ranks), k)), np.empty((len(ranks), k), dtype=np.intp)
        for block in row_blocks(len(ranks), 64 * k * groups.shape[1]):
            answer[0][block], answer[1][block] = self._expand_block(ranks[block], groups[block], k)
        return answer

    def _expand_block(self, ranks: FloatArray, groups: IntArray, k: int) -> tuple[FloatArray, IntArray]:
        sizes = np.minimum(self._sizes[groups], k)
        before = np.cumsum(sizes, axis=1) - sizes
        new = np.diff(ranks, axis=1, prepend=-np.inf) > 0
        nearer = np.maximum.accumulate(np.where(new, before, 0), axis=1)  # rows of strictly smaller rank
        query, place = np.nonzero(nearer < k)
        size, group = sizes[query, place], groups[query, place]
        within = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        starts = np.cumsum(self._sizes) - self._sizes
        row = self._members[np.repeat(starts[group], size) + within]
        everyone = np.ones(len(ranks), dtype=bool)
        return first_of_each(np.repeat(query, size), row, np.repeat(ranks[query, place], size), everyone, k)


def find_duplicates(X: Matrix) -> DuplicateRows | None:
    """Return the groups of equal rows; None where they are too few to save time."""
    groups = equal_rows(X)
    sizes = np.bincount(groups.group_of)
    few = len(sizes) > _WORTH_SHARE * len(groups.group_of) and sizes.max() <= _WORTH_SIZE
    return None if few else groups


def equal_rows(X: Matrix) -> DuplicateRows:
    """Return the groups of equal rows.

    Sorted by a sum of the features with random weights, equal rows are neighbours; then they are compared. Equal rows
    that another row with the same sum separates stay in two groups: unlikely, and the result is still right.
    """
    weights = np.random.default_rng(0).normal(size=X.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        keys = X @ weights if sparse.issparse(X) else np.einsum("ij,j->i", X, weights)
    order = np.argsort(keys, kind="stable")
    alike = np.flatnonzero(keys[order][1:] == keys[order][:-1])
    equal = np.zeros(len(order), dtype=bool)
    equal[alike + 1] = _rows_equal(X, order[alike], order[alike + 1])
    group_of = np.empty_like(order)
    group_of[order] = np.cumsum(~equal) - 1
    _, first, group_of = np.unique(group_of, return_index=True, return_inverse=True)
    by_first = np.argsort(first)
    return DuplicateRows(first[by_first], np.argsort(by_first)[group_of])


def _rows_equal(X: Matrix, left: IntArray, right: IntArray) -> BoolArray:
    equal = np.empty(len(left), dtype=bool)
    for block in row_blocks(len(left), 16 * X.shape[1] if not sparse.issparse(X) else 4096):
        a, b = X[left[block]], X[right[block]]
        if sparse.issparse(X):
            equal[block] = np.asarray((abs(a - b)).sum(axis=1)).ravel() == 0
        else:
            equal[block] = (a == b).all(axis=1)
    return equal
