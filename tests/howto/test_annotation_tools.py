"""The page on annotation tools: exports that are read, tasks that are written, answers that come back."""

import json

import pytest

from _pages import follow


@pytest.mark.filterwarnings("always")  # the page shows what is guessed
def test_the_page_runs_as_it_says(folder, capsys, monkeypatch):
    """Every program and command of docs/howto/annotation_tools.md, with all that is printed."""
    pytest.importorskip("pandas")
    monkeypatch.setenv("COLUMNS", "80")
    follow("howto/annotation_tools", folder, capsys)
    tasks = json.loads((folder / "tasks.json").read_text())
    assert [task["data"]["row_id"] for task in tasks] == ["8", "9"]
    before, after = ((folder / name).read_text().splitlines() for name in ("archive.csv", "corrected.csv"))
    assert [(old, new) for old, new in zip(before, after, strict=True) if old != new] == [
        ("a5,match and team,", "a5,match and team,sport")
    ]


@pytest.mark.filterwarnings("always")
def test_label_studio_takes_the_tasks(folder, capsys):
    """By its own code, where its library is installed, with the configuration of the page."""
    interfaces = pytest.importorskip("label_studio_sdk.label_interface")
    follow("howto/annotation_tools", folder, capsys)
    interface = interfaces.LabelInterface((folder / "configuration.xml").read_text())
    for task in json.loads((folder / "tasks.json").read_text()):
        assert interface.validate_task({"data": task["data"]})
        assert [interface.validate_prediction(one, return_errors=True) for one in task["predictions"]] == [[]]
