"""The tutorial: its programs and commands run one after the other, and print what stands there."""

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

from _pages import lines
from nearlabel import cli

PAGE = (Path(__file__).parents[1] / "docs" / "tutorial.md").read_text()
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.long
@pytest.mark.filterwarnings("default")
def test_tutorial(tmp_path, monkeypatch, capsys):
    """From the CSV file to the explanation, in a fresh folder."""
    monkeypatch.chdir(tmp_path)
    names = {}
    n_commands = 0
    for (_, before), (kind, block) in pairwise([("", ""), *BLOCKS]):
        if kind == "python":
            exec(compile(block, "tutorial.md", "exec"), names)
        elif kind == "text":  # what the program printed, or the beginning of the file that the command wrote
            expected = lines(block)
            printed = capsys.readouterr().out if before.startswith("from") else Path("predictions.csv").read_text()
            assert lines(printed)[: len(expected)] == expected
        else:
            command, expected = block.removeprefix("$ nearlabel ").split("\n", 1)
            code, printed = cli.main(shlex.split(command)), capsys.readouterr()
            assert code == 0, command
            assert lines(printed.err + printed.out) == lines(expected), command
            n_commands += 1
    assert n_commands == 7
    assert all(Path(file).is_file() for file in ("tagger.skops", "why.png", "report.html"))
