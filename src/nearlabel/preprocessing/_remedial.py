"""REMEDIAL: samples that carry rare and frequent labels are split into two."""

from __future__ import annotations

from math import fsum

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from nearlabel.labels import minority_labels, scumble_of_rows
from nearlabel.labels._imbalance import is_above
from nearlabel.preprocessing._random import carries_any
from nearlabel.preprocessing._sampler import Resampled, Sampler, stacked
from nearlabel.utils.types import BoolArray, Matrix


class REMEDIAL(Sampler):
    """Split samples that carry rare and frequent labels together (REMEDIAL).

    A sample whose SCUMBLE (`nearlabel.labels.scumble_of_rows`) is above the mean of all samples becomes two with the
    same features: one stays in its place with the labels that are no minority (`nearlabel.labels.minority_labels`), the
    other is appended after all samples and has the minority labels. If all labels of a sample are of one kind, it is
    not split: the other half would have no label.

    Attributes
    ----------
    sample_indices_ : ndarray of int of shape (n_resampled,)
        For each resampled row the number of the original sample, whole or split.
    seed_indices_ : ndarray of int of shape (n_resampled,)
        The same as `sample_indices_`.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, tags, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features; X itself is not read, so it may contain anything.

    See Also
    --------
    MLROS : Copies samples; the authors do so after this.

    Notes
    -----
    Designed for classifiers that learn a decision surface for one label at a time. For nearest neighbours it is
    harmful: the two halves are each other's nearest neighbours, with no label in common. Nothing is drawn.

    References
    ----------
    F. Charte, A. Rivera, M. J. del Jesus, F. Herrera. Resampling multilabel datasets by decoupling highly imbalanced
    labels. HAIS 2015.

    Examples
    --------
    >>> from nearlabel.preprocessing import REMEDIAL
    >>> sampler = REMEDIAL()
    >>> X, y = sampler.fit_resample([[0], [1], [2], [3]], [[1, 0], [1, 0], [1, 0], [1, 1]])
    >>> y.tolist()
    [[1, 0], [1, 0], [1, 0], [1, 0], [0, 1]]
    >>> sampler.sample_indices_.tolist()
    [0, 1, 2, 3, 3]
    """

    _reads_features = False

    def _resample(self, X: Matrix, labels: Matrix, random: RandomState) -> Resampled:
        values, rare = scumble_of_rows(labels), np.zeros(labels.shape[1], dtype=np.bool_)
        rare[minority_labels(labels)] = True
        has_both = carries_any(labels, np.flatnonzero(rare)) & carries_any(labels, np.flatnonzero(~rare))
        split = is_above(values, fsum(values) / len(values)) & has_both
        taken = _cells_of(labels, split, rare)
        halves = np.flatnonzero(split)
        source = np.append(np.arange(labels.shape[0]), halves)
        return Resampled(source, stacked([labels - taken, taken[halves]]))


def _cells_of(labels: Matrix, rows: BoolArray, columns: BoolArray) -> Matrix:
    """Return label sets with 0 in all other rows and columns."""
    if not sparse.issparse(labels):
        return labels * columns * rows[:, np.newaxis]
    cells = sparse.csr_array(labels.multiply(columns[np.newaxis]).multiply(rows[:, np.newaxis]), dtype=np.int64)
    cells.eliminate_zeros()
    return cells
