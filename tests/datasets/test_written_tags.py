"""Tags as annotators, data frames and numpy write them into a cell, and lists of 0 and 1."""

import json
import re
import time
import warnings
from contextlib import suppress

import numpy as np
import pytest

from nearlabel.datasets import read_table
from nearlabel.datasets._written_tags import Notation, changed_tags, is_written
from nearlabel.datasets.tables import copy_with_labels


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


INDICATORS = np.array([[0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 0, 0]])


@pytest.mark.parametrize(
    "write",
    [
        str,
        repr,
        lambda row: str(row.astype(float)),
        lambda row: str(row.astype(bool)),
        lambda row: str(list(row)),
        lambda row: str(row).replace(" ", "\n "),
        lambda row: "".join(map(str, row)),
        lambda row: " ".join(map(str, row)),
        lambda row: ",".join(map(str, row)),
        lambda row: json.dumps([["no", "yes"][mark] for mark in row]),
        lambda row: json.dumps(row.astype(bool).tolist()),
        lambda row: json.dumps(list(map(str, row))),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_texts_of_indicators(tmp_path, write, ending):
    """As numpy, MultiLabelBinarizer and databases write them; corrections keep the notation."""
    cells = [write(row) for row in INDICATORS]
    path, out = (tmp_path / f"{name}.{ending}" for name in ("lists", "out"))
    lines = [f'{row},"{cell.replace(chr(34), chr(34) * 2)}"' for row, cell in enumerate(cells)]
    if ending == "jsonl":
        lines = [json.dumps({"x": row, "y": cell}) for row, cell in enumerate(cells)]
    path.write_text("\n".join([*(["x,y"] if ending == "csv" else []), *lines]) + "\n")
    with pytest.warns(UserWarning, match="is a list of 4 times 0 or 1"):
        assert read_table(path, labels_column="y").Y.tolist() == INDICATORS.tolist()
    options = {"labels_column": "y", "label_names": ["a", "b", "c", "d"]}
    copy_with_labels(path, out, [(0, "b", 0.0), (2, "d", 1.0)], options)
    read = read_table(out, **options)
    assert read.Y.tolist() == [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1]]
    assert path.read_text().splitlines()[2 - (ending == "jsonl")] in out.read_text()


def test_numbers_that_begin_with_one_are_no_indicators(tmp_path):
    """Nor are digits of a given separator, or lists that never repeat."""
    path = tmp_path / "tags.csv"
    path.write_text("x,tags\n1,100\n2,101\n3,111\n")
    assert read_table(path, labels_column="tags").label_names == ("100", "101", "111")
    path.write_text("x,tags\n1,0 1\n2,0 0\n3,1 1\n")
    assert read_table(path, labels_column="tags", labels_separator=" ").label_names == ("0", "1")


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([[], [0, 1, 1], [0, 0, 0]], "got lists of 0, 1, some more than once, of 0 to 3 numbers"),
        ([[True, False, True], [False, True]], "got lists of 0, 1, some more than once, of 2 to 3"),
        ([[-1, 1, 1], [1, 1, -1]], "got lists of -1, 1, some more than once. Hint: write 0 for no and 1 for yes"),
        ([[1, 2, 1], [2, 2, 1]], "got lists of 1, 2, some more than once. Hint: write 0 for no"),
        ([[-1, 1, 0], [1, 1, -1]], "Hint: unknown='-1', if it marks unknown labels"),
    ],
)
def test_lists_that_are_hardly_tags(tmp_path, lists, message):
    """They are an error, not tags that count once."""
    path = tmp_path / "lists.jsonl"
    path.write_text("".join(json.dumps({"x": row, "y": cell}) + "\n" for row, cell in enumerate(lists)))
    with pytest.raises(ValueError, match=message):
        read_table(path, labels_column="y")


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
def test_unknown_places_and_answers(tmp_path, ending):
    """A missing place of a list, or a missing answer of an object, is an unknown label."""
    rows = {"y": [[1, None, 1], [0, 0, 1]], "z": [{"a": True, "b": None}, {"a": False, "b": True}]}
    path = tmp_path / f"rows.{ending}"
    if ending == "parquet":
        parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
        parquet.write_table(arrow.table({"x": [1, 2], **rows}), path)
    elif ending == "jsonl":
        path.write_text("".join(json.dumps({"x": i, **{k: rows[k][i] for k in rows}}) + "\n" for i in range(2)))
    else:
        path.write_text("x,y,z\n" + "".join(f'{i},"{rows["y"][i]}","{rows["z"][i]}"\n' for i in range(2)))
    lists = read_table(path, labels_column="y", label_names=["a", "b", "c"], ignore=["z"])
    assert np.array_equal(lists.Y, [[1, np.nan, 1], [0, 0, 1]], equal_nan=True)
    answers = read_table(path, labels_column="z", ignore=["y"])
    assert answers.label_names == ("a", "b")
    assert np.array_equal(answers.Y, [[1, np.nan], [0, 1]], equal_nan=True)


def test_lists_of_indicators_with_a_code_for_unknown(tmp_path):
    """The code is named, as for columns of 0 and 1."""
    path = tmp_path / "lists.jsonl"
    path.write_text('{"x": 1, "y": [-1, 1, 1]}\n{"x": 2, "y": [0, 0, -1]}\n')
    read = read_table(path, labels_column="y", unknown="-1", label_names=["a", "b", "c"])
    assert np.array_equal(read.Y, [[np.nan, 1, 1], [0, 0, np.nan]], equal_nan=True)


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
        (["#red #blue", "#red"], " "),
        (["rock / pop", "pop", "rock / jazz", "jazz", "folk"], " / "),
        (["a, b", "b", "c", "a, c", "c", "c"], ","),
        (["red\nblue", "red", "blue", "x"], "\n"),
        (["red,blue", "red", "blue", "x"], ","),
        (["red\u3001blue", "red\u3001x", "blue", "x"], "\u3001"),
        (["red/blue", "red/x", "blue/x", "y"], "/"),
        (["red & blue", "red", "blue", "y"], "&"),
        (["red+blue", "red", "blue", "y"], "+"),
        (["red blue", "red x", "red", "blue", "x"], " "),
    ],
)
def test_separators_are_recognised_by_what_recurs(tmp_path, cells, separator):
    """Even if most cells have one tag."""
    path = tmp_path / "tags.csv"
    path.write_text("x,tags\n" + "".join(f'{row},"{cell}"\n' for row, cell in enumerate(cells)))
    with pytest.warns(UserWarning, match=re.escape(f"Tags are joined by {separator!r}")):
        read = read_table(path, labels_column="tags")
    parts = {part.strip() for cell in cells for part in cell.split(separator)} - {""}
    assert read.label_names == tuple(sorted(parts))
    assert read.Y.sum(axis=1).tolist() == [len(cell.split(separator)) if cell else 0 for cell in cells]


def test_separators_that_are_parts_of_names(tmp_path, recwarn):
    """What they part does not recur."""
    path = tmp_path / "tags.csv"
    tags = [
        "C#",
        "F#",
        "C",
        "C#",
        "F#",
        '"Smith, John"',
        '"Smith, John"',
        '"Doe, Jane"',
        "and / or",
        "R&B",
        "R&B",
        "C++",
    ]
    tags += ["AC/DC", "AC/DC", "red wine", "white wine", "red hat", *"bbbbbbbbbbbbbb"]
    path.write_text("x,tags\n" + "".join(f"{row},{tag}\n" for row, tag in enumerate(tags)))
    assert len(read_table(path, labels_column="tags").label_names) == len(set(tags))
    assert not recwarn.list


def test_words_that_may_be_tags(tmp_path):
    """They may also be words of a tag: nothing is guessed, but a note tells."""
    path = tmp_path / "tags.csv"
    path.write_text("x,tags\n1,red blue\n2,red green\n3,blue green\n")
    with pytest.warns(UserWarning, match="Some tags have blanks, .* Hint: labels_separator=' '"):
        assert len(read_table(path, labels_column="tags").label_names) == 3
    assert read_table(path, labels_column="tags", labels_separator=" ").label_names == ("blue", "green", "red")


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
        ("frozenset({'red', 'blue'})", "frozenset({'blue', 'green'})"),
        ('c("red", "blue")', 'c("blue", "green")'),
        ("{red,blue}", "{blue,green}"),
        ('{"red",blue}', '{"blue","green"}'),
        ("[red, blue]", "[blue, green]"),
        ("- red\n- blue", "- blue\n- green"),
        ("<red><blue>", "<blue><green>"),
        ('"red"; "blue"', '"blue"; green'),
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


@pytest.mark.parametrize(
    ("cells", "tags"),
    [
        (["[np.str_('red'), np.str_('blue')]", "[np.str_('red')]"], ["blue red", "red"]),
        (['c("red", "blue")', "red", "character(0)"], ["blue red", "red", ""]),
        (["List(red, blue)", "WrappedArray(red)", "Set()"], ["blue red", "red", ""]),
        (["deque(['red', 'blue'], maxlen=3)", "dict_keys(['red'])"], ["blue red", "red"]),
        (["Index(['red', 'blue'], dtype='object')", "Index([], dtype='object')"], ["blue red", ""]),
        (["Counter({'red': 1, 'blue': 1})", "Counter({'red': 1})"], ["blue red", "red"]),
        (["{red,blue}", '{"dark red",blue}', "{}", "{red}"], ["blue red", "blue dark_red", "", "red"]),
        (["{red}", "{blue}", "{red}"], ["red", "blue", "red"]),
        (["[red, dark blue]", "[dark blue]", "[]"], ["dark_blue red", "dark_blue", ""]),
        (["- red\n- blue", "- red"], ["blue red", "red"]),
        (["<red><blue>", "<red>"], ["blue red", "red"]),
        (['"dark red",blue', "blue", '"dark red"'], ["blue dark_red", "blue", "dark_red"]),
        (['red; "a;b"', '"Weird Al" X; red', "blue;"], ['a;b red', '"Weird_Al"_X red', "blue"]),
        (["#red, #blue", "#red", "#blue"], ["#blue #red", "#red", "#blue"]),
        (["{'red': np.True_, 'blue': np.float64(0.0)}"], ["red"]),
        (['{"label": ["red", "blue"]}', '{"name": "red"}'], ["blue red", "red"]),
        (['[{"name": "red", "checked": true}, {"name": "blue", "checked": false}]'], ["red"]),
    ],
)  # fmt: skip
def test_notations_of_other_programs(tmp_path, cells, tags):
    """Of numpy 2, R, Scala, SQL, YAML, Stack Overflow and others, in a column of CSV."""
    path = tmp_path / "tags.csv"
    path.write_text(
        "x,tags\n" + "".join(f'{row},"{cell.replace(chr(34), chr(34) * 2)}"\n' for row, cell in enumerate(cells))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a guess of the separator, which other tests check
        read = read_table(path, labels_column="tags")
    of_rows = [
        " ".join(name.replace(" ", "_") for name, mark in zip(read.label_names, row, strict=True) if mark)
        for row in read.Y
    ]
    assert of_rows == tags


@pytest.mark.parametrize("cell", ["[a=1, b]", "{red=true}", "[red:1]", "c(red = TRUE)", "OrderedDict([('a', 1)])"])
def test_other_objects(cell):
    """They are an error, not tags of their own."""
    with pytest.raises(ValueError, match=r"\w"):
        Notation(brackets="[{").said(cell)


def test_an_array_that_numpy_has_shortened(tmp_path):
    """The hint is how to write it whole."""
    path = tmp_path / "tags.csv"
    path.write_text("x,tags\n1,[0 1 1 ... 0 1 0]\n")
    with pytest.raises(
        ValueError, match=r"got '\[0 1 1 ... 0 1 0\]'. Hint: \.\.\. is what numpy writes for the middle"
    ):
        read_table(path, labels_column="tags")


@pytest.mark.parametrize(
    "text",
    [
        "a(" * 50_000 + ")" * 50_000, "<a" * 50_000 + ">", '"a,' * 50_000, '"' * 100_000, "[0" + "0" * 100_000 + "a]",
        "[np.a(" * 50_000 + ")]" * 50_000, "array([1]" + ", a=1" * 30_000 + ",)", "c(" + "'a'," * 50_000 + ")",
        "- " * 50_000 + "\n-", "{" + "a:" * 50_000 + "}", "01" * 50_000,
    ],
)  # fmt: skip
def test_long_cells(text):
    """They are read, changed or refused in linear time."""
    before = time.process_time()
    for notation in (Notation(), Notation(",", brackets="[{")):
        with suppress(ValueError):
            notation.said(text)
            changed_tags(text, {"z": True}, notation)
    assert time.process_time() - before < 3


@pytest.mark.parametrize("cell", ["{{}: 1}", "{[1]}", '{"a": {1}}'])
def test_what_python_cannot_make(cell):
    """Objects whose names are lists, or values sets, are an error of their own."""
    with pytest.raises(ValueError, match=r"\w"):
        Notation().said(cell)


def test_corrections_that_would_be_read_otherwise():
    """They are refused: what is left may look like another notation. In quotes, a tag may have the separator."""
    with pytest.raises(ValueError, match="would be other tags"):
        changed_tags("d;__label__", {"d": False, "another": True}, Notation())
    assert changed_tags('"a;b";c', {"c": False, "d;e": True}, Notation()) == '"a;b";"d;e"'
    with pytest.raises(ValueError, match="the separator ';' in the tag 'd;e'"):
        changed_tags("a;c", {"d;e": True}, Notation())


def test_an_empty_list_among_lists_of_objects(tmp_path):
    """Nothing in it says how an object is written."""
    path = tmp_path / "in.jsonl"
    path.write_text('{"x": 1, "t": [{"name": "a"}]}\n{"x": 2, "t": []}\n')
    with pytest.raises(ValueError, match="must take corrections, got an empty list, where other lists are of objects"):
        copy_with_labels(path, tmp_path / "out.jsonl", [(1, "a", 1.0)], {"labels_column": "t"})


def test_a_text_beside_lists_of_tags(tmp_path):
    """The hint for the text column needs no texts of tags; a long name takes no time."""
    path = tmp_path / "in.jsonl"
    path.write_text('{"x": "some text", "t": ["a"]}\n{"x": "more", "t": []}\n')
    with pytest.raises(ValueError, match=r"column 'x' .* must contain numbers, got type text\. Hint: text=\['x'\]"):
        read_table(path, labels_column="t")
    before = time.process_time()
    with suppress(ValueError):
        (tmp_path / "in.csv").write_text("x,tag1,l" + "-" * 30_000 + "\n1,red,blue\n")
        read_table(tmp_path / "in.csv", labels_column="tag1")
    assert time.process_time() - before < 2


def test_any_blanks_around_a_cell():
    """They are none of a notation, as they are none of a tag."""
    for blank in ("\u2028", "\u3000", "\xa0"):
        assert Notation().joined(f"{blank}__label__a") is None
        assert Notation().said(f"{blank}__label__a{blank}") == [("a", True)]
