"""Whether neighbours tell rows apart: what the doctor reports, and what a classifier warns of."""

from __future__ import annotations

import warnings

import numpy as np

from nearlabel.utils.notes import AdviceWarning
from nearlabel.utils.types import BoolArray, FloatArray, IntArray

MOST_OF_ALL = 0.5  # of all places, to the most used hundredth of the rows: 50 times its part
LEAST_ROWS = 100  # of fewer, the most used row is more than a hundredth


class UselessNeighborsWarning(AdviceWarning):
    """All neighbours of all training rows are at one distance, or a few rows are nearly everybody's neighbours."""


def occurrences(indices: IntArray, n_rows: int) -> IntArray:
    """Return how often each row is a neighbour: k-occurrence (Radovanovic et al., 2010)."""
    return np.bincount(indices.ravel(), minlength=n_rows)


def share_of_most_used(occurs: IntArray) -> float:
    """Return the share of all places that the most used hundredth of the rows take."""
    n_top = -(-len(occurs) // 100)
    return float(np.partition(occurs, -n_top)[-n_top:].sum() / occurs.sum())


def skewness(occurs: IntArray) -> float:
    """Return the skewness of how often rows are neighbours; 0 if all are equally often."""
    deviations = occurs - occurs.mean()
    variance = float((deviations**2).mean())
    return float((deviations**3).mean()) / variance**1.5 if variance > 0 else 0.0


def all_tied(distances: FloatArray) -> BoolArray:
    """Return which rows have all their neighbours at the same distance."""
    return np.asarray(distances[:, 0] == distances[:, -1])


def warn_of_useless(distances: FloatArray, indices: IntArray) -> None:
    """Warn if the neighbours of the training rows, each without itself, cannot be what was meant.

    That is, if all neighbours of all rows are at one distance, or more than half of all places go to 1 % of the rows.
    """
    n_rows, n_neighbors = indices.shape
    if n_neighbors > 1 and n_neighbors < n_rows - 1 and (distances == distances[0, 0]).all():
        warnings.warn(
            f"All neighbours of each training row are at the distance {distances[0, 0]:g}, so the order of the rows"
            " decides which rows they are. Take features or a metric that tell rows apart.",
            UselessNeighborsWarning,
            stacklevel=2,
        )
    elif n_rows >= LEAST_ROWS and share_of_most_used(occurrences(indices, n_rows)) > MOST_OF_ALL:
        warnings.warn(
            "1 % of the training rows take more than half of all places among the neighbours, so a few rows decide"
            " nearly everything. Scale the features, or take the metric 'cosine' for texts;"
            " nearlabel.datasets.examine says more.",
            UselessNeighborsWarning,
            stacklevel=2,
        )
