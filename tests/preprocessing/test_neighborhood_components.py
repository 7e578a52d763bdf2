"""Learnt weights of features: the loss and its gradient against plain loops, and the transformer that minimises it."""

import math
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import nearlabel.solvers.left_out_votes as left_out_votes
from nearlabel.lazy import BRkNN
from nearlabel.neighbors import GaussianWeights
from nearlabel.preprocessing import NeighborhoodComponentsWeights
from nearlabel.solvers.left_out_votes import LeftOutVotes
from nearlabel.thresholds import TunedThresholdsClassifierCV
from nearlabel.utils.validation import row_blocks

STORAGES = [np.asarray, sparse.csr_array, sparse.csc_matrix]


@pytest.fixture
def problem():
    """Rows whose first two of five features decide three labels, with two copies and some zeros."""
    random = np.random.default_rng(0)
    X = random.random((60, 5))
    X[X < 0.2] = 0.0
    X[7] = X[3]
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 0] + X[:, 1] > 1.2, X[:, 1] > 0.4]).astype(int)
    return X, Y


def with_unknown(Y):
    """Label sets with unknown cells, one row of which nothing is known."""
    holes = Y.astype(float)
    holes[::4, 0] = holes[5, :] = holes[10:20, 2] = np.nan
    return holes


def squared(x, z, weights):
    """Return the squared distance of weighted features."""
    return math.fsum((w * (a - b)) ** 2 for w, a, b in zip(weights, x, z, strict=True))


def slow_loss(X, Y, groups, weights, smoothing=0.02):
    """Return the log loss by the formulas of the docstring; NaN is an unknown cell."""
    n_labels, total = Y.shape[1], []
    priors = [np.nanmean(Y[:, label]) for label in range(n_labels)]
    for i in range(len(X)):
        others = [j for j in range(len(X)) if groups[j] != groups[i]]
        D = [squared(X[i], X[j], weights) for j in others]
        pi = [math.exp(min(D) - d) for d in D]
        for label in range(n_labels):
            votes = [priors[label] if math.isnan(Y[j, label]) else Y[j, label] for j in others]
            share = math.fsum(p * y for p, y in zip(pi, votes, strict=True)) / math.fsum(pi)
            p = (1 - smoothing) * share + smoothing * priors[label]
            if not math.isnan(Y[i, label]):
                total.append(-math.log(p if Y[i, label] == 1 else 1 - p))
    return math.fsum(total) / len(X)


def votes_of(X, Y, groups, storage=np.asarray, smoothing=0.02):
    """Return our votes; NaN in Y is an unknown cell."""
    unknown = np.isnan(Y)
    cells = storage(np.where(unknown, 0.0, Y)), storage(unknown) if unknown.any() else None
    return LeftOutVotes(storage(X), *cells, groups, smoothing)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("size", [1, 4], ids=["alone", "in fours"])
@pytest.mark.parametrize("budget", [1, 2**26], ids=["row by row", "one block"])
def test_loss_and_gradient(problem, storage, holes, size, budget, monkeypatch):
    """The loss equals plain loops, the gradient their finite differences, for every storage and size of blocks."""
    monkeypatch.setattr(left_out_votes, "row_blocks", lambda n, size: row_blocks(n, size, budget))
    X, Y = (part[:24] for part in problem)
    Y, groups = with_unknown(Y) if holes else Y.astype(float), np.arange(24) // size
    weights = np.array([3.0, 0.5, 1.0, 0.0, 2.0])
    loss, gradient = votes_of(X, Y, groups, storage, 0.1).loss_and_gradient(weights)
    assert loss == pytest.approx(slow_loss(X, Y, groups, weights, 0.1), rel=1e-12)
    slopes = approx_fprime(weights, lambda w: slow_loss(X, Y, groups, w, 0.1), 1e-7)
    np.testing.assert_allclose(gradient, slopes, atol=3e-6)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_typical_square(problem, storage):
    """The median of squared distances to the 10th other; the mean if most rows have copies; 1 if all are equal."""
    X, Y = problem
    tenth = [sorted(squared(x, z, np.ones(5)) for z in np.delete(X, i, axis=0))[9] for i, x in enumerate(X)]
    assert votes_of(X, Y, np.arange(60), storage).typical_square() == pytest.approx(np.median(tenth))
    for n_copies in (1, 15):  # their distances are not 0 to the bit
        alike = np.repeat(np.random.default_rng(0).random((n_copies, 7)) if n_copies > 1 else [[0.1] * 7], 15, axis=0)
        found = votes_of(alike, np.ones((len(alike), 1)), np.arange(len(alike)), storage).typical_square()
        assert found == 1 if n_copies == 1 else 0.1 < found < 10
    copies = np.repeat([[0.0], [2.0]], [20, 11], axis=0)
    labels = np.ones((31, 1))
    expected = 4 * 2 * 20 * 11 / (31 * 30)
    assert votes_of(copies, labels, np.arange(31), storage).typical_square() == pytest.approx(expected)
    assert votes_of(np.ones((9, 2)), np.ones((9, 1)), np.arange(9), storage).typical_square() == 1.0
    few = votes_of(np.array([[0.0], [1.0], [5.0]]), np.ones((3, 1)), np.array([0, 0, 1]), storage)
    assert few.typical_square() == 25  # only the last row has two others, at 16 and 25


@parametrize_with_checks([NeighborhoodComponentsWeights()])
def test_scikit_learn(estimator, check):
    """scikit-learn's own checks of transformers."""
    check(estimator)


@pytest.mark.parametrize("l2", [1e-3, 1.0])
def test_the_minimum(problem, l2):
    """The loss is that of the learnt weights, below that of equal weights, and flat."""
    X, Y = problem
    model = NeighborhoodComponentsWeights(l2=l2, max_iter=500).fit(X, Y)
    tenth = [sorted(squared(x, z, np.ones(5)) for z in np.delete(X, i, axis=0))[9] for i, x in enumerate(X)]
    assert model.initial_weight_ == pytest.approx(math.sqrt(2 / np.median(tenth)))

    def objective(weights):
        pull = l2 * np.sum((weights / model.initial_weight_ - 1) ** 2)
        return slow_loss(X, Y.astype(float), np.arange(60), weights) + pull

    assert model.loss_ == pytest.approx(objective(model.weights_), rel=1e-9)
    assert model.loss_ < objective(np.full(5, model.initial_weight_))
    np.testing.assert_allclose(approx_fprime(model.weights_, objective, 1e-7), 0, atol=1e-3)
    shorter = NeighborhoodComponentsWeights(l2=l2, max_iter=1).fit(X, Y)
    assert (shorter.n_iter_, shorter.loss_ > model.loss_) == (1, True)


def test_useless_features_get_small_weights(problem):
    """Two of five features decide; strong pull leaves the weights equal."""
    X, Y = problem
    weights = NeighborhoodComponentsWeights().fit(X, Y).weights_
    assert weights[2:].max() < 0.3 * weights[:2].min()
    equal = NeighborhoodComponentsWeights(l2=1e6).fit(X, Y)
    np.testing.assert_allclose(equal.weights_, equal.initial_weight_, rtol=1e-4)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("of_labels", STORAGES)
def test_storage(problem, storage, of_labels):
    """Sparse samples and label sets give the same weights; sparse samples stay sparse, in CSR."""
    X, Y = problem
    expected = NeighborhoodComponentsWeights().fit(X, Y)
    model = NeighborhoodComponentsWeights().fit(storage(X), of_labels(Y))
    np.testing.assert_allclose(model.weights_, expected.weights_, rtol=1e-5)
    found = model.transform(storage(X))
    assert isinstance(found, np.ndarray if storage is np.asarray else sparse.csr_array)
    dense = found if storage is np.asarray else found.toarray()
    np.testing.assert_array_equal(dense, X * model.weights_)
    assert storage is np.asarray or found.nnz == np.count_nonzero(X)
    assert dense.dtype == model.transform(storage(X.astype(np.float32))).dtype == np.float64


def test_scale_of_features(problem):
    """Transformed samples do not depend on the unit of X, nor on its origin."""
    X, Y = problem
    expected = NeighborhoodComponentsWeights().fit(X, Y)
    for factor in (1e-20, 1000.0, 1e20):
        model = NeighborhoodComponentsWeights().fit(X * factor, Y)
        np.testing.assert_allclose(model.transform(X * factor), expected.transform(X), rtol=1e-4)
    np.testing.assert_allclose(
        NeighborhoodComponentsWeights().fit(X + 1000, Y).weights_, expected.weights_, rtol=1e-3
    )  # fmt: skip


def test_frames_tags_and_one_column(problem):
    """Names of features come through; tags, and a column of two classes, are label sets."""
    X, Y = problem
    names = [f"x{i}" for i in range(5)]
    model = NeighborhoodComponentsWeights().set_output(transform="pandas")
    frame = model.fit(pd.DataFrame(X, columns=names), pd.DataFrame(Y)).transform(pd.DataFrame(X, columns=names))
    assert list(frame.columns) == list(model.get_feature_names_out()) == names
    tags = [[f"tag {label}" for label in np.flatnonzero(row)] for row in Y]
    np.testing.assert_array_equal(NeighborhoodComponentsWeights().fit(X, tags).weights_, model.weights_)
    words = np.where(Y[:, 0] == 1, "yes", "no")
    expected = NeighborhoodComponentsWeights().fit(X, Y[:, :1]).weights_
    np.testing.assert_array_equal(NeighborhoodComponentsWeights().fit(X, words).weights_, expected)
    np.testing.assert_array_equal(NeighborhoodComponentsWeights().fit(X, Y[:, 0].tolist()).weights_, expected)


def test_in_a_pipeline(problem):
    """Clone, pickle, and thresholds by folds."""
    X, Y = problem
    pipeline = make_pipeline(MinMaxScaler(), NeighborhoodComponentsWeights(), BRkNN(20, weights=GaussianWeights()))
    model = TunedThresholdsClassifierCV(clone(pipeline), cv=3).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    first = pipeline.fit(X, Y)
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    np.testing.assert_array_equal(first[1].weights_, clone(pipeline).fit(X, Y)[1].weights_)


def test_unknown_cells(problem):
    """NaN in y is unknown, however it is stored; a row without known labels has no influence on the loss."""
    X, Y = problem
    holes = with_unknown(Y)
    model = NeighborhoodComponentsWeights(max_iter=3).fit(X, holes)
    pull = 1e-3 * np.sum((model.weights_ / model.initial_weight_ - 1) ** 2)
    assert model.loss_ == pytest.approx(slow_loss(X, holes, np.arange(60), model.weights_) + pull, rel=1e-9)
    stored = NeighborhoodComponentsWeights(max_iter=3).fit(sparse.csr_array(X), sparse.csr_array(holes))
    np.testing.assert_allclose(stored.weights_, model.weights_, rtol=1e-9)
    known = holes[:, :1].copy()
    known[known == 0] = np.nan  # only the presence is known: one class
    assert NeighborhoodComponentsWeights().fit(X, known).n_iter_ == 0
    tags = [["a"] if row[0] else [] for row in Y]
    tags[3] = None
    expected = Y[:, :1].astype(float)
    expected[3] = np.nan
    np.testing.assert_array_equal(
        NeighborhoodComponentsWeights().fit(X, tags).weights_, NeighborhoodComponentsWeights().fit(X, expected).weights_
    )


def test_labels_with_one_class(problem):
    """They have no influence; without others the weights stay equal."""
    X, Y = problem
    model = NeighborhoodComponentsWeights().fit(X, np.column_stack([np.ones(60), Y, np.zeros(60)]))
    np.testing.assert_array_equal(model.weights_, NeighborhoodComponentsWeights().fit(X, Y).weights_)
    for labels in (np.zeros((60, 2)), np.ones((60, 1))):
        model = NeighborhoodComponentsWeights().fit(X, labels)
        assert (model.weights_ == model.initial_weight_).all()
        assert (model.n_iter_, model.loss_) == (0, 0.0)


def test_odd_samples():
    """Constant features, identical samples, one sample, two samples, and more labels than samples."""
    random = np.random.default_rng(1)
    X = np.column_stack([random.random((12, 2)), np.full(12, 3.0)])
    model = NeighborhoodComponentsWeights().fit(X, random.integers(0, 2, (12, 40)))
    assert model.weights_[2] == model.initial_weight_
    same = NeighborhoodComponentsWeights().fit(np.ones((12, 2)), random.integers(0, 2, (12, 2)))
    np.testing.assert_array_equal(same.weights_, math.sqrt(2))
    assert NeighborhoodComponentsWeights().fit([[3.0, 4.0]], [[1, 0]]).transform([[3.0, 4.0]]).tolist() == [[3.0, 4.0]]
    assert np.isfinite(NeighborhoodComponentsWeights().fit([[0.0], [2.0]], [[1], [0]]).weights_).all()
    far = np.array([[0.0], [1.0], [2.0], [1e9]])
    assert np.isfinite(NeighborhoodComponentsWeights().fit(far, [[1], [0], [1], [0]]).weights_).all()


def test_groups(problem):
    """Near copies of a sample do not vote for each other if they are a group; the loss is that of plain loops."""
    X, Y = problem
    random = np.random.default_rng(0)
    twice = np.vstack([X, X + 1e-3 * random.random(X.shape)])
    groups = [f"person {i % 60}" for i in range(120)]
    model = NeighborhoodComponentsWeights(max_iter=4).fit(twice, np.vstack([Y, Y]), groups=groups)
    numbers, labels = np.arange(120) % 60, np.vstack([Y, Y]).astype(float)
    pull = 1e-3 * np.sum((model.weights_ / model.initial_weight_ - 1) ** 2)
    assert model.loss_ == pytest.approx(slow_loss(twice, labels, numbers, model.weights_) + pull, rel=1e-9)
    with pytest.raises(ValueError, match=r"groups must name at least two groups among .*, got 1 of 60 samples. Hint: "):
        NeighborhoodComponentsWeights().fit(X, Y, groups=np.zeros(60))
    with pytest.raises(ValueError, match=r"groups must be of shape \(60,\)"):
        NeighborhoodComponentsWeights().fit(X, Y, groups=[1, 2])


def test_a_sample_of_many(problem):
    """Beyond max_samples weights are learnt from some, the same each time, or by another seed."""
    X, Y = problem
    first, second, other = (
        NeighborhoodComponentsWeights(max_samples=30, random_state=seed).fit(X, Y).weights_ for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert (first != other).any()
    all_of_them = NeighborhoodComponentsWeights(max_samples=60, random_state=1).fit(X, Y).weights_
    np.testing.assert_array_equal(all_of_them, NeighborhoodComponentsWeights().fit(X, Y).weights_)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"smoothing": 0.0}, ValueError, r"smoothing must be between 0 and 1, got 0\.0\."),
        ({"smoothing": "a"}, TypeError, r"smoothing must be a number, got 'a' of type str\."),
        ({"l2": 0}, ValueError, r"l2 must be a finite number above 0, got 0\."),
        ({"max_iter": 0}, ValueError, r"max_iter must be at least 1, got 0\."),
        ({"max_samples": 1}, ValueError, r"max_samples must be at least 2, got 1\."),
        ({"max_samples": 2.5}, TypeError, r"max_samples must be an integer, got 2\.5 of type float\."),
        ({"random_state": "a"}, ValueError, "'a' cannot be used to seed"),
    ],
)
def test_bad_parameters(problem, options, error, message):
    """Each is named with the value found."""
    with pytest.raises(error, match=message):
        NeighborhoodComponentsWeights(**options).fit(*problem)


def test_bad_input(problem):
    """Samples, label sets, and the order of calls."""
    X, Y = problem
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        NeighborhoodComponentsWeights().fit(X, None)
    with pytest.raises(ValueError, match="Found input variables with inconsistent numbers of samples"):
        NeighborhoodComponentsWeights().fit(X, Y[:50])
    with pytest.raises(ValueError, match=r"y must contain 0 and 1 only, got two values, 0 and 2"):
        NeighborhoodComponentsWeights().fit(X, Y * 2)
    with pytest.raises(ValueError, match=r"X must have features of at most 1e\+30 for NeighborhoodComponentsWeights"):
        NeighborhoodComponentsWeights().fit(X * 1e40, Y)
    with pytest.raises(ValueError, match=r"y must have a known cell, got none"):
        NeighborhoodComponentsWeights().fit(X, np.full(Y.shape, np.nan))
    with pytest.raises(NotFittedError):
        NeighborhoodComponentsWeights().transform(X)
