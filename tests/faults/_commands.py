"""Run the command as a user starts it: in a plain environment, which hides nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

PLAIN = {"PATH": os.environ.get("PATH", ""), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def command_of(*arguments: object) -> list[str]:
    """Return the command for the interpreter that runs the tests."""
    return [sys.executable, "-m", "nearlabel", *map(str, arguments)]


def environment_of(folder: Path, **variables: str) -> dict[str, str]:
    """Return an environment with nothing but our sources, a home folder and some variables."""
    return PLAIN | {"PYTHONPATH": os.pathsep.join(sys.path), "HOME": str(folder)} | variables


def nearlabel(
    folder: Path,
    *arguments: object,
    environment: Mapping[str, str] | None = None,
    before: Callable[[], object] | None = None,
    **streams: Any,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder; `before` runs in its process, before it starts."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL} | streams
    of = environment_of(folder) if environment is None else environment
    return subprocess.run(
        command_of(*arguments), cwd=folder, env=of, preexec_fn=before, text=True, timeout=120, check=False, **streams
    )
