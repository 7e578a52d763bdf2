"""How simple is the library for those who maintain it: its size, its imports, and the path of a call?

All numbers are of `src/nearlabel`. They count what a reader meets:

- Lines of code: no blank lines, comments and docstrings. An import has all its physical lines, wherever it is.
- A room is a package or module directly below `nearlabel`, except `__init__` and `__main__`, which Python needs (they
  have a floor, too). An import counts for the room named in it (`from nearlabel.lazy import MLkNN`: lazy), inside
  functions too, and so does `import_module("nearlabel.cli")`. Names that `nearlabel/__init__.py` loads later are no
  imports.
- Floors are the modules, or rooms, of the longest chain of imports; a circle has as many floors as members.
- A private import is a statement that takes a module or name with a leading underscore from another room.
- Calls run twice; `sys.setprofile` counts the "call" events of the second one whose code is in the package: a
  generator counts each time that it continues. Each library that has threads adds some frames to each search.

"before" has the numbers of commit 6fd2a85, counted by this program.

Run: ``make house``, or ``python benchmarks/house.py [--list] [--json FILE] [--before SRC]``. The seconds need
``NEARLABEL_DATA``; ``--before`` compares them with another source tree, with the same kernels built in it. On a shared
machine, a ratio between 0.9 and 1.1 shows nothing.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_multilabel_classification

import nearlabel
from _harness import text_of
from nearlabel import (
    ExactNeighbors,
    MLkNN,
    NeighborsClassifierCV,
    PrecomputedNeighbors,
    TunedThresholdsClassifierCV,
    cli,
    datasets,
    neighbors,
)

SOURCE = Path(nearlabel.__file__).parent
SEARCHES = "neighbors"  # the room whose floors are counted, too
SMALL, SHORT, LONG = 40, 30, 500  # lines of code of a small module and of a short function, lines of a long file
ROUNDS, FITS = 3, 10  # processes for the seconds of a source tree, and fits in each
ENTRANCES = {"__init__", "__main__"}  # no rooms
SPACES = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


class Goal(NamedTuple):
    """A number, its goal, and what it was; None: no goal, or not counted then."""

    what: str
    at_most: float | None
    before: float | None


GOALS = {
    "files": Goal("files", 340, 538),
    "code": Goal("lines of code", 38_500, 43_836),
    "imports": Goal("lines of imports, % of these", 9.5, 13.6),
    "small": Goal(f"modules of {SMALL} lines of code or fewer", 30, 132),
    "longest": Goal("lines of the longest file", LONG, 787),
    "one importer": Goal("modules with one importer, in their room", None, 89),
    "short": Goal(f"functions of {SHORT} lines or fewer, %", None, 99.5),
    "rooms": Goal("rooms", 22, 36),
    "floors": Goal("floors of rooms", 12, 14),
    "circles": Goal("circles of rooms", 0, 0),
    "floors of searches": Goal(f"floors inside {SEARCHES}", 7, 14),
    "private": Goal("private imports from other rooms", 4, 13),
    "fit frames": Goal("MLkNN.fit: frames", 250, 421),
    "fit files": Goal("MLkNN.fit: files", 15, 34),
    "predict frames": Goal("MLkNN.predict, ten samples: frames", None, 217),
    "predict files": Goal("MLkNN.predict, ten samples: files", None, 23),
    "known frames": Goal("MLkNN, known neighbours: frames", None, 182),
    "known files": Goal("MLkNN, known neighbours: files", 8, 17),
    "precomputed frames": Goal("MLkNN, PrecomputedNeighbors: frames", None, 200),
    "precomputed files": Goal("MLkNN, PrecomputedNeighbors: files", None, 18),
    "tuned frames": Goal("TunedThresholdsClassifierCV.fit: frames", 1_500, 5_332),
    "selected frames": Goal("NeighborsClassifierCV.fit: frames", 10_000, 64_115),
    "command files": Goal("nearlabel fit: files", 80, 134),
    "seconds": Goal("NeighborsClassifierCV.fit, emotions: CPU s", None, None),
    "of before": Goal("the same, as a share of --before", 0.667, None),
}


class Module(NamedTuple):
    """A file of the package: its dotted name, its number of lines, which of them are code, and its syntax tree."""

    name: str
    file: Path
    n_lines: int
    code: frozenset[int]
    tree: ast.Module


class Import(NamedTuple):
    """Something imported by one module from another; `name` is None if it is the module itself."""

    importer: str
    imported: str
    name: str | None
    line: int


Graph = dict[str, set[str]]  # each node with the nodes that it imports


def room_of(module: str) -> str:
    """Return the second part of a dotted name."""
    return [*module.split("."), "__init__"][1]


def modules_of(source: Path) -> list[Module]:
    """Return the modules of a package, a folder."""
    return [_module(file, source) for file in sorted(source.rglob("*.py"))]


def _module(file: Path, source: Path) -> Module:
    text = file.read_text(encoding="utf-8")
    parts = file.relative_to(source.parent).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(name, file, len(text.splitlines()), code_lines(text), ast.parse(text))


def code_lines(text: str) -> frozenset[int]:
    """Return the numbers of the lines that are neither blank, nor only a comment, nor of a docstring."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    lines = {n for one in tokens if one.type not in SPACES for n in range(one.start[0], one.end[0] + 1)}
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, DOCUMENTED) and ast.get_docstring(node)]
    return frozenset(lines - {n for node in nodes for n in lines_of(node.body[0])})


def lines_of(node: ast.stmt) -> range:
    """Return the numbers of the lines of a statement, without decorators."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def import_lines(tree: ast.Module) -> set[int]:
    """Return the numbers of the lines of all import statements."""
    return {n for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom) for n in lines_of(node)}


def function_lengths(module: Module) -> list[int]:
    """Return the lines of code of each function and method."""
    functions = [node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [len(module.code.intersection(lines_of(node))) for node in functions]


def imports_of(module: Module, names: Collection[str]) -> Iterator[Import]:
    """Yield what a module imports from those named."""
    for node in ast.walk(module.tree):
        for imported, name, line in _imported(node):
            whole = f"{imported}.{name}"
            target, taken = (whole, None) if whole in names else (imported, name)
            if target in names and target != module.name:
                yield Import(module.name, target, taken, line)


def _imported(node: ast.AST) -> Iterator[tuple[str, str | None, int]]:
    """Yield the modules of a statement, or of a call of `import_module`, each with the name taken from it."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, None, node.lineno) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield from ((node.module or "", alias.name, node.lineno) for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "import_module":
        yield from ((ast.literal_eval(one), None, node.lineno) for one in node.args if isinstance(one, ast.Constant))


def graph_of(nodes: Iterable[str], pairs: Iterable[tuple[str, str]]) -> Graph:
    """Return which node imports which; pairs with other nodes, or of one node, are left out."""
    graph: Graph = {node: set() for node in nodes}
    for importer, imported in pairs:
        if importer in graph and imported in graph and importer != imported:
            graph[importer].add(imported)
    return graph


def _groups(graph: Graph) -> dict[str, frozenset[str]]:
    """Return for each node the nodes that it reaches and that reach it, itself included."""
    reached = {node: set(imported) for node, imported in graph.items()}
    for middle in graph:
        for node in graph:
            reached[node] |= reached[middle] if middle in reached[node] else set()
    return {node: frozenset({node} | {one for one in reached[node] if node in reached[one]}) for node in graph}


def circles(graph: Graph) -> list[list[str]]:
    """Return the groups of nodes that import each other, directly or not."""
    return sorted(sorted(group) for group in set(_groups(graph).values()) if len(group) > 1)


def floors(graph: Graph) -> int:
    """Return the number of nodes on the longest chain of imports; a circle counts as all its members."""
    groups = _groups(graph)

    @cache
    def height(group: frozenset[str]) -> int:
        below = {groups[one] for node in group for one in graph[node]} - {group}
        return len(group) + max(map(height, below), default=0)

    return max(map(height, groups.values()), default=0)


def private_imports(imports: Iterable[Import]) -> list[tuple[str, int, str]]:
    """Return the statements that import something private from another room: module, line, module imported."""
    return sorted({(one.importer, one.line, one.imported) for one in imports if _is_private(one)})


def _is_private(one: Import) -> bool:
    taken = [*one.imported.split(".")[2:], one.name or ""]
    return room_of(one.importer) != room_of(one.imported) and any(
        part.startswith("_") and not part.startswith("__") for part in taken
    )


def one_importer(modules: Sequence[Module], imports: Iterable[Import]) -> list[str]:
    """Return the modules that one module of their room imports, and no other; a package's `__init__` is neither."""
    packages = {module.name for module in modules if module.file.name == "__init__.py"}
    importers = defaultdict(set)
    for one in imports:
        importers[one.imported].add(one.importer)
    single = {name: next(iter(by)) for name, by in importers.items() if len(by) == 1 and name not in packages}
    return sorted(name for name, by in single.items() if by not in packages and room_of(by) == room_of(name))


def house(source: Path) -> tuple[dict[str, float], dict[str, list[str]]]:
    """Return the numbers of a package, a folder, that need no call, and some of them as lists."""
    modules = modules_of(source)
    file = {module.name: module.file.relative_to(source.parent).as_posix() for module in modules}
    imports = [one for module in modules for one in imports_of(module, file)]
    rooms = graph_of(map(room_of, file), ((room_of(one.importer), room_of(one.imported)) for one in imports))
    inside = (name for name in file if room_of(name) == SEARCHES)
    searches = graph_of(inside, ((one.importer, one.imported) for one in imports))
    lists = {
        "small": [file[m.name] for m in modules if len(m.code) <= SMALL and m.file.name != "__init__.py"],
        "one importer": [file[name] for name in one_importer(modules, imports)],
        "long": [f"{file[m.name]}: {m.n_lines}" for m in modules if m.n_lines > LONG],
        "rooms": sorted(set(rooms) - ENTRANCES),
        "circles": [" ".join(circle) for circle in circles(rooms)],
        "private": [f"{file[name]}:{line} {imported}" for name, line, imported in private_imports(imports)],
    }
    numbers = sizes(modules) | {key: len(found) for key, found in lists.items()} | {"floors": floors(rooms)}
    return numbers | ({"floors of searches": floors(searches)} if searches else {}), lists


def sizes(modules: Sequence[Module]) -> dict[str, float]:
    """Return the numbers of files and lines, and the shares of imports and of short functions."""
    code = sum(len(module.code) for module in modules)
    lengths = [length for module in modules for length in function_lengths(module)]
    return {
        "files": len(modules),
        "code": code,
        "imports": 100 * sum(len(import_lines(module.tree)) for module in modules) / code,
        "longest": max(module.n_lines for module in modules),
        "short": 100 * sum(length <= SHORT for length in lengths) / max(len(lengths), 1),
    }


def entered(call: Callable[[], Any], source: Path) -> dict[str, int]:
    """Run a call twice; return the frames, files and functions of a folder that the second run enters."""
    inside, seen = f"{source}{os.sep}", Counter[tuple[str, int, str]]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(inside):
            seen[code.co_filename, code.co_firstlineno, code.co_name] += 1

    call()
    earlier = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(earlier)
    return {"frames": seen.total(), "files": len({file for file, *_ in seen}), "functions": len(seen)}


def calls(folder: Path) -> dict[str, Callable[[], Any]]:
    """Return the calls that are counted; `folder` gets the files of the command."""
    X, Y = make_multilabel_classification(300, 20, n_classes=6, random_state=0)
    few, fitted, search = X[:10], MLkNN().fit(X, Y), ExactNeighbors().fit(X)
    known = known_neighbors(search.kneighbors(n_neighbors=11), search.kneighbors(few, 11))
    precomputed = PrecomputedNeighbors.from_search(search, X, few, n_neighbors=11, check_rows=False)
    return {
        "fit": lambda: MLkNN().fit(X, Y),
        "predict": lambda: fitted.predict(few),
        "known": lambda: MLkNN(search=known).fit(X, Y).predict(few),
        "precomputed": lambda: MLkNN(search=precomputed).fit(X, Y).predict(few),
        "tuned": lambda: TunedThresholdsClassifierCV(MLkNN()).fit(X, Y),
        "selected": lambda: NeighborsClassifierCV().fit(X, Y),
        "command": _command(folder, np.hstack([X, Y]), Y.shape[1]),
    }


def known_neighbors(training: tuple[Any, Any], queries: tuple[Any, Any]) -> SimpleNamespace:
    """Return a search, with no code of the library, that knows the neighbours of the samples and of some queries."""

    def kneighbors(X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        return tuple(part[:, :n_neighbors] for part in (training if X is None else queries))

    return SimpleNamespace(fit=lambda X, y=None: None, kneighbors=kneighbors)


def _command(folder: Path, table: Any, n_labels: int) -> Callable[[], Any]:
    """Return the command `nearlabel fit` for a table whose last columns are labels; it prints nothing."""
    names = [f"c{number}" for number in range(table.shape[1])]
    np.savetxt(folder / "t.csv", table, delimiter=",", header=",".join(names), comments="")
    data = [str(folder / "t.csv"), "--labels", ",".join(names[-n_labels:]), "--out", str(folder / "t.skops"), "--force"]

    def run() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            code = cli.main(["fit", *data, "--method", "mlknn", "--k", "5", "--validate", "none"])
        if code:
            raise RuntimeError(f"nearlabel fit must end with 0, got {code}.")

    return run


def count_calls() -> dict[str, float]:
    """Return the frames, files and functions of each call."""
    with tempfile.TemporaryDirectory() as folder:
        found = {name: entered(call, SOURCE) for name, call in calls(Path(folder)).items()}
    return {f"{name} {kind}": number for name, of in found.items() for kind, number in of.items()}


def fit_seconds() -> dict[str, Any]:
    """Return the least CPU seconds of some fits to emotions, after a small one, and the kernels that are built."""
    data = datasets.fetch_dataset("emotions")
    NeighborsClassifierCV().fit(data.X[:100], data.Y[:100])
    seconds = []
    for _ in range(FITS):
        start = time.process_time()
        NeighborsClassifierCV().fit(data.X, data.Y)
        seconds.append(time.process_time() - start)
    return {"seconds": min(seconds), "kernels": list(neighbors.kernel_levels())}


PARTS: dict[str, Callable[[], dict[str, Any]]] = {"calls": count_calls, "seconds": fit_seconds}


def in_process(part: str, source: Path) -> dict[str, Any]:
    """Run a part in a new process with one thread and the package in a folder, and return its numbers."""
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(source.resolve())}
    command = [sys.executable, __file__, "--part", part]
    printed = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    return dict(json.loads(printed.splitlines()[-1]))


def compared_seconds(before: Path | None) -> dict[str, Any]:
    """Return the seconds of this source tree and, in turns with it, of another one."""
    sources = {"seconds": SOURCE.parent} | ({"before": before} if before else {})
    runs = [(name, in_process("seconds", source)) for _ in range(ROUNDS) for name, source in sources.items()]
    if len({tuple(run["kernels"]) for _, run in runs}) > 1:
        raise ValueError("--before must have the same kernels: run build_kernels.py there.")
    least = {name: min(run["seconds"] for of, run in runs if of == name) for name in sources}
    return least | ({"of before": least["seconds"] / least["before"]} if before else {})


def row_of(goal: Goal, found: float | None) -> tuple[Any, ...]:
    """Return a line of the table: goal, number, whether it is met, and the number before."""
    met = None if found is None or goal.at_most is None else "yes" if found <= goal.at_most else "no"
    return goal.what, goal.at_most, found, met, goal.before


def main(arguments: Sequence[str] | None = None) -> None:
    """Count, print and store."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--list", action="store_true", help="also list private imports, small modules and others")
    parser.add_argument("--json", type=Path, metavar="FILE", help="store all numbers and lists")
    parser.add_argument("--before", type=Path, metavar="SRC", help="another src folder, to compare the seconds")
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.before and not (options.before / SOURCE.name).is_dir():
        parser.error(f"--before must be a folder with the package {SOURCE.name}, got {options.before}.")
    if options.part:
        print(json.dumps(PARTS[options.part]()))
        return
    numbers, lists = house(SOURCE)
    numbers |= in_process("calls", SOURCE.parent)
    if "NEARLABEL_DATA" in os.environ:
        numbers |= compared_seconds(options.before)
    rows = [row_of(goal, numbers.get(key)) for key, goal in GOALS.items()]
    print(text_of(("", "at most", "now", "met", "before"), rows))
    print("\nThe goal of the CPU seconds: at least a third lower than before (--before SRC).")
    if "NEARLABEL_DATA" not in os.environ:
        print("They are not measured: NEARLABEL_DATA is not set.")
    for name, lines in lists.items() if options.list else ():
        print(f"\n{name}:", *lines, sep="\n  ")
    if options.json:
        options.json.write_text(json.dumps({"numbers": numbers, "lists": lists, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
