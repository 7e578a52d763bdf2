"""The estimate of the time that a run still takes."""

import numpy as np
import pytest

from nearlabel.experiments import Plan, run
from nearlabel.experiments._folds import Fold
from nearlabel.experiments._run import TimeLeft
from nearlabel.utils.messages import expect, listening


def fold(dataset, n_rows, n_labels):
    """A fold of so many training rows of two features."""
    rows = np.arange(n_rows)
    return Fold(dataset, 0, 0, np.ones((n_rows, 2)), np.ones((n_rows, n_labels), dtype=int), rows, rows)


def test_time_left_by_hand():
    """Folds of a known data set take their mean, of an unknown one in proportion to rows, features and labels."""
    folds = [fold("small", 10, 2)] * 3 + [fold("large", 40, 4)] * 2
    time_left = TimeLeft(folds, 1)
    assert time_left.seconds_after(0, 2.0) == pytest.approx(2 * 2.0 + 2 * 2.0 * 8)
    assert time_left.seconds_after(1, 4.0) == pytest.approx(3.0 + 2 * 6.0 * 8 / 2)
    assert time_left.seconds_after(2, 3.0) == pytest.approx(2 * 9.0 * 8 / 3)
    assert time_left.seconds_after(3, 100.0) == pytest.approx(100.0)
    assert time_left.seconds_after(4, 100.0) == 0


def test_workers_share_the_folds_but_no_fold():
    """Two workers take half the time, and never less than the longest fold left."""
    folds = [fold("small", 10, 2)] * 5 + [fold("large", 40, 4)]
    time_left = TimeLeft(folds, 2)
    assert time_left.seconds_after(0, 1.0) == pytest.approx(8.0)  # (4 + 8) / 2 < 8
    assert TimeLeft(folds[:5], 2).seconds_after(0, 1.0) == pytest.approx(2.0)


def test_a_resumed_run_counts_the_folds_it_ran():
    """Folds that were on file have no time: the first one that is run counts."""
    time_left = TimeLeft([fold("small", 10, 2)] * 4, 1)
    assert time_left.seconds_after(2, 5.0) == pytest.approx(5.0)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_run_tells_the_time_left(toy, n_workers):
    """After each fold, and 0 at the end; without a listener nobody is told."""
    told = []
    plan = Plan(("brknn",), (2,), cv=4, metrics=("hamming_loss",))
    with listening(None, told.append):
        run(plan, {"toy": toy}, n_workers=n_workers)
    assert len(told) == 4
    assert all(seconds > 0 for seconds in told[:3])
    assert told[3] == 0
    expect(1.0)
    assert len(told) == 4
