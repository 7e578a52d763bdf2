"""A plugin of pytest for the tests of others: writes what became of each test, and whether our code answered in it.

A shim calls `answered` where it hands a call to nearlabel. What a test never asks us says nothing about us.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

FILE = "NEARLABEL_STRANGERS_OUTCOMES"  # the environment variable with the file to write
LONGEST = 500  # characters of a message
_answers = 0
_file = ""
_outcomes: dict[str, dict[str, object]] = {}


def answered() -> None:
    """Note that nearlabel was asked, and by which test: the one that runs now."""
    global _answers
    _answers += 1


def pytest_runtest_setup(item):
    """Start to count; outside the folder where pytest runs, a report does not name the file."""
    global _answers, _file
    _answers, _file = 0, item.path.name


def pytest_runtest_logreport(report):
    """Keep the outcome of the call, or of a setup or teardown that did not pass."""
    if report.when == "call" or report.outcome != "passed":
        _, _, name = report.nodeid.partition("::")
        failed = report.outcome == "failed"
        message = report.longrepr.reprcrash.message if failed and hasattr(report.longrepr, "reprcrash") else ""
        outcome = {"outcome": report.outcome, "answered": _answers > 0, "message": message[:LONGEST]}
        _outcomes[f"{_file}::{name}"] = outcome


def pytest_collectreport(report):
    """A file that cannot be collected is a failure, too."""
    if report.failed:
        outcome = {"outcome": "failed", "answered": True, "message": str(report.longrepr).strip().splitlines()[-1]}
        _outcomes[f"{Path(report.nodeid).name}::collection"] = outcome


def pytest_sessionfinish():
    """Write all outcomes."""
    Path(os.environ[FILE]).write_text(json.dumps(_outcomes, indent=1), encoding="utf-8")
