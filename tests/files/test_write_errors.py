"""Whatever cannot be written is named, as early as can be."""

import errno
import os

import numpy as np
import pytest

from nearlabel.datasets import append_to_store, load_multidigits, open_store, write_store
from nearlabel.experiments import Plan, run
from nearlabel.files.atomic_file import check_can_be_written, write_errors_named


@pytest.mark.parametrize("n_rows", [160, 5000], ids=["fit the buffer", "do not"])
@pytest.mark.parametrize("act", ["write", "append"])
def test_a_full_disk_is_told_of_the_store(tmp_path, act, n_rows):
    """What was there stays, nothing else is left, and no file stays open: a warning that would be an error.

    A limit of the size of files stands for a full disk: the system gives an error, and no name.
    """
    resource = pytest.importorskip("resource")
    path = tmp_path / "store"
    if act == "append":
        write_store(path, np.ones((2, 4)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, before[1]))
    try:
        with pytest.raises(OSError, match=os.strerror(errno.EFBIG)) as told:
            (write_store if act == "write" else append_to_store)(path, np.ones((n_rows, 4)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(told.value) == f"[Errno {errno.EFBIG}] {os.strerror(errno.EFBIG)}: '{path}'"
    assert [file.name for file in tmp_path.iterdir()] == (["store"] if act == "append" else [])
    if act == "append":
        assert open_store(path, check=True).shape == (2, 4)


def test_a_folder_that_refuses(tmp_path, monkeypatch):
    """The store is named, not the folder in which it would have been written."""

    def refuse(path, *_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(type(tmp_path), "mkdir", refuse)
    with pytest.raises(PermissionError) as told:
        write_store(tmp_path / "store", [[1.0]])
    assert str(told.value) == f"path must be a folder that can be created, got {tmp_path / 'store'}: Permission denied."


def test_a_name_that_is_too_long(tmp_path):
    """The system names it, before anything is written: the temporary file has a shorter name."""

    def rows():
        raise AssertionError("too late")
        yield

    with pytest.raises(OSError, match="n" * 300):
        write_store(tmp_path / ("n" * 300), rows())
    with pytest.raises(OSError, match="n" * 300):
        check_can_be_written(tmp_path / ("n" * 300))
    assert list(tmp_path.iterdir()) == []


def test_records_that_cannot_be_appended_are_told_before_any_is_made(tmp_path, monkeypatch):
    """Not after the first fold, which may take hours."""
    digits, plan = load_multidigits(), Plan(("brknn",), (3,), cv=2, metrics=("hamming_loss",))
    run(plan, [digits], out=tmp_path)
    records = tmp_path / "records.jsonl"
    records.write_bytes(records.read_bytes().splitlines(keepends=True)[0])
    opened = type(tmp_path).open

    def refuse(path, mode="r", *arguments, **options):
        if mode == "ab":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, mode, *arguments, **options)

    monkeypatch.setattr(type(tmp_path), "open", refuse)
    monkeypatch.setattr(Plan, "values", None)
    with pytest.raises(PermissionError) as told:
        run(plan, [digits], out=tmp_path)
    assert told.value.filename == str(records)


def test_errors_of_other_files_stay(tmp_path):
    """An error while rows are read is none of writing them."""
    with pytest.raises(FileNotFoundError) as told, write_errors_named(tmp_path / "a", tmp_path / "b"):
        (tmp_path / "c").read_bytes()
    assert told.value.filename == str(tmp_path / "c")
