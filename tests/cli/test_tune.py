import csv
import io
import json
import os
import re
import signal

import numpy as np
import pytest

from nearlabel.cli._tune import verdict_of
from nearlabel.datasets import Dataset, load_multidigits, write_npz
from nearlabel.experiments import LEADERBOARD_METHODS, Candidate, Trial, Tuned, Tuning
from nearlabel.persistence import load_model, read_card
from nearlabel.selection import stages, tuning
from nearlabel.selection.candidates import Attempt

CSV = ("--labels-column", "tags", "--ignore", "id")
QUICK = ("--k", "1-4", "--methods", "brknn,mlknn", "--scales", "none,standard", "--search", "exact")


@pytest.mark.long
def test_formats_agree(nearlabel, table):
    """JSON and CSV hold every k, best first; the table the best k of each line."""
    data, path = table
    tuned = Tuning(("brknn", "mlknn"), n_neighbors=(1, 2, 3, 4), scales=("none", "standard")).run(data)
    json_, csv_, shown = (nearlabel("tune", path, *CSV, *QUICK, "--format", f) for f in ("json", "csv", "table"))
    assert (json_.code, json_.err, csv_.code, shown.code) == (0, "", 0, 0)
    found = json.loads(json_.out)
    assert found["n_samples"] == 30
    assert {key for trial in found["trials"] for key in trial} == {
        "method", "n_neighbors", "scale", "search", "micro_f1", "spread", "held_out", "fit_seconds", "predict_seconds",
        "n_bytes", "can_be_updated",
    }  # fmt: skip
    assert found["trials"][0]["spread"] == pytest.approx(np.std(tuned.trials[0].values, ddof=1))
    assert all(trial["n_bytes"] > 1000 and trial["fit_seconds"] > 0 for trial in found["trials"])
    assert [
        (Candidate(t["method"], t["n_neighbors"], t["scale"], t["search"]), t["micro_f1"]) for t in found["trials"]
    ] == [(trial.candidate, trial.value) for trial in tuned.trials]
    assert (found["metric"], found["measured"], found["scores"]) == ("micro_f1", tuned.measured, tuned.scores)
    rows = list(csv.DictReader(io.StringIO(csv_.out)))
    assert [float(row["micro_f1"]) for row in rows] == [trial.value for trial in tuned.trials]
    assert len(rows) == 16
    lines = [line.split() for line in shown.out.splitlines() if line.strip()]
    assert lines[0][:3] == ["fruit:", "16", "models;"]
    best = tuned.trials[0]
    of = best.candidate
    first = next(line for line in lines if line[0] == of.method)
    assert first[:4] == [of.method, of.scale, str(of.n_neighbors), f"{best.value:.4f}"]
    assert len(first) == 8  # spread, seconds to fit and predict, size
    assert max(map(len, shown.out.splitlines()[:-1])) <= 80
    assert len([line for line in lines if line[0] in ("brknn", "mlknn")]) == 4
    assert f"Selected for its micro F1 of {best.value:.4f}; nested cross-validation: " in shown.out
    hint = f"--method {of.method} --k {of.n_neighbors} --scale {of.scale} --search exact --out best.skops, with"
    assert hint in shown.out


@pytest.mark.long
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
    assert f"Model: {out}" in forced.out.splitlines()[-1]


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


def test_what_can_be_updated(nearlabel, table):
    """Listed below the table; with --updatable nothing else is tried."""
    few = ("tune", table[1], *CSV, "--k", 2, "--scales", "none", "--search", "exact", "--cv", 2)
    answer = nearlabel(*few, "--methods", "brknn@micro-f,mlknn,iblr,br@micro-f,brknn@0.4")
    assert "Can be updated: yes: " in answer.out
    listed = answer.out.partition("Can be updated: ")[2].partition(".\n")[0]
    ways = {way: set(names.split(", ")) for way, _, names in (part.partition(": ") for part in listed.split("; "))}
    assert ways == {"yes": {"brknn@micro-f", "mlknn"}, "by refit": {"iblr", "brknn@0.4"}, "no": {"br@micro-f"}}
    found = json.loads(nearlabel(*few, "--updatable", "--format", "json").out)
    assert {trial["can_be_updated"] for trial in found["trials"]} == {"yes", "by refit"}
    tried = {trial["method"] for trial in found["trials"]}
    assert {"brknn@micro-f", "brknn:weights=distance@micro-f", "mlknn@micro-f", "iblr@micro-f"} <= tried
    assert not {"br:estimator=logistic@micro-f", "nldd:estimator=logistic", "rfpct@micro-f"} & tried
    refused = nearlabel(*few, "--updatable", "--methods", "mlknn,br")
    assert "--updatable must go with a method whose models can be updated, got br." in refused.err


@pytest.mark.long
def test_default_set(nearlabel, tmp_path):
    """Somebody who never read the papers: methods of all kinds, scalings, distances and thresholds."""
    digits = load_multidigits()
    small = type(digits)(digits.X[:150], digits.Y[:150], digits.feature_names, digits.label_names, "digits")
    answer = nearlabel("tune", write_npz(tmp_path / "digits.npz", small), "--format", "json")
    found = json.loads(answer.out)
    assert {trial["method"] for trial in found["trials"]} == set(LEADERBOARD_METHODS)
    assert {trial["search"] for trial in found["trials"]} == {"exact", "exact:metric=cosine", None}
    assert {trial["scale"] for trial in found["trials"]} == {"none", "minmax"}
    assert "corrected t-test on 5 parts of the rows" in found["verdict"]


OTHERS = (
    "--methods", "brknn@micro-f,rfpct:n_estimators=5@micro-f,br:estimator=logistic", "--k", 3, "--scales", "none",
    "--search", "exact",
)  # fmt: skip


@pytest.mark.long
def test_a_verdict(nearlabel, table):
    """The best by neighbours beside the best other one, in the table and in JSON."""
    _, path = table
    shown, json_ = (nearlabel("tune", path, *CSV, *OTHERS, "--format", f) for f in ("table", "json"))
    found = json.loads(json_.out)
    assert found["verdict"] in shown.out
    by_method = {trial["method"]: trial["micro_f1"] for trial in found["trials"]}
    lazy = by_method.pop("brknn@micro-f")
    assert f"by {abs(lazy - max(by_method.values())):.4f} micro F1, " in found["verdict"]
    assert ("Neighbours are best here" in found["verdict"]) == (lazy > max(by_method.values()))
    assert "logistic@own" in shown.out
    assert nearlabel("tune", path, *CSV, *QUICK, "--format", "json").out.count('"verdict": ""') == 1


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"mixed": 0.9, "lazy": 0.8, "other": 0.7},
            "Neighbours are best here: .* A mixture of both, .*, is the best, 0.1000 ahead of",
        ),
        (
            {"mixed": 0.9, "other": 0.8, "lazy": 0.7},
            "br:.* is better here .* A mixture of both, .*, is the best, 0.1000 ahead of br:",
        ),
        ({"mixed": 0.8, "lazy": 0.8, "other": 0.8}, "Neighbours are as good as others here: mlmlm and br:estimator=lo"),
        ({"lazy": 0.8, "mixed": 0.75, "other": 0.7}, "Neighbours are best here: mlmlm is ahead of br:.* by 0.1000"),
        ({"lazy": 0.8, "mixed": 0.75}, "$"),
    ],
)
def test_a_mixture_is_of_no_kind(values, sentence):
    """It has neighbours and another model inside; it is named if it is ahead of both."""
    methods = {"lazy": "mlmlm", "other": "br:estimator=logistic", "mixed": "interpolation:estimator=logistic"}
    trials = [
        Trial(Candidate(methods[kind], None, "none", None), value, "folds", tuple(value + 0.01 * np.arange(5)))
        for kind, value in values.items()
    ]
    verdict = verdict_of(Tuned(tuple(trials), "micro_f1", {}, ""))
    assert re.match(sentence, verdict)
    assert ("A mixture of both" in verdict) == ("A mixture of both" in sentence)


def test_the_best_is_saved_later(nearlabel, table, tmp_path, monkeypatch):
    """What was tried is in the state: the second command tries nothing, and predict loads what it saves."""
    _, path = table
    state, out = tmp_path / "state.npz", tmp_path / "best.skops"
    command = ("tune", path, *CSV, "--methods", "brknn,rfpct:n_estimators=3", "--k", 3, "--state", state)
    first = nearlabel(*command, "--metric", "hamming_loss")
    assert "the same command with --out best.skops saves the best model without trying again" in first.out
    monkeypatch.setattr(stages, "_trials", None)  # would fail
    again = nearlabel(*command, "--metric", "hamming_loss", "--out", out)
    assert (again.code, again.err) == (0, "")
    assert again.out.startswith(first.out[: first.out.index("Hint: ")])
    assert nearlabel("predict", out, path).code == 0
    assert "--state must be of the same data and options" in nearlabel(*command).err


def test_a_time_limit(nearlabel, table, monkeypatch):
    """Nothing is done after it; what is not tried is named."""
    _, path = table

    def two_steps(seconds, make_items, tuning, data, attempt):
        assert 0 < seconds < 50
        yield from list(zip(range(2), make_items(tuning, data, Attempt()), strict=False))[1][1:]

    monkeypatch.setattr(tuning, "items_within", two_steps)
    options = ("--methods", "brknn,mlknn", "--k", "3", "--scales", "none", "--search", "exact", "--time-limit", "50")
    answer = nearlabel("tune", path, *CSV, *options)
    assert "fruit: 1 models; each line with its best k" in answer.out
    assert "Left out: mlknn (none): not tried in the time." in answer.out


@pytest.mark.long
def test_a_long_table_is_cut(nearlabel, table):
    """Twenty lines, and where the others are."""
    _, path = table
    answer = nearlabel(
        "tune", path, *CSV, "--k", 2, "--methods", "brknn,brknn-a,mlknn,lpknn", "--thresholds", "none,mcut"
    )
    assert len(re.findall(r"^  (?:brknn|mlknn|lpknn)", answer.out, re.MULTILINE)) == 20
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
        (("--time-limit", "0"), "argument --time-limit: must be a positive number of seconds, got '0'"),
        (("--time-limit", "1m"), "argument --time-limit: must be a positive number of seconds, got '1m'"),
        (("--state", "no/state"), "--state must be in a folder that exists, got no/state"),
    ],
)
def test_bad_options(nearlabel, table, tmp_path, monkeypatch, options, message):
    """One line, exit code 2, and no file."""
    monkeypatch.chdir(tmp_path)
    answer = nearlabel("tune", table[1], *CSV, *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.long
def test_rows_of_one_label_set(nearlabel, tmp_path):
    """Nothing to tell apart: every model is right, and the first is taken."""
    path = tmp_path / "same.csv"
    path.write_text("a,tags\n" + "".join(f"{row},x\n" for row in range(12)))
    answer = nearlabel("tune", path, "--labels-column", "tags", "--format", "json", "--methods", "brknn-a,mlknn")
    assert answer.code == 0
    best = json.loads(answer.out)["trials"][0]
    assert (best["method"], best["n_neighbors"], best["micro_f1"]) == ("brknn-a", 1, 1.0)
    assert np.isfinite(list(json.loads(answer.out)["scores"].values())).all()


def test_ctrl_c_gives_the_best_so_far(nearlabel, tmp_path, monkeypatch):
    """What was tried by then is the table, and the best of it is saved."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupted(steps):
        for number, step in enumerate(steps):
            yield step
            if number == 2:
                os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(tuning, "unheard", interrupted)
    answer = nearlabel("tune", "multidigits", "--methods", "brknn,mlknn", "--k", "3-9", "--out", tmp_path / "m.skops")
    signal.signal(signal.SIGINT, before)
    assert answer.code == 130
    n_tried = re.search(r"multidigits: (\d+) models", answer.out)[1]
    assert answer.err.splitlines()[-1].startswith(f"nearlabel: interrupted: {n_tried} models were tried, ")
    assert "stopping after the model in progress" in answer.err
    assert re.search(r"\d of 7 numbers of neighbours were tried in the time", answer.out)
    assert (tmp_path / "m.skops").exists()


def test_the_mixture_is_saved(nearlabel, tmp_path):
    """The line names it, JSON has its parts, the file predicts; with --updatable there is none."""
    random = np.random.default_rng(0)
    X = random.normal(size=(100, 5))
    Y = ((X @ random.normal(size=(5, 4))) + random.normal(size=(100, 4)) > 0.7).astype(int)
    path = tmp_path / "data.npz"
    write_npz(path, Dataset(X[:80], Y[:80], tuple("abcde"), tuple("pqrs"), "data"))
    options = ("--k", "1-5", "--scales", "minmax", "--search", "exact", "--thresholds", "micro-f")
    methods = ("--methods", "brknn:weights=distance,mlmlm,rfpct:n_estimators=10")
    shown = nearlabel("tune", path, *options, *methods, "--out", tmp_path / "m.skops")
    assert shown.code == 0
    found = json.loads(nearlabel("tune", path, *options, *methods, "--format", "json").out)["mixture"]
    assert sum(part["weight"] for part in found) == pytest.approx(1)
    assert "Selected: the mixture 0." in shown.out
    model = load_model(tmp_path / "m.skops")
    assert [name for name, _ in model.estimators] == [part["method"].partition("@")[0] for part in found]
    explained = nearlabel("explain", tmp_path / "m.skops", path, "--row", "2")
    assert explained.code == 0
    assert max(map(len, explained.out.splitlines())) <= 80
    hint = nearlabel("tune", path, *options, *methods).out
    assert "the same command with --out best.skops saves the mixture" in hint
    alone = nearlabel("tune", path, *options, "--methods", "brknn,mlmlm", "--updatable", "--format", "json")
    assert json.loads(alone.out)["mixture"] is None
