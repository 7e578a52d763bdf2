import json
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from nearlabel.cli import _demo
from nearlabel.datasets import load_multidigits
from nearlabel.experiments import Plan

METHODS = ("brknn", "lpknn", "mlknn", "nldd")


@pytest.fixture(autouse=True)
def few_rows(monkeypatch, request):
    """The demo of fewer rows, folds and methods, unless it is the whole one that is looked at."""
    if request.node.get_closest_marker("long"):
        return
    digits = load_multidigits()
    assert set(METHODS) <= set(_demo._METHODS)
    monkeypatch.setattr(_demo, "_METHODS", METHODS)
    few = replace(digits, X=digits.X[:150], Y=digits.Y[:150])
    monkeypatch.setattr("nearlabel.datasets.load_multidigits", lambda: few)
    monkeypatch.setattr("nearlabel.experiments.Plan", partial(Plan, cv=2))


def test_table_and_figure(nearlabel, tmp_path):
    """The methods in a table, and a figure in the folder asked for, which is named."""
    answer = nearlabel("demo", "--out", tmp_path / "new" / "folder")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("multidigits: k = 1..30")
    first, second = answer.out.split("multidigits: each method's best k on these test folds")
    assert [line.split()[0] for line in first.splitlines()[5:9]] == list(METHODS)
    assert [line.split()[0] for line in second.splitlines()[5:8]] == list(METHODS[:3])
    assert max(map(len, (first + second).splitlines()[:-1])) <= 80
    figure = tmp_path / "new" / "folder" / "multidigits.png"
    assert answer.out.endswith(f"Figure: {figure}\n")
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_json_is_all_that_is_printed(nearlabel, tmp_path, monkeypatch):
    """With --format json standard output is JSON from end to end; the figure lies in the usual place."""
    monkeypatch.chdir(tmp_path)
    answer = nearlabel("demo", "--format", "json")
    assert {cell["method"] for cell in json.loads(answer.out)} == set(METHODS)
    assert (tmp_path / "nearlabel-demo" / "multidigits.png").is_file()


def test_without_matplotlib(nearlabel, tmp_path, monkeypatch):
    """Nothing is computed that could not be drawn; the error names the extra that draws."""
    monkeypatch.setitem(sys.modules, "matplotlib.backend_bases", None)
    answer = nearlabel("demo", "--out", tmp_path)
    assert answer == (2, "", "nearlabel: Drawing needs matplotlib: pip install 'nearlabel[plot]'.\n")


@pytest.mark.long
def test_the_page_shows_what_is_printed(nearlabel, tmp_path, monkeypatch):
    """Line for line, but for blanks at their ends."""
    monkeypatch.chdir(tmp_path)
    printed = [line.rstrip() for line in nearlabel("demo", "--out", "demo-output").out.splitlines()]
    page = (Path(__file__).parents[2] / "docs" / "command_line.md").read_text()
    assert "```text\n" + "\n".join(printed) + "\n```\n" in page
