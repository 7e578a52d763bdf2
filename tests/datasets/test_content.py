"""What a file is by its content, and that its name must agree."""

import bz2
import gzip
import re
import zipfile

import numpy as np
import openpyxl
import pyarrow as pa
import pytest
from pyarrow import parquet

from nearlabel.datasets import load_dataset, open_rows
from nearlabel.datasets._lines import suffix_of_content


@pytest.fixture
def binary(tmp_path):
    """Small binary files, with names that say nothing."""
    files = {kind: tmp_path / f"{kind}-data" for kind in ("parquet", "xlsx", "npz", "zip", "xls")}
    parquet.write_table(pa.table({"a": [1]}), files["parquet"])
    openpyxl.Workbook().save(files["xlsx"])
    with files["npz"].open("wb") as file:
        np.savez(file, X=np.zeros((1, 1)))
    with zipfile.ZipFile(files["zip"], "w") as archive:
        archive.writestr("toy.csv", "a,b\n")
    files["xls"].write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100))
    return files


@pytest.mark.parametrize(("kind", "what"), [
    ("parquet", "a Parquet file (.parquet). Hint: rename it"),
    ("xlsx", "an Excel workbook (.xlsx). Hint: rename it"),
    ("npz", "arrays of NumPy (.npz). Hint: rename it"),
    ("zip", "a zip archive. Hint: unpack it"),
    ("xls", "an Excel file of the old format or with a password. Hint: save it as .xlsx or CSV"),
])  # fmt: skip
@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".svm", ".arff"])
def test_binary_files_named_as_text(binary, suffix, kind, what):
    """The message says what the file is, whichever reader meets it."""
    path = binary[kind].rename(binary[kind].with_suffix(suffix))
    with pytest.raises(ValueError, match=f"{re.escape(str(path))} must be .*as its name shows, got {re.escape(what)}"):
        load_dataset(path)
    with pytest.raises(ValueError, match=re.escape(what)):
        open_rows(path, ["a"])


def test_binary_files_named_as_others(binary, tmp_path):
    """A packed file is told from a binary format, too."""
    path = binary["parquet"].rename(tmp_path / "toy.xlsx")
    with pytest.raises(ValueError, match=r"must be an Excel workbook, as its name shows, got a Parquet file"):
        load_dataset(path)
    (tmp_path / "toy.parquet").write_bytes(gzip.compress(b"a,b\n"))
    with pytest.raises(ValueError, match=r"must be a Parquet file, .* got a file compressed by .*Hint: unp"):
        load_dataset(tmp_path / "toy.parquet")


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
@pytest.mark.parametrize(("text", "suffix"), [
    ("% a comment\n@relation x\n", ".arff"),
    ("\n @RELATION 'x: -C 1'\n", ".arff"),
    ('{"a": 1}\n', ".jsonl"),
    ("0,3 1:2.5 4:1\n", ".svm"),
    (" 1:2.5\n", ".svm"),
    ("# features 0 to 5\n", ".svm"),
    ("a,b\n1,2\n", ".csv"),
    ("a;b\n1;2\n", ".csv"),
    ("a\tb\n1\t2\n", ".tsv"),
    ("PAR1,b\n1,2\n", ".csv"),
    ("1,2\n", ".csv"),
    ("", ".csv"),
])  # fmt: skip
def test_text(tmp_path, text, suffix, pack):
    """The first line tells, packed or not."""
    (tmp_path / "file").write_bytes(pack(text.encode()))
    assert suffix_of_content(tmp_path / "file") == suffix


@pytest.mark.parametrize("kind", ["parquet", "xlsx", "npz"])
def test_binary(binary, kind):
    """The first bytes tell."""
    assert suffix_of_content(binary[kind]) == f".{kind}"


def test_unknown_content(binary):
    """An archive of something else has no reader."""
    with pytest.raises(ValueError, match="must be a file of a known format, got a zip archive"):
        suffix_of_content(binary["zip"])
