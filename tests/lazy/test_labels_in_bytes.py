"""Dense label sets of one byte a cell: whatever y comes in, the same answers, in its type, and no wide copy."""

import tracemalloc

import numpy as np
import pytest

from nearlabel.labels import distinct_labelsets
from nearlabel.lazy import BRkNN, BRkNNa, BRkNNb, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.metrics import hamming_loss, macro_f1, micro_f1, score_all

METHODS = [BRkNN, BRkNNa, BRkNNb, LPkNN, MLkNN, CMLkNN, DMLkNN]
IN_BYTES = [np.bool_, np.int8, np.uint8]


def peak_of(function, *arguments):
    """Return how many bytes a call allocates at most, and its result."""
    tracemalloc.start()
    try:
        result = function(*arguments)
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def many_cells():
    """4,000 rows of 2 features with 1,000 labels in bytes."""
    rng = np.random.default_rng(0)
    return rng.random((4_000, 2)), (rng.random((4_000, 1_000)) < 0.05).astype(np.uint8)


@pytest.mark.parametrize(("method", "at_fit"), [(BRkNN, 2), (MLkNN, 7)])
@pytest.mark.parametrize("dtype", [np.bool_, np.uint8])
def test_memory(many_cells, method, at_fit, dtype):
    """One copy of y is kept, and the answer comes in bytes; the rest are buffers of a block, 4 or 5 bytes a cell here.

    A copy in int64 takes 8 bytes a cell.
    """
    X, Y = many_cells
    fit, model = peak_of(method().fit, X, Y.astype(dtype))
    predict, labels = peak_of(model.predict, X)
    assert labels.dtype == dtype
    assert fit / Y.size < at_fit
    assert predict / Y.size < 7


def test_metrics_take_no_copy(many_cells):
    """Nor do they of two different types of bytes."""
    _, Y = many_cells
    for metric in (micro_f1, hamming_loss):
        peak, _ = peak_of(metric, Y.astype(np.bool_), Y)
        assert peak < 2 * Y.size  # the argument itself, and counts of rows and labels


@pytest.fixture
def few_cells():
    """60 rows on a grid, with ties, of 5 labels; one label has one class."""
    rng = np.random.default_rng(1)
    return rng.integers(0, 4, (60, 3)) / 2, rng.integers(0, 2, (60, 5)) * [1, 1, 1, 1, 0]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", IN_BYTES)
def test_answers(few_cells, method, dtype):
    """They are those of y in int64, in the type of y; leave-one-out, too."""
    X, Y = few_cells
    wide, narrow = method(5).fit(X, Y.astype(np.int64)), method(5).fit(X, Y.astype(dtype))
    np.testing.assert_array_equal(narrow.predict_proba(X), wide.predict_proba(X))
    for answer, expected in ((narrow.predict(X), wide.predict(X)), (narrow.loo_predict(), wide.loo_predict())):
        assert (answer.dtype, expected.dtype) == (dtype, np.int64)
        np.testing.assert_array_equal(answer, expected)


@pytest.mark.parametrize("dtype", [*IN_BYTES, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_y_may_change_after_fit(few_cells, dtype, order):
    """The model keeps a copy."""
    X, Y = few_cells[0], np.array(few_cells[1], dtype=dtype, order=order)
    model = CMLkNN(5).fit(X, Y)
    before = model.predict(X), model.loo_predict()
    Y[:] = 1 - Y.astype(np.int64)
    np.testing.assert_array_equal((model.predict(X), model.loo_predict()), before)


@pytest.mark.parametrize("dtype", IN_BYTES)
def test_counts_beyond_a_byte(dtype):
    """500 rows with 400 labels each, all true and predicted but one: no sum is taken in bytes."""
    true = np.ones((500, 400), dtype=dtype)
    predicted = true.copy()
    predicted[0, 0] = 0
    n = true.size
    assert hamming_loss(true, predicted) == 1 / n
    assert micro_f1(true, predicted) == 2 * (n - 1) / (2 * n - 1)
    assert macro_f1(true, predicted) == pytest.approx((399 + 998 / 999) / 400, rel=1e-15)
    names = ["micro_f1", "macro_f1", "jaccard_examples", "f1_examples"]
    wide = score_all(true.astype(np.int64), predicted.astype(np.int64), metrics=names)
    assert score_all(true, predicted, metrics=names) == wide


def test_a_function_gets_whole_numbers(many_cells):
    """A user's products of label sets do not overflow: the truth that they get is int64, as ever."""
    X, Y = many_cells
    types = []

    def value(truth, scores):
        types.append((truth.dtype, scores.dtype))
        return 0.0

    BRkNN(value).fit(X[:20], Y[:20])
    assert set(types) == {(np.dtype(np.int64), np.dtype(np.float64))}
    assert distinct_labelsets(Y)[0].dtype == np.int64
