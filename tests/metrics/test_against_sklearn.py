"""Every metric that scikit-learn computes too, to 1e-12."""

import math
import warnings

import numpy as np
import pytest
import sklearn.metrics as theirs
from sklearn.exceptions import UndefinedMetricWarning

from nearlabel import metrics as ours

CLOSE = {"abs": 1e-12, "nan_ok": True}
AVERAGES = {"samples": "{}_examples", "micro": "micro_{}", "macro": "macro_{}"}


def data(seed, n_values=5, shape=(40, 7)):
    """Return true and predicted label sets and scores with ties; rows and labels without any 1 occur."""
    rng = np.random.default_rng(seed)
    true, predicted = ((rng.random(shape) < 0.3).astype(int) for _ in range(2))
    true[0], true[1], predicted[:3] = 0, 1, 0
    true[:, 6], predicted[:, 6] = 0, 0
    return true, predicted, rng.integers(0, n_values, shape).astype(float)


def quietly(function, *args, **kwargs):
    """Call scikit-learn without its warnings about 0/0."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return function(*args, **kwargs)


def test_hamming_loss():
    """Hamming loss is scikit-learn's."""
    true, predicted, _ = data(0)
    assert ours.hamming_loss(true, predicted) == pytest.approx(theirs.hamming_loss(true, predicted), **CLOSE)


def test_subset_accuracy():
    """Subset accuracy is scikit-learn's accuracy_score."""
    true, predicted, _ = data(1)
    predicted[5:15] = true[5:15]
    assert ours.subset_accuracy(true, predicted) == pytest.approx(theirs.accuracy_score(true, predicted), **CLOSE)


@pytest.mark.parametrize("zero_division", [0.0, 1.0])
def test_jaccard(zero_division):
    """The Jaccard index is scikit-learn's average over samples (which takes no nan)."""
    true, predicted, _ = data(2)
    expected = quietly(theirs.jaccard_score, true, predicted, average="samples", zero_division=zero_division)
    assert ours.jaccard_examples(true, predicted, zero_division=zero_division) == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("what", ["precision", "recall", "f1"])
def test_precision_recall_f1(what, average, zero_division):
    """Precision, recall and F1 are scikit-learn's, for every average and every value of 0/0."""
    true, predicted, _ = data(3)
    options = {"zero_division": zero_division}
    expected = quietly(getattr(theirs, f"{what}_score"), true, predicted, average=average, **options)
    got = getattr(ours, AVERAGES[average].format(what))(true, predicted, **options)
    assert got == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize("zero_division", [0.0, 1.0, math.nan])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("beta", [0.5, 2])
def test_fbeta(beta, average, zero_division):
    """F-beta is scikit-learn's, for every average and every value of 0/0."""
    true, predicted, _ = data(4)
    options = {"beta": beta, "zero_division": zero_division}
    expected = quietly(theirs.fbeta_score, true, predicted, average=average, **options)
    assert getattr(ours, AVERAGES[average].format("fbeta"))(true, predicted, **options) == pytest.approx(
        expected, **CLOSE
    )


@pytest.mark.parametrize("n_values", [3, 10_000])
def test_coverage_is_coverage_error_less_one(n_values):
    """The paper's coverage counts steps, scikit-learn's labels, where every row has a label."""
    true, _, scores = data(5, n_values)
    true[0, 2] = 1
    rows = true.any(axis=1)
    expected = theirs.coverage_error(true[rows], scores[rows]) - 1
    assert ours.coverage(true[rows], scores[rows]) == pytest.approx(expected, **CLOSE)
    assert ours.coverage(true, scores) == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize("n_values", [3, 10_000])
def test_ranking_loss(n_values):
    """Ranking loss with the trivial rows kept is scikit-learn's."""
    true, _, scores = data(6, n_values)
    expected = theirs.label_ranking_loss(true, scores)
    assert ours.ranking_loss(true, scores, trivial="keep") == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize("n_values", [3, 10_000])
def test_average_precision(n_values):
    """Average precision with the trivial rows kept is scikit-learn's."""
    true, _, scores = data(7, n_values)
    expected = theirs.label_ranking_average_precision_score(true, scores)
    assert ours.average_precision(true, scores, trivial="keep") == pytest.approx(expected, **CLOSE)


@pytest.mark.parametrize("relevant", [[0, 0, 0], [1, 1, 1], [1, 0, 0], [0, 1, 1]])
@pytest.mark.parametrize("scores", [[0.5, 0.5, 0.1], [1.0, 1.0, 1.0], [0.1, 0.2, 0.3]])
def test_single_rows(relevant, scores):
    """One row alone gives scikit-learn's ranking loss and average precision, trivial or not."""
    true, scores = np.array([relevant]), np.array([scores])
    assert ours.ranking_loss(true, scores, trivial="keep") == theirs.label_ranking_loss(true, scores)
    expected = theirs.label_ranking_average_precision_score(true, scores)
    assert ours.average_precision(true, scores, trivial="keep") == pytest.approx(expected, **CLOSE)
