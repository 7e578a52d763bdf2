import re
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.estimator_checks import parametrize_with_checks

from _reference import manhattan, nearest, squared_euclidean
from conftest import CONTAINERS
from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.exact import _bounds_search, _distances, _panel_search, _panels
from nearlabel.neighbors.votes import checked_method
from nearlabel.utils.validation import largest_size

REFERENCES = {"euclidean": squared_euclidean, "sqeuclidean": squared_euclidean, "manhattan": manhattan}


@parametrize_with_checks([ExactNeighbors()])
def test_scikit_learn_checks(estimator, check):
    """scikit-learn's own checks pass, all of them."""
    check(estimator)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("metric", REFERENCES)
def test_equals_loops(problem, metric, container):
    """Neighbours of queries and of training rows are those of a double loop, whatever the storage."""
    X, _, queries = problem
    store = CONTAINERS[container]
    search = ExactNeighbors(metric).fit(store(X))
    of_queries = search.kneighbors(store(queries), 9, return_distance=False)
    of_training_rows = search.kneighbors(n_neighbors=9, return_distance=False)
    distance = REFERENCES[metric]
    assert of_queries.tolist() == [nearest(X, q, 9, distance=distance) for q in queries]
    assert of_training_rows.tolist() == [nearest(X, row, 9, leave_out=i, distance=distance) for i, row in enumerate(X)]


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cityblock", "chebyshev", "braycurtis"])
def test_distances_are_those_of_scipy(problem, metric):
    """Returned distances agree with scipy's and ascend; equal ones are in the order of the index."""
    X, _, queries = problem
    X, queries = np.abs(X) + 0.25, np.abs(queries) + 0.25
    distances, indices = ExactNeighbors(metric).fit(X).kneighbors(queries, 12)
    expected = np.take_along_axis(cdist(queries, X, metric), indices, axis=1)
    np.testing.assert_allclose(distances, expected, rtol=1e-9, atol=1e-12)
    ascending = np.diff(distances) > 0
    assert (ascending | ((np.diff(distances) == 0) & (np.diff(indices) > 0))).all()


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "chebyshev"])
def test_blocks_threads_and_storage_change_nothing(problem, metric, monkeypatch):
    """Tiny tiles and panels, two threads and sparse rows give the same bits."""
    X, _, queries = problem
    distances, indices = ExactNeighbors(metric).fit(X).kneighbors(queries, 9)
    monkeypatch.setattr(_bounds_search, "_QUERIES_PER_TILE", 3)
    monkeypatch.setattr(_bounds_search, "_LARGEST_TILE", 300)
    for module in (_panel_search, _panel_search):
        monkeypatch.setattr(module, "QUERIES_PER_TILE", 3)
    monkeypatch.setattr(_panel_search, "_PANELS_PER_GROUP", 2)
    monkeypatch.setattr(_panel_search, "_FEW_PAIRS", 0)
    monkeypatch.setattr(_panels, "PANEL_ROWS", 16)
    for container in CONTAINERS:
        store = CONTAINERS[container]
        search = ExactNeighbors(metric, n_jobs=2).fit(store(X))
        for stored_queries in (store(queries), queries):
            again = search.kneighbors(stored_queries, 9)
            assert (again[0] == distances).all()
            assert (again[1] == indices).all()


def test_cosine_equals_a_loop(problem):
    """Cosine distances agree with the definition; an empty row is at distance 2 from others, and 0 from empty ones."""
    X, _, queries = problem
    X, queries = (np.vstack([rows, np.zeros((1, rows.shape[1]))]) for rows in (X, queries))
    distances, indices = ExactNeighbors("cosine").fit(X).kneighbors(queries, len(X))
    for query, row_distances, row_indices in zip(queries, distances, indices, strict=True):
        for distance, index in zip(row_distances, row_indices, strict=True):
            if query.any() and X[index].any():
                expected = 1 - query @ X[index] / (np.linalg.norm(query) * np.linalg.norm(X[index]))
            else:
                expected = 2 if query.any() or X[index].any() else 0
            assert distance == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("n_copies", [1, 400])
def test_empty_texts_are_neighbours_where_nothing_else_is_left(container, n_copies):
    """By the cosine a text prefers texts that share no word with it to empty ones, even those before them."""
    texts = np.array([[0, 0, 0], [0, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]])
    X = CONTAINERS[container](np.tile(texts, (n_copies, 1)).astype(float))
    search = ExactNeighbors("cosine").fit(X)
    distances, indices = search.kneighbors(n_neighbors=4)
    if n_copies == 1:
        assert indices.tolist() == [[1, 2, 3, 4], [0, 2, 3, 4], [3, 4, 0, 1], [2, 4, 0, 1], [2, 3, 0, 1]]
        assert distances[0].tolist() == [0, 2, 2, 2]
        assert distances[4].tolist() == [1, 1, 2, 2]
    assert (search.kneighbors(n_neighbors=X.shape[0] - 1)[1][2, -2 * n_copies :] % 5 < 2).all()


def test_equal_cosines_of_whole_numbers_are_equal():
    """Parallel rows of whole numbers are at exactly the same cosine distance, so the index decides."""
    rng = np.random.default_rng(0)
    row = rng.integers(1, 50, 7)
    X = np.array([row * factor for factor in (3, 1, 7, 11, 5)])
    distances, indices = ExactNeighbors("cosine").fit(X).kneighbors(rng.integers(0, 9, (20, 7)), 5)
    assert (indices == np.arange(5)).all()
    assert (distances == distances[:, :1]).all()


def test_duplicates_of_a_training_row_stay():
    """A row is left out of its own list by identity: its duplicates come first, in the order of the index."""
    indices = ExactNeighbors().fit([[0.0], [0.0], [5.0], [0.0]]).kneighbors(n_neighbors=3, return_distance=False)
    assert indices.tolist() == [[1, 3, 2], [0, 3, 2], [0, 1, 3], [0, 1, 2]]


def test_cancellation_does_not_matter():
    """Rows far from zero and close together, and one outlier, are told apart as exactly as others."""
    rng = np.random.default_rng(1)
    X = 1e8 + rng.normal(size=(300, 6)) * 1e-3
    X[17] = 1e12
    expected = [nearest(X, row, 4, leave_out=i) for i, row in enumerate(X[:40])]
    assert ExactNeighbors().fit(X).kneighbors(n_neighbors=4)[1][:40].tolist() == expected


def sums_of_squares(A, B):
    """Squared distances (n, m), added feature by feature."""
    total = np.zeros((len(A), len(B)))
    for a, b in zip(A.T, B.T, strict=True):
        total += (a[:, np.newaxis] - b) ** 2
    return total


def adversarial_rows(rng):
    """Rows of mixed scales, offsets, rounding, zeros, outliers and duplicates, as a coin decides."""
    n, d = rng.integers(2, 140), rng.integers(1, 40)
    X = rng.normal(size=(n, d))
    changes = [
        lambda X: X * 10.0 ** rng.uniform(-8, 8, (1, d)),
        lambda X: X * 10.0 ** rng.uniform(-6, 6, (n, 1)),
        lambda X: X + 10.0 ** rng.uniform(0, 9),
        lambda X: np.round(2 * X) / 2,
        lambda X: X * (rng.random((n, d)) < 0.2),
        lambda X: X * np.where(np.arange(n)[:, np.newaxis] == n // 2, 1e120, 1),
        lambda X: X[rng.integers(0, n, n)],
        lambda X: X * 1e-100,
    ]
    for change in changes:
        if rng.random() < 0.35:
            X = change(X)
    return X


@pytest.mark.parametrize("seed", [*range(15), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(15, 40))])
def test_bounds_hold_on_adversarial_rows(seed):
    """No neighbour is lost to rounding: each answer is that of plain sums and a stable sort."""
    rng = np.random.default_rng(seed)
    for _ in range(5):
        X = adversarial_rows(rng)
        k = int(rng.integers(1, len(X)))
        sums = sums_of_squares(X, X)
        with_itself = np.argsort(sums, axis=1, kind="stable")[:, :k]
        np.fill_diagonal(sums, np.inf)
        without_itself = np.argsort(sums, axis=1, kind="stable")[:, :k]
        for container in ("dense", "csr_array"):
            search = ExactNeighbors().fit(CONTAINERS[container](X))
            np.testing.assert_array_equal(search.kneighbors(CONTAINERS[container](X), k)[1], with_itself)
            np.testing.assert_array_equal(search.kneighbors(n_neighbors=k)[1], without_itself)


def test_tiny_numbers_underflow_alike():
    """Squares that underflow give ties by index, dense and sparse."""
    X = np.array([[3e-170], [0.0], [1e-170], [5.0]])
    for container in ("dense", "csr_array"):
        store = CONTAINERS[container]
        assert ExactNeighbors().fit(store(X)).kneighbors(store(X[:1]), 3)[1].tolist() == [[0, 1, 2]]


def test_a_function_of_two_rows_is_a_metric():
    """Any function works, and so do the parameters of a named metric."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    by_function = ExactNeighbors(lambda a, b: np.abs(a - b).max()).fit(X).kneighbors(n_neighbors=4)
    by_name = ExactNeighbors("chebyshev").fit(X).kneighbors(n_neighbors=4)
    by_power = ExactNeighbors("minkowski", metric_params={"p": 3}).fit(X).kneighbors(X, 4)
    assert (by_function[1] == by_name[1]).all()
    assert (by_power[1] == np.argsort(cdist(X, X, "minkowski", p=3), kind="stable")[:, :4]).all()


def test_aliases_take_parameters():
    """scikit-learn's names for a metric mean the same with parameters."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    weighted = ExactNeighbors("manhattan", metric_params={"w": [1, 2, 3]}).fit(X).kneighbors(n_neighbors=4)
    scaled = ExactNeighbors("l1").fit(X * [1, 2, 3]).kneighbors(n_neighbors=4)
    assert (weighted[1] == scaled[1]).all()


def test_a_metric_is_a_name_or_a_function():
    """Anything else is a TypeError that says so."""
    with pytest.raises(TypeError, match=r"metric must be a name or a function of two rows, got \['euclidean'\]"):
        ExactNeighbors(["euclidean"]).fit(np.eye(3))


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "chebyshev"])
def test_wide_indices_of_sparse_rows(metric):
    """CSR rows with 64-bit indices are taken like others."""
    X = CONTAINERS["csr_array"](np.random.default_rng(0).integers(0, 3, (20, 6)).astype(float))
    expected = ExactNeighbors(metric).fit(X).kneighbors(X, 4)[1]
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    np.testing.assert_array_equal(ExactNeighbors(metric).fit(X).kneighbors(X, 4)[1], expected)


def test_one_far_row_opens_no_other_pairs(monkeypatch):
    """Bounds belong to runs: with one row at 1e14 about as many pairs are refined as without it."""
    refined = []
    ranks = _panel_search.PanelSearch._ranks

    def counting(self, rows, found):
        refined.append(len(found.query))
        return ranks(self, rows, found)

    monkeypatch.setattr(_panel_search.PanelSearch, "_ranks", counting)
    X = np.random.default_rng(0).normal(size=(4000, 5))
    counts = []
    for far in (0.0, 1e14):
        refined.clear()
        X[5] += far
        ExactNeighbors(algorithm="brute").fit(X).kneighbors(X[:100], 5)
        counts.append(sum(refined))
    assert 0 < counts[1] < 2 * counts[0]


def test_one_long_row_among_short_ones_stays_in_bounds():
    """Pairs of sparse rows are refined in blocks by what each pair stores, not by what pairs store on average."""
    rng = np.random.default_rng(0)
    X = CONTAINERS["csr_array"]((rng.random((2000, 2000)) < 0.005).astype(float))
    queries = CONTAINERS["csr_array"](np.ones((1, 2000)))
    tracemalloc.start()
    ExactNeighbors().fit(X).kneighbors(queries, 5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * 2**20


@pytest.mark.parametrize("metric", ["seuclidean", "mahalanobis"])
def test_metrics_that_estimate_take_the_training_rows(metric, monkeypatch):
    """Variances come from all training rows, never from a block."""
    X = np.random.default_rng(0).normal(size=(50, 3)) * [1, 5, 20]
    whole = ExactNeighbors(metric).fit(X).kneighbors(X[:9], 4)
    monkeypatch.setattr(_bounds_search, "_LARGEST_TILE", 300)
    blocks = ExactNeighbors(metric).fit(X).kneighbors(X[:9], 4)
    np.testing.assert_array_equal(whole[0], blocks[0])
    learned = {"V": X.var(axis=0, ddof=1)} if metric == "seuclidean" else {"VI": np.linalg.inv(np.cov(X.T))}
    np.testing.assert_allclose(whole[0], np.sort(cdist(X, X, metric, **learned))[:9, :4])


def test_n_neighbors_of_the_constructor_is_the_default():
    """`kneighbors` without a number uses that of the constructor, as in scikit-learn."""
    assert ExactNeighbors(n_neighbors=2).fit(np.eye(4)).kneighbors()[1].shape == (4, 2)


def test_clone_and_input_untouched():
    """Nothing is built in the constructor and no input is changed."""
    X = np.arange(8.0).reshape(4, 2)
    before = X.copy()
    search = clone(ExactNeighbors("cosine", n_jobs=2))
    search.fit(X).kneighbors(X, 2)
    assert (before == X).all()
    assert search.get_params()["metric"] == "cosine"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ExactNeighbors().fit(np.eye(3)).kneighbors(n_neighbors=3),
            "n_neighbors must be smaller than n_samples=3",
        ),
        (
            lambda: ExactNeighbors().fit(np.eye(3)).kneighbors(np.eye(3), 4),
            "n_neighbors must be at most n_samples=3, got 4",
        ),
        (lambda: ExactNeighbors().fit(np.eye(3)).kneighbors(np.eye(3), 0), "n_neighbors must be at least 1, got 0"),
        (lambda: ExactNeighbors("nonsense").fit(np.eye(3)), "metric must be .* got 'nonsense'"),
        (lambda: ExactNeighbors().fit([[1e200], [0.0]]), "squared norm fits float64, got inf"),
        (lambda: ExactNeighbors().fit([[np.nan], [0.0]]), "NaN"),
        (
            lambda: ExactNeighbors("manhattan").fit([[1e308, 1e308], [0, 1]]),
            "sum of absolute values fits float64, got inf",
        ),
        (
            lambda: ExactNeighbors("mahalanobis").fit(np.ones((4, 2))),
            "covariance matrix has no inverse, .* Hint: drop such",
        ),
        (lambda: ExactNeighbors("seuclidean").fit(np.ones((1, 2))), "at least two rows"),
        (
            lambda: ExactNeighbors(lambda a, b: np.nan).fit(np.eye(3)).kneighbors(n_neighbors=1),
            "finite numbers, got nan",
        ),
        (lambda: ExactNeighbors().fit(np.eye(3)).kneighbors(np.eye(2), 1), "features"),
    ],
)
def test_errors(call, message):
    """Bad input says what is wrong, what was expected and what was got."""
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("algorithm", ["auto", "brute"])
@pytest.mark.parametrize("far", [1e154, 1e200, 1e308])
def test_queries_beyond_float64_are_refused(algorithm, far):
    """A query whose squared norm overflows is refused in our words, by every algorithm, without a warning."""
    X = np.random.default_rng(0).normal(size=(2000, 3))
    for rows in (X, np.rint(9 * X), X[:10]):
        search = ExactNeighbors(algorithm=algorithm).fit(rows)
        with pytest.raises(ValueError, match="squared norm fits float64"):
            search.kneighbors(np.full((3, 3), far))


def test_large_rows_in_different_columns():
    """Rows whose norms fit float64 are taken, although those of their extent do not."""
    X = np.zeros((300, 100))
    X[np.arange(300), np.arange(300) % 100] = 3e153 * (1 + np.arange(300) / 3000)
    expected = [nearest(X, row, 4, leave_out=i) for i, row in enumerate(X[:20])]
    assert ExactNeighbors().fit(X).kneighbors(n_neighbors=4)[1][:20].tolist() == expected


def test_largest_float32_rows():
    """Rows near the end of float32 have a centre."""
    steps = np.random.default_rng(0).integers(0, 9, (400, 12))
    X = (np.where(np.arange(400)[:, np.newaxis] < 250, 3.2e38, 1e38) * (1 - 1.2e-7 * steps)).astype(np.float32)
    expected = [nearest(X.astype(float), row, 5) for row in X[:20].astype(float)]
    assert ExactNeighbors().fit(X).kneighbors(X[:20], 5)[1].tolist() == expected


@pytest.mark.parametrize("dtype", [np.float16, ">f4", np.int8, bool])
def test_queries_of_any_type_on_sparse_rows(dtype):
    """Dense queries that scipy's sparse matrices do not hold are converted."""
    X = CONTAINERS["csr_array"](np.eye(9))
    assert ExactNeighbors().fit(X).kneighbors(np.eye(9).astype(dtype), 1)[1].ravel().tolist() == list(range(9))


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_many_rows_at_the_same_distance_stay_in_bounds(algorithm):
    """Ten thousand rows as far as the nearest are not held in memory for each query."""
    r, a = 2500, np.arange(2500.0)
    X = np.vstack([np.c_[a, r - a], np.c_[r - a, -a], np.c_[-a, a - r], np.c_[a - r, a]])
    search = ExactNeighbors("manhattan", algorithm=algorithm, n_jobs=1).fit(X)
    tracemalloc.start()
    indices = search.kneighbors(np.zeros((300, 2)), 3, return_distance=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (indices == [0, 1, 2]).all()
    assert peak < 300 * 2**20


@pytest.mark.long
def test_ties_of_whole_numbers_stay_in_bounds():
    """Unit vectors are all as far from each other: the first are the neighbours, and not all are held."""
    X = CONTAINERS["csr_array"](np.eye(6000))
    tracemalloc.start()
    indices = ExactNeighbors(n_jobs=1).fit(X).kneighbors(n_neighbors=3, return_distance=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert indices[10:].tolist() == [[0, 1, 2]] * 5990
    assert peak < 700 * 2**20


def test_threads_are_a_number():
    """`n_jobs` that is no number is refused when the search is fitted."""
    with pytest.raises(TypeError, match="n_jobs must be an integer, got 'a'"):
        ExactNeighbors(n_jobs="a").fit(np.eye(3))


def answers_at(exponent, metric, **options):
    """Return what is found among small whole numbers times a power of two."""
    rng = np.random.default_rng(0)
    rows, queries = np.ldexp(rng.integers(-5, 6, (40, 4)).astype(float), exponent), rng.integers(-5, 6, (30, 4))
    if metric == "jensenshannon":
        rows, queries = np.abs(rows), np.abs(queries)
    search = ExactNeighbors(metric, **options).fit(rows)
    return search.kneighbors(np.ldexp(queries.astype(float), exponent), 5, return_distance=False)


METRICS_OF_POWERS = [
    ("euclidean", {}),
    ("heom", {}),
    ("nan_euclidean", {}),
    ("seuclidean", {}),
    ("mahalanobis", {}),
    ("correlation", {}),
    ("braycurtis", {}),
    ("jensenshannon", {}),
    ("minkowski", {"metric_params": {"p": 3}}),
    ("minkowski", {"metric_params": {"p": 10}}),
]


@pytest.mark.parametrize(("metric", "options"), METRICS_OF_POWERS, ids=str)
@pytest.mark.parametrize("exponent", [-1074, -1000, -540, -500, -200, -40, 40, 200, 500, 508, 700, 1019])
def test_powers_that_vanish_or_overflow_are_refused(metric, options, exponent):
    """All rows times a power of two have the same neighbours, or there is an error that gives the largest value."""
    try:
        found = answers_at(exponent, metric, **options)
    except ValueError as error:
        assert re.search(r"Hint: (scale|multiply) the features", str(error))  # noqa: PT017 - either way is right
        assert abs(exponent) > 40
    else:
        np.testing.assert_array_equal(found, answers_at(0, metric, **options))


@pytest.mark.parametrize("metric", ["manhattan", "cosine", "chebyshev", "canberra", "hamming"])
@pytest.mark.parametrize("exponent", [-1074, -540, 540, 1000])
def test_other_metrics_take_numbers_of_any_size(metric, exponent):
    """Where nothing is squared, or rows are scaled first, nothing vanishes."""
    np.testing.assert_array_equal(answers_at(exponent, metric), answers_at(0, metric))


@pytest.mark.parametrize(("p", "scale"), [(np.inf, 1e3), (np.inf, 1e-200), (50, 1e3), (100, 1e-2), (1, 1e200)])
def test_minkowski_takes_what_its_power_takes(p, scale):
    """The limits follow the power: the largest difference has none, and a sum of differences hardly any."""
    X = scale * np.random.default_rng(0).normal(size=(30, 3))
    found = ExactNeighbors("minkowski", metric_params={"p": p}).fit(X).kneighbors(X, 4, return_distance=False)
    assert (found == np.argsort(cdist(X, X, "minkowski", p=p), kind="stable")[:, :4]).all()


def test_minkowski_of_no_number_is_explained():
    """By the message of all parameters that do not fit a metric."""
    for p in ("a", None):
        with pytest.raises(ValueError, match=r"metric must be 'euclidean', .* got 'minkowski'"):
            ExactNeighbors("minkowski", metric_params={"p": p}).fit(np.eye(3))


def test_sizes_are_looked_at_until_one_is_large_enough(monkeypatch):
    """As a rule that is the first block: rows in a file are not read for it."""
    seen = []
    monkeypatch.setattr(_distances, "largest_size", lambda X: seen.append(len(X)) or largest_size(X))
    _distances.check_not_too_small([np.ones((100_000, 8)), np.ones((5, 8))], _distances.Euclidean())
    assert seen == [4096]
    with pytest.raises(ValueError, match=r"got 1e-200 as the largest"):
        _distances.check_not_too_small([np.zeros((10_000, 8)), np.full((5, 8), 1e-200)], _distances.Euclidean())


def test_small_numbers_beside_large_ones_and_zeros_are_taken():
    """Only rows without any number that can be squared are refused, not a row of small ones, nor empty ones."""
    search = ExactNeighbors().fit([[0.0], [1e-200], [1.0]]).add([[1e-300]])
    assert search.kneighbors([[0.9]], 1, return_distance=False).tolist() == [[2]]
    assert ExactNeighbors().fit(np.zeros((3, 2))).kneighbors([[1e-200, 0]], 1)[1].tolist() == [[0]]
    with pytest.raises(ValueError, match=r"at least 3\.4e-136, as smaller distances may round to 0, got 1e-200 as"):
        ExactNeighbors().fit([[0.0], [1e-200]])


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_doors_for_checked_data(store):
    """The private methods give what the public ones give."""
    X = np.random.default_rng(0).integers(0, 5, (60, 4))
    public, private = ExactNeighbors().fit(store(X)), ExactNeighbors()
    assert checked_method(private, "fit")(store(X)) is private
    assert (private.n_features_in_, private.n_samples_fit_) == (4, 60)
    for queries in (None, store(X[:7])):
        found = checked_method(private, "kneighbors")(queries, 3)
        np.testing.assert_array_equal(found, public.kneighbors(queries, 3))
        assert [part.dtype for part in found] == [np.float64, np.intp]


def test_a_public_method_of_a_subclass_has_no_private_one():
    """What a user's class or object changes is not passed by."""

    class Counting(ExactNeighbors):
        def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
            return super().kneighbors(X, n_neighbors, return_distance)

    class Private(Counting):
        def _kneighbors(self, queries, k):
            return super()._kneighbors(queries, k)

    own = ExactNeighbors()
    own.fit = own.fit
    assert checked_method(Counting(), "kneighbors") is None
    assert checked_method(own, "fit") is None
    assert checked_method(NearestNeighbors(), "kneighbors") is None
    assert checked_method(Counting(), "fit") is not None
    assert checked_method(Private(), "kneighbors") is not None
