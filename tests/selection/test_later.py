"""Choices by time: what follows is predicted from what came before, thresholds and estimates included."""

import warnings
from dataclasses import replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from nearlabel import BRkNN, ExactNeighbors, FeatureScaler, MLkNN, NeighborsClassifierCV
from nearlabel.datasets import Dataset
from nearlabel.lazy import MLMLM
from nearlabel.metrics import get_metric, micro_f1
from nearlabel.models.out_of_sample import later_half, ranks_of, split_at
from nearlabel.models.updates import StaleThresholdsWarning
from nearlabel.rivals import RandomForestPCT
from nearlabel.selection.candidates import Candidate
from nearlabel.selection.later import fit_for_later, harmful_kind, later_scores, origins
from nearlabel.selection.methods import MethodSpec
from nearlabel.thresholds import MicroFOptimum, TunedThresholdsClassifierCV
from nearlabel.utils.messages import AdviceWarning

MICRO = get_metric("micro_f1")


def drifting(n_samples=240):
    """Return samples, three labels whose shares grow with time, and the days, in no order."""
    random = np.random.default_rng(0)
    day = random.permutation(np.repeat(np.arange(n_samples // 4), 4))
    X = random.normal(size=(n_samples, 4))
    Y = (X[:, :3] + 0.5 * random.normal(size=(n_samples, 3)) + day[:, np.newaxis] / n_samples * 4 > 0.7).astype(int)
    return X, Y, day


def trees_spec(trees):
    """Return a method that has no leave-one-out scores, with tuned thresholds."""
    return MethodSpec(trees, thresholds=MicroFOptimum())


def test_ranks():
    """Dates and numbers, in any form; what is missing is named."""
    assert ranks_of([3.5, 1.0, 3.5], 3).tolist() == [1, 0, 1]
    days = np.array(["2026-03-01", "2025-01-01", "2026-03-01"], dtype="datetime64[D]")
    assert ranks_of(days, 3).tolist() == [1, 0, 1]
    for order, message in (
        ([1, 2], r"order must be of shape \(3,\), one for each row, got \(2,\)"),
        ([1, np.nan, 2], "order must have a value in each row, got 1 without, the first row 1"),
        (np.array(["2026-01-01", "NaT", "NaT"], dtype="datetime64[D]"), "got 2 without, the first row 1"),
        ([1, None, 2], "got 1 without, the first row 1"),
        ([4, 4, 4], "order must have at least 2 distinct values, got 4 only"),
    ):
        with pytest.raises(ValueError, match=message):
            ranks_of(order, 3)


@pytest.mark.parametrize("share", [0.1, 0.6, 0.8, 0.99])
def test_a_split_parts_no_day(share):
    """No later row is of an earlier day, both parts have rows, and no split is nearer to the share."""
    ranks = np.random.default_rng(1).permutation(np.repeat(np.arange(9), [1, 30, 2, 3, 9, 20, 1, 1, 8]))
    earlier, later = split_at(ranks, share)
    assert sorted([*earlier, *later]) == list(range(len(ranks)))
    assert len(later)
    assert ranks[earlier].max() < ranks[later].min()
    every = [(ranks <= rank).sum() for rank in range(8)]
    assert abs(len(earlier) - share * len(ranks)) == min(abs(n - share * len(ranks)) for n in every)


def test_origins():
    """Three, each with the next tenth; fewer, or none, where days are few."""
    found = origins(np.arange(100))
    assert [(len(before), following.tolist()[0], len(following)) for before, following in found] == [
        (60, 60, 10), (70, 70, 10), (80, 80, 10),
    ]  # fmt: skip
    assert origins(np.repeat([0, 1], 50)) == []
    assert origins(np.arange(49)) == [], "of so few rows it would be chance"
    for before, following in origins(np.repeat(np.arange(4), 25)):
        assert before.max() < following.min()


@pytest.mark.parametrize("method", [BRkNN(), MLkNN(), BRkNN(weights="distance"), MLMLM(scale="none")], ids=repr)
def test_every_candidate_is_a_fit_to_the_earlier_rows(method):
    """Scaling, method and choice know nothing later; the best is fitted to all rows, with thresholds of the later."""
    X, Y, day = drifting()
    chosen = NeighborsClassifierCV(
        methods={"one": method}, n_neighbors=(5, 9), scales=("minmax",), metrics=("euclidean",)
    ).fit(X, Y, order=day)
    earlier, later = split_at(ranks_of(day, len(day)))
    numbers = (5, 9) if "n_neighbors" in method.get_params() else (None,)
    values = []
    for k in numbers:
        params = {} if k is None else {"n_neighbors": k, "search": ExactNeighbors()}
        model = make_pipeline(FeatureScaler("minmax"), type(method)(**{**method.get_params(), **params}))
        scores = model.fit(X[earlier], Y[earlier]).predict_proba(X[later])
        values.append(MicroFOptimum().fit(scores, Y[later]))
    assert chosen.cv_results_["score"].tolist() == pytest.approx([one.objective_ for one in values])
    everything = chosen.best_estimator_[:-1].transform(X)
    assert everything.min() == 0, "the steps are fitted to all rows"
    assert everything.max() == pytest.approx(1)
    tuned, half = chosen.best_estimator_[-1], later_half(ranks_of(day, len(day)))
    assert abs(len(half) - len(day) / 2) <= 2
    assert day[half].min() > np.delete(day, half).max()
    expected = MicroFOptimum().fit(tuned.estimator_.loo_predict_proba()[half], Y[half])
    np.testing.assert_allclose(tuned.thresholds_, expected.thresholds_)


def test_all_later_rows_of_one_day():
    """Rows of equal rank are all later, also when the others were forgotten."""
    assert later_half(np.array([0, 0, 0])).tolist() == later_half(np.array([7, 7, 7])).tolist() == [0, 1, 2]
    assert later_half(np.array([4, 1, 4, 2])).tolist() == [0, 2]


@pytest.mark.parametrize("method", [BRkNN(), MLMLM(scale="none")], ids=repr)
def test_a_model_in_an_order_learns_more(method):
    """Known tags and new ones; the added rows come last, and tuning again is what `fit` does with them."""
    X, Y, day = drifting()
    names = np.array(["x", "y", "z"])
    tags = [names[row == 1].tolist() for row in Y]
    model = NeighborsClassifierCV(methods={"one": method}, n_neighbors=(7,), scales=("none",), metrics=("euclidean",))
    model.fit(X[:200], tags[:200], order=day[:200])
    model.partial_fit(X[200:220], tags[200:220]).forget([0, 5])
    with pytest.warns(StaleThresholdsWarning, match="Hint: retune"):
        model.predict(X)
    model.retune()
    last = day[:200].max() + 1
    order = np.delete(np.append(day[:200], np.full(20, last)), [0, 5])
    tuned = model.best_estimator_[-1]
    half = later_half(ranks_of(order, 218))
    labels = np.delete(Y[:220], [0, 5], axis=0)
    expected = MicroFOptimum().fit(tuned.estimator_.loo_predict_proba()[half], labels[half])
    np.testing.assert_allclose(tuned.thresholds_, expected.thresholds_)
    assert tuned.objective_ == pytest.approx(expected.objective_)
    model.partial_fit(X[220:], [[*row, "new"] for row in tags[220:]])
    assert not model.thresholds_stale_
    assert model.label_names_.tolist() == ["x", "y", "z", "new"]
    assert np.isfinite(model.best_estimator_[-1].thresholds_).all()
    assert model.predict(X[220:]).shape == (20, 4)


def test_labels_with_few_positives_have_thresholds_of_all_rows():
    """A tuned threshold of three positives is a guess: the earlier rows know more."""
    X, Y, day = drifting()
    Y[:, 2] = 0
    Y[np.argsort(day)[[*range(0, 120, 8), 130, 180]], 2] = 1
    model = NeighborsClassifierCV(methods=[BRkNN()], n_neighbors=(7,), scales=("none",), metrics=("euclidean",))
    tuned = model.fit(X, Y, order=day).best_estimator_[-1]
    half, scores = later_half(ranks_of(day, len(day))), tuned.estimator_.loo_predict_proba()
    assert Y[half].sum(axis=0)[2] == 2
    of_half, of_all = (MicroFOptimum().fit(scores[rows], Y[rows]).thresholds_ for rows in (half, slice(None)))
    np.testing.assert_allclose(tuned.thresholds_, [*of_half[:2], of_all[2]])


def test_refusals():
    """An order is no group, and holds out the later rows only."""
    X, Y, day = drifting()
    for params, given in (({}, {"groups": day}), ({"nested": 2}, {})):
        with pytest.raises(ValueError, match="order must go without groups and nested"):
            NeighborsClassifierCV(**params).fit(X, Y, order=day, **given)


def test_thresholds_of_a_candidate_are_of_the_later_rows():
    """By leaving one out; of other methods as by a split that is written out; rules without thresholds work, too."""
    X, Y, day = drifting()
    data, ranks = Dataset(X, Y, tuple("abcd"), tuple("xyz"), "drift"), ranks_of(day, len(day))
    for scale in ("minmax", "none"):
        model = fit_for_later(Candidate("mlknn@micro-f", 7, scale, "exact"), data, ranks)
        scores, half = MLkNN(7).fit(FeatureScaler(scale).fit_transform(X), Y).loo_predict_proba(), later_half(ranks)
        expected = MicroFOptimum().fit(scores[half], Y[half])
        last = model[-1] if hasattr(model, "steps") else model
        np.testing.assert_array_equal(last.thresholds_, expected.thresholds_)
        last.partial_fit(X[:5], Y[:5]).retune()
        assert not last.thresholds_stale_
    trees = RandomForestPCT(5, random_state=0)
    model = fit_for_later(replace(Candidate("trees", None, "none", None), method_object=trees_spec(trees)), data, ranks)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AdviceWarning)
        expected = TunedThresholdsClassifierCV(trees, MicroFOptimum(), cv=[split_at(ranks)]).fit(X, Y)
    np.testing.assert_array_equal(model[-1].thresholds_, expected.thresholds_)
    assert fit_for_later(Candidate("brknn", 7, "none", "exact"), data, ranks).predict(X).shape == Y.shape
    assert fit_for_later(Candidate("brknn@0.3", 7, "none", "exact"), data, ranks).predict(X).shape == Y.shape
    cardinality = fit_for_later(Candidate("brknn@rcut:n_labels=2", 7, "none", "exact"), data, ranks)
    assert set(cardinality.predict(X).sum(axis=1)) == {2}


def test_the_estimate_is_of_rows_after_their_model():
    """Pooled over three origins; each model has seen what came before only."""
    X, Y, day = drifting()
    data, ranks = Dataset(X, Y, tuple("abcd"), tuple("xyz"), "drift"), ranks_of(day, len(day))
    candidate = Candidate("brknn@micro-f", 7, "minmax", "exact")
    truth, predicted = [], []
    for before, following in origins(ranks):
        known = Dataset(X[before], Y[before], tuple("abcd"), tuple("xyz"), "known")
        model = fit_for_later(candidate, known, ranks_of(day[before], len(before)))
        truth.append(Y[following])
        predicted.append(model.predict(X[following]))
    assert later_scores(candidate, data, ranks, MICRO, by_time=True)["micro_f1"] == micro_f1(
        np.vstack(truth), np.vstack(predicted)
    )
    assert later_scores(candidate, data, np.repeat([0, 1], 120), MICRO, by_time=False) == {}
    many = Candidate("brknn@micro-f", 142, "minmax", "exact")
    assert later_scores(many, data, ranks, MICRO, by_time=False) != {}
    assert later_scores(many, data, ranks, MICRO, by_time=True) == {}, "the models of earlier rows have too few"


def test_the_kind_of_columns_that_harms_is_named():
    """Numbers without meaning, but with a large range, mislead; without them later rows are predicted better."""
    X, Y, day = drifting(400)
    names, kinds = (*"abcd", "day", "place"), (*["number"] * 4, "date", "category")
    place = np.random.default_rng(0).choice(list("abcdefgh"), 400)
    dates = (np.datetime64("2026-01-01", "D") + day).astype(object)
    cells = np.column_stack([X.astype(object), dates, place.astype(object)])
    data = Dataset(cells, Y, names, tuple("xyz"), "drift", kinds)
    candidate = Candidate("brknn@micro-f", 7, "minmax", "exact")
    kind, gain = harmful_kind(candidate, data, ranks_of(day, len(day)), MICRO)
    assert kind == "category"
    assert gain > 0.01
    without = data.with_features(np.arange(5))
    assert harmful_kind(candidate, without, ranks_of(day, len(day)), MICRO) is None
    assert harmful_kind(candidate, data.with_features(np.arange(4)), ranks_of(day, len(day)), MICRO) is None


@pytest.mark.parametrize(
    "order",
    [
        ["2024-01-31", "2023-12-01 10:00", "2024-02-01T08:00"],
        ["2024-01", "2023", "2024-02"],
        ["2024-01-01T01:30+02:00", "2023-12-31T23:00Z", "2024-01-01T00:00"],
        [date(2024, 1, 31), date(2023, 12, 1), date(2024, 2, 1)],
        np.array(["2024-01-31", "2023-12-01", "2024-02-01"], dtype="datetime64[D]"),
        pd.Series(pd.to_datetime(["2024-01-31", "2023-12-01", "2024-02-01"])),
        [10, 9.5, 11],
    ],
    ids=["times", "months", "zones", "dates", "numpy", "pandas", "numbers"],
)
def test_orders(order):
    """Numbers and dates; texts are read as dates, not compared letter by letter."""
    assert ranks_of(order, 3).tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (["31.01.2024", "01.02.2024"], r"as text only dates like 2026-01-31, got '31.01.2024' in row 0. Hint: pandas"),
        (["2024-01-31", "pear"], "got 'pear' in row 1"),
        (["9", "10"], "got '9' in row 0"),
        (["2024-01-31", " "], "a value in each row, got 1 without, the first row 1"),
        ([date(2024, 1, 31), 3], "dates only or numbers only"),
    ],
)
def test_orders_that_are_none(order, message):
    """As text they would be sorted, and mean something else."""
    with pytest.raises(ValueError, match=message):
        ranks_of(order, 2)


def test_an_order_of_a_refused_fit_does_not_order_the_next():
    """Thresholds of a plain fit are those of all samples, whatever was tried before."""
    random = np.random.default_rng(0)
    rows, labels = random.normal(size=(80, 3)), random.integers(0, 2, size=(80, 4))
    labels[40:] = 1 - labels[40:]
    model = TunedThresholdsClassifierCV(MLkNN(3), cv="loo")
    with pytest.raises(ValueError, match="inconsistent numbers"):
        model._fit_in_order(rows, labels[:70], np.arange(80))
    plain = TunedThresholdsClassifierCV(MLkNN(3), cv="loo").fit(rows, labels)
    assert (model.fit(rows, labels).thresholds_ == plain.thresholds_).all()
    assert (model._fit_in_order(rows, labels, np.arange(80)).thresholds_ != plain.thresholds_).any()
