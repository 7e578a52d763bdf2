"""Arguments of ``nearlabel completion``."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("shell", choices=("bash", "zsh"), help="shell to write the completion for")
