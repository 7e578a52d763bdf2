"""Labels as other tools write them, on the command line: columns, joined rows, corrected copies."""

import argparse
import json

import numpy as np
import pytest

from nearlabel.cli._arguments import column_is

parquet = pytest.importorskip("pyarrow.parquet")
pa = pytest.importorskip("pyarrow")

NAMES = ("red", "blue", "green")
X = np.random.default_rng(0).random((40, 2)).round(3)
Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.5, X.sum(axis=1) > 1])


def tags_of(row):
    """The tags of a row."""
    return [name for name, mark in zip(NAMES, Y[row], strict=True) if mark]


@pytest.fixture
def wide(tmp_path):
    """Three columns of tags."""
    path = tmp_path / "wide.csv"
    lines = [",".join([f"r{row}", *map(str, X[row]), *(tags_of(row) + [""] * 3)[:3]]) for row in range(40)]
    path.write_text("id,x,y,tag1,tag2,tag3\n" + "\n".join(lines) + "\n")
    return path


@pytest.fixture
def long(tmp_path):
    """A row for each tag."""
    path = tmp_path / "long.csv"
    lines = [f"r{row},{X[row, 0]},{X[row, 1]},{tag}" for row in range(40) for tag in tags_of(row) or [""]]
    path.write_text("id,x,y,tag\n" + "\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("columns", ["tag*", "tag1,tag2,tag3"])
def test_columns_of_tags_are_labels_everywhere(nearlabel, wide, tmp_path, columns):
    """A model is fitted, scored and audited by them, and none is shown as a feature."""
    model, labels = tmp_path / "m.skops", ("--labels-columns", columns)
    assert nearlabel("fit", wide, *labels, "--id", "id", "--method", "brknn", "--k", "3", "--out", model).code == 0
    assert "micro" in nearlabel("predict", model, wide, *labels, "--ignore", "id", "--score").out
    assert nearlabel("audit", wide, *labels, "--ignore", "id").code == 0
    shown = nearlabel("fit", wide, *labels, "--show", "tag1", "--ignore", "id", "--out", tmp_path / "n.skops")
    assert "--show must name columns that are not labels, got 'tag1'" in shown.err


def test_joined_rows(nearlabel, long, tmp_path):
    """They are fitted and audited as one; so are predictions; corrections go to NPZ only."""
    model, join = tmp_path / "m.skops", ("--labels-column", "tag", "--join-by", "id")
    assert nearlabel("fit", long, *join, "--method", "brknn", "--k", "3", "--out", model).code == 0
    assert nearlabel("predict", model, long, *join, "--score", "--metrics", "micro_f1").code == 0
    assert len(nearlabel("predict", model, long, "--join-by", "id").out.splitlines()) == 41
    row = next(row for row in range(40) if "red" in tags_of(row))
    (tmp_path / "c.csv").write_text(f"row,label,given,correct\n{row},red,1,0\n")
    corrected = ("audit", long, *join, "--apply", tmp_path / "c.csv", "--out")
    refused = nearlabel(*corrected, tmp_path / "out.csv")
    assert (refused.code, "--join-by must go with an --out that ends in .npz" in refused.err) == (2, True)
    assert not (tmp_path / "out.csv").exists()
    assert nearlabel(*corrected, tmp_path / "out.npz").code == 0


NESTED = {
    "answers": pa.struct([(name, pa.bool_()) for name in NAMES]),
    "map": pa.map_(pa.string(), pa.bool_()),
    "choices": pa.struct([("choices", pa.list_(pa.string()))]),
    "objects": pa.list_(pa.struct([("name", pa.string())])),
    "codes": pa.list_(pa.dictionary(pa.int8(), pa.string())),
    "large": pa.large_list(pa.string()),
    "marks": pa.list_(pa.int8(), 3),
    "truths": pa.list_(pa.bool_()),
}


@pytest.mark.parametrize("kind", NESTED)
def test_corrected_copies_of_parquet(nearlabel, tmp_path, kind):
    """A corrected cell has the type of its column, and no other cell is changed."""
    answers = [dict(zip(NAMES, row, strict=True)) for row in Y.tolist()]
    tags = [tags_of(row) for row in range(40)]
    cells = {
        "answers": answers,
        "map": [list(answer.items()) for answer in answers],
        "choices": [{"choices": some} for some in tags],
        "objects": [[{"name": tag} for tag in some] for some in tags],
        "marks": Y.astype(int).tolist(),
        "truths": Y.tolist(),
    }.get(kind, tags)
    path, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    table = pa.table({"x": X[:, 0], "y": X[:, 1], "labels": pa.array(cells, NESTED[kind])})
    parquet.write_table(table, path)
    row = next(row for row in range(40) if Y[row].tolist() == [True, False, False])
    names = ("--label-names", ",".join(NAMES)) if kind in ("marks", "truths") else ()
    (tmp_path / "c.csv").write_text(f"row,label,given,correct\n{row},red,1,0\n{row},blue,0,1\n")
    words = ("audit", path, "--labels-column", "labels", *names, "--apply", tmp_path / "c.csv", "--out", out)
    assert nearlabel(*words).code == 0
    before, after = parquet.read_table(path), parquet.read_table(out)
    assert before.schema == after.schema
    changed = [at for at in range(40) if before["labels"][at].as_py() != after["labels"][at].as_py()]
    assert changed == [row]
    said = json.dumps(after["labels"][row].as_py())
    other = {"answers": '{"red": false, "blue": true, "green": false}', "marks": "[0, 1, 0]"}
    other |= {"truths": "[false, true, false]", "map": '[["red", false], ["blue", true], ["green", false]]'}
    other |= {"choices": '{"choices": ["blue"]}', "objects": '[{"name": "blue"}]'}
    assert said == other.get(kind, '["blue"]')


def test_a_list_that_has_no_room(nearlabel, tmp_path):
    """A list of two tags cannot become one of three: the column is named."""
    tags = pa.array([["a", "b"], ["b", "c"], ["a", "c"]], pa.list_(pa.string(), 2))
    parquet.write_table(pa.table({"x": [1.0, 2.0, 3.0], "tags": tags}), tmp_path / "in.parquet")
    (tmp_path / "c.csv").write_text("row,label,given,correct\n0,c,0,1\n")
    words = ("audit", tmp_path / "in.parquet", "--labels-column", "tags", "--apply", tmp_path / "c.csv")
    answer = nearlabel(*words, "--out", tmp_path / "out.parquet")
    assert answer.code == 2
    assert "column 'tags' of " in answer.err
    assert "must take corrections, got type fixed_size_list" in answer.err


def test_columns_with_an_equals_sign():
    """Their name is in double quotes."""
    assert column_is("state=todo=1") == ("state", "todo=1")
    assert column_is('"a=b"=todo') == ("a=b", "todo")
    assert column_is('"a""="=') == ('a"=', "")
    assert column_is("none") == ()
    with pytest.raises(argparse.ArgumentTypeError, match="must be like answer=ignore"):
        column_is("answer")
