"""Work with a time limit, in a separate process, since a running fit cannot be interrupted in this one."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_all_start_methods, get_context, get_start_method, set_start_method
from multiprocessing.connection import Connection
from typing import Any

_ITEM, _WARNING, _ERROR, _END = "item", "warning", "error", "end"


def items_within(seconds: float, make_items: Callable[..., Iterable[Any]], *args: Any) -> Iterator[Any]:
    """Yield the items of an iterable from a separate process, which is terminated after a time limit.

    Warnings and exceptions of the process are passed to the caller.

    Parameters
    ----------
    seconds : float
        Time limit from now on, including the start of the process.
    make_items : callable
        Creates the iterable from `args`; the function, `args` and the items must be picklable.

    Raises
    ------
    RuntimeError
        If the process ended without an exception: it was killed, or could not be started.
    """
    deadline = time.monotonic() + seconds
    context = get_context("spawn")  # a forked process hangs if OpenMP threads ran before
    receiver, sender = context.Pipe(duplex=False)
    worker = context.Process(target=_work, args=(sender, make_items, args))
    with _usual_start_method():
        worker.start()
    sender.close()
    try:
        while receiver.poll(max(0.0, deadline - time.monotonic())):
            kind, content = _received(receiver)
            if kind == _END:
                return
            if kind == _ERROR:
                raise content
            if kind == _WARNING:
                warnings.warn(content, stacklevel=2)
            else:
                yield content
    finally:
        worker.kill()
        worker.join()
        receiver.close()


@contextmanager
def _usual_start_method() -> Iterator[None]:
    """Hide the start method of joblib's workers, which a new process would inherit but does not know."""
    method = get_start_method(allow_none=True)
    if method is None or method in get_all_start_methods():
        yield
        return
    set_start_method("spawn", force=True)
    try:
        yield
    finally:
        set_start_method(method, force=True)


def _received(receiver: Connection) -> Any:
    try:
        return receiver.recv()
    except EOFError:
        raise RuntimeError(
            "The process of a time limit ended by itself. Hint: a script that starts one must do its work under"
            " if __name__ == '__main__'; memory may be short."
        ) from None


def _work(sender: Connection, make_items: Callable[..., Iterable[Any]], args: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # keyboard interrupt: the caller ends this process

    def send_warning(message: Warning | str, *_: Any, **__: Any) -> None:
        sender.send((_WARNING, message))

    with suppress(BrokenPipeError), warnings.catch_warnings():  # the caller has stopped reading
        warnings.showwarning = send_warning
        try:
            for item in make_items(*args):
                sender.send((_ITEM, item))
            sender.send((_END, None))
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001  # the caller raises it
            sender.send((_ERROR, error))
