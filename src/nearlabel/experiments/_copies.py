"""Exact copies of samples, which make metrics on held-out samples optimistic."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nearlabel.datasets import Dataset, duplicate_groups
from nearlabel.experiments._folds import Problem, stacked
from nearlabel.utils.types import BoolArray, IntArray, Matrix

_MOST_LISTED = 2**24  # maximum of neighbours in all lists, and minimum per row, because of copies
_LEAST_OF_ROW = 30


def share_of_copies(problem: Problem) -> float:
    """Return the share of samples that equal an earlier sample; empty samples do not count.

    Parameters
    ----------
    problem : Dataset or (Dataset, Dataset)
        A data set, or its given training and test parts, whose samples are combined.

    Returns
    -------
    float
        From 0 to below 1; 0.5 if every sample occurs twice.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import share_of_copies
    >>> round(share_of_copies(load_multidigits()), 3)
    0.021
    """
    X = stacked(problem[0].X, problem[1].X) if isinstance(problem, tuple) else problem.X
    return 1.0 - len(np.unique(groups_of_copies(X))) / max(int(X.shape[0]), 1)


def copied_rows(training: Dataset, test: Dataset) -> BoolArray:
    """Return which test samples equal a training sample; empty samples do not count.

    Parameters
    ----------
    training, test : Dataset
        Data sets with the same features.

    Returns
    -------
    ndarray of bool of shape (n_test_samples,)
        True if an equal training sample exists.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import copied_rows
    >>> digits = load_multidigits()
    >>> bool(copied_rows(digits, digits).all())
    True
    """
    n, m = training.X.shape[0], test.X.shape[0]
    return have_copies(groups_of_copies(stacked(training.X, test.X)), np.arange(n), np.arange(n, n + m))


def groups_of_copies(X: Matrix) -> IntArray:
    """Return group numbers, equal for equal samples; samples with only zeros form their own groups.

    Empty samples carry no information, so they do not count as copies; otherwise there may be too many copies for any
    evaluation.
    """
    groups = duplicate_groups(X)
    empty = np.flatnonzero(_empty_rows(X))
    groups[empty] = groups.max(initial=0) + 1 + np.arange(len(empty))
    numbers: IntArray = np.unique(groups, return_inverse=True)[1]
    return numbers


def _empty_rows(X: Matrix) -> BoolArray:
    if X.dtype.kind == "O":  # cells of several kinds
        return np.zeros(X.shape[0], dtype=bool)
    return np.asarray((X != 0).sum(axis=1) == 0 if sparse.issparse(X) else ~X.any(axis=1))


def have_copies(groups: IntArray, training: IntArray, rows: IntArray) -> BoolArray:
    """Return which samples equal a training sample."""
    return np.isin(groups[rows], groups[training])


def in_small_groups(groups: IntArray) -> tuple[IntArray, BoolArray]:
    """Return groups, with the largest ones split into single rows, and which rows are not in the largest ones.

    A row needs as many additional neighbours as its group has rows; this limits the size of all lists.
    """
    of_row = np.bincount(groups)[groups]
    small = of_row <= max(_LEAST_OF_ROW, _MOST_LISTED // len(groups))
    alone = groups.max() + 1 + np.arange(len(groups))
    numbers: IntArray = np.unique(np.where(small, groups, alone), return_inverse=True)[1]
    return numbers, small
