"""Advice on folds of consecutive samples where samples are ordered by their labels."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold

from nearlabel.lazy import MLkNN
from nearlabel.models.out_of_sample import advise_if_ordered
from nearlabel.thresholds import CalibratedLabels, TunedThresholdsClassifierCV, cross_val_scores
from nearlabel.utils.messages import AdviceWarning

MESSAGE = r"ordered: label 0 is in 40 of the 40 samples of a fold, and in 20 of the other 160\. .* random_state=0"


@pytest.fixture
def ordered():
    """Samples of which the first 60 have label 0; label 1 is drawn."""
    rng = np.random.default_rng(0)
    y = np.column_stack([np.arange(200) < 60, rng.random(200) < 0.4]).astype(int)
    return rng.normal(size=(200, 3)) + y[:, :1], y


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("model", [TunedThresholdsClassifierCV(MLkNN(3)), CalibratedLabels(MLkNN(3))])
def test_ordered_samples(ordered, model, container):
    """Consecutive folds warn, shuffled ones do not."""
    X, y = ordered
    with pytest.warns(AdviceWarning, match=MESSAGE):
        clone(model).fit(X, container(y))
    clone(model).set_params(random_state=0).fit(X, container(y))  # warnings are errors


def test_splitters(ordered):
    """A consecutive splitter warns, too; leave-one-out folds are too small to tell."""
    X, y = ordered
    with pytest.warns(AdviceWarning, match=MESSAGE):
        cross_val_scores(MLkNN(3), X, y, cv=KFold(5))
    cross_val_scores(MLkNN(3), X, y, cv=KFold(5, shuffle=True, random_state=0))
    advise_if_ordered(y, [np.array([row]) for row in range(200)])


def test_unknown_cells(ordered):
    """Only known labels count."""
    folds = np.array_split(np.arange(200), 5)
    y = ordered[1].astype(float)
    y[:60, 0] = np.nan
    advise_if_ordered(y, folds)
    y[:30, 0] = 1
    with pytest.warns(AdviceWarning, match="label 0 is in 30 of the 40"):
        advise_if_ordered(y, folds)


def test_chance_is_not_advised_on():
    """Of 1,000 random label sets, some with rare labels, none is; warnings are errors here."""
    rng = np.random.default_rng(0)
    folds = np.array_split(np.arange(300), 5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(1_000):
            advise_if_ordered((rng.random((300, 6)) < [0.003, 0.01, 0.05, 0.2, 0.5, 1.0]).astype(int), folds)
