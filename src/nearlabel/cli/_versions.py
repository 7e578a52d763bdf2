"""``nearlabel versions``: what nearlabel runs on."""

from __future__ import annotations

import argparse

import nearlabel
from nearlabel.cli import _console

SUMMARY = "show versions of libraries, and the kernels of the exact search"
EXAMPLES = ("nearlabel versions", "nearlabel versions --format json")
LOADS = ("experiments",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.set_defaults(needs_rich=False)  # users may run it to find out that rich is missing


def main(arguments: argparse.Namespace) -> None:
    """Print system, versions of libraries, and the kernels of the exact search."""
    found = nearlabel.experiments.environment()
    if arguments.format == "json":
        _console.print_json(found)
        return
    parts = ([heading, *(f"    {name}: {value}" for name, value in facts.items())] for heading, facts in found.items())
    _console.print_lines(*"\n\n".join("\n".join(lines) for lines in parts).split("\n"))
