"""Two processes want the same file or folder: one of them is told, or the last one wins; nothing is mixed."""

import subprocess
import sys

import numpy as np
import pytest

from faults._commands import command_of, environment_of, nearlabel
from faults._content import content_of
from faults._scenarios import OF_TABLE
from nearlabel.datasets import open_store
from nearlabel.persistence import read_card

pytestmark = pytest.mark.long


def at_once(folder, *commands):
    """Start commands together, and return exit code and errors of each."""
    start = {"cwd": folder, "env": environment_of(folder), "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    processes = [subprocess.Popen(command, **start, text=True) for command in commands]
    errors = [process.communicate()[1] for process in processes]
    return [(process.returncode, error) for process, error in zip(processes, errors, strict=True)]


def test_evaluate_twice(folder):
    """Who comes second is told, and the records are those of one run."""
    options = ("--methods", "brknn,mlknn", "--k", "3,5", "--cv", "20", "--metrics", "hamming_loss", "--out")
    arguments = ("evaluate", "data.csv", *OF_TABLE, *options)
    ended = at_once(folder, command_of(*arguments, "run"), command_of(*arguments, "run"))
    assert 0 in [code for code, _ in ended]
    for code, error in ended:
        assert code == 0 or (code == 2 and "must be written by one run at a time" in error)
    assert nearlabel(folder, *arguments, "whole").returncode == 0
    assert (folder / "run" / "records.jsonl").read_bytes() == (folder / "whole" / "records.jsonl").read_bytes()


def test_update_twice(with_model):
    """Each either adds its rows or is told that it did not."""
    command = command_of("update", "m.skops", "new.csv", "--labels", "calm,loud,sad", "--ignore", "id")
    ended = at_once(with_model, command, command)
    n_added = [code for code, _ in ended].count(0)
    assert n_added >= 1
    assert all(code == 0 or (code == 2 and "process" in error) for code, error in ended)
    assert read_card(with_model / "m.skops").data.rows == 60 + 30 * n_added


def test_fit_to_one_file_twice(folder):
    """The file is one of the two models, whole."""
    options = ("--method", "mlknn", "--validate", "none", "--force", "--out", "m.skops")
    commands = [command_of("fit", "data.csv", *OF_TABLE, "--k", k, *options) for k in (3, 5)]
    assert at_once(folder, *commands) == [(0, ""), (0, "")]
    found = content_of(folder / "m.skops")
    alone = []
    for command in commands:
        assert at_once(folder, command) == [(0, "")]
        alone.append(content_of(folder / "m.skops"))
    assert found in alone
    assert not list(folder.glob(".*"))


WRITING = """
import sys
import numpy as np
from nearlabel.datasets import write_store
write_store("s", (np.full((2000, 50), float(sys.argv[1])) for _ in range(20)))
"""


def test_write_store_twice(folder):
    """The store is one of the two; who comes second is told."""
    ended = at_once(folder, *([sys.executable, "-c", WRITING, number] for number in "12"))
    assert 0 in [code for code, _ in ended]
    X = open_store(folder / "s")
    assert X.shape == (40_000, 50)
    assert len(np.unique(X)) == 1
    assert not list(folder.glob(".*"))
