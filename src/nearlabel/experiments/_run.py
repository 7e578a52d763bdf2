"""Run a plan: one search per fold serves every method and every number of neighbours."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from nearlabel._typing import Matrix
from nearlabel.experiments._methods import make_method
from nearlabel.experiments._plan import EMPTY_PREDICTIONS, Fold, Plan, Problem
from nearlabel.experiments._records import Record, RecordFolder
from nearlabel.experiments._scaling import scale_features
from nearlabel.metrics import get_metric, score_all
from nearlabel.neighbors import ExactNeighbors, PrecomputedNeighbors

Progress = Callable[[int, int], None]


def run(
    plan: Plan,
    problems: Mapping[str, Problem],
    *,
    out: str | os.PathLike[str] | None = None,
    n_workers: int = 1,
    progress: Progress | None = None,
) -> list[Record]:
    """Run a plan on problems and return its records.

    Parameters
    ----------
    plan : Plan
        What to run.
    problems : mapping of str to Dataset, or to a pair (training, test) of them
        A pair is run on its given split.
    out : str or path, default=None
        Folder for ``plan.json`` and ``records.jsonl``. If it holds records of the same plan, they are kept and the rest
        is run; an interruption loses at most the folds in work. None: nothing is written.
    n_workers : int, default=1
        Processes. Records and their order do not depend on it.
    progress : callable, default=None
        Called with the number of folds done and of all folds.

    Returns
    -------
    list of dict
        Flat records: dataset, seed (None for a given split), fold, method, n_neighbors, metric, value (None where the
        measure is undefined on that fold).

    Raises
    ------
    ValueError
        If `out` holds records of another plan, a problem has too few rows or missing values, or `n_workers` is 0.

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
    folds = list(plan.folds(problems))
    with nullcontext() if out is None else RecordFolder(out, plan.describe(problems)) as folder:
        return _run_folds(plan, folds, folder, n_workers, progress)


def _run_folds(
    plan: Plan, folds: Sequence[Fold], folder: RecordFolder | None, n_workers: int, progress: Progress | None
) -> list[Record]:
    settings = (list(_settings(plan, fold)) for fold in folds)
    records = [] if folder is None else folder.complete_folds(settings)
    n_known = len(records) // (len(plan.methods) * len(plan.n_neighbors) * len(plan.metrics))
    parallel = Parallel(n_jobs=n_workers, batch_size=1, return_as="generator")
    with _closing(parallel(delayed(_run_fold)(plan, fold) for fold in folds[n_known:])) as work:
        for done, new in enumerate(work, start=n_known + 1):
            if folder is not None:
                folder.append(new)
            records += new
            if progress is not None:
                progress(done, len(folds))
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


def _run_fold(plan: Plan, fold: Fold) -> list[Record]:
    X, X_test = scale_features(plan.scale, fold.X[fold.training], fold.X[fold.test])
    Y, Y_test = fold.Y[fold.training], fold.Y[fold.test]
    neighbors = PrecomputedNeighbors.from_search(
        ExactNeighbors(), X, X_test, n_neighbors=min(max(plan.n_neighbors) + 1, X.shape[0] - 1), check_rows=False
    )
    values = [
        value
        for method in plan.methods
        for k in plan.n_neighbors
        for value in _measure(plan, make_method(method, k, neighbors).fit(X, Y), X_test, Y_test)
    ]
    return [setting | {"value": value} for setting, value in zip(_settings(plan, fold), values, strict=True)]


def _settings(plan: Plan, fold: Fold) -> Iterator[Record]:
    """Yield the records of a fold in their order, still without values."""
    for method in plan.methods:
        for k in plan.n_neighbors:
            for metric in plan.metrics:
                yield fold.label() | {"method": method, "n_neighbors": k, "metric": metric}


def _measure(plan: Plan, model: Any, X: Matrix, Y: Matrix) -> Iterator[float | None]:
    """Yield each metric of the plan, in its order, on the test part of a fold; None where it is undefined."""
    measures = [name for name in plan.metrics if name != EMPTY_PREDICTIONS]
    needs = {get_metric(name).needs for name in measures}
    labels = model.predict(X)
    scores = model.predict_proba(X) if "score" in needs else None
    values = score_all(Y, labels, scores, measures)
    if EMPTY_PREDICTIONS in plan.metrics:
        values[EMPTY_PREDICTIONS] = float(np.mean(np.asarray(labels.sum(axis=1)) == 0))
    for name in plan.metrics:
        yield values[name] if np.isfinite(values[name]) else None
