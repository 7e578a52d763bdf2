import numpy as np
import pytest
from sklearn.base import clone

from conftest import CONTAINERS
from nearlabel.neighbors import ExactNeighbors, NeighborGraph, PrecomputedNeighbors

RNG = np.random.default_rng(0)
X, QUERIES, OTHERS = RNG.normal(size=(30, 3)), RNG.normal(size=(8, 3)), RNG.normal(size=(8, 3))


@pytest.fixture
def known():
    """Ten neighbours of 30 training rows and of two sets of queries."""
    return PrecomputedNeighbors.from_search(ExactNeighbors(), X, QUERIES, OTHERS, n_neighbors=10)


@pytest.mark.parametrize("k", [1, 4, 10])
@pytest.mark.parametrize("queries", [None, QUERIES, OTHERS], ids=["training", "first", "second"])
def test_smaller_answers_are_those_of_the_search(known, queries, k):
    """Every smaller number of neighbours is answered as the search itself would."""
    expected = ExactNeighbors().fit(X).kneighbors(queries, k)
    answer = known.fit(X).kneighbors(queries, k)
    assert (answer[0] == expected[0]).all()
    assert (answer[1] == expected[1]).all()


def test_rows_are_known_in_any_type_and_layout():
    """The same rows as float32, in Fortran order or sparse are recognised."""
    rows = np.round(X * 4)
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), CONTAINERS["csr_matrix"](rows), n_neighbors=3)
    known.fit(CONTAINERS["csc_array"](rows))
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), rows, n_neighbors=3)
    assert known.fit(np.asfortranarray(rows, dtype=np.float32)) is known


def test_rows_changed_in_place_are_other_rows():
    """Neighbours are those of the rows as they were; zeros of any sign and storage are equal."""
    rows = np.round(X * 2)
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), rows, n_neighbors=3)
    known.fit(0 * X - rows * -1)
    rows[0] += 1
    with pytest.raises(ValueError, match="other rows"):
        known.fit(rows)


def test_unchecked_rows_are_told_apart_by_their_number():
    """For those who pass the rows on themselves, no row is read."""
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), X, QUERIES, n_neighbors=3, check_rows=False)
    assert known.fit(np.zeros((30, 1))).kneighbors(np.zeros((8, 1)))[1].shape == (8, 3)
    with pytest.raises(ValueError, match="other rows"):
        known.fit(np.zeros((29, 1)))


def test_number_of_known_neighbors(known):
    """How many neighbours of the training rows are known is told, whatever is known of the queries."""
    assert known.n_neighbors_known == 10
    one = NeighborGraph(np.ones((2, 1)), np.array([[1], [0]]))
    two = NeighborGraph(np.ones((3, 2)), np.array([[0, 1]] * 3))
    assert PrecomputedNeighbors(one, (two,)).n_neighbors_known == 1


def test_clone_is_the_same_object(known):
    """A classifier that clones its search does not copy the neighbours."""
    assert clone(known) is known


def test_other_rows_are_refused(known):
    """Rows that were not searched get an error, never someone else's neighbours."""
    with pytest.raises(ValueError, match="training rows whose neighbours were precomputed"):
        known.fit(X[::-1])
    with pytest.raises(ValueError, match="one of the 2 sets of queries"):
        known.kneighbors(X[:8])
    with pytest.raises(ValueError, match="at most the 10 that were precomputed, got 11"):
        known.kneighbors(QUERIES, 11)


def test_arrays_of_any_engine():
    """Arrays found elsewhere are taken on trust, by their number of rows."""
    graph = NeighborGraph(np.array([[1.0], [1.0]]), np.array([[1], [0]]))
    assert PrecomputedNeighbors(graph).fit(np.zeros((2, 9))).kneighbors(return_distance=False).tolist() == [[1], [0]]
    with pytest.raises(ValueError, match="other rows"):
        PrecomputedNeighbors(graph).fit(np.zeros((3, 9)))
    with pytest.raises(ValueError, match=r"arrays of one shape .* got shapes \(2, 1\) and \(1, 2\)"):
        NeighborGraph(np.zeros((2, 1)), np.zeros((1, 2), dtype=int))
