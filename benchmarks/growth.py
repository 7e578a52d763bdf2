"""How do the time and memory of CML-kNN, feature selection and NLDD grow with rows, features and labels?

Bags of words (20 words a row, three labels a row) for the first two, dense rows for NLDD. From a base size one
quantity at a time is doubled, and doubled again; the slope is that of log time over log size between the last two (1:
as the quantity, 2: as its square). The search for neighbours is not part of it: CML-kNN's are known before.

- "similarity": `coupled_similarity`; "fit": memberships and counts; "leave one out": all its scores; "predict": of a
  tenth of the rows.
- "joint", "mean", "subsets": `InformationGainSelector` with the label set as one variable, the mean over labels, and
  100 random subsets of three labels.
- NLDD: "nearest" finds each query's row of least weighted distance, with given probabilities; "product" is the matrix
  product of queries and rows, and of probabilities and label sets.

Last, NLDD at 100,000 rows, 10,000 queries and 2,000 label sets, beside all pairs by `scipy.spatial.distance.cdist`,
block by block.

Run: ``python benchmarks/growth.py``; ``--quick`` for a tenth of all sizes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist

from _harness import Job, Measurement, measure, parser_for, print_facts, save, table
from nearlabel.feature_selection import InformationGainSelector
from nearlabel.labels import coupled_similarity
from nearlabel.lazy import CMLkNN
from nearlabel.lazy._double_distances import double_distances
from nearlabel.neighbors import ExactNeighbors, NeighborGraph, PrecomputedNeighbors

WORDS = {"rows": 5_000, "features": 5_000, "labels": 50}
DENSE = {"rows": 20_000, "features": 50, "labels": 50}
N_QUERIES = 1_000
WEIGHTS = (0.05, 2.0)
_BLOCK = 256

Stages = Mapping[str, Callable[[], Any]]
Sizes = dict[str, int]


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
    rows = []
    for stage in stages:
        row: list[Any] = [f"{name}: {stage}", measured[name].median(stage)]
        for quantity in base:
            twice, fourfold = (measured[f"{name}, {quantity} x {factor}"].median(stage) for factor in (2, 4))
            row.append(float(np.log2(fourfold / twice)))
        peaks = [measured[f"{name}, {quantity} x 4"].peak_mib() for quantity in base]
        rows.append([*row, measured[name].peak_mib(), *peaks])
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and save."""
    parser = parser_for(__doc__ or "", "growth", repeats=3)
    parser.add_argument("--quick", action="store_true", help="a tenth of all sizes")
    options = parser.parse_args(arguments)
    shrink = 10 if options.quick else 1
    bases = {
        "CML-kNN": (prepare_cmlknn, WORDS | {"rows": WORDS["rows"] // shrink}, ()),
        "selection": (prepare_selection, WORDS | {"rows": WORDS["rows"] // shrink}, ()),
        "NLDD": (prepare_nldd, DENSE | {"rows": DENSE["rows"] // shrink}, (N_QUERIES // shrink, 500)),
    }
    jobs = [job for name, (prepare, base, rest) in bases.items() for job in jobs_of(name, prepare, base, *rest)]
    large = ({"rows": 100_000 // shrink, "features": 100, "labels": 50}, 10_000 // shrink, 2_000)
    jobs += [Job("NLDD, large", prepare_nldd, large), Job("all pairs, large", prepare_all_pairs, large)]
    measured = measure(jobs, options.repeats)
    ours, theirs = measured["NLDD, large"], measured["all pairs, large"]
    assert (ours.answer == theirs.answer).mean() > 0.999, "the same rows but for ties that rounding breaks"

    print_facts()
    rows = [row for name, (_, base, _) in bases.items() for row in slopes(name, base, measured)]
    headers = ["", "s", "slope: rows", "features", "labels", "peak MiB", "rows x 4", "features x 4", "labels x 4"]
    print(table(headers, rows))
    print(
        f"\nNLDD at {large[0]['rows']:,} rows, {large[1]:,} queries, 2,000 label sets: {ours.median('nearest'):.1f} s,"
        f" peak {ours.peak_mib():.0f} MiB; the products alone {ours.median('product'):.1f} s; all pairs by cdist"
        f" {theirs.median('nearest'):.1f} s, peak {theirs.peak_mib():.0f} MiB; equal rows"
        f" {(ours.answer == theirs.answer).mean():.4%}"
    )
    save(options.out, (__doc__ or "").splitlines()[0], {name: one.describe() for name, one in measured.items()})


if __name__ == "__main__":
    main()
