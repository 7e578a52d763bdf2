"""ML-kNN and BRkNN as plain Python loops over rows, labels and neighbours; only the search is scikit-learn's."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors


class LoopMLkNN:
    """Zhang and Zhou (2007, Fig. 1), step by step."""

    def __init__(self, n_neighbors: int, smoothing: float = 1.0) -> None:
        self.k = n_neighbors
        self.s = smoothing

    def fit(self, X: NDArray, Y: NDArray) -> Self:
        """Count, for each label, the rows by how many of their neighbours carry it."""
        self.search = NearestNeighbors(n_neighbors=self.k, algorithm="brute").fit(X)
        neighbors = self.search.kneighbors(return_distance=False).tolist()
        self.labels = Y.tolist()
        self.tables = [self._table(label, neighbors) for label in range(Y.shape[1])]
        return self

    def _table(self, label: int, neighbors: list[list[int]]) -> list[tuple[float, float]]:
        """Return P(H1) P(j | H1) and P(H0) P(j | H0) for j = 0 .. k."""
        k, s, n = self.k, self.s, len(self.labels)
        c, c_without = [0] * (k + 1), [0] * (k + 1)
        for i in range(n):
            delta = self._votes(neighbors[i], label)
            if self.labels[i][label]:
                c[delta] += 1
            else:
                c_without[delta] += 1
        prior = (s + sum(c)) / (2 * s + n)
        with_label = [(s + c[j]) / (s * (k + 1) + sum(c)) for j in range(k + 1)]
        without_label = [(s + c_without[j]) / (s * (k + 1) + sum(c_without)) for j in range(k + 1)]
        return [(prior * with_label[j], (1 - prior) * without_label[j]) for j in range(k + 1)]

    def _votes(self, neighbors: list[int], label: int) -> int:
        votes = 0
        for a in neighbors:
            votes += self.labels[a][label]
        return votes

    def predict(self, X: NDArray) -> NDArray:
        """Choose each label whose posterior is at least one half."""
        answer = []
        for neighbors in self.search.kneighbors(X, return_distance=False).tolist():
            row = []
            for label, joint in enumerate(self.tables):
                with_label, without_label = joint[self._votes(neighbors, label)]
                row.append(int(with_label >= without_label))
            answer.append(row)
        return np.array(answer)


class LoopBRkNN:
    """Spyromitros et al. (2008): a label is chosen if more than half of the neighbours carry it."""

    def __init__(self, n_neighbors: int) -> None:
        self.k = n_neighbors

    def fit(self, X: NDArray, Y: NDArray) -> Self:
        """Keep the rows and their label sets."""
        self.search = NearestNeighbors(n_neighbors=self.k, algorithm="brute").fit(X)
        self.labels = Y.tolist()
        return self

    def predict(self, X: NDArray) -> NDArray:
        """Count the votes of every label."""
        answer = []
        for neighbors in self.search.kneighbors(X, return_distance=False).tolist():
            row = []
            for label in range(len(self.labels[0])):
                votes = 0
                for a in neighbors:
                    votes += self.labels[a][label]
                row.append(int(2 * votes > self.k))
            answer.append(row)
        return np.array(answer)
