import numpy as np
import pytest
from scipy import sparse

from nearlabel.experiments._scaling import scale_features
from nearlabel.neighbors import ExactNeighbors

TRAINING = np.array([[0.0, 2.0, 7.0], [4.0, 4.0, 7.0], [2.0, 3.0, 7.0]])
TEST = np.array([[6.0, 1.0, 9.0]])


def random_rows(seed, n):
    """Rows with many zeros, negative values and a constant feature."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, 6)) * (rng.random((n, 6)) < 0.5) * [1.0, 10.0, 0.01, 3.0, 1.0, 0.0]
    rows[:, 4] = 2.5
    return rows


def test_none_changes_nothing():
    """The very same arrays come back."""
    assert scale_features("none", TRAINING, TEST) == (TRAINING, TEST)


def test_minmax_by_hand():
    """Training rows fill [0, 1], test rows may leave it, a constant feature is shifted only."""
    training, test = scale_features("minmax", TRAINING, TEST)
    assert training.tolist() == [[0.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.5, 0.5, 0.0]]
    assert test.tolist() == [[6 / 4, (1 - 2) / 2, 9 - 7]]


def test_standard_by_hand():
    """Training rows have mean 0 and deviation 1; the test rows are scaled by the same two numbers."""
    training, test = scale_features("standard", TRAINING, TEST)
    np.testing.assert_allclose(training.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(training.std(axis=0), [1, 1, 0], atol=1e-15)
    np.testing.assert_allclose(test, [[(6 - 2) / np.sqrt(8 / 3), (1 - 3) / np.sqrt(2 / 3), 9 - 7]])


@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_only_the_training_rows_decide(scale):
    """Another test row, far off, changes neither the training rows nor the first test row."""
    one, first = scale_features(scale, TRAINING, TEST)
    two, both = scale_features(scale, TRAINING, np.vstack([TEST, TEST * 100]))
    assert (one == two).all()
    assert (first == both[:1]).all()


@pytest.mark.parametrize("scale", ["none", "minmax", "standard"])
def test_sparse_rows_stay_sparse_and_as_far_apart(scale):
    """Sparse rows are not shifted, which no difference sees; a constant feature is no exception."""
    rows, queries = random_rows(0, 30), random_rows(1, 8)
    training, test = scale_features(scale, rows, queries)
    sparse_training, sparse_test = scale_features(scale, sparse.csr_array(rows), sparse.csr_array(queries))
    assert sparse_training.format == sparse_test.format == "csr"
    assert sparse_training.nnz == np.count_nonzero(rows)
    dense_answer = ExactNeighbors().fit(training).kneighbors(test, 30)
    sparse_answer = ExactNeighbors().fit(sparse_training).kneighbors(sparse_test, 30)
    np.testing.assert_allclose(sparse_answer[0], dense_answer[0], rtol=1e-12)


def test_a_feature_that_is_constant_but_for_rounding():
    """Noise of rounding is not blown up to [0, 1], dense or sparse."""
    rows = np.array([[1.0, 0.1 + 0.2], [2.0, 0.3]])
    dense, _ = scale_features("minmax", rows, rows)
    stored, _ = scale_features("minmax", sparse.csr_array(rows), sparse.csr_array(rows))
    assert np.ptp(dense, axis=0).tolist() == np.ptp(stored.toarray(), axis=0).tolist()
    assert np.ptp(dense, axis=0)[1] < 1e-15


@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_input_is_left_alone(scale):
    """The rows that were passed keep their values."""
    rows, stored = TRAINING.copy(), sparse.csr_array(TRAINING)
    scale_features(scale, rows, rows)
    scale_features(scale, stored, stored)
    assert (rows == TRAINING).all()
    assert (stored.toarray() == TRAINING).all()


def test_unknown_scale():
    """The known ones are listed."""
    with pytest.raises(ValueError, match=r"scale must be one of \['minmax', 'none', 'standard', 'tfidf'\], got 'log'"):
        scale_features("log", TRAINING, TEST)
