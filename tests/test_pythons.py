"""The supported versions of Python are named in several files, which agree."""

import ast
import re
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
OLDEST = {"3.11": "tests/oldest.txt", "3.12": "tests/oldest.txt", "3.13": "tests/oldest-3.13.txt"}


@pytest.fixture(scope="module")
def project():
    """What pyproject.toml says of the project."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def constants():
    """The constants of the noxfile, which is not imported: nox need not be installed."""
    tree = ast.parse((ROOT / "noxfile.py").read_text(encoding="utf-8"))
    nodes = [node for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)]
    return {node.targets[0].id: ast.literal_eval(node.value) for node in nodes}


def _bounds(lines):
    """Return the least version of each requirement, as numbers."""
    found = (re.match(r"([\w-]+)(?:\[[^\]]*\])?\s*(?:>=|==)\s*([\d.]+)", line) for line in lines)
    return {match[1].lower(): tuple(int(part) for part in match[2].strip(".").split(".")) for match in found if match}


def test_nox_runs_what_is_promised(project, constants):
    """From the least Python on, all that the package index shows."""
    shown = [match[1] for line in project["classifiers"] if (match := re.search(r"Python :: (3\.\d+)$", line))]
    assert project["requires-python"] == f">={constants['PYTHONS'][0]}"
    assert shown == constants["PYTHONS"][: len(shown)]
    assert constants["OLDEST"] == OLDEST


def test_the_public_workflow_runs_the_same(constants):
    """On every system."""
    text = (ROOT / ".github/workflows/tests.yml").read_text(encoding="utf-8")
    assert ast.literal_eval(re.search(r"python: (\[.*\])", text)[1]) == constants["PYTHONS"]


@pytest.mark.parametrize("file", sorted(set(OLDEST.values())))
def test_oldest_libraries_are_the_bounds(project, file):
    """Those of tests/oldest.txt exactly; a newer Python may need a newer library, never an older one."""
    extras = project["optional-dependencies"]
    needed = _bounds([*project["dependencies"], *chain.from_iterable(extras.values())])
    oldest = _bounds((ROOT / file).read_text(encoding="utf-8").splitlines())
    differ = {name for name in {*oldest}.intersection(needed) if needed[name] != oldest[name][: len(needed[name])]}
    assert set(_bounds(project["dependencies"])) <= set(oldest)
    assert all(oldest[name] > needed[name] for name in differ)
    assert differ == set() or file != "tests/oldest.txt"


def test_this_python_is_supported(project):
    """Whoever runs the tests on another sees it here first."""
    least = tuple(int(part) for part in project["requires-python"].removeprefix(">=").split("."))
    assert sys.version_info[:2] >= least
