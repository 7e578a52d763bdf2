"""Rows come and go in the file of a model: the old model or the new one, and nothing of a row that was forgotten."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.files.atomic_file import locked
from nearlabel.lazy import IBLR, MLMLM, BRkNN, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.persistence import forget_rows, load_model, read_card, read_kept, save_model, update_model
from nearlabel.selection import NeighborsClassifierCV
from nearlabel.thresholds import TunedThresholdsClassifierCV

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(80, 3))
Y = RANDOM.integers(0, 2, size=(80, 9))
IDS = [f"id-of-{row:03}" for row in range(80)]


@pytest.fixture
def path(tmp_path):
    """Return the file of a model of the first 60 rows."""
    model = TunedThresholdsClassifierCV(MLkNN(3), cv="loo").fit(X[:60], Y[:60])
    keep = {"title": IDS[:60], "row id": IDS[:60]}
    told = {"scores": {"micro_f1": 0.5}, "measured": "loo", "notes": "ours"}
    return save_model(model, tmp_path / "m.skops", keep=keep, **told)


def contents(path):
    """Return all that is in a file, unpacked."""
    with zipfile.ZipFile(path) as archive:
        return b"".join(archive.read(name) for name in archive.namelist())


def test_the_model_and_its_card_follow(path):
    """Rows, kept columns, figures of the labels, and what is stale."""
    card = update_model(path, X[60:], Y[60:], keep={"row id": IDS[60:]})
    assert card == read_card(path)
    assert (card.data.rows, card.changes.added, card.changes.thresholds_stale) == (80, 20, True)
    assert card.data.label_counts == tuple(Y.sum(axis=0))
    measured = "loo; before samples were added or removed"
    assert (card.measured, card.notes, card.scores) == (measured, "ours", {"micro_f1": 0.5})
    assert read_kept(path) == {"title": (*IDS[:60], *[""] * 20), "row id": tuple(IDS)}
    card = forget_rows(path, [0], ids=["id-of-007", "id-of-070"], retune=True)
    left = np.delete(np.arange(80), [0, 7, 70])
    assert (card.data.rows, card.changes.forgotten, card.changes.thresholds_stale) == (77, 3, False)
    assert card.measured == "loo; before samples were added or removed"
    assert read_kept(path)["row id"] == tuple(IDS[row] for row in left)
    expected = TunedThresholdsClassifierCV(MLkNN(3), cv="loo").fit(X[left], Y[left])
    model = load_model(path)
    assert (model.predict_proba(X) == expected.predict_proba(X)).all()
    assert (model.thresholds_ == expected.thresholds_).all()
    assert card.thresholds == tuple(expected.thresholds_)


def test_a_model_goes_on_after_loading(path):
    """What a file holds is enough for the next change."""
    update_model(path, X[60:], Y[60:], retune=True)
    model = load_model(path).forget([3]).retune()
    left = np.delete(np.arange(80), 3)
    expected = TunedThresholdsClassifierCV(MLkNN(3), cv="loo").fit(X[left], Y[left])
    assert (model.predict_proba(X) == expected.predict_proba(X)).all()
    assert model.changes_ == {"added": 20, "forgotten": 1, "new_labels": []}


@pytest.mark.parametrize(
    "model",
    [MLMLM(n_landmarks=20), TunedThresholdsClassifierCV(MLMLM(), cv="loo"), NeighborsClassifierCV(methods=[MLMLM()])],
    ids=lambda model: type(model).__name__,
)
def test_a_model_of_ml_mlm(tmp_path, model):
    """Its file has no sums over the rows; an update computes them again, and says what is stale."""
    model.fit(X[:60], Y[:60])
    path = save_model(model, tmp_path / "m.skops", data=(X[:60], Y[:60]), keep={"id": IDS[:60]})
    assert (load_model(path).predict_proba(X) == model.predict_proba(X)).all()
    card = update_model(path, X[60:], Y[60:], keep={"id": IDS[60:]})
    assert (card.data.rows, card.changes.added) == (80, 20)
    assert (card.changes.thresholds_stale, card.changes.power_stale, card.changes.n_neighbors_stale) == (
        True,
        True,
        False,
    )
    assert read_card(path) == card
    card = forget_rows(path, ids=IDS[60:], retune=True)
    assert (card.data.rows, card.changes.forgotten) == (60, 20)
    assert (card.changes.thresholds_stale, card.changes.power_stale) == (False, False)
    np.testing.assert_allclose(load_model(path).predict_proba(X), model.predict_proba(X), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(load_model(path).predict(X), model.predict(X))


def test_names_of_new_labels(path):
    """As given, or numbers."""
    wide = np.hstack([Y[60:], np.ones((20, 2), dtype=int)])
    card = update_model(path, X[60:], wide, label_names=[*"abcdefghi", "new", "newer"])
    assert card.data.label_names[-2:] == ("new", "newer")
    assert card.changes.new_labels == ("9", "10")
    assert load_model(path).predict(X).shape == (80, 11)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "method", [BRkNN(3), LPkNN(3), MLkNN(3), DMLkNN(3), CMLkNN(3), MLMLM(scale="none")], ids=lambda m: type(m).__name__
)
def test_nothing_of_a_forgotten_row_is_in_the_file(tmp_path, method, store):
    """Neither its features nor its label set, nor its id."""
    labels = RANDOM.integers(0, 2, size=(60, 64)).astype(np.int8)
    path = save_model(
        make_pipeline(MinMaxScaler(), method).fit(X[:60], store(labels)), tmp_path / "m.skops", keep={"id": IDS[:60]}
    )
    scaled = MinMaxScaler().fit(X[:60]).transform(X[:60])
    traces = [scaled[7, 0].tobytes(), IDS[7].encode()]
    if store is np.asarray:
        traces.append(labels[7].astype(np.int64 if isinstance(method, MLMLM) else np.int8).tobytes())
    assert all(trace in contents(path) for trace in traces)
    forget_rows(path, ids=[IDS[7]])
    assert not any(trace in contents(path) for trace in traces)
    assert list(path.parent.iterdir()) == [path]


def test_errors_leave_the_file_as_it_was(path, tmp_path):
    """Whatever is wrong."""
    before = path.read_bytes()
    for wrong, message in (
        (lambda: update_model(path, X[:2], Y[:3]), "inconsistent numbers of samples"),
        (lambda: update_model(path, X[:2], Y[:2], keep={"id": ["a", "b"]}), "keep must map names among .* got 'id'"),
        (lambda: update_model(path, X[:2], Y[:2], keep={"title": ["a"]}), "keep must have a value for each of 2"),
        (lambda: forget_rows(path, ids=["x", "y"]), "ids must be values of the saved column 'row id', got 'x' and 1"),
        (lambda: forget_rows(path, ids=["x"], column="z"), "column must be one of .* got 'z'"),
        (lambda: update_model(path, X[:1], Y[:1], label_names=["a"]), "label_names must be 9 names, .* got 1"),
        (lambda: forget_rows(path, [60]), "rows must be numbers from 0 to 59, got 60"),
        (
            lambda: forget_rows(path, range(58)),
            "rows must leave at least 4 training samples for n_neighbors=3, got 58 of 60",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()
    with pytest.raises(TypeError, match="model must be a method by votes of neighbours"):
        forget_rows(save_model(IBLR(3).fit(X, Y), tmp_path / "iblr.skops"), [0])
    with pytest.raises(TypeError, match="ids must be a list of texts, got 'ab'"):
        forget_rows(path, ids="ab")
    two = save_model(BRkNN(1).fit(X[:2], Y[:2]), tmp_path / "two.skops", keep={"valid": ["a", "b"], "paid": ["c", "d"]})
    with pytest.raises(ValueError, match=r"column must name which of \['valid', 'paid'\] has the ids"):
        forget_rows(two, ids=["a"])
    with pytest.raises(ValueError, match="must contain a column of ids"):
        forget_rows(save_model(BRkNN(3).fit(X, Y), tmp_path / "no.skops"), ids=["a"])
    assert path.read_bytes() == before


def test_what_was_prepared_for_another_model_is_refused(path):
    """Labels would be in the wrong columns, and numbers those of other rows."""
    read = read_card(path)
    changed = forget_rows(path, [0], expected=read)
    before = path.read_bytes()
    for change in (lambda: forget_rows(path, [0], expected=read), lambda: update_model(path, X, Y, expected=read)):
        with pytest.raises(BlockingIOError, match="was changed by another process since it was read"):
            change()
    assert path.read_bytes() == before
    assert forget_rows(path, [0], expected=changed).data.rows == 58


def test_one_process_at_a_time(path):
    """The second is told, and changes nothing."""
    before = path.read_bytes()
    with locked(path, "adding rows"), pytest.raises(BlockingIOError, match="is being changed"):
        forget_rows(path, [0])
    assert path.read_bytes() == before
    assert forget_rows(path, [0]).data.rows == 59


CHILD = """
import sys
import numpy as np
from nearlabel.persistence import update_model
X, Y = np.load(sys.argv[2]), np.load(sys.argv[3])
print("go", flush=True)
for row in range(60, 80):
    update_model(sys.argv[1], X[row : row + 1], Y[row : row + 1])
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no such signal")
@pytest.mark.long
@pytest.mark.parametrize("seconds", [0.1, 0.3, 0.6, 1.0])
def test_a_killed_update_leaves_the_old_or_the_new_model(path, tmp_path, seconds):
    """And the next one is not locked out."""
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Y.npy", Y)
    command = [sys.executable, "-c", CHILD, str(path), str(tmp_path / "X.npy"), str(tmp_path / "Y.npy")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        time.sleep(seconds)
        os.kill(child.pid, signal.SIGKILL)
    model = load_model(path)
    n_rows = model.estimator_.search_.n_samples_fit_
    assert len(read_kept(path)["title"]) == n_rows
    expected = MLkNN(3).fit(X[:n_rows], Y[:n_rows])
    assert (model.predict_proba(X) == expected.predict_proba(X)).all()
    assert update_model(path, X[:1], Y[:1]).data.rows == n_rows + 1
