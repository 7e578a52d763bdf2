"""What the command shows is what the function prints, and needs no extra."""

import json
import sys

from nearlabel import show_versions
from nearlabel.experiments import environment


def test_as_text(nearlabel, capsys):
    """The lines of `show_versions`."""
    show_versions()
    printed = capsys.readouterr().out
    assert nearlabel("versions") == (0, printed.removeprefix("\n"), "")


def test_as_json(nearlabel):
    """The dict of `environment`."""
    answer = nearlabel("versions", "--format", "json")
    assert (answer.code, json.loads(answer.out)) == (0, environment())


def test_without_rich(nearlabel, monkeypatch):
    """It says what is not installed, and so must run without it."""
    for module in ("rich.table", "rich.box", "rich.console"):
        monkeypatch.setitem(sys.modules, module, None)
    assert nearlabel("versions").code == 0
