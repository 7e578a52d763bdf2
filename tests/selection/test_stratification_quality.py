import math
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import KFold, LeaveOneOut, ShuffleSplit

from nearlabel.selection import stratification_quality


def label_sets(seed, n=50):
    """Random label sets: one label rare, some rows empty."""
    return (np.random.default_rng(seed).random((n, 5)) < [0.02, 0.1, 0.2, 0.4, 0.6]).astype(np.int64)


def transcription(Y, folds):
    """The measures as printed, fold by fold and label by label."""
    n, k = len(Y), len(folds)
    labels = [Y[:, j] for j in range(Y.shape[1]) if Y[:, j].any()]
    pairs = [a * b for a, b in combinations(labels, 2) if (a * b).any()]

    def distance(columns):
        over_folds = [
            np.mean([abs(c[t].sum() / (len(t) - c[t].sum()) - c.sum() / (n - c.sum())) for _, t in folds])
            for c in columns
        ]
        return np.mean(over_folds)

    ED = np.mean([abs(len(test) - n / k) for _, test in folds])
    missing = [sum(c[test].sum() == 0 for c in labels) for _, test in folds]
    return distance(labels), distance(pairs), ED, sum(m > 0 for m in missing), sum(missing)


def figures(quality):
    """The five numbers."""
    return (
        quality.label_distribution, quality.label_pair_distribution, quality.examples_distribution,
        quality.folds_missing_labels, quality.missing_labels,
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csc_array])
def test_against_the_transcription(seed, store):
    """All five as printed, for folds of unequal sizes."""
    Y = label_sets(seed)
    folds = list(KFold(4, shuffle=True, random_state=seed).split(Y))
    assert figures(stratification_quality(store(Y), folds)) == pytest.approx(transcription(Y, folds))


def test_by_hand():
    """Two folds of two and four rows, two labels, of which one is missing in a fold."""
    Y = np.array([[1, 0], [0, 0], [1, 1], [1, 0], [0, 1], [0, 0]])
    folds = [(np.arange(2, 6), np.arange(2)), (np.arange(2), np.arange(2, 6))]
    quality = stratification_quality(Y, folds)
    # Odds: label 0 is 3/3, in the folds 1/1, 2/2; label 1 is 2/4, in the folds 0/2, 2/2. Pair 1/5; 0/2, 1/3.
    assert quality.label_distribution == pytest.approx((0 + 0 + 0.5 + 0.5) / 4)
    assert quality.label_pair_distribution == pytest.approx((0.2 + (1 / 3 - 0.2)) / 2)
    assert (quality.examples_distribution, quality.folds_missing_labels, quality.missing_labels) == (1.0, 1, 1)


def test_perfect_folds():
    """Folds that are copies of each other are at distance 0."""
    Y = np.tile(label_sets(0, n=20), (3, 1))
    folds = [(np.delete(np.arange(60), part), part) for part in np.split(np.arange(60), 3)]
    quality = stratification_quality(Y, folds)
    assert figures(quality)[:3] == pytest.approx((0, 0, 0), abs=1e-15)


def test_order_of_labels_rows_and_folds_does_not_matter():
    """Permutations of all three leave the figures."""
    Y, rng = label_sets(1), np.random.default_rng(0)
    folds = list(KFold(5).split(Y))
    expected = figures(stratification_quality(Y, folds))
    rows = rng.permutation(50)
    places = np.argsort(rows)
    moved = [(places[a], rng.permutation(places[b])) for a, b in folds[::-1]]
    assert figures(stratification_quality(Y[rows][:, [3, 1, 0, 4, 2]], moved)) == pytest.approx(expected)


def test_labels_with_one_class():
    """Labels that no row carries count nowhere; those that all carry count as present only."""
    Y = label_sets(2)
    folds = list(KFold(5).split(Y))
    with_constants = np.c_[Y, np.zeros(50, int), np.ones(50, int)]
    expected, got = stratification_quality(Y, folds), stratification_quality(with_constants, folds)
    assert (got.label_distribution, *figures(got)[2:]) == pytest.approx(
        (expected.label_distribution, *figures(expected)[2:])
    )


@pytest.mark.parametrize("Y", [np.zeros((6, 2), int), np.ones((6, 2), int)])
def test_nothing_to_distribute(Y):
    """Without a label of two classes there is no distance, and no warning."""
    quality = stratification_quality(Y, KFold(3).split(Y))
    assert math.isnan(quality.label_distribution)
    assert math.isnan(quality.label_pair_distribution)
    assert figures(quality)[2:] == (0, 0, 0)


def test_a_fold_full_of_a_label():
    """A fold of which all rows carry a label has infinite odds, without a warning."""
    Y = np.array([[1], [1], [0], [1]])
    assert stratification_quality(Y, KFold(2).split(Y)).label_distribution == math.inf
    assert stratification_quality(Y, LeaveOneOut().split(Y)).missing_labels == 1


def test_repr():
    """One line, three digits, the names of the literature."""
    Y = np.array([[1, 1], [0, 0], [1, 1], [0, 0]])
    assert repr(stratification_quality(Y, KFold(2).split(Y))) == "StratificationQuality(LD=0, LPD=0, ED=0, FZ=0, FLZ=0)"


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([], "folds must have each of the 50 rows in one test part, got 0 rows in 0 places"),
        (list(KFold(5).split(np.zeros(50)))[1:], "got 40 rows in 40 places"),
        (list(KFold(5).split(np.zeros(49))), "got 49 rows in 49 places"),
        (list(KFold(5).split(np.zeros(50))) * 2, "got 50 rows in 100 places"),
        (ShuffleSplit(3, random_state=0).split(np.zeros(50)), "each of the 50 rows in one test part"),
        ([(0, np.arange(50) / 1)], "each of the 50 rows in one test part"),
        ([np.arange(3)], r"folds must be pairs \(training, test\) of row numbers, got \[array"),
        (7, "folds must be pairs .*, got 7"),
    ],
)
def test_wrong_folds(folds, message):
    """Folds that do not test every row once are refused."""
    with pytest.raises(ValueError, match=message):
        stratification_quality(label_sets(0), folds)


def test_wrong_labels():
    """Y must be an indicator matrix."""
    with pytest.raises(ValueError, match="y must contain 0 and 1 only, got 3"):
        stratification_quality([[3]], [([], [0])])
