"""Commands on a table with unknown labels."""

import json

import numpy as np
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:.*which are never neighbours")
LABELS = ("--labels", "left,noise")


@pytest.fixture
def holes(tmp_path):
    """A table of 60 rows in which a third of the labels is "n/k", empty in the other file, and one row has none."""
    rng = np.random.default_rng(0)
    side = np.repeat([0, 1], 30)
    Y = np.column_stack([side, rng.random(60) < 0.4]).astype(int).astype(object)
    hidden = rng.random(Y.shape) < 0.3
    hidden[5] = True
    for name, value in (("holes.csv", ""), ("words.csv", "n/k"), ("minus.csv", "-1")):
        lines = [
            f"{x:.3f},{','.join(value if unknown else str(y) for y, unknown in zip(row, of_row, strict=True))}"
            for x, row, of_row in zip(side * 4 + rng.normal(0, 1, 60), Y, hidden, strict=True)
        ]
        (tmp_path / name).write_text("\n".join(["x,left,noise", *lines]) + "\n")
    return hidden


def test_describe(nearlabel, tmp_path, holes):
    """Figures are those of the known cells; how many are not is said, and for each label."""
    told = json.loads(nearlabel("describe", tmp_path / "holes.csv", *LABELS, "--format", "json").out)
    assert told["unknown_cells"] == holes.sum()
    assert told["rows_without_known_labels"] == holes.all(axis=1).sum()
    assert [label["known_rows"] for label in told["per_label"]] == (~holes).sum(axis=0).tolist()
    other = json.loads(
        nearlabel("describe", tmp_path / "words.csv", *LABELS, "--unknown", "n/k", "--format", "json").out
    )
    assert other["per_label"] == told["per_label"]


@pytest.mark.parametrize("option", [("--unknown", "-1"), ("--unknown=-1",)])
def test_minus_one(nearlabel, tmp_path, holes, option):
    """It is no option by itself; without --unknown the error names it."""
    told = json.loads(nearlabel("describe", tmp_path / "minus.csv", *LABELS, *option, "--format", "json").out)
    assert told["unknown_cells"] == holes.sum()
    answer = nearlabel("describe", tmp_path / "minus.csv", *LABELS)
    assert answer.code == 2
    assert "got -1. Hint: --unknown -1, if it marks an unknown label." in answer.err
    assert "got 'n/k'. Hint: --unknown n/k, if" in nearlabel("describe", tmp_path / "words.csv", *LABELS).err


def test_a_name_of_the_catalogue_has_no_text_for_unknown(nearlabel):
    """The option goes with a file."""
    assert "--unknown must go with a file" in nearlabel("describe", "multidigits", "--unknown", "?").err


def test_examine(nearlabel, tmp_path, holes):
    """The finding is a warning with the methods that take unknown labels."""
    told = json.loads(nearlabel("examine", tmp_path / "holes.csv", *LABELS, "--format", "json").out)
    found = {finding["kind"]: finding for finding in told["findings"]}
    assert found["missing_labels"]["severity"] == "warning"
    assert found["missing_labels"]["values"] == holes.sum()
    assert found["rows_without_known_labels"]["rows"] == holes.all(axis=1).sum()


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("fit", "--method", "lpknn", "--k", "3", "--out", "m.skops"), "--method"),
        (("fit", "--method", "lpknn", "--k", "3", "--validate", "none", "--out", "m.skops"), "--method"),
        (("evaluate", "--methods", "lpknn", "--k", "3"), "--methods"),
        (("tune", "--methods", "lpknn", "--k", "3"), "--methods"),
    ],
)
def test_a_named_method_refuses(nearlabel, tmp_path, monkeypatch, holes, command, option):
    """Two lines: how many labels are unknown, and which method does not take them; no file is written."""
    monkeypatch.chdir(tmp_path)
    name, *options = command
    answer = nearlabel(name, "holes.csv", *LABELS, *options)
    assert (answer.code, answer.out) == (2, "")
    told, error = answer.err.splitlines()
    n, useless = holes.sum(), holes.all(axis=1).sum()
    rows = f"{useless} row has" if useless == 1 else f"{useless} rows have"
    cells = f"{n} label cells are unknown ({holes.mean():.1%}); {rows} no known label"
    assert told == f"nearlabel: holes: {cells}. Fitting and metrics use the known ones only."
    assert error.startswith(f"nearlabel: {option} must support unknown labels, of which holes has {n}, got lpknn.")
    assert not (tmp_path / "m.skops").exists()


@pytest.mark.long
@pytest.mark.parametrize("data", [("words.csv", "--unknown", "n/k")])
def test_fit_predict_report(nearlabel, tmp_path, monkeypatch, holes, data):
    """The default choice is among methods that take unknown labels; the card and the scores know of them."""
    monkeypatch.chdir(tmp_path)
    fitted = nearlabel("fit", *data, *LABELS, "--k", "5", "--scale", "none", "--search", "exact", "--out", "m.skops")
    assert fitted.code == 0, fitted.err
    card = json.loads(nearlabel("card", "m.skops", "--format", "json").out)
    assert card["data"]["unknown_cells"] == holes.sum()
    scored = nearlabel("predict", "m.skops", *data, "--score", "--metrics", "hamming_loss", "--format", "json")
    assert scored.code == 0, scored.err
    assert json.loads(scored.out)["metrics"]["hamming_loss"] < 0.4
    assert nearlabel("report", "m.skops", *data, "--out", "page.html").code == 0
    assert "Unknown labels" in (tmp_path / "page.html").read_text()


@pytest.mark.long
@pytest.mark.parametrize("command", [("evaluate", "--cv", "3"), ("tune",)])
def test_usual_methods_are_narrowed(nearlabel, tmp_path, monkeypatch, holes, command):
    """Those that nobody named are left out if they refuse unknown labels, and the command says so."""
    monkeypatch.chdir(tmp_path)
    name, *options = command
    answer = nearlabel(name, "holes.csv", *LABELS, "--k", "3", *options, "--format", "csv")
    assert answer.code == 0, answer.err
    assert "Only methods that accept unknown labels are tried: brknn" in answer.err
    assert "lpknn" not in answer.out


def test_test_data_with_unknown_labels(nearlabel, tmp_path, monkeypatch, holes):
    """Any method is evaluated on them, if its training rows are known."""
    monkeypatch.chdir(tmp_path)
    known = [line for line in (tmp_path / "holes.csv").read_text().splitlines() if ",," not in line and line[-1] != ","]
    (tmp_path / "known.csv").write_text("\n".join(known) + "\n")
    test = ("--test-data", "holes.csv", "--metrics", "micro_f1", "--format", "csv")
    answer = nearlabel("evaluate", "known.csv", *LABELS, "--methods", "lpknn", "--k", "3", *test)
    assert answer.code == 0, answer.err
    assert "lpknn,3,micro_f1" in answer.out


def test_tags_that_a_model_knows_and_the_data_lack(nearlabel, tmp_path, monkeypatch):
    """In a row without known tags they are unknown, in others nobody has them."""
    monkeypatch.chdir(tmp_path)
    rows = "".join(f'{{"x": {x}, "t": {json.dumps(["low"] if x < 10 else ["high"])}}}\n' for x in range(20))
    (tmp_path / "train.jsonl").write_text(rows)
    (tmp_path / "test.jsonl").write_text('{"x": 1, "t": ["low"]}\n{"x": 2, "t": null}\n')
    fit = ("--labels-column", "t", "--method", "brknn", "--k", "3", "--validate", "none", "--out", "m.skops")
    assert nearlabel("fit", "train.jsonl", *fit).code == 0
    scored = nearlabel("predict", "m.skops", "test.jsonl", "--score", "--metrics", "hamming_loss", "--format", "json")
    assert json.loads(scored.out)["metrics"]["hamming_loss"] == 0
