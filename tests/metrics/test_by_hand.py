"""Measures of examples small enough to compute on paper."""

import math

import pytest

from nearlabel import metrics

TRUE = [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]]
PREDICTED = [[1, 0, 1, 1], [0, 1, 0, 0], [0, 0, 0, 1]]

PREDICTION_VALUES = {
    "hamming_loss": (3 + 0 + 1) / 12,
    "subset_accuracy": 1 / 3,
    "jaccard_examples": (1 / 4 + 1 / 1 + 0 / 1) / 3,
    "precision_examples": (1 / 3 + 1 / 1 + 0 / 1) / 3,
    "recall_examples": (1 / 2 + 1 / 1 + 0) / 3,
    "f1_examples": (2 / 5 + 2 / 2 + 0 / 1) / 3,
    "f1_of_means": 2 * (4 / 9) * (1 / 2) / (4 / 9 + 1 / 2),
    "micro_precision": 2 / 5,
    "micro_recall": 2 / 3,
    "micro_f1": 4 / 8,
    "macro_precision": (1 / 1 + 1 / 1 + 0 / 1 + 0 / 2) / 4,
    "macro_recall": (1 / 1 + 1 / 2 + 0 + 0) / 4,
    "macro_f1": (2 / 2 + 2 / 3 + 0 / 1 + 0 / 2) / 4,
}


@pytest.mark.parametrize(("name", "value"), PREDICTION_VALUES.items())
def test_metrics_of_predictions(name, value):
    """Three rows and four labels: cells, rows and labels counted by hand."""
    assert metrics.CATALOGUE[name].function(TRUE, PREDICTED) == pytest.approx(value, abs=1e-12)


TIED = {  # scores .5, .5, .1: relevant label -> ties -> one-error, coverage, ranking loss, average precision
    (0, "pessimistic"): (1, 1, 1 / 2, 1 / 2),
    (0, "low"): (0, 0, 0, 1),
    (0, "optimistic"): (0, 0, 0, 1),
    (1, "pessimistic"): (1, 1, 1 / 2, 1 / 2),
    (1, "low"): (1, 1, 1 / 2, 1 / 2),
    (1, "optimistic"): (0, 0, 0, 1),
    (2, "pessimistic"): (1, 2, 2 / 2, 1 / 3),
    (2, "low"): (1, 2, 2 / 2, 1 / 3),
    (2, "optimistic"): (1, 2, 2 / 2, 1 / 3),
}


@pytest.mark.parametrize(("relevant", "ties"), TIED)
def test_two_labels_share_the_top(relevant, ties):
    """Scores (.5, .5, .1): the equal pair is worst, ordered by index, or best for the relevant label."""
    true = [[int(label == relevant) for label in range(3)]]
    got = metrics.score_all(true, y_score=[[0.5, 0.5, 0.1]], ties=ties)
    assert tuple(got.values()) == pytest.approx(TIED[relevant, ties], abs=1e-12)


def test_all_tied_top_labels_are_relevant():
    """A tie on top is no one-error, even pessimistically, if every label in it is relevant."""
    assert metrics.one_error([[1, 1, 0]], [[0.5, 0.5, 0.1]], ties="pessimistic") == 0


def test_pessimistic_average_precision_lets_tied_relevant_labels_count_for_each_other():
    """Two relevant of three equal labels: rank 3 shared gives 2/3; by index (irrelevant first) (1/2 + 2/3) / 2."""
    assert metrics.average_precision([[0, 1, 1]], [[1, 1, 1]]) == pytest.approx(2 / 3)
    assert metrics.average_precision([[0, 1, 1]], [[1, 1, 1]], ties="low") == pytest.approx((1 / 2 + 2 / 3) / 2)


def test_ranking_of_four_labels():
    """Ranks 2 and 4 of four: top wrong, 3 steps, 3 of 4 pairs reversed, precisions 1/2 and 2/4."""
    got = metrics.score_all([[0, 1, 0, 1]], y_score=[[0.9, 0.8, 0.7, 0.6]])
    expected = {"one_error": 1, "coverage": 3, "ranking_loss": 3 / 4, "average_precision": (1 / 2 + 2 / 4) / 2}
    assert got == pytest.approx(expected, abs=1e-12)


TRIVIAL_ROWS = {  # true labels -> value of the row when kept: one-error, coverage, ranking loss, average precision
    (0, 0, 0): (1, 0, 0, 1),
    (1, 1, 1): (0, 2, 0, 1),
}


@pytest.mark.parametrize(("row", "kept"), TRIVIAL_ROWS.items())
def test_trivial_rows_when_kept(row, kept):
    """A row without labels is a one-error and covered in 0 steps; one with all labels needs all steps."""
    got = metrics.score_all([row], y_score=[[0.3, 0.2, 0.1]], trivial="keep")
    assert tuple(got.values()) == kept


@pytest.mark.parametrize(("name", "value"), [("one_error", 1), ("ranking_loss", 1 / 2), ("average_precision", 1 / 2)])
def test_trivial_rows_are_left_out_by_default(name, value):
    """Rows with no label and with all labels do not move the mean of the third row."""
    true, scores = [[0, 0, 0], [1, 1, 1], [0, 1, 0]], [[0.3, 0.2, 0.1]] * 3
    assert metrics.CATALOGUE[name].function(true, scores) == pytest.approx(value)


def test_coverage_drops_only_rows_without_labels():
    """A row with all of three labels counts 2 steps in coverage, one without labels does not count."""
    assert metrics.coverage([[0, 0, 0], [1, 1, 1], [1, 0, 0]], [[0.3, 0.2, 0.1]] * 3) == (2 + 0) / 2


ZERO_BY_ZERO = {  # one row with true and predicted label, one empty on both sides: 0/0 as 0, 1, left out
    "jaccard_examples": (1 / 2, 1, 1),
    "precision_examples": (1 / 2, 1, 1),
    "recall_examples": (1 / 2, 1, 1),
    "f1_examples": (1 / 2, 1, 1),
    "f1_of_means": (1 / 2, 1, 1),
    "micro_f1": (1, 1, 1),  # counts are added up before the ratio
    "macro_precision": (1 / 2, 1, 1),
    "macro_recall": (1 / 2, 1, 1),
    "macro_f1": (1 / 2, 1, 1),
}


@pytest.mark.parametrize(("name", "values"), ZERO_BY_ZERO.items())
def test_zero_division(name, values):
    """The second row and the second label are 0/0: they count as 0, as 1, or not at all."""
    function = metrics.CATALOGUE[name].function
    got = [function([[1, 0], [0, 0]], [[1, 0], [0, 0]], zero_division=zero) for zero in (0.0, 1.0, math.nan)]
    assert tuple(got) == values


def test_f1_of_means_is_zero_where_both_means_are():
    """Precision and recall 0 have the harmonic mean 0 whatever zero_division is: nothing was hit."""
    for zero_division in (0.0, 1.0, math.nan):
        assert metrics.f1_of_means([[1, 0]], [[0, 1]], zero_division=zero_division) == 0
