"""Look for words in the pages that readers stumble over; tests/prose.toml lists them: `make lint` runs this.

python tests/prose.py                 all pages but those listed as not yet edited
python tests/prose.py docs/index.md   these pages, listed or not
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
# Not prose: figures that a benchmark writes, passages marked as such, blocks of code, code in a line, targets of links.
_NOT_PROSE = re.compile(
    r"<!-- figures: begin -->.*?<!-- figures: end -->|<!-- prose: off -->.*?<!-- prose: on -->"
    r"|^```.*?^```|`(?:[^`\n]|\n(?!\n))+`|(?<=\])\([^)\s]*\)",
    re.MULTILINE | re.DOTALL,
)


class Fault(NamedTuple):
    """A text to avoid: its line, the text, and the words to use instead."""

    line: int
    text: str
    use: str


def rules() -> dict[str, Any]:
    """Return the list of words and pages."""
    return tomllib.loads((ROOT / "tests" / "prose.toml").read_text(encoding="utf-8"))


def prose(text: str) -> str:
    """Return the text with dots in place of what is not prose; lines stay where they are."""
    return _NOT_PROSE.sub(lambda found: re.sub(r"[^\n]", "·", found[0]), text)


def faults(text: str, words: list[dict[str, str]]) -> Iterator[Fault]:
    """Yield the texts to avoid."""
    searched = prose(text)
    for word in words:
        pattern = word["pattern"].replace(" ", r"\s+")
        for found in re.finditer(pattern, searched, re.IGNORECASE | re.MULTILINE):
            yield Fault(searched.count("\n", 0, found.start()) + 1, " ".join(found[0].split()), word["use"])


def pages(patterns: list[str]) -> set[Path]:
    """Return the pages that match one of the patterns."""
    return {page for pattern in patterns for page in ROOT.glob(pattern)}


def finished(listed: dict[str, Any]) -> Iterator[str]:
    """Yield the entries of the list of pages not yet edited whose pages have no fault."""
    for pattern in listed["not_yet_edited"]:
        texts = [page.read_text(encoding="utf-8") for page in pages([pattern])]
        if not any(fault for text in texts for fault in faults(text, listed["words"])):
            yield pattern


def main(arguments: list[str]) -> int:
    """Print the faults of the pages, and which pages need no longer be listed; return 1 if there are faults."""
    listed = rules()
    chosen = [Path(a).resolve() for a in arguments] or sorted(pages(listed["pages"]) - pages(listed["not_yet_edited"]))
    n_faults = 0
    for page in chosen:
        for fault in sorted(faults(page.read_text(encoding="utf-8"), listed["words"])):
            print(f'{page.relative_to(ROOT)}:{fault.line}: "{fault.text}": use {fault.use}')
            n_faults += 1
    for pattern in finished(listed):
        print(f"{pattern} has no such text: take it off not_yet_edited in tests/prose.toml")
    print(f"{len(chosen)} pages, {n_faults} texts to rewrite")
    return int(n_faults > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
