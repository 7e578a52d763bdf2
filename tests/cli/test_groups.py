"""Rows that are held out together, on the command line."""

import json

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def songs(tmp_path):
    """40 songs, each in two versions; version and song are in columns."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(40, 3)).round(3), 2, axis=0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["song"] = [f"song {row // 2}" for row in range(80)]
    for number, label in enumerate(("calm", "loud")):
        frame[f"mood_{label}"] = np.repeat(rng.random(40) < 0.4 + number / 5, 2).astype(int)
    frame = frame.sample(frac=1, random_state=0)
    frame.to_csv(tmp_path / "songs.csv", index=False)
    return tmp_path / "songs.csv"


LABELS = ("--labels-prefix", "mood_")


def test_a_column_and_duplicates_are_the_same_groups(nearlabel, songs, tmp_path):
    """Here equal rows are one song; the scores are no longer those of rows that know their copies."""
    micro = []
    for options in (("--ignore", "song"), ("--groups", "song"), ("--groups", "duplicates", "--ignore", "song")):
        out = tmp_path / "m.skops"
        arguments = ("fit", songs, *LABELS, *options, "--method=mlknn", "--k", 1, "--out", out, "--quiet", "--force")
        assert nearlabel(*arguments).code == 0
        card = json.loads(nearlabel("card", out, "--format", "json").out)
        micro.append(card["scores"]["micro_f1"])
        assert [*card["data"]["feature_names"]] == ["a", "b", "c"]
    assert micro[0] == 1
    assert micro[1] == micro[2] < 0.9


@pytest.mark.parametrize("command", [("evaluate", "--cv", 3, "--methods", "brknn"), ("tune", "--methods", "brknn")])
def test_other_commands(nearlabel, songs, command):
    """Folds part no song; leave-one-out leaves out songs."""
    name, *options = command
    arguments = (name, songs, *LABELS, *options, "--k", 1, "--format", "json", "--quiet")
    alone = nearlabel(*arguments, "--ignore", "song")
    grouped = nearlabel(*arguments, "--groups", "song")
    assert (alone.code, grouped.code) == (0, 0)
    assert alone.out != grouped.out


def test_no_advice_on_copies_that_are_held_out_together(nearlabel, songs, tmp_path):
    """Without groups the command says that figures are too good, and names the option."""
    arguments = ("fit", songs, *LABELS, "--method=mlknn", "--k", 1, "--out", tmp_path / "m.skops", "--force")
    assert "--groups duplicates" in nearlabel(*arguments, "--ignore", "song").err
    assert nearlabel(*arguments, "--groups", "song").err == ""


def test_a_column_that_is_not_there(nearlabel, songs):
    """The message names those that are."""
    found = nearlabel("fit", songs, *LABELS, "--groups", "sing", "--out", "m.skops")
    assert found.code == 2
    assert "--groups must name columns of" in found.err
    assert "'sing'" in found.err
