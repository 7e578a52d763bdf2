"""Whoever pipes a command into `head` still gets its files."""

import os
import sys

import pytest

from nearlabel import cli
from nearlabel.persistence import load_model

CSV = ("--labels-column", "tags", "--ignore", "id")


@pytest.fixture
def unread(monkeypatch):
    """Run a command whose standard output nobody reads, and return its exit code."""

    def _run(*arguments):
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "w") as closed_pipe, monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", closed_pipe)
            try:
                return cli.main([str(argument) for argument in arguments])
            except SystemExit as stop:  # rich ends in this way
                return stop.code

    return _run


@pytest.mark.parametrize("format_", ["table", "json", "csv"])
def test_tune(unread, table, tmp_path, format_):
    """The best model is kept."""
    out = tmp_path / "m.skops"
    options = ("--k", "1-3", "--methods", "mlknn", "--format", format_)
    assert unread("tune", table[1], *CSV, *options, "--out", out) == 1
    assert load_model(out).predict(table[0].X).shape == table[0].Y.shape


@pytest.mark.long
def test_fit_and_explain(unread, table, tmp_path):
    """The model, and the figure."""
    out, figure = tmp_path / "m.skops", tmp_path / "why.svg"
    assert unread("fit", table[1], *CSV, "--method=mlknn", "--k", 3, "--out", out) == 1
    assert unread("explain", out, table[1], "--row", 3, "--figure", figure) == 1
    assert "<svg" in figure.read_text()


def test_compare(unread, nearlabel, meka, tmp_path):
    """The diagrams."""
    run, figure = tmp_path / "run", tmp_path / "ranks.svg"
    options = ("--methods", "brknn,mlknn,lpknn", "--k", 3, "--cv", 5, "--metrics", "hamming_loss")
    assert nearlabel("evaluate", meka, *options, "--out", run).code == 0
    assert unread("compare", run, "--test", "friedman", "--figure", figure) == 1
    assert len(list(tmp_path.glob("ranks-hamming_loss*.svg"))) == 1
