"""scikit-multilearn-ng's tests of its classifiers and folds, answered by ours.

Its classifiers give sparse predictions and scores, so ours are made sparse; `require_dense` is left out, since ours
hand X on as it comes.
"""

from __future__ import annotations

import sys

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from nearlabel.lazy import IBLR, BRkNN, BRkNNb, MLkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.rivals import BinaryRelevance, ClassifierChain, LabelPowerset, RAkELd, RAkELo
from nearlabel.selection import IterativeStratifiedKFold, stratification_quality
from strangers.outcomes import answered


class Theirs(BaseEstimator):
    """A classifier of ours with the constructor of one of theirs, and sparse answers; subclasses say which."""

    def fit(self, X, y):
        """Fit ours."""
        answered()
        self.ours_ = self.ours().fit(X, y)
        self.classes_ = self.ours_.classes_
        return self

    def predict(self, X):
        """Predict by ours."""
        return sparse.csr_matrix(self.ours_.predict(X))

    def predict_proba(self, X):
        """Score by ours."""
        return sparse.csr_matrix(self.ours_.predict_proba(X))


class _Neighbors(Theirs):
    def __init__(self, k=10):
        self.k = k

    def ours(self):
        return self.method(self.k)


class BRkNNaClassifier(_Neighbors):
    """Theirs is the base method, without extension a."""

    method = BRkNN


class BRkNNbClassifier(_Neighbors):
    """BRkNN-b."""

    method = BRkNNb


class TheirMLkNN(Theirs):
    """ML-kNN."""

    def __init__(self, k=10, s=1.0, n_jobs=None):
        self.k = k
        self.s = s
        self.n_jobs = n_jobs

    def ours(self):
        """Return ours, which gives threads to the search."""
        return MLkNN(self.k, smoothing=self.s, search=ExactNeighbors(n_jobs=self.n_jobs))


class _Transformation(Theirs):
    def __init__(self, classifier=None, require_dense=None, order=None):
        self.classifier = classifier
        self.require_dense = require_dense
        self.order = order

    def ours(self):
        return self.method(self.classifier)


class TheirBinaryRelevance(_Transformation):
    """Binary relevance."""

    method = BinaryRelevance


class TheirLabelPowerset(_Transformation):
    """Label powerset."""

    method = LabelPowerset


class TheirClassifierChain(_Transformation):
    """A chain."""

    def ours(self):
        """Return ours."""
        return ClassifierChain(self.classifier, order=self.order)

    def _order(self):
        return self.ours_.order_.tolist()


class TheirIBLR(_Transformation):
    """IBLR+."""

    def ours(self):
        """Return ours, whose ten neighbours are too many for their rows."""
        return IBLR(3, plus=True, estimator=self.classifier)


class _Rakel(Theirs):
    def __init__(self, base_classifier=None, base_classifier_require_dense=None, labelset_size=3):
        self.base_classifier = base_classifier
        self.base_classifier_require_dense = base_classifier_require_dense
        self.labelset_size = labelset_size

    def ours(self):
        return RAkELd(self.base_classifier, labelset_size=self.labelset_size)


class _RakelO(_Rakel):
    def __init__(self, base_classifier=None, base_classifier_require_dense=None, labelset_size=3, model_count=None):
        super().__init__(base_classifier, base_classifier_require_dense, labelset_size)
        self.model_count = model_count

    def ours(self):
        return RAkELo(self.base_classifier, labelset_size=self.labelset_size, n_estimators=self.model_count)


class IterativeStratification(IterativeStratifiedKFold):
    """The folds."""

    def split(self, X, y=None, groups=None):
        """Give them."""
        answered()
        return super().split(X, y, groups)


def _quality(rows, folds):
    answered()
    every = set(range(rows.shape[0]))
    return stratification_quality(rows, [(sorted(every - set(fold)), fold) for fold in folds])


def example_distribution(folds, desired):
    """Return the distance of the sizes of the folds from those desired."""
    rows = np.ones((sum(map(len, folds)), 1), dtype=int)
    return _quality(rows, folds).examples_distribution


def label_combination_distribution(y, folds, order):
    """Return the distribution of labels, or of pairs."""
    quality = _quality(y, folds)
    return quality.label_distribution if order == 1 else quality.label_pair_distribution


def pytest_configure(config):
    """Let the tests import ours."""
    folder = next(str(path).partition("/skmultilearn/")[0] for path in config.args if "/skmultilearn/" in str(path))
    sys.path.insert(0, folder)
    from skmultilearn import adapt, ensemble, model_selection, problem_transform

    adapt.BRkNNaClassifier, adapt.BRkNNbClassifier, adapt.MLkNN = BRkNNaClassifier, BRkNNbClassifier, TheirMLkNN
    ensemble.RakelD, ensemble.RakelO = _Rakel, _RakelO
    problem_transform.BinaryRelevance = TheirBinaryRelevance
    problem_transform.LabelPowerset = TheirLabelPowerset
    problem_transform.ClassifierChain = TheirClassifierChain
    problem_transform.InstanceBasedLogisticRegression = TheirIBLR
    model_selection.IterativeStratification = IterativeStratification
    model_selection.example_distribution = example_distribution
    model_selection.label_combination_distribution = label_combination_distribution
