"""Tables of LanceDB, an embedded vector database: a folder of files, without a server."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.files.untrusted import arrow_errors_named
from nearlabel.neighbors.optional._vector_table import Candidates, VectorTable
from nearlabel.utils.naming import import_optional
from nearlabel.utils.validation import check_integer

_PURPOSE = "LanceTable"
_DISTANCES = {"euclidean": "l2", "cosine": "cosine"}


class LanceTable(VectorTable):
    """A table of LanceDB: a folder of files that any number of processes can read and write, without a server.

    Every change is an atomic new version of the table: if a process is killed while it adds rows, the earlier rows
    remain. Needs lancedb (``pip install 'nearlabel[lance]'``).

    LanceDB determines the order of the rows: they are in the order in which they were added, and a changed row moves to
    the end.

    Parameters
    ----------
    where : path-like
        Folder of the database, or another address for `lancedb.connect`.
    name : str
        Name of the table.
    id : str, default="id"
        Column of ids, integers or texts.
    vector : str, default="vector"
        Column of vectors.
    tags : str or None, default="tags"
        Column of tags, lists of texts. None: the table has no tags, and each row with a vector is used.
    n_probes : int, default=None
        Lists of an index that are searched for a query: more are slower and miss fewer neighbours. None: LanceDB's
        default.

    See Also
    --------
    TableNeighbors : Search in it.
    TableClassifier : A classifier fitted to it.

    Examples
    --------
    >>> from nearlabel.neighbors import LanceTable
    >>> songs = LanceTable("music", "songs")
    >>> songs.read().ids  # doctest: +SKIP
    """

    def __init__(
        self,
        where: str | os.PathLike[str],
        name: str,
        *,
        id: str = "id",  # noqa: A002 (name of the column)
        vector: str = "vector",
        tags: str | None = "tags",
        n_probes: int | None = None,
    ) -> None:
        self.where = os.fspath(where)
        self.name = name
        self.id = id
        self.vector = vector
        self.tags = tags
        self.n_probes = None if n_probes is None else check_integer("n_probes", n_probes, low=1)

    def version(self) -> Hashable:
        """Return the number of the table's latest version, and how many rows it has.

        A table that is dropped and created again counts from 1, so it may have the version of the earlier one: then
        call `fit`.

        Returns
        -------
        tuple of int
            The first increases with every change, also of rows or columns that are not read here.
        """
        return _version(self._latest())

    def _latest(self) -> Any:
        """Return the present table; the result does not follow later changes."""
        if self._connection is None:
            self._connection = import_optional("lancedb", extra="lance", purpose=_PURPOSE).connect(self.where)
        try:
            table = self._connection.open_table(self.name)
        except ValueError as error:
            there = ", ".join(map(repr, sorted(self._connection.list_tables().tables))) or "none"
            raise ValueError(
                f"name must be a table in {self.where!r}, got {self.name!r}: there are {there}."
            ) from error
        wanted = (("id", self.id), ("vector", self.vector), ("tags", self.tags))
        self._require_columns(wanted, table.schema.names)
        return table

    def _scan(self, *, serving: bool) -> tuple[Hashable, list[Any], Any, list[Any] | None]:
        table = self._latest()
        columns = [name for name in (self.id, self.vector, self.tags if serving else None) if name is not None]
        with self._errors_named():
            found = table.search().where(self._those(serving=serving)).select(columns).to_arrow()
            tags = found[self.tags].to_pylist() if serving and self.tags is not None else None
            return _version(table), found[self.id].to_pylist(), _as_matrix(found[self.vector]), tags

    def _errors_named(self) -> AbstractContextManager[None]:
        return arrow_errors_named(f"table {self.name!r} in {self.where}")

    def _those(self, *, serving: bool) -> str:
        conditions = [f"{_quoted(self.vector)} IS NOT NULL"]
        if self.tags is not None:
            conditions.append(f"{_quoted(self.tags)} IS {'NOT ' if serving else ''}NULL")
        return " AND ".join(conditions)

    def _nominate(self, queries: NDArray[np.float32], n: int, metric: str) -> Candidates:
        table = self._latest()
        search = table.search(queries, vector_column_name=self.vector).distance_type(_DISTANCES[metric]).limit(n)
        # LanceDB itself ignores rows without a vector. A condition is checked on all rows for each query: on the
        # vectors that
        # would take gigabytes, and on tags it is faster to check first whether any are missing.
        if self.tags is not None and table.count_rows(f"{_quoted(self.tags)} IS NULL"):
            search = search.where(f"{_quoted(self.tags)} IS NOT NULL", prefilter=True)
        if self.n_probes is not None:
            search = search.nprobes(self.n_probes)
        with self._errors_named():
            found = search.select([self.id, self.vector, "_distance"]).to_arrow()
            found = found.filter(found[self.vector].is_valid())
            # For one query LanceDB does not return its number.
            query = found["query_index"].to_numpy() if len(queries) > 1 else np.zeros(found.num_rows)
            return Candidates(query.astype(np.intp), found[self.id].to_pylist(), _as_matrix(found[self.vector]))

    def _insert(self, ids: list[Any], X: NDArray[Any], tags: Sequence[list[str] | None] | None) -> None:
        pyarrow = import_optional("pyarrow", extra="lance", purpose=_PURPOSE)
        table, columns = self._latest(), {self.id: ids, self.vector: list(X)}
        if tags is not None and self.tags is not None:
            columns[self.tags] = list(tags)
        with self._errors_named():
            arrays = {name: pyarrow.array(values, table.schema.field(name).type) for name, values in columns.items()}
            table.add(pyarrow.table(arrays))

    def _delete(self, ids: list[Any]) -> None:
        self._latest().delete(self._among(ids))

    def _present(self, ids: list[Any]) -> list[Any]:
        search = self._latest().search().where(self._among(ids)).select([self.id])
        with self._errors_named():
            found: list[Any] = search.to_arrow()[self.id].to_pylist()
        return found

    def _among(self, ids: list[Any]) -> str:
        return f"{_quoted(self.id)} IN ({', '.join(map(_literal, ids))})"


def _version(table: Any) -> tuple[int, int]:
    return table.version, table.count_rows()


def _as_matrix(column: Any) -> Any:
    """Return an Arrow column of lists of numbers, none NULL: a matrix, or a list of arrays if lengths differ."""
    lists = column.combine_chunks()
    numbers = lists.flatten().to_numpy(zero_copy_only=False)
    if len(numbers) and len(numbers) % len(lists) == 0 and len(set(lists.value_lengths().to_pylist())) == 1:
        return numbers.reshape(len(lists), -1)
    if not len(lists):
        return np.empty((0, getattr(lists.type, "list_size", 0)), dtype=np.float32)
    return [np.asarray(one) for one in lists.to_pylist()]


def _quoted(name: str) -> str:
    return f"`{name}`"


def _literal(value: Any) -> str:
    """Return an id as SQL; texts with their quotes doubled, so that an id is never a command."""
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"ids must be integers or texts, got {value!r} of type {type(value).__name__}.")
