"""Things that have names: objects to import, options ``name:parameter=value``, optional libraries, methods."""

from __future__ import annotations

import ast
import difflib
import importlib
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, Literal, TypeVar

# A dotted module or a file, a colon, and a name that is not the beginning of an option.
_NAMED = re.compile(r"(?P<module>[^:=]+):(?P<name>[A-Za-z_]\w*)(?=:|\Z)")


# After a colon, a name that is not the beginning of an option; or the option estimator=package.module.Name.
_ANYWHERE = re.compile(r":[A-Za-z_]\w*(?![\w=])|:estimator=[^:@+]*\.")


def names_an_import(text: str) -> bool:
    """Return whether a specification contains a ``module:Name``, or the option ``estimator=module.Name``."""
    return _ANYWHERE.search(text) is not None


def split_import(text: str) -> tuple[str, str] | None:
    """Return the ``module:Name`` at the beginning of a specification and the rest after it, or None.

    Parameters
    ----------
    text : str
        ``package.module:Name:option=value``; returns None if the second part is an option, as in ``mlknn:smoothing=2``.
    """
    found = _NAMED.match(text)
    return None if found is None else (found[0], text[found.end() :])


def import_object(what: str, name: str, *, allow_imports: bool) -> Any:
    """Import a module and return one of its attributes; **this executes the code of the module**.

    A module that is not found elsewhere is searched in the current directory. This directory, or that of a file, is on
    `sys.path` during the import only: see `modules_found`.

    Parameters
    ----------
    what : str
        Its description in messages, such as "method".
    name : str
        ``package.module:Name``, or ``path/to/file.py:Name``.
    allow_imports : bool
        Whether the caller has allowed it; names may be untrusted.

    Returns
    -------
    object
        The attribute: a class, a function or an instance.

    Raises
    ------
    ValueError
        If it is not allowed, the text has no colon, or the module has no such attribute.
    ImportError
        If there is no such module or file, or its code fails.
    """
    if not allow_imports:
        raise ValueError(
            f"{what} must be an object, or a name that nearlabel knows, got {name!r}, an import, which runs code."
            " Hint: pass the object, or the result of MethodSpec.of, make_search, make_sampler or make_metric with"
            " allow_imports=True."
        )
    where, colon, attribute = name.rpartition(":")
    if not colon or not where or not attribute:
        raise ValueError(f"name must be package.module:Name or ./file.py:Name, got {name!r}.")
    module = _module_of_file(Path(where)) if where.endswith(".py") else _module(where, str(Path.cwd()))
    if not hasattr(module, attribute):
        near = difflib.get_close_matches(attribute, vars(module), n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"{name} must name something in {where}, got no {attribute!r} there.{hint}")
    return getattr(module, attribute)


# Folders outside `sys.path` from which modules were imported, by permission, in this process.
import_folders: dict[str, None] = {}


@contextmanager
def modules_found() -> Iterator[None]:
    """Have the folders of modules imported by `import_object` on `sys.path`, for a block that starts processes.

    A process begins with a copy of the path, and imports the modules of the objects that it is sent.
    """
    with _last_on_path(import_folders):
        yield


@contextmanager
def _last_on_path(folders: Iterable[str]) -> Iterator[None]:
    """Append folders to the path: a file there must not replace an installed library."""
    added = [*folders]
    sys.path.extend(added)
    try:
        yield
    finally:
        for folder in added:  # the last of equal ones: threads each have their own
            del sys.path[len(sys.path) - 1 - sys.path[::-1].index(folder)]


def _module(name: str, folder: str) -> ModuleType:
    """Import a module, from a folder if it is nowhere else."""
    with _last_on_path([folder]):
        module = _imported(name)
    if folder not in sys.path and _is_right_in(sys.modules[name.partition(".")[0]], folder):
        import_folders[folder] = None
    return module


def _is_right_in(module: ModuleType, folder: str) -> bool:
    """Return whether a module or package that is inside no other one is in a folder."""
    places = [*getattr(module, "__path__", ())] or [getattr(module, "__file__", None)]
    return any(Path(place).resolve().parent == Path(folder).resolve() for place in places if place)


def _imported(name: str) -> ModuleType:
    importlib.invalidate_caches()  # the file may be very new
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise ImportError(
                f"No module named {error.name!r} is installed or in the current directory."
                f" Hint: name a file by its path, ./{name.replace('.', '/')}.py:Name."
            ) from error
        raise ImportError(f"Module {name} cannot be imported: {error}.") from error
    except Exception as error:
        raise ImportError(f"Module {name} cannot be imported: {type(error).__name__}: {error}.") from error


def _module_of_file(path: Path) -> ModuleType:
    """Import a file under its own name, which is also how worker processes import it."""
    if not path.is_file():
        raise ImportError(f"There is no file {path}.")
    module = _module(path.stem, str(path.resolve().parent))
    if Path(module.__file__ or "").resolve() != path.resolve():
        raise ImportError(f"{path} must not have the name of another module, {path.stem}. Hint: rename the file.")
    return module


# Options in specifications: ``name:parameter=value``.

_LONGEST_VALUE = 1000  # characters; Python's parser is slow for longer literals


def split_option(whose: str, known: list[str], option: str) -> tuple[str, str]:
    """Return parameter and value of ``parameter=value``; raise ValueError unless the parameter is known."""
    parameter, equals, text = option.partition("=")
    if not known:
        raise ValueError(f"{whose} must be without options, got {option!r}.")
    if parameter not in known or not equals:
        raise ValueError(f"option of {whose} must be parameter=value, of {known}, got {option!r}.")
    return parameter, text


def read_value(text: str) -> Any:
    """Return the number, boolean or None that a text represents, or else the text."""
    if text == "nan":  # a float, but not a Python literal
        return math.nan
    if len(text) > _LONGEST_VALUE:
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # for a backslash, which a text may contain
            warnings.simplefilter("ignore", DeprecationWarning)  # the same before Python 3.12
            return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):  # the last two: too many brackets or signs
        return text


# Import an optional library; the error names the extra that installs it.


def import_optional(module: str, *, extra: str, purpose: str) -> ModuleType:
    """Return the imported module.

    Raises
    ------
    ImportError
        If it is not installed; the message names the extra that installs it. Also if its import fails.
    """
    library = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError) and str(error.name).partition(".")[0] == library
        if is_missing:
            raise ImportError(f"{purpose} needs {library}: pip install 'nearlabel[{extra}]'.") from error
        raise ImportError(f"{purpose} needs {library}, which is installed but cannot be imported: {error}") from error


# What has a name in specifications, declared where it is defined. The specification ``igs+mlknn@micro-f`` names a
# selection, a method and thresholds. `make names` writes all names to `nearlabel.utils.names`, from which help pages
# and the loader of models read them.

Kind = Literal["method", "selection", "sampler", "thresholds", "search"]
_Maker = TypeVar("_Maker", bound=Callable[..., Any])
_MAKERS: dict[Kind, dict[str, Callable[..., Any]]] = {}


def registered(kind: Kind, name: str, *args: object, **options: object) -> Callable[[_Maker], _Maker]:
    """Declare a class, or a function that makes an object, under a name, with arguments that the name sets.

    `load_model` builds these objects, except searches, from a file with any attributes: they must do nothing but
    compute (`nearlabel.persistence._allow_list`).
    """

    def declare(maker: _Maker) -> _Maker:
        makers = _MAKERS.setdefault(kind, {})
        if name in makers:
            raise ValueError(f"{kind} must have a name of its own, got {name!r} for {makers[name]!r} and {maker!r}.")
        makers[name] = partial(maker, *args, **options) if args or options else maker
        return maker

    return declare


def named(kind: Kind, order: Sequence[str]) -> Mapping[str, Any]:
    """Return what makes the objects, by name, in an order; names that are missing there come last."""
    makers = _MAKERS[kind]
    return MappingProxyType({name: makers[name] for name in (*order, *makers) if name in makers})
