import dataclasses

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import Dataset


@pytest.mark.parametrize(("container", "kind"), [(np.asarray, "dense"), (sparse.csr_array, "sparse")])
def test_card(container, kind):
    """Printing shows name, counts and storage."""
    data = Dataset(container(np.ones((3, 2))), container(np.ones((3, 1), dtype=int)), ("a", "b"), ("y",), "toy")
    assert str(data) == f"Dataset 'toy': 3 rows, 2 features, 1 label ({kind})"


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
