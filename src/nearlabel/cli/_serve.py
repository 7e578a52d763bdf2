"""``nearlabel serve``: answer requests over HTTP with models that learn from corrections."""

from __future__ import annotations

import argparse
import os
from collections import Counter
from pathlib import Path

import nearlabel
from nearlabel.cli import _arguments, _model

SUMMARY = "serve models over HTTP, with corrections"
EXAMPLES = ("nearlabel serve tickets.skops --port 8000", "nearlabel serve tickets.skops --workers 4 --read-only")
LOADS = ("audit", "datasets", "experiments", "models", "persistence")

TOKEN = "NEARLABEL_TOKEN"  # of the environment
_MIB, _LAST_PORT = 2**20, 2**16 - 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "models", metavar="MODEL", nargs="+", type=Path, help="file of fit or tune; its name without .skops names it"
    )
    _model.add_trusted_option(parser, "additional types to trust when loading")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; default: 127.0.0.1, this machine")
    port = _arguments.whole_number(0, "a port, 0 for any")
    parser.add_argument("--port", type=port, default=8000, metavar="N", help="default: 8000; 0: any free one")
    parser.add_argument(
        "--workers",
        type=_arguments.whole_number(1, "a number of processes"),
        default=1,
        metavar="N",
        help="processes, which share the samples of large models; default: 1",
    )
    parser.add_argument("--read-only", action="store_true", help="refuse corrections")
    parser.add_argument(
        "--token-file",
        type=Path,
        metavar="FILE",
        help=f"file with the token that requests must have; default: the environment variable {TOKEN}. Required"
        " where others than this machine are served",
    )
    for option, what, default, unit in (
        ("--max-body", "most MiB of a request", 16, "MIB"),
        ("--max-rows", "most rows of a request", 10_000, "N"),
        ("--timeout", "most seconds until an answer", 60, "S"),
    ):
        number = _arguments.whole_number(1, "a whole number of at least 1")
        parser.add_argument(option, type=number, default=default, metavar=unit, help=f"{what}; default: {default}")
    parser.set_defaults(check=_check)
    parser.add_argument("--log-rows", action="store_true", help="also log the contents of requests")


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a port that no machine has, and two models of one name."""
    if arguments.port > _LAST_PORT:
        raise ValueError(f"--port must be at most {_LAST_PORT}, got {arguments.port}.")
    twice = [
        name
        for name, number in Counter(path.name.removesuffix(".skops") for path in arguments.models).items()
        if number > 1
    ]
    if twice:
        raise ValueError(f"MODEL must have names that differ, got {twice[0]} twice.")


def main(arguments: argparse.Namespace) -> int:
    """Check the options, and serve until a signal."""
    from nearlabel.serve import LOOPBACK, Limits, Settings, serve

    token = _token(arguments)
    if not token and arguments.host not in LOOPBACK:
        raise ValueError(
            f"--token-file or {TOKEN} must be given to serve other machines, got --host {arguments.host} without one."
        )
    files = {path.name.removesuffix(".skops"): path for path in arguments.models}
    for path in arguments.models:
        nearlabel.persistence.read_card(path)  # before the libraries of the service are loaded
    limits = Limits(arguments.max_body * _MIB, arguments.max_rows, arguments.timeout)
    settings = Settings(
        files, arguments.trusted, arguments.read_only, token, limits, arguments.log_rows, arguments.quiet
    )
    return serve(settings, arguments.host, arguments.port, arguments.workers)


def _token(arguments: argparse.Namespace) -> str:
    """Return the token; never an argument, which other users of the machine could read."""
    token, source = os.environ.get(TOKEN, ""), TOKEN
    if arguments.token_file is not None:
        from nearlabel.files.untrusted import read_regular

        token, source = read_regular(arguments.token_file).decode("utf-8", "replace").strip(), "--token-file"
    elif not token:
        return ""
    if len(token) < 16 or not token.isascii() or not token.isprintable():
        raise ValueError(f"{source} must have at least 16 printable ASCII characters, got another token.")
    return token
