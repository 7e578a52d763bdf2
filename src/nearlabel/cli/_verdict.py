"""A sentence on whether neighbours are best for some data."""

from __future__ import annotations

import numpy as np

from nearlabel.comparison import PairedValues, paired_tests
from nearlabel.experiments import MethodSpec, Trial, Tuned
from nearlabel.metrics.evaluation import title_of

_ALPHA = 0.05
_LEAST_GAIN = 5e-5  # what four digits show
_UNLIKE = "; folds train on fewer rows than leave-one-out, --cv 5 treats both in the same way"


def verdict_of(tuned: Tuned, *, greater_is_better: bool) -> str:
    """Return a sentence on the best method by neighbours and the best other one; empty unless there are both.

    They are compared by the corrected t-test on the parts of the rows. A mixture contains both, so it belongs to
    neither kind; if it is ahead of both, the sentence reports it.
    """
    best: dict[bool, Trial] = {}  # by whether it is by neighbours
    for trial in tuned.trials:
        if not _spec_of(trial).mixes_neighbors:
            best.setdefault(_spec_of(trial).is_lazy, trial)
    if len(best) < 2:
        return ""
    first, ahead = tuned.trials[0], next(iter(best.values()))  # in the order of the trials
    sentence = _of_two(best[True], best[False], tuned, greater_is_better=greater_is_better)
    gain = abs(first.value - ahead.value)
    if first is ahead or gain < _LEAST_GAIN:
        return sentence
    mixture = f"A mixture of both, {first.candidate.method}, is the best"
    return f"{sentence} {mixture}, {gain:.4f} ahead of {ahead.candidate.method}."


def _of_two(lazy: Trial, other: Trial, tuned: Tuned, *, greater_is_better: bool) -> str:
    """Return a sentence on the best trials of both kinds."""
    gain = abs(lazy.value - other.value)
    if gain < _LEAST_GAIN:
        return f"Neighbours are as good as others here: {lazy.candidate.method} and {other.candidate.method}."
    ahead, behind = (lazy, other) if tuned.trials.index(lazy) < tuned.trials.index(other) else (other, lazy)
    by = f"{gain:.4f} {title_of(tuned.metric)}, {_noise(ahead, behind, tuned.metric, greater_is_better)}"
    if ahead is other:
        return (
            f"{other.candidate.method} is better here than the best neighbour method, {lazy.candidate.method}, by {by};"
            " neighbours explain their predictions."
        )
    unlike = "" if lazy.held_out == other.held_out else _UNLIKE
    return f"Neighbours are best here: {lazy.candidate.method} is ahead of {other.candidate.method} by {by}{unlike}."


def _spec_of(trial: Trial) -> MethodSpec:
    of = trial.candidate
    return MethodSpec.of(of.method if of.method_object is None else of.method_object)


def _noise(ahead: Trial, behind: Trial, metric: str, greater_is_better: bool) -> str:
    """Return whether one trial is better than another by more than noise."""
    values = np.array([ahead.values, behind.values]).T
    pairs = PairedValues("", metric, ("ahead", "behind"), values, 1 / (len(values) - 1), greater_is_better)
    tests = paired_tests(pairs, "corrected-t")
    if not tests or not np.isfinite(tests[0].p_value):
        return f"which {len(values)} parts of the rows cannot distinguish from noise"
    p_value, is_better = tests[0].p_value, tests[0].better == "ahead"
    words = "significant" if p_value < _ALPHA and is_better else "not significant"
    return f"{words} (p = {p_value:.2g}, corrected t-test on {len(values)} parts of the rows)"
