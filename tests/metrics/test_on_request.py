"""Metrics that are computed where they are asked for, by name and options."""

import pickle

import numpy as np
import pytest

from nearlabel import metrics
from nearlabel.metrics import CATALOGUE, METRICS_ON_REQUEST, Metric, get_metric, get_scorer, score_all
from nearlabel.testing import check_metric

RNG = np.random.default_rng(9)
TRUE, PREDICTED = RNG.integers(0, 2, (2, 20, 4))
SCORES = RNG.integers(0, 4, (20, 4)) / 4
SPECS = {  # name -> title, direction
    "precision_at_k:k=3": ("precision@3", True),
    "recall_at_k:k=1:ties=average": ("recall@1 (ties=average)", True),
    "ndcg_at_k:k=2": ("nDCG@2", True),
    "roc_auc": ("ROC-AUC (macro)", True),
    "roc_auc:average=micro": ("ROC-AUC (micro)", True),
    "mean_average_precision": ("mAP (macro)", True),
    "log_loss": ("log loss", False),
    "brier_score": ("Brier score", False),
    "micro_fbeta:beta=2": ("micro F2", True),
    "one_error:ties=high": ("one-error (ties=high)", False),
    "macro_f1:zero_division=1.0": ("macro F1 (zero_division=1.0)", True),
}


@pytest.mark.parametrize("name", SPECS)
def test_a_name_with_options(name):
    """Its title shows the options; its value is the function's."""
    metric = get_metric(name)
    assert (metric.name, metric.title, metric.greater_is_better) == (name, *SPECS[name])
    function, *options = name.split(":")
    values = dict(option.split("=") for option in options)
    values = {key: float(value) if value[0].isdigit() else value for key, value in values.items()}
    values |= {key: int(value) for key, value in values.items() if key == "k"}
    given = PREDICTED if metric.needs == "prediction" else SCORES
    assert metric(TRUE, given) == getattr(metrics, function)(TRUE, given, **values)


@pytest.mark.parametrize("name", SPECS)
def test_metrics_keep_the_contract(name):
    """Theirs as those of the catalogue, in a scorer, and after a journey to another process."""
    excused = {"check_metric_returns_a_number": "k is above two labels"} if name == "precision_at_k:k=3" else {}
    check_metric(name, expected_failed_checks=excused)
    metric = get_metric(name)
    assert get_metric(pickle.loads(pickle.dumps(metric))) == metric
    assert get_metric(metric) is metric
    assert callable(get_scorer(name))


def test_no_table_grows():
    """They are in no default, and functions of ours are found by themselves."""
    assert not set(METRICS_ON_REQUEST) & set(CATALOGUE)
    assert list(score_all(TRUE, PREDICTED, SCORES)) == list(CATALOGUE)
    assert get_metric(metrics.log_loss) == get_metric("log_loss")


def test_score_all_takes_them():
    """Its rules apply to what a name leaves open."""
    names = ("precision_at_k:k=1", "precision_at_k:k=1:ties=low", "one_error:ties=high", "roc_auc", "micro_f1")
    got = score_all(TRUE, PREDICTED, SCORES, names, ties="average", trivial="keep")
    assert got == {
        names[0]: metrics.precision_at_k(TRUE, SCORES, 1, ties="average", trivial="keep"),
        names[1]: metrics.precision_at_k(TRUE, SCORES, 1, ties="low", trivial="keep"),
        names[2]: metrics.one_error(TRUE, SCORES, ties="high", trivial="keep"),
        "roc_auc": metrics.roc_auc(TRUE, SCORES),
        "micro_f1": metrics.micro_f1(TRUE, PREDICTED),
    }
    assert list(score_all(TRUE, y_score=SCORES, metrics=["roc_auc", "roc_auc"])) == ["roc_auc"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("precision_at_k", "metric 'precision_at_k' must have a value of k. Hint: 'precision_at_k:k=2'"),
        ("precision_at_k:n=2", r"option of metric 'precision_at_k' must be parameter=value, of \['k', 'ties', 'triv"),
        ("log_loss:k=2", "metric 'log_loss' must be without options, got 'k=2'"),
        ("roc_auc:average", "option of metric 'roc_auc' must be parameter=value"),
        ("precision_at_kk:k=2", "got 'precision_at_kk:k=2'. Did you mean 'precision_at_k'"),
    ],
)
def test_wrong_names(name, message):
    """The message says what is missing or unknown."""
    with pytest.raises(ValueError, match=message):
        get_metric(name)


def test_nan_is_a_number():
    """As the value of 0/0 that leaves a label out."""
    true, predicted = [[1, 0], [0, 0]], [[1, 0], [0, 0]]
    assert get_metric("macro_f1:zero_division=nan")(true, predicted) == 1
    assert get_metric("macro_f1:zero_division=nan") == get_metric("macro_f1:zero_division=nan")


def test_options_are_checked_where_the_metric_is_computed():
    """As if the function had been called."""
    with pytest.raises(ValueError, match="k must be at most n_labels=4, got 9"):
        score_all(TRUE, y_score=SCORES, metrics=["ndcg_at_k:k=9"])
    with pytest.raises(TypeError, match="k must be an integer, got 'one'"):
        score_all(TRUE, y_score=SCORES, metrics=["ndcg_at_k:k=one"])


@pytest.mark.parametrize("name", ["log_loss", "precision_at_k:k=3", "one_error:ties=high"])
def test_names_of_ours_are_taken(name):
    """A metric of the user's own has another name: records know a metric by it."""
    with pytest.raises(ValueError, match="must not have the name of another one of the catalogue"):
        get_metric(Metric(name, lambda y_true, y_score: 0.0, "score"))


def test_titles_of_the_user_stay():
    """Metric objects are returned as they are."""
    metric = Metric("mine", metrics.roc_auc, "score", title="AUC")
    assert get_metric(metric) is metric
