"""Labels as annotation tools, spreadsheets, data hubs and databases write them, in files and in data frames."""

import collections
import gzip
import json
import warnings
from contextlib import suppress

import numpy as np
import pytest

from nearlabel.datasets import from_frame, from_hub, load_dataset, open_rows, read_table

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
NAN = np.nan


def by_file(tmp_path, name, content, **options):
    """Write a file and read it."""
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return load_dataset(path, **options)


def assert_labels(data, names, rows):
    """The labels in their order, and those of each row; None is a row of unknown labels, ? after a name an unknown."""
    assert tuple(data.label_names) == tuple(names)
    expected = [[NAN] * len(names) if row is None else [float(name in row) for name in names] for row in rows]
    np.testing.assert_array_equal(np.asarray(data.Y, dtype=float), expected)


FRAMES = {
    "sets": ([{"red", "blue"}, {"red"}, set()], {}),
    "tuples": ([("red", "blue"), ("red",), ()], {}),
    "arrays": ([np.array(["red", "blue"]), np.array(["red"]), np.array([], dtype=str)], {}),
    "texts": (["red|blue", "red", "|"], {"labels_separator": "|"}),
    "python": (["{'red', 'blue'}", "('red',)", "set()"], {}),
    "numpy": (["['red' 'blue']", "['red']", "[]"], {}),
    "answers": ([{"red": True, "blue": True}, {"red": True, "blue": False}, {"red": False, "blue": False}], {}),
    "numbers": ([{"red": 1.0, "blue": 1.0}, {"red": 1.0, "blue": 0.0}, {"red": 0.0, "blue": 0.0}], {}),
    "scores": ([{"red": 0.7, "blue": 0.5}, {"red": 0.9, "blue": 0.4}, {"red": 0.1}], {"label_threshold": 0.5}),
    "objects": ([[{"name": "red"}, {"name": "blue"}], [{"name": "red"}], []], {}),
    "keys": (
        [[{"id": 1, "name": "red"}, {"id": 2, "name": "blue"}], [{"id": 1, "name": "red"}], []],
        {"label_key": "name"},
    ),
    "other key": ([[{"title": "red"}, {"title": "blue"}], [{"title": "red"}], []], {"label_key": "title"}),
    "scored": (
        [[{"label": "red", "score": 0.9}, {"label": "blue", "score": 0.6}], [{"label": "red", "score": 0.8}], []],
        {"label_threshold": 0.6},
    ),
    "choices": ([{"choices": ["red", "blue"]}, {"choices": ["red"]}, {"choices": []}], {}),
    "fasttext": (["__label__red __label__blue", "__label__red", ""], {}),
}


@pytest.mark.parametrize("shape", FRAMES)
@pytest.mark.parametrize("source", ["pandas", "polars", "csv", "jsonl", "parquet"])
def test_one_column(tmp_path, shape, source):
    """In each notation, in a data frame and in files."""
    cells, options = FRAMES[shape]
    x = [0.1, 0.2, 0.3]
    plain = [
        sorted(cell) if isinstance(cell, set) else list(map(str, cell)) if isinstance(cell, np.ndarray) else cell
        for cell in cells
    ]
    if source == "pandas":
        data = from_frame(pd.DataFrame({"x": x, "tags": cells}), labels_column="tags", **options)
    elif source == "csv":
        frame = pd.DataFrame({"x": x, "tags": list(map(str, cells))})
        data = by_file(tmp_path, "a.csv", frame.to_csv(index=False), labels_column="tags", **options)
    elif source == "jsonl":
        lines = "".join(json.dumps({"x": at, "tags": cell}) + "\n" for at, cell in zip(x, plain, strict=True))
        data = by_file(tmp_path, "a.jsonl", lines, labels_column="tags", **options)
    else:
        lists = [list(cell) if isinstance(cell, tuple) else cell for cell in plain]
        if shape == "scores":
            lists[2] = {"red": 0.1, "blue": 0.0}
        table = pa.table({"x": x, "tags": lists})
        if source == "parquet":
            parquet.write_table(table, tmp_path / "a.parquet")
            data = load_dataset(tmp_path / "a.parquet", labels_column="tags", **options)
        else:
            polars = pytest.importorskip("polars")
            data = from_frame(polars.from_arrow(table), labels_column="tags", **options)
    assert_labels(data, ["blue", "red"], [{"blue", "red"}, {"red"}, set()])
    assert data.X.ravel().tolist() == x


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ({"red": 0.7}, r"'red': 0.7}\", a score. Hint: label_threshold is the least score with which a tag applies"),
        ([{"label": "red", "score": 0.2}], "a score. Hint: label_threshold"),
        ([{"label": "red", "id": 3}], "an object with 'label' and 'id'. Hint: label_key is the key"),
        ([{"title": "red"}], "an object without one of name, label, text, id, value. Hint: label_key"),
        ({"red": "yes"}, "must contain tags, got"),
        ([["red"]], "must "),
    ],
)
def test_what_is_not_clear(cell, message):
    """It is never a guess."""
    with pytest.raises(ValueError, match=message):
        from_frame(pd.DataFrame({"x": [1.0], "tags": [cell]}), labels_column="tags")


def test_a_key_that_is_missing():
    """The object is shown."""
    frame = pd.DataFrame({"x": [1.0], "tags": [[{"name": "red"}]]})
    with pytest.raises(ValueError, match="an object without 'title'"):
        from_frame(frame, labels_column="tags", label_key="title")


def test_lists_of_indicators_with_names(tmp_path):
    """Names are those of the places; their number must be right, and the lists no tags."""
    text = '{"x":1,"y":[0,1]}\n{"x":2,"y":[1,0]}\n'  # no list repeats a value
    data = by_file(tmp_path, "a.jsonl", text, labels_column="y", label_names=["a", "b"])
    assert_labels(data, ["a", "b"], [{"b"}, {"a"}])
    with pytest.raises(ValueError, match="label_names must be 2 names, one for each place, got 1"):
        read_table(tmp_path / "a.jsonl", labels_column="y", label_names=["a"])
    with pytest.raises(ValueError, match="label_names must go with lists of 0 and 1 of one length"):
        by_file(tmp_path, "b.jsonl", '{"x":1,"y":["a"]}\n', labels_column="y", label_names=["a"])


WIDE = "x,y,tag1,tag2,tag3\n0.1,1,red,blue,\n0.5,0,red,,\n0.9,2,,,\n"


@pytest.mark.parametrize("columns", [["tag1", "tag2", "tag3"], "tag*", ["tag*"]])
def test_several_columns_of_tags(tmp_path, columns):
    """A row has the tags of all; an empty cell is no tag, in files and frames."""
    data = by_file(tmp_path, "wide.csv", WIDE, labels_column=columns)
    assert_labels(data, ["blue", "red"], [{"red", "blue"}, {"red"}, set()])
    assert tuple(data.feature_names) == ("x", "y")
    frame = pd.read_csv(tmp_path / "wide.csv", dtype={"tag3": object})
    assert_labels(from_frame(frame, labels_column=columns), ["blue", "red"], [{"red", "blue"}, {"red"}, set()])


def test_hints_propose_no_column_of_tags_as_a_feature(tmp_path):
    """It would give the answer away."""
    with pytest.raises(ValueError, match=r"labels_column=\['tag1', 'tag2', 'tag3'\], or leave them out: ignore="):
        by_file(tmp_path, "wide.csv", WIDE, labels_column="tag1")
    with pytest.raises(ValueError, match=r"If cells are tags: labels_column=\('tag1', 'tag2', 'tag3'\)"):
        by_file(tmp_path, "wide.csv", WIDE, labels_prefix="tag")
    topics = "x,topic,more\n1,red,blue\n2,blue,red\n3,red,\n"
    with pytest.raises(ValueError, match=r"labels_column=\['topic', 'more'\]"):
        by_file(tmp_path, "topics.csv", topics, labels_column="topic")


LONG = "doc,x,y,tag\nd1,0.1,1,red\nd1,0.1,1,blue\nd2,0.5,0,red\nd3,0.9,2,\n"


@pytest.mark.parametrize("source", ["csv", "jsonl", "parquet", "pandas"])
def test_the_long_form_is_joined(tmp_path, source):
    """Rows of one id become one; without a tag it has none."""
    frame = pd.DataFrame({
        "doc": ["d1", "d1", "d2", "d3"], "x": [0.1, 0.1, 0.5, 0.9], "y": [1, 1, 0, 2],
        "tag": ["red", "blue", "red", None],
    })  # fmt: skip
    options = {"labels_column": "tag", "join_by": "doc"}
    if source == "csv":
        data = by_file(tmp_path, "long.csv", LONG, **options)
    elif source == "jsonl":
        data = by_file(tmp_path, "long.jsonl", frame.to_json(orient="records", lines=True), **options)
    elif source == "parquet":
        frame.to_parquet(tmp_path / "long.parquet")
        data = load_dataset(tmp_path / "long.parquet", **options)
    else:
        data = from_frame(frame, **options)
    assert_labels(data, ["blue", "red"], [{"red", "blue"}, {"red"}, set()])
    assert data.X.tolist() == [[0.1, 1], [0.5, 0], [0.9, 2]]


def test_the_long_form_is_recognised(tmp_path):
    """With its id left out it would be rows that contradict each other; rows that come twice are none."""
    with pytest.raises(ValueError, match=r"got one for each tag: rows of one 'doc' .* Hint: join_by='doc' joins them"):
        by_file(tmp_path, "long.csv", LONG, labels_column="tag", ignore=["doc"])
    for text in (LONG.replace("d2", "d1"), LONG.replace("blue", "red"), LONG.replace("d1,0.1,1,blue", "d4,0.1,1,blue")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = by_file(tmp_path, "other.csv", text, labels_column="tag", ignore=["doc"])
        assert data.X.shape == (4, 2)


def test_the_long_form_with_its_id_as_a_feature(tmp_path, recwarn):
    """Rows of the same features and another tag are told; not if an id differs in each row."""
    numbered = LONG.replace("d1", "1").replace("d2", "2").replace("d3", "3")
    with pytest.warns(UserWarning, match="1 of 4 rows of .* the features of another row, and another tag .*: join_by "):
        by_file(tmp_path, "long.csv", numbered, labels_column="tag")
    with pytest.warns(UserWarning, match="and another tag in 'tag'"):
        by_file(tmp_path, "texts.csv", "text,tag\nhello,a\nhello,b\nbye,a\n", labels_column="tag", text=["text"])
    rows = "id,x,tag\n1,0.5,a\n2,0.5,b\n3,0.7,a\n"
    by_file(tmp_path, "rows.csv", rows, labels_column="tag", ignore=["id"])
    many = "x,tag\n" + "".join(f"{row},a\n" for row in range(40)) + "0,b\n"
    by_file(tmp_path, "many.csv", many, labels_column="tag")
    assert not recwarn.list


def test_rows_of_one_id_that_are_scattered(tmp_path):
    """They need not be neighbours, nor in the order of ids; a block ends anywhere."""
    rng = np.random.default_rng(0)
    tags = rng.random((300, 5)) < 0.4
    pairs = [(doc, tag) for doc in range(300) for tag in range(5) if tags[doc, tag]]
    shuffled = rng.permutation(len(pairs))
    lines = [f"i{pairs[at][0]},{pairs[at][0] / 7!r},t{pairs[at][1]}\n" for at in shuffled]
    data = by_file(tmp_path, "long.csv", "id,x,tag\n" + "".join(lines), labels_column="tag", join_by="id")
    docs = list(dict.fromkeys(pairs[at][0] for at in shuffled))
    assert data.X.ravel().tolist() == [doc / 7 for doc in docs]
    assert np.array_equal(np.asarray(data.Y), tags[docs])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (LONG.replace("d1,0.1,1,blue", "d1,0.2,1,blue"), "line 3: rows of one 'doc' must have the same features, got"),
        (LONG.replace("d3", ""), "line 5: column 'doc' must have an id, got an empty cell"),
        (LONG.replace("d3", '" "'), "line 5: column 'doc' must have an id, got an empty cell"),
    ],
)
def test_rows_that_cannot_be_joined(tmp_path, text, message):
    """The line is named."""
    with pytest.raises(ValueError, match=message):
        by_file(tmp_path, "long.csv", text, labels_column="tag", join_by="doc")


def test_ids_that_may_be_rounded(tmp_path):
    """Integers keep their digits; a float may be rounded, and is refused. Blanks around an id are none of it."""
    text = "".join(f'{{"id": 900719925474099312{last}, "x": {last}, "tag": "a"}}\n' for last in (3, 4))
    assert by_file(tmp_path, "ids.jsonl", text, labels_column="tag", join_by="id").X.tolist() == [[3], [4]]
    floats = pd.DataFrame({"id": [9.007199254740993e18, 1.0], "x": [1, 2], "tag": ["a", "a"]})
    with pytest.raises(ValueError, match=r"row 1: column 'id' must have ids that are not rounded, got 9\.007.*e\+18"):
        from_frame(floats, labels_column="tag", join_by="id")
    blanks = 'id,x,tag\nA,0,a\n" A ",0,b\nB,1,b\n'
    assert_labels(by_file(tmp_path, "a.csv", blanks, labels_column="tag", join_by="id"), "ab", ["ab", "b"])


def test_labels_in_a_file_of_their_own(tmp_path):
    """Rows and tags are joined by ids; one without a row has no tags, or unknown labels in columns of 0 and 1."""
    (tmp_path / "tags.csv").write_text("id,tag\nb,red\na,blue\nb,blue\n")
    (tmp_path / "marks.csv").write_text("id,red,blue\nb,1,1\na,0,1\n")
    rows = "id,x\na,1\nb,2\nc,3\n"
    data = by_file(tmp_path, "rows.csv", rows, labels_column="tag", join_by="id", labels_file=tmp_path / "tags.csv")
    assert_labels(data, ["blue", "red"], [{"blue"}, {"red", "blue"}, set()])
    marks = {"labels": ["red", "blue"], "labels_file": tmp_path / "marks.csv"}
    assert_labels(read_table(tmp_path / "rows.csv", join_by="id", **marks), ["red", "blue"],
                  [{"blue"}, {"red", "blue"}, None])  # fmt: skip
    with pytest.raises(ValueError, match="labels_file must go with join_by"):
        read_table(tmp_path / "rows.csv", **marks)
    (tmp_path / "tags.csv").write_text("id,tag\nb,red\nz,blue\n")
    with pytest.warns(UserWarning, match="1 of 2 ids with labels have no row"):
        read_table(tmp_path / "rows.csv", labels_column="tag", join_by="id", labels_file=tmp_path / "tags.csv")
    (tmp_path / "tags.csv").write_text("id,tag\n1,red\n2,blue\n")
    with pytest.raises(
        ValueError, match="join_by='id' must have ids that are in both files, got 'a' in one, but '1' in"
    ):
        read_table(tmp_path / "rows.csv", labels_column="tag", join_by="id", labels_file=tmp_path / "tags.csv")


CODES = [
    (["ja", "nein"], ["nein", "ja"], {}),
    (["Oui", "non"], ["non", "oui"], {}),
    (["sí", "no"], ["no", "sí"], {}),
    (["T", "F"], ["F", "T"], {}),
    (["+", "-"], ["-", "+"], {}),
    (["y", "n"], ["n", "y"], {}),
    (["on", "off"], ["off", "on"], {}),
    (["Checked", "Unchecked"], ["Unchecked", "Checked"], {}),
    (["\u2611", "\u2610"], ["\u2610", "\u2611"], {}),
    (["1", "-1"], ["-1", "1"], {"negative": "-1", "positive": "1"}),
    (["2", "1"], ["1", "2"], {"negative": "1", "positive": "2"}),
    (["x", ""], ["", "x"], {"negative": "", "positive": "x"}),
    (["da", "weg"], ["WEG", "da"], {"negative": "weg", "positive": "da"}),
]


@pytest.mark.parametrize(("a", "b", "options"), CODES)
@pytest.mark.parametrize("source", ["csv", "pandas", "objects"])
def test_two_codes(tmp_path, recwarn, a, b, options, source):
    """Pairs that mean no and yes are told; others are named."""
    if source == "csv":
        text = "x,a,b\n" + "".join(f"{row},{one},{two}\n" for row, (one, two) in enumerate(zip(a, b, strict=True)))
        data = by_file(tmp_path, "codes.csv", text, labels=["a", "b"], **options)
    else:
        are_numbers = source == "objects" and a[0] in ("1", "2")
        columns = {name: [int(one) if are_numbers else one or None for one in cells] for name, cells in
                   (("a", a), ("b", b))}  # fmt: skip
        data = from_frame(pd.DataFrame({"x": [0, 1], **columns}), labels=["a", "b"], **options)
    assert_labels(data, ["a", "b"], [{"a"}, {"b"}])
    told = [str(one.message) for one in recwarn.list]
    assert [text.startswith("Labels do not apply where") for text in told] == ([] if options else [True])


def test_yes_and_empty_cells(tmp_path):
    """Without any no, empty cells are hardly unknown: a warning names the options that make them no."""
    text = "x,a,b\n1,1,\n2,,1\n3,1,1\n"
    with pytest.warns(
        UserWarning, match="No label is known not to apply.* if empty means no: negative='' positive='1'"
    ):
        assert np.isnan(by_file(tmp_path, "a.csv", text, labels=["a", "b"]).Y).sum() == 2
    read = read_table(tmp_path / "a.csv", labels=["a", "b"], negative="", positive="1")
    assert_labels(read, "ab", ["a", "b", "ab"])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            ["1", "-1"],
            "If they mean no and yes: negative='-1' positive='1'. With unknown='-1' no label is known not to apply",
        ),
        (["2", "1"], "no and yes: negative='1' positive='2'. With unknown='2' no label is known not to apply"),
        (["0", "-1"], "With unknown='-1' no label is known to apply"),
        (
            ["rot", "blau"],
            r"If they mean no and yes: negative='blau' positive='rot'. If cells are tags: labels_column=",
        ),
        (["x", ""], "got 'x' as the only value. Hint: if it means yes, an empty cell no: positive='x' negative=''"),
        (["a", "b", "c"], r"got 'a'. Hint: if cells are tags: labels_column=\('y',\)"),
        (["0", "1", "-1"], "got -1. Hint: unknown='-1', if it marks an unknown label"),
        (["f", "f"], "got 'f' as the only value. Hint: if it has that meaning: negative='f' positive='t'"),
        (
            ["X", "x", ""],
            "got 'X' as the only value. Hint: if it means yes, an empty cell no: positive='X' negative=''",
        ),
        (["ja", "nein", "yes", "no"], "got 'ja'. Hint: all columns of labels must have the same values for no and yes"),
        (["0.5", "0.25", "1"], "must be 0 or 1, got 0.5\\.$"),
        (["0", "1", "n/k"], "got 'n/k'. Hint: unknown='n/k', if it marks an unknown label"),
    ],
)
def test_hints_for_values_that_are_not_zero_and_one(tmp_path, values, message):
    """They ask what two values mean, and say what an unknown one would do."""
    text = "x,y\n" + "".join(f"{row},{value}\n" for row, value in enumerate(values))
    with pytest.raises(ValueError, match=message):
        by_file(tmp_path, "codes.csv", text, labels=["y"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": ["a"], "negative": "-1"}, "negative and positive must be two values, other than unknown, got '-1'"),
        ({"labels": ["a"], "negative": "1", "positive": "1.0"}, "must be two values"),
        ({"labels": ["a"], "negative": "0", "positive": "1", "unknown": "0.0"}, "must be two values, other than"),
        (
            {"labels_column": "a", "negative": "0", "positive": "1"},
            "must go with columns of labels",
        ),
        ({"labels": ["a"], "negative": "0", "positive": "2"}, "label 'a' must be '0' or '2', got '1'"),
        ({"labels_column": "a", "normalise": "nfd"}, "normalise must be one of"),
        ({"labels": ["a"], "label_names": ["q"]}, "label_names must go with labels_column, got columns of 0 and 1"),
        ({"labels": ["a"], "label_key": "name"}, "label_key must go with labels_column"),
        ({"labels_prefix": "a", "label_threshold": 0.5}, "label_threshold must go with labels_column"),
        ({"labels_column": "a", "label_threshold": NAN}, "label_threshold must be a number, got nan"),
        ({"labels_column": "a", "label_key": ""}, "label_key must be text of at least one character"),
        ({"labels_column": "a", "join_by": "z"}, "join_by must name columns of .*got 'z'"),
        ({"labels_column": "a", "unlabelled": {"z": "1"}}, "unlabelled must name columns of .*got 'z'"),
        ({"labels_column": "z*"}, "labels_column must begin the name of some column"),
    ],
)
def test_wrong_options(tmp_path, options, message):
    """Each is told by its name."""
    with pytest.raises(ValueError, match=message):
        by_file(tmp_path, "a.csv", "x,a,b\n1,1,0\n2,0,1\n", **options)
    with pytest.raises(TypeError, match=r"negative must be text or None, got -1\. Hint: '-1'"):
        read_table(tmp_path / "a.csv", labels=["a"], negative=-1, positive="1")
    with pytest.raises(TypeError, match="takes the parameters of read_table for labels, got 'lables'"):
        from_frame(pd.DataFrame({"x": [1]}), lables=["x"])


PRODIGY = (
    '{"text":"a","x":1.5,"options":[{"id":"POS"}],"accept":["POS","NEG"],"answer":"accept"}\n'
    '{"text":"b","x":2,"options":[{"id":"POS"}],"accept":[],"answer":"ignore"}\n'
    '{"text":"c","x":3,"options":[{"id":"POS"}],"accept":["NEG"],"answer":"reject"}\n'
)


def test_rows_that_an_annotator_skipped(tmp_path):
    """Their labels are unknown, whatever they carry; the column is no feature."""
    options = {"labels_column": "accept", "ignore": ["text", "options"]}
    with pytest.warns(UserWarning, match="Column 'answer' is the annotator's .* unknown where it is 'ignore' or 'rej"):
        data = by_file(tmp_path, "prodigy.jsonl", PRODIGY, **options)
    assert_labels(data, ["NEG", "POS"], [{"NEG", "POS"}, None, None])
    assert tuple(data.feature_names) == ("x",)
    read = read_table(tmp_path / "prodigy.jsonl", unlabelled={"answer": "ignore"}, **options)
    assert_labels(read, ["NEG", "POS"], [{"NEG", "POS"}, None, {"NEG"}])
    everything = {"unlabelled": {}, "ignore": ["text", "options", "answer"]}
    read = read_table(tmp_path / "prodigy.jsonl", **options | everything)
    assert_labels(read, ["NEG", "POS"], [{"NEG", "POS"}, set(), {"NEG"}])


@pytest.mark.parametrize(
    ("column", "values", "known"),
    [
        ("is_confirmed", [True, False, True], [True, False, True]),
        ("was_cancelled", [False, True, False], [True, False, True]),
        ("cancelled", ["0", "1", "0"], [True, False, True]),
        ("answer", ["accept", "ignore", "accept"], [True, False, True]),
    ],
)
def test_columns_of_annotation_tools(column, values, known):
    """Of 0 and 1, too."""
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0], "red": [1, 0, 0], column: values})
    with pytest.warns(UserWarning, match=f"Column '{column}' is the annotator's"):
        data = from_frame(frame, labels=["red"])
    assert (~np.isnan(data.Y.ravel())).tolist() == known
    assert data.X.shape == (3, 1)


def test_tasks_of_label_studio_without_an_annotation(tmp_path):
    """No one has labelled them, which is not the same as an annotation without a choice."""
    text = "annotation_id,annotator,id,lead_time,tags,x\n5,1,7,1.5,red,1\n6,1,8,2.5,,2\n,,9,,,3\n"
    options = {"labels_column": "tags", "ignore": ["annotator", "id", "lead_time"]}
    with pytest.warns(UserWarning, match="'annotation_id' is the annotator's .* unknown where it is empty"):
        data = by_file(tmp_path, "studio.csv", text, **options)
    assert_labels(data, ["red"], [{"red"}, set(), None])
    assert tuple(data.feature_names) == ("x",)
    others = by_file(
        tmp_path, "own.csv", text.replace("lead_time", "hours"), **options | {"ignore": ["annotator", "id"]}
    )
    assert "annotation_id" in others.feature_names


def test_columns_that_only_have_the_name_of_one_of_a_tool():
    """Other values are those of a feature."""
    frame = pd.DataFrame({"x": [1.0, 2.0], "answer": [42.0, 7.0], "red": [1, 0]})
    assert from_frame(frame, labels=["red"]).X.shape == (2, 2)
    marked = pd.DataFrame({"x": [1.0, 2.0], "red": [1, 0], "done": [True, False], "n": [3, 4]})
    read = from_frame(marked, labels=["red"], unlabelled={"done": False, "n": [5, 6, 4]})
    assert np.isnan(read.Y.ravel()).tolist() == [False, True]
    with pytest.warns(UserWarning, match="No row of frame is unlabelled by column 'n': no cell is '5'"):
        from_frame(marked, labels=["red"], unlabelled={"n": 5}, ignore=["done"])
    with pytest.raises(TypeError, match="unlabelled must map columns to values, got 'done'"):
        from_frame(marked, labels=["red"], unlabelled="done")
    skipped = pd.DataFrame({"x": [1.0, 2.0], "red": [1, 0], "state": ["todo", "todo"]})
    with pytest.raises(ValueError, match="must have rows with known labels, got none: all are unlabelled by 'state'"):
        from_frame(skipped, labels=["red"], unlabelled={"state": ["todo", "later"]})


ALIKE = "x,tags\n0.1,caf\xe9;\U0001f3b8\n0.2,cafe\u0301; \U0001f3b8 \n0.3,Rock;rock\n0.4,rock;rock\n"


def test_tags_that_look_alike(tmp_path):
    """Composed and decomposed letters are one label; letters of another case only if asked."""
    data = by_file(tmp_path, "alike.csv", ALIKE, labels_column="tags")
    assert_labels(data, ["Rock", "caf\xe9", "rock", "\U0001f3b8"],
                  [{"caf\xe9", "\U0001f3b8"}] * 2 + [{"Rock", "rock"}, {"rock"}])  # fmt: skip
    folded = read_table(tmp_path / "alike.csv", labels_column="tags", normalise="case")
    assert tuple(folded.label_names) == ("caf\xe9", "rock", "\U0001f3b8")
    raw = read_table(tmp_path / "alike.csv", labels_column="tags", normalise="none")
    assert tuple(raw.label_names) == ("Rock", "cafe\u0301", "caf\xe9", "rock", "\U0001f3b8")


FEATURES = {
    "x": {"dtype": "float64", "_type": "Value"},
    "y": {"feature": {"names": ["anger", "fear", "joy"], "_type": "ClassLabel"}, "_type": "Sequence"},
}


@pytest.mark.parametrize("isolate", [False, True])
def test_classes_of_hugging_face(tmp_path, isolate):
    """The schema names them; all are labels, -1 is no known class, and a number beyond is an error."""
    schema = pa.schema([("x", pa.float64()), ("y", pa.list_(pa.int64()))])
    schema = schema.with_metadata({"huggingface": json.dumps({"info": {"features": FEATURES}})})
    for lists in ([[0, 2], [2, 2], [-1]], [[3], [0], [1]]):
        parquet.write_table(pa.table({"x": [1.0, 2.0, 3.0], "y": lists}, schema=schema), tmp_path / "a.parquet")
        if lists[0] == [3]:
            with pytest.raises(ValueError, match="got 3, though the file names 3 classes"):
                read_table(tmp_path / "a.parquet", labels_column="y", isolate=isolate)
            return
        data = read_table(tmp_path / "a.parquet", labels_column="y", isolate=isolate)
        assert_labels(data, ["anger", "fear", "joy"], [{"anger", "joy"}, {"joy"}, None])


class _Hub:
    """What `datasets.Dataset` offers: its features, and its rows as Arrow's."""

    def __init__(self, table):
        self.features = type("Features", (), {"arrow_schema": table.schema})()
        self._table = table

    def with_format(self, name):
        """Return rows in a format."""
        assert name == "arrow"
        return self._table.replace_schema_metadata(None)

    def __getitem__(self, key):
        return self._table


def test_a_data_set_of_the_hub():
    """Texts, classes with names; a mapping of splits is refused."""
    schema = pa.schema([("text", pa.string()), ("y", pa.list_(pa.int64()))])
    schema = schema.with_metadata({"huggingface": json.dumps({"info": {"features": FEATURES}})})
    hub = _Hub(pa.table({"text": ["so glad", "oh no"], "y": [[2], [0, 1]]}, schema=schema))
    data = from_hub(hub, text="text", labels="y")
    assert_labels(data, ["anger", "fear", "joy"], [{"joy"}, {"anger", "fear"}])
    assert data.feature_kinds == ("text",)
    with pytest.raises(TypeError, match=r"dataset must be one split, got 'train', 'test'. Hint: dataset\['train'\]"):
        from_hub({"train": hub, "test": hub}, text="text", labels="y")


def test_frames_of_any_kind():
    """Numbers, embeddings, categories, dates, sparse columns, names that are no text, and the interchange protocol."""
    frame = pd.DataFrame({
        "n": pd.array([1, None, 3], dtype="Int64"), "e": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        "c": pd.Categorical(["a", "b", "a"]), "d": pd.to_datetime(["2026-01-01", None, "2026-01-03"]),
        "s": pd.arrays.SparseArray([0.0, 0.0, 2.0]), 7: [True, False, True], "tags": [["u"], ["v", "u"], []],
    })  # fmt: skip
    data = from_frame(frame, labels_column="tags", categorical=["c"], dates=["d"], name="mine")
    assert tuple(data.feature_names) == ("n", "e[0]", "e[1]", "c", "d", "s", "7")
    assert data.name == "mine"
    assert data.X[:, 0].astype(float).tolist()[::2] == [1, 3]
    assert data.X[2, 1:4].tolist() == [5.0, 6.0, "a"]
    assert from_frame(frame[["n", "s", "tags"]], labels_column="tags", as_frame=True).Y.columns.tolist() == ["u", "v"]

    class Interchange:
        def __dataframe__(self, **_):
            return pa.table({"x": [1.0, 2.0], "y": [0, 1]}).__dataframe__()

    assert from_frame(Interchange(), labels=["y"]).Y.tolist() == [[0], [1]]
    with pytest.raises(TypeError, match="frame must be a data frame, got list"):
        from_frame([1, 2], labels=["y"])
    with pytest.raises(ValueError, match="distinct names, got '7' 2 times"):
        from_frame(pd.DataFrame([[1, 2]], columns=[7, "7"]), labels=["7"])
    with pytest.raises(ValueError, match="frame must have values of one type in column 'tags', got int and str"):
        from_frame(pd.DataFrame({"x": [1, 2], "tags": ["a", 1]}), labels_column="tags")


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_files_of_fasttext(tmp_path, name):
    """Labels are wherever they are in a line; blank lines are skipped, a text without a label has none."""
    text = "\ufeff__label__red __label__blue some  text\n\nhere __label__red\r\nnone of them\n__label__green\n"
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    data = load_dataset(path)
    assert_labels(data, ["blue", "green", "red"], [{"red", "blue"}, {"red"}, set(), {"green"}])
    assert data.X.ravel().tolist() == ["some text", "here", "none of them", None]
    assert data.feature_kinds == ("text",)
    assert next(iter(open_rows(path, ["text"], feature_kinds=["text"]))).X.ravel().tolist()[1] == "here"


def test_text_that_is_not_utf8_in_a_file_of_fasttext(tmp_path):
    """The line is named."""
    (tmp_path / "a.txt").write_bytes(b"__label__red ok\n__label__red caf\xe9\n")
    with pytest.raises(ValueError, match=r"a\.txt, line 2: the text must be UTF-8, got the byte 0xe9"):
        load_dataset(tmp_path / "a.txt")


def test_a_carriage_return_ends_no_line_of_fasttext(tmp_path):
    """Before a label it would make one row of many; elsewhere it is a blank, as in fastText."""
    path = tmp_path / "a.txt"
    path.write_bytes(b"__label__a one\r__label__b two\r")
    with pytest.raises(ValueError, match=r"a\.txt, line 1: a line must end in a newline, got a carriage return alone"):
        load_dataset(path)
    path.write_bytes(b"__label__a one\rtwo\r\n__label__b three\r\r\n")
    assert load_dataset(path).X.tolist() == [["one two"], ["three"]]


def test_labels_of_fasttext_among_words(tmp_path):
    """In a column of tags, other words are an error: a text must not become a tag."""
    with pytest.raises(ValueError, match="labels of fastText among other words"):
        by_file(tmp_path, "a.csv", "x,tags\n1,__label__red some text\n", labels_column="tags")


def test_decimal_commas_in_columns_of_labels(tmp_path):
    """The hint is the option that reads them."""
    text = "x;y\n1;1,0\n2;0,0\n"
    with pytest.raises(
        ValueError, match=r"label 'y' must be 0 or 1, got '1,0'\. Hint: decimal=',' reads such decimals"
    ):
        by_file(tmp_path, "a.csv", text, labels=["y"])
    assert_labels(by_file(tmp_path, "a.csv", text, labels=["y"], decimal=","), ["y"], [{"y"}, set()])


def test_one_label_as_a_text_and_several_as_an_object(tmp_path):
    """As Label Studio's smaller JSON has them; a task without an answer is unknown."""
    rows = [{"x": 1, "y": {"choices": ["pos", "neg"]}}, {"x": 2, "y": "pos"}, {"x": 3}, {"x": 4, "y": ["neg"]}]
    data = by_file(tmp_path, "tasks.json", json.dumps(rows), labels_column="y")
    assert_labels(data, ["neg", "pos"], [{"pos", "neg"}, {"pos"}, None, {"neg"}])
    frame = pd.DataFrame(rows)
    assert_labels(from_frame(frame, labels_column="y"), ["neg", "pos"], [{"pos", "neg"}, {"pos"}, None, {"neg"}])


@pytest.mark.parametrize(
    ("cells", "got"),
    [
        (["\ud800", "b"], "text with half a character"),
        ([["\ud800"], ["b"]], "text with half a character"),
        ([[2**70], [1]], "an integer of more than 64 bits"),
        ([1j, 2j], "complex"),
        ([object(), object()], "object"),
    ],
)
def test_objects_that_are_no_cells(cells, got):
    """They are an error that names the column, whatever pyarrow makes of them."""
    with pytest.raises(ValueError, match=f"one type in column 'tags', got {got}"):
        from_frame(pd.DataFrame({"x": [1.0, 2.0], "tags": pd.Series(cells, dtype=object)}), labels_column="tags")
    nested: list = []
    nested.append(nested)
    with pytest.raises(ValueError, match="a list in a list"):
        from_frame(pd.DataFrame({"x": [1.0], "tags": [nested]}), labels_column="tags")


@pytest.mark.parametrize(
    "make",
    [
        pd.Index,
        pd.Series,
        pd.Categorical,
        pd.array,
        collections.deque,
        lambda some: dict.fromkeys(some).keys(),
        frozenset,
    ],
)
def test_containers_of_tags(make):
    """Of pandas and Python."""
    cells = pd.Series([make(["a", "b"]), make(["b"])], dtype=object)
    read = from_frame(pd.DataFrame({"x": [1.0, 2.0], "tags": cells}), labels_column="tags")
    assert_labels(read, "ab", ["ab", "b"])


def test_integers_that_pandas_has_as_floats():
    """A missing cell makes the others floats; those that are too large for one are refused."""
    read = from_frame(pd.DataFrame({"x": [1, 2, 3], "tags": [7.0, None, 8.0]}), labels_column="tags")
    assert_labels(read, "78", ["7", None, "8"])
    with pytest.raises(ValueError, match=r"must contain tags, got 1\.1529"):
        from_frame(pd.DataFrame({"x": [1, 2], "tags": [2.0**60, None]}), labels_column="tags")


def test_arrow_types(tmp_path):
    """Views of lists, categories in lists, and polars' categories, whole and in slices."""
    lists = [["z"], ["a", "b"], ["a"], []]
    types = [pa.list_(pa.dictionary(pa.int8(), pa.string())), pa.large_list(pa.string_view())]
    types += [getattr(pa, name)(pa.string()) for name in ("list_view", "large_list_view") if hasattr(pa, name)]
    for data_type in types:
        table = pa.table({"x": [0.0, 1, 2, 3], "tags": pa.array(lists, data_type)}).slice(1)
        assert_labels(from_frame(table, labels_column="tags"), "ab", ["ab", "a", ""])
        with suppress(NotImplementedError):  # older versions write no views
            parquet.write_table(table, tmp_path / "a.parquet")
            assert_labels(load_dataset(tmp_path / "a.parquet", labels_column="tags"), "ab", ["ab", "a", ""])
    polars = pytest.importorskip("polars")
    for kind in (polars.Categorical, polars.Enum(["a", "b", "z"])):
        frame = polars.DataFrame({"x": [1.0, 2.0]}).with_columns(
            tags=polars.Series([["a", "b"], ["a"]], dtype=polars.List(kind))
        )
        assert_labels(from_frame(frame, labels_column="tags"), "ab", ["ab", "a"])
        frame = frame.with_columns(tags=polars.Series(["a", "b"], dtype=kind))
        assert_labels(from_frame(frame, labels_column="tags"), "ab", ["a", "b"])
    with pytest.raises(TypeError, match=r"got LazyFrame. Hint: frame.collect\(\)"):
        from_frame(frame.lazy(), labels_column="tags")


def test_columns_of_numbers_and_of_texts_are_tags_together(tmp_path):
    """A number is the tag of its digits."""
    text = '{"x": 1, "tag1": 3, "tag2": "a"}\n{"x": 2, "tag1": null, "tag2": "3"}\n'
    assert_labels(by_file(tmp_path, "a.jsonl", text, labels_column="tag*"), "3a", ["3a", "3"])


def test_missing_cells_of_data_frames(tmp_path):
    """Among texts they are empty cells, as pandas reads them from CSV, with a note; among lists they are unknown."""
    (tmp_path / "a.csv").write_text("x,tags\n1,red;blue\n2,\n3,red\n")
    frame = pd.read_csv(tmp_path / "a.csv")
    table = pa.Table.from_pandas(frame)
    for given in (frame, table, pytest.importorskip("polars").from_arrow(table)):
        with pytest.warns(UserWarning, match="1 missing texts in column 'tags' are read as no tag. Hint: unknown=''"):
            data = from_frame(given, labels_column="tags")
        assert_labels(data, ["blue", "red"], [{"red", "blue"}, set(), {"red"}])
        known = from_frame(given, labels_column="tags", unknown="")
        assert_labels(known, ["blue", "red"], [{"red", "blue"}, None, {"red"}])
    for cells in (
        [["red"], None, []],
        [{"red": True}, None, {"red": False}],
        [{"choices": ["red"]}, None, {"choices": []}],
    ):
        objects = pd.DataFrame({"x": [1, 2, 3], "tags": cells})
        for given in (objects, pa.Table.from_pandas(objects)):
            assert_labels(from_frame(given, labels_column="tags"), ["red"], [{"red"}, None, set()])
