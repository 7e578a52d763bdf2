"""`nearlabel verify`: its output and its exit codes."""

import json

import pytest

from nearlabel.datasets import write_store


@pytest.fixture
def stores(tmp_path):
    """Return a folder with a sound store and a damaged one."""
    write_store(tmp_path / "sound", [[1.0, 2.0]])
    path = write_store(tmp_path / "torn", [[1.0, 2.0]])
    (path / "data.npy").write_bytes((path / "data.npy").read_bytes()[:-1] + b"\0")
    return tmp_path


def test_what_is_sound_is_told(nearlabel, stores):
    """And the exit code is 0."""
    answer = nearlabel("verify", stores / "sound")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == f"sound   store     {stores / 'sound'}\n1 checked, 0 damaged, 0 left over.\n"


def test_damage_is_told(nearlabel, stores):
    """The exit code is 1, and standard error stays empty: the answer is what was asked for."""
    answer = nearlabel("verify", stores)
    assert (answer.code, answer.err) == (1, "")
    assert answer.out == (
        f"sound   store     {stores / 'sound'}\n"
        f"DAMAGED store     {stores / 'torn'}\n\n"
        f"damage: {stores / 'torn' / 'data.npy'} must be what was written, got other bytes in 128 to 143\n\n"
        "2 checked, 1 damaged, 0 left over.\n"
    )


def test_formats(nearlabel, stores):
    """JSON has all, CSV what was found."""
    answer = nearlabel("verify", stores / "sound", stores / "torn", "--format", "json")
    assert answer.code == 1
    assert [of["is_sound"] for of in json.loads(answer.out)["checked"]] == [True, False]
    lines = nearlabel("verify", stores, "--format", "csv").out.splitlines()
    assert lines[0] == "severity,path,message"
    assert lines[1].startswith(f"damage,{stores / 'torn'},")


def test_what_cannot_be_asked(nearlabel, tmp_path):
    """A path that is not there, or none, is an error of the command."""
    answer = nearlabel("verify", tmp_path / "none")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err == f"nearlabel: path must be a file or folder that exists, got {tmp_path / 'none'}.\n"
    assert nearlabel("verify").code == 2
