"""Strategies take metrics as names, as objects of the catalogue and, where any metric can be searched, of one's own."""

import numpy as np
import pytest
from sklearn.base import clone

from _strategies import medium_problem
from nearlabel.metrics import CATALOGUE, Metric, f1_examples, hamming_loss, macro_f1, micro_f1
from nearlabel.thresholds import CyclicAscent, GlobalCut, RCut, SCut


def mine(y_true, y_pred, *, sample_weight=None):
    """Return micro F1, under a name that no strategy knows."""
    return micro_f1(y_true, y_pred, sample_weight=sample_weight)


def chosen_share(y_true, y_pred):
    """Return the share of chosen cells: smaller is better."""
    return float(np.mean(y_pred))


chosen_share.greater_is_better = False


@pytest.mark.parametrize(
    ("strategy", "metric"),
    [(SCut, macro_f1), (GlobalCut, hamming_loss), (CyclicAscent, f1_examples), (RCut, micro_f1)],
)
def test_objects_of_the_catalogue_are_their_names(strategy, metric):
    """A function or an entry of the catalogue gives what its name gives."""
    scores, Y = medium_problem(3)
    expected = strategy(metric=metric.__name__).fit(scores, Y)
    for same in (metric, CATALOGUE[metric.__name__]):
        fitted = clone(strategy(metric=same)).fit(scores, Y)
        assert fitted.objective_ == expected.objective_
        assert (fitted.predict(scores) == expected.predict(scores)).all()
        assert fitted.score(scores, Y) == expected.score(scores, Y)


@pytest.mark.parametrize("strategy", [GlobalCut, RCut])
def test_a_metric_of_ones_own_is_searched(strategy):
    """With few distinct scores, and with every number of labels, the best is found, weights included."""
    for seed in range(10):
        scores, Y = medium_problem(seed)
        for weights in (None, np.random.default_rng(seed).integers(1, 4, len(Y))):
            expected = strategy(metric="micro_f1").fit(scores, Y, weights)
            fitted = strategy(metric=mine).fit(scores, Y, weights)
            assert fitted.objective_ == pytest.approx(expected.objective_, abs=1e-12), seed
            assert (fitted.predict(scores) == expected.predict(scores)).all(), seed
            assert fitted.score(scores, Y, weights) == pytest.approx(fitted.objective_, abs=1e-12), seed


@pytest.mark.parametrize("strategy", [GlobalCut, RCut])
def test_a_loss_of_ones_own_is_made_small(strategy):
    """Nothing is chosen where nothing is best."""
    scores, Y = medium_problem(1)
    fitted = strategy(metric=chosen_share).fit(scores, Y)
    assert fitted.objective_ == 0
    assert fitted.predict(scores).sum() == 0


def test_many_distinct_scores_are_tried_in_part():
    """Of 4,000 thresholds 200 are tried; the value is near the best one."""
    rng = np.random.default_rng(0)
    Y = (rng.random((1000, 4)) < 0.3).astype(int)
    scores = rng.normal(size=Y.shape) + Y
    tried = []

    def counted(y_true, y_pred):
        tried.append(y_pred.sum())
        return micro_f1(y_true, y_pred)

    fitted = GlobalCut(counted).fit(scores, Y)
    assert (len(tried), tried[0], tried[-1]) == (200, 0, Y.size)
    assert GlobalCut("micro_f1").fit(scores, Y).objective_ - 0.005 < fitted.objective_


def test_a_metric_that_is_undefined_somewhere():
    """NaN is never best; a metric that is NaN everywhere chooses nothing."""
    scores, Y = [[0.9, 0.1], [0.8, 0.2]], [[1, 0], [1, 0]]
    precision = Metric(
        "precision", lambda y_true, y_pred: (y_true * y_pred).sum() / y_pred.sum() if y_pred.any() else np.nan
    )
    assert GlobalCut(precision).fit(scores, Y).predict(scores).tolist() == [[1, 0], [0, 0]]
    undefined = GlobalCut(Metric("undefined", lambda y_true, y_pred: np.nan)).fit(scores, Y)
    assert np.isnan(undefined.objective_)
    assert undefined.predict(scores).sum() == 0


@pytest.mark.parametrize(
    ("strategy", "error", "message"),
    [
        (
            CyclicAscent(mine),
            ValueError,
            r"metric must be one of the catalogue for this strategy, got 'mine'",
        ),
        (SCut(Metric("mine", mine)), ValueError, r"got 'mine'\. Hint: GlobalCut and RCut take metrics of your own"),
        (SCut(micro_f1), ValueError, r"got 'micro_f1'\. Hint: MicroFOptimum finds"),
        (GlobalCut(Metric("top", max, "score")), ValueError, r"metric must be one of predictions, got 'top', which"),
        (GlobalCut(mine, beta=2), ValueError, r"beta must be 1 unless metric is one of fbeta_examples"),
        (RCut(metric=3), TypeError, "metric must be a name of the catalogue, a Metric or a function, got 3"),
    ],
)
def test_what_a_strategy_cannot_optimise(strategy, error, message):
    """The message says which strategy can."""
    with pytest.raises(error, match=message):
        strategy.fit([[0.9, 0.2], [0.8, 0.1]], [[1, 0], [0, 1]])
