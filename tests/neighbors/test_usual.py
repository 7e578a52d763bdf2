"""The training samples' distances, by which explanations say how novel a query is, are found once."""

import gc
import pickle
from threading import Barrier, Thread
from time import sleep

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from nearlabel.lazy import NLDD, BRkNN, LPkNN, MLkNN
from nearlabel.models import explain, novelty_detector
from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.usual import _KEPT, usual_distances
from nearlabel.thresholds import TunedThresholdsClassifierCV

ASKED = []  # of the searches for all training rows; not an attribute, which a copy of the search would have


class Counting(BaseEstimator):
    """A search that notes each time it is asked for the neighbours of all training rows."""

    def fit(self, X):
        """Index the rows."""
        self.inner_ = ExactNeighbors().fit(X)
        return self

    def kneighbors(self, X=None, n_neighbors=5):
        """Answer."""
        if X is None:
            ASKED.append(n_neighbors)
        return self.inner_.kneighbors(X, n_neighbors)


@pytest.fixture
def problem():
    """Rows, label sets and queries."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), (rng.random((40, 4)) < 0.4).astype(int), rng.normal(size=(5, 3)) * 2


def novelties(model, queries):
    """Of each query."""
    return [one.novelty for one in explain(model, queries)]


@pytest.mark.parametrize("make", [BRkNN, LPkNN, lambda k, search: TunedThresholdsClassifierCV(BRkNN(k, search=search))])
def test_all_rows_are_searched_once(problem, make):
    """Whoever explains, through thresholds and copies; a copy from a pickle searches for itself."""
    X, Y, queries = problem
    model = make(4, search=Counting()).fit(X, Y)
    ASKED.clear()
    first = novelties(model, queries)
    assert ASKED == [4]
    again = [novelties(model, queries[[at]]) for at in range(len(queries))]
    assert [one for (one,) in again] == first
    detector = novelty_detector(model)
    assert ASKED == [4]
    assert detector.training_distances_.tolist() == sorted(detector.training_distances_.tolist())
    assert novelties(pickle.loads(pickle.dumps(model)), queries) == first
    assert ASKED == [4, 4]


def test_nothing_of_them_is_in_a_pickle(problem):
    """A model that has explained is as large as one that has not."""
    X, Y, queries = problem
    for model in (BRkNN(4), LPkNN(4), MLkNN(4)):
        fitted = clone(model).fit(X, Y)
        before = pickle.dumps(fitted)
        fitted.explain(queries)
        assert len(pickle.dumps(fitted)) == len(before)


@pytest.mark.parametrize("model", [BRkNN(4), LPkNN(4), MLkNN(4)])
def test_updates_begin_anew(problem, model):
    """After rows come and go the novelty is that of a fit to the present rows; those of the former ones are freed."""
    X, Y, queries = problem
    model = clone(model).fit(X[:30], Y[:30])
    copy = pickle.loads(pickle.dumps(model))
    model.explain(queries)
    gc.collect()
    n_kept = len(_KEPT)
    for step in (lambda: model.partial_fit(X[30:] / 9, Y[30:]), lambda: model.forget([0, 5, 35])):
        step()
        rows = np.vstack([X[:30], X[30:] / 9])
        labels = Y
        if model._n_samples == 37:
            rows, labels = np.delete(rows, [0, 5, 35], axis=0), np.delete(Y, [0, 5, 35], axis=0)
        assert novelties(model, queries) == novelties(clone(model).fit(rows, labels), queries)
    gc.collect()
    assert len(_KEPT) == n_kept
    assert novelties(copy, queries) == novelties(clone(model).fit(X[:30], Y[:30]), queries)


def test_threads_wait_for_the_one_that_searches():
    """Eight first explanations at once search all rows once."""
    search, start, asked, found = Counting(), Barrier(8), [], []

    def find():
        asked.append(1)
        sleep(0.1)  # while the others ask
        return np.array([2.0, 1.0])

    def ask():
        start.wait()
        found.append(usual_distances(search, 3, find))

    threads = [Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(asked) == 1
    assert [id(one) for one in found] == [id(found[0])] * 8


def test_what_cannot_be_kept_is_found_each_time():
    """A user's own search without a hash; an error keeps nothing."""

    class Unhashable:
        __hash__ = None

    assert usual_distances(Unhashable(), 3, lambda: np.array([2.0, 1.0])).tolist() == [1.0, 2.0]
    search = Counting()

    def fail():
        raise ValueError("no rows")

    with pytest.raises(ValueError, match="no rows"):
        usual_distances(search, 3, fail)
    kept = usual_distances(search, 3, lambda: np.array([2.0, 1.0]))
    assert usual_distances(search, 3, fail) is kept
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 9.0


@pytest.mark.filterwarnings("ignore:The binomial regression has no finite solution")
def test_nldd_searches_once(problem, monkeypatch):
    """By its own distance, for the nearest row."""
    X, Y, queries = problem
    model = NLDD(random_state=0).fit(X, Y)
    first = novelties(model, queries)
    monkeypatch.setattr(ExactNeighbors, "fit", lambda *_: pytest.fail("searched again"))
    assert novelties(model, queries) == first
