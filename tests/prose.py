"""Look for words that readers stumble over in pages, docstrings, comments and messages: `make lint` runs this.

tests/prose.toml lists the words.

python tests/prose.py                                     all files but those listed as not yet edited
python tests/prose.py docs/index.md src/nearlabel/models/_classifiers.py these files, listed or not
"""

import ast
import inspect
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parents[1]
# Not prose: figures that a benchmark writes, passages marked as such, blocks of code, examples, names of
# parameters, code in a line, targets of links.
_NOT_PROSE = re.compile(
    r"<!-- figures: begin -->.*?<!-- figures: end -->|<!-- prose: off -->.*?<!-- prose: on -->"
    r"|^```.*?^```|^ *>>> .*?(?=\n\s*\n|\Z)|^ *[\w*, ]+(?= : )|`(?:[^`\n]|\n(?!\n))+`|(?<=\])\([^)\s]*\)",
    re.MULTILINE | re.DOTALL,
)


class Fault(NamedTuple):
    """A text to avoid: its line, the text, and the words to use instead."""

    line: int
    text: str
    use: str


def rules() -> dict[str, Any]:
    """Return the list of words and files."""
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


def strings(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each docstring and message with its first line: a string with a space is taken for a message."""
    if isinstance(node, ast.JoinedStr):
        yield node.lineno, "".join(str(part.value) if isinstance(part, ast.Constant) else "·" for part in node.values)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
        yield node.lineno, inspect.cleandoc(node.value)
    else:
        for child in ast.iter_child_nodes(node):
            yield from strings(child)


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield each comment of a module with its line."""
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def file_faults(path: Path, words: list[dict[str, str]]) -> Iterator[Fault]:
    """Yield the texts to avoid of a page, or of the docstrings, messages and comments of a module."""
    text = path.read_text(encoding="utf-8")
    texts = [*strings(ast.parse(text)), *comments(text)] if path.suffix == ".py" else [(1, text)]
    for first, part in texts:
        for fault in faults(part, words):
            yield fault._replace(line=first + fault.line - 1)


def files(patterns: list[str]) -> set[Path]:
    """Return the files that match one of the patterns."""
    return {path for pattern in patterns for path in ROOT.glob(pattern)}


def finished(listed: dict[str, Any]) -> Iterator[str]:
    """Yield the entries of the list of files not yet edited whose files have no fault."""
    for pattern in listed["not_yet_edited"]:
        if not any(fault for path in files([pattern]) for fault in file_faults(path, listed["words"])):
            yield pattern


def main(arguments: list[str]) -> int:
    """Print the faults of the files, and which files need no longer be listed; return 1 if there are faults."""
    listed = rules()
    paths = [Path(a).resolve() for a in arguments] or sorted(files(listed["files"]) - files(listed["not_yet_edited"]))
    n_faults = 0
    for path in paths:
        for fault in sorted(file_faults(path, listed["words"])):
            print(f'{path.relative_to(ROOT)}:{fault.line}: "{fault.text}": use {fault.use}')
            n_faults += 1
    for pattern in finished(listed):
        print(f"{pattern} has no such text: take it off not_yet_edited in tests/prose.toml")
    print(f"{len(paths)} files, {n_faults} texts to rewrite")
    return int(n_faults > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
