"""Thresholds for label sets with unknown cells: the best for the known ones, whatever the scores of the others are."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin

from _exhaustive import every_prediction, small_problem
from _strategies import BY_THRESHOLDS, METRICS, STRATEGIES, WITHOUT_WEIGHTS, exactly, medium_problem, public
from nearlabel.lazy import MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.selection import IterativeStratifiedKFold
from nearlabel.thresholds import (
    FBR,
    CyclicAscent,
    ExpectedF,
    FixedThresholdsClassifier,
    GlobalCut,
    MicroFOptimum,
    PCut,
    PillaiAscent,
    RCut,
    SCut,
    TunedThresholdsClassifierCV,
    cross_val_scores,
    micro_pr_frontier,
)
from nearlabel.utils.targets import with_multilabel_target

SEEDS = range(40)


def partly_known(seed, problem=small_problem):
    """Return scores, and y with NaN: each cell is unknown with a probability of 0.4, but not all of them are."""
    scores, Y = problem(seed)
    rng = np.random.default_rng(seed)
    hidden = rng.random(Y.shape) < 0.4
    hidden[rng.integers(Y.shape[0]), rng.integers(Y.shape[1])] = False
    return scores, np.where(hidden, np.nan, Y)


def value_of(metric, beta, y, predicted):
    """Return a metric of the known cells as a fraction: of the columns or rows, each with its own known cells."""
    known = ~np.isnan(y)
    if metric == "hamming_loss" or metric.startswith("micro"):
        return exactly(metric, beta, y[known].astype(int)[:, None], predicted[known][:, None])
    if metric.startswith("macro"):
        y, predicted, known = y.T, predicted.T, known.T
        metric = metric.replace("macro_", "").replace("fbeta", "fbeta_examples").replace("f1", "f1_examples")
        metric = {"precision": "precision_examples", "recall": "recall_examples"}.get(metric, metric)
    groups = [(y[[i]][:, k].astype(int), predicted[[i]][:, k]) for i, k in enumerate(known) if k.any()]
    if metric == "f1_of_means":
        p, r = (_mean_of(name, beta, groups) for name in ("precision_examples", "recall_examples"))
        return 2 * p * r / (p + r) if p + r else Fraction(0)
    return _mean_of(metric, beta, groups)


def _mean_of(metric, beta, groups):
    return sum((exactly(metric, beta, *group) for group in groups), start=Fraction(0)) / len(groups)


def best_of_all(scores, y, metric, beta=1):
    """Return the best value over all thresholds of the known cells."""
    lowest = np.where(np.isnan(y), -np.inf, scores)
    known = ~np.isnan(y)
    return max(value_of(metric, beta, y, predicted * known) for predicted in every_prediction(lowest))


@pytest.mark.parametrize("beta", [0.5, 1, 2])
@pytest.mark.parametrize("strategy", [MicroFOptimum, PillaiAscent])
def test_micro_f(strategy, beta):
    """The maximum over all thresholds."""
    for seed in SEEDS:
        scores, y = partly_known(seed)
        tuned = strategy(beta).fit(scores, y)
        best = best_of_all(scores, y, "micro_fbeta", beta)
        assert tuned.objective_ == pytest.approx(float(best), abs=1e-15), seed
        assert value_of("micro_fbeta", beta, y, tuned.predict(scores)) == best, seed


@pytest.mark.parametrize("metric", ["macro_f1", "macro_precision", "macro_recall", "hamming_loss"])
def test_scut(metric):
    """The maximum over all thresholds, and what the public metric says of it."""
    for seed in SEEDS:
        scores, y = partly_known(seed)
        tuned = SCut(metric).fit(scores, y)
        best = abs(float(best_of_all(scores, y, metric)))
        assert tuned.objective_ == pytest.approx(best, abs=1e-15), seed
        assert public(metric)(y, tuned.predict(scores)) == pytest.approx(best, abs=1e-15), seed
        assert np.isnan(tuned.objectives_).tolist() == np.isnan(y).all(axis=0).tolist()


def test_scut_by_a_function_of_counts():
    """It gets the number of samples that know the label."""

    def accuracy(hits, predicted, positives, n_samples):
        return 1 - (predicted + positives - 2 * hits) / n_samples

    for seed in SEEDS:
        scores, y = partly_known(seed)
        tuned = SCut(accuracy).fit(scores, y)
        assert tuned.objectives_ == pytest.approx(1 - SCut("hamming_loss").fit(scores, y).objectives_, nan_ok=True)
        assert tuned.score(scores, y) == pytest.approx(tuned.objective_)


@pytest.mark.parametrize(("metric", "beta"), METRICS)
def test_global_cut(metric, beta):
    """The maximum over all common thresholds."""
    for seed in SEEDS:
        scores, y = partly_known(seed)
        known = ~np.isnan(y)
        cuts = [*np.unique(scores[known]), np.inf]
        best = max(value_of(metric, beta, y, known & (scores >= t)) for t in cuts)
        if np.isposinf(scores[known]).any():
            best = max(value_of(metric, beta, y, known & (scores >= t)) for t in cuts[:-1])
        tuned = GlobalCut(metric, beta=beta).fit(scores, y)
        assert tuned.objective_ == pytest.approx(abs(float(best)), abs=1e-12), seed
        assert value_of(metric, beta, y, tuned.predict(scores)) == pytest.approx(float(best), abs=1e-12), seed


def test_own_metrics():
    """Get y with NaN; those of known cells are tuned as ours are."""

    def of_known(y_true, y_pred):
        return micro_f1(y_true, y_pred)

    for seed in SEEDS:
        scores, y = partly_known(seed)
        for container in (y, sparse.csr_array(y)):
            assert GlobalCut(of_known).fit(scores, container).objective_ == GlobalCut().fit(scores, y).objective_
            own, ours = (RCut(metric=metric).fit(scores, container) for metric in (of_known, "micro_f1"))
            assert (own.n_chosen_, own.objective_) == (ours.n_chosen_, ours.objective_)


@pytest.mark.parametrize("metric", ["f1_examples", "jaccard_examples", "subset_accuracy", "f1_of_means"])
def test_cyclic_ascent(metric):
    """It reaches what it says, at least what a common threshold does, and no single move improves it."""
    for seed in SEEDS:
        scores, y = partly_known(seed)
        tuned = CyclicAscent(metric).fit(scores, y)
        reached = value_of(metric, 1, y, tuned.predict(scores))
        assert tuned.objective_ == pytest.approx(float(reached), abs=1e-12), seed
        assert tuned.objective_ >= GlobalCut(metric).fit(scores, y).objective_ - 1e-12
        for label in range(y.shape[1]):
            for cut in [*scores[~np.isnan(y[:, label]), label].astype(float), np.inf]:
                moved = tuned.thresholds_.copy()
                moved[label] = cut
                assert value_of(metric, 1, y, scores >= moved) <= reached + Fraction(1, 10**11), seed


def test_rcut_ranks_all_scores():
    """As it will in new rows; the choice among unknown cells is not judged."""
    scores, y = [[0.9, 0.8, 0.1], [0.9, 0.2, 0.8]], [[math.nan, 1, 0], [math.nan, 0, 1]]
    tuned = RCut().fit(scores, y)
    assert (tuned.n_chosen_, tuned.objective_) == (2, 1.0)
    for seed in SEEDS:
        scores, y = partly_known(seed)
        tuned = RCut(metric="jaccard_examples").fit(scores, y)
        values = [value_of("jaccard_examples", 1, y, RCut(n).fit(scores, y).predict(scores)) for n in range(4)]
        assert tuned.objective_ == pytest.approx(float(max(values)), abs=1e-12)


def test_expected_f():
    """The objective is over known cells; the decision needs no truth."""
    rng = np.random.default_rng(0)
    scores, y = rng.random((30, 4)), rng.choice([0, 1, np.nan], (30, 4))
    tuned = ExpectedF().fit(scores, y)
    assert tuned.objective_ == pytest.approx(float(value_of("f1_examples", 1, y, tuned.predict(scores))), abs=1e-14)


def test_pcut():
    """As many of the rows that know the label are chosen as carry it; or of all cells that are known."""
    rng = np.random.default_rng(1)
    scores, y = rng.random((50, 3)), rng.choice([0, 1, np.nan], (50, 3))
    y[:, 2] = np.nan
    known = ~np.isnan(y)
    chosen = PCut().fit(scores, y)
    assert ((chosen.predict(scores) * known).sum(axis=0) == np.nansum(y, axis=0)).all()
    assert np.isposinf(chosen.thresholds_).tolist() == [False, False, True]
    together = PCut(per_label=False)
    for container in (y, sparse.csr_array(y)):
        assert (together.fit(scores, container).predict(scores) * known).sum() == np.nansum(y)


def test_fbr():
    """The F that is compared with the limit, and the highest score, are those of the rows that know the label."""
    scores = [[0.9, 0.2, 0.1], [0.8, 0.1, 0.2], [0.3, 0.4, 0.3], [0.95, 0.9, 0.4]]
    y = [[1, 1, math.nan], [0, 0, math.nan], [1, 0, math.nan], [math.nan, math.nan, math.nan]]
    tuned = FBR(SCut(), variant=1, fbr=0.7).fit(scores, y)
    assert tuned.rare_.tolist() == [False, True, True]
    assert tuned.thresholds_[1:].tolist() == [0.4, math.inf]
    auto = FBR(MicroFOptimum(), cv=3).fit(scores, y)
    assert auto.fbr_ in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@pytest.mark.parametrize("name", [name for name in BY_THRESHOLDS if name not in WITHOUT_WEIGHTS])
def test_scores_of_unknown_cells_do_not_matter(name):
    """Whatever stands there, the thresholds are the same to the bit; so do rows of which nothing is known not."""
    for seed in range(4):
        scores, y = partly_known(seed, medium_problem)
        hidden = np.isnan(y)
        weights = np.random.default_rng(seed).integers(0, 3, len(y))
        tuned = _clone_of(name).fit(scores, y, weights)
        for other in (-np.inf, np.inf, 0.5):
            again = _clone_of(name).fit(np.where(hidden, other, scores), y, weights)
            assert again.thresholds_.tolist() == tuned.thresholds_.tolist()
            assert again.objective_ == tuned.objective_ if hasattr(tuned, "objective_") else True
        if name != "fbr_auto":  # whose folds are of rows that stand together
            more = np.vstack([y[:3] * np.nan, y]), np.concatenate([[1, 2, 3], weights])
            again = _clone_of(name).fit(np.vstack([scores[:3] + 9, scores]), *more)
            assert again.thresholds_.tolist() == tuned.thresholds_.tolist()


@pytest.mark.parametrize("name", STRATEGIES)
def test_containers(name):
    """Sparse y with stored NaN tunes as dense y; y without NaN is as it was; nothing known is refused."""
    scores, y = partly_known(3, medium_problem)
    scores = 1 / (1 + np.exp(-scores))
    dense, stored = (_clone_of(name).fit(scores, container) for container in (y, sparse.csr_matrix(y)))
    for attribute in ("thresholds_", "objective_", "n_chosen_"):
        assert np.array_equal(getattr(dense, attribute, 0), getattr(stored, attribute, 0))
    assert dense.score(scores, y) == pytest.approx(stored.score(scores, sparse.csr_array(y)), nan_ok=True)
    with pytest.raises(ValueError, match="y must have a known cell in a sample with a weight above 0, got none"):
        _clone_of(name).fit(scores, np.where(np.arange(len(y))[:, None], np.nan, y), np.arange(len(y)) > 0)
    with pytest.raises(ValueError, match="y must contain 0, 1 and NaN only, got two values, -1 and 0"):
        _clone_of(name).fit(scores, np.where(np.isnan(y), np.nan, y - 1))


def _clone_of(name):
    from sklearn.base import clone

    return clone(STRATEGIES[name])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", ["micro_f1", "macro_f1", "f1_examples", "hamming_loss"])
def test_rows_or_columns_that_are_known(metric, weighted):
    """Where whole rows are known and the others not at all, the thresholds are those of these rows; labels likewise."""
    scores, Y = medium_problem(8)
    weights = np.random.default_rng(0).random(len(Y)) if weighted else None
    strategy, half = GlobalCut(metric), len(Y) // 2
    rows = np.where(np.arange(len(Y))[:, None] < half, Y, np.nan)
    some = strategy.fit(scores[:half], Y[:half], None if weights is None else weights[:half])
    expected = some.thresholds_[0], pytest.approx(some.objective_)
    strategy.fit(scores, rows, weights)
    assert (strategy.thresholds_[0], strategy.objective_) == expected
    expected = strategy.fit(scores[:, 1:], Y[:, 1:], weights).thresholds_[0], pytest.approx(strategy.objective_)
    strategy.fit(scores, np.where(np.arange(Y.shape[1]) < 1, np.nan, Y), weights)
    assert (strategy.thresholds_[0], strategy.objective_) == expected


def test_frontier():
    """Its points are the optima."""
    scores, y = partly_known(2, medium_problem)
    frontier = micro_pr_frontier(scores, y)
    for beta in (0.5, 1.0, 3.0):
        optimum = MicroFOptimum(beta).fit(scores, y).thresholds_
        assert frontier.thresholds(frontier.best_point(beta)).tolist() == optimum.tolist()


class TakesNaN(ClassifierMixin, BaseEstimator):
    """A classifier whose scores are the first columns of X, if y is as it should be."""

    def __init__(self, kind=np.ndarray):
        self.kind = kind

    def fit(self, X, y):
        """Look at y."""
        assert isinstance(y, self.kind), type(y)
        self.has_nan_ = bool(np.isnan(y.data if sparse.issparse(y) else y).any())
        self.n_labels_ = y.shape[1]
        return self

    def __sklearn_tags__(self):
        """Tell that y has several columns."""
        return with_multilabel_target(super().__sklearn_tags__())

    def decision_function(self, X):
        """Return scores."""
        return np.asarray(X)[:, : self.n_labels_]

    def predict(self, X):
        """Return label sets."""
        return (self.decision_function(X) >= 0).astype(int)


def problem(n=60):
    """Return X whose columns are scores, and y with NaN; one label has one class, one is unknown."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 5))
    y = (X + rng.normal(size=X.shape) > 0).astype(float)
    y[:, 3] = 1
    y[rng.random(y.shape) < 0.4] = np.nan
    y[:, 4] = np.nan
    return X, y


@pytest.mark.parametrize("wrap", [np.array, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("cv", [3, "prefit", IterativeStratifiedKFold(3)])
def test_tuned_classifier(wrap, cv):
    """The classifier gets y with NaN in its container; thresholds and figures are of known cells."""
    X, y = problem()
    kind = np.ndarray if wrap is np.array else wrap
    inner = TakesNaN(kind).fit(X, wrap(y)) if cv == "prefit" else TakesNaN(kind)
    tuned = TunedThresholdsClassifierCV(inner, cv=cv).fit(X, wrap(y))
    expected = MicroFOptimum().fit(X[:, :3], y[:, :3])
    assert tuned.thresholds_[:3].tolist() == expected.thresholds_.tolist()
    assert np.isposinf(tuned.thresholds_[4])
    assert tuned.estimator_.has_nan_
    predicted = tuned.predict(X)
    assert isinstance(predicted, kind)
    assert tuned.objective_ == pytest.approx(micro_f1(y, predicted))
    if cv != "prefit":
        assert np.isposinf(tuned.decision_function(X)[:, 3]).all()
        assert np.isneginf(tuned.decision_function(X)[:, 4]).all()
        folds = tuned.cv_results_
        splitter = cv if cv != 3 else None
        tests = [test for _, test in splitter.split(X, y)] if splitter else np.split(np.arange(len(X)), 3)
        for test, value, thresholds in zip(tests, folds["test_objective"], folds["thresholds"], strict=True):
            scores = tuned.decision_function(X[test])
            assert value == pytest.approx(micro_f1(y[test], (scores >= thresholds).astype(int)))


def test_folds_of_which_nothing_is_known():
    """Give no spread."""
    X, y = problem()
    y[:20] = np.nan
    tuned = TunedThresholdsClassifierCV(TakesNaN(), cv=3).fit(X, y)
    assert tuned.cv_results_ == {}
    with pytest.raises(ValueError, match="y must have a known cell"):
        TunedThresholdsClassifierCV(TakesNaN(), cv=3).fit(X, y * np.nan)


def test_other_ways():
    """Given thresholds, scores by folds, data frames, tags and single labels take unknown cells, too."""
    pandas = pytest.importorskip("pandas")
    X, y = problem()
    fixed = FixedThresholdsClassifier(TakesNaN(), 0.5).fit(X, y)
    assert fixed.estimator_.has_nan_
    scores, rows = cross_val_scores(TakesNaN(), X, y, cv=3)
    assert (scores[:, :3] == X[rows, :3]).all()
    frame = pandas.DataFrame(y, columns=[*"abcde"]).astype("Int8")
    tuned = TunedThresholdsClassifierCV(TakesNaN(), cv=3).fit(X, frame)
    assert tuned.label_names_.tolist() == [*"abcde"]
    assert tuned.predict(X).dtype.kind == "i"
    column = TunedThresholdsClassifierCV(TakesNaN(), cv=3).fit(X, [None, *(y[1:, 3] * 0 + (X[1:, 0] > 0)).tolist()])
    assert set(column.predict(X)) <= {0, 1}


def test_lazy_classifiers():
    """Label by label the thresholds are those of the rows that know it, and so are the decisions."""
    X, y = problem()
    y = y[:, :3]
    y[np.isnan(y).all(axis=1), 0] = 0
    tuned = TunedThresholdsClassifierCV(MLkNN(3), SCut(), cv="loo").fit(X, y)
    for label, known in enumerate(~np.isnan(y.T)):
        column = y[known][:, [label]].astype(int)
        alone = TunedThresholdsClassifierCV(MLkNN(3), SCut(), cv="loo").fit(X[known], column)
        assert tuned.thresholds_[label] == alone.thresholds_[0]
        assert (tuned.predict(X)[:, label] == alone.predict(X)[:, 0]).all()
    folds = TunedThresholdsClassifierCV(MLkNN(3), cv=3).fit(X, y)
    assert 0.5 < folds.cv_results_["pooled_test_objective"] <= 1
