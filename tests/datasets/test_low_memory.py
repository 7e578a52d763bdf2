"""Readers of tables with too little memory: the error says so and names the file, wherever memory ends."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("resource")

_WORDS = "word " * 2**21
_CHILD = """
import os, resource, sys
from pathlib import Path
import pyarrow.compute, pyarrow.csv, pyarrow.parquet
from nearlabel.datasets import from_frame, load_dataset, open_rows, read_table

path, read = Path(sys.argv[1]), sys.argv[2]
reads = {
    "whole": lambda: load_dataset(path, **({} if path.suffix == ".txt" else {"labels_prefix": "l_", "text": ["t"]})),
    "rows": lambda: list(open_rows(path, ["x"])),
    "frame": lambda: from_frame(frame, labels_prefix="l_", text=["t"], name=str(path)),
}
texts = pyarrow.array(["word " * 200] * 2**16).dictionary_encode()
frame = pyarrow.table({"x": range(2**16), "t": texts, "l_a": [0, 1] * 2**15})
del texts
taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
for megabytes in map(int, sys.argv[3:]):
    if os.fork():
        os.wait()
        continue
    resource.setrlimit(resource.RLIMIT_AS, (taken + megabytes * 10**6,) * 2)
    try:
        reads[read]()
        said = "read"
    except BaseException as error:
        said = f"{type(error).__module__}.{type(error).__name__}: {error}"
    os.write(1, said.encode() + b"\\n")
    os._exit(0)
"""


def _write(folder, name):
    path = folder / name
    rows = [{"x": 1, "t": _WORDS, "l_a": 1, "l_b": 0}, {"x": 2, "t": "a", "l_a": 0, "l_b": 1}]
    if name.endswith(".parquet"):
        import pyarrow as pa
        from pyarrow import parquet

        parquet.write_table(pa.Table.from_pylist(rows), path)
    elif name.endswith(".jsonl"):
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif name.endswith(".txt"):
        path.write_text(f"__label__a {_WORDS}\n__label__b b\n")
    else:
        path.write_text("x,t,l_a,l_b\n" + "".join(",".join(map(str, row.values())) + "\n" for row in rows))
    return path


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not say what a process takes")
@pytest.mark.parametrize(
    ("name", "read"),
    [
        *(("a.csv", "whole"), ("a.csv", "rows"), ("a.jsonl", "whole"), ("a.txt", "whole")),
        *(("a.parquet", "whole"), ("a.parquet", "frame")),
    ],
)
def test_memory_ends_somewhere(tmp_path, name, read):
    """From next to nothing to as much as is needed: the table, or a MemoryError with the file and a hint."""
    path = _write(tmp_path, name)
    limits = [str(megabytes) for megabytes in (1, 4, 8, 12, 20, 40, 80)]
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "PYTHONWARNINGS": "ignore",
    }
    command = [sys.executable, "-c", _CHILD, path, read, *limits]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    said = done.stdout.splitlines()
    assert len(said) == len(limits), done.stderr
    expected = f"nearlabel.utils.messages.TooLargeError: the rows of {path} must fit into memory"
    assert not [one for one in said if one != "read" and not one.startswith(expected)]
    assert any(one.startswith(expected) for one in said)
