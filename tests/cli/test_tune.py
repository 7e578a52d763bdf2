import csv
import io
import json

import numpy as np
import pytest

from nearlabel.datasets import load_multidigits, write_npz
from nearlabel.experiments import Candidate, Tuning
from nearlabel.persistence import load_model, read_card

CSV = ("--labels-column", "tags", "--ignore", "id")
QUICK = ("--k", "1-4", "--methods", "brknn,mlknn", "--scales", "none,standard", "--search", "exact")


def test_formats_agree(nearlabel, table):
    """JSON and CSV hold every k, best first; the table the best k of each line."""
    data, path = table
    tuned = Tuning(("brknn", "mlknn"), n_neighbors=(1, 2, 3, 4), scales=("none", "standard")).run(data)
    json_, csv_, shown = (nearlabel("tune", path, *CSV, *QUICK, "--format", f) for f in ("json", "csv", "table"))
    assert (json_.code, json_.err, csv_.code, shown.code) == (0, "", 0, 0)
    found = json.loads(json_.out)
    assert [
        (Candidate(t["method"], t["n_neighbors"], t["scale"], t["search"]), t["micro_f1"]) for t in found["trials"]
    ] == [(trial.candidate, trial.value) for trial in tuned.trials]
    assert (found["metric"], found["measured"], found["scores"]) == ("micro_f1", tuned.measured, tuned.scores)
    rows = list(csv.DictReader(io.StringIO(csv_.out)))
    assert [float(row["micro_f1"]) for row in rows] == [trial.value for trial in tuned.trials]
    assert len(rows) == 16
    lines = [line.split() for line in shown.out.splitlines() if line.strip()]
    assert lines[0][:3] == ["fruit:", "16", "models,"]
    best = tuned.trials[0]
    of = best.candidate
    assert lines[3] == [of.method, of.scale, of.search, str(of.n_neighbors), f"{best.value:.4f}"]
    assert len([line for line in lines if line[0] in ("brknn", "mlknn")]) == 4
    assert f"Selected for its micro F1 of {best.value:.4f}; nested cross-validation: " in shown.out
    assert "Hint: --out best.skops saves the best model." in shown.out


def test_the_best_is_kept(nearlabel, table, tmp_path):
    """Fitted to all rows, the honest measures on its card; JSON on the screen stays JSON."""
    _, path = table
    out = tmp_path / "best.skops"
    answer = nearlabel("tune", path, *CSV, *QUICK, "--metric", "ranking_loss", "--out", out, "--format", "json")
    found = json.loads(answer.out)
    model, card = load_model(out), read_card(out)
    assert card.scores == pytest.approx(found["scores"])
    assert card.measured == found["measured"]
    best = found["trials"][0]
    last = model[-1] if best["scale"] != "none" else model
    assert last.n_neighbors == best["n_neighbors"]
    assert best["ranking_loss"] == min(trial["ranking_loss"] for trial in found["trials"])
    assert nearlabel("predict", out, path).code == 0
    again = nearlabel("tune", path, *CSV, *QUICK, "--out", out)
    assert "Hint: --force overwrites it." in again.err
    forced = nearlabel("tune", path, *CSV, *QUICK, "--out", out, "--force")
    assert forced.out.rstrip().endswith(f"Model: {out}")


def test_thresholds(nearlabel, table):
    """Each method with each, but those that name their own."""
    _, path = table
    answer = nearlabel(
        "tune", path, *CSV, "--k", 2, "--methods", "brknn@rcut,mlknn", "--thresholds", "none,micro-f,0.3",
        "--scales", "none", "--search", "exact", "--format", "csv", "--cv", 3,
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(answer.out)))
    assert {row["method"] for row in rows} == {"brknn@rcut", "mlknn", "mlknn@micro-f", "mlknn@0.3"}
    assert {row["held_out"] for row in rows} == {"3-fold cross-validation"}


@pytest.mark.long
def test_default_set(nearlabel, tmp_path):
    """Somebody who never read the papers: methods, scalings, distances and thresholds, more than any single one."""
    digits = load_multidigits()
    small = type(digits)(digits.X[:150], digits.Y[:150], digits.feature_names, digits.label_names, "digits")
    answer = nearlabel("tune", write_npz(tmp_path / "digits.npz", small), "--format", "json")
    trials = json.loads(answer.out)["trials"]
    assert len(trials) == 5 * 30 * 2 * 2
    assert {trial["search"] for trial in trials} == {"exact", "exact:metric=cosine"}
    assert {trial["scale"] for trial in trials} == {"none", "minmax"}
    plain = max(t["micro_f1"] for t in trials if t["method"] == "mlknn" and t["n_neighbors"] == 10)
    assert trials[0]["micro_f1"] > plain


def test_a_long_table_is_cut(nearlabel, table):
    """Twenty lines, and where the others are."""
    _, path = table
    answer = nearlabel(
        "tune", path, *CSV, "--k", 2, "--methods", "brknn,brknn-a,mlknn,lpknn", "--thresholds", "none,mcut"
    )
    assert answer.out.count("exact") == 20
    assert "... and 12 more lines: --format csv has all." in answer.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--scales", "none,max"), "--scales must be one of"),
        (("--methods", ","), "argument --methods: must name at least one"),
        (("--k", "40"), "--k must be at most 28 where some of 30 rows are held out, got 40"),
        (("--cv", "40"), "--cv must be at most the 30 rows of fruit"),
        (("--metric", "f2"), "metric must be a name of the catalogue, a Metric or a function, got 'f2'"),
        (("--out", "best.json"), "argument --out: must end in .skops"),
    ],
)
def test_bad_options(nearlabel, table, tmp_path, monkeypatch, options, message):
    """One line, exit code 2, and no file."""
    monkeypatch.chdir(tmp_path)
    answer = nearlabel("tune", table[1], *CSV, *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_rows_of_one_label_set(nearlabel, tmp_path):
    """Nothing to tell apart: every model is right, and the first is taken."""
    path = tmp_path / "same.csv"
    path.write_text("a,tags\n" + "".join(f"{row},x\n" for row in range(12)))
    answer = nearlabel("tune", path, "--labels-column", "tags", "--format", "json")
    assert answer.code == 0
    best = json.loads(answer.out)["trials"][0]
    assert (best["method"], best["n_neighbors"], best["micro_f1"]) == ("brknn-a", 1, 1.0)
    assert np.isfinite(list(json.loads(answer.out)["scores"].values())).all()
