"""Progress of searches, of reading files and of runs, reported to a listener."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count

Listener = Callable[[float], None]
Progress = Callable[[int, int], None]  # called with the numbers of finished and of all parts

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_clock: ContextVar[Listener | None] = ContextVar("clock", default=None)


@contextmanager
def listening(listener: Listener | None, clock: Listener | None = None) -> Iterator[None]:
    """Call a function with the finished share, in (0, 1], of each search or file read in the block; None: never.

    The function may be called from any thread. `clock` is called with the estimated seconds left, by work that
    estimates them.
    """
    tokens = _listener.set(listener), _clock.set(clock)
    try:
        yield
    finally:
        _listener.reset(tokens[0])
        _clock.reset(tokens[1])


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


def expect(seconds: float) -> None:
    """Report the estimated seconds left."""
    clock = _clock.get()
    if clock is not None:
        clock(seconds)


def counter(n_tasks: int) -> Callable[[], None]:
    """Return a function to call after each of n tasks, from any thread."""
    listener, done = _listener.get(), count(1)
    return (lambda: None) if listener is None else lambda: listener(next(done) / n_tasks)
