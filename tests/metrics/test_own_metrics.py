"""A metric of the user's own enters wherever a name of the catalogue does."""

import functools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsClassifier

from nearlabel import metrics
from nearlabel.metrics import CATALOGUE, Metric, get_metric, get_scorer, score_all
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS, Evaluation, metrics_of

RNG = np.random.default_rng(5)
TRUE, PREDICTED = RNG.integers(0, 2, (2, 20, 4))
SCORES = RNG.random((20, 4))


def agreement(y_true, y_pred):
    """Return the share of equal cells, without weights."""
    return float(np.mean(np.asarray(y_true) == np.asarray(y_pred)))


def margin(y_true, y_score, *, sample_weight=None):
    """Return the mean score of the true labels, with weights."""
    weights = np.ones(len(y_true)) if sample_weight is None else np.asarray(sample_weight)
    return np.sum(weights[:, np.newaxis] * y_true * y_score) / np.sum(weights[:, np.newaxis] * y_true)


def top_score(y_true, scores):
    """Return the largest score, which is to be small."""
    return scores.max()


top_score.greater_is_better = False


def test_a_function_becomes_a_metric():
    """Its name, the name of its second parameter and its direction say the rest."""
    assert get_metric(agreement) == Metric("agreement", agreement, "prediction", True, "agreement")
    assert get_metric(margin) == Metric("margin", margin, "score", True)
    assert get_metric(top_score) == Metric("top_score", top_score, "score", False, "top score")


def test_objects_of_the_catalogue_are_found():
    """A function or an entry of the catalogue, also one from another process, gives the entry."""
    for name, metric in CATALOGUE.items():
        assert get_metric(getattr(metrics, name)) is metric
        assert get_metric(metric) is metric
        assert get_metric(pickle.loads(pickle.dumps(metric))) == metric


@pytest.mark.parametrize(
    ("metric", "error", "message"),
    [
        (3, TypeError, "metric must be a name of the catalogue, a Metric or a function, got 3 of type int"),
        (lambda y_true, y_pred: 0.0, ValueError, r"metric must have a name, got <function .*Hint: Metric\('my_metric'"),
        (functools.partial(metrics.micro_fbeta, beta=2), ValueError, "metric must have a name, got functools.partial"),
        (Metric("micro_f1", agreement), ValueError, r"got 'micro_f1'\. Hint: Metric\('my_micro_f1', function\)"),
    ],
)
def test_what_is_no_metric_of_ones_own(metric, error, message):
    """What has no name, the name of another one, or is no function is refused with a way out."""
    with pytest.raises(error, match=message):
        get_metric(metric)


def test_a_loss_without_a_direction():
    """A function named like a loss must say that smaller is better: silence would choose the worst."""

    def set_size_error(y_true, y_pred):
        return float(abs(y_true.sum() - y_pred.sum()))

    with pytest.raises(ValueError, match=r"got 'set_size_error'\. Hint: Metric\('set_size_error', function"):
        get_metric(set_size_error)
    set_size_error.greater_is_better = False
    assert not get_metric(set_size_error).greater_is_better


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"name": ""}, ValueError, "name must be a non-empty string, got ''"),
        ({"function": "f"}, TypeError, "function must be callable, got 'f' of type str"),
        ({"needs": "votes"}, ValueError, r"needs must be one of \['prediction', 'score'\], got 'votes'"),
        ({"greater_is_better": "yes"}, TypeError, "greater_is_better must be True or False, got 'yes'"),
    ],
)
def test_wrong_fields(fields, error, message):
    """The constructor checks its fields."""
    with pytest.raises(error, match=message):
        Metric(**{"name": "mine", "function": agreement} | fields)


def test_score_all_takes_own_metrics():
    """They stand beside the catalogue's, by their names, on checked matrices of numbers."""
    doubled = Metric("doubled", functools.partial(metrics.micro_fbeta, beta=2))
    values = score_all(TRUE.tolist(), PREDICTED.tolist(), SCORES.tolist(), ["micro_f1", agreement, margin, doubled])
    assert values == {
        "micro_f1": metrics.micro_f1(TRUE, PREDICTED),
        "agreement": agreement(TRUE, PREDICTED),
        "margin": pytest.approx(margin(TRUE, SCORES)),
        "doubled": metrics.micro_fbeta(TRUE, PREDICTED, beta=2),
    }
    assert type(values["margin"]) is float


def test_own_metrics_get_sparse_matrices_where_they_were_passed():
    """Nothing is made dense on the way."""
    seen = Metric("seen", lambda y_true, y_pred: float(sparse.issparse(y_true) and sparse.issparse(y_pred)))
    assert score_all(sparse.csr_array(TRUE), sparse.csc_matrix(PREDICTED), metrics=[seen]) == {"seen": 1.0}


def test_two_own_metrics_of_one_name():
    """A dict by name has room for one of them."""
    other = Metric("agreement", metrics.micro_f1)
    with pytest.raises(ValueError, match=r"metrics must have distinct names, got two different ones named 'agreement'"):
        score_all(TRUE, PREDICTED, metrics=[agreement, other])


def test_own_metric_lacks_its_scores():
    """A metric of scores says what is missing."""
    with pytest.raises(ValueError, match="y_score must be given for margin, got None"):
        score_all(TRUE, PREDICTED, metrics=[margin])


def test_own_metric_returns_no_number():
    """A curve is no metric."""
    pair = Metric("pair", lambda y_true, y_pred: (1.0, 2.0))
    with pytest.raises(TypeError, match=r"metric 'pair' must return a number, got \(1\.0, 2\.0\) of type tuple"):
        score_all(TRUE, PREDICTED, metrics=[pair])


def test_weights_reach_a_metric_that_takes_them():
    """One that takes none is refused, not called without."""
    weights = np.arange(20)
    assert get_metric(margin)(TRUE, SCORES, sample_weight=weights) == margin(TRUE, SCORES, sample_weight=weights)
    with pytest.raises(TypeError, match="sample_weight must be None: metric 'agreement' has no parameter"):
        get_metric(agreement)(TRUE, PREDICTED, sample_weight=weights)


def test_empty_predictions_are_counted_beside_own_metrics():
    """The order of the names is kept."""
    none = np.zeros_like(TRUE)
    values = Evaluation.of(TRUE, metrics_of([EMPTY_PREDICTIONS, agreement, "micro_recall"])).values(none, None)
    assert list(values.items()) == [
        ("empty_predictions", 1.0), ("agreement", agreement(TRUE, none)), ("micro_recall", 0.0)
    ]  # fmt: skip


def test_scorers_of_own_metrics():
    """scikit-learn's cross-validation takes them; a loss is negated."""
    X, y = make_multilabel_classification(n_samples=60, n_classes=4, random_state=0)
    scorers = {metric.name: get_scorer(metric) for metric in map(get_metric, (agreement, margin, top_score))}
    results = cross_validate(KNeighborsClassifier(), X, y, scoring=scorers, cv=3, return_estimator=True)
    assert (results["test_agreement"] > 0.5).all()
    assert (results["test_margin"] > 0.5).all()
    assert (results["test_top_score"] < 0).all()
