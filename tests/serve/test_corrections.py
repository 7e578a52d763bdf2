"""What the workbench needs of the service: its page, the form, labels that change, and corrections that are kept."""

from __future__ import annotations

import json

import numpy as np
import pytest

from nearlabel import cli
from nearlabel.lazy import BRkNN, MLkNN
from nearlabel.models.refits import relabel
from nearlabel.persistence import load_model, read_kept
from nearlabel.rivals import BinaryRelevance
from nearlabel.serve import LiveModel, make_app
from nearlabel.serve._journal import Change, corrected
from nearlabel.serve._live import end
from nearlabel.thresholds import TunedThresholdsClassifierCV

testclient = pytest.importorskip("fastapi.testclient")
TOKEN = "a-token-of-the-service"


@pytest.fixture
def path(tmp_path):
    """A model of songs with ids and titles; numbers and categories are features."""
    rng = np.random.default_rng(0)
    lines = ["id,title,tempo,mode,tags"]
    lines += [
        f"s{row},Song {row},{rng.integers(60, 180)},{('major', 'minor')[row % 2]},{('calm', 'loud;sad')[row % 2]}"
        for row in range(30)
    ]
    (tmp_path / "songs.csv").write_text("\n".join(lines) + "\n")
    command = ["fit", str(tmp_path / "songs.csv"), "--labels-column", "tags", "--categorical", "mode", "--id", "id"]
    command += ["--show", "title", "--method", "mlknn", "--k", "3", "--validate", "none", "--quiet"]
    assert cli.main([*command, "--out", str(tmp_path / "songs.skops")]) == 0
    return tmp_path / "songs.skops"


@pytest.fixture
def client(path):
    """A client of the model's service."""
    with testclient.TestClient(make_app({"songs": LiveModel(path)}), base_url="http://localhost") as one:
        yield one


def posted(client, path, body, key=""):
    """Return the answer to a request."""
    return client.post(path, json=body, headers={"Idempotency-Key": key} if key else {})


SONG = {"id": "wb-1", "title": "New", "tempo": 100, "mode": "minor", "tags": ["calm"]}


def test_the_page_needs_no_token_but_the_data_do(path):
    """Its files load nothing from elsewhere, and allow no program but their own."""
    app = make_app({"songs": LiveModel(path)}, token=TOKEN)
    with testclient.TestClient(app, base_url="http://example.org") as client:
        page = client.get("/")
        assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        policy = page.headers["content-security-policy"].split("; ")
        assert {"default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'"} <= set(policy)
        for name, kind in (("page.css", "text/css"), ("page.js", "text/javascript"), ("lists.js", "text/javascript")):
            file = client.get(f"/workbench/{name}")
            assert (file.status_code, file.headers["content-type"].partition(";")[0]) == (200, kind)
            assert not {"http://", "https://", "innerHTML"} & set(file.text.split())
        assert {client.get(path).status_code for path in ("/form", "/corrections", "/workbench/none.js")} == {401}
        assert client.get("/form", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200


def test_the_form(client):
    """Columns with their kinds, categories and examples; what is needed, and what can be done."""
    form = client.get("/form").json()
    tempo, mode = form["columns"]
    assert (tempo["name"], tempo["kind"], tempo["required"]) == ("tempo", "number", True)
    assert 60 <= tempo["example"] < 180
    assert mode == {
        "name": "mode",
        "kind": "category",
        "required": False,
        "values": ["major", "minor"],
        "example": "major",
    }
    assert (form["labels"], form["labels_column"], form["id_column"]) == (["calm", "loud", "sad"], "tags", "id")
    assert form["kept"] == ["id", "title"]
    assert [form[name] for name in ("probabilities", "explains", "named", "changes", "rows")] == [True] * 4 + [10_000]


def test_corrections_are_kept(client, path):
    """By hand only; the last of each row; through the model's file and a new start; until they are undone."""
    assert posted(client, "/update", {"rows": [SONG | {"id": "x"}], "existing": "raise"}, "other").status_code == 200
    for number, tags in enumerate((["calm"], ["sad", "new"])):
        body = {"rows": [SONG | {"tags": tags}], "existing": "replace"}
        assert posted(client, "/update", body, f"wb-k{number}").status_code == 200
    assert posted(client, "/relabel", {"id": "s3", "labels": {"calm": True, "sad": False}}, "wb-k2").status_code == 200
    expected = [
        {"id": "wb-1", "key": "wb-k1", "row": SONG | {"tags": ["sad", "new"]}},
        {"id": "s3", "key": "wb-k2", "cells": {"calm": True, "sad": False}},
    ]
    assert client.get("/corrections").json()["items"] == expected
    client.app.state.app.served["songs"].compact()
    assert client.get("/corrections").json()["items"] == expected
    again = LiveModel(path)
    assert [*again.corrections] == expected
    again.relabel("s3", {"calm": False}, "wb-k3")
    again.forget(["wb-1"], "wb-k4")
    left = [{"id": "s3", "key": "wb-k3", "cells": {"sad": False}}]
    assert ([*again.corrections], [*LiveModel(path).corrections]) == (left, left)
    again.compact()
    assert b"New" not in again.journal.path.read_bytes()
    assert [*LiveModel(path).corrections] == left
    end(path)
    file = path.with_name("songs.skops.corrections.jsonl")
    assert [json.loads(line) for line in file.read_text().splitlines()] == left
    assert not again.journal.path.exists()
    assert [*LiveModel(path, read_only=True).corrections] == left
    assert [*LiveModel(path).corrections] == left
    assert not file.exists()  # it is in the journal: what is forgotten next must not stay in it


def test_a_damaged_file_of_corrections_is_refused(path):
    """With its name, and what to do."""
    file = path.with_name("songs.skops.corrections.jsonl")
    for content in ("{", "[]\n", '{"id": 1}\n'):
        file.write_text(content)
        with pytest.raises(ValueError, match=r"songs\.skops\.corrections\.jsonl must have .* Hint: move it away"):
            LiveModel(path)


def test_a_changed_label_leaves_the_row_as_it_is(client, path):
    """The sample keeps its features, id and title; a later start has it; errors change nothing."""
    before = load_model(path)[-1].search_.take([3])
    assert posted(client, "/relabel", {"id": "s3", "labels": {"calm": True}}, "wb-1").json()["model"]["samples"] == 30
    client.app.state.app.served["songs"].compact()
    model, kept = load_model(path), read_kept(path)
    place = kept["id"].index("s3")
    assert kept["title"][place] == "Song 3"
    assert model[-1].training_labels()[place].tolist() == [1, 1, 1]
    assert (model[-1].search_.take([place]) == before).all()
    for body, words in (
        (
            {"id": "s99", "labels": {"calm": True}},
            "id must be that of one sample of the model, got 's99', which no sample has.",
        ),
        (
            {"id": "s3", "labels": {"none": True, "nil": False}},
            "labels must be labels of the model, got 'none', 'nil'.",
        ),
    ):
        answer = posted(client, "/relabel", body, "wb-2")
        assert (answer.status_code, words in answer.json()["detail"]) == (422, True)
    assert client.get("/ready").json()["models"][0]["version"] == 1


def test_suspects_have_ids_and_saved_columns(client):
    """So that a person sees which row it is, and the page can change it."""
    items = posted(client, "/audit", {"n": 3}).json()["items"]
    assert [(one["id"], one["kept"]["title"]) for one in items] == [
        (f"s{one['row']}", f"Song {one['row']}") for one in items
    ]


@pytest.mark.parametrize("make", [lambda: MLkNN(3), lambda: TunedThresholdsClassifierCV(BRkNN(3), cv="loo")])
@pytest.mark.parametrize("unknown", [False, True])
def test_relabel_equals_a_fit(make, unknown):
    """To the same samples, the one with other labels last; unknown cells stay."""
    rng = np.random.default_rng(1)
    X, Y = rng.integers(0, 4, (40, 3)).astype(float), rng.integers(0, 2, (40, 4)).astype(float)
    if unknown:
        Y[7, 2] = np.nan
    other = np.delete(np.arange(40), 7)
    wanted = Y[7].copy()
    wanted[[0, 1]] = 1 - wanted[[0, 1]]
    model = relabel(make().fit(X, Y), 7, {0: bool(wanted[0]), 1: bool(wanted[1])})
    fresh = make().fit(np.vstack([X[other], X[7]]), np.vstack([Y[other], wanted]))
    if hasattr(fresh, "retune"):
        model.retune()
    queries = rng.normal(1.5, 1, (20, 3))
    assert np.array_equal(model.predict(queries), fresh.predict(queries))
    assert np.array_equal(model.predict_proba(queries), fresh.predict_proba(queries))


def test_relabel_refuses_models_without_their_samples():
    """They are to be fitted again."""
    model = BinaryRelevance().fit([[0.0], [1.0], [2.0]], [[0, 1], [1, 0], [1, 1]])
    with pytest.raises(TypeError, match="model must"):
        relabel(model, 0, {0: True})


def test_what_becomes_of_corrections():
    """Others' changes of a corrected row end its correction, but not if they leave the row out."""
    known = corrected({}, Change(1, "update", {"rows": [SONG], "existing": "replace"}, "wb-1"), "id")
    assert json.dumps(known) == json.dumps({"wb-1": {"id": "wb-1", "key": "wb-1", "row": SONG}})
    skipped = Change(2, "update", {"rows": [SONG], "existing": "skip"}, "")
    assert corrected(known, skipped, "id") == known
    assert corrected(known, Change(2, "update", {"rows": [SONG], "existing": "replace"}, ""), "id") == {}
    assert corrected(known, Change(2, "forget", {"ids": ["wb-2"]}, ""), "id") == known
    without_ids = corrected({}, Change(1, "update", {"rows": [SONG], "existing": "add"}, "wb-9"), "")
    assert without_ids == {"wb-9": {"id": "", "key": "wb-9", "row": SONG}}
    for column in ("id", ""):
        blank = SONG | {"id": None, "": None}
        known = corrected({}, Change(1, "update", {"rows": [blank], "existing": "add"}, "wb-9"), column)
        assert known == {"wb-9": {"id": "", "key": "wb-9", "row": blank}}
