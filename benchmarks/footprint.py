"""How long do imports take, and how much room does an installation take?

Each statement runs in a new process of Python, in turns. "processor" has the seconds that it computed, the median of
all rounds; "at least" those from its start to its end in the best round, since other work of the machine only adds to
them. The files of the package are counted as they are installed, without byte code.

Run: ``python benchmarks/footprint.py``, in an environment without extras (scikit-learn imports pandas where it is
installed), after ``make wheels``; it also writes the figures of ``docs/footprint.md``.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import nearlabel
from _harness import Goal, Table, lines_of, parser_for, print_facts, save, show, write_figures

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "footprint.md"
IMPORT, CLASSIFIER, HELP = "import nearlabel", "from nearlabel.lazy import MLkNN", "nearlabel --help"
THEIRS = "from sklearn.neighbors import KNeighborsClassifier"
STATEMENTS = {
    "nothing": ("-c", "pass"),
    IMPORT: ("-c", IMPORT),
    "import numpy": ("-c", "import numpy"),
    THEIRS: ("-c", THEIRS),
    CLASSIFIER: ("-c", CLASSIFIER),
    HELP: ("-m", "nearlabel", "--help"),
    "nearlabel versions": ("-m", "nearlabel", "versions"),
}
KINDS = {
    ".py": "Python",
    ".pyi": "Python",
    ".toml": "printed tables of papers, and the catalogue of data sets",
    ".so": "kernels",
}
_MIB = 2.0**20


class Run(NamedTuple):
    """One process, from start to end."""

    seconds: float
    processor: float


def run(arguments: Sequence[str]) -> Run:
    """Run Python, its output thrown away, and return what it took; RuntimeError if it fails."""
    start = time.perf_counter()
    null = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    process = os.posix_spawn(sys.executable, [sys.executable, *arguments], dict(os.environ), file_actions=[null])
    _, status, used = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"python {' '.join(arguments)} must end with 0, got {os.waitstatus_to_exitcode(status)}.")
    return Run(time.perf_counter() - start, used.ru_utime + used.ru_stime)


def times(rounds: int) -> dict[str, dict[str, float]]:
    """Return what each statement took; they take turns, and the first round only fills the caches."""
    runs: dict[str, list[Run]] = {name: [] for name in STATEMENTS}
    for _ in range(rounds + 1):
        for name, arguments in STATEMENTS.items():
            runs[name].append(run(arguments))
    return {name: _summary(found[1:]) for name, found in runs.items()}


def _summary(runs: Sequence[Run]) -> dict[str, float]:
    return {
        "processor": statistics.median(one.processor for one in runs),
        "at least": min(one.seconds for one in runs),
    }


def sizes(package: Path, wheels: Iterable[Path]) -> dict[str, dict[str, float]]:
    """Return the number and the MiB of the files of the package, kind by kind, and of each wheel."""
    files = [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    number: Counter[str] = Counter()
    room: Counter[str] = Counter()
    for file in files:
        kind = KINDS.get(file.suffix, "other")
        number[kind] += 1
        room[kind] += file.stat().st_size
    found = {kind: {"files": number[kind], "mib": room[kind] / _MIB} for kind in sorted(room, key=lambda k: -room[k])}
    found["all, installed"] = {"files": len(files), "mib": sum(room.values()) / _MIB}
    return found | {f"wheel, {_named(file)}": {"files": 1, "mib": file.stat().st_size / _MIB} for file in wheels}


def _named(wheel: Path) -> str:
    return "pure" if wheel.stem.endswith("-none-any") else "with kernels"


def tables_of(results: dict[str, Any]) -> list[Table]:
    """Return a table of times and one of sizes."""
    of_times = [(name, *(round(value, 3) for value in of.values())) for name, of in results["times"].items()]
    of_sizes = [(name, of["files"], round(of["mib"], 3)) for name, of in results["sizes"].items()]
    return [
        Table("Seconds", ("", "processor", "at least"), of_times),
        Table("Sizes", ("", "files", "MiB"), of_sizes),
    ]


def goals_of(results: dict[str, Any]) -> list[Goal]:
    """Return the goals: what a user waits for who has asked for nothing yet."""
    processor = {name: of["processor"] for name, of in results["times"].items()}
    more = {name: round(processor[name] - processor["nothing"], 3) for name in (IMPORT, HELP)}
    over = round(processor[CLASSIFIER] / processor[THEIRS], 3)
    return [
        Goal(f"{IMPORT}: seconds more than nothing", "at most", 0.01, more[IMPORT]),
        Goal(f"{HELP}: seconds more than nothing", "at most", 0.25, more[HELP]),
        Goal(f"{CLASSIFIER}: times scikit-learn's import", "at most", 1.5, over),
        Goal("MiB of files, installed", "at most", 10, round(results["sizes"]["all, installed"]["mib"], 3)),
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print, and write the page."""
    parser = parser_for(__doc__, "footprint", repeats=5)
    parser.add_argument("--wheels", type=Path, default=ROOT / "dist", help="folder with wheels; default: dist")
    options = parser.parse_args(arguments)
    print_facts()
    wheels = sorted(options.wheels.glob("*.whl"))
    results = {"times": times(options.repeats), "sizes": sizes(Path(nearlabel.__file__).parent, wheels)}
    tables, goals = tables_of(results), goals_of(results)
    show(tables, goals)
    save(options, __doc__ or "", results, tables, goals)
    if not options.quick:
        write_figures(PAGE, lines_of(json.loads(options.out.read_text())))


if __name__ == "__main__":
    main()
