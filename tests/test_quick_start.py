"""The quick start: its programs and commands run one after the other, and print what the page shows."""

import pytest

from _pages import follow


@pytest.mark.long
def test_quick_start(tmp_path, monkeypatch, capsys):
    """From a data set to a tuned, explained and saved model, in Python and on the command line."""
    monkeypatch.chdir(tmp_path)
    names = follow("quick_start", tmp_path, capsys)
    assert names["again"].best_params_ == names["model"].best_params_
    assert all((tmp_path / file).is_file() for file in ("digits.skops", "tuned.skops", "report.html"))
