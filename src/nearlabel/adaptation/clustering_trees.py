"""The base class of predictive clustering trees, single or in a forest: scikit-learn's trees on rescaled features."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.base import WeightedClassifier, WithProbabilities
from nearlabel.utils.response_methods import label_scores
from nearlabel.utils.types import CSR, FloatArray, Matrix
from nearlabel.utils.validation import as_dense


class ClusteringTrees(WeightedClassifier, WithProbabilities):
    """A classifier with scikit-learn's trees for a label matrix; a subclass defines and stores the trees."""

    shift_: FloatArray
    scale_: FloatArray

    def _grown(self, model: Any, X: Matrix, labels: Matrix, sample_weight: FloatArray | None) -> Any:
        """Return scikit-learn's model, fitted to rescaled samples; store the scale."""
        self.shift_, self.scale_ = _shift_and_scale(X)
        return model.fit(self._rescaled(X), _target(as_dense(labels)), sample_weight)

    def _shares(self, model: Any, X: Matrix) -> FloatArray:
        """Return the mean label vectors of each row's leaves, for the labels of the model."""
        return np.asarray(label_scores(model, self._rescaled(X), len(self._varying), "predict_proba"))

    def _rescaled(self, X: Matrix) -> Matrix:
        """Return rows scaled so that training samples are in [-1, 1]; others are clipped, since no split lies outside.

        scikit-learn's trees use single precision and ignore differences below 1e-7.
        """
        with np.errstate(over="ignore"):
            if not sparse.issparse(X):
                return np.clip((X - self.shift_) / self.scale_, -2.0, 2.0)
            shifted = sparse.csr_array(X, dtype=np.float64) - _equal_rows(self.shift_, X.shape[0])
            data = np.clip(shifted.data / self.scale_[shifted.indices], -2.0, 2.0)
        return sparse.csr_array((data, shifted.indices, shifted.indptr), shape=X.shape)


def _shift_and_scale(X: Matrix) -> tuple[FloatArray, FloatArray]:
    """Return the limit of each feature's range nearer to 0, or 0 if it contains 0, and the largest distance from it.

    So a sparse feature is shifted only if every row has it; sparse and dense data give the same result.
    """
    low, high = (as_dense(end).reshape(-1).astype(np.float64) for end in (X.min(axis=0), X.max(axis=0)))
    shift = np.maximum(low, 0.0) + np.minimum(high, 0.0)
    scale = np.maximum(high - shift, shift - low)
    return shift, np.where(scale > 0, scale, 1.0)


def _equal_rows(row: FloatArray, n: int) -> CSR:
    """Return n equal rows."""
    return sparse.csr_array(np.ones((n, 1))) @ sparse.csr_array(row[np.newaxis])


def _target(labels: Any) -> Any:
    """Return the labels in scikit-learn's form: a single label as a one-dimensional array."""
    return labels[:, 0] if labels.shape[1] == 1 else labels
