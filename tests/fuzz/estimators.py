"""Try estimators on random problems: `python -m fuzz.estimators --number 2000 --seed 0`, with tests/ on the path.

Problems are tried in blocks, each in a process of its own with a limit on memory. A problem that does not end in time,
or ends its process, is a failure like a wrong answer, and the next block begins after it. What fails is printed with
its seed: `--only SEED` tries that problem again, here and without limits.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fuzz.estimator_checks import WrongError, check
from fuzz.estimator_models import MODELS, Model
from fuzz.estimator_problems import Problem, problem

BLOCK = 100
SECONDS, MEBIBYTES = 60.0, 4096
_TESTS = Path(__file__).parents[1]


def drawn_from(seed: int, models: Mapping[str, Model]) -> Problem:
    """Return the problem of a seed."""
    return problem(seed, [name for name, model in models.items() for _ in range(round(10 * model.share))])


def attempt(seed: int, models: Mapping[str, Model] = MODELS, *, processes: bool = True) -> str:
    """Return the outcome of a seed: "answered", "refused: ..." or, where a promise is broken, "WRONG: ..."."""
    drawn = drawn_from(seed, models)
    try:
        return check(drawn, models[drawn.model], processes=processes)
    except WrongError as error:
        return f"WRONG: {drawn}: {error}"


def run(
    seeds: range, *, models: str | None = None, seconds: float = SECONDS, mebibytes: int = MEBIBYTES
) -> Iterator[tuple[int, str]]:
    """Yield seeds and their outcomes; `models` is a Python file whose MODELS are tried in place of ours."""
    start = seeds.start
    while start < seeds.stop:
        for seed, outcome in _block(range(start, min(start + BLOCK, seeds.stop)), models, seconds, mebibytes):
            start = seed + 1
            yield seed, outcome


def _block(seeds: range, models: str | None, seconds: float, mebibytes: int) -> Iterator[tuple[int, str]]:
    """Yield the outcomes of a child process, up to the problem that ends it, if one does."""
    reading, writing = os.pipe()
    path = os.pathsep.join(filter(None, [str(_TESTS), os.environ.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "fuzz.estimators", "--child", str(writing), "--memory", str(mebibytes)]
    command += ["--seed", str(seeds.start), "--number", str(len(seeds)), *(["--models", models] if models else [])]
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    child = subprocess.Popen(
        command, env=environment, pass_fds=[writing], start_new_session=True, stderr=subprocess.PIPE, text=True
    )
    os.close(writing)
    following = seeds.start
    try:
        for seed, outcome in _lines(reading, seconds):
            following = seed + 1
            yield seed, outcome
        if following < seeds.stop:
            ended = _wait(child)
            how = (
                f"no end in {seconds:g} s" if ended is None else f"the process died, exit {ended}: {_last_line(child)}"
            )
            yield following, f"WRONG: {drawn_from(following, models_of(models))}: {how}"
    finally:
        os.close(reading)
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        child.stderr.close()


def _wait(child: Any) -> int | None:
    try:
        return child.wait(timeout=1)
    except subprocess.TimeoutExpired:
        return None


def _last_line(child: Any) -> str:
    return (child.stderr.read().strip().splitlines() or [""])[-1]


def _lines(reading: int, seconds: float) -> Iterator[tuple[int, str]]:
    """Yield what a child writes, until it ends or is silent for too long; it needs time to begin."""
    content, limit = b"", seconds + 30
    while select.select([reading], [], [], limit)[0]:
        new = os.read(reading, 65536)
        if not new:
            return
        content, limit = content + new, seconds
        *lines, content = content.split(b"\n")
        for line in lines:
            if line:
                yield tuple(json.loads(line))


def _be_child(seeds: range, models: Mapping[str, Model], writing: int, mebibytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (mebibytes * 2**20,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.write(writing, b"\n")  # ready: from now on the time of problems counts
    for seed in seeds:
        os.write(writing, json.dumps([seed, attempt(seed, models)]).encode() + b"\n")


def models_of(path: str | None) -> Mapping[str, Model]:
    """Return the MODELS of a Python file; ours for None."""
    if path is None:
        return MODELS
    spec = importlib.util.spec_from_file_location("models_of_a_file", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["models_of_a_file"] = module
    spec.loader.exec_module(module)
    return module.MODELS


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=2000, help="how many problems")
    parser.add_argument("--seed", type=int, default=0, help="of the first one")
    parser.add_argument("--only", type=int, help="try the problem of this seed, here")
    parser.add_argument("--models", help="a Python file whose MODELS are tried in place of ours")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="that a problem may take")
    parser.add_argument("--memory", type=int, default=MEBIBYTES, help="that a process may take, in MiB")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Try problems, print what is wrong and how many were answered; return 1 if anything is wrong."""
    given = _arguments(argv)
    if given.child is not None:
        _be_child(range(given.seed, given.seed + given.number), models_of(given.models), given.child, given.memory)
        return 0
    if given.only is not None:
        outcome = attempt(given.only, models_of(given.models))
        print(outcome)
        return int(outcome.startswith("WRONG"))
    counts: Counter[str] = Counter()
    started = time.monotonic()
    for seed, outcome in run(
        range(given.seed, given.seed + given.number), models=given.models, seconds=given.seconds, mebibytes=given.memory
    ):
        counts[outcome.partition(":")[0]] += 1
        if outcome.startswith("WRONG"):
            print(f"{outcome}\n    again: python -m fuzz.estimators --only {seed}", flush=True)
    print(
        f"{given.number} problems in {time.monotonic() - started:.0f} s: {counts['answered']} answered rightly,"
        f" {counts['refused']} refused with a clear error, {counts['WRONG']} wrong."
    )
    return int(counts["WRONG"] > 0)


if __name__ == "__main__":
    sys.exit(main())
