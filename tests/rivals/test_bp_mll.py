import math
import pickle

import numpy as np
import pytest
from numpy.random import RandomState
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from conftest import CONTAINERS
from nearlabel import testing
from nearlabel.datasets import fetch_dataset
from nearlabel.metrics import average_precision, hamming_loss
from nearlabel.rivals import BPMLL
from nearlabel.rivals._bp_mll import InputScale, RankingNetwork, pairwise_loss

METHOD = BPMLL(n_epochs=5, random_state=0)
# The first check asks for predict_proba, see test_scikit_learn_tools; first weights are drawn by the label's position.
NOT_THESE = (testing.check_scikit_learn_tools, testing.check_labels_permute_with_columns)
CHECKS = [check for check in testing.MULTILABEL_CHECKS if check not in NOT_THESE]


def loss_by_loops(outputs, labels):
    """Sum the paper's loss pair by pair."""
    relevant = [c for c, y in zip(outputs, labels, strict=True) if y == 1]
    irrelevant = [c for c, y in zip(outputs, labels, strict=True) if y == 0]
    total = sum(math.exp(-(k - m)) for k in relevant for m in irrelevant)
    return total / (len(relevant) * len(irrelevant))


def network_by_loops(coefs, intercepts, x):
    """Compute the outputs unit by unit."""
    layer = list(x)
    for weights, biases in zip(coefs, intercepts, strict=True):
        layer = [
            math.tanh(biases[unit] + sum(value * weights[i, unit] for i, value in enumerate(layer)))
            for unit in range(len(biases))
        ]
    return layer


def separable(n=60):
    """Draw rows whose labels are signs of features."""
    X = np.random.default_rng(0).normal(size=(n, 3))
    return X, (X > 0).astype(int)


def test_loss_and_its_gradient():
    """The factorised loss is that of two loops; its gradient is that of finite differences."""
    rng = np.random.default_rng(0)
    for labels in ([1, 0], [1, 0, 0, 1], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0, 1]):
        outputs, y = rng.uniform(-1, 1, len(labels)), np.array(labels, dtype=float)
        loss, gradient = pairwise_loss(outputs, y)
        assert loss == pytest.approx(loss_by_loops(outputs, labels), rel=1e-13)
        for label, step in enumerate(1e-6 * np.eye(len(labels))):
            difference = loss_by_loops(outputs + step, labels) - loss_by_loops(outputs - step, labels)
            assert gradient[label] == pytest.approx(difference / 2e-6, rel=1e-7)


def test_loss_by_hand():
    """Outputs ln 2 and 0 of a relevant and an irrelevant label: the loss is 1/2, its slopes ∓ 1/2."""
    loss, gradient = pairwise_loss(np.array([math.log(2), 0.0]), np.array([1.0, 0.0]))
    assert loss == pytest.approx(0.5)
    np.testing.assert_allclose(gradient, [-0.5, 0.5])


def test_back_propagation():
    """The gradient in every weight and bias is that of finite differences of the loops."""
    rng = np.random.default_rng(1)
    network = RankingNetwork.at_random((4, 3, 5), RandomState(0))
    x, labels = rng.uniform(-0.8, 0.8, 4), np.array([1.0, 0, 0, 1, 0])
    loss, gradient = network.gradient(x, labels)
    assert loss == pytest.approx(loss_by_loops(network_by_loops(network.coefs, network.intercepts, x), labels))
    for parameter, slope in zip([*network.coefs, *network.intercepts], gradient, strict=True):
        assert parameter.shape == slope.shape
        for place in np.ndindex(parameter.shape):
            kept, ends = parameter[place], []
            for step in (1e-6, -1e-6):
                parameter[place] = kept + step
                ends.append(loss_by_loops(network_by_loops(network.coefs, network.intercepts, x), labels))
            parameter[place] = kept
            assert slope[place] == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-9)


def test_one_step_by_hand():
    """A step takes rate times (gradient + decay times weight) from each weight."""
    network = RankingNetwork.at_random((2, 2, 3), RandomState(0))
    before = [parameter.copy() for parameter in [*network.coefs, *network.intercepts]]
    x, labels = np.array([0.3, -0.5]), np.array([1.0, 0, 0])
    loss, gradient = network.gradient(x, labels)
    assert network.descend(x, labels, 0.1, 0.01) == loss
    for old, slope, new in zip(before, gradient, [*network.coefs, *network.intercepts], strict=True):
        np.testing.assert_allclose(new, old - 0.1 * (slope + 0.01 * old), atol=1e-15)


def test_training_equals_loops():
    """A fit is the steps of its rows, in the order drawn, and the decision that of the loops less the threshold."""
    X, Y = separable(12)
    Y[0], Y[1] = 0, 1
    model = BPMLL(n_hidden=2, n_epochs=3, random_state=7).fit(X, Y)
    random, scaled = RandomState(7), 1.6 * (X - X.min(axis=0)) / np.ptp(X, axis=0) - 0.8
    network = RankingNetwork.at_random((3, 2, 3), random)
    paired, losses = [i for i in range(12) if 0 < Y[i].sum() < 3], []
    for _ in range(3):
        order = random.permutation(paired)
        losses.append(np.mean([network.descend(scaled[i], Y[i].astype(float), 0.05, 1e-5) for i in order]))
    np.testing.assert_allclose(model.loss_curve_, losses, rtol=1e-9)
    for ours, theirs in zip([*model.coefs_, *model.intercepts_], [*network.coefs, *network.intercepts], strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-12)
    outputs = np.array([network_by_loops(network.coefs, network.intercepts, x) for x in scaled])
    thresholds = outputs @ model.size_coef_[:-1] + model.size_coef_[-1]
    np.testing.assert_allclose(model.decision_function(X), outputs - thresholds[:, np.newaxis], atol=1e-10)
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) >= 0)


@pytest.mark.parametrize("container", CONTAINERS)
def test_inputs_are_scaled_by_their_ranges(container):
    """The range of the training rows becomes [-0.8, 0.8], a constant feature 0; queries go on beyond."""
    X = np.array([[0.0, 7.0, -4.0], [2.0, 7.0, 0.0], [1.0, 7.0, 0.0]])
    scale = InputScale.of(sparse.csr_array(CONTAINERS[container](X)) if container != "dense" else X)
    np.testing.assert_allclose(scale(X), [[-0.8, 0, -0.8], [0.8, 0, 0.8], [0, 0, 0.8]], atol=1e-15)
    np.testing.assert_allclose(scale(sparse.csr_array([[4.0, 9.0, 0.0]])), [[2.4, 0, 0.8]], atol=1e-15)


def test_unscaled_inputs():
    """Without scaling the features are the inputs, dense or sparse."""
    X, Y = separable(12)
    plain = BPMLL(n_epochs=2, scale="none", random_state=0).fit(X, Y)
    hidden = np.tanh(X @ plain.coefs_[0] + plain.intercepts_[0])
    outputs = np.tanh(hidden @ plain.coefs_[1] + plain.intercepts_[1])
    thresholds = outputs @ plain.size_coef_[:-1] + plain.size_coef_[-1]
    np.testing.assert_allclose(plain.decision_function(X), outputs - thresholds[:, np.newaxis], atol=1e-12)
    stored = clone(plain).fit(sparse.csr_array(X), Y)
    np.testing.assert_array_equal(stored.coefs_[0], plain.coefs_[0])


def test_learns_what_can_be_learnt():
    """The loss falls to nearly its least, exp(-2), and all pairs of a separable problem are ranked rightly."""
    X, Y = separable()
    model = BPMLL(n_hidden=6, random_state=0).fit(X, Y)
    assert len(model.loss_curve_) == model.n_iter_ == 100
    assert model.loss_curve_[0] > 0.5
    assert model.loss_curve_[-1] < 0.2
    assert (np.diff(model.loss_curve_[::20]) < 0).all()
    scores = model.decision_function(X)
    some = (Y.sum(axis=1) > 0) & (Y.sum(axis=1) < 3)
    lowest, highest = np.where(Y == 1, scores, np.inf).min(axis=1), np.where(Y == 0, scores, -np.inf).max(axis=1)
    assert (lowest > highest)[some].mean() > 0.97
    assert (model.predict(X) == Y).mean() > 0.85


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
def test_contract(check):
    """BP-MLL keeps our own contract."""
    check(clone(METHOD))


@pytest.mark.long
def test_scikit_learn_tools():
    """Pipelines, cross-validated scores and a grid search work."""
    X, Y = separable()
    model = make_pipeline(StandardScaler(), BPMLL(n_hidden=4, random_state=0))
    assert cross_val_predict(model, X, Y, cv=KFold(3), method="decision_function").shape == Y.shape
    grid = {"bpmll__n_epochs": [1, 60]}
    search = GridSearchCV(model, grid, scoring="f1_micro", cv=KFold(3), error_score="raise").fit(X, Y)
    assert search.best_params_ == {"bpmll__n_epochs": 60}


@pytest.mark.parametrize("container", CONTAINERS)
def test_rows_of_every_kind(problem, container):
    """Duplicates, constant features, rows without labels: finite scores, the same bits for sparse input."""
    X, Y, queries = problem
    scores = clone(METHOD).fit(X, Y).decision_function(queries)
    assert np.isfinite(scores).all()
    stored = clone(METHOD).fit(CONTAINERS[container](X), CONTAINERS[container](Y))
    np.testing.assert_array_equal(stored.decision_function(CONTAINERS[container](queries)), scores)


@pytest.mark.long
def test_one_label_is_learnt():
    """A lone label, or labels that rows carry together, are learnt against those that carry none; a row is recalled."""
    X, Y = separable()
    for labels in (Y[:, :1], Y[:, [0, 0]]):
        model = BPMLL(n_hidden=4, random_state=0).fit(X, labels)
        assert model.n_iter_ == 100
        np.testing.assert_array_equal(model.predict(X), labels)
    assert clone(METHOD).fit([[1.0, 2.0]], [[1, 0]]).predict([[0.0, 0.0]]).tolist() == [[1, 0]]


def test_hidden_units():
    """A float is a share of the features, rounded, at least one unit; an int is their number."""
    X, Y = np.random.default_rng(0).normal(size=(8, 13)), np.eye(8, 3, dtype=int)
    for n_hidden, width in ((0.2, 3), (0.01, 1), (1.0, 13), (1, 1), (5, 5)):
        model = clone(METHOD).set_params(n_hidden=n_hidden).fit(X, Y)
        assert [part.shape for part in model.coefs_] == [(13, width), (width, 3)]
        assert [part.shape for part in model.intercepts_] == [(width,), (3,)]


def test_seeds_and_blocks(monkeypatch):
    """One seed, one answer, however many rows are scaled at a time; another seed, another answer."""
    X, Y = separable()
    one, two, other = (BPMLL(n_epochs=3, random_state=s).fit(X, Y).decision_function(X) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()
    monkeypatch.setattr("nearlabel.utils.validation.row_blocks.__defaults__", (100,))
    blocked = BPMLL(n_epochs=3, random_state=1).fit(X, Y).decision_function(X)
    np.testing.assert_allclose(blocked, one, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_hidden": 0}, ValueError, "n_hidden must be a finite number above 0, got 0"),
        ({"n_hidden": "a"}, TypeError, "n_hidden must be a number"),
        ({"n_epochs": 0}, ValueError, "n_epochs must be at least 1, got 0"),
        ({"n_epochs": 1.5}, TypeError, "n_epochs must be an integer"),
        ({"learning_rate": 0}, ValueError, "learning_rate must be a finite number above 0"),
        ({"weight_decay": -1}, ValueError, "weight_decay must be a finite number above 0"),
        ({"scale": "standard"}, ValueError, "scale must be one of"),
        ({"random_state": "a"}, ValueError, "cannot be used to seed"),
    ],
)
def test_bad_parameters(options, error, message):
    """A parameter out of range is named."""
    with pytest.raises(error, match=message):
        BPMLL(**options).fit(np.eye(4), np.eye(4, dtype=int))


def test_unfitted_and_pickled():
    """Nothing can be asked before a fit; a fitted model survives pickling."""
    X, Y = separable()
    with pytest.raises(NotFittedError):
        BPMLL().predict(X)
    model = clone(METHOD).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), model.decision_function(X))


@pytest.mark.long
def test_real_data(data_folder):
    """On emotions, with few epochs, test rows are ranked and labelled much better than by chance."""
    training, test = (fetch_dataset("emotions", subset=part) for part in ("train", "test"))
    model = BPMLL(n_epochs=30, random_state=0).fit(training.X, training.Y)
    assert average_precision(test.Y, model.decision_function(test.X)) > 0.77
    assert hamming_loss(test.Y, model.predict(test.X)) < 0.24


def test_long_rows_get_a_lower_rate():
    """The rate is the paper's up to a mean squared length of 10 after scaling, then 1/2 over it; a number is taken."""
    rng = np.random.default_rng(0)
    Y = rng.integers(0, 2, (20, 3))
    X = rng.choice([-1.0, 1.0], (20, 50))  # scaled: 50 values of 0.8 or -0.8
    X[:2] = [[1.0] * 50, [-1.0] * 50]
    assert BPMLL(n_epochs=1, random_state=0).fit(X, Y).learning_rate_ == pytest.approx(1 / (2 * 50 * 0.8**2))
    assert BPMLL(n_epochs=1, random_state=0).fit(X[:, :5], Y).learning_rate_ == 0.05
    assert BPMLL(n_epochs=1, random_state=0).fit(np.ones((20, 3)), Y).learning_rate_ == 0.05
    assert BPMLL(n_epochs=1, learning_rate=0.3, random_state=0).fit(X, Y).learning_rate_ == 0.3


@pytest.mark.long
def test_learns_wide_rows(data_folder):
    """On image, 294 features, the default rate ranks the labels of test rows well; the paper's does not learn."""
    training, test = (fetch_dataset("image", subset=part) for part in ("train", "test"))
    precision = {}
    for rate in ("auto", 0.05):
        model = BPMLL(n_epochs=3, learning_rate=rate, random_state=0).fit(training.X, training.Y)
        precision[rate] = average_precision(test.Y, model.decision_function(test.X))
    assert precision["auto"] > 0.72
    assert precision[0.05] < 0.6


@pytest.mark.parametrize("width", [1e-310, 1.7e308])
def test_ranges_that_cannot_be_divided_by_are_refused(width):
    """A subnormal range has no inverse, and a range from -1.7e308 to 1.7e308 overflows."""
    X = np.array([[-width], [0.0], [width]])
    with pytest.raises(ValueError, match="ranges and inverse ranges are finite in float64, got a range of"):
        BPMLL(n_epochs=1, random_state=0).fit(X, [[0, 1], [1, 0], [0, 1]])
    assert BPMLL(n_epochs=1, random_state=0).fit(X / width * 1e290, [[0, 1], [1, 0], [0, 1]]).predict(X).shape == (3, 2)
