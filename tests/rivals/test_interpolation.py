"""Mixtures: the parts at the ends, the weight that a slow loop finds, and scores that no part has seen."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags

from nearlabel.lazy import IBLR, MLMLM, NLDD, BRkNN, CMLkNN, DMLkNN, LPkNN, MLkNN
from nearlabel.metrics import macro_f1, micro_f1
from nearlabel.models import explain, explains
from nearlabel.rivals import BinaryRelevance, NeighborInterpolation, SoftVote
from nearlabel.rivals._mixture import search_weights
from nearlabel.testing import check_multilabel_estimator
from nearlabel.thresholds import MicroFOptimum, RCut, SCut, TunedThresholdsClassifierCV
from nearlabel.utils.validation import as_dense

GRID = np.arange(21) / 20
X, Y = make_multilabel_classification(180, 6, n_classes=4, random_state=0)
TRAIN, TEST = slice(0, 140), slice(140, None)
BAYES = BinaryRelevance(GaussianNB())
LAZY = MLkNN(5)


def folds_of(model, X=X[TRAIN], Y=Y[TRAIN], splitter=None, **params):
    """Return out-of-fold scores, by a loop."""
    scores = np.empty(Y.shape)
    for training, test in (splitter or KFold(5)).split(X, Y, **params):
        scores[test] = clone(model).fit(X[training], Y[training]).predict_proba(X[test])
    return scores


@pytest.mark.parametrize("space", ["probability", "logit"])
@pytest.mark.parametrize(("weight", "part"), [(1, BAYES), (0.0, LAZY)])
def test_the_ends_are_the_parts(weight, part, space):
    """Weight 1 is the model, weight 0 the neighbours: to the bit but for logits, with their own thresholds."""
    mixed = NeighborInterpolation(BAYES, LAZY, weight, space=space).fit(X[TRAIN], Y[TRAIN])
    alone = clone(part).fit(X[TRAIN], Y[TRAIN])
    least = 0 if space == "probability" else 0.5 / 140
    expected = np.clip(alone.predict_proba(X[TEST]), least, 1 - least)
    np.testing.assert_allclose(mixed.predict_proba(X[TEST]), expected, rtol=0, atol=0 if least == 0 else 1e-12)
    if space == "probability":
        tuned = TunedThresholdsClassifierCV(part, cv="loo" if part is LAZY else 5).fit(X[TRAIN], Y[TRAIN])
        np.testing.assert_array_equal(mixed.thresholds_, tuned.thresholds_)
        np.testing.assert_array_equal(mixed.predict(X[TEST]), tuned.predict(X[TEST]))
        assert mixed.objective_ == tuned.objective_
    assert mixed.weight_ == weight
    assert mixed.cv_results_ == {}


@pytest.mark.parametrize("space", ["probability", "logit"])
@pytest.mark.parametrize("scoring", ["micro_f1", "hamming_loss", "ranking_loss"])
def test_the_weight_is_that_of_a_loop(scoring, space):
    """Each of 21 weights with its best thresholds; ties nearest to one half, then the larger."""
    model = NeighborInterpolation(BAYES, LAZY, scoring=scoring, space=space).fit(X[TRAIN], Y[TRAIN])
    parts = [folds_of(BAYES), LAZY.fit(X[TRAIN], Y[TRAIN]).loo_predict_proba()]
    if space == "logit":
        parts = [np.log(part / (1 - part)) for part in (np.clip(part, 0.5 / 140, 1 - 0.5 / 140) for part in parts)]
    values = []
    for weight in GRID:
        mixed = weight * parts[0] + (1 - weight) * parts[1]
        mixed = mixed if space == "probability" else 1 / (1 + np.exp(-mixed))
        values.append(_value(scoring, mixed))
    sign = 1 if scoring == "micro_f1" else -1
    best = max(range(21), key=lambda i: (sign * round(values[i], 12), -abs(2 * i - 20), i))
    np.testing.assert_allclose(model.cv_results_["weights"], np.column_stack([GRID, 1 - GRID]), atol=1e-15)
    np.testing.assert_allclose(model.cv_results_[scoring], values, atol=1e-12)
    assert model.weight_ == GRID[best]
    assert model.objective_ == pytest.approx(values[best])


def _value(scoring, mixed):
    truth = Y[TRAIN]
    if scoring == "micro_f1":
        return MicroFOptimum().fit(mixed, truth).objective_
    if scoring == "hamming_loss":
        return SCut("hamming_loss").fit(mixed, truth).objective_
    losses = []
    for row, scores in zip(truth, mixed, strict=True):
        yes, no = scores[row == 1], scores[row == 0]
        if len(yes) and len(no):
            losses.append((yes[:, np.newaxis] <= no).mean())
    return float(np.mean(losses))


@pytest.mark.long
def test_weights_per_label_minimise_the_log_loss():
    """By a loop over the grid; a label with fewer than 50 rows of a class gets the weight for all."""
    rare = (X[:, 0] > np.sort(X[TRAIN, 0])[-40]).astype(int)
    labels = np.column_stack([Y, rare])[TRAIN]
    model = NeighborInterpolation(BAYES, LAZY, "per_label").fit(X[TRAIN], labels)
    common = NeighborInterpolation(BAYES, LAZY).fit(X[TRAIN], labels)
    parts = [folds_of(BAYES, Y=labels), clone(LAZY).fit(X[TRAIN], labels).loo_predict_proba()]
    own = np.flatnonzero(np.minimum(labels.sum(axis=0), 140 - labels.sum(axis=0)) >= 50)
    assert 0 < len(own) < 5
    for label in range(5):
        losses = [log_loss(labels[:, label], w * parts[0][:, label] + (1 - w) * parts[1][:, label]) for w in GRID]
        expected = GRID[np.argmin(losses)] if label in own else common.weight_
        assert model.weight_[label] == expected
    assert model.weights_.shape == (5, 2)
    np.testing.assert_allclose(model.weights_.sum(axis=1), 1)
    scores = [part.predict_proba(X[TEST]) for part in model.estimators_]
    mixed = model.weight_ * scores[0] + (1 - model.weight_) * scores[1]
    np.testing.assert_allclose(model.predict_proba(X[TEST]), mixed, atol=1e-15)


def test_a_useless_model_takes_nothing():
    """A constant model gets less than all weight, and the value is at least that of the neighbours."""
    constant = DummyClassifier(strategy="prior")
    model = NeighborInterpolation(constant, LAZY).fit(X[TRAIN], Y[TRAIN])
    alone = TunedThresholdsClassifierCV(LAZY, cv="loo").fit(X[TRAIN], Y[TRAIN])
    assert model.weight_ < 1
    assert model.objective_ >= alone.objective_
    assert micro_f1(Y[TEST], model.predict(X[TEST])) >= micro_f1(Y[TEST], alone.predict(X[TEST])) - 0.02


@pytest.mark.parametrize("part", [MLkNN(2), BRkNN(3)])
def test_equal_parts_share_the_weight(part):
    """All weights are equally good: one half."""
    assert NeighborInterpolation(part, part).fit(X[TRAIN], Y[TRAIN]).weight_ == 0.5


@pytest.mark.parametrize(
    ("values", "expected"), [({0.45: 1, 0.55: 1}, 0.55), ({0: 1, 0.4: 1}, 0.4), ({0.3: np.nan}, 0.5)]
)
def test_ties_of_weights(values, expected):
    """Nearest to one half, then the larger; NaN is worse than all."""
    search = search_weights(lambda weights: values.get(round(float(weights[0]), 2), 0), 2)
    np.testing.assert_allclose(search.best, [expected, 1 - expected])


@pytest.mark.parametrize("n", [3, 4])
def test_more_weights_climb_to_the_top(n):
    """Of a concave value the search finds the best multiples of 1/20, off the coarse grid."""
    target = np.array([13, 4, 2, 1])[:n] / 20
    target[0] += 1 - target.sum()
    search = search_weights(lambda weights: -float(np.square(weights - target).sum()), n)
    np.testing.assert_allclose(search.best, target)
    np.testing.assert_allclose(search.weights.sum(axis=1), 1)
    assert len(search.values) == len(search.weights)
    assert search_weights(lambda _: 0.0, 4).best.tolist() == [0.25] * 4


def test_groups_are_left_out_together():
    """The model by folds of groups, the neighbours by leaving groups out: copies of rows tell nothing."""
    rows, labels, groups = np.repeat(X[:70], 2, axis=0), np.repeat(Y[:70], 2, axis=0), np.repeat(np.arange(70), 2)
    model = NeighborInterpolation(BAYES, LAZY).fit(rows, labels, groups=groups)
    parts = [
        folds_of(BAYES, rows, labels, GroupKFold(5), groups=groups),
        clone(LAZY).fit(rows, labels).loo_predict_proba(groups=groups),
    ]
    values = [MicroFOptimum().fit(w * parts[0] + (1 - w) * parts[1], labels).objective_ for w in GRID]
    np.testing.assert_allclose(model.cv_results_["micro_f1"], values, atol=1e-12)
    assert model.objective_ < NeighborInterpolation(BAYES, BRkNN(1)).fit(rows, labels).objective_


def test_own_scores_replace_folds():
    """A prefitted model needs scores; those of any model may be given, and are checked."""
    frozen = FrozenEstimator(clone(BAYES).fit(X[TEST], Y[TEST]))
    with pytest.raises(ValueError, match="estimator must come with scores of the rows that it was not trained on"):
        NeighborInterpolation(frozen, LAZY).fit(X[TRAIN], Y[TRAIN])
    scores = frozen.predict_proba(X[TRAIN])
    model = NeighborInterpolation(frozen, LAZY).fit(X[TRAIN], Y[TRAIN], model_scores=scores)
    np.testing.assert_array_equal(
        NeighborInterpolation(frozen, LAZY, 1).fit(X[TRAIN], Y[TRAIN], model_scores=scores).predict_proba(X[TEST]),
        frozen.predict_proba(X[TEST]),
    )
    given = NeighborInterpolation(BAYES, LAZY).fit(X[TRAIN], Y[TRAIN], model_scores=folds_of(BAYES))
    np.testing.assert_array_equal(
        given.predict(X[TEST]), NeighborInterpolation(BAYES, LAZY).fit(X[TRAIN], Y[TRAIN]).predict(X[TEST])
    )
    values = [
        MicroFOptimum().fit(w * scores + (1 - w) * model.estimators_[1].loo_predict_proba(), Y[TRAIN]).objective_
        for w in GRID
    ]
    np.testing.assert_allclose(model.cv_results_["micro_f1"], values, atol=1e-12)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.zeros((3, 4)), "scores of estimator must be of the 140 rows of X, got 3"),
        (np.full((140, 4), 2.0), "scores of estimator must be probabilities, got values from 2.0"),
        (np.zeros((140, 3)), "an array"),
    ],
)
def test_bad_scores_are_refused(scores, message):
    """Shape and range."""
    with pytest.raises(ValueError, match=message):
        NeighborInterpolation(BAYES, LAZY).fit(X[TRAIN], Y[TRAIN], model_scores=scores)


def test_a_pipeline_is_scored_by_folds():
    """Its other steps may have learnt from the row; random splits may score rows twice, or never."""
    piped = make_pipeline(MinMaxScaler(), MLkNN(5))
    values = NeighborInterpolation(BAYES, piped).fit(X[TRAIN], Y[TRAIN]).cv_results_["micro_f1"]
    assert values[0] == pytest.approx(MicroFOptimum().fit(folds_of(piped), Y[TRAIN]).objective_)
    some = NeighborInterpolation(BAYES, LAZY, cv=ShuffleSplit(3, test_size=0.3, random_state=0))
    assert some.fit(X[TRAIN], Y[TRAIN]).thresholds_.shape == (4,)


@pytest.mark.parametrize("model", [RandomForestClassifier(5, random_state=0), OneVsRestClassifier(GaussianNB())])
def test_classifiers_of_scikit_learn(model):
    """Lists of arrays and arrays; dense y."""
    mixed = NeighborInterpolation(model, LAZY, 0.5).fit(X[TRAIN], Y[TRAIN])
    assert mixed.predict_proba(X[TEST]).shape == (40, 4)


def test_another_decision():
    """A strategy without thresholds, and one for another metric."""
    ranked = NeighborInterpolation(BAYES, LAZY, strategy=RCut(n_labels=2)).fit(X[TRAIN], Y[TRAIN])
    assert set(ranked.predict(X[TEST]).sum(axis=1)) == {2}
    assert not hasattr(ranked, "thresholds_")
    by_macro = NeighborInterpolation(BAYES, LAZY, scoring="macro_f1").fit(X[TRAIN], Y[TRAIN])
    assert by_macro.objective_ == by_macro.cv_results_["macro_f1"].max()
    assert isinstance(by_macro.strategy_, SCut)
    assert macro_f1(Y[TEST], by_macro.predict(X[TEST])) > 0.5


def test_one_label_and_constant_labels():
    """A 1-D y answers one-dimensional; labels of one class are answered as such."""
    names = np.array(["no", "yes"])[Y[:, 0]]
    one = NeighborInterpolation(BAYES, LAZY).fit(X[TRAIN], names[TRAIN])
    column = NeighborInterpolation(BAYES, LAZY).fit(X[TRAIN], Y[TRAIN, :1])
    np.testing.assert_array_equal(one.predict(X[TEST]), np.array(["no", "yes"])[column.predict(X[TEST])[:, 0]])
    np.testing.assert_array_equal(one.predict_proba(X[TEST])[:, 1], column.predict_proba(X[TEST])[:, 0])
    labels = np.column_stack([np.zeros(140, int), Y[TRAIN], np.ones(140, int)])
    model = NeighborInterpolation(BAYES, LAZY, "per_label", space="logit").fit(X[TRAIN], labels)
    predicted = model.predict(X[TEST])
    assert not predicted[:, 0].any()
    assert predicted[:, -1].all()


@pytest.mark.parametrize("of_X", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("of_y", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_containers(of_X, of_y):
    """Sparse X and y give the label sets of dense ones, in the container of y."""
    model = NeighborInterpolation(None, LAZY).fit(X[TRAIN], Y[TRAIN])
    other = NeighborInterpolation(None, LAZY).fit(of_X(X[TRAIN]), of_y(Y[TRAIN]))
    predicted = other.predict(of_X(X[TEST]))
    assert type(predicted) is type(of_y(Y[TEST]))
    np.testing.assert_array_equal(
        predicted.toarray() if sparse.issparse(predicted) else predicted, model.predict(X[TEST])
    )


def test_explanations_add_up():
    """Both scores, through a pipeline and in other thresholds; flips are those of the mixed decision."""
    model = NeighborInterpolation(BAYES, make_pipeline(MinMaxScaler(), MLkNN(5)), 0.3).fit(X[TRAIN], Y[TRAIN])
    assert explains(model)
    scores, predicted = model.predict_proba(X[TEST]), model.predict(X[TEST])
    for row, explanation in enumerate(explain(model, X[TEST][:10])):
        labels = explanation.labels
        mixed = 0.3 * labels["model_score"] + 0.7 * labels["neighbors_score"]
        assert (labels["model_weight"] == 0.3).all()
        np.testing.assert_allclose(labels["score"], mixed, atol=1e-15)
        np.testing.assert_array_equal(labels["score"], scores[row])
        np.testing.assert_array_equal(labels["chosen"], predicted[row] == 1)
        np.testing.assert_array_equal(labels["threshold"], model.thresholds_)
        for at, flip, votes, cut, chosen in zip(
            labels["score_at"], labels["flip"], labels["votes"], model.thresholds_, labels["chosen"], strict=True
        ):
            turned = [n for n, score in enumerate(at) if (score >= cut) != chosen]
            assert (flip is None) == (not turned)
            assert flip is None or abs(flip) == min(abs(n - votes) for n in turned)
    tuned = TunedThresholdsClassifierCV(model, SCut(), cv=2).fit(X[TRAIN], Y[TRAIN])
    explained = np.array([one.labels["chosen"] for one in tuned.explain(X[TEST])])
    np.testing.assert_array_equal(explained, tuned.predict(X[TEST]) == 1)


@pytest.mark.parametrize(
    "lazy", [BRkNN(5, weights="distance"), CMLkNN(5, adjusted=True), DMLkNN(5), IBLR(5), LPkNN(5), NLDD(GaussianNB())]
)
@pytest.mark.parametrize("of_y", [np.asarray, sparse.csr_array])
def test_every_lazy_method_explains(lazy, of_y):
    """Its neighbours, its columns, and the mixed scores and label sets; sparse y may list fewer labels."""
    model = NeighborInterpolation(BAYES, lazy, 0.4).fit(X[TRAIN], of_y(Y[TRAIN]))
    scores, predicted = model.predict_proba(X[TEST]), model.predict(X[TEST])
    for row, explanation in enumerate(model.explain(X[TEST][:3])):
        labels = explanation.labels
        np.testing.assert_allclose(labels["score"], scores[row, labels["label"]], rtol=0, atol=1e-15)
        assert labels["label"][labels["chosen"]].tolist() == np.flatnonzero(as_dense(predicted)[row]).tolist()
        assert "model score" in str(explanation)


def test_explanations_by_label_sets_and_rules():
    """ML-MLM, logits, weights per label, and a rule without thresholds."""
    model = NeighborInterpolation(BAYES, MLMLM(), "per_label", space="logit", strategy=RCut(n_labels=1))
    model.fit(X[TRAIN], Y[TRAIN])
    for row, explanation in enumerate(model.explain(X[TEST][:3])):
        assert len(explanation.predicted) == 1
        np.testing.assert_array_equal(explanation.labels["model_weight"], model.weight_)
        np.testing.assert_array_equal(explanation.labels["score"], model.predict_proba(X[TEST][[row]])[0])
        assert np.isnan(explanation.labels["threshold"]).all()
        assert "by a rule on all scores" in explanation.rule
    assert not hasattr(NeighborInterpolation(BAYES, BAYES), "explain")


def test_soft_vote_of_three():
    """The value of the chosen weights is the best that was tried; names reach parameters."""
    parts = [("bayes", BAYES), ("brknn", BRkNN(5)), ("mlknn", LAZY)]
    vote = SoftVote(parts).fit(X[TRAIN], Y[TRAIN])
    assert vote.weights_.shape == (3,)
    assert vote.objective_ == vote.cv_results_["micro_f1"].max()
    assert vote.get_params()["brknn__n_neighbors"] == 5
    assert clone(vote).set_params(brknn__n_neighbors=3).estimators[1][1].n_neighbors == 3
    given = SoftVote(parts, [2, 1, 1]).fit(X[TRAIN], Y[TRAIN], scores={"bayes": folds_of(BAYES)})
    np.testing.assert_array_equal(given.weights_, [0.5, 0.25, 0.25])
    of_parts = [part.predict_proba(X[TEST]) for part in given.estimators_]
    np.testing.assert_allclose(
        given.predict_proba(X[TEST]), np.average(of_parts, axis=0, weights=[2, 1, 1]), atol=1e-15
    )
    assert SoftVote(parts, "per_label").fit(X[TRAIN], Y[TRAIN]).weights_.shape == (4, 3)


def test_soft_vote_of_two_is_interpolation():
    """One mixture, two front doors."""
    two = SoftVote([("m", BAYES), ("n", LAZY)]).fit(X[TRAIN], Y[TRAIN])
    one = NeighborInterpolation(BAYES, LAZY).fit(X[TRAIN], Y[TRAIN])
    np.testing.assert_array_equal(two.weights_, one.weights_)
    np.testing.assert_array_equal(two.predict_proba(X[TEST]), one.predict_proba(X[TEST]))


@pytest.mark.long
def test_soft_vote_keeps_the_contract():
    """As every classifier of the library."""
    check_multilabel_estimator(SoftVote([("a", BRkNN(3)), ("b", MLkNN(3))]))


def test_a_part_of_no_weight_is_not_asked():
    """Prediction costs what has weight."""
    model = NeighborInterpolation(BAYES, LAZY, 1).fit(X[TRAIN], Y[TRAIN])
    model.estimators_[1] = None
    assert model.predict(X[TEST]).shape == (40, 4)


class TakesDenseOnly(ClassifierMixin, BaseEstimator):
    """A classifier with default tags."""

    def predict_proba(self, X):
        """Return nothing."""


def test_tags():
    """X may be what both parts take."""
    assert get_tags(NeighborInterpolation(LAZY, LAZY)).input_tags.sparse
    assert not get_tags(NeighborInterpolation(TakesDenseOnly(), LAZY)).input_tags.sparse
    assert get_tags(NeighborInterpolation()).target_tags.multi_output


def test_a_second_fit_forgets():
    """Thresholds of the first are gone when the second has none."""
    model = NeighborInterpolation(BAYES, LAZY).fit(X[TRAIN], Y[TRAIN])
    model.set_params(strategy=RCut(n_labels=1), weight=0.5).fit(X[TRAIN, :3], Y[TRAIN])
    assert not hasattr(model, "thresholds_")
    assert model.cv_results_ == {}
    assert model.n_features_in_ == 3


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"weight": 1.5}, ValueError, "weight must be 'auto', 'per_label' or a number from 0 to 1, got 1.5"),
        ({"weight": "best"}, ValueError, "weight must be 'auto'"),
        ({"weight": True}, ValueError, "weight must be 'auto'"),
        ({"space": "log"}, ValueError, "space must be"),
        ({"scoring": "micro"}, ValueError, "micro"),
        ({"strategy": 0.5}, TypeError, "strategy must be a ThresholdStrategy"),
        ({"estimator": LinearSVC()}, ValueError, "estimator must have predict_proba, got LinearSVC. Hint: .*Binary"),
        ({"estimator": LogisticRegression()}, ValueError, "estimator must be a multi-label classifier"),
        ({"cv": 141}, ValueError, "cv must be at most n_samples=140"),
    ],
)
def test_bad_parameters(params, error, message):
    """Each with its expectation."""
    with pytest.raises(error, match=message):
        NeighborInterpolation(neighbors=LAZY).set_params(**params).fit(X[TRAIN], Y[TRAIN])


@pytest.mark.parametrize(
    ("estimators", "weights", "message"),
    [
        ([("a", LAZY)], "auto", "estimators must be a list of at least two"),
        ([LAZY, BAYES], "auto", "estimators must be a list of at least two"),
        ([("a", LAZY), ("a", BAYES)], "auto", "not unique"),
        ([("a", LAZY), ("b", BAYES)], [1, -1], "weights must be 'auto', 'per_label' or 2 numbers"),
        ([("a", LAZY), ("b", BAYES)], [1, 1, 1], "weights must be"),
        ([("a", LAZY), ("b", BAYES)], "equal", "weights must be"),
    ],
)
def test_bad_votes(estimators, weights, message):
    """Each with its expectation."""
    with pytest.raises(ValueError, match=message):
        SoftVote(estimators, weights).fit(X[TRAIN], Y[TRAIN])


def test_scores_of_nobody():
    """The names that there are."""
    with pytest.raises(ValueError, match=r"scores must have keys among \['a', 'b'\], got \['c'\]"):
        SoftVote([("a", LAZY), ("b", BAYES)]).fit(X[TRAIN], Y[TRAIN], scores={"c": Y[TRAIN]})
