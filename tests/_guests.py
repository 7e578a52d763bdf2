"""What a user may write: a classifier, a metric, a search, a selection and a strategy; and some that are wrong."""

import time
from typing import ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_selection import VarianceThreshold
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from nearlabel.lazy import BRkNN
from nearlabel.thresholds import SCut


class Shares(BRkNN):
    """BRkNN under another name: its scores are the shares of neighbours."""


class OwnNeighbors(ClassifierMixin, BaseEstimator):
    """BRkNN whose number of neighbours has another name, so that no plan sets it."""

    def __init__(self, k=3):
        self.k = k

    def fit(self, X, y):
        """Fit BRkNN."""
        self.inner_ = BRkNN(self.k).fit(X, y)
        self.classes_, self.label_names_ = self.inner_.classes_, self.inner_.label_names_
        return self

    def predict(self, X):
        """Return the label sets of BRkNN."""
        check_is_fitted(self)
        return self.inner_.predict(X)

    def predict_proba(self, X):
        """Return the scores of BRkNN."""
        return self.inner_.predict_proba(X)


class Slow(Shares):
    """Takes its time."""

    def fit(self, X, y):
        """Wait first."""
        time.sleep(0.2)
        return super().fit(X, y)


class Forgetful(Shares):
    """Predicts a constant: for labels of one class the wrong one."""

    def predict(self, X):
        """Return no labels, in the container of y."""
        labels = super().predict(X)
        return type(labels)(labels.shape, dtype=labels.dtype) if sparse.issparse(labels) else np.zeros_like(labels)


class Excused(Forgetful):
    """The same, with reasons."""

    expected_failed_checks: ClassVar = {"check_labels_with_one_class_are_constant": "it is there to be compared with"}


class Matrices(Shares):
    """Names a check that no plan runs."""

    expected_failed_checks: ClassVar = {"check_one_dimensional_target": "it takes label matrices only"}


class Misspelt(Shares):
    """Names a check that there is not."""

    expected_failed_checks: ClassVar = {"check_onedimensional": "it takes label matrices only"}


class Listed(BaseEstimator):
    """A search by scikit-learn's own."""

    def __init__(self, metric="euclidean"):
        self.metric = metric

    def fit(self, X, y=None):
        """Index the rows."""
        self.search_ = NearestNeighbors(metric=self.metric).fit(X)
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        """Return distances and indices."""
        return self.search_.kneighbors(X, n_neighbors)


class Mute(Listed):
    """Does not say which metric it has."""

    def __repr__(self):
        """Return the same for all."""
        return "Mute()"


class Narcissus(Listed):
    """Finds each training row as its own neighbour."""

    def kneighbors(self, X=None, n_neighbors=None):
        """Return distances and indices."""
        return self.search_.kneighbors(self.search_._fit_X if X is None else X, n_neighbors)


class Varying(VarianceThreshold):
    """A selection of features."""


class MyCut(SCut):
    """A strategy."""


def agreement(y_true, y_pred, power=1.0):
    """The share of equal cells, to a power."""
    differing = y_true - y_pred
    return float((1 - np.mean(np.abs(sparse.csr_array(differing).toarray()))) ** power)


def disagreement(y_true, y_pred):
    """A loss that pretends to be none."""
    return 1 - agreement(y_true, y_pred)


shares = Shares(weights="distance")
