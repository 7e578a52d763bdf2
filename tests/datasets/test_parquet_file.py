import os
import struct
from datetime import date, datetime
from types import SimpleNamespace

import numpy as np
import pytest

from conftest import long_after
from nearlabel.datasets import _parquet_file, load_dataset, open_rows, read_table
from nearlabel.datasets._parquet_file import ParquetFile
from nearlabel.datasets._parquet_rows import column_of, facts_of
from nearlabel.datasets.tables import read_columns

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def write(tmp_path):
    """Write columns as a Parquet file and return its path."""

    def _write(columns, **options):
        parquet.write_table(pa.table(columns), tmp_path / "a.parquet", **options)
        return tmp_path / "a.parquet"

    return _write


MANY = {
    "x": [0.5, 1.5, 2.5],
    "e": [[1.0, 2.0], [3.0, 4.0], None],
    "c": ["red", None, "blue"],
    "s": pa.array(["one text", "another", "one text"]).dictionary_encode(),
    "d": [date(2026, 1, 31), date(1, 1, 1), date(9999, 12, 31)],
    "t": [["a", "b"], [], ["b"]],
}
OPTIONS = {"labels_column": "t", "categorical": ["c"], "text": ["s"], "dates": ["d"]}


@pytest.mark.long
def test_in_a_process_of_its_own(write):
    """The same cells, also over several groups of rows, and of rows that nobody reads to the end."""
    path = write(MANY, row_group_size=2)
    here, there = (load_dataset(path, isolate=isolate, **OPTIONS) for isolate in (False, True))
    assert repr(here.X.tolist()) == repr(there.X.tolist())
    np.testing.assert_array_equal(here.Y, there.Y)
    assert here.feature_names == there.feature_names == ("x", "e[0]", "e[1]", "c", "s", "d")
    blocks = iter(open_rows(path, ["x"], id_column="c", block_rows=1, isolate=True))
    assert next(blocks).ids.tolist() == ["red"]
    blocks.close()


@pytest.mark.parametrize("isolate", long_after(1, [False, True]))
def test_files_that_are_none(write, tmp_path, isolate):
    """Here and there the message is the same, and names the file."""
    path = write({"x": np.random.default_rng(0).normal(size=5000), "y": np.zeros(5000)}, compression="zstd")
    content = bytearray(path.read_bytes())
    content[4:2000] = bytes(1996)
    for wrong in (b"a,b\n1,2\n", b"", path.read_bytes()[:-20], bytes(content)):
        path.write_bytes(wrong)
        with pytest.raises(ValueError, match=r"a\.parquet must be a whole Parquet file, got a damaged one \(.*\)\.$"):
            read_table(path, labels=["y"], isolate=isolate)
    with pytest.raises(FileNotFoundError, match="none"):
        read_table(tmp_path / "none.parquet", labels=["y"], isolate=isolate)


def test_a_crash(write, tmp_path, monkeypatch):
    """Of the reader is an error of the file."""
    script = tmp_path / "crash.py"
    script.write_text("import os; os.abort()")
    monkeypatch.setattr(_parquet_file, "_SCRIPT", script)
    with pytest.raises(
        ValueError, match=r"a\.parquet must be a whole Parquet file, got one at which its reader crashed"
    ):
        read_table(write(MANY), isolate=True, **OPTIONS)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on Windows")
@pytest.mark.parametrize("isolate", [False, True])
def test_a_pipe_in_place_of_a_file(write, tmp_path, isolate):
    """It may come between two looks at a path, and nobody waits for it."""
    path = write(MANY)
    table = ParquetFile(path, isolate=isolate)
    path.unlink()
    os.mkfifo(path)
    for read in (lambda: next(table.batches(["x"])), lambda: ParquetFile(path, isolate=isolate)):
        with pytest.raises(ValueError, match=r"a\.parquet must be a file that can be read several times, got a pipe"):
            read()


@pytest.mark.parametrize(
    ("isolate", "is_kept"), [(False, False), (False, True), pytest.param(True, False, marks=pytest.mark.long)]
)
def test_one_text_in_many_rows(write, isolate, is_kept):
    """A small file may have a long text in each row: that is refused before memory is taken, unless asked for."""
    codes = pa.array(np.zeros(700, dtype=np.int32))
    repeated = pa.DictionaryArray.from_arrays(codes, pa.array(["a b " * 250_000]))
    path = write({"s": repeated, "y": [0] * 700}, store_schema=is_kept)
    assert path.stat().st_size < 200_000
    with pytest.raises(ValueError, match=r"a\.parquet must have columns of at most 536870912 bytes, got texts of more"):
        read_table(path, labels=["y"], text=["s"], isolate=isolate)
    with pytest.raises(ValueError, match="got texts of more than 6000000"):
        read_table(path, labels=["y"], text=["s"], isolate=isolate, max_unpacked_bytes=6 * 10**6)


def test_a_limit_of_cells(write):
    """What the file says of itself is compared before anything is read."""
    path = write({"x": np.zeros(1000), "y": np.zeros(1000, dtype=np.int8)})
    assert read_table(path, labels=["y"], max_unpacked_bytes=16_100).X.shape == (1000, 1)
    with pytest.raises(
        ValueError, match=r"must have columns of at most 15000 bytes, got 16\d\d\d\. Hint: max_unpacked"
    ):
        read_table(path, labels=["y"], max_unpacked_bytes=15_000)
    with pytest.raises(ValueError, match="must have columns of at most 5000 bytes, got "):
        next(iter(open_rows(path, ["x"], max_unpacked_bytes=5_000)))


def test_missing_lists_take_memory_too(write):
    """Rows without a list are as wide as those with one."""
    path = write({"e": [[0.0] * 1000] + [None] * 9999, "y": [0] * 10_000})
    with pytest.raises(ValueError, match="must have columns of at most 1000000 bytes, got 80000000"):
        read_table(path, labels=["y"], max_unpacked_bytes=10**6)
    path = write({"e": pa.array([None] * 3, pa.list_(pa.float32(), 4)), "y": [0] * 3})
    with pytest.raises(ValueError, match=r"column 'e' of .* must contain some list of at least one number, got none"):
        read_table(path, labels=["y"])


BEYOND = {
    "milliseconds": pa.array([0, -(2**62)]).cast(pa.timestamp("ms")),
    "microseconds": pa.array([0, 2**62]).cast(pa.timestamp("us", "UTC")),
    "days": pa.array([0, 2**31 - 1], pa.int32()).cast(pa.date32()),
}


@pytest.mark.parametrize("column", BEYOND.values(), ids=BEYOND)
def test_times_beyond_the_calendar(write, column):
    """One of them would become 1970 without a word, others an OverflowError."""
    path = write({"d": column, "y": [0, 1]})
    with pytest.raises(
        ValueError, match=r"a\.parquet, row 2: column 'd' must contain dates .*, got a time that is not in"
    ):
        read_table(path, labels=["y"], dates=["d"])


def test_the_first_and_the_last_day(write):
    """Are within, and nanoseconds, which do not reach so far."""
    last = datetime(9999, 12, 31, 23, 59, 59, 999999)
    path = write({"d": [datetime(1, 1, 1), last], "n": pa.array([0, 2**62], pa.timestamp("ns")), "y": [0, 1]})
    X = read_table(path, labels=["y"], dates=["d", "n"]).X
    assert X[:, 0].tolist() == [datetime(1, 1, 1), last]
    assert X[1, 1].year == 2116


def test_ids_beyond_the_calendar(write):
    """As names of rows they are read elsewhere."""
    path = write({"x": [0.0, 1.0], "d": BEYOND["days"]})
    for read in (lambda: list(open_rows(path, ["x"], id_column="d")), lambda: read_columns(path, {"d": "--id"})):
        with pytest.raises(ValueError, match=r"a\.parquet must be a table of .* that can be read, got a damaged one"):
            read()


def test_text_that_is_no_utf_8(write):
    """Is found where the file is read, not where the text is shown."""
    offsets, content = struct.pack("<3i", 0, 1, 3), b"a\xff\xfe"
    column = pa.Array.from_buffers(pa.string(), 2, [None, pa.py_buffer(offsets), pa.py_buffer(content)])
    path = write({"s": column, "y": [0, 1]})
    with pytest.raises(ValueError, match=r"a\.parquet must be a whole Parquet file, got a damaged one \(.*UTF"):
        read_table(path, labels=["y"], text=["s"])


@pytest.mark.parametrize(
    "pandas", [b"{", b"[]", b"[" * 5000, b'{"index_columns": 3}', b'{"index_columns": [{"a": 1}]}']
)
def test_what_pandas_never_wrote(write, pandas):
    """About its index is passed over."""
    path = write(pa.table({"x": [0.5], "y": [1]}).replace_schema_metadata({b"pandas": pandas}))
    assert read_table(path, labels=["y"]).feature_names == ("x",)


def test_the_column_of_a_part():
    """A path without a column ends in an error; once it ended in an endless loop."""
    assert column_of("a.list.element", {"a"}) == "a"
    assert column_of("a.b.list.element", {"a", "a.b"}) == "a.b"
    for path in ("a", "a.list.element", "", "."):
        with pytest.raises(ValueError, match="a part that belongs to no column"):
            column_of(path, {"b"})


def described(rows, n_rows, values, size):
    """Pyarrow with a file of one column that says this of itself."""
    chunk = SimpleNamespace(path_in_schema="x", num_values=values, total_uncompressed_size=size)
    group = SimpleNamespace(num_rows=n_rows, num_columns=1, column=lambda place: chunk)
    metadata = SimpleNamespace(num_rows=rows, num_row_groups=1, row_group=lambda number: group)
    file = SimpleNamespace(schema_arrow=pa.schema({"x": pa.float64()}), metadata=metadata)
    return SimpleNamespace(parquet=SimpleNamespace(ParquetFile=lambda *_, **__: file))


@pytest.mark.parametrize(("facts", "message"), [
    ((3, 4, 4, 32), "3 rows, but 4 in its groups"),
    ((-1, -1, 4, 32), "a part of column 'x' has less than nothing"),
    ((4, 4, -4, 32), "a part of column 'x' has less than nothing"),
    ((4, 4, 4, -32), "a part of column 'x' has less than nothing"),
])  # fmt: skip
def test_a_file_that_contradicts_itself(tmp_path, facts, message):
    """Is refused before a row is read."""
    (tmp_path / "a").write_bytes(b"1")
    with pytest.raises(ValueError, match=message):
        facts_of(described(*facts), str(tmp_path / "a"))
