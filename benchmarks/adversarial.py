"""Is the exact search on data made to be hard for it ever much slower than scikit-learn's brute force?

Equal and duplicated rows, features and rows of very different scale, tight clusters far apart, an offset, many
neighbours, few rows, grids, one to sixteen features and thousands. Each case is one fresh process in which both search
in turn, by one thread: queries, and, where there are not too many rows, every row against all others (leave one out).

Seconds are CPU, the least of all passes, without the fit, for each level of the kernels that this processor runs
("off": numpy's engine; bf16, which needs AMX, has not been measured yet, since no processor with it was at hand).
"ratio" is that of nearlabel's fastest level over scikit-learn's brute force: below 1 is faster. "auto" is the ratio to
scikit-learn's own choice. "same sets" is the share of 50 queries whose set of neighbours is that of plain float64
differences, equal distances ordered by index; of nearlabel's levels, the least.

"Given up" is the share of queries whose candidates a level cannot tell apart: int16 and bf16 leave them to float32, and
float32 and "off" to float64 bounds. Up to eight features a tree answers, and no level takes part.

Run: ``python benchmarks/adversarial.py``; ``--quick`` for a look, ``--cases "all equal"`` for some.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from _engines import LEVELS
from _harness import Goal, Job, Measurement, Table, measure, parser_for, print_facts, save, show
from _reference import agreement, nearest_by_differences
from nearlabel.neighbors import ExactNeighbors, kernel_level, kernel_levels
from nearlabel.neighbors.exact._bounds_search import BoundsSearch
from nearlabel.neighbors.exact._kernel_search import KernelSearch

N = 20_000
N_SAMPLED = 50
MOST_ROWS_LEFT_OUT = 20_000
MOST_FEATURES_OF_TREE = 15  # up to which scikit-learn itself chooses a tree
PATIENCE = 6.0

Rows = NDArray[Any]


class Case(NamedTuple):
    """How to make the rows, of a generator and a number of rows; number of neighbours and of queries, metric.

    Queries are rows with noise of a twentieth of each feature's spread, other rows of the same kind (`fresh`), or,
    where there is a scale, Gaussian ones of that spread.
    """

    make: Callable[[np.random.Generator, int], Rows]
    n: int = N
    k: int = 10
    n_queries: int = 1_000
    metric: str = "euclidean"
    fresh: bool = False
    scale: float | None = None


def _gaussian(d: int) -> Callable[[np.random.Generator, int], Rows]:
    return lambda rng, n: rng.standard_normal((n, d))


def _all_equal(rng: np.random.Generator, n: int) -> Rows:
    return np.tile(rng.standard_normal(64), (n, 1))


def _half_equal(rng: np.random.Generator, n: int) -> Rows:
    return np.vstack([_all_equal(rng, n // 2), rng.standard_normal((n - n // 2, 64))])


def _duplicates(rng: np.random.Generator, n: int) -> Rows:
    return rng.standard_normal((n // 10, 64))[rng.integers(0, n // 10, n)]


def _huge_column(scale: float) -> Callable[[np.random.Generator, int], Rows]:
    return lambda rng, n: rng.standard_normal((n, 64)) * np.where(np.arange(64) == 0, scale, 1)


def _outliers(share: float) -> Callable[[np.random.Generator, int], Rows]:
    def make(rng: np.random.Generator, n: int) -> Rows:
        X = rng.standard_normal((n, 64))
        X[rng.choice(n, max(1, int(share * n)), replace=False)] *= 1000
        return X

    return make


def _tight_clusters(n_clusters: int) -> Callable[[np.random.Generator, int], Rows]:
    def make(rng: np.random.Generator, n: int) -> Rows:
        centres = 1e4 * rng.standard_normal((n_clusters, 64))
        return centres[rng.integers(0, n_clusters, n)] + 1e-3 * rng.standard_normal((n, 64))

    return make


def _affine(d: int, spread: float, offset: float) -> Callable[[np.random.Generator, int], Rows]:
    return lambda rng, n: spread * rng.standard_normal((n, d)) + offset


def _binary(d: int, share: float) -> Callable[[np.random.Generator, int], Rows]:
    return lambda rng, n: (rng.random((n, d)) < share).astype(np.float64)


def _grid(d: int, points: int) -> Callable[[np.random.Generator, int], Rows]:
    return lambda rng, n: rng.integers(0, points, (n, d)).astype(np.float64)


def _positive(rng: np.random.Generator, n: int) -> Rows:
    return np.abs(rng.standard_normal((n, 64))).astype(np.float32)


CASES: Mapping[str, Case] = {
    "all equal": Case(_all_equal),
    "all equal, queries too": Case(_all_equal, fresh=True),
    "half equal": Case(_half_equal),
    "every row ten times": Case(_duplicates),
    "one column 1e4": Case(_huge_column(1e4)),
    "one column 1e6": Case(_huge_column(1e6)),
    "one outlier 1000 x": Case(_outliers(0)),
    "1 % outliers 1000 x": Case(_outliers(0.01)),
    "2 tight clusters": Case(_tight_clusters(2)),
    "200 tight clusters": Case(_tight_clusters(200)),
    "offset 1e4, spread 1e-3": Case(_affine(64, 1e-3, 1e4)),
    "far queries": Case(_affine(64, 1e-3, 0), n_queries=500, scale=1e4),
    "k = 30": Case(_gaussian(64), k=30),
    "k = 64": Case(_gaussian(64), k=64),
    "k = 100": Case(_gaussian(64), k=100),
    "k = 100, 100,000 rows": Case(_gaussian(64), n=100_000, k=100),
    "k = 300": Case(_gaussian(64), k=300),
    "100 rows": Case(_gaussian(20), n=100, k=5, n_queries=100),
    "50 rows, 10 queries": Case(_gaussian(5), n=50, k=5, n_queries=10),
    "one query": Case(_gaussian(50), n=1_000, k=5, n_queries=1),
    "binary 16": Case(_binary(16, 0.5), n=5_000, fresh=True),
    "binary 100": Case(_binary(100, 0.1), fresh=True),
    "grid 100 x 100": Case(_grid(2, 100), fresh=True),
    "grid of 12, 0 to 4": Case(_grid(12, 5), fresh=True),
    "cosine": Case(_gaussian(64), metric="cosine"),
    "cosine, offset 1e4": Case(_affine(64, 1, 1e4), metric="cosine"),
    "cosine, positive float32": Case(_positive, metric="cosine"),
    **{f"d = {d}": Case(_gaussian(d)) for d in (1, 2, 3, 5, 8, 10, 12, 16)},
    "d = 5,000": Case(_gaussian(5_000), n=5_000, n_queries=500),
}


def data_of(name: str, shrink: int) -> tuple[Rows, Rows]:
    """Return rows and queries of a case, the same ones each time."""
    case, rng = CASES[name], np.random.default_rng(0)
    n = case.n // shrink if case.n > 1_000 else case.n
    X = case.make(rng, n)
    if case.scale is not None:
        return X, case.scale * rng.standard_normal((case.n_queries, X.shape[1]))
    chosen = rng.integers(0, n, case.n_queries)
    if case.fresh:
        return X, X[chosen] if name.startswith("all equal") else case.make(rng, case.n_queries)
    noise = rng.standard_normal((case.n_queries, X.shape[1]))
    return X, (X[chosen] + 0.05 * X.std(axis=0) * noise).astype(X.dtype)


def prepare(name: str, shrink: int) -> Mapping[str, Callable[[], Any]]:
    """Return the queries of all searches in turn; the answer: agreement with the reference, and what levels gave up."""
    threadpool_limits(1)
    case, (X, queries) = CASES[name], data_of(name, shrink)
    reference = nearest_by_differences(X, queries[:N_SAMPLED], case.k, case.metric)
    ours = {level: ExactNeighbors(case.metric, n_jobs=1) for level in kernel_levels()}
    searches = {
        **ours,
        "brute": NearestNeighbors(algorithm="brute", metric=case.metric, n_jobs=1).fit(X),
        "auto": NearestNeighbors(metric=case.metric, n_jobs=1).fit(X),
    }
    given_up: dict[str, float] = {}
    found: dict[str, Any] = {}
    left = _count_queries_left()

    def fit(level: str) -> None:
        with kernel_level(level):
            ours[level].fit(X)

    def query(search: str) -> None:
        found[search] = neighbors_of(search, queries, search)

    def leave_one_out(search: str) -> None:
        neighbors_of(search, None, f"{search}, leave one out")

    def neighbors_of(search: str, rows: Rows | None, stage: str) -> Rows:
        left.clear()
        with kernel_level(search if search in ours else "off"):
            indices: Rows = searches[search].kneighbors(rows, case.k)[1]
        given_up[stage] = (left["level"] or left["bounds"]) / len(X if rows is None else rows)
        return indices

    for level in ours:
        fit(level)
        neighbors_of(level, queries[:10], "warm up")
    chosen = [*ours, "brute", "auto"] if X.shape[1] <= MOST_FEATURES_OF_TREE else [*ours, "brute"]
    stages: dict[str, Callable[[], Any]] = {f"{level}, fit": lambda level=level: fit(level) for level in ours}
    stages |= {search: lambda search=search: query(search) for search in chosen}
    if len(X) <= MOST_ROWS_LEFT_OUT:
        both = [*ours, "brute"]
        stages |= {f"{search}, leave one out": lambda search=search: leave_one_out(search) for search in both}
    stages["answer"] = lambda: ({search: agreement(found[search], reference) for search in chosen}, dict(given_up))
    return stages


def _count_queries_left() -> Counter[str]:
    """Count from now on the queries that levels leave to float32, and those that are left to float64 bounds."""
    left: Counter[str] = Counter()
    resolve, write = KernelSearch._resolve, BoundsSearch.write

    def counting_resolve(search: KernelSearch, X: Any, numbers: Any, *rest: Any, **options: Any) -> None:
        left["level"] += len(numbers)
        resolve(search, X, numbers, *rest, **options)

    def counting_write(search: BoundsSearch, X: Any, numbers: Any, *rest: Any, **options: Any) -> None:
        left["bounds"] += len(numbers)
        write(search, X, numbers, *rest, **options)

    KernelSearch._resolve, BoundsSearch.write = counting_resolve, counting_write  # type: ignore[method-assign]
    return left


def figures_of(name: str, measured: Measurement, shrink: int) -> dict[str, Any]:
    """Return the least seconds of each stage, the ratios, the agreement and the shares that were given up."""
    seconds = {stage: measured.minimum(stage, "cpu") for stage in measured.samples[0].passes[0].cpu}
    fastest = kernel_levels()[0]

    def ratio(stage: str, other: str) -> float | None:
        return seconds[stage] / seconds[other] if other in seconds else None

    X, queries = data_of(name, shrink)
    shares, given_up = measured.answer
    return {
        "shape": f"{len(X):,} x {X.shape[1]:,}, {len(queries):,} queries",
        "seconds": seconds,
        "ratio": ratio(fastest, "brute"),
        "auto": ratio(fastest, "auto"),
        "leave one out": ratio(f"{fastest}, leave one out", "brute, leave one out"),
        "same sets": {"ours": min(shares[level] for level in kernel_levels()), "brute": shares["brute"]},
        "given up": given_up,
        "runs": measured.n_runs,
    }


def tables_of(results: Mapping[str, Mapping[str, Any]]) -> list[Table]:
    """Return tables with a row for each case: queries, every row against all others, what levels gave up."""
    queries = [
        (
            *(one["seconds"].get(stage) for stage in (f"{kernel_levels()[0]}, fit", *LEVELS, "brute")),
            *(one["ratio"], one["auto"]),
            *(f"{100 * one['same sets'][search]:.0f} %" for search in ("ours", "brute")),
        )
        for one in results.values()
    ]
    left_out = [
        (*(one["seconds"].get(f"{search}, leave one out") for search in (*LEVELS, "brute")), one["leave one out"])
        for one in results.values()
    ]
    given_up = [
        tuple(_share(one["given up"].get(level + stage)) for stage in ("", ", leave one out") for level in LEVELS)
        for one in results.values()
    ]
    headers = ("fit s", *(f"{search} s" for search in (*LEVELS, "brute")), "ratio", "auto", "same sets", "of brute")
    by_level = (*LEVELS, *(f"{level}, leave one out" for level in LEVELS))
    titles = [f"{name}: {one['shape']}" for name, one in results.items()]

    def table(title: str, headers: Sequence[str], cells: Sequence[Sequence[Any]]) -> Table:
        rows = [(name, *row) for name, row in zip(titles, cells, strict=True) if any(cell is not None for cell in row)]
        return Table(title, ("", *headers), rows)

    return [
        table("Hard cases", headers, queries),
        table("Hard cases, leave one out", headers[1:7], left_out),
        table("Hard cases, given up", by_level, given_up),
    ]


def _share(part: float | None) -> str | None:
    return None if part is None else f"{100 * part:.1f} %"


def goals_of(results: Mapping[str, Mapping[str, Any]]) -> list[Goal]:
    """Return the largest ratio, and the least agreement."""
    ratios = [one[kind] for one in results.values() for kind in ("ratio", "leave one out") if one[kind] is not None]
    shares = [one["same sets"]["ours"] for one in results.values()]
    return [
        Goal("hard cases: the largest ratio to scikit-learn's brute force", "at most", 1.5, max(ratios)),
        Goal("hard cases, all levels: least share of same sets", "at least", 1.0, min(shares)),
    ]


def main() -> None:
    """Measure all cases, print and save."""
    parser = parser_for(__doc__, "adversarial", repeats=1)
    parser.add_argument("--cases", nargs="+", choices=CASES, metavar="CASE", help="some of them")
    options = parser.parse_args()
    print_facts()
    shrink = 10 if options.quick else 1
    names = options.cases or list(CASES)[:: 5 if options.quick else 1]
    measured = measure([Job(name, prepare, (name, shrink)) for name in names], options.repeats, PATIENCE)
    results = {name: figures_of(name, one, shrink) for name, one in measured.items()}
    tables, goals = tables_of(results), [] if options.quick else goals_of(results)
    show(tables, goals)
    save(options, __doc__, results, tables, goals)


if __name__ == "__main__":
    main()
