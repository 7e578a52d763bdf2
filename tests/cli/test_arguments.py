"""Help pages and refused arguments: at once, without the libraries that the work needs, yet with its names."""

import json
import os
import subprocess
import sys

import pytest

from nearlabel.cli import _COMMANDS

HEAVY = {"numpy", "scipy", "sklearn", "joblib", "pandas", "pyarrow", "rich", "matplotlib", "skops"}
REFUSED = [
    ("fit", "x.csv", "--label-column", "tags"),
    ("fit", "x.csv", "--out", "m.pkl"),
    ("describe", "x.csv", "--format", "xml"),
    ("compare", "run", "--figure", "ranks.png"),
    ("evaluate", "x.csv", "--test-data", "y.csv", "--cv", "10"),
    ("evaluate", "x.csv", "--per-label", "--k", "1-30"),
    ("predict", "m.skops", "x.csv", "--out", "p.txt"),
    ("predict", "m.skops", "x.csv", "--metrics", "micro_f1"),
    ("tune", "x.csv", "--show", "title"),
    ("fit", "x.csv", "--out", "m.skops", "--guarantee", "recall=1.5"),
    ("fit", "x.csv", "--out", "m.skops", "--guarantee", "precision=0.8"),
    ("predict", "m.skops", "x.csv", "--abstain", "1"),
]


PROBE = """
import json, sys
from nearlabel.cli import main

def code_of(command):
    try:
        return main(command)
    except SystemExit as stop:
        return stop.code

codes = [code_of(command) for command in json.loads(sys.argv[1])]
print(json.dumps([codes, sorted(sys.modules)]), file=sys.stderr)
"""


def fresh_python(*arguments):
    """Run a new interpreter on our sources, and return what it says on standard error, by lines."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return done.stderr.splitlines()


def after(commands):
    """Run commands in one interpreter; return their exit codes, how much they said, and the heavy modules loaded."""
    *said, last = fresh_python(PROBE, json.dumps(commands))
    codes, modules = json.loads(last)
    return codes, len(said), HEAVY & set(modules)


@pytest.mark.long
def test_help_loads_no_library():
    """The pages of nearlabel and of every command, and the version."""
    asked = [(), ("--help",), ("--version",), *((command, "--help") for command in _COMMANDS)]
    assert after(asked) == ([0] * len(asked), 0, set())


def test_what_arguments_alone_show_to_be_wrong_loads_no_library():
    """A mistyped option, and options that do not go together."""
    assert after(REFUSED) == ([2] * len(REFUSED), len(REFUSED), set())


@pytest.mark.parametrize("command", ["demo", "fit x.csv --out m.skops", "predict m.skops x.csv --score"])
def test_a_missing_extra_is_told_before_the_work_is_imported(command):
    """What prints tables has to be there, also where a command has no --format, or has it for --score."""
    code = "import sys; sys.modules |= dict.fromkeys(['numpy', 'rich'])"
    said = fresh_python(f"{code}; from nearlabel import cli; cli.main(sys.argv[1:])", *command.split())
    assert said == ["nearlabel: The command line needs rich: pip install 'nearlabel[cli]'."]
