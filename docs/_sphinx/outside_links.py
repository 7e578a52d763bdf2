"""Links of a page that leave `docs/`, as a code host follows them, lead to the site's pages instead."""

import re
from typing import Any

_PAGES = (
    (re.compile(r"\]\((?:\.\./)+examples/(\w+)\.py\)"), r"](/gallery/\1.rst)"),
    (re.compile(r"\]\((?:\.\./)+examples\)"), r"](/gallery/index.rst)"),
    (re.compile(r"\]\((?:\.\./)+benchmarks/README\.md\)"), r"](/measuring.md)"),
    (re.compile(r"\]\((?:\.\./)+CHANGELOG\.md\)"), r"](/changes.md)"),
    (re.compile(r"\]\((?:\.\./)+CONTRIBUTING\.md\)"), r"](/contributing.md)"),
    (re.compile(r"\]\((?:\.\./)+README\.md\)"), r"](/index.md)"),
    (re.compile(r"\]\((?:\.\./)+SECURITY\.md\)"), r"](/reporting.md)"),
    (re.compile(r"\]\((results|decisions)\)"), r"](/\1/README.md)"),
)


def setup(app: Any) -> dict[str, bool]:
    """Rewrite each page when it is read."""
    app.connect("source-read", _lead_to_pages)
    return {"parallel_read_safe": True}


def _lead_to_pages(app: Any, docname: str, source: list[str]) -> None:
    for outside, page in _PAGES:
        source[0] = outside.sub(page, source[0])
