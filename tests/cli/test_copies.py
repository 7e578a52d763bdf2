"""Figures without exact copies, which commands tell beside those asked for."""

import csv
import io
import json

import numpy as np
import pytest

from nearlabel.cli import _matched_data
from nearlabel.datasets import Dataset, examine, write_npz
from nearlabel.datasets.doctor._tables import MANY_DUPLICATES

SHARE = "50.0 % of the rows are copies of others. Without copies: "


@pytest.fixture
def data(tmp_path):
    """60 rows, each twice, and 30 others as test data, ten of them copies."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)).round(2)
    Y = (X[:, :2] + rng.normal(size=(80, 2)) > 0).astype(int)
    names = tuple("abcd"), ("calm", "loud")
    for name, rows in (("twice", np.tile(np.arange(60), 2)), ("once", np.arange(60)), ("test", np.arange(50, 80))):
        write_npz(tmp_path / f"{name}.npz", Dataset(X[rows], Y[rows], *names, name))
    return tmp_path


def flat(text):
    """A text in one line."""
    return " ".join(text.split())


def test_fit(nearlabel, data):
    """The leave-one-out scores of copies are in a column beside the others, and on the card."""
    fit = ("fit", data / "twice.npz", "--method", "brknn", "--k", 1, "--out", data / "m.skops", "--force")
    answer = nearlabel(*fit)
    assert answer.code == 0
    row = next(line.split() for line in answer.out.splitlines() if line.startswith("  micro F1"))
    assert row[2] == "1.0000"
    assert float(row[3]) < 0.9
    assert SHARE + "no sample is scored by a model fitted to an identical sample." in flat(answer.out)
    scores = json.loads(nearlabel("card", data / "m.skops", "--format", "json").out)["scores"]
    assert scores["micro_f1"] == 1
    assert f"{scores['micro_f1_without_copies']:.4f}" == row[3]
    assert nearlabel("card", data / "m.skops").code == 0
    assert nearlabel(*fit[:1], data / "once.npz", *fit[2:]).out.count("without copies") == 0


@pytest.mark.parametrize("options", [("--groups", "duplicates"), ("--quiet",)])
def test_not_where_groups_are_given_or_the_command_is_quiet(nearlabel, data, options):
    """Whoever holds copies out together sees these figures; --quiet hides all advice on data."""
    small = ("--k", 1, *options)
    for command in (
        ("fit", data / "twice.npz", "--method=mlknn", *small, "--out", data / "m.skops"),
        ("tune", data / "twice.npz", *small, "--methods", "brknn"),
        ("evaluate", data / "twice.npz", *small, "--methods", "brknn", "--cv", 3),
    ):
        answer = nearlabel(*command)
        assert (answer.code, answer.err) == (0, "")
        assert "copies" not in answer.out


def test_fit_on_test_data(nearlabel, data):
    """Test rows that are also training rows are left out in the column; without any there is none."""
    fit = ("fit", data / "once.npz", "--method=mlknn", "--k", 3, "--out", data / "m.skops", "--force", "--test-data")
    answer = nearlabel(*fit, data / "test.npz")
    assert "11.1 % of the rows are copies of others. Without copies: only test samples without a copy" in flat(
        answer.out
    )
    scores = json.loads(nearlabel("card", data / "m.skops", "--format", "json").out)["scores"]
    rest = np.load(data / "test.npz", allow_pickle=False)
    write_npz(data / "new.npz", Dataset(rest["X"][10:], rest["Y"][10:], tuple("abcd"), ("calm", "loud"), "new"))
    assert "copies" not in nearlabel(*fit, data / "new.npz").out
    new = json.loads(nearlabel("card", data / "m.skops", "--format", "json").out)["scores"]
    assert {name: scores[f"{name}_without_copies"] for name in new} == pytest.approx(new)


def test_tune(nearlabel, data):
    """The chosen model's value stands behind the others; JSON has all of its metrics."""
    tune = ("tune", data / "twice.npz", "--methods", "brknn", "--k", "1,5", "--scales", "none", "--search", "exact")
    answer = nearlabel(*tune)
    scores = json.loads(nearlabel(*tune, "--format", "json").out)["scores"]
    value = scores["micro_f1_without_copies"]
    assert f"nested cross-validation: 1.0000; without copies: {value:.4f}." in flat(answer.out)
    assert SHARE in flat(answer.out)
    assert value < 0.9


@pytest.mark.long
def test_evaluate(nearlabel, data):
    """A second table is of the test rows without a copy; JSON and CSV have its figures as metrics of their own."""
    evaluate = ("evaluate", data / "twice.npz", "--methods", "brknn,mlknn", "--k", "1,3", "--cv", 2)
    metrics = ("--metrics", "micro_f1,hamming_loss")
    answer = nearlabel(*evaluate, *metrics, "--out", data / "run")
    first, second = answer.out.split("twice, without copies: k = 1, 3")
    assert SHARE + "only test samples without a copy in the training data." in flat(first)
    cells = json.loads(nearlabel(*evaluate, *metrics, "--format", "json").out)
    assert list(csv.DictReader(io.StringIO(nearlabel(*evaluate, *metrics, "--format", "csv").out)))[2]["metric"] == (
        "micro_f1_without_copies"
    )
    means = {(cell["method"], cell["metric"]): cell["mean"] for cell in cells if cell["n_neighbors"] == "mean"}
    assert f"{means['mlknn', 'micro_f1']:.4f}" in first
    assert f"{means['mlknn', 'micro_f1_without_copies']:.4f}" in second
    assert means["mlknn", "micro_f1"] > means["mlknn", "micro_f1_without_copies"] + 0.05
    assert nearlabel(*evaluate, *metrics, "--out", data / "run").out == answer.out  # from the records
    assert "copies" not in nearlabel("compare", data / "run").out
    assert nearlabel("report", data / "run", "--out", data / "run.html").code == 0


def test_evaluate_without_a_row_that_is_new(nearlabel, data):
    """It is said, in place of an empty table."""
    once = data / "once.npz"
    answer = nearlabel("evaluate", once, "--test-data", once, "--methods", "brknn", "--k", 1, "--metrics", "micro_f1")
    assert flat(answer.out).endswith(
        SHARE + "only test samples without a copy in the training data, of which there is none."
    )


def test_searches_are_compared_as_they_were(nearlabel, data):
    """What a search costs is not told twice."""
    options = ("--methods", "brknn", "--k", 3, "--cv", 2, "--search", "exact:metric=cosine", "--format", "json")
    assert "copies" not in nearlabel("evaluate", data / "twice.npz", *options).out


@pytest.mark.parametrize(("n_copies", "told"), [(1, False), (2, True)])
def test_more_than_one_in_a_hundred(n_copies, told):
    """From the same share on as the doctor warns; of fewer than 50 rows a share says little."""
    X = np.arange(120.0).reshape(120, 1)
    X[:n_copies] = 119
    data = Dataset(X, np.zeros((120, 1), dtype=int), ("a",), ("b",), "some")
    assert _matched_data.has_copies(data) == told
    warned = {finding.kind for finding in examine(data, search=False) if finding.severity != "note"}
    assert ("duplicates" in warned) == told
    assert _matched_data._LEAST_SHARE == MANY_DUPLICATES
    few = Dataset(X[:40], np.zeros((40, 1), dtype=int), ("a",), ("b",), "few")
    assert not _matched_data.has_copies(few)
