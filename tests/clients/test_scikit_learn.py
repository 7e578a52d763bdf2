"""scikit-learn's tools around our classifiers: what reads `classes_`, and what fits one-dimensional targets."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import StackingClassifier
from sklearn.inspection import (
    DecisionBoundaryDisplay,
    PartialDependenceDisplay,
    partial_dependence,
    permutation_importance,
)
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.rivals import RankSVM
from nearlabel.thresholds import FixedThresholdsClassifier, TunedThresholdsClassifierCV

CLASSIFIERS = {"predict_proba": MLkNN(3), "decision_function": RankSVM(kernel="linear")}
LABELS = [1, 2, 3, 5]
SCORES = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}
of_both = pytest.mark.parametrize("method", CLASSIFIERS)
of_labels = pytest.mark.parametrize("n_labels", LABELS)


def problem(n_labels, n_features=5):
    """Return 60 rows and label sets that depend on them, each label with both classes."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, n_features))
    signal = X @ rng.standard_normal((n_features, n_labels))
    return X, (signal + 0.3 * rng.standard_normal((60, n_labels)) > 0.2).astype(int)


@of_both
@of_labels
@pytest.mark.parametrize("scoring", SCORES)
def test_grid_search(method, n_labels, scoring):
    """The scorers see the scores of all labels: the same value as by hand, for one and for two labels too."""
    X, y = problem(n_labels)
    folds = KFold(2)
    search = GridSearchCV(CLASSIFIERS[method], {}, scoring=scoring, cv=folds, error_score="raise").fit(X, y)
    by_hand = [
        SCORES[scoring](y[test], getattr(clone(CLASSIFIERS[method]).fit(X[train], y[train]), method)(X[test]))
        for train, test in folds.split(X)
    ]
    assert search.best_score_ == pytest.approx(np.mean(by_hand))


@of_both
@of_labels
def test_cross_val_predict(method, n_labels):
    """Scores of held-out rows are one array with a column for each label."""
    X, y = problem(n_labels)
    assert cross_val_predict(CLASSIFIERS[method], X, y, cv=2, method=method).shape == y.shape


@of_both
@of_labels
def test_partial_dependence(method, n_labels):
    """Each label has its own curve: the mean score where one feature is set to a value."""
    X, y = problem(n_labels)
    model = clone(CLASSIFIERS[method]).fit(X, y)
    curves = partial_dependence(model, X, [0], grid_resolution=3)
    moved = X.copy()
    moved[:, 0] = curves["grid_values"][0][1]
    np.testing.assert_allclose(curves["average"][:, 1], getattr(model, method)(moved).mean(axis=0))


@of_both
@of_labels
def test_partial_dependence_display(method, n_labels):
    """`target` is the label's number; scikit-learn shows the first of two labels whatever `target` is."""
    X, y = problem(n_labels)
    model = clone(CLASSIFIERS[method]).fit(X, y)
    curves = partial_dependence(model, X, [0], grid_resolution=3)["average"]
    for label in range(n_labels):
        display = PartialDependenceDisplay.from_estimator(model, X, [0], target=label, grid_resolution=3)
        shown = display.pd_results[0]["average"][display.target_idx]
        np.testing.assert_array_equal(shown, curves[label if n_labels != 2 else 0])


@of_both
@of_labels
def test_decision_boundary_display(method, n_labels):
    """`class_of_interest` is the label's number, and its scores are drawn."""
    X, y = problem(n_labels, n_features=2)
    model = clone(CLASSIFIERS[method]).fit(X, y)
    for label in range(n_labels):
        display = DecisionBoundaryDisplay.from_estimator(
            model, X, grid_resolution=5, response_method=method, class_of_interest=label
        )
        grid = np.column_stack([display.xx0.ravel(), display.xx1.ravel()])
        np.testing.assert_allclose(display.response.ravel(), getattr(model, method)(grid)[:, label])


@of_both
@of_labels
def test_permutation_importance(method, n_labels):
    """Importances by a scorer of scores."""
    X, y = problem(n_labels)
    model = clone(CLASSIFIERS[method]).fit(X, y)
    importances = permutation_importance(model, X, y, scoring="roc_auc", n_repeats=1, random_state=0)
    assert importances.importances.shape == (5, 1)
    assert importances.importances.max() > 0


@pytest.mark.parametrize(
    "around",
    [
        lambda model: CalibratedClassifierCV(model, cv=2),
        lambda model: make_pipeline(StandardScaler(), model),
        lambda model: StackingClassifier([("knn", model)], LogisticRegression(), cv=2),
        OneVsRestClassifier,
    ],
    ids=["CalibratedClassifierCV", "Pipeline", "StackingClassifier", "OneVsRestClassifier"],
)
@pytest.mark.parametrize("model", [MLkNN(3), RankSVM(kernel="linear"), TunedThresholdsClassifierCV(BRkNN(3), cv=2)])
def test_around_one_label(around, model):
    """Tools of binary classification take our classifiers as any other, and know the classes by name."""
    X, y = problem(1)
    y = np.where(y[:, 0] == 1, "spam", "ham")
    fitted = around(model).fit(X, y)
    assert list(fitted.classes_) == ["ham", "spam"]
    assert fitted.score(X, y) > 0.8
    assert set(fitted.predict(X)) == {"ham", "spam"}


@pytest.mark.parametrize("around", [OneVsRestClassifier, MultiOutputClassifier, ClassifierChain])
def test_around_each_label(around):
    """Tools that fit one classifier a label take ours: ML-kNN decides each label by itself, so nothing changes."""
    X, y = problem(3)
    alone = MLkNN(3).fit(X, y)
    fitted = around(MLkNN(3)).fit(X, y)
    same = slice(0, 1) if around is ClassifierChain else slice(None)  # later labels of a chain have more features
    np.testing.assert_array_equal(fitted.predict(X)[:, same], alone.predict(X)[:, same])


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "average_precision", "neg_log_loss", "f1"])
def test_scorers_of_one_label(scoring):
    """Scorers of binary classification score a one-dimensional target."""
    X, y = problem(1)
    scores = cross_val_score(MLkNN(3), X, y[:, 0], scoring=scoring, cv=2, error_score="raise")
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    "model",
    [TunedThresholdsClassifierCV(LogisticRegression(), cv=2), FixedThresholdsClassifier(LogisticRegression(), 0.3)],
    ids=["tuned", "fixed"],
)
def test_thresholds_of_one_label(model):
    """A binary classifier of scikit-learn, with a threshold of ours, on a one-dimensional target."""
    X, y = problem(1)
    model.fit(X, y[:, 0] == 1)
    expected = clone(LogisticRegression()).fit(X, y[:, 0]).predict_proba(X)[:, 1] >= model.thresholds_[0]
    np.testing.assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.arange(60) % 3, "y must contain two classes if it is one-dimensional, got 3. Only binary .*LabelBinarizer"),
        (np.linspace(0, 1, 60), "y must contain two classes if it is one-dimensional, got a continuous target"),
        (np.where(np.arange(60) % 2, np.inf, 1), "y must not contain NaN or infinity, got inf"),
        (np.array([b"a", "a"] * 30, dtype=object), "y must contain numbers, booleans or strings .*, got .*object"),
        (np.array([1j] * 60), "Complex data not supported"),
        ([{1}, {2}] * 30, r"y must be an indicator matrix of shape .* Hint: .* sklearn.*MultiLabelBinarizer"),
    ],
)
@pytest.mark.parametrize("model", [MLkNN(3), FixedThresholdsClassifier(MLkNN(3))], ids=["lazy", "thresholds"])
def test_refused_targets(model, y, message):
    """What is no label of two classes is refused with a hint."""
    with pytest.raises(ValueError, match=message):
        model.fit(problem(1)[0], y)


def test_one_label_of_a_series():
    """The name of a Series names the label; a nullable one is read as plain values."""
    X, y = problem(1)
    model = MLkNN(3).fit(X, pd.Series(y[:, 0], name="urgent", dtype="Int64"))
    assert model.label_names_.tolist() == ["urgent"]
    assert model.classes_.dtype == np.int64
    assert model.predict(X).dtype == np.int64
    assert model.loo_predict().shape == (60,)
    assert model.loo_predict_proba().shape == (60, 2)


@pytest.mark.parametrize("only", [0, 1, "a"])
def test_one_class(only):
    """A target of one class is predicted as such, with probability 1."""
    X, _ = problem(1)
    model = MLkNN(3).fit(X, np.array([only] * 60))
    assert model.classes_.tolist() == [only]
    assert set(model.predict(X)) == {only}
    assert model.predict_proba(X).tolist() == [[1.0]] * 60


@of_both
@pytest.mark.parametrize("n_labels", LABELS)
def test_skore(method, n_labels):
    """A report of skore reads the task from `classes_`; its ROC AUC of two labels is wrong, see decision 2."""
    skore = pytest.importorskip("skore")
    X, y = problem(n_labels)
    report = skore.EstimatorReport(
        clone(CLASSIFIERS[method]), X_train=X[:40], y_train=y[:40], X_test=X[40:], y_test=y[40:]
    )
    report.metrics.summarize().frame()
    assert report.metrics.accuracy() == pytest.approx(report.estimator_.score(X[40:], y[40:]))
