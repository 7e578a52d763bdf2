"""Distances between label sets, predicted from distances to landmarks by ridge regression; and without some rows.

With the distances D (n_samples, n_landmarks) of the training samples to the landmarks and Δ (n_samples, n_labelsets) of
their label sets to all label sets, the prediction for distances d of a query is |dᵀC|, where C = P DᵀΔ and P = (DᵀD +
αI)⁻¹. Without rows I and landmarks J it is computed from D_I C, the rows J of C, and Δ_I, with small matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.linalg.blas import dtrmm

from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, row_blocks


class DistanceRegression:
    """Predicts the Euclidean distances of a query's unknown label set to the label sets of the training samples.

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
        n_labelsets, squares = len(self._sizes), np.zeros(())
        for distances, labelset in blocks:
            if not squares.ndim:
                n_landmarks = distances.shape[1]
                squares, sums = np.zeros((n_landmarks, n_landmarks)), np.zeros((n_labelsets, n_landmarks))
            squares += distances.T @ distances
            present, place = np.unique(labelset, return_inverse=True)
            carries = sparse.csr_array((np.ones(len(place)), (place, np.arange(len(place)))))
            sums[present] += carries @ distances
        squares.ravel()[:: len(squares) + 1] += self._ridge
        with self._solvable():
            factor = cholesky(squares, lower=True, overwrite_a=True)
        self._half = solve_triangular(factor, np.eye(len(factor)), lower=True)  # L⁻¹, where P = (L Lᵀ)⁻¹
        self._coefficients = np.empty(sums.shape[::-1])  # C
        for block in row_blocks(n_labelsets, 16 * n_labelsets):
            targets = self.between(np.arange(n_labelsets)[block]) @ sums
            self._coefficients[:, block] = cho_solve((factor, True), targets.T)

    @contextmanager
    def _solvable(self) -> Iterator[None]:
        """Raise ValueError where the equations have no solution in floating point."""
        try:
            yield
        except LinAlgError as error:
            raise ValueError(f"ridge must be larger for the equations to be solved, got {self._ridge:g}.") from error

    def between(self, labelset: IntArray) -> FloatArray:
        """Return the distances of some label sets, by number, to all (n, n_labelsets): roots of differing labels."""
        shared = as_dense(self._labelsets[labelset].astype(np.float64) @ self._labelsets.T)
        return np.sqrt(self._sizes[labelset, np.newaxis] + self._sizes - 2.0 * shared)

    def predict(self, distances: FloatArray) -> FloatArray:
        """Return distances to all label sets (n_queries, n_labelsets) from those to the landmarks."""
        return np.abs(np.asarray_chkfinite(distances) @ self._coefficients)

    def predict_left_out(
        self, distances: FloatArray, labelset: IntArray, groups: Sequence[IntArray], leaving: Sequence[IntArray]
    ) -> FloatArray:
        """Return the distances (n_rows, n_labelsets) that a fit without the row's group predicts for each row.

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
        predicted, between = distances @ self._coefficients, self.between(labelset)
        halves = np.ascontiguousarray(self._halves(distances.T).T)
        with self._solvable():
            for group, landmarks_left in _equal_groups(groups, leaving):
                own, landmarks = halves[group], self._half.T[landmarks_left]
                lever, crossed = own @ _turned(own), own @ _turned(landmarks)
                kept, gone = _without(lever, crossed, landmarks @ _turned(landmarks))
                predicted[group] = kept @ predicted[group] - gone @ self._coefficients[landmarks_left]
                # The targets lose these rows, too.
                predicted[group] -= (kept @ lever - gone @ _turned(crossed)) @ between[group]
        return np.abs(predicted)

    def predict_press(self, distances: FloatArray, labelset: IntArray) -> FloatArray:
        """Return the distances (n_rows, n_labelsets) without each row's own equation only, as the authors' program."""
        lever = np.square(self._halves(distances.T)).sum(axis=0)[:, np.newaxis]
        predicted = distances @ self._coefficients
        return np.asarray(np.abs((predicted - lever * self.between(labelset)) / (1.0 - lever)))

    def _halves(self, columns: FloatArray) -> FloatArray:
        """Return columns z = L⁻¹ d: the products of two of them are dᵀ P d'."""
        return np.asarray(dtrmm(1.0, self._half, columns, lower=True))


def _equal_groups(groups: Sequence[IntArray], leaving: Sequence[IntArray]) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield rows (n_groups, n_rows) and landmarks (n_groups, n_leaving) of all groups with as many of both."""
    sizes = np.array([(len(group), len(left)) for group, left in zip(groups, leaving, strict=True)])
    for size in np.unique(sizes, axis=0):
        places = np.flatnonzero((sizes == size).all(axis=1)).tolist()
        yield np.stack([groups[i] for i in places]), np.stack([leaving[i] for i in places])


def _turned(matrices: NDArray[Any]) -> FloatArray:
    """Return the transpose of each matrix of a stack."""
    return np.swapaxes(matrices, -1, -2)


def _without(lever: FloatArray, crossed: FloatArray, among: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return A and B, so that A D_I P - B P_J takes the place of D_I P when rows I and landmarks J are left out.

    Rows leave by Sherman, Morrison and Woodbury, then landmarks by elimination.

    Parameters
    ----------
    lever, crossed, among : ndarray
        D_I P D_Iᵀ, D_I P_J and P_JJ of each group, where P_J are columns of P.
    """
    kept = np.linalg.inv(np.eye(lever.shape[-1]) - lever)
    lost = kept @ crossed
    gone = _turned(np.linalg.solve(among + _turned(crossed) @ lost, _turned(lost)))
    return kept - gone @ _turned(lost), gone
