"""Every public classifier gives the same answers for the same numbers, whatever container holds them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone

from _classifiers import SMALL, default_classifiers
from nearlabel.utils.validation import as_dense

CLASSIFIERS = default_classifiers() | SMALL
THOROUGH = ("MLkNN", "BinaryRelevance", "TunedThresholdsClassifierCV")  # with all containers
OTHERS = [name for name in CLASSIFIERS if name not in THOROUGH]
NAMES = ["a", "b", "c", "d"]


def frame(array):
    """Return a data frame with names."""
    return pd.DataFrame(array, columns=NAMES[: array.shape[1]])


def table(array):
    """Return a pyarrow.Table with names."""
    return pa.table({name: array[:, column] for column, name in enumerate(NAMES[: array.shape[1]])})


def stored_twice(array):
    """Return a CSR array with unsorted 64-bit indices, each entry in two parts: halves, or all and 0 of an integer."""
    half = array / 2 if array.dtype.kind == "f" else 0 * array
    columns = [np.flatnonzero(row)[::-1] for row in array]
    values = [part[row, columns[row]] for row in range(len(array)) for part in (array - half, half)]
    indices = np.concatenate([present for present in columns for _ in range(2)])
    ends = np.cumsum([0, *(2 * len(present) for present in columns)])
    return sparse.csr_array((np.concatenate(values), indices.astype(np.int64), ends), shape=array.shape)


RISKY_X = {
    "big-endian": lambda X: X.astype(">f8"),
    "float16": lambda X: X.astype(np.float16),
    "CSR stored twice": stored_twice,
    "pyarrow": table,
    "pandas nullable": lambda X: frame(X).astype("Float64"),
}
RISKY_Y = {
    "CSR stored twice": stored_twice,
    "pyarrow": table,
    "pandas categorical": lambda y: frame(y).astype("category"),
    "big-endian": lambda y: y.astype(">i4"),
}
STORES = {
    "Fortran order": np.asfortranarray,
    "list": lambda a: a.tolist(),
    "object": lambda a: a.astype(object),
    "pandas": frame,
    "pandas sparse": lambda a: frame(a).astype(pd.SparseDtype(float, 0)),
    "pandas arrow": lambda a: frame(a).convert_dtypes(dtype_backend="pyarrow"),
    "polars": lambda a: pl.DataFrame(a, schema=NAMES[: a.shape[1]]),
    "CSR": sparse.csr_array,
    "CSR matrix": sparse.csr_matrix,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_array,
    "LIL": sparse.lil_array,
}
ALL_X = RISKY_X | STORES | {"float32": lambda X: X.astype(np.float32)}
ALL_Y = (
    RISKY_Y | STORES | {"bool": lambda y: y.astype(bool), "pandas boolean": lambda y: frame(y == 1).astype("boolean")}
)


def problem():
    """Return 40 rows that float16 holds without rounding, and their label sets."""
    rng = np.random.RandomState(0)
    X = np.round(rng.standard_normal((40, 4)) * 4) / 8
    return X, (X[:, :3] + 0.2 * rng.standard_normal((40, 3)) > 0.1).astype(int)


def answers(model, X, y):
    """Return scores and label sets of the rows, as arrays."""
    fitted = clone(model).fit(X, y)
    method = "predict_proba" if hasattr(fitted, "predict_proba") else "decision_function"
    return getattr(fitted, method)(X), as_dense(fitted.predict(X)), fitted


@pytest.mark.parametrize("name", [*THOROUGH, *(pytest.param(n, marks=pytest.mark.long) for n in OTHERS)])
def test_containers(name):
    """Scores differ by rounding only, label sets not at all; names of columns are kept; every fault is listed."""
    model, (X, y) = clone(CLASSIFIERS[name]), problem()
    scores, labels, _ = answers(model, X, y)
    of_X, of_y = (ALL_X, ALL_Y) if name in THOROUGH else (RISKY_X, RISKY_Y)
    problems = [(f"X: {kind}", store(X), y) for kind, store in of_X.items()]
    problems += [(f"y: {kind}", X, store(y)) for kind, store in of_y.items()]
    faults = {}
    for kind, rows, targets in problems:
        try:
            got, predicted, fitted = answers(model, rows, targets)
            np.testing.assert_allclose(got, scores, rtol=0, atol=1e-9)
            np.testing.assert_array_equal(predicted, labels)
            if hasattr(targets, "columns"):
                assert fitted.label_names_.tolist() == NAMES[:3]
        except (AssertionError, TypeError, ValueError) as fault:
            faults[kind] = str(fault)[:200]
    assert not faults


@pytest.mark.parametrize("name", ["MLkNN", "RandomForestPCT"])
def test_input_is_not_changed(name):
    """A CSR array stored in parts is summed in a copy."""
    X, y = problem()
    rows = stored_twice(X)
    before = rows.data.copy(), rows.indices.copy()
    clone(CLASSIFIERS[name]).fit(rows, y).predict(rows)
    np.testing.assert_array_equal(rows.data, before[0])
    np.testing.assert_array_equal(rows.indices, before[1])


def test_names_of_a_table():
    """Two columns of equal name are refused in a pyarrow.Table as in a data frame."""
    X, y = problem()
    columns = pa.table([y[:, 0], y[:, 1]], names=["a", "a"])
    with pytest.raises(ValueError, match="y must have distinct column names, got 'a' twice"):
        CLASSIFIERS["MLkNN"].fit(X, columns)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_more_features_than_32_bits_count_are_refused(name):
    """At once, rather than by tables of 64 GiB: so wide is a hash without a limit."""
    wide = sparse.csr_array((np.ones(12), (np.arange(12), np.arange(12) * 2**30)), shape=(12, 2**34))
    assert wide.indices.dtype == np.int64
    with pytest.raises(ValueError, match=r"at most 2,147,483,647 features, got 17,179,869,184\. Hint: .*FeatureHasher"):
        clone(CLASSIFIERS[name]).fit(wide, np.eye(12, 3, dtype=int))
