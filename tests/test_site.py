"""The documentation site in a real browser: nothing runs off a page, and no serious finding of accessibility."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.long

BROWSER = os.environ.get("NEARLABEL_BROWSER")
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
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
SAMPLE = ["index", "quick_start", "guide", "howto/text", "which_method", "results/README", "glossary"]
SIDEWAYS = """() => [...document.querySelectorAll("article pre")].filter(pre => pre.scrollWidth > pre.clientWidth + 1)
    .map(pre => pre.textContent.split("\\n").reduce((a, b) => a.length > b.length ? a : b))"""
FINDINGS = """() => axe.run({resultTypes: ["violations"]}).then(found => found.violations
    .filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`))"""


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The pages, built into a new folder."""
    pytest.importorskip("furo")
    folder = tmp_path_factory.mktemp("site")
    settings = [f"--define={name}={value}" for name, value in SETTINGS.items()]
    command = [sys.executable, "-m", "sphinx", "--quiet", "-d", str(folder / "read"), *settings, str(DOCS), str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for all tests; without any they are skipped, or fail where NEARLABEL_BROWSER names one."""
    path = BROWSER or shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if path is None or not os.access(path, os.X_OK) or sync_playwright is None:
        pytest.fail("NEARLABEL_BROWSER is set, but it cannot be run") if BROWSER else pytest.skip("no browser")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_are_as_wide_as_the_screen(browser, site, width):
    """No page scrolls sideways; wide tables do so in their boxes."""
    page = browser.new_page(viewport={"width": width, "height": 900})
    files = sorted(site.glob("**/*.html"))
    assert len(files) > 60
    wide = []
    for file in files:
        page.goto(file.as_uri())
        if page.evaluate("document.scrollingElement.scrollWidth > innerWidth"):
            wide.append(str(file.relative_to(site)))
    page.close()
    assert wide == []


def test_lines_of_programs_fit_their_boxes(browser, site):
    """On a desk no line of code is cut off; what other programs print may be wider."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    wide = {}
    for name in [name for name in SAMPLE if (site / f"{name}.html").exists()]:
        page.goto((site / f"{name}.html").as_uri())
        wide |= {name: found} if (found := page.evaluate(SIDEWAYS)) else {}
    page.close()
    assert wide == {}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", SAMPLE)
def test_no_serious_finding_of_accessibility(browser, site, name, scheme):
    """By axe, in both schemes."""
    package = pytest.importorskip("axe_playwright_python")
    page = browser.new_page(viewport={"width": 1280, "height": 900}, color_scheme=scheme)
    page.goto((site / f"{name}.html").as_uri())
    page.evaluate((Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    assert page.evaluate(FINDINGS) == []
    page.close()
