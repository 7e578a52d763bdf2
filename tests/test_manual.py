"""The manual page says what the help says."""

import re
import shutil
import subprocess

import pytest

from manual import escaped, main
from nearlabel.cli import _COMMANDS, build_parser


@pytest.fixture
def page(tmp_path, monkeypatch):
    """The file, written at the width of a page."""
    monkeypatch.setattr("os.environ", {})
    main(str(tmp_path / "man" / "nearlabel.1"))
    return tmp_path / "man" / "nearlabel.1"


@pytest.mark.parametrize(("line", "there"), [(".a", r"\&.a"), ("'a'", r"\&'a'"), (r"--k\n", r"\-\-k\en"), ("", "")])
def test_signs_that_man_takes_as_its_own(line, there):
    """A line is text, whatever it begins with."""
    assert escaped(line) == there


def test_every_command_has_its_section(page):
    """With its examples, which are what one looks for first."""
    text = page.read_text(encoding="utf-8")
    assert re.findall(r'^\.SH "NEARLABEL (\w+)"$', text, re.MULTILINE) == [name.upper() for name in _COMMANDS]
    examples = [escaped(f"  {example}") for command in _COMMANDS.values() for example in command.EXAMPLES]
    assert [example for example in examples if f"\n{example}\n" not in text] == []
    assert "Exit codes: 0 success" in text


@pytest.mark.skipif(shutil.which("groff") is None, reason="needs groff")
def test_man_shows_it(page):
    """Without a warning, and with every line of a command's help in one piece."""
    done = subprocess.run(["groff", "-ww", "-man", "-Tutf8", str(page)], capture_output=True, check=True)
    shown = re.sub(r"\x1b\[\d*m|.\x08", "", done.stdout.decode())
    assert done.stderr == b""
    command = next(action for action in build_parser()._actions if action.choices).choices["verify"]
    assert [line for line in command.format_help().splitlines() if f"{line}\n" not in shown] == []
