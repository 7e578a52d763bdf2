"""Classifiers warn where neighbours are certainly not what was meant, and nowhere else."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from nearlabel import BRkNN, MLkNN, NeighborsClassifierCV
from nearlabel.datasets import load_multidigits
from nearlabel.experiments import Plan, run
from nearlabel.neighbors import ExactNeighbors, UselessNeighborsWarning
from nearlabel.neighbors.votes import occurrences, share_of_most_used
from nearlabel.thresholds import TunedThresholdsClassifierCV

pytestmark = pytest.mark.filterwarnings("error::nearlabel.neighbors.UselessNeighborsWarning")


def with_hub(n_rows=300):
    """Return rows on a sphere of many dimensions, and two at its centre, nearest to all others."""
    X = np.random.default_rng(0).normal(size=(n_rows, 200))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    X[:3] = 0.001 * X[:3]
    return X


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_one_distance(store):
    """Any two rows of the identity are equally far apart."""
    X, y = store(np.eye(20)), np.eye(20, 3, dtype=int)
    with pytest.warns(UselessNeighborsWarning, match=r"^All neighbours .* are at the distance 1\.41421"):
        MLkNN(n_neighbors=4).fit(X, y)  # it keeps one more, to leave a row out


def test_many_equal_distances_are_no_reason():
    """A grid has ties everywhere; and where all other rows are neighbours, their order decides nothing."""
    grid = np.indices((6, 6)).reshape(2, -1).T.astype(float)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MLkNN(n_neighbors=4).fit(grid, np.eye(36, 2, dtype=int))
        BRkNN(n_neighbors=4).fit(np.eye(5), np.eye(5, 2, dtype=int)).loo_predict()
    assert not caught


def test_hubs():
    """Three rows of 300 are nearest to all, but not by their directions; 1 % of 90 rows is less than one."""
    X, y = with_hub(), np.eye(300, 3, dtype=int)
    with pytest.warns(UselessNeighborsWarning, match="1 % of the training samples take more than half"):
        MLkNN(n_neighbors=3).fit(X, y)
    with pytest.warns(UselessNeighborsWarning, match="more than half"):
        TunedThresholdsClassifierCV(BRkNN(n_neighbors=3), cv="loo").fit(X, y)
    MLkNN(n_neighbors=3, search=ExactNeighbors(metric="cosine")).fit(X, y)
    MLkNN(n_neighbors=3).fit(X[:90], y[:90])


def test_share_of_most_used():
    """A hundredth of the rows, rounded up, is counted."""
    indices = np.array([[0, 1], [0, 2], [0, 1]])
    occurs = occurrences(indices, 250)
    assert occurs[:4].tolist() == [3, 2, 1, 0]
    assert share_of_most_used(occurs) == 1.0  # the three rows that are at least 1 % of 250
    assert share_of_most_used(occurs[:100]) == 0.5  # one row


def test_good_data_do_not_warn():
    """No warning is given for real rows."""
    data = load_multidigits()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        MLkNN().fit(data.X, data.Y)
    assert not caught


def test_a_choice_warns_of_what_it_took():
    """Once, not for each candidate; by the cosine there is no hub."""
    X, y = with_hub(), np.random.default_rng(1).integers(0, 2, (300, 2))
    for metric, expected in (("euclidean", 1), ("cosine", 0)):
        choice = NeighborsClassifierCV(methods=[MLkNN()], n_neighbors=[1, 3, 5], scales=["none"], metrics=[metric])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            choice.fit(X, y)
        assert len(caught) == expected


@pytest.mark.parametrize("n_workers", [1, 2])
def test_a_run_warns_once(n_workers):
    """Warnings of processes reach the caller."""
    plan = Plan(methods=("mlknn",), n_neighbors=(4,), cv=3, metrics=("hamming_loss",))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        records = run(plan, {"ties": (np.eye(30), np.eye(30, 3, dtype=int))}, n_workers=n_workers)
    assert len(records) == 3
    assert [warning.category for warning in caught] == [UselessNeighborsWarning]
