from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score, cross_validate

from nearlabel.lazy import BRkNN
from nearlabel.selection import IterativeStratifiedKFold, stratification_quality
from nearlabel.thresholds import TunedThresholdsClassifierCV

SEEDS = range(8)


def label_sets(seed, n=60, n_labels=6):
    """Random label sets: some labels rare, some rows empty, many rows equal."""
    rng = np.random.default_rng(seed)
    return (rng.random((n, n_labels)) < rng.uniform(0.02, 0.5, n_labels)).astype(np.int64)


def fold_of_rows(splitter, Y, groups=None):
    """The fold that tests each row; each row is in one test part and all other training parts."""
    n = Y.shape[0]
    folds = np.full(n, -1)
    for number, (training, test) in enumerate(splitter.split(np.zeros((n, 1)), Y, groups)):
        assert np.array_equal(np.sort(np.concatenate([training, test])), np.arange(n))
        assert np.array_equal(test, np.sort(test))
        assert (folds[test] == -1).all()
        folds[test] = number
    assert folds.min() == 0
    assert folds.max() == splitter.n_splits - 1
    return folds


def strata_of(Y, order):
    """The strata of each row, and all in the turns of the method."""
    labels = [np.flatnonzero(row).tolist() for row in np.asarray(Y)]
    pairs = [list(combinations(of_row, 2)) if order == 2 else [] for of_row in labels]
    strata = [{*of_row, *more} or {"none"} for of_row, more in zip(labels, pairs, strict=True)]
    return strata, [["none"], sorted({pair for more in pairs for pair in more}), list(range(Y.shape[1]))]


def transcription(Y, k, order, *, equal_sizes=True):
    """Iterative stratification as printed, row by row, with desired numbers; ties as the docstring has it.

    `equal_sizes` adds the rule of the sizes.
    """
    n = len(Y)
    strata, turns = strata_of(Y, order)
    desired = {s: [Fraction(sum(s in of_row for of_row in strata), k)] * k for turn in turns for s in turn}
    rows_desired, sizes, folds = [Fraction(n, k)] * k, [0] * k, np.full(n, -1)
    left = sorted(range(n), key=lambda row: tuple(Y[row]))

    def allowed(fold):
        larger = sum(size > n // k for size in sizes)
        return not equal_sizes or sizes[fold] < n // k or (sizes[fold] == n // k and larger < n % k)

    for turn in turns:
        while any(s in strata[row] for s in turn for row in left):
            counts = {s: sum(s in strata[row] for row in left) for s in turn}
            rarest = min((s for s in turn if counts[s]), key=counts.get)
            for row in [row for row in left if rarest in strata[row]]:
                best = max(filter(allowed, range(k)), key=lambda f: (desired[rarest][f], rows_desired[f], -f))
                left.remove(row)
                folds[row] = best
                sizes[best] += 1
                rows_desired[best] -= 1
                for s in strata[row]:
                    desired[s][best] -= 1
    return folds


def groups_transcription(Y, k, order, groups):
    """Groups by falling growth of the chi-square distance, each where the distance as a whole is least afterwards."""
    strata, _ = strata_of(Y, order)
    names = np.unique(groups).tolist()
    of_group = {g: [[*strata[row], "rows"] for row in np.flatnonzero(groups == g)] for g in names}
    every = {s for rows in of_group.values() for row in rows for s in row}
    total = {s: sum(s in row for rows in of_group.values() for row in rows) for s in every}
    folds = [[] for _ in range(k)]

    def distance(folds):
        return sum(Fraction(sum(s in row for row in fold) ** 2, total[s]) for fold in folds for s in every)

    fold_of_group = {}
    for g in sorted(names, key=lambda g: (-distance([of_group[g]]), g)):
        best = min(range(k), key=lambda f: distance([folds[f] + of_group[g]]) - distance([folds[f]]))
        folds[best] += of_group[g]
        fold_of_group[g] = best
    return np.array([fold_of_group[g] for g in groups.tolist()])


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("seed", SEEDS)
def test_against_the_transcription(seed, k, order):
    """Each row goes where the printed algorithm puts it, with the rule of the sizes and the same ties."""
    Y = label_sets(seed, n=30 + 7 * seed)
    got = fold_of_rows(IterativeStratifiedKFold(k, order=order), Y)
    assert got.tolist() == transcription(Y, k, order).tolist()


@pytest.mark.parametrize("order", [1, 2])
def test_the_rule_of_sizes_changes_nothing_else(order):
    """Where the algorithm as printed happens to give equal sizes, it gives our folds."""
    n_equal = 0
    for seed in range(40):
        Y = label_sets(seed, n=40, n_labels=4)
        printed = transcription(Y, 3, order, equal_sizes=False)
        if np.ptp(np.bincount(printed)) <= 1:
            n_equal += 1
            assert fold_of_rows(IterativeStratifiedKFold(3, order=order), Y).tolist() == printed.tolist()
    assert 5 < n_equal < 40


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_groups_against_the_transcription(seed, order):
    """Each group goes where a slow sum over all folds says that the distance is least."""
    Y = label_sets(seed, n=48 + seed, n_labels=4)
    groups = np.random.default_rng(seed).integers(0, 5 + 2 * seed, len(Y)) ** 2
    got = fold_of_rows(IterativeStratifiedKFold(3, order=order), Y, groups)
    assert got.tolist() == groups_transcription(Y, 3, order, groups).tolist()


def test_by_hand():
    """Three rows of the rarer label go to folds 0, 1, 0; the other label then looks for fold 1."""
    Y = np.array([[1, 0], [1, 0], [1, 1], [0, 1], [0, 1], [0, 1]])
    # Label 0 has 3 rows, label 1 has 4. Label 0: label set 10 (rows 0, 1), then 11 (row 2): folds 0, 1, 0.
    # Label 1: fold 0 has one row of it, fold 1 none, so row 3 goes to fold 1. Then both have one, and two rows each:
    # row 4 goes to fold 0, the lower, and row 5 to fold 1, which has fewer.
    assert fold_of_rows(IterativeStratifiedKFold(2), Y).tolist() == [0, 1, 0, 1, 0, 1]


def test_pairs_by_hand():
    """Pairs are dealt first: those of two rows to both folds, whatever labels alone would say."""
    Y = np.array([[1, 1, 0], [1, 1, 0], [1, 0, 1], [1, 0, 1], [1, 0, 0], [1, 0, 0]])
    # Pair 01 has rows 0, 1: folds 0, 1. Pair 02 rows 2, 3: folds 0, 1. Label 0 has rows 4, 5 left: folds 0, 1.
    assert fold_of_rows(IterativeStratifiedKFold(2, order=2), Y).tolist() == [0, 1, 0, 1, 0, 1]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_sizes_and_rows_without_labels_differ_by_one(seed, order, shuffle):
    """Sizes of the folds, and numbers of rows without labels in them, are as equal as can be."""
    Y = label_sets(seed, n=101 + seed, n_labels=4)
    for k in (2, 5, 10, 101):
        splitter = IterativeStratifiedKFold(k, order=order, shuffle=shuffle, random_state=seed if shuffle else None)
        folds = fold_of_rows(splitter, Y)
        assert np.ptp(np.bincount(folds, minlength=k)) <= 1
        assert np.ptp(np.bincount(folds[Y.sum(axis=1) == 0], minlength=k)) <= 1


@pytest.mark.parametrize("shuffle", [False, True])
def test_rare_labels_are_in_different_folds(shuffle):
    """Labels of fewer rows than folds never have two in a fold, if no row carries two of them."""
    Y = np.zeros((200, 8), dtype=np.int64)
    for label in range(7):
        Y[20 * label : 20 * label + label + 2, label] = 1
    Y[::2, 7] = 1
    splitter = IterativeStratifiedKFold(10, shuffle=shuffle, random_state=3 if shuffle else None)
    folds = fold_of_rows(splitter, Y)
    for label in range(7):
        of_label = folds[Y[:, label] == 1]
        assert len(set(of_label)) == len(of_label) == label + 2


def test_one_label_is_stratified_exactly():
    """A single label is cut as `StratifiedKFold` would: every fold has its rows up to one."""
    Y = (np.random.default_rng(0).random((103, 1)) < 0.3).astype(int)
    folds = fold_of_rows(IterativeStratifiedKFold(4), Y)
    assert np.ptp(np.bincount(folds[Y[:, 0] == 1], minlength=4)) <= 1
    assert np.ptp(np.bincount(folds, minlength=4)) <= 1


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize(
    "store",
    [
        sparse.csr_array,
        sparse.csc_matrix,
        sparse.coo_array,
        lambda Y: Y.tolist(),
        lambda Y: Y.astype(bool),
        lambda Y: Y.astype(np.float32),
        lambda Y: pd.DataFrame(Y, columns=list("abcdef")),
        lambda Y: pl.DataFrame(Y),
    ],
)
@pytest.mark.parametrize("groups", [None, np.arange(60) // 4])
def test_containers_agree(store, shuffle, order, groups):
    """The folds do not depend on how Y is stored."""
    Y = label_sets(1)
    splitter = IterativeStratifiedKFold(4, order=order, shuffle=shuffle, random_state=5 if shuffle else None)
    tests, others = ([test.tolist() for _, test in splitter.split(None, each, groups)] for each in (Y, store(Y.copy())))
    assert tests == others


def test_sparse_labels_stay_sparse():
    """A matrix of 4,000 x 1,000,000 labels, 32 GB when dense, is cut by labels and by pairs."""
    rng = np.random.default_rng(0)
    rows, columns = np.repeat(np.arange(4_000), 3), rng.zipf(1.5, 12_000) % 1_000_000
    Y = sparse.csr_array((np.ones(12_000), (rows, columns)), shape=(4_000, 1_000_000))
    Y.data[:] = 1
    for order in (1, 2):
        folds = fold_of_rows(IterativeStratifiedKFold(5, order=order), Y)
        assert np.ptp(np.bincount(folds)) == 0


def test_input_is_not_changed():
    """Neither Y nor the groups are written to."""
    Y, groups = label_sets(0), np.arange(60) // 3
    as_csr = sparse.csr_array(Y)
    before = as_csr.copy()
    for shuffle in (False, True):
        list(IterativeStratifiedKFold(shuffle=shuffle).split(Y, Y, groups))
        list(IterativeStratifiedKFold(shuffle=shuffle, order=2).split(Y, as_csr))
    assert np.array_equal(Y, label_sets(0))
    assert np.array_equal(groups, np.arange(60) // 3)
    assert np.array_equal(as_csr.indices, before.indices)


def test_order_of_rows_does_not_matter_to_the_folds():
    """Without a shuffle, folds of permuted rows hold as many rows of every label set."""
    Y = label_sets(2)
    permuted = np.random.default_rng(0).permutation(len(Y))
    for order in (1, 2):
        splitter = IterativeStratifiedKFold(4, order=order)
        sets = [[sorted(map(tuple, rows[test])) for _, test in splitter.split(rows, rows)] for rows in (Y, Y[permuted])]
        assert sets[0] == sets[1]


def test_seeds_repeat_and_differ():
    """A seed gives the same folds always, another one others; a RandomState goes on."""
    Y = label_sets(0, n=400)
    of = {
        seed: fold_of_rows(IterativeStratifiedKFold(5, shuffle=True, random_state=seed), Y).tolist()
        for seed in range(5)
    }
    assert of[0] == fold_of_rows(IterativeStratifiedKFold(5, shuffle=True, random_state=0), Y).tolist()
    assert len(set(map(tuple, of.values()))) == 5
    goes_on = IterativeStratifiedKFold(5, shuffle=True, random_state=np.random.RandomState(0))
    first, second = (fold_of_rows(goes_on, Y).tolist() for _ in range(2))
    assert first == of[0] != second


@pytest.mark.long
def test_shuffled_folds_are_drawn_evenly():
    """Over many seeds each of four equal rows is tested by either fold half of the time, with each other by a third."""
    Y = np.ones((4, 1), dtype=int)
    folds = np.array(
        [fold_of_rows(IterativeStratifiedKFold(2, shuffle=True, random_state=seed), Y) for seed in range(600)]
    )
    assert np.abs(folds.mean(axis=0) - 1 / 2).max() < 0.07
    together = (folds[:, :1] == folds[:, 1:]).mean(axis=0)
    assert np.abs(together - 1 / 3).max() < 0.07


@pytest.mark.parametrize("order", [1, 2])
def test_closer_than_plain_folds(order):
    """On every draw label distributions are much closer than those of `KFold`, and pairs closer still by order 2."""
    for seed in range(3):
        Y = label_sets(seed, n=1000, n_labels=12)
        plain, ours, by_labels = (
            stratification_quality(Y, splitter.split(Y, Y))
            for splitter in (
                KFold(10, shuffle=True, random_state=0),
                IterativeStratifiedKFold(10, order=order, shuffle=True, random_state=0),
                IterativeStratifiedKFold(10, shuffle=True, random_state=0),
            )
        )
        assert ours.label_distribution < plain.label_distribution / 2
        assert ours.label_pair_distribution < plain.label_pair_distribution
        assert order == 1 or ours.label_pair_distribution < by_labels.label_pair_distribution


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_groups_stay_together(seed, order, shuffle):
    """No group is in two test parts, no fold is empty, and sizes differ by no more than a group may have."""
    Y = label_sets(seed, n=300)
    groups = np.array(list("abcdefghijklmnopqrstuvwxyz"))[np.random.default_rng(seed).integers(0, 26, 300)]
    random_state = seed if shuffle else None
    splitter = IterativeStratifiedKFold(4, order=order, shuffle=shuffle, random_state=random_state)
    folds = fold_of_rows(splitter, Y, groups)
    assert all(len(set(folds[groups == group])) == 1 for group in groups)
    assert np.ptp(np.bincount(folds, minlength=4)) <= np.unique(groups, return_counts=True)[1].max()


def test_groups_are_better_than_group_kfold():
    """Over some draws, labels are closer than in `GroupKFold`, which looks at sizes only."""
    ours, theirs = [], []
    for seed in SEEDS:
        Y, groups = label_sets(seed, n=600), np.random.default_rng(seed).integers(0, 80, 600)
        for splitter, results in ((IterativeStratifiedKFold(5), ours), (GroupKFold(5), theirs)):
            results.append(stratification_quality(Y, splitter.split(Y, Y, groups)).label_distribution)
    assert np.mean(ours) < 0.6 * np.mean(theirs)


def test_a_group_larger_than_a_fold():
    """A group of most rows gets a fold of its own."""
    Y = label_sets(0)
    groups = np.r_[np.zeros(40, int), np.arange(1, 21)]
    folds = fold_of_rows(IterativeStratifiedKFold(3), Y, groups)
    assert np.bincount(folds).max() == 40


def test_as_many_groups_as_folds():
    """Each fold gets one group."""
    Y = label_sets(0)
    folds = fold_of_rows(IterativeStratifiedKFold(6), Y, np.arange(60) // 10)
    assert len(set(zip(folds, np.arange(60) // 10, strict=True))) == 6


@pytest.mark.parametrize("fill", [0, 1])
@pytest.mark.parametrize("order", [1, 2])
def test_labels_with_one_class(fill, order):
    """Labels that all or no rows carry change nothing of the promises."""
    Y = np.full((11, 3), fill)
    assert sorted(np.bincount(fold_of_rows(IterativeStratifiedKFold(3, order=order), Y))) == [3, 4, 4]
    Y[0, 0] = 1 - fill
    assert sorted(np.bincount(fold_of_rows(IterativeStratifiedKFold(3, order=order), Y))) == [3, 4, 4]


def test_as_many_folds_as_rows():
    """Each row alone; two rows in two folds."""
    assert sorted(fold_of_rows(IterativeStratifiedKFold(5), label_sets(0, n=5))) == [0, 1, 2, 3, 4]
    assert sorted(fold_of_rows(IterativeStratifiedKFold(2, order=2), np.ones((2, 2)))) == [0, 1]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_splits": 1}, ValueError, "n_splits must be at least 2, got 1"),
        ({"n_splits": 2.0}, TypeError, "n_splits must be an integer, got 2.0"),
        ({"n_splits": 61}, ValueError, "n_splits must be at most the 60 rows, got 61"),
        ({"order": 3}, ValueError, r"order must be 1 \(labels\) or 2 \(pairs of labels first\), got 3"),
        ({"order": "2"}, TypeError, "order must be an integer, got '2'"),
        ({"shuffle": 1}, TypeError, "shuffle must be True or False, got 1"),
        ({"random_state": 0}, ValueError, "random_state must be None without shuffle, got 0. Hint: shuffle=True"),
        ({"shuffle": True, "random_state": "a"}, ValueError, "'a' cannot be used to seed"),
    ],
)
def test_wrong_parameters(settings, error, message):
    """Each is refused by `split` at once, not by the constructor, nor by the first fold."""
    splitter = IterativeStratifiedKFold(**settings)
    with pytest.raises(error, match=message):
        splitter.split(label_sets(0), label_sets(0))


@pytest.mark.parametrize(
    ("Y", "groups", "message"),
    [
        (None, None, r"y must be an indicator matrix of shape \(n_samples, n_labels\), got None"),
        (np.zeros(60, int), None, r"y must be an indicator matrix of shape \(n_samples, n_labels\), got shape \(60,\)"),
        (np.full((60, 2), 2), None, "y must contain 0 and 1 only, got 2"),
        (np.full((60, 2), -1), None, "y must contain 0 and 1 only, got -1.* NaN that it is unknown"),
        (np.zeros((0, 2), int), None, "inconsistent numbers of samples"),
        (label_sets(0, n=59), None, "inconsistent numbers of samples"),
        (label_sets(0), np.arange(59), "inconsistent numbers of samples"),
        (label_sets(0), np.arange(60) % 4, "n_splits must be at most the 4 groups, got 5"),
        (label_sets(0), np.ones((60, 2)), r"groups must be of shape \(n_samples,\), got shape \(60, 2\)"),
        (label_sets(0), [np.nan] * 10 + [0.0] * 50, "groups must be numbers or texts, none missing, got NaN"),
        (label_sets(0), [None, "a"] * 30, "groups must be numbers or texts, none missing, got values of several types"),
        (label_sets(0), pd.Series(["a", pd.NA] * 30), "groups must be numbers or texts, none missing"),
    ],
)
def test_wrong_data(Y, groups, message):
    """What cannot be cut is refused in one line."""
    with pytest.raises(ValueError, match=message):
        IterativeStratifiedKFold().split(np.zeros((60, 1)), Y, groups)


def test_the_idiom_of_scikit_learn():
    """The splitter shows its parameters, knows its number of folds and is copied as a parameter."""
    splitter = IterativeStratifiedKFold(3, order=2, shuffle=True, random_state=1)
    assert repr(splitter) == "IterativeStratifiedKFold(n_splits=3, order=2, random_state=1, shuffle=True)"
    assert splitter.get_n_splits() == splitter.get_n_splits(None, None, None) == 3
    search = clone(GridSearchCV(BRkNN(), {"n_neighbors": [1, 3]}, cv=splitter))
    assert search.cv is not splitter
    assert repr(search.cv) == repr(splitter)


def test_as_cv_of_scikit_learn():
    """Cross-validation, grid search and tuned thresholds take it, the last with sparse Y as well."""
    Y = label_sets(4, n=80, n_labels=3)
    X = Y + np.random.default_rng(0).normal(size=Y.shape)
    cv = IterativeStratifiedKFold(4)
    by_hand = [BRkNN(3).fit(X[a], Y[a]).score(X[b], Y[b]) for a, b in cv.split(X, Y)]
    assert cross_val_score(BRkNN(3), X, Y, cv=cv).tolist() == by_hand
    assert GridSearchCV(BRkNN(), {"n_neighbors": [1, 3]}, cv=cv).fit(X, Y).n_splits_ == 4
    dense, stored = (TunedThresholdsClassifierCV(BRkNN(3), cv=cv).fit(X, L) for L in (Y, sparse.csr_array(Y)))
    assert dense.thresholds_.tolist() == stored.thresholds_.tolist()


@pytest.mark.parametrize("routing", [False, True])
def test_groups_reach_the_splitter(routing):
    """Groups are handed on by scikit-learn with and without its metadata routing, and no group is on both sides."""
    Y, groups = label_sets(4, n=80, n_labels=3), np.arange(80) // 5
    X = np.c_[np.arange(80), groups]
    given = {"params": {"groups": groups}} if routing else {"groups": groups}
    with sklearn.config_context(enable_metadata_routing=routing):
        cv = IterativeStratifiedKFold(4)
        results = cross_validate(BRkNN(3), X, Y, cv=cv, return_indices=True, **given)
        without = cross_validate(BRkNN(3), X, Y, cv=cv, return_indices=True)
    expected = [test.tolist() for _, test in cv.split(X, Y, groups)]
    assert [test.tolist() for test in results["indices"]["test"]] == expected
    assert [test.tolist() for test in without["indices"]["test"]] == [test.tolist() for _, test in cv.split(X, Y)]


@pytest.mark.long
def test_the_time_is_not_quadratic():
    """100,000 rows of about as many label sets are cut while one would wait; quadratic work would take hours."""
    rng = np.random.default_rng(0)
    Y = sparse.csr_array((rng.random((100_000, 40)) < 0.6 / np.arange(1, 41) ** 0.4).astype(np.int8))
    folds = fold_of_rows(IterativeStratifiedKFold(10), Y)
    assert np.ptp(np.bincount(folds)) == 0
    of_labels = np.array([np.bincount(folds[Y[:, [label]].nonzero()[0]], minlength=10) for label in range(40)])
    assert np.ptp(of_labels, axis=1).max() <= 0.01 * of_labels.sum(axis=1).max()
