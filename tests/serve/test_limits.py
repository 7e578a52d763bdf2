"""What clients may not do: send slowly, wait in crowds, and ask for more than there may be."""

import asyncio
import json
import time

import pytest
import uvicorn
from uvicorn.server import ServerState

from nearlabel.datasets import tables
from nearlabel.serve import Limits, LiveModel, _answers, _app, make_app
from nearlabel.serve._process import connection_of

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
ROW = {"text": "password locked reset", "product": "app", "priority": 3}
JSON = {"content-type": "application/json", "host": "localhost"}


async def asked(app, parts, path="/predict", headers=JSON):
    """Return status, headers and body of the answer to a body whose parts come after so many seconds."""
    sent, left = [], list(parts)

    async def receive():
        wait, body = left.pop(0)
        await asyncio.sleep(wait)
        return {"type": "http.request", "body": body, "more_body": bool(left)}

    async def send(message):
        sent.append(message)

    given = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "http", "method": "POST", "path": path, "headers": given, "query_string": b"", "root_path": ""}
    await app(scope | {"http_version": "1.1", "scheme": "http"}, receive, send)
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], dict(sent[0]["headers"]), json.loads(body)


def test_a_slow_body_is_refused(path):
    """Also if each of its parts comes soon; one that is long enough on its way and no longer is answered."""
    app, body = make_app({"tickets": LiveModel(path)}, limits=Limits(seconds=0.5)), json.dumps({"rows": [ROW]}).encode()
    for parts in ([(0, body[:9]), (60, body[9:])], [(0.1, b" ")] * 100, [(60, body)]):
        for kind in ("application/json", "text/csv"):
            begin = time.perf_counter()
            status, headers, problem = asyncio.run(asked(app, parts, headers=JSON | {"content-type": kind}))
            assert (status, headers[b"content-type"]) == (408, b"application/problem+json")
            assert problem["detail"] == "the body must arrive within 0.5 seconds, got less."
            assert time.perf_counter() - begin < 5
    status, _, answer = asyncio.run(asked(app, [(0.1, body[:9]), (0.1, body[9:])]))
    assert (status, len(answer["predictions"])) == (200, 1)


REQUEST = b"POST /none HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 5000\r\n\r\n"
HALF = b"GET /health HTTP/1.1\r\nhost: local"


@pytest.mark.parametrize("begin", [b"", HALF, REQUEST], ids=["no", "half", "answered"])
def test_a_connection_without_a_request_is_ended(path, begin):
    """Whether a client sends nothing, its headers letter by letter, or the body of what was refused."""

    async def alone():
        app = make_app({"tickets": LiveModel(path)})
        config = uvicorn.Config(app, http=connection_of(0.2), log_config=None, lifespan="off")
        config.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: config.http_protocol_class(config=config, server_state=ServerState(), app_state={}), "127.0.0.1", 0
        )
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        writer.write(begin)
        end, content = loop.time() + 20, b""
        while not reader.at_eof() and loop.time() < end:
            writer.write(b" " * bool(begin))
            try:
                content += await asyncio.wait_for(reader.read(1000), 0.05)
            except TimeoutError:
                continue
            except ConnectionError:
                break
        took = loop.time() - end + 20
        server.close()
        return took, content

    took, content = asyncio.run(alone())
    assert took < 5
    assert content.startswith(b"HTTP/1.1 404") == (begin == REQUEST)


def test_rows_and_changes_that_wait_are_limited(path, client_of, monkeypatch):
    """Too many get an answer that says when to come again; once those that wait are answered, others are."""
    monkeypatch.setattr(_answers, "_MOST_WAITING", 3)
    monkeypatch.setattr(_app, "_MOST_CHANGES", 2)
    client = client_of(path)
    app = client.app.state.app

    async def crowd(where, body, n):
        return await asyncio.gather(*(asked(client.app, [(0, json.dumps(body).encode())], where) for _ in range(n)))

    for where, body, most in (("/predict", {"rows": [ROW] * 2}, 5), ("/forget", {"ids": ["T1"]}, 2)):
        found = asyncio.run(crowd(where, body, 8))
        assert {status for status, _, _ in found} == {200, 503}
        assert sum(status == 200 for status, _, _ in found) <= most
        refused = [(headers, problem) for status, headers, problem in found if status == 503]
        assert {headers[b"retry-after"] for headers, _ in refused} == {b"1"}
        assert all("Hint: send the request again later" in problem["detail"] for _, problem in refused)
        assert asyncio.run(crowd(where, body, 1))[0][0] == 200
    assert app._n_changes == 0


@pytest.mark.parametrize("where", ["/audit", "/suggest"])
def test_how_many_are_asked_for_is_limited(path, client_of, where):
    """As rows are."""
    client, rows = client_of(path, limits=Limits(rows=5)), {"rows": [ROW]} if where == "/suggest" else {}
    answer = client.post(where, json={"n": 6} | rows)
    assert (answer.status_code, answer.json()["detail"]) == (413, "n must be at most 5 at once, got 6.")
    assert client.post(where, json={"n": 5} | rows).status_code == 200


def test_a_refused_method_names_those_that_are_served(path, client_of):
    """As HTTP demands."""
    answer = client_of(path).get("/predict")
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


CONFIG = """<View><Text name="body" value="$text"/><Choices name="topic" toName="body" choice="multiple"/></View>"""
TASKS = {"tasks": [{"id": 1, "data": ROW}, {"id": 2, "data": ROW}], "project": "3", "label_config": CONFIG}
READS = {
    "/ready": None, "/metrics": None, "/card": None, "/form": None, "/corrections": None,
    "/predict": {"rows": [ROW]}, "/explain": {"rows": [ROW]}, "/audit": {"n": 2}, "/suggest": {"rows": [ROW, ROW]},
    "/label-studio/setup": {"project": "3", "schema": CONFIG}, "/label-studio/predict": TASKS,
    "/label-studio/webhook": {"action": "TASKS_CREATED"}, "/update": {"rows": [ROW | {"id": "N2", "tags": ["bug"]}]},
    "/relabel": {"id": "T1", "labels": {"bug": True}}, "/forget": {"ids": ["T2"]},
}  # fmt: skip


def test_changes_of_other_processes_are_made_in_threads(path, client_of, monkeypatch):
    """Whatever is asked first; other requests are answered meanwhile."""
    other, client, in_loop = LiveModel(path), client_of(path), []
    catch_up = LiveModel._catch_up

    def watched(model):
        if model is not other:
            in_loop.append(asyncio._get_running_loop() is not None)
        catch_up(model)

    monkeypatch.setattr(LiveModel, "_catch_up", watched)
    for number, (where, body) in enumerate(READS.items()):
        other.update([ROW | {"id": f"O{number}", "tags": ["bug"]}])
        in_loop.clear()
        answer = client.get(where) if body is None else client.post(where, json=body)
        assert answer.status_code == 200, answer.text
        assert in_loop, where
        assert not any(in_loop), where
    other.update([ROW | {"id": "csv", "tags": ["bug"]}])
    in_loop.clear()
    csv = "text,product,priority\na,app,1\n"
    assert client.post("/predict", content=csv, headers={"content-type": "text/csv"}).status_code == 200
    assert in_loop
    assert not any(in_loop)


def test_a_large_body_is_read_in_a_thread(path, client_of, monkeypatch):
    """So that others are answered meanwhile; a small one is not worth it."""
    in_loop, decoded = [], tables.decoded
    client = client_of(path)

    def watched(content):
        in_loop.append(asyncio._get_running_loop() is not None)
        return decoded(content)

    monkeypatch.setattr(tables, "decoded", watched)
    for n_rows in (1, 3000):
        assert client.post("/predict", json={"rows": [ROW] * n_rows}).status_code == 200
    assert in_loop == [True, False]
