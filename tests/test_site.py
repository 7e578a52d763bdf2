"""The documentation site in a real browser: nothing runs off a page, and no serious finding of accessibility."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from _browser import serious_findings

pytestmark = pytest.mark.long

DOCS = Path(__file__).parents[1] / "docs"
# Without the gallery, pages of objects, and decisions, which take minutes.
SETTINGS = {
    "extensions": "myst_parser,sphinx.ext.autodoc,sphinx.ext.autosummary,numpydoc,sphinx_copybutton,outside_links,"
    "short_names",
    "autosummary_generate": "0",
    "exclude_patterns": "_*,api/*,gallery/*,decisions/*",
}
WIDTHS = (1280, 390)
# One page of each kind.
SAMPLE = ["index", "quick_start", "howto/text", "which_method", "results/README"]
# Lines are wrapped by the page: the widest shows only without that.
SIDEWAYS = """() => {
    const boxes = [...document.querySelectorAll("article .highlight-python pre")];
    boxes.forEach(box => box.style.whiteSpace = "pre");
    const wide = boxes.filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.textContent);
    boxes.forEach(box => box.style.whiteSpace = "");
    return wide;
}"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The pages, built into a new folder."""
    pytest.importorskip("furo")
    folder = tmp_path_factory.mktemp("site")
    settings = [f"--define={name}={value}" for name, value in SETTINGS.items()]
    command = [sys.executable, "-m", "sphinx", "--quiet", "-d", str(folder / "read"), *settings, str(DOCS), str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


def test_pages_fit_the_screen(browser, site):
    """No page scrolls sideways, wide tables do so in their boxes; on a desk no line of a program is wrapped."""
    page = browser.new_page()
    files = sorted(site.glob("**/*.html"))
    assert len(files) > 60
    wide, wrapped = [], {}
    for file in files:
        name = str(file.relative_to(site))
        page.goto(file.as_uri(), wait_until="domcontentloaded")
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            if page.evaluate("document.scrollingElement.scrollWidth > innerWidth"):
                wide.append((name, width))
            if width == max(WIDTHS) and (found := page.evaluate(SIDEWAYS)):
                wrapped[name] = found
    page.close()
    assert (wide, wrapped) == ([], {})


@pytest.mark.parametrize("name", SAMPLE)
def test_no_serious_finding_of_accessibility(browser, site, name):
    """By axe, in both schemes."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((site / f"{name}.html").as_uri())
    found = serious_findings(page)
    page.close()
    assert found == {"light": [], "dark": []}
