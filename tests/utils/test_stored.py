"""The places that sparse containers store: what is refused and what is taken, and that no flag is believed."""

import numpy as np
import pytest
from scipy import sparse

from _doors import forged
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors
from nearlabel.utils.stored import checked_places

ROWS = np.array([[0.0, 1, 2, 0], [3, 0, 0, 0], [0, 0, 0, 0], [0, 4, 0, 5]])
FORMATS = ("csr", "csc", "bsr", "coo", "lil", "dok", "dia")
FAMILIES = ("array", "matrix")


def made(name, family="array", rows=ROWS):
    """Return rows in a format of scipy."""
    return getattr(sparse, f"{name}_{family}")(rows)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("rows", [ROWS, ROWS.astype(np.int8), ROWS > 1, np.zeros((3, 2)), np.zeros((0, 3)), np.eye(1)])
def test_valid_containers_keep_their_values(name, family, rows):
    """Of all formats and families, also without entries or rows; types stay."""
    container = made(name, family, rows)
    checked = checked_places("X", container)
    assert type(checked).__name__.endswith(family)
    assert checked.dtype == rows.dtype
    np.testing.assert_array_equal(checked.toarray(), rows)


@pytest.mark.parametrize("index", [np.int32, np.int64, np.uint32, np.int8, ">i4"])
def test_types_of_indices(index):
    """Any type of integers, in any order of bytes."""
    container = made("csr")
    container.indices, container.indptr = container.indices.astype(index), container.indptr.astype(index)
    np.testing.assert_array_equal(checked_places("X", container).toarray(), ROWS)


def test_the_smaller_type_of_indices_stays():
    """Solvers and trees of scikit-learn do not take the larger one, which scipy would choose for both arrays."""
    container = made("csr")
    container.indptr = container.indptr.astype(np.int64)
    for one in (container, made("csr", rows=np.zeros((3, 2)))):
        checked = checked_places("X", one)
        assert checked.indices.dtype == checked.indptr.dtype == np.int32


def test_nothing_is_copied():
    """The container is another one, of the same arrays, and that of the caller does not change."""
    container = made("csr")
    checked = checked_places("X", container)
    assert checked is not container
    assert all(np.shares_memory(getattr(checked, part), getattr(container, part)) for part in ("data", "indices"))


def test_one_dimension_is_left_to_others():
    """Of an array of one dimension the places are checked; its shape is not refused here."""
    checked = checked_places("X", sparse.coo_array(np.array([0.0, 2.0])))
    assert checked.shape == (2,)
    container = sparse.coo_array(np.array([0.0, 2.0]))
    container.coords = (np.array([7]),)
    with pytest.raises(ValueError, match="entry 0 has row index 7, of 2 rows"):
        checked_places("X", container)


@pytest.mark.parametrize(("kind", "container"), [pytest.param(*pair, id=pair[0]) for pair in forged(ROWS)])
def test_forged_containers(kind, container):
    """Each is refused with the name of the argument, before scipy touches it."""
    with pytest.raises(ValueError, match=r"^X must be a valid sparse container, got a .* Hint: scipy.sparse.csr_"):
        checked_places("X", container)


def changed(name, **parts):
    """Return a container with other arrays."""
    container = made(name)
    for part, value in parts.items():
        setattr(container, part, np.array(value))
    return container


@pytest.mark.parametrize(
    ("container", "found"),
    [
        (changed("csr", indices=[1, 2, 0, 1, 4]), "entry 4 has column index 4, of 4 columns"),
        (changed("csr", indices=[1, 2, 0, 1, 10**9]), "entry 4 has column index 1,000,000,000, of 4 columns"),
        (changed("csr", indices=[-1, 2, 0, 1, 3]), "entry 0 has column index -1, of 4 columns"),
        (changed("csc", indices=[1, 0, 3, 0, 9]), "entry 4 has row index 9, of 4 rows"),
        (changed("csr", indices=[1, 2, 0, 1]), "indices has 4 numbers, of 5 entries"),
        (changed("csr", indices=[[1, 2, 0, 1, 3]]), "indices is an array of int64 of 2 dimensions"),
        (changed("csr", indices=[1.0, 2, 0, 1, 3]), "indices is an array of float64 of 1 dimensions, not a row of"),
        (changed("csr", indptr=[1, 2, 3, 3, 5]), "indptr starts with 1, not with 0"),
        (changed("csr", indptr=[0, 2, 1, 3, 5]), "row 1 ends at entry 1, before its start 2"),
        (changed("csr", indptr=[0, 2, 3, 3, 9]), "indptr ends with 9, of 5 entries"),
        (changed("csr", indptr=[0, 2, 3, 5]), "indptr has 4 numbers, not 5, one more than it has rows"),
        (changed("csc", indptr=[0, 2, 3, 3, 9]), "indptr ends with 9, of 5 entries"),
        (changed("csr", data=["a", "b", "c", "d", "e"]), "its data are of type <U1, not numbers"),
        (changed("csr", data=None), "unsized object"),
        (changed("bsr", data=np.ones(5)), r"data have the shape \(5,\), not"),
        (changed("bsr", data=np.ones((5, 1, 0))), r"data have the shape \(5, 1, 0\), not"),
        (changed("coo", data=np.ones(4)), "coords have 5 numbers, of 4 entries"),
        (changed("dia", data=np.ones((1, 4))), "offsets has 5 numbers, of 1 diagonals"),
    ],
)
def test_messages(container, found):
    """They say which number is wrong, and what it may be."""
    with pytest.raises(ValueError, match=found):
        checked_places("X", container)


def test_entries_behind_the_last_row_do_not_count():
    """Scipy's own rule, also if their indices and values are not valid."""
    container = changed("csr", indices=[1, 2, 0, 1, 3, 10**9], data=[1.0, 2, 3, 4, 5, np.nan])
    np.testing.assert_array_equal(checked_places("X", container).toarray(), ROWS)
    y = sparse.csr_array((ROWS > 0).astype(int))
    expected = MLkNN(2).fit(ROWS, y).predict(ROWS).toarray()
    np.testing.assert_array_equal(MLkNN(2).fit(container, y).predict(container).toarray(), expected)


def test_diagonals_without_a_cell_do_not_count():
    """Whatever their offset."""
    container = made("dia")
    container.offsets = np.append(container.offsets, [2**40, -(2**40)])
    container.data = np.vstack([container.data, np.ones((2, 4))])
    np.testing.assert_array_equal(checked_places("X", container).toarray(), ROWS)


def unsorted(rows, **flags):
    """Return CSR whose entries are in the wrong order and each given in two halves, which says otherwise."""
    honest = sparse.csr_array(rows)
    row = np.repeat(np.arange(rows.shape[0]), np.diff(honest.indptr))
    order = np.lexsort((-np.tile(honest.indices, 2), np.tile(row, 2)))
    halves = np.tile(honest.data / 2, 2)[order], np.tile(honest.indices, 2)[order], 2 * honest.indptr
    container = sparse.csr_array(halves, shape=rows.shape)
    for flag, value in flags.items():
        setattr(container, flag, value)
    return container


FLAGS = [{}, {"has_canonical_format": True}, {"has_sorted_indices": True},
         {"has_sorted_indices": True, "has_canonical_format": True}]  # fmt: skip


@pytest.mark.parametrize("flags", FLAGS, ids=str)
def test_flags_are_not_believed(flags):
    """A container that says falsely that its entries are sorted, each once, gives the answers of an honest one."""
    rng = np.random.default_rng(1)
    A, Y = rng.poisson(0.5, (60, 7)).astype(float), (rng.random((60, 3)) < 0.5).astype(float)
    lying, honest = unsorted(A, **flags), sparse.csr_array(A)
    for model in (MLkNN(3), BRkNN(3, search=ExactNeighbors("manhattan"))):
        expected = model.fit(honest, Y).predict_proba(honest)
        np.testing.assert_array_equal(model.predict_proba(lying), expected)
        np.testing.assert_array_equal(model.fit(lying, unsorted(Y, **flags)).predict_proba(honest), expected)
    assert micro_f1(unsorted(Y, **flags), 1 - Y) == micro_f1(Y, 1 - Y)
    assert ExactNeighbors().fit(lying).kneighbors(n_neighbors=2)[1].tolist() == (
        ExactNeighbors().fit(honest).kneighbors(n_neighbors=2)[1].tolist()
    )


def test_coordinates_that_say_that_each_is_given_once():
    """Their sum counts as of others."""
    container = sparse.coo_array((np.array([1.0, 1.0]), ([0, 0], [1, 1])), shape=(2, 2))
    container.has_canonical_format = True
    assert checked_places("X", container).tocsr().toarray().tolist() == [[0, 2], [0, 0]]


def test_lists_in_any_order():
    """Of a list of lists, each row may be in any order; a column that is given twice is added."""
    container = sparse.lil_array((2, 3))
    container.rows[0], container.data[0] = [2, 0, 2], [1.0, 5.0, 1.0]
    assert checked_places("X", container).toarray().tolist() == [[5, 0, 2], [0, 0, 0]]
    container.rows[1] = None
    with pytest.raises(ValueError, match="X must be a valid sparse container"):
        checked_places("X", container)


def test_graphs_of_neighbours():
    """A neighbour that is no training sample, a negative distance, and one that is NaN."""
    graph = sparse.csr_array(np.ones((3, 3)) - np.eye(3))
    wrong = graph.copy()
    wrong.indices[1] = 3
    with pytest.raises(ValueError, match=r"training_graph must be a valid .* entry 1 has column index 3, of 3 columns"):
        PrecomputedNeighbors.from_graph(wrong)
    for value in (-1.0, np.nan, np.inf):
        wrong = graph.copy()
        wrong.data[2] = value
        with pytest.raises(ValueError, match="training_graph must contain finite distances of at least 0"):
            PrecomputedNeighbors.from_graph(wrong)
