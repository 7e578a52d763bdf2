"""`fit --guarantee`, what the card and `predict` say of it, and `predict --abstain`."""

import csv
import json
import re

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

from nearlabel.datasets import read_table
from nearlabel.lazy import MLkNN
from nearlabel.models import novelty_detector
from nearlabel.persistence import load_model, read_card, save_model
from nearlabel.preprocessing import FeatureScaler
from nearlabel.thresholds import CalibratedLabels, RiskControl, TunedThresholdsClassifierCV

CSV = ("--labels-column", "tags", "--ignore", "id")
SENTENCE = (
    "On new samples like those of calibration that have labels, at least 70 % of the labels of a sample are predicted"
    " on average."
)
METHOD = ("--method", "mlknn", "--k", 3, "--scale", "minmax")


@pytest.fixture
def many(tmp_path):
    """Return a table of 200 rows, and one of other rows, a tenth of them far away."""
    rng = np.random.default_rng(0)
    files = []
    for name, shift in (("many.csv", 0.0), ("new.csv", 50.0)):
        X = rng.normal(size=(200, 3))
        tags = [[tag for tag, x in zip("abc", row, strict=True) if x + rng.normal() > 0.3] for row in X]
        X[:20] += shift
        files.append(tmp_path / name)
        with files[-1].open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "x0", "x1", "x2", "tags"])
            writer.writerows([row, *x, ";".join(t)] for row, (x, t) in enumerate(zip(X.tolist(), tags, strict=True)))
    return files


def fit(nearlabel, path, tmp_path, *options):
    """Return what `fit` says, and the file of the model."""
    out = tmp_path / "m.skops"
    answer = nearlabel("fit", path, *CSV, "--out", out, *options)
    assert (answer.code, answer.err) == (0, "")
    return answer, out


def raw_scores(model, X):
    """Return the scores of the thresholds, which `predict_proba` maps."""
    return model[-1].estimator_.predict_proba(model[:-1].transform(X))


@pytest.mark.parametrize("method", [METHOD, ("--method", "br:estimator=logistic", "--scale", "standard"), ()])
def test_rows_are_held_out_to_set_the_threshold(nearlabel, many, tmp_path, method):
    """Three tenths, of which neither the scaling nor the method has seen anything."""
    answer, out = fit(nearlabel, many[0], tmp_path, "--guarantee", "recall=0.7", *method)
    model, card = load_model(out), read_card(out)
    data = read_table(many[0], labels_column="tags", ignore=("id",))
    order = np.random.default_rng(0).permutation(200)
    held, others = np.sort(order[:60]), np.sort(order[60:])
    again = RiskControl(level=0.7).fit(raw_scores(model, data.X[held]), data.Y[held])
    assert model[-1].thresholds_.tolist() == again.thresholds_.tolist()
    assert card.data.rows == 140
    assert card.measured == "the 60 held-out samples, on which the threshold was set"
    assert card.guarantee == SENTENCE
    assert card.scores["recall_examples"] > 0.5
    assert "140 rows" in answer.out
    assert "guarantee" in answer.out
    assert "@micro-f" not in answer.out  # thresholds of a choice, which those of the promise replace
    if method == METHOD:
        alone = make_pipeline(FeatureScaler("minmax", out_of_range="clip"), MLkNN(3)).fit(
            data.X[others], data.Y[others]
        )
        np.testing.assert_allclose(raw_scores(model, data.X), alone.predict_proba(data.X), rtol=1e-12)


@pytest.mark.long
def test_the_promise_is_on_the_card(nearlabel, many, tmp_path):
    """In every format, and on the page; a model without one has none, and its card is as before."""
    _, out = fit(nearlabel, many[0], tmp_path, "--guarantee", "recall=0.7", *METHOD)
    for form in ("table", "markdown"):
        printed = " ".join(nearlabel("card", out, "--format", form).out.split())
        assert f"Guarantee: {SENTENCE}" in printed
    assert json.loads(nearlabel("card", out, "--format", "json").out)["guarantee"] == SENTENCE
    page = tmp_path / "page.html"
    assert nearlabel("report", out, many[1], *CSV, "--out", page).code == 0
    assert f"<dt>Guarantee</dt><dd>{SENTENCE}" in re.sub(r">\s+<", "><", page.read_text())
    _, out = fit(nearlabel, many[0], tmp_path, *METHOD, "--force")
    assert "guarantee" not in json.loads(nearlabel("card", out, "--format", "json").out)


def test_thresholds_by_left_out_scores_promise_approximately(nearlabel, many, tmp_path):
    """`--method mlknn@risk` holds out no rows: `fit`, the card and `predict` say so."""
    answer, out = fit(nearlabel, many[0], tmp_path, "--method", "mlknn@risk:level=0.7", "--k", 3)
    promise = f"Approximately: o{SENTENCE[1:]}"
    assert promise in answer.out
    assert read_card(out).guarantee == promise
    assert f"nearlabel: guarantee: {promise}\n" in nearlabel("predict", out, many[1], *CSV).err


def test_precision_needs_a_confidence(nearlabel, many, tmp_path):
    """Its thresholds are tested one after the other, of decision values at quantiles of the fitted rows."""
    _, out = fit(nearlabel, many[0], tmp_path, "--guarantee", "precision=0.4", "--confidence", 0.8, *METHOD)
    control = load_model(out)[-1].strategy_
    assert (control.measure, control.level, control.confidence, control.grid) == ("precision", 0.4, 0.8, None)
    options = ("--guarantee", "precision=0.3", "--confidence", 0.8, "--method", "ranksvm", "--force")
    control = load_model(fit(nearlabel, many[0], tmp_path, *options)[1])[-1].strategy_
    assert len(control.grid) > 20
    assert np.isfinite(control.thresholds_).all()


def test_predict_tells_of_the_promise_and_of_shifted_scores(nearlabel, many, tmp_path):
    """The sentence, and the two-sample test of the scores of all rows."""
    _, out = fit(nearlabel, many[0], tmp_path, "--guarantee", "recall=0.7", *METHOD)
    told = nearlabel("predict", out, many[1], *CSV).err.splitlines()
    assert told[0] == f"nearlabel: guarantee: {SENTENCE}"
    model = load_model(out)
    new = read_table(many[1], labels_column="tags", ignore=("id",))
    shift = model[-1].strategy_.score_shift(raw_scores(model, new.X))
    assert told[1].startswith("nearlabel: the scores of these rows are similar to those of calibration: Kolmogorov-")
    assert told[1].endswith(f"p = {shift.p_value:.2g}.")
    far = tmp_path / "far.csv"
    far.write_text("x0,x1,x2\n" + "9,9,9\n" * 100)
    assert "differ from those of calibration, so the guarantee may fail" in nearlabel("predict", out, far).err


def test_scores_are_compared_as_they_are_cut(nearlabel, many, tmp_path):
    """Decision values with decision values, though the model has probabilities, too."""
    data = read_table(many[0], labels_column="tags", ignore=("id",))
    inner = OneVsRestClassifier(LogisticRegression()).fit(data.X[:100], data.Y[:100])
    control = RiskControl(level=0.7)
    model = TunedThresholdsClassifierCV(inner, control, cv="prefit", response_method="decision_function")
    out = save_model(model.fit(data.X[100:], data.Y[100:]), tmp_path / "m.skops", data=data)
    shift = model.strategy_.score_shift(model.decision_function(data.X))
    assert f"distance {shift.statistic:.2f}, p = {shift.p_value:.2g}." in nearlabel("predict", out, many[0], *CSV).err


def test_abstention(nearlabel, many, tmp_path):
    """Rows unlike the training rows get no label and are marked, in every form; metrics are of the other rows."""
    _, out = fit(nearlabel, many[0], tmp_path, *METHOD)
    answer = nearlabel("predict", out, many[1], *CSV, "--abstain", 0.01)
    rows = list(csv.DictReader(answer.out.splitlines()))
    marked = [row["abstained"] == "1" for row in rows]
    new = read_table(many[1], labels_column="tags", ignore=("id",))
    model = load_model(out)
    assert marked == (novelty_detector(model, 0.01).predict(new.X) == -1).tolist()
    assert all(marked[:20])
    assert sum(marked) < 30
    assert all(row["labels"] == "" for row, is_marked in zip(rows, marked, strict=True) if is_marked)
    assert any(row["labels"] for row in rows)
    told = f"nearlabel: abstained from {sum(marked)} of 200 rows, which are unlike the training data.\n"
    assert answer.err.startswith(told)
    lines = tmp_path / "p.jsonl"
    nearlabel("predict", out, many[1], *CSV, "--abstain", 0.01, "--out", lines, "--scores", "chosen")
    assert [json.loads(line)["abstained"] == 1 for line in lines.read_text().splitlines()] == marked
    scored = nearlabel("predict", out, many[1], *CSV, "--abstain", 0.01, "--score", "--format", "json")
    assert json.loads(scored.out)["rows"] == 200 - sum(marked)
    assert "abstained" not in nearlabel("predict", out, many[1], *CSV).out


def test_who_cannot_abstain(nearlabel, many, tmp_path):
    """A method without neighbours says so."""
    _, out = fit(nearlabel, many[0], tmp_path, "--method", "br:estimator=logistic")
    answer = nearlabel("predict", out, many[1], *CSV, "--abstain", 0.01)
    assert answer.code == 2
    assert "model must search a number of neighbours" in answer.err


@pytest.mark.parametrize("method", [("--method", "mlknn", "--calibrate", "isotonic"), ("--method", "mlknn@isotonic")])
def test_the_promise_of_calibrated_probabilities(nearlabel, many, tmp_path, method):
    """The calibration, by either name, has not seen the rows held out."""
    model = load_model(fit(nearlabel, many[0], tmp_path, "--guarantee", "recall=0.7", "--k", 3, *method)[1])
    data = read_table(many[0], labels_column="tags", ignore=("id",))
    order = np.random.default_rng(0).permutation(200)
    held, others = np.sort(order[:60]), np.sort(order[60:])
    calibrated = CalibratedLabels(MLkNN(3), "isotonic", cv="loo").fit(data.X[others], data.Y[others])
    again = RiskControl(level=0.7).fit(calibrated.predict_proba(data.X[held]), data.Y[held])
    assert model[-1].thresholds_.tolist() == again.thresholds_.tolist()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--guarantee", "recall"),
            "argument --guarantee: must be METRIC=LEVEL with one of recall, all_labels, preci",
        ),
        (("--guarantee", "recall="), "argument --guarantee: must be a number between 0 and 1, got ''"),
        (("--guarantee", "recall=0.9", "--method", "mlknn@beta@pcut"), "--guarantee must go without other thresholds"),
        (("--guarantee", "f1=0.9"), "must be METRIC=LEVEL with one of recall, all_labels, precision, got 'f1=0.9'"),
        (("--guarantee", "precision=0.9"), "--guarantee precision must go with --confidence."),
        (("--confidence", "0.9"), "--confidence must go with --guarantee."),
        (("--guarantee", "recall=0.9", "--thresholds", "micro-f"), "--guarantee must go without other thresholds"),
        (("--guarantee", "recall=0.9", "--groups", "duplicates"), "--guarantee must go without --groups"),
    ],
)
def test_what_does_not_go_together(nearlabel, many, tmp_path, options, message):
    """It is told before DATA is read."""
    answer = nearlabel("fit", tmp_path / "none.csv", *CSV, "--out", tmp_path / "m.skops", *options)
    assert answer.code == 2
    assert message in answer.err


def test_a_mixture_may_promise(nearlabel, tmp_path):
    """Texts have a mixture; the promise is around it, and it is predicted and explained."""
    random = np.random.default_rng(0)
    counts = random.poisson(0.15, size=(240, 40))
    likely = counts[:, :12].reshape(-1, 4, 3).sum(axis=2) + random.normal(size=(240, 4)) / 2
    texts = [" ".join(f"word{word}" for word in np.flatnonzero(count)) or "none" for count in counts]
    tags = [";".join(map(str, np.flatnonzero(of > 0.6))) for of in likely]
    lines = [f"{row},{text},{tag}" for row, (text, tag) in enumerate(zip(texts, tags, strict=True))]
    table, out = tmp_path / "texts.csv", tmp_path / "promise.skops"
    table.write_text("\n".join(["id,text,tags", *lines]) + "\n")
    options = ("--labels-column", "tags", "--id", "id", "--text", "text")
    answer = nearlabel("fit", table, *options, "--guarantee", "recall=0.8", "--out", out)
    assert answer.code == 0, answer.err
    assert re.search(r"method +0\.\d+ .* \+ ", answer.out)
    assert re.search(r"can be updated +no *\n", answer.out)
    assert "at least 80 % of the labels" in answer.out
    predicted = nearlabel("predict", out, table, "--id", "id")
    assert predicted.code == 0, predicted.err
    assert len(predicted.out.splitlines()) > 240
    explained = nearlabel("explain", out, table, "--row", 0)
    assert "chosen: score >= threshold" in explained.out.replace("\n    ", " ")
