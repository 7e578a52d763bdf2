"""Folds of label sets with unknown cells: by the labels that are known to apply."""

import math

import numpy as np
import pytest
from scipy import sparse

from nearlabel.selection import IterativeStratifiedKFold, stratification_quality


def label_sets(seed, n=60, n_labels=5, hidden=0.3):
    """Return y with NaN; of some rows nothing is known."""
    rng = np.random.default_rng(seed)
    y = (rng.random((n, n_labels)) < [0.1, 0.2, 0.4, 0.6, 0.9][:n_labels]).astype(float)
    y[rng.random(y.shape) < hidden] = np.nan
    y[rng.permutation(n)[: n // 6]] = np.nan
    return y


def odds(positive, negative):
    """Return the odds, infinite if there is no negative, nan if there is neither."""
    return positive / negative if negative else math.inf if positive else math.nan


def distance(columns, tests):
    """Return the mean difference of the odds in a fold and in all rows, of columns of 0, 1 and NaN."""
    differences = []
    for column in columns:
        if (column == 1).any() and (column == 0).any():
            in_all = odds((column == 1).sum(), (column == 0).sum())
            parts = [odds((column[test] == 1).sum(), (column[test] == 0).sum()) for test in tests]
            differences += [abs(part - in_all) for part in parts if not math.isnan(part)]
    return np.mean(differences)


def pairs_of(y):
    """Return the pairs of labels, 1 where both apply, 0 where one does not, NaN where neither is certain."""
    first, second = np.triu_indices(y.shape[1], 1)
    return [np.where((a == 0) | (b == 0), 0, a * b) for a, b in zip(y.T[first], y.T[second], strict=True)]


@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array])
@pytest.mark.parametrize("seed", range(4))
def test_quality_by_definition(seed, wrap):
    """Odds are of what is known; folds miss labels of which they know no row."""
    y = label_sets(seed)
    tests = np.array_split(np.random.default_rng(seed).permutation(60), 7)
    quality = stratification_quality(wrap(y), [(None, test) for test in tests])
    assert quality.label_distribution == pytest.approx(distance(y.T, tests))
    assert quality.label_pair_distribution == pytest.approx(distance(pairs_of(y), tests))
    assert quality.missing_labels == sum(
        int((y[test] == 1).sum(axis=0)[label] == 0) for test in tests for label in range(5)
    )


@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array])
@pytest.mark.parametrize("order", [1, 2])
def test_folds(order, wrap):
    """Are as those of the known labels, and share the rows of which nothing is known."""
    y = label_sets(5, n=120)
    folds = [test for _, test in IterativeStratifiedKFold(4, order=order).split(y, wrap(y))]
    unknown = np.isnan(y).all(axis=1)
    assert np.ptp([unknown[test].sum() for test in folds]) <= 1
    held = np.array([np.nansum(y[test], axis=0) for test in folds])
    assert np.ptp(held, axis=0).max() <= 3
    known = np.where(unknown[:, None], [1, 0, 0, 0, 0], 0)  # as if that were one more label
    complete = np.hstack([np.nan_to_num(y), known[:, :1]]).astype(int)
    for test, other in zip(folds, IterativeStratifiedKFold(4, order=order).split(y, complete), strict=True):
        assert test.tolist() == other[1].tolist()


def test_unknown_is_no_negative():
    """Without a row of which nothing is known the folds are those of 0 in its place."""
    y = label_sets(6)
    y = y[~np.isnan(y).all(axis=1)]
    groups = np.arange(len(y)) // 3
    for given in (None, groups):
        ours = IterativeStratifiedKFold(3).split(y, y, given)
        for one, other in zip(ours, IterativeStratifiedKFold(3).split(y, np.nan_to_num(y), given), strict=True):
            assert one[1].tolist() == other[1].tolist()
