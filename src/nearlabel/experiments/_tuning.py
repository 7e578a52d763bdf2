"""A model chosen among many by samples held out, and what the choice is worth on samples that took no part in it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.pipeline import make_pipeline

from nearlabel import __version__
from nearlabel.datasets import Dataset
from nearlabel.ensemble import RandomForestPCT
from nearlabel.experiments._attempt import Attempt, Cost, LeftOut, Line, Step, Trial, read_attempt, write_attempt
from nearlabel.experiments._candidate import EXACT, Candidate
from nearlabel.experiments._choice import Choice
from nearlabel.experiments._copies import groups_of_copies, in_small_groups
from nearlabel.experiments._folds import check_matrices, problem_digest
from nearlabel.experiments._guests import by_name, describe_object
from nearlabel.experiments._held_out import Answer, Folds, HoldingOut, LeaveOneOut
from nearlabel.experiments._imputing import check_impute
from nearlabel.experiments._methods import LEADERBOARD_METHODS, N_FOLDS, MethodSpec, sharing_a_fit
from nearlabel.experiments._metrics import read_metric
from nearlabel.experiments._preparing import Columns, preparation
from nearlabel.experiments._problems import as_dataset
from nearlabel.experiments._run import Progress
from nearlabel.experiments._searches import check_searches, make_search
from nearlabel.experiments._time_limit import items_within
from nearlabel.metrics.evaluation import named_without_copies
from nearlabel.out_of_sample import largest_group, of_groups, rows_of, splitter_of
from nearlabel.preprocessing import SCALES
from nearlabel.utils.types import IntArray, Matrix
from nearlabel.utils.validation import as_label_matrix, check_choice, check_integer, check_positive, each_once

_SizeOf: TypeAlias = Callable[[Any], int | None]

LOO = "loo"
_COSINE = "exact:metric=cosine"
_FEW = 3  # numbers of neighbours, of a range, of methods that are fitted for each
_SAMPLES_SHARE = 1 / 3  # of a time limit
_SAVED_EVERY = 5.0  # seconds
_OF_TREES = ("none", "minmax", "standard")  # scalings that keep the order of values


@dataclass(frozen=True)
class Tuned:
    """What was tried.

    Parameters
    ----------
    trials : tuple of Trial
        Best first, of equal ones in the order of trying. The first value is optimistic: it was chosen by it.
    metric : str
        Name of the metric that decided.
    scores : dict of str to float
        All metrics, of the choice made anew for each part of the samples without it.
    measured : str
        How the scores were measured, in words.
    costs : dict of Line to Cost
        What fitting and predicting cost; of lines that were tried to the end.
    left_out : tuple of LeftOut
        What was not tried, and why.
    n_samples : int or None
        Number of samples that the values are of: fewer than all if there was time for `sample_rows` only.
    """

    trials: tuple[Trial, ...]
    metric: str
    scores: dict[str, float]
    measured: str
    costs: dict[Line, Cost] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    n_samples: int | None = None

    @property
    def best(self) -> Candidate:
        """The candidate of the best value."""
        return self.trials[0].candidate


@dataclass(frozen=True)
class Tuning:
    """Which models are tried, and how they are judged.

    One search serves every method and every number of neighbours of one scaling (one a fold, where samples are held out
    by folds). Thresholds are tuned on scores of samples held out, and judged on others than they were tuned on.

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
        An int: so many folds of shuffled samples for every method.
    impute : {None, "mean", "median", "most_frequent"}, default=None
        What takes the place of missing features, as in `Plan`.
    without_copies : bool, default=False
        Whether `Tuned.scores` has the metrics of the best candidate without exact copies, too, named with
        "_without_copies" at the end. With leave-one-out each row is answered for without the rows equal to it (rows
        with very many copies are left out of the metrics), with folds the rows without a copy in another fold are
        judged, by the answers that they have. Not where the data have groups. With leave-one-out a few neighbours more
        are searched for, by which a search that is not exact may find others.
    time_limit : float, default=None
        Seconds for trying. What is not tried by then is left out, and a fit that is running is given up: the work is
        done in a process of its own, so that methods, searches and metric must be such as can be pickled. None: no
        limit.
    sample_rows : int, default=None
        Of at least three times as many rows so many are drawn, every line (method, scaling, search) is tried on these
        first, within a third of a time limit, and the better half of the lines, with the best of both kinds (by
        neighbours or not), on all rows, in the order of their values. None: no sample.
    size_of : callable, default=None
        Called with a fitted model of each line, returns its size in bytes, or None if that is unknown. None: costs are
        not measured, which take a fit for each line.

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

    Copies are left out: scalings that leave the features as another one does, the cosine where all rows are of length
    1, and forests, which see the order of values only, in all but one of the scalings that keep it.

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
    size_of: _SizeOf | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "methods", by_name("methods", self.methods))
        object.__setattr__(self, "scales", each_once("scales", self.scales))
        object.__setattr__(self, "searches", by_name("searches", self.searches))
        object.__setattr__(self, "metric", read_metric(None, self.metric))
        for name, spec in self._specs.items():
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
            File of what was found. What it has of the same data and options is not tried again, and it is written
            every few seconds and in the end; `time_limit` may differ. It has values, and label sets and scores of the
            best candidates for the rows, but no features. None: nothing is written.

        Returns
        -------
        Tuned
            What was tried, best first.

        Raises
        ------
        ValueError
            If there are too few samples, missing values, no indicator matrix, the metric is undefined on them, no model
            was tried within the time limit, or `state` is of other data or options.
        RuntimeError
            If the process of a time limit could not be started, or was killed.
        """
        start = time.monotonic()
        data = as_dataset("data", data)
        check_matrices(data.name, data.X, data.Y, impute=self.impute)
        about = {} if state is None else self._about(data)
        attempt = Attempt() if state is None else read_attempt(state, about, self._candidate)
        problem = self._problem(data)
        fittings = self._fittings(problem)
        saved = start
        try:
            for step in self._steps_in_time(problem, fittings, attempt, start):
                attempt.take(step)
                if progress is not None and step.trials and not step.on_sample:
                    progress(*_progress_of(fittings, attempt))
                if state is not None and time.monotonic() - saved > _SAVED_EVERY:
                    write_attempt(state, attempt, about)
                    saved = time.monotonic()
        finally:
            if state is not None:
                write_attempt(state, attempt, about)
        return self._tuned(problem, fittings, attempt)

    def _steps_in_time(
        self, problem: _Problem, fittings: Sequence[_Fitting], attempt: Attempt, start: float
    ) -> Iterator[Step]:
        """Yield what is found, in a process of its own if it must end in time."""
        if self.time_limit is None:
            return self._steps(problem, fittings, attempt)
        left = self.time_limit - (time.monotonic() - start)
        return items_within(left, _steps_of_worker, replace(self), problem.data, attempt)

    def _steps(self, problem: _Problem, fittings: Sequence[_Fitting], attempt: Attempt) -> Iterator[Step]:
        """Yield what is found; whoever takes the steps adds them to `attempt` before the next one."""
        yield Step(left_out=tuple(LeftOut(line, f.copy_of) for f in fittings if f.copy_of for line in f.lines))
        tried = [fitting for fitting in fittings if not fitting.copy_of]
        if self.sample_rows is not None and len(tried) > 2 and problem.Y.shape[0] >= 3 * self.sample_rows:
            sample = self._problem(_sample_of(problem.data, self.sample_rows))
            attempt.sample = attempt.sample or Attempt()
            stop = time.monotonic() + (np.inf if self.time_limit is None else self.time_limit * _SAMPLES_SHARE)
            for step in self._steps_on(sample, self._fittings(sample), attempt.sample):
                yield step._replace(on_sample=True)
                if time.monotonic() > stop:
                    break
            lines = {line for fitting in tried for line in fitting.lines}
            late = lines - {Line.of(trial.candidate) for trial in attempt.sample.trials}
            yield Step(left_out=tuple(LeftOut(line, "not tried in the time") for line in sorted(late, key=str)))
            order, dropped = self._worse_half(attempt.sample)
            reason = f"among the worse on {self.sample_rows} of the rows"
            yield Step(left_out=tuple(LeftOut(line, reason) for line in dropped))
            tried = [fitting for fitting in tried if not (dropped | late).issuperset(fitting.lines)]
            tried.sort(key=lambda fitting: min(order.index(line) for line in fitting.lines if line in order))
        yield from self._steps_on(problem, tried, attempt, self.size_of)

    def _steps_on(
        self, problem: _Problem, fittings: Sequence[_Fitting], attempt: Attempt, size_of: _SizeOf | None = None
    ) -> Iterator[Step]:
        """Yield the trials of each number of neighbours, then the cost of the best of them."""
        choice = Choice(problem.Y, problem.parts, self.metric, attempt.chosen)
        tried = {trial.candidate for trial in attempt.trials}
        for fitting in (fitting for fitting in fittings if not fitting.copy_of):
            for number in fitting.numbers:
                candidates = {name: self._candidate(name, number, *fitting.on) for name in fitting.specs}
                if not tried.issuperset(candidates.values()):
                    trials = tuple(self._trials(fitting, number, candidates, choice, problem))
                    yield Step(trials, choice.chosen)
            if size_of is not None and not attempt.costs.keys() >= set(fitting.lines):
                own = [trial for trial in attempt.trials if Line.of(trial.candidate) in fitting.lines]
                best = min(own, key=lambda trial: choice.loss(trial.value)).candidate
                cost = self._cost(best, problem, size_of)
                yield Step(costs=dict.fromkeys(fitting.lines, cost))

    def _trials(
        self,
        fitting: _Fitting,
        number: int | None,
        candidates: Mapping[str, Candidate],
        choice: Choice,
        problem: _Problem,
    ) -> Iterator[Trial]:
        """Yield what methods reach that differ in their thresholds only."""
        answer = self._answer(fitting, fitting.by, number)
        for name, spec in fitting.specs.items():
            labels = answer.decided(spec.thresholds, problem.Y, problem.parts)
            value, values = choice.offer(labels, answer.scores)
            yield Trial(candidates[name], value, fitting.by.name, values)

    def _cost(self, candidate: Candidate, problem: _Problem, size_of: _SizeOf) -> Cost:
        """Fit the untuned model to the rows outside the first part, and predict those in it."""
        data, held_out = problem.data, problem.parts[0]
        others = np.delete(np.arange(problem.Y.shape[0]), held_out)
        spec = self._specs[candidate.method]
        search = None if candidate.search in (None, EXACT) else make_search(self.searches[candidate.search])
        steps = preparation(Columns.of(data), self.impute, candidate.scale)
        model = make_pipeline(*steps, spec.make_untuned(candidate.n_neighbors, search))
        start = time.perf_counter()
        model.fit(data.X[others], problem.Y[others])
        fitted = time.perf_counter()
        model.predict(data.X[held_out])
        predicted = time.perf_counter()
        return Cost(fitted - start, predicted - fitted, size_of(model))

    def _worse_half(self, sample: Attempt) -> tuple[list[Line], set[Line]]:
        """Return the lines, best first, and the worse half of them, but for the best of each kind."""
        sign = -1 if self.metric.greater_is_better else 1
        best: dict[Line, float] = {}
        for trial in sample.trials:
            loss = sign * trial.value if np.isfinite(trial.value) else np.inf
            line = Line.of(trial.candidate)
            best[line] = min(best.get(line, np.inf), loss)
        order = sorted(best, key=lambda line: best[line])
        first_of_kind = {self._specs[line.method].is_lazy: line for line in reversed(order)}
        return order, set(order[(len(order) + 1) // 2 :]) - set(first_of_kind.values())

    def _answer(self, fitting: _Fitting, by: HoldingOut, n_neighbors: int | None) -> Answer:
        """Return the answers of what is fitted, without thresholds."""
        spec = next(iter(fitting.specs.values()))
        search = EXACT if fitting.search is None else self.searches[fitting.search]
        return by.answer(spec, n_neighbors, search, fitting.search or EXACT)

    def _without_copies(self, best: Candidate, fittings: Sequence[_Fitting], choice: Choice, copies: IntArray) -> Any:
        """Return the metrics of the best candidate without copies; none if no row is left."""
        fitting = next(fitting for fitting in fittings if Line.of(best) in fitting.lines)
        by, rows = fitting.by.without_copies(copies)
        if not rows.any() or (best.n_neighbors or 1) > by.most_neighbors:
            return {}
        labels, scores = choice.chosen.best
        if by is not fitting.by:
            answer = self._answer(fitting, by, best.n_neighbors)
            parts = self._parts("data", len(copies), copies)
            thresholds = fitting.specs[best.method].thresholds
            labels, scores = answer.decided(thresholds, choice.Y, parts), answer.scores
        return named_without_copies(choice.metrics_of(rows, labels[rows], scores[rows]))

    def _about(self, data: Dataset) -> dict[str, Any]:
        """Return what decides what is found."""
        searches = {name: describe_object(make_search(search)) for name, search in self.searches.items()}
        return {
            "version": __version__,
            "data": problem_digest(data),
            "methods": {name: spec.description for name, spec in self._specs.items()},
            "searches": searches,
            "metric": describe_object(self.metric),
            "n_neighbors": self.n_neighbors,
            "scales": self.scales,
            "cv": self.cv,
            "impute": self.impute,
            "sample_rows": self.sample_rows,
        }

    @cached_property
    def _specs(self) -> dict[str, MethodSpec]:
        return {name: MethodSpec.of(method) for name, method in self.methods.items()}

    def _candidate(self, method: str, n_neighbors: int | None, scale: str, search: str | None) -> Candidate:
        """Return a candidate, with the objects that its names stand for where the names do not say it."""
        of_method = self.methods[method]
        of_search = None if search is None else self.searches[search]
        return Candidate(
            method,
            n_neighbors,
            scale,
            search,
            method_object=None if of_method == method else of_method,
            search_object=None if of_search == search else of_search,
            impute=self.impute,
        )

    def _parts(self, name: str, n_rows: int, groups: IntArray | None) -> list[IntArray]:
        """Return the rows of each fold; what is chosen or tuned is judged by the same parts."""
        n_units, units = (n_rows, "rows") if groups is None else (len(np.unique(groups)), "groups")
        if n_units < 2:
            raise ValueError(f"{name!r} must have at least 2 {units} for some to be held out, got {n_units}.")
        n_parts = min(N_FOLDS, n_units) if self.cv == LOO else int(self.cv)
        if n_parts > n_units:
            raise ValueError(f"cv must be at most the {n_units} {units} of {name}, got {n_parts}.")
        splitter = splitter_of(n_parts, n_rows, 0, groups)
        return [part for _, part in splitter.split(np.zeros((n_rows, 1)), **of_groups(groups))]

    def _problem(self, data: Dataset) -> _Problem:
        Y = as_label_matrix(data.Y)
        copies = groups_of_copies(data.X) if self.without_copies and data.groups is None else None
        return _Problem(data, Y, self._parts(data.name, Y.shape[0], data.groups), copies)

    def _fittings(self, problem: _Problem) -> list[_Fitting]:
        """Return what has to be fitted, method by method; methods that differ in their thresholds share a fit."""
        held_out = {scale: self._held_out(problem, scale) for scale in self.scales}
        copies = _copied_scales({scale: left_out for scale, (left_out, _) in held_out.items()})
        fittings = []
        for specs in sharing_a_fit(self._specs):
            spec = next(iter(specs.values()))
            for scale, (left_out, folds) in held_out.items():
                by: HoldingOut = left_out if self.cv == LOO and spec.has_left_out_scores else folds
                numbers = self._numbers(by, problem.Y.shape[0]) if spec.has_neighbors else (None,)
                for search in self.searches if spec.shares_search else (None,):
                    copy_of = copies[scale] or self._copied_by_method(spec, scale, search, left_out)
                    fittings.append(_Fitting(specs, numbers, scale, search, by, copy_of))
        return fittings

    def _held_out(self, problem: _Problem, scale: str) -> tuple[LeaveOneOut, Folds]:
        data, Y, parts, copies = problem
        n_more = 0 if copies is None else largest_group(in_small_groups(copies)[0]) - 1
        largest = max(self.n_neighbors) if isinstance(self.n_neighbors, tuple) else self.n_neighbors
        steps = preparation(Columns.of(data), self.impute, scale)
        left_out = LeaveOneOut(data.X, Y, steps, largest + n_more, data.groups)
        return left_out, Folds(data.X, Y, steps, parts, largest)

    def _copied_by_method(self, spec: MethodSpec, scale: str, search: str | None, left_out: LeaveOneOut) -> str:
        """Return why a method gives the same with another scaling or search; empty if it does not."""
        first = next((one for one in self.scales if one in _OF_TREES), scale)
        if isinstance(spec.method.prototype, RandomForestPCT) and scale in _OF_TREES and scale != first:
            return f"as with scaling {first}: trees see the order of values only"
        if search == _COSINE and EXACT in self.searches and left_out.has_unit_rows:
            return "as with the Euclidean distance: all rows are of length 1"
        return ""

    def _numbers(self, by: HoldingOut, n_rows: int) -> Sequence[int]:
        """Return the numbers of neighbours to try; of a range fewer where each costs a fit."""
        most = by.most_neighbors
        if most < 1:
            raise ValueError(f"data must have more rows to hold some out and find neighbours, got {n_rows}.")
        if isinstance(self.n_neighbors, tuple):
            if max(self.n_neighbors) > most:
                raise ValueError(
                    f"n_neighbors must be at most {most} where some of {n_rows} rows are held out,"
                    f" got {max(self.n_neighbors)}."
                )
            return self.n_neighbors
        last = min(self.n_neighbors, most)
        step = max(1, last // _FEW) if isinstance(by, Folds) and self.cv == LOO and last > 2 * _FEW else 1
        return range(step, last + 1, step)

    def _tuned(self, problem: _Problem, fittings: Sequence[_Fitting], attempt: Attempt) -> Tuned:
        """Return what was found on all rows; on a sample if there was no time for more."""
        on_sample = ""
        if not attempt.trials and attempt.sample is not None and attempt.sample.trials:
            problem = self._problem(_sample_of(problem.data, self.sample_rows or 0))
            fittings, left_out, attempt = self._fittings(problem), attempt.left_out, attempt.sample
            attempt.left_out = left_out
            on_sample = f"; on {problem.Y.shape[0]} of the rows, which was all that there was time for"
        trials, choice = attempt.trials, Choice(problem.Y, problem.parts, self.metric, attempt.chosen)
        if not trials:
            raise ValueError(
                f"time_limit must be long enough for a model, got {self.time_limit:g}. Hint: cheap methods first."
            )
        defined = [trial for trial in trials if np.isfinite(trial.value)]
        if not defined:
            raise ValueError(f"metric must be defined on the rows, got {self.metric.name}. Hint: micro_f1 always is.")
        best_first = sorted(defined, key=lambda trial: choice.loss(trial.value))
        measured = " and ".join(dict.fromkeys(trial.held_out for trial in trials))
        if len(trials) > 1 or any(spec.is_tuned for spec in self._specs.values()):
            measured += f"; selection nested in {len(choice.parts)}-fold cross-validation"
        scores = choice.scores()
        if problem.copies is not None:
            scores |= self._without_copies(best_first[0].candidate, fittings, choice, problem.copies)
        left_out_lines = attempt.left_out | _out_of_time(fittings, attempt)
        return Tuned(
            tuple(best_first),
            self.metric.name,
            scores,
            measured + on_sample,
            attempt.costs,
            tuple(LeftOut(line, reason) for line, reason in left_out_lines.items()),
            problem.Y.shape[0],
        )


class _Problem(NamedTuple):
    """A data set, its label sets, the parts on which what is chosen or tuned is judged, and which rows are equal."""

    data: Dataset
    Y: Matrix
    parts: list[IntArray]
    copies: IntArray | None


class _Fitting(NamedTuple):
    """A method to fit, with some numbers of neighbours, and those that differ from it in their thresholds only."""

    specs: dict[str, MethodSpec]
    numbers: Sequence[int | None]
    scale: str
    search: str | None
    by: HoldingOut
    copy_of: str

    @property
    def on(self) -> tuple[str, str | None]:
        """The scaling and the search."""
        return self.scale, self.search

    @property
    def lines(self) -> list[Line]:
        """A line for each method."""
        return [Line(name, self.scale, self.search) for name in self.specs]


def _steps_of_worker(tuning: Tuning, data: Dataset, attempt: Attempt) -> Iterator[Step]:
    """Yield what is found in another process, which has its own record of it."""
    problem = tuning._problem(data)
    for step in tuning._steps(problem, tuning._fittings(problem), attempt):
        attempt.take(step)
        yield step


def _progress_of(fittings: Sequence[_Fitting], attempt: Attempt) -> tuple[int, int]:
    """Return the number of fits that are done and of all, those that are left out not counted."""
    to_do = [fitting for fitting in fittings if not attempt.left_out.keys() >= set(fitting.lines)]
    tried = {(*Line.of(trial.candidate), trial.candidate.n_neighbors) for trial in attempt.trials}
    fits = [(*fitting.lines[0], number) for fitting in to_do for number in fitting.numbers]
    return sum(fit in tried for fit in fits), len(fits)


def _out_of_time(fittings: Sequence[_Fitting], attempt: Attempt) -> dict[Line, str]:
    """Return the lines that were not tried to the end, and are not left out for another reason."""
    n_tried: dict[Line, int] = {}
    for trial in attempt.trials:
        n_tried[Line.of(trial.candidate)] = n_tried.get(Line.of(trial.candidate), 0) + 1
    missing = {line: fitting for fitting in fittings for line in fitting.lines if line not in attempt.left_out}
    return {
        line: f"{n_tried.get(line, 0)} of {len(fitting.numbers)} numbers of neighbours were tried in the time"
        if n_tried.get(line)
        else "not tried in the time"
        for line, fitting in missing.items()
        if n_tried.get(line, 0) < len(fitting.numbers)
    }


def _copied_scales(left_out: Mapping[str, LeaveOneOut]) -> dict[str, str]:
    """Return for each scaling why it is left out: an earlier one gives the same features; empty if none does."""
    copied: dict[str, str] = {}
    for scale, rows in left_out.items():
        same = (other for other in copied if not copied[other] and _are_equal(left_out[other].prepared, rows.prepared))
        copied[scale] = next((f"as with scaling {other}: the features are the same" for other in same), "")
    return copied


def _are_equal(first: Matrix, second: Matrix) -> bool:
    if sparse.issparse(first) or sparse.issparse(second):
        return bool((sparse.csr_array(first) != sparse.csr_array(second)).nnz == 0)
    return bool(np.array_equal(first, second))


def _sample_of(data: Dataset, n_rows: int) -> Dataset:
    """Return some rows, the same whenever it is asked for."""
    rows = np.sort(np.random.default_rng(0).permutation(data.X.shape[0])[:n_rows])
    groups = None if data.groups is None else np.unique(data.groups[rows], return_inverse=True)[1]
    return replace(data, X=rows_of(data.X, rows), Y=rows_of(data.Y, rows), groups=groups)
