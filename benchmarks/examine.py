"""What does it cost to examine a data set, beside the neighbour search that is part of it?

Seeded rows: 100,000 x 300 dense (clusters), and 100,000 x 20,000 sparse words. Each is searched leave-one-out for 10
neighbours, examined with that search, and examined without a search, as `fit`, `tune` and `evaluate` do first.
1,000,000 x 50 rows are examined by a part of the rows.

Run: ``python benchmarks/examine.py``; ``--quick`` for a look.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from _harness import Goal, Job, Table, measure, parser_for, print_facts, save, show
from nearlabel.datasets import examine
from nearlabel.neighbors import ExactNeighbors

LABELS, K = 20, 10
WHATS = ("search", "examine", "first look")
LARGEST = "clusters, 1,000,000 rows"


def rows_of(kind: str, n_rows: int, n_features: int) -> Any:
    """Return clusters, dense, or words, sparse."""
    rng = np.random.default_rng(0)
    if kind == "words":
        return sparse.random_array((n_rows, n_features), density=60 / n_features, rng=rng, format="csr")
    centres = rng.normal(size=(200, n_features))
    return centres[rng.integers(0, len(centres), n_rows)] + 0.5 * rng.normal(size=(n_rows, n_features))


def prepare(kind: str, n_rows: int, n_features: int, what: str) -> Mapping[str, Callable[[], Any]]:
    """Return one job on fresh rows."""
    X = rows_of(kind, n_rows, n_features)
    Y = (np.random.default_rng(1).random((n_rows, LABELS)) < 0.1).astype(int)
    jobs = {
        "search": lambda: ExactNeighbors().fit(X).kneighbors(n_neighbors=K),
        "examine": lambda: examine(X, Y),
        "first look": lambda: examine(X, Y, search=False),
    }
    return {what: lambda: jobs[what]() and None}


def main() -> None:
    """Time searches and examinations, print and save the figures."""
    parser = parser_for(__doc__, "examine", repeats=3)
    options = parser.parse_args()
    part = 20 if options.quick else 1
    problems = {
        "clusters": ("clusters", 100_000 // part, 300),
        "words": ("words", 100_000 // part, 20_000),
        LARGEST: ("clusters", 1_000_000 // part, 50),
    }
    print_facts()
    jobs = [
        Job(f"{name}: {what}", prepare, (*problem, what))
        for name, problem in problems.items()
        for what in WHATS
        if not (name == LARGEST and what == "search")
    ]
    measured = measure(jobs, options.repeats)
    rows = [_row(name, problem, measured) for name, problem in problems.items()]
    headers = (
        "rows", "shape", "search, s", "search, CPU s", "examine, s", "examine, CPU s", "over search, CPU",
        "first look, s", "first look, peak MiB",
    )  # fmt: skip
    tables = [Table(f"Examination, {K} neighbours", headers, rows)]
    show(tables)
    # Seconds by the clock depend on what else the two cores do: the goal is one of CPU time.
    goals = [Goal("CPU time of examine over that of its search", "at most", 1.2, rows[0][6])]
    save(options, __doc__, [dict(zip(headers, row, strict=True)) for row in rows], tables, goals)


def _row(name: str, problem: tuple[str, int, int], measured: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return a line of the table; the ratio is one of CPU time, which other work on the machine changes less."""
    found = {what: measured.get(f"{name}: {what}") for what in WHATS}
    seconds = [None if one is None else one.median(what) for what, one in found.items()]
    cpu = [None if one is None else one.median(what, "cpu") for what, one in found.items()]
    ratio = None if cpu[0] is None else cpu[1] / cpu[0]
    peak = measured[f"{name}: first look"].peak_mib()
    times = (seconds[0], cpu[0], seconds[1], cpu[1])
    return name, f"{problem[1]:,} x {problem[2]:,}", *times, ratio, seconds[2], peak


if __name__ == "__main__":
    main()
