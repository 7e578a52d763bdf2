"""Kill a worker of Dask while it searches: the answer stays right, and the worker that takes its place works."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

import dask
import numpy as np
from distributed import Client, LocalCluster

from faults._killing import Tally
from nearlabel.neighbors import DaskNeighbors, ExactNeighbors

_N_WORKERS, _K, _LONGEST_SECONDS = 2, 5, 60.0


def kill_workers(kills: int, folder: Path, seed: int = 0) -> Tally:
    """Kill one of two workers at random moments of a search, and return what happened.

    Dask's nanny may give up a worker that dies while it starts; then the next kills are of a new cluster.
    """
    tally, rng, start = Tally("dask_worker"), Random(f"dask {seed}"), time.monotonic()
    X = np.random.default_rng(0).integers(0, 4, (4_000, 16)).astype(np.float32)
    expected = ExactNeighbors().fit(X).kneighbors(None, _K)
    logging.disable()  # it tells of each death
    # A worker that is not back after 15 s is given up, by default: on a busy machine it needs longer.
    dask.config.set({"distributed.deploy.lost-worker-timeout": f"{_LONGEST_SECONDS:g}s"})
    while tally.kills < kills:
        before = tally.kills
        with (
            LocalCluster(
                n_workers=_N_WORKERS,
                threads_per_worker=1,
                memory_limit=None,
                dashboard_address=":0",
                silence_logs="CRITICAL",
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            search = DaskNeighbors(client=client, shard_rows=500, query_rows=250, folder=folder)
            check = partial(_check, search, X, expected)
            seconds = min(_timed(check), _timed(check))  # the first starts things
            while tally.kills < kills and _kill_one(client, cluster, check, seconds, tally, rng):
                pass
        if tally.kills == before:
            raise TimeoutError(f"{_N_WORKERS} workers of a new cluster must run after {_LONGEST_SECONDS:g} s")
    tally.seconds = round(time.monotonic() - start, 1)
    return tally


def _kill_one(
    client: Client, cluster: LocalCluster, check: Callable[[], None], seconds: float, tally: Tally, rng: Random
) -> bool:
    """Kill a worker within some seconds of a search; return whether another has taken its place."""
    if not _is_whole(client, cluster):
        return False
    pid = rng.choice([nanny.pid for nanny in cluster.workers.values()])
    moment, number = rng.uniform(0, seconds), tally.kills
    tally.kills += 1
    ended = threading.Event()
    killer = threading.Timer(moment, _kill, (pid, ended, tally))
    killer.start()
    try:
        check()
        tally.after += 1
    except Exception as error:  # noqa: BLE001 - whatever is wrong is counted
        tally.failures.append(f"kill {number} ({moment:.3f} s): {type(error).__name__}: {error}")
    ended.set()
    killer.join()
    if not _is_whole(client, cluster, dead=pid):
        return False
    try:
        check()
    except Exception as error:  # noqa: BLE001 - whatever is wrong is counted
        tally.failures.append(f"after kill {number}: {type(error).__name__}: {error}")
    return True


def _is_whole(client: Client, cluster: LocalCluster, dead: int | None = None) -> bool:
    """Return whether a new worker takes the place of a dead one in time."""
    end = time.monotonic() + _LONGEST_SECONDS
    while time.monotonic() < end:
        time.sleep(0.2)
        nannies = cluster.workers.values()
        running = [nanny.status.name == "running" and nanny.pid not in (None, dead) for nanny in nannies]
        if len(running) == _N_WORKERS and all(running) and len(client.scheduler_info()["workers"]) == _N_WORKERS:
            return True
    return False


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
