"""What does the check of a sparse container cost, beside the fit and the predictions that it goes before?

Random rows of 20,000 features, 50 of them not 0, and three of 100 labels. Times are the shortest of seven, in
milliseconds; a fit is passed once. "Order" is the pass that finds out whether entries are sorted, each once, which
scipy would not repeat for a container that says so.

Run: ``python benchmarks/containers.py``; six minutes. ``--quick`` for 5,000 rows. ``docs/security.md`` has the figures.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from _harness import Table, parser_for, print_facts, save, show
from nearlabel.lazy import MLkNN
from nearlabel.utils.stored import checked_places

N_ROWS, N_FEATURES, N_ENTRIES, N_LABELS, N_QUERIES = 100_000, 20_000, 50, 100, 1_000


def figures_of(n_rows: int) -> dict[str, dict[str, float]]:
    """Return the milliseconds of calls, and of the checks that they make, by the name of the call."""
    rng = np.random.default_rng(0)
    X, Y = _rows(rng, n_rows, N_FEATURES, N_ENTRIES), _rows(rng, n_rows, N_LABELS, 3)
    Y.data[:] = 1
    queries, model = X[:N_QUERIES], MLkNN(10)
    return {
        f"fit {n_rows:,} rows": _figures(lambda: model.fit(X, Y), X, 1),
        f"predict {N_QUERIES:,} rows": _figures(lambda: model.predict(queries), queries, 3),
        "predict one row": _figures(lambda: model.predict(queries[:1]), queries[:1], 200),
    }


def _rows(rng: np.random.Generator, n_rows: int, width: int, n_entries: int) -> Any:
    ends = np.arange(0, n_rows * n_entries + 1, n_entries)
    rows = sparse.csr_array((rng.random(ends[-1]), rng.integers(0, width, ends[-1]), ends), shape=(n_rows, width))
    rows.sum_duplicates()
    return rows


def _figures(call: Callable[[], Any], rows: Any, n_calls: int) -> dict[str, float]:
    check = _milliseconds(lambda: checked_places("X", rows), 7 * n_calls)
    both = _milliseconds(lambda: checked_places("X", rows).has_canonical_format, 7 * n_calls)
    return {"call": _milliseconds(call, n_calls), "check": check, "order": both - check}


def _milliseconds(call: Callable[[], Any], n_calls: int) -> float:
    seconds = []
    for _ in range(n_calls):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return 1000 * min(seconds)


def tables_of(results: Mapping[str, Mapping[str, float]]) -> list[Table]:
    """Return the one table."""
    rows = [
        (name, f"{of['call']:,.1f}", f"{of['check']:.3f}", f"{of['order']:.3f}", f"{share:.2g} %")
        for name, of in results.items()
        for share in [100 * (of["check"] + of["order"]) / of["call"]]
    ]
    return [Table("ML-kNN, k = 10, milliseconds", ("call", "all", "check", "order", "share of both"), rows)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    options = parser_for(__doc__ or "", "containers", repeats=1).parse_args(arguments)
    print_facts()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # random rows have hubs
        results = figures_of(5_000 if options.quick else N_ROWS)
    show(tables_of(results))
    save(options, __doc__ or "", results, tables_of(results))


if __name__ == "__main__":
    main()
