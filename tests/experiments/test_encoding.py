"""Cells of several kinds: each training part fits the encoder anew."""

import numpy as np
import pytest
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from nearlabel.datasets import Dataset
from nearlabel.experiments import Candidate, Plan, Tuning, run
from nearlabel.lazy import BRkNN
from nearlabel.metrics import micro_f1
from nearlabel.preprocessing import MixedFeaturesEncoder


@pytest.fixture(scope="module")
def songs():
    """Forty rows of a number and a category, with holes."""
    rng = np.random.default_rng(0)
    X = np.empty((40, 2), dtype=object)
    X[:, 0] = rng.normal(size=40)
    X[:, 1] = rng.choice(["soul", "punk", "house", None], 40)
    X[3, 0] = np.nan
    Y = np.column_stack([X[:, 1] == "punk", rng.random(40) < 0.5]).astype(np.int64)
    return Dataset(X, Y, ("tempo", "genre"), ("wild", "calm"), "songs", feature_kinds=("number", "category"))


def test_folds_refit_the_encoder(songs):
    """Plan and Tuning give what a pipeline gives that is fitted to each training part."""
    model = make_pipeline(MixedFeaturesEncoder(categorical=[1]), BRkNN(3))
    predicted, of_folds = np.empty_like(songs.Y), []
    for training, test in KFold(4, shuffle=True, random_state=0).split(songs.X):
        predicted[test] = model.fit(songs.X[training], songs.Y[training]).predict(songs.X[test])
        of_folds.append(micro_f1(songs.Y[test], predicted[test]))
    settings = {"cv": 4, "impute": "median"}
    plan = Plan(("brknn",), (3,), scale="minmax", metrics=("micro_f1",), **settings)
    assert [record["value"] for record in run(plan, [songs])] == of_folds
    tuned = Tuning(("brknn",), (3,), scales=("minmax",), **settings).run(songs)
    assert tuned.trials[0].value == micro_f1(songs.Y, predicted)


def test_leave_one_out_is_that_of_the_pipeline(songs):
    """The encoder has seen the row, as a scaler has."""
    model = Candidate("brknn", 3, "minmax", "exact", impute="median").fit(songs)
    tuned = Tuning(("brknn",), (3,), scales=("minmax",), impute="median").run(songs)
    assert tuned.trials[0].value == micro_f1(songs.Y, model[-1].loo_predict())


def test_refused(songs):
    """A missing number without imputation, and weights of words for what is no count."""
    with pytest.raises(
        ValueError, match=r"X of songs must be finite, got 1 missing or infinite values, .* row 3, column 0"
    ):
        Tuning(("brknn",), (3,)).run(songs)
    with pytest.raises(ValueError, match="scale must be one of none, minmax, standard with columns of several kinds"):
        Tuning(("brknn",), (3,), scales=("tfidf",), impute="mean").run(songs)
