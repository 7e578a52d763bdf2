"""Labels that are confused with each other, or missing together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.utils.types import CSR, IntArray

CONFUSED, MISSING = "confused", "missing together"
_FEWEST = 2  # rows: one row is a suspicious row, not a pattern


class PairOfLabels(NamedTuple):
    """Two labels by number, and the rows in which both are wrong."""

    kind: str
    labels: tuple[int, int]
    n_rows: int
    expected: float
    rows: IntArray


def pairs_of_labels(missed: CSR, added: CSR, n_pairs: int, n_examples: int = 5) -> list[PairOfLabels]:
    """Return the pairs of labels that are wrong together most often, compared with the expected number of rows.

    `missed` and `added` (n_rows, n_labels) mark where a label was given and not predicted, and the reverse. The
    expected number of rows is the one for independent errors of these frequencies.
    """
    found = [
        *_counted(CONFUSED, missed, added, n_pairs, n_examples),
        *_counted(MISSING, added, added, n_pairs, n_examples),
    ]
    found.sort(key=lambda pair: (pair.expected - pair.n_rows, pair.kind, pair.labels))
    return found[:n_pairs]


def _counted(kind: str, first: CSR, second: CSR, n_pairs: int, n_examples: int) -> list[PairOfLabels]:
    n_rows = first.shape[0]
    one, two = first.astype(np.int64).tocsc(), second.astype(np.int64).tocsc()
    together = sparse.csr_array(one.T @ two)
    if kind == MISSING:
        together = sparse.triu(together, k=1)
    pairs = sparse.coo_array(together)
    frequency = np.diff(one.indptr), np.diff(two.indptr)
    expected = frequency[0][pairs.row] * frequency[1][pairs.col] / n_rows
    often = np.flatnonzero((pairs.data >= _FEWEST) & (pairs.data > expected))
    order = often[np.lexsort((pairs.col[often], pairs.row[often], (expected - pairs.data)[often]))][:n_pairs]
    return [
        PairOfLabels(
            kind,
            (int(pairs.row[at]), int(pairs.col[at])),
            int(pairs.data[at]),
            float(expected[at]),
            _common(one, int(pairs.row[at]), two, int(pairs.col[at]))[:n_examples],
        )
        for at in order
    ]


def _common(one: sparse.csc_array, first: int, two: sparse.csc_array, second: int) -> IntArray:
    rows: IntArray = np.intersect1d(
        one.indices[one.indptr[first] : one.indptr[first + 1]], two.indices[two.indptr[second] : two.indptr[second + 1]]
    )
    return rows
