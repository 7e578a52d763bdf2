import pytest

from nearlabel.utils.naming import import_optional

NEEDS = {"extra": "few", "purpose": "Such a thing"}


@pytest.fixture
def library(tmp_path, monkeypatch):
    """Make a library of one module that does something when it is imported."""

    def make(name, code):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("")
        (tmp_path / name / "part.py").write_text(code)
        monkeypatch.syspath_prepend(tmp_path)
        return f"{name}.part"

    return make


def test_a_library_that_is_there(library):
    """The module comes back, not its package."""
    assert import_optional(library("lib_of_one", "answer = 42"), **NEEDS).answer == 42


@pytest.mark.parametrize("module", ["lib_of_none", "lib_of_none.part"])
def test_a_library_that_is_not_there(module):
    """The message says how to install it."""
    with pytest.raises(ImportError) as told:
        import_optional(module, **NEEDS)
    assert str(told.value) == "Such a thing needs lib_of_none: pip install 'nearlabel[few]'."


@pytest.mark.parametrize(
    ("name", "code", "error"),
    [
        ("lib_lacking", "import lib_of_none", "No module named 'lib_of_none'"),
        ("lib_broken", "raise ImportError('numpy is too old')", "numpy is too old"),
    ],
)
def test_a_library_that_fails(library, name, code, error):
    """Installing it once more would not help: what it says comes along."""
    with pytest.raises(ImportError) as told:
        import_optional(library(name, code), **NEEDS)
    assert str(told.value) == f"Such a thing needs {name}, which is installed but cannot be imported: {error}"
