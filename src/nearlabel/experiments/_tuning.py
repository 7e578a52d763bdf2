"""A model selected among many on held-out samples, and evaluated by nested cross-validation."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from nearlabel import __version__
from nearlabel.datasets import Dataset
from nearlabel.experiments._attempt import Attempt, Step
from nearlabel.experiments._attempt_file import read_attempt, write_attempt
from nearlabel.experiments._candidate import EXACT
from nearlabel.experiments._folds import check_matrices, problem_digest
from nearlabel.experiments._grid import Fitting, Grid
from nearlabel.experiments._guests import by_name, describe_object
from nearlabel.experiments._imputing import check_impute
from nearlabel.experiments._methods import LEADERBOARD_METHODS
from nearlabel.experiments._metrics import read_metric
from nearlabel.experiments._problems import as_dataset
from nearlabel.experiments._samples import LOO, Samples, drawn
from nearlabel.experiments._searches import check_searches, make_search
from nearlabel.experiments._stages import SizeOf, Stages, progress_of
from nearlabel.experiments._time_limit import items_within
from nearlabel.experiments._tuned import Tuned, tuned_of
from nearlabel.experiments._unknown_labels import check_takes_unknown
from nearlabel.preprocessing import SCALES
from nearlabel.utils.progress import Progress
from nearlabel.utils.validation import check_choice, check_integer, check_positive, each_once

_SAMPLES_SHARE = 1 / 3  # of a time limit
_SAVED_EVERY = 5.0  # seconds


@dataclass(frozen=True)
class Tuning:
    """Which models are tried, and how they are evaluated.

    One search serves every method and every number of neighbours of one scaling (one a fold, where samples are held out
    by folds). Thresholds are tuned on scores of held-out samples, and evaluated on other samples.

    Parameters
    ----------
    methods : tuple of str or estimator, or mapping of str to them, default=LEADERBOARD_METHODS
        As in `Plan`, tried in this order: cheap ones first where time is limited.
    n_neighbors : int or tuple of int, default=30
        An int: every number from 1 up to it, or as far as the rows allow; of methods that are fitted anew for each
        number, three of these at equal distances. A tuple: these.
    scales : tuple of str, default=("none",)
        Of the features: "none", "minmax", "standard", "tfidf".
    searches : tuple of str or search, or mapping of str to them, default=("exact",)
        What `make_search` takes, for methods that share a search. A search that is not nearlabel's own must pass
        `nearlabel.testing.check_search`.
    metric : str, callable or Metric, default="micro_f1"
        What the best is best in: what `nearlabel.metrics.get_metric` takes, or a ``package.module:name``. A metric that
        is not nearlabel's own must pass `nearlabel.testing.check_metric`.
    cv : "loo" or int, default="loo"
        "loo": each sample by all others, and five folds of shuffled samples for methods without leave-one-out answers.
        An int: that many folds of shuffled samples for every method.
    impute : {None, "mean", "median", "most_frequent"}, default=None
        What takes the place of missing features, as in `Plan`.
    without_copies : bool, default=False
        Whether `Tuned.scores` also has the metrics of the best candidate without exact copies, by names that end with
        "_without_copies"; not where the data have groups. With leave-one-out each row is answered for without the rows
        equal to it, and rows with very many copies are left out of these metrics. With folds only rows without a copy
        in another fold are judged, by the answers that they have already. Leave-one-out searches for a few neighbours
        more then, by which a search that is not exact may find others.
    time_limit : float, default=None
        Seconds for trying. What is not tried by then is left out, and a fit that is running is given up. The work is
        done in a process of its own, so methods, searches and metric must be such as can be pickled. None: no limit.
    sample_rows : int, default=None
        Size of a sample, which is drawn if there are at least three times as many rows. Every line (method, scaling,
        search) is tried on the sample first, within a third of the time limit. The better half of the lines, and
        always the best one of both kinds (by neighbours, or not), are then tried on all rows, best first. None: no
        sample.
    size_of : callable, default=None
        Called with a fitted model of each line; returns its size in bytes, or None if that is unknown. None: no costs
        are measured, which take one more fit for each line.
    one_scaling : bool, default=False
        Whether methods around the same classifier of one label (not those by neighbours) are tried in one scaling only:
        that which is best for the first of them.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown, a number is out of range, or an object fails a check of `nearlabel.testing`.
    ImportError
        If a search needs a library that is not installed, or a module cannot be imported.

    Notes
    -----
    `Tuned.scores` are computed as follows. Of five parts of the samples (or of the folds) each is predicted by the
    candidate that is best on the other parts, with thresholds tuned on the other parts. A part still has some influence
    on the choice that is judged on it:

    1. While candidates are compared on another part, its samples are among those that thresholds are tuned on.
    2. With leave-one-out, its samples are among the neighbours of the other parts' samples.
    3. With leave-one-out, features are imputed, scaled and encoded by all samples.
    4. With `sample_rows`, its samples are among those by which half of the lines are dropped.

    Lines that must give the same as another one are left out: those of scalings that give the same features, those of
    the cosine where all rows are of length 1, and those of forests, which see the order of values only, in all but one
    of the scalings that keep it.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Tuning
    >>> tuned = Tuning(("brknn", "mlknn", "mlknn@micro-f"), n_neighbors=(3, 9)).run(load_multidigits())
    >>> tuned.best.method, tuned.best.n_neighbors, round(tuned.trials[0].value, 3), round(tuned.scores["micro_f1"], 3)
    ('mlknn@micro-f', 9, 0.704, 0.704)
    """

    methods: Any = LEADERBOARD_METHODS  # from here on a dict: what each name stands for
    n_neighbors: int | tuple[int, ...] = 30
    scales: tuple[str, ...] = ("none",)
    searches: Any = (EXACT,)  # as methods
    metric: Any = "micro_f1"  # from here on a Metric
    cv: str | int = LOO
    impute: str | None = None
    without_copies: bool = False
    time_limit: float | None = None
    sample_rows: int | None = None
    size_of: SizeOf | None = None
    one_scaling: bool = False

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

    def run(self, data: Any, *, progress: Progress | None = None, state: str | os.PathLike[str] | None = None) -> Tuned:
        """Try every candidate.

        Parameters
        ----------
        data : Dataset, pair (X, y), or str
            Samples and label sets, a name of `nearlabel.datasets.catalogue`, or a path that `load_dataset` reads. Rows
            of a group (`Dataset.groups`) are held out together.
        progress : callable, default=None
            Called with the number of fits done and of all fits; with folds, those of all folds count once.
        state : path, default=None
            File of what was found, written every few seconds and in the end. What an existing one holds is not tried
            again; it must be of the same data and options, but `time_limit` may differ. It holds values, and the label
            sets and scores of the best candidates for the rows, but no features. None: nothing is written.

        Returns
        -------
        Tuned
            What was tried, best first.

        Raises
        ------
        ValueError
            If there are too few samples, missing values, no indicator matrix, unknown labels that a method does not
            take, the metric is undefined on them, no model was tried within the time limit, or `state` is of other data
            or options.
        RuntimeError
            If the process of a time limit could not be started, or was killed.
        """
        start = time.monotonic()
        data = as_dataset("data", data)
        check_matrices(data.name, data.X, data.Y, impute=self.impute)
        check_takes_unknown(data.name, data.Y, self._grid.specs)
        about = {} if state is None else self._about(data)
        attempt = Attempt() if state is None else read_attempt(state, about, self._grid.candidate)
        samples = self._samples(data)
        fittings = self._grid.fittings(samples)
        saved = start
        try:
            for step in self._steps_in_time(samples, fittings, attempt, start):
                attempt.take(step)
                if progress is not None and step.trials and not step.on_sample:
                    progress(*progress_of(fittings, attempt))
                if state is not None and time.monotonic() - saved > _SAVED_EVERY:
                    write_attempt(state, attempt, about)
                    saved = time.monotonic()
        finally:
            if state is not None:
                write_attempt(state, attempt, about)
        return self._tuned(attempt, samples, fittings)

    def _steps_in_time(
        self, samples: Samples, fittings: Sequence[Fitting], attempt: Attempt, start: float
    ) -> Iterator[Step]:
        """Yield what is found, in a process of its own if it must end in time."""
        if self.time_limit is None:
            return self._stages.steps(samples, fittings, attempt)
        left = self.time_limit - (time.monotonic() - start)
        return items_within(left, _steps_of_worker, replace(self), samples.data, attempt)

    def _tuned(self, attempt: Attempt, samples: Samples, fittings: Sequence[Fitting]) -> Tuned:
        """Return what was found on all rows; on a sample if there was no time for more."""
        if attempt.trials:
            return tuned_of(attempt, samples, fittings, self.metric)
        if attempt.sample is None or not attempt.sample.trials:
            raise ValueError(
                f"time_limit must be long enough for a model, got {self.time_limit:g}. Hint: cheap methods first."
            )
        some = self._samples(drawn(samples.data, self.sample_rows or 0))
        suffix = f"; on {some.Y.shape[0]} of the rows, which was all that there was time for"
        found = replace(attempt.sample, left_out=attempt.left_out)
        return tuned_of(found, some, self._grid.fittings(some), self.metric, suffix=suffix)

    @cached_property
    def _grid(self) -> Grid:
        return Grid(self.methods, self.n_neighbors, self.scales, self.searches, self.cv, self.impute)

    @property
    def _stages(self) -> Stages:
        sample_seconds = np.inf if self.time_limit is None else self.time_limit * _SAMPLES_SHARE
        return Stages(self._grid, self.metric, self.sample_rows, sample_seconds, self.size_of, self.one_scaling)

    def _samples(self, data: Dataset) -> Samples:
        return Samples.of(data, self.cv, without_copies=self.without_copies)

    def _about(self, data: Dataset) -> dict[str, Any]:
        """Return what decides what is found."""
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
            "sample_rows": self.sample_rows,
            "one_scaling": self.one_scaling,
        }


def _steps_of_worker(tuning: Tuning, data: Dataset, attempt: Attempt) -> Iterator[Step]:
    """Yield what is found in another process, which has its own record of it."""
    samples = tuning._samples(data)
    for step in tuning._stages.steps(samples, tuning._grid.fittings(samples), attempt):
        attempt.take(step)
        yield step
