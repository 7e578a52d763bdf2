"""How often do scikit-learn's searches return the neighbours that (distance, training index) puts first?

Random samples of 16 features, 0 or 1 with equal chance: many have the same distance, and which of them is a neighbour
is open. Every sample is searched among 5,000, itself included, k = 10. A query counts if the *set* of neighbours is the
same as that of `ExactNeighbors`. Shares are the lowest and the highest of ten draws.

Run: ``python benchmarks/ties.py``; a minute. ``--quick`` for 500 samples.
``docs/decisions/0001-ties-by-training-index.md`` has the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from _harness import Table, parser_for, print_facts, save, show
from nearlabel.neighbors import ExactNeighbors

ALGORITHMS = ("brute", "kd_tree", "ball_tree")
N_SAMPLES, N_FEATURES, N_NEIGHBORS, N_DRAWS = 5_000, 16, 10, 10


def shares_of(n_samples: int, seed: int) -> dict[str, float]:
    """Return for each algorithm the share of the queries with our set of neighbours, on one draw."""
    X = np.random.default_rng(seed).integers(0, 2, (n_samples, N_FEATURES)).astype(float)
    ours = _sets(ExactNeighbors().fit(X), X)
    theirs = {name: _sets(NearestNeighbors(algorithm=name).fit(X), X) for name in ALGORITHMS}
    return {name: float((sets == ours).all(axis=1).mean()) for name, sets in theirs.items()}


def _sets(search: Any, X: Any) -> Any:
    return np.sort(search.kneighbors(X, N_NEIGHBORS)[1], axis=1)


def tables_of(results: Mapping[str, Sequence[float]]) -> list[Table]:
    """Return the one table."""
    rows = [(name, *(f"{100 * share:.1f} %" for share in (min(of), max(of)))) for name, of in results.items()]
    return [Table("Queries with the same set of neighbours", ("scikit-learn's", "lowest", "highest"), rows)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    options = parser_for(__doc__ or "", "ties", repeats=1).parse_args(arguments)
    print_facts()
    draws = [shares_of(500 if options.quick else N_SAMPLES, seed) for seed in range(N_DRAWS)]
    results = {name: [draw[name] for draw in draws] for name in ALGORITHMS}
    show(tables_of(results))
    save(options, __doc__ or "", results, tables_of(results))


if __name__ == "__main__":
    main()
