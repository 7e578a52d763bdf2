"""Prototypes: plain loops over the definitions, what holds whatever the data, and the edges."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.model_selection import KFold

from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.neighbors.exact.all_pairs import SquaredDistances
from nearlabel.preprocessing import MRHC, MRSP1, MRSP2, MRSP3, MChen, ResampledClassifier
from nearlabel.preprocessing._mrhc import lloyd
from nearlabel.preprocessing._sampler import medians
from nearlabel.preprocessing._space_partitioning import FarthestPairs, Part
from nearlabel.testing import check_sampler
from nearlabel.thresholds import MicroFOptimum, TunedThresholdsClassifierCV

SAMPLERS = [MRHC(), MRSP3(), MChen(0.3), MRSP1(0.3), MRSP2(0.3)]


def squared(a, b):
    """Add the squared differences one after the other."""
    total = 0.0
    for one, other in zip(a, b, strict=True):
        total += (one - other) ** 2
    return total


def shares_a_label(y, rows):
    """Tell whether all rows have some label."""
    return any(all(y[row][label] for row in rows) for label in range(len(y[0])))


def farthest(X, rows):
    """Return the farthest pair of rows, of equal ones the lowest, and its squared distance."""
    best = (-1.0, rows[0], rows[0])
    for a, b in combinations(rows, 2):
        distance = squared(X[a], X[b])
        if distance > best[0]:
            best = (distance, a, b)
    return best


def halves_of(X, rows):
    """Return the rows nearer to the first of the farthest pair, or as near, and the others."""
    _, a, b = farthest(X, rows)
    first = [row for row in rows if squared(X[row], X[a]) <= squared(X[row], X[b])]
    return first, [row for row in rows if row not in first]


def slow_mrsp3(X, y, rows):
    """Return the parts of MRSP3."""
    if len(rows) == 1 or shares_a_label(y, rows) or farthest(X, rows)[0] == 0:
        return [rows]
    return [part for half in halves_of(X, rows) for part in slow_mrsp3(X, y, half)]


def slow_mrhc(X, y, rows):
    """Return the parts of MRHC."""
    if len(rows) == 1 or shares_a_label(y, rows) or all(X[row].tolist() == X[rows[0]].tolist() for row in rows):
        return [rows]
    carriers = [[row for row in rows if y[row][label]] for label in range(len(y[0]))]
    centres = [np.median(X[some], axis=0) for some in carriers if some]
    if len(centres) < 2 or len(rows) < len(centres):
        return [[row] for row in rows]
    clusters = slow_lloyd(X, rows, centres)
    if len(clusters) == 1:
        return [[row] for row in rows]
    return [part for cluster in clusters for part in slow_mrhc(X, y, cluster)]


def slow_lloyd(X, rows, centres):
    """Return the clusters when no row moves any more."""
    before = None
    while True:
        nearest = [min(range(len(centres)), key=lambda c: squared(X[row], centres[c])) for row in rows]
        clusters = [[row for row, c in zip(rows, nearest, strict=True) if c == number] for number in sorted({*nearest})]
        if clusters == before:
            return clusters
        centres, before = [sum(X[row] for row in cluster) / len(cluster) for cluster in clusters], clusters


def slow_sets(X, n_parts, urgency):
    """Return the parts that are made by dividing the most urgent one, of equal ones that of the lowest row."""
    parts = [list(range(len(X)))]
    while len(parts) < n_parts:
        divisible = [part for part in parts if farthest(X, part)[0] > 0]
        if not divisible:
            break
        chosen = max(sorted(divisible), key=urgency)
        parts.remove(chosen)
        parts += halves_of(X, chosen)
    return parts


def by_diameter(X, y):
    """Return the urgency of MChen: several label sets first, then the largest diameter."""
    return lambda part: (len({tuple(y[row]) for row in part}) > 1, farthest(X, part)[0])


def by_overlap(X, y):
    """Return the urgency of MRSP2."""

    def urgency(part):
        equal, different = [], []
        for a, b in combinations(part, 2):
            (equal if tuple(y[a]) == tuple(y[b]) else different).append(math.sqrt(squared(X[a], X[b])))
        if not equal or not different:
            return 0.0, farthest(X, part)[0]
        means = np.mean(different), np.mean(equal)
        overlap = means[0] / means[1] if means[1] > 0 else math.inf if means[0] > 0 else 0.0
        return overlap, farthest(X, part)[0]

    return urgency


def by_label_set(y, parts):
    """Return a part for each label set of each part."""
    return [
        [row for row in part if tuple(y[row]) == labels] for part in parts for labels in {tuple(y[row]) for row in part}
    ]


def slow_parts(sampler, X, y):
    """Return the groups of rows that become prototypes, by loops."""
    rows = list(range(len(X)))
    if isinstance(sampler, MRHC):
        return slow_mrhc(X, y, rows)
    if isinstance(sampler, MRSP3):
        return slow_mrsp3(X, y, rows)
    urgency = by_overlap(X, y) if isinstance(sampler, MRSP2) else by_diameter(X, y)
    parts = slow_sets(X, max(1, int(sampler.share * len(X))), urgency)
    return parts if isinstance(sampler, MChen) else by_label_set(y, parts)


def problem(kind, seed, n_rows=40):
    """Return rows and label sets, some without labels, with few distinct distances or with all of them distinct."""
    rng = np.random.default_rng(seed)
    y = (rng.random((n_rows, 4)) < [0.6, 0.3, 0.3, 0.1]).astype(int)
    y[rng.random(n_rows) < 0.1] = 0
    # Of whole numbers in one column, sums of distances are exact: MRSP2's ties are those of the loops.
    X = rng.integers(0, 7, (n_rows, 1)) if kind == "ties" else rng.normal(size=(n_rows, 3))
    return X.astype(float), y


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
@pytest.mark.parametrize("kind", ["ties", "no ties"])
@pytest.mark.parametrize("seed", range(3))
def test_prototypes_are_those_of_plain_loops(sampler, kind, seed):
    """Groups, medians and majority labels, in the order of the groups' first rows."""
    X, y = problem(kind, seed)
    parts = sorted(sorted(part) for part in slow_parts(sampler, X, y))
    got_X, got_y = sampler.fit_resample(X, y)
    assert [np.flatnonzero(sampler.prototype_of_ == p).tolist() for p in range(len(got_X))] == parts
    assert_array_equal(got_X, [np.median(X[part], axis=0) for part in parts])
    assert_array_equal(got_y, [[int(2 * sum(column) > len(part)) for column in y[part].T] for part in parts])


@pytest.mark.parametrize("sampler", [MRHC(), MRSP3(), MChen(0.3)], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_prototypes_of_ties_in_several_features(sampler, seed):
    """Binary rows: most distances tie, and so do clusters."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (40, 5)).astype(float), rng.integers(0, 2, (40, 3))
    sampler.fit_resample(X, y)
    groups = [np.flatnonzero(sampler.prototype_of_ == p).tolist() for p in range(sampler.prototype_of_.max() + 1)]
    assert groups == sorted(sorted(part) for part in slow_parts(sampler, X, y))


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_rows_and_labels_have_the_same_prototypes(sampler, container):
    """Bit by bit, and in CSR."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 8)) * (rng.random((60, 8)) < 0.4)
    y = rng.integers(0, 2, (60, 4))
    dense_X, dense_y = sampler.fit_resample(X, y)
    groups = sampler.prototype_of_
    sparse_X, sparse_y = sampler.fit_resample(container(X), container(y))
    assert sparse_X.format == "csr"
    assert_array_equal(sampler.prototype_of_, groups)
    assert_array_equal(sparse_X.toarray(), dense_X)
    assert_array_equal(sparse_y.toarray(), dense_y)


def test_every_part_of_mrhc_and_mrsp3_is_homogeneous_or_cannot_be_divided():
    """That is, it has a label in common, or is a single row, or its rows are equal."""
    X, y = problem("no ties", 5, 150)
    X[100:] = X[:50]
    for sampler in (MRHC(), MRSP3()):
        sampler.fit_resample(X, y)
        for number in range(sampler.prototype_of_.max() + 1):
            rows = sampler.prototype_of_ == number
            assert y[rows].all(axis=0).any() or (X[rows] == X[rows][0]).all()
        assert sampler.prototype_of_.max() + 1 < len(X)


@pytest.mark.parametrize("share", [0.01, 0.07, 0.29, 0.5, 1, 0.333])
def test_so_many_prototypes_as_asked(share):
    """MChen makes a share of the rows, rounded down; MRSP1 and MRSP2 at least that."""
    X, y = problem("no ties", 0, 100)
    n_parts = int(f"{100 * share:.0f}")
    assert len(MChen(share).fit_resample(X, y)[0]) == n_parts
    for sampler in (MRSP1(share), MRSP2(share)):
        X_resampled, y_resampled = sampler.fit_resample(X, y)
        assert len(X_resampled) >= n_parts
        assert {*map(tuple, y_resampled)} == {*map(tuple, y)}  # no label set is lost


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_rows_that_are_all_equal_become_one_prototype(sampler):
    """Of MRSP1 and MRSP2, one for each label set."""
    y = [[1, 0], [0, 1], [0, 0], [1, 0]]
    X_resampled, y_resampled = sampler.fit_resample(np.full((4, 2), 7.0), y)
    assert y_resampled.tolist() == ([[1, 0], [0, 1], [0, 0]] if isinstance(sampler, MRSP1) else [[0, 0]])
    assert (X_resampled == 7).all()


def test_rows_without_labels_stay_single():
    """They have no label in common; only equal ones become one prototype."""
    X, y = np.array([[0.0], [1.0], [1.0], [5.0]]), np.zeros((4, 2), dtype=int)
    assert MRSP3().fit_resample(X, y)[0].tolist() == [[0], [1], [5]]
    assert MRHC().fit_resample(X, y)[0].tolist() == [[0], [1], [1], [5]]
    assert MRHC().fit_resample(X[1:3], y[1:3])[0].tolist() == [[1]]


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_one_row_and_one_label(sampler):
    """One row is its own prototype; a single column of labels stays one."""
    assert sampler.fit_resample([[3.0, 4.0]], [[1, 0]])[0].tolist() == [[3.0, 4.0]]
    X_resampled, y_resampled = sampler.fit_resample([[0.0], [1.0], [9.0]], [1, 1, 0])
    assert y_resampled.ndim == 1
    assert len(X_resampled) == len(y_resampled) <= 3


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_the_contract(sampler):
    """Containers, order, indices, input."""
    check_sampler(sampler)


def test_a_classifier_of_prototypes_holds_no_other_row():
    """It answers as one fitted to the prototypes; rows, and what they weigh, are in none of them alone."""
    X, y = problem("no ties", 1, 80)
    model = ResampledClassifier(MLkNN(3), MRSP3()).fit(X, y)
    prototypes = MRSP3().fit_resample(X, y)
    assert_array_equal(model.predict_proba(X), MLkNN(3).fit(*prototypes).predict_proba(X))
    assert model._deleted_rows.shape == (0, 3)
    assert not hasattr(model, "loo_predict_proba")
    assert not hasattr(model, "loo_predict")
    with pytest.raises(ValueError, match="cv='loo' needs probabilities of a classifier with loo_predict_proba"):
        TunedThresholdsClassifierCV(model, cv="loo").fit(X, y)
    with pytest.raises(ValueError, match=r"sample_weight must be None with samples made of several, got MRSP3\(\)"):
        ResampledClassifier(BRkNN(3), MRSP3()).fit(X, y, sample_weight=np.ones(80))
    with pytest.raises(ValueError, match="estimator must have a number as n_neighbors"):
        ResampledClassifier(MLkNN("auto"), MRSP3()).fit(X, y)


def test_thresholds_of_prototypes_are_tuned_by_folds():
    """Each row is scored by prototypes of rows among which it is not."""
    X, y = problem("no ties", 1, 60)
    tuned = TunedThresholdsClassifierCV(ResampledClassifier(MLkNN(3), MRSP3()), cv=KFold(3)).fit(X, y)
    scores = np.empty(y.shape)
    for train, test in KFold(3).split(X):
        scores[test] = MLkNN(3).fit(*MRSP3().fit_resample(X[train], y[train])).predict_proba(X[test])
    assert_array_equal(tuned.thresholds_, MicroFOptimum().fit(scores, y).thresholds_)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_fitted_attributes_and_types(sampler):
    """No prototype is a given row; float32 stays, whole numbers become fractions, frames keep their columns."""
    X, y = problem("no ties", 1)
    X32, _ = sampler.fit_resample(X.astype(np.float32), y)
    assert X32.dtype == np.float32
    assert (sampler.sample_indices_ == -1).all()
    assert len(sampler.sample_indices_) == len(sampler.seed_indices_) == len(X32) == sampler.prototype_of_.max() + 1
    frame, labels = pd.DataFrame(X, columns=["a", "b", "c"]), pd.DataFrame(y, columns=list("klmn"))
    X_frame, y_frame = sampler.fit_resample(frame, labels)
    assert list(X_frame.columns) == ["a", "b", "c"]
    assert list(y_frame.columns) == list("klmn")
    whole, _ = sampler.fit_resample(np.round(X * 10).astype(int), y)
    assert_array_equal(whole, sampler.fit_resample(np.round(X * 10), y)[0])


def test_constant_features_change_nothing():
    """Neither the groups nor the other medians."""
    X, y = problem("no ties", 2)
    with_constant = np.column_stack([np.full(len(X), 3.5), X])
    for sampler in SAMPLERS:
        prototypes = sampler.fit_resample(X, y)[0]
        assert_array_equal(sampler.fit_resample(with_constant, y)[0], np.insert(prototypes, 0, 3.5, axis=1))


@pytest.mark.parametrize("sampler", [MRSP3(), MChen(0.3), MRSP1(0.3), MRSP2(0.3)], ids=repr)
def test_without_ties_the_order_of_the_rows_does_not_matter(sampler):
    """The same groups, in the order of their first rows."""
    X, y = problem("no ties", 3)
    order = np.random.default_rng(0).permutation(len(X))
    there = sampler.fit(X, y).prototype_of_[order]
    here = sampler.fit(X[order], y[order]).prototype_of_
    assert_array_equal(np.equal.outer(here, here), np.equal.outer(there, there))


def test_the_pair_at_the_end_of_a_walk():
    """Its rows are at least half as far from each other as the farthest, and the lower comes first."""
    X, _ = problem("no ties", 4, 100)
    found = FarthestPairs(X, 5).pair(Part(np.arange(100)))
    assert found.first < found.second
    assert found.distance == squared(X[found.first], X[found.second])
    largest = farthest(X, range(100))[0]
    assert largest / 4 <= found.distance <= largest


def test_large_sets_are_divided_by_walks():
    """The sets have the properties of others."""
    X, y = problem("no ties", 4, 200)
    groups = MRSP3(exact_up_to=5).fit(X, y).prototype_of_
    parts = [groups == number for number in range(groups.max() + 1)]
    assert all(y[rows].all(axis=0).any() or rows.sum() == 1 for rows in parts)
    assert MChen(0.3, exact_up_to=5).fit(X, y).prototype_of_.max() + 1 == 60


def test_large_sets_are_divided_before_their_overlap_is_known():
    """That would take all pairs; those of a single label set are not."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(50, 2)), 100 + rng.normal(size=(50, 2))])
    y = np.concatenate([rng.integers(0, 2, (50, 2)), np.ones((50, 2), dtype=int)])
    sampler = MRSP2(0.15, exact_up_to=10)
    groups = sampler.fit(X, y).prototype_of_
    assert len({*groups[50:]}) == 1
    assert np.bincount(groups[:50]).max() <= 10


def test_distances_that_are_not_kept_are_computed_again(monkeypatch):
    """The groups are the same where no waiting part may keep its distances."""
    X, y = problem("ties", 6, 80)
    kept = MChen(0.4).fit(X, y).prototype_of_
    monkeypatch.setattr("nearlabel.preprocessing._space_partitioning._MOST_KEPT", 0)
    assert_array_equal(MChen(0.4).fit(X, y).prototype_of_, kept)


@pytest.mark.parametrize("as_container", [np.asarray, sparse.csr_array])
def test_medians_are_those_of_numpy(as_container):
    """Also of features that are stored in exactly half of the rows, of negative values, and of single rows."""
    rng = np.random.default_rng(0)
    X = rng.integers(-2, 3, (50, 12)) * (rng.random((50, 12)) < 0.6) * 1.0
    groups = [rng.choice(50, size, replace=False) for size in (1, 2, 3, 4, 10, 49, 50)]
    got = medians(as_container(X), groups)
    assert_array_equal(got if isinstance(got, np.ndarray) else got.toarray(), [np.median(X[g], axis=0) for g in groups])


def test_the_first_of_equally_near_centres_is_nearest():
    """Whatever rounding says: the second centre is the first one, and the third as near on the other side."""
    rows = np.array([[0.1, 0.2], [0.3, 0.6]])
    distances = SquaredDistances(rows)
    assert distances.nearest(np.array([0, 1]), np.array([[0.2, 0.4], [0.2, 0.4], [0.0, 0.0]])).tolist() == [0, 0]
    assert SquaredDistances(np.array([[1.0]])).nearest(np.array([0]), np.array([[2.0], [0.0]])).tolist() == [0]


def test_k_means_stops_after_so_many_moves():
    """After one, the clusters are those of the centres at which it starts."""
    X = np.array([[0.0], [1.0], [2.0], [10.0]])
    start = np.array([[0.0], [1.0]])
    assert lloyd(SquaredDistances(X), np.arange(4), start, 1).tolist() == [0, 1, 1, 1]
    assert lloyd(SquaredDistances(X), np.arange(4), start, 99).tolist() == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("sampler", "error", "words"),
    [
        (MChen(0), ValueError, "share must be a finite number above 0, got 0"),
        (MRSP1(1.5), ValueError, "share must be above 0, at most 1, got 1.5"),
        (MRSP2("half"), TypeError, "share must be a number, got 'half' of type str"),
        (MRSP3(0), ValueError, "exact_up_to must be at least 1, got 0"),
        (MRHC(1.5), TypeError, "max_iter must be an integer, got 1.5"),
    ],
)
def test_bad_parameters(sampler, error, words):
    """They are refused by name."""
    with pytest.raises(error, match=words):
        sampler.fit_resample([[0.0], [1.0]], [[1], [0]])


def test_numbers_too_large_to_be_compared():
    """Squares that overflow are refused rather than all infinite."""
    with pytest.raises(ValueError, match="squared norm fits float64"):
        MRSP3().fit_resample([[1e200], [-1e200]], [[1, 0], [0, 1]])
