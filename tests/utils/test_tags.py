"""Tags as y: what is none, and what is meant by a y that is nearly one of tags."""

import numpy as np
import pandas as pd
import pytest

from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.selection import NeighborsClassifierCV

X = np.arange(12.0).reshape(6, 2)
TAGS = [["a"], ["b"], ["", "a"], [" "], [], ["b", "a"]]


def test_an_empty_text_is_no_tag():
    """As in files: where tags are split from a text, a sample without any has [""]."""
    split = pd.Series(["a; b", None, "b", "", "c", "a"]).fillna("").str.split("; ")
    assert BRkNN(1).fit(X, split).label_names_.tolist() == ["a", "b", "c"]
    model = BRkNN(1).fit(X, TAGS)
    assert model.label_names_.tolist() == ["a", "b"]
    assert model.predict_labels(X) == [("a",), ("b",), ("a",), (), (), ("a", "b")]
    assert model.score(X, TAGS) == 1
    assert model.partial_fit(X[:2], [["a", ""], ["c", " "]]).label_names_.tolist() == ["a", "b", "c"]


def test_no_tag_at_all():
    """Empty texts alone are no label."""
    with pytest.raises(ValueError, match="y must"):
        BRkNN(1).fit(X, [[""]] * 6)


def test_texts_with_missing_ones():
    """The message names the types, and how cells of joined tags are read."""
    y = pd.Series(["a; b", "b", np.nan, "a", "b", "a; b"], dtype=object)
    with pytest.raises(ValueError, match=r"got values of type object: float and str\. Hint: .*from_frame"):
        NeighborsClassifierCV(verbose=0).fit(X, y)


def test_tags_of_one_sample_without_their_list():
    """The hint shows the brackets that are missing; labels that are numbers have no tags."""
    model = MLkNN(2).fit(X, TAGS)
    with pytest.raises(
        ValueError, match=r"and only then\. Hint: the tags of each sample are a list, .*\[\['calm', 'wi"
    ):
        model.partial_fit(X[:1], ["a"])
    with pytest.raises(ValueError, match=r"and only then\.$"):
        MLkNN(2).fit(X, np.eye(6, 2, dtype=int)).partial_fit(X[:1], [1])
