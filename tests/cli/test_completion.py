"""What a shell completes by the program that the command prints."""

import shutil
import subprocess
import sys

import pytest

from nearlabel.cli import _COMMANDS

COMPLETE = """
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_shtab_nearlabel nearlabel "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def completed(nearlabel, tmp_path):
    """Return a function that gives what bash offers in the place of the last of some words, in a folder with files."""
    pytest.importorskip("shtab")
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    (tmp_path / "program").write_text(nearlabel("completion", "bash").out)
    folder = tmp_path / "folder"
    folder.mkdir()
    for name in ("songs.csv", "songs.skops"):
        (folder / name).touch()

    def offers(*words):
        command = ["bash", "-c", COMPLETE, "bash", str(tmp_path / "program"), "nearlabel", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        assert done.stderr == ""
        return done.stdout.split()

    return offers


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ver"], ["verify", "versions"]),
        (["describe", "--labels-c"], ["--labels-column", "--labels-columns"]),
        (["describe", "yeast", "--format", ""], ["table", "json", "csv"]),
        (["describe", "song"], ["songs.csv", "songs.skops"]),
        (["predict", "songs.s"], ["songs.skops"]),
        (["fit", "songs.csv", "--out", "so"], ["songs.csv", "songs.skops"]),
        (["fit", "songs.csv", "--metric", "so"], []),
        (["verify", "songs.csv", "songs.s"], ["songs.skops"]),
        (["completion", ""], ["bash", "zsh"]),
    ],
)
def test_bash(completed, words, offered):
    """Commands, options, choices, and files where a file belongs."""
    assert sorted(completed(*words)) == sorted(offered)


def test_every_command_is_completed(completed):
    """As the first word."""
    assert completed("") == list(_COMMANDS)


def test_zsh(nearlabel, tmp_path):
    """The program is one of zsh's, and zsh can parse it, where it is installed."""
    pytest.importorskip("shtab")
    text = nearlabel("completion", "zsh").out
    assert text.startswith("#compdef nearlabel\n")
    assert [name for name in _COMMANDS if f"{name}:" not in text] == []
    if shutil.which("zsh"):
        (tmp_path / "_nearlabel").write_text(text)
        subprocess.run(["zsh", "-n", str(tmp_path / "_nearlabel")], check=True)


def test_without_shtab(nearlabel, monkeypatch):
    """The error names the extra."""
    monkeypatch.setitem(sys.modules, "shtab", None)
    assert nearlabel("completion", "bash") == (
        2,
        "",
        "nearlabel: Completion needs shtab: pip install 'nearlabel[completion]'.\n",
    )
