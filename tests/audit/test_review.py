"""Predictions to check: the expected loss by enumeration, ties, every model with probabilities."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nearlabel.audit import _review, expected_loss, review
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import f1_examples
from nearlabel.thresholds import FixedThresholdsClassifier

RNG = np.random.default_rng(0)
X = RNG.integers(0, 3, (50, 3)).astype(float)
Y = (X + RNG.integers(0, 2, X.shape) > 1.5).astype(int)
MODEL = FixedThresholdsClassifier(BRkNN(4), 0.3).fit(X[:25], Y[:25])


def loss_of(name, truth, predicted):
    """Return the loss of one label set."""
    wrong = int((truth != predicted).sum())
    return {"labels": wrong, "subset": wrong > 0}[name]


@pytest.mark.parametrize("loss", ["labels", "subset"])
def test_the_definition(loss):
    """The loss of each label set that may be true, times its probability."""
    p, predicted = MODEL.predict_proba(X[25:]), MODEL.predict(X[25:])
    sets = np.array(list(product([0, 1], repeat=3)))
    chances = [np.prod(np.where(sets == 1, row, 1 - row), axis=1) for row in p]
    expected = [
        sum(chance * loss_of(loss, truth, chosen) for truth, chance in zip(sets, of_row, strict=True))
        for of_row, chosen in zip(chances, predicted, strict=True)
    ]
    np.testing.assert_allclose(expected_loss(MODEL, X[25:], loss=loss), expected, rtol=0, atol=1e-12)


def test_expected_f1():
    """One less the F1 of the best of all label sets."""
    sets = np.array(list(product([0, 1], repeat=3)))
    for p, found in zip(MODEL.predict_proba(X[25:]), expected_loss(MODEL, X[25:], loss="f1"), strict=True):
        chances = np.prod(np.where(sets == 1, p, 1 - p), axis=1)
        f1 = [[f1_examples(truth[None], chosen[None], zero_division=0.0) for truth in sets] for chosen in sets]
        assert found == pytest.approx(1 - max(chances @ np.array(of_set) for of_set in f1))


def test_order():
    """Largest loss first, of equal ones the lower row; n beyond the rows gives all."""
    losses = expected_loss(MODEL, X[25:])
    expected = sorted(range(25), key=lambda row: (-losses[row], row))
    found = review(MODEL, X[25:], 99)
    assert [one.row for one in found] == expected
    assert [one.expected_loss for one in found] == losses[expected].tolist()
    assert [one.row for one in review(MODEL, X[25:], 3)] == expected[:3]
    assert len(set(losses)) < len(losses)


@pytest.mark.parametrize("container", [sparse.csr_array, pd.DataFrame, np.ndarray.tolist])
def test_containers_and_blocks(container, monkeypatch):
    """Storage and blocks change nothing."""
    model = MLkNN(4).fit(container(X[:25]), Y[:25])
    whole = review(MLkNN(4).fit(X[:25], Y[:25]), X[25:], 9)
    monkeypatch.setattr(_review, "row_blocks", lambda n, size: (slice(i, min(i + 4, n)) for i in range(0, n, 4)))
    assert review(model, container(X[25:]), 9) == whole


def test_names():
    """Labels have the model's names, or those given; a label that cannot be wrong is no doubt."""
    model = make_pipeline(StandardScaler(), BRkNN(2)).fit([[0], [1], [2], [3]], [["sea"], ["sea"], [], ["sea", "hill"]])
    one, other = review(model, [[0.4], [2.4]], 2)
    assert (one.row, one.predicted, one.expected_loss) == (1, [], 1.0)
    assert one.reason == "hill is not predicted, wrong with 50%; sea is not predicted, wrong with 50%"
    assert (other.predicted, other.doubts, other.reason) == (["sea"], [], "")
    assert one.to_dict()["doubts"][0] == {"label": "hill", "predicted": False, "probability_wrong": 0.5}
    assert review(model, [[2.4]], 1, label_names=["h", "s"])[0].doubts[0].label == "h"
    with pytest.raises(ValueError, match="label_names must be 2 names, one for each label, got 1"):
        review(model, [[2.4]], 1, label_names=["h"])


def test_other_classifiers():
    """Any classifier with probabilities, in whatever shape it answers; of one column of classes, too."""
    many = MultiOutputClassifier(LogisticRegression()).fit(X[:25], Y[:25])
    p = np.column_stack([one[:, 1] for one in many.predict_proba(X[25:])])
    np.testing.assert_allclose(expected_loss(many, X[25:]), np.minimum(p, 1 - p).sum(axis=1))
    single = LogisticRegression().fit(X[:25], np.where(Y[:25, 0], "yes", "no"))
    np.testing.assert_allclose(expected_loss(single, X[25:]), single.predict_proba(X[25:]).min(axis=1))
    with pytest.raises(ValueError, match=r"model must have predict_proba, got RidgeClassifier\. Hint: nearlabel"):
        expected_loss(RidgeClassifier().fit(X[:25], Y[:25, 0]), X[25:])


def test_bad_input():
    """No rows, and an unknown loss."""
    with pytest.raises(ValueError, match="0 sample"):
        review(MODEL, X[:0], 3)
    with pytest.raises(ValueError, match=r"loss must be .*got 'hamming'"):
        review(MODEL, X, 3, loss="hamming")
