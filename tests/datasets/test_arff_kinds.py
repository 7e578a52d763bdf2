"""Attributes of ARFF that are no numbers and no nominal ones: strings, dates, relations; and those that are ignored."""

import math
from datetime import datetime

import numpy as np
import pytest

from nearlabel.datasets import _lines as lines_module
from nearlabel.datasets import load_dataset, open_rows, read_meka, read_mulan

LOG = """\
@RELATION 'log: -C 2'
@ATTRIBUTE la {0,1}
@ATTRIBUTE lb {1,0}
@ATTRIBUTE when DATE "yyyy-MM-dd HH:mm:ss"
@ATTRIBUTE note STRING
@ATTRIBUTE v NUMERIC
@ATTRIBUTE hot {YES,NO}
@ATTRIBUTE colour {red,'dark blue'}
@DATA
1,0,"2024-01-02 10:00:00",'it\\'s, fine',1,YES,red
0,1,?,?,?,?,?
0,0,2024-01-03 00:00:00,two words,2.5,NO,'dark blue'
"""
KINDS = ("date", "text", "number", "number", "category")
CELLS = [
    [datetime(2024, 1, 2, 10), "it's, fine", 1.0, 1.0, "red"],
    [math.nan, None, math.nan, math.nan, None],
    [datetime(2024, 1, 3), "two words", 2.5, 0.0, "dark blue"],
]
BAGS = """\
@relation 'bags: -C 1'
@attribute y {0,1}
@attribute bag relational
  @attribute inner relational
    @attribute deep date
  @end inner
  % a comment
  @attribute colour {red,blue}
@END 'Bag' % closed
@attribute x numeric
@data
1,"'2024-01-01T00:00:00',red\\n?,blue",3
0,?,4
"""


def same(cells, expected):
    """Whether rows of cells are equal, NaN to NaN."""
    pairs = zip(np.ravel(cells).tolist(), np.ravel(np.array(expected, dtype=object)).tolist(), strict=True)
    return all(one == other or (one != one and other != other) for one, other in pairs)


def test_cells_of_several_kinds(write):
    """Strings and dates make X one of cells, as tables do: others are categories, or numbers such as 1 for YES."""
    data = read_meka(write("log.arff", LOG))
    assert (data.feature_names, data.feature_kinds) == (("when", "note", "v", "hot", "colour"), KINDS)
    assert same(data.X, CELLS)
    assert data.Y.tolist() == [[1, 0], [0, 1], [0, 0]]
    assert data.X.dtype == object
    assert data.with_frames().X.dtypes["when"].kind == "M"


def test_a_question_mark_in_quotes_is_a_text(write):
    """WEKA writes the text and the declared value so; elsewhere it is a missing value, too."""
    text = (
        "@relation 'x: -C 1'\n@attribute y {0,1}\n@attribute t string\n@attribute c {a,'?'}\n@attribute v real\n@data\n"
    )
    data = read_meka(write("x.arff", text + "'?','?','?','?'\n?,?,?,?\n1,a,a, ? {2}\n"))
    assert same(data.X, [["?", "?", math.nan], [None, None, math.nan], ["a", "a", math.nan]])
    assert np.isnan(data.Y.ravel()).tolist() == [True, True, False]


def test_blocks_of_cells(write, monkeypatch):
    """A file of many blocks reads as one."""
    text = LOG + "".join(f"1,0,?,'text {n}',{n},NO,red\n" for n in range(200))
    whole = read_meka(write("log.arff", text))
    monkeypatch.setattr(lines_module, "BLOCK_BYTES", 100)
    parts = read_meka(write("log.arff", text))
    assert same(whole.X, parts.X)
    assert parts.X[-1, 1] == "text 199"


def test_ignored_attributes(write):
    """Without strings and dates X contains numbers, and a nominal attribute is encoded."""
    data = load_dataset(write("log.arff", LOG.replace("?,?,?,?,?", "?,?,7,NO,red")), ignore=("when", "note"))
    assert data.feature_names[:4] == ("v", "hot", "colour=red", "colour=dark blue")
    assert data.X.tolist() == [[1, 1, 0.5, 0, 0.5, 0], [7, 0, 0.5, 0, 0.5, 0], [2.5, 0, 0, 0.5, 0, 0.5]]


def test_ignored_cells_may_contain_anything(write):
    """Not even a format that is not known, or a value that is not declared, matters there."""
    text = LOG.replace("yyyy-MM-dd HH:mm:ss", "YYYY").replace("2.5,NO,'dark blue'", "2.5,NO,pink")
    data = read_meka(write("log.arff", text), ignore=["when", "note", "colour"])
    assert same(data.X, [row[2:4] for row in CELLS])


def test_ignored_attributes_of_sparse_rows(write):
    """The matrix stays sparse, and cells keep their attributes."""
    text = "@relation 'x: -C 1'\n@attribute y {0,1}\n@attribute id string\n@attribute a real\n@attribute b real\n"
    data = read_meka(write("x.arff", text + "@data\n{0 1,1 'p 1',3 5}\n{1 p2,2 4}\n{3 6}\n"), ignore=["id"])
    assert data.X.format == "csr"
    assert (data.feature_names, data.X.toarray().tolist()) == (("a", "b"), [[0, 5], [4, 0], [0, 6]])
    assert data.Y.toarray().ravel().tolist() == [1, 0, 0]


@pytest.mark.parametrize(
    ("ignore", "message"),
    [
        (["notes"], r"ignore must name attributes of .*log\.arff, got 'notes'\. Did you mean 'note'\?"),
        (["la"], r"ignore must name features of .*log\.arff, got the label 'la'\."),
        (["when", "note", "v", "hot", "colour"], r"ignore must leave at least one feature of .*log\.arff"),
    ],
)
def test_what_cannot_be_ignored(write, ignore, message):
    """A wrong name, a label, or everything."""
    with pytest.raises(ValueError, match=message):
        read_meka(write("log.arff", LOG), ignore=ignore)
    with pytest.raises(TypeError, match=r"ignore must be a sequence of names of attributes, got 'note'\."):
        read_meka(write("log.arff", LOG), ignore="note")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"2024-01-02 10:00:00"',
            "2024-13-02",
            r"line 10: attribute 'when' must be a date 'yyyy-MM-dd HH:mm:ss', got '2024-13-02'\.",
        ),
        (
            "yyyy-",
            "YYYY-",
            r"the date 'when' of .* got 'YYYY-MM-dd HH:mm:ss', in which 'YYYY' is not known\. .*ignore=\['when'\]",
        ),
        ("@ATTRIBUTE la {0,1}", "@ATTRIBUTE la STRING", r"label 'la' must be numeric or declared \{0,1\}, got text\."),
        (
            "yyyy-MM-dd HH:mm:ss",
            "yy-MM-dd",
            r"line 10: attribute 'when' must be a date .*Hint: a year has four digits",
        ),
        (",YES,red", ",maybe,red", r"line 10: attribute 'hot' must be one of \{YES,NO\}, got 'maybe'"),
        ("two words,2.5", "two words,x", r"line 12: attribute 'v' must be a finite number, got 'x'"),
    ],
)
def test_wrong_cells_and_formats(write, old, new, message):
    """They are named with their attribute."""
    with pytest.raises(ValueError, match=message):
        read_meka(write("log.arff", LOG.replace(old, new)))


def test_codes_do_not_go_with_cells(write):
    """Categories are cells there, whatever `nominal` is for other files."""
    with pytest.raises(ValueError, match=r"nominal must be 'overlap' for .*log\.arff, .* got 'codes'\. Hint: ignore"):
        read_meka(write("log.arff", LOG), nominal="codes")
    path = write("log.arff", LOG)
    assert "code" in read_meka(path, nominal="codes", ignore=["when", "note"]).feature_kinds


def test_options_of_tables(write):
    """A string may be a category or a date; a nominal attribute a text, a number a category."""
    text = LOG.replace("two words,2.5", "2024-05-06,3.0").replace("'it\\'s, fine'", "2024-05-07")
    path = write("log.arff", text)
    data = load_dataset(path, ignore=["when"], dates=["note"], text=["colour"], categorical=["v"])
    assert data.feature_kinds == ("date", "category", "number", "text")
    assert data.X[2].tolist() == [datetime(2024, 5, 6), "3", 0.0, "dark blue"]
    assert load_dataset(path, ignore=["when"], categorical=["note"]).feature_kinds[0] == "category"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"text": ["v"]}, r"attribute 'v' of .*log\.arff must contain texts, got number\."),
        ({"categorical": ["when"]}, r"attribute 'when' of .* must contain categories, got date\."),
        ({"dates": ["v"]}, r"attribute 'v' of .* must contain dates such as 2026-01-31, got number\."),
        ({"dates": ["note"]}, r"line 10: attribute 'note' must be a date such as 2026-01-31, got \"it's, fine\"\."),
        ({"text": ["nota"]}, r"text must name features of .*, got 'nota'\. Did you mean 'note'\?"),
        ({"categorical": ["la"]}, r"categorical must name features of .*, got 'la'\."),
        ({"labels_prefix": "l"}, r"labels_prefix must go with a CSV"),
    ],
)
def test_wrong_options_of_tables(write, options, message):
    """A kind that the attribute cannot be, and names of no feature."""
    with pytest.raises(ValueError, match=message):
        load_dataset(write("log.arff", LOG), **options)


def test_options_are_sequences(write):
    """A name alone would be read letter by letter."""
    with pytest.raises(TypeError, match=r"text must be a sequence of names of columns, got 'v'\. Hint: \['v'\]\."):
        load_dataset(write("log.arff", LOG), text="v")


def test_sparse_rows_with_texts(write):
    """Texts and dates must be there, as WEKA takes another text for one that is left out; others are 0 or the first."""
    head, _, _ = LOG.partition("1,0,")
    rows = "{0 1,2 '2024-01-02 10:00:00',3 one}\n{2 ?,3 'two words',4 5,5 NO,6 'dark blue'},{2}\n"
    data = read_meka(write("log.arff", head + rows))
    assert same(data.X, [[datetime(2024, 1, 2, 10), "one", 0, 1, "red"], [math.nan, "two words", 5, 0, "dark blue"]])
    assert (data.Y.toarray().tolist(), data.sample_weight.tolist()) == ([[1, 1], [0, 1]], [1, 2])
    with pytest.raises(ValueError, match=r"line 10: a sparse row must have a cell for text or date 'note', got none\."):
        read_meka(write("log.arff", head + "{0 1,2 ?}\n"))
    assert read_meka(write("log.arff", head + "{0 1}\n"), ignore=["when", "note"]).X.shape == (1, 6)


@pytest.mark.parametrize("ignore", [(), ("note",)])
def test_words_of_a_sparse_text_are_no_cells(write, ignore):
    """Without quotes the second word of a text may be the index of the next cell, as WEKA reads it."""
    text = "@relation 'x: -C 1'\n@attribute y {0,1}\n@attribute note string\n@attribute v numeric\n@data\n"
    data = read_meka(write("x.arff", text + "{1 room 2 7}\n"), ignore=ignore)
    assert data.X.tolist() == [["room", 7]] if not ignore else data.X.toarray().tolist() == [[7]]
    with pytest.raises(
        ValueError, match=r"line 6: a text with blanks in a sparse row must be in quotes, got 'big room'"
    ):
        read_meka(write("x.arff", text + "{1 big room, 2 7}\n"), ignore=ignore)


def test_a_small_sparse_file_makes_no_large_array(write):
    """Cells that sparse rows leave out take memory where X has texts: it is bounded."""
    head = "@relation 'x: -C 1'\n@attribute y {0,1}\n@attribute t string\n" + "@attribute a numeric\n" * 20_000
    with pytest.raises(ValueError, match=r"must have values in most cells, .* ignore leaves texts and dates out"):
        read_meka(write("x.arff", head + "@data\n" + "{1 a}\n" * 2000))


def test_relational_attributes_must_be_ignored(write):
    """They are tables in a cell; the declarations inside are not attributes of the file."""
    path = write("bags.arff", BAGS)
    with pytest.raises(
        ValueError,
        match=r"attribute 'bag' of .*bags\.arff must be a feature, got a relational one\. Hint: ignore=\['bag'\]",
    ):
        load_dataset(path)
    data = load_dataset(path, ignore=["bag"])
    assert (data.feature_names, data.X.tolist(), data.Y.ravel().tolist()) == (("x",), [[3], [4]], [1, 0])


def test_label_with_another_spelling_in_the_xml(write, write_xml):
    """The message names the near match, in the file of the same name and in any other."""
    arff = write(
        "toy.arff", "@relation m\n@attribute f1 numeric\n@attribute TAG_a {0,1}\n@attribute tag_b {0,1}\n@data\n1,1,0\n"
    )
    write_xml("other.xml", "TAG_a", "TAG_b")
    message = r"got 'TAG_b' \(1 of 2 labels are missing\)\. Did you mean 'tag_b'\?"
    with pytest.raises(ValueError, match=message):
        read_mulan(arff, arff.with_name("other.xml"))
    for read in (read_mulan, load_dataset):
        with pytest.raises(
            ValueError, match=r"other\.xml names 'TAG_b', which is no attribute\. Did you mean 'tag_b'\?"
        ):
            read(arff)
    write_xml("toy.xml", "TAG_a", "TAG_b")
    with pytest.raises(ValueError, match=message):
        load_dataset(arff)


def test_a_label_that_differs_in_forms_of_unicode(write, write_xml):
    """Composed and decomposed letters look alike."""
    arff = write("toy.arff", "@relation m\n@attribute x numeric\n@attribute 'caf\u00e9 ' {0,1}\n@data\n1,1\n")
    write_xml("toy.xml", "cafe\u0301")
    with pytest.raises(ValueError, match="Did you mean 'caf\u00e9 '"):
        read_mulan(arff)


def test_rows_for_prediction(write):
    """They are those of the whole file, whatever the order of the features, with texts as ids."""
    path = write("log.arff", LOG)
    names, kinds = ("colour", "v", "when", "note", "hot"), ("category", "number", "date", "text", "number")
    blocks = list(open_rows(path, names, feature_kinds=kinds, id_column="note", block_rows=1))
    assert same(np.vstack([block.X for block in blocks]), [[row[i] for i in (4, 2, 0, 1, 3)] for row in CELLS])
    assert [block.ids.tolist() for block in blocks] == [["it's, fine"], [None], ["two words"]]


def test_rows_of_numbers_beside_texts(write):
    """A model of numbers reads a file that has texts, too, and these may be the ids."""
    path = write("log.arff", LOG.replace("?,?,?,?,?", "?,n,1,NO,red"))
    (block,) = open_rows(path, ("hot", "v"), id_column="note")
    assert (block.X.tolist(), block.ids.tolist()) == ([[1, 1], [0, 1], [0, 2.5]], ["it's, fine", "n", "two words"])
    (block,) = open_rows(path, ("hot", "v"), id_column="when")
    assert block.ids.tolist() == ["2024-01-02 10:00:00", None, "2024-01-03 00:00:00"]
    head, _, _ = LOG.partition("1,0,")
    (block,) = open_rows(write("log.arff", head + "{3 'a b',4 7}\n{3 c,5 NO}\n"), ("hot", "v"), id_column="note")
    assert (block.X.toarray().tolist(), block.ids.tolist()) == ([[1, 7], [0, 0]], ["a b", "c"])


@pytest.mark.parametrize(
    ("names", "kinds", "message"),
    [
        (["note"], (), r"attribute 'note' of .* must contain numbers, got a text\."),
        (["note"], ("date",), r"line 10: attribute 'note' must be a date such as 2026-01-31"),
        (["colour", "note"], ("number", "text"), r"attribute 'colour' of .* must contain numbers, got nominal\."),
        (["size", "note"], ("number", "text"), r"must have a column for every feature, got none for 'size'"),
    ],
)
def test_rows_of_another_kind(write, names, kinds, message):
    """What a model of another file needs may be missing, or of another kind."""
    with pytest.raises(ValueError, match=message):
        list(open_rows(write("log.arff", LOG), names, feature_kinds=kinds))
