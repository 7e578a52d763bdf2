"""Write the manual page of the command line from its help: ``make man``.

The help of each command stands there as it is printed, examples included. argparse-manpage 4.8 leaves out the examples
and exit codes, fills the lines of usage as if they were prose, and loses lines that begin with a quotation mark.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from nearlabel import __version__
from nearlabel.cli import build_parser

WIDTH = "72"  # a terminal's 80 columns less what man indents


def main(file: str) -> int:
    """Write the page."""
    os.environ |= {"COLUMNS": WIDTH, "NO_COLOR": "1"}  # which argparse reads
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text("\n".join(lines(build_parser())) + "\n", encoding="utf-8", newline="\n")
    return 0


def lines(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the lines of the page, in the language of man."""
    (commands,) = (action.choices for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    yield f'.TH NEARLABEL 1 "" "nearlabel {__version__}"'
    yield from (".SH NAME", escaped(f"nearlabel - {parser.description.rstrip('.').lower()}"))
    yield from (".SH SYNOPSIS", ".B nearlabel", r"COMMAND \&...")
    yield from (".SH DESCRIPTION", *as_it_is(parser.format_help()))
    for name, command in commands.items():
        yield from (f'.SH "NEARLABEL {name.upper()}"', *as_it_is(command.format_help()))


def as_it_is(text: str) -> Iterator[str]:
    """Yield lines that man does not fill."""
    yield from (".nf", *map(escaped, text.rstrip("\n").splitlines()), ".fi")


def escaped(line: str) -> str:
    r"""Return a line without meaning to man: that of backslashes, hyphens, and of a dot or quotation mark at its start.

    >>> print(escaped(r"'a' -b \\n"))
    \&'a' \-b \e\en
    """
    plain = line.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{plain}" if plain.startswith((".", "'")) else plain


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
