"""Columns of categories, texts and dates in tables of every format."""

import math
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest

from nearlabel.datasets import Dataset, open_rows, read_table
from nearlabel.datasets._numeric_columns import proposed_option, read_cells
from nearlabel.datasets._table_file import CellError

pa = pytest.importorskip("pyarrow")

CSV = "n,place,said,on,y\n1,10115,so  so,2026-01-31,1\n, ,,,0\nNA,NA,none,2026-01-31T12:00Z,1\n"
OPTIONS = {"labels": ["y"], "categorical": ["place"], "text": ["said"], "dates": ["on"]}
KINDS = ("number", "category", "text", "date")


@pytest.fixture
def table(tmp_path):
    """A CSV file with holes."""
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    return path


def test_cells_of_csv(table):
    """Numbers are float, categories and texts str or None, dates datetime or NaN; only empty cells miss a category."""
    data = read_table(table, **OPTIONS)
    assert data.feature_kinds == KINDS
    first, holes, words = data.X.tolist()
    assert first == [1.0, "10115", "so  so", datetime(2026, 1, 31)]
    assert holes[1:3] == [None, None]
    assert math.isnan(holes[0])
    assert math.isnan(holes[3])
    assert math.isnan(words[0])
    assert words[1:] == ["NA", "none", datetime(2026, 1, 31, 12)]


def test_numbers_alone_stay_a_matrix(table):
    """Without the options nothing changes."""
    data = read_table(table, labels=["y"], ignore=["place", "said", "on"])
    assert (data.X.dtype, data.feature_kinds) == (np.float64, ("number",))


def test_rows_for_prediction(table):
    """Blocks hold the same cells, in the order asked for."""
    names, kinds = ("on", "n", "place"), ("date", "number", "category")
    blocks = list(open_rows(table, names, feature_kinds=kinds, id_column="said", block_rows=2))
    assert [block.X.shape for block in blocks] == [(2, 3), (1, 3)]
    assert blocks[0].X[0].tolist() == [datetime(2026, 1, 31), 1.0, "10115"]
    assert blocks[1].ids.tolist() == ["none"]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([3, None], pa.int8()), ["3", None]),
        (pa.array([3.0, 0.5]), ["3", "0.5"]),
        (pa.array([True, False, None]), ["true", "false", None]),
        (pa.array([Decimal("1.50")]), ["1.50"]),
        (pa.array([" a", "a ", "b c", " "]), ["a", "a", "b c", None]),
        (pa.array([None, None], pa.string()), [None, None]),
    ],
)
def test_categories_are_texts(array, expected):
    """The same place is the same category in every format."""
    assert read_cells("category", array).tolist() == expected


@pytest.mark.parametrize(
    "array",
    [
        pa.array([date(2026, 1, 31)]),
        pa.array([datetime(2026, 1, 31)], pa.timestamp("ns")),
        pa.array([datetime(2026, 1, 31, tzinfo=UTC)], pa.timestamp("s", "Europe/Berlin")),
        pa.array(["2026-01-31"]),
        pa.array([" 20260131 "]),
        pa.array(["2026-01-31T01:00+01:00"]),
    ],
)
def test_dates(array):
    """Dates, times and texts of them are times without a zone."""
    assert read_cells("date", array).tolist() == [datetime(2026, 1, 31)]


def test_what_is_no_date():
    """The first such row is named; a number is none."""
    with pytest.raises(CellError, match=r"'31\.01\.2026'") as caught:
        read_cells("date", pa.array([None, "2026-01-31", "31.01.2026", "31.01.2026"]))
    assert caught.value.row == 2


@pytest.mark.parametrize(
    ("values", "option"),
    [
        ([*(f"s{number}" for number in range(40)), "s3"], "ignore"),
        ([*(f"s{number}" for number in range(40)), "s3", "s4", "s5"], "text"),
        (["a", "b", "a", "b", None], "categorical"),
        (["a", "b", "c"], "text"),
        ([f"s{number}" for number in range(20)], "ignore"),
        ([f"song {number}" for number in range(20)], "text"),
        ([str(number % 51) + "x" for number in range(200)], "text"),
        (["2026-01-31", "", "2026-02-01"], "dates"),
        (["2026-01-31", None, "2026-02-01"], "dates"),
        (["1", "2", "3", "x"], None),
        ([None, None], None),
        (["20260131"], None),
    ],
)
def test_proposed_option(values, option):
    """Few distinct values are categories, words apart in each row names; where most are numbers, one is a mistake."""
    assert proposed_option(pa.array(values, pa.string())) == option


@pytest.mark.parametrize(
    ("name", "values", "option"),
    [
        ("ticket_ID", ["a1", "b7", "c4"], "ignore"),
        ("ticket", ["a1", "b7", "c4"], "text"),
        ("id", ["a1"], "text"),
        ("id", ["a1", "b7", "a1", "b7"], "categorical"),
        ("id", ["the first one", "the next one"], "text"),
    ],
)
def test_a_column_named_like_ids(name, values, option):
    """Few rows are enough if all differ, in single words."""
    assert proposed_option(pa.array(values, pa.string()), name) == option


def test_excel_dates(tmp_path):
    """A cell with a date is one."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in (["on", "place", "y"], [datetime(2026, 1, 31), 10115, 1], [None, 10117, 0]):
        book.active.append(row)
    book.save(tmp_path / "t.xlsx")
    X = read_table(tmp_path / "t.xlsx", labels=["y"], categorical=["place"], dates=["on"]).X
    assert X[0].tolist() == [datetime(2026, 1, 31), "10115"]
    assert X[1, 1] == "10117"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"categorical": ["x"]}, "categorical must name columns of .* got 'x'"),
        ({"text": ["y"]}, "text must name features, got 'y', which is a label or ignored"),
        ({"text": ["place"]}, "text must name columns of no other kind, each once, got 'place' again"),
        ({"dates": ["n"]}, "line 2: column 'n' must contain dates such as 2026-01-31, got '1'"),
    ],
)
def test_bad_options(table, options, message):
    """A name must be that of one feature."""
    with pytest.raises(ValueError, match=message):
        read_table(table, **OPTIONS | options)


def test_bad_kinds(table, tmp_path):
    """One for each feature; only tables have other kinds than numbers."""
    with pytest.raises(ValueError, match="feature_kinds must be empty or contain 1 of number, category, text, date"):
        open_rows(table, ["n"], feature_kinds=["nominal"])
    (tmp_path / "t.svm").write_text("0 0:1\n")
    with pytest.raises(ValueError, match=r"t\.svm must be a CSV, .* to have a text as feature '0'"):
        open_rows(tmp_path / "t.svm", ["0"], feature_kinds=["text"])
    with pytest.raises(ValueError, match="feature_kinds must contain 2 kinds, got 1"):
        Dataset(np.zeros((1, 2)), np.zeros((1, 1)), ("a", "b"), ("y",), "t", feature_kinds=("text",))


def test_a_list_is_no_category(tmp_path):
    """A column of lists of numbers is many features."""
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(pa.table({"e": [[1.0]], "y": [1]}), tmp_path / "t.parquet")
    with pytest.raises(ValueError, match=r"column 'e' of .* must contain categories, got type list"):
        read_table(tmp_path / "t.parquet", labels=["y"], categorical=["e"])
