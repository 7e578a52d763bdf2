"""The strict layer, where no estimator stands for it."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from nearlabel.lazy import BRkNN
from nearlabel.persistence import DataSummary
from nearlabel.rivals import BinaryRelevance
from nearlabel.utils.targets import label_names_of
from nearlabel.utils.validation import first_not_finite

X, Y = np.arange(6.0).reshape(3, 2), np.array([[0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize("names", [["a", "a"], [1, "1"], [1.0, "1.0"]])
@pytest.mark.parametrize("model", [BRkNN(1), BinaryRelevance()])
def test_labels_of_one_name(model, names):
    """Refused where names are taken: predictions, explanations and cards would merge two labels."""
    frame = pd.DataFrame(Y, columns=names)
    with pytest.raises(ValueError, match=f"y must have distinct column names, got '{names[0]}' twice"):
        model.fit(X, frame)
    with pytest.raises(ValueError, match="y must have distinct column names"):
        DataSummary.of_data((X, frame))


def test_label_names():
    """Of a data frame as they are, of an array numbers."""
    assert label_names_of(pd.DataFrame(Y, columns=[1, "b"]), 2).tolist() == [1, "b"]
    assert label_names_of(Y, 2).tolist() == [0, 1]


@pytest.mark.parametrize("storage", [np.array, np.asfortranarray, sparse.csr_array])
@pytest.mark.parametrize(("value", "got"), [(np.nan, "a missing value"), (np.inf, "inf"), (-np.inf, "-inf")])
def test_first_not_finite(storage, value, got):
    """The first in the order of the rows, whatever lies behind it."""
    rows = np.zeros((4, 3))
    rows[0, 1] = 5
    rows[2, 1] = value
    rows[3, 0] = rows[2, 2] = np.nan
    assert first_not_finite(storage(rows)) == (2, 1, got)
    assert first_not_finite(storage(np.ones((4, 3)))) is None
    assert first_not_finite(storage(np.zeros((4, 3)))) is None


@pytest.mark.parametrize("container", [lambda frame: frame, pl.from_pandas])
def test_a_column_of_texts_is_named(container):
    """With what makes numbers of it; texts that are numbers are taken as before."""
    frame = pd.DataFrame({"width": [1.0, 2.0, 3.0], "genre": ["pop, indie", "jazz", "pop"]})
    with pytest.raises(ValueError, match=r"X must contain numbers, got those of kind 'category' in column 'genre'.*M"):
        BRkNN(1).fit(container(frame), Y)
    frame["genre"] = ["1", "2", "3"]
    assert BRkNN(1).fit(container(frame), Y).predict(container(frame)).shape == Y.shape


@pytest.mark.parametrize(("text", "message"), [(None, "NaN"), ("nan", "NaN"), ("inf", "infinity")])
def test_texts_of_polars_that_are_no_finite_numbers(text, message):
    """A column of texts becomes numbers, and these are checked like others."""
    with pytest.raises(ValueError, match=f"Input X contains {message}"):
        BRkNN(1).fit(pl.DataFrame({"a": ["1", text, "2"]}), Y)


def test_frames_of_sparse_columns_that_leave_out_another_value():
    """By default pandas leaves out NaN: such columns are read as if they were dense."""
    y = pd.DataFrame({"p": pd.arrays.SparseArray([1.0, 0.0, 1.0])})
    expected = BRkNN(1).fit(X, y.sparse.to_dense()).predict(X)
    np.testing.assert_array_equal(BRkNN(1).fit(X, y).predict(X), expected)
    np.testing.assert_array_equal(BRkNN(1).fit(y, Y).predict(y), BRkNN(1).fit(y.sparse.to_dense(), Y).predict(y))


def test_classes_of_several_types():
    """Numpy would write the numbers in a list as text."""
    with pytest.raises(ValueError, match="y must contain classes of one type"):
        BRkNN(1).fit(X, ["a", 1, "a"])
