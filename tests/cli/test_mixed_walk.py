"""A table of numbers, categories, dates, texts and holes, with every command, with and without options."""

import csv
import json
import random
import re
import shlex
from pathlib import Path

import pytest

from nearlabel.persistence import load_model

NAMES = ("id", "tempo", "genre", "released", "title", "moods")
LABELS = ("--labels-column", "moods")
KINDS = ("--ignore", "id", "--categorical", "genre", "--date", "released", "--text", "title")
QUICK = {
    "describe": (),
    "examine": (),
    "evaluate": ("--methods", "brknn", "--k", 3, "--cv", 2, "--metrics", "micro_f1"),
    "fit": ("--method", "brknn", "--k", 3, "--validate", 2, "--force", "--out", "m.skops"),
    "tune": ("--methods", "brknn,mlknn", "--k", "2,3"),
}
GENRES = {"soul": "calm", "punk": "wild", "house": "dance"}
WORDS = {"calm": "night rain slow", "wild": "riot fire street", "dance": "body move beat"}


def songs():
    """Sixty rows, of which every kind of column has a hole, but for the id."""
    draw = random.Random(0)
    for row in range(60):
        genre, mood = draw.choice(list(GENRES.items()))
        day = f"19{draw.randint(65, 99)}-{draw.randint(1, 12):02}-{draw.randint(1, 28):02}"
        title = " ".join(draw.sample(WORDS[mood].split() + WORDS[draw.choice(list(WORDS))].split(), 3))
        song = [f"s{row}", f"{draw.uniform(60, 180):.2f}", genre, day, title, mood]
        if row in (5, 17, 31, 44):
            song[1 + row % 4] = ""
        yield song


@pytest.fixture(autouse=True)
def table(tmp_path, monkeypatch):
    """The table as CSV, and as a spreadsheet saves it: semicolons, decimal commas, a BOM."""
    monkeypatch.chdir(tmp_path)
    rows = list(songs())
    with Path("songs.csv").open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *rows])
    with Path("sheet.csv").open("w", newline="", encoding="utf-8-sig") as file:
        sheet = ([row[0], row[1].replace(".", ","), *row[2:]] for row in rows)
        csv.writer(file, delimiter=";").writerows([NAMES, *sheet])
    return rows


@pytest.mark.parametrize("command", QUICK)
def test_the_hints_lead_to_the_answer(nearlabel, command):
    """Without options each command proposes them; with these it works, or proposes what to do about the holes."""
    given = [command, "songs.csv", *LABELS, *QUICK[command]]
    refused = nearlabel(*given)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    hint = refused.err.partition("Hint: ")[2]
    option = "--id id" if command in ("fit", "examine") else "--ignore id"  # tune has no file here
    assert hint == f"--categorical genre, --date released, --text title, and {option} for a column that names rows.\n"
    given += shlex.split(" ".join(re.findall(r"--\w+ \w+", hint)))
    if command not in ("describe", "examine"):
        refused = nearlabel(*given)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
        assert "Hint: --impute median replaces missing ones.\n" in refused.err
        given += ["--impute", "median"]
    answer = nearlabel(*given)
    assert (answer.code, answer.err) == (0, "")


def test_the_walk(nearlabel, table):
    """What is described and examined is in the file; a tuned model predicts, explains and reports the rows."""
    described = json.loads(nearlabel("describe", "songs.csv", *LABELS, *KINDS, "--format", "json").out)
    assert (described["columns"], described["missing_values"]) == ("1 number, 1 category, 1 text, 1 date", 4)
    assert [(column["column"], column["kind"], column["distinct"]) for column in described["per_column"]] == [
        (name, kind, len({row[NAMES.index(name)] for row in table} - {""}))
        for name, kind in (("tempo", "number"), ("genre", "category"), ("released", "date"), ("title", "text"))
    ]
    examined = json.loads(nearlabel("examine", "songs.csv", *LABELS, *KINDS, "--format", "json").out)
    assert [finding["kind"] for finding in examined["findings"]][:1] == ["missing_values"]
    (note,) = examined["notes"]
    assert re.fullmatch(r"Neighbours are those among the \d+ rows without missing or infinite values.", note)
    options = (*LABELS, *KINDS, "--impute", "median")
    assert json.loads(nearlabel("examine", "songs.csv", *options, "--format", "json").out)["notes"] == []
    tuned = nearlabel("tune", "songs.csv", *options, "--methods", "mlknn", "--k", "2,3", "--out", "best.skops")
    assert tuned.code == 0, tuned.err
    assert nearlabel("predict", "best.skops", "songs.csv", "--id", "id").out.startswith("id,labels\ns0,")
    assert "micro F1" in nearlabel("predict", "best.skops", "songs.csv", "--score").out
    assert "chosen" in nearlabel("explain", "best.skops", "songs.csv", "--row", 5).out
    assert nearlabel("report", "best.skops", "songs.csv", "--out", "songs.html").code == 0
    names = load_model("best.skops")[0].get_feature_names_out().tolist()
    assert names[:3] == ["numbers__tempo", "categories__genre_house", "categories__genre_punk"]


@pytest.mark.long
def test_a_spreadsheet_gives_the_same_model(nearlabel):
    """Whoever saved the table, predictions and scores are the same to the last bit."""
    options = (*LABELS, *KINDS, "--impute", "median", *QUICK["fit"])
    answers = []
    for name, more in (("songs.csv", ()), ("sheet.csv", ("--decimal", ","))):
        assert nearlabel("fit", name, *options, *more).code == 0
        for data, decimal in (("songs.csv", ()), ("sheet.csv", ("--decimal", ","))):
            answers.append(nearlabel("predict", "m.skops", data, "--scores", "all", *decimal))
    assert answers[0].code == 0
    assert answers == [answers[0]] * 4


@pytest.mark.parametrize("command", ["fit", "tune", "evaluate"])
@pytest.mark.filterwarnings("default")
def test_an_identifier_that_stays_in(nearlabel, command):
    """It is told before the work, by its name, and again by the encoder, each once."""
    kinds = ("--categorical", "genre,id", "--date", "released", "--text", "title", "--impute", "median")
    lines = nearlabel(command, "songs.csv", *LABELS, *kinds, *QUICK[command]).err.splitlines()
    assert lines[0] == (
        "nearlabel: songs: 1 column contains a different text in each row, like identifiers: id. Remedy: Leave out"
        " columns that are not measurements: --ignore id."
    )
    assert all(line.startswith("nearlabel: Column 'id' has ") for line in lines[1:])
    assert len(set(lines)) == len(lines) > 1


def test_a_column_without_a_value_is_named(nearlabel, table):
    """In the words of the file, not by its number."""
    with Path("empty.csv").open("w", newline="") as file:
        csv.writer(file).writerows([NAMES, *([*row[:2], "", *row[3:]] for row in table)])
    answer = nearlabel("fit", "empty.csv", *LABELS, *KINDS, "--impute", "median", *QUICK["fit"])
    assert answer.code == 2
    assert "must have a value in each column, got column 'genre' of" in answer.err
