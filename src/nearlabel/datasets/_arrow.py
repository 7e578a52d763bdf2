"""Use pyarrow to parse CSV, open and write Parquet, and classify the types of columns.

Other modules call methods of the returned arrays only, so this is the one place that imports pyarrow.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple, Self

from nearlabel.datasets import _parquet_rows as parquet_rows
from nearlabel.datasets._lines import BYTE_ORDER_MARK
from nearlabel.datasets._parquet_rows import batches_of, column_of, facts_in, facts_of, too_much
from nearlabel.datasets._table_file import Kind
from nearlabel.files.untrusted import check_regular, damage_named, open_regular, output_of
from nearlabel.utils.naming import import_optional

_PER_DAY = {"s": 86_400, "ms": 86_400 * 10**3, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
_FIRST_DAY, _LAST_DAY = (day.toordinal() - date(1970, 1, 1).toordinal() for day in (date.min, date.max))
_SCRIPT = Path(parquet_rows.__file__)
_WHOLE = "a whole Parquet file"
_EXTRA, _PURPOSE = "tables", "Reading tables"


class CsvParser:
    """Parses blocks of whole rows into the text of some columns."""

    def __init__(self, n_columns: int, wanted: list[int], delimiter: str) -> None:
        self._arrow = import_optional("pyarrow", extra=_EXTRA, purpose=_PURPOSE)
        self._csv = import_optional("pyarrow.csv", extra=_EXTRA, purpose=_PURPOSE)
        self._names = [str(column) for column in range(n_columns)]  # unlike those of the header they are distinct
        names = [str(column) for column in wanted]
        self._parsing = self._csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        self._conversion = self._csv.ConvertOptions(
            include_columns=names,
            column_types=dict.fromkeys(names, self._arrow.string()),
            null_values=[""],
            strings_can_be_null=True,
        )

    def parse(self, block: bytes) -> list[Any]:
        """Return the wanted columns as arrays of text, an empty cell as null; raise ValueError for ragged rows."""
        if block.startswith(BYTE_ORDER_MARK):
            block = BYTE_ORDER_MARK + block  # pyarrow removes one mark, which here belongs to the first cell
        reading = self._csv.ReadOptions(use_threads=False, block_size=len(block) + 1, column_names=self._names)
        table = self._csv.read_csv(
            self._arrow.py_buffer(block),
            read_options=reading,
            parse_options=self._parsing,
            convert_options=self._conversion,
        )
        return [column.combine_chunks() for column in table.columns]


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
    import_optional("pyarrow.compute", extra=_EXTRA, purpose=_PURPOSE)
    import_optional("pyarrow.parquet", extra=_EXTRA, purpose=_PURPOSE)
    return import_optional("pyarrow", extra=_EXTRA, purpose=_PURPOSE)


class ParquetWriter:
    """Writes columns of lists to a Parquet file, block by block.

    `kinds` are the kinds of the columns; a column of kind "cell" gets the type of its first values.
    """

    def __init__(self, path: Path, kinds: Mapping[str, Kind]) -> None:
        self._arrow = import_optional("pyarrow", extra=_EXTRA, purpose="Writing tables")
        self._parquet = import_optional("pyarrow.parquet", extra=_EXTRA, purpose="Writing tables")
        self._path, self._kinds = path, kinds
        self._file: Any = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, columns: Mapping[str, Sequence[Any]]) -> None:
        """Append rows."""
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
    parquet = import_optional("pyarrow.parquet", extra=_EXTRA, purpose="Writing tables")
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
                    table = _with_edited(table, name, here) if here else table
                writer.write_table(table)
                first = rows.stop


def _with_edited(table: Any, name: str, edits: Mapping[int, Callable[[Any], Any]]) -> Any:
    """Return a table in which some cells of a column were changed; the type of the column stays."""
    arrow = import_optional("pyarrow", extra=_EXTRA, purpose="Writing tables")
    place = table.schema.get_field_index(name)
    field = table.schema.field(place)
    values = table.column(place).to_pylist()
    for row, edit in edits.items():
        was_missing, new = values[row] is None, edit(values[row])
        values[row] = bool(new) if was_missing and field.type == arrow.bool_() else new
    return table.set_column(place, field, arrow.array(values, field.type))


def kind_of(data_type: Any) -> Kind:
    """Return the kind of a column of this type."""
    types = import_optional("pyarrow.types", extra=_EXTRA, purpose=_PURPOSE)
    if types.is_list(data_type) or types.is_large_list(data_type) or types.is_fixed_size_list(data_type):
        return _LISTS.get(_kind_of_scalar(types, data_type.value_type), "other")
    if types.is_dictionary(data_type):
        return _kind_of_scalar(types, data_type.value_type)
    return _kind_of_scalar(types, data_type)


_LISTS: dict[Kind, Kind] = {"number": "numbers", "text": "texts"}


def _kind_of_scalar(types: Any, data_type: Any) -> Kind:
    if types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type):
        return "text"
    if types.is_date(data_type) or types.is_timestamp(data_type):
        return "time"
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return "number" if any(test(data_type) for test in tests) else "other"


def row_beyond_calendar(array: Any) -> int | None:
    """Return the first row of an array of dates or times that is beyond the years 1 to 9999; None if none is."""
    arrow = _pyarrow()
    if arrow.types.is_date32(array.type):
        array, per_day = array.cast(arrow.int32()), 1
    else:
        per_day = _PER_DAY["ms" if arrow.types.is_date64(array.type) else array.type.unit]
    days = array.cast(arrow.int64()).fill_null(0).to_numpy(zero_copy_only=False) // per_day
    beyond = (days < _FIRST_DAY) | (days > _LAST_DAY)
    return int(beyond.argmax()) if beyond.any() else None


def naive_times(array: Any) -> Any:
    """Return dates and times as times without a zone, in microseconds; those with a zone are moved to UTC."""
    arrow = import_optional("pyarrow", extra=_EXTRA, purpose=_PURPOSE)
    return array.cast(arrow.timestamp("us"), safe=False)


def swapped(array: Any) -> Any:
    """Return text with points for its commas and commas for its points."""
    compute = import_optional("pyarrow.compute", extra=_EXTRA, purpose=_PURPOSE)
    for old, new in ((".", "\0"), (",", "."), ("\0", ",")):
        array = compute.replace_substring(array, old, new)
    return array


def array_of(values: Sequence[Any], data_type: Literal["bool", "int", "float", "text"], *, lists: bool = False) -> Any:
    """Return Python's values, or lists of them, as an array; None is missing."""
    arrow = import_optional("pyarrow", extra=_EXTRA, purpose=_PURPOSE)
    types = {"bool": arrow.bool_(), "int": arrow.int64(), "float": arrow.float64(), "text": arrow.string()}
    return arrow.array(values, arrow.list_(types[data_type]) if lists else types[data_type])


def plain(array: Any) -> Any:
    """Return categories and string views as plain arrays, which other modules can handle."""
    types = import_optional("pyarrow.types", extra=_EXTRA, purpose=_PURPOSE)
    if types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array.cast("string") if types.is_string_view(array.type) else array


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
