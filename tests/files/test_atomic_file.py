import errno
import os
import stat

import pytest

from nearlabel.files.atomic_file import check_can_be_written, whole_file


def write(path, text="new", **options):
    """Write a text as a whole file."""
    with whole_file(path, **options) as partial:
        partial.write_text(text)


def mode(path):
    """Return the permissions of a file."""
    return stat.S_IMODE(path.stat().st_mode)


def test_it_appears_in_the_end(tmp_path):
    """Until then there is what was there before, and a file that begins with a dot."""
    file = tmp_path / "a.txt"
    file.write_text("old")
    with whole_file(file) as partial:
        partial.write_text("new")
        assert file.read_text() == "old"
        assert partial.parent == tmp_path
        assert partial.name.startswith(".a.txt.")
    assert file.read_text() == "new"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("fault", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_where_something_goes_wrong(tmp_path, fault):
    """An error, an interruption, the end of the process."""

    def write_half():
        with whole_file(tmp_path / "a.txt") as partial:
            partial.write_text("half")
            raise fault

    with pytest.raises(fault):
        write_half()
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_a_link(tmp_path):
    """What it leads to is written, where that is; also if it is not there yet."""
    (tmp_path / "kept").mkdir()
    link, target = tmp_path / "latest", tmp_path / "kept" / "1"
    link.symlink_to(target.relative_to(tmp_path))
    for text in ("first", "second"):
        write(link, text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert list(target.parent.iterdir()) == [target]


def test_permissions_are_handed_on(tmp_path):
    """What only the owner may read stays so, also while it is written; a new file has the usual ones."""
    secret, plain, usual = tmp_path / "secret", tmp_path / "plain", tmp_path / "usual"
    secret.write_text("old")
    secret.chmod(0o600)
    with whole_file(secret) as partial:
        assert mode(partial) == 0o600
    assert mode(secret) == 0o600
    write(plain)
    usual.touch()
    assert mode(plain) == mode(usual)


def test_places_that_cannot_be(tmp_path):
    """Each is named as it was given, by the name of the argument; a check says the same as the writing."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "pipe")
    for place, message in [
        ("", "--out must be a file, got the folder "),
        ("loop", "the link .*loop, which leads to itself"),
        ("pipe", "pipe, which is a device or a pipe"),
        ("none/a.txt", "--out must be in a folder that exists, got .*none/a.txt"),
    ]:
        for act in (write, check_can_be_written):
            with pytest.raises(OSError, match=message):
                act(tmp_path / place, name="--out")
    assert {file.name for file in tmp_path.iterdir()} == {"loop", "pipe"}


def test_a_long_name(tmp_path):
    """The file beside has a shorter one."""
    write(tmp_path / ("n" * 255))
    write(tmp_path / ("é" * 127))
    assert len(list(tmp_path.iterdir())) == 2


def test_a_folder_that_is_read_only(tmp_path):
    """The check fails as the writing would."""
    tmp_path.chmod(0o500)
    if os.access(tmp_path, os.W_OK):
        pytest.skip("whoever runs this may write everywhere")
    with pytest.raises(PermissionError, match=r"path must be a file that can be written, got .*a.txt: Permission"):
        check_can_be_written(tmp_path / "a.txt")


def test_a_folder_that_says_no(tmp_path, monkeypatch):
    """The same where the system refuses whoever it is."""

    def refuse(path, **_):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(type(tmp_path), "touch", refuse)
    with pytest.raises(PermissionError) as told:
        check_can_be_written(tmp_path / "a.txt")
    assert str(told.value) == f"path must be a file that can be written, got {tmp_path / 'a.txt'}: Permission denied."


def test_a_file_that_is_read_only(tmp_path, monkeypatch):
    """It is not replaced behind its owner's back."""
    file = tmp_path / "a.txt"
    file.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(PermissionError, match=r"got .*a.txt, which is read-only\."):
        write(file)
    assert file.read_text() == "old"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_is_told_of_the_file(tmp_path, number):
    """The system names none."""
    file = tmp_path / "a.txt"
    with pytest.raises(OSError, match=os.strerror(number)) as told, whole_file(file):
        raise OSError(number, "whatever a library says")
    assert told.value.filename == str(file)


def test_errors_of_the_partial_file_name_the_file(tmp_path):
    """Nobody knows the other name; errors of other files stay as they are."""
    file = tmp_path / "a.txt"
    with pytest.raises(FileNotFoundError) as told, whole_file(file) as partial:
        partial.rename(tmp_path / "moved")
    assert told.value.filename == str(file)
    with pytest.raises(FileNotFoundError) as told, whole_file(file):
        (tmp_path / "other").read_text()
    assert told.value.filename == str(tmp_path / "other")
