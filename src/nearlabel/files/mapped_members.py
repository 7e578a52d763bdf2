"""Arrays in a zip archive that are used where they lie: uncompressed, at multiples of 64 bytes."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Mapping
from io import BytesIO
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from nearlabel.files.untrusted import members_of, read_npy_header
from nearlabel.utils.types import AnyArray

_ALIGNED = 64  # bytes, as cache lines and the widest registers
_LOCAL_HEADER, _LOCAL_MAGIC = struct.Struct("<4s22xHH"), b"PK\3\4"  # the lengths of a member's name and further fields
_SIZES = struct.calcsize("<HHQQ")  # of members that may have 4 GiB and more
_PADDING = struct.Struct("<HH")  # a field of zeros: its number and length
_NUMBER_OF_PADDING = 0xD935  # as Android's archives have it
_LONGEST_HEADER = 2**14


def aligned_bytes(n_bytes: int) -> NDArray[np.uint8]:
    """Return zeros that begin at a multiple of 64 bytes."""
    memory = np.zeros(n_bytes + _ALIGNED, dtype=np.uint8)
    start = -memory.ctypes.data % _ALIGNED
    return memory[start : start + n_bytes]


def write_arrays(archive: zipfile.ZipFile, folder: str, arrays: Mapping[str, AnyArray]) -> None:
    """Append arrays of numbers to an archive, as a `.npy` file each."""
    for name, array in arrays.items():
        member = zipfile.ZipInfo(f"{folder}/{name}.npy")
        start = archive.start_dir + _LOCAL_HEADER.size + len(member.filename) + _PADDING.size + _SIZES
        n_zeros = -start % _ALIGNED
        member.extra = _PADDING.pack(_NUMBER_OF_PADDING, n_zeros) + bytes(n_zeros)
        with archive.open(member, "w", force_zip64=True) as file:
            np.lib.format.write_array(file, np.ascontiguousarray(array), allow_pickle=False)


def read_arrays(file: BinaryIO, archive: zipfile.ZipFile, folder: str, *, mapped: bool) -> dict[str, AnyArray]:
    """Return the arrays of a folder, compared with their checksums: mapped from the file, read-only, or in memory.

    Raises ValueError for a member that `write_arrays` does not write, and for a damaged one.
    """
    found = {}
    for name, member in members_of(archive).items():
        if name.startswith(f"{folder}/"):
            content = _content_of(file, member)
            found[name.removeprefix(f"{folder}/").removesuffix(".npy")] = _array(name, content, mapped=mapped)
    return found


def _content_of(file: BinaryIO, member: zipfile.ZipInfo) -> AnyArray:
    """Map the bytes of a member."""
    name, size = member.filename, member.file_size
    file.seek(member.header_offset)
    magic, *lengths = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    start = file.tell() + sum(lengths)
    is_stored = magic == _LOCAL_MAGIC and member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 1
    if not is_stored or size != member.compress_size or not size or start + size > file.seek(0, 2):
        raise ValueError(f"{name} must lie in the file unpacked and whole, got another one")
    content = np.memmap(file, np.uint8, "r", offset=start, shape=(size,))
    if zlib.crc32(content.data) != member.CRC:
        raise ValueError(f"{name} must have its checksum, got other bytes")
    return content


def _array(name: str, content: AnyArray, *, mapped: bool) -> AnyArray:
    header = read_npy_header(name, BytesIO(content[:_LONGEST_HEADER].tobytes()))
    items = content[header.length :]
    if header.type_.kind not in "iuf" or header.is_fortran or items.size != header.n_bytes:
        raise ValueError(f"{name} must be an array of numbers, as long as in its header")
    if not mapped or items.ctypes.data % _ALIGNED:
        in_memory = aligned_bytes(items.size)
        in_memory[:] = items
        items = in_memory
    return items.view(header.type_).reshape(header.shape)
