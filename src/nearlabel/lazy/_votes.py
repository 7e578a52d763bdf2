"""The input of a rule of votes: how many of a query's neighbours have each label."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from nearlabel.neighbors import Weights, label_votes, mean_distances, vote_weights
from nearlabel.utils.types import FloatArray, IntArray, Matrix


@dataclass(frozen=True)
class Neighbors:
    """Neighbours of some queries, nearest first; and the queries themselves, if a rule needs them.

    Parameters
    ----------
    distances : ndarray of shape (n_queries, n_neighbors)
        Distances to the neighbours.
    indices : ndarray of int of shape (n_queries, n_neighbors)
        Numbers of training samples.
    rows : ndarray or CSR of shape (n_queries, n_features), default=None
        The queries.
    """

    distances: FloatArray
    indices: IntArray
    rows: Matrix = None

    def __getitem__(self, block: slice | IntArray) -> Neighbors:
        return Neighbors(self.distances[block], self.indices[block], None if self.rows is None else self.rows[block])

    def nearest(self, n_neighbors: int) -> Neighbors:
        """Return the nearest `n_neighbors` neighbours of each query."""
        return Neighbors(self.distances[:, :n_neighbors], self.indices[:, :n_neighbors], self.rows)

    def at(self, places: IntArray) -> Neighbors:
        """Return some neighbours of each query, by their places (n_queries, n_neighbors)."""
        distances = np.take_along_axis(self.distances, places, axis=1)
        return Neighbors(distances, np.take_along_axis(self.indices, places, axis=1), self.rows)

    def mean_distances(self) -> FloatArray:
        """Return the mean distance of each query to its neighbours."""
        return mean_distances(self.distances)


class NeighborLabelSets(NamedTuple):
    """The label sets of the neighbours, by number, the training samples that have each, and the order of ties."""

    number: IntArray  # (n_queries, n_neighbors)
    frequency: IntArray  # (n_queries, n_neighbors)
    random: RandomState


@dataclass(frozen=True)
class Votes:
    """The votes for labels: of whole queries, or of any cells (query, label).

    A rule with independent labels scores cells: `count`, `total` and `label` are arrays of any shapes that broadcast.
    Any other rule scores whole queries: `count` is (n_queries, n_labels), `total` (n_queries, 1).

    Parameters
    ----------
    count : ndarray or CSR
        Number of neighbours that have the label, or their summed weight; always exact.
    total : int or ndarray
        Number of neighbours of the query, or their summed weight; always exact.
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


def count_votes(neighbors: Neighbors, labels: Matrix, weights: FloatArray | None = None) -> tuple[Matrix, Any]:
    """Return the votes (n_queries, n_labels), stored as the labels are, and their totals (n_queries, 1).

    Takes the weight of each neighbour's vote (n_queries, n_neighbors); None: one vote each.
    """
    votes = label_votes(neighbors.indices, labels, weights)
    if weights is None:
        return votes, np.full((len(neighbors.indices), 1), neighbors.indices.shape[1])
    return votes, np.maximum(weights.sum(axis=1, keepdims=True), 1.0)


def whole_votes(count: Any, total: Any, n_neighbors: int) -> Any:
    """Return weighted votes as whole ones, 0 to n_neighbors: the share of the weight times n_neighbors, half up."""
    return np.floor(n_neighbors * count / total + 0.5).astype(np.min_scalar_type(-n_neighbors - 1))


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


def has_majority(scores: Any, majority: str) -> Any:
    """Return which labels more than half ("strict"), or at least half, of the votes are for."""
    return scores > 0.5 if majority == "strict" else scores >= 0.5
