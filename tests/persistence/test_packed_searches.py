"""Large exact searches are saved with their packed panels: loading need not pack, maps the file and trusts nothing."""

import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from nearlabel.files.mapped_members import read_arrays, write_arrays
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, kernel_level, kernel_levels
from nearlabel.neighbors.exact._kernel_search import PackedPanels
from nearlabel.persistence import load_model, save_model, update_model, verify
from nearlabel.persistence._searches import PACKED_FROM
from nearlabel.utils.validation import is_mapped

LEVELS = [level for level in kernel_levels() if level != "off"]
pytestmark = pytest.mark.skipif(not LEVELS, reason="there are no kernels")


@pytest.fixture(autouse=True)
def packed_from_one(monkeypatch):
    """Every search is large."""
    monkeypatch.setattr("nearlabel.persistence._searches.PACKED_FROM", 1)


def rows_of(kind, n=9_000, d=19):
    """Return rows of several panels."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)).astype(np.float32)
    if kind == "clusters":  # panels with centres of their own
        X += 100 * rng.integers(0, 5, (n, 1)) * rng.standard_normal((1, d)).astype(np.float32)
    if kind == "whole":
        X = np.rint(3 * X)
    if kind == "duplicates":
        X[n // 3 :] = X[rng.integers(0, n // 3, n - n // 3)]
    if kind == "blank":
        X[::7] = 0
    if kind == "huge":
        X = X.astype(np.float64) * 1e100
    if kind == "tiny":
        X = X.astype(np.float64) * 1e-100
    return X


def no_packing(*_):
    """Fail where rows are packed."""
    raise AssertionError("a panel was packed")


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("kind", ["plain", "clusters", "whole", "duplicates", "blank", "huge", "tiny"])
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("mmap_mode", ["r", None])
def test_the_loaded_search_has_the_bits_without_packing(tmp_path, monkeypatch, kind, metric, level, mmap_mode):
    """Of queries and of all rows, at every level."""
    X = rows_of(kind)
    with kernel_level(level):
        search = ExactNeighbors(metric).fit(X)
        path = save_model(search, tmp_path / "model.skops")
        monkeypatch.setattr(PackedPanels, "_make", no_packing)
        loaded = load_model(path, mmap_mode=mmap_mode)
        assert is_mapped(loaded._segments[0].rows) == (mmap_mode == "r")
        for queries, k in ((X[:300] + X[5:305] / 16, 7), (X[:3], 3), (None, 5)):
            for found, wanted in zip(loaded.kneighbors(queries, k), search.kneighbors(queries, k), strict=True):
                assert_array_equal(found, wanted)
    assert_array_equal(loaded.take(np.arange(len(X))), X)


@pytest.mark.parametrize("level", [*kernel_levels(), "off"])
def test_another_level_packs_again(tmp_path, level):
    """Where the format of the file is not that of the kernels in use, and without kernels."""
    X = rows_of("duplicates", n=2_000)
    with kernel_level(LEVELS[0]):
        search = ExactNeighbors().fit(X)
        path = save_model(search, tmp_path / "model.skops")
    with kernel_level(level):
        loaded = load_model(path, mmap_mode="r")
        assert_array_equal(loaded.kneighbors(X[:50], 9)[1], search.kneighbors(X[:50], 9)[1])
        assert loaded.n_samples_fit_ == len(X)


def labels_of(X):
    """Return labels of rows."""
    return (X[:, :3] > 0).astype(int)


def test_a_mapped_model_changes_as_another_one(tmp_path):
    """Samples are added and removed, in memory and in the file, which then has no byte of a removed one."""
    X = rows_of("plain", n=3_000)
    new, gone = X[:200] + np.float32(0.125), np.arange(5, 2_000, 3)
    path = save_model(MLkNN().fit(X, labels_of(X)), tmp_path / "model.skops", keep={"id": list(range(len(X)))})
    model = load_model(path, mmap_mode="r").partial_fit(new, labels_of(new)).forget(gone)
    left = np.delete(np.vstack([X, new]), gone, axis=0)
    wanted = MLkNN().fit(left, labels_of(left)).predict_proba(X)
    assert_array_equal(model.predict_proba(X), wanted)
    update_model(path, new, labels_of(new), keep={"id": [f"new {i}" for i in range(len(new))]})
    save_model(load_model(path, mmap_mode="r").forget(gone), path)
    assert_array_equal(load_model(path, mmap_mode="r").predict_proba(X), wanted)
    content = path.read_bytes()
    assert X[4].tobytes() in content
    assert not any(X[i].tobytes() in content for i in gone)


def test_arrays_are_aligned_and_checked_by_verify(tmp_path):
    """As the kernels like them; and a later damage is found."""
    X = rows_of("blank", n=2_000)
    path = save_model(BRkNN(search=ExactNeighbors("cosine")).fit(X, labels_of(X)), tmp_path / "model.skops")
    with path.open("rb") as file, zipfile.ZipFile(file) as archive:
        arrays = read_arrays(file, archive, "search-1", mapped=True)
        assert {"rows", "packed", "numbers"} <= set(arrays)
        assert all(array.ctypes.data % 64 == 0 and is_mapped(array) for array in arrays.values())
        place = path.read_bytes().index(X[1].tobytes())
    assert verify(path).is_sound
    damaged = bytearray(path.read_bytes())
    damaged[place] ^= 4
    path.write_bytes(damaged)
    assert not verify(path).is_sound
    for mmap_mode in ("r", None):
        with pytest.raises(ValueError, match=r"damaged one: search-1/rows\.npy must have its checksum"):
            load_model(path, mmap_mode=mmap_mode)


def test_small_compressed_and_sparse_searches_are_saved_by_their_samples(tmp_path, monkeypatch):
    """As are trees, and searches without samples."""
    X = rows_of("plain", n=1_500)
    model = ExactNeighbors().fit(X)
    saved = [save_model(model, tmp_path / "compressed", compress=True)]
    saved.append(save_model(ExactNeighbors().fit(X[:, :3]), tmp_path / "tree"))
    saved.append(save_model(ExactNeighbors("manhattan").fit(X), tmp_path / "other"))
    monkeypatch.undo()
    assert X.size < PACKED_FROM
    saved.append(save_model(model, tmp_path / "small"))
    for path in saved:
        with zipfile.ZipFile(path) as archive:
            assert not [name for name in archive.namelist() if name.startswith("search-")]
        assert load_model(path, mmap_mode="r").n_samples_fit_ == 1_500


def test_the_mode_of_mapping():
    """Only reading."""
    with pytest.raises(ValueError, match="mmap_mode must be None or 'r', got 'r\\+'"):
        load_model("model.skops", mmap_mode="r+")


def changed(name, place, value):
    """Return a function that changes a value of an array."""

    def change(arrays):
        arrays[name] = arrays[name].copy()
        arrays[name].reshape(-1)[place] = value

    return change


def without(name):
    """Return a function that removes an array."""
    return lambda arrays: arrays.pop(name)


def replaced(name, change):
    """Return a function that replaces an array."""
    return lambda arrays: arrays.update({name: change(arrays[name])})


FORGED = {
    "a number of no row": changed("numbers", 17, 2_000),
    "a number below zero": changed("numbers", 17, -1),
    "a number twice": lambda arrays: changed("numbers", 17, arrays["numbers"][3])(arrays),
    "wide numbers": replaced("numbers", lambda of: of.astype(np.int64)),
    "an endless panel": changed("sizes", 0, 2**40),
    "an empty panel": changed("sizes", 0, 0),
    "no panels": replaced("sizes", lambda of: of[:0]),
    "a longer panel": lambda arrays: changed("sizes", 0, arrays["sizes"][0] + 1)(arrays),
    "no square": changed("squares", 5, np.nan),
    "a square below zero": changed("squares", 5, -1),
    "an infinite norm": changed("norms", 5, np.inf),
    "an infinite rest": changed("rests", 5, np.inf),
    "no unit": changed("units", 5, np.nan),
    "fewer units": replaced("units", lambda of: of[:-1]),
    "fewer points": replaced("packed", lambda of: of[:-64]),
    "a centre of fewer features": replaced("centre", lambda of: of[:-1]),
    "centres of fewer panels": replaced("centres", lambda of: of[:-1]),
    "a middle that is no number": changed("middles", 3, np.nan),
    "a strange flag": changed("shares_centre", 0, 7),
    "no format": without("format"),
    "no rows": without("rows"),
    "no numbers": without("numbers"),
    "a row that is no number": changed("rows", 3, np.nan),
    "rows of whole numbers": replaced("rows", lambda of: of.astype(np.int32)),
    "fewer features": replaced("rows", lambda of: of[:, :-1]),
    "no matrix": replaced("rows", lambda of: of[0]),
    "a group of no row": changed("group_of", 9, 2_000),
    "a first row of another group": changed("first", 9, 0),
    "no first rows": replaced("first", lambda of: of[:0]),
    "groups without rows": without("group_of"),
    "a scale out of bounds": changed("layout", 0, 2**40),
}


@pytest.mark.parametrize("fault", FORGED)
@pytest.mark.parametrize("mmap_mode", ["r", None])
def test_forged_arrays_are_refused(tmp_path, fault, mmap_mode):
    """With right checksums: nothing that they say reaches a kernel."""
    X = rows_of("duplicates", n=2_000)
    path = save_model(ExactNeighbors().fit(X), tmp_path / "model.skops")
    forged = tmp_path / "forged.skops"
    with path.open("rb") as file, zipfile.ZipFile(file) as archive, zipfile.ZipFile(forged, "w") as new:
        for name in archive.namelist():
            if not name.startswith("search-"):
                new.writestr(name, archive.read(name))
        arrays = read_arrays(file, archive, "search-1", mapped=False)
        FORGED[fault](arrays)
        write_arrays(new, "search-1", arrays)
    with pytest.raises(ValueError, match="must be the file of a model, got a damaged one"):
        load_model(forged, mmap_mode=mmap_mode)


def test_packed_members_are_refused(tmp_path):
    """An array that is not stored as it is, that is cut off, or that is no array."""
    path = save_model(ExactNeighbors().fit(rows_of("plain", n=1_500)), tmp_path / "model.skops")
    forged = tmp_path / "forged.skops"
    for content, kind in ((None, zipfile.ZIP_DEFLATED), (b"no array", zipfile.ZIP_STORED), (b"", zipfile.ZIP_STORED)):
        with zipfile.ZipFile(path) as archive, zipfile.ZipFile(forged, "w") as new:
            for name in archive.namelist():
                is_it = name == "search-1/units.npy"
                wanted = content if is_it and content is not None else archive.read(name)
                new.writestr(name, wanted, kind if is_it else None)
        with pytest.raises(ValueError, match=r"got a damaged one: search-1/units\.npy must"):
            load_model(forged)
