"""The processes of the service: one, or several that share a socket and the training data."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn
from uvicorn.protocols.http.auto import AutoHTTPProtocol

from nearlabel.files.atomic_file import locked, sweep
from nearlabel.persistence import ModelVersionWarning
from nearlabel.serve._app import make_app
from nearlabel.serve._guard import Limits
from nearlabel.serve._live import LiveModel, end, folder_of_rows

_LOG = logging.getLogger("nearlabel.serve")
_GRACE = 10  # seconds for requests that are being answered when the service ends
_MOST_RESTARTS, _HEALTHY = 5, 60  # of workers in a row, and seconds without one after which they count again


class Settings(NamedTuple):
    """What each process of the service needs."""

    files: Mapping[str, Path]
    trusted: Sequence[str] = ()
    read_only: bool = False
    token: str = ""
    limits: Limits = Limits()
    log_rows: bool = False
    quiet: bool = False


def set_up_log(settings: Settings) -> None:
    """Log each request on standard error, unless the command is quiet; and which warnings there are.

    Their texts may have contents of rows, but for that on the versions with which a model was saved.
    """
    _LOG.setLevel(logging.WARNING if settings.quiet else logging.INFO)
    seen = set()

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, *_: object, **__: object
    ) -> None:
        place = f"{category.__name__} of {Path(filename).name}, line {lineno}"
        if settings.log_rows or issubclass(category, ModelVersionWarning):
            _LOG.warning("%s", message)
        elif place not in seen:
            _LOG.warning("%s; --log-rows shows its text", place)
        seen.add(place)

    warnings.filterwarnings("always", category=UserWarning)  # so that no list of those that were shown has their texts
    warnings.filterwarnings("ignore", message="X does not have valid feature names")
    warnings.showwarning = show


def serve(settings: Settings, host: str, port: int, workers: int) -> int:
    """Serve until a signal ends it; print the address as the first line of standard output."""
    sweep(folder_of_rows())
    with ExitStack() as held:
        held.enter_context(warnings.catch_warnings())
        set_up_log(settings)
        for path in settings.files.values():
            if not settings.read_only:
                held.enter_context(locked(path, "serving it"))
        listening = held.enter_context(_socket(host, port))
        names = ", ".join(path.name for path in settings.files.values())
        if workers == 1:
            served, code = _opened(settings), 0
            _say_where(names, listening, host)
            _run(settings, served, listening)
        else:
            code = _supervise(settings, listening, workers, lambda: _say_where(names, listening, host))
        if not (settings.read_only or code):
            for path in settings.files.values():
                end(path)
        return code


def _opened(settings: Settings) -> dict[str, LiveModel]:
    return {
        name: LiveModel(path, trusted=settings.trusted, read_only=settings.read_only)
        for name, path in settings.files.items()
    }


def _socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens; raise OSError that names the address."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio sends at once if it knows TCP
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        listening.close()
        raise OSError(
            f"--host and --port must be free on this machine, got {host} {port}: {error.strerror}."
        ) from error
    listening.listen(2048)
    listening.set_inheritable(True)
    return listening


def _say_where(names: str, listening: socket.socket, host: str) -> None:
    port = listening.getsockname()[1]
    sys.stdout.write(f"Serving {names} at http://{f'[{host}]' if ':' in host else host}:{port}\n")
    sys.stdout.flush()


def _run(settings: Settings, served: Mapping[str, LiveModel], listening: socket.socket) -> None:
    """Answer requests until SIGTERM or SIGINT; then write the changes into the model files."""
    app = make_app(served, token=settings.token, limits=settings.limits, log_rows=settings.log_rows)
    config = uvicorn.Config(
        app,
        http=connection_of(settings.limits.seconds),
        log_config=None,
        access_log=False,
        timeout_graceful_shutdown=_GRACE,
        server_header=False,
        lifespan="on",
    )
    _Server(config).run(sockets=[listening])
    for model in served.values():
        if model.is_updatable:
            model.compact()


def connection_of(seconds: float) -> type[asyncio.Protocol]:
    """Return uvicorn's connection, which ends if no request, or no further one, arrives in this time.

    Nor does what is sent after an answer, such as the rest of a refused body, keep it open; uvicorn itself limits only
    the time without a byte after an answer. A client that reads nothing is left in the end.
    """

    class Connection(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            self._look(self)

        def _look(self, last: object) -> None:
            if self not in self.connections:
                return
            if self.cycle is last and (last is None or last.response_complete):
                if self.transport.is_closing():
                    self.transport.abort()
                self.transport.close()
            self.loop.call_later(seconds, self._look, self.cycle)

    return Connection


class _Server(uvicorn.Server):
    """Ends on a signal; uvicorn would raise it again before the changes are written."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let signals end the server only."""

        def end(*_: Any) -> None:
            self.should_exit = True

        before = {sign: signal.signal(sign, end) for sign in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for sign, handler in before.items():
                signal.signal(sign, handler)


def _supervise(settings: Settings, listening: socket.socket, n_workers: int, say: Any) -> int:
    """Start workers, replace those that die, and end them all on a signal; return an exit code."""
    context = multiprocessing.get_context("spawn")
    ended = threading.Event()
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, lambda *_: ended.set())
    with tempfile.TemporaryDirectory(prefix="nearlabel-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder

        def start() -> Any:
            is_ready = context.Event()
            worker = context.Process(target=_worker, args=(settings, listening, is_ready))
            worker.start()
            return worker, is_ready

        begin = time.monotonic()
        running, n_restarts = [start() for _ in range(n_workers)], 0
        while not ended.is_set() and not all(is_ready.wait(0.1) for _, is_ready in running):
            if any(worker.exitcode for worker, _ in running):
                ended.set()  # it has printed why
                n_restarts = _MOST_RESTARTS
        if not ended.is_set():
            say()
        while not ended.wait(0.2):
            for place, (worker, _) in enumerate(running):
                if worker.exitcode is not None:
                    if time.monotonic() - begin > _HEALTHY:
                        n_restarts = 0
                    n_restarts, begin = n_restarts + 1, time.monotonic()
                    _LOG.error("a worker ended with code %s", worker.exitcode)
                    if n_restarts >= _MOST_RESTARTS:
                        ended.set()
                    else:
                        running[place] = start()
        for worker, _ in running:
            worker.terminate()
        for worker, _ in running:
            worker.join(_GRACE + 60)
        return 2 if n_restarts >= _MOST_RESTARTS else 0


def _worker(settings: Settings, listening: socket.socket, is_ready: Any) -> None:
    """Serve in a process of its own, as long as its parent lives, which keeps other commands out."""
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    logging.basicConfig(format="%(message)s", level=logging.WARNING)
    set_up_log(settings)
    try:
        served = _opened(settings)
    except (ValueError, TypeError, OSError, ImportError, MemoryError) as error:
        sys.stderr.write(f"nearlabel: {error}\n")
        raise SystemExit(2) from None
    is_ready.set()
    _run(settings, served, listening)


def _end_with(parent: int) -> None:
    """End this process once its parent has ended, however that happened: the journal has all changes."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
