"""Rows of CSV text with the numbers of their lines."""

import csv
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nearlabel.datasets import read_table
from nearlabel.datasets._csv_rows import cells_of_any_length, numbered_rows

PATH = Path("toy.csv")


def test_numbers():
    """A row has the number of its first line; empty lines are counted, but no rows; a return in quotes is a letter."""
    text = b'a,b\r\n\n"c\nd",e\n\r\nf,"g\rh"\ni'
    rows = list(numbered_rows(PATH, 5, text, ",", "utf-8"))
    assert rows == [(5, ["a", "b"]), (7, ["c\nd", "e"]), (10, ["f", "g\rh"]), (11, ["i"])]


def test_a_carriage_return_alone():
    """The line is named, not what the reader says."""
    with pytest.raises(
        ValueError, match=r"^toy\.csv, line 2: a line must end in a newline, got a carriage return alone"
    ):
        list(numbered_rows(PATH, 1, b"a\nb\rc\n", ",", "utf-8"))


def test_limit_of_the_process_stays():
    """Long cells are read; afterwards the reader's limit is what it was, also behind an error and among threads."""
    before = csv.field_size_limit()
    with cells_of_any_length():
        ((_, cells),) = numbered_rows(PATH, 1, b"a" * (before + 1), ",", "utf-8")
    assert (len(cells[0]), csv.field_size_limit()) == (before + 1, before)
    with pytest.raises(KeyError), cells_of_any_length():
        raise KeyError
    assert csv.field_size_limit() == before

    def read(_):
        with cells_of_any_length():
            return len(list(numbered_rows(PATH, 1, b"a,b\n" * 1000, ",", "utf-8")))

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(read, range(50))) == {1000}
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
