import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn import multioutput
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from conftest import CHECKS, CONTAINERS
from nearlabel import testing
from nearlabel.rivals import BinaryRelevance, ClassifierChain, EnsembleOfClassifierChains

LOGISTIC = LogisticRegression(solver="newton-cholesky")
RNG = np.random.default_rng(0)
X, QUERIES = RNG.normal(size=(60, 4)), RNG.normal(size=(50, 4))
Y = (X @ RNG.normal(size=(4, 5)) + RNG.normal(size=(60, 5)) > 0.3).astype(int)
ORDERS = {"given": [3, 0, 4, 2, 1], "tuple": (4, 3, 2, 1, 0), "array": np.array([1, 0, 2, 4, 3]), "none": None}


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    """A chain keeps our own contract, but for the order of the labels, which is the order of the chain."""
    if check is testing.check_labels_permute_with_columns:
        pytest.skip("a chain depends on the order of the labels")
    check(ClassifierChain(LogisticRegression(solver="liblinear")))


@pytest.mark.parametrize("container", ["dense", "csr_array", "csr_matrix"])
@pytest.mark.parametrize(
    "estimator", [LOGISTIC, DecisionTreeClassifier(max_depth=3, random_state=0)], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("order", ORDERS)
def test_equals_the_chain_of_scikit_learn(order, estimator, container):
    """Label sets and probabilities are those of scikit-learn's chain in the same order, to the bit."""
    store = CONTAINERS[container]
    theirs = multioutput.ClassifierChain(estimator, order=ORDERS[order]).fit(store(X), Y)
    ours = ClassifierChain(estimator, order=ORDERS[order]).fit(store(X), store(Y))
    predicted = ours.predict(store(QUERIES))
    assert sparse.issparse(predicted) == (container != "dense")
    np.testing.assert_array_equal(
        predicted.toarray() if sparse.issparse(predicted) else predicted, theirs.predict(store(QUERIES))
    )
    np.testing.assert_array_equal(ours.predict_proba(store(QUERIES)), theirs.predict_proba(store(QUERIES)))
    assert list(ours.order_) == list(theirs.order_)


def test_decision_values_are_calibrated_unless_probability_is_off():
    """A support vector machine decides the same with and without `predict_proba`, which needs a calibration."""
    theirs = multioutput.ClassifierChain(LinearSVC(dual=False)).fit(X, Y)
    calibrated, plain = ClassifierChain(random_state=0).fit(X, Y), ClassifierChain(probability=False).fit(X, Y)
    for ours in (calibrated, plain):
        np.testing.assert_array_equal(ours.predict(QUERIES), theirs.predict(QUERIES))
    assert not hasattr(plain, "predict_proba")
    scores = calibrated.predict_proba(QUERIES)
    assert ((scores > 0) & (scores < 1)).all()


def test_labels_of_one_class_are_left_out():
    """A label of one class is in no chain, whatever its place in the order; the others are chained as without it."""
    constant = np.column_stack([Y[:, :2], np.ones(60), Y[:, 2:], np.zeros(60)]).astype(int)
    ours = ClassifierChain(LOGISTIC, order=[6, 4, 0, 2, 5, 3, 1]).fit(X, constant)
    assert ours.order_.tolist() == [4, 0, 5, 3, 1]
    theirs = multioutput.ClassifierChain(LOGISTIC, order=[3, 0, 4, 2, 1]).fit(X, Y)
    expected = theirs.predict(QUERIES)
    np.testing.assert_array_equal(ours.predict(QUERIES)[:, [0, 1, 3, 4, 5]], expected)
    assert (ours.predict(QUERIES)[:, [2, 6]] == [1, 0]).all()


def test_the_first_label_is_decided_as_by_binary_relevance():
    """The head of the chain sees no other label; the chain's other labels do."""
    chain = ClassifierChain(LOGISTIC, order=[2, 0, 1, 3, 4]).fit(X, Y)
    alone = BinaryRelevance(LOGISTIC).fit(X, Y)
    np.testing.assert_array_equal(chain.predict_proba(QUERIES)[:, 2], alone.predict_proba(QUERIES)[:, 2])
    assert (chain.predict_proba(QUERIES)[:, 4] != alone.predict_proba(QUERIES)[:, 4]).any()


def test_random_orders():
    """One seed, one order; another seed, another; an ensemble of one chain on all rows is the chain of its order."""
    orders = [
        ClassifierChain(LOGISTIC, order="random", random_state=seed).fit(X, Y).order_.tolist() for seed in (0, 0, 3)
    ]
    assert orders[0] == orders[1] != orders[2]
    one = EnsembleOfClassifierChains(LOGISTIC, n_estimators=1, max_samples=1.0, voting="soft", random_state=0).fit(X, Y)
    chain = ClassifierChain(LOGISTIC, order=one.estimators_[0].order_).fit(X, Y)
    np.testing.assert_array_equal(chain.predict_proba(QUERIES), one.predict_proba(QUERIES))


def test_pickles():
    """A fitted chain survives pickling."""
    chain = ClassifierChain(GaussianNB()).fit(X, Y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(chain)).predict(QUERIES), chain.predict(QUERIES))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": [0, 1]}, r"order must be a permutation of the labels 0 \.\. 4, 'random' or None, got \[0, 1\]"),
        ({"order": [0, 0, 1, 2, 3]}, "order must be a permutation of the labels"),
        ({"order": [0.0, 1.0, 2.0, 3.0, 4.0]}, "order must be a permutation of the labels"),
        ({"order": "sorted"}, "order must be a permutation of the labels, 'random' or None, got 'sorted'"),
        ({"random_state": "a"}, "cannot be used to seed"),
    ],
)
def test_bad_parameters(options, message):
    """A parameter out of range is named."""
    with pytest.raises(ValueError, match=message):
        clone(ClassifierChain(LOGISTIC, **options)).fit(X, Y)
