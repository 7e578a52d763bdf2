"""Run the tests of other projects on ours, and compare what fails with the ledger: `make strangers`.

Nothing of theirs is kept here: their tests come with the installed package or are fetched, and run in a process of
their own with a plugin that puts ours in the place of theirs (`strangers/{suite}.py`). Every failure must be in
`ledger.toml` with its reason. One that is not is an error, and so is an entry that says another number than fails.

    python tests/strangers/run.py                      all suites; the table goes to docs/strangers.md
    python tests/strangers/run.py neighbors metrics    some; the table stays
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS)] * (str(TESTS) not in sys.path)

from strangers import outcomes, suites  # noqa: E402 - found by the line above where this file is a program
from strangers.suites import SUITES, MissingTestsError, Suite  # noqa: E402

LEDGER = Path(__file__).with_name("ledger.toml")
PAGE = TESTS.parent / "docs" / "strangers.md"
TESTED = "1.9"  # the scikit-learn whose tests the ledger is of; `make strangers` installs it
BEGIN, END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"
Outcomes = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True)
class Difference:
    """An expected difference: `count` tests of a suite whose name fits `tests` fail and say something like `says`.

    In both, ``*`` stands for any text.
    """

    suite: str
    reason: str
    count: int
    says: str = "*"
    tests: str = "*"

    def explains(self, test: str, message: str) -> bool:
        """Tell whether this is the reason why a test fails with a message."""
        return _fits(self.tests, test) and _fits(self.says, message)


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None


def read_ledger(path: Path = LEDGER) -> list[Difference]:
    """Return the expected differences."""
    return [Difference(**entry) for entry in tomllib.loads(path.read_text(encoding="utf-8"))["difference"]]


def outcomes_of(plugin: str, arguments: Sequence[str], folder: Path) -> Outcomes:
    """Run tests in a process of their own with a plugin of this folder; return what became of each."""
    (folder / "pytest.ini").write_text("[pytest]\n")  # or pytest takes options of a project around the folder
    found = folder / "outcomes.json"
    options = ["-c", "pytest.ini", "--rootdir", ".", "-p", "no:cacheprovider", "-p", "strangers.outcomes"]
    paths = os.pathsep.join([str(TESTS.parent / "src"), str(TESTS)])
    settings = {outcomes.FILE: str(found), "PYTHONPATH": paths, "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "--quiet", "--tb=no", *options, "-p", plugin, *arguments]
    done = subprocess.run(command, cwd=folder, env=os.environ | settings, capture_output=True, text=True, check=False)
    if not found.exists():
        raise RuntimeError(f"pytest did not run:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return json.loads(found.read_text(encoding="utf-8"))


def failures(found: Outcomes) -> dict[str, str]:
    """Return the messages of the tests that fail, by test."""
    return {test: str(result["message"]) for test, result in found.items() if result["outcome"] == "failed"}


def problems(found: Outcomes, expected: Sequence[Difference], *, thin: bool = False) -> list[str]:
    """Return what the ledger does not say: failures without a reason, and entries with another number of failures.

    A failure counts for the first entry that explains it. In a thinned run not all occur, so numbers are not judged.
    """
    failed = failures(found)
    reasons = {test: next((e for e in expected if e.explains(test, says)), None) for test, says in failed.items()}
    new = [f"new: {test}: {failed[test]}" for test, reason in reasons.items() if reason is None]
    if not found or not any(result["answered"] for result in found.values()):
        new.append("no test asked us anything")
    if thin:
        return new
    counts = Counter(reasons.values())
    wrong = [entry for entry in expected if counts[entry] != entry.count]
    return new + [f"ledger: {e.count} failures expected, {counts[e]} found: {e.reason} ({e.says})" for e in wrong]


def row_of(suite: Suite, found: Outcomes) -> str:
    """Return the row of the table: tests that asked us, how many pass, and how many do not."""
    asked = [r for r in found.values() if r["outcome"] != "skipped" and (r["answered"] or r["outcome"] == "failed")]
    passed = sum(result["outcome"] == "passed" for result in asked)
    return f"| {suite.title} | {len(asked)} | {passed} | {len(asked) - passed} |\n"


def reasons_of(suite: Suite, expected: Sequence[Difference]) -> list[str]:
    """Return the lines that say why tests of a suite fail: reasons, and of how many tests."""
    counts: Counter[str] = Counter()
    for entry in expected:
        counts[entry.reason] += entry.count
    lines = [f"- {count}: {reason}\n" for reason, count in counts.most_common()]
    return [f"\n**{suite.title}**\n\n", *lines] if lines else []


def main(words: Sequence[str]) -> int:
    """Run the suites that are named, or all; return 1 if the ledger is wrong. The table is written if all could run."""
    rows, reasons, wrong, missing = [], [], [], []
    ledger = read_ledger()
    for suite in SUITES:
        if words and suite.name not in words:
            continue
        expected = [entry for entry in ledger if entry.suite == suite.name]
        try:
            with tempfile.TemporaryDirectory() as folder:
                arguments = suite.arguments(Path(folder, "sources"), thin=False)
                found = outcomes_of(f"strangers.{suite.name}", arguments, Path(folder))
        except MissingTestsError as why:
            print(f"{suite.name}: SKIPPED, {why}")
            missing.append(suite.name)
            continue
        row = row_of(suite, found)
        print(row, end="", flush=True)
        rows.append(row)
        reasons += reasons_of(suite, expected)
        wrong += [f"{suite.name}: {line}" for line in problems(found, expected)]
    print("\n".join(wrong))
    if not (words or wrong or missing):
        write_page("".join([*_HEAD, *rows, *reasons]))
    elif missing:
        print(f"Not all suites ran, so {PAGE.name} stays as it was. Hint: {suites.SOURCES}=FOLDER with their sources.")
    return int(bool(wrong))


_HEAD = ("\n", "| tests of others | ask us | pass | expected differences |\n", "|---|---:|---:|---:|\n")


def write_page(figures: str, page: Path = PAGE) -> None:
    """Put the figures between the marks of the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(before + BEGIN + figures + "\n" + END + after, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
