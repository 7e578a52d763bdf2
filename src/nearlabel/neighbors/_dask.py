"""Exact neighbours by many processes or machines: every tile of queries is compared with every shard of the rows.

A shard returns its nearest rows with their *rank*, the float64 number that orders them and depends on the two rows
only. So the least (rank, index) of all shards are the result of one process, bit for bit.

Neither rows nor queries are sent: a task gets the names of their files (`files.row_files`). Arrays in memory are first
written to a store, whose pages all workers of one machine share. So another worker can repeat any task, and a worker
that is lost loses nothing. Data scattered to the workers would be lost with them, or be copied to each in full; and two
scatters of equal data share a key, so that releasing one removes the other.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import Tags, check_array
from sklearn.utils.validation import check_is_fitted

from nearlabel.files.row_files import RowFiles
from nearlabel.files.store import open_store, write_store
from nearlabel.neighbors._distances import TAKEN_FROM_ROWS
from nearlabel.neighbors._exact import ExactNeighbors
from nearlabel.neighbors._named_distances import distance_named
from nearlabel.neighbors._segment import merged
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.optional import import_optional
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_integer, check_n_neighbors, check_rows, is_dask_array

_TASKS_A_THREAD = 4  # submitted at once: enough that no thread waits for the next, few enough for the scheduler
_RESULTS_A_MERGE = 32  # so that no task holds the results of all shards in memory
_PURPOSE = "DaskNeighbors"


class DaskNeighbors(BaseEstimator):
    """Find the neighbours that `ExactNeighbors` finds, bit for bit, with the processes or machines of a dask cluster.

    For rows that do not fit into one machine, or queries that take it too long; on one machine `ExactNeighbors` is
    faster. The rows are cut into shards. Each task searches one shard for a tile of queries, and the results are merged
    by (distance, index). If a worker dies, others repeat its tasks.

    Rows and queries may be dask arrays, whose blocks the workers write to files; arrays in memory, which are written to
    files; or the path of a store or what `nearlabel.datasets.open_store` gives, which are read where they are.

    Parameters
    ----------
    metric : str or callable, default="euclidean"
        As in `ExactNeighbors`. "seuclidean" and "mahalanobis" need `metric_params`, because a shard has its own rows
        only.
    n_neighbors : int, default=5
        Number of neighbours if `kneighbors` gets none.
    metric_params : dict, default=None
        Further arguments of the metric.
    shard_rows : int, default=262144
        Training rows of a shard. For each of its shards, a worker needs the memory of `ExactNeighbors` with so many
        rows.
    query_rows : int, default=4096
        Queries of a tile. A task should take far longer than the 2 ms that it costs the scheduler.
    folder : path-like, default=None
        Where rows and queries that are not in files yet are written, and removed when no longer needed. All workers
        must see it under the same name. None: the system's folder for temporary files, which serves one machine.
    client : distributed.Client, default=None
        The cluster to use. None: dask's current client, if there is one, else one process for each core of this
        machine, shared by all searches that need it and ended with the last of them. As always with processes, a
        script must then keep its work under ``if __name__ == "__main__":``. Copies share the client; a pickle holds
        None in its place.

    Attributes
    ----------
    n_features_in_ : int
        Number of features seen in `fit`.
    n_samples_fit_ : int
        Number of training rows.

    See Also
    --------
    ExactNeighbors : The same in one process.
    nearlabel.datasets.write_store : Put rows into files, from more than memory holds if need be.

    Notes
    -----
    A fitted search holds files and memory of the workers until `close`, the end of a ``with`` block or its own end.
    Pickled, it takes the rows along, unless they come from a store of yours: then it takes the path.

    Examples
    --------
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.neighbors import DaskNeighbors
    >>> mlknn = MLkNN(search=DaskNeighbors(shard_rows=100_000))
    """

    takes_dask_arrays = True

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
        """Let the workers fit a search to each shard.

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
            If X is malformed or the metric unknown, takes something from all training rows, or a dask array does not
            know its number of rows.
        """
        self._check_parameters()
        self.close()
        X = self._check(X, reset=True)
        session = _Session(self.client, self.folder)
        self._rows = session.in_files(X)
        self._session = session
        self._start_shards()
        self.n_samples_fit_ = len(self._rows)
        return self

    def kneighbors(
        self, X: MatrixLike | None = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Return the nearest training rows, nearest first.

        Parameters
        ----------
        X : array-like, data frame, sparse container, dask array or path of a store, default=None
            The queries, (n_queries, n_features). None: the training rows, each without itself (its duplicates stay).
        n_neighbors : int, default=None
            Number of neighbours; None: as given to the constructor.
        return_distance : bool, default=True
            Whether the distances come too.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors), float64
            Only if `return_distance`.
        indices : ndarray of shape (n_queries, n_neighbors)
            Training row numbers, ordered by (distance, index). Both are gathered here: 16 bytes for each neighbour.

        Raises
        ------
        ValueError
            If `n_neighbors` exceeds the number of (other) training rows.
        """
        check_is_fitted(self)
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        k = check_n_neighbors(wanted, self.n_samples_fit_, leave_one_out=X is None)
        self._open_again()
        if X is None:
            ranks, indices = self._search(self._rows, k, drop_self=True)
        else:
            with _Session(self._session.client, self.folder) as files:
                ranks, indices = self._search(files.in_files(self._check(X, reset=False)), k)
        distance = distance_named(self.metric, self.metric_params)
        return (distance.to_distance(ranks), indices) if return_distance else indices

    def close(self) -> None:
        """Release workers and files; the search must be fitted again. Closing twice is no error."""
        session = self.__dict__.pop("_session", None)
        self.__dict__.pop("_rows", None)
        self.__dict__.pop("_shards", None)
        if session is not None:
            session.close()

    def _check_parameters(self) -> None:
        check_integer("shard_rows", self.shard_rows, low=1)
        check_integer("query_rows", self.query_rows, low=1)
        needed = TAKEN_FROM_ROWS.get(self.metric) if isinstance(self.metric, str) else None
        if needed and needed not in (self.metric_params or {}):
            raise ValueError(
                f"metric_params must hold {needed!r} for the metric {self.metric!r}, which else takes it from all"
                f" training rows together, got {self.metric_params!r}."
            )
        distance_named(self.metric, self.metric_params)

    def _check(self, X: MatrixLike, *, reset: bool) -> Matrix:
        rows = open_store(X) if isinstance(X, str | os.PathLike) else X
        return check_rows(self, rows, reset=reset, takes_dask=True)

    def _start_shards(self) -> None:
        engine = ExactNeighbors(self.metric, metric_params=self.metric_params)
        cuts = list(row_blocks(len(self._rows), 1, budget=self.shard_rows))
        rows, first = [self._rows[cut] for cut in cuts], [cut.start for cut in cuts]
        self._shards = self._session.client.map(_Shard, rows, first, engine=engine, pure=False)
        for shard in self._shards:
            if shard.exception() is not None:
                shard.result()

    def _search(self, queries: RowFiles, k: int, *, drop_self: bool = False) -> tuple[FloatArray, IntArray]:
        """Merge the results of all shards, tile by tile of queries."""
        ranks, indices = np.empty((len(queries), k)), np.empty((len(queries), k), dtype=np.intp)
        client = self._session.client

        def ask(tile: slice) -> Any:
            own = tile.start if drop_self else None
            results = client.map(_nearest, self._shards, queries=queries[tile], k=k, own=own, pure=False)
            while True:
                groups = [results[i : i + _RESULTS_A_MERGE] for i in range(0, len(results), _RESULTS_A_MERGE)]
                results = client.map(merged, groups, k=k, pure=False)
                if len(results) == 1:
                    return results[0]

        tiles = row_blocks(len(queries), 1, budget=self.query_rows)
        for tile, result in self._session.in_turn(ask, tiles, n_tasks=len(self._shards)):
            ranks[tile], indices[tile] = result
        return ranks, indices

    def _open_again(self) -> None:
        """Start the shards of a search that was unpickled."""
        if not hasattr(self, "_session"):
            session = _Session(self.client, self.folder)
            self._rows = self._rows if isinstance(self._rows, RowFiles) else session.in_files(self._rows)
            self._session = session
            self._start_shards()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_rows")

    def __sklearn_clone__(self) -> DaskNeighbors:
        parameters = self.get_params(deep=False)
        client = parameters.pop("client")  # cannot be copied, and need not be
        return type(self)(client=client, **{name: clone(value, safe=False) for name, value in parameters.items()})

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__()) | {"client": None}
        session = state.pop("_session", None)
        state.pop("_shards", None)
        if session is not None and session.made_files:
            state["_rows"] = self._rows.load()
        return state

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn that X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _Shard:
    """A search fitted to some of the training rows; pickled as file names, and fitted again on arrival."""

    def __init__(self, rows: RowFiles, first: int, engine: ExactNeighbors) -> None:
        self._recipe = rows, first, engine
        self.first, self.n_rows = first, len(rows)
        self.search = clone(engine).fit(rows.load())

    def __reduce__(self) -> Any:
        return _Shard, self._recipe


def _nearest(shard: _Shard, queries: RowFiles, k: int, own: int | None) -> tuple[FloatArray, IntArray]:
    """Return rank and index of a shard's nearest rows, (n_queries, k or all of them).

    With `own`, query i is training row own + i: the shard returns one neighbour more, and the row itself gets an
    infinite rank, so that the merge drops it.
    """
    wanted = min(k if own is None else k + 1, shard.n_rows)
    ranks, indices = shard.search._search(queries.load(), wanted)
    indices = indices + shard.first
    if own is not None:
        ranks = np.where(indices == own + np.arange(len(indices))[:, np.newaxis], np.inf, ranks)
    return ranks, indices


def _write_block(block: Matrix, path: str) -> RowFiles:
    """Write one block of a dask array, unless it is there: a task may be repeated."""
    if not Path(path).exists():
        try:
            write_store(path, check_array(block, accept_sparse="csr", ensure_min_samples=0))
        except OSError:
            if not Path(path).exists():  # else another worker was faster
                raise
    files = RowFiles.of(open_store(path))
    assert files is not None, "a store is made of memory maps"
    return files


class _Session:
    """A client and the folder of the files written for it; both are released with this object."""

    def __init__(self, client: Any, folder: str | os.PathLike[str] | None) -> None:
        distributed = import_optional("distributed", extra="dask", purpose=_PURPOSE)
        known = client if client is not None else _current_client(distributed)
        self._local = _local_cluster(distributed) if known is None else None
        self.client = known if self._local is None else self._local.client
        self.made_files = False
        self._folder = Path(tempfile.gettempdir() if folder is None else folder) / f"nearlabel-{uuid.uuid4().hex}"
        self.close = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def in_files(self, X: Matrix) -> RowFiles:
        """Return the files of the rows of X; write them if X is not mapped from files."""
        files = None if is_dask_array(X) else RowFiles.of(X)
        if files is not None:
            return files
        self.made_files = True
        self._folder.mkdir(parents=True, exist_ok=True)
        if is_dask_array(X):
            return self._write_blocks(X)
        files = RowFiles.of(open_store(write_store(self._folder / "rows", X)))
        assert files is not None, "a store is made of memory maps"
        return files

    def _write_blocks(self, X: Any) -> RowFiles:
        """Let the workers write the blocks of a dask array."""
        blocks = X.rechunk({1: -1}).to_delayed().ravel()
        write = import_optional("dask", extra="dask", purpose=_PURPOSE).delayed(_write_block, pure=False)
        tasks = [write(block, str(self._folder / f"rows-{number}")) for number, block in enumerate(blocks)]
        return RowFiles.joined(self.client.gather(self.client.compute(tasks)))

    def in_turn(
        self, start: Callable[[slice], Any], blocks: Iterator[slice], n_tasks: int
    ) -> Iterator[tuple[slice, Any]]:
        """Yield each block with the result of its `n_tasks` tasks, which are submitted a few blocks ahead."""
        at_once = 1 + _TASKS_A_THREAD * sum(self.client.nthreads().values()) // n_tasks
        running: deque[tuple[slice, Any]] = deque()
        for block in blocks:
            running.append((block, start(block)))
            if len(running) > at_once:
                block, future = running.popleft()
                yield block, future.result()
        for block, future in running:
            yield block, future.result()


class _LocalCluster:
    """Processes of this machine, shared by all searches without a client; closed with the last of them.

    They have no memory limit: dask would count the pages of mapped files, which the system frees by itself.
    """

    living: weakref.ref[_LocalCluster] | None = None

    def __init__(self, distributed: ModuleType) -> None:
        cluster = distributed.LocalCluster(
            threads_per_worker=1, memory_limit=None, dashboard_address=":0", silence_logs="CRITICAL"
        )
        self.client = distributed.Client(cluster, set_as_default=False)
        weakref.finalize(self, _close_both, self.client, cluster)


def _local_cluster(distributed: ModuleType) -> _LocalCluster:
    """Return the running cluster, or start one."""
    living = _LocalCluster.living() if _LocalCluster.living is not None else None
    if living is None:
        living = _LocalCluster(distributed)
        _LocalCluster.living = weakref.ref(living)
    return living


def _current_client(distributed: ModuleType) -> Any:
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _close_both(client: Any, cluster: Any) -> None:
    client.close()
    cluster.close()
