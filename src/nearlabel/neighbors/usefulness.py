"""Whether neighbours distinguish samples: the doctor reports it, and classifiers warn of it."""

from __future__ import annotations

import warnings

import numpy as np

from nearlabel.utils.notes import AdviceWarning
from nearlabel.utils.types import BoolArray, FloatArray, IntArray

MOST_OF_ALL = 0.5  # of all places, to the most used hundredth of the rows: 50 times its part
LEAST_ROWS = 100  # of fewer, the most used row is more than a hundredth


class UselessNeighborsWarning(AdviceWarning):
    """All neighbours of all training samples are equally far, or a few samples are neighbours of nearly all others."""


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
    """Warn if the neighbours of the training samples, each without itself, cannot be useful.

    That is, if all neighbours of all samples are at one distance, or if more than half of all places go to 1 % of the
    samples.
    """
    n_rows, n_neighbors = indices.shape
    if n_neighbors > 1 and n_neighbors < n_rows - 1 and (distances == distances[0, 0]).all():
        warnings.warn(
            f"All neighbours of each training sample are at the distance {distances[0, 0]:g}, so the order of the"
            " samples decides which are its neighbours. Use features or a metric that distinguish samples.",
            UselessNeighborsWarning,
            stacklevel=2,
        )
    elif n_rows >= LEAST_ROWS and share_of_most_used(occurrences(indices, n_rows)) > MOST_OF_ALL:
        warnings.warn(
            "1 % of the training samples take more than half of all places among the neighbours, so a few samples"
            " decide nearly everything. Scale the features, or use the metric 'cosine' for texts;"
            " nearlabel.datasets.examine reports more.",
            UselessNeighborsWarning,
            stacklevel=2,
        )
