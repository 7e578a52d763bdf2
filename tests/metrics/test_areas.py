"""ROC-AUC and average precision of labels, rows and cells: against loops over pairs and cells, and scikit-learn."""

import math

import numpy as np
import pytest
import sklearn.metrics as theirs
from scipy import sparse

from nearlabel import metrics
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import MLkNN
from nearlabel.metrics import count_skipped, mean_average_precision, roc_auc

AVERAGES = ("macro", "micro", "samples", "weighted")
FUNCTIONS = {"roc_auc": roc_auc, "mean_average_precision": mean_average_precision}
RNG = np.random.default_rng(8)
TRUE = (RNG.random((30, 7)) < 0.3).astype(int)
TRUE[0], TRUE[1], TRUE[:, 5], TRUE[:, 6] = 0, 1, 0, 1
SCORES = RNG.integers(-2, 3, TRUE.shape) / 4
WEIGHTS = RNG.integers(0, 4, 30)
FRACTIONS = RNG.random(30)


def auc_of_line(true, scores, weights):
    """Return the weighted share of ordered pairs, an equal one one half; nan without a pair."""
    pairs = [
        (v * w, (s > z) + (s == z) / 2)
        for t, s, v in zip(true, scores, weights, strict=True)
        for u, z, w in zip(true, scores, weights, strict=True)
        if t and not u
    ]
    total = sum(weight for weight, _ in pairs)
    return sum(weight * right for weight, right in pairs) / total if total else math.nan


def precision_of_line(true, scores, weights):
    """Return the sum over distinct scores of the step of recall times precision; nan for one class."""
    cells = [cell for cell in zip(true, scores, weights, strict=True) if cell[2] > 0]
    positive = sum(w for t, _, w in cells if t)
    if not positive or all(t for t, _, _ in cells):
        return math.nan
    value = 0.0
    for threshold in {s for _, s, _ in cells}:
        above = [(t, w) for t, s, w in cells if s >= threshold]
        step = sum(w for t, s, w in cells if t and s == threshold)
        value += step / positive * sum(w for t, w in above if t) / sum(w for _, w in above)
    return value


def lines(average, true, scores, weights):
    """Yield the cells, scores and weights of each line, and the line's weight in the mean."""
    if average == "micro":
        yield true.ravel(), scores.ravel(), np.repeat(weights, true.shape[1]), 1
    elif average == "samples":
        for row, values, weight in zip(true, scores, weights, strict=True):
            yield row, values, np.ones(len(row)), weight
    else:
        for column, values in zip(true.T, scores.T, strict=True):
            yield column, values, weights, 1 if average == "macro" else weights @ column


OF_LINES = {"roc_auc": auc_of_line, "mean_average_precision": precision_of_line}


@pytest.mark.parametrize("weights", [np.ones(30), WEIGHTS, FRACTIONS], ids=["none", "whole", "fractions"])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_loops_over_the_definitions(name, average, weights):
    """The mean over the lines that have two classes, each by its definition."""
    each = [(OF_LINES[name](t, s, w), of) for t, s, w, of in lines(average, TRUE, SCORES, weights)]
    defined = [(value, weight) for value, weight in each if not math.isnan(value)]
    expected = sum(v * w for v, w in defined) / sum(w for _, w in defined)
    got = FUNCTIONS[name](TRUE, SCORES, average=average, sample_weight=weights)
    assert got == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("undefined", ["skip", "propagate"])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_without_weight_do_not_count(name, average, undefined):
    """Row 3 has no label, and rows 3 and 4 alone are without label 1: the figures are those without these rows."""
    true, weights = TRUE[2:].copy(), FRACTIONS[2:].copy()
    true[:, 1] = np.arange(28) != 4
    true[3] = 0
    weights[3:5] = 0
    kept = weights > 0
    options = {"average": average, "undefined": undefined}
    got = FUNCTIONS[name](true, SCORES[2:], sample_weight=weights, **options)
    expected = FUNCTIONS[name](true[kept], SCORES[2:][kept], sample_weight=weights[kept], **options)
    assert got == pytest.approx(expected, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("weights", [None, FRACTIONS], ids=["none", "fractions"])
@pytest.mark.parametrize("average", AVERAGES)
def test_scikit_learn_where_it_is_defined(average, weights):
    """On labels and rows with two classes, one rule of its own apart: none."""
    true, scores = TRUE[:, :5], SCORES[:, :5]
    some = true.any(axis=1) & ~true.all(axis=1) if average == "samples" else slice(None)
    options = {"average": average, "sample_weight": None if weights is None else weights[some]}
    got = roc_auc(true[some], scores[some], **options)
    assert got == pytest.approx(theirs.roc_auc_score(true[some], scores[some], **options), abs=1e-12)
    got = mean_average_precision(true[some], scores[some], **options)
    assert got == pytest.approx(theirs.average_precision_score(true[some], scores[some], **options), abs=1e-12)


def test_auc_of_rows_and_ranking_loss_add_up_to_one():
    """Both look at pairs of labels; a tied pair counts one half."""
    loss = metrics.ranking_loss(TRUE, SCORES, ties="average", sample_weight=FRACTIONS)
    assert roc_auc(TRUE, SCORES, average="samples", sample_weight=FRACTIONS) == pytest.approx(1 - loss, abs=1e-12)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("average", AVERAGES)
def test_sparse_weights_and_blocks(name, average, monkeypatch):
    """Sparse matrices give the number of dense ones, whole weights that of repeated rows, blocks that of the whole."""
    function = FUNCTIONS[name]
    expected = function(TRUE, SCORES, average=average)
    for pair in ((sparse.csr_array(TRUE), sparse.csc_array(SCORES)), (TRUE, sparse.csr_matrix(SCORES))):
        assert function(*pair, average=average) == pytest.approx(expected, abs=1e-14)
    repeated = np.repeat(np.arange(30), WEIGHTS)
    weighted = function(TRUE, SCORES, average=average, sample_weight=WEIGHTS)
    again = function(TRUE[repeated], SCORES[repeated], average=average)
    assert weighted == pytest.approx(again, abs=1e-12)
    monkeypatch.setattr("nearlabel.metrics.ranking.BLOCK_BYTES", 3 * 8 * 7)
    assert function(TRUE, SCORES, average=average) == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize("weights", [None, RNG.integers(0, 3, 40)], ids=["none", "whole"])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_cells_that_are_stored_nowhere_count(name, average, weights, monkeypatch):
    """Very sparse matrices: most cells of a line are merged into one, above negative scores and below positive ones."""
    rng = np.random.default_rng(1)
    true = (rng.random((40, 60)) < 0.02).astype(int)
    scores = rng.integers(-2, 3, true.shape) * (rng.random(true.shape) < 0.04) / 2
    options = {"average": average, "sample_weight": weights}
    expected = FUNCTIONS[name](true, scores, **options)
    for budget in (2**20, 8 * 60):
        monkeypatch.setattr("nearlabel.metrics.ranking.BLOCK_BYTES", budget)
        got = FUNCTIONS[name](sparse.csr_array(true), sparse.csr_array(scores), **options)
        assert got == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("average", "n"), [("macro", 2), ("weighted", 2), ("micro", 0), ("samples", 2)])
def test_lines_of_one_class_are_counted(average, n):
    """A label that all rows have and one that none has; a row without labels and one with all."""
    true = TRUE[:, :5] if average == "samples" else TRUE
    some = true[[0, 1, *np.flatnonzero(true[:, :5].any(axis=1) & ~true[:, :5].all(axis=1))]]
    assert count_skipped(some, average=average) == n
    assert count_skipped(sparse.csr_array(some), average=average) == n


def test_rows_without_weight_make_no_second_class():
    """A label whose only positive sample has weight 0 has one class."""
    true, scores = [[1, 1], [0, 1], [0, 0]], [[0.9, 0.5], [0.1, 0.6], [0.2, 0.1]]
    assert count_skipped(true, sample_weight=[0, 1, 1]) == 1
    assert roc_auc(true, scores, sample_weight=[0, 1, 1]) == roc_auc(np.array(true)[1:, 1:], np.array(scores)[1:, 1:])
    assert mean_average_precision(true, scores, sample_weight=[1, 1, 0]) == 1


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("constant", [0, 1])
def test_nothing_is_defined(name, average, constant):
    """The mean over no label is nan, without a warning."""
    true = np.full((3, 2), constant)
    assert math.isnan(FUNCTIONS[name](true, RNG.random((3, 2)), average=average))
    assert count_skipped(true, average=average) == {"samples": 3, "micro": 1}.get(average, 2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_undefined_may_be_nan(name):
    """One label of one class makes the mean nan if that is wanted."""
    function = FUNCTIONS[name]
    assert math.isnan(function(TRUE, SCORES, undefined="propagate"))
    assert function(TRUE[:, :5], SCORES[:, :5], undefined="propagate") == function(TRUE[:, :5], SCORES[:, :5])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_edges(name):
    """One label, infinite and constant scores."""
    function = FUNCTIONS[name]
    assert function([[1], [0]], [[np.inf], [0.0]]) == 1
    assert function([[1], [0], [0]], [[0.0], [0.0], [-np.inf]]) == {"roc_auc": 0.75}.get(name, 0.5)
    assert roc_auc(TRUE, np.zeros(TRUE.shape)) == 0.5
    assert math.isnan(function([[1], [0]], [[0.1], [0.2]], average="samples"))
    assert type(function([[1], [0]], [[0.1], [0.2]])) is float


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bad_options(name):
    """Each says what was expected."""
    with pytest.raises(ValueError, match=r"average must be one of .*, got 'binary'"):
        FUNCTIONS[name](TRUE, SCORES, average="binary")
    with pytest.raises(ValueError, match=r"undefined must be one of \['propagate', 'skip'\], got 'warn'"):
        FUNCTIONS[name](TRUE, SCORES, undefined="warn")
    with pytest.raises(ValueError, match="average must be one of"):
        count_skipped(TRUE, average=None)


@pytest.mark.long
def test_predictions_on_real_data(data_folder):
    """ML-kNN on yeast's split: each label as scikit-learn has it."""
    train, test = fetch_dataset("yeast", "train"), fetch_dataset("yeast", "test")
    scores = MLkNN().fit(train.X, train.Y).predict_proba(test.X[:150])
    both = test.Y[:150].any(axis=0)  # one label is too rare
    true, scores = test.Y[:150][:, both], scores[:, both]
    for average in AVERAGES:
        expected = theirs.average_precision_score(true, scores, average=average)
        assert mean_average_precision(true, scores, average=average) == pytest.approx(expected, abs=1e-10)
        expected = theirs.roc_auc_score(true, scores, average=average)
        assert roc_auc(true, scores, average=average) == pytest.approx(expected, abs=1e-10)
    best = metrics.ndcg_at_k(true, scores, 5, ties="average")
    assert best == pytest.approx(theirs.ndcg_score(true, scores, k=5), abs=1e-10)  # every row has a label
