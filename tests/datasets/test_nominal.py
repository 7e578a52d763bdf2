"""Nominal attributes of ARFF: their columns, and the distances between them."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from conftest import long_after
from nearlabel.datasets import Dataset, load_dataset, open_rows, read_meka, read_npz, write_npz
from nearlabel.datasets import _lines as lines_module
from nearlabel.datasets._nominal import FeatureMatch
from nearlabel.preprocessing import MixedFeaturesEncoder

HEADER = (
    "@attribute y {0,1}\n@attribute n numeric\n@attribute f {YES, NO}\n"
    "@attribute 'the colour' {red,'dark blue',\"it's\"}\n"
    "@attribute g {1,0}\n@attribute two {left,right}\n@attribute z {0,1}"
)
VALUES = {2: ["YES", "NO"], 3: ["red", "dark blue", "it's"], 4: ["1", "0"], 5: ["left", "right"], 6: ["0", "1"]}
NAMES = (
    "n", "f", "the colour=red", "the colour=dark blue", "the colour=it's", "the colour=red (again)",
    "the colour=dark blue (again)", "the colour=it's (again)", "g", "two=left", "two=right", "two=left (again)",
    "two=right (again)", "z",
)  # fmt: skip
KINDS = ("number", "flag", *["category"] * 6, "flag", *["category"] * 4, "flag")


def dense(X):
    """Either kind of matrix as an array."""
    return X.toarray() if sparse.issparse(X) else X


@pytest.fixture
def table():
    """Codes (60, 7): a label, a number, and five nominal attributes."""
    rng = np.random.default_rng(0)
    return np.column_stack(
        [rng.integers(0, 2, 60), rng.integers(0, 4, 60), *(rng.integers(0, len(v), 60) for v in VALUES.values())]
    )


def written(codes, storage, missing=()):
    """The table as rows of ARFF; cells (row, column) are missing."""
    lines = []
    for row, cells in enumerate(codes.tolist()):
        texts = [f'"{VALUES[at][code]}"' if at in VALUES else str(code) for at, code in enumerate(cells)]
        texts = ["?" if (row, at) in missing else text for at, text in enumerate(texts)]
        kept = [f"{at} {text}" for at, text in enumerate(texts) if cells[at] or text == "?"]
        lines.append("{" + ",".join(kept) + "}" if storage == "sparse" else ",".join(texts))
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("storage", ["dense", "sparse"])
@pytest.mark.parametrize("block_bytes", [100, 2**19])
def test_distances_are_those_of_overlap(write_meka, monkeypatch, table, storage, block_bytes):
    """The squared distance counts the attributes that differ, to the last bit, and adds that of the number."""
    monkeypatch.setattr(lines_module, "BLOCK_BYTES", block_bytes)
    data = read_meka(write_meka(HEADER, written(table, storage)))
    assert (data.feature_names, data.feature_kinds) == (NAMES, KINDS)
    assert sparse.issparse(data.X) == (storage == "sparse")
    X = dense(data.X)
    expected = np.array([[np.sum(a[2:] != b[2:]) + (a[1] - b[1]) ** 2 for b in table] for a in table])
    np.testing.assert_array_equal(cdist(X, X, "sqeuclidean"), expected)
    np.testing.assert_array_equal(dense(data.Y).ravel(), table[:, 0])


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_yes_is_one(write_meka, table, storage):
    """Of two values that say yes and no, yes is 1, whichever is declared first."""
    X = dense(read_meka(write_meka(HEADER, written(table, storage))).X)
    np.testing.assert_array_equal(X[:, NAMES.index("f")], table[:, 2] == 0)
    np.testing.assert_array_equal(X[:, NAMES.index("g")], table[:, 4] == 0)
    np.testing.assert_array_equal(X[:, NAMES.index("z")], table[:, 6])


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_missing_is_nan_in_all_columns(write_meka, table, storage):
    """A question mark leaves the other attributes as they are; a sparse matrix stays canonical."""
    missing = {(0, 3), (0, 5), (7, 2), (9, 1), (12, 6)}
    whole, holes = (read_meka(write_meka(HEADER, written(table, storage, m))) for m in ((), missing))
    expected = dense(whole.X).copy()
    expected[0, [*range(2, 8), *range(9, 13)]] = expected[7, 1] = expected[9, 0] = expected[12, 13] = np.nan
    np.testing.assert_array_equal(dense(holes.X), expected)
    if storage == "sparse":
        assert holes.X.has_canonical_format
        assert (holes.X.data != 0).all()


def test_codes_with_the_encoder_are_heom(write_meka, table):
    """Codes, and the encoder told by the kinds which columns they are, count a missing category as different."""
    path = write_meka(HEADER, written(table, "dense", {(0, 3), (1, 3)}))
    data = read_meka(path, nominal="codes")
    codes = [at for at, kind in enumerate(data.feature_kinds) if kind == "code"]
    assert codes == [1, 2, 3, 4, 5]
    encoded = dense(MixedFeaturesEncoder(categorical=codes).fit_transform(data.X))
    differ = (table[:2, None, 2:] != table[None, 2:, 2:]) | (np.arange(5) == 1)
    numbers = (table[:2, None, 1] - table[None, 2:, 1]) / 3
    np.testing.assert_allclose(
        cdist(encoded[:2], encoded[2:], "sqeuclidean"), differ.sum(axis=2) + numbers**2, rtol=1e-12
    )


@pytest.mark.parametrize("nominal", ["overlap", "codes"])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_blocks_have_the_columns_of_the_reader(write_meka, table, storage, nominal):
    """All features, and some in another order, are those of the whole file, bit for bit."""
    path = write_meka(HEADER, written(table, storage, {(3, 3), (4, 2)}))
    whole = load_dataset(path, nominal=nominal)
    some = [1, 4, 0, 3, 2, 7, 5, 6] if nominal == "overlap" else [2, 0, 4]  # of a category, all columns
    for columns in (np.arange(len(whole.feature_names)), np.array(some)):
        wanted = [whole.feature_names[column] for column in columns]
        rows = open_rows(path, wanted, block_rows=7, nominal=nominal, id_column="the colour")
        blocks = list(rows)
        assert all(sparse.issparse(block.X) == (storage == "sparse") for block in blocks)
        np.testing.assert_array_equal(np.vstack([dense(block.X) for block in blocks]), dense(whole.X)[:, columns])
        ids = np.concatenate([block.ids for block in blocks])
        assert ids.tolist() == [None if row == 3 else VALUES[3][code] for row, code in enumerate(table[:, 3])]


@pytest.mark.parametrize(("first", "second"), [("{red,blue,green}", "{green,red}"), ("{a,b,c}", "{c,a,b}")])
@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_other_declarations_of_the_same_values(write_meka, first, second, storage):
    """A category is found by its name, whatever its place; one that the second file lacks is in no row of it."""
    words = second.strip("{}").split(",")
    rows = [f"{{1 {word}}}" if storage == "sparse" else f"0,{word}" for word in [*words, "?"]]
    wanted = read_meka(write_meka(f"@attribute y {{0,1}}\n@attribute a {first}", rows[-1])).feature_names
    path = write_meka(f"@attribute y {{0,1}}\n@attribute a {second}", "\n".join(rows))
    expected = [[0.5 * (name.split("=")[1].split(" ")[0] == word) for name in wanted] for word in words]
    expected.append([np.nan] * len(wanted))
    (block,) = open_rows(path, wanted)
    np.testing.assert_array_equal(dense(block.X), expected)


def test_an_unknown_category_is_refused(write_meka):
    """A row with it would be near to all; a file that only declares it is read."""
    wanted = ["a=red", "a=red (again)", "a=blue", "a=blue (again)"]
    head = "@attribute y {0,1}\n@attribute a {red,violet,blue}"
    (block,) = open_rows(write_meka(head, "0,blue\n0,red\n"), wanted)
    assert block.X.tolist() == [[0, 0, 0.5, 0.5], [0.5, 0.5, 0, 0]]
    with pytest.raises(ValueError, match=r"toy\.arff must contain categories that the model knows, got 'a=violet'\."):
        list(open_rows(write_meka(head, "0,blue\n0,violet\n"), wanted))
    with pytest.raises(ValueError, match="must have a column for every feature, got none for 'b=red'"):
        open_rows(write_meka(head, "0,blue\n"), ["b=red", *wanted])


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
def test_a_match_of_nothing_but_lacking_columns(storage):
    """Columns that only look alike by their number are not taken for those of the model."""
    match = FeatureMatch("DATA", ["a=u", "a=u (again)"], ["category"] * 2, ["a=u", "a=v"])
    assert dense(match.take(storage([[0.0, 0.0], [np.nan, np.nan]])))[0].tolist() == [0, 0]
    with pytest.raises(ValueError, match="several of the name 'x'"):
        FeatureMatch("DATA", ["x", "x"], ["number"] * 2, ["x"])


@pytest.mark.parametrize("storage", ["dense", "sparse"])
def test_an_identifier_does_not_fill_the_memory(write_meka, storage):
    """An attribute of thousands of values gives CSR rows of two cells."""
    names = [f"p{i}" for i in range(3000)]
    rows = [f"{{1 {name}}}" if storage == "sparse" else f"0,{name}" for name in names]
    path = write_meka(f"@attribute y {{0,1}}\n@attribute a {{{','.join(names)}}}", "\n".join(rows))
    data = read_meka(path)
    assert (data.X.shape, data.X.nnz) == ((3000, 6000), 6000)
    (block,) = open_rows(path, data.feature_names)
    assert (block.X != data.X).nnz == 0


def test_kinds_are_kept(write_meka, tmp_path, table):
    """NPZ files keep them; a data set of numbers has no need to, and says number everywhere."""
    data = read_meka(write_meka(HEADER, written(table, "sparse")))
    assert read_npz(write_npz(tmp_path / "a.npz", data)).feature_kinds == KINDS
    numbers = Dataset(np.ones((2, 2)), np.eye(2, dtype=int), ("a", "b"), ("u", "v"), "toy")
    assert numbers.feature_kinds == ("number", "number")
    assert "feature_kinds" not in np.load(write_npz(tmp_path / "b.npz", numbers))
    kept = data.with_features(np.array([3, 0]))
    assert (kept.feature_names, kept.feature_kinds) == ((NAMES[3], NAMES[0]), ("category", "number"))


@pytest.mark.parametrize(
    ("kinds", "message"),
    [(("flag",), "must contain 2 kinds, got 1"), (("number", "colour"), "must be some of number, .*, got 'colour'")],
)
def test_bad_kinds(kinds, message):
    """Kinds are as many as features, each a known one."""
    with pytest.raises(ValueError, match=f"feature_kinds {message}"):
        Dataset(np.ones((2, 2)), np.eye(2, dtype=int), ("a", "b"), ("u", "v"), "toy", kinds)


def test_bad_option(write, write_meka):
    """The option must be one of two, and goes with ARFF only."""
    with pytest.raises(ValueError, match=r"nominal must be one of .*overlap.*, got 'hamming'"):
        read_meka(write_meka(HEADER, "{}"), nominal="hamming")
    for read in (load_dataset, lambda path, **options: open_rows(path, ["0"], **options)):
        with pytest.raises(ValueError, match=r"nominal must go with an ARFF file, got .*toy\.svm\."):
            read(write("toy.svm", "0 1:2\n"), nominal="codes")


@pytest.mark.parametrize("subset", long_after(1, ["test", "train"]))
def test_genbase(data_folder, subset):
    """The real file: YES is 1, and blocks are what the reader gives, but for the identifier."""
    path = next(iter(data_folder.rglob(f"genbase-{subset}.arff*")), None)
    if path is None:
        pytest.skip("genbase is not there")
    data = load_dataset(path)
    flags = np.flatnonzero(np.array(data.feature_kinds) == "flag")
    assert len(flags) == 1185
    X, old = dense(data.X)[:, flags], dense(load_dataset(path, nominal="codes").X)[:, 1:]
    np.testing.assert_array_equal(X, 1 - old)
    blocks = open_rows(path, [data.feature_names[column] for column in flags], block_rows=50)
    np.testing.assert_array_equal(np.vstack([dense(block.X) for block in blocks]), X)
