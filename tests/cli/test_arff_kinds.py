"""ARFF files with strings and dates, from the file to predictions."""

import json
import random
import re
from pathlib import Path

import pytest

HEAD = """\
@relation 'log: -C 2'
@attribute la {0,1}
@attribute lb {0,1}
@attribute when date "yyyy-MM-dd HH:mm:ss"
@attribute note string
@attribute v numeric
@attribute colour {red,green,'dark blue'}
@data
"""


def rows(n, seed):
    """Rows whose texts tell the first label."""
    draw = random.Random(seed)
    for _ in range(n):
        la, lb = draw.randint(0, 1), draw.randint(0, 1)
        words = " ".join(draw.choices(["tea", "corn", "oil"] if la else ["bank", "loan", "it\\'s"], k=3))
        date = f"2024-{draw.randint(1, 12):02d}-{draw.randint(1, 28):02d} 10:00:00"
        yield f"{la},{lb},\"{date}\",'{words}',{lb + draw.random():.3f},{draw.choice(['red', 'green'])}"


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Training and test data, and data with weights."""
    monkeypatch.chdir(tmp_path)
    Path("train.arff").write_text(HEAD + "\n".join(rows(40, 0)))
    Path("test.arff").write_text(HEAD + "\n".join(rows(10, 1)))
    Path("weights.arff").write_text(HEAD + "\n".join(f"{row},{{2}}" for row in rows(40, 0)))


def test_from_the_file_to_predictions(nearlabel):
    """Texts and dates need no options: the model scales numbers next to them, and reads other files by their names."""
    fitted = nearlabel("fit", "train.arff", "--method=mlknn", "--k=3", "--validate=none", "--out=m.skops")
    assert fitted.code == 0, fitted.err
    assert re.search(r"columns +1 number, 1 category, 1 text, 1 date *\n", fitted.out)
    assert re.search(r"scaling +minmax *\n", fitted.out)
    predicted = nearlabel("predict", "m.skops", "test.arff", "--id", "note")
    labels = [line.rpartition(",")[2].split(";") for line in predicted.out.splitlines()[1:]]
    assert [("la" in of_row) for of_row in labels] == [row.startswith("1") for row in rows(10, 1)]
    again = nearlabel("evaluate", "train.arff", "--test-data", "test.arff", "--methods=mlknn", "--k=3", "--format=json")
    assert again.code == 0, again.err


@pytest.mark.parametrize("command", ["describe", "examine"])
def test_shown(nearlabel, command):
    """The commands that show data take them."""
    answer = nearlabel(command, "train.arff", "--format", "json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)


def test_methods_for_texts_are_tuned(nearlabel):
    """Tune tries what suits texts, also where the file declares them."""
    tuned = nearlabel("tune", "train.arff", "--methods=mlknn", "--k=3", "--cv=2", "--format=json")
    assert tuned.code == 0, tuned.err
    assert "tfidf" in tuned.out


def test_ignored(nearlabel):
    """Without texts and dates it is a file of numbers; a model of them reads files with texts, too."""
    ignored = ("--ignore", "when,note,colour")
    fitted = nearlabel("fit", "train.arff", *ignored, "--method=mlknn", "--k=3", "--validate=none", "--out=m.skops")
    assert fitted.code == 0, fitted.err
    assert "columns" not in fitted.out
    assert re.search(r"scaling +none *\n", fitted.out)
    assert len(nearlabel("predict", "m.skops", "test.arff").out.splitlines()) == 11


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("fit", "train.arff", "--ignore", "nota", "--out=m.skops"), "--ignore must name attributes of train.arff"),
        (("fit", "train.arff", "--ignore", "la", "--out=m.skops"), "--ignore must name features .* the label 'la'"),
        (("evaluate", "train.arff", "--text", "v"), "attribute 'v' of train.arff must contain texts, got number"),
        (("evaluate", "weights.arff"), "must have no weights of rows here, .* Hint: --ignore sample_weight"),
    ],
)  # fmt: skip
def test_errors(nearlabel, command, message):
    """One line says what is wrong."""
    answer = nearlabel(*command)
    assert answer.code == 2
    assert re.search(message, answer.err)


def test_weights(nearlabel):
    """Describe shows them; other commands count each row once, which they do only if told so."""
    assert json.loads(nearlabel("describe", "weights.arff", "--format=json").out)["sum_of_weights"] == 80
    ignoring = ("--ignore", "sample_weight", "--methods=mlknn", "--k=3", "--cv=2")
    answer = nearlabel("evaluate", "weights.arff", *ignoring)
    assert answer.code == 0, answer.err
