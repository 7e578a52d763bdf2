"""scikit-learn's tests of `OneVsRestClassifier` and `ClassifierChain`: ours answer where y is a matrix of label sets.

What ours do not have goes on to scikit-learn: other kinds of y, the chain's cv and chain_method, partial_fit.
"""

from __future__ import annotations

import sklearn.multiclass
import sklearn.multioutput
from sklearn.utils.multiclass import type_of_target

from nearlabel.rivals import BinaryRelevance, ClassifierChain
from strangers.outcomes import answered

_ATTRIBUTES = ("classes_", "estimators_", "n_features_in_", "feature_names_in_", "order_")
_ANSWERED = ("predict", "predict_proba", "decision_function", "multilabel_")


def answered_by(theirs, ours_for):
    """Return a class that is theirs, and lets `ours_for(self)` fit and answer for a matrix of label sets.

    `ours_for` returns None where ours have no such thing.
    """

    class Either(theirs):
        def fit(self, X, y, **params):
            ours = ours_for(self) if type_of_target(y) == "multilabel-indicator" else None
            if ours is None:
                return super().fit(X, y, **params)
            answered()
            self.ours_ = ours.fit(X, y, **params)
            for name in _ATTRIBUTES:
                if hasattr(ours, name):
                    setattr(self, name, getattr(ours, name))
            return self

        def __getattribute__(self, name):
            if name in _ANSWERED and "ours_" in vars(self):
                return True if name == "multilabel_" else getattr(self.ours_, name)
            return super().__getattribute__(name)

    Either.__name__ = Either.__qualname__ = theirs.__name__
    return Either


def _relevance(one_vs_rest):
    return BinaryRelevance(one_vs_rest.estimator)


def _chain(chain):
    if chain.cv is not None or chain.chain_method != "predict" or chain.verbose:
        return None
    return ClassifierChain(chain.estimator, order=chain.order, random_state=chain.random_state)


def pytest_configure():
    """Let the tests import ours."""
    ovr = answered_by(sklearn.multiclass.OneVsRestClassifier, _relevance)
    sklearn.multiclass.OneVsRestClassifier = ovr
    sklearn.multioutput.ClassifierChain = answered_by(sklearn.multioutput.ClassifierChain, _chain)
