"""``nearlabel fit``: a model of a data set, in a file."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from nearlabel.cli import _console, _data, _kept, _missing, _test_data
from nearlabel.cli._columns import add_kind_options, usual_scale
from nearlabel.cli._comparison import title_of
from nearlabel.cli._copies import has_copies
from nearlabel.cli._first_look import print_severe
from nearlabel.cli._training import (
    LOO,
    KeptModel,
    add_file_options,
    check_file,
    folds_or_loo,
    with_thresholds,
)
from nearlabel.experiments import METHODS, SEARCHES, THRESHOLDS, Candidate, MethodSpec, Tuning, usual_search
from nearlabel.preprocessing import SCALES

_AUTO, _NONE = "auto", "none"
_MOST = 30  # numbers of neighbours that auto chooses from


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _data.add_data_options(parser)
    _kept.add_kept_options(parser)
    add_kind_options(parser)
    add_file_options(parser, required=True)
    parser.add_argument(
        "--method",
        default="mlknn",
        metavar="SPEC",
        help=f"one of {', '.join(METHODS)}, with options, thresholds and a selection of features as in nearlabel"
        " evaluate --methods; default: mlknn",
    )
    parser.add_argument(
        "--k",
        type=_number_or_auto,
        default=None,
        metavar="{auto,N}",
        help=f"number of neighbours; auto: the best of 1 to {_MOST} on held-out rows; default: auto",
    )
    parser.add_argument(
        "--scale",
        choices=SCALES,
        default=None,
        help="how to scale numbers (fitted on training data); default: none, beside columns of other kinds minmax",
    )
    _missing.add_impute_option(parser)
    _data.add_groups_option(parser)
    _test_data.add_test_data_option(parser, used="on which the model is evaluated")
    parser.add_argument(
        "--search",
        default=None,
        metavar="SEARCH",
        help=f"one of {', '.join(SEARCHES)}; default: exact, with --scale tfidf exact:metric=cosine",
    )
    parser.add_argument(
        "--thresholds",
        default=_NONE,
        metavar="NAME",
        help=f"none: the method's own decision; a number from 0 to 1; or tuned: {', '.join(THRESHOLDS)}; default: none",
    )
    parser.add_argument(
        "--metric",
        default="micro_f1",
        metavar="NAME",
        help="metric used to select k: one of the catalogue, or package.module:function; default: micro_f1",
    )
    parser.add_argument(
        "--validate",
        type=_folds_loo_or_none,
        default="loo",
        metavar="{loo,N,none}",
        help="how to evaluate the model and select k: each row by all others (methods without leave-one-out answers:"
        " by five folds), by N shuffled folds, or not at all; default: loo",
    )


def main(arguments: argparse.Namespace) -> None:
    """Evaluate the model on held-out rows, fit it to all rows, save it."""
    _console.check_format("table")
    check_file(arguments.file, force=arguments.force)
    if "@" in arguments.method and arguments.thresholds != _NONE:
        raise ValueError(f"--thresholds must go with a method that names none behind an @, got {arguments.method}.")
    method = with_thresholds(arguments.method, arguments.thresholds)
    has_neighbors = MethodSpec.of(method).has_neighbors
    k = _number_of_neighbors(arguments, has_neighbors=has_neighbors)
    scale = arguments.scale or usual_scale(arguments)
    search = usual_search(scale) if arguments.search is None else arguments.search
    is_judged = arguments.validate != _NONE
    tuning = Tuning(
        methods=(method,),
        n_neighbors=_MOST if k in (None, _AUTO) else (k,),
        scales=(scale,),
        searches=(search,),
        metric=arguments.metric,
        cv=arguments.validate if is_judged else LOO,
        impute=_missing.imputation(arguments),
    )
    keep = _kept.open_kept(arguments)
    data = _missing.open_training_data(_kept.without_kept(arguments))
    test = _test_data.open_test_data(arguments, data)
    if is_judged and test is None and has_copies(data):
        tuning = replace(tuning, without_copies=True)
    print_severe(data, scales=(scale,), searches=(search,), by_neighbors=has_neighbors)
    if is_judged:
        with _console.progress_bar(f"models of {data.name}") as progress:
            tuned = tuning.run(data, progress=progress)
        chosen_of = f", the best of {len(tuned.trials)} by {title_of(arguments.metric)}" if k == _AUTO else ""
        scores, measured = tuned.scores, tuned.measured
        kept = KeptModel.of(tuned.best, data, arguments.file, scores=scores, measured=measured, test=test, keep=keep)
        kept.print(chosen_of=chosen_of)
    else:
        candidate = Candidate(method, k, scale, search, impute=tuning.impute)
        KeptModel.of(candidate, data, arguments.file, scores={}, test=test, keep=keep).print()


def _number_of_neighbors(arguments: argparse.Namespace, *, has_neighbors: bool) -> Any:
    """Return the number, "auto", or None for a method without."""
    if not has_neighbors:
        if arguments.k is not None:
            raise ValueError(f"--k must go with a method by neighbours, got {arguments.method}.")
        return None
    if arguments.k in (None, _AUTO) and arguments.validate == _NONE:
        raise ValueError("--k must be a number with --validate none, got auto, which takes rows held out.")
    return arguments.k or _AUTO


def _number_or_auto(text: str) -> int | str:
    if text == _AUTO:
        return text
    if not (text.isascii() and text.isdecimal()) or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be auto or a number from 1, got {text!r}")
    return int(text)


def _folds_loo_or_none(text: str) -> int | str:
    return text if text == _NONE else folds_or_loo(text)
