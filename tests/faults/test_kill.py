"""Few kills of each command; `make faults` does many. Faults that are planted must be found."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from faults import kill
from faults._commands import environment_of

PROGRAM = Path(__file__).with_name("kill.py")
PAGE = PROGRAM.parents[2] / "docs" / "faults.md"
QUICK = ("fit", "predict", "audit", "write_store", "append_to_store", "remove_from_store", "download")

pytestmark = pytest.mark.long


def tallies_of(folder, scenarios, kills):
    """Run the program in a process of its own, since it forks, and return its exit code, figures and output."""
    command = [sys.executable, str(PROGRAM), *scenarios, "--kills", str(kills), "--json", str(folder / "figures.json")]
    done = subprocess.run(command, env=environment_of(folder), capture_output=True, text=True, check=False)
    assert (folder / "figures.json").exists(), done.stderr
    return done.returncode, json.loads((folder / "figures.json").read_text()), done.stdout


def test_nothing_is_lost(tmp_path):
    """Five kills each: what is there is old or new, the next run ends as the first one would have, and sweeps."""
    code, tallies, output = tallies_of(tmp_path, QUICK, 5)
    assert code == 0, output
    assert all(tally["kills"] == 5 and tally["failures"] == [] for tally in tallies.values())
    assert sum(tally["landed"] for tally in tallies.values()) > len(tallies)


def test_planted_faults_are_found(tmp_path):
    """A writer in place, one that leaves files behind, one that locks all out after its death, one that adds again."""
    names = ("planted-in-place", "planted-litter", "planted-mark", "planted-again")
    code, tallies, output = tallies_of(tmp_path, names, 8)
    assert code == 1, output
    found = {name: " ".join(tally["failures"]) for name, tally in tallies.items()}
    assert "neither what was there before nor what comes after" in found["planted-in-place"]
    assert "the next run left other files: .out." in found["planted-litter"]
    assert "the next run ended with exit code 70" in found["planted-mark"]
    assert "the next run ended in another state" in found["planted-again"]


def test_the_page_has_the_figures_of_the_results():
    """The part between the marks is what the program makes of its results file."""
    results = json.loads(PROGRAM.with_name("results.json").read_text())
    assert all(result["failures"] == [] for result in results.values())
    assert f"{kill.BEGIN}{kill.table(results)}{kill.END}" in PAGE.read_text()
