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

from nearlabel.decision import cut
from nearlabel.lazy._base import LazyClassifier
from nearlabel.lazy._doubt import mean_distances
from nearlabel.lazy._explained import Account, Evidence
from nearlabel.lazy._flips_by_any import FlipsByAny, numbers_of
from nearlabel.lazy._plain import Table, column_of
from nearlabel.lazy._query_neighbors import Neighbors
from nearlabel.neighbors import label_votes
from nearlabel.statistics.binomial import fit_binomial
from nearlabel.statistics.label_probabilities import LabelProbabilities
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix, NeighborSearch
from nearlabel.utils.validation import as_dense, check_flag, check_positive


class IBLR(LazyClassifier):
    """Logistic regression of each label on how many of the nearest neighbours carry each label.

    With s_j the share of the k nearest neighbours that carry label j, label i is modelled, for all j at once, as::

        logit P(i) = ω_i0 + Σ_j α_ij s_j

    so that neighbours' other labels speak for or against it (Cheng and Hüllermeier 2009, IBLR-ML). The label is chosen
    where its probability is at least one half. A training row is not among its own neighbours.

    Parameters
    ----------
    n_neighbors : int or "auto", default=10
        Number of neighbours k, smaller than n_samples. "auto": of 1 to 30 that with the largest micro F1
        in a five-fold cross-validation, the smallest of equals; `nearlabel.model_selection.tune_neighbors` can do more.
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
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_, n_neighbors_ : int
        Number of features, of neighbours.
    cv_results_ : dict of str to ndarray
        With ``n_neighbors="auto"``: "n_neighbors", the numbers that were tried, and "micro_f1", what each reached.
    search_ : object
        The fitted search.

    Notes
    -----
    The paper weighs neighbours equally too, and writes sums where shares stand here; that only scales the α. There is
    no `loo_predict_proba`: every row left out would need regressions of its own.

    The shares are dense, also of a sparse y, and the α are n_labels times n_labels: made for some hundred labels.

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
        n_neighbors: int | str = 10,
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

    def _learn_from_neighbors(self, X: Matrix, labels: Matrix) -> None:
        distances, indices = self._ask_search(None, self.n_neighbors_)
        self._training_distances = np.sort(mean_distances(distances))
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
        return self._score_design(self._design(neighbors.indices, neighbors.rows))

    def _score_design(self, design: Matrix) -> FloatArray:
        return np.asarray(expit(self._logits(design))) if self._is_linear else self._probabilities.predict(design)

    @property
    def _is_linear(self) -> bool:
        return hasattr(self, "coef_")

    def _logits(self, design: Matrix) -> FloatArray:
        # A sparse product adds the columns in order, each query by itself, whatever the storage.
        return np.asarray(self.intercept_ + sparse.csr_array(design) @ self.coef_.T)

    def _query_blocks(self, neighbors: Neighbors) -> Iterator[slice]:
        n_columns = len(self.label_names_) + (self.n_features_in_ if self._plus else 0)
        return row_blocks(len(neighbors.indices), 64 * max(n_columns, self.n_neighbors_))

    def _decide(self, neighbors: Neighbors) -> Matrix:
        labels = cut(self._score(neighbors), 0.5)
        return sparse.csr_array(labels) if sparse.issparse(self._labels) else labels

    def _usual_distances(self, n_neighbors: int) -> FloatArray:
        return self._training_distances

    def _account(self, evidence: Evidence) -> Account:
        design = self._design(evidence.indices[np.newaxis], evidence.row)
        votes, k = evidence.votes, self.n_neighbors_
        logit = {"intercept": self.intercept_, "logit": self._logits(design)[0]} if self._is_linear else {}
        turns = FlipsByAny(evidence.chosen, votes, k)
        score_at = np.empty((len(votes), k + 1))
        for block, scores in self._scores_of_changed(design, len(votes)):
            score_at[block] = np.take_along_axis(scores, numbers_of(block)[:, np.newaxis, np.newaxis], axis=2)[..., 0]
            turns.look_at(block, scores >= 0.5)
        labels = {"votes": votes, "share": votes / k, **logit, "score": self._score_design(design)[0]}
        flips = {"flip": turns.own(), "flip_by": turns.label(self.label_names_), "flip_by_votes": turns.change()}
        how = "score = 1 / (1 + exp(-logit)), logit = intercept + the sum of coefficient · value over the terms"
        shown = ("votes", *logit, "score", "flip", "flip_by", "flip_by_votes")
        return Account(
            labels={**labels, "score_at": score_at, **flips},
            rule=f"{how if self._is_linear else 'score: by the estimator, from the shares'}; chosen: score >= 0.5",
            shown=shown,
            settings={"n_neighbors": k},
            terms=self._terms(design) if self._is_linear else {},
            change=_CHANGE,
        )

    def _scores_of_changed(self, design: Matrix, n_labels: int) -> Iterator[tuple[slice, FloatArray]]:
        """Yield blocks of labels, and all scores (n_block, n_counts, n_labels) at every number of votes of each."""
        n_counts = self.n_neighbors_ + 1
        for block in row_blocks(n_labels, 64 * n_counts * design.shape[1]):
            n_rows = n_counts * (block.stop - block.start)
            changed = sparse.vstack([design] * n_rows, format="lil") if sparse.issparse(design) else None
            rows = np.repeat(design, n_rows, axis=0) if changed is None else changed
            label = np.repeat(numbers_of(block), n_counts)
            rows[np.arange(n_rows), label] = np.tile(np.arange(n_counts), len(label) // n_counts) / self.n_neighbors_
            scores = self._score_design(rows if changed is None else changed.tocsr())
            yield block, scores.reshape(-1, n_counts, scores.shape[1])

    def _terms(self, design: Matrix) -> Table:
        """Return each pair of a label and a column of the regression that is not 0, in the order of their addition."""
        row = sparse.csr_array(design)
        columns, n_labels = row.indices, len(self.label_names_)
        features = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
        names = [*self.label_names_.tolist(), *(f"feature {name}" for name in features)]
        of = column_of([names[column] for column in columns])
        return {
            "label": np.repeat(np.arange(n_labels), len(columns)),
            "name": np.repeat(self.label_names_, len(columns)),
            "of": np.tile(of, n_labels),
            "value": np.tile(row.data, n_labels),
            "coefficient": self.coef_[:, columns].ravel(),
        }


_CHANGE = (
    "flip: the least change of the label's own votes that turns its decision, all else as it is;"
    " flip by, flip by votes: the label whose votes need the least change, and that change"
)


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
