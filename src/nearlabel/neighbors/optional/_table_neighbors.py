"""A search whose candidates come from a table of a vector database; they are ranked in float64.

A candidate row comes with its present vector. So nothing is read a second time, and a row that is deleted between two
requests is just no candidate. Rows that did not exist at `fit` have no number and are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from nearlabel.neighbors.exact._candidates import drop_self
from nearlabel.neighbors.exact._search import ExactNeighbors, distance_named
from nearlabel.neighbors.optional._vector_table import (
    FLOATS,
    METRICS,
    Candidates,
    TableChangedError,
    TableRows,
    VectorTable,
    check_table,
)
from nearlabel.neighbors.votes import ReportsRecall
from nearlabel.utils.containers import checked_samples
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, MatrixLike
from nearlabel.utils.validation import asked_n_neighbors, check_choice, check_integer, row_blocks


class TableNeighbors(ReportsRecall, BaseEstimator):
    """Find neighbours in a table of a vector database, whose rows stay in the database.

    For each query, the database returns candidates, by its index if it has one, with their vectors. Their distances are
    computed in float64, as in `ExactNeighbors`, and ordered by (distance, training index): the result differs from the
    exact one only by neighbours that were no candidates, and :meth:`recall` counts those.

    The training samples are the rows that have a vector, and tags unless the table has no column for them, when `fit`
    reads the table. The index of a training sample is its position in the order of the table at that time; `ids_` are
    the ids. Rows that are added later are ignored until the next `fit`; deleted rows are no longer found; for changed
    rows the present vector counts. `TableClassifier` follows such changes by itself.

    Parameters
    ----------
    table : VectorTable
        `LanceTable`, `QdrantTable` or `PgVectorTable`.
    metric : {"euclidean", "cosine"}, default="euclidean"
        The distance. By "cosine" a row of zeros is at the largest possible distance, as in `ExactNeighbors`.
    n_neighbors : int, default=5
        Number of neighbours if `kneighbors` gets none.
    n_candidates : int, default=None
        Number of candidates from the database for each query; more are slower and miss fewer neighbours, most of all
        with an index that compresses vectors. None: 2 n_neighbors + 1.

    Attributes
    ----------
    ids_ : ndarray of shape (n_samples,)
        Ids of the training samples.
    n_samples_fit_ : int
        Number of training samples.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    TableClassifier : A classifier fitted to such a table that follows its changes.
    nearlabel.neighbors.UsearchNeighbors : An index in memory.

    Notes
    -----
    No row is stored, only ids. If there are fewer than `n_neighbors` candidates for a query, `ExactNeighbors` searches
    all rows of the table, which are read once per call for that.

    Examples
    --------
    >>> from nearlabel.neighbors import LanceTable, TableNeighbors
    >>> search = TableNeighbors(LanceTable("music", "songs"), metric="cosine")
    >>> distances, indices = search.fit().kneighbors(queries, n_neighbors=10)  # doctest: +SKIP
    >>> search.ids_[indices]  # doctest: +SKIP
    """

    needs_all_rows = True  # it cannot be fitted to a part of the table
    _distance: Any

    def __init__(
        self,
        table: VectorTable,
        metric: str = "euclidean",
        *,
        n_neighbors: int = 5,
        n_candidates: int | None = None,
    ) -> None:
        self.table = table
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.n_candidates = n_candidates

    @all_or_nothing
    def fit(self, X: MatrixLike | None = None, y: None = None) -> Self:
        """Take the rows of the table as training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            The rows of the table in its order, as a classifier passes them on. None: the rows of the table.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted search.

        Raises
        ------
        TypeError
            If `table` is no such table.
        ValueError
            If a parameter is out of range, or the table cannot be read.
        TableChangedError
            If X are not the rows of the table: it has changed since they were read, or they were transformed.
        """
        self._check_parameters()
        rows = self.table.read()
        if X is not None:
            _require_equal(validate_data(self, checked_samples("X", X)), rows.X)
        validate_data(self, rows.X)
        self._distance = distance_named(self.metric, None)
        self._distance.fit(rows.X)
        self._number(rows.ids)
        return self

    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Return the nearest of the database's candidates, nearest first.

        Parameters
        ----------
        X : array-like of shape (n_queries, n_features), default=None
            The queries. None: the training samples, each without itself (its duplicates stay).
        n_neighbors : int, default=None
            Number of neighbours. None: the parameter of the constructor.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), float64
            Only if `return_distance`; exact.
        indices : ndarray of shape (n_queries, n_neighbors)
            Numbers of training samples, ordered by (distance, index).

        Raises
        ------
        ValueError
            If `n_neighbors` exceeds the number of (other) training samples.
        TableChangedError
            If the table no longer has enough of the training samples; without X, if one is missing.
        """
        k = asked_n_neighbors(self, X, n_neighbors)
        self._check_parameters()
        queries = (
            self._all_rows() if X is None else validate_data(self, checked_samples("X", X), dtype=FLOATS, reset=False)
        )
        distances, indices = self._search(queries, k, own=X is None)
        return (distances, indices) if return_distance else indices

    def _check_parameters(self) -> None:
        check_table(self.table)
        check_choice("metric", self.metric, METRICS)
        if self.n_candidates is not None:
            check_integer("n_candidates", self.n_candidates, low=1)

    def _number(self, ids: NDArray[Any]) -> None:
        self.ids_ = ids
        self.n_samples_fit_ = len(ids)
        self._number_of = {one: number for number, one in enumerate(ids.tolist())}

    def _numbers(self, ids: Sequence[Any]) -> IntArray:
        """Return the index of each id; -1 where it has none."""
        return np.array([self._number_of.get(one, -1) for one in ids], dtype=np.intp)

    def _present_rows(self) -> tuple[IntArray, TableRows]:
        """Return the training samples that the table still has, by index, and their indices."""
        rows = self.table.read()
        numbers = self._numbers(rows.ids.tolist())
        order = np.argsort(numbers, kind="stable")[np.count_nonzero(numbers < 0) :]
        return numbers[order], TableRows(rows.version, rows.ids[order], rows.X[order], None)

    def _all_rows(self) -> NDArray[Any]:
        numbers, rows = self._present_rows()
        if len(numbers) < self.n_samples_fit_:
            gone = self.ids_[np.setdiff1d(np.arange(self.n_samples_fit_), numbers)].tolist()
            raise TableChangedError(
                f"table must have all {self.n_samples_fit_} training samples, got {len(numbers)}: {gone[0]!r} is gone."
                " Hint: fit again."
            )
        return rows.X

    def _search(self, queries: NDArray[Any], k: int, *, own: bool) -> tuple[FloatArray, IntArray]:
        """Return distances and indices (n_queries, k); with `own` the queries are the training samples."""
        n = min(max(2 * k + 1 if self.n_candidates is None else self.n_candidates, k + own), self.n_samples_fit_)
        found = [
            self._best(queries[block], np.arange(block.start, block.stop) if own else None, k, n)
            for block in row_blocks(len(queries), 16 * n * (queries.shape[1] + 4))
        ]
        ranks, indices, short = (np.concatenate(parts) for parts in zip(*found, strict=True))
        distances: FloatArray = self._distance.to_distance(ranks)
        if short.any():
            which = np.flatnonzero(short)
            distances[which], indices[which] = self._search_exactly(queries[which], which if own else None, k)
        return distances, indices

    def _best(
        self, queries: NDArray[Any], own: IntArray | None, k: int, n: int
    ) -> tuple[FloatArray, IntArray, BoolArray]:
        """Return ranks and indices (n_queries, k) of each query's best candidates, and which queries have fewer."""
        self._distance.prepare(queries)  # rejects squared norms that overflow
        query, number, rank = self._ranked(queries, self.table.nominate(queries, n, self.metric))
        if own is not None:
            others = number != own[query]
            query, number, rank = query[others], number[others], rank[others]
        n_found = np.bincount(query, minlength=len(queries))
        short = n_found < k
        places = (np.cumsum(n_found) - n_found)[~short, np.newaxis] + np.arange(k)
        ranks, indices = np.zeros((len(queries), k)), np.zeros((len(queries), k), dtype=np.intp)
        ranks[~short], indices[~short] = rank[places], number[places]
        return ranks, indices, short

    def _ranked(self, queries: NDArray[Any], candidates: Candidates) -> tuple[IntArray, IntArray, FloatArray]:
        """Return query, index and rank of candidates that are training samples, each once, by (query, rank, index)."""
        number = self._numbers(candidates.ids)
        known = np.flatnonzero(number >= 0)
        query, number = candidates.query[known], number[known]
        # An id that was added again since the fit is one row, the nearer one.
        rank = self._distance.ranks(queries, candidates.vectors, (query, known))
        once = np.lexsort((rank, number, query))
        again = (np.diff(query[once], prepend=-1) == 0) & (np.diff(number[once], prepend=-1) == 0)
        query, number, rank = (values[once[~again]] for values in (query, number, rank))
        order = np.lexsort((number, rank, query))
        return query[order], number[order], rank[order]

    def _search_exactly(self, queries: NDArray[Any], own: IntArray | None, k: int) -> tuple[FloatArray, IntArray]:
        """Search all training samples that the table still has."""
        numbers, rows = self._present_rows()
        wanted = k + (own is not None)
        if len(numbers) < wanted:
            raise TableChangedError(
                f"table must still have {wanted} of the {self.n_samples_fit_} training samples, got {len(numbers)}."
                " Hint: fit again."
            )
        distances, places = ExactNeighbors(self.metric).fit(rows.X).kneighbors(queries, wanted)
        return (distances, numbers[places]) if own is None else drop_self(distances, numbers[places], own)


def _require_equal(X: NDArray[Any], rows: NDArray[Any]) -> None:
    """Raise unless X are the rows of the table."""
    if X.shape != rows.shape or not np.array_equal(X, rows):
        same = "with other values" if X.shape == rows.shape else f"of shape {X.shape}"
        raise TableChangedError(
            f"X must be the rows of the table, of shape {rows.shape}, got rows {same}. Hint: the table has changed"
            " since they were read, or they were transformed; TableClassifier reads them from the table, and a database"
            " compares rows in their stored form."
        )
