"""What do a search's other uses cost where data are large: stores, clusters, all rows, one query, fit and loading?

Rows: Gaussian centres (200; all rows: 500) and their scatter, both of spread one, float32; for the cosine of length
one; queries are rows with noise of 0.1. One thread, CPU seconds, each in a fresh process.

- "a fit": of the search, beside adding to faiss's flat index.
- "one query": the median and the 99th percentile of 200 queries, one at a time, k = 10.
- "all rows": the neighbours of each row (k = 11). "of products" is the share of all pairs of rows that were multiplied:
  0.5 if each is once. "of queries" is CPU over that of as many queries as there are rows, which includes the rest.
  "peak" is above data and fit, without the answer itself.
- "a store": 1,500 queries, rows mapped from a file, over the same in memory; once with packed rows in memory (as where
  they fit into a quarter of what is free), once packed again for each tile of queries.
- "a cluster": two local workers of Dask, from their start to the answer, beside one process with two threads: wall
  seconds.
- "votes on a cluster": ML-kNN, 64 features, 100 labels, from stores: `fit`, and `predict_proba` of 20,000 queries in a
  dask array, by local workers; 0 workers: one process with two threads, from memory. Seconds, CPU of all processes, and
  the peak of memory in the process that asks, above what it used before; pages of X that it checks count.
- "leaving out": `loo_predict` of ML-kNN, 100,000 rows with five of 3,000 labels by a power law, neighbours known.
- "a file": saving and loading a fitted search, "load" with `mmap_mode="r"`, "read" into memory.

Run: ``python benchmarks/large.py``; a quarter of an hour, 6 GB. ``--quick`` for a twentieth of all rows;
``--only`` for some tasks.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from _harness import Goal, Job, Table, measure, parser_for, peak_of, print_facts, save, show
from nearlabel.datasets import open_store, write_store
from nearlabel.lazy import MLkNN
from nearlabel.neighbors import DaskNeighbors, ExactNeighbors
from nearlabel.neighbors.exact import _kernel_search
from nearlabel.neighbors.exact._kernel_search import KernelLists
from nearlabel.persistence import load_model, save_model

Figures = dict[str, float | None]
K, N_SINGLE, N_OF_ALL, N_QUERIES, N_LABELS = 10, 200, 4_000, 20_000, 100


def rows_of(n: int, d: int, *, unit_length: bool = False, n_centres: int = 200, n_queries: int = 2_000) -> Any:
    """Return rows and queries."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((n_centres, d), dtype=np.float32)
    X = centres[rng.integers(0, n_centres, n)] + rng.standard_normal((n, d), dtype=np.float32)
    queries = X[rng.integers(0, n, n_queries)] + np.float32(0.1) * rng.standard_normal((n_queries, d), dtype=np.float32)
    if unit_length:
        for part in (X, queries):
            part /= np.linalg.norm(part, axis=1, keepdims=True)
    return X, queries


def cpu_of(call: Callable[[], Any], n_calls: int = 1) -> float:
    """Return the least CPU seconds of some calls."""
    seconds = []
    for _ in range(n_calls):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


def faiss_index(X: Any) -> Any:
    """Return an empty index of inner products, or None where faiss is not installed."""
    try:
        import faiss
    except ImportError:
        return None
    faiss.omp_set_num_threads(1)
    return faiss.IndexFlatIP(X.shape[1])


def of_fit(n: int, d: int) -> Figures:
    """Time a fit by the cosine."""
    X, _ = rows_of(n, d, unit_length=True)
    index = faiss_index(X)
    return {
        "nearlabel": cpu_of(lambda: ExactNeighbors("cosine", n_jobs=1).fit(X), 3),
        "faiss": None if index is None else cpu_of(lambda: (index.reset(), index.add(X)), 3),
    }


def of_single_queries(n: int, d: int) -> Figures:
    """Time queries one at a time, by the cosine."""
    X, queries = rows_of(n, d, unit_length=True, n_queries=N_SINGLE)
    search, index = ExactNeighbors("cosine", n_jobs=1).fit(X), faiss_index(X)
    seconds = [cpu_of(lambda query=query: search.kneighbors(query[np.newaxis], K)) for query in queries]
    figures: Figures = {"p50": float(np.median(seconds)), "p99": float(np.quantile(seconds, 0.99)), "faiss p50": None}
    if index is not None:
        index.add(X)
        others = [cpu_of(lambda query=query: index.search(query[np.newaxis], K)) for query in queries]
        figures["faiss p50"] = float(np.median(others))
    return figures


def of_all_rows(n: int, d: int) -> Figures:
    """Time the neighbours of all rows beside those of some."""
    X, _ = rows_of(n, d, n_centres=500)
    search, seconds, products = ExactNeighbors(n_jobs=1).fit(X), {}, [0]
    offer = KernelLists.offer

    def counted(lists: KernelLists, rows: Any, numbers: Any, queries: Any, places: Any, *rest: Any) -> None:
        products[0] += len(numbers) * np.count_nonzero(places >= 0)
        offer(lists, rows, numbers, queries, places, *rest)

    answer = 16 * n * (K + 1) / 2**20
    with patch.object(KernelLists, "offer", counted):
        peak = peak_of(lambda: seconds.update(own=cpu_of(lambda: search.kneighbors(None, K + 1))))
    as_queries = cpu_of(lambda: search.kneighbors(X[:N_OF_ALL], K + 1), 2) * n / min(n, N_OF_ALL)
    return {
        "CPU s": seconds["own"],
        "of products": products[0] / n**2,
        "of queries": seconds["own"] / as_queries,
        "peak MiB": peak - answer,
    }


def of_store(n: int, d: int) -> Figures:
    """Time queries of mapped rows beside those of rows in memory."""
    X, queries = rows_of(n, d, n_queries=1_500)
    with tempfile.TemporaryDirectory() as folder:
        mapped, seconds = open_store(write_store(Path(folder, "X"), X)), {}
        for name, rows, share in (("memory", X, 0.25), ("packed", mapped, 0.25), ("again", mapped, 0.0)):
            _kernel_search._MOST_OF_MEMORY = share
            search = ExactNeighbors(n_jobs=1).fit(rows)
            seconds[name] = cpu_of(lambda search=search: search.kneighbors(queries, K), 5)
    return {"memory": seconds["memory"], **{of: seconds[of] / seconds["memory"] for of in ("packed", "again")}}


def of_cluster(n: int, d: int) -> Figures:
    """Time two local workers, from their start to the answer, beside one process with two threads."""
    X, queries = rows_of(n, d)
    figures: Figures = {}

    @contextlib.contextmanager
    def timed(name: str) -> Any:
        start = time.perf_counter()
        yield
        figures[name] = time.perf_counter() - start

    with timed("two threads"):
        ExactNeighbors(n_jobs=2).fit(X).kneighbors(queries, K)
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        with timed("start"):
            cluster = stack.enter_context(LocalCluster(2, threads_per_worker=1, dashboard_address=None))
            client = stack.enter_context(Client(cluster))
        search = stack.enter_context(DaskNeighbors(shard_rows=-(-n // 2), client=client))
        with timed("fit"):
            search.fit(X)
        with timed("first queries"):
            search.kneighbors(queries, K)
        with timed("queries again"):
            search.kneighbors(queries, K)
    return figures


def of_votes(n: int, n_workers: int) -> Figures:
    """Time ML-kNN whose label sets, lists and scores stay in files of workers; 0 workers: in one process."""
    X, queries = rows_of(n, 64, n_queries=min(n, N_QUERIES))
    Y = X[:, [0]] + np.random.default_rng(1).standard_normal((n, N_LABELS), dtype=np.float32) > 1
    if not n_workers:
        model = MLkNN(K, search=ExactNeighbors(n_jobs=2))
        return _votes(model, (X, Y), queries, time.process_time)
    from distributed import Client, LocalCluster

    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        paths = [write_store(Path(folder, name), rows) for name, rows in (("X", X), ("Y", Y), ("Q", queries))]
        n_queries, size = len(queries), N_QUERIES // 5
        del X, Y, queries
        cluster = stack.enter_context(LocalCluster(n_workers, threads_per_worker=1, dashboard_address=None))
        client = stack.enter_context(Client(cluster))
        model = MLkNN(K, search=DaskNeighbors(shard_rows=-(-n // 4), client=client, folder=folder))
        model.fit(*(open_store(path)[:1_000] for path in paths[:2]))  # processes, imports, kernels
        in_blocks = _read_by_workers(paths[2], n_queries, size)
        model.predict_proba(in_blocks[:100])
        return _votes(
            model,
            [open_store(path) for path in paths[:2]],
            in_blocks,
            lambda: time.process_time() + sum(client.run(time.process_time).values()),
        )


def _votes(model: MLkNN, data: Sequence[Any], queries: Any, cpu: Callable[[], float]) -> Figures:
    figures: Figures = {}
    for name, call in (("fit", lambda: model.fit(*data)), ("predict", lambda: model.predict_proba(queries))):
        start, cpu_before = time.perf_counter(), cpu()
        peak = peak_of(call)
        figures |= {f"{name}, wall": time.perf_counter() - start, f"{name}, CPU": cpu() - cpu_before}
        figures[f"{name}, MiB"] = peak
    return figures


def _read_by_workers(path: Path, n_rows: int, size: int) -> Any:
    """Return a dask array whose blocks are rows of a store, which does not pass through this process."""
    import dask
    import dask.array as da

    def block_of(start: int) -> Any:
        stop = min(start + size, n_rows)
        read = dask.delayed(lambda: open_store(path)[start:stop])()
        return da.from_delayed(read, (stop - start, 64), np.float32)

    return da.concatenate([block_of(start) for start in range(0, n_rows, size)])


def of_leaving_out(n: int, n_labels: int) -> Figures:
    """Time left-out label sets of sparse labels."""
    X, Y = rows_of(n, 4)[0], labels_of(n, n_labels)
    model = MLkNN(K, search=ExactNeighbors(n_jobs=1)).fit(X, Y)
    return {"CPU s": cpu_of(model.loo_predict, 2), "fit, CPU s": cpu_of(lambda: model.fit(X, Y))}


def labels_of(n: int, n_labels: int) -> Any:
    """Return five labels a row by a power law; some come twice."""
    rng, weights = np.random.default_rng(1), 1 / np.arange(1, n_labels + 1)
    label = rng.choice(n_labels, 5 * n, p=weights / weights.sum())
    Y = sparse.csr_array((np.ones(5 * n, dtype=np.int8), (np.repeat(np.arange(n), 5), label)), shape=(n, n_labels))
    Y.data[:] = 1
    return Y


def of_model(n: int, d: int) -> Figures:
    """Time the file of a model."""
    X, _ = rows_of(n, d, unit_length=True)
    search = ExactNeighbors("cosine", n_jobs=1)
    fit = cpu_of(lambda: search.fit(X))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "search.skops")
        save_s = cpu_of(lambda: save_model(search, path))
        return {
            "fit": fit,
            "save": save_s,
            "load": cpu_of(lambda: load_model(path, mmap_mode="r")),
            "read": cpu_of(lambda: load_model(path)),
            "MiB": path.stat().st_size / 2**20,
        }


TASKS: Mapping[str, tuple[Callable[..., Figures], Sequence[tuple[int, int]]]] = {
    "a fit, cosine, CPU s": (of_fit, [(100_000, 768), (1_000_000, 384)]),
    "one query, cosine, CPU s": (of_single_queries, [(100_000, 384), (1_000_000, 384)]),
    "all rows, k = 11": (of_all_rows, [(20_000, 64), (120_000, 96), (300_000, 64), (500_000, 64)]),
    "a store, CPU s, and over memory": (of_store, [(60_000, 96)]),
    "a cluster, wall s": (of_cluster, [(40_000, 64)]),
    "votes on a cluster, rows x workers": (of_votes, [(n, w) for n in (40_000, 200_000) for w in (0, 2, 4)]),
    "leaving out, rows x labels": (of_leaving_out, [(100_000, 3_000)]),
    "a search in a file, cosine, CPU s": (of_model, [(1_000_000, 384)]),
}


def prepare(task: str, n: int, d: int) -> Mapping[str, Callable[[], Any]]:
    """Return the one stage of a task."""
    limits = threadpool_limits(1)
    return {"all": lambda: (limits, TASKS[task][0](n, d))[1]}


def tables_of(results: Mapping[str, Mapping[str, Figures]]) -> list[Table]:
    """Return a table for each task."""
    return [
        Table(task, ("rows", *next(iter(of_task.values()))), [(shape, *one.values()) for shape, one in of_task.items()])
        for task, of_task in results.items()
    ]


def goals_of(results: Mapping[str, Mapping[str, Figures]]) -> list[Goal]:
    """Return what was to be reached."""

    def goal(task: str, shape: str, figure: str, limit: float) -> Goal:
        found = results.get(task, {}).get(shape, {}).get(figure)
        return Goal(f"{task}: {shape}, {figure}", "at most", limit, found)

    return [
        goal("a fit, cosine, CPU s", "100,000 x 768", "nearlabel", 0.5),
        goal("one query, cosine, CPU s", "100,000 x 384", "p50", 0.005),
        *(
            goal("all rows, k = 11", shape, "of products", 0.55)
            for shape in ("120,000 x 96", "300,000 x 64", "500,000 x 64")
        ),
        goal("all rows, k = 11", "500,000 x 64", "peak MiB", 512),
        goal("a store, CPU s, and over memory", "60,000 x 96", "packed", 1.3),
        goal("a store, CPU s, and over memory", "60,000 x 96", "again", 1.3),
        goal("leaving out, rows x labels", "100,000 x 3,000", "CPU s", 2.1),
        goal("a search in a file, cosine, CPU s", "1,000,000 x 384", "load", 1.0),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    parser = parser_for(__doc__ or "", "large", repeats=1)
    parser.add_argument(
        "--only", metavar="WORDS", help="measure tasks with these words, and keep the figures of others"
    )
    options = parser.parse_args(arguments)
    shrink = 20 if options.quick else 1
    jobs = {
        (task, f"{n // shrink:,} x {d:,}"): Job(f"{task}: {n // shrink:,} x {d:,}", prepare, (task, n // shrink, d))
        for task, (_, shapes) in TASKS.items()
        for n, d in shapes
        if options.only is None or options.only in task
    }
    measured = measure(list(jobs.values()), 1)
    results: dict[str, dict[str, Figures]] = {}
    if options.only is not None:
        results = json.loads(options.out.read_text())["results"]
    for (task, shape), job in jobs.items():
        results.setdefault(task, {})[shape] = measured[job.name].answer
    print_facts()
    show(tables_of(results), goals_of(results))
    save(options, __doc__ or "", results, tables_of(results), goals_of(results))


if __name__ == "__main__":
    main()
