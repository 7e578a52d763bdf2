"""What does it cost to choose the number of neighbours, beside a single fit and scikit-learn's grid search?

ML-kNN fitted to rows with 10 neighbours, and with the best of 1 to 30: by leave-one-out micro F1 from one search
(``n_neighbors="auto"``, `tune_neighbors`), by a number for each label (`NeighborsPerLabel`), and by scikit-learn's
`GridSearchCV` on five folds, which searches for each number and fold anew. "large" is seeded: 20,000 rows of 100
features about 200 centres, 20 labels. The others are published training parts, where ``NEARLABEL_DATA`` has them.

"times a fit" is the ratio of median wall seconds; "by least CPU" that of the least processor seconds.

Until the second design most of ML-kNN's left-out label sets followed from bounds, and a choice cost 1.77 fits on
"large" (1.86 by CPU). One kernel that counts without each row took the place of the bounds: much simpler, and this is
what it costs.

Run: ``python benchmarks/choice.py``; ``--quick`` for a look.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV

from _harness import Goal, Job, Measurement, Table, measure, parser_for, print_facts, save, show
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.selection import NeighborsPerLabel, tune_neighbors

NUMBERS = range(1, 31)
REAL = ("yeast", "scene", "enron", "yahoo-health")
SINGLE = "k = 10"
WAYS: Mapping[str, Callable[[], Any]] = {
    SINGLE: MLkNN,
    "auto": lambda: MLkNN("auto"),
    "tune_neighbors, all of these measures": lambda: _Tuned(),
    "one for each label": NeighborsPerLabel,
    "GridSearchCV": lambda: GridSearchCV(
        MLkNN(), {"n_neighbors": list(NUMBERS)}, scoring=make_scorer(micro_f1), cv=5, n_jobs=1
    ),
}
MEASURES = ("micro_f1", "macro_f1", "hamming_loss", "one_error", "coverage", "ranking_loss", "average_precision")


class _Tuned:
    """`tune_neighbors` with measures of label sets and of scores."""

    def fit(self, X: Any, Y: Any) -> Any:
        return tune_neighbors(MLkNN(), X, Y, n_neighbors=NUMBERS, scoring=MEASURES)


def large(n_rows: int) -> tuple[Any, Any]:
    """Return rows about 200 centres, and labels that most rows of a centre share."""
    rng = np.random.default_rng(0)
    centres, sets = 2 * rng.normal(size=(200, 100)), rng.random((200, 20)) < 0.15
    of = rng.integers(0, 200, n_rows)
    Y = sets[of] ^ (rng.random((n_rows, 20)) < 0.05)
    return centres[of] + 3 * rng.normal(size=(n_rows, 100)), Y.astype(np.int64)


def prepare(problem: str, way: str, n_rows: int) -> Mapping[str, Callable[[], Any]]:
    """Return the fit."""
    if problem == "large":
        X, Y = large(n_rows)
    else:
        training = fetch_dataset(problem, "train")
        X, Y = training.X, training.Y
    MLkNN().fit(X[:200], Y[:200])
    return {"fit": lambda: _summary(WAYS[way]().fit(X, Y))}


def _summary(model: Any) -> str:
    """Return what was chosen."""
    numbers = np.atleast_1d(getattr(model, "best_estimator_", model).n_neighbors_)
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers.min()} to {numbers.max()}"


def rows_of(problem: str, measured: Mapping[str, Measurement]) -> Iterator[tuple[Any, ...]]:
    """Yield a row of the table for each way."""
    single = measured[f"{problem}: {SINGLE}"]
    for way in WAYS:
        one = measured[f"{problem}: {way}"]
        ratio = one.median() / single.median()
        yield way, one.answer, one.median(), ratio, one.minimum(clock="cpu") / single.minimum(clock="cpu"), one.n_runs


def main() -> None:
    """Measure every way on every problem, print and save the figures."""
    parser = parser_for(__doc__, "choice", repeats=3)
    options = parser.parse_args()
    n_rows = 2_000 if options.quick else 20_000
    print_facts()
    problems = ["large", *(REAL if os.environ.get("NEARLABEL_DATA") and not options.quick else ())]
    jobs = [Job(f"{problem}: {way}", prepare, (problem, way, n_rows)) for problem in problems for way in WAYS]
    measured = measure(jobs, options.repeats)
    headers = ("ML-kNN", "chosen", "fit s", "times a fit", "by least CPU", "processes/passes")
    tables = [Table(problem, headers, list(rows_of(problem, measured))) for problem in problems]
    found = next(row[3] for row in tables[0].rows if row[0] == "auto")
    goals = [] if options.quick else [Goal("large, a number chosen of 30: times a single fit", "at most", 3, found)]
    show(tables, goals)
    save(options, __doc__, {name: one.describe() for name, one in measured.items()}, tables, goals)


if __name__ == "__main__":
    main()
