"""Arrays of other libraries: those in memory are read as they are, the others are refused with the argument's name."""

import numpy as np
import pytest

from nearlabel import BinaryRelevance, BRkNN, MLkNN
from nearlabel.metrics import average_precision, micro_f1
from nearlabel.neighbors import ExactNeighbors


class OnADevice:
    """What cupy's arrays and tensors of a GPU do: they refuse to become an array by themselves."""

    shape = (40, 4)

    def __dlpack__(self, **options):
        raise BufferError("it is on a GPU")

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")


class InMemory:
    """An array of the standard, around one of numpy: no other library is needed."""

    def __init__(self, values):
        self.values, self.shape, self.ndim, self.dtype = values, values.shape, values.ndim, values.dtype

    def __len__(self):
        return len(self.values)

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __array__(self, dtype=None, copy=None):
        return self.values if dtype is None else self.values.astype(dtype)


@pytest.fixture(scope="module")
def problem():
    """40 samples with four features and three labels."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 4))
    return X, (X[:, :3] + 0.5 * rng.standard_normal((40, 3)) > 0.1).astype(np.int64)


def in_torch(values):
    """Return a tensor that shares memory with an array."""
    return pytest.importorskip("torch").from_numpy(values)


@pytest.mark.parametrize("convert", [InMemory, in_torch])
@pytest.mark.parametrize("model", [MLkNN(3), BinaryRelevance(random_state=0)], ids=["MLkNN", "BinaryRelevance"])
def test_they_are_read(model, convert, problem):
    """As X, y and queries, in metrics and in a search."""
    X, Y = problem
    expected = model.fit(X, Y).predict(X), model.predict_proba(X)
    model.fit(convert(X), convert(Y))
    np.testing.assert_array_equal(model.predict(convert(X)), expected[0])
    np.testing.assert_array_equal(model.predict_proba(convert(X)), expected[1])
    assert micro_f1(convert(Y), convert(expected[0])) == micro_f1(Y, expected[0])
    assert average_precision(convert(Y), convert(expected[1])) == average_precision(Y, expected[1])
    lists = [ExactNeighbors(n_neighbors=3).fit(rows).kneighbors(rows)[1] for rows in (X, convert(X))]
    np.testing.assert_array_equal(*lists)


@pytest.mark.parametrize("name", ["X", "y"])
def test_those_of_a_device_are_refused(name, problem):
    """No array travels between a GPU and memory without being asked to."""
    arrays = dict(zip(("X", "y"), problem, strict=True)) | {name: OnADevice()}
    with pytest.raises(TypeError, match=rf"{name} must be an array that numpy can read, got a OnADevice: Imp.*Hint: "):
        MLkNN(3).fit(**arrays)


@pytest.mark.parametrize("change", ["requires_grad_", "bfloat16", "to_sparse"])
@pytest.mark.parametrize("name", ["X", "y"])
def test_tensors_that_are_more_than_numbers_in_memory(name, change, problem):
    """Those with gradients, of a type that numpy lacks, or sparse."""
    arrays = dict(zip(("X", "y"), problem, strict=True))
    arrays[name] = getattr(in_torch(arrays[name].astype(float)), change)()
    with pytest.raises(TypeError, match=rf"{name} must be an array that numpy can read, got a Tensor: .*Hint: "):
        MLkNN(3).fit(**arrays)


def test_probabilities_of_single_precision_would_lose_a_threshold(problem):
    """So they are float64 also for float32 X: seven of ten votes reach 0.7, but not after rounding."""
    X, Y = problem
    scores = BRkNN(10).fit(X.astype(np.float32), Y).predict_proba(X.astype(np.float32))
    assert scores.dtype == np.float64
    at = scores == 0.7
    assert at.any()
    assert not (scores.astype(np.float32).astype(np.float64)[at] >= 0.7).any()
