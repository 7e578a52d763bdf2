"""Read Parquet by pyarrow, in this process or, as a script, in a process of its own, where a crash ends only that one.

It imports nothing of this library, so that the script starts in the time that pyarrow needs. It imports pyarrow only as
a script: in this process pyarrow is passed to its functions.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

_BUFFER_BYTES = 2**16  # of each column: without it a column's whole row group is in memory
_LONGEST_LIST = 10**6  # of columns, groups and similar in the file's own description, as in pyarrow
_ALWAYS_ALLOWED, _ALLOWED_RATIO = 2**29, 1000  # repeated values take next to nothing in Parquet
_ROOM_OF_SCRIPT = 2**30  # in addition to the memory of pyarrow's import
_FACTS = b"nearlabel"
_FAILED = 3


def facts_of(pyarrow: Any, path: str) -> tuple[Any, dict[str, Any]]:
    """Return the schema, and by name: the number of rows, values and bytes of each column, index columns, classes.

    Raise any error of pyarrow, or ValueError for a file whose description contradicts itself.
    """
    file = _opened(pyarrow, path)
    schema, metadata = file.schema_arrow, file.metadata
    values, sizes = dict.fromkeys(schema.names, 0), dict.fromkeys(schema.names, 0)
    n_rows = 0
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        n_rows += group.num_rows
        for place in range(group.num_columns):
            chunk = group.column(place)
            column = column_of(chunk.path_in_schema, values)
            if min(group.num_rows, chunk.num_values, chunk.total_uncompressed_size) < 0:
                raise ValueError(f"a part of column {column[:60]!r} has less than nothing")
            values[column] += chunk.num_values
            sizes[column] += max(8 * chunk.num_values, chunk.total_uncompressed_size)
    if n_rows != metadata.num_rows:
        raise ValueError(f"{metadata.num_rows} rows, but {n_rows} in its groups")
    return schema, {
        "rows": n_rows,
        "values": values,
        "bytes": sizes,
        "index": _index_of(schema),
        "classes": classes_in(schema.metadata),
    }


def column_of(path: str, names: Collection[str]) -> str:
    """Return the column to which a path like ``embedding.list.element`` belongs; raise ValueError if there is none."""
    column = path
    while column not in names:
        column, dot, _ = column.rpartition(".")
        if not dot:
            raise ValueError(f"a part that belongs to no column, {path[:60]!r}")
    return column


def batches_of(
    pyarrow: Any,
    path: str,
    names: Sequence[str],
    n_rows: int,
    largest: int | None,
    check: Callable[[str, Any, Sequence[str], int], None] | None = None,
) -> Iterator[Any]:
    """Yield the rows of some columns, `n_rows` at a time; raise any error of pyarrow, ValueError for too much.

    `check` reads the open file first; the script has none, since the system limits its memory. Texts are read as
    numbers of distinct texts, and expanded if all of them take at most `largest` bytes: a text may occur in a thousand
    million rows of a small file.
    """
    file = _opened(pyarrow, path)
    schema = file.schema_arrow
    types = {name: schema.field(name).type for name in names}
    types |= {name: one.value_type for name, one in types.items() if pyarrow.types.is_dictionary(one)}
    texts = [name for name in names if _is_text(pyarrow, types[name])]
    file = _opened(pyarrow, path, texts, file.metadata)
    left = largest = allowed_bytes(path, largest)
    if check is not None:
        check(path, file, names, largest)
    for rows in file.iter_batches(n_rows, columns=list(names), use_threads=False):
        left -= sum(_text_bytes(pyarrow, rows.column(name)) for name in texts)
        if left < 0:
            raise ValueError(too_much(path, f"texts of more than {largest}", largest))
        arrays = [rows.column(name).cast(types[name]) if name in texts else rows.column(name) for name in names]
        whole = pyarrow.RecordBatch.from_arrays(arrays, names=list(names))
        whole.validate(full=True)  # text that is no UTF-8, and places outside of arrays
        yield whole


def allowed_bytes(path: str, largest: int | None) -> int:
    """Return how many bytes the columns that are read may take, a cell at least 8."""
    return max(_ALWAYS_ALLOWED, _ALLOWED_RATIO * Path(path).stat().st_size) if largest is None else largest


def too_much(path: str, got: str, largest: int) -> str:
    """Return the message for a file that would take too much memory."""
    hint = "Hint: max_unpacked_bytes, if you know who made the file"
    return f"{path} must have columns of at most {largest} bytes, got {got}. {hint}."


def _opened(pyarrow: Any, path: str, coded: Sequence[str] = (), metadata: Any = None) -> Any:
    size = Path(path).stat().st_size
    return pyarrow.parquet.ParquetFile(
        path,
        metadata=metadata,
        buffer_size=_BUFFER_BYTES,
        pre_buffer=False,
        read_dictionary=list(coded),
        thrift_string_size_limit=max(1, size),
        thrift_container_size_limit=max(1, min(size, _LONGEST_LIST)),
    )


def _index_of(schema: Any) -> list[str]:
    """Return the names of the columns that are the index of a pandas data frame."""
    written = (schema.metadata or {}).get(b"pandas", b"{}")
    try:
        listed = json.loads(written)["index_columns"]
    except (ValueError, LookupError, TypeError, RecursionError):
        return []
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []


def classes_in(metadata: Mapping[bytes, bytes] | None) -> dict[str, list[str]]:
    """Return the names of the classes in each column, as the metadata of a schema of Hugging Face has them."""
    try:
        features = json.loads((metadata or {}).get(b"huggingface", b"{}"))["info"]["features"]
        named = {name: _class_names(feature) for name, feature in features.items()}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return {}
    return {name: names for name, names in named.items() if names}


def _class_names(feature: Any) -> list[str] | None:
    """Return the names of a feature of classes, or of a list of them."""
    while isinstance(feature, list) and len(feature) == 1:
        feature = feature[0]
    while isinstance(feature, dict) and isinstance(feature.get("feature"), dict):
        feature = feature["feature"]
    names = feature.get("names") if isinstance(feature, dict) and feature.get("_type") == "ClassLabel" else None
    return names if isinstance(names, list) and all(isinstance(name, str) for name in names) else None


def _is_text(pyarrow: Any, data_type: Any) -> bool:
    return bool(pyarrow.types.is_string(data_type) or pyarrow.types.is_large_string(data_type))


def _text_bytes(pyarrow: Any, array: Any) -> int:
    """Return how many bytes the texts of a column, stored as numbers of distinct ones, take when they are expanded."""
    lengths = pyarrow.compute.binary_length(array.dictionary).to_numpy(zero_copy_only=False)
    codes = array.indices.drop_null().to_numpy(zero_copy_only=False)
    return int(lengths.astype("int64")[codes].sum())  # raises IndexError for the number of no text


def main(path: str, columns: str, n_rows: str, largest: str) -> None:
    """Write a file's schema and facts to standard output, or its rows, as a stream that pyarrow reads."""
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"  # others set aside more addresses than the limit allows
    pyarrow = import_module("pyarrow")
    for part in ("pyarrow.compute", "pyarrow.ipc", "pyarrow.parquet"):
        import_module(part)
    _limit_memory(path)
    output = sys.stdout.buffer
    names = json.loads(columns)
    if names is None:
        schema, facts = facts_of(pyarrow, path)
        described = schema.with_metadata({_FACTS: json.dumps(facts).encode()})
        pyarrow.ipc.new_stream(output, described).close()
        return
    writer = None
    for rows in batches_of(pyarrow, path, names, int(n_rows), json.loads(largest)):
        writer = writer or pyarrow.ipc.new_stream(output, rows.schema)
        writer.write_batch(rows)
    if writer:
        writer.close()


def facts_in(schema: Any) -> tuple[Any, dict[str, Any]]:
    """Return the schema and the facts that `main` has written as one."""
    return schema.remove_metadata(), json.loads(schema.metadata[_FACTS])


def _limit_memory(path: str) -> None:
    """Limit memory to the needs of a sound file, where the system can: pages may declare 2 GiB."""
    try:
        import resource

        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    except (ImportError, OSError):
        return
    room = _ROOM_OF_SCRIPT + _ALLOWED_RATIO * Path(path).stat().st_size
    resource.setrlimit(resource.RLIMIT_AS, (taken + room, resource.getrlimit(resource.RLIMIT_AS)[1]))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
        sys.stdout.flush()
    except Exception as error:  # noqa: BLE001  # whatever it is, the process that waits names the file
        reason = str(error) if sys.argv[1] in str(error) else f"{type(error).__name__}: {error}"
        sys.stderr.write(reason)
        sys.exit(_FAILED)
