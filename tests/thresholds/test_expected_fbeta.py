import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from nearlabel.thresholds import _expected_f
from nearlabel.thresholds._expected_f import best_expected_fbeta

BETAS_SQUARED = [Fraction(1, 4), Fraction(1), Fraction(4), Fraction(2), Fraction(9, 100)]


def fbeta(predicted, true, hits, beta_squared, empty_value):
    """F-beta of one pair of label sets, by its definition in counts."""
    if predicted + true == 0:
        return empty_value
    return float((1 + beta_squared) * hits / (beta_squared * true + predicted))


def every_set(p, beta_squared, empty_value):
    """All 2^L label sets and the expected F-beta of each, summed over all 2^L outcomes."""
    sets = list(itertools.product([0, 1], repeat=len(p)))
    chances = [math.prod(q if y else 1 - q for q, y in zip(p, true, strict=True)) for true in sets]
    expected = [
        math.fsum(
            chance * fbeta(sum(chosen), sum(true), np.dot(chosen, true), beta_squared, empty_value)
            for chance, true in zip(chances, sets, strict=True)
        )
        for chosen in sets
    ]
    return np.array(sets), np.array(expected)


def some_rows(n_labels, n_rows=6):
    """Probabilities with ties, zeros and ones, and without; the first row is 0 throughout, the second 1."""
    rng = np.random.default_rng(n_labels)
    grid = rng.choice([0.0, 0.1, 0.25, 0.5, 1.0], (n_rows, n_labels))
    p = np.vstack([grid, rng.random((n_rows, n_labels)), rng.random((n_rows, n_labels)) ** 4])
    p[0], p[1] = 0, 1
    return p


@pytest.mark.parametrize("n_labels", [1, 2, 4, 6])
@pytest.mark.parametrize("empty_value", [0, 1])
@pytest.mark.parametrize("beta_squared", BETAS_SQUARED, ids=str)
def test_the_choice_is_the_best_of_all_sets(beta_squared, empty_value, n_labels):
    """No set of labels has a higher expected value, and none that equals it has fewer labels."""
    probabilities = some_rows(n_labels, n_rows=2 if n_labels == 6 else 6)
    labels, expected = best_expected_fbeta(probabilities, beta_squared, empty_value)
    for p, chosen, value in zip(probabilities, labels, expected, strict=True):
        sets, values = every_set(p, beta_squared, empty_value)
        own = values[(sets == chosen).all(axis=1)].item()
        assert value == pytest.approx(own, abs=1e-12)
        assert value == pytest.approx(values.max(), abs=1e-12)
        assert chosen.sum() == sets[values >= values.max() - 1e-12].sum(axis=1).min()
        assert not chosen[p == 0].any()


@pytest.mark.parametrize("beta_squared", [*BETAS_SQUARED, Fraction(7, 9), Fraction(0.1234567)], ids=float)
def test_many_labels_equal_the_plain_sum(beta_squared):
    """Of 30 labels each size has the value of the double sum over the true labels inside and outside the set."""
    p = np.sort(np.random.default_rng(0).random(30) ** 2)[::-1]
    got = _expected_f._expected_of_sizes(p[:, np.newaxis], beta_squared, 0.0)[:, 0]
    for k in range(31):
        inside, outside = np.ones(1), np.ones(1)
        for q in p[:k]:
            inside = np.convolve(inside, [1 - q, q])
        for q in p[k:]:
            outside = np.convolve(outside, [1 - q, q])
        pairs = itertools.product(enumerate(inside), enumerate(outside))
        plain = math.fsum(a * b * fbeta(k, i + o, i, beta_squared, 0.0) for (i, a), (o, b) in pairs)
        assert got[k] == pytest.approx(plain, abs=1e-12)


def test_two_labels_by_hand():
    """With p = 0.6 and 0.4 both labels are predicted for F1, only the first when precision weighs more."""
    both, first, second, none = 0.6 * 0.4, 0.6 * 0.6, 0.4 * 0.4, 0.4 * 0.6
    only_first = first * 1 + both * 2 / 3  # F1 of one hit: 2 * 1 / (predicted + true)
    two = first * 2 / 3 + second * 2 / 3 + both * 1
    assert (only_first, two) == (pytest.approx(0.52), pytest.approx(0.44 / 0.75))
    labels, expected = best_expected_fbeta(np.array([[0.6, 0.4]]), Fraction(1))
    assert labels.tolist() == [[1, 1]]
    assert expected == pytest.approx([two])
    only_first = first * 1 + both * 1.25 / 1.5  # beta^2 = 1/4: 1.25 * hits / (predicted + true / 4)
    two = (first + second) * 1.25 / 2.25 + both * 1
    assert none < two < only_first
    labels, expected = best_expected_fbeta(np.array([[0.6, 0.4]]), Fraction(1, 4))
    assert labels.tolist() == [[1, 0]]
    assert expected == pytest.approx([only_first])


def test_equal_values_take_the_smaller_set():
    """Where sets are equally good the one of fewest labels is taken, and of equal probabilities the lower index."""
    # For so small a beta F is precision, expected to be 1/2 for one of the two labels as for both.
    labels, expected = best_expected_fbeta(np.array([[0.2, 0.5, 0.5]]), Fraction(1, 10**15))
    assert labels.tolist() == [[0, 1, 0]]
    assert expected == pytest.approx([0.5], abs=1e-12)
    # p = 1/2 alone: F is 1 or 0 for predicting it, 0 or 1 for predicting nothing.
    labels, expected = best_expected_fbeta(np.array([[0.0, 0.5]]), Fraction(1), empty_value=1.0)
    assert labels.tolist() == [[0, 0]]
    assert expected.tolist() == [0.5]


@pytest.mark.parametrize("empty_value", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(3, 4), (0, 4)])
def test_rows_of_zeros_get_the_empty_set(shape, empty_value):
    """Where no label can be true none is predicted, and the value is that of the convention."""
    labels, expected = best_expected_fbeta(np.zeros(shape), Fraction(1), empty_value)
    assert labels.shape == shape
    assert labels.sum() == 0
    assert expected.tolist() == [empty_value] * shape[0]


@pytest.mark.parametrize("budget", [1, 2000, 10**5])
def test_blocks_change_nothing(budget, monkeypatch):
    """Rows of very different numbers of labels, one or a few at a time, equal all rows at once and each row alone."""
    rng = np.random.default_rng(0)
    p = rng.random((40, 20)) * (rng.random((40, 20)) < rng.random((40, 1)))
    at_once, expected = best_expected_fbeta(p, Fraction(1))
    monkeypatch.setattr("nearlabel.thresholds._expected_f.BLOCK_BYTES", budget)
    labels, by_block = best_expected_fbeta(p, Fraction(1))
    np.testing.assert_array_equal(labels, at_once)
    np.testing.assert_allclose(by_block, expected, rtol=0, atol=1e-14)
