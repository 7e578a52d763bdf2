"""A model chosen among many by samples held out, and what the choice is worth on samples that took no part in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline, make_pipeline

from nearlabel.datasets import Dataset
from nearlabel.experiments._copies import groups_of_copies, in_small_groups
from nearlabel.experiments._folds import check_matrices
from nearlabel.experiments._guests import by_name
from nearlabel.experiments._held_out import Answer, Folds, HoldingOut, LeaveOneOut
from nearlabel.experiments._imputing import check_impute
from nearlabel.experiments._methods import N_FOLDS, MethodSpec, sharing_a_fit
from nearlabel.experiments._metrics import read_metric
from nearlabel.experiments._preparing import Columns, preparation
from nearlabel.experiments._problems import as_dataset
from nearlabel.experiments._run import Progress
from nearlabel.experiments._searches import check_searches, make_search
from nearlabel.metrics import CATALOGUE, Metric, score_all
from nearlabel.metrics.evaluation import named_without_copies
from nearlabel.out_of_sample import largest_group, of_groups, splitter_of
from nearlabel.preprocessing import SCALES
from nearlabel.thresholds import TunedThresholdsClassifierCV
from nearlabel.utils.types import IntArray, Matrix
from nearlabel.utils.validation import as_dense, as_label_matrix, check_choice, check_integer, each_once

LOO = "loo"
EXACT = "exact"


@dataclass(frozen=True)
class Candidate:
    """A model that may be chosen.

    Parameters
    ----------
    method : str
        Name of the method; what `make_method` takes, unless `method_object` is given.
    n_neighbors : int or None
        Number of neighbours; None for a method without.
    scale : {"none", "minmax", "standard", "tfidf"}
        How the features are scaled.
    search : str or None
        Name of the search; what `make_search` takes, unless `search_object` is given. None for a method that shares no
        search.
    method_object : estimator or MethodSpec, default=None
        What the name of the method stands for.
    search_object : search, default=None
        What the name of the search stands for.
    impute : {None, "mean", "median", "most_frequent"}, default=None
        What takes the place of missing features, as in `Plan`.
    """

    method: str
    n_neighbors: int | None
    scale: str
    search: str | None
    method_object: Any = field(default=None, compare=False, repr=False)
    search_object: Any = field(default=None, compare=False, repr=False)
    impute: str | None = None

    def make(self, data: Dataset | None = None) -> Any:
        """Return the unfitted model: the method, behind an imputer and a `FeatureScaler` where they are asked for.

        Parameters
        ----------
        data : Dataset, default=None
            What it is to be fitted to. If X holds cells of several kinds, the method is behind a
            `MixedFeaturesEncoder`, which imputes and scales numbers; categories are not scaled in any X. None: all
            features are numbers.

        Returns
        -------
        estimator
            The method or a pipeline.
        """
        search = None
        if self.search not in (None, EXACT) or self.search_object is not None:
            search = make_search(self.search if self.search_object is None else self.search_object)
        spec = MethodSpec.of(self.method if self.method_object is None else self.method_object)
        model = spec.make(self.n_neighbors, search)
        if isinstance(model, TunedThresholdsClassifierCV) and spec.is_tuned:
            model.set_params(random_state=0)  # the samples in a file are often sorted
        steps = preparation(Columns((), ()) if data is None else Columns.of(data), self.impute, self.scale)
        return make_pipeline(*steps, model) if steps else model

    def fit(self, data: Any) -> Any:
        """Return the model, fitted to a data set.

        Parameters
        ----------
        data : Dataset, pair (X, y), or str
            As `Tuning.run` takes it.

        Returns
        -------
        estimator
            The fitted model.

        Raises
        ------
        ValueError
            If X has infinite values, or missing ones that are not imputed, or the labels are no indicator matrix.
        """
        data = as_dataset("data", data)
        check_matrices(data.name, data.X, data.Y, impute=self.impute)
        return _fit_with_groups(self.make(data), data)


def _fit_with_groups(model: Any, data: Dataset) -> Any:
    """Fit a model; one with tuned thresholds, alone or behind other steps, holds out groups where there are some."""
    prefix, last = (f"{model.steps[-1][0]}__", model[-1]) if isinstance(model, Pipeline) else ("", model)
    takes_groups = data.groups is not None and isinstance(last, TunedThresholdsClassifierCV)
    return model.fit(data.X, data.Y, **({f"{prefix}groups": data.groups} if takes_groups else {}))


class Trial(NamedTuple):
    """What a candidate reached on samples held out.

    Parameters
    ----------
    candidate : Candidate
        The model.
    value : float
        The metric, of all samples together.
    held_out : str
        How the samples were held out, in words.
    """

    candidate: Candidate
    value: float
    held_out: str


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
    """

    trials: tuple[Trial, ...]
    metric: str
    scores: dict[str, float]
    measured: str

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
    methods : tuple of str or estimator, or mapping of str to them
        As in `Plan`.
    n_neighbors : int or tuple of int, default=30
        An int: every number from 1 up to it, or as far as the rows allow. A tuple: these.
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

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Tuning
    >>> tuned = Tuning(("brknn", "mlknn", "mlknn@micro-f"), n_neighbors=(3, 9)).run(load_multidigits())
    >>> tuned.best.method, tuned.best.n_neighbors, round(tuned.trials[0].value, 3), round(tuned.scores["micro_f1"], 3)
    ('mlknn@micro-f', 9, 0.704, 0.704)
    """

    methods: Any  # from here on a dict: what each name stands for
    n_neighbors: int | tuple[int, ...] = 30
    scales: tuple[str, ...] = ("none",)
    searches: Any = (EXACT,)  # as methods
    metric: Any = "micro_f1"  # from here on a Metric
    cv: str | int = LOO
    impute: str | None = None
    without_copies: bool = False

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

    def run(self, data: Any, *, progress: Progress | None = None) -> Tuned:
        """Try every candidate.

        Parameters
        ----------
        data : Dataset, pair (X, y), or str
            Samples and label sets, a name of `nearlabel.datasets.catalogue`, or a path that `load_dataset` reads. Rows
            of a group (`Dataset.groups`) are held out together.
        progress : callable, default=None
            Called with the number of fits done and of all fits; with folds, those of all folds count once.

        Returns
        -------
        Tuned
            What was tried, best first.

        Raises
        ------
        ValueError
            If there are too few samples, missing values, no indicator matrix, or the metric is undefined on them.
        """
        data = as_dataset("data", data)
        check_matrices(data.name, data.X, data.Y, impute=self.impute)
        Y = as_label_matrix(data.Y)
        choice = _Choice(Y, self._parts(data.name, Y.shape[0], data.groups), self.metric)
        copies = groups_of_copies(data.X) if self.without_copies and data.groups is None else None
        fits = list(self._fits(data, Y, choice.parts, copies))
        trials: list[Trial] = []
        fit_of: dict[Candidate, _Fit] = {}
        for done, fit in enumerate(fits, start=1):
            answer = self._answer(fit, fit.by)
            for method, spec in fit.specs.items():
                labels = answer.decided(spec.thresholds, Y, choice.parts)
                candidate = self._candidate(method, fit.n_neighbors, fit.scale, fit.search)
                trials.append(Trial(candidate, choice.offer(labels, answer.scores), fit.by.name))
                fit_of[candidate] = fit
            if progress is not None:
                progress(done, len(fits))
        tuned = self._tuned(trials, choice)
        if copies is None:
            return tuned
        more = self._without_copies(fit_of[tuned.best], tuned.best.method, choice, copies)
        return replace(tuned, scores=tuned.scores | more)

    def _answer(self, fit: _Fit, by: HoldingOut) -> Answer:
        """Return the answers of what is fitted, without thresholds."""
        spec = next(iter(fit.specs.values()))
        search = EXACT if fit.search is None else self.searches[fit.search]
        return by.answer(spec, fit.n_neighbors, search, fit.search or EXACT)

    def _without_copies(self, fit: _Fit, method: str, choice: _Choice, copies: IntArray) -> dict[str, float]:
        """Return the metrics of the best candidate, a method of this fit, without copies; none if no row is left."""
        by, rows = fit.by.without_copies(copies)
        if not rows.any() or (fit.n_neighbors or 1) > by.most_neighbors:
            return {}
        labels, scores = choice.best
        if by is not fit.by:
            answer = self._answer(fit, by)
            parts = self._parts("data", len(copies), copies)
            labels, scores = answer.decided(fit.specs[method].thresholds, choice.Y, parts), answer.scores
        return named_without_copies(choice.metrics_of(rows, labels[rows], scores[rows]))

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

    def _fits(
        self, data: Dataset, Y: Matrix, parts: Sequence[IntArray], copies: IntArray | None = None
    ) -> Iterator[_Fit]:
        """Yield what has to be fitted; methods that differ in their thresholds share a fit."""
        n_more = 0 if copies is None else largest_group(in_small_groups(copies)[0]) - 1
        largest = max(self.n_neighbors) if isinstance(self.n_neighbors, tuple) else self.n_neighbors
        for scale in self.scales:
            steps = preparation(Columns.of(data), self.impute, scale)
            left_out = LeaveOneOut(data.X, Y, steps, largest + n_more, data.groups)
            folds = Folds(data.X, Y, steps, parts, largest)
            for specs in sharing_a_fit(self._specs):
                spec = next(iter(specs.values()))
                by: HoldingOut = left_out if self.cv == LOO and spec.has_left_out_scores else folds
                numbers = self._numbers(by.most_neighbors, Y.shape[0]) if spec.has_neighbors else (None,)
                for search in self.searches if spec.shares_search else (None,):
                    for number in numbers:
                        yield _Fit(specs, number, scale, search, by)

    def _numbers(self, most: int, n_rows: int) -> Sequence[int]:
        """Return the numbers of neighbours to try."""
        if most < 1:
            raise ValueError(f"data must have more rows to hold some out and find neighbours, got {n_rows}.")
        if isinstance(self.n_neighbors, tuple):
            if max(self.n_neighbors) > most:
                raise ValueError(
                    f"n_neighbors must be at most {most} where some of {n_rows} rows are held out,"
                    f" got {max(self.n_neighbors)}."
                )
            return self.n_neighbors
        return range(1, min(self.n_neighbors, most) + 1)

    def _tuned(self, trials: Sequence[Trial], choice: _Choice) -> Tuned:
        defined = [trial for trial in trials if np.isfinite(trial.value)]
        if not defined:
            raise ValueError(f"metric must be defined on the rows, got {self.metric.name}. Hint: micro_f1 always is.")
        best_first = sorted(defined, key=lambda trial: choice.loss(trial.value))
        measured = " and ".join(dict.fromkeys(trial.held_out for trial in trials))
        if len(trials) > 1 or any(spec.is_tuned for spec in self._specs.values()):
            measured += f"; selection nested in {len(choice.parts)}-fold cross-validation"
        return Tuned(tuple(best_first), self.metric.name, choice.scores(), measured)


class _Fit(NamedTuple):
    """A method to fit, and those that differ from it in their thresholds only."""

    specs: dict[str, MethodSpec]
    n_neighbors: int | None
    scale: str
    search: str | None
    by: HoldingOut


class _Choice:
    """The best of what is offered: on all rows, and for each part of the rows by the other parts.

    Of each part only the answer of the best so far is kept, so any number of candidates may be offered.
    """

    def __init__(self, Y: Matrix, parts: Sequence[IntArray], metric: Metric) -> None:
        self.Y, self.parts, self._metric = Y, parts, metric
        self._others = [np.delete(np.arange(Y.shape[0]), part) for part in parts]
        self._losses = [np.inf] * len(parts)
        self._answers: list[tuple[Any, Any] | None] = [None] * len(parts)
        self._least = np.inf
        self.best: tuple[Any, Any] = None, None  # what the best so far answers for all samples

    def offer(self, labels: Any, scores: Any) -> float:
        """Take answers of a candidate for all samples; return the value of the metric."""
        for number, (part, others) in enumerate(zip(self.parts, self._others, strict=True)):
            loss = self.loss(self._value(labels, scores, others))
            if self._answers[number] is None or loss < self._losses[number]:
                self._losses[number] = loss if np.isfinite(loss) else np.inf
                self._answers[number] = labels[part], scores[part]
        value = self._value(labels, scores)
        if self.loss(value) < self._least:
            self._least, self.best = self.loss(value), (labels, scores)
        return value

    def loss(self, value: float) -> float:
        """Return what is smaller the better the value is."""
        return -value if self._metric.greater_is_better else value

    def scores(self) -> dict[str, float]:
        """Return all metrics of the choices made without each part, on that part."""
        answers = [answer for answer in self._answers if answer is not None]
        labels, scores = (np.vstack(arrays) for arrays in zip(*answers, strict=True))
        return self.metrics_of(np.concatenate(self.parts), labels, scores)

    def metrics_of(self, rows: Any, labels: Any, scores: Any) -> dict[str, float]:
        """Return all metrics of the label sets and scores of some rows; those that are defined."""
        metrics = {**CATALOGUE, self._metric.name: self._metric}.values()
        values = score_all(as_dense(self.Y)[rows], labels, scores, metrics)
        return {name: float(value) for name, value in values.items() if np.isfinite(value)}

    def _value(self, labels: Any, scores: Any, rows: Any = slice(None)) -> float:
        needs: dict[str, Callable[[], Any]] = {
            "prediction": lambda: {"y_pred": labels[rows]},
            "score": lambda: {"y_score": scores[rows]},
        }
        given = needs[self._metric.needs]()
        return score_all(self.Y[rows], **given, metrics=[self._metric])[self._metric.name]
