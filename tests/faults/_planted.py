"""Faults that are planted: writers as one should not write them, which the machinery must find."""

from __future__ import annotations

import os
import time
from pathlib import Path

from faults._killing import Scenario
from faults._scenarios import contents

_OLD, _NEW = "old\n" * 5_000, [f"line {n}\n" for n in range(4_000)]


def _prepare(folder: Path) -> None:
    (folder / "out.txt").write_text(_OLD)


def _write(path: Path) -> None:
    with path.open("w") as file:
        for n, line in enumerate(_NEW):
            file.write(line)
            if n % 400 == 0:
                file.flush()
                time.sleep(0.004)


def _in_place() -> None:
    """Write into the file that is there: whoever is killed leaves a part."""
    _write(Path("out.txt"))


def _with_litter() -> None:
    """Write beside, under a new name each time, and look for no older one."""
    partial = Path(f".out.{os.getpid()}.partial")
    _write(partial)
    partial.replace("out.txt")


def _behind_a_mark() -> None:
    """Lock by the existence of a file: whoever is killed locks all out for ever."""
    with Path("out.lock").open("x"):
        partial = Path("out.draft")
        _write(partial)
        partial.replace("out.txt")
    Path("out.lock").unlink()


def _once_more() -> None:
    """Add to what is there, in one step: whoever repeats a killed run that was complete has it twice."""
    partial = Path("out.draft")
    partial.write_text(Path("out.txt").read_text() + "new\n" * 5_000)
    partial.replace("out.txt")
    time.sleep(0.05)


PLANTED = [
    Scenario("planted-in-place", _prepare, _in_place, contents("out.txt")),
    Scenario("planted-litter", _prepare, _with_litter, contents("out.txt")),
    Scenario("planted-mark", _prepare, _behind_a_mark, contents("out.txt")),
    Scenario("planted-again", _prepare, _once_more, contents("out.txt")),
]
