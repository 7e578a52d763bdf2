"""``nearlabel update`` and ``nearlabel forget``: rows come and go in the file of a model."""

from __future__ import annotations

import io
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from nearlabel.datasets.tables import load_dataset
from nearlabel.lazy import MLkNN
from nearlabel.persistence import load_model, read_card, read_kept, save_model

TAGS = ("calm", "sad", "loud")


def write(path, n_rows, first, tags, *, columns="id,title,a,b,tags"):
    """Write songs, whose tags depend on their features, in any order of the columns."""
    random = np.random.default_rng(first)
    lines = [columns]
    for row in range(first, first + n_rows):
        a, b = random.normal(size=2).round(3)
        chosen = [tag for tag, on in zip(TAGS, (a > 0, b > 0.3, a + b > 1), strict=True) if on and tag in tags]
        cells = {"id": f"s{row}", "title": f"Song {row}", "a": a, "b": b, "tags": ";".join(chosen)}
        lines.append(",".join(str(cells[name]) for name in columns.split(",")))
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def songs(nearlabel, tmp_path, monkeypatch):
    """A folder with a model of 60 songs."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "songs.csv", 60, 0, TAGS[:2])
    words = "fit songs.csv --labels-column tags --id id --show title --method mlknn --k 5 --thresholds micro-f"
    assert nearlabel(*words.split(), "--validate", "none", "--out", "m.skops").code == 0
    return tmp_path


def test_more_rows_and_a_new_tag(nearlabel, songs):
    """Columns in another order; the model is that of all rows."""
    write(songs / "new.csv", 20, 60, TAGS, columns="tags,b,a,id")
    answer = nearlabel("update", "m.skops", "new.csv")
    assert answer.code == 0, answer.err
    assert "60 -> 80" in answer.out
    assert "labels added since the fit     loud" in answer.out
    assert "DATA has no column 'title', which the model saves: it is blank for the added samples." in answer.err
    card = read_card("m.skops")
    assert card.data.label_names == TAGS
    assert card.data.rows == 80
    assert read_kept("m.skops")["id"][-1] == "s79"
    assert read_kept("m.skops")["title"][-2:] == ("", "")
    both = (songs / "songs.csv").read_text().splitlines()
    write(songs / "new2.csv", 20, 60, TAGS)
    (songs / "all.csv").write_text("\n".join(both + (songs / "new2.csv").read_text().splitlines()[1:]) + "\n")
    fit = "fit all.csv --labels-column tags --ignore id,title --method mlknn --k 5 --thresholds micro-f --validate none"
    assert nearlabel(*fit.split(), "--out", "all.skops").code == 0
    X = np.random.default_rng(1).normal(size=(30, 2))
    places = [read_card("all.skops").data.label_names.index(tag) for tag in TAGS]
    expected = load_model("all.skops").predict_proba(X)[:, places]
    assert (load_model("m.skops").predict_proba(X) == expected).all()
    shown = nearlabel("card", "m.skops").out
    assert "Changes since the fit" in shown
    assert "rows added since the fit       20" in shown


@pytest.mark.parametrize(
    ("name", "content", "counts"),
    [
        ("new.csv", "title,tags,id,a,b\nsad,loud,n1,9,9\n", (0, 0, 1)),
        ("new.csv", "title,tags,id,a,b\nsad,,n1,9,9\ncalm,loud;sad,n2,9,9\n", (0, 1, 1)),
        ("new.jsonl", '{"title": "sad", "tags": ["loud"], "id": "n1", "a": 9, "b": 9}\n', (0, 0, 1)),
        ("new.jsonl", '{"title": "sad", "tags": [], "id": "n1", "a": 9, "b": 9, "more": "sad"}\n', (0, 0)),
        ("new.csv", "title,tags,id,a,b\nsad,,n1,9,9\n", (0, 0)),
    ],
)
def test_labels_are_in_the_column_of_the_fit(nearlabel, songs, name, content, counts):
    """Whatever the tags there, and whatever other columns contain; nothing is guessed, so nothing is told."""
    before = read_card("m.skops")
    assert before.labels_column == ("tags",)
    (songs / name).write_text(content)
    answer = nearlabel("update", "m.skops", name)
    assert answer.code == 0, answer.err
    assert "Labels are read" not in answer.err
    card = read_card("m.skops")
    assert card.data.label_names == TAGS[: len(counts)]
    known = (*before.data.label_counts, 0)
    assert card.data.label_counts == tuple(map(sum, zip(known, counts, strict=False)))
    assert card.labels_column == ("tags",)


def test_rows_of_unknown_labels_only_are_refused(nearlabel, songs):
    """Unlike rows without a tag: they would have no labels."""
    (songs / "new.jsonl").write_text('{"title": "sad", "tags": null, "id": "n1", "a": 9, "b": 9}\n')
    answer = nearlabel("update", "m.skops", "new.jsonl")
    assert answer.code == 2
    assert "column 'tags' of new.jsonl must" in answer.err
    assert read_card("m.skops").data.rows == 60


@pytest.mark.parametrize("fit", ["without the column", "an older model"])
def test_a_saved_column_is_not_taken_for_the_labels(nearlabel, songs, fit):
    """Without the column of the fit, labels are guessed among the others, with a note, or must be named."""
    if fit == "an older model":
        data = load_dataset("songs.csv", labels_column="tags", ignore=("id", "title"))
        save_model(load_model("m.skops"), "m.skops", data=data, keep=read_kept("m.skops"))
    column = "tags" if fit == "an older model" else "moods"
    (songs / "new.csv").write_text(f"title,{column},id,a,b\nsad,loud,n1,9,9\n")
    answer = nearlabel("update", "m.skops", "new.csv")
    assert answer.code == 2
    assert "one of --labels, --labels-prefix and --labels-column must name the labels of new.csv" in answer.err
    (songs / "new.csv").write_text(f"title,{column},id,a,b\nsad,calm,n1,9,9\n")
    answer = nearlabel("update", "m.skops", "new.csv")
    assert answer.code == 0, answer.err
    assert f"Labels are read from the column '{column}', most of whose tags the model knows." in answer.err
    assert read_card("m.skops").data.label_names == TAGS[:2]


def test_several_columns_of_tags(nearlabel, tmp_path, monkeypatch):
    """All of them are on the card, be it by their beginning."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{row},{row * 7 % 11},{'xy'[row % 2]},{'xyz'[row % 3]}" for row in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,tag1,tag2", *rows, ""]))
    (tmp_path / "b.csv").write_text("tag2,tag1,a,b\nnew,,1,2\n")
    for option, columns in (("tag*", ("tag*",)), ("tag1,tag2", ("tag1", "tag2"))):
        fit = ("a.csv", "--labels-column", option, "--method", "mlknn", "--k", 1, "--validate", "none", "--force")
        assert nearlabel("fit", *fit, "--out", "m.skops").code == 0
        assert read_card("m.skops").labels_column == columns
        assert f"column of tags {', '.join(columns)}" in " ".join(nearlabel("card", "m.skops").out.split())
        answer = nearlabel("update", "m.skops", "b.csv")
        assert answer.code == 0, answer.err
        assert read_card("m.skops").data.label_names == ("x", "y", "z", "new")


def test_stale_until_tuned_anew(nearlabel, songs):
    """Said by update, card and predict; tuned without DATA, too."""
    write(songs / "new.csv", 20, 60, TAGS[:2])
    answer = nearlabel("update", "m.skops", "new.csv")
    assert "stale: tuned before the change" in answer.out
    assert "--retune tunes them again" in answer.err
    assert "tuned before samples were added or removed" in nearlabel("predict", "m.skops", "new.csv").err
    assert "fresh" in nearlabel("update", "m.skops", "--retune").out
    assert "tuned before" not in nearlabel("predict", "m.skops", "new.csv").err
    assert "or --retune must be given, got neither" in nearlabel("update", "m.skops").err


@pytest.mark.parametrize("thresholds", ["none", "micro-f"])
def test_ml_mlm(nearlabel, songs, thresholds):
    """Its rows come and go as those of methods by votes; what is stale is named."""
    words = "fit songs.csv --labels-column tags --id id --show title --method mlmlm --validate none --out d.skops"
    assert nearlabel(*words.split(), "--thresholds", thresholds).code == 0
    X = np.random.default_rng(1).normal(size=(9, 2))
    before = load_model("d.skops").predict_proba(X)
    write(songs / "new.csv", 20, 60, TAGS[:2])
    answer = nearlabel("update", "d.skops", "new.csv")
    assert answer.code == 0, answer.err
    assert "60 -> 80" in answer.out
    assert "power                          stale: selected before the change" in answer.out
    assert "Thresholds and power tuned on all rows are stale. Hint: --retune" in answer.err
    assert "before samples were added or removed" in nearlabel("predict", "d.skops", "new.csv").err
    (songs / "erased.txt").write_text("\n".join(f"s{row}" for row in range(60, 80)))
    answer = nearlabel("forget", "d.skops", "--ids", "erased.txt", "--retune")
    assert answer.code == 0, answer.err
    assert "stale" not in answer.out + answer.err
    assert "before samples" not in nearlabel("predict", "d.skops", "new.csv").err
    assert abs(load_model("d.skops").predict_proba(X) - before).max() < 1e-8


def test_forget_by_id_and_by_number(nearlabel, songs):
    """All rows with an id go, from a file or standard input."""
    (songs / "erased.txt").write_text("s7\n\ns12\r\n")
    answer = nearlabel("forget", "m.skops", "--ids", "erased.txt", "--retune")
    assert answer.code == 0, answer.err
    assert "60 -> 58" in answer.out
    assert "s7" not in read_kept("m.skops")["id"]
    answer = nearlabel("forget", "m.skops", "--rows", "0,1")
    assert answer.code == 0
    assert re.search(r"this run +2 forgotten +\n", answer.out)
    assert read_kept("m.skops")["id"][:2] == ("s2", "s3")
    assert read_card("m.skops").changes.forgotten == 4
    (songs / "titles.txt").write_text("Song 30\n")
    assert nearlabel("forget", "m.skops", "--ids", "titles.txt", "--column", "title").code == 0
    assert "s30" not in read_kept("m.skops")["id"]


ODD_IDS = ("a1", "a1 ", " a2", "a2", "p\x1ca1", "x\u2028y")


@pytest.mark.parametrize("gone", [[text] for text in ODD_IDS] + [[ODD_IDS[1], ODD_IDS[4]]])
@pytest.mark.parametrize(("begin", "end"), [("", "\n"), ("\ufeff", "\r\n")])
def test_only_the_very_ids_are_forgotten(nearlabel, tmp_path, gone, begin, end):
    """A line is an id with all its characters, whatever other ids are without some of them."""
    X = np.arange(len(ODD_IDS) * 2.0).reshape(-1, 2)
    model, file = tmp_path / "m.skops", tmp_path / "ids.txt"
    save_model(MLkNN(n_neighbors=1).fit(X, X[:, :2] % 4 > 1), model, keep={"id": ODD_IDS})
    file.write_bytes((begin + end.join(gone) + end).encode())
    answer = nearlabel("forget", model, "--ids", file)
    assert (answer.code, answer.err) == (0, "")
    assert read_kept(model)["id"] == tuple(text for text in ODD_IDS if text not in gone)


@pytest.mark.parametrize(("asked", "known"), [("a1", "a1 "), (" a2", "a2"), ("\x1cp", "p"), ("a2\u2028", "a2")])
def test_ids_that_differ_in_blanks(nearlabel, tmp_path, asked, known):
    """They are named, and no sample goes: neither the similar one nor those whose ids are there."""
    ids = ("a1 ", "a2", " b", "b", "p", "q")
    X = np.arange(12.0).reshape(-1, 2)
    model, file = tmp_path / "m.skops", tmp_path / "ids.txt"
    save_model(MLkNN(n_neighbors=1).fit(X, X[:, :2] % 4 > 1), model, keep={"id": ids})
    before = model.read_bytes()
    file.write_bytes(f"q\n{asked}\n".encode())
    answer = nearlabel("forget", model, "--ids", file)
    assert answer.code == 2
    assert f"got {asked!r} for {known!r}. Hint: white space at the ends of an id is part of it." in answer.err
    assert model.read_bytes() == before


@pytest.mark.parametrize("begin", [b"", b"\xef\xbb\xbf"], ids=["plain", "with a byte order mark"])
def test_forget_ids_of_standard_input(nearlabel, songs, monkeypatch, begin):
    """They are UTF-8 whatever the terminal's encoding, as in a file; other bytes are an error with their line."""
    table = (songs / "songs.csv").read_text(encoding="utf-8").replace("s7,", "sieben-ä,")
    (songs / "songs.csv").write_text(table, encoding="utf-8")
    words = "fit songs.csv --labels-column tags --id id --ignore title --method mlknn --k 5 --validate none --out"
    assert nearlabel(*words.split(), "m.skops", "--force").code == 0

    def forget(content):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content), encoding="latin-1"))
        return nearlabel("forget", "m.skops", "--ids", "-")

    assert "got standard input with other bytes in line 2" in forget(begin + b"s1\n\xe4\n").err
    assert forget(begin + "sieben-ä\n".encode()).code == 0
    assert "sieben-ä" not in read_kept("m.skops")["id"]
    monkeypatch.setattr(sys, "stdin", None)
    assert "got - without any" in nearlabel("forget", "m.skops", "--ids", "-").err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names on Windows")
@pytest.mark.parametrize(
    "words",
    [
        "forget m.skops --ids pipe.skops",
        "forget pipe.skops --rows 1",
        "update pipe.skops songs.csv",
        "card pipe.skops",
        "predict pipe.skops songs.csv",
        "report pipe.skops songs.csv --out page.html",
        "audit pipe.skops",
    ],
)
def test_a_pipe_is_not_waited_for(nearlabel, songs, words):
    """As ids or as a model: nobody may ever write into it, or write without end."""
    os.mkfifo(songs / "pipe.skops")
    answer = nearlabel(*words.split())
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("nearlabel: pipe.skops must be a file that can be read several times, got a pipe.")


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device on Windows")
@pytest.mark.parametrize("words", ["forget m.skops --ids /dev/zero", "card /dev/zero"])
def test_a_device_is_not_read(nearlabel, songs, words):
    """It has no end."""
    answer = nearlabel(*words.split())
    assert answer.code == 2
    assert answer.err.startswith("nearlabel: /dev/zero must be a file that can be read several times, got a device.")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("forget m.skops", "one of the arguments --ids --rows is required"),
        ("forget m.skops --rows x", "must be numbers of rows, from 0, separated by commas, got 'x'"),
        ("forget m.skops --rows 60", "rows must be numbers from 0 to 59, got 60"),
        ("forget m.skops --rows 1 --column id", "--column must go with --ids, got --rows"),
        ("forget m.skops --ids none.txt", "none.txt: No such file"),
        ("forget m.skops --ids empty.txt", "--ids must be a file with an id on each line, got empty.txt without any"),
        (
            "forget forest.skops --rows 1",
            "ALL_ROWS --method rfpct --scale none --labels-column tags --ignore id,title --out forest.skops --force; ",
        ),
        (
            "update forest.skops songs.csv",
            "to be updated, got Pipeline(FeatureScaler, RandomForestPCT)",
        ),
        ("update m.skops songs.csv", "got 60 of 60 that are: 's0', 's1', 's2' and 57 more. Hint: --skip-existing adds"),
        ("update m.skops twice.csv", "ids of new samples must differ, got 's90' more than once in the column 'id'"),
        ("update m.skops --retune --replace", "--skip-existing, --replace and --force must go with DATA"),
        ("update m.skops songs.csv --replace --force", "not allowed with argument"),
        ("update m.skops lacking.csv", "DATA must have the features of the model, got none named 'b'"),
    ],
)
def test_errors_change_nothing(nearlabel, songs, words, message):
    """In one line, with the file as it was."""
    (songs / "empty.txt").write_text("\n\r\n")
    write(songs / "lacking.csv", 5, 60, TAGS[:2], columns="id,a,tags")
    (songs / "twice.csv").write_text("id,a,b,tags\ns90,1,2,sad\ns90,1,3,calm\n")
    if "forest" in words:
        fit = "fit songs.csv --labels-column tags --ignore id,title --method rfpct --validate none --out forest.skops"
        assert nearlabel(*fit.split()).code == 0
    before = (songs / "m.skops").read_bytes()
    answer = nearlabel(*words.split())
    assert answer.code == 2
    assert message in answer.err
    assert (songs / "m.skops").read_bytes() == before


@pytest.mark.parametrize("data", ["new.csv", "-"], ids=["file", "standard input"])
def test_the_same_rows_twice(nearlabel, songs, monkeypatch, data):
    """They are refused, or replace those of the first time."""
    write(songs / "new.csv", 20, 50, TAGS[:2])

    def update(*options):
        content = io.BytesIO((songs / "new.csv").read_bytes())
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(content, encoding="utf-8"))
        return nearlabel("update", "m.skops", data, *options)

    refused = update()
    assert (refused.code, refused.out) == (2, "")
    assert "got 10 of 20 that are: 's50', 's51', 's52' and 7 more. Hint: --skip-existing adds the other" in refused.err
    first = update("--replace").out
    assert "60 -> 70" in first
    assert re.search(r"this run +10 new, 10 replaced +\n", first)
    assert "got 20 of 20" in update().err
    again = update("--replace").out
    assert "70 -> 70" in again
    assert re.search(r"this run +0 new, 20 replaced +\n", again)
    assert again.index("this run") < again.index("70 -> 70") < again.index("rows added since the fit       40")
    assert read_kept("m.skops")["id"] == tuple(f"s{row}" for row in range(70))


def test_a_repeated_update_can_change_nothing(nearlabel, songs):
    """With ids the other rows are added; without ids the same rows are found, too, unless --force says otherwise."""
    write(songs / "new.csv", 20, 50, TAGS[:2])
    answer = nearlabel("update", "m.skops", "new.csv", "--skip-existing")
    assert "60 -> 70" in answer.out
    assert re.search(r"this run +10 new, 10 skipped +\n", answer.out)
    before = (songs / "m.skops").read_bytes()
    answer = nearlabel("update", "m.skops", "new.csv", "--skip-existing")
    assert (answer.code, (songs / "m.skops").read_bytes()) == (0, before)
    assert "70 -> 70" in answer.out
    assert re.search(r"this run +0 new, 20 skipped +\n", answer.out)
    fit = "fit songs.csv --labels-column tags --ignore id,title --method mlknn --k 5 --validate none --out plain.skops"
    assert nearlabel(*fit.split()).code == 0
    assert "60 -> 80" in nearlabel("update", "plain.skops", "new.csv", "--skip-existing").out
    refused = nearlabel("update", "plain.skops", "new.csv")
    assert refused.code == 2
    assert "got the same 20 as on 20" in refused.err
    assert "Hint: --skip-existing leaves them out, --force adds them again." in refused.err
    assert "80 -> 80" in nearlabel("update", "plain.skops", "new.csv", "--skip-existing").out
    assert "80 -> 100" in nearlabel("update", "plain.skops", "new.csv", "--force").out


def test_forgetting_again_is_no_error(nearlabel, songs):
    """How many ids are not there is told, and the file stays."""
    (songs / "erased.txt").write_text("s7\ns12\n")
    assert "ids" not in nearlabel("forget", "m.skops", "--ids", "erased.txt").err
    before = (songs / "m.skops").read_bytes()
    answer = nearlabel("forget", "m.skops", "--ids", "erased.txt")
    assert (answer.code, (songs / "m.skops").read_bytes()) == (0, before)
    assert "58 -> 58" in answer.out
    assert "2 of 2 ids are not in the saved column 'id': 's12', 's7'. They were forgotten before, or are" in answer.err
    assert "No sample was removed by its id. Hint: --column names another column." in answer.err
    (songs / "erased.txt").write_text("s7\ns13\n")
    answer = nearlabel("forget", "m.skops", "--ids", "erased.txt")
    assert "58 -> 57" in answer.out
    assert "1 of 2 ids are not in the saved column 'id': 's7'." in answer.err
    assert "No sample was removed" not in answer.err


def test_rows_without_ids_are_added_with_a_note(nearlabel, songs):
    """The model has none, DATA has none, some cells are blank."""
    fit = "fit songs.csv --labels-column tags --ignore id,title --method mlknn --k 5 --validate none --out plain.skops"
    assert nearlabel(*fit.split()).code == 0
    write(songs / "new.csv", 2, 60, TAGS[:2])
    answer = nearlabel("update", "plain.skops", "new.csv")
    assert answer.code == 0
    assert "The model has no ids, so rows that the model has are noticed only if an update added the" in answer.err
    assert "a model that was saved without them" in nearlabel("update", "plain.skops", "new.csv", "--replace").err
    (songs / "blank.csv").write_text("id,a,b,tags\n,1,2,sad\n,1,2,sad\ns90,1,3,calm\n")
    answer = nearlabel("update", "m.skops", "blank.csv")
    assert "2 rows have no 'id', so rows that the model has are noticed only if an update added the" in answer.err
    write(songs / "none.csv", 2, 70, TAGS[:2], columns="a,b,tags")
    answer = nearlabel("update", "m.skops", "none.csv")
    assert "DATA has no column 'id', which the model saves: it is blank for the added samples." in answer.err
    assert "DATA has no ids, so rows that the model has are noticed only if an update added the" in answer.err
    assert read_card("m.skops").data.rows == 65


def test_numbers_as_ids(nearlabel, songs):
    """A table of another program may have lost the zeros of 007."""
    (songs / "a.csv").write_text("id,a,b,tags\n007,1,2,sad\n008,1,3,calm\n009,2,3,calm\n")
    fit = "fit a.csv --labels-column tags --id id --method mlknn --k 1 --validate none --out a.skops"
    assert nearlabel(*fit.split()).code == 0
    (songs / "b.jsonl").write_text('{"id": 7, "a": 1, "b": 2, "tags": ["sad"]}\n')
    assert (
        "must be written as in the model's column 'id', got '7' for '007'"
        in nearlabel("update", "a.skops", "b.jsonl").err
    )
    (songs / "c.jsonl").write_text('{"id": "007", "a": 1, "b": 2, "tags": ["sad"]}\n')
    assert "got 1 of 1 that are: '007'" in nearlabel("update", "a.skops", "c.jsonl").err


def test_ids_that_name_several_rows(nearlabel, songs):
    """A note at the fit."""
    (songs / "a.csv").write_text("id,a,b,tags\nx,1,2,sad\nx,1,3,calm\n,2,3,calm\n,3,3,sad\n")
    fit = "fit a.csv --labels-column tags --id id --method mlknn --k 1 --validate none --out a.skops"
    answer = nearlabel(*fit.split())
    assert answer.code == 0
    assert "1 id is in several rows, such as 'x': update --replace and forget --ids change all of them." in answer.err
    assert "Hint: --show id for a column that does not name single rows." in answer.err
    (songs / "b.csv").write_text("id,a,b,tags\nx,1,2,sad\ny,5,3,calm\n")
    replaced = nearlabel("update", "a.skops", "b.csv", "--replace")
    assert re.search(r"this run +1 new, 2 replaced +\n", replaced.out)
    assert "4 -> 4" in replaced.out


def test_a_model_that_is_fitted_again(nearlabel, songs):
    """Fixed thresholds around ML-kNN: update and forget work, and the card reports how."""
    fit = "fit songs.csv --labels-column tags --id id --ignore title --method mlknn@0.4 --k 5 --scale minmax"
    answer = nearlabel(*fit.split(), "--validate", "none", "--out", "r.skops")
    assert "can be updated   by refit" in answer.out
    write(songs / "new.csv", 20, 60, TAGS[:2])
    assert "60 -> 80" in nearlabel("update", "r.skops", "new.csv").out
    assert "80 -> 79" in nearlabel("forget", "r.skops", "--rows", "0").out
    shown = nearlabel("card", "r.skops").out
    assert "can be updated   by refit" in shown
    assert "column of ids    id" in shown
    assert "nearlabel fit DATA --method mlknn@0.4 --k 5 --scale minmax --search exact" in shown


def test_options_on_a_card_are_quoted(nearlabel, songs):
    """A card may come from anyone, and the hint is there to be copied: only what `fit` writes is shown."""
    model = MLkNN(1).fit([[0.0], [1.0]], [[1, 0], [0, 1]])
    save_model(model, "evil.skops", fit_options="--method 'a; rm -rf ~'")
    assert "nearlabel fit DATA --method 'a; rm -rf ~'" in nearlabel("card", "evil.skops").out
    for options in ("--method 'a", "--method a; rm -rf ~", "--method a --out .bashrc --force", "--out b", "--force"):
        save_model(model, "odd.skops", fit_options=options)
        shown = nearlabel("card", "odd.skops")
        assert shown.code == 0
        assert "made by" not in shown.out


def test_a_scaling_stays_and_says_so(nearlabel, songs):
    """How many new rows are beyond the others is told."""
    fit = "fit songs.csv --labels-column tags --ignore id,title --method mlknn --k 5 --scale minmax --validate none"
    assert nearlabel(*fit.split(), "--out", "scaled.skops").code == 0
    (songs / "far.csv").write_text("a,b,tags\n0.1,0.1,calm\n9,0.1,sad\n0.2,-9,sad\n")
    answer = nearlabel("update", "scaled.skops", "far.csv")
    assert answer.code == 0, answer.err
    assert "not fitted again: FeatureScaler.\nnearlabel: 2 of 3 added samples have values outside" in answer.err
    assert "nearlabel: Moved to its end: a (1), b (1).\n" in answer.err


@pytest.mark.long
def test_unknown_labels_come_with_rows(nearlabel, songs):
    """Cells that the option names, and empty ones."""
    for name, rows in (("m1", "0,0,1,0 1,0,0,1 2,1,1,1 0,2,0,1 3,1,1,0 1,3,0,0"), ("m2", "2,2,?,1 3,3,1, 0,3,0,0")):
        lines = ["a,b,mood_calm,mood_sad", *rows.split()]
        (songs / f"{name}.csv").write_text("\n".join(lines) + "\n")
    fit = "fit m1.csv --labels-prefix mood_ --method mlknn --k 2 --validate none --out moods.skops"
    assert nearlabel(*fit.split()).code == 0
    answer = nearlabel("update", "moods.skops", "m2.csv", "--unknown", "?", "--labels-prefix", "mood_")
    assert answer.code == 0, answer.err
    assert read_card("moods.skops").data.unknown_cells == 2
    assert "Samples added since the fit" in page(nearlabel, "moods.skops", "m1.csv")


def page(nearlabel, model, data):
    """Return the report of a model."""
    answer = nearlabel("report", model, data, "--labels-prefix", "mood_", "--out", "page.html")
    assert answer.code == 0, answer.err
    return Path("page.html").read_text(encoding="utf-8")
