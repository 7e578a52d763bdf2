"""Drift: no more false alarms than promised, and alarms where something changes."""

import math

import numpy as np
import pytest

from nearlabel.lazy import BRkNN, StreamClassifier
from nearlabel.lazy._streams import Drift, Watch


def test_by_hand():
    """Two windows of 50 values: from 0.1 to 0.9 is drift at 1 %, after which only the last window counts."""
    watch = Watch(50, 0.01)
    assert watch.add(np.full(50, 0.1)) == []
    assert watch.last is None
    assert watch.add(np.full(70, 0.9)) == [50]
    bound = math.sqrt(math.log(100) / 2 * (1 / 50 + 1 / 50))
    assert watch.last == pytest.approx(Drift(0.9, 0.1, bound, True))
    assert watch.add(np.full(30, 0.8)) == []
    assert watch.last == pytest.approx(Drift((20 * 0.9 + 30 * 0.8) / 50, 0.9, bound, False))
    assert watch.add(np.full(50, 0.0)) == []  # falls are none
    assert watch.last.bound == pytest.approx(math.sqrt(math.log(100) / 2 * (1 / 50 + 1 / 100)))


def test_batches_change_nothing():
    """One value at a time, or all at once."""
    values = np.concatenate([np.zeros(60), np.ones(60), np.zeros(30)])
    at_once, one_by_one = Watch(20, 0.05), Watch(20, 0.05)
    found = [number + 1 for number, value in enumerate(values) if one_by_one.add(np.array([value]))]
    assert at_once.add(values) == found == [80]
    assert at_once.last == one_by_one.last


@pytest.mark.parametrize("rate", [0.05, 0.5])
@pytest.mark.parametrize("window", [20, 200])
@pytest.mark.parametrize("expected", [None, "the rate"])
def test_false_alarms(rate, window, expected):
    """Of losses of 0 and 1, the widest there are, at most alpha of the windows is called drift."""
    rng, alpha, n_alarms, n_windows = np.random.default_rng(0), 0.05, 0, 0
    for _ in range(200):
        watch = Watch(window, alpha, expected=expected and rate)
        n_alarms += len(watch.add((rng.random(30 * window) < rate).astype(np.float64)))
        n_windows += 30 - (expected is None)
    assert n_alarms / n_windows <= alpha
    assert n_alarms > 0 or rate == 0.05  # the rule is no empty one


def stream_of(rng, n_rows):
    """Return rows, and the label sets of which of their coordinates are large."""
    X = rng.random((n_rows, 3))
    return X, (X + 0.1 * rng.standard_normal(X.shape) > 0.5).astype(int)


def after(X, Y, forgetting="oldest", **parameters):
    """Return a stream after these rows."""
    stream = StreamClassifier(BRkNN(5), max_rows=400, forgetting=forgetting, drift_window=100, **parameters)
    for start in range(0, len(X), 50):
        stream.partial_fit(X[start : start + 50], Y[start : start + 50])
    return stream


@pytest.mark.parametrize("forgetting", ["oldest", "least_useful"])
def test_labels_that_change_their_meaning(forgetting):
    """Drift is found in the window in which it happens; features are as they were. The model learns the new meaning."""
    X, Y = stream_of(np.random.default_rng(0), 1450)
    Y[750:] = Y[750:, [1, 2, 0]]
    stream = after(X, Y, forgetting)
    assert stream.drifts_ == [850]  # windows end at 150, 250, ...
    assert not stream.novelty_.found
    assert (stream.kept_ >= 750).mean() > 0.8
    assert stream.drift_.recent < 0.3


def test_features_that_change():
    """Rows from elsewhere are novel, whether or not their labels are predicted well."""
    X, Y = stream_of(np.random.default_rng(1), 1000)
    stream = after(X[:900], Y[:900])
    assert stream.drifts_ == []
    assert 0.35 < stream.novelty_.recent < 0.6
    assert stream.novelty_.before == 0.5
    X[:, 0] += 3
    stream.partial_fit(X[900:], Y[900:]).partial_fit(X[:50], Y[:50])
    assert stream.novelty_.found


def test_streams_without_drift():
    """Of three streams of ten windows none has an alarm, of labels or of features."""
    for seed in range(3):
        X, Y = stream_of(np.random.default_rng(seed), 1050)
        stream = after(X, Y)
        assert stream.drifts_ == []
        assert not stream.novelty_.found
