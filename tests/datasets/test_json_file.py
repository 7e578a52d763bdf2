"""JSON lines and arrays: types, missing values, lines in errors."""

import gzip
import json

import numpy as np
import pytest

from nearlabel.datasets import load_dataset, open_rows, read_table
from nearlabel.datasets._lines import Lines, suffix_of_content

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


@pytest.mark.parametrize(("value", "number"), [
    ("1e3", 1000.0), ("1152921504606846976", 2.0**60), ("1" + "0" * 20, 1e20), ("-Infinity", -np.inf),
    ("NaN", np.nan), ("true", 1.0),
])  # fmt: skip
def test_numbers(tmp_path, value, number):
    """Whatever JSON takes for a number is one, also beyond 64 bits."""
    (tmp_path / "n.jsonl").write_text(f'{{"x": {value}, "y": 1}}\n')
    np.testing.assert_array_equal(read_table(tmp_path / "n.jsonl", labels=["y"]).X, [[number]])


@pytest.mark.parametrize(("value", "message"), [
    ("9007199254740993", r"column 'x' must contain numbers, got 9007199254740993 \(float64 cannot store it\)"),
    ("-9007199254740993", "column 'x' must contain numbers, got -9007199254740993 .*. Hint: ignore="),
    ("12345678901234567890", r"column 'x' must contain numbers, got '12345678901234567890' \(float64 cannot"),
    ("1" * 400, r"column 'x' must contain numbers, got '1111111111.* \(float64 cannot store it\)"),
    ("9" * 5000, "an integer must have at most 4000 digits, got 5000"),
    ("1e400", "a number must fit in float64, got 1e400. Hint: write it as a text"),
    ('0.5}\n{"x": 9007199254740993', r"column 'x' must contain numbers, got 9007199254740993 \(float64"),
    ("[0.5, 9007199254740993]", r"column 'x' must contain numbers, got 9007199254740993 \(float64"),
    ("[1, 9007199254740993]", r"column 'x' must contain numbers, got 9007199254740993 \(float64"),
    ("[0.5, 1e999]", "a number must fit in float64, got 1e999"),
])  # fmt: skip
def test_numbers_that_would_be_rounded(tmp_path, value, message):
    """They are refused, with their line, and not taken as other numbers."""
    (tmp_path / "n.jsonl").write_text(f'{{"y": 1}}\n{{"x": {value}, "y": 1}}\n')
    line = 2 + value.count("\n")
    with pytest.raises(ValueError, match=rf"n\.jsonl, line {line}: {message}"):
        read_table(tmp_path / "n.jsonl", labels=["y"])


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 + 1, 10**30 + 1, -(2**63)])
def test_long_integers_that_are_names(tmp_path, number):
    """As ids, categories and tags they keep all digits."""
    path = tmp_path / "ids.jsonl"
    rows = [{"id": number, "x": 1, "t": [number]}, {"id": number + 1, "x": 2, "t": [number + 1, 5]}]
    path.write_text(lines(rows))
    data = read_table(path, labels_column="t", categorical=["id"])
    assert [row[0] for row in data.X.tolist()] == [str(number), str(number + 1)]
    assert set(data.label_names) == {str(number), str(number + 1), "5"}
    (block,) = open_rows(path, ["x"], id_column="id")
    assert [str(one) for one in block.ids] == [str(number), str(number + 1)]
    assert set(read_table(path, labels_column="id", ignore=["t"]).label_names) == {str(number), str(number + 1)}


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
    ('{"x": 1}\n{"x": 1, "y": 1, "x": 2}\n', "line 2: a name must occur once in an object, got 'x' 2 times"),
    ('{"x": {"a": 1, "a": 1}, "y": 1}\n', "line 1: a name must occur once in an object, got 'a' 2 times"),
    ('{"x": true, "y": 1}\n{"x": 18446744073709551616}', "column 'x' .* must contain numbers, got type bool and int"),
])  # fmt: skip
def test_errors(tmp_path, text, message):
    """The file and the line, or the column, are named."""
    (tmp_path / "bad.jsonl").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "bad.jsonl", labels=["y"])


def test_keys_that_are_data(tmp_path, monkeypatch):
    """As many names as rows would make a matrix of rows times rows."""
    monkeypatch.setattr("nearlabel.datasets._json_file._MOST_NAMES", 10)
    (tmp_path / "keys.jsonl").write_text(lines([{f"k{row}": 1} for row in range(11)]))
    with pytest.raises(ValueError, match="line 11: the file must have at most 10 names, got 'k10'"):
        read_table(tmp_path / "keys.jsonl", labels=["k0"])


def test_lines_without_names(tmp_path, monkeypatch):
    """A small file is no large matrix; batches are small where lines are short."""
    monkeypatch.setattr("nearlabel.datasets._json_file._BATCH_CELLS", 8)
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


# Arrays of objects.


def array(rows, indent=None):
    """The rows as one array."""
    return json.dumps(rows, indent=indent)


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
@pytest.mark.parametrize("text", [array(ROWS), array(ROWS, 2), "\ufeff\n " + array(ROWS), lines(ROWS)])
def test_arrays(tmp_path, suffix, text):
    """An array gives what its objects give line by line, which a .json file may hold, too."""
    encoded = text.encode()
    path = tmp_path / f"pets{suffix}"
    path.write_bytes(gzip.compress(encoded) if suffix.endswith("gz") else encoded)
    (tmp_path / "lines.jsonl").write_text(lines(ROWS))
    pets, same = (load_dataset(one, labels_column="tags", ignore=["id"]) for one in (path, tmp_path / "lines.jsonl"))
    np.testing.assert_array_equal(pets.X, same.X)
    assert (pets.feature_names, pets.label_names) == (same.feature_names, same.label_names)
    assert (pets.name, pets.Y.tolist()) == ("pets", same.Y.tolist())
    (block,) = open_rows(path, ["e[1]", "kg"], id_column="id")
    assert (block.ids.tolist(), block.share_done) == ([7, 8, 9], 1.0)


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("indent", [None, 1])
def test_arrays_in_parts(tmp_path, monkeypatch, size, indent):
    """Wherever the parts end, the objects are the same, and each once."""
    monkeypatch.setattr("nearlabel.datasets._lines.BLOCK_BYTES", size)
    rows = [{"x": -1.5e-3 * i, "y": i % 2, "t": 'ü "]},{' * i, "b": [True, None][i % 2]} for i in range(20)]
    (tmp_path / "a.json").write_text(json.dumps(rows, indent=indent, ensure_ascii=False), encoding="utf-8")
    data = read_table(tmp_path / "a.json", labels=["y"], text=["t"], ignore=["b"])
    assert data.X.tolist() == [[row["x"], row["t"] or None] for row in rows]
    assert data.Y[:, 0].tolist() == [row["y"] for row in rows]


def test_arrays_are_read_in_parts(tmp_path, monkeypatch):
    """No more than a part and an object are in memory; an error far from the end is told at once."""
    monkeypatch.setattr("nearlabel.datasets._lines.BLOCK_BYTES", 1000)
    part, sizes = Lines.part, []

    def counted(self, least=0):
        sizes.append(least)
        return part(self, least)

    monkeypatch.setattr(Lines, "part", counted)
    text = json.dumps([{"x": i, "y": i % 2} for i in range(5000)])
    (tmp_path / "a.json").write_text(text)
    assert read_table(tmp_path / "a.json", labels=["y"]).X.shape == (5000, 1)
    assert max(sizes) < 40
    (tmp_path / "b.json").write_text(text.replace('"x": 100,', '"x": oh,', 1))
    sizes.clear()
    with pytest.raises(ValueError, match=r"b\.json, line 1: object 101 must be JSON, got: Expecting value\."):
        read_table(tmp_path / "b.json", labels=["y"])
    assert len(sizes) < 6


@pytest.mark.parametrize(("text", "message"), [
    ("[]", "must contain an object on each line, got no object"),
    ("", "must contain an object on each line, got no line"),
    ('[{"x": 1, "y": 1},\n {"x": 1, "x": 2, "y": 1}]', "line 2: a name must occur once in an object, got 'x' 2 times"),
    ('[{"x": 1, "y": 1}, 5]', "line 1: object 2 must be an object of JSON, got 5. Hint: an array of objects"),
    ('[{"x": 1, "y": 1},]', "line 1: object 2 must be JSON, got: Expecting value"),
    ('[{"x": 1, "y": 1}\n\n', "line 3: there must be , or ], got the end of the file"),
    ('[{"x": 1, "y": 1} {"x": 1}]', "line 1: there must be , or ], got {"),
    ('[{"x": 1, "y": 1}] x', "line 1: the array must be the last of the file, got 'x' behind it"),
    ('[{"x": "' + "a" * 5000, "line 1: object 1 must be JSON, got: Unterminated string"),
    ("[" * 100_000, "line 1: object 1 must be JSON, got: it is nested too deeply"),
    ('[{"x": "\xff", "y": 1}]', "line 1: .* must be JSON, got: 'utf-8' codec can't decode"),
    (r'[{"x": "\ud800", "y": 1}]', r"line 1: texts must be of whole characters, got half a character, \\ud800 alone"),
    ('[{"x": 1, "y": 1}, {"x": "a", "y": 1}]', "column 'x' of .* must contain numbers, got type int and str"),
    ('[{"x": 1, "y": 1}, {"x": 1, "y": 2}]', "a.json, object 2: label 'y' must be 0 or 1, got 2"),
    ('{"x": {"0": 1}, "y": {"0": 1}}', "must be a table row by row, got one object of 'x', 'y'. Hint: .*orient="),
    ('{"columns": ["x"], "index": [0], "data": [[1]]}', "must be a table row by row, got one object of 'columns'"),
    ('{"data": [{"x": 1, "y": 1}]}', "must be a table row by row, got one object of 'data'"),
    ('{\n"x": {"0": 1}}', "line 1: the line must be JSON, got: .*Hint: an array of objects, or an object on each line"),
])  # fmt: skip
def test_errors_of_arrays(tmp_path, text, message):
    """The file, the line and the number of the object are named."""
    (tmp_path / "a.json").write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "a.json", labels=["y"])


def test_an_array_by_its_content(tmp_path):
    """Standard input has no suffix; a file of lines must not be an array."""
    (tmp_path / "a.jsonl").write_text('[{"x": 1, "y": 1}]')
    with pytest.raises(ValueError, match=r"line 1: the line must be an object of JSON, got \[.*Hint: .* end in \.json"):
        read_table(tmp_path / "a.jsonl", labels=["y"])
    for text in ('[{"x": 1}]', '\n[\n  {"x": 1}]', '["x", "y"]\n'):
        (tmp_path / "a").write_text(text)
        assert suffix_of_content(tmp_path / "a") == (".csv" if '"y"' in text else ".json")


def test_a_column_of_null(tmp_path):
    """It is one of missing numbers, not of objects."""
    (tmp_path / "a.jsonl").write_text('{"x": null, "y": 1}\n{"x": null, "y": 0}\n')
    data = read_table(tmp_path / "a.jsonl", labels=["y"])
    assert np.isnan(data.X).all()
    assert data.Y.ravel().tolist() == [1, 0]
