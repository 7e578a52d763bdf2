"""The lines of a plain or compressed text file, numbered for error messages and read in blocks for speed."""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Protocol, Self

from nearlabel.files.regular_file import open_regular
from nearlabel.files.unpacked_limit import unpacked_limit, unpacks_to_more
from nearlabel.utils.progress import tell

BLOCK_BYTES = 2**19  # large enough for numpy to be fast, small enough that a block's arrays do not matter

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONGEST_PROBLEM = 1000
_NO_LIMIT = 2**62  # of an uncompressed file
_COMPRESSIONS = (".gz", ".bz2")


class _ByteStream(Protocol):
    def read(self, size: int, /) -> bytes: ...

    def readline(self, size: int, /) -> bytes: ...

    def close(self) -> None: ...


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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
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

    def _read(self, size: int) -> bytes:
        """Return about `size` bytes, up to the end of a line; a damaged file is an error, not a short read."""
        try:
            block = self._stream.read(min(size, self._left + 1)) if size else b""
            if not block.endswith(b"\n"):
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


def _plain_stream(file: BinaryIO) -> _ByteStream:
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


def malformed(path: Path, line: int, problem: str) -> ValueError:
    """Return the error for one line of a file; a problem that repeats long text of the file is cut."""
    short = problem if len(problem) <= _LONGEST_PROBLEM else f"{problem[:_LONGEST_PROBLEM]} ..."
    return ValueError(f"{path}, line {line}: {short}")
