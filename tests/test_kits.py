"""What other tools read of this repository: each file can be parsed, and what it names exists."""

import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _yaml(path):
    return pytest.importorskip("yaml").safe_load((ROOT / path).read_text(encoding="utf-8"))


def _targets():
    return set(re.findall(r"^([a-z-]+)(?: [a-z-]+)*:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_hooks_are_what_make_runs():
    """Before a commit and a push: the commands of `make lint types`, apart from arguments for single files."""
    hooks = [hook for repo in _yaml(".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("$(BIN)", ".venv/bin")
    recipes = {line.strip() for line in makefile.splitlines() if line.startswith("\t")}
    entries = {hook["entry"].replace(" --force-exclude", "") for hook in hooks}
    of_make = set(re.findall(r"^(?:lint|types):.*\n((?:\t.*\n)+)", makefile, re.MULTILINE))
    assert entries == {line.strip() for block in of_make for line in block.splitlines() if "INSTALL" not in line}
    assert entries <= recipes
    assert {hook["language"] for hook in hooks} == {"system"}  # nothing is fetched: the versions are those of .venv


def test_the_container_runs_a_target():
    """With a supported Python."""
    container = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text(encoding="utf-8"))
    command, *targets = container["postCreateCommand"].split()
    assert command == "make"
    assert set(targets) <= _targets()
    assert f"Programming Language :: Python :: {container['image'].rpartition(':')[2]}" in PROJECT["classifiers"]


@pytest.mark.parametrize("form", ["bug", "wrong_number"])
def test_issue_forms_ask_for_versions(form):
    """Of this library and of scikit-learn, and refuse an issue without them."""
    fields = {field["id"]: field for field in _yaml(f".github/ISSUE_TEMPLATE/{form}.yml")["body"]}
    asked = fields["versions"]
    assert "sklearn.show_versions(); nearlabel.show_versions()" in asked["attributes"]["description"]
    assert form != "bug" or asked["validations"] == {"required": True}


@pytest.mark.parametrize("file", [".pre-commit-config.yaml", ".devcontainer", "conda/recipe.yaml", "uv sync"])
def test_contributors_find_them(file):
    """Once, on the page for contributors or for releases."""
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in ("CONTRIBUTING.md", "docs/releasing.md")]
    assert sum(page.count(file) for page in pages) >= 1
