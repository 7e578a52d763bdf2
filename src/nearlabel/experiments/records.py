"""Write and read records: one flat dict per line with a checksum, in the order of the plan, complete folds only."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import Any, Self

from nearlabel.experiments import _record_lines
from nearlabel.experiments._record_lines import Record as Record
from nearlabel.files.atomic_file import check_own_file, locked, whole_file, write_errors_named
from nearlabel.files.check_sums import Finding, finding_of, with_sum

RECORDS, PLAN, MADE_WITH = "records.jsonl", "plan.json", "made_with.jsonl"
_LOCKED = "run"  # inside the folder: its parent folder may not be writable


class RecordFolder:
    """A folder with a plan and its records; a context manager that locks the folder for one run.

    Parameters
    ----------
    path : str or path
        The folder; created if it is missing.
    plan : mapping
        The result of `Plan.describe`.

    Raises
    ------
    ValueError
        On entering, if the folder contains records of another plan or without a plan, or another run is writing there;
        then nothing is changed.
    """

    def __init__(self, path: str | os.PathLike[str], plan: Mapping[str, Any]) -> None:
        self.path = Path(path)
        self._plan = json.loads(json.dumps(plan))

    def __enter__(self) -> Self:
        """Lock the folder, compare the plans, and check that records can be written."""
        made = [folder for folder in (self.path, *self.path.parents) if not folder.exists()]
        self.path.mkdir(parents=True, exist_ok=True)
        with _removed_on_error(made), ExitStack() as entered:
            try:
                entered.enter_context(locked(self.path / _LOCKED, "making records"))
            except BlockingIOError as error:
                raise ValueError(f"{self.path} must be written by one run at a time, got a second one.") from error
            self._check_no_links()
            self._compare_plans()
            self._check_can_be_written()
            self._lock = entered.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Unlock the folder."""
        self._lock.close()

    def _check_no_links(self) -> None:
        """Raise ValueError if a file has another name: in a shared folder a link may point to another user's file."""
        for name in (PLAN, RECORDS, MADE_WITH):
            check_own_file(self.path / name, hint="choose another folder")

    def _compare_plans(self) -> None:
        known, records = self.path / PLAN, self.path / RECORDS
        if records.exists() and records.stat().st_size:
            if not known.exists():
                raise ValueError(f"{records} must be next to its {PLAN}, got none. Hint: choose another folder.")
            _check_same_plan(_record_lines.object_of(known.read_bytes(), known, 1).content, self._plan, self.path)
        else:
            text = json.dumps(with_sum(self._plan), indent=1, sort_keys=True) + "\n"
            _write_whole(known, text.encode("ascii"))

    def _check_can_be_written(self) -> None:
        """Raise OSError unless records can be appended to the existing ones, before any work is done."""
        file = self.path / RECORDS
        if file.exists():
            file.open("ab").close()

    def complete_folds(self, settings: Iterable[Sequence[Record]]) -> list[Record]:
        """Return the records of complete folds in the file; remove the incomplete fold of an interrupted run.

        `settings` are the records of the plan's folds in order, without values.

        Raises
        ------
        ValueError
            If the records in the file are not those of the first folds of the plan, or a line is damaged.
        """
        file = self.path / RECORDS
        content = file.read_bytes() if file.exists() else b""
        lines = content.split(b"\n")[:-1]
        parsed = _record_lines.records_of(enumerate(lines, 1), file)
        records: list[Record] = []
        for fold in settings:
            if len(lines) < len(records) + len(fold):
                break
            records += [line.content for line in islice(parsed, len(fold))]
            _check_same_fold(records[-len(fold) :], fold, file, len(records))
        else:
            if len(lines) > len(records):
                expected = f"at most the {len(records)} records of the plan"
                raise ValueError(f"{file} must contain {expected}, got {len(lines)}.")
        kept = b"".join(line + b"\n" for line in lines[: len(records)])
        if kept != content:
            _write_whole(file, kept)
        return records

    def append(self, records: Iterable[Record]) -> None:
        """Write the records of one fold at once, and flush them to the disk."""
        path = self.path / RECORDS
        with write_errors_named(path), path.open("ab") as file:
            file.write(b"".join(map(_record_lines.line_of, records)))
            file.flush()
            os.fsync(file.fileno())

    def note(self, made_with: Mapping[str, str]) -> None:
        """Record the environment of a fold, separately from the records, which are the same on every machine."""
        file = self.path / MADE_WITH
        line = _record_lines.line_of(made_with)
        known = file.read_bytes() if file.exists() else b""
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
        dataset, seed, fold, method, n_neighbors, metric, value; without the checksum of the line.

    Raises
    ------
    ValueError
        If a line is not a record, its checksum does not match, or a record occurs twice. Lines from an earlier
        nearlabel have no checksum.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Plan, read_records, run
    >>> folder = Path(tempfile.mkdtemp()) / "run"
    >>> plan = Plan(methods=("brknn",), n_neighbors=(5,), cv=2, metrics=("hamming_loss",))
    >>> records = run(plan, {"multidigits": load_multidigits()}, out=folder)
    >>> list(read_records(folder)) == records
    True
    """
    records = Path(path) / RECORDS
    if records.is_file():  # otherwise no fold is finished yet
        yield from (line.content for line in _record_lines.records_in(records))


def read_plan(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the plan that `run` wrote into a folder.

    Raises
    ------
    ValueError
        If the folder contains no plan, or a damaged plan.
    """
    file = Path(path) / PLAN
    if not file.is_file():
        raise ValueError(f"{path} must be a folder of records, with a {PLAN}, got none. Hint: evaluate --out FOLDER.")
    plan = _record_lines.object_of(file.read_bytes(), file, 1).content
    _record_lines.check_plan(plan, file)
    return plan


def read_made_with(path: str | os.PathLike[str]) -> list[dict[str, str]]:
    """Return the environments of the records in a folder, as `nearlabel.experiments.made_with` reports them.

    One element for each environment in which `run` created records; empty if an older nearlabel wrote the folder.

    Raises
    ------
    ValueError
        If a line is not a JSON object of texts.
    """
    file = Path(path) / MADE_WITH
    lines = file.read_bytes().splitlines() if file.is_file() else []
    found = [_record_lines.object_of(line, file, number).content for number, line in enumerate(lines, 1)]
    for number, made_with in enumerate(found, 1):
        if not all(isinstance(value, str) for value in made_with.values()):
            raise ValueError(f"{file}, line {number}: must be an object of texts, got {made_with}.")
    return found


def kinds_of_columns(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """Return, for each data set with non-numeric columns, their kinds, from the plans in a folder or its subfolders."""
    plans = map(read_plan, run_folders([path]))
    return {name: kinds for plan in plans for name, kinds in plan.get("kinds", {}).items()}


def run_folders(paths: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """Return the folders with a plan: the given ones, or their subfolders."""
    folders: list[Path] = []
    for path in map(Path, paths):
        inner = sorted(plan.parent for plan in path.glob(f"*/{PLAN}")) if path.is_dir() else []
        folders += inner if inner and not (path / PLAN).is_file() else [path]
    return folders


def _check_same_plan(known: Mapping[str, Any], wanted: Mapping[str, Any], path: Path) -> None:
    different = sorted(key for key in {*known, *wanted} if known.get(key) != wanted.get(key))
    if different:
        got = ", ".join(f"{key}={wanted.get(key)} (there: {known.get(key)})" for key in different)
        raise ValueError(f"{path} must contain records of the same plan, got {got}. Hint: choose another folder.")


def _check_same_fold(records: Sequence[Record], settings: Sequence[Record], file: Path, last_line: int) -> None:
    for line, (record, setting) in enumerate(zip(records, settings, strict=True), last_line - len(records) + 1):
        if {name: of for name, of in record.items() if name not in ("value", "table")} != setting:
            raise ValueError(f"{file}, line {line}: must be the record of {setting}, got {record}.")


def _write_whole(file: Path, content: bytes) -> None:
    """Replace a file atomically: a reader sees the old or the new content, never a part."""
    with whole_file(file) as partial:
        partial.write_bytes(content)


# Checks of the files of a run, line by line.

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
        try:
            yield from _check_records(folder / RECORDS)
        except OSError as error:
            yield finding_of(folder / RECORDS, error)


@contextmanager
def _removed_on_error(folders: Sequence[Path]) -> Iterator[None]:
    """Remove new folders, the innermost first, if the block fails; one that is no longer empty stays."""
    try:
        yield
    except BaseException:
        with suppress(OSError):
            for folder in folders:
                folder.rmdir()
        raise


def _check(file: Path, read: Callable[[Path], Any]) -> Iterator[Finding]:
    try:
        read(file.parent)
    except (ValueError, OSError) as error:
        yield finding_of(file, error)


def _check_records(file: Path) -> Iterator[Finding]:
    n_damaged = n_unchecked = n_bytes = 0
    have_sums = False
    for number, text in _record_lines.lines_in(file):
        n_bytes += len(text) + 1
        try:
            line = _record_lines.record_of(text, file, number)
            _record_lines.check_has_sum(line, have_sums, file)
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
        yield from _check(file, lambda folder: deque(read_records(folder), maxlen=0))  # whether one comes twice
