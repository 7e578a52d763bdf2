"""``nearlabel fit``: a model of a data set, in a file."""

from __future__ import annotations

import argparse
from dataclasses import replace
from math import nan
from typing import Any

from nearlabel.cli import _console, _guarantee, _kept, _missing, _test_data, _unknown
from nearlabel.cli._columns import usual_scale
from nearlabel.cli._copies import has_copies
from nearlabel.cli._first_look import print_severe
from nearlabel.cli._training import KeptModel, check_file
from nearlabel.cli.arguments.fit import AUTO, MOST, NONE
from nearlabel.cli.arguments.parsing import LOO
from nearlabel.datasets import Dataset
from nearlabel.experiments import (
    Candidate,
    ChosenNeighbors,
    MethodSpec,
    NeighborsChoice,
    Tuned,
    Tuning,
    make_search,
    usual_search,
)
from nearlabel.metrics.evaluation import title_of

_CHOSEN_SCALES, _CHOSEN_SEARCHES = ("minmax",), ("exact:metric=cosine",)  # or what is better in their place
_TRIED = ("brknn", "mlknn", "mlmlm")  # to select from; those that support unknown labels if there are any
_HINT = "Hint: --method mlknn."


def main(arguments: argparse.Namespace) -> None:
    """Select a model or use the named one, evaluate it on held-out samples, fit it to all samples, and save it."""
    check_file(arguments.file, force=arguments.force)
    plan = _choice(arguments) if arguments.method == AUTO else _named(arguments)
    keep = _kept.open_kept(arguments)
    data = _missing.open_training_data(_kept.without_kept(arguments))
    test = _test_data.open_test_data(arguments, data)
    calibration = _guarantee.hold_out(arguments, data, keep)
    if calibration is not None:
        data, keep = calibration.fitted_to, calibration.keep
    _print_severe(data, plan)
    if isinstance(plan, NeighborsChoice):
        _unknown.narrowed({name: name for name in _TRIED}, data, by_default=True)
    chosen = _chosen(plan, data)
    tuned = None
    if arguments.validate != NONE:
        tuning = replace(_tuning(arguments, chosen.candidate), without_copies=test is None and has_copies(data))
        with _console.progress_bar(f"models of {data.name}") as progress:
            tuned = tuning.run(data, progress=progress)
    kept = KeptModel.of(
        chosen.candidate if tuned is None else tuned.best,
        data,
        arguments.file,
        scores={} if tuned is None else tuned.scores,
        measured=_measured(chosen, tuned),
        test=test,
        keep=keep,
        calibration=calibration,
    )
    kept.print(choice=_in_words(arguments.metric, chosen, tuned))


def _named(arguments: argparse.Namespace) -> Candidate:
    """Return the named method as a candidate, whose number of neighbours is None if it is to be found."""
    for option, value in (("--thresholds", arguments.thresholds), ("--calibrate", arguments.calibrate)):
        if "@" in arguments.method and value is not None:
            raise ValueError(f"{option} must go with a method that names none after an @, got {arguments.method}.")
    calibrated = arguments.method if arguments.calibrate is None else f"{arguments.method}@{arguments.calibrate}"
    method = calibrated if arguments.thresholds in (None, NONE) else f"{calibrated}@{arguments.thresholds}"
    scale = arguments.scale or usual_scale(arguments)
    k = None if arguments.k == AUTO else arguments.k
    named = Candidate(method, k, scale, arguments.search or usual_search(scale), impute=_missing.imputation(arguments))
    has_neighbors = MethodSpec.of(method).has_neighbors
    if not has_neighbors and arguments.k is not None:
        raise ValueError(f"--k must go with a method by neighbours, got {arguments.method}.")
    if has_neighbors and k is None and arguments.validate == NONE:
        raise ValueError("--k must be a number with --validate none, got auto, which needs held-out samples.")
    _tuning(arguments, named)  # checks the other options, before there is any work
    return named


def _choice(arguments: argparse.Namespace) -> NeighborsChoice:
    """Return the selection of a method and its parameters, restricted by the options."""
    search = arguments.search or "exact"
    if search.partition(":")[0] != "exact":
        raise ValueError(f"--search must be exact if no method is named, got {search}. {_HINT}")
    if arguments.thresholds == NONE:
        raise ValueError(f"--thresholds must be tuned if no method is named, got none. {_HINT}")
    if arguments.calibrate is not None:
        raise ValueError(f"--calibrate must go with a named method, got {arguments.calibrate}. {_HINT}")
    distances: Any = None if arguments.search is None else (make_search(search).metric,)
    return NeighborsChoice(
        arguments.metric,
        n_neighbors=None if arguments.k in (None, AUTO) else (arguments.k,),
        scales=None if arguments.scale is None else (arguments.scale,),
        distances=distances,
        thresholds=arguments.thresholds,
        impute=_missing.imputation(arguments),
    )


def _print_severe(data: Dataset, plan: Candidate | NeighborsChoice) -> None:
    """Print severe problems of the data, except those that the named candidate, or the selection, fixes."""
    if isinstance(plan, NeighborsChoice):
        print_severe(data, scales=_CHOSEN_SCALES, searches=_CHOSEN_SEARCHES, by_neighbors=True)
    else:
        has_neighbors = MethodSpec.of(plan.method).has_neighbors
        print_severe(data, scales=(plan.scale,), searches=(str(plan.search),), by_neighbors=has_neighbors)


def _chosen(plan: Candidate | NeighborsChoice, data: Dataset) -> ChosenNeighbors:
    """Return the result of the selection, or the named candidate as the only one."""
    if isinstance(plan, Candidate):
        return ChosenNeighbors(plan, nan, nan, 1)
    with _console.progress_bar(f"methods for {data.name}"):
        return plan.run(data)


def _tuning(arguments: argparse.Namespace, candidate: Candidate) -> Tuning:
    """Return what evaluates a candidate, and finds its number of neighbours if it has none yet."""
    return Tuning(
        methods={candidate.method: candidate.method_object or candidate.method},
        n_neighbors=MOST if candidate.n_neighbors is None else (candidate.n_neighbors,),
        scales=(candidate.scale,),
        searches=(candidate.search or "exact",),
        metric=arguments.metric,
        cv=LOO if arguments.validate == NONE else arguments.validate,
        impute=candidate.impute,
    )


def _measured(chosen: ChosenNeighbors, tuned: Tuned | None) -> str:
    """Return how the scores were measured; those of a selected method are a little optimistic."""
    if tuned is None:
        return ""
    return tuned.measured + "; method selected on the same rows" * (chosen.n_candidates > 1)


def _in_words(metric: str, chosen: ChosenNeighbors, tuned: Tuned | None) -> str:
    """Return which models the model was selected from; empty if nothing was selected."""
    title = title_of(metric)
    if chosen.n_candidates > 1:
        values = f"{chosen.score:.4f}, cross-fitted {chosen.crossfit_score:.4f}"
        return f"the best of {chosen.n_candidates} by {title}: {values}"
    if tuned is None or len(tuned.trials) == 1:
        return ""
    return f"the best of {len(tuned.trials)} by {title}"
