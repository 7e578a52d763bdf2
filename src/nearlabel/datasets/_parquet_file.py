"""Parquet files: columns with types, in groups of rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from pathlib import Path

import numpy as np

from nearlabel.datasets._arrow import kind_of, parquet_batches, parquet_facts, plain
from nearlabel.datasets._parquet_rows import allowed_bytes, too_much
from nearlabel.datasets._table_file import Batch, Column, columns_by_name
from nearlabel.files.untrusted import damage_named

_BATCH_BYTES = 2**20
_LEAST_ROWS, _MOST_ROWS = 2**8, 2**16  # of a batch: the cost of a batch grows with the number of columns


class ParquetFile:
    """The rows of a Parquet file; the index of a pandas data frame is no feature.

    `largest` is how many bytes the columns that are read may take, a cell at least 8; None: 512 MiB, or 1000 times the
    file if that is more. `isolate` reads in a child process, which may crash.
    """

    decimal = "."

    def __init__(self, path: Path, *, largest: int | None = None, isolate: bool = False) -> None:
        self.path = path
        self._isolate = isolate
        schema, facts = parquet_facts(path, isolate=isolate)
        self._largest = allowed_bytes(str(path), largest)
        self.n_rows: int = facts["rows"]
        self._values, self._bytes = facts["values"], facts["bytes"]
        index = set(facts["index"])
        with damage_named(path, "a Parquet file of columns with names"):
            columns = [
                Column(field.name, kind_of(field.type), str(field.type), field.name in index) for field in schema
            ]
        self._list_sizes = {field.name: getattr(field.type, "list_size", None) for field in schema}
        self.columns = columns_by_name(path, columns)

    def batches(self, names: Collection[str]) -> Iterator[Batch]:
        """Yield the rows in batches of a few MiB, independent of the row groups."""
        size = sum(self._bytes[name] for name in names)
        self._check_size(size)
        n_rows = int(np.clip(_BATCH_BYTES * self.n_rows // max(1, size), _LEAST_ROWS, _MOST_ROWS))
        done = 0
        for rows in parquet_batches(self.path, names, n_rows, self._largest, isolate=self._isolate):
            with damage_named(self.path, "a Parquet file of columns that can be read"):
                columns = {name: plain(rows.column(name)) for name in names}
            locate = _locator(done)
            done += rows.num_rows
            yield Batch(rows.num_rows, columns, done / max(done, self.n_rows), locate)

    def width(self, name: str) -> int:
        """Return the length of a fixed-size list, else that of the first list that is not empty."""
        declared = self._list_sizes[name]
        size = int(self._first_length(name) if declared is None else declared)
        if not 0 < size <= self._values[name]:
            raise ValueError(f"column {name!r} of {self.path} must contain some list of at least one number, got none.")
        self._check_size(8 * size * self.n_rows)  # a missing list takes as much as any other
        return size

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


def _locator(first_row: int) -> Callable[[int], str]:
    return lambda row: f"row {first_row + row + 1}"
