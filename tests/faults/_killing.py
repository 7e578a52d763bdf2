"""Run a piece of work in a process of its own group, kill the group at a chosen moment, and see what is left.

Importing the libraries takes a second and writes nothing, so most kills are of a forked process that has them already;
some are of the command as a user starts it.
"""

from __future__ import annotations

import importlib
import os
import shutil
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from faults._content import content_of

_POLL_SECONDS = 0.0003
_LONGEST_SECONDS = 120.0


class Result(NamedTuple):
    """How a process ended: its exit code (negative: the signal), its seconds, and when it changed files."""

    code: int
    seconds: float
    changes: tuple[float, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """Work that is killed, and what must hold afterwards.

    Parameters
    ----------
    name : str
        As in ``SCENARIOS="fit predict"``.
    prepare : callable
        Writes into a folder what is there before the work.
    work : callable or sequence of str
        What is killed, with the folder as the current one: a function, or arguments of the command ``nearlabel``.
    state_of : callable
        Returns what a user finds in the folder, as a text; raises any error if something is damaged.
        Must not change the folder.
    between : callable, default=None
        Tells, of (state, before, after), whether a state unlike the others is right. None: none is.
    again : bool, default=True
        Whether the work is run again if it was complete already; else only if it was not.
    follow : callable or sequence of str, default=None
        Runs after it.
    swept : bool, default=True
        Whether the work, run again, must remove what the killed one left: all files are as if nothing was killed.
    as_command : bool, default=True
        Whether some kills are of the command as a user starts it.
    timed : sequence of str, default=()
        Files that contain seconds or addresses, and so are never the same twice.
    modules : sequence of str, default=()
        What the work imports: loaded once, before.
    beside : callable, default=nullcontext
        Returns a context that is entered around all: a server, for one.
    """

    name: str
    prepare: Callable[[Path], None]
    work: Callable[[], object] | Sequence[str]
    state_of: Callable[[Path], str]
    between: Callable[[str, str, str], bool] | None = None
    again: bool = True
    follow: Callable[[], object] | Sequence[str] | None = None
    swept: bool = True
    as_command: bool = True
    timed: Sequence[str] = ()
    modules: Sequence[str] = ()
    beside: Callable[[], AbstractContextManager[object]] = nullcontext


@dataclass
class Tally:
    """What happened in the kills of a scenario."""

    name: str
    kills: int = 0
    landed: int = 0
    aimed: int = 0
    commands: int = 0
    before: int = 0
    between: int = 0
    after: int = 0
    leftovers: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)


def kill_often(scenario: Scenario, kills: int, folder: Path, seed: int = 0) -> Tally:
    """Kill the work of a scenario so many times, half of them while it writes, and return what happened.

    `folder` is empty, and is filled with copies of what the scenario prepares.
    """
    own = [] if callable(scenario.work) else [f"nearlabel.cli._{scenario.work[0]}", "skops.io", "rich.table"]
    for module in [*scenario.modules, *own]:
        importlib.import_module(module)
    with scenario.beside():
        return _kill_often(scenario, kills, folder, seed)


def _kill_often(scenario: Scenario, kills: int, folder: Path, seed: int) -> Tally:
    tally, rng, start = Tally(scenario.name), Random(f"{scenario.name} {seed}"), time.monotonic()
    start_folder = _made(folder / "before")
    scenario.prepare(start_folder)
    whole = shutil.copytree(start_folder, folder / "whole")
    references = {False: run(scenario.work, whole)}
    if references[False].code != 0:
        raise RuntimeError(f"{scenario.name} must run, got exit code {references[False].code}:\n{_printed(whole)}")
    states = _state(scenario, start_folder), _state(scenario, whole)
    followed = shutil.copytree(whole, folder / "followed")
    if scenario.follow is not None:
        _run_or_fail(scenario.follow, followed)
    wanted = _state(scenario, followed), _files_in(followed, scenario.timed)
    for number in range(kills):
        trial = shutil.copytree(start_folder, folder / f"trial{number}")
        as_command = scenario.as_command and not callable(scenario.work) and number % 10 == 9
        if as_command and True not in references:
            other = shutil.copytree(start_folder, folder / "command")
            references[True] = run(scenario.work, other, as_command=True)
        moment = _moment(rng, references[as_command], aimed=number % 2 == 1)
        tally.kills, tally.aimed = tally.kills + 1, tally.aimed + (number % 2 == 1)
        tally.commands += as_command
        try:
            _try(scenario, trial, moment, as_command, states, wanted, whole, tally)
        except Exception as error:  # noqa: BLE001 - whatever is wrong is counted
            what = "".join(traceback.format_exception_only(error)).strip()
            tally.failures.append(f"kill {number} (seed {seed}, {moment}): {what}")
        else:
            shutil.rmtree(trial)
    tally.seconds = round(time.monotonic() - start, 1)
    return tally


class Moment(NamedTuple):
    """Seconds after the n-th change of files that are waited for, or after the start if n is 0."""

    n_changes: int
    seconds: float


def _moment(rng: Random, reference: Result, *, aimed: bool) -> Moment:
    """Draw a moment: any, or one while files are written, where all that is dangerous happens."""
    if not aimed or not reference.changes:
        return Moment(0, rng.uniform(0, reference.seconds))
    number = rng.randrange(len(reference.changes))
    until = (*reference.changes, reference.seconds)[number + 1]
    return Moment(number + 1, rng.uniform(0, until - reference.changes[number]))


def _try(
    scenario: Scenario,
    trial: Path,
    moment: Moment,
    as_command: bool,
    states: tuple[str, str],
    wanted: tuple[str, dict[str, str]],
    whole: Path,
    tally: Tally,
) -> None:
    """Kill once, and check everything."""
    before, after = states
    ended = run(scenario.work, trial, kill_at=moment, as_command=as_command)
    if ended.code != 0 and ended.code != -signal.SIGKILL:
        raise AssertionError(f"the work ended with exit code {ended.code}:\n{_printed(trial)}")
    tally.landed += ended.code == -signal.SIGKILL
    state = _state(scenario, trial)
    if state == before:
        tally.before += 1
    elif state == after:
        tally.after += 1
    elif scenario.between is not None and scenario.between(state, before, after):
        tally.between += 1
    else:
        raise AssertionError(f"neither what was there before nor what comes after:\n{state}")
    if ended.code == 0 and state != after:
        raise AssertionError("the work ended well, but its result is not there")
    tally.leftovers += bool(_hidden_in(trial) - _hidden_in(whole))
    if scenario.again or state != after:
        _run_or_fail(scenario.work, trial)
    if scenario.follow is not None:
        _run_or_fail(scenario.follow, trial)
    final = _state(scenario, trial)
    if final != wanted[0]:
        raise AssertionError(f"the next run ended in another state:\n{final}")
    if scenario.swept:
        left = _files_in(trial, scenario.timed)
        different = sorted(name for name in {*left, *wanted[1]} if left.get(name) != wanted[1].get(name))
        if different:
            raise AssertionError(f"the next run left other files: {', '.join(different)}")


def _state(scenario: Scenario, folder: Path) -> str:
    """Return what a user finds, by a process of its own: some libraries start threads, which no fork survives."""
    answer = folder.with_name(f"{folder.name}.state")
    ended = run(lambda: answer.write_text(scenario.state_of(folder)), folder)
    if ended.code != 0:
        raise AssertionError(f"what is there cannot be read, exit code {ended.code}:\n{_printed(folder)}")
    return answer.read_text()


def _run_or_fail(work: Callable[[], object] | Sequence[str], folder: Path) -> None:
    ended = run(work, folder)
    if ended.code != 0:
        raise AssertionError(f"the next run ended with exit code {ended.code}:\n{_printed(folder)}")


def run(
    work: Callable[[], object] | Sequence[str],
    folder: Path,
    *,
    kill_at: Moment | None = None,
    as_command: bool = False,
) -> Result:
    """Run some work in a folder, watch the files, and kill the whole group of processes at a moment."""
    start = time.monotonic()
    pid = _started(work, folder) if as_command else _forked(work, folder)
    known, changes, code = _signature(folder), [], None
    deadline = None if kill_at is None or kill_at.n_changes else start + kill_at.seconds
    while code is None:
        done, status = os.waitpid(pid, os.WNOHANG)
        now = time.monotonic()
        if done:
            code = os.waitstatus_to_exitcode(status)
        elif (deadline is not None and now >= deadline) or now - start > _LONGEST_SECONDS:
            os.killpg(pid, signal.SIGKILL)
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        else:
            present = _signature(folder)
            if present != known:
                known = present
                changes.append(now - start)
                if kill_at is not None and len(changes) == kill_at.n_changes:
                    deadline = now + kill_at.seconds
            time.sleep(_POLL_SECONDS)
    _end_group(pid)
    return Result(code, time.monotonic() - start, tuple(changes))


def _forked(work: Callable[[], object] | Sequence[str], folder: Path) -> int:
    """Start the work in a child that has imported all already."""
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        _wait_for_group(pid)
        return pid
    code = 70
    try:
        os.setsid()
        os.chdir(folder)
        descriptor = os.open(_log_of(folder), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for stream in (1, 2):
            os.dup2(descriptor, stream)
        code = _done(work)
    except SystemExit as stop:
        code = int(stop.code or 0)
    except BaseException:  # noqa: BLE001 - the child must not go on as its parent
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _done(work: Callable[[], object] | Sequence[str]) -> int:
    if callable(work):
        work()
        return 0
    from nearlabel import cli

    return cli.main(list(work))


def _started(work: Callable[[], object] | Sequence[str], folder: Path) -> int:
    """Start the command as a user does."""
    assert not callable(work)
    command = [sys.executable, "-m", "nearlabel", *work]
    with _log_of(folder).open("ab") as log:
        # It is waited for by its number: the object is not needed, and must not warn that it still runs.
        process = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, start_new_session=True)
    process.returncode = 0
    return process.pid


def _wait_for_group(pid: int) -> None:
    """Wait until a child leads a group of its own: before, there is none to be killed."""
    while os.getpgid(pid) != pid:
        time.sleep(_POLL_SECONDS / 3)


def _end_group(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


def _log_of(folder: Path) -> Path:
    """Return where the output goes: beside the folder, which is compared."""
    return folder.with_name(f"{folder.name}.log")


def _printed(folder: Path) -> str:
    return _log_of(folder).read_text(errors="replace")[-2000:]


def _signature(folder: Path) -> list[tuple[str, int, int]]:
    """Return names, sizes and inodes of all that is in a folder: what changes when somebody writes."""
    found = []
    folders = [str(folder)]
    while folders:
        with suppress(FileNotFoundError), os.scandir(folders.pop()) as entries:  # they may go meanwhile
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                found.append((entry.path, status.st_size, status.st_ino))
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
    return sorted(found)


def _files_in(folder: Path, timed: Sequence[str]) -> dict[str, str]:
    """Return the content of each file by its name."""
    paths = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*"))}
    return {name: content_of(path) if path.is_file() and name not in timed else "" for name, path in paths.items()}


def _hidden_in(folder: Path) -> set[str]:
    """Return what users are not meant to see."""
    return {str(path.relative_to(folder)) for path in folder.rglob(".*")}


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder
