import errno
import os
import subprocess
import sys
import threading

import pytest

from nearlabel.files.atomic_file import lock_file_of, locked

HOLDER = """
import sys, time
from nearlabel.files.atomic_file import locked
with locked(sys.argv[1], "adding rows"):
    print("locked", flush=True)
    time.sleep(60)
"""


def names(folder):
    """Return the names of all files, those that start with a dot too."""
    return [path.name for path in folder.iterdir()]


@pytest.fixture
def holder(tmp_path):
    """Return a process that holds the lock of a path, and the path."""
    path = tmp_path / "model.nearlabel"
    with subprocess.Popen([sys.executable, "-c", HOLDER, path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "locked\n"
        yield process, path
        process.kill()


def test_a_second_process_is_told(holder):
    """The error names the path, the process and what that is doing."""
    process, path = holder
    told = rf"model.nearlabel must not be changed by two .* \(pid {process.pid}: adding rows\)"
    with pytest.raises(BlockingIOError, match=told), locked(path, "removing rows"):
        raise AssertionError("locked twice")


def test_the_lock_of_a_killed_process_is_gone(holder):
    """The file that a killed process leaves locks nobody out."""
    process, path = holder
    process.kill()
    process.wait()
    assert len(names(path.parent)) == 1
    with locked(path, "removing rows"):
        pass
    assert names(path.parent) == []


def test_links_share_the_lock_and_other_names_do_not(tmp_path):
    """A link has the lock of what it leads to; names that begin alike have locks of their own."""
    long = "x" * 200
    (tmp_path / "link").symlink_to(tmp_path / long)
    told = pytest.raises(BlockingIOError, match=r"\(pid \d+: a\)")
    with locked(tmp_path / long, "a"), locked(tmp_path / f"{long}y", "b"), told, locked(tmp_path / "link", "c"):
        raise AssertionError("locked twice")
    assert names(tmp_path) == ["link"]


def test_an_error_frees_the_lock(tmp_path):
    """What fails while it holds the lock does not keep it."""
    with pytest.raises(ZeroDivisionError), locked(tmp_path / "a", "failing"):
        raise ZeroDivisionError
    assert names(tmp_path) == []


def test_one_thread_at_a_time(tmp_path):
    """Threads that try again and again are never inside together, though each removes the file of the lock."""
    inside, most, done = [], [], []

    def work(number):
        while len(done) < 400:
            try:
                with locked(tmp_path / "a", "counting"):
                    inside.append(number)
                    most.append(len(inside))
                    done.append(inside.pop())
            except BlockingIOError:
                pass

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(most) == {1}


def test_a_folder_that_is_not_there(tmp_path):
    """The error names the path that was asked for, not the lock."""
    with pytest.raises(FileNotFoundError, match=r"none.model must be in a folder that can be written, got No such"):
        locked(tmp_path / "none" / "model", "adding").__enter__()


@pytest.mark.skipif(sys.platform == "win32", reason="it has no such links without rights")
def test_no_link_is_followed(tmp_path):
    """What lies under the name of the lock may be anybody's, and may lead to a file that matters."""
    victim = tmp_path / "thesis.txt"
    victim.write_text("years of work")
    lock_file_of(tmp_path / "a").symlink_to(victim)
    with pytest.raises(OSError, match="must be in a folder that can be written"), locked(tmp_path / "a", "b"):
        raise AssertionError("a link was locked")
    assert victim.read_text() == "years of work"


def test_a_full_disk_has_room_for_a_lock(tmp_path, monkeypatch):
    """Rows can be removed there: only who holds the lock is not told."""

    def write(*_):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "write", write)
    told = pytest.raises(BlockingIOError, match=r"\(pid unknown\)")
    with locked(tmp_path / "a", "b"), told, locked(tmp_path / "a", "c"):
        raise AssertionError("locked twice")
    assert names(tmp_path) == []
