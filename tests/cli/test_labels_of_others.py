"""From a table in the form of another program to a model and its score, by the options of the command line."""

import json

import numpy as np
import pytest

NAMES = ("blue", "green", "red")
ROWS = 40
RNG = np.random.default_rng(0)
X = RNG.random((ROWS, 2)).round(3)
Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.6, X.sum(axis=1) > 1.2])
TAGS = [[name for name, applies in zip(NAMES, row, strict=True) if applies] for row in Y]


def lines(header, cells):
    """A table with ids and features; `cells` are the rest of each line."""
    rows = [f"r{row},{X[row, 0]},{X[row, 1]},{rest}\n" for row, rest in cells]
    return f"id,a,b,{header}\n" + "".join(rows)


def objects(cells):
    """JSON lines with ids and features."""
    pairs = enumerate(cells)
    return "".join(json.dumps({"id": f"r{row}", "a": X[row, 0], "b": X[row, 1], **cell}) + "\n" for row, cell in pairs)


LONG = [(row, tag) for row, tags in enumerate(TAGS) for tag in tags or [""]]
SHAPES = {
    "bars": ("a.csv", lines("tags", enumerate("|".join(tags) for tags in TAGS)), ["--labels-column", "tags"]),
    "sets": ("a.csv", lines("tags", ((row, f'"{set(tags) or set()}"') for row, tags in enumerate(TAGS))),
             ["--labels-column", "tags"]),
    "wide": ("a.csv", lines("t1,t2,t3", ((row, ",".join([*tags, "", "", ""][:3])) for row, tags in enumerate(TAGS))),
             ["--labels-columns", "t1,t2,t3"]),
    "stars": ("a.csv", lines("t1,t2,t3", ((row, ",".join([*tags, "", "", ""][:3])) for row, tags in enumerate(TAGS))),
              ["--labels-columns", "t*"]),
    "long": ("a.csv", lines("tag", LONG), ["--labels-column", "tag", "--join-by", "id"]),
    "words": ("a.csv", lines("blue,green,red", enumerate(",".join(np.where(row, "ja", "nein")) for row in Y)),
              ["--labels", "blue,green,red"]),
    "signs": ("a.csv", lines("blue,green,red", enumerate(",".join(np.where(row, "1", "-1")) for row in Y)),
              ["--labels", "blue,green,red", "--negative", "-1", "--positive", "1"]),
    "crosses": ("a.csv", lines("blue,green,red", enumerate(",".join(np.where(row, "x", "")) for row in Y)),
                ["--labels", "blue,green,red", "--negative", "", "--positive", "x"]),
    "answers": ("a.jsonl", objects({"cats": dict(zip(NAMES, map(bool, row), strict=True))} for row in Y),
                ["--labels-column", "cats"]),
    "scores": ("a.jsonl", objects({"cats": dict(zip(NAMES, (0.2 + 0.5 * row).tolist(), strict=True))} for row in Y),
               ["--labels-column", "cats", "--label-threshold", "0.5"]),
    "objects": ("a.jsonl", objects({"y": [{"id": 7, "title": tag} for tag in tags]} for tags in TAGS),
                ["--labels-column", "y", "--label-key", "title"]),
    "marks": ("a.jsonl", objects({"y": row.astype(int).tolist()} for row in Y),
              ["--labels-column", "y", "--label-names", "blue,green,red"]),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_from_a_table_to_a_score(nearlabel, tmp_path, shape):
    """Each form gives the same model, its score, and an evaluation."""
    name, text, options = SHAPES[shape]
    (tmp_path / name).write_text(text)
    fitted = nearlabel("fit", tmp_path / name, *options, *([] if shape == "long" else ["--id", "id"]), "--method",
                       "mlknn", "--k", "3", "--validate", "none", "--out", tmp_path / "m.skops")  # fmt: skip
    assert fitted.code == 0, fitted.err
    (tmp_path / "plain.csv").write_text(
        lines("blue,green,red", enumerate(",".join(map(str, row.astype(int))) for row in Y))
    )
    figures = [
        json.loads(nearlabel("predict", tmp_path / "m.skops", tmp_path / file, *more, "--score", "--metrics",
                             "micro_f1,hamming_loss", "--format", "json").out)["metrics"]
        for file, more in ((name, options), ("plain.csv", ["--labels", "blue,green,red"]))
    ]  # fmt: skip
    assert figures[0] == figures[1]
    assert 0.5 < figures[0]["micro_f1"] <= 1
    described = json.loads(nearlabel("describe", tmp_path / name, *options, "--ignore", "id", "--format", "json").out)
    assert described["instances"] == ROWS
    assert described["cardinality"] == pytest.approx(Y.sum(axis=1).mean())


def test_labels_of_another_file(nearlabel, tmp_path):
    """Rows and tags are two tables; columns that are shown come from the rows."""
    (tmp_path / "rows.csv").write_text("id,title,a\nu,first,1\nv,second,2\nw,third,3\n")
    (tmp_path / "tags.csv").write_text("id,tag\nw,red\nu,blue\nw,blue\n")
    options = ("--labels-file", tmp_path / "tags.csv", "--labels-column", "tag", "--join-by", "id")
    fitted = nearlabel("fit", tmp_path / "rows.csv", *options, "--show", "title", "--method", "brknn", "--k", "1",
                       "--validate", "none", "--out", tmp_path / "m.skops")  # fmt: skip
    assert fitted.code == 0, fitted.err
    described = nearlabel("describe", tmp_path / "rows.csv", *options, "--ignore", "title").out
    assert "2 labels (blue, red), in the column tag, written as 'red', of all rows of one id" in described
    assert "row 1: a=1\n    -> blue\nrow 2: a=2\n    -> none\nrow 3: a=3\n    -> blue, red" in described


def test_rows_that_were_skipped(nearlabel, tmp_path):
    """By the annotator's column, which is shown, by another one, or by none."""
    (tmp_path / "a.csv").write_text("a,red,answer,state\n1,1,accept,done\n2,0,ignore,done\n3,0,accept,todo\n")
    for options, n_unknown in (
        ([], 1),
        (["--unlabelled", "state=todo"], 1),
        (["--unlabelled", "state=todo", "--unlabelled", "answer=ignore"], 2),
        (["--unlabelled", "none"], 0),
    ):
        answer = nearlabel("describe", tmp_path / "a.csv", "--labels", "red", "--ignore", "state,answer", *options)
        assert answer.code == 0, answer.err
        assert (f"{n_unknown} label cell" in answer.out) == bool(n_unknown)
        told = (
            "Column 'answer' is the annotator's and no feature: labels are unknown where it is 'ignore'." in answer.err
        )
        assert told == (not options)
    wrong = nearlabel("describe", tmp_path / "a.csv", "--labels", "red", "--unlabelled", "answer")
    assert "argument --unlabelled: must be like answer=ignore, or none, got 'answer'" in wrong.err


def test_hints_name_options(nearlabel, tmp_path):
    """They can be pasted."""
    (tmp_path / "a.csv").write_text("x,a,b\n0.1,1,-1\n0.2,-1,1\n")
    answer = nearlabel("describe", tmp_path / "a.csv", "--labels", "a,b")
    assert "If they mean no and yes: --negative -1 --positive 1. With --unknown -1 no label is known" in answer.err
    (tmp_path / "b.csv").write_text("doc,x,tag\nd1,1,red\nd1,1,blue\nd2,3,red\n")
    answer = nearlabel("describe", tmp_path / "b.csv", "--labels-column", "tag", "--ignore", "doc")
    assert "different tags in 'tag'. Hint: --join-by doc joins them." in answer.err
