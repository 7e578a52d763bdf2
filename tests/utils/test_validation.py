"""The strict layer, where no estimator stands for it."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from nearlabel.lazy import BRkNN
from nearlabel.neighbors import ExactNeighbors
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


OF_COLUMNS = [lambda rows: pl.DataFrame({"a": [*rows[:, 0], None], "b": [0.5] * 4}).drop_nulls(),
              lambda rows: pd.DataFrame({"a": rows[:, 0], "b": 0.5}), lambda rows: pa.table({"a": rows[:, 0]}),
              lambda rows: pd.DataFrame({"a": pd.array(rows[:, 0].tolist(), dtype="Int64")})]  # fmt: skip


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, lambda rows: rows.tolist(), *OF_COLUMNS])
def test_integers_that_would_be_rounded(container):
    """Two ids may be one number in float64: refused where a search is fitted and where it is asked."""
    rows = np.array([[2**62], [2**62 + 1], [3]])
    with pytest.raises(ValueError, match=f"X must contain numbers that float64 can store, got the integer {2**62 + 1}"):
        ExactNeighbors(n_neighbors=1).fit(container(rows))
    search = ExactNeighbors(n_neighbors=1).fit(container(np.array([[2**62], [-(2**60)], [3]])))
    assert search.kneighbors(container(np.array([[2**62], [-(2**60)], [3]])))[1].ravel().tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="got the integer -9007199254740993"):
        search.kneighbors(container(np.array([[-(2**53) - 1], [0], [1]])))


def test_integers_at_the_end_of_their_type():
    """The largest of a type is rounded to one that the type does not have."""
    for dtype in (np.int64, np.uint64):
        with pytest.raises(ValueError, match=f"got the integer {np.iinfo(dtype).max}"):
            ExactNeighbors(n_neighbors=1).fit(np.array([[np.iinfo(dtype).max], [0]], dtype=dtype))
    assert ExactNeighbors(n_neighbors=1).fit(np.array([[-(2**63)], [2**62]])).n_samples_fit_ == 2
    assert ExactNeighbors(n_neighbors=1).fit(np.array([[2**63], [0]], dtype=np.uint64)).n_samples_fit_ == 2
