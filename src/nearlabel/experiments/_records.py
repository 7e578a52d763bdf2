"""Records on disk: one flat dict a line, in the order of the plan, never half a fold."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, Any]

_RECORDS, _PLAN = "records.jsonl", "plan.json"


class RecordFolder:
    """A folder with a plan and the records that were run of it.

    Parameters
    ----------
    path : str or path
        Is made if it is not there.
    plan : mapping
        What `Plan.describe` gives.

    Raises
    ------
    ValueError
        If the folder holds the records of another plan, or of none; nothing is changed.
    """

    def __init__(self, path: str | os.PathLike[str], plan: Mapping[str, Any]) -> None:
        self.path = Path(path)
        text = json.dumps(plan, indent=1, sort_keys=True) + "\n"
        known = self.path / _PLAN
        records = self.path / _RECORDS
        if records.exists() and records.stat().st_size:
            if not known.exists():
                raise ValueError(f"{records} must stand beside its {_PLAN}, got none. Hint: choose another folder.")
            _check_same_plan(json.loads(known.read_text()), json.loads(text), self.path)
        else:
            self.path.mkdir(parents=True, exist_ok=True)
            _write_whole(known, text)

    def complete_folds(self, records_per_fold: int) -> list[list[Record]]:
        """Return the folds on file; cut off what an interrupted run left of another."""
        file = self.path / _RECORDS
        if not file.exists():
            return []
        lines = [line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n")]
        n_folds = len(lines) // records_per_fold
        kept = lines[: n_folds * records_per_fold]
        _write_whole(file, "".join(kept))
        records = [json.loads(line) for line in kept]
        return [records[i * records_per_fold : (i + 1) * records_per_fold] for i in range(n_folds)]

    def append(self, records: Iterable[Record]) -> None:
        """Write the records of one fold in one go, down to the disk."""
        with (self.path / _RECORDS).open("a") as file:
            file.write("".join(json.dumps(record) + "\n" for record in records))
            file.flush()
            os.fsync(file.fileno())


def read_records(path: str | os.PathLike[str]) -> Iterator[Record]:
    """Yield the records of a folder that `run` wrote.

    Parameters
    ----------
    path : str or path
        The folder.

    Yields
    ------
    dict
        dataset, seed, fold, method, n_neighbors, metric, value.
    """
    with (Path(path) / _RECORDS).open() as file:
        for line in file:
            yield json.loads(line)


def _check_same_plan(known: Mapping[str, Any], wanted: Mapping[str, Any], path: Path) -> None:
    different = sorted(key for key in {*known, *wanted} if known.get(key) != wanted.get(key))
    if different:
        got = ", ".join(f"{key}={wanted.get(key)} (there: {known.get(key)})" for key in different)
        raise ValueError(f"{path} must hold records of the same plan, got {got}. Hint: choose another folder.")


def _write_whole(file: Path, text: str) -> None:
    """Replace a file at once: a reader sees the old or the new text, never a part."""
    draft = file.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(file)
