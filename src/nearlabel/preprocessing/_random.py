"""ML-ROS and ML-RUS: samples copied or deleted at random."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.random import RandomState
from scipy import sparse

from nearlabel.labels import frequencies, mean_imbalance_ratio, minority_labels
from nearlabel.labels._imbalance import is_above
from nearlabel.preprocessing._sampler import Resampled, Sampler
from nearlabel.utils.types import BoolArray, IntArray, Matrix
from nearlabel.utils.validation import check_positive


def carries_any(labels: Matrix, some: IntArray) -> BoolArray:
    """Return which rows carry at least one of some labels."""
    return np.asarray(labels[:, some].sum(axis=1)).ravel() > 0


class MLROS(Sampler):
    """Copy samples that carry rare labels, at random (ML-ROS).

    The samples of each minority label (`nearlabel.labels.minority_labels`) are a bag. In rounds over the bags, one
    sample of each is copied, until there are enough copies. A bag is left out as soon as its label is no rarer than the
    mean of the imbalance ratios at the beginning.

    Parameters
    ----------
    share : float, default=0.25
        Number of copies, as a share of the samples; fewer if no bag is left. The authors tried 0.1 to 0.25.
    random_state : int, RandomState or None, default=None
        Draws the samples.

    Attributes
    ----------
    sample_indices_ : ndarray of int of shape (n_resampled,)
        For each resampled row the number of the original sample.
    seed_indices_ : ndarray of int of shape (n_resampled,)
        The same as `sample_indices_`.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, tags, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features; X itself is not read, so it may contain anything.

    See Also
    --------
    MLSMOTE : Makes new samples instead of copies.
    ResampledClassifier : Resamples the training samples of a classifier.

    Notes
    -----
    A sample carries frequent labels, too: where rare labels come with frequent ones (`nearlabel.labels.scumble`),
    copies change little. A copy is the nearest neighbour of its sample: leave-one-out predictions and folds after
    resampling are too good. `ResampledClassifier` leaves copies out with their sample.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Addressing imbalance in multilabel classification: measures
    and random resampling algorithms. Neurocomputing 163, 2015.

    Examples
    --------
    >>> from nearlabel.preprocessing import MLROS
    >>> sampler = MLROS(0.5, random_state=0)
    >>> X, y = sampler.fit_resample([[0], [1], [2], [3]], [[1, 0], [1, 0], [1, 0], [1, 1]])
    >>> sampler.sample_indices_.tolist()
    [0, 1, 2, 3, 3]
    >>> y.sum(axis=0).tolist()
    [5, 2]
    """

    _reads_features = False

    def __init__(self, share: float = 0.25, *, random_state: int | RandomState | None = None) -> None:
        self.share = share
        self.random_state = random_state

    def _check_parameters(self) -> None:
        check_positive("share", self.share)

    def _resample(self, X: Matrix, labels: Matrix, random: RandomState) -> Resampled:
        clones = list(islice(_clones(labels, random), round(self.share * labels.shape[0])))
        return Resampled(np.append(np.arange(labels.shape[0]), clones).astype(np.intp))


def _clones(labels: Matrix, random: RandomState) -> Iterator[int]:
    """Yield rows to copy, until no label is a minority."""
    rows, columns = sparse.csr_array(labels), sparse.csc_array(labels)
    counts, limit = frequencies(labels), mean_imbalance_ratio(labels)
    bags = {label: columns.indices[slice(*columns.indptr[[label, label + 1]])] for label in minority_labels(labels)}
    while bags:
        for label, bag in list(bags.items()):
            row = int(bag[random.randint(len(bag))])
            yield row
            counts[rows.indices[rows.indptr[row] : rows.indptr[row + 1]]] += 1
            if not is_above(counts.max() / counts[label], limit):
                del bags[label]


class MLRUS(Sampler):
    """Delete samples without a rare label, at random (ML-RUS).

    Parameters
    ----------
    share : float, default=0.25
        Number of samples to delete, as a share of all; at most those that carry no minority label
        (`nearlabel.labels.minority_labels`). None is deleted if all labels are equally frequent.
    random_state : int, RandomState or None, default=None
        Draws the samples.

    Attributes
    ----------
    sample_indices_ : ndarray of int of shape (n_resampled,)
        Numbers of the remaining samples, in their order.
    seed_indices_ : ndarray of int of shape (n_resampled,)
        The same as `sample_indices_`.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, tags, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features; X itself is not read, so it may contain anything.

    See Also
    --------
    MLeNN : Deletes samples whose neighbours have other labels.

    References
    ----------
    F. Charte, A. J. Rivera, M. J. del Jesus, F. Herrera. Addressing imbalance in multilabel classification: measures
    and random resampling algorithms. Neurocomputing 163, 2015.

    Examples
    --------
    >>> from nearlabel.preprocessing import MLRUS
    >>> sampler = MLRUS(0.5, random_state=0)
    >>> X, y = sampler.fit_resample([[0], [1], [2], [3]], [[1, 0], [1, 0], [1, 0], [1, 1]])
    >>> X.ravel().tolist(), y.sum(axis=0).tolist()
    ([0, 3], [2, 1])
    """

    _reads_features = False
    _stands_for_refits = False

    def __init__(self, share: float = 0.25, *, random_state: int | RandomState | None = None) -> None:
        self.share = share
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if check_positive("share", self.share) > 1:
            raise ValueError(f"share must be above 0, at most 1, got {self.share}.")

    def _resample(self, X: Matrix, labels: Matrix, random: RandomState) -> Resampled:
        minority, n_samples = minority_labels(labels), labels.shape[0]
        dispensable = np.flatnonzero(~carries_any(labels, minority)) if len(minority) else np.empty(0, dtype=np.intp)
        n_deleted = min(round(self.share * n_samples), len(dispensable))
        deleted = random.choice(dispensable, n_deleted, replace=False)
        return Resampled(np.delete(np.arange(n_samples), deleted))
