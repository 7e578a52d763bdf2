"""The file of a model: a zip archive that skops writes and reads, with the card and saved columns as further members.

skops builds objects of trusted types only; nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from io import BytesIO
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, BinaryIO

import numpy as np

from nearlabel.files.atomic_file import whole_file
from nearlabel.files.mapped_members import read_arrays, write_arrays
from nearlabel.files.untrusted import check_unpacked_size, members_of, open_regular, read_member
from nearlabel.persistence._allow_list import OLDEST_PROTOCOL, TREE, TRUSTED_TYPES, NewerProtocolError, check_schema
from nearlabel.persistence._card import ModelCard
from nearlabel.persistence._new_samples import Batch, batches_from_json, batches_to_json
from nearlabel.persistence._searches import Packed, checks_trees, validate_trees, with_saved_searches, with_searches
from nearlabel.utils.characters import check_whole
from nearlabel.utils.containers import named_columns
from nearlabel.utils.messages import ParameterError
from nearlabel.utils.naming import import_optional
from nearlabel.utils.types import AnyArray

_CARD = "nearlabel.json"
_KEPT = "kept.jsonl"
_BATCHES = "batches.json"
_SCHEMA = "schema.json"
_PACKED = "search-{}"  # the folder of the arrays of a packed search
LARGEST_CARD, LARGEST_KEPT, LARGEST_SCHEMA = 2**26, 2**27, 2**28  # bytes
_LARGEST_BATCHES = 2**20


def write(
    path: Path,
    model: Any,
    card: ModelCard,
    *,
    kept: Mapping[str, Sequence[str]],
    compress: bool,
    batches: Sequence[Batch] = (),
) -> ModelCard:
    """Write a model, its card and its saved columns atomically; return the card with the fields that describe the file.

    `card.foreign_types` are the types that must be trusted to read it.
    """
    io = skops_io()
    lines = kept_to_lines(kept)
    packed = Packed()
    with whole_file(path) as partial:
        with partial.open("wb") as file:
            saved = with_saved_searches(model, None if compress else packed)
            _dump(io, saved, file, zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED)
        card = replace(card, kept=tuple(kept), foreign_types=_foreign_types(io, partial))
        with zipfile.ZipFile(partial, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_CARD, card.to_json())
            if kept:
                archive.writestr(_KEPT, lines)
            if batches:
                archive.writestr(_BATCHES, batches_to_json(batches))
            for number, arrays in packed.arrays.items():
                write_arrays(archive, _PACKED.format(number), arrays)
        _check_will_be_read(io, partial, model)
    return card


def is_compressed(path: Path) -> bool:
    """Return whether the model in a file is compressed."""
    with opened_archive(path) as file, zipfile.ZipFile(file) as archive:
        return archive.getinfo(_SCHEMA).compress_type != zipfile.ZIP_STORED


def read_card(path: Path) -> bytes:
    """Return the JSON of the card; raise OSError or ValueError if the file has no card."""
    with opened_archive(path) as file, zipfile.ZipFile(file) as archive:
        members = members_of(archive)
        card = read_member(archive, _CARD, LARGEST_CARD) if _CARD in members else None
    if card is None:
        hint = " Hint: skops.io.load reads it." if _SCHEMA in members else ""
        raise ValueError(f"{path} must be a file that save_model wrote, got another archive.{hint}")
    return card


def read_kept(path: Path, names: Sequence[str], n_rows: int | None) -> dict[str, tuple[str, ...]]:
    """Return the saved columns that the card lists; raise OSError or ValueError if the file has others."""
    with opened_archive(path) as file, zipfile.ZipFile(file) as archive:
        return kept_from_lines(read_member(archive, _KEPT, LARGEST_KEPT), names, n_rows)


def read_batches(path: Path) -> list[Batch]:
    """Return the batches that updates added, if any; raise OSError or ValueError if the file has anything else."""
    with opened_archive(path) as file, zipfile.ZipFile(file) as archive:
        there = _BATCHES in members_of(archive)
        return batches_from_json(read_member(archive, _BATCHES, _LARGEST_BATCHES)) if there else []


def read_model(path: Path, trusted: Sequence[str | type], *, mapped: bool) -> Any:
    """Build the model; raise ValueError if the file has untrusted types or is damaged.

    Samples and panels of packed searches stay in the file, `mapped` from it, or are read.
    """
    io = skops_io()
    named = [one if isinstance(one, str) else f"{one.__module__}.{one.__name__}" for one in trusted]
    with opened_archive(path) as file:
        schema = checked_schema(file, _protocol_of(io))
        names = [*_trusted_in(schema), *named]
        foreign = sorted(set(io.get_untrusted_types(file=file)) - set(names))
        if not foreign:
            model = io.load(file, trusted=names)
            model = model if TREE in named else validate_trees(model, schema)
            with zipfile.ZipFile(file) as archive:

                @cache  # by which searches with the same number share their arrays
                def arrays_of(number: int) -> dict[str, AnyArray]:
                    return read_arrays(file, archive, _PACKED.format(number), mapped=mapped)

                return with_searches(model, arrays_of)
    raise ParameterError(
        "{path} must contain trusted types only, got {types}. Hint: {trusted}, if you know who made the file and what"
        " these types can do.",
        {"trusted": foreign},
        {"path": path, "types": ", ".join(foreign)},
    )


def skops_io() -> ModuleType:
    """Import skops; raise ImportError if it is not installed."""
    return import_optional("skops.io", extra="persistence", purpose="Saving models")


def _dump(io: ModuleType, model: Any, file: Any, compression: int) -> None:
    try:
        io.dump(model, file, compression=compression, compresslevel=1)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"model must consist of parts that skops can save, got {type(model).__name__}: {_in_one_line(error)}"
        ) from error


def _trusted_in(schema: Any) -> tuple[str, ...]:
    """Return the types that are trusted by default for a model with this schema."""
    return (*TRUSTED_TYPES, TREE) if checks_trees(schema) else TRUSTED_TYPES


def _foreign_types(io: ModuleType, path: Path) -> tuple[str, ...]:
    """Return the untrusted types in the file; raise ValueError if one could not be imported on loading."""
    with zipfile.ZipFile(path) as archive:
        schema = json.loads(archive.read(_SCHEMA))
    foreign = tuple(sorted(set(io.get_untrusted_types(file=path)) - set(_trusted_in(schema))))
    lost = [name for name in foreign if not _can_be_imported(name)]
    if lost:
        raise ValueError(
            f"model must consist of importable types and functions, got {', '.join(lost)}."
            " Hint: define them at the top level of a module; a lambda cannot be saved."
        )
    return foreign


def _can_be_imported(name: str) -> bool:
    try:
        resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return False
    return True


def _check_will_be_read(io: ModuleType, path: Path, model: Any) -> None:
    """Raise ValueError if `load_model` would reject the file."""
    try:
        with path.open("rb") as file:
            checked_schema(file, _protocol_of(io))
            with zipfile.ZipFile(file) as archive:
                read_member(archive, _CARD, LARGEST_CARD)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"model must be one that load_model accepts, got {type(model).__name__}: {_in_one_line(error)}."
            " Hint: compress=False, if the file unpacks to too much."
        ) from error


def _protocol_of(io: ModuleType) -> int:
    """Return the protocol that the installed skops writes, the newest that it can read."""
    with zipfile.ZipFile(BytesIO(io.dumps(0))) as archive:
        protocol: int = json.loads(archive.read(_SCHEMA))["protocol"]
    if protocol < OLDEST_PROTOCOL:
        raise ImportError(
            f"Models need a skops of protocol {OLDEST_PROTOCOL} or newer, got skops {version('skops')}."
            " Hint: pip install --upgrade skops."
        )
    return protocol


def checked_schema(file: BinaryIO, newest_protocol: int | None) -> Any:
    """Return the schema; raise ValueError if the unpacked archive is too large, or the schema is not that of a model.

    `newest_protocol` is the protocol of the installed skops; None if nothing will be built.
    """
    n_bytes = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        check_unpacked_size(archive, n_bytes)
        schema = json.loads(read_member(archive, _SCHEMA, LARGEST_SCHEMA))
    check_schema(schema, newest_protocol)
    return schema


@contextmanager
def opened_archive(path: Path) -> Iterator[BinaryIO]:
    """Open an archive once for checks and building, so that the file cannot be replaced in between."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} must be the file of a model, got a folder.")
    if not path.exists():
        raise FileNotFoundError(f"{path} must be the file of a model, but does not exist.")
    with open_regular(path) as file:
        if not zipfile.is_zipfile(file):
            raise ValueError(f"{path} must be the file of a model, got another format or an incomplete file.")
        with _damage_named(path):
            yield file


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Report any exception as a damaged file: five libraries may raise any exception for forged content."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{path} needs a library that is not installed: {error}") from error
    except NewerProtocolError as error:
        raise ValueError(
            f"{path} must be the file of a model that the installed skops reads, got one of a newer skops ({error})."
            " Hint: pip install --upgrade skops."
        ) from error
    except MemoryError as error:
        raise ValueError(
            f"{path} must be the file of a model, got one that needs more memory than is available."
        ) from error
    except (OSError, Warning):  # a warning, if the user turns warnings into errors
        raise
    except Exception as error:
        raise ValueError(f"{path} must be the file of a model, got a damaged one: {_in_one_line(error)}") from error


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


# Columns of the training data that are saved for people, such as ids and titles: JSON lines in the model's file.

_NO_TEXTS = (list, tuple, set, dict, np.ndarray)


def as_kept(keep: Any, n_rows: int | None) -> dict[str, tuple[str, ...]]:
    """Return columns of texts by name, one text for each training sample; raise TypeError or ValueError otherwise.

    `n_rows` is None if the number of training samples is unknown; then all columns must have the same length.
    """
    if keep is None:
        return {}
    given = named_columns("keep", keep, n_rows)
    check_whole("keep", given)
    unnamed = [name for name in given if not isinstance(name, str) or not name]
    if unnamed:
        raise TypeError(f"keep must name each column by a str that is not empty, got {unnamed[0]!r}.")
    columns = {name: tuple(_text(name, value) for value in values) for name, values in given.items()}
    for name, texts in columns.items():
        check_whole(f"keep[{name!r}]", texts)
    return columns


def kept_to_lines(columns: Mapping[str, Sequence[str]]) -> bytes:
    """Return columns as JSON lines, one list of texts per sample."""
    rows = zip(*columns.values(), strict=True)
    lines = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    content = lines.encode("utf-8", "surrogatepass")  # earlier versions wrote half characters, too
    if len(content) > LARGEST_KEPT:
        raise ValueError(f"keep must take at most {LARGEST_KEPT} bytes, got {len(content)}. Hint: keep shorter texts.")
    return content


def kept_from_lines(content: bytes, names: Sequence[str], n_rows: int | None) -> dict[str, tuple[str, ...]]:
    """Return the columns of untrusted lines; raise ValueError at the first line that is not one text per column.

    So memory is bounded by the length of the content: only the current line can contain anything else.
    """
    n_lines = content.count(b"\n")
    if n_rows is not None and n_lines != n_rows:
        raise ValueError(f"saved columns of {n_lines} rows, but the card has {n_rows}")
    rows = [_row(line, len(names)) for line in BytesIO(content)]
    return {name: tuple(row[place] for row in rows) for place, name in enumerate(names)}


def _row(line: bytes, n_columns: int) -> tuple[str, ...]:
    row = json.loads(line)
    if not isinstance(row, list) or len(row) != n_columns or not all(isinstance(text, str) for text in row):
        raise ValueError(f"saved columns with a line that is not a list of {n_columns} texts")
    return tuple(row)


def _text(name: object, value: Any) -> str:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, _NO_TEXTS):
        raise TypeError(f"keep must map {name!r} to a sequence of texts or numbers, got {value!r} in it.")
    return "" if _is_missing(value) else str(value)


def _is_missing(value: Any) -> bool:
    try:
        return value is None or bool(value != value)
    except TypeError:  # the missing value of pandas, whose comparisons are neither true nor false
        return True
