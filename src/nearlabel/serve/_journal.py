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
_BEGIN = 200  # bytes of the first line that differ from those of all others: the checksum, the lineage and the base
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
        self._model = model
        self._end, self.last = 0, 0  # how far it was taken, and the last change
        self._begin, self._n_header = b"", 0  # of its first line, which may be long: the beginning, and the length
        self._seen: tuple[int, ...] = ()  # the file as it was then
        self.lineage, self.model, self.base = "", "", 0  # as `restart` has them
        self.keys: Mapping[str, Any] = {}  # idempotency keys of changes before `base`
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
        """Yield the changes after those that were taken; each counts as taken once the next one is asked for.

        So a change that cannot be made is met again at the next reading. The caller has the lock, unless it only reads.

        Raises
        ------
        ValueError
            If a line is damaged, or has another number than the next one.
        """
        try:
            file = self.path.open("rb")
        except FileNotFoundError:
            return
        with file:
            seen = _facts_of(os.fstat(file.fileno()))
            if not self._begin or file.read(len(self._begin)) != self._begin:
                file.seek(0)
                self._take_header(file.readline())
            file.seek(self._end)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # its writer died: it was not acknowledged, and the next writer cuts it off
                change = self._change_of(line)
                yield change
                self._took(change, len(line))
            self._seen = seen

    def take_header(self) -> None:
        """Read the first line, if there is a journal."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            self._take_header(file.readline())

    def has_changes(self) -> bool:
        """Return whether there is a change, whatever model it belongs to."""
        with suppress(FileNotFoundError):
            return self.path.read_bytes().count(b"\n") > 1
        return False

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Wait until no other thread or process writes, and keep them out."""
        with self._threads, self._lock_path.open("ab") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def append(self, change: Change) -> None:
        """Write a change, under the lock and after all others were taken; it is on disk when this returns."""
        content = _line(change._asdict())
        if change.number != self.last + 1 or self._change_of(content) != change:
            raise ValueError(f"changes must follow each other and be read back, got number {change.number}.")
        with self.path.open("r+b") as file:
            if os.fstat(file.fileno()).st_size < self._end:
                raise ValueError(f"{self.path} must not get shorter while it is served. Hint: end the service.")
            file.truncate(self._end)  # a last line that is not whole
            file.seek(self._end)
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            except BaseException:
                file.truncate(self._end)
                raise
            seen = _facts_of(os.fstat(file.fileno()))
        self._took(change, len(content))
        self._seen = seen

    def check(self) -> None:
        """Raise ValueError where the journal cannot be replaced: before a model is written."""
        check_own_file(self.path, "a journal has one name")

    def restart(self, *, lineage: str, model: str, base: int, keys: Mapping[str, Any]) -> None:
        """Replace the journal by one without changes, after the change `base`; under the lock.

        `lineage` is on the cards of all files that continue each other; `model` is a digest of the first one's card.
        """
        self.check()
        header = {"format": _FORMAT, "lineage": lineage, "model": model, "base": base}
        content = _line(header | {"keys": keys, "corrections": self.corrections})
        with whole_file(self.path, like=self._model) as partial:
            partial.write_bytes(content)
        self._corrections_path.unlink(missing_ok=True)
        self._take_header(content)
        self._seen = _facts_of(self.path.stat())

    def remove(self) -> None:
        """Remove the journal, of which only the corrections are needed any more: they get a file of their own."""
        if self.corrections:
            with whole_file(self._corrections_path, like=self._model) as partial:
                lines = [f"{json.dumps(one, ensure_ascii=False)}\n" for one in self.corrections.values()]
                partial.write_text("".join(lines), encoding="utf-8")
        for path in (self.path, self._lock_path):
            path.unlink(missing_ok=True)

    @property
    def n_bytes(self) -> int:
        """The number of bytes of changes that were read or written."""
        return self._end - self._n_header

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

    def _take_header(self, line: bytes) -> None:
        values = _values_of(line)
        if not isinstance(values, dict) or values.get("format") != _FORMAT:
            raise self._damaged(0)
        self.lineage, self.model, self.base = values["lineage"], values["model"], values["base"]
        self.keys, self.corrections = values["keys"], values["corrections"]
        self._begin, self._n_header = line[:_BEGIN], len(line)
        self._end, self.last = len(line), self.base

    def _change_of(self, line: bytes) -> Change:
        values = _values_of(line)
        if not isinstance(values, dict) or values.keys() != set(Change._fields) or values["number"] != self.last + 1:
            raise self._damaged(self._end)
        return Change(**values)

    def _took(self, change: Change, n_bytes: int) -> None:
        self._end, self.last = self._end + n_bytes, change.number
        self.corrections = corrected(self.corrections, change, self.id_column)

    def _damaged(self, place: int) -> ValueError:
        return ValueError(
            f"{self.path} must be the journal of a served model, got a damaged one at byte {place}. Hint: move it away"
            " to serve the model file without its changes."
        )


def _values_of(line: bytes) -> Any:
    """Return the JSON of a line, None if it is damaged."""
    checksum, _, text = line.removesuffix(b"\n").partition(b" ")
    try:
        return json.loads(text) if line.endswith(b"\n") and checksum == _checksum(text) else None
    except RecursionError:
        return None


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
            value = row.get(id_column) if id_column else None
            name = "" if value is None else str(value)
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
