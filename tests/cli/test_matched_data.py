"""Data in the order of a model."""

import numpy as np
import pytest
from scipy import sparse

from nearlabel.cli._matched_data import match_to
from nearlabel.datasets import Dataset
from nearlabel.persistence import DataSummary

NAMED = DataSummary(features=2, feature_names=("z", "x"), labels=3, label_names=("b", "new", "a"))


def data_of(X, Y, features="xyz", labels="ab"):
    """A data set with names."""
    return Dataset(np.array(X, dtype=float), np.array(Y), tuple(features), tuple(labels), "toy")


@pytest.mark.parametrize("storage", [np.array, sparse.csr_array])
def test_columns_are_found_by_name(storage):
    """Features and labels in another order; one that the model does not know is left out."""
    data = Dataset(storage([[1.0, 2, 3]]), storage([[1, 0, 1, 0]]), tuple("xyz"), ("a", "b", "c", "new"), "toy")
    matched, notes = match_to(NAMED, data)
    X, Y = ((part.toarray() if sparse.issparse(part) else part).tolist() for part in (matched.X, matched.Y))
    assert (X, Y) == ([[3, 1]], [[0, 0, 1]])
    assert (matched.feature_names, matched.label_names) == (("z", "x"), ("b", "new", "a"))
    assert notes == ["Labels that the model does not know are left out: 'c'."]


def test_a_tag_that_no_row_has():
    """Nothing names it: it is absent from every row."""
    data, notes = match_to(NAMED, data_of([[1, 2, 3]], [[1, 0, 1]], labels="abc"), tags=True)
    assert data.Y.tolist() == [[0, 0, 1]]
    assert notes == [
        "No row of the data has the label 'new'.",
        "Labels that the model does not know are left out: 'c'.",
    ]


def test_a_label_that_the_data_do_not_name():
    """Columns of labels name it, whether or not a row has it: without, every measure would be wrong."""
    with pytest.raises(
        ValueError, match=r"DATA must have every label of the model, got none named 'new'\. Hint: --lab"
    ):
        match_to(NAMED, data_of([[1, 2, 3]], [[1, 0, 1]], labels="abc"))


def test_no_known_tag():
    """Tags that were joined by another separator: no row has a label that the model knows."""
    message = (
        r"DATA must have tags that the model knows, as 'b', 'new', 'a', got 'a\|b', 'c'\. Hint: --labels-separator"
    )
    with pytest.raises(ValueError, match=message):
        match_to(NAMED, data_of([[1, 2, 3]], [[1, 0]], labels=("a|b", "c")), tags=True)


def test_a_feature_that_the_data_lack():
    """It is named."""
    with pytest.raises(ValueError, match="DATA must have the features of the model, got none named 'z'"):
        match_to(NAMED, data_of([[1, 2]], [[1, 0]], features="xy"))


@pytest.mark.parametrize("names", [None, ("0", "1", "2")])
def test_columns_without_names(names):
    """A model that was fitted to arrays takes columns by position, and as many as it had."""
    data = data_of([[1, 2, 3]], [[1, 0]])
    summary = DataSummary(features=3, feature_names=names, labels=2, label_names=("0", "1"))
    assert match_to(summary, data) == (data, [])
    with pytest.raises(
        ValueError, match=r"DATA must have the 4 features of the model, got 3\. Hint: --ignore and --lab"
    ):
        match_to(DataSummary(features=4, labels=2), data)
    with pytest.raises(ValueError, match="DATA must have the 1 labels of the model, got 2"):
        match_to(DataSummary(features=3, labels=1), data)


def test_columns_that_are_named_by_their_numbers():
    """The columns of an array are found by number where data have such names, as svmlight files and frames have."""
    data, _ = match_to(DataSummary(features=2, labels=2), data_of([[1, 2, 3]], [[1, 0]], features="210"))
    assert (data.X.tolist(), data.feature_names) == ([[3, 2]], ("0", "1"))


def test_tags_that_are_numbers():
    """They are names, not positions: 2 is none of the model's."""
    summary = DataSummary(features=3, labels=2, label_names=("0", "1"))
    data, notes = match_to(summary, data_of([[1, 2, 3]], [[1, 1]], labels="12"), tags=True)
    assert (data.Y.tolist(), len(notes)) == ([[0, 1]], 2)
