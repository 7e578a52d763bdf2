import pickle
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.estimator_checks import check_estimator

from nearlabel.lazy import NLDD, BRkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, FaissHNSWNeighbors, FaissIVFNeighbors, UsearchNeighbors, recall

SEARCHES = [FaissIVFNeighbors, FaissHNSWNeighbors, UsearchNeighbors]
RNG = np.random.default_rng(0)
CENTRES = RNG.normal(size=(20, 8))
X = CENTRES[RNG.integers(0, 20, 500)] + 0.3 * RNG.normal(size=(500, 8))
QUERIES = CENTRES[RNG.integers(0, 20, 50)] + 0.3 * RNG.normal(size=(50, 8))


@pytest.fixture(params=SEARCHES, ids=lambda s: s.__name__)
def search(request):
    """Each wrapper, where its library is installed."""
    pytest.importorskip("faiss" if request.param in SEARCHES[:2] else "usearch")
    return request.param()


def assert_same(answer, expected):
    """Both arrays agree bit for bit."""
    for ours, theirs in zip(answer, expected, strict=True):
        assert (ours == theirs).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("queries", [None, QUERIES, QUERIES[:1]], ids=["training", "queries", "one"])
@pytest.mark.parametrize("k", [1, 10])
def test_nearly_the_exact_answer(search, metric, queries, k):
    """Most neighbours are found; their distances are exact to the last bit, their order ours, no row its own."""
    search.set_params(metric=metric).fit(X)
    exact = ExactNeighbors(metric).fit(X)
    distances, indices = search.kneighbors(queries, k)
    far = exact.kneighbors(X if queries is None else queries, 500)
    every = np.empty_like(far[0])
    np.put_along_axis(every, far[1], far[0], axis=1)
    assert (distances == np.take_along_axis(every, indices, axis=1)).all()
    assert (np.lexsort((indices, distances))[:, :k] == np.arange(k)).all()
    assert (distances == exact.kneighbors(queries, k)[0]).mean() > 0.95
    if queries is None:
        assert (indices != np.arange(500)[:, np.newaxis]).all()
    assert (search.kneighbors(queries, k, return_distance=False) == indices).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_types_and_layouts(search, dtype):
    """The same numbers in another type or layout, from a list or read-only, give the same answer."""
    rows, queries = (10 * X).astype(dtype), (10 * QUERIES).astype(dtype)
    expected = clone(search).fit(rows.astype(float)).kneighbors(queries.astype(float), 5)
    rows.setflags(write=False)
    assert_same(clone(search).fit(np.asfortranarray(rows)).kneighbors(queries.tolist(), 5), expected)


def test_the_rows_are_our_own(search):
    """Rows that are changed after the fit change nothing."""
    rows = X.copy()
    expected = search.fit(rows).kneighbors(QUERIES, 5)
    rows[:] = 0
    assert_same(search.kneighbors(QUERIES, 5), expected)


@pytest.mark.parametrize("scale", [1.0, 1e-100, 1e100])
@pytest.mark.parametrize(("metric", "offset", "spread"), [("euclidean", 1e5, 1e-3), ("cosine", 1e3, 1e-2)])
def test_far_from_the_origin(search, metric, offset, spread, scale):
    """Data with an offset, and of any scale, are found as well as others: they are centred before they are rounded."""
    rows = scale * (offset + spread * X)
    assert recall(search.set_params(metric=metric), rows, 200) > 0.95


def test_what_float32_alone_does():
    """The same index without centring finds next to nothing."""
    faiss = pytest.importorskip("faiss")
    rows = (1e5 + 1e-3 * X).astype(np.float32)
    index = faiss.IndexHNSWFlat(8, 16)
    index.add(rows)
    found = index.search(rows, 11)[1]
    true = ExactNeighbors().fit(1e5 + 1e-3 * X).kneighbors(n_neighbors=10)[1]
    assert np.mean([len(set(f) & set(t)) / 10 for f, t in zip(found, true, strict=True)]) < 0.1


def test_one_far_row_spoils_no_other(search):
    """An outlier and a far query leave the others their digits."""
    rows = X.copy()
    rows[0] = 1e30
    assert recall(search, rows, 200) > 0.95
    assert (search.fit(rows).kneighbors([[1e30] * 8, [1e140] * 8], 1)[1] == 0).all()


def test_the_same_answer_each_time(search):
    """Neither another fit, nor two threads, nor smaller blocks of queries change it."""
    expected = search.fit(X).kneighbors(None, 5)
    assert_same(clone(search).fit(X).kneighbors(None, 5), expected)
    assert_same(clone(search).set_params(n_jobs=2).fit(X).kneighbors(None, 5), expected)
    assert_same(search.kneighbors(X[:7], 5), [a[:7] for a in search.kneighbors(X, 5)])


def test_building_with_threads(search):
    """A graph built by two threads is as good, if not the same."""
    if "reproducible" in search.get_params():
        assert recall(search.set_params(reproducible=False, n_jobs=2), X, 200) > 0.95


def test_seeds():
    """The lists of another seed are other lists."""
    pytest.importorskip("faiss")
    answers = [FaissIVFNeighbors(1, random_state=seed).fit(X).kneighbors(None, 10)[1] for seed in (0, 0, 1)]
    assert (answers[0] == answers[1]).all()
    assert (answers[0] != answers[2]).any()


def test_more_work_finds_more():
    """All lists give the exact answer; few give less."""
    pytest.importorskip("faiss")
    assert recall(FaissIVFNeighbors(50, n_lists=50), X) == 1.0
    assert recall(FaissIVFNeighbors(1, n_lists=50), X) < 0.9


def test_a_fitted_search_tells_what_it_finds(monkeypatch):
    """As the function does with a fit of its own; the index is not built again."""
    pytest.importorskip("faiss")
    X = np.random.default_rng(0).normal(size=(2000, 8))
    search = FaissIVFNeighbors(1, n_lists=50).fit(X)
    monkeypatch.setattr(FaissIVFNeighbors, "_build", None)
    assert search.recall(300, 5, random_state=1) == recall(FrozenEstimator(search), X, 300, 5, random_state=1)
    with pytest.raises(NotFittedError):
        FaissIVFNeighbors().recall()


def test_fewer_found_than_asked_for():
    """A list of three rows cannot name twenty: such queries are answered exactly."""
    pytest.importorskip("faiss")
    search, exact = FaissIVFNeighbors(1, n_lists=150).fit(X), ExactNeighbors().fit(X)
    for queries in (QUERIES, None):
        assert_same(search.kneighbors(queries, 100), exact.kneighbors(queries, 100))


@pytest.mark.parametrize("n", [1, 2, 3, 12])
def test_few_rows(search, n):
    """Any number of rows will do, and all of them can be asked for."""
    exact = ExactNeighbors().fit(X[:n])
    assert_same(search.fit(X[:n]).kneighbors(QUERIES, n), exact.kneighbors(QUERIES, n))
    if n > 1:
        assert_same(search.kneighbors(None, n - 1), exact.kneighbors(None, n - 1))


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_duplicates_and_empty_rows(search, metric):
    """Equal rows are neighbours of each other, never of themselves, empty ones too."""
    rows = np.repeat(X[:20], 10, axis=0)
    rows[150:160] = 0
    distances, indices = search.set_params(metric=metric).fit(rows).kneighbors(None, 5)
    assert (indices != np.arange(200)[:, np.newaxis]).all()
    assert distances == pytest.approx(0, abs=1e-15)
    assert (indices // 10 == np.arange(200)[:, np.newaxis] // 10).all()


def test_empty_rows_are_not_nominated(search):
    """By the cosine the index gives rows with a direction before empty ones, though these are many."""
    rows = np.vstack([np.zeros((100, X.shape[1])), np.abs(X[:100])])
    _, indices = search.set_params(metric="cosine").fit(rows).kneighbors(None, 5)
    assert ((indices < 100) == (np.arange(200) < 100)[:, np.newaxis]).all()


def test_all_rows_equal(search):
    """Distances are 0, whichever rows are found."""
    distances, indices = search.fit(np.ones((300, 3))).kneighbors(None, 5)
    assert (distances == 0).all()
    assert (indices != np.arange(300)[:, np.newaxis]).all()


def test_pickle_and_clone(search):
    """A fitted search survives; a clone is unfitted."""
    fitted = search.set_params(n_neighbors=3).fit(X)
    expected = fitted.kneighbors(QUERIES)
    assert expected[1].shape == (50, 3)
    assert_same(pickle.loads(pickle.dumps(fitted)).kneighbors(QUERIES), expected)
    assert not hasattr(clone(fitted), "n_samples_fit_")
    assert pickle.loads(pickle.dumps(clone(fitted))).get_params() == fitted.get_params()


def test_classifiers(search):
    """As `search` of a classifier, leave-one-out scores and search__ parameters included."""
    Y = (X[:, :3] > 0).astype(int)
    exact = MLkNN(5).fit(X, Y)
    model = MLkNN(5, search=search).set_params(search__metric="euclidean").fit(X, Y)
    assert np.abs(model.predict_proba(QUERIES) - exact.predict_proba(QUERIES)).mean() < 0.01
    assert np.abs(model.loo_predict_proba() - exact.loo_predict_proba()).mean() < 0.01
    assert BRkNN(5, search=search).fit(X, Y).predict(QUERIES).shape == (50, 3)
    assert NLDD(search=search, random_state=0).fit(X[:100], Y[:100]).predict(QUERIES).shape == (50, 3)


def test_scikit_learns_checks(search):
    """All its checks of an estimator pass."""
    check_estimator(search, on_skip=None)


def test_refused(search):
    """Sparse rows, other metrics, numbers out of range and too many neighbours, in our words."""
    with pytest.raises(TypeError, match=r"X must be dense for \w+Neighbors, got sparse rows. Hint: ExactNeighbors"):
        search.fit(sparse.csr_array(X))
    with pytest.raises(TypeError, match="X must be dense"):
        search.fit(X).kneighbors(sparse.csr_array(X))
    with pytest.raises(ValueError, match="n_neighbors must be smaller than n_samples=500, got 500"):
        search.kneighbors(None, 500)
    with pytest.raises(ValueError, match="X must have values below 1e\\+150, got a larger one"):
        search.fit(1e160 * X)
    with pytest.raises(ValueError, match="contains NaN"):
        search.fit(np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match=r"metric must be one of \['cosine', 'euclidean'\], got 'manhattan'"):
        clone(search).set_params(metric="manhattan").fit(X)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (FaissIVFNeighbors(0), "n_probe must be at least 1, got 0"),
        (FaissIVFNeighbors(n_lists=0), "n_lists must be at least 1, got 0"),
        (FaissIVFNeighbors(n_lists=501), "n_lists must be at most n_samples=500, got 501"),
        (FaissHNSWNeighbors(n_links=1), "n_links must be at least 2, got 1"),
        (FaissHNSWNeighbors(ef_search=0), "ef_search must be at least 1, got 0"),
        (UsearchNeighbors(ef_construction=0), "ef_construction must be at least 1, got 0"),
    ],
)
def test_bad_parameters(wrong, message):
    """Numbers out of range are told before anything is built."""
    pytest.importorskip("faiss")
    pytest.importorskip("usearch")
    with pytest.raises(ValueError, match=message):
        wrong.fit(X)


@pytest.mark.parametrize(("search", "module"), [(FaissIVFNeighbors(), "faiss"), (UsearchNeighbors(), "usearch.index")])
def test_without_the_library(search, module, monkeypatch):
    """The message names the extra."""
    monkeypatch.setitem(sys.modules, module, None)
    library = module.partition(".")[0]
    with pytest.raises(ImportError, match=rf"Neighbors needs {library}: pip install 'nearlabel\[ann\]'"):
        search.fit(X)
