"""The journal of a served model: its changes since the model file was written, on disk before they are acknowledged.

A line is a checksum and the JSON of a change. Changes are numbered; the card of the model file has the number of the
last one that the file contains, so a crash between writing the file and clearing the journal repeats none. A last line
that is not whole was never acknowledged: the next writer cuts it off.
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


class Change(NamedTuple):
    """A change of the samples: "update" or "forget", what the request asked, and its idempotency key."""

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

    def restart(self, model: str, base: int) -> None:
        """Replace the journal by one without changes to a model file, by its digest and last change; under the lock."""
        check_own_file(self.path, "a journal has one name")
        with whole_file(self.path) as partial:
            partial.write_bytes(_line({"format": _FORMAT, "model": model, "base": base}))
        for _ in self.new_changes():
            pass

    def remove(self) -> None:
        """Remove the journal, of which nothing is needed any more."""
        for path in (self.path, self._lock_path):
            path.unlink(missing_ok=True)

    @property
    def n_bytes(self) -> int:
        """The number of bytes that were read or written."""
        return self._end

    def _read(self, line: bytes) -> Change | None:
        """Return the change of a line, None for the first line of the file."""
        checksum, _, text = line.rstrip(b"\n").partition(b" ")
        values = json.loads(text) if checksum == _checksum(text) else None
        if self._end == 0 and isinstance(values, dict) and values.get("format") == _FORMAT:
            self.model, self.base = values["model"], values["base"]
            return None
        if values is None or self._end == 0:
            raise ValueError(
                f"{self.path} must be the journal of a served model, got a damaged one at byte {self._end}. Hint: move"
                " it away to serve the model file without its changes."
            )
        return Change(**values)


def _facts_of(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _line(values: Mapping[str, Any]) -> bytes:
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()
    return _checksum(text) + b" " + text + b"\n"


def _checksum(text: bytes) -> bytes:
    return b"%08x" % zlib.crc32(text)
