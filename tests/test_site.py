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
SAMPLE = ["index", "quick_start", "howto/text", "which_method", "results/README"]
# Lines are wrapped by the page: the widest shows only without that.
SIDEWAYS = """() => {
    const boxes = [...document.querySelectorAll("article .highlight-python pre")];
    boxes.forEach(box => box.style.whiteSpace = "pre");
    const wide = boxes.filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.textContent);
    boxes.forEach(box => box.style.whiteSpace = "");
    return wide;
}"""
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
    package = pytest.importorskip("axe_playwright_python")
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto((site / f"{name}.html").as_uri())
    page.evaluate((Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found[scheme] = page.evaluate(FINDINGS)
    page.close()
    assert found == {"light": [], "dark": []}
