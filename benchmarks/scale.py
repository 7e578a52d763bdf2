"""What do rows cost that one memory, or one machine, cannot hold: seconds a pair, bytes a row, seconds a task?

The slopes from which `docs/figures/scale.md` computes what a hundred million rows take:

- "product": a single-precision matrix product of queries and rows, one thread; seconds a query, row and feature.
- "exact": `ExactNeighbors` on the same, in memory and from a store; the fit, the queries, and the peak of memory, in
  which the pages of a mapped file count that the system happens to keep.
- "votes": ML-kNN's votes and tables for a million labels, five a row, neighbours known.
- "merge": what the answers of many shards cost to merge.
- "tasks": empty tasks on a dask cluster of two processes, and `DaskNeighbors` beside `ExactNeighbors` on two threads.
- "IVF": faiss's inverted lists at two numbers of rows, and their recall.
- "limited": BRkNN's fit and prediction from a store of 1 GB, 2,000,000 x 128 float32, in a process whose address space
  is limited to 1.5 GiB, without pyarrow, which takes 0.15 GiB of it where it is installed.

What is not installed is left out. Run: ``python benchmarks/scale.py``; ``--quick`` for a tenth of all rows.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from _harness import Job, Measurement, Table, measure, parser_for, print_facts, save, show
from nearlabel.datasets import open_store, write_store
from nearlabel.lazy import MLkNN
from nearlabel.neighbors import DaskNeighbors, ExactNeighbors, FaissIVFNeighbors, NeighborGraph, PrecomputedNeighbors
from nearlabel.neighbors.exact._segments import merged

K = 10
_EACH = 20_000
_LIMITED = """
import json, resource, sys, time

resource.setrlimit(resource.RLIMIT_AS, (3 * 2**29, 3 * 2**29))
sys.modules["pyarrow"] = None  # which pandas would load, and scikit-learn loads pandas
from pathlib import Path
from nearlabel.datasets import open_store
from nearlabel.lazy import BRkNN

X, Y = (open_store(Path(sys.argv[1]) / name) for name in ("X", "Y"))
queries = X[:: len(X) // int(sys.argv[2])] + 0.01
clock = time.perf_counter
start = clock()
model = BRkNN(10).fit(X, Y)
fitted = clock()
model.predict(queries)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
peak = int(status["VmPeak"].split()[0]) / 1024
print(json.dumps({"queries": len(queries), "fit": fitted - start, "predict": clock() - fitted, "peak": peak}))
"""

Stages = Mapping[str, Callable[[], Any]]


def rows_of(n: int, d: int) -> Iterator[Any]:
    """Yield blocks of clustered float32 rows: 200 centres, spread one third of theirs."""
    centres = np.random.default_rng(0).normal(size=(200, d))
    for start in range(0, n, _EACH):
        rng = np.random.default_rng(start + 1)
        size = min(_EACH, n - start)
        yield (3 * centres[rng.integers(0, 200, size)] + rng.normal(size=(size, d))).astype(np.float32)


def queries_of(d: int, n_queries: int) -> Any:
    """Return rows of the same clusters."""
    return next(rows_of(_EACH, d))[-n_queries:] + np.float32(0.1)


def in_store(n: int, d: int) -> tuple[Any, Any]:
    """Return a temporary folder, which is removed when it is let go, and rows of a store in it."""
    folder = tempfile.TemporaryDirectory()
    return folder, open_store(write_store(Path(folder.name) / "X", rows_of(n, d)))


def prepare_product(n: int, d: int, n_queries: int) -> Stages:
    """Return the product alone, in tiles that stay in cache."""
    X, queries = np.vstack(list(rows_of(n, d))), queries_of(d, n_queries)

    def product() -> None:
        with threadpool_limits(1):
            for start in range(0, n, 4096):
                X[start : start + 4096] @ queries.T

    product()
    return {"product": product}


def prepare_exact(n: int, d: int, n_queries: int, *, stored: bool) -> Stages:
    """Return fit and queries of the exact search, of rows in memory or in a store."""
    _, X = in_store(n, d)  # where files can be removed while they are mapped
    X = X if stored else np.array(X)
    queries = queries_of(d, n_queries)
    search = ExactNeighbors().fit(queries)
    search.kneighbors(queries[:10], K)
    return {
        "fit": lambda: search.fit(X),
        "queries": lambda: search.kneighbors(queries, K)[1][:1],
    }


def prepare_ivf(n: int, d: int, n_queries: int) -> Stages:
    """Return fit and queries of the inverted lists; the answer is the recall."""
    X, queries = np.vstack(list(rows_of(n, d))), queries_of(d, n_queries)
    _, exact = ExactNeighbors().fit(X).kneighbors(queries, K)
    search, found = FaissIVFNeighbors(n_jobs=1), {}

    def kneighbors() -> None:
        found["indices"] = search.kneighbors(queries, K)[1]

    def recall() -> float:
        same = (found["indices"][:, :, np.newaxis] == exact[:, np.newaxis]).any(axis=2)
        return float(same.mean())

    return {"fit": lambda: search.fit(X), "queries": kneighbors, "recall": recall}


def prepare_votes(n: int, n_labels: int) -> Stages:
    """Return ML-kNN's fit and prediction on known neighbours; five labels a row, frequent ones much more frequent."""
    rng = np.random.default_rng(0)
    labels = (n_labels * rng.random(5 * n) ** 3).astype(np.int32)
    Y = sparse.csr_array((np.ones(5 * n, np.int8), labels, np.arange(0, 5 * n + 1, 5)), shape=(n, n_labels)) > 0
    near = (np.arange(n)[:, np.newaxis] + rng.integers(1, n, K)) % n
    graph = NeighborGraph(np.ones((n, K)), near)
    known = PrecomputedNeighbors(graph, (graph,))
    X = np.zeros((n, 1), dtype=np.float32)
    model = MLkNN(K, search=known)
    MLkNN(2).fit(X[:9], Y[:9, :3])

    def predict() -> None:
        model.predict(X)

    return {"fit": lambda: model.fit(X, Y.astype(np.int8)), "predict": predict}


def prepare_merge(n_queries: int, n_shards: int) -> Stages:
    """Return the merge of sorted answers."""
    rng = np.random.default_rng(0)
    answers = [
        (np.sort(rng.random((n_queries, K)), axis=1), rng.integers(0, 10**6, (n_queries, K))) for _ in range(n_shards)
    ]
    return {"merge": lambda: merged(answers, K)[1][:1]}


def prepare_tasks(n: int, d: int, n_queries: int, shard_rows: int) -> Stages:
    """Return empty tasks, the distributed search on a process for each core, and the search of one process."""
    folder, X = in_store(n, d)
    queries = queries_of(d, n_queries)
    search = DaskNeighbors(shard_rows=shard_rows, query_rows=n_queries // 4).fit(X)
    search.kneighbors(queries[:20], K)
    one = ExactNeighbors(n_jobs=-1).fit(X)

    def tasks() -> None:
        client = search._session.client
        client.gather(client.map(abs, range(500), pure=False))

    return {
        "500 tasks": tasks,
        "fit": lambda: search.fit(folder.name + "/X"),
        "queries": lambda: search.kneighbors(queries, K),
        "one process": lambda: one.kneighbors(queries, K)[1][:1],
    }


def run_limited(n: int, n_queries: int) -> dict[str, float]:
    """Return what the limited process reports."""
    with tempfile.TemporaryDirectory() as folder:
        write_store(Path(folder) / "X", rows_of(n, 128))
        write_store(Path(folder) / "Y", np.arange(n)[:, np.newaxis] % [3, 5] == 0)
        run = subprocess.run(
            [sys.executable, "-c", _LIMITED, folder, str(n_queries)], check=True, capture_output=True, text=True
        )
    return dict(json.loads(run.stdout))


def jobs_of(shrink: int) -> tuple[list[Job], dict[str, tuple[int, ...]]]:
    """Return the jobs, and their sizes: rows, features, queries."""
    sizes = {f"{n // shrink:,} x {d}": (n // shrink, d, 1_000) for n in (100_000, 400_000) for d in (64, 256)}
    jobs = [Job(f"product {name}", prepare_product, size) for name, size in sizes.items()]
    for name, size in sizes.items():
        jobs += [Job(f"exact {name}", _in_memory, size), Job(f"exact, store {name}", _in_store, size)]
    if importlib.util.find_spec("faiss"):
        jobs += [Job(f"IVF {name}", prepare_ivf, size) for name, size in sizes.items() if size[1] == 64]
    if importlib.util.find_spec("distributed"):
        jobs.append(Job("tasks", prepare_tasks, (400_000 // shrink, 64, 4_000, 100_000 // shrink)))
    jobs += [Job(f"merge {n_shards}", prepare_merge, (4_096, n_shards)) for n_shards in (8, 64)]
    jobs += [Job(f"votes {n_labels:,}", prepare_votes, (100_000 // shrink, n_labels)) for n_labels in (1_000, 10**6)]
    return jobs, sizes


def _in_memory(*size: int) -> Stages:
    return prepare_exact(*size, stored=False)


def _in_store(*size: int) -> Stages:
    return prepare_exact(*size, stored=True)


def search_rows(measured: Mapping[str, Measurement], sizes: Mapping[str, tuple[int, ...]]) -> list[list[Any]]:
    """Return, for each search and size, the CPU seconds of a row and a pair, the ratio to the product, and memory."""
    rows = []
    for name, (n, d, n_queries) in sizes.items():
        product = measured[f"product {name}"].median("product", "cpu")
        rows.append([f"product {name}", None, 1e12 * product / (n * d * n_queries), 1.0, None, None])
        for kind in ("exact", "exact, store", "IVF"):
            one = measured.get(f"{kind} {name}")
            if one is None:
                continue
            fit, seconds = (one.median(stage, "cpu") for stage in ("fit", "queries"))
            cost = [1e6 * fit / n, 1e12 * seconds / (n * d * n_queries), seconds / product, one.peak_mib()]
            rows.append([f"{kind} {name}", *cost, one.answer if kind == "IVF" else None])
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and save."""
    parser = parser_for(__doc__ or "", "scale", repeats=3)
    options = parser.parse_args(arguments)
    shrink = 10 if options.quick else 1
    jobs, sizes = jobs_of(shrink)
    measured = measure(jobs, options.repeats)
    limited = run_limited(2_000_000 // shrink, 100)

    print_facts()
    headers = ["CPU", "fit, us a row", "ps a query x row x feature", "ratio", "peak MiB", "recall"]
    tables = [Table("The search", headers, search_rows(measured, sizes))]
    others = [[name, stage, measured[name].median(stage), measured[name].peak_mib()]
              for name in measured if name.startswith(("tasks", "merge", "votes"))
              for stage in measured[name].samples[0].passes[0].wall]  # fmt: skip
    note = (
        f"{2_000_000 // shrink:,} x 128 float32 from a store in 1.5 GiB of address space: fit {limited['fit']:.1f} s,"
        f" {limited['queries']} queries {limited['predict']:.1f} s, peak of the addresses {limited['peak']:.0f} MiB."
    )
    tables.append(Table("Tasks, merges, votes", ["", "stage", "s", "peak MiB"], others, [note]))
    show(tables)
    results = {name: one.describe() for name, one in measured.items()} | {"limited": limited}
    save(options, __doc__ or "", results, tables)


if __name__ == "__main__":
    main()
