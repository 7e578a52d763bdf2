"""The catalogue is complete, and score_all gives it all at once."""

import numpy as np
import pytest

from nearlabel import metrics
from nearlabel.metrics import CATALOGUE, METRICS_ON_REQUEST, get_metric, score_all

Y = np.random.default_rng(0).integers(0, 2, (20, 4))
every_name = pytest.mark.parametrize("name", CATALOGUE)
EXCLUDED = {  # public, but no metric of the catalogue, with the reason
    "CATALOGUE": "the catalogue",
    "METRICS_ON_REQUEST": "names of those that no table shows unless asked",
    "SCORERS": "the scorers",
    "CalibrationBins": "a result",
    "Metric": "an entry",
    "MetricLike": "what get_metric takes",
    "calibration_bins": "no single number",
    "count_skipped": "a count of labels",
    "get_metric": "look-up",
    "get_scorer": "look-up",
    "score_all": "all of them",
    "label_propensities": "an argument of a metric",
    "label_table": "no single number",
}


def test_every_public_metric_is_in_the_catalogue_or_excused():
    """What the package exports is in the catalogue or has a reason not to be."""
    assert set(metrics.__all__) == set(CATALOGUE) | set(METRICS_ON_REQUEST) | set(EXCLUDED)


@every_name
def test_entry_describes_its_function(name):
    """The name is the function's, the direction is down for losses, errors and coverage only."""
    metric = get_metric(name)
    assert metric.function is getattr(metrics, name)
    assert metric.greater_is_better == (not name.endswith(("loss", "error", "coverage")))
    assert metric.needs == ("score" if metric.function.__module__.endswith("ranking") else "prediction")
    assert metric.title


def test_catalogue_cannot_be_changed():
    """The catalogue is read-only."""
    with pytest.raises(TypeError, match="does not support item assignment"):
        CATALOGUE["new"] = CATALOGUE["coverage"]


def test_score_all_gives_what_the_inputs_allow():
    """Without names, predictions give 13 metrics, scores 4, both 17 in the catalogue's order."""
    assert list(score_all(Y, Y)) == list(CATALOGUE)[:13]
    assert list(score_all(Y, y_score=Y)) == list(CATALOGUE)[13:]
    assert list(score_all(Y, Y, Y)) == list(CATALOGUE)


def test_score_all_keeps_the_order_asked_for():
    """The values come in the order of the names, and only those."""
    assert list(score_all(Y, Y, Y, metrics=("coverage", "micro_f1"))) == ["coverage", "micro_f1"]


def test_score_all_leaves_alone_what_no_metric_needs():
    """Scores are not looked at where only metrics of predictions are asked for."""
    assert score_all(Y, Y, [[np.nan]], metrics=["micro_f1"]) == {"micro_f1": 1.0}


@every_name
def test_values_are_python_floats(name):
    """A record can be written as JSON without a converter."""
    assert type(CATALOGUE[name].function(Y, Y)) is float
    assert type(score_all(Y, Y, Y)[name]) is float
