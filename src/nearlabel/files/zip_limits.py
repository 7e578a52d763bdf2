"""Limits of the unpacked size of archives, checked before unpacking.

The sizes declared in an archive are not trusted: `zipfile` unpacks a complete member and then truncates it to the
declared size, so a small file could still fill the memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

LARGEST_CARD = 2**26
LARGEST_KEPT = 2**27
LARGEST_SCHEMA = 2**28
_ALWAYS_ALLOWED = 2**29  # bytes that a file of any size may unpack to
_ALLOWED_RATIO = 100  # ratio of unpacked to packed bytes; deflate reaches 1000, models stay far below 100
_CHUNK = 2**20
_ZIP_MAGIC = b"PK"
_END_MAGIC, _END_BYTES = b"PK\5\6", 22  # the record at the end of an archive, with the length of the list of members
# In archives of 2 GiB and more, it follows a longer record, which is used instead, and a record with its position.
_LOCATOR_MAGIC, _LOCATOR_BYTES = b"PK\6\7", 20
_LONG_END_MAGIC, _LONG_END_BYTES = b"PK\6\6", 56
_LONGEST_DIRECTORY = 2**14


def allowed_bytes(n_bytes: int) -> int:
    """Return the limit of the unpacked size of a file with `n_bytes` bytes."""
    return max(_ALWAYS_ALLOWED, _ALLOWED_RATIO * n_bytes)


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
    allowed = allowed_bytes(n_bytes)
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
