import itertools

import numpy as np

from _exhaustive import small_problem
from _strategies import medium_problem
from nearlabel.thresholds import MCut


def above_largest_gap(scores):
    """Return which labels of one row lie above the largest gap between finite scores, the highest of equal ones.

    Plus infinity is chosen, minus infinity is not; without a gap the only finite score is, if nothing else.
    """
    order = sorted(range(len(scores)), key=lambda label: (-scores[label], label))
    order = [label for label in order if scores[label] > -np.inf]
    infinite = sum(scores[label] == np.inf for label in order)
    finite = [float(scores[label]) for label in order[infinite:]]
    gaps = [a - b for a, b in itertools.pairwise(finite)]
    size = infinite + gaps.index(max(gaps)) + 1 if gaps else infinite or len(finite)
    return [int(label in order[:size]) for label in range(len(scores))]


def test_dense_rows_equal_a_loop():
    """Each row is cut at its own largest gap, infinities and ties included."""
    for seed in range(50):
        for scores, Y in (small_problem(seed), medium_problem(seed)):
            expected = [above_largest_gap(row) for row in scores]
            assert MCut().fit(scores, Y).predict(scores).tolist() == expected, seed


def test_scores_at_the_ends_of_the_range():
    """A gap too large for a float is the largest; an infinity makes none."""
    scores = np.array([[3e307, 1.7e308, -1.7e308], [1.0, np.inf, -np.inf], [np.inf, -np.inf, np.inf]])
    labels = MCut().fit(scores, np.eye(3)).predict(scores)
    assert labels.tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 1]]


def test_blocks_change_nothing(monkeypatch):
    """Row by row the answer is that of all rows at once."""
    scores, Y = medium_problem(3)
    strategy = MCut().fit(scores, Y)
    at_once = strategy.predict(scores)
    row_blocks = MCut._decide.__globals__["row_blocks"]
    monkeypatch.setitem(MCut._decide.__globals__, "row_blocks", lambda n, size: row_blocks(n, size, budget=1))
    assert (strategy.predict(scores) == at_once).all()
