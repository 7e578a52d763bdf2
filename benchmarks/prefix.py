"""Would a kernel save products by looking at the first principal axes alone? Shares of pairs and blocks, no race.

A pair of a query and a row is excluded if the distance along the first axes, and that of the lengths along the others,
exceeds the query's distance to its tenth neighbour, which is taken as known: the best case. A kernel multiplies blocks
of 32 rows and 12 queries, in the order of its panels and of the queries' lengths, and saves the rest of a block only if
no pair of it remains. Prints what share of pairs and of blocks remains after an eighth, a quarter and half of the axes.

Run: ``python benchmarks/prefix.py``. Needs ``NEARLABEL_DATA`` or the net.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from nearlabel.datasets import fetch_dataset
from nearlabel.neighbors import ExactNeighbors
from nearlabel.utils.validation import as_dense

NAMES = ("scene", "image", "yeast", "corel5k", "digits")
ROWS, QUERIES = 32, 12
N_QUERIES = 480
K = 10

Rows = NDArray[Any]


def rows_and_queries(name: str) -> tuple[Rows, Rows]:
    """Return all rows but the last ones, and these."""
    X = load_digits().data if name == "digits" else as_dense(fetch_dataset(name).X)
    X = np.random.default_rng(0).permutation(X.astype(np.float64))
    return X[:-N_QUERIES], X[-N_QUERIES:]


def remaining(X: Rows, queries: Rows, n_axes: int) -> tuple[float, float]:
    """Return the shares of pairs and of blocks that the first axes leave; both sides are rotated."""
    limits = ExactNeighbors(algorithm="brute").fit(X).kneighbors(queries, K)[0][:, -1] * (1 + 1e-9)
    tails, tails_of_queries = (np.linalg.norm(of[:, n_axes:], axis=1) for of in (X, queries))
    pairs, blocks = [], []
    for first in range(0, N_QUERIES, QUERIES):
        some = slice(first, first + QUERIES)
        along = ((X[:, np.newaxis, :n_axes] - queries[some, :n_axes]) ** 2).sum(axis=2)
        remain = along + (tails[:, np.newaxis] - tails_of_queries[some]) ** 2 <= limits[some] ** 2
        whole = len(X) // ROWS * ROWS
        pairs.append(remain.mean())
        blocks.append(remain[:whole].reshape(-1, ROWS * QUERIES).any(axis=1).mean())
    return float(np.mean(pairs)), float(np.mean(blocks))


def main() -> None:
    """Print a line for each data set."""
    for name in NAMES:
        X, queries = rows_and_queries(name)
        centre = X.mean(axis=0)
        axes = np.linalg.svd(X - centre, full_matrices=False)[2].T
        X, queries = (X - centre) @ axes, (queries - centre) @ axes
        X = X[np.argsort(np.linalg.norm(X, axis=1))]  # as within a panel
        queries = queries[np.argsort(np.linalg.norm(queries, axis=1))]
        shares = (remaining(X, queries, max(1, X.shape[1] // part)) for part in (8, 4, 2))
        cells = "  ".join(f"{100 * pairs:5.1f} % {100 * blocks:5.1f} %" for pairs, blocks in shares)
        print(f"{name:9} {len(X):5} x {X.shape[1]:4}  pairs, blocks: {cells}", flush=True)


if __name__ == "__main__":
    main()
