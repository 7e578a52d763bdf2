"""How fast, and in how much memory, are large files read?

A seeded sparse ARFF file of some 100 MB (47,100 attributes, as wide as rcv1) and the same rows as multi-label svmlight
are written to a temporary folder and read. Compared are the seconds with reading the bytes of the file alone, and the
peak memory with the size of the matrices that come out.

Run: ``python benchmarks/reading.py``; ``--quick`` for a look.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from _harness import Job, Table, measure, parser_for, print_facts, save, show
from nearlabel.datasets import read_meka, read_svmlight

FEATURES, LABELS, PER_ROW = 47_000, 100, 75


def write_files(folder: Path, n_rows: int) -> None:
    """Write the same rows as sparse ARFF (MEKA, labels first) and as svmlight."""
    rng = np.random.default_rng(0)
    with (folder / "rows.arff").open("w") as arff, (folder / "rows.svm").open("w") as svm:
        arff.write(f"@relation 'rows: -C {LABELS}'\n")
        arff.writelines(f"@attribute label{i} {{0,1}}\n" for i in range(LABELS))
        arff.writelines(f"@attribute word{i} numeric\n" for i in range(FEATURES))
        arff.write("@data\n")
        for _ in range(n_rows):
            labels = np.unique(rng.integers(0, LABELS, 3))
            words = np.unique(rng.integers(0, FEATURES, PER_ROW))
            weights = rng.random(len(words)).round(6)
            pairs = list(zip(words.tolist(), weights.tolist(), strict=True))
            cells = [f"{label} 1" for label in labels] + [f"{LABELS + word} {weight}" for word, weight in pairs]
            arff.write("{" + ",".join(cells) + "}\n")
            svm.write(",".join(map(str, labels)) + " " + " ".join(f"{word}:{weight}" for word, weight in pairs) + "\n")


def prepare(read: Callable[[Path], Any], path: Path) -> Mapping[str, Callable[[], Any]]:
    """Return the reading of one file; what was read does not leave the process."""

    def read_and_forget() -> None:
        read(path)

    return {"read": read_and_forget}


def size_of(matrix: Any) -> float:
    """Return what a matrix takes, in MiB."""
    arrays = (matrix.data, matrix.indices, matrix.indptr) if sparse.issparse(matrix) else (matrix,)
    return float(sum(array.nbytes for array in arrays) / 2**20)


def main() -> None:
    """Write the files, read them, print and save the figures."""
    parser = parser_for(__doc__, "reading", repeats=3)
    options = parser.parse_args()
    n_rows = 2_000 if options.quick else 100_000
    print_facts()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(folder, n_rows)
        readers = {"rows.arff": read_meka, "rows.svm": read_svmlight}
        jobs = [Job(file, prepare, (read, folder / file)) for file, read in readers.items()]
        jobs += [Job(f"{file}, bytes", prepare, (Path.read_bytes, folder / file)) for file in readers]
        measured = measure(jobs, options.repeats)
        rows = [_row(folder / file, read, measured) for file, read in readers.items()]
    headers = ("file", "MB", "seconds", "MB/s", "seconds over reading bytes", "peak MiB", "matrices MiB")
    tables = [Table(f"{n_rows:,} rows", headers, rows)]
    show(tables)
    save(options, __doc__, [dict(zip(headers, row, strict=True)) for row in rows], tables)


def _row(path: Path, read: Callable[[Path], Any], measured: Mapping[str, Any]) -> tuple[Any, ...]:
    data, megabytes = read(path), path.stat().st_size / 1e6
    seconds = measured[path.name].median("read")
    ratio = seconds / measured[f"{path.name}, bytes"].median("read")
    peak = measured[path.name].peak_mib()
    return path.name, megabytes, seconds, megabytes / seconds, ratio, peak, size_of(data.X) + size_of(data.Y)


if __name__ == "__main__":
    main()
