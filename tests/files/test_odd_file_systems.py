"""File systems without locks, servers that lose files, odd permissions, hard links: one clear error, or all is well."""

import errno
import os
import stat
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from nearlabel import cli
from nearlabel.datasets import append_to_store, load_multidigits, write_store
from nearlabel.experiments import Plan, run
from nearlabel.files import atomic_file
from nearlabel.files.atomic_file import check_can_be_written, hand_on, lock_file_of, locked, whole_file
from nearlabel.lazy import BRkNN
from nearlabel.persistence import load_model, save_model, update_model, verify

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are other locks and permissions there")
NOBODY = 65534
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
WITHOUT_LOCKS = [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.ESTALE]


def failing(number):
    """Return a function that raises this error of the system."""

    def fail(*_, **__):
        raise OSError(number, os.strerror(number))

    return fail


def contents(folder):
    """Return the bytes of every file in a folder, hidden ones too."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def mode(path):
    """Return the permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def write(path):
    """Write a text as a whole file."""
    with whole_file(path) as partial:
        partial.write_text("new")


def add_to_model(folder):
    """Add a sample to a model."""
    update_model(folder / "m.skops", [[2.0]], [[1, 1]])


def add_to_store(folder):
    """Add a row to a store."""
    append_to_store(folder / "store", [[3.0]])


def add_to_run(folder):
    """Make records."""
    run(Plan(("brknn",), (3,), cv=2, metrics=("hamming_loss",)), [load_multidigits()], out=folder / "run")


@pytest.fixture
def folder(tmp_path):
    """A folder with a model, a store and a folder for records."""
    save_model(BRkNN(n_neighbors=1).fit([[0.0], [1.0]], [[1, 0], [0, 1]]), tmp_path / "m.skops")
    write_store(tmp_path / "store", [[1.0], [2.0]])
    (tmp_path / "run").mkdir()
    return tmp_path


@pytest.mark.parametrize("number", WITHOUT_LOCKS, ids=errno.errorcode.get)
def test_a_new_folder_of_records_does_not_stay_where_locks_fail(tmp_path, monkeypatch, number):
    """Nor do those above it that were made for it; those that were there stay."""
    monkeypatch.setattr(atomic_file.fcntl, "flock", failing(number))
    (tmp_path / "there").mkdir()
    with pytest.raises(OSError, match="whose files can be locked"):
        add_to_run(tmp_path / "there" / "new")
    assert contents(tmp_path / "there") == {}
    assert list(tmp_path.rglob("*")) == [tmp_path / "there"]


@pytest.mark.parametrize("number", WITHOUT_LOCKS, ids=errno.errorcode.get)
@pytest.mark.parametrize("change", [add_to_model, add_to_store, add_to_run])
def test_a_change_without_locks_is_refused(folder, monkeypatch, change, number):
    """The file and the remedy are named; nothing has changed, and no lock is left."""
    before = contents(folder)
    monkeypatch.setattr(atomic_file.fcntl, "flock", failing(number))
    told = rf"must be in a folder whose files can be locked, got .*{os.strerror(number)}\. Hint: \w.*\.$"
    with pytest.raises(OSError, match=told):
        change(folder)
    assert contents(folder) == before


def test_whole_files_need_no_locks(tmp_path, monkeypatch):
    """They are written, and leave nothing, where files cannot be locked; only leftovers of killed processes stay."""
    monkeypatch.setattr(atomic_file.fcntl, "flock", failing(errno.ENOLCK))
    write(tmp_path / "a")
    write_store(tmp_path / "store", [[1.0]])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "store"]


def test_a_lock_of_another_stays_where_locks_fail(tmp_path, monkeypatch):
    """It may be in use: the system may have had locks when it was taken."""
    lock = lock_file_of(tmp_path / "a")
    lock.write_text("1 adding rows")
    monkeypatch.setattr(atomic_file.fcntl, "flock", failing(errno.ENOLCK))
    with pytest.raises(OSError, match="whose files can be locked"), locked(tmp_path / "a", "adding rows"):
        pass
    assert lock.read_text() == "1 adding rows"


def test_a_lock_that_cannot_be_removed(folder, monkeypatch):
    """What was done is done: an error would tell that it was not."""
    monkeypatch.setattr(Path, "unlink", failing(errno.EROFS))
    add_to_model(folder)
    assert load_model(folder / "m.skops").search_.n_samples_fit_ == 3


@pytest.mark.parametrize("number", [errno.EROFS, errno.ESTALE], ids=errno.errorcode.get)
@pytest.mark.parametrize("function", ["fsync", "chmod", "flock"])
def test_lost_disks_are_told_with_a_remedy(tmp_path, monkeypatch, number, function):
    """At any step: the file is named and unchanged, a note tells what to do, and nothing is left."""
    file = tmp_path / "a"
    file.write_text("old")
    file.chmod(0o640)
    of_step = {"fsync": (os, "fsync"), "chmod": (Path, "chmod"), "flock": (atomic_file, "_opened")}[function]
    monkeypatch.setattr(*of_step, failing(number))
    with pytest.raises(OSError, match=os.strerror(number)) as told:
        write(file)
    assert told.value.filename == str(file)
    assert told.value.__notes__[0].startswith("Hint: ")
    assert contents(tmp_path) == {"a": b"old"}


def test_a_read_only_disk_is_told_before_the_work(tmp_path, monkeypatch):
    """With the name of the argument, the file, and a remedy."""
    monkeypatch.setattr(Path, "touch", failing(errno.EROFS))
    with pytest.raises(OSError, match=r"^--out must be .*, got .*a: Read-only file system\. Hint: choose a folder on "):
        check_can_be_written(tmp_path / "a", name="--out")
    assert contents(tmp_path) == {}


# Links.


def test_another_name_keeps_the_old_content(tmp_path):
    """A file is replaced, not changed: so a backup by hard links stays what it was."""
    file, backup = tmp_path / "a", tmp_path / "backup"
    file.write_text("old")
    os.link(file, backup)
    write(file)
    assert contents(tmp_path) == {"a": b"new", "backup": b"old"}


def test_a_store_with_two_names_is_not_changed(folder):
    """Its files grow in place: a change under one name would be one under the other, or cut its rows off."""
    (folder / "backup").mkdir()
    for file in (folder / "store").iterdir():
        os.link(file, folder / "backup" / file.name)
    before = contents(folder)
    for name in ("store", "backup"):
        with pytest.raises(ValueError, match=r"\w must be a file with one name, got one with several \(hard links\)"):
            append_to_store(folder / name, [[3.0]])
        with pytest.raises(ValueError, match="must be a file with one name"):
            write_store(folder / name, [[3.0]], overwrite=True)
    assert contents(folder) == before


def test_records_with_two_names_are_not_changed(folder):
    """The folds of one run would be appended to the other."""
    add_to_run(folder)
    os.link(folder / "run" / "records.jsonl", folder / "mine")
    before = contents(folder)
    with pytest.raises(ValueError, match=r"records.jsonl must be a file with one name"):
        add_to_run(folder)
    assert contents(folder) == before


# Permissions and owners.


@contextmanager
def umask(value):
    """Set what new files lack."""
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def as_nobody(work):
    """Return the text of the error that `work()` raises as a user without rights, in a forked child."""
    read, said = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
        try:
            work()
        except OSError as error:
            os.write(said, f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    os.close(said)
    with os.fdopen(read) as file:
        text = file.read()
    assert os.waitpid(child, 0)[1] == 0
    return text


@pytest.fixture
def open_folder():
    """A folder that everybody reaches and may write to; pytest's are for one user."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o777)
        yield Path(name)


def test_a_strict_umask_keeps_the_permissions_of_replaced_files(tmp_path):
    """Whoever could read a file, or the files of a store, still can; new ones are private."""
    file = tmp_path / "a"
    file.write_text("old")
    file.chmod(0o644)
    write_store(tmp_path / "store", [[1.0], [2.0]])
    for part in (tmp_path / "store").iterdir():
        part.chmod(0o644)
    with umask(0o077):
        write(file)
        write(tmp_path / "b")
        write_store(tmp_path / "store", np.ones((3, 2)), overwrite=True)
    assert (mode(file), mode(tmp_path / "b")) == (0o644, 0o600)
    assert {mode(part) for part in (tmp_path / "store").iterdir()} == {0o644}


def test_a_mask_that_takes_all(open_folder):
    """New files are nobody's, not even their writer's: the file is named, and nothing is left."""
    with umask(0o777):
        text = as_nobody(lambda: write(open_folder / "a")) if os.geteuid() == 0 else ""
    if text:
        assert text == f"PermissionError: [Errno 13] Permission denied: '{open_folder / 'a'}'"
    assert contents(open_folder) == {}


@as_root
def test_the_owner_stays_where_root_writes(tmp_path):
    """A file of a user that root updates is still the user's, and not root's."""
    file = tmp_path / "a"
    file.write_text("old")
    os.chown(file, NOBODY, NOBODY)
    file.chmod(0o600)
    write(file)
    assert (file.stat().st_uid, file.stat().st_gid, mode(file)) == (NOBODY, NOBODY, 0o600)


def test_permissions_of_a_group_are_not_given_to_another(tmp_path, monkeypatch):
    """Where the group cannot be kept, members of the new one were never meant."""
    old, new = tmp_path / "old", tmp_path / "new"
    for file in (old, new):
        file.touch()
    old.chmod(0o664)
    monkeypatch.setattr(os, "chown", failing(errno.EPERM))
    stated = Path.stat

    def stat_of(path, **options):
        found = list(stated(path, **options))
        return os.stat_result([*found[:5], found[5] + (path == old), *found[6:]])

    monkeypatch.setattr(Path, "stat", stat_of)
    hand_on(old, new)
    assert stat.S_IMODE(stated(new).st_mode) == 0o604


@as_root
def test_files_of_a_folder_with_a_group(tmp_path):
    """New files have the group of a folder that sets it; replaced ones keep theirs."""
    os.chown(tmp_path, 0, NOBODY)
    tmp_path.chmod(0o2770)
    other = tmp_path / "other"
    other.touch()
    os.chown(other, 0, 0)
    for name in ("a", "other"):
        write(tmp_path / name)
    assert [(tmp_path / name).stat().st_gid for name in ("a", "other")] == [NOBODY, 0]


@as_root
def test_a_file_that_may_be_written_in_a_folder_that_may_not(open_folder):
    """The reason is the folder, since the file is replaced."""
    file = open_folder / "a"
    file.write_text("old")
    file.chmod(0o666)
    open_folder.chmod(0o755)
    text = as_nobody(lambda: write(file))
    assert text == (
        f"PermissionError: path must be a file that can be written, got {file}: Permission denied."
        " Hint: a file next to it replaces it, so its folder must be writable."
    )
    assert contents(open_folder) == {"a": b"old"}


@as_root
def test_a_file_of_another_in_a_sticky_folder(open_folder):
    """As in /tmp: only its owner may replace it, which is told before the work."""
    file = open_folder / "a"
    file.write_text("old")
    file.chmod(0o666)
    open_folder.chmod(0o1777)
    text = as_nobody(lambda: check_can_be_written(file, name="--out"))
    assert text == (
        f"PermissionError: --out must be a file that can be replaced, got {file}, which belongs to another user, in a"
        " folder with the sticky bit. Hint: choose another name."
    )
    assert contents(open_folder) == {"a": b"old"}


@as_root
def test_a_lock_of_another_user(open_folder):
    """One that is in use, or of a process that was killed: its file can be removed then."""
    lock = lock_file_of(open_folder / "a")
    lock.touch(0o600)
    text = as_nobody(lambda: locked(open_folder / "a", "adding rows").__enter__())
    assert text == (
        f"PermissionError: {open_folder / 'a'} must not be changed by two users at once, got another one's lock."
        f" Hint: try again; if it stays, its process was killed, and {lock} can be removed."
    )


# Forks.


def forked(work):
    """Return the process id of a child that does this work, and ends as Python does."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of forking beside threads, from Python 3.12 on
@pytest.mark.parametrize("block", [whole_file, lambda path: locked(path, "adding rows")], ids=["file", "lock"])
def test_a_child_that_leaves_a_block_removes_nothing(tmp_path, block):
    """The temporary file, or the lock, is its parent's."""
    inside = block(tmp_path / "a")
    inside.__enter__()
    (before,) = tmp_path.iterdir()
    assert os.waitpid(forked(lambda: inside.__exit__(SystemExit, SystemExit(0), None)), 0)[1] == 0
    assert list(tmp_path.iterdir()) == [before]
    inside.__exit__(ZeroDivisionError, ZeroDivisionError(), None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_lock_of_a_killed_parent_is_free(tmp_path):
    """Though its children live on: they close their copies of the lock when they begin."""
    read, held = os.pipe()
    has_begun, begins = os.pipe()

    def parent():
        with locked(tmp_path / "a", "adding rows"):
            child = os.fork()
            if child == 0:
                os.write(begins, b"x")
                os.read(read, 1)
                os._exit(0)
            os.read(has_begun, 1)
            os._exit(0)  # as if it were killed: nothing is removed

    assert os.waitpid(forked(parent), 0)[1] == 0
    with locked(tmp_path / "a", "adding rows"):
        pass
    os.write(held, b"x")
    for end in (read, held, has_begun, begins):
        os.close(end)
    assert list(tmp_path.iterdir()) == []


@as_root
@pytest.mark.parametrize("name", ["m.skops", "a.csv", "store", "run"])
def test_verify_without_permission(open_folder, name):
    """What cannot be read may be sound: it is neither called damaged nor sound, and the rest is checked."""
    save_model(BRkNN(n_neighbors=1).fit([[0.0], [1.0]], [[1, 0], [0, 1]]), open_folder / "m.skops")
    write_store(open_folder / "store", [[1.0], [2.0]])
    (open_folder / "a.csv").write_text("kg,purrs\n3.5,1\n")
    add_to_run(open_folder)
    for file in open_folder.rglob("*"):
        file.chmod(0o755)
    path = open_folder / name
    for file in path.rglob("*") if path.is_dir() else [path]:
        file.chmod(0)

    def check():
        found = verify(open_folder)
        code = cli.main(["verify", str(open_folder)])
        messages = sorted({f"{of.severity}: {of.message}" for of in found.findings})
        checked = [f"{of.path.name} {of.is_sound}" for of in found.checked]
        raise OSError(f"{found.is_sound} {code} {messages} {checked}")

    others = [f"{other} True" for other in sorted({"m.skops", "a.csv", "store", "run"} - {name})]
    assert as_nobody(check) == f"OSError: False 2 {['unreadable: cannot be read: Permission denied']} {others}"
