"""Kill processes that change a served model at any moment: no acknowledged change is lost, and none is made twice.

A process adds and removes samples, compacts at times, and acknowledges each change by a line in a pipe, as the service
does by an answer. Its parent kills it after a random time, and looks at the model as the next start finds it. At each
third time it then ends regularly, and begins anew.

Run: ``PYTHONPATH=tests python -m serve.kills MODEL 200``; MODEL is a file whose samples have ids (`conftest.path`).
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from nearlabel.models import parts_with_samples
from nearlabel.serve import LiveModel
from nearlabel.serve._live import end

ROW = {"text": "zebra stripes", "product": "web", "priority": 1, "tags": ["zoo"]}


def change(path: Path, pipe: int, number: int) -> None:
    """Change the model until killed; a line in the pipe is an acknowledgement."""
    model = LiveModel(path)
    os.write(pipe, b"ready\n")
    mine = random.Random(number)
    while True:
        name = f"K{number}-{mine.randrange(10**9)}"
        os.write(pipe, f"try {name}\n".encode())
        model.update([ROW | {"id": name}], key=name)
        os.write(pipe, f"has {name}\n".encode())
        if mine.random() < 0.3:
            os.write(pipe, f"try-without {name}\n".encode())
            model.forget([name])
            os.write(pipe, f"without {name}\n".encode())
        if mine.random() < 0.2:
            model.compact()


def kill_one(path: Path, number: int, expected: dict[str, bool | None]) -> None:
    """Start a process, kill it, and update which ids must be there: True, must not be: False, or may be: None."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            change(path, writing, number)
        finally:
            os._exit(1)
    os.close(writing)
    with os.fdopen(reading, "rb") as told:
        assert told.readline() == b"ready\n", "the model could not be opened after a kill"
        time.sleep(random.Random(-number).uniform(0.0, 0.3))
        os.kill(child, signal.SIGKILL)
        lines = told.read().decode().splitlines()
    os.waitpid(child, 0)
    for line in lines:
        what, _, name = line.partition(" ")
        expected[name] = {"try": None, "try-without": None, "has": True, "without": False}.get(what)
    check(path, expected)


def check(path: Path, expected: dict[str, bool | None]) -> None:
    """Compare the model as the next start finds it; what was not acknowledged may be there, and then stays."""
    state = LiveModel(path).state
    ids = list(state.file.kept["id"])
    n_samples = parts_with_samples(state.file.model)[1].training_labels().shape[0]
    assert len(ids) == len(set(ids)) == n_samples == state.answer.samples, "a sample is there twice"
    there = set(ids)
    for name, is_there in expected.items():
        assert is_there in (None, name in there), f"{name} should {'not ' * (not is_there)}be there"
        expected[name] = name in there


def main(model: str, n_kills: int) -> int:
    """Kill as often as asked; return the number of kills."""
    expected: dict[str, bool | None] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(model, folder))
        for number in range(1, n_kills + 1):
            kill_one(path, number, expected)
            if number % 3 == 0:  # a service ends regularly, and another begins
                LiveModel(path).compact()
                end(path)
                check(path, expected)
        n_there = sum(map(bool, expected.values()))
        line = f"{n_kills} kills: of {len(expected)} samples {n_there} are there; nothing is lost, nothing there twice"
        sys.stdout.write(f"{line}\n")
    return n_kills


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
