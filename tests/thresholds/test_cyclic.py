import numpy as np
import pytest

from _exhaustive import choices, every_prediction, small_problem
from _strategies import METRICS, exactly, medium_problem, public
from nearlabel.thresholds import CyclicAscent, GlobalCut
from nearlabel.thresholds._strategy import OF_EXAMPLES

OF_ROWS = [(metric, beta) for metric, beta in METRICS if metric in OF_EXAMPLES]


@pytest.mark.parametrize(("metric", "beta"), OF_ROWS)
def test_never_below_the_common_threshold(metric, beta):
    """The search starts at the best common threshold, and `objective_` is the metric recomputed from scratch."""
    for seed in range(30):
        scores, Y = medium_problem(seed)
        ascent = CyclicAscent(metric, beta=beta).fit(scores, Y)
        assert ascent.objective_ >= GlobalCut(metric, beta=beta).fit(scores, Y).objective_ - 1e-12, seed
        value = public(metric, beta)(Y, ascent.predict(scores))
        assert ascent.objective_ == pytest.approx(value, abs=1e-12), seed
        assert ascent.score(scores, Y) == pytest.approx(value, abs=1e-12), seed


@pytest.mark.parametrize(("metric", "beta"), OF_ROWS)
def test_no_single_move_improves(metric, beta):
    """At the end no other cut of any one label is better by more than 1e-9."""
    for seed in range(8):
        scores, Y = medium_problem(seed)
        ascent = CyclicAscent(metric, beta=beta).fit(scores, Y)
        labels, value = ascent.predict(scores), public(metric, beta)
        for label, column in enumerate(scores.T):
            for rows in choices(column):
                moved = labels.copy()
                moved[:, label] = rows
                assert value(Y, moved) <= ascent.objective_ + 1e-9, (seed, label)


@pytest.mark.long
@pytest.mark.parametrize(("metric", "beta"), OF_ROWS)
def test_exhaustive_search_is_never_beaten_and_mostly_reached(metric, beta):
    """On small problems the value is at most the maximum over all threshold vectors, and equals it nearly always."""
    reached = 0
    for seed in range(100):
        scores, Y = small_problem(seed)
        largest = max(exactly(metric, beta, Y, labels) for labels in every_prediction(scores))
        ascent = CyclicAscent(metric, beta=beta).fit(scores, Y)
        assert exactly(metric, beta, Y, ascent.predict(scores)) <= largest, seed
        reached += exactly(metric, beta, Y, ascent.predict(scores)) == largest
    assert reached >= (85 if metric == "subset_accuracy" else 95)


def test_scans_are_counted_and_can_be_limited():
    """Each scan is at least as good as the one before; without a limit the last one changes nothing."""
    for seed in range(30):
        scores, Y = medium_problem(seed)
        free = CyclicAscent("jaccard_examples").fit(scores, Y)
        scans = [CyclicAscent("jaccard_examples", max_scans=k).fit(scores, Y) for k in range(1, free.n_scans_ + 2)]
        values = [scan.objective_ for scan in scans]
        assert values == sorted(values)
        assert [scan.n_scans_ for scan in scans] == [*range(1, free.n_scans_ + 1), free.n_scans_]
        assert (scans[-1].thresholds_ == free.thresholds_).all()


def test_by_hand():
    """One threshold for both labels gets three of four rows right; with label 1 cut below 0.4 all four are.

    Rows: {0}, {0}, {1}, {}; label 0 has scores 0.9, 0.8, 0.1, 0.5, label 1 has 0.3, 0.1, 0.4, 0.3.
    """
    scores, Y = [[0.9, 0.3], [0.8, 0.1], [0.1, 0.4], [0.5, 0.3]], [[1, 0], [1, 0], [0, 1], [0, 0]]
    assert GlobalCut("subset_accuracy").fit(scores, Y).objective_ == 0.75
    ascent = CyclicAscent("subset_accuracy").fit(scores, Y)
    assert ascent.objective_ == 1.0
    assert ascent.thresholds_[1] == pytest.approx(0.35)
    assert np.array_equal(ascent.predict(scores), Y)


@pytest.mark.parametrize("metric", ["subset_accuracy", "f1_examples", "f1_of_means"])
def test_a_weight_of_2_counts_as_two_samples(metric):
    """Whole weights give the thresholds of repeated samples."""
    for seed in range(10):
        scores, Y = medium_problem(seed)
        weights = np.random.default_rng(seed).integers(1, 4, len(Y))
        weighted = CyclicAscent(metric).fit(scores, Y, sample_weight=weights)
        repeated = CyclicAscent(metric).fit(np.repeat(scores, weights, axis=0), np.repeat(Y, weights, axis=0))
        assert (weighted.thresholds_ == repeated.thresholds_).all(), seed
        assert weighted.objective_ == pytest.approx(repeated.objective_, abs=1e-12), seed
