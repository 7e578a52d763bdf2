"""The catalogue is complete and its scorers work in scikit-learn's own tools."""

import pickle

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.neighbors import KNeighborsClassifier

from nearlabel import metrics
from nearlabel.metrics import CATALOGUE, SCORERS, get_metric, get_scorer, score_all

X, Y = make_multilabel_classification(n_samples=60, n_classes=4, n_labels=2, random_state=0)
every_name = pytest.mark.parametrize("name", CATALOGUE)
EXCLUDED = {  # public, but no measure of the catalogue, with the reason
    "CATALOGUE": "the catalogue",
    "SCORERS": "the scorers",
    "Metric": "an entry",
    "get_metric": "look-up",
    "get_scorer": "look-up",
    "score_all": "all of them",
    "fbeta_examples": "needs a beta",
    "micro_fbeta": "needs a beta",
    "macro_fbeta": "needs a beta",
}


def test_every_public_measure_is_in_the_catalogue_or_excused():
    """What the package exports is in the catalogue or has a reason not to be."""
    assert set(metrics.__all__) == set(CATALOGUE) | set(EXCLUDED)


@every_name
def test_entry_describes_its_function(name):
    """The name is the function's, the direction is down for losses, errors and coverage only."""
    metric = get_metric(name)
    assert metric.function is getattr(metrics, name)
    assert metric.greater_is_better == (not name.endswith(("loss", "error", "coverage")))
    assert metric.needs == ("score" if metric.function.__module__.endswith("ranking") else "prediction")
    assert metric.title


def test_catalogue_cannot_be_changed():
    """The catalogue is read-only."""
    with pytest.raises(TypeError, match="does not support item assignment"):
        CATALOGUE["new"] = CATALOGUE["coverage"]


def test_score_all_gives_what_the_inputs_allow():
    """Without names, predictions give 13 measures, scores 4, both 17 in the catalogue's order."""
    assert list(score_all(Y, Y)) == list(CATALOGUE)[:13]
    assert list(score_all(Y, y_score=Y)) == list(CATALOGUE)[13:]
    assert list(score_all(Y, Y, Y)) == list(CATALOGUE)


def test_score_all_keeps_the_order_asked_for():
    """The values come in the order of the names, and only those."""
    assert list(score_all(Y, Y, Y, metrics=("coverage", "micro_f1"))) == ["coverage", "micro_f1"]


def test_score_all_leaves_alone_what_no_measure_needs():
    """Scores are not looked at where only measures of predictions are asked for."""
    assert score_all(Y, Y, [[np.nan]], metrics=["micro_f1"]) == {"micro_f1": 1.0}


@every_name
def test_values_are_python_floats(name):
    """A record can be written as JSON without a converter."""
    assert type(CATALOGUE[name].function(Y, Y)) is float
    assert type(score_all(Y, Y, Y)[name]) is float


@pytest.mark.parametrize(
    "estimator",
    [OneVsRestClassifier(LogisticRegression()), ClassifierChain(LogisticRegression()), KNeighborsClassifier()],
    ids=["decision_function", "chain", "list of arrays"],
)
@every_name
def test_scorer_is_the_signed_measure(name, estimator):
    """A scorer applies predict, decision_function or predict_proba and negates losses."""
    fitted = estimator.fit(X[:40], Y[:40])
    if CATALOGUE[name].needs == "prediction":
        response = fitted.predict(X[40:])
    elif hasattr(fitted, "decision_function"):
        response = fitted.decision_function(X[40:])
    else:
        response = np.column_stack([probabilities[:, 1] for probabilities in fitted.predict_proba(X[40:])])
    sign = 1 if CATALOGUE[name].greater_is_better else -1
    assert SCORERS[name](fitted, X[40:], Y[40:]) == sign * CATALOGUE[name].function(Y[40:], response)


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


def test_scorer_takes_one_array_of_probabilities():
    """A classifier whose predict_proba is one array (n_samples, n_labels), as ours are, is scored as it is."""

    class Prior(ClassifierMixin, BaseEstimator):
        def fit(self, X, Y):
            self.classes_, self.prior_ = np.arange(Y.shape[1]), Y.mean(axis=0)
            return self

        def predict_proba(self, X):
            return np.tile(self.prior_, (len(X), 1))

    fitted = Prior().fit(X, Y)
    assert get_scorer("coverage")(fitted, X, Y) == -metrics.coverage(Y, fitted.predict_proba(X))


@every_name
def test_scorers_can_be_sent_to_workers(name):
    """A scorer survives pickling, and each look-up makes a new one."""
    scorer = get_scorer(name)
    fitted = KNeighborsClassifier().fit(X, Y)
    assert pickle.loads(pickle.dumps(scorer))(fitted, X, Y) == scorer(fitted, X, Y)
    assert get_scorer(name) is not scorer
