import errno
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import Dataset, _npz, load_dataset, open_rows, read_npz, write_npz


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


@pytest.mark.parametrize("part", ["label_names", "feature_names"])
def test_a_name_that_ends_in_nul_is_not_written(tmp_path, data, part):
    """NumPy would drop the character, and two names might become one."""
    names = (*getattr(data, part)[:-1], "blue\0")
    with pytest.raises(ValueError, match=f"{part} must not end in a NUL character, which NumPy drops"):
        write_npz(tmp_path / "toy.npz", replace(data, **{part: names}))
    assert not list(tmp_path.iterdir())


def test_name_to_write(tmp_path, data):
    """A file of another suffix would not be found again."""
    with pytest.raises(ValueError, match=r"path must end in \.npz, got 'toy\.zip'"):
        write_npz(tmp_path / "toy.zip", data)


GOOD = {"X": np.ones((2, 2)), "Y": np.eye(2)}
CSR = {"X_data": np.ones(1), "X_indices": np.array([1]), "X_indptr": np.array([0, 1, 1]), "X_shape": np.array([2, 2])}
WIDE = {"Y": np.eye(2)} | CSR


@pytest.mark.parametrize(("arrays", "message"), [
    ({"X": np.ones((2, 2))}, "must contain an array Y, or Y_data, Y_indices, Y_indptr, Y_shape, got X"),
    ({}, "must contain an array X, .* got no array"),
    (GOOD | {"X": np.ones(2)}, "X must be a two-dimensional array of numbers, got float64 of shape"),
    (GOOD | {"X": np.array([["a"]])}, "X must be a two-dimensional array of numbers, got <U1"),
    (GOOD | {"X": np.array([[object()]])}, r"X must be an array of numbers or text, got type '\|O'"),
    (GOOD | {"X": np.ones((0, 2))}, "must contain at least one row, got none"),
    (GOOD | {"Y": 2 * np.eye(2)}, "Y must contain 0, 1 and NaN only, got 2"),
    (GOOD | {"Y": np.eye(3)}, r"bad\.npz: Y must have as many rows as X, 2, got 3"),
    (GOOD | {"label_names": np.array(["a"])}, "label_names must be 2 texts, got <U1 of shape"),
    (GOOD | {"label_names": np.array(["a", "a"])}, r"bad\.npz: label_names must be distinct, got 'a' twice"),
    (GOOD | {"feature_kinds": np.array(["a", "a"])}, r"bad\.npz: feature_kinds must be some of number, "),
    (GOOD | {"feature_names": np.array([1, 2])}, "feature_names must be 2 texts, got int64"),
    (GOOD | {"X": np.array(1.0)}, r"X must be a two-dimensional array of numbers, got float64 of shape \(\)"),
    (GOOD | {"X": np.ones((2, 2), "c16")}, "X must be a two-dimensional array of numbers, got complex128"),
    (GOOD | {"X": np.ones((2, 2), "i4,f4")}, "X must be an array of numbers or text, got the header"),
    (WIDE | {"X_indices": np.array([2])}, "X_data, .* a CSR matrix, got indices from 2 to 2 for 2 columns"),
    (WIDE | {"X_indices": np.array([-1])}, "a CSR matrix, got indices from -1 to -1 for 2 columns"),
    (WIDE | {"X_indices": np.array([2**64 - 1], "u8")}, "a CSR matrix, got indices from 18446744073709551615 to"),
    (WIDE | {"X_indices": np.array([1.0])}, r"a CSR matrix, got indices of type float64 and shape \(1,\)"),
    (WIDE | {"X_indices": np.array(1)}, r"a CSR matrix, got indices of type int64 and shape \(\)"),
    (WIDE | {"X_data": np.array(["a"])}, r"a CSR matrix, got data of type <U1 and shape \(1,\)"),
    (WIDE | {"X_data": np.ones(2)}, "a CSR matrix, got 2 data, 1 indices and 3 in indptr for 2 rows"),
    (WIDE | {"X_indptr": np.array([0, 1])}, "a CSR matrix, got 1 data, 1 indices and 2 in indptr for 2 rows"),
    (WIDE | {"X_indptr": np.array([0, 2, 1])}, "a CSR matrix, got an indptr that does not rise from 0 to 1"),
    (WIDE | {"X_indptr": np.array([0, 2**63, 1], "u8")}, "a CSR matrix, got an indptr that does not rise from 0"),
    (WIDE | {"X_indptr": np.array([0, 1, 2])}, "a CSR matrix, got an indptr that does not rise from 0 to 1"),
    (WIDE | {"X_shape": np.array([2.5, 2])}, "a CSR matrix, got shape of type float64"),
    (WIDE | {"X_shape": np.array([2, -2])}, r"a CSR matrix, got the shape \[2, -2\]"),
    (WIDE | {"X_shape": np.array([2, 2**63], "u8")}, r"a CSR matrix, got the shape \[2, 9223372036854775808\]"),
    (WIDE | {"X_shape": np.array([2, 2, 2])}, r"a CSR matrix, got the shape \[2, 2, 2\]"),
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


def test_a_million_columns_of_a_small_file(tmp_path):
    """Columns without names take no memory; labels do, so they need names."""
    shape = np.array([2, 1_000_000])
    np.savez(tmp_path / "wide.npz", Y=np.eye(2), **CSR | {"X_shape": shape})
    read = read_npz(tmp_path / "wide.npz")
    assert read.X.shape == (2, 1_000_000)
    assert read.feature_names[-1] == "999999"
    write_npz(tmp_path / "again.npz", read)
    assert (tmp_path / "again.npz").stat().st_size < 4000
    assert [block.X.toarray().tolist() for block in open_rows(tmp_path / "wide.npz", ("7", "1"))] == [[[0, 1], [0, 0]]]
    with pytest.raises(ValueError, match=r"got none for 'kg'\. Hint: its features are named by their numbers, from 0"):
        open_rows(tmp_path / "wide.npz", ("kg",))
    of_labels = {name.replace("X", "Y"): array for name, array in CSR.items()} | {"Y_shape": np.array([2, 10**9])}
    np.savez(tmp_path / "labels.npz", X=np.eye(2), **of_labels)
    with pytest.raises(ValueError, match=r"Y must have at most 4194304 labels without names, got 1000000000\. Hint"):
        read_npz(tmp_path / "labels.npz")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_integers_that_would_be_rounded(tmp_path, container):
    """They are refused, with the name of the array; those that float64 stores are read."""
    path = tmp_path / "ids.npz"
    for number, is_exact in ((2**60, True), (2**60 + 1, False), (-(2**53) - 1, False)):
        X, Y = container(np.array([[number], [1]])), np.array([[0], [1]])
        parts = (
            {"X": X} if container is np.asarray else {f"X_{a}": getattr(X, a) for a in ("data", "indices", "indptr")}
        )
        np.savez(path, Y=Y, **parts, **({} if "X" in parts else {"X_shape": X.shape}))
        if is_exact:
            assert read_npz(path).X[[0]].sum() == number
        else:
            with pytest.raises(
                ValueError, match=rf"ids\.npz: X\w* must contain numbers that float64 .* integer {number}"
            ):
                read_npz(path)
