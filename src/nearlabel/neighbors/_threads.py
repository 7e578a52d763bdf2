"""Threads over blocks of queries, each with a linear algebra library held to one thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


class _OneBlasThread:
    """Hold the linear algebra library to one thread while anyone is inside; the last one out restores what was."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._held: Any = None

    @contextmanager
    def __call__(self) -> Iterator[int]:
        """Yield the number of threads that the library would use outside."""
        with self._lock:
            if self._inside == 0:
                self._held = _controller().limit(limits=1, user_api="blas")
            self._inside += 1
            outside = self._held.get_original_num_threads()["blas"] or 1
        try:
            yield outside
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._held.restore_original_limits()


_one_blas_thread = _OneBlasThread()


def in_threads(n_jobs: int | None, work: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return what `work` gives for each tuple of arguments, in their order.

    `n_jobs` is joblib's; None is as many threads as the linear algebra library would use.
    """
    tasks = list(arguments)
    with _one_blas_thread() as blas_threads:
        n_threads = min(len(tasks), blas_threads if n_jobs is None else effective_n_jobs(n_jobs))
        if n_threads <= 1:
            return [work(*task) for task in tasks]
        with ThreadPoolExecutor(n_threads) as pool:  # starts a hundred times faster than joblib's
            return list(pool.map(lambda task: work(*task), tasks))


class _Scratch(threading.local):
    memory = np.empty(0, dtype=np.float32)


_scratch = _Scratch()


def scratch(size: int) -> NDArray[np.float32]:
    """Return memory that this thread uses again and again: new memory costs as much as filling it."""
    if len(_scratch.memory) < size:
        _scratch.memory = np.empty(size, dtype=np.float32)
    return _scratch.memory[:size]
