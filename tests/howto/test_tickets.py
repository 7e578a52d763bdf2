"""The walk of the tickets: a table, an honest estimate, next month, a night, an erasure, an explanation."""

import json
import os
from pathlib import Path

import pytest

from _pages import follow
from nearlabel.persistence import read_card, read_kept

DATA = Path(os.environ.get("NEARLABEL_DATA", ".")).resolve()  # before a test changes the folder


@pytest.mark.long
@pytest.mark.skipif("NEARLABEL_DATA" not in os.environ, reason="needs the collection")
def test_the_page_runs_as_it_says(folder, capsys, monkeypatch):
    """Every program and command, with all that is printed, in 80 columns where text is explained."""
    monkeypatch.setenv("NEARLABEL_DATA", str(DATA))
    follow("howto/tickets", folder, capsys)
    kept = read_kept(folder / "tickets.skops")["id"]
    assert len(kept) == len(set(kept)) == read_card(folder / "tickets.skops").data.rows
    assert not {"5141", "5142"} & set(kept)
    assert b"5141" not in json.dumps(kept).encode()
