"""Write and read records: one flat dict per line, in the order of the plan, whole folds only."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Self, TypeAlias

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

Record: TypeAlias = dict[str, Any]

_FIELDS = ("dataset", "seed", "fold", "method", "metric", "value")
_RECORDS, PLAN, _MADE_WITH = "records.jsonl", "plan.json", "made_with.jsonl"


class RecordFolder:
    """A folder with a plan and the records that were run of it; a context in which no other run may write there.

    Parameters
    ----------
    path : str or path
        Is made if it is not there.
    plan : mapping
        What `Plan.describe` gives.

    Raises
    ------
    ValueError
        On entering, if the folder holds the records of another plan, or of none, or another run writes there; nothing
        is changed.
    """

    def __init__(self, path: str | os.PathLike[str], plan: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._plan = json.dumps(plan, indent=1, sort_keys=True) + "\n"

    def __enter__(self) -> Self:
        """Lock the folder and compare plans."""
        self.path.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self.path)
        try:
            self._compare_plans()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Let other runs in."""
        if self._lock is not None:
            os.close(self._lock)

    def _compare_plans(self) -> None:
        known, records = self.path / PLAN, self.path / _RECORDS
        if records.exists() and records.stat().st_size:
            if not known.exists():
                raise ValueError(f"{records} must stand beside its {PLAN}, got none. Hint: choose another folder.")
            _check_same_plan(_parsed(known.read_text(), known, 1), json.loads(self._plan), self.path)
        else:
            _write_whole(known, self._plan)

    def complete_folds(self, settings: Iterable[Sequence[Record]]) -> list[Record]:
        """Return the records of whole folds on file; cut off what an interrupted run left of another.

        `settings` are the records of the plan's folds, without values, in their order.

        Raises
        ------
        ValueError
            If the records on file are not those of the first folds of the plan.
        """
        file = self.path / _RECORDS
        text = file.read_text() if file.exists() else ""
        lines = [line for line in text.splitlines(keepends=True) if line.endswith("\n")]
        records: list[Record] = []
        for fold in settings:
            if len(lines) < len(records) + len(fold):
                break
            records += [_parsed(lines[i], file, i + 1) for i in range(len(records), len(records) + len(fold))]
            _check_same_fold(records[-len(fold) :], fold, file, len(records))
        else:
            if len(lines) > len(records):
                raise ValueError(f"{file} must hold at most the {len(records)} records of the plan, got {len(lines)}.")
        kept = "".join(lines[: len(records)])
        if kept != text:
            _write_whole(file, kept)
        return records

    def append(self, records: Iterable[Record]) -> None:
        """Write the records of one fold in one go, down to the disk."""
        with (self.path / _RECORDS).open("a") as file:
            file.write("".join(json.dumps(record) + "\n" for record in records))
            file.flush()
            os.fsync(file.fileno())

    def note(self, made_with: Mapping[str, str]) -> None:
        """Write down what a fold was made with, beside the records: these are the same on every machine."""
        file = self.path / _MADE_WITH
        line = json.dumps(made_with) + "\n"
        known = file.read_text() if file.exists() else ""
        if line not in known.splitlines(keepends=True):
            _write_whole(file, known + line)


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

    Raises
    ------
    ValueError
        If a line is no record.
    """
    records = Path(path) / _RECORDS
    if not records.is_file():
        return  # no fold is done yet
    with records.open() as file:
        for number, line in enumerate(file, 1):
            if line.endswith("\n"):  # else the run was killed in the middle of it
                yield _checked(_parsed(line, records, number), records, number)


def _checked(record: Record, file: Path, line: int) -> Record:
    missing = [name for name in _FIELDS if name not in record]
    if missing:
        raise ValueError(f"{file}, line {line}: must be a record, got one without {', '.join(missing)}.")
    return record


def read_plan(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what `run` wrote of the plan into a folder.

    Raises
    ------
    ValueError
        If the folder holds no plan.
    """
    file = Path(path) / PLAN
    if not file.is_file():
        raise ValueError(f"{path} must be a folder of records, with a {PLAN}, got none. Hint: evaluate --out FOLDER.")
    plan = _parsed(file.read_text(), file, 1)
    if not isinstance(plan.get("problems"), dict):
        raise ValueError(f"{file} must be a plan that nearlabel wrote, got one without problems.")
    return plan


def read_made_with(path: str | os.PathLike[str]) -> list[dict[str, str]]:
    """Return what the records of a folder were made with, as `nearlabel.environment.made_with` says.

    An element for each environment in which `run` made some of them; none if an older nearlabel wrote the folder.

    Raises
    ------
    ValueError
        If a line is no object of JSON.
    """
    file = Path(path) / _MADE_WITH
    lines = file.read_text().splitlines() if file.is_file() else []
    return [_parsed(line, file, number) for number, line in enumerate(lines, 1)]


def kinds_of_columns(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """Return, for each data set with columns that are no numbers, their kinds by the plans of a folder or in it."""
    plans = map(read_plan, run_folders([path]))
    return {name: kinds for plan in plans for name, kinds in plan.get("kinds", {}).items()}


def run_folders(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the folders with a plan: those named, or what lies in them."""
    folders: list[Path] = []
    for path in map(Path, paths):
        inner = sorted(plan.parent for plan in path.glob(f"*/{PLAN}")) if path.is_dir() else []
        folders += inner if inner and not (path / PLAN).is_file() else [path]
    return folders


def _check_same_plan(known: Mapping[str, Any], wanted: Mapping[str, Any], path: Path) -> None:
    different = sorted(key for key in {*known, *wanted} if known.get(key) != wanted.get(key))
    if different:
        got = ", ".join(f"{key}={wanted.get(key)} (there: {known.get(key)})" for key in different)
        raise ValueError(f"{path} must hold records of the same plan, got {got}. Hint: choose another folder.")


def _check_same_fold(records: Sequence[Record], settings: Sequence[Record], file: Path, last_line: int) -> None:
    for line, (record, setting) in enumerate(zip(records, settings, strict=True), last_line - len(records) + 1):
        if {name: of for name, of in record.items() if name not in ("value", "table")} != setting:
            raise ValueError(f"{file}, line {line}: must be the record of {setting}, got {record}.")


def _parsed(text: str, file: Path, line: int) -> Record:
    try:
        value: Any = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{file}, line {line + error.lineno - 1}: must be JSON, got {text[:60]!r}.") from error
    if not isinstance(value, dict):
        raise ValueError(f"{file}, line {line}: must be an object of JSON, got {text[:60]!r}.")
    return value


def _locked(folder: Path) -> int | None:
    """Return the handle of a lock that ends with this process at the latest; None where the system has none."""
    if fcntl is None:
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise ValueError(f"{folder} must be written by one run at a time, got a second one.") from error
    return handle


def _write_whole(file: Path, text: str) -> None:
    """Replace a file at once: a reader sees the old or the new text, never a part."""
    draft = file.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(file)
