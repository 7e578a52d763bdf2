"""Mixtures of independent labels, p(y) = Σ_k π_k Π_l b_kl(y_l), one per query, computed in logarithms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import RandomState
from scipy.special import expit

from nearlabel.utils.types import BoolArray, FloatArray, IntArray
from nearlabel.utils.validation import row_blocks


class LabelMixtures(NamedTuple):
    """A mixture for each query: log π_k (n, K), and the log-odds (n, K, L) of each label in each component."""

    log_weights: FloatArray
    log_odds: FloatArray

    def some(self, chosen: BoolArray | IntArray | slice) -> LabelMixtures:
        """Return the mixtures of some queries."""
        return LabelMixtures(self.log_weights[chosen], self.log_odds[chosen])

    def marginals(self) -> FloatArray:
        """Return Σ_k π_k b_kl, the probability (n, L) of each label."""
        return np.asarray(np.einsum("nk,nkl->nl", np.exp(self.log_weights), expit(self.log_odds)))

    def joint_of_none(self) -> FloatArray:
        """Return log π_k p_k(y) of the empty label set (n, K)."""
        return np.asarray(self.log_weights - log_one_plus_exp(self.log_odds).sum(axis=2))

    def joint_of_modes(self) -> FloatArray:
        """Return log π_k p_k(y) of each component's own most probable label set (n, K)."""
        return np.asarray(self.log_weights - log_one_plus_exp(-np.abs(self.log_odds)).sum(axis=2))

    def log_probability(self, sets: BoolArray) -> FloatArray:
        """Return log p(y) (n, c) of c label sets per query (n, c, L)."""
        return log_sum(self.joint_of_none()[:, np.newaxis] + sets @ self.log_odds.swapaxes(1, 2))


def log_sum(logs: FloatArray) -> FloatArray:
    """Return log Σ exp over the last axis, of finite numbers."""
    top = logs.max(axis=-1, keepdims=True)
    return np.asarray(top[..., 0] + np.log(np.exp(logs - top).sum(axis=-1)))


def log_one_plus_exp(values: FloatArray) -> FloatArray:
    """Return log(1 + exp(values)) without overflow."""
    return np.asarray(np.maximum(values, 0.0) + np.log1p(np.exp(-np.abs(values))))


# A mixture of independent Bernoulli variables on label sets, without features: the start of conditional mixtures.

_N_STARTS = 10
_LEAST_IMPROVEMENT = 1e-9  # minimum difference of mean log-likelihoods that counts as an improvement
_MOST_STEPS = 100
_LEAST_GAIN = 1e-4  # per row
_PSEUDO_COUNT = 0.5  # pseudo-counts of rows with and without each label in each component, so that no probability is 0


def bernoulli_mixture(Y: FloatArray, n_components: int, random: RandomState) -> FloatArray:
    """Return the responsibilities (n, K) of components for label sets (n, L), from the most likely of ten mixtures.

    Random numbers select rows, never labels, so the result does not depend on the order of the labels.
    """
    best, reached = _fitted(Y, n_components, random)
    for _ in range(_N_STARTS - 1):
        other, likelihood = _fitted(Y, n_components, random)
        if likelihood > reached + _LEAST_IMPROVEMENT:
            best, reached = other, likelihood
    return best


def _fitted(Y: FloatArray, n_components: int, random: RandomState) -> tuple[FloatArray, float]:
    """Return the responsibilities and the mean log-likelihood of one mixture, by expectation-maximisation."""
    responsibilities = np.eye(n_components)[_nearest(Y, _spread_rows(Y, n_components, random), random)]
    reached = -np.inf
    for _ in range(_MOST_STEPS):
        joint = _log_joint(Y, responsibilities)
        evidence = log_sum(joint)
        responsibilities = np.exp(joint - evidence[:, np.newaxis])
        reached, before = float(evidence.mean()), reached
        if reached - before < _LEAST_GAIN:
            break
    return responsibilities, reached


def _log_joint(Y: FloatArray, responsibilities: FloatArray) -> FloatArray:
    """Return log π_k Π_l b_kl(y_l), with parameters estimated from responsibilities."""
    sizes = responsibilities.sum(axis=0)
    carried = (responsibilities.T @ Y + _PSEUDO_COUNT) / (sizes[:, np.newaxis] + 2 * _PSEUDO_COUNT)
    shares = (sizes + _PSEUDO_COUNT) / (sizes + _PSEUDO_COUNT).sum()
    return np.asarray(np.log(shares) + Y @ np.log(carried).T + (1 - Y) @ np.log1p(-carried).T)


def _spread_rows(Y: FloatArray, count: int, random: RandomState) -> IntArray:
    """Draw rows far from each other, in proportion to their Hamming distance from those drawn before (k-means++)."""
    rows = [random.randint(len(Y))]
    distance = _hamming(Y, Y[rows[0]])
    while len(rows) < count:
        ends = np.cumsum(distance if distance.any() else np.ones(len(Y)))
        rows.append(int(np.searchsorted(ends, random.uniform() * ends[-1], side="right")))
        distance = np.minimum(distance, _hamming(Y, Y[rows[-1]]))
    return np.array(rows)


def _nearest(Y: FloatArray, rows: IntArray, random: RandomState) -> IntArray:
    """Return the nearest of the drawn rows; ties are broken at random."""
    distances = np.stack([_hamming(Y, Y[row]) for row in rows], axis=1)
    return np.asarray(np.argmin(distances + 0.5 * random.uniform(size=distances.shape), axis=1))


def _hamming(Y: FloatArray, labelset: FloatArray) -> FloatArray:
    return np.asarray((labelset != Y).sum(axis=1, dtype=np.float64))


# The most probable label set of a mixture of independent labels, exactly, for many queries at once.

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


# The most probable of random label sets, drawn from a mixture of independent labels.


def sampled_labelsets(mixtures: LabelMixtures, n_samples: int, random: RandomState, allow_empty: bool) -> BoolArray:
    """Return the most probable (n, L) of the label sets drawn for each query; ties go to the first.

    All queries use the same uniform random numbers, so that the result of a query does not depend on the other queries.
    If the empty set is drawn but not allowed, it is replaced by the label with the largest marginal.
    """
    n_labels = mixtures.log_odds.shape[2]
    sets = _drawn(mixtures, random.uniform(size=n_samples), random.uniform(size=(n_samples, n_labels)))
    if not allow_empty:
        query, sample = np.nonzero(~sets.any(axis=2))
        sets[query, sample, mixtures.marginals().argmax(axis=1)[query]] = True
    return np.asarray(sets[np.arange(len(sets)), mixtures.log_probability(sets).argmax(axis=1)])


def _drawn(mixtures: LabelMixtures, for_component: FloatArray, for_labels: FloatArray) -> BoolArray:
    """Return label sets (n, n_samples, L): draw a component by its weight, then each label by its probability there."""
    ends = np.cumsum(np.exp(mixtures.log_weights), axis=1)[:, :-1]
    component = (ends[:, np.newaxis] <= for_component[:, np.newaxis]).sum(axis=2)
    probability = expit(mixtures.log_odds)[np.arange(len(component))[:, np.newaxis], component]
    return np.asarray(for_labels < probability)
