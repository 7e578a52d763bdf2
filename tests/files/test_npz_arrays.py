import os
import struct
import tracemalloc
import warnings
import zipfile

import numpy as np
import pytest

from nearlabel.files.untrusted import open_npz

HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }"


def member(header, content=b"", version=(1, 0)):
    """A member of this header, with what follows it."""
    length = struct.pack("<H" if version == (1, 0) else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header.encode() + content


@pytest.fixture
def write(tmp_path):
    """A file with a member X."""

    def _write(content, name="X.npy", compression=zipfile.ZIP_STORED):
        with zipfile.ZipFile(tmp_path / "a.npz", "w", compression) as archive:
            archive.writestr(name, content)
        return tmp_path / "a.npz"

    return _write


def read(path, largest=None):
    """Return X."""
    with open_npz(path, largest) as arrays:
        return arrays["X"]


ARRAYS = {
    "float": np.arange(6.0).reshape(2, 3),
    "by columns": np.asfortranarray(np.arange(6).reshape(2, 3)),
    "big-endian": np.arange(3, dtype=">i4"),
    "half": np.arange(3, dtype=np.float16),
    "flags": np.array([[True], [False]]),
    "number": np.array(3.5),
    "none": np.empty((0, 4)),
    "texts": np.array(["a", "ü b", "", "\U0010ffff"]),
    "texts of another machine": np.array(["a", "ü"]).astype(">U2"),
    "bytes": np.array([b"a", b"bc"]),
    "dates": np.array(["2026-01-31"], dtype="M8[D]"),
    "unsigned": np.array([2**64 - 1], dtype=np.uint64),
}


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_what_numpy_writes(tmp_path, array):
    """Each array as numpy itself reads it, packed or not."""
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", X=array)
        found = read(tmp_path / "a.npz")
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert found.tobytes() == array.tobytes()


@pytest.mark.parametrize("header", [
    '{"shape":(2,3),"fortran_order":False,"descr":"<f8"}',
    "{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 3L)}   \n",
])  # fmt: skip
def test_what_other_programs_write(write, header):
    """Other orders, quotes and blanks; and numbers as Python 2 wrote them."""
    for version in ((1, 0), (2, 0)):
        assert read(write(member(header, np.arange(6.0).tobytes(), version))).tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize(("content", "message"), [
    (b"text", "must be an array of numbers or text, got something else"),
    (b"\x93NUMPY\x03\x00" + b"\0" * 9, "must be an array of numbers or text, got something else"),
    (b"\x93NUMPY\x01\x00\x05", "must be a whole .npz file, got a damaged one"),
    (member("{" * 20_000, version=(2, 0)), "got a header of 20000 bytes"),
    (member("{" * 9_000), "got the header '{{{"),
    (member(HEADER.replace("<f8", "|O")), "got type '|O'"),
    (member(HEADER.replace("<f8", "<f3")), "must be a whole .npz file, got a damaged one"),
    (member(HEADER.replace("<f8", "<U0")), "got type '<U0'"),
    (member(HEADER.replace("'<f8'", "[('a', '<f8')]")), "got the header"),
    (member(HEADER.replace("'<f8'", "(2,)")), "got the header"),
    (member(HEADER.replace("descr", "type")), "got the header"),
    (member(HEADER.replace("(2, 3)", "(-2, 3)")), "got the header"),
    (member(HEADER.replace("(2, 3)", "(2 2, 3)")), "must be a whole .npz file, got a damaged one"),
    (member(HEADER, b"\0" * 47), "as many bytes as its shape needs, got 47 of them for float64 of shape (2, 3)"),
    (member(HEADER, b"\0" * 49), "as many bytes as its shape needs, got 49"),
    (member(HEADER.replace("2, 3", "10" + "0" * 30 + ", 3")), "as many bytes as its shape needs, got 0"),
    (member(HEADER.replace("2, 3", "0, 1" + "0" * 5000)), "must be a whole .npz file, got a damaged one"),
    (member(HEADER.replace("2, 3", "1000000000, 0")), "must leave the arrays of the file within 536870912 bytes"),
    (member(HEADER.replace("2, 3", "1, " * 70), b"\0" * 8), "must be a whole .npz file, got a damaged one"),
    (member(HEADER.replace("<f8", "<U1").replace("2, 3", "1"), b"\0\0\x11\0"), "texts of valid Unicode characters"),
    (member(HEADER.replace("<f8", ">U1").replace("2, 3", "1"), b"\0\0\xd8\0"), "texts of valid Unicode characters"),
])  # fmt: skip
def test_damaged_members(write, content, message):
    """One error names the file, and what is wrong; nothing is built, nor warned of, which would be an error here."""
    path = write(content)
    with pytest.raises(ValueError, match=r"a\.npz") as caught:
        read(path)
    assert message in str(caught.value)


def test_a_flag_is_0_or_1(write):
    """Other bytes would count as 2, 3 and so on when they become numbers."""
    array = read(write(member(HEADER.replace("<f8", "|b1").replace("2, 3", "3"), b"\x00\x07\x80")))
    assert array.astype(float).tolist() == [0, 1, 1]


def changed(path, offset, of, value):
    """A file with other bytes at a place in its local header and in its directory."""
    content = bytearray(path.read_bytes())
    for mark, shift in ((b"PK\3\4", 0), (b"PK\1\2", of)):
        place = content.index(mark) + offset + shift
        content[place : place + len(value)] = value
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("offset", "value"), [(6, b"\1"), (8, b"\x0c"), (8, b"\x63")])
def test_other_ways_to_pack(write, offset, value):
    """Encrypted, packed by bzip2 or by what nobody knows."""
    path = changed(write(member(HEADER, b"\0" * 48)), offset, 2, value)
    with pytest.raises(ValueError, match=r"a\.npz: X must be stored or deflated, got an array that is encrypted"):
        read(path)


def test_sizes_that_lie(write):
    """A member that promises more than it has, at either place."""
    path = write(member(HEADER.replace("2, 3", "1000, 3"), b"\0" * 48), compression=zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(path) as archive:
        length = archive.getinfo("X.npy").file_size
    changed(path, 22, 2, struct.pack("<I", length - 48 + 24_000))
    with pytest.raises(ValueError, match=r"a\.npz: X must have 24000 bytes, as declared, got 48"):
        read(path)


def test_a_check_sum_is_compared(write):
    """A changed byte in numbers is no other number."""
    path = write(member(HEADER, b"\0" * 48))
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\1\2") - 1] = 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.npz must be a whole \.npz file, got a damaged one \(BadZipFile"):
        read(path)


def test_arrays_of_one_name(tmp_path):
    """Refused, since programs differ in which they take; other members are passed over."""
    with warnings.catch_warnings(), zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        warnings.simplefilter("ignore")
        for name in ("X.npy", "readme.txt", "folder/", "X.npy"):
            archive.writestr(name, member(HEADER, b"\0" * 48))
    with pytest.raises(ValueError, match=r"a\.npz must have arrays of distinct names, got 'X' twice"):
        read(tmp_path / "a.npz")


@pytest.mark.long
def test_a_bomb(write):
    """A small file of many small numbers is refused before memory is taken, unless it is asked for."""
    shape = HEADER.replace("<f8", "|i1").replace("2, 3", "100, 1000000")
    path = write(member(shape, bytes(10**8)), compression=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 200_000
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"X must leave .* within 536870912 bytes, got int8 of shape .*max_unpacked"):
        read(path)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
    assert read(path, 8 * 10**8).shape == (100, 1_000_000)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on Windows")
def test_a_pipe(tmp_path):
    """Is not waited for."""
    os.mkfifo(tmp_path / "a.npz")
    with pytest.raises(ValueError, match=r"a\.npz must be a file that can be read several times, got a pipe"):
        read(tmp_path / "a.npz")
