import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from _exhaustive import every_prediction, f_beta, small_problem
from _strategies import medium_problem
from nearlabel.metrics import macro_precision, macro_recall, micro_precision, micro_recall
from nearlabel.models.decision import cut
from nearlabel.thresholds import MicroFOptimum, SCut, macro_pr_frontier, micro_pr_frontier

BETAS = (0.01, 0.2, 0.3, 0.5, 1.0, 1.5, 2.0, 5.0, 100.0)
SEEDS = pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 120), marks=pytest.mark.long)], ids=str)


def problems(seeds):
    """Yield small problems with every oddity and medium ones, all with a positive."""
    for seed in seeds:
        yield from ((scores, Y) for scores, Y in (small_problem(seed), medium_problem(seed)) if Y.any())


@SEEDS
@pytest.mark.parametrize("beta", BETAS)
def test_the_best_point_is_the_optimum(beta, seeds):
    """For each beta the thresholds are exactly those of MicroFOptimum, with the precision and recall they have."""
    for scores, Y in problems(seeds):
        frontier = micro_pr_frontier(scores, Y)
        point = frontier.best_point(beta)
        optimum = MicroFOptimum(beta).fit(scores, Y)
        assert (frontier.thresholds(point) == optimum.thresholds_).all()
        labels = optimum.predict(scores)
        assert frontier.precision[point] == pytest.approx(micro_precision(Y, labels), abs=1e-15)
        assert frontier.recall[point] == pytest.approx(micro_recall(Y, labels), abs=1e-15)
        assert frontier.n_chosen[point] == labels.sum()


def test_simple_ties_between_points_are_met_exactly():
    """Where two points are equally good for beta 1/5 the one of fewest labels is best, as MicroFOptimum says."""
    scores, Y = small_problem(765)
    frontier = micro_pr_frontier(scores, Y)
    assert frontier.largest_beta[0] == 0.2
    assert frontier.best_point(0.2) == 0
    assert (frontier.thresholds(0) == MicroFOptimum(0.2).fit(scores, Y).thresholds_).all()


@SEEDS
def test_every_point_is_best_inside_its_interval(seeds):
    """Between the largest beta of the point before and its own, MicroFOptimum has the thresholds of the point."""
    n_points = 0
    for scores, Y in problems(seeds):
        frontier = micro_pr_frontier(scores, Y)
        low = np.append(frontier.largest_beta[:1] / 4, frontier.largest_beta[:-1])
        high = np.minimum(frontier.largest_beta, 1e3)
        for point, middle in enumerate(np.sqrt(np.minimum(low, 1e2) * high)):
            beta = float(Fraction(middle).limit_denominator(1000))
            if low[point] < beta < high[point]:
                n_points += 1
                assert frontier.best_point(beta) == point
                assert (frontier.thresholds(point) == MicroFOptimum(beta).fit(scores, Y).thresholds_).all()
    assert n_points > 7.5 * len(seeds)


@SEEDS
def test_precision_falls_and_recall_rises(seeds):
    """From point to point there is more recall and no more precision; betas rise; each point is what its cuts give."""
    for scores, Y in problems(seeds):
        frontier = micro_pr_frontier(scores, Y)
        assert (np.diff(frontier.precision) <= 0).all()
        assert (np.diff(frontier.recall) > 0).all()
        assert (np.diff(frontier.largest_beta) > 0).all()
        assert frontier.largest_beta[-1] == math.inf
        assert frontier.recall[-1] == 1.0
        for point, chosen in enumerate(frontier.n_chosen):
            labels = cut(scores, frontier.thresholds(point))
            assert chosen == labels.sum()
            assert frontier.recall[point] == pytest.approx(micro_recall(Y, labels), abs=1e-15)


@SEEDS
@pytest.mark.parametrize("beta", [Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(5)], ids=str)
def test_nothing_reachable_lies_above(beta, seeds):
    """No threshold vector at all has a larger F-beta than the best point."""
    for seed in seeds:
        scores, Y = small_problem(seed)
        if not Y.any():
            continue
        counts = {(int((Y * labels).sum()), int(labels.sum())) for labels in every_prediction(scores)}
        frontier = micro_pr_frontier(scores, Y)
        point = frontier.best_point(float(beta))
        hits = Fraction(round(frontier.recall[point] * int(Y.sum())))
        best = f_beta(hits, frontier.n_chosen[point], Y.sum(), beta)
        assert max(f_beta(*pair, Y.sum(), beta) for pair in counts) == best, seed


@pytest.mark.parametrize("weights", ["whole", "huge", "fractional", "tiny"])
def test_weights(weights):
    """Whole weights are exact, whatever their size; fractions of them change nothing but the counts."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        scores, Y = medium_problem(seed)
        times = rng.integers(0, 4, len(Y))
        if not (Y.T * times).any():
            continue
        scale = {"whole": 1, "huge": 2**29, "fractional": 1.5, "tiny": 2.0**-20}[weights]
        expected = micro_pr_frontier(np.repeat(scores, times, axis=0), np.repeat(Y, times, axis=0))
        frontier = micro_pr_frontier(scores, Y, times * scale)
        for name in ("precision", "recall", "largest_beta"):
            assert getattr(frontier, name) == pytest.approx(getattr(expected, name), rel=1e-12), (seed, name)
        for point in range(len(frontier.recall)):
            assert (frontier.thresholds(point) == expected.thresholds(point)).all()


@pytest.mark.parametrize(
    ("scores", "Y", "n_first"),
    [
        ([[np.inf, 0.9], [0.8, np.inf], [0.7, 0.2], [0.1, 0.6]], [[1, 1], [0, 0], [1, 0], [0, 1]], 4),
        ([[np.inf, 0.2], [0.8, np.inf], [0.7, 0.9], [0.1, 0.6]], [[1, 1], [0, 1], [1, 0], [0, 0]], 2),
    ],
)
def test_scores_that_every_threshold_predicts(scores, Y, n_first):
    """Cells of infinite score are predicted from the first point on, alone where they are the most precise."""
    frontier = micro_pr_frontier(scores, Y)
    for point in range(len(frontier.recall)):
        predicted = np.asarray(scores) >= frontier.thresholds(point)
        hits = (predicted & (np.asarray(Y) == 1)).sum()
        assert frontier.precision[point] == hits / predicted.sum()
        assert frontier.recall[point] == hits / 4
        assert frontier.n_chosen[point] == predicted.sum()
    assert frontier.n_chosen[0] == n_first
    assert len(frontier.recall) > 1


@SEEDS
@pytest.mark.parametrize("beta", BETAS)
def test_the_best_macro_averaged_point_is_the_optimum(beta, seeds):
    """For each beta the thresholds are those of SCut, with the macro-averaged precision and recall they have."""
    for scores, Y in problems(seeds):
        frontier = macro_pr_frontier(scores, Y)
        point = frontier.best_point(beta)
        optimum = SCut("macro_fbeta", beta=beta).fit(scores, Y)
        assert (frontier.thresholds(point) == optimum.thresholds_).all()
        labels = optimum.predict(scores)
        assert frontier.precision[point] == pytest.approx(macro_precision(Y, labels), abs=1e-15)
        assert frontier.recall[point] == pytest.approx(macro_recall(Y, labels), abs=1e-15)


@SEEDS
def test_macro_averaged_points_are_in_order(seeds):
    """Recall and beta rise, precision falls, the last point has every positive, and each point is best for a beta."""
    for scores, Y in problems(seeds):
        frontier = macro_pr_frontier(scores, Y)
        assert (np.diff(frontier.precision) <= 1e-15).all()
        assert (np.diff(frontier.recall) > 0).all()
        assert (np.diff(frontier.largest_beta) > 0).all()
        assert frontier.largest_beta[-1] == math.inf
        assert frontier.recall[-1] == pytest.approx((Y.sum(axis=0) > 0).mean())
        assert [frontier.best_point(beta) for beta in frontier.largest_beta[:-1]] == list(
            range(len(frontier.recall) - 1)
        )


def test_macro_averaged_points_of_unknown_cells():
    """Unknown cells are left out, and a label that is unknown in all samples of both means."""
    scores = np.array([[0.9, 0.5, 0.3], [0.8, 0.7, 0.1], [0.3, 0.6, 0.2]])
    y = np.array([[1, np.nan, 1], [0, np.nan, np.nan], [1, np.nan, 0]])
    frontier = macro_pr_frontier(scores, y)
    assert frontier.precision.tolist() == [1.0, (2 / 3 + 1) / 2]
    assert frontier.recall.tolist() == [0.75, 1.0]
    assert (frontier.thresholds(0) == SCut("macro_fbeta", beta=0.1).fit(scores, y).thresholds_).all()


def test_macro_averaged_points_with_weights():
    """A weight of 3 is the same as three samples."""
    rng = np.random.default_rng(0)
    for seed in range(20):
        scores, Y = medium_problem(seed)
        times = rng.integers(1, 4, len(Y))
        expected = macro_pr_frontier(np.repeat(scores, times, axis=0), np.repeat(Y, times, axis=0))
        frontier = macro_pr_frontier(scores, Y, times)
        for name in ("precision", "recall", "largest_beta"):
            assert getattr(frontier, name).tolist() == getattr(expected, name).tolist()


@pytest.mark.parametrize("of", [micro_pr_frontier, macro_pr_frontier])
def test_no_positive_no_point(of):
    """Without a positive nothing is best, and the error says so."""
    frontier = of([[0.1, 0.2]], [[0, 0]])
    assert len(frontier.precision) == len(frontier.recall) == len(frontier.largest_beta) == 0
    with pytest.raises(ValueError, match=r"y must have a positive for a point to be best, got none\."):
        frontier.best_point()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f: f.best_point(0), ValueError, r"beta must be a finite number above 0, got 0\."),
        (lambda f: f.best_point("1"), TypeError, r"beta must be a number, got '1' of type str\."),
        (lambda f: f.thresholds(1), ValueError, r"point must be below the number of points 1, got 1\."),
        (lambda f: f.thresholds(-1), ValueError, r"point must be at least 0, got -1\."),
        (lambda f: f.thresholds(0.0), TypeError, r"point must be an integer, got 0\.0 of type float\."),
        (
            lambda f: micro_pr_frontier(csr_array([[1.0]]), [[1]]),
            TypeError,
            r"scores must be a dense array, got csr_array",
        ),
        (lambda f: micro_pr_frontier([[1.0]], [[1, 0]]), ValueError, r"scores and y must be of one shape .*\(1, 1\)"),
    ],
)
@pytest.mark.parametrize("of", [micro_pr_frontier, macro_pr_frontier])
def test_errors(of, call, error, message):
    """Wrong points, betas, containers and shapes are refused."""
    with pytest.raises(error, match=message):
        call(of([[0.9], [0.1]], [[1], [0]]))
