import json
from datetime import UTC, datetime

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from nearlabel.datasets import Dataset
from nearlabel.lazy import MLkNN
from nearlabel.persistence import save_model
from nearlabel.rivals import BinaryRelevance
from nearlabel.thresholds import FixedThresholdsClassifier

LABELS = ("[red] apple", "[/b] pear", ":lemon:")


@pytest.fixture
def saved(tmp_path, rows):
    """A model with all that a card can hold."""
    X, Y = rows
    return save_model(
        FixedThresholdsClassifier(MLkNN(3), [0.25, np.inf, 0.5]).fit(X, Y),
        tmp_path / "fruit.skops",
        data=Dataset(X, Y, tuple("xyz"), LABELS, "fruit"),
        scores={"micro_f1": 0.75},
        measured="by eye",
        notes="A first try | of many.",
        date=datetime(2026, 3, 1, tzinfo=UTC),
    )


def test_table(nearlabel, saved):
    """Every part of the card, names as they are."""
    answer = nearlabel("card", saved)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("FixedThresholdsClassifier(MLkNN)\n")
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    for line in (
        "saved 2026-03-01T00:00:00+00:00", "rows 30", f"label names {', '.join(LABELS)}", "estimator__n_neighbors 3",
        "Scores (by eye)", "micro_f1 0.7500", "[red] apple 0.25", "[/b] pear inf", "A first try | of many.",
    ):  # fmt: skip
        assert line in lines, line


def test_json(nearlabel, saved):
    """The whole card, for programs."""
    card = json.loads(nearlabel("card", saved, "--format", "json").out)
    assert card["thresholds"] == [0.25, "inf", 0.5]
    assert (card["scores"], card["data"]["label_names"]) == ({"micro_f1": 0.75}, list(LABELS))


def test_markdown(nearlabel, saved):
    """Tables that Markdown takes."""
    out = nearlabel("card", saved, "--format", "markdown").out
    assert out.startswith("**FixedThresholdsClassifier(MLkNN)**\n\n| ")
    assert "| micro_f1 | 0.7500 |\n" in out


@pytest.mark.filterwarnings("ignore:.* contains types that load_model")
def test_a_bare_card(nearlabel, tmp_path, rows):
    """Of a model that was saved without a word: only what it knows; and what must be trusted."""
    model = BinaryRelevance(GradientBoostingClassifier(n_estimators=1)).fit(*rows)
    out = nearlabel("card", save_model(model, tmp_path / "m")).out
    assert "sklearn.tree._tree.Tree" in out
    assert "BinaryRelevance(GradientBoostingClassifier)" in out
    for absent in ("Scores", "Thresholds", "digest", "rows"):
        assert absent not in out


def test_many_names_are_cut(nearlabel, tmp_path):
    """A table shows the first, JSON all of them."""
    names = tuple(f"label {number}" for number in range(500))
    data = Dataset(np.eye(500), np.eye(500, dtype=int), names, names, "many")
    file = save_model(MLkNN(1).fit(data.X, data.Y), tmp_path / "m", data=data)
    assert "label 19 and 480 more" in nearlabel("card", file).out
    assert json.loads(nearlabel("card", file, "--format", "json").out)["data"]["label_names"] == list(names)


def test_errors_are_one_line(nearlabel, tmp_path):
    """No file, and a file that is no model."""
    (tmp_path / "m.skops").write_text("no model")
    for file in (tmp_path / "none", tmp_path / "m.skops"):
        answer = nearlabel("card", file)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert "must be the file of a model, " in answer.err
