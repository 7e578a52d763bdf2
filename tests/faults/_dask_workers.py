"""Kill a worker of Dask while it searches: the answer stays right, and the worker that takes its place works."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import dask
import numpy as np
from distributed import Client, LocalCluster

from faults._killing import Tally
from nearlabel.neighbors import DaskNeighbors, ExactNeighbors

_N_WORKERS, _K, _LONGEST_SECONDS = 2, 5, 300.0


def kill_workers(kills: int, folder: Path, seed: int = 0) -> Tally:
    """Kill one of two workers at random moments of a search, and return what happened."""
    tally, rng, start = Tally("dask_worker"), Random(f"dask {seed}"), time.monotonic()
    X = np.random.default_rng(0).integers(0, 4, (4_000, 16)).astype(np.float32)
    expected = ExactNeighbors().fit(X).kneighbors(None, _K)
    logging.disable()  # it tells of each death
    # A worker that is not back after 15 s is given up, by default: on a busy machine it needs longer.
    dask.config.set({"distributed.deploy.lost-worker-timeout": f"{_LONGEST_SECONDS:g}s"})
    cluster = LocalCluster(
        n_workers=_N_WORKERS, threads_per_worker=1, memory_limit=None, dashboard_address=":0", silence_logs="CRITICAL"
    )
    with Client(cluster, set_as_default=False) as client, cluster:
        search = DaskNeighbors(client=client, shard_rows=500, query_rows=250, folder=folder)
        seconds = min(_timed(lambda: _check(search, X, expected)) for _ in range(2))  # the first starts things
        for number in range(kills):
            _wait_until_whole(client, cluster)
            pid = rng.choice([nanny.pid for nanny in cluster.workers.values()])
            moment, tally.kills = rng.uniform(0, seconds), tally.kills + 1
            ended = threading.Event()
            killer = threading.Timer(moment, _kill, (pid, ended, tally))
            killer.start()
            try:
                _check(search, X, expected)
                tally.after += 1
            except Exception as error:  # noqa: BLE001 - whatever is wrong is counted
                tally.failures.append(f"kill {number} (seed {seed}, {moment:.3f} s): {type(error).__name__}: {error}")
            ended.set()
            killer.join()
            _wait_until_whole(client, cluster, dead=pid)
            try:
                _check(search, X, expected)
            except Exception as error:  # noqa: BLE001 - whatever is wrong is counted
                tally.failures.append(f"after kill {number} (seed {seed}): {type(error).__name__}: {error}")
    tally.seconds = round(time.monotonic() - start, 1)
    return tally


def _wait_until_whole(client: Client, cluster: LocalCluster, dead: int | None = None) -> None:
    """Wait until a new worker has taken the place of a dead one; a nanny gives up one that dies while it starts."""
    end = time.monotonic() + _LONGEST_SECONDS
    while time.monotonic() < end:
        time.sleep(0.2)
        nannies = cluster.workers.values()
        running = [nanny.status.name == "running" and nanny.pid not in (None, dead) for nanny in nannies]
        if len(running) == _N_WORKERS and all(running) and len(client.scheduler_info()["workers"]) == _N_WORKERS:
            return
    raise TimeoutError(f"{_N_WORKERS} workers must run, got {sum(running)} after {_LONGEST_SECONDS:g} s")


def _check(search: DaskNeighbors, X: np.ndarray, expected: tuple[np.ndarray, np.ndarray]) -> None:
    """Fit and search, and compare every bit with the search in memory."""
    fitted = search.fit(X)
    found = fitted.kneighbors(None, _K)
    fitted.close()
    assert all(one.tobytes() == other.tobytes() for one, other in zip(found, expected, strict=True)), "other neighbours"


def _kill(pid: int, ended: threading.Event, tally: Tally) -> None:
    tally.landed += not ended.is_set()
    os.kill(pid, signal.SIGKILL)


def _timed(work: Callable[[], object]) -> float:
    start = time.monotonic()
    work()
    return time.monotonic() - start
