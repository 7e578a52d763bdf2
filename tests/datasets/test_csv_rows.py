"""Rows of CSV text with the numbers of their lines."""

import csv
import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nearlabel.datasets import read_table
from nearlabel.datasets._csv_file import _OpenQuoteError, _rows


def rows_of(text, first_line=1):
    """All rows with the numbers of their lines."""
    return list(_rows(Path("toy.csv"), first_line, io.BytesIO(text), ","))


def test_numbers():
    """A row has the number of its first line; empty lines are counted, but no rows; a return in quotes is a letter."""
    rows = rows_of(b'a,b\r\n\n"c\nd",e\n\r\nf,"g\rh"\ni', 5)
    assert rows == [(5, ["a", "b"]), (7, ["c\nd", "e"]), (10, ["f", "g\rh"]), (11, ["i"])]


def test_a_carriage_return_alone():
    """The line is named, not what the reader says."""
    with pytest.raises(
        ValueError, match=r"^toy\.csv, line 2: a line must end in a newline, got a carriage return alone"
    ):
        rows_of(b"a\nb\rc\n")


@pytest.mark.parametrize(("text", "line"), [
    (b'a,"b\n', 7), (b'a\n"b\nc\n', 8), (b'a\nb,"c\n\n""d', 8), (b'"a\nb","c\n', 8), (b'"', 7), (b'a\n"\n', 8),
])  # fmt: skip
def test_an_open_quote(text, line):
    """The line of the quote is named, wherever its row begins."""
    with pytest.raises(_OpenQuoteError, match=rf"^toy\.csv, line {line}: a quote must be closed, got one that is not"):
        rows_of(text, 7)


def test_limit_of_the_process_stays():
    """Long cells are read; afterwards the reader's limit is what it was, also behind an error and among threads."""
    before = csv.field_size_limit()
    ((_, cells),) = rows_of(b"a" * (before + 1))
    assert (len(cells[0]), csv.field_size_limit()) == (before + 1, before)
    with pytest.raises(ValueError, match="a quote must be closed"):
        rows_of(b'"a')
    assert csv.field_size_limit() == before
    with ThreadPoolExecutor(8) as pool:
        assert {len(rows) for rows in pool.map(lambda _: rows_of(b"a,b\n" * 1000), range(50))} == {1000}
    assert csv.field_size_limit() == before


def test_long_cells_in_tables(write):
    """Neither a long name nor a long text that is ignored is in the way of the right answer, or the right line."""
    before, long = csv.field_size_limit(), "z" * 200_000
    data = read_table(write("a.csv", f"{long},y\n1,0\n"), labels=["y"])
    assert data.feature_names == (long,)
    with pytest.raises(ValueError, match=r"line 4: column 'a' must contain numbers, got 'x'"):
        read_table(write("b.csv", f"t,a,y\n{long},1,0\nt,2,1\nt,x,1\n"), labels=["y"], ignore=["t"])
    with pytest.raises(ValueError, match="line 3: a row must have 3 cells, as the header has, got 2"):
        read_table(write("c.csv", f"t,a,y\n{long},1,0\nt,2\n"), labels=["y"], ignore=["t"])
    assert csv.field_size_limit() == before
