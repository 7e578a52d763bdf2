"""Rows come and go in the file of a model: the old model or the new one, and nothing of a row that was forgotten."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.files.atomic_file import locked
from nearlabel.lazy import IBLR, MLMLM, NLDD, BRkNN, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.persistence import forget_rows, load_model, read_card, read_kept, save_model, update_model
from nearlabel.selection import NeighborsClassifierCV
from nearlabel.thresholds import FixedThresholdsClassifier, TunedThresholdsClassifierCV

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
        forget_rows(save_model(NLDD(random_state=0).fit(X, Y), tmp_path / "nldd.skops"), [0])
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


# Children, one for each file, are killed so long after they have begun: forks, since a start takes seconds.
KILLED = """
import os, signal, sys, time
import numpy as np
from nearlabel.persistence import update_model

X, Y = (np.load(file) for file in sys.argv[1:3])
for path, seconds in zip(sys.argv[3::2], map(float, sys.argv[4::2])):
    child = os.fork()
    if not child:
        for row in range(60, 80):
            update_model(path, X[row : row + 1], Y[row : row + 1])
        os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forks")
@pytest.mark.long
def test_a_killed_update_leaves_the_old_or_the_new_model(path, tmp_path):
    """And the next one is not locked out."""
    rows = [tmp_path / "X.npy", tmp_path / "Y.npy"]
    for file, array in zip(rows, (X, Y), strict=True):
        np.save(file, array)
    moments = {tmp_path / seconds / "m.skops": seconds for seconds in ("0.05", "0.1", "0.3", "0.6")}
    for copy in moments:
        copy.parent.mkdir()
        shutil.copy(path, copy)
    words = [word for of_one in moments.items() for word in of_one]
    subprocess.run([sys.executable, "-c", KILLED, *rows, *words], check=True)
    for copy in moments:
        model = load_model(copy)
        n_rows = model.estimator_.search_.n_samples_fit_
        assert len(read_kept(copy)["title"]) == n_rows
        expected = MLkNN(3).fit(X[:n_rows], Y[:n_rows])
        assert (model.predict_proba(X) == expected.predict_proba(X)).all()
        assert update_model(copy, X[:1], Y[:1]).data.rows == n_rows + 1


def saved(tmp_path, ids, *, column="id", **told):
    """Return the file of a model of as many rows as there are ids."""
    return save_model(MLkNN(2).fit(X[: len(ids)], Y[: len(ids)]), tmp_path / "ids.skops", keep={column: ids}, **told)


def test_rows_that_the_file_has_are_refused_or_replaced(tmp_path):
    """The same file twice; a replaced row is as if it had come last."""
    path = saved(tmp_path, IDS[:10])
    before = path.read_bytes()
    message = "ids of new samples must not be in the model, got 4 of 5 that are: 'id-of-002', 'id-of-004', 'id-of-001'"
    order = [2, 4, 1, 30, 3]
    ids = {"id": [IDS[row] for row in order]}
    with pytest.raises(ValueError, match=f"{message} and 1 more. Hint: existing='skip' adds the other"):
        update_model(path, X[order], Y[order], keep=ids)
    assert path.read_bytes() == before
    card = update_model(path, X[40:45], Y[40:45], keep=ids, existing="replace")
    assert (card.data.rows, card.changes.added, card.changes.forgotten) == (11, 5, 4)
    rows = [0, 5, 6, 7, 8, 9, 40, 41, 42, 43, 44]
    expected = MLkNN(2).fit(X[rows], Y[rows])
    np.testing.assert_array_equal(load_model(path).predict_proba(X), expected.predict_proba(X))
    assert list(read_kept(path)["id"]) == [IDS[row] for row in (0, 5, 6, 7, 8, 9, *order)]
    assert card.id_column == read_card(path).id_column == "id"


def test_all_rows_can_be_replaced(tmp_path):
    """No state in between lacks rows."""
    path = saved(tmp_path, IDS[:5])
    assert update_model(path, X[10:15], Y[10:15], keep={"id": IDS[:5]}, existing="replace").data.rows == 5
    expected = MLkNN(2).fit(X[10:15], Y[10:15])
    np.testing.assert_array_equal(load_model(path).predict_proba(X), expected.predict_proba(X))


def test_a_failed_replacement_changes_nothing(tmp_path):
    """Whatever fails: here y, ids that occur twice, ids that are missing."""
    path = saved(tmp_path, IDS[:10])
    before = path.read_bytes()
    for y, ids, message in (
        (Y[:2, :3], IDS[:2], "y must have at least 9 columns"),
        (Y[:2], ["a", "a"], "ids of new samples must differ, got 'a' more than once in the column 'id'"),
        (Y[:2], ["", None], "ids must be given to replace samples, got none in the column 'id'"),
    ):
        with pytest.raises(ValueError, match=message):
            update_model(path, X[:2], y, keep={"id": ids}, existing="replace")
    with pytest.raises(ValueError, match="ids must be given to replace samples, got none in the column 'id'"):
        update_model(path, X[:2], Y[:2], existing="replace")
    assert path.read_bytes() == before


def test_new_labels_of_a_replacement_have_thresholds_of_the_present_rows(tmp_path):
    """They are tuned while the replaced rows are still there, so they are tuned again."""
    tags = [["a", "b"][: 1 + row % 2] for row in range(30)]
    model = TunedThresholdsClassifierCV(MLkNN(3), cv="loo")
    path = save_model(model.fit(X[:30], tags), tmp_path / "tags.skops", keep={"id": IDS[:30]})
    more = [["c", "a"], ["b"], ["c"]] * 4
    card = update_model(path, X[40:52], more, keep={"id": IDS[:12]}, existing="replace")
    assert not card.changes.thresholds_stale
    expected = TunedThresholdsClassifierCV(MLkNN(3), cv="loo").fit(X[np.r_[12:30, 40:52]], [*tags[12:], *more])
    np.testing.assert_array_equal(load_model(path).thresholds_, expected.thresholds_)


def test_ids_that_are_written_in_another_way(tmp_path):
    """Programs turn 007 into 7 or 7.0; where the model has both, they are two ids."""
    path = saved(tmp_path, ["007", "8", "x1", "", "9.0"])
    for other, known in (("7", "007"), (8.0, "8"), (9, "9.0"), (" x1", "x1")):
        with pytest.raises(ValueError, match=f"written as in the model's column 'id', got '{other}' for '{known}'"):
            update_model(path, X[:1], Y[:1], keep={"id": [other]}, existing="replace" if other == "7" else "raise")
    assert update_model(path, X[:2], Y[:2], keep={"id": [70, "7x"]}).data.rows == 7
    path = saved(tmp_path, ["007", "7", "8"])
    assert update_model(path, X[:1], Y[:1], keep={"id": ["08"]}).data.rows == 4


def test_blank_ids_are_no_ids(tmp_path):
    """Rows without one are compared as a batch."""
    path = saved(tmp_path, ["a", "", "", "b"])
    assert update_model(path, X[:3], Y[:3], keep={"id": ["", None, "c"]}).data.rows == 7
    assert update_model(path, X[:3], Y[:3], keep={"id": ["", None, "c"]}, existing="replace").data.rows == 7
    assert update_model(path, X[3:6], Y[3:6], keep={"id": ["", None, "c"]}, existing="replace").data.rows == 9


def test_several_rows_of_an_id_are_replaced_together(tmp_path):
    """As they are forgotten together."""
    path = saved(tmp_path, ["a", "b", "a", "c", "d"])
    assert update_model(path, X[:1], Y[:1], keep={"id": ["a"]}, existing="replace").data.rows == 4
    assert read_kept(path)["id"] == ("b", "c", "d", "a")


def test_ids_that_are_there_can_be_skipped(tmp_path):
    """The other samples are added; a repeated call finds none, and writes nothing."""
    path = saved(tmp_path, ["a", "b", "", "c"])
    rows, ids = slice(10, 14), {"id": ["d", "b", "e", "a"]}
    assert update_model(path, X[rows], Y[rows], keep=ids, existing="skip").data.rows == 6
    expected = MLkNN(2).fit(X[[0, 1, 2, 3, 10, 12]], Y[[0, 1, 2, 3, 10, 12]])
    np.testing.assert_array_equal(load_model(path).predict_proba(X), expected.predict_proba(X))
    assert read_kept(path)["id"] == ("a", "b", "", "c", "d", "e")
    before, card = path.read_bytes(), read_card(path)
    assert update_model(path, X[rows], Y[rows], keep=ids, existing="skip") == card
    assert path.read_bytes() == before
    with pytest.raises(ValueError, match=r"existing must be one of .* got 'twice'"):
        update_model(path, X[rows], Y[rows], keep=ids, existing="twice")


def test_ids_that_are_not_there_are_told(path):
    """Forgetting is repeated without an error; an id that is written otherwise is one."""
    assert forget_rows(path, ids=IDS[3:5]).data.rows == 58
    before = path.read_bytes()
    message = r"2 of 2 ids are not in the saved column 'row id': 'id-of-003', 'id-of-004'\. They were forgotten before"
    with pytest.warns(UserWarning, match=f"{message}, or are wrong. No sample was removed by its id. Hint: column"):
        assert forget_rows(path, ids=IDS[3:5]) == read_card(path)
    assert path.read_bytes() == before
    with pytest.warns(UserWarning, match=r"1 of 2 ids are not in .*: 'x'\. They were forgotten before, or are wrong.$"):
        assert forget_rows(path, ids=["x", IDS[9]]).data.rows == 57
    with pytest.raises(ValueError, match="ids must be written as in the model's column 'row id', got ' id-of-000'"):
        forget_rows(path, ids=[" id-of-000"])


def test_which_column_has_the_ids(tmp_path):
    """The named one, or else that called id; a column that only ends in it may be anything."""
    assert read_card(saved(tmp_path, IDS[:5], column="ID")).id_column == "ID"
    path = saved(tmp_path, IDS[:5], column="valid")
    assert read_card(path).id_column == ""
    assert update_model(path, X[:1], Y[:1], keep={"valid": IDS[:1]}).data.rows == 6
    with pytest.raises(ValueError, match="ids must be given to replace samples, got a model that was saved without"):
        update_model(path, X[:1], Y[:1], keep={"valid": IDS[:1]}, existing="replace")
    path = saved(tmp_path, IDS[:5], column="row", id_column="row")
    with pytest.raises(ValueError, match="must not be in the model"):
        update_model(path, X[:1], Y[:1], keep={"row": IDS[:1]})
    assert forget_rows(path, ids=IDS[:1]).id_column == "row"
    with pytest.raises(ValueError, match=r"id_column must be one of the columns in keep, \['row'\], got 'id'"):
        saved(tmp_path, IDS[:5], column="row", id_column="id")


def test_a_model_that_cannot_change_is_fitted_again(tmp_path):
    """Rows come and go; steps before the method stay; nothing is stale."""
    model = make_pipeline(MinMaxScaler(), FixedThresholdsClassifier(IBLR(3), 0.4)).fit(X[:40], Y[:40])
    path = save_model(model, tmp_path / "iblr.skops", keep={"id": IDS[:40]}, fit_options="--method iblr")
    assert read_card(path).updatable == "by refit"
    card = update_model(path, X[40:60], Y[40:60], keep={"id": IDS[38:58]}, existing="replace", retune=True)
    assert (card.data.rows, card.changes, card.fit_options) == (58, None, "--method iblr")
    card = forget_rows(path, [0], ids=[IDS[50]])
    assert card.data.rows == len(read_kept(path)["id"]) == 56
    rows = [row for row in (*range(1, 38), *range(40, 60)) if row != 52]
    scaled = model[0].transform(X)
    expected = FixedThresholdsClassifier(IBLR(3), 0.4).fit(scaled[rows], Y[rows])
    np.testing.assert_array_equal(load_model(path).predict_proba(X), expected.predict_proba(scaled))
    kept, before = read_kept(path), load_model(path).predict_proba(X)
    update_model(path, retune=True)  # nothing is stale
    assert read_kept(path) == kept
    np.testing.assert_array_equal(load_model(path).predict_proba(X), before)


@pytest.mark.parametrize("scale", ["none", "minmax", "standard"])
def test_samples_are_scaled_once_for_a_model_that_scales_itself(tmp_path, scale):
    """`NeighborsClassifierCV` in a file gets the samples that it gets in memory."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(120, 4))
    labels = rows[:, :3] + random.normal(size=(120, 3)) > 0.5
    model = NeighborsClassifierCV(methods=[MLkNN()], n_neighbors=[5], scales=[scale], verbose=0).fit(
        rows[:80], labels[:80]
    )
    save_model(model, tmp_path / "model.skops")
    update_model(tmp_path / "model.skops", rows[80:], labels[80:])
    model.partial_fit(rows[80:], labels[80:])
    assert (load_model(tmp_path / "model.skops").predict_proba(rows) == model.predict_proba(rows)).all()
    assert len(model.best_estimator_) == 2
