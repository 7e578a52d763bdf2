"""Distances between label sets, predicted from distances to landmarks by ridge regression; and without some rows.

With the distances D (n_samples, n_landmarks) of the training samples to the landmarks and Δ (n_samples, n_labelsets) of
their label sets to all label sets, the prediction for distances d of a query is |dᵀC|, where C = P DᵀΔ and P = (DᵀD +
αI)⁻¹. Without rows I and landmarks J it is computed from D_I C, the rows J of C, and Δ_I, with small matrices.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.linalg.blas import dtrmm

from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, row_blocks

Block = tuple[FloatArray, IntArray]
_LARGEST_LOSS = 16.0  # how much larger than now the squares may have been


class Equations(NamedTuple):
    """The sums over the training samples that determine the coefficients, which an update adds to and subtracts from.

    Parameters
    ----------
    squares : ndarray of shape (n_landmarks, n_landmarks)
        DᵀD + αI.
    sums : ndarray of shape (n_labelsets, n_landmarks)
        For each label set the sum of the distances of its rows to the landmarks; ΔᵀD is the product of the distances
        between the label sets with it.
    n_changed : int
        Number of rows that came or went since the sums were computed from all rows.
    largest : float
        The largest trace of the squares since then; if it is much larger than the present one, digits are lost.
    """

    squares: FloatArray
    sums: FloatArray
    n_changed: int
    largest: float

    @classmethod
    def of(cls, blocks: Iterable[Block], n_landmarks: int, n_labelsets: int, ridge: float) -> Equations:
        """Sum over blocks of rows: their distances to the landmarks, and the numbers of their label sets."""
        squares, sums = np.zeros((n_landmarks, n_landmarks)), np.zeros((n_labelsets, n_landmarks))
        for distances, labelset in blocks:
            squares += distances.T @ distances
            _add_up(sums, distances, labelset)
        squares.ravel()[:: n_landmarks + 1] += ridge
        return cls(squares, sums, 0, float(squares.trace()))

    def moved(self, landmarks: IntArray, labelsets: IntArray) -> Equations:
        """Return those of other landmarks and label sets, by their former numbers; sums of new ones, -1, are 0."""
        squares, sums = np.zeros((len(landmarks),) * 2), np.zeros((len(labelsets), len(landmarks)))
        stay, known = np.flatnonzero(landmarks >= 0), np.flatnonzero(labelsets >= 0)
        squares[np.ix_(stay, stay)] = self.squares[np.ix_(landmarks[stay], landmarks[stay])]
        sums[np.ix_(known, stay)] = self.sums[np.ix_(labelsets[known], landmarks[stay])]
        return self._replace(squares=squares, sums=sums)

    def add(self, distances: FloatArray, labelset: IntArray, sign: int) -> Equations:
        """Add rows in place, or subtract them; the sums of a label set that is gone, -1, are gone, too."""
        self.squares[...] += sign * (distances.T @ distances)
        there = labelset >= 0
        _add_up(self.sums, sign * distances[there], labelset[there])
        largest = max(self.largest, float(self.squares.trace()))
        return self._replace(n_changed=self.n_changed + len(distances), largest=largest)

    def set_new(self, landmarks: IntArray, blocks: Iterable[Block], ridge: float) -> None:
        """Sum over all rows, in place, what belongs to new landmarks, by their numbers."""
        squares, sums = np.zeros((len(self.squares), len(landmarks))), np.zeros((len(self.sums), len(landmarks)))
        for distances, labelset in blocks:
            squares += distances.T @ distances[:, landmarks]
            _add_up(sums, distances[:, landmarks], labelset)
        squares[landmarks, np.arange(len(landmarks))] += ridge
        self.squares[:, landmarks], self.squares[landmarks], self.sums[:, landmarks] = squares, squares.T, sums

    @property
    def are_precise(self) -> bool:
        """Whether few digits were lost by subtraction: the rows that went had no share of most of the squares."""
        return bool(self.squares.trace() * _LARGEST_LOSS >= self.largest)


def _add_up(sums: FloatArray, distances: FloatArray, labelset: IntArray) -> None:
    """Add the distances of rows to the sums of their label sets, in place."""
    present, place = np.unique(labelset, return_inverse=True)
    carries = sparse.csr_array((np.ones(len(place)), (place, np.arange(len(place)))), (len(present), len(place)))
    sums[present] += carries @ distances


class DistanceRegression:
    """Predicts the Euclidean distances of a query's unknown label set to the label sets of the training samples.

    A pickle or a file has the coefficients only: `equations` is None then.

    Parameters
    ----------
    labelsets : ndarray or CSR of shape (n_labelsets, n_labels)
        Distinct training label sets.
    ridge : float
        α, above 0.
    """

    equations: Equations | None = None

    def __init__(self, labelsets: Matrix, ridge: float) -> None:
        self._labelsets, self._ridge = labelsets, ridge
        self._sizes = np.asarray(labelsets.sum(axis=1), dtype=np.float64).ravel()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what the rows give again."""
        return {name: value for name, value in vars(self).items() if name != "equations"}

    def fit(self, equations: Equations) -> FloatArray:
        """Learn the coefficients; return the factor L of the squares, L Lᵀ."""
        n_labelsets, sums = equations.sums.shape[0], equations.sums
        factor = self._factor(equations)
        self._coefficients = np.empty(sums.shape[::-1])  # C
        for block in row_blocks(n_labelsets, 16 * n_labelsets):
            targets = self.between(np.arange(n_labelsets)[block]) @ sums
            self._coefficients[:, block] = cho_solve((factor, True), targets.T)
        self.equations = equations
        return factor

    def left_out(self, equations: Equations) -> LeftOut:
        """Return the predictions without some rows, from the equations that it was fitted to."""
        return LeftOut(self, self._factor(equations))

    def _factor(self, equations: Equations) -> FloatArray:
        with self.solvable():
            return np.asarray(cholesky(equations.squares, lower=True))

    @contextmanager
    def solvable(self) -> Iterator[None]:
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


class LeftOut:
    """Predicts for training samples without themselves.

    Parameters
    ----------
    regression : DistanceRegression
        Fitted.
    factor : ndarray of shape (n_landmarks, n_landmarks)
        L, where P = (L Lᵀ)⁻¹.
    """

    def __init__(self, regression: DistanceRegression, factor: FloatArray) -> None:
        self._regression = regression
        self._half = solve_triangular(factor, np.eye(len(factor)), lower=True)  # L⁻¹

    def predict(
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
        regression = self._regression
        predicted, between = distances @ regression._coefficients, regression.between(labelset)
        halves = np.ascontiguousarray(self._halves(distances.T).T)
        with regression.solvable():
            for group, landmarks_left in _equal_groups(groups, leaving):
                own, landmarks = halves[group], self._half.T[landmarks_left]
                lever, crossed = own @ _turned(own), own @ _turned(landmarks)
                kept, gone = _without(lever, crossed, landmarks @ _turned(landmarks))
                predicted[group] = kept @ predicted[group] - gone @ regression._coefficients[landmarks_left]
                # The targets lose these rows, too.
                predicted[group] -= (kept @ lever - gone @ _turned(crossed)) @ between[group]
        return np.abs(predicted)

    def predict_press(self, distances: FloatArray, labelset: IntArray) -> FloatArray:
        """Return the distances (n_rows, n_labelsets) without each row's own equation only, as the authors' program."""
        lever = np.square(self._halves(distances.T)).sum(axis=0)[:, np.newaxis]
        predicted = distances @ self._regression._coefficients
        return np.asarray(np.abs((predicted - lever * self._regression.between(labelset)) / (1.0 - lever)))

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


# Label sets that a query may have, by their predicted distances.


class Candidates(NamedTuple):
    """Label sets as candidates of some queries.

    Parameters
    ----------
    distances : ndarray of shape (n_queries, n_labelsets)
        Predicted distances.
    counts : ndarray of int of shape (n_queries, n_labelsets)
        Number of training samples that have each.
    closeness : ndarray of shape (n_queries, n_labelsets)
        Logarithm of the least distance of the query divided by this one, -inf where no row has the label set.
    """

    distances: FloatArray
    counts: IntArray
    closeness: FloatArray

    @classmethod
    def of(cls, distances: FloatArray, counts: IntArray) -> Candidates:
        """Compare the distances of each query."""
        of_present = np.where(counts > 0, distances, np.inf)
        least = of_present.min(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            closeness = np.log(np.where(of_present > least, least / of_present, 1.0))
        return cls(distances, counts, closeness)

    @classmethod
    def joined(cls, parts: Sequence[Candidates]) -> Candidates:
        """Return those of several blocks of queries."""
        return cls(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))

    def of_query(self, query: int) -> Candidates:
        """Return those of one query."""
        one = slice(query, query + 1)
        return Candidates(self.distances[one], self.counts[one], self.closeness[one])

    def weights(self, power: float) -> FloatArray:
        """Return the share of each label set in the weights of its query, ``counts / distances**power``."""
        weights = self.counts * np.exp(power * self.closeness)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))
