"""Data frames whose rows or columns have other names or another order, and arrays with a mask."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.model_selection import GridSearchCV

from nearlabel import metrics
from nearlabel.audit import Correction, apply_corrections, self_confidence
from nearlabel.datasets import duplicate_groups, examine
from nearlabel.labels import cardinality
from nearlabel.lazy import BRkNN, DMLkNN, MLkNN, StreamClassifier
from nearlabel.neighbors import ExactNeighbors
from nearlabel.preprocessing import MLSMOTE, MixedFeaturesEncoder, information_gain
from nearlabel.rivals import BinaryRelevance, SoftVote
from nearlabel.selection import NeighborsClassifierCV, tune_neighbors
from nearlabel.thresholds import MicroFOptimum, TunedThresholdsClassifierCV, cross_val_scores
from nearlabel.utils.containers import check_row_names, without_mask
from nearlabel.utils.messages import AdviceWarning

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.random((24, 3)), columns=list("pqr"))
Y = pd.DataFrame((X.to_numpy() > 0.5).astype(int), columns=["sad", "calm", "loud"])
MASK = np.zeros((24, 3), dtype=bool)
MASK[2, 1] = MASK[5, 0] = True
ORDERS = {"reversed": range(23, -1, -1), "other numbers": range(100, 124)}


def renamed(frame, names):
    """Return a frame with another index."""
    return frame.set_axis(pd.Index(names))


def warnings_of(work):
    """Return the texts of all warnings about indexes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    return [str(one.message) for one in caught if "different indexes" in str(one.message)]


DOORS = {
    "fit": lambda y: MLkNN(3).fit(X, y),
    "fit with weights": lambda y: BinaryRelevance().fit(X, y, np.ones(24)),
    "partial_fit": lambda y: MLkNN(3).fit(X, Y).partial_fit(X, y),
    "first partial_fit": lambda y: MLkNN(3).partial_fit(X, y),
    "stream": lambda y: StreamClassifier(MLkNN(3)).partial_fit(X, y),
    "score": lambda y: MLkNN(3).fit(X, Y).score(X, y),
    "thresholds": lambda y: TunedThresholdsClassifierCV(MLkNN(3), cv=2, random_state=0).fit(X, y),
    "cross_val_scores": lambda y: cross_val_scores(MLkNN(3), X, y, cv=2, random_state=0),
    "mixture": lambda y: SoftVote([("a", MLkNN(3)), ("b", BRkNN(3))], cv=2, random_state=0).fit(X, y),
    "tune_neighbors": lambda y: tune_neighbors(MLkNN(), X, y, n_neighbors=3),
    "tune_neighbors by folds": lambda y: tune_neighbors(MLkNN(), X, y, n_neighbors=3, cv=2),
    "choice": lambda y: NeighborsClassifierCV(n_neighbors=(2, 3), methods=(MLkNN(),)).fit(X, y),
    "sampler": lambda y: MLSMOTE(random_state=0).fit_resample(X, y),
    "information_gain": lambda y: information_gain(X, y),
    "examine": lambda y: examine(X, y, search=False),
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("door", DOORS)
def test_every_door_warns_once(door, order):
    """Rows are matched by place; the warning names the first place and the remedy."""
    (text,) = warnings_of(lambda: DOORS[door](renamed(Y, ORDERS[order])))
    assert text.startswith("X and y have different indexes, but their rows are matched by place: row 0, counted from")
    assert text.endswith("if the places are right, y = y.set_axis(X.index) makes the indexes equal.")
    assert ("y = y.loc[X.index] matches them by name" in text) == (order == "reversed")


@pytest.mark.parametrize("door", DOORS)
def test_no_door_warns_of_equal_indexes(door):
    """Neither of the same, nor of arrays, which have no names of rows."""
    assert warnings_of(lambda: DOORS[door](Y)) == []
    assert warnings_of(lambda: DOORS[door](Y.to_numpy())) == []


@pytest.mark.parametrize(
    ("first", "second", "place"),
    [
        (list("abcd"), list("abdc"), "row 2, counted from 0, is 'c' in X and 'd' in y. Both have"),
        (list("abcd"), list("wxyz"), "row 0, counted from 0, is 'a' in X and 'w' in y. Hint"),
        ([5, 6, 7, 8], [5, 6, 7, 9], "row 3, counted from 0, is 8 in X and 9 in y. Hint"),
        (["a", "a", "b", "c"], ["a", "b", "a", "c"], "row 1, counted from 0, is 'a' in X and 'b' in y. Hint"),
        ([("a", 1), ("b", 2)], [("b", 2), ("a", 1)], "row 0, counted from 0, is ('a', 1) in X and ('b', 2) in y. Both"),
        (pd.RangeIndex(4), [3, 1, 2, 0], "row 0, counted from 0, is 0 in X and 3 in y. Both"),
        (pd.RangeIndex(3), pd.RangeIndex(1, 4), "row 0, counted from 0, is 0 in X and 1 in y. Hint"),
        ([0.0, np.nan, 1.0], [0.0, np.nan, 2.0], "row 2, counted from 0, is 1.0 in X and 2.0 in y. Hint"),
    ],
)
def test_the_first_difference(first, second, place):
    """In any kind of index; names that come twice cannot be matched."""
    frames = [pd.Series(0, index=pd.Index(index)) for index in (first, second)]
    with pytest.warns(AdviceWarning, match="different indexes") as caught:
        check_row_names(X=frames[0], y=frames[1])
    assert place in str(caught[0].message)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (pd.RangeIndex(4), list("abcd")),
        (list("abcd"), pd.RangeIndex(4)),
        (pd.RangeIndex(3), pd.date_range("2020-01-01", periods=3)),
        (pd.RangeIndex(3), [0, 1, 2]),
        (["a", None], ["a", None]),
        (list("abc"), list("abcd")),
    ],
)
def test_no_disagreement(first, second):
    """A default index beside texts or dates, equal ones of two kinds, and lengths, which have an error of their own."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_row_names(X=pd.Series(0, index=first), y=pd.Series(0, index=second), groups=None, order=[1])


def test_weights_and_tags():
    """Series of weights and of tags have indexes too."""
    weights = pd.Series(1.0, index=range(23, -1, -1))
    (text,) = warnings_of(lambda: BRkNN(3).fit(X, Y, weights))
    assert text.startswith("X and sample_weight have different indexes")
    tags = pd.Series([["a"], ["b"]] * 12, index=range(23, -1, -1))
    assert len(warnings_of(lambda: MLkNN(3).fit(X, tags))) == 1


def test_a_grid_search_of_matching_frames():
    """Its folds are rows of both."""
    order = RNG.permutation(24)
    search = GridSearchCV(MLkNN(), {"n_neighbors": [1, 2]}, cv=2)
    assert warnings_of(lambda: search.fit(X.iloc[order], Y.iloc[order])) == []


FRAMES = {"pandas": lambda frame: frame, "polars": pl.from_pandas, "arrow": pa.Table.from_pandas}
OTHER = ["loud", "sad", "calm"]


@pytest.mark.parametrize("true", FRAMES)
@pytest.mark.parametrize("predicted", FRAMES)
def test_metrics_match_columns_by_name(true, predicted):
    """Equal label sets with columns in another order have no error, and a table has the order of y_true."""
    y_true, y_pred = FRAMES[true](Y), FRAMES[predicted](Y[OTHER])
    y_score = FRAMES[predicted](Y[OTHER].astype(float))
    assert metrics.micro_f1(y_true, y_pred) == 1.0
    assert metrics.ranking_loss(y_true, y_score) == 0.0
    assert metrics.log_loss(y_true, y_score) < 1e-6
    assert metrics.score_all(y_true, y_pred, y_score, metrics=["macro_f1", "one_error"]) == {
        "macro_f1": 1,
        "one_error": 0,
    }
    table = metrics.label_table(y_true, y_pred, y_score)
    assert table["label"].tolist() == list(Y)
    assert table["f1"].tolist() == table["roc_auc"].tolist() == [1, 1, 1]


@pytest.mark.parametrize("function", [metrics.micro_f1, metrics.ranking_loss])
@pytest.mark.parametrize(
    ("columns", "got"),
    [
        (["sad", "calm", "soft"], "no 'loud'"),
        (["sad", "calm"], "no 'loud'"),
        ([*Y, "soft"], "'soft' too"),
        ([*OTHER, "sad"], "one twice"),
    ],
)
def test_metrics_refuse_other_columns(function, columns, got):
    """The first that is missing is named."""
    other = pd.DataFrame(np.zeros((24, len(columns)), dtype=int), columns=columns)
    with pytest.raises(
        ValueError, match=rf"^y_\w+ must have the columns of y_true, each once, got {got}\. Hint: rename"
    ):
        function(Y, other)


def test_columns_without_names_are_matched_by_place():
    """Those of arrays, and the numbers that pandas gives."""
    assert metrics.micro_f1(Y, Y.to_numpy()) == metrics.micro_f1(Y, pd.DataFrame(Y.to_numpy())) == 1.0
    assert metrics.micro_f1(pd.DataFrame(Y.to_numpy()), Y) == metrics.micro_f1(Y.to_numpy(), Y[list(Y)]) == 1.0
    assert metrics.micro_f1(Y.astype(pd.SparseDtype(int, 0)), Y[OTHER].astype(pd.SparseDtype(int, 0))) == 1.0


def test_metrics_warn_of_other_rows():
    """Of predictions and of weights."""
    (text,) = warnings_of(lambda: metrics.micro_f1(Y, Y[::-1]))
    assert "y_pred = y_pred.loc[y_true.index] matches them by name" in text
    (text,) = warnings_of(lambda: metrics.micro_f1(Y, Y, sample_weight=pd.Series(1.0, index=range(23, -1, -1))))
    assert text.startswith("y_true and sample_weight have different indexes")
    assert warnings_of(lambda: metrics.micro_f1(Y, Y.to_numpy())) == []


def test_score_matches_columns_by_name():
    """With the labels of fit, from a frame or from tags; not where fit got no names."""
    model = MLkNN(1).fit(X, Y)
    assert model.score(X, Y[OTHER]) == model.score(X, Y) == model.score(X, Y.to_numpy())
    with pytest.raises(ValueError, match=r"y must have the columns of the fitted classifier, each once, got no 'loud'"):
        model.score(X, Y.rename(columns={"loud": "soft"}))
    scorer = metrics.get_scorer("ranking_loss")
    assert scorer(model, X, Y[OTHER]) == scorer(model, X, Y)
    unnamed = MLkNN(1).fit(X, Y.to_numpy())
    assert unnamed.score(X, Y) == model.score(X, Y)
    holes = Y.astype(float).mask(MASK)
    assert model.score(X, holes[OTHER]) == model.score(X, holes)


def test_other_pairs_of_frames():
    """Thresholds and audits match the columns of scores too."""
    scores = Y * 0.8 + 0.1
    expected = MicroFOptimum().fit(scores, Y).thresholds_
    np.testing.assert_array_equal(MicroFOptimum().fit(scores[OTHER], Y).thresholds_, expected)
    np.testing.assert_array_equal(self_confidence(scores[OTHER], Y), self_confidence(scores, Y))


@pytest.mark.parametrize("container", [lambda frame: frame, pl.from_pandas])
def test_features_in_another_order_are_refused(container):
    """As in scikit-learn."""
    model = MLkNN(1).fit(container(X), Y)
    for work in (model.predict, model.predict_proba, model.explain):
        with pytest.raises(ValueError, match=r"Feature names must be in the same order as they were in fit"):
            work(container(X[list("rqp")]))


# Masked arrays: what they hide is missing.

HIDDEN = np.ma.array(Y.to_numpy(), mask=MASK)
WITH_NAN = np.where(MASK, np.nan, Y)
MASKED_X = np.ma.array(X.to_numpy(), mask=MASK)


def test_without_mask():
    """Numbers become NaN, texts None; the type of floats stays."""
    np.testing.assert_array_equal(without_mask(HIDDEN), WITH_NAN)
    assert without_mask(HIDDEN.astype(np.float32)).dtype == np.float32
    assert without_mask(np.ma.array(["a", "b"], mask=[0, 1])).tolist() == ["a", None]
    np.testing.assert_array_equal(without_mask(list(HIDDEN)), WITH_NAN)
    assert without_mask(np.ma.array([1, 2])).tolist() == [1, 2]
    assert without_mask(Y) is Y


@pytest.mark.parametrize("y", [HIDDEN, list(HIDDEN), HIDDEN.astype(bool)], ids=["array", "list of rows", "bool"])
def test_masked_labels_are_unknown(y):
    """In fits, metrics, scores and audits; refused where all cells must be known."""
    np.testing.assert_array_equal(MLkNN(3).fit(X, y).predict_proba(X), MLkNN(3).fit(X, WITH_NAN).predict_proba(X))
    assert metrics.micro_f1(y, 1 - Y) == metrics.micro_f1(WITH_NAN, 1 - Y)
    assert MLkNN(3).fit(X, Y).score(X, y) == MLkNN(3).fit(X, Y).score(X, WITH_NAN)
    np.testing.assert_array_equal(self_confidence(Y * 0.8, y), self_confidence(Y * 0.8, WITH_NAN))
    assert cardinality(y) == cardinality(WITH_NAN)
    flipped = apply_corrections(y, [Correction(0, correct=1 - Y.iloc[0, 0], row=0)])
    np.testing.assert_array_equal(flipped[1:], WITH_NAN[1:])
    for fit in (DMLkNN(3).fit, NeighborsClassifierCV().fit, MLSMOTE().fit_resample):
        with pytest.raises(ValueError, match=r"y must have no unknown cells for \w+, got 2"):
            fit(X, y)
    with pytest.raises(ValueError, match="y_pred must contain 0 and 1 only, got NaN or not a number in 2 cells"):
        metrics.micro_f1(Y, y)


def test_a_masked_label():
    """One label of two classes; a method that needs all classes refuses it."""
    y = np.ma.array(Y["sad"], mask=MASK[:, 0])
    with pytest.warns(UserWarning, match="All labels are unknown in 1 of 24"):
        model = MLkNN(3).fit(X, y)
    with pytest.warns(UserWarning, match="All labels are unknown in 1 of 24"):
        expected = MLkNN(3).fit(X, np.where(MASK[:, 0], np.nan, Y["sad"])).predict(X)
    np.testing.assert_array_equal(model.predict(X), expected)
    with pytest.raises(ValueError, match="y must not contain NaN or infinity, got nan"):
        NeighborsClassifierCV().fit(X, y)


@pytest.mark.parametrize("rows", [MASKED_X, (MASKED_X * 10).astype(int), list(MASKED_X)], ids=["float", "int", "list"])
def test_masked_features_are_missing(rows):
    """So they are refused where NaN is, and never read."""
    fitted = MLkNN(3).fit(X.to_numpy(), Y)
    works = [
        lambda: MLkNN(3).fit(rows, Y),
        lambda: BinaryRelevance().fit(rows, Y),
        lambda: fitted.predict(rows),
        lambda: fitted.partial_fit(rows, Y),
        lambda: ExactNeighbors().fit(rows),
        lambda: ExactNeighbors().fit(X.to_numpy()).kneighbors(rows),
        lambda: information_gain(rows, Y),
        lambda: TunedThresholdsClassifierCV(MLkNN(3), cv=2, random_state=0).fit(rows, Y),
    ]
    for work in works:
        with pytest.raises(ValueError, match="contains NaN"):
            work()


def test_masked_features_where_missing_values_are_allowed():
    """They are the missing values."""
    with_nan = np.where(MASK, np.nan, X)
    encoded = MixedFeaturesEncoder().fit_transform(MASKED_X)
    np.testing.assert_array_equal(encoded, MixedFeaturesEncoder().fit_transform(with_nan))
    found_by = ExactNeighbors(metric="nan_euclidean").fit(MASKED_X).kneighbors(n_neighbors=2)
    for found, expected in zip(
        found_by, ExactNeighbors(metric="nan_euclidean").fit(with_nan).kneighbors(n_neighbors=2), strict=True
    ):
        np.testing.assert_array_equal(found, expected)
    same = np.ma.array([[1.0, 2.0], [1.0, 2.0]], mask=[[0, 0], [0, 1]])
    assert len(set(duplicate_groups(same).tolist())) == 2


def test_masked_scores_weights_and_groups():
    """Each is refused with the words for a missing value."""
    scores = np.ma.array(Y.to_numpy() * 0.5, mask=MASK)
    with pytest.raises(ValueError, match="y_score must not contain NaN, got NaN in column 0"):
        metrics.ranking_loss(Y, scores)
    hidden = np.ma.array(np.ones(24), mask=MASK[:, 0])
    with pytest.raises(ValueError, match="sample_weight must be finite numbers"):
        BRkNN(3).fit(X, Y, hidden)
    with pytest.raises(ValueError, match="groups must name the group of every sample, got nan for row 5"):
        tune_neighbors(MLkNN(), X, Y, n_neighbors=2, groups=hidden)


@pytest.mark.parametrize("dtype", ["Float64", "float64[pyarrow]"])
def test_missing_values_of_nullable_types(dtype):
    """A missing value of pandas is NaN among features, and an unknown cell among labels."""
    y = Y.astype(dtype).mask(MASK)
    np.testing.assert_array_equal(MLkNN(3).fit(X, y).training_labels(), WITH_NAN)
    assert metrics.micro_f1(y, 1 - Y) == metrics.micro_f1(WITH_NAN, 1 - Y)
    with pytest.raises(ValueError, match="contains NaN"):
        MLkNN(3).fit(X.astype(dtype).mask(MASK), Y)
