"""Predictions as data frames: names of labels, rows of X, and nothing else changes."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _classifiers import SMALL, default_classifiers
from nearlabel import FixedThresholdsClassifier, MLkNN, ResampledClassifier, TunedThresholdsClassifierCV
from nearlabel.metrics import micro_f1
from nearlabel.models import explain, predict_labels
from nearlabel.preprocessing import MLSMOTE
from nearlabel.utils.validation import as_dense

CLASSIFIERS = default_classifiers() | SMALL


def in_narwhals(frame):
    """Return a frame as code written with narwhals passes it on; scikit-learn installs it from 1.9 on."""
    return pytest.importorskip("narwhals").from_native(frame)


FEATURES, LABELS = ["u", "v", "w", "x"], ["a", "b", "c"]
ROWS = [f"sample {row}" for row in range(40)]
METHODS = ("predict", "predict_proba", "decision_function")
FRAMES = {
    "pandas": lambda array, names: pd.DataFrame(array, columns=names, index=ROWS),
    "polars": lambda array, names: pl.DataFrame(array, schema=names),
    "pyarrow": lambda array, names: pa.table(dict(zip(names, array.T, strict=True))),
    "narwhals": lambda array, names: in_narwhals(pl.DataFrame(array, schema=names)),
}
OUTPUTS = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.fixture(scope="module")
def problem():
    """40 samples with four features and three labels."""
    rng = np.random.RandomState(0)
    X = rng.standard_normal((40, 4))
    return X, (X[:, :3] + 0.5 * rng.standard_normal((40, 3)) > 0.1).astype(np.int64)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_classifier(name, output, problem):
    """The frame has the numbers of the array and the names of the labels; samples of pandas keep their names."""
    X, Y = (FRAMES["pandas"](array, names) for array, names in zip(problem, (FEATURES, LABELS), strict=True))
    model = clone(CLASSIFIERS[name]).fit(X, Y)
    expected = {method: getattr(model, method)(X) for method in METHODS if hasattr(model, method)}
    assert model.set_output(transform=output) is model
    for method, values in expected.items():
        frame = getattr(model, method)(X)
        assert type(frame) is OUTPUTS[output]
        assert list(frame.columns) == LABELS
        assert output == "polars" or list(frame.index) == ROWS
        np.testing.assert_array_equal(frame.to_numpy(), values)
    assert model.set_output(transform=None).set_output(transform="default").predict(X).shape == (40, 3)


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("of_y", FRAMES)
@pytest.mark.parametrize("of_X", FRAMES)
def test_every_frame_in(of_X, of_y, output, problem):
    """Names of labels come from any frame; only pandas has names of rows."""
    X, Y = FRAMES[of_X](problem[0], FEATURES), FRAMES[of_y](problem[1], LABELS)
    model = MLkNN(3).fit(X, Y)
    labels = model.predict(X)
    frame = model.set_output(transform=output).predict(X)
    assert list(frame.columns) == LABELS == model.label_names_.tolist()
    assert output == "polars" or list(frame.index) == (ROWS if of_X == "pandas" else list(range(40)))
    np.testing.assert_array_equal(frame.to_numpy(), labels)
    assert micro_f1(Y, frame) == micro_f1(problem[1], labels)


def test_what_reads_predictions_is_not_changed(problem):
    """Scores, names, explanations, reviews and copies by pickle are those of arrays."""
    X, Y = problem
    plain = MLkNN(3).fit(X, Y)
    framed = MLkNN(3).fit(X, Y).set_output(transform="pandas")
    unknown = np.where(Y[:, [0]] * [1, 0, 0] == 1, np.nan, Y)
    for truth in (Y, unknown):
        assert framed.score(X, truth) == plain.score(X, truth)
    assert predict_labels(framed, X) == framed.predict_labels(X) == plain.predict_labels(X)
    assert str(explain(framed, X[:1])[0]) == str(explain(plain, X[:1])[0])
    assert isinstance(pickle.loads(pickle.dumps(framed)).predict(X), pd.DataFrame)
    assert isinstance(clone(framed).fit(X, Y).predict(X), np.ndarray)


AROUND = {
    "thresholds": lambda inner: FixedThresholdsClassifier(inner, 0.4),
    "prefit": lambda inner: TunedThresholdsClassifierCV(FrozenEstimator(inner), cv="prefit"),
    "resampled": lambda inner: ResampledClassifier(inner, MLSMOTE(random_state=0)),
    "pipeline": lambda inner: make_pipeline(StandardScaler(), inner),
}


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("around", AROUND)
def test_inside_others(around, output, problem):
    """A classifier around one that returns frames computes with arrays."""
    X, Y = problem
    inner = MLkNN(3).fit(X, Y)
    expected = as_dense(AROUND[around](inner).fit(X, Y).predict(X))
    model = AROUND[around](inner.set_output(transform=output)).fit(X, Y)
    np.testing.assert_array_equal(np.asarray(model.predict(X)), expected)


def test_at_the_end_of_a_pipeline(problem):
    """The last step names the labels; the names of the rows arrive if the other steps return frames."""
    X, Y = (FRAMES["pandas"](array, names) for array, names in zip(problem, (FEATURES, LABELS), strict=True))
    pipeline = make_pipeline(StandardScaler(), MLkNN(3)).set_output(transform="pandas").fit(X, Y)
    assert isinstance(pipeline.predict(X), np.ndarray)  # scikit-learn sets it for transformers only
    pipeline[-1].set_output(transform="pandas")
    scores = pipeline.predict_proba(X)
    assert (list(scores.index), list(scores.columns)) == (ROWS, LABELS)
    assert predict_labels(pipeline, X[:1]) == [tuple(scores.columns[scores.iloc[0] >= 0.5])]


@pytest.mark.parametrize("output", OUTPUTS)
def test_one_label(output, problem):
    """The classes are the columns of probabilities; predictions are a series with the name of the label."""
    X, Y = problem
    tag = pd.Series(np.where(Y[:, 0] == 1, "yes", "no"), name="tag")
    model = MLkNN(3).fit(X, tag)
    expected = model.predict(X).tolist(), model.predict_proba(X)
    model.set_output(transform=output)
    predicted, scores = model.predict(X), model.predict_proba(X)
    assert (predicted.name, predicted.to_list(), list(scores.columns)) == ("tag", expected[0], ["no", "yes"])
    np.testing.assert_array_equal(scores.to_numpy(), expected[1])
    assert model.score(X, tag) == np.mean(tag.to_numpy() == expected[0])


def test_sparse_labels(problem):
    """Pandas has sparse columns, polars has none: refused."""
    X, Y = problem
    model = MLkNN(3).fit(X, sparse.csr_array(Y)).set_output(transform="pandas")
    frame = model.predict(X)
    assert all(isinstance(dtype, pd.SparseDtype) for dtype in frame.dtypes)
    assert model.score(X, Y) == np.mean((frame.to_numpy() == Y).all(axis=1))
    with pytest.raises(ValueError, match=r"y must be dense for set_output\(transform=\"polars\"\).*Hint: .*\"pandas\""):
        model.set_output(transform="polars").predict(X)


def test_other_outputs_are_refused():
    """Before anything is fitted."""
    with pytest.raises(ValueError, match=r"transform must be one of \['default', 'pandas', 'polars'\], got 'pyarrow'"):
        MLkNN().set_output(transform="pyarrow")
