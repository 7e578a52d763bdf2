import shutil
import tracemalloc
import zipfile
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from nearlabel.files import untrusted as zip_limits
from nearlabel.lazy import BRkNN
from nearlabel.persistence import _archive, load_model, read_card, save_model

MIB = 2**20


@contextmanager
def memory_below(n_bytes):
    """Fail if what is within takes more memory at any time."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < n_bytes
    finally:
        tracemalloc.stop()


def written(path, source, *, zeros=0, said=None, replaced="nearlabel.json", method=zipfile.ZIP_DEFLATED, start=b""):
    """Write an archive again, one member as `start` and zeros, of which the archive says they are `said` bytes."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for member in old.infolist():
            if member.filename != replaced:
                new.writestr(member.filename, old.read(member))
        new.writestr(replaced, start + bytes(zeros), compress_type=method)
        if said is not None:
            new.getinfo(replaced).file_size = said
    return path


def an_array_of(path):
    """The name of a member that holds an array."""
    with zipfile.ZipFile(path) as archive:
        return next(name for name in archive.namelist() if name.endswith(".npy"))


@pytest.mark.parametrize("read", [load_model, read_card])
def test_a_card_that_is_a_bomb(saved, tmp_path, read):
    """A small file with a huge card is refused without unpacking it."""
    file = written(tmp_path / "bomb", saved, zeros=_archive.LARGEST_CARD + 1)
    assert file.stat().st_size < MIB
    with memory_below(4 * MIB), pytest.raises(ValueError, match=r"nearlabel\.json must have at most \d+ bytes, got "):
        read(file)


@pytest.mark.parametrize("read", [load_model, read_card])
def test_a_card_that_is_said_to_be_small(saved, tmp_path, read):
    """What the archive says of sizes is not believed."""
    file = written(tmp_path / "bomb", saved, zeros=64 * MIB, said=100)
    with memory_below(4 * MIB), pytest.raises(ValueError, match="bomb must be the file of a model, got a damaged one"):
        read(file)


def test_a_schema_that_is_a_bomb(saved, tmp_path, monkeypatch):
    """Nor is a huge schema parsed."""
    monkeypatch.setattr("nearlabel.persistence._archive.LARGEST_SCHEMA", MIB)
    file = written(tmp_path / "bomb", saved, zeros=2 * MIB, replaced="schema.json")
    with (
        memory_below(4 * MIB),
        pytest.raises(ValueError, match=r"schema\.json must have at most 1048576 bytes, got 2097152"),
    ):
        load_model(file)


@pytest.mark.parametrize("said", [None, 100, 63 * MIB])
def test_an_array_that_is_a_bomb(saved, tmp_path, monkeypatch, said):
    """In one member, with its true size or another."""
    monkeypatch.setattr(zip_limits, "ALWAYS_ALLOWED", 8 * MIB if said is None else 1024 * MIB)
    file = written(tmp_path / "bomb", saved, zeros=64 * MIB, said=said, replaced=an_array_of(saved))
    with memory_below(8 * MIB), pytest.raises(ValueError, match="bomb must be the file of a model, got a damaged one"):
        load_model(file)


def test_a_check_sum_does_not_save_a_bomb(saved, tmp_path):
    """One that fits what is said of the size."""
    name = an_array_of(saved)
    with zipfile.ZipFile(tmp_path / "bomb", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, bytes(MIB))
        member = archive.getinfo(name)
        member.file_size, member.CRC = 10, zipfile.crc32(bytes(10))
    with zipfile.ZipFile(tmp_path / "bomb") as archive:
        assert archive.read(name) == bytes(10)
        with pytest.raises((ValueError, zipfile.BadZipFile)):
            zip_limits.check_unpacked_size(archive, MIB)
    with zipfile.ZipFile(tmp_path / "bomb") as archive:
        archive.getinfo(name).CRC = zipfile.crc32(bytes(11))
        with pytest.raises(ValueError, match="must unpack to 10 bytes, as declared, and does not"):
            zip_limits.check_unpacked_size(archive, MIB)


def test_an_archive_in_the_archive_that_is_a_bomb(tmp_path, monkeypatch):
    """A sparse matrix is an archive, too."""
    monkeypatch.setattr(zip_limits, "ALWAYS_ALLOWED", 9 * MIB)
    file = save_model(BRkNN(1).fit(sparse.csr_array(np.eye(3)), np.eye(3)), tmp_path / "m")
    with zipfile.ZipFile(file) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".npz"))
    inner = BytesIO()
    with zipfile.ZipFile(inner, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", bytes(64 * MIB))
    bomb = written(tmp_path / "bomb", file, replaced=name, start=inner.getvalue(), method=zipfile.ZIP_STORED)
    with memory_below(9 * MIB), pytest.raises(ValueError, match="it would unpack to more than 9437184 bytes"):
        load_model(bomb)


def test_larger_files_may_unpack_to_more(tmp_path, monkeypatch):
    """The limit grows with the file: a model that compresses well is no bomb."""
    monkeypatch.setattr(zip_limits, "ALWAYS_ALLOWED", 1024)
    with zipfile.ZipFile(tmp_path / "m", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(10**6))
    with zipfile.ZipFile(tmp_path / "m") as archive:
        zip_limits.check_unpacked_size(archive, 10_000)
        with pytest.raises(ValueError, match="it would unpack to more than 999900 bytes"):
            zip_limits.check_unpacked_size(archive, 9_999)


def test_what_would_not_be_read_is_not_written(tmp_path, monkeypatch):
    """Who saves is told, not who loads."""
    monkeypatch.setattr(zip_limits, "ALWAYS_ALLOWED", 1024)
    model = BRkNN(1).fit(np.zeros((10_000, 40)), np.ones((10_000, 1), dtype=int))
    with pytest.raises(ValueError, match=r"one that load_model accepts, got BRkNN: .*Hint: compress=False"):
        save_model(model, tmp_path / "m", compress=True)
    assert list(tmp_path.iterdir()) == []
    assert type(load_model(save_model(model, tmp_path / "m"))) is BRkNN


@pytest.mark.parametrize("read", [load_model, read_card])
@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_ways_of_packing(saved, tmp_path, read, method):
    """We write two; the others, valid or not, are refused before they are tried."""
    file = written(tmp_path / "m", saved, zeros=100, method=method)
    with pytest.raises(ValueError, match=r"a damaged one: nearlabel\.json is not compressed as save_model does"):
        read(file)


@pytest.mark.parametrize("read", [load_model, read_card])
@pytest.mark.parametrize(("field", "value"), [("compress_type", 99), ("flag_bits", 1), ("header_offset", 10**9)])
def test_directories_that_lie(saved, tmp_path, read, field, value):
    """An unknown method, a password, a place outside of the file."""
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("more", b"")
        setattr(archive.getinfo("nearlabel.json"), field, value)
    with pytest.raises(ValueError, match="must be the file of a model, got a damaged one: "):
        read(saved)


@pytest.mark.parametrize("tenth", range(10))
def test_a_corrupt_stream(tmp_path, tenth):
    """Compressed bytes that are none: in one line, whatever zlib says."""
    file = save_model(BRkNN(1).fit([[0.0], [1.0]], [[1], [0]]), tmp_path / "m", notes="word " * 100)
    with zipfile.ZipFile(file) as archive:
        card = archive.getinfo("nearlabel.json")
    start = card.header_offset + 30 + len("nearlabel.json")
    content = bytearray(file.read_bytes())
    content[start + tenth * card.compress_size // 10] ^= 0xFF
    file.write_bytes(content)
    with pytest.raises(ValueError, match="must be the file of a model, got a damaged one: ") as wrong:
        read_card(file)
    assert "\n" not in str(wrong.value)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(saved):
    """Who checks might see the one, who builds the other."""
    with zipfile.ZipFile(saved, "a") as archive:
        archive.writestr("schema.json", b"{}")
    for read in (load_model, read_card):
        with pytest.raises(ValueError, match="two of its members have the same name"):
            read(saved)


def test_an_array_that_is_said_to_be_huge(saved, tmp_path):
    """Of which there is nothing: one line, and no memory taken."""
    header = BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**15,)})
    file = written(tmp_path / "m", saved, replaced=an_array_of(saved), start=header.getvalue())
    with pytest.raises(ValueError, match=r"m must be the file of a model, got"):
        load_model(file)


def test_an_archive_of_many_members_in_a_model(saved, tmp_path):
    """Its list of members would take twenty times its bytes, which are packed."""
    many = BytesIO()
    with zipfile.ZipFile(many, "w") as archive:
        for number in range(1000):
            archive.writestr(str(number), b"")
    for number, content in enumerate((many.getvalue(), many.getvalue() + b"x", b"PK\3\4")):
        file = Path(shutil.copy(saved, tmp_path / str(number)))
        with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("many.npz", content)
        with pytest.raises(ValueError, match=r"many\.npz is an archive of more members than a matrix has"):
            load_model(file)


@pytest.mark.parametrize(
    ("place", "changed"),
    [(None, b""), (-58, b"\xff" * 8), (-34, b"\0" * 8), (-98, b"PK\0\0")],
    ids=["as written", "a long list of members", "told elsewhere", "no record"],
)
def test_an_archive_of_2_gib_in_a_model(monkeypatch, place, changed):
    """Ends in longer records, here of a small one, by which the length of the list of members is found."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("data.npy", b"x" * 100)
    content = bytearray(file.getvalue())
    if place is None:
        zip_limits._check_directory("matrix.npz", bytes(content))
        return
    content[place : place + len(changed)] = changed
    with pytest.raises(ValueError, match=r"matrix\.npz is an archive of more members than a matrix has"):
        zip_limits._check_directory("matrix.npz", bytes(content))
