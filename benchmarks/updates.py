"""What does it cost when rows come and go: `partial_fit` and `forget` of ML-kNN, beside a fit of the same rows?

The model is then the same to the bit. "first" is the first row after a fit, when it is found out how far each row's
list of neighbours reaches; the others are later ones, the mean of five. Clustered rows, but in "sparse", where 2 % of
1,000 features are set; 20 labels, k = 10, one thread. "store" reads its rows from a store on disk; "cluster" is
`DaskNeighbors` with two workers that are threads of the process, and nothing is asked of it.

The competitor is the fit: one row should cost at most a 200th of it, 1,000 rows a tenth, at 100,000 rows.

Run: ``python benchmarks/updates.py``; ``--quick`` for 10,000 rows, of which 1,000 are so many that it is no gain.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, LocalCluster
from scipy import sparse

from _harness import Goal, Job, Measurement, Table, measure, parser_for, peak_of, print_facts, save, show
from nearlabel.datasets import open_store, write_store
from nearlabel.lazy import MLkNN
from nearlabel.neighbors import DaskNeighbors, ExactNeighbors

KINDS = ("dense", "float32", "cosine", "sparse", "store", "cluster")
STAGES = ("fit", "add 1, first", "add 1", "add 1,000", "forget 1", "forget 1,000")
MANY, TIMES = 1_000, 5
GOALS = {"add 1": 1 / 200, "forget 1": 1 / 200, "add 1,000": 1 / 10, "forget 1,000": 1 / 10}
PATIENCE = 1_000.0


def rows_of(kind: str, n_rows: int, n_features: int) -> Any:
    """Return clustered rows, or sparse ones."""
    rng = np.random.default_rng(0)
    if kind == "sparse":
        return sparse.random_array((n_rows, 10 * n_features), density=0.02, rng=rng, format="csr")
    centres = rng.normal(size=(200, n_features))
    X = centres[rng.integers(0, 200, n_rows)] + rng.normal(size=(n_rows, n_features))
    return X.astype(np.float32) if kind in ("float32", "store", "cluster") else X


def search_of(kind: str) -> Any:
    """Return the search of a kind."""
    if kind == "cluster":
        plain = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": "CRITICAL"}
        cluster = LocalCluster(n_workers=2, processes=False, memory_limit=None, **plain)
        return DaskNeighbors(shard_rows=25_000, client=Client(cluster))
    return ExactNeighbors("cosine" if kind == "cosine" else "euclidean", n_jobs=1)


def prepare(kind: str, n_rows: int, n_features: int) -> Mapping[str, Callable[[], Any]]:
    """Return a fit and the updates after it; the last stage gives the peaks of memory of all updates, in MiB."""
    X = rows_of(kind, n_rows + 2 * MANY, n_features)
    Y = (np.random.default_rng(1).random((X.shape[0], 20)) < 0.1).astype(np.uint8)
    some = np.random.default_rng(2).permutation(n_rows)
    known = X[:n_rows]
    if kind == "store":
        known = open_store(write_store(Path(tempfile.mkdtemp()) / "rows", known))
    model = MLkNN(10, search=search_of(kind)).fit(known[:500], Y[:500])
    peaks: dict[str, float] = {}

    def add(start: int, stop: int) -> None:
        model.partial_fit(X[n_rows + start : n_rows + stop], Y[n_rows + start : n_rows + stop])

    def noted(name: str, update: Callable[[], Any]) -> Callable[[], Any]:
        def stage() -> dict[str, float]:
            peaks[name] = peak_of(update)
            return peaks

        return stage

    return {
        "fit": lambda: model.fit(known, Y[:n_rows]),
        "add 1, first": noted("add 1, first", lambda: add(0, 1)),
        "add 1": noted("add 1", lambda: [add(i, i + 1) for i in range(1, 1 + TIMES)]),
        "add 1,000": noted("add 1,000", lambda: add(MANY, 2 * MANY)),
        "forget 1": noted("forget 1", lambda: [model.forget([int(some[i])]) for i in range(TIMES)]),
        "forget 1,000": noted("forget 1,000", lambda: model.forget(some[some < n_rows - TIMES][:MANY])),
    }


def seconds_of(measured: Measurement, stage: str) -> float:
    """Return CPU seconds of a stage, of one update where it makes several."""
    return measured.minimum(stage, "cpu") / (TIMES if stage in ("add 1", "forget 1") else 1)


def row_of(name: str, measured: Measurement) -> list[Any]:
    """Return seconds of the fit, and of each update with the part of the fit that it is."""
    fit = seconds_of(measured, "fit")
    cells: list[Any] = [name, fit]
    for stage in STAGES[1:]:
        seconds = seconds_of(measured, stage)
        cells.append(f"{seconds:.3f} (1/{fit / seconds:.0f})")
    return [*cells, f"{measured.answer['add 1']:.0f}", f"{max(measured.answer.values()):.0f}"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and save."""
    options = parser_for(__doc__ or "", "updates", repeats=1).parse_args(arguments)
    n_rows = 10_000 if options.quick else 100_000
    widths = {kind: "1,000" if kind == "sparse" else "100" for kind in KINDS}
    large = {kind: Job(f"{n_rows:,} x {widths[kind]}, {kind}", prepare, (kind, n_rows, 100)) for kind in KINDS}
    small = Job("10,000 x 50, dense", prepare, ("dense", 10_000, 50))
    measured = measure([*large.values(), small], options.repeats, PATIENCE)

    print_facts()
    headers = ["CPU seconds", *STAGES, "peak MiB of adding 1", "of any"]
    rows = [row_of(name, one) for name, one in measured.items()]
    tables = [Table("Updates of ML-kNN, and which part of a fit they are", headers, rows)]
    goals = [
        Goal(f"{stage}, {kind}: part of a fit", "at most", limit, seconds_of(one, stage) / seconds_of(one, "fit"))
        for kind, one in ((kind, measured[job.name]) for kind, job in large.items() if kind != "cluster")
        for stage, limit in GOALS.items()
        if not options.quick
    ]
    show(tables, goals)
    save(options, __doc__ or "", {name: one.describe() for name, one in measured.items()}, tables, goals)


if __name__ == "__main__":
    main()
