from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import long_after
from nearlabel.datasets import open_rows, read_table
from nearlabel.datasets._parquet_file import _integers_of_struct, _pages, _place, check_pages

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

RNG = np.random.default_rng(0)
COLUMNS = {
    "x": RNG.normal(size=3000),
    "code": RNG.integers(0, 50, 3000),
    "text": [f"text {number}" for number in RNG.integers(0, 999, 3000)],
    "long": ["long " * 200] * 3000,
    "list": list(RNG.normal(size=(3000, 3))),
}


@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("more", [False, True])
def test_all_pages_of_sound_files(tmp_path, dictionary, compression, version, more):
    """Headers and pages add up to what the file says of each part, by whatever options it was written."""
    path = tmp_path / "a.parquet"
    parquet.write_table(
        pa.table(COLUMNS),
        path,
        use_dictionary=dictionary,
        compression=compression,
        data_page_version=version,
        write_page_index=more,
        write_page_checksum=more,
        data_page_size=5000,
        row_group_size=2000,
    )
    file = parquet.ParquetFile(path)
    parts = [file.metadata.row_group(group).column(place) for group in range(2) for place in range(5)]
    with path.open("rb") as stream:
        pages = [list(_pages(stream, *_place(part, 0), 10**6)) for part in parts]
    sizes = [sum(page.header + page.unpacked for page in some) for some in pages]
    assert sizes == [part.total_uncompressed_size for part in parts]
    assert max(map(len, pages)) > 3
    most = sum(max(page.unpacked for page in some) for some in pages)
    check_pages(str(path), file, file.schema_arrow.names, most)
    with pytest.raises(ValueError, match=f"must have columns of at most {most - 1} bytes, got pages of {most}"):
        check_pages(str(path), file, file.schema_arrow.names, most - 1)
    check_pages(str(path), file, ["x"], most - 1)


def zigzag(number):
    """A signed number in Thrift's compact protocol."""
    number, some = 2 * number if number >= 0 else -2 * number - 1, b""
    while number > 127:
        number, some = number >> 7, some + bytes([number & 127 | 128])
    return some + bytes([number])


def header_of(page):
    """How the header of a page of data begins."""
    return b"\x15\x00\x15" + zigzag(page.unpacked) + b"\x15" + zigzag(page.in_file)


@pytest.mark.parametrize("isolate", long_after(1, [False, True]))
@pytest.mark.parametrize(
    ("field", "here"),
    [("unpacked", "have columns .*, got pages of 214748364"), ("in_file", "be a whole .* longer than the file")],
)
def test_a_page_that_says_2_gib(tmp_path, field, here, isolate):
    """Unpacked or not, of a file of 1 KB: it is refused, where pyarrow would take them first."""
    path = tmp_path / "a.parquet"
    columns = {"x": [0.5, 1.5] * 40, "y": [0, 1] * 40}
    parquet.write_table(pa.table(columns), path, use_dictionary=False, compression="snappy")
    part = parquet.ParquetFile(path).metadata.row_group(0).column(0)
    with path.open("rb") as stream:
        page = next(_pages(stream, *_place(part, 0), 1000))
    content, sound = path.read_bytes(), header_of(page)
    assert content.count(sound) == 1
    path.write_bytes(content.replace(sound, header_of(page._replace(**{field: 2**31 - 1}))))
    match = r"a\.parquet must " + ("be a whole" if isolate else here)
    for read in (lambda: read_table(path, labels=["y"], isolate=isolate), lambda: next(rows_of(path, isolate))):
        with pytest.raises(ValueError, match=match):
            read()


def rows_of(path, isolate):
    """The rows of a forged file, block by block."""
    return iter(open_rows(path, ["x"], isolate=isolate))


def test_old_writers_did_not_count_all(tmp_path):
    """A page behind a part belongs to it, where parquet-mr has written it: pyarrow looks for it there."""
    path = tmp_path / "a.parquet"
    path.write_bytes(bytes(50) + b"\x15\x00\x15" + zigzag(2**30) + b"\x15" + zigzag(10) + bytes(100))
    for writer, found in (("parquet-mr version 1.0", 2**30), ("parquet-cpp", 0)):
        if found:
            with pytest.raises(ValueError, match=f"got pages of {found}"):
                check_pages(str(path), one_part(writer, 50, 1, n_bytes=-3), ["x"], 100)
        else:
            check_pages(str(path), one_part(writer, 50, 1, n_bytes=-3), ["x"], 100)


def one_part(writer, start, n_parts, n_bytes=100):
    """An open file whose parts all lie at one place."""
    part = SimpleNamespace(
        path_in_schema="x",
        data_page_offset=start,
        has_dictionary_page=False,
        total_compressed_size=n_bytes,
    )
    group = SimpleNamespace(num_columns=n_parts, column=lambda place: part)
    metadata = SimpleNamespace(created_by=writer, num_row_groups=1, row_group=lambda number: group)
    return SimpleNamespace(schema_arrow=pa.schema({"x": pa.float64()}), metadata=metadata)


def test_parts_that_overlap(tmp_path):
    """Many parts at one place would take the product of their number and of their pages."""
    path = tmp_path / "a.parquet"
    path.write_bytes(b"\x25\x00\x15\x00\x00" * 20)
    check_pages(str(path), one_part(None, 0, 10), ["x"], 0)
    with pytest.raises(ValueError, match="parts of columns that overlap"):
        check_pages(str(path), one_part(None, 0, 11), ["x"], 0)


OTHERS = {
    "booleans": b"\x11\x12",
    "byte": b"\x13\x7f",
    "integers": b"\x14" + zigzag(-300) + b"\x16" + zigzag(2**40),
    "double": b"\x17" + bytes(8),
    "text": b"\x18\x03abc",
    "list": b"\x19\x28\x01a\x02bc",
    "long list": b"\x19\xf3\x10" + bytes(16),
    "booleans of a list": b"\x19\x21\x01\x02",
    "set": b"\x1a\x14\x02",
    "map": b"\x1b\x02\x83\x01a\x05\x01b\x06",
    "empty map": b"\x1b\x00",
    "struct": b"\x1c\x15\x02\x1c\x00\x00",
    "a far number": b"\x05" + zigzag(900) + b"\x02" + b"\x05" + zigzag(-900) + b"\x02",
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_other_fields(other):
    """Of every type are read over; a field twice is the last one, and numbers have 32 bits, as in Thrift."""
    wanted = b"\x05" + zigzag(2) + zigzag(77) + b"\x15" + zigzag(-5) + b"\x05" + zigzag(2) + zigzag(2**32 + 78)
    header = other + wanted + b"\x00"
    stream = BytesIO(header + b"page")
    found = _integers_of_struct(stream, 64)
    assert (found[2], found[3]) == (78, -5)
    assert stream.read() == b"page"


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_broken_headers(other):
    """End where the file does."""
    for end in range(len(other) + 1):
        with pytest.raises(EOFError):
            _integers_of_struct(BytesIO(other[:end]), 64)


@pytest.mark.parametrize("other", [
    b"\x1d",  # no type
    b"\x15" + b"\xff" * 11,  # no end of a number
    b"\x18" + b"\xff" * 9 + b"\x01",  # a text of 2**63 bytes
    b"\x19\xf1" + b"\xff" * 9 + b"\x01",  # a list of so many booleans
    b"\x1b" + b"\xff" * 9 + b"\x01\x77" + bytes(100),  # a map
    b"\x1c" * 100,
    b"\x19\x19" * 100,
])  # fmt: skip
def test_what_is_no_header(other):
    """Is known in the time of its length."""
    with pytest.raises(EOFError):
        _integers_of_struct(BytesIO(other + b"\x00" * 50), 64)
