import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from conftest import CONTAINERS
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors, recall

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))


class Blind(BaseEstimator):
    """Sees some of the training rows only."""

    def __init__(self, seen=30, metric="euclidean"):
        self.seen = seen
        self.metric = metric

    def fit(self, X, y=None):
        """Keep the first rows."""
        self.exact_ = ExactNeighbors(self.metric).fit(X[: self.seen])
        return self

    def kneighbors(self, X=None, n_neighbors=None):
        """Answer for queries."""
        return self.exact_.kneighbors(X, n_neighbors)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "manhattan", "chebyshev"])
def test_exact_search_finds_all(problem, metric):
    """Whatever the ties, all is found."""
    assert recall(ExactNeighbors(metric), problem[0], n_neighbors=5) == 1.0


def test_ties_are_no_misses(problem):
    """Searches that order equal distances otherwise miss nothing; scikit-learn's sums round otherwise than ours."""
    X = problem[0]
    if np.ptp(X) < 1:
        X = np.zeros_like(X)
    assert recall(NearestNeighbors(algorithm="kd_tree"), np.round(X), n_neighbors=5) == 1.0


@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
@pytest.mark.parametrize("rows", [X, np.round(X)], ids=["spread", "ties"])
def test_against_a_count_by_hand(rows, metric):
    """The share of neighbours at most as far as the k-th nearest other row, query by query."""
    distances = cdist(rows, rows, metric)
    np.fill_diagonal(distances, np.inf)
    expected = []
    for own, row in enumerate(distances):
        seen = [i for i in np.argsort(row[:30], kind="stable") if i != own][:7]
        expected.append(sum(row[i] <= np.sort(row)[6] + 1e-12 for i in seen) / 7)
    shares = recall(Blind(metric=metric), rows, n_neighbors=7, per_query=True)
    assert shares == pytest.approx(expected)
    assert recall(Blind(metric=metric), rows, n_neighbors=7) == pytest.approx(np.mean(expected))
    assert 0.3 < np.mean(expected) < 0.9


@pytest.mark.parametrize("store", CONTAINERS.values(), ids=CONTAINERS)
def test_any_container(store):
    """Storage changes nothing."""
    assert recall(ExactNeighbors("cosine"), store(np.round(X)), n_queries=10, n_neighbors=3) == 1.0
    if store is not CONTAINERS["coo_array"]:
        assert recall(Blind(), store(np.round(X)), n_queries=10) == recall(Blind(), np.round(X), n_queries=10)


def test_queries_are_drawn():
    """So many, by the seed, each once; few rows give all."""
    few = [recall(Blind(), X, 20, 5, random_state=seed, per_query=True) for seed in (0, 0, 1)]
    assert few[0].shape == (20,)
    assert (few[0] == few[1]).all()
    assert (few[0] != few[2]).any()
    assert recall(Blind(), X, n_neighbors=5, per_query=True).shape == (60,)


def test_the_exact_search_is_asked_for_the_drawn_only(monkeypatch):
    """The truth costs as many queries as were drawn."""
    asked, search = [], ExactNeighbors.kneighbors

    def counted(self, X=None, *args, **kwargs):
        asked.append(60 if X is None else X.shape[0])
        return search(self, X, *args, **kwargs)

    monkeypatch.setattr(ExactNeighbors, "kneighbors", counted)
    recall(NearestNeighbors(), X, n_queries=5)
    assert asked == [5]


def test_what_is_passed_stays_as_it_is():
    """A copy is fitted; a frozen search is asked as it is."""
    search = Blind(seen=60)
    assert recall(search, X) == 1.0
    assert not hasattr(search, "exact_")
    fitted = Blind(seen=20).fit(X)
    fitted.seen = 60
    assert recall(fitted, X) == 1.0
    assert recall(FrozenEstimator(fitted), X) < 1.0


def test_transformers_and_graphs():
    """Whatever the lazy classifiers take as `search`."""
    assert recall(KNeighborsTransformer(n_neighbors=10), X) == 1.0
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), X, n_neighbors=10)
    assert recall(known, X, n_queries=7) == 1.0
    wrong = PrecomputedNeighbors.from_search(ExactNeighbors("cosine"), X, n_neighbors=10, check_rows=False)
    assert recall(wrong, X) < 1.0
    assert recall(wrong, X, metric="cosine") == 1.0


@pytest.mark.parametrize(
    "search",
    [
        NearestNeighbors(p=1),
        NearestNeighbors(metric="minkowski", p=3),
        NearestNeighbors(metric="minkowski", p=None, metric_params={"p": 3}),
        NearestNeighbors(metric="cosine"),
        KNeighborsTransformer(n_neighbors=10, metric="manhattan"),
        ExactNeighbors("minkowski", metric_params={"p": 3}),
        ExactNeighbors("seuclidean", metric_params={"V": np.arange(1.0, 5.0)}),
    ],
    ids=str,
)
def test_the_truth_is_by_the_metric_of_the_search(search):
    """Its parameters metric, p and metric_params say what is near."""
    assert recall(search, X) == 1.0


def test_rows_found_twice_count_once():
    """A search that says the same row again and again found one."""

    class Stuck(Blind):
        def kneighbors(self, X=None, n_neighbors=None):
            distances, indices = super().kneighbors(X, n_neighbors)
            return distances, np.repeat(indices[:, 1:2], n_neighbors, axis=1)

    assert recall(Stuck(60), X, n_neighbors=5) == pytest.approx(0.2)


def test_nothing_found():
    """Places that a library fills with -1 are misses."""

    class Giving(Blind):
        def kneighbors(self, X=None, n_neighbors=None):
            distances, indices = super().kneighbors(X, n_neighbors)
            indices[:, 3:] = -1
            return distances, indices

    assert recall(Giving(60), X, n_neighbors=4) == pytest.approx(0.5)


def test_bad_arguments():
    """Too many neighbours, no query and metrics that need all rows are refused."""
    with pytest.raises(ValueError, match="n_neighbors must be smaller than n_samples=60, got 60"):
        recall(ExactNeighbors(), X, n_neighbors=60)
    with pytest.raises(ValueError, match="n_queries must be at least 1, got 0"):
        recall(ExactNeighbors(), X, n_queries=0)
    with pytest.raises(TypeError, match="search must be an object with the methods fit and kneighbors, got 3"):
        recall(3, X)
    with pytest.raises(ValueError, match="metric must have its metric_params, got 'seuclidean'"):
        recall(ExactNeighbors("seuclidean"), X)
