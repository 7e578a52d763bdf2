"""What killed processes leave is removed by the next one, and nothing of a process that lives."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from nearlabel.datasets import open_store, write_store
from nearlabel.files import atomic_file
from nearlabel.files.atomic_file import is_abandoned, leftovers_in, remove_abandoned, whole_file

WRITER = """
import sys, time
from pathlib import Path
from nearlabel.files.atomic_file import whole_file

def wait():
    print("writing", flush=True)
    sys.stdin.readline()

def blocks():
    yield [[1.0, 1.0]] * 3
    wait()

if sys.argv[2] == "file":
    with whole_file(Path(sys.argv[1])) as partial:
        partial.write_text("theirs")
        wait()
else:
    from nearlabel.datasets import write_store  # which takes seconds

    write_store(sys.argv[1], blocks())
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there all is left alone for a day")


def write(place, kind):
    """Write a file or a store."""
    if kind == "store":
        write_store(place, [[1.0]], overwrite=True)
        return
    with whole_file(place) as partial:
        partial.write_text("ours")


def names(folder):
    """Return the sorted names of what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["file", "store"])
def writer(request, tmp_path):
    """Return a process in the middle of writing, what it writes, and what kind that is."""
    command = [sys.executable, "-c", WRITER, tmp_path / "a", request.param]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "writing\n"
        yield process, tmp_path / "a", request.param
        process.kill()


@pytest.mark.long
def test_what_a_killed_process_left_is_removed_by_the_next(writer):
    """By one that writes the same; another name is nobody's business."""
    process, place, kind = writer
    process.send_signal(signal.SIGKILL)
    process.wait()
    (left,) = leftovers_in(place.parent)
    assert is_abandoned(left)
    write(place.with_name("another"), kind)
    assert names(place.parent) == [left.name, "another"]
    write(place, kind)
    assert names(place.parent) == ["a", "another"]


@pytest.mark.long
def test_what_a_live_process_writes_stays(writer):
    """Both finish; the later one has the last word, a new store none."""
    process, place, kind = writer
    (theirs,) = leftovers_in(place.parent)
    assert not is_abandoned(theirs)
    assert not remove_abandoned(theirs)
    write(place, kind)
    assert names(place.parent) == [theirs.name, "a"]
    process.communicate("go on\n")
    assert names(place.parent) == ["a"]
    if kind == "file":
        assert process.returncode == 0
        assert place.read_text() == "theirs"
    else:
        assert open_store(place, check=True).tolist() == [[1.0]]


@pytest.mark.parametrize(("days", "is_removed"), [(0, False), (2, True)])
def test_other_machines_have_a_day(tmp_path, days, is_removed):
    """Their locks may not be seen here; nor those of an earlier nearlabel, whose names are all digits of chance."""
    other = tmp_path / f".a.{'0' * 32}.partial"
    other.write_text("half")
    os.utime(other, (time.time() - days * 86_400,) * 2)
    write(tmp_path / "a", "file")
    assert other.exists() != is_removed


def test_links_and_pipes_are_left(tmp_path):
    """What lies under the name of a leftover is not followed, nor waited for."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "thesis.txt").write_text("years of work")
    link, pipe = tmp_path / f".a.{atomic_file._this_machine()}{'0' * 24}.partial", tmp_path / f".a.{'1' * 32}.partial"
    link.symlink_to(victim)
    os.mkfifo(pipe)
    write(tmp_path / "a", "file")
    assert names(tmp_path) == sorted([link.name, pipe.name, "a", "victim"])
    assert names(victim) == ["thesis.txt"]


def test_a_lock_that_nobody_holds(tmp_path):
    """The file of a killed process's lock is a leftover too."""
    lock = tmp_path / ".a.01234567.lock"
    lock.write_text("1 adding rows")
    assert list(leftovers_in(tmp_path)) == [lock]
    assert remove_abandoned(lock)
    assert names(tmp_path) == []


def test_a_lock_that_changed_hands_stays(tmp_path, monkeypatch):
    """Its holder removed it after it was opened here, and another process has locked its own by now."""
    lock, opened = tmp_path / ".a.01234567.lock", atomic_file._opened
    lock.write_text("1 adding rows")

    def before_another_comes(path):
        handle = opened(path)
        path.unlink()
        path.write_text("2 removing rows")
        return handle

    monkeypatch.setattr(atomic_file, "_opened", before_another_comes)
    assert not remove_abandoned(lock)
    assert lock.read_text() == "2 removing rows"


def test_many_at_once(tmp_path):
    """Each sweeps before it writes; nobody's file is lost."""
    faults = []

    def work(number):
        try:
            for _ in range(50):
                with whole_file(tmp_path / "a") as partial:
                    partial.write_text(str(number))
        except OSError as error:
            faults.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert names(tmp_path) == ["a"]


def test_a_sweep_between_making_and_locking_is_survived(tmp_path, monkeypatch):
    """The writer notices that its file is gone, and makes another one."""
    locked, swept = atomic_file._locked, []

    def after_a_sweep(partial):
        if not swept:
            swept.append(remove_abandoned(partial))
        return locked(partial)

    monkeypatch.setattr(atomic_file, "_locked", after_a_sweep)
    write(tmp_path / "a", "file")
    assert swept == [True]
    assert names(tmp_path) == ["a"]
