"""Half characters: refused where names enter, and shown where a file's name has them."""

import json

import numpy as np
import pandas as pd
import pytest

from nearlabel.datasets import Dataset, from_frame, read_table
from nearlabel.lazy import MLkNN
from nearlabel.persistence import read_kept, save_model, update_model
from nearlabel.preprocessing import MixedFeaturesEncoder
from nearlabel.utils.characters import check_whole, shown

HALF = "a\ud800"
NAMES = pd.Index(["b", HALF], dtype=object)
X, Y = np.arange(8.0).reshape(4, 2), np.array([[0, 1], [1, 0], [1, 1], [0, 1]])


def test_shown():
    """Bytes as bytes, others as code units; whole characters stay."""
    name = b"caf\xe9 \xc3\xa9 \xf0\x9f\x99\x82.csv".decode("utf-8", "surrogateescape")
    assert shown(name) == "caf\\xe9 é 🙂.csv"
    assert shown(HALF) == "a\\ud800"


def test_check_whole():
    """Texts only; the first one is named."""
    check_whole("names", ["é", "🙂", 3, None])
    with pytest.raises(ValueError, match=r"names must be of whole characters, got half a character, \\udce9 alone, in"):
        check_whole("names", ["é", "caf\udce9"])


def fit_a_model(tmp_path):
    """Return the file of a model with ids."""
    return save_model(MLkNN(1).fit(X, Y), tmp_path / "m.skops", keep={"id": list("abcd")})


DOORS = {
    "columns of y": lambda _: MLkNN(1).fit(X, pd.DataFrame(Y, columns=NAMES)),
    "columns of X": lambda _: MLkNN(1).fit(pd.DataFrame(X, columns=NAMES), Y),
    "mixed columns": lambda _: MixedFeaturesEncoder().fit(pd.DataFrame(X, columns=NAMES)),
    "tags": lambda _: MLkNN(1).fit(X, [["b"], [HALF], ["b"], []]),
    "classes": lambda _: MLkNN(1).fit(X, ["b", HALF, "b", "b"]),
    "new tags": lambda _: MLkNN(1).fit(X, [["b"], ["c"], ["b"], []]).partial_fit(X[:1], [[HALF]]),
    "label_names": lambda _: Dataset(X, Y, ("a", "b"), ("c", HALF), "name"),
    "feature_names": lambda _: Dataset(X, Y, ("a", HALF), ("c", "d"), "name"),
    "name": lambda _: Dataset(X, Y, ("a", "b"), ("c", "d"), HALF),
    "a frame's column": lambda _: from_frame(pd.DataFrame(Y, columns=NAMES), labels=["b"]),
    "a frame's cells": lambda _: from_frame(
        pd.DataFrame({"a": [1.0, 2.0], "t": pd.Series(["b", HALF], dtype=object)}), labels_column="t"
    ),
    "JSON": lambda folder: read_table(written(folder), labels_column="t"),
    "ids": lambda folder: save_model(MLkNN(1).fit(X, Y), folder / "n.skops", keep={"id": ["a", "b", "c", HALF]}),
    "a name in keep": lambda folder: save_model(MLkNN(1).fit(X, Y), folder / "n.skops", keep={HALF: list("abcd")}),
    "new ids": lambda folder: update_model(fit_a_model(folder), X[:1], Y[:1], keep={"id": [HALF]}),
    "names of new labels": lambda folder: update_model(fit_a_model(folder), X[:1], Y[:1], label_names=["a", HALF]),
}


def written(folder):
    """Return a file of JSON lines with half a character."""
    path = folder / "a.jsonl"
    path.write_text('{"x": 1, "t": ["a"]}\n{"x": 2, "t": ["a\\ud800"]}\n')
    return path


@pytest.mark.parametrize("door", DOORS)
def test_doors(tmp_path, door):
    """No file could contain such a name; a refused update changes nothing."""
    with pytest.raises(ValueError, match=r"half a character"):
        DOORS[door](tmp_path)
    if (tmp_path / "m.skops").exists():
        assert read_kept(tmp_path / "m.skops")["id"] == tuple("abcd")
    assert not (tmp_path / "n.skops").exists()


def test_pairs_are_characters(tmp_path):
    """JSON writes some characters as two halves."""
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(json.dumps({"x": x, "t": ["🙂"]}) for x in (1, 2)) + "\n")
    assert read_table(path, labels_column="t").label_names == ("🙂",)
