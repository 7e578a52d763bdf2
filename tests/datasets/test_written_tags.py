"""Tags as annotators, data frames and numpy write them into a cell, and lists of 0 and 1."""

import json

import numpy as np
import pytest

from nearlabel.datasets import read_table
from nearlabel.datasets._written_tags import Notation, changed_tags, is_written


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        ('["red", "blue"]', ["red", "blue"]),
        ("['red', 'blue']", ["red", "blue"]),
        ("['red' 'blue']", ["red", "blue"]),
        ("['red'\n 'blue']", ["red", "blue"]),
        ("array(['red', 'blue'], dtype=object)", ["red", "blue"]),
        ("{'red', 'blue'}", ["red", "blue"]),
        ("frozenset({'red'})", ["red"]),
        ("('red',)", ["red"]),
        ("[red, dark blue]", ["red", "dark blue"]),
        ("(red, blue)", ["red", "blue"]),
        ("[3 14]", [3, 14]),
        ("[3, 14,]", [3, 14]),
        ("set()", []),
        ("()", []),
        ("[]", []),
        ("{}", []),
        ('{"choices": ["red", "blue"]}', ["red", "blue"]),
        ('[{"name": "red", "score": 1}, {"name": "blue"}]', ["red", "blue"]),
        ("[{'label': 'red'}]", ["red"]),
        ('{"red": true, "blue": false}', ["red"]),
        ("{'red': 1.0, 'blue': 0.0}", ["red"]),
    ],
)
def test_notations(cell, tags):
    """Lists, tuples, sets, arrays and objects, with quotes or without."""
    assert is_written(cell)
    assert [tag for tag, applies in Notation().said(cell) if applies] == list(map(str, tags))


@pytest.mark.parametrize("tag", ["[80s]", "(optional)", "{red}", "[red] apple;[x]", "a [b, c]", "set", "(a) or (b)"])
def test_tags_with_brackets(tag):
    """Words in brackets are a tag."""
    assert not is_written(tag)


@pytest.mark.parametrize(
    "cell",
    ["['a', 'b' 'c']", "['a',, 'b']", "[it's, b]", "[[1], [2]]", "[1.5, 2]", '["a", null]', "['a', None]",
     '{"a": 0.5}', '{"a": "yes"}', '[{"id": 1, "name": "a"}]', "[{}]", "['a]"],
)  # fmt: skip
def test_what_is_not_understood(cell):
    """It is an error that shows what would be, and never a tag."""
    assert is_written(cell)
    with pytest.raises(ValueError, match=r"\w"):
        Notation().said(cell)


def test_tags_that_apply_nowhere_are_labels(tmp_path):
    """An answer of no is an answer."""
    path = tmp_path / "answers.csv"
    path.write_text("x,tags\n1,\"{'red': True, 'blue': False}\"\n2,\"{'red': False, 'blue': False}\"\n")
    read = read_table(path, labels_column="tags")
    assert read.label_names == ("blue", "red")
    assert read.Y.tolist() == [[0, 1], [0, 0]]


@pytest.mark.parametrize("cells", [
    [[0, 1, 1], [1, 0, 0], [0, 0, 0]], [[0.0, 1.0], [1.0, 1.0]], [[True, False], [False, True]], [[1], [0], [1], [0, ]],
])  # fmt: skip
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_lists_of_indicators(tmp_path, cells, ending):
    """Lists of 0 and 1 of one length, of which one repeats a value, are no tags: each place is a label."""
    path = tmp_path / f"lists.{ending}"
    if ending == "csv":
        path.write_text("x,labels\n" + "".join(f'{row},"{cell}"\n' for row, cell in enumerate(cells)))
    elif ending == "jsonl":
        path.write_text("".join(json.dumps({"x": row, "labels": cell}) + "\n" for row, cell in enumerate(cells)))
    else:
        parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
        parquet.write_table(arrow.table({"x": np.arange(len(cells)), "labels": cells}), path)
    if len(cells[0]) == 1:  # one place never repeats
        assert set(read_table(path, labels_column="labels").label_names) == {"0", "1"}
        return
    with pytest.warns(UserWarning, match=f"is a list of {len(cells[0])} times 0 or 1"):
        read = read_table(path, labels_column="labels")
    assert read.label_names == tuple(map(str, range(len(cells[0]))))
    assert read.Y.tolist() == np.array(cells, dtype=int).tolist()


def test_lists_of_numbers_that_are_tags(tmp_path):
    """Of several lengths, with other numbers, or without a repetition."""
    for cells, names in (([[0, 1], [1]], "01"), ([[0, 2], [1, 1]], "012"), ([[0, 1], [1, 0]], "01")):
        path = tmp_path / "tags.jsonl"
        path.write_text("".join(json.dumps({"x": row, "tags": cell}) + "\n" for row, cell in enumerate(cells)))
        assert read_table(path, labels_column="tags").label_names == tuple(names)


def test_a_missing_list_of_indicators_is_unknown(tmp_path):
    """As a missing list of tags is."""
    path = tmp_path / "lists.jsonl"
    path.write_text('{"x": 1, "labels": [0, 0]}\n{"x": 2, "labels": null}\n{"x": 3, "labels": [1, 0]}\n')
    with pytest.warns(UserWarning, match="read as labels 0 to 1"):
        read = read_table(path, labels_column="labels")
    assert np.isnan(read.Y[1]).all()
    assert read.Y[[0, 2]].tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("cells", "separator"),
    [
        (["a|b", "a", "b", "b|c", "c", "a|c"], "|"),
        (["sports#politics", "politics", "", "sports#economy"], "#"),
        (["red::blue", "red::green", "blue", "x"], "::"),
        (["rock / pop", "pop", "rock / jazz", "jazz", "folk"], " / "),
        (["a, b", "b", "c", "a, c", "c", "c"], ","),
    ],
)
def test_separators_are_recognised_by_what_recurs(tmp_path, cells, separator):
    """Even if most cells have one tag."""
    path = tmp_path / "tags.csv"
    path.write_text("x,tags\n" + "".join(f'{row},"{cell}"\n' for row, cell in enumerate(cells)))
    with pytest.warns(UserWarning, match=f"Tags are joined by {separator!r}".replace("|", "[|]")):
        read = read_table(path, labels_column="tags")
    parts = {part.strip() for cell in cells for part in cell.split(separator)} - {""}
    assert read.label_names == tuple(sorted(parts))
    assert read.Y.sum(axis=1).tolist() == [len(cell.split(separator)) if cell else 0 for cell in cells]


def test_separators_that_are_parts_of_names(tmp_path, recwarn):
    """What they part does not recur."""
    path = tmp_path / "tags.csv"
    path.write_text('x,tags\n1,C#\n2,F#\n3,"Smith, John"\n4,"Doe, Jane"\n5,and / or\n6,b\n7,b\n8,b\n9,b\n')
    read_table(path, labels_column="tags")
    assert not recwarn.list


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{'red', 'blue'}", "{'blue', 'green'}"),
        ("('red', 'blue')", "('blue', 'green')"),
        ("['red' 'blue']", "['blue', 'green']"),
        ('["red", "blue"]', '["blue", "green"]'),
        ("__label__red __label__blue", "__label__blue __label__green"),
        ('{"choices": ["red", "blue"]}', '{"choices": ["blue", "green"]}'),
        ({"labels": ["red", "blue"]}, {"labels": ["blue", "green"]}),
        ([{"name": "red"}, {"name": "blue", "color": "b"}], [{"name": "blue", "color": "b"}, {"name": "green"}]),
        ('{"red": true, "blue": true}', '{"red": false, "blue": true, "green": true}'),
        ({"red": 1.0, "blue": 1.0}, {"red": 0.0, "blue": 1.0, "green": 1.0}),
    ],
)
def test_corrections_keep_the_notation(old, new):
    """A set stays a set, an object an object."""
    found = changed_tags(old, {"red": False, "green": True}, Notation())
    assert found == new
    text = new if isinstance(new, str) else json.dumps(new)
    assert [tag for tag, applies in Notation().said(text) if applies] == ["blue", "green"]


def test_corrections_find_tags_that_are_written_otherwise():
    """In another form of Unicode, or another case if that makes no difference."""
    decomposed = "cafe\u0301; Rock"
    assert changed_tags(decomposed, {"caf\xe9": False}, Notation()) == "Rock"
    assert changed_tags(decomposed, {"rock": False}, Notation(normalise="case")) == "cafe\u0301"
    with pytest.raises(ValueError, match="no tag 'rock'"):
        changed_tags(decomposed, {"rock": False}, Notation())


def test_corrections_of_objects_that_are_unclear_are_refused():
    """Nothing says how to write them."""
    with pytest.raises(ValueError, match="which is not yes or no for each tag"):
        changed_tags('{"red": 0.4}', {"red": False}, Notation())
