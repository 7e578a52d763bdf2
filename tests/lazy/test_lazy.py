from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from _pairs import every_pair
from _reference import brknn, brknn_a, brknn_b, lpknn, mlknn, nearest
from conftest import CONTAINERS, ROWS, long_after
from nearlabel import testing
from nearlabel.lazy import BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, NeighborGraph, PrecomputedNeighbors

BY_NEIGHBORS = [
    (BRkNN, {}, brknn),
    (BRkNN, {"majority": "half"}, brknn),
    (BRkNNa, {}, brknn_a),
    (BRkNNa, {"majority": "half"}, brknn_a),
    (BRkNNb, {}, brknn_b),
    (BRkNNb, {"rounding": "half_up"}, brknn_b),
    (LPkNN, {}, lpknn),
    (LPkNN, {"ties": "first"}, lpknn),
    (LPkNN, {"ties": "frequent"}, lpknn),
]
METHODS = [BRkNN, BRkNNa, BRkNNb, LPkNN, MLkNN, DMLkNN, CMLkNN]
BY_COUNTS = METHODS[:5]  # no dense array of memberships, or of scores


@pytest.mark.parametrize("check", testing.MULTILABEL_CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
def test_contract(method, check):
    """Every lazy method keeps our own contract."""
    check(method(n_neighbors=3))


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
def test_scores_are_equal_to_the_last_bit(problem, method):
    """Storage, the order of labels and the queries beside a query change no bit of a score."""
    X, Y, queries = problem
    scores = method(5).fit(X, Y).predict_proba(queries)
    for rows, labels in (
        (sparse.csr_array(X), Y),
        (X, sparse.csr_array(Y)),
        (sparse.csc_matrix(X), sparse.csr_matrix(Y)),
    ):
        model = method(5).fit(rows, labels)
        np.testing.assert_array_equal(model.predict_proba(sparse.csr_array(queries)), scores)
        np.testing.assert_array_equal(model.predict_proba(queries[::-1]), scores[::-1])
        np.testing.assert_array_equal(model.predict_proba(queries[:1]), scores[:1])
    order = np.array([3, 0, 4, 2, 1])
    np.testing.assert_array_equal(method(5).fit(X, Y[:, order]).predict_proba(queries), scores[:, order])


NUMBERS, STORAGE = (1, 4, 7, 39), ("dense", "csr_array", "csc_array")


@pytest.mark.parametrize(
    ("problem", "rule", "k", "container"),
    [*product(ROWS, BY_NEIGHBORS[:1], NUMBERS, STORAGE), *every_pair(ROWS, BY_NEIGHBORS[1:], NUMBERS, STORAGE)],
    indirect=["problem"],
)
def test_equals_loops(problem, rule, k, container):
    """Label sets are those of the loop transcription, with ties and duplicates, dense and sparse."""
    X, Y, queries = problem
    method, options, reference = rule
    store = CONTAINERS[container]
    labels = method(k, **options).fit(store(X), store(Y)).predict(store(queries))
    expected = [reference(Y, nearest(X, query, k), **options) for query in queries]
    assert (labels.toarray() if sparse.issparse(labels) else labels).tolist() == expected


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("smoothing", [1, 0.1, 2.5])
@pytest.mark.parametrize("k", [1, 4, 10, 39])
def test_mlknn_equals_loops(problem, k, smoothing, container):
    """Posteriors agree with fractions to 1e-12 and label sets in every cell."""
    X, Y, queries = problem
    store = CONTAINERS[container]
    model = MLkNN(k, smoothing=smoothing).fit(store(X), store(Y))
    posteriors, labels = mlknn(X, Y, queries, k, smoothing)
    np.testing.assert_allclose(model.predict_proba(queries), posteriors, rtol=0, atol=1e-12)
    predicted = model.predict(queries)
    assert (predicted.toarray() if sparse.issparse(predicted) else predicted).tolist() == labels


def test_mlknn_by_hand():
    """Four points on a line, k = 1, s = 1: the paper's numbers worked out on paper."""
    X, Y = [[0.0], [1.0], [10.0], [11.0]], [[1], [1], [0], [1]]
    model = MLkNN(1).fit(X, Y)
    # n1 = 3 of n = 4: prior (1 + 3) / (2 + 4). Row 3's neighbour is row 2 (without), row 2's is row 3 (with).
    assert model.prior_.tolist() == [4 / 6]
    # c = [1, 2] of the three rows with the label; c' = [0, 1] of the one without.
    np.testing.assert_allclose(model.likelihood_[1], [[(1 + 1) / (2 + 3), (1 + 2) / (2 + 3)]])
    np.testing.assert_allclose(model.likelihood_[0], [[(1 + 0) / (2 + 1), (1 + 1) / (2 + 1)]])
    # At 0: neighbour 0 with the label: 4/6 * 3/5 against 2/6 * 2/3.
    np.testing.assert_allclose(model.predict_proba([[0.2]]), [[(4 / 6 * 3 / 5) / (4 / 6 * 3 / 5 + 2 / 6 * 2 / 3)]])
    assert model.predict([[0.2]]).tolist() == [[1]]


def test_mlknn_posterior_of_one_half_is_positive():
    """Where both products are equal as fractions the posterior is exactly one half, whatever floats say."""
    rng = np.random.default_rng(0)
    seen = 0
    for seed in range(200):
        n = 2 * int(rng.integers(3, 12))
        X = rng.normal(size=(n, 1))
        Y = np.zeros((n, 1), dtype=int)
        Y[rng.permutation(n)[: n // 2]] = 1
        model = MLkNN(int(rng.integers(1, 4)), smoothing=float(rng.choice([0.1, 0.3, 1.0]))).fit(X, Y)
        posteriors, labels = mlknn(X, Y, X, model.n_neighbors, model.smoothing)
        seen += sum(p == 0.5 for (p,) in posteriors)
        assert model.predict(X).tolist() == labels, seed
        assert (model.predict_proba(X)[np.array(posteriors) == 0.5] == 0.5).all()
    assert seen > 50


@pytest.mark.parametrize("majority", ["strict", "half"])
def test_brknn_by_hand(majority):
    """Two of four neighbours: half is not most of them, unless so asked for."""
    X, Y = [[0], [1], [2], [3], [99]], [[1, 1], [1, 1], [0, 1], [0, 0], [1, 1]]
    labels = BRkNN(4, majority=majority).fit(X, Y).predict([[1]])
    assert labels.tolist() == [[int(majority == "half"), 1]]


def test_brknn_is_binary_relevance_with_knn():
    """With odd k, BRkNN is scikit-learn's kNN classifier of each label."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 3)), rng.integers(0, 2, (80, 4))
    for weights in ("uniform", "distance"):
        theirs = KNeighborsClassifier(5, weights=weights).fit(X, Y)
        ours = BRkNN(5, weights=weights).fit(X, Y)
        queries = np.vstack([X[:10], rng.normal(size=(30, 3))])
        np.testing.assert_array_equal(ours.predict(queries), theirs.predict(queries))
        expected = np.column_stack([p[:, 1] for p in theirs.predict_proba(queries)])
        np.testing.assert_allclose(ours.predict_proba(queries), expected, atol=1e-12)


def test_distance_weights_by_hand():
    """Neighbours at distances 1 and 4 weigh 4/5 and 1/5; one at distance 0 votes alone."""
    X, Y = [[1.0], [-4.0], [50.0]], [[1, 0], [0, 1], [0, 0]]
    model = BRkNN(2, weights="distance").fit(X, Y)
    np.testing.assert_allclose(model.predict_proba([[0.0], [-4.0]]), [[4 / 5, 1 / 5], [0, 1]])
    sizes = BRkNNb(2, weights="distance").fit(X, [[1, 1], [0, 0], [0, 0]])
    assert sizes.predict([[0.0], [-4.0]]).tolist() == [[1, 1], [0, 0]]  # mean sizes 2 * 4/5 and 0


def test_a_function_weighs_votes():
    """Weights may be any function of the distances; a wrong one is named."""
    X, Y = [[0.0], [1.0], [2.0]], [[1], [1], [0]]
    model = BRkNN(3, weights=lambda d: (d == d.max(axis=1, keepdims=True)).astype(float)).fit(X, Y)
    assert model.predict_proba([[0.0]]).tolist() == [[0.0]]
    with pytest.raises(ValueError, match=r"weights must return finite numbers >= 0 of shape \(1, 3\)"):
        BRkNN(3, weights=lambda d: -d).fit(X, Y).predict([[0.5]])


def test_a_without_any_vote_gives_the_first_label():
    """The rule for equal confidences holds for confidences of 0, dense and sparse."""
    X, Y = np.arange(6.0).reshape(6, 1), np.zeros((6, 3), dtype=int)
    for container in ("dense", "csr_array"):
        labels = BRkNNa(2).fit(X, CONTAINERS[container](Y)).predict(X)
        assert (labels.toarray() if container != "dense" else labels).tolist() == [[1, 0, 0]] * 6


def test_b_of_size_0_is_the_empty_set():
    """Neighbours with few labels give the empty set, never all labels."""
    X, Y = np.arange(9.0).reshape(9, 1), np.zeros((9, 4), dtype=int)
    Y[0, 2] = 1
    assert BRkNNb(3).fit(X, Y).predict(X).sum() == 0


def test_lpknn_random_ties_are_seeded_and_cover_all_tied_sets():
    """Random ties come from the tied label sets only, all of them, and alike for one seed."""
    X, Y = np.zeros((4, 1)), [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
    model = LPkNN(3, ties="random", random_state=0).fit(X, Y)
    labels = model.predict(np.zeros((200, 1)))
    assert {tuple(row) for row in labels.tolist()} == {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
    assert (model.predict(np.zeros((200, 1))) == labels).all()


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
def test_sweep_equals_single_fits(problem, method):
    """One precomputed search answers every k as a search of its own would."""
    X, Y, queries = problem
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), X, queries, n_neighbors=12)
    for k in (1, 2, 5, 12):
        swept = method(k, search=known).fit(X, Y)
        single = method(k).fit(X, Y)
        np.testing.assert_array_equal(swept.predict(queries), single.predict(queries))
        np.testing.assert_array_equal(swept.predict_proba(queries), single.predict_proba(queries))


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
def test_any_search_is_accepted(method):
    """scikit-learn's own search serves; without ties the answers are the same."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 3)), rng.integers(0, 2, (60, 4))
    theirs = method(5, search=NearestNeighbors(algorithm="kd_tree")).fit(X, Y)
    ours = method(5, search=ExactNeighbors()).fit(X, Y)
    np.testing.assert_array_equal(theirs.predict(X + 0.1), ours.predict(X + 0.1))


@pytest.mark.parametrize("method", BY_COUNTS, ids=lambda m: m.__name__)
def test_many_labels_stay_sparse(method):
    """With 100,000 labels predictions are sparse and equal those on the labels that occur."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    few = (rng.random((60, 8)) < 0.3).astype(int)
    few[:, 2] = 1
    columns = np.sort(rng.choice(np.arange(1, 100_000), 8, replace=False))
    columns[0] = 0
    row, label = np.nonzero(few)
    many = sparse.csr_array((np.ones(len(row), dtype=int), (row, columns[label])), shape=(60, 100_000))
    predicted = method(5).fit(X, many).predict(X)
    assert sparse.issparse(predicted)
    np.testing.assert_array_equal(predicted[:, columns].toarray(), method(5).fit(X, few).predict(X))
    assert predicted.nnz == method(5).fit(X, few).predict(X).sum()


@pytest.mark.parametrize(
    ("model", "error", "message"),
    [
        (MLkNN(9), ValueError, "n_neighbors must be smaller than n_samples=8, got 9. A sample is not"),
        (BRkNN(9), ValueError, "n_neighbors must be at most n_samples=8, got 9"),
        (BRkNN(0), ValueError, "n_neighbors must be at least 1, got 0"),
        (BRkNN(2.5), TypeError, "n_neighbors must be an integer, got 2.5 of type float"),
        (BRkNN(True), TypeError, "n_neighbors must be an integer, got True of type bool"),
        (BRkNN(2, majority="most"), ValueError, r"majority must be one of \['half', 'strict'\], got 'most'"),
        (BRkNN(2, weights="no"), ValueError, r"weights must be one of \['distance', 'uniform'\], got 'no'"),
        (BRkNNb(2, rounding="even"), ValueError, "rounding must be one of"),
        (LPkNN(2, ties="any"), ValueError, "ties must be one of"),
        (MLkNN(2, smoothing=0), ValueError, "smoothing must be a finite number above 0, got 0"),
        (MLkNN(2, smoothing="1"), TypeError, "smoothing must be a number, got '1' of type str"),
        (MLkNN(2, search=3), TypeError, "search must be an object with the methods fit and kneighbors, got 3"),
    ],
)
def test_bad_parameters(model, error, message):
    """A parameter out of range is named, with what was expected and what was got."""
    with pytest.raises(error, match=message):
        model.fit(np.eye(8), np.eye(8, dtype=int))


@pytest.mark.parametrize(
    ("Y", "message"),
    [
        ([0, 1, 2], "y must contain two classes if it is one-dimensional, got 3"),
        ([[0], [1], [2]], "y must contain 0 and 1 only, got 2"),
        ([[np.nan], [np.nan], [np.nan]], "y must have a known cell, got none in shape"),
        (np.array([[0], [1], ["no"]], dtype=object), "y must contain 0 and 1 only, got 'no' of type str"),
        ([[0], [1], [0.5]], "continuous"),
        ([[0], [1, 0], [1]], "rows of unequal length"),
        (np.array([["a"], ["b"], ["a"]]), "y must contain 0 and 1 only"),
        (np.array([[0], [pd.NaT], ["no"]], dtype=object), "y must contain 0 and 1 only, got 'no' of type str"),
        ([{1}, {2}, {1, 2}], "MultiLabelBinarizer makes an indicator matrix from any labels"),
        (sparse.csr_array([[0], [1], [3]]), "y must contain 0 and 1 only, got 3"),
        (np.zeros((3, 0)), "at least one label"),
        (np.eye(4), "inconsistent numbers of samples"),
        (None, "requires y"),
    ],
)
def test_bad_labels(Y, message):
    """A malformed label matrix gets a clear error."""
    with pytest.raises(ValueError, match=message):
        BRkNN(1).fit(np.eye(3), Y)


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("method", long_after(1, [BRkNN, BRkNNa, BRkNNb]), ids=lambda m: m.__name__)
def test_equal_distances_weigh_as_if_unweighted(method, container):
    """With all neighbours at one distance, one half is exactly one half, whatever k and the distance."""
    rng = np.random.default_rng(0)
    store = CONTAINERS[container]
    for k in range(2, 30):
        Y = np.zeros((k, 4), dtype=int)
        for label in range(3):
            Y[rng.permutation(k)[: k // 2], label] = 1
        Y[:, 3] = 1
        for distance in (0.1, 0.3, 1.0, 7.7, 1e-200, 1e200):
            known = PrecomputedNeighbors(
                NeighborGraph(np.full((k, 1), distance), np.zeros((k, 1), dtype=int)),
                (NeighborGraph(np.full((1, k), distance), rng.permutation(k)[np.newaxis]),),
            )
            answers = [
                method(k, weights=weights, search=known).fit(np.zeros((k, 1)), store(Y))
                for weights in ("uniform", "distance")
            ]
            uniform, weighted = (model.predict(np.zeros((1, 1))) for model in answers)
            assert (uniform != weighted).sum() == 0, (k, distance)
            scores = [model.predict_proba(np.zeros((1, 1))).tolist() for model in answers]
            assert scores[0] == scores[1]


def test_tiny_distances_weigh_finitely():
    """Distances whose inverse overflows still vote by their ratio."""
    known = PrecomputedNeighbors(
        NeighborGraph(np.ones((3, 1)), np.zeros((3, 1), dtype=int)),
        (NeighborGraph(np.array([[1e-310, 3e-310]]), np.array([[0, 1]])),),
    )
    model = BRkNN(2, weights="distance", search=known).fit(np.zeros((3, 1)), [[1, 0], [0, 1], [0, 0]])
    np.testing.assert_allclose(model.predict_proba(np.zeros((1, 1))), [[0.75, 0.25]])


@pytest.mark.parametrize("options", [{}, {"ties": "random", "random_state": 0}], ids=str)
@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
def test_blocks_of_queries_change_nothing(method, options, monkeypatch):
    """Answers do not depend on how many queries fit the memory budget, random ones included."""
    if options and method is not LPkNN:
        pytest.skip("only LPkNN draws")
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 3, (50, 2)).astype(float), rng.integers(0, 2, (50, 4))
    model = method(6, **options).fit(X, Y)
    labels, scores = model.predict(X), model.predict_proba(X)
    monkeypatch.setattr("nearlabel.utils.validation.row_blocks.__defaults__", (1000,))
    np.testing.assert_array_equal(model.predict(X), labels)
    np.testing.assert_array_equal(model.predict_proba(X), scores)
    np.testing.assert_array_equal(method(6, **options).fit(X, Y).predict(X), labels)


def test_mlknn_is_exact_for_many_rows():
    """The posterior of a label that nearly all of a million rows carry keeps its digits."""
    n, k = 1_000_000, 3
    indices = (np.arange(n)[:, np.newaxis] + [1, 2, 3]) % n
    Y = np.ones((n, 1), dtype=int)
    Y[0] = 0
    known = PrecomputedNeighbors(NeighborGraph(np.ones((n, k)), indices))
    model = MLkNN(k, search=known).fit(np.zeros((n, 1)), Y)
    counts = {1: [0, 0, 3, n - 4], 0: [0, 0, 0, 1]}  # row 0 lacks the label and is a neighbour of three
    n1 = n - 1
    for j in range(k + 1):
        yes = Fraction(1 + n1, 2 + n) * Fraction(1 + counts[1][j], k + 1 + n1)
        no = Fraction(2, 2 + n) * Fraction(1 + counts[0][j], k + 1 + 1)
        assert model.posterior_[0, j] == pytest.approx(float(yes / (yes + no)), abs=1e-12)


class _Answers:
    """A search that gives a fixed answer to every question."""

    def __init__(self, indices):
        self.indices = np.asarray(indices)

    def fit(self, X):
        return None

    def kneighbors(self, X=None, n_neighbors=None):
        return np.ones(self.indices.shape), self.indices


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([[0, -1]], "indices must name training samples 0 to 2, got -1"),
        ([[0, 3]], "indices must name training samples 0 to 2, got 3"),
        ([[0, 1, 2]], r"search must return arrays of shape \(1, 2\), got \(1, 3\)"),
        ([[0.0, 1.0]], "indices must be whole numbers"),
    ],
)
def test_answers_of_a_search_are_checked(indices, message):
    """A search that finds nothing (-1), too much or no rows at all is an error, never read on."""
    model = BRkNN(2, search=_Answers(indices)).fit(np.eye(3), np.eye(3, dtype=int))
    with pytest.raises(ValueError, match=message):
        model.predict(np.eye(3)[:1])


def test_parameters_are_checked_when_they_are_used():
    """A parameter that is changed after `fit` is checked by `predict`."""
    model = BRkNN(2).fit(np.eye(3), np.eye(3, dtype=int))
    with pytest.raises(ValueError, match="majority must be one of"):
        model.set_params(majority="typo").predict(np.eye(3))


def test_numpy_numbers_are_numbers():
    """A smoothing of numpy's float32, as a grid may give it, is taken."""
    assert MLkNN(np.int64(2), smoothing=np.float32(0.5)).fit(np.eye(5), np.eye(5, dtype=int)).prior_.shape == (5,)


@pytest.mark.long
def test_a_failing_check_says_what_was_expected():
    """The public check of the contract names the check and its sentence."""

    class Reversed(BRkNN):
        def predict(self, X):
            return 1 - super().predict(X)

    with pytest.raises(AssertionError, match="check_container_of_labels_is_kept: Predictions have the container"):
        testing.check_multilabel_estimator(Reversed(3))
    testing.check_multilabel_estimator(BRkNN(3))


def test_checks_that_are_expected_to_fail_are_left_out():
    """What is named with a reason is not run, what is not named is; a name that is no check's is refused."""

    class Shifted(BRkNN):
        def predict(self, X):
            return np.asarray(super().predict(X)) + 1

    reasons = {
        check.__name__: "it is wrong"
        for check in testing.MULTILABEL_CHECKS
        if check is not testing.check_constructor_only_stores
    }
    testing.check_multilabel_estimator(Shifted(3), expected_failed_checks=reasons)
    del reasons["check_predictions_are_label_sets"]
    with pytest.raises(AssertionError, match="check_predictions_are_label_sets"):
        testing.check_multilabel_estimator(Shifted(3), expected_failed_checks=reasons)
    with pytest.raises(ValueError, match=r"must name checks of MULTILABEL_CHECKS, got \['check_x'\]"):
        testing.check_multilabel_estimator(BRkNN(3), expected_failed_checks={"check_x": ""})
