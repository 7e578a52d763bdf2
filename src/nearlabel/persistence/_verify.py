"""Check stores, runs, models and data files for damage.

Readers check only the parts that they read, and opening a store checks its structure. Here every file is read
completely and compared with its checksums, if there are any. All damage is reported together, with leftovers of killed
processes.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from nearlabel.datasets.tables import check_has_format, names_data, read_whole
from nearlabel.experiments.records import FILES, check_run, is_run
from nearlabel.files.atomic_file import is_abandoned, is_leftover, lock_file_of, remove_abandoned
from nearlabel.files.check_sums import Finding, finding_of
from nearlabel.files.growing_files import FACTS_FILE, ArrayName, StoreFacts
from nearlabel.files.store import damaged_blocks, open_store, remove_from_store
from nearlabel.files.untrusted import check_regular
from nearlabel.persistence._archive import checked_schema, opened_archive, read_batches
from nearlabel.persistence._model_file import read_card, read_kept
from nearlabel.persistence._service_files import journal_of, n_unwritten

__all__ = ["Checked", "Finding", "Verification", "verify"]

_MODEL, _JOURNAL = ".skops", ".journal"


class Checked(NamedTuple):
    """A file or folder that was read completely.

    Parameters
    ----------
    path : pathlib.Path
        Its path.
    kind : {"store", "run", "model", "data"}
        Its kind.
    is_sound : bool
        Whether no damage was found.
    """

    path: Path
    kind: str
    is_sound: bool


@dataclass(frozen=True)
class Verification:
    """The checked files, and the findings.

    Parameters
    ----------
    checked : tuple of Checked
        Checked files and folders, sorted by name.
    findings : tuple of Finding
        Damage, files that cannot be read, parts that could not be checked, leftovers of killed processes, and notes on
        journals of services: whether they contain changes that the model's file lacks.
    n_others : int
        Number of files of other kinds, which are not checked.
    """

    checked: tuple[Checked, ...]
    findings: tuple[Finding, ...]
    n_others: int

    @property
    def is_sound(self) -> bool:
        """Whether there is no damage, and all files can be read; leftovers do not count as damage."""
        return not any(finding.severity in ("damage", "unreadable") for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data that can be written as JSON."""
        return {
            "is_sound": self.is_sound,
            "checked": [of._asdict() | {"path": str(of.path)} for of in self.checked],
            "findings": [of._asdict() | {"path": str(of.path)} for of in self.findings],
            "n_others": self.n_others,
        }


class _Part(NamedTuple):
    """An item of a folder: something to check, a leftover, or another file."""

    path: Path
    kind: str


def verify(*paths: str | os.PathLike[str], sweep: bool = False) -> Verification:
    """Check files and folders: stores, runs, models, data files, and folders of these.

    Parameters
    ----------
    *paths : path-like
        Paths to check. A folder that is not a store is searched recursively, without following links. A data file is
        read completely in the format of its suffix; its columns are not checked against a task. The parts of a model
        are compared with the checksums of its archive, and the model is not built.
    sweep : bool, default=False
        Whether to remove leftovers of processes that are known to have ended.

    Returns
    -------
    Verification

    Raises
    ------
    FileNotFoundError
        If a path does not exist.
    ValueError
        If a path is not a folder and not of a known kind, or is a pipe, a socket or a device.

    See Also
    --------
    nearlabel.datasets.open_store : ``open_store(path, check=True)`` checks a store and opens it.

    Examples
    --------
    >>> import tempfile
    >>> from nearlabel.datasets import write_store
    >>> path = write_store(Path(tempfile.mkdtemp()) / "rows", [[1.0, 2.0]])
    >>> verify(path).is_sound
    True
    """
    checked: list[Checked] = []
    findings: list[Finding] = []
    n_others = 0
    for part in (part for path in map(Path, paths) for part in _parts(path)):
        if part.kind == "leftover":
            findings.append(_leftover(part.path, sweep))
        elif part.kind == "other":
            n_others += 1
        else:
            found = list(_check(part, sweep))
            findings += found
            if not any(finding.severity == "unreadable" for finding in found):
                checked.append(Checked(*part, not any(finding.severity == "damage" for finding in found)))
    return Verification(tuple(checked), tuple(findings), n_others)


def _parts(path: Path) -> Iterator[_Part]:
    """Yield the item of a path, or the items in a folder."""
    if path.is_dir():
        yield from _parts_of_folder(path)
        return
    if not path.exists():
        raise FileNotFoundError(f"path must be a file or folder that exists, got {path}.")
    check_regular(path)
    if _is_model(path):
        yield _Part(path, "model")
    else:
        check_has_format(path)  # otherwise a file of another kind would be reported as damaged
        yield _Part(path, "data")


def _parts_of_folder(folder: Path) -> Iterator[_Part]:
    if is_store(folder):
        yield _Part(folder, "store")
        yield from (_Part(path, "leftover") for path in sorted(folder.iterdir()) if is_leftover(path))
        return
    if is_run(folder):
        yield _Part(folder, "run")
    for path in sorted(folder.iterdir()):
        if is_leftover(path):
            yield _Part(path, "leftover")
        elif path.is_symlink():
            yield _Part(path, "other")
        elif path.is_dir():
            yield from _parts_of_folder(path)
        elif path.suffix == _JOURNAL and path.with_suffix("").is_file():
            continue  # is checked with its model
        elif not (is_run(folder) and path.name in FILES):
            yield _Part(path, _kind_of_file(path))


def _kind_of_file(path: Path) -> str:
    if not path.is_file():  # a pipe, a socket or a device
        return "other"
    if path.suffix == _MODEL:
        return "model"
    return "data" if names_data(path) else "other"


def _is_model(path: Path) -> bool:
    """Return whether a file is a model, by its content, or, if it is damaged, by its name."""
    if path.suffix == _MODEL:
        return True
    try:
        with zipfile.ZipFile(path) as archive:
            return "schema.json" in archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False


def _check(part: _Part, sweep: bool) -> Iterator[Finding]:
    if part.kind == "store":
        yield from check_store(part.path, sweep=sweep)
    elif part.kind == "run":
        yield from check_run(part.path)
    elif part.kind == "data":
        yield from _check_file(part.path, read_whole)
    else:
        damage = list(_check_file(part.path, check_model_file))
        yield from damage or _check_journal(part.path)


def _check_file(path: Path, read: Callable[[Path], None]) -> Iterator[Finding]:
    try:
        read(path)
    except ImportError as error:
        yield Finding(path, "unchecked", str(error))
    except (ValueError, OSError) as error:
        yield finding_of(path, error)


def _check_journal(model: Path) -> Iterator[Finding]:
    """Yield what the journal next to a sound model contains, if there is one."""
    journal = journal_of(model)
    if not journal.exists():
        return
    try:
        n_changes = n_unwritten(model, read_card(model).journal)
    except (ValueError, OSError) as error:
        yield finding_of(journal, error)
        return
    held = (
        f"{n_changes} {'change' if n_changes == 1 else 'changes'} that {model.name} lacks" if n_changes else "no change"
    )
    way = ": nearlabel serve writes them when it ends" if n_changes else f" that {model.name} lacks"
    yield Finding(journal, "note", f"contains {held}{way}")


def _leftover(path: Path, sweep: bool) -> Finding:
    """Return a finding on a temporary file or a lock; remove it on request if no process uses it."""
    if sweep and remove_abandoned(path):
        return Finding(path, "leftover", "left by a process that has ended; removed")
    if is_abandoned(path):
        return Finding(path, "leftover", "left by a process that has ended")
    return Finding(
        path, "unchecked", "another process may be writing it, or another machine left it within the last day"
    )


# Check a model's file completely without building the model.


def check_model_file(path: Path) -> None:
    """Compare every part of a model's file with its checksum, and read its card, schema and saved columns.

    No type of the model is imported, and skops is not needed.

    Raises
    ------
    OSError, ValueError
        If the file is not the file of a model, or is damaged; the message names it.
    """
    with opened_archive(path) as file:
        checked_schema(file, None)
        with zipfile.ZipFile(file) as archive:
            damaged = archive.testzip()
        if damaged is not None:
            raise ValueError(f"the checksum of {damaged} does not match")
    card = read_card(path)
    if card.kept:
        read_kept(path)
    read_batches(path)


# Complete check of a store, and leftovers of killed processes in it.


def is_store(folder: Path) -> bool:
    """Return whether a folder contains the facts of a store, damaged or not."""
    return (folder / FACTS_FILE).is_file()


def check_store(folder: Path, *, sweep: bool = False) -> Iterator[Finding]:
    """Yield the damage of a store, and surplus files in its folder; `sweep` removes the latter."""
    try:
        facts = StoreFacts.read(folder)
        damage = _damage(folder, facts)
        while damage and facts != (now := StoreFacts.read(folder)):
            facts, damage = now, _damage(folder, now)  # the store has changed in the meantime
    except (ValueError, OSError) as error:
        yield finding_of(folder, error)
        return
    yield from damage
    if not facts.sums:
        reason = f"it has no checksums, since an earlier nearlabel wrote it (version {facts.version})"
        yield Finding(folder, "unchecked", reason)
    lock = lock_file_of(folder)
    if lock.exists() and not is_abandoned(lock):
        return  # a process is changing the store: other files may be in use
    surplus = list(_surplus(folder, facts))
    if surplus and sweep:
        remove_from_store(folder, [])
    yield from surplus


def _damage(folder: Path, facts: StoreFacts) -> list[Finding]:
    try:
        open_store(folder)
        return [Finding(folder, "damage", message) for message in damaged_blocks(folder, facts)]
    except (ValueError, OSError) as error:
        return [finding_of(folder, error)]


def _surplus(folder: Path, facts: StoreFacts) -> Iterator[Finding]:
    """Yield files and bytes that the facts do not include."""
    for file in sorted(folder.iterdir()):
        if file.name in facts.files and file.stat().st_size > facts.files[file.name]:
            n_bytes = file.stat().st_size - facts.files[file.name]
            yield Finding(file, "leftover", f"{n_bytes} bytes after those of the store")
        elif file.name not in facts.files and ArrayName.of(file.name):
            yield Finding(file, "leftover", "a file that no longer belongs to the store, or not yet")
