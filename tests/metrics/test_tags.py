"""Lists of tags, true and predicted: the columns are the tags of both, so that what a model never saw is missed."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

import nearlabel.metrics
from nearlabel.lazy import BRkNN
from nearlabel.metrics import get_scorer, label_table, macro_f1, micro_f1, micro_recall, one_error, score_all
from nearlabel.metrics.inputs import DECLARED
from nearlabel.plots import MicroFrontierDisplay, ReliabilityDisplay

TRUE = [["a", "b"], ["c"], [], ["b", "new"], ["a"]]
PREDICTED = [("a",), ("c", "d"), (), ("b", "c"), ("d",)]
BINARIZER = MultiLabelBinarizer().fit([*TRUE, *PREDICTED])
Y_TRUE, Y_PRED = BINARIZER.transform(TRUE), BINARIZER.transform(PREDICTED)
OF_LABEL_SETS = [name for name, one in DECLARED.items() if "y_pred" in inspect.signature(one.function).parameters]


@pytest.mark.parametrize("weights", [None, [1, 2, 1, 1, 3]])
@pytest.mark.parametrize("name", OF_LABEL_SETS)
def test_every_metric_of_label_sets(name, weights):
    """The value of the matrices whose columns are the tags of both."""
    metric = getattr(nearlabel.metrics, name)
    beta = {"beta": 2.0} if "beta" in inspect.signature(metric).parameters else {}
    value = metric(TRUE, PREDICTED, sample_weight=weights, **beta)
    assert value == metric(Y_TRUE, Y_PRED, sample_weight=weights, **beta)
    assert 0 < value < 1


def test_all_metrics_at_once():
    """With `label_table`, whose labels are the tags; a user's function gets matrices."""
    assert len(OF_LABEL_SETS) == 16
    assert score_all(TRUE, PREDICTED) == score_all(Y_TRUE, Y_PRED)
    table, expected = label_table(TRUE, PREDICTED), label_table(Y_TRUE, Y_PRED)
    assert table.pop("label").tolist() == ["a", "b", "c", "d", "new"]
    for name, column in table.items():
        np.testing.assert_array_equal(column, expected[name])

    def cells(y_true, y_pred):
        return float(y_true.size + y_pred.shape[1])

    assert score_all(TRUE, PREDICTED, metrics=[cells]) == {"cells": 30.0}


@pytest.mark.parametrize(
    "container",
    [
        list, tuple, pd.Series, pl.Series, pa.array,
        lambda rows: [set(row) for row in rows],
        lambda rows: pd.Series(rows, index=range(50, 55)),
    ],
)  # fmt: skip
def test_containers(container):
    """Whatever holds the tags, alike for both."""
    assert micro_f1(container(TRUE), container([list(row) for row in PREDICTED])) == micro_f1(Y_TRUE, Y_PRED)


def test_a_tag_that_training_never_saw_is_missed():
    """The binarizer with the classes of the model would lose it; exact match by `score` counts it, too."""
    model = BRkNN(1).fit([[0.0], [1.0]], [["a"], ["b"]])
    X, tags = [[0.0], [1.0]], [["a"], ["b", "new"]]
    predicted = model.predict_labels(X)
    assert micro_recall(tags, predicted) == 2 / 3
    assert macro_f1(tags, predicted) == 2 / 3
    assert model.score(X, tags) == score_all(tags, predicted)["subset_accuracy"] == 0.5


def test_nothing_predicted_and_nothing_true():
    """Empty lists are tags where the others have some."""
    assert micro_f1([["a"], ["b"]], [(), ()]) == 0.0
    assert micro_f1([[], []], [("a",), ()]) == 0.0
    with pytest.raises(ValueError, match="y_true must have at least one label"):
        micro_f1([[], []], [(), ()])


def test_unknown_tags():
    """None in place of true tags leaves the sample out, with what is predicted for it; None is no prediction."""
    some = [["a"], None, ["b"]], [("a",), ("z",), ("a",)]
    assert score_all(*some) == score_all([["a"], ["b"]], [("a",), ("a",)])
    with pytest.raises(ValueError, match="y_pred must have tags, or \\[\\], for each sample, got None for row 1"):
        micro_f1([["a"], ["b"]], [("a",), None])


def test_many_tags_stay_sparse(monkeypatch):
    """As after `fit`, with the same values."""
    monkeypatch.setattr("nearlabel.utils.tags.BLOCK_BYTES", 0)
    true = [[f"t{row}"] for row in range(40)]
    predicted = [(f"t{row // 2}",) for row in range(40)]
    seen = []

    def remember(y_true, y_pred):
        seen.extend([y_true, y_pred])
        return 0.0

    score_all(true, predicted, metrics=[remember])
    assert [sparse.issparse(matrix) for matrix in seen] == [True, True]
    binarizer = MultiLabelBinarizer().fit(true)
    assert score_all(true, predicted) == score_all(binarizer.transform(true), binarizer.transform(predicted))
    some = [None, *true[1:]]
    assert score_all(some, predicted) == score_all(true[1:], predicted[1:])


@pytest.mark.parametrize(("given", "name"), [((TRUE, Y_PRED), "y_true"), ((Y_TRUE, PREDICTED), "y_pred")])
def test_tags_and_a_matrix(given, name):
    """Nobody knows the names of its columns."""
    for function in (micro_f1, score_all, label_table):
        with pytest.raises(ValueError, match=f"got tags for {name} alone. Hint: model.predict_labels"):
            function(*given)


def test_another_number_of_samples():
    """The shapes are those of the tags of both."""
    with pytest.raises(ValueError, match=r"y_pred must be of the same shape as y_true, \(5, 5\), got shape \(4, 5\)"):
        micro_f1(TRUE, PREDICTED[:4])


def test_rows_in_another_order():
    """Two Series with different indexes warn, as two frames do."""
    with pytest.warns(UserWarning, match="y_true and y_pred have different indexes"):
        micro_f1(pd.Series(TRUE), pd.Series(PREDICTED, index=[4, 3, 2, 1, 0]))


X = np.random.default_rng(0).normal(size=(40, 2))
TAGS = [[tag for tag, value in zip(("north", "east"), row, strict=True) if value > 0] for row in X]


@pytest.mark.parametrize("display", [MicroFrontierDisplay, ReliabilityDisplay])
def test_figures_and_scorers(display):
    """Tags in the columns of the model; those that it does not know are left out, with a warning."""
    model = BRkNN(5).fit(X[:20], TAGS[:20])
    Y = MultiLabelBinarizer().fit_transform(TAGS)
    first, then = (display.from_estimator(model, X[20:], y[20:]) for y in (TAGS, Y))
    for name in ("recall", "precision", "points") if display is MicroFrontierDisplay else ("true_share", "counts"):
        assert str(getattr(first, name)) == str(getattr(then, name))
    scorer = get_scorer(one_error)
    assert scorer(model, X[20:], TAGS[20:]) == scorer(model, X[20:], Y[20:])
    more = [[*row, *["new"] * (place % 2), "other"] for place, row in enumerate(TAGS[20:])]
    with pytest.warns(UserWarning, match=r"BRkNN does not know 2 of the tags of y, 'other', 'new', which .* 30 times"):
        display.from_estimator(model, X[20:], more)
