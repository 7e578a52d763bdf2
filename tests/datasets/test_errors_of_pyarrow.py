"""What pyarrow raises, wherever it is called, reaches nobody raw: a ValueError or MemoryError names the file."""

import re

import pytest

from nearlabel.datasets import _numeric_columns, _parquet_file, from_frame, open_rows, read_table, tables
from nearlabel.datasets._table_file import CsvParser
from nearlabel.utils.messages import TooLargeError

pa = pytest.importorskip("pyarrow")
lib = pytest.importorskip("pyarrow.lib")
parquet = pytest.importorskip("pyarrow.parquet")

_ERRORS = (
    *(lib.ArrowException, lib.ArrowInvalid, lib.ArrowKeyError, lib.ArrowTypeError, lib.ArrowIndexError),
    *(lib.ArrowCapacityError, lib.ArrowNotImplementedError, lib.ArrowMemoryError),
)
_PREFIX = {"labels_prefix": "l_"}


def _changed_copy(path):
    tables.copy_with_labels(path, path.with_name(f"out{path.suffix}"), [(0, "l_a", 1.0)], _PREFIX)


def _written(path):
    with tables.ParquetWriter(path, {"x": "number"}) as writer:
        writer.write({"x": [1.5]})


class _Frame:
    """A data frame, as pandas and others are, whose columns fail."""

    def __init__(self, error):
        self._fail = _raising(error)

    def __arrow_c_stream__(self, requested_schema=None):
        self._fail()


# The suffix of a file, where pyarrow is called, and what calls it there.
_CALLS = (
    ("csv", CsvParser, "parse", lambda path: read_table(path, **_PREFIX)),
    ("csv", CsvParser, "parse", lambda path: list(open_rows(path, ["x"]))),
    ("csv", CsvParser, "parse", lambda path: tables.read_columns(path, {"x": "option"})),
    ("csv", CsvParser, "parse", tables.read_whole),
    ("csv", CsvParser, "parse", lambda path: tables.locate_row(path, 0)),
    ("csv", _numeric_columns, "_swapped", lambda path: read_table(path, decimal=",", **_PREFIX)),
    ("csv", _numeric_columns, "_encoded", lambda path: read_table(path, text=["t"], **_PREFIX)),
    ("parquet", _parquet_file, "facts_of", lambda path: read_table(path, **_PREFIX)),
    ("parquet", _parquet_file, "batches_of", lambda path: read_table(path, **_PREFIX)),
    ("parquet", _parquet_file, "plain", lambda path: read_table(path, **_PREFIX)),
    ("parquet", _parquet_file, "plain", lambda path: list(open_rows(path, ["x"]))),
    ("parquet", _parquet_file, "kind_of", lambda path: read_table(path, **_PREFIX)),
    ("parquet", _numeric_columns, "_encoded", lambda path: list(open_rows(path, ["t"], feature_kinds=["text"]))),
    ("parquet", parquet.ParquetWriter, "write_table", _changed_copy),
    ("parquet", parquet.ParquetWriter, "write_table", _written),
)


def _raising(error):
    def fail(*_, **__):
        raise error("bad")

    return fail


@pytest.mark.parametrize("error", _ERRORS)
@pytest.mark.parametrize(("suffix", "owner", "name", "call"), _CALLS)
def test_errors_name_the_file(monkeypatch, tmp_path, suffix, owner, name, call, error):
    """And none of them is of pyarrow's types, some of which are none of Python's."""
    path = tmp_path / f"a.{suffix}"
    if suffix == "csv":
        path.write_text("x,t,l_a\n1.5,a,0\n2,b,1\n")
    else:
        parquet.write_table(pa.table({"x": [1.5, 2.0], "t": ["a", "b"], "l_a": [0, 1]}), path)
    monkeypatch.setattr(owner, name, _raising(error))
    assert _names(lambda: call(path), str(path), error)


@pytest.mark.parametrize("error", _ERRORS)
def test_errors_name_the_frame(error):
    """As they name a file."""
    assert _names(lambda: from_frame(_Frame(error), name="songs", **_PREFIX), "songs", error)


@pytest.mark.parametrize("error", _ERRORS)
def test_errors_name_the_table(monkeypatch, tmp_path, error):
    """Those of a table of LanceDB, too."""
    lance = pytest.importorskip("nearlabel.neighbors.optional._lance_table")
    table = lance.LanceTable(tmp_path, "songs")
    monkeypatch.setattr(lance, "_as_matrix", _raising(error))
    schema = pa.schema([("id", pa.int64()), ("vector", pa.list_(pa.float32(), 2)), ("tags", pa.list_(pa.string()))])
    pytest.importorskip("lancedb").connect(str(tmp_path)).create_table("songs", schema=schema)
    table.add([1], [[0.0, 1.0]], [["a"]])
    assert _names(table.read, f"table 'songs' in {tmp_path}", error)
    assert _names(lambda: table.nominate([[0.0, 1.0]], 1), f"table 'songs' in {tmp_path}", error)


def _names(call, named, error):
    """Return whether a call raises exactly the error of ours for one of pyarrow's, with a name and the cause."""
    expected = TooLargeError if issubclass(error, MemoryError) else ValueError
    with pytest.raises(expected, match=re.escape(named)) as caught:
        call()
    return (type(caught.value), type(caught.value.__cause__)) == (expected, error)
