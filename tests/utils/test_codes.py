"""Label matrices with two other values than 0 and 1: the message asks, and each of its expressions can be pasted."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from nearlabel.lazy import MLkNN
from nearlabel.utils.messages import AdviceWarning
from nearlabel.utils.targets import PartialLabels, as_label_matrix, check_target
from nearlabel.utils.validation import as_dense

SETS = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
X = np.arange(4.0)[:, np.newaxis]
HOLE = np.array([[False, False], [False, False], [False, True], [False, False]])


def frame(y):
    """Return label sets as a data frame with names."""
    return pd.DataFrame(y, columns=["a", "b"])


CONTAINERS = {
    "array": np.asarray,
    "list": lambda y: y.tolist(),
    "objects": lambda y: y.astype(object),
    "frame": frame,
    "polars": lambda y: pl.from_pandas(frame(y)),
    "arrow": lambda y: pa.Table.from_pandas(frame(y)),
    "category": lambda y: frame(y).astype("category"),
    "masked": np.ma.array,
}
PAIRS = {
    "minus": (-1, 1),
    "one and two": (1, 2),
    "text": ("no", "yes"),
    "booleans": ("False", "True"),
    "nein": ("nein", "ja"),
}
# Lists of texts are tags for a classifier, with an error of their own.
OF_MATRICES = [(pair, container) for pair in PAIRS for container in CONTAINERS]


def refusal_of(y):
    """Return the message for a label matrix."""
    with pytest.raises(ValueError, match=r"^y must contain 0") as caught:
        PartialLabels.of(y)
    return str(caught.value)


def expression_for(value, message):
    """Return the expression that a message has for a value that means that a label applies."""
    return re.search(rf"(?:pass|, or) ((?:(?!, or ).)*) if {re.escape(repr(value))} means that a label", message)[1]


@pytest.mark.parametrize(("pair", "container"), OF_MATRICES)
def test_each_expression_gives_the_label_sets(pair, container):
    """Whichever of the two values means that a label applies."""
    no, yes = PAIRS[pair]
    y = CONTAINERS[container](np.where(SETS == 1, yes, no))
    message = refusal_of(y)
    assert f"got two values, {' and '.join(map(repr, sorted([no, yes])))}. What do they mean? Hint: " in message
    names = {"y": y, "np": np, "pandas": pd}
    np.testing.assert_array_equal(as_label_matrix(eval(expression_for(yes, message), names)), SETS)
    np.testing.assert_array_equal(as_label_matrix(eval(expression_for(no, message), names)), 1 - SETS)


@pytest.mark.parametrize(("pair", "container"), [one for one in OF_MATRICES if one[1] != "category"])
def test_unknown_cells_stay_unknown(pair, container):
    """A comparison alone would make them negative."""
    no, yes = PAIRS[pair]
    coded = np.where(SETS == 1, yes, no)
    if container == "masked":
        y = np.ma.array(coded, mask=HOLE)
    elif isinstance(yes, str) or container in ("list", "objects"):
        y = CONTAINERS[container](np.where(HOLE, None, coded.astype(object)))
    else:
        y = CONTAINERS[container](np.where(HOLE, np.nan, coded.astype(float)))
    found = PartialLabels.of(eval(expression_for(yes, refusal_of(y)), {"y": y, "np": np, "pandas": pd}))
    np.testing.assert_array_equal(found.with_nan(), np.where(HOLE, np.nan, SETS))


@pytest.mark.parametrize("container", ["array", "list", "objects", "frame", "polars", "arrow", "masked"])
@pytest.mark.parametrize("other", [0, 1])
def test_minus_one_as_unknown(container, other):
    """It is named with what it does: then no cell is known to have the other value."""
    y = CONTAINERS[container](np.where(SETS == 1, other, -1))
    message = refusal_of(y)
    left = "to apply" if other == 0 else "not to apply"
    assert message.endswith(f"if -1 means unknown, but then no label is known {left}.")
    expression = re.search(r"; (.*) if -1 means unknown", message)[1]
    found = PartialLabels.of(eval(expression, {"y": y, "np": np}))
    np.testing.assert_array_equal(found.with_nan(), np.where(SETS == 1, other, np.nan))


@pytest.mark.parametrize(("no", "yes"), [(1, 2), (0, 2), ("no", "yes"), (3, 4)])
def test_other_values_are_not_proposed_as_unknown(no, yes):
    """One of two values is hardly ever that."""
    assert "unknown" not in refusal_of(np.where(SETS == 1, yes, no))


def test_sparse_matrices():
    """Cells that are not stored are zeros, a third value beside -1 and 1."""
    full = sparse.csr_array(2 * SETS - 1)
    message = refusal_of(full)
    np.testing.assert_array_equal(as_dense(as_label_matrix(eval(expression_for(1, message), {"y": full}))), SETS)
    stored = sparse.csr_array(-SETS)
    message = refusal_of(stored)
    np.testing.assert_array_equal(as_dense(as_label_matrix(eval(expression_for(-1, message), {"y": stored}))), SETS)
    assert "0 means that a label does not apply, NaN that it is unknown" in refusal_of(sparse.csr_array([[-1, 1, 0]]))
    assert "got two values, 1 and 2" in refusal_of(sparse.csr_array([[1.0, 2.0, np.nan]]))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[0, -1], [1, 1]], r"got -1\. Hint: 0 means that a label does not apply, NaN that it is unknown\."),
        ([[-1, -1]], r"got -1\. Hint: 0 means"),
        ([[0, 1], [2, 3]], r"got 2\. Hint: classifiers accept lists of tags"),
        (np.array([[0, 1], [2, 3]]), r"got 2\.$"),
        ([[0.0, np.inf]], r"got inf\.$"),
        ([[0.5, 1.0]], r"got 0\.5\. Is it a continuous target\?"),
        (frame([["x", "y"], ["z", "w"]]), r"got 4 texts: 'w', 'x', 'y', \.\.\.\. Hint: classifiers accept"),
        (
            pd.DataFrame({"tags": ["a|b", "b", "c"]}),
            r"got 3 texts: 'a\|b', 'b', 'c'\. Hint: nearlabel\.datasets\.from_fr",
        ),
        (pd.DataFrame({"a": [0, 1], "b": ["no", "yes"]}), "got 'no' of type str"),
        (
            pd.DataFrame({"tags": [["a"], ["b", "c"]]}),
            r"got \['a'\] of type list\. Hint: nearlabel\.datasets\.from_frame",
        ),
    ],
)
def test_other_values(y, message):
    """What is no matrix of two values is named."""
    with pytest.raises(ValueError, match=message):
        PartialLabels.of(y)


@pytest.mark.parametrize("pair", [("no", "yes"), ("False", "True"), ("0", "1"), ("nein", "ja")])
@pytest.mark.parametrize("rows", [list, lambda y: list(map(tuple, y)), lambda y: pd.Series(list(y))])
def test_lists_of_codes_are_no_tags(pair, rows):
    """Read as tags, each sample would have the tag "yes" or "no", or both."""
    y = rows(np.where(SETS == 1, pair[1], pair[0]).tolist())
    with pytest.raises(ValueError, match="y must have each tag of a row once, got rows of one length with") as caught:
        MLkNN(1).fit(X, y)
    message = str(caught.value)
    for yes, expected in ((pair[1], SETS), (pair[0], 1 - SETS)):
        np.testing.assert_array_equal(eval(expression_for(yes, message), {"y": y, "np": np}), expected)
    assert message.endswith(", or [set(row) for row in y] if they are tags.")


@pytest.mark.parametrize(
    "y",
    [
        [["sad", "loud"], ["loud", "sad"]],
        [["sad"], ["loud"], ["sad"]],
        [["a", "b"], ["a", "c"], ["b", "c"]],
        [["no"], ["yes"], ["no"]],
        [{"no", "yes"}, {"yes", "no"}],
        [["a", "a"], ["b"], []],
    ],
)
def test_tags_stay_tags(y):
    """Rows of one length, of one tag, of other tags, and sets."""
    assert check_target(MLkNN(), y).names.tolist() == sorted({tag for row in y for tag in row})


@pytest.mark.parametrize(
    "y",
    [
        [{"a": True, "b": False}, {"a": False}],
        np.array([{"a": True}, {"b": True}], dtype=object),
        pd.Series([{"a": True}, {"b": True}]),
        [[{"name": "a"}], []],
        [[{"name": "a"}], [{"name": "b"}]],
        pl.Series([{"a": True, "b": False}, {"a": False, "b": True}]),
        pa.array([{"a": True}, {"a": False}]),
        ["a|b", "a", "b"],
        ["a, b", "a", "c"],
        ['["a"]', "[]", '["a", "b"]'],
        pl.Series(["a|b", "a", "b"]),
    ],
)
def test_structures_and_cells_of_text(y):
    """The reader of data frames knows these notations; numpy would drop the names of a struct."""
    with pytest.raises(
        ValueError, match=r"^y must .* Hint: nearlabel\.datasets\.from_frame\(frame, labels_column=\.\.\.\)"
    ):
        MLkNN(1).fit(X[: len(y)], y)


@pytest.mark.parametrize("classes", [("a", "a|b"), ("a,b", "b, c"), ('["a"]', "[]"), ("{a}", "{a,b}")])
def test_two_classes_that_look_like_cells(classes):
    """They stay classes, as in scikit-learn, with a word of what they look like."""
    with pytest.warns(AdviceWarning, match=r"look like cells of tags\. Hint: nearlabel\.datasets\.from_frame"):
        model = MLkNN(1).fit(X, [*classes, *classes])
    assert model.classes_.tolist() == sorted(classes)


@pytest.mark.parametrize(
    "classes", [("<=50K", ">50K"), ("no", "yes"), ("red, blue", "green"), ("a/b", "b/a"), (-1, 1), (1, 2)]
)
def test_two_classes(classes):
    """A one-dimensional y of two classes needs no remedy."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert MLkNN(1).fit(X, [*classes, *classes]).classes_.tolist() == sorted(classes)


TAGS = [["a", "b"], ["a"], [], ["b"]]
WITH_NONE = [["a", "b"], None, [], ["b"]]
TEXTS = pa.list_(pa.string())


@pytest.mark.parametrize(
    "rows",
    [
        pd.Series,
        lambda y: pd.Series([None if row is None else set(row) for row in y]),
        lambda y: pd.Series([None if row is None else frozenset(row) for row in y]),
        lambda y: pd.Series([None if row is None else np.array(row, dtype=object) for row in y]),
        lambda y: pd.Series([float("nan") if row is None else row for row in y]),
        lambda y: pd.Series(y, dtype=pd.ArrowDtype(TEXTS)),
        pl.Series,
        lambda y: pa.array(y, TEXTS),
        lambda y: pa.chunked_array([pa.array(y[:2], TEXTS), pa.array(y[2:], TEXTS)]),
    ],
    ids=["series", "sets", "frozensets", "arrays", "nan", "arrow type", "polars", "arrow", "chunks"],
)
def test_columns_of_tags(rows):
    """Series of lists, sets and arrays are tags; a missing row is a sample whose labels are unknown."""
    assert MLkNN(1).fit(X, rows(TAGS)).training_labels().tolist() == [[1, 1], [1, 0], [0, 0], [0, 1]]
    with pytest.warns(UserWarning, match="All labels are unknown in 1 of 4 training samples"):
        labels = MLkNN(1).fit(X, rows(WITH_NONE)).training_labels()
    np.testing.assert_array_equal(labels, [[1, 1], [np.nan, np.nan], [0, 0], [0, 1]])


def test_tags_that_look_the_same():
    """Composed and decomposed letters, and blanks around a tag, are shown once; equal tags are not."""
    X = np.arange(4.0).reshape(-1, 1)
    with pytest.warns(UserWarning, match=r"look the same: 'cafe\\u0301' and 'caf\\xe9'\. Hint: unicodedata.normalize"):
        MLkNN(1).fit(X, [["caf\xe9"], ["cafe\u0301"], ["caf\xe9"], ["tea"]])
    with pytest.warns(UserWarning, match="look the same: ' tea' and 'tea'"):
        MLkNN(1).fit(X, [["tea"], [" tea"], ["x"], ["tea"]])
