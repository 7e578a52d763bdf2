"""Every command of README and the pages runs in a test or is listed with a reason, and prints what is shown."""

import shlex
from pathlib import Path

import numpy as np
import pytest

from _commands import LISTED, ROOT, shown, stripped
from _pages import blocks
from nearlabel import cli
from nearlabel.cli import build_parser
from nearlabel.datasets import Dataset, fetch_dataset, write_npz

COMMANDS = [one for one in shown() if one.page not in LISTED["followed"]]
# What a page shows as printed, where no other test compares it.
PRINTED = [one for one in COMMANDS if one.printed and one.command not in LISTED["printed"]]


def test_every_command_is_run_or_listed():
    """What is not a nearlabel command, which other tests run, is in the list of what is not run; all in it is shown."""
    commands = {one.command for one in COMMANDS}
    assert {command for command in commands if not command.startswith("nearlabel ")} <= set(LISTED["not_run"])
    assert set(LISTED["not_run"]) <= commands
    assert all(LISTED["not_run"].values())


def test_pages_are_followed():
    """Each followed page exists and is named in the test that follows it; each listed command is shown somewhere."""
    for page, test in LISTED["followed"].items():
        assert (ROOT / page).is_file()
        assert Path(page).stem in (ROOT / test).read_text(encoding="utf-8")
    commands = {one.command: one.printed for one in COMMANDS}
    for command, test in LISTED["printed"].items():
        assert command in commands
        assert command.split()[1] in (ROOT / test).read_text(encoding="utf-8")


def test_commands_are_ones_that_the_parser_takes():
    """With their options, on every page but that on adding a command, whose test knows the new one."""
    parser = build_parser()
    pages = [one for one in shown() if one.page != "docs/howto/add_a_command.md"]
    commands = [one.command for one in pages if one.command.startswith("nearlabel ")]
    assert len(commands) > 100
    for command in commands:
        parser.parse_args(shlex.split(command)[1:])


def write_yeast_twice():
    """Write the file that the page on examining data names."""
    yeast = fetch_dataset("yeast")
    X, Y = (np.vstack([part, part]) for part in (yeast.X, yeast.Y))
    write_npz("yeast-twice.npz", Dataset(X, Y, yeast.feature_names, yeast.label_names, "yeast-twice"))


def fit_the_tickets():
    """Write the files of the start page, and fit the model of its command."""
    for block in blocks("index"):
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
    (fit,) = (one.command for one in COMMANDS if one.page == "docs/index.md" and "fit tickets.csv" in one.command)
    return cli.main(shlex.split(fit)[1:])


BEFORE = {  # what is done before a command
    "nearlabel explain tickets.skops new.csv --row 0": fit_the_tickets,
    "nearlabel compare results-digits --rows --limit 3": lambda: cli.main(
        ["evaluate", "multidigits", "--methods", "mlknn,brknn", "--per-row", "--out", "results-digits"]
    ),
    "nearlabel fit yeast-twice.npz --method mlknn --out model.skops": write_yeast_twice,
}
ON_REAL_DATA = ("emotions", "yeast")


@pytest.mark.long
@pytest.mark.parametrize("example", PRINTED, ids=lambda one: f"{Path(one.page).stem}: {one.command}")
def test_the_page_shows_what_is_printed(example, request, tmp_path, monkeypatch, capsys):
    """Line for line, but for blanks at their ends; a page may show the last lines only."""
    if any(name in example.command for name in ON_REAL_DATA):
        folder = request.getfixturevalue("data_folder").absolute()
        monkeypatch.setenv("NEARLABEL_DATA", str(folder))
    monkeypatch.chdir(tmp_path)
    assert not BEFORE.get(example.command, int)()
    capsys.readouterr()
    assert cli.main(shlex.split(example.command)[1:]) == 0
    printed = stripped(capsys.readouterr().out.splitlines())
    assert printed[-len(example.printed) :] == list(example.printed)
