"""The scorers work in scikit-learn's own tools, with its classifiers and with ours."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier

from nearlabel import metrics
from nearlabel.metrics import CATALOGUE, SCORERS, get_scorer

X, Y = make_multilabel_classification(n_samples=60, n_classes=4, n_labels=2, random_state=0)


@pytest.mark.parametrize(
    "estimator",
    [OneVsRestClassifier(LogisticRegression()), ClassifierChain(LogisticRegression()), KNeighborsClassifier()],
    ids=["decision_function", "chain", "list of arrays"],
)
def test_scorers_are_the_signed_metrics(estimator):
    """A scorer applies predict, decision_function or predict_proba and negates losses."""
    fitted = estimator.fit(X[:40], Y[:40])
    if hasattr(fitted, "decision_function"):
        scores = fitted.decision_function(X[40:])
    else:
        scores = np.column_stack([probabilities[:, 1] for probabilities in fitted.predict_proba(X[40:])])
    expected = metrics.score_all(Y[40:], fitted.predict(X[40:]), scores)
    signed = {name: value if CATALOGUE[name].greater_is_better else -value for name, value in expected.items()}
    assert {name: scorer(fitted, X[40:], Y[40:]) for name, scorer in SCORERS.items()} == signed


def test_cross_validation_takes_a_scorer():
    """cross_val_score with a scorer of ours gives one number per fold."""
    scores = cross_val_score(ClassifierChain(LogisticRegression()), X, Y, scoring=get_scorer("ranking_loss"), cv=3)
    assert scores.shape == (3,)
    assert np.all((scores <= 0) & (scores >= -1))


def test_cross_validation_takes_all_scorers():
    """cross_validate takes the whole catalogue as a dict."""
    results = cross_validate(OneVsRestClassifier(LogisticRegression()), X, Y, scoring=dict(SCORERS), cv=3)
    assert all(np.isfinite(results[f"test_{name}"]).all() for name in CATALOGUE)


def test_grid_search_minimises_a_loss():
    """A grid search with the Hamming loss picks the setting of the least loss."""
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 15]}, scoring=get_scorer("hamming_loss"), cv=3)
    losses = -search.fit(X, Y).cv_results_["mean_test_score"]
    assert search.best_index_ == np.argmin(losses)
    assert np.all(losses > 0)


class Prior(ClassifierMixin, BaseEstimator):
    """Scores every label by its frequency; one array, and the labels' names as classes_, as our classifiers do."""

    def fit(self, X, Y):
        """Count."""
        self.classes_, self.prior_ = np.asarray(getattr(Y, "columns", range(Y.shape[1]))), np.asarray(Y).mean(axis=0)
        return self

    def predict_proba(self, X):
        """Return the same row for each of X."""
        return np.tile(self.prior_, (len(X), 1))


@pytest.mark.parametrize("n_labels", [1, 2, 3, 4])
@pytest.mark.parametrize("wrap", [np.asarray, pd.DataFrame])
def test_scorer_takes_one_array_of_probabilities(n_labels, wrap):
    """Two labels named in classes_ are no two classes of one label: the array is scored as it is."""
    true = wrap(Y[:, :n_labels])
    fitted = Prior().fit(X, true)
    assert get_scorer("coverage")(fitted, X, true) == -metrics.coverage(true, fitted.predict_proba(X))


@pytest.mark.parametrize("estimator", [KNeighborsClassifier(), MultiOutputClassifier(KNeighborsClassifier())])
@pytest.mark.parametrize("constant", [0, 1])
def test_label_with_one_class_has_its_constant_as_score(estimator, constant):
    """In a list of probabilities a label that was always 0 (or 1) in training has one column: it scores 0 (or 1)."""
    training = Y.copy()
    training[:, 2] = constant
    fitted = estimator.fit(X, training)
    columns = [p[:, 1] if p.shape[1] == 2 else np.full(len(X), constant) for p in fitted.predict_proba(X)]
    expected = metrics.average_precision(Y, np.column_stack(columns))
    assert get_scorer("average_precision")(fitted, X, Y) == expected


def test_decision_function_of_one_column():
    """One label column and the one-dimensional scores scikit-learn gives for it go together."""
    fitted = LogisticRegression().fit(X, Y[:, 0])
    assert get_scorer("coverage")(fitted, X, Y[:, :1]) == 0


def test_scorer_of_a_classifier_without_scores():
    """A ranking metric needs a classifier that gives scores."""
    fitted = KNeighborsClassifier().fit(X, Y)
    without = type("Without", (), {"predict": fitted.predict})()
    with pytest.raises(ValueError, match=r"estimator must have decision_function or predict_proba, got Without\."):
        get_scorer("coverage")(without, X, Y)


def test_scorers_can_be_sent_to_workers():
    """A scorer survives pickling, and each look-up makes a new one."""
    fitted = KNeighborsClassifier().fit(X, Y)
    for name in CATALOGUE:
        scorer = get_scorer(name)
        assert pickle.loads(pickle.dumps(scorer))(fitted, X, Y) == scorer(fitted, X, Y), name
        assert get_scorer(name) is not scorer
