"""The confidence of a label: the share of the neighbours, or of their weight, that carries it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy import sparse

from nearlabel.lazy._by_votes import ByVotes
from nearlabel.lazy._explained import Account, Evidence
from nearlabel.lazy._flips import least_changes, weights_at
from nearlabel.lazy._query_neighbors import Neighbors
from nearlabel.neighbors import label_votes
from nearlabel.utils.types import CSR, BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import check_choice

Weights: TypeAlias = str | Callable[[FloatArray], FloatArray]


class ByConfidence(ByVotes):
    """A method that decides on confidences."""

    weights: Weights
    _threshold: ClassVar[float] = 0.5  # NaN where none decides

    def _check_parameters(self) -> None:
        if not callable(self.weights):
            check_choice("weights", self.weights, {"uniform", "distance"})

    def _confidence(self, neighbors: Neighbors) -> Matrix:
        """c_l = (1/k) Σ_j [l ∈ Y_j], or the weighted share; stored as y is."""
        return mean_of_neighbors(neighbors, self._labels, self.weights)

    def _score(self, neighbors: Neighbors) -> FloatArray:
        return np.asarray(self._confidence(neighbors))

    def _voted_scores(self, neighbors: Neighbors) -> CSR:
        return sparse.csr_array(self._confidence(neighbors))

    def _account(self, evidence: Evidence) -> Account:
        weights = exact_weights(evidence.distances, self.weights)
        total, uniform = weights.sum() or 1.0, isinstance(self.weights, str) and self.weights == "uniform"
        gathered = weights_at(evidence.carriers, weights)
        now = np.arange(len(evidence.votes)), evidence.votes
        shares = gathered / total
        labels = {"votes": evidence.votes, "weight": gathered[now], "score": shares[now], "score_at": shares}
        sums = f"votes / {total:.6g}" if uniform else "summed weight / total_weight"
        decided, how, settings = self._decided_at(shares, evidence)
        return Account(
            labels={**labels, "flip": least_changes(decided, evidence.votes)},
            rule=f"score = {sums}; chosen: {how}",
            shown=["votes", *([] if uniform else ["weight"]), "score", "flip"],
            neighbors={} if uniform else {"weight": weights},
            settings={"n_neighbors": self.n_neighbors_, "total_weight": total, **settings},
            threshold=self._threshold,
        )

    @abstractmethod
    def _decided_at(self, shares: FloatArray, evidence: Evidence) -> tuple[BoolArray, str, dict[str, Any]]:
        """Return what is decided on each label at every number of votes, the rule in words, and its numbers.

        Takes the confidences at every number of votes (n_listed, n_neighbors + 1).
        """


def mean_of_neighbors(neighbors: Neighbors, values: Matrix, weights: Weights = "uniform") -> Matrix:
    """Return the (weighted) mean over each query's neighbours of rows of whole numbers, stored as `values` is.

    The sums are sums of whole numbers and the quotient is the float nearest to the true mean, so a comparison with one
    half is exact: neighbours of equal weight vote as if unweighted.
    """
    if isinstance(weights, str) and weights == "uniform":
        n_queries, k = neighbors.indices.shape
        return _quotient(label_votes(neighbors.indices, values), np.full(n_queries, k))
    weighed = _whole_weights(vote_weights(neighbors.distances, weights), max(1, int(values.max())))
    return _quotient(label_votes(neighbors.indices, values, weighed), np.maximum(weighed.sum(axis=1), 1.0))


def _quotient(votes: Matrix, totals: FloatArray | IntArray) -> Matrix:
    """Divide each row by its total; scipy's own division of a sparse array multiplies by a rounded reciprocal."""
    if not sparse.issparse(votes):
        return votes / totals[:, np.newaxis]
    quotients = votes.data / np.repeat(totals, np.diff(votes.indptr))
    return sparse.csr_array((quotients, votes.indices, votes.indptr), shape=votes.shape)


def vote_weights(distances: FloatArray, weights: Weights) -> FloatArray:
    """Return what each neighbour's vote weighs, of shape (n_queries, n_neighbors).

    "distance" weighs by the inverse distance, as a share of the nearest one's, which cannot overflow.
    """
    if callable(weights):
        weighed = np.asarray(weights(distances), dtype=np.float64)
        if weighed.shape != distances.shape or not (weighed >= 0).all() or not np.isfinite(weighed).all():
            raise ValueError(
                f"weights must return finite numbers >= 0 of shape {distances.shape}, got shape {weighed.shape}."
            )
        return weighed
    at_zero = distances == 0
    nearest = distances.min(axis=1, keepdims=True)
    inverse: FloatArray = np.divide(nearest, distances, out=np.zeros_like(distances), where=~at_zero)
    return np.where(at_zero.any(axis=1, keepdims=True), at_zero.astype(np.float64), inverse)


def exact_weights(distances: FloatArray, weights: Weights, largest_value: int = 1) -> FloatArray:
    """Return what the neighbours of one query weigh, the heaviest 1, rounded so that sums of them are exact.

    They are those of `mean_of_neighbors`, divided by a power of two, which changes no quotient.
    """
    if isinstance(weights, str) and weights == "uniform":
        return np.ones(len(distances))
    weighed = vote_weights(distances[np.newaxis], weights)
    return np.asarray(_whole_weights(weighed, largest_value)[0] / _grid(len(distances), largest_value))


def _whole_weights(weighed: FloatArray, largest_value: int) -> FloatArray:
    """Scale and round weights to whole numbers so large that sums of them times values just stay exact in float64."""
    heaviest = weighed.max(axis=1, keepdims=True)
    scale = _grid(weighed.shape[1], largest_value)
    return np.asarray(np.rint(weighed / np.where(heaviest > 0, heaviest, 1.0) * scale))


def _grid(n_neighbors: int, largest_value: int) -> float:
    return float(2.0 ** np.floor(52 - np.log2(n_neighbors * largest_value)))
