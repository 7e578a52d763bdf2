from fractions import Fraction

import pytest

from _exhaustive import best_prediction, every_prediction, micro_f, small_problem
from conftest import long_after
from nearlabel.thresholds import MicroFOptimum, PillaiAscent

BETAS = (Fraction(1, 2), Fraction(1), Fraction(2))


@pytest.mark.parametrize("seeds", [range(300), pytest.param(range(300, 1000), marks=pytest.mark.long)], ids=len)
@pytest.mark.parametrize("beta", long_after(1, BETAS), ids=str)
def test_optimum_ascent_and_exhaustive_search_agree(beta, seeds):
    """On small problems all three reach the same value by the same label sets, the fewest that do."""
    for seed in seeds:
        scores, Y = small_problem(seed)
        value, best = best_prediction(every_prediction(scores), lambda labels, Y=Y: micro_f(Y, labels, beta))
        for strategy in (MicroFOptimum(float(beta)), PillaiAscent(float(beta))):
            labels = strategy.fit(scores, Y).predict(scores)
            assert micro_f(Y, labels, beta) == value, (seed, strategy)
            assert len(best) == 1
            assert (labels == best[0]).all(), (seed, strategy)
            assert strategy.objective_ == float(value)
