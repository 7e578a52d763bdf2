"""Labels that nobody knows, in files of every format: NaN in Y."""

import json
import re

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy import sparse

from nearlabel.datasets import (
    Dataset,
    _arff_parts,
    load_dataset,
    open_store,
    read_meka,
    read_mulan,
    read_npz,
    read_table,
    write_npz,
    write_store,
)

NAN = np.nan
CELLS = [(1.0, 1, None), (2.0, 0, 1), (3.0, None, 0)]  # x, a, b
EXPECTED = [[1, NAN], [0, 1], [NAN, 0]]
HEADER = "@relation 'toy: -C 2'\n@attribute a {}\n@attribute b {}\n@attribute x numeric\n@data\n"


def write_table(path, rows, names=("x", "a", "b")):
    """Write cells as the format that the suffix says; None is an empty cell or null."""
    if path.suffix == ".parquet":
        parquet.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    elif path.suffix == ".xlsx":
        book = openpyxl.Workbook()
        for row in [names, *rows]:
            book.worksheets[0].append(row)
        book.save(path)
    else:
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in [names, *rows]]
        path.write_text("\n".join(lines) + "\n")
    return path


def assert_labels(data, expected):
    """Label sets are float64 with NaN."""
    assert data.Y.dtype == np.float64
    np.testing.assert_array_equal(data.Y.toarray() if sparse.issparse(data.Y) else data.Y, expected)


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".jsonl", ".parquet"])
def test_a_missing_cell_of_a_table(tmp_path, suffix):
    """It is unknown in columns of numbers and of booleans; without one, labels are int64 as ever."""
    path = write_table(tmp_path / f"toy{suffix}", CELLS)
    assert_labels(read_table(path, labels=["a", "b"]), EXPECTED)
    path = write_table(tmp_path / f"flags{suffix}", [(x, a, None if b is None else bool(b)) for x, a, b in CELLS])
    assert_labels(read_table(path, labels=["b"]), [[NAN], [1], [0]])
    known = write_table(tmp_path / f"known{suffix}", [(1.0, 1, 0), (2.0, 0, 1)])
    assert read_table(known, labels=["a", "b"]).Y.dtype == np.int64


@pytest.mark.parametrize("suffix", [".csv", ".xlsx", ".jsonl", ".parquet"])
def test_a_text_for_unknown_in_a_table(tmp_path, suffix):
    """It stands beside yes and no, blanks and case apart; a number beside 0 and 1."""
    rows = [(1.0, "yes", 1), (2.0, " N/K ", -1), (3.0, "no", 0), (4.0, None, 0)]
    path = write_table(tmp_path / f"toy{suffix}", rows)
    assert_labels(read_table(path, labels=["a"], ignore=["b"], unknown="n/k"), [[1], [NAN], [0], [NAN]])
    assert_labels(read_table(path, labels=["b"], ignore=["a"], unknown="-1"), [[1], [NAN], [0], [0]])


@pytest.mark.parametrize("written", ["", "NA", "n/a", "NaN", "null", "None", " "])
def test_words_for_missing_in_csv(write, written):
    """What is a missing feature is an unknown label."""
    data = read_table(write("toy.csv", f"x,y\n1,1\n2,{written}\n3,0\n"), labels=["y"])
    assert_labels(data, [[1], [NAN], [0]])


def test_a_label_without_a_known_cell(write):
    """It stays, all NaN, beside labels that are known."""
    assert_labels(read_table(write("toy.csv", "x,y,z\n1,,1\n2,,0\n"), labels=["y", "z"]), [[NAN, 1], [NAN, 0]])


def test_large_sparse_labels_keep_unknown_cells(write, monkeypatch):
    """They are stored NaN."""
    monkeypatch.setattr("nearlabel.utils.tags.BLOCK_BYTES", 1)
    zeros = ",0" * 30
    names = ",".join(f"y{number}" for number in range(31))
    data = read_table(write("toy.csv", f"x,{names}\n1,1{zeros}\n2,{zeros}\n"), labels_prefix="y")
    assert sparse.issparse(data.Y)
    assert np.isnan(data.Y.data).tolist() == [False, True]
    assert data.Y.indices.tolist() == [0, 0]


@pytest.mark.parametrize(("cell", "options", "expected"), [
    ("", {}, [0, 0, 0]),
    ("", {"unknown": ""}, [NAN, NAN, NAN]),
    ("?", {"unknown": "?"}, [NAN, NAN, NAN]),
    ("red; ?", {"unknown": "?"}, [NAN, NAN, 1]),
    ('"[""red"", ""?""]"', {"unknown": "?"}, [NAN, NAN, 1]),
])  # fmt: skip
def test_tags_in_csv(write, cell, options, expected):
    """An empty cell has no tags, unless that is what stands for unknown; beside a tag the others are unknown."""
    data = read_table(write("toy.csv", f"x,t\n1,red;blue\n2,{cell}\n3,green\n"), labels_column="t", **options)
    assert data.label_names == ("blue", "green", "red")
    np.testing.assert_array_equal(data.Y, [[1, 0, 1], expected, [0, 1, 0]])


@pytest.mark.parametrize("array", [
    pa.array([["red"], None, [], ["blue"]]),
    pa.array([["red"], None, [], ["blue"]], pa.large_list(pa.string())),
    pa.array(["red", None, "", "blue"]),
    pa.array(["red", None, "", "blue"]).dictionary_encode(),
])  # fmt: skip
def test_null_tags_of_parquet(tmp_path, array):
    """Null says that all labels of the row are unknown, an empty list or text that it has none."""
    parquet.write_table(pa.table({"x": [1, 2, 3, 4], "t": array}), tmp_path / "toy.parquet")
    assert_labels(read_table(tmp_path / "toy.parquet", labels_column="t"), [[0, 1], [NAN, NAN], [0, 0], [1, 0]])


def test_null_tags_of_json(tmp_path):
    """A name that a line lacks is null; numbers are tags, too."""
    path = tmp_path / "toy.jsonl"
    path.write_text('{"x": 1, "t": [3]}\n{"x": 2, "t": null}\n{"x": 3}\n{"x": 4, "t": []}\n{"x": 5, "t": [-1]}\n')
    assert_labels(read_table(path, labels_column="t", unknown="-1"), [[1], [NAN], [NAN], [0], [NAN]])


def test_fixed_lists_of_tags(tmp_path):
    """As Parquet has them; a null before a list moves no tag to another row."""
    tags = pa.array([None, [3, 5], None, [5, 7]], pa.list_(pa.int64(), 2))
    table = pa.table({"x": [1, 2, 3, 4], "t": tags})
    try:
        parquet.write_table(table, tmp_path / "toy.parquet")
        data = read_table(tmp_path / "toy.parquet", labels_column="t")
    except (ValueError, NotImplementedError, pa.ArrowException) as error:  # before pyarrow 26
        pytest.skip(str(error))
    assert_labels(data, [[NAN] * 3, [1, 1, 0], [NAN] * 3, [0, 1, 1]])


@pytest.mark.parametrize("declared", ["{0,1}", "{1,0}", "{NO,YES}", "{n/k,0,1}", "{true,n/k,false}", "numeric"])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_arff(write, declared, is_sparse):
    """A question mark, and the text for unknown, declared or not; both ways to write rows."""
    yes, no = {"{NO,YES}": ("YES", "NO"), "{true,n/k,false}": ("true", "false")}.get(declared, ("1", "0"))
    rows = [(yes, "?"), (no, yes), ("n/k", no)]
    row = "{{0 {},1 {},2 5}}\n" if is_sparse else "{},{},5\n"
    text = "".join(row.format(a, b) for a, b in rows)
    path = write("toy.arff", HEADER.replace("{}", declared) + text)
    if is_sparse and declared.startswith("{n/k"):
        with pytest.raises(ValueError, match="label 'a' must not be declared with 'n/k' for unknown first"):
            read_meka(path, unknown="n/k")
    else:
        assert_labels(load_dataset(path, unknown="n/k"), EXPECTED)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_minus_one_in_arff_is_read_at_once(write, write_xml, monkeypatch, is_sparse):
    """Numbers for unknown are no reason to read line by line; without the option -1 is refused."""
    rows = ["{0 1,1 -1,2 5}", "{1 1,2 5}", "{0 -1.0}"] if is_sparse else ["1,-1,5", "0,1,5", "-1.0,0,0"]
    path = write("toy.arff", HEADER.replace("{}", "numeric") + "\n".join(rows) + "\n")
    write_xml("toy.xml", "a", "b")
    with pytest.raises(ValueError, match=r"attribute 'b' must be one of \{0,1\}, got '-1'"):
        read_mulan(path)
    monkeypatch.setattr(_arff_parts.CellReader, "_slow_sparse", None)
    monkeypatch.setattr(_arff_parts.CellReader, "_slow_dense", None)
    assert_labels(read_mulan(path, unknown="-1"), EXPECTED)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_npz(tmp_path, container):
    """NaN is kept, stored ones of sparse label sets, too; a number may stand for it."""
    Y = container(np.array(EXPECTED))
    path = write_npz(tmp_path / "toy.npz", Dataset(np.ones((3, 1)), Y, ("x",), ("a", "b"), "toy"))
    assert_labels(read_npz(path), EXPECTED)
    minus = container(np.nan_to_num(np.array(EXPECTED), nan=-1).astype(np.int8))
    arrays = (
        {"Y": minus}
        if container is np.asarray
        else {f"Y_{part}": getattr(minus, part) for part in ("data", "indices", "indptr", "shape")}
    )
    np.savez(tmp_path / "minus.npz", X=np.ones((3, 1)), **arrays)
    with pytest.raises(ValueError, match=r"Y must contain 0, 1 and NaN only, got -1\. Hint: unknown='-1', if it mar"):
        load_dataset(tmp_path / "minus.npz")
    assert_labels(load_dataset(tmp_path / "minus.npz", unknown="-1"), EXPECTED)


@pytest.mark.parametrize(("name", "unknown", "message"), [
    ("toy.csv", "1.0", "unknown must be text that means neither 0 nor 1, got '1.0'"),
    ("toy.csv", "No", "unknown must be text that means neither 0 nor 1, got 'No'"),
    ("toy.arff", "0", "unknown must be text that means neither 0 nor 1, got '0'"),
    ("toy.npz", "?", "unknown must be a number for .*toy.npz, whose labels are numbers, got '?'"),
    ("toy.svm", "-1", "unknown must be None for .*toy.svm, whose rows list the labels that apply, got '-1'"),
])  # fmt: skip
def test_bad_texts(tmp_path, write, name, unknown, message):
    """What says 0 or 1 cannot stand for unknown; svmlight has no place for it."""
    write("toy.csv", "x,y\n1,1\n")
    write("toy.svm", "1 0:1\n")
    write("toy.arff", HEADER.replace("{}", "{0,1}") + "1,0,2\n")
    np.savez(tmp_path / "toy.npz", X=np.ones((1, 1)), Y=np.ones((1, 1)))
    options = {"labels": ["y"]} if name == "toy.csv" else {}
    with pytest.raises(ValueError, match=message):
        load_dataset(tmp_path / name, unknown=unknown, **options)
    with pytest.raises(TypeError, match=r"unknown must be text or None, got -1\. Hint: '-1'\."):
        read_table(tmp_path / "toy.csv", labels=["y"], unknown=-1)


def partial_data(container=np.asarray):
    """A data set with unknown cells."""
    return Dataset(np.eye(3), container(np.array(EXPECTED)), ("x", "y", "z"), ("a", "b"), "toy")


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_frames_and_back(container):
    """Unknown cells are NaN in columns of floats, and come back; subsets keep them."""
    data = partial_data(container)
    framed = data.with_frames()
    assert np.isnan(framed.Y["a"].iloc[2])
    assert_labels(framed.with_arrays(), EXPECTED)
    assert sparse.issparse(framed.with_arrays().Y) == sparse.issparse(data.Y)
    assert_labels(framed.with_features([2, 0]).with_arrays(), EXPECTED)
    for shown in (data, framed):
        assert re.search(r"unknown labels +2 \(33.33% of all cells\)", str(shown))
        assert re.search(r"unknown labels<.*>2 \(33.33% of all cells\)<", shown._repr_html_())


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "Float64", object])
def test_what_pandas_has_for_missing(dtype):
    """A frame of nullable columns has arrays with NaN."""
    frame = pd.DataFrame({"a": [1, 0, None], "b": [None, 1, 0]}).astype(dtype)
    data = Dataset(np.eye(3), frame, ("x", "y", "z"), ("a", "b"), "toy")
    assert_labels(data.with_arrays(), EXPECTED)
    assert re.search(r"unknown labels +2 \(33.33% of all cells\)", str(data))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("in_blocks", [False, True])
def test_stores_keep_unknown_cells(tmp_path, container, in_blocks):
    """Exactly, stored NaN of sparse label sets, too, whole or written block by block."""
    Y = container(np.array(EXPECTED))
    path = write_store(tmp_path / "labels", [Y[:2], Y[2:]] if in_blocks else Y)
    read = open_store(path)
    assert read.dtype == np.float64
    assert_labels(Dataset(np.eye(3), read, ("x", "y", "z"), ("a", "b"), "toy"), EXPECTED)
    assert not sparse.issparse(Y) or read.nnz == 4
