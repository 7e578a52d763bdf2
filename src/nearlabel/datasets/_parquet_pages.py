"""The declared sizes of the pages of a Parquet file: pyarrow allocates that much before it reads them.

A column's part of a group of rows is a sequence of pages. Each begins with a header in Thrift's compact protocol
(https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md), whose fields 2 and 3 are the
page's size, unpacked and in the file (`PageHeader` in https://github.com/apache/parquet-format).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

from nearlabel.datasets._parquet_rows import column_of, too_much

_UNPACKED, _IN_FILE = 2, 3
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_INTEGERS = (_I16, _I32, _I64)
_BYTES_OF = {_TRUE: 0, _FALSE: 0, _BYTE: 1, _DOUBLE: 8}
_LONGEST_INTEGER = 10  # bytes
_LONGEST_VALUE = 2**32  # bytes
_DEEPEST = 64  # as in Thrift
_OFTEN = 10  # a byte is read at most this often, in a sound file with the shortest parts
_OLD_WRITER, _UNCOUNTED = "parquet-mr", 100  # bytes behind a column's part, where pyarrow finds pages not counted


class _Page(NamedTuple):
    """The length of a page's header, and the values that it declares; -1 for those that it does not declare."""

    header: int
    unpacked: int
    in_file: int


def check_pages(path: str, file: Any, names: Collection[str], largest: int) -> None:
    """Raise ValueError if the largest pages of some columns of an open file declare more than `largest` bytes.

    That cannot happen if the declared sizes of whole parts are at most that, and true.
    """
    wanted, known = frozenset(names), frozenset(file.schema_arrow.names)
    more = _UNCOUNTED if (file.metadata.created_by or "").startswith(_OLD_WRITER) else 0
    unpacked = 0
    with Path(path).open("rb") as stream:
        size = Path(path).stat().st_size
        left = _OFTEN * size  # of headers
        for group in map(file.metadata.row_group, range(file.metadata.num_row_groups)):
            for chunk in map(group.column, range(group.num_columns)):
                if column_of(chunk.path_in_schema, known) not in wanted:
                    continue
                pages = list(_pages(stream, *_place(chunk, more), left))
                left -= sum(page.header for page in pages)
                if left < 0:
                    raise ValueError("parts of columns that overlap")
                if any(page.in_file > size for page in pages):
                    raise ValueError("a page that is longer than the file")
                unpacked += max((page.unpacked for page in pages), default=0)
    if unpacked > largest:
        raise ValueError(too_much(path, f"pages of {unpacked}", largest))


def _place(chunk: Any, more: int) -> tuple[int, int]:
    """Return the position of the first page of a column's part, and the end of the part."""
    start = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < start:
        start = chunk.dictionary_page_offset
    return start, start + chunk.total_compressed_size + more


def _pages(stream: IO[bytes], place: int, end: int, most: int) -> Iterator[_Page]:
    """Yield pages, until their headers take more than `most` bytes.

    Invalid headers end the sequence: pyarrow allocates no memory for them either, and reports the error.
    """
    while 0 <= place < end and most >= 0:
        stream.seek(place)
        try:
            sizes = _integers_of_struct(stream, _DEEPEST)
        except EOFError:
            sizes = {}
        page = _Page(stream.tell() - place, sizes.get(_UNPACKED, -1), sizes.get(_IN_FILE, -1))
        yield page
        if min(page) < 0:
            return
        most -= page.header
        place += page.header + page.in_file


def _integers_of_struct(stream: IO[bytes], depth: int) -> dict[int, int]:
    """Read a struct; return its fields that are integers of 32 bits, by number. Raise EOFError if there is none."""
    found, number = {}, 0
    while (head := _byte(stream)) & 15:
        step, kind = head >> 4, head & 15
        number = _wrapped(number + step) if step else _signed(_integer(stream), 16)
        if kind == _I32:
            found[number] = _signed(_integer(stream), 32)
        else:
            _skip(stream, kind, depth)
    return found


def _skip(stream: IO[bytes], kind: int, depth: int) -> None:
    """Read over a value."""
    if depth == 0:
        raise EOFError
    if kind in _BYTES_OF:
        _skip_bytes(stream, _BYTES_OF[kind])
    elif kind in _INTEGERS:
        _integer(stream)
    elif kind == _BINARY:
        _skip_bytes(stream, _integer(stream))
    elif kind in (_LIST, _SET):
        head = _byte(stream)
        n_values = head >> 4 if head >> 4 < 15 else _integer(stream)
        _skip_elements(stream, [head & 15], n_values, depth)
    elif kind == _MAP:
        n_values = _integer(stream)
        head = _byte(stream) if n_values else 0
        _skip_elements(stream, [head >> 4, head & 15], n_values, depth)
    elif kind == _STRUCT:
        _integers_of_struct(stream, depth - 1)
    else:
        raise EOFError


def _skip_elements(stream: IO[bytes], kinds: list[int], n_values: int, depth: int) -> None:
    for _ in range(n_values):
        for kind in kinds:
            _skip(stream, _BYTE if kind in (_TRUE, _FALSE) else kind, depth - 1)  # here a boolean takes a byte


def _skip_bytes(stream: IO[bytes], n_bytes: int) -> None:
    if n_bytes:
        stream.seek(min(n_bytes, _LONGEST_VALUE) - 1, 1)
        _byte(stream)


def _integer(stream: IO[bytes]) -> int:
    """Read a number of seven bits a byte, the lowest first."""
    number = 0
    for place in range(_LONGEST_INTEGER):
        byte = _byte(stream)
        number |= (byte & 127) << 7 * place
        if byte < 128:
            return number
    raise EOFError


def _signed(number: int, n_bits: int) -> int:
    """Undo the zigzag of a signed integer of `n_bits` bits; more bits are lost, as in Thrift."""
    number &= (1 << n_bits) - 1
    return (number >> 1) ^ -(number & 1)


def _wrapped(number: int) -> int:
    """Return the lowest 16 bits of a number, as a signed integer."""
    return (number + 2**15) % 2**16 - 2**15


def _byte(stream: IO[bytes]) -> int:
    byte = stream.read(1)
    if not byte:
        raise EOFError
    return byte[0]
