import numpy as np
import pytest
from scipy import sparse

from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.exact._candidates import in_threads
from nearlabel.utils.messages import listening


def rows(n, d, seed=0):
    """Random rows."""
    return np.random.default_rng(seed).normal(size=(n, d))


SEARCHES = {
    "queries": (rows(2000, 20), rows(6000, 20, 1)),
    "sparse queries": (sparse.csr_array(rows(2000, 20)), sparse.csr_array(rows(3000, 20, 1))),
    "left out": (rows(9000, 12), None),
    "few features": (rows(9000, 3), None),
    "by bounds": (np.abs(rows(400, 20)), np.abs(rows(3000, 20, 1))),
}


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_tells_how_far_it_is(name, n_jobs):
    """From above 0 to 1, never back with one thread, each share once; the answer is the same."""
    X, queries = SEARCHES[name]
    metric = "manhattan" if name == "by bounds" else "euclidean"
    search = ExactNeighbors(metric, n_jobs=n_jobs).fit(X)
    told = []
    with listening(told.append):
        answer = search.kneighbors(queries, 5)
    assert len(told) > 1
    assert sorted(set(told)) == (told if n_jobs == 1 else sorted(told))
    assert min(told) > 0
    assert max(told) == pytest.approx(1)
    told.clear()
    for ours, alone in zip(answer, search.kneighbors(queries, 5), strict=True):
        np.testing.assert_array_equal(ours, alone)
    assert not told


@pytest.mark.parametrize("name", SEARCHES)
def test_fitting_tells_nothing(name):
    """What prepares the rows is quick: if it were told, a bar over fit and search would begin at its end."""
    told = []
    with listening(told.append):
        search = ExactNeighbors(n_jobs=1).fit(SEARCHES[name][0])
        assert not told
        search.kneighbors(SEARCHES[name][1], 5)
    assert told == sorted(told)
    assert told[0] < 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_share_of_the_whole(n_jobs):
    """What is told is a part of the whole work; without a share, and by None, nothing is heard."""
    told, work = [], [(), (), (), ()]
    with listening(told.append):
        in_threads(n_jobs, lambda: None, work, share=(0.5, 0.75))
        in_threads(n_jobs, lambda: None, work, share=None)
        with listening(None):
            in_threads(n_jobs, lambda: None, work, share=(0.75, 1.0))
    assert sorted(told) == [0.5625, 0.625, 0.6875, 0.75]


def test_a_listener_that_raises_stops_the_search():
    """As an interrupt would; the next search is sound."""
    X, queries = SEARCHES["queries"]
    search = ExactNeighbors(n_jobs=2).fit(X)

    def refuse(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), listening(refuse):
        search.kneighbors(queries, 5)
    assert search.kneighbors(queries, 5)[1].shape == (6000, 5)
