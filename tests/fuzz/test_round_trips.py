"""Whatever numbers, names and labels a file holds, they are read as they were written."""

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from fuzz.oracles import check_dataset, check_same, same_matrix
from nearlabel.datasets import (
    Dataset,
    open_store,
    read_meka,
    read_npz,
    read_svmlight,
    read_table,
    write_npz,
    write_store,
)

few = settings(
    max_examples=40, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
numbers = st.floats(allow_nan=False, allow_infinity=False)
printable = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cs", "Cc", "Zl", "Zp", "Zs"]), min_size=1, max_size=12
)


@st.composite
def data_sets(draw, *, names=printable, missing=False):
    """Draw a data set of a few rows: any finite numbers, any names that differ, any label sets."""
    rows, features, labels = draw(st.integers(1, 5)), draw(st.integers(1, 4)), draw(st.integers(1, 3))
    cells = numbers | st.just(float("nan")) if missing else numbers
    X = np.array(draw(st.lists(st.lists(cells, min_size=features, max_size=features), min_size=rows, max_size=rows)))
    bits = st.lists(st.integers(0, 1), min_size=labels, max_size=labels)
    Y = np.array(draw(st.lists(bits, min_size=rows, max_size=rows)), dtype=np.int64)
    total = features + labels
    known = draw(st.lists(names, min_size=total, max_size=total, unique_by=str.casefold))
    return Dataset(X, Y, tuple(known[:features]), tuple(known[features:]), "in", source="drawn")


def quoted(name):
    """Return a name as ARFF writes it."""
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'"


@pytest.mark.long
@few
@given(data=data_sets(missing=True))
def test_arff(data, tmp_path):
    """Dense rows in MEKA's dialect, with quoted names and missing values."""
    lines = [f"@relation 'in: -C {len(data.label_names)}'"]
    lines += [f"@attribute {quoted(name)} {{0,1}}" for name in data.label_names]
    lines += [f"@attribute {quoted(name)} numeric" for name in data.feature_names]
    lines += ["@data"]
    for y, x in zip(data.Y.tolist(), data.X.tolist(), strict=True):
        lines.append(",".join([*map(str, y), *("?" if cell != cell else repr(cell) for cell in x)]))
    path = tmp_path / "in.arff"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    check_same(data, read_meka(path), "ARFF")


@pytest.mark.long
@few
@given(data=data_sets(missing=True))
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_csv(data, tmp_path, delimiter):
    """Cells that Python's csv module writes; labels are named."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow([*data.feature_names, *data.label_names])
    for x, y in zip(data.X.tolist(), data.Y.tolist(), strict=True):
        writer.writerow(["" if cell != cell else repr(cell) for cell in x] + y)
    path = tmp_path / ("in.csv" if delimiter == "," else "in.tsv")
    path.write_text(text.getvalue(), encoding="utf-8", newline="")
    check_same(data, read_table(path, labels=data.label_names), "CSV")


@pytest.mark.long
@few
@given(data=data_sets(missing=True))
def test_json_lines(data, tmp_path):
    """Objects that Python's json module writes, null where a number is missing."""
    lines = []
    for x, y in zip(data.X.tolist(), data.Y.tolist(), strict=True):
        cells = [None if cell != cell else cell for cell in x]
        lines.append(json.dumps(dict(zip((*data.feature_names, *data.label_names), (*cells, *y), strict=True))))
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    again = read_table(path, labels=data.label_names)
    check_dataset(again)
    assert dict(zip(again.feature_names, again.X.T.tolist(), strict=True)).keys() == set(data.feature_names)
    places = [again.feature_names.index(name) for name in data.feature_names]
    assert np.array_equal(again.X[:, places], data.X, equal_nan=True)
    assert np.array_equal(again.Y, data.Y)


@pytest.mark.long
@few
@given(data=data_sets())
def test_svmlight(data, tmp_path):
    """Label numbers, then pairs of index and value; a width that the file does not say is given."""
    rows, width = sparse.csr_array(data.X), data.X.shape[1]
    lines = []
    for row, y in enumerate(data.Y):
        part = slice(rows.indptr[row], rows.indptr[row + 1])
        pairs = zip(rows.indices[part].tolist(), rows.data[part].tolist(), strict=True)
        lines.append(" ".join([",".join(map(str, np.flatnonzero(y))), *(f"{i}:{value!r}" for i, value in pairs)]))
    path = tmp_path / "in.svm"
    lines = [line if line.strip() else " 0:0" for line in lines]  # an empty line would be no row
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    again = read_svmlight(path, width, data.Y.shape[1])
    assert np.array_equal(again.X.toarray(), data.X)
    assert np.array_equal(again.Y.toarray(), data.Y)


@few
@given(data=data_sets(missing=True), is_sparse=st.booleans())
def test_npz(data, is_sparse, tmp_path):
    """Arrays and names, dense and sparse."""
    if is_sparse:
        data = Dataset(sparse.csr_array(data.X), sparse.csr_array(data.Y), data.feature_names, data.label_names, "in")
    check_same(data, read_npz(write_npz(tmp_path / "in.npz", data)), "NPZ")


@pytest.mark.long
@few
@given(data=data_sets(missing=True), is_sparse=st.booleans(), dtype=st.sampled_from([None, "f4", "f8"]))
def test_store(data, is_sparse, dtype, tmp_path):
    """Rows in a folder, in the type that is asked for."""
    rows = sparse.csr_array(data.X) if is_sparse else data.X
    with np.errstate(over="ignore"):
        expected = rows if dtype is None else rows.astype(dtype)
        opened = open_store(write_store(Path(tmp_path) / "rows", rows, dtype=dtype, overwrite=True))
    assert same_matrix(opened[:].copy(), expected)
