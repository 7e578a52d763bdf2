"""The format of a file, by its content: suffixes may be wrong, and standard input has none."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Literal, TypeAlias

from nearlabel.datasets._lines import Lines
from nearlabel.files.damage import damage_named
from nearlabel.files.regular_file import open_regular

Kind: TypeAlias = Literal["parquet", "xlsx", "npz", "zip", "xls", "compressed"]

_PARQUET = b"PAR1"  # begins and ends the file
_SIGNATURES: dict[bytes, Kind] = {
    b"\x1f\x8b": "compressed",
    b"BZh": "compressed",
    b"\xd0\xcf\x11\xe0": "xls",
}
_ARFF = re.compile(rb"\s*+(?:%|@relation\b)", re.IGNORECASE)
_SVMLIGHT = re.compile(rb"\s*+#|(?:\d++(?:,\d++)*+)?\s*+\d++:\S")
_MOST_HEADER = 2**16

DESCRIPTIONS: dict[Kind, str] = {
    "parquet": "a Parquet file (.parquet)",
    "xlsx": "an Excel workbook (.xlsx)",
    "npz": "arrays of NumPy (.npz)",
    "zip": "a zip archive",
    "xls": "an Excel file of the old format or with a password",
    "compressed": "a file compressed by gzip or bzip2",
}


def signature_of(path: Path) -> Kind | None:
    """Return which binary file it is; None for any other, such as text."""
    with open_regular(path) as file:
        start = file.read(4)
        if start == _PARQUET:
            file.seek(-4, 2)
            return "parquet" if file.tell() and file.read() == _PARQUET else None
    if start == b"PK\x03\x04":
        return _kind_of_archive(path)
    return next((kind for signature, kind in _SIGNATURES.items() if start.startswith(signature)), None)


def _kind_of_archive(path: Path) -> Kind:
    try:
        with open_regular(path) as file, damage_named(path, "a whole archive"), zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except ValueError:
        return "zip"
    if "[Content_Types].xml" in names:
        return "xlsx"
    return "npz" if names and all(name.endswith(".npy") for name in names) else "zip"


def suffix_of_content(path: Path) -> str:
    """Return the suffix that a file should have: binary files by their first bytes, text by its first line.

    Raises
    ------
    ValueError
        If it is a binary file that no reader takes.
    """
    kind = signature_of(path)
    if kind in ("parquet", "xlsx", "npz"):
        return f".{kind}"
    if kind in ("zip", "xls"):
        raise ValueError(f"{path} must be a file of a known format, got {DESCRIPTIONS[kind]}.")
    with Lines(path) as lines:
        first = next((line for line in iter(lines.next_bytes, None) if line.strip()), b"")[:_MOST_HEADER]
    return _suffix_of_text(first)


def _suffix_of_text(first: bytes) -> str:
    if _ARFF.match(first):
        return ".arff"
    if first.lstrip().startswith(b"{"):
        return ".jsonl"
    if _SVMLIGHT.match(first):
        return ".svm"
    return ".tsv" if b"\t" in first and b"," not in first and b";" not in first else ".csv"
