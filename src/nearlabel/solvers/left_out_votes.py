"""The log loss of soft leave-one-out votes, as a function of one weight for each feature."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, row_blocks

_N_TYPICAL = 10  # the neighbour whose squared distance is typical
_ROUNDING = 1e-13  # of a squared length: smaller squared distances are none


def multiplied(X: Matrix, weights: FloatArray) -> Matrix:
    """Return features times their weights, dense or CSR."""
    if not sparse.issparse(X):
        return X * weights
    return sparse.csr_array((X.data * weights[X.indices], X.indices, X.indptr), shape=X.shape)


class LeftOutVotes:
    """Every sample votes for the labels of every other one, with shares that fall with the squared distance.

    For samples i and j of unlike groups, features f with weights w and a label l::

        D_ij = Σ_f w_f² (x_if - x_jf)²
        π_ij = exp(-D_ij) / Σ_m exp(-D_im)
        p_il = (1 - s) Σ_j π_ij y_jl + s prior_l

    The loss is -(1/n) Σ_il log of p_il or 1 - p_il, whichever belongs to the true label. An unknown cell votes with the
    label's share, prior_l, and has no loss. Sums over all pairs are matrix products in blocks of rows, of which only
    one is in memory.

    Parameters
    ----------
    X : ndarray or CSR array of float64, shape (n_samples, n_features)
        Samples, at least one pair of unlike groups.
    Y : ndarray or CSR array of shape (n_samples, n_labels)
        Label sets, with 0 in unknown cells; each label has both classes.
    unknown : ndarray or CSR array of bool, shape (n_samples, n_labels), or None
        Which cells are unknown. None: none.
    groups : ndarray of shape (n_samples,)
        Numbers of groups, whose samples do not vote for each other. A sample alone: a group of its own.
    smoothing : float
        s, above 0 and below 1: p_il is never 0 or 1.
    """

    def __init__(self, X: Matrix, Y: Matrix, unknown: Matrix | None, groups: IntArray, smoothing: float) -> None:
        # A shift changes no distance, and short rows lose fewer digits.
        self._X = sparse.csr_array(X) if sparse.issparse(X) else X - X.mean(axis=0)
        self._Y, self._unknown, self._groups, self._smoothing = Y.astype(np.float64), unknown, groups, smoothing
        n_known = np.full(Y.shape[1], Y.shape[0]) if unknown is None else Y.shape[0] - _column_sums(unknown)
        self._priors = _column_sums(self._Y) / np.maximum(n_known, 1)
        if unknown is not None:
            self._Y = self._Y + multiplied(unknown.astype(np.float64), self._priors)

    def typical_square(self) -> float:
        """Return the median over the samples of the squared distance to the 10th nearest of another group.

        Samples with fewer others are not counted. If the median is 0 up to rounding, because most samples have copies,
        return the mean of their mean squared distances; if that is 0, return 1.
        """
        lengths = _row_sums(self._X * self._X)
        rank = min(_N_TYPICAL, len(lengths) - 1)
        tenth, means = np.empty(len(lengths)), np.empty(len(lengths))
        for rows, squares in self._blocks_of_squares(np.ones(self._X.shape[1])):
            tenth[rows] = np.partition(squares, rank - 1, axis=1)[:, rank - 1]
            others = np.isfinite(squares)
            means[rows] = np.where(others, squares, 0.0).sum(axis=1) / others.sum(axis=1)
        counted = np.isfinite(tenth)
        tenth, means = (np.where(found <= _ROUNDING * lengths, 0.0, found) for found in (tenth, means))
        return float(np.median(tenth[counted]) if counted.any() else 0.0) or float(means.mean()) or 1.0

    def loss_and_gradient(self, weights: FloatArray) -> tuple[float, FloatArray]:
        """Return the loss, and its gradient (n_features,), at some weights.

        With K_ij the derivative by D_ij, whose sum over j is 0, the derivative by w_f is
        2 w_f Σ_ij K_ij (x_if - x_jf)² = 2 w_f (Σ_j x_jf² Σ_i K_ij - 2 Σ_i x_if (K X)_if).
        """
        n_samples, loss, mixed = self._X.shape[0], 0.0, np.zeros(len(weights))
        K_sums = np.zeros(n_samples)
        for rows, squares in self._blocks_of_squares(weights):
            shares = _shares(squares)
            losses, slopes = self._losses(rows, shares @ self._Y)
            by_share = slopes @ self._Y.T
            K = shares * (np.einsum("ij,ij->i", shares, by_share)[:, np.newaxis] - by_share)
            loss += float(losses.sum())
            K_sums += K.sum(axis=0)
            mixed += _column_sums(self._X[rows] * (K @ self._X))
        gradient = K_sums @ self._X**2 - 2 * mixed
        return loss / n_samples, 2 * weights * gradient / n_samples

    def _losses(self, rows: slice, votes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the loss of each cell of a block, and its derivative by the votes, both (n_rows, n_labels)."""
        p = (1 - self._smoothing) * votes + self._smoothing * self._priors
        truth = as_dense(self._Y[rows])
        likelihoods = np.where(truth == 1, p, 1 - p)
        losses, slopes = -np.log(likelihoods), np.where(truth == 1, -1.0, 1.0) * (1 - self._smoothing) / likelihoods
        if self._unknown is not None:
            unknown = as_dense(self._unknown[rows])
            losses[unknown], slopes[unknown] = 0.0, 0.0
        return losses, slopes

    def _blocks_of_squares(self, weights: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Yield blocks of rows and their squared distances to all rows, infinite in a group."""
        Z = multiplied(self._X, weights)
        lengths = _row_sums(Z * Z)
        n_samples, n_features = Z.shape
        for rows in row_blocks(n_samples, 8 * (4 * n_samples + 2 * n_features + 6 * self._Y.shape[1])):
            squares = as_dense(Z[rows] @ Z.T)
            squares *= -2
            squares += lengths[rows, np.newaxis]
            squares += lengths
            np.maximum(squares, 0.0, out=squares)
            squares[self._groups[rows, np.newaxis] == self._groups] = np.inf
            yield rows, squares


def _shares(squares: FloatArray) -> FloatArray:
    """Return π, relative to each row's nearest sample so that nothing vanishes; overwrites the squared distances."""
    np.subtract(squares.min(axis=1, keepdims=True), squares, out=squares)
    np.exp(squares, out=squares)
    squares /= squares.sum(axis=1, keepdims=True)
    return squares


def _column_sums(matrix: Matrix) -> FloatArray:
    return np.asarray(matrix.sum(axis=0), dtype=np.float64).ravel()


def _row_sums(matrix: Matrix) -> FloatArray:
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
