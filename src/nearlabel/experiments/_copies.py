"""Exact copies: rows that equal others, by which figures of rows held out are too good."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from nearlabel.datasets import Dataset, duplicate_groups
from nearlabel.experiments._folds import Problem, stacked
from nearlabel.utils.types import BoolArray, IntArray, Matrix

_MOST_LISTED = 2**24  # neighbours in all lists, and at least so many of each row, for the sake of its copies
_LEAST_OF_ROW = 30


def share_of_copies(problem: Problem) -> float:
    """Return the share of rows that equal a row before them, empty rows apart.

    Parameters
    ----------
    problem : Dataset or (Dataset, Dataset)
        A data set, or its given training and test part, whose rows are taken together.

    Returns
    -------
    float
        From 0 to below 1; 0.5 if every row occurs twice.

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
    """Return which test samples equal a training sample, empty ones apart.

    Parameters
    ----------
    training, test : Dataset
        Data sets with the same features.

    Returns
    -------
    ndarray of bool of shape (n_test_samples,)
        True where a training row is the same.

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
    """Number the rows so that equal ones have one number; rows without any value but 0 are alone.

    Empty rows say nothing, so equal ones are no copies of each other; there may be so many that none could be judged.
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
    """Return which of some samples equal a training sample."""
    return np.isin(groups[rows], groups[training])


def in_small_groups(groups: IntArray) -> tuple[IntArray, BoolArray]:
    """Return groups with the rows of the largest ones alone, and which rows are not of these.

    A row of a group needs as many more neighbours as the group has rows: the lists of all rows are kept within bounds.
    """
    of_row = np.bincount(groups)[groups]
    small = of_row <= max(_LEAST_OF_ROW, _MOST_LISTED // len(groups))
    alone = groups.max() + 1 + np.arange(len(groups))
    numbers: IntArray = np.unique(np.where(small, groups, alone), return_inverse=True)[1]
    return numbers, small
