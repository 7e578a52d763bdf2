"""The journal of a served model: its changes since the model file was written, on disk before they are acknowledged.

A line is a checksum and the JSON of a change. Changes are numbered; the card of the model file has the number of the
last one that the file contains, so a crash between writing the file and clearing the journal repeats none. A last line
that is not whole was never acknowledged: the next writer cuts it off.

The corrections that people made in the workbench outlive the changes: the first line of a new journal has those that
the old one and its changes had, so that both are replaced at once. A service that ends regularly removes its journal
and leaves them in a file of their own, which the next one takes into its journal.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from nearlabel.files.atomic_file import check_own_file, whole_file
from nearlabel.persistence import journal_of

try:
    import fcntl
except ImportError:  # Windows, where one process serves
    fcntl = None  # type: ignore[assignment]

_FORMAT = "nearlabel journal 1"
BY_HAND = "wb-"  # begins the idempotency keys of the workbench's changes, and the ids of its rows


class Change(NamedTuple):
    """A change of the samples: "update", "relabel" or "forget", what the request asked, and its idempotency key."""

    number: int
    what: str
    body: Mapping[str, Any]
    key: str = ""


class Journal:
    """The journal next to a model file, which several processes read, and one at a time writes."""

    def __init__(self, model: Path) -> None:
        self.path = journal_of(model)
        self._lock_path, self._threads = model.with_name(f".{model.name}.journal.lock"), Lock()
        self._end, self._begin = 0, b""  # how far the file was read, and its first line
        self._seen: tuple[int, ...] = ()  # the file as it was then
        self.model, self.base = "", 0  # digest of the model file to which the changes were made, and its last change
        self.id_column = ""
        self._corrections_path = model.with_name(f"{model.name}.corrections.jsonl")
        self.corrections = self._read_corrections()  # by the id of the sample, the last one last

    def has_more(self) -> bool:
        """Return whether another process has written since the last reading; fast."""
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return False
        return _facts_of(status) != self._seen

    def new_changes(self) -> Iterator[Change]:
        """Yield the changes after those that were read, from the beginning if the file is another one.

        Raises
        ------
        ValueError
            If a line before the last is damaged.
        """
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        with file:
            seen, begin = _facts_of(os.fstat(file.fileno())), file.readline()
            if begin != self._begin:
                self._end, self._begin = 0, begin
            file.seek(self._end)
            for line in file:
                if not line.endswith(b"\n"):
                    return  # it is being written, or its writer died: it was not acknowledged
                change = self._read(line)
                self._end += len(line)
                if change is not None:
                    self.corrections = corrected(self.corrections, change, self.id_column)
                    yield change
            self._seen = seen

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait until no other thread or process writes, and keep them out."""
        with self._threads, self._lock_path.open("ab") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def append(self, change: Change) -> None:
        """Write a change, under the lock and after all others were read; it is on disk when this returns."""
        content = _line(change._asdict())
        with self.path.open("r+b") as file:
            file.truncate(self._end)  # a last line that is not whole
            file.seek(self._end)
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                self._seen = _facts_of(os.fstat(file.fileno()))
            except BaseException:
                with suppress(OSError):
                    file.truncate(self._end)
                raise
        self._end += len(content)
        self.corrections = corrected(self.corrections, change, self.id_column)

    def restart(self, model: str, base: int) -> None:
        """Replace the journal by one without changes to a model file, by its digest and last change; under the lock."""
        check_own_file(self.path, "a journal has one name")
        with whole_file(self.path) as partial:
            header = {"format": _FORMAT, "model": model, "base": base, "corrections": self.corrections}
            partial.write_bytes(_line(header))
        self._corrections_path.unlink(missing_ok=True)
        for _ in self.new_changes():
            pass

    def remove(self) -> None:
        """Remove the journal, of which only the corrections are needed any more: they get a file of their own."""
        if self.corrections:
            with whole_file(self._corrections_path) as partial:
                lines = [f"{json.dumps(one, ensure_ascii=False)}\n" for one in self.corrections.values()]
                partial.write_text("".join(lines), encoding="utf-8")
        for path in (self.path, self._lock_path):
            path.unlink(missing_ok=True)

    @property
    def n_bytes(self) -> int:
        """The number of bytes of changes that were read or written."""
        return self._end - len(self._begin)

    def _read_corrections(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the corrections of an earlier service that ended regularly; a journal has its own."""
        try:
            lines = self._corrections_path.read_text(encoding="utf-8").split("\n")
            found = [json.loads(line) for line in lines if line]
            return {one["id"] or one["key"]: one for one in found if one["key"]}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"{self._corrections_path} must have the corrections of the workbench, got {error}. Hint: move it away."
            ) from error

    def _read(self, line: bytes) -> Change | None:
        """Return the change of a line, None for the first line of the file."""
        checksum, _, text = line.rstrip(b"\n").partition(b" ")
        values = json.loads(text) if checksum == _checksum(text) else None
        if self._end == 0 and isinstance(values, dict) and values.get("format") == _FORMAT:
            self.model, self.base = values["model"], values["base"]
            self.corrections = values.get("corrections", {})
            return None
        if values is None or self._end == 0:
            raise ValueError(
                f"{self.path} must be the journal of a served model, got a damaged one at byte {self._end}. Hint: move"
                " it away to serve the model file without its changes."
            )
        return Change(**values)


def corrected(
    known: Mapping[str, Mapping[str, Any]], change: Change, id_column: str
) -> Mapping[str, Mapping[str, Any]]:
    """Return the corrections after a change: of each sample the last one, unless the sample was forgotten since.

    A correction has the key of its change, and the row, or the cells that differ from those before all corrections.
    """
    if change.what == "forget":
        gone = set(change.body["ids"])
        return {name: one for name, one in known.items() if name not in gone}
    by_hand, now = change.key.startswith(BY_HAND), dict(known)
    if change.what == "update" and change.body["existing"] == "skip" and not by_hand:
        return known
    if change.what == "update":
        for row in change.body["rows"]:
            name = str(row.get(id_column, ""))
            now.pop(name, None)
            if by_hand:
                now[name or change.key] = {"id": name, "key": change.key, "row": row}
    elif by_hand:
        name, cells = change.body["id"], change.body["labels"]
        before = now.pop(name, {}).get("cells", {})
        # A label has two values: one that changes again is as it was at first.
        left = {label: applies for label, applies in before.items() if cells.get(label, applies) == applies}
        left |= {label: applies for label, applies in cells.items() if label not in before}
        if left:
            now[name] = {"id": name, "key": change.key, "cells": left}
    return now


def _facts_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _line(values: Mapping[str, Any]) -> bytes:
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
    return _checksum(text) + b" " + text + b"\n"


def _checksum(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)
