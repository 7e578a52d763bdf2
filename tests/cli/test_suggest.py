"""``nearlabel suggest``: the rows that the library ranks, by number or id, in every format."""

import csv
import io
import json

import pytest

from nearlabel.audit import review, suggest
from nearlabel.persistence import load_model

CSV = ("--labels-column", "tags", "--ignore", "id")


@pytest.fixture
def model(nearlabel, table, tmp_path):
    """A model of the table."""
    file = tmp_path / "m.skops"
    assert nearlabel("fit", table[1], *CSV, "--method=mlknn", "--k=3", "--validate=none", "--out", file).code == 0
    return file


def test_labels(nearlabel, table, model):
    """JSON has all that `suggest` says, with ids where a column is named."""
    data, path = table
    found = suggest(load_model(model), data.X, 4, label_names=data.label_names)
    answer = nearlabel("suggest", model, path, "--n", 4, "--id", "id", "--format", "json")
    assert (answer.code, answer.err) == (0, "")
    records = json.loads(answer.out)
    assert [one.pop("id") for one in records] == [f"f{one.row}" for one in found]
    assert records == [json.loads(json.dumps(one.to_dict())) for one in found]
    drawn = json.loads(nearlabel("suggest", model, path, "--strategy=random", "--seed=3", "--format=json").out)
    expected = suggest(load_model(model), data.X, 20, strategy="random", random_state=3)
    assert [one["row"] for one in drawn] == [one.row for one in expected]


def test_review(nearlabel, table, model):
    """CSV has one line for each row, whose labels have names."""
    data, path = table
    found = review(load_model(model), data.X, 3, loss="subset", label_names=data.label_names)
    answer = nearlabel("suggest", model, path, "--for=review", "--loss=subset", "--n=3", "--format=csv")
    lines = list(csv.DictReader(io.StringIO(answer.out)))
    assert [(int(one["row"]), float(one["expected_loss"])) for one in lines] == [
        (one.row, one.expected_loss) for one in found
    ]
    assert [one["predicted"] for one in lines] == [";".join(one.predicted) for one in found]
    assert list(lines[0]) == ["row", "expected_loss", "predicted", "reason"]


def test_tables(nearlabel, table, model):
    """The tables name the file, the rows and the reasons."""
    _, path = table
    answer = nearlabel("suggest", model, path, "--n=2", "--id=id")
    assert "Rows of fruit.csv to label next" in answer.out
    assert "represents" in answer.out
    answer = nearlabel("suggest", model, path, "--n=2", "--for=review")
    assert "Predictions for fruit.csv to check" in answer.out
    assert "wrong with" in answer.out


def test_other_models_are_told_what_is_labelled(nearlabel, table, tmp_path):
    """A model without a search needs the labelled rows, from a file like DATA."""
    _, path = table
    file = tmp_path / "lr.skops"
    fit = ("--method=br:estimator=logistic", "--validate=none", "--out", file)
    assert nearlabel("fit", path, *CSV, *fit).code == 0
    answer = nearlabel("suggest", file, path, "--n=2")
    assert answer.code == 2
    assert "--labelled must name the labelled data" in answer.err
    assert nearlabel("suggest", file, path, "--n=2", "--labelled", path).code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--n=0"], "--n must be at least 1, got 0"),
        (["--n=9999"], "--n must be at most the"),
        (["--loss=f1"], "--loss must go with --for review"),
        (["--for=review", "--strategy=random"], "--strategy must go with --for labels"),
        (["--for=review", "--seed=0"], "--seed must go with --for labels"),
    ],
)
def test_bad_options(nearlabel, table, model, options, message):
    """An error in one line that names the option."""
    answer = nearlabel("suggest", model, table[1], *options)
    assert answer.code == 2
    assert message in answer.err
