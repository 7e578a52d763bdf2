"""Text files that someone made to do harm: each is an answer or a clear error, soon and in little memory."""

import bz2
import gzip
import json
import os
import socket
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from nearlabel.audit import read_corrections
from nearlabel.datasets import load_dataset, open_rows, read_meka, read_mulan, read_table
from nearlabel.datasets._arff_labels import _label_names
from nearlabel.datasets._table_file import did_you_mean, shortened
from nearlabel.datasets._written_tags import read_written
from nearlabel.papers._paper_file import read_paper
from nearlabel.utils.naming import read_value

_LONG = 100_000  # where time grew with the square, these took a minute and more
_DEEP = 20_000
_SECONDS = 20  # of CPU: hundreds of times what they need


@pytest.fixture(autouse=True)
def _soon():
    """Fail a test that takes as long as only quadratic time does."""
    start = time.process_time()
    yield
    assert time.process_time() - start < _SECONDS


@pytest.fixture
def write_arff(write):
    """Write a MEKA file with this declaration behind that of its label, and rows."""

    def _write(declaration, rows):
        return write("a.arff", f"@relation 'x: -C 1'\n@attribute l {{0,1}}\n{declaration}\n@data\n{rows}")

    return _write


@pytest.mark.parametrize(
    ("declaration", "rows", "message"),
    [
        ("@attribute f {x" + " " * _LONG + "y,z}", "0,x\n", "line 5: attribute 'f' must be one of"),
        ("@attribute f date '" + "y" * _LONG + "'", "0,x\n", "must have a known format, .* more than 60 characters"),
        ("@attribute f date '" + "x" * _LONG, "0,x\n", "line 3: the type of attribute 'f' must be a date"),
        ("@attribute f relational\n" * _DEEP, "0,x\n", "must end in @end and its name, got '@data'"),
        ("@attribute f string", "0 " + " " * _LONG + "'\n", "line 5: a row must have 2 cells, got 1"),
        ("@attribute f string", "0,{" + "1" * _LONG + "}\n", "line 5: a row must have 2 cells, got 1"),
        ("@attribute f numeric", "0 1 {" + "9" * _LONG + "}\n", "line 5: the weight of a row must be a finite number"),
        ("@attribute f {x" + " " * _LONG, "0,x\n", "line 3: the values of attribute 'f' must read"),
        ("@attribute f {'" + "\\" * _LONG + "}", "0,x\n", "line 3: the values of attribute 'f' must read"),
        ("@attribute '" + "x\\'" * _LONG + " {x}", "0,x\n", "line 3: @attribute must be followed by a name"),
        ("@attribute f numeric [" + " " * _LONG, "0,1\n", "line 3: the type of attribute 'f' must be"),
        ("@attribute f numeric", "0," + " " * _LONG + "%'\n", "line 5: a cell must be a value"),
        ("@attribute f numeric", "0,x" + " " * _LONG + "'\n", "line 5: attribute 'f' must be a finite number"),
        ("@attribute f numeric", "0,'" + "\\'" * _LONG + "\n", "line 5: a cell must be a value"),
        ("@attribute f numeric", "{1 x" + " " * _LONG + "%\n", "line 5: a cell must read 'index value'"),
        ("@attribute f numeric", "{" + "1" * 5000 + " 1}\n", "line 5: an index must be from 0 to 1 .* of 5000 digits"),
        ("@attribute f numeric", "0," + "1" * _LONG + "e" + "9" * _LONG + "\n", "line 5: .* must be a finite number"),
        ("@attribute f numeric\n" * 2, "0,1,\0\n", r"line 7: attribute 'f' must be a finite number, got '\\x00'"),
    ],
    ids=[
        "blanks in a value", "letters of a format", "open format", "relations in relations", "blanks between cells",
        "digits of a weight alone", "digits of a weight", "open braces", "backslashes in a value", "quotes in a name",
        "open range",
        "blanks in a cell", "blanks before a quote", "quotes in a cell", "blanks in a sparse row",
        "digits of an index", "exponent", "NUL",
    ],
)  # fmt: skip
def test_long_runs_in_arff(write_arff, declaration, rows, message):
    """Runs of blanks, quotes, backslashes and digits are errors with their line, in linear time."""
    with pytest.raises(ValueError, match=r"a.arff,? .*" + message) as caught:
        read_meka(write_arff(declaration, rows))
    assert len(str(caught.value)) < 1500


def test_values_of_arff_lose_the_blanks_around_them(write_arff):
    """A bare value, in the header and in rows, ends before the blanks behind it; within quotes they stay."""
    declaration = "@attribute f { a b  ,'c '\t, d\t}\n@attribute g numeric"
    data = read_meka(write_arff(declaration, "0, a b  ,'1' \n1,  'c ' ,2\n"), nominal="codes")
    assert data.X.tolist() == [[0, 1], [1, 2]]
    path = write_arff(declaration, "{1 a b  , 2  '3'  }\n{1 'c '\t}\n")
    assert read_meka(path, nominal="codes").X.toarray().tolist() == [[0, 3], [1, 0]]


def test_many_declarations_of_nominal_attributes(write):
    """Thousands of attributes, each with values of its own, are looked up together."""
    n = 5000
    attributes = "".join(f"@attribute a{i} {{0,{i + 2}}}\n" for i in range(n))
    rows = "0," + ",".join("0" for _ in range(n)) + "\n" + "1," + ",".join(str(i + 2) for i in range(n)) + "\n"
    path = write("a.arff", f"@relation 'x: -C 1'\n@attribute l {{0,1}}\n{attributes}@data\n{rows * 10}")
    data = read_meka(path, nominal="codes")
    assert data.X.sum(axis=1).tolist() == [0, n] * 10


def test_a_long_name_with_many_values(write_arff):
    """Names of columns, an attribute with a value, may not be a thousand times as long as the header."""
    declaration = "@attribute " + "x" * _LONG + " {" + ",".join(map(str, range(2000))) + "}"
    with pytest.raises(ValueError, match=r"line 4: .* must make names of at most 67108864 characters in all"):
        read_meka(write_arff(declaration, "0,1\n"))


def test_sparse_rows_of_many_categories(write_arff):
    """Cells that sparse rows leave out, and missing values of long declarations, may not fill the memory."""
    many = "\n".join(f"@attribute a{i} {{x,y,z}}" for i in range(2000))
    with pytest.raises(ValueError, match=r"a.arff must have values in most cells, got .* Hint: nominal='codes'"):
        read_meka(write_arff(many, "{}\n" * 20_000))
    long = "@attribute a {" + ",".join(f"v{i}" for i in range(_LONG)) + "}"
    with pytest.raises(ValueError, match=r"a.arff must have values in most cells"):
        read_meka(write_arff(long, "0,?\n" * 500))


def test_inverted_labels_of_sparse_rows(write):
    """Labels declared {1,0} are 1 in each cell that is left out; they may not fill the memory either."""
    labels = "".join(f"@attribute l{i} {{1,0}}\n" for i in range(2000))
    path = write("a.arff", f"@relation 'x: -C 2000'\n{labels}@attribute f numeric\n@data\n" + "{}\n" * 20_000)
    with pytest.raises(ValueError, match=r"a.arff must have values in most cells, .* declare labels as \{0,1\}"):
        read_meka(path)


def test_a_label_option_of_many_digits(write):
    """The number of labels in a relation's name is no number of 5,000 digits."""
    path = write("a.arff", f"@relation 'x: -C {'9' * 5000}'\n@attribute l {{0,1}}\n@attribute f numeric\n@data\n0,1\n")
    with pytest.raises(ValueError, match=r"a.arff: -C must be from 1 to 1 for 2 attributes, got a number of 5000"):
        read_meka(path)


def test_a_deep_xml_file(tmp_path):
    """Elements within elements take no stack and no tree; the labels in them are found."""
    path = tmp_path / "a.xml"
    path.write_text("<labels>" + "<x>" * _LONG + '<label name="cat"/>' + "</x>" * _LONG + "</labels>")
    assert _label_names(path) == ["cat"]
    path.write_text("<labels>" + "<x>" * _LONG)
    with pytest.raises(ValueError, match=r"a.xml must be well-formed XML, got: no element found: line 1"):
        _label_names(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[" * _LONG, "line 1: the line must be JSON, got: it is nested too deeply"),
        (b'{"a": ' * _LONG, "line 1: the line must be JSON, got: it is nested too deeply"),
        (b'{"a": 1}\n{"a": "\xff"}\n', "line 2: the line must be JSON"),
        (b'{"a": 1}\n\0\n', "line 2: the line must be JSON"),
        (b"\xff\xfe{\0}\0\n\0", "line 1: the line must be JSON"),
        (b'{"e": [' + b"1," * _LONG + b'1], "l": 1}\n' + b'{"l": 0}\n' * 10_000, "must have values in most cells"),
    ],
    ids=["arrays", "objects", "no UTF-8", "NUL", "UTF-16", "a long list and missing ones"],
)
def test_json_lines(tmp_path, content, message):
    """Nesting, other encodings and lists that most rows lack are errors with their line."""
    path = tmp_path / "a.jsonl"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a.jsonl.* " + message):
        read_table(path, labels=["l"])


def test_characters_in_deep_lists(write):
    """Near the depth at which JSON is no longer read, its characters are checked, or the depth is the error."""
    for depth in range(900, 1000):
        line = '{"x": 1, "l": 1, "t": ' + "[" * depth + r'"\ud83d\ude00"' + "]" * depth + "}\n"
        path = write("a.jsonl", line)
        with pytest.raises(ValueError, match=r"a\.jsonl"):
            read_table(path, labels=["l"])


def test_columns_of_csv(write, monkeypatch):
    """Each takes memory in every block, so there is a limit."""
    monkeypatch.setattr("nearlabel.datasets._csv_file._MOST_COLUMNS", 3)
    assert read_table(write("a.csv", "f,g,l\n1,2,0\n"), labels=["l"]).X.tolist() == [[1, 2]]
    with pytest.raises(ValueError, match=r"a\.csv, line 2: there must be at most 3 columns, got 4\. Hint: svmlight"):
        read_table(write("a.csv", "\nf,g,h,l\n1,2,3,0\n"), labels=["l"])


def test_half_a_pair_of_surrogates(write):
    """JSON can write half a character, which no text holds: an error with its line."""
    for text in ('{"t": "\\ud800", "l": 1}\n', '{"t": ["a", "\\udfff"], "l": 1}\n'):
        with pytest.raises(ValueError, match=r"a.jsonl, line 1: .*half a character"):
            read_table(write("a.jsonl", text), labels_column="t")


def test_rows_without_known_tags(write):
    """Rows whose tags are all unknown have a cell for each tag: too many of them are refused."""
    rows = json.dumps({"f": 1, "t": [f"tag {i}" for i in range(10_000)]}) + "\n" + '{"f": 1, "t": null}\n' * 5000
    with pytest.raises(ValueError, match=r"a.jsonl must have values in most cells, .* leave out rows of unknown tags"):
        read_table(write("a.jsonl", rows), labels_column="t")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" \n" * _LONG, "a.csv must begin with a line of column names"),
        ("l,\0end\n1,2\n", None),
        ("l,f\n1," + '"' * (2 * _LONG + 1), "a quote must be closed"),
        ("l,f\n1," + "9" * 5000 + "\n", r"line 2: column 'f' must contain numbers, got '999.* \(float64 cannot"),
        ("l,f\n1," + "0" * 5000 + "1\n", None),
        ("l,f\n1,1e" + "9" * _LONG + "\n", r"line 2: column 'f' must contain numbers, got '1e999.* \(float64 cannot"),
        ("l,f\n1,x" + " " * _LONG + "\n", "line 2: column 'f' must contain numbers"),
        ("l,f\n1," + "," * _LONG, "line 2: a row must have 2 cells, as the header has, got 100002"),
    ],
    ids=["blank lines", "our mark of the end", "quotes", "digits", "zeros", "exponent", "blanks", "commas"],
)
def test_csv(write, text, message):
    """Blank lines, quotes, commas and long numbers take linear time."""
    path = write("a.csv", text)
    if message is None:
        assert read_table(path, labels=["l"]).Y.tolist() == [[1]]
    else:
        with pytest.raises(ValueError, match=message):
            read_table(path, labels=["l"])


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_other_encodings(tmp_path, encoding):
    """Tables in an encoding that is not read are errors that name the file."""
    path = tmp_path / "a.csv"
    path.write_bytes("l,f\n1,2\n".encode(encoding))
    with pytest.raises(ValueError, match=r"a\.csv"):
        read_table(path, labels=["l"])


def test_many_columns(write):
    """Each column of a wide table is found at once."""
    n = 8000
    text = "l," + ",".join(f"f{i}" for i in range(n)) + "\n" + "1," + ",".join("2" for _ in range(n)) + "\n"
    assert read_table(write("a.csv", text), labels=["l"]).X.sum() == 2 * n


def test_dates_beyond_the_calendar(write):
    """A date whose time in UTC would be before year 1 is an error with its line."""
    path = write("a.csv", "l,d\n1,0001-01-01T00:00+23:59\n")
    with pytest.raises(ValueError, match=r"a.csv, line 2: column 'd' must contain dates"):
        read_table(path, labels=["l"], dates=["d"])
    with pytest.raises(ValueError, match=r"column 'd' must contain numbers"):
        read_table(path, labels=["l"])


def test_written_lists():
    """Lists as Python writes them are read text by text, whatever the backslashes, without a warning."""
    assert read_written(r"['a\'b', 'c\d', ]") == ["a'b", r"c\d"]
    assert read_written("[" + "'a'," * 10_000 + "]") == ["a"] * 10_000
    for text in (
        "[" * _LONG,
        "{" * _LONG,
        "[" * _LONG + "]" * _LONG,
        r"['\N{no such name}']",
        "{'a': " * 99 + "}" * 99,
    ):
        with pytest.raises(ValueError, match=r"\W"):
            read_written(text)


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress], ids=["gzip", "bzip2"])
@pytest.mark.parametrize("name", ["a.arff", "a.svm", "a.csv", "a.jsonl"])
def test_what_files_unpack_to_is_limited(tmp_path, compress, name):
    """One long line of zeros, packed, is an error as soon as the limit is passed, which the caller may say."""
    path = tmp_path / name
    path.write_bytes(compress(b"0" * 10**6))
    with pytest.raises(ValueError, match=rf"{name} must unpack to at most 100000 bytes, got more. Hint: a larger max"):
        load_dataset(path, max_unpacked_bytes=10**5, **({"labels": ["l"]} if name in ("a.csv", "a.jsonl") else {}))
    with pytest.raises(ValueError, match=r"must unpack to at most 100000 bytes"):
        list(open_rows(path, ["0"], max_unpacked_bytes=10**5))


def test_the_limit_is_one_of_compressed_files(write):
    """A file that is read as it is has the size that it has; the limit must be a number all the same."""
    path = write("a.svm", "0 0:1\n" * 100)
    assert load_dataset(path, max_unpacked_bytes=10).X.shape == (100, 1)
    with pytest.raises(TypeError, match="max_unpacked_bytes must be an integer, got 'x'"):
        load_dataset(path, max_unpacked_bytes="x")


@pytest.mark.parametrize("name", ["a.arff", "a.svm", "a.csv", "a.jsonl", "a.xlsx"])
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on Windows")
def test_pipes_and_sockets_are_refused_at_once(tmp_path, name):
    """A pipe that nobody writes to would be waited for without end."""
    os.mkfifo(tmp_path / name)
    labels = {} if name in ("a.arff", "a.svm") else {"labels": ["l"]}
    for read in (lambda path: load_dataset(path, **labels), lambda path: list(open_rows(path, ["f"]))):
        with pytest.raises(ValueError, match=rf"{name} must be a file that can be read several times, got a pipe"):
            read(tmp_path / name)
    (tmp_path / name).unlink()
    before = Path.cwd()
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            os.chdir(tmp_path)  # paths of sockets are short
            listener.bind(name)
        finally:
            os.chdir(before)
        with pytest.raises(ValueError, match="got a socket"):
            load_dataset(tmp_path / name, **labels)


def test_folders_and_devices(tmp_path):
    """A folder is an OSError that names it, a device an error at once, in each reader that opens files itself."""
    (tmp_path / "a.svm").mkdir()
    with pytest.raises(OSError, match=r"a\.svm"):
        load_dataset(tmp_path / "a.svm")
    if Path("/dev/zero").exists():
        (tmp_path / "a.csv").symlink_to("/dev/zero")
        with pytest.raises(ValueError, match=r"a\.csv must be a file .*, got a device"):
            read_corrections(tmp_path / "a.csv")
        (tmp_path / "b.xml").symlink_to("/dev/zero")
        with pytest.raises(ValueError, match=r"b\.xml must be a file .*, got a device"):
            _label_names(tmp_path / "b.xml")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on Windows")
def test_a_pipe_beside_an_arff_file(tmp_path, write_arff):
    """Of the XML files beside an ARFF file those that are no files are nobody's mistake."""
    os.mkfifo(tmp_path / "b.xml")
    assert load_dataset(write_arff("@attribute f numeric", "1,2\n")).Y.tolist() == [[1]]


def test_messages_and_hints_are_short():
    """A long text of a file is cut in messages, and compared with no other."""
    assert shortened("x" * _LONG) == "'" + "x" * 59 + "..."
    assert shortened("xy") == "'xy'"
    assert did_you_mean("x" * _LONG, ["y" * _LONG]) == ""
    assert did_you_mean("wdith", ["width", "z" * _LONG]) == " Did you mean 'width'?"
    deep = []
    for _ in range(_LONG):
        deep = [deep]
    assert shortened(deep) == "a deeply nested list"
    while deep:  # else the test's own list would be taken apart by recursion
        deep = deep.pop()


@pytest.mark.parametrize("text", ["(" * 5000, "-" * 900 + "1", "[" * 900 + "]" * 900, "9" * 5000, r"'\d'[", "1" * 1001])
def test_specifications_of_methods(text):
    """What Python cannot parse, for brackets or signs or digits, is a text."""
    assert read_value(text) == text


def test_values_of_specifications():
    """Numbers, truth values and None are read as before."""
    assert [read_value(text) for text in ("3", "0.5", "True", "None", "mean")] == [3, 0.5, True, None, "mean"]
    assert np.isnan(read_value("nan"))


def test_corrections(write):
    """A row number of 5,000 digits, and a label far longer than any, are errors with their line."""
    path = write("c.csv", f"row,label,correct\n{'9' * 5000},a,1\n")
    with pytest.raises(ValueError, match=r"c.csv, line 2: row must be the number of a row, from 0"):
        read_corrections(path)


def test_mulan_names_its_xml_file(write, write_xml):
    """A label of 100,000 letters that is missing is told in part."""
    path = write("a.arff", "@relation x\n@attribute f numeric\n@attribute l {0,1}\n@data\n1,1\n")
    with pytest.raises(ValueError, match=r"a.xml: every label must be an attribute") as caught:
        read_mulan(path, write_xml("a.xml", "z" * _LONG))
    assert len(str(caught.value)) < 1000


def test_workbooks_that_are_bombs(tmp_path):
    """A workbook that unpacks to more than the caller allows is an error before it is read."""
    pytest.importorskip("openpyxl")
    path = tmp_path / "a.xlsx"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", " " * 10**6)
    with pytest.raises(ValueError, match=r"a.xlsx must unpack to at most 100000 bytes, got more"):
        read_table(path, labels=["l"], max_unpacked_bytes=10**5)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", " " * 2**23)
    with pytest.raises(ValueError, match=r"a.xlsx must be a whole Excel workbook.*at most 4194304 bytes"):
        read_table(path, labels=["l"])


@pytest.mark.parametrize(
    "text", ["a = " + "[" * _LONG, "a = \xff", "a = " + "9" * 5000], ids=["deep", "bytes", "digits"]
)
def test_papers(tmp_path, text):
    """A paper's file that is no TOML, or nested too deeply, is an error that names it."""
    path = tmp_path / "paper.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"paper.toml must be TOML in UTF-8, got an error"):
        read_paper(path)


@pytest.mark.long
def test_sheets_of_empty_cells(tmp_path):
    """Neither what a sheet says of its size nor cells without value in the last column cost memory and time."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["l", "f"])
    book.active.append([1, 2])
    book.save(tmp_path / "plain.xlsx")
    empty = "".join(f'<row r="{row}"><c r="ZZZ{row}"/></row>' for row in range(3, 2000))
    lie = ("a.xlsx", 'ref="A1:B2"', 'ref="A1:XFD1048576"')
    for name, old, new in (lie, ("b.xlsx", "</sheetData>", f"{empty}</sheetData>")):
        with zipfile.ZipFile(tmp_path / "plain.xlsx") as plain, zipfile.ZipFile(tmp_path / name, "w") as changed:
            for member in plain.namelist():
                text = plain.read(member)
                changed.writestr(member, text.replace(old.encode(), new.encode()) if "sheet1" in member else text)
    assert read_table(tmp_path / "a.xlsx", labels=["l"]).X.tolist() == [[2]]
    with pytest.raises(ValueError, match=r"b.xlsx must be a whole Excel workbook.*nearly all of its cells are empty"):
        read_table(tmp_path / "b.xlsx", labels=["l"])
