"""The cluster of a search by dask: a client of the user, or one of our own, and the files that workers read."""

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
from typing import Any

from numpy.typing import DTypeLike
from sklearn.utils import check_array

from nearlabel.files.row_files import RowFiles
from nearlabel.files.store import open_store, write_store
from nearlabel.utils.containers import checked_container
from nearlabel.utils.naming import import_optional
from nearlabel.utils.types import Matrix
from nearlabel.utils.validation import is_dask_array

_PURPOSE = "DaskNeighbors"


_TASKS_A_THREAD = 4  # submitted at once: enough that no thread waits for the next, few enough for the scheduler


def _write_block(block: Matrix, path: str) -> RowFiles:
    """Write one block of a Dask array unless its file exists: a task may be repeated."""
    if not Path(path).exists():
        try:
            write_store(path, check_array(checked_container("X", block), accept_sparse="csr", ensure_min_samples=0))
        except OSError:
            if not Path(path).exists():  # otherwise another worker was faster
                raise
    files = RowFiles.of(open_store(path))
    assert files is not None, "a store is made of memory maps"
    return files


class _Files:
    """Rows in files. Those that a search has written are removed with the last object that needs them."""

    def __init__(self, rows: RowFiles, folder: Path | None = None) -> None:
        self.rows, self.written = rows, folder is not None
        if folder is not None:
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)


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
            return self._write_blocks(X)
        files = RowFiles.of(X)
        return self.write(iter([X])) if files is None else _Files(files)

    def write(self, blocks: Iterator[Matrix], dtype: DTypeLike | None = None) -> _Files:
        """Write blocks of rows to files."""
        folder = self._new_folder()
        files = RowFiles.of(open_store(write_store(folder / "rows", blocks, dtype=dtype)))
        assert files is not None, "a store is made of memory maps"
        return _Files(files, folder)

    def _write_blocks(self, X: Any) -> _Files:
        """Let the workers write the blocks of a Dask array."""
        folder = self._new_folder()
        blocks = X.rechunk({1: -1}).to_delayed().ravel()
        write = import_optional("dask", extra="dask", purpose=_PURPOSE).delayed(_write_block, pure=False)
        tasks = [write(block, str(folder / f"rows-{number}")) for number, block in enumerate(blocks)]
        return _Files(RowFiles.joined(self.client.gather(self.client.compute(tasks))), folder)

    def _new_folder(self) -> Path:
        folder = self._folder / uuid.uuid4().hex
        folder.mkdir(parents=True)
        return folder

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
