"""A mixture as a `Candidate`, which can be fitted, evaluated on later rows and described like any other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from nearlabel.datasets import Dataset
from nearlabel.metrics import CATALOGUE, Metric, score_all
from nearlabel.models.out_of_sample import Needs, left_out_answer, prefit_answer, rows_of, split_at
from nearlabel.rivals import SoftVote
from nearlabel.selection._grid import LOO, parts_of
from nearlabel.selection._trials import settle
from nearlabel.selection.candidates import Candidate, make_untuned, spec_of, with_thresholds
from nearlabel.thresholds import ThresholdStrategy
from nearlabel.thresholds.best_value import for_a_refit
from nearlabel.utils.messages import without_advice
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray
from nearlabel.utils.validation import as_dense


@dataclass(frozen=True)
class MixedCandidate(Candidate):
    """A mixture of candidates, each with its thresholds; create it by `mixing`.

    Parameters
    ----------
    parts : tuple of (float, Candidate)
        Each with its weight, the largest first.
    strategy : ThresholdStrategy
        Finds the thresholds of the mixture; cloned.
    """

    parts: tuple[tuple[float, Candidate], ...] = ()
    strategy: ThresholdStrategy | None = field(default=None, compare=False, repr=False)

    @classmethod
    def mixing(cls, parts: Sequence[tuple[float, Candidate]], strategy: ThresholdStrategy) -> Self:
        """Return the mixture of candidates with weights."""
        names = " + ".join(f"{weight:.2g} {_name(of)}" for weight, of in parts)
        scales = ", ".join(dict.fromkeys(of.scale for _, of in parts))
        first = parts[0][1]
        return cls(
            names,
            None,
            scales,
            None,
            impute=first.impute,
            out_of_range=first.out_of_range,
            parts=tuple(parts),
            strategy=strategy,
        )

    @property
    def most_neighbors(self) -> int:
        """The largest number of neighbours of a part, or 0."""
        return max(of.n_neighbors or 0 for _, of in self.parts)

    def with_parts(self, parts: Sequence[Candidate]) -> Self:
        """Return the mixture with other parts of the same weights."""
        return replace(self, parts=tuple((weight, of) for (weight, _), of in zip(self.parts, parts, strict=True)))

    def make(self, data: Dataset | None = None) -> Any:
        """Return the unfitted `SoftVote`, see `Candidate.make`."""
        named = [(_name(of), of.make(data)) for _, of in self.parts]
        return SoftVote(named, [weight for weight, _ in self.parts], strategy=self.strategy)

    def fit(self, data: Any, ranks: IntArray | None = None) -> Any:
        """Return the mixture, fitted to a checked data set, see `Candidate.fit`.

        Thresholds are tuned on scores of samples that a part has not seen: by leaving one out, or by five folds; with
        ranks on those of the later samples, by fits to the earlier ones.
        """
        judged = PartialLabels.of(data.Y)
        fitted, mixed = [], np.zeros(())
        for weight, of in self.parts:
            model, scores = fitted_with_scores(of, data, ranks)
            last = model[-1] if hasattr(model, "steps") else model
            mixed = mixed + weight * last.score_map_.predict(scores)
            fitted.append(model)
        if ranks is not None:
            judged = judged.rows(split_at(ranks)[1])
        strategy = clone(self.strategy).fit(mixed, judged.with_nan())
        if ranks is not None:
            strategy = for_a_refit(strategy, mixed)
        return self.make(data)._handed(fitted, data.X, data.Y, strategy, getattr(strategy, "objective_", np.nan))


def scores_by_folds(
    candidate: MixedCandidate, data: Dataset, n_folds: int, metric: Metric
) -> tuple[dict[str, float], str]:
    """Return all metrics on folds, each predicted by a fit to the others, and how they were measured."""
    labels, scores = np.empty(data.Y.shape, dtype=np.int64), np.empty(data.Y.shape)
    for part in parts_of(data.name, data.Y.shape[0], data.groups, n_folds):
        others = np.delete(np.arange(data.Y.shape[0]), part)
        groups = None if data.groups is None else data.groups[others]
        model = candidate.fit(replace(data, X=rows_of(data.X, others), Y=data.Y[others], groups=groups))
        answer = prefit_answer(model, rows_of(data.X, part), data.Y.shape[1])
        labels[part], scores[part] = as_dense(answer.labels), answer.scores
    values = score_all(as_dense(data.Y), labels, scores, {**CATALOGUE, metric.name: metric}.values())
    return {name: float(v) for name, v in values.items() if np.isfinite(v)}, f"{n_folds}-fold cross-validation"


def has_probabilities(candidate: Candidate) -> bool:
    """Return whether the scores of a candidate's method are probabilities, and not decision values."""
    spec = spec_of(candidate)
    return bool(spec.calibration is not None or hasattr(spec.method.prototype, "predict_proba"))


def _name(candidate: Candidate) -> str:
    return candidate.method.partition("@")[0]


def fitted_with_scores(candidate: Candidate, data: Dataset, ranks: IntArray | None) -> tuple[Any, FloatArray]:
    """Return a candidate's model, fitted to all rows, and the scores of rows by which its thresholds were tuned.

    These are scores of rows that it has not seen: by leaving one out, or by five folds, for which the steps before it
    are fitted to all rows. With ranks they are of the later rows by a model of the earlier ones, whose steps have not
    seen them. The power of ML-MLM stays as it was selected there: scores by another one have another scale.
    """
    known, n_labels = PartialLabels.of(data.Y), data.Y.shape[1]
    *steps, method = (step for _, step in make_untuned(candidate, data).steps)
    X: Any = data.X
    for step in steps:
        X = step.fit_transform(X, known.with_nan())
    truth, needs, fitted = known, Needs(labels=False), None
    with without_advice():
        if ranks is not None:
            earlier, later = split_at(ranks)
            truth = known.rows(later)
            model = make_untuned(candidate, data).fit(rows_of(data.X, earlier), known.rows(earlier).with_nan())
            scores = prefit_answer(model, rows_of(data.X, later), n_labels, needs).scores
            settle(method, model[-1])
        elif hasattr(method, "loo_predict_proba"):
            fitted = clone(method).fit(X, known.with_nan())
            scores = left_out_answer(fitted, n_labels, needs, data.groups).scores
        else:
            scores = np.empty(data.Y.shape)
            for part in parts_of(data.name, data.Y.shape[0], data.groups, LOO):
                others = np.delete(np.arange(data.Y.shape[0]), part)
                one = clone(method).fit(rows_of(X, others), known.rows(others).with_nan())
                scores[part] = prefit_answer(one, rows_of(X, part), n_labels, needs).scores
    tuned = with_thresholds(candidate, method, X, known.with_nan(), scores, truth, fitted)
    return (make_pipeline(*steps, tuned) if steps else tuned), scores
