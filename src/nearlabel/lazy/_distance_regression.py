"""Distances between label sets, predicted from distances to landmarks by ridge regression; and without some rows.

With the distances D (n_samples, n_landmarks) of the training rows to the landmarks and Δ (n_samples, n_labelsets) of
their label sets to all label sets, the prediction for distances d of a query is |dᵀP G|, where P = (DᵀD + αI)⁻¹ and
G = DᵀΔ. So a query is the vector w = P d, and leaving rows out changes w and G only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense


class LeftOut(NamedTuple):
    """Training rows in groups, each of which is left out for its own rows.

    Parameters
    ----------
    distances : ndarray of shape (n_rows, n_landmarks)
        Distances of the rows to the landmarks.
    labelset : ndarray of int of shape (n_rows,)
        Numbers of their label sets.
    groups : list of length n_groups of ndarray of int
        Positions of the rows of each group.
    leaving : list of length n_groups of ndarray of int
        Numbers of the landmarks that no row outside the group is equal to.
    """

    distances: FloatArray
    labelset: IntArray
    groups: Sequence[IntArray]
    leaving: Sequence[IntArray]


class DistanceRegression:
    """Predicts the Euclidean distances of a query's unknown label set to the label sets of the training rows.

    Parameters
    ----------
    labelsets : ndarray or CSR of shape (n_labelsets, n_labels)
        Distinct training label sets.
    ridge : float
        α, above 0.
    """

    def __init__(self, labelsets: Matrix, ridge: float) -> None:
        self._labelsets, self._ridge = labelsets, ridge
        self._sizes = np.asarray(labelsets.sum(axis=1), dtype=np.float64).ravel()

    def fit(self, blocks: Iterable[tuple[FloatArray, IntArray]]) -> None:
        """Learn from blocks of rows: distances to the landmarks (n_rows, n_landmarks), and numbers of label sets."""
        n_labelsets = len(self._sizes)
        squares = sums = np.zeros(())
        for distances, labelset in blocks:
            n_rows = len(labelset)
            has = sparse.csr_array((np.ones(n_rows), labelset, np.arange(n_rows + 1)), shape=(n_rows, n_labelsets))
            squares = squares + distances.T @ distances
            sums = sums + (has.T @ distances).T
        try:
            self._factor = cho_factor(squares + self._ridge * np.eye(len(squares)), lower=True, overwrite_a=True)
        except LinAlgError as error:
            raise ValueError(f"ridge must be larger for the equations to be solved, got {self._ridge:g}.") from error
        self._targets = np.empty(sums.shape)  # G
        for block in row_blocks(n_labelsets, 16 * n_labelsets):
            self._targets[:, block] = sums @ self.between(np.arange(n_labelsets)[block]).T

    def between(self, labelset: IntArray) -> FloatArray:
        """Return the distances of some label sets, by number, to all (n, n_labelsets): roots of differing labels."""
        shared = as_dense(self._labelsets[labelset].astype(np.float64) @ self._labelsets.T)
        return np.sqrt(self._sizes[labelset, np.newaxis] + self._sizes - 2.0 * shared)

    def predict(self, distances: FloatArray) -> FloatArray:
        """Return distances to all label sets (n_queries, n_labelsets) from those to the landmarks."""
        return np.abs(self._weights(distances) @ self._targets)

    def predict_left_out(self, rows: LeftOut) -> FloatArray:
        """Return the distances (n_rows, n_labelsets) that a fit without the row's group predicts for each row.

        With H = D_I P D_Iᵀ for the rows I of a group, their weights without these rows are (I - H)⁻¹ D_I P, by
        Sherman, Morrison and Woodbury; a landmark that has no row left is then eliminated.
        """
        weights, between = self._weights(rows.distances), self.between(rows.labelset)
        inverse, first = self._rows_of_inverse(np.concatenate(rows.leaving)), 0
        for group, leaving in zip(rows.groups, rows.leaving, strict=True):
            own, before = rows.distances[group], weights[group]
            without = np.linalg.solve(np.eye(len(group)) - own @ before.T, before)
            if len(leaving):
                columns = inverse[first : first + len(leaving)] + before[:, leaving].T @ without
                without -= np.linalg.solve(columns[:, leaving], without[:, leaving].T).T @ columns
                first += len(leaving)
            weights[group] = without
        predicted = weights @ self._targets
        for group in rows.groups:  # the targets are without these rows, too
            predicted[group] -= (weights[group] @ rows.distances[group].T) @ between[group]
        return np.abs(predicted)

    def predict_press(self, rows: LeftOut) -> FloatArray:
        """Return the distances (n_rows, n_labelsets) without each row's own equation only, as the authors' program."""
        weights = self._weights(rows.distances)
        lever = np.einsum("ij,ij->i", rows.distances, weights)[:, np.newaxis]
        return np.asarray(np.abs((weights @ self._targets - lever * self.between(rows.labelset)) / (1.0 - lever)))

    def _weights(self, distances: FloatArray) -> FloatArray:
        """Return w of each row (n_rows, n_landmarks)."""
        return np.ascontiguousarray(cho_solve(self._factor, distances.T).T)

    def _rows_of_inverse(self, landmarks: IntArray) -> FloatArray:
        """Return rows of P, which is symmetric."""
        some = np.zeros((len(landmarks), len(self._targets)))
        some[np.arange(len(landmarks)), landmarks] = 1.0
        return self._weights(some)
