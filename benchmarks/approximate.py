"""How fast are the approximate searches, and what do they miss?

100,000 x 64, 200 Gaussian clusters, 2,000 queries, k = 10, one thread, each search in a fresh process. CPU seconds of
the fit and of the queries, the least of the rounds; the speed-up is against scikit-learn's brute force. Recall is the
share of the neighbours of `ExactNeighbors` that are found.

Run: ``python benchmarks/approximate.py``; three minutes. ``--quick`` for 5,000 samples. Needs the extra ``ann``.
``docs/approximate.md`` has the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from _harness import Job, Table, measure, parser_for, print_facts, save, show
from nearlabel.neighbors import ExactNeighbors, FaissHNSWNeighbors, FaissIVFNeighbors, UsearchNeighbors

BRUTE = "scikit-learn, brute force"
SEARCHES: Mapping[str, Callable[[], Any]] = {
    BRUTE: lambda: NearestNeighbors(algorithm="brute", n_jobs=1),
    "FaissIVFNeighbors(1)": lambda: FaissIVFNeighbors(1, n_jobs=1),
    "FaissIVFNeighbors(4)": lambda: FaissIVFNeighbors(4, n_jobs=1),
    "FaissIVFNeighbors(): 16": lambda: FaissIVFNeighbors(n_jobs=1),
    "FaissIVFNeighbors(64)": lambda: FaissIVFNeighbors(64, n_jobs=1),
    "FaissHNSWNeighbors(): 64": lambda: FaissHNSWNeighbors(n_jobs=1),
    "FaissHNSWNeighbors(200)": lambda: FaissHNSWNeighbors(200, n_jobs=1),
    "UsearchNeighbors(): 64": lambda: UsearchNeighbors(n_jobs=1),
    "UsearchNeighbors(200)": lambda: UsearchNeighbors(200, n_jobs=1),
}
N_SAMPLES, N_FEATURES, N_QUERIES, K = 100_000, 64, 2_000, 10


def data_of(n_samples: int) -> tuple[Any, Any]:
    """Return samples and queries."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(200, N_FEATURES))
    X = centres[rng.integers(0, 200, n_samples)] + rng.normal(size=(n_samples, N_FEATURES))
    queries = X[rng.integers(0, n_samples, N_QUERIES)] + 0.1 * rng.normal(size=(N_QUERIES, N_FEATURES))
    return X.astype(np.float32), queries.astype(np.float32)


def prepare(name: str, n_samples: int) -> Mapping[str, Callable[[], Any]]:
    """Return the stages of a search; the answer is the indices of the neighbours."""
    X, queries = data_of(n_samples)
    search = SEARCHES[name]()
    limits = threadpool_limits(1)  # of the whole process; kept alive by the stages
    SEARCHES[name]().fit(X[:5_000]).kneighbors(queries[:100], K)  # imports the library, too

    def query() -> Any:
        return search.kneighbors(queries, K)[1] if limits is not None else None

    return {"fit": lambda: search.fit(X) is None, "query": query}


def recall_of(found: Any, true: Any) -> float:
    """Return the share of the true neighbours that were found."""
    return float(np.mean([np.isin(one, other).mean() for one, other in zip(true, found, strict=True)]))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    options = parser_for(__doc__ or "", "approximate", repeats=2).parse_args(arguments)
    print_facts()
    n_samples = 5_000 if options.quick else N_SAMPLES
    X, queries = data_of(n_samples)
    true = ExactNeighbors().fit(X).kneighbors(queries, K)[1]
    measured = measure([Job(name, prepare, (name, n_samples)) for name in SEARCHES], options.repeats)
    brute = measured[BRUTE].minimum("query", "cpu")
    results = {
        name: {
            "fit": one.minimum("fit", "cpu"),
            "query": one.minimum("query", "cpu"),
            "speed-up": brute / one.minimum("query", "cpu"),
            "recall": recall_of(one.answer, true),
        }
        for name, one in measured.items()
    }
    rows = [(name, of["fit"], of["query"], of["speed-up"], f"{of['recall']:.3f}") for name, of in results.items()]
    tables = [Table("100,000 x 64", ("search", "fit, s", "queries, s", "speed-up", "recall"), rows)]
    show(tables)
    save(options, __doc__ or "", results, tables)


if __name__ == "__main__":
    main()
