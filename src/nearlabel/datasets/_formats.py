"""The format of a file, by its name, unless its content shows another one."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias, get_args

from nearlabel.datasets._content import DESCRIPTIONS, Kind, signature_of
from nearlabel.datasets._lines import plain_name
from nearlabel.files.regular_file import check_regular

# Some formats with named columns have text in their cells, from which the reader makes numbers.
TextTable: TypeAlias = Literal["csv", "xlsx"]
TypedTable: TypeAlias = Literal["jsonl", "parquet"]
Format: TypeAlias = Literal["arff", "svmlight", "npz"] | TextTable | TypedTable

TEXT_TABLES: tuple[str, ...] = get_args(TextTable)
TABLES: tuple[str, ...] = (*TEXT_TABLES, *get_args(TypedTable))
A_TABLE = "a CSV, Excel, JSON lines or Parquet file"

_TEXT: dict[str, Format] = {
    ".arff": "arff",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".libsvm": "svmlight",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".txt": "svmlight",
}
_BINARY: dict[str, Format] = {".npz": "npz", ".parquet": "parquet", ".xlsx": "xlsx"}
_DESCRIPTIONS: dict[Format, str] = {
    "arff": "an ARFF file",
    "csv": "a CSV file",
    "jsonl": "JSON lines",
    "npz": "arrays of NumPy",
    "parquet": "a Parquet file",
    "svmlight": "a svmlight file",
    "xlsx": "an Excel workbook",
}
_HINTS: dict[Kind, str] = {"zip": "unpack it", "xls": "save it as .xlsx or CSV", "compressed": "unpack it"}


def format_of(path: Path) -> Format:
    """Return the format that a file's suffix shows; a text format may be followed by the suffix of a compression.

    Raises
    ------
    ValueError
        If no format has this suffix, or the file exists and its first bytes are those of another one.
    """
    suffix, text_suffix = path.suffix.lower(), Path(plain_name(path)).suffix.lower()
    if suffix not in _BINARY and text_suffix not in _TEXT:
        known = f"{', '.join(_TEXT)} (and .gz or .bz2), {', '.join(_BINARY)}"
        raise ValueError(f"{path} must end in one of {known}, got {text_suffix or 'no suffix'!r}.")
    format_ = _BINARY.get(suffix) or _TEXT[text_suffix]
    check_regular(path)
    if path.is_file():
        _check_content(path, format_)
    return format_


def names_data(path: Path) -> bool:
    """Return whether a file has the name of a data file; a .txt file may be anything."""
    text_suffix = Path(plain_name(path)).suffix.lower()
    return path.suffix.lower() in _BINARY or (text_suffix in _TEXT and text_suffix != ".txt")


def _check_content(path: Path, format_: Format) -> None:
    """Raise ValueError if the first bytes are those of another binary format; text is any text."""
    found = signature_of(path)
    if found in (None, format_) or (found == "compressed" and format_ in _TEXT.values()):
        return
    hint = _HINTS.get(found, "rename it")
    expected = f"{_DESCRIPTIONS[format_]}, as its name shows"
    raise ValueError(f"{path} must be {expected}, got {DESCRIPTIONS[found]}. Hint: {hint}.")
