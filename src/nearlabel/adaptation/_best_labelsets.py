"""The most probable label set of a mixture of independent labels, exactly, for many queries at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearlabel.adaptation._label_mixtures import LabelMixtures, log_sum
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import BoolArray, FloatArray, IntArray

_MORE = 1e-12  # minimum difference of log-probabilities that counts as larger
_NEVER = 1e300  # a cost that makes a probability 0 without NaN in logarithms of sums
_MOST_NODES = 2**12  # open nodes of one query at a time


class Best(NamedTuple):
    """The best label set (n, L) found for each query, its log-probability (n,), and whether it is proven optimal."""

    labels: BoolArray
    value: FloatArray
    proven: BoolArray

    def improve(self, rows: IntArray, labels: BoolArray, value: FloatArray) -> None:
        """Replace the best label sets by more probable ones, at most one per query."""
        better = value > self.value[rows] + _MORE
        self.labels[rows[better]], self.value[rows[better]] = labels[better], value[better]


def most_probable_labelsets(mixtures: LabelMixtures, allow_empty: bool) -> tuple[BoolArray, BoolArray]:
    """Return, for each query, the label set (n, L) with the largest Σ_k π_k p_k(y), and whether that is proven (n,).

    A label set replaces another only if it is more probable by a factor of 1 + 1e-12; the components' own most probable
    label sets are compared first, in the order of the components.
    """
    best = _best_mode(mixtures, allow_empty)
    open_queries = np.flatnonzero(_bound_beyond_modes(mixtures) > best.value + _MORE)
    _climb(mixtures, best, open_queries, allow_empty)
    n_components, n_labels = mixtures.log_odds.shape[1:]
    for block in row_blocks(len(open_queries), 8 * _MOST_NODES * (n_components + n_labels)):
        _search(mixtures, best, open_queries[block], allow_empty)
    return best.labels, best.proven


def _best_mode(mixtures: LabelMixtures, allow_empty: bool) -> Best:
    """Return the best of the components' modes and, if the empty set is not allowed, of the sets with one label."""
    modes = mixtures.log_odds > 0
    value = mixtures.log_probability(modes)
    if not allow_empty:
        value[~modes.any(axis=2)] = -np.inf
    top, rows = (value >= value.max(axis=1, keepdims=True) - _MORE).argmax(axis=1), np.arange(len(value))
    best = Best(modes[rows, top], value[rows, top], np.ones(len(value), dtype=np.bool_))
    if not allow_empty:
        single = log_sum(mixtures.joint_of_none()[:, np.newaxis] + mixtures.log_odds.swapaxes(1, 2))
        label = single.argmax(axis=1)
        best.improve(rows, np.eye(single.shape[1], dtype=np.bool_)[label], single[rows, label])
    return best


def _disputed(mixtures: LabelMixtures) -> BoolArray:
    """Return the labels (n, L) on which the modes of the components differ.

    The other labels need no search: if all components agree on a label, agreeing with them increases every π_k p_k(y).
    There is one exception: if they agree on the empty set and it is not allowed, a set with one label may be the best.
    """
    given = mixtures.log_odds > 0
    return np.asarray(given.any(axis=1) & ~given.all(axis=1))


def _bound_beyond_modes(mixtures: LabelMixtures) -> FloatArray:
    """Return a bound on log p(y) over label sets that are no component's mode: p_k(y) is at most the second largest."""
    cheapest = np.where(_disputed(mixtures)[:, np.newaxis], np.abs(mixtures.log_odds), _NEVER).min(axis=2)
    return log_sum(mixtures.joint_of_modes() - cheapest)


def _climb(mixtures: LabelMixtures, best: Best, rows: IntArray, allow_empty: bool) -> None:
    """Flip the label with the largest gain until no flip gains: a good label set shortens the search."""
    while len(rows):
        some, labels = mixtures.some(rows), best.labels[rows]
        sign = np.where(labels, -1.0, 1.0)
        joint = some.joint_of_none() + (some.log_odds @ labels[:, :, np.newaxis])[:, :, 0]
        value = log_sum(joint[:, np.newaxis] + (some.log_odds * sign[:, np.newaxis]).swapaxes(1, 2))
        if not allow_empty:
            value[labels & (labels.sum(axis=1, keepdims=True) == 1)] = -np.inf
        flip, each = value.argmax(axis=1), np.arange(len(rows))
        gains = value[each, flip] > best.value[rows] + _MORE
        labels[each, flip] ^= True
        best.improve(rows, labels, value[each, flip])
        rows = rows[gains]


def _search(mixtures: LabelMixtures, best: Best, queries: IntArray, allow_empty: bool) -> None:
    """Search the label sets of some queries by branch and bound, one disputed label at a time, all queries in parallel.

    A node has fixed some labels. Its bound is Σ_k π_k max p_k(y), where each component chooses the remaining labels for
    itself: no label set below the node is more probable. If all labels are fixed, the bound is p(y).
    """
    some = mixtures.some(queries)
    cost = np.stack([np.maximum(some.log_odds, 0.0), np.maximum(-some.log_odds, 0.0)])  # of the value 0, of the value 1
    joint, disputed = some.joint_of_modes(), _disputed(some)
    order = _most_decisive_first(joint, cost, disputed)
    n_disputed = disputed.sum(axis=1)
    row, labels = np.arange(len(queries)), some.log_odds[:, 0] > 0
    for depth in range(n_disputed.max() + 1):
        done = n_disputed[row] == depth
        _leaves(best, queries, row[done], labels[done], joint[done], allow_empty)
        row, joint, labels = row[~done], joint[~done], labels[~done]
        label = order[row, depth] if len(row) else row
        joint = np.concatenate([joint - cost[choice, row, :, label] for choice in (0, 1)])
        labels = np.concatenate([labels, labels])
        labels[np.arange(len(labels)), np.tile(label, 2)] = np.arange(len(labels)) >= len(row)
        row = np.tile(row, 2)
        kept = _promising(log_sum(joint), row, queries, best)
        row, joint, labels = row[kept], joint[kept], labels[kept]


def _most_decisive_first(joint: FloatArray, cost: FloatArray, disputed: BoolArray) -> IntArray:
    """Return the disputed labels of each query, first those for which both values cost most; then the other labels."""
    value = log_sum(joint[:, np.newaxis] - cost.swapaxes(2, 3)).max(axis=0)
    return np.argsort(np.where(disputed, value, np.inf), axis=1, kind="stable")


def _leaves(
    best: Best, queries: IntArray, row: IntArray, labels: BoolArray, joint: FloatArray, allow_empty: bool
) -> None:
    """Compare complete label sets with the best so far."""
    if not allow_empty:
        some = labels.any(axis=1)
        row, labels, joint = row[some], labels[some], joint[some]
    value = log_sum(joint)
    order = np.lexsort((-value, row))
    first = order[np.unique(row[order], return_index=True)[1]]
    best.improve(queries[row[first]], labels[first], value[first])


def _promising(value: FloatArray, row: IntArray, queries: IntArray, best: Best) -> IntArray:
    """Return the nodes whose bound exceeds the best so far; those with the largest bounds if a query has too many."""
    nodes = np.flatnonzero(value > best.value[queries[row]] + _MORE)
    counts = np.bincount(row[nodes], minlength=len(queries))
    if counts.max(initial=0) <= _MOST_NODES:
        return nodes
    best.proven[queries[counts > _MOST_NODES]] = False
    nodes = nodes[np.lexsort((-value[nodes], row[nodes]))]
    starts = np.cumsum(counts) - counts
    return nodes[np.arange(len(nodes)) - starts[row[nodes]] < _MOST_NODES]
