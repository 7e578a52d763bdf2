"""What the service leaves on the disk, who may read it, and that it is there after a power failure."""

import os
import signal
import stat
import tempfile
import tracemalloc

import pytest

from nearlabel.persistence import forget_rows
from nearlabel.serve import LiveModel
from nearlabel.serve._live import end, rows_in_file

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="permissions are those of POSIX"),
]
NEW = {"id": "N1", "text": "zebra stripes", "product": "web", "priority": 1, "tags": ["zoo"]}


def test_nothing_next_to_a_model_is_more_open_than_it(path, monkeypatch):
    """Neither the files at the end, nor those that become them, when they are created."""
    path.chmod(0o600)
    seen, open_ = [], os.open

    def watched(name, flags, mode=0o777, **options):
        if flags & os.O_CREAT and str(name).endswith(".partial"):
            seen.append(mode)
        return open_(name, flags, mode, **options)

    monkeypatch.setattr(os, "open", watched)
    model = LiveModel(path)
    model.update([NEW], key="wb-1")
    model.compact()
    end(path)
    corrections = path.with_name("tickets.skops.corrections.jsonl")
    assert NEW["text"] in corrections.read_text()
    assert {stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()} == {0o600}
    corrections.chmod(0o644)
    forget_rows(path, ids=["T1"])
    assert stat.S_IMODE(corrections.stat().st_mode) == 0o600
    assert len(seen) >= 4
    assert set(seen) == {0o600}


def test_the_journal_of_a_read_only_file_can_be_written(path):
    """By its owner; otherwise it is as the model."""
    path.chmod(0o440)
    LiveModel(path).update([NEW])
    assert stat.S_IMODE(path.with_name("tickets.skops.journal").stat().st_mode) == 0o640


def test_the_names_of_files_are_on_disk_before_they_are_relied_on(path, monkeypatch):
    """The model's before its journal is cleared; each rename is followed by a flush of its folder."""
    events = []

    def watch(name, of, what):
        original = getattr(of, name)

        def watched(*arguments, **options):
            events.append(what(*arguments))
            return original(*arguments, **options)

        monkeypatch.setattr(of, name, watched)

    model = LiveModel(path)
    model.update([NEW], key="wb-1")
    watch("replace", type(path), lambda _, new: new.name)
    watch("fsync", os, lambda file: "folder" if stat.S_ISDIR(os.fstat(file).st_mode) else "file")
    model.compact()
    end(path)
    names = ["tickets.skops", "tickets.skops.journal", "tickets.skops.corrections.jsonl"]
    written = [part for name in names for part in ("file", name, "folder")]
    assert events[: len(written)] == written


def test_rows_of_a_killed_process_are_removed(path, tmp_path, monkeypatch):
    """By the next change; meanwhile they are the user's alone."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    model = LiveModel(path)
    child = os.fork()
    if child == 0:
        with rows_in_file(b"secret", ".csv"):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    (left,) = folder.iterdir()
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    assert [file.read_bytes() for file in left.iterdir()] == [b"secret"]
    model.update([NEW])
    assert list(folder.iterdir()) == []


def test_a_long_first_line_is_read_once(path):
    """It has all corrections; before each answer a process looks for changes."""
    one = LiveModel(path)
    one.journal.corrections = {f"wb-{n}": {"id": f"wb-{n}", "key": f"wb-k{n}", "row": NEW} for n in range(10_000)}
    one.forget(["T1"])
    one.compact()
    other = LiveModel(path)
    one.update([NEW])
    tracemalloc.start()
    try:
        (change,) = other.journal.new_changes()
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert change.body["rows"] == [NEW]
    assert most < 500_000 < path.with_name("tickets.skops.journal").stat().st_size
    one.forget(["wb-3"])
    one.compact()
    other.update([NEW | {"id": "N2"}])
    assert len(other.corrections) == len(LiveModel(path).corrections) == 9_999


def test_a_repeated_update_after_a_regular_end_adds_nothing(path):
    """Its key is not known any more; the ids are, and samples without ids as a batch."""
    model = LiveModel(path)
    model.update([NEW], key="k")
    model.compact()
    end(path)
    again = LiveModel(path)
    with pytest.raises(ValueError, match="ids of new samples must not be in the model"):
        again.update([NEW], key="k")
    assert again.update([NEW], "skip") == (1, 61)
    assert again.update([NEW], "replace", key="k3").samples == 61
