import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from nearlabel.cli import _model
from nearlabel.lazy import MLkNN
from nearlabel.persistence import load_model, save_model

CSV = ("--labels-column", "tags", "--ignore", "id")


@pytest.fixture
def fitted(nearlabel, table, tmp_path):
    """Fit a model of the table with some options and return its file."""

    def _fit(*options):
        out = tmp_path / f"m{len(list(tmp_path.glob('*.skops')))}.skops"
        fixed = ("--method=mlknn", "--k=3", "--validate=none", "--out", out)
        assert nearlabel("fit", table[1], *CSV, *fixed, *options).code == 0
        return out

    return _fit


def test_text(nearlabel, table, fitted):
    """The library's own text, with the names of the labels, under a line that says which row it is."""
    data, path = table
    model = fitted()
    answer = nearlabel("explain", model, path, "--row", 17)
    assert (answer.code, answer.err) == (0, "")
    head, body = answer.out.split("\n", 1)
    assert head == "Row 17 of fruit.csv"
    known = load_model(model)[-1]
    known.label_names_ = np.array(data.label_names, dtype=object)
    assert body == f"{known.explain(data.X[[17]])[0]}\n"
    assert "lemon, sour" in body


def test_by_id(nearlabel, table, fitted, monkeypatch):
    """The same row by its id, wherever blocks end."""
    _, path = table
    model = fitted()
    by_row = nearlabel("explain", model, path, "--row", 17)
    by_id = nearlabel("explain", model, path, "--id", "id=f17")
    assert by_id.out.split("\n", 1)[0] == "Row 17 of fruit.csv, whose id is f17"
    assert by_id.out.split("\n", 1)[1] == by_row.out.split("\n", 1)[1]
    monkeypatch.setattr(_model, "_BLOCK_CELLS", 12)
    assert nearlabel("explain", model, path, "--row", 17) == by_row
    assert nearlabel("explain", model, path, "--id", "id=f17") == by_id


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--scale", "standard"),
        ("--thresholds", "micro-f"),
        ("--scale", "minmax", "--thresholds", "0.3"),
        ("--scale", "minmax", "--thresholds", "mcut"),
        ("--method", "igs:factor=0.1+mlknn"),
        ("--method", "igs:factor=0.1+mlknn@micro-f"),
        ("--method", "igs:factor=0.1+brknn-b@rcut", "--scale", "standard"),
        ("--method", "lpknn"),
        ("--method", "iblr"),
    ],
)
def test_what_is_explained_is_what_is_predicted(nearlabel, table, fitted, options):
    """Through scalings, selections and thresholds: the chosen labels and the scores are those of `predict`."""
    _, path = table
    model = fitted(*options)
    rows = nearlabel("predict", model, path, "--scores", "all").out.splitlines()
    for row in (0, 29):
        found = json.loads(nearlabel("explain", model, path, "--row", row, "--format", "json").out)
        scores = {f"score_{one['name']}": one["score"] for one in found["labels"]}
        (line,) = [one for one in rows if one.startswith(f"{row},")]
        assert (found["row"], found["id"]) == (row, None)
        assert line.split(",", 1)[1].startswith(
            (";".join(found["predicted"]) + ",", f'"{";".join(found["predicted"])}",')
        )
        assert line.endswith(
            "," + ",".join(str(scores[name]) for name in ("score_apple", "score_lemon, sour", "score_pear"))
        )


@pytest.mark.long
@pytest.mark.parametrize("scaled", [False, True])
def test_a_model_that_was_fitted_to_a_frame(nearlabel, table, tmp_path, scaled):
    """Columns are found by name: nothing warns of names that are missing, in no command that asks a model."""
    data, path = table
    frame = pd.DataFrame(data.X, columns=list(data.feature_names))
    tags = pd.DataFrame(data.Y, columns=list(data.label_names))
    model = make_pipeline(StandardScaler(), MLkNN(3)) if scaled else MLkNN(3)
    out = save_model(model.fit(frame, tags), tmp_path / "m.skops", data=data)
    explained = nearlabel("explain", out, path, "--row", 3)
    predicted = nearlabel("predict", out, path, "--scores", "all")
    reported = nearlabel("report", out, path, *CSV, "--out", tmp_path / "r.html")
    for answer in (explained, predicted, reported):
        assert (answer.code, answer.err) == (0, "")


@pytest.mark.long
def test_figure(nearlabel, table, fitted, tmp_path):
    """A picture beside the text; with JSON the screen stays JSON."""
    file = tmp_path / "why.svg"
    answer = nearlabel("explain", fitted(), table[1], "--row", 3, "--figure", file)
    assert answer.out.endswith(f"Figure: {file}\n")
    assert "<svg" in file.read_text()
    again = nearlabel("explain", fitted(), table[1], "--row", 3, "--figure", tmp_path / "b.png", "--format", "json")
    assert json.loads(again.out)["method"] == "MLkNN"
    assert (tmp_path / "b.png").is_file()


@pytest.mark.long
def test_embedded_data(nearlabel, tmp_path):
    """DATA by name."""
    out = tmp_path / "m.skops"
    assert nearlabel("fit", "multidigits", "--method=mlknn", "--k", 3, "--validate", "none", "--out", out).code == 0
    answer = nearlabel("explain", out, "multidigits", "--row", 1999)
    assert answer.out.startswith("Row 1999 of multidigits\nMLkNN: ")
    assert (
        "--row must be at most 1999, the last row of multidigits, got 2000."
        in nearlabel("explain", out, "multidigits", "--row", 2000).err
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "one of the arguments --row --id is required"),
        (("--row", "-1"), "argument --row: "),
        (("--row", "last"), "argument --row: must be a number of a row, from 0, got 'last'"),
        (("--row", "30"), "--row must be at most 29, the last row of"),
        (("--id", "f3"), "argument --id: must be COLUMN=VALUE, got 'f3'"),
        (("--id", "idd=f3"), "--id must name columns of"),
        (("--id", "id=f99"), "by id=f99, got none."),
        (("--id", "tags=apple"), "by tags=apple, got rows "),
        (("--row", "0", "--figure", "why.doc"), "must end in one of"),
    ],
)
def test_bad_options(nearlabel, table, fitted, tmp_path, monkeypatch, options, message):
    """One line, exit code 2."""
    monkeypatch.chdir(tmp_path)
    answer = nearlabel("explain", fitted(), table[1], *options)
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_a_linear_model(nearlabel, table, tmp_path):
    """Its features add up to the score that the threshold is compared with."""
    out = tmp_path / "svm.skops"
    fit = nearlabel("fit", table[1], *CSV, "--method", "svm@micro-f", "--validate", "none", "--out", out)
    assert fit.code == 0, fit.err
    answer = nearlabel("explain", out, table[1], "--row", 0, "--figure", tmp_path / "svm.png")
    assert answer.code == 0, answer.err
    words = answer.out.replace("\n    ", " ")
    assert "raw_score = intercept + sum of coefficient * feature; score: probability of the raw score, by a" in words
    assert "intercept" in answer.out
    assert max(map(len, answer.out.splitlines())) <= 80
    told = json.loads(nearlabel("explain", out, table[1], "--row", 0, "--format", "json").out)
    of_label = {one["name"]: one.get("raw_score", one["score"]) for one in told["labels"]}
    for name in {one["name"] for one in told["terms"]}:
        amounts = [one["amount"] for one in told["terms"] if one["name"] == name]
        assert sum(amounts) == pytest.approx(of_label[name], abs=1e-9)


def test_methods_that_cannot_explain(nearlabel, table, fitted, tmp_path):
    """Named, with those that can."""
    out = tmp_path / "br.skops"
    assert (
        nearlabel("fit", table[1], *CSV, "--method", "br:estimator=tree", "--validate", "none", "--out", out).code == 0
    )
    answer = nearlabel("explain", out, table[1], "--row", 0)
    assert answer.err == (
        "nearlabel: MODEL must be a method by neighbours to be explained, got BinaryRelevance."
        " Hint: nearlabel fit --method mlknn.\n"
    )
