"""Run the command as a user starts it: in a plain environment, which hides nothing.

A start costs two seconds, nearly all of them for imports. So where a test is of what a command does, not of how it
starts, the command is run in this process (`here`), or in a child of a server that has imported all (`forked`).
"""

from __future__ import annotations

import contextlib
import io
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Any

import numpy as np

from nearlabel import __main__, cli
from nearlabel.datasets import write_store
from nearlabel.files import atomic_file

# What the commands that are forked import, and so the server does.
_LOADED = [f"nearlabel.cli._{name}" for name in ("evaluate", "fit", "predict", "update")]
_LOADED += ["nearlabel.audit", "nearlabel.experiments", "nearlabel.persistence", "skops.io", "rich.table"]
SIGNALS = {"SIGTERM": 143, "SIGINT": 130, "SIGHUP": 129}  # with their exit codes
PLAIN = {"PATH": os.environ.get("PATH", ""), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
_ONE_AFTER_ANOTHER = """
import sys
from nearlabel import cli
words, codes = sys.argv[1:], set()
while words:
    end = words.index(";")
    codes.add(cli.main(words[:end]))
    del words[: end + 1]
sys.exit(codes.pop() if len(codes) == 1 else 70)
"""


def command_of(*arguments: object) -> list[str]:
    """Return the command for the interpreter that runs the tests."""
    return [sys.executable, "-m", "nearlabel", *map(str, arguments)]


def environment_of(folder: Path, **variables: str) -> dict[str, str]:
    """Return an environment with nothing but our sources, a home folder and some variables."""
    return PLAIN | {"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(folder)} | variables


def nearlabel(folder: Path, *arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; options are those of `started`."""
    return started(folder, command_of(*arguments), **options)


def one_after_another(folder: Path, commands: Sequence[Sequence[object]], **options: Any) -> Any:
    """Run commands in one process, which ends as all of them do: its start costs most."""
    words = [str(word) for arguments in commands for word in (*arguments, ";")]
    return started(folder, [sys.executable, "-c", _ONE_AFTER_ANOTHER, *words], **options)


def started(
    folder: Path,
    words: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    before: Callable[[], object] | None = None,
    **streams: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder; `before` runs in its process, before it starts."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL} | streams
    of = environment_of(folder) if environment is None else environment
    return subprocess.run(words, cwd=folder, env=of, preexec_fn=before, text=True, timeout=120, check=False, **streams)


def here(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Run a command in this process."""
    before, out, err = Path.cwd(), io.StringIO(), io.StringIO()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main([str(argument) for argument in arguments])
    finally:
        os.chdir(before)
    return subprocess.CompletedProcess([], code, out.getvalue(), err.getvalue())


def forked(folder: Path, errors: Path, work: Callable[..., object], *arguments: object) -> BaseProcess:
    """Start a function of a module in a process of its own, whose standard error is a file; what it returns ends it."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_LOADED)
    process = context.Process(target=_as_if_started, args=(folder, errors, work, arguments))
    process.start()
    return process


def _as_if_started(folder: Path, errors: Path, work: Callable[..., int], arguments: tuple[object, ...]) -> None:
    """Be as a process that was just started: in its folder, with its streams, and ended by signals."""
    for name in SIGNALS:
        signal.signal(getattr(signal, name), signal.default_int_handler if name == "SIGINT" else signal.SIG_DFL)
    os.chdir(folder)
    with errors.open("w") as err, Path(os.devnull).open("w") as out:
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
    sys.exit(work(*arguments))


def command(*arguments: object) -> int:
    """Be the command: work for `forked`."""
    sys.argv[1:] = map(str, arguments)
    return __main__.main()


def stop_while_it_writes(writing: Event, *arguments: object) -> int:
    """Be a command that stops while it writes, until a signal comes: work for `forked`."""

    def stop(_: object) -> None:
        writing.set()
        time.sleep(60)

    atomic_file._settle = stop
    return command(*arguments)


def write_ones(number: int) -> int:
    """Write a store of one number alone: work for `forked`."""
    write_store("s", (np.full((2000, 50), float(number)) for _ in range(20)))
    return 0
