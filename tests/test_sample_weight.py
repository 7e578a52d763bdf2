"""Sample weights: a sample of weight 2 counts as two, whoever passes the weights on."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import has_fit_parameter

from nearlabel.labels import labelsets_by_frequency
from nearlabel.lazy import IBLR, MLMLM, BRkNN, MLkNN, StreamClassifier
from nearlabel.rivals import (
    HOMER,
    SMBR,
    AdaBoostMH,
    ADTBoostMH,
    BinaryRelevance,
    ClassifierChain,
    EnsembleOfBinaryRelevance,
    EnsembleOfClassifierChains,
    LabelPowerset,
    NeighborInterpolation,
    PredictiveClusteringTree,
    RAkELd,
    RAkELo,
    RandomForestPCT,
    SoftVote,
)
from nearlabel.selection import MixtureClassifierCV, NeighborsPerLabel
from nearlabel.solvers.label_probabilities import HeldOut, Platt, Temperature, most_likely_slope
from nearlabel.thresholds import TunedThresholdsClassifierCV
from nearlabel.utils.estimators import params_of_samples
from nearlabel.utils.validation import check_sample_weight

LOGISTIC = LogisticRegression(C=10, tol=1e-10, max_iter=10_000)
META = [
    BinaryRelevance(LOGISTIC),
    SMBR(LOGISTIC),
    ClassifierChain(LOGISTIC, order=[2, 0, 3, 1]),
    LabelPowerset(LOGISTIC),
    EnsembleOfBinaryRelevance(LOGISTIC, n_estimators=2, max_samples=1.0, voting="soft", threshold="cardinality"),
    RAkELo(LOGISTIC, n_estimators=2, voting="soft", random_state=0),
    RAkELd(LOGISTIC, labelset_size=2, voting="soft", random_state=0),
    HOMER(BinaryRelevance(LOGISTIC), n_clusters=2, random_state=0),
]
ROUTED = [META[0], META[2], META[3], META[4], META[5], META[7]]  # one a way of passing weights on
WEIGHTED = [
    *META,
    BinaryRelevance(GaussianNB()),
    LabelPowerset(GaussianNB()),
    RandomForestPCT(5, max_features=1.0, bootstrap=False, random_state=0),
    PredictiveClusteringTree(1, random_state=0),
    AdaBoostMH(20),
    ADTBoostMH(5),
]
DEFAULTS = [type(model)(random_state=0) for model in META] + [
    EnsembleOfClassifierChains(n_estimators=2, random_state=0)
]


@pytest.fixture
def routing():
    """Enable scikit-learn's metadata routing."""
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def weighted_problem():
    """Samples, label sets with a label of one class, whole-number weights from 0 to 3, and queries."""
    rng = np.random.default_rng(0)
    X, queries = rng.normal(size=(60, 4)), rng.normal(size=(200, 4))
    y = (X @ rng.normal(size=(4, 4)) + rng.normal(size=(60, 4)) > 0.3).astype(int)
    weights = rng.integers(0, 4, 60)
    y[:, 3] = weights == 0  # only samples of weight 0 carry the last label
    return X, y, weights, queries


def made_of(model, estimator):
    """Return a clone of a meta-estimator with another base estimator."""
    return clone(model).set_params(estimator=BinaryRelevance(estimator) if isinstance(model, HOMER) else estimator)


class Witness(GaussianNB):
    """A classifier that remembers its samples and their weights."""

    def fit(self, X, y, sample_weight=None):
        """Remember, and learn."""
        self.rows_, self.weights_ = X[:, 0].astype(int), sample_weight
        return super().fit(X, y, sample_weight)


def scores(model, queries):
    """Return what a classifier gives each label."""
    return getattr(model, "predict_proba" if hasattr(model, "predict_proba") else "decision_function")(queries)


@pytest.mark.parametrize("model", WEIGHTED, ids=str)
def test_whole_weights_are_repeated_samples(model, weighted_problem):
    """Weights of 0 to 3 give the scores to 1e-6, and the label sets, of a fit to samples repeated as often."""
    X, y, weights, queries = weighted_problem
    weighted = clone(model).fit(X, y, sample_weight=weights)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights, axis=0))
    np.testing.assert_allclose(scores(weighted, queries), scores(repeated, queries), rtol=0, atol=1e-6)
    np.testing.assert_array_equal(weighted.predict(queries), repeated.predict(queries))
    assert np.abs(scores(weighted, queries) - scores(clone(model).fit(X, y), queries)).max() > 0.01


@pytest.mark.parametrize("model", [*META, *DEFAULTS, *WEIGHTED[-3:]], ids=str)
def test_weights_of_one_change_no_bit(model, weighted_problem):
    """Weights of 1 give the bits of no weights, also where decision values are calibrated."""
    X, y, _, queries = weighted_problem
    weighted = clone(model).fit(X, y, sample_weight=np.ones(60))
    plain = clone(model).fit(X, y)
    np.testing.assert_array_equal(scores(weighted, queries), scores(plain, queries))
    np.testing.assert_array_equal(weighted.predict(queries), plain.predict(queries))


@pytest.mark.parametrize("model", ROUTED, ids=str)
def test_weights_through_scikit_learn_without_routing(model, weighted_problem):
    """A pipeline's `step__sample_weight` and a grid search pass weights on, each fold those of its samples."""
    X, y, weights, queries = weighted_problem
    direct = clone(model).fit(X, y, sample_weight=weights)
    pipeline = make_pipeline("passthrough", model)
    step = pipeline.steps[-1][0]
    piped = pipeline.fit(X, y, **{f"{step}__sample_weight": weights})
    np.testing.assert_array_equal(scores(piped, queries), scores(direct, queries))
    search = GridSearchCV(model, {}, cv=KFold(3)).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(scores(search.best_estimator_, queries), scores(direct, queries))


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("method", [EnsembleOfBinaryRelevance, EnsembleOfClassifierChains], ids=lambda m: m.__name__)
def test_resampled_rows_keep_their_weights(method, bootstrap, weighted_problem):
    """Each model of an ensemble gets the weights of the rows drawn for it, never a row of weight 0."""
    X, y, weights, _ = weighted_problem
    numbered = np.column_stack([np.arange(60), X])
    model = method(Witness(), bootstrap=bootstrap, random_state=0).fit(numbered, y, sample_weight=weights)
    seen = [witness for one in model.estimators_ for witness in one.estimators_]
    assert len(seen) >= 20
    for witness in seen:
        np.testing.assert_array_equal(witness.weights_, weights[witness.rows_])
    assert len({tuple(witness.rows_) for witness in seen}) == 10


def test_a_threshold_by_cardinality_counts_weights(weighted_problem):
    """The threshold predicts as many labels, weighted, as the training rows have."""
    X, y, _, _ = weighted_problem
    weights = np.where(y[:, 0] == 1, 1000, 1)
    ensemble = EnsembleOfBinaryRelevance(GaussianNB(), voting="soft", threshold="cardinality", max_samples=1.0)
    model = ensemble.fit(X, y[:, :3], sample_weight=weights)
    wanted = (weights @ y[:, :3]).sum()
    given = [(weights @ (model.predict_proba(X) >= cut)).sum() for cut in (model.threshold_, 0.5)]
    assert abs(given[0] - wanted) <= abs(given[1] - wanted)
    assert model.threshold_ != clone(ensemble).fit(X, y[:, :3]).threshold_


@pytest.mark.long
@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("model", ROUTED, ids=str)
def test_weights_through_scikit_learn_with_routing(model, weighted_problem):
    """With routing, the base estimator's request decides; folds of a cross-validation get their part of the weights."""
    X, y, weights, queries = weighted_problem
    asks = made_of(model, clone(LOGISTIC).set_fit_request(sample_weight=True))
    asks.set_score_request(sample_weight=True)
    direct = clone(asks).fit(X, y, sample_weight=weights)
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asks)
    piped = pipeline.fit(X, y, sample_weight=weights)[-1]
    assert (piped.predict_proba(queries) != clone(asks).fit(X, y).predict_proba(queries)).any()
    search = GridSearchCV(asks, {}, cv=KFold(3)).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(scores(search.best_estimator_, queries), scores(direct, queries))
    folds = cross_validate(asks, X, y, params={"sample_weight": weights}, cv=KFold(3), return_estimator=True)
    for fitted, (rows, _) in zip(folds["estimator"], KFold(3).split(X), strict=True):
        expected = clone(asks).fit(X[rows], y[rows], sample_weight=weights[rows])
        np.testing.assert_array_equal(scores(fitted, queries), scores(expected, queries))


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("model", META, ids=str)
def test_requests_of_the_base_estimator(model, weighted_problem):
    """Unset or refused: scikit-learn's error; by another name, and of a pipeline's step: weights."""
    X, y, weights, queries = weighted_problem
    weighted = made_of(model, clone(LOGISTIC).set_fit_request(sample_weight=True))
    expected = scores(weighted.fit(X, y, sample_weight=weights), queries)
    with pytest.raises(UnsetMetadataPassedError, match=r"sample_weight.*LogisticRegression"):
        clone(model).fit(X, y, sample_weight=weights)
    refuses = made_of(model, clone(LOGISTIC).set_fit_request(sample_weight=False))
    with pytest.raises(TypeError, match="not routed to any object"):
        refuses.fit(X, y, sample_weight=weights)
    step = make_pipeline("passthrough", clone(LOGISTIC).set_fit_request(sample_weight=True))
    piped = made_of(model, step).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(scores(piped, queries), expected)
    if isinstance(model, HOMER):
        return  # by another name the weights are known to the inner classifier only, not to the clusters of labels
    renamed = made_of(model, clone(LOGISTIC).set_fit_request(sample_weight="w"))
    np.testing.assert_array_equal(scores(renamed.fit(X, y, w=weights), queries), expected)


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("model", DEFAULTS, ids=str)
def test_the_default_base_estimator_requests_weights(model, weighted_problem):
    """Nobody can set a request on what None stands for, so it takes the weights; answers are those without routing."""
    X, y, weights, queries = weighted_problem
    routed = clone(model).fit(X, y, sample_weight=weights)
    with sklearn.config_context(enable_metadata_routing=False):
        direct = clone(routed).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(scores(routed, queries), scores(direct, queries))


@pytest.mark.parametrize("model", META, ids=str)
def test_weights_that_cannot_be_used(model, weighted_problem):
    """A base estimator without weights, metadata without routing, and malformed weights are named."""
    X, y, weights, _ = weighted_problem
    unweighted = made_of(model, KNeighborsClassifier())
    with pytest.raises(ValueError, match=r"sample_weight must be None .* got weights for KNeighborsClassifier\(\)"):
        unweighted.fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match=r"accepts \['groups'\] only if metadata routing is enabled"):
        clone(model).fit(X, y, groups=weights)
    for bad in (-weights, weights * np.nan, weights * 0, weights[:, np.newaxis]):
        with pytest.raises(ValueError, match="sample_weight must be finite numbers of at least 0"):
            clone(model).fit(X, y, sample_weight=bad)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clone(model).fit(X, y, sample_weight=weights[:-1])


def test_the_classifier_inside_a_calibration_is_weighted(weighted_problem):
    """Platt's classifier, and that of temperature scaling, decide as if samples were repeated; so do both scalings."""
    X, y, weights, queries = weighted_problem
    weights = weights + 1.0
    for calibrated in (Platt(LinearSVC(dual=False, tol=1e-10), 0), Temperature(LinearSVC(dual=False, tol=1e-10), 0)):
        model = calibrated.fit(X, y[:, 0], sample_weight=weights)
        repeated = LinearSVC(dual=False, tol=1e-10)
        repeated.fit(np.repeat(X, weights.astype(int), axis=0), np.repeat(y[:, 0], weights.astype(int)))
        np.testing.assert_allclose(
            model.estimator_.decision_function(queries), repeated.decision_function(queries), rtol=0, atol=1e-6
        )
        assert (clone(calibrated).fit(X, y[:, 0]).predict_proba(queries) != model.predict_proba(queries)).all()


def test_scaling_of_weighted_decisions_is_that_of_repeated_ones():
    """The slope of temperature scaling from decisions of weight w is that from w equal decisions."""
    rng = np.random.default_rng(0)
    column, weights = rng.integers(0, 3, 40), rng.integers(1, 4, 40)
    decisions = np.eye(3)[column] + rng.normal(size=(40, 3))
    once = most_likely_slope([HeldOut(decisions, column, weights.astype(float))])
    rows = np.repeat(np.arange(40), weights)
    assert once == pytest.approx(most_likely_slope([HeldOut(decisions[rows], column[rows], np.ones(len(rows)))]))
    assert once != pytest.approx(most_likely_slope([HeldOut(decisions, column, np.ones(40))]), rel=1e-3)


def test_label_sets_by_weight():
    """The label set of more weight comes first."""
    y = [[0, 1], [1, 0], [1, 0]]
    assert labelsets_by_frequency(y)[0].tolist() == [[1, 0], [0, 1]]
    assert labelsets_by_frequency(y, [3, 1, 1])[0].tolist() == [[0, 1], [1, 0]]
    assert labelsets_by_frequency(y, [2, 1, 1])[0].tolist() == [[0, 1], [1, 0]]


def test_params_of_samples():
    """What has a value for each sample is cut, whatever it is kept in; the rest stays whole."""
    params = {"sample_weight": [1.0, 2.0, 3.0], "groups": ("a", "b", "c"), "verbose": 1, "name": "abc", "two": [1, 2]}
    some = params_of_samples(params, np.array([0, 2]), 3)
    assert some["sample_weight"].tolist() == [1.0, 3.0]
    assert some["groups"].tolist() == ["a", "c"]
    assert (some["verbose"], some["name"], some["two"]) == (1, "abc", [1, 2])


def test_check_sample_weight():
    """Weights come back as float64."""
    assert check_sample_weight([1, 0], 2).dtype == np.float64


def test_methods_without_weights_refuse_them_with_a_way_out():
    """In the name of the user's class, whose signature has no such parameter."""
    X, y, weights = [[0.0], [1.0]], [[0, 1], [1, 0]], [1, 2]
    for pass_them in (lambda: IBLR(1).fit(X, y, sample_weight=weights), lambda: IBLR(1).fit(X, y, weights)):
        with pytest.raises(TypeError, match=r"sample_weight must not be passed to IBLR.fit, which takes no weights"):
            pass_them()
    with pytest.raises(TypeError, match=r"IBLR.fit\(\) got an unexpected keyword argument 'weight'"):
        IBLR(1).fit(X, y, weight=1)
    assert not has_fit_parameter(IBLR(), "sample_weight")
    whole = (NeighborsPerLabel(), MixtureClassifierCV(), StreamClassifier(), NeighborInterpolation(), SoftVote([]))
    for model in whole:  # of their own signatures
        name = rf"{type(model).__name__}\.fit"
        with pytest.raises(TypeError, match=rf"passed to {name}, .*for other methods, repeat samples"):
            model.fit(X, y, sample_weight=weights)
        with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected keyword argument 'w'"):
            model.fit(X, y, w=1)
    for model in (MLMLM().fit(X, y), StreamClassifier(), TunedThresholdsClassifierCV(BRkNN(1), cv="loo").fit(X, y)):
        with pytest.raises(TypeError, match=rf"passed to {type(model).__name__}\.partial_fit, .*repeat samples"):
            model.partial_fit(X, y, sample_weight=weights)
    named = (BRkNN(), MLkNN(), BinaryRelevance(), RandomForestPCT())  # in the hint
    assert all(has_fit_parameter(method, "sample_weight") for method in named)
