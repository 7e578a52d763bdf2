"""`evaluate --per-label`: a table for each method, JSON and CSV, notes on labels of one class, what is refused."""

import csv
import io
import json

import pytest

from nearlabel.experiments import Plan, run, summarise_labels
from nearlabel.lazy import MLkNN
from nearlabel.persistence import read_card, save_model

CSV = ("--labels-column", "tags", "--ignore", "id")
OPTIONS = ("--methods", "brknn,mlknn", "--k", 3, "--cv", 3, "--metrics", "micro_f1", "--per-label")
PSP = "propensity_scored_precision_at_k:k=2"


@pytest.fixture
def evaluated(nearlabel, table):
    """Return a function that evaluates with more options, and the rows it must print."""
    data, path = table
    plan = Plan(("brknn", "mlknn"), (3,), cv=3, metrics=("micro_f1",), per_label=True)
    return lambda *options: nearlabel("evaluate", path, *CSV, *OPTIONS, *options), summarise_labels(run(plan, [data]))


def test_tables(evaluated, monkeypatch):
    """One for each method, in as many columns as there is room for."""
    evaluate, rows = evaluated
    answer = evaluate()
    assert answer.code == 0
    assert [line for line in answer.out.splitlines() if line.startswith("Labels,")] == [
        "Labels, brknn",
        "Labels, mlknn",
    ]
    assert "more columns: use a wider terminal or --format csv." in answer.out
    for row in rows:
        figures = [str(row["support"]), f"{row['recall']:.4f}", f"{row['roc_auc']:.4f}"]
        name = row["label"].split()
        assert any(
            line.split()[: len(name)] == name and set(figures) <= set(line.split()) for line in answer.out.splitlines()
        )
    monkeypatch.setenv("COLUMNS", "200")
    assert "Brier score" in evaluate().out


def test_json_and_csv(evaluated):
    """JSON has the metrics and the labels, CSV the labels."""
    evaluate, rows = evaluated
    found = json.loads(evaluate("--format", "json").out)
    assert {cell["metric"] for cell in found["metrics"]} == {"micro_f1"}
    expected = [{name: None if cell != cell else cell for name, cell in row.items()} for row in rows]
    assert [row | {"dataset": rows[0]["dataset"]} for row in found["per_label"]] == expected
    lines = list(csv.DictReader(io.StringIO(evaluate("--format", "csv").out)))
    assert [(line["method"], line["label"], int(line["support"])) for line in lines] == [
        (row["method"], row["label"], row["support"]) for row in rows
    ]


def test_several_numbers_of_neighbours_are_for_csv(nearlabel, table):
    """A table for each would be too many."""
    options = ("--methods", "brknn", "--k", "2,3", "--cv", 3, "--per-label")
    answer = nearlabel("evaluate", table[1], *CSV, *options)
    assert (answer.code, answer.out) == (2, "")
    assert "--per-label must go with one number of neighbours, got 2. Hint: --format csv has all." in answer.err
    lines = list(csv.DictReader(io.StringIO(nearlabel("evaluate", table[1], *CSV, *options, "--format", "csv").out)))
    assert [line["n_neighbors"] for line in lines] == ["2"] * 3 + ["3"] * 3


def test_not_with_searches(evaluated):
    """What a search loses is told by means."""
    answer = evaluated[0]("--search", "exact:metric=manhattan")
    assert (answer.code, answer.out) == (2, "")
    assert "--per-label must not go with --search, got exact:metric=manhattan." in answer.err


def test_labels_of_one_class_are_counted(nearlabel, tmp_path):
    """In some folds or in all, beside empty cells."""
    path = tmp_path / "few.csv"
    rows = [f"{row % 5},{row % 7},{'a;' if row % 2 else ''}c{';b' if row == 3 else ''}" for row in range(20)]
    path.write_text("\n".join(["x,y,tags", *rows]) + "\n")
    answer = nearlabel("evaluate", path, "--labels-column", "tags", *OPTIONS)
    assert answer.code == 0
    assert "1 of 3 labels have one class in every fold and therefore no ROC-AUC and average precision." in answer.out
    assert (
        "1 of 3 labels have one class in some folds, which are left out of their ROC-AUC and average precision."
        in answer.out
    )
    of_c = next(line.split() for line in answer.out.splitlines() if line.split()[:1] == ["c"])
    assert of_c[1:7] == ["20", "1.0000", "1.0000", "1.0000", "–", "–"]


def test_propensities_by_name(nearlabel, table, tmp_path):
    """In `evaluate` by the training part, in `predict --score` by the card, whose lack of them is told first."""
    data, path = table
    answer = nearlabel("evaluate", path, *CSV, "--methods", "brknn", "--k", 3, "--cv", 3, "--metrics", PSP)
    assert answer.code == 0
    assert "PSP@2 ↑" in answer.out
    model = tmp_path / "m.skops"
    assert nearlabel("fit", path, *CSV, "--method", "mlknn", "--out", model).code == 0
    assert read_card(model).data.label_counts == tuple(data.Y.sum(axis=0))
    answer = nearlabel("predict", model, path, *CSV, "--score", "--metrics", PSP)
    assert (answer.code, "PSP@2" in answer.out) == (0, True)


def test_a_card_without_counts(nearlabel, table, tmp_path):
    """Models that were saved without data know no frequencies."""
    data, path = table
    save_model(MLkNN(3).fit(data.X, data.Y), tmp_path / "m.skops")
    answer = nearlabel("predict", tmp_path / "m.skops", path, *CSV, "--score", "--metrics", PSP)
    assert (answer.code, answer.out) == (2, "")
    assert "must contain the number of training samples of each label, for propensity_scored" in answer.err
    assert "Hint: save_model(..., data=data), or fit again." in answer.err
