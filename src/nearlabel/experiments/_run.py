"""Run a plan fold by fold, on any number of processes, and keep its records."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Protocol

from joblib import Parallel, delayed, effective_n_jobs

from nearlabel.environment import made_with
from nearlabel.experiments._folds import Fold, Problem
from nearlabel.experiments._problems import as_problems
from nearlabel.experiments._time_left import TimeLeft
from nearlabel.experiments.records import Record, RecordFolder
from nearlabel.utils.notes import kept_warnings
from nearlabel.utils.progress import Progress, expect


class AnyPlan(Protocol):
    """What `run` takes: folds, the records of each without values, and their values in the same order."""

    def folds(self, problems: Mapping[str, Problem]) -> Iterator[Fold]:
        """Yield every fold of every problem, in a fixed order."""
        ...

    def settings(self, fold: Fold) -> Iterator[Record]:
        """Yield the records of a fold in their order, still without values."""
        ...

    def values(self, fold: Fold) -> Iterator[Any]:
        """Yield the values of a fold's records, or, of a record without value, a table: a dict of columns."""
        ...

    def describe(self, problems: Mapping[str, Problem]) -> dict[str, Any]:
        """Return what decides the records."""
        ...


def run(
    plan: AnyPlan,
    problems: Mapping[str, Any] | Iterable[Any],
    *,
    out: str | os.PathLike[str] | None = None,
    n_workers: int = 1,
    progress: Progress | None = None,
) -> list[Record]:
    """Run a plan on problems and return its records.

    Parameters
    ----------
    plan : Plan, SearchPlan or ThresholdPlan
        What to run.
    problems : mapping of str to data, or iterable of data
        Data are a `Dataset`, a name of `nearlabel.datasets.catalogue`, a path that `load_dataset` reads, or a pair
        (X, y) of arrays, data frames or sparse matrices. A pair (training, test) of data is run on this given split. In
        a list, which can have no bare arrays, data sets are called by their own names.
    out : str or path, default=None
        Folder for ``plan.json``, ``records.jsonl`` and ``made_with.jsonl``, which has a line for each environment that
        made some of the records: versions, machine, level of the kernels. If the folder contains records of the same
        plan, they are kept and the rest is run; an interruption loses at most the folds that are running. None: nothing
        is written.
    n_workers : int, default=1
        Processes. Records and their order do not depend on it.
    progress : callable, default=None
        Called with the number of folds done and of all folds.

    Returns
    -------
    list of dict
        Flat records: dataset, seed (None for a given split), fold, method, n_neighbors, metric, value (None where the
        metric is undefined on that fold). Those of a metric that is not in `nearlabel.metrics.CATALOGUE` have
        greater_is_better, too, and those of one that leaves out labels (or rows) of one class say how many, skipped,
        where there are some in the test part. One with a table of all labels (`Plan.per_label`) has per_label as its
        metric, None as its value, and table, which `summarise_labels` reads; one with the label sets of all test rows
        (`Plan.per_row`) likewise per_row, and `nearlabel.comparison.compare_rows` reads it.

    Warns
    -----
    UserWarning
        What the methods warned of, each sentence once, when all folds are run.

    Raises
    ------
    ValueError
        If `out` holds records of another plan, or of one where a name stood for another object, a data set has too few
        samples or missing values, or `n_workers` is 0.
    TypeError
        If something is no data set.

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
    data = as_problems(problems)
    folds = list(plan.folds(data))
    with nullcontext() if out is None else RecordFolder(out, plan.describe(data)) as folder:
        return _run_folds(plan, folds, folder, n_workers, progress)


def _run_folds(
    plan: AnyPlan, folds: Sequence[Fold], folder: RecordFolder | None, n_workers: int, progress: Progress | None
) -> list[Record]:
    settings = (list(plan.settings(fold)) for fold in folds)
    records = [] if folder is None else folder.complete_folds(settings)
    n_known = len({(record["dataset"], record["seed"], record["fold"]) for record in records})
    warned: dict[str, Warning] = {}
    parallel = Parallel(n_jobs=n_workers, batch_size=1, return_as="generator")
    time_left = TimeLeft(folds, effective_n_jobs(n_workers))
    with _closing(parallel(delayed(_run_fold)(plan, fold) for fold in folds[n_known:])) as work:
        for done, (new, kept, environment, seconds) in enumerate(work, start=n_known + 1):
            if folder is not None:
                folder.note(environment)
                folder.append(new)
            records += new
            warned |= {str(warning): warning for warning in kept}
            if progress is not None:
                progress(done, len(folds))
            expect(time_left.seconds_after(done - 1, seconds))
    for warning in warned.values():
        warnings.warn(warning, stacklevel=3)
    return records


@contextmanager
def _closing(work: Any) -> Iterator[Any]:
    """Drop the folds in work when the caller stops, without joblib's warning that it does so."""
    try:
        yield work
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            work.close()


def _run_fold(plan: AnyPlan, fold: Fold) -> tuple[list[Record], list[Warning], dict[str, str], float]:
    """Return the records of a fold, what was warned of, the environment and the seconds.

    A process would print warnings in its own way, and may use another level of the kernels than the one that asks it.
    """
    start = time.monotonic()
    with kept_warnings() as kept:
        values = list(plan.values(fold))
    seconds = time.monotonic() - start
    records = zip(plan.settings(fold), values, strict=True)
    return [setting | _filled_in(value) for setting, value in records], kept, made_with(), seconds


def _filled_in(value: Any) -> Record:
    return {"value": None, "table": value} if isinstance(value, dict) else {"value": value}
