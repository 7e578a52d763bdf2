"""``nearlabel completion``: a program for a shell, which then completes commands, options, choices and files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from nearlabel.utils.naming import import_optional

SUMMARY = "print a completion script for a shell"
EXAMPLES = ("nearlabel completion bash", "nearlabel completion zsh")
LOADS = ()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=("bash", "zsh"), help="shell to write the completion for")


# Metavariables of arguments that are, or may be, a file or folder.
_FILES = {"CORRECTIONS", "DATA", "FILE", "FILE.csv", "MODEL", "OUT", "PATH", "RESULTS", "RUN"}


def main(arguments: argparse.Namespace) -> None:
    """Print the program."""
    from nearlabel.cli import build_parser

    shtab = import_optional("shtab", extra="completion", purpose="Completion")
    parser = build_parser()
    for action in _actions(parser):
        if _FILES.intersection(str(action.metavar or action.dest.upper()).split("|")):
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # where shtab looks for it
    sys.stdout.write(shtab.complete(parser, arguments.shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments and options of all commands."""
    for action in parser._actions:
        yield action
        for command in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            yield from _actions(command)
