"""Threads over blocks of queries; in each, linear algebra libraries and OpenMP are limited to one thread.

OpenMP, because its threads do not exist in a forked child: code that counts on them waits for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, copy_context
from functools import cache
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

from nearlabel.utils.messages import counter


@cache
def _libraries() -> list[Any]:
    return [library for library in ThreadpoolController().lib_controllers if library.user_api in ("blas", "openmp")]


def _hold(libraries: Iterable[Any]) -> list[tuple[Any, int]]:
    """Limit libraries to one thread; return those that would have used more, and how many."""
    held = [(library, library.num_threads) for library in libraries]
    held = [(library, n_threads) for library, n_threads in held if (n_threads or 1) > 1]
    _set([(library, 1) for library, _ in held])
    return held


def _set(numbers: Iterable[tuple[Any, int]]) -> None:
    """Set numbers of threads. From 3.8 on, threadpoolctl obeys one thread only, until that one gives up the right."""
    for library, n_threads in numbers:
        library.set_num_threads(n_threads)
        getattr(library, "clear_controlling_thread", bool)()


def _each_its_own(library: Any) -> bool:
    """Return whether each thread has a limit of its own, rather than all of them one."""
    return library.user_api == "openmp" or getattr(library, "threading_layer", None) == "openmp"


class _OneBlasThread:
    """Limit linear algebra libraries to one thread while any thread is inside; the last one restores the numbers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._held: list[tuple[Any, int]] = []

    @contextmanager
    def __call__(self) -> Iterator[int]:
        """Yield the number of threads that the libraries would use outside."""
        with self._lock:
            if self._inside == 0:
                self._held = _hold(library for library in _libraries() if not _each_its_own(library))
            self._inside += 1
            held = self._held
        own: list[tuple[Any, int]] = []
        try:
            own += _hold(library for library in _libraries() if _each_its_own(library))
            yield max((n_threads for library, n_threads in held + own if library.user_api == "blas"), default=1)
        finally:
            _set(own)
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    _set(self._held)


_one_blas_thread = _OneBlasThread()


def in_threads(n_jobs: int | None, work: Callable[..., Any], arguments: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return the results of `work` for each tuple of arguments, in their order; report to a listener how many are done.

    `n_jobs` is joblib's; None is as many threads as the linear algebra library would use.
    """
    tasks = list(arguments)
    one_is_done = counter(len(tasks))

    def do(task: tuple[Any, ...]) -> Any:
        result = work(*task)
        one_is_done()
        return result

    def do_in(context: Context, task: tuple[Any, ...]) -> Any:
        return context.run(do, task)

    with _one_blas_thread() as blas_threads:
        n_threads = min(len(tasks), blas_threads if n_jobs is None else effective_n_jobs(n_jobs))
        if n_threads <= 1:
            return [do(task) for task in tasks]
        # starts a hundred times faster than joblib's
        with ThreadPoolExecutor(n_threads, initializer=_hold, initargs=(_libraries(),)) as pool:
            contexts = [copy_context() for _ in tasks]  # as of `kernel_level`; one context serves one thread
            return list(pool.map(do_in, contexts, tasks))


_spare: list[NDArray[np.float32]] = []
_SPARE_AT_MOST = 4


@contextmanager
def scratch(size: int) -> Iterator[NDArray[np.float32]]:
    """Lend memory that is used again and again, by whatever thread: new memory costs as much as filling it."""
    try:
        memory = _spare.pop()
    except IndexError:
        memory = np.empty(size, dtype=np.float32)
    if len(memory) < size:
        memory = np.empty(size, dtype=np.float32)
    yield memory[:size]
    if len(_spare) < _SPARE_AT_MOST:
        _spare.append(memory)
