"""Requests that no client would send: each gets an answer of its kind, never 500, and the model stays as it was told.

Bodies are made by a grammar of right and wrong parts, or are right ones with damaged bytes; paths, methods and headers
vary. Requests go to the application in this process.

Run: ``PYTHONPATH=tests python -m serve.fuzz_requests MODEL 100000``; MODEL is a file of tickets (`conftest.path`).
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
import resource
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

from nearlabel.serve import Limits, LiveModel, make_app

ALLOWED = {200, 400, 401, 403, 404, 405, 409, 413, 415, 422, 503}
PATHS = (
    *["/predict"] * 8,
    *["/explain"] * 2,
    *["/update"] * 4,
    "/forget",
    "/suggest",
    "/audit",
    "/label-studio/setup",
    *["/label-studio/predict"] * 2,
    *["/label-studio/webhook"] * 3,
    "/card",
    "/metrics",
    "/no",
)
TEXTS = ("password reset", "", "a" * 300, "\u0000", "'; DROP TABLE", "<script>", "ä中\U0001f600", "1", "null", "NaN")
NUMBERS = (0, -1, 3, 1.5, 1e308, -1e-308, 2**53 + 1, 2**64, 10**30, True)


def value(r: random.Random, depth: int = 0) -> Any:
    """Return any value of JSON."""
    kind = r.randrange(8 if depth < 3 else 5)
    if kind < 3:
        return r.choice(TEXTS)
    if kind < 5:
        return r.choice((*NUMBERS, None))
    if kind < 7:
        return [value(r, depth + 1) for _ in range(r.randrange(4))]
    return {r.choice(("text", "id", "tags", "", "x")): value(r, depth + 1) for _ in range(r.randrange(3))}


def row(r: random.Random) -> Any:
    """Return a row that is mostly right."""
    made: dict[str, Any] = {"text": r.choice(TEXTS), "product": r.choice(("app", "web", "new", None)), "priority": 2}
    if r.random() < 0.5:
        made |= {"id": f"F{r.randrange(40)}", "tags": r.sample(["login", "bug", "zoo", ""], r.randrange(3))}
    for _ in range(r.randrange(2)):
        made[r.choice(list(made))] = value(r)
    if r.random() < 0.1:
        made.pop(r.choice(list(made)))
    return made if r.random() < 0.98 else value(r)


CONFIG = (
    '<View><Text name="body" value="$text"/><Choices name="tags" toName="body" choice="multiple">'
    '<Choice value="login"/></Choices></View>'
)
CONFIGS = (*[CONFIG] * 20, CONFIG.replace("multiple", "single"), "<View/>", "<!DOCTYPE a><View/>", "<", *TEXTS)
EVENTS = ("ANNOTATION_UPDATED", "ANNOTATIONS_CREATED", "ANNOTATIONS_DELETED", "TASKS_DELETED", "TASKS_CREATED")


def of_label_studio(r: random.Random, rows: list[Any]) -> dict[str, Any]:
    """Return what the tool sends, for each of its paths; it has keys that no path needs."""
    config, numbers = r.choice(CONFIGS), [r.randrange(9) for _ in rows]
    tasks = [{"id": number, "data": one} for number, one in zip(numbers, rows, strict=True)]
    choices = {"choices": r.sample(["login", "bug", "zoo", ""], r.randrange(3))}
    results = [{"from_name": "tags", "to_name": "body", "type": "choices", "value": choices}]
    annotations = [
        {"id": r.randrange(20), "task": number, "result": results, "updated_at": str(r.randrange(99))}
        for number in numbers
    ]
    made = {"action": r.choice(EVENTS), "annotation": annotations, "annotations": annotations, "task": tasks}
    made |= {"tasks": tasks, "project": {"id": 1, "label_config": config}, "schema": config, "label_config": config}
    within = r.choice((made, tasks[0], annotations[0], results[0]))
    if r.random() < 0.2:
        within[r.choice(list(within))] = value(r)
    return made


def body(r: random.Random, path: str) -> bytes:
    """Return a body that is mostly right for a path."""
    rows = [row(r) for _ in range(r.randrange(1, 4))]
    made: dict[str, Any] = {"rows": rows}
    if path == "/forget":
        made = {"ids": [f"F{r.randrange(40)}" for _ in range(r.randrange(3))]}
    elif path == "/audit":
        made = {"n": r.choice((1, 5, 0, -1, "x", 10**12))}
    elif path.startswith("/label-studio"):
        made = of_label_studio(r, rows)
        if path != "/label-studio/webhook":
            made["project"] = r.choice(("1.17", 1, value(r)))
    elif path == "/update":
        made["existing"] = r.choice(("raise", "skip", "replace", "replace", "add", "maybe"))
    elif r.random() < 0.3:
        made[r.choice(("top", "proba", "explain", "n", "purpose"))] = value(r)
    if r.random() < 0.1:
        made = {r.choice(("texts", "arrays", "rows", "ids", "bogus")): value(r)}
    content = json.dumps(made if r.random() < 0.97 else value(r), ensure_ascii=r.random() < 0.5).encode()
    if r.random() < 0.25:
        damaged = bytearray(content)
        for _ in range(r.randrange(1, 4)):
            place = r.randrange(len(damaged) + 1)
            damaged[place : place + r.randrange(3)] = r.randbytes(r.randrange(3))
        content = bytes(damaged)
    return content


async def ask(app: Any, r: random.Random) -> tuple[str, int, bytes]:
    """Send a request; return its path, the status and the body of the answer."""
    path = r.choice(PATHS)
    method = (
        "GET"
        if path in ("/card", "/metrics", "/no") and r.random() < 0.9
        else r.choice(("POST",) * 12 + ("PUT", "GET"))
    )
    content = body(r, path)
    kind = r.choice((b"application/json",) * 12 + (b"text/csv", b"text/plain", b""))
    headers = [(b"host", b"localhost"), (b"content-type", kind)]
    if r.random() < 0.1:
        headers.append((b"idempotency-key", r.choice((b"k", b"", b"\xff", b"x" * 5000))))
    if r.random() < 0.02:
        headers[0] = (b"host", r.choice((b"evil", b"", b"[::1", b"localhost:x")))
    scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http"}
    scope |= {"path": path, "raw_path": path.encode(), "root_path": "", "headers": headers}
    scope |= {"query_string": r.choice((b"",) * 9 + (b"top=x&proba=2",)), "client": ("127.0.0.1", 1)}
    parts = [content[: len(content) // 2], content[len(content) // 2 :]]
    found: dict[str, Any] = {"status": 0, "body": b""}

    async def receive() -> dict[str, Any]:
        part = parts.pop(0) if parts else b""
        return {"type": "http.request", "body": part, "more_body": bool(parts)}

    async def send(message: dict[str, Any]) -> None:
        found["status"] = message.get("status", found["status"])
        found["body"] += message.get("body", b"")

    await app(scope, receive, send)
    return path, found["status"], found["body"]


async def fuzz(path: Path, n: int, seed: int) -> Counter[tuple[str, int]]:
    """Send requests; raise AssertionError at an answer that is not allowed."""
    r, counts = random.Random(seed), Counter[tuple[str, int]]()
    model = LiveModel(path)
    app = make_app({"tickets": model}, limits=Limits(body=20_000, rows=50))
    for number in range(n):
        before = r.getstate()
        where, status, content = await ask(app, r)
        counts[where, status] += 1
        assert status in ALLOWED, f"request {number} of seed {seed}: {where} {status} {content[:300]!r} ({len(before)})"
        assert b"Traceback" not in content
        if where != "/metrics" and content:
            json.loads(content)
        if number % 5000 == 4999:
            assert LiveModel(path).state.answer == model.state.answer, "the journal does not give the present state"
            model.compact()
            kept = [name for name in model.state.file.kept["id"] if name.startswith("F")]
            model.forget(kept) if kept else None
    return counts


def main(model: str, n: int, seed: int = 0) -> Counter[tuple[str, int]]:
    """Fuzz a copy of a model, and print what was answered."""
    logging.getLogger("nearlabel.serve").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(shutil.copy(model, folder))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        counts = asyncio.run(fuzz(path, n, seed))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    by_status = Counter[int]()
    for (_, status), number in counts.items():
        by_status[status] += number
    line = f"{n:,} requests, seed {seed}: {dict(sorted(by_status.items()))}; the peak of memory grew by {grown} MiB"
    sys.stdout.write(f"{line}\n")
    return counts


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *map(int, sys.argv[3:]))
