"""Hubs: rows that are neighbours of many others, and how much their labels mislead these."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import IntArray
from nearlabel.utils.validation import as_dense


class HubRow(NamedTuple):
    """A row and the lists that it is in."""

    row: int
    n_lists: int
    disagreement: float


def hub_rows(indices: IntArray, n_lists: IntArray, given: PartialLabels, n_hubs: int) -> list[HubRow]:
    """Return the rows that are in most lists, the first row first among equals."""
    order = np.argsort(-n_lists, kind="stable")[:n_hubs]
    return [HubRow(int(row), int(n_lists[row]), _disagreement(indices, row, given)) for row in order if n_lists[row]]


def _disagreement(indices: IntArray, row: int, given: PartialLabels) -> float:
    """Return the mean share of the known labels of either that only one carries, over the rows whose list has it."""
    others = np.flatnonzero((indices == row).any(axis=1))
    own, theirs = (as_dense(given.labels[rows]) == 1 for rows in ([row], others))
    known = np.ones_like(theirs)
    if given.unknown is not None:
        known = ~(as_dense(given.unknown[[row]]).astype(np.bool_) | as_dense(given.unknown[others]).astype(np.bool_))
    either, differ = ((own | theirs) & known).sum(axis=1), ((own != theirs) & known).sum(axis=1)
    return float(np.mean(differ / np.maximum(either, 1)))
