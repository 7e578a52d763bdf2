import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import joblib
import numpy as np
import pytest
from scipy import sparse

from nearlabel import cli
from nearlabel.experiments import Plan, read_records, run
from nearlabel.files.atomic_file import is_leftover

PLAN = Plan(("brknn", "mlknn"), (2, 5), cv=4, metrics=("hamming_loss", "one_error"))
PER_FOLD = 8


@pytest.fixture
def whole(toy, tmp_path):
    """The file of an uninterrupted run."""
    run(PLAN, {"toy": toy}, out=tmp_path / "whole")
    return (tmp_path / "whole" / "records.jsonl").read_text()


@pytest.fixture
def folder(toy, tmp_path):
    """A folder of a run that was interrupted after two of its four folds."""
    path = tmp_path / "interrupted"
    with pytest.raises(KeyboardInterrupt):
        run(PLAN, {"toy": toy}, out=path, progress=interrupt_after(2))
    return path


def interrupt_after(n):
    """Press Ctrl-C when n folds are done."""

    def progress(done, _total):
        if done == n:
            raise KeyboardInterrupt

    return progress


def told_while_running(folder, toy, plan=PLAN, **options):
    """Resume and return what progress was told."""
    told = []
    run(plan, {"toy": toy}, out=folder, progress=lambda done, total: told.append((done, total)), **options)
    return told


def test_an_interruption_keeps_the_finished_folds(folder, whole):
    """Two folds are on file, whole."""
    assert (folder / "records.jsonl").read_text() == "".join(whole.splitlines(keepends=True)[: 2 * PER_FOLD])


@pytest.mark.parametrize("n_workers", [1, 2])
def test_resuming_runs_the_rest_only(folder, toy, whole, n_workers):
    """Finished folds are not run again, and the file becomes that of an uninterrupted run."""
    assert told_while_running(folder, toy, n_workers=n_workers) == [(3, 4), (4, 4)]
    assert (folder / "records.jsonl").read_text() == whole


@pytest.mark.parametrize("lost", [1, 30, 200, 8 * 90])
def test_a_torn_end_is_cut_off(folder, toy, whole, lost):
    """A line, or a fold, of which only a part reached the disk is run again, whole."""
    file = folder / "records.jsonl"
    file.write_text(whole[: len(file.read_text()) - lost])
    told = told_while_running(folder, toy)
    assert told[0] == (2, 4)
    assert file.read_text() == whole


@pytest.mark.parametrize("n_lines", [1, PER_FOLD - 1])
def test_half_a_fold_is_run_again(folder, toy, whole, n_lines):
    """Whole lines of a fold that is not whole do not count."""
    lines = whole.splitlines(keepends=True)
    (folder / "records.jsonl").write_text("".join(lines[: 2 * PER_FOLD + n_lines]))
    assert told_while_running(folder, toy) == [(3, 4), (4, 4)]
    assert (folder / "records.jsonl").read_text() == whole


def test_a_finished_run_runs_nothing(folder, toy):
    """The records are read, and are those that were run."""
    first = run(PLAN, {"toy": toy}, out=folder)
    assert told_while_running(folder, toy) == []
    assert run(PLAN, {"toy": toy}, out=folder) == first


def test_thresholds_resume(toy, tmp_path):
    """Records of tuned rows are found again, and other thresholds are another plan."""
    plan = replace(PLAN, methods=("mlknn", "mlknn@micro-f:beta=2", "brknn@0.3"))
    whole = run(plan, {"toy": toy}, out=tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(plan, {"toy": toy}, out=tmp_path / "part", progress=interrupt_after(2))
    assert told_while_running(tmp_path / "part", toy, plan, n_workers=2) == [(3, 4), (4, 4)]
    assert list(read_records(tmp_path / "part")) == whole
    other = replace(plan, methods=("mlknn", "mlknn@micro-f", "brknn@0.3"))
    with pytest.raises(
        ValueError, match=r"must contain records of the same plan, got methods=\['mlknn', 'mlknn@micro-f',"
    ):
        run(other, {"toy": toy}, out=tmp_path / "part")


def unused(matrix):
    """Store a matrix as CSR of which scipy has not yet found out whether it is in order."""
    stored = sparse.csr_array(matrix)
    return sparse.csr_array((stored.data, stored.indices, stored.indptr), shape=stored.shape)


def test_data_that_was_used_in_between_resumes(make_dataset, tmp_path):
    """What scipy remembers of a sparse matrix after it was used does not make it another data set."""
    data = make_dataset(store=unused)
    as_scipy_sees_it = joblib.hash(data.X)
    run(PLAN, {"toy": data}, out=tmp_path)
    assert data.X.has_canonical_format
    assert joblib.hash(data.X) != as_scipy_sees_it
    assert told_while_running(tmp_path, data) == []


def test_numbers_of_numpy_resume(folder, toy, whole):
    """A plan made of numpy's numbers is the same plan."""
    plan = replace(PLAN, n_neighbors=PLAN.n_neighbors[0] + 3 * np.arange(2))
    assert told_while_running(folder, toy, plan) == [(3, 4), (4, 4)]
    assert (folder / "records.jsonl").read_text() == whole


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"cv": 3}, r"cv=3 \(there: 4\)"),
        ({"scale": "minmax"}, r"scale=minmax \(there: none\)"),
        ({"methods": ("brknn",)}, r"methods=\['brknn'\] \(there: \['brknn', 'mlknn'\]\)"),
        ({"seeds": (1,)}, r"seeds=\[1\] \(there: \[0\]\)"),
    ],
)
def test_records_of_another_plan_are_left_alone(folder, toy, setting, message):
    """The error says what differs, and no byte changes."""
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    with pytest.raises(ValueError, match=f"must contain records of the same plan, got {message}. Hint: choose another"):
        run(replace(PLAN, **setting), {"toy": toy}, out=folder)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_changed_data_of_the_same_name_is_another_problem(folder, toy):
    """One cell of X decides."""
    X = toy.X.copy()
    X[5, 2] += 1
    with pytest.raises(ValueError, match=r"must contain records of the same plan, got problems=\{'toy': "):
        run(PLAN, {"toy": replace(toy, X=X)}, out=folder)


def test_a_plan_without_records_is_replaced(folder, toy):
    """A run that was stopped before its first fold binds nobody."""
    (folder / "records.jsonl").unlink()
    assert told_while_running(folder, toy, replace(PLAN, cv=2)) == [(1, 2), (2, 2)]
    assert json.loads((folder / "plan.json").read_text())["cv"] == 2


def test_records_without_a_plan_are_refused(folder, toy):
    """Nobody can tell what they are of."""
    (folder / "plan.json").unlink()
    before = (folder / "records.jsonl").read_bytes()
    with pytest.raises(ValueError, match=r"records\.jsonl must be next to its plan\.json, got none"):
        run(PLAN, {"toy": toy}, out=folder)
    assert (folder / "records.jsonl").read_bytes() == before


def wait_for(condition, process):
    """Wait until a condition holds while a process runs."""
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)


PAPER = """name = "digits"
title = "Digits"
reference = "None"
[experiments.main]
datasets = ["multidigits"]
methods = ["brknn", "mlknn"]
n_neighbors = [3]
cv = 8
metrics = ["hamming_loss"]
[tables.1]
title = "Two methods"
experiments = ["main"]
printed = [["multidigits", "mlknn", 3, "hamming_loss", 0.1], ["multidigits", "brknn", 3, "hamming_loss", 0.1]]
"""
COMMANDS = {
    "evaluate": ("evaluate multidigits --methods brknn,mlknn --k 3 --cv 8 --metrics hamming_loss --out", "."),
    "reproduce": ("reproduce PAPER --out", "digits-main"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_process_resumes(tmp_path, capsys, name):
    """After kill -9 in mid-run the same command gives, to the byte, the records of one that was let alone."""
    text, records = COMMANDS[name]
    (tmp_path / "paper.toml").write_text(PAPER)
    command = text.replace("PAPER", str(tmp_path / "paper.toml")).split(" ")
    file = tmp_path / "killed" / records / "records.jsonl"
    process = subprocess.Popen(
        [sys.executable, "-m", "nearlabel", *command, str(tmp_path / "killed")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with process:
        wait_for(lambda: file.exists() and file.stat().st_size > 0, process)
        process.send_signal(signal.SIGKILL)
    killed = file.read_text()
    assert cli.main([*command, str(tmp_path / "killed")]) == 0
    resumed = capsys.readouterr().out
    assert cli.main([*command, str(tmp_path / "whole")]) == 0
    assert resumed == capsys.readouterr().out
    whole = (tmp_path / "whole" / records / "records.jsonl").read_text()
    assert 0 < len(killed) < len(whole)
    assert whole.startswith(killed)
    assert file.read_text() == whole


def test_records_of_two_runs_are_not_taken_for_one(toy, folder):
    """A fold that is there twice, as two runs at once may leave it, is refused and nothing is changed."""
    file = folder / "records.jsonl"
    first = "".join(file.read_text().splitlines(keepends=True)[:PER_FOLD])
    file.write_text(first + first)
    with pytest.raises(ValueError, match=r"records.jsonl, line 9: must be the record of .*'fold': 1"):
        run(PLAN, {"toy": toy}, out=folder)
    assert file.read_text() == first + first


def test_more_records_than_the_plan_has_are_refused(toy, whole, tmp_path):
    """A file that goes on behind the last fold is not the plan's."""
    file = tmp_path / "whole" / "records.jsonl"
    file.write_text(whole + whole[: whole.index("\n") + 1])
    with pytest.raises(ValueError, match="must contain at most the 32 records of the plan, got 33"):
        run(PLAN, {"toy": toy}, out=tmp_path / "whole")


def test_a_damaged_record_is_named(toy, folder):
    """A line that is no JSON is an error with file and line."""
    file = folder / "records.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([lines[0], "{broken\n", *lines[2:]]))
    with pytest.raises(ValueError, match=r"records.jsonl, line 2: must be JSON, got '{broken"):
        run(PLAN, {"toy": toy}, out=folder)
    with pytest.raises(ValueError, match="line 2: must be JSON"):
        list(read_records(folder))


def test_reading_records_of_a_killed_run(folder):
    """A torn last line is not yet a record."""
    file = folder / "records.jsonl"
    file.write_text(file.read_text() + '{"dataset": "to')
    assert len(list(read_records(folder))) == 2 * PER_FOLD


def test_one_run_at_a_time(toy, tmp_path):
    """A second run in the folder of one that goes on is refused; afterwards the folder is free."""
    seen = []

    def second_run(done, total):
        with pytest.raises(ValueError, match="must be written by one run at a time"):
            run(PLAN, {"toy": toy}, out=tmp_path / "one")
        assert any(is_leftover(path) for path in (tmp_path / "one").iterdir())  # `verify` knows the lock
        seen.append(done)

    records = run(PLAN, {"toy": toy}, out=tmp_path / "one", progress=second_run)
    assert seen == [1, 2, 3, 4]
    assert not any(is_leftover(path) for path in (tmp_path / "one").iterdir())
    assert run(PLAN, {"toy": toy}, out=tmp_path / "one") == records
