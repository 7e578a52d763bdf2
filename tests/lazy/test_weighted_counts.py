"""Weights of training rows in ML-kNN, DML-kNN and CML-kNN: a row of weight w counts w times, and its vote weighs w."""

from fractions import Fraction
from math import floor

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils.validation import has_fit_parameter

from _pairs import every_pair
from conftest import CONTAINERS
from nearlabel.lazy import BRkNN, CMLkNN, DMLkNN, MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.neighbors import ExactNeighbors
from nearlabel.persistence import load_model, save_model
from nearlabel.thresholds import CalibratedLabels, MicroFOptimum, TunedThresholdsClassifierCV
from nearlabel.utils.validation import as_dense

N, N_LABELS = 40, 5
SIMILARITY = np.maximum(np.random.default_rng(1).random((N_LABELS, N_LABELS)) * 0.4, np.eye(N_LABELS))
MODELS = {
    "mlknn": MLkNN(4),
    "by distance": MLkNN(5, weights="distance", smoothing=0.3),
    "dmlknn": DMLkNN(4, delta=1),
    "dmlknn by distance": DMLkNN(5, delta=2, weights="distance", cells="labels"),
    "cmlknn": CMLkNN(4, similarity=SIMILARITY),
    "cmlknn mean": CMLkNN(3, similarity=SIMILARITY, membership="mean"),
}
WEIGHTS = {
    "whole": np.random.default_rng(2).integers(1, 4, N).astype(float),
    "fractional": np.random.default_rng(3).random(N) * 3 + 0.01,
    "uneven": 10.0 ** np.random.default_rng(4).integers(-6, 5, N),
}
GRID = {"mlknn": 2**32, "dmlknn": 2**32, "cmlknn": 2**40}  # a weight is a multiple of the inverse


def make(seed=0):
    """Rows with ties and duplicates; frequent, rare and constant labels; queries."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (N, 3)).astype(float)
    return X, (rng.random((N, N_LABELS)) < [0.5, 0.3, 0.1, 0.02, 1]).astype(int), rng.integers(0, 4, (9, 3)) + 0.25


X, Y, QUERIES = make()


def on_grid(value, one):
    """The nearest multiple of 1 / one, of a float."""
    return Fraction(int(np.rint(value * one)), one)


def memberships(model):
    """How far each row has each label: as fractions, on the grid of CML-kNN's similarities."""
    if not isinstance(model, CMLkNN):
        return [[Fraction(int(cell)) for cell in row] for row in Y]
    support = [
        [sum(on_grid(SIMILARITY[of, label], 2**40) for of in np.flatnonzero(row)) for label in range(N_LABELS)]
        for row in Y
    ]
    if model.membership == "clip":
        return [[min(Fraction(1), cell) for cell in row] for row in support]
    sizes = np.maximum(Y.sum(axis=1), 1).tolist()
    return [
        [Fraction(floor(c * 2**40 / n + Fraction(1, 2)), 2**40) for c in row]
        for row, n in zip(support, sizes, strict=True)
    ]


def posteriors(model, w, queries):
    """The formulas of the docstrings in fractions, for each query and label."""
    k, s, one = model.n_neighbors, Fraction(model.smoothing), GRID[type(model).__name__.lower()]
    degree, search, by_distance = memberships(model), ExactNeighbors().fit(X), model.weights == "distance"
    counted = [on_grid(weight, one) for weight in w]

    def votes(distances, indices):
        own = [Fraction(w[i]) for i in indices]
        if by_distance:
            near = min(distances)
            own = [
                v * (Fraction(float(d == 0)) if near == 0 else Fraction(near / d))
                for v, d in zip(own, distances, strict=True)
            ]
        shares = [
            sum(v * degree[i][label] for v, i in zip(own, indices, strict=True)) / sum(own) for label in range(N_LABELS)
        ]
        return [floor(k * share + Fraction(1, 2) + Fraction(1, 10**9)) for share in shares]

    def near(mine, theirs):
        return not isinstance(model, DMLkNN) or all(
            abs(a - b) <= model.delta for a, b in zip(mine, theirs, strict=True)
        )

    own = [votes(*one) for one in zip(*(a.tolist() for a in search.kneighbors(n_neighbors=k)), strict=True)]
    cells = N_LABELS if getattr(model, "cells", "counts") == "labels" else k + 1
    for one_query in zip(*(a.tolist() for a in search.kneighbors(queries, k)), strict=True):
        at, scores = votes(*one_query), []
        for label in range(N_LABELS):
            units = [Fraction(int(np.rint(w[i] * float(degree[i][label] * one))), one) for i in range(N)]
            rows = [i for i in range(N) if own[i][label] == at[label] and near(own[i], at)]
            n, n1 = sum(counted), sum(units)
            yes = (s + n1) / (2 * s + n) * (s + sum(units[i] for i in rows)) / (s * cells + n1)
            no = (s + n - n1) / (2 * s + n) * (s + sum(counted[i] - units[i] for i in rows)) / (s * cells + n - n1)
            scores.append(yes / (yes + no))
        yield scores


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("model", MODELS)
def test_equals_fractions(model, weights):
    """Scores to 1e-12, and label sets exactly, are those of the formulas in fractions."""
    model, w = clone(MODELS[model]), WEIGHTS[weights]
    model.fit(X, Y, sample_weight=w)
    expected = list(posteriors(model, w, QUERIES))
    np.testing.assert_allclose(model.predict_proba(QUERIES), np.array(expected, dtype=float), rtol=1e-12, atol=0)
    half = Fraction(1, 2)
    chosen = [[p > half if isinstance(model, CMLkNN) else p >= half for p in row] for row in expected]
    np.testing.assert_array_equal(model.predict(QUERIES), chosen)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("model", MODELS)
def test_weights_of_one_change_no_bit(model, container):
    """They are as no weights, in all that is learnt, predicted and left out."""
    y, groups = CONTAINERS[container](Y), np.arange(N) // 3
    plain, weighted = clone(MODELS[model]).fit(X, y), clone(MODELS[model]).fit(X, y, sample_weight=np.ones(N))
    for of in (
        lambda m: m.predict_proba(QUERIES),
        lambda m: m.loo_predict_proba(),
        lambda m: m.loo_predict_proba(groups),
    ):
        np.testing.assert_array_equal(of(weighted), of(plain))
    np.testing.assert_array_equal(as_dense(weighted.predict(QUERIES)), as_dense(plain.predict(QUERIES)))
    np.testing.assert_array_equal(weighted.prior_, plain.prior_)


def refits(model, y, w, groups):
    """Scores and label sets of each row by a fit to the rows of all other groups, with their weights."""
    scores, labels = np.empty(Y.shape), np.empty(Y.shape)
    for group in np.unique(groups):
        held = groups == group
        fitted = clone(model).fit(X[~held], y[~held], sample_weight=w[~held])
        scores[held], labels[held] = fitted.predict_proba(X[held]), as_dense(fitted.predict(X[held]))
    return scores, labels


@pytest.mark.pairs
@pytest.mark.parametrize(
    ("model", "weights", "container", "groups"),
    every_pair(MODELS, WEIGHTS, ["dense", "csr_array"], ["single", "threes", "uneven"]),
)
def test_leaving_out_equals_refits(model, weights, container, groups):
    """To the last bit: each row, or group, weighs as much as it counted, and votes no more."""
    model, w, y = clone(MODELS[model]), WEIGHTS[weights], CONTAINERS[container](Y)
    names = {"single": np.arange(N), "threes": np.arange(N) // 3, "uneven": np.random.default_rng(0).integers(0, 9, N)}
    model.fit(X, y, sample_weight=w)
    scores, labels = refits(model, y, w, names[groups])
    given = None if groups == "single" else names[groups]
    np.testing.assert_array_equal(model.loo_predict_proba(given), scores)
    np.testing.assert_array_equal(as_dense(model.loo_predict(given)), labels)


@pytest.mark.parametrize("model", ["mlknn", "cmlknn"])
def test_whole_weights_count_as_repeated_rows(model):
    """The priors are those of repeated rows, to the bit. Votes are not: a row takes one place among k neighbours."""
    model, w = clone(MODELS[model]), WEIGHTS["whole"].astype(int)
    weighted = clone(model).fit(X, Y, sample_weight=w)
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(Y, w, axis=0))
    np.testing.assert_array_equal(weighted.prior_, repeated.prior_)
    assert (weighted.predict_proba(QUERIES) != repeated.predict_proba(QUERIES)).any()


def test_tables_count_weights():
    """c[j] is the weight of the rows with j votes; rows of equal votes are counted as repeated ones."""
    rows, y = [[0.0], [1.0], [10.0], [11.0]], [[1], [1], [0], [1]]
    model = MLkNN(1).fit(rows, y, sample_weight=[2, 3, 5, 0.5])
    # Votes of the nearest other row: 1, 1, 1, 0; with the label 2 + 3 at one vote, 0.5 at none; without it 5 at one.
    assert model.likelihood_.tolist() == [[[1 / 7, 6 / 7]], [[1.5 / 7.5, 6 / 7.5]]]
    assert model.prior_.tolist() == [6.5 / 12.5]


def test_a_neighbour_has_as_many_votes_as_its_weight():
    """Three neighbours of weight 1 weigh as much as one of weight 3: a tie, exactly, also of tiny and huge weights."""
    rows, y = [[0.0], [1.0], [2.0], [3.0], [90.0]], [[1], [1], [1], [0], [0]]
    for unit in (1.0, 0.5, 2.0**-1000, 2.0**1022):
        w = np.array([1, 1, 1, 3, 1]) * unit
        assert BRkNN(4).fit(rows, y, sample_weight=w).predict_proba([[1.4]]).tolist() == [[0.5]]
    model = MLkNN(4).fit(rows, y, sample_weight=[1, 1, 1, 3, 1])
    assert model.predict_proba([[1.4]])[0, 0] == model.posterior_[0, 2]


@pytest.mark.parametrize("model", MODELS)
def test_scale(model):
    """Weights and smoothing times a power of two give the same bits, but for rounded memberships; weights alone not."""
    w, base = WEIGHTS["whole"], MODELS[model]
    plain = clone(base).fit(X, Y, sample_weight=w).predict_proba(QUERIES)
    for factor in (0.25, 8.0):
        scaled = clone(base).set_params(smoothing=base.smoothing * factor).fit(X, Y, sample_weight=factor * w)
        rtol = 1e-11 if isinstance(base, CMLkNN) and factor < 1 else 0
        np.testing.assert_allclose(scaled.predict_proba(QUERIES), plain, rtol=rtol, atol=0)
    assert (clone(base).fit(X, Y, sample_weight=8 * w).predict_proba(QUERIES) != plain).any()


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("model", MODELS)
def test_rows_of_weight_0_are_absent(model, container):
    """They count nowhere, are no neighbours, and have no leave-one-out prediction."""
    w, y = WEIGHTS["fractional"] * (np.arange(N) % 3 > 0), CONTAINERS[container](Y)
    model, kept = MODELS[model], np.flatnonzero(w)
    weighted, rest = clone(model).fit(X, y, sample_weight=w), clone(model).fit(X[kept], y[kept], sample_weight=w[kept])
    np.testing.assert_array_equal(weighted.predict_proba(QUERIES), rest.predict_proba(QUERIES))
    np.testing.assert_array_equal(weighted.loo_predict_proba(), rest.loo_predict_proba())
    assert len(weighted.loo_predict_proba()) == len(kept)


@pytest.mark.parametrize("model", ["mlknn", "dmlknn", "cmlknn"])
def test_the_choice_of_k(model):
    """Each number is judged by its leave-one-out predictions with weights; what is fitted is the fit with the best."""
    w, model = WEIGHTS["fractional"], clone(MODELS[model])
    chosen = clone(model).set_params(n_neighbors="auto").fit(X, Y, sample_weight=w)
    for k, value in zip(*(chosen.cv_results_[name][::5] for name in ("n_neighbors", "micro_f1")), strict=True):
        single = clone(model).set_params(n_neighbors=int(k)).fit(X, Y, sample_weight=w)
        assert value == micro_f1(Y, single.loo_predict())
    best = clone(model).set_params(n_neighbors=chosen.n_neighbors_).fit(X, Y, sample_weight=w)
    np.testing.assert_array_equal(chosen.predict_proba(QUERIES), best.predict_proba(QUERIES))


def test_the_choice_of_delta():
    """As of a number of neighbours."""
    w = WEIGHTS["fractional"]
    chosen = DMLkNN(3, delta="auto").fit(X, Y, sample_weight=w)
    single = [DMLkNN(3, delta=delta).fit(X, Y, sample_weight=w) for delta in range(4)]
    assert chosen.delta_scores_.tolist() == [micro_f1(Y, one.loo_predict()) for one in single]
    np.testing.assert_array_equal(chosen.predict_proba(QUERIES), single[chosen.delta_].predict_proba(QUERIES))


@pytest.mark.parametrize("container", ["dense", "csr_array"])
@pytest.mark.parametrize("model", [*MODELS, "cmlknn learnt"])
def test_updates_equal_fits(model, container):
    """Weighted samples beside unweighted ones, more weighted ones, none, then fewer: each time the bits of a fit."""
    base = CMLkNN(4) if model == "cmlknn learnt" else MODELS[model]
    y, w = CONTAINERS[container](Y), np.where(np.arange(N) < 20, 1.0, WEIGHTS["uneven"])
    updated = clone(base).fit(X[:20], y[:20])

    def check(rows):
        fitted = clone(base).fit(X[rows], y[rows], sample_weight=w[rows])
        np.testing.assert_array_equal(updated.predict_proba(QUERIES), fitted.predict_proba(QUERIES))
        np.testing.assert_array_equal(updated.loo_predict_proba(), fitted.loo_predict_proba())
        np.testing.assert_array_equal(updated._counts, fitted._counts)

    updated.partial_fit(X[20:22], y[20:22], sample_weight=w[20:22])
    check(np.arange(22))
    for row in range(22, 30):
        updated.partial_fit(X[[row]], y[[row]], sample_weight=w[[row]])
    check(np.arange(30))
    w[30:] = 1
    updated.partial_fit(X[30:], y[30:])
    check(np.arange(N))
    updated.forget([0, 21, 35])
    check(np.delete(np.arange(N), [0, 21, 35]))


def test_few_samples_are_added_to_many():
    """So that the tables change by few rows: the first weighted sample, another one with a new label, and one less."""
    rng = np.random.default_rng(0)
    rows, y, w = rng.normal(size=(400, 3)), (rng.random((400, 3)) < 0.3).astype(int), np.ones(400)
    y[:399, 2], y[399, 2], w[398:] = 0, 1, [2.5, 0.3]
    updated = MLkNN(3).fit(rows[:398], y[:398, :2])
    updated.partial_fit(rows[[398]], y[[398], :2], sample_weight=w[[398]])
    np.testing.assert_array_equal(updated._counts, MLkNN(3).fit(rows[:399], y[:399, :2], w[:399])._counts)
    updated.partial_fit(rows[[399]], y[[399]], sample_weight=w[[399]])
    np.testing.assert_array_equal(updated._counts, MLkNN(3).fit(rows, y, w)._counts)
    updated.forget([398])
    kept = np.delete(np.arange(400), 398)
    np.testing.assert_array_equal(updated._counts, MLkNN(3).fit(rows[kept], y[kept], w[kept])._counts)
    fitted = MLkNN(3).fit(rows[kept], y[kept], w[kept])
    np.testing.assert_array_equal(updated.loo_predict_proba(), fitted.loo_predict_proba())


def test_new_labels_of_weighted_samples():
    """No earlier sample has them, and all count with their weights."""
    w, wide = WEIGHTS["fractional"], np.column_stack([Y, np.arange(N) >= 35])
    updated = MLkNN(4).fit(X[:35], Y[:35], sample_weight=w[:35]).partial_fit(X[35:], wide[35:], sample_weight=w[35:])
    fitted = MLkNN(4).fit(X, wide, sample_weight=w)
    np.testing.assert_array_equal(updated._counts, fitted._counts)
    np.testing.assert_array_equal(updated.loo_predict_proba(), fitted.loo_predict_proba())


@pytest.mark.parametrize("container", ["dense", "csr_array"])
def test_unknown_cells(container):
    """A label is learnt from the rows that know it, with their weights; left out, from the others of them."""
    w, rng = WEIGHTS["fractional"], np.random.default_rng(0)
    y = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)
    model = MLkNN(3).fit(X, CONTAINERS[container](y), sample_weight=w)
    scores, left_out = model.predict_proba(QUERIES), model.loo_predict_proba()
    for label in range(N_LABELS):
        known = np.flatnonzero(~np.isnan(y[:, label]))
        alone = MLkNN(3).fit(X[known], y[known][:, [label]], sample_weight=w[known])
        np.testing.assert_array_equal(scores[:, [label]], alone.predict_proba(QUERIES))
        np.testing.assert_array_equal(left_out[known, label], alone.loo_predict_proba()[:, 0])


@pytest.mark.parametrize("model", MODELS)
def test_saved_models(model, tmp_path):
    """A file has the weights: predictions and updates are those of the model."""
    fitted = clone(MODELS[model]).fit(X, Y, sample_weight=WEIGHTS["fractional"])
    save_model(fitted, tmp_path / "model.nearlabel")
    loaded = load_model(tmp_path / "model.nearlabel")
    np.testing.assert_array_equal(loaded.loo_predict_proba(), fitted.loo_predict_proba())
    loaded.partial_fit(X[:3], Y[:3], sample_weight=[2, 3, 4])
    fitted.partial_fit(X[:3], Y[:3], sample_weight=[2, 3, 4])
    np.testing.assert_array_equal(loaded.predict_proba(QUERIES), fitted.predict_proba(QUERIES))


@pytest.mark.parametrize("model", MODELS)
def test_explanations(model):
    """Counts are weights; the votes, and the score from what is shown."""
    w = WEIGHTS["whole"]
    model = clone(MODELS[model]).fit(X, Y, sample_weight=w)
    s, k, cells = model.smoothing, model.n_neighbors, 5 if getattr(model, "cells", "") == "labels" else None
    for one in model.explain(QUERIES[:3]):
        for row in one.to_dict()["labels"]:
            if not isinstance(model, DMLkNN):
                n1, n0 = sum(row["with_at"]), sum(row["without_at"])
                assert n1 + n0 == pytest.approx(w.sum())
                assert row["prior"] == pytest.approx((s + n1) / (2 * s + w.sum()))
                assert np.isclose(row["likelihood"], (s + np.array(row["with_at"])) / (s * (k + 1) + n1), atol=0).any()
            else:
                n1 = w @ Y[:, row["label"]]
                expected = (s + row["with_in_box"]) / (s * (cells or k + 1) + n1)
                assert row["likelihood"] == pytest.approx(expected)
        if isinstance(model, CMLkNN):
            assert "weighted mean of memberships" in str(one)
        else:
            assert "k · weight / total_weight, rounded" in str(one)
            assert one.settings["total_weight"] == one.neighbors["weight"].sum()
    if model.weights == "uniform" and not isinstance(model, CMLkNN):
        np.testing.assert_array_equal(one.neighbors["weight"], w[one.neighbors["row"]])


def test_many_sparse_labels():
    """Of CSR label sets each weight has its own scores of labels without a vote; all are those of dense ones."""
    rng = np.random.default_rng(0)
    y, w = sparse.csr_array((rng.random((N, 900)) < 0.004).astype(int)), WEIGHTS["whole"]
    thin, full = MLkNN(3).fit(X, y, sample_weight=w), MLkNN(3).fit(X, y.toarray(), sample_weight=w)
    np.testing.assert_array_equal(thin.loo_predict_proba(), full.loo_predict_proba())
    np.testing.assert_array_equal(thin.loo_predict().toarray(), full.loo_predict())
    np.testing.assert_array_equal(thin.predict_proba(QUERIES), full.predict_proba(QUERIES))


def test_in_scikit_learn():
    """A pipeline's step gets them; with routing a cross-validation passes each fold its part, and tuned thresholds."""
    w = WEIGHTS["fractional"]
    direct = MLkNN(3).fit(MinMaxScaler().fit_transform(X), Y, sample_weight=w)
    piped = make_pipeline(MinMaxScaler(), MLkNN(3)).fit(X, Y, mlknn__sample_weight=w)
    scaled = piped[0].transform(QUERIES)
    np.testing.assert_array_equal(piped.predict_proba(QUERIES), direct.predict_proba(scaled))
    assert all(has_fit_parameter(method, "sample_weight") for method in (MLkNN(), DMLkNN(), CMLkNN()))
    with sklearn.config_context(enable_metadata_routing=True):
        asks = MLkNN(3).set_fit_request(sample_weight=True)
        asks.set_score_request(sample_weight=True)
        folds = cross_validate(asks, X, Y, params={"sample_weight": w}, cv=KFold(3), return_estimator=True)
        for fitted, (rows, _) in zip(folds["estimator"], KFold(3).split(X), strict=True):
            expected = MLkNN(3).fit(X[rows], Y[rows], sample_weight=w[rows]).predict_proba(QUERIES)
            np.testing.assert_array_equal(fitted.predict_proba(QUERIES), expected)
        optimum = MicroFOptimum().set_fit_request(sample_weight=True)
        tuned = TunedThresholdsClassifierCV(asks, strategy=optimum, cv="loo").fit(X, Y, sample_weight=w)
        weighted = MLkNN(3).fit(X, Y, sample_weight=w)
        np.testing.assert_array_equal(tuned.predict_proba(QUERIES), weighted.predict_proba(QUERIES))
        best = MicroFOptimum().fit(weighted.loo_predict_proba(), Y, sample_weight=w)
        np.testing.assert_array_equal(tuned.strategy_.thresholds_, best.thresholds_)


@pytest.mark.parametrize("around", [TunedThresholdsClassifierCV, CalibratedLabels])
@pytest.mark.parametrize("method", [BRkNN, MLkNN])
def test_held_out_scores_without_rows_of_weight_0(method, around):
    """Leave-one-out scores are of the others: thresholds and calibrations are those of a fit to these, in groups."""
    w, groups = WEIGHTS["fractional"] * (np.arange(N) % 3 > 0), np.arange(N) // 2
    kept = np.flatnonzero(w)
    with sklearn.config_context(enable_metadata_routing=True):
        options = {}
        if around is TunedThresholdsClassifierCV:
            options = {"strategy": MicroFOptimum().set_fit_request(sample_weight=True)}
        model = around(method(3).set_fit_request(sample_weight=True), cv="loo", **options)
        for names in ({}, {"groups": groups}):
            weighted = clone(model).fit(X, Y, sample_weight=w, **names)
            of_kept = {name: values[kept] for name, values in names.items()}
            rest = clone(model).fit(X[kept], Y[kept], sample_weight=w[kept], **of_kept)
            np.testing.assert_array_equal(weighted.predict_proba(QUERIES), rest.predict_proba(QUERIES))
            np.testing.assert_array_equal(weighted.predict(QUERIES), rest.predict(QUERIES))


@pytest.mark.parametrize("method", [MLkNN, DMLkNN, CMLkNN])
def test_weights_that_cannot_be_used(method):
    """Negative, none, of another length, two-dimensional, all 0, or so heavy that counts would overflow."""
    w = WEIGHTS["whole"]
    for bad in (-w, w * np.nan, w * 0, w[:, np.newaxis], 2.0):
        with pytest.raises(ValueError, match="sample_weight must be finite numbers of at least 0"):
            method(3).fit(X, Y, sample_weight=bad)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        method(3).fit(X, Y, sample_weight=w[1:])
    fitted = method(3, **({"similarity": SIMILARITY} if method is CMLkNN else {})).fit(X, Y, sample_weight=w)
    before = fitted.predict_proba(QUERIES)
    for heavy in (1e12, 1e300):
        with pytest.raises(ValueError, match=r"sample_weight must add up to less than [\d,]+ here, got .*Hint: divide"):
            fitted.partial_fit(X[:1], Y[:1], sample_weight=[heavy])
    np.testing.assert_array_equal(fitted.predict_proba(QUERIES), before)
