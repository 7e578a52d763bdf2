"""How fast does ``nearlabel serve`` answer, next to the bare search, and next to a service written plainly?

Rows of 384 features, float32, of length one, about 200 centres; 30 labels; BRkNN, k = 10, cosine. Each server is a
process with one worker; the requests, of one row each, come from another process on the same machine over kept
connections (this takes some of its two cores).

- "bare": `kneighbors` of one row in a process, no HTTP: the median and the 99th percentile, in milliseconds.
- "nearlabel": the service. "explained": with neighbours and votes. "updated": while a sample is added each second.
- "one by one": the same service without batches of waiting rows.
- "plain": FastAPI and scikit-learn's `NearestNeighbors` (brute force, cosine), its labels by majority, a function of
  twenty lines.
- "10 minutes": memory of the process after the first minute and at the end, under 10 clients and updates.

Run: ``python benchmarks/serve.py``; half an hour, 3 GB. ``--quick``: a minute; ``--page`` writes the page
``docs/howto/serve.md``. Needs the extra ``serve``.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from _harness import Goal, Table, lines_of, parser_for, print_facts, save, show, write_figures

PAGE = Path(__file__).parents[1] / "docs" / "howto" / "serve.md"
D, N_LABELS, K, N_QUERIES = 384, 30, 10, 500
SIZES, CLIENTS = (1_000, 10_000, 100_000), (1, 10, 100)
SECONDS, QUICK_SECONDS, LONG = 8.0, 1.5, 600.0
PLAIN = """
import sys
import numpy as np, uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sklearn.neighbors import NearestNeighbors

data = np.load(sys.argv[1])
search = NearestNeighbors(n_neighbors=10, algorithm="brute", metric="cosine").fit(data["X"])
Y, app = data["Y"], FastAPI()

class Request(BaseModel):
    arrays: list[list[float]]

@app.post("/predict")
def predict(request: Request):
    near = search.kneighbors(np.array(request.arrays, dtype=np.float32), return_distance=False)
    shares = Y[near].mean(axis=1)
    return {"predictions": [{"labels": np.flatnonzero(row > 0.5).tolist(), "scores": row.tolist()} for row in shares]}

uvicorn.run(app, port=int(sys.argv[2]), log_level="error")
"""
ONE_BY_ONE = """
import sys
from nearlabel.serve import _answers
_answers._MOST_ROWS_AT_ONCE = 1
from nearlabel.cli import main
sys.exit(main(sys.argv[1:]))
"""


class Load(NamedTuple):
    """What clients saw: requests a second, and milliseconds of one."""

    per_second: float
    p50: float
    p99: float
    n_failed: int


def rows_of(n: int) -> tuple[Any, Any, Any]:
    """Return rows, their labels, and queries."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((200, D), dtype=np.float32)
    X = centres[rng.integers(0, 200, n + N_QUERIES)] + rng.standard_normal((n + N_QUERIES, D), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = (X[:, :N_LABELS] > 0.06).astype(np.uint8)
    return X[:n], Y[:n], X[n:]


def requests_of(queries: Any, **options: Any) -> list[bytes]:
    """Return whole requests, one for each query."""
    bodies = [json.dumps({"arrays": [row.tolist()], **options}).encode() for row in queries]
    head = "POST /predict HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n"
    return [head.format(len(body)).encode() + body for body in bodies]


async def load(port: int, requests: Sequence[bytes], n_clients: int, seconds: float) -> Load:
    """Send requests over as many connections; each waits for its answer before it sends the next."""
    times: list[float] = []
    failed = 0
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        nonlocal failed
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while time.perf_counter() < end:
            begin = time.perf_counter()
            writer.write(requests[number % len(requests)])
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            times.append(time.perf_counter() - begin)
            failed += not head.startswith(b"HTTP/1.1 200")
            number += n_clients
        writer.close()

    begin = time.perf_counter()
    await asyncio.gather(*(client(number) for number in range(n_clients)))
    taken = 1000 * np.array(times)
    return Load(len(times) / (time.perf_counter() - begin), *np.percentile(taken, (50, 99)).tolist(), failed)


async def update(port: int, rows: Any, labels: Any, seconds: float) -> None:
    """Add a sample each second."""
    end = time.perf_counter() + seconds
    names = [f"l{label}" for label in range(N_LABELS)]
    number = 0
    while time.perf_counter() < end:
        row = {f"x{i}": float(value) for i, value in enumerate(rows[number % len(rows)])} | {"id": f"new {number}"}
        row |= dict(zip(names, labels[number % len(labels)].tolist(), strict=True))
        body = json.dumps({"rows": [row], "existing": "replace"}).encode()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        head = (
            f"POST /update HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        )
        writer.write(f"{head}\r\nConnection: close\r\n\r\n".encode() + body)
        answer = await reader.read()
        if not answer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(answer.decode())
        writer.close()
        number += 1
        await asyncio.sleep(1)


def generate(arguments: Sequence[str]) -> None:
    """Be the process of the clients: print what they saw."""
    options = json.loads(arguments[0])
    data = np.load(options["data"])
    requests = requests_of(data["queries"], **({"explain": True} if options["explain"] else {}))

    async def both() -> Load:
        work = [load(options["port"], requests, options["clients"], options["seconds"])]
        if options["updated"]:
            work.append(update(options["port"], data["queries"], data["Y"], options["seconds"]))  # type: ignore[arg-type]
        return (await asyncio.gather(*work))[0]

    print(json.dumps(asyncio.run(both())))


def loaded(
    port: int, data: Path, clients: int, seconds: float, *, explain: bool = False, updated: bool = False
) -> Load:
    """Let another process send requests."""
    options = {"port": port, "data": str(data), "clients": clients, "seconds": seconds, "explain": explain}
    options["updated"] = updated
    run = subprocess.run(
        [sys.executable, __file__, "--generate", json.dumps(options)], check=True, capture_output=True, text=True
    )
    found = Load(*json.loads(run.stdout))
    if found.n_failed:
        raise RuntimeError(f"{found.n_failed} requests failed")
    return found


@contextmanager
def serving(command: Sequence[str], port: int) -> Iterator[int]:
    """Start a server; yield the number of its process once it answers."""
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            if is_listening(port):
                break
            if process.poll() is not None:
                raise RuntimeError("the server ended")
            time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait(60)


def is_listening(port: int) -> bool:
    """Return whether a connection is accepted."""
    import socket

    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """Return a port that is free now."""
    import socket

    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def prepare(folder: Path, n: int) -> tuple[Path, Path, list[float]]:
    """Write data and model; return their files, and the milliseconds of bare searches of one row."""
    from nearlabel.datasets import Dataset
    from nearlabel.lazy import BRkNN
    from nearlabel.neighbors import ExactNeighbors
    from nearlabel.persistence import save_model

    X, Y, queries = rows_of(n)
    np.savez(folder / "data.npz", X=X, Y=Y, queries=queries)
    names = tuple(f"x{i}" for i in range(D))
    labels = tuple(f"l{label}" for label in range(N_LABELS))
    data = Dataset(name="rows", X=X, Y=Y, feature_names=names, label_names=labels)
    search = ExactNeighbors("cosine")
    model = BRkNN(K, search=search).fit(X, Y)
    path = save_model(model, folder / "model.skops", data=data, keep={"id": [str(row) for row in range(n)]})
    times = []
    for query in queries[:200]:
        begin = time.perf_counter()
        model.search_.kneighbors(query[np.newaxis], K)
        times.append(1000 * (time.perf_counter() - begin))
    return folder / "data.npz", path, times


def measure_size(n: int, seconds: float) -> dict[str, Any]:
    """Return what clients of each server saw."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data, model, bare = prepare(folder, n)
        found["bare"] = {"p50": float(np.median(bare)), "p99": float(np.percentile(bare, 99))}
        port = free_port()
        ours = ["-m", "nearlabel", "--quiet", "serve", str(model), "--port", str(port)]
        with serving(ours, port):
            loaded(port, data, 1, seconds / 4)
            for clients in CLIENTS:
                found[f"nearlabel {clients}"] = loaded(port, data, clients, seconds)._asdict()
            loaded(port, data, 1, seconds / 4, explain=True)  # the first one searches for the neighbours of all samples
            found["explained 1"] = loaded(port, data, 1, seconds, explain=True)._asdict()
            found["explained 10"] = loaded(port, data, 10, seconds, explain=True)._asdict()
            for clients in (1, 10):
                found[f"updated {clients}"] = loaded(port, data, clients, seconds, updated=True)._asdict()
        script = folder / "one_by_one.py"
        script.write_text(ONE_BY_ONE, encoding="utf-8")
        with serving([str(script), *ours[2:]], port):
            loaded(port, data, 1, seconds / 4)
            found["one by one 10"] = loaded(port, data, 10, seconds)._asdict()
        script.write_text(PLAIN, encoding="utf-8")
        with serving([str(script), str(data), str(port)], port):
            loaded(port, data, 1, seconds / 4)
            for clients in CLIENTS:
                found[f"plain {clients}"] = loaded(port, data, clients, seconds)._asdict()
    return found


def grow(seconds: float) -> dict[str, float]:
    """Return the memory of a served model after a tenth of the time, and at its end."""
    with tempfile.TemporaryDirectory() as name:
        data, model, _ = prepare(Path(name), 10_000)
        port = free_port()
        with serving(["-m", "nearlabel", "--quiet", "serve", str(model), "--port", str(port)], port) as pid:
            loaded(port, data, 10, seconds / 10, updated=True)
            early = resident(pid)
            loaded(port, data, 10, 9 * seconds / 10, updated=True)
            return {"seconds": seconds, "MiB early": early, "MiB at the end": resident(pid)}


def resident(pid: int) -> float:
    """Return the memory of a process in MiB, without pages of files."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("RssAnon"))


def table_of(n: int, found: dict[str, Any]) -> Table:
    """Return the figures of a size."""
    rows = [["bare search", 1, None, found["bare"]["p50"], found["bare"]["p99"]]]
    for name, one in found.items():
        if name != "bare":
            what, _, clients = name.rpartition(" ")
            rows.append([what, int(clients), one["per_second"], one["p50"], one["p99"]])
    return Table(f"{n:,} rows x {D}", ("", "clients", "requests a second", "p50, ms", "p99, ms"), rows)


def goals_of(results: dict[str, Any]) -> list[Goal]:
    """Return what was to be reached."""
    found = results.get(str(SIZES[-1]))
    if found is None:
        return []
    ratio = found["nearlabel 1"]["p50"] / found["bare"]["p50"]
    batched = found["nearlabel 10"]["per_second"] / found["one by one 10"]["per_second"]
    updated = max(found[f"updated {n}"]["p99"] / found[f"nearlabel {n}"]["p99"] for n in (1, 10))
    memory = results["memory"]
    return [
        Goal("100,000 rows: p50 of one client, over the bare search", "at most", 1.5, ratio),
        Goal("100,000 rows: requests of 10 clients, over those of answers one by one", "at least", 4.0, batched),
        Goal("100,000 rows: p99 with an update each second, over that without", "at most", 2.0, updated),
        Goal("memory at the end, over that early", "at most", 1.1, memory["MiB at the end"] / memory["MiB early"]),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and save."""
    if "--generate" in sys.argv:
        generate(sys.argv[2:])
        return
    parser = parser_for(__doc__ or "", "serve", repeats=1)
    parser.add_argument("--page", action="store_true", help=f"write the figures to {PAGE.name}")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="numbers of rows")
    parser.add_argument("--keep", action="store_true", help="keep the figures of memory of the file of results")
    options = parser.parse_args(arguments)
    seconds = QUICK_SECONDS if options.quick else SECONDS
    kept = json.loads(options.out.read_text())["results"]["memory"] if options.keep else None
    results: dict[str, Any] = {str(n): measure_size(n, seconds) for n in options.sizes}
    results["memory"] = kept or grow(30.0 if options.quick else LONG)
    tables = [table_of(int(n), found) for n, found in results.items() if n != "memory"]
    memory = results["memory"]
    tables.append(
        Table(
            "10 clients and updates",
            tuple(memory),
            [(f"{memory['seconds']:.0f}", memory["MiB early"], memory["MiB at the end"])],
        )
    )
    goals = goals_of(results)
    print_facts()
    show(tables, goals)
    save(options, __doc__ or "", results, tables, goals)
    if options.page:
        write_figures(PAGE, lines_of(json.loads(options.out.read_text())))


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    main()
