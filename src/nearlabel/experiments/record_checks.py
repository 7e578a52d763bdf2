"""Checks of the files of a run, line by line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from nearlabel.experiments._record_lines import check_has_sum, lines_in, record_of, records_in
from nearlabel.experiments.records import MADE_WITH, PLAN, RECORDS, read_made_with, read_plan
from nearlabel.files.findings import Finding

FILES = (PLAN, RECORDS, MADE_WITH)
_MOST_SHOWN = 20  # maximum of reported damaged lines per file


def is_run(folder: Path) -> bool:
    """Return whether a folder contains a plan or records, damaged or not."""
    return (folder / PLAN).is_file() or (folder / RECORDS).is_file()


def check_run(folder: Path) -> Iterator[Finding]:
    """Yield the problems of the plan, the records and the list of environments."""
    for name, read in ((PLAN, read_plan), (MADE_WITH, read_made_with)):
        if (folder / name).is_file():
            yield from _check(folder / name, read)
    if (folder / RECORDS).is_file():
        yield from _check_records(folder / RECORDS)


def _check(file: Path, read: Callable[[Path], Any]) -> Iterator[Finding]:
    try:
        read(file.parent)
    except (ValueError, OSError) as error:
        yield Finding(file, "damage", str(error))


def _check_records(file: Path) -> Iterator[Finding]:
    n_damaged = n_unchecked = n_bytes = 0
    have_sums = False
    for number, text in lines_in(file):
        n_bytes += len(text) + 1
        try:
            line = record_of(text, file, number)
            check_has_sum(line, have_sums, file)
            have_sums = line.has_sum
            n_unchecked += not line.has_sum
        except ValueError as error:
            n_damaged += 1
            if n_damaged <= _MOST_SHOWN:
                yield Finding(file, "damage", str(error))
    if n_damaged > _MOST_SHOWN:
        yield Finding(file, "damage", f"{n_damaged - _MOST_SHOWN} more of its lines are damaged")
    if n_unchecked:
        yield Finding(file, "unchecked", f"{n_unchecked} lines have no checksum, since an earlier nearlabel wrote them")
    if (surplus := file.stat().st_size - n_bytes) > 0:
        reason = f"{surplus} bytes of an unfinished line of a run in progress, or of a killed run (the next removes it)"
        yield Finding(file, "leftover", reason)
    if not n_damaged:
        yield from _check_that_none_comes_twice(file)


def _check_that_none_comes_twice(file: Path) -> Iterator[Finding]:
    try:
        for _ in records_in(file):
            pass
    except ValueError as error:
        yield Finding(file, "damage", str(error))
