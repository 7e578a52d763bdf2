"""``nearlabel tune``: the best of many models for a data set."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from nearlabel.cli import _console, _kept, _leaderboard, _missing, _test_data, _unknown
from nearlabel.cli._columns import is_mixed
from nearlabel.cli._copies import OF_ROWS, are_told, has_copies, print_share
from nearlabel.cli._first_look import print_severe
from nearlabel.cli._training import KeptModel, check_file, with_thresholds
from nearlabel.cli._verdict import verdict_of
from nearlabel.cli.arguments.registered import LEADERBOARD_METHODS
from nearlabel.cli.arguments.tune import SCALES_OF_MIXED, SEARCHES_OF_MIXED, USUAL_SCALES, USUAL_SEARCHES
from nearlabel.datasets import Dataset
from nearlabel.experiments import Candidate, MethodSpec, Tuned, Tuning
from nearlabel.files.atomic_file import check_can_be_written
from nearlabel.metrics.evaluation import WITHOUT_COPIES, title_of

_SAMPLE_ROWS = 2_000  # on which every line is tried first, of three times as many
_LEAST_SECONDS = 0.1


def main(arguments: argparse.Namespace) -> None:
    """Evaluate all models, save the best, print the scores."""
    start = time.monotonic()
    _check_files(arguments)
    tuning = _tuning(arguments)
    keep = _kept.open_kept(arguments)
    data = _missing.open_training_data(_kept.without_kept(arguments))
    test = _test_data.open_test_data(arguments, data)
    usual = arguments.methods == LEADERBOARD_METHODS
    tuning = replace(tuning, methods=_unknown.narrowed(tuning.methods, data, by_default=usual))
    by_neighbors = any(MethodSpec.of(method).has_neighbors for method in tuning.methods.values())
    print_severe(data, scales=tuning.scales, searches=tuning.searches, by_neighbors=by_neighbors)
    tuned = _tuned(tuning, data, arguments, start)
    verdict = verdict_of(tuned, greater_is_better=tuning.metric.greater_is_better)
    kept = None  # or in its file before anything is printed, since a reader of the table may close it early
    if arguments.file is not None:
        scores, measured = tuned.scores, tuned.measured
        kept = KeptModel.of(tuned.best, data, arguments.file, scores=scores, measured=measured, test=test, keep=keep)
    if arguments.format == "json":
        _console.print_json(_plain(tuned, verdict))
    elif arguments.format == "csv":
        _console.print_csv(_leaderboard.as_records(tuned))
    else:
        _print(tuned, data, verdict)
        _print_model(kept, tuned, data, arguments)


def _tuning(arguments: argparse.Namespace) -> Tuning:
    """Return the tuning that the options request."""
    mixed = is_mixed(arguments)
    return Tuning(
        methods=_with_thresholds(arguments.methods, arguments.thresholds),
        n_neighbors=arguments.k,
        scales=arguments.scales or (SCALES_OF_MIXED if mixed else USUAL_SCALES),
        searches=arguments.search or (SEARCHES_OF_MIXED if mixed else USUAL_SEARCHES),
        metric=arguments.metric,
        cv=arguments.cv,
        impute=_missing.imputation(arguments),
        sample_rows=_SAMPLE_ROWS,
        size_of=_leaderboard.size_in_file,
        one_scaling=True,
    )


def _tuned(tuning: Tuning, data: Dataset, arguments: argparse.Namespace, start: float) -> Tuned:
    """Try what there is time for since `start`."""
    tuning = replace(tuning, without_copies=has_copies(data))
    if arguments.time_limit is not None:
        left = arguments.time_limit - (time.monotonic() - start)
        tuning = replace(tuning, time_limit=max(left, _LEAST_SECONDS))
    with _console.progress_bar(f"models of {data.name}") as progress:
        return tuning.run(data, progress=progress, state=arguments.state)


def _check_files(arguments: argparse.Namespace) -> None:
    """Refuse files that cannot be written."""
    if arguments.state is not None:
        check_can_be_written(arguments.state, name="--state")
    check_file(arguments.file, force=arguments.force)


def _with_thresholds(methods: Iterable[str], thresholds: Sequence[str]) -> tuple[str, ...]:
    """Return each method with each of the thresholds; methods that already have thresholds are unchanged."""
    return tuple(dict.fromkeys(with_thresholds(method, name) for method in methods for name in thresholds))


def _plain(tuned: Tuned, verdict: str) -> dict[str, Any]:
    left_out = [{**line._asdict(), "reason": reason} for line, reason in tuned.left_out]
    return {
        "metric": tuned.metric,
        "scores": tuned.scores,
        "measured": tuned.measured,
        "n_samples": tuned.n_samples,
        "verdict": verdict,
        "trials": _leaderboard.as_records(tuned),
        "left_out": left_out,
    }


def _print(tuned: Tuned, data: Dataset, verdict: str) -> None:
    """Print the leaderboard, the metric of the selection, and the verdict."""
    _leaderboard.print_leaderboard(tuned, data)
    values = {"nested cross-validation": tuned.scores.get(tuned.metric)}
    if are_told(tuned.scores):
        values["without copies"] = tuned.scores.get(f"{tuned.metric}{WITHOUT_COPIES}")
    honest = "".join(f"; {words}: {value:.4f}" for words, value in values.items() if value is not None)
    _console.print_text(f"Selected for its {title_of(tuned.metric)} of {tuned.trials[0].value:.4f}{honest}.")
    if verdict:
        _console.print_text(verdict)


def _print_model(kept: KeptModel | None, tuned: Tuned, data: Dataset, arguments: argparse.Namespace) -> None:
    """Print the model that was saved, or how to save one."""
    if kept is not None:
        kept.print()
        return
    if are_told(tuned.scores):
        print_share(data, OF_ROWS)
    _console.print_text(_hint(tuned.best, arguments))


def _hint(best: Candidate, arguments: argparse.Namespace) -> str:
    """Return how to save the best model without trying all again."""
    if arguments.state is not None:
        return "Hint: the same command with --out best.skops saves the best model without trying again."
    k = "" if best.n_neighbors is None else f" --k {best.n_neighbors}"
    search = "" if best.search is None else f" --search {best.search}"
    return (
        f"Hint: nearlabel fit {arguments.data} --method {best.method}{k} --scale {best.scale}{search} --out best.skops,"
        " with the options that describe DATA, saves the best model."
    )
