import numpy as np
import pytest
from scipy import sparse

from nearlabel import labels as labels_module
from nearlabel.labels import (
    cardinality,
    co_occurrence,
    density,
    describe,
    distinct_labelsets,
    frequencies,
    imbalance_ratios,
    known_counts,
    labelset_diversity,
    labelset_proportion,
    mean_imbalance_ratio,
    minority_labels,
    most_frequent,
    scumble,
    scumble_of_rows,
)

Y = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 1, 0]])
CONTAINERS = [np.asarray, np.ndarray.tolist, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, sparse.lil_array]
NOT_OF_LABELS_ALONE = {"coupled_similarity", "labelsets_by_frequency"}  # of X too; ordered by first rows
FUNCTIONS = [getattr(labels_module, name) for name in labels_module.__all__ if name not in NOT_OF_LABELS_ALONE]


def dense(matrix):
    """Either kind of matrix as an array."""
    return matrix.toarray() if sparse.issparse(matrix) else matrix


def random_labels(n_samples, n_labels, share=0.3):
    """An indicator matrix with about this share of ones."""
    return (np.random.RandomState(0).random_sample((n_samples, n_labels)) < share).astype(np.int64)


@pytest.mark.parametrize("container", CONTAINERS)
def test_by_hand(container):
    """Six labels in four rows, three distinct label sets, frequencies 3, 1, 2, 0."""
    given = container(Y)
    assert cardinality(given) == 6 / 4
    assert density(given) == 6 / 16
    assert labelset_diversity(given) == 3
    assert labelset_proportion(given) == 3 / 4
    assert frequencies(given).tolist() == [3, 1, 2, 0]
    assert most_frequent(given).tolist() == [0, 2, 1]
    assert most_frequent(given, 2).tolist() == [0, 2]
    assert imbalance_ratios(given).tolist() == [1, 3, 1.5, np.inf]
    assert mean_imbalance_ratio(given) == (1 + 3 + 1.5) / 3
    assert minority_labels(given).tolist() == [1]
    of_rows = [1 - 1.5**0.5 / 1.25, 1 - 3**0.5 / 2, 0, 1 - 1.5**0.5 / 1.25]
    assert scumble_of_rows(given) == pytest.approx(of_rows)
    assert scumble(given) == pytest.approx(np.mean(of_rows))


@pytest.mark.parametrize("container", CONTAINERS)
def test_distinct_labelsets_by_hand(container):
    """Label sets in the order of binary numbers: 0000, 1010, 1100."""
    labelsets, inverse, counts = distinct_labelsets(container(Y))
    assert sparse.issparse(labelsets) == sparse.issparse(container(Y))
    assert dense(labelsets).tolist() == [[0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]]
    assert (inverse.tolist(), counts.tolist()) == ([1, 2, 0, 1], [1, 2, 1])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_labels", [1, 3, 7, 8, 9, 17])
def test_distinct_labelsets_are_those_of_unique(container, n_labels):
    """Label sets, order, inverse and counts are those of np.unique along the rows."""
    given = random_labels(300, n_labels)
    labelsets, inverse, counts = distinct_labelsets(container(given))
    expected = np.unique(given, axis=0, return_inverse=True, return_counts=True)
    np.testing.assert_array_equal(dense(labelsets), expected[0])
    np.testing.assert_array_equal(inverse, expected[1].ravel())
    np.testing.assert_array_equal(counts, expected[2])
    assert labelset_diversity(container(given)) == len(expected[0])


def test_many_sparse_labels():
    """A hundred thousand labels stay sparse; on the labels that occur the result is np.unique's."""
    random = np.random.RandomState(1)
    occurring = np.sort(random.choice(100_000, 12, replace=False))
    small = random_labels(2000, 12, share=0.2)
    rows, columns = np.nonzero(small)
    wide = sparse.csr_array((np.ones(len(rows)), (rows, occurring[columns])), shape=(2000, 100_000))
    labelsets, inverse, counts = distinct_labelsets(wide)
    expected = np.unique(small, axis=0, return_inverse=True, return_counts=True)
    assert labelsets.format == "csr"
    np.testing.assert_array_equal(labelsets[:, occurring].toarray(), expected[0])
    np.testing.assert_array_equal(inverse, expected[1].ravel())
    np.testing.assert_array_equal(counts, expected[2])
    assert (labelsets[inverse] != wide).nnz == 0


@pytest.mark.parametrize("container", CONTAINERS)
def test_co_occurrence(container):
    """Pairs are counted; the diagonal holds the frequencies; sparse in, CSR out."""
    counts = co_occurrence(container(Y))
    assert dense(counts).tolist() == [[3, 1, 2, 0], [1, 1, 0, 0], [2, 0, 2, 0], [0, 0, 0, 0]]
    assert counts.dtype == np.int64
    if sparse.issparse(container(Y)):
        assert counts.format == "csr"


def test_small_integers_do_not_overflow():
    """Eight-bit labels are counted in 64 bits."""
    given = np.ones((1000, 2), dtype=np.int8)
    assert frequencies(given).tolist() == [1000, 1000]
    assert co_occurrence(sparse.csr_array(given)).toarray().tolist() == [[1000, 1000], [1000, 1000]]
    assert cardinality(sparse.csr_array(given)) == 2


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_no_label_at_all(container):
    """Without any label the ratios are infinite and their mean is undefined."""
    given = container(np.zeros((3, 2), dtype=int))
    assert (cardinality(given), density(given), labelset_diversity(given)) == (0, 0, 1)
    assert imbalance_ratios(given).tolist() == [np.inf, np.inf]
    assert np.isnan(mean_imbalance_ratio(given))


@pytest.mark.parametrize("container", CONTAINERS)
def test_describe(container):
    """The scalar figures in one dict, as plain numbers."""
    assert describe(container(Y)) == {
        "instances": 4,
        "labels": 4,
        "cardinality": 1.5,
        "density": 0.375,
        "labelset_diversity": 3,
        "labelset_proportion": 0.75,
        "mean_imbalance_ratio": pytest.approx(5.5 / 3),
        "rows_without_labels": 1,
        "labels_without_rows": 1,
        "max_labels": 2,
    }
    assert {type(value) for value in describe(container(Y)).values()} == {int, float}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_permuted_rows(function):
    """The order of the rows does not matter, but for the inverse of the distinct label sets and what is of each row."""
    given = random_labels(50, 5)
    one, other = function(given), function(given[::-1])
    if function is distinct_labelsets:
        one, other = (one[0], one[1][::-1], one[2]), other
        assert all(np.array_equal(left, right) for left, right in zip(one, other, strict=True))
    else:
        np.testing.assert_equal(one[::-1] if function is scumble_of_rows else one, other)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([[0, 2]], "y must contain 0 and 1 only, got"),
        ([[-1, 1]], "y must contain 0 and 1 only, got two values, -1 and 1"),
        ([0, 1], "y must be an indicator matrix of shape"),
        (np.zeros((0, 3)), r"y must have at least one row, got shape \(0, 3\)"),
        (sparse.csr_array((0, 3)), r"y must have at least one row, got shape \(0, 3\)"),
    ],
    ids=["two", "minus one", "one-dimensional", "no row", "no sparse row"],
)
def test_refused(function, given, message):
    """Each function refuses what is no indicator matrix with a row."""
    with pytest.raises(ValueError, match=message):
        function(given)


def test_most_frequent_of_no_labels():
    """At least one label must be wanted."""
    with pytest.raises(ValueError, match="n_labels must be at least 1, got 0"):
        most_frequent(Y, 0)


NAN = np.nan
PARTIAL = np.array([[1, 0, 1, NAN], [1, NAN, NAN, NAN], [NAN, 0, 0, NAN], [0, 0, 1, 0], [NAN] * 4, [0, 0, 1, 0]])


@pytest.mark.parametrize("container", [np.asarray, np.ndarray.tolist, sparse.csr_array, sparse.coo_matrix])
def test_unknown_cells_by_hand(container):
    """Figures of the known cells; label sets are compared where the whole row is known."""
    given = container(PARTIAL)
    assert frequencies(given).tolist() == [2, 0, 3, 0]
    assert known_counts(given).tolist() == [4, 4, 4, 2]
    assert cardinality(given) == 2 / 4 + 3 / 4
    assert density(given) == (2 / 4 + 3 / 4) / 4
    assert imbalance_ratios(given).tolist() == [0.75 / 0.5, np.inf, 1, np.inf]
    assert (labelset_diversity(given), labelset_proportion(given)) == (1, 0.5)
    assert dense(co_occurrence(given)).tolist() == [[2, 0, 1, 0], [0] * 4, [1, 0, 3, 0], [0] * 4]
    figures = describe(given)
    assert [figures[name] for name in ("rows_without_labels", "labels_without_rows", "max_labels")] == [0, 2, 2]
    assert figures["unknown_cells"] == 10
    assert figures["unknown_share"] == pytest.approx(10 / 24)
    assert figures["rows_without_known_labels"] == 1


def test_no_row_is_known_whole():
    """Then there is no share of label sets; a label may be unknown throughout."""
    figures = describe([[NAN, 1], [NAN, 0]])
    assert np.isnan(figures["labelset_proportion"])
    assert (figures["labelset_diversity"], figures["cardinality"], figures["density"]) == (0, 0.5, 0.25)


def test_label_sets_with_unknown_cells_are_not_listed():
    """They are none that could be told from others."""
    with pytest.raises(ValueError, match="y must contain 0 and 1 only, got"):
        distinct_labelsets(PARTIAL)


@pytest.mark.parametrize("container", CONTAINERS)
def test_known_cells_give_what_they_gave(container):
    """Floats without NaN, too, have no further figures."""
    assert describe(container(Y.astype(np.float64))) == describe(container(Y))
    assert "unknown_cells" not in describe(container(Y))
