import pytest

from _exhaustive import small_problem
from _strategies import METRICS, exactly, medium_problem, public
from nearlabel.models.decision import top_labels
from nearlabel.thresholds import RCut


@pytest.mark.parametrize(("metric", "beta"), METRICS)
def test_auto_tries_every_number(metric, beta):
    """The number is the smallest of those that are best by exact fractions, the value that of the metric."""
    for seed in range(50):
        scores, Y = small_problem(seed)
        tried = [exactly(metric, beta, Y, top_labels(scores, k)) for k in range(Y.shape[1] + 1)]
        strategy = RCut(metric=metric, beta=beta).fit(scores, Y)
        assert strategy.n_chosen_ == tried.index(max(tried)), seed
        assert strategy.objective_ == pytest.approx(abs(float(max(tried))), abs=1e-12), seed


@pytest.mark.parametrize("n_labels", [0, 1, 3, 20])
def test_a_given_number(n_labels):
    """So many labels of highest score are chosen, at most all; `objective_` is the metric of that."""
    for seed in range(20):
        scores, Y = medium_problem(seed)
        strategy = RCut(n_labels, metric="jaccard_examples").fit(scores, Y)
        labels = strategy.predict(scores)
        assert strategy.n_chosen_ == n_labels
        assert (labels == top_labels(scores, n_labels)).all()
        assert (labels.sum(axis=1) == min(n_labels, Y.shape[1])).all()
        assert strategy.objective_ == pytest.approx(public("jaccard_examples")(Y, labels), abs=1e-12)


def test_equal_scores_by_hand():
    """Of equal scores the lower index is chosen, so with one label each row has F1 1, 0 and 2/3."""
    strategy = RCut(1).fit([[0.5, 0.5], [0.5, 0.5], [0.1, 0.2]], [[1, 0], [0, 1], [1, 1]])
    assert strategy.predict([[0.3, 0.3]]).tolist() == [[1, 0]]
    assert strategy.objective_ == pytest.approx((1 + 0 + 2 / 3) / 3)
