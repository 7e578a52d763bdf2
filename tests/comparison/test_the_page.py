"""The page on comparing methods: its file is read and its programs run."""

import re
from pathlib import Path

import pytest

from nearlabel.comparison import read_results
from nearlabel.metrics import CATALOGUE

PAGE = (Path(__file__).parents[2] / "docs" / "comparing.md").read_text()


def test_the_file_of_the_page_is_read(tmp_path):
    """Three folds of a method, by a metric of the catalogue."""
    file = tmp_path / "meka.csv"
    (text,) = re.findall(r"^```csv\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    file.write_text(text)
    records = read_results(file)
    assert [(record["method"], record["fold"]) for record in records] == [("CC", 0), ("CC", 1), ("CC", 2)]
    assert {record["metric"] for record in records} <= set(CATALOGUE)


@pytest.mark.long
def test_the_programs_of_the_page_run(capsys):
    """One after the other, in one namespace; the one with other results prints its pair and the note."""
    names = {}
    for program in re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL):
        exec(program, names)
    printed = capsys.readouterr().out
    assert "\n{'mlknn': 90, 'brknn': 44} ('2', '3', '6') ('2', '3')\n" in printed
    assert "brknn right, mlknn wrong: 3 of 44 rows" in PAGE
    assert "('mlknn', 'CC') 3\nThe folds of multidigits in records are assumed to be those in records" in printed
