import copy
import pickle
import sys

import numpy as np
import pytest
from scipy import sparse

from nearlabel.datasets import Dataset, load_dataset, open_rows, read_svmlight
from nearlabel.datasets._numbered_names import NumberedNames, SameTexts, are_numbered, counts_of

_FIVE = ("0", "1", "2", "3", "4")


def test_numbered_names_are_a_tuple_for_whoever_reads_them():
    """Length, elements, slices, iteration, equality and hash are those of the tuple of the numbers as texts."""
    names = NumberedNames(5)
    assert (len(names), names[1], names[-1], names[1:4], names[::-2]) == (5, "1", "4", _FIVE[1:4], _FIVE[::-2])
    assert list(names) == list(_FIVE)
    assert list(reversed(names)) == list(reversed(_FIVE))
    assert names == _FIVE
    assert names == _FIVE
    assert names == NumberedNames(5)
    assert names != NumberedNames(6)
    assert names != ("0", "1", "2", "3", "5")
    assert names != list(_FIVE)
    assert {names: 1}[_FIVE] == 1
    assert np.array_equal(np.array(names), np.array(_FIVE))
    assert (*names, "x") == (*_FIVE, "x")


def test_names_are_joined_to_tuples():
    """As tuples are, and to nothing else."""
    two, kinds = NumberedNames(2), SameTexts("number", 2)
    assert two + ("x",) == ("0", "1", "x")  # noqa: RUF005
    assert ("x",) + two == ("x", "0", "1")  # noqa: RUF005
    assert kinds + SameTexts("flag", 1) == ("number", "number", "flag")
    for join in (lambda: two + ["x"], lambda: ["x"] + two):  # noqa: RUF005
        with pytest.raises(TypeError):
            join()


def test_an_index_beyond_the_last_name_is_refused():
    """As of a tuple, the name behind the last one is an IndexError."""
    with pytest.raises(IndexError):
        NumberedNames(5)[5]


@pytest.mark.parametrize("name", ["5", "-1", "01", "", "x", "٣", 3, None, "9" * 5000])
def test_what_is_no_name_is_not_found(name):
    """Only a number as Python writes it, below the length, is a name."""
    names = NumberedNames(5)
    assert name not in names
    assert names.count(name) == 0
    with pytest.raises(ValueError, match="is not a number below 5"):
        names.index(name)


def test_names_are_found_without_a_search():
    """Places and counts are computed, within the bounds that are given."""
    names = NumberedNames(10**9)
    assert (names.index("123456789"), names.count("7"), "999999999" in names) == (123456789, 1, True)
    with pytest.raises(ValueError, match="is not a number"):
        names.index("7", 8)


@pytest.mark.parametrize("texts", [NumberedNames(10**9), SameTexts("number", 10**9)], ids=["names", "kinds"])
def test_a_thousand_million_texts_take_no_memory(texts):
    """Pickles and copies are short, and equal what they were made of."""
    assert len(pickle.dumps(texts)) < 200
    assert sys.getsizeof(texts) < 200
    assert pickle.loads(pickle.dumps(texts)) == texts
    assert copy.deepcopy(texts) == texts


def test_the_same_text_again_and_again():
    """Kinds equal the tuple of them, and are counted without a walk."""
    kinds = SameTexts("number", 3)
    assert kinds == ("number",) * 3
    assert kinds != SameTexts("flag", 3)
    assert SameTexts("a", 0) == SameTexts("b", 0)
    assert hash(kinds) == hash(("number",) * 3)
    assert list(kinds) == ["number"] * 3
    assert ("number" in kinds, "flag" in kinds, kinds.count("number")) == (True, False, 3)
    assert repr(kinds) == "SameTexts('number', 3)"
    assert counts_of(SameTexts("number", 10**9)) == {"number": 10**9}
    assert counts_of(SameTexts("number", 0)) == {}


def test_numbers_as_texts_are_told_from_other_names():
    """The numbers from 0 in order are what columns without names are called."""
    assert are_numbered(_FIVE)
    assert are_numbered(NumberedNames(10**9))
    assert not are_numbered(("1", "0"))


def test_a_data_set_takes_them():
    """A data set a thousand million columns wide is made, shown and compared at once."""
    X = sparse.csr_array((np.ones(1), np.array([5], dtype=np.intc), np.array([0, 1], dtype=np.intc)), shape=(1, 10**9))
    data = Dataset(X, np.ones((1, 2), dtype=np.int64), NumberedNames(10**9), NumberedNames(2), "wide")
    assert repr(data) == "Dataset 'wide': 1 row, 1000000000 features, 2 labels (sparse)"
    assert "number (1000000000)" in str(data)
    with pytest.raises(ValueError, match="at most 1000000, got 1000000000"):
        data.with_frames()


@pytest.mark.parametrize("text", ["0 999999999:1\n", "1 2000000000 3\n0 999999999:1\n"], ids=["a row", "dimensions"])
def test_a_few_bytes_are_not_names_for_all_columns(write, text):
    """A large index, or a large number in the first line, makes a wide sparse matrix and nothing else."""
    data = load_dataset(write("wide.svm", text))
    assert data.X.shape[1] in (10**9, 2 * 10**9)
    assert data.feature_names[999_999_999] == "999999999"
    assert data.X.indices.tolist() == [999_999_999]
    assert len(str(data).splitlines()) > 5


def test_rows_for_prediction_from_a_wide_file(write):
    """Of a wide row only the features of the model are looked at, by index or from the first on."""
    path = write("wide.svm", "0 3:2 999999999:1\n1 0:5\n")
    (block,) = open_rows(path, ["999999999", "0", "7"])
    assert block.X.toarray().tolist() == [[1, 0, 0], [0, 5, 0]]
    (block,) = open_rows(path, NumberedNames(4))
    assert block.X.toarray().tolist() == [[0, 0, 0, 2], [5, 0, 0, 0]]
    with pytest.raises(ValueError, match="got two names of one index"):
        open_rows(path, ["1", "01"])
    with pytest.raises(ValueError, match="named by their indices, got none for '9999999999'"):
        open_rows(path, ["9999999999"])


def test_labels_are_limited_unless_the_caller_says_how_many(write):
    """Much is done for each label, so a large number in a file alone is an error with the line and a way out."""
    path = write("labels.svm", "0 0:1\n999999999 0:1\n")
    with pytest.raises(ValueError, match=r"line 2: a label must be below 4000000, .* Hint: n_labels=1000000000"):
        load_dataset(path)
    assert read_svmlight(path, n_labels=10**9).Y.shape == (2, 10**9)
    (block,) = open_rows(path, ["0"])  # which has no labels
    assert block.X.toarray().tolist() == [[1], [1]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1 3 4000001", r"line 1: there must be at most 4000000 labels, got 4000001. Hint: n_labels=4000001"),
        ("1 9999999999 3", r"line 1: there must be at most 2147483647 features, got 9999999999"),
        ("1 " + "9" * 5000 + " 3", r"line 1: .* at most 18 digits, got one of 5000"),
    ],
    ids=["labels", "features", "digits"],
)
def test_numbers_of_the_first_line_are_checked(write, line, message):
    """Numbers of columns that no matrix has are errors of line 1."""
    with pytest.raises(ValueError, match=message):
        load_dataset(write("toy.svm", f"{line}\n0 0:1\n"))


@pytest.mark.parametrize("zero_based", ["auto", False])
def test_rows_without_features_that_count_from_one(write, zero_based):
    """Rows without any feature are an error that names the file, or as wide as the caller says."""
    path = write("toy.svm", "0\n1\n")
    with pytest.raises(ValueError, match=r"toy.svm must contain at least one feature index, got none"):
        read_svmlight(path, zero_based=zero_based)
    assert read_svmlight(path, n_features=3, zero_based=zero_based).X.shape == (2, 3)
