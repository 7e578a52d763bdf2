import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nearlabel.lazy import IBLR, BRkNN, LPkNN, MLkNN
from nearlabel.metrics import Metric, score_all
from nearlabel.neighbors import ExactNeighbors
from nearlabel.rivals import BinaryRelevance
from nearlabel.selection import tune_neighbors

METRICS = ("macro_f1", "hamming_loss", "one_error", "average_precision")


@pytest.fixture(scope="module")
def rows():
    """40 rows of different scales, and three labels that follow the place, more or less."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 2)) * [1, 30]
    Y = np.column_stack([X > 0, X[:, 0] > 0.8]) ^ (rng.random((40, 3)) < 0.1)
    return X, Y.astype(int)


@pytest.mark.parametrize("method", [BRkNN, LPkNN, MLkNN])
def test_all_measures_are_those_of_left_out_answers(rows, method):
    """The table holds what `loo_predict` and `loo_predict_proba` of single fits give, in any order of numbers."""
    X, Y = rows
    tuned = tune_neighbors(method(), X, Y, n_neighbors=(9, 2, 5), scoring=METRICS)
    assert list(tuned.cv_results_) == ["n_neighbors", *METRICS]
    assert tuned.cv_results_["n_neighbors"].tolist() == [2, 5, 9]
    for place, k in enumerate((2, 5, 9)):
        single = method(k).fit(X, Y)
        values = score_all(Y, single.loo_predict(), single.loo_predict_proba(), METRICS)
        assert {name: tuned.cv_results_[name][place] for name in METRICS} == values


@pytest.mark.parametrize(
    ("scoring", "best"), [("micro_f1", np.argmax), ("hamming_loss", np.argmin), ("coverage", np.argmin)]
)
def test_the_first_measure_decides_in_its_direction(rows, scoring, best):
    """Losses are minimised; the number is set, and the fit is that of the number."""
    X, Y = rows
    tuned = tune_neighbors(MLkNN(smoothing=0.5), X, Y, n_neighbors=20, scoring=(scoring, "macro_f1"))
    chosen = tuned.cv_results_["n_neighbors"][best(tuned.cv_results_[scoring])]
    assert tuned.n_neighbors == tuned.n_neighbors_ == chosen
    single = MLkNN(int(chosen), smoothing=0.5).fit(X, Y)
    np.testing.assert_array_equal(tuned.predict_proba(X), single.predict_proba(X))
    assert len(tuned.cv_results_["n_neighbors"]) == 20


def agreement(y_true, y_pred):
    """The share of equal cells."""
    return float(1 - np.mean(y_true != y_pred))


@pytest.mark.parametrize("scoring", [agreement, Metric("agreement", agreement), [agreement, "micro_f1"]])
def test_metrics_of_a_user(rows, scoring):
    """A function or a `Metric`, alone or in a list, decides and stands in the table under its name."""
    X, Y = rows
    tuned = tune_neighbors(MLkNN(), X, Y, n_neighbors=20, scoring=scoring)
    by_name = tune_neighbors(MLkNN(), X, Y, n_neighbors=20, scoring="hamming_loss")
    assert tuned.n_neighbors == by_name.n_neighbors
    np.testing.assert_allclose(tuned.cv_results_["agreement"], 1 - by_name.cv_results_["hamming_loss"])
    assert ("micro_f1" in tuned.cv_results_) == isinstance(scoring, list)


@pytest.mark.parametrize("cv", [None, 3])
def test_tags_and_one_label(rows, cv):
    """As for the indicator matrix that they stand for; the names are kept."""
    X, Y = rows
    tags = [[name for name, has in zip("abc", row, strict=True) if has] for row in Y]
    tuned = tune_neighbors(MLkNN(), X, tags, n_neighbors=4, cv=cv)
    expected = tune_neighbors(MLkNN(), X, Y, n_neighbors=4, cv=cv).cv_results_
    np.testing.assert_array_equal(tuned.cv_results_["micro_f1"], expected["micro_f1"])
    assert tuned.label_names_.tolist() == ["a", "b", "c"]
    one = tune_neighbors(MLkNN(), X, np.array(["no", "yes"])[Y[:, 0]], n_neighbors=4, cv=cv)
    expected = tune_neighbors(MLkNN(), X, Y[:, :1], n_neighbors=4, cv=cv).cv_results_
    np.testing.assert_array_equal(one.cv_results_["micro_f1"], expected["micro_f1"])
    assert set(one.predict(X)) <= {"no", "yes"}


def test_the_estimator_is_cloned(rows):
    """What was passed stays as it was."""
    X, Y = rows
    model = MLkNN(search=ExactNeighbors("manhattan"))
    tuned = tune_neighbors(model, X, Y, n_neighbors=3)
    assert model.n_neighbors == 10
    assert tuned.search_.metric == "manhattan"
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_pipelines(rows):
    """The steps before are fitted once to all rows; the table belongs to the last step."""
    X, Y = rows
    pipeline = make_pipeline(StandardScaler(), MLkNN())
    tuned = tune_neighbors(pipeline, X, Y, n_neighbors=8)
    alone = tune_neighbors(MLkNN(), StandardScaler().fit_transform(X), Y, n_neighbors=8)
    np.testing.assert_array_equal(tuned[-1].cv_results_["micro_f1"], alone.cv_results_["micro_f1"])
    np.testing.assert_array_equal(tuned.predict(X), alone.predict(StandardScaler().fit_transform(X)))
    raw = tune_neighbors(MLkNN(), X, Y, n_neighbors=8)
    assert not np.array_equal(raw.cv_results_["micro_f1"], alone.cv_results_["micro_f1"])


@pytest.mark.parametrize("cv", [None, 3])
def test_a_pipeline_of_the_classifier_alone(rows, cv):
    """A pipeline without other steps is tuned as the classifier is."""
    X, Y = rows
    tuned = tune_neighbors(make_pipeline(MLkNN()), X, Y, n_neighbors=4, cv=cv)
    alone = tune_neighbors(MLkNN(), X, Y, n_neighbors=4, cv=cv)
    np.testing.assert_array_equal(tuned[-1].cv_results_["micro_f1"], alone.cv_results_["micro_f1"])


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("method", [MLkNN, IBLR])
def test_folds(rows, method, storage):
    """With folds the answers of all are judged together; a pipeline's steps see the training part only."""
    X, Y = storage(rows[0]), storage(rows[1])
    cv = KFold(4, shuffle=True, random_state=3)
    pipeline = make_pipeline(StandardScaler(with_mean=False), method())
    tuned = tune_neighbors(pipeline, X, Y, n_neighbors=[1, 4], scoring=("one_error", "micro_f1"), cv=cv)
    truth, predicted, scores = [], [], []
    for training, held in cv.split(rows[0]):
        model = make_pipeline(StandardScaler(with_mean=False), method(4)).fit(X[training], Y[training])
        truth.append(rows[1][held])
        predicted.append(storage(model.predict(X[held])) @ np.eye(3))
        scores.append(model.predict_proba(X[held]))
    stacked = [np.vstack(parts) for parts in (truth, predicted, scores)]
    expected = score_all(*stacked, ["one_error", "micro_f1"])
    assert {name: tuned[-1].cv_results_[name][1] for name in expected} == pytest.approx(expected, abs=1e-12)
    assert tuned[-1].n_neighbors == tuned[-1].n_neighbors_


def test_default_folds(rows):
    """A classifier without leave-one-out answers gets five folds of shuffled rows; others get them if asked."""
    X, Y = rows
    shuffled = KFold(5, shuffle=True, random_state=0)
    tables = [tune_neighbors(IBLR(), X, Y, n_neighbors=3, cv=cv).cv_results_ for cv in (None, shuffled)]
    np.testing.assert_array_equal(tables[0]["micro_f1"], tables[1]["micro_f1"])
    loo = tune_neighbors(MLkNN(), X, Y, n_neighbors=3).cv_results_["micro_f1"]
    folds = tune_neighbors(MLkNN(), X, Y, n_neighbors=3, cv=2).cv_results_["micro_f1"]
    assert not np.array_equal(loo, folds)


def test_a_maximum_is_cut_to_the_rows_and_numbers_are_not(rows):
    """An int goes as far as the rows allow; a number that was named is an error."""
    X, Y = rows
    assert tune_neighbors(MLkNN(), X[:6], Y[:6]).cv_results_["n_neighbors"].tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="n_neighbors must be at most 4 where rows are held out, got 5"):
        tune_neighbors(MLkNN(), X[:6], Y[:6], n_neighbors=[5])
    with pytest.raises(ValueError, match="n_neighbors must be at most 2 where rows are held out, got 3"):
        tune_neighbors(BRkNN(), X[:6], Y[:6], n_neighbors=[3], cv=2)
    with pytest.raises(ValueError, match=r"X must have more samples .*, got n_samples=2"):
        tune_neighbors(MLkNN(), X[:2], Y[:2])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_neighbors": 0}, ValueError, "n_neighbors must be at least 1, got 0"),
        ({"n_neighbors": 2.5}, TypeError, "n_neighbors must be an integer, got 2.5"),
        ({"n_neighbors": []}, ValueError, "n_neighbors must name at least one number, got none"),
        ({"n_neighbors": "auto"}, TypeError, "n_neighbors must be an integer, got 'auto'"),
        (
            {"y": np.ones((40, 1), int), "scoring": "one_error"},
            ValueError,
            "defined for these label sets, got 'one_error'",
        ),
        ({"scoring": "f1"}, ValueError, "metric must be a name of the catalogue, a Metric or a function, got 'f1'"),
        ({"scoring": ()}, ValueError, "scoring must name at least one metric, got none"),
        ({"scoring": "empty_predictions"}, ValueError, "must begin with a metric that can decide, got 'empty_pred"),
        ({"scoring": 3}, TypeError, "scoring must be a metric or a list of metrics, got 3"),
        ({"cv": "given"}, ValueError, "cv must be a number of folds or a splitter for MLkNN, got 'given'"),
        ({"estimator": IBLR(), "cv": "loo"}, ValueError, "for IBLR, got 'loo'. It has no leave-one-out predictions"),
        ({"estimator": BinaryRelevance()}, TypeError, "must be a lazy classifier .*, got BinaryRelevance"),
        ({"estimator": make_pipeline(StandardScaler(), BinaryRelevance())}, TypeError, "got BinaryRelevance"),
    ],
)
def test_bad_arguments(rows, arguments, error, message):
    """Each is named, with what was expected."""
    X, Y = rows
    with pytest.raises(error, match=message):
        tune_neighbors(**{"estimator": MLkNN(), "X": X, "y": Y} | arguments)


@pytest.mark.filterwarnings("ignore:All labels are unknown")
@pytest.mark.parametrize("metric", ["micro_f1", "hamming_loss", "ranking_loss"])
def test_folds_with_unknown_cells(metric):
    """Each fold is learnt from its known cells, and all answers are judged by those."""
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 4, (40, 2)).astype(float), (rng.random((40, 3)) < 0.5).astype(float)
    Y[rng.random(Y.shape) < 0.5] = np.nan
    tuned = tune_neighbors(MLkNN(), X, Y, n_neighbors=[1, 3], scoring=metric, cv=4)
    for k, value in zip((1, 3), tuned.cv_results_[metric], strict=True):
        labels, scores = np.zeros(Y.shape, dtype=int), np.zeros(Y.shape)
        for training, held in KFold(4).split(X):
            fitted = MLkNN(k).fit(X[training], Y[training])
            labels[held], scores[held] = fitted.predict(X[held]), fitted.predict_proba(X[held])
        assert score_all(Y, labels, scores, [metric])[metric] == value
    with pytest.raises(ValueError, match="no unknown cells for LPkNN"):
        tune_neighbors(LPkNN(), X, Y, cv=4)
