"""The search for words to avoid finds them, and contributors read the list that it uses."""

from pathlib import Path

import pytest

import prose

WORDS = prose.rules()["words"]


def found(text):
    """Return the texts to avoid, in the order of the list."""
    return [fault.text for fault in prose.faults(text, WORDS)]


def test_faults_have_lines_and_replacements():
    """A text is found where it begins, across the end of a line and an indent too."""
    text = "The file\nholds 3 samples.\n- It is compared as it\n  is.\n"
    assert [(fault.line, fault.text) for fault in prose.faults(text, WORDS)] == [(2, "holds"), (3, "as it is")]
    assert next(prose.faults(text, WORDS)).use == "contain, store; of a claim: is true"


def test_code_and_links_are_not_prose():
    """Code, targets of links and figures that a benchmark writes may have any words; what follows them may not."""
    code, link = "`he\nsays` `says`\n```text\nhe says\n```\n", "[page](says.md)\n"
    text = code + link + "<!-- figures: begin -->says<!-- figures: end -->\nIt says"
    assert [(fault.line, fault.text) for fault in prose.faults(text, WORDS)] == [(8, "says")]


@pytest.mark.parametrize(
    "text", ["Which metric is best? What is a label?", "held-out samples hold out", "the metric measures errors"]
)
def test_plain_words_pass(text):
    """Questions, the field's words and verbs are no faults."""
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Rows vote. What is left is\nordered. It ends.", ["What is left is ordered."]),
        ("It ends. Of two labels the first wins.", ["Of t"]),
        ("one label, less 1", ["less 1"]),
    ],
)
def test_riddles_are_found(text, expected):
    """Clauses as subjects, inverted sentences and less for minus."""
    assert found(text) == expected


def test_contributors_see_the_list():
    """The table in CONTRIBUTING.md has a row for each entry, in the same order."""
    lines = (prose.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()
    start = lines.index("| avoid | use |") + 2
    table = lines[start : lines.index("", start)]
    assert table == [f"| {word['avoid']} | {word['use']} |" for word in WORDS]


def test_files_that_are_not_edited_exist():
    """Every entry of the list of files not yet edited names files, so that the list can only become shorter."""
    assert [pattern for pattern in prose.rules()["not_yet_edited"] if not prose.files([pattern])] == []


def test_docstrings_comments_and_messages_of_modules_are_searched(tmp_path):
    """Names, strings without a space and examples may have any words; each fault has the line of the source."""
    module = tmp_path / "module.py"
    module.write_text(
        '''"""Search.

    It holds 3 samples.

    >>> tell("He says")
    He says

    doubts : int
        The doubts.
    """

says = {"says": "one"}  # nobody
raise ValueError(
    f"n must be 1, got {tell('it says')}. "
    "It is compared as "
    "it is."
)
'''
    )
    found = [(fault.line, fault.text) for fault in sorted(prose.file_faults(module, WORDS))]
    assert found == [(3, "holds"), (9, "doubts"), (12, "nobody"), (14, "as it is")]


def test_main_prints_faults(tmp_path, monkeypatch, capsys):
    """Each fault is a line with the place, the text and the replacement; the exit status is 1."""
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    page = Path(tmp_path / "page.md")
    page.write_text("Nobody\nis here.", encoding="utf-8")
    monkeypatch.setattr(prose, "rules", lambda: {"words": WORDS, "not_yet_edited": []})
    assert prose.main([str(page)]) == 1
    assert capsys.readouterr().out.splitlines()[0] == 'page.md:1: "Nobody": use no one, or an active sentence'
    page.write_text("No one is here.", encoding="utf-8")
    assert prose.main([str(page)]) == 0
    assert capsys.readouterr().out == "1 files, 0 texts to rewrite\n"


def test_main_names_files_that_need_no_longer_be_listed(tmp_path, monkeypatch, capsys):
    """A listed page with a fault stays on the list, one without is named."""
    monkeypatch.setattr(prose, "ROOT", tmp_path)
    for name, text in (("edited.md", "No one is here."), ("other.md", "Nobody is here.")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    listed = {"words": WORDS, "files": ["*.md"], "not_yet_edited": ["edited.md", "other.md"]}
    monkeypatch.setattr(prose, "rules", lambda: listed)
    assert prose.main([]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "edited.md has no such text: take it off not_yet_edited in tests/prose.toml",
        "0 files, 0 texts to rewrite",
    ]
