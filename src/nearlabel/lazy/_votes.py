"""What a rule of votes is given: how many of a query's neighbours carry each label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from nearlabel.neighbors import label_votes
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import check_choice

Weights: TypeAlias = str | Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class Neighbors:
    """Neighbours of some queries, nearest first; and the queries themselves, where a rule needs them.

    Parameters
    ----------
    distances : ndarray of shape (n_queries, n_neighbors)
        Distances to the neighbours.
    indices : ndarray of int of shape (n_queries, n_neighbors)
        Training row numbers.
    rows : ndarray or CSR of shape (n_queries, n_features), default=None
        The queries.
    """

    distances: FloatArray
    indices: IntArray
    rows: Matrix = None

    def __getitem__(self, block: slice) -> Neighbors:
        return Neighbors(self.distances[block], self.indices[block], None if self.rows is None else self.rows[block])

    def mean_distances(self) -> FloatArray:
        """Return the mean distance of each query to its neighbours, added nearest first.

        The order of the additions does not depend on how the array is stored: equal distances give equal means.
        """
        total: FloatArray = np.zeros(len(self.distances))
        for of_neighbor in self.distances.T:
            total += of_neighbor
        return np.asarray(total / self.distances.shape[1])


class NeighborLabelSets(NamedTuple):
    """The label sets of the neighbours, by number; how many training rows have each; and what draws between equals."""

    number: IntArray  # (n_queries, n_neighbors)
    frequency: IntArray  # (n_queries, n_neighbors)
    random: RandomState


@dataclass(frozen=True)
class Votes:
    """The votes for labels: of whole queries, or of any cells (query, label).

    A rule with independent labels is asked for cells: `count`, `total` and `label` are arrays of any shapes that
    broadcast. Any other rule is asked for whole queries: `count` is (n_queries, n_labels), `total` (n_queries, 1).

    Parameters
    ----------
    count : ndarray or CSR
        How many neighbours carry the label, or their summed weight; always exact.
    total : int or ndarray
        How many neighbours the query has, or their summed weight; always exact.
    label : ndarray of int
        Column numbers of the labels.
    rows : ndarray or CSR of shape (n_queries, n_features), default=None
        The queries, for a rule that sees rows.
    labelsets : NeighborLabelSets, default=None
        The label sets of the neighbours, for a rule that sees label sets.
    """

    count: Matrix
    total: Any
    label: Any
    rows: Matrix = None
    labelsets: Any = None

    def cells(self) -> Votes:
        """Return the stored cells of CSR votes as cells in a row."""
        total = np.repeat(np.ravel(self.total), np.diff(self.count.indptr))
        return Votes(self.count.data, total, self.count.indices)

    def share(self) -> Matrix:
        """Return the share of the votes: the float nearest to the quotient, stored as `count` is."""
        if not sparse.issparse(self.count):
            return self.count / self.total
        # scipy's own division of a sparse array multiplies by a rounded reciprocal.
        return sparse.csr_array((self.cells().share(), self.count.indices, self.count.indptr), shape=self.count.shape)

    def mean_size(self) -> FloatArray:
        """Return the mean label-set size of each query's neighbours: each label of a neighbour is one of its votes."""
        return np.asarray(self.count.sum(axis=1)).ravel() / np.ravel(self.total)


def count_votes(
    neighbors: Neighbors,
    labels: Matrix,
    weights: Weights = "uniform",
    sample_weight: FloatArray | None = None,
    most_added: int = 1,
) -> tuple[Matrix, Any]:
    """Return the votes (n_queries, n_labels), stored as the labels are, and their totals (n_queries, 1)."""
    if is_uniform(weights, sample_weight):
        return label_votes(neighbors.indices, labels), np.full((len(neighbors.indices), 1), neighbors.indices.shape[1])
    weighed = exact_weights(neighbors, weights, sample_weight, most_added)
    return label_votes(neighbors.indices, labels, weighed), np.maximum(weighed.sum(axis=1, keepdims=True), 1.0)


def is_uniform(weights: Weights, sample_weight: FloatArray | None) -> bool:
    """Return whether all neighbours have one vote each."""
    return isinstance(weights, str) and weights == "uniform" and sample_weight is None


def exact_weights(
    neighbors: Neighbors, weights: Weights, sample_weight: FloatArray | None = None, most_added: int = 1
) -> FloatArray:
    """Return the weight of each neighbour's vote (n_queries, n_neighbors), the heaviest of a query 1.

    Weights are multiples of a power of two so large that a sum of `most_added` times each weight is exact in float64:
    neighbours of equal weight vote as if unweighted, and the order of addition does not matter.
    """
    weighed = vote_weights(neighbors.distances, weights)
    if sample_weight is not None:
        weighed = weighed * sample_weight[neighbors.indices]
    heaviest = weighed.max(axis=1, keepdims=True)
    grid = 2.0 ** np.floor(52 - np.log2(weighed.shape[1] * most_added))
    return np.asarray(np.rint(weighed / np.where(heaviest > 0, heaviest, 1.0) * grid) / grid)


def vote_weights(distances: FloatArray, weights: Weights) -> FloatArray:
    """Return the weight of each neighbour's vote (n_queries, n_neighbors).

    "distance" weighs by the inverse distance, as a share of the nearest one's, which cannot overflow.
    """
    if callable(weights):
        weighed = np.asarray(weights(distances), dtype=np.float64)
        if weighed.shape != distances.shape or not (weighed >= 0).all() or not np.isfinite(weighed).all():
            raise ValueError(
                f"weights must return finite numbers >= 0 of shape {distances.shape}, got shape {weighed.shape}."
            )
        return weighed
    if weights == "uniform":
        return np.ones(distances.shape)
    at_zero = distances == 0
    nearest = distances.min(axis=1, keepdims=True)
    inverse: FloatArray = np.isinf(nearest) * np.ones_like(distances)  # all equally far: rows that lack all features
    np.divide(nearest, distances, out=inverse, where=~at_zero & np.isfinite(nearest))
    return np.where(at_zero.any(axis=1, keepdims=True), at_zero.astype(np.float64), inverse)


def check_weights(weights: Weights) -> None:
    """Raise ValueError unless weights are a function or a word that is known."""
    if not callable(weights):
        check_choice("weights", weights, {"uniform", "distance"})


def has_majority(scores: Any, majority: str) -> Any:
    """Return which labels more than half ("strict"), or at least half, of the votes are for."""
    return scores > 0.5 if majority == "strict" else scores >= 0.5
