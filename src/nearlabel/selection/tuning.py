"""A model selected among many on held-out samples, and evaluated by nested cross-validation."""

from __future__ import annotations

import os
import signal
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from multiprocessing import get_all_start_methods, get_context, get_start_method, set_start_method
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from nearlabel import __version__
from nearlabel.datasets import Dataset
from nearlabel.models.selector import Budget
from nearlabel.preprocessing import CLIP, SCALES, OutOfRange, check_out_of_range
from nearlabel.selection._grid import LOO, Fitting, Grid, Samples, drawn
from nearlabel.selection.candidates import EXACT, Attempt, Step, read_attempt, write_attempt
from nearlabel.selection.data import as_dataset, check_impute, check_matrices, problem_digest
from nearlabel.selection.guests import by_name, check_searches, describe_object, read_metric
from nearlabel.selection.methods import check_takes_unknown
from nearlabel.selection.specs import LEADERBOARD_METHODS, make_search
from nearlabel.selection.stages import SizeOf, Stages, Tuned, jobs_left, tuned_of
from nearlabel.utils.messages import Progress, is_asked_to_stop, unheard
from nearlabel.utils.naming import modules_found
from nearlabel.utils.progress import hiding_progress, reported
from nearlabel.utils.validation import check_choice, check_integer, check_positive, each_once

_SAMPLES_SHARE = 1 / 3  # share of a time limit
_SAVED_EVERY, _POLLED_EVERY = 5.0, 0.2  # seconds


@dataclass(frozen=True)
class Tuning:
    """Model selection: the candidates, and how they are evaluated.

    For each scaling, one search is enough for all methods and numbers of neighbours (one per fold, if samples are held
    out by folds). Thresholds are tuned on scores of held-out samples, and evaluated on other samples.

    Parameters
    ----------
    methods : tuple of str or estimator, or mapping of str to them, default=LEADERBOARD_METHODS
        As in `Plan`, tried in this order: put cheap methods first if time is limited.
    n_neighbors : int or tuple of int, default=30
        An int: all numbers from 1 up to it, or as many as the samples allow; for methods that need a fit for each
        number, three of these at equal distances. A tuple: these numbers.
    scales : tuple of str, default=("none",)
        Scalings of the features: "none", "minmax", "standard", "tfidf".
    searches : tuple of str or search, or mapping of str to them, default=("exact",)
        Searches as `make_search` accepts them, for methods that share a search. A search that is not nearlabel's own
        must pass `nearlabel.testing.check_search`.
    metric : str, callable or Metric, default="micro_f1"
        Metric to optimise: any value that `nearlabel.metrics.get_metric` accepts. A metric that is not nearlabel's
        own must pass `nearlabel.testing.check_metric`.
    cv : "loo" or int, default="loo"
        "loo": leave-one-out, and five shuffled folds for methods without leave-one-out predictions. An int: that many
        shuffled folds for every method.
    impute : {None, "mean", "median", "most_frequent"}, default=None
        What takes the place of missing features, as in `Plan`.
    without_copies : bool, default=False
        Whether `Tuned.scores` also contains the metrics of the best candidate without exact copies, under names that
        end with "_without_copies"; not for data with groups. With leave-one-out each sample is predicted without the
        samples equal to it, and samples with very many copies are left out of these metrics. With folds only samples
        without a copy in another fold are evaluated, with the same predictions. Leave-one-out then searches a few more
        neighbours, so an approximate search may find different ones.
    time_limit : float, default=None
        Time limit in seconds. Candidates that are not tried by then are left out, and a running fit is stopped. The
        work runs in a separate process, so methods, searches and metric must be picklable. None: no limit.
    sample_rows : int, default=None
        Size of a random sample, which is drawn if there are at least three times as many rows. Every line (method,
        scaling, search) is first tried on the random sample, within a third of the time limit. The better half of the
        lines, and always the best of both kinds (neighbour-based or not), are then tried on all rows, best first. None:
        no random sample.
    size_of : callable, default=None
        Function called with a fitted model of each line; returns its size in bytes, or None if unknown. None: costs,
        which need one more fit for each line, are not measured.
    one_scaling : bool, default=False
        Whether methods around the same single-label classifier (not neighbour-based ones) are tried with one scaling
        only: the one that is best for the first of them.
    out_of_range : {"clip", "keep"} or float, default="clip"
        What happens to numbers and dates outside the range of the training samples, as in `Candidate`. With folds,
        held-out samples may be outside.
    mix : bool, default=False
        Whether the best candidates of different families with tuned thresholds are mixed at the end: votes, and each
        other class of methods. Costs next to nothing: their scores are known. Then `Tuned.best` is the mixture if it is
        better.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown, a number is out of range, or an object fails a check of `nearlabel.testing`.
    ImportError
        If a search needs a library that is not installed.

    Notes
    -----
    `Tuned.scores` are computed as follows. Each of five parts of the samples (or each fold) is predicted by the
    candidate that is best on the other parts, with thresholds tuned on the other parts. A part still has some influence
    on the selection that is evaluated on it:

    1. While candidates are compared on another part, its samples are among those on which thresholds are tuned.
    2. With leave-one-out, its samples are among the neighbours of the other parts' samples.
    3. With leave-one-out, imputation, scaling and encoding are fitted to all samples.
    4. With `sample_rows`, its samples are among those on which half of the lines are dropped.

    Lines that must give the same result as another one are left out: scalings that give the same features, the cosine
    distance if all samples have norm 1, and forests, which depend on the order of values only, with all but one of the
    scalings that preserve it.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Tuning
    >>> tuned = Tuning(("brknn", "mlknn", "mlknn@micro-f"), n_neighbors=(3, 9)).run(load_multidigits())
    >>> tuned.best.method, tuned.best.n_neighbors, round(tuned.trials[0].value, 3), round(tuned.scores["micro_f1"], 3)
    ('mlknn@micro-f', 9, 0.704, 0.704)
    """

    methods: Any = LEADERBOARD_METHODS  # __post_init__ makes it a dict: the method of each name
    n_neighbors: int | tuple[int, ...] = 30
    scales: tuple[str, ...] = ("none",)
    searches: Any = (EXACT,)  # as for methods
    metric: Any = "micro_f1"  # a Metric after __post_init__
    cv: str | int = LOO
    impute: str | None = None
    without_copies: bool = False
    time_limit: float | None = None
    sample_rows: int | None = None
    size_of: SizeOf | None = None
    one_scaling: bool = False
    out_of_range: OutOfRange = CLIP
    mix: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "methods", by_name("methods", self.methods))
        object.__setattr__(self, "scales", each_once("scales", self.scales))
        object.__setattr__(self, "searches", by_name("searches", self.searches))
        object.__setattr__(self, "metric", read_metric(None, self.metric))
        for name, spec in self._grid.specs.items():
            spec.check(name)
        for scale in self.scales:
            check_choice("scale", scale, SCALES)
        check_impute(self.impute)
        check_out_of_range(self.out_of_range)
        check_searches(self.searches)
        numbers = self.n_neighbors if isinstance(self.n_neighbors, tuple) else (self.n_neighbors,)
        for number in each_once("n_neighbors", numbers):
            check_integer("n_neighbors", number, low=1)
        if self.cv != LOO:
            check_integer("cv", self.cv, low=2)
        if self.time_limit is not None:
            check_positive("time_limit", self.time_limit)
        if self.sample_rows is not None:
            check_integer("sample_rows", self.sample_rows, low=10)

    def run(
        self,
        data: Any,
        *,
        progress: Progress | None = None,
        state: str | os.PathLike[str] | None = None,
        verbose: int = 1,
    ) -> Tuned:
        """Try every candidate.

        Parameters
        ----------
        data : Dataset, pair (X, y), or str
            Samples and label sets, a name in `nearlabel.datasets.catalogue`, or a path that `load_dataset` reads.
            Samples of a group (`Dataset.groups`) are held out together.
        progress : callable, default=None
            Function called after each fit with the seconds so far, and those of the whole work as estimated from the
            fits so far, or the time limit if it is less, in place of the bar of `verbose`.
        state : path, default=None
            State file with the results, written every few seconds and at the end. Results in an existing file are
            reused; it must be for the same data and options, but `time_limit` may differ. The file contains values, and
            the label sets and scores of the best candidates for the samples, but no features. None: nothing is written.
        verbose : int, default=1
            1: a run of more than ten seconds shows a bar in a notebook or terminal, elsewhere a few lines. 0: silent.

        Returns
        -------
        Tuned
            The trials, best first, with scores.

        Raises
        ------
        ValueError
            If there are too few samples, missing values, no indicator matrix, unknown labels that a method does not
            support, the metric is undefined, no model was tried within the time limit, or `state` is for other data or
            options.
        RuntimeError
            If the process of a time limit could not be started, or was killed.
        """
        shows = check_integer("verbose", verbose, low=0) if progress is None else 0
        with reported("models", shows) as tell:
            return self._run(data, tell if progress is None else progress, state)

    def _run(self, data: Any, progress: Progress, state: str | os.PathLike[str] | None) -> Tuned:
        budget = Budget(self.time_limit)
        samples, fittings, attempt, about = self._begun(data, state)
        start = saved = time.monotonic()
        try:
            steps = self._steps_in_time(samples, fittings, attempt, budget)
            has_one_fit = sum(len(fitting.numbers) for fitting in fittings) == 1  # then its search is the progress
            for step in steps if has_one_fit else unheard(steps):
                attempt.take(step)
                if step.trials:
                    n_samples = self.sample_rows if step.on_sample else samples.Y.shape[0]
                    budget.spend(step.trials[0].candidate.method, n_samples or 0, time.monotonic() - start)
                    told = budget.tell_left(jobs_left(fittings, attempt, samples.Y.shape[0], self.sample_rows or 0))
                    progress(*told)
                start = time.monotonic()
                if budget.is_spent:
                    break
                if state is not None and time.monotonic() - saved > _SAVED_EVERY:
                    write_attempt(state, attempt, about)
                    saved = time.monotonic()
        finally:
            if state is not None:
                write_attempt(state, attempt, about)
        return self._tuned(attempt, samples, fittings)

    def check(self, data: Any, *, state: str | os.PathLike[str] | None = None) -> None:
        """Raise what `run` would raise about data and options, without a fit.

        Parameters
        ----------
        data : Dataset, pair (X, y), or str
        state : path, default=None
            As in `run`.

        Raises
        ------
        ValueError
            If there are too few samples, missing values, no indicator matrix, unknown labels that a method does not
            support, a scaling is not for such columns, or `state` is for other data or options.
        """
        self._begun(data, state)

    def _begun(
        self, data: Any, state: str | os.PathLike[str] | None
    ) -> tuple[Samples, Sequence[Fitting], Attempt, dict[str, Any]]:
        """Return the samples, what is to be fitted to them, the trials in a state file, and what it is for."""
        data = as_dataset("data", data)
        check_matrices(data.name, data.X, data.Y, impute=self.impute)
        check_takes_unknown(data.name, data.Y, self._grid.specs)
        about = {} if state is None else self._about(data)
        attempt = Attempt() if state is None else read_attempt(state, about, self._grid.tried)
        samples = self._samples(data)
        return samples, self._grid.fittings(samples), attempt, about

    def _steps_in_time(
        self, samples: Samples, fittings: Sequence[Fitting], attempt: Attempt, budget: Budget
    ) -> Iterator[Step]:
        """Yield the results, from a separate process if there is a time limit."""
        if self.time_limit is None:
            return self._stages.steps(samples, fittings, attempt)
        return items_within(budget.left, _steps_of_worker, replace(self), samples.data, attempt)

    def _tuned(self, attempt: Attempt, samples: Samples, fittings: Sequence[Fitting]) -> Tuned:
        """Return the results on all rows, or on the random sample if there was no time for more."""
        if attempt.trials:
            return tuned_of(attempt, samples, fittings, self.metric)
        if attempt.sample is None or not attempt.sample.trials:
            if is_asked_to_stop():
                raise KeyboardInterrupt
            raise ValueError(
                f"time_limit must be long enough for a model, got {self.time_limit:g}. Hint: cheap methods first."
            )
        some = self._samples(drawn(samples.data, self.sample_rows or 0))
        suffix = f"; on {some.Y.shape[0]} of the rows: there was no time for more"
        found = replace(attempt.sample, left_out=attempt.left_out)
        return tuned_of(found, some, self._grid.fittings(some), self.metric, suffix=suffix)

    @cached_property
    def _grid(self) -> Grid:
        return Grid(self.methods, self.n_neighbors, self.scales, self.searches, self.cv, self.impute, self.out_of_range)

    @property
    def _stages(self) -> Stages:
        sample_seconds = np.inf if self.time_limit is None else self.time_limit * _SAMPLES_SHARE
        return Stages(
            self._grid, self.metric, self.sample_rows, sample_seconds, self.size_of, self.one_scaling, self.mix
        )

    def _samples(self, data: Dataset) -> Samples:
        return Samples.of(data, self.cv, without_copies=self.without_copies)

    def _about(self, data: Dataset) -> dict[str, Any]:
        """Return the inputs that determine the results."""
        searches = {name: describe_object(make_search(search)) for name, search in self.searches.items()}
        return {
            "version": __version__,
            "data": problem_digest(data),
            "methods": {name: spec.description for name, spec in self._grid.specs.items()},
            "searches": searches,
            "metric": describe_object(self.metric),
            "n_neighbors": self.n_neighbors,
            "scales": self.scales,
            "cv": self.cv,
            "impute": self.impute,
            "out_of_range": self.out_of_range,
            "sample_rows": self.sample_rows,
            "one_scaling": self.one_scaling,
        }


def _steps_of_worker(tuning: Tuning, data: Dataset, attempt: Attempt) -> Iterator[Step]:
    """Yield the results in another process, which has its own record of them."""
    samples = tuning._samples(data)
    for step in tuning._stages.steps(samples, tuning._grid.fittings(samples), attempt):
        attempt.take(step)
        yield step


# Work with a time limit, in a separate process, since a running fit cannot be interrupted in this one.

_ITEM, _WARNING, _ERROR, _END = "item", "warning", "error", "end"


def items_within(seconds: float, make_items: Callable[..., Iterable[Any]], *args: Any) -> Iterator[Any]:
    """Yield the items of an iterable from a separate process, which is terminated after a time limit.

    Warnings and exceptions of the process are passed to the caller.

    Parameters
    ----------
    seconds : float
        Time limit from now on, including the start of the process.
    make_items : callable
        Creates the iterable from `args`; the function, `args` and the items must be picklable.

    Raises
    ------
    RuntimeError
        If the process ended without an exception: it was killed, or could not be started.
    """
    budget = Budget(seconds)
    context = get_context("spawn")  # a forked process hangs if OpenMP threads ran before
    receiver, sender = context.Pipe(duplex=False)
    worker = context.Process(target=_work, args=(sender, make_items, args))
    with _usual_start_method(), modules_found():
        worker.start()
    sender.close()
    try:
        while not budget.is_spent:
            if not receiver.poll(min(_POLLED_EVERY, max(0.0, budget.left))):
                continue
            if budget.is_spent:  # Ctrl-C may have ended the process, too
                break
            kind, content = _received(receiver)
            if kind == _END:
                return
            if kind == _ERROR:
                raise content
            if kind == _WARNING:
                warnings.warn(content, stacklevel=2)
            else:
                yield content
    finally:
        worker.kill()
        worker.join()
        receiver.close()


@contextmanager
def _usual_start_method() -> Iterator[None]:
    """Hide the start method of joblib's workers, which a new process would inherit but does not know."""
    method = get_start_method(allow_none=True)
    if method is None or method in get_all_start_methods():
        yield
        return
    set_start_method("spawn", force=True)
    try:
        yield
    finally:
        set_start_method(method, force=True)


def _received(receiver: Connection) -> Any:
    try:
        return receiver.recv()
    except EOFError:
        raise RuntimeError(
            "The process of a time limit ended by itself. Hint: a script that starts one must do its work under"
            " if __name__ == '__main__'; memory may be short."
        ) from None


def _work(sender: Connection, make_items: Callable[..., Iterable[Any]], args: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # keyboard interrupt: the caller ends this process

    def send_warning(message: Warning | str, *_: Any, **__: Any) -> None:
        sender.send((_WARNING, message))

    with suppress(BrokenPipeError), warnings.catch_warnings(), hiding_progress():  # the caller has stopped reading
        warnings.showwarning = send_warning
        try:
            for item in make_items(*args):
                sender.send((_ITEM, item))
            sender.send((_END, None))
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001  # the caller raises it
            sender.send((_ERROR, error))
