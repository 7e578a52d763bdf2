from fractions import Fraction

import numpy as np
import pytest

from _strategies import public
from nearlabel.thresholds import ExpectedF
from nearlabel.thresholds._expected_f import best_expected_fbeta


def probabilities(seed):
    """Return probabilities on a grid with zeros and ones, and label sets drawn from them."""
    rng = np.random.default_rng(seed)
    p = rng.choice([0.0, 0.1, 0.3, 0.5, 0.8, 1.0], (20, 6), p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
    return p, (rng.random(p.shape) < p).astype(int)


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_it_is_the_best_expected_fbeta(beta, zero_division):
    """Predictions and expected values are those of `best_expected_fbeta`, bit for bit."""
    for seed in range(10):
        p, Y = probabilities(seed)
        labels, expected = best_expected_fbeta(p, Fraction(beta) ** 2, zero_division)
        strategy = ExpectedF(beta, zero_division=zero_division).fit(p, Y)
        assert (strategy.predict(p) == labels).all()
        assert strategy.expected(p) == pytest.approx(expected, abs=1e-15)
        assert strategy.objective_ == pytest.approx(public("fbeta_examples", beta)(Y, labels), abs=1e-15)


def test_expectations_come_true():
    """Of labels drawn from the probabilities the mean F1 is near the expected one, and above that of the cut at 1/2."""
    p = np.random.default_rng(0).random((400, 8)) ** 2
    Y = (np.random.default_rng(1).random((50, *p.shape)) < p).astype(int)
    strategy = ExpectedF().fit(p, Y[0])
    reached = np.mean([strategy.score(p, truth) for truth in Y])
    assert reached == pytest.approx(strategy.expected(p).mean(), abs=0.005)
    assert reached > np.mean([public("f1_examples")(truth, (p >= 0.5).astype(int)) for truth in Y]) + 0.01


@pytest.mark.parametrize(("wrong", "shown"), [(1.5, r"1\.5"), (-0.25, r"-0\.25"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_scores_must_be_probabilities(wrong, shown):
    """Decision values are refused in `fit`, `predict` and `expected`, with a hint."""
    p = np.array([[0.2, 1.0], [0.0, 0.7]])
    bad = np.where(p == 0.7, wrong, p)
    fitted = ExpectedF().fit(p, p > 0.5)
    for call in (lambda: ExpectedF().fit(bad, p > 0.5), lambda: fitted.predict(bad), lambda: fitted.expected(bad)):
        with pytest.raises(
            ValueError, match=rf"probabilities from 0 to 1, got {shown}\. Hint: .*CalibratedClassifierCV"
        ):
            call()


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"beta": 0.0}, ValueError, r"beta must be a finite number above 0, got 0\.0\."),
        ({"beta": "1"}, TypeError, r"beta must be a number, got '1' of type str\."),
        ({"zero_division": 0.5}, ValueError, r"zero_division must be 0\.0 or 1\.0, got 0\.5\."),
        ({"zero_division": True}, ValueError, r"zero_division must be 0\.0 or 1\.0, got True\."),
    ],
)
def test_errors(parameters, error, message):
    """Parameters are checked in `fit`."""
    with pytest.raises(error, match=message):
        ExpectedF(**parameters).fit([[0.5]], [[1]])
