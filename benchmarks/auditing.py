"""What does an audit cost, beside the leave-one-out answers that it looks at?

Random rows with random labels, which leave nothing to guess at. "left out" is the search for the neighbours of all rows
and their leave-one-out scores: `fit` and `loo_predict_proba` of a method. "audit" is the same `fit` and
`nearlabel.audit.audit` with its defaults: 100 cells with their neighbours, what correcting the first 20 would change,
rows, conflicts, pairs of labels and hubs. ML-kNN keeps its neighbours from `fit`; BRkNN searches for them when it is
asked.

Ratios are of CPU time: seconds by the clock depend on what else the cores do.

Run: ``python benchmarks/auditing.py``; ``--quick`` for a look.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from _harness import Goal, Job, Table, measure, parser_for, print_facts, save, show
from nearlabel.audit import audit
from nearlabel.lazy import BRkNN, MLkNN

METHODS: Mapping[str, Callable[[], Any]] = {"ML-kNN": MLkNN, "BRkNN": BRkNN}
N_SPARSE = 5  # labels of a row where y is sparse


def problem(n_rows: int, n_features: int, n_labels: int, stored: bool) -> tuple[Any, Any]:
    """Return rows and labels, sparse if they are stored as such."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, n_features))
    if not stored:
        return X, (rng.random((n_rows, n_labels)) < 0.05).astype(np.int64)
    places = np.repeat(np.arange(n_rows), N_SPARSE), (rng.random(n_rows * N_SPARSE) ** 3 * n_labels).astype(np.intp)
    y = sparse.csr_array((np.ones(len(places[0]), dtype=np.int64), places), shape=(n_rows, n_labels))
    y.sum_duplicates()
    y.data[:] = 1
    return X, y


def prepare(method: str, of: Any, audits: bool) -> Mapping[str, Callable[[], Any]]:
    """Return fit and what follows it."""
    X, y = problem(*of)
    model = METHODS[method]()
    small = METHODS[method]().fit(X[:500], y[:500])  # warms up
    audit(small)

    def then() -> None:
        audit(model) if audits else model.loo_predict_proba()

    return {"fit": lambda: model.fit(X, y) and None, "then": then}


def main() -> None:
    """Time audits and leave-one-out answers; print and save the figures."""
    parser = parser_for(__doc__, "auditing", repeats=2)
    options = parser.parse_args()
    part = 20 if options.quick else 1
    problems: dict[str, Any] = {
        "100,000 x 100, 100 labels": (100_000 // part, 100, 100, False),
        "20,000 x 30, 10,000 sparse labels": (20_000 // part, 30, 10_000 // part, True),
    }
    print_facts()
    jobs = [
        Job(f"{name}, {method}, {what}", prepare, (method, of, what == "audit"))
        for name, of in problems.items()
        for method in METHODS
        for what in ("left out", "audit")
    ]
    measured = measure(jobs, options.repeats)
    headers = ("rows", "method", "left out, CPU s", "audit, CPU s", "ratio", "audit, s", "peak, MiB")
    rows: list[Any] = []
    for name in problems:
        for method in METHODS:
            left_out, audited = (measured[f"{name}, {method}, {what}"] for what in ("left out", "audit"))
            seconds = [one.median("fit", "cpu") + one.median("then", "cpu") for one in (left_out, audited)]
            rows.append((name, method, *seconds, seconds[1] / seconds[0], audited.median(), audited.peak_mib()))
    tables = [Table("Audits beside leave-one-out answers", headers, rows)]
    goals = [Goal(f"audit over left out, {row[0]}, {row[1]}", "at most", 1.3, row[4]) for row in rows[: len(METHODS)]]
    show(tables, goals)
    save(options, __doc__, {name: one.describe() for name, one in measured.items()}, tables, goals)


if __name__ == "__main__":
    main()
