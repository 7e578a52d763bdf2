"""Leave-one-out predictions on the page of a model and its own samples."""

import json

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.lazy import IBLR, MLMLM, BRkNN, MLkNN
from nearlabel.metrics import score_all
from nearlabel.persistence import ModelCard
from nearlabel.report import model_facts
from nearlabel.report._facts import left_out_predictions
from nearlabel.thresholds import CalibratedLabels, FixedThresholdsClassifier, TunedThresholdsClassifierCV


@pytest.fixture(scope="module")
def toy_and_facts(toy):
    """A data set, and a function that fits a model to it and returns the facts of both."""

    def _facts(model, **options):
        model.fit(toy.X, toy.Y)
        card = json.loads(ModelCard.of(model, data=toy).to_json())
        return model_facts(model, toy, card=card, seen=True, n_rows=5, **options)

    return toy, _facts


@pytest.mark.parametrize("model", [BRkNN(3), MLkNN(3), MLMLM()])
def test_figures_of_training_samples_are_leave_one_out(toy_and_facts, model):
    """All metrics are those of `loo_predict` and `loo_predict_proba`."""
    toy, facts_of = toy_and_facts
    facts = facts_of(model)
    assert facts["left_out"]
    expected = score_all(toy.Y, model.loo_predict(), model.loo_predict_proba())
    assert {one["name"]: one["value"] for one in facts["metrics"]} == expected


def test_refits_without_each_sample(toy):
    """A pipeline with thresholds predicts a sample as after a fit to all others."""
    X = MinMaxScaler().fit_transform(toy.X)
    model = make_pipeline(MinMaxScaler(), FixedThresholdsClassifier(MLkNN(3), 0.3)).fit(toy.X, toy.Y)
    found = left_out_predictions(model, toy.Y.shape)
    for row in range(0, len(X), 7):
        others = np.arange(len(X)) != row
        refitted = FixedThresholdsClassifier(MLkNN(3), 0.3).fit(X[others], toy.Y[others])
        np.testing.assert_array_equal(found.labels[row], refitted.predict(X[[row]])[0])
        np.testing.assert_array_equal(found.scores[row], refitted.predict_proba(X[[row]])[0])


def test_thresholds_and_calibration_around_a_method(toy):
    """They decide by the leave-one-out probabilities, the inner one first; the scores are the calibrated ones."""
    calibrated = CalibratedLabels(MLkNN(3), cv="loo").fit(toy.X, toy.Y)
    inner = calibrated.estimator_.loo_predict_proba()
    found = left_out_predictions(calibrated, toy.Y.shape)
    np.testing.assert_array_equal(found.scores, calibrated.calibrated(inner))
    np.testing.assert_array_equal(found.labels, calibrated.calibrated(inner) >= 0.5)
    tuned = TunedThresholdsClassifierCV(CalibratedLabels(MLkNN(3), cv="loo"), cv=3).fit(toy.X, toy.Y)
    found = left_out_predictions(tuned, toy.Y.shape)
    np.testing.assert_array_equal(found.labels, found.scores >= tuned.thresholds_)


def test_models_without_leave_one_out_predictions(toy_and_facts):
    """The figures are those of the model's own predictions, as before; other numbers of samples are not confused."""
    toy, facts_of = toy_and_facts
    facts = facts_of(model := IBLR(3))
    assert not facts["left_out"]
    expected = score_all(toy.Y, model.predict(toy.X), model.predict_proba(toy.X))
    assert {one["name"]: one["value"] for one in facts["metrics"]} == expected
    assert left_out_predictions(BRkNN(3).fit(toy.X, toy.Y), (len(toy.Y) + 1, 4)) is None
    few = BRkNN(3).fit(toy.X[:3], toy.Y[:3])
    assert left_out_predictions(few, (3, 4)) is None
