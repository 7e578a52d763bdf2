"""How do the time and memory of the search, ML-kNN, CML-kNN, selection and NLDD grow with rows, features and labels?

From a base size one quantity at a time is doubled, and doubled again; the slope is that of log time over log size
between the last two (1: as the quantity, 2: as its square). The search is a row of its own, by one thread on dense
rows; it is no part of ML-kNN and CML-kNN, whose neighbours are known before. Bags of words (20 words a row, three
labels a row) for CML-kNN and selection, dense rows for NLDD.

- "search": `ExactNeighbors` on clustered Gaussian rows; 2,000 queries, and every row against all others.
- "ML-kNN": fit and prediction of a tenth of the rows; label sets sparse, five labels a row, and dense, where one cell
  in fifty is a label.
- "similarity": `coupled_similarity`; "fit": memberships and counts; "leave one out": all its scores; "predict": of a
  tenth of the rows.
- "joint", "mean", "subsets": `InformationGainSelector` with the label set as one variable, the mean over labels, and
  100 random subsets of three labels.
- NLDD: "nearest" finds each query's row of least weighted distance, with given probabilities; "product" is the matrix
  product of queries and rows, and of probabilities and label sets.

Last, NLDD at 100,000 rows, 10,000 queries and 2,000 label sets, beside all pairs by `scipy.spatial.distance.cdist`,
block by block.

Run: ``python benchmarks/growth.py``; ``--quick`` for a tenth of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from _harness import Job, Measurement, Table, measure, parser_for, print_facts, save, show
from nearlabel.labels import coupled_similarity
from nearlabel.lazy import CMLkNN, MLkNN
from nearlabel.lazy.double_distances import double_distances
from nearlabel.neighbors import ExactNeighbors, NeighborGraph, PrecomputedNeighbors
from nearlabel.preprocessing import InformationGainSelector

SEARCH = {"rows": 20_000, "features": 64, "neighbors": 10}
LABELS = {"rows": 5_000, "labels": 1_000, "neighbors": 10}
WORDS = {"rows": 5_000, "features": 5_000, "labels": 50}
DENSE = {"rows": 20_000, "features": 50, "labels": 50}
N_QUERIES = 1_000
QUANTITIES = ("rows", "features", "labels", "neighbors")
PATIENCE = 5.0  # seconds after which a job is not run again
WEIGHTS = (0.05, 2.0)
_BLOCK = 256

Stages = Mapping[str, Callable[[], Any]]
Sizes = dict[str, int]


def prepare_search(sizes: Sizes, n_queries: int) -> Stages:
    """Return queries and leave-one-out of the exact search."""
    rng = np.random.default_rng(0)
    n, d, k = sizes["rows"], sizes["features"], sizes["neighbors"]
    centres = rng.standard_normal((200, d))
    X = (centres[rng.integers(0, 200, n)] + rng.standard_normal((n, d))).astype(np.float32)
    queries = X[:n_queries] + np.float32(0.1)
    search = ExactNeighbors(n_jobs=1).fit(X)
    search.kneighbors(queries[:20], k)
    return {
        "fit": lambda: search.fit(X),
        "queries": lambda: search.kneighbors(queries, k),
        "leave one out": lambda: search.kneighbors(n_neighbors=k)[1][:1],
    }


def prepare_mlknn(sizes: Sizes, storage: str) -> Stages:
    """Return fit and prediction of ML-kNN on known neighbours."""
    rng = np.random.default_rng(0)
    n, n_labels, k = sizes["rows"], sizes["labels"], sizes["neighbors"]
    Y = _ones(n, n_labels, (n_labels * rng.random(5 * n) ** 3).astype(np.int64), 5)
    if storage == "dense":
        Y = (rng.random((n, n_labels)) < 0.02).astype(np.int64)
    training = (np.arange(n)[:, np.newaxis] + rng.integers(1, n, k)) % n
    graphs = [NeighborGraph(np.ones((len(rows), k)), rows) for rows in (training, training[: n // 10])]
    model = MLkNN(k, search=PrecomputedNeighbors(graphs[0], (graphs[1],)))
    X = np.zeros((n, 1))
    MLkNN(2).fit(X[:9], Y[:9, :3])

    def predict() -> None:
        model.predict(X[: n // 10])

    def fit() -> None:
        model.fit(X, Y)

    return {"fit": fit, "predict": predict}


def words(sizes: Sizes) -> tuple[Any, Any]:
    """Return rows of 0 and 1 and label sets, both CSR; frequent words and labels are much more frequent."""
    rng = np.random.default_rng(0)
    n = sizes["rows"]
    return tuple(
        _ones(n, size, (size * rng.random(n * each) ** 3).astype(np.int64), each)
        for size, each in ((sizes["features"], 20), (sizes["labels"], 3))
    )


def _ones(n_rows: int, n_columns: int, columns: Any, each: int) -> Any:
    entries = np.ones(len(columns)), (np.repeat(np.arange(n_rows), each), columns)
    matrix = sparse.csr_array(entries, shape=(n_rows, n_columns))
    return (matrix > 0).astype(np.int64)


def prepare_cmlknn(sizes: Sizes) -> Stages:
    """Return the stages of CML-kNN on known neighbours."""
    X, Y = words(sizes)
    n = sizes["rows"]
    rng = np.random.default_rng(1)
    training = (np.arange(n)[:, np.newaxis] + rng.integers(1, n, 11)) % n
    queries = np.arange(n // 10)
    known = PrecomputedNeighbors(
        NeighborGraph(np.ones((n, 11)), training), (NeighborGraph(np.ones((n // 10, 11)), training[: n // 10]),)
    )
    found: dict[str, Any] = {}

    def fit() -> None:
        found["model"] = CMLkNN(10, similarity=found["similarity"], search=known).fit(X, Y)

    coupled_similarity(X[:50], Y[:50])
    return {
        "similarity": lambda: found.update(similarity=coupled_similarity(X, Y)),
        "fit": fit,
        "leave one out": lambda: found["model"].loo_predict_proba(),
        "predict": lambda: found["model"].predict_proba(X[queries]),
    }


def prepare_selection(sizes: Sizes) -> Stages:
    """Return the selector's fits."""
    X, Y = words(sizes)
    InformationGainSelector().fit(X[:50], Y[:50])
    selectors = {
        "joint": InformationGainSelector(),
        "mean": InformationGainSelector(labels="mean"),
        "subsets": InformationGainSelector(n_subsets=100, random_state=0),
    }
    return {name: lambda selector=selector: selector.fit(X, Y).threshold_ for name, selector in selectors.items()}


def dense(sizes: Sizes, n_queries: int, n_labelsets: int) -> tuple[Any, Any, Any, Any]:
    """Return training rows, label sets, queries and probabilities; a row lies near those of its label set."""
    rng = np.random.default_rng(0)
    labelsets = (rng.random((n_labelsets, sizes["labels"])) < 4 / sizes["labels"]).astype(np.int64)
    centres = 0.5 * labelsets @ rng.normal(size=(sizes["labels"], sizes["features"]))
    which = [(n_labelsets * rng.random(n) ** 2).astype(np.int64) for n in (sizes["rows"], n_queries)]
    X, queries = (centres[w] + rng.normal(size=(len(w), sizes["features"])) for w in which)
    P = np.clip(0.6 * labelsets[which[1]] + 0.15 + 0.15 * rng.normal(size=(n_queries, sizes["labels"])), 0, 1)
    return X, labelsets[which[0]], queries, P


def prepare_nldd(sizes: Sizes, n_queries: int, n_labelsets: int) -> Stages:
    """Return NLDD's prediction from given probabilities, and the products alone."""
    X, Y, queries, P = dense(sizes, n_queries, n_labelsets)
    pairs = double_distances(ExactNeighbors(), X, Y)
    pairs.nearest(queries[:10], P[:10], WEIGHTS)
    labelsets = pairs.labelsets.astype(np.float64)

    def products() -> None:
        for start in range(0, n_queries, _BLOCK):
            block = slice(start, start + _BLOCK)
            queries[block] @ X.T
            P[block] @ labelsets.T

    return {"product": products, "nearest": lambda: pairs.nearest(queries, P, WEIGHTS).row}


def prepare_all_pairs(sizes: Sizes, n_queries: int, n_labelsets: int) -> Stages:
    """Return the prediction as the formula reads: both distances of every pair."""
    X, Y, queries, P = dense(sizes, n_queries, n_labelsets)
    labels = Y.astype(np.float64)

    def nearest() -> Any:
        chosen = []
        for start in range(0, n_queries, 64):
            block = slice(start, start + 64)
            dy = cdist(P[block], labels)
            cost = WEIGHTS[0] * cdist(queries[block], X) + WEIGHTS[1] * dy
            chosen.append(cost.argmin(axis=1))
        return np.concatenate(chosen)

    return {"nearest": nearest}


def jobs_of(name: str, prepare: Callable[..., Stages], base: Sizes, *arguments: Any) -> list[Job]:
    """Return a job for the base size and for each quantity doubled and doubled again."""
    varied = [(name, base)]
    varied += [(f"{name}, {q} x {factor}", base | {q: factor * base[q]}) for q in base for factor in (2, 4)]
    return [Job(label, prepare, (sizes, *arguments)) for label, sizes in varied]


def slopes(name: str, base: Sizes, measured: Mapping[str, Measurement]) -> list[list[Any]]:
    """Return, for each stage, seconds at the base size, and slopes over the last doubling of each quantity."""
    stages = measured[name].samples[0].passes[0].wall
    peaks = [measured[f"{name}, {q} x 4"].peak_mib() if q in base else None for q in QUANTITIES]
    rows = []
    for stage in stages:
        seconds = measured[name].minimum(stage, "cpu")
        growth = [_slope(name, stage, quantity, measured) if quantity in base else None for quantity in QUANTITIES]
        rows.append([f"{name}: {stage}", seconds, *growth, measured[name].peak_mib(), *peaks])
    return rows


def _slope(name: str, stage: str, quantity: str, measured: Mapping[str, Measurement]) -> float:
    twice, fourfold = (measured[f"{name}, {quantity} x {factor}"].minimum(stage, "cpu") for factor in (2, 4))
    return round(float(np.log2(fourfold / twice)), 1) + 0.0  # not -0


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and save."""
    parser = parser_for(__doc__ or "", "growth", repeats=1)
    options = parser.parse_args(arguments)
    shrink = 10 if options.quick else 1
    bases = {
        "search": (prepare_search, SEARCH | {"rows": SEARCH["rows"] // shrink}, (2_000 // shrink,)),
        "ML-kNN, sparse": (prepare_mlknn, LABELS | {"rows": LABELS["rows"] // shrink}, ("sparse",)),
        "ML-kNN, dense": (prepare_mlknn, LABELS | {"rows": LABELS["rows"] // shrink}, ("dense",)),
        "CML-kNN": (prepare_cmlknn, WORDS | {"rows": WORDS["rows"] // shrink}, ()),
        "selection": (prepare_selection, WORDS | {"rows": WORDS["rows"] // shrink}, ()),
        "NLDD": (prepare_nldd, DENSE | {"rows": DENSE["rows"] // shrink}, (N_QUERIES // shrink, 500)),
    }
    jobs = [job for name, (prepare, base, rest) in bases.items() for job in jobs_of(name, prepare, base, *rest)]
    large = ({"rows": 100_000 // shrink, "features": 100, "labels": 50}, 2_000 // shrink, 2_000)
    jobs += [Job("NLDD, large", prepare_nldd, large), Job("all pairs, large", prepare_all_pairs, large)]
    measured = measure(jobs, options.repeats, PATIENCE)
    ours, theirs = measured["NLDD, large"], measured["all pairs, large"]
    same = float((ours.answer == theirs.answer).mean())
    assert same > 0.999, "the same rows but for ties that rounding breaks"

    print_facts()
    rows = [row for name, (_, base, _) in bases.items() for row in slopes(name, base, measured)]
    headers = ["", "CPU s", *(f"slope: {q}" for q in QUANTITIES), "peak MiB", *(f"at 4 x {q}" for q in QUANTITIES)]
    sizes = [
        f"{name}: {', '.join(f'{size:,} {q}' for q, size in base.items())}." for name, (_, base, _) in bases.items()
    ]
    note = (
        f"NLDD at {large[0]['rows']:,} rows, {large[1]:,} queries, 2,000 label sets: {ours.median('nearest'):.2f} s,"
        f" peak {ours.peak_mib():.0f} MiB; the products alone {ours.median('product'):.2f} s; all pairs by cdist"
        f" {theirs.median('nearest'):.1f} s, peak {theirs.peak_mib():.0f} MiB; equal rows {same:.4%}."
    )
    tables = [Table("Slopes", headers, rows, ["Base sizes. " + " ".join(sizes), note])]
    show(tables)
    save(options, __doc__ or "", {name: one.describe() for name, one in measured.items()}, tables)


if __name__ == "__main__":
    main()
