"""``nearlabel tune``: the best of many models for a data set."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nearlabel.cli import _comparison, _console, _data, _kept, _leaderboard, _missing, _test_data
from nearlabel.cli._columns import add_kind_options, is_mixed
from nearlabel.cli._comparison import title_of
from nearlabel.cli._copies import OF_ROWS, are_told, has_copies, print_share
from nearlabel.cli._evaluate import numbers
from nearlabel.cli._first_look import print_severe
from nearlabel.cli._training import (
    LOO,
    KeptModel,
    add_file_options,
    check_file,
    folds_or_loo,
    with_thresholds,
)
from nearlabel.datasets import Dataset
from nearlabel.experiments import (
    LEADERBOARD_METHODS,
    METHODS,
    SEARCHES,
    THRESHOLDS,
    Candidate,
    MethodSpec,
    Tuned,
    Tuning,
)
from nearlabel.files.atomic_file import check_can_be_written
from nearlabel.metrics.evaluation import WITHOUT_COPIES
from nearlabel.preprocessing import SCALES

_SCALES, _SCALES_OF_MIXED = ("none", "minmax"), ("minmax", "standard")
_SEARCHES, _SEARCHES_OF_MIXED = ("exact", "exact:metric=cosine"), ("exact",)
_MOST = 30  # numbers of neighbours, as far as the rows allow
_SAMPLE_ROWS = 2_000  # on which every line is tried first, of three times as many
_LEAST_SECONDS = 0.1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _data.add_data_options(parser)
    _kept.add_kept_options(parser)
    add_kind_options(parser)
    add_file_options(parser, required=False)
    parser.add_argument(
        "--methods",
        type=_comparison.some_names,
        default=LEADERBOARD_METHODS,
        help=f"comma-separated, of {', '.join(METHODS)}, or package.module:Class, as in nearlabel evaluate; default:"
        f" {','.join(LEADERBOARD_METHODS)}",
    )
    parser.add_argument(
        "--k", type=numbers, default=_MOST, help="numbers of neighbours: 10, 1-30 or 5,10,20; default: 1-30"
    )
    parser.add_argument(
        "--scales",
        type=_comparison.some_names,
        default=None,
        help=f"comma-separated, of {', '.join(SCALES)}; default: {','.join(_SCALES)}, beside columns of other kinds"
        f" {','.join(_SCALES_OF_MIXED)}",
    )
    _missing.add_impute_option(parser)
    _data.add_groups_option(parser)
    _test_data.add_test_data_option(parser, used="on which the best model is evaluated")
    parser.add_argument(
        "--search",
        type=_comparison.some_names,
        default=None,
        help=f"comma-separated, of {', '.join(SEARCHES)}, with options such as the distance, or package.module:Class;"
        " default:"
        f" {','.join(_SEARCHES)}, beside columns of other kinds {','.join(_SEARCHES_OF_MIXED)}",
    )
    parser.add_argument(
        "--thresholds",
        type=_comparison.some_names,
        default=("none",),
        help="comma-separated, for methods that name none behind an @: none, numbers from 0 to 1,"
        f" {', '.join(THRESHOLDS)}; default: none",
    )
    parser.add_argument(
        "--metric",
        default="micro_f1",
        metavar="NAME",
        help="metric used to select the best: one of the catalogue, or package.module:function; default: micro_f1",
    )
    parser.add_argument(
        "--cv",
        type=folds_or_loo,
        default=LOO,
        metavar="{loo,N}",
        help="each row by all others (methods without leave-one-out answers: by five folds), or by N shuffled folds;"
        " default: loo",
    )
    parser.add_argument(
        "--time-limit",
        type=_seconds,
        default=None,
        metavar="SECONDS",
        help="for reading and trying; what is not tried by then is left out, the fit and file of --out come on top;"
        " default: none",
    )
    parser.add_argument(
        "--state",
        type=Path,
        default=None,
        metavar="FILE",
        help="what was tried: the same command goes on there, with other --out, --time-limit and --format, too;"
        " default: not kept",
    )
    parser.add_argument("--format", choices=_console.FORMATS, default="table", help="default: table")


def main(arguments: argparse.Namespace) -> None:
    """Evaluate all models, save the best, print the scores."""
    start = time.monotonic()
    check_file(arguments.file, force=arguments.force)
    if arguments.state is not None:
        check_can_be_written(arguments.state, name="--state")
    _check_goes_with_file(arguments)
    mixed = is_mixed(arguments)
    scales = arguments.scales or (_SCALES_OF_MIXED if mixed else _SCALES)
    searches = arguments.search or (_SEARCHES_OF_MIXED if mixed else _SEARCHES)
    tuning = Tuning(
        methods=_with_thresholds(arguments.methods, arguments.thresholds),
        n_neighbors=arguments.k,
        scales=scales,
        searches=searches,
        metric=arguments.metric,
        cv=arguments.cv,
        impute=_missing.imputation(arguments),
        sample_rows=_SAMPLE_ROWS,
        size_of=_leaderboard.size_in_file,
    )
    keep = _kept.open_kept(arguments)
    data = _missing.open_training_data(_kept.without_kept(arguments))
    test = _test_data.open_test_data(arguments, data)
    if has_copies(data):
        tuning = replace(tuning, without_copies=True)
    by_neighbors = any(MethodSpec.of(method).has_neighbors for method in arguments.methods)
    print_severe(data, scales=scales, searches=searches, by_neighbors=by_neighbors)
    if arguments.time_limit is not None:
        left = arguments.time_limit - (time.monotonic() - start)
        tuning = replace(tuning, time_limit=max(left, _LEAST_SECONDS))
    with _console.progress_bar(f"models of {data.name}") as progress:
        tuned = tuning.run(data, progress=progress, state=arguments.state)
    verdict = _leaderboard.verdict(tuned, greater_is_better=tuning.metric.greater_is_better)
    kept = None  # or, before anything is printed, in its file: whoever reads the table may close it early
    if arguments.file is not None:
        scores, measured = tuned.scores, tuned.measured
        kept = KeptModel.of(tuned.best, data, arguments.file, scores=scores, measured=measured, test=test, keep=keep)
    if arguments.format == "json":
        _console.print_json(_plain(tuned, verdict))
    elif arguments.format == "csv":
        _console.print_csv(_leaderboard.as_records(tuned))
    else:
        _print(tuned, data, verdict)
        if kept is None:
            if are_told(tuned.scores):
                print_share(data, OF_ROWS)
            _console.print_text(_hint(tuned.best, arguments))
        else:
            kept.print()


def _check_goes_with_file(arguments: argparse.Namespace) -> None:
    """Refuse options of the model that is saved where none is."""
    if arguments.file is not None:
        return
    if arguments.test_data is not None:
        raise ValueError("--test-data must go with --out: the model that is saved is evaluated on them.")
    for option in ("id", "show"):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option} must go with --out: the model that is saved keeps these columns.")


def _with_thresholds(methods: Iterable[str], thresholds: Sequence[str]) -> tuple[str, ...]:
    """Return each method with each of the thresholds, those that have some already as they are."""
    return tuple(dict.fromkeys(with_thresholds(method, name) for method in methods for name in thresholds))


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise argparse.ArgumentTypeError(f"must be a positive number of seconds, got {text!r}")
    return seconds


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
    """Print the leaderboard, what the best was selected for, and the verdict."""
    _leaderboard.print_leaderboard(tuned, data)
    apart = tuned.scores.get(tuned.metric)
    held_out = "" if apart is None else f"; nested cross-validation: {apart:.4f}"
    without = tuned.scores.get(f"{tuned.metric}{WITHOUT_COPIES}")
    told = are_told(tuned.scores) and without is not None
    held_out += f"; without copies: {without:.4f}" if told else ""
    _console.print_text(f"Selected for its {title_of(tuned.metric)} of {tuned.trials[0].value:.4f}{held_out}.")
    if verdict:
        _console.print_text(verdict)


def _hint(best: Candidate, arguments: argparse.Namespace) -> str:
    """Return how to save the best model without trying all again."""
    if arguments.state is not None:
        return "Hint: the same command with --out best.skops saves the best model, and tries nothing again."
    k = "" if best.n_neighbors is None else f" --k {best.n_neighbors}"
    search = "" if best.search is None else f" --search {best.search}"
    return (
        f"Hint: nearlabel fit {arguments.data} --method {best.method}{k} --scale {best.scale}{search} --out best.skops,"
        " with the options that say what DATA holds, saves the best model."
    )
