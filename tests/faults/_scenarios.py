"""What is killed: commands that write, changes of stores, a download, insertions into databases."""

from __future__ import annotations

import hashlib
import http.server
import io
import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout
from pathlib import Path

import numpy as np
from scipy import sparse

from _vector_tables import make_lance
from faults._content import content_of
from faults._killing import Scenario
from nearlabel import cli
from nearlabel.datasets import append_to_store, catalogue, open_store, remove_from_store, write_store
from nearlabel.datasets._fetch import CatalogueFile, cached_file
from nearlabel.experiments.records import read_plan, read_records
from nearlabel.neighbors import LanceTable, QdrantTable

_LABELS = ("--labels", "calm,loud,sad")
OF_TABLE = (*_LABELS, "--ignore", "id")


def write_table(path: Path, n_rows: int, seed: int) -> None:
    """Write a table with ids, four features and three labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4)).round(3)
    Y = (X[:, :3] + rng.normal(size=(n_rows, 3)) > 0.3).astype(int)
    lines = [
        f"r{seed}-{row}," + ",".join(map(str, [*x, *y]))
        for row, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True))
    ]
    path.write_text("\n".join(["id,pulse,pitch,length,light,calm,loud,sad", *lines]) + "\n")


def run_command(folder: Path, *arguments: str) -> None:
    """Run a command in a folder, in this process."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with redirect_stdout(io.StringIO()):
            code = cli.main(["--quiet", *arguments])
    finally:
        os.chdir(before)
    if code != 0:
        raise RuntimeError(f"{' '.join(arguments)} ended with {code}")


def contents(*names: str):
    """Return what tells the content of some files, which must be whole; not there is told, too."""

    def state_of(folder: Path) -> str:
        files = {name: folder / name for name in names}
        return json.dumps({name: content_of(file) if file.exists() else None for name, file in files.items()})

    return state_of


# Experiments: records come fold by fold.

_EVALUATE = (
    *("evaluate", "data.csv", *OF_TABLE, "--methods", "brknn,mlknn", "--k", "3,5", "--cv", "8"),
    *("--metrics", "hamming_loss,micro_f1", "--out", "run"),
)


def _prepare_evaluate(folder: Path) -> None:
    """Write a run that was interrupted after two of its folds."""
    write_table(folder / "data.csv", 400, 0)
    run_command(folder, *_EVALUATE)
    records = folder / "run" / "records.jsonl"
    lines = records.read_text().splitlines(keepends=True)
    records.write_text("".join(lines[: len(lines) // 4]))


def _state_of_run(folder: Path) -> str:
    return json.dumps([read_plan(folder / "run"), list(read_records(folder / "run"))])


def _has_the_first_folds(state: str, before: str, after: str) -> bool:
    (plan, records), (_, old), (wanted_plan, wanted) = (json.loads(text) for text in (state, before, after))
    return plan == wanted_plan and old == records[: len(old)] and records == wanted[: len(records)]


# Models.

_FIT = ("fit", "data.csv", *OF_TABLE, "--method", "mlknn", "--k", "5", "--validate", "none", "--force")
_TUNE = (
    *("tune", "data.csv", *OF_TABLE, "--methods", "brknn,mlknn", "--k", "3-6", "--scales", "minmax", "--search"),
    *("exact", "--cv", "3", "--state", "found.npz", "--force", "--out", "m.skops"),
)
_UPDATE = ("update", "m.skops", "new.csv", *_LABELS, "--skip-existing")
_PREDICT = ("predict", "m.skops", "new.csv", "--scores", "all", "--out", "p.csv")
_FORGET = ("forget", "m.skops", "--ids", "erased.txt")
_FORGET_OTHERS = ("forget", "m.skops", "--rows", "3,17")


def _prepare_model(folder: Path, *options: str) -> None:
    """Write a model, rows for it, ids of some of its rows, and older predictions."""
    write_table(folder / "data.csv", 400, 0)
    write_table(folder / "new.csv", 6_000, 1)
    run_command(folder, *_FIT, "--out", "m.skops", *options)
    (folder / "erased.txt").write_text("r0-3\nr0-17\n")
    (folder / "p.csv").write_text("row,labels\n" + "0,calm\n" * 9)


def _prepare_model_with_ids(folder: Path) -> None:
    _prepare_model(folder, "--id", "id")


def _prepare_older_model(folder: Path) -> None:
    write_table(folder / "data.csv", 400, 0)
    run_command(folder, "fit", "data.csv", *OF_TABLE, "--method", "brknn", "--k", "3", "--out", "m.skops")


def _state_of_tuning(folder: Path) -> str:
    """Return the model; what was found so far must be readable, and has the seconds that it took."""
    if (folder / "found.npz").exists():
        with np.load(folder / "found.npz") as found:
            json.loads(str(found["tuning"]))
            assert all(found[name].size for name in found.files)
    return contents("m.skops")(folder)


# Corrections.

_APPLY = (
    *("audit", "data.csv", "--labels", "calm,loud,sad", "--id", "id", "--apply", "corrections.csv"),
    *("--out", "corrected.csv", "--force"),
)


def _prepare_corrections(folder: Path) -> None:
    write_table(folder / "data.csv", 20_000, 0)
    lines = (folder / "data.csv").read_text().splitlines()[1:4001]
    rows = [line.split(",") for line in lines]
    said = [f"{row[0]},calm,{1 - int(row[5])}" for row in rows]
    (folder / "corrections.csv").write_text("\n".join(["id,label,correct", *said]) + "\n")
    (folder / "corrected.csv").write_text("id,calm\nof an earlier time,1\n")


# Stores.

_N_BLOCKS = 12
_N_ROWS = 2_000 * _N_BLOCKS


def _blocks(seed: int, n_blocks: int = _N_BLOCKS) -> Iterator[sparse.csr_array]:
    rng = np.random.default_rng(seed)
    for _ in range(n_blocks):
        yield sparse.csr_array(rng.poisson(0.2, (2_000, 30)).astype(np.float64))


def _write() -> None:
    write_store("s", _blocks(2))


def _overwrite() -> None:
    write_store("s", _blocks(2), overwrite=True)


def _append() -> None:
    append_to_store("s", _blocks(3), n_rows=_N_ROWS)


def _append_few() -> None:
    append_to_store("s", _blocks(4, 1))


def _remove() -> None:
    remove_from_store("s", range(0, 20_000, 3), n_rows=_N_ROWS)


def _prepare_store(folder: Path) -> None:
    write_store(folder / "s", _blocks(1))


def _state_of_store(folder: Path) -> str:
    if not (folder / "s").exists():
        return "no store"
    X = open_store(folder / "s")
    parts = [X.data, X.indices, X.indptr]
    return f"{X.shape} {hashlib.sha256(b''.join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()}"


# A download, from a server that is slow.

_CONTENT = b"% a line of the file\n" * 20_000
_N_PIECES = 40


class _Slow(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        """Send the file in pieces."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(_CONTENT)))
        self.end_headers()
        size = len(_CONTENT) // _N_PIECES
        for first in range(0, len(_CONTENT), size):
            try:
                self.wfile.write(_CONTENT[first : first + size])
            except OSError:  # the client was killed
                return
            time.sleep(0.002)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def _serving() -> Iterator[None]:
    """Serve in another process: a thread here would not survive that this process forks."""
    server = http.server.HTTPServer(("127.0.0.1", 0), _Slow)
    pid = os.fork()
    if not pid:
        try:
            server.serve_forever()
        finally:
            os._exit(0)
    os.environ["NEARLABEL_BASE_URL"] = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        server.server_close()


def _download() -> None:
    os.environ["NEARLABEL_CACHE"] = str(Path("cache").absolute())
    file = CatalogueFile("slow.arff", hashlib.sha256(_CONTENT).hexdigest())
    cached_file(catalogue()["emotions"], file, retries=0)


def _prepare_cache(folder: Path) -> None:
    """Write a damaged file of an earlier time."""
    (folder / "cache" / "emotions").mkdir(parents=True)
    (folder / "cache" / "emotions" / "slow.arff").write_bytes(_CONTENT[:999])


# Databases, imported where they are used: they start threads, which no fork survives.

_N_INSERTIONS, _ROWS_PER_INSERTION = 15, 20


def _rows_of_insertion(number: int) -> tuple[list[int], list[list[float]], list[list[str]]]:
    ids = list(range(1000 + number * _ROWS_PER_INSERTION, 1000 + (number + 1) * _ROWS_PER_INSERTION))
    return ids, [[float(one % 7), 1.0, 0.5, float(number)] for one in ids], [["new", f"n{number}"] for _ in ids]


def _insert_the_rest(table: LanceTable | QdrantTable) -> None:
    """Add what is not there yet, as a program does that starts again."""
    with closing(table):
        known = set(table.read().ids.tolist())
        for number in range(_N_INSERTIONS):
            rows = zip(*_rows_of_insertion(number), strict=True)
            missing = [row for row in rows if row[0] not in known]
            if missing:
                table.add(*map(list, zip(*missing, strict=True)))


def _rows_of(table: LanceTable | QdrantTable) -> str:
    """Return the rows of a table, each with its vector and tags."""
    with closing(table):
        rows = table.read()
    return json.dumps(sorted(zip(rows.ids.tolist(), rows.X.tolist(), rows.tags, strict=True)))


def _has_the_first_rows(state: str, before: str, after: str) -> bool:
    rows, old, new = (json.loads(text) for text in (state, before, after))
    return old == rows[: len(old)] and rows == new[: len(rows)]


def _prepare_lance(folder: Path) -> None:
    _apart(lambda: _make_lance(folder))


def _make_lance(folder: Path) -> None:
    with closing(make_lance(folder)) as table:
        table.add([1, 2, 3], np.eye(3, 4), [["old"], ["old", "calm"], []])


def _prepare_qdrant(folder: Path) -> None:
    _apart(lambda: _make_qdrant(folder))


def _make_qdrant(folder: Path) -> None:
    from qdrant_client import QdrantClient, models

    with closing(QdrantClient(path=str(folder))) as client:
        of = models.VectorParams(size=4, distance=models.Distance.EUCLID)
        client.create_collection("songs", vectors_config=of)
    with closing(QdrantTable(folder, "songs")) as table:
        table.add([1, 2, 3], np.eye(3, 4), [["old"], ["old", "calm"], []])


def _apart(work: Callable[[], object]) -> None:
    """Do some work in a process of its own."""
    pid = os.fork()
    if not pid:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(pid, 0)[1] != 0:
        raise RuntimeError("a table must be made, got an error")


# All of them. What is in a folder of a database beside the rows is the engine's.

SCENARIOS = [
    Scenario("evaluate", _prepare_evaluate, _EVALUATE, _state_of_run, between=_has_the_first_folds),
    Scenario("fit", _prepare_older_model, (*_FIT, "--out", "m.skops"), contents("m.skops")),
    Scenario("tune", _prepare_older_model, _TUNE, _state_of_tuning, timed=("found.npz",)),
    Scenario("predict", _prepare_model, _PREDICT, contents("p.csv", "m.skops")),
    Scenario("update", _prepare_model_with_ids, _UPDATE, contents("m.skops"), follow=_FORGET),
    Scenario("update_without_ids", _prepare_model, _UPDATE, contents("m.skops"), follow=_FORGET_OTHERS),
    Scenario("forget", _prepare_model_with_ids, _FORGET, contents("m.skops"), follow=_UPDATE),
    Scenario("audit", _prepare_corrections, _APPLY, contents("corrected.csv", "data.csv")),
    Scenario("write_store", lambda _: None, _write, _state_of_store, again=False),
    Scenario("overwrite_store", _prepare_store, _overwrite, _state_of_store, again=False, follow=_append_few),
    Scenario("append_to_store", _prepare_store, _append, _state_of_store, follow=_append_few),
    Scenario("remove_from_store", _prepare_store, _remove, _state_of_store, follow=_append_few),
    Scenario(
        "download",
        _prepare_cache,
        _download,
        contents("cache/emotions/slow.arff"),
        modules=("pooch", "requests"),
        beside=_serving,
    ),
    Scenario(
        "lance",
        _prepare_lance,
        lambda: _insert_the_rest(LanceTable(Path(), "songs")),
        lambda folder: _rows_of(LanceTable(folder, "songs")),
        between=_has_the_first_rows,
        swept=False,
        modules=("pyarrow",),  # lancedb is imported by the killed process alone: its threads do not survive a fork
    ),
    Scenario(
        "qdrant",
        _prepare_qdrant,
        lambda: _insert_the_rest(QdrantTable(Path(), "songs")),
        lambda folder: _rows_of(QdrantTable(folder, "songs")),
        between=_has_the_first_rows,
        swept=False,
        modules=("qdrant_client",),
    ),
]
