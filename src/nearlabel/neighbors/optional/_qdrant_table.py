"""Collections of Qdrant, in its local mode (a folder for one process at a time) or on a server."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.neighbors.optional._vector_table import Candidates, VectorTable
from nearlabel.utils.naming import import_optional

_PURPOSE = "QdrantTable"
_ROWS_AT_ONCE = 1000  # of a scroll, an insertion or a batch of queries
_DISTANCES = {"euclidean": "Euclid", "cosine": "Cosine"}


class QdrantTable(VectorTable):
    """A collection of Qdrant, in its local mode or on a server.

    In the local mode one process at a time opens the folder, and searches compare with all rows: it is meant for some
    ten thousand rows. Each row is written atomically with its tags; if a process is killed while it adds several, the
    first of them remain. Needs qdrant-client (``pip install 'nearlabel[qdrant]'``).

    Rows are ordered by their ids. A collection has no version: `version` reads all rows and returns a digest.

    Parameters
    ----------
    where : path-like or qdrant_client.QdrantClient
        Folder of the local mode, ":memory:", the address of a server (``"http://..."``), or a connected client: the
        folder of a local mode can be opened only once.
    name : str
        Name of the collection.
    vector : str, default=""
        Name of the vector, if points have several. "": the vector without a name.
    tags : str or None, default="tags"
        Key of the payload with the tags, a list of texts. None: there are no tags, and each row with a vector is used.

    See Also
    --------
    TableNeighbors : Search in it.
    TableClassifier : A classifier fitted to it.

    Notes
    -----
    A collection has one distance, set when it was created: "Euclid" works with the metric "euclidean", "Cosine" with
    the metric "cosine"; for "Cosine" Qdrant stores the vectors divided by their lengths. The local mode divides them
    again in every search, which changes their last digits, so "cosine" raises an error there: vectors that are divided
    by their lengths before they are added have the same neighbours by "euclidean". Tested with the local mode only.

    Examples
    --------
    >>> from nearlabel.neighbors import QdrantTable
    >>> songs = QdrantTable("music-qdrant", "songs")
    >>> songs.read().ids  # doctest: +SKIP
    """

    def __init__(
        self, where: str | os.PathLike[str] | Any, name: str, *, vector: str = "", tags: str | None = "tags"
    ) -> None:
        self.where = os.fspath(where) if isinstance(where, os.PathLike) else where
        self.name = name
        self.vector = vector
        self.tags = tags

    def version(self) -> Hashable:
        """Return a digest of the rows that are used.

        Returns
        -------
        str
            Hexadecimal digits.
        """
        return self._scan(serving=True)[0]

    def _client(self) -> Any:
        if self._connection is None:
            self._connection = self._connected()
            self._check_collection()
        return self._connection

    def _connected(self) -> Any:
        if not isinstance(self.where, str):
            return self.where
        client = import_optional("qdrant_client", extra="qdrant", purpose=_PURPOSE).QdrantClient
        if self.where == ":memory:":
            return self._closed_at_the_end(client(":memory:"))
        return self._closed_at_the_end(client(url=self.where) if "://" in self.where else client(path=self.where))

    def _check_collection(self) -> None:
        client = self._connection
        if not client.collection_exists(self.name):
            there = ", ".join(sorted(repr(one.name) for one in client.get_collections().collections)) or "none"
            self.close()
            raise ValueError(f"name must be a collection in {self.where!r}, got {self.name!r}: there are {there}.")

    def _distance(self) -> str:
        """Return the name of the collection's distance."""
        vectors = self._client().get_collection(self.name).config.params.vectors
        if self.vector or isinstance(vectors, dict):
            self._require_columns([("vector", self.vector)], vectors if isinstance(vectors, dict) else {""})
            vectors = vectors[self.vector]
        name: str = vectors.distance.value
        return name

    def _scan(self, *, serving: bool) -> tuple[Hashable, list[Any], Any, list[Any] | None]:
        digest = hashlib.blake2b(digest_size=16)
        ids, vectors, tags = [], [], []
        for point in self._points():
            vector, its = self._vector_of(point), (point.payload or {}).get(self.tags)
            if vector is None or (self.tags is not None and (its is not None) != serving):
                continue
            digest.update(repr((point.id, its)).encode() + vector.tobytes())
            ids.append(point.id)
            vectors.append(vector)
            tags.append(its)
        found = vectors if vectors else np.empty((0, 0), dtype=np.float32)
        return digest.hexdigest(), ids, found, tags if serving and self.tags is not None else None

    def _points(self) -> Iterator[Any]:
        """Yield all points, by id."""
        self._distance()  # checks that there is such a vector
        offset = None
        while True:
            points, offset = self._client().scroll(
                self.name,
                limit=_ROWS_AT_ONCE,
                offset=offset,
                with_payload=True if self.tags is None else [self.tags],
                with_vectors=[self.vector] if self.vector else True,
            )
            yield from points
            if offset is None:
                return

    def _vector_of(self, point: Any) -> NDArray[np.float32] | None:
        """Return the vector of a point; None if it has none of this name."""
        vector = point.vector.get(self.vector) if isinstance(point.vector, dict) else point.vector
        return None if vector is None else np.asarray(vector, dtype=np.float32)

    def _nominate(self, queries: NDArray[np.float32], n: int, metric: str) -> Candidates:
        self._check_metric(metric)
        query, ids, vectors = [], [], []
        for number, found in enumerate(self._answers(queries, n)):
            query += [number] * len(found)
            ids += [point.id for point in found]
            vectors += [self._vector_of(point) for point in found]
        matrix = np.array(vectors, dtype=np.float32).reshape(len(ids), queries.shape[1])
        return Candidates(np.array(query, dtype=np.intp), ids, matrix)

    def _check_metric(self, metric: str) -> None:
        if self._distance() != _DISTANCES[metric]:
            raise ValueError(
                f"metric must be that of the collection {self.name!r}, {self._distance()!r}, got {metric!r}."
                " Hint: the distance of a collection cannot be changed."
            )
        options = self._client().init_options
        if metric == "cosine" and (options["path"] is not None or options["location"] == ":memory:"):
            raise ValueError(
                "metric must be 'euclidean' in Qdrant's local mode, got 'cosine', by which every search there changes"
                " the last digits of the vectors. Hint: in a collection of the distance 'Euclid', rows divided by their"
                " lengths have the same neighbours."
            )

    def _answers(self, queries: NDArray[np.float32], n: int) -> Iterator[Any]:
        """Yield the points found for each query."""
        models = import_optional("qdrant_client.models", extra="qdrant", purpose=_PURPOSE)
        for start in range(0, len(queries), _ROWS_AT_ONCE):
            requests = [
                models.QueryRequest(
                    query=row.tolist(),
                    using=self.vector or None,
                    filter=self._those_that_serve(models),
                    limit=n,
                    with_vector=[self.vector] if self.vector else True,
                )
                for row in queries[start : start + _ROWS_AT_ONCE]
            ]
            for answer in self._client().query_batch_points(self.name, requests):
                yield answer.points

    def _those_that_serve(self, models: Any) -> Any:
        if self.tags is None:
            return None
        # A key that is missing has no values to count, an empty list has 0 of them.
        known = models.FieldCondition(key=self.tags, values_count=models.ValuesCount(gte=0))
        null = models.IsNullCondition(is_null=models.PayloadField(key=self.tags))
        return models.Filter(must=[known], must_not=[null])

    def _insert(self, ids: list[Any], X: NDArray[Any], tags: Sequence[list[str] | None] | None) -> None:
        models = import_optional("qdrant_client.models", extra="qdrant", purpose=_PURPOSE)
        client = self._client()
        for start in range(0, len(ids), _ROWS_AT_ONCE):
            points = [
                models.PointStruct(
                    id=ids[row],
                    vector={self.vector: X[row].tolist()} if self.vector else X[row].tolist(),
                    payload={self.tags: tags[row]} if tags is not None else {},
                )
                for row in range(start, min(start + _ROWS_AT_ONCE, len(ids)))
            ]
            client.upsert(self.name, points, wait=True)

    def _delete(self, ids: list[Any]) -> None:
        self._client().delete(self.name, points_selector=ids, wait=True)

    def _present(self, ids: list[Any]) -> list[Any]:
        return [point.id for point in self._client().retrieve(self.name, ids, with_payload=False)]
