"""Tables in CSV and Parquet, with their labels chosen."""

import csv
import decimal
import gzip
import io
import re
import sys
import time
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from nearlabel.datasets import (
    Dataset,
    _csv_file,
    _lines,
    _parquet_file,
    load_dataset,
    load_multidigits,
    open_rows,
    read_table,
)

PETS = "kg,tag_cat,purrs,tag_dog\n3.5,1,true,0\n20,0,False,1\n,0,TRUE,0\n"


@pytest.fixture
def write_parquet(tmp_path):
    """Write columns as a Parquet file and return its path."""

    def _write(columns, name="toy.parquet", **options):
        parquet.write_table(pa.table(columns), tmp_path / name, **options)
        return tmp_path / name

    return _write


def as_csv(data):
    """The data set as CSV, floats in the shortest form that keeps their bits."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([*data.feature_names, *data.label_names])
    writer.writerows([*map(repr, x), *y] for x, y in zip(data.X.tolist(), data.Y.tolist(), strict=True))
    return text.getvalue()


def as_table(data):
    """The data set as an Arrow table."""
    names = [*data.feature_names, *data.label_names]
    return pa.table(dict(zip(names, [*data.X.T, *data.Y.T], strict=True)))


def assert_same(first, second):
    """Two data sets are the same to the bit."""
    assert (first.feature_names, first.label_names) == (second.feature_names, second.label_names)
    assert first.X.tobytes() == second.X.tobytes()
    np.testing.assert_array_equal(first.Y, second.Y)
    assert (first.X.dtype, first.Y.dtype) == (second.X.dtype, second.Y.dtype)


def test_by_hand(write):
    """Features are what is no label: numbers and booleans in the order of the file, NaN where nothing is written."""
    data = read_table(write("pets.csv", PETS), labels=["tag_dog", "tag_cat"])
    np.testing.assert_array_equal(data.X, [[3.5, 1], [20, 0], [np.nan, 1]])
    assert data.Y.tolist() == [[0, 1], [1, 0], [0, 0]]
    assert (data.X.dtype, data.Y.dtype) == (np.float64, np.int64)
    assert (data.feature_names, data.label_names, data.name) == (("kg", "purrs"), ("tag_dog", "tag_cat"), "pets")


def test_prefix(write):
    """All columns whose names begin so are labels, in the order of the file, under their whole names."""
    data = read_table(write("pets.csv", PETS), labels_prefix="tag_", ignore=["purrs"])
    assert (data.label_names, data.feature_names) == (("tag_cat", "tag_dog"), ("kg",))
    assert read_table(write("pets.csv", PETS), labels_prefix="tag_", ignore=["tag_cat"]).label_names == ("tag_dog",)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_round_trip(tmp_path, suffix):
    """What is written, floats by repr, is read bit for bit: subnormal, huge, infinite, negative zero, many digits."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5)) * 10.0 ** rng.integers(-300, 300, (200, 5))
    X[0] = [5e-324, 1.7976931348623157e308, -0.0, np.inf, 0.1 + 0.2]
    Y = (rng.random((200, 3)) < [0.2, 1, 0]).astype(np.int64)
    data = Dataset(X, Y, ("a", "b,c", 'd "e"', "f\ng", "ü;"), ("one", " two", "three"), "toy")
    path = tmp_path / f"toy.{suffix}"
    if suffix == "csv":
        path.write_text(as_csv(data), encoding="utf-8", newline="")
    else:
        parquet.write_table(as_table(data), path)
    assert_same(read_table(path, labels=data.label_names), data)


@pytest.mark.long
@pytest.mark.parametrize("write_frame", [
    lambda frame, path: frame.to_csv(f"{path}.csv"),
    lambda frame, path: frame.to_csv(f"{path}.csv", index=False),
    lambda frame, path: frame.set_index(frame.index + 7).to_parquet(f"{path}.parquet"),
    lambda frame, path: pl.from_pandas(frame).write_csv(f"{path}.csv"),
    lambda frame, path: pl.from_pandas(frame).write_parquet(f"{path}.parquet"),
], ids=["pandas csv, index", "pandas csv", "pandas parquet, index", "polars csv", "polars parquet"])  # fmt: skip
def test_what_data_frames_write(tmp_path, write_frame):
    """Files of pandas and polars are read as they are; the index of pandas is no feature."""
    digits = load_multidigits()
    data = Dataset(digits.X[:300], digits.Y[:300], digits.feature_names, tuple(f"is_{n}" for n in range(10)), "toy")
    frame = pd.DataFrame(np.hstack([data.X, data.Y]), columns=[*data.feature_names, *data.label_names])
    write_frame(frame.astype(dict.fromkeys(data.label_names, bool)), tmp_path / "toy")
    (path,) = tmp_path.iterdir()
    assert_same(read_table(path, labels_prefix="is_"), data)


@pytest.mark.parametrize(("name", "text"), [
    ("toy.tsv", "a\ty\n1,5\t0\n".replace("1,5", "1.5")),
    ("toy.csv", "a;y\r\n1.5;0\r\n"),
    ("toy.csv", '"a;b, or a";y\n1.5;0\n'),
    ("toy.csv", "\ufeffa,y\n1.5,0"),
    ("toy.csv", "\n\na,y\n\n1.5,0\n\n"),
    ("toy.csv", 'a,y\n" 1.5 ","0"\n'),
    ("toy.CSV", '"a\nb",y\n+1.5,false\n'),
    ("toy.csv", ",a,y\n7,15e-1,0.0\n"),
])  # fmt: skip
def test_spellings(write, name, text):
    """Tabs, semicolons, line ends, a byte order mark, empty lines and quotes change nothing."""
    data = read_table(write(name, text), labels=["y"])
    assert (data.X.tolist(), data.Y.tolist(), len(data.feature_names)) == ([[1.5]], [[0]], 1)


def test_compressed(tmp_path):
    """The content tells that a file is packed."""
    path = tmp_path / "pets.csv.gz"
    path.write_bytes(gzip.compress(PETS.encode()))
    assert read_table(path, labels_prefix="tag_").name == "pets"
    path.write_bytes(gzip.compress(PETS.encode())[:-9])
    with pytest.raises(ValueError, match="must be a whole compressed file, got one that is truncated or damaged"):
        read_table(path, labels_prefix="tag_")


@pytest.mark.parametrize("seed", range(20))
def test_blocks_may_end_anywhere(tmp_path, monkeypatch, seed):
    """Wherever a block of bytes ends, in quotes or not, rows are those of the standard library's reader."""
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(_lines, "BLOCK_BYTES", int(rng.integers(1, 30)))
    monkeypatch.setattr(_csv_file, "_ROWS_A_BLOCK", 0)
    pieces = ["a", ",", ";", "\n", "\r\n", '"', '""', "b c", "|", "5' \"", "é", "1"]
    notes = ["".join(rng.choice(pieces, rng.integers(0, 6))) for _ in range(40)]
    tags = ["".join(rng.choice(["x", "y\n", 'z"', "|", ","], rng.integers(0, 6))) for _ in range(40)]
    with (tmp_path / "toy.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator=["\n", "\r\n"][seed % 2], quoting=seed % 4 // 2)
        writer.writerows([("note", "x", "tags"), *zip(notes, range(40), tags, strict=True)])
    data = read_table(tmp_path / "toy.csv", labels_column="tags", labels_separator="|", ignore=["note"])
    sets = [{part.strip() for part in text.split("|")} - {""} for text in tags]
    assert data.X.ravel().tolist() == list(range(40))
    assert data.label_names == tuple(sorted(set().union(*sets)))
    assert [{data.label_names[j] for j in np.flatnonzero(y)} for y in data.Y] == sets


def test_a_stray_quote_is_a_letter(write, monkeypatch):
    """A quote within a cell that began without one opens nothing, wherever blocks end."""
    monkeypatch.setattr(_lines, "BLOCK_BYTES", 1)
    monkeypatch.setattr(_csv_file, "_ROWS_A_BLOCK", 0)
    data = read_table(write("toy.csv", 'note,x,y\n5" pipe,1,0\n"a\nb",2,1\n'), labels=["y"], ignore=["note"])
    assert data.X.tolist() == [[1], [2]]


def test_missing_features(write):
    """The usual words for a missing value, in either case, are NaN."""
    words = ["", "NA", "n/a", "NaN", "null", "None", " "]
    data = read_table(write("toy.csv", "x,y\n" + "".join(f"{word},1\n" for word in words)), labels=["y"])
    assert np.isnan(data.X).all()
    assert len(data.X) == len(words)


TAGS = [["b", "a"], [], ["c", "a", "c"]]
TAGGED = ([[1, 1, 0], [0, 0, 0], [1, 0, 1]], ("a", "b", "c"))


@pytest.mark.parametrize("column", [
    pa.array(TAGS), pa.array(TAGS, pa.large_list(pa.large_string())),
    pa.array(["b;a", "", " c; a;;c "]), pa.array(["b;a", "", "c;a"]).dictionary_encode(),
], ids=["list", "large list", "text", "categories"])  # fmt: skip
def test_tags_in_parquet(write_parquet, column):
    """Lists of text, or text joined by a separator; an empty list is no label, a tag that occurs twice counts once."""
    data = read_table(write_parquet({"x": [1, 2, 3], "tags": column}), labels_column="tags")
    assert (data.Y.tolist(), data.label_names) == TAGGED
    assert data.Y.dtype == np.int64


def test_tags_in_csv(write):
    """The same from text in CSV, by the separator that is asked for."""
    assert read_table(write("a.csv", "x,t\n1,b; a\n2,\n3,c;a;c\n"), labels_column="t").Y.tolist() == TAGGED[0]
    data = read_table(write("a.csv", 'x,t\n1,b, a\n2,""\n3,"c, a"\n'.replace("b, a", '"b,a"')), labels_column="t",
                      labels_separator=",")  # fmt: skip
    assert (data.Y.tolist(), data.label_names) == TAGGED


def test_tags_that_are_integers(write_parquet):
    """Integers are sorted as numbers and named by their digits."""
    lists = pa.array([[10, 9], [], [2]])
    data = read_table(write_parquet({"x": [1, 2, 3], "tags": lists}), labels_column="tags")
    assert data.label_names == ("2", "9", "10")
    assert data.Y.tolist() == [[0, 1, 1], [0, 0, 0], [1, 0, 0]]
    data = read_table(write_parquet({"x": [1, 2, 3], "class": [3, 1, 3]}), labels_column="class")
    assert (data.label_names, data.Y.tolist()) == (("1", "3"), [[0, 1], [1, 0], [0, 1]])
    fixed = pa.array([[1, 2], [3, 1], [2, 2]], pa.list_(pa.int8(), 2))
    data = read_table(write_parquet({"x": [1, 2, 3], "tags": fixed}), labels_column="tags")
    assert data.Y.tolist() == [[1, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_words_for_missing_values_are_tags(write):
    """Only the empty cell has no tag."""
    path = write("a.csv", 'x,t\n1,NA\n2,null;nan\n3,\n4,""\n5,None\n6,#N/A\n')
    with pytest.warns(UserWarning, match=r"may be missing cells: 'NA' \(1 row\), 'None' .*unknown='NA' makes"):
        data = read_table(path, labels_column="t")
    assert data.label_names == ("#N/A", "NA", "None", "nan", "null")
    assert data.Y.tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 1, 1], [0] * 5, [0] * 5, [0, 0, 1, 0, 0], [1, 0, 0, 0, 0]]


def test_names_with_blanks_and_brackets_are_tags(write):
    """Only what looks like a list that a program printed is refused."""
    assert read_table(write("a.csv", "x,t\n1,[red] apple;[x]\n"), labels_column="t").label_names == (
        "[red] apple",
        "[x]",
    )


def test_tags_over_many_batches(write_parquet, monkeypatch):
    """Tags that first appear late, and tags seen before, have the right columns."""
    monkeypatch.setattr(_parquet_file, "_LEAST_ROWS", 64)
    monkeypatch.setattr(_parquet_file, "_MOST_ROWS", 64)
    rng = np.random.default_rng(0)
    lists = [[str(tag) for tag in rng.integers(0, 1 + row // 20, rng.integers(0, 4))] for row in range(1000)]
    path = write_parquet({"x": np.arange(1000), "tags": pa.array(lists)}, row_group_size=150)
    data = read_table(path, labels_column="tags")
    assert data.label_names == tuple(sorted({tag for tags in lists for tag in tags}))
    assert data.X.ravel().tolist() == list(range(1000))
    assert [{data.label_names[j] for j in np.flatnonzero(y)} for y in data.Y] == [set(tags) for tags in lists]


def test_large_and_nearly_empty_label_sets_are_sparse(write_parquet, monkeypatch):
    """Y is CSR where a dense array would be large and fewer than one cell in ten is 1, and holds the same."""
    lists = pa.array([[str(row % 40)] for row in range(100)])
    path = write_parquet({"x": np.zeros(100), "tags": lists})
    dense = read_table(path, labels_column="tags").Y
    monkeypatch.setattr("nearlabel.utils.tags.BLOCK_BYTES", 8 * 100 * 40 - 1)
    labels = read_table(path, labels_column="tags").Y
    assert (labels.format, labels.dtype) == ("csr", np.int64)
    np.testing.assert_array_equal(labels.toarray(), dense)
    path = write_parquet({"x": np.zeros(6000), "y": np.ones(6000)})
    assert isinstance(read_table(path, labels=["y"]).Y, np.ndarray)


@pytest.mark.parametrize("column", [
    pa.array([1, 0, 1], pa.int8()), pa.array([1, 0, 1], pa.uint64()), pa.array(np.array([1, 0, 1], np.float16)),
    pa.array([True, False, True]), pa.array(["1", "0", "1"]), pa.array(["true", "False", "TRUE"]),
    pa.array([decimal.Decimal("1.0"), decimal.Decimal("0.0"), decimal.Decimal("1.0")]),
    pa.array(["1", "0", "1"]).dictionary_encode(), pa.array(["1", "0", "1"], pa.large_string()),
])  # fmt: skip
def test_types_of_labels(write_parquet, column):
    """Whatever the type, 0 and 1 are labels."""
    assert read_table(write_parquet({"x": [1, 2, 3], "y": column}), labels=["y"]).Y.tolist() == [[1], [0], [1]]


def test_types_of_features(write_parquet):
    """Integers, floats, booleans, decimals and categories of numbers become float64, null becomes NaN."""
    columns = {
        "small": pa.array([1, None, -3], pa.int8()), "half": pa.array(np.array([0.5, 2, np.nan], np.float16)),
        "large": pa.array([2**53 + 2, 0, None], pa.uint64()), "yes": pa.array([True, None, False]),
        "money": pa.array([decimal.Decimal("12.25"), None, decimal.Decimal("-0.10")]),
        "codes": pa.array([7, 8, 7]).dictionary_encode(), "nothing": pa.nulls(3), "y": [0, 1, 0],
    }  # fmt: skip
    X = read_table(write_parquet(columns), labels=["y"]).X
    nan = np.nan
    expected = [[1, 0.5, 2**53 + 2, 1, 12.25, 7, nan], [nan, 2, 0, nan, nan, 8, nan], [-3, nan, nan, 0, -0.1, 7, nan]]
    np.testing.assert_array_equal(X, expected)


LISTS = [pa.list_(pa.float32()), pa.list_(pa.float32(), 3), pa.large_list(pa.float64())]


@pytest.mark.parametrize("kind", LISTS)
def test_embeddings(write_parquet, kind):
    """A column of lists is as many features; a missing number is NaN."""
    lists = pa.array([[1, 2, 3], [4, None, 6]], kind)
    columns = {"id": ["a", "b"], "e": lists, "y": [0, 1], "z": [7, 8]}
    data = read_table(write_parquet(columns), labels=["y"], ignore=["id"])
    np.testing.assert_array_equal(data.X, [[1, 2, 3, 7], [4, np.nan, 6, 8]])
    assert data.feature_names == ("e[0]", "e[1]", "e[2]", "z")


@pytest.mark.parametrize("options", [{}, {"ignore": ["e[1]"]}])
def test_a_column_named_as_an_element_of_lists(write_parquet, options):
    """Used or not, it would be taken for the feature when rows are read by name; without the lists it may stay."""
    path = write_parquet({"e": [[1, 2]], "e[1]": [5], "e[2]": [6], "y": [1]})
    with pytest.raises(ValueError, match=r"toy\.parquet must have no column named like .* of 'e', got 'e\[1\]'\. Hint"):
        read_table(path, labels=["y"], **options)
    with pytest.raises(ValueError, match=r"must have no column named like .* got 'e\[1\]'"):
        read_table(path, labels=["e[1]"])
    data = read_table(path, labels=["y"], ignore=["e"])
    assert (data.feature_names, data.X.tolist()) == (("e[1]", "e[2]"), [[5, 6]])


@pytest.mark.parametrize("kind", LISTS)
def test_missing_embeddings(write_parquet, kind):
    """A missing list is a row of NaN, also where it comes first."""
    if hasattr(kind, "list_size") and int(pa.__version__.split(".")[0]) < 26:
        pytest.skip("this pyarrow cannot read missing lists of fixed size")
    lists = pa.array([None, [1, 2, 3], None], kind)
    X = read_table(write_parquet({"e": lists, "y": [0, 1, 1]}), labels=["y"]).X
    np.testing.assert_array_equal(X, [[np.nan] * 3, [1, 2, 3], [np.nan] * 3])


def test_polars_arrays_and_lists(tmp_path):
    """What polars calls Array and List, and its texts, are read."""
    frame = pl.DataFrame(
        {"e": [[1.0, 2], [3, 4]], "tags": [["a"], ["b", "a"]]}, schema_overrides={"e": pl.Array(pl.Float32, 2)}
    )
    frame.write_parquet(tmp_path / "toy.parquet")
    data = read_table(tmp_path / "toy.parquet", labels_column="tags")
    assert (data.X.tolist(), data.Y.tolist()) == ([[1, 2], [3, 4]], [[1, 0], [1, 1]])


def test_load_dataset_routes(write, write_parquet):
    """The suffix decides, options are handed on, and formats that know their labels refuse them."""
    assert load_dataset(write("pets.csv", PETS), labels_prefix="tag_", ignore=["kg"]).feature_names == ("purrs",)
    path = write_parquet({"x": [1.0], "t": ["a|b"]})
    assert load_dataset(path, labels_column="t", labels_separator="|").label_names == ("a", "b")
    with pytest.raises(
        ValueError,
        match=r"labels_prefix must go with a CSV, .* file, got .*svm\. Hint: labels begin",
    ):
        load_dataset(write("toy.svm", "0 1:2\n"), labels_prefix="tag_")
    with pytest.raises(ValueError, match=r"ignore must go with a CSV, Excel, JSON or Parquet file"):
        load_dataset(write("toy.svm", "0 1:2\n"), ignore=["a"])
    with pytest.raises(
        ValueError,
        match=r"must be a CSV, .* file, got one in another format. Hint: load_dataset",
    ):
        read_table(write("toy.svm", "0 1:2\n"), labels=["a"])


@pytest.mark.parametrize(("options", "message"), [
    ({}, r"one of labels, .* must name the labels of .*, got none of them\. Hint: the columns are 'kg', 'tag_cat', "),
    ({"labels": ["tag_cat"], "labels_prefix": "tag_"}, "got 2 of them"),
    ({"labels": ["tag_cta"]}, r"labels must name columns of .*, got 'tag_cta'\. Did you mean 'tag_cat'"),
    ({"labels_column": "tags"}, r"labels_column must name columns of .*, got 'tags'"),
    ({"labels": ["tag_cat"], "ignore": ["purr"]}, r"ignore must name columns of .*, got 'purr'\. Did you mean 'purrs'"),
    ({"labels": []}, r"labels must name at least one column, each once, got \[\]"),
    ({"labels": ["tag_cat", "tag_cat"]}, "each once"),
    ({"labels": ["tag_cat"], "ignore": ["tag_cat"]}, "must name columns that are not ignored, got 'tag_cat' in both"),
    ({"labels_prefix": "label_"}, "labels_prefix must begin the name of some column of .*, got 'label_'"),
    ({"labels_prefix": ""}, "labels_prefix must be text of at least one character, got ''"),
    ({"labels_prefix": "tag_", "labels_separator": ""}, "labels_separator must be text"),
    ({"labels_prefix": "tag_", "ignore": ["kg", "purrs"]}, "must contain at least one feature"),
])  # fmt: skip
def test_bad_choices(write, options, message):
    """Each mistake in naming columns is told, with the names there are or are near."""
    with pytest.raises(ValueError, match=message):
        read_table(write("pets.csv", PETS), **options)


@pytest.mark.parametrize("between", ["|", ","])
def test_tags_that_are_joined_otherwise(tmp_path, between):
    """Another usual separator is guessed, and a warning tells; not if it is given."""
    path = tmp_path / "pets.csv"
    path.write_text(f'a,tags\n1,"cat{between}pet"\n2,"dog{between}pet"\n3,pet\n')
    with pytest.warns(UserWarning, match=re.escape(f"joined by {between!r}, as many cells have it. Hint: labels_")):
        assert read_table(path, labels_column="tags").label_names == ("cat", "dog", "pet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_table(path, labels_column="tags", labels_separator=between).label_names == ("cat", "dog", "pet")


@pytest.mark.parametrize("options", [
    {"labels": ["tag"]}, {"labels_prefix": "tag"}, {"labels_column": "tag"}, {"labels": ["x"], "ignore": ["tag"]}, {},
])  # fmt: skip
@pytest.mark.parametrize("between", ["|", ":"])
def test_other_separators(write, options, between):
    """A file that is but one column by the separators that are known shows it, and they are named."""
    column = repr(f"x{between}tag")
    hint = re.escape(f". Hint: the only column is {column}; cells end in a comma, a semicolon or a tab.")
    with pytest.raises(ValueError, match=f"{hint}$"):
        read_table(write("toy.csv", f"x{between}tag\n1{between}0\n"), **options)


def test_columns_that_are_found(write):
    """Where no name is near the one that is asked for, the first are shown."""
    names = [f"column{number}" for number in range(9)]
    path = write("toy.csv", ",".join(names) + "\n")
    with pytest.raises(ValueError, match=r"got 'y'\. Hint: the columns are 'column0', .* 'column7', \.\.\.\.$"):
        read_table(path, labels=["y"])
    with pytest.raises(ValueError, match=r"got 'column'\. Did you mean 'column8' or "):
        read_table(path, labels=["column"])


@pytest.mark.parametrize("option", ["labels", "ignore", "categorical", "text", "dates"])
def test_a_single_text_is_no_sequence_of_names(write, option):
    """One text would be taken for its letters."""
    with pytest.raises(TypeError, match=rf"{option} must be a sequence of column names, got 'kg'\. Hint: \['kg'\]"):
        read_table(write("pets.csv", PETS), **{"labels": ["tag_cat"], option: "kg"})
    with pytest.raises(TypeError, match="labels_column must be a sequence of column names"):
        read_table(write("pets.csv", PETS), labels_column=3)


@pytest.mark.parametrize(("text", "message"), [
    ("", "must begin with a line of column names, got an empty file"),
    ("\n\n", "must begin with a line of column names, got an empty file"),
    ("a,y\n", "must contain at least one row below the column names, got none"),
    ("a,a,y\n1,2,0\n", "must have columns of distinct names, got 'a' 2 times"),
    ("a,,y\n1,2,0\n", "must have a name for every column, got 1 without"),
    ("a,y\n1,0\n\n2\n", "line 4: a row must have 2 cells, as the header has, got 1"),
    ('a,y\n"1\n\n",0\n3,4,5\n', "line 5: a row must have 2 cells, as the header has, got 3"),
    ('a,y\n1,0\n"2,0\n",3,0\n', r"line 3: a row must have 2 cells, .* got 3\. Hint: a quote is not closed"),
    ('a,y\n1,0\n"2,0\n3,0\n', r"line 3: a quote must be closed, got one that is not\. Hint: a cell that begins with"),
    ('a,y\n1,"0\n', "line 2: a quote must be closed"),
    ('n,a,y\n"\n",1,0\n"p\nq",2,"0\n"",\n"" 3', "line 5: a quote must be closed"),
    (" \n\na,y\n1,x\n", "line 4: label 'y' must be 0 or 1, got 'x'"),
    ('"a\n\nb",y\n1,x\n', "line 4: label 'y' must be 0 or 1, got 'x'"),
    ("a,y\r1,0\r2,1\r", r"line 1: a line must end in a newline, got a carriage return alone\. Hint: save the"),
    ("\na,y\n1,0\n2,0\r3\r4,1\n", "line 4: a line must end in a newline, got a carriage return alone"),
    ('a,"y\n1,0\n', "line 1: a quote must be closed, got one that is not"),
    ("a,y\n1,0\n\nx1,0\n", r"line 4: column 'a' must contain numbers, got 'x1'\. Hint: ignore=\['a'\] leaves it out"),
    ("a,b,c,y\n1,u,v,0\n", r"line 2: column 'b' .* got 'u'\. Hint: text=\['b', 'c'\], or leave them out: ignore=\['b'"),
    ("a,y\n1_0,0\n", "must contain numbers, got '1_0'"),
    ("a;y\n1,5;0\n", r"must contain numbers, got '1,5'\. Hint: decimal=',' reads such decimals"),
    ("a,y\n1,0\n2,2\n", "line 3: label 'y' must be 0 or 1, got 2"),
    ("a,y\n1,0.5\n", "line 2: label 'y' must be 0 or 1, got 0.5"),
    ("a,y\n1,maybe\n", r"line 2: label 'y' must be 0 or 1, got 'maybe' as the only value\. Hint: if it means yes, an"),
    ("a,y\n1,-1\n", r"line 2: label 'y' must be 0 or 1, got -1\. Hint: unknown='-1', if it marks an unknown"),
])  # fmt: skip
def test_bad_csv(write, text, message):
    """The line is named, as an editor counts it."""
    with pytest.raises(ValueError, match=message):
        read_table(write("toy.csv", text), labels=["y"])


@pytest.mark.parametrize(("text", "message"), [
    ("x,t\n1,\n2,;\n", "column 't' of .* must contain at least one tag, got none"),
    ("x,t\n1,a\n2,\"['a', 'b' 'c']\"\n",
     r"line 3: column 't' must contain tags, got \"\['a', 'b' 'c'\]\"\. Hint: a list is like \[\"red\", \"blue\"\]"),
    ("x,t\n1,\"['a', None]\"\n", "line 2: column 't' must contain tags, got"),
    ("x,t\n1,\"['a', ['b']]\"\n", "line 2: column 't' must contain tags, got"),
    ("x,t\n1,\"[1, 2,,]\"\n", "line 2: column 't' must contain tags, got"),
    ("x,t\n1,\"{'a': 0.5}\"\n", "a score. Hint: label_threshold is the least score"),
    ("x,t\n1,\"[{'id': 1, 'name': 'a'}]\"\n", "an object with 'name' and 'id'. Hint: label_key is the key"),
])  # fmt: skip
def test_bad_tags(write, text, message):
    """No tag at all, lists as NumPy prints them, and lists of other things."""
    with pytest.raises(ValueError, match=message):
        read_table(write("toy.csv", text), labels_column="t")


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_wrong_encoding(tmp_path, encoding):
    """A byte that is no UTF-8 is named with its line."""
    path = tmp_path / "toy.csv"
    path.write_bytes("größe,y\n1,0\n".encode(encoding))
    with pytest.raises(ValueError, match=r"line 1: the text must be UTF-8, got the byte 0x(f6|ff)\. Hint:"):
        read_table(path, labels=["y"])
    path.write_bytes(b"x,t\n1,a\n2,caf\xe9\n")
    with pytest.raises(ValueError, match=r"line 3: the text must be UTF-8, got the byte 0xe9"):
        read_table(path, labels_column="t")


def test_a_quote_that_swallows_the_file(write, monkeypatch):
    """Reading stops as soon as a row is too long, and names the line of the quote."""
    monkeypatch.setattr(_lines, "BLOCK_BYTES", 8)
    monkeypatch.setattr(_csv_file, "_ROWS_A_BLOCK", 0)
    monkeypatch.setattr(_csv_file, "_LONGEST_ROW", 170)
    read, sizes = _lines.Lines.block, []

    def counted(*arguments):
        block = read(*arguments)
        sizes.append(len(block))
        return block

    monkeypatch.setattr(_lines.Lines, "block", counted)
    with pytest.raises(ValueError, match="line 5: a quote must be closed, got one that is not"):
        read_table(write("toy.csv", "a,y\n" + "1,0\n" * 3 + '"2,0\n' + "3,0\n" * 500), labels=["y"])
    assert sum(sizes) < 2 * 200 < 4 * 500


@pytest.mark.parametrize(("columns", "options", "message"), [
    ({"x": [1], "s": ["a"], "d": pa.array([0], pa.date32()), "y": [1]}, {"labels": ["y"]},
     r"column 's' of .* must contain numbers, got type string\. Hint: dates=\['d'\], text=\['s'\], or leave th"),
    ({"x": [1], "y": [[1]]}, {"labels": ["y"]}, "column 'y' of .* must contain 0 and 1, got type list"),
    ({"x": [1, 2], "y": [1, 3]}, {"labels": ["y"]}, "row 2: label 'y' must be 0 or 1, got 3"),
    ({"x": [1, 2], "t": [[], ["a", None]]}, {"labels_column": "t"}, "row 2: column 't' must contain tags, got a miss"),
    ({"x": [1, 2], "t": [[1.0], [1.5]]}, {"labels_column": "t"}, r"row 2: column 't' must contain tags, got 1\.5"),
    ({"x": [1, 2], "t": [True, False]}, {"labels_column": "t"}, "row 1: column 't' must contain tags, got True"),
    ({"x": [1, 2], "t": [{"a": 1}, {"a": 2}]}, {"labels_column": "t"}, "row 2: column 't' must .*'a': 2}\", a score"),
    ({"e": [[1, 2], [1]], "y": [0, 1]}, {"labels": ["y"]}, "row 2: column 'e' must contain numbers, got 1 numbers"),
    ({"e": pa.array([None, None], pa.list_(pa.int8())), "y": [0, 1]}, {"labels": ["y"]},
     "column 'e' of .*toy.parquet must contain some list of at least one number, got none"),
    ({"e": pa.array([[], []], pa.list_(pa.int8())), "y": [0, 1]}, {"labels": ["y"]}, "must contain some list of"),
    ({"e": pa.array([[], []], pa.list_(pa.int8(), 0)), "y": [0, 1]}, {"labels": ["y"]}, "must contain some list of at"),
    ({"e": [[], [1, 2]], "y": [0, 1]}, {"labels": ["y"]}, "row 1: column 'e' must contain numbers, got 0 numbers"),
    ({"x": pa.array([], pa.int8()), "y": pa.array([], pa.int8())}, {"labels": ["y"]}, "must contain at least one row"),
])  # fmt: skip
def test_bad_parquet(write_parquet, columns, options, message):
    """What a column must contain is told with its type or with the row, counted from 1."""
    with pytest.raises(ValueError, match=message):
        read_table(write_parquet(columns), **options)


def test_files_that_are_no_parquet(write, write_parquet, tmp_path):
    """Text, a cut file, a folder and no file are told apart."""
    with pytest.raises(ValueError, match=r"toy\.parquet must be a whole Parquet file, got a damaged one"):
        read_table(write("toy.parquet", "a,b\n1,2\n"), labels=["b"])
    with pytest.raises(ValueError, match="must be a whole Parquet file, got a damaged one"):
        read_table(write("toy.parquet", ""), labels=["b"])
    path = write_parquet({"x": np.arange(1000.0), "y": np.zeros(1000)})
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match="must be a whole Parquet file, got a damaged one"):
        read_table(path, labels=["y"])
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.parquet", labels=["y"])
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.csv", labels=["y"])


def test_damaged_parquet(write_parquet):
    """Bytes that were changed where the rows lie are an error of the file."""
    path = write_parquet({"x": np.random.default_rng(0).normal(size=5000), "y": np.zeros(5000)}, compression="zstd")
    content = bytearray(path.read_bytes())
    content[4:2000] = bytes(1996)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="must be a whole Parquet file, got a damaged one"):
        read_table(path, labels=["y"])


def test_duplicate_names_in_parquet(tmp_path):
    """Parquet allows two columns of one name; which is meant nobody can say."""
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    parquet.write_table(table, tmp_path / "toy.parquet")
    with pytest.raises(ValueError, match="must have columns of distinct names, got 'a' 2 times"):
        read_table(tmp_path / "toy.parquet", labels=["a"])


@pytest.mark.parametrize("name", ["toy.csv", "toy.parquet"])
def test_without_pyarrow(write, monkeypatch, name):
    """The error says what to install."""
    for module in ("pyarrow", "pyarrow.csv", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"Reading tables needs pyarrow: pip install 'nearlabel\[tables\]'"):
        read_table(write(name, PETS), labels_prefix="tag_")


@pytest.mark.parametrize(("cell", "tags"), [
    ('"[""a"", ""b;c""]"', ("a", "b;c")),
    ('"[""\\u00fc"", ""b\\n""]"', ("b", "ü")),
    ('"[\'a\', ""it\'s"", \'q""\']"', ("a", "it's", 'q"')),
    ('" [\'a\' ,\'\\\'\',] "', ("'", "a")),
    ('"[1, 20]"', ("1", "20")),
    ('"[]"', ()),
    ('"[\'\']"', ()),
    ("[80s]", ("[80s]",)),
    ("[live]; a", ("[live]", "a")),
])  # fmt: skip
def test_written_lists(write, cell, tags):
    """A list as JSON or Python writes it is its elements; other brackets are part of a tag."""
    read = read_table(write("toy.csv", f"x,t\n1,z\n2,{cell}\n"), labels_column="t")
    assert read.label_names == tuple(sorted({*tags, "z"}))
    assert read.Y.tolist()[1] == [int(name != "z") for name in read.label_names]


@pytest.mark.parametrize("text", [
    "['a'" + "," * 200_000, "[" + "'a" * 200_000, "['" + "\\\\" * 200_000, "[" * 200_000, "[\"" + "[" * 200_000,
    "[1" + " ," * 200_000 + "x]",
])  # fmt: skip
def test_lists_that_do_not_end(write, text):
    """They are no lists, or refused, in linear time."""
    quoted = text.replace('"', '""')
    path = write("toy.csv", f'x,t\n1,a\n2,"{quoted}"\n')
    before = time.process_time()
    with suppress(ValueError):
        read_table(path, labels_column="t")
    assert time.process_time() - before < 5


def test_decimal_commas(write):
    """They are read when they are asked for; then a point, which may stand between thousands, is refused."""
    path = write("toy.csv", "a;b;y;w\n0,5;1;1,0;yes\n-1e2; -,25 ;0;no\n;True;0;No\n")
    toy = read_table(path, labels=["y", "w"], decimal=",")
    assert toy.X[:2].tolist() == [[0.5, 1], [-100, -0.25]]
    assert np.isnan(toy.X[2, 0])
    assert toy.Y.tolist() == [[1, 1], [0, 0], [0, 0]]
    with pytest.raises(ValueError, match=r"line 3: column 'a' must contain numbers, got '1\.234,5'"):
        read_table(write("thousands.csv", "a;y\n1,5;0\n1.234,5;0\n"), labels=["y"], decimal=",")
    with pytest.raises(ValueError, match=r"decimal must be one of \[',', '\.'\], got ';'"):
        read_table(path, labels=["y"], decimal=";")


# Numbers that float64 cannot store.

LONG = 2**53 + 1


@pytest.mark.parametrize("cell", [LONG, -LONG, f" {LONG} ", f"+{LONG}", 2**63 + 1, "1e400", "-1e309", "9" * 400])
@pytest.mark.parametrize("delimiter", [",", ";"])
def test_numbers_of_csv_that_would_be_rounded(write, cell, delimiter):
    """They are refused with their line; another column, ids and categories keep them."""
    text = f"x,k,y\n1,a,0\n{cell},b,1\n".replace(",", delimiter)
    path, decimal_ = write("toy.csv", text), "." if delimiter == "," else ","
    problem = r"toy\.csv, line 3: column 'x' must contain numbers, got '.* \(float64 cannot store it\)"
    with pytest.raises(ValueError, match=rf"{problem}\. Hint: ignore=\['x'\] leaves out ids, categorical=\['x'\] comp"):
        read_table(path, labels=["y"], ignore=["k"], decimal=decimal_)
    assert read_table(path, labels=["y"], categorical=["x", "k"], decimal=decimal_).X[1, 0] == str(cell).strip()
    with pytest.raises(ValueError, match=rf"{problem}\.$"):
        list(open_rows(path, ["x"], decimal=decimal_))


@pytest.mark.parametrize("cell", [2**53, 2**60, -(2**70), "1e300", "1" + "0" * 22, "inf", "-Infinity", "0.1", "1e17"])
def test_large_numbers_of_csv(write, cell):
    """An integer that float64 stores exactly is itself, and infinity is a word."""
    assert read_table(write("toy.csv", f"x,y\n1,0\n{cell},1\n"), labels=["y"]).X[1, 0] == float(cell)


@pytest.mark.parametrize("column", [
    pa.array([0, 2**62 + 1]), pa.array([None, 2**64 - 1], pa.uint64()), pa.array([[1, 2], [3, LONG]]),
    pa.array([[1, 2], None, [3, LONG]])[1:], pa.array([[1, 2], [3, LONG]], pa.list_(pa.int64(), 2)),
    pa.array([decimal.Decimal(0), decimal.Decimal(10**25 + 1)]),
], ids=str)  # fmt: skip
def test_numbers_of_parquet_that_would_be_rounded(write_parquet, column):
    """Integers of 64 bits and decimals are refused with their row, alone and in lists."""
    path = write_parquet({"x": column, "y": [0, 1]})
    with pytest.raises(ValueError, match=r"row 2: column 'x' must contain numbers, got .* \(float64 cannot"):
        read_table(path, labels=["y"])


@pytest.mark.parametrize(("column", "values"), [
    (pa.array([2**62, -(2**63)]), [2.0**62, -(2.0**63)]), (pa.array([1e300, np.inf]), [1e300, np.inf]),
    (pa.array([decimal.Decimal("0.1"), decimal.Decimal(2**60)]), [0.1, 2.0**60]),
])  # fmt: skip
def test_large_numbers_of_parquet(write_parquet, column, values):
    """Numbers of integers that float64 stores are read; other decimals are rounded as any are."""
    assert read_table(write_parquet({"x": column, "y": [0, 1]}), labels=["y"]).X[:, 0].tolist() == values


def test_long_integers_of_parquet_that_are_names(write_parquet):
    """As ids, categories and tags they keep all digits."""
    path = write_parquet({"id": [LONG, LONG + 1], "x": [1.0, 2.0]})
    assert read_table(path, labels_column="id").label_names == (str(LONG), str(LONG + 1))
    (block,) = open_rows(path, ["x"], id_column="id")
    assert block.ids.tolist() == [LONG, LONG + 1]
    (block,) = open_rows(path, ["id"], feature_kinds=["category"])
    assert block.X.tolist() == [[str(LONG)], [str(LONG + 1)]]
