"""No home folder, no entry of the user, no locale, no temporary folder, and a clock that jumps."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import nearlabel as package
from faults._commands import environment_of, nearlabel, one_after_another
from faults._scenarios import OF_TABLE, run_command

WITHOUT_ENTRY = """
import pwd, sys
def none(*_):
    raise KeyError("no entry")
pwd.getpwuid = pwd.getpwnam = none
from nearlabel import __main__
sys.exit(__main__.main())
"""


def without_home(folder, *arguments):
    """Run a command of a user without HOME and without an entry in the list of users."""
    of = {name: value for name, value in environment_of(folder).items() if name != "HOME"}
    command = [sys.executable, "-c", WITHOUT_ENTRY, *arguments]
    return subprocess.run(command, cwd=folder, env=of, capture_output=True, text=True, check=False)


def notes_of(done):
    """Return the notes of a command, but those on values outside the range of the training rows."""
    return [line for line in done.stderr.splitlines() if "outside the training" not in line and "Moved" not in line]


@pytest.mark.long
def test_no_home(with_model):
    """What needs none works; a download says which variable names a folder."""
    done = without_home(with_model, "predict", "m.skops", "new.csv", "--out", "p.csv")
    assert (done.returncode, notes_of(done)) == (0, ["nearlabel: p.csv: 30 rows, 2 columns (row, labels)."])
    done = without_home(with_model, "describe", "emotions")
    assert done.returncode == 2
    assert "NEARLABEL_CACHE must name a folder" in done.stderr


@pytest.mark.long
def test_no_locale(folder):
    """Names that are not ASCII, in files and of files, where the terminal has ASCII only."""
    text = (folder / "data.csv").read_text()
    for old, new in (("calm", "tag_übermütig"), ("loud", "tag_laut"), ("sad", "tag_traurig")):
        text = text.replace(old, new)
    (folder / "größe.csv").write_text(text, encoding="utf-8")
    of = environment_of(folder, LANG="C", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    table = ("größe.csv", "--labels-prefix", "tag_", "--ignore", "id")
    fit = ("fit", *table, "--method", "mlknn", "--k", "3", "--validate", "none", "--out", "größe.skops")
    commands = [("describe", *table), fit, ("predict", "größe.skops", "größe.csv", "--out", "p.csv")]
    done = one_after_another(folder, commands, environment=of)
    assert (done.returncode, notes_of(done)) == (0, ["nearlabel: p.csv: 60 rows, 2 columns (row, labels)."])
    assert "tag_übermütig" in (folder / "p.csv").read_text(encoding="utf-8")


@pytest.mark.long
def test_no_temporary_folder(folder):
    """Another one is taken: standard input is read."""
    of = environment_of(folder, TMPDIR=str(folder / "none"))
    with (folder / "data.csv").open() as table:
        done = nearlabel(folder, "describe", "-", *OF_TABLE, environment=of, stdin=table)
    assert (done.returncode, notes_of(done)) == (0, [])


def jumping(monkeypatch):
    """Let the clock of the day go back and forth by hours, at each look."""
    true, jumps = time.time, iter(range(10**9))
    monkeypatch.setattr(time, "time", lambda: true() + (-1) ** next(jumps) * 3600 * 5)


def test_a_clock_that_jumps(folder, monkeypatch, capsys):
    """Records and models are the same."""
    options = (*OF_TABLE, "--methods", "brknn,mlknn", "--k", "3", "--cv", "3", "--metrics", "hamming_loss", "--out")
    run_command(folder, "evaluate", "data.csv", *options, "usual")
    jumping(monkeypatch)
    run_command(folder, "evaluate", "data.csv", *options, "jumping")
    assert (folder / "jumping" / "records.jsonl").read_bytes() == (folder / "usual" / "records.jsonl").read_bytes()
    tune = ("--methods", "brknn", "--k", "3-5", "--scales", "minmax", "--search", "exact", "--cv", "3")
    run_command(folder, "tune", "data.csv", *OF_TABLE, *tune, "--out", "m.skops")
    assert (folder / "m.skops").exists()


def test_durations_are_measured_by_a_clock_that_does_not_jump():
    """`time.time` is for ages of files alone, which are compared with the moments that the system wrote down."""
    source = Path(package.__file__).parent
    users = [path.relative_to(source) for path in source.rglob("*.py") if "time.time(" in path.read_text()]
    assert users == [Path("files/atomic_file.py")]
