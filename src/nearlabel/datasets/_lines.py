"""Text files: their numbered lines, plain or compressed; and the format of a file, by its name and its content."""

from __future__ import annotations

import bz2
import gzip
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Literal, Self, TypeAlias

import numpy as np

from nearlabel.files.untrusted import check_regular, damage_named, open_regular, unpacked_limit, unpacks_to_more
from nearlabel.utils import characters
from nearlabel.utils.messages import tell
from nearlabel.utils.types import FloatArray

BLOCK_BYTES = 2**19  # large enough for numpy to be fast, small enough that a block's arrays do not matter

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_PROBLEM = 1000
_NO_LIMIT = 2**62  # of an uncompressed file
_COMPRESSIONS = (".gz", ".bz2")


class Lines:
    """A text file, plain, gzip or bzip2 by its first bytes, as a context manager.

    `number` is the number of the last line that was returned. A compressed file is an error as soon as it unpacks to
    more than `unpacked_limit` allows.
    """

    def __init__(self, path: Path, max_unpacked_bytes: int | None = None) -> None:
        self.path = path
        self.number = 0
        limit = unpacked_limit(path.stat().st_size, max_unpacked_bytes)
        self._file = open_regular(path)
        self._stream = _plain_stream(self._file)
        self._limit = _NO_LIMIT if self._stream is self._file else limit
        self._left = self._limit

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._file.close()

    @property
    def share_read(self) -> float:
        """The share of the (compressed) file that was read, from 0 to 1."""
        return self._file.tell() / max(1, self.path.stat().st_size)

    def next_line(self) -> str | None:
        """Return the next line without its end, or None after the last."""
        line = self.next_bytes()
        return None if line is None else decode(line).rstrip("\r\n")

    def next_bytes(self) -> bytes | None:
        """Return the next line without a byte order mark, or None after the last."""
        line = self.raw_line()
        if not line:
            return None
        return line.removeprefix(BYTE_ORDER_MARK) if self.number == 1 else line

    def raw_line(self) -> bytes:
        """Return the next line unchanged; nothing after the last."""
        line = self._read(0)
        self.number += bool(line)
        return line

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        """Yield the rest as (number of the first line, whole lines that each end in a newline)."""
        first = self.number + 1
        while block := self.block():
            tell(self.share_read)
            yield first, block
            first = self.number + 1

    def block(self, least: int = 0) -> bytes:
        """Return the next whole lines, of about `least` bytes or more; nothing after the last."""
        block = self._read(max(least, BLOCK_BYTES))
        whole = block if not block or block.endswith(b"\n") else block + b"\n"
        self.number += whole.count(b"\n")
        return whole

    def part(self, least: int = 0) -> bytes:
        """Return the next bytes, at least `least` unless the file ends, wherever lines end; nothing at the end."""
        return self._read(max(least, BLOCK_BYTES), whole_lines=False)

    def _read(self, size: int, *, whole_lines: bool = True) -> bytes:
        """Return about `size` bytes, up to the end of a line; a damaged file is an error, not a short read."""
        try:
            block = self._stream.read(min(size, self._left + 1)) if size else b""
            if whole_lines and not block.endswith(b"\n"):
                block += self._stream.readline(self._left + 1 - len(block))
        except (EOFError, zlib.error, OSError) as error:
            raise ValueError(
                f"{self.path} must be a whole compressed file, got one that is truncated or damaged"
                f" after line {self.number} ({error})."
            ) from error
        self._left -= len(block)
        if self._left < 0:
            raise unpacks_to_more(self.path, self._limit)
        return block


def _plain_stream(file: BinaryIO) -> BinaryIO | gzip.GzipFile | bz2.BZ2File:
    """Detect compression by content, since files are renamed more often than repacked."""
    start = file.read(3)
    file.seek(0)
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=file, mode="rb")
    return bz2.BZ2File(file, "rb") if start == b"BZh" else file


def decode(line: bytes) -> str:
    """Return the text: UTF-8, else Latin-1, in which no byte is wrong."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def plain_name(path: Path) -> str:
    """Return the file's name without the suffix of a compression.

    >>> plain_name(Path("scene/scene-train.arff.gz"))
    'scene-train.arff'
    """
    return path.stem if path.suffix.lower() in _COMPRESSIONS else path.name


def name_of_data(path: Path) -> str:
    """Return the name of a file's data set, which pages and records can contain."""
    return characters.shown(Path(plain_name(path)).stem)


def malformed(path: Path, line: int, problem: str) -> ValueError:
    """Return the error for one line of a file; a problem that repeats long text of the file is cut."""
    short = problem if len(problem) <= _LONGEST_PROBLEM else f"{problem[:_LONGEST_PROBLEM]} ..."
    return ValueError(f"{path}, line {line}: {short}")


def only_returned(path: Path, line: int) -> ValueError:
    """Return the error for a carriage return within a line: where it ends lines, many rows would be read as one."""
    hint = "Hint: save the file with the line ends of Linux or Windows."
    return malformed(path, line, f"a line must end in a newline, got a carriage return alone. {hint}")


# The format of a file, by its content: suffixes may be wrong, and standard input has none.

Kind: TypeAlias = Literal["parquet", "xlsx", "npz", "zip", "xls", "compressed"]

_PARQUET = b"PAR1"  # begins and ends the file
_SIGNATURES: dict[bytes, Kind] = {b"\x1f\x8b": "compressed", b"BZh": "compressed", b"\xd0\xcf\x11\xe0": "xls"}
_ARFF = re.compile(rb"\s*+(?:%|@relation\b)", re.IGNORECASE)
FASTTEXT = "__label__"  # begins a label
_FASTTEXT = re.compile(rb"(?<!\S)__label__\S")
_SVMLIGHT = re.compile(rb"\s*+#|(?:\d++(?:,\s*+\d++)*+)?\s*+\d++:\S|\d++\s++\d++(?:\s++\d++)?+\s*+$")
_ARRAY = re.compile(rb"\s*+\[\s*+(?:\{|$)")
_MOST_HEADER = 2**16


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
        raise ValueError(f"{path} must be a file of a known format, got {_OTHERS[kind][0]}.")
    with Lines(path) as lines:
        first = next((line for line in iter(lines.next_bytes, None) if line.strip()), b"")[:_MOST_HEADER]
    return _suffix_of_text(first)


def _suffix_of_text(first: bytes) -> str:
    if first.startswith(FASTTEXT.encode()):
        return ".txt"
    if _ARFF.match(first):
        return ".arff"
    if first.lstrip().startswith(b"{"):
        return ".jsonl"
    if _ARRAY.match(first):
        return ".json"
    if _SVMLIGHT.match(first):
        return ".svm"
    return ".tsv" if b"\t" in first and b"," not in first and b";" not in first else ".csv"


# The format of a file, by its name, unless its content shows another one.

Format: TypeAlias = Literal["arff", "csv", "fasttext", "json", "jsonl", "npz", "parquet", "svmlight", "xlsx"]
TABLES: tuple[str, ...] = ("csv", "xlsx", "json", "jsonl", "parquet", "fasttext")  # formats with named columns
A_TABLE = "a CSV, Excel, JSON or Parquet file"

_TEXT: dict[str, Format] = {
    ".arff": "arff",
    **dict.fromkeys((".csv", ".tsv"), "csv"),
    ".json": "json",
    **dict.fromkeys((".jsonl", ".ndjson"), "jsonl"),
    **dict.fromkeys((".libsvm", ".svm", ".svmlight", ".txt"), "svmlight"),
}
_BINARY: dict[str, Format] = {".npz": "npz", ".parquet": "parquet", ".xlsx": "xlsx"}
_DESCRIPTIONS: dict[str, str] = {
    "arff": "an ARFF file",
    "csv": "a CSV file",
    "fasttext": "a file of fastText",
    "json": "JSON",
    "jsonl": "JSON lines",
    "npz": "arrays of NumPy",
    "parquet": "a Parquet file",
    "svmlight": "a svmlight file",
    "xlsx": "an Excel workbook",
}
_OTHERS: dict[Kind, tuple[str, str]] = {  # and what to do with them
    "zip": ("a zip archive", "unpack it"),
    "xls": ("an Excel file of the old format or with a password", "save it as .xlsx or CSV"),
    "compressed": ("a file compressed by gzip or bzip2", "unpack it"),
}


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
        if text_suffix == ".txt":
            return _format_of_txt(path)
    return format_


def _format_of_txt(path: Path) -> Format:
    """Return the format of a text by its first line: names in quotes are a table of R's."""
    with Lines(path) as lines:
        first = lines.part().removeprefix(BYTE_ORDER_MARK).lstrip().partition(b"\n")[0]
    return "csv" if first.startswith(b'"') else "fasttext" if _FASTTEXT.search(first) else "svmlight"


def names_data(path: Path) -> bool:
    """Return whether a file has the name of a data file; a .txt or .json file may be anything."""
    text_suffix = Path(plain_name(path)).suffix.lower()
    return path.suffix.lower() in _BINARY or (text_suffix in _TEXT and text_suffix not in (".txt", ".json"))


def _check_content(path: Path, format_: Format) -> None:
    """Raise ValueError if the first bytes are those of another binary format; text is any text."""
    found = signature_of(path)
    if found in (None, format_) or (found == "compressed" and format_ in _TEXT.values()):
        return
    expected = f"{_DESCRIPTIONS[format_]}, as its name shows"
    got, hint = _OTHERS[found] if found in _OTHERS else (f"{_DESCRIPTIONS[found]} (.{found})", "rename it")
    raise ValueError(f"{path} must be {expected}, got {got}. Hint: {hint}.")


# Many numbers out of text at once.

# A number as a pattern of bytes; possessive, since nothing after a number changes its digits.
NUMBER_PATTERN = rb"[-+]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?+\d++)?+"


def parse_numbers(text: bytes, separator: str) -> FloatArray:
    """Return the numbers of a text; a pattern has shown that it contains nothing else."""
    # numpy makes one number out of blanks alone.
    return np.fromstring(text, sep=separator) if text.strip() else np.empty(0)
