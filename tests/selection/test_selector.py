"""The parts that every choice shares: the criterion, the time limit, and the doors for checked data."""

import numpy as np
import pytest

from nearlabel.lazy import MLMLM, BRkNN, CMLkNN, LPkNN, MLkNN, NeighborsSweep
from nearlabel.metrics import CATALOGUE, Metric, get_metric, score_all
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS, Evaluation, metrics_of
from nearlabel.models import selector
from nearlabel.models.selector import Budget, Criterion
from nearlabel.selection import NeighborsClassifierCV
from nearlabel.thresholds import GlobalCut, MicroFOptimum, SCut, TunedThresholdsClassifierCV
from nearlabel.thresholds.best_value import BestThresholds
from nearlabel.utils.messages import listening, stopping_if


@pytest.fixture(scope="module")
def problem():
    """Samples in steps, so that distances and scores tie, and label sets that depend on them."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 4, (60, 3)).astype(float)
    return X, (X[:, :2] + rng.normal(size=(60, 2)) > 2).astype(int)


class Guest(MicroFOptimum):
    """A user's strategy, which counts how often its public methods are called."""

    calls = 0

    def fit(self, scores, y, sample_weight=None):
        """Count, and learn as usual."""
        Guest.calls += 1
        return super().fit(scores, y, sample_weight)

    def predict(self, scores):
        """Count, and predict as usual."""
        Guest.calls += 1
        return super().predict(scores)


@pytest.mark.parametrize(
    ("name", "values", "place"), [("micro_f1", [0.1, np.nan, 0.3, 0.3], 2), ("hamming_loss", [2, 1, 1], 1)]
)
def test_the_first_of_the_best_is_chosen(name, values, place):
    """Of equal values the first wins, in either direction; NaN never does."""
    criterion = Criterion(get_metric(name))
    assert criterion.first_best(values) == place
    assert criterion.loss(values[place]) == min(criterion.loss(value) for value in values)
    assert criterion.first_best([np.nan, np.nan]) is None
    assert criterion.loss(np.nan) == np.inf


def test_a_budget_is_spent_after_its_seconds():
    """Without seconds it never is."""
    assert Budget(0).left <= 0
    assert not Budget(None).is_spent
    assert not Budget(1000).is_spent


def test_an_evaluation_gives_the_values_of_score_all(problem):
    """Also for several predictions of the same label sets, for some samples, and with a user's metric."""
    _, Y = problem
    own = Metric("own", lambda y_true, y_pred: float((y_true * y_pred).sum()))
    metrics, rng = [*CATALOGUE, own], np.random.default_rng(1)
    evaluation = Evaluation.of(Y, metrics_of(metrics))
    for rows in (slice(None), np.arange(0, 60, 2)):
        scores = rng.random(Y.shape)[rows]
        expected = score_all(Y[rows], scores > 0.5, scores, metrics)
        assert evaluation.rows(rows).values(scores > 0.5, scores) == expected
    assert Evaluation.of(Y, metrics_of([EMPTY_PREDICTIONS])).values(0 * Y, None) == {EMPTY_PREDICTIONS: 1.0}
    with pytest.raises(ValueError, match="y_pred must contain 0 and 1 only"):
        evaluation.values(2 * Y, scores)


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize(
    "strategy", [MicroFOptimum(), SCut(), GlobalCut(), Guest()], ids=lambda one: type(one).__name__
)
@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1", "ranking_loss"])
def test_best_thresholds_are_those_of_the_public_methods(problem, metric, strategy, unknown):
    """The same thresholds and values, to the bit, on all samples and on some of them."""
    _, Y = problem
    truth = np.where(np.random.default_rng(2).random(Y.shape) < 0.1, np.nan, Y) if unknown else Y
    scores = np.random.default_rng(3).integers(0, 9, Y.shape) / 8
    best = BestThresholds(truth, get_metric(metric), strategy)
    for rows in (None, np.arange(0, 60, 3)):
        some = slice(None) if rows is None else rows
        fitted, value = best.tuned(scores, rows)
        strategy.fit(scores[some], truth[some])
        assert fitted.thresholds_.tobytes() == strategy.thresholds_.tobytes()
        expected = score_all(truth[some], strategy.predict(scores[some]), scores[some], [metric])[metric]
        assert value == expected


@pytest.mark.parametrize("method", [BRkNN(), BRkNN(weights="distance"), MLkNN(), CMLkNN()])
def test_a_sweep_answers_as_fits_do(problem, method):
    """For any number of neighbours up to the largest, in any order."""
    X, Y = problem
    sweep = NeighborsSweep.left_out(type(method)(**method.get_params()), X, Y, [12])
    for k in (12, 1, 5):
        fitted = type(method)(**method.get_params()).set_params(n_neighbors=k).fit(X, Y)
        labels, scores = sweep.answer(k)
        assert scores.tobytes() == fitted.loo_predict_proba().tobytes()
        assert labels.dtype == Y.dtype
        np.testing.assert_array_equal(labels, fitted.loo_predict())


def test_which_methods_a_sweep_serves():
    """Not those of users, which may have public methods of their own, nor those that draw random numbers."""

    class Mine(BRkNN):
        pass

    served = [NeighborsSweep.serves(method) for method in (BRkNN(), MLkNN(), Mine(), LPkNN(), MLMLM())]
    assert served == [True, True, False, False, False]


def test_mlmlm_returns_the_scores_of_its_fit(problem):
    """They are its leave-one-out scores, and nothing more is stored."""
    X, Y = problem
    fitted, other = MLMLM(), MLMLM().fit(X, Y)
    assert fitted._fit_left_out(X, Y).tobytes() == other.loo_predict_proba().tobytes()
    assert vars(fitted).keys() == vars(other).keys()


def test_a_users_strategy_is_called_by_its_public_methods(problem):
    """The choices are those of our strategy that it extends."""
    X, Y = problem
    settings = {"n_neighbors": [1, 3], "scales": ["minmax"], "metrics": ["euclidean"]}
    ours, own = (NeighborsClassifierCV(strategy=one(), **settings).fit(X, Y) for one in (MicroFOptimum, Guest))
    assert ours.best_params_ == own.best_params_
    np.testing.assert_array_equal(ours.cv_results_["score"], own.cv_results_["score"])
    assert Guest.calls > 2 * ours.n_candidates_
    tuned = [TunedThresholdsClassifierCV(MLkNN(), one()).fit(X, Y) for one in (MicroFOptimum, Guest)]
    np.testing.assert_array_equal(*(one.cv_results_["test_objective"] for one in tuned))


def test_a_budget_estimates_jobs_by_those_done(monkeypatch):
    """By the same job on other samples, with growth of 1.5, else by the mean of all; 0 before any."""
    clock = [100.0]
    monkeypatch.setattr(selector.time, "monotonic", lambda: clock[0])
    told, expected = [], []
    with listening(told.append, expected.append):
        budget = Budget(50.0)
        assert budget.allows("slow", 10**6)
        assert budget.seconds_of("slow", 10) == 0
        with budget.measuring("slow", 10, later=[("slow", 40), ("other", 10)]):
            clock[0] += 4.0
        assert budget.seconds_of("slow", 40) == pytest.approx(32.0)
        assert budget.seconds_of("other", 10) == pytest.approx(4.0)
        assert (told, expected) == ([pytest.approx(4 / 40)], [pytest.approx(36.0)])
        assert budget.allows("slow", 40)
        assert not budget.allows("slow", 90), "108 of 46 seconds"
        assert budget.allows("other", 90), "it was never done"
        clock[0] += 47.0
        assert budget.is_spent
        assert not budget.allows("other", 1)
        assert budget.tell_left([("slow", 1000)]) == (51.0, 51.0)


def test_a_choice_may_be_asked_to_stop():
    """Then no time is left, with a limit or without."""
    asked = []
    with stopping_if(lambda: bool(asked)):
        assert not Budget().is_spent
        asked.append(True)
        assert Budget().is_spent
        assert not Budget(1e9).allows("job", 1)
    assert not Budget().is_spent
