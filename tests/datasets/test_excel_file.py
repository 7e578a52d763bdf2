"""Excel workbooks: the same as the CSV file of a sheet."""

import datetime as dt
import io
import re
import time
import zipfile

import numpy as np
import openpyxl
import pytest

from nearlabel.datasets import _excel_file, load_dataset, open_rows, read_table
from nearlabel.datasets.tables import read_whole, reading_sheet


@pytest.fixture
def save(tmp_path):
    """Save rows as the first sheet of two, of which the other is hidden."""

    def _save(*rows):
        workbook = openpyxl.Workbook()
        for row in rows:
            workbook.active.append(row)
        notes = workbook.create_sheet("notes")
        notes.append(["not this one"])
        notes.sheet_state = "hidden"
        workbook.save(tmp_path / "toy.xlsx")
        return tmp_path / "toy.xlsx"

    return _save


def test_values(save):
    """Numbers to the last bit, text that is a number, truth values, gaps and blank rows; columns by name."""
    numbers = [0.1, -1 / 3, 1e-300, 123456.75]
    rows = [[numbers[0], 2, True, "a;b"], [numbers[1], "0.5", False, None], [None] * 4]
    path = save(["x", "y", "l", "t"], *rows, [numbers[2], "NA", "yes", "b"], [numbers[3], None, 0, "a"])
    toy = read_table(path, labels_column="t", ignore=["l"])
    np.testing.assert_array_equal(toy.X, np.column_stack([numbers, [2, 0.5, np.nan, np.nan]]))
    assert (toy.label_names, toy.Y.tolist()) == (("a", "b"), [[1, 1], [0, 0], [0, 1], [1, 0]])
    assert read_table(path, labels=["l"], ignore=["t"]).Y.tolist() == [[1], [0], [1], [0]]
    blocks = list(open_rows(path, ["y", "x"], id_column="t", block_rows=3))
    assert [block.X.shape[0] for block in blocks] == [3, 1]
    assert [id_ for block in blocks for id_ in block.ids] == ["a;b", None, "b", "a"]


def test_decimal(save):
    """It concerns cells of text; numbers are numbers."""
    toy = read_table(save(["x", "y"], [0.25, 1], ["0,5", 0]), labels=["y"], decimal=",")
    assert toy.X.tolist() == [[0.25], [0.5]]


def test_index_of_pandas(save):
    """A first column without a name is no feature; nor are empty columns behind the last name."""
    toy = read_table(save([None, "x", "y", None], [17, 1.5, 1, None], [18, 2.5, 0]), labels=["y"])
    assert (toy.feature_names, toy.X.tolist()) == (("x",), [[1.5], [2.5]])


@pytest.mark.parametrize(("rows", "message"), [
    ([], "must begin with a row of column names, got an empty sheet"),
    ([["x", "y"]], "must contain at least one row"),
    ([["x", "x", "y"], [1, 2, 0]], "must have columns of distinct names, got 'x' 2 times"),
    ([["x", "y"], [1, 0], [1, 0, 5]], "row 3: a row must have 2 cells, as the row of names has, got 3"),
    ([["x", "y"], [1, 0], [None, None], ["u", 0]], "row 4: column 'x' must contain numbers, got 'u'"),
    ([["x", "y"], [1, 0], ["#N/A", 0]], "row 3: column 'x' must contain values, got the error #N/A. Hint: correct its"),
    ([["x", "y"], [1, "#REF!"]], "row 2: column 'y' must contain values, got the error #REF!. Hint: correct"),
    ([["x", "y"], [dt.date(2024, 5, 1), 0]], "row 2: column 'x' must contain numbers, got '2024-05-01 00:00:00'"),
])  # fmt: skip
def test_errors(save, rows, message):
    """The file, the column and the row of the sheet are named."""
    with pytest.raises(ValueError, match=f"toy.xlsx.*{message}"):
        read_table(save(*rows), labels=["y"])


def test_damaged(save, tmp_path):
    """A part of a file, an archive without a workbook, or one with broken XML is an error of the file."""
    whole = save(["x", "y"], [1, 0]).read_bytes()
    (tmp_path / "part.xlsx").write_bytes(whole[: len(whole) // 2])
    with zipfile.ZipFile(tmp_path / "empty.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    with zipfile.ZipFile(tmp_path / "toy.xlsx") as old, zipfile.ZipFile(tmp_path / "xml.xlsx", "w") as archive:
        for name in old.namelist():
            text = old.read(name)
            archive.writestr(name, text[:-30] if name.endswith("sheet1.xml") else text)
    for name in ("part.xlsx", "empty.xlsx", "xml.xlsx"):
        with pytest.raises(ValueError, match=rf"{name} must be (a|an) (whole )?Excel workbook"):
            read_table(tmp_path / name, labels=["y"])
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "none.xlsx", labels=["y"])


@pytest.fixture
def with_sheet(save, tmp_path):
    """Write a workbook whose first sheet has this data, and return its path."""

    def _with_sheet(data):
        with zipfile.ZipFile(save(["x", "y"], [1, 0])) as old, zipfile.ZipFile(tmp_path / "new.xlsx", "w") as new:
            for name in old.namelist():
                text = old.read(name)
                if name.endswith("sheet1.xml"):
                    text = re.sub(rb"<sheetData>.*</sheetData>", b"<sheetData>" + data + b"</sheetData>", text)
                new.writestr(name, text)
        return tmp_path / "new.xlsx"

    return _with_sheet


NAMES = b'<row r="1"><c r="A1" t="str"><v>x</v></c><c r="B1" t="str"><v>y</v></c></row>'


@pytest.mark.parametrize(
    ("part", "n_bytes", "message"),
    [
        ("xl/worksheets/_rels/sheet1.xml.rels", 2**23, None),
        ("xl/worksheets/_rels/sheet1.xml.rels", 2**24 + 1, "at most 16777216 bytes, got xl/worksheets/_rels/sheet1"),
        ("_rels/other.rels", 2**22 + 1, "at most 4194304 bytes, got _rels/other.rels of 4194305"),
    ],
)
def test_parts_without_cells(save, part, n_bytes, message):
    """65,530 links of a sheet, the most that Excel allows, are read; what openpyxl takes long for is refused."""
    path = save(["x", "y"], [1, 0])
    start, end = (
        b'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">',
        b"</Relationships>",
    )
    link = b'<Relationship Id="r" Type="h" Target="%b" TargetMode="External"/>' % (b"u" * 60_000)
    links = link * ((n_bytes - len(start + end)) // len(link))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(part, start + links + b" " * (n_bytes - len(start + links + end)) + end)
    if message is None:
        assert read_table(path, labels=["y"]).X.tolist() == [[1]]
    else:
        with pytest.raises(ValueError, match=f"parts without cells must have {message}"):
            read_table(path, labels=["y"])


def test_rows_out_of_order(with_sheet):
    """They would be dropped in silence: an error. Rows without a number follow the one before."""
    row = b"<row%b><c><v>%d</v></c><c><v>1</v></c></row>"
    data = NAMES + row % (b" spans=\"1:2\"\n r = '4'", 7) + row % (b"", 8)
    assert read_table(with_sheet(data), labels=["y"]).X.tolist() == [[7], [8]]
    for number in (b"3", b"4", b"5"):
        with pytest.raises(ValueError, match=rf"new\.xlsx .*sheet1\.xml must ascend, got {number.decode()} behind 5\)"):
            read_table(with_sheet(data + row % (b' r="%b"' % number, 9)), labels=["y"])


def test_rows_on_the_edge_of_a_part(monkeypatch):
    """The sheet is looked at in parts; wherever they end, each row is seen, and once."""
    data = NAMES + b"".join(b'<x:row r="%d"><c><v>%d</v></c></x:row>' % (at, at) for at in range(2, 9))
    for size in range(1, 90):
        monkeypatch.setattr(_excel_file, "_CHUNK", size)
        _excel_file.check_rows("s", io.BytesIO(data))
        with pytest.raises(ValueError, match="rows of s must ascend, got 8 behind 8"):
            _excel_file.check_rows("s", io.BytesIO(data + b'<x:row r="8"/>'))


def test_a_sheet_without_end_of_a_tag():
    """Is looked at in linear time."""
    start = time.process_time()
    _excel_file.check_rows("s", io.BytesIO(b"<row " * 2**21 + b" " * 2**24))
    assert time.process_time() - start < 5


def cell_of(formula, value=b"", kind=b""):
    """The XML of a row with a number and a formula."""
    return NAMES + b'<row r="2"><c r="A2"><v>1</v></c><c r="B2"%b>%b%b</c></row>' % (kind, formula, value)


@pytest.mark.parametrize(
    "formula", [b"<f>A2+1</f>", b'<f t="shared" si="0"/>', b'<f t="shared" ref="B2" si="0">A2</f>']
)
@pytest.mark.parametrize("value", [b"", b"<v/>", b"<v></v>", b"\n <v />\n "])
def test_formulas_without_a_value(with_sheet, formula, value):
    """A library has written them, which computes none: an error, and no missing value; the other sheet has none."""
    path = with_sheet(cell_of(formula, value))
    with pytest.raises(
        ValueError, match=r"new\.xlsx, sheet 'Sheet': a formula must be saved .*, got none in cell B2\. Hint"
    ):
        read_table(path, labels=["y"])
    with pytest.raises(ValueError, match="got only labels and ignored columns"):
        read_table(path, labels_column="not this one", sheet="notes")
    assert read_table(with_sheet(cell_of(formula, b"<v>0</v>")), labels=["y"]).Y.tolist() == [[0]]


def test_formulas_as_openpyxl_writes_them(save):
    """The cell is named, also behind blank rows."""
    with pytest.raises(ValueError, match="got none in cell A6"):
        read_table(save(["x", "y"], [1, 0], [None], [None], [2, 1], ["=A1+1", 0]), labels=["y"])


def test_a_formula_with_an_empty_text(with_sheet):
    """It is an empty cell."""
    assert np.isnan(read_table(with_sheet(cell_of(b'<f>""</f>', b"<v></v>", b' t="str"')), labels=["y"]).Y).all()


def test_formulas_on_the_edge_of_a_part(monkeypatch):
    """Wherever the parts end, a formula without a value is seen, and one with a value is none."""
    row = b'<x:row r="%d"><x:c r="A%d"><x:f>A1</x:f>%b</x:c></x:row>'
    data = NAMES + b"".join(row % (at, at, b"<x:v>1</x:v>") for at in range(2, 9))
    for size in range(1, 90):
        monkeypatch.setattr(_excel_file, "_CHUNK", size)
        assert not _excel_file.check_rows("s", io.BytesIO(data))
        assert _excel_file.check_rows("s", io.BytesIO(data + row % (9, 9, b"<x:v/>")))
        assert _excel_file.check_rows("s", io.BytesIO(row % (1, 1, b"") + data[len(NAMES) :]))


def test_numbers_that_would_be_rounded(with_sheet):
    """Excel knows no infinity, and writes no integer that float64 cannot store, but other programs do."""
    data = cell_of(b"", b"<v>0</v>").replace(b"<v>1</v>", b"<v>9007199254740993</v>")
    with pytest.raises(ValueError, match=r"row 2: column 'x' must contain numbers, got '9007199254740993' \(float64"):
        read_table(with_sheet(data), labels=["y"])
    assert read_table(with_sheet(data), labels_column="x", ignore=[]).label_names == ("9007199254740993",)
    with pytest.raises(ValueError, match=r"row 2: column 'x' must contain numbers, got '>1\.8e308'"):
        read_table(with_sheet(cell_of(b"", b"<v>0</v>").replace(b"<v>1</v>", b"<v>1e400</v>")), labels=["y"])


@pytest.fixture
def two_sheets(tmp_path):
    """A workbook of two tables, an empty sheet and a hidden one."""
    workbook = openpyxl.Workbook()
    workbook.active.title = "2023"
    for name, rows in {"2023": [[1, 0]], "2024": [[2, 1], [3, 1]], "old": [[9, 0]], "empty": []}.items():
        sheet = workbook.active if name == "2023" else workbook.create_sheet(name)
        for row in [["x", "y"], *rows] if rows else []:
            sheet.append(row)
    workbook["old"].sheet_state = "hidden"
    workbook.save(tmp_path / "two.xlsx")
    return tmp_path / "two.xlsx"


def test_several_sheets(two_sheets):
    """Which one is meant must be told; a hidden one may be named, too."""
    with pytest.raises(
        ValueError, match=r"must have one sheet with cells, got '2023', '2024'\. Hint: sheet='2023' reads"
    ):
        read_table(two_sheets, labels=["y"])
    for name, values in {"2023": [[1]], "2024": [[2], [3]], "old": [[9]]}.items():
        assert read_table(two_sheets, labels=["y"], sheet=name).X.tolist() == values
        assert load_dataset(two_sheets, labels=["y"], sheet=name).X.tolist() == values
        (block,) = open_rows(two_sheets, ["x"], sheet=name)
        assert block.X.tolist() == values
        with reading_sheet(name):
            assert read_table(two_sheets, labels=["y"]).X.tolist() == values
    with pytest.raises(ValueError, match="must begin with a row of column names, got an empty sheet"):
        read_table(two_sheets, labels=["y"], sheet="empty")
    with pytest.raises(ValueError, match=r"sheet must name a sheet of .*two\.xlsx, got '2032'\. Did you mean '202"):
        read_table(two_sheets, labels=["y"], sheet="2032")
    with pytest.raises(ValueError, match=r"got 'x'\. Hint: its sheets are '2023', '2024', 'old', 'empty'"):
        open_rows(two_sheets, ["x"], sheet="x")


def test_all_sheets_are_verified(two_sheets, tmp_path):
    """Not each need be a table; a damaged one is found."""
    workbook = openpyxl.load_workbook(two_sheets)
    workbook["2024"].append([1, 2, 3, 4])
    workbook.save(two_sheets)
    read_whole(two_sheets)
    with zipfile.ZipFile(two_sheets) as old, zipfile.ZipFile(tmp_path / "bad.xlsx", "w") as archive:
        for name in old.namelist():
            text = old.read(name)
            archive.writestr(name, text[:-30] if name.endswith("sheet2.xml") else text)
    with pytest.raises(ValueError, match=r"bad\.xlsx must be a whole Excel workbook"):
        read_whole(tmp_path / "bad.xlsx")


def test_the_only_sheet_with_cells(tmp_path):
    """It need not be the first."""
    workbook = openpyxl.Workbook()
    sheet = workbook.create_sheet("data")
    for row in (["x", "y"], [1, 0]):
        sheet.append(row)
    workbook.save(tmp_path / "toy.xlsx")
    assert read_table(tmp_path / "toy.xlsx", labels=["y"]).X.tolist() == [[1]]


def test_sheets_of_other_files(tmp_path):
    """They have none."""
    for name, text in {"a.csv": "x,y\n1,0\n", "a.svm": "0 0:1\n"}.items():
        (tmp_path / name).write_text(text)
        options = {"labels": ["y"]} if name == "a.csv" else {}
        with pytest.raises(ValueError, match="sheet must go with"):
            load_dataset(tmp_path / name, sheet="x", **options)
        with pytest.raises(ValueError, match=r"sheet must go with an Excel workbook, got .*a\."):
            open_rows(tmp_path / name, ["0"], sheet="x")


def test_bombs(save, tmp_path, monkeypatch):
    """An archive that unpacks to more than the limit, or a sheet of more rows than Excel has, is refused unread."""
    wide = save([f"x{j}" for j in range(300)], *[[1]] * 20)
    monkeypatch.setattr("nearlabel.datasets._table_file._ALWAYS_ALLOWED", 1000)
    with pytest.raises(ValueError, match="must have values in most cells, got 20 values in 6000 cells"):
        read_table(wide, labels=["x0"])
    path = save(["x", "y"], *[[1, 0]] * 20)
    monkeypatch.setattr("nearlabel.datasets._excel_file._MOST_ROWS", 20)
    with pytest.raises(ValueError, match="it has more than 20 rows"):
        read_table(path, labels=["y"])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/zeros.bin", bytes(2**20))
    monkeypatch.setattr("nearlabel.files.untrusted.ALWAYS_ALLOWED", 2**10)
    with pytest.raises(ValueError, match="must unpack to at most"):
        read_table(path, labels=["y"])
