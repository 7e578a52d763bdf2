"""A split of one's own in two files: fitted to DATA, evaluated on --test-data, matched by name."""

import json

import numpy as np
import pytest

from nearlabel.lazy import MLkNN
from nearlabel.metrics import micro_f1
from nearlabel.persistence import read_card

LABELS = ("--labels", "x,y,z")


@pytest.fixture
def split(tmp_path, rows):
    """Twenty training rows, and ten test rows with their columns in another order and one more, as CSV."""
    X, Y = rows
    table = [dict(zip("abcxyz", [*x, *y], strict=True)) for x, y in zip(X.tolist(), Y.tolist(), strict=True)]
    write(tmp_path / "train.csv", table[:20], "abcxyz")
    write(tmp_path / "test.csv", [row | {"n": 7} for row in table[20:]], "zcnaybx")
    return tmp_path / "train.csv", tmp_path / "test.csv"


def write(path, table, names):
    """Write rows under these names."""
    lines = (",".join(str(row[name]) for name in names) for row in table)
    path.write_text("\n".join([",".join(names), *lines]) + "\n")


def expected(rows, k):
    """The micro F1 of a model fitted to the training rows, on the test rows."""
    X, Y = rows
    return micro_f1(Y[20:], MLkNN(k).fit(X[:20], Y[:20]).predict(X[20:]))


def test_evaluate(nearlabel, split, rows, tmp_path):
    """One fold, of the test rows; the same command resumes, and the report finds both parts."""
    asked = ("evaluate", split[0], "--test-data", split[1], *LABELS, "--methods", "mlknn", "--k", 3)
    asked = (*asked, "--metrics", "micro_f1", "--format", "json", "--out", tmp_path / "run")
    answer = nearlabel(*asked)
    assert (answer.code, answer.err) == (0, "")
    assert [cell["mean"] for cell in json.loads(answer.out)] == [pytest.approx(expected(rows, 3))] * 2
    assert nearlabel(*asked) == answer
    parts = (split[0], "--test-data", split[1], *LABELS)
    assert nearlabel("report", tmp_path / "run", *parts, "--out", tmp_path / "run.html").code == 0
    page = (tmp_path / "run.html").read_text()
    assert "were not at hand" not in page


@pytest.mark.parametrize("options", [("--validate", "none"), ()])
def test_fit(nearlabel, split, rows, tmp_path, options):
    """The scores on the card are those on the test data, whatever the model is selected by."""
    named = ("--method=mlknn", "--k=3", *options)
    asked = ("fit", split[0], "--test-data", split[1], *LABELS, *named, "--out", tmp_path / "m.skops")
    answer = nearlabel(*asked)
    assert (answer.code, answer.err) == (0, "")
    assert "Scores (test data test, 10 rows)" in answer.out
    card = read_card(tmp_path / "m.skops")
    assert (card.scores["micro_f1"], card.data.rows) == (pytest.approx(expected(rows, 3)), 20)
    answer = nearlabel("predict", tmp_path / "m.skops", split[1], *LABELS, "--score")
    assert f"{card.scores['micro_f1']:.4f}" in answer.out


def test_tune(nearlabel, split, rows, tmp_path):
    """The best of the training rows is evaluated on the test rows."""
    asked = ("tune", split[0], "--test-data", split[1], *LABELS, "--methods", "mlknn", "--k", "3", "--scales", "none")
    assert "--test-data must go with --out" in nearlabel(*asked).err
    assert nearlabel(*asked, "--search", "exact", "--out", tmp_path / "m.skops").code == 0
    assert read_card(tmp_path / "m.skops").scores["micro_f1"] == pytest.approx(expected(rows, 3))


@pytest.mark.parametrize("there", [(), ("id",), ("id", "song", "patient")])
@pytest.mark.parametrize("command", ["fit", "examine"])
def test_columns_beside_features_and_labels(nearlabel, split, tmp_path, there, command):
    """What the training data ignore, keep or are grouped by may be in the test data or not, as may be other texts."""
    extra = {"id": "s1", "song": "riot", "patient": "p1", "note": "fine"}
    for path, columns in zip(split, (("id", "song", "patient"), ("note", *there)), strict=True):
        lines = path.read_text().splitlines()
        ends = [",".join(columns), *[",".join(extra[name] for name in columns)] * (len(lines) - 1)]
        path.write_text("\n".join(",".join(pair) for pair in zip(lines, ends, strict=True)) + "\n")
    asked = (split[0], "--test-data", split[1], *LABELS, "--ignore")
    if command == "fit":
        asked = (*asked, "id", "--show", "song", "--groups", "patient", "--method=mlknn", "--k=3", "--validate", "none")
        asked = (*asked, "--out", tmp_path / "m.skops")
    else:
        asked = (*asked, "id,song,patient")
    answer = nearlabel(command, *asked)
    assert (answer.code, answer.err) == (0, "")


def test_widths_of_svmlight(nearlabel, tmp_path):
    """A file ends at its last feature; the test rows have those of the training rows."""
    rng = np.random.default_rng(0)
    X, Y = rng.integers(0, 2, (20, 5)), rng.integers(0, 2, (20, 2))
    Y[[0, 14]] = 1
    lines = [
        ",".join(map(str, np.flatnonzero(y))) + "".join(f" {j}:1" for j in np.flatnonzero(x))
        for x, y in zip(X, Y, strict=True)
    ]
    (tmp_path / "train.svm").write_text("\n".join(lines[:14]) + "\n")
    few, more = ("\n".join(lines[14:]).replace(f" {j}:1", by) + "\n" for j, by in ((4, ""), (4, " 4:1 9:2")))
    (tmp_path / "few.svm").write_text(few)
    (tmp_path / "more.svm").write_text(more)
    asked = ("--methods", "mlknn", "--k", 2, "--metrics", "hamming_loss", "--format", "json")
    for name in ("few", "more"):
        answer = nearlabel("evaluate", tmp_path / "train.svm", "--test-data", tmp_path / f"{name}.svm", *asked)
        assert (answer.code, answer.err) == (0, "")
        rows = X[14:] * [1, 1, 1, 1, name == "more"]
        loss = np.mean(MLkNN(2).fit(X[:14], Y[:14]).predict(rows) != Y[14:])
        assert json.loads(answer.out)[0]["mean"] == pytest.approx(loss)


def test_tags(nearlabel, tmp_path):
    """A tag that only one part has is told."""
    (tmp_path / "a.csv").write_text("x,t\n" + "1,a;b\n2,b\n3,c\n4,a\n" * 3)
    (tmp_path / "b.csv").write_text("x,t\n1,a\n2,d;b\n")
    asked = ("evaluate", tmp_path / "a.csv", "--labels-column", "t", "--methods", "mlknn", "--k", 2)
    answer = nearlabel(*asked, "--test-data", tmp_path / "b.csv", "--format", "json", "--metrics", "hamming_loss")
    assert answer.code == 0
    assert "No row of the data has the label 'c'." in answer.err
    assert "Labels unknown to the model are left out: 'd'." in answer.err


@pytest.mark.parametrize(("command", "options", "message"), [
    ("evaluate", ("--cv", "5"), "--cv must not go with --test-data, which replaces the folds, got 5"),
    ("evaluate", ("--stratify",), "--stratify must go with a number of folds, got --test-data"),
    ("evaluate", ("--test", "t"), "--test t must go with 2 methods, several folds"),
    ("fit", ("--out", "m.skops", "--ignore", "c"), "--test-data must have the features of the training data, got none"),
    ("fit", ("--out", "m.skops"), "gaps.csv, line 3: column 'c' must contain numbers that are finite, got a missing"),
])  # fmt: skip
def test_errors(nearlabel, split, tmp_path, monkeypatch, command, options, message):
    """What does not fit is named by its option or file."""
    monkeypatch.chdir(tmp_path)
    test = tmp_path / "gaps.csv"
    test.write_text("a,b,c,x,y,z\n1,2,3,1,0,0\n1,2,,0,1,1\n")
    if "--ignore" in options:
        split[0].write_text(split[0].read_text().replace("a,b,c", "a,q,c"))
    answer = nearlabel(command, split[0], "--test-data", test, *LABELS, "--k", 2, *options)
    assert answer.code == 2
    assert message in answer.err


def test_a_report_of_a_model(nearlabel, split, tmp_path):
    """Its DATA may be the test data; another option would mean nothing."""
    named = ("--method=mlknn", "--k=2", "--validate=none", "--out", tmp_path / "m.skops")
    assert nearlabel("fit", split[0], *LABELS, *named).code == 0
    asked = ("report", tmp_path / "m.skops", split[0], *LABELS, "--test-data", split[1], "--out", tmp_path / "m.html")
    assert "--test-data must go with a run. Hint: nearlabel report MODEL TEST --out FILE" in nearlabel(*asked).err
