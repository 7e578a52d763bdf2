"""`partial_fit` and `forget` of ML-MLM: after each step all equals a fit from nothing with the same landmarks."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.pipeline import make_pipeline

from conftest import CHECKS
from nearlabel import MLMLM, NeighborsClassifierCV, StreamClassifier
from nearlabel.labels import distinct_labelsets
from nearlabel.lazy._distance_regression import DistanceRegression, Equations
from nearlabel.models import updates
from nearlabel.models.updates import StaleThresholdsWarning
from nearlabel.preprocessing import FeatureScaler
from nearlabel.thresholds import TunedThresholdsClassifierCV
from nearlabel.utils.validation import as_dense

CONTAINERS = {"dense": np.asarray, "sparse": sparse.csr_array}
FIXED = {"power": 3.0, "ridge": 0.05}


class Drawn:
    """Rows, some of them equal, and label sets that depend on them."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def rows(self, n_rows):
        """Return numbers with one digit, so that some rows are equal."""
        return self.random.integers(-4, 5, size=(n_rows, 3)) / 4

    def labels(self, X, n_labels=5):
        """Return label sets."""
        slopes = np.resize([[1, 0, 0.5], [0, 1, 0], [-1, 0, 1], [0.5, -1, 0]], (n_labels, 3))
        return (X @ slopes.T + self.random.normal(size=(len(X), n_labels)) > 0.7).astype(np.int64)


def fitted_from_nothing(model, X, y):
    """Return a classifier with the landmarks, scaling, ridge and power of an updated one, fitted to its rows."""
    fitted = MLMLM(model.power_, ridge=model.ridge_, n_landmarks=len(model.landmarks_), left_out=model.left_out)
    fitted.fit(X, y)
    fitted._scaling, fitted._rows = model._scaling, model._scaling(fitted._queries(X))
    fitted._distances = fitted._distances.refitted(fitted._rows)
    fitted.landmarks_ = model.landmarks_
    rows = as_dense(fitted._rows)
    equal = (rows[:, np.newaxis] == rows[model.landmarks_]).all(axis=2)
    assert (equal.sum(axis=1) <= 1).all(), "landmarks are distinct"
    fitted._landmark_of = np.where(equal.any(axis=1), equal.argmax(axis=1), -1)
    fitted._regress(fitted._summed())
    return fitted


def rows_of(model):
    """Return the landmarks' features."""
    return as_dense(model._rows)[model.landmarks_]


def assert_like_a_fit(model, X, y, queries, groups=None):
    """Compare the answers to queries and about training samples."""
    expected = fitted_from_nothing(model, X, y)
    assert_array_equal(as_dense(model._rows), as_dense(expected._rows))
    assert_array_equal(as_dense(model.labelsets_), as_dense(expected.labelsets_))
    assert_array_equal(model._landmark_of, expected._landmark_of)
    assert_array_equal(as_dense(model.training_labels()), as_dense(y))
    assert (np.diff(model.landmarks_) > 0).all()
    apart = cdist(rows_of(model), rows_of(model)) + np.diag(np.full(len(model.landmarks_), np.inf))
    assert_allclose(model._usual, apart.min(axis=1), rtol=0, atol=1e-12)
    assert_allclose(model.predict_proba(queries), expected.predict_proba(queries), rtol=0, atol=1e-8)
    if groups is not None:
        assert_allclose(model.loo_predict_proba(), expected.loo_predict_proba(), rtol=0, atol=1e-8)
        assert_allclose(model.loo_predict_proba(groups), expected.loo_predict_proba(groups), rtol=0, atol=1e-8)


@pytest.mark.parametrize("n_landmarks", ["auto", 15])
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("container_of_y", CONTAINERS)
def test_200_steps(n_landmarks, container, container_of_y):
    """Single rows and batches come and go, landmarks among them, and labels come."""
    store_X, store_y = CONTAINERS[container], CONTAINERS[container_of_y]
    drawn = Drawn(seed=3)
    X = drawn.rows(40)
    y = drawn.labels(X)
    model = MLMLM(**FIXED, n_landmarks=n_landmarks).fit(store_X(X), store_y(y))
    for step in range(200):
        if len(X) > 25 and drawn.random.random() < 0.5:
            gone = drawn.random.choice(len(X), size=drawn.random.choice([1, 1, 2, 6]), replace=False)
            if step % 3 == 0:
                gone = model.landmarks_[:1]
            X, y = np.delete(X, gone, axis=0), np.delete(y, gone, axis=0)
            assert model.forget(gone) is model
        else:
            more = drawn.rows(drawn.random.choice([1, 1, 3, 8]))
            n_labels = y.shape[1] + (step % 50 == 49)
            y = np.vstack([np.pad(y, ((0, 0), (0, n_labels - y.shape[1]))), drawn.labels(more, n_labels)])
            X = np.vstack([X, more])
            assert model.partial_fit(store_X(more), store_y(y[-len(more) :])) is model
        groups = drawn.random.integers(0, 6, len(X)) if step % 5 == 0 else None
        assert_like_a_fit(model, store_X(X), store_y(y), store_X(drawn.rows(5)), groups)
        if n_landmarks == 15:
            assert len(model.landmarks_) == 15
    assert model.changes_["new_labels"] == [5, 6, 7, 8][: len(model.changes_["new_labels"])]


def problem(n_rows=60, seed=0):
    """Return rows without equal ones, label sets and queries."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_rows, 4))
    Y = (X @ random.normal(size=(4, 6)) + random.normal(size=(n_rows, 6)) > 0.8).astype(int)
    return X, Y, random.normal(size=(7, 4))


def test_landmarks_are_replaced():
    """By an equal row, else by the next row of the order; where all rows are landmarks, their number falls."""
    X, Y, queries = problem()
    X[50] = X[3]
    all_of_them = MLMLM(**FIXED).fit(X, Y)
    assert len(all_of_them.landmarks_) == 59
    all_of_them.forget([3])
    assert all_of_them.landmarks_.tolist() == list(range(59))
    assert_like_a_fit(all_of_them, np.delete(X, 3, 0), np.delete(Y, 3, 0), queries)
    assert len(all_of_them.forget([5, 6]).landmarks_) == 57
    some = MLMLM(**FIXED, n_landmarks=20).fit(X, Y)
    order = np.random.RandomState(0).permutation(59)
    distinct = np.delete(np.arange(60), 50)
    assert_array_equal(some.landmarks_, np.sort(distinct[order[:20]]))
    gone, following = distinct[order[4]], distinct[order[20]]
    some.forget([gone])
    expected = np.sort([*distinct[order[[*range(4), *range(5, 20)]]], following])
    assert_array_equal(some.landmarks_, expected - (expected > gone))
    assert_like_a_fit(some, np.delete(X, gone, 0), np.delete(Y, gone, 0), queries)


def test_a_new_row_is_no_landmark_until_one_goes():
    """Landmarks are fixed, even if all distinct rows were landmarks."""
    X, Y, queries = problem()
    model = MLMLM(**FIXED).fit(X[:50], Y[:50]).partial_fit(X[50:], Y[50:])
    assert_array_equal(model.landmarks_, np.arange(50))
    model.forget([7])
    assert_array_equal(model.landmarks_, np.arange(50))  # the first new row is one
    assert_like_a_fit(model, np.delete(X, 7, 0), np.delete(Y, 7, 0), queries)


def test_label_sets_come_and_go():
    """They are candidates while a row has them."""
    X, Y, _ = problem()
    Y[:] = Y[:, :1]
    model = MLMLM(**FIXED).fit(X, Y).partial_fit(X[:1] + 9, [[1, 0, 1, 0, 1, 0]])
    assert model.labelsets_.tolist() == [[0] * 6, [1, 0, 1, 0, 1, 0], [1] * 6]
    assert (0, 2, 4) in model.explain(X[:1] + 9)[0].neighbors["labels"].tolist()
    assert model.forget([60]).labelsets_.tolist() == [[0] * 6, [1] * 6]


def test_retune_selects_again():
    """Power and threshold are those of a fit with these landmarks; until then a prediction warns, once."""
    X, Y, queries = problem()
    model = MLMLM(n_landmarks=40).fit(X[:40], Y[:40])
    before, threshold = model.cv_results_["ranking_loss"], model.threshold_
    assert not model.power_stale_
    model.partial_fit(X[40:], Y[40:])
    assert model.power_stale_
    assert model.threshold_ == threshold
    with pytest.warns(StaleThresholdsWarning, match="power_ and threshold_ were selected before") as warned:
        model.predict(queries)
    assert [warning.filename for warning in warned] == [__file__]
    model.predict(queries)  # a second warning would be an error
    model.retune()
    assert not model.power_stale_
    assert not np.array_equal(before, model.cv_results_["ranking_loss"])
    assert model.loo_predict().sum() == Y.sum()
    expected = fitted_from_nothing(model, X, Y)
    expected.power = "auto"
    expected._choose_power(Y, np.random.RandomState(0), expected._regression.left_out(expected._summed()))
    assert (model.power_, model.threshold_) == (expected.power_, pytest.approx(expected.threshold_))


def test_sums_are_computed_anew(monkeypatch):
    """Where they are not known, after many rows, and if the rows that went had most of them."""
    X, Y, queries = problem()
    calls, sum_up = [], MLMLM._summed
    monkeypatch.setattr(MLMLM, "_summed", lambda self: (calls.append(1), sum_up(self))[1])
    model = MLMLM(**FIXED).fit(X, Y)
    model.forget([0]).partial_fit(X[:1], Y[:1])
    assert len(calls) == 1
    pickle.loads(pickle.dumps(model)).forget([0])
    assert len(calls) == 2
    model.partial_fit(X[:1] * 1e5, Y[:1])
    assert len(calls) == 2
    model.forget([60])
    assert len(calls) == 3
    assert_like_a_fit(model, np.vstack([X[1:], X[:1]]), np.vstack([Y[1:], Y[:1]]), queries)
    monkeypatch.setattr("nearlabel.lazy._mlmlm_updates._MOST_CHANGED", 1)
    calls.clear()
    model.forget([0]).forget([0])
    assert len(calls) == 1


@pytest.mark.filterwarnings("ignore::nearlabel.models.updates.StaleThresholdsWarning")
def test_names_of_rows_tags_and_one_label():
    """As of the other lazy methods."""
    X, _, _ = problem(20)
    tags = [["a"], ["b"], ["a", "b"], []] * 5
    frame = pd.DataFrame(X, index=[f"r{row}" for row in range(20)])
    model = MLMLM().fit(frame, tags)
    model.partial_fit(frame[:2].rename(index={"r0": "new", "r1": "newer"}), [["c"], ["a"]], classes=["d"])
    assert model.label_names_.tolist() == ["a", "b", "c", "d"]
    model.forget(["r3", "new"])
    assert model._row_names.tolist() == [f"r{row}" for row in range(20) if row != 3] + ["newer"]
    assert model.changes_ == {"added": 2, "forgotten": 2, "new_labels": ["c", "d"]}
    with pytest.raises(ValueError, match="rows must be names in the index of X, got 'r3', which is not in it"):
        model.forget(["r3"])
    column = MLMLM(**FIXED).partial_fit(X[:5], ["yes"] * 5).partial_fit(X[5:], ["no", "yes", "no"] * 5)
    assert column.classes_.tolist() == ["no", "yes"]
    assert set(column.predict(X).tolist()) == {"no", "yes"}
    early = MLMLM().partial_fit(X, tags, classes=["z"])
    assert early.label_names_.tolist() == ["a", "b", "z"]
    assert not early.power_stale_
    assert_array_equal(early.predict(X)[:, 2], np.zeros(20))


def test_labels_of_all_rows():
    """Their score is 1 while all rows have them."""
    X, Y, queries = problem()
    Y[:, 0] = 1
    model = MLMLM(**FIXED).fit(X, Y).partial_fit(X[:1] + 1, 1 - Y[:1])
    assert (model.predict_proba(queries)[:, 0] < 1).all()
    assert (model.forget([60]).predict_proba(queries)[:, 0] == 1).all()


def state(model):
    """Return what a model is, with its sums."""
    return pickle.dumps(model), *(part.tobytes() for part in model._regression.equations[:2])


def test_errors_and_interruptions_change_nothing(monkeypatch):
    """Whatever is wrong."""
    X, Y, _ = problem()
    model = MLMLM(**FIXED).fit(X, Y)
    before = state(model)
    for wrong, message in (
        (lambda: model.partial_fit(X[:, :3], Y), "X has 3 features"),
        (lambda: model.partial_fit(X[:2], Y[:3]), "inconsistent numbers of samples"),
        (lambda: model.partial_fit(X[:2], Y[:2, :3]), "y must have at least 6 columns"),
        (lambda: model.partial_fit(X[:1], [[np.nan] * 6]), "y must have no unknown cells for MLMLM, got 6"),
        (lambda: model.partial_fit([[np.nan] * 4], Y[:1]), "NaN"),
        (lambda: model.partial_fit([[1e300] * 4], Y[:1]), "X"),
        (lambda: model.forget([60]), "rows must be numbers from 0 to 59, got 60"),
        (lambda: model.forget([1, 1]), "rows must name each row once"),
        (lambda: model.forget(range(60)), "rows must leave at least 1 training sample, got 60 of 60"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()
        assert state(model) == before
    assert model.forget([]) is model

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(DistanceRegression, "fit", interrupt)
    for change in (lambda: model.partial_fit(X[:1], Y[:1]), lambda: model.forget([0])):
        with pytest.raises(KeyboardInterrupt):
            change()
        assert state(model) == before


@pytest.mark.parametrize("n_landmarks", ["auto", 20])
def test_a_forgotten_row_is_in_no_pickle(n_landmarks):
    """Its features, label set and name, whether it was a landmark or not."""
    X, Y, _ = problem()
    Y = np.hstack([Y, np.random.default_rng(1).integers(0, 2, (60, 34))])
    model = MLMLM(**FIXED, n_landmarks=n_landmarks).fit(
        pd.DataFrame(X, index=[f"name-of-{row:02d}" for row in range(60)]), Y
    )
    rows = [model.landmarks_[4], *np.setdiff1d(np.arange(60), model.landmarks_)[:1]]
    values = [value.tobytes() for value in model._rows[rows].ravel()]
    names = [f"name-of-{row:02d}".encode("utf-32-le") for row in rows]
    traces = [*values, *names, *(Y[row].tobytes() for row in rows)]
    assert all(trace in pickle.dumps(model) for trace in traces)
    model.forget(rows)
    assert not any(trace in pickle.dumps(model) for trace in traces)


def test_a_pickle_has_no_sums():
    """They come from the rows when they are needed; predictions are the same."""
    X, Y, queries = problem()
    model = MLMLM(**FIXED).fit(X, Y)
    read = pickle.loads(pickle.dumps(model))
    assert read._regression.equations is None
    assert_array_equal(read.predict_proba(queries), model.predict_proba(queries))
    assert_array_equal(read.loo_predict_proba(), model.loo_predict_proba())
    assert_array_equal(read.forget([3]).predict_proba(queries), MLMLM.predict_proba(read, queries))
    assert_like_a_fit(read, np.delete(X, 3, 0), np.delete(Y, 3, 0), queries)


def test_in_thresholds_and_pipelines():
    """Thresholds are stale until `retune`, which tunes them on the new leave-one-out scores."""
    X, Y, queries = problem()
    model = make_pipeline(FeatureScaler("minmax"), TunedThresholdsClassifierCV(MLMLM(scale="none"), cv="loo"))
    model.fit(X[:50], Y[:50])
    tuned = model[-1]
    updates.partial_fit(model, X[50:], Y[50:])
    updates.forget(model, [3, 55])
    assert tuned.thresholds_stale_
    assert tuned.estimator_.power_stale_
    with pytest.warns(StaleThresholdsWarning, match="thresholds_ were tuned"):
        model.predict(queries)
    updates.retune(model)
    assert not tuned.thresholds_stale_
    assert not tuned.estimator_.power_stale_
    inner = tuned.estimator_
    expected = tuned._new_strategy().fit(inner.loo_predict_proba(), inner.training_labels())
    assert_array_equal(tuned.thresholds_, expected.thresholds_)
    wider = np.hstack([Y[:2], [[1], [0]]])
    updates.partial_fit(model, X[:2] + 1, wider)
    assert tuned.thresholds_.shape == (7,)
    assert not tuned.thresholds_stale_


@pytest.mark.filterwarnings("ignore::nearlabel.models.updates.StaleThresholdsWarning")
def test_in_a_choice_of_methods():
    """Tags and names of labels go through it; the choice stays."""
    X, Y, queries = problem()
    tags = [tuple("abcdef"[label] for label in np.flatnonzero(row)) for row in Y]
    chooser = NeighborsClassifierCV(methods=[MLMLM(scale="none")], scales=["minmax"])
    assert not updates.can_be_updated(chooser)
    chooser.fit(X[:50], tags[:50])
    assert chooser.best_estimator_[-1].estimator.get_params() == MLMLM(scale="none").get_params()
    *steps, (_, tuned) = chooser.best_estimator_.steps
    scaled = steps[0][1].transform(queries)
    before = tuned.estimator_.predict_proba(scaled)  # a label more changes the map of the scores, which all share
    assert updates.partial_fit(chooser, X[50:], [*tags[50:-1], ("new",)]) is chooser
    assert chooser.label_names_.tolist() == [*"abcdef", "new"]
    assert chooser.changes_ == {"added": 10, "forgotten": 0, "new_labels": ["new"]}
    assert not chooser.thresholds_stale_  # a new label needs a threshold
    chooser.forget(np.arange(50, 60))
    assert chooser.thresholds_stale_
    assert updates.updated_part(chooser) is chooser
    assert updates.lazy_part(chooser).power_stale_
    chooser.retune()
    assert not chooser.thresholds_stale_
    assert_allclose(chooser.best_estimator_[-1].estimator_.predict_proba(scaled)[:, :6], before, atol=1e-8)
    assert_array_equal(chooser.predict(queries)[:, 6], np.zeros(7))
    with pytest.raises(ValueError, match="y must be an array without names"):
        NeighborsClassifierCV(methods=[MLMLM()]).fit(X, Y).partial_fit(X, tags)


def test_a_stream_refuses_it():
    """It has no neighbours to weigh."""
    X, Y, _ = problem()
    for estimator in (MLMLM(), TunedThresholdsClassifierCV(MLMLM(), cv="loo")):
        with pytest.raises(TypeError, match=r"estimator must be a method by votes of neighbours, .* got"):
            StreamClassifier(estimator).fit(X, Y)


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    """The contract of a multi-label classifier."""
    check(MLMLM())


def test_equations_of_label_sets():
    """The sums of moved ones equal those that are computed."""
    random = np.random.default_rng(0)
    D, y = random.random((30, 6)), random.integers(0, 2, (30, 3))
    labelsets, labelset_of, _ = distinct_labelsets(y)
    whole = Equations.of([(D, labelset_of)], 6, len(labelsets), 0.1)
    moved = whole.moved(np.array([3, 1, -1]), np.array([1, -1, 0]))
    assert_array_equal(moved.squares[:2, :2], whole.squares[np.ix_([3, 1], [3, 1])])
    assert_array_equal(moved.squares[2], 0)
    assert_array_equal(moved.sums[[0, 2], :2], whole.sums[np.ix_([1, 0], [3, 1])])
    assert_array_equal(moved.sums[1], 0)
