"""Excel workbooks: the same as the CSV file of the first sheet."""

import datetime as dt
import zipfile

import numpy as np
import openpyxl
import pytest

from nearlabel.datasets import open_rows, read_table


@pytest.fixture
def save(tmp_path):
    """Save rows as the first sheet of two."""

    def _save(*rows):
        workbook = openpyxl.Workbook()
        for row in rows:
            workbook.active.append(row)
        workbook.create_sheet("notes").append(["not this one"])
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
    monkeypatch.setattr("nearlabel.files.zip_limits._ALWAYS_ALLOWED", 2**10)
    with pytest.raises(ValueError, match="it would unpack to more than"):
        read_table(path, labels=["y"])
