"""The interface to a table of a vector database: rows that can be read, searched, added and deleted.

An engine is one file: a subclass of `VectorTable` that reads all rows in one consistent state, detects by a version
whether the table has changed since, and returns the nearest rows of a block of queries with their vectors. All checks
are here, so that every engine rejects the same rows with the same messages.
"""

from __future__ import annotations

import weakref
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from nearlabel.utils.containers import checked_samples
from nearlabel.utils.types import IntArray, MatrixLike
from nearlabel.utils.validation import check_choice

METRICS = ("euclidean", "cosine")
FLOATS = (np.float64, np.float32)
_SHOWN = 3  # ids in a message
_LARGEST = float(np.finfo(np.float32).max)


class TableChangedError(RuntimeError):
    """The table no longer contains the rows that were read from it; reading it again helps."""


class TableRows(NamedTuple):
    """Rows of a table at one moment, in the order of the table.

    Parameters
    ----------
    version : hashable
        Value of `VectorTable.version` at that moment.
    ids : ndarray of shape (n_rows,)
        Integers or texts.
    X : ndarray of shape (n_rows, n_features), float32 or float64
        Vectors.
    tags : list of n_rows lists of str, or None
        Tags of each row; None if the table has no column of tags, or rows without tags were requested.
    """

    version: Hashable
    ids: NDArray[Any]
    X: NDArray[Any]
    tags: list[list[str]] | None


class Candidates(NamedTuple):
    """Candidates for queries, each with its present vector: any number for a query, in any order.

    Parameters
    ----------
    query : ndarray of int of shape (n_candidates,)
        The number of the query.
    ids : list of length n_candidates
        The row's id.
    vectors : ndarray of shape (n_candidates, n_features)
        The row's vector.
    """

    query: IntArray
    ids: list[Any]
    vectors: NDArray[Any]


class VectorTable(ABC):
    """A table of a vector database: rows with an id, a vector and, unless `tags` is None, a list of tags.

    A row is *used* if it has a vector and its tags are known: neither is NULL. An empty list of tags is known. A row
    that is not used is no neighbour of any sample.

    A table object is a handle, not data: it connects when it is first used, all copies share its connection, and a
    pickle contains the parameters of the connection.
    """

    where: Any
    name: str
    tags: str | None
    _connection: Any = None
    _closing: Any = None

    @abstractmethod
    def version(self) -> Hashable:
        """Return a value that changes whenever rows are added, deleted or changed.

        Returns
        -------
        object
            Equal to that of `read` as long as the table has not changed.
        """

    @abstractmethod
    def _scan(self, *, serving: bool) -> tuple[Hashable, list[Any], Any, list[Any] | None]:
        """Return version, ids, vectors and tags of the used rows, or of those with a vector but without tags."""

    @abstractmethod
    def _nominate(self, queries: NDArray[np.float32], n: int, metric: str) -> Candidates:
        """Return up to n of the nearest rows that are used, for each query (n_queries, n_features)."""

    @abstractmethod
    def _insert(self, ids: list[Any], X: NDArray[Any], tags: Sequence[list[str] | None] | None) -> None:
        """Insert checked rows, all or none where the engine can."""

    @abstractmethod
    def _delete(self, ids: list[Any]) -> None:
        """Delete the rows with these ids, as far as they exist."""

    @abstractmethod
    def _present(self, ids: list[Any]) -> list[Any]:
        """Return the ids that are in the table."""

    def read(self) -> TableRows:
        """Read the rows that are used, all in one state of the table.

        Returns
        -------
        TableRows
            Version, ids, X and tags, in the order of the table.

        Raises
        ------
        ValueError
            If the table or a column is missing, there is no such row, an id is missing or comes twice, a vector is
            not finite or of another length than the others, or tags are no lists of texts.
        ImportError
            If the engine's library is not installed.
        """
        version, ids, vectors, tags = self._scan(serving=True)
        if not len(ids):
            known = "a vector" if self.tags is None else "a vector and tags"
            raise ValueError(f"table must have at least one row with {known}, got none in {self!r}.")
        return TableRows(version, self._checked_ids(ids), self._matrix(ids, vectors), self._checked_tags(ids, tags))

    def read_unlabelled(self) -> TableRows:
        """Read the rows that have a vector and whose tags are NULL.

        Returns
        -------
        Without tags; possibly without rows.
            Without tags; there may be no row.

        Raises
        ------
        ValueError
            As `read`, or if the table has no column of tags.
        """
        self._require_tags()
        version, ids, vectors, _ = self._scan(serving=False)
        return TableRows(version, self._checked_ids(ids), self._matrix(ids, vectors), None)

    def nominate(self, queries: NDArray[Any], n: int, metric: str = "euclidean") -> Candidates:
        """Return candidates near each query, by the engine's own arithmetic and index.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features)
            Rounded to float32, as engines compute.
        n : int
            Number of candidates for each query; there may be fewer.
        metric : {"euclidean", "cosine"}, default="euclidean"
            The distance.

        Returns
        -------
        Candidates
            The number of the query, the id and the present vector of each.

        Raises
        ------
        ValueError
            If the engine cannot compare the rows of the table by this metric.
        """
        check_choice("metric", metric, METRICS)
        with np.errstate(over="ignore"):  # the engine then returns other rows; distances are computed elsewhere
            rounded = np.clip(queries, -_LARGEST, _LARGEST).astype(np.float32)
        return self._nominate(rounded, n, metric)

    def add(self, ids: Iterable[Any], X: MatrixLike, tags: Iterable[Collection[str] | None] | None = None) -> None:
        """Add rows, in one transaction where the engine has them.

        Parameters
        ----------
        ids : iterable of int or str
            Their ids, which must be new to the table. Several processes that add one id at the same moment may all
            succeed: `read` then raises an error until the id is deleted and added again.
        X : array-like of shape (n_rows, n_features)
            Their vectors, finite; rounded to the type of the column.
        tags : iterable of collections of str or None, default=None
            Their tags; None where they are not known.

        Raises
        ------
        ValueError
            If the lengths differ, an id comes twice or is in the table, or a vector or tags are malformed.
        """
        new, X = _plain(ids), checked_samples("X", X)
        rows = check_array(X, dtype=FLOATS, ensure_all_finite=False, ensure_min_samples=0)
        labels = [None] * len(new) if tags is None else [_as_list(one) for one in tags]
        if not len(new) == len(rows) == len(labels):
            counts = f"{len(new)}, {len(rows)} and {len(labels)}"
            raise ValueError(f"ids, X and tags must be of one length, got {counts}.")
        if tags is not None:
            self._require_tags()
            known = [(one, its) for one, its in zip(new, labels, strict=True) if its is not None]
            self._checked_tags([one for one, _ in known], [its for _, its in known])
        self._checked_ids(new)
        if new:
            self._require_new(new)
            X = self._matrix(new, rows)
            large = np.flatnonzero((np.abs(X) > _LARGEST).any(axis=1))
            if len(large):
                raise ValueError(f"vectors must be numbers that float32 has, got larger ones for id {new[large[0]]!r}.")
            self._insert(new, X, None if tags is None else labels)

    def delete(self, ids: Iterable[Any]) -> None:
        """Delete rows; ids that the table does not have are ignored.

        Parameters
        ----------
        ids : iterable of int or str
            Their ids.
        """
        wanted = _plain(ids)
        if wanted:
            self._delete(wanted)

    def _require_new(self, ids: list[Any]) -> None:
        there = self._present(ids)
        if there:
            which = ", ".join(map(repr, there[:_SHOWN])) + ", ..." * (len(there) > _SHOWN)
            raise ValueError(
                f"ids must be new, got {len(there)} of {len(ids)} that {self!r} has: {which}. Hint: delete these rows"
                " first, or add the others only."
            )

    def _require_tags(self) -> None:
        if self.tags is None:
            raise ValueError(f"table must have a column of tags, got {self!r}. Hint: the parameter tags names it.")

    def _require_columns(self, wanted: Iterable[tuple[str, str | None]], there: Collection[str]) -> None:
        """Raise ValueError unless the table has the columns, which are given as (parameter, name)."""
        for parameter, column in wanted:
            if column is not None and column not in there:
                listed = ", ".join(map(repr, sorted(there)))
                raise ValueError(
                    f"{parameter} must be a column of table {self.name!r}, got {column!r}: it has {listed}."
                )

    def _checked_ids(self, ids: list[Any]) -> NDArray[Any]:
        if any(one is None for one in ids):
            raise ValueError(f"ids must not be NULL, got a row without an id in {self!r}.")
        if len(set(ids)) < len(ids):
            name, count = Counter(ids).most_common(1)[0]
            raise ValueError(f"ids must be distinct, got {name!r} {count} times for {self!r}.")
        return as_ids(ids)

    def _matrix(self, ids: list[Any], vectors: Any) -> NDArray[Any]:
        """Return vectors, a matrix or a list of arrays, as finite float32 or float64 rows."""
        if isinstance(vectors, list):
            lengths = [len(one) for one in vectors]
            odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
            if odd is not None:
                expected = f"vectors must be of one length, {lengths[0]} as that of {ids[0]!r}"
                raise ValueError(f"{expected}, got {lengths[odd]} numbers for id {ids[odd]!r}.")
            vectors = np.array(vectors).reshape(len(vectors), -1)
        dtype = np.float64 if vectors.dtype == np.float64 else np.float32
        X = np.ascontiguousarray(vectors, dtype=dtype)
        wrong = np.flatnonzero(~np.isfinite(X).all(axis=1))
        if len(wrong):
            raise ValueError(f"vectors must be finite, got NaN or infinity for id {ids[wrong[0]]!r}.")
        return X

    def _checked_tags(self, ids: list[Any], tags: list[Any] | None) -> list[list[str]] | None:
        for one, its in zip(ids, tags or (), strict=tags is not None):
            if not isinstance(its, list) or not all(isinstance(tag, str) for tag in its):
                raise ValueError(f"tags must be lists of texts, got {its!r} for id {one!r}.")
        return tags

    def close(self) -> None:
        """Close the connection, if the table has opened one; it connects again when it is used."""
        if self._closing is not None:
            self._closing()
        self._connection = self._closing = None

    def _closed_at_the_end(self, connection: Any) -> Any:
        """Return a connection that is closed together with this object at the latest."""
        self._closing = weakref.finalize(self, connection.close)
        return connection

    def __repr__(self) -> str:
        where = repr(self.where) if isinstance(self.where, str) else type(self.where).__name__
        return f"{type(self).__name__}({where}, {self.name!r})"

    def __deepcopy__(self, memo: object) -> Self:
        """Return the same table: it is a handle, and some engines allow one connection only."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for a pickle: no connection."""
        return self.__dict__ | {"_connection": None, "_closing": None}


def check_table(table: object) -> None:
    """Raise TypeError unless a parameter is a table."""
    if not isinstance(table, VectorTable):
        raise TypeError(
            f"table must be a LanceTable, QdrantTable or PgVectorTable, got {table!r} of type {type(table).__name__}."
        )


def as_ids(ids: Sequence[Any]) -> NDArray[Any]:
    """Return ids as an array of integers or texts; of objects if they are of several types."""
    kinds = {type(one) for one in ids}
    if kinds in ({int}, {str}):
        return np.array(ids)
    array = np.empty(len(ids), dtype=object)
    array[:] = ids
    return array


def _as_list(tags: Collection[str] | None) -> Any:
    """Return tags as a list; anything else, a text too, unchanged."""
    return tags if tags is None or isinstance(tags, str) else _plain(tags)


def _plain(values: Iterable[Any]) -> list[Any]:
    """Return values as a list of Python objects, not of numpy's."""
    return [one.item() if isinstance(one, np.generic) else one for one in values]
