"""IBLR: instance-based learning by logistic regression (Cheng and Hüllermeier, Machine Learning 2009)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils import check_random_state

from nearlabel.lazy._classifier import RowClassifier
from nearlabel.lazy._engine import Votes, count_votes
from nearlabel.lazy.explain import Account, Evidence
from nearlabel.neighbors.votes import Neighbors
from nearlabel.solvers.binomial import coefficients_of, fit_logistic
from nearlabel.solvers.label_probabilities import LabelProbabilities
from nearlabel.utils.naming import registered
from nearlabel.utils.tables import column_of
from nearlabel.utils.types import FloatArray, Matrix, NeighborSearch, Table
from nearlabel.utils.validation import as_dense, check_feature_sizes, check_flag, check_positive


@registered("method", "iblr")
class IBLR(RowClassifier):
    """Logistic regression of each label on the shares of the nearest neighbours that have each label.

    Let s_j be the share of the k nearest neighbours that have label j. The model of label i uses all s_j::

        logit P(i) = ω_i0 + Σ_j α_ij s_j

    so that other labels of the neighbours raise or lower its probability (Cheng and Hüllermeier 2009, IBLR-ML). The
    label is predicted if its probability is at least one half. A training sample is not its own neighbour.

    Parameters
    ----------
    n_neighbors : int, "auto" or callable, default=10
        Number of neighbours k, smaller than n_samples. "auto": the number from 1 to 30 with the best micro F1 in a
        five-fold cross-validation, the smallest if several are equal; `nearlabel.selection.tune_neighbors` has
        more options. A callable replaces micro F1: it takes true label sets and held-out scores and returns a
        number; larger is better.
    plus : bool, default=False
        Whether to use the features in the regression in addition to the shares (IBLR-ML+).
    ridge : float, default=1e-8
        Penalty: the factor of Σ (σ α)² that is subtracted from the log-likelihood. σ is the standard deviation of the
        column, so the scale of a feature does not matter. The default is almost none, as in Mulan, but enough for a
        solution to exist if a label can be separated without error. With many rare labels the default overfits: on
        medical (given split) the Hamming loss is 0.032; with a ridge of 1 it is 0.018.
    estimator : classifier, default=None
        Cloned and fitted to each label, on the shares and features. If it has no `predict_proba`, its decision values
        are calibrated. None: logistic regression by Newton steps, whose time grows with the square of the number of
        columns; with ``plus=True`` and thousands of features, pass ``LogisticRegression()``.
    random_state : int, RandomState or None, default=None
        Passed to the estimator if its own is None.
    search : object with `fit` and `kneighbors`, default=None
        Nearest-neighbour search, cloned in `fit`; its `kneighbors` without X must leave each training sample out of its
        own list. None: `ExactNeighbors()`, raw Euclidean distance.
    n_jobs : int, default=None
        Labels fitted at a time.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_columns)
        α; the columns are the labels and, if `plus`, then the features. 0 for a label with one class. Only if
        `estimator` is None.
    intercept_ : ndarray of shape (n_labels,)
        ω_0; plus or minus infinity for a label with one class. Only if `estimator` is None.
    estimators_ : list of length n_labels
        The fitted classifier of each label; a float, 0 or 1, for a label with one class.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_, n_neighbors_ : int
        Number of features and number of neighbours.
    cv_results_ : dict of str to ndarray
        With ``n_neighbors="auto"``: "n_neighbors", the candidates, and "micro_f1", the value of each ("value" if
        `n_neighbors` is a callable).
    search_ : object
        The fitted search.

    Notes
    -----
    The paper also weights neighbours equally, and uses sums in place of shares; this only scales the α. There is no
    `loo_predict_proba`, because each left-out sample would need its own regressions.

    The shares are dense even if y is sparse, and there are n_labels times n_labels α: use it for a few hundred labels.

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

    estimators_: list[Any]

    _dense_in_fit = ("labels", "labels")

    def __init__(
        self,
        n_neighbors: int | Literal["auto"] = 10,
        *,
        plus: bool = False,
        ridge: float = 1e-8,
        estimator: Any = None,
        random_state: int | np.random.RandomState | None = None,
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

    def _check_sizes(self, X: Matrix) -> None:
        if self.plus:
            check_feature_sizes(X, "IBLR(plus=True)")

    def _learn_rows(self, X: Matrix, labels: Matrix) -> None:
        self._plus = bool(self.plus)

    def _learn_neighbors(self, neighbors: Neighbors) -> None:
        count, total = count_votes(neighbors, self._labels)
        design = self._design(Votes(as_dense(count), total, None, neighbors.rows))
        labels = self._labels.astype(np.int64)
        if self.estimator is None:
            self.estimators_ = fit_logistic(as_dense(design), as_dense(labels), float(self.ridge), self.n_jobs)
            self.intercept_, self.coef_ = coefficients_of(self.estimators_, design.shape[1])
            return
        random = check_random_state(self.random_state)
        self._probabilities = LabelProbabilities.fit(self.estimator, design, labels, random, self.n_jobs)
        self.estimators_ = list(self._probabilities.classifiers)

    def _design(self, votes: Votes) -> Matrix:
        """Return s: the shares of the neighbours' labels, and the features if they are used, one row per query."""
        shares = votes.share()
        if not self._plus:
            return shares
        if sparse.issparse(votes.rows):
            return sparse.hstack([shares, votes.rows], format="csr")
        return np.hstack([shares, votes.rows])

    def _score_votes(self, votes: Votes) -> FloatArray:
        design = self._design(votes)
        return np.asarray(expit(self._logits(design))) if self._is_linear else self._probabilities.predict(design)

    def _decide_labels(self, scores: Any, votes: Votes) -> Any:
        return scores >= 0.5

    def _logits(self, design: Matrix) -> FloatArray:
        # A sparse product adds the columns in order, each query by itself, whatever the storage.
        return np.asarray(self.intercept_ + sparse.csr_array(design) @ self.coef_.T)

    @property
    def _is_linear(self) -> bool:
        return hasattr(self, "coef_")

    @property
    def _bytes_per_query(self) -> int:
        n_columns = self._n_labels + (self.n_features_in_ if self._plus else 0)
        return 64 * max(n_columns, self.n_neighbors_)

    def _account(self, evidence: Evidence) -> Account:
        votes = evidence.votes
        design = self._design(Votes(votes.count[np.newaxis], votes.total, votes.label, votes.rows))
        logit = {"intercept": self.intercept_, "logit": self._logits(design)[0]} if self._is_linear else {}
        how = "score = 1 / (1 + exp(-logit)), logit = intercept + the sum of coefficient · value over the terms"
        return Account(
            rule="score >= 0.5",
            scores=how if self._is_linear else "score: by the estimator, from the shares",
            columns={"share": votes.share(), **logit},
            shown=tuple(logit),
            terms=self._terms(design) if self._is_linear else {},
            threshold=0.5,
        )

    def _terms(self, design: Matrix) -> Table:
        """Return each pair of a label and a column of the regression that is not 0, in the order of their addition."""
        row = sparse.csr_array(design)
        columns, n_labels = row.indices, self._n_labels
        features = getattr(self, "feature_names_in_", None)
        features = getattr(self, "_feature_names", lambda: None)() if features is None else features
        features = np.arange(self.n_features_in_) if features is None else features
        names = [*self.label_names_.tolist(), *(f"feature {name}" for name in features)]
        of = column_of([names[column] for column in columns])
        return {
            "label": np.repeat(np.arange(n_labels), len(columns)),
            "name": np.repeat(self.label_names_, len(columns)),
            "of": np.tile(of, n_labels),
            "value": np.tile(row.data, n_labels),
            "coefficient": self.coef_[:, columns].ravel(),
        }
