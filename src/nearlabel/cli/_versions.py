"""``nearlabel versions``: what nearlabel runs on."""

from __future__ import annotations

import argparse

from nearlabel.cli import _console
from nearlabel.experiments import environment


def main(arguments: argparse.Namespace) -> None:
    """Print system, versions of libraries, and the kernels of the exact search."""
    found = environment()
    if arguments.format == "json":
        _console.print_json(found)
        return
    parts = ([heading, *(f"    {name}: {value}" for name, value in facts.items())] for heading, facts in found.items())
    _console.print_lines("\n\n".join("\n".join(lines) for lines in parts))
