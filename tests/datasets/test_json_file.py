"""JSON lines: types, missing values, lines in errors."""

import gzip
import json

import numpy as np
import pytest

from nearlabel.datasets import load_dataset, open_rows, read_table

ROWS = [
    {"id": 7, "kg": 3, "purrs": True, "e": [1, 2.5], "tags": ["cat", "pet"]},
    {"kg": None, "e": [0, 3], "tags": [], "id": 8, "purrs": False},
    {"id": 9, "kg": 4.5, "e": None, "tags": ["pet", "ü"], "purrs": 1},
]


def lines(rows):
    """The rows as JSON lines."""
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("suffix", [".jsonl", ".ndjson.gz"])
def test_values(tmp_path, suffix):
    """Numbers of any type, lists of numbers and of tags; null and what a line lacks is missing."""
    path = tmp_path / f"pets{suffix}"
    text = ("\ufeff" + lines(ROWS).replace("\n", "\r\n\r\n")).encode()
    path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    pets = load_dataset(path, labels_column="tags", ignore=["id"])
    assert (pets.name, pets.feature_names) == ("pets", ("kg", "purrs", "e[0]", "e[1]"))
    expected = [[3, 1, 1, 2.5], [np.nan, 0, 0, 3], [4.5, 1, np.nan, np.nan]]
    np.testing.assert_array_equal(pets.X, expected)
    assert (pets.label_names, pets.Y.tolist()) == (("cat", "pet", "ü"), [[1, 1, 0], [0, 0, 0], [0, 1, 1]])
    (block,) = open_rows(path, ["e[1]", "kg"], id_column="id")
    np.testing.assert_array_equal(block.X, [[2.5, 3], [3, np.nan], [np.nan, 4.5]])
    assert (block.ids.tolist(), block.share_done) == ([7, 8, 9], 1.0)


def test_many_blocks(tmp_path):
    """Rows come in blocks; a name that first stands in the last line is a column of all; lines are counted on."""
    rows = [{"x": i, "y": i % 2, "text": "-" * 900} for i in range(2000)]
    path = tmp_path / "long.jsonl"
    path.write_text(lines([*rows, {"x": 0.5, "y": 1, "z": 3}]))
    read = read_table(path, labels=["y"], ignore=["text"])
    assert (read.X.shape, read.feature_names, read.X[-1].tolist()) == ((2001, 2), ("x", "z"), [0.5, 3.0])
    assert read.X[:-1, 0].tolist() == list(range(2000))
    assert np.isnan(read.X[:-1, 1]).all()
    assert sum(block.X.shape[0] for block in open_rows(path, ["x"], block_rows=100)) == 2001
    path.write_text(lines([*rows, {"x": 1, "y": 2}]))
    with pytest.raises(ValueError, match="line 2001: label 'y' must be 0 or 1, got 2"):
        read_table(path, labels=["y"], ignore=["text"])


@pytest.mark.parametrize(("value", "number"), [("1e3", 1000.0), ("12345678901234567890", 12345678901234567890.0),
                                               ("9" * 5000, np.inf), ("NaN", np.nan), ("true", 1.0)])  # fmt: skip
def test_numbers(tmp_path, value, number):
    """Whatever JSON takes for a number is one, also beyond 64 bits."""
    (tmp_path / "n.jsonl").write_text(f'{{"x": {value}, "y": 1}}\n')
    np.testing.assert_array_equal(read_table(tmp_path / "n.jsonl", labels=["y"]).X, [[number]])


@pytest.mark.parametrize(("text", "message"), [
    ("", "must contain an object on each line, got no line"),
    ('{"x": 1}\n[1]\n', r"line 2: the line must be an object of JSON, got \[1\]"),
    ('{"x": 1}\n\n{"x": }\n', "line 3: the line must be JSON, got: Expecting value"),
    ("[" * 100_000, "line 1: the line must be JSON, got: "),
    ('{"x": "\xff"}', "line 1: the line must be JSON, got: .*utf-8"),
    ('{"x": 1, "y": 1}\n{"x": "a"}\n', "column 'x' of .* must contain numbers, got type int and str"),
    ('{"x": "1", "y": 1}\n', r"column 'x' of .* must contain numbers, got type text\. Hint: ignore=\['x'\]"),
    ('{"x": {"a": 1}, "y": 1}\n', "column 'x' of .* must contain numbers, got type dict"),
    ('{"x": [1], "y": 1}\n{"x": [1, 2], "y": 1}\n', "line 2: column 'x' must contain numbers, got 2 numbers where"),
    ('{"x": 1, "y": 1}\n{"x": 1, "y": "?"}\n', "column 'y' of .* must contain 0 and 1, got type int and str"),
    ('{"": 1, "y": 1}\n', "must have a name for every column, got 1 without"),
])  # fmt: skip
def test_errors(tmp_path, text, message):
    """The file and the line, or the column, are named."""
    (tmp_path / "bad.jsonl").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "bad.jsonl", labels=["y"])


def test_keys_that_are_data(tmp_path, monkeypatch):
    """As many names as rows would make a matrix of rows times rows."""
    monkeypatch.setattr("nearlabel.datasets._csv_file._MOST_NAMES", 10)
    (tmp_path / "keys.jsonl").write_text(lines([{f"k{row}": 1} for row in range(11)]))
    with pytest.raises(ValueError, match="line 11: the file must have at most 10 names, got 'k10'"):
        read_table(tmp_path / "keys.jsonl", labels=["k0"])


def test_lines_without_names(tmp_path, monkeypatch):
    """A small file is no large matrix; batches are small where lines are short."""
    monkeypatch.setattr("nearlabel.datasets._csv_file._BATCH_CELLS", 8)
    (tmp_path / "short.jsonl").write_text('{"a": 1, "b": 2, "c": 3, "y": 1}\n' + "{}\n" * 199 + '{"y": 2}\n')
    assert sum(len(block.X) for block in open_rows(tmp_path / "short.jsonl", ["a", "b", "c"])) == 201
    with pytest.raises(ValueError, match="line 201: label 'y' must be 0 or 1, got 2"):
        read_table(tmp_path / "short.jsonl", labels=["y"])
    monkeypatch.setattr("nearlabel.datasets._table_file._ALWAYS_ALLOWED", 500)
    with pytest.raises(ValueError, match="must have values in most cells, got 5 values in 804 cells"):
        read_table(tmp_path / "short.jsonl", labels=["y"])


def test_decimal(tmp_path):
    """Numbers are no text."""
    (tmp_path / "x.jsonl").write_text('{"x": 1}')
    with pytest.raises(ValueError, match=r"decimal must go with a CSV or Excel file, got .*x\.jsonl"):
        load_dataset(tmp_path / "x.jsonl", labels=["x"], decimal=",")
