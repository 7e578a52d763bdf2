"""``nearlabel verify``: check files for damage."""

from __future__ import annotations

import argparse
from collections import Counter

import nearlabel
from nearlabel.cli import _console

SUMMARY = "check files for damage"
EXAMPLES = ("nearlabel verify results songs.skops", "nearlabel verify results --sweep")
LOADS = ("persistence",)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("paths", nargs="+", metavar="PATH", help="stores, runs, models, data files, or folders of them")
    parser.add_argument("--sweep", action="store_true", help="remove the files that killed processes left")
    _console.add_format_option(parser)


DAMAGED = 1
_COLUMNS = ("severity", "path", "message")
_KINDS = {"store": "store", "run": "run", "model": "model", "data": "data file"}


def main(arguments: argparse.Namespace) -> int:
    """Print what was checked and what was found; return the exit code."""
    with _console.progress_bar("files"):
        found = nearlabel.persistence.verify(*arguments.paths, sweep=arguments.sweep)
    if arguments.format == "json":
        _console.print_json(found.to_dict())
    elif arguments.format == "csv":
        rows = [{name: str(getattr(finding, name)) for name in _COLUMNS} for finding in found.findings]
        _console.print_csv(rows, columns=_COLUMNS)
    else:
        _print(found)
    if any(finding.severity == "damage" for finding in found.findings):
        return DAMAGED
    _check_all_readable(found)
    return 0


def _check_all_readable(found: nearlabel.persistence.Verification) -> None:
    """Raise PermissionError if a file cannot be read: it may be sound."""
    unreadable = [str(finding.path) for finding in found.findings if finding.severity == "unreadable"]
    if unreadable:
        more = f" and {len(unreadable) - 1} more" if unreadable[1:] else ""
        raise PermissionError(f"PATH must be what you may read, got {unreadable[0]}{more}, without permission.")


def _print(found: nearlabel.persistence.Verification) -> None:
    for path, kind, is_sound in found.checked:
        _console.print_lines(f"{'sound' if is_sound else 'DAMAGED':8}{_KINDS[kind]:10}{path}")
    if found.findings:
        _console.print_lines("")
    for finding in found.findings:
        subject = "" if finding.message.startswith(str(finding.path)) else f"{finding.path}: "
        _console.print_lines(f"{finding.severity}: {subject}{finding.message}")
    if found.findings or not found.checked:
        _console.print_lines("")
    _console.print_lines(_counted(found))


def _counted(found: nearlabel.persistence.Verification) -> str:
    kinds = Counter(finding.severity for finding in found.findings)
    damaged = sum(not of.is_sound for of in found.checked)
    parts = [f"{len(found.checked)} checked", f"{damaged} damaged", f"{kinds['leftover']} left over"]
    others = f"; {found.n_others} other files were not checked" if found.n_others else ""
    return ", ".join(parts) + others + "."
