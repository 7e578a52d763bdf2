import sys

import pytest

from nearlabel.utils import naming
from nearlabel.utils.naming import modules_found, split_import


def import_object(name):
    """Import by permission."""
    return naming.import_object("method", name, allow_imports=True)


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Stand in an empty folder; what is imported from it is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(naming, "import_folders", {})
    known = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - known:
        del sys.modules[name]


def write(folder, name, code):
    """Write a module."""
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(code)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("package.module:Name", ("package.module:Name", "")),
        ("module:Name:alpha=2:beta=x", ("module:Name", ":alpha=2:beta=x")),
        ("./folder/mine.py:Name", ("./folder/mine.py:Name", "")),
        ("mlknn:smoothing=2", None),
        ("mlknn", None),
        ("module:2", None),
    ],
)
def test_split_import(text, parts):
    """What begins with a module and a name is told from a name with options."""
    assert split_import(text) == parts


def test_installed_modules():
    """An attribute of any module that Python finds."""
    assert import_object("collections.abc:Mapping") is __import__("collections.abc").abc.Mapping


@pytest.mark.parametrize("name", ["guest_pkg/__init__.py", "guest_pkg/inner.py"])
def test_modules_of_the_current_directory(here, name):
    """They are found as with `python -m`, in packages too; the directory is on the path of processes to come only."""
    write(here, name, "class Guest: pass")
    module, path = name.removesuffix(".py").removesuffix("/__init__").replace("/", "."), [*sys.path]
    assert import_object(f"{module}:Guest").__module__ == module
    assert sys.path == path
    with modules_found(), modules_found():
        assert sys.path == [*path, str(here), str(here)]
    assert sys.path == path


def test_installed_modules_need_no_folder(here):
    """The current directory is not remembered for a module that is elsewhere."""
    import_object("json.decoder:JSONDecoder")
    import_object("sys:exit")
    with modules_found():
        assert str(here) not in sys.path


def test_an_import_that_fails_leaves_the_path(here):
    """As one that does not."""
    write(here, "guest_bad.py", "1 / 0")
    path = [*sys.path]
    with pytest.raises(ImportError):
        import_object("guest_bad:Guest")
    assert sys.path == path


@pytest.mark.parametrize("name", ["guest_file:Guest", "./guest_file.py:Guest", "os:getcwd", "nearlabel.no:system"])
def test_nothing_is_imported_without_permission(here, name):
    """The message says how to allow it."""
    write(here, "guest_file.py", "class Guest: pass")
    with pytest.raises(
        ValueError, match=r"method must be an object, or a name .*, got .* Hint: .*allow_imports=True\."
    ):
        naming.import_object("method", name, allow_imports=False)
    assert "guest_file" not in sys.modules


def test_files(here):
    """A file is imported under its own name, once."""
    write(here, "deep/guest_file.py", "class Guest: pass")
    guest = import_object("./deep/guest_file.py:Guest")
    assert guest.__module__ == "guest_file"
    assert import_object("deep/guest_file.py:Guest") is guest


def test_a_file_with_the_name_of_another_module(here):
    """Worker processes would import the other one."""
    write(here, "json.py", "class Guest: pass")
    with pytest.raises(ImportError, match=r"json.py must not have the name of another module, json. Hint: rename"):
        import_object("./json.py:Guest")


@pytest.mark.parametrize("name", ["module", ":Name", "module:", ""])
def test_no_name(name):
    """There are a module and a name."""
    with pytest.raises(ValueError, match=r"name must be package.module:Name or ./file.py:Name, got"):
        import_object(name)


def test_no_such_attribute(here):
    """A near name is suggested."""
    write(here, "guest_near.py", "class MyGuest: pass")
    with pytest.raises(ValueError, match=r"got no 'MyGest' there. Did you mean 'MyGuest'\?"):
        import_object("guest_near:MyGest")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (None, "No module named 'guest_bad' is installed or in the current directory. Hint: .*./guest_bad.py:Name"),
        ("import no_such_library", "guest_bad cannot be imported: No module named 'no_such_library'"),
        ("1 / 0", "guest_bad cannot be imported: ZeroDivisionError: division by zero"),
        ("def", "guest_bad cannot be imported: SyntaxError"),
    ],
)
def test_modules_that_cannot_be_imported(here, code, message):
    """A module that is not there, one that lacks a library, and one that fails."""
    if code is not None:
        write(here, "guest_bad.py", code)
    with pytest.raises(ImportError, match=message):
        import_object("guest_bad:Guest")


def test_no_such_file(here):
    """The path is named."""
    with pytest.raises(ImportError, match=r"There is no file other.py."):
        import_object("./other.py:Guest")
