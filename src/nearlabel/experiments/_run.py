"""Run a plan fold by fold, on any number of processes, and save its records."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import cache
from typing import Any, Protocol

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from nearlabel import __version__
from nearlabel.experiments._folds import Fold, as_problems
from nearlabel.experiments._record_lines import Record
from nearlabel.experiments.records import RecordFolder
from nearlabel.neighbors.exact.kernels import kernel_in_use, kernel_levels, kernels_state  # as searches find them
from nearlabel.selection.data import Problem
from nearlabel.utils.messages import Progress, expect, kept_warnings
from nearlabel.utils.naming import modules_found
from nearlabel.utils.progress import hiding_progress, reported
from nearlabel.utils.validation import check_integer


class AnyPlan(Protocol):
    """The interface of plans for `run`: folds, the records of each fold without values, and their values in order."""

    def folds(self, problems: Mapping[str, Problem]) -> Iterator[Fold]:
        """Yield every fold of every problem, in a fixed order."""
        ...

    def settings(self, fold: Fold) -> Iterator[Record]:
        """Yield the records of a fold in their order, still without values."""
        ...

    def values(self, fold: Fold) -> Iterator[Any]:
        """Yield the values of a fold's records, or, for a record without a value, its table: a dict of columns."""
        ...

    def describe(self, problems: Mapping[str, Problem]) -> dict[str, Any]:
        """Return the inputs that determine the records."""
        ...


def run(
    plan: AnyPlan,
    problems: Mapping[str, Any] | Iterable[Any],
    *,
    out: str | os.PathLike[str] | None = None,
    n_workers: int = 1,
    progress: Progress | None = None,
    verbose: int = 1,
) -> list[Record]:
    """Run a plan on problems and return its records.

    Parameters
    ----------
    plan : Plan, SearchPlan or ThresholdPlan
        The plan to run.
    problems : mapping of str to data, or iterable of data
        Data are a `Dataset`, a name in `nearlabel.datasets.catalogue`, a path that `load_dataset` reads, or a pair (X,
        y) of arrays, data frames or sparse matrices. For a pair (training, test) of data this given split is used. A
        list must not contain bare arrays; its data sets have their own names.
    out : str or path, default=None
        Folder for ``plan.json``, ``records.jsonl`` and ``made_with.jsonl``, which has a line for each environment that
        wrote records: versions, machine, level of the kernels. If the folder contains records of the same plan, they
        are reused and only the rest is run; an interruption loses at most the folds in progress. None: nothing is
        written.
    n_workers : int, default=1
        Number of processes. The records and their order do not depend on it.
    progress : callable, default=None
        Function called with the numbers of finished and of all folds, in place of the bar of `verbose`.
    verbose : int, default=1
        1: a run of more than ten seconds shows a bar in a notebook or terminal, elsewhere a few lines. 0: silent.

    Returns
    -------
    list of dict
        Flat records: dataset, seed (None for a given split), fold, method, n_neighbors, metric, value (None where the
        metric is undefined on that fold). Records of a metric that is not in `nearlabel.metrics.CATALOGUE` also have
        greater_is_better. Records of a metric that leaves out labels (or samples) with one class have their number,
        skipped, if there are any in the test part. A record with the metrics of all labels (`Plan.per_label`) has
        per_label as its metric, None as its value, and a table, which `summarise_labels` reads. A record with the label
        sets of all test samples (`Plan.per_row`) has per_row as its metric, and `nearlabel.comparison.compare_rows`
        reads its table.

    Warns
    -----
    UserWarning
        The warnings of the methods, each text once, after all folds are run.

    Raises
    ------
    ValueError
        If `out` contains records of another plan, or of a plan with another object for a name, a data set has too few
        samples or missing values, or `n_workers` is 0.
    TypeError
        If an item is not a data set.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Plan, run
    >>> plan = Plan(methods=("brknn",), n_neighbors=(5, 10), cv=2, metrics=("hamming_loss",))
    >>> records = run(plan, {"multidigits": load_multidigits()})
    >>> [(r["fold"], r["n_neighbors"], r["metric"]) for r in records]
    [(0, 5, 'hamming_loss'), (0, 10, 'hamming_loss'), (1, 5, 'hamming_loss'), (1, 10, 'hamming_loss')]
    """
    if n_workers == 0:
        raise ValueError("n_workers must be a number of processes, or negative to leave some cores free, got 0.")
    shows = check_integer("verbose", verbose, low=0) if progress is None else 0
    data = as_problems(problems)
    folds = list(plan.folds(data))
    opened = nullcontext() if out is None else RecordFolder(out, plan.describe(data))
    with opened as folder, reported("folds", shows) as tell:
        return _run_folds(plan, folds, folder, n_workers, tell if progress is None else progress)


def _run_folds(
    plan: AnyPlan, folds: Sequence[Fold], folder: RecordFolder | None, n_workers: int, progress: Progress
) -> list[Record]:
    settings = (list(plan.settings(fold)) for fold in folds)
    records = [] if folder is None else folder.complete_folds(settings)
    n_known = len({(record["dataset"], record["seed"], record["fold"]) for record in records})
    warned: dict[str, Warning] = {}
    parallel = Parallel(n_jobs=n_workers, batch_size=1, return_as="generator")
    time_left = TimeLeft(folds, effective_n_jobs(n_workers))
    with modules_found(), _closing(parallel(delayed(_run_fold)(plan, fold) for fold in folds[n_known:])) as work:
        for done, (new, kept, environment, seconds) in enumerate(work, start=n_known + 1):
            if folder is not None:
                folder.note(environment)
                folder.append(new)
            records += new
            warned |= {str(warning): warning for warning in kept}
            progress(done, len(folds))
            expect(time_left.seconds_after(done - 1, seconds))
    for warning in warned.values():
        warnings.warn(warning, stacklevel=3)
    return records


@contextmanager
def _closing(work: Any) -> Iterator[Any]:
    """Drop the folds in progress when the caller stops, without joblib's warning."""
    try:
        yield work
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            work.close()


def _run_fold(plan: AnyPlan, fold: Fold) -> tuple[list[Record], list[Warning], dict[str, str], float]:
    """Return the records of a fold, its warnings, the environment and the seconds.

    A worker process would print warnings itself, and may use another level of the kernels than its parent.
    """
    start = time.monotonic()
    with kept_warnings() as kept, hiding_progress():  # of methods with `verbose`; a worker process shows nothing else
        values = list(plan.values(fold))
    seconds = time.monotonic() - start
    records = zip(plan.settings(fold), values, strict=True)
    return [setting | _filled_in(value) for setting, value in records], kept, made_with(), seconds


def _filled_in(value: Any) -> Record:
    return {"value": None, "table": value} if isinstance(value, dict) else {"value": value}


# The remaining time of a run, estimated from the times of its finished folds and the sizes of the data sets.


class TimeLeft:
    """The expected seconds of the folds that are not finished.

    A fold is expected to take as long as the finished folds of its data set took on average. If there are none, its
    time follows from the finished folds of other data sets, in proportion to the sizes: stored values times labels. The
    time of a fold includes all methods.

    Parameters
    ----------
    folds : sequence of Fold
        All folds, in the order in which they are run.
    n_workers : int
        Number of folds that run at a time.
    """

    def __init__(self, folds: Sequence[Fold], n_workers: int) -> None:
        self._datasets = [fold.dataset for fold in folds]
        self._sizes = np.array([_size(fold) for fold in folds], dtype=np.float64)
        self._n_workers = n_workers
        self._seconds: dict[int, float] = {}  # of folds done, by number

    def seconds_after(self, number: int, seconds: float) -> float:
        """Return the remaining seconds after a fold, the last one that is finished, and the seconds that it took."""
        self._seconds[number] = seconds
        left = [self._expected(fold) for fold in range(number + 1, len(self._datasets))]
        return max([sum(left) / self._n_workers, *left])  # a fold is not divided among workers

    def _expected(self, fold: int) -> float:
        alike = [done for done in self._seconds if self._datasets[done] == self._datasets[fold]]
        if alike:
            return float(np.mean([self._seconds[done] for done in alike]))
        done = list(self._seconds)
        return float(sum(self._seconds.values()) * self._sizes[fold] / self._sizes[done].sum())


def _size(fold: Fold) -> float:
    """Return the stored values of the features of a training part times the number of labels."""
    stored = getattr(fold.X, "nnz", fold.X.size)
    return float(stored / fold.X.shape[0] * len(fold.training) * fold.Y.shape[1])


# The environment of a result: versions of Python and libraries, and the compiled kernels of the exact search.


_CORE = ("numpy", "scipy", "scikit-learn")
_OTHERS = (
    *("joblib", "threadpoolctl"),  # of scikit-learn
    *("dask", "distributed", "faiss-cpu", "torch", "usearch"),
    *("lancedb", "qdrant-client", "psycopg", "pgvector"),
    *("pandas", "polars", "pyarrow", "openpyxl"),
    *("fastapi", "prometheus-client", "pydantic", "uvicorn"),
    *("ipython", "matplotlib", "pooch", "rich", "shtab", "skops", "snowballstemmer"),
)
_HINT = "Hint: install a C++ compiler, then nearlabel again."


def show_versions() -> None:
    """Print the environment of nearlabel: system, versions of libraries, and the kernels of the exact search.

    See Also
    --------
    environment : The same as a dict.
    sklearn.show_versions : Also prints the libraries of linear algebra and their threads.

    Examples
    --------
    >>> import nearlabel
    >>> nearlabel.show_versions()  # doctest: +ELLIPSIS
    <BLANKLINE>
    System
    ...
    Kernels
        state: ...
        levels: ...
        in use: ...
    """
    for heading, facts in environment().items():
        print(f"\n{heading}")  # noqa: T201 (as scikit-learn does)
        for name, value in facts.items():
            print(f"    {name}: {value}")  # noqa: T201


def environment() -> dict[str, dict[str, str]]:
    """Return the environment of nearlabel.

    Returns
    -------
    dict of str to dict of str to str
        "System": Python, platform and the number of cores. "Libraries": the version of each, or "not installed" for a
        missing optional one. "Kernels": the state of the compiled library ("built", or the reason why there is none),
        the levels that this processor runs, and the one in use, which `nearlabel.neighbors.kernel_level` or
        NEARLABEL_KERNELS set.

    Examples
    --------
    >>> from nearlabel.experiments import environment
    >>> {heading: list(facts)[0] for heading, facts in environment().items()}
    {'System': 'Python', 'Libraries': 'nearlabel', 'Kernels': 'state'}
    """
    return {
        "System": {
            "Python": " ".join(sys.version.split()),
            "executable": sys.executable,
            "platform": platform.platform(),
            "cores": str(os.cpu_count()),
        },
        "Libraries": {"nearlabel": __version__, **{name: _version(name) for name in (*_CORE, *_OTHERS)}},
        "Kernels": {"state": _state(), "levels": ", ".join(kernel_levels()), "in use": _in_use()},
    }


def made_with() -> dict[str, str]:
    """Return the parts of the environment that results may depend on: versions, machine and level of the kernels.

    Returns
    -------
    dict of str to str
        Versions of nearlabel, Python, numpy, scipy and scikit-learn, system and kind of machine, and "kernels", the
        level of the kernels in use. Neighbours do not depend on it, but the time of a search does.

    Examples
    --------
    >>> from nearlabel.experiments import made_with
    >>> from nearlabel.neighbors import kernel_level
    >>> with kernel_level("off"):
    ...     made_with()["kernels"]
    'off'
    """
    return {
        "nearlabel": __version__,
        "Python": platform.python_version(),
        **{name: _version(name) for name in _CORE},
        "machine": f"{platform.system()} {platform.machine()}",
        "kernels": _in_use(),
    }


@cache
def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _state() -> str:
    """Return the state of the library, and a hint if there is none."""
    state = kernels_state()
    if state == "built":
        return state
    can_be_built = sys.platform in ("linux", "darwin")
    return f"{state}. {_HINT if can_be_built else 'They exist only for Linux and macOS so far.'}"


def _in_use() -> str:
    """Return the level in use, or the error in the environment variable."""
    try:
        return kernel_in_use()
    except ValueError as error:
        return f"none: {error}"
