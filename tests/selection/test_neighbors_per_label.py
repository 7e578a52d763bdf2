import itertools

import numpy as np
import pandas as pd
import pytest

from conftest import CHECKS, CONTAINERS
from nearlabel.datasets import fetch_dataset
from nearlabel.lazy import BRkNN, BRkNNa, CMLkNN, MLkNN
from nearlabel.metrics import hamming_loss, macro_f1, micro_f1
from nearlabel.selection import NeighborsPerLabel
from nearlabel.utils.validation import as_dense

ESTIMATORS = [NeighborsPerLabel(max_neighbors=4), NeighborsPerLabel(BRkNN(), max_neighbors=4, scoring="micro_f1")]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_contract(check, estimator):
    """The contract of a multi-label classifier."""
    check(estimator)


@pytest.fixture(scope="module")
def rows():
    """60 rows, and four labels of different shares of noise."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    Y = np.column_stack([X > 0, X > 0.9]) ^ (rng.random((60, 4)) < [0.05, 0.3, 0.1, 0.2])
    return X, Y.astype(int)


@pytest.mark.parametrize("method", [BRkNN, MLkNN])
@pytest.mark.parametrize(
    ("scoring", "measure", "sign"),
    [("macro_f1", macro_f1, 1), ("micro_f1", micro_f1, 1), ("hamming_loss", hamming_loss, -1)],
)
def test_no_other_numbers_do_better(rows, method, scoring, measure, sign):
    """Over all 6^4 choices of numbers, none has a better measure of the leave-one-out label sets."""
    X, Y = rows
    model = NeighborsPerLabel(method(), scoring=scoring, max_neighbors=6).fit(X, Y)
    left_out = [method(k).fit(X, Y).loo_predict() for k in range(1, 7)]

    def value_of(numbers):
        return sign * measure(Y, np.column_stack([left_out[k - 1][:, label] for label, k in enumerate(numbers)]))

    values = {numbers: value_of(numbers) for numbers in itertools.product(range(1, 7), repeat=4)}
    assert values[tuple(model.n_neighbors_)] == pytest.approx(max(values.values()), abs=1e-15)
    assert model.cv_results_["n_neighbors"].tolist() == [1, 2, 3, 4, 5, 6]
    for place, labels in enumerate(left_out):
        assert model.cv_results_["true_positives"][place].tolist() == (labels & Y).sum(axis=0).tolist()
        assert model.cv_results_["false_positives"][place].tolist() == (labels & ~Y).sum(axis=0).tolist()
        assert model.cv_results_["false_negatives"][place].tolist() == (~labels & Y & 1).sum(axis=0).tolist()


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("method", [BRkNN, MLkNN])
def test_each_label_is_that_of_its_own_number(rows, method, container):
    """Column l of scores and label sets is that of a single fit with the number of label l, bit for bit."""
    X, Y = rows
    numbers = [7, 2, 59, 2]
    queries = np.random.default_rng(1).normal(size=(20, 2))
    model = NeighborsPerLabel(method(), n_neighbors=numbers).fit(X, CONTAINERS[container](Y))
    singles = [method(k).fit(X, Y) for k in numbers]
    scores = np.column_stack([single.predict_proba(queries)[:, label] for label, single in enumerate(singles)])
    labels = np.column_stack([single.predict(queries)[:, label] for label, single in enumerate(singles)])
    np.testing.assert_array_equal(model.predict_proba(queries), scores)
    np.testing.assert_array_equal(as_dense(model.predict(queries)), labels)
    assert not hasattr(model, "cv_results_")


def test_frames_and_constant_labels(rows):
    """Names are kept; labels of one class get a number and their constant."""
    X, Y = rows
    frame = pd.DataFrame(np.column_stack([Y[:, 0], np.zeros(60, int), np.ones(60, int)]), columns=["a", "none", "all"])
    model = NeighborsPerLabel().fit(pd.DataFrame(X, columns=["x", "y"]), frame)
    assert model.label_names_.tolist() == ["a", "none", "all"]
    assert model.predict(pd.DataFrame(X, columns=["x", "y"]))[:, 1:].tolist() == [[0, 1]] * 60


def test_one_row():
    """A number can be given even for one row."""
    model = NeighborsPerLabel(BRkNN(), n_neighbors=[1, 1]).fit([[0.0]], [[1, 0]])
    assert model.predict([[5.0]]).tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"estimator": CMLkNN()}, TypeError, "decides each label by itself, MLkNN or BRkNN, got CMLkNN"),
        ({"estimator": BRkNNa()}, TypeError, "got BRkNNa"),
        ({"n_neighbors": "best"}, ValueError, "n_neighbors must be an integer or 'auto', got 'best'"),
        (
            {"n_neighbors": [1, 2]},
            ValueError,
            r"n_neighbors must be 'auto' or 4 integers, one a label, got int64 of shape \(2,\)",
        ),
        ({"n_neighbors": [1, 2, 0, 1]}, ValueError, "n_neighbors must be at least 1, got 0"),
        ({"n_neighbors": [1, 2, 60, 1]}, ValueError, "n_neighbors must be smaller than n_samples=60, got 60"),
        ({"n_neighbors": [1.0, 2, 3, 1]}, ValueError, "one a label, got float64"),
        ({"max_neighbors": 0}, ValueError, "max_neighbors must be at least 1, got 0"),
        ({"scoring": "one_error"}, ValueError, "scoring must be one of"),
    ],
)
def test_bad_parameters(rows, arguments, error, message):
    """Each is named, with what was expected."""
    with pytest.raises(error, match=message):
        NeighborsPerLabel(**arguments).fit(*rows)


@pytest.mark.long
@pytest.mark.parametrize("name", ["yeast", *(pytest.param(n, marks=pytest.mark.long) for n in ("scene", "enron"))])
def test_better_than_one_number_on_real_data(data_folder, name):
    """On test rows macro and micro F1 rise, against the best single number by the same leave-one-out label sets."""
    training, test = (fetch_dataset(name, subset=part) for part in ("train", "test"))
    for scoring, measure in (("macro_f1", macro_f1), ("micro_f1", micro_f1)):
        one = MLkNN("auto").fit(training.X, training.Y).predict(test.X)
        many = NeighborsPerLabel(scoring=scoring).fit(training.X, training.Y).predict(test.X)
        assert measure(test.Y, many) > measure(test.Y, one) + 0.005
