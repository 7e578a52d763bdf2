"""ML-MLM against loops over its definition and against refits."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from nearlabel import MLMLM
from nearlabel.datasets import load_multidigits
from nearlabel.lazy._mlmlm import affordable_landmarks
from nearlabel.metrics import micro_f1, ranking_loss
from nearlabel.thresholds import TunedThresholdsClassifierCV

CONTAINERS = {"dense": np.asarray, "sparse": sparse.csr_array}
FIXED = {"power": 3.0, "ridge": 0.01, "scale": "none"}


def problem(n_rows=40, *, seed=0):
    """Return rows, three of them equal and two more, label sets, and queries, one of them a training row."""
    random = np.random.default_rng(seed)
    X, Y = random.normal(size=(n_rows, 4)).round(2), (random.random((n_rows, 5)) < 0.4).astype(int)
    X[6] = X[30] = X[5]
    X[8] = X[7]
    queries = np.vstack([random.normal(size=(6, 4)), X[3]])
    return X, Y, queries


def predicted_distances(X, Y, queries, ridge, landmarks=None):
    """Return what the regression predicts for the distances of each query to the label set of each row."""
    first = [i for i in range(len(X)) if not any((X[j] == X[i]).all() for j in range(i))]
    R = X[first if landmarks is None else landmarks]
    D, E = cdist(X, R), np.array([[np.sqrt(sum(a != b)) for b in Y] for a in Y])
    return np.abs(cdist(queries, R) @ np.linalg.solve(D.T @ D + ridge * np.eye(len(R)), D.T @ E))


def scores_of(distances, Y, power):
    """Return the mean label set of each query, rows weighted by their inverse distances."""
    scores = []
    for row in distances:
        weights = np.array([1.0 if d == min(row) else (min(row) / d) ** power for d in row])
        scores.append(weights @ Y / weights.sum())
    return np.array(scores)


def loops(X, Y, queries, power=3.0, ridge=0.01, landmarks=None):
    """Score queries by the definition."""
    return scores_of(predicted_distances(X, Y, queries, ridge, landmarks), Y, power)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("container_of_y", CONTAINERS)
def test_equals_loops(container, container_of_y):
    """Any containers, with equal rows and label sets that occur more than once."""
    X, Y, queries = problem()
    model = MLMLM(**FIXED).fit(CONTAINERS[container](X), CONTAINERS[container_of_y](Y))
    assert_allclose(model.predict_proba(CONTAINERS[container](queries)), loops(X, Y, queries), rtol=1e-10)
    assert len(model.landmarks_) == 37
    assert model.labelsets_.shape[0] < 40


def test_equals_loops_on_scaled_features():
    """The range of each feature is 1, also where an X is sparse and no feature can be shifted."""
    X, Y, queries = problem()
    X[:, 3] = 7.0
    width = np.append(np.ptp(X[:, :3], axis=0), 1.0)
    model = MLMLM(power=3.0, ridge=0.01).fit(X, Y)
    assert_allclose(model.predict_proba(queries), loops(X / width, Y, queries / width), rtol=1e-10)


def test_ridge_is_a_quantile():
    """Alpha is the 0.001 quantile of the distances of distinct rows, as MATLAB has it."""
    X, Y, _ = problem()
    model = MLMLM(scale="none").fit(X, Y)
    distinct = np.unique(X, axis=0)
    apart = np.sort(cdist(distinct, distinct)[np.triu_indices(37, 1)])
    place = 0.001 * len(apart) - 0.5  # MATLAB: the i-th of n values is the (i - 0.5) / n quantile
    assert model.ridge_ == pytest.approx(apart[0] + max(place, 0) * (apart[1] - apart[0]))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("container", CONTAINERS)
def test_leave_one_out_equals_refits(container, seed):
    """A row leaves as equation, landmark and candidate; an equal row keeps the landmark."""
    X, Y, _ = problem(seed=seed)
    left_out = MLMLM(**FIXED).fit(CONTAINERS[container](X), Y).loo_predict_proba()
    for row in range(len(X)):
        others = np.arange(len(X)) != row
        refit = MLMLM(**FIXED).fit(X[others], Y[others]).predict_proba(X[[row]])
        assert_allclose(left_out[[row]], refit, rtol=1e-8)


@pytest.mark.parametrize("together", [True, False])
def test_leave_one_group_out_equals_refits(together):
    """Equal rows may be of one group, whose landmark leaves with it, or of several."""
    X, Y, _ = problem()
    groups = np.random.default_rng(1).integers(0, 8, len(X))
    groups[[5, 6, 30]] = 3 if together else [1, 2, 2]
    left_out = MLMLM(**FIXED).fit(X, Y).loo_predict_proba(groups)
    for group in range(8):
        own = groups == group
        refit = MLMLM(**FIXED).fit(X[~own], Y[~own])
        assert_allclose(left_out[own], refit.predict_proba(X[own]), rtol=1e-8)


def test_press_leaves_the_equation_out_only():
    """The row stays a landmark, and its label set, which has no weight, a candidate of the others' distances."""
    X, Y, _ = problem()
    model = MLMLM(**FIXED, left_out="press").fit(X, Y)
    landmarks = model.landmarks_
    for row, scores in enumerate(model.loo_predict_proba()):
        others = np.arange(len(X)) != row
        D, E = cdist(X[others], X[landmarks]), np.sqrt(cdist(Y[others], Y, "sqeuclidean"))
        coefficients = np.linalg.solve(D.T @ D + 0.01 * np.eye(len(landmarks)), D.T @ E)
        distances = np.abs(cdist(X[[row]], X[landmarks]) @ coefficients)[:, others]
        assert_allclose(scores, scores_of(distances, Y[others], 3.0)[0], rtol=1e-8)


@pytest.mark.long
def test_fewer_landmarks():
    """They are drawn among distinct rows; a row that is left out takes its landmark with it."""
    X, Y, queries = problem()
    model = MLMLM(**FIXED, n_landmarks=12).fit(X, Y)
    landmarks = model.landmarks_
    assert len(landmarks) == 12
    assert_allclose(model.predict_proba(queries), loops(X, Y, queries, landmarks=landmarks), rtol=1e-9)
    left_out = model.loo_predict_proba()
    for row in range(len(X)):
        others = np.arange(len(X)) != row
        stay = [r for r in landmarks if (X[others] == X[r]).all(axis=1).any()]
        at = [np.flatnonzero((X[others] == X[r]).all(axis=1))[0] for r in stay]
        assert_allclose(left_out[[row]], loops(X[others], Y[others], X[[row]], landmarks=at), rtol=1e-7)
    assert_array_equal(MLMLM(n_landmarks=12).fit(X, Y).landmarks_, landmarks)
    assert MLMLM(n_landmarks=12, random_state=1).fit(X, Y).landmarks_.tolist() != landmarks.tolist()


@pytest.mark.parametrize("n_samples", [5, 5_000, 20_000, 10**6])
@pytest.mark.parametrize("n_labelsets", [3, 5_000])
def test_landmarks_are_as_many_as_can_be_afforded(n_samples, n_labelsets):
    """4,000 of some 5,000 samples with few label sets; of more, the largest number within the bound on products."""

    def n_products(n_landmarks):
        return n_landmarks * (2 * n_samples * n_landmarks + n_labelsets * (n_samples + n_labelsets))

    found = affordable_landmarks(n_samples, n_labelsets)
    assert n_products(found) <= 4e11
    assert found == 4000 or n_products(found + 1) > 4e11
    assert (found == 4000) == (n_samples <= 5000)


def test_the_power_is_the_best_by_leave_one_out():
    """Of equal values the smallest; the cut makes as many labels chosen as there are."""
    X, Y, _ = problem(60, seed=4)
    model = MLMLM().fit(X, Y)
    values = [ranking_loss(Y, MLMLM(p).fit(X, Y).loo_predict_proba()) for p in model.cv_results_["power"]]
    assert_allclose(model.cv_results_["ranking_loss"], values)
    assert model.power_ == model.cv_results_["power"][np.argmin(values)]
    assert model.loo_predict().sum() == Y.sum()
    by_f = MLMLM(scoring="micro_f1").fit(X, Y)
    table = by_f.cv_results_
    assert by_f.power_ == table["power"][np.argmax(table["micro_f1"])]
    assert micro_f1(Y, by_f.loo_predict()) == max(table["micro_f1"])


def test_a_large_power_gives_the_nearest_label_set():
    """Or the mean of those that are equally near."""
    X, Y, queries = problem()
    model = MLMLM(power=1e6, ridge=0.01, scale="none").fit(X, Y)
    distances = predicted_distances(X, Y, queries, 0.01)
    assert_array_equal(model.predict_proba(queries), Y[distances.argmin(axis=1)])


def test_order_does_not_matter():
    """Permuted rows, or labels, permute the answers."""
    X, Y, queries = problem()
    scores = MLMLM().fit(X, Y).predict_proba(queries)
    rows, columns = np.random.default_rng(0).permutation(40), [3, 0, 4, 1, 2]
    assert_allclose(MLMLM().fit(X[rows], Y[rows]).predict_proba(queries), scores, rtol=1e-8)
    assert_allclose(MLMLM().fit(X, Y[:, columns]).predict_proba(queries), scores[:, columns], rtol=1e-8)


@pytest.mark.parametrize("what", ["rows", "label sets"])
def test_nothing_to_regress(what):
    """If all rows or all label sets are equal, the scores are the shares of the labels."""
    X, Y, queries = problem()
    X, Y = (np.ones_like(X), Y) if what == "rows" else (X, np.tile([1, 0], (40, 1)))
    scores = MLMLM().fit(X, Y).predict_proba(queries if what == "label sets" else X[:3])
    if what == "label sets":
        assert_array_equal(scores, np.tile([1.0, 0.0], (7, 1)))
    else:
        assert np.isfinite(scores).all()
        assert_allclose(MLMLM(power=1e-9).fit(X, Y).predict_proba(X[:3]), np.tile(Y.mean(axis=0), (3, 1)), rtol=1e-6)


def test_labels_with_one_class_and_two_rows():
    """They keep their class in all answers; two rows leave each other."""
    X, Y = np.array([[0.0], [1.0]]), np.array([[1, 0, 0, 1], [0, 1, 0, 1]])
    model = MLMLM().fit(X, Y)
    assert_array_equal(model.loo_predict_proba(), [[0, 1, 0, 1], [1, 0, 0, 1]])
    assert_array_equal(model.predict(X), Y)
    assert_array_equal(MLMLM().fit(X, Y[:, 2:]).loo_predict(), Y[:, 2:])
    one = MLMLM().fit(X[:1], Y[:1])
    assert_array_equal(one.predict_proba(X), [Y[0], Y[0]])
    with pytest.raises(ValueError, match="X must have several samples"):
        one.loo_predict_proba()


@pytest.mark.parametrize("metric", ["cosine", "manhattan", lambda a, b: abs(a - b).max()])
def test_any_metric(metric):
    """Distances in the features are those of the search."""
    X, Y, queries = problem()
    model = MLMLM(**FIXED, metric=metric).fit(X, Y)
    name = {"manhattan": "cityblock"}.get(metric, metric) if isinstance(metric, str) else "chebyshev"
    D = cdist(X, X[model.landmarks_], name)
    E = np.sqrt(cdist(Y, Y, "sqeuclidean"))
    coefficients = np.linalg.solve(D.T @ D + 0.01 * np.eye(len(model.landmarks_)), D.T @ E)
    expected = scores_of(np.abs(cdist(queries, X[model.landmarks_], name) @ coefficients), Y, 3.0)
    assert_allclose(model.predict_proba(queries), expected, rtol=1e-9)


def test_missing_values():
    """A metric that takes them takes them here, too."""
    X, Y, queries = problem()
    X[4, 1] = queries[0, 2] = np.nan
    model = MLMLM(metric="nan_euclidean").fit(X, Y)
    assert np.isfinite(model.predict_proba(queries)).all()
    with pytest.raises(ValueError, match="contains NaN"):
        MLMLM().fit(X, Y)


def test_explanation():
    """It lists the heaviest label sets, each with its nearest row; all shares make the scores."""
    X, Y, queries = problem()
    model = MLMLM(**FIXED).fit(X, Y)
    explanation = model.explain(queries)[-1]
    table = explanation.neighbors
    assert len(table["row"]) == 10
    assert (np.diff(table["share"]) <= 0).all()
    assert_array_equal(explanation.labels["score"], model.predict_proba(queries)[-1])
    assert_array_equal(explanation.labels["chosen"], model.predict(queries)[-1] == 1)
    for row, distance, rows, labels in zip(*(table[c] for c in ("row", "distance", "rows", "labels")), strict=True):
        alike = (Y[row] == Y).all(axis=1)
        assert rows == alike.sum()
        assert distance == pytest.approx(cdist(queries[[-1]], X[alike]).min())
        assert np.flatnonzero(Y[row]).tolist() == list(labels)
    assert explanation.novelty == 0.0  # the query is a training row
    tuned = TunedThresholdsClassifierCV(MLMLM(**FIXED), cv="loo").fit(X, Y)
    explained = tuned.explain(queries)[0].labels
    assert_array_equal(explained["threshold"], tuned.thresholds_)
    assert_array_equal(explained["chosen"], tuned.predict(queries)[0] == 1)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"power": 0}, "power must be"),
        ({"ridge": -1.0}, "ridge must be"),
        ({"n_landmarks": 0}, "n_landmarks must be"),
        ({"scale": "standard"}, "scale must be"),
        ({"left_out": "loo"}, "left_out must be"),
        ({"scoring": "speed"}, "speed"),
        ({"metric": "nearest"}, "metric must be"),
    ],
)
def test_bad_parameters(parameters, message):
    """The message names the parameter."""
    X, Y, _ = problem()
    with pytest.raises(ValueError, match=message):
        MLMLM(**parameters).fit(X, Y)


def test_rows_that_are_next_to_equal():
    """Alpha is not 0, though the distances between rows of one direction are; a smaller one is refused."""
    X = np.outer(np.arange(1.0, 30), [1, 2, 3]) + np.eye(29, 3)
    Y = np.random.default_rng(0).integers(0, 2, (29, 3))
    near = np.vstack([X, X * 3])
    model = MLMLM(metric="cosine", scale="none").fit(near, np.vstack([Y, Y]))
    assert np.isfinite(model.loo_predict_proba()).all()
    with pytest.raises(ValueError, match="ridge must be larger"):
        MLMLM(metric="cosine", scale="none", ridge=1e-300).fit(near, np.vstack([Y, Y]))


def test_a_ridge_that_is_lost_in_rounding():
    """Beside squares of 1e300 the equations without a row may have no solution: the message says what to change."""
    X = np.array([[1.0, 0.0], [1.0, 2.0]]) * 2.0**501
    model = MLMLM(3.0, ridge=0.01, scale="none")
    with pytest.raises(ValueError, match=r"ridge must be larger for the equations to be solved, got 0\.01\."):
        model.fit(X, np.ones((2, 1), dtype=int)).loo_predict_proba()


def test_bad_groups():
    """Some rows must be left; PRESS knows single rows only."""
    X, Y, _ = problem()
    with pytest.raises(ValueError, match="X must have several samples or groups"):
        MLMLM(3.0).fit(X, Y).loo_predict(np.zeros(40))
    with pytest.raises(ValueError, match="left_out must be 'exact'"):
        MLMLM(3.0, left_out="press").fit(X, Y).loo_predict(np.arange(40) // 2)


def test_a_sample_of_rows_chooses_the_power(monkeypatch):
    """Where there are many rows and label sets."""
    X, Y, _ = problem(60)
    whole = MLMLM().fit(X, Y)
    monkeypatch.setattr("nearlabel.lazy._mlmlm._MOST_CELLS", 30 * len(whole.labelsets_))
    part = MLMLM().fit(X, Y)
    assert not np.array_equal(part.cv_results_["ranking_loss"], whole.cv_results_["ranking_loss"])
    assert_array_equal(part.cv_results_["ranking_loss"], MLMLM().fit(X, Y).cv_results_["ranking_loss"])


@pytest.mark.long
def test_better_than_mlknn_on_the_embedded_set():
    """What it is for; both with tuned thresholds: ML-kNN 0.70."""
    digits = load_multidigits()
    model = TunedThresholdsClassifierCV(MLMLM(n_landmarks=500), cv="loo").fit(digits.X[:1000], digits.Y[:1000])
    assert micro_f1(digits.Y[1500:], model.predict(digits.X[1500:])) > 0.72


def test_scores_are_never_above_one():
    """Shares of all candidates add up to 1, not to more by rounding, as they did for these rows."""
    rng = np.random.default_rng(236)
    X, y = rng.standard_normal((30, 2)), np.ones((30, 2), dtype=int)
    y[rng.integers(30), 0] = 0
    y[rng.integers(30), 1] = 0
    scores = MLMLM().fit(X, y).loo_predict_proba()
    assert scores.max() == 1


def test_explanations_of_sparse_label_sets():
    """They are those of dense ones."""
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(30, 3)), (random.random((30, 4)) < 0.3).astype(int)
    dense, stored = (MLMLM(power=4.0).fit(X, of).explain(X[:3]) for of in (Y, sparse.csr_array(Y)))
    assert [str(one) for one in stored] == [str(one) for one in dense]
