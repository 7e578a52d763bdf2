"""The steps of a tuning: all lines on a random sample of large data, then the better half on all rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from nearlabel.experiments._advice import without_advice
from nearlabel.experiments._attempt import Attempt, Cost, LeftOut, Line, Step, Trial
from nearlabel.experiments._candidate import Candidate, make_untuned
from nearlabel.experiments._choice import Choice, loss_of
from nearlabel.experiments._grid import Fitting, Grid
from nearlabel.experiments._guests import describe_object
from nearlabel.experiments._methods import MethodSpec
from nearlabel.experiments._samples import Samples, drawn
from nearlabel.metrics import Metric

SizeOf: TypeAlias = Callable[[Any], int | None]


@dataclass(frozen=True)
class Stages:
    """A stage on a random sample of the rows, if there are enough, and a stage on all of them.

    Parameters
    ----------
    grid : Grid
        The candidates.
    metric : Metric
        The metric to optimise.
    sample_rows : int or None
        Size of the sample; None for no such stage.
    sample_seconds : float
        Time limit of that stage.
    size_of : callable or None
        Function that returns the size of a fitted model; None if no costs are measured.
    one_scaling : bool
        Whether methods around the same classifier are tried only with the scaling that was best for the first of them.
    """

    grid: Grid
    metric: Metric
    sample_rows: int | None
    sample_seconds: float
    size_of: SizeOf | None
    one_scaling: bool

    def steps(self, samples: Samples, fittings: Sequence[Fitting], attempt: Attempt) -> Iterator[Step]:
        """Yield the results; the caller adds them to `attempt` before the next step."""
        yield Step(left_out=tuple(LeftOut(line, f.copy_of) for f in fittings if f.copy_of for line in f.lines))
        tried = [fitting for fitting in fittings if not fitting.copy_of]
        if self.sample_rows is not None and len(tried) > 2 and samples.Y.shape[0] >= 3 * self.sample_rows:
            attempt.sample = attempt.sample or Attempt()
            yield from self._steps_on_sample(samples, self.sample_rows, attempt.sample)
            order = self._best_first(attempt.sample.trials)
            known = attempt.sample.left_out
            yield Step(left_out=tuple(LeftOut(line, reason) for line, reason in known.items()))
            late = {line for fitting in tried for line in fitting.lines}.difference(order)
            worse = self._worse_half(order)
            yield _left_out(sorted(late.difference(known), key=str), "not tried in the time")
            yield _left_out(worse, f"among the worse on {self.sample_rows} of the rows")
            tried = [fitting for fitting in tried if not late.union(worse).issuperset(fitting.lines)]
            tried.sort(key=lambda fitting: min(order.index(line) for line in fitting.lines if line in order))
        yield from self._steps_on(samples, tried, attempt, self.size_of)

    def _steps_on_sample(self, samples: Samples, n_rows: int, attempt: Attempt) -> Iterator[Step]:
        """Yield the results on some rows, until the time limit."""
        some = Samples.of(drawn(samples.data, n_rows), self.grid.cv, without_copies=samples.copies is not None)
        stop = time.monotonic() + self.sample_seconds
        fittings = [fitting for fitting in self.grid.fittings(some) if not fitting.copy_of]
        for step in self._steps_on(some, fittings, attempt):
            yield step._replace(on_sample=True)
            if time.monotonic() > stop:
                return

    def _best_first(self, trials: Iterable[Trial]) -> list[Line]:
        """Return the lines of trials, ordered by their best trial."""
        least: dict[Line, float] = {}
        for trial in trials:
            line = Line.of(trial.candidate)
            least[line] = min(least.get(line, np.inf), loss_of(self.metric, trial.value))
        return sorted(least, key=lambda line: least[line])

    def _worse_half(self, order: Sequence[Line]) -> list[Line]:
        """Return the worse half of the lines (ordered best first), except for the best of each kind."""
        first_of_kind = {self.grid.specs[line.method].is_lazy: line for line in reversed(order)}
        return [line for line in order[(len(order) + 1) // 2 :] if line not in first_of_kind.values()]

    def _steps_on(
        self, samples: Samples, fittings: Iterable[Fitting], attempt: Attempt, size_of: SizeOf | None = None
    ) -> Iterator[Step]:
        """Yield the trials of all numbers of neighbours, then the cost of the best of them."""
        choice = Choice(samples.Y, samples.parts, self.metric, attempt.chosen)
        tried = {trial.candidate for trial in attempt.trials}
        for fitting in fittings:
            if better := self._better_scaling(fitting, attempt):
                yield _left_out(fitting.lines, better)
                continue
            for number in fitting.numbers:
                candidates = {
                    name: self.grid.candidate(name, number, fitting.scale, fitting.search) for name in fitting.specs
                }
                if not tried.issuperset(candidates.values()):
                    trials = tuple(_trials(fitting, number, candidates, choice, samples))
                    yield Step(trials, choice.chosen)
            if size_of is not None and not attempt.costs.keys() >= set(fitting.lines):
                own = [trial for trial in attempt.trials if Line.of(trial.candidate) in fitting.lines]
                best = min(own, key=lambda trial: loss_of(self.metric, trial.value)).candidate
                yield Step(costs=dict.fromkeys(fitting.lines, _cost(best, samples, size_of)))

    def _better_scaling(self, fitting: Fitting, attempt: Attempt) -> str:
        """Return the scaling that is better for the same classifier in an earlier method; empty if there is none."""
        classifier = _classifier_in(fitting.specs)
        if not (self.one_scaling and classifier):
            return ""
        others = {name for name, spec in self.grid.specs.items() if _classifier_in({name: spec}) == classifier}
        order = self._best_first(trial for trial in attempt.trials if trial.candidate.method in others)
        first = next((trial.candidate.method for trial in attempt.trials if trial.candidate.method in others), "")
        if not order or first in fitting.specs:
            return ""
        best = next(line.scale for line in order if line.method == first)
        return "" if best == fitting.scale else f"scaling {best} is better for {first}"


def _classifier_in(specs: Mapping[str, MethodSpec]) -> str:
    """Return the single-label classifier inside a method that is not neighbour-based; empty if there is none."""
    spec = next(iter(specs.values()))
    inner = spec.method.prototype
    while getattr(inner, "estimator", None) is not None:
        inner = inner.estimator
    return "" if spec.is_lazy or inner is spec.method.prototype else describe_object(inner)


def _trials(
    fitting: Fitting, number: int | None, candidates: Mapping[str, Candidate], choice: Choice, samples: Samples
) -> Iterator[Trial]:
    """Yield the trials of methods that differ only in their thresholds."""
    answer = fitting.answer(fitting.by, number)
    for name, spec in fitting.specs.items():
        labels = answer.decided(spec.thresholds, samples.Y, samples.parts)
        value, values = choice.offer(labels, answer.scores)
        yield Trial(candidates[name], value, fitting.by.name, values)


def _cost(candidate: Candidate, samples: Samples, size_of: SizeOf) -> Cost:
    """Fit the untuned model to the samples outside the first part, and predict the first part."""
    X, held_out = samples.data.X, samples.parts[0]
    others = np.delete(np.arange(samples.Y.shape[0]), held_out)
    model = make_untuned(candidate, samples.data)
    start = time.perf_counter()
    with without_advice():
        model.fit(X[others], samples.Y[others])
    fitted = time.perf_counter()
    model.predict(X[held_out])
    predicted = time.perf_counter()
    return Cost(fitted - start, predicted - fitted, size_of(model))


def _left_out(lines: Iterable[Line], reason: str) -> Step:
    return Step(left_out=tuple(LeftOut(line, reason) for line in lines))


def progress_of(fittings: Sequence[Fitting], attempt: Attempt) -> tuple[int, int]:
    """Return the numbers of finished and of all fits, without those that are left out."""
    to_do = [fitting for fitting in fittings if not attempt.left_out.keys() >= set(fitting.lines)]
    tried = {(*Line.of(trial.candidate), trial.candidate.n_neighbors) for trial in attempt.trials}
    fits = [(*fitting.lines[0], number) for fitting in to_do for number in fitting.numbers]
    return sum(fit in tried for fit in fits), len(fits)
