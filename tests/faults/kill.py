"""Kill commands at random moments, and check that nothing is lost, half-written or left behind.

    python tests/faults/kill.py --kills 200 fit predict
    python tests/faults/kill.py --kills 40 --json tests/faults/results.json --page docs/faults.md

The exit code is 1 if anything was not as promised. The same seed draws the same moments; where they land depends on
the machine.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from faults._killing import Tally, kill_often
from faults._planted import PLANTED
from faults._scenarios import SCENARIOS

BEGIN, END = "<!-- kills: begin -->\n", "<!-- kills: end -->\n"
_NEEDED = {"lance": "lancedb", "qdrant": "qdrant_client", "dask_worker": "distributed", "download": "pooch"}
_SHOWN = ("kills", "landed", "commands", "before", "between", "after")


def main(argv: Sequence[str] | None = None) -> int:
    """Kill what the arguments name, print what happened, and return the exit code."""
    known = _runners()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    of = ", ".join(known)
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=f"of {of}; default: all but planted ones")
    parser.add_argument("--kills", type=int, default=20, help="of each scenario")
    parser.add_argument("--seed", type=int, default=0, help="of the moments")
    parser.add_argument("--json", type=Path, help="file of the figures; those of other scenarios in it stay")
    parser.add_argument("--page", type=Path, help="page in which the table of all figures in --json is written")
    arguments = parser.parse_args(argv)
    if unknown := [name for name in arguments.scenarios if name not in known]:
        parser.error(f"SCENARIO must be one of {', '.join(known)}, got {unknown[0]}.")
    wanted = arguments.scenarios or [name for name in known if not name.startswith("planted")]
    n_failures = 0
    for name in wanted:
        tally = _tally_of(name, known[name], arguments)
        if tally is not None:
            n_failures += len(tally.failures)
            _note(tally, arguments)
    return int(n_failures > 0)


def _note(tally: Tally, arguments: argparse.Namespace) -> None:
    """Write the figures of a scenario, beside those of the others, into file and page."""
    if arguments.json is None:
        return
    results = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
    results[tally.name] = asdict(tally)
    arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    if arguments.page is not None:
        write_page(arguments.page, results)


def _kill_workers(kills: int, folder: Path, seed: int) -> Tally:
    from faults._dask_workers import kill_workers  # which needs distributed

    return kill_workers(kills, folder, seed)


def _runners() -> dict[str, Callable[[int, Path, int], Tally]]:
    """Return what kills, by the name of the scenario."""

    def killing(scenario: Any) -> Callable[[int, Path, int], Tally]:
        return lambda kills, folder, seed: kill_often(scenario, kills, folder, seed)

    return {scenario.name: killing(scenario) for scenario in [*SCENARIOS, *PLANTED]} | {"dask_worker": _kill_workers}


def _tally_of(name: str, runner: Callable[[int, Path, int], Tally], arguments: argparse.Namespace) -> Tally | None:
    if name in _NEEDED and importlib.util.find_spec(_NEEDED[name]) is None:
        print(f"{name}: left out, as {_NEEDED[name]} is not installed")
        return None
    with tempfile.TemporaryDirectory(prefix="nearlabel-kills-") as folder:
        tally = runner(arguments.kills, Path(folder), arguments.seed)
    figures = ", ".join(f"{value} {name}" for name, value in asdict(tally).items() if name in _SHOWN)
    print(f"{name}: {figures}, {tally.leftovers} left something, {len(tally.failures)} failures, {tally.seconds} s")
    for failure in tally.failures:
        print(f"    {failure}")
    sys.stdout.flush()
    return tally


def write_page(page: Path, results: Mapping[str, Mapping[str, Any]]) -> None:
    """Write the table between its marks."""
    text = page.read_text()
    head, rest = text.split(BEGIN)
    _, tail = rest.split(END)
    page.write_text(f"{head}{BEGIN}{table(results)}{END}{tail}")


def table(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the figures as a table of Markdown."""
    columns = ("killed while it ran", "of a command", "before", "a part", "after", "left something", "failures")
    of = ("landed", "commands", "before", "between", "after", "leftovers")
    lines = [f"| what was killed | kills | {' | '.join(columns)} |", f"|---{'|---:' * (len(columns) + 1)}|"]
    rows = [[result["kills"], *(result[name] for name in of), len(result["failures"])] for result in results.values()]
    rows_by_name = dict(zip(results, rows, strict=True))
    total = [sum(column) for column in zip(*rows, strict=True)]
    for name, row in (rows_by_name | {"all": total}).items():
        lines.append(f"| {name.replace('_', ' ')} | {' | '.join(map(str, row))} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
