"""Exact neighbours by many processes or machines: every tile of queries is compared with every shard of the rows.

A shard returns its nearest rows with their *rank*, the float64 number that orders them and depends on the two rows
only. So the least (rank, index) of all shards equal the result of one process, bit for bit.

Added rows become further shards. Removed rows are left out of new shards that replace theirs: a shard never changes.
The description of a shard includes the removed rows, so that another worker can make the shard again.

Neither rows nor queries are sent: a task gets the names of their files (`files.row_files`). Arrays in memory are first
written to a store, whose pages all workers of one machine share. So another worker can repeat any task, and losing a
worker loses no data. Data scattered to the workers would be lost with them, or be copied to each in full; and two
scatters of equal data share a key, so that releasing one removes the other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, groupby
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from nearlabel.files.row_files import RowFiles
from nearlabel.files.store import open_store
from nearlabel.neighbors.exact._metrics import TAKEN_FROM_ROWS
from nearlabel.neighbors.exact._search import ExactNeighbors
from nearlabel.neighbors.exact._segments import KeptRows, RankedPairs, as_rows, merged, ranks_of, take_of_all
from nearlabel.neighbors.exact.all_pairs import Distance, check_not_too_small, distance_named, stored_alike
from nearlabel.neighbors.optional._dask_cluster import _Files, _Session
from nearlabel.neighbors.optional._dask_shards import JOINED_UP_TO, _near, _nearest, _Shard, _ShardSearch, _use
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import asked_n_neighbors, check_integer, check_row_numbers, check_rows, row_blocks


class DaskNeighbors(BaseEstimator):
    """Find the same neighbours as `ExactNeighbors`, bit for bit, with the processes or machines of a Dask cluster.

    Use it for training samples that do not fit into the memory of one machine, or for queries that take one machine too
    long; on one machine `ExactNeighbors` is faster. The samples are split into shards. Each task searches one shard for
    a tile of queries, and the results are merged by (distance, index). If a worker dies, other workers repeat its
    tasks.

    Samples and queries can be Dask arrays, whose blocks the workers write to files; arrays in memory, which are written
    to files; or the path of a store or the result of `nearlabel.datasets.open_store`, which the workers read where it
    is.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        As in `ExactNeighbors`. "seuclidean" and "mahalanobis" need `metric_params`, because no shard has all samples.
    n_neighbors : int, default=5
        Number of neighbours if `kneighbors` gets none.
    metric_params : dict, default=None
        Further arguments of the metric.
    shard_rows : int, default=262144
        Training samples of a shard. For each of its shards, a worker needs the memory of an `ExactNeighbors` with that
        many samples.
    query_rows : int, default=4096
        Queries of a tile. A task should take far longer than the 2 ms that scheduling it costs.
    folder : path-like, default=None
        Where samples and queries that are not in files yet are written; they are removed when no longer needed. All
        workers must see it under the same name. None: the system's folder for temporary files, which works for one
        machine.
    client : distributed.Client, default=None
        The cluster to use. None: Dask's current client, if there is one, else one process for each core of this
        machine. All searches that need these processes share them, and they end with the last such search. As always
        with processes, a script must then put its code under ``if __name__ == "__main__":``. Copies share the client; a
        pickle has None in its place.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in `fit`.
    n_samples_fit_ : int
        Number of training samples.

    See Also
    --------
    ExactNeighbors : The same in one process.
    nearlabel.datasets.write_store : Write samples to files, also more than fit into memory.

    Notes
    -----
    The lazy methods leave label sets in a Dask array or a store to the workers, and return the predictions of a Dask
    array of queries as a Dask array: its blocks are files in `folder` that the workers have written, one for each tile.
    They are removed with the search or with that array, whichever is needed longer, or by `close`.

    A fitted search uses files and memory of the workers until `close`, until the end of a ``with`` block or until it is
    deleted. A pickle contains the samples, unless they come from a store of yours: then it contains the path. Samples
    may be appended to that store meanwhile; after samples of it were removed, fit again.

    Examples
    --------
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.neighbors import DaskNeighbors
    >>> mlknn = MLkNN(search=DaskNeighbors(shard_rows=100_000))
    """

    takes_dask_arrays = True
    takes_metric_from_rows = False  # `fit` refuses a metric that changes with the training samples

    def __init__(
        self,
        metric: str | Callable[..., float] = "euclidean",
        *,
        n_neighbors: int = 5,
        metric_params: dict[str, Any] | None = None,
        shard_rows: int = 262_144,
        query_rows: int = 4_096,
        folder: str | os.PathLike[str] | None = None,
        client: Any = None,
    ) -> None:
        self.metric = metric
        self.n_neighbors = n_neighbors
        self.metric_params = metric_params
        self.shard_rows = shard_rows
        self.query_rows = query_rows
        self.folder = folder
        self.client = client

    def fit(self, X: MatrixLike, y: None = None) -> Self:
        """Fit a search to each shard on the workers.

        Parameters
        ----------
        X : array-like, data frame, sparse container, dask array or path of a store, (n_samples, n_features)
            Finite numbers.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted search.

        Raises
        ------
        ImportError
            If dask is not installed.
        ValueError
            If X is malformed or all its values are so small that squared differences might vanish, if the metric is
            unknown or takes parameters from all training samples, or if a Dask array does not know its number of rows.
        """
        former = self.__dict__.get("_session")
        self._fit(X)
        if former is not None:
            former.close()
        return self

    @all_or_nothing
    def _fit(self, X: MatrixLike) -> Self:
        self._check_parameters()
        X = self._check(X, reset=True)
        self._start(_Session(self.client, self.folder), [X])
        return self

    def add(self, X: MatrixLike) -> Self:
        """Append training samples. Later results equal, bit for bit, those of a fit to all samples.

        Parameters
        ----------
        X : array-like, data frame, sparse container, dask array or path of a store, (n_added, n_features)
            Their numbers are ``n_samples_fit_``, ``n_samples_fit_ + 1``, ...

        Returns
        -------
        self
            The search with these samples.

        Raises
        ------
        ValueError
            As `fit`; or if X has another number of features. Then nothing has changed.

        Notes
        -----
        The samples become further shards. The last shards are joined with them if this search wrote these shards, they
        are not full and they have at most eight times as many samples as are added. So samples may be added one by one.
        """
        check_is_fitted(self)
        X = self._check(X, reset=False)
        self._open_again()
        files = self._session.in_files(X)
        shards, sources = self._shards[:], [files.rows]
        while shards and self._is_joined(shards[-1], sum(map(len, sources))):
            sources.insert(0, shards.pop().rows)
        as_sparse = self._rows.is_sparse
        if len(sources) > 1 or files.rows.is_sparse != as_sparse:
            blocks = (rows[some].load() for rows in sources for some in row_blocks(len(rows), 1, self.query_rows))
            dtype = np.result_type(*(rows.dtype for rows in sources))
            files = self._session.write((stored_alike(block, as_sparse=as_sparse) for block in blocks), dtype)
        self._set_shards([*shards, *self._shards_of(files)])
        return self

    def remove(self, rows: ArrayLike) -> Self:
        """Remove training samples. Later results equal, bit for bit, those of a fit to the other samples.

        Parameters
        ----------
        rows : array-like of int of shape (n_removed,)
            Numbers of samples, each once. The others keep their order and are renumbered from 0.

        Returns
        -------
        self
            The search without these samples.

        Raises
        ------
        ValueError
            If a number is unknown, comes twice, or no sample would be left. Then nothing has changed.

        Notes
        -----
        Workers read the shards that lose samples again. The files that this search wrote contain removed samples until
        it is closed; a pickle does not. A store of yours keeps them: see `nearlabel.datasets.remove_from_store`.
        """
        check_is_fitted(self)
        gone = np.sort(check_row_numbers("rows", rows, self.n_samples_fit_))
        if len(gone) == self.n_samples_fit_:
            raise ValueError(f"rows must leave a training sample, got all {len(gone)} of them.")
        self._open_again()
        left = []
        for first, shard in zip(self._firsts(), self._shards, strict=True):
            start, stop = np.searchsorted(gone, [first, first + len(shard.rows)])
            if start == stop:
                left.append(shard)
            elif stop - start < len(shard.rows):
                left.append(shard._replace(rows=shard.rows.without(gone[start:stop] - first), search=None))
        self._set_shards(left)
        return self

    def take(self, rows: ArrayLike) -> Matrix:
        """Return training samples by their numbers.

        Parameters
        ----------
        rows : array-like of int of shape (n_rows,)
            Numbers of training samples, in any order; a number may come several times.

        Returns
        -------
        rows : ndarray or csr_array of shape (n_rows, n_features)
            A copy, float32 or float64, read from the files by this process.

        Raises
        ------
        ValueError
            If a number is unknown.
        """
        check_is_fitted(self)
        numbers = check_row_numbers("rows", rows, self.n_samples_fit_, distinct=False)
        return as_rows(take_of_all(self._kept_rows(), numbers))

    def ranks(self, rows: IntArray, others: IntArray) -> FloatArray:
        """Return the rank of each training sample of `others` as a neighbour of that of `rows`, which are sorted.

        This process reads the rows: the first call needs all of them, later calls for updated lists need few.
        """
        return ranks_of(self._kept_rows(), self.distance, rows, others)

    def pairs_within(self, n_old: int, reach: FloatArray) -> RankedPairs:
        """Return the pairs of an old row and a row from `n_old` on whose rank is below the reach of the old row."""
        self._open_again()
        client, new = self._session.client, self._rows[n_old : self.n_samples_fit_]
        limits = self._session.write(iter([reach[:n_old, np.newaxis]]))
        firsts = [first for first in self._firsts() if first < n_old]
        own = [limits.rows[first : first + len(shard.rows)] for first, shard in zip(firsts, self._shards, strict=False)]
        searches = [shard.search for shard in self._shards[: len(firsts)]]

        def ask(tile: slice) -> Any:
            near = client.map(_near, searches, own, firsts, rows=new[tile], number=n_old + tile.start, pure=False)
            return client.submit(RankedPairs.joined, near, pure=False)

        tiles = row_blocks(len(new), 1, self.query_rows)
        found = [near for _, near in self._session.in_turn(ask, tiles, n_tasks=len(firsts))]
        pairs = RankedPairs.joined(found)
        order = np.lexsort((pairs.other, pairs.row))
        return RankedPairs(pairs.row[order], pairs.other[order], pairs.rank[order])

    @property
    def distance(self) -> Distance:
        """The distance of the metric: its ranks order the neighbours."""
        return distance_named(self.metric, self.metric_params)

    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Return the nearest training samples, nearest first.

        Parameters
        ----------
        X : array-like, data frame, sparse container, dask array or path of a store, default=None
            The queries, (n_queries, n_features). None: the training samples, each without itself (its duplicates stay).
        n_neighbors : int, default=None
            Number of neighbours. None: the parameter of the constructor.
        return_distance : bool, default=True
            Whether to return the distances too.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), float64
            Only if `return_distance`.
        indices : ndarray of shape (n_queries, n_neighbors)
            Numbers of training samples, ordered by (distance, index). Both arrays are gathered here: 16 bytes per
            neighbour.

        Raises
        ------
        ValueError
            If `n_neighbors` exceeds the number of (other) training samples.
        """
        k = asked_n_neighbors(self, X, n_neighbors)
        queries = self._queries_in_files(X)
        n_queries = self.n_samples_fit_ if queries is None else len(queries.rows)
        ranks, indices = np.empty((n_queries, k)), np.empty((n_queries, k), dtype=np.intp)
        for tile, result in self._in_tiles(queries, k):
            ranks[tile], indices[tile] = result
        return (self.distance.to_distance(ranks), indices) if return_distance else indices

    def close(self) -> None:
        """Release workers and files; the search must then be fitted again. Closing twice is no error."""
        session = self.__dict__.pop("_session", None)
        self.__dict__.pop("_shards", None)
        if session is not None:
            session.close()

    def _check_parameters(self) -> None:
        check_integer("shard_rows", self.shard_rows, low=1)
        check_integer("query_rows", self.query_rows, low=1)
        needed = TAKEN_FROM_ROWS.get(self.metric) if isinstance(self.metric, str) else None
        if needed and needed not in (self.metric_params or {}):
            raise ValueError(
                f"metric_params must contain {needed!r} for the metric {self.metric!r}, which otherwise takes it"
                f" from all training samples together, got {self.metric_params!r}."
            )
        distance_named(self.metric, self.metric_params)

    def _check(self, X: MatrixLike, *, reset: bool) -> Matrix:
        rows = open_store(X) if isinstance(X, str | os.PathLike) else X
        return check_rows(self, rows, reset=reset, takes_dask=True)

    def _start(self, session: _Session, sources: Sequence[Matrix | RowFiles]) -> None:
        """Make shards of rows, in memory or in files."""
        self._session = session
        files = [_Files(rows) if isinstance(rows, RowFiles) else session.in_files(rows) for rows in sources]
        rows = RowFiles.joined(some.rows for some in files)
        blocks = (rows[some].load() for some in row_blocks(len(rows), 1, self.query_rows))
        check_not_too_small(blocks, distance_named(self.metric, self.metric_params))
        self._set_shards([shard for some in files for shard in self._shards_of(some)])

    def _shards_of(self, files: _Files) -> list[_Shard]:
        """Split rows into shards without a search."""
        cuts = row_blocks(len(files.rows), 1, budget=self.shard_rows)
        return [_Shard(files.rows[cut], files, None) for cut in cuts]

    def _set_shards(self, shards: list[_Shard]) -> None:
        """Take these shards, once workers have a search for each new one."""
        engine = ExactNeighbors(self.metric, metric_params=self.metric_params)
        new = [shard.rows for shard in shards if shard.search is None]
        searches = self._session.client.map(_ShardSearch, new, engine=engine, pure=False)
        for search in searches:
            if search.exception() is not None:
                search.result()
        left = iter(searches)
        self._shards = [shard._replace(search=next(left)) if shard.search is None else shard for shard in shards]
        self.n_samples_fit_ = sum(len(shard.rows) for shard in shards)

    def _is_joined(self, shard: _Shard, n_added: int) -> bool:
        n_rows = len(shard.rows)
        return shard.files.written and n_rows <= JOINED_UP_TO * n_added and n_rows + n_added <= self.shard_rows

    @property
    def _rows(self) -> RowFiles:
        """The training samples."""
        return RowFiles.joined(shard.rows for shard in self._shards)

    def _firsts(self) -> list[int]:
        """Return the number of the first row of each shard."""
        return list(accumulate((len(shard.rows) for shard in self._shards[:-1]), initial=0))

    def _kept_rows(self) -> list[KeptRows]:
        """Map the training samples of each file."""
        self._open_again()
        kept = []
        for rows in self._rows.split():
            whole, gone = rows.whole()
            kept.append(KeptRows(whole.load(), kept=np.delete(np.arange(len(whole)), gone) if len(gone) else None))
        return kept

    def _queries_in_files(self, X: MatrixLike | None) -> _Files | None:
        """Return the files of queries; None for the training samples."""
        self._open_again()
        return None if X is None else self._session.in_files(self._check(X, reset=False))

    def _in_tiles(
        self, files: _Files | None, k: int, function: Callable[..., Any] | None = None, *arguments: Any
    ) -> Iterator[tuple[slice, Any]]:
        """Yield tiles of queries with rank and index of their neighbours, the results of all shards merged.

        With a function, workers call ``function(distances, indices, tile, *arguments)``, and its results are yielded.
        """
        queries = self._rows if files is None else files.rows
        client, firsts, searches = self._session.client, self._firsts(), [shard.search for shard in self._shards]

        def ask(tile: slice) -> Any:
            own = tile.start if files is None else None
            results = client.map(_nearest, searches, firsts, queries=queries[tile], k=k, own=own, pure=False)
            result = self._session.in_groups(merged, results, k=k)
            if function is None:
                return result
            return client.submit(_use, result, function, tile, self.distance, arguments, pure=False)

        tiles = row_blocks(len(queries), 1, budget=self.query_rows)
        yield from self._session.in_turn(ask, tiles, n_tasks=len(self._shards))

    def _open_again(self) -> None:
        """Start the shards of a search that was unpickled."""
        if not hasattr(self, "_session"):
            self._start(_Session(self.client, self.folder), self._shards)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_shards")

    def __sklearn_clone__(self) -> DaskNeighbors:
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")  # cannot be copied, and need not be
        return type(self)(client=client, **{name: clone(value, safe=False) for name, value in parameters.items()})

    def __getstate__(self) -> dict[str, Any]:
        """Store rows, or their path, in place of shards."""
        state = dict(super().__getstate__()) | {"client": None}
        if state.pop("_session", None) is not None:
            alike = [list(shards) for _, shards in groupby(self._shards, key=lambda shard: id(shard.files))]
            held = [(RowFiles.joined(shard.rows for shard in shards), shards[0].files.written) for shards in alike]
            state["_shards"] = [rows.load() if written else rows for rows, written in held]
        return state

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn that X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
