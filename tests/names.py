"""What the library declares, written where it is read without loading it: ``make names``.

It writes `utils/names.py` (for help pages, the loader of models and the top of the package), `__init__.pyi` (for
type checkers) and `__all__` of each room, from what the room imports. tests/test_names.py compares them.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import nearlabel
from nearlabel import audit, comparison, experiments, metrics, papers, preprocessing, thresholds
from nearlabel.neighbors import VectorTable
from nearlabel.thresholds import ThresholdStrategy, _risk_control
from nearlabel.utils import names as present

SOURCE = Path(nearlabel.__file__).parent
_ALL = re.compile(r"^__all__ = \[.*?\](?:  # fmt: skip)?\n", re.MULTILINE | re.DOTALL)

_HEAD = '''"""The library's names, where they are read without loading it; written by `make names`.

A name keeps its place, which is its place in help pages, and new names come last: move a line to change the order.
"""

# fmt: off
# Rooms, and what `import nearlabel` offers of them: estimators, searches, splitters and tables of vectors.
OFFERED = {
'''

# What specifications name, and further values of arguments.
_SPECIFIED: dict[str, Any] = {
    "METHODS": experiments.METHODS,
    "NEIGHBOR_METHODS": experiments.NEIGHBOR_METHODS,
    "SELECTIONS": experiments.SELECTIONS,
    "SAMPLERS": experiments.SAMPLERS,
    "THRESHOLDS": experiments.THRESHOLDS,
    "SEARCHES": experiments.SEARCHES,
    "CATALOGUE": metrics.CATALOGUE,
    "METRICS_ON_REQUEST": metrics.METRICS_ON_REQUEST,
}
_VALUES = {
    "LEADERBOARD_METHODS": experiments.LEADERBOARD_METHODS,
    "ESTIMATORS": experiments.ESTIMATORS,
    "IMPUTATIONS": experiments.IMPUTATIONS,
    "CALIBRATIONS": thresholds.CALIBRATIONS,
    "PROMISED_MEASURES": _risk_control.PROMISED_MEASURES,
    "SCALES": preprocessing.SCALES,
    "TESTS": comparison.TESTS,
    "OVER": comparison.OVER,
    "POST_HOC": comparison.POST_HOC,
    "STRATEGIES": audit.STRATEGIES,
    "LOSSES": audit.LOSSES,
    "PAPERS": papers.paper_names(),
}
_BUILT = ("METHODS", "SELECTIONS", "SAMPLERS", "THRESHOLDS")  # from a file; searches are fitted again (decision 17)
_NOT_AT_THE_TOP = ("comparison", "experiments", "models", "papers", "testing")
_FUNCTIONS_AT_THE_TOP = {"experiments": ["show_versions"]}


def main() -> int:
    """Write the files; with --check say which would change."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 if a file would change")
    check = parser.parse_args().check
    stale = {file: text for file, text in written() if file.read_text(encoding="utf-8") != text}
    for file, text in stale.items():
        if check:
            print(f"{file.relative_to(SOURCE)} is not what the library declares. Hint: make names.")
        else:
            file.write_text(text, encoding="utf-8", newline="\n")
    return int(check and bool(stale))


def written() -> Iterator[tuple[Path, str]]:
    """Yield each file with the text that it should have."""
    texts = {file: file.read_text(encoding="utf-8") for file in sorted(SOURCE.glob("*/**/__init__.py"))}
    rooms = {file: imported(text) for file, text in texts.items() if _ALL.search(text)}
    offered = {file.parent.name: _offered(file.parent.name, n) for file, n in rooms.items() if _is_public(file)}
    yield SOURCE / "utils" / "names.py", _names_file(offered)
    yield SOURCE / "__init__.pyi", _stub(offered)
    yield from ((file, _ALL.sub(lambda _, n=n: _all_of(n), texts[file])) for file, n in rooms.items())


def _is_public(file: Path) -> bool:
    return file.parent.parent == SOURCE


def imported(text: str) -> list[str]:
    """Return what a room imports to offer it; ``import X as X`` is for other rooms only."""
    imports = [node for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)]
    return [alias.name for node in imports for alias in node.names if alias.asname is None]


def _all_of(names: Iterable[str]) -> str:
    words = [f'"{name}"' for name in sorted(names, key=_as_ruff_sorts)]
    line = f"__all__ = [{', '.join(words)}]\n"
    return line if len(line) <= 121 else f"__all__ = [\n{_wrapped(words)}]  # fmt: skip\n"


def _as_ruff_sorts(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def _wrapped(words: Iterable[str], indent: str = "") -> str:
    """Return words with commas, in lines of at most 120 characters."""
    width = 116 - len(indent)
    lines = textwrap.wrap(", ".join(words) + ",", width, break_long_words=False, break_on_hyphens=False)
    return textwrap.indent("\n".join(lines), indent + "    ") + "\n" + indent


def _offered(room: str, names: Iterable[str]) -> list[str]:
    """Return what the top offers of the names of a room."""
    if room in _NOT_AT_THE_TOP:
        return _FUNCTIONS_AT_THE_TOP.get(room, [])
    module = importlib.import_module(f"nearlabel.{room}")
    return [name for name in sorted(names, key=str.lower) if _is_at_the_top(getattr(module, name))]


def _is_at_the_top(thing: Any) -> bool:
    if not inspect.isclass(thing) or inspect.isabstract(thing) or issubclass(thing, ThresholdStrategy):
        return False
    return issubclass(thing, VectorTable) or any(hasattr(thing, name) for name in ("get_params", "kneighbors", "split"))


def _names_file(offered: Mapping[str, list[str]]) -> str:
    parts = [_HEAD]
    parts += [f'    "{room}": ({_tuple(names, indent="    ")}),\n' for room, names in offered.items()]
    parts.append("}\n\n# Names in specifications: declared by `nearlabel.utils.naming.registered`.\n")
    parts += [_assigned(name, _in_place(name, known)) for name, known in _SPECIFIED.items()]
    parts.append("\n# Further values of arguments, each declared in its room.\n")
    parts += [_assigned(name, values) for name, values in _VALUES.items()]
    parts.append("\n# Classes that these names make, which `load_model` builds from attributes.\n")
    parts.append(_assigned("BUILT", sorted({_path(make()) for name in _BUILT for make in _SPECIFIED[name].values()})))
    return "".join(parts)


def _in_place(name: str, known: Iterable[str]) -> list[str]:
    """Return names in the order of the present file, new ones last."""
    before = getattr(present, name, ())
    return sorted(known, key=lambda one: before.index(one) if one in before else len(before))


def _path(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def _tuple(names: Iterable[str], indent: str = "") -> str:
    """Return the inside of a tuple of texts: in one line, or in several."""
    words = [f'"{name}"' for name in names]
    line = ", ".join(words) + ("," if len(words) == 1 else "")
    return line if len(line) < 90 else "\n" + _wrapped(words, indent)


def _assigned(name: str, values: Iterable[str]) -> str:
    return f"{name} = ({_tuple(values)})\n"


def _stub(offered: Mapping[str, list[str]]) -> str:
    lines = [f"from nearlabel import {room} as {room}" for room in offered]
    lines += [
        f"from nearlabel.{room} import {name} as {name}"
        for room, names in offered.items()
        for name in sorted(names, key=lambda name: (_as_ruff_sorts(name)[0], name.lower()))
    ]
    return "\n".join([*lines, "", "__all__: list[str]", "__version__: str"]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
