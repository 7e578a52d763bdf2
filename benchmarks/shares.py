"""How much of the time of fit and predict is spent outside the neighbour search?

ML-kNN and BRkNN with 10 neighbours, label sets dense and sparse. Problems: "large", seeded (20,000 training rows, 1,000
queries, 64 features, 100 labels of which a row has four), and "yeast", the published split, where ``NEARLABEL_DATA``
has it. Figures are milliseconds of processor time, all threads together, of the fastest of several runs. What one part
calls of another counts for the other alone.

Run: ``python benchmarks/shares.py``; ``--quick`` for a look.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from _harness import Goal, Job, Table, measure, parser_for, print_facts, save, show
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import BRkNN, MLkNN, _classifier, _counts, _engine, _mlknn
from nearlabel.models import _classifiers
from nearlabel.neighbors import ExactNeighbors

METHODS = {"MLkNN": MLkNN, "BRkNN": BRkNN}
PARTS: Mapping[str, list[tuple[Any, str]]] = {
    "search": [(ExactNeighbors, "_fit"), (ExactNeighbors, "_kneighbors")],
    "votes": [(_counts, "label_votes"), (_engine, "label_votes")],
    "tables": [(_classifier, "count_rows"), (_mlknn, "bayes")],
    "decide": [(_engine, "score"), (_engine, "decide")],
    "validation": [(_classifiers, "check_problem"), (_classifiers, "check_rows")],
}
ROUNDS = 7


class Data(NamedTuple):
    """Training rows, their label sets, queries."""

    X: NDArray
    Y: Any
    queries: NDArray


def large(n_rows: int) -> Data:
    """Return Gaussian rows, and labels of which the first are frequent and the last are rare, four a row."""
    rng = np.random.default_rng(0)
    zipf = 1 / np.arange(1, 101)
    Y = (rng.random((n_rows, 100)) < np.minimum(4 * zipf / zipf.sum(), 0.9)).astype(np.int64)
    return Data(rng.normal(size=(n_rows, 64)), Y, rng.normal(size=(1_000, 64)))


def yeast() -> Data:
    """Return the published split of yeast."""
    training, test = fetch_dataset("yeast", "train"), fetch_dataset("yeast", "test")
    return Data(training.X, training.Y, test.X)


class Stopwatch:
    """Adds up the seconds of parts; what a part calls of another part counts for that one alone."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys([*PARTS, "rest"], 0.0)
        self._inner = [0.0]

    def timed(self, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function, timed."""

        @functools.wraps(function)
        def wrapper(*args: Any, **options: Any) -> Any:
            start = time.process_time()
            self._inner.append(0.0)
            try:
                return function(*args, **options)
            finally:
                spent = time.process_time() - start
                self.seconds[part] += spent - self._inner.pop()
                self._inner[-1] += spent

        return wrapper

    @contextmanager
    def on_all_parts(self) -> Iterator[None]:
        """Time every part of the library while this lasts."""
        with ExitStack() as patches:
            for part, places in PARTS.items():
                for owner, name in places:
                    patches.enter_context(mock.patch.object(owner, name, self.timed(part, getattr(owner, name))))
            yield


def seconds_of(call: Callable[[], Any]) -> dict[str, float]:
    """Return the seconds of each part of a call, those of the fastest of several runs."""
    runs = []
    for _ in range(ROUNDS):
        watch = Stopwatch()
        with watch.on_all_parts():
            watch.timed("rest", call)()
        runs.append(watch.seconds)
    return min(runs, key=lambda seconds: sum(seconds.values()))


def prepare(problem: str, storage: str, method: str, n_rows: int) -> Mapping[str, Callable[[], Any]]:
    """Return the profile of one method, which gives the seconds of each stage and part."""
    data = yeast() if problem == "yeast" else large(n_rows)
    labels = sparse.csr_array(data.Y) if storage == "sparse" else np.asarray(data.Y)
    model = METHODS[method](10)
    model.fit(data.X, labels).predict(data.queries)
    stages = {"fit": lambda: model.fit(data.X, labels), "predict": lambda: model.predict(data.queries)}
    return {"profile": lambda: {stage: seconds_of(call) for stage, call in stages.items()}}


def rows_of(names: tuple[str, ...], seconds: Mapping[str, Mapping[str, float]]) -> Iterator[tuple[Any, ...]]:
    """Yield a row of the table for each stage, and one for both together."""
    both = {part: sum(stage[part] for stage in seconds.values()) for part in [*PARTS, "rest"]}
    for stage, parts in {**seconds, "both": both}.items():
        total = sum(parts.values())
        outside = 100 * (1 - parts["search"] / total)
        milliseconds = (round(1000 * spent, 2) for spent in (*parts.values(), total))
        yield " ".join((*names, stage)), *milliseconds, round(outside, 1)


def goals_of(rows: list[tuple[Any, ...]]) -> list[Goal]:
    """Return the largest share of a fit and predict on the large problem that is not the search."""
    shares = [row[-1] for row in rows if row[0].startswith("large") and row[0].endswith("both")]
    return [Goal("large, fit and predict: per cent outside the search", "at most", 10, max(shares))]


def main() -> None:
    """Profile every method on every problem, print and save the figures."""
    parser = parser_for(__doc__, "shares", repeats=1)
    options = parser.parse_args()
    n_rows = 2_000 if options.quick else 20_000
    print_facts()
    problems = ["large", "yeast"] if os.environ.get("NEARLABEL_DATA") else ["large"]
    settings = [(p, s, m) for p in problems for s in ("dense", "sparse") for m in METHODS]
    jobs = [Job(" ".join(setting), prepare, (*setting, n_rows)) for setting in settings]
    measured = measure(jobs, options.repeats)
    rows = [row for setting in settings for row in rows_of(setting, measured[" ".join(setting)].answer)]
    headers = ("milliseconds of", *PARTS, "rest", "all", "outside the search %")
    tables, goals = [Table("Milliseconds of each part", headers, rows)], [] if options.quick else goals_of(rows)
    show(tables, goals)
    save(options, __doc__, [dict(zip(headers, row, strict=True)) for row in rows], tables, goals)


if __name__ == "__main__":
    main()
