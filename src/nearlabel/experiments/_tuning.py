"""A model chosen among many by rows held out, and what the choice is worth on rows that took no part in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline

from nearlabel.datasets import Dataset
from nearlabel.experiments._feature_scaler import FeatureScaler
from nearlabel.experiments._folds import check_matrices
from nearlabel.experiments._held_out import Folds, HoldingOut, LeaveOneOut
from nearlabel.experiments._methods import N_FOLDS, MethodSpec
from nearlabel.experiments._run import Progress
from nearlabel.experiments._scaling import SCALES
from nearlabel.experiments._searches import make_search
from nearlabel.metrics import CATALOGUE, get_metric, score_all
from nearlabel.thresholds import TunedThresholdsClassifierCV
from nearlabel.utils.types import IntArray, Matrix
from nearlabel.utils.validation import as_dense, as_label_matrix, check_choice, check_integer, each_once

LOO = "loo"
EXACT = "exact"


class Candidate(NamedTuple):
    """A model that may be chosen.

    Parameters
    ----------
    method : str
        Specification as `make_method` takes it, thresholds included.
    n_neighbors : int or None
        Number of neighbours; None for a method without.
    scale : {"none", "minmax", "standard", "tfidf"}
        How the features are scaled.
    search : str or None
        Specification as `make_search` takes it; None for a method without neighbours.
    """

    method: str
    n_neighbors: int | None
    scale: str
    search: str | None

    def make(self) -> Any:
        """Return the unfitted model: the method, behind a `FeatureScaler` if features are scaled."""
        search = None if self.search in (None, EXACT) else make_search(self.search)
        model = MethodSpec.parse(self.method).make(self.n_neighbors, search)
        if isinstance(model, TunedThresholdsClassifierCV):
            model.set_params(random_state=0)  # rows of a file are often sorted
        return model if self.scale == "none" else make_pipeline(FeatureScaler(self.scale), model)


class Trial(NamedTuple):
    """What a candidate reached on rows held out.

    Parameters
    ----------
    candidate : Candidate
        The model.
    value : float
        The measure, of all rows together.
    held_out : str
        How the rows were held out, in words.
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
        The measure that decided.
    scores : dict of str to float
        All measures, of the choice made anew for each part of the rows without it.
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

    One search serves every method and every number of neighbours of one scaling (one a fold, where rows are held out by
    folds). Thresholds are tuned on scores of rows held out, and judged on others than they were tuned on.

    Parameters
    ----------
    methods : tuple of str
        Specifications as `make_method` takes them.
    n_neighbors : int or tuple of int, default=30
        An int: every number from 1 up to it, or as far as the rows allow. A tuple: these.
    scales : tuple of str, default=("none",)
        Of the features: "none", "minmax", "standard", "tfidf".
    searches : tuple of str, default=("exact",)
        Specifications as `make_search` takes them, of methods by neighbours.
    metric : str, default="micro_f1"
        Key of `nearlabel.metrics.CATALOGUE`: what the best is best in.
    cv : "loo" or int, default="loo"
        "loo": each row by all others, and, for methods without leave-one-out answers, five folds of shuffled rows. An
        int: so many folds of shuffled rows for every method.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown or a number out of range.

    Notes
    -----
    `Tuned.scores` are measured as follows. Of five parts of the rows (or of the folds) each is decided by the candidate
    that does best on the other parts, with thresholds tuned on the other parts. Only at second hand a part has a say in
    its own judgement: while the candidates are compared on another part, its rows are among those that thresholds are
    tuned on and, leaving one out, among the neighbours. Where scalings leave one out, they have seen the row.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Tuning
    >>> tuned = Tuning(("brknn", "mlknn", "mlknn@micro-f"), n_neighbors=(3, 9)).run(load_multidigits())
    >>> tuned.best.method, tuned.best.n_neighbors, round(tuned.trials[0].value, 3), round(tuned.scores["micro_f1"], 3)
    ('mlknn@micro-f', 9, 0.704, 0.704)
    """

    methods: tuple[str, ...]
    n_neighbors: int | tuple[int, ...] = 30
    scales: tuple[str, ...] = ("none",)
    searches: tuple[str, ...] = (EXACT,)
    metric: str = "micro_f1"
    cv: str | int = LOO

    def __post_init__(self) -> None:
        for name in ("methods", "scales", "searches"):
            object.__setattr__(self, name, each_once(name, getattr(self, name)))
        for spec in self._specs.values():
            spec.check()
        for scale in self.scales:
            check_choice("scale", scale, SCALES)
        for search in self.searches:
            make_search(search)
        numbers = self.n_neighbors if isinstance(self.n_neighbors, tuple) else (self.n_neighbors,)
        for number in each_once("n_neighbors", numbers):
            check_integer("n_neighbors", number, low=1)
        if self.cv != LOO:
            check_integer("cv", self.cv, low=2)
        get_metric(self.metric)

    def run(self, data: Dataset, *, progress: Progress | None = None) -> Tuned:
        """Try every candidate.

        Parameters
        ----------
        data : Dataset
            Rows and label sets.
        progress : callable, default=None
            Called with the number of fits done and of all fits; with folds, those of all folds count once.

        Returns
        -------
        Tuned
            What was tried, best first.

        Raises
        ------
        ValueError
            If there are too few rows, missing values, no indicator matrix, or the measure is undefined on the rows.
        """
        check_matrices(data.name, data.X, data.Y)
        Y = as_label_matrix(data.Y)
        choice = _Choice(Y, self._parts(data.name, Y.shape[0]), self.metric)
        fits = list(self._fits(data.X, Y, choice.parts))
        trials: list[Trial] = []
        for done, fit in enumerate(fits, start=1):
            answer = fit.by.answer(next(iter(fit.specs.values())), fit.n_neighbors, fit.search or EXACT)
            for method, spec in fit.specs.items():
                labels = answer.decided(spec.thresholds, Y, choice.parts)
                candidate = Candidate(method, fit.n_neighbors, fit.scale, fit.search)
                trials.append(Trial(candidate, choice.offer(labels, answer.scores), fit.by.name))
            if progress is not None:
                progress(done, len(fits))
        return self._tuned(trials, choice)

    @cached_property
    def _specs(self) -> dict[str, MethodSpec]:
        return {method: MethodSpec.parse(method) for method in self.methods}

    def _parts(self, name: str, n_rows: int) -> list[IntArray]:
        """Return the rows of each fold; what is chosen or tuned is judged by the same parts."""
        if n_rows < 2:
            raise ValueError(f"{name} must have at least 2 rows for some to be held out, got {n_rows}.")
        n_parts = min(N_FOLDS, n_rows) if self.cv == LOO else int(self.cv)
        if n_parts > n_rows:
            raise ValueError(f"cv must be at most the {n_rows} rows of {name}, got {n_parts}.")
        return [part for _, part in KFold(n_parts, shuffle=True, random_state=0).split(np.zeros(n_rows))]

    def _fits(self, X: Matrix, Y: Matrix, parts: Sequence[IntArray]) -> Iterator[_Fit]:
        """Yield what has to be fitted; methods that differ in their thresholds share a fit."""
        largest = max(self.n_neighbors) if isinstance(self.n_neighbors, tuple) else self.n_neighbors
        sharing: dict[str, dict[str, MethodSpec]] = {}
        for method, spec in self._specs.items():
            sharing.setdefault(method.partition("@")[0], {})[method] = spec
        for scale in self.scales:
            left_out, folds = LeaveOneOut(X, Y, scale, largest), Folds(X, Y, scale, parts, largest)
            for specs in sharing.values():
                spec = next(iter(specs.values()))
                by: HoldingOut = left_out if self.cv == LOO and spec.has_left_out_scores else folds
                if not spec.has_neighbors:
                    yield _Fit(specs, None, scale, None, by)
                    continue
                for search in self.searches:
                    for number in self._numbers(by.most_neighbors, Y.shape[0]):
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
            raise ValueError(f"metric must be defined on the rows, got {self.metric}. Hint: micro_f1 always is.")
        best_first = sorted(defined, key=lambda trial: choice.loss(trial.value))
        measured = " and ".join(dict.fromkeys(trial.held_out for trial in trials))
        if len(trials) > 1 or any(spec.is_tuned for spec in self._specs.values()):
            measured += f"; selection nested in {len(choice.parts)}-fold cross-validation"
        return Tuned(tuple(best_first), self.metric, choice.scores(), measured)


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

    def __init__(self, Y: Matrix, parts: Sequence[IntArray], metric: str) -> None:
        self.Y, self.parts, self._metric = Y, parts, metric
        self._others = [np.delete(np.arange(Y.shape[0]), part) for part in parts]
        self._losses = [np.inf] * len(parts)
        self._answers: list[tuple[Any, Any] | None] = [None] * len(parts)

    def offer(self, labels: Any, scores: Any) -> float:
        """Take answers of a candidate for all rows; return the measure."""
        for number, (part, others) in enumerate(zip(self.parts, self._others, strict=True)):
            loss = self.loss(self._measure(labels, scores, others))
            if self._answers[number] is None or loss < self._losses[number]:
                self._losses[number] = loss if np.isfinite(loss) else np.inf
                self._answers[number] = labels[part], scores[part]
        return self._measure(labels, scores)

    def loss(self, value: float) -> float:
        """Return what is smaller the better the value is."""
        return -value if CATALOGUE[self._metric].greater_is_better else value

    def scores(self) -> dict[str, float]:
        """Return all measures of the choices made without each part, on that part; those that are defined."""
        answers = [answer for answer in self._answers if answer is not None]
        labels, scores = (np.vstack(arrays) for arrays in zip(*answers, strict=True))
        values = score_all(as_dense(self.Y)[np.concatenate(self.parts)], labels, scores)
        return {name: float(value) for name, value in values.items() if np.isfinite(value)}

    def _measure(self, labels: Any, scores: Any, rows: Any = slice(None)) -> float:
        needs: dict[str, Callable[[], Any]] = {
            "prediction": lambda: {"y_pred": labels[rows]},
            "score": lambda: {"y_score": scores[rows]},
        }
        given = needs[CATALOGUE[self._metric].needs]()
        return score_all(self.Y[rows], **given, metrics=[self._metric])[self._metric]
