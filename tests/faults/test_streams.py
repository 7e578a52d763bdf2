"""Standard streams that are full, closed or read by nobody: one exit code, buffered or not, and no traceback."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from faults._commands import command_of, environment_of, here, nearlabel, started
from faults._scenarios import OF_TABLE

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="needs a device that is always full")
BUFFERS = ("", "1")
DESCRIBE = ("describe", "data.csv", *OF_TABLE, "--format", "json")
QUICK = (("--version",), ("--help",), ("fit", "--help"), ())  # which import no library


@pytest.mark.long
@needs_full
@pytest.mark.parametrize("unbuffered", BUFFERS)
@pytest.mark.parametrize("arguments", [*QUICK, DESCRIBE], ids=" ".join)
def test_a_full_standard_output(folder, arguments, unbuffered):
    """The exit code is 2, and a line says what could not be written."""
    with FULL.open("w") as full:
        of = environment_of(folder, PYTHONUNBUFFERED=unbuffered)
        done = nearlabel(folder, *arguments, environment=of, stdout=full)
    assert (done.returncode, done.stderr) == (2, "nearlabel: standard output: No space left on device.\n")


@needs_full
@pytest.mark.parametrize("unbuffered", BUFFERS)
@pytest.mark.parametrize(
    ("arguments", "code"),
    [(("--version",), 0), (("predict", "m"), 2), pytest.param(("describe", "none.csv"), 2, marks=pytest.mark.long)],
)
def test_a_full_standard_error(folder, arguments, code, unbuffered):
    """What would be printed there is lost, and the exit code is as otherwise."""
    with FULL.open("w") as full:
        of = environment_of(folder, PYTHONUNBUFFERED=unbuffered)
        done = nearlabel(folder, *arguments, environment=of, stderr=full)
    assert done.returncode == code


def closing(*descriptors):
    """Return what closes streams before the command starts, as ``>&-`` does."""

    def close():
        for descriptor in descriptors:
            os.close(descriptor)

    return close


@pytest.mark.parametrize("closed", [(0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize(("arguments", "code"), [(("--version",), 0), (("predict", "m"), 2)])
def test_closed_streams(folder, arguments, code, closed):
    """Nothing else changes."""
    done = nearlabel(folder, *arguments, before=closing(*closed))
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.long
@pytest.mark.parametrize("closed", [(1,), (0, 1, 2)])
def test_closed_streams_of_a_command_that_writes(with_model, closed):
    """The file that it opens does not get the number of a stream, and what is printed: it is whole."""
    arguments = ("predict", "m.skops", "new.csv", "--out")
    assert here(with_model, *arguments, "whole.csv").returncode == 0
    assert nearlabel(with_model, *arguments, "p.csv", before=closing(*closed)).returncode == 0
    assert (with_model / "p.csv").read_bytes() == (with_model / "whole.csv").read_bytes()


@pytest.mark.parametrize("unbuffered", BUFFERS)
@pytest.mark.parametrize(
    "arguments", [("--help",), pytest.param(DESCRIBE, marks=pytest.mark.long)], ids=["help", "describe"]
)
def test_a_reader_that_has_enough(folder, arguments, unbuffered):
    """Nobody reads, as behind ``| true``: the exit code is 1, and nothing is printed."""
    read, write = os.pipe()
    os.close(read)
    of = environment_of(folder, PYTHONUNBUFFERED=unbuffered)
    with os.fdopen(write, "w") as pipe:
        done = nearlabel(folder, *arguments, environment=of, stdout=pipe)
    assert (done.returncode, done.stderr) == (1, "")


@pytest.mark.long
def test_head(with_model):
    """The first line of many: `head` ends well, and the command says nothing."""
    command = [*command_of("predict", "m.skops", "new.csv", "--scores", "all")]
    shell = "; ".join(['"$@" | head -n 1', "true"])
    done = subprocess.run(
        ["sh", "-c", shell, "sh", *command],
        cwd=with_model,
        env=environment_of(with_model),
        capture_output=True,
        text=True,
        check=False,
    )
    notes = [line for line in done.stderr.splitlines() if "outside the training" not in line and "Moved" not in line]
    assert (done.returncode, notes) == (0, [])
    assert done.stdout.splitlines() == ["row,labels,score_calm,score_loud,score_sad"]


@needs_full
@pytest.mark.long
@pytest.mark.parametrize("unbuffered", BUFFERS)
def test_the_file_is_written_though_the_screen_is_full(folder, unbuffered):
    """The model is there, and the line names the screen, not the model."""
    options = ("--method", "mlknn", "--k", "3", "--validate", "none", "--out", "m.skops")
    with FULL.open("w") as full:
        of = environment_of(folder, PYTHONUNBUFFERED=unbuffered)
        done = nearlabel(folder, "fit", "data.csv", *OF_TABLE, *options, environment=of, stdout=full)
    assert (done.returncode, done.stderr) == (2, "nearlabel: standard output: No space left on device.\n")
    assert here(folder, "card", "m.skops").returncode == 0


_CLOSED = """
import os, sys
from nearlabel import cli
errors = os.dup(2)
{closing}
try:
    code = cli.main({words!r})
except SystemExit as stop:
    code = stop.code
os.write(errors, b"code %d\\n" % code)
"""


@pytest.mark.parametrize("closing", ["os.close(1)", "sys.stdout.close()", "os.close(1); os.close(2)"])
@pytest.mark.parametrize(("words", "code"), [(["--version"], 0), (["describe", "multidigits"], 0), (["fit"], 2)])
def test_streams_that_a_program_has_closed(folder, closing, words, code):
    """Who calls the command from Python gets its exit code; what is printed is lost."""
    done = started(folder, [sys.executable, "-c", _CLOSED.format(closing=closing, words=words)])
    assert done.returncode == 0
    assert done.stderr.endswith(f"code {code}\n")
    assert "Error" not in done.stderr
