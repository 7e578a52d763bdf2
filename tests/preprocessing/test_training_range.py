"""Values outside the range of the training samples: moved to its end, kept, and counted, in every container."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils.estimator_checks import parametrize_with_checks

from nearlabel.preprocessing import FeatureScaler, MixedFeaturesEncoder
from nearlabel.preprocessing._training_range import TrainingRange

SCALES = ("none", "minmax", "standard")
# What a value 3 ranges above and one below become, of a column from 0 to 4.
FATES = [
    ("clip", 4.0, 0.0),
    (0, 4.0, 0.0),
    (0.5, 6.0, -2.0),
    (3.0, 16.0, -12.0),
    (10, 16.0, -12.0),
    ("keep", 16.0, -12.0),
]
ENDS = np.array([[16.0], [-12.0]])


@pytest.fixture
def rows():
    """Training rows with negative numbers and a constant feature, and rows of a wider range."""
    rng = np.random.default_rng(0)
    X, other = rng.normal(size=(40, 4)), 3 * rng.normal(size=(30, 4))
    X[:, 2] = 7.0
    return X, other


@parametrize_with_checks(
    [FeatureScaler(scale, out_of_range=how) for scale in (*SCALES, "tfidf") for how in ("clip", 0.5)]
)
def test_scikit_learn(estimator, check):
    """scikit-learn's own checks of transformers."""
    check(estimator)


@pytest.mark.parametrize(("out_of_range", "above", "below"), FATES)
def test_fates(out_of_range, above, below):
    """Of a value above and one below, in the range alone, in the scaler and in the encoder."""
    X = np.array([[0.0], [1.0], [4.0], [3.0]])
    for estimator in (
        TrainingRange(out_of_range),
        FeatureScaler(out_of_range=out_of_range),
        MixedFeaturesEncoder(scale="none", out_of_range=out_of_range),
    ):
        assert estimator.fit(X).transform(ENDS).ravel().tolist() == [above, below]
    of_range = MixedFeaturesEncoder(out_of_range=out_of_range).fit(X).transform(ENDS)
    assert of_range.ravel().tolist() == [above / 4, below / 4]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("out_of_range", ["clip", 0, 0.25])
def test_training_samples_stay_to_the_bit(rows, scale, out_of_range):
    """So no leave-one-out score changes; other samples are those that were clipped before."""
    X, other = rows
    kept, scaler = FeatureScaler(scale).fit(X), FeatureScaler(scale, out_of_range=out_of_range).fit(X)
    np.testing.assert_array_equal(scaler.transform(X), kept.transform(X))
    np.testing.assert_array_equal(scaler.fit_transform(X), kept.fit_transform(X))
    more = float(out_of_range != "clip" and out_of_range) * (X.max(axis=0) - X.min(axis=0))
    clipped = np.clip(other, X.min(axis=0) - more, X.max(axis=0) + more)
    np.testing.assert_array_equal(scaler.transform(other), kept.transform(clipped))
    for of, encode in ((scaler, False), (MixedFeaturesEncoder(scale=scale, out_of_range=out_of_range).fit(X), True)):
        outside = of.is_out_of_range(other)
        np.testing.assert_array_equal(outside, (other < X.min(axis=0)) | (other > X.max(axis=0)))
        assert not of.is_out_of_range(X).any()
        if encode:
            plain = MixedFeaturesEncoder(scale=scale, out_of_range="keep").fit(X)
            np.testing.assert_array_equal(of.transform(X), plain.transform(X))
            np.testing.assert_array_equal(of.transform(other), plain.transform(clipped))


@pytest.mark.parametrize("container", ["pandas", "polars", "arrow", "array"])
def test_dates_and_missing_values(container):
    """Dates are moved to the last day of training; a missing value stays missing, and is not counted."""
    training = pd.DataFrame(
        {
            "size": [1.0, 3.0, np.nan, 2.0],
            "day": pd.to_datetime(["2026-01-01", "2026-01-11", "2026-01-06", None]),
            "kind": ["a", "b", "a", None],
        }
    )
    queries = pd.DataFrame(
        {
            "size": [9.0, np.nan, 2.0, -1.0],
            "day": pd.to_datetime(["2026-03-01", "2025-01-01", None, "2026-01-10"]),
            "kind": ["c", "b", "a", "b"],
        }
    )
    read = {
        "pandas": lambda frame: frame,
        "polars": lambda frame: pytest.importorskip("polars").from_pandas(frame),
        "arrow": lambda frame: pytest.importorskip("pyarrow").Table.from_pandas(frame, preserve_index=False),
        "array": lambda frame: frame.astype(object).where(frame.notna(), None).to_numpy(),
    }[container]
    encoder = MixedFeaturesEncoder(dates=[1], categorical=[2], missing_numbers="distance", sparse_output=False)
    encoder.fit(read(training))
    outside = encoder.is_out_of_range(read(queries))
    assert outside.tolist() == [[True, True, False], [False, True, False], [False] * 3, [True, False, False]]
    names = encoder.get_feature_names_out(["size", "day", "kind"]).tolist()
    encoded = encoder.transform(read(queries))
    np.testing.assert_array_equal(encoded[:, names.index("numbers__size")], [1.0, np.nan, 0.5, 0.0])
    np.testing.assert_array_equal(encoded[:, names.index("dates__day")], [1.0, 0.0, np.nan, 0.9])


def test_constant_columns_have_the_range_zero():
    """Whatever a query has there becomes the constant, also with a number of ranges."""
    for out_of_range in ("clip", 2.0):
        scaler = FeatureScaler("minmax", out_of_range=out_of_range).fit([[5.0, 1.0], [5.0, 3.0]])
        assert scaler.transform([[9.0, 3.0]]).tolist() == [[0.0, 1.0]]
        assert scaler.is_out_of_range([[9.0, 3.0]]).tolist() == [[True, False]]
        encoder = MixedFeaturesEncoder(scale="none", out_of_range=out_of_range).fit([[5.0, 1.0], [5.0, 3.0]])
        assert encoder.transform([[9.0, 3.0]]).tolist() == [[5.0, 3.0]]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("scale", [*SCALES, "tfidf"])
def test_words_have_no_range(container, scale):
    """A count above all of training is no drift, however it is stored."""
    counts = np.zeros((8, 8))
    counts[np.arange(8), np.arange(8)] = [1, 2, 1, 3, 1, 1, 2, 1]
    queries = container(5 * counts)
    scaler = FeatureScaler(scale, out_of_range="clip").fit(container(counts))
    kept = FeatureScaler(scale).fit(container(counts))
    for of in (scaler, kept):
        assert of.is_out_of_range(queries).shape == (8, 8)
        assert not of.is_out_of_range(queries).any()
    scaled, expected = (sparse.csr_array(of.transform(queries)).toarray() for of in (scaler, kept))
    np.testing.assert_array_equal(scaled, expected)


def test_sparse_queries_of_a_dense_scaler(rows):
    """They are moved as dense ones are."""
    X, other = rows
    other[np.abs(other) < 1] = 0
    for scale in SCALES:
        scaler = FeatureScaler(scale, out_of_range="clip").fit(X)
        stored = sparse.csr_array(other)
        np.testing.assert_array_equal(scaler.transform(stored), scaler.transform(other))
        np.testing.assert_array_equal(scaler.is_out_of_range(stored), scaler.is_out_of_range(other))


def test_categories_have_no_range():
    """Coordinates of a category that training lacks are no drift: it must stay at distance 1 from all others."""
    X = np.array([[20.0, 0.5, 0.5, 0.0, 0.0], [60.0, 0.0, 0.0, 0.0, 0.0], [-30.0, 0.5, 0.5, 0.0, 0.0]])
    kinds = ("number", *("category",) * 4)
    query = [[99.0, 0.0, 0.0, 0.5, 0.5]]
    for out_of_range in ("clip", 1.0):
        scaler = FeatureScaler("minmax", feature_kinds=kinds, out_of_range=out_of_range).fit(X)
        assert scaler.transform(query)[0, 1:].tolist() == query[0][1:]
        assert scaler.is_out_of_range(query).tolist() == [[True, False, False, False, False]]


def test_features_that_are_not_scaled_are_not_copied_without_need(rows):
    """Training samples are inside, in their own type."""
    for X in (rows[0], rows[0].astype(np.float32)):
        scaler = FeatureScaler(out_of_range="clip").fit(X)
        assert np.shares_memory(scaler.transform(X), X)
        moved = scaler.transform(4 * X)
        assert moved.dtype == X.dtype
        assert not np.shares_memory(moved, X)


def test_integers_do_not_overflow():
    """The range of small integers is wider than their type."""
    X = np.array([[-100], [100], [90]], dtype=np.int8)
    for out_of_range, value in (("clip", 100.0), (0.1, 120.0)):
        assert FeatureScaler(out_of_range=out_of_range).fit(X).transform([[127]]) == value


def test_ranges_that_are_not_finite_keep():
    """Numbers near the end of float64 are no error, and no NaN."""
    X = np.array([[-1.5e308], [1.5e308], [1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for out_of_range in ("clip", 0, 2.0):
            values = FeatureScaler(out_of_range=out_of_range).fit(X).transform([[1.7e308], [0.0]])
            assert values.ravel().tolist() == [1.7e308 if out_of_range == 2 else 1.5e308, 0.0]


@pytest.mark.parametrize("value", ["cut", "Clip", -0.1, np.inf, np.nan, True, None, [1]])
def test_bad_values(value):
    """Named with what was expected."""
    for estimator in (FeatureScaler(out_of_range=value), MixedFeaturesEncoder(out_of_range=value)):
        with pytest.raises(ValueError, match="out_of_range must be 'clip', 'keep' or a finite number of at least 0"):
            estimator.fit([[1.0], [-2.0]])


def test_estimators_from_before_there_were_ranges(rows):
    """They keep what is outside, know of no range, and can be shown and cloned."""
    X, other = rows
    for estimator in (FeatureScaler("minmax"), MixedFeaturesEncoder(out_of_range="keep")):
        old = estimator.fit(X)
        expected = old.transform(other)
        for name in ("range_", "out_of_range"):
            vars(old).pop(name, None)
        for steps in getattr(getattr(old, "transformer_", None), "named_transformers_", {}).values():
            steps.steps = [step for step in steps.steps if step[0] != "range"]
        old = pickle.loads(pickle.dumps(old))
        np.testing.assert_array_equal(old.transform(other), expected)
        assert not old.is_out_of_range(other).any()
        assert old.get_params()["out_of_range"] == "keep"


def test_the_range_of_changed_samples(rows):
    """A scaler that leaves features unchanged equals a fit to the changed samples."""
    X, other = rows
    scaler = FeatureScaler(out_of_range="clip").fit(X)
    wider, fewer = scaler.with_range_of(other, widen=True), scaler.with_range_of(X[:20], widen=False)
    for made, samples in ((wider, np.vstack([X, other])), (fewer, X[:20])):
        expected = FeatureScaler(out_of_range="clip").fit(samples)
        np.testing.assert_array_equal(made.transform(9 * other), expected.transform(9 * other))
    np.testing.assert_array_equal(scaler.transform(X), X)
    assert scaler.range_.high_.tolist() == X.max(axis=0).tolist()
    assert scaler.follows_samples
    assert not FeatureScaler("minmax", out_of_range="clip").fit(X).follows_samples
    words = FeatureScaler(out_of_range="clip").fit(np.eye(5))
    assert not words.follows_samples
    assert words.with_range_of(np.ones((2, 5)), widen=True).range_ is None
