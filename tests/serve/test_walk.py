"""The walk of docs/howto/serve.md with real processes: fit, serve, correct, kill, start again, erase."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from nearlabel.client import Client, ServiceError
from nearlabel.persistence import read_card, read_kept
from serve.tickets import tickets

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals are those of POSIX")


def run(*words, cwd):
    """Run a command of nearlabel."""
    subprocess.run([sys.executable, "-m", "nearlabel", *words], check=True, cwd=cwd, capture_output=True, timeout=300)


@contextmanager
def served(folder, *options, end=signal.SIGTERM):
    """Yield the process and a client of the service; its first line has the address."""
    command = [sys.executable, "-m", "nearlabel", "serve", "tickets.skops", "--port", "0", *options]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            line = process.stdout.readline()
            assert line.startswith("Serving tickets.skops at http://127.0.0.1:"), (folder / "log").read_text()
            yield process, Client(line.split()[-1])
            process.send_signal(end)
            code = process.wait(60)
            assert code == (-end if end == signal.SIGKILL else 0), (folder / "log").read_text()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


@pytest.mark.long
def test_the_walk(tmp_path):
    """Corrections outlive `kill -9`; an erased sample is in no file; the model file has everything at the end."""
    rows = tickets(120)
    with (tmp_path / "tickets.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(row | {"tags": ";".join(row["tags"])} for row in rows)
    run(
        *("fit", "tickets.csv", "--labels-column", "tags", "--text", "text", "--categorical", "product", "--id", "id"),
        *("--method", "brknn", "--k", "5", "--scale", "tfidf", "--out", "tickets.skops"),
        cwd=tmp_path,
    )
    row = {"text": "the zebra ate my invoice", "product": "app", "priority": 1}
    with served(tmp_path, end=signal.SIGKILL) as (_, client):
        assert client.predict(rows=[row], explain=True)[0]["explanation"]["neighbors"][0]["id"].startswith("T")
        for number in range(10):
            now = client.update([row | {"id": f"W{number}", "tags": ["zoo"]}])
        assert now == {"name": "tickets", "version": 10, "samples": 130}
        assert client.predict(rows=[row])[0]["labels"] == ["zoo"]
        assert client.forget(["no zebra"]) == now
        with pytest.raises(ServiceError, match="ids of new samples must not be in the model"):
            client.update([row | {"id": "W1", "tags": ["zoo"]}])
    with served(tmp_path, "--workers", "2") as (_, client):
        assert client.predict(rows=[row])[0]["labels"] == ["zoo"]
        assert client.ask("/ready")["models"] == [{"name": "tickets", "version": 10, "samples": 130}]
        assert client.forget(["W3", "T5", "no zebra"])["samples"] == 128
        for _ in range(8):  # whichever worker answers
            assert client.ask("/ready")["models"][0]["version"] == 11
        assert 'route="/ready"' in urllib.request.urlopen(client.address + "/metrics").read().decode()
        for _ in range(100):
            if read_card(tmp_path / "tickets.skops").journal == 11:
                break
            time.sleep(0.2)
    assert not {"W3", "T5"} & set(read_kept(tmp_path / "tickets.skops")["id"])
    assert read_card(tmp_path / "tickets.skops").data.rows == 128
    assert not [file.name for file in tmp_path.iterdir() if "journal" in file.name]  # all is in the file
    assert b"zebra" not in (tmp_path / "log").read_bytes()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_a_worker_that_dies_is_replaced(path):
    """Its requests fail, the next ones do not."""
    with served(path.parent, "--workers", "2", "--read-only") as (process, client):
        children = map(int, Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split())
        workers = [child for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        time.sleep(1)
        for _ in range(5):
            assert client.ask("/health")["status"] == "ok"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--host", "0.0.0.0"), "--token-file or NEARLABEL_TOKEN must be given"),
        (("--port", "70000"), "--port"),
        (("no.skops",), "no.skops must be the file of a model"),
        (("tickets.skops",), "MODEL must have names that differ"),
        (("--token-file", "short"), "at least 16 printable"),
    ],
)
def test_what_cannot_be_served(path, options, words):
    """In one line, before anything listens."""
    (path.parent / "short").write_text("secret")
    command = [sys.executable, "-m", "nearlabel", "serve", "tickets.skops", *options]
    environment = {name: value for name, value in os.environ.items() if name != "NEARLABEL_TOKEN"}
    found = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, timeout=120, env=environment)
    assert found.returncode == 2
    assert words in found.stderr
    assert "Traceback" not in found.stderr
    assert not found.stdout


def test_the_client_sends_a_key_and_a_token(monkeypatch):
    """And raises what the service refuses."""
    seen = []

    class Answer:
        status = 200

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def read(self, *_):
            return json.dumps({"model": {"version": 1}}).encode()

    monkeypatch.setattr(urllib.request, "urlopen", lambda request, timeout: seen.append(request) or Answer())
    monkeypatch.setenv("NEARLABEL_TOKEN", "a token")
    client = Client("http://localhost:1/")
    assert client.update([{"id": "a"}]) == {"version": 1}
    assert seen[0].full_url == "http://localhost:1/update"
    assert seen[0].get_header("Authorization") == "Bearer a token"
    assert len(seen[0].get_header("Idempotency-key")) == 32
