"""Samples without ids that are added to a model's file are compared with those of earlier updates, all together."""

from __future__ import annotations

import json
import shutil
import zipfile

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from nearlabel.lazy import IBLR, MLMLM, BRkNN, MLkNN
from nearlabel.persistence import forget_rows, load_model, read_card, read_kept, save_model, update_model, verify
from nearlabel.persistence._new_samples import Batch, batches_from_json, batches_to_json
from nearlabel.preprocessing import MixedFeaturesEncoder
from nearlabel.selection import NeighborsClassifierCV
from nearlabel.thresholds import FixedThresholdsClassifier, TunedThresholdsClassifierCV

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(80, 3))
Y = RANDOM.integers(0, 2, size=(80, 9))
TAGS = [["a", "b"][: 1 + row % 2] for row in range(80)]
OTHERWISE = [  # the same samples in another form, or order
    lambda: (X[60:65], Y[60:65]),
    lambda: (X[[64, 60, 61, 63, 62]], Y[[64, 60, 61, 63, 62]]),
    lambda: (sparse.csr_array(X[60:65]), Y[60:65].astype(float)),
    lambda: (X[60:65].tolist(), sparse.csc_array(Y[60:65])),
]


@pytest.mark.parametrize("again", OTHERWISE, ids=["same", "shuffled", "sparse", "lists"])
def test_a_batch_without_ids_is_added_once(tmp_path, again):
    """It is refused or skipped, whatever its form, unless it is forced; other batches are not."""
    path = save_model(MLkNN(2).fit(X[:10], Y[:10]), tmp_path / "m.skops")
    assert update_model(path, X[60:65], Y[60:65]).data.rows == 15
    before = path.read_bytes()
    message = r"must not be those of an earlier update, got the same 5 as on \d{4}-.* Hint: existing='skip' leaves"
    with pytest.raises(ValueError, match=message):
        update_model(path, *again())
    assert update_model(path, *again(), existing="skip").data.rows == 15
    assert path.read_bytes() == before
    assert update_model(path, *again(), existing="add").data.rows == 20
    for others in ((X[60:64], Y[60:64]), (X[60:65], Y[61:66]), (X[60:65] + 1, Y[60:65])):
        rows = read_card(path).data.rows
        assert update_model(path, *others, existing="skip").data.rows == rows + len(others[0])


@pytest.mark.parametrize(
    "model",
    [
        MLMLM(n_landmarks=20),
        NeighborsClassifierCV(n_neighbors=[2, 3]),
        TunedThresholdsClassifierCV(MLkNN(3), cv="loo"),
        make_pipeline(MinMaxScaler(), FixedThresholdsClassifier(IBLR(3), 0.4)),
    ],
    ids=lambda model: type(model).__name__,
)
def test_batches_of_every_kind_of_model(tmp_path, model):
    """Those that are fitted again, too."""
    path = save_model(model.fit(X[:40], Y[:40]), tmp_path / "m.skops")
    assert update_model(path, X[40:60], Y[40:60]).data.rows == 60
    assert update_model(path, X[40:60], Y[40:60], existing="skip").data.rows == 60
    with pytest.raises(ValueError, match="got the same 20"):
        update_model(path, X[40:60], Y[40:60])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_batches_of_data_frames(tmp_path, library):
    """Of numbers, they are what arrays are."""
    module = pytest.importorskip(library)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    of_columns = module.table if library == "pyarrow" else module.DataFrame
    path = save_model(MLkNN(2).fit(frame[:10], Y[:10]), tmp_path / "m.skops")
    update_model(path, of_columns(frame[20:25].to_dict("list")), Y[20:25])
    with pytest.raises(ValueError, match="got the same 5"):
        update_model(path, frame[20:25], Y[20:25])


def test_batches_of_mixed_columns(tmp_path):
    """Texts, dates and missing values count."""
    frame = pd.DataFrame({"a": X[:30, 0], "b": ["x", "y", None] * 10, "c": pd.date_range("2026-01-01", periods=30)})
    model = make_pipeline(MixedFeaturesEncoder(dates=["c"]), MLkNN(2)).fit(frame[:20], Y[:20])
    path = save_model(model, tmp_path / "m.skops")
    update_model(path, frame[20:25], Y[20:25])
    with pytest.raises(ValueError, match="got the same 5"):
        update_model(path, frame[20:25], Y[20:25])
    assert update_model(path, frame[20:25].assign(b="x"), Y[20:25]).data.rows == 30


@pytest.mark.parametrize(
    ("fitted", "added", "other"),
    [
        (TAGS[:10], TAGS[60:65], [["b"], *TAGS[61:65]]),
        (TAGS[:10], [["c"], None, *TAGS[62:65]], [["c"], [], *TAGS[62:65]]),
        (list("abababaabb"), list("aaaaa"), list("bbbbb")),
        (Y[:10], np.where(X[60:65, :1] > 0, np.nan, Y[60:65]), Y[60:65]),
    ],
    ids=["tags", "a new tag and a row without known labels", "classes", "unknown cells"],
)
def test_label_sets_of_batches_differ_by_their_meaning(tmp_path, fitted, added, other):
    """Names of labels count, and which cells are unknown."""
    path = save_model(BRkNN(2).fit(X[:10], fitted), tmp_path / "m.skops")
    assert update_model(path, X[60:65], added).data.rows == 15
    with pytest.raises(ValueError, match="got the same 5"):
        update_model(path, X[60:65], added)
    assert update_model(path, X[60:65], other).data.rows == 20


def test_the_saved_columns_of_batches_count(tmp_path):
    """Songs with another title are others; rows with and without ids are told apart in one batch."""
    path = saved(tmp_path, ["a", "b", "c"], column="title")
    update_model(path, X[:1], Y[:1], keep={"title": ["d"]})
    assert update_model(path, X[:1], Y[:1], keep={"title": ["e"]}).data.rows == 5
    path = saved(tmp_path, ["a", "b", "c"])
    keep = {"id": ["", "d", ""]}
    assert update_model(path, X[10:13], Y[10:13], keep=keep).data.rows == 6
    assert update_model(path, X[10:13], Y[10:13], keep=keep, existing="skip").data.rows == 6
    assert update_model(path, X[10:13], Y[10:13], keep=keep, existing="replace").data.rows == 6
    expected = MLkNN(2).fit(X[[0, 1, 2, 10, 11, 12]], Y[[0, 1, 2, 10, 11, 12]])
    np.testing.assert_array_equal(load_model(path).predict_proba(X), expected.predict_proba(X))
    update_model(path, X[20:21], Y[20:21])
    with pytest.raises(ValueError, match="got the same one as on"):
        update_model(path, X[20:22], Y[20:22], keep={"id": ["", "f"]})


def test_a_batch_may_come_again_when_some_of_it_was_forgotten(tmp_path):
    """And the file has no digest of it, from which the forgotten sample could be guessed; that of others stays."""
    path = save_model(MLkNN(2).fit(X[:10], Y[:10]), tmp_path / "m.skops")
    for rows in (slice(20, 23), slice(30, 32), slice(40, 43)):
        update_model(path, X[rows], Y[rows])
    digests = digests_in(path)
    assert len(digests) == 3
    forget_rows(path, [0, 14])  # the second of the second batch
    assert digests_in(path) == [digests[0], digests[2]]
    with zipfile.ZipFile(path) as archive:
        assert not any(digests[1].encode() in archive.read(name) for name in archive.namelist())
    for rows in (slice(20, 23), slice(40, 43)):
        with pytest.raises(ValueError, match="got the same 3"):
            update_model(path, X[rows], Y[rows])
    assert update_model(path, X[30:32], Y[30:32]).data.rows == 18
    forget_rows(path, [12 + 3])  # the last batch but one, which moved
    assert len(digests_in(path)) == 2
    update_model(path, X[40:43], Y[40:43])


def digests_in(path):
    """Return the digests of batches in a file."""
    with zipfile.ZipFile(path) as archive:
        return [batch["digest"] for batch in json.loads(archive.read("batches.json"))]


def test_files_of_earlier_versions_have_no_batches(tmp_path):
    """They are loaded and updated; whatever else is in their place is an error."""
    path = save_model(MLkNN(2).fit(X[:10], Y[:10]), tmp_path / "m.skops")
    assert b"batches" not in path.read_bytes()
    assert update_model(path, X[20:23], Y[20:23]).data.rows == 13
    for wrong in ("{}", "[1]", '[{"digest": "a", "first": -1, "rows": 3, "date": ""}]', "[[[", '[{"digest": "a"}]'):
        shutil.copy(path, tmp_path / "forged.skops")
        rewrite(tmp_path / "forged.skops", batches=wrong)
        with pytest.raises(ValueError, match=r"forged\.skops must be the file of a model, got a damaged one"):
            update_model(tmp_path / "forged.skops", X[20:23], Y[20:23])
        assert not verify(tmp_path / "forged.skops").is_sound
    assert verify(path).is_sound


def rewrite(path, **contents):
    """Write other members of an archive, named without their endings."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, contents.get(name.partition(".")[0], content))


def test_files_of_earlier_versions_may_have_half_characters(tmp_path):
    """New ones are refused; those that are there stay, and do not stop an update."""
    path = saved(tmp_path, ["a", "b", "c"])
    rewrite(path, kept='["a"]\n["\\ud800"]\n["c"]\n')
    assert update_model(path, X[3:4], Y[3:4], keep={"id": ["d"]}).data.rows == 4
    assert read_kept(path)["id"] == ("a", "\ud800", "c", "d")


def test_the_last_thousand_batches_are_known():
    """Of more, the first are dropped."""
    batches = [Batch(f"{number:032x}", number, 1, "") for number in range(1_234)]
    assert batches_from_json(batches_to_json(batches)) == batches[-1_000:]


def saved(tmp_path, texts, *, column="id"):
    """Return the file of a model of as many samples as there are texts in its saved column."""
    model = MLkNN(2).fit(X[: len(texts)], Y[: len(texts)])
    return save_model(model, tmp_path / "ids.skops", keep={column: texts})
