"""Names of features without the rows, and where a row is."""

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from nearlabel.datasets import Dataset, write_npz
from nearlabel.datasets.tables import feature_names_of, locate_row

HEADER = "@attribute a numeric\n@attribute b numeric\n@attribute y {0,1}\n@data\n1,2,0\n"


def names(path, prefix=None, others=()):
    """The names in a file."""
    return feature_names_of(path, labels_prefix=prefix, others=others)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables(tmp_path, suffix):
    """What is neither named nor begins so, nor the name of a row; a column that is not there may be named."""
    path = tmp_path / f"t.{suffix}"
    if suffix == "csv":
        path.write_text(",id,a,tag_x,b,y\n0,r0,1,0,2,1\n")
    else:
        columns = {"id": ["r0"], "a": [1.0], "tag_x": [0], "b": [2.0], "y": [1]}
        parquet.write_table(pa.table(columns), path)
    assert names(path, "tag_", ("id", "y", "none")) == ("a", "b")
    assert names(path, None, ("id",)) == ("a", "tag_x", "b", "y")


def test_lists(tmp_path):
    """Each number of a list is a feature."""
    parquet.write_table(pa.table({"e": [[1.0, 2.0]], "a": [3.0]}), tmp_path / "t.parquet")
    assert names(tmp_path / "t.parquet") == ("e[0]", "e[1]", "a")


def test_arff(tmp_path):
    """What is no label, if the file says which attributes are labels; else all."""
    path = tmp_path / "t.arff"
    path.write_text("@relation 't: -C -1'\n" + HEADER)
    assert names(path) == ("a", "b")
    path.write_text("@relation t\n" + HEADER)
    assert names(path) == ("a", "b", "y")
    path.with_suffix(".xml").write_text('<labels><label name="a"></label></labels>')
    assert names(path) == ("b", "y")


def test_npz_and_svmlight(tmp_path):
    """As the file says; rows of svmlight name features by number as they go."""
    data = Dataset(np.ones((2, 2)), np.ones((2, 1), dtype=int), ("u", "v"), ("y",), "t")
    assert names(write_npz(tmp_path / "t.npz", data)) == ("u", "v")
    (tmp_path / "t.svm").write_text("0 1:2\n")
    assert names(tmp_path / "t.svm") is None


def test_line_of_a_row(tmp_path, monkeypatch):
    """The line that a row begins in, across blocks, empty lines and cells of several lines."""
    monkeypatch.setattr("nearlabel.datasets._lines.BLOCK_BYTES", 64)
    monkeypatch.setattr("nearlabel.datasets._csv_file._ROWS_A_BLOCK", 2)
    path = tmp_path / "t.csv"
    path.write_text('a,b\n1,"x\ny"\n\n' + "1,z\n" * 200)
    assert [locate_row(path, row) for row in (0, 1, 2, 200)] == ["line 2", "line 5", "line 6", "line 204"]


def test_number_of_a_row(tmp_path):
    """Rows count from 1, as in every message on a file."""
    parquet.write_table(pa.table({"a": [1, 2]}), tmp_path / "t.parquet")
    assert locate_row(tmp_path / "t.parquet", 1) == "row 2"
    assert locate_row(tmp_path / "t.npz", 0) == "row 1"
