import math

import numpy as np
import pytest

from _exhaustive import choices, small_problem
from _strategies import medium_problem
from nearlabel.thresholds import PCut


def nearest(column, wanted):
    """Return the cut of a column whose number of rows is nearest to the wanted one, the smaller of two as near."""
    return min(choices(column), key=lambda rows: (abs(rows.sum() - wanted), rows.sum()))


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_each_label_as_often_as_it_occurs(factor):
    """A loop over the cuts of each label finds the same rows."""
    for seed in range(60):
        for scores, Y in (small_problem(seed), medium_problem(seed)):
            expected = np.column_stack([nearest(s, factor * y.sum()) for s, y in zip(scores.T, Y.T, strict=True)])
            assert (PCut(factor=factor).fit(scores, Y).predict(scores) == expected).all(), seed


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_one_threshold_matches_the_cardinality(factor):
    """With per_label=False as many labels are chosen in all as there are true ones, as far as ties allow it."""
    for seed in range(60):
        for scores, Y in (small_problem(seed), medium_problem(seed)):
            strategy = PCut(per_label=False, factor=factor).fit(scores, Y)
            expected = nearest(scores.ravel(), factor * Y.sum()).reshape(Y.shape)
            assert (strategy.predict(scores) == expected).all(), seed
            assert strategy.thresholds_.shape == (Y.shape[1],)


def test_by_hand():
    """Two of four rows have label 0; scores 3, 2, 2, 1 allow one or three, as near, so one; label 1 never occurs."""
    strategy = PCut().fit([[3, 1], [2, 2], [2, 3], [1, 4]], [[1, 0], [1, 0], [0, 0], [0, 0]])
    assert strategy.thresholds_.tolist() == [2.5, math.inf]
    assert math.isnan(strategy.score([[3, 1]], [[1, 0]]))  # nothing is optimised
    assert not hasattr(strategy, "objective_")
