"""Parquet files: columns with types, in groups of rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import numpy as np

from nearlabel.datasets import _parquet_rows as parquet_rows
from nearlabel.datasets._parquet_rows import allowed_bytes, batches_of, column_of, facts_in, facts_of, too_much
from nearlabel.datasets._table_file import Batch, Column, Kind, TableFile, columns_by_name, kind_of, located, plain
from nearlabel.files.untrusted import arrow_errors_named, check_regular, damage_named, open_regular, output_of
from nearlabel.utils.naming import import_optional

_SCRIPT = Path(parquet_rows.__file__)
_WHOLE = "a whole Parquet file"
_BATCH_BYTES = 2**20
_LEAST_ROWS, _MOST_ROWS = 2**8, 2**16  # of a batch: the cost of a batch grows with the number of columns


class ParquetFile(TableFile):
    """The rows of a Parquet file; the index of a pandas data frame is no feature.

    `largest` is how many bytes the columns that are read may take, a cell at least 8; None: 512 MiB, or 1000 times the
    file if that is more. `isolate` reads in a child process, which may crash.
    """

    def __init__(self, path: Path, *, largest: int | None = None, isolate: bool = False) -> None:
        self.path = path
        self._isolate = isolate
        schema, facts = parquet_facts(path, isolate=isolate)
        self._largest = allowed_bytes(str(path), largest)
        self.n_rows: int = facts["rows"]
        self._values, self._bytes = facts["values"], facts["bytes"]
        index, self._classes = set(facts["index"]), facts["classes"]
        with damage_named(path, "a Parquet file of columns with names"):
            columns = [
                Column(field.name, kind_of(field.type), str(field.type), field.name in index) for field in schema
            ]
        self._list_sizes = {field.name: getattr(field.type, "list_size", None) for field in schema}
        self.columns = columns_by_name(path, columns)

    def _batches(self, names: Collection[str]) -> Iterator[Batch]:
        """Yield the rows in batches of a few MiB, independent of the row groups."""
        size = sum(self._bytes[name] for name in names)
        self._check_size(size)
        n_rows = int(np.clip(_BATCH_BYTES * self.n_rows // max(1, size), _LEAST_ROWS, _MOST_ROWS))
        done = 0
        for rows in parquet_batches(self.path, names, n_rows, self._largest, isolate=self._isolate):
            with damage_named(self.path, "a Parquet file of columns that can be read"):
                columns = {name: plain(rows.column(name)) for name in names}
            numbers = range(done + 1, done + rows.num_rows + 1)
            done += rows.num_rows
            yield Batch(rows.num_rows, columns, done / max(done, self.n_rows), located("row", numbers))

    def width(self, name: str) -> int:
        """Return the length of a fixed-size list, else that of the first list that is not empty."""
        declared = self._list_sizes[name]
        size = int(self._first_length(name) if declared is None else declared)
        if not 0 < size <= self._values[name]:
            raise ValueError(f"column {name!r} of {self.path} must contain some list of at least one number, got none.")
        self._check_size(8 * size * self.n_rows)  # a missing list takes as much as any other
        return size

    def class_names(self, name: str) -> Sequence[str] | None:
        """Return the names of classes, as Hugging Face's schema has them."""
        return self._classes.get(name)  # type: ignore[no-any-return]

    def _first_length(self, name: str) -> int:
        for batch in self.batches([name]):
            lengths = batch.columns[name].value_lengths().fill_null(0).to_numpy()
            if lengths.any():
                return int(lengths[np.argmax(lengths > 0)])
        return 0

    def _check_size(self, n_bytes: int) -> None:
        """Raise ValueError if columns that are to be read declare more than the allowed size."""
        if n_bytes > self._largest:
            raise ValueError(too_much(str(self.path), str(n_bytes), self._largest))


def parquet_facts(path: Path, *, isolate: bool) -> tuple[Any, dict[str, Any]]:
    """Return the schema of a Parquet file and the result of `facts_of`; raise ValueError if it is none."""
    with open_regular(path):  # a missing file, a folder and a pipe are distinguished from a damaged one
        pyarrow = _pyarrow()
    if not isolate:
        with damage_named(path, _WHOLE):
            return facts_of(pyarrow, str(path))
    arguments = [str(path), "null", "0", "null"]
    with output_of(_SCRIPT, arguments, path=path, expected=_WHOLE) as output:
        stream = pyarrow.ipc.open_stream(output)
        stream.read_all()
        return facts_in(stream.schema)


def parquet_batches(
    path: Path, names: Collection[str], n_rows: int, largest: int | None, *, isolate: bool
) -> Iterator[Any]:
    """Yield the rows of some columns, `n_rows` at a time; raise ValueError where the file is damaged or takes too much.

    A crash of pyarrow ends this process unless `isolate`.
    """
    pyarrow = _pyarrow()
    check_regular(path)  # by which the file may have been replaced since
    if not isolate:
        yield from _each(path, batches_of(pyarrow, str(path), list(names), n_rows, largest, check_pages))
        return
    arguments = [str(path), json.dumps(list(names)), str(n_rows), json.dumps(largest)]
    with output_of(_SCRIPT, arguments, path=path, expected=_WHOLE) as output:
        if output.peek(1):  # type: ignore[attr-defined]  # the stream of no rows has no beginning
            yield from pyarrow.ipc.open_stream(output)


def _each(path: Path, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield batches, and add the name of the file to any error raised between them."""
    while True:
        with damage_named(path, _WHOLE):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _pyarrow() -> Any:
    """Return pyarrow with the parts that read Parquet."""
    import_optional("pyarrow.compute", extra="tables", purpose="Reading tables")
    import_optional("pyarrow.parquet", extra="tables", purpose="Reading tables")
    return import_optional("pyarrow", extra="tables", purpose="Reading tables")


class ParquetWriter:
    """Writes columns of lists to a Parquet file, block by block.

    `kinds` are the kinds of the columns; a column of kind "cell" gets the type of its first values.
    """

    def __init__(self, path: Path, kinds: Mapping[str, Kind]) -> None:
        self._arrow = import_optional("pyarrow", extra="tables", purpose="Writing tables")
        self._parquet = import_optional("pyarrow.parquet", extra="tables", purpose="Writing tables")
        self._path, self._kinds = path, kinds
        self._file: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Append rows."""
        with arrow_errors_named(self._path):
            if self._file is None:
                schema = [(name, self._type(kind, columns[name])) for name, kind in self._kinds.items()]
                self._file = self._parquet.ParquetWriter(self._path, self._arrow.schema(schema))
            self._file.write_table(self._arrow.table(dict(columns), schema=self._file.schema))

    def _type(self, kind: Kind, values: Sequence[Any]) -> Any:
        text, number = self._arrow.string(), self._arrow.float64()
        known = {"text": text, "number": number, "texts": self._arrow.list_(text), "numbers": self._arrow.list_(number)}
        if kind in known:
            return known[kind]
        found = self._arrow.array(values).type
        return text if found == self._arrow.null() else found


def copy_parquet(path: Path, place: Path, edits: Mapping[str, Mapping[int, Callable[[Any], Any]]]) -> None:
    """Write a copy of a Parquet file, group by group, in which functions have changed cells by column and row."""
    parquet = import_optional("pyarrow.parquet", extra="tables", purpose="Writing tables")
    with open_regular(path) as source:
        with damage_named(path, _WHOLE):
            file = parquet.ParquetFile(source, pre_buffer=False)
            codec = file.metadata.row_group(0).column(0).compression.lower()
        compression = "none" if codec == "uncompressed" else codec
        with parquet.ParquetWriter(place, file.schema_arrow, compression=compression) as writer:
            first = 0
            for group in range(file.num_row_groups):
                with damage_named(path, _WHOLE):
                    table = file.read_row_group(group)
                    table.validate(full=True)  # otherwise a damaged text is a crash or an error where it is changed
                rows = range(first, first + table.num_rows)
                for name, of_rows in edits.items():
                    here = {row - first: edit for row, edit in of_rows.items() if row in rows}
                    table = _with_edited(path, table, name, here) if here else table
                writer.write_table(table)
                first = rows.stop


def _with_edited(path: Path, table: Any, name: str, edits: Mapping[int, Callable[[Any], Any]]) -> Any:
    """Return a table in which some cells of a column were changed; the type of the column stays."""
    arrow = import_optional("pyarrow", extra="tables", purpose="Writing tables")
    place = table.schema.get_field_index(name)
    field = table.schema.field(place)
    values = table.column(place).to_pylist()
    is_map = arrow.types.is_map(field.type)
    for row, edit in edits.items():
        was_missing, new = values[row] is None, edit(dict(values[row]) if is_map and values[row] else values[row])
        values[row] = bool(new) if was_missing and field.type == arrow.bool_() else new
    try:
        array = arrow.array(values, field.type)
    except (arrow.ArrowException, OverflowError) as error:
        got = f"type {field.type}, which has no room for them: {error}"
        raise ValueError(f"column {name!r} of {path} must take corrections, got {got}.") from error
    return table.set_column(place, field, array)


# The declared sizes of the pages of a Parquet file: pyarrow allocates that much before it reads them.
#
# A column's part of a group of rows is a sequence of pages. Each begins with a header in Thrift's compact protocol
# (https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md), whose fields 2 and 3 are the
# page's size, unpacked and in the file (`PageHeader` in https://github.com/apache/parquet-format).

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
