"""How fast, how small and how right are ML-kNN and BRkNN beside other libraries and plain Python loops?

Problems: "yeast", the published split (1500 training rows, 917 queries, 103 features, 14 labels); "large", seeded
(20,000 training rows, 2,000 queries, 100 features, 100 labels); "labels", seeded as well (5,000 training rows, 500
queries, 64 features, 1,000 labels). All libraries run with their default search and default number of threads;
"nearlabel" has the fastest level of the kernels that this processor runs, the other levels follow ("off": numpy's
engine; bf16, which needs AMX, has not been measured yet, since no processor with it was at hand). Where an answer
differs from nearlabel's, variants of nearlabel are run and compared, so that the reason given is computed.

"fit s" and "predict s" are wall seconds, medians; "least s" is the least of fit and predict together. "ratio" is fit
and predict over nearlabel's, medians: above 1 is slower than nearlabel; "of least" that of the least of each, "fit
ratio" that of the fit alone. "peak MiB" is above imports and data.

Run: ``python benchmarks/peers.py``; ``--quick`` for a look. Needs ``NEARLABEL_DATA`` or the net.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from _engines import LEVELS
from _harness import Goal, Job, Measurement, Table, measure, parser_for, print_facts, save, show
from _loops import LoopBRkNN, LoopMLkNN
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.neighbors import ExactNeighbors, NeighborGraph, PrecomputedNeighbors, kernel_level, kernel_levels

OURS = "nearlabel"
_PIP = {"skmultilearn": "pip install scikit-multilearn-ng"}


class Data(NamedTuple):
    """Training rows, their label sets, queries."""

    X: NDArray
    Y: NDArray
    queries: NDArray


class Peer(NamedTuple):
    """A competitor: its name, the module it needs, how to make its model for k neighbours, and our level."""

    name: str
    module: str
    make: Callable[[int], Any]
    level: str = "auto"


def yeast() -> Data:
    """Return the published split of yeast, features as they are."""
    training, test = fetch_dataset("yeast", "train"), fetch_dataset("yeast", "test")
    return Data(training.X, training.Y, test.X)


def large(n_rows: int = 20_000, n_queries: int = 2_000, n_features: int = 100, n_labels: int = 100) -> Data:
    """Return clustered Gaussian rows; labels depend on the cluster, and some are rare.

    60 clusters of unequal size; a cluster's label sets draw on four labels, taken by a Zipf law, each carried by 30 to
    95 % of its rows; and every label is carried by 2 rows in 1,000 besides.
    """
    rng = np.random.default_rng(20080402)
    n_clusters, n = 60, n_rows + n_queries
    cluster = rng.choice(n_clusters, n, p=rng.dirichlet(np.full(n_clusters, 2.0)))
    X = rng.normal(scale=0.5, size=(n_clusters, n_features))[cluster] + rng.normal(size=(n, n_features))
    zipf = 1 / np.arange(1, n_labels + 1)
    share = np.full((n_clusters, n_labels), 0.002)
    for row in share:
        row[rng.choice(n_labels, 4, replace=False, p=zipf / zipf.sum())] = rng.uniform(0.3, 0.95, 4)
    Y = (rng.random((n, n_labels)) < share[cluster]).astype(np.int64)
    return Data(X[:n_rows], Y[:n_rows], X[n_rows:])


def labels() -> Data:
    """Return fewer rows of the same kind, with 1,000 labels."""
    return large(5_000, 500, 64, 1_000)


PROBLEMS: Mapping[str, Callable[[], Data]] = {"yeast": yeast, "large": large, "labels": labels}


def _skmultilearn(name: str, k: int) -> Any:
    import skmultilearn.adapt

    return getattr(skmultilearn.adapt, name)(k=k)


def _sklearn_search() -> NearestNeighbors:
    return NearestNeighbors(algorithm="brute")


def _ours(make: Callable[[int], Any]) -> Iterator[Peer]:
    """Yield ours with the fastest level, and with the others that run here."""
    fastest, *others = kernel_levels()
    yield Peer(OURS, "nearlabel", make, fastest)
    for level in others:
        yield Peer(f"{OURS} {level}", "nearlabel", make, level)


PEERS: Mapping[str, tuple[Peer, ...]] = {
    "MLkNN": (
        *_ours(MLkNN),
        Peer("nearlabel, scikit-learn's search", "sklearn", lambda k: MLkNN(k, search=_sklearn_search())),
        Peer("scikit-multilearn-ng MLkNN", "skmultilearn", lambda k: _skmultilearn("MLkNN", k)),
        Peer("plain Python loops", "sklearn", LoopMLkNN),
    ),
    "BRkNN": (
        *_ours(BRkNN),
        Peer("nearlabel, scikit-learn's search", "sklearn", lambda k: BRkNN(k, search=_sklearn_search())),
        Peer("scikit-multilearn-ng BRkNNaClassifier", "skmultilearn", lambda k: _skmultilearn("BRkNNaClassifier", k)),
        Peer("scikit-learn KNeighborsClassifier", "sklearn", KNeighborsClassifier),
        Peer("plain Python loops", "sklearn", LoopBRkNN),
    ),
}
CASES = (("MLkNN", 10), ("BRkNN", 10), ("BRkNN", 11))
PATIENCE = 10.0  # seconds after which a library is not run again


def prepare(method: str, peer_name: str, k: int, problem: str) -> Mapping[str, Callable[[], Any]]:
    """Make data and model, warm up on a few rows, and return fit and predict."""
    data = PROBLEMS[problem]()
    peer = next(peer for peer in PEERS[method] if peer.name == peer_name)
    peer.make(k).fit(data.X[:50], data.Y[:50]).predict(data.queries[:5])
    model = peer.make(k)

    def fit() -> None:
        with kernel_level(peer.level):
            model.fit(data.X, data.Y)

    def predict() -> NDArray:
        with kernel_level(peer.level):
            return _dense(model.predict(data.queries))

    return {"fit": fit, "predict": predict}


def _dense(labels: Any) -> NDArray:
    dense = labels.toarray() if sparse.issparse(labels) else np.asarray(labels)
    return dense.astype(np.int8)


def _self_counted(k: int, data: Data, search: Any) -> PrecomputedNeighbors:
    """Return neighbours in which each training row is among its own, as a search for the training rows finds it."""
    search.fit(data.X)
    training, queries = (NeighborGraph(*search.kneighbors(rows, k)) for rows in (data.X, data.queries))
    return PrecomputedNeighbors(training, (queries,))


# What may make an answer differ, each as a run of nearlabel itself.
VARIANTS: Mapping[str, Mapping[str, Callable[[int, Data], Any]]] = {
    "MLkNN": {
        "other order of equal distances": lambda k, data: MLkNN(k, search=_sklearn_search()),
        "each training row counted as its own neighbour": lambda k, data: MLkNN(
            k, search=_self_counted(k, data, ExactNeighbors())
        ),
        "each training row counted, and other order of equal distances": lambda k, data: MLkNN(
            k, search=_self_counted(k, data, _sklearn_search())
        ),
    },
    "BRkNN": {
        "other order of equal distances": lambda k, data: BRkNN(k, search=_sklearn_search()),
        "half of the neighbours is enough": lambda k, data: BRkNN(k, majority="half"),
    },
}


def reasons(method: str, k: int, data: Data, answer: NDArray) -> dict[str, float]:
    """Return, for each variant of nearlabel, the share of cells in which it equals the answer."""
    return {
        reason: _share_equal(_dense(make(k, data).fit(data.X, data.Y).predict(data.queries)), answer)
        for reason, make in VARIANTS[method].items()
    }


def _share_equal(left: NDArray, right: NDArray) -> float:
    return float(np.mean(left == right))


def run_case(method: str, k: int, problem: str, repeats: int) -> dict[str, Any]:
    """Measure one method on one problem with all competitors that are installed."""
    peers = [peer for peer in PEERS[method] if importlib.util.find_spec(peer.module)]
    jobs = [Job(peer.name, prepare, (method, peer.name, k, problem)) for peer in peers]
    measured = measure(jobs, repeats, PATIENCE)
    ours, data = measured[OURS], PROBLEMS[problem]()
    rows = [_row(peer, measured.get(peer.name), ours) for peer in PEERS[method]]
    for row in rows:
        if row.get("equal", 1.0) < 1.0:
            row["reasons"] = reasons(method, k, data, measured[row["peer"]].answer)
    case: dict[str, Any] = {"method": method, "n_neighbors": k, "problem": problem, "cells": int(ours.answer.size)}
    if method == "BRkNN":
        case["cells_at_half"] = _cells_at_half(k, data, ours.answer)
    return case | {"peers": rows}


def _row(peer: Peer, measurement: Measurement | None, ours: Measurement) -> dict[str, Any]:
    if measurement is None:
        return {"peer": peer.name, "not_installed": _PIP[peer.module]}
    return {
        "peer": peer.name,
        **measurement.describe(),
        "ratio": round(measurement.median() / ours.median(), 3),
        "fit_ratio": round(measurement.median("fit") / ours.median("fit"), 3),
        "ratio_of_minima": round(measurement.minimum() / ours.minimum(), 3),
        "equal": _share_equal(measurement.answer, ours.answer),
    }


def _cells_at_half(k: int, data: Data, answer: NDArray) -> int:
    half = BRkNN(k, majority="half").fit(data.X, data.Y).predict(data.queries)
    return int(np.sum(half != answer))


def table_of(case: Mapping[str, Any]) -> Table:
    """Return one case as a table, and below it why answers differ."""
    headers = ("", "fit s", "predict s", "least s", "ratio", "of least", "fit ratio", "peak MiB", "equal cells",
               "processes/passes")  # fmt: skip
    notes = []
    if "cells_at_half" in case:
        notes.append(
            f"{case['cells_at_half']:,} of {case['cells']:,} cells: exactly half of the neighbours carry the label."
        )
    for row in case["peers"]:
        for reason, equal in row.get("reasons", {}).items():
            notes.append(f"{row['peer']}: {_percent(equal)} equal to nearlabel with: {reason}.")
        if "not_installed" in row:
            notes.append(f"{row['peer']}: not installed, {row['not_installed']}")
    title = f"{case['method']}, k = {case['n_neighbors']}, {case['problem']}"
    return Table(title, headers, [_cells(row) for row in case["peers"] if "not_installed" not in row], notes)


def table_by_level(cases: Sequence[Mapping[str, Any]]) -> Table:
    """Return the least seconds of fit and predict of nearlabel at each level, and of scikit-multilearn-ng."""
    fastest, *others = kernel_levels()
    names = {level: OURS if level == fastest else f"{OURS} {level}" for level in (fastest, *others)}
    rows = []
    for case in cases:
        seconds = {
            row["peer"]: row["seconds"]["total"]["wall_minimum"] for row in case["peers"] if "not_installed" not in row
        }
        theirs = next((value for name, value in seconds.items() if name.startswith("scikit-multilearn-ng")), None)
        title = f"{case['method']}, k = {case['n_neighbors']}, {case['problem']}"
        rows.append((title, *(seconds.get(names.get(level, "")) for level in LEVELS), theirs))
    headers = ("least s", *LEVELS, "scikit-multilearn-ng")
    return Table("Fit and predict by level", headers, rows)


def _cells(row: Mapping[str, Any]) -> tuple[Any, ...]:
    seconds = row["seconds"]
    return (
        row["peer"],
        seconds["fit"]["wall_median"],
        seconds["predict"]["wall_median"],
        seconds["total"]["wall_minimum"],
        row["ratio"],
        row["ratio_of_minima"],
        row["fit_ratio"],
        row["peak_mib"],
        _percent(row["equal"]),
        row["processes/passes"],
    )


def _percent(share: float) -> str:
    # Never rounded up to 100: one cell in 200,000 is a difference.
    return "100 %" if share == 1 else f"{min(100 * share, 99.9999):.4f} %"


def goals_of(cases: Sequence[Mapping[str, Any]]) -> list[Goal]:
    """Return how many times faster than scikit-multilearn-ng ML-kNN should be, and is."""
    ratios = {
        case["problem"]: row
        for case in cases
        for row in case["peers"]
        if case["method"] == "MLkNN" and row["peer"].startswith("scikit-multilearn-ng")
    }
    fit, both = ratios.get("labels", {}).get("fit_ratio"), ratios.get("yeast", {}).get("ratio")
    return [
        Goal("ML-kNN, 5,000 x 64, 1,000 labels: times faster than scikit-multilearn-ng, fit", "at least", 300, fit),
        Goal("ML-kNN, yeast: times faster than scikit-multilearn-ng, fit and predict", "at least", 20, both),
    ]


def main() -> None:
    """Run the cases, print their tables and save them."""
    parser = parser_for(__doc__, "peers", repeats=2)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS)
    options = parser.parse_args()
    print_facts()
    cases = []
    for problem in options.problems or (["yeast"] if options.quick else PROBLEMS):
        for method, k in CASES[:2] if problem == "labels" else CASES:
            cases.append(run_case(method, k, problem, options.repeats))
            show([table_of(cases[-1])])
    tables, goals = [table_by_level(cases), *map(table_of, cases)], goals_of(cases)
    show(tables[:1], goals)
    save(options, __doc__, cases, tables, goals)


if __name__ == "__main__":
    main()
