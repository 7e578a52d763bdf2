import dataclasses
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import Dataset, write_npz
from nearlabel.experiments import Plan, Tuning, run


@pytest.mark.parametrize(("container", "kind"), [(np.asarray, "dense"), (sparse.csr_array, "sparse")])
def test_card(container, kind):
    """One line shows name, counts and storage."""
    data = Dataset(container(np.ones((3, 2))), container(np.ones((3, 1), dtype=int)), ("a", "b"), ("y",), "toy")
    assert repr(data) == f"Dataset 'toy': 3 rows, 2 features, 1 label ({kind})"


def test_frozen():
    """A data set is not changed but replaced."""
    data = Dataset(np.ones((1, 1)), np.ones((1, 1), dtype=int), ("a",), ("y",), "toy")
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"


@pytest.mark.parametrize(
    ("rows", "features", "labels", "message"),
    [
        (2, ("a",), ("y",), "Y must have as many rows as X, 1, got 2"),
        (1, ("a", "b"), ("y",), "feature_names must contain 1 names, got 2"),
        (1, ("a",), (), "label_names must contain 1 names, got 0"),
    ],
)
def test_disagreement(rows, features, labels, message):
    """Rows and names must agree in number."""
    with pytest.raises(ValueError, match=message):
        Dataset(np.ones((1, 1)), np.ones((rows, 1), dtype=int), features, labels, "toy")


def test_labels_of_one_name():
    """Files know labels by their names only."""
    with pytest.raises(ValueError, match=r"label_names must be distinct, got 'b' twice\."):
        Dataset(np.ones((1, 2)), np.ones((1, 3), dtype=int), ("x", "x"), ("a", "b", "b"), "toy")


def hostile(**others):
    """Return a data set whose names are markup, with holes in X."""
    X = np.array([[1.0, np.nan], [0, 2], [3, 4], [5, 6]])
    Y = np.array([[1, 0, 1], [0, 0, 1], [0, 0, 1], [0, 0, 0]])
    names = ("<script>alert(1)</script>", "b & b", "c")
    arguments = {"feature_kinds": ("number", "flag"), "source": "<i>book</i>"} | others
    return Dataset(X, Y, ("<b>", "b"), names, "<img src=x>", **arguments)


def test_text():
    """Printing shows the facts and the most frequent labels."""
    lines = [line.split("  ") for line in str(hostile()).splitlines()]
    facts = {line[0]: line[-1].strip() for line in lines}
    assert facts["source"] == "<i>book</i>"
    assert facts["kinds of features"] == "number (1), flag (1)"
    assert facts["missing values"] == "1 (12.50% of all)"
    assert facts["label cardinality"] == "1"
    assert facts["label density"] == "0.3333"
    assert [line[0] for line in lines][-3:] == ["c", "<script>alert(1)</script>", "b & b"]
    assert [line[-1].strip() for line in lines][-3:] == ["0.75", "0.25", "0"]
    assert "groups of rows" not in facts


def test_html():
    """A notebook shows the same as tables, in which names are no markup."""
    page = hostile(groups=np.array([0, 0, 1, 2]))._repr_html_()
    document = ET.fromstring(page)  # it is well-formed
    assert {element.tag for element in document.iter()} <= {"div", "p", "table", "tr", "th", "td"}
    cells = [[cell.text for cell in row] for row in document.iter("tr")]
    assert ["groups of rows", "3"] in cells
    assert ["<script>alert(1)</script>", "1", "0.25"] in cells
    assert "<script>" not in page


@pytest.mark.parametrize(
    ("X", "missing"),
    [
        (np.array([["a", None], [np.nan, 1.5]], dtype=object), "2 (50.00% of all)"),
        (sparse.csr_array(np.array([[np.nan, 0], [0, 1.0]])), "1 (25.00% of all)"),
        (np.zeros((2, 2), dtype=np.int64), "0"),
    ],
)
def test_missing_values(X, missing):
    """They are counted in cells of any type, and in sparse rows; unknown labels, too, which carry nothing."""
    data = Dataset(X, np.array([[1.0], [np.nan]]), ("a", "b"), ("y",), "holes")
    text = str(data)
    assert re.search(f"missing values +{re.escape(missing)}\n", text)
    assert re.search(r"unknown labels +1 \(50.00% of all cells\)\n", text)
    assert re.search(r"rows without a known label +1\n", text)
    assert re.search(r"label cardinality +1\n", text)  # of the rows that know it
    assert re.search(r"\ny +1 +1$", text)


def test_many_labels_and_no_rows():
    """Ten labels are shown, the number of the others is said; no rows are no error."""
    names = tuple(f"label {number}" for number in range(100))
    data = Dataset(np.empty((0, 1)), sparse.csr_array((0, 100), dtype=np.int64), ("a",), names, "empty")
    assert str(data).endswith("... and 90 more labels")
    assert "... and 90 more labels" in data._repr_html_()


def test_weights(tmp_path):
    """They are shown, one for each row; what counts each row once refuses them."""
    parts = (np.ones((3, 2)), np.eye(3, dtype=int), ("a", "b"), ("x", "y", "z"), "toy")
    data = Dataset(*parts, sample_weight=np.array([1, 2, 0.5]))
    assert "weights of rows    from 0.5 to 2\n" in str(data)
    message = r"toy must have no weights of rows here, .* Hint: ignore=\['sample_weight'\] ignores them"
    with pytest.raises(ValueError, match=message):
        write_npz(tmp_path / "toy.npz", data)
    with pytest.raises(ValueError, match=message):
        run(Plan(methods=("mlknn",), n_neighbors=(1,)), {"toy": data})
    with pytest.raises(ValueError, match=message):
        Tuning(n_neighbors=(1,)).run(data)
    with pytest.raises(ValueError, match=r"sample_weight must be of shape \(3,\), one for each row, got \(2,\)\."):
        Dataset(*parts, sample_weight=np.ones(2))
