"""What a server does to a process that searches: forks at any moment, signals, new processes, a second import."""

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from threadpoolctl import ThreadpoolController

from nearlabel.datasets import read_table
from nearlabel.lazy import MLkNN
from nearlabel.neighbors import ExactNeighbors, kernel_level
from nearlabel.neighbors.exact._candidates import _libraries, _set

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(1500, 12)), rng.integers(0, 2, (1500, 4))
SECONDS = 20  # a child that takes longer waits for something that it does not have


@pytest.fixture
def two_threads():
    """Let products use two threads, on any machine."""
    every = ThreadpoolController().lib_controllers
    before = [(library, library.num_threads) for library in every]
    _set([(library, 2) for library in every])
    yield
    _set(before)


@pytest.fixture(params=["kernels", "products", "sparse"])
def search(request):
    """A function that searches, in threads of its own, by one of the means that there are."""
    with kernel_level("auto" if request.param == "kernels" else "off"):
        if request.param == "sparse":
            rows = sparse.csr_array(np.maximum(X[:500], 0))
            return partial(ExactNeighbors("manhattan", n_jobs=2).fit(rows).kneighbors, rows[:100], 5)
        return partial(ExactNeighbors(n_jobs=2).fit(X).kneighbors, X[:200], 5)


@pytest.fixture
def table(tmp_path):
    """A function that reads a table with a long cell, for which a limit of the process is lifted."""
    file = tmp_path / "a.csv"
    rows = ['1,0,"a ""b"""'] * 200 + [f"2,1,{'z' * 200_000}"]
    file.write_text("\n".join(["x,y,t", *rows]))
    return lambda: read_table(file, labels=["y"], ignore=["t"]).X


def exit_code(work):
    """Return the exit code of a forked child: 0 if `work()` is true."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)  # what waits for threads in compiled code heeds nothing else
        try:
            os._exit(0 if work() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking beside threads, from Python 3.12 on
@pytest.mark.parametrize(
    "n_children", [30, pytest.param(100, marks=pytest.mark.long), pytest.param(500, marks=pytest.mark.slow)]
)
def test_children_that_are_forked_under_load(two_threads, search, table, n_children):
    """Threads search, fit and read all the time: each child does the same, with the same answers and numbers."""
    model = MLkNN(n_neighbors=3).fit(X[:300], Y[:300])
    expected, predicted, read, stop = search(), model.predict(X[:20]), table(), threading.Event()

    def repeat(work):
        while not stop.is_set():
            work()

    def is_right():
        is_free = {library.num_threads for library in _libraries()} == {2}
        same = (np.array_equal(search(), expected), np.array_equal(model.predict(X[:20]), predicted))
        return is_free and all(same) and np.array_equal(table(), read)

    works = (search, search, partial(model.fit, X[:300], Y[:300]), table)
    model = MLkNN(n_neighbors=3).fit(X[:300], Y[:300])  # another one, which no thread fits again
    threads = [threading.Thread(target=repeat, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    try:
        codes = [exit_code(is_right) for _ in range(n_children)]
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert codes == [0] * n_children
    assert {library.num_threads for library in _libraries()} == {2}


@pytest.mark.long
@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_models_are_arguments_of_processes(method):
    """With the same answers, whichever way the process begins."""
    model = MLkNN(n_neighbors=3).fit(X, Y)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(method)) as pool:
        found = pool.submit(model.predict, X[:50]).result(timeout=120)
    np.testing.assert_array_equal(found, model.predict(X[:50]))


def printed_by(script, *arguments):
    """Return what a script prints in a Python of its own."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


TWICE = """
import importlib, os, pickle, sys
import numpy as np
X = np.random.default_rng(0).normal(size=(300, 5))
Y = (X[:, :3] > 0).astype(int)

def models():
    from nearlabel.lazy import MLkNN
    return MLkNN(n_neighbors=3).fit(X, Y)

first = models()
expected = first.predict(X)
importlib.reload(sys.modules["nearlabel"])
print(np.array_equal(models().predict(X), expected))
for name in [name for name in sys.modules if name.partition(".")[0] == "nearlabel"]:
    del sys.modules[name]
second = models()
print(type(second) is type(first))
print(*(np.array_equal(model.predict(X), expected) for model in (first, second, pickle.loads(pickle.dumps(second)))))
if hasattr(os, "fork"):
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(first.predict(X), second.predict(X)) else 1)
    print(os.waitpid(child, 0)[1] == 0)
"""


@pytest.mark.long
def test_a_second_import():
    """It has classes of its own; models of the first and of the second predict the same, side by side."""
    same, is_one_class, *others = printed_by(TWICE)
    assert (same, is_one_class) == ("True", "False")
    assert set(others) == {"True"}


INSIDE = """
import importlib
interpreters = importlib.import_module("_interpreters")
import nearlabel.lazy
other = interpreters.create()
error = interpreters.exec(other, "import nearlabel.lazy")
interpreters.destroy(other)
print(error.type.__name__, "subinterpreters" in error.msg)
print(nearlabel.lazy.BRkNN(n_neighbors=1).fit([[0.0], [1.0]], [[1, 0], [0, 1]]).predict([[0.9]]).tolist())
"""


@pytest.mark.long
@pytest.mark.skipif(sys.version_info < (3, 13), reason="earlier Pythons have other interpreters")
def test_another_interpreter_is_refused():
    """By numpy, which says so; the first one goes on."""
    assert printed_by(INSIDE) == ["ImportError", "True", "[[0,", "1]]"]


@needs_fork
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "n_interruptions", [20, pytest.param(100, marks=pytest.mark.long), pytest.param(300, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interruptions_come_soon_and_leave_nothing(two_threads, n_jobs, n_interruptions):
    """Ctrl-C in a fit or a search: seconds at most, the next answer is right, and all threads are given back."""
    rows, moments = np.random.default_rng(1).normal(size=(6000, 20)), np.random.default_rng(2)
    search = ExactNeighbors(n_jobs=n_jobs).fit(rows)
    model = MLkNN(n_neighbors=5, search=ExactNeighbors(n_jobs=n_jobs))
    expected, late = search.kneighbors(rows[:20], 5), []
    labels = np.tile(Y, (4, 1))

    def interrupted(number, after):
        until = time.perf_counter() + 120
        # Again each second, as a person does: Python ignores an interruption in a callback of a weak reference.
        signal.setitimer(signal.ITIMER_REAL, after, 1)
        try:
            while time.perf_counter() < until:
                model.fit(rows, labels) if number % 2 else search.kneighbors(rows, 5)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    usual = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for number in range(n_interruptions):
            after = moments.uniform(0.001, 0.05)
            start = time.perf_counter()
            with pytest.raises((KeyboardInterrupt, RuntimeError)) as told:
                interrupted(number, after)
            # Python itself fails where a thread is interrupted while it waits for one that starts.
            assert isinstance(
                told.value if told.type is KeyboardInterrupt else told.value.__context__, KeyboardInterrupt
            )
            late.append(time.perf_counter() - start - after)
            np.testing.assert_array_equal(search.kneighbors(rows[:20], 5), expected)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
    assert max(late) < 10
    assert {library.num_threads for library in _libraries()} == {2}
    fresh = MLkNN(n_neighbors=5).fit(rows, labels)
    np.testing.assert_array_equal(model.fit(rows, labels).predict(rows[:20]), fresh.predict(rows[:20]))


@needs_fork
def test_signals_come_to_the_main_thread_while_others_search(two_threads, search):
    """A handler that searches, too, gives and gets the same answers."""
    expected, answers, stop = search(), [], threading.Event()

    def repeat():
        while not stop.is_set():
            answers.append(search())

    usual = signal.signal(signal.SIGTERM, lambda *_: answers.append(search()))
    threads = [threading.Thread(target=repeat) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            signal.raise_signal(signal.SIGTERM)
            answers.append(search())
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        signal.signal(signal.SIGTERM, usual)
    assert len(answers) >= 40
    for answer in answers:
        np.testing.assert_array_equal(answer, expected)
