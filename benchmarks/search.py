"""How fast, small and right is the exact search beside scikit-learn, faiss, intelex, torch and the product alone?

2,000 queries, where no other number is named, or every row against all others (leave one out), by one thread, and by
two. Each level of the kernels is measured that this processor runs: bf16 needs AMX, int16 AVX512-VNNI; float32 runs
with AVX-512, AVX2 or NEON, and is AVX-512 here if the processor has it; "off" is numpy's engine. bf16 has not been
measured yet, since no processor with AMX was at hand.

Rows, where no kind is named: 200 Gaussian centres and their scatter, both of spread one; queries are rows with noise
of 0.1. "binary": each feature is 1 in one row of ten. "words": tf-idf of 72 words a row drawn by a Zipf law, rows of
length one. Each search runs in a fresh process, in turn with the others, with all libraries held to its threads:
importing faiss slows scikit-learn down in the same process.

CPU and wall seconds are those of queries alone, the least of all passes; "fit s" is the least CPU time of the fit.
"over product" is CPU over that of the single-precision product of rows and queries: one call of the same shape, into
memory that is ready for its results (words: scipy's sparse product of queries and rows). "the product in tiles" is as
many multiplications, a 4096 x d by a d x 1024 tile at a time. "over ours" is CPU over that of nearlabel's fastest
level: above 1 is slower. "gain of wall" is that of two threads over one, which other programs on the same cores lower.
"peak MiB" is above imports and data. "same sets" is the share of 200 queries whose set of neighbours is that of plain
float64 differences, equal distances ordered by index.

Run: ``python benchmarks/search.py``; ``--quick`` for a look, ``--sections threads`` for one part.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from _engines import (
    BRUTE,
    ENGINES,
    FAISS,
    INTELEX,
    KD_TREE,
    LEVELS,
    OURS,
    OURS_BY_LEVEL,
    PRODUCT,
    PRODUCT_IN_TILES,
    TORCH,
    stages_of,
)
from _harness import Goal, Job, Measurement, Table, machine_facts, measure, parser_for, print_facts, save, show
from _reference import agreement, nearest_by_differences

N_QUERIES, N_SAMPLED = 2_000, 200
WORDS_A_ROW = 72
PATIENCE = 10.0  # seconds after which a search is not run again
EACH_LEVEL = tuple(OURS_BY_LEVEL.values())
ALL = (PRODUCT, PRODUCT_IN_TILES, *EACH_LEVEL, BRUTE, KD_TREE, FAISS, INTELEX, TORCH)
FEW = (PRODUCT, *EACH_LEVEL, BRUTE, KD_TREE, FAISS)
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
    n_queries: int = N_QUERIES

    def title(self) -> str:
        """Return the problem in words."""
        kind = "" if self.kind == "clustered" else f"{self.kind}, "
        metric = ", cosine" if self.metric == "cosine" else ""
        own = ", leave one out" if self.own else ""
        queries = "" if self.n_queries == N_QUERIES else f", queries: {self.n_queries:,}"
        return f"{kind}{self.n:,} x {self.d:,} {self.dtype}, k = {self.k}{metric}{own}{queries}"


class Section(NamedTuple):
    """Settings that are shown in one table."""

    title: str
    settings: Sequence[Setting]
    engines: Sequence[str]
    threads: Sequence[int] = (1,)
    most_rounds: int = 9


QUERIES = (Setting(100_000, 64), Setting(100_000, 300))
OWN, MILLION = Setting(20_000, 300, own=True), Setting(1_000_000, 96, n_queries=1_000)
HUNDRED = tuple(setting._replace(k=100) for setting in QUERIES)

SECTIONS: Mapping[str, Section] = {
    "queries": Section("Queries", [*QUERIES, Setting(100_000, 300, "float64")], ALL),
    "leave-one-out": Section(
        "Every row against all others",
        [Setting(20_000, 64, own=True), OWN],
        tuple(name for name in ALL if name != PRODUCT_IN_TILES),
    ),
    "million": Section("A million rows", [MILLION], FEW, most_rounds=1),
    "few": Section("Few queries", [QUERIES[0]._replace(n_queries=n) for n in (1, 50)], FEW, most_rounds=1),
    "rows": Section("By rows", [Setting(n, 64) for n in (1_000, 10_000)], FEW, most_rounds=1),
    "features": Section("By features", [Setting(20_000, d) for d in (2, 1_000)], FEW, most_rounds=1),
    "neighbours": Section("By neighbours", [QUERIES[0]._replace(k=30), *HUNDRED], FEW, most_rounds=1),
    "binary": Section(
        "Binary rows, with many equal distances", [Setting(20_000, 100, kind="binary")], FEW, most_rounds=1
    ),
    "sparse": Section(
        "Sparse rows, of which no level of the kernels takes part",
        [
            Setting(20_000, 30_000, "float64", kind="words"),
            Setting(20_000, 30_000, "float64", kind="words", metric="cosine"),
            Setting(20_000, 30_000, "float64", kind="words", metric="cosine", own=True),
        ],
        (PRODUCT, OURS, BRUTE),
        most_rounds=1,
    ),
    "threads": Section("Two threads", [*QUERIES, OWN], (PRODUCT, *EACH_LEVEL), threads=(1, 2), most_rounds=1),
}


def data_of(setting: Setting) -> tuple[Any, Any]:
    """Return rows and queries, the same ones each time; queries None are the rows."""
    rng = np.random.default_rng(0)
    make = {"clustered": _clustered, "binary": _binary, "words": _words}[setting.kind]
    X, queries = (part.astype(setting.dtype) for part in make(rng, setting.n, setting.d, setting.n_queries))
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


def prepare(setting: Setting, engine: str, threads: int) -> Mapping[str, Callable[[], Any]]:
    """Make the data and return an engine's stages."""
    X, queries = data_of(setting)
    return stages_of(engine, X, queries, setting.k, setting.metric, threads)


def run_setting(section: Section, setting: Setting, repeats: int) -> dict[str, dict[str, Any]]:
    """Measure all engines that take the problem; return their figures by name."""
    X, queries = data_of(setting)
    jobs = {}
    for name in section.engines:
        engine = ENGINES[name]
        if engine.is_installed and engine.takes(X, setting.metric):
            for threads in section.threads:
                label = name if len(section.threads) == 1 else f"{name}, {threads} thread{'s'[: threads - 1]}"
                jobs[label] = Job(f"{setting.title()}: {label}", prepare, (setting, name, threads))
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
    missing = {name: ENGINES[name].remedy for name in section.engines if not ENGINES[name].is_installed}
    return [f"Left out: {name} ({remedy})." for name, remedy in missing.items()]


Results = Mapping[str, Mapping[str, Mapping[str, dict[str, Any]]]]


def tables_by_level(results: Results) -> list[Table]:
    """Return what each level costs beside the product and the two searches that most compare with: a column a level."""
    others = (FAISS, BRUTE, INTELEX)
    titles = {
        PRODUCT: "CPU over that of the product",
        FAISS: "Times faster than faiss",
        BRUTE: "Times faster than brute",
    }
    tables = []
    for other, title in titles.items():
        columns = dict(zip(LEVELS, EACH_LEVEL, strict=True)) | {name: name for name in others if other == PRODUCT}
        rows = [
            (name, *(_over(engines, column, other) for column in columns.values()))
            for name, engines in _by_setting(results)
        ]
        tables.append(Table(f"By level: {title}", ("", *columns), rows))
    return tables


def _by_setting(results: Results) -> Iterator[tuple[str, Mapping[str, dict[str, Any]]]]:
    """Yield the problems in which levels are compared by one thread."""
    for section in results.values():
        for title, engines in section.items():
            if OURS_BY_LEVEL["off"] in engines:
                yield title, engines


def _over(engines: Mapping[str, dict[str, Any]], name: str, other: str) -> float | None:
    """Return CPU over that of the product, or how many times less it is than another search's."""
    if name not in engines or other not in engines:
        return None
    ratio = float(engines[name]["cpu"] / engines[other]["cpu"])
    return ratio if other == PRODUCT else 1 / ratio


def goals_of(results: Results) -> list[Goal]:
    """Return what each level should reach, and what it did."""
    one_thread = dict(_by_setting(results))

    def goal(setting: Setting, level: str, bound: str, limit: float, other: str, what: str) -> Goal:
        found = _over(one_thread.get(setting.title(), {}), OURS_BY_LEVEL[level], other)
        return Goal(f"{setting.title()}, {level}: {what}", bound, limit, found)

    goals = [
        goal(setting, level, *rest)
        for setting in QUERIES
        for level, products, speed in (("bf16", 0.3, 5.0), ("int16", 0.65, 2.0), ("float32", 1.05, 1.1))
        for rest in (
            ("at most", products, PRODUCT, "over the product"),
            ("at least", speed, FAISS, "times faster than faiss"),
        )
    ]
    goals.append(goal(OWN, "bf16", "at most", 0.25, PRODUCT, "over the product"))
    goals.append(goal(MILLION, "bf16", "at most", 0.2, PRODUCT, "over the product"))
    goals += [
        goal(setting, level, "at least", 3.0, OURS_BY_LEVEL["off"], "times faster than off")
        for setting in HUNDRED
        for level in ("bf16", "int16")
    ]
    for setting in SECTIONS["sparse"].settings:
        engines = results.get("sparse", {}).get(setting.title(), {})
        goals.append(Goal(f"{setting.title()}: over scipy's product", "at most", 0.7, _over(engines, OURS, PRODUCT)))
    for setting in SECTIONS["threads"].settings:
        engines = results.get("threads", {}).get(setting.title(), {})
        for level in ("bf16", "int16", "float32"):
            name = f"{OURS_BY_LEVEL[level]}, 2 threads"
            found = gain(engines, name) if name in engines else None
            goals.append(Goal(f"{setting.title()}, {level}: gain of two threads", "at least", 1.85, found))
    goals.append(Goal("least share of same sets, all settings", "at least", 1.0, _least_agreement(results)))
    return goals


def _least_agreement(results: Results) -> float | None:
    every = (engines for section in results.values() for engines in section.values())
    shares = [one["same sets"] for engines in every for name, one in engines.items() if name.startswith(OURS)]
    return min(shares, default=None)


def smaller(section: Section) -> Section:
    """Return the section with its first setting alone, and a twentieth of its rows, for a look."""
    first = section.settings[0]
    n, n_queries = max(first.n // 20, 500), max(first.n_queries // 10, 1)
    return section._replace(settings=[first._replace(n=n, n_queries=n_queries)])


def earlier_results(options: argparse.Namespace) -> dict[str, Any]:
    """Return the results in the file that a run of some parts adds to: none of another machine, or of a full run."""
    if set(options.sections) == set(SECTIONS) or not options.out.exists():
        return {}
    earlier = json.loads(options.out.read_text())
    results: dict[str, Any] = earlier["results"] if earlier["machine"] == machine_facts() else {}
    return results


def tables_of(results: Results) -> list[Table]:
    """Return all tables, those by level first."""
    return [
        *tables_by_level(results),
        *(table_of(SECTIONS[name], results[name]) for name in SECTIONS if name in results),
    ]


def main() -> None:
    """Measure section after section, print and save: what a run that is stopped has measured is not lost."""
    parser = parser_for(__doc__, "search", repeats=2)
    parser.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS), help="some parts, anew")
    options = parser.parse_args()
    print_facts()
    results = earlier_results(options)
    for name in options.sections:
        section = smaller(SECTIONS[name]) if options.quick else SECTIONS[name]
        results[name] = {one.title(): run_setting(section, one, options.repeats) for one in section.settings}
        show([table_of(section, results[name])])
        save(options, __doc__, results, tables_of(results), goals_of(results))
    show(tables_by_level(results), goals_of(results))


if __name__ == "__main__":
    main()
