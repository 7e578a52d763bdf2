"""SIGTERM, SIGINT and SIGHUP in the middle of a command: what was begun is removed, the exit code tells the signal."""

import os
import signal
import subprocess
import sys
import time

import pytest

from faults._commands import command_of, environment_of, nearlabel
from faults._scenarios import OF_TABLE, write_table

CODES = {"SIGTERM": 143, "SIGINT": 130, "SIGHUP": 129}
# A command that stops while it writes predictions, until the signal comes.
STOPPING = """
import sys, time
from nearlabel import __main__
from nearlabel.files import atomic_file
settle = atomic_file._settle
def stop(path):
    print("here", file=sys.stderr, flush=True)
    time.sleep(60)
atomic_file._settle = stop
sys.exit(__main__.main())
"""


def heed_signals():
    """Let a new process end by the signals, whatever started the tests: a shell in the background, or nohup."""
    for sign in CODES:
        signal.signal(getattr(signal, sign), signal.SIG_DFL)


def ended_by(sign, folder, command):
    """Start a command, send it a signal when it says that it is writing, and return exit code and last lines."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment_of(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )
    with process:
        while (line := process.stderr.readline()) != "here\n":
            assert line, "the command ended before it wrote"
        process.send_signal(getattr(signal, sign))
        said = process.stderr.read()
    return process.returncode, said


@pytest.mark.long
@pytest.mark.parametrize("sign", CODES)
def test_ended_while_it_writes(with_model, sign):
    """The older file stays, and nothing is left beside it."""
    (with_model / "p.csv").write_text("older\n")
    before = sorted(file.name for file in with_model.iterdir())
    command = [sys.executable, "-c", STOPPING, "predict", "m.skops", "new.csv", "--out", "p.csv"]
    code, said = ended_by(sign, with_model, command)
    assert code == CODES[sign]
    assert said == ("nearlabel: interrupted.\n" if sign == "SIGINT" else "")
    assert sorted(file.name for file in with_model.iterdir()) == before
    assert (with_model / "p.csv").read_text() == "older\n"


OPTIONS = ("--methods", "brknn", "--k", "3", "--cv", "30", "--metrics", "hamming_loss", "--out")
EVALUATE = ("evaluate", "data.csv", *OF_TABLE, *OPTIONS)


@pytest.fixture(scope="module")
def records_of_whole_run(tmp_path_factory):
    """The records of a run that was left alone."""
    folder = tmp_path_factory.mktemp("whole")
    write_table(folder / "data.csv", 60, 0)
    assert nearlabel(folder, *EVALUATE, "whole").returncode == 0
    return (folder / "whole" / "records.jsonl").read_bytes()


@pytest.mark.long
@pytest.mark.parametrize("sign", CODES)
def test_ended_between_folds(folder, sign, records_of_whole_run):
    """Finished folds stay, and the same command does the rest: the records are those of a run that was left alone."""
    process = subprocess.Popen(
        command_of(*EVALUATE, "ended"),
        cwd=folder,
        env=environment_of(folder),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=heed_signals,
    )
    records = folder / "ended" / "records.jsonl"
    with process:
        while process.poll() is None and not (records.exists() and records.stat().st_size):
            time.sleep(0.001)
        process.send_signal(getattr(signal, sign))
    assert process.returncode in (CODES[sign], 0)  # 0: it was faster
    kept = records.read_bytes()
    assert nearlabel(folder, *EVALUATE, "ended").returncode == 0
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
