"""The page on labels with holes: its programs run, and show what it says."""

import re
import warnings
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "howto" / "unknown_labels.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def printed():
    """What each program prints; the later ones build on the earlier."""
    names, found = {}, []
    names["print"] = lambda *values: found[-1].append(" ".join(map(str, values)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for program in PROGRAMS:
            found.append([])
            exec(program, names)
    return found


def test_a_row_without_known_tags_serves_nobody(printed):
    """It has no neighbour, and the page shows what is printed."""
    assert printed[0] == ["[('calm',), ()]"]
    assert f"```text\n{printed[0][0]}\n```" in PAGE


def test_unknown_is_not_negative(printed):
    """Micro F1 of known cells is far above that of holes taken as negatives."""
    known, as_negative = map(float, printed[1])
    assert known > 0.55 > as_negative + 0.1


def test_the_explanation_and_the_hole(printed):
    """Each label has its number of neighbours; the score of a hole is a probability."""
    assert re.search(r"^label +votes +known +score", printed[2][0], re.MULTILINE)
    assert 0 <= float(printed[3][0].split()[-2]) <= 1
