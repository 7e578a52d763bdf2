"""Matrices at the edge: no label, all labels, one label, one row, constant and infinite scores."""

import math

import numpy as np
import pytest
from scipy import sparse

from nearlabel import metrics
from nearlabel.metrics import CATALOGUE, score_all

PREDICTION = [metric for metric in CATALOGUE.values() if metric.needs == "prediction"]
SCORE = [metric for metric in CATALOGUE.values() if metric.needs == "score"]
SCORE_NAMES = [metric.name for metric in SCORE]


@pytest.mark.parametrize("metric", SCORE, ids=SCORE_NAMES)
def test_nan_if_every_row_is_dropped(metric):
    """A mean over no row is nan, without a warning."""
    assert math.isnan(metric.function([[0, 0], [0, 0]], [[0.1, 0.2], [0.3, 0.4]]))


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_nothing_true_and_nothing_predicted(wrap, zero_division):
    """All-zero matrices agree, and every ratio is 0/0."""
    values = score_all(wrap(np.zeros((3, 2), int)), wrap(np.zeros((3, 2), int)), zero_division=zero_division)
    assert values.pop("hamming_loss") == 0
    assert values.pop("subset_accuracy") == 1
    assert set(values.values()) == {zero_division}


def test_nan_if_every_ratio_is_left_out():
    """With zero_division nan all-zero matrices give nan, without a warning."""
    values = score_all(np.zeros((3, 2)), np.zeros((3, 2)), zero_division=math.nan)
    assert all(math.isnan(values[name]) for name in values if name not in ("hamming_loss", "subset_accuracy"))


@pytest.mark.parametrize("metric", PREDICTION, ids=[metric.name for metric in PREDICTION])
def test_perfect_and_worst_predictions(metric):
    """The truth itself gets the best value, the complement the worst one."""
    true = np.array([[1, 0, 1], [0, 1, 0]])
    best, worst = (1, 0) if metric.greater_is_better else (0, 1)
    assert metric.function(true, true) == best
    assert metric.function(true, 1 - true) == worst


@pytest.mark.parametrize(("metric", "best", "worst"), [*zip(SCORE, (0, 1, 0, 1), (1, 2, 1, 7 / 12), strict=True)])
def test_perfect_and_worst_rankings(metric, best, worst):
    """Two of three labels relevant: on top 1 step and no error; at the bottom 2 steps and precisions 1/2 and 2/3."""
    true = np.array([[1, 0, 1]])
    scores = np.array([[0.9, 0.1, 0.8]])
    assert metric.function(true, scores) == best
    assert metric.function(true, -scores) == pytest.approx(worst)


def test_one_label_column():
    """One column: predictions are scored as usual, and rows can be ranked in one way only."""
    true, predicted, scores = [[1], [0], [1]], [[1], [0], [0]], [[0.9], [0.2], [0.4]]
    assert metrics.macro_f1(true, predicted) == metrics.micro_f1(true, predicted) == pytest.approx(2 / 3)
    dropped = score_all(true, y_score=scores)
    assert dropped.pop("coverage") == 0
    assert all(map(math.isnan, dropped.values()))
    kept = {"one_error": pytest.approx(1 / 3), "coverage": 0, "ranking_loss": 0, "average_precision": 1}
    assert score_all(true, y_score=scores, trivial="keep") == kept


CONSTANT = {  # of 4 labels, 1 and 2 relevant, all scores equal: one-error, coverage, ranking loss, average precision
    "pessimistic": (1, 3, 1, 2 / 4),
    "low": (1, 2, 2 / 4, (1 / 2 + 2 / 3) / 2),
    "high": (1, 2, 2 / 4, (1 / 2 + 2 / 3) / 2),
    "optimistic": (0, 1, 0, 1),
    "average": (2 / 4, 2 * 5 / 3 - 1, 2 / 4, (1 + (1 + 1 / 3) / 2 + (1 + 2 / 3) / 3 + 2 / 4) / 4),
}


@pytest.mark.parametrize("ties", CONSTANT)
@pytest.mark.parametrize("constant", [0.0, 1.0, np.inf, -np.inf])
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_constant_scores(ties, constant, wrap):
    """Where all scores are equal, only the tie rule speaks; an equal infinity is a tie as well."""
    values = score_all([[0, 1, 1, 0]], y_score=wrap(np.full((1, 4), constant)), ties=ties)
    assert tuple(values.values()) == pytest.approx(CONSTANT[ties])


def test_infinite_scores_rank_beyond_finite_ones():
    """Minus infinity is last, plus infinity first."""
    values = score_all([[1, 0, 1]], y_score=[[np.inf, 0.0, -np.inf]])
    assert values == {"one_error": 0, "coverage": 2, "ranking_loss": 1 / 2, "average_precision": pytest.approx(5 / 6)}


def test_absent_scores_are_zero():
    """In a sparse matrix an absent score, a stored 0 and -0.0 tie, and negative scores rank below them."""
    stored = sparse.csr_array((np.array([0.0, -0.0, -1.0]), (np.array([0, 0, 0]), np.array([0, 1, 3]))), shape=(1, 4))
    dense = np.array([[0.0, 0.0, 0.0, -1.0]])
    true = [[0, 1, 0, 1]]
    assert score_all(true, y_score=stored) == score_all(true, y_score=dense)


def test_blocks_hold_a_row_longer_than_the_budget():
    """A single row above the block's budget is ranked all the same."""
    true = sparse.csr_array(([1], ([0], [150_000])), shape=(2, 200_000))
    scores = sparse.csr_array(([0.5, 0.7], ([0, 0], [150_000, 3])), shape=(2, 200_000))
    assert metrics.coverage(true, scores) == 1
