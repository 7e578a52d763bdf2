import gzip

import numpy as np
import pytest

from nearlabel.datasets import _lines as lines_module
from nearlabel.datasets import load_dataset, open_rows, read_svmlight
from nearlabel.datasets._lines import suffix_of_content


def test_labels_and_features(write):
    """Label numbers and index:value pairs become two CSR arrays, named by their numbers."""
    data = read_svmlight(write("toy.svm", "2,0 0:1.5 3:-2e1\n1 2:7\n"))
    np.testing.assert_array_equal(data.Y.toarray(), [[1, 0, 1], [0, 1, 0]])
    np.testing.assert_array_equal(data.X.toarray(), [[1.5, 0, 0, -20], [0, 0, 7, 0]])
    assert (data.Y.dtype, data.X.dtype, data.X.format) == (np.int64, np.float64, "csr")
    assert (data.label_names, data.feature_names) == (("0", "1", "2"), ("0", "1", "2", "3"))
    assert data.Y.has_canonical_format
    assert data.name == "toy"


@pytest.mark.parametrize(
    "text",
    [
        "1 0:2\n 1:3",
        "1 0:2 \r\n1:3\r\n",
        "# top\n1 qid:4 0:2 # one\n\n\t1:3\n",
        "1.0 0:2\n 1:3 0:0\n",
    ],
    ids=["no newline at the end", "no blank before features", "qid and comments", "float labels"],
)
def test_spellings(write, text):
    """However they are spelled, these are a row with label 1 and one without labels."""
    data = read_svmlight(write("toy.svm", text))
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 1], [0, 0]])
    np.testing.assert_array_equal(data.X.toarray(), [[2, 0], [0, 3]])


def test_a_byte_order_mark(write):
    """Is no part of the first row, also if that begins with a feature."""
    for text in ("1 0:2\n 1:3\n", "# c\n1 0:2\n 1:3\n", "2 2 2\n1 0:2\n 1:3\n"):
        data = read_svmlight(write("toy.svm", "\ufeff" + text))
        assert data.Y.toarray().tolist() == [[0, 1], [0, 0]]
        assert data.X.toarray().tolist() == [[2, 0], [0, 3]]


@pytest.mark.parametrize("row", [" qid:3", "\tqid:3", "  qid:3 ", " qid:3# c 1:1 2:2", " qid:3 qid:4\r", "\x0bqid:3#"])
def test_a_query_alone_is_no_row(write, row):
    """A row that has nothing but what is optional may be a part of one, whichever blanks it has."""
    path = write("toy.svm", f"0 1:1\n{row}\n0 3:4\n")
    with pytest.raises(ValueError, match=r"toy\.svm, line 2: a row must have labels or features, got a query only\."):
        read_svmlight(path)
    with pytest.raises(ValueError, match="line 2: a row must have labels or features"):
        list(open_rows(path, ["1"]))
    with pytest.raises(ValueError, match="line 2: a row must have labels or features"):
        load_dataset(write("a_X_Xf.txt", f"2 4\n{row}\n3:4\n"))


@pytest.mark.parametrize(
    "row", ["1 qid:31:2", "1 qid:", "1 qid:a 0:1", "1 qid:-1 0:1", "qid:3 0:1", "1 0:1 qid:2:3", "2 qid:1 ,1 0:1"]
)
def test_a_query_is_a_whole_number(write, row):
    """Otherwise the rest of it would be read as a pair, as 1:2 in the first of these."""
    with pytest.raises(ValueError, match="line 1: a row must read"):
        read_svmlight(write("toy.svm", f"{row}\n"))


@pytest.mark.parametrize("text", ["0 0:1\r 1:2\r", " 0:1 # c\r0 1:2\r", "# c\r0 0:1\r", "0 0:1\n1 0:1\r 1:2\n"])
def test_a_carriage_return_ends_no_line(write, text):
    """Otherwise the rows of old Macs would be one row, and those behind a comment none."""
    path = write("toy.svm", text)
    with pytest.raises(
        ValueError, match=r"toy\.svm, line \d: a line must end in a newline, got a carriage return alone"
    ):
        read_svmlight(path)
    assert read_svmlight(write("toy.svm", "0 0:1\r\n 1:2 # c\r\r\n")).Y.toarray().tolist() == [[1], [0]]


def test_row_without_features(write):
    """A row may have labels only."""
    data = read_svmlight(write("toy.svm", "0\n1 0:3\n"))
    np.testing.assert_array_equal(data.X.toarray(), [[0], [3]])


def test_no_features_or_no_labels_at_all(write):
    """A file may lack either, if the number of columns is given."""
    path = write("toy.svm", "0\n1\n")
    assert read_svmlight(path, n_features=3).X.toarray().tolist() == [[0, 0, 0], [0, 0, 0]]
    path = write("toy.svm", " 0:1\n 0:2\n")
    assert read_svmlight(path, n_labels=2).Y.toarray().tolist() == [[0, 0], [0, 0]]


def test_numbers_of_columns(write):
    """The number of columns may be given, to agree with a training file."""
    data = read_svmlight(write("toy.svm", "0 0:1\n"), n_features=5, n_labels=3)
    assert (data.X.shape, data.Y.shape) == ((1, 5), (1, 3))


def test_first_line_of_dimensions(write):
    """A first line of three integers gives rows, features, labels."""
    data = read_svmlight(write("toy.txt", "1 6 4\n0 0:1\n"))
    assert (data.X.shape, data.Y.shape) == ((1, 6), (1, 4))


def test_the_largest_index_of_a_given_width(write):
    """Is the number of features where indices count from 1, and one less where they count from 0."""
    path = write("toy.svm", "1 1:5 3:6\n")
    assert read_svmlight(path, zero_based=False, n_features=3).X.toarray().tolist() == [[5, 0, 6]]
    with pytest.raises(ValueError, match="a feature index must be below 3, got 3"):
        read_svmlight(path, n_features=3)


@pytest.mark.parametrize(("zero_based", "width"), [(True, 3), (False, 2), ("auto", 2)])
def test_indices_from_1(write, zero_based, width):
    """A file that counts from 1 gains an empty column, unless it is said or found out."""
    data = read_svmlight(write("toy.svm", "1 1:5 2:6\n"), zero_based=zero_based, labels_zero_based=False)
    np.testing.assert_array_equal(data.X.toarray()[:, -2:], [[5, 6]])
    assert data.X.shape[1] == width
    assert data.Y.toarray().tolist() == [[1]]


def test_auto_keeps_indices_from_0(write):
    """An index 0 anywhere, even with the value 0, shows that indices count from 0."""
    assert read_svmlight(write("toy.svm", "0 1:5\n0 0:0\n"), zero_based="auto").X.shape == (2, 2)


def test_compressed_in_many_blocks(tmp_path, monkeypatch):
    """Blocks do not show."""
    path = tmp_path / "toy.svm.gz"
    path.write_bytes(gzip.compress("".join(f"{n % 3} {n}:{n + 1}\n" for n in range(300)).encode()))
    whole = read_svmlight(path)
    monkeypatch.setattr(lines_module, "BLOCK_BYTES", 50)
    parts = read_svmlight(path)
    assert (whole.X != parts.X).nnz == (whole.Y != parts.Y).nnz == 0
    np.testing.assert_array_equal(parts.X.data, np.arange(1, 301))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0:1\n0 x:1\n", r"toy\.svm, line 2: a row must read 'label,label index:value \.\.\.', got '0 x:1'\."),
        ("a 0:1\n", r"line 1: a row must read"),
        ("0 0:\n", r"line 1: a row must read"),
        ("0 0:nan\n", r"line 1: a row must read"),
        ("-1 0:1\n", r"line 1: a row must read"),
        ("0,,1 0:1\n", r"line 1: a row must read"),
        ("1.5 0:1\n", r"line 1: a row must read"),
        ("0 -1:1\n", r"line 1: a row must read"),
        ("0 99999999999:1\n", r"line 1: a row must read"),
        ("0 0:1\n1 2:1 2:3\n", r"line 2: a feature index must occur once in a row, got 2 twice\."),
        ("1,0,1 2:1\n", r"line 1: a label must occur once in a row, got 1 twice\."),
        ("0 0:1e999\n", r"line 1: a value must be finite, got inf\."),
        (
            "0 0:1\n0 0:1 1:9007199254740993\n",
            r"line 2: a value must be a number, got 9007199254740993 \(float64 cannot",
        ),
        (" 2 0:1\n", r"line 1: a row must read .*, got '2 0:1'\.$"),
        ("1, 0:1 2:1\n", r"line 1: a row must read .*, got '1, 0:1 2:1'\.$"),
        ("0:1, 5:1\n", r"line 1: a row must read .*, got '0:1, 5:1'\.$"),
        ("0:1,5:1\n", r"line 1: a row must read .*, got '0:1,5:1'\. Hint: decimals must have a point\."),
        ("1 0:0,5\n", r"line 1: a row must read .* Hint: decimals must have a point\."),
        (
            "3:1,5:0.25 0:1\n",
            r"line 1: a score of a label must be 1, got 0.25 for label 5\. Hint: write the labels that",
        ),
        (
            "3:1,5:1 0:1\n\n2:1 0:1\n",
            r"line 3: labels must have no scores if rows begin with a pair, got .* in line 1 ",
        ),
        ("2:1 0:1\n3:1,5:1 0:1\n", r"line 2: labels must have no scores .* line 2 and a pair, .*, in line 1\. Hint"),
        ("3,5,4\n0 0:1\n1 1:1\n2 0:1\n", r"line 1: the first line must be a row, or the rows, .*, got '3,5,4', and"),
        ("2\n0 0:1\n1 1:1\n", r"line 1: the first line must be a row, or .* got '2', and as many rows behind it"),
        (
            "3 5 4 2\n0 0:1\n",
            r"line 1: a row must read .* Hint: a first line of numbers must be the rows, features and",
        ),
        ("1.25\n2.5\n", r"line 1: a row must read .* Hint: propensities, a number on each line, are no rows\."),
        ("0 17\n3 5\n", r"line 2: a row must read .* Hint: pairs of numbers, such as those that an evaluation filters"),
        ("%%MatrixMarket matrix coordinate real general\n", r"line 1: .* Hint: scipy\.io\.mmread reads"),
        ("0 1:1\nqid:3\n", r"line 2: a row must read .* Hint: qid:n must come behind the labels, or a blank\."),
        ("f1,f2,l\n1,2,0\n", r"line 1: a row must read .* Hint: a table must end in \.csv or \.tsv\."),
        ("\n# c\n", r"toy\.svm must contain at least one row, got none\."),
        (" 0:1\n", r"toy\.svm must contain at least one label, got none\."),
    ],
)
def test_malformed(write, text, message):
    """A wrong row is reported with file, line, what was expected and what was got."""
    with pytest.raises(ValueError, match=message):
        read_svmlight(write("toy.svm", text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0:1\n0 7:1\n", r"line 2: a feature index must be below 3, got 7\."),
        ("0 3:1\n", r"a feature index must be below 3, got 3\."),
        ("0 0:1\n9 0:1\n", r"line 2: a label must be below 2, got 9\."),
        ("2 0:1\n", r"a label must be below 2, got 2\."),
    ],
)
def test_out_of_range(write, text, message):
    """An index beyond the given number of columns is refused."""
    with pytest.raises(ValueError, match=message):
        read_svmlight(write("toy.svm", text), n_features=3, n_labels=2)


def test_index_0_where_they_count_from_1(write):
    """Index 0 contradicts zero_based=False."""
    with pytest.raises(ValueError, match=r"a feature index must be at least 1 where they count from 1, got 0\."):
        read_svmlight(write("toy.svm", "0 0:1\n"), zero_based=False)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_features": 0}, ValueError, "n_features must be at least 1, got 0"),
        ({"n_labels": 1.5}, TypeError, "n_labels must be an integer, got 1.5"),
        ({"zero_based": "maybe"}, ValueError, "zero_based must be True, False or 'auto', got 'maybe'"),
    ],
)
def test_parameters(write, arguments, error, message):
    """Parameters are checked before reading."""
    with pytest.raises(error, match=message):
        read_svmlight(write("toy.svm", "0 0:1\n"), **arguments)


def test_labels_from_1_are_recognised(write):
    """Without a label 0, "auto" counts labels from 1, as load_dataset does; no empty label comes of it."""
    path = write("toy.svm", "1,3 0:1\n2 1:1\n")
    assert read_svmlight(path).Y.shape == (2, 4)
    for data in (read_svmlight(path, labels_zero_based="auto"), load_dataset(path)):
        np.testing.assert_array_equal(data.Y.toarray(), [[1, 0, 1], [0, 1, 0]])
    assert load_dataset(write("other.svm", "0,2 0:1\n1 1:1\n")).Y.shape == (2, 3)
    with pytest.raises(ValueError, match="labels_zero_based must be True, False or 'auto', got 'no'"):
        read_svmlight(path, labels_zero_based="no")


def test_the_number_of_rows_that_is_declared_holds(write):
    """A file with fewer rows than its first line says is not whole."""
    with pytest.raises(ValueError, match="must contain 9 rows as its first line states, got 2"):
        read_svmlight(write("toy.svm", "9 3 2\n0 0:1\n1 1:1\n"))


# Variants of extreme classification.

EXTREME = {
    "blanks": "1, 3 1:0.5 3:1\n2 1:1 2:0.25\n",
    "blanks and tabs": "1 ,\t3\t1:0.5\t3:1\n2 1:1 2:0.25\n",
    "a first line": "2 4 4\n1,3 1:0.5 3:1\n2 1:1 2:0.25\n",
    "a first line with tabs, behind a comment": "# rows, features, labels\n\n2\t4\t4\n1,3 1:0.5 3:1\n2 1:1 2:0.25\n",
    "a first line of rows and features": "2 4\n1,3 1:0.5 3:1\n2 1:1 2:0.25\n",
    "scores": "1:1.0,3:1 1:0.5 3:1\n2 1:1 2:0.25\n",
}


@pytest.mark.parametrize("text", EXTREME.values(), ids=EXTREME)
def test_variants(write, text):
    """Blanks after commas, scores of 1 and first lines of two or three numbers."""
    path = write("toy.txt", text)
    data = read_svmlight(path)
    assert data.Y.toarray().tolist() == [[0, 1, 0, 1], [0, 0, 1, 0]]
    assert data.X.toarray().tolist() == [[0, 0.5, 0, 1], [0, 1, 0.25, 0]]
    blocks = list(open_rows(path, ["3", "1"]))
    assert [row for block in blocks for row in block.X.toarray().tolist()] == [[1, 0.5], [0, 1]]
    path.rename(path.with_name("data"))
    assert suffix_of_content(path.with_name("data")) == (".csv" if text.startswith("1 ,") else ".svm")


@pytest.mark.parametrize("names", [("trn_X_Xf.txt", "trn_X_Y.txt"), ("tst_ft_mat.txt.gz", "tst_lbl_mat.txt.gz")])
def test_matrices(tmp_path, names, monkeypatch):
    """Features and labels in two files, in which an empty line is a row; indices count from 0."""
    texts = "4 3\n0:0.5 2:1\n\n1:2\n0:1\n\n\n", "4 5\n1:1.00000 3:1\n2:1\n\n3:1.0\n"
    for name, text in zip(names, texts, strict=True):
        packed = gzip.compress(text.encode()) if name.endswith("gz") else text.encode()
        (tmp_path / name).write_bytes(packed)
    for size in (2**19, 4):
        monkeypatch.setattr(lines_module, "BLOCK_BYTES", size)
        data = load_dataset(tmp_path / names[0])
        assert data.X.toarray().tolist() == [[0.5, 0, 1], [0, 0, 0], [0, 2, 0], [1, 0, 0]]
        assert data.Y.toarray().tolist() == [[0, 1, 0, 1, 0], [0, 0, 1, 0, 0], [0] * 5, [0, 0, 0, 1, 0]]
        rows = [block.X.toarray().tolist() for block in open_rows(tmp_path / names[0], ["2", "0"], block_rows=9)]
        assert rows == [[[1, 0.5], [0, 0], [0, 0], [0, 1]]]
    with pytest.raises(ValueError, match=rf"{names[1]} must be a matrix of features, .* Hint: {names[0]} next to it"):
        load_dataset(tmp_path / names[1])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, r"trn_X_Xf\.txt must have labels, got a matrix .* data_X_Xf\.txt and data_X_Y\.txt\."),
        ("2 3\n0:1\n1:0.5\n", r"X_Y\.txt, line 3: the value of a label must be 1, got 0\.5 for label 1\. Hint: keep"),
        ("2 3\n0:1 0:1\n1:1\n", r"X_Y\.txt, line 2: a label must occur once in a row, got 0 twice"),
        ("2 3\n0:1\n7:1\n", r"X_Y\.txt, line 3: a label must be below 3, got 7"),
        ("3 3\n0:1\n1:1\n2:1\n", r"X_Y\.txt must contain 2 rows, as .*X_Xf\.txt does, got 3"),
        (
            "2 5000000\n0:1\n1:1\n",
            r"X_Y\.txt, line 1: there must be at most 4000000 labels, got 5000000. Hint: n_labels",
        ),
        ("2 3\n\n\n", None),
    ],
)
def test_labels_of_matrices(write, labels, message):
    """What is wrong with them is an error of their file."""
    path = write("trn_X_Xf.txt", "2 3\n0:1\n1:1\n")
    if labels is not None:
        write("trn_X_Y.txt", labels)
    if message is None:
        assert read_svmlight(path).Y.toarray().tolist() == [[0, 0, 0], [0, 0, 0]]
    else:
        with pytest.raises(ValueError, match=message):
            read_svmlight(path)
