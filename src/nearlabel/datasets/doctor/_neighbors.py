"""Findings in the neighbours of the rows: hubs, near duplicates, distances that do not distinguish rows."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nearlabel.datasets.doctor._finding import NOTE, SEVERE, WARNING, Finding, counted, percent
from nearlabel.neighbors.usefulness import (
    LEAST_ROWS,
    MOST_OF_ALL,
    all_tied,
    occurrences,
    share_of_most_used,
    skewness,
)
from nearlabel.utils.types import FloatArray, IntArray

MANY = 0.1  # of all places, to the most used hundredth of the rows: 10 times its share
SKEWED = 1.0  # of the occurrences; a rule of thumb
NEARLY_EQUAL = 1e-3  # of the median distance to the nearest row
FEW_NEAR = 0.005  # of the rows: in one dimension a thousandth is as near by chance


def neighbor_findings(distances: FloatArray, indices: IntArray, n_rows: int) -> Iterator[Finding]:
    """Yield the findings in the lists (n_lists, n_neighbors) of rows, nearest first, each without itself."""
    yield from _hubs(indices, n_rows)
    yield from _near_duplicates(distances[:, 0])
    alike = all_tied(distances) & (distances[:, 0] > 0)
    if distances.shape[1] > 1 and alike.mean() > MOST_OF_ALL:
        yield Finding(
            "equal_distances",
            SEVERE,
            f"For {percent(alike.mean())} of the rows all {distances.shape[1]} neighbours are at the same distance, so"
            " the order of the rows decides which are the neighbours.",
            "Use features or a metric that distinguish rows.",
            {"share": float(alike.mean()), "n_neighbors": distances.shape[1]},
        )


def _hubs(indices: IntArray, n_rows: int) -> Iterator[Finding]:
    occurs = occurrences(indices, n_rows)
    n_top, share, skewed = -(-n_rows // 100), share_of_most_used(occurs), skewness(occurs)
    never = float((occurs == 0).mean())
    fair = n_rows >= LEAST_ROWS
    severity = SEVERE if fair and share > MOST_OF_ALL else WARNING if fair and share > MANY else NOTE
    if severity == NOTE and skewed <= SKEWED:
        return
    yield Finding(
        "hubs",
        severity,
        f"{counted(n_top, 'row')} (1 %) {'takes' if n_top == 1 else 'take'} {percent(share)} of all places among"
        f" {indices.shape[1]} neighbours, and {percent(never)} of the rows are no row's neighbour (skewness"
        f" {skewed:.2g}).",
        "Try --scale minmax, the cosine (--search exact:metric=cosine), and fewer features.",
        {
            "share": share,
            "skewness": skewed,
            "never_share": never,
            "n_neighbors": indices.shape[1],
            "first_row": int(occurs.argmax()),
        },
    )


def _near_duplicates(nearest: FloatArray) -> Iterator[Finding]:
    apart = nearest[nearest > 0]
    if not len(apart):
        return
    n_near = int((apart <= NEARLY_EQUAL * np.median(apart)).sum())
    share = n_near / len(nearest)
    if n_near > 1 and share > FEW_NEAR:
        yield Finding(
            "near_duplicates",
            WARNING,
            f"{counted(n_near, 'row')} ({percent(share)}) are nearly equal to another: nearer than a thousandth of the"
            " usual distance to the nearest row.",
            "Check whether they were measured twice, or are parts of one thing. Put such rows into one fold.",
            {"rows": n_near, "share": share},
        )
