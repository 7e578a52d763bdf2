"""The metrics of each label."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from nearlabel import metrics
from nearlabel.metrics import label_table

RNG = np.random.default_rng(6)
TRUE, PREDICTED = (RNG.random((2, 30, 5)) < 0.4).astype(int)
TRUE[:, 3], PREDICTED[:, 3], TRUE[:, 4] = 0, 0, 1
PROB = RNG.integers(0, 5, TRUE.shape) / 4
WEIGHTS = RNG.integers(0, 4, 30)
COUNTS = ("true_positives", "false_positives", "false_negatives")
OF_PREDICTIONS = {"precision": metrics.micro_precision, "recall": metrics.micro_recall, "f1": metrics.micro_f1}
OF_SCORES = {
    "roc_auc": metrics.roc_auc,
    "average_precision": metrics.mean_average_precision,
    "log_loss": metrics.log_loss,
    "brier_score": metrics.brier_score,
}


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_each_label_alone(weights):
    """Every cell is the metric of one column; 0/0 is nan."""
    table = label_table(TRUE, PREDICTED, PROB, sample_weight=weights)
    assert list(table) == ["label", "support", *COUNTS, *OF_PREDICTIONS, *OF_SCORES]
    for label in range(5):
        one = slice(label, label + 1)
        for name, function in OF_PREDICTIONS.items():
            value = function(TRUE[:, one], PREDICTED[:, one], zero_division=math.nan, sample_weight=weights)
            assert table[name][label] == pytest.approx(value, abs=1e-12, nan_ok=True)
        for name, function in OF_SCORES.items():
            value = function(TRUE[:, one], PROB[:, one], sample_weight=weights)
            assert table[name][label] == pytest.approx(value, abs=1e-12, nan_ok=True)


def test_counts():
    """Integers without weights, sums of weights with them."""
    table = label_table(TRUE, PREDICTED)
    expected = (TRUE & PREDICTED).sum(axis=0), (~TRUE & PREDICTED).sum(axis=0), (TRUE & ~PREDICTED).sum(axis=0)
    np.testing.assert_array_equal([table[name] for name in COUNTS], expected)
    np.testing.assert_array_equal(table["support"], TRUE.sum(axis=0))
    assert table["support"].dtype.kind == "i"
    weighted, repeated = label_table(TRUE, PREDICTED, sample_weight=WEIGHTS), np.repeat(np.arange(30), WEIGHTS)
    again = label_table(TRUE[repeated], PREDICTED[repeated])
    for name in ("support", *COUNTS):
        np.testing.assert_array_equal(weighted[name], again[name])


def test_means_over_labels():
    """The macro averages are means of columns."""
    table = label_table(TRUE, PREDICTED, PROB, zero_division=0.0)
    assert np.mean(table["f1"]) == pytest.approx(metrics.macro_f1(TRUE, PREDICTED))
    assert np.nanmean(table["roc_auc"]) == pytest.approx(metrics.roc_auc(TRUE, PROB))
    assert np.isnan(table["roc_auc"]).sum() == metrics.count_skipped(TRUE) == 2
    assert np.mean(table["log_loss"]) == pytest.approx(metrics.log_loss(TRUE, PROB))


def test_names_and_containers():
    """Labels have the names of a data frame's columns; sparse matrices give the same table."""
    names = list("abcde")
    dense = label_table(pd.DataFrame(TRUE, columns=names), PREDICTED, PROB)
    assert dense["label"].tolist() == names
    thin = label_table(sparse.csr_array(TRUE), sparse.csr_array(PREDICTED), sparse.csr_array(PROB))
    assert thin["label"].tolist() == list(range(5))
    for name in list(dense)[1:]:
        np.testing.assert_allclose(thin[name], dense[name], atol=1e-14, err_msg=name)
        assert type(thin[name]) is np.ndarray
    assert pd.DataFrame(dense).shape == (5, 12)


def test_decision_values_have_no_losses():
    """The columns are there, of nan; those of the ranking are numbers."""
    table = label_table(TRUE, y_score=PROB * 3 - 1)
    assert list(table) == ["label", "support", *OF_SCORES]
    assert np.isnan(table["log_loss"]).all()
    assert np.isnan(table["brier_score"]).all()
    assert table["roc_auc"][:3] == pytest.approx(label_table(TRUE, y_score=PROB)["roc_auc"][:3])


def test_bad_input():
    """Something to judge must be given, and of the same shape."""
    with pytest.raises(ValueError, match="y_pred or y_score must be given, got neither"):
        label_table(TRUE)
    with pytest.raises(ValueError, match="y_score must be of the same shape as y_true"):
        label_table(TRUE, y_score=PROB[:, :2])
    with pytest.raises(ValueError, match=r"zero_division must be 0\.0, 1\.0 or nan, got 2"):
        label_table(TRUE, PREDICTED, zero_division=2)
