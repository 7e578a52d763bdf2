"""Random problems on which methods differ: ties, duplicates, empty rows, rare and constant labels."""

from __future__ import annotations

import gc
import os
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from _pytest.mark.expression import Expression
from joblib._parallel_backends import LokyBackend
from scipy import sparse
from sklearn.base import BaseEstimator

from _browser import launched
from _pairs import each_value
from nearlabel.testing import MULTILABEL_CHECKS, check_scikit_learn_tools
from nearlabel.utils import progress

os.environ["MPLBACKEND"] = "Agg"  # no test opens a window; read when matplotlib is imported, so before any fixture

CONTAINERS = {
    "dense": np.asarray,
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "coo_array": sparse.coo_array,
}

# The contract of a classifier. A third of its time is scikit-learn's: `make test` asks that of the lazy methods only.
CHECKS = [
    pytest.param(check, id=check.__name__, marks=[pytest.mark.long] if check is check_scikit_learn_tools else [])
    for check in MULTILABEL_CHECKS
]


def long_after(n, values):
    """Return the values of a parameter for `parametrize`, those after the first n marked long."""
    first, others = list(values)[:n], list(values)[n:]
    return [*first, *(pytest.param(value, marks=pytest.mark.long) for value in others)]


def _grid(rng):
    return rng.integers(0, 2, (40, 5)).astype(float)


def _spread(rng):
    return rng.normal(size=(40, 4))


def _far_from_zero(rng):
    return 1e4 + 1e-3 * rng.integers(0, 4, (40, 3))


def _all_equal(rng):
    return np.repeat(rng.normal(size=(1, 3)), 40, axis=0)


def _bag_of_words(rng):
    return rng.poisson(0.2, (40, 12)) * rng.choice([0.1, 0.5, 3.0], 12)


ROWS = {f.__name__.strip("_"): f for f in (_grid, _spread, _far_from_zero, _all_equal, _bag_of_words)}


@pytest.fixture(params=ROWS)
def problem(request):
    """X, Y and queries, some of which are training rows; labels 3 and 4 have one class."""
    rng = np.random.default_rng(sum(map(ord, request.param)))
    X = ROWS[request.param](rng)
    X[7] = X[3]
    Y = (rng.random((40, 5)) < [0.5, 0.3, 0.05, 0.0, 1.0]).astype(int)
    queries = np.vstack([X[::4], ROWS[request.param](rng)[:10]])
    return X, Y, queries


@pytest.fixture(scope="session", autouse=True)
def _usual_width():
    """Let tables be as wide as in a file or pipe, whatever the terminal of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", "80")
        yield


@pytest.fixture(scope="session", autouse=True)
def _no_lines_of_progress():
    """Print no line of progress: whether a command takes ten seconds is the machine's affair."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(progress, "PATIENCE", float("inf"))
        yield


@pytest.fixture(scope="session", autouse=True)
def _patient_workers():
    """Keep idle worker processes. joblib's leave after five minutes, and work that comes just then waits forever."""
    configure = LokyBackend.configure

    def patient(self, *args, **options):
        return configure(self, *args, **{"idle_worker_timeout": 3600, **options})

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LokyBackend, "configure", patient)
        yield


@pytest.fixture(scope="session", autouse=True)
def _signatures_are_read_once():
    """Keep the names of each class's parameters, which scikit-learn reads at every call: 3 % of the suite's time."""
    read = cache(BaseEstimator._get_param_names.__func__)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BaseEstimator, "_get_param_names", classmethod(lambda cls: list(read(cls))))
        yield


@pytest.fixture(autouse=True)
def _no_open_figures():
    """Close what a test has drawn: a figure that stays open is the current one of the next test."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def data_folder():
    """Return the folder of real data sets."""
    folder = os.environ.get("NEARLABEL_DATA")
    if not folder:
        pytest.skip("NEARLABEL_DATA is not set: no real data")
    return Path(folder)


def pytest_addoption(parser):
    """Add the option of `make test` and `make test-long`."""
    text = "of tests of several parameters mark as long all but some cases in which each value of each occurs"
    parser.addoption("--each-value", action="store_true", help=text)
    text = "of each test's cases that remain, and of those that are long, leave all but every N-th to other runs"
    parser.addoption("--one-in", type=int, default=1, metavar="N", help=text)


def pytest_collection_finish():
    """Let the collector of garbage pass over all that stays to the end: modules, and a test for each case."""
    gc.freeze()


def _values_of(case, function):
    """Return the parameters' values by which cases are thinned: one a list, or, of a list of pairs, one an argument."""
    if function.get_closest_marker("pairs"):
        return [id(value) for value in case.params.values()]
    return case._idlist


def _mark_most_as_long(cases, function, one_in):
    """Mark as long all cases but some in which each value of each parameter occurs; leave out of both all but some."""
    cases = [case for case in cases if "long" not in _marks_of(case, function)]
    kept = each_value([_values_of(case, function) for case in cases])
    others = sorted(set(range(len(cases))).difference(kept))
    for number in others:
        cases[number].marks.append(pytest.mark.long.mark)
    for number in {*kept, *others}.difference(kept[::one_in], others[::one_in]):
        cases[number].marks.extend([pytest.mark.long.mark, pytest.mark.slow.mark])


def _marks_of(case, function):
    """Return the names of a case's marks."""
    return {mark.name for mark in (*case.marks, *function.iter_markers())}


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc):
    """Mark cases as long if asked to, and make no test of a case that -m leaves out: two in five, each in 0.2 ms."""
    yield
    cases, function, config = metafunc._calls, metafunc.definition, metafunc.config
    if not cases or not config.getoption("each_value"):
        return
    _mark_most_as_long(cases, function, config.getoption("one_in"))
    chosen = Expression.compile(config.option.markexpr or "not slow or slow")
    asked_for = [case for case in cases if chosen.evaluate(lambda name, case=case: name in _marks_of(case, function))]
    cases[:] = asked_for or cases[:1]  # without any it would be a test without parameters


def pytest_collection_modifyitems(items):
    """Spare checks of scikit-learn that are listed, with reasons, as never passing."""
    for item in items:
        for mark in item.iter_markers("xfail"):
            item.add_marker(pytest.mark.xfail(run=False, reason=mark.kwargs["reason"]), append=False)
            break


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests of a file."""
    with launched() as one:
        yield one
