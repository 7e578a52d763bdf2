"""The theorem of Pillai, Fumera and Roli on problems too large to try every threshold vector."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from _exhaustive import choices, micro_f
from _strategies import medium_problem
from nearlabel.metrics import micro_f1
from nearlabel.thresholds import MicroFOptimum, PillaiAscent

BETAS = (Fraction(1, 2), Fraction(1), Fraction(2))


def counts_of_cuts(scores, Y):
    """Return, for each label, an array (n_cuts, 2) of hits and chosen rows."""
    columns = zip(scores.T, Y.T, strict=True)
    return [np.array([(y[rows].sum(), rows.sum()) for rows in choices(s)]) for s, y in columns]


def value_of(cuts, vector, Y, beta):
    """Return micro-averaged F-beta, exactly, of one cut for each label."""
    hits, chosen = (int(part) for part in sum(of_label[cut] for of_label, cut in zip(cuts, vector, strict=True)))
    below = beta**2 * int(Y.sum()) + chosen
    return (1 + beta**2) * hits / below if below else Fraction(0)


def moves(cuts, vector, label):
    """Yield the vectors that differ in the cut of one label."""
    for cut in range(len(cuts[label])):
        yield [*vector[:label], cut, *vector[label + 1 :]]


def ascend(cuts, vector, Y, beta):
    """Move one cut at a time to its best place until no move helps."""
    while True:
        before = value_of(cuts, vector, Y, beta)
        for label in range(len(cuts)):
            vector = max(moves(cuts, vector, label), key=lambda v: value_of(cuts, v, Y, beta))
        if value_of(cuts, vector, Y, beta) == before:
            return before


def test_no_single_threshold_improves_the_optimum():
    """Property 1: with the others as they are, no other cut of any label has a larger value."""
    for seed in range(150):
        scores, Y = medium_problem(seed)
        beta = BETAS[seed % 3]
        strategy = MicroFOptimum(float(beta)).fit(scores, Y)
        labels = strategy.predict(scores)
        value = micro_f(Y, labels, beta)
        assert strategy.objective_ == float(value)
        hits, chosen, below = int((Y * labels).sum()), int(labels.sum()), beta**2 * int(Y.sum())
        for label, cuts in enumerate(counts_of_cuts(scores, Y)):
            own_hits, own_chosen = int((Y * labels)[:, label].sum()), int(labels[:, label].sum())
            for other_hits, other_chosen in cuts.tolist():
                bottom = below + chosen - own_chosen + other_chosen
                assert (1 + beta**2) * (hits - own_hits + other_hits) <= value * bottom, seed


def test_ascent_from_anywhere_ends_at_the_optimum():
    """Coordinate ascent from random thresholds, up and down, never ends short of the global maximum."""
    for seed in range(60):
        scores, Y = medium_problem(seed)
        beta, rng, cuts = BETAS[seed % 3], np.random.default_rng(seed), counts_of_cuts(scores, Y)
        start = [int(rng.integers(len(of_label))) for of_label in cuts]
        reached = ascend(cuts, start, Y, beta)
        assert MicroFOptimum(float(beta)).fit(scores, Y).objective_ == float(reached), seed


@pytest.mark.long
def test_random_thresholds_are_never_better():
    """The best of 2,000 random threshold vectors does not reach more, in any of 300 problems."""
    for seed in range(300):
        scores, Y = medium_problem(seed)
        beta, rng = float(BETAS[seed % 3]), np.random.default_rng(seed)
        hits, chosen = sum(of_label[rng.integers(len(of_label), size=2000)] for of_label in counts_of_cuts(scores, Y)).T
        below = np.maximum(beta**2 * Y.sum() + chosen, 1e-9)
        best = MicroFOptimum(beta).fit(scores, Y).objective_
        assert ((1 + beta**2) * hits / below).max() <= best + 1e-12, seed


@pytest.mark.parametrize("beta", BETAS, ids=str)
def test_the_printed_algorithm_finds_the_same_thresholds(beta):
    """Algorithm 1 and the fractional program agree in value and predictions on problems of medium size."""
    for seed in range(150):
        scores, Y = medium_problem(seed, ties=bool(seed % 2))
        optimum, ascent = (strategy(float(beta)).fit(scores, Y) for strategy in (MicroFOptimum, PillaiAscent))
        assert ascent.objective_ == optimum.objective_, seed
        assert (ascent.predict(scores) == optimum.predict(scores)).all(), seed


@pytest.mark.long
def test_thresholds_only_rise():
    """Property 2: from scan to scan no threshold goes down, the value grows, and so does the number of evaluations."""
    longest = 0
    for seed in range(150):
        scores, Y = medium_problem(seed)
        last = PillaiAscent().fit(scores, Y).n_scans_
        scans = [PillaiAscent(max_scans=scan).fit(scores, Y) for scan in range(1, last + 1)]
        longest = max(longest, last)
        for before, after in itertools.pairwise(scans):
            assert (after.thresholds_ >= before.thresholds_).all(), seed
            assert after.objective_ >= before.objective_, seed
            assert after.n_evaluated_ > before.n_evaluated_, seed
        assert scans[-1].objective_ == MicroFOptimum().fit(scores, Y).objective_
        assert [scan.n_scans_ for scan in scans] == list(range(1, last + 1))
    assert longest >= 4


def test_evaluations_by_hand():
    """From below all scores up: every cut at or above the present one is evaluated, the present one included.

    Label 0 has scores 3 (true), 2, 1, label 1 has 2 (true) and 1 (twice). First all 6 are chosen, with P = 2: F = 4/8.
    Scan 1 tries the 4 cuts of label 0 and takes 3 (4/6 with three rows of label 1), then the 3 of label 1: 4/4.
    Scan 2 tries two of each, the present one and that which chooses nothing, and changes nothing.
    """
    scores, Y = [[3, 2], [2, 1], [1, 1]], [[1, 1], [0, 0], [0, 0]]
    ascent = PillaiAscent().fit(scores, Y)
    assert (ascent.objective_, ascent.n_scans_, ascent.n_evaluated_) == (1.0, 2, 4 + 3 + 2 + 2)
    assert PillaiAscent(max_scans=1).fit(scores, Y).n_evaluated_ == 7
    assert ascent.thresholds_.tolist() == [2.5, 1.5]


def test_evaluations_stay_below_the_bound_of_the_paper():
    """The paper observes fewer than 2 (n + 1) N evaluated vectors, where thresholds matter: with informative scores."""
    rng = np.random.default_rng(0)
    Y = (rng.random((300, 20)) < rng.uniform(0.02, 0.4, 20)).astype(int)
    ascent = PillaiAscent().fit(rng.normal(size=Y.shape) + 2 * Y, Y)
    assert ascent.n_evaluated_ < 2 * 301 * 20


@pytest.mark.long
def test_tol_stops_early():
    """With a tolerance above the gain of the second scan the ascent stops after it, short of the maximum."""
    shorter = 0
    for seed in range(60):
        scores, Y = medium_problem(seed)
        values = [PillaiAscent(max_scans=scan).fit(scores, Y).objective_ for scan in range(1, 8)]
        start = micro_f1(Y, np.ones_like(Y))
        gains = np.diff([start, *values])
        for tol in (0.3, 0.03, 0.003):
            greedy = PillaiAscent(tol=tol).fit(scores, Y)
            stop = next(scan for scan, gain in enumerate(gains, 1) if gain < tol)
            assert (greedy.n_scans_, greedy.objective_) == (stop, values[stop - 1]), (seed, tol)
            shorter += greedy.objective_ < PillaiAscent().fit(scores, Y).objective_
    assert shorter > 0


@pytest.mark.parametrize("strategy", [MicroFOptimum, PillaiAscent])
@pytest.mark.parametrize("beta", [0.1234567, math.pi, 1e-3, 1e3])
def test_any_beta(strategy, beta):
    """Also for a beta whose square is no simple fraction the result is that of ascent from the lowest cuts."""
    for seed in range(10):
        scores, Y = medium_problem(seed)
        value = ascend(counts_of_cuts(scores, Y), [0] * Y.shape[1], Y, Fraction(beta))
        fitted = strategy(beta).fit(scores, Y)
        assert fitted.objective_ == pytest.approx(float(value), rel=1e-12), seed
        assert fitted.score(scores, Y) == pytest.approx(float(value), rel=1e-12), seed
