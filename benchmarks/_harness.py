"""The one timing loop of all benchmarks, their memory measure, their tables and their JSON.

`read_records` and what follows it serve benchmarks of quality: records that a second run goes on with, a JSON object a
line, and the part of a page that is made of them.

A job is measured in a fresh process, once a round: A B C, A B C, ... so that a noisy minute of the machine falls on all
jobs alike. In that process the job's libraries are imported, its data are made and its code is warmed up; only then do
the clocks start and is the peak of memory reset. So a figure is never that of an import, nor of the job before. A short
job is passed several times in each process.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import importlib.metadata
import json
import multiprocessing
import os
import platform
import resource
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from threadpoolctl import threadpool_info

import nearlabel
from nearlabel.neighbors import kernel_levels

RESULTS = Path(__file__).parent / "results"
QUICK_RESULTS = RESULTS.parents[1] / "build" / "benchmarks"
_LIBRARIES = ("numpy", "scipy", "scikit-learn")
_PEERS = (
    "scikit-multilearn-ng", "faiss-cpu", "scikit-learn-intelex", "torch", "dask", "distributed", "lancedb", "river",
    "cleanlab", "libmultilabel", "mlrl-boomer",
)  # fmt: skip
_SECONDS_OF_PASSES, _MOST_PASSES = 1.0, 10
_WARMS_UP = 5.0  # seconds up to which a job is passed twice at least
_MIB = 2.0**20
_BEGIN, _END = "<!-- figures: begin -->\n", "<!-- figures: end -->\n"


class Table(NamedTuple):
    """A table as it is printed, and as `tables.py` writes it into the documentation.

    A row of one cell is a heading.
    """

    title: str
    headers: Sequence[str]
    rows: Sequence[Sequence[Any]]
    notes: Sequence[str] = ()


class Goal(NamedTuple):
    """What a figure should be: at most, or at least, a limit; `found` is None where it was not measured."""

    what: str
    bound: str
    limit: float
    found: float | None

    def verdict(self) -> str:
        """Return whether the goal is reached."""
        if self.found is None:
            return "not measured"
        reached = self.found <= self.limit if self.bound == "at most" else self.found >= self.limit
        return "yes" if reached else "no"


GOAL_HEADERS = ("goal", "bound", "limit", "found", "reached")


@dataclass(frozen=True)
class Job:
    """Something to be measured.

    Parameters
    ----------
    name : str
        Unique among the jobs of one call of `measure`.
    prepare : callable
        A function of a module, not a lambda. Imports, makes the data, warms up; returns the stages to be timed, by
        name. The value of the last stage is the job's answer.
    arguments : tuple
        Of `prepare`.
    """

    name: str
    prepare: Callable[..., Mapping[str, Callable[[], Any]]]
    arguments: tuple[Any, ...] = ()


class Pass(NamedTuple):
    """Seconds of each stage, once."""

    wall: dict[str, float]
    cpu: dict[str, float]


class Sample(NamedTuple):
    """One process of one job: a pass or, of a short job, several."""

    passes: list[Pass]
    peak_mib: float
    answer: Any


@dataclass
class Measurement:
    """All samples of one job."""

    samples: list[Sample] = field(default_factory=list)

    @property
    def answer(self) -> Any:
        """What the job's last stage returned in the first round."""
        return self.samples[0].answer

    def median(self, stage: str | None = None, clock: str = "wall") -> float:
        """Return the median seconds of a stage; None: of all stages together."""
        return statistics.median(self._seconds(stage, clock))

    def minimum(self, stage: str | None = None, clock: str = "wall") -> float:
        """Return the least seconds of a stage; None: of all stages together."""
        return min(self._seconds(stage, clock))

    def peak_mib(self) -> float:
        """Return the median peak of memory, above what was there before the job began."""
        return statistics.median(sample.peak_mib for sample in self.samples)

    @property
    def n_runs(self) -> str:
        """Return the number of processes and of passes in all of them."""
        return f"{len(self.samples)}/{len(self._seconds(None, 'wall'))}"

    def describe(self) -> dict[str, Any]:
        """Return every figure, for the JSON file."""
        stages: list[str | None] = [*self.samples[0].passes[0].wall, None]
        seconds = {
            stage or "total": {
                f"{clock}_{name}": round(value(stage, clock), 5)
                for clock in ("wall", "cpu")
                for name, value in (("median", self.median), ("minimum", self.minimum))
            }
            for stage in stages
        }
        return {"processes/passes": self.n_runs, "seconds": seconds, "peak_mib": round(self.peak_mib(), 1)}

    def _seconds(self, stage: str | None, clock: str) -> list[float]:
        passes = [getattr(one, clock) for sample in self.samples for one in sample.passes]
        return [sum(run.values()) if stage is None else run[stage] for run in passes]


def measure(jobs: Sequence[Job], repeats: int, patience: float = 30.0) -> dict[str, Measurement]:
    """Run all jobs in turn, `repeats` rounds; return the measurements by the jobs' names.

    A job that has used `patience` seconds is not run again; its number of runs tells.
    """
    measured = {job.name: Measurement() for job in jobs}
    for number in range(repeats):
        for job in jobs:
            seen = measured[job.name].samples
            if sum(measured[job.name]._seconds(None, "wall")) >= patience:
                continue
            print(f"round {number + 1} of {repeats}: {job.name}", file=sys.stderr, flush=True)
            seen.append(_in_fresh_process(job))
    return measured


def _in_fresh_process(job: Job) -> Sample:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_sample, job).result()


def _sample(job: Job) -> Sample:
    warnings.simplefilter("ignore")  # competitors warn once a call, which is neither their work nor ours
    stages = job.prepare(*job.arguments)
    gc.collect()
    before = _reset_peak()
    first, answer = _one_pass(stages)
    passes, peak = [first], _peak()  # a second pass would hold what the first one made until its own is made
    while _takes_another(passes):
        passes.append(_one_pass(stages)[0])
    return Sample(passes, peak - before, answer)


def _takes_another(passes: list[Pass]) -> bool:
    """Tell whether to pass again: up to some seconds; of what does not last, a second time, with memory warm."""
    seconds = sum(sum(one.wall.values()) for one in passes)
    return (len(passes) == 1 and seconds < _WARMS_UP) or (seconds < _SECONDS_OF_PASSES and len(passes) < _MOST_PASSES)


def _one_pass(stages: Mapping[str, Callable[[], Any]]) -> tuple[Pass, Any]:
    one, answer = Pass({}, {}), None
    for name, stage in stages.items():
        wall_start, cpu_start = time.perf_counter(), time.process_time()
        answer = stage()
        one.wall[name], one.cpu[name] = time.perf_counter() - wall_start, time.process_time() - cpu_start
    return one, answer


def _reset_peak() -> float:
    """Forget the peak of what was done so far, where the system can (Linux); return the peak as it is now, in MiB."""
    # Elsewhere the job is charged only with what exceeds the peak of the imports and the data.
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def peak_of(stage: Callable[[], Any]) -> float:
    """Run a stage; return by how many MiB memory rose meanwhile."""
    before = _reset_peak()
    stage()
    return _peak() - before


def _peak() -> float:
    """Return this process's peak of resident memory in MiB.

    VmHWM rather than `ru_maxrss` where there is one: the latter starts at what the parent process held.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / _MIB


def show(tables: Iterable[Table], goals: Sequence[Goal] = ()) -> None:
    """Print tables, with their titles and notes, and the goals."""
    for one in tables:
        print(f"\n{one.title}\n\n{text_of(one.headers, one.rows)}")
        for note in one.notes:
            print(note)
    if goals:
        print(f"\n{text_of(GOAL_HEADERS, [(*goal, goal.verdict()) for goal in goals])}")


def text_of(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a plain-text table: the first column to the left, numbers to the right; None is shown as a dash."""
    filled = ([*row, *[""] * (len(headers) - len(row))] for row in rows)
    cells = [list(headers), *([as_text(value) for value in row] for row in filled)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(headers))]
    cells.insert(1, ["-" * width for width in widths])
    return "\n".join(_aligned(row, widths) for row in cells)


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = (
        text.rjust(width) if column else text.ljust(width)
        for column, (text, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join([first, *others]).rstrip()


def as_text(value: Any) -> str:
    """Return a cell as text: three digits, and a dash for None."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"
    return str(value)


def machine_facts() -> dict[str, Any]:
    """Return what the figures depend on: cores, versions, kernels, linear algebra. No names of hosts, no paths."""
    return {
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "architecture": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "python": platform.python_version(),
        "versions": {"nearlabel": nearlabel.__version__} | {name: version_of(name) for name in _LIBRARIES + _PEERS},
        "kernels": list(kernel_levels()),
        "threads": sorted(f"{pool['internal_api']} {pool['num_threads']}" for pool in threadpool_info()),
    }


def _processor() -> str:
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return platform.processor()


def read_records(file: Path) -> list[dict[str, Any]]:
    """Return the records of a file with a JSON object a line; none where there is no file."""
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def write_records(file: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write the records that are kept."""
    file.write_text("".join(json.dumps(record) + "\n" for record in records))


def add_record(file: Path, record: Mapping[str, Any]) -> None:
    """Append a record, so that a run that is stopped loses nothing."""
    with file.open("a") as lines:
        lines.write(json.dumps(record) + "\n")


def write_figures(page: Path, lines: Iterable[str]) -> None:
    """Put lines between the marks of a page."""
    before, _, rest = page.read_text().partition(_BEGIN)
    page.write_text(before + _BEGIN + "".join(lines) + _END + rest.partition(_END)[2])


def lines_of(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the page, of what `save` has written."""
    yield f"Machine: {facts_as_text(content['machine'])}.\n"
    for table in content["tables"]:
        headers = table["headers"]
        yield f"\n**{table['title']}**\n\n| {' | '.join(headers)} |\n|---|{'---:|' * (len(headers) - 1)}\n"
        for first, *others in table["rows"]:
            row = " | ".join((first, *map(as_text, others)))
            yield f"| {row} |\n" if others else f"| **{first}** |{' |' * (len(headers) - 1)}\n"


def figures_of(page: Path) -> str:
    """Return what stands between the marks of a page."""
    return page.read_text().partition(_BEGIN)[2].partition(_END)[0]


def version_of(distribution: str) -> str | None:
    """Return the version of an installed distribution, or None."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def print_facts() -> None:
    """Print the machine facts in one line."""
    print(facts_as_text(machine_facts()))


def facts_as_text(facts: Mapping[str, Any]) -> str:
    """Return the machine facts in one line."""
    versions = ", ".join(f"{name} {version or 'not installed'}" for name, version in facts["versions"].items())
    machine = f"{facts['cores']} cores, {facts['architecture']} ({facts['processor']}), Python {facts['python']}"
    return f"{machine}, {versions}; {_kernels_as_text(facts.get('kernels'))}"


def _kernels_as_text(levels: Sequence[str] | None) -> str:
    """Return which levels of the kernels there were; None: measured before there were kernels."""
    return "before there were kernels" if levels is None else f"kernels: {', '.join(levels)}"


def save(
    options: argparse.Namespace,
    description: str,
    results: Any,
    tables: Sequence[Table] = (),
    goals: Sequence[Goal] = (),
) -> None:
    """Write results, tables, goals and machine facts as JSON.

    Parameters
    ----------
    options : argparse.Namespace
        Of a parser by `parser_for`.
    description : str
        The script's docstring: its first line is the question, the last paragraph says how to run it.
    results : JSON-able
        Every figure.
    tables, goals : sequences
        What was printed.
    """
    question, *text, _ = description.strip().split("\n\n")
    content = {
        "question": question,
        "text": text,
        "command": f"python benchmarks/{Path(sys.argv[0]).name}",
        "rounds": options.repeats,
        "machine": machine_facts(),
        "tables": [one._asdict() for one in tables],
        "goals": [(*goal, goal.verdict()) for goal in goals],
        "results": results,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(content, indent=1) + "\n")


def parser_for(description: str, name: str, repeats: int) -> argparse.ArgumentParser:
    """Return an argument parser with the options that all benchmarks share."""
    parser = _Parser(name, repeats, description=description.splitlines()[0])
    parser.add_argument("--repeats", type=int, help=f"rounds ({repeats}; 1 with --quick)")
    parser.add_argument("--quick", action="store_true", help="small sizes: seconds, for a look")
    parser.add_argument(
        "--out", type=Path, help=f"JSON file (results/{name}.json beside this script; with --quick below build/)"
    )
    return parser


class _Parser(argparse.ArgumentParser):
    """Fills in what depends on ``--quick``."""

    def __init__(self, name: str, repeats: int, **options: Any) -> None:
        super().__init__(**options)
        self._name, self._repeats = name, repeats

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:
        options = super().parse_args(args, namespace)
        folder = QUICK_RESULTS if options.quick else RESULTS
        options.out = options.out or folder / f"{self._name}.json"
        options.repeats = options.repeats or (1 if options.quick else self._repeats)
        return options
