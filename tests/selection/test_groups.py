"""Groups of rows that are held out together, wherever rows are held out."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, LeaveOneGroupOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nearlabel.lazy import IBLR, BRkNN, CMLkNN, LPkNN, MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.rivals import BinaryRelevance
from nearlabel.selection import NeighborsPerLabel, tune_neighbors
from nearlabel.thresholds import FixedThresholdsClassifier, MicroFOptimum, TunedThresholdsClassifierCV, cross_val_scores


@pytest.fixture(scope="module")
def rows():
    """60 rows, 20 of them three times, with a little noise in the label sets of the copies."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = (X + rng.normal(size=X.shape) > 0.2).astype(int)
    which = np.r_[np.arange(40), np.arange(20) % 10]
    return X[which], y[which] ^ (rng.random((60, 3)) < 0.05), which


@pytest.mark.parametrize("method", [BRkNN, LPkNN, MLkNN])
def test_the_table_is_that_of_leaving_groups_out(rows, method):
    """For every number of neighbours from one search; the same as scikit-learn's splitter by refits."""
    X, y, groups = rows
    tuned = tune_neighbors(method(), X, y, n_neighbors=(1, 4, 9), groups=groups)
    expected = [micro_f1(y, method(k).fit(X, y).loo_predict(groups)) for k in (1, 4, 9)]
    assert tuned.cv_results_["micro_f1"].tolist() == expected
    by_refits = tune_neighbors(method(), X, y, n_neighbors=(1, 4, 9), groups=groups, cv=LeaveOneGroupOut())
    assert by_refits.cv_results_["micro_f1"].tolist() == expected
    assert tuned.n_neighbors == by_refits.n_neighbors


def test_copies_no_longer_answer_for_each_other():
    """Every row twice: with one neighbour leave-one-out reports a perfect score, leaving out both an honest one."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(50, 3)), 2, axis=0), np.repeat(rng.integers(0, 2, (50, 2)), 2, axis=0)
    pairs = np.arange(100) // 2
    assert tune_neighbors(BRkNN(), X, y, n_neighbors=3).cv_results_["micro_f1"][0] == 1
    once = tune_neighbors(BRkNN(), X[::2], y[::2], n_neighbors=[1]).cv_results_["micro_f1"]
    assert tune_neighbors(BRkNN(), X, y, n_neighbors=[1], groups=pairs).cv_results_["micro_f1"] == once


@pytest.mark.parametrize("method", [MLkNN, IBLR])
def test_folds_of_groups(rows, method):
    """An int makes folds of groups; a method without leave-one-out answers has such folds by default."""
    X, y, groups = rows
    cv = 4 if method is MLkNN else None
    tuned = tune_neighbors(method(), X, y, n_neighbors=[2, 3], groups=groups.astype(str), cv=cv)
    splitter = GroupKFold(4) if method is MLkNN else GroupKFold(5, shuffle=True, random_state=0)
    numbers = np.unique(groups.astype(str), return_inverse=True)[1]
    same = tune_neighbors(method(), X, y, n_neighbors=[2, 3], cv=list(splitter.split(X, y, numbers)))
    np.testing.assert_array_equal(tuned.cv_results_["micro_f1"], same.cv_results_["micro_f1"])
    assert tuned.n_neighbors == same.n_neighbors


def test_a_pipeline(rows):
    """Its other steps have seen the rows that are left out; with folds they have not."""
    X, y, groups = rows
    pipeline = make_pipeline(StandardScaler(), MLkNN())
    tuned = tune_neighbors(pipeline, X, y, n_neighbors=[2, 6], groups=groups)
    alone = tune_neighbors(MLkNN(), StandardScaler().fit_transform(X), y, n_neighbors=[2, 6], groups=groups)
    np.testing.assert_array_equal(tuned[-1].cv_results_["micro_f1"], alone.cv_results_["micro_f1"])


@pytest.mark.parametrize("scoring", ["macro_f1", "hamming_loss"])
def test_a_number_for_each_label(rows, scoring):
    """Chosen by label sets that rows of the group have no part in."""
    X, y, groups = rows
    model = NeighborsPerLabel(scoring=scoring, max_neighbors=8).fit(X, y, groups)
    answers = [MLkNN(k).fit(X, y).loo_predict(groups) for k in range(1, 9)]
    wrong = np.array([((answer != y).sum(axis=0)) for answer in answers])
    table = model.cv_results_
    np.testing.assert_array_equal(table["false_positives"] + table["false_negatives"], wrong)
    if scoring == "hamming_loss":
        np.testing.assert_array_equal(model.n_neighbors_, wrong.argmin(axis=0) + 1)


@pytest.mark.parametrize("method", [BRkNN(4), MLkNN(4), CMLkNN(4), make_pipeline(StandardScaler(), LPkNN(4))])
def test_thresholds_by_leaving_groups_out(rows, method):
    """Without routing, and with it."""
    X, y, groups = rows
    tuned = TunedThresholdsClassifierCV(method, cv="loo").fit(X, y, groups=groups)
    fitted = clone(method).fit(X, y)
    scores = getattr(fitted, "steps", [(None, fitted)])[-1][1].loo_predict_proba(groups)
    np.testing.assert_array_equal(tuned.thresholds_, MicroFOptimum().fit(scores, y).thresholds_)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = TunedThresholdsClassifierCV(clone(method), cv="loo").fit(X, y, groups=groups)
    np.testing.assert_array_equal(routed.thresholds_, tuned.thresholds_)


@pytest.mark.parametrize("cv", [3, GroupKFold(3)])
def test_thresholds_on_folds_of_groups(rows, cv):
    """An int means folds of groups, a splitter gets the groups; any classifier."""
    X, y, groups = rows
    model = BinaryRelevance(LogisticRegression())
    tuned = TunedThresholdsClassifierCV(model, cv=cv).fit(X, y, groups=groups)
    splits = list(GroupKFold(3).split(X, y, groups))
    scores, order = cross_val_scores(model, X, y, cv=splits)
    np.testing.assert_array_equal(tuned.thresholds_, MicroFOptimum().fit(scores, y[order]).thresholds_)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = TunedThresholdsClassifierCV(model, cv=cv).fit(X, y, groups=groups)
    np.testing.assert_array_equal(routed.thresholds_, tuned.thresholds_)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y: tune_neighbors(MLkNN(), X, y, groups=[1, 2]), r"groups must be of shape \(60,\)"),
        (lambda X, y: tune_neighbors(MLkNN(), X, y, groups=np.arange(60) % 3, cv=4), "cv must be at most the 3 groups"),
        (
            lambda X, y: tune_neighbors(MLkNN(), X, y, groups=np.zeros(60)),
            "X must have more samples to leave some out",
        ),
        (lambda X, y: tune_neighbors(MLkNN(), X, y, n_neighbors=[30], groups=np.arange(60) % 2), "at most 29 where"),
        (lambda X, y: NeighborsPerLabel().fit(X, y, [0]), r"groups must be of shape \(60,\)"),
        (lambda X, y: TunedThresholdsClassifierCV(MLkNN(), cv="loo").fit(X, y, groups=[0]), r"of shape \(60,\)"),
        (lambda X, y: FixedThresholdsClassifier(MLkNN(), 0.3).fit(X, y, groups=y[:, 0]), "only if metadata routing"),
    ],
)
def test_bad_groups(rows, call, message):
    """Each says what was expected."""
    X, y, _ = rows
    with pytest.raises(ValueError, match=message):
        call(X, y)
