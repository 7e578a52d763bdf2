"""Samples that are equal, or nearly so, with different label sets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import BoolArray, FloatArray, IntArray
from nearlabel.utils.validation import as_dense

_NEAR_SHARE = 0.001  # share of the rows that have a neighbour as near as the radius


class ConflictingRows(NamedTuple):
    """A group of near copies, and the labels in which they differ, by number."""

    rows: IntArray
    distance: float
    labels: IntArray
    majority: IntArray
    n_cells: int


def usual_radius(distances: FloatArray) -> float:
    """Return a radius within which few rows have a neighbour: the 0.1 % quantile of distances to the nearest row."""
    return float(np.quantile(distances[:, 0], _NEAR_SHARE, method="lower"))


def conflicting_rows(
    distances: FloatArray, indices: IntArray, given: PartialLabels, radius: float
) -> list[ConflictingRows]:
    """Return the groups of rows that a chain of neighbours within the radius joins, and that differ in a known label.

    Those with most cells to correct come first, then those of the first rows.
    """
    row, place = np.nonzero(distances <= radius)
    other = indices[row, place]
    members, ends = np.unique(np.append(row, other), return_inverse=True)
    if not len(members):
        return []
    n_pairs, n_members = len(row), len(members)
    near = sparse.csr_array((np.ones(n_pairs), (ends[:n_pairs], ends[n_pairs:])), shape=(n_members, n_members))
    n_groups, group = connected_components(near, directed=False)
    farthest = np.zeros(n_groups)
    np.maximum.at(farthest, group[ends[:n_pairs]], distances[row, place])
    sets = given.rows(members)
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(n_groups + 1))
    found = []
    for number in _that_differ(group, n_groups, sets):
        own = order[bounds[number] : bounds[number + 1]]
        found.append(_conflict(members[own], float(farthest[number]), sets.rows(own)))
    return sorted(found, key=lambda one: (-one.n_cells, one.rows[0]))


def _that_differ(group: IntArray, n_groups: int, sets: PartialLabels) -> list[int]:
    """Return the groups in which a label is carried by one row, and known not to be by another."""
    member = sparse.csr_array((np.ones(len(group), dtype=np.int64), (group, np.arange(len(group)))))
    carried = sparse.coo_array(member @ sparse.csr_array(sets.labels, dtype=np.int64))
    n_known = np.bincount(group, minlength=n_groups)[carried.row]
    if sets.unknown is not None:
        unknown = sparse.csr_array(member @ sparse.csr_array(sets.unknown, dtype=np.int64))
        n_known = n_known - as_dense(unknown[carried.row, carried.col]).ravel()
    groups: list[int] = np.unique(carried.row[(carried.data > 0) & (carried.data < n_known)]).tolist()
    return groups


def _conflict(rows: IntArray, distance: float, sets: PartialLabels) -> ConflictingRows:
    labels = as_dense(sets.labels) == 1
    known: BoolArray = np.ones(labels.shape, dtype=np.bool_)
    if sets.unknown is not None:
        known = ~as_dense(sets.unknown).astype(np.bool_)
    n_carry, n_known = labels.sum(axis=0), known.sum(axis=0)
    majority = 2 * n_carry > n_known
    differ = np.flatnonzero((n_carry > 0) & (n_carry < n_known))
    n_cells = int(((labels != majority) & known)[:, differ].sum())
    return ConflictingRows(rows, distance, differ, np.flatnonzero(majority), n_cells)
