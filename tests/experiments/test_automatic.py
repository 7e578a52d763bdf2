"""What `NeighborsClassifierCV` chooses, as a candidate."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import Dataset
from nearlabel.experiments import MethodSpec, NeighborsChoice
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import hamming_loss
from nearlabel.selection import NeighborsClassifierCV, automatic
from nearlabel.thresholds import MicroFOptimum

FEW = {"n_neighbors": (1, 3, 5)}


def data_of(X, seed=0, **more):
    """Return a data set whose labels depend on the features."""
    rng = np.random.default_rng(seed)
    numbers = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
    signal = np.nan_to_num(numbers) @ rng.standard_normal((X.shape[1], 3))
    Y = (signal + 0.3 * rng.standard_normal(signal.shape) > np.median(signal, axis=0)).astype(int)
    names = tuple(f"x{column}" for column in range(X.shape[1]))
    return Dataset(X, Y, names, ("a", "b", "c"), "toy", **more)


def numbers(seed=0):
    """Return features of unlike ranges."""
    return np.random.default_rng(seed).standard_normal((60, 4)) * [1, 10, 100, 1000]


def words(seed=0):
    """Return counts of words, few of them in a text."""
    return sparse.csr_array(np.random.default_rng(seed).poisson(0.15, (60, 12)).astype(float))


@pytest.mark.long
@pytest.mark.parametrize("metric", ["micro_f1", "hamming_loss", "subset_accuracy", "ranking_loss", hamming_loss])
@pytest.mark.parametrize("features", [numbers, words])
def test_the_candidate_is_the_best_estimator(features, metric):
    """Fitted to the data it predicts as `NeighborsClassifierCV`, whose figures go with it."""
    data, queries = data_of(features()), features(1)
    chosen = NeighborsChoice(metric, **FEW).run(data)
    known = NeighborsClassifierCV(metric, **FEW).fit(data.X, data.Y)
    model = chosen.candidate.fit(data)
    np.testing.assert_array_equal(model.predict(queries), known.predict(queries))
    np.testing.assert_array_equal(model.predict_proba(queries), known.predict_proba(queries))
    assert chosen[1:4] == (known.best_score_, known.crossfit_score_, known.n_candidates_)
    if metric is not hamming_loss:  # whose name no specification knows
        assert MethodSpec.of(chosen.candidate.method).description == chosen.candidate.method_object.description


@pytest.mark.parametrize("method", ["brknn", "mlmlm"])
def test_options_narrow_the_choice(method):
    """One number of neighbours, scaling and distance; thresholds by name."""
    distance = {"brknn": "cosine", "mlmlm": "euclidean"}[method]
    options = {"n_neighbors": (4,), "scales": ("minmax",), "distances": (distance,), "thresholds": "macro-f:beta=2"}
    chosen = NeighborsChoice(**options).run(data_of(numbers()))
    assert chosen.n_candidates == {"brknn": 7, "mlmlm": 8}[method]
    candidate = chosen.candidate
    assert candidate.scale == "minmax"
    assert candidate.method.endswith("@macro-f:beta=2")
    if candidate.n_neighbors is None:
        assert (candidate.method, candidate.search) == ("mlmlm:scale=none@macro-f:beta=2", None)
    else:
        expected = {"brknn": "exact:metric=cosine", "mlmlm": "exact"}[method]
        assert (candidate.n_neighbors, candidate.search) == (4, expected)


@pytest.mark.long
def test_groups_missing_values_and_kinds_of_columns():
    """Groups are left out together; missing numbers are imputed, categories encoded, as the candidate does it."""
    X = numbers()
    groups = np.arange(60) // 2
    chosen = NeighborsChoice(**FEW).run(data_of(X, groups=groups))
    assert chosen.score == NeighborsClassifierCV(**FEW).fit(X, data_of(X).Y, groups).best_score_
    X[::7, 2] = np.nan
    data = data_of(X)
    with pytest.raises(ValueError, match="X of toy must be finite, got 9 missing"):
        NeighborsChoice(**FEW).run(data)
    chosen = NeighborsChoice(**FEW, impute="mean").run(data)
    assert chosen.candidate.impute == "mean"
    assert set(chosen.candidate.fit(data).predict(X).ravel()) == {0, 1}
    cells = np.empty((60, 3), dtype=object)
    cells[:, :2] = numbers()[:, :2]
    cells[:, 2] = np.resize(["red", "blue", "green"], 60)
    mixed = replace(data_of(numbers()[:, :3]), X=cells, feature_kinds=("number", "number", "category"))
    chosen = NeighborsChoice(**FEW).run(mixed)
    model = chosen.candidate.fit(mixed)
    assert chosen.candidate.scale in ("minmax", "standard")
    assert model[0].groups_ == {"numbers": [0, 1], "categories": [2]}
    coded = data_of(words(), feature_kinds=("category",) * 6 + ("number",) * 6)
    assert NeighborsChoice(**FEW).run(coded).candidate.scale != "tfidf"  # which weights words


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"metric": "micro"}, ValueError, "metric must be"),
        ({"n_neighbors": (0,)}, ValueError, "n_neighbors must be"),
        ({"n_neighbors": 3}, TypeError, "n_neighbors must be a tuple"),
        ({"scales": ("robust",)}, ValueError, "scale must be one of"),
        ({"thresholds": "0.5"}, ValueError, "thresholds must be tuned, by one of .*, got 0.5"),
        ({"thresholds": "half"}, ValueError, "thresholds must be"),
        ({"impute": "zero"}, ValueError, "impute must be"),
    ],
)
def test_bad_options(options, error, message):
    """They are told before any work."""
    with pytest.raises(error, match=message):
        NeighborsChoice(**options)


def test_only_what_can_be_updated(monkeypatch):
    """A method that cannot is left out; the others are tried as without the option."""
    data = data_of(numbers())
    monkeypatch.setattr(automatic, "way_to_update", lambda model: "no" if "MLMLM" in repr(model) else "yes")
    every = NeighborsChoice(**FEW).run(data)
    chosen = NeighborsChoice(**FEW, updatable=True).run(data)
    assert chosen.n_candidates < every.n_candidates
    best = NeighborsClassifierCV(**FEW, methods=[BRkNN(), MLkNN(), BRkNN(weights="distance")]).fit(data.X, data.Y)
    assert (chosen.score, chosen.crossfit_score) == (best.best_score_, best.crossfit_score_)
    monkeypatch.setattr(automatic, "way_to_update", lambda model: "yes")
    assert NeighborsChoice(**FEW, updatable=True).run(data)[1:5] == every[1:5]


@pytest.mark.parametrize(("features", "more"), [(numbers, ()), (words, ("svm",))])
def test_what_is_tried_is_known_before(features, more):
    """What would be tried are the candidates of the run, and the numbers of neighbours that the rows allow."""
    data = data_of(features())
    tried = NeighborsChoice(with_linear=True).tries(data)
    chooser = NeighborsClassifierCV("micro_f1").fit(data.X, data.Y)
    of_run = {name: set(values.tolist()) for name, values in chooser.cv_results_.items()}
    assert set(tried["methods"]) == {method.partition(":")[0] for method in of_run["method"]} | set(more)
    assert set(tried["n_neighbors"]) == of_run["n_neighbors"] - {0, 25}  # 25: of weights by similarity
    assert (set(tried["scales"]), set(tried["distances"])) == (of_run["scale"], of_run["metric"])
    assert tried["thresholds"] == ("micro-f",)


def test_what_is_tried_with_unknown_labels():
    """Only methods that accept them, no linear model; and what the run refuses is refused."""
    data = data_of(words())
    Y = data.Y.astype(float)
    Y[0, 0] = np.nan
    choice = NeighborsChoice(with_linear=True, scales=("minmax",), distances=("cosine",), n_neighbors=(3, 5))
    assert choice.tries(replace(data, Y=Y)) == {
        "methods": ("brknn", "mlknn"),
        "n_neighbors": (3, 5),
        "scales": ("minmax",),
        "distances": ("cosine",),
        "thresholds": ("micro-f",),
    }
    with pytest.raises(ValueError, match="order must go with labels that are all known"):
        choice.tries(replace(data, Y=Y), order=np.arange(60))
    with pytest.raises(ValueError, match="X of toy must be finite, got 1 missing"):
        NeighborsChoice().tries(data_of(np.where(numbers() == numbers()[0, 0], np.nan, numbers())))


def test_thresholds_of_a_user(toy):
    """A strategy under a name or under its own, with the result of the name of the library; one only."""
    named = NeighborsChoice(thresholds="micro-f").run(toy)
    for thresholds, name in (({"mine": MicroFOptimum()}, "mine"), (MicroFOptimum(), "MicroFOptimum()")):
        chosen = NeighborsChoice(thresholds=thresholds).run(toy)
        assert chosen.candidate.method == named.candidate.method.replace("micro-f", name)
        assert chosen.score == named.score
    with pytest.raises(ValueError, match=r"thresholds must be one strategy, got a, b\."):
        NeighborsChoice(thresholds={"a": MicroFOptimum(), "b": MicroFOptimum()})
