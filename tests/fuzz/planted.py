"""Readers with faults on purpose: what the harness must find, so that finding nothing means something."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from fuzz.oracles import check
from fuzz.target import Target

_VALID = b"a=1\nb=2\n"
_GIBIBYTE = 2**30


def _content(folder: Path) -> bytes:
    content = (folder / "in.txt").read_bytes()
    if b"=" not in content:
        raise ValueError(f"{folder / 'in.txt'} must have a '=', got none.")
    return content


def _right(folder: Path) -> None:
    _content(folder)


def _crash(folder: Path) -> None:
    if b"\xff" in _content(folder):
        os.kill(os.getpid(), signal.SIGSEGV)


def _hang(folder: Path) -> None:
    if b"\xff" in _content(folder):
        while True:
            pass


def _wait(folder: Path) -> None:
    if b"\xff" in _content(folder):
        time.sleep(10**6)


def _memory(folder: Path) -> None:
    if b"\xff" in _content(folder):
        len(b"1" * (_GIBIBYTE // 8))


def _allocation(folder: Path) -> None:
    if b"\xff" in _content(folder):
        len(bytearray(100 * _GIBIBYTE))


def _raw(folder: Path) -> None:
    if b"\xff" in _content(folder):
        raise KeyError("a")


def _nameless(folder: Path) -> None:
    if b"\xff" in _content(folder):
        raise ValueError("something is wrong")


def _wrong(folder: Path) -> None:
    check(b"\xff" not in _content(folder), "answer: another")


def _exit(folder: Path) -> None:
    if b"\xff" in _content(folder):
        os._exit(0)


_READERS = {
    "right": _right,
    "crash": _crash,
    "hang": _hang,
    "wait": _wait,
    "memory": _memory,
    "allocation": _allocation,
    "raw": _raw,
    "nameless": _nameless,
    "wrong": _wrong,
    "exit": _exit,
}

# The third input of each sets its fault off.
_CORPUS = [{"in.txt": _VALID}, {"in.txt": b"no sign"}, {"in.txt": b"a=1\nb=\xff\nc=3\n"}]

TARGETS = tuple(Target(f"planted-{name}", lambda: _CORPUS, read, is_valid=False) for name, read in _READERS.items())
