"""Tags in, tags out: every classifier takes a list of tags for each row, and names what it predicts."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _classifiers import SMALL, default_classifiers
from nearlabel.datasets import examine
from nearlabel.experiments import Plan, run
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.persistence import DataSummary
from nearlabel.plots import CoOccurrenceDisplay
from nearlabel.preprocessing import InformationGainSelector
from nearlabel.selection import IterativeStratifiedKFold
from nearlabel.thresholds import TunedThresholdsClassifierCV
from nearlabel.utils.validation import as_dense

CLASSIFIERS = default_classifiers() | SMALL
X = np.random.default_rng(0).normal(size=(40, 3))
Y = (X + 0.3 * np.random.default_rng(1).normal(size=X.shape) > 0.2).astype(int)
NAMES = np.array(["calm", "happy", "zany"])
TAGS = [list(NAMES[row == 1][::-1]) for row in Y]  # in any order


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier(name):
    """As a data frame with these columns, but for the container of predictions."""
    model = clone(CLASSIFIERS[name])
    by_tags, by_frame = clone(model).fit(X, TAGS), model.fit(X, pd.DataFrame(Y, columns=NAMES))
    assert by_tags.label_names_.tolist() == NAMES.tolist()
    predicted = by_tags.predict(X)
    np.testing.assert_array_equal(predicted, by_frame.predict(X))
    expected = [tuple(NAMES[row == 1].tolist()) for row in predicted]
    assert by_tags.predict_labels(X) == by_frame.predict_labels(X) == expected


@pytest.mark.parametrize(
    "store",
    [
        list,
        tuple,
        pd.Series,
        pl.Series,
        pa.array,
        lambda tags: [set(row) for row in tags],
        lambda tags: [tuple(row) for row in tags],
        lambda tags: pd.Series([np.array(row, dtype=object) for row in tags], index=np.arange(40)[::-1]),
        lambda tags: np.array([*tags, None], dtype=object)[:-1],
    ],
)
def test_whatever_holds_them(store):
    """Lists, frames' columns, arrays of lists; a row without tags is a row without labels."""
    model = BRkNN(1).fit(X, store(TAGS))
    np.testing.assert_array_equal(model.predict(X), Y)
    assert [] in TAGS
    assert () in model.predict_labels(X)


def test_rows_of_equally_many_tags():
    """They look like a matrix of texts."""
    model = BRkNN(1).fit([[0.0], [1.0]], [["b", "a"], ["a", "c"]])
    assert model.predict_labels([[0.0], [1.0]]) == [("a", "b"), ("a", "c")]


def test_tags_become_names_in_explanations_and_thresholds():
    """A pipeline and tuned thresholds pass them on."""
    model = make_pipeline(StandardScaler(), TunedThresholdsClassifierCV(MLkNN(), cv="loo")).fit(X, TAGS)
    assert set(sum(model[-1].predict_labels(StandardScaler().fit_transform(X)), ())) <= set(NAMES)
    (explanation,) = MLkNN().fit(X, TAGS).explain(X[:1])
    assert explanation.labels["name"].tolist() == NAMES.tolist()


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_names_of_numbers(store):
    """Without names the column numbers are the names."""
    model = BRkNN(3).fit(X, store(Y))
    assert model.predict_labels(X) == [tuple(np.flatnonzero(row).tolist()) for row in as_dense(model.predict(X))]


def test_names_of_one_label():
    """A one-dimensional y has classes."""
    model = BRkNN(3).fit(X, NAMES[Y[:, 0]])
    assert model.predict_labels(X) == [(one,) for one in model.predict(X)]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([["a"], ["b", 3]], "Hint: classifiers accept lists of tags if all tags are str"),
        ([["a"], ["b", None]], r"unequal length\. Row 1 has a tag that is not a str: None\. Hint"),
        ([["a"], ["b", 3], []], r"unequal length\. Row 1 has a tag that is not a str: 3\. Hint"),
        ([["a", "b"], 3, ["c"]], r"unequal length\. Row 1 is not a list of tags: 3\. Hint"),
        ([["a"], None, ["c"]], "inconsistent numbers of samples"),
        ([[1], [2, 3]], "must be an indicator matrix .*, got rows of unequal length"),
        ([[], []], "y must have at least one label"),
        ([["a"]], "inconsistent numbers of samples"),
    ],
)
def test_what_are_no_tags(y, message):
    """The message says what is."""
    with pytest.raises(ValueError, match=message):
        BRkNN(1).fit([[0.0], [1.0]], y)


@pytest.mark.parametrize("name", ["MLkNN", "BinaryRelevance", "TunedThresholdsClassifierCV"])
@pytest.mark.parametrize("store", [list, pd.Series])
def test_score(name, store):
    """Tags score as their indicator matrix does; an unknown tag makes its row a wrong one."""
    model = clone(CLASSIFIERS[name]).fit(X, store(TAGS))
    weights = np.arange(1, 41)
    by_matrix = clone(model).fit(X, Y)
    assert model.score(X, store(TAGS)) == by_matrix.score(X, Y)
    assert model.score(X, store(TAGS), weights) == pytest.approx(by_matrix.score(X, Y, weights), abs=1e-15)
    assert model.score(X, store([[*row, "new"] for row in TAGS])) == 0
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X[:3], store(TAGS))


def test_score_of_sparse_frames():
    """A data frame of sparse columns scores as an array."""
    frame = pd.DataFrame(Y, columns=NAMES)
    model = MLkNN(3).fit(X, frame)
    assert model.score(X, frame.astype(pd.SparseDtype(int, 0))) == model.score(X, Y) == model.score(X, frame)


def test_searches_and_selectors():
    """Our folds and our selector take tags, so that a grid search over a pipeline does."""
    pipeline = make_pipeline(InformationGainSelector(threshold=0.0), MLkNN())
    grid = GridSearchCV(pipeline, {"mlknn__n_neighbors": [3, 5]}, cv=IterativeStratifiedKFold(3))
    by_tags, by_matrix = clone(grid).fit(X, TAGS), clone(grid).fit(X, Y)
    np.testing.assert_array_equal(by_tags.cv_results_["mean_test_score"], by_matrix.cv_results_["mean_test_score"])


def test_whoever_takes_data_takes_tags():
    """Experiments, the doctor, summaries of data and pictures know the names."""
    frame = pd.DataFrame(Y, columns=NAMES)
    plan = Plan({"brknn": BRkNN()}, [3], metrics=["micro_f1"], cv=2)
    assert run(plan, {"songs": (X, TAGS)}) == run(plan, {"songs": (X, frame)})
    assert str(examine(X, TAGS)) == str(examine(X, frame))
    assert DataSummary.of_data((X, TAGS)) == DataSummary.of_data((X, frame))
    pytest.importorskip("matplotlib")
    assert sorted(CoOccurrenceDisplay.from_labels(TAGS).label_names) == list(NAMES)
