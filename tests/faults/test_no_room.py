"""A full disk, a read-only folder, too few handles, too little memory: one line is said, and nothing has changed."""

import ctypes
import os
import resource
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from faults._commands import environment_of, here, nearlabel, one_after_another
from faults._scenarios import OF_TABLE
from nearlabel.datasets import Dataset, write_npz

_DROP_FROM_BOUNDING_SET, _OVERRIDE_MODES = 24, 1  # prctl's PR_CAPBSET_DROP and CAP_DAC_OVERRIDE
FIT = ("fit", "data.csv", *OF_TABLE, "--method", "mlknn", "--k", "3", "--validate", "none", "--force", "--out")
PREDICT = ("predict", "m.skops", "new.csv", "--scores", "all", "--out")
RUN = ("evaluate", "data.csv", *OF_TABLE, "--methods", "brknn", "--k", "3", "--cv", "10", "--metrics", "hamming_loss")
WRITING = [(PREDICT, "p.csv"), (FIT, "other.skops")]
pytestmark = pytest.mark.long


def limit(which, size):
    """Return what sets a limit of the process."""
    return lambda: resource.setrlimit(which, (size, size))


@contextmanager
def limited(which, size):
    """Set a limit of this process, and take it back."""
    before = resource.getrlimit(which)
    resource.setrlimit(which, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(which, before)


def contents_of(folder):
    """The bytes of every file."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("writing", WRITING, ids=["predict", "fit"])
def test_no_room_for_a_file(with_model, writing):
    """No file may be longer than 300 bytes: the older one stays, and nothing is left beside it."""
    arguments, out = writing
    (with_model / out).write_text("older\n")
    before = contents_of(with_model)
    with limited(resource.RLIMIT_FSIZE, 300):
        done = here(with_model, *arguments, out)
    assert (done.returncode, done.stderr) == (2, f"nearlabel: {out}: File too large.\n")
    assert contents_of(with_model) == before


def test_no_room_for_the_next_fold(folder):
    """The folds that are done stay, and the same command does the rest when there is room."""
    with limited(resource.RLIMIT_FSIZE, 700):
        done = here(folder, *RUN, "--out", "run")
    assert done.returncode == 2
    assert "File too large" in done.stderr
    assert done.stderr.count("\n") == 1
    for name in ("run", "whole"):
        assert here(folder, *RUN, "--out", name).returncode == 0
    assert (folder / "run" / "records.jsonl").read_bytes() == (folder / "whole" / "records.jsonl").read_bytes()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 16 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(disk)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here: needs root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk(with_model, small_disk):
    """The line names the file, the older one stays, and there is room again."""
    older = small_disk / "other.skops"
    older.write_text("older\n")
    (small_disk / "filling").write_bytes(bytes(8000))
    done = here(with_model, *FIT, older)
    assert (done.returncode, done.stderr) == (2, f"nearlabel: {older}: No space left on device.\n")
    assert sorted(file.name for file in small_disk.iterdir()) == ["filling", "other.skops"]
    assert older.read_text() == "older\n"


def as_any_user():
    """Let the modes of files count for root, too."""
    if os.getuid() == 0 and ctypes.CDLL(None).prctl(_DROP_FROM_BOUNDING_SET, _OVERRIDE_MODES, 0, 0, 0) != 0:
        raise OSError("root must be able to give up that modes do not count")


def test_folders_that_cannot_be_written(with_model):
    """It is said before the work, in one line, and names the file."""
    closed = with_model / "closed"
    closed.mkdir(mode=0o555)
    commands = [(*arguments, f"closed/{out}") for arguments, out in WRITING] + [(*RUN, "--out", "closed")]
    done = one_after_another(with_model, commands, before=as_any_user)
    assert done.returncode == 2
    *of_files, of_records = done.stderr.splitlines()
    assert of_files == [
        f"nearlabel: --out must be a file that can be written, got closed/{out}: Permission denied."
        for _, out in WRITING
    ]
    assert of_records.startswith("nearlabel: ")
    assert "Permission denied" in of_records
    assert list(closed.iterdir()) == []


@pytest.mark.parametrize("n_handles", [6, 12])
def test_too_few_handles(with_model, n_handles):
    """Predictions are whole, or there is one line and no file."""
    done = nearlabel(with_model, *PREDICT, "p.csv", before=limit(resource.RLIMIT_NOFILE, n_handles))
    assert done.returncode in (0, 2)
    assert (with_model / "p.csv").exists() == (done.returncode == 0)
    assert "Traceback" not in done.stderr
    assert not list(with_model.glob(".*"))


def test_too_little_memory(tmp_path):
    """One line that speaks of memory."""
    names = tuple(f"x{number}" for number in range(10_000))
    large = Dataset(np.ones((1_500, 10_000)), np.eye(1_500, 2, dtype=np.int64), names, ("calm", "loud"), "large")
    write_npz(tmp_path / "large.npz", large)
    code = (
        "import resource, sys\n"
        "from pathlib import Path\n"
        "from nearlabel import cli\n"
        "import nearlabel.audit, nearlabel.cli._describe, nearlabel.datasets, nearlabel.experiments, rich.table\n"
        "size = int(Path('/proc/self/statm').read_text().split()[0]) * resource.getpagesize() + 2**26\n"
        "resource.setrlimit(resource.RLIMIT_AS, (size, size))\n"
        "sys.exit(cli.main(['describe', 'large.npz']))\n"
    )
    of = environment_of(tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=of, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "memory" in done.stderr
    assert done.stderr.count("\n") == 1
