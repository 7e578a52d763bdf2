"""A fit that is interrupted, or ends in an error, leaves every public estimator as it was: fitted or not."""

import importlib
import inspect
import sys
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import KNeighborsTransformer
from sklearn.utils.validation import check_is_fitted

import nearlabel
from _classifiers import default_classifiers
from nearlabel.lazy import BRkNN, MLkNN, StreamClassifier
from nearlabel.neighbors import TransformerNeighbors
from nearlabel.preprocessing import MRSP1, MRSP2, MChen
from nearlabel.rivals import NeighborInterpolation, SoftVote
from nearlabel.selection import NeighborsClassifierCV
from nearlabel.thresholds import FBR, SCut, TunedThresholdsClassifierCV

_OURS = str(Path(nearlabel.__file__).parent)
_ROOMS = ("lazy", "neighbors", "preprocessing", "rivals", "selection", "thresholds")
_NEEDS_MORE = {
    "DaskNeighbors": "processes: tests/neighbors/test_dask.py",
    "PrecomputedNeighbors": "graphs, and its fit learns nothing",
    "TableClassifier": "a database, and its fit sets one attribute",
    "TableNeighbors": "a database",
} | {
    name: library
    for name, library in {
        "FaissHNSWNeighbors": "faiss",
        "FaissIVFNeighbors": "faiss",
        "UsearchNeighbors": "usearch",
    }.items()
    if not find_spec(library)
}
_MADE = {
    "FBR": FBR(SCut()),
    "MChen": MChen(0.5),
    "MRSP1": MRSP1(0.5),
    "MRSP2": MRSP2(0.5),
    "SoftVote": SoftVote([("a", BRkNN(3)), ("b", MLkNN(3))]),
    "NeighborInterpolation": NeighborInterpolation(neighbors=MLkNN(3)),
    "TransformerNeighbors": TransformerNeighbors(KNeighborsTransformer(n_neighbors=9)),
}


def _public():
    """Return an instance of each public estimator by name."""
    known, made = default_classifiers() | _MADE, {}
    for room in _ROOMS:
        module = importlib.import_module(f"nearlabel.{room}")
        for name in sorted(module.__all__):
            public = getattr(module, name)
            is_estimator = inspect.isclass(public) and issubclass(public, BaseEstimator) and hasattr(public, "fit")
            if is_estimator and not inspect.isabstract(public) and name not in _NEEDS_MORE:
                made[name] = known.get(name) or public()
    return made


ESTIMATORS = _public()


def _data(n_features, seed):
    """Return samples and label sets."""
    random = np.random.default_rng(seed)
    return random.random((40, n_features)), (random.random((40, n_features)) < 0.4).astype(int)


class _At:
    """Raise KeyboardInterrupt when the n-th function of the library is called in this thread."""

    def __init__(self, number=None):
        self.number, self.n_calls = number, 0

    def __call__(self, frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(_OURS):
            self.n_calls += 1
            if self.n_calls == self.number:
                raise KeyboardInterrupt

    def __enter__(self):
        sys.setprofile(self)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)


def _moments(estimator, data):
    """Return numbers of calls of a fit: an early one, some between, and the last."""
    clone(estimator).fit(*data)  # what is done once in a process is not counted
    again = clone(estimator)
    with _At() as counted:
        again.fit(*data)
    last = counted.n_calls
    return sorted({min(4, last), last // 3, 2 * last // 3, last} - {0})


def _state(estimator):
    """Return the attributes of an estimator and of the fitted ones in it, each by what it is."""
    state = {}
    for name, value in vars(estimator).items():
        state[name] = value
        if isinstance(value, BaseEstimator):
            state |= {f"{name}.{inner}": of_inner for inner, of_inner in _state(value).items()}
    return state


def _assert_same(before, after):
    assert before.keys() == after.keys()
    assert [name for name in before if before[name] is not after[name]] == []


def _answers(estimator, X):
    methods = ("predict", "transform", "kneighbors")
    return [getattr(estimator, name)(X) for name in methods if hasattr(estimator, name)]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.long] if name == "MixtureClassifierCV" else []) for name in ESTIMATORS],
)
def test_an_interrupted_fit_changes_nothing(name):
    """Not the first one, after which the estimator is not fitted, and not a second one to other data."""
    first, second = _data(5, 0), _data(6, 1)
    moments = _moments(ESTIMATORS[name], second)
    fitted = clone(ESTIMATORS[name]).fit(*first)
    before, said = _state(fitted), _answers(fitted, first[0])
    for moment in moments:
        unfitted = clone(ESTIMATORS[name])
        for estimator in (unfitted, fitted):
            with pytest.raises(KeyboardInterrupt), _At(moment):
                estimator.fit(*second)
        with pytest.raises(NotFittedError):
            check_is_fitted(unfitted)
        _assert_same(before, _state(fitted))
    for former, now in zip(said, _answers(fitted, first[0]), strict=True):
        np.testing.assert_array_equal(former, now)


def _same_after_a_stop(stream, change, *data):
    """Stop a change of a stream at all moments; assert that it changes nothing, and then that it can be made."""
    before, drifts = _state(stream), list(stream.drifts_)
    watched = [dict(vars(watch)) for watch in (stream._losses, stream._novelties)]
    copied = deepcopy(stream)
    with _At() as counted:
        getattr(copied, change)(*data)
    for moment in range(4, counted.n_calls + 1, 9):
        with pytest.raises(KeyboardInterrupt), _At(moment):
            getattr(stream, change)(*data)
        _assert_same(before, _state(stream))
    assert drifts == stream.drifts_
    assert watched == [dict(vars(watch)) for watch in (stream._losses, stream._novelties)]


def test_an_interrupted_change_of_a_stream_changes_nothing():
    """Whether samples come, or go: neither the model nor what is counted beside it."""
    X, y = _data(5, 0)
    stream = StreamClassifier(BRkNN(3), max_rows=30, drift_window=3).fit(X[:30], y[:30])
    stream.partial_fit(X[30:33], y[30:33])
    _same_after_a_stop(stream, "partial_fit", X[33:], y[33:])
    _same_after_a_stop(stream, "forget", [0, 4])


def test_a_refused_fit_leaves_the_former_names():
    """The names of the labels belong to the columns that are predicted."""
    X, y = _data(5, 0)
    tags = [[f"tag {label}" for label in np.flatnonzero(row)] for row in y]
    more = [[*row, "a new one"] for row in tags]
    model = NeighborsClassifierCV(methods=[BRkNN(3)], verbose=0).fit(X, tags)
    before = model.predict_labels(X)
    with pytest.raises(ValueError, match="order"):
        model.fit(X[:, :3], more, order=[1, 2])
    assert model.predict_labels(X) == before
    unfitted = TunedThresholdsClassifierCV(MLkNN(1000), cv="loo")
    with pytest.raises(ValueError, match="n_neighbors"):
        unfitted.fit(X, y)
    with pytest.raises(NotFittedError):
        unfitted.predict(X)


def test_a_first_partial_fit_is_whole_or_not_at_all():
    """Its samples are not learnt if the names of later labels are refused."""
    X, y = _data(5, 0)
    model = BRkNN(3)
    with pytest.raises(ValueError, match="classes"):
        model.partial_fit(X, y, classes=["a", "a"])
    with pytest.raises(NotFittedError):
        model.predict(X)
