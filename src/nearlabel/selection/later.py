"""Choices for later rows: in an order, models learn on the earlier rows, and the later ones set their thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from nearlabel.datasets import Dataset
from nearlabel.lazy import MLMLM
from nearlabel.metrics import CATALOGUE, Metric, score_all
from nearlabel.metrics.evaluation import Evaluation
from nearlabel.models.out_of_sample import EARLIER, prefit_answer, rows_of, split_at
from nearlabel.models.selector import Criterion
from nearlabel.selection.candidates import Candidate, spec_of
from nearlabel.selection.methods import MethodSpec
from nearlabel.selection.mixed import MixedCandidate, fitted_with_scores
from nearlabel.thresholds import TunedThresholdsClassifierCV
from nearlabel.utils.messages import without_advice
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

ORIGINS, NEXT = (0.6, 0.7, 0.8), 0.1  # shares of the rows before an origin, and after it
_LEAST_ROWS = 50  # of an estimate: fewer would be chance
_MOST_ROWS, _LEAST_GAIN = 4_000, 0.005  # to compare kinds of columns
_MOST_LANDMARKS = 2_000


def origins(ranks: IntArray) -> list[tuple[IntArray, IntArray]]:
    """Return, for each origin, the rows before it and about the next tenth; empty if rows or ranks are too few."""
    if len(ranks) < _LEAST_ROWS:
        return []
    found: dict[int, tuple[IntArray, IntArray]] = {}
    for share in ORIGINS:
        before, after = split_at(ranks, share)
        until, _ = split_at(ranks, share + NEXT)
        following = np.intersect1d(after, until)
        if len(np.unique(ranks[before])) > 1 and len(following):
            found[len(before)] = before, following
    return list(found.values())


def fit_for_later(candidate: Candidate, data: Dataset, ranks: IntArray) -> Any:
    """Return a candidate's model, fitted to all rows, whose thresholds are tuned on the later rows.

    The scores are those of the later half by leaving one out; of a method without such scores, and of a mixture, those
    of the later fifth by a model of the earlier rows.
    """
    if isinstance(candidate, MixedCandidate):
        return candidate.fit(data, ranks)
    model = candidate.make(data)
    *steps, last = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    if not (isinstance(last, TunedThresholdsClassifierCV) and last.cv == "loo"):
        return fitted_with_scores(candidate, data, ranks)[0]
    X: Any = data.X
    for step in steps:
        X = step.fit_transform(X, data.Y)
    last._fit_in_order(X, data.Y, ranks)
    return make_pipeline(*steps, last) if steps else last


class _Next(NamedTuple):
    """Rows after an origin: their label sets, and those predicted, with scores."""

    truth: Matrix
    labels: Matrix
    scores: FloatArray


def _predictions(candidate: Candidate, data: Dataset, ranks: IntArray, *, by_time: bool) -> Iterator[_Next]:
    """Yield the predictions for the rows after each origin by fits to all rows before it.

    Thresholds are tuned on the later ones of these, or, without `by_time`, as the candidate does.
    """
    for before, following in origins(ranks):
        known = replace(data, X=rows_of(data.X, before), Y=data.Y[before], groups=None)
        with without_advice():
            if by_time:
                model = fit_for_later(candidate, known, np.unique(ranks[before], return_inverse=True)[1])
            else:
                model = candidate.fit(known)
        answer = prefit_answer(model, rows_of(data.X, following), data.Y.shape[1])
        yield _Next(data.Y[following], as_dense(answer.labels), answer.scores)


def _affordable(candidate: Candidate) -> Candidate:
    """Return a candidate with at most 2,000 landmarks if it is ML-MLM: three fits with more would take minutes."""
    if isinstance(candidate, MixedCandidate):
        return candidate.with_parts([_affordable(of) for _, of in candidate.parts])
    spec = spec_of(candidate)
    method = spec.method.prototype
    if not isinstance(method, MLMLM) or method.n_landmarks != "auto":
        return candidate
    fewer = MethodSpec(clone(method).set_params(n_landmarks=_MOST_LANDMARKS), thresholds=spec.thresholds)
    return replace(candidate, method_object=fewer)


def later_scores(
    candidate: Candidate, data: Dataset, ranks: IntArray, metric: Metric, *, by_time: bool
) -> dict[str, float]:
    """Return all metrics on later rows: those after each of three origins, predicted by fits to the rows before it.

    With `by_time`, thresholds are tuned on the later of the rows before the origin, else as the candidate does. The
    candidate is given: its choice may have seen the rows after the origin. ML-MLM has at most 2,000 landmarks here, so
    that its estimate is a little low if it has more. Empty if there are too few rows, for the number of neighbours too,
    or too few ranks.
    """
    fewest = min([len(before) for before, _ in origins(ranks)], default=0) * (EARLIER if by_time else 1)
    most = candidate.most_neighbors if isinstance(candidate, MixedCandidate) else candidate.n_neighbors
    if fewest < (most or 0) + 2:  # left out, and not its own neighbour
        return {}
    parts = list(_predictions(_affordable(candidate), data, ranks, by_time=by_time))
    truth, labels, scores = (np.vstack([as_dense(part) for part in of]) for of in zip(*parts, strict=True))
    metrics = {**CATALOGUE, metric.name: metric}.values()
    return {name: float(v) for name, v in score_all(truth, labels, scores, metrics).items() if np.isfinite(v)}


def harmful_kind(candidate: Candidate, data: Dataset, ranks: IntArray, metric: Metric) -> tuple[str, float] | None:
    """Return the kind of columns without which later rows are predicted best, and the gain; None if it does not pay.

    The gain is the mean over the origins; it must be above one standard error, and 0.005. Some of many rows are drawn.
    """
    kinds = list(dict.fromkeys(data.feature_kinds))
    some = np.sort(np.random.default_rng(0).permutation(len(ranks))[:_MOST_ROWS])
    data = replace(data, X=rows_of(data.X, some), Y=data.Y[some], groups=None)
    ranks = np.unique(ranks[some], return_inverse=True)[1]
    if len(kinds) < 2 or len(origins(ranks)) < len(ORIGINS):
        return None
    with_all, found = _losses(candidate, data, ranks, metric), []
    for kind in kinds:
        kept = np.flatnonzero([of != kind for of in data.feature_kinds])
        gains = with_all - _losses(candidate, data.with_features(kept), ranks, metric)
        if gains.mean() > max(_LEAST_GAIN, gains.std(ddof=1) / np.sqrt(len(gains))):
            found.append((kind, float(gains.mean())))
    return max(found, key=itemgetter(1), default=None)


def _losses(candidate: Candidate, data: Dataset, ranks: IntArray, metric: Metric) -> FloatArray:
    """Return the loss by the metric on the rows after each origin."""
    criterion, losses = Criterion(metric), []
    for part in _predictions(candidate, data, ranks, by_time=False):
        (value,) = Evaluation.of(part.truth, [metric]).values(part.labels, part.scores).values()
        losses.append(criterion.loss(value))
    return np.array(losses)
