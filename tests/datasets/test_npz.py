import errno
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import Dataset, _npz, load_dataset, read_npz, write_npz


@pytest.fixture
def data():
    """Five rows, some values that text would lose, a label without rows."""
    X = np.random.default_rng(0).normal(size=(5, 3))
    X[0] = [np.nan, -0.0, 5e-324]
    Y = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 0], [0, 1, 0], [1, 0, 0]])
    return Dataset(X, Y, ("a", "ü b", ""), ("red", "blue", "none"), "toy")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_round_trip(tmp_path, data, container):
    """What is written is read, dense or CSR as it was, bit for bit."""
    written = replace(data, X=container(data.X), Y=container(data.Y))
    path = write_npz(tmp_path / "toy.npz", written)
    read = load_dataset(path)
    assert [p.name for p in tmp_path.iterdir()] == ["toy.npz"]
    assert (read.feature_names, read.label_names, read.name) == (data.feature_names, data.label_names, "toy")
    for name in ("X", "Y"):
        before, after = getattr(written, name), getattr(read, name)
        assert (sparse.issparse(after), after.dtype) == (sparse.issparse(before), before.dtype)
        arrays = ("data", "indices", "indptr") if sparse.issparse(after) else ("real",)
        assert all(getattr(before, a).tobytes() == getattr(after, a).tobytes() for a in arrays)


def test_missing_labels_stay(tmp_path, data):
    """Where a label is missing, Y is float64 with NaN, as from other formats."""
    Y = np.where(data.Y == 1, np.nan, 0)
    np.testing.assert_array_equal(read_npz(write_npz(tmp_path / "toy.npz", replace(data, Y=Y))).Y, Y)


def test_files_of_others(tmp_path):
    """Without names columns bear their numbers; other types of numbers, and compression, are read."""
    path = tmp_path / "other.npz"
    np.savez_compressed(path, X=np.ones((2, 2), np.float32), Y=np.array([[True], [False]]), extra=np.arange(3))
    read = read_npz(path)
    assert (read.feature_names, read.label_names) == (("0", "1"), ("0",))
    assert (read.X.dtype, read.Y.dtype, read.Y.tolist()) == (np.float64, np.int64, [[1], [0]])


def test_no_half_written_file(tmp_path, data, monkeypatch):
    """Where writing is cut off, the file that was there stays and nothing else is left."""
    path = write_npz(tmp_path / "toy.npz", data)
    before = path.read_bytes()

    def full_disk(file, **arrays):
        file.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(_npz.np, "savez", full_disk)
    with pytest.raises(OSError, match="No space left"):
        write_npz(path, data)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_name_to_write(tmp_path, data):
    """A file of another suffix would not be found again."""
    with pytest.raises(ValueError, match=r"path must end in \.npz, got 'toy\.zip'"):
        write_npz(tmp_path / "toy.zip", data)


GOOD = {"X": np.ones((2, 2)), "Y": np.eye(2)}
CSR = {"X_data": np.ones(1), "X_indices": np.array([1]), "X_indptr": np.array([0, 1, 1]), "X_shape": np.array([2, 2])}


@pytest.mark.parametrize(("arrays", "message"), [
    ({"X": np.ones((2, 2))}, "must contain an array Y, or Y_data, Y_indices, Y_indptr, Y_shape, got X"),
    ({}, "must contain an array X, .* got no array"),
    (GOOD | {"X": np.ones(2)}, "X must be a two-dimensional array of numbers, got float64 of shape"),
    (GOOD | {"X": np.array([["a"]])}, "X must be a two-dimensional array of numbers, got <U1"),
    (GOOD | {"X": np.array([[object()]])}, "X must be an array of numbers or text, got: Object arrays"),
    (GOOD | {"X": np.ones((0, 2))}, "must contain at least one row, got none"),
    (GOOD | {"Y": 2 * np.eye(2)}, "Y must contain 0, 1 and NaN only, got 2"),
    (GOOD | {"Y": np.eye(3)}, r"bad\.npz: Y must have as many rows as X, 2, got 3"),
    (GOOD | {"label_names": np.array(["a"])}, "label_names must be 2 texts, got <U1 of shape"),
    (GOOD | {"feature_names": np.array([1, 2])}, "feature_names must be 2 texts, got int64"),
    ({"Y": np.eye(2)} | CSR | {"X_indices": np.array([2])}, "X_data, .* must be those of a CSR matrix, got: "),
    ({"Y": np.eye(2)} | CSR | {"X_indptr": np.array([0, 1])}, "must be those of a CSR matrix, got: "),
    ({"Y": np.eye(2)} | CSR | {"X_shape": np.array([2.5, 2])}, "must be those of a CSR matrix, got: "),
])  # fmt: skip
def test_bad_arrays(tmp_path, arrays, message):
    """Each array is checked, and nothing is unpickled."""
    np.savez(tmp_path / "bad.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_npz(tmp_path / "bad.npz")


def test_damaged(tmp_path, data):
    """Text, a cut file, changed bytes and no file are told apart."""
    path = write_npz(tmp_path / "toy.npz", data)
    whole = path.read_bytes()
    for content in (b"", b"a,b\n", whole[:100]):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"must be a whole \.npz file, got something else or a part of one"):
            read_npz(path)
    with zipfile.ZipFile(tmp_path / "toy1.npz", "w") as file:
        file.writestr("X.npy", b"no array")
    with pytest.raises(ValueError, match=r"toy1\.npz: X must be an array of numbers or text, got something else\."):
        read_npz(tmp_path / "toy1.npz")
    with zipfile.ZipFile(tmp_path / "toy2.npz", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("X.npy", whole)
    changed = bytearray((tmp_path / "toy2.npz").read_bytes())
    changed[60:80] = bytes(20)
    (tmp_path / "toy2.npz").write_bytes(changed)
    with pytest.raises(ValueError, match=r"toy2\.npz"):
        read_npz(tmp_path / "toy2.npz")
    with pytest.raises(FileNotFoundError):
        read_npz(tmp_path / "none.npz")
