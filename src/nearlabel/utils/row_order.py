"""Advice where folds of consecutive rows differ in their labels as ordered rows do."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.special import bdtr, bdtrc

from nearlabel.utils.notes import AdviceWarning
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import IntArray, MatrixLike

_MOST_FOLDS = 100  # more folds are too small for the test
_CHANCE = 1e-6  # of a warning about rows in a random order


def advise_if_ordered(y: MatrixLike, folds: Sequence[IntArray]) -> None:
    """Warn if a fold has less than half or more than twice its share of a label, which chance hardly makes.

    Parameters
    ----------
    y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Label sets.
    folds : sequence of ndarrays
        The validation rows of each fold.
    """
    if len(folds) > _MOST_FOLDS:
        return
    labels = PartialLabels.of(y).labels
    counts = np.vstack([np.asarray(labels[rows].sum(axis=0)).ravel() for rows in folds])
    n_rows = np.array([len(rows) for rows in folds])[:, np.newaxis]
    share, total = n_rows / n_rows.sum(), counts.sum(axis=0)
    few, many = counts < share * total / 2, counts > share * total * 2
    chances = np.where(few, bdtr(counts, total, share), np.where(many, bdtrc(counts - 1, total, share), 1.0))
    fold, label = np.unravel_index(chances.argmin(), chances.shape)
    if chances[fold, label] * chances.size < _CHANCE:
        n, n_here, n_all = int(n_rows[fold, 0]), int(counts[fold, label]), int(total[label])
        warnings.warn(
            f"The samples seem to be ordered: label {label} is in {n_here} of the {n} samples of a fold, and in"
            f" {n_all - n_here} of the other {n_rows.sum() - n}. Folds of consecutive samples then differ from each"
            " other. Hint: random_state=0 shuffles, as does cv=KFold(5, shuffle=True, random_state=0).",
            AdviceWarning,
            stacklevel=2,
        )
