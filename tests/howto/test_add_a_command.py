"""The page on adding a command: its file is one of the command line's, and works as the page shows."""

import json
from types import ModuleType

import pytest

from _pages import blocks, follow
from nearlabel import cli


@pytest.fixture
def command(monkeypatch):
    """The command of the page, among the others."""
    (text,) = (block.text for block in blocks("howto/add_a_command") if block.file)
    module = ModuleType("nearlabel.cli._rare")
    exec(compile(text, "add_a_command.md", "exec"), vars(module))
    monkeypatch.setitem(cli._COMMANDS, "rare", module)
    return module


def test_the_page_works(command, folder, capsys):
    """The command prints what the page shows, and is in the help."""
    follow("howto/add_a_command", folder, capsys)
    assert f"rare {command.SUMMARY}" in " ".join(cli.build_parser().format_help().split())


def test_its_formats_and_its_errors(command, folder, capsys):
    """JSON and CSV have the same rows; what is refused is one line."""
    assert cli.main(["rare", "multidigits", "--format", "json", "--below", "0.2"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert cli.main(["rare", "multidigits", "--format", "csv", "--below", "0.2"]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == [f"{row['label']},{row['rows']}" for row in rows]
    with pytest.raises(SystemExit, match="2"):
        cli.main(["rare", "multidigits", "--below", "2"])
    assert "must be a number between 0 and 1" in capsys.readouterr().err
