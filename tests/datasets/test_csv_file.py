"""CSV files in blocks, against the standard library's reader."""

import csv

import numpy as np
import pytest

from nearlabel.datasets import _csv_file, _lines, load_dataset
from nearlabel.datasets._csv_file import CsvFile

DELIMITERS = {",": "toy.csv", ";": "toy.csv", "\t": "toy.tsv"}
PLAIN = ["a", "1", " ", "é", 'b"', "'"]
QUOTED = ["a", "\n", "\r\n", "\r", '""', ",", ";", "\t", '"",""', "é"]


def random_cell(rng, delimiter):
    """A cell as it may be written: plain with stray quotes, or quoted with anything, and plain text behind it."""
    others = [piece for other in DELIMITERS if other != delimiter for piece in (other, f'a{other}"')]
    plain = "".join(rng.choice([*PLAIN, *others], rng.integers(0, 5))).lstrip('"')
    if rng.random() < 0.5:
        return plain
    inner = "".join(rng.choice(QUOTED, rng.integers(0, 6)))
    return f'"{inner}"' + (plain if rng.random() < 0.3 else "")


@pytest.fixture(params=[1, 40])
def small_blocks(monkeypatch, request):
    """Blocks of a few bytes."""
    monkeypatch.setattr(_lines, "BLOCK_BYTES", request.param)
    monkeypatch.setattr(_csv_file, "_ROWS_A_BLOCK", 0)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("delimiter", DELIMITERS)
@pytest.mark.parametrize("seed", range(8))
def test_as_the_reader(tmp_path, delimiter, seed):
    """Whatever the cells hold and wherever blocks end, cells and numbers of lines are those of the reader."""
    rng = np.random.default_rng(seed)
    end = ["\n", "\r\n"][seed % 2]
    rows = [[random_cell(rng, delimiter) for _ in range(3)] for _ in range(60)]
    text = end.join(map(delimiter.join, [["x", "y", "z"], *rows])) + end
    path = tmp_path / DELIMITERS[delimiter]
    path.write_text(text, encoding="utf-8", newline="")
    cells, lines = [], []
    for batch in CsvFile(path).batches(["x", "y", "z"]):
        cells += zip(*(batch.columns[name].to_pylist() for name in "xyz"), strict=True)
        lines += [batch.locate(row) for row in range(batch.n_rows)]
    starts = []
    with path.open(encoding="utf-8", newline="\n") as file:
        reader = csv.reader(file, delimiter=delimiter)
        expected = []
        for row in reader:
            expected.append(tuple(cell or None for cell in row))
            starts.append(f"line {reader.line_num + 1}")
    assert cells == expected[1:]
    assert lines == starts[:-1]


def test_a_quote_behind_the_separator_of_other_files(tmp_path):
    """It is a letter, in files of many blocks too."""
    path = tmp_path / "x.csv"
    for letter in ";\t|":
        path.write_text("a,t,u,y\n" + f'1,x{letter}"y,"multi\nline",1\n' * 50_000)
        data = load_dataset(path, labels=["y"], ignore=["t", "u"])
        assert (data.X.shape, data.X.sum(), data.Y.sum()) == ((50_000, 1), 50_000, 50_000)


@pytest.mark.parametrize(("header", "names"), [
    ("a,b;c", ["a", "b;c"]), ("a;b", ["a", "b"]), ('"a,b";c', ["a,b", "c"]), ('"a;b",c', ["a;b", "c"]),
    ('a,b;"c', ["a", 'b;"c']), ('a,"b;c"', ["a", "b;c"]), ('"a\nb";"c,d"', ["a\nb", "c,d"]),
    ('a\t"b,c', ['a\t"b', "c"]), ('"a;\nb"', ["a;\nb"]), ('a\tb;c"', ["a\tb", 'c"']),
])  # fmt: skip
def test_delimiter(tmp_path, header, names):
    """A semicolon where the names have no comma outside quotes, else a comma; then quotes are read by it."""
    path = tmp_path / "toy.csv"
    path.write_text(f"{header}\n1,2;3\n", encoding="utf-8", newline="")
    assert list(CsvFile(path).columns) == names


def test_an_open_quote_in_the_names(tmp_path, monkeypatch):
    """Reading stops where the names are too long."""
    monkeypatch.setattr(_csv_file, "_LARGEST_BLOCK", 1000)
    next_bytes, sizes = _lines.Lines.next_bytes, []

    def counted(lines):
        line = next_bytes(lines)
        sizes.append(len(line))
        return line

    monkeypatch.setattr(_lines.Lines, "next_bytes", counted)
    path = tmp_path / "toy.csv"
    path.write_text('\na,"b\n' + "1,2\n" * 10_000)
    with pytest.raises(ValueError, match="line 2: a quote must be closed, got one that is not"):
        CsvFile(path)
    assert sum(sizes) < 4000


def test_a_row_that_is_longer_than_a_block(tmp_path, monkeypatch):
    """It is read with more blocks, and each row once."""
    monkeypatch.setattr(_lines, "BLOCK_BYTES", 32)
    monkeypatch.setattr(_csv_file, "_ROWS_A_BLOCK", 0)
    path = tmp_path / "toy.csv"
    path.write_text("x,t\n" + "".join(f"{row},\n" for row in range(100)) + f'100,"{"a" * 5000}\nb"\n' + "101,c\n" * 2)
    batches = list(CsvFile(path).batches(["x"]))
    assert [int(x) for batch in batches for x in batch.columns["x"].to_pylist()] == [*range(101), 101, 101]
    assert [batch.locate(row) for batch in batches for row in range(batch.n_rows)][-3:] == [
        "line 102", "line 104", "line 105",
    ]  # fmt: skip
