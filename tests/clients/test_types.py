"""What type checkers know of our estimators."""

import json
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import nearlabel

PROGRAM = Path(__file__).parents[1] / "typed" / "clients.py"
# As for an installed library: its own errors are not the user's, and scikit-learn and scipy have no types.
_CONFIG = """
[mypy]
strict = true
[mypy-nearlabel.*]
follow_imports = silent
[mypy-sklearn.*,scipy.*,joblib.*,pooch.*,threadpoolctl.*]
ignore_missing_imports = true
"""
SOURCE = Path(nearlabel.__file__).parents[1]


def report_of(command, folder, **options):
    """Return the exit code and the output of a type checker that runs in a folder of its own."""
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False, **options)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.long
@pytest.mark.skipif(not find_spec("mypy"), reason="mypy is not installed")
def test_mypy(tmp_path):
    """A program finds the types of results and fitted attributes in strict mode."""
    config = tmp_path / "mypy.ini"
    config.write_text(_CONFIG)
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(tmp_path), str(PROGRAM)]
    code, report = report_of(command, tmp_path, env={"MYPYPATH": str(SOURCE)})
    assert code == 0, report


@pytest.mark.long
@pytest.mark.skipif(not shutil.which("pyright"), reason="pyright is not installed")
def test_pyright(tmp_path):
    """The same for pyright, which knows no attribute that only `setattr` sets."""
    settings = {"include": [str(PROGRAM)], "extraPaths": [str(SOURCE)], "reportMissingTypeStubs": False}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    code, report = report_of(["pyright", "--pythonpath", sys.executable], tmp_path)
    assert code == 0, report
