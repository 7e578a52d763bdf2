"""The method `score` of classifiers."""

import numpy as np
import pytest
from scipy import sparse

from nearlabel.lazy import MLkNN
from nearlabel.metrics import subset_accuracy


@pytest.mark.parametrize("fitted_to", [np.array, sparse.csr_array])
@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array, np.ma.masked_invalid])
def test_unknown_cells(wrap, fitted_to):
    """The share of rows that have known cells of those whose known cells are right, as the metric has it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    y = (X + rng.normal(size=X.shape) > 0).astype(float)
    weights = rng.integers(0, 3, 50)
    model = MLkNN(3).fit(X, fitted_to(y.astype(int)))
    assert model.score(X, wrap(y), weights) == pytest.approx(
        subset_accuracy(y, model.predict(X), sample_weight=weights)
    )
    y[rng.random(y.shape) < 0.4] = np.nan
    y[7] = np.nan
    value = model.score(X, wrap(y))
    assert value == pytest.approx(subset_accuracy(y, model.predict(X)))
    right = [np.array_equal(a[~np.isnan(a)], b[~np.isnan(a)]) for a, b in zip(y, _dense(model.predict(X)), strict=True)]
    known = ~np.isnan(y).all(axis=1)
    assert value == pytest.approx(np.mean(np.array(right)[known]))
    expected = subset_accuracy(y, model.predict(X), sample_weight=weights)
    assert model.score(X, wrap(y), weights) == pytest.approx(expected)
    with pytest.raises(ValueError, match="y must have a known cell in a sample with a weight above 0, got none"):
        model.score(X, wrap(y * np.nan))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X[1:], wrap(y))


def _dense(labels):
    return labels.toarray() if sparse.issparse(labels) else labels


def test_rows_without_known_tags_or_class_are_left_out():
    """As `fit` takes None there, `score` does."""
    X = np.arange(8.0)[:, np.newaxis]
    weights = np.arange(1.0, 9.0)
    for y in ([["a"], ["b"], ["a", "b"], []] * 2, ["yes", "no"] * 4):
        fitted = MLkNN(2).fit(X, y)
        assert fitted.score(X, [None, *y[1:]], weights) == fitted.score(X[1:], y[1:], weights[1:])
