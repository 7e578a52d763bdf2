"""Tables of PostgreSQL with the extension pgvector."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.neighbors.optional._vector_table import Candidates, VectorTable
from nearlabel.utils.naming import import_optional
from nearlabel.utils.validation import check_integer

_PURPOSE = "PgVectorTable"
_OPERATORS = {"euclidean": "<->", "cosine": "<=>"}
_LARGEST_EF = 1000  # that pgvector accepts


class PgVectorTable(VectorTable):
    """A table of PostgreSQL whose vectors have pgvector's type.

    Everything is read in one transaction, so uncommitted changes are invisible: if a process is killed while it adds
    rows, the earlier rows remain. Needs psycopg and the Python package pgvector (``pip install
    'nearlabel[pgvector]'``), and the extension on the server (``CREATE EXTENSION vector``).

    Rows are ordered by their ids.

    Parameters
    ----------
    where : str
        Connection string or URL for libpq: "postgresql://..." or "host=... dbname=...".
    name : str
        Name of the table; preceded by its schema and a dot if it is not on the search path.
    id : str, default="id"
        Column of ids, integers or texts.
    vector : str, default="vector"
        Column of vectors.
    tags : str or None, default="tags"
        Column of tags, of type ``text[]``. None: the table has no tags, and each row with a vector is used.
    ef_search : int, default=None
        Number of candidates that a walk over an HNSW index keeps. None: the number of requested rows, or pgvector's
        default if that is more.
    n_probes : int, default=None
        Lists of an IVFFlat index that are searched for a query. None: pgvector's default.

    See Also
    --------
    TableNeighbors : Search in it.
    TableClassifier : A classifier fitted to it.

    Examples
    --------
    >>> from nearlabel.neighbors import PgVectorTable
    >>> songs = PgVectorTable("dbname=music", "songs")
    >>> songs.read().ids  # doctest: +SKIP
    """

    def __init__(
        self,
        where: str,
        name: str,
        *,
        id: str = "id",  # noqa: A002 (name of the column)
        vector: str = "vector",
        tags: str | None = "tags",
        ef_search: int | None = None,
        n_probes: int | None = None,
    ) -> None:
        self.where = where
        self.name = name
        self.id = id
        self.vector = vector
        self.tags = tags
        self.ef_search = None if ef_search is None else check_integer("ef_search", ef_search, low=1)
        self.n_probes = None if n_probes is None else check_integer("n_probes", n_probes, low=1)

    def version(self) -> Hashable:
        """Return a digest of the ids of the rows and of the transactions that wrote them.

        Returns
        -------
        tuple of int
            Number of rows and sum of digests, which the server takes in one pass over the table.
        """
        with self._transaction() as cursor:
            return self._version(cursor)

    def _version(self, cursor: Any) -> Hashable:
        # xmin is the transaction that wrote the present version of a row: a changed row has another.
        text = "SELECT count(*), coalesce(sum(hashtextextended({id}::text || ' ' || xmin::text, 0)), 0) FROM {table}"
        n_rows, digest = self._run(cursor, text).fetchone()
        return int(n_rows), int(digest)

    @contextmanager
    def _transaction(self) -> Iterator[Any]:
        """Yield a cursor whose statements all see one state of the table; connect if there is no connection."""
        psycopg = import_optional("psycopg", extra="pgvector", purpose=_PURPOSE)
        if self._connection is None or self._connection.closed:
            self._connection = self._connected(psycopg)
        with self._connection.transaction(), self._connection.cursor(binary=True) as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield cursor

    def _connected(self, psycopg: Any) -> Any:
        connection = psycopg.connect(self.where, autocommit=True)
        try:
            self._check_extension(psycopg, connection)
            self._check_table(psycopg, connection)
        except BaseException:
            connection.close()
            raise
        return self._closed_at_the_end(connection)

    def _check_extension(self, psycopg: Any, connection: Any) -> None:
        try:
            import_optional("pgvector.psycopg", extra="pgvector", purpose=_PURPOSE).register_vector(connection)
        except psycopg.ProgrammingError as error:
            raise ValueError(
                f"where must be a database with the extension pgvector, got {connection.info.dbname!r} without."
                " Hint: CREATE EXTENSION vector."
            ) from error

    def _check_table(self, psycopg: Any, connection: Any) -> None:
        try:
            there = [
                column.name for column in self._run(connection.cursor(), "SELECT * FROM {table} LIMIT 0").description
            ]
        except psycopg.errors.UndefinedTable as error:
            raise ValueError(f"name must be a table of the database, got {self.name!r}: {error}") from error
        self._require_columns((("id", self.id), ("vector", self.vector), ("tags", self.tags)), there)

    def _run(self, cursor: Any, text: str, values: Sequence[Any] = (), **parts: str) -> Any:
        return cursor.execute(self._statement(text, **parts), values)

    def _statement(self, text: str, **parts: str) -> Any:
        """Return a statement with the names of table and columns in it, each quoted."""
        sql = import_optional("psycopg.sql", extra="pgvector", purpose=_PURPOSE)
        names = {"id": self.id, "vector": self.vector, "tags": self.tags or self.id}
        quoted = {name: sql.Identifier(column) for name, column in names.items()}
        table = sql.Identifier(*self.name.split("."))
        where = {name: sql.SQL(part).format(**quoted) for name, part in parts.items()}
        return sql.SQL(text).format(table=table, **quoted, **where)

    def _those(self, *, serving: bool) -> str:
        if self.tags is None:
            return "{vector} IS NOT NULL"
        return "{vector} IS NOT NULL AND {tags} IS " + ("NOT NULL" if serving else "NULL")

    def _scan(self, *, serving: bool) -> tuple[Hashable, list[Any], Any, list[Any] | None]:
        text = "SELECT {id}, {vector}, {tags} FROM {table} WHERE {those} ORDER BY {id}"
        with self._transaction() as cursor:
            version = self._version(cursor)
            rows = self._run(cursor, text, those=self._those(serving=serving)).fetchall()
        ids, vectors, tags = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
        found = [_as_array(one) for one in vectors] if rows else np.empty((0, 0), dtype=np.float32)
        return version, ids, found, tags if serving and self.tags is not None else None

    def _nominate(self, queries: NDArray[np.float32], n: int, metric: str) -> Candidates:
        vector = import_optional("pgvector", extra="pgvector", purpose=_PURPOSE).Vector
        text = (
            "SELECT query.number, found.id, found.vector"
            " FROM unnest(%s::vector[]) WITH ORDINALITY AS query(row, number)"
            " CROSS JOIN LATERAL (SELECT {id} AS id, {vector} AS vector FROM {table} WHERE {those}"
            " ORDER BY {vector} {operator} query.row LIMIT %s) AS found"
        )
        with self._transaction() as cursor:
            self._set_how_much_is_searched(cursor, n)
            values = [[vector(row) for row in queries], n]
            rows = self._run(
                cursor, text, values, those=self._those(serving=True), operator=_OPERATORS[metric]
            ).fetchall()
        vectors = np.array([_as_array(row[2]) for row in rows], dtype=np.float32).reshape(len(rows), queries.shape[1])
        return Candidates(np.array([row[0] - 1 for row in rows], dtype=np.intp), [row[1] for row in rows], vectors)

    def _set_how_much_is_searched(self, cursor: Any, n: int) -> None:
        """Let indexes find n rows, until the transaction ends."""
        default = int(cursor.execute("SELECT current_setting('hnsw.ef_search', true)").fetchone()[0] or 40)
        ef_search = self.ef_search or min(max(n, default), _LARGEST_EF)
        settings = {"hnsw.ef_search": ef_search, "ivfflat.probes": self.n_probes}
        for name, value in settings.items():
            if value is not None:
                cursor.execute("SELECT set_config(%s, %s, true)", (name, str(value)))

    def _insert(self, ids: list[Any], X: NDArray[Any], tags: Sequence[list[str] | None] | None) -> None:
        vector = import_optional("pgvector", extra="pgvector", purpose=_PURPOSE).Vector
        columns = "{id}, {vector}" if tags is None else "{id}, {vector}, {tags}"
        parts = [ids, [vector(row) for row in X], *([] if tags is None else [tags])]
        text = f"INSERT INTO {{table}} ({columns}) VALUES ({', '.join(['%s'] * len(parts))})"
        with self._transaction() as cursor:
            cursor.executemany(self._statement(text), zip(*parts, strict=True))

    def _delete(self, ids: list[Any]) -> None:
        with self._transaction() as cursor:
            self._run(cursor, "DELETE FROM {table} WHERE {id} = ANY(%s)", [ids])

    def _present(self, ids: list[Any]) -> list[Any]:
        with self._transaction() as cursor:
            found = self._run(cursor, "SELECT {id} FROM {table} WHERE {id} = ANY(%s)", [ids]).fetchall()
        return [row[0] for row in found]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(..., {self.name!r})"  # the connection string may contain a password


def _as_array(vector: Any) -> NDArray[np.float32]:
    """Return a vector of pgvector as an array: some versions give an array, others an object with `to_numpy`."""
    return np.asarray(vector.to_numpy() if hasattr(vector, "to_numpy") else vector, dtype=np.float32)
