"""The results of a tuning: the trials, best first, and the nested cross-validation scores of the selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nearlabel.experiments._attempt import Attempt, Cost, LeftOut, Line, Trial
from nearlabel.experiments._candidate import Candidate
from nearlabel.experiments._choice import Choice, loss_of
from nearlabel.experiments._grid import Fitting
from nearlabel.experiments._samples import LOO, Samples, parts_of
from nearlabel.metrics import Metric
from nearlabel.metrics.evaluation import named_without_copies
from nearlabel.utils.types import IntArray


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
        """The candidate with the best value."""
        return self.trials[0].candidate


def tuned_of(
    attempt: Attempt, samples: Samples, fittings: Sequence[Fitting], metric: Metric, *, suffix: str = ""
) -> Tuned:
    """Return the results; the description of the measurement ends with `suffix`."""
    defined = [trial for trial in attempt.trials if np.isfinite(trial.value)]
    if not defined:
        raise ValueError(f"metric must be defined on the samples, got {metric.name}. Hint: micro_f1 always is.")
    best_first = sorted(defined, key=lambda trial: loss_of(metric, trial.value))
    choice = Choice(samples.Y, samples.parts, metric, attempt.chosen)
    scores = choice.scores()
    if samples.copies is not None:
        scores |= _without_copies(best_first[0].candidate, fittings, choice, samples.copies)
    left_out = attempt.left_out | _out_of_time(fittings, attempt)
    return Tuned(
        tuple(best_first),
        metric.name,
        scores,
        _measured(attempt, fittings, len(samples.parts)) + suffix,
        attempt.costs,
        tuple(LeftOut(line, reason) for line, reason in left_out.items()),
        samples.Y.shape[0],
    )


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
                some = f"{n_tried[line]} of {len(fitting.numbers)} numbers of neighbours were tried in the time"
                missing[line] = some if n_tried[line] else "not tried in the time"
    return missing
