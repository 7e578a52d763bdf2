"""Rows come and go in a classifier with tuned thresholds: these stay until they are tuned anew, and say so."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from nearlabel.lazy import IBLR, BRkNN, MLkNN
from nearlabel.rivals import RandomForestPCT
from nearlabel.thresholds import RCut, SCut, StaleThresholdsWarning, TunedThresholdsClassifierCV
from nearlabel.utils.validation import as_dense


def problem(n_rows=90, n_labels=3):
    """Return rows with ties and label sets that depend on them."""
    random = np.random.default_rng(6)
    X = random.integers(0, 5, size=(n_rows, 2)).astype(np.float64)
    chance = np.stack([X[:, 0] / 6, X[:, 1] / 9, X.sum(axis=1) / 14], axis=1)[:, :n_labels]
    return X, (random.random(chance.shape) < chance).astype(np.int64)


def assert_like_a_fit(model, expected, queries):
    """Compare thresholds and all answers."""
    np.testing.assert_array_equal(getattr(model, "thresholds_", 0), getattr(expected, "thresholds_", 0))
    for answer in ("predict", "predict_proba"):
        got, wanted = (as_dense(getattr(one, answer)(queries)) for one in (model, expected))
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("store_y", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("strategy", [None, SCut(), RCut(2)])
@pytest.mark.parametrize(
    "inner", [MLkNN(4), BRkNN("auto"), make_pipeline(FunctionTransformer(np.negative), MLkNN("auto"))]
)
def test_tuned_anew_it_is_like_a_fit(inner, strategy, store_y):
    """Also a number of neighbours that is chosen together with the thresholds, and steps before the classifier."""
    X, y = problem()
    model = TunedThresholdsClassifierCV(inner, strategy, cv="loo").fit(X[:60], store_y(y[:60]))
    thresholds = getattr(model, "thresholds_", None)
    assert not model.thresholds_stale_
    assert model.partial_fit(X[60:], store_y(y[60:])) is model
    assert model.forget(np.arange(15)) is model
    assert model.thresholds_stale_
    assert model.changes_ == {"added": 30, "forgotten": 15, "new_labels": []}
    np.testing.assert_array_equal(getattr(model, "thresholds_", None), thresholds)
    assert model.retune() is model
    assert not model.thresholds_stale_
    expected = TunedThresholdsClassifierCV(inner, strategy, cv="loo").fit(X[15:], store_y(y[15:]))
    assert_like_a_fit(model, expected, X + 0.2)


def test_unknown_cells_count_for_no_threshold():
    """As in a fit."""
    X, y = problem()
    y = y.astype(np.float64)
    y[np.random.default_rng(0).random(y.shape) < 0.3] = np.nan
    model = TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
    model.forget(np.arange(15)).retune()
    expected = TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X[15:], y[15:])
    assert_like_a_fit(model, expected, X + 0.2)


def test_predict_warns_once_of_stale_thresholds():
    """Again after the next change; not of what was tuned anew."""
    X, y = problem()
    model = TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X, y)
    model.predict(X)
    for _ in range(2):
        model.forget([3])
        with pytest.warns(StaleThresholdsWarning, match=r"retune\(\) tunes them on the present samples") as warned:
            model.predict(X)
        assert [warning.filename for warning in warned] == [__file__]
        model.predict(X)
    model.forget([3]).retune().predict(X)


def test_new_labels_get_thresholds_at_once():
    """They have none before; names come from the tags."""
    X, y = problem()
    names = np.array(["a", "b", "c"])
    tags = [list(names[row == 1]) for row in y]
    known = [[tag for tag in row if tag != "c"] for row in tags[:60]]
    model = TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X[:60], known).partial_fit(X[60:], tags[60:])
    assert model.label_names_.tolist() == ["a", "b", "c"]
    assert model.changes_["new_labels"] == ["c"]
    assert not model.thresholds_stale_
    expected = TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X, known + tags[60:])
    assert_like_a_fit(model, expected, X + 0.2)


def test_one_label_of_two_classes():
    """Classes keep their meaning; one that would turn it round is refused."""
    X, y = problem()
    column = np.where(y[:, 0] == 1, "yes", "no")
    model = TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X[:60], column[:60]).partial_fit(X[60:], column[60:])
    expected = TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X, column)
    assert_like_a_fit(model.retune(), expected, X + 0.2)
    single = TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X[:60], ["no"] * 60)
    single.partial_fit(X[60:], column[60:]).retune()
    expected = TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X, ["no"] * 60 + column[60:].tolist())
    assert_like_a_fit(single, expected, X + 0.2)
    with pytest.raises(ValueError, match="y must not bring a class before the only one of fit, 'yes', got 'no'"):
        TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X, ["yes"] * 90).partial_fit(X, column)


def test_what_cannot_be_tuned_anew_is_refused():
    """Folds need other fits, groups are not known any more; an error changes nothing."""
    X, y = problem()
    by_groups = TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X[:60], y[:60, :2], groups=np.arange(60) // 2)
    by_groups.partial_fit(X[60:], y[60:, :2])
    with pytest.raises(ValueError, match="thresholds must be tuned without groups and weights"):
        by_groups.retune()
    with pytest.warns(StaleThresholdsWarning, match="Hint: fit the classifier again"):
        by_groups.predict(X)
    with pytest.raises(ValueError, match="thresholds must be tuned without groups"):
        by_groups.partial_fit(X, y)
    assert by_groups.changes_ == {"added": 30, "forgotten": 0, "new_labels": []}
    for other in (RandomForestPCT(), IBLR()):
        assert not hasattr(TunedThresholdsClassifierCV(other, cv="loo"), "partial_fit")
    for cv in (3, "prefit"):
        assert not hasattr(TunedThresholdsClassifierCV(MLkNN().fit(X, y), cv=cv), "forget")


def test_before_fit_it_is_a_fit():
    """As in scikit-learn."""
    X, y = problem()
    model = TunedThresholdsClassifierCV(MLkNN(4), cv="loo").partial_fit(X, y)
    assert_like_a_fit(model, TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X, y), X + 0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X)


def test_a_failed_tuning_changes_nothing():
    """New labels are tuned at once; where that fails, the rows have not come."""
    X, y = problem()
    model = TunedThresholdsClassifierCV(MLkNN(4), cv="loo").fit(X[:60], y[:60, :2])
    before = model.predict(X)
    with pytest.raises(TypeError):
        model.set_params(strategy="none such").partial_fit(X[60:], y[60:])
    np.testing.assert_array_equal(model.predict(X), before)
    assert model.changes_["added"] == 0
