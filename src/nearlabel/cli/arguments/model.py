"""MODEL, and the options of the file of a model."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearlabel.cli.arguments.parsing import columns


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add MODEL and --trusted."""
    parser.add_argument("model", metavar="MODEL", help="file that fit, tune or save_model wrote")
    parser.add_argument(
        "--trusted",
        type=columns,
        default=(),
        metavar="A,B",
        help="additional types to trust when loading, as listed in the error; only if you know who made the file",
    )


def add_file_options(parser: argparse.ArgumentParser, *, required: bool) -> None:
    """Add the options of the file that the model is saved in."""
    parser.add_argument(
        "--out",
        dest="file",
        metavar="FILE",
        type=_model_file,
        required=required,
        help="file to save the model in, ending in .skops" + ("" if required else "; default: not saved"),
    )
    parser.add_argument("--force", action="store_true", help="overwrite an existing file")


def _model_file(text: str) -> Path:
    if Path(text).suffix.lower() != ".skops":
        raise argparse.ArgumentTypeError(f"must end in .skops, got {text!r}")
    return Path(text)
