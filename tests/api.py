"""What nearlabel offers, a line a name, and what of it a later version takes away: ``make api`` writes tests/api.txt.

The file has the names and signatures of the last release, whose version is in its first line. It is written when a
release is made (docs/releasing.md); tests/test_api.py compares the present names with it.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import nearlabel

FILE = Path(__file__).with_name("api.txt")
_OF_SCIKIT_LEARN = re.compile(r"set_\w+_request")  # made for each estimator, by the version that is installed
_OBJECT = re.compile(r"<.*>|.* at 0x.*", re.DOTALL)


class Parameter(NamedTuple):
    """A parameter as a caller sees it; the default is None where there is none."""

    by_position: bool
    default: str | None


def main() -> int:
    """Write the file; with --check say whether it is of this version, as it is now."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if the file would change")
    check = parser.parse_args().check
    text = as_text(offered())
    if not check:
        FILE.write_text(text, encoding="utf-8", newline="\n")
    elif FILE.read_text(encoding="utf-8") != text:
        print(f"{FILE.name} is not what nearlabel {nearlabel.__version__} offers. Hint: make api.")
        return 1
    return 0


def as_text(names: Mapping[str, str]) -> str:
    """Return the content of the file."""
    return f"# nearlabel {nearlabel.__version__}\n" + "".join(f"{name}{names[name]}\n" for name in sorted(names))


def released() -> tuple[str, dict[str, str]]:
    """Return the version of the last release, and its signatures by name."""
    first, *lines = FILE.read_text(encoding="utf-8").splitlines()
    return first.removeprefix("# nearlabel "), dict(re.match(r"([\w.]+)(.*)", line).groups() for line in lines)


def offered() -> dict[str, str]:
    """Return the signatures of all public names, "" for what cannot be called."""
    top = {name: getattr(nearlabel, name) for name in dir(nearlabel) if name != "__version__"}
    modules = [name for name, thing in top.items() if inspect.ismodule(thing)]
    found = dict.fromkeys(top, "")
    for module in modules:
        public = importlib.import_module(f"nearlabel.{module}")
        for name in getattr(public, "__all__", None) or _defined_in(public):
            found.update(_of(f"{module}.{name}", getattr(public, name)))
    return found


def _defined_in(module: ModuleType) -> list[str]:
    """Return the public names that a module without a list of them defines itself."""
    own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", None) == module.__name__]
    return [name for name in own if not name.startswith("_")]


def _of(name: str, thing: Any) -> Iterator[tuple[str, str]]:
    """Yield a name with its signature, and of a class those of its members that nearlabel defines."""
    if not inspect.isclass(thing):
        yield name, _signature(thing) if inspect.isroutine(thing) else ""
        return
    ours = [of.__dict__ for of in thing.__mro__ if of.__module__.startswith("nearlabel")]
    makes = any(maker in members for members in ours for maker in ("__init__", "__new__"))
    yield name, _signature(thing) if makes else ""
    for member in sorted({member for members in ours for member in members}):
        if not member.startswith("_") and not _OF_SCIKIT_LEARN.fullmatch(member):
            value = getattr(thing, member, None)
            bound = inspect.ismethod(value) or isinstance(inspect.getattr_static(thing, member), staticmethod)
            yield f"{name}.{member}", _signature(value, skip=0 if bound else 1) if inspect.isroutine(value) else ""


def _signature(thing: Any, skip: int = 0) -> str:
    """Return a signature without types, whose defaults are texts that Python can parse."""
    try:
        parameters = list(inspect.signature(thing).parameters.values())[skip:]
    except ValueError:  # of exceptions, which C makes
        return ""
    plain = [parameter.replace(annotation=parameter.empty, default=_default(parameter)) for parameter in parameters]
    return str(inspect.Signature(plain))


class _Text(str):
    """A default as it is to be printed."""

    __slots__ = ()

    __repr__ = str.__str__


def _default(parameter: inspect.Parameter) -> Any:
    if parameter.default is parameter.empty:
        return parameter.empty
    return _Text("..." if _OBJECT.fullmatch(repr(parameter.default)) else repr(parameter.default))


def taken_away(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Return what a caller of the names of before may notice: sentences, by the name that they are about."""
    lost = {name: f"{name} is gone" for name in before if name not in now}
    kept = [name for name in before if name in now]
    return lost | {f"{name}.{of}": f"{name}: {why}" for name in kept for of, why in _breaks(before[name], now[name])}


def _breaks(before: str, now: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters by which a call of before means something else now, or fails, and why."""
    old, new = _parameters(before), _parameters(now)
    for name, parameter in old.items():
        if name not in new:
            yield name, f"the parameter {name} is gone"
        elif parameter.default is not None and new[name].default != parameter.default:
            yield name, f"the default of {name} is {new[name].default}, was {parameter.default}"
        elif parameter.by_position and not new[name].by_position:
            yield name, f"{name} can no longer be passed by position"
    places = [name for name in old if old[name].by_position and name in new and new[name].by_position]
    moved = zip(places, [name for name in new if new[name].by_position], strict=False)
    yield from ((was, f"{now} stands in the place of {was}") for was, now in moved if was != now)
    required = [name for name in new if name not in old and new[name].default is None and name[0] != "*"]
    yield from ((name, f"the parameter {name} is new and has no default") for name in required if before)


def _parameters(signature: str) -> dict[str, Parameter]:
    """Return the parameters of a signature by name, in their order."""
    function = ast.parse(f"def f{signature or '()'}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    places = [argument.arg for argument in (*given.posonlyargs, *given.args)]
    defaults = [None] * (len(places) - len(given.defaults)) + [ast.unparse(value) for value in given.defaults]
    found = {name: Parameter(True, default) for name, default in zip(places, defaults, strict=True)}
    for argument, value in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        found[argument.arg] = Parameter(False, None if value is None else ast.unparse(value))
    stars = {"*": given.vararg, "**": given.kwarg}
    return found | {star + of.arg: Parameter(False, None) for star, of in stars.items() if of is not None}


if __name__ == "__main__":
    sys.exit(main())
