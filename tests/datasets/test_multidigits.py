import hashlib

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from nearlabel.datasets import load_multidigits
from nearlabel.labels import co_occurrence, frequencies


@pytest.fixture(scope="module")
def digits():
    """The data set, made once."""
    return load_multidigits()


def test_shape(digits):
    """2000 pictures of 9x9 pixels with one to three of ten digits."""
    assert (digits.X.shape, digits.Y.shape) == ((2000, 81), (2000, 10))
    assert (digits.X.min(), digits.X.max()) == (0, 16)
    assert set(digits.Y.sum(axis=1)) == {1, 2, 3}
    assert digits.label_names == tuple("0123456789")


def test_same_for_ever(digits):
    """The bytes are those of the first release."""
    X = hashlib.sha256(digits.X.astype("<f8").tobytes()).hexdigest()
    Y = hashlib.sha256(digits.Y.astype("<i8").tobytes()).hexdigest()
    assert X == "a9528b87ad3745d18e1366f54de9240873cf12f6d8b4e7689946ac7fa17a5994"
    assert Y == "fcf29e6c5ac6fd361ab6dfb3e537a73050f20c7f8fc2e271bdf49466b28137ae"


def test_each_call_is_a_fresh_copy(digits):
    """Changing one result does not change the next."""
    other = load_multidigits()
    other.X[:] = 0
    assert digits.X.max() == load_multidigits().X.max() == 16


def test_some_pairs_never_occur(digits):
    """No picture has two digits that add up to ten."""
    pairs = co_occurrence(digits.Y)
    assert [pairs[a, 10 - a] for a in (1, 2, 3, 4)] == [0, 0, 0, 0]
    assert pairs[pairs > 0].min() >= 10


@pytest.mark.parametrize("first", [0, 2, 4, 6, 8])
def test_couples_occur_often(digits, first):
    """Each couple occurs at least 1.8 times as often as if its digits were independent."""
    expected = np.prod(frequencies(digits.Y)[[first, first + 1]]) / 2000
    assert co_occurrence(digits.Y)[first, first + 1] > 1.8 * expected


def test_ten_neighbours_are_good_but_not_perfect(digits):
    """10-NN has micro-F1 near 0.65 in five folds; giving every label to every row has 0.33."""
    folds = KFold(5, shuffle=True, random_state=0)
    predicted = cross_val_predict(KNeighborsClassifier(10), digits.X, digits.Y, cv=folds)
    assert 0.6 < f1_score(digits.Y, predicted, average="micro") < 0.7
    assert f1_score(digits.Y, np.ones_like(digits.Y), average="micro") < 0.35
