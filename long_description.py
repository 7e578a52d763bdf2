"""The README as a package index shows it, and the addresses beside it: links lead to the place of the sources.

The build of the package calls both functions. A package index has no files beside the page: a relative link is dead.
"""

from __future__ import annotations

import re

_LINK = re.compile(r"\[([^\[\]]*)\]\((?!https?:|mailto:|#)([^()\s]+)\)")
_CODE = re.compile(r"(^```.*?^```$|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
_PAGES = {
    "Source": "",
    "Documentation": "/blob/{tag}/docs/index.md",
    "Changelog": "/blob/{tag}/CHANGELOG.md",
    "Issues": "/issues",
}


def with_absolute_links(markdown: str, repository: str, version: str) -> str:
    """Return a page whose relative links lead to the files of a version; without a repository links become their text.

    `repository` is the address of the sources on a code host, without a slash at its end.
    """
    target = rf"[\1]({repository}/blob/v{version}/\2)" if repository else r"\1"
    parts = _CODE.split(markdown)  # prose and code take turns
    parts[::2] = [_LINK.sub(target, prose) for prose in parts[::2]]
    return "".join(parts)


def urls(repository: str, version: str) -> dict[str, str]:
    """Return the addresses that a package index shows beside the page; without a repository there are none."""
    return {name: repository + page.format(tag=f"v{version}") for name, page in _PAGES.items()} if repository else {}
