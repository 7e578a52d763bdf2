"""A real browser: Debian's Chromium, driven by Playwright; and axe, which finds what some people cannot use."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_BROWSER = os.environ.get("NEARLABEL_BROWSER")
_ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
_FINDINGS = """() => axe.run({resultTypes: ["violations"]}).then(found => found.violations
    .filter(one => ["serious", "critical"].includes(one.impact))
    .map(one => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`))"""


@contextmanager
def launched() -> Iterator[Any]:
    """Yield a browser; without any the tests are skipped, or fail where NEARLABEL_BROWSER names one."""
    path = _BROWSER or shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if path is None or not os.access(path, os.X_OK) or sync_playwright is None:
        lacking = "playwright" if sync_playwright is None else f"a browser at {path}"
        said = f"NEARLABEL_BROWSER is set, but there is no {lacking}"
        pytest.fail(said) if _BROWSER else pytest.skip(f"no {lacking}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()


def serious_findings(page: Any) -> dict[str, list[str]]:
    """Return what axe finds serious or critical, in both schemes; none if it is not installed, which skips the test."""
    package = pytest.importorskip("axe_playwright_python")
    page.evaluate((Path(package.__file__).parent / "axe.min.js").read_text(encoding="utf-8"))
    found = {}
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        found[scheme] = page.evaluate(_FINDINGS)
    return found


HARM = "window.harmed = 1"
PAYLOADS = {
    "script": f"<script>{HARM}</script>",
    "module": f"<script type=module>{HARM}</script>",
    "source": f"<script src='data:text/javascript,{HARM}'></script>",
    "handler": f"<img src=x onerror='{HARM}'>",
    "svg": f"<svg onload='{HARM}'></svg>",
    "toggle": f"<details open ontoggle='{HARM}'>a</details>",
    "link": f"<a class=bait href='javascript:{HARM}'>a</a>",
    "frame": "<iframe srcdoc='<script>parent.harmed = 1</script>'></iframe>",
    "form": f"<form action='javascript:{HARM}'><input type=submit class=bait></form>",
    "base": "<base href='https://example.org/'><script src=a.js></script>",
    "style": "<p style='position: fixed; top: 0'>a</p>",
    "sheet": "<style>main { display: none }</style>",
}
