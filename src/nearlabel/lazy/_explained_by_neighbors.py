"""What the explanations of lazy classifiers share: whom they list, what they tell of them, and how far the query is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from nearlabel.lazy._doubt import mean_distances, share_nearer
from nearlabel.lazy._explained import Account, Evidence, Explained, Rule, labelset_columns
from nearlabel.lazy._explanation import Explanation
from nearlabel.lazy._query_neighbors import Neighbors, some_of
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike


class ExplainedByNeighbors(Explained):
    """A classifier that decides by neighbours, one query at a time. A subclass defines `_account`."""

    classes_: NDArray[Any]
    n_neighbors_: int
    _n_samples: int
    _labels: Matrix

    @abstractmethod
    def _account(self, evidence: Evidence) -> Account:
        """Return how the scores and the label set of one query come about."""

    @abstractmethod
    def _find_neighbors(self, X: MatrixLike) -> Neighbors:
        """Search once for all queries."""

    @abstractmethod
    def _ask_search(self, X: Matrix | None, n_neighbors: int) -> tuple[FloatArray, IntArray]:
        """Ask the search for the neighbours of X, or of the training rows."""

    @abstractmethod
    def _in_blocks(self, neighbors: Neighbors) -> Iterator[tuple[slice, Neighbors]]:
        """Yield blocks of queries, and their neighbours."""

    @abstractmethod
    def _score_in_blocks(self, neighbors: Neighbors) -> FloatArray:
        """Return dense scores (n_queries, n_labels)."""

    @abstractmethod
    def _decide(self, neighbors: Neighbors) -> Matrix:
        """Return an indicator matrix (n_queries, n_labels), stored as the training label sets are."""

    def _explanations(self, X: MatrixLike, rule: Rule | None) -> Iterator[Explanation]:
        neighbors = self._find_neighbors(X)
        doubts, reason = self._doubt(neighbors.distances)
        for block, some in self._in_blocks(neighbors):
            labels = sparse.csr_array(self._decide(some) if rule is None else rule(self._score_in_blocks(some)))
            for query, doubt in enumerate(doubts[block]):
                one = some_of(some, slice(query, query + 1))
                evidence = self._evidence(one, labels[[query]].indices)
                account = self._account(evidence)
                if rule is not None:
                    account = rule.apply_to(account, evidence.listed, self._score_in_blocks(one)[0])
                whose = self._whose(evidence)
                yield self._explanation(account, evidence.listed, evidence.chosen, whose, doubt, reason, rule)

    def _evidence(self, query: Neighbors, chosen: IntArray) -> Evidence:
        """List the labels of one query: all, or, where only votes are visited, those with a vote or chosen."""
        carried = sparse.csr_array(self._labels[query.indices[0]])
        n_labels = len(self.label_names_)
        listed = np.union1d(carried.indices, chosen) if self._lists_votes_only else np.arange(n_labels)
        carriers = carried[:, listed].toarray().astype(np.intp)
        return Evidence(query.distances[0], query.indices[0], query.rows, listed, carriers, np.isin(listed, chosen))

    def _whose(self, evidence: Evidence) -> dict[str, NDArray[Any]]:
        """Return what is told of the neighbours of one query."""
        labelsets = labelset_columns(self._labels[evidence.indices], self.label_names_)
        return {"row": evidence.indices, "distance": evidence.distances, **labelsets}

    @property
    def _lists_votes_only(self) -> bool:
        """Whether explanations leave out labels that have no vote and are not chosen."""
        return False

    def _doubt(self, distances: FloatArray) -> tuple[Sequence[float | None], str]:
        """Return the doubt of queries, from the distances (n_queries, n_neighbors); or why there is none."""
        k = min(self.n_neighbors_, self._n_samples - 1)
        if k == 0:
            return [None] * len(distances), "a single training row has no neighbours."
        try:
            usual = self._usual_distances(k)
        except (AttributeError, NotImplementedError, TypeError, ValueError) as error:
            return [None] * len(distances), f"the search does not tell the training rows' neighbours: {error}"
        return share_nearer(distances[:, :k], usual).tolist(), ""

    def _usual_distances(self, n_neighbors: int) -> FloatArray:
        """Return the mean distances of the training rows to their neighbours, ascending."""
        return np.sort(mean_distances(self._ask_search(None, n_neighbors)[0]))
