"""Calibrated probabilities: the maps by slow definitions, and the classifier around any other."""

import numpy as np
import pytest
import sklearn
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneGroupOut, LeaveOneOut
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from conftest import CHECKS
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.models import explain, predict_labels
from nearlabel.solvers.score_maps import Levels, fit_score_map
from nearlabel.thresholds import CalibratedLabels, MicroFOptimum, TunedThresholdsClassifierCV

METHODS = ("sigmoid", "isotonic", "beta")
MODELS = [
    CalibratedLabels(MLkNN(3), cv="loo"),
    pytest.param(CalibratedLabels(BRkNN(3), "isotonic", cv=3), marks=pytest.mark.long),
    pytest.param(CalibratedLabels(BRkNN(3), "beta", cv="loo"), marks=pytest.mark.long),
]


def data(n=80, n_labels=4, seed=0):
    """Rows, and label sets that depend on them; label 3 is rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    Y = (X[:, :n_labels] + 0.5 * rng.normal(size=(n, n_labels)) > [0.0, 0.5, 0.8, 1.4][:n_labels]).astype(int)
    return X, Y


def scored(seed, n=60):
    """Scores with ties, some of them 0 and 1, with what is true of them, and weights."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 11, n) / 10
    y = (rng.random(n) < 0.1 + 0.6 * scores**2).astype(int)
    return scores, y, rng.integers(1, 4, n).astype(float)


def targets_of(y, weights):
    """Platt's."""
    n1, n0 = weights[y == 1].sum(), weights[y == 0].sum()
    return np.where(y == 1, (n1 + 1) / (n1 + 2), 1 / (n0 + 2))


def pooled_adjacent_violators(scores, y, weights):
    """Return the isotonic value at each distinct score: neighbouring blocks that fall are merged until none does."""
    targets = targets_of(y, weights)
    blocks = []
    for level in np.unique(scores):
        at = scores == level
        blocks.append([weights[at].sum(), (weights * targets)[at].sum(), 1])
        while len(blocks) > 1 and blocks[-2][1] / blocks[-2][0] >= blocks[-1][1] / blocks[-1][0]:
            weight, total, size = blocks.pop()
            blocks[-1] = [blocks[-1][0] + weight, blocks[-1][1] + total, blocks[-1][2] + size]
    return np.concatenate([[total / weight] * size for weight, total, size in blocks])


def logistic_by_scipy(columns, y, weights, at):
    """Return the probabilities of the regression with slopes of at least 0, by a general optimiser."""
    targets = targets_of(y, weights)

    def loss(coef):
        linear = coef[0] + columns @ coef[1:]
        return (weights * (np.logaddexp(0, linear) - targets * linear)).sum()

    bounds = [(None, None)] + [(0, None)] * columns.shape[1]
    start = np.zeros(1 + columns.shape[1])
    found = minimize(loss, start, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-10})
    return expit(found.x[0] + at @ found.x[1:])


def columns_of(method, scores):
    """0 and 1 count as halfway to the nearest other of 0, 0.1, .. 1."""
    p = np.clip(scores, 0.05, 0.95)
    if method == "sigmoid":
        return np.log(p / (1 - p))[:, np.newaxis]
    return np.column_stack([np.log(p), -np.log(1 - p)])


@pytest.mark.parametrize("seed", range(4))
def test_isotonic_by_definition(seed):
    """The blocks of pooled adjacent violators; linear between them, constant beyond."""
    scores, y, weights = scored(seed)
    levels, expected = np.unique(scores), pooled_adjacent_violators(scores, y, weights)
    one = fit_score_map("isotonic", scores, y, weights, are_probabilities=True)
    np.testing.assert_allclose(one.predict(levels), expected, atol=1e-12)
    middle = (levels[1:] + levels[:-1]) / 2
    np.testing.assert_allclose(one.predict(middle), (expected[1:] + expected[:-1]) / 2, atol=1e-12)
    np.testing.assert_allclose(one.predict(np.array([-np.inf, np.inf])), expected[[0, -1]], atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["sigmoid", "beta"])
def test_logistic_maps_by_definition(method, seed):
    """The likeliest regression on log-odds, or on both logarithms, with slopes of at least 0."""
    scores, y, weights = scored(seed)
    one = fit_score_map(method, scores, y, weights, are_probabilities=True)
    queries = np.linspace(0, 1, 21)
    expected = logistic_by_scipy(columns_of(method, scores), y, weights, columns_of(method, queries))
    np.testing.assert_allclose(one.predict(queries), expected, atol=2e-3)  # the ridge, and the optimiser
    np.testing.assert_array_equal(one.predict(np.array([0.0])), one.predict(np.array([0.05])))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "beta"])
def test_shares_of_0_and_1_alone(method):
    """Hard answers, as of one neighbour or a tree, differ: each gets the mean target of its rows."""
    scores, y = np.repeat([0.0, 1.0], [60, 40]), np.repeat([0, 1, 0, 1], [50, 10, 8, 32])
    one = fit_score_map(method, scores, y, np.ones(100), are_probabilities=True)
    targets = targets_of(y, np.ones(100))
    expected = [targets[:60].mean(), targets[60:].mean()]
    np.testing.assert_allclose(one.predict(np.array([0.0, 1.0])), expected, atol=2e-4)  # the ridge


def test_a_slope_of_beta_is_at_least_zero():
    """Where the best slope of one logarithm is negative, the other one is fitted alone."""
    scores = np.repeat([0.1, 0.5, 0.9], 40)
    y = np.concatenate([np.arange(40) < share for share in (2, 30, 32)]).astype(int)  # rises, then hardly
    one = fit_score_map("beta", scores, y, np.ones(120), are_probabilities=True)
    p = np.linspace(0.05, 0.95, 19)
    expected = logistic_by_scipy(np.log(np.column_stack([scores])), y, np.ones(120), np.log(p)[:, np.newaxis])
    assert one.coef[1] > 0
    assert one.coef[2] == 0
    np.testing.assert_allclose(one.predict(p), expected, atol=2e-3)


def test_sigmoid_of_decision_values_is_platts():
    """On decision values, the sigmoid of scikit-learn's CalibratedClassifierCV."""
    X, Y = data()
    y = Y[:, 1]
    fitted = LinearSVC().fit(X[:40], y[:40])
    theirs = CalibratedClassifierCV(FrozenEstimator(fitted)).fit(X[40:], y[40:]).predict_proba(X)
    ours = CalibratedLabels(fitted, cv="prefit").fit(X[40:], y[40:]).predict_proba(X)
    np.testing.assert_allclose(ours, theirs, atol=2e-3)


@pytest.mark.parametrize("probabilities", [True, False])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_no_map_falls(method, probabilities):
    """Where a higher score means less, the map is constant: the mean target."""
    scores = np.linspace(0.1, 0.9, 50)
    y = (scores < 0.3).astype(int)
    one = fit_score_map(method, scores, y, np.ones(50), are_probabilities=probabilities)
    mean = targets_of(y, np.ones(50)).mean()
    np.testing.assert_allclose(one.predict(np.linspace(0, 1, 7)), mean, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_own_labels_in_left_out_scores_do_no_harm(method):
    """Left-out scores of ML-kNN are lower for those with the label at the same votes; no map learns that."""
    X, Y = data(200)
    Y = np.column_stack([Y, np.random.default_rng(1).random(200) < 0.3]).astype(int)  # one of chance
    model = CalibratedLabels(MLkNN(5), method, cv="loo").fit(X, Y)
    scores = MLkNN(5).fit(X, Y).loo_predict_proba()[:, 4]
    assert scores[Y[:, 4] == 1].mean() < scores[Y[:, 4] == 0].mean()
    probabilities = model.predict_proba(X)[:, 4]
    np.testing.assert_allclose(probabilities, Y[:, 4].mean(), atol=0.1)


@pytest.mark.parametrize("scores", [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0], [1e-300, 1.0, 0.5]])
@pytest.mark.parametrize("method", METHODS)
def test_extreme_scores(method, scores):
    """Probabilities stay inside (0, 1), whatever the scores."""
    one = fit_score_map(method, np.array(scores), np.array([0, 1, 0]), np.ones(3), are_probabilities=True)
    probabilities = one.predict(np.array([0.0, 1e-9, 0.5, 1.0]))
    assert ((probabilities > 0) & (probabilities < 1)).all()
    assert (np.diff(probabilities) >= 0).all()


def test_levels_count_weights():
    """A row of weight 2 counts as two equal ones."""
    scores, y, weights = scored(0)
    times = weights.astype(int)
    one = Levels.of(scores, y, weights)
    other = Levels.of(np.repeat(scores, times), np.repeat(y, times), np.ones(times.sum()))
    for left, right in zip(one, other, strict=True):
        np.testing.assert_allclose(left, right)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("model", MODELS)
def test_contract(model, check):
    """It obeys the contract of all multi-label classifiers."""
    check(clone(model))


@pytest.mark.parametrize("inner", [MLkNN(5), BRkNN(5, weights="distance")], ids=str)
@pytest.mark.parametrize("method", METHODS)
def test_leave_one_out_needs_no_refit(method, inner):
    """cv="loo" finds what refitting without each row would."""
    X, Y = data(24)
    fast = CalibratedLabels(inner, method, cv="loo").fit(X, Y)
    slow = CalibratedLabels(inner, method, cv=LeaveOneOut()).fit(X, Y)
    np.testing.assert_allclose(fast.predict_proba(X), slow.predict_proba(X), rtol=1e-9)


def test_groups_are_left_out_together():
    """Each row is scored by rows of other groups."""
    X, Y = data(40)
    groups = np.arange(40) // 4
    fast = CalibratedLabels(MLkNN(5), cv="loo").fit(X, Y, groups=groups)
    slow = CalibratedLabels(MLkNN(5), cv=LeaveOneGroupOut()).fit(X, Y, groups=groups)
    np.testing.assert_allclose(fast.predict_proba(X), slow.predict_proba(X), rtol=1e-9)
    alone = CalibratedLabels(MLkNN(5), cv="loo").fit(X, Y)
    assert np.abs(fast.predict_proba(X) - alone.predict_proba(X)).max() > 1e-3


def test_folds_by_hand():
    """The scores of the folds, pooled, make the map; the scores of a fit to all rows go through it."""
    X, Y = data()
    forest = RandomForestClassifier(5, random_state=0)
    pooled = np.empty(Y.shape)
    for training, validation in KFold(4).split(X):
        parts = clone(forest).fit(X[training], Y[training]).predict_proba(X[validation])
        pooled[validation] = np.column_stack([part[:, 1] for part in parts])
    final = np.column_stack([part[:, 1] for part in clone(forest).fit(X, Y).predict_proba(X)])
    model = CalibratedLabels(forest, "isotonic", cv=4).fit(X, Y)
    for label in range(4):
        expected = pooled_adjacent_violators(pooled[:, label], Y[:, label], np.ones(80))
        np.testing.assert_allclose(
            model.predict_proba(X)[:, label], np.interp(final[:, label], np.unique(pooled[:, label]), expected)
        )
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) >= 0.5)


@pytest.mark.parametrize("method", METHODS)
def test_labels_of_one_class(method):
    """One that no row carries has 1 / (n + 2), one that all carry the rest."""
    X, Y = data(30)
    Y[:, 0], Y[:, 3] = 0, 1
    model = CalibratedLabels(MLkNN(3), method, cv="loo").fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X)[:, [0, 3]], np.tile([1 / 32, 31 / 32], (30, 1)))
    assert model.predict(X)[:, [0, 3]].tolist() == [[0, 1]] * 30


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.filterwarnings("ignore:Label .* is present in all training examples")
def test_infinite_decision_values(method):
    """Where a fold's training rows have one class, its score is infinite and tells nothing; it spoils nothing."""
    X, Y = data()
    Y[:, 3] = 0
    Y[-10:-5, 3] = 1  # in the last fold only
    model = CalibratedLabels(OneVsRestClassifier(LinearSVC()), method, cv=5).fit(X, Y)
    probabilities = model.predict_proba(X)
    assert np.isfinite(probabilities).all()
    assert (model.predict(X)[:, 3] == 0).all()
    Y[:, 3] = 1
    model.fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X)[:, 3], 81 / 82)


@pytest.mark.filterwarnings("ignore:Label 2 is known in too few samples")
@pytest.mark.parametrize("container", [np.array, sparse.csr_array], ids=["dense", "sparse"])
def test_unknown_cells_are_left_out(container):
    """A label's map is fitted to the rows that know it; one that no row knows has the probability 0."""
    X, Y = data(60)
    partial = Y.astype(float)
    partial[:20, 1], partial[:, 2] = np.nan, np.nan
    model = CalibratedLabels(MLkNN(3), "isotonic", cv="loo").fit(X, container(partial))
    scores = MLkNN(3).fit(X, partial).loo_predict_proba()[20:, 1]
    expected = pooled_adjacent_violators(scores, Y[20:, 1], np.ones(40))
    np.testing.assert_allclose(model.calibrators_[1].predict(np.unique(scores)), expected, atol=1e-12)
    assert (model.predict_proba(X)[:, 2] == 0).all()


class Given(ClassifierMixin, BaseEstimator):
    """Scores that are the features, and the weights that `fit` got."""

    def fit(self, X, y, sample_weight=None):
        """Keep the weights."""
        self.weights_ = sample_weight
        return self

    def predict_proba(self, X):
        """Return the features."""
        return X


def test_weights():
    """They weight the rows of the maps, with and without routing; the inner classifier gets them if it requests."""
    scores, y, weights = scored(1)
    weights[:5] = 0
    X, Y = scores[:, np.newaxis], y[:, np.newaxis]
    expected = fit_score_map("sigmoid", scores[5:], y[5:], weights[5:], are_probabilities=True).predict(scores)
    direct = CalibratedLabels(Given(), cv=3).fit(X, Y, sample_weight=weights)
    np.testing.assert_array_equal(direct.predict_proba(X)[:, 0], expected)
    assert direct.estimator_.weights_ is None
    with sklearn.config_context(enable_metadata_routing=True):
        routed = CalibratedLabels(Given().set_fit_request(sample_weight=True), cv=3).fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(routed.predict_proba(X)[:, 0], expected)
        np.testing.assert_array_equal(routed.estimator_.weights_, weights)
        unasked = CalibratedLabels(Given().set_fit_request(sample_weight=False), cv=3)
        assert unasked.fit(X, Y, sample_weight=weights).estimator_.weights_ is None


def test_with_thresholds_pipelines_and_grids():
    """Thresholds are tuned on calibrated probabilities; a grid chooses the method."""
    X, Y = data()
    calibrated = CalibratedLabels(MLkNN(5), cv="loo")
    tuned = TunedThresholdsClassifierCV(make_pipeline(StandardScaler(), calibrated), cv=4).fit(X, Y)
    pooled = np.vstack(
        [
            make_pipeline(StandardScaler(), calibrated).fit(X[training], Y[training]).predict_proba(X[held_out])
            for training, held_out in KFold(4).split(X)
        ]
    )
    np.testing.assert_array_equal(tuned.thresholds_, MicroFOptimum().fit(pooled, Y).thresholds_)
    grid = GridSearchCV(calibrated, {"method": METHODS, "estimator__n_neighbors": [3, 9]}, scoring="f1_micro", cv=2)
    assert grid.fit(X, Y).best_estimator_.estimator_.n_neighbors == grid.best_params_["estimator__n_neighbors"]
    with pytest.raises(ValueError, match="cv='loo' needs probabilities of a classifier with loo_predict_proba"):
        TunedThresholdsClassifierCV(calibrated, cv="loo").fit(X, Y)


@pytest.mark.parametrize(
    "around",
    [
        lambda inner: inner,
        lambda inner: TunedThresholdsClassifierCV(inner, cv=3),
        lambda inner: TunedThresholdsClassifierCV(inner, MicroFOptimum(beta=2), cv=3, at_least=1),
    ],
    ids=["alone", "thresholds", "a rule"],
)
@pytest.mark.parametrize("inner", [BRkNN(4), make_pipeline(StandardScaler(), BRkNN(4))], ids=["knn", "pipeline"])
def test_explanations_are_of_the_decisions(inner, around):
    """What is explained is what is predicted, by the names of the labels, also where thresholds are around it."""
    pd = pytest.importorskip("pandas")
    X, Y = data(50)
    frame = pd.DataFrame(Y, columns=list("abcd"))
    model = around(CalibratedLabels(inner, cv="loo")).fit(X, frame)
    expected = [tuple(frame.columns[row == 1]) for row in model.predict(X)]
    assert [tuple(one.predicted) for one in explain(model, X)] == expected
    assert predict_labels(model, X) == expected
    if isinstance(inner, BRkNN):
        assert [tuple(one.predicted) for one in model.explain(X)] == expected


def test_one_label_and_sparse_sets():
    """A one-dimensional y has a column for each class; sparse label sets stay sparse."""
    X, Y = data()
    names = np.where(Y[:, 0] == 1, "yes", "no")
    one = CalibratedLabels(MLkNN(5), cv="loo").fit(X, names)
    assert set(one.predict(X)) == {"no", "yes"}
    many = CalibratedLabels(MLkNN(5), cv="loo").fit(X, sparse.csr_array(Y))
    dense = CalibratedLabels(MLkNN(5), cv="loo").fit(X, Y)
    np.testing.assert_array_equal(one.predict_proba(X)[:, 1], dense.predict_proba(X)[:, 0])
    assert sparse.issparse(many.predict(X))
    np.testing.assert_array_equal(many.predict_proba(X), dense.predict_proba(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"method": "binning"}, "method must be one of"),
        ({"cv": "loop"}, "cv must be one of"),
        ({"cv": 1}, "cv must be at least 2, got 1"),
        ({"response_method": "predict"}, "response_method must be one of"),
        (
            {"estimator": OneVsRestClassifier(LinearSVC()), "method": "beta"},
            "method must be 'sigmoid' or 'isotonic' for decision values, got 'beta'",
        ),
        ({"estimator": MultiOutputClassifier(LogisticRegression()), "cv": "loo"}, "cv='loo' needs probabilities"),
    ],
)
def test_bad_parameters(parameters, message):
    """What, expected, got."""
    X, Y = data()
    with pytest.raises(ValueError, match=message):
        CalibratedLabels(MLkNN(3)).set_params(**parameters).fit(X, Y)


def test_unfitted_and_malformed_weights():
    """As of other classifiers."""
    X, Y = data()
    with pytest.raises(NotFittedError):
        CalibratedLabels(MLkNN(3)).predict_proba(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        CalibratedLabels(MLkNN(3)).fit(X, Y, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="only if metadata routing is enabled"):
        CalibratedLabels(MLkNN(3)).fit(X, Y, other=np.ones(80))
