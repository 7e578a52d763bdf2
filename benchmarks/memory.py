"""How much memory does each operation need, as a multiple of its input, and does it grow as the input does?

Each operation runs in a process of its own, with one input and with one four times as long. "times" is the peak above
what was in use before, over the bytes of the input (the arrays that are passed, or the file); the slope is that of log
peak over log input: 1 where memory grows as the input does. A peak below 4 MiB is shown as 0, because it is that of
caches.

Then the operation runs again, where the system gives no more address space than what was in use and the promise: a
constant, and a multiple of the input. A promise is kept where it ends.

Run: ``python benchmarks/memory.py``; ``--quick`` for a quarter of the rows. It also writes the figures of
``docs/figures/scale.md``.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import multiprocessing
import os
import resource
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from _harness import Goal, Table, lines_of, parser_for, peak_of, print_facts, save, show, write_figures
from nearlabel.audit import audit
from nearlabel.datasets import (
    Dataset,
    examine,
    load_dataset,
    open_store,
    read_npz,
    read_svmlight,
    read_table,
    write_npz,
    write_store,
)
from nearlabel.lazy import IBLR, BRkNN, LPkNN, MLkNN
from nearlabel.metrics import average_precision, micro_f1
from nearlabel.models import explain
from nearlabel.neighbors import ExactNeighbors
from nearlabel.persistence import load_model, save_model
from nearlabel.rivals import BinaryRelevance
from nearlabel.selection import NeighborsClassifierCV
from nearlabel.thresholds import TunedThresholdsClassifierCV

PAGE = Path(__file__).parents[1] / "docs" / "figures" / "scale.md"
N_ROWS, N_FEATURES, N_LABELS, GROWTH = 10_000, 50, 10, 4
SHOWN = 4.0  # MiB
CONSTANT = 128.0  # MiB of address space beyond the multiple: blocks, stacks of threads, arenas of the allocator
_MIB = 2.0**20


class Operation(NamedTuple):
    """What is measured: `prepare` makes input and the call; `promise` is a multiple of the input, None for none.

    Slow operations get a `share` of the rows.
    """

    prepare: Callable[[int, Path], tuple[float, Callable[[], Any]]]
    promise: float | None
    share: float = 1.0


def data(n: int) -> tuple[Any, Any]:
    """Return clustered rows in float64 and label sets that depend on them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, N_FEATURES))[rng.integers(0, 200, n)] + rng.normal(size=(n, N_FEATURES))
    return X, (X[:, :N_LABELS] > 1).astype(np.uint8)


def dataset(X: Any, Y: Any) -> Dataset:
    """Return a data set with names."""
    names = [f"x{i}" for i in range(X.shape[1])], [f"y{i}" for i in range(Y.shape[1])]
    return Dataset(X, Y, *map(tuple, names), "made")


def fit_of(make: Callable[[], Any]) -> Callable[[int, Path], tuple[float, Callable[[], Any]]]:
    """Return how the fit of an estimator is prepared."""

    def prepare(n: int, folder: Path) -> tuple[float, Callable[[], Any]]:
        X, Y = data(n)
        make().fit(X[:300], Y[:300])
        return X.nbytes + Y.nbytes, lambda: make().fit(X, Y)

    return prepare


def use_of(make: Callable[[], Any], use: Callable[[Any, Any, Any], Any]) -> Callable[[int, Path], Any]:
    """Return how the use of a model of 5,000 samples is prepared; the input are n queries and label sets."""

    def prepare(n: int, folder: Path) -> tuple[float, Callable[[], Any]]:
        X, Y = data(n)
        model = make().fit(*data(5_000))
        use(model, X[:300], Y[:300])
        return X.nbytes + Y.nbytes, lambda: use(model, X, Y)

    return prepare


def file_of(
    name: str, write: Callable[[Path, Any, Any], Any], read: Callable[[Path], Any]
) -> Callable[[int, Path], Any]:
    """Return how the reading of a file is prepared."""

    def prepare(n: int, folder: Path) -> tuple[float, Callable[[], Any]]:
        small, file = folder / f"small{name}", folder / f"file{name}"
        write(small, *data(300))
        read(small)
        write(file, *data(n))
        parts = file.rglob("*") if file.is_dir() else [file]
        return float(sum(part.stat().st_size for part in parts)), lambda: read(file)

    return prepare


def write_csv(file: Path, X: Any, Y: Any) -> None:
    """Write a table of features and labels."""
    names = ",".join([*(f"x{i}" for i in range(X.shape[1])), *(f"y{i}" for i in range(Y.shape[1]))])
    np.savetxt(file, np.hstack([X, Y]), "%.6g", ",", header=names, comments="")


def write_arff(file: Path, X: Any, Y: Any) -> None:
    """Write an ARFF file, labels first."""
    lines = [f"@relation 'r: -C {Y.shape[1]}'", *(f"@attribute y{i} {{0,1}}" for i in range(Y.shape[1]))]
    lines += [*(f"@attribute x{i} numeric" for i in range(X.shape[1])), "@data", ""]
    np.savetxt(file, np.hstack([Y, X]), "%.6g", ",", header="\n".join(lines)[:-1], comments="")


def write_jsonl(file: Path, X: Any, Y: Any) -> None:
    """Write an object a line."""
    with file.open("w") as lines:
        for row, tags in zip(X, Y, strict=True):
            cells = {f"x{i}": round(value, 5) for i, value in enumerate(row)}
            lines.write(json.dumps(cells | {"tags": [f"y{i}" for i in np.flatnonzero(tags)]}) + "\n")


def read_tagged(file: Path) -> Dataset:
    """Read what `write_jsonl` writes."""
    return read_table(file, labels_column="tags")


def write_parquet(file: Path, X: Any, Y: Any) -> None:
    """Write columns."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = {f"x{i}": X[:, i] for i in range(X.shape[1])} | {f"y{i}": Y[:, i] for i in range(Y.shape[1])}
    parquet.write_table(pa.table(columns), file)


def write_svmlight(file: Path, X: Any, Y: Any) -> None:
    """Write positive numbers only."""
    dump_svmlight_file(sparse.csr_array(np.maximum(X, 0)), Y, str(file), multilabel=True, zero_based=False)


def write_dataset(file: Path, X: Any, Y: Any) -> None:
    """Write a data set, packed."""
    write_npz(file, dataset(X, Y))


def saved(file: Path, X: Any, Y: Any) -> None:
    """Save a model."""
    save_model(MLkNN().fit(X, Y), file)


def prepare_store(n: int, folder: Path) -> tuple[float, Callable[[], Any]]:
    """Write rows, block by block, to a store."""
    X, _ = data(n)
    write_store(folder / "small", X[:300])
    return float(X.nbytes), lambda: write_store(folder / "store", (X[i : i + 1000] for i in range(0, n, 1000)))


def prepare_update(n: int, folder: Path) -> tuple[float, Callable[[], Any]]:
    """Add a hundred samples to a model of n; the input is that of its fit."""
    X, Y = data(n + 100)
    model = MLkNN().fit(X[:n], Y[:n])
    return float(X.nbytes + Y.nbytes), lambda: model.partial_fit(X[n:], Y[n:])


def prepare_loo(n: int, folder: Path) -> tuple[float, Callable[[], Any]]:
    """Search for the neighbours of all rows."""
    X, _ = data(n)
    search = ExactNeighbors().fit(X)
    return float(X.nbytes), lambda: search.kneighbors(n_neighbors=10)


def prepare_metric(metric: Callable[[Any, Any], float], *, of_scores: bool) -> Callable[[int, Path], Any]:
    """Return how a metric is prepared."""

    def prepare(n: int, folder: Path) -> tuple[float, Callable[[], Any]]:
        rng = np.random.default_rng(0)
        Y = (rng.random((10 * n, N_LABELS)) < 0.3).astype(np.uint8)
        found = rng.random(Y.shape) if of_scores else (rng.random(Y.shape) < 0.3).astype(np.uint8)
        metric(Y[:300], found[:300])
        return float(Y.nbytes + found.nbytes), lambda: metric(Y, found)

    return prepare


def prepare_examine(n: int, folder: Path) -> tuple[float, Callable[[], Any]]:
    """Examine a data set."""
    X, Y = data(n)
    examine(dataset(X[:300], Y[:300]))
    return float(X.nbytes + Y.nbytes), lambda: examine(dataset(X, Y))


def prepare_audit(n: int, folder: Path) -> tuple[float, Callable[[], Any]]:
    """Audit a fitted model of a data set."""
    X, Y = data(n)
    audit(MLkNN().fit(X[:300], Y[:300]))
    model = MLkNN().fit(X, Y)
    return float(X.nbytes + Y.nbytes), lambda: audit(model)


LABELS = [f"y{i}" for i in range(N_LABELS)]
OPERATIONS: Mapping[str, Operation] = {
    "fit of MLkNN": Operation(fit_of(MLkNN), 12),
    "fit of BRkNN": Operation(fit_of(BRkNN), 2),
    "fit of LPkNN": Operation(fit_of(LPkNN), 2),
    "fit of IBLR": Operation(fit_of(IBLR), 12),
    "fit of BinaryRelevance": Operation(fit_of(BinaryRelevance), 6),
    "fit of NeighborsClassifierCV": Operation(fit_of(NeighborsClassifierCV), None, 0.1),
    "fit of TunedThresholdsClassifierCV": Operation(fit_of(lambda: TunedThresholdsClassifierCV(MLkNN())), 16, 0.25),
    "predict": Operation(use_of(MLkNN, lambda model, X, Y: model.predict(X)), 3),
    "predict_proba": Operation(use_of(MLkNN, lambda model, X, Y: model.predict_proba(X)), 3),
    "explain, 1 in 10 queries": Operation(use_of(MLkNN, lambda model, X, Y: explain(model, X[::10])), 4, 0.25),
    "kneighbors of queries": Operation(use_of(ExactNeighbors, lambda model, X, Y: model.kneighbors(X)), 3),
    "kneighbors of all rows": Operation(prepare_loo, 12),
    "partial_fit of 100 samples": Operation(prepare_update, 4),
    "examine": Operation(prepare_examine, 16, 0.25),
    "audit": Operation(prepare_audit, 6, 0.25),
    "micro_f1, of labels": Operation(prepare_metric(micro_f1, of_scores=False), 6),
    "average_precision, of scores": Operation(prepare_metric(average_precision, of_scores=True), 4),
    "read CSV": Operation(file_of(".csv", write_csv, lambda file: read_table(file, labels=LABELS)), 4),
    "read ARFF": Operation(file_of(".arff", write_arff, load_dataset), 4),
    "read JSON lines": Operation(file_of(".jsonl", write_jsonl, read_tagged), 4),
    "read Parquet": Operation(file_of(".parquet", write_parquet, lambda file: read_table(file, labels=LABELS)), 4),
    "read svmlight": Operation(file_of(".svm", write_svmlight, read_svmlight), 4),
    "read NPZ": Operation(file_of(".npz", write_dataset, read_npz), 5),
    "open a store": Operation(file_of("", lambda file, X, Y: write_store(file, X), open_store), 0),
    "write a store, in blocks": Operation(prepare_store, 0),
    "save a model": Operation(lambda n, folder: _saving(n, folder), 4),
    "load a model": Operation(file_of(".skops", saved, load_model), 5),
}  # fmt: skip


def _saving(n: int, folder: Path) -> tuple[float, Callable[[], Any]]:
    X, Y = data(n)
    save_model(MLkNN().fit(X[:300], Y[:300]), folder / "small.skops")
    model = MLkNN().fit(X, Y)
    return float(X.nbytes + Y.nbytes), lambda: save_model(model, folder / "model.skops")


def measured(name: str, n: int, promise: float | None) -> tuple[float, float, str]:
    """Return MiB of the input and of the peak; under a promise also the error, where there was one."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        n_bytes, call = OPERATIONS[name].prepare(n, Path(folder))
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # what the preparation has freed would hide what the call needs
        if promise is not None:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            limit = pages * resource.getpagesize() + int(promise * n_bytes + CONSTANT * _MIB)
            resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        try:
            return n_bytes / _MIB, peak_of(call), ""
        except MemoryError as error:
            return n_bytes / _MIB, math.nan, str(error)


def in_fresh_process(name: str, n: int, promise: float | None = None) -> tuple[float, float, str]:
    """Return what `measured` does, in a process of its own; one that ends otherwise keeps no promise."""
    context = multiprocessing.get_context("forkserver")  # loads the libraries once
    context.set_forkserver_preload(["nearlabel.persistence", "nearlabel.audit", "pyarrow.parquet"])
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        try:
            return pool.submit(measured, name, n, promise).result()
        except Exception as error:
            if promise is None:
                raise
            return math.nan, math.nan, f"{type(error).__name__}: {error}"


def figures_of(name: str, n: int) -> dict[str, Any]:
    """Return the figures of an operation, and whether its promise is kept."""
    n = round(n * OPERATIONS[name].share)
    (small, of_small, _), (large, of_large, _) = (in_fresh_process(name, rows) for rows in (n, GROWTH * n))
    promise = OPERATIONS[name].promise
    _, _, error = (0, 0, "") if promise is None else in_fresh_process(name, GROWTH * n, promise)
    slope = None if min(of_small, of_large) < SHOWN else math.log(of_large / of_small) / math.log(large / small)
    return {
        "input_mib": round(large, 1),
        "peak_mib": round(of_large, 1),
        "times": round(of_large / large, 2) if of_large >= SHOWN else 0.0,
        "slope": None if slope is None else round(slope, 2),
        "promise": promise,
        "error": error,
    }


def kept(figures: Mapping[str, Any]) -> str | None:
    """Return whether a promise is kept; None where there is none."""
    if figures["promise"] is None:
        return None
    return "no" if figures["error"] else "yes"


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the page."""
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", MALLOC_MMAP_THRESHOLD_="65536")
    options = parser_for(__doc__, "memory", repeats=1).parse_args(arguments)
    print_facts()
    results: dict[str, Any] = {}
    for name in OPERATIONS:
        print(name, flush=True)
        results[name] = figures_of(name, N_ROWS // 4 if options.quick else N_ROWS)
        print(results[name], flush=True)
    rows = [
        [
            name,
            of["input_mib"],
            of["peak_mib"],
            of["times"],
            of["slope"],
            of["promise"],
            None if of["promise"] is None else "no" if of["error"] else "yes",
        ]
        for name, of in results.items()
    ]
    headers = ["", "input, MiB", "peak, MiB", "times", "slope", f"promise: times, and {CONSTANT:.0f} MiB", "kept"]
    tables = [Table("Memory of operations", headers, rows)]
    goals = [Goal("promises that are not kept", "at most", 0, sum(bool(of["error"]) for of in results.values()))]
    show(tables, goals)
    save(options, __doc__ or "", results, tables, goals)
    if not options.quick:
        write_figures(PAGE, lines_of(json.loads(options.out.read_text())))


if __name__ == "__main__":
    main()
