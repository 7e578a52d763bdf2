"""`nearlabel.models.updates`: rows come and go in what is inside pipelines and searches of parameters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.lazy import IBLR, MLMLM, BRkNN, MLkNN
from nearlabel.models import unwrapped, updates
from nearlabel.preprocessing import FeatureScaler
from nearlabel.selection import NeighborsClassifierCV
from nearlabel.thresholds import FixedThresholdsClassifier, TunedThresholdsClassifierCV

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(60, 3))
Y = (X + RANDOM.normal(size=(60, 3)) > 0).astype(np.int64)


def test_steps_before_the_classifier_stay():
    """The rows go through them as they were fitted."""
    model = make_pipeline(MinMaxScaler(), MLkNN(3)).fit(X[:40], Y[:40])
    scaled = model[0].transform(X)
    assert updates.partial_fit(model, X[40:], Y[40:]) is model
    assert updates.forget(model, np.arange(10)) is model
    expected = MLkNN(3).fit(scaled[10:], Y[10:])
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(scaled))
    assert updates.updated_part(model) is model[-1]


@pytest.mark.parametrize("thresholds", [False, True])
def test_a_range_without_a_scaling_follows_the_samples(thresholds, monkeypatch):
    """A pipeline that only bounds features equals a refit after each change, and a refused one changes nothing."""
    monkeypatch.setattr(unwrapped, "_BLOCK_BYTES", 24 * 7)  # seven samples
    method = TunedThresholdsClassifierCV(MLkNN(3), cv="loo") if thresholds else MLkNN(3)
    first = make_pipeline(FeatureScaler(out_of_range="clip"), method)
    wide = np.concatenate([X[:40], 5 * X[40:]])
    model, queries = first.fit(wide[:40], Y[:40]), 7 * X
    before = model.predict_proba(queries)
    copy = updates.copy_to_update(model)
    with pytest.raises(ValueError, match="y must"):
        updates.partial_fit(model, wide[40:], Y[40:, :1] + 7)
    np.testing.assert_array_equal(model.predict_proba(queries), before)
    updates.partial_fit(copy, wide[40:], Y[40:])
    np.testing.assert_array_equal(model.predict_proba(queries), before)
    for rows, forgotten in ((np.arange(60), []), (np.arange(10, 45), [*range(10), *range(45, 60)])):
        if forgotten:
            updates.forget(copy, forgotten)
        expected = make_pipeline(FeatureScaler(out_of_range="clip"), MLkNN(3)).fit(wide[rows], Y[rows])
        np.testing.assert_array_equal(copy.predict_proba(queries), expected.predict_proba(queries))
        np.testing.assert_array_equal(copy[0].range_.low_, wide[rows].min(axis=0))
        np.testing.assert_array_equal(copy[0].range_.high_, wide[rows].max(axis=0))


def test_a_scaling_keeps_its_range():
    """Added samples are moved to the end of the range like queries."""
    model = make_pipeline(FeatureScaler("minmax", out_of_range="clip"), MLkNN(3)).fit(X[:40], Y[:40])
    scaler = FeatureScaler("minmax", out_of_range="clip").fit(X[:40])
    updates.partial_fit(model, 5 * X[40:], Y[40:])
    updates.forget(model, np.arange(10))
    rows = scaler.transform(np.concatenate([X[10:40], 5 * X[40:]]))
    expected = MLkNN(3).fit(rows, Y[10:])
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(scaler.transform(X)))


def test_a_search_of_parameters_is_its_best_model():
    """Nested as it may be."""
    search = GridSearchCV(make_pipeline(MinMaxScaler(), BRkNN()), {"brknn__n_neighbors": [1, 3]}, cv=2)
    search.fit(X[:40], Y[:40])
    updates.partial_fit(search, X[40:], Y[40:])
    assert updates.updated_part(search).changes_["added"] == 20
    assert updates.can_be_updated(search)


def test_what_is_chosen_anew_is_handed_on():
    """Thresholds at the end of a pipeline."""
    model = make_pipeline(MinMaxScaler(), TunedThresholdsClassifierCV(MLkNN(3), cv="loo")).fit(X[:40], Y[:40])
    updates.partial_fit(model, X[40:], Y[40:])
    assert model[-1].thresholds_stale_
    updates.retune(model)
    assert not model[-1].thresholds_stale_


@pytest.mark.parametrize("method", [BRkNN(), MLkNN(), MLMLM(scale="none"), BRkNN(weights="distance")], ids=repr)
def test_whatever_was_chosen_is_updated(method):
    """With the thresholds that were found with the choice; a fit to the present rows has the same scores."""
    model = NeighborsClassifierCV(methods=[method], scales=["none"], n_neighbors=[3]).fit(X[:40], Y[:40])
    before, raw = model.predict_proba(X), raw_scores(model)
    updates.partial_fit(model, X[40:], Y[40:])
    assert updates.updated_part(model).changes_["added"] == 20
    with pytest.warns(updates.StaleThresholdsWarning):
        model.predict(X)
    updates.retune(updates.forget(model, np.arange(40, 60)))
    assert not model.thresholds_stale_
    np.testing.assert_allclose(raw_scores(model), raw, rtol=0, atol=1e-8)
    if not isinstance(method, MLMLM):
        np.testing.assert_array_equal(model.predict_proba(X), before)


def raw_scores(model):
    """Return the scores of X that no map has changed."""
    steps, last = model.best_estimator_[:-1], model.best_estimator_[-1]
    return last.estimator_.predict_proba(steps.transform(X))


def test_others_are_refused():
    """By name."""
    with pytest.raises(TypeError, match=r"model must be a method by votes of neighbours, such as MLkNN, .* got IBLR"):
        updates.forget(make_pipeline(MinMaxScaler(), IBLR(3)).fit(X, Y), [0])
    with pytest.raises(TypeError, match="got FixedThresholdsClassifier"):
        updates.forget(FixedThresholdsClassifier(MLkNN(3)).fit(X, Y), [0])
    with pytest.raises(NotFittedError):
        updates.partial_fit(MLkNN(), X, Y)
    assert not updates.can_be_updated(IBLR())
