import itertools

import numpy as np
import pytest
from scipy import sparse

from _exhaustive import small_problem
from _strategies import medium_problem, stored
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
    for seed in range(150):
        for scores, Y in (small_problem(seed), medium_problem(seed)):
            expected = [above_largest_gap(row) for row in scores]
            assert MCut().fit(scores, Y).predict(scores).tolist() == expected, seed


@pytest.mark.parametrize("absent", [0.0, -np.inf])
def test_stored_rows_equal_a_loop(absent):
    """Rows of a CSR array that have a score above the absent one are cut as the dense rows that they stand for."""
    for seed in range(150):
        scores, Y = medium_problem(seed)
        scores = np.where(scores < 0.25, absent, scores)
        labels = MCut(absent=absent).fit(scores, Y).predict(stored(scores, absent)).toarray()
        for row, chosen in zip(scores, labels.tolist(), strict=True):
            assert (row > absent).any() <= (chosen == above_largest_gap(row)), seed


def test_a_row_without_a_stored_score_gets_no_label():
    """Only stored scores are chosen: an empty row stays empty, a fully stored one is cut as if it were dense."""
    scores = stored(np.array([[0.0, 0.0, 0.0], [0.2, 0.9, 0.8]]), seed=3)
    scores.eliminate_zeros()
    assert MCut().fit(scores, np.eye(3)[:2]).predict(scores).toarray().tolist() == [[0, 0, 0], [0, 1, 1]]


def test_scores_at_the_ends_of_the_range():
    """A gap too large for a float is the largest; an infinity makes none."""
    scores = np.array([[3e307, 1.7e308, -1.7e308], [1.0, np.inf, -np.inf], [np.inf, -np.inf, np.inf]])
    strategy = MCut(absent=-np.inf).fit(scores, np.eye(3))
    for given in (scores, stored(scores)):
        labels = sparse.csr_array(strategy.predict(given))
        assert labels.toarray().tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 1]]


@pytest.mark.parametrize("store", [np.asarray, stored])
def test_blocks_change_nothing(monkeypatch, store):
    """Row by row the answer is that of all rows at once."""
    scores, Y = medium_problem(3)
    at_once = MCut(absent=-np.inf).fit(scores, Y).predict(store(scores))
    row_blocks = MCut._decide.__globals__["row_blocks"]
    monkeypatch.setitem(MCut._decide.__globals__, "row_blocks", lambda n, size: row_blocks(n, size, budget=1))
    assert (MCut(absent=-np.inf).fit(scores, Y).predict(store(scores)) != at_once).sum() == 0
