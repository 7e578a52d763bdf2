"""The service in this process: its answers, its errors, and what it refuses."""

import asyncio
import json
import os
import shutil
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from nearlabel import cli
from nearlabel.cli._model import open_model
from nearlabel.datasets import Dataset
from nearlabel.lazy import BRkNN
from nearlabel.neighbors import ExactNeighbors
from nearlabel.persistence import (
    forget_rows,
    has_changes,
    load_model,
    read_card,
    read_kept,
    save_model,
    update_model,
    verify,
)
from nearlabel.serve import Limits, LiveModel, _answers, _app
from nearlabel.serve._live import end
from nearlabel.serve._process import Settings, set_up_log
from serve import kills

testclient = pytest.importorskip("fastapi.testclient")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
ROW = {"text": "password locked reset", "product": "app", "priority": 3}
NEW = {"id": "N1", "text": "zebra stripes", "product": "web", "priority": 1, "tags": ["zoo"]}


@pytest.fixture
def named(tmp_path):
    """A model of numbers with names, none of which may be missing."""
    X = np.random.default_rng(0).normal(size=(50, 2))
    data = Dataset(name="numbers", X=X, Y=(X > 0).astype(int), feature_names=("a", "b"), label_names=("x", "y"))
    return save_model(BRkNN(3).fit(data.X, data.Y), tmp_path / "named.skops", data=data)


def post(client, where, body, status=200, **headers):
    """Return the answer, which has this status."""
    answer = client.post(where, json=body, headers=headers)
    assert answer.status_code == status, answer.text
    if status >= 400:
        assert answer.headers["content-type"] == "application/problem+json"
        assert set(answer.json()) == {"type", "title", "status", "detail"}
        assert "Traceback" not in answer.text
        return answer.json()["detail"]
    return answer.json()


def test_rows_texts_arrays_and_csv_get_the_predictions_of_the_model(path, client_of):
    """To the bit, with the facts of the model."""
    model, client = load_model(path), client_of(path)
    rows = [ROW, ROW | {"text": "card refund", "product": None}, ROW | {"text": "freeze card crash", "priority": 4.5}]
    X = np.array([[row["text"], row["product"], float(row["priority"])] for row in rows], dtype=object)
    names = read_card(path).data.label_names
    scores, labels = model.predict_proba(X), model.predict(X)
    answer = post(client, "/predict", {"rows": rows, "proba": True})
    assert answer["model"] == {"name": "tickets", "version": 0, "samples": 60}
    for row, found in enumerate(answer["predictions"]):
        assert found["labels"] == [name for name, is_on in zip(names, labels[row], strict=True) if is_on]
        assert found["scores"] == {names[i]: scores[row, i] for i in np.argsort(-scores[row], kind="stable")}
    arrays = [[row["text"], row["product"], row["priority"]] for row in rows]
    assert post(client, "/predict", {"arrays": arrays, "proba": True}) == answer
    csv = "priority,text,product\n" + "".join(f"{r['priority']},{r['text']},{r['product'] or ''}\n" for r in rows)
    of_csv = client.post("/predict?proba=true", content=csv, headers={"content-type": "text/csv"})
    assert of_csv.json() == answer
    best = post(client, "/models/tickets/predict", {"rows": rows, "top": 1})["predictions"]
    assert [list(one["scores"]) for one in best] == [[next(iter(one["scores"]))] for one in answer["predictions"]]


def test_an_explanation_names_the_neighbours(path, client_of):
    """By the saved ids."""
    found = post(client_of(path), "/explain", {"rows": [ROW]})["predictions"][0]
    ids = set(read_kept(path)["id"])
    assert len(found["explanation"]["neighbors"]) == 5
    assert {one["id"] for one in found["explanation"]["neighbors"]} <= ids
    assert found == post(client_of(path), "/predict", {"rows": [ROW], "explain": True})["predictions"][0]


def test_the_training_distances_are_found_once(path, client_of, monkeypatch):
    """And not for each explanation: this takes a search of all samples."""
    client, found = client_of(path), []
    original = ExactNeighbors.kneighbors

    def counted(self, X=None, *arguments, **options):
        found.append(X is None)
        return original(self, X, *arguments, **options)

    monkeypatch.setattr(ExactNeighbors, "kneighbors", counted)
    for _ in range(3):
        post(client, "/explain", {"rows": [ROW]})
    assert sum(found) == 1


def test_texts_need_one_text_column_alone(path, client_of):
    """Other columns are missing, as in a table without them."""
    assert "'product'" in post(client_of(path), "/predict", {"texts": ["password"]}, 422)


def test_arrays_for_a_model_without_names(numeric, client_of):
    """Its features and labels are numbered."""
    client, model = client_of(numeric), load_model(numeric)
    X = np.random.default_rng(1).standard_normal((5, 4))
    found = post(client, "/predict", {"arrays": X.tolist(), "proba": True})["predictions"]
    assert [[one["scores"][str(label)] for label in range(3)] for one in found] == model.predict_proba(X).tolist()
    assert "arrays" in post(client, "/predict", {"rows": [{"a": 1}]}, 422)
    assert "4 features" in post(client, "/predict", {"arrays": [[1, 2]]}, 422)
    assert "numbers" in post(client, "/predict", {"arrays": [[1, 2, 3, "x"]]}, 422)
    assert "numbers" in post(client, "/predict", {"arrays": [[1, 2, 3, True]]}, 422)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"{", "must be JSON"),
        (b"[]", "the body"),
        (b"\xff\xfe", "must be JSON"),
        (b'{"rows": []}', "at least one row"),
        (b"{}", "exactly one of rows, texts and arrays"),
        (b'{"rows": [{}], "texts": ["a"]}', "exactly one"),
        (b'{"rows": [1]}', "rows.0"),
        (b'{"rows": [{"text": "a", "text": "b"}]}', "a name must occur once"),
        (b'{"rows": [{"text": "a", "product": "app", "priority": "many"}]}', "'priority' of rows must contain numbers"),
        (b'{"rows": [{"text": "a", "product": "app", "priority": 1e999}]}', "must fit in float64"),
        (b'{"rows": [{"text": "a", "product": "app", "priority": 9007199254740993}]}', "priority"),
        (b'{"rows": [{"text": "a", "product": "app"}]}', "'priority'"),
        (b'{"rows": [{"text": "\\ud800", "product": "app", "priority": 1}]}', "half a character"),
        (b'{"texts": [1]}', "texts.0"),
        (b'{"rows": [{"text": "a"}], "bogus": 1}', "bogus"),
        (b'{"rows": [{"text": "a"}], "top": 0}', "top"),
        (b'{"rows": [{"text": "a"}], "top": "3"}', "top"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_wrong_with_a_body_is_told(path, client_of, body, words):
    """With the words of the command line, and the place."""
    answer = client_of(path).post("/predict", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert words in answer.json()["detail"]


def test_a_correction_is_in_the_next_answer_and_in_the_file(path, client_of):
    """As `update` makes it; a new label, too."""
    client = client_of(path)
    copy = shutil.copy(path, path.with_name("copy.skops"))
    row = {name: NEW[name] for name in ROW}
    assert post(client, "/update", {"rows": [NEW]})["model"] == {"name": "tickets", "version": 1, "samples": 61}
    found = post(client, "/explain", {"rows": [row]})["predictions"][0]
    assert found["explanation"]["neighbors"][0]["id"] == "N1"
    assert "zoo" in post(client, "/predict", {"rows": [row], "proba": True})["predictions"][0]["scores"]
    X = np.array([[row["text"], row["product"], float(row["priority"])]], dtype=object)
    names = (*read_card(copy).data.label_names, "zoo")
    update_model(copy, X, np.eye(4, dtype=int)[[3]], label_names=names, keep={"id": ["N1"]})
    wanted = load_model(copy).predict_proba(X)[0]
    again = LiveModel(path)
    assert again.state.answer == (1, 61)
    assert again.compact()
    assert not again.compact()
    assert (load_model(path).predict_proba(X)[0] == wanted).all()
    assert read_card(path).data.label_names == names
    assert read_kept(path)["id"][-1] == "N1"


def test_known_ids_are_refused_skipped_or_replaced(path, client_of):
    """As the options of `update`."""
    client = client_of(path)
    known = NEW | {"id": "T3"}
    assert "ids of new samples must not be in the model" in post(client, "/update", {"rows": [known]}, 422)
    skipped = post(client, "/update", {"rows": [known, NEW], "existing": "skip"})
    assert skipped["model"] == {"name": "tickets", "version": 1, "samples": 61}
    assert post(client, "/update", {"rows": [known], "existing": "replace"})["model"]["samples"] == 61
    assert "existing" in post(client, "/update", {"rows": [NEW], "existing": "maybe"}, 422)


def test_forgotten_is_forgotten(path, client_of):
    """In answers at once, in journal and file after the compaction."""
    client = client_of(path)
    post(client, "/update", {"rows": [NEW | {"text": "unforgettable"}]})
    assert post(client, "/forget", {"ids": ["N1", "T1"]})["model"] == {"name": "tickets", "version": 2, "samples": 59}
    model = LiveModel(path)
    assert model.needs_compaction
    model.compact()
    for file in path.parent.iterdir():
        assert b"unforgettable" not in file.read_bytes()
    assert "T1" not in read_kept(path)["id"]
    assert post(client, "/forget", {"ids": []}, 422)


def test_a_repeated_request_changes_nothing(path, client_of):
    """By its key, also after a restart; a key with another body is refused."""
    client, key = client_of(path), {"Idempotency-Key": "k1"}
    first = post(client, "/update", {"rows": [NEW]}, **key)
    assert post(client, "/update", {"rows": [NEW]}, **key) == first
    assert post(client_of(path), "/update", {"rows": [NEW]}, **key) == first
    assert "another body" in post(client, "/update", {"rows": [NEW | {"id": "N2"}]}, 409, **key)
    assert first["model"]["samples"] == LiveModel(path).state.answer.samples == 61


def test_refused_changes_leave_nothing(path, client_of):
    """Neither in the model nor in the journal."""
    client = client_of(path)
    journal = path.with_name("tickets.skops.journal").read_bytes()
    for rows in ([NEW, NEW], [NEW | {"priority": "x"}], [{"id": "a"}]):
        post(client, "/update", {"rows": rows}, 422)
    post(client, "/update", {"rows": []}, 422)
    unlabelled = {name: NEW[name] for name in NEW if name != "tags"} | {"pruct": "login"}
    assert "rows must have their labels in 'tags'" in post(client, "/update", {"rows": [unlabelled]}, 422)
    assert path.with_name("tickets.skops.journal").read_bytes() == journal
    assert post(client, "/predict", {"rows": [ROW]})["model"]["version"] == 0


def test_read_only(path, client_of):
    """No journal is made."""
    client = client_of(path, read_only=True)
    assert "--read-only" in post(client, "/update", {"rows": [NEW]}, 403)
    assert not path.with_name("tickets.skops.journal").exists()
    assert post(client, "/predict", {"rows": [ROW]})["predictions"]


def test_several_models_by_name(path, numeric, client_of):
    """The first also without its name."""
    client = client_of(path, numeric)
    found = post(client, "/models/numbers/predict", {"arrays": [[0, 0, 0, 0]]})
    assert found["model"]["name"] == "numbers"
    assert client.get("/ready").json()["models"][1] == {"name": "numbers", "version": 0, "samples": 80}
    assert post(client, "/models/nothing/predict", {"rows": [ROW]}, 404)


def test_suggestions_and_suspects(path, client_of):
    """The same as those of the command line's functions; with ids."""
    client = client_of(path)
    rows = [ROW, ROW | {"text": "zebra"}, ROW | {"text": "zebra zoo"}]
    items = post(client, "/suggest", {"rows": rows, "n": 2})["items"]
    assert sorted(one["row"] for one in items) != [0, 0]
    assert all(one["reason"] for one in items)
    assert len(post(client, "/suggest", {"rows": rows, "purpose": "review"})["items"]) == 3
    suspects = post(client, "/audit", {"n": 3})["items"]
    assert len(suspects) == 3
    assert suspects[0]["name"].startswith("id T")


def test_a_token(path, client_of):
    """Everything but /health and /ready needs it, under any name of the machine."""
    with_token, without = client_of(path, token="secret-secret-secret"), client_of(path, token="secret-secret-secret")
    without.headers.pop("authorization")
    assert post(with_token, "/predict", {"rows": [ROW]}, Host="service.example")
    refused = without.post("/predict", json={"rows": [ROW]})
    assert refused.status_code == 401
    assert refused.headers["www-authenticate"] == "Bearer"
    assert without.get("/health").status_code == without.get("/ready").status_code == 200
    assert without.get("/metrics").status_code == without.get("/card").status_code == 401


def test_pages_of_other_sites_reach_nothing(path, client_of):
    """A request that a form can send has no content type that is served, and another name is no name of ours."""
    client = client_of(path)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert client.post("/update", content=b"{}", headers={"content-type": kind}).status_code == 415
    assert "Host" in post(client, "/predict", {"rows": [ROW]}, 403, Host="evil.example:8000")
    assert post(client, "/predict", {"rows": [ROW]}, Host="127.0.0.1:8000")
    assert post(client, "/predict", {"rows": [ROW]}, Host="[::1]:8000")


def test_limits(path, client_of):
    """Of bytes, also without a length, of rows, and of seconds."""
    client = client_of(path, limits=Limits(body=2000, rows=3, seconds=60))
    assert "at most 2000 bytes" in post(client, "/predict", {"rows": [ROW | {"text": "a" * 3000}]}, 413)
    assert "at most 3" in post(client, "/predict", {"rows": [ROW] * 4}, 413)

    def parts():
        for _ in range(30):
            yield b" " * 100

    answer = client.post("/predict", content=parts(), headers={"content-type": "application/json"})
    assert answer.status_code == 413
    slow = client_of(path, limits=Limits(seconds=0.0))
    assert "at most 0 seconds" in post(slow, "/predict", {"rows": [ROW]}, 503)


def test_errors_of_the_service_have_no_traceback(path, client_of, monkeypatch, caplog):
    """The log has it, under the number of the answer; but not its text, which may have contents of rows."""

    def fail(*_, **__):
        try:
            raise KeyError(ROW["text"])
        except KeyError as error:
            raise RuntimeError(ROW["text"]) from error

    monkeypatch.setattr("nearlabel.serve._answers.predictions", fail)
    for log_rows in (False, True):
        caplog.clear()
        client = testclient.TestClient(client_of(path, log_rows=log_rows).app, base_url="http://localhost")
        detail = post(client, "/predict", {"rows": [ROW]}, 500)
        assert detail.split()[2].rstrip(";") in caplog.text
        assert all(words in caplog.text for words in ("error ", "at /predict: ", "in fail", "KeyError", "RuntimeError"))
        assert (ROW["text"] in caplog.text) == log_rows


def test_contents_are_not_logged(path, client_of, caplog):
    """Unless asked for."""
    caplog.set_level("INFO", "nearlabel.serve")
    post(client_of(path), "/predict", {"rows": [ROW]})
    assert "POST /predict 200" in caplog.text
    assert "password" not in caplog.text
    post(client_of(path, log_rows=True), "/predict", {"rows": [ROW]})
    assert "password" in caplog.text


def test_texts_of_warnings_and_notes_are_not_logged(path, client_of, caplog, capfd):
    """Where a warning comes from is, once; unless the contents of rows are to be logged."""
    for log_rows in (False, True):
        caplog.clear()
        with warnings.catch_warnings():
            set_up_log(Settings({}, log_rows=log_rows))
            client = client_of(path)
            post(client, "/forget", {"ids": ["secret-1"]})
            post(client, "/forget", {"ids": ["secret-2"]})
            rows = [{"id": f"secret {log_rows}", "text": "secret", "product": "secret", "priority": 9e9}]
            post(client, "/update", {"rows": [rows[0] | {"tags": ["nan", "secret"]}]})
            post(client, "/suggest", {"rows": rows})
            post(client, "/audit", {})
        seen = caplog.text + "".join(capfd.readouterr())
        assert seen.count("ParameterWarning of ") == (0 if log_rows else 2)
        assert ("secret" in seen) == ("'nan'" in seen) == log_rows


def test_a_guess_of_the_column_of_labels_is_not_told_on_the_terminal(numeric, tmp_path, capfd):
    """It is for the user of `nearlabel update`."""
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{b:.3f},{int(a > 0)},{int(b > 0)}" for a, b in rng.standard_normal((30, 2))]
    (tmp_path / "t.csv").write_text("\n".join(["a,b,up,right", *lines]) + "\n")
    command = ["fit", str(tmp_path / "t.csv"), "--labels", "up,right", "--method", "brknn", "--k", "3", "--quiet"]
    assert cli.main([*command, "--validate", "none", "--out", str(tmp_path / "t.skops")]) == 0
    model = LiveModel(tmp_path / "t.skops")
    capfd.readouterr()
    assert model.update([{"a": 1.0, "b": 2.0, "secret": ["up", "right"]}]) == (1, 31)
    assert "".join(capfd.readouterr()) == ""


def test_rows_of_csv_are_limited_too(path, client_of):
    """And its options are checked as those of JSON."""
    client, csv = client_of(path, limits=Limits(rows=2)), "text,product,priority\n" + "a,app,1\n" * 3
    answer = client.post("/predict", content=csv, headers={"content-type": "text/csv"})
    assert (answer.status_code, answer.json()["detail"]) == (413, "rows must be at most 2 at once, got more.")
    answer = client.post("/predict?top=x", content=csv, headers={"content-type": "text/csv"})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("top: ")


def test_a_deep_body_is_refused(path, client_of):
    """It could not be read back from the journal."""
    deep = NEW | {"x": json.loads("[" * 60 + "]" * 60)}
    assert "levels deep" in post(client_of(path), "/update", {"rows": [deep]}, 422)


def test_metrics_and_openapi(path, client_of):
    """Requests by route and status, the version; every route with the shape of its request."""
    client = client_of(path)
    post(client, "/update", {"rows": [NEW]})
    post(client, "/predict", {"rows": [{}]}, 422)
    text = client.get("/metrics").text
    assert 'nearlabel_requests_total{route="/update",status="200"} 1.0' in text
    assert 'nearlabel_requests_total{route="/predict",status="422"} 1.0' in text
    assert 'nearlabel_model_version{model="tickets"} 1.0' in text
    routes = client.get("/openapi.json").json()["paths"]
    assert {"/predict", "/explain", "/update", "/forget", "/suggest", "/audit", "/card", "/health"} <= set(routes)
    shape = routes["/predict"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert set(shape["properties"]) == {"rows", "texts", "arrays", "top", "proba", "explain"}


def test_clients_that_were_answered_together_are_asked_together_again(numeric, monkeypatch):
    """Although their next requests do not come at the same moment."""
    monkeypatch.setattr(_answers, "_PATIENCE", 60)
    sizes = []

    async def ask_again():
        batches = _answers.Batches(LiveModel(numeric), ThreadPoolExecutor(1))
        asked = batches._asked
        batches._asked = lambda some: (sizes.append(len(some)), asked(some))[1]

        async def client(number):
            for _ in range(4):
                await batches.ask(np.full((1, 4), 0.1 * number), explain=False)
                for _ in range(3 * number):
                    await asyncio.sleep(0)

        await asyncio.gather(*map(client, range(5)))

    asyncio.run(ask_again())
    assert sizes == [5, 5, 5, 5]


@pytest.mark.parametrize("before", [1, 2])
def test_a_change_in_a_later_life_of_the_service_outlives_a_kill(path, before, capsys):
    """The file was written by services that ended regularly; their changes and the last, unwritten one are there."""
    for number in range(before):
        model = LiveModel(path)
        model.update([NEW | {"id": f"first {number}"}])
        model.compact()
        end(path)
    assert not has_changes(path)
    LiveModel(path).update([NEW | {"id": "second"}])  # and then it is killed
    assert has_changes(path)
    open_model(str(path), ())
    assert "lacks changes that a service has left in its journal" in capsys.readouterr().err
    again = LiveModel(path)
    assert [*again.state.file.kept["id"]][60:] == [*(f"first {number}" for number in range(before)), "second"]
    again.compact()
    assert read_kept(path)["id"][-1] == "second"


def test_another_loop_asks_the_same_model(numeric):
    """As test clients do, one after the other: nothing that waits is lost."""
    batches = _answers.Batches(LiveModel(numeric), ThreadPoolExecutor(1))

    async def client(number):
        for _ in range(4):
            await batches.ask(np.zeros((1, 4)), explain=False)
            for _ in range(3 * number):
                await asyncio.sleep(0)
        return number

    async def ask():
        return await asyncio.gather(*map(client, range(3)))

    assert [asyncio.run(asyncio.wait_for(ask(), 60)) for _ in range(2)] == [[0, 1, 2]] * 2


@pytest.mark.parametrize(("n_rows", "on_the_loop"), [(2, True), (3000, False)])
def test_long_requests_are_read_and_written_aside(numeric, client_of, monkeypatch, n_rows, on_the_loop):
    """So that others are answered meanwhile."""
    places = []

    def watched(function):
        def called(*arguments, **options):
            try:
                asyncio.get_running_loop()
                places.append(True)
            except RuntimeError:
                places.append(False)
            return function(*arguments, **options)

        return called

    monkeypatch.setattr(_app, "_read", watched(_app._read))
    for name in ("rows_of", "predictions"):
        monkeypatch.setattr(_answers, name, watched(getattr(_answers, name)))
    rows = np.random.default_rng(0).normal(size=(n_rows, 4)).tolist()
    found = post(client_of(numeric), "/predict", {"arrays": rows})["predictions"]
    assert len(found) == n_rows
    assert places == [on_the_loop] * 3


@pytest.mark.parametrize("where", ["/predict", "/explain", "/suggest", "/update"])
def test_a_missing_value_is_named_by_row_and_column(named, client_of, where):
    """As the command names it, and not in scikit-learn's words; rows are counted from 1."""
    rows = [{"a": 1, "b": 2}, {"a": 1, "b": None}]
    rows = [row | {"x": 0, "y": 1} for row in rows] if where == "/update" else rows
    told = "rows, row 2: column 'b' must contain numbers that are finite, got a missing value."
    assert post(client_of(named), where, {"rows": rows}, 422) == told


def test_a_number_that_is_too_large_is_refused(numeric, client_of):
    """An integer that no float can store."""
    assert "float64" in post(client_of(numeric), "/predict", {"arrays": [[10**400, 0, 0, 0]]}, 422)


def test_rows_that_wait_are_answered_as_alone(path, client_of):
    """Many clients at once, one of them with a bad row, while samples come: no answer is another's."""
    client = client_of(path)
    rows = [ROW | {"text": f"{a} {b}"} for a in ("password", "card", "crash") for b in ("refund", "freeze", "locked")]
    with client:
        alone = [post(client, "/predict", {"rows": [row], "proba": True})["predictions"] for row in rows]

        def ask(number):
            if number % 10 == 9:
                return client.post("/predict", json={"rows": [ROW | {"priority": "x"}]}).status_code == 422
            place = number % len(rows)
            found = client.post("/predict", json={"rows": [rows[place]], "proba": True}).json()["predictions"]
            return found == alone[place]

        with ThreadPoolExecutor(8) as pool:
            assert all(pool.map(ask, range(200)))


def test_a_damaged_journal_is_named(path):
    """And a last line that is not whole is not, as its change was never acknowledged."""
    model = LiveModel(path)
    model.update([NEW])
    journal = path.with_name("tickets.skops.journal")
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-5])
    assert LiveModel(path).state.answer == (0, 60)
    journal.write_bytes(whole[:-5])
    again = LiveModel(path)
    assert again.update([NEW | {"id": "N7"}]) == (1, 61)
    assert LiveModel(path).state.answer == (1, 61)
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0] + lines[1].replace(b"zebra", b"zebrb"))
    with pytest.raises(
        ValueError, match=r"tickets\.skops\.journal must be the journal of a served model, got a damaged"
    ):
        LiveModel(path)


def test_verify_names_the_journal(path):
    """With the number of changes that the model's file lacks, also in a folder; damage of it is damage."""
    assert verify(path).findings == ()
    model = LiveModel(path)
    model.update([NEW])
    model.update([NEW | {"id": "N2"}])
    journal = path.with_name("tickets.skops.journal")
    before = journal.read_bytes()
    journal.write_bytes(before + b"0123")
    for place in (path, path.parent):
        found = verify(place)
        assert [(of.path, of.severity) for of in found.findings] == [(journal, "note")]
        assert found.findings[0].message == (
            "contains 2 changes that tickets.skops lacks: nearlabel serve writes them when it ends"
        )
        assert found.is_sound
    assert verify(path.parent).n_others == 1  # its lock
    journal.write_bytes(before)
    model = LiveModel(path)
    model.compact()
    assert verify(path).findings[0].message == "contains no change that tickets.skops lacks"
    journal.write_bytes(before)  # as after a crash
    assert verify(path).findings[0].message == "contains no change that tickets.skops lacks"
    journal.write_bytes(before.replace(b"zebra", b"zebrb"))
    (damage,) = verify(path).findings
    assert (damage.severity, damage.path) == ("damage", journal)
    assert damage.message.endswith("must be what a service wrote, got other bytes in line 2")


def test_a_journal_of_another_model_is_refused(path):
    """Such as of the model that the file had before."""
    LiveModel(path).update([NEW])
    journal, row = path.with_name("tickets.skops.journal"), np.array([["a", "app", 1.0]], dtype=object)
    with pytest.raises(ValueError, match="got some that a service left in"):
        update_model(path, row, [[0, 1, 0]])
    with pytest.raises(ValueError, match="got some that a service left in"):
        forget_rows(path, [1])
    content = journal.read_bytes()
    journal.unlink()
    update_model(path, row, [[0, 1, 0]])
    journal.write_bytes(content)
    with pytest.raises(ValueError, match="got changes to another one"):
        LiveModel(path)


def test_a_crash_between_file_and_journal_repeats_nothing(path):
    """The file has the number of its last change."""
    model = LiveModel(path)
    model.update([NEW])
    journal = path.with_name("tickets.skops.journal")
    before = journal.read_bytes()
    model.compact()
    journal.write_bytes(before)
    again = LiveModel(path)
    assert again.state.answer == (1, 61)
    assert again.update([NEW | {"id": "N2"}]) == (2, 62)
    assert LiveModel(path).state.answer == (2, 62)


def test_a_journal_that_cannot_be_replaced_loses_nothing(path, monkeypatch):
    """The model is written, the journal stays: later changes and starts go on from there."""
    model = LiveModel(path)
    model.update([NEW])
    model.forget(["T1"])
    with monkeypatch.context() as full:
        full.setattr("nearlabel.serve._journal.whole_file", raising(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space"):
            model.compact()
    assert model.needs_compaction
    assert model.update([NEW | {"id": "N2"}]) == (3, 61)
    assert LiveModel(path).state.answer == (3, 61)
    assert model.compact()
    assert LiveModel(path).state.answer == (3, 61)


def raising(error):
    """Return a function that raises an error."""

    def fail(*_, **__):
        raise error

    return fail


def test_a_change_that_one_process_could_not_make_is_made_later(path, monkeypatch):
    """And none after it is skipped."""
    one, other = LiveModel(path), LiveModel(path)
    one.update([NEW])
    with monkeypatch.context() as full:
        full.setattr("nearlabel.serve._live.rows_in_file", raising(OSError(28, "No space left on device")))
        with pytest.raises(OSError, match="No space"):
            _ = other.state
    one.update([NEW | {"id": "N2"}])
    assert other.update([NEW | {"id": "N3"}]) == (3, 63)
    assert one.state.answer == LiveModel(path).state.answer == (3, 63)


def test_a_line_that_was_taken_back_is_in_no_answer(path, monkeypatch):
    """The disk failed before the change was acknowledged."""
    one, other = LiveModel(path), LiveModel(path)
    with monkeypatch.context() as broken:
        broken.setattr("nearlabel.serve._journal.os.fsync", raising(OSError(5, "Input/output error")))
        with pytest.raises(OSError, match="Input/output"):
            one.update([NEW])
    assert other.state.answer == one.state.answer == (0, 60)
    assert other.update([NEW | {"id": "N2"}]) == (1, 61)
    assert one.state.answer == LiveModel(path).state.answer == (1, 61)


def test_keys_are_known_after_the_file_was_written(path):
    """In every process, and after a restart; an equal correction is not made twice."""
    one, other = LiveModel(path), LiveModel(path)
    one.update([NEW], key="k")
    one.compact()
    for model in (other, LiveModel(path)):
        assert model.update([NEW], key="k") == (1, 61)
        with pytest.raises(ValueError, match="another body"):
            model.update([NEW | {"id": "N2"}], key="k")


def test_only_one_process_writes_the_file_again(path):
    """The others see that it was."""
    one, other = LiveModel(path), LiveModel(path)
    one.forget(["T1"])
    assert other.state.answer == (1, 59)
    assert one.compact()
    assert other.state.answer == (1, 59)
    assert not other.needs_compaction
    assert not other.compact()


def test_a_link_has_the_journal_of_its_target(path):
    """So a change through one name is there under the other."""
    link = path.with_name("link.skops")
    link.symlink_to(path.name)
    LiveModel(link).update([NEW])
    assert LiveModel(path).state.answer == (1, 61)


def test_processes_see_the_changes_of_each_other(path):
    """Two states of one file, as of two workers; also over a compaction."""
    one, other = LiveModel(path), LiveModel(path)
    one.update([NEW])
    assert other.state.answer == (1, 61)
    other.update([NEW | {"id": "N2"}])
    one.compact()
    assert other.update([NEW | {"id": "N3"}]) == (3, 63)
    assert one.state.answer == (3, 63)
    other.compact()
    one.forget(["N3"])
    one.compact()  # before the other looks: the journal has nothing of it
    assert LiveModel(path).state.answer == other.state.answer == (4, 62)
    assert "N3" not in other.state.file.kept["id"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_kills_lose_nothing_and_repeat_nothing(path):
    """A few of those that `kills.py` makes."""
    assert kills.main(str(path), 5) == 5


@pytest.mark.parametrize(
    ("given", "got"),
    [
        ({}, "none"),
        ({"ID": "N1"}, "the column 'ID'"),
        ({"id ": "N1"}, "the column 'id '"),
        ({"id": None}, "None"),
        ({"id": ""}, "''"),
        ({"id": " \t"}, "' \\t'"),
        ({"id": True}, "True"),
        ({"id": ["N1"]}, "['N1']"),
    ],
)
def test_rows_without_ids_are_refused_by_a_model_with_ids(path, client_of, given, got):
    """They could not be found again; the column is named, and what the row has in its place."""
    client, row = client_of(path), {name: NEW[name] for name in NEW if name != "id"}
    for existing in ("raise", "skip", "replace", "add"):
        body = {"rows": [NEW, row | given], "existing": existing}
        detail = post(client, "/update", body, 422)
        assert detail.startswith(f"rows must have their ids in 'id', as in the fit, got {got} in row 2. Hint: ")
    assert client.get("/ready").json()["models"][0]["samples"] == 60
    numbered = [row | {"id": 7}, row | {"id": 8}]
    assert post(client, "/update", {"rows": numbered})["model"]["samples"] == 62
    assert LiveModel(path).state.file.kept["id"][-2:] == ["7", "8"]


def test_a_blank_id_names_no_sample(path, client_of):
    """A journal of before may have added such; neither can be forgotten nor relabelled with all the others."""
    client = client_of(path)
    model = client.app.state.app.served["tickets"]
    model._change("update", {"rows": [NEW | {"id": ""}], "existing": "raise"}, "")
    assert LiveModel(path).state.answer == (1, 61)
    assert "ids.0" in post(client, "/forget", {"ids": ["", "T1"]}, 422)
    assert post(client, "/relabel", {"id": "", "labels": {"bug": True}}, 422).startswith("id: ")
    assert post(client, "/predict", {"rows": [ROW]})["model"]["samples"] == 61
