"""Corrections: what a file may say, what they are checked for, and what they make of each container."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from nearlabel.audit import Correction, apply_corrections, read_corrections

NAN = np.nan
NAMES = ("calm", "loud", "wild")


def label_sets(seed, *, holes=False):
    """Twelve rows of three labels; with holes some cells are unknown."""
    rng = np.random.default_rng(seed)
    y = (rng.random((12, 3)) < 0.5).astype(float)
    if holes:
        y[rng.random(y.shape) < 0.2] = NAN
    return y


def some_corrections(y, seed, values):
    """Eight cells, each with a value, named by row and label; what they had is said of those that are known."""
    rng = np.random.default_rng(seed)
    cells = rng.choice(y.size, 8, replace=False)
    found = []
    for cell, value in zip(cells.tolist(), itertools.cycle(values)):
        row, label = divmod(cell, 3)
        given = None if np.isnan(y[row, label]) else int(y[row, label])
        found.append(Correction(NAMES[label], value, row=row, given=given))
    return found


def by_loops(y, corrections):
    """Cell after cell."""
    corrected = y.copy()
    for one in corrections:
        corrected[one.row, NAMES.index(one.label)] = NAN if one.correct is None else one.correct
    return corrected


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("values", [(0, 1), (0, 1, None)])
@pytest.mark.parametrize(
    "store", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, "frame", "sparse"]
)
def test_each_container_has_the_corrected_cells(seed, holes, values, store):
    """The cells of plain loops, in a container of the same kind; the given one is as it was."""
    y = label_sets(seed, holes=holes)
    corrections = some_corrections(y, seed, values)
    expected = by_loops(y, corrections)
    if isinstance(store, str):
        pandas = pytest.importorskip("pandas")
        given = pandas.DataFrame(y, columns=NAMES, index=list("abcdefghijkl"))
        given = given.astype(pandas.SparseDtype(float, 0)) if store == "sparse" else given
    else:
        given = store(y)
    before = given.copy()
    found = apply_corrections(given, corrections, label_names=NAMES)
    assert type(found) is type(given)
    np.testing.assert_array_equal(dense(found), expected)
    np.testing.assert_array_equal(dense(given), dense(before))
    if hasattr(given, "iloc"):
        assert found.index.equals(given.index)
        assert found.dtypes.equals(given.dtypes)
    elif sparse.issparse(given):
        assert found.format == given.format
        assert found.nnz == np.count_nonzero(expected)  # NaN is stored, 0 is not


def dense(y):
    """The cells as an array."""
    return y.toarray() if sparse.issparse(y) else np.asarray(y, dtype=float)


@pytest.mark.parametrize("dtype", ["int64", "bool", "Int64", "float32", "Sparse[int64]", "boolean"])
@pytest.mark.parametrize("correct", [1, None])
def test_columns_keep_their_type_as_far_as_it_can_hold_the_value(dtype, correct):
    """Integers of numpy become floats where a cell becomes unknown, in its column only."""
    pandas = pytest.importorskip("pandas")
    y = pandas.DataFrame({"calm": [0, 1], "loud": [1, 1]}).astype(dtype)
    found = apply_corrections(y, [Correction("calm", correct, row=0)])
    is_unknown = pandas.isna(found).to_numpy()
    assert is_unknown.tolist() == [[correct is None, False], [False, False]]
    assert found["loud"].dtype == y["loud"].dtype
    kept = correct == 1 or dtype in ("Int64", "float32", "boolean")
    assert (found["calm"].dtype == y["calm"].dtype) == kept


@pytest.mark.parametrize("row", [list, tuple, set, frozenset, lambda tags: np.array(tags, dtype=object)])
@pytest.mark.parametrize("rows", [list, tuple, "series"])
def test_tags(row, rows):
    """A tag that is added comes last; rows, and what they are in, keep their types."""
    tags = [row(["calm", "wild"]), row(["loud"]), row([])]
    y = pytest.importorskip("pandas").Series(tags, index=[7, 8, 9], name="moods") if rows == "series" else rows(tags)
    corrections = [Correction("calm", 0, 0, given=1), Correction("wild", 1, 1), Correction("loud", 1, 2)]
    found = apply_corrections(y, corrections)
    assert type(found) is type(y)
    assert [type(one) for one in found] == [type(one) for one in tags]
    assert [sorted(one) for one in found] == [["wild"], ["loud", "wild"], ["loud"]]
    assert [sorted(one) for one in tags] == [["calm", "wild"], ["loud"], []]
    if rows == "series":
        assert (found.index.tolist(), found.name) == ([7, 8, 9], "moods")


def test_labels_and_rows_by_name():
    """Ids name rows whatever their order; names of labels that are numbers are texts in a file."""
    y = np.zeros((3, 2), dtype=int)
    found = apply_corrections(y, [Correction("1", 1, id="s9"), Correction(0, 1, id="7")], ids=["s9", 7, "s3"])
    assert found.tolist() == [[0, 1], [1, 0], [0, 0]]
    found = apply_corrections(y, [Correction("calm", 1, id=7)], ids=["s9 ", "7", "s3"], label_names=[" calm", "loud"])
    assert found.tolist() == [[0, 0], [1, 0], [0, 0]]
    assert found.dtype == y.dtype
    assert apply_corrections(y, []).tolist() == y.tolist()


@pytest.mark.parametrize(
    ("corrections", "options", "message"),
    [
        ([Correction("calm", 2, 3)], {}, "corrections must be 0, 1 or None, got 2 for row 3, label 'calm'"),
        ([Correction("calm", 1, 1.5)], {}, "corrections must name rows from 0 to 11, got row 1.5, label 'calm'"),
        ([Correction("calm", 1, 12)], {}, "corrections must name rows from 0 to 11, got row 12, label 'calm'"),
        ([Correction("calm", 1, -1)], {}, "rows from 0 to 11, got row -1"),
        ([Correction("calm", 1)], {}, "rows from 0 to 11, got row None"),
        ([Correction("clam", 1, 0)], {}, "name labels of the data, got 'clam'. Did you mean 'calm'"),
        ([Correction("calm", 1, 0), Correction("calm", 0, 0)], {}, "one value, got 1 and 0 for row 0, label 'calm'"),
        ([Correction("calm", 1, 0), Correction("calm", None, 0)], {}, "one value, got 1 and [?] for row 0"),
        ([Correction("calm", 1, id="x")], {"ids": list("abcdefghijkl")}, "got 'x', which no row has"),
        ([Correction("calm", 1, id="a")], {"ids": list("abcabcdefghi")}, "got 'a', which rows 0 and 3 have"),
        ([Correction("calm", 1, id="a")], {"ids": ["a"]}, "ids must be 12, one for each row, got 1"),
        ([], {"label_names": ["calm"]}, "label_names must be 3 names, one for each label, got 1"),
    ],
)
def test_what_is_refused(corrections, options, message):
    """Rows and labels that are not there, and two values for one cell."""
    with pytest.raises(ValueError, match=message):
        apply_corrections(label_sets(0), corrections, **({"label_names": NAMES} | options))


def test_a_correction_of_other_data_is_refused():
    """The cell has another value than when it was looked at, or is unknown now; the same correction twice is one."""
    y = np.array([[0.0, NAN]])
    for correction, is_now in ((Correction(0, 1, 0, given=1), 0), (Correction(1, 1, 0, given=0), "[?]")):
        with pytest.raises(ValueError, match=f"which was {correction.given} and is {is_now}. Hint: repeat the audit"):
            apply_corrections(y, [correction])
    twice = [Correction(0, 1, 0, given=0)] * 2
    assert apply_corrections(y, twice)[0, 0] == 1


def test_corrections_are_applied_again():
    """Where all cells are correct already, nothing changes; where some are not, the data are others."""
    y = np.array([[0, 1], [1, 0]])
    corrections = [Correction(0, 1, 0, given=0), Correction(1, 1, 1, given=0)]
    corrected = apply_corrections(y, corrections)
    np.testing.assert_array_equal(apply_corrections(corrected, corrections), corrected)
    with pytest.raises(ValueError, match="got row 0, label 0, which was 0 and is 1"):
        apply_corrections(np.array([[1, 1], [1, 0]]), corrections)


def test_tags_cannot_be_unknown_one_by_one():
    """Nor is a tag taken that no row has, unless it is named; other containers are refused."""
    with pytest.raises(ValueError, match=r"must be 0 or 1 where y has tags, got \? for row 0, label 'calm'"):
        apply_corrections([["calm"]], [Correction("calm", None, 0)])
    with pytest.raises(ValueError, match="name labels of the data, got 'loud'"):
        apply_corrections([["calm"]], [Correction("loud", 1, 0)])
    named = apply_corrections([["calm"]], [Correction("loud", 1, 0)], label_names=["calm", "loud"])
    assert named == [["calm", "loud"]]
    with pytest.raises(ValueError, match="label_names must have all tags of y, got none for 'calm'"):
        apply_corrections([["calm"]], [], label_names=["loud"])
    arrow = pytest.importorskip("pyarrow")
    with pytest.raises(TypeError, match="y must be an array, a pandas data frame, sparse or tags, got Table"):
        apply_corrections(arrow.table({"a": [0, 1]}), [Correction("a", 1, 0)])


@pytest.fixture
def written(tmp_path):
    """Write a file of corrections."""
    pytest.importorskip("pyarrow")

    def _written(text):
        (tmp_path / "c.csv").write_text(text)
        return tmp_path / "c.csv"

    return _written


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_read_corrections(written, delimiter, start):
    """As our commands, the page and spreadsheets write them; lines without a value are left out."""
    lines = [
        "row,sid,label,given,note,correct",
        '3,s3,"calm",0,x,1',
        "4,s4,loud,1,,",
        "5.0,s5,loud,?,,?",
        "6,s6,calm,TRUE,,no",
    ]
    path = written(start + "\n".join(lines).replace(",", delimiter))
    expected = [("calm", 1, 3, 0), ("loud", None, 5, None), ("calm", 0, 6, 1)]
    assert read_corrections(path) == [
        Correction(label, value, row, given=given) for label, value, row, given in expected
    ]
    by_id = read_corrections(path, id_column="sid")
    assert [(one.id, one.row) for one in by_id] == [("s3", None), ("s5", None), ("s6", None)]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("row,label\n1,a\n", {}, "corrections must have a column 'correct', got row, label in "),
        ("id,label,correct\n1,a,1\n", {}, "corrections must have a column 'row', got id, label, correct"),
        ("row,label,correct\n1,a,1\n", {"id_column": "id"}, "corrections must have a column 'id'"),
        ("row,label,correct\n1,a,1\n2,a,2\n", {}, "c.csv, line 3: correct must be 0, 1, [?] or empty, got '2'"),
        ("row,label,correct\n-1,a,1\n", {}, "line 2: row must be the number of a row, from 0, got '-1'"),
        ("row,label,given,correct\n1,a,x,1\n", {}, "line 2: given must be 0, 1 or empty, got 'x'"),
        ("id,label,correct\n,a,1\n", {"id_column": "id"}, "line 2: id must be the id of a row, got ''"),
    ],
)
def test_files_that_are_refused(written, text, options, message):
    """The message names the line and the cell."""
    with pytest.raises(ValueError, match=message):
        read_corrections(written(text), **options)


def test_a_file_that_is_no_table(tmp_path):
    """Corrections are a table."""
    (tmp_path / "c.svm").write_text("0 1:1\n")
    with pytest.raises(ValueError, match="corrections must be a CSV, Excel, JSON or Parquet file, got "):
        read_corrections(tmp_path / "c.svm")
