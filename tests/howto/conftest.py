"""A folder where a reader follows a page."""

import sys

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder, the current one, where Python imports from; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for path in tmp_path.glob("*.py"):
        sys.modules.pop(path.stem, None)
