"""Parquet files: columns with types, in groups of rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nearlabel.datasets._arrow import kind_of, open_parquet, plain
from nearlabel.datasets._table_file import Batch, Column, columns_by_name

_BATCH_BYTES = 2**20
_LEAST_ROWS, _MOST_ROWS = 2**8, 2**16  # of a batch: the cost of a batch grows with the number of columns


class ParquetFile:
    """The rows of a Parquet file; the index of a pandas data frame is no feature."""

    decimal = "."

    def __init__(self, path: Path) -> None:
        self.path = path
        with open_parquet(path) as file:
            schema = file.schema_arrow
            self.n_rows: int = file.metadata.num_rows
            self._bytes_per_row = _bytes_per_row(file.metadata, schema.names)
        index = (schema.pandas_metadata or {}).get("index_columns", ())
        columns = (Column(field.name, kind_of(field.type), str(field.type), field.name in index) for field in schema)
        self.columns = columns_by_name(path, columns)

    def batches(self, names: Collection[str]) -> Iterator[Batch]:
        """Yield the rows in batches of a few MiB, independent of the row groups."""
        done = 0
        with open_parquet(self.path) as file:
            for rows in self._record_batches(file, names):
                columns = {name: plain(rows.column(name)) for name in names}
                locate = _locator(done)
                done += rows.num_rows
                yield Batch(rows.num_rows, columns, done / self.n_rows, locate)

    def width(self, name: str) -> int:
        """Return the length of a fixed-size list, else that of the first list that is not empty."""
        with open_parquet(self.path) as file:
            data_type = file.schema_arrow.field(name).type
        size = data_type.list_size if hasattr(data_type, "list_size") else self._first_length(name)
        if not size:
            raise ValueError(f"column {name!r} of {self.path} must contain some list of at least one number, got none.")
        return int(size)

    def _first_length(self, name: str) -> int:
        for batch in self.batches([name]):
            lengths = batch.columns[name].value_lengths().fill_null(0).to_numpy()
            if lengths.any():
                return int(lengths[np.argmax(lengths > 0)])
        return 0

    def _record_batches(self, file: Any, names: Collection[str]) -> Iterator[Any]:
        size = sum(self._bytes_per_row[name] for name in names)
        n_rows = int(np.clip(_BATCH_BYTES // max(1, size), _LEAST_ROWS, _MOST_ROWS))
        try:
            yield from file.iter_batches(n_rows, columns=list(names), use_threads=False)
        except (OSError, ValueError) as error:
            raise ValueError(f"{self.path} must be a Parquet file with whole rows, got: {error}") from error


def _bytes_per_row(metadata: Any, names: Collection[str]) -> dict[str, float]:
    """Return the mean size of a cell in each column: as float64 or as stored, whichever is larger."""
    size = dict.fromkeys(names, 0.0)
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(number)
            size[_column(chunk.path_in_schema, size)] += max(8 * chunk.num_values, chunk.total_uncompressed_size)
    return {name: total / max(1, metadata.num_rows) for name, total in size.items()}


def _column(path: str, names: Collection[str]) -> str:
    """Return the column to which a path like ``embedding.list.element`` belongs."""
    while path not in names:
        path = path.rpartition(".")[0]
    return path


def _locator(first_row: int) -> Callable[[int], str]:
    return lambda row: f"row {first_row + row + 1}"
