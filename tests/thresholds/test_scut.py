import math
from fractions import Fraction

import numpy as np
import pytest

from _exhaustive import choices, small_problem
from _strategies import exactly, public
from nearlabel.thresholds import SCut

SEEDS = range(60)
METRICS = [
    ("macro_f1", 1),
    ("macro_fbeta", 0.5),
    ("macro_fbeta", 2),
    ("macro_precision", 1),
    ("macro_recall", 1),
    ("hamming_loss", 1),
]


def best_of_label(scores, y, value):
    """Return the largest value over all cuts of a label, and what the first cut that reaches it chooses."""
    judged = [(value(y, rows), rows) for rows in choices(scores)]  # the fewest rows come first
    largest = max(v for v, _ in judged)
    return largest, next(rows for v, rows in judged if v == largest)


@pytest.mark.parametrize(("metric", "beta"), METRICS)
def test_each_label_has_its_best_cut(metric, beta):
    """Exhaustive search over all cuts of a label finds the same value, and the same rows: the fewest that reach it."""
    for seed in SEEDS:
        scores, Y = small_problem(seed)
        strategy = SCut(metric, beta=beta).fit(scores, Y)
        predicted = strategy.predict(scores)
        for label, column in enumerate(scores.T):
            y = Y[:, label]
            value, rows = best_of_label(column, y, lambda y, p: exactly(metric, beta, y[:, None], p[:, None]))
            assert strategy.objectives_[label] == abs(float(value)), seed
            assert (predicted[:, label] == rows).all(), seed


@pytest.mark.parametrize(("metric", "beta"), METRICS)
def test_the_objective_is_the_public_metric(metric, beta):
    """What `objective_` says is what the metric function says of the predictions, and so does `score`."""
    for seed in SEEDS:
        scores, Y = small_problem(seed)
        strategy = SCut(metric, beta=beta).fit(scores, Y)
        value = public(metric, beta)(Y, strategy.predict(scores))
        assert strategy.objective_ == pytest.approx(value, abs=1e-15), seed
        assert strategy.score(scores, Y) == pytest.approx(value, abs=1e-15), seed


def zigzag(hits, predicted, positives, n_samples):
    """Like an odd number of chosen rows and no hits: it rises and falls many times, in eighths."""
    return 3 * (predicted % 2) - hits + predicted / 8


def test_a_callable_need_not_be_monotone():
    """Every distinct cut is tried for a function of the user's, not only those below the score of a carrier."""
    for seed in SEEDS:
        scores, Y = small_problem(seed)
        strategy = SCut(zigzag).fit(scores, Y)
        predicted = strategy.predict(scores)
        for label, column in enumerate(scores.T):
            value, rows = best_of_label(column, Y[:, label], lambda y, p: zigzag(y[p].sum(), p.sum(), y.sum(), len(y)))
            assert strategy.objectives_[label] == value, seed
            assert (predicted[:, label] == rows).all(), seed
        assert strategy.objective_ == strategy.score(scores, Y)


def test_a_callable_gets_the_counts_of_every_cut():
    """Cuts come with the fewest rows first: those of scores 0.9, 0.8, 0.3, 0.1, of which the 1st and 3rd are true."""
    seen = []

    def indifferent(*counts):
        seen.append([np.asarray(count).tolist() for count in counts])
        return np.zeros(len(counts[0]))

    strategy = SCut(indifferent).fit([[0.9], [0.8], [0.3], [0.1]], [[1], [0], [1], [0]])
    assert seen == [[[0, 1, 1, 2, 2], [0, 1, 2, 3, 4], 2, 4]]
    assert strategy.thresholds_.tolist() == [math.nextafter(0.9, 1)]


def test_weights_and_counts_of_a_callable_by_hand():
    """Rows of weights 2, 1, 3 and 1/2 count as much in each of the four arguments."""
    seen = []

    def indifferent(*counts):
        seen.append([np.asarray(count).tolist() for count in counts])
        return np.zeros(len(counts[0]))

    SCut(indifferent).fit([[0.9], [0.8], [0.3], [0.1]], [[1], [0], [1], [0]], sample_weight=[2, 1, 3, 0.5])
    assert seen == [[[0, 2, 2, 5, 5], [0, 2, 3, 6, 6.5], 5, 6.5]]


@pytest.mark.parametrize("metric", [lambda h, c, p, n: 0.5, lambda h, c, p, n: h[:-1], lambda h, c, p, n: h * np.nan])
def test_a_callable_must_return_a_number_for_each_cut(metric):
    """One number for all cuts, too few, or NaN are refused."""
    with pytest.raises(ValueError, match=r"metric must return 3 numbers, one for each threshold and none of them NaN"):
        SCut(metric).fit([[0.9], [0.8]], [[1], [0]])


def test_by_hand():
    """F of label 0 is 2/3, 1/2, 4/5 with one, two, three rows; that of label 1 is 0, 0, 1/2."""
    strategy = SCut().fit([[0.9, 0.2], [0.8, 0.1], [0.3, 0.4], [0.1, 0.3]], [[1, 1], [0, 0], [1, 0], [0, 0]])
    assert strategy.thresholds_ == pytest.approx([0.2, 0.15])
    assert strategy.objectives_ == pytest.approx([Fraction(4, 5), Fraction(1, 2)])
