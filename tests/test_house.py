"""The counts of `make house`, on small sources and by hand."""

import ast
import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
MODULE = '''"""Docstring,
of two lines."""

# a comment
import os
from nearlabel.a import (
    one,
    two,
)

TEXT = """not a docstring

but code"""  # with a blank line inside


class Box:
    """One line."""

    def size(self):
        """Two
        lines."""
        # a comment

        return os.getpid()
'''
# Rooms: __init__ alone; c imports a and, in a function, b; b imports a; a imports nothing.
TREE = {
    "__init__.py": "_HOME = {'lazily': 'c'}\n",
    "a/__init__.py": "from pack.a._one import one\n",
    "a/_one.py": "from pack.a._two import two as one\n",
    "a/_two.py": "two = 2\n",
    "b.py": "from pack import a\nfrom pack.a._two import (\n    two,\n    three,\n)\n",
    "c.py": "from pack import __version__\ndef f():\n    import importlib\n    importlib.import_module('pack.b')\n",
    "d.py": "import pack.c\nfrom pack.b import _hidden, shown\n",
}


@pytest.fixture
def house(monkeypatch):
    """The program, imported."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("house")


@pytest.fixture
def package(tmp_path):
    """Return a function that writes files, by name, into a package `pack` and returns its folder."""

    def write(files):
        for name, text in files.items():
            file = tmp_path / "pack" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return tmp_path / "pack"

    return write


def test_lines_of_code(house):
    """Imports 5 to 9, a text that is not a docstring 11 to 13, class 16, def 19, return 24."""
    assert sorted(house.code_lines(MODULE)) == [5, 6, 7, 8, 9, 11, 12, 13, 16, 19, 24]


def test_lines_of_imports(house):
    """All lines of a statement count, and those in functions."""
    assert house.import_lines(ast.parse(MODULE)) == {5, 6, 7, 8, 9}
    assert house.import_lines(ast.parse("def f():\n    import os, re\n")) == {2}


def test_sizes(house, package):
    """Two files: 11 lines of code with 5 of imports, and 45 with one function of 41 next to the other of 2."""
    long = "def f():\n" + "    x = 1\n" * 40 + "a = 1\n" * 4
    numbers, lists = house.house(package({"m.py": MODULE, "n.py": long}))
    assert (numbers["files"], numbers["code"], numbers["longest"]) == (2, 56, 45)
    assert (numbers["imports"], numbers["short"]) == (100 * 5 / 56, 50)
    assert lists["small"] == ["pack/m.py"]


def test_rooms_and_floors(house, package):
    """The chain d, c, b, a has four floors; a call of `import_module` is an import, a table of names is none."""
    numbers, lists = house.house(package(TREE))
    assert lists["rooms"] == ["a", "b", "c", "d"]
    assert (numbers["rooms"], numbers["floors"], numbers["circles"]) == (4, 4, 0)
    assert "floors of searches" not in numbers  # the tree has no such room


def test_floors_inside_a_room(house, package, monkeypatch):
    """Modules of room a: `__init__`, `_one`, `_two`."""
    monkeypatch.setattr(house, "SEARCHES", "a")
    assert house.house(package(TREE))[0]["floors of searches"] == 3


def test_circles(house, package):
    """Room a imports d in a function, d imports it by c and b: a circle with four floors, above `__init__`."""
    numbers, lists = house.house(package(TREE | {"a/_two.py": "def f():\n    from pack.d import g\n"}))
    assert lists["circles"] == ["a b c d"]
    assert numbers["floors"] == 5


@pytest.mark.parametrize(
    ("pairs", "n_floors", "circles"),
    [
        ([], 1, []),
        (["ab", "bc", "ac"], 3, []),
        (["ab", "ba", "bc"], 3, [["a", "b"]]),
        (["ab", "ba", "cd", "dc"], 2, [["a", "b"], ["c", "d"]]),
        (["aa", "ax"], 1, []),
    ],
)
def test_floors_of_graphs(house, pairs, n_floors, circles):
    """Chains, two circles next to each other, and pairs that are left out."""
    graph = house.graph_of("abcd", pairs)
    assert house.floors(graph) == n_floors
    assert house.circles(graph) == circles


def test_private_imports(house, package):
    """A statement counts once; modules of the same room and `__version__` do not count."""
    assert house.house(package(TREE))[1]["private"] == ["pack/b.py:2 pack.a._two", "pack/d.py:2 pack.b"]


def test_one_importer(house, package):
    """Only `_one` imports `_three`; an `__init__` or another room as the importer does not count, two are too many."""
    more = {"a/_one.py": "from pack.a import _two, _three\n", "a/_three.py": ""}
    assert house.house(package(TREE | more))[1]["one importer"] == ["pack/a/_three.py"]


FUNCTIONS = {
    "f.py": "def f():\n    return sum(h()) + g() + g() + g()\n",
    "g.py": "def g():\n    return 1\ndef h():\n    yield 1\n    yield 2\n",
}


def test_frames_of_a_call(house, tmp_path):
    """The second call only: f once, g three times, the generator of two values three times; the lambda is not ours."""
    names, results = {}, []
    for file, text in FUNCTIONS.items():
        exec(compile(text, str(tmp_path / file), "exec"), names)
    counts = house.entered(lambda: results.append(names["f"]()), tmp_path)
    assert counts == {"frames": 7, "files": 2, "functions": 3}
    assert results == [6, 6]


def test_profile_is_restored(house, tmp_path):
    """Also if the second call fails."""
    before, results = sys.getprofile(), [1]
    with pytest.raises(IndexError):
        house.entered(results.pop, tmp_path)
    assert sys.getprofile() is before


def test_known_neighbors(house):
    """The lists of the samples or of the queries, and only the first columns if fewer neighbours are wanted."""
    samples, queries = (np.array(indices) for indices in ([[1, 2], [2, 0], [1, 0]], [[1, 2]]))
    search = house.known_neighbors((samples / 10, samples), (queries / 10, queries))
    assert [part.tolist() for part in search.kneighbors(n_neighbors=1)] == [[[0.1], [0.2], [0.1]], [[1], [2], [1]]]
    assert [part.tolist() for part in search.kneighbors([[0.0]])] == [[[0.1, 0.2]], [[1, 2]]]


def test_a_line_of_the_table(house):
    """A number at its goal meets it."""
    goal = house.Goal("files", 3, 5)
    assert house.row_of(goal, 3) == ("files", 3, 3, "yes", 5)
    assert house.row_of(goal, 4)[3] == "no"
    assert house.row_of(goal, None)[3] is None
    assert house.row_of(goal._replace(at_most=None), 3)[3] is None


def test_the_table_is_narrow(house, monkeypatch, capsys, tmp_path):
    """80 columns at most, also with large numbers; the lists follow, and a file has all numbers."""
    monkeypatch.delenv("NEARLABEL_DATA", raising=False)
    monkeypatch.setattr(house, "in_process", lambda part, source: {"fit frames": 123_456, "fit files": 15})
    monkeypatch.setattr(house, "house", lambda source: ({"files": 538}, {"private": ["pack/b.py:2 pack.a._two"]}))
    house.main(["--list", "--json", str(tmp_path / "house.json")])
    printed = capsys.readouterr().out.splitlines()
    assert max(map(len, printed)) <= 80
    assert "  pack/b.py:2 pack.a._two" in printed
    assert any(line.split() == ["MLkNN.fit:", "files", "15", "15", "yes", "34"] for line in printed)
    assert '"fit frames": 123456' in (tmp_path / "house.json").read_text()
