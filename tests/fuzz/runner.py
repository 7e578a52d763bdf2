"""Run inputs in child processes, so that a reader that crashes, hangs or takes all memory ends none but its child.

The parent imports everything and forks: a child reads thousands of inputs and says after each what became of it. Where
a child dies, the input behind the last one that it spoke of has killed it; a new child goes on behind that one.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import resource
import selectors
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from fuzz.mutation import Files
from fuzz.target import Outcome, Target, outcome_of

MANY_CRASHES, MANY_HANGS = 40, 10  # after which a target is given up
EACH_KEPT = 3  # failures of one cause


@dataclass(frozen=True)
class Limits:
    """What one input may take: seconds of processor time, of waiting, and bytes of memory."""

    cpu_seconds: int = 5
    wall_seconds: float = 120.0
    resident_bytes: int = 2**30  # beside what the process had before
    address_bytes: int = 3 * 2**30  # the same, of addresses: an allocation beyond it fails


@dataclass
class Tally:
    """What became of the inputs of a target."""

    target: str
    counts: Counter[str] = field(default_factory=Counter)
    cpu_seconds: float = 0.0
    slowest_ms: float = 0.0
    failures: list[Failure] = field(default_factory=list)
    given_up: bool = False

    @property
    def n_inputs(self) -> int:
        """How many inputs were read."""
        return sum(self.counts.values())

    def keep(self, failure: Failure) -> None:
        """Keep a failure, unless there are some of the same cause."""
        alike = [one for one in self.failures if one.outcome.signature == failure.outcome.signature]
        if len(alike) < EACH_KEPT:
            self.failures.append(failure)


@dataclass
class Failure:
    """An input that breaks the contract: its number, what happened, and its files, once they are made again."""

    index: int
    outcome: Outcome
    files: Files = field(default_factory=dict)


@dataclass
class _Child:
    """A child process at work on inputs from `next_index` to `stop`."""

    pid: int
    pipe: int
    target: Target
    next_index: int
    stop: int
    heard: float
    buffer: bytes = b""
    stopped: bool = False


class Runner:
    """Runs targets by some processes."""

    def __init__(self, *, seed: int = 0, processes: int = 2, limits: Limits | None = None, chunk: int = 2000) -> None:
        self.seed = seed
        self.processes = processes
        self.limits = limits or Limits()
        self.chunk = chunk
        shared = Path("/dev/shm")  # in memory where there is such a folder: some readers wait for the disk
        self._scratch = Path(tempfile.mkdtemp(prefix="nearlabel-fuzz-", dir=shared if shared.is_dir() else None))

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._scratch, ignore_errors=True)

    def run(
        self, targets: Sequence[Target], n_inputs: Callable[[Target], int], tell: Callable[[Tally], None] | None = None
    ) -> dict[str, Tally]:
        """Read so many inputs of each target, and return what became of them."""
        tallies = {target.name: Tally(target.name) for target in targets}
        left = Counter({target.name: n_inputs(target) for target in targets})
        waiting = [
            (target, start, min(start + self.chunk, n_inputs(target)))
            for target in targets
            for start in range(0, n_inputs(target), self.chunk)
        ]
        waiting.reverse()
        with selectors.DefaultSelector() as selector:
            running: dict[int, _Child] = {}
            while waiting or running:
                while waiting and len(running) < self.processes:
                    target, start, stop = waiting.pop()
                    if tallies[target.name].given_up:
                        continue
                    child = self._started(target, start, stop)
                    running[child.pipe] = child
                    selector.register(child.pipe, selectors.EVENT_READ)
                if not running:
                    continue
                self._hear(selector, running, tallies)
                for pipe in [pipe for pipe, child in running.items() if child.stopped]:
                    child = running.pop(pipe)
                    selector.unregister(pipe)
                    os.close(pipe)
                    tally = tallies[child.target.name]
                    rest = self._buried(child, tally)
                    if rest is not None:
                        waiting.append(rest)
                    elif tell is not None and tally.n_inputs >= left[child.target.name]:
                        tell(tally)
        for target in targets:
            for failure in tallies[target.name].failures:
                failure.files = self.files_of(target, failure.index)
        return tallies

    def _started(self, target: Target, start: int, stop: int) -> _Child:
        ours, theirs = os.pipe()
        pid = _fork()
        if pid == 0:
            os.close(ours)
            _work(target, range(start, stop), self.seed, self._scratch / str(os.getpid()), self.limits, theirs)
        os.close(theirs)
        return _Child(pid, ours, target, start, stop, time.monotonic())

    def _hear(self, selector: selectors.BaseSelector, running: dict[int, _Child], tallies: dict[str, Tally]) -> None:
        """Take down what children say; end those that say nothing for too long."""
        for key, _ in selector.select(timeout=1.0):
            child = running[key.fd]
            said = os.read(key.fd, 2**16)
            child.heard = time.monotonic()
            child.stopped = not said
            *lines, child.buffer = (child.buffer + said).split(b"\n")
            for line in lines:
                _take_down(child, tallies[child.target.name], json.loads(line))
        for child in running.values():
            if time.monotonic() - child.heard > self.limits.wall_seconds:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGXCPU)  # as if it had used up its time

    def _buried(self, child: _Child, tally: Tally) -> tuple[Target, int, int] | None:
        """Note what ended a child; return what is left of its work."""
        _, status, usage = os.wait4(child.pid, 0)
        tally.cpu_seconds += usage.ru_utime + usage.ru_stime
        shutil.rmtree(self._scratch / str(child.pid), ignore_errors=True)
        if child.next_index == child.stop:
            return None
        outcome = _end_of(status)
        if outcome.kind == "crash" and child.target.isolated is not None:
            alone = replace(child.target, read=child.target.isolated)
            outcome = self.outcome(alone, self.files_of(child.target, child.next_index))
        tally.counts[outcome.kind] += 1
        if outcome.failed:
            tally.keep(Failure(child.next_index, outcome))
        tally.given_up = tally.counts["crash"] >= MANY_CRASHES or tally.counts["hang"] >= MANY_HANGS
        if tally.given_up or child.next_index + 1 == child.stop:
            return None
        return child.target, child.next_index + 1, child.stop

    def files_of(self, target: Target, index: int) -> Files:
        """Return the files of an input; a child makes them, since libraries that have threads may make the corpus."""
        folder = self._scratch / "files"
        pid = _fork()
        if pid == 0:
            _leave(lambda: _write(target.input(self.seed, index), folder))
        os.waitpid(pid, 0)
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        shutil.rmtree(folder, ignore_errors=True)
        return files

    def outcome(self, target: Target, files: Files) -> Outcome:
        """Return what becomes of one input, in a child of its own."""
        ours, theirs = os.pipe()
        pid = _fork()
        if pid == 0:
            os.close(ours)
            _work_on(target, files, self._scratch / str(os.getpid()), self.limits, theirs)
        os.close(theirs)
        said = b""
        with contextlib.closing(_timer(pid, self.limits.wall_seconds)) as watch, os.fdopen(ours, "rb") as pipe:
            watch.send(None)
            said = pipe.read()
        _, status = os.waitpid(pid, 0)
        shutil.rmtree(self._scratch / str(pid), ignore_errors=True)
        if not said:
            return _end_of(status)
        _, kind, detail, place, _ = json.loads(said)
        return Outcome(kind, detail, place)


def _timer(pid: int, seconds: float) -> Iterator[None]:
    """End a process after some seconds of waiting, by an alarm of this one."""

    def end(*_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGXCPU)

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _take_down(child: _Child, tally: Tally, said: list[Any]) -> None:
    index, kind, detail, place, milliseconds = said
    tally.counts[kind] += 1
    tally.slowest_ms = max(tally.slowest_ms, milliseconds)
    outcome = Outcome(kind, detail, place)
    if outcome.failed:
        tally.keep(Failure(index, outcome))
    child.next_index = index + 1


def _end_of(status: int) -> Outcome:
    """Return what a child's end says of its last input."""
    if not os.WIFSIGNALED(status):
        return Outcome("crash", f"the process ended with {os.waitstatus_to_exitcode(status)}", "exit")
    number = os.WTERMSIG(status)
    name = signal.Signals(number).name
    if number in (signal.SIGXCPU, signal.SIGALRM):
        return Outcome("hang", "it took longer than it may", "time")
    return Outcome("crash", f"the process was ended by {name}", name)


def _fork() -> int:
    sys.stdout.flush()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads, which none of what was imported has started
        return os.fork()


def _leave(work: Callable[[], None]) -> None:
    """Do the work of a child, and end it without what the parent would do at its end."""
    code = 70
    try:
        work()
        code = 0
    finally:
        os._exit(code)


def _write(files: Files, folder: Path) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _work(target: Target, indices: Iterable[int], seed: int, folder: Path, limits: Limits, pipe: int) -> None:
    """Read inputs one by one, in a child."""
    made = ((index, target.input(seed, index)) for index in indices)
    _leave(lambda: _read_all(target, made, folder, limits, pipe))


def _work_on(target: Target, files: Files, folder: Path, limits: Limits, pipe: int) -> None:
    _leave(lambda: _read_all(target, [(0, files)], folder, limits, pipe))


def _read_all(target: Target, inputs: Iterable[tuple[int, Files]], folder: Path, limits: Limits, pipe: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    for name in (signal.SIGINT, signal.SIGXCPU):
        signal.signal(name, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", UserWarning)
    target.corpus  # made before there are limits  # noqa: B018
    _limit(resource.RLIMIT_AS, _memory("VmSize") + limits.address_bytes)
    before = _fresh_peak()
    for n_done, (index, files) in enumerate(inputs):
        start = time.process_time()
        _limit(resource.RLIMIT_CPU, int(start) + limits.cpu_seconds + 1)
        outcome = outcome_of(target, files, folder / str(index))
        spent = time.process_time() - start
        grown = _peak() - before
        if grown > limits.resident_bytes:
            outcome = Outcome("memory", f"it took {grown // 2**20} MiB ({outcome.kind})", "resident")
            gc.collect()
            before = _fresh_peak()
        shutil.rmtree(folder / str(index), ignore_errors=True)
        line = [index, outcome.kind, outcome.detail, outcome.place, round(1000 * spent, 1)]
        _say(pipe, json.dumps(line).encode() + b"\n")
        if n_done % 500 == 499:
            gc.collect()
            before = max(before, _memory("VmRSS") * 1)


def _say(pipe: int, line: bytes) -> None:
    while line:
        line = line[os.write(pipe, line) :]


def _limit(what: int, soft: int) -> None:
    resource.setrlimit(what, (soft, resource.getrlimit(what)[1]))


def _memory(name: str) -> int:
    """Return a figure of this process in bytes, as Linux tells it; 2**40, which limits nothing, elsewhere."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 2**40
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:")), 2**40)


def _peak() -> int:
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _fresh_peak() -> int:
    """Forget the peak of memory so far, where the system lets us, and return the peak."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def plain(tally: Tally) -> dict[str, Any]:
    """Return a tally as values of JSON."""
    counts = {kind: tally.counts[kind] for kind in ("accepted", "clear", "crash", "hang", "memory", "raw", "wrong")}
    failures = [asdict(one.outcome) | {"index": one.index} for one in tally.failures]
    return {
        "inputs": tally.n_inputs,
        **counts,
        "cpu_seconds": round(tally.cpu_seconds, 2),
        "slowest_ms": tally.slowest_ms,
        "given_up": tally.given_up,
        "failures": failures,
    }
