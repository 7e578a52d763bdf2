"""Rows for prediction, block by block."""

import gzip
import tracemalloc
from contextlib import contextmanager

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from nearlabel.datasets import Dataset, _lines, _parquet_file, load_dataset, open_rows, write_npz

N = 500
FORMATS = ["arff", "sparse.arff", "csv", "csv.gz", "npz", "parquet", "svm"]


@pytest.fixture
def data():
    """Rows of which a third is zeros, named by numbers as svmlight does, and two labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 6)) * (rng.random((N, 6)) < 0.7) + 0.0  # no zero is negative
    return Dataset(X, (rng.random((N, 2)) < 0.5).astype(int), tuple("012345"), ("y0", "y1"), "toy")


def write_file(folder, data, suffix):
    """Write the data set, and behind its features a column of row numbers called "id", in a format."""
    path = folder / f"toy.{suffix}"
    rows = list(zip(data.X.tolist(), data.Y.tolist(), strict=True))
    if suffix == "npz":
        return write_npz(path, data)
    if suffix == "parquet":
        columns = dict(zip(data.feature_names, data.X.T, strict=True)) | {"id": [f"row{i}" for i in range(N)]}
        parquet.write_table(pa.table(columns), path, row_group_size=77)
    elif suffix == "svm":
        path.write_text("".join(
            ",".join(str(j) for j in range(2) if y[j]) + "".join(f" {j}:{v!r}" for j, v in enumerate(x) if v) + " \n"
            for x, y in rows
        ))  # fmt: skip
    elif suffix.startswith("csv"):
        lines = [",".join(["id", *data.feature_names, *data.label_names])]
        lines += [",".join([f"row{i}", *map(repr, x), *map(str, y)]) for i, (x, y) in enumerate(rows)]
        content = "\n".join(lines).encode()
        path.write_bytes(gzip.compress(content) if suffix.endswith("gz") else content)
    else:
        path.write_text(arff(rows, sparse=suffix.startswith("sparse")))
    return path


def arff(rows, *, sparse):
    """The rows as ARFF without labels, a numeric id last."""
    head = "".join(f"@attribute {j} numeric\n" for j in range(6))
    head = f"@relation toy\n{head}@attribute id numeric\n@attribute colour {{red,blue}}\n@data\n"
    lines = []
    for i, (x, _) in enumerate(rows):
        cells = [*map(repr, x), str(i), ["red", "blue"][i % 2]]
        pairs = ",".join(f"{j} {cell}" for j, cell in enumerate(cells) if cell not in ("0.0", "0", "red"))
        lines.append(f"{{{pairs}}}" if sparse else ",".join(cells))
    return head + "\n".join(lines) + "\n"


def stacked(blocks):
    """The rows of all blocks, dense."""
    return np.vstack([block.X.toarray() if sparse.issparse(block.X) else block.X for block in blocks])


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("block_rows", [1, 7, 100, 499, 500, 10_000])
def test_every_format(tmp_path, monkeypatch, data, suffix, block_rows):
    """Blocks have the rows asked for, in order, bit for bit; twice the same; shares grow to 1."""
    monkeypatch.setattr(_lines, "BLOCK_BYTES", 3000)
    monkeypatch.setattr(_parquet_file, "_LEAST_ROWS", 60)
    monkeypatch.setattr(_parquet_file, "_MOST_ROWS", 60)
    path = write_file(tmp_path, data, suffix)
    rows = open_rows(path, ["4", "0", "2"], block_rows=block_rows)
    blocks = list(rows)
    assert [block.X.shape[0] for block in blocks] == [min(block_rows, N - i) for i in range(0, N, block_rows)]
    assert stacked(blocks).tobytes() == data.X[:, [4, 0, 2]].tobytes()
    assert all(sparse.issparse(block.X) == (suffix in ("svm", "sparse.arff")) for block in blocks)
    shares = [block.share_done for block in blocks]
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1, abs=0.01)
    assert rows.n_rows == (N if suffix in ("npz", "parquet") else None)
    np.testing.assert_array_equal(stacked(rows), stacked(blocks))


@pytest.mark.parametrize("suffix", FORMATS)
def test_bytes_of_a_block(tmp_path, data, suffix):
    """No block takes more than the budget, but for one row; nearly all are as full as they can be."""
    path = write_file(tmp_path, data, suffix)
    for budget in (1, 1000, 10**9):
        blocks = list(open_rows(path, data.feature_names, block_bytes=budget))
        sizes = [12 * b.X.nnz if sparse.issparse(b.X) else b.X.nbytes for b in blocks]
        assert stacked(blocks).shape == (N, 6)
        assert all(size <= budget or block.X.shape[0] == 1 for size, block in zip(sizes, blocks, strict=True))
        assert all(size > budget - 12 * 6 for size in sizes[:-1])


def test_rows_as_load_dataset_gives_them(data_folder):
    """On a real file the blocks are the X of the reader."""
    for name in ("emotions/emotions.arff", "medical/medical.arff"):
        path = next(iter(data_folder.rglob(f"{name}*")), None)
        if path is None:
            pytest.skip(f"{name} is not there")
        whole = load_dataset(path)
        X = stacked(open_rows(path, whole.feature_names, block_rows=100))
        np.testing.assert_array_equal(X, whole.X.toarray() if sparse.issparse(whole.X) else whole.X)


@pytest.mark.parametrize(("suffix", "column", "expected"), [
    ("csv", "id", "row{}"), ("csv.gz", "id", "row{}"), ("parquet", "id", "row{}"), ("arff", "id", None),
    ("sparse.arff", "id", None),
])  # fmt: skip
def test_ids(tmp_path, data, suffix, column, expected):
    """A column is handed along with its rows, text as text, whole numbers as such."""
    rows = open_rows(write_file(tmp_path, data, suffix), ["1"], id_column=column, block_rows=64)
    ids = np.concatenate([block.ids for block in rows])
    assert ids.tolist() == [expected.format(i) if expected else i for i in range(N)]
    assert next(iter(open_rows(write_file(tmp_path, data, suffix), ["1"]))).ids is None


def test_ids_of_other_kinds(tmp_path, data):
    """A nominal attribute gives the words, an array of a .npz file its values, a feature may be the id too."""
    path = write_file(tmp_path, data, "sparse.arff")
    assert next(iter(open_rows(path, ["1"], id_column="colour"))).ids[:3].tolist() == ["red", "blue", "red"]
    np.savez(tmp_path / "ids.npz", X=data.X, key=np.arange(N))
    (block,) = open_rows(tmp_path / "ids.npz", ["1"], id_column="key")
    assert block.ids.tolist() == list(range(N))
    path = write_file(tmp_path, data, "csv")
    (block,) = open_rows(path, ["1"], id_column="1")
    assert [float(text) for text in block.ids] == block.X.ravel().tolist()


def test_index_of_pandas_is_an_id(tmp_path):
    """The column that is no feature can be asked for by its name."""
    import pandas as pd

    frame = pd.DataFrame({"x": [1.0, 2.0], "y": [0, 1]}, index=pd.Index(["a", "b"], name="key"))
    frame.to_parquet(tmp_path / "toy.parquet")
    assert load_dataset(tmp_path / "toy.parquet", labels=["y"]).feature_names == ("x",)
    (block,) = open_rows(tmp_path / "toy.parquet", ["x"], id_column="key")
    assert block.ids.tolist() == ["a", "b"]


def test_elements_of_lists(tmp_path):
    """Features of an embedding are found by column and number, mixed with others; a name in brackets comes first."""
    lists = pa.array([[1, 2, 3], None, [7, 8, 9]], pa.list_(pa.float32()))
    columns = {"e": lists, "x": [0, 1, 2], "e[1]": [5, 5, 5]}
    parquet.write_table(pa.table(columns), tmp_path / "toy.parquet")
    (block,) = open_rows(tmp_path / "toy.parquet", ["e[2]", "x", "e[0]", "e[1]"])
    np.testing.assert_array_equal(block.X, [[3, 0, 1, 5], [np.nan, 1, np.nan, 5], [9, 2, 7, 5]])
    with pytest.raises(ValueError, match=r"column 'e' of .* must contain 4 numbers, got 3"):
        open_rows(tmp_path / "toy.parquet", ["e[3]"])
    with pytest.raises(
        ValueError, match=r"must have a column for every feature, got none for 'x\[0\]'\. Hint: the col"
    ):
        open_rows(tmp_path / "toy.parquet", ["x[0]"])


def test_no_label_is_needed(write):
    """Files without labels, or with labels of unknown kind, are read."""
    (block,) = open_rows(write("a.csv", "name,x,tags\nTom,1,\nRex,2,a;b\n"), ["x"])
    assert block.X.tolist() == [[1], [2]]
    (block,) = open_rows(write("a.svm", "0:1 2:5\n7 1:2 9:1\n"), ["0", "1", "2"])
    assert block.X.toarray().tolist() == [[1, 0, 5], [0, 2, 0]]


@pytest.mark.parametrize("suffix", [s for s in FORMATS if s != "svm"])
def test_missing_feature(tmp_path, data, suffix):
    """The first is named, with how many others and what is near."""
    path = write_file(tmp_path, data, suffix)
    with pytest.raises(ValueError, match=r"a column for every feature, got none for 'width', '[^',]+'\."):
        open_rows(path, ["1", "width", "6"])
    with pytest.raises(ValueError, match=r"id_column must name .*'key'"):
        open_rows(path, ["1"], id_column="key")


@pytest.mark.parametrize(("name", "text", "arguments", "message"), [
    ("a.svm", "0 1:2\n", {"feature_names": ["width"]}, "must have features that are named by their indices, got"),
    ("a.svm", "0 1:2\n", {"id_column": "key"}, "id_column must be None .* got 'key': a svmlight file has no columns"),
    ("a.csv", "0\nx\n", {}, r"line 2: column '0' must contain numbers, got 'x'\.$"),
    ("a.csv", "0\n", {}, "must contain at least one row, got none"),
    ("a.arff", "@relation a\n@attribute 0 numeric\n@data\n", {}, "must contain at least one row behind @data"),
    ("a.arff", "@relation a\n@attribute 0 numeric\n@attribute 0 numeric\n@data\n1,2\n", {}, "several of the name '0'"),
    ("a.svm", "# nothing\n", {}, "must contain at least one row, got none"),
    ("a.csv", "0\n1\n", {"feature_names": ["0", "0"]}, "feature_names must be distinct, got '0' twice"),
    ("a.csv", "0\n1\n", {"block_rows": 0}, "block_rows must be at least 1, got 0"),
    ("a.csv", "0\n1\n", {"block_bytes": 0}, "block_bytes must be at least 1, got 0"),
    ("a.doc", "0\n1\n", {}, r"must end in one of \.arff"),
])  # fmt: skip
def test_bad_input(write, name, text, arguments, message):
    """Each mistake is told, at the latest when the rows are read."""
    with pytest.raises(ValueError, match=message):
        list(open_rows(write(name, text), **{"feature_names": ["0"], **arguments}))


@pytest.mark.parametrize("names", ["abc", [], [1, 2]])
def test_bad_feature_names(write, names):
    """Names are a sequence of texts."""
    with pytest.raises(TypeError, match="feature_names must be a sequence of at least one text"):
        open_rows(write("a.csv", "0\n1\n"), names)


def test_bad_parquet_columns(tmp_path):
    """Text is no feature, and lists are no ids."""
    parquet.write_table(pa.table({"s": ["1"], "x": [1], "e": [[1, 2]]}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"column 's' of .* must contain numbers, got type string"):
        open_rows(tmp_path / "a.parquet", ["s"])
    with pytest.raises(ValueError, match=r"id_column must have one id in a cell of .*, got 'e' of type list"):
        open_rows(tmp_path / "a.parquet", ["x"], id_column="e")


def test_missing_file(tmp_path):
    """It is told when the rows are opened, whatever the format."""
    for suffix in FORMATS:
        with pytest.raises(FileNotFoundError):
            open_rows(tmp_path / f"none.{suffix}", ["0"])


def test_a_loop_may_end_early(tmp_path, data):
    """Leaving the loop closes the file; the next loop begins anew."""
    rows = open_rows(write_file(tmp_path, data, "csv"), ["0"], block_rows=10)
    for _ in range(3):
        blocks = iter(rows)
        np.testing.assert_array_equal(next(blocks).X, data.X[:10, :1])
        blocks.close()


@contextmanager
def counted_memory():
    """Give a function that tells the peak of what Python, numpy and Arrow allocate."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)  # Python's own count does not see Arrow
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        yield lambda: tracemalloc.get_traced_memory()[1] + pool.max_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


@pytest.mark.parametrize(
    ("suffix", "limit"),
    [
        ("csv", 6),
        pytest.param("csv.gz", 6, marks=pytest.mark.long),
        ("arff", 12),
        pytest.param("svm", 7, marks=pytest.mark.long),
        ("parquet", 8),
        ("list.parquet", 12),
    ],
)
def test_memory_is_bounded(tmp_path, data, suffix, limit):
    """A file of many times the budget is read in a few MiB, whatever the format; the Parquet ones are one row group."""
    budget, times = 2**19, 50 * limit  # X is a little more than the limit, the file of text more than twice
    path = write_large(tmp_path, data, suffix, times)
    names = [f"e[{j}]" for j in range(6)] if suffix.startswith("list") else data.feature_names
    rows, total = 0, np.zeros(6)
    with counted_memory() as peak:
        for block in open_rows(path, names, block_bytes=budget):
            rows += block.X.shape[0]
            total += np.asarray(block.X.sum(axis=0)).ravel()
        assert peak() < limit * 2**20 < rows * 6 * 8
    assert rows == times * N
    np.testing.assert_allclose(total, times * data.X.sum(axis=0), rtol=1e-9)


def test_quotes_within_cells_hold_nothing(tmp_path):
    """A quote behind the separator of other files opens nothing that the rest of the file would be held for."""
    path = tmp_path / "toy.csv"
    path.write_text('note,x\n5;"x,1\n' + "plain text,2\n" * 600_000)
    with counted_memory() as peak:
        assert sum(block.X.shape[0] for block in open_rows(path, ["x"], block_bytes=2**19)) == 600_001
        assert peak() < 5 * 2**20 < path.stat().st_size


def write_large(folder, data, suffix, times):
    """Write the features many times over."""
    path = folder / f"toy.{suffix}"
    if suffix.endswith("parquet"):
        X = np.tile(data.X, (times, 1))
        columns = {"e": pa.array(list(data.X)).take(np.arange(len(X)) % N)} if suffix.startswith("list") else {}
        columns |= dict(zip(data.feature_names, X.T, strict=True))
        parquet.write_table(pa.table(columns), path, row_group_size=len(X), use_dictionary=False)
        return path
    head = {"csv": ",".join(data.feature_names), "svm": ""}.get(suffix.removesuffix(".gz"), "@relation toy")
    head += "".join(f"\n@attribute {j} numeric" for j in range(6)) + "\n@data" if suffix == "arff" else ""
    pair = " {}:{!r}".format if suffix == "svm" else "{1!r}".format
    lines = [("" if suffix == "svm" else ",").join(map(pair, range(6), x)) for x in data.X.tolist()]
    text = f"{head}\n".encode() + "".join(f"{line}\n" for line in lines).encode() * times
    path.write_bytes(gzip.compress(text, 1) if suffix.endswith("gz") else text)
    return path
