"""Commands that pages show, with what they print."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")),
    *sorted(ROOT.glob("docs/**/*.md")),
]
LISTED = tomllib.loads((ROOT / "tests" / "commands.toml").read_text(encoding="utf-8"))
_BLOCK = re.compile(r"^```(\S*)\n(.*?)^```\n(?:(?=\n```(?:text)?\n(.*?)^```\n))?", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"(?:\$ )?((?:\w+=\S+ )*(?:\S*/)?(?:nearlabel|make|python|pip|export)(?: .*)?)$")


class Shown(NamedTuple):
    """A command of a page, without its comment, and the lines that the page shows as printed."""

    page: str
    command: str
    printed: tuple[str, ...]


def shown() -> Iterator[Shown]:
    """Yield the commands in the blocks of all pages, in their order."""
    for page in PAGES:
        name = page.relative_to(ROOT).as_posix()
        for kind, text, behind in _BLOCK.findall(page.read_text(encoding="utf-8")):
            if kind in ("", "console", "bash"):
                yield from _of_block(name, text, behind)


def _of_block(page: str, text: str, behind: str) -> Iterator[Shown]:
    """Yield the commands of a block; what they print is in the block or, if no line of it is, in the next one."""
    found: list[tuple[str, list[str]]] = []
    for line in text.splitlines():
        if command := _COMMAND.match(line):
            found.append((re.sub(r"  +#.*", "", command[1]).rstrip(), []))
        elif found:
            found[-1][1].append(line)
    if found and not found[-1][1] and not any(map(_COMMAND.match, behind.splitlines())):
        found[-1][1].extend(behind.splitlines())
    for command, printed in found:
        yield Shown(page, command, tuple(stripped(printed)))


def stripped(printed: list[str]) -> list[str]:
    """Return the lines without blanks at their ends, and without empty lines around."""
    return "\n".join(line.rstrip() for line in printed).strip("\n").splitlines()
