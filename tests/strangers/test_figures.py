"""Figures with which mldr, a package of R, tests its own metrics.

Source: https://github.com/fcharte/mldr, tests/testthat/test-evmetrics_rk.R. Facts only: scores, label sets, results.
"""

import pytest

from nearlabel.metrics import average_precision, coverage, one_error

SCORES = [[0.3, 0.9, 0.7, 0.1], [0.8, 0.6, 0.7, 0.2]]
FIRST = [[0, 1, 1, 0], [1, 1, 1, 0]]
SECOND = [[0, 1, 0, 1], [1, 1, 1, 0]]
THIRD = [[0, 1, 0, 1], [0, 1, 1, 0]]
NOTHING, ONE = [0, 0, 0, 0], [0, 0, 1, 0]  # of a third row, whose scores are equal
EQUAL = [0.0, 0.0, 0.0, 0.0]


def test_average_precision_with_the_best_place_among_equals():
    """R's ties_method "min" is "optimistic" here: 2.75 / 3."""
    assert average_precision([*SECOND, ONE], [*SCORES, EQUAL], ties="optimistic") == pytest.approx(2.75 / 3)


def test_average_precision_of_a_perfect_ranking():
    """1; the third row has no label, which mldr counts as 1, and ours does if it is kept."""
    assert average_precision([*FIRST, NOTHING], [*SCORES, EQUAL], trivial="keep") == 1


def test_one_error_with_the_first_of_equals_on_top():
    """1/3 and 2/3: of equal scores R's which.max takes the first label."""
    assert one_error([*FIRST, NOTHING], [*SCORES, EQUAL], ties="low", trivial="keep") == pytest.approx(1 / 3)
    assert one_error([*THIRD, ONE], [*SCORES, EQUAL], ties="low") == pytest.approx(2 / 3)


def test_coverage_of_rows_without_labels():
    """1: they count 0."""
    assert coverage([*FIRST, NOTHING], [*SCORES, EQUAL], trivial="keep") == 1


def test_coverage_with_the_last_of_equals_on_top():
    """2: of equal scores the later label has the better place."""
    assert coverage([*THIRD, ONE], [*SCORES, EQUAL], ties="high") == 2


def test_coverage_in_the_mean_over_all_orders():
    """6.5 / 3: each of four equal scores is at place 2.5."""
    assert coverage([*THIRD, ONE], [*SCORES, EQUAL], ties="average") == pytest.approx(6.5 / 3)
