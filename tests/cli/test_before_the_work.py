"""What stands in the way of the output is told at once, not after all has been computed."""

import errno
import os
import sys
from pathlib import Path

import pytest

CSV = ("--labels-column", "tags")
RICH = ("rich.table", "rich.box", "rich.console", "rich.progress")
NEEDS_RICH = "The command line needs rich: pip install 'nearlabel[cli]'."
NEEDS_SKOPS = "Saving models needs skops: pip install 'nearlabel[persistence]'."
NEEDS_MATPLOTLIB = "Drawing needs matplotlib: pip install 'nearlabel[plot]'."
MATPLOTLIB = ("matplotlib", "matplotlib.figure", "matplotlib.backend_bases")
FIT, TUNE = ("fit", "x.csv", *CSV, "--out"), ("tune", "x.csv", *CSV, "--out")
PREDICT, EXPLAIN = ("predict", "m.skops", "x.csv"), ("explain", "m.skops", "x.csv", "--row", "0")
COMPARE = ("compare", "run", "--test", "friedman", "--figure")
REPRODUCE = ("reproduce", "spyromitros2008", "--figure", "1")


@pytest.fixture(autouse=True)
def no_work(monkeypatch, tmp_path):
    """Fail where data or a model is read, in an empty folder."""

    def work(*_, **__):
        pytest.fail("work was done")

    for name in (
        "cli._data.open_data", "cli._model.open_model", "comparison.compare", "experiments.run",
        "papers.Paper.reproduce_figure",
    ):  # fmt: skip
        monkeypatch.setattr(f"nearlabel.{name}", work)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("command", "modules", "message"),
    [
        ((*FIT, "m.skops"), RICH, NEEDS_RICH),
        ((*FIT, "m.skops"), ("skops.io",), NEEDS_SKOPS),
        ((*TUNE, "m.skops"), RICH, NEEDS_RICH),
        ((*TUNE, "m.skops", "--format", "json"), ("skops.io",), NEEDS_SKOPS),
        ((*PREDICT, "--score"), RICH, NEEDS_RICH),
        (EXPLAIN, RICH, NEEDS_RICH),
        ((*EXPLAIN, "--figure", "why.png"), MATPLOTLIB, NEEDS_MATPLOTLIB),
        ((*COMPARE, "ranks.png"), MATPLOTLIB, NEEDS_MATPLOTLIB),
        (REPRODUCE, MATPLOTLIB, NEEDS_MATPLOTLIB),
        (("demo",), RICH, NEEDS_RICH),
        (("demo", "--format", "json"), MATPLOTLIB, NEEDS_MATPLOTLIB),
    ],
)
def test_missing_extras(nearlabel, monkeypatch, command, modules, message):
    """The error names the extra."""
    for module in modules:
        monkeypatch.setitem(sys.modules, module, None)
    assert nearlabel(*command) == (2, "", f"nearlabel: {message}\n")


FILES = [
    ((*FIT, "{}/m.skops"), "--out"),
    ((*TUNE, "{}/m.skops"), "--out"),
    ((*PREDICT, "--out", "{}/p.csv"), "--out"),
    (("resample", "x.csv", *CSV, "--sampler", "mlsmote", "--out", "{}/r.csv"), "--out"),
    (("report", "m.skops", "x.csv", "--out", "{}/r.html"), "--out"),
    ((*EXPLAIN, "--figure", "{}/why.png"), "--figure"),
    ((*COMPARE, "{}/ranks.png"), "--figure"),
]


@pytest.mark.parametrize(("command", "option"), FILES)
def test_a_folder_that_is_not_there(nearlabel, command, option):
    """A file goes into a folder that exists, whatever it is of."""
    answer = nearlabel(*(part.format("nowhere") for part in command))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"nearlabel: {option} must be in a folder that exists, got nowhere/")
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(("command", "option"), [*FILES, (("demo", "--out", "{}"), "--out")])
def test_a_folder_that_is_read_only(nearlabel, monkeypatch, command, option):
    """The message names what was asked for, not the file that would have been written first."""

    def refuse(path, **_):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "touch", refuse)
    answer = nearlabel(*(part.format(".") for part in command))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"nearlabel: {option} must be a file that can be written, got ")
    assert answer.err.endswith(": Permission denied.\n")
    assert "partial" not in answer.err


@pytest.mark.parametrize("command", [(*EXPLAIN, "--figure"), COMPARE])
def test_a_figure_that_nothing_can_write(nearlabel, command):
    """Such as one in the place of a table: the known endings are listed."""
    answer = nearlabel(*command, "new.csv")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("nearlabel: --figure must end in one of ")
    assert " pdf, " in answer.err
    assert answer.err.endswith(", got 'new.csv'.\n")
