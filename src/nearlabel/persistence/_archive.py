"""The file of a model: a zip archive that skops reads and writes, with the card as one more member.

skops builds objects of types it is told to trust, and no others; nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any, BinaryIO

from nearlabel.files.atomic_file import whole_file
from nearlabel.persistence._bounds import LARGEST_CARD, LARGEST_SCHEMA, check_unpacked_size, members_of, read_member
from nearlabel.persistence._schema import check_schema
from nearlabel.persistence._searches import with_kept_searches, with_searches
from nearlabel.persistence._trusted import TRUSTED
from nearlabel.utils.optional import import_optional

_CARD = "nearlabel.json"
_SCHEMA = "schema.json"


def write_archive(path: Path, model: Any, card_of: Callable[[tuple[str, ...]], str], *, compress: bool) -> None:
    """Write a model and its card; the file appears when it is complete.

    `card_of` makes the card of the types that nobody trusts unless told to.
    """
    io = skops_io()
    with whole_file(path) as partial:
        with partial.open("wb") as file:
            _dump(io, with_kept_searches(model), file, zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED)
        card = card_of(_foreign_types(io, partial))
        with zipfile.ZipFile(partial, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(_CARD, card)
        _check_will_be_read(partial, model)


def read_archived_card(path: Path) -> bytes:
    """Return the card as it was written; raise OSError or ValueError where there is none."""
    with _opened(path) as file, zipfile.ZipFile(file) as archive:
        members = members_of(archive)
        card = read_member(archive, _CARD, LARGEST_CARD) if _CARD in members else None
    if card is None:
        hint = " Hint: skops.io.load reads it." if _SCHEMA in members else ""
        raise ValueError(f"{path} must be a file that save_model wrote, got another archive.{hint}")
    return card


def read_archived_model(path: Path, trusted: Sequence[str | type]) -> Any:
    """Build the model; raise ValueError if that takes types that are not trusted, or the file is damaged."""
    io = skops_io()
    names = [*TRUSTED, *(one if isinstance(one, str) else f"{one.__module__}.{one.__name__}" for one in trusted)]
    with _opened(path) as file:
        _check_contents(file)
        foreign = sorted(set(io.get_untrusted_types(file=file)) - set(names))
        if not foreign:
            return with_searches(io.load(file, trusted=names))
    raise ValueError(
        f"{path} must hold types that are trusted, got {', '.join(foreign)}."
        f" Hint: trusted={foreign!r}, if you know who made the file and what these types can do."
    )


def skops_io() -> ModuleType:
    """Import skops; raise ImportError if it is not installed."""
    return import_optional("skops.io", extra="persistence", purpose="Keeping models")


def _dump(io: ModuleType, model: Any, file: Any, compression: int) -> None:
    try:
        io.dump(model, file, compression=compression, compresslevel=1)
    except (TypeError, ValueError, AttributeError, RecursionError) as error:
        raise ValueError(
            f"model must be made of parts that skops can keep, got {type(model).__name__} with one it cannot:"
            f" {_in_one_line(error)}"
        ) from error


def _foreign_types(io: ModuleType, path: Path) -> tuple[str, ...]:
    """Return the types of the file that are not trusted; raise ValueError if one could never be found again."""
    foreign = tuple(sorted(set(io.get_untrusted_types(file=path)) - set(TRUSTED)))
    lost = [name for name in foreign if not _can_be_imported(name)]
    if lost:
        raise ValueError(
            f"model must be made of what can be imported, got {', '.join(lost)}. Hint: functions and classes that are"
            " defined at the top level of a module; no lambda."
        )
    return foreign


def _can_be_imported(name: str) -> bool:
    try:
        resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return False
    return True


def _check_will_be_read(path: Path, model: Any) -> None:
    """Raise ValueError if `load_model` would refuse the file."""
    try:
        with path.open("rb") as file:
            _check_contents(file)
            with zipfile.ZipFile(file) as archive:
                read_member(archive, _CARD, LARGEST_CARD)
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"model must be such that load_model will take it, got {type(model).__name__}: {_in_one_line(error)}."
            " Hint: compress=False, if it is what the file unpacks to."
        ) from error


def _check_contents(file: BinaryIO) -> None:
    """Raise ValueError if the archive unpacks to too much, or its schema asks for what models do not."""
    n_bytes = file.seek(0, os.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        check_unpacked_size(archive, n_bytes)
        check_schema(json.loads(read_member(archive, _SCHEMA, LARGEST_SCHEMA)))


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """Open an archive once for all that is read of it, so that what was checked is what is built."""
    if path.is_dir():
        raise IsADirectoryError(f"path must be the file of a model, got the folder {path}.")
    if not path.exists():
        raise FileNotFoundError(f"path must be the file of a model, got {path}, which does not exist.")
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError(f"{path} must be the file of a model, got another format or a part of one.")
        with _damage_named(path):
            yield file


@contextmanager
def _damage_named(path: Path) -> Iterator[None]:
    """Say in one line that a file is damaged, whatever it is that gave way."""
    try:
        yield
    except ImportError as error:
        raise ImportError(f"{path} needs what is not installed here: {error}") from error
    except MemoryError as error:
        raise MemoryError(f"{path} takes more memory than there is: {_in_one_line(error)}") from error
    except (OSError, Warning):  # of the disk, and of who turns warnings into errors
        raise
    except Exception as error:
        raise ValueError(f"{path} must be the file of a model, got a damaged one: {_in_one_line(error)}") from error


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
