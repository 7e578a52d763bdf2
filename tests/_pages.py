"""Pages that a reader follows: their files are written, their programs and commands run, in the order of the page."""

import re
import shlex
from pathlib import Path
from typing import NamedTuple

from nearlabel import cli

DOCS = Path(__file__).parents[1] / "docs"
_BLOCK = re.compile(r"^(?:`([\w.-]+\.\w+)`:\n\n)?```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Seconds of fit and predict in a line of the leaderboard, behind quality and spread: they differ from run to run.
_SECONDS = re.compile(r"(0\.\d{4} +\.\d{3}) +[\d.]+ +[\d.]+( +[\d.]+)\s*$", re.MULTILINE)

_OF_FILE = re.compile(r"nearlabel: \S+: [\d,]+ rows?[.,]")  # of predictions


class Block(NamedTuple):
    """A block of code of a page: its language, the name in the line before it if it is a file, and its text."""

    kind: str
    file: str | None
    text: str


def blocks(name):
    """Return the blocks of a page of the documentation."""
    found = _BLOCK.findall((DOCS / f"{name}.md").read_text(encoding="utf-8"))
    return [Block(kind, file or None, text) for file, kind, text in found]


def lines(text):
    """Return the lines without blanks at their ends, empty lines around, and seconds of the leaderboard."""
    text = _SECONDS.sub(r"\1\2", text)
    return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n").splitlines()


def follow(name, folder, capsys):
    """Do what the page says in a folder that is the current one and where Python imports from; return what is defined.

    A block of text behind a program is what the program prints; a block that begins with ``$ nearlabel`` is a command
    with what it prints, or alone where that holds seconds; lines that begin with ``nearlabel:`` are of standard error,
    and a command that prints no others is refused, unless they end with what is in a file. ``$ head -4 FILE`` shows the
    first lines of a file.
    """
    names = {}
    printed = ""
    for block in blocks(name):
        if block.file is not None:
            (folder / block.file).write_text(block.text)
        elif block.kind == "python":
            exec(compile(block.text, f"{name}.md", "exec"), names)
            printed = capsys.readouterr().out
        elif block.kind == "text":
            assert lines(printed) == lines(block.text), name
        elif block.text.startswith("$ head -"):
            command, expected = block.text.split("\n", 1)
            number, file = re.match(r"\$ head -(\d+) (\S+)", command).groups()
            assert lines((folder / file).read_text())[: int(number)] == lines(expected), command
        else:
            command, expected = block.text.removeprefix("$ nearlabel ").split("\n", 1)
            code, answer = cli.main(shlex.split(command)), capsys.readouterr()
            told = [line for line in lines(expected) if line.startswith("nearlabel:")]
            is_refused = told and told == lines(expected) and not _OF_FILE.match(told[-1])
            assert (code, lines(answer.err)) == (2 if is_refused else 0, told), command
            printed_lines = lines("\n".join(line for line in lines(expected) if not line.startswith("nearlabel:")))
            assert not expected or lines(answer.out) == printed_lines, command
    return names
