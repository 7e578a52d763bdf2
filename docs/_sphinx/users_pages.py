"""The users' pages, which the search lists first: those of the start page's lists but the last, for contributors."""

import json
import re
from pathlib import Path
from typing import Any

_TREE = re.compile(r"```{toctree}\n(.*?)```", re.DOTALL)
_ENTRY = re.compile(r"^(?:.* <)?([\w/]+)>?$", re.MULTILINE)


def listed(page: Path) -> list[list[str]]:
    """Return the pages of each list of a page, such as the start page."""
    return [_ENTRY.findall(tree) for tree in _TREE.findall(page.read_text(encoding="utf-8"))]


def users_pages(docs: Path) -> list[str]:
    """Return the names of the users' pages, the start page first."""
    return ["index", *(name for names in listed(docs / "index.md")[:-1] for name in names)]


def setup(app: Any) -> dict[str, bool]:
    """Name the pages to the program that ranks results (`scorer.js`)."""
    app.connect("html-page-context", _name_pages)
    return {"parallel_read_safe": True}


def _name_pages(app: Any, pagename: str, templatename: str, context: Any, doctree: Any) -> None:
    if pagename == "search":
        app.add_js_file(None, body=f"const USERS_PAGES = {json.dumps(users_pages(Path(app.srcdir)))};")
