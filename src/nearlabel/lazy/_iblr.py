"""IBLR: instance-based learning by logistic regression (Cheng and Hüllermeier, Machine Learning 2009)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from nearlabel._binomial import fit_binomial
from nearlabel._blocks import row_blocks
from nearlabel._label_probabilities import LabelProbabilities
from nearlabel._typing import FloatArray, IntArray, Matrix, NeighborSearch
from nearlabel._validation import as_dense, check_flag, check_positive
from nearlabel.decision import cut
from nearlabel.lazy._base import LazyClassifier, Neighbors
from nearlabel.neighbors import label_votes


class IBLR(LazyClassifier):
    """Logistic regression of each label on how many of the nearest neighbours carry each label.

    With s_j the share of the k nearest neighbours that carry label j, label i is modelled, for all j at once, as::

        logit P(i) = ω_i0 + Σ_j α_ij s_j

    so that neighbours' other labels speak for or against it (Cheng and Hüllermeier 2009, IBLR-ML). The label is chosen
    where its probability is at least one half. A training row is not among its own neighbours.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours k, smaller than n_samples.
    plus : bool, default=False
        Whether the features take part in the regression, beside the shares (IBLR-ML+).
    ridge : float, default=1e-8
        What Σ (σ α)² costs against the log-likelihood, σ the standard deviation of the column: so the scale of a
        feature does not matter. As in Mulan there is nearly none by default, enough for a solution where a label can be
        told apart without error. With many rare labels that overfits: on medical (given split) the Hamming loss is
        0.032, with a ridge of 1 it is 0.018.
    estimator : classifier, default=None
        Cloned and fitted to each label instead, if given, on the shares and features; one without `predict_proba`
        gets its decision values calibrated. None: Newton steps, whose time grows with the square of the number of
        columns; with ``plus=True`` and thousands of features give ``LogisticRegression()``.
    random_state : int, RandomState or None, default=None
        Given to the estimator, if that has none of its own.
    search : object with `fit` and `kneighbors`, default=None
        Finds the neighbours and is cloned in `fit`; asked without rows it must leave each training row out of its own
        list. None: `ExactNeighbors()`, raw Euclidean distance.
    n_jobs : int, default=None
        Labels fitted at a time.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_columns)
        α; columns are the labels, then, if `plus`, the features. Only without `estimator`. 0 for a label with one
        class.
    intercept_ : ndarray of shape (n_labels,)
        ω_0. Only without `estimator`. Plus or minus infinity for a label with one class.
    estimators_ : list of length n_labels
        The fitted classifier of each label; a float, 0 or 1, for a label with one class.
    classes_ : ndarray of shape (n_labels, 2)
        The classes 0 and 1 of each label, as scikit-learn's multi-output classifiers list them.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame Y, else 0 .. n_labels - 1.
    n_features_in_, n_neighbors_ : int
        Number of features, of neighbours.
    search_ : object
        The fitted search.

    Notes
    -----
    The paper weighs neighbours equally too, and writes sums where shares stand here; that only scales the α. There is
    no `loo_predict_proba`: every row left out would need regressions of its own.

    The shares are dense, also of a sparse Y, and the α are n_labels times n_labels: made for some hundred labels.

    References
    ----------
    W. Cheng, E. Hüllermeier: Combining instance-based learning and logistic regression for multilabel classification.
    Machine Learning 76, 2009.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import IBLR
    >>> digits = load_multidigits()
    >>> iblr = IBLR(n_neighbors=10).fit(digits.X[:1500], digits.Y[:1500])
    >>> iblr.predict(digits.X[1500:]).shape
    (500, 10)
    """

    _needs_training_neighbors = True

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        plus: bool = False,
        ridge: float = 1e-8,
        estimator: Any = None,
        random_state: int | RandomState | None = None,
        search: NeighborSearch | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.plus = plus
        self.ridge = ridge
        self.estimator = estimator
        self.random_state = random_state
        self.search = search
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_flag("plus", self.plus)
        check_positive("ridge", self.ridge)
        check_random_state(self.random_state)

    @property
    def _learns_from_rows(self) -> bool:
        return bool(self.plus)

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        self._labels, self._plus = labels.astype(np.int8), bool(self.plus)
        _, indices = self._ask_search(None, self.n_neighbors_)
        design, random = self._design(indices, X), check_random_state(self.random_state)
        if self.estimator is None:
            estimator: Any = _NewtonLogistic(float(self.ridge))
            design = as_dense(design)
        else:
            estimator = self.estimator
        self._probabilities = LabelProbabilities.fit(estimator, design, labels, random, self.n_jobs)
        self.estimators_ = list(self._probabilities.classifiers)
        for name in {"coef_", "intercept_"} & vars(self).keys():
            delattr(self, name)  # of an earlier fit, perhaps without `estimator`
        if self.estimator is None:
            self.intercept_, self.coef_ = _coefficients(self.estimators_, design.shape[1])

    def _design(self, indices: IntArray, X: Matrix) -> Matrix:
        """Return the shares of the neighbours' labels, and the features if they take part, one row a query."""
        shares = as_dense(label_votes(indices, self._labels)) / self.n_neighbors_
        if not self._plus:
            return shares
        return sparse.hstack([shares, X], format="csr") if sparse.issparse(X) else np.hstack([shares, X])

    def _score(self, neighbors: Neighbors) -> FloatArray:
        design = self._design(neighbors.indices, neighbors.rows)
        if not hasattr(self, "coef_"):
            return self._probabilities.predict(design)
        # A sparse product adds the columns in order, each query by itself, whatever the storage.
        return np.asarray(expit(self.intercept_ + sparse.csr_array(design) @ self.coef_.T))

    def _query_blocks(self, neighbors: Neighbors) -> Iterator[slice]:
        n_columns = len(self.classes_) + (self.n_features_in_ if self._plus else 0)
        return row_blocks(len(neighbors.indices), 64 * max(n_columns, self.n_neighbors_))

    def _decide(self, neighbors: Neighbors) -> Matrix:
        labels = cut(self._score(neighbors), 0.5)
        return sparse.csr_array(labels) if sparse.issparse(self._labels) else labels


class _NewtonLogistic(ClassifierMixin, BaseEstimator):
    """Logistic regression with a small ridge, solved to the last digits."""

    def __init__(self, ridge: float) -> None:
        self.ridge = ridge

    def fit(self, X: FloatArray, y: IntArray) -> Self:
        """Maximise the penalised likelihood."""
        fit = fit_binomial(X, y.astype(np.float64), np.ones(len(y)), self.ridge)
        if not fit.converged:
            warnings.warn(
                f"The regression of a label that {y.sum()} of {len(y)} rows have did not converge. Hint: more ridge.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.classes_ = np.array([0, 1])
        self.intercept_, self.coef_ = float(fit.coef[0]), fit.coef[1:]
        return self

    def predict_proba(self, X: Matrix) -> FloatArray:
        """Return the probability of both classes."""
        linear = self.intercept_ + X @ self.coef_
        return np.column_stack([expit(-linear), expit(linear)])


def _coefficients(classifiers: list[Any], n_columns: int) -> tuple[FloatArray, FloatArray]:
    """Return the intercepts (n_labels,) and coefficients (n_labels, n_columns) of all labels."""
    constant = {0.0: -np.inf, 1.0: np.inf}
    intercepts = [constant[c] if isinstance(c, float) else c.intercept_ for c in classifiers]
    rows = [np.zeros(n_columns) if isinstance(c, float) else c.coef_ for c in classifiers]
    return np.array(intercepts), np.vstack(rows)
