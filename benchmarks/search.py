"""How fast, small and right is the exact search beside scikit-learn, faiss, intelex, torch and the product alone?

2,000 queries, or every row against all others (leave one out), by one thread, and by two. Rows, where no kind is
named: 200 Gaussian centres and their scatter, both of spread one; queries are rows with noise of 0.1. "binary": each
feature is 1 in one row of ten. "words": tf-idf of 72 words a row drawn by a Zipf law, rows of length one. Each search
runs in a fresh process with all libraries held to its threads: importing faiss slows scikit-learn down in the same
process.

CPU and wall seconds are those of queries alone, the least of all passes; "fit s" is the least CPU time of the fit.
"over product" is CPU over that of single-precision products of a 4096 x d by a d x 1024 tile, as many multiplications
as all pairs take (words: scipy's sparse product of queries and rows); "the product, in one call" has the shape of the
problem, and memory that is ready for its results; "over ours" is CPU over nearlabel's: above 1 is slower than
nearlabel. "peak MiB" is above imports and data. "same sets" is the share of 200 queries whose set of neighbours is
that of plain float64 differences, equal distances ordered by index.

Run: ``python benchmarks/search.py``; ``--quick`` for a look, ``--sections threads`` for one part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from _engines import BRUTE, ENGINES, FAISS, INTELEX, KD_TREE, OURS, PRODUCT, PRODUCT_AT_ONCE, TORCH, stages_of
from _harness import Goal, Job, Measurement, Table, measure, parser_for, print_facts, save, show
from _reference import agreement, nearest_by_differences

N_QUERIES, N_SAMPLED = 2_000, 200
WORDS_A_ROW = 72
PATIENCE = 10.0  # seconds after which a search is not run again
ALL = (PRODUCT, PRODUCT_AT_ONCE, OURS, BRUTE, KD_TREE, FAISS, INTELEX, TORCH)
FEW = (PRODUCT, OURS, BRUTE, KD_TREE, FAISS)
HEADERS = ("", "fit s", "CPU s", "wall s", "over product", "over ours", "peak MiB", "same sets", "processes/passes")


class Setting(NamedTuple):
    """A problem: kind and shape of the rows, number of neighbours, queries or every row against all others."""

    n: int
    d: int
    dtype: str = "float32"
    k: int = 10
    kind: str = "clustered"
    own: bool = False
    metric: str = "euclidean"

    def title(self) -> str:
        """Return the problem in words."""
        kind = "" if self.kind == "clustered" else f"{self.kind}, "
        metric = ", cosine" if self.metric == "cosine" else ""
        own = ", leave one out" if self.own else ""
        return f"{kind}{self.n:,} x {self.d:,} {self.dtype}, k = {self.k}{metric}{own}"


class Section(NamedTuple):
    """Settings that are shown in one table."""

    title: str
    settings: Sequence[Setting]
    engines: Sequence[str]
    threads: Sequence[int] = (1,)
    most_rounds: int = 9


SECTIONS: Mapping[str, Section] = {
    "queries": Section(
        "Queries", [Setting(100_000, d, dtype) for d in (64, 300) for dtype in ("float32", "float64")], ALL
    ),
    "leave-one-out": Section(
        "Every row against all others",
        [Setting(20_000, d, dtype, own=True) for d, dtype in ((64, "float32"), (300, "float32"), (300, "float64"))],
        tuple(name for name in ALL if name != PRODUCT_AT_ONCE),
    ),
    "rows": Section("By rows", [Setting(n, 64) for n in (1_000, 10_000, 200_000)], FEW, most_rounds=1),
    "features": Section("By features", [Setting(20_000, d) for d in (2, 5, 10, 16, 1_000)], FEW, most_rounds=1),
    "neighbours": Section("By neighbours", [Setting(100_000, 64, k=k) for k in (1, 30, 100)], FEW, most_rounds=1),
    "binary": Section("Binary rows, with many equal distances", [Setting(20_000, 100, kind="binary")], FEW),
    "sparse": Section(
        "Sparse rows",
        [
            Setting(20_000, 30_000, "float64", kind="words"),
            Setting(20_000, 30_000, "float64", kind="words", metric="cosine"),
            Setting(20_000, 30_000, "float64", kind="words", metric="cosine", own=True),
        ],
        FEW,
    ),
    "threads": Section(
        "Two threads",
        [Setting(100_000, 64), Setting(100_000, 300), Setting(20_000, 300, own=True)],
        (PRODUCT, OURS, BRUTE),
        threads=(1, 2),
    ),
}


def data_of(setting: Setting, n_queries: int) -> tuple[Any, Any]:
    """Return rows and queries, the same ones each time; queries None are the rows."""
    rng = np.random.default_rng(0)
    make = {"clustered": _clustered, "binary": _binary, "words": _words}[setting.kind]
    X, queries = (part.astype(setting.dtype) for part in make(rng, setting.n, setting.d, n_queries))
    return X, None if setting.own else queries


def _clustered(rng: np.random.Generator, n: int, d: int, n_queries: int) -> tuple[Any, Any]:
    centres = rng.standard_normal((200, d))
    X = centres[rng.integers(0, 200, n)] + rng.standard_normal((n, d))
    return X, X[rng.integers(0, n, n_queries)] + 0.1 * rng.standard_normal((n_queries, d))


def _binary(rng: np.random.Generator, n: int, d: int, n_queries: int) -> tuple[Any, Any]:
    rows = rng.random((n + n_queries, d)) < 0.1
    return rows[:n], rows[n:]


def _words(rng: np.random.Generator, n: int, d: int, n_queries: int) -> tuple[Any, Any]:
    share = 1 / np.arange(1, d + 1)
    size = n + n_queries
    words = rng.choice(d, size * WORDS_A_ROW, p=share / share.sum())
    entries = np.ones(len(words)), (np.repeat(np.arange(size), WORDS_A_ROW), words)
    rows = sparse.csr_array(entries, shape=(size, d))
    rows.sum_duplicates()
    carriers = np.bincount(rows.indices, minlength=d)
    rows.data *= (np.log(size / (1 + carriers)) + 0.1)[rows.indices]
    rows = sparse.csr_array(normalize(rows))
    return rows[:n], rows[n:]


def prepare(setting: Setting, n_queries: int, engine: str, threads: int) -> Mapping[str, Callable[[], Any]]:
    """Make the data and return an engine's stages."""
    X, queries = data_of(setting, n_queries)
    return stages_of(engine, X, queries, setting.k, setting.metric, threads)


def run_setting(section: Section, setting: Setting, n_queries: int, repeats: int) -> dict[str, dict[str, Any]]:
    """Measure all engines that take the problem; return their figures by name."""
    X, queries = data_of(setting, n_queries)
    jobs = {}
    for name in section.engines:
        engine = ENGINES[name]
        if engine.is_installed and engine.takes(X, setting.metric):
            for threads in section.threads:
                label = name if len(section.threads) == 1 else f"{name}, {threads} thread{'s'[: threads - 1]}"
                jobs[label] = Job(f"{setting.title()}: {label}", prepare, (setting, n_queries, name, threads))
    sample = (X if queries is None else queries)[:N_SAMPLED]
    reference = nearest_by_differences(X, sample, setting.k, setting.metric, own=setting.own)
    del X, queries
    measured = measure(list(jobs.values()), min(repeats, section.most_rounds), PATIENCE)
    return figures_of({label: measured[job.name] for label, job in jobs.items()}, reference)


def figures_of(measured: Mapping[str, Measurement], reference: Any) -> dict[str, dict[str, Any]]:
    """Return the figures of the engines on one problem."""
    cpu = {name: one.minimum("query", "cpu") for name, one in measured.items()}
    ours = next(seconds for name, seconds in cpu.items() if name.startswith(OURS))
    return {
        name: {
            "fit": None if name.startswith("the product") else one.minimum("fit", "cpu"),
            "cpu": cpu[name],
            "wall": one.minimum("query", "wall"),
            "over product": cpu[name] / cpu[PRODUCT] if PRODUCT in cpu else None,
            "over ours": cpu[name] / ours,
            "peak": one.peak_mib(),
            "same sets": None if one.answer is None else agreement(one.answer, reference),
            "runs": one.n_runs,
            "all": one.describe(),
        }
        for name, one in measured.items()
    }


def table_of(section: Section, results: Mapping[str, Mapping[str, dict[str, Any]]]) -> Table:
    """Return the table of a section."""
    headers = HEADERS if len(section.threads) == 1 else ("", *HEADERS[1:4], "gain of wall", *HEADERS[5:])
    return Table(section.title, headers, list(_rows(results)), _not_installed(section))


def _rows(results: Mapping[str, Mapping[str, dict[str, Any]]]) -> Iterator[Sequence[Any]]:
    for title, engines in results.items():
        yield (title,)
        for name, one in engines.items():
            ratio = one["over product"] or gain(engines, name)
            shares = None if one["same sets"] is None else f"{100 * one['same sets']:.1f} %"
            yield (name, one["fit"], one["cpu"], one["wall"], ratio, one["over ours"], one["peak"], shares, one["runs"])


def gain(engines: Mapping[str, dict[str, Any]], name: str) -> float | None:
    """Return the wall time of one thread over that of two, for the row of two threads."""
    one = engines.get(name.removesuffix("2 threads") + "1 thread")
    return one["wall"] / engines[name]["wall"] if one and name.endswith("2 threads") else None


def _not_installed(section: Section) -> list[str]:
    missing = {name: ENGINES[name].pip for name in section.engines if not ENGINES[name].is_installed}
    return [f"Left out, since not installed: {name} (pip install {pip})." for name, pip in missing.items()]


Results = Mapping[str, Mapping[str, Mapping[str, dict[str, Any]]]]


def goals_of(results: Results) -> list[Goal]:
    """Return what the search should reach, and what it did."""
    goals = []
    for setting, product, speed in (
        *((Setting(100_000, 64, dtype), 1.5, 1.8) for dtype in ("float32", "float64")),
        *((Setting(100_000, 300, dtype), 1.25, 1.7) for dtype in ("float32", "float64")),
        *((Setting(20_000, 300, dtype, own=True), 1.05, 2.0) for dtype in ("float32", "float64")),
    ):
        engines = results.get("leave-one-out" if setting.own else "queries", {}).get(setting.title(), {})
        title = setting.title()
        over_shape = 1 / _figure(engines, PRODUCT_AT_ONCE, "over ours") if PRODUCT_AT_ONCE in engines else None
        if not setting.own:
            goals.append(Goal(f"{title}: over product of this shape, in one call", "at most", product, over_shape))
        over_tiles = _figure(engines, OURS, "over product")
        goals.append(Goal(f"{title}: over product in tiles", "at most", product, over_tiles))
        goals.append(Goal(f"{title}: times faster than brute", "at least", speed, _figure(engines, BRUTE, "over ours")))
    for setting in SECTIONS["sparse"].settings:
        engines = results.get("sparse", {}).get(setting.title(), {})
        found = _figure(engines, OURS, "over product")
        goals.append(Goal(f"{setting.title()}: over scipy's product", "at most", 0.7, found))
    for setting in SECTIONS["threads"].settings:
        engines = results.get("threads", {}).get(setting.title(), {})
        found = gain(engines, f"{OURS}, 2 threads") if engines else None
        goals.append(Goal(f"{setting.title()}: gain of two threads", "at least", 1.8, found))
    goals.append(Goal("least share of same sets, all settings", "at least", 1.0, _least_agreement(results)))
    return goals


def _figure(engines: Mapping[str, dict[str, Any]], name: str, figure: str) -> float | None:
    return engines[name][figure] if name in engines else None


def _least_agreement(results: Results) -> float | None:
    every = (engines for section in results.values() for engines in section.values())
    shares = [one["same sets"] for engines in every for name, one in engines.items() if name.startswith(OURS)]
    return min(shares, default=None)


def smaller(section: Section) -> Section:
    """Return the section with its first setting alone, and a twentieth of its rows, for a look."""
    first = section.settings[0]
    return section._replace(settings=[first._replace(n=max(first.n // 20, 500))])


def main() -> None:
    """Measure section after section, print and save."""
    parser = parser_for(__doc__, "search", repeats=2)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    options = parser.parse_args()
    print_facts()
    n_queries = N_QUERIES // 10 if options.quick else N_QUERIES
    results, tables = {}, []
    for name in options.sections:
        section = smaller(SECTIONS[name]) if options.quick else SECTIONS[name]
        runs = {one.title(): run_setting(section, one, n_queries, options.repeats) for one in section.settings}
        results[name] = runs
        tables.append(table_of(section, runs))
        show(tables[-1:])
    goals = goals_of(results)
    show([], goals)
    save(options, __doc__, results, tables, goals)


if __name__ == "__main__":
    main()
