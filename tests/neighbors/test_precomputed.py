from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsTransformer

from conftest import CONTAINERS
from nearlabel.lazy import MLkNN
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
    with pytest.raises(ValueError, match="other samples"):
        known.fit(rows)


def test_unchecked_rows_are_told_apart_by_their_number():
    """For those who pass the rows on themselves, no row is read."""
    known = PrecomputedNeighbors.from_search(ExactNeighbors(), X, QUERIES, n_neighbors=3, check_rows=False)
    assert known.fit(np.zeros((30, 1))).kneighbors(np.zeros((8, 1)))[1].shape == (8, 3)
    with pytest.raises(ValueError, match="other samples"):
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
    with pytest.raises(ValueError, match="training samples whose neighbours were precomputed"):
        known.fit(X[::-1])
    with pytest.raises(ValueError, match="one of the 2 sets of queries"):
        known.kneighbors(X[:8])
    with pytest.raises(ValueError, match="at most the 10 that were precomputed, got 11"):
        known.kneighbors(QUERIES, 11)


def test_arrays_of_any_engine():
    """Arrays found elsewhere are taken on trust, by their number of rows."""
    graph = NeighborGraph(np.array([[1.0], [1.0]]), np.array([[1], [0]]))
    assert PrecomputedNeighbors(graph).fit(np.zeros((2, 9))).kneighbors(return_distance=False).tolist() == [[1], [0]]
    with pytest.raises(ValueError, match="other samples"):
        PrecomputedNeighbors(graph).fit(np.zeros((3, 9)))
    with pytest.raises(ValueError, match=r"arrays of one shape .* got shapes \(2, 1\) and \(1, 2\)"):
        NeighborGraph(np.zeros((2, 1)), np.zeros((1, 2), dtype=int))


def graph_of(distances, indices, n_samples):
    """CSR rows that hold exactly these entries, zeros included, in this order."""
    shape = np.shape(indices)
    stored = np.ravel(distances).astype(float), np.ravel(indices), np.arange(0, shape[0] * shape[1] + 1, shape[1])
    return sparse.csr_array(stored, shape=(shape[0], n_samples))


def shuffled(graph, rng):
    """The same entries, each row's in another order."""
    columns, data = graph.indices.copy(), graph.data.copy()
    for start, stop in pairwise(graph.indptr):
        order = start + rng.permutation(stop - start)
        columns[start:stop], data[start:stop] = graph.indices[order], graph.data[order]
    return sparse.csr_array((data, columns, graph.indptr), shape=graph.shape)


@pytest.mark.parametrize("rows", [X, np.round(X), np.zeros_like(X)], ids=["spread", "ties", "equal"])
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array, sparse.csc_array])
def test_graphs_of_all_distances(rows, container):
    """Whole graphs, entries in any order, zeros stored: the answer is that of the exact search."""
    queries, exact = np.round(QUERIES), ExactNeighbors().fit(rows)
    everything = graph_of(*exact.kneighbors(rows, 30), 30)
    answers = graph_of(*exact.kneighbors(queries, 30), 30)
    known = PrecomputedNeighbors.from_graph(*(container(shuffled(graph, RNG)) for graph in (everything, answers)))
    for asked, k in ((None, 29), (queries, 30)):
        for theirs, ours in zip(known.fit(rows).kneighbors(asked), exact.kneighbors(asked, k), strict=True):
            assert (theirs == ours).all()


def test_graphs_of_scikit_learn():
    """Its graphs hold a training row and n others: the row goes by its number, wherever duplicates put it."""
    rows = np.repeat(X[:10], 3, axis=0)
    transformer = KNeighborsTransformer(n_neighbors=6)
    known = PrecomputedNeighbors.from_graph(transformer.fit_transform(rows), transformer.transform(QUERIES))
    assert known.n_neighbors_known == 6
    distances, indices = known.kneighbors(None, 2)
    assert (distances == 0).all()
    assert (indices // 3 == np.arange(30)[:, np.newaxis] // 3).all()
    assert (indices != np.arange(30)[:, np.newaxis]).all()
    assert known.kneighbors(QUERIES)[1].shape == (8, 7)


def test_rows_with_and_without_themselves():
    """A row that does not hold itself keeps all it has; the smallest number counts for all."""
    entries = [(0, 0, 0.0), (0, 2, 2.0), (0, 1, 1.0), (1, 2, 0.0), (1, 0, 1.0), (2, 1, 3.0), (2, 0, 0.5), (2, 2, 0.0)]
    row, column, value = zip(*entries, strict=True)
    known = PrecomputedNeighbors.from_graph(sparse.coo_array((value, (row, column)), shape=(3, 3)))
    assert known.kneighbors(return_distance=False).tolist() == [[1, 2], [2, 0], [0, 1]]
    row, column, value = row[:6], column[:6], value[:6]
    known = PrecomputedNeighbors.from_graph(sparse.coo_array((value, (row, column)), shape=(3, 3)))
    assert known.kneighbors(return_distance=False).tolist() == [[1], [2], [1]]


def test_a_graph_stays_as_it_was():
    """What the user passes is not sorted in place."""
    graph = shuffled(graph_of(*ExactNeighbors().fit(X).kneighbors(X, 5), 30), RNG)
    before = graph.copy()
    PrecomputedNeighbors.from_graph(graph)
    assert (graph.indices == before.indices).all()
    assert (graph.data == before.data).all()


def test_rows_of_graphs():
    """With the rows, others are refused and sets of one size told apart; without, their numbers tell them apart."""
    exact = ExactNeighbors().fit(X)
    graphs = [graph_of(*exact.kneighbors(rows, 5), 30) for rows in (X, QUERIES, OTHERS)]
    known = PrecomputedNeighbors.from_graph(*graphs, rows=(X, QUERIES, OTHERS))
    assert (known.kneighbors(OTHERS, 3)[1] == exact.kneighbors(OTHERS, 3)[1]).all()
    with pytest.raises(ValueError, match="other samples"):
        known.fit(X + 1)
    with pytest.raises(ValueError, match=r"different numbers of rows, got \[8, 8\]. Hint: rows="):
        PrecomputedNeighbors.from_graph(*graphs)
    with pytest.raises(ValueError, match=r"rows must be the rows of the graphs, \[30, 8\] of them, got \[30\]"):
        PrecomputedNeighbors.from_graph(*graphs[:2], rows=(X,))
    assert PrecomputedNeighbors.from_graph(*graphs[:2]).fit(X + 1).kneighbors(OTHERS)[1].shape == (8, 5)


def test_a_classifier_of_graphs():
    """The answer of a classifier by graphs is that by the search they came from."""
    Y = (X[:, :2] > 0).astype(int)
    exact = ExactNeighbors().fit(X)
    graphs = graph_of(*exact.kneighbors(X, 12), 30), graph_of(*exact.kneighbors(QUERIES, 10), 30)
    known = PrecomputedNeighbors.from_graph(*graphs)
    for k in (1, 7):
        assert (
            MLkNN(k, search=known).fit(X, Y).predict_proba(QUERIES) == MLkNN(k).fit(X, Y).predict_proba(QUERIES)
        ).all()


EYE = np.eye(3)


@pytest.mark.parametrize(
    ("graphs", "error", "message"),
    [
        ((EYE,), TypeError, "training_graph must be a sparse graph of distances, got ndarray"),
        ((3,), TypeError, "training_graph must be a sparse graph of distances, got int"),
        ((sparse.csr_array(np.ones((3, 4))),), ValueError, r"shape \(n_rows, n_samples=3\), got shape \(3, 4\)"),
        (
            (sparse.csr_array(np.ones((3, 3))), sparse.csr_array(np.ones((2, 4)))),
            ValueError,
            r"query graph 1 must be of shape \(n_rows, n_samples=3\), got shape \(2, 4\)",
        ),
        ((sparse.csr_array(EYE),), ValueError, "must have a neighbour of every row, got none of row 0"),
        ((sparse.csr_array(EYE - 0.5),), ValueError, "must contain finite distances of at least 0, got -0.5"),
        ((sparse.csr_array(np.where(EYE, 0, np.nan)),), ValueError, "finite distances of at least 0, got nan"),
        ((sparse.csr_array(np.where(EYE, 0, np.inf)),), ValueError, "finite distances of at least 0, got inf"),
        ((sparse.csr_array(np.ones((3, 3), dtype=bool)),), ValueError, "contain distances, got values of type bool"),
        ((graph_of([[1, 2]] * 3, [[1, 1], [2, 2], [0, 0]], 3),), ValueError, "each neighbour of a row once"),
    ],
)
def test_what_is_no_graph(graphs, error, message):
    """Dense matrices, wrong shapes, rows alone and numbers that are no distances are refused."""
    with pytest.raises(error, match=message):
        PrecomputedNeighbors.from_graph(*graphs)
