"""Where a row stands."""

import pyarrow as pa
from pyarrow import parquet

from nearlabel.datasets._row_location import locate_row


def test_csv(tmp_path, monkeypatch):
    """The line that a row begins in, across blocks, empty lines and cells of several lines."""
    monkeypatch.setattr("nearlabel.datasets._lines.BLOCK_BYTES", 64)
    monkeypatch.setattr("nearlabel.datasets._csv_file._ROWS_A_BLOCK", 2)
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x\ny"\n\n' + "1,z\n" * 200)
    assert [locate_row(path, row) for row in (0, 1, 2, 200)] == ["line 2", "line 5", "line 6", "line 204"]


def test_other_formats(tmp_path):
    """Rows count from 1, as in every message on a file."""
    parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "t.parquet")
    assert locate_row(tmp_path / "t.parquet", 1) == "row 2"
    assert locate_row(tmp_path / "t.npz", 0) == "row 1"
