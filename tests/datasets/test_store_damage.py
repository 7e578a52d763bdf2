"""A damaged or forged store is an error that names it, and never an index outside of an array."""

import json
import os

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import append_to_store, open_store, remove_from_store, write_store
from nearlabel.files import check_sums
from nearlabel.files import store as store_module
from nearlabel.files.check_sums import with_sum
from nearlabel.files.row_files import RowFiles, check_structure

RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(50, 4))
SPARSE = sparse.csr_array(RNG.poisson(0.4, (50, 20)) * RNG.random((50, 20)))


@pytest.fixture
def store(tmp_path):
    """Return the folder of a store of sparse rows."""
    return write_store(tmp_path / "store", SPARSE)


def forge(path, **changed):
    """Change facts of a store, with the check sum that goes with them."""
    facts = json.loads((path / "store.json").read_text())
    facts = {name: of for name, of in (facts | changed).items() if name != "crc" and of is not None}
    (path / "store.json").write_text(json.dumps(with_sum(facts)))


def put(path, name, place, value):
    """Change a number in a file of a store."""
    numbers = np.load(path / name, mmap_mode="r+")
    numbers[place] = value
    numbers.flush()


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("indices.npy", 5, 25, "must have columns from 0 to 19, got others"),
        ("indices.npy", 5, 20, "must have columns from 0 to 19, got others"),
        ("indices.npy", 5, 10**9, "must have columns from 0 to 19"),
        ("indices.npy", 5, -1, "must have columns from 0 to 19"),
        ("indices.npy", -1, 20, "must have columns from 0 to 19"),
        ("indices.npy", 1, 0, "must have ascending columns in each row"),
        ("indptr.npy", 10, 2**30, "must have the ends of 50 rows, ascending from 0 to"),
        ("indptr.npy", 10, -1, "must have the ends of 50 rows"),
        ("indptr.npy", 0, 1, "must have the ends of 50 rows"),
        ("indptr.npy", -1, SPARSE.nnz + 1, "must have the ends of 50 rows"),
        ("indptr.npy", -1, SPARSE.nnz - 1, "must have the ends of 50 rows"),
    ],
)
def test_no_index_leads_outside(store, name, place, value, message):
    """What compiled code would follow is checked when a store is opened."""
    put(store, name, place, value)
    with pytest.raises(ValueError, match=message) as told:
        open_store(store)
    assert str(told.value).startswith(str(store))


def test_negative_indices_are_found_where_a_row_is_wider_than_their_type():
    """Read without a sign they are small numbers there."""
    indices = np.array([-5, 3], dtype=np.int32)
    with pytest.raises(ValueError, match="must have columns from 0 to"):
        check_structure(indices, np.array([0, 2], dtype=np.int32), (1, 2**40), "rows")


def test_indices_are_looked_at_to_the_end(tmp_path):
    """Also where they fill several blocks."""
    n = 300_000
    rows = sparse.csr_array((np.ones(n), np.zeros(n, dtype=np.int32), np.arange(n + 1, dtype=np.int32)), shape=(n, 2))
    path = write_store(tmp_path / "store", rows)
    assert open_store(path).sum() == n
    for name, place, value in (("indices.npy", n - 1, 2), ("indptr.npy", 2**18, 0)):
        before = np.load(path / name)[place]
        put(path, name, place, value)
        with pytest.raises(ValueError, match="The file is damaged"):
            open_store(path)
        put(path, name, place, before)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"kind": "coo"}, "kind must be one of dense, csr, got 'coo'"),
        ({"kind": None}, "kind must be one of dense, csr, got None"),
        ({"kind": ["csr"]}, "kind must be one of"),
        ({"kind": "dense"}, "files must have the bytes of data"),
        ({"dtype": "object"}, "dtype must be a type of real numbers, got 'object'"),
        ({"dtype": "float63"}, "dtype must be a type of real numbers"),
        ({"dtype": 8}, "dtype must be a type of real numbers, got 8"),
        ({"dtype": "float32"}, "must contain float32 in rows of shape"),
        ({"shape": [50]}, "shape must be the numbers of rows and columns"),
        ({"shape": [50, -1]}, "shape must be the numbers"),
        ({"shape": [50, 0]}, "shape must be the numbers"),
        ({"shape": [50, 2**63]}, "shape must be the numbers"),
        ({"shape": [50, 20.0]}, "shape must be the numbers"),
        ({"shape": [True, 20]}, "shape must be the numbers"),
        ({"shape": [51, 20]}, "must have the arrays of 51 rows, got data of"),
        ({"shape": [50, 3]}, "must have columns from 0 to 2"),
        ({"files": {}}, "files must have the bytes of data and indices and indptr"),
        ({"files": None}, "files must have the bytes"),
        ({"files": {"data.npy": 1, "indices.npy": 1, "../indptr.npy": 1}}, "files must have the bytes"),
        ({"files": {"data.npy": 1, "indices.npy": 1, "indptr.npy": -1}}, "files must have the bytes"),
        ({"files": {"data.npy": 1, "indices.npy": 1, "indptr.npy": "1"}}, "files must have the bytes"),
        ({"sums": None}, "sums must be"),
        ({"sums": {}}, "sums must be those of the files"),
        ({"sums": {"data.npy": "", "indices.npy": 0, "indptr.npy": ""}}, "sums must be texts"),
        ({"version": "3"}, "must be a store of version 3, got version '3'"),
        ({"version": True}, "must be a store of version 3, got version True"),
    ],
)
def test_facts_are_read_field_by_field(store, changed, message):
    """A forged store.json, whose own check sum is right, is an error that names it."""
    forge(store, **changed)
    with pytest.raises(ValueError, match=message) as told:
        open_store(store)
    assert str(store) in str(told.value)


@pytest.mark.parametrize("name", ["data.npy", "indices.npy", "indptr.npy"])
@pytest.mark.parametrize("change", [-1, -8, 1, 4])
def test_sizes_go_with_the_shape(store, name, change):
    """One byte, or one number, more or less than the other files say."""
    files = json.loads((store / "store.json").read_text())["files"]
    forge(store, files=files | {name: files[name] + change})
    with pytest.raises(ValueError, match="The store is damaged"):
        open_store(store)


@pytest.mark.parametrize(
    "header",
    [
        b"",
        b"\x93NUMPY\x01\x00\xff\xff",
        b"\x93NUMPY\x02\x00",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n",
        b"{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }".ljust(117) + b"\n",
        b"{'descr': '<f8', 'fortran_order': True, 'shape': (1,), }".ljust(117) + b"\n",
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1, 2), }".ljust(117) + b"\n",
        b"[" * 117 + b"\n",
    ],
)
def test_headers_are_numpys_own(store, header):
    """Nothing in them is evaluated; what numpy would not write is an error that names the file."""
    file = store / "data.npy"
    start = b"\x93NUMPY\x01\x00\x76\x00" + header if len(header) > 100 else header.ljust(128, b"\0")
    file.write_bytes(start + file.read_bytes()[128:])
    with pytest.raises(ValueError, match=r"data\.npy must (begin|contain)"):
        open_store(store)


@pytest.mark.parametrize(
    "text", ["", "null", "[1]", "[" * 100_000, '{"format": "nearlabel store", "version": ' + "9" * 5_000 + "}"]
)
def test_facts_that_are_no_object(store, text):
    """Python has several errors for them, the caller one."""
    (store / "store.json").write_text(text)
    with pytest.raises(ValueError, match=r"must be a store, got a folder without its store\.json"):
        open_store(store)


def test_a_digit_of_the_facts_is_noticed(store):
    """A wider store would open, with columns that nobody wrote."""
    text = (store / "store.json").read_text()
    (store / "store.json").write_text(text.replace(" 20\n", " 29\n"))
    with pytest.raises(ValueError, match=r"store\.json must be what nearlabel wrote, .*: its checksum does not match"):
        open_store(store)


def test_truth_values_are_0_and_1(tmp_path):
    """Numpy counts wrongly with other bytes."""
    path = write_store(tmp_path / "labels", DENSE > 0)
    assert open_store(path).dtype == np.bool_
    content = bytearray((path / "data.npy").read_bytes())
    content[-1] = 2
    (path / "data.npy").write_bytes(content)
    with pytest.raises(ValueError, match="must contain truth values, got bytes other than 0 and 1"):
        open_store(path)


@pytest.mark.parametrize("X", [DENSE, SPARSE], ids=["dense", "csr"])
def test_numbers_that_were_changed_are_found_on_request(tmp_path, monkeypatch, X):
    """The error names the file and the block; without a request such a store opens."""
    monkeypatch.setattr(check_sums, "BLOCK_BYTES", 256)
    monkeypatch.setattr(store_module, "BLOCK_BYTES", 256)
    path = write_store(tmp_path / "store", X)
    open_store(path, check=True)
    content = bytearray((path / "data.npy").read_bytes())
    content[128 + 256 + 7] ^= 1
    (path / "data.npy").write_bytes(content)
    open_store(path)
    with pytest.raises(ValueError, match=r"data\.npy must be what was written, got other bytes in 384 to 639\."):
        open_store(path, check=True)


def test_a_sum_that_lacks_blocks(store):
    """As many sums as blocks are wanted."""
    sums = json.loads((store / "store.json").read_text())["sums"]
    forge(store, sums=sums | {"data.npy": ""})
    with pytest.raises(ValueError, match=r"store\.json: the sums of data\.npy must be 1 checksums"):
        open_store(store, check=True)
    with pytest.raises(ValueError, match="The store is damaged"):
        append_to_store(store, SPARSE[:1])


def test_a_change_follows_no_link_out_of_the_store(store, tmp_path):
    """Who may write into the folder must not have files elsewhere cut or overwritten."""
    victim = tmp_path / "victim.npy"
    (store / "data.npy").rename(victim)
    with victim.open("ab") as file:
        file.write(b"more")
    (store / "data.npy").symlink_to(victim)
    before = victim.read_bytes()
    for change in (lambda: append_to_store(store, SPARSE[:1]), lambda: remove_from_store(store, [0])):
        with pytest.raises(ValueError, match=r"data\.npy must be a file, got a link"):
            change()
    assert victim.read_bytes() == before


def test_rows_that_other_processes_open_are_checked_there(store):
    """The file may have been changed since it was mapped, without a trace in its date."""
    files = RowFiles.of(open_store(store))
    status = (store / "indices.npy").stat()
    put(store, "indices.npy", 3, 10**6)
    os.utime(store / "indices.npy", ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(ValueError, match=r"indices\.npy must have columns from 0 to 19"):
        files[0:50].load()
