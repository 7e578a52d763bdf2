"""Does a process that serves for ten minutes answer correctly, quickly, and without growing?

Three threads of one process: one predicts single rows, one explains them, one copies the model, replaces ten of its
rows in the copy (`partial_fit`, `forget`), and puts the copy in the model's place. There are eight versions of the
rows, in turns. Each answer is compared, bit for bit, with that of a model which was fitted to the rows of its version.
Threads pause after each call, as long for both libraries.

Beside it the same load on scikit-learn's `KNeighborsClassifier`, which has no update and no explanation: there the
update is a fit to the new rows, and the explanation the neighbours and their label sets. Both take turns, half a minute
each. Memory, descriptors and threads of the process are noted after each turn.

Run: ``python benchmarks/load.py``; ``--seconds`` for the duration of both together; ``--quick`` for half a minute. It
also writes the figures of ``docs/faults.md``.
"""

from __future__ import annotations

import copy
import json
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from _harness import Goal, Table, lines_of, parser_for, print_facts, save, show, write_figures
from nearlabel.lazy import MLkNN

PAGE = Path(__file__).parents[1] / "docs" / "faults.md"
N_ROWS, N_FEATURES, N_LABELS, N_NEIGHBORS = 5_000, 40, 10, 10
N_CHANGED, N_VERSIONS, N_QUERIES = 10, 8, 64
PAUSES = {"predict": 0.002, "explain": 0.02, "update": 0.2}  # seconds after each call
SECONDS, QUICK_SECONDS, TURN = 600.0, 30.0, 30.0
WARMED_UP = 4  # turns, after which memory should not grow


class Data(NamedTuple):
    """Rows that stay, rows that are replaced, of each version, and queries."""

    X: Any
    Y: Any
    changed: list[tuple[Any, Any]]
    queries: Any

    def rows_of(self, version: int) -> tuple[Any, Any]:
        """Return the samples of a version; those that change are the last ones."""
        X, Y = self.changed[version]
        return np.vstack([self.X, X]), np.vstack([self.Y, Y])


def make_data() -> Data:
    """Return clustered rows, whose labels depend on them."""
    rng = np.random.default_rng(0)
    n = N_ROWS + N_CHANGED * N_VERSIONS + N_QUERIES
    X = rng.normal(size=(100, N_FEATURES))[rng.integers(0, 100, n)] + 0.5 * rng.normal(size=(n, N_FEATURES))
    Y = (X[:, :N_LABELS] > 0.5).astype(np.uint8)
    parts = np.split(np.arange(n), np.cumsum([N_ROWS, *[N_CHANGED] * N_VERSIONS]))
    changed = [(X[part], Y[part]) for part in parts[1:-1]]
    return Data(X[parts[0]], Y[parts[0]], changed, X[parts[-1]])


class Service(ABC):
    """A model that is used and replaced; what each version must answer; seconds of each call."""

    name = ""

    def __init__(self, data: Data) -> None:
        self.data = data
        self.expected = [self._answers(self.fitted(version)) for version in range(N_VERSIONS)]
        self.current = (self.fitted(0), 0)  # replaced as one, so that a thread never sees a part
        self.seconds: dict[str, list[float]] = {what: [] for what in PAUSES}
        self.wrong = 0
        self.errors: list[str] = []

    @abstractmethod
    def fitted(self, version: int) -> Any:
        """Return a model that is fitted to the rows of a version."""

    @abstractmethod
    def updated(self, model: Any, version: int) -> Any:
        """Return a model of the next version, without a change of this one."""

    @abstractmethod
    def answer(self, model: Any, query: Any) -> Any:
        """Return scores of a row."""

    @abstractmethod
    def reasons(self, model: Any, query: Any) -> Any:
        """Return the neighbours of a row that explain its answer."""

    def _answers(self, model: Any) -> list[tuple[Any, Any]]:
        queries = [self.data.queries[[row]] for row in range(N_QUERIES)]
        return [(self.answer(model, query), self.reasons(model, query)) for query in queries]

    def use(self, what: str, number: int) -> None:
        """Make a call, note its seconds and whether its answer is right."""
        model, version = self.current
        if what == "update":
            start = time.perf_counter()
            self.current = (self.updated(model, version), (version + 1) % N_VERSIONS)
            self.seconds[what].append(time.perf_counter() - start)
            return
        row = number % N_QUERIES
        query, ask = self.data.queries[[row]], self.answer if what == "predict" else self.reasons
        start = time.perf_counter()
        found = ask(model, query)
        self.seconds[what].append(time.perf_counter() - start)
        self.wrong += not np.array_equal(found, self.expected[version][row][what == "explain"])


class OfNearlabel(Service):
    """ML-kNN."""

    name = "nearlabel, ML-kNN"

    def fitted(self, version: int) -> Any:
        """Return a model that is fitted to the rows of a version."""
        return MLkNN(N_NEIGHBORS).fit(*self.data.rows_of(version))

    def updated(self, model: Any, version: int) -> Any:
        """Return a copy with other rows."""
        other = copy.deepcopy(model)
        other.partial_fit(*self.data.changed[(version + 1) % N_VERSIONS])
        return other.forget(range(N_ROWS, N_ROWS + N_CHANGED))

    def answer(self, model: Any, query: Any) -> Any:
        """Return scores of a row."""
        return model.predict_proba(query)

    def reasons(self, model: Any, query: Any) -> Any:
        """Return the neighbours and the scores of an explanation."""
        (explanation,) = model.explain(query)
        return np.concatenate([explanation.neighbors["row"], explanation.labels["score"]])


class OfScikitLearn(Service):
    """The neighbour model of scikit-learn."""

    name = "scikit-learn, KNeighborsClassifier"

    def fitted(self, version: int) -> Any:
        """Return a model that is fitted to the rows of a version."""
        return KNeighborsClassifier(N_NEIGHBORS).fit(*self.data.rows_of(version))

    def updated(self, model: Any, version: int) -> Any:
        """Return another model, which is fitted to all rows."""
        return self.fitted((version + 1) % N_VERSIONS)

    def answer(self, model: Any, query: Any) -> Any:
        """Return scores of a row."""
        return np.array([of_label[:, -1] for of_label in model.predict_proba(query)])

    def reasons(self, model: Any, query: Any) -> Any:
        """Return the neighbours and their label sets."""
        nearest = model.kneighbors(query, return_distance=False)[0]
        return np.concatenate([nearest, model._y[nearest].ravel()])


class State(NamedTuple):
    """What the process has."""

    mib: float
    descriptors: int
    threads: int


def state() -> State:
    """Return resident memory, open descriptors and threads of this process, as Linux counts them."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    n_open = sum(1 for _ in Path("/proc/self/fd").iterdir())
    return State(int(fields["VmRSS"].split()[0]) / 1024, n_open, int(fields["Threads"]))


def serve(service: Service, seconds: float) -> None:
    """Use a service from one thread for each kind of call."""
    until = time.perf_counter() + seconds

    def repeat(what: str) -> None:
        number = len(service.seconds[what])
        try:
            while time.perf_counter() < until:
                service.use(what, number)
                number += 1
                time.sleep(PAUSES[what])
        except Exception as error:  # noqa: BLE001 - whatever it is, it is counted, and the others go on
            service.errors.append(f"{what}: {type(error).__name__}: {error}")

    threads = [threading.Thread(target=repeat, args=(what,)) for what in PAUSES]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def row_of(name: str, what: str, seconds: Sequence[float]) -> list[Any]:
    """Return the number of calls and milliseconds at three places of their order."""
    found = 1000 * np.quantile(seconds, [0.5, 0.99, 1.0])
    return [f"{name}: {what}", len(seconds), *(float(f"{value:.3g}") for value in found)]


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve, print, and write the page."""
    parser = parser_for(__doc__, "load", repeats=1)
    parser.add_argument("--seconds", type=float, help=f"duration; default: {SECONDS:.0f}")
    options = parser.parse_args(arguments)
    seconds = options.seconds or (QUICK_SECONDS if options.quick else SECONDS)
    print_facts()
    services = [kind(make_data()) for kind in (OfNearlabel, OfScikitLearn)]
    turn = min(TURN, seconds / 4)
    states: dict[str, list[State]] = {service.name: [] for service in services}
    loads = [os.getloadavg()[0]]
    for _ in range(round(seconds / (2 * turn))):
        for service in services:
            serve(service, turn)
            states[service.name].append(state())
        loads.append(os.getloadavg()[0])

    calls = [row_of(service.name, what, of) for service in services for what, of in service.seconds.items()]
    turns = [
        [service.name, *(f"{one[field]:.0f}" for field in range(3) for one in (states[service.name][0], last))]
        for service in services
        for last in [states[service.name][-1]]
    ]
    all_states = [one for pair in zip(*states.values(), strict=True) for one in pair]
    settled = all_states[min(WARMED_UP, len(all_states) // 2) :]
    counts = [[service.name, sum(map(len, service.seconds.values())), service.wrong, len(service.errors)]
              for service in services]  # fmt: skip
    tables = [
        Table("Milliseconds of a call", ("", "calls", "p50", "p99", "max"), calls),
        Table("Answers", ("", "calls", "wrong", "errors"), counts),
        Table(
            "The process after the first and the last turn",
            ("", "MiB", "MiB, last", "descriptors", "last", "threads", "last"),
            turns,
        ),
        Table(
            "The machine",
            ("", "least", "most"),
            [["tasks that want a processor, mean of a minute", round(min(loads), 1), round(max(loads), 1)]],
        ),
    ]
    mine = services[0]
    goals = [
        Goal("wrong answers and errors", "at most", 0, mine.wrong + len(mine.errors)),
        Goal("MiB, most after warming up: times the first", "at most", 1.1,
             round(max(one.mib for one in settled) / settled[0].mib, 3)),
        Goal("descriptors, last less first", "at most", 0, all_states[-1].descriptors - all_states[0].descriptors),
        Goal("threads, last less first", "at most", 0, all_states[-1].threads - all_states[0].threads),
    ]  # fmt: skip
    show(tables, goals)
    for service in services:
        for error in service.errors:
            print(f"{service.name}: {error}")
    results = {
        "seconds": seconds,
        "load": [round(load, 1) for load in loads],
        "states": {name: [one._asdict() for one in of] for name, of in states.items()},
    }
    save(options, __doc__ or "", results, tables, goals)
    if not options.quick:
        write_figures(PAGE, lines_of(json.loads(options.out.read_text())))


if __name__ == "__main__":
    main()
