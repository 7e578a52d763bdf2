"""What nearlabel runs on: versions, and the state of the compiled kernels."""

import sys
from importlib.metadata import version

import pytest

import nearlabel
from nearlabel.experiments import environment, made_with, show_versions
from nearlabel.neighbors import kernel_level, kernel_levels
from nearlabel.neighbors.exact import kernels as _kernels
from test_layers import OPTIONAL_HOME

DISTRIBUTIONS = {
    "IPython": "ipython",
    "faiss": "faiss-cpu",
    "prometheus_client": "prometheus-client",
    "qdrant_client": "qdrant-client",
}  # whose name is not that of the module


@pytest.fixture
def other_library(monkeypatch, tmp_path):
    """A place for another library of kernels, which is opened anew."""
    monkeypatch.setattr(_kernels, "LIBRARY", tmp_path / "kernels.so")
    for cached in (_kernels.library, _kernels.level_numbers):
        cached.cache_clear()
    yield tmp_path / "kernels.so"
    for cached in (_kernels.library, _kernels.level_numbers):
        cached.cache_clear()


def test_versions_are_those_installed():
    """Of the library, what it needs, and every optional library that it imports."""
    libraries = environment()["Libraries"]
    assert libraries["nearlabel"] == nearlabel.__version__
    assert libraries["scikit-learn"] == version("scikit-learn")
    assert {DISTRIBUTIONS.get(name, name) for name in OPTIONAL_HOME} <= set(libraries)


def test_what_is_not_installed_is_said(monkeypatch):
    """Not left out."""
    monkeypatch.setattr("nearlabel.experiments._run._OTHERS", ("no-such-library",))
    assert environment()["Libraries"]["no-such-library"] == "not installed"


def test_it_is_printed(capsys):
    """Each fact in a line below its heading."""
    show_versions()
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    for heading, facts in environment().items():
        at = lines.index(heading)
        assert lines[at + 1 : at + 1 + len(facts)] == [f"{name}: {value}" for name, value in facts.items()]


@pytest.mark.skipif(_kernels.kernels_state() != "built", reason="not built here")
def test_kernels_that_are_there():
    """The levels of this processor, and the one that is chosen."""
    with kernel_level("off"):
        kernels = environment()["Kernels"]
    assert kernels == {"state": "built", "levels": ", ".join(kernel_levels()), "in use": "off"}
    with kernel_level("auto"):
        assert environment()["Kernels"]["in use"] == made_with()["kernels"] == kernel_levels()[0]


def test_no_library(other_library):
    """Without a compiler there is none; what to do is said."""
    kernels = environment()["Kernels"]
    assert kernels["state"].startswith("not built. ")
    assert (kernels["levels"], kernel_levels()) == ("off", ("off",))


@pytest.mark.skipif(sys.platform not in ("linux", "darwin"), reason="no kernels as yet")
def test_a_library_that_cannot_be_loaded(other_library):
    """As one of another kind of processor."""
    other_library.write_text("no library")
    state = environment()["Kernels"]["state"]
    assert state.startswith("built, but cannot be loaded: ")
    assert state.endswith("Hint: install a C++ compiler, then nearlabel again.")
    assert kernel_levels() == ("off",)


@pytest.mark.skipif(_kernels.kernels_state() != "built", reason="not built here")
def test_a_library_of_another_version(monkeypatch, other_library):
    """It is not called, whatever it is able to do."""
    monkeypatch.undo()
    monkeypatch.setattr(_kernels, "INTERFACE", 0)
    assert "built for another version of nearlabel: interface " in environment()["Kernels"]["state"]
    assert kernel_levels() == ("off",)


def test_a_level_that_is_not_there_is_told(monkeypatch):
    """What somebody who asks for help has set wrongly is printed, not raised."""
    monkeypatch.setenv("NEARLABEL_KERNELS", "int3")
    assert "must be one of" in environment()["Kernels"]["in use"]
