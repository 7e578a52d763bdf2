"""The paper in paper/: its references, its figure and its numbers."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "paper" / "paper.md").read_text(encoding="utf-8")
BODY = TEXT.split("---", 2)[2]


def test_references_are_those_cited():
    """Each is in the bibliography, and nothing else is; the five papers are among them."""
    known = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper" / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(known) == len(set(known))
    assert set(known) == set(re.findall(r"@(\w+)", BODY))
    assert set(known) > {"zhang2007", "spyromitros2008", "pillai2012", "chaudhari2016", "gweon2019"}


def test_it_has_the_form_of_the_journal():
    """Metadata, its sections, and a length between 750 and 1,750 words."""
    yaml = pytest.importorskip("yaml")
    known = yaml.safe_load(TEXT.split("---", 2)[1])
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} == set(known)
    assert (ROOT / "paper" / known["bibliography"]).exists()
    sections = re.findall(r"^# (.+)", BODY, re.MULTILINE)
    assert sections[:3] == ["Summary", "Statement of need", "State of the field"]
    assert sections[-1] == "References"
    assert 750 <= len(re.findall(r"\w+", BODY)) <= 1750


def test_figures_are_made_by_a_command():
    """The caption names it."""
    figures = re.findall(r"!\[(.+?)\]\((.+?)\)", BODY, re.DOTALL)
    assert len(figures) == 1
    for caption, file in figures:
        assert (ROOT / "paper" / file).resolve().is_relative_to(ROOT / "docs")
        assert (ROOT / "paper" / file).exists()
        commands = re.findall(r"`python (.+?)`", caption)
        assert commands
        assert all((ROOT / command).exists() for command in commands)


def test_numbers_are_those_of_the_page():
    """With three digits, as in docs/field.md."""
    page = (ROOT / "docs" / "field.md").read_text(encoding="utf-8")
    numbers = re.findall(r"0\.\d{3}", BODY)
    assert len(numbers) == 7
    assert [number for number in numbers if number not in page] == []
