"""What does an approximate search save and cost a model, end to end, and from which size on does it pay?

Rows of 64 features, float32, about a surface of 8 dimensions with 2,000 clusters; 30 labels, each of the rows in some
balls of that surface (about a tenth of the rows; of the cells 2 % are wrong). ML-kNN; k (1 to 20) and thresholds for
micro F1 are chosen by leaving one out, on the lists that the search finds. One thread, CPU seconds, each search in a
fresh process, with its default parameters.

- "fit": building the index, or packing the rows of the exact search.
- "all rows": the 21 neighbours of each row, which the choices need: with "fit", what the search costs a fitted model.
- "choices": the number of neighbours and thresholds, with known neighbours; the same work for each search.
- "a query": in milliseconds, of 2,000 at once, 10 neighbours.
- "recall": the share of the true 10 neighbours that is found of 1,000 rows, as ``nearlabel fit`` prints it; "its cost"
  is what that takes.
- "micro F1": of 2,000 new rows, by their true labels.

Run: ``python benchmarks/approximate_models.py``; half an hour, 4 GB. ``--quick`` for a twentieth of all rows;
``--page`` writes ``docs/approximate.md``; ``--keep`` keeps figures of the file of results. Needs the extra ``ann``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from _harness import Goal, Job, Table, lines_of, measure, parser_for, print_facts, save, show, write_figures
from large import cpu_of
from nearlabel.lazy import MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.neighbors import (
    ExactNeighbors,
    FaissIVFNeighbors,
    NeighborGraph,
    PrecomputedNeighbors,
    UsearchNeighbors,
)
from nearlabel.thresholds import TunedThresholdsClassifierCV

PAGE = Path(__file__).parents[1] / "docs" / "approximate.md"
SIZES = (30_000, 300_000, 1_000_000)
N_FEATURES, N_SURFACE, N_CLUSTERS, N_LABELS, N_QUERIES, K, MOST = 64, 8, 2_000, 30, 2_000, 10, 20
EXACT = "ExactNeighbors"
SEARCHES: Mapping[str, Callable[[], Any]] = {
    EXACT: lambda: ExactNeighbors(n_jobs=1),
    "FaissIVFNeighbors": lambda: FaissIVFNeighbors(n_jobs=1),
    "UsearchNeighbors": lambda: UsearchNeighbors(n_jobs=1),
}
COLUMNS = ("fit", "all rows", "choices", "a query", "recall", "its cost", "k", "micro F1")
Figures = dict[str, Any]


def data_of(n: int) -> tuple[Any, Any, Any, Any]:
    """Return rows and their labels, queries and theirs."""
    rng = np.random.default_rng(0)
    n_all = n + N_QUERIES
    centres = 2 * rng.standard_normal((N_CLUSTERS, N_SURFACE))
    places = centres[rng.integers(0, N_CLUSTERS, n_all)] + rng.standard_normal((n_all, N_SURFACE))
    X = (places @ rng.standard_normal((N_SURFACE, N_FEATURES))).astype(np.float32)
    X += np.float32(0.3) * rng.standard_normal(X.shape, dtype=np.float32)
    Y = np.empty((n_all, N_LABELS), dtype=np.int8)
    for label in range(N_LABELS):
        middle = centres[rng.integers(0, N_CLUSTERS)]
        distances = np.square(places - middle).sum(axis=1)
        Y[:, label] = distances < np.quantile(distances[:10_000], 0.1)
    Y ^= (rng.random(Y.shape, dtype=np.float32) < 0.02).astype(np.int8)
    return X[:n], Y[:n], X[n:], Y[n:]


def of_search(name: str, n: int) -> Figures:
    """Return the figures of a search on so many rows."""
    X, Y, queries, truth = data_of(n)
    search, known = SEARCHES[name](), {}
    SEARCHES[name]().fit(X[:2_000]).kneighbors(queries[:10], K)  # imports the library
    figures: Figures = {"fit": cpu_of(lambda: search.fit(X))}
    figures["a query"] = 1000 * cpu_of(lambda: search.kneighbors(queries, K), 2) / N_QUERIES
    figures["all rows"] = cpu_of(lambda: known.update(training=search.kneighbors(None, MOST + 1)))
    found = PrecomputedNeighbors(
        NeighborGraph(*known["training"]), (NeighborGraph(*search.kneighbors(queries, MOST + 1)),)
    )
    model = TunedThresholdsClassifierCV(MLkNN("auto", search=found), cv="loo")
    figures["choices"] = cpu_of(lambda: model.fit(X, Y))
    figures |= {"k": model.estimator_.n_neighbors_, "micro F1": micro_f1(truth, model.predict(queries))}
    figures |= {"recall": 1.0, "its cost": None}
    if name != EXACT:
        figures["its cost"] = cpu_of(lambda: figures.update(recall=search.recall(1_000, K)))
    return figures


def prepare(name: str, n: int) -> Mapping[str, Callable[[], Any]]:
    """Return the one stage of a search."""
    limits = threadpool_limits(1)
    return {"all": lambda: (limits, of_search(name, n))[1]}


def tables_of(results: Mapping[str, Mapping[str, Figures]]) -> list[Table]:
    """Return a table of all sizes, a heading before each."""
    rows: list[Sequence[Any]] = []
    for size, of_size in results.items():
        rows.append((f"{size} rows",))
        exact = of_size.get(EXACT)
        for name, one in of_size.items():
            gain = None if exact is None else _cost(exact) / _cost(one)
            rows.append((name, *(_cell(column, one[column]) for column in COLUMNS), gain))
    headers = ("search", *("a query, ms" if name == "a query" else name for name in COLUMNS), "times faster")
    return [Table("ML-kNN by exact and approximate neighbours", headers, rows)]


def _cell(column: str, value: Any) -> Any:
    return f"{value:.3f}" if column in ("recall", "micro F1") and value is not None else value


def _cost(one: Figures) -> float:
    """Return what the search costs a model, in seconds."""
    return float(one["fit"] + one["all rows"])


def goals_of(results: Mapping[str, Mapping[str, Figures]]) -> list[Goal]:
    """Return what was to be reached: approximate neighbours cost next to nothing in micro F1."""
    return [
        Goal(
            f"{name}, {size} rows: micro F1 below the exact search's",
            "at most",
            0.005,
            of[EXACT]["micro F1"] - one["micro F1"],
        )
        for size, of in results.items()
        for name, one in of.items()
        if name != EXACT and EXACT in of
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    parser = parser_for(__doc__ or "", "approximate_models", repeats=1)
    parser.add_argument("--page", action="store_true", help="write docs/approximate.md")
    parser.add_argument("--keep", action="store_true", help="measure only what the file of results lacks")
    options = parser.parse_args(arguments)
    results: dict[str, dict[str, Figures]] = {}
    if options.keep and options.out.exists():
        results = json.loads(options.out.read_text())["results"]
    for n in [size // (20 if options.quick else 1) for size in SIZES]:
        of_size = results.setdefault(f"{n:,}", {})
        for name in SEARCHES:
            if name not in of_size:
                of_size[name] = measure([Job(f"{name}, {n:,}", prepare, (name, n))], 1)[f"{name}, {n:,}"].answer
                save(options, __doc__ or "", results, tables_of(results), goals_of(results))
    print_facts()
    show(tables_of(results), goals_of(results))
    save(options, __doc__ or "", results, tables_of(results), goals_of(results))
    if options.page:
        write_figures(PAGE, lines_of(json.loads(options.out.read_text())))


if __name__ == "__main__":
    main()
