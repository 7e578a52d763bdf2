"""Untrusted files: opened only if regular, unpacked up to a limit, one error for damage, a process of their own."""

from __future__ import annotations

import math
import os
import re
import stat
import struct
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from functools import wraps
from io import BytesIO
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, TypeVar, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo, is_zipfile

import numpy as np
from numpy.typing import NDArray

from nearlabel.utils.messages import room_for
from nearlabel.utils.validation import check_integer

Reader = TypeVar("Reader", bound=Callable[..., Any])
_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def open_regular(path: Path) -> BinaryIO:
    """Open a file for reading if it can be read several times.

    Raises
    ------
    ValueError
        If it is a pipe, a socket or a device. This includes ``/dev/stdin``, unless a file was redirected there.
    OSError
        If it is a folder, does not exist or cannot be read; the message names it.
    """
    check_regular(path)
    # Do not wait for a pipe that has replaced the file in the meantime either.
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - Path.open takes no opener
    try:
        _check_mode(path, os.fstat(file.fileno()).st_mode)
    except ValueError:
        file.close()
        raise
    return file


def read_regular(path: Path) -> bytes:
    """Return the content of a file; raises the errors of `open_regular`."""
    with open_regular(path) as file:
        return file.read()


def check_regular(path: Path) -> None:
    """Raise ValueError for a pipe, a socket or a device; missing files and folders raise errors when opened."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return
    _check_mode(path, mode)


def _check_mode(path: Path, mode: int) -> None:
    found = _KINDS.get(stat.S_IFMT(mode))
    if found is not None:
        hint = "Hint: write it to a file first; on the command line - reads standard input."
        raise ValueError(f"{path} must be a file that can be read several times, got {found}. {hint}")


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))  # Windows has none, and no such pipes


# One error for damaged files: any exception of a library becomes a ValueError that names the file.

_LONGEST_REASON = 200  # characters of a library's message, which may repeat the damaged bytes
_HINT_OF_ROWS = "leave columns out (ignore), or read blocks of rows (nearlabel.datasets.open_rows)"
_NO_THREAD = "Failed to launch worker thread"


@contextmanager
def damage_named(path: Path, expected: str) -> Iterator[None]:
    """Raise a ValueError that names `path` and the `expected` content, in place of a library's error on damaged bytes.

    Libraries may raise any exception: OverflowError, struct.error, RecursionError, an OSError without a file name.
    Errors that already name the file pass unchanged; missing memory is a MemoryError that names it. Put only calls of
    libraries that read untrusted bytes inside, since an error of our own code would look like damage.

    >>> with damage_named(Path("a.npz"), "a whole .npz file"):
    ...     raise OverflowError("too large")
    Traceback (most recent call last):
        ...
    ValueError: a.npz must be a whole .npz file, got a damaged one (OverflowError: too large).
    """
    with _room_for_rows(path):
        try:
            yield
        except MemoryError:
            raise
        except Exception as error:
            if isinstance(error, OSError | ValueError) and str(path) in str(error):
                raise
            raise ValueError(f"{path} must be {expected}, got a damaged one ({_reason(error)}).") from error


def _reason(error: Exception) -> str:
    reason = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": .")
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]} ..."


def _room_for_rows(path: Path | str) -> AbstractContextManager[None]:
    return room_for(lambda: f"the rows of {path}", _HINT_OF_ROWS)


@contextmanager
def arrow_errors_named(path: Path | str) -> Iterator[None]:
    """Raise a ValueError or MemoryError that names `path` in place of pyarrow's own errors; other errors pass.

    It goes around all work on the columns of one file or table, at the doors of this library: what pyarrow raises may
    be a KeyError, a NotImplementedError or none of Python's errors. `damage_named` is for single calls.

    >>> with arrow_errors_named(Path("a.csv")):
    ...     raise MemoryError("malloc of size 64 failed")
    Traceback (most recent call last):
        ...
    nearlabel.utils.messages.TooLargeError: the rows of a.csv must fit into memory, got too little of it. Hint: ...
    """
    with _room_for_rows(path):
        try:
            yield
        except Exception as error:
            of_arrow = any(kind.__name__ == "ArrowException" for kind in type(error).__mro__)
            if isinstance(error, MemoryError) or not of_arrow or str(path) in str(error):
                raise
            if _NO_THREAD in str(error):  # its stack has no room
                raise MemoryError from error
            raise ValueError(f"{path} must be a table that pyarrow can handle, got {_reason(error)}.") from error


def naming_too_large(read: Reader) -> Reader:
    """Let a function that reads a file, its first argument, name it in a MemoryError."""

    @wraps(read)
    def named(*args: Any, **params: Any) -> Any:
        with _room_for_rows(next(iter((*args, *params.values())), "")):
            return read(*args, **params)

    return cast(Reader, named)


# Limits of the unpacked size of compressed files: gzip packs a gigabyte of zeros into a megabyte, bzip2 into 1 KB.

ALWAYS_ALLOWED = 2**29  # bytes that a file of any size may unpack to
ALLOWED_RATIO = 100  # ratio of unpacked to packed bytes; gzip reaches 1000, text and models stay far below 100


def unpacked_limit(n_bytes: int, max_unpacked_bytes: int | None = None) -> int:
    """Return the limit of the unpacked size of a file with `n_bytes` bytes: the caller's, or else a limit by its size.

    >>> unpacked_limit(1000), unpacked_limit(10**9), unpacked_limit(1000, 5000)
    (536870912, 100000000000, 5000)
    """
    if max_unpacked_bytes is not None:
        return check_integer("max_unpacked_bytes", max_unpacked_bytes, low=1)
    return max(ALWAYS_ALLOWED, ALLOWED_RATIO * n_bytes)


def unpacks_to_more(path: Path, limit: int) -> ValueError:
    """Return the error for a file that unpacks to more than its limit."""
    hint = "Hint: a larger max_unpacked_bytes, or unpack it first, if you trust it."
    return ValueError(f"{path} must unpack to at most {limit} bytes, got more. {hint}")


# Run one of our scripts in a separate process, so that a crash in compiled code does not end the main process.

FAILED = 3  # the exit code of a script that has written its reason to standard error
_PATIENCE = 10  # seconds for a script to end after its output has ended
_MOST_BYTES_OF_REASON = 1000  # bytes


@contextmanager
def output_of(script: Path, arguments: Sequence[str], *, path: Path, expected: str) -> Iterator[IO[bytes]]:
    """Run a Python file that reads `path`, and yield its output while it runs.

    The script is a file, so that the child process starts without the user's main module and without nearlabel. It
    finds the same libraries as this process. If it crashes or fails, a ValueError names `path` and the `expected`
    content. Read the output to its end, or close the generator, which ends the script.
    """
    if not sys.executable:
        raise OSError(f"isolate must be False for {path} in a Python without the path of its executable.")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with tempfile.TemporaryFile() as said:
        child = subprocess.Popen(
            [sys.executable, "-P", str(script), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            env=environment,
        )
        try:
            yield child.stdout  # type: ignore[misc] # a pipe, as requested
            if _exit_code(child):
                raise _failure(child.returncode, said, path, expected)
        except Exception as error:  # the output ends where the script ends
            if str(path) not in str(error) and _exit_code(child):
                raise _failure(child.returncode, said, path, expected) from error
            raise
        finally:
            child.kill()
            child.communicate()


def _exit_code(child: subprocess.Popen[bytes]) -> int:
    """Return the exit code of a script after its output has ended; 0 if it is still running."""
    try:
        return child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        return 0


def _failure(code: int, said: IO[bytes], path: Path, expected: str) -> ValueError:
    """Return the error for a script that failed, with its reason, or that crashed."""
    said.seek(0)
    reason = " ".join(said.read(_MOST_BYTES_OF_REASON).decode(errors="replace").split()).rstrip(".")
    if code != FAILED:
        return ValueError(f"{path} must be {expected}, got one at which its reader crashed (exit code {code}).")
    if str(path) in reason:
        return ValueError(f"{reason}.")
    return ValueError(f"{path} must be {expected}, got a damaged one ({reason}).")


# Untrusted archives: limits of their unpacked size, and the arrays of an ``.npz`` file.

_CHUNK = 2**20
_ZIP_MAGIC = b"PK"
_END_MAGIC, _END_BYTES = b"PK\5\6", 22  # the record at the end of an archive, with the length of the list of members
# In archives of 2 GiB and more, it follows a longer record, which is used instead, and a record with its position.
_LOCATOR_MAGIC, _LOCATOR_BYTES = b"PK\6\7", 20
_LONG_END_MAGIC, _LONG_END_BYTES = b"PK\6\6", 56
_LONGEST_DIRECTORY = 2**14


def members_of(archive: ZipFile) -> dict[str, ZipInfo]:
    """Return the members by name; raise ValueError for duplicate names, bad offsets and other compressions."""
    members = {member.filename: member for member in archive.infolist()}
    if len(members) < len(archive.infolist()):
        raise ValueError("two of its members have the same name")
    for name, member in members.items():
        if member.compress_type not in (ZIP_STORED, ZIP_DEFLATED) or member.header_offset < 0:
            raise ValueError(f"{name} is not compressed as save_model does")
    return members


def read_member(archive: ZipFile, name: str, largest: int) -> bytes:
    """Return the content of a member; raise ValueError if it is missing or longer than `largest` bytes."""
    member = members_of(archive).get(name)
    if member is None:
        raise ValueError(f"it contains no {name}")
    if member.file_size > largest:
        raise ValueError(f"{name} must have at most {largest} bytes, got {member.file_size}")
    return _content_of(archive, member)


def _content_of(archive: ZipFile, member: ZipInfo) -> bytes:
    with archive.open(member) as file:
        return file.read(member.file_size + 1)  # unlike read(), unpacks no more than requested


def check_unpacked_size(archive: ZipFile, n_bytes: int) -> None:
    """Raise ValueError if an archive with `n_bytes` bytes unpacks to more than the limit.

    Nested archives, in which sparse matrices are stored, count too.
    """
    allowed = unpacked_limit(n_bytes)
    left = allowed
    for size in _unpacked_sizes(archive):
        left -= size
        if left < 0:
            raise ValueError(f"it would unpack to more than {allowed} bytes")


def _unpacked_sizes(archive: ZipFile) -> Iterator[int]:
    """Yield the declared size of each member, then check it."""
    for name, member in members_of(archive).items():
        yield member.file_size  # first, so that the caller can stop before a member with a huge declared size is read
        if member.compress_type == ZIP_DEFLATED:
            _check_declared_size(archive, member)
        with archive.open(member) as file:
            is_archive = file.read(len(_ZIP_MAGIC)) == _ZIP_MAGIC
        if is_archive:
            content = _content_of(archive, member)
            _check_directory(name, content)
            with ZipFile(BytesIO(content)) as inner:
                yield from _unpacked_sizes(inner)


def _check_directory(name: str, content: bytes) -> None:
    """Raise ValueError if a nested archive has a long list of members: each needs twenty times its size in memory.

    The list of the outer archive is part of the file, and not compressed.
    """
    n_bytes = _directory_bytes(content)
    if n_bytes is None or n_bytes > _LONGEST_DIRECTORY:
        raise ValueError(f"{name} is an archive of more members than a matrix has")


def _directory_bytes(content: bytes) -> int | None:
    """Return the length of an archive's list of members; None if its end does not have Python's form."""
    end = content[-_END_BYTES:]
    if not end.startswith(_END_MAGIC):
        return None
    locator = content[-_END_BYTES - _LOCATOR_BYTES : -_END_BYTES]
    if not locator.startswith(_LOCATOR_MAGIC):
        return int.from_bytes(end[12:16], "little")
    place = len(content) - _END_BYTES - _LOCATOR_BYTES - _LONG_END_BYTES
    is_there = content[max(0, place) :].startswith(_LONG_END_MAGIC)
    if not is_there or int.from_bytes(locator[8:16], "little") != place:
        return None
    return int.from_bytes(content[place + 40 : place + 48], "little")


def _check_declared_size(archive: ZipFile, member: ZipInfo) -> None:
    """Raise ValueError, or BadZipFile for the checksum, if the unpacked size of a member is not the declared size."""
    longer = copy(member)
    longer.file_size += 1  # makes `zipfile` continue reading after the declared end
    with archive.open(longer) as file:
        n_bytes = sum(len(chunk) for chunk in iter(lambda: file.read(_CHUNK), b""))
    if n_bytes != member.file_size:
        raise ValueError(f"{member.filename} must unpack to {member.file_size} bytes, as declared, and does not")


# The arrays of an untrusted ``.npz`` file: each header is checked before memory is allocated for the array.
#
# numpy's own reader would trust a header that requires 745 GiB, and raises any exception of its libraries.

_WHOLE = "a whole .npz file"
_SUFFIX = ".npy"
_MAGIC = b"\x93NUMPY"
_LENGTH_OF_HEADER = {(1, 0): "<H", (2, 0): "<I"}  # the third version is for field names, which no array here has
_LONGEST_HEADER = 10_000
_FIELD = re.compile(
    r"""['"](?:descr['"]\s*+:\s*+['"](?P<type>[^'"]*+)['"]
    |fortran_order['"]\s*+:\s*+(?P<order>True|False)
    |shape['"]\s*+:\s*+\((?P<shape>[\d,\sL]*+)\))\s*+,?\s*+""",
    re.VERBOSE,
)
_TYPE = re.compile(r"[<>|=]?(?:\?|[biufc]\d{1,2}|[SU]\d{1,18}|[mM]8(?:\[\w{1,20}\])?)")
_SURROGATES, _LAST_CHARACTER = (0xD800, 0xDFFF), 0x10FFFF
_NUMBER_BYTES, _TEXT_BYTES = 8, 64  # minimum bytes of an element, as float64 and as str


class NpzArrays(Mapping[str, NDArray[Any]]):
    """The arrays in an open file by name; each is read on access.

    `largest` is the limit of bytes of all accessed arrays, with 8 bytes for a number and at least 64 for a text.
    """

    def __init__(self, path: Path, archive: ZipFile, largest: int) -> None:
        self._path, self._archive, self._largest, self._left = path, archive, largest, largest
        self._members: dict[str, ZipInfo] = {}
        for member in archive.infolist():
            if not member.filename.endswith(_SUFFIX):  # members that are not arrays are never read
                continue
            name = member.filename.removesuffix(_SUFFIX)
            if name in self._members:
                raise ValueError(f"{path} must have arrays of distinct names, got {name[:60]!r} twice.")
            self._members[name] = member

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return an array; raise KeyError if the name is missing, ValueError if the array is invalid."""
        member = self._members[name]
        where = f"{self._path}: {name}"
        if member.flag_bits & 1 or member.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise ValueError(f"{where} must be stored or deflated, got an array that is encrypted or packed otherwise.")
        with damage_named(self._path, _WHOLE), self._archive.open(member) as file:
            header = read_npy_header(where, file)
            self._check_size(where, header, member.file_size)
            array = _read_items(where, file, header)
        if header.type_.kind == "U" and not is_text(array):
            raise ValueError(f"{where} must be texts of valid Unicode characters, got something else in one of them.")
        return array

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def __len__(self) -> int:
        return len(self._members)

    def _check_size(self, where: str, header: NpyHeader, size: int) -> None:
        """Raise ValueError unless the member's size matches the header and is within the limit."""
        if header.n_bytes != size - header.length:
            got = f"{size - header.length} of them for {header.type_} of shape {header.shape}"
            raise ValueError(f"{where} must have as many bytes as its shape needs, got {got}.")
        least = _TEXT_BYTES if header.type_.kind in "SU" else _NUMBER_BYTES
        # With a length of 0 another length needs no bytes in the file, but processing the rows needs memory for each.
        self._left -= math.prod(max(1, length) for length in header.shape) * max(header.type_.itemsize, least)
        if self._left < 0:
            raise ValueError(
                f"{where} must leave the arrays of the file within {self._largest} bytes, got {header.type_} of shape"
                f" {header.shape}. Hint: max_unpacked_bytes, if you know who made the file."
            )


class NpyHeader(NamedTuple):
    """The header of a member: `length` is its own number of bytes."""

    type_: np.dtype[Any]
    is_fortran: bool
    shape: tuple[int, ...]
    length: int

    @property
    def n_bytes(self) -> int:
        """The number of bytes of the items."""
        return math.prod(self.shape) * self.type_.itemsize


@contextmanager
def open_npz(path: Path, max_unpacked_bytes: int | None = None) -> Iterator[NpzArrays]:
    """Open the arrays of a file; raise an OSError or ValueError that names it if it is missing, invalid or damaged.

    `max_unpacked_bytes` limits their size, with 8 bytes for a number and at least 64 for a text; None: 512 MiB, or 100
    times the size of the file if that is more.
    """
    with open_regular(path) as file:  # a missing file, a folder or a pipe is distinguished from a damaged file
        with damage_named(path, _WHOLE):
            if not is_zipfile(file):
                raise ValueError(f"{path} must be a whole .npz file, got something else or a part of one.")
            largest = unpacked_limit(file.seek(0, 2), max_unpacked_bytes)
            archive = ZipFile(file)
        with archive:
            yield NpzArrays(path, archive, largest)


def is_text(array: NDArray[Any]) -> bool:
    """Return whether all texts consist of valid Unicode characters, which numpy does not check."""
    codes = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("=")).reshape(-1).view(np.uint32)
    first, last = _SURROGATES
    return not ((codes > _LAST_CHARACTER) | ((codes >= first) & (codes <= last))).any()


def read_npy_header(where: str, file: IO[bytes]) -> NpyHeader:
    """Read the header; raise ValueError unless it is for numbers or texts."""
    start = file.read(len(_MAGIC) + 2)
    version = tuple(start[len(_MAGIC) :])
    if not start.startswith(_MAGIC) or version not in _LENGTH_OF_HEADER:
        raise _no_array(where, "something else")
    length_format = _LENGTH_OF_HEADER[version]
    packed = file.read(struct.calcsize(length_format))
    length: int = struct.unpack(length_format, packed)[0]
    if length > _LONGEST_HEADER:
        raise _no_array(where, f"a header of {length} bytes")
    fields = _fields_of(where, file.read(length).decode("latin1"))
    return NpyHeader(*fields, len(start) + len(packed) + length)


def _fields_of(where: str, text: str) -> tuple[np.dtype[Any], bool, tuple[int, ...]]:
    """Return the type, whether the order is Fortran's, and the shape from the Python literal of a header."""
    inside = text.strip().removeprefix("{").removesuffix("}").strip()
    found: dict[str | None, str] = {}
    place = 0
    while field := _FIELD.match(inside, place):
        found[field.lastgroup] = field[field.lastgroup or 0]
        place = field.end()
    if place < len(inside) or len(found) < len(_FIELD.groupindex):
        raise _no_array(where, f"the header {text.strip()[:100]!r}")
    type_ = found["type"]
    if not _TYPE.fullmatch(type_) or not np.dtype(type_).itemsize:
        raise _no_array(where, f"type {type_[:60]!r}")
    lengths = [length.strip().removesuffix("L") for length in found["shape"].split(",")]  # Python 2 wrote 3L
    return np.dtype(type_), found["order"] == "True", tuple(int(length) for length in lengths if length)


def _no_array(where: str, got: str) -> ValueError:
    return ValueError(f"{where} must be an array of numbers or text, got {got}.")


def _read_items(where: str, file: IO[bytes], header: NpyHeader) -> NDArray[Any]:
    """Read the data after the header; raise ValueError if they are shorter than declared in the archive."""
    items: NDArray[Any] = np.empty(math.prod(header.shape), dtype=header.type_)
    room = items.view(np.uint8).data
    done = 0
    while done < len(room):
        chunk = file.read(min(_CHUNK, len(room) - done))
        if not chunk:
            raise ValueError(f"{where} must have {len(room)} bytes, as declared, got {done}.")
        room[done : done + len(chunk)] = chunk
        done += len(chunk)
    file.read(1)  # the checksum is compared at the end
    if header.type_.kind == "b":
        items = items.view(np.uint8) != 0  # bytes other than 0 and 1 would be counted wrongly
    return items.reshape(header.shape, order="F" if header.is_fortran else "C")
