"""Weights: a row of weight w counts as w equal rows, in every metric."""

import inspect
import math

import numpy as np
import pytest
import sklearn
import sklearn.metrics as theirs
from scipy import sparse
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsClassifier

from nearlabel import metrics
from nearlabel.metrics import CATALOGUE, SCORERS, calibration_bins, get_scorer, score_all
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS, Evaluation, metrics_of

RNG = np.random.default_rng(2)
TRUE, PREDICTED = (RNG.random((2, 40, 6)) < 0.3).astype(int)
TRUE[0], TRUE[1], PREDICTED[:3] = 0, 1, 0
TRUE[:, 5] = PREDICTED[:, 5] = 0
SCORES = RNG.integers(0, 5, (40, 6)) / 4
WHOLE = RNG.integers(0, 4, 40)
FRACTIONS = RNG.random(40)
REPEATED = np.repeat(np.arange(40), WHOLE)
BETAS = ("fbeta_examples", "micro_fbeta", "macro_fbeta")
RULES = (("pessimistic", "drop"), ("low", "keep"), ("optimistic", "drop"), ("high", "drop"), ("average", "keep"))


def calls():
    """Yield every metric as a function of rows and weights, with its options pairwise."""
    for name, metric in CATALOGUE.items():
        if metric.needs == "score":
            options = [{"ties": ties, "trivial": rule} for ties, rule in RULES]
        elif name in ("hamming_loss", "subset_accuracy"):
            options = [{}]
        else:
            options = [{"zero_division": value} for value in (0.0, 1.0, math.nan)]
        yield from ((metric.function, SCORES if metric.needs == "score" else PREDICTED, each) for each in options)
    yield from ((getattr(metrics, name), PREDICTED, {"beta": 2.0}) for name in BETAS)


def test_every_public_metric_takes_weights_by_keyword():
    """The parameter is named as scikit-learn's, and is None by default."""
    for name in (*CATALOGUE, *BETAS, "score_all", "calibration_bins"):
        parameter = inspect.signature(getattr(metrics, name)).parameters["sample_weight"]
        assert (parameter.kind, parameter.default) == (inspect.Parameter.KEYWORD_ONLY, None), name


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_whole_weights_are_repeated_rows(wrap):
    """So a row of weight 0 is as good as absent."""
    for function, second, options in calls():
        got = function(wrap(TRUE), wrap(second), sample_weight=WHOLE, **options)
        expected = function(wrap(TRUE[REPEATED]), wrap(second[REPEATED]), **options)
        assert got == pytest.approx(expected, rel=1e-12, nan_ok=True), (function.__name__, options)


def test_weights_of_one_change_no_bit():
    """All ones are no weights."""
    for function, second, options in calls():
        got = function(TRUE, second, sample_weight=np.ones(40), **options)
        np.testing.assert_equal(got, function(TRUE, second, **options), err_msg=function.__name__)


def test_the_scale_of_weights_does_not_matter():
    """A power of two changes no bit, not even one that takes sums out of the range of floats."""
    for function, second, options in calls():
        expected = function(TRUE, second, sample_weight=FRACTIONS, **options)
        for scale in (0.25, 2.0**1000, 2.0**-1000):
            got = function(TRUE, second, sample_weight=FRACTIONS * scale, **options)
            np.testing.assert_equal(got, expected, err_msg=function.__name__)


def test_rows_without_weight_are_not_averaged():
    """Where every row that defines a metric has weight 0 there is no mean."""
    true, scores = np.array([[1, 0], [1, 1]]), np.array([[0.1, 0.2], [0.3, 0.4]])
    assert math.isnan(metrics.ranking_loss(true, scores, sample_weight=[0, 1]))
    zero_division = {"zero_division": math.nan, "sample_weight": [0, 1]}
    assert math.isnan(metrics.recall_examples([[1, 0], [0, 0]], [[1, 0], [0, 0]], **zero_division))


def test_a_loss_of_rounded_sums_is_not_negative():
    """Weights of very different size round the counts."""
    same = (RNG.random((60, 3)) < 0.5).astype(int)
    other = same.copy()
    other[0, 0] = 1 - other[0, 0]
    weights = np.append(1e-18, RNG.random(59))
    assert 0 <= metrics.hamming_loss(same, other, sample_weight=weights) < 1e-15


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@pytest.mark.parametrize("weights", [WHOLE, FRACTIONS], ids=["whole", "fractions"])
def test_weighted_metrics_are_those_of_scikit_learn(weights):
    """Wherever it has the metric."""
    some = TRUE.copy()
    some[:, 0] = 1  # its coverage counts a row without labels
    weighted = {"sample_weight": weights}
    expected = {
        "hamming_loss": theirs.hamming_loss(TRUE, PREDICTED, **weighted),
        "subset_accuracy": theirs.accuracy_score(TRUE, PREDICTED, **weighted),
        "jaccard_examples": theirs.jaccard_score(TRUE, PREDICTED, average="samples", **weighted),
    }
    for average, name in (("samples", "{}_examples"), ("micro", "micro_{}"), ("macro", "macro_{}")):
        for what in ("precision", "recall", "f1"):
            function = getattr(theirs, f"{what}_score")
            expected[name.format(what)] = function(TRUE, PREDICTED, average=average, zero_division=0.0, **weighted)
        got = getattr(metrics, name.format("fbeta"))(TRUE, PREDICTED, beta=2.0, **weighted)
        theirs_beta = theirs.fbeta_score(TRUE, PREDICTED, beta=2.0, average=average, zero_division=0.0, **weighted)
        assert got == pytest.approx(theirs_beta, rel=1e-12), average
    got = score_all(TRUE, PREDICTED, metrics=expected, **weighted)
    assert got == pytest.approx(expected, rel=1e-12)
    assert score_all(some, y_score=SCORES, trivial="keep", **weighted) == pytest.approx(
        {
            "one_error": metrics.one_error(some, SCORES, trivial="keep", **weighted),
            "coverage": theirs.coverage_error(some, SCORES, **weighted) - 1,
            "ranking_loss": theirs.label_ranking_loss(some, SCORES, **weighted),
            "average_precision": theirs.label_ranking_average_precision_score(some, SCORES, **weighted),
        },
        rel=1e-12,
    )


def test_score_all_with_weights_is_the_single_functions():
    """Shared counts and ranks, the same bits."""
    values = score_all(TRUE, PREDICTED, SCORES, sample_weight=FRACTIONS)
    for name, metric in CATALOGUE.items():
        second = SCORES if metric.needs == "score" else PREDICTED
        assert values[name] == metric.function(TRUE, second, sample_weight=FRACTIONS), name


def test_empty_predictions_and_calibration_with_weights():
    """Both count as repeated rows do."""
    names = [EMPTY_PREDICTIONS, "micro_f1"]
    got = Evaluation.of(TRUE, metrics_of(names), WHOLE).values(PREDICTED, None)
    assert got == pytest.approx(Evaluation.of(TRUE[REPEATED], metrics_of(names)).values(PREDICTED[REPEATED], None))
    bins = calibration_bins(TRUE, SCORES, sample_weight=WHOLE)
    expected = calibration_bins(TRUE[REPEATED], SCORES[REPEATED])
    for field in ("counts", "mean_probability", "true_share", "error"):
        np.testing.assert_allclose(getattr(bins, field), getattr(expected, field), err_msg=field)


@pytest.mark.parametrize("wrong", [[1.0] * 39 + [-1.0], [np.nan] * 40, [np.inf] * 40, [0.0] * 40, [[1.0]] * 40])
def test_wrong_weights(wrong):
    """Negative, infinite, all zero or of two dimensions."""
    for function, second, options in calls():
        with pytest.raises(ValueError, match="sample_weight must be finite numbers of at least 0, one for each row"):
            function(TRUE, second, sample_weight=wrong, **options)


def test_weights_of_other_rows():
    """Both lengths are in scikit-learn's message."""
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[3, 40\]"):
        score_all(TRUE, PREDICTED, sample_weight=[1, 2, 3])


@pytest.mark.parametrize("name", ["micro_f1", "hamming_loss", "ranking_loss", "average_precision"])
def test_scorers_pass_weights_on(name):
    """Called directly, and in cross-validation where metadata routing brings them."""
    X, y = make_multilabel_classification(n_samples=60, n_classes=4, random_state=0)
    fitted = KNeighborsClassifier().fit(X, y)
    weights = np.arange(60)
    repeated = np.repeat(np.arange(60), weights)
    got = SCORERS[name](fitted, X, y, sample_weight=weights)
    assert got == pytest.approx(SCORERS[name](fitted, X[repeated], y[repeated]))
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer(name).set_score_request(sample_weight=True)
        split = [(np.arange(40), np.arange(40, 60))]
        results = cross_validate(fitted, X, y, scoring=scorer, cv=split, params={"sample_weight": weights})
    expected = scorer(KNeighborsClassifier().fit(X[:40], y[:40]), X[40:], y[40:], sample_weight=weights[40:])
    assert results["test_score"] == pytest.approx([expected])
