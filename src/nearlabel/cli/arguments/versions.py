"""Arguments of ``nearlabel versions``."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.set_defaults(needs_rich=False)  # users may run it to find out that rich is missing
