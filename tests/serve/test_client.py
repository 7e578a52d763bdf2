"""What the client makes of answers that are not those of the service."""

import json
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from nearlabel.client import Client, ServiceError


@pytest.fixture
def answering():
    """A function that returns a client of a server that gives one answer, whatever is asked."""
    running = []

    def made(status, content, kind="text/html"):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(status)
                self.send_header("content-type", kind)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                """Print nothing."""

        server = HTTPServer(("127.0.0.1", 0), Handler)
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        running.append((server, thread))
        return Client(f"http://127.0.0.1:{server.server_port}")

    yield made
    for server, thread in running:
        server.shutdown()
        thread.join()
        server.server_close()


PAGE = b"<!doctype html>\n<title>502 Bad Gateway</title>" + b" x" * 1000


@pytest.mark.parametrize("status", [200, 302, 404, 502])
@pytest.mark.parametrize("content", [PAGE, b"", b"\xff\xfe", b"[1, 2]", b'"text"', b"null", b"[" * 100_000])
def test_an_answer_that_is_no_object_is_told(answering, status, content):
    """With the status and the first words."""
    with pytest.raises(ServiceError, match="the answer must be a JSON object of the service, got ") as told:
        answering(status, content).predict(texts=["a"])
    assert told.value.status == status
    assert len(told.value.detail) < 400
    assert ("502 Bad Gateway" in told.value.detail) == (content == PAGE)


def test_a_problem_is_its_detail(answering):
    """As the service says it; a problem of others may have none."""
    for problem in ({"detail": "rows must"}, {}):
        with pytest.raises(ServiceError) as told:
            answering(422, json.dumps(problem).encode()).forget(["a"])
        assert (told.value.status, told.value.detail) == (422, problem.get("detail", ""))
