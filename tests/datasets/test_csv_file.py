"""CSV files in blocks, against the standard library's reader."""

import csv
import gzip
import re

import numpy as np
import pytest

from nearlabel.datasets import _csv_file, _lines, load_dataset, open_rows
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


# Tables as R writes them.

R_VALUES = ([[0.5, np.nan], [1.5, 2]], [[1, 0], [0, np.nan]])
R_FILES = {
    "write.csv": '"","f1","f 2","lab.A","lab.B"\n"1",0.5,NA,TRUE,FALSE\n"2",1.5,2,FALSE,NA\n',
    "write.table": '"f1" "f 2" "lab.A" "lab.B"\n"1" 0.5 NA TRUE FALSE\n"2" 1.5 2 FALSE NA\n',
    "names": '"f1" "f 2" "lab.A" "lab.B"\r\n"Mazda RX4" 0.5 NA TRUE FALSE\r\n"Fiat" 1.5 2 FALSE NA\r\n',
    "row.names=FALSE": '"f1" "f 2" "lab.A" "lab.B"\n0.5 NA TRUE FALSE\n1.5 2 FALSE NA\n',
    "sep=comma": '"f1","f 2","lab.A","lab.B"\n"1",0.5,NA,TRUE,FALSE\n"2",1.5,2,FALSE,NA\n',
    "sep=semicolon": "f1;f 2;lab.A;lab.B\n7;0.5;NA;TRUE;FALSE\n9;1.5;2;FALSE;NA\n",
    "sep=tab": '"f1"\t"f 2"\t"lab.A"\t"lab.B"\n"1"\t0.5\tNA\tTRUE\tFALSE\n"2"\t1.5\t2\tFALSE\tNA\n',
    "names without quotes": "f1,f 2,lab.A,lab.B\nMazda RX4,0.5,NA,TRUE,FALSE\nFiat,1.5,2,FALSE,NA\n",
}


@pytest.mark.parametrize("suffix", [".csv", ".txt", ".csv.gz"])
@pytest.mark.parametrize("text", R_FILES.values(), ids=R_FILES)
def test_tables_of_r(tmp_path, text, suffix):
    """With row names or without, whatever is between cells; NA is missing, and of a label unknown."""
    path = tmp_path / f"r{suffix}"
    path.write_bytes(gzip.compress(text.encode()) if suffix.endswith("gz") else text.encode())
    if suffix == ".txt" and not text.startswith('"'):
        with pytest.raises(ValueError, match=r"labels_prefix must go with a CSV.*a table must end in \.csv or \.tsv"):
            load_dataset(path, labels_prefix="lab.")
        return
    data = load_dataset(path, labels_prefix="lab.")
    assert (data.feature_names, data.label_names) == (("f1", "f 2"), ("lab.A", "lab.B"))
    np.testing.assert_array_equal(data.X, R_VALUES[0])
    np.testing.assert_array_equal(data.Y, R_VALUES[1])
    (block,) = open_rows(path, ["f 2"])
    np.testing.assert_array_equal(block.X, [[np.nan], [2]])


def test_tables_of_r_without_quotes(tmp_path):
    """Blanks are between cells where the first row has as many and a number."""
    path = tmp_path / "r.csv"
    path.write_text("f1 f2 l\n1 0.5 NA TRUE\n2 1.5 2 FALSE\n")
    assert load_dataset(path, labels=["l"]).Y.tolist() == [[1], [0]]
    path.write_text("ticket text\nplease help me\n")
    assert list(CsvFile(path).columns) == ["ticket text"]
    path.write_text("ticket text\n17\n")
    assert list(CsvFile(path).columns) == ["ticket text"]


def test_write_csv2(tmp_path):
    """Semicolons, decimal commas and row names; the hint of an error says how to read them."""
    path = tmp_path / "r.csv"
    path.write_text('"";"f1";"f2";"l"\n"1";0,5;NA;TRUE\n"2";-1,5e1;,25;FALSE\n')
    np.testing.assert_array_equal(load_dataset(path, labels=["l"], decimal=",").X, [[0.5, np.nan], [-15, 0.25]])
    for cell in ("0,5", "-1,5e1", ",25", " +2,5 "):
        path.write_text(f"f;l\n{cell};1\n")
        hint = rf"line 2: column 'f' must contain numbers, got {re.escape(repr(cell))}\. Hint: decimal=',' reads such"
        with pytest.raises(ValueError, match=hint):
            load_dataset(path, labels=["l"])


@pytest.mark.parametrize("name", ["x.csv", "x.tsv"])
@pytest.mark.parametrize("between", [",", ";", "\t", "|"])
def test_a_line_that_says_what_ends_a_cell(tmp_path, between, name):
    """As spreadsheets know it; lines are counted on."""
    path = tmp_path / name
    path.write_text("\ufeff" + f"sep={between}\nx,l\n1,0\n2,1\n".replace(",", between), encoding="utf-8")
    assert load_dataset(path, labels=["l"]).X.tolist() == [[1], [2]]
    path.write_text(path.read_text(encoding="utf-8") + f"a{between}1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 5: column 'x' must contain numbers, got 'a'"):
        load_dataset(path, labels=["l"])


@pytest.mark.parametrize(("text", "hint"), [
    ("f,l\n0,5,1\n1,5,0\n", "decimals must have a point here, and a column of row names a name"),
    ("f,l\n1,5,1\n2,5,0\n3,5,1\n", "decimals must have a point here, and a column of row names a name"),
    ("f,l\n1,1,\n2,0,\n", "it ends in ',', unlike the header"),
    ("f,l\nx,1,1\nx,1,0\n", "decimals must have a point here, and a column of row names a name"),
    ("f\tl\n3\t1\t0\n2\t1\t1\n", "decimals must have a point here, and a column of row names a name"),
    ("f,l\nx,1,1\ny,0\n", "decimals must have a point here, and a column of row names a name"),
])  # fmt: skip
def test_a_cell_more_than_the_header(tmp_path, text, hint):
    """Row names are taken for such only where nothing else can be meant."""
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ValueError, match=f"line 2: a row must have 2 cells, as the header has, got 3. Hint: {hint}"):
        load_dataset(tmp_path / "x.csv", labels=["l"])


def test_row_names_end(tmp_path):
    """All rows have one, also behind the first ones."""
    (tmp_path / "x.csv").write_text("f,l\n" + "".join(f"r{i},1,1\n" for i in range(20)) + "1,1\n")
    with pytest.raises(ValueError, match="line 22: a row must have 3 cells, as the header has, got 2"):
        load_dataset(tmp_path / "x.csv", labels=["l"])


def test_quotes_that_r_escapes(tmp_path):
    """They would end the cell."""
    (tmp_path / "x.csv").write_text('"t" "l"\n"1" "a" 1\n"2" "a \\"b\\"" 0\n')
    with pytest.raises(
        ValueError, match=r"line 3: a quote within a cell must be doubled, got \\\". Hint: write\.table"
    ):
        load_dataset(tmp_path / "x.csv", labels=["l"], text=["t"])
