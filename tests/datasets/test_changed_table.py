"""Copies of tables with other labels in some cells: every other byte, or value, stays."""

import bz2
import gzip
import json
import math
from pathlib import Path

import numpy as np
import pytest

from nearlabel.datasets import read_table
from nearlabel.datasets._label_codes import Codes, changed_cell
from nearlabel.datasets._parquet_file import copy_parquet
from nearlabel.datasets._written_tags import Notation, changed_tags
from nearlabel.datasets.tables import copy_with_labels

pytest.importorskip("pyarrow")
NAN = math.nan


def copied(folder, content, changes, *, name="a.csv", out="b.csv", **options):
    """Write a file, copy it with changes, and return what the copy holds."""
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    copy_with_labels(
        path, folder / out, changes, options or {"labels": sorted({label for _, label, _ in changes} or {"m_a"})}
    )
    return (folder / out).read_bytes()


AWKWARD = (
    b'\xef\xbb\xbfid,"na,me",m_a,m_b\r\n\r\n'
    b'1,"x, ""y""\nz",1,0\r\n'
    b'2,caf\xc3\xa9,"0",Yes\r\n\r\n'
    b'3, "b"c,,no\n'
    b'"4",d"e,1.0,TRUE'
)


def test_every_other_byte_stays(tmp_path):
    """The mark of UTF-8, blank lines, quotes, line ends and their lack, numbers and words as they were written."""
    changes = [
        (0, "m_a", 0),
        (0, "m_b", NAN),
        (1, "m_a", 1),
        (1, "m_b", 0),
        (2, "m_a", 1),
        (3, "m_a", 0),
        (3, "m_b", 0),
    ]
    assert copied(tmp_path, AWKWARD, changes) == (
        b'\xef\xbb\xbfid,"na,me",m_a,m_b\r\n\r\n'
        b'1,"x, ""y""\nz",0,\r\n'
        b'2,caf\xc3\xa9,"1",No\r\n\r\n'
        b'3, "b"c,1,no\n'
        b'"4",d"e,0.0,FALSE'
    )
    assert copied(tmp_path, AWKWARD, []) == AWKWARD


def test_what_is_read_back_has_the_changes(tmp_path):
    """Of a file of many blocks, each cell that changes and no other, by the reader."""
    rng = np.random.default_rng(0)
    n_rows, names = 3000, ["m_a", "m_b", "m_c"]
    Y = rng.integers(0, 2, (n_rows, 3))
    lines = [f'{row},"te\nxt",{",".join(map(str, y))}' for row, y in enumerate(Y.tolist())]
    cells = [divmod(cell, 3) for cell in rng.choice(Y.size, 400, replace=False).tolist()]
    changes = [(row, names[label], 1 - Y[row, label]) for row, label in cells]
    copied(tmp_path, "x,t,m_a,m_b,m_c\n" + "\n".join(lines), changes)
    for row, label in cells:
        Y[row, label] = 1 - Y[row, label]
    np.testing.assert_array_equal(read_table(tmp_path / "b.csv", labels_prefix="m_", ignore=["t"]).Y, Y)


@pytest.mark.parametrize(("suffix", "opened"), [(".gz", gzip.decompress), (".bz2", bz2.decompress), ("", bytes)])
def test_compression_is_that_of_the_name(tmp_path, suffix, opened):
    """Of a plain file or a packed one."""
    packed = gzip.compress(b"x,m\n1,0\n2,1\n")
    found = copied(tmp_path, packed, [(1, "m", 0)], name="a.csv.gz", out=f"b.csv{suffix}")
    assert opened(found) == b"x,m\n1,0\n2,0\n"
    assert found == copied(tmp_path, packed, [(1, "m", 0)], name="a.csv.gz", out=f"b.csv{suffix}")  # no time in it


@pytest.mark.parametrize(
    ("old", "tags", "separator", "new"),
    [
        ("a;b", {"b": False}, ";", "a"),
        ("a;b", {"a": False}, ";", "b"),
        ("a; b", {"a": False, "c": True}, ";", "b; c"),
        ("a, b", {"a": False}, ",", "b"),
        ("a;a;b", {"a": False}, ";", "b"),
        ("a", {"a": False}, ";", ""),
        ("", {"a": True}, ";", "a"),
        ("a;b", {"b": True}, ";", "a;b"),
        ("?", {"a": True}, ";", "?;a"),
        ('["a", "b"]', {"a": False, "ç": True}, ";", '["b", "ç"]'),
        ("['a']", {"b": True}, ";", "['a', 'b']"),
        ("[]", {"a": True}, ";", '["a"]'),
        ("[1, 2]", {"2": False, "3": True}, ";", "[1, 3]"),
        (["a", "b"], {"a": False, "c": True}, ";", ["b", "c"]),
        ([1, 2], {"1": False, "3": True}, ";", [2, 3]),
        (5, {"5": False, "6": True}, ";", 6),
    ],
)
def test_cells_of_tags(old, tags, separator, new):
    """Texts with separators, lists as JSON and Python write them, lists, and numbers."""
    assert changed_tags(old, tags, Notation(separator)) == new


@pytest.mark.parametrize(
    ("old", "tags", "message"),
    [
        (None, {"a": True}, "a missing value, which means that all tags are unknown"),
        ("?", {"a": False}, "no tag 'a', and cannot express that this one is known not to apply"),
        ("a", {"b;c": True}, "the separator ';' in the tag 'b;c'"),
        (5, {"6": True}, "5, which is one tag and would become 2"),
        (5, {"5": False}, "5, which is one tag and would become 0"),
    ],
)
def test_what_tags_cannot_say(tmp_path, old, tags, message):
    """Then nothing is written."""
    with pytest.raises(ValueError, match=message):
        changed_tags(old, tags, Notation())


@pytest.mark.parametrize(
    ("old", "value", "unknown", "new"),
    [
        ("1", 0, None, "0"),
        (" 0 ", 1, None, " 1 "),
        ("1,00", 0, None, "0,00"),
        ("True", 0, None, "False"),
        ("NO", 1, None, "YES"),
        ("n/k", 1, "n/k", "1"),
        ("1", NAN, "n/k", "n/k"),
        ("1", NAN, None, ""),
        (True, 0, None, False),
        (1, 0, None, 0),
        (1.0, 0, None, 0.0),
        (None, 1, None, 1),
        (-1, 1, "-1", 1),
        (1, NAN, "-1", -1),
        (1, NAN, None, None),
    ],
)
def test_cells_of_zero_and_one(old, value, unknown, new):
    """Written as the cell was."""
    found = changed_cell(old, value, Codes(unknown))
    assert (found, type(found)) == (new, type(new))


def test_json_lines(tmp_path):
    """Lines without a change stay as they are, of the others all values."""
    content = '\ufeff{"x": 1.50, "m": true}\n\n{"x":2,"m":false}\r\n{"x": 1e5, "m": null, "é": "é"}'
    found = copied(tmp_path, content, [(0, "m", 0), (2, "m", 1)], name="a.jsonl", out="b.ndjson").decode()
    first, blank, second, last = found.split("\n")
    assert (blank, second) == ("", '{"x":2,"m":false}\r')
    assert json.loads(first.removeprefix("\ufeff")) == {"x": 1.5, "m": False}
    assert json.loads(last) == {"x": 1e5, "m": 1, "é": "é"}


def test_json_lines_with_escapes(tmp_path):
    """A line of ASCII stays one."""
    content = r'{"title": "d\ud83d\ude00 \u00e9", "m": 1}'
    found = copied(tmp_path, content, [(0, "m", 0)], name="a.jsonl", out="b.jsonl").decode()
    assert found == r'{"title": "d\ud83d\ude00 \u00e9", "m": 0}'


def test_parquet(tmp_path):
    """Types, groups of rows, compression and the index of pandas stay."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {
        "x": [1.0, 2.0, 3.0],
        "m_a": arrow.array([True, None, False]),
        "m_b": arrow.array([1, 0, None], arrow.int8()),
        "tags": arrow.array([["u", "v"], [], None]),
    }
    table = arrow.table(columns).replace_schema_metadata({"pandas": '{"index_columns": ["x"]}'})
    path, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
    parquet.write_table(table, path, row_group_size=2, compression="zstd")
    copy_with_labels(path, out, [(0, "m_a", 0), (1, "m_a", 1), (2, "m_b", 1), (0, "m_b", NAN)], {"labels_prefix": "m_"})
    found, before, after = parquet.read_table(out), parquet.ParquetFile(path), parquet.ParquetFile(out)
    assert found.schema.equals(parquet.read_schema(path), check_metadata=True)
    assert found["m_a"].to_pylist() == [False, True, False]
    assert found["m_b"].to_pylist() == [None, 0, 1]
    assert found["tags"].to_pylist() == table["tags"].to_pylist()
    assert after.num_row_groups == before.num_row_groups == 2
    assert after.metadata.row_group(0).column(0).compression == "ZSTD"
    copy_with_labels(path, out, [(0, "u", 0), (1, "w", 1)], {"labels_column": "tags"})
    assert parquet.read_table(out)["tags"].to_pylist() == [["v"], ["w"], None]


@pytest.mark.parametrize("damaged", [slice(4, 2000), slice(-300, None)], ids=["rows", "description"])
def test_damaged_parquet(tmp_path, damaged):
    """The error names the file, and no copy is made."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path, out = tmp_path / "a.parquet", tmp_path / "b.parquet"
    columns = {"x": np.random.default_rng(0).normal(size=5000), "m_a": np.arange(5000) % 2}
    parquet.write_table(arrow.table(columns), path, compression="zstd")
    content = bytearray(path.read_bytes())
    content[damaged] = bytes(len(content[damaged]))
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.parquet must be a whole Parquet file, got a damaged one \("):
        copy_parquet(path, out, {"m_a": {0: int}})
    with pytest.raises(ValueError, match=r"a\.parquet"):
        copy_with_labels(path, tmp_path / "c.parquet", [(0, "m_a", 1)], {"labels": ["m_a"]})
    assert not (tmp_path / "c.parquet").exists()


@pytest.mark.parametrize(
    ("name", "out", "message"),
    [
        ("a.csv", "b.tsv", "--out must end in .csv or .npz for .*a.csv, got 'b.tsv'"),
        ("a.csv", "b.parquet", "must end in .csv or .npz"),
        ("a.xlsx", "b.xlsx", "--out must end in .npz for .*a.xlsx, got 'b.xlsx'"),
        ("a.jsonl", "b.csv", "must end in .jsonl or .ndjson or .npz"),
    ],
)
def test_other_formats_are_refused(name, out, message):
    """A copy is of the format of the table."""
    with pytest.raises(ValueError, match=message):
        copy_with_labels(Path(name), Path(out), [], {})


def test_nothing_is_written_after_an_error(tmp_path):
    """What was there stays, and no other file is left behind; the message names row and column."""
    (tmp_path / "b.csv").write_text("before")
    with pytest.raises(ValueError, match=r"a.csv, row 1: column 't' must take corrections, got no tag 'u', and"):
        copied(tmp_path, "x,t\n1,u\n2,?\n", [(0, "u", 0), (1, "u", 0)], labels_column="t", unknown="?")
    with pytest.raises(ValueError, match=r"corrections must be 0 or 1 where labels are tags, got \? for row 1"):
        copied(tmp_path, "x,t\n1,u\n2,u\n", [(1, "u", NAN)], labels_column="t")
    assert (tmp_path / "b.csv").read_text() == "before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv"]
