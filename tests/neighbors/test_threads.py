"""While a search runs its products use one thread; afterwards, whatever happened, all is as it was."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import ThreadpoolController, threadpool_limits

from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.exact._candidates import _libraries, _set, in_threads

X = np.random.default_rng(0).normal(size=(50, 3))
EVERY_LIBRARY = ThreadpoolController().lib_controllers


def blas_threads(*_):
    """Return how many threads products use here and now."""
    return [library.num_threads for library in _libraries() if library.user_api == "blas"]


def all_threads(*_):
    """Return how many threads products and OpenMP use here and now."""
    return [library.num_threads for library in EVERY_LIBRARY]


@pytest.fixture(autouse=True)
def two_threads():
    """Let products use two threads, on any machine."""
    before = [(library, library.num_threads) for library in EVERY_LIBRARY]
    _set([(library, 2) for library in EVERY_LIBRARY])
    yield
    _set(before)


def test_products_use_one_thread_and_have_theirs_back():
    """One thread inside, whether the work is spread over threads or not; two again outside."""
    before = blas_threads()
    assert set(before) == {2}
    assert in_threads(1, blas_threads, [(0,)]) == [[1] * len(before)]
    assert in_threads(2, blas_threads, [(0,), (1,)]) == [[1] * len(before)] * 2
    assert blas_threads() == before


def test_openmp_uses_one_thread_and_has_its_own_back():
    """What scikit-learn does in parallel, distances of sparse rows among them, is held as products are."""
    before = all_threads()
    assert set(before) == {2}
    assert in_threads(1, all_threads, [(0,)]) == [[1] * len(before)]
    assert in_threads(2, all_threads, [(0,), (1,)]) == [[1] * len(before)] * 2
    assert all_threads() == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking beside threads, from Python 3.12 on
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_forked_child_predicts_after_its_parent(n_jobs):
    """By sparse Manhattan, which scikit-learn sums in parallel, in threads that a child does not have."""
    rows = sparse.csr_array(np.maximum(np.random.default_rng(0).normal(size=(600, 10)), 0))
    search = ExactNeighbors("manhattan", n_jobs=n_jobs).fit(rows)
    search.kneighbors(rows, 3)
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(20)  # what waits for threads in compiled code heeds nothing else
        search.kneighbors(rows, 3)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_threads_are_given_back_after_an_error():
    """What raises leaves nothing behind."""
    before = blas_threads()
    with pytest.raises(ValueError, match="finite numbers"):
        ExactNeighbors(lambda a, b: np.nan).fit(X).kneighbors(X, 3)
    assert blas_threads() == before


def test_a_search_in_another_thread_is_held_as_well():
    """The thread that limits first is the only one obeyed (threadpoolctl 3.8) until it gives that right away."""
    ExactNeighbors(n_jobs=1).fit(X)
    with ThreadPoolExecutor(1) as pool:
        assert set(pool.submit(in_threads, 1, blas_threads, [(0,)]).result()[0]) == {1}
        with threadpool_limits(1, user_api="blas"):
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {2}


def test_searches_that_overlap_give_back_what_was_before_the_first():
    """The one that leaves last gives back, though another thread took."""
    both_inside, first_left = Barrier(2, timeout=30), Barrier(2, timeout=30)

    def first():
        in_threads(1, both_inside.wait, [()])
        first_left.wait()

    def last():
        def work():
            both_inside.wait()
            first_left.wait()
            return blas_threads()

        return in_threads(1, work, [()])[0]

    with ThreadPoolExecutor(2) as pool:
        leaves_first, leaves_last = pool.submit(first), pool.submit(last)
        leaves_first.result()
        assert set(leaves_last.result()) == {1}
    assert set(blas_threads()) == {2}
