import itertools
import pickle
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, logsumexp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from conftest import CHECKS
from nearlabel import testing
from nearlabel.datasets import fetch_dataset
from nearlabel.metrics import hamming_loss, subset_accuracy
from nearlabel.rivals import BinaryRelevance, ConditionalBernoulliMixture, _label_mixtures
from nearlabel.rivals._cbm import Effort, Reduced, fit_gate, fit_labels, penalty
from nearlabel.rivals._label_mixtures import (
    LabelMixtures,
    bernoulli_mixture,
    most_probable_labelsets,
    sampled_labelsets,
)

CBM = ConditionalBernoulliMixture
DECISIONS = ["labelset", "marginals", "sampling"]
OF_DECISIONS = [
    testing.check_predictions_are_label_sets,
    testing.check_sparse_equals_dense,
    testing.check_labels_with_one_class_are_constant,
    testing.check_each_query_is_answered_by_itself,
    testing.check_fit_forgets,
]


def random_mixtures(seed, n=30, flat=None):
    """Mixtures of all sizes: sure and unsure labels, rare components, ties between whole numbers."""
    rng = np.random.default_rng(seed)
    n_components, n_labels = rng.integers(1, 7), rng.integers(1, 11)
    weights = rng.dirichlet(np.full(n_components, rng.choice([0.3, 1, 10])), n)
    log_odds = rng.normal(size=(n, n_components, n_labels)) * rng.choice([0.05, 0.5, 2, 50]) - rng.choice([0, 1, 2])
    return LabelMixtures(np.log(weights + 1e-300), np.round(log_odds) if seed % 5 == 0 else log_odds)


def log_probability(log_weights, log_odds, labels):
    """Return log Σ π Π b of one label set of one query, label by label."""
    joint = []
    for log_weight, odds in zip(log_weights, log_odds, strict=True):
        parts = [-np.logaddexp(0, -odd) if label else -np.logaddexp(0, odd) for odd, label in zip(odds, labels)]  # noqa: B905
        joint.append(log_weight + sum(parts))
    return logsumexp(joint)


def every_set(n_labels):
    """All label sets, the empty one first."""
    return np.array(list(itertools.product([False, True], repeat=n_labels)))


def rows(seed, n=120, d=4, n_labels=5):
    """Label sets that depend on rows and on each other."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    either = rng.random(n) < expit(2 * X[:, 0])
    Y = rng.random((n, n_labels)) < expit(X @ rng.normal(size=(d, n_labels)) - 0.5)
    Y[:, 0], Y[:, 1] = either, ~either
    return X, Y.astype(int)


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    """The mixture keeps our own contract."""
    check(CBM(2, tol=0.1, random_state=0))


@pytest.mark.parametrize("check", OF_DECISIONS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("decision", DECISIONS[1:])
def test_contract_of_decisions(decision, check):
    """The other decisions keep the parts of the contract that a decision could break."""
    check(CBM(2, tol=0.1, decision=decision, random_state=0))


@pytest.mark.parametrize("allow_empty", [True, False])
@pytest.mark.parametrize("seed", range(40))
def test_the_label_set_is_the_best_of_all(seed, allow_empty):
    """The answer of the search is as probable as the best of all 2^L label sets."""
    mixtures = random_mixtures(seed)
    sets = every_set(mixtures.log_odds.shape[2])[0 if allow_empty else 1 :]
    labels, proven = most_probable_labelsets(mixtures, allow_empty)
    none = mixtures.log_weights - np.logaddexp(0, mixtures.log_odds).sum(axis=2)
    value = logsumexp(none[:, :, np.newaxis] + mixtures.log_odds @ sets.T, axis=1)
    answer = value[np.arange(len(value)), [sets.tolist().index(row) for row in labels.tolist()]]
    assert proven.all()
    np.testing.assert_allclose(answer, value.max(axis=1), rtol=0, atol=1e-9)
    margin = np.diff(np.sort(value, axis=1)[:, -2:], axis=1).ravel() if len(sets) > 1 else np.ones(len(value))
    np.testing.assert_array_equal(labels[margin > 1e-9], sets[value.argmax(axis=1)][margin > 1e-9])


@pytest.mark.parametrize("seed", range(10))
def test_probabilities_equal_loops(seed):
    """Marginals are sums over all label sets, whose probabilities are those of a loop and sum to 1."""
    mixtures = random_mixtures(seed, n=2)
    sets = every_set(mixtures.log_odds.shape[2])
    for weights, log_odds, value, marginals in zip(
        *mixtures, mixtures.log_probability(np.stack([sets, sets])), mixtures.marginals(), strict=True
    ):
        expected = [log_probability(weights, log_odds, labels) for labels in sets[::7]]
        np.testing.assert_allclose(value[::7], expected, rtol=1e-12, atol=1e-9)
        assert np.exp(value).sum() == pytest.approx(1)
        np.testing.assert_allclose(marginals, np.exp(value) @ sets, rtol=0, atol=1e-9)


def test_a_mode_that_is_no_components_mode():
    """Three components give {0, 1}, {1, 2} and {0, 2}, none is sure: together all three labels are most probable."""
    log_odds = np.where(1 - np.eye(3), 3.0, -0.1)[np.newaxis]
    labels, proven = most_probable_labelsets(LabelMixtures(np.log(np.full((1, 3), 1 / 3)), log_odds), True)
    assert labels.tolist() == [[True, True, True]]
    assert proven.all()


def test_ties_by_hand():
    """Of equally probable sets the first component's own is taken; a label of log-odds 0 is not given."""
    weights = np.log([[0.5, 0.5]])
    for log_odds, winner in (
        ([[2.0, -2.0], [-2.0, 2.0]], [True, False]),
        ([[-2.0, 2.0], [2.0, -2.0]], [False, True]),
        ([[0.0, 1.0], [0.0, 1.0]], [False, True]),
    ):
        labels, _ = most_probable_labelsets(LabelMixtures(weights, np.array([log_odds])), True)
        assert labels.tolist() == [winner]
    nothing = LabelMixtures(weights, np.full((1, 2, 3), -4.0))
    assert most_probable_labelsets(nothing, True)[0].tolist() == [[False] * 3]
    assert most_probable_labelsets(nothing, False)[0].sum() == 1


def test_many_labels_in_no_time():
    """A hundred labels and ten components that disagree: proven, and no flip of one or two labels is better."""
    rng = np.random.default_rng(0)
    mixtures = LabelMixtures(np.log(rng.dirichlet(np.ones(10), 20)), rng.normal(size=(20, 10, 100)))
    labels, proven = most_probable_labelsets(mixtures, True)
    assert proven.all()
    pairs = [np.eye(100, dtype=bool)[i] | np.eye(100, dtype=bool)[j] for i in range(100) for j in range(i + 1)]
    others = mixtures.log_probability(labels[:, np.newaxis] ^ np.array(pairs))
    assert (others <= mixtures.log_probability(labels[:, np.newaxis]) + 1e-9).all()


def test_a_search_cut_off_says_so(monkeypatch):
    """With too many open label sets the answer is still good, and a warning tells that it is not proven."""
    rng = np.random.default_rng(0)
    mixtures = LabelMixtures(np.log(np.full((3, 8), 1 / 8)), 0.1 * rng.normal(size=(3, 8, 14)))
    best = most_probable_labelsets(mixtures, True)
    assert best[1].all()
    monkeypatch.setattr(_label_mixtures, "_MOST_NODES", 5)
    labels, proven = most_probable_labelsets(mixtures, True)
    assert not proven.any()
    for some in (slice(0, 1), slice(1, 3)):  # what is beside a query does not matter
        np.testing.assert_array_equal(most_probable_labelsets(mixtures.some(some), True)[0], labels[some])
    loss = mixtures.log_probability(best[0][:, np.newaxis]) - mixtures.log_probability(labels[:, np.newaxis])
    assert (loss < 0.1).all()
    X = rng.normal(size=(300, 2))
    model = CBM(8, random_state=0, max_iter=30, tol=0.1).fit(X, rng.random((300, 20)) < 0.5)
    monkeypatch.setattr("nearlabel.utils.validation.row_blocks.__defaults__", (200_000,))
    assert len(list(model._mixtures(X))) > 3
    with pytest.warns(ConvergenceWarning, match="of 300 queries are good, but may not be the most probable") as caught:
        model.predict(X)
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_samples(seed):
    """The best of many samples is nearly always the most probable set; a label is drawn as often as it is probable."""
    mixtures = random_mixtures(seed, n=20)
    drawn = sampled_labelsets(mixtures, 3000, np.random.RandomState(0), True)
    best, _ = most_probable_labelsets(mixtures, True)
    value, most = (mixtures.log_probability(labels[:, np.newaxis])[:, 0] for labels in (drawn, best))
    assert (most - value > -1e-9).all()
    assert (most - value < 1e-6).mean() > 0.8
    one = LabelMixtures(np.tile(mixtures.log_weights[:1], (1, 1)), mixtures.log_odds[:1])
    singles = [sampled_labelsets(one, 1, np.random.RandomState(s), True)[0] for s in range(600)]
    np.testing.assert_allclose(np.mean(singles, axis=0), one.marginals()[0], rtol=0, atol=0.08)


def test_samples_are_never_empty_where_that_is_not_allowed():
    """The likeliest label takes the place of the empty set."""
    mixtures = LabelMixtures(np.zeros((1, 1)), np.array([[[-9.0, -8.0, -9.0]]]))
    random = np.random.RandomState
    assert sampled_labelsets(mixtures, 5, random(0), True).tolist() == [[False, False, False]]
    assert sampled_labelsets(mixtures, 5, random(0), False).tolist() == [[False, True, False]]


@pytest.mark.parametrize("ridge", [1e-14, 0.7])
@pytest.mark.parametrize("seed", range(5))
def test_no_step_goes_down(seed, ridge):
    """From anywhere a step raises the weighted log-likelihood less the penalty, of every label and of the gate."""
    rng = np.random.default_rng(seed)
    X, targets, weights = rng.normal(size=(30, 4)) + 5, rng.dirichlet(np.ones(3), 30), rng.random((30, 2)) ** 9
    X[:, 3] = X[:, 0]
    labels, start = (targets > 0.3).astype(float), rng.normal(size=(5, 3)) * rng.choice([0.1, 1, 5])
    reduced, effort = Reduced(X, None), Effort(ridge, 1)

    def value_of_gate(coef):
        linear = X @ coef[1:] + coef[0]
        return (targets * (linear - logsumexp(linear, axis=1, keepdims=True))).sum() - penalty(coef, ridge)

    def value_of_labels(coef):
        against = (1 - 2 * labels) * (X @ coef[:, 1:] + coef[:, :1])
        gains = np.einsum("nk,knl->kl", weights, np.logaddexp(0, against))
        return -gains - ridge / 2 * np.square(coef[:, 1:]).sum(axis=1)

    gate, each = start, np.stack([start, -start])
    for _ in range(20):
        gate, before = fit_gate(reduced, targets, gate, effort), gate
        assert value_of_gate(gate) >= value_of_gate(before) - 1e-9
        each, before = fit_labels(reduced, labels, weights, each, effort), each
        assert (value_of_labels(each) >= value_of_labels(before) - 1e-9).all()


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_many_features_in_few_directions(stored):
    """More features than rows: the regression on directions of the rows is scikit-learn's on all features."""
    rng = np.random.default_rng(0)
    X, y = rng.poisson(0.4, (25, 60)).astype(float), rng.random(25) < 0.5
    X[3] = X[4]
    model = CBM(1, ridge=2.0, scale="none", tol=1e-12, max_iter=2000).fit(stored(X), y.reshape(-1, 1))
    theirs = LogisticRegression(C=0.5, tol=1e-9, max_iter=5000).fit(X - X.mean(axis=0), y)
    np.testing.assert_allclose(model.label_coef_[0, 1:, 0], theirs.coef_[0], rtol=0, atol=1e-4)
    np.testing.assert_allclose(
        model.predict_proba(stored(X))[:, 0], theirs.predict_proba(X - X.mean(axis=0))[:, 1], atol=1e-4
    )


def test_many_features_far_from_zero():
    """More features than rows, all a million away: nothing is lost to cancellation, sparse or dense."""
    X, Y = rows(0, n=20, d=60)
    model = CBM(3, random_state=0)
    expected = model.fit(X, Y).predict_proba(X)
    for stored in (np.asarray, sparse.csr_array):
        far = stored(X + 1e6)
        np.testing.assert_allclose(clone(model).fit(far, Y).predict_proba(far), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("ridge", [0.5, 5.0])
def test_gate_equals_scikit_learn(ridge):
    """Soft targets are stacked copies of the rows, weighted by them."""
    rng = np.random.default_rng(0)
    X, targets = rng.normal(size=(40, 3)), rng.dirichlet(np.ones(4), 40)
    coef = fit_gate(Reduced(X, None), targets, np.zeros((4, 4)), Effort(ridge, 3000))
    theirs = LogisticRegression(C=1 / ridge, tol=1e-9, max_iter=5000)
    theirs.fit(np.tile(X, (4, 1)), np.repeat(np.arange(4), 40), sample_weight=targets.T.ravel())
    np.testing.assert_allclose(coef[1:], theirs.coef_.T, rtol=0, atol=1e-4)
    np.testing.assert_allclose(coef[0] - coef[0].mean(), theirs.intercept_, rtol=0, atol=1e-4)


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("scale", ["standard", "none"])
def test_one_component_is_binary_relevance(scale, stored):
    """K = 1: each label has scikit-learn's logistic regression."""
    X, Y = rows(0)
    X = X * [1, 10, 1, 0.1] + 2
    model = CBM(1, ridge=2.0, scale=scale, tol=1e-12, max_iter=2000).fit(stored(X), Y)
    X = StandardScaler(with_std=scale == "standard").fit_transform(X)
    for label in range(5):
        theirs = LogisticRegression(C=0.5, tol=1e-9, max_iter=2000).fit(X, Y[:, label])
        np.testing.assert_allclose(model.label_coef_[0, 1:, label], theirs.coef_[0], rtol=0, atol=1e-4)
        assert model.label_coef_[0, 0, label] == pytest.approx(theirs.intercept_[0], abs=1e-4)
    np.testing.assert_array_equal(model.gate_coef_[1:], 0)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1))
def test_a_step_is_that_of_the_paper(seed):
    """The objective is that of a loop, and no regression on the responsibilities of a loop would go on from there."""
    X, Y = rows(seed, n=60)
    model = CBM(3, tol=1e-6, max_iter=3000, n_inner_iter=20, random_state=seed).fit(X, Y)
    Z = (X - model.mean_) / model.scale_
    joint = np.empty((60, 3))
    for i, (z, labels) in enumerate(zip(Z, Y, strict=True)):
        gate = model.gate_coef_[0] + z @ model.gate_coef_[1:]
        for k, coef in enumerate(model.label_coef_):
            b = expit(coef[0] + z @ coef[1:])
            joint[i, k] = np.log(np.exp(gate[k]) / np.exp(gate).sum()) + np.log(np.where(labels, b, 1 - b)).sum()
    weights = np.square(model.gate_coef_[1:]).sum() + np.square(model.label_coef_[:, 1:]).sum()
    assert model.objective_[-1] == pytest.approx(logsumexp(joint, axis=1).sum() - weights / 2)
    responsibilities = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    gate = responsibilities - np.exp(Z @ model.gate_coef_[1:] + model.gate_coef_[0]) / np.exp(
        Z @ model.gate_coef_[1:] + model.gate_coef_[0]
    ).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(Z.T @ gate, model.gate_coef_[1:], rtol=0, atol=0.02)
    for k, coef in enumerate(model.label_coef_):
        residuals = responsibilities[:, [k]] * (Y - expit(Z @ coef[1:] + coef[0]))
        np.testing.assert_allclose(Z.T @ residuals, coef[1:], rtol=0, atol=0.02)


@pytest.mark.parametrize("inner", [1, 3, 10])
@pytest.mark.parametrize("seed", range(2))
def test_the_objective_never_falls(seed, inner):
    """Each step raises the penalised log-likelihood, few iterations or many; also with more components than sets."""
    X, Y = rows(seed)
    for columns in (slice(0, 5), slice(2, 3)):
        model = CBM(4, n_inner_iter=inner, tol=1e-4, max_iter=500, random_state=seed).fit(X, Y[:, columns])
        assert np.diff(model.objective_).min() > -1e-8
        assert len(model.objective_) == model.n_iter_ > 3


def test_dependent_labels_by_hand():
    """Labels 0 and 1 exclude each other: label sets have one of them, where binary relevance gives both or none."""
    X = np.zeros((90, 1))
    Y = np.repeat([[1, 0, 1], [0, 1, 1], [0, 1, 0]], [40, 30, 20], axis=0)
    model = CBM(3, random_state=0, tol=1e-5, max_iter=1000).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[4 / 9, 5 / 9, 7 / 9]], rtol=0, atol=1e-3)
    assert model.predict(X[:1]).tolist() == [[1, 0, 1]]
    assert model.set_params(decision="sampling").predict(X[:1]).tolist() == [[1, 0, 1]]
    assert model.set_params(decision="marginals").predict(X[:1]).tolist() == [[0, 1, 1]]


@pytest.mark.parametrize("decision", ["labelset", "sampling"])
def test_the_empty_set(decision):
    """It is predicted if a training row has it, or as the parameter says; a label of all rows makes no set empty."""
    X = np.zeros((20, 1))
    Y = np.repeat([[0, 0], [1, 0], [0, 1]], [12, 5, 3], axis=0)

    def answer(labels, allow_empty=None):
        model = CBM(3, decision=decision, allow_empty=allow_empty, random_state=0)
        return model.fit(np.zeros((len(labels), 1)), labels).predict(X[:1]).tolist()

    assert answer(Y) == answer(Y, True) == [[0, 0]]
    assert answer(Y, False) == [[1, 0]]
    assert answer(Y[12:]) == [[1, 0]]
    assert answer(np.column_stack([Y, np.ones(20)]), False) == [[0, 0, 1]]
    assert answer([[0], [0], [0], [1]], False) == [[1]]


def test_bernoulli_mixture_finds_groups():
    """Rows of three groups of labels get the components of their groups, in whatever order labels are."""
    Y = np.repeat(np.kron(np.eye(3), np.ones(4)), 20, axis=0)
    Y = np.where(np.random.default_rng(0).random(Y.shape) < 0.05, 1 - Y, Y)
    responsibilities = bernoulli_mixture(Y, 3, np.random.RandomState(0))
    groups = responsibilities.argmax(axis=1).reshape(3, 20)
    assert (groups == groups[:, :1]).all()
    assert len(set(groups[:, 0])) == 3
    other = bernoulli_mixture(Y[:, ::-1], 3, np.random.RandomState(0))
    np.testing.assert_allclose(other, responsibilities, rtol=0, atol=1e-12)


@pytest.mark.long
@pytest.mark.parametrize(("seed", "decision"), list(enumerate(DECISIONS)))
def test_order_of_labels_and_storage(seed, decision):
    """Labels in another order, or rows stored sparsely, give the same marginals to 1e-9, and the same label sets."""
    X, Y = rows(seed, n_labels=7)
    X = np.where(X < 0, 0, X)
    order = np.random.default_rng(seed).permutation(7)
    model = CBM(4, decision=decision, tol=0.005, random_state=seed).fit(X, Y)
    scores, labels = model.predict_proba(X), model.predict(X)
    for stored in (sparse.csr_array, sparse.csr_matrix, lambda X: X.astype(np.float64)):
        other = clone(model).fit(stored(X), sparse.csr_array(Y))
        np.testing.assert_allclose(other.predict_proba(stored(X)), scores, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(other.predict(stored(X)).toarray(), labels)
    other = clone(model).fit(X, Y[:, order])
    np.testing.assert_allclose(other.predict_proba(X), scores[:, order], rtol=0, atol=1e-9)
    if decision != "sampling":
        np.testing.assert_array_equal(other.predict(X), labels[:, order])


@pytest.mark.parametrize("decision", DECISIONS)
def test_edges(problem, decision):
    """Duplicates, constant features, rows far from zero, labels of one class, few rows: all is finite and in range."""
    X, Y, queries = problem
    sizes = list(product((len(X), 1, 2, 5), (5, 1, 2)))
    for n, n_labels in sizes if decision == "labelset" else sizes[:: len(sizes) // 3]:
        model = CBM(3, tol=0.01, decision=decision, random_state=0).fit(X[:n], Y[:n, :n_labels])
        scores, labels = model.predict_proba(queries), model.predict(queries)
        assert ((scores >= 0) & (scores <= 1)).all()
        assert set(np.unique(labels)) <= {0, 1}
    model = CBM(4, decision=decision, random_state=0)
    single = clone(model).fit(X.astype(np.float32), Y).predict_proba(queries.astype(np.float32))
    np.testing.assert_allclose(single[:, 3:], np.tile([0.0, 1.0], (len(queries), 1)))


@pytest.mark.parametrize("decision", DECISIONS)
def test_blocks_change_nothing(decision, monkeypatch):
    """Answers do not depend on how many queries fit the memory budget."""
    X, Y = rows(0)
    model = CBM(4, decision=decision, random_state=0).fit(X, Y)
    labels, scores = model.predict(X), model.predict_proba(X)
    monkeypatch.setattr("nearlabel.utils.validation.row_blocks.__defaults__", (5000,))
    np.testing.assert_array_equal(model.predict(X), labels)
    np.testing.assert_allclose(model.predict_proba(X), scores, rtol=0, atol=1e-12)


def test_seeds():
    """One seed, one answer; a `RandomState` goes on."""
    X, Y = rows(0)
    one, two, other = (CBM(4, random_state=s).fit(X, Y).predict_proba(X) for s in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()
    state = np.random.RandomState(0)
    assert (CBM(4, random_state=state).fit(X, Y).label_coef_ != CBM(4, random_state=state).fit(X, Y).label_coef_).any()


def test_too_few_steps_are_told():
    """A warning tells that `max_iter` was not enough."""
    X, Y = rows(0)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 steps"):
        assert CBM(4, max_iter=2, random_state=0).fit(X, Y).n_iter_ == 2


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components must be at least 1, got 0"),
        ({"n_components": 2.5}, TypeError, "n_components must be an integer"),
        ({"ridge": 0}, ValueError, "ridge must be a finite number above 0, got 0"),
        ({"ridge": "a"}, TypeError, "ridge must be a number"),
        ({"scale": "minmax"}, ValueError, "scale must be one of"),
        ({"decision": "map"}, ValueError, "decision must be one of"),
        ({"allow_empty": "no"}, TypeError, "allow_empty must be True or False, got 'no'"),
        ({"n_samples": 0}, ValueError, "n_samples must be at least 1"),
        ({"max_iter": 0}, ValueError, "max_iter must be at least 1"),
        ({"tol": -1.0}, ValueError, "tol must be a finite number above 0"),
        ({"n_inner_iter": 0}, ValueError, "n_inner_iter must be at least 1"),
        ({"random_state": "a"}, ValueError, "cannot be used to seed"),
    ],
)
def test_bad_parameters(options, error, message):
    """A parameter out of range is named, also where it is set after `fit`."""
    X, Y = rows(0)
    with pytest.raises(error, match=message):
        CBM(**options).fit(X, Y)
    fitted = CBM(2, random_state=0).fit(X, Y)
    with pytest.raises(error, match=message):
        fitted.set_params(**options).predict(X)


def test_unfitted():
    """Nothing can be asked before a fit."""
    for method in ("predict", "predict_proba"):
        with pytest.raises(NotFittedError):
            getattr(CBM(), method)(np.eye(2))


def test_pickles():
    """A fitted classifier survives pickling."""
    X, Y = rows(0)
    model = CBM(4, decision="sampling", random_state=0).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize(("name", "n"), [("emotions", 150), pytest.param("medical", 100, marks=pytest.mark.long)])
def test_real_data_in_any_order_and_storage(data_folder, name, n):
    """On real data, too, sparse and dense rows and reordered labels give the same marginals, after many steps."""
    training = fetch_dataset(name, subset="train")
    X, Y = ((M.toarray() if sparse.issparse(M) else np.asarray(M))[:n] for M in (training.X, training.Y))
    model = CBM(3, random_state=0).fit(X, Y)
    scores = model.predict_proba(X)
    stored = sparse.csr_array(X)
    np.testing.assert_allclose(clone(model).fit(stored, Y).predict_proba(stored), scores, rtol=0, atol=1e-9)
    np.testing.assert_allclose(clone(model).fit(X, Y[:, ::-1]).predict_proba(X), scores[:, ::-1], rtol=0, atol=1e-9)


def test_real_data(data_folder):
    """More label sets are right than by binary relevance, marginals are the better guess label by label."""
    training, test = (fetch_dataset("emotions", subset=part) for part in ("train", "test"))
    model = CBM(5, ridge=10.0, tol=0.005, random_state=0).fit(training.X, training.Y)
    relevance = BinaryRelevance(LogisticRegression(max_iter=1000))
    scaler = StandardScaler().fit(training.X)
    theirs = relevance.fit(scaler.transform(training.X), training.Y).predict(scaler.transform(test.X))
    sets, labels = model.predict(test.X), model.set_params(decision="marginals").predict(test.X)
    assert subset_accuracy(test.Y, sets) > 1.05 * subset_accuracy(test.Y, theirs)
    assert hamming_loss(test.Y, labels) < hamming_loss(test.Y, sets)
    assert np.diff(model.objective_).min() > 0


def test_equally_probable_modes():
    """The first component's own label set is taken, although the second is more probable by a rounding error."""
    mixtures = LabelMixtures(np.log([[0.5 - 1e-15, 0.5 + 1e-15]]), np.array([[[3.0, -3.0], [-3.0, 3.0]]]))
    labels, proven = most_probable_labelsets(mixtures, True)
    assert labels.tolist() == [[True, False]]
    assert proven.all()


def test_marginals_of_one_half_are_predicted():
    """A label with a probability of exactly one half."""
    model = CBM(1, random_state=0, decision="marginals").fit([[0.0], [0.0]], [[1, 0], [0, 1]])
    assert model.predict_proba([[0.0]]).tolist() == [[0.5, 0.5]]
    assert model.predict([[0.0]]).tolist() == [[1, 1]]
