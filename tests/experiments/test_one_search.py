"""Label sets and scores by one search."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline

from nearlabel.experiments import make_method
from nearlabel.experiments.one_search import searching_once
from nearlabel.neighbors import ExactNeighbors
from nearlabel.preprocessing import FeatureScaler
from nearlabel.rivals import BinaryRelevance

RNG = np.random.default_rng(0)
X, Y, Q = RNG.normal(size=(40, 3)), (RNG.random((40, 4)) < 0.4).astype(int), RNG.normal(size=(9, 3))


class Counting(ExactNeighbors):
    """Counts how often it is asked about other rows than its own."""

    asked = 0

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """Count and search."""
        Counting.asked += X is not None
        return super().kneighbors(X, n_neighbors, return_distance)


def fitted(kind):
    """A model, by what lies around its search."""
    model = make_method("mlknn@micro-f" if "thresholds" in kind else "mlknn", 5, Counting())
    return (make_pipeline(FeatureScaler("minmax"), model) if "pipeline" in kind else model).fit(X, Y)


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
@pytest.mark.parametrize("kind", ["alone", "pipeline", "thresholds", "pipeline thresholds"])
def test_one_search_for_all(kind, storage):
    """The same answers as by as many searches, and the model itself is what it was."""
    model, queries = fitted(kind), storage(Q)
    expected = model.predict(queries), model.predict_proba(queries)
    once = searching_once(model)
    Counting.asked = 0
    for _ in range(2):
        assert np.array_equal(once.predict(queries), expected[0])
        assert np.array_equal(once.predict_proba(queries), expected[1])
    assert Counting.asked == 1
    model.predict(queries)
    model.predict(queries)
    assert Counting.asked == 3


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
def test_other_rows_are_searched(storage):
    """No answer is given for rows that are not those it was found for."""
    model = fitted("alone")
    once = searching_once(model)
    near = Q.copy()
    near[3, 1] += 1
    for rows in (Q, Q[:4], Q[::-1], near, np.vstack([Q, Q]), Q):
        assert np.array_equal(once.predict_proba(storage(rows)), model.predict_proba(storage(rows)))


def test_without_a_search():
    """Nothing is changed."""
    model = BinaryRelevance().fit(X, Y)
    assert searching_once(model) is model
