"""Tuned and fixed thresholds around any classifier."""

import pickle
from functools import partial

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneOut, ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from conftest import CHECKS
from nearlabel.lazy import BRkNN, BRkNNa, LPkNN, MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.rivals import BinaryRelevance
from nearlabel.thresholds import (
    FBR,
    ExpectedF,
    FixedThresholdsClassifier,
    GlobalCut,
    MCut,
    MicroFOptimum,
    PillaiAscent,
    RCut,
    SCut,
    TunedThresholdsClassifierCV,
    cross_val_scores,
)
from nearlabel.utils.messages import AdviceWarning

TUNED = [
    TunedThresholdsClassifierCV(MLkNN(3)),
    TunedThresholdsClassifierCV(BRkNN(3), cv="loo"),
    TunedThresholdsClassifierCV(MLkNN(3), SCut(), cv=3, at_least=1, at_most=3),
]
ALL = [*TUNED, FixedThresholdsClassifier(MLkNN(3)), FixedThresholdsClassifier(MLkNN(3), 0.3, at_most=2)]


def data(n=90, n_labels=4, seed=0):
    """Rows, and label sets that depend on them; label 3 is rare."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    Y = (X[:, :n_labels] + 0.5 * rng.normal(size=(n, n_labels)) > [0.0, 0.5, 0.8, 1.4][:n_labels]).astype(int)
    return X, Y


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("estimator", ALL, ids=str)
def test_contract(estimator, check):
    """Classifiers with thresholds obey the contract of all multi-label classifiers."""
    check(clone(estimator))


CLASSIFIERS = {
    "array": MLPClassifier(max_iter=5, random_state=0),
    "list": RandomForestClassifier(5, random_state=0),
    "list of kNN": KNeighborsClassifier(),
    "list of a meta-estimator": MultiOutputClassifier(LogisticRegression()),
    "chain": ClassifierChain(LogisticRegression()),
    "decision function": OneVsRestClassifier(LinearSVC()),
    "pipeline": make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0)),
    "ours": LPkNN(5),
}


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_every_shape_of_scores_is_pooled(name):
    """Thresholds are those that the strategy finds on each fold's scores by a classifier fitted to the others."""
    X, Y = data()
    pooled, rows = [], []
    for training, validation in KFold(3).split(X):
        model = clone(CLASSIFIERS[name]).fit(X[training], Y[training])
        scores = (model.decision_function if name == "decision function" else model.predict_proba)(X[validation])
        pooled.append(np.column_stack([part[:, 1] for part in scores]) if isinstance(scores, list) else scores)
        rows.append(validation)
    expected = MicroFOptimum().fit(np.vstack(pooled), Y[np.concatenate(rows)])
    tuned = TunedThresholdsClassifierCV(CLASSIFIERS[name], cv=3).fit(X, Y)
    np.testing.assert_array_equal(tuned.thresholds_, expected.thresholds_)
    assert tuned.objective_ == expected.objective_
    assert tuned.predict(X).shape == Y.shape


@pytest.mark.parametrize("estimator", [MLkNN(5), BRkNN(5), BRkNNa(5), LPkNN(5)], ids=str)
def test_leave_one_out_needs_no_refit(estimator):
    """cv="loo" finds what refitting without each row would, and fits once."""
    X, Y = data(40)
    fast = TunedThresholdsClassifierCV(estimator, cv="loo").fit(X, Y)
    slow = TunedThresholdsClassifierCV(estimator, cv=LeaveOneOut()).fit(X, Y)
    np.testing.assert_array_equal(fast.thresholds_, slow.thresholds_)
    assert fast.objective_ == slow.objective_
    assert fast.cv_results_ == {}


class Counting(MLkNN):
    """Counts fits."""

    fits = 0

    def fit(self, X, Y):
        """Fit as the parent does."""
        Counting.fits += 1
        return super().fit(X, Y)


@pytest.mark.filterwarnings("ignore:labels must have at least 10 positives on both sides of a single split")
def test_number_of_fits():
    """Five folds and all rows: six fits; leave-one-out: one; a fitted one: none."""
    X, Y = data()
    for cv, fits in ((5, 6), ("loo", 1), (ShuffleSplit(1, random_state=0), 2)):
        Counting.fits = 0
        TunedThresholdsClassifierCV(Counting(3), cv=cv).fit(X, Y)
        assert Counting.fits == fits, cv
    Counting.fits = 0
    fitted = MLkNN(3).fit(X[:50], Y[:50])
    tuned = TunedThresholdsClassifierCV(fitted, cv="prefit").fit(X[50:], Y[50:])
    assert tuned.estimator_ is fitted
    expected = MicroFOptimum().fit(fitted.predict_proba(X[50:]), Y[50:])
    np.testing.assert_array_equal(tuned.thresholds_, expected.thresholds_)


def test_leave_one_out_in_a_pipeline():
    """The last step's leave-one-out scores are used."""
    X, Y = data()
    tuned = TunedThresholdsClassifierCV(make_pipeline(StandardScaler(), MLkNN(3)), cv="loo").fit(X, Y)
    scores = MLkNN(3).fit(StandardScaler().fit_transform(X), Y).loo_predict_proba()
    np.testing.assert_array_equal(tuned.thresholds_, MicroFOptimum().fit(scores, Y).thresholds_)


def test_single_split_without_refit():
    """refit=False keeps the classifier of the one split."""
    X, Y = data()
    split = ShuffleSplit(1, test_size=0.3, random_state=0)
    training, validation = next(split.split(X))
    tuned = TunedThresholdsClassifierCV(MLkNN(3), cv=split, refit=False).fit(X, Y)
    model = MLkNN(3).fit(X[training], Y[training])
    np.testing.assert_array_equal(tuned.predict_proba(X), model.predict_proba(X))
    expected = MicroFOptimum().fit(model.predict_proba(X[validation]), Y[validation])
    np.testing.assert_array_equal(tuned.thresholds_, expected.thresholds_)


def test_spread_over_folds():
    """Each fold is judged by thresholds tuned on the others."""
    X, Y = data()
    tuned = TunedThresholdsClassifierCV(BRkNN(5), cv=3).fit(X, Y)
    parts = [
        (BRkNN(5).fit(X[training], Y[training]).predict_proba(X[validation]), Y[validation])
        for training, validation in KFold(3).split(X)
    ]
    for left_out in range(3):
        scores, labels = (np.vstack([parts[fold][i] for fold in range(3) if fold != left_out]) for i in (0, 1))
        strategy = MicroFOptimum().fit(scores, labels)
        np.testing.assert_array_equal(tuned.cv_results_["thresholds"][left_out], strategy.thresholds_)
        reached = micro_f1(parts[left_out][1], strategy.predict(parts[left_out][0]))
        assert tuned.cv_results_["test_objective"][left_out] == reached
    assert tuned.cv_results_["mean_test_objective"] == np.mean(tuned.cv_results_["test_objective"])
    assert tuned.cv_results_["std_test_objective"] == np.std(tuned.cv_results_["test_objective"])


@pytest.mark.long
def test_results_do_not_depend_on_n_jobs():
    """Folds fitted in two processes give the same thresholds."""
    X, Y = data()
    one, two = (
        TunedThresholdsClassifierCV(RandomForestClassifier(5, random_state=0), n_jobs=n, random_state=1).fit(X, Y)
        for n in (None, 2)
    )
    np.testing.assert_array_equal(one.thresholds_, two.thresholds_)
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_random_state_shuffles_the_folds():
    """None: consecutive rows, the same each time; an int: shuffled folds, the same each time."""
    X, Y = data()
    plain, shuffled, again = (
        TunedThresholdsClassifierCV(MLkNN(3), cv=4, random_state=seed).fit(X, Y).cv_results_["thresholds"]
        for seed in (None, 3, 3)
    )
    np.testing.assert_array_equal(shuffled, again)
    assert (plain != shuffled).any()


def test_bounds_on_the_number_of_labels():
    """Rows with too few labels get those of highest score, rows with too many lose those of lowest."""
    X, Y = data()
    free = TunedThresholdsClassifierCV(MLkNN(5)).fit(X, Y)
    bound = TunedThresholdsClassifierCV(MLkNN(5), at_least=1, at_most=2).fit(X, Y)
    labels, bounded, scores = free.predict(X), bound.predict(X), free.predict_proba(X)
    sizes = labels.sum(axis=1)
    assert {0, 3} <= set(sizes)
    inside = (sizes >= 1) & (sizes <= 2)
    np.testing.assert_array_equal(bounded[inside], labels[inside])
    for row in np.flatnonzero(sizes == 0):
        assert bounded[row].tolist() == (np.arange(4) == scores[row].argmax()).astype(int).tolist()
    for row in np.flatnonzero(sizes > 2):
        kept = sorted(np.flatnonzero(labels[row]), key=lambda label, row=row: -scores[row, label])[:2]
        assert np.flatnonzero(bounded[row]).tolist() == sorted(kept)


def test_strategies_without_thresholds():
    """A strategy that decides row by row leaves no thresholds_, also not those of an earlier fit."""
    X, Y = data()
    tuned = TunedThresholdsClassifierCV(MLkNN(5)).fit(X, Y)
    assert hasattr(tuned, "thresholds_")
    tuned.set_params(strategy=RCut(2)).fit(X, Y)
    assert not hasattr(tuned, "thresholds_")
    assert (tuned.predict(X).sum(axis=1) == 2).all()
    expected = ExpectedF().fit(tuned.predict_proba(X), Y).predict(tuned.predict_proba(X))
    np.testing.assert_array_equal(tuned.set_params(strategy=ExpectedF()).fit(X, Y).predict(X), expected)


@pytest.mark.filterwarnings("ignore:Label not .* is present in all training examples")
@pytest.mark.parametrize("strategy", [MicroFOptimum(), RCut(2)], ids=str)
def test_labels_of_one_class_in_a_decision_function(strategy):
    """scikit-learn answers 0 for a label that was never seen, above the decision values of the others; not here."""
    X, Y = data()
    Y[:, 1] = 0
    Y[:, 3] = 0
    Y[-4:, 3] = 1  # in the last fold only
    tuned = TunedThresholdsClassifierCV(OneVsRestClassifier(LinearSVC()), strategy).fit(X, Y)
    assert (OneVsRestClassifier(LinearSVC()).fit(X, Y).decision_function(X)[:, 1] == 0).all()
    assert (tuned.predict(X)[:, 1] == 0).all()


def test_grid_search_reaches_the_inner_parts():
    """The inner estimator's and the strategy's parameters can be searched."""
    X, Y = data()
    grid = {"estimator__n_neighbors": [3, 9], "strategy__beta": [0.5, 1.0]}
    model = TunedThresholdsClassifierCV(MLkNN(), MicroFOptimum(), cv="loo")
    search = GridSearchCV(model, grid, scoring="f1_micro", cv=3, error_score="raise").fit(X, Y)
    assert set(search.best_params_) == set(grid)
    assert search.best_estimator_.estimator_.n_neighbors == search.best_params_["estimator__n_neighbors"]


def test_pickle_and_names():
    """A fitted classifier survives pickling, with the label names of the data frame."""
    pd = pytest.importorskip("pandas")
    X, Y = data()
    frame = pd.DataFrame(Y, columns=list("abcd"), index=np.arange(len(Y)) + 7)
    rows = pd.DataFrame(X, columns=list("vwxyz"), index=frame.index)
    tuned = TunedThresholdsClassifierCV(MLkNN(3)).fit(rows, frame)
    again = pickle.loads(pickle.dumps(tuned))
    assert again.label_names_.tolist() == list("abcd")
    assert again.feature_names_in_.tolist() == list("vwxyz")
    queries = pd.DataFrame(X, columns=list("vwxyz"))
    np.testing.assert_array_equal(again.predict(queries), tuned.predict(queries))
    np.testing.assert_array_equal(tuned.predict(queries), TunedThresholdsClassifierCV(MLkNN(3)).fit(X, Y).predict(X))


def test_polars_and_list_rows():
    """Rows of a polars frame or of a list are cut into folds as those of an array."""
    pl = pytest.importorskip("polars")
    X, Y = data()
    expected = TunedThresholdsClassifierCV(MLkNN(3)).fit(X, Y).thresholds_
    frame = pl.DataFrame(X, schema=list("vwxyz"))
    np.testing.assert_array_equal(TunedThresholdsClassifierCV(MLkNN(3)).fit(frame, Y).thresholds_, expected)
    lists = TunedThresholdsClassifierCV(MLkNN(3)).fit(X.tolist(), Y.tolist())
    np.testing.assert_array_equal(lists.thresholds_, expected)


class Weighted(ClassifierMixin, BaseEstimator):
    """Scores that show the weights that `fit` got."""

    def fit(self, X, Y, sample_weight=None):
        """Keep the weights."""
        self.weights_ = sample_weight
        self.n_rows_ = len(X)
        return self

    def predict_proba(self, X):
        """Depend on the row alone."""
        return np.abs(X[:, :4]) / (1 + np.abs(X[:, :4]))


def test_metadata_is_routed():
    """Weights go, row by row, to who requested them, groups to the splitter."""
    X, Y = data()
    weights, groups = np.arange(90) % 3, np.arange(90) // 10
    with sklearn.config_context(enable_metadata_routing=True):
        inner = Weighted().set_fit_request(sample_weight=True)
        strategy = MicroFOptimum().set_fit_request(sample_weight=True)
        tuned = TunedThresholdsClassifierCV(inner, strategy, cv=GroupKFold(3))
        tuned.fit(X, Y, sample_weight=weights, groups=groups)
        np.testing.assert_array_equal(tuned.estimator_.weights_, weights)
        scores = Weighted().fit(X, Y).predict_proba(X)
        expected = MicroFOptimum().fit(scores, Y, weights)
        np.testing.assert_array_equal(tuned.thresholds_, expected.thresholds_)
        unweighted = TunedThresholdsClassifierCV(inner, MicroFOptimum().set_fit_request(sample_weight=False))
        unweighted.fit(X, Y, sample_weight=weights)
        np.testing.assert_array_equal(unweighted.thresholds_, MicroFOptimum().fit(scores, Y).thresholds_)


def test_metadata_without_routing_is_refused():
    """As scikit-learn does, with a hint."""
    X, Y = data()
    with pytest.raises(ValueError, match=r"fit takes .*sample_weight.* only if metadata routing is enabled"):
        TunedThresholdsClassifierCV(MLkNN(3)).fit(X, Y, sample_weight=np.ones(90))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cv": "loop"}, "cv must be one of"),
        ({"cv": 1}, "cv must be at least 2, got 1"),
        ({"cv": 1000}, "cv must be at most n_samples=90, got 1000"),
        ({"refit": False}, "refit must be True if cv makes several splits"),
        ({"at_least": -1}, "at_least must be at least 0"),
        ({"at_least": 5}, "at_least must be at most the 4 labels, got 5"),
        ({"at_least": 2, "at_most": 1}, "at_most must be at least 2, got 1"),
        ({"response_method": "predict"}, "response_method must be one of"),
        ({"response_method": "decision_function"}, "estimator must have decision_function, got MLkNN"),
        ({"estimator": KNeighborsClassifier(), "cv": "loo"}, "cv='loo' needs probabilities of a classifier with loo"),
        ({"strategy": ExpectedF(), "estimator": OneVsRestClassifier(LinearSVC())}, "scores must be probabilities"),
    ],
)
def test_bad_parameters(parameters, message):
    """What, expected, got."""
    X, Y = data()
    model = TunedThresholdsClassifierCV(MLkNN(3)).set_params(**parameters)
    with pytest.raises(ValueError, match=message):
        model.fit(X, Y)


def test_bad_types_and_unfitted_use():
    """A strategy that is none, a number of folds that is none, and use before fit."""
    X, Y = data()
    with pytest.raises(TypeError, match="strategy must be a ThresholdStrategy"):
        TunedThresholdsClassifierCV(MLkNN(3), 0.5).fit(X, Y)
    with pytest.raises(TypeError, match="at_least must be an integer"):
        TunedThresholdsClassifierCV(MLkNN(3), at_least=0.5).fit(X, Y)
    with pytest.raises(NotFittedError):
        TunedThresholdsClassifierCV(MLkNN(3)).predict(X)
    with pytest.raises(NotFittedError):
        TunedThresholdsClassifierCV(MLkNN(3), cv="prefit").fit(X, Y)


@pytest.mark.parametrize(
    ("thresholds", "expected"), [("auto", [0.5] * 4), (0.3, [0.3] * 4), ([0.1, 0.2, 0.3, 0.4], [0.1, 0.2, 0.3, 0.4])]
)
def test_fixed_thresholds(thresholds, expected):
    """A label is chosen where its score is at least the threshold."""
    X, Y = data()
    model = FixedThresholdsClassifier(MLkNN(3), thresholds).fit(X, Y)
    assert model.thresholds_.tolist() == expected
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X) >= expected)


def test_fixed_thresholds_of_decision_values_and_of_a_frozen_classifier():
    """The middle of decision values is 0; a frozen classifier is not fitted again."""
    X, Y = data()
    inner = OneVsRestClassifier(LinearSVC()).fit(X, Y)
    model = FixedThresholdsClassifier(FrozenEstimator(inner)).fit(X[:5], Y[:5])
    np.testing.assert_array_equal(model.decision_function(X[5:]), inner.decision_function(X[5:]))
    plain = FixedThresholdsClassifier(OneVsRestClassifier(LinearSVC())).fit(X, Y)
    np.testing.assert_array_equal(plain.predict(X), inner.decision_function(X) >= 0)
    assert not hasattr(model, "predict_proba")


@pytest.mark.parametrize("thresholds", ["half", [0.1, 0.2], [[0.5]], np.nan, None, [0.5]])
def test_bad_fixed_thresholds(thresholds):
    """Not a number, not one for each label."""
    X, Y = data()
    with pytest.raises(ValueError, match="thresholds must be"):
        FixedThresholdsClassifier(MLkNN(3), thresholds).fit(X, Y)


@pytest.mark.parametrize("wrap", [partial(TunedThresholdsClassifierCV, cv=2), FixedThresholdsClassifier])
@pytest.mark.parametrize("inner", [LogisticRegression(), make_pipeline(StandardScaler(), LinearSVC())], ids=type)
def test_a_classifier_of_one_label_is_refused_with_a_hint(wrap, inner):
    """The message says what to put around it; around it, it works."""
    X, Y = data()
    expected = f"estimator must be a multi-label classifier, got {type(inner).__name__}, .*BinaryRelevance or"
    with pytest.raises(ValueError, match=expected):
        wrap(inner).fit(X, Y)
    assert wrap(BinaryRelevance(inner)).fit(X, Y).predict(X).shape == Y.shape


def test_sparse_label_sets_come_back_sparse():
    """Y in CSR gives predictions in CSR, the same ones."""
    X, Y = data()
    dense = TunedThresholdsClassifierCV(MLkNN(3)).fit(X, Y).predict(X)
    labels = TunedThresholdsClassifierCV(MLkNN(3)).fit(X, sparse.csr_matrix(Y)).predict(X)
    assert isinstance(labels, sparse.csr_matrix)
    np.testing.assert_array_equal(labels.toarray(), dense)


def test_the_method_is_the_same_in_all_folds():
    """A fitted OneVsRestClassifier has predict_proba or not by what its first label was; that decides nothing here."""
    X, Y = data()
    Y[:, 0] = 0
    Y[3, 0] = 1  # only in the first fold
    inner = OneVsRestClassifier(LinearSVC())
    with pytest.warns(UserWarning, match="Label not 0 is present in all training examples"):
        tuned = TunedThresholdsClassifierCV(inner).fit(X, Y)
    assert tuned.response_method_ == "decision_function"
    assert not hasattr(tuned, "predict_proba")


def test_one_class_labels_do_not_disturb_the_gaps_of_others():
    """MCut looks at finite decision values; the label that all rows carry is chosen besides."""
    X, Y = data()
    without = TunedThresholdsClassifierCV(OneVsRestClassifier(LinearSVC()), MCut()).fit(X, Y[:, [0, 1, 3]]).predict(X)
    for value in (0, 1):
        Y[:, 2] = value
        with pytest.warns(UserWarning, match="is present in all training examples"):
            labels = TunedThresholdsClassifierCV(OneVsRestClassifier(LinearSVC()), MCut()).fit(X, Y).predict(X)
        np.testing.assert_array_equal(labels[:, [0, 1, 3]], without)
        assert (labels[:, 2] == value).all()


@pytest.mark.parametrize("kind", ["mask", "bootstrap"])
def test_without_refit_the_classifier_that_scored_is_kept(kind):
    """It is fitted to the training rows only, however the splitter names them, and not fitted again."""
    X, Y = data()
    training = np.arange(90) < 60 if kind == "mask" else np.random.default_rng(0).integers(0, 60, 90)
    validation = np.arange(90) >= 60
    tuned = TunedThresholdsClassifierCV(RandomForestClassifier(5), cv=[(training, validation)], refit=False).fit(X, Y)
    assert tuned.strategy_.score(tuned.predict_proba(X[60:]), Y[60:]) == tuned.objective_
    exact = TunedThresholdsClassifierCV(KNeighborsClassifier(1), cv=[(training, validation)], refit=False).fit(X, Y)
    assert exact.estimator_.n_samples_fit_ == (60 if kind == "mask" else 90)
    known = KNeighborsClassifier(1).fit(X[training], Y[training]).predict_proba(X)
    np.testing.assert_array_equal(exact.predict_proba(X), np.column_stack([part[:, 1] for part in known]))


def rare_labels(n_labels=30):
    """Return samples of noise, labels of which one sample in eighty has each, and one that half of them have."""
    random = np.random.default_rng(0)
    X = random.normal(size=(240, 20))
    Y = (random.random((240, n_labels)) < 1 / 80).astype(int)
    Y[0] = Y[200] = 1
    Y[:, 0] = X[:, 0] > 0
    return X, Y


@pytest.mark.parametrize(
    ("strategy", "common"),
    [
        (MicroFOptimum(), GlobalCut()),
        (MicroFOptimum(beta=2), GlobalCut("micro_fbeta", beta=2)),
        (SCut(), GlobalCut("macro_f1")),
        (PillaiAscent(), GlobalCut()),
    ],
    ids=str,
)
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_rare_labels_of_a_single_split_share_a_threshold(strategy, common, wrap):
    """Scores of a classifier that has seen three positives are no limits for one that has seen four."""
    X, Y = rare_labels()
    split = np.arange(160), np.arange(160, 240)
    inner = BinaryRelevance(LogisticRegression(C=10))
    with pytest.warns(AdviceWarning, match=r"at least 10 positives .* got 29 of 30 with fewer, which share one\. Hint"):
        tuned = TunedThresholdsClassifierCV(inner, strategy, cv=[split]).fit(X, wrap(Y))
    scores = clone(inner).fit(X[:160], Y[:160]).predict_proba(X[160:])
    shared = common.fit(scores, Y[160:]).thresholds_[0]
    np.testing.assert_allclose(tuned.thresholds_[1:], shared)
    assert tuned.thresholds_[0] == pytest.approx(clone(strategy).fit(scores, Y[160:]).thresholds_[0])
    assert tuned.objective_ == pytest.approx(tuned.strategy_.score(scores, Y[160:]))


def test_thresholds_of_rare_labels_stay_where_the_classifier_does():
    """No refit, several folds, and a rule of the strategy's own for rare labels: nothing is shared."""
    X, Y = rare_labels()
    split = np.arange(160), np.arange(160, 240)
    inner = BinaryRelevance(LogisticRegression(C=10))
    scores = clone(inner).fit(X[:160], Y[:160]).predict_proba(X[160:])
    own = MicroFOptimum().fit(scores, Y[160:]).thresholds_
    kept = TunedThresholdsClassifierCV(inner, cv=[split], refit=False).fit(X, Y)
    np.testing.assert_array_equal(kept.thresholds_, own)
    fbr = FBR(MicroFOptimum(), fbr=0.3)
    raised = TunedThresholdsClassifierCV(inner, fbr, cv=[split]).fit(X, Y)
    np.testing.assert_array_equal(raised.thresholds_, clone(fbr).fit(scores, Y[160:]).thresholds_)
    folds = TunedThresholdsClassifierCV(inner, cv=3, random_state=0).fit(X, Y)
    scores, rows = cross_val_scores(inner, X, Y, cv=3, random_state=0)
    np.testing.assert_array_equal(folds.thresholds_, MicroFOptimum().fit(scores, Y[rows]).thresholds_)


def test_masks_are_row_numbers():
    """Splits given as masks are those given as numbers."""
    X, Y = data()
    first = np.arange(90) < 40
    masks = TunedThresholdsClassifierCV(MLkNN(3), cv=[(first, ~first), (~first, first)]).fit(X, Y)
    numbers = TunedThresholdsClassifierCV(
        MLkNN(3), cv=[(np.arange(40), np.arange(40, 90)), (np.arange(40, 90), np.arange(40))]
    ).fit(X, Y)
    np.testing.assert_array_equal(masks.thresholds_, numbers.thresholds_)


@pytest.mark.parametrize("cv", [[], iter([]), [(np.arange(90), np.arange(0))]])
def test_no_split(cv):
    """An empty or used up iterable, and a split without validation rows, are refused."""
    X, Y = data()
    with pytest.raises(ValueError, match="cv must give pairs of training and validation rows"):
        TunedThresholdsClassifierCV(MLkNN(3), cv=cv).fit(X, Y)


@pytest.mark.long
def test_workers_know_the_configuration():
    """Metadata routing reaches the steps of a pipeline in another process too."""
    X, Y = data()
    weights = np.arange(90) % 3 + 1
    with sklearn.config_context(enable_metadata_routing=True):
        inner = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            RandomForestClassifier(3, random_state=0).set_fit_request(sample_weight=True),
        )
        strategy = MicroFOptimum().set_fit_request(sample_weight=True)
        one, two = (
            TunedThresholdsClassifierCV(inner, strategy, n_jobs=n).fit(X, Y, sample_weight=weights) for n in (1, 2)
        )
    np.testing.assert_array_equal(one.thresholds_, two.thresholds_)


def test_a_fold_is_judged_without_its_rows():
    """Where validation parts overlap, the scores that other splits gave the judged rows are left out too."""
    X, Y = data()
    splits = [*KFold(3).split(X), *KFold(2).split(X)]
    tuned = TunedThresholdsClassifierCV(BRkNN(5), cv=splits).fit(X, Y)
    scores, rows = cross_val_scores(BRkNN(5), X, Y, cv=splits)
    start = 0
    for fold, (_, validation) in enumerate(splits):
        here = slice(start, start := start + len(validation))
        others = ~np.isin(rows, validation)
        strategy = MicroFOptimum().fit(scores[others], Y[rows[others]])
        np.testing.assert_array_equal(tuned.cv_results_["thresholds"][fold], strategy.thresholds_)
        assert tuned.cv_results_["test_objective"][fold] == strategy.score(scores[here], Y[validation])


@pytest.mark.long
def test_single_rows_are_judged_together():
    """For folds of one row the pooled figure is the F of all decisions; beyond 100 folds nothing is judged."""
    X, Y = data(40)
    results = TunedThresholdsClassifierCV(BRkNN(5), cv=LeaveOneOut()).fit(X, Y).cv_results_
    scores, _ = cross_val_scores(BRkNN(5), X, Y, cv=LeaveOneOut())
    predicted = np.vstack(
        [
            MicroFOptimum().fit(np.delete(scores, row, axis=0), np.delete(Y, row, axis=0)).predict(scores[[row]])
            for row in range(40)
        ]
    )
    assert results["pooled_test_objective"] == micro_f1(Y, predicted)
    assert TunedThresholdsClassifierCV(BRkNN(5), cv=LeaveOneOut()).fit(*data(101)).cv_results_ == {}


def test_a_fold_without_weight_is_not_judged():
    """The fit goes on."""
    X, Y = data()
    weights = np.r_[np.zeros(18), np.ones(72)]
    with sklearn.config_context(enable_metadata_routing=True):
        strategy = MicroFOptimum().set_fit_request(sample_weight=True)
        inner = Weighted().set_fit_request(sample_weight=False)
        tuned = TunedThresholdsClassifierCV(inner, strategy).fit(X, Y, sample_weight=weights)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            TunedThresholdsClassifierCV(inner, strategy).fit(X, Y, sample_weight=weights[1:])
    assert tuned.cv_results_ == {}


def test_a_frozen_classifier_knows_labels_that_these_rows_lack():
    """What it was trained on decides, not the rows of this fit; decision_function and predict agree."""
    X, Y = data()
    inner = OneVsRestClassifier(LinearSVC()).fit(X, Y)
    few = Y[:5].copy()
    few[:, 0] = 0
    model = FixedThresholdsClassifier(FrozenEstimator(inner)).fit(X[:5], few)
    assert model.predict(X)[:, 0].any()
    tuned = TunedThresholdsClassifierCV(OneVsRestClassifier(LinearSVC()), cv=3).fit(X, Y)
    np.testing.assert_array_equal(tuned.predict(X), tuned.decision_function(X) >= tuned.thresholds_)


def test_a_second_fit_forgets_names():
    """Feature names of a data frame are gone after a fit to an array."""
    pd = pytest.importorskip("pandas")
    X, Y = data()
    model = TunedThresholdsClassifierCV(MLkNN(3)).fit(pd.DataFrame(X, columns=list("vwxyz")), Y)
    assert hasattr(model, "feature_names_in_")
    assert not hasattr(model.fit(X, Y), "feature_names_in_")


def test_a_rare_label_in_a_list_with_one_class():
    """A label of one class in a fold, answered with two columns, is a constant."""
    X, Y = data()
    Y[:, 2] = 0
    Y[1, 2] = 1
    inner = MultiOutputClassifier(HistGradientBoostingClassifier(max_iter=1))
    assert TunedThresholdsClassifierCV(inner, cv=2).fit(X, Y).predict(X).shape == Y.shape
    ones = np.ones((90, 1), dtype=int)
    with pytest.warns(UserWarning, match="is present in all training examples"):
        model = FixedThresholdsClassifier(OneVsRestClassifier(LogisticRegression())).fit(X, ones)
    assert model.predict(X).all()


def test_scores_that_are_not_numbers():
    """NaN from the inner classifier is refused at prediction, too."""
    X, Y = data()
    model = FixedThresholdsClassifier(Weighted()).fit(X, Y)
    X[2, 1] = np.nan
    with pytest.raises(ValueError, match="scores must not contain NaN, got NaN in column 1"):
        model.predict(X)


def test_leave_one_out_inside_a_grid_search():
    """The best classifier's own leave-one-out scores are used."""
    X, Y = data()
    search = GridSearchCV(MLkNN(), {"n_neighbors": [3, 5]}, scoring="f1_micro", cv=3)
    tuned = TunedThresholdsClassifierCV(search, cv="loo").fit(X, Y)
    scores = tuned.estimator_.best_estimator_.loo_predict_proba()
    np.testing.assert_array_equal(tuned.thresholds_, MicroFOptimum().fit(scores, Y).thresholds_)
