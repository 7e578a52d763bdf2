"""What an audit looks at: cells, equal samples with other label sets, hubs, and pairs of labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from nearlabel.audit._confidence import confident_sums, issues_of, row_quality, thresholds_of
from nearlabel.audit._model import Answer
from nearlabel.audit._scores import Block, Cells, most_suspicious, prior_odds, self_confidence
from nearlabel.neighbors import label_votes, vote_weights
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense


class Look(NamedTuple):
    """The results of a pass over all cells."""

    cells: Cells  # the most suspicious
    quality: FloatArray  # (n_rows,): lower is more suspicious
    issues: CSR  # (n_rows, n_labels): 1 where confident learning marks a cell as wrong
    missed: CSR  # (n_rows, n_labels): 1 where a label was given and is not predicted
    added: CSR  # (n_rows, n_labels): 1 where a label is predicted and was not given


def look_at_cells(
    answers: Iterable[Answer],
    given: PartialLabels,
    neighbors: tuple[FloatArray, IntArray],
    n_cells: int,
    prior: FloatArray | None,
) -> Look:
    """Read leave-one-out predictions twice: for thresholds of confidence, then for cells.

    With `prior` cells are ordered by odds over it, else by self-confidence.
    """
    thresholds = _thresholds(answers, given)
    parts: list[tuple[FloatArray, CSR, CSR, CSR]] = []

    def blocks() -> Iterator[Block]:
        for rows, predicted, scores in answers:
            own = given.rows(rows)
            labels = own.with_nan()
            quality = self_confidence(scores, labels)
            issues = sparse.csr_array(issues_of(quality, labels, thresholds))
            ordered = quality if prior is None else prior_odds(scores, labels, prior=prior)
            parts.append((row_quality(ordered), issues, *_errors(own, predicted)))
            shares = _shares(given, neighbors[0][rows], neighbors[1][rows])
            yield Block(int(rows[0]), scores, labels, shares)

    cells = most_suspicious(blocks(), n_cells, prior=prior)
    quality, issues, missed, added = zip(*parts, strict=True)
    return Look(
        cells, np.concatenate(quality), *(sparse.vstack(some, format="csr") for some in (issues, missed, added))
    )


def _thresholds(answers: Iterable[Answer], given: PartialLabels) -> FloatArray:
    sums: Any = 0.0
    counts: Any = 0
    for rows, _, scores in answers:
        labels = given.rows(rows).with_nan()
        of_block = confident_sums(self_confidence(scores, labels), labels)
        sums, counts = sums + of_block[0], counts + of_block[1]
    return thresholds_of(sums, counts)


def _errors(given: PartialLabels, predicted: Matrix) -> tuple[CSR, CSR]:
    """Return where a known label was missed, and where one was added, each as CSR of 0 and 1."""
    labels, found = (sparse.csr_array(one, dtype=np.int8) for one in (given.labels, predicted))
    both = labels.multiply(found)
    missed, added = sparse.csr_array(labels - both), sparse.csr_array(found - both)
    if given.unknown is not None:
        added = sparse.csr_array(added - added.multiply(sparse.csr_array(given.unknown, dtype=np.int8)))
    for errors in (missed, added):
        errors.eliminate_zeros()
    return missed, added


def _shares(given: PartialLabels, distances: FloatArray, indices: IntArray) -> FloatArray:
    """Return the share of the neighbours that carry each label, by inverse distance, among those that know it."""
    weights = vote_weights(distances, "distance")
    carried = as_dense(label_votes(indices, given.labels, weights)).astype(np.float64)
    total: Any = weights.sum(axis=1, keepdims=True)
    if given.unknown is not None:
        total = total - as_dense(label_votes(indices, sparse.csr_array(given.unknown, dtype=np.int8), weights))
    known = total > 1e-9  # the rest of a sum of weights may be a rounding error
    shares = np.divide(carried, total, out=np.full(carried.shape, 0.5), where=np.broadcast_to(known, carried.shape))
    clipped: FloatArray = np.clip(shares, 0.0, 1.0)
    return clipped


# Samples that are equal, or nearly so, with different label sets.

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


# Hubs: rows that are neighbours of many others, and how much their labels mislead these.


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


# Labels that are confused with each other, or missing together.

CONFUSED, MISSING = "confused", "missing together"
_FEWEST = 2  # rows: one row is a suspicious row, not a pattern


class PairOfLabels(NamedTuple):
    """Two labels by number, and the rows in which both are wrong."""

    kind: str
    labels: tuple[int, int]
    n_rows: int
    expected: float
    rows: IntArray


def pairs_of_labels(missed: CSR, added: CSR, n_pairs: int, n_examples: int = 5) -> list[PairOfLabels]:
    """Return the pairs of labels that are wrong together most often, compared with the expected number of rows.

    `missed` and `added` (n_rows, n_labels) mark where a label was given and not predicted, and the reverse. The
    expected number of rows is the one for independent errors of these frequencies.
    """
    found = [
        *_counted(CONFUSED, missed, added, n_pairs, n_examples),
        *_counted(MISSING, added, added, n_pairs, n_examples),
    ]
    found.sort(key=lambda pair: (pair.expected - pair.n_rows, pair.kind, pair.labels))
    return found[:n_pairs]


def _counted(kind: str, first: CSR, second: CSR, n_pairs: int, n_examples: int) -> list[PairOfLabels]:
    n_rows = first.shape[0]
    one, two = first.astype(np.int64).tocsc(), second.astype(np.int64).tocsc()
    together = sparse.csr_array(one.T @ two)
    if kind == MISSING:
        together = sparse.triu(together, k=1)
    pairs = sparse.coo_array(together)
    frequency = np.diff(one.indptr), np.diff(two.indptr)
    expected = frequency[0][pairs.row] * frequency[1][pairs.col] / n_rows
    often = np.flatnonzero((pairs.data >= _FEWEST) & (pairs.data > expected))
    order = often[np.lexsort((pairs.col[often], pairs.row[often], (expected - pairs.data)[often]))][:n_pairs]
    return [
        PairOfLabels(
            kind,
            (int(pairs.row[at]), int(pairs.col[at])),
            int(pairs.data[at]),
            float(expected[at]),
            _common(one, int(pairs.row[at]), two, int(pairs.col[at]))[:n_examples],
        )
        for at in order
    ]


def _common(one: sparse.csc_array, first: int, two: sparse.csc_array, second: int) -> IntArray:
    rows: IntArray = np.intersect1d(
        one.indices[one.indptr[first] : one.indptr[first + 1]], two.indices[two.indptr[second] : two.indptr[second + 1]]
    )
    return rows
