"""Progress of searches and of reading files, reported to a listener."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count

Listener = Callable[[float], None]
Progress = Callable[[int, int], None]  # called with the numbers of finished and of all parts

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Call a function with the finished share, in (0, 1], of each search or file read in the block; None: never.

    The function may be called from any thread.
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def part(start: float, end: float) -> Iterator[None]:
    """Report the progress in the block as this part of the whole."""
    whole = _listener.get()
    with listening(None if whole is None else lambda share: whole(start + share * (end - start))):
        yield


def tell(share: float) -> None:
    """Report the finished share of the work."""
    listener = _listener.get()
    if listener is not None:
        listener(share)


def counter(n_tasks: int) -> Callable[[], None]:
    """Return a function to call after each of n tasks, from any thread."""
    listener, done = _listener.get(), count(1)
    return (lambda: None) if listener is None else lambda: listener(next(done) / n_tasks)
