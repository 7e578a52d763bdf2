"""How fast does a GPU find the neighbours of all rows, and how many queries does it leave to the processor?

Each row's ten nearest others, of a million rows with 300 features, without clusters and in 200 of them; and fewer rows.
"fit" packs the rows and puts them on the device; "all pairs" is the search. "twice" is the share of queries that eight
bits of a coordinate cannot resolve, "left" the share that the processor answers. "same sets" is the share of 50 rows
whose set of neighbours is that of plain float64 differences, equal distances ordered by index.

Without a GPU this says so and measures nothing. ``--device cpu --quick`` is a look at the script by the arrays of the
processor, and no figure of a GPU. Needs torch (extra ``gpu``).

Run: ``python benchmarks/gpu.py``; ``--quick`` for a fiftieth of the rows.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from _harness import Goal, Job, Measurement, Table, measure, parser_for, print_facts, save, show
from _reference import agreement, nearest_by_differences
from nearlabel.neighbors import ExactNeighbors
from nearlabel.neighbors.optional._device import DeviceSearch

K, N_SAMPLED, N_CLUSTERS = 10, 50, 200
SHAPES = [(1_000_000, 300), (1_000_000, 96), (100_000, 300), (100_000, 64)]
KINDS = ("Gaussian", "clusters")
GOAL_SHAPE, GOAL_SECONDS = SHAPES[0], 10.0
HEADERS = ("rows", "shape", "fit s", "all pairs s", "twice", "left", "same sets", "peak MiB", "processes/passes")


def rows_of(kind: str, n: int, d: int) -> NDArray[np.float32]:
    """Return rows; clusters are a third as wide as their centres are apart."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=np.float32)
    if kind == "clusters":
        X += 3 * rng.standard_normal((N_CLUSTERS, d), dtype=np.float32)[rng.integers(0, N_CLUSTERS, n)]
    return X


def gpu_name() -> str | None:
    """Return what torch calls the first GPU; None if there is none, or no torch."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else None


def prepare(kind: str, n: int, d: int, device: str) -> Mapping[str, Callable[[], Any]]:
    """Return the fit and the search, warmed up; the answer is the shares of queries searched again and of same sets."""
    X, some = rows_of(kind, n, d), np.linspace(0, n - 1, N_SAMPLED, dtype=int)
    reference = nearest_by_differences(X, X[some], K + 1, "euclidean")[:, 1:]  # the first is the row itself
    ExactNeighbors(device=device).fit(X[:5000]).kneighbors(n_neighbors=K)
    search, again, found = ExactNeighbors(device=device), {1: 0, 2: 0}, {}
    resolve = DeviceSearch._resolve

    def counted(self: Any, X: Any, numbers: Any, *others: Any, **options: Any) -> None:
        again[self._n_pieces] += len(numbers)
        resolve(self, X, numbers, *others, **options)

    DeviceSearch._resolve = counted  # type: ignore[method-assign]

    def all_pairs() -> None:
        again.update({1: 0, 2: 0})
        found["indices"] = search.kneighbors(n_neighbors=K, return_distance=False)

    def check() -> dict[str, float]:
        same = agreement(found["indices"][some], reference)
        return {"twice": again[1] / n, "left": again[2] / n, "same sets": same}

    return {"fit": lambda: search.fit(X), "all pairs": all_pairs, "check": check}


def row_of(name: str, measured: Measurement) -> dict[str, Any]:
    """Return the figures of a job."""
    seconds = {stage: measured.minimum(stage) for stage in ("fit", "all pairs")}
    return {**seconds, **measured.answer, "peak MiB": measured.peak_mib(), "runs": measured.n_runs}


def main() -> None:
    """Measure, print and save; or say that there is no GPU."""
    parser = parser_for(__doc__, "gpu", repeats=2)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    name = gpu_name()
    if options.device != "cpu" and name is None:
        print("There is no GPU that torch finds here: nothing is measured.")
        return
    print_facts()
    print("By the arrays of the processor." if options.device == "cpu" else name)
    shrink = 50 if options.quick else 1
    cases = [(kind, n // shrink, d) for n, d in SHAPES for kind in KINDS]
    jobs = [Job(f"{kind}, {n:,} x {d}", prepare, (kind, n, d, options.device)) for kind, n, d in cases]
    results = {name: row_of(name, found) for name, found in measure(jobs, options.repeats).items()}
    rows = [(*name.split(", ", 1), *figures.values()) for name, figures in results.items()]
    table = Table(f"All pairs, k = {K}, {options.device}", HEADERS, rows)
    goals = [
        Goal(f"{kind}, {GOAL_SHAPE[0]:,} x {GOAL_SHAPE[1]}: seconds of all pairs", "at most", GOAL_SECONDS, found)
        for kind in KINDS
        for found in [results.get(f"{kind}, {GOAL_SHAPE[0]:,} x {GOAL_SHAPE[1]}", {}).get("all pairs")]
    ]
    show([table], goals)
    save(options, __doc__, {"gpu": name, **results}, [table], goals)


if __name__ == "__main__":
    main()
