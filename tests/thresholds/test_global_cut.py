import numpy as np
import pytest

from _exhaustive import best_prediction, choices, small_problem
from _strategies import METRICS, exactly, medium_problem, public
from nearlabel.thresholds import GlobalCut, _global


@pytest.mark.parametrize("seeds", [range(25), pytest.param(range(25, 60), marks=pytest.mark.long)], ids=str)
@pytest.mark.parametrize(("metric", "beta"), METRICS)
def test_no_common_threshold_is_better(metric, beta, seeds):
    """Trying every threshold finds the same value, and the same labels: the fewest that reach it."""
    for seed in seeds:
        scores, Y = small_problem(seed)
        every = [chosen.reshape(Y.shape).astype(int) for chosen in choices(scores.ravel())]
        value, best = best_prediction(every, lambda labels, Y=Y: exactly(metric, beta, Y, labels))
        strategy = GlobalCut(metric, beta=beta).fit(scores, Y)
        assert strategy.objective_ == pytest.approx(abs(float(value)), abs=1e-12), seed
        assert exactly(metric, beta, Y, strategy.predict(scores)) == value, seed
        assert (strategy.predict(scores) == best[0]).all(), seed
        assert (strategy.thresholds_ == strategy.thresholds_[0]).all()


@pytest.mark.parametrize(("metric", "beta"), METRICS)
def test_the_objective_is_the_public_metric(metric, beta):
    """What `objective_` says is what the metric function says of the predictions, also in problems of some size."""
    for seed in range(30):
        scores, Y = medium_problem(seed)
        strategy = GlobalCut(metric, beta=beta).fit(scores, Y)
        value = public(metric, beta)(Y, strategy.predict(scores))
        assert strategy.objective_ == pytest.approx(value, abs=1e-12), seed
        assert strategy.score(scores, Y) == pytest.approx(value, abs=1e-12), seed


def test_small_blocks_change_nothing(monkeypatch):
    """A sweep over one row or label at a time equals that over all at once."""
    row_blocks = _global.row_blocks
    for metric in ("micro_f1", "macro_f1", "f1_examples", "f1_of_means"):
        for seed in range(10):
            scores, Y = medium_problem(seed)
            at_once = GlobalCut(metric).fit(scores, Y)
            monkeypatch.setattr(_global, "row_blocks", lambda n, size: row_blocks(n, size, budget=1000))
            in_blocks = GlobalCut(metric).fit(scores, Y)
            monkeypatch.undo()
            assert (in_blocks.thresholds_ == at_once.thresholds_).all()
            assert in_blocks.objective_ == pytest.approx(at_once.objective_, abs=1e-12)


def test_by_hand():
    """Scores 0.9, 0.3 and 0.2 are those of true labels, 0.8 is not: down to 0.2 micro F1 is 2 * 3 / (4 + 3)."""
    strategy = GlobalCut("micro_f1").fit([[0.9, 0.2], [0.8, 0.1], [0.3, 0.1]], [[1, 1], [0, 0], [1, 0]])
    assert strategy.thresholds_ == pytest.approx([0.15, 0.15])
    assert strategy.objective_ == pytest.approx(6 / 7)
    assert GlobalCut("micro_precision").fit([[0.9, 0.2], [0.8, 0.1]], np.eye(2)).thresholds_ == pytest.approx(
        [0.85] * 2
    )


@pytest.mark.parametrize("n_wanted", range(10))
def test_a_function_is_tried_at_every_score(n_wanted):
    """Nothing is known of it, so that any number of predicted cells may be the best."""

    def as_many_as_wanted(y_true, y_pred):
        return -abs(y_pred.sum() - n_wanted)

    scores = np.linspace(0.1, 0.9, 9)[:, np.newaxis]
    best = GlobalCut(as_many_as_wanted).fit(scores, np.ones((9, 1), dtype=int))
    assert best.predict(scores).sum() == n_wanted
    assert best.objective_ == 0
