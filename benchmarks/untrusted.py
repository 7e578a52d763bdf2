"""How do time and memory of the text readers grow with files that are made to be costly?

Each file is read in a process of its own, at one, two and four times a size: `seconds` are of the processor, `memory`
is the peak beyond the libraries, `times` its multiple of the file's bytes (of a packed one, of what it unpacks to).

    python benchmarks/untrusted.py [--quick] [--out FILE]
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

_HEADER = b"@relation 'x: -C 1'\n@attribute l {0,1}\n"
_SIZES = (1, 2, 4)


def _filled(row: bytes, n_bytes: int, head: bytes = b"") -> bytes:
    return head + row * max(1, (n_bytes - len(head)) // len(row))


def _numbered(row: str, n_bytes: int, head: str = "", end: str = "") -> bytes:
    """Return a text of rows in which {} is another number each time."""
    parts = [head]
    n_left, number = n_bytes - len(head), 0
    while n_left > 0:
        parts.append(row.format(number))
        n_left, number = n_left - len(parts[-1]), number + 1
    return ("".join(parts) + end).encode()


def _workbook(n_bytes: int) -> bytes:
    """Return a sheet of short rows."""
    import openpyxl

    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append(["l", "f"])
    for _ in range(n_bytes // 70):  # of XML a row
        sheet.append([1, 0])
    file = BytesIO()
    book.save(file)
    return file.getvalue()


def _packed_row(n_bytes: int) -> bytes:
    width = n_bytes // 8
    names = b",".join([b"l"] + [b"%d" % i for i in range(width)])
    return gzip.compress(names + b"\n0" + b",0" * width)


def _arff(rows: bytes, attributes: bytes = b"@attribute f numeric\n") -> Callable[[int], bytes]:
    return lambda n_bytes: _filled(rows, n_bytes, _HEADER + attributes + b"@data\n")


_NINETY = b"@attribute f {" + b",".join(b"%d" % i for i in range(90)) + b"}\n"

# What is costly about each file: its ending, its bytes, how it is read.
CASES: dict[str, tuple[str, Callable[[int], bytes], dict[str, Any]]] = {
    "ARFF, dense numbers": (".arff", _arff(b"0,1\n"), {}),
    "ARFF, dense rows line by line": (".arff", _arff(b"0,?\n"), {}),
    "ARFF, an attribute of 90 values": (".arff", _arff(b"0,1\n", _NINETY), {}),
    "ARFF, sparse rows": (".arff", _arff(b"{1 1}\n"), {}),
    "ARFF, empty sparse rows": (".arff", _arff(b"{}\n"), {}),
    "ARFF, many attributes": (
        ".arff",
        lambda n: _numbered("@attribute a{} {{0}}\n", n, _HEADER.decode(), "@data\n{}\n"),
        {},
    ),
    "ARFF, many values": (
        ".arff",
        lambda n: _numbered("{},", n, _HEADER.decode() + "@attribute f {", "x}\n@data\n0,x\n"),
        {},
    ),
    "svmlight, one pair a row": (".svm", lambda n: _filled(b" 9:1\n", n), {}),
    "svmlight, labels only": (".svm", lambda n: _filled(b"0\n", n, b"0 0:1\n"), {}),
    "CSV, two columns": (".csv", lambda n: _filled(b"1,0\n", n, b"l,f\n"), {"labels": ["l"]}),
    "CSV, quoted cells": (".csv", lambda n: _filled(b'1,"0"\n', n, b"l,f\n"), {"labels": ["l"]}),
    "CSV, many tags": (".csv", lambda n: _numbered("1,t{}\n", n, "f,t\n"), {"labels_column": "t"}),
    "CSV, one row of many columns, packed": (".csv.gz", _packed_row, {"labels": ["l"]}),
    "JSON lines, short objects": (".jsonl", lambda n: _filled(b'{"l":1,"f":0}\n', n), {"labels": ["l"]}),
    "JSON lines, one long list": (
        ".jsonl",
        lambda n: _filled(b"1,", n, b'{"l":1,"f":[') + b"1]}\n",
        {"labels": ["l"]},
    ),
    "JSON, an array of short objects": (
        ".json",
        lambda n: _filled(b'{"l":1,"f":0},', n, b"[") + b"{}]",
        {"labels": ["l"]},
    ),
    "Excel, short rows": (".xlsx", _workbook, {"labels": ["l"]}),
}


def main() -> None:
    """Measure every case, print a table, and write the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small files, for a look")
    parser.add_argument("--out", type=Path, help="where to write the figures")
    parser.add_argument("--read", nargs=2, metavar=("PATH", "OPTIONS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.read:
        _read(Path(arguments.read[0]), json.loads(arguments.read[1]))
        return
    base = 2**18 if arguments.quick else 2**19
    figures = [figure for name in CASES for figure in _measured(name, base)]
    if arguments.out:
        arguments.out.write_text(json.dumps(figures, indent=1) + "\n")


def _measured(name: str, base: int) -> list[dict[str, Any]]:
    ending, make, options = CASES[name]
    found = []
    for size in _SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"file{ending}"
            path.write_bytes(make(base * size))
            command = [sys.executable, __file__, "--read", str(path), json.dumps(options)]
            figure = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        found.append({"file": name} | figure)
        print(
            f"{name:40} {figure['bytes'] / 2**20:8.2f} MiB {figure['seconds']:8.2f} s"
            f" {figure['memory'] / 2**20:8.0f} MiB {figure['memory'] / figure['bytes']:8.1f} times",
            flush=True,
        )
    return found


def _read(path: Path, options: dict[str, Any]) -> None:
    """Read a file and print what that took."""
    import openpyxl  # noqa: F401 - what a library takes for itself is no cost of the file
    import pyarrow.csv  # noqa: F401

    from nearlabel.datasets import load_dataset

    before, start = _peak(), time.process_time()
    try:
        load_dataset(path, **options)
    except ValueError as error:
        print(error, file=sys.stderr)
    seconds = time.process_time() - start
    print(json.dumps({"bytes": _unpacked(path), "seconds": round(seconds, 3), "memory": _peak() - before}))


def _peak() -> int:
    """Return the most memory that this process had so far, in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # unlike that of getrusage, it does not begin with the parent's
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return 1024 * int(line.split()[1])
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _unpacked(path: Path) -> int:
    if path.suffix == ".gz":
        return len(gzip.decompress(path.read_bytes()))
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as archive:
            return sum(member.file_size for member in archive.infolist())
    return path.stat().st_size


if __name__ == "__main__":
    main()
