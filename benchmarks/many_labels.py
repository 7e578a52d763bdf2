"""What do many labels cost, to the end: fit, predictions, metrics, thresholds, leaving out, updates, a file?

100,000 rows of 32 features (200 Gaussian centres), five labels a row by a power law, stored as CSR; 1,000 queries,
k = 10, one thread. Each method in a fresh process, which gets no more than 6 GiB of addresses: one dense matrix of
float64 of all rows and 50,000 labels has 37 GiB. CPU seconds, and by how many MiB memory rose in the step.

"refused" is an error before the step begins, which names the matrix, its size and what needs less; "ended" is a
MemoryError that came later. Steps named "dense" give, or need, a dense matrix of scores.

Run: ``python benchmarks/many_labels.py``; minutes. ``--quick`` for a twentieth of rows and labels.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from _harness import Goal, Job, Table, measure, parser_for, peak_of, print_facts, save, show
from large import cpu_of, labels_of, rows_of
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import micro_f1, precision_at_k
from nearlabel.neighbors import ExactNeighbors
from nearlabel.persistence import load_model, save_model
from nearlabel.thresholds import GlobalCut, MicroFOptimum, SCut, TunedThresholdsClassifierCV
from nearlabel.utils.messages import TooLargeError

N_ROWS, N_FEATURES, N_QUERIES, K = 100_000, 32, 1_000, 10
N_LABELS = (50_000, 500_000)
N_MOVED = 100  # rows that an update adds, and that are forgotten
GIB_OF_ADDRESSES = 6
METHODS = {"ML-kNN": MLkNN, "BRkNN": BRkNN}
MOST = 1_024  # MiB that a step may need that is not dense, with any number of labels
Figures = dict[str, Any]


def steps_of(method: Callable[..., Any], X: Any, Y: Any, queries: Any, truth: Any, folder: Path) -> Iterator[Any]:
    """Yield the name of each step and what it does."""
    model = method(K, search=ExactNeighbors(n_jobs=1))
    known: dict[str, Any] = {}

    def tuned(strategy: Any, cv: Any = "loo") -> Callable[[], Any]:
        inner = method(K, search=ExactNeighbors(n_jobs=1))
        return lambda: known.update(tuned=TunedThresholdsClassifierCV(inner, strategy, cv=cv).fit(X, Y))

    yield "fit", lambda: model.fit(X, Y)
    yield "predict", lambda: known.update(predicted=model.predict(queries))
    yield "predict_topk, 5 labels", lambda: model.predict_topk(queries, 5)
    yield "predict_proba_sparse", lambda: known.update(scores=model.predict_proba_sparse(queries))
    yield "predict_proba, dense", lambda: model.predict_proba(queries)
    yield "precision_at_k, of sparse scores", lambda: precision_at_k(truth, known["scores"], 5)
    yield "micro_f1", lambda: micro_f1(truth, known["predicted"])
    yield "loo_predict", model.loo_predict
    yield "loo_predict_proba, dense", model.loo_predict_proba
    yield "thresholds, SCut, by leaving out: fit", tuned(SCut())
    yield "thresholds, MicroFOptimum, by leaving out: fit", tuned(MicroFOptimum())
    yield "the same: predict", lambda: known["tuned"].predict(queries)
    yield "thresholds, MicroFOptimum, by 3 folds, dense: fit", tuned(MicroFOptimum(), 3)
    yield "thresholds, GlobalCut, by leaving out, dense: fit", tuned(GlobalCut())
    yield f"partial_fit, {N_MOVED} rows", lambda: model.partial_fit(queries[:N_MOVED], truth[:N_MOVED])
    yield f"forget, {N_MOVED} rows", lambda: model.forget(np.arange(N_MOVED))
    yield "save_model", lambda: save_model(model, folder / "model.skops")
    yield "load_model", lambda: load_model(folder / "model.skops")


def of_method(method: str, n: int, n_labels: int) -> dict[str, Figures]:
    """Return the figures of each step."""
    X, queries = rows_of(n, N_FEATURES, n_queries=N_QUERIES)
    everything = labels_of(n + N_QUERIES, n_labels)
    Y, truth = everything[:n], everything[n:]
    _limit_addresses()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, step in steps_of(METHODS[method], X, Y, queries, truth, Path(folder)):
            results[name] = _figures(step)
        results["the file"] = {"CPU s": None, "peak MiB": None, "MiB": _mib(Path(folder, "model.skops"))}
    return results


def _figures(step: Callable[[], Any]) -> Figures:
    figures: Figures = {}

    def run() -> None:
        try:
            step()
        except TooLargeError as error:
            figures["error"] = str(error)
            figures["said"] = "refused" if "that are free" in str(error) else "ended"

    peak = peak_of(lambda: figures.update({"CPU s": cpu_of(run)}))
    return figures | {"peak MiB": peak}


def _mib(file: Path) -> float:
    return file.stat().st_size / 2**20


def _limit_addresses() -> None:
    """Give this process no more addresses, where the system can."""
    try:
        import resource
    except ImportError:
        return
    n_bytes = GIB_OF_ADDRESSES * 2**30
    resource.setrlimit(resource.RLIMIT_AS, (n_bytes, resource.RLIM_INFINITY))


def prepare(method: str, n: int, n_labels: int) -> Mapping[str, Callable[[], Any]]:
    """Return the one stage of a method."""
    limits = threadpool_limits(1)
    return {"all": lambda: (limits, of_method(method, n, n_labels))[1]}


def tables_of(results: Mapping[str, Mapping[str, Any]], shapes: Sequence[str]) -> list[Table]:
    """Return a table for each method: steps, and time and memory with each number of labels."""
    headers = ["step", *(f"{shape}: {figure}" for shape in shapes for figure in ("CPU s", "peak MiB"))]
    tables = []
    for method in METHODS:
        rows = []
        for step, first in results[f"{method}, {shapes[0]}"].items():
            if "MiB" in first:
                sizes = [results[f"{method}, {shape}"][step]["MiB"] for shape in shapes]
                rows.append((f"{step}, MiB", *(cell for size in sizes for cell in (None, size))))
                continue
            of = [results[f"{method}, {shape}"][step] for shape in shapes]
            pairs = [(one.get("said", one["CPU s"]), one["peak MiB"]) for one in of]
            rows.append((step, *(cell for pair in pairs for cell in pair)))
        tables.append(Table(method, headers, rows))
    return tables


def goals_of(results: Mapping[str, Mapping[str, Any]]) -> list[Goal]:
    """Return what was to be reached: steps take little beside a dense matrix of all rows and labels, or are refused."""
    goals = []
    for name, steps in results.items():
        largest = max(one["peak MiB"] or 0 for step, one in steps.items() if "dense" not in step)

        goals.append(Goal(f"{name}: the most of a step that is not dense, MiB", "at most", MOST, largest))
        begun = [step for step, one in steps.items() if one.get("said") == "ended"]
        goals.append(Goal(f"{name}: steps that end after they began", "at most", 0, len(begun)))
    return goals


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    options = parser_for(__doc__ or "", "many_labels", repeats=1).parse_args(arguments)
    shrink = 20 if options.quick else 1
    n = N_ROWS // shrink
    shapes = [f"{n:,} x {n_labels // shrink:,}" for n_labels in N_LABELS]
    jobs = [
        Job(f"{method}, {shape}", prepare, (method, n, n_labels // shrink))
        for method in METHODS
        for n_labels, shape in zip(N_LABELS, shapes, strict=True)
    ]
    measured = measure(jobs, 1)
    results = {name: one.answer for name, one in measured.items()}
    print_facts()
    show(tables_of(results, shapes), goals_of(results))
    save(options, __doc__ or "", results, tables_of(results, shapes), goals_of(results))


if __name__ == "__main__":
    main()
