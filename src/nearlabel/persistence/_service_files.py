"""The files that ``nearlabel serve`` keeps next to a model: its journal, and what people corrected."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

from nearlabel.files.atomic_file import whole_file


def has_changes(path: Path) -> bool:
    """Return whether a service has acknowledged changes that are not in the file yet."""
    journal = journal_of(path)
    return journal.exists() and journal.read_bytes().count(b"\n") > 1


def n_unwritten(path: Path, n_written: int) -> int:
    """Return how many changes of its journal a model's file lacks that has the first `n_written`.

    Raises
    ------
    ValueError
        If a line of the journal is damaged. A last line that is not whole was never acknowledged.
    """
    journal = journal_of(path)
    lines = journal.read_bytes().split(b"\n")[:-1]
    parts = [line.partition(b" ") for line in lines]
    damaged = [number for number, (sums, _, text) in enumerate(parts, 1) if sums != b"%08x" % zlib.crc32(text)]
    if damaged or not lines:
        raise ValueError(f"{journal} must be what a service wrote, got other bytes in line {[*damaged, 1][0]}")
    return max(0, int(json.loads(parts[0][2])["base"]) + len(lines) - 1 - n_written)


def check_journal(path: Path) -> None:
    """Raise ValueError if a service has acknowledged changes that are not in the file yet."""
    if has_changes(path):
        raise ValueError(
            f"{path} must have all changes to be changed, got some that a service left in {journal_of(path)}. Hint: run"
            " nearlabel serve and end it with SIGTERM, which writes them into the file."
        )


def forget_corrections(path: Path, ids: Iterable[str]) -> None:
    """Remove what people corrected in samples that are not among these of a model's file any more."""
    corrections = journal_of(path).with_suffix(".corrections.jsonl")
    if corrections.exists():
        known, lines = set(ids), corrections.read_text(encoding="utf-8").splitlines(keepends=True)
        with whole_file(corrections, like=path) as partial:
            partial.write_text("".join(line for line in lines if json.loads(line)["id"] in known), encoding="utf-8")


def journal_of(path: Path) -> Path:
    """Return the journal of a model's file, in which ``nearlabel serve`` notes changes; a link has its target's."""
    place = Path(os.path.realpath(path))
    return place.with_name(f"{place.name}.journal")
