"""The estimator that chooses method, distance, number of neighbours and thresholds together."""

import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from conftest import CHECKS
from nearlabel import BRkNN, ExactNeighbors, FeatureScaler, MLkNN, NeighborsClassifierCV
from nearlabel.lazy import MLMLM, NLDD
from nearlabel.metrics import get_metric, hamming_loss, micro_f1, ranking_loss
from nearlabel.preprocessing import InformationGainSelector
from nearlabel.selection import _neighbors_classifier_cv, _trials
from nearlabel.selection._spaces import spaces_of
from nearlabel.selection._trials import MethodInSpace, Trials
from nearlabel.thresholds import MCut, MicroFOptimum, SCut, TunedThresholdsClassifierCV, strategy_for
from nearlabel.utils.validation import as_dense

QUICK = {"methods": {"mlknn": MLkNN(), "weighted": BRkNN(weights="distance")}, "n_neighbors": (1, 3, 5)}


def problem(n_samples=60, *, seed=0):
    """Return samples, four labels that depend on them, and queries."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_samples + 20, 4)) * [1, 10, 1, 1]
    Y = ((X @ random.normal(size=(4, 4)) / [1, 5, 1, 9]) + random.normal(size=(n_samples + 20, 4)) > 0.7).astype(int)
    return X[:n_samples], Y[:n_samples], X[n_samples:]


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    """The contract of a multi-label classifier."""
    check(NeighborsClassifierCV(**{**QUICK, "n_neighbors": (1, 3)}, scales=("none", "minmax"), metrics=("euclidean",)))


def test_every_candidate_is_what_single_fits_reach():
    """The value of each is that of the best thresholds on the leave-one-out scores of its own fit."""
    X, Y, _ = problem()
    model = NeighborsClassifierCV(**QUICK, scales=("none", "minmax"), metrics=("euclidean", "manhattan")).fit(X, Y)
    table = pd.DataFrame(model.cv_results_)
    assert len(table) == model.n_candidates_ == 2 * 2 * 2 * 3
    for row in table.itertuples():
        rows = FeatureScaler("minmax").fit_transform(X) if row.scale == "minmax" else X
        search = ExactNeighbors(metric=row.metric)
        method = QUICK["methods"][row.method]
        fitted = type(method)(**method.get_params()).set_params(n_neighbors=row.n_neighbors, search=search).fit(rows, Y)
        scores = fitted.loo_predict_proba()
        thresholds = MicroFOptimum().fit(scores, Y)
        assert row.score == micro_f1(Y, thresholds.predict(scores)) == thresholds.objective_
    assert model.best_score_ == table.score.max()
    assert sorted(table["rank"]) == list(range(1, len(table) + 1))


def test_the_best_is_fitted_with_its_thresholds():
    """It predicts as the tuned classifier of the same parameters, with one search more or without."""
    X, Y, queries = problem()
    model = NeighborsClassifierCV(**QUICK, scales=("minmax",), metrics=("cosine",)).fit(X, Y)
    best = QUICK["methods"][model.best_params_["method"]]
    search = ExactNeighbors(metric="cosine")
    same = type(best)(**best.get_params()).set_params(n_neighbors=model.best_params_["n_neighbors"], search=search)
    scaler = FeatureScaler("minmax", out_of_range="clip").fit(X)
    tuned = TunedThresholdsClassifierCV(same, cv="loo", map_scores=True).fit(scaler.transform(X), Y)
    np.testing.assert_array_equal(model.predict_proba(queries), tuned.predict_proba(scaler.transform(queries)))
    np.testing.assert_array_equal(model.predict(queries), tuned.predict(scaler.transform(queries)))


def test_a_selection_of_features_is_tried():
    """A transformer that needs the label sets gets them, in the choice and in the model."""
    X, Y, queries = problem()
    scales = {"all": None, "selected": InformationGainSelector(factor=0.5)}
    model = NeighborsClassifierCV(**QUICK, scales=scales, metrics=("euclidean",)).fit(X, Y)
    assert set(model.cv_results_["scale"]) == {"all", "selected"}
    table = pd.DataFrame(model.cv_results_).query("scale == 'selected' and method == 'mlknn' and n_neighbors == 3")
    rows = InformationGainSelector(factor=0.5).fit_transform(X, Y)
    scores = MLkNN(3).fit(rows, Y).loo_predict_proba()
    assert table.score.item() == micro_f1(Y, strategy_for("micro_f1").fit(scores, Y).predict(scores))
    assert model.predict(queries).shape == (20, 4)


def test_ties_go_to_the_simpler():
    """Of equal values the first method, then the first scale, then the larger number of neighbours."""
    X, Y = (
        np.repeat(np.eye(2), 20, axis=0) + np.arange(40)[:, np.newaxis] * 1e-6,
        np.repeat(np.eye(2, dtype=int), 20, axis=0),
    )
    methods = {"plain": BRkNN(), "weighted": BRkNN(weights="distance")}
    model = NeighborsClassifierCV(methods=methods, n_neighbors=(1, 3, 5), scales=("none", "minmax")).fit(X, Y)
    assert set(model.cv_results_["score"]) == {1.0}
    expected = {"method": "plain", "scale": "none", "metric": "euclidean", "n_neighbors": 5}
    assert model.best_params_ == expected


def test_another_candidate_never_lowers_the_value():
    """The best of more is at least as good."""
    X, Y, _ = problem()
    few = NeighborsClassifierCV(**QUICK, scales=("none",), metrics=("euclidean",)).fit(X, Y)
    more = NeighborsClassifierCV(**QUICK, scales=("none", "minmax"), metrics=("euclidean",)).fit(X, Y)
    assert more.best_score_ >= few.best_score_


@pytest.mark.parametrize("scoring", ["hamming_loss", "macro_f1", "f1_examples", "ranking_loss", hamming_loss])
def test_any_metric(scoring):
    """What is chosen is best by the metric on the leave-one-out scores; a metric of scores chooses no threshold."""
    X, Y, queries = problem()
    model = NeighborsClassifierCV(scoring, **QUICK).fit(X, Y)
    smaller = scoring in ("hamming_loss", "ranking_loss", hamming_loss)
    values = model.cv_results_["score"]
    assert model.best_score_ == (values.min() if smaller else values.max())
    if scoring == "ranking_loss":
        rows = FeatureScaler("minmax").fit_transform(X)
        table = pd.DataFrame(model.cv_results_).query(
            "scale == 'minmax' and metric == 'euclidean' and method == 'mlknn'"
        )
        expected = [ranking_loss(Y, MLkNN(k).fit(rows, Y).loo_predict_proba()) for k in (1, 3, 5)]
        np.testing.assert_allclose(table.score, expected)
    assert model.predict(queries).shape == (20, 4)


def test_strategies_of_metrics():
    """Each metric has the strategy that is made for it; a rule that is no threshold works, too."""
    assert [type(strategy_for(name)).__name__ for name in ("micro_f1", "macro_f1", "subset_accuracy", "one_error")] == [
        "MicroFOptimum", "SCut", "CyclicAscent", "MicroFOptimum",
    ]  # fmt: skip
    assert strategy_for("hamming_loss").metric == "hamming_loss"
    assert isinstance(strategy_for("macro_recall"), SCut)
    X, Y, queries = problem()
    model = NeighborsClassifierCV(**QUICK, strategy=MCut()).fit(X, Y)
    *steps, decides = model.best_estimator_
    scores = decides.estimator_.predict_proba(make_pipeline(*steps).transform(queries))
    np.testing.assert_array_equal(model.predict(queries), MCut().fit(scores, np.zeros_like(Y[:20])).predict(scores))
    np.testing.assert_array_equal(model.predict_proba(queries), decides.mapped(scores))


@pytest.mark.long
def test_nested_is_the_choice_repeated():
    """Each fold is predicted by a choice that has not seen its samples or labels."""
    X, Y, _ = problem()
    model = NeighborsClassifierCV(**QUICK, nested=3).fit(X, Y)
    predicted = np.empty_like(Y)
    for others, part in KFold(3, shuffle=True, random_state=0).split(X):
        predicted[part] = NeighborsClassifierCV(**QUICK).fit(X[others], Y[others]).predict(X[part])
    assert model.nested_score_ == micro_f1(Y, predicted)
    assert not hasattr(model.set_params(nested=None).fit(X, Y), "nested_score_")


def test_crossfit_with_one_candidate_is_that_of_its_thresholds():
    """Each part is decided by thresholds that are tuned on the scores of the others."""
    X, Y, _ = problem()
    only = NeighborsClassifierCV(methods=[MLkNN()], n_neighbors=[5], scales=["none"], metrics=["euclidean"]).fit(X, Y)
    scores = MLkNN(5).fit(X, Y).loo_predict_proba()
    predicted = np.empty_like(Y)
    for others, part in KFold(5, shuffle=True, random_state=0).split(X):
        predicted[part] = MicroFOptimum().fit(scores[others], Y[others]).predict(scores[part])
    assert only.crossfit_score_ == micro_f1(Y, predicted)
    assert np.isnan(NeighborsClassifierCV(methods=[BRkNN()], n_neighbors=[1]).fit(X[:4], Y[:4]).crossfit_score_)


@pytest.mark.long
def test_groups_are_left_out_together():
    """Doubled samples do not answer for each other."""
    X, Y, _ = problem()
    double, groups = (np.vstack([X, X]), np.vstack([Y, Y])), np.tile(np.arange(60), 2)
    assert NeighborsClassifierCV(**QUICK).fit(*double).best_score_ == 1.0
    model = NeighborsClassifierCV(**QUICK, nested=3).fit(*double, groups=groups)
    assert model.best_score_ < 0.95
    assert model.nested_score_ < 0.9
    assert np.isfinite(model.crossfit_score_)
    sampled = NeighborsClassifierCV(**QUICK, max_samples=50).fit(*double, groups=groups)
    assert sampled.best_score_ < 0.95


def test_a_sample_chooses_and_all_tune():
    """Beyond max_samples the choice sees some; thresholds are those of all."""
    X, Y, queries = problem()
    model = NeighborsClassifierCV(**QUICK, max_samples=30, scales=("none",), metrics=("euclidean",)).fit(X, Y)
    best = QUICK["methods"][model.best_params_["method"]]
    same = type(best)(**best.get_params()).set_params(n_neighbors=model.best_params_["n_neighbors"])
    tuned = TunedThresholdsClassifierCV(same, cv="loo").fit(X, Y)
    bounded = FeatureScaler(out_of_range="clip").fit(X).transform(queries)
    np.testing.assert_array_equal(model.predict(queries), tuned.predict(bounded))
    again = NeighborsClassifierCV(**QUICK, max_samples=30, scales=("none",), metrics=("euclidean",)).fit(X, Y)
    np.testing.assert_array_equal(again.cv_results_["score"], model.cv_results_["score"])


def many_tags(n_samples=1_200, n_labels=1_100):
    """Return clustered samples with few of many tags each, as CSR."""
    random = np.random.default_rng(0)
    cluster = random.integers(0, 60, n_samples)
    X = random.normal(size=(60, 5))[cluster] + random.normal(size=(n_samples, 5)) * 0.3
    tags = np.column_stack([cluster, cluster + 100, random.integers(200, n_labels, n_samples)])
    Y = np.zeros((n_samples, n_labels), dtype=int)
    np.put_along_axis(Y, tags, 1, axis=1)
    return X, Y


def test_two_rounds(monkeypatch):
    """All are tried on some samples, the best of them on all; the last round counts, and what it reports is right."""
    monkeypatch.setattr(_neighbors_classifier_cv, "_LEAST_SAMPLES", 30)
    monkeypatch.setattr(_neighbors_classifier_cv, "_FIRST_SAMPLES", 30)
    X, Y, _ = problem(90)
    model = NeighborsClassifierCV(**QUICK, scales=("none", "minmax"), metrics=("euclidean",)).fit(X, Y)
    table = pd.DataFrame(model.cv_results_)
    first, second = (table[table.n_samples == n] for n in (30, 90))
    assert len(first) == 2 * 2 * 3
    assert 0 < len(second) < len(table)
    assert second["rank"].max() < first["rank"].min()
    assert sorted(table["rank"]) == list(range(1, len(table) + 1))
    columns = ["method", "scale", "metric", "n_neighbors"]
    assert model.n_candidates_ == len(table.drop_duplicates(columns))
    best = second.sort_values("rank").iloc[0]
    assert best[columns].to_dict() == model.best_params_
    one_round = NeighborsClassifierCV(
        methods={best.method: QUICK["methods"][best.method]},
        n_neighbors=[best.n_neighbors],
        scales=[best.scale],
        metrics=[best.metric],
    ).fit(X, Y)
    assert one_round.best_score_ == model.best_score_ == best.score
    large = NeighborsClassifierCV(**{**QUICK, "n_neighbors": (1, 20)}).fit(X, Y)
    assert set(large.cv_results_["n_samples"]) == {90}, "20 neighbours are too many for 30 samples"


@pytest.mark.parametrize("scoring", ["micro_f1", "macro_f1", "hamming_loss", "subset_accuracy", "ranking_loss"])
def test_many_tags_are_the_same_however_stored(scoring, monkeypatch):
    """What is chosen from the few scores of votes is what is chosen from all of them."""
    X, Y = many_tags()
    quick = {**QUICK, "n_neighbors": (3, 10), "scales": ("none",), "metrics": ("euclidean",), "max_samples": 500}
    one, other = (NeighborsClassifierCV(scoring, **quick).fit(X, of(Y)) for of in (np.asarray, sparse.csr_array))
    monkeypatch.setattr(_trials, "_MANY_CELLS", np.inf)
    dense = NeighborsClassifierCV(scoring, **quick).fit(X, Y)
    for model in (one, other):
        assert model.best_params_ == dense.best_params_
        np.testing.assert_array_equal(model.cv_results_["score"], dense.cv_results_["score"])
        assert model.crossfit_score_ == dense.crossfit_score_
        np.testing.assert_array_equal(as_dense(model.predict(X[:50])), dense.predict(X[:50]))


def test_votes_win_within_noise():
    """ML-MLM is chosen only if it is better by more than 0.0005."""
    X, Y, _ = problem()
    trials = Trials(Y, get_metric("micro_f1"), MicroFOptimum())
    scores = np.random.default_rng(0).random(Y.shape)
    space = spaces_of(X)[0]
    for handicap, wins in ((0.002, "votes"), (-0.002, "other")):
        other = MethodInSpace("other", BRkNN(), space, (1, 0), handicap)
        trials.offer(MethodInSpace("votes", BRkNN(), space, (2, 0)), 3, None, scores)
        trials.offer(other, 3, None, scores)
        assert trials.best.tried.name == wins


@pytest.mark.long
def test_time_limit():
    """The first method is always tried; what is left out is told."""
    X, Y, _ = problem()

    class Slow(BRkNN):
        def fit(self, X, y):
            time.sleep(0.2)
            return super().fit(X, y)

    methods = {"first": Slow(), "second": BRkNN()}
    model = NeighborsClassifierCV(methods=methods, n_neighbors=[3], time_limit=0.1).fit(X, Y)
    assert model.timed_out_
    assert set(model.cv_results_["method"]) == {"first"}
    assert not NeighborsClassifierCV(**QUICK, time_limit=1000).fit(X, Y).timed_out_


def test_mixed_columns_and_tags():
    """A frame of numbers, holes, categories and texts needs no preparation; explanations speak of tags."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"width": random.random(60), "colour": random.choice(["red", "blue"], 60), "n": range(60)})
    frame.loc[3, "width"] = np.nan
    tags = [["warm"] if colour == "red" else ["cold", "calm"] for colour in frame.colour]
    model = NeighborsClassifierCV(n_neighbors=(3, 5)).fit(frame, tags)
    assert model.predict_labels(frame[:2]) == [tuple(sorted(tags[0])), tuple(sorted(tags[1]))]
    assert model.explain(frame[:1])[0].predicted == sorted(tags[0])
    assert model.n_features_in_ == 3
    assert model.best_params_["method"] in ("brknn", "mlknn", "brknn:weights=distance", "mlmlm")
    numbers = frame[["width", "n"]].to_numpy()
    assert NeighborsClassifierCV(**QUICK).fit(numbers, tags).score(numbers, tags) >= 0


def test_spaces():
    """They depend on what X holds, not on its storage."""
    counts = np.random.default_rng(0).poisson(0.1, size=(30, 20))
    words = [("minmax", "euclidean"), ("minmax", "cosine"), ("tfidf", "cosine")]
    numbers = [("minmax", "euclidean"), ("standard", "euclidean"), ("minmax", "manhattan")]
    for X, expected in ((counts, words), (counts - 1.0, numbers), (counts + 1.0, numbers)):
        for container in (np.asarray, sparse.csr_array):
            assert [(space.scale, space.metric) for space in spaces_of(container(X))] == expected
    wide = np.lib.stride_tricks.as_strided(np.ones(1), (10**5, 300), (0, 0))
    assert [space.metric for space in spaces_of(wide)] == ["euclidean", "euclidean"]
    given = spaces_of(counts, ("none", "minmax"), ("manhattan",))
    assert [(space.scale, space.metric) for space in given] == [("none", "manhattan"), ("minmax", "manhattan")]
    known = spaces_of(counts, ("standard", "tfidf"))
    assert [space.metric for space in known if space.scale == "tfidf"] == ["cosine"]
    assert [space.metric for space in known if space.scale == "standard"] == ["euclidean", "cosine"]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"methods": [NLDD()]}, TypeError, "methods must have leave-one-out predictions"),
        ({"methods": "all"}, ValueError, "methods must be 'auto' or a list, got 'all'"),
        ({"n_neighbors": 5}, ValueError, "n_neighbors must be 'auto' or a list, got 5"),
        ({"metrics": ()}, ValueError, "metrics must name at least one"),
        ({"scales": ("robust",)}, ValueError, "scale must be"),
        ({"n_neighbors": (0,)}, ValueError, "n_neighbors must be at least 1"),
        ({"scoring": "speed"}, ValueError, "speed"),
        ({"time_limit": -1}, ValueError, "time_limit must be"),
        ({"nested": 1}, ValueError, "nested must be at least 2"),
        ({"strategy": 0.5}, TypeError, "strategy must be a ThresholdStrategy"),
    ],
)
def test_bad_parameters(parameters, error, message):
    """The message names the parameter."""
    X, Y, _ = problem()
    with pytest.raises(error, match=message):
        NeighborsClassifierCV(**parameters).fit(X, Y)


def test_ml_mlm_gets_the_metric():
    """A method without a search is asked once for each scaling and metric."""
    X, Y, _ = problem()
    model = NeighborsClassifierCV(methods=[MLMLM(4.0, scale="none")], metrics=("euclidean", "cosine"), scales=("none",))
    table = model.fit(X, Y).cv_results_
    assert table["n_neighbors"].tolist() == [0, 0]
    for metric, score in zip(table["metric"], table["score"], strict=True):
        scores = MLMLM(4.0, scale="none", metric=metric).fit(X, Y).loo_predict_proba()
        assert score == MicroFOptimum().fit(scores, Y).objective_


def test_a_method_without_search_is_fitted_once():
    """Its fit may cost more than all searches; the one that the choice was made by is kept."""
    X, Y, queries = problem()
    fitted = []

    class Counted(MLMLM):
        def fit(self, X, y):
            fitted.append(len(y))
            return super().fit(X, y)

    model = NeighborsClassifierCV(methods={"mlmlm": Counted()}, scales=("minmax",), metrics=("euclidean",)).fit(X, Y)
    assert fitted == [60]
    rows = FeatureScaler("minmax", out_of_range="clip").fit(X)
    expected = TunedThresholdsClassifierCV(MLMLM(), cv="loo", map_scores=True).fit(rows.transform(X), Y)
    np.testing.assert_array_equal(model.predict_proba(queries), expected.predict_proba(rows.transform(queries)))
    np.testing.assert_array_equal(model.predict(queries), expected.predict(rows.transform(queries)))
