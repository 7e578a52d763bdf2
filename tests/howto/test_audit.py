"""The page on wrong labels: from a file with errors to a corrected one and a better model."""

import csv

import pytest

from _pages import follow


@pytest.mark.long
def test_the_page_runs_as_it_says(folder, capsys):
    """Every program and command, with all that is printed; the corrected file differs in the corrected cells only."""
    names = follow("howto/audit", folder, capsys)
    files = (folder / name for name in ("pictures.csv", "corrected.csv"))
    before, after = (list(csv.reader(file.read_text().splitlines())) for file in files)
    assert sum(old != new for rows in zip(before, after, strict=True) for old, new in zip(*rows, strict=True)) == 200
    assert names["errors"].sum() == 457
    assert (folder / "audit.html").read_text().startswith("<!doctype html>")
