"""The base class: containers, names, where rows come from, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from nearlabel.preprocessing._sampler import Resampled, Sampler
from nearlabel.utils.validation import as_dense

X = np.array([[1.0, 0.5], [2, 1], [3, 2], [4, 3]])
Y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])


class Halfway(Sampler):
    """All rows, and one between the first two, with the labels of the first."""

    def _resample(self, X, labels, random):
        middle = (X[[0]] + X[[1]]) / 2
        stacked = (
            sparse.vstack([labels, labels[[0]]], format="csr") if sparse.issparse(labels) else [*labels, labels[0]]
        )
        labels = stacked if sparse.issparse(labels) else np.array(stacked)
        return Resampled(np.arange(X.shape[0]), labels, middle, np.array([0]))


class Without(Sampler):
    """All rows but the second."""

    _reads_features = False

    def _resample(self, X, labels, random):
        return Resampled(np.array([0, 2, 3]))


FRAME = pd.DataFrame(X, columns=["a", "b"], index=list("wxyz"))
ROWS = {
    "array": X,
    "float32": X.astype(np.float32),
    "list": X.tolist(),
    "csr_array": sparse.csr_array(X),
    "csc_matrix": sparse.csc_matrix(X),
    "pandas": FRAME,
    "pandas, sparse": pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X)),
    "polars": pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
    "arrow": pa.table({"a": X[:, 0], "b": X[:, 1]}),
}
LABELS = {
    "array": Y,
    "booleans": Y.astype(bool),
    "bytes": Y.astype(np.int8),
    "csr_array": sparse.csr_array(Y),
    "csr_matrix": sparse.csr_matrix(Y),
    "pandas": pd.DataFrame(Y, columns=["p", "q"], index=FRAME.index).astype({"p": "int8", "q": bool}),
    "pandas, nullable": pd.DataFrame(Y, columns=["p", "q"]).astype("Int64"),
    "pandas, sparse": pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(Y)),
    "polars": pl.DataFrame({"p": Y[:, 0], "q": Y[:, 1] == 1}),
    "arrow": pa.table({"p": Y[:, 0], "q": Y[:, 1]}),
}


def plain(container):
    """Return rows or label sets as a dense array."""
    return as_dense(container) if sparse.issparse(container) else np.asarray(container)


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
def test_rows_come_in_their_container(rows):
    """Lists become arrays and sparse rows CSR; all else is of its own type, with its own columns and dtype."""
    made, _ = Halfway().fit_resample(rows, Y)
    expected = {"list": np.ndarray, "csc_matrix": sparse.csr_matrix}.get(type(rows).__name__, type(rows))
    assert isinstance(made, expected)
    assert getattr(made, "dtype", None) == getattr(rows, "dtype", None) or isinstance(rows, list)
    assert list(getattr(made, "columns", [])) == list(getattr(rows, "columns", [])) or isinstance(rows, pa.Table)
    np.testing.assert_array_equal(plain(made), [*X, [1.5, 0.75]])


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_label_sets_come_in_their_container(labels):
    """Of the same type, also that of each column."""
    _, made = Halfway().fit_resample(X, labels)
    assert type(made) is type(labels)
    assert str(getattr(made, "dtypes", None)) == str(getattr(labels, "dtypes", None))
    assert str(getattr(made, "schema", None)) == str(getattr(labels, "schema", None))
    np.testing.assert_array_equal(plain(made), [*Y, Y[0]])


def test_one_label_and_tags():
    """A one-dimensional y stays one, and tags are lists of tags."""
    for classes in (np.array(list("xyxx")), pd.Series(list("xyxx"), name="n"), pl.Series("n", list("xyxx"))):
        _, made = Halfway().fit_resample(X, classes)
        assert type(made) is type(classes)
        assert list(made) == list("xyxxx")
    sampler = Halfway()
    for tags in ([["b", "a"], ["b"], [], {"a"}], pd.Series([["b", "a"], ["b"], [], ["a"]])):
        _, made = sampler.fit_resample(X, tags)
        assert type(made) is type(tags)
        assert list(made) == [["a", "b"], ["b"], [], ["a"], ["a", "b"]]
    assert sampler.label_names_.tolist() == ["a", "b"]


def test_whole_numbers_stay_so_until_there_is_a_fraction():
    """A column of integers holds what is between 1 and 3, but not what is between 1 and 2."""
    whole = pd.DataFrame({"a": [1, 3, 5, 7], "b": [1, 2, 3, 4]})
    made, _ = Halfway().fit_resample(whole, Y)
    assert made.dtypes.tolist() == [np.int64, np.float64]
    assert made.iloc[-1].tolist() == [2, 1.5]
    made, _ = Halfway().fit_resample(whole.to_numpy()[:, :1], Y)
    assert made.dtype == np.int64
    made, _ = Halfway().fit_resample(sparse.csr_array(whole.to_numpy()), Y)
    assert made.dtype == np.float64


def test_frames_keep_their_index_if_rows_only_go():
    """Where rows came there is no name for them."""
    labels = LABELS["pandas"]
    left, left_labels = Without().fit_resample(FRAME, labels)
    assert left.index.tolist() == left_labels.index.tolist() == ["w", "y", "z"]
    made, made_labels = Halfway().fit_resample(FRAME, labels)
    assert made.index.tolist() == made_labels.index.tolist() == [0, 1, 2, 3, 4]


def test_where_rows_come_from():
    """-1 is a synthetic row; its seed is a row that it was made from."""
    sampler = Halfway().fit(X, Y)
    assert sampler.sample_indices_.tolist() == [0, 1, 2, 3, -1]
    assert sampler.seed_indices_.tolist() == [0, 1, 2, 3, 0]
    sampler = Without().fit(X, Y)
    assert sampler.sample_indices_.tolist() == sampler.seed_indices_.tolist() == [0, 2, 3]


def test_features_that_are_not_read_may_be_anything():
    """Texts, categories and missing values are rows like others to a sampler that only counts labels."""
    mixed = pd.DataFrame({"a": ["x", None, "y", "z"], "b": pd.Categorical(list("rrst")), "c": [1.0, np.nan, 2, 3]})
    made, _ = Without().fit_resample(mixed, Y)
    assert made.equals(mixed.iloc[[0, 2, 3]])
    with pytest.raises(ValueError, match="X must contain numbers, got those of kind 'category' in column 'a'"):
        Halfway().fit_resample(mixed.assign(a=list("xwyz"), c=1.0), Y)


def test_bad_input_is_refused():
    """Unknown cells, rows without a partner, a y of three classes."""
    with pytest.raises(ValueError, match="y must have no unknown cells for Halfway, got 1"):
        Halfway().fit_resample(X, np.where(np.eye(4, 2)[::-1] * [1, 0] == 1, np.nan, Y))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        Halfway().fit_resample(X, Y[:3])
    with pytest.raises(ValueError, match="two classes"):
        Halfway().fit_resample(X, [0, 1, 2, 2])
    with pytest.raises(ValueError, match="requires y to be passed"):
        Halfway().fit_resample(X, None)
    with pytest.raises(ValueError, match="NaN"):
        Halfway().fit_resample(np.where(X == 1, np.nan, X), Y)
