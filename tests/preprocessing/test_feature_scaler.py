import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearlabel.preprocessing import SCALES, FeatureScaler
from nearlabel.selection.data import scale_features


@pytest.fixture
def rows():
    """Training rows with zeros and a constant feature, and other rows."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 5)) * [1, 10, 0, 1, 0.1] + [0, 3, 7, 0, 0]
    X[rng.random(X.shape) < 0.3] = 0
    X[:, 2] = 7
    return X, rng.normal(size=(6, 5))


def dense(matrix):
    """A dense array."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix


@parametrize_with_checks([FeatureScaler(scale) for scale in SCALES])
def test_scikit_learn(estimator, check):
    """scikit-learn's own checks of transformers."""
    check(estimator)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("scale", SCALES)
def test_as_experiments_scale(rows, scale, storage):
    """What `evaluate` does to the training and test part of a fold, up to rounding; sparse rows stay sparse."""
    training, others = (sparse.csr_array(X) if storage is not np.asarray else X for X in rows)
    expected = scale_features(scale, training, others)
    scaler = FeatureScaler(scale).fit(storage(rows[0]))
    for X, known in zip(rows, expected, strict=True):
        scaled = scaler.transform(storage(X))
        np.testing.assert_allclose(dense(scaled), dense(known), rtol=1e-12, atol=1e-13)
        assert sparse.issparse(scaled) == (storage is not np.asarray or scale == "tfidf")


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("fitted_to", [np.asarray, sparse.csr_array])
def test_either_storage_can_be_transformed(rows, scale, fitted_to):
    """A scaler fitted to dense rows takes sparse ones, and the other way round: the numbers are the same."""
    scaler = FeatureScaler(scale).fit(fitted_to(rows[0]))
    np.testing.assert_array_equal(dense(scaler.transform(rows[1])), dense(scaler.transform(sparse.csr_array(rows[1]))))


def test_by_hand():
    """Minimum and range; mean and deviation; log(4 / 2) for a term in two of four rows."""
    X = np.array([[0.0, 2.0], [4.0, 2.0], [0.0, 2.0], [4.0, 2.0]])
    assert FeatureScaler("minmax").fit(X).transform([[1.0, 3.0]]).tolist() == [[0.25, 1.0]]
    assert FeatureScaler("standard").fit(X).transform([[6.0, 2.0]]).tolist() == [[2.0, 0.0]]
    scaler = FeatureScaler("tfidf").fit(X)
    np.testing.assert_allclose(scaler.factor_, [np.log(2), 0])
    assert scaler.transform([[3.0, 5.0]]).toarray().tolist() == [[1.0, 0.0]]


def test_names_and_bad_input(rows):
    """Columns of data frames are remembered; an unknown scale, or another number of features, is refused."""
    frame = pd.DataFrame(rows[0], columns=list("abcde"))
    assert FeatureScaler("minmax").fit(frame).get_feature_names_out().tolist() == list("abcde")
    with pytest.raises(ValueError, match=r"scale must be one of .*, got 'max'"):
        FeatureScaler("max").fit(rows[0])
    with pytest.raises(ValueError, match="features"):
        FeatureScaler().fit(rows[0]).transform(rows[1][:, :2])


@pytest.mark.parametrize("scale", ["minmax", "standard"])
def test_features_whose_squares_do_not_add_up_are_refused(scale):
    """Without a warning of numpy; up to 1e150 they are scaled."""
    with pytest.raises(
        ValueError, match=r"at most 1e\+150, whose squares add up in float64, got 2e\+200\. Hint: multiply"
    ):
        FeatureScaler(scale).fit([[2e200], [0.0]])
    assert np.ptp(FeatureScaler(scale).fit_transform([[1e150], [0.0]])) in (1.0, 2.0)
