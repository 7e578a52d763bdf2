"""A model that is served: its present state, which readers take whole, and its changes, which are journalled first."""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from uuid import uuid4

from nearlabel.cli import _console, _data, _model
from nearlabel.datasets import tables
from nearlabel.files.atomic_file import new_partial
from nearlabel.models import can_be_updated
from nearlabel.persistence import ModelCard, OpenFile, read_card
from nearlabel.serve._journal import Change, Journal
from nearlabel.utils.messages import without_notes

_MOST_KEYS = 10_000  # idempotency keys that are known: the last ones
_KEYS_KEPT = 1000  # of them, in the journal of a file that was written since
_MOST_JOURNAL = 2**26  # bytes, after which the model file is written again


class KeyUsedError(ValueError):
    """An idempotency key came with another request before."""


class ReadOnlyError(PermissionError):
    """The model cannot be changed here."""


class Changed(NamedTuple):
    """The state after a change."""

    version: int
    samples: int


class State(NamedTuple):
    """A model as it was after its last change, whose number is its version; it never changes."""

    file: OpenFile
    version: int
    keys: Mapping[
        str, tuple[str, Changed]
    ]  # digests of the requests that had an idempotency key, and the states after them

    @property
    def opened(self) -> _model.OpenModel:
        """The model with the names of its features and labels."""
        card = self.file.card
        names, features = card.data.label_names or (), card.data.feature_names
        numbered = tables.NumberedNames(card.data.features or 0)
        return _model.OpenModel(self.file.model, card, features or numbered, names)

    @property
    def answer(self) -> Changed:
        """The version and the number of samples."""
        return Changed(self.version, self.file.card.data.rows or 0)


class LiveModel:
    """The model of a file, which several threads and processes read, and one at a time changes.

    `state` is the present one: a reader that takes it once never sees half of a change.

    Parameters
    ----------
    path : pathlib.Path
        A file that `save_model` wrote. Its samples are mapped from it, its journal is next to it.
    trusted : sequence of str, default=()
        As in `nearlabel.persistence.load_model`.
    read_only : bool, default=False
        Whether to refuse changes; then no journal is made.
    """

    def __init__(self, path: Path, *, trusted: Sequence[str] = (), read_only: bool = False) -> None:
        self.path = path = Path(os.path.realpath(path))  # a link has the journal of its target
        self._trusted, self._read_only = trusted, read_only
        self.journal = Journal(path)
        self._catching_up = Lock()
        self._has_forgotten = False
        with self._locked():
            self.journal.take_header()
            self._state = self._read()
            self.is_updatable = not read_only and can_be_updated(self._state.file.model)
            self.journal.id_column = self._state.file.card.id_column
            self._begin()

    @property
    def state(self) -> State:
        """The state after all changes that were acknowledged by any process."""
        if self.is_behind:
            with self._locked():
                self._catch_up()
        return self._state

    @property
    def is_behind(self) -> bool:
        """Whether `state` has to make changes of other processes first, or to wait for one of this process."""
        return self.journal.has_more()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Keep other threads out, and other processes that write, unless this one may not write here."""
        with nullcontext() if self._read_only else self.journal.locked(), self._catching_up:
            yield

    def update(self, rows: Sequence[Any], existing: str = "raise", key: str = "", **more: str) -> Changed:
        """Add samples, given as objects with the columns of the table; on disk when this returns.

        `more` may name the column of a list of labels (`labels_column`), and a prefix of ids whose other samples the
        rows replace (`instead_of`).

        Raises
        ------
        ValueError
            As ``nearlabel update``; or if the model has ids, and a row has none.
        KeyUsedError, ReadOnlyError
            If the key came with another request, or the model cannot be changed here.
        """
        _check_ids(rows, self._state.file.card.id_column)
        return self._change("update", {"rows": list(rows), "existing": existing, **more}, key)

    def forget(self, ids: Sequence[str], key: str = "") -> Changed:
        """Remove samples by their ids; on disk when this returns, in the journal, and soon in the file."""
        return self._change("forget", {"ids": list(ids)}, key)

    def relabel(self, sample_id: str, labels: Mapping[str, bool], key: str = "") -> Changed:
        """Change labels of the sample with this id, and leave its features unchanged; on disk when this returns."""
        return self._change("relabel", {"id": sample_id, "labels": dict(labels)}, key)

    @property
    def corrections(self) -> Sequence[Mapping[str, Any]]:
        """The corrections that people made in the workbench, the last one of each sample, in their order."""
        self.state  # noqa: B018 - after the changes of all processes
        return [*self.journal.corrections.values()]

    def compact(self) -> bool:
        """Write the changes into the model file, and clear the journal; return whether there were any."""
        with self._locked():
            self._catch_up()
            if self._state.version == self._state.file.card.journal:
                return False
            self.journal.check()
            if not self._belongs(read_card(self.path)):
                raise ValueError(f"{self.path} must not change while it is served. Hint: stop the service first.")
            card = replace(self._state.file.card, journal=self._state.version, lineage=self.journal.lineage)
            card = self._state.file._replace(card=card).written()
            self._restart(card)
        return True

    @property
    def needs_compaction(self) -> bool:
        """Whether the journal is long, or has content of forgotten samples."""
        return self._has_forgotten or self.journal.n_bytes > _MOST_JOURNAL

    def _change(self, what: str, body: Mapping[str, Any], key: str) -> Changed:
        if not self.is_updatable:
            raise ReadOnlyError("the model must be served without --read-only, and be one that can be updated.")
        with self._locked():
            self._catch_up()
            known = self._state.keys.get(key) if key else None
            if known is not None:
                if known[0] != _digest(what, body):
                    raise KeyUsedError(f"Idempotency-Key must be new for each request, got {key!r} with another body.")
                return known[1]
            change = Change(self._state.version + 1, what, body, key)
            state = self._after(change)
            is_corrected = what == "forget" and not self.journal.corrections.keys().isdisjoint(body["ids"])
            if state.file is not self._state.file or key or is_corrected:
                self.journal.append(change)
                self._take(state, change)
            return self._state.answer

    def _begin(self) -> None:
        """Make the changes that a crash has left in the journal; begin a journal for a file that has none."""
        card = read_card(self.path)
        if self._belongs(card):
            if card.journal < self.journal.base:
                raise self._of_another()
            self._catch_up()
        elif self.journal.has_changes():
            raise self._of_another()
        elif self.is_updatable:
            self._state = self._state._replace(keys={})
            self.journal.restart(lineage=uuid4().hex, model=_digest_of(card), base=card.journal, keys={})

    def _belongs(self, card: ModelCard) -> bool:
        """Return whether the journal continues a file with this card: its first one, or one that was written since.

        The first one may have been written in an earlier life of the service, whose lineage its card then has.
        """
        return card.lineage == self.journal.lineage != "" or _digest_of(card) == self.journal.model

    def _of_another(self) -> ValueError:
        return ValueError(
            f"{self.journal.path} must have changes to {self.path} unchanged, got changes to another one. Hint: put"
            " that model back, or move the journal away."
        )

    def _restart(self, card: ModelCard) -> None:
        """Begin a journal after a model was written; only then is it the state's file."""
        keys = {key: [digest, list(answer)] for key, (digest, answer) in [*self._state.keys.items()][-_KEYS_KEPT:]}
        self.journal.restart(lineage=card.lineage, model=self.journal.model, base=card.journal, keys=keys)
        self._state = self._state._replace(file=self._state.file._replace(card=card))
        self._has_forgotten = False

    def _read(self) -> State:
        file = OpenFile.read(self.path, self._trusted, mmap_mode="r")
        while _digest_of(read_card(self.path)) != _digest_of(file.card):  # it was replaced between its parts
            file = OpenFile.read(self.path, self._trusted, mmap_mode="r")
        names = _model.open_names(str(self.path), file.model, file.card).label_names
        keys = {key: (digest, Changed(*answer)) for key, (digest, answer) in self.journal.keys.items()}
        named = replace(file.card, data=replace(file.card.data, label_names=names))
        return State(file._replace(card=named), file.card.journal, keys)

    def _catch_up(self) -> None:
        """Make the changes of other processes."""
        for change in self.journal.new_changes():
            if change.number > self._state.version + 1:  # the file has the changes between
                self._state = self._read()
            if change.number == self._state.version + 1:
                self._take(self._after(change), change)
        base = self.journal.base
        if base > self._state.version:
            self._state = self._read()
        if self._state.file.card.journal < base:  # another process has written the file
            card = replace(self._state.file.card, journal=base, lineage=self.journal.lineage)
            self._state = self._state._replace(file=self._state.file._replace(card=card))
            self._has_forgotten = False

    def _take(self, state: State, change: Change) -> None:
        self._has_forgotten |= change.what == "forget"
        self._state = state

    def _after(self, change: Change) -> State:
        """Return the state after the next change."""
        state = self._state
        if change.what == "forget":
            file = state.file.without((), change.body["ids"], None)
        elif change.what == "relabel":
            file = state.file.with_labels(change.body["id"], change.body["labels"])
        else:
            file = _with_rows(state, **change.body)
        new = State(file, change.number, state.keys)
        if change.key:
            keys = dict([*state.keys.items()][-_MOST_KEYS + 1 :])
            keys[change.key] = _digest(change.what, change.body), new.answer
            new = new._replace(keys=keys)
        return new


def end(path: Path) -> None:
    """Remove the journal of a file that is served no more, if the file has all its changes."""
    journal = Journal(path)
    if not any(True for _ in journal.new_changes()):
        journal.remove()


def _check_ids(rows: Sequence[Any], column: str) -> None:
    """Raise ValueError if a row has no id, but those of the model have: it could never be found again.

    Changes of a journal are not checked: they were acknowledged.
    """
    for number, row in enumerate(rows if column else (), start=1):
        value = row.get(column)
        if not isinstance(value, str | int | float) or isinstance(value, bool) or not str(value).strip():
            alike = next((name for name in row if name.strip().casefold() == column.casefold()), "")
            other = f"the column {alike!r}" if alike else "none"
            got = tables.shortened(value) if column in row else other
            raise ValueError(
                f"rows must have their ids in {column!r}, as in the fit, got {got} in row {number}. Hint: an id is a"
                " text or a number; a model fitted without --id takes rows without ids."
            )


def _with_rows(
    state: State, rows: Sequence[Any], existing: str, labels_column: str | None = None, instead_of: str = ""
) -> OpenFile:
    """Return the contents with samples, read as ``nearlabel update`` reads a file of JSON lines."""
    opened = state.opened
    known = opened.card.labels_column
    if known and labels_column is None and not any(tables.is_among(name, known) for row in rows for name in row):
        raise ValueError(f"rows must have their labels in {' or '.join(map(repr, known))}, as in the fit, got none.")
    content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    with rows_in_file(content, ".jsonl") as arguments:
        arguments.labels_column = labels_column
        data, label_names = opened.matching.open_with_new_labels(arguments)
        keep = _model.kept_in(arguments, opened.card.kept) or {}
    with _model.asking(opened, "rows", data.X, first=1):
        file = state.file.with_added(data.X, data.Y, keep, label_names, existing=existing)
    if not instead_of:
        return file
    column = opened.card.id_column
    others = {name for name in file.kept[column] if name.startswith(instead_of)}.difference(keep[column])
    return file.without((), sorted(others), column)


@contextmanager
def rows_in_file(content: bytes, ending: str) -> Iterator[argparse.Namespace]:
    """Yield the arguments of a command whose DATA is a file of this content; errors name rows in its place.

    The file is in a folder of the user alone, which the next change or start removes if this process is killed.
    """
    parser = argparse.ArgumentParser()
    _data.add_data_options(parser)
    with (
        new_partial(folder_of_rows(), lambda folder: folder.mkdir(0o700)) as folder,
        _console.quietly(True),
        without_notes(),
    ):
        path = folder / f"rows{ending}"
        path.write_bytes(content)
        try:
            yield parser.parse_args([str(path)])
        except (ValueError, TypeError) as error:
            raise ValueError(_of_rows(str(error), path)) from error


def folder_of_rows() -> Path:
    """Return the place of the temporary folders with rows: their names have the ends that `sweep` finds."""
    return Path(tempfile.gettempdir()) / "nearlabel-rows"


def _of_rows(message: str, path: Path) -> str:
    return message.replace(f"{path}, line ", "rows, row ").replace(str(path), "rows").replace("DATA", "rows")


def _digest_of(card: ModelCard) -> str:
    return blake2b(card.to_json().encode(), digest_size=16).hexdigest()


def _digest(what: str, body: Mapping[str, Any]) -> str:
    return blake2b(json.dumps([what, body], sort_keys=True).encode(), digest_size=16).hexdigest()
