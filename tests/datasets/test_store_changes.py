"""`append_to_store` and `remove_from_store`: the old store or the new one, and removed bytes nowhere."""

import json
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from nearlabel.datasets import append_to_store, open_store, remove_from_store, write_store
from nearlabel.files import check_sums, growing_files
from nearlabel.files.atomic_file import locked
from nearlabel.files.check_sums import BlockSums
from nearlabel.files.row_files import RowFiles
from nearlabel.utils.validation import as_dense

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(20, 4))
SPARSE = sparse.csr_array(RNG.poisson(0.5, (20, 9)) * RNG.random((20, 9)))
STORAGES = pytest.mark.parametrize("X", [DENSE, SPARSE], ids=["dense", "csr"])


def assert_holds(path, X):
    """The store holds these numbers; each file alone is what another program reads, and nothing else is there."""
    opened = open_store(path)
    assert opened.dtype == X.dtype
    assert sparse.issparse(opened) == sparse.issparse(X)
    np.testing.assert_array_equal(as_dense(opened), as_dense(X))
    arrays = {path.name.split(".")[0]: np.load(path) for path in path.glob("*.npy")}
    np.testing.assert_array_equal(arrays["data"], X.data if sparse.issparse(X) else X)
    assert len(list(path.iterdir())) == 1 + len(arrays)
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@STORAGES
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_after_each_change_it_holds_what_an_array_does(tmp_path, X, dtype):
    """Rows are appended, removed, and appended again."""
    X = X.astype(dtype)
    path = write_store(tmp_path / "store", X[:7])
    assert append_to_store(path, X[7:12]) == path
    assert_holds(path, X[:12])
    append_to_store(path, (X[i : i + 1] for i in range(12, 20)))
    assert_holds(path, X)
    assert remove_from_store(path, [19, 0, 5]) == path
    left = np.delete(np.arange(20), [0, 5, 19])
    assert_holds(path, X[left])
    append_to_store(remove_from_store(path, [1]), X[:3])
    assert_holds(path, X[[*np.delete(left, 1), 0, 1, 2]])


@STORAGES
def test_all_rows_may_go(tmp_path, X):
    """A store without rows has its width and type."""
    path = remove_from_store(write_store(tmp_path / "store", X), np.arange(20))
    assert_holds(path, X[:0])
    assert_holds(append_to_store(path, X), X)


@STORAGES
def test_changes_that_are_repeated(tmp_path, X):
    """With the number of rows before them, they happen once; other rows at their place are an error."""
    X = X.copy()
    X[9, 2] = np.nan
    path = write_store(tmp_path / "store", X[:7])
    for _ in range(2):
        append_to_store(path, (X[i : i + 2] for i in range(7, 13, 2)), n_rows=7)
        assert_holds(path, X[:13])
    append_to_store(path, X[13:], n_rows=13)
    append_to_store(path, X[7:13], n_rows=7)  # they are there, with others after them
    assert_holds(path, X)
    for rows, n_rows in ((X[7:13], 8), (X[7:], 6), (X[8:13], 7), (X, 7), (X[:1], 21)):
        with pytest.raises(ValueError, match=f"n_rows must be .* got {n_rows}, but .*store has 20 rows, and not those"):
            append_to_store(path, rows, n_rows=n_rows)
    for _ in range(2):
        remove_from_store(path, [3, 19], n_rows=20)
        assert_holds(path, X[np.delete(np.arange(20), [3, 19])])
    with pytest.raises(ValueError, match=r"n_rows must be .* got 20, but .*store has 18 rows"):
        remove_from_store(path, [3, 18], n_rows=20)  # another removal
    with pytest.raises(ValueError, match=r"n_rows must be .* got 21, but .*store has 18 rows"):
        remove_from_store(path, [3, 19], n_rows=21)
    append_to_store(path, X[:0], n_rows=18)
    assert_holds(path, X[np.delete(np.arange(20), [3, 19])])


@STORAGES
def test_who_has_it_open_sees_what_it_had(tmp_path, X):
    """Also where its rows were removed, or the store was replaced; the new rows may be made of the old ones."""
    path = write_store(tmp_path / "store", X)
    opened = [open_store(path)]
    for change in (
        lambda: append_to_store(path, opened[0]),
        lambda: remove_from_store(path, np.arange(15)),
        lambda: write_store(path, 2 * opened[0], overwrite=True),
    ):
        before = [as_dense(rows).copy() for rows in opened]
        change()
        for rows, wanted in zip(opened, before, strict=True):
            np.testing.assert_array_equal(as_dense(rows), wanted)
        opened.append(open_store(path))
    assert [rows.shape[0] for rows in opened] == [20, 40, 25, 20]


@STORAGES
def test_removed_bytes_are_in_no_file(tmp_path, X):
    """Not behind the end of a file either."""
    path = write_store(tmp_path / "store", X)
    bytes_of = [X[[row]].data.tobytes() if sparse.issparse(X) else X[row].tobytes() for row in (19, 3, 2)]
    remove_from_store(path, [19, 3])
    found = b"".join(file.read_bytes() for file in path.iterdir())
    assert [some in found for some in bytes_of] == [False, False, True]


@pytest.mark.parametrize(
    ("held", "given"),
    [
        (DENSE, DENSE[:2].tolist()),
        (DENSE, pd.DataFrame(DENSE[:2])),
        (DENSE, sparse.csc_array(DENSE[:2])),
        (SPARSE, SPARSE[:2].toarray()),
        (SPARSE, sparse.coo_array(SPARSE[:2])),
        (np.eye(4, dtype=np.uint8), np.eye(4, dtype=int)[:2]),
        (np.eye(4, dtype=np.float32), [[0.5, np.nan, np.inf, 2]]),
    ],
    ids=["list", "frame", "sparse to dense", "dense to sparse", "coo", "labels", "unknown"],
)
def test_rows_are_stored_as_those_that_are_there(tmp_path, held, given):
    """Dense or sparse, and in their type."""
    path = append_to_store(write_store(tmp_path / "store", held), given)
    opened = open_store(path)
    assert opened.dtype == held.dtype
    assert sparse.issparse(opened) == sparse.issparse(held)
    new = as_dense(given) if sparse.issparse(given) else np.asarray(given)
    np.testing.assert_array_equal(as_dense(opened), np.vstack([as_dense(held), new]))


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ([[0.1] * 4], r"X must contain numbers that float32, the type of the store, represents exactly, got .*0\.1"),
        ([[1e300] * 4], "represents exactly, got .*1e"),
        ([[2**30 + 1] * 4], "represents exactly, got .*1073741825"),
        ([[1.0, 2.0]], r"X must have 4 columns, as the store .*, got 2\."),
        (iter([np.ones((3, 4)), np.ones((3, 5))]), "X must have 4 columns"),
        ([["a"] * 4], "could not convert|string"),
    ],
)
def test_what_does_not_fit_changes_nothing(tmp_path, new, message):
    """Nor does an error after some blocks."""
    X = DENSE.astype(np.float32)
    path = write_store(tmp_path / "store", X)
    with pytest.raises(ValueError, match=message):
        append_to_store(path, new)
    assert_holds(path, X)


def test_unknown_cells_need_a_type_that_has_them(tmp_path):
    """NaN is no byte."""
    path = write_store(tmp_path / "store", np.eye(3, dtype=np.uint8))
    with pytest.raises(ValueError, match=r"numbers that uint8, the type of the store, represents exactly, got .*nan"):
        append_to_store(path, [[0.0, 1.0, np.nan]])
    assert_holds(path, np.eye(3, dtype=np.uint8))


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ([20], ValueError, "rows must be numbers from 0 to 19, got 20"),
        ([1, 1], ValueError, "rows must name each row once"),
        ([0.5], TypeError, "rows must be a list of row numbers"),
    ],
)
def test_wrong_row_numbers_change_nothing(tmp_path, rows, error, message):
    """With the messages of the searches."""
    path = write_store(tmp_path / "store", DENSE)
    with pytest.raises(error, match=message):
        remove_from_store(path, rows)
    assert_holds(path, DENSE)


@pytest.mark.parametrize(
    "change", [lambda path: append_to_store(path, DENSE), lambda path: remove_from_store(path, [0])]
)
def test_there_must_be_a_store(tmp_path, change):
    """Another folder, or none, stays as it is."""
    with pytest.raises(FileNotFoundError, match="must be the folder of a store"):
        change(tmp_path / "none")
    with pytest.raises(ValueError, match="must be a store"):
        change(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_one_process_at_a_time(tmp_path):
    """The second is told at once; replacing a store is a change, too."""
    path = write_store(tmp_path / "store", DENSE)
    told = r"store must not be changed by two processes at once, .* \(pid \d+: counting\)"
    with locked(path, "counting"):
        with pytest.raises(BlockingIOError, match=told):
            append_to_store(path, DENSE)
        with pytest.raises(BlockingIOError, match=told):
            remove_from_store(path, [0])
        with pytest.raises(BlockingIOError, match=told):
            write_store(path, DENSE[:3], overwrite=True)
        np.testing.assert_array_equal(open_store(path), DENSE)
    assert_holds(path, DENSE)


def test_indices_get_wider_when_need_be(tmp_path, monkeypatch):
    """More stored values than int32 counts: other files take the place of the narrow ones."""
    path = write_store(tmp_path / "store", SPARSE)
    before = open_store(path)
    monkeypatch.setattr(growing_files, "_LARGEST_INDEX", SPARSE.nnz + 3)
    append_to_store(path, SPARSE)
    opened = open_store(path)
    assert (before.indices.dtype, opened.indices.dtype, opened.indptr.dtype) == (np.int32, np.int64, np.int64)
    np.testing.assert_array_equal(before.toarray(), SPARSE.toarray())
    assert_holds(path, sparse.vstack([SPARSE, SPARSE], format="csr"))


@pytest.mark.parametrize("version", [1, 2])
@STORAGES
def test_a_store_of_an_earlier_version_is_read_and_changed(tmp_path, X, version):
    """It has no check sums; whoever asks for them is told. A change makes it one of the third version, which has."""
    path = write_store(tmp_path / "store", X)
    facts = json.loads((path / "store.json").read_text())
    earlier = {name: of for name, of in facts.items() if name not in ("sums", "crc")}
    (path / "store.json").write_text(json.dumps(earlier | {"version": version}))
    assert_holds(path, X)
    with pytest.warns(
        UserWarning, match=rf"has no checksums, since an earlier nearlabel wrote it \(version {version}\)"
    ):
        open_store(path, check=True)
    assert_holds(append_to_store(path, X[:0]), X)
    assert json.loads((path / "store.json").read_text()) == facts
    assert_holds(append_to_store(path, X[:2]), X[[*range(20), 0, 1]])


def test_check_sums_grow_with_the_rows(tmp_path, monkeypatch):
    """They are those of a store that was written at once, and what is there is not read for them."""
    monkeypatch.setattr(check_sums, "BLOCK_BYTES", 100)
    parts = write_store(tmp_path / "parts", SPARSE[:3])
    monkeypatch.setattr(BlockSums, "of", None)
    for block in (slice(3, 4), slice(4, 4), slice(4, 20)):
        append_to_store(parts, SPARSE[block])
    written = write_store(tmp_path / "whole", SPARSE)
    assert (parts / "store.json").read_text() == (written / "store.json").read_text()
    np.testing.assert_array_equal(open_store(parts, check=True).toarray(), SPARSE.toarray())


def test_rows_in_files_are_found_again_after_rows_were_appended(tmp_path):
    """But not after the file was replaced by another one."""
    path = write_store(tmp_path / "store", DENSE)
    files = RowFiles.of(open_store(path))
    append_to_store(path, DENSE)
    np.testing.assert_array_equal(files.load(), DENSE)
    other = append_to_store(write_store(tmp_path / "other", DENSE), 2 * DENSE)
    (other / "data.npy").replace(path / "data.npy")
    with pytest.raises(ValueError, match="must not change while rows are read"):
        files.load()


# The n-th child kills itself before its n-th step on files; the first that is not killed has made all of them.
KILLED = """
import os, pickle, shutil, signal, sys
from pathlib import Path
import numpy as np
from nearlabel.datasets import append_to_store, open_store, remove_from_store, write_store
from nearlabel.utils.validation import as_dense

folder = Path(sys.argv[1])
X = pickle.loads((folder / "X").read_bytes())
new = X[::-1]
CHANGES = {
    "append": lambda path: append_to_store(path, (new[i : i + 5] for i in range(0, 20, 5))),
    "remove": lambda path: remove_from_store(path, [2, 19]),
    "overwrite": lambda path: write_store(path, new, overwrite=True),
}
EVENTS = {"open", "os.rename", "os.remove", "os.truncate", "os.mkdir"}

def die_at(moment):
    left = [moment]
    def step(event, arguments):
        if event in EVENTS and "store" in str(arguments[0]):
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
    os.fsync = lambda file: step("open", ["store"])
    sys.addaudithook(step)

os.fsync = lambda file: None  # what was written outlives the process, if not the machine

for name, change in CHANGES.items():
    held, moment, outcomes = as_dense(X), 0, []
    finished = change(write_store(folder / "expected", X, overwrite=True))
    wanted = as_dense(open_store(finished))
    while True:
        path = write_store(folder / "store", X, overwrite=True)
        child = os.fork()
        if not child:
            die_at(moment)
            change(path)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        found = as_dense(open_store(path))
        outcomes.append("old" if np.array_equal(found, held) else "new" if np.array_equal(found, wanted) else "broken")
        remove_from_store(path, [])
        assert np.array_equal(as_dense(open_store(path)), found)
        assert len(list(path.iterdir())) == len(list(finished.iterdir())), list(path.iterdir())
        np.testing.assert_array_equal(as_dense(open_store(append_to_store(path, X))), np.vstack([found, held]))
        if status == 0:
            break
        assert os.WIFSIGNALED(status)
        moment += 1
    print(name, *outcomes)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forks")
@pytest.mark.long
@pytest.mark.parametrize("X", [DENSE, SPARSE], ids=["dense", "csr"])
def test_a_kill_leaves_the_old_store_or_the_new_one(tmp_path, X):
    """Before each step on files; what is left over is removed by the next change, which works."""
    (tmp_path / "X").write_bytes(pickle.dumps(X))
    run = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    for line in run.stdout.splitlines():
        _, *outcomes = line.split()
        n_old = outcomes.count("old")
        assert n_old >= 5
        assert len(outcomes) - n_old >= 2
        assert outcomes == ["old"] * n_old + ["new"] * (len(outcomes) - n_old)
    assert [line.split()[0] for line in run.stdout.splitlines()] == ["append", "remove", "overwrite"]
