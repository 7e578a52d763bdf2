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
from nearlabel.cli._verdict import verdict_of
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
from nearlabel.metrics.evaluation import WITHOUT_COPIES, title_of
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
    _add_candidate_options(parser)
    _add_choice_options(parser)
    parser.add_argument("--format", choices=_console.FORMATS, default="table", help="default: table")


def _add_candidate_options(parser: argparse.ArgumentParser) -> None:
    """Declare what is tried on which rows."""
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


def _add_choice_options(parser: argparse.ArgumentParser) -> None:
    """Declare how the best is chosen, and until when."""
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


def main(arguments: argparse.Namespace) -> None:
    """Evaluate all models, save the best, print the scores."""
    start = time.monotonic()
    _check_files(arguments)
    tuning = _tuning(arguments)
    keep = _kept.open_kept(arguments)
    data = _missing.open_training_data(_kept.without_kept(arguments))
    test = _test_data.open_test_data(arguments, data)
    by_neighbors = any(MethodSpec.of(method).has_neighbors for method in tuning.methods.values())
    print_severe(data, scales=tuning.scales, searches=tuning.searches, by_neighbors=by_neighbors)
    tuned = _tuned(tuning, data, arguments, start)
    verdict = verdict_of(tuned, greater_is_better=tuning.metric.greater_is_better)
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
        _print_model(kept, tuned, data, arguments)


def _tuning(arguments: argparse.Namespace) -> Tuning:
    """Return what the options ask for."""
    mixed = is_mixed(arguments)
    return Tuning(
        methods=_with_thresholds(arguments.methods, arguments.thresholds),
        n_neighbors=arguments.k,
        scales=arguments.scales or (_SCALES_OF_MIXED if mixed else _SCALES),
        searches=arguments.search or (_SEARCHES_OF_MIXED if mixed else _SEARCHES),
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
    """Refuse files that cannot be written, and options of the model that is saved where none is."""
    if arguments.state is not None:
        check_can_be_written(arguments.state, name="--state")
    if arguments.file is not None:
        check_file(arguments.file, force=arguments.force)
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
        return "Hint: the same command with --out best.skops saves the best model, and tries nothing again."
    k = "" if best.n_neighbors is None else f" --k {best.n_neighbors}"
    search = "" if best.search is None else f" --search {best.search}"
    return (
        f"Hint: nearlabel fit {arguments.data} --method {best.method}{k} --scale {best.scale}{search} --out best.skops,"
        " with the options that say what DATA holds, saves the best model."
    )
