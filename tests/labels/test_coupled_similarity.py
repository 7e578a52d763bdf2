import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import _reference
from conftest import CONTAINERS
from nearlabel.labels import coupled_similarity


@pytest.mark.parametrize("container", ["dense", "csr_array", "coo_array"])
@pytest.mark.parametrize("n_bins", [1, 3, 10])
@pytest.mark.parametrize("feature_weights", ["mean", "sum"])
@pytest.mark.parametrize("values", ["present", "all"])
@pytest.mark.parametrize("adjusted", [False, True])
def test_equals_loops(problem, adjusted, values, feature_weights, n_bins, container):
    """Similarities agree with fractions to 1e-14, whatever the storage: ties, bins, labels that no or all rows have."""
    X, Y, _ = problem
    options = {"values": values, "feature_weights": feature_weights, "n_bins": n_bins, "adjusted": adjusted}
    store = CONTAINERS[container]
    similarity = coupled_similarity(store(X), store(Y), **options)
    expected = np.array(_reference.coupled_similarity(X, Y, **options), dtype=float)
    np.testing.assert_allclose(similarity, expected, rtol=1e-14, atol=0)
    np.testing.assert_array_equal(similarity, coupled_similarity(X, Y, **options))


def test_stored_zeros_are_absent():
    """A zero that a sparse matrix stores is no value."""
    X = sparse.csr_array(([0.0, 1.0, 1.0], ([0, 1, 2], [0, 0, 0])), shape=(3, 1))
    Y = [[1, 0], [1, 1], [0, 1]]
    np.testing.assert_array_equal(coupled_similarity(X, Y), coupled_similarity(X.toarray(), Y))


@pytest.mark.parametrize("adjusted", [False, True])
def test_range_and_symmetry(adjusted):
    """The mean over features lies between 0 and 1; permuting labels, rows or features changes no bit."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.poisson(0.5, (80, 6)), rng.normal(size=(80, 3))])
    Y = (rng.random((80, 7)) < 0.3).astype(int)
    similarity = coupled_similarity(X, Y, values="all", adjusted=adjusted)
    assert similarity.min() >= 0
    assert similarity.max() <= 1
    np.testing.assert_array_equal(similarity, similarity.T)
    rows, features, labels = rng.permutation(80), rng.permutation(9), rng.permutation(7)
    permuted = coupled_similarity(X[rows][:, features], Y[rows][:, labels], values="all", adjusted=adjusted)
    np.testing.assert_array_equal(permuted, similarity[np.ix_(labels, labels)])


def test_adjusted_by_hand():
    """One value is one sample more frequent than by chance with both labels.

    Labels 0 and 1 have three samples each. The value 1, in two samples, is expected in 3 · 2 / 6 = 1 sample of each
    label and occurs in 2 and 2: excess 1 and 1. The value 2, in two samples, is in 0 of label 0 and 1 of label 1, the
    value 3 in 1 and 0: no excess. Inter-coupling 1 / 3, intra-coupling 9 / 15.
    """
    X = [[1], [1], [2], [2], [3], [3]]
    Y = [[1, 1], [1, 1], [0, 1], [0, 0], [1, 0], [0, 0]]
    assert coupled_similarity(X, Y, adjusted=True)[0, 1] == pytest.approx(9 / 15 / 3, rel=1e-15)
    assert coupled_similarity(X, Y)[0, 1] == pytest.approx(9 / 15 * 2 / 3, rel=1e-15)


def test_independent_features_couple_no_labels():
    """If each value is as frequent with a label as without, adjusted labels are similar to themselves only."""
    X = np.tile([[1], [2], [3]], (4, 1))
    Y = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], 3, axis=0)
    np.testing.assert_array_equal(coupled_similarity(X, Y, adjusted=True), np.eye(2))
    assert coupled_similarity(X, Y)[0, 1] == pytest.approx(36 / 48, rel=1e-15)


def test_blocks_change_nothing(monkeypatch):
    """Features that come in many blocks give the same bits, from sparse and from dense counts."""
    rng = np.random.default_rng(0)
    for density in (0.02, 0.6):
        X = sparse.random_array((60, 40), density=density, random_state=rng, format="csr")
        Y = (rng.random((60, 5)) < 0.3).astype(int)
        options = [
            {"values": values, "adjusted": adjusted} for values in ("present", "all") for adjusted in (False, True)
        ]
        whole = [coupled_similarity(X, Y, **some) for some in options]
        with monkeypatch.context() as patch:
            patch.setattr("nearlabel.utils.validation.uneven_blocks.__defaults__", (2000,))
            parts = [coupled_similarity(X, Y, **some) for some in options]
        np.testing.assert_array_equal(parts, whole)


@pytest.mark.long
def test_many_features_and_labels_stay_sparse():
    """With 100,000 features and 300 labels no dense matrix of either is made, and the numbers are right."""
    rng = np.random.default_rng(0)
    n, n_features, n_labels = 2_000, 100_000, 300
    words = (n_features * rng.random(20 * n) ** 4).astype(int)
    X = sparse.csr_array((np.ones(20 * n), (np.repeat(np.arange(n), 20), words)), shape=(n, n_features))
    entries = np.repeat(np.arange(n), 2), rng.integers(0, n_labels, 2 * n)
    Y = (sparse.csr_array((np.ones(2 * n, dtype=int), entries), shape=(n, n_labels)) > 0).astype(int)
    tracemalloc.start()
    similarity = coupled_similarity(X, Y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # features by labels would be 240 MB, rows by features 1.6 GB
    i, j = 3, 8
    labels = Y[:, [i, j]].toarray()
    F = labels.sum(axis=0)
    some = X.tocsc()[:, np.unique(X[labels.any(axis=1)].tocoo().col)].toarray()
    shared = 0
    for column in some.T:
        values = np.array([-1.0 if v is None else v for v in _reference.bins(column, 10)])
        shared += sum(labels[values == v].sum(axis=0).min() for v in set(values) - {-1.0})
    expected = F[0] * F[1] / (F.sum() + F[0] * F[1]) * shared / F.max() / n_features
    assert similarity[i, j] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"values": "none"}, "values must be one of"),
        ({"feature_weights": "max"}, "feature_weights must be one of"),
        ({"n_bins": 0}, "n_bins must be at least 1"),
        ({"X": np.ones((3, 2)) * np.nan}, "contains NaN"),
        ({"X": np.ones((4, 2))}, "inconsistent numbers of samples"),
        ({"y": [0, 1, 0]}, "Hint: a single label is one column"),
    ],
)
def test_bad_input(arguments, message):
    """What is malformed is named."""
    with pytest.raises(ValueError, match=message):
        coupled_similarity(**{"X": np.ones((3, 2)), "y": np.eye(3, dtype=int)} | arguments)
