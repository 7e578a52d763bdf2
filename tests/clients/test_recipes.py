"""The recipes of the page on clients, each where its client is installed: `make test-clients` installs all."""

import importlib.util
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "clients.md"
TEXT = PAGE.read_text(encoding="utf-8")
BEFORE, *SECTIONS = re.split(r"^## ", TEXT, flags=re.MULTILINE)
PROGRAM = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
RECIPES = {section.partition("\n")[0].partition(":")[0]: PROGRAM.findall(section) for section in SECTIONS}


def _missing(program):
    names = re.findall(r"^(?:from|import) (\w+)", program, re.MULTILINE)
    return [name for name in dict.fromkeys(names) if importlib.util.find_spec(name) is None]


# Clients warn of their own future, which is theirs to change.
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("client", RECIPES)
def test_the_recipe_runs(client, tmp_path, monkeypatch, capsys):
    """In a folder of its own, after the model of the page."""
    (recipe,) = RECIPES[client]
    if missing := _missing(recipe):
        pytest.skip(f"{', '.join(missing)} is not installed")
    monkeypatch.chdir(tmp_path)
    names = {}
    for program in (*PROGRAM.findall(BEFORE), recipe):
        exec(compile(program, str(PAGE), "exec"), names)
    assert names["model"].n_features_in_ == 81


def test_recipes_are_short():
    """About ten lines each."""
    assert {client: recipe[0].count("\n") for client, recipe in RECIPES.items() if recipe[0].count("\n") > 17} == {}
