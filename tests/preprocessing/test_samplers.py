"""Each sampler equals its definition on random data with ties; what papers leave open, and traps of other programs."""

import numpy as np
import pytest
from numpy.random import RandomState
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

import _samplers
from _recipes import MLROS, MLRUS, MLTL, REMEDIAL, MLeNN
from nearlabel.labels import minority_labels, scumble, scumble_of_rows
from nearlabel.neighbors import ExactNeighbors
from nearlabel.preprocessing import MLSMOTE
from nearlabel.testing import check_sampler
from nearlabel.utils.validation import as_dense

SAMPLERS = [
    MLROS(0.4, random_state=0),
    MLRUS(0.4, random_state=0),
    MLSMOTE(3, random_state=0),
    MLeNN(),
    MLTL(),
    REMEDIAL(),
]
SEEDS = range(6)


def problem(seed):
    """Rows on a grid, so that many distances are equal; labels from frequent to one that no row has."""
    random = RandomState(seed)
    X = random.randint(4, size=(40, 3)).astype(float)
    y = (random.random_sample((40, 7)) < [0.6, 0.5, 0.3, 0.2, 0.1, 0.05, 0]).astype(int)
    y[0] = 0
    y[1, 5] = 1
    return X, y


def assert_rows(sampler, X, y, rows):
    """Some of the rows, and nothing else."""
    X_made, y_made = sampler.fit_resample(X, y)
    np.testing.assert_array_equal(X_made, X[rows])
    np.testing.assert_array_equal(y_made, y[rows])
    assert sampler.sample_indices_.tolist() == sampler.seed_indices_.tolist() == list(rows)


@pytest.mark.parametrize("seed", SEEDS)
def test_minority_and_scumble(seed):
    """By exact fractions; SCUMBLE of labels that are equally frequent is exactly 0."""
    _, y = problem(seed)
    assert minority_labels(y).tolist() == _samplers.minority(y)
    expected = [_samplers.scumble_of_row(y, row) for row in range(len(y))]
    np.testing.assert_allclose(scumble_of_rows(y), expected, atol=1e-13)
    np.testing.assert_allclose(scumble_of_rows(sparse.csr_array(y)), expected, atol=1e-13)
    assert scumble(y) == pytest.approx(np.mean(expected))
    assert scumble_of_rows(np.tile([[1, 1, 1], [0, 0, 0]], (7, 1))).tolist() == [0] * 14


def test_a_ratio_that_equals_the_mean_but_for_rounding_is_not_above():
    """Ratios 1, 7/5 and 9/5: their mean, in floating point, is below 7/5."""
    counts = np.array([63, 45, 35])
    y = (np.arange(63)[:, np.newaxis] < counts).astype(int)
    assert np.mean(63 / counts) != 63 / 45
    assert minority_labels(y).tolist() == [2]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("share", [0.1, 0.5, 3.0])
def test_ml_ros(seed, share):
    """The same copies for the same draws; fewer if no bag is left."""
    X, y = problem(seed)
    assert_rows(MLROS(share, random_state=seed), X, y, _samplers.ml_ros(y, share, RandomState(seed)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("share", [0.1, 1.0])
def test_ml_rus(seed, share):
    """Never a row with a minority label."""
    X, y = problem(seed)
    assert_rows(MLRUS(share, random_state=seed), X, y, _samplers.ml_rus(y, share, RandomState(seed)))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 3, 20])
@pytest.mark.parametrize("categories", [(), (0, 2)])
def test_mlsmote(seed, k, categories):
    """The same rows for the same draws; neighbours are carriers of the label, the nearest included."""
    X, y = problem(seed)
    sampler = MLSMOTE(k, categorical_features=categories or None, random_state=seed)
    X_made, y_made = sampler.fit_resample(X, y)
    expected = _samplers.mlsmote(X, y, k, RandomState(seed), categories)
    features, labels, seeds, references = map(np.array, zip(*expected, strict=True))
    np.testing.assert_allclose(X_made, [*X, *features], atol=1e-12)
    np.testing.assert_array_equal(y_made, [*y, *labels])
    assert sampler.sample_indices_.tolist() == [*range(40), *[-1] * len(seeds)]
    assert sampler.seed_indices_.tolist() == [*range(40), *seeds]
    assert sampler.reference_indices_.tolist() == [*range(40), *references]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("threshold", [0.5, 0.75])
def test_ml_enn(seed, k, threshold):
    """Half of the neighbours is enough, a distance at the threshold is not."""
    X, y = problem(seed)
    assert_rows(MLeNN(k, threshold=threshold), X, y, _samplers.ml_enn(X, y, k, threshold))


@pytest.mark.parametrize("seed", SEEDS)
def test_ml_tl(seed):
    """Both rows of a link are the nearest of each other."""
    X, y = problem(seed)
    assert_rows(MLTL(), X, y, _samplers.ml_tl(X, y, 0.5))


@pytest.mark.parametrize("seed", SEEDS)
def test_remedial(seed):
    """Halves with the frequent labels stay in place, those with the rare ones come behind."""
    X, y = problem(seed)
    sampler = REMEDIAL()
    X_made, y_made = sampler.fit_resample(X, y)
    labels, rows = _samplers.remedial(y)
    np.testing.assert_array_equal(y_made, labels)
    np.testing.assert_array_equal(X_made, X[rows])
    assert sampler.sample_indices_.tolist() == sampler.seed_indices_.tolist() == rows
    assert len(rows) > 40


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_the_contract(sampler):
    """Containers, order, indices, draws, input."""
    check_sampler(sampler)


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
@pytest.mark.parametrize("sparse_X", [sparse.csr_array, sparse.csc_matrix, np.asarray])
def test_sparse_equals_dense(sampler, sparse_X):
    """The same rows to the last bit, as the draws are the same."""
    X, y = problem(0)
    X_made, y_made = sampler.fit_resample(X, y)
    X_sparse, y_sparse = sampler.fit_resample(sparse_X(X), sparse.csr_array(y))
    np.testing.assert_array_equal(as_dense(X_sparse), X_made)
    np.testing.assert_array_equal(y_sparse.toarray(), y_made)
    assert y_sparse.data.all()
    assert y_sparse.has_canonical_format


@pytest.mark.parametrize("sampler", SAMPLERS, ids=repr)
def test_balanced_labels(sampler):
    """Where all labels are equally frequent none is a minority, and nothing changes."""
    X, y = np.arange(8.0).reshape(-1, 1), np.tile(np.eye(2, dtype=int), (4, 1))
    assert_rows(sampler, X, y, range(8))


def test_another_search_is_asked():
    """By another metric other rows are near; scikit-learn's search is a search."""
    X, y = problem(1)
    X = X * [1, 1, 100]
    chebyshev = MLSMOTE(search=ExactNeighbors("chebyshev"), random_state=0).fit(X, y).reference_indices_.tolist()
    assert chebyshev != MLSMOTE(random_state=0).fit(X, y).reference_indices_.tolist()
    assert len(MLSMOTE(search=NearestNeighbors(), random_state=0).fit(X, y).sample_indices_) > 40


@pytest.mark.parametrize(
    ("sampler", "error", "message"),
    [
        (MLSMOTE(0), ValueError, "n_neighbors must be at least 1, got 0"),
        (MLSMOTE(categorical_features=[3]), ValueError, "categorical_features must be numbers from 0 to 2, got 3"),
        (MLSMOTE(categorical_features=[True]), TypeError, "categorical_features must be a list of column numbers"),
        (MLSMOTE(categorical_features=[1, 1]), ValueError, "categorical_features must name each column once, got 1 2"),
    ],
    ids=repr,
)
def test_bad_parameters(sampler, error, message):
    """Each message names the parameter."""
    with pytest.raises(error, match=message):
        sampler.fit_resample(*problem(0))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_new_rows_between_the_largest_numbers_of_float32(container):
    """Their difference is no float32, but what lies between them is."""
    X = np.array([[2e38], [-2e38], [0], [0]], dtype=np.float32)
    made, _ = MLSMOTE(1, random_state=0).fit_resample(container(X), [[1, 1], [1, 1], [1, 0], [1, 0]])
    assert made.dtype == np.float32
    assert made.shape == (6, 1)
    assert (np.abs(as_dense(made)[4:]) < 2e38).all()


def test_categories_of_sparse_rows():
    """They would need dense columns."""
    X, y = problem(0)
    with pytest.raises(ValueError, match="categorical_features must be None for sparse X"):
        MLSMOTE(categorical_features=[0]).fit_resample(sparse.csr_array(X), y)
