"""Two processes want the same file or folder: one of them is told, or the last one wins; nothing is mixed."""

import numpy as np
import pytest

from faults._commands import command, forked, here, write_ones
from faults._content import content_of
from faults._scenarios import OF_TABLE
from nearlabel.datasets import open_store
from nearlabel.persistence import read_card

pytestmark = pytest.mark.long


def at_once(folder, work, *of_each):
    """Start processes together, and return exit code and errors of each."""
    files = [folder.with_name(f"{folder.name}-{number}.errors") for number in range(len(of_each))]
    processes = [forked(folder, file, work, *arguments) for file, arguments in zip(files, of_each, strict=True)]
    for process in processes:
        process.join()
    return [(process.exitcode, file.read_text()) for process, file in zip(processes, files, strict=True)]


def test_evaluate_twice(folder):
    """Who comes second is told, and the records are those of one run."""
    options = ("--methods", "brknn,mlknn", "--k", "3,5", "--cv", "20", "--metrics", "hamming_loss", "--out")
    arguments = ("evaluate", "data.csv", *OF_TABLE, *options)
    ended = at_once(folder, command, (*arguments, "run"), (*arguments, "run"))
    assert 0 in [code for code, _ in ended]
    for code, error in ended:
        assert code == 0 or (code == 2 and "must be written by one run at a time" in error)
    assert here(folder, *arguments, "whole").returncode == 0
    assert (folder / "run" / "records.jsonl").read_bytes() == (folder / "whole" / "records.jsonl").read_bytes()


def test_update_twice(with_model):
    """One adds its rows; the other is told that the model is being changed, or has these rows."""
    update = ("update", "m.skops", "new.csv", *OF_TABLE)
    ended = at_once(with_model, command, update, update)
    assert sorted(code for code, _ in ended) == [0, 2]
    assert all(code == 0 or "process" in error or "those of an earlier update" in error for code, error in ended)
    assert read_card(with_model / "m.skops").data.rows == 90


def test_fit_to_one_file_twice(folder):
    """The file is one of the two models, whole."""
    options = ("--method", "mlknn", "--validate", "none", "--force", "--out", "m.skops")
    fits = [("fit", "data.csv", *OF_TABLE, "--k", k, *options) for k in (3, 5)]
    assert at_once(folder, command, *fits) == [(0, ""), (0, "")]
    found = content_of(folder / "m.skops")
    alone = []
    for fit in fits:
        assert here(folder, *fit).returncode == 0
        alone.append(content_of(folder / "m.skops"))
    assert found in alone
    assert not list(folder.glob(".*"))


def test_write_store_twice(folder):
    """The store is one of the two; who comes second is told."""
    ended = at_once(folder, write_ones, (1,), (2,))
    assert 0 in [code for code, _ in ended]
    X = open_store(folder / "s")
    assert X.shape == (40_000, 50)
    assert len(np.unique(X)) == 1
    assert not list(folder.glob(".*"))
