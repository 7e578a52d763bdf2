import math

import numpy as np
import pytest
from sklearn.model_selection import KFold

from _strategies import medium_problem
from nearlabel.metrics import macro_f1, micro_f1
from nearlabel.thresholds import FBR, GlobalCut, MicroFOptimum, PCut, SCut

SCORES = [[0.9, 0.2, 0.1], [0.8, 0.1, 0.2], [0.3, 0.4, 0.3], [0.1, 0.3, 0.4]]
Y = [[1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 0, 0]]  # SCut reaches F1 of 0.8 at 0.2, 0.5 at 0.15, and 0 at infinity


@pytest.mark.parametrize(
    ("variant", "fbr", "thresholds"),
    [
        (0, 0, [0.2, 0.15, math.inf]),
        (0, 0.5, [0.2, 0.15, math.inf]),  # 0.5 is not below 0.5
        (0, 0.6, [0.2, math.inf, math.inf]),
        (1, 0.6, [0.2, 0.4, math.inf]),
        (0, 2.0, [math.inf] * 3),
        (1, 2.0, [0.9, 0.4, math.inf]),
    ],
)
def test_by_hand(variant, fbr, thresholds):
    """Below the limit: never chosen, or from the highest score on; a label without positives stays as it was."""
    strategy = FBR(SCut(), variant, fbr).fit(SCORES, Y)
    assert strategy.thresholds_ == pytest.approx(thresholds)
    assert strategy.rare_.tolist() == [fbr > 0.8, fbr > 0.5, fbr > 0]
    assert strategy.fbr_ == fbr
    assert strategy.objective_ == macro_f1(Y, strategy.predict(SCORES)) == strategy.score(SCORES, Y)
    assert strategy.strategy_.thresholds_ == pytest.approx([0.2, 0.15, math.inf])


def raised(strategy, variant, scores, Y, limit):
    """Return the thresholds of one limit, by a loop over the labels."""
    fitted = type(strategy)().fit(scores, Y)
    labels, thresholds = fitted.predict(scores), fitted.thresholds_.copy()
    for label in range(Y.shape[1]):
        y, p = Y[:, label], labels[:, label]
        f = 2 * (y * p).sum() / (y.sum() + p.sum()) if y.sum() + p.sum() else 0.0
        if f < limit:
            thresholds[label] = max(thresholds[label], scores[:, label].max()) if variant else math.inf
    return thresholds


@pytest.mark.parametrize("variant", [0, 1])
@pytest.mark.parametrize(("strategy", "metric"), [(SCut(), macro_f1), (MicroFOptimum(), micro_f1)])
@pytest.mark.parametrize("random_state", [None, 3])
def test_auto_is_the_best_limit_over_the_folds(strategy, metric, variant, random_state):
    """A transcription with loops finds the same limit: the last of the best, the first if all are 0."""
    limits, chosen = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8], set()
    for seed in range(8):
        scores, Y = medium_problem(seed)
        sums = [0.0] * 8
        for rest, part in KFold(4, shuffle=random_state is not None, random_state=random_state).split(scores):
            for place, limit in enumerate(limits):
                thresholds = raised(strategy, variant, scores[rest], Y[rest], limit)
                sums[place] += metric(Y[part], (scores[part] >= thresholds).astype(int))
        best = limits[0] if not any(sums) else max(zip(sums, limits, strict=True))[1]
        fitted = FBR(strategy, variant, cv=4, random_state=random_state).fit(scores, Y)
        assert fitted.fbr_ == best, seed
        assert (fitted.thresholds_ == raised(strategy, variant, scores, Y, best)).all(), seed
        chosen.add(best)
    assert len(chosen) > 2


def test_a_loss_is_made_small():
    """With Hamming loss the limit of smallest summed loss is taken."""
    scores, Y = medium_problem(5)
    fitted = FBR(SCut("hamming_loss"), variant=1, cv=3).fit(scores, Y)
    sums = []
    for limit in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        parts = KFold(3).split(scores)
        fits = [(FBR(SCut("hamming_loss"), 1, limit).fit(scores[a], Y[a]), b) for a, b in parts]
        sums.append((sum(f.score(scores[b], Y[b]) for f, b in fits), -limit))
    assert fitted.fbr_ == -min(sums)[1]


def test_a_strategy_that_optimises_nothing_needs_a_number():
    """PCut serves with a given limit; with "auto" there is no value of the folds to compare."""
    assert FBR(PCut(), 0, 0.4).fit(SCORES, Y).thresholds_ == pytest.approx([0.55, math.inf, math.inf])
    with pytest.raises(ValueError, match=r"fbr must be a number where the strategy optimises no metric as PCut\(\)"):
        FBR(PCut(), cv=2).fit(SCORES, Y)


def test_fbr_of_fbr_and_of_a_common_threshold():
    """Any strategy that gives each label a threshold will do; it is cloned, not fitted."""
    inner = FBR(GlobalCut(), 1, 0.6)
    fitted = FBR(inner, 0, 0.9).fit(SCORES, Y)
    assert not hasattr(inner, "thresholds_")
    assert fitted.strategy_.strategy_.objective_ == GlobalCut().fit(SCORES, Y).objective_
    assert np.isinf(fitted.thresholds_[1:]).all()


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"strategy": "scut"}, TypeError, r"strategy must be one that gives each label a threshold, got 'scut'\."),
        ({"strategy": SCut}, TypeError, r"strategy must be one that gives each label a threshold, got <class"),
        ({"variant": 2}, ValueError, r"variant must be 0 or 1, got 2\."),
        ({"variant": True}, ValueError, r"variant must be 0 or 1, got True\."),
        ({"fbr": -0.1}, ValueError, r"fbr must be a finite number above 0, got -0\.1\."),
        ({"fbr": "best"}, TypeError, r"fbr must be a number, got 'best' of type str\."),
        ({"beta": 0}, ValueError, r"beta must be a finite number above 0, got 0\."),
        ({"cv": 1}, ValueError, r"cv must be at least 2, got 1\."),
        ({"cv": 5}, ValueError, r"cv must be at most the 4 rows, got 5\."),
        ({"cv": 2.0}, TypeError, r"cv must be an integer, got 2\.0 of type float\."),
        ({"strategy": SCut("macro_f")}, ValueError, r"metric must be .*, got 'macro_f'\. Did you mean 'macro_f1'\?"),
    ],
)
def test_errors(parameters, error, message):
    """Every parameter is checked in `fit`."""
    with pytest.raises(error, match=message):
        FBR(**({"strategy": SCut(), "cv": 2} | parameters)).fit(SCORES, Y)
