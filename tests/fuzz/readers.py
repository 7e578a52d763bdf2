"""Fuzz every reader of files: `make fuzz`.

Each reader gets damaged files, and must answer rightly or say with ValueError or OSError what is wrong with which file.
A process that crashes, inputs that take over 5 s of processor time or 1 GiB of memory, other errors and wrong
answers are failures; each is made smaller and kept in `tests/fuzz/failures`. docs/fuzzing.md says what is tried.

    python -m fuzz.readers 1000                 1,000 inputs for each target
    python -m fuzz.readers 1000 csv arff        those whose name contains one of the words
    python -m fuzz.readers 1000 --seed 7        other inputs
    python -m fuzz.readers 30000 --keep         and write their figures down, for the page
    python -m fuzz.readers --again FOLDER       what becomes of a kept input
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before numpy: threads do not survive a fork

import argparse
import hashlib
import importlib
import json
import math
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fuzz.minimise import minimised
from fuzz.runner import Failure, Limits, Runner, Tally, plain
from fuzz.target import FAILURES, Target

HERE = Path(__file__).parent
KEPT, REGRESSIONS, RESULTS = HERE / "failures", HERE / "regressions", HERE / "results.json"
PAGE = HERE.parents[1] / "docs" / "fuzzing.md"
BEGIN, END = "<!-- the table of the last large run: make fuzz KEEP=--keep -->", "<!-- end of the table -->"
_MINIMISED = ("raw", "wrong", "crash")  # what hangs or takes all memory takes long to try
_MODULES = ("text_targets", "label_targets", "binary_targets", "record_targets")
_PRELOADED = ("pyarrow.parquet", "openpyxl", "skops.io", "pandas")  # once, and not in each child


def all_targets(modules: Sequence[str] = _MODULES) -> list[Target]:
    """Return the targets that can run here."""
    targets = [target for name in modules for target in importlib.import_module(f"fuzz.{name}").TARGETS]
    return [target for target in targets if not target.missing()]


def preload() -> None:
    """Import what readers import when they are first called."""
    for name in _PRELOADED:
        try:
            importlib.import_module(name)
        except ImportError:
            continue


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; return 1 if a reader breaks the contract."""
    options = _options(arguments)
    targets = all_targets(["planted"] if options.planted else _MODULES)
    preload()
    limits = Limits(options.cpu, options.wall, options.memory * 2**20)
    with Runner(seed=options.seed, processes=options.processes, limits=limits, chunk=options.chunk) as runner:
        if options.again:
            return _again(runner, targets, [Path(one) for one in options.again], options.json)
        chosen = [t for t in targets if not options.words or any(word in t.name for word in options.words)]
        print(_HEAD)
        start = time.monotonic()
        tallies = runner.run(chosen, lambda t: n_inputs(t, options.n), lambda tally: print(_line(tally), flush=True))
        print(f"{sum(tally.n_inputs for tally in tallies.values()):,} inputs, {time.monotonic() - start:.0f} s")
        if not options.no_minimise:
            _keep(runner, {t.name: t for t in chosen}, tallies, options.seconds, Path(options.failures))
    results = {"seed": options.seed, "targets": {name: plain(tally) for name, tally in tallies.items()}}
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    if options.keep:
        kept = kept_figures(results, json.loads(RESULTS.read_text(encoding="utf-8")), [t.name for t in targets])
        RESULTS.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        write_page(PAGE, kept)
    return int(any(tally.failures for tally in tallies.values()))


def n_inputs(target: Target, n: int) -> int:
    """Return how many inputs of a target there are where `n` are asked for."""
    return max(math.ceil(n * target.share), min(n, 20))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("n", nargs="?", type=int, default=1000, help="inputs for each target; slow ones have fewer")
    add("words", nargs="*", help="names of targets, or parts of them")
    add("--seed", type=int, default=0)
    add("--processes", type=int, default=min(os.cpu_count() or 1, 8))
    add("--cpu", type=int, default=5, help="seconds of processor time for an input")
    add("--wall", type=float, default=120.0, help="seconds for an input that uses no processor")
    add("--memory", type=int, default=1024, help="MiB for an input")
    add("--chunk", type=int, default=2000, help="inputs for each child")
    add("--seconds", type=float, default=10.0, help="for making one failure smaller")
    add("--no-minimise", action="store_true", help="keep no failures")
    add("--failures", default=str(KEPT), help="where failures are kept")
    add("--json", help="write all figures there")
    add("--keep", action="store_true", help="write the figures to tests/fuzz/results.json and to docs/fuzzing.md")
    add("--planted", action="store_true", help="the readers with planted faults, to see that they are found")
    add("--again", nargs="+", metavar="FOLDER", help="only what becomes of kept inputs")
    return parser.parse_args(arguments)


def _again(runner: Runner, targets: Sequence[Target], folders: Sequence[Path], out: str | None) -> int:
    """Read kept inputs again: those that fail are printed."""
    by_name = {target.name: target for target in targets}
    outcomes = {}
    for folder in folders:
        target = by_name.get(folder.name.partition("--")[0])
        if target is not None:
            outcome = runner.outcome(target, files_in(folder))
            outcomes[folder.name] = [outcome.kind, outcome.detail]
            print(f"{folder.name}: {outcome.kind}" + (f"\n{outcome.detail}" if outcome.failed else ""))
    if out:
        Path(out).write_text(json.dumps(outcomes, indent=1) + "\n")
    return int(any(kind in FAILURES for kind, _ in outcomes.values()))


def files_in(folder: Path) -> dict[str, bytes]:
    """Return the files of a kept input."""
    inside = folder / "input"
    return {p.relative_to(inside).as_posix(): p.read_bytes() for p in inside.rglob("*") if p.is_file()}


def _keep(runner: Runner, targets: dict[str, Target], tallies: dict[str, Tally], seconds: float, folder: Path) -> None:
    """Make failures smaller, write them down, and say where."""
    for tally in tallies.values():
        for failure in tally.failures:
            place = _kept(runner, targets[tally.target], failure, seconds, folder)
            print(f"\n{tally.target}, input {failure.index}: {failure.outcome.signature}\n  {failure.outcome.detail}")
            print(f"  kept in {place}; once it is mended, move the folder to {REGRESSIONS.name}/")


def _kept(runner: Runner, target: Target, failure: Failure, seconds: float, folder: Path) -> Path:
    files = failure.files
    if failure.outcome.kind in _MINIMISED:
        signature = failure.outcome.signature
        files = minimised(files, lambda some: runner.outcome(target, some).signature == signature, seconds)
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:8]
    place = folder / f"{target.name}--{failure.outcome.kind}-{digest}"
    shutil.rmtree(place, ignore_errors=True)
    for name, content in files.items():
        (place / "input" / name).parent.mkdir(parents=True, exist_ok=True)
        (place / "input" / name).write_bytes(content)
    place.mkdir(parents=True, exist_ok=True)
    about = f"{failure.outcome.signature}\nseed {runner.seed}, input {failure.index}\n\n{failure.outcome.detail}\n"
    (place / "about.txt").write_text(about, encoding="utf-8")
    return place


_COLUMNS = ("inputs", "accepted", "clear", "crash", "hang", "memory", "raw", "wrong")
_HEAD = f"{'target':16}" + "".join(f"{name:>10}" for name in _COLUMNS) + f"{'per s':>8}{'slowest':>9}"


def _line(tally: Tally) -> str:
    counts = [tally.n_inputs, *(tally.counts[name] for name in _COLUMNS[1:])]
    rate = tally.n_inputs / max(tally.cpu_seconds, 1e-9)
    cells = "".join(f"{count:>10,}" for count in counts)
    return f"{tally.target:16}{cells}{rate:>8,.0f}{tally.slowest_ms:>7,.0f} ms" + (" given up" * tally.given_up)


def kept_figures(
    results: Mapping[str, Any], before: Mapping[str, Any], names: Sequence[str]
) -> dict[str, dict[str, int | float]]:
    """Return what the repository keeps of a run: figures by target; those of targets that were not run stay."""
    columns = (*_COLUMNS, "cpu_seconds", "slowest_ms")
    new = {
        target: {"seed": results["seed"]} | {column: found[column] for column in columns}
        for target, found in results["targets"].items()
    }
    merged = {**before, **new}
    return {name: merged[name] for name in names if name in merged}


def table_of(targets: Mapping[str, Any]) -> str:
    """Return the table of the page."""
    heads = (
        "target",
        "seed",
        "inputs",
        "accepted",
        "clear error",
        "crash",
        "hang",
        "memory",
        "raw error",
        "wrong",
        "inputs / s",
    )
    lines = [f"| {' | '.join(heads)} |", "|---" + "|---:" * (len(heads) - 1) + "|"]
    sums = {"seed": ""} | {name: sum(found[name] for found in targets.values()) for name in (*_COLUMNS, "cpu_seconds")}
    for name, found in [*targets.items(), ("**together**", sums)]:
        rate = found["inputs"] / max(found["cpu_seconds"], 0.01)
        cells = [name, str(found["seed"]), *(f"{found[column]:,}" for column in _COLUMNS), f"{rate:,.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def write_page(page: Path, targets: Mapping[str, Any]) -> None:
    """Put the table into the page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    text = f"{before}{BEGIN}\n\n{table_of(targets)}\n\n{END}{after}"
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
