"""How far a search, or the reading of a file, has come, and how long a run still takes, for whoever listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count

Listener = Callable[[float], None]
Progress = Callable[[int, int], None]  # takes the numbers of finished and of all parts

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_clock: ContextVar[Listener | None] = ContextVar("clock", default=None)


@contextmanager
def listening(listener: Listener | None, clock: Listener | None = None) -> Iterator[None]:
    """Have each search or file read within tell what share of it is done, from above 0 to 1; None: have none told.

    The listener is called from any thread. `clock` is called with the seconds that the work within still takes, by work
    that knows.
    """
    tokens = _listener.set(listener), _clock.set(clock)
    try:
        yield
    finally:
        _listener.reset(tokens[0])
        _clock.reset(tokens[1])


@contextmanager
def part(start: float, end: float) -> Iterator[None]:
    """Let what is told within be this part of the whole."""
    whole = _listener.get()
    with listening(None if whole is None else lambda share: whole(start + share * (end - start))):
        yield


def tell(share: float) -> None:
    """Tell what share of the work is done."""
    listener = _listener.get()
    if listener is not None:
        listener(share)


def expect(seconds: float) -> None:
    """Tell how long the work still takes."""
    clock = _clock.get()
    if clock is not None:
        clock(seconds)


def counter(n_tasks: int) -> Callable[[], None]:
    """Return what is to be called after each of so many tasks, from any thread."""
    listener, done = _listener.get(), count(1)
    return (lambda: None) if listener is None else lambda: listener(next(done) / n_tasks)
