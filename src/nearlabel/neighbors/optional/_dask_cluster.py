"""The cluster of a search by dask: a client of the user, or one of our own, and the files that workers read and write.

Files that workers wrote are removed with the last object that needs them: a search, a mapped array, or a dask array.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse
from sklearn.utils import check_array

from nearlabel.files.row_files import RowFiles, map_under
from nearlabel.files.store import open_store, write_store
from nearlabel.utils.containers import checked_container, is_dask_array
from nearlabel.utils.naming import import_optional
from nearlabel.utils.types import Matrix
from nearlabel.utils.validation import bytes_per_row, row_blocks

_PURPOSE = "DaskNeighbors"


_TASKS_A_THREAD = 4  # submitted at once: enough that no thread waits for the next, few enough for the scheduler
_RESULTS_A_MERGE = 32  # so that no task has the results of all shards in memory


# Tasks.


def write_rows(path: str | Path, rows: Matrix | Iterator[Matrix]) -> RowFiles:
    """Write rows to a store unless it exists, and return where they are: a task may be repeated."""
    if not Path(path).exists():
        try:
            write_store(path, rows)
        except OSError:
            if not Path(path).exists():  # otherwise another worker was faster
                raise
    files = RowFiles.of(open_store(path))
    assert files is not None, "a store is made of memory maps"
    return files


def _write_block(block: Matrix, path: str) -> RowFiles:
    """Write one block of a Dask array."""
    return write_rows(path, check_array(checked_container("X", block), accept_sparse="csr", ensure_min_samples=0))


def _join(rows: RowFiles, path: str) -> RowFiles:
    """Write rows of many files to one, which can be mapped as a whole."""
    return write_rows(path, (part.load() for part in rows.split()))


def _read(rows: RowFiles, form: Callable[[Matrix], Any], files: None) -> Any:
    """Return a block of a dask array: a copy of rows in files, which are removed with the array."""
    mapped = rows.load()
    return form(mapped.copy() if sparse.issparse(mapped) else np.array(mapped))


class _Files:
    """Rows in files. Those that a search has written are removed with the last object that needs them."""

    def __init__(self, rows: RowFiles, folder: Path | None = None, session: _Session | None = None) -> None:
        self.rows, self.written = rows, folder is not None
        self._session = session  # whose end removes all its files
        if folder is not None:
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)

    def mapped(self) -> Matrix:
        """Map the rows, all in one file, into memory; the file then stays until no array has them any more."""
        rows = self.rows.load()
        mapped = map_under(rows.indptr if sparse.issparse(rows) else rows)
        if mapped is not None:
            weakref.finalize(mapped, _let_go, self)
        if not sparse.issparse(rows):
            return np.asarray(rows)  # a memory map by its type would be one in a pickle, too
        parts = tuple(np.asarray(part) for part in (rows.data, rows.indices, rows.indptr))
        return sparse.csr_array(parts, shape=rows.shape)

    def __reduce__(self) -> Any:
        """Send nothing to workers: only this process removes files."""
        return _let_go, (None,)


def _let_go(files: _Files | None) -> None:
    """Forget files that were needed until now."""


class _Session:
    """A client and the folder of the files written for it; both are released with this object."""

    def __init__(self, client: Any, folder: str | os.PathLike[str] | None) -> None:
        distributed = import_optional("distributed", extra="dask", purpose=_PURPOSE)
        known = client if client is not None else _current_client(distributed)
        self._local = _local_cluster(distributed) if known is None else None
        self.client = known if self._local is None else self._local.client
        self._folder = Path(tempfile.gettempdir() if folder is None else folder) / f"nearlabel-{uuid.uuid4().hex}"
        self.close = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def in_files(self, X: Matrix) -> _Files:
        """Return the files of the rows of X; write them if X is not mapped from files."""
        if is_dask_array(X):
            folder = self.new_folder()
            return _Files(RowFiles.joined(self.from_blocks(X, _write_block, folder)), folder, self)
        files = RowFiles.of(X)
        return self.write(iter([X])) if files is None else _Files(files)

    def write(self, blocks: Iterator[Matrix], dtype: DTypeLike | None = None) -> _Files:
        """Write blocks of rows to files."""
        folder = self.new_folder()
        files = RowFiles.of(open_store(write_store(folder / "rows", blocks, dtype=dtype)))
        assert files is not None, "a store is made of memory maps"
        return _Files(files, folder, self)

    def write_object(self, value: Any) -> tuple[str, _Files]:
        """Write an object to a file for `read_object`; Dask would keep what it sends in logs of messages."""
        folder = self.new_folder()
        path = folder / "object"
        path.write_bytes(_cloudpickle().dumps(value))
        return str(path), _Files(RowFiles(()), folder, self)

    def from_blocks(self, X: Any, write: Callable[[Any, str], Any], folder: Path) -> list[Any]:
        """Return what workers return for `write(block, path)`, for each block of rows of a dask array or in files."""
        if is_dask_array(X):
            blocks, delayed = X.rechunk({1: -1}).to_delayed().ravel(), _dask().delayed(write, pure=False)
            tasks = [delayed(block, str(folder / f"rows-{number}")) for number, block in enumerate(blocks)]
            return list(self.client.gather(self.client.compute(tasks)))
        rows = RowFiles.of(X)
        assert rows is not None, "other rows are in the memory of this process"
        parts = [rows[cut] for cut in row_blocks(len(rows), bytes_per_row(X))]
        paths = [str(folder / f"rows-{number}") for number in range(len(parts))]
        return list(self.client.gather(self.client.map(write, parts, paths, pure=False)))

    def joined(self, parts: Sequence[RowFiles]) -> _Files:
        """Let a worker write rows to one file, so that they can be mapped as a whole."""
        folder = self.new_folder()
        task = self.client.submit(_join, RowFiles.joined(parts), str(folder / "rows"), pure=False)
        return _Files(task.result(), folder, self)

    def as_dask_array(self, parts: Sequence[RowFiles], folder: Path, form: Callable[[Matrix], Any], empty: Any) -> Any:
        """Return a dask array whose blocks are rows in the files of a folder, in some form, as that of no rows."""
        import_optional("dask.array", extra="dask", purpose=_PURPOSE)
        da, files = _dask().array, _Files(RowFiles(()), folder, self)
        read = _dask().delayed(_read, pure=False)
        blocks = [
            da.from_delayed(read(rows, form, files), (len(rows), *empty.shape[1:]), dtype=empty.dtype, meta=empty)
            for rows in parts
        ]
        return da.concatenate(blocks) if blocks else da.from_array(empty)

    def new_folder(self) -> Path:
        """Return a new folder for files; all workers see it."""
        folder = self._folder / uuid.uuid4().hex
        folder.mkdir(parents=True)
        return folder

    @contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give a folder for files that are needed for a while."""
        folder = self.new_folder()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def in_groups(self, merge: Callable[..., Any], results: Sequence[Any], **arguments: Any) -> Any:
        """Return the future of results merged group by group, until there is one."""
        while True:
            groups = [results[i : i + _RESULTS_A_MERGE] for i in range(0, len(results), _RESULTS_A_MERGE)]
            results = self.client.map(merge, groups, **arguments, pure=False)
            if len(results) == 1:
                return results[0]

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

    They have no memory limit: Dask would count the pages of mapped files, which the system frees by itself.
    """

    living: weakref.ref[_LocalCluster] | None = None

    def __init__(self, distributed: ModuleType) -> None:
        cluster = distributed.LocalCluster(
            threads_per_worker=1, memory_limit=None, dashboard_address=":0", silence_logs="CRITICAL"
        )
        self.client = distributed.Client(cluster, set_as_default=False)
        weakref.finalize(self, _close_both, self.client, cluster)


def read_object(path: str) -> Any:
    """Return an object that the session's process wrote, with its functions."""
    return _cloudpickle().loads(Path(path).read_bytes())


def _cloudpickle() -> Any:
    return import_optional("cloudpickle", extra="dask", purpose=_PURPOSE)


def _dask() -> Any:
    return import_optional("dask", extra="dask", purpose=_PURPOSE)


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
