"""`predict --score`: metrics by name, those of each label, in every format; what is left out is said."""

import csv
import io
import json

import numpy as np
import pytest

from nearlabel.lazy import MLkNN
from nearlabel.metrics import CATALOGUE, label_table, score_all
from nearlabel.persistence import load_model, save_model

CSV = ("--labels-column", "tags", "--ignore", "id")
METRICS = ("micro_f1", "precision_at_k:k=2", "roc_auc:average=samples")


@pytest.fixture
def scored(nearlabel, table, tmp_path):
    """Return a function that scores a model on the rows that it was fitted to, and what it must find."""
    data, path = table
    model = MLkNN(3).fit(data.X, data.Y)
    save_model(model, tmp_path / "m.skops", data=data)
    known = load_model(tmp_path / "m.skops")
    answers = data.Y, known.predict(data.X), known.predict_proba(data.X)
    return (lambda *options: nearlabel("predict", tmp_path / "m.skops", path, *CSV, *options)), data, answers


def test_json(scored):
    """Metrics to the last bit, a row for each label, and how many rows of one class were left out."""
    run, data, answers = scored
    answer = run("--score", "--metrics", ",".join(METRICS), "--format", "json")
    assert (answer.code, answer.err) == (0, "")
    found = json.loads(answer.out)
    one_class = int(np.isin(data.Y.sum(axis=1), (0, 3)).sum())
    assert one_class > 0
    assert found["rows"] == 30
    assert found["metrics"] == score_all(*answers, METRICS)
    assert found["skipped"] == {"roc_auc:average=samples": one_class}
    table = label_table(*answers) | {"label": np.array(data.label_names)}
    assert [row["label"] for row in found["per_label"]] == list(data.label_names)
    for row, cells in zip(found["per_label"], zip(*table.values(), strict=True), strict=True):
        assert list(row) == list(table)
        assert list(row.values())[1:] == [None if np.isnan(cell) else cell for cell in cells[1:]]
    assert set(json.loads(run("--score", "--format", "json").out)["metrics"]) == set(CATALOGUE)


def test_csv(scored):
    """A line for each metric, or for each label."""
    run, data, answers = scored
    lines = list(csv.DictReader(io.StringIO(run("--score", "--metrics", "micro_f1,log_loss", "--format", "csv").out)))
    expected = score_all(*answers, ["micro_f1", "log_loss"])
    assert {line["metric"]: float(line["value"]) for line in lines} == expected
    lines = list(csv.DictReader(io.StringIO(run("--score", "--per-label", "--format", "csv").out)))
    assert [line["label"] for line in lines] == list(data.label_names)
    assert [float(line["roc_auc"]) for line in lines] == label_table(*answers)["roc_auc"].tolist()


def test_tables(scored, monkeypatch):
    """Titles show the options; labels stand below, in as many columns as there is room for; notes go to the other."""
    run, _, answers = scored
    answer = run("--score", "--metrics", ",".join(METRICS), "--per-label")
    assert answer.code == 0
    assert "ROC-AUC (samples)" in answer.out
    assert "precision@2" in answer.out
    assert "more columns: use a wider terminal or --format csv." in answer.out
    assert answer.err.startswith("nearlabel: roc_auc:average=samples leaves out ")
    assert answer.err.endswith(" rows that have one class here.\n")
    f1 = label_table(*answers)["f1"][1]
    assert any(line.split()[:2] == ["lemon,", "sour"] and f"{f1:.4f}" in line for line in answer.out.splitlines())
    monkeypatch.setenv("COLUMNS", "200")
    assert "Brier score" in run("--score", "--per-label").out


def test_a_label_of_one_class(nearlabel, scored, tmp_path):
    """It is counted in a note, and its cells are empty."""
    run, _, _ = scored
    assert run("--score").code == 0  # the model is there
    (tmp_path / "few.csv").write_text("x0,x1,x2,tags\n1,0,1,apple\n0,1,1,\n")
    few = ("predict", tmp_path / "m.skops", tmp_path / "few.csv", "--labels-column", "tags", "--score")
    answer = nearlabel(*few, "--metrics", "roc_auc", "--per-label")
    assert answer.err.endswith("nearlabel: roc_auc leaves out 2 labels that have one class here.\n")
    pear = next(line.split() for line in answer.out.splitlines() if line.split()[:1] == ["pear"])
    assert pear[-1] == "–"
    per_label = json.loads(nearlabel(*few, "--format", "json").out)["per_label"]
    assert [row["roc_auc"] is None for row in per_label] == [False, True, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--metrics", "micro_f1"), "--metrics must go with --score."),
        (("--per-label",), "--per-label must go with --score."),
        (("--format", "json"), "--format json must go with --score. Hint: predictions are csv, jsonl, label-studio,"),
        (("--score", "--metrics", "precision_at_k"), "metric 'precision_at_k' must have a value of k."),
        (("--score", "--metrics", "roc_auk"), "got 'roc_auk'. Did you mean 'roc_auc'"),
        (("--score", "--metrics", "recall_at_k:k=4"), "k must be at most n_labels=3, got 4."),
        (("--score", "--metrics", ","), "argument --metrics: must name at least one"),
    ],
)
def test_bad_options(scored, options, message):
    """One line, exit code 2."""
    answer = scored[0](*options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_decision_values_are_no_probabilities(nearlabel, table, tmp_path):
    """Their losses are empty in the table of labels, and refused as metrics."""
    _, path = table
    out = tmp_path / "m.skops"
    assert nearlabel("fit", path, *CSV, "--method", "ranksvm", "--validate", "none", "--out", out).code == 0
    rows = json.loads(nearlabel("predict", out, path, *CSV, "--score", "--format", "json").out)["per_label"]
    assert {row["log_loss"] for row in rows} == {row["brier_score"] for row in rows} == {None}
    answer = nearlabel("predict", out, path, *CSV, "--score", "--metrics", "log_loss")
    assert (answer.code, answer.out) == (2, "")
    assert "y_prob must be probabilities in [0, 1], got -" in answer.err


def test_evaluate_says_what_is_left_out(nearlabel, table):
    """Records have the number of each fold; the table has a note with the largest."""
    _, path = table
    options = ("--methods", "brknn", "--k", 3, "--cv", 10, "--metrics", "roc_auc,precision_at_k:k=1")
    answer = nearlabel("evaluate", path, *CSV, *options)
    assert answer.code == 0
    assert "ROC-AUC (macro): labels or rows with one class in a test fold are left out (" in answer.out
    assert "precision@1" in answer.out
    answer = nearlabel("evaluate", path, *CSV, *options[:-1], "precision_at_k:k=1")
    assert "left out" not in answer.out
