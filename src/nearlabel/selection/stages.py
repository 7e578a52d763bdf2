"""The steps of a tuning: all lines on a random sample of large data, then the better half on all rows."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from nearlabel.datasets import Dataset
from nearlabel.metrics import CATALOGUE, Metric, score_all
from nearlabel.metrics.evaluation import Evaluation, named_without_copies, title_of
from nearlabel.models.decision import SparseScores
from nearlabel.models.selector import Budget, Criterion
from nearlabel.selection._grid import LOO, Answer, Fitting, Grid, Samples, drawn, parts_of
from nearlabel.selection._mixing import MixtureChoice
from nearlabel.selection.candidates import (
    IN_TIME,
    Attempt,
    BestOfFamily,
    Candidate,
    Chosen,
    Cost,
    LeftOut,
    Line,
    Step,
    Trial,
    make_untuned,
)
from nearlabel.selection.data import groups_of_copies
from nearlabel.selection.guests import describe_object
from nearlabel.selection.methods import MethodSpec
from nearlabel.selection.mixed import MixedCandidate, has_probabilities
from nearlabel.solvers.score_maps import fit_joint_map
from nearlabel.thresholds import strategy_for
from nearlabel.utils.messages import without_advice
from nearlabel.utils.tables import grid_of_rows, html_of
from nearlabel.utils.targets import PartialLabels, has_unknown
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

SizeOf: TypeAlias = Callable[[Any], int | None]

_MOST_MIXED_CELLS = 2**23  # of the scores of each family, which are kept


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
    mix : bool
        Whether the scores of the best of each family are kept.
    """

    grid: Grid
    metric: Metric
    sample_rows: int | None
    sample_seconds: float
    size_of: SizeOf | None
    one_scaling: bool
    mix: bool = False

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
            yield _left_out(sorted(late.difference(known), key=str), f"not {IN_TIME}")
            yield _left_out(worse, f"among the worse on {self.sample_rows} of the rows")
            tried = [fitting for fitting in tried if not late.union(worse).issuperset(fitting.lines)]
            tried.sort(key=lambda fitting: min(order.index(line) for line in fitting.lines if line in order))
        yield from self._steps_on(samples, tried, attempt, self.size_of)

    def _steps_on_sample(self, samples: Samples, n_rows: int, attempt: Attempt) -> Iterator[Step]:
        """Yield the results on some rows, until the time limit."""
        some = Samples.of(drawn(samples.data, n_rows), self.grid.cv, without_copies=samples.copies is not None)
        budget = Budget(self.sample_seconds)
        fittings = [fitting for fitting in self.grid.fittings(some) if not fitting.copy_of]
        for step in self._steps_on(some, fittings, attempt):
            yield step._replace(on_sample=True)
            if budget.is_spent:
                return

    def _best_first(self, trials: Iterable[Trial]) -> list[Line]:
        """Return the lines of trials, ordered by their best trial."""
        criterion, least = Criterion(self.metric), dict[Line, float]()
        for trial in trials:
            line = Line.of(trial.candidate)
            least[line] = min(least.get(line, np.inf), criterion.loss(trial.value))
        return sorted(least, key=lambda line: least[line])

    def _worse_half(self, order: Sequence[Line]) -> list[Line]:
        """Return the worse half of the lines (ordered best first), except for the best of each kind."""
        first_of_kind = {self.grid.specs[line.method].is_lazy: line for line in reversed(order)}
        return [line for line in order[(len(order) + 1) // 2 :] if line not in first_of_kind.values()]

    def _steps_on(
        self, samples: Samples, fittings: Iterable[Fitting], attempt: Attempt, size_of: SizeOf | None = None
    ) -> Iterator[Step]:
        """Yield the trials of all numbers of neighbours, then the cost of the best of them."""
        choice = Choice(samples.Y, samples.parts, self.metric, attempt.chosen, attempt.families)
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
                    yield Step(trials, choice.chosen, choice.new_families() if self.mix else {})
            if size_of is not None and not attempt.costs.keys() >= set(fitting.lines):
                own = [trial for trial in attempt.trials if Line.of(trial.candidate) in fitting.lines]
                best = min(own, key=lambda trial: Criterion(self.metric).loss(trial.value)).candidate
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
        choice.offer_to_mix(candidates[name], spec, value, answer.scores)
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


def jobs_left(
    fittings: Sequence[Fitting], attempt: Attempt, n_samples: int, sample_rows: int
) -> Iterator[tuple[str, int]]:
    """Yield the method and the number of samples of each fit to do, also of the half that is tried after the sample."""
    stages = [(attempt, n_samples, 1)]
    if attempt.sample is not None and not attempt.trials and not attempt.left_out.keys() & _lines_of(attempt.sample):
        stages = [(attempt.sample, sample_rows, 1), (attempt, n_samples, 2)]
    for stage, n, one_in in stages:
        tried = {(*Line.of(trial.candidate), trial.candidate.n_neighbors) for trial in stage.trials}
        to_do = [fitting for fitting in fittings if not stage.left_out.keys() >= set(fitting.lines)]
        jobs = [
            fitting.lines[0].method
            for fitting in to_do
            for number in fitting.numbers
            if (*fitting.lines[0], number) not in tried
        ]
        yield from ((method, n) for method in jobs[::one_in])


def _lines_of(attempt: Attempt) -> set[Line]:
    return {Line.of(trial.candidate) for trial in attempt.trials}


# Nested selection: the best candidate on all samples, and for each part of the samples the best on the other parts.


class Choice:
    """The best candidate on all samples, and for each part of the samples the best on the other parts.

    For each part only the predictions of the best candidate so far are stored, so the number of candidates is not
    limited. `nearlabel.selection.NeighborsClassifierCV` tunes thresholds once per candidate instead of once per
    part: it must store the scores of the best few, and evaluates only these part by part.
    """

    def __init__(
        self,
        Y: Matrix,
        parts: Sequence[IntArray],
        metric: Metric,
        chosen: Chosen | None = None,
        families: Mapping[str, BestOfFamily] = MappingProxyType({}),
    ) -> None:
        self.Y, self.parts, self._metric, self._criterion = Y, parts, metric, Criterion(metric)
        self._families, self._new = dict(families), set[str]()
        self._others = [np.delete(np.arange(Y.shape[0]), part) for part in parts]
        self.chosen = Chosen.none(len(parts)) if chosen is None else chosen

    def offer(self, labels: Any, scores: Any) -> tuple[float, tuple[float, ...]]:
        """Add the predictions of a candidate for all samples; return the metric on all samples and on each part."""
        losses, answers = list(self.chosen.losses), list(self.chosen.answers)
        whole, of_others, of_parts = self._evaluations
        for number, (part, others) in enumerate(zip(self.parts, self._others, strict=True)):
            loss = self._criterion.loss(_value(of_others[number], labels[others], scores[others]))
            if answers[number] is None or loss < losses[number]:
                losses[number], answers[number] = loss, (labels[part], scores[part])
        value = _value(whole, labels, scores)
        least, best = self.chosen.least, self.chosen.best
        if (loss := self._criterion.loss(value)) < least:
            least, best = loss, (labels, scores)
        self.chosen = Chosen(tuple(losses), tuple(answers), least, best)
        parts = zip(of_parts, self.parts, strict=True)
        return value, tuple(_value(evaluation, labels[part], scores[part]) for evaluation, part in parts)

    def offer_to_mix(self, candidate: Candidate, spec: MethodSpec, value: float, scores: Any) -> None:
        """Keep the scores of the best candidate of each family with tuned thresholds, unless they are many."""
        family, loss = spec.family, self._criterion.loss(value)
        takes = spec.is_tuned and not spec.mixes_neighbors and scores.size <= _MOST_MIXED_CELLS
        if takes and loss < (self._families[family].loss if family in self._families else np.inf):
            self._families[family] = BestOfFamily(candidate, loss, scores)
            self._new.add(family)

    def new_families(self) -> dict[str, BestOfFamily]:
        """Return the families with a better candidate since the last call."""
        new, self._new = {name: self._families[name] for name in sorted(self._new)}, set()
        return new

    @cached_property
    def _evaluations(self) -> tuple[Evaluation, list[Evaluation], list[Evaluation]]:
        """Return the metric for all samples, and without and on each part: label sets are checked once."""
        of_others, of_parts = (
            [Evaluation.of(self.Y[rows], [self._metric]) for rows in some] for some in (self._others, self.parts)
        )
        return Evaluation.of(self.Y, [self._metric]), of_others, of_parts

    def scores(self) -> dict[str, float]:
        """Return all metrics of the nested selection: the best on the other parts predicts each part."""
        answers = [answer for answer in self.chosen.answers if answer is not None]
        labels, scores = (np.vstack(arrays) for arrays in zip(*answers, strict=True))
        return self.metrics_of(np.concatenate(self.parts), labels, scores)

    def metrics_of(self, rows: Any, labels: Any, scores: Any) -> dict[str, float]:
        """Return all metrics of the label sets and scores of some samples, without undefined ones."""
        metrics = {**CATALOGUE, self._metric.name: self._metric}.values()
        values = score_all(as_dense(self.Y)[rows], labels, scores, metrics)
        return {name: float(value) for name, value in values.items() if np.isfinite(value)}


def left_out_scores(
    data: Dataset, scores: Any, thresholds: Any, metric: Metric, *, without_copies: bool = False
) -> tuple[dict[str, float], str]:
    """Return all metrics on leave-one-out scores of a candidate, as `Tuned.scores` of it alone, and how measured.

    Thresholds of each part are tuned on the other parts. With `without_copies`, if some samples have copies, also the
    metrics of the other samples.
    """
    Y, parts = PartialLabels.of(data.Y).with_nan(), parts_of(data.name, data.Y.shape[0], data.groups, LOO)
    dense = scores.toarray() if isinstance(scores, SparseScores) else scores
    decided = Answer(np.empty(dense.shape, dtype=np.int64), dense).decided(thresholds, Y, parts)
    choice = Choice(Y, parts, metric)
    values = choice.metrics_of(slice(None), decided, dense)
    if without_copies and data.groups is None:
        copies = groups_of_copies(data.X)
        unique = np.bincount(copies)[copies] == 1
        if unique.any() and not unique.all():
            values |= named_without_copies(choice.metrics_of(unique, decided[unique], dense[unique]))
    held_out = "leave-one-out" if data.groups is None else "leave-one-group-out"
    return values, f"{held_out}; selection nested in {len(parts)}-fold cross-validation"


def _value(evaluation: Evaluation, labels: Any, scores: Any) -> float:
    (value,) = evaluation.values(labels, scores).values()
    return value


# The results of a tuning: the trials, best first, and the nested cross-validation scores of the selection.


@dataclass(frozen=True)
class Tuned:
    """The results of a tuning.

    Parameters
    ----------
    trials : tuple of Trial
        Best first; equal values in the order of trying. The first value is optimistic: it was used for the selection.
    metric : str
        Name of the metric used for the selection.
    scores : dict of str to float
        All metrics, by nested cross-validation: the selection is repeated for each part of the samples, without it.
    measured : str
        Description of how the scores were measured.
    costs : dict of Line to Cost
        Costs of fitting and predicting, for lines that were tried completely.
    left_out : tuple of LeftOut
        Lines that were not tried, and the reasons.
    n_samples : int or None
        Number of samples on which the values were computed: fewer than all if there was time for `sample_rows` only.
    mixture : MixedCandidate or None
        The best mixture of candidates of different families with tuned thresholds; None if none is better than the
        best candidate, in both cases by thresholds of other parts, or if labels are unknown.
    mixture_value : float
        Its value by cross-fitting: weights and thresholds of each part are chosen on the others.
    """

    trials: tuple[Trial, ...]
    metric: str
    scores: dict[str, float]
    measured: str
    costs: dict[Line, Cost] = field(default_factory=dict)
    left_out: tuple[LeftOut, ...] = ()
    n_samples: int | None = None
    mixture: MixedCandidate | None = None
    mixture_value: float = np.nan

    @property
    def best(self) -> Candidate:
        """The mixture, or the candidate with the best value."""
        return self.trials[0].candidate if self.mixture is None else self.mixture

    @property
    def best_of_lines(self) -> dict[Line, Trial]:
        """The best trial of each method, scaling and search, best first."""
        best: dict[Line, Trial] = {}
        for trial in self.trials:
            best.setdefault(Line.of(trial.candidate), trial)
        return best

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self.trials)} models by {self.metric}, the best {self.best.method}>"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the leaderboard."""
        rows = [
            (line.method, line.scale, line.search, trial.candidate.n_neighbors, trial.value)
            for line, trial in self.best_of_lines.items()
        ]
        heads = ("method", "scaling", "search", "k", title_of(self.metric))
        value = f"{self.scores[self.metric]:.4g} ({self.measured})" if self.metric in self.scores else "undefined"
        found = f"{self.best.method} is the best of {len(self.trials)} models."
        return html_of(f"{found} {heads[-1]} of such a choice: {value}.", grid_of_rows(heads, rows, "lines"))


def tuned_of(
    attempt: Attempt, samples: Samples, fittings: Sequence[Fitting], metric: Metric, *, suffix: str = ""
) -> Tuned:
    """Return the results; the description of the measurement ends with `suffix`."""
    defined = [trial for trial in attempt.trials if np.isfinite(trial.value)]
    if not defined:
        raise ValueError(f"metric must be defined on the samples, got {metric.name}. Hint: micro_f1 always is.")
    best_first = sorted(defined, key=lambda trial: Criterion(metric).loss(trial.value))
    choice = Choice(samples.Y, samples.parts, metric, attempt.chosen)
    scores = choice.scores()
    if samples.copies is not None:
        scores |= _without_copies(best_first[0].candidate, fittings, choice, samples.copies)
    left_out = attempt.left_out | _out_of_time(fittings, attempt)
    tuned = Tuned(
        tuple(best_first),
        metric.name,
        scores,
        _measured(attempt, fittings, len(samples.parts)) + suffix,
        attempt.costs,
        tuple(LeftOut(line, reason) for line, reason in left_out.items()),
        samples.Y.shape[0],
    )
    return _with_mixture(tuned, attempt, samples, choice, metric)


def _mapped(of: BestOfFamily, truth: PartialLabels) -> FloatArray:
    """Return scores as probabilities that are comparable between families."""
    return fit_joint_map(of.scores, truth, are_probabilities=has_probabilities(of.candidate)).predict(of.scores)


def _with_mixture(tuned: Tuned, attempt: Attempt, samples: Samples, choice: Choice, metric: Metric) -> Tuned:
    """Return the results with the mixture of the best of the families, and its metrics, if it is better than each."""
    criterion, Y = Criterion(metric), samples.Y
    if len(attempt.families) < 2 or has_unknown(Y):
        return tuned
    best = sorted(attempt.families.values(), key=lambda of: of.loss)
    strategy = strategy_for(metric)
    mapped = [_mapped(of, PartialLabels.of(Y)) for of in best]
    found = MixtureChoice(mapped, Y, metric, strategy, samples.data.groups).best()
    used = sorted(np.flatnonzero(found.weights).tolist(), key=lambda place: (-found.weights[place], place))
    if len(used) < 2 or not criterion.loss(found.crossfit_value) < criterion.loss(tuned.trials[0].value):
        return tuned
    mixture = MixedCandidate.mixing([(float(found.weights[p]), best[p].candidate) for p in used], strategy)
    answer = Answer(np.empty(found.scores.shape, dtype=np.int64), found.scores)
    labels = answer.decided(strategy, Y, samples.parts)
    scores = choice.metrics_of(slice(None), labels, found.scores)
    if samples.copies is not None:
        unique = np.bincount(samples.copies)[samples.copies] == 1
        if unique.any():
            scores |= named_without_copies(choice.metrics_of(unique, labels[unique], found.scores[unique]))
    return replace(tuned, scores=scores, mixture=mixture, mixture_value=found.crossfit_value)


def _measured(attempt: Attempt, fittings: Sequence[Fitting], n_parts: int) -> str:
    """Return the description of how the scores were measured."""
    words = " and ".join(dict.fromkeys(trial.held_out for trial in attempt.trials))
    is_tuned = any(spec.is_tuned for fitting in fittings for spec in fitting.specs.values())
    if len(attempt.trials) > 1 or is_tuned:
        words += f"; selection nested in {n_parts}-fold cross-validation"
    return words


def _without_copies(best: Candidate, fittings: Sequence[Fitting], choice: Choice, copies: IntArray) -> dict[str, float]:
    """Return the metrics of the best candidate without copies; empty if no sample is left."""
    fitting = next(fitting for fitting in fittings if Line.of(best) in fitting.lines)
    by, rows = fitting.by.without_copies(copies)
    if not rows.any() or (best.n_neighbors or 1) > by.most_neighbors:
        return {}
    labels, scores = choice.chosen.best
    if by is not fitting.by:
        answer = fitting.answer(by, best.n_neighbors)
        parts = parts_of("data", len(copies), copies, LOO)
        labels, scores = answer.decided(fitting.specs[best.method].thresholds, choice.Y, parts), answer.scores
    return named_without_copies(choice.metrics_of(rows, labels[rows], scores[rows]))


def _out_of_time(fittings: Sequence[Fitting], attempt: Attempt) -> dict[Line, str]:
    """Return the lines that were not tried completely, and were not left out for another reason."""
    n_tried = Counter(Line.of(trial.candidate) for trial in attempt.trials)
    missing: dict[Line, str] = {}
    for fitting in fittings:
        for line in fitting.lines:
            if line not in attempt.left_out and n_tried[line] < len(fitting.numbers):
                some = f"{n_tried[line]} of {len(fitting.numbers)} numbers of neighbours were {IN_TIME}"
                missing[line] = some if n_tried[line] else f"not {IN_TIME}"
    return missing
