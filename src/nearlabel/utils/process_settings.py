"""Settings of the whole process that blocks of code change for a while, in any thread; and what a fork leaves of them.

A forked child has only the thread that forked it: a lock that another thread had would never be released there. So a
fork waits until no thread is changing a setting, and the child ends the blocks of the other threads.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from threading import RLock, get_ident, local
from typing import Any, Generic, TypeVar
from weakref import WeakSet

Value = TypeVar("Value")


class _Block:
    """A block that a thread is in. One that was interrupted while it ended vanishes with its frame."""

    def __init__(self) -> None:
        self.thread = get_ident()


class _Setting(Generic[Value]):
    """A setting with another value while any block is entered; the last one to end restores it, or else the next one.

    So an interruption at any point, also while a block begins or ends, loses no value.
    """

    def __init__(
        self, read: Callable[[], Value], write: Callable[[Value], object], meanwhile: Callable[[Value], Value]
    ) -> None:
        self._read, self._write, self._meanwhile = read, write, meanwhile
        self._lock: AbstractContextManager[Any] = nullcontext()
        self._inside: WeakSet[_Block] = WeakSet()
        self._before: list[Value] = []  # the value before, while any thread is inside

    @contextmanager
    def __call__(self) -> Iterator[Value]:
        """Change the setting in a block, and yield the value before."""
        block = _Block()
        try:
            with self._lock:
                self._inside.add(block)
                if not self._before:
                    self._before.append(self._read())  # first, so that an interruption loses nothing
                    self._write(self._meanwhile(self._before[0]))
                before = self._before[0]
            yield before
        finally:
            self._leave([block])

    def _leave(self, blocks: list[_Block]) -> None:
        with self._lock:
            self._inside.difference_update(blocks)
            if not self._inside and self._before:
                self._write(self._before[0])
                self._before.clear()


class ProcessSetting(_Setting[Value]):
    """A setting with another value while any thread is inside; the last one to leave restores it.

    Parameters
    ----------
    read, write : callable
        ``read()`` returns the value, ``write(value)`` sets it.
    meanwhile : callable
        Called with the value before; returns the value inside.

    Examples
    --------
    >>> limit = [10]
    >>> lifted = ProcessSetting(limit.copy, lambda value: limit.__setitem__(slice(None), value), lambda _: [99])
    >>> with lifted() as before:
    ...     print(before, limit)
    [10] [99]
    >>> limit
    [10]
    """

    def __init__(
        self, read: Callable[[], Value], write: Callable[[Value], object], meanwhile: Callable[[Value], Value]
    ) -> None:
        super().__init__(read, write, meanwhile)
        self._lock = lock = RLock()  # the handler of a signal may come to a thread that has it, and enter, or fork
        if hasattr(os, "register_at_fork"):
            self._release = lock.release
            os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=self._begin_child)

    def _begin_child(self) -> None:
        """End the blocks of the threads that a forked child does not have."""
        self._leave([block for block in self._inside if block.thread != get_ident()])
        self._release()


class ThreadSetting(Generic[Value]):
    """The same for a setting that each thread has for itself, such as the number of OpenMP's threads."""

    def __init__(
        self, read: Callable[[], Value], write: Callable[[Value], object], meanwhile: Callable[[Value], Value]
    ) -> None:
        self._parts, self._of_thread = (read, write, meanwhile), local()

    def __call__(self) -> AbstractContextManager[Value]:
        """Change the setting of this thread in a block, and yield the value before."""
        if not hasattr(self._of_thread, "setting"):
            self._of_thread.setting = _Setting(*self._parts)
        setting: _Setting[Value] = self._of_thread.setting
        return setting()


if sys.version_info < (3, 12):  # where the values of a `cached_property`, of all objects, share a lock

    def _open_properties() -> None:
        ours = [module for name, module in sys.modules.items() if name.partition(".")[0] == "nearlabel"]
        kinds = {kind for module in ours for kind in vars(module).values() if isinstance(kind, type)}
        for each in [value for kind in kinds for value in vars(kind).values()]:
            if isinstance(each, cached_property):
                setattr(each, "lock", RLock())  # noqa: B010 (unknown to types of later versions)

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_open_properties)
