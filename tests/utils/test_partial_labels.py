"""Label sets with unknown cells, from every container."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.validation import as_dense

NAN = np.nan
CONTAINERS = {
    "list": [[0, 1], [1, None]],
    "array": np.array([[0, 1], [1, NAN]]),
    "float32": np.array([[0, 1], [1, NAN]], dtype=np.float32),
    "objects": np.array([[0, 1], [1, pd.NA]], dtype=object),
    "masked": np.ma.masked_equal([[0, 1], [1, 7]], 7),
    "pandas": pd.DataFrame({"a": [0.0, 1.0], "b": [1.0, NAN]}),
    "pandas, nullable": pd.DataFrame({"a": pd.array([0, 1], "Int64"), "b": pd.array([1, None], "Int64")}),
    "pandas, boolean": pd.DataFrame({"a": [False, True], "b": pd.array([True, None], "boolean")}),
    "polars": pl.DataFrame({"a": [0, 1], "b": [1, None]}),
    "arrow": pa.table({"a": [0, 1], "b": [1, None]}),
    "csr": sparse.csr_array([[0, 1], [1, NAN]]),
    "csc matrix": sparse.csc_matrix([[0, 1], [1, NAN]]),
}


@pytest.mark.parametrize("y", CONTAINERS.values(), ids=CONTAINERS)
def test_the_mask_and_the_label_sets_are_found(y):
    """Every way to write that a cell is unknown gives the same label sets and mask."""
    labels, unknown = PartialLabels.of(y)
    assert as_dense(labels).tolist() == [[0, 1], [1, 0]]
    assert as_dense(unknown).tolist() == [[False, False], [False, True]]
    assert sparse.issparse(unknown) == sparse.issparse(labels) == sparse.issparse(y)
    with_nan = as_dense(PartialLabels(labels, unknown).with_nan())
    np.testing.assert_array_equal(with_nan, [[0, 1], [1, NAN]])


@pytest.mark.parametrize("y", [[[0, 1], [1, 0]], [[0.0, 1.0], [1.0, 0.0]], sparse.csr_array([[0, 1], [1, 0]])])
def test_without_an_unknown_cell_there_is_no_mask(y):
    """The label sets are then those of `as_label_matrix`."""
    partial = PartialLabels.of(y, dtype=np.int8)
    assert partial.unknown is None
    assert partial.with_nan() is partial.labels
    assert partial.labels.dtype == np.int8


def test_y_is_not_changed():
    """The sparse arrays share indices, which must not be changed in place."""
    y = sparse.csr_array([[0, 1], [1, NAN]])
    before = y.copy()
    PartialLabels.of(y)
    np.testing.assert_array_equal(y.toarray(), before.toarray())


def test_rows_keep_their_mask():
    """Some rows, in any order."""
    some = PartialLabels.of([[0, 1], [1, NAN], [NAN, NAN]]).rows([2, 0])
    np.testing.assert_array_equal(some.with_nan(), [[NAN, NAN], [0, 1]])


@pytest.mark.parametrize("y", [[[0, -1], [1, NAN]], sparse.csr_array([[0, -1], [1, NAN]]), [[0, -1], [1, 1]]])
def test_minus_one_is_refused_with_a_hint(y):
    """Some literature writes -1 for negative."""
    with pytest.raises(ValueError, match=r"got -1\. Hint: 0 means that a label does not apply, NaN that it is unknown"):
        PartialLabels.of(y)


@pytest.mark.parametrize("y", [[[0, 2], [1, NAN]], [["a", None], ["b", "c"]], [0, NAN], [[0, 1], [1]]])
def test_other_values_and_shapes_are_refused(y):
    """As without unknown cells."""
    with pytest.raises(ValueError, match="y must"):
        PartialLabels.of(y)
