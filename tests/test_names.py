"""What the library declares is written where it is read without loading it: a new method is a file and a line."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import names
from _pages import blocks
from nearlabel.utils.naming import named, registered

TESTS = Path(__file__).parent
# What a program sees of a method of the library; the page on lazy methods has its file.
USE = """
import sys, nearlabel
from nearlabel import AtLeast, lazy, cli
from nearlabel.experiments import METHODS, NEIGHBOR_METHODS, make_method
from nearlabel.persistence import TRUSTED_TYPES, load_model, save_model

assert nearlabel.lazy.AtLeast is AtLeast and "AtLeast" in lazy.__all__
assert list(METHODS)[-1] == NEIGHBOR_METHODS[-1] == "at-least" and "nearlabel.lazy._at_least.AtLeast" in TRUSTED_TYPES
model = make_method("at-least:n_votes=1", 2).fit([[0.0], [1.0], [2.0]], [[1, 0], [1, 0], [0, 1]])
assert (load_model(save_model(model, "model.skops")).predict([[0.0]]) == [[1, 0]]).all()
cli.main(["fit", "--help"])
"""


def test_every_list_follows_the_library():
    """What `make names` writes is what is there."""
    stale = [str(f.relative_to(names.SOURCE)) for f, text in names.written() if f.read_text(encoding="utf-8") != text]
    assert not stale, f"{', '.join(stale)} is not what the library declares. Hint: make names."


def run(source, *program):
    """Run a program on a copy of the library, and return what it prints."""
    path = os.pathsep.join([str(source.parent), str(TESTS)])
    done = subprocess.run(
        [sys.executable, *program],
        env=os.environ | {"PYTHONPATH": path},
        cwd=source.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_a_new_method_is_a_file_and_a_line(tmp_path):
    """It is at the top, in the help page, a name of plans, and loaded from a file; type checkers know it."""
    source = tmp_path / "nearlabel"
    shutil.copytree(names.SOURCE, source, ignore=shutil.ignore_patterns("__pycache__"))
    (method,) = (block.text for block in blocks("howto/add_a_lazy_method") if block.file)
    method = method.replace("nearlabel.lazy import", "nearlabel.lazy._classifier import")
    declared = 'from nearlabel.utils.naming import registered\n\n\n@registered("method", "at-least")\nclass'
    (source / "lazy" / "_at_least.py").write_text(method.replace("\n\nclass", declared))
    room = source / "lazy" / "__init__.py"
    line = "from nearlabel.lazy._at_least import AtLeast\n"
    room.write_text(room.read_text().replace("from nearlabel.lazy._brknn", f"{line}from nearlabel.lazy._brknn"))
    run(source, str(TESTS / "names.py"))
    assert "svm, at-least, with options" in " ".join(run(source, "-c", USE).split())
    stub = ast.parse((source / "__init__.pyi").read_text())
    assert "AtLeast" in {alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_names_are_distinct_and_ordered(monkeypatch):
    """A second object of one name is an error; what is not in the order comes last."""
    monkeypatch.setattr("nearlabel.utils.naming._MAKERS", {})
    registered("search", "b")(dict)
    registered("search", "a", one=1)(dict)
    made = named("search", ("gone", "a"))
    assert (list(made), made["a"](), made["b"]()) == (["a", "b"], {"one": 1}, {})
    with pytest.raises(ValueError, match="search must have a name of its own, got 'a'"):
        registered("search", "a")(list)
