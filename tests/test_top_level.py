"""What `import nearlabel` offers, and what it does not load."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

import nearlabel
from nearlabel.thresholds import ThresholdStrategy
from test_docstrings import MODULES

SOURCE = Path(nearlabel.__file__).parent


def test_dir_lists_what_there_is_to_use():
    """Sub-packages, classes, the version and what prints versions; each can be got."""
    assert {*MODULES, "MLkNN", "ExactNeighbors", "TunedThresholdsClassifierCV", "__version__"} <= set(dir(nearlabel))
    assert inspect.isfunction(nearlabel.show_versions)
    assert "importlib" not in dir(nearlabel)
    for name in dir(nearlabel):
        thing = getattr(nearlabel, name)
        assert inspect.isclass(thing) or inspect.ismodule(thing) or name in ("__version__", "show_versions")


def test_every_estimator_is_at_the_top():
    """All classifiers, searches and selectors can be imported from the top, as the classes of their sub-package."""
    sub_packages = [
        name for name in MODULES if name not in ("experiments", "comparison", "papers", "testing", "models")
    ]
    for sub_package in sub_packages:
        module = importlib.import_module(f"nearlabel.{sub_package}")
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if not inspect.isclass(thing) or inspect.isabstract(thing) or issubclass(thing, ThresholdStrategy):
                continue
            if issubclass(thing, BaseEstimator):
                assert getattr(nearlabel, name, None) is thing, f"{name}: run `make names`"


def test_type_checkers_see_the_same_names():
    """The stub imports each name from where the package takes it."""
    seen = {
        alias.asname: node.module
        for node in ast.walk(ast.parse((SOURCE / "__init__.pyi").read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    homes = {name: f"nearlabel.{home}" for name, home in nearlabel._HOME.items()}
    assert seen == homes | dict.fromkeys(nearlabel._OFFERED, "nearlabel")


def test_an_unknown_name():
    """It is an AttributeError, and an ImportError of whoever imports it, as of any module."""
    with pytest.raises(AttributeError, match="module 'nearlabel' has no attribute 'MLKNN'"):
        nearlabel.MLKNN  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'MLKNN' from 'nearlabel'"):
        from nearlabel import MLKNN  # noqa: F401


def loaded(statement, before="pass"):
    """Return the names of all modules that a fresh process loads by a statement, after another one."""
    code = f"import sys\n{before}\nold = set(sys.modules)\n{statement}\nprint(*set(sys.modules) - old)"
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {[str(SOURCE.parent)]!r}\n{code}"]
    return set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())


def test_the_import_loads_nothing_else():
    """`import nearlabel` and its dir() load none of our sub-packages, neither numpy nor scikit-learn."""
    modules = loaded("import nearlabel\ndir(nearlabel)")
    assert {name for name in modules if name.startswith(("nearlabel", "numpy", "scipy", "sklearn"))} == {
        "nearlabel",
        "nearlabel.utils",
        "nearlabel.utils.names",
    }
    assert len(modules) < 10


def test_a_star_needs_no_extra():
    """It loads all that the library itself can: no name of it needs a library of an extra."""
    extras = ("fastapi", "uvicorn", "prometheus_client", "matplotlib", "pandas", "polars", "pyarrow")
    hidden = f"import sys\nsys.modules.update(dict.fromkeys({extras}))"
    assert "nearlabel.lazy" in loaded("from nearlabel import *\nMLkNN, lazy, plots, datasets", before=hidden)
    assert "serve" in dir(nearlabel)


def test_a_sub_package_is_loaded_when_it_is_used():
    """And no other: statistics of y need no classifiers."""
    modules = loaded("import nearlabel\nnearlabel.labels")
    assert "nearlabel.labels" in modules
    assert not {"nearlabel.lazy", "nearlabel.neighbors"} & modules


def test_classifiers_load_no_more_than_scikit_learn():
    """No optional library that it does not load itself, and nothing of papers, data sets, pictures or reports."""
    theirs = "import sklearn.linear_model, sklearn.metrics, sklearn.model_selection, sklearn.neighbors"
    modules = loaded("import nearlabel.lazy", before=theirs)
    libraries = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names
    assert {"nearlabel"} <= libraries <= {"nearlabel", "sklearn", "scipy", "numpy", "joblib", "threadpoolctl"}
    ours = {name.split(".")[1] for name in modules if name.startswith("nearlabel.")}
    assert "lazy" in ours
    assert not {"papers", "experiments", "comparison", "datasets", "persistence", "plots", "report"} & ours
