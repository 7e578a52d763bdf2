import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from nearlabel.datasets import open_store, write_store
from nearlabel.files import growing_files
from nearlabel.lazy import IBLR, NLDD, BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(20, 4))
SPARSE = sparse.csr_array(RNG.poisson(0.5, (20, 9)).astype(float))


def same(opened, X):
    """Tell whether what was opened equals X, bit for bit and in type."""
    dense = opened.toarray() if sparse.issparse(opened) else opened
    expected = X.toarray() if sparse.issparse(X) else np.asarray(X)
    return dense.dtype == expected.dtype and dense.shape == expected.shape and dense.tobytes() == expected.tobytes()


def names_in(folder):
    """Return the sorted names of what a folder holds."""
    return sorted(entry.name for entry in folder.iterdir())


def lies_in_a_file(array):
    """Tell whether an array is a view of a memory map."""
    while array is not None and not isinstance(array, np.memmap):
        array = array.base
    return array is not None


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8, np.int64, np.bool_])
@pytest.mark.parametrize("X", [DENSE, SPARSE], ids=["dense", "csr"])
def test_what_is_written_is_read(tmp_path, X, dtype):
    """Values, shape and type come back."""
    X = X.astype(dtype)
    assert write_store(tmp_path / "store", X) == tmp_path / "store"
    opened = open_store(tmp_path / "store")
    assert same(opened, X)
    assert sparse.issparse(opened) == sparse.issparse(X)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (DENSE.tolist(), DENSE),
        (np.asfortranarray(DENSE), DENSE),
        (DENSE[::2, 1:3], DENSE[::2, 1:3]),
        (pd.DataFrame(DENSE), DENSE),
        (pd.DataFrame({"a": pd.array([1, 2], dtype="Int64"), "b": [0.5, 1.5]}), np.array([[1, 0.5], [2, 1.5]])),
        (pl.DataFrame(DENSE), DENSE),
        (sparse.csc_array(SPARSE), SPARSE),
        (sparse.coo_matrix(SPARSE), SPARSE),
        ([DENSE[:7], DENSE[7:]], DENSE),
        ((pd.DataFrame(block) for block in (DENSE[:7], DENSE[7:])), DENSE),
        ((SPARSE[[i]] for i in range(20)), SPARSE),
        ([DENSE[:0], DENSE], DENSE),
        (np.empty((0, 3)), np.empty((0, 3))),
        (np.array([[np.nan, np.inf]]), np.array([[np.nan, np.inf]])),
    ],
    ids=[
        "list", "fortran", "strided", "pandas", "nullable", "polars", "csc", "coo", "list of blocks", "frames",
        "sparse rows", "empty block", "no rows", "not finite",
    ],
)  # fmt: skip
def test_every_kind_of_rows_can_be_written(tmp_path, given, expected):
    """Arrays, frames, sparse containers and blocks of them."""
    write_store(tmp_path / "store", given)
    assert same(open_store(tmp_path / "store"), expected)


def test_sparse_rows_are_stored_in_canonical_form(tmp_path):
    """Entries in parts are added, columns sorted; the input stays as it is."""
    X = sparse.csr_array(([1.0, 2.0, 3.0, 4.0], [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    write_store(tmp_path / "store", X)
    opened = open_store(tmp_path / "store")
    assert_array_equal(opened.indices, [0, 2, 1])
    assert_array_equal(opened.data, [2.0, 4.0, 4.0])
    assert opened.has_canonical_format
    assert X.nnz == 4


def test_sparse_rows_without_any_value(tmp_path):
    """No stored value and no row are no error."""
    for shape in ((3, 4), (0, 4)):
        write_store(tmp_path / "store", sparse.csr_array(shape), overwrite=True)
        opened = open_store(tmp_path / "store")
        assert opened.shape == shape
        assert opened.nnz == 0


@pytest.mark.parametrize("limit", [8, 40, 2**31 - 1])
def test_index_types_are_as_wide_as_need_be(tmp_path, monkeypatch, limit):
    """More stored values than int32 counts make both index arrays int64; what grew beyond was written before."""
    monkeypatch.setattr(growing_files, "_LARGEST_INDEX", limit)
    write_store(tmp_path / "store", (SPARSE[i : i + 5] for i in range(0, 20, 5)))
    expected = np.int32 if limit > 40 else np.int64
    opened = open_store(tmp_path / "store")
    assert opened.indices.dtype == opened.indptr.dtype == expected
    assert same(opened, SPARSE)
    grown = ".1" if limit == 40 else ""
    assert names_in(tmp_path / "store") == ["data.npy", f"indices{grown}.npy", f"indptr{grown}.npy", "store.json"]


def test_arrays_are_mapped_and_stay_so_through_validation(tmp_path):
    """Nothing is copied: not by opening, not by scikit-learn's check of rows."""
    for X in (DENSE.astype(np.float32), SPARSE.astype(np.float32)):
        write_store(tmp_path / "store", X, overwrite=True)
        opened = open_store(tmp_path / "store")
        checked = validate_data(BaseEstimator(), opened, accept_sparse="csr")
        names = ("data", "indices", "indptr") if sparse.issparse(X) else (None,)
        for name in names:
            mapped, after = (getattr(matrix, name) if name else matrix for matrix in (opened, checked))
            assert lies_in_a_file(mapped)
            assert np.shares_memory(mapped, after)
            assert not after.flags.writeable


def test_type_can_be_chosen(tmp_path):
    """`dtype` casts all blocks, also of different types."""
    write_store(tmp_path / "store", [DENSE[:5], DENSE[5:].astype(np.float16)], dtype="float32")
    opened = open_store(tmp_path / "store")
    assert opened.dtype == np.float32
    assert_array_equal(opened[:5], DENSE[:5].astype(np.float32))


@pytest.mark.parametrize(
    ("X", "dtype", "message"),
    [
        ([], None, "at least one block|2D array"),
        (iter([]), None, "X must have at least one block of rows, got none"),
        ([DENSE, DENSE[:, :2]], None, r"dense rows of 4 columns of float64 as block 0, got dense rows of 2 columns"),
        ([DENSE, DENSE.astype(np.float32)], None, r"got dense rows of 4 columns of float32 as block 1. Hint: dtype="),
        ([DENSE, sparse.csr_array(DENSE)], np.float32, r"dense rows of 4 columns as block 0, got sparse rows of 4"),
        ([1.0, 2.0], None, "2D array"),
        ([["a", "b"]], None, "could not convert|string"),
        (DENSE, complex, "dtype must be a type of real numbers, got complex128"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, X, dtype, message):
    """With a clear error, and nothing is left behind."""
    with pytest.raises(ValueError, match=message):
        write_store(tmp_path / "store", X, dtype=dtype)
    assert names_in(tmp_path) == []


def test_what_is_there_is_not_overwritten(tmp_path):
    """Not by default, and never what is no store."""
    path = write_store(tmp_path / "store", DENSE)
    with pytest.raises(FileExistsError, match=r"must not exist yet\. Hint: overwrite=True"):
        write_store(path, SPARSE)
    assert same(open_store(path), DENSE)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("years of work")
    with pytest.raises(FileExistsError, match="must be a store to be overwritten"):
        write_store(other, DENSE, overwrite=True)
    assert (other / "thesis.txt").read_text() == "years of work"


def test_a_store_is_replaced_as_a_whole(tmp_path):
    """The new rows may be made of the old ones, which stay readable for those who have them open."""
    path = write_store(tmp_path / "store", SPARSE)
    before = open_store(path)
    write_store(path, 2 * before[:5], overwrite=True)
    assert same(open_store(path), 2 * SPARSE[:5])
    assert same(before, SPARSE)
    assert names_in(tmp_path) == ["store"]


def broken_blocks():
    """Yield rows, then fail."""
    yield DENSE
    raise RuntimeError("no more rows")


def test_a_failure_while_writing_leaves_what_was_there(tmp_path):
    """An error among the blocks changes nothing on disk."""
    with pytest.raises(RuntimeError, match="no more rows"):
        write_store(tmp_path / "store", broken_blocks())
    assert names_in(tmp_path) == []
    path = write_store(tmp_path / "store", SPARSE)
    with pytest.raises(RuntimeError, match="no more rows"):
        write_store(path, broken_blocks(), overwrite=True)
    assert same(open_store(path), SPARSE)
    assert names_in(tmp_path) == ["store"]


@pytest.mark.long
def test_a_killed_writer_leaves_no_store(tmp_path):
    """SIGKILL in the middle: the path does not exist."""
    program = """
import os, signal, sys
import numpy as np
from nearlabel.datasets import write_store

def blocks():
    yield np.ones((1000, 4))
    os.kill(os.getpid(), signal.SIGKILL)

write_store(sys.argv[1], blocks())
"""
    run = subprocess.run([sys.executable, "-c", program, str(tmp_path / "store")], check=False)
    assert run.returncode == -signal.SIGKILL
    assert [name for name in names_in(tmp_path) if not name.endswith(".partial")] == []
    with pytest.raises(FileNotFoundError, match="must be the folder of a store"):
        open_store(tmp_path / "store")
    assert same(open_store(write_store(tmp_path / "store", DENSE)), DENSE)


def damage(path, how):
    """Do to a store what crashes and careless hands do."""
    facts = json.loads((path / "store.json").read_text())
    if how == "truncated":
        os.truncate(path / "indices.npy", (path / "indices.npy").stat().st_size - 4)
    elif how == "missing":
        (path / "indptr.npy").unlink()
    elif how == "no facts":
        (path / "store.json").unlink()
    elif how == "half facts":
        (path / "store.json").write_text(json.dumps(facts)[:30])
    elif how == "other json":
        (path / "store.json").write_text("[1, 2]")
    elif how == "version":
        (path / "store.json").write_text(json.dumps(facts | {"version": 99}))
    elif how == "another file":
        shutil.copy(path / "data.npy", path / "indices.npy")
    elif how == "other type":
        (path / "store.json").write_text(json.dumps(facts | {"dtype": "float32"}))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("truncated", r"indices.npy must have the \d+ bytes that were written, got \d+ bytes. The store is damaged"),
        ("missing", r"indptr.npy must have the \d+ bytes that were written, got no such file"),
        ("no facts", "must be a store, got a folder without its store.json"),
        ("half facts", "must be a store"),
        ("other json", "must be a store"),
        ("version", "must be a store of version 3, got version 99"),
        ("another file", r"indices.npy must contain int32 or int64 in rows of shape \(\), got float64"),
        (
            "other type",
            r"store.json must be what nearlabel wrote, got a damaged one: its checksum does not match",
        ),
    ],
)
def test_a_damaged_store_is_noticed(tmp_path, how, message):
    """Each kind of damage has its message."""
    path = write_store(tmp_path / "store", SPARSE)
    damage(path, how)
    with pytest.raises(ValueError, match=message):
        open_store(path)


METHODS = {
    "BRkNN": BRkNN(5),
    "BRkNNa": BRkNNa(5),
    "BRkNNb": BRkNNb(5, weights="distance"),
    "LPkNN": LPkNN(5),
    "MLkNN": MLkNN(5),
    "MLkNN, cosine": MLkNN(5, search=ExactNeighbors(metric="cosine")),
    "CMLkNN": CMLkNN(5),
    "DMLkNN": DMLkNN(5, delta=1),
    "IBLR": IBLR(5, plus=True, ridge=0.1),
    "NLDD": NLDD(random_state=0),
}


@pytest.mark.parametrize("storage", ["dense", "csr"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_answers_from_a_store_as_from_memory(tmp_path, method, storage):
    """Label sets and scores have the same bits; X, Y and the queries are stores."""
    rng = np.random.default_rng(1)
    X = rng.poisson(0.7, (60, 6)).astype(np.float32)
    Y = (X[:, :4] + rng.normal(size=(60, 4)) > 1).astype(np.uint8)
    if storage == "csr":
        X, Y = sparse.csr_array(X), sparse.csr_array(Y)
    parts = {"X": X[:40], "Y": Y[:40], "queries": X[40:]}
    stores = {name: open_store(write_store(tmp_path / name, part)) for name, part in parts.items()}
    expected = METHODS[method].fit(parts["X"], parts["Y"])
    found = clone(METHODS[method]).fit(stores["X"], stores["Y"])
    for answer in ("predict", "predict_proba"):
        want, got = getattr(expected, answer)(parts["queries"]), getattr(found, answer)(stores["queries"])
        assert same(got, want), answer


LIMITED = """
import json, resource, sys

resource.setrlimit(resource.RLIMIT_AS, (3 * 2**29, 3 * 2**29))
sys.modules["pyarrow"] = None  # which pandas would load, and scikit-learn loads pandas
from nearlabel.datasets import open_store
from nearlabel.lazy import BRkNN

X, Y, queries = (open_store(f"{sys.argv[1]}/{name}") for name in ("X", "Y", "queries"))
model = BRkNN(10).fit(X, Y)
labels = model.predict(queries)
print(json.dumps([labels.tolist(), model.search_.kneighbors(queries, 10)[1].tolist()]))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
def test_a_gigabyte_of_rows_under_a_limit_of_one_and_a_half(tmp_path):
    """Fit and predict at 2,000,000 x 128 float32; the limit counts address space: imports and the map itself too."""
    n, d, each = 2_000_000, 128, 20_000

    def block(number):
        return np.random.default_rng(number).random((each, d), dtype=np.float32)

    queries = np.vstack([block(number)[:2] + np.float32(0.01) for number in (0, 17, 99)])
    write_store(tmp_path / "X", (block(number) for number in range(n // each)))
    write_store(tmp_path / "Y", np.arange(n)[:, np.newaxis] % [3, 5] == 0)
    write_store(tmp_path / "queries", queries)
    run = subprocess.run([sys.executable, "-c", LIMITED, str(tmp_path)], check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    labels, indices = (np.array(answer) for answer in json.loads(run.stdout))

    X = open_store(tmp_path / "X")
    squares = np.empty((len(queries), n))
    for start in range(0, n, each):
        rows = X[start : start + each].astype(np.float64)
        for row, query in zip(squares, queries.astype(np.float64), strict=True):
            row[start : start + each] = np.square(rows - query).sum(axis=1)
    expected = np.argsort(squares, axis=1)[:, :10]
    assert_array_equal(indices, expected)
    assert_array_equal(labels, (expected[:, :, np.newaxis] % [3, 5] == 0).mean(axis=1) > 0.5)


def test_a_block_that_is_none(tmp_path):
    """Among matrices: the message names the argument, and nothing is written."""
    with pytest.raises(ValueError, match="X must have blocks that are matrices, got None as a block"):
        write_store(tmp_path / "X", [np.ones((2, 3)), None])
    assert not list(tmp_path.iterdir())
