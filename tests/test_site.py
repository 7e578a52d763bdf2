"""The documentation site in a real browser: pages fit, all can use them, and users' questions lead to answers."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from _browser import serious_findings
from words import users_pages

pytestmark = pytest.mark.long

DOCS = Path(__file__).parents[1] / "docs"
# Without the gallery and pages of objects, which take minutes.
SETTINGS = {
    "extensions": "myst_parser,sphinx.ext.autodoc,sphinx.ext.autosummary,numpydoc,sphinx_copybutton,outside_links,"
    "short_names,users_pages",
    "autosummary_generate": "0",
    "exclude_patterns": "_*,api/*,gallery/*",
}
WIDTHS = (1280, 390)
# One page of each kind.
SAMPLE = ["index", "quick_start", "howto/text", "which_method", "results/README"]
QUESTIONS = tomllib.loads(Path(__file__).with_name("questions.toml").read_text(encoding="utf-8"))["question"]
# The pages that the site's own search finds, the best first.
FOUND = """words => {
    document.querySelector('input[name="q"]').value = words;
    return Search._performSearch(...Search._parseQuery(words)).reverse().map(found => found[0]);
}"""
# Addresses and headings of a page.
LINKS = "[...document.querySelectorAll('a[href]')].map(link => link.href.split('#')[0])"
HEADINGS = """[...document.querySelectorAll("article h1, article h2, article h3")]
    .map(one => [...one.childNodes].slice(0, -1).map(node => node.textContent).join("").replace("’", "'"))"""
# Lines are wrapped by the page: the widest shows only without that.
SIDEWAYS = """() => {
    const boxes = [...document.querySelectorAll("article .highlight-python pre")];
    boxes.forEach(box => box.style.whiteSpace = "pre");
    const wide = boxes.filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.textContent);
    boxes.forEach(box => box.style.whiteSpace = "");
    return wide;
}"""


# Figures whose letters are too small to read.
SMALL = "[...document.querySelectorAll('article p > img:only-child')].filter(image => image.clientWidth < 550).length"


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The pages, built into a new folder."""
    pytest.importorskip("furo")
    folder = tmp_path_factory.mktemp("site")
    settings = [f"--define={name}={value}" for name, value in SETTINGS.items()]
    command = [sys.executable, "-m", "sphinx", "--quiet", "-d", str(folder / "read"), *settings, str(DOCS), str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("part", ["users", pytest.param("all", marks=pytest.mark.slow)])
def test_pages_fit_the_screen(browser, site, part):
    """No page scrolls sideways, wide tables and figures do in their boxes; on a desk no program's line is wrapped."""
    page = browser.new_page()
    files = sorted(site.glob("**/*.html"))
    if part == "users":
        names = users_pages(DOCS)
        files = [file for file in files if file.relative_to(site).with_suffix("").as_posix() in names]
    assert len(files) > (30 if part == "users" else 60)
    wide, small, wrapped = [], [], {}
    for file in files:
        name = str(file.relative_to(site))
        page.goto(file.as_uri(), wait_until="domcontentloaded")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            if page.evaluate("document.scrollingElement.scrollWidth > innerWidth"):
                wide.append((name, width))
            if page.evaluate(SMALL):
                small.append((name, width))
            if width == max(WIDTHS) and (found := page.evaluate(SIDEWAYS)):
                wrapped[name] = found
    page.close()
    assert (wide, small, wrapped) == ([], [], {})


@pytest.mark.parametrize("name", SAMPLE)
def test_no_serious_finding_of_accessibility(browser, site, name):
    """By axe, in both schemes."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((site / f"{name}.html").as_uri())
    found = serious_findings(page)
    page.close()
    assert found == {"light": [], "dark": []}


@pytest.fixture(scope="module")
def found(browser, site):
    """The first five pages of the site's search, for each question."""
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.locator(".sidebar-search").fill(QUESTIONS[0]["words"])
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('#search-results ul.search li').length > 4")
    shown = page.locator("#search-results li a").first.get_attribute("href")
    lists = [list(dict.fromkeys(page.evaluate(FOUND, question["words"])))[:5] for question in QUESTIONS]
    page.close()
    assert shown.startswith(f"{lists[0][0]}.html")  # what the page lists is what is asked for below
    return lists


def test_the_search_answers_questions(found):
    """The page with the answer is among the first five; the questions have at least six sources."""
    assert len(QUESTIONS) >= 30
    assert len({question["source"].split("#")[0] for question in QUESTIONS}) >= 6
    missed = {one["asked"]: pages for one, pages in zip(QUESTIONS, found, strict=True) if one["page"] not in pages}
    assert missed == {}


def test_the_start_page_leads_to_answers(browser, site):
    """In at most two clicks, and the heading of the answer is on the page."""
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    first = set(page.evaluate(LINKS))
    page.goto((site / "in_depth.html").as_uri())
    second = first | set(page.evaluate(LINKS))
    for question in QUESTIONS:
        address = (site / f"{question['page']}.html").as_uri()
        assert address in second, question["asked"]
        page.goto(address, wait_until="domcontentloaded")
        assert question["heading"] in page.evaluate(HEADINGS), question["asked"]
    page.close()
