"""SIGTERM, SIGINT and SIGHUP in the middle of a command: what was begun is removed, the exit code tells the signal."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time

import pytest

from faults._commands import SIGNALS, command, environment_of, forked, here, stop_while_it_writes
from faults._scenarios import OF_TABLE, write_table


def heed_signals():
    """Let a new process end by the signals, whatever started the tests: a shell in the background, or nohup."""
    for sign in SIGNALS:
        signal.signal(getattr(signal, sign), signal.SIG_DFL)


@pytest.mark.long
@pytest.mark.parametrize("sign", SIGNALS)
def test_ended_while_it_writes(with_model, tmp_path_factory, sign):
    """The older file stays, and nothing is left beside it."""
    (with_model / "p.csv").write_text("older\n")
    before = sorted(file.name for file in with_model.iterdir())
    writing, errors = multiprocessing.get_context("forkserver").Event(), tmp_path_factory.mktemp("errors") / "text"
    arguments = ("predict", "m.skops", "new.csv", "--out", "p.csv")
    process = forked(with_model, errors, stop_while_it_writes, writing, *arguments)
    while not writing.wait(0.1):
        assert process.is_alive(), "the command ended before it wrote"
    os.kill(process.pid, getattr(signal, sign))
    process.join()
    assert process.exitcode == SIGNALS[sign]
    assert errors.read_text() == ("nearlabel: interrupted.\n" if sign == "SIGINT" else "")
    assert sorted(file.name for file in with_model.iterdir()) == before
    assert (with_model / "p.csv").read_text() == "older\n"


OPTIONS = ("--methods", "brknn", "--k", "3", "--cv", "30", "--metrics", "hamming_loss", "--out")
EVALUATE = ("evaluate", "data.csv", *OF_TABLE, *OPTIONS)


@pytest.fixture(scope="module")
def records_of_whole_run(tmp_path_factory):
    """The records of a run that was left alone."""
    folder = tmp_path_factory.mktemp("whole")
    write_table(folder / "data.csv", 60, 0)
    assert here(folder, *EVALUATE, "whole").returncode == 0
    return (folder / "whole" / "records.jsonl").read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("sign", SIGNALS)
def test_ended_between_folds(folder, sign, records_of_whole_run):
    """Finished folds stay, and the same command does the rest: the records are those of a run that was left alone."""
    process = forked(folder, folder / "errors", command, *EVALUATE, "ended")
    records = folder / "ended" / "records.jsonl"
    while process.is_alive() and not (records.exists() and records.stat().st_size):
        time.sleep(0.001)
    os.kill(process.pid, getattr(signal, sign))
    process.join()
    assert process.exitcode in (SIGNALS[sign], 0)  # 0: it was faster
    kept = records.read_bytes()
    assert here(folder, *EVALUATE, "ended").returncode == 0
    assert records_of_whole_run.startswith(kept)
    assert records.read_bytes() == records_of_whole_run


@pytest.mark.long
def test_who_ignores_hanging_up_goes_on(folder):
    """As under `nohup`."""

    def ignore():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)

    code = "import os, signal, sys; from nearlabel import __main__; sys.argv = ['nearlabel', '--version']; __main__._"
    code = f"{code}open_closed_descriptors = lambda: os.kill(os.getpid(), signal.SIGHUP); sys.exit(__main__.main())"
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment_of(folder), preexec_fn=ignore, capture_output=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith(b"nearlabel ")


def test_a_second_signal_does_not_disturb_the_end():
    """Whoever hangs up and terminates at once leaves nothing behind."""
    code = (
        "import os, signal, sys, types\n"
        "from nearlabel import __main__\n"
        "def work():\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGHUP)\n"
        "    finally:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        print('tidy', flush=True)\n"
        "sys.modules['nearlabel.cli'] = types.SimpleNamespace(main=work)\n"
        "sys.exit(__main__.main())\n"
    )
    of = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=of,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=heed_signals,
    )
    assert (done.returncode, done.stdout, done.stderr) == (129, "tidy\n", "")
