"""``nearlabel fit``: a model of a data set, in a file."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import nan
from typing import Any, TypeAlias

import nearlabel
from nearlabel.cli import _arguments, _console, _data, _imports, _matched_data, _model, _training, _understood
from nearlabel.utils.names import CALIBRATIONS, METHODS, PROMISED_MEASURES, SCALES, SEARCHES, THRESHOLDS

SUMMARY = "fit a model to a data set and save it"
EXAMPLES = (
    "nearlabel fit songs.csv --labels-prefix mood_ --ignore id,title --out songs.skops",
    "nearlabel fit multidigits --method mlknn --k auto --thresholds micro-f --out model.skops",
)
LOADS = ("datasets", "experiments", "metrics", "models")


# Text, since the help page loads no room.
Dataset: TypeAlias = "nearlabel.datasets.Dataset"
Plan: TypeAlias = "nearlabel.experiments.Candidate | nearlabel.experiments.NeighborsChoice"
Chosen: TypeAlias = "nearlabel.experiments.ChosenNeighbors"
Tuned: TypeAlias = "nearlabel.experiments.Tuned"

AUTO, NONE = "auto", "none"
MOST = 30  # numbers of neighbours of a named method that auto tries
SECONDS = 60  # of the selection
_NAMED = 3  # methods in a line on those that were left out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _data.add_data_options(parser)
    _data.add_kept_options(parser)
    _data.add_kind_options(parser)
    _model.add_file_options(parser, unless="--dry-run")
    _add_method_options(parser)
    parser.add_argument(
        "--only",
        choices=("neighbours",),
        help="if no method is named, try neighbours only; default: for words and texts a linear support vector machine"
        " too, mixed with them if that is better",
    )
    _training.add_updatable_option(parser)
    _training.add_split_option(parser)
    parser.add_argument(
        "--metric",
        default="micro_f1",
        metavar="NAME",
        help="metric used to select: one of the catalogue, or package.module:function, which runs its code; default:"
        " micro_f1",
    )
    parser.add_argument(
        "--validate",
        type=_arguments.folds_or(_arguments.LOO, NONE),
        default="loo",
        metavar="{loo,N,none}",
        help="how to evaluate the model and select k of a named method: leave-one-out (five folds for methods that do"
        " not support it), N shuffled folds, or not at all; default: loo",
    )
    parser.add_argument(
        "--time-limit",
        type=_arguments.seconds,
        default=SECONDS,
        metavar="SECONDS",
        help="time limit for selecting a model if no method is named; what was not tried by then is left out; the"
        f" evaluation and the fit take extra time; default: {SECONDS}",
    )
    _add_guarantee_options(parser)
    parser.set_defaults(format="table", check=_check)  # the format of the output


def _add_method_options(parser: argparse.ArgumentParser) -> None:
    """Add the method, its parameters, the preparation of features, and the samples that go together."""
    parser.add_argument(
        "--method",
        default=AUTO,
        metavar="SPEC",
        help="auto: select the best of brknn, mlknn and mlmlm (without mlmlm if labels are unknown), together with"
        " weights, distance, scaling, k and thresholds;"
        f" or one of {', '.join(METHODS)}, with options, thresholds and a feature selection, or"
        " package.module:Class, which runs its code, as in nearlabel evaluate --methods; default: auto",
    )
    parser.add_argument(
        "--k",
        type=_arguments.whole_number(1, "auto or a number from 1", AUTO),
        metavar="{auto,N}",
        help=f"number of neighbours; auto: for a named method the best of 1 to {MOST} on held-out samples; default:"
        " auto",
    )
    parser.add_argument(
        "--scale",
        choices=SCALES,
        help="how to scale numbers (fitted on training data); default: the best; for a named method none, or minmax if"
        " there are columns of other kinds",
    )
    _data.add_impute_option(parser)
    _data.add_range_option(parser)
    _data.add_groups_option(parser)
    _data.add_test_data_option(parser, used="to evaluate the model on")
    parser.add_argument(
        "--search",
        metavar="SEARCH",
        help=f"one of {', '.join(SEARCHES)}, or for a named method package.module:Class, which runs its code; default:"
        " exact with the best distance; for a named method exact, or"
        " exact:metric=cosine with --scale tfidf",
    )
    parser.add_argument(
        "--thresholds",
        metavar="NAME",
        help=f"none: the method's own decision; a number from 0 to 1; or tuned: {', '.join(THRESHOLDS)}; default: tuned"
        " for --metric; for a named method none",
    )
    parser.add_argument(
        "--calibrate",
        choices=CALIBRATIONS,
        help="how to calibrate the probabilities of a named method, for each label, on held-out samples; default: no"
        " calibration",
    )


def _add_guarantee_options(parser: argparse.ArgumentParser) -> None:
    """Add --guarantee and the option that goes with it."""
    parser.add_argument(
        "--guarantee",
        type=_measure_and_level,
        metavar="METRIC=LEVEL",
        help="guarantee at least this on new samples distributed like DATA: one of"
        f" {', '.join(PROMISED_MEASURES)}, as in recall=0.9. Three tenths of the rows, drawn with a fixed seed, are"
        " held out from everything else to set the threshold",
    )
    parser.add_argument(
        "--confidence",
        type=_arguments.share,
        metavar="P",
        help="with --guarantee: the probability that the guarantee is met, required for precision; default: it is met"
        " on average over draws of DATA",
    )


def _check(arguments: argparse.Namespace) -> None:
    """Refuse a fit without a file, and options that do not go with a guarantee, or with a split."""
    if arguments.file is None and not arguments.dry_run:
        arguments.parser.error("the following arguments are required: --out")
    if arguments.split_by is not None and arguments.groups is not None:
        raise ValueError("--split-by must go without --groups.")
    if arguments.split_by is not None and arguments.guarantee is not None:
        raise ValueError("--guarantee must go without --split-by: the guarantee is for samples like those of DATA.")
    if arguments.updatable and arguments.guarantee is not None:
        raise ValueError("--updatable must go without --guarantee: added rows end a guarantee.")
    if arguments.guarantee is None:
        if arguments.confidence is not None:
            raise ValueError("--confidence must go with --guarantee.")
        return
    if arguments.guarantee[0] == "precision" and arguments.confidence is None:
        raise ValueError("--guarantee precision must go with --confidence. Hint: --confidence 0.9.")
    behind = arguments.method.split("@")[1:]
    if arguments.thresholds is not None or not set(behind) <= set(CALIBRATIONS):
        raise ValueError("--guarantee must go without other thresholds (--thresholds, or after an @ in --method).")
    if arguments.groups is not None:
        raise ValueError("--guarantee must go without --groups: the guarantee is for samples drawn independently.")


def _measure_and_level(text: str) -> tuple[str, float]:
    measure, equals, level = text.partition("=")
    if not equals or measure not in PROMISED_MEASURES:
        raise argparse.ArgumentTypeError(
            f"must be METRIC=LEVEL with one of {', '.join(PROMISED_MEASURES)}, got {text!r}"
        )
    return measure, _arguments.share(level)


_CHOSEN_SCALES, _CHOSEN_SEARCHES = ("minmax",), ("exact:metric=cosine",)  # or what is better in their place
_TRIED = ("brknn", "mlknn", "mlmlm")  # to select from; those that support unknown labels if there are any
_HINT = "Hint: --method mlknn."


def main(arguments: argparse.Namespace) -> int:
    """Select a model or use the named one, evaluate it on held-out samples, fit it to all samples, and save it."""
    _training.check_file(arguments.file, force=arguments.force)
    plan = _choice(arguments) if arguments.method == AUTO else _named(arguments)
    keep = _model.open_kept(arguments)
    whole = data = _data.open_training_data(_model.without_kept(arguments))
    test = _matched_data.open_test_data(arguments, data)
    calibration = _model.hold_out(arguments, data, keep)
    if calibration is not None:
        data, keep = calibration.fitted_to, calibration.keep
    _print_severe(data, plan)
    if isinstance(plan, nearlabel.experiments.NeighborsChoice):
        _data.narrowed({name: name for name in _TRIED}, data, by_default=True)
    column, ranks, missing = ("", None, "") if calibration is not None else _training.order_of(arguments, data)
    splits = arguments.split_by is not None
    if arguments.dry_run:
        tried = _tried(arguments, plan, data, ranks if splits else None)
        shown = _model.without_kept(arguments)
        _understood.print_plan(shown, whole, tried, n_fitted=data.X.shape[0], test=test)
        return 0
    data, harm = _without_harm(arguments, data, column, ranks)
    without_copies = test is None and _matched_data.has_copies(data)
    if isinstance(plan, nearlabel.experiments.NeighborsChoice):
        plan = replace(plan, without_copies=without_copies)
    chosen, is_stopped = _chosen(plan, data, ranks if splits else None)
    tuned = None
    if arguments.validate != NONE and not is_stopped:
        tuned = _evaluated(arguments, chosen, data, without_copies=without_copies)
    best, scores = (chosen.candidate, chosen.scores) if tuned is None else (tuned.best, tuned.scores)
    measured = _measured(chosen, tuned)
    if _training.is_mixture(best) and isinstance(arguments.validate, int):
        scores, measured = _scores_by_folds(best, data, arguments)
    scores = {} if arguments.validate == NONE else scores
    later = ""
    if ranks is not None and scores:
        later = _on_later_rows(arguments.metric, best, data, ranks, scores, column, splits=splits)
    kept = _training.KeptModel.of(
        best,
        data,
        arguments,
        scores=scores,
        measured=measured if scores else "",
        model=chosen.model,
        test=test,
        keep=keep,
        calibration=calibration,
        ranks=ranks if splits else None,
    )
    kept.print(choice=_in_words(arguments.metric, chosen, tuned))
    for line in (later, missing, harm, _left_out(chosen.left_out, arguments, is_stopped=is_stopped)):
        if line:
            _console.print_text(line)
    return _training.exit_code(is_stopped, chosen.n_candidates, len(set(chosen.left_out)), arguments.file)


def _tried(arguments: argparse.Namespace, plan: Plan, data: Dataset, order: Any) -> dict[str, Any]:
    """Return what would be tried, for --dry-run; raise what that would raise about data and options."""
    if isinstance(plan, nearlabel.experiments.NeighborsChoice):
        return plan.tries(data, order=order)
    if arguments.validate == NONE:
        plan.make(data)
    else:
        _tuning(arguments, plan).check(data)
    return _understood.tried_by(_tuning(arguments, plan))


def _named(arguments: argparse.Namespace) -> nearlabel.experiments.Candidate:
    """Return the named method as a candidate, whose number of neighbours is None if it is to be found."""
    for option, value in (("--thresholds", arguments.thresholds), ("--calibrate", arguments.calibrate)):
        if "@" in arguments.method and value is not None:
            raise ValueError(f"{option} must go with a method that names none after an @, got {arguments.method}.")
    calibrated = arguments.method if arguments.calibrate is None else f"{arguments.method}@{arguments.calibrate}"
    method = calibrated if arguments.thresholds in (None, NONE) else f"{calibrated}@{arguments.thresholds}"
    scale = arguments.scale or _data.usual_scale(arguments)
    k = None if arguments.k == AUTO else arguments.k
    search = arguments.search or nearlabel.experiments.usual_search(scale)
    named = _imports.candidate(
        method, k, scale, search, impute=_data.imputation(arguments), out_of_range=arguments.out_of_range
    )
    has_neighbors = _has_neighbors(named)
    if arguments.updatable:
        _training.check_updatable(method, named.method_object or method)
    if not has_neighbors and arguments.k is not None:
        raise ValueError(f"--k must go with a method by neighbours, got {arguments.method}.")
    if has_neighbors and k is None and arguments.validate == NONE:
        raise ValueError("--k must be a number with --validate none, got auto, which needs held-out samples.")
    _tuning(arguments, named)  # checks the other options, before there is any work
    return named


def _choice(arguments: argparse.Namespace) -> nearlabel.experiments.NeighborsChoice:
    """Return the selection of a method and its parameters, restricted by the options."""
    search = arguments.search or "exact"
    if search.partition(":")[0] != "exact":
        raise ValueError(f"--search must be exact if no method is named, got {search}. {_HINT}")
    if arguments.thresholds == NONE:
        raise ValueError(f"--thresholds must be tuned if no method is named, got none. {_HINT}")
    if arguments.calibrate is not None:
        raise ValueError(f"--calibrate must go with a named method, got {arguments.calibrate}. {_HINT}")
    distances: Any = None if arguments.search is None else (nearlabel.experiments.make_search(search).metric,)
    return nearlabel.experiments.NeighborsChoice(
        _imports.metric(arguments.metric),
        n_neighbors=None if arguments.k in (None, AUTO) else (arguments.k,),
        scales=None if arguments.scale is None else (arguments.scale,),
        distances=distances,
        thresholds=None if arguments.thresholds is None else _imports.thresholds(arguments.thresholds),
        impute=_data.imputation(arguments),
        time_limit=arguments.time_limit,
        updatable=arguments.updatable,
        with_linear=arguments.only is None,
        out_of_range=arguments.out_of_range,
    )


def _print_severe(data: Dataset, plan: Plan) -> None:
    """Print severe problems of the data, except those that the named candidate, or the selection, fixes."""
    if isinstance(plan, nearlabel.experiments.NeighborsChoice):
        _data.print_severe(data, scales=_CHOSEN_SCALES, searches=_CHOSEN_SEARCHES, by_neighbors=True)
    else:
        searches = (str(plan.search),)
        _data.print_severe(data, scales=(plan.scale,), searches=searches, by_neighbors=_has_neighbors(plan))


def _has_neighbors(candidate: nearlabel.experiments.Candidate) -> bool:
    from nearlabel.selection.candidates import spec_of

    return spec_of(candidate).has_neighbors


def _without_harm(arguments: argparse.Namespace, data: Dataset, column: str, ranks: Any) -> tuple[Dataset, str]:
    """Return the data without the kind of columns that makes later rows worse, and a line on it.

    Columns are left out with --split-by only; otherwise they are named. Where columns are texts, the choice tries these
    alone.
    """
    import numpy as np

    from nearlabel.selection import guests, later

    if ranks is None or data.X.dtype.kind != "O" or "text" in data.feature_kinds:
        return data, ""
    probe = nearlabel.experiments.Candidate(
        "mlknn@micro-f", 10, "minmax", "exact", impute=_data.imputation(arguments), out_of_range=arguments.out_of_range
    )
    with _console.progress_bar(f"columns of {data.name}"):
        found = later.harmful_kind(probe, data, ranks, guests.read_metric(None, _imports.metric(arguments.metric)))
    splits = arguments.split_by is not None
    if found is not None and splits:
        data = data.with_features(np.flatnonzero([kind != found[0] for kind in data.feature_kinds]))
    return data, _training.harm_in_words(column, found, is_left_out=splits)


def _on_later_rows(
    metric: str,
    candidate: nearlabel.experiments.Candidate,
    data: Dataset,
    ranks: Any,
    scores: Mapping[str, float],
    column: str,
    *,
    splits: bool,
) -> str:
    """Return a line with both estimates: among rows like these, and on later ones."""
    from nearlabel.selection import guests, later

    of = guests.read_metric(None, _imports.metric(metric))
    with _console.progress_bar(f"later rows of {data.name}"):
        found = later.later_scores(candidate, data, ranks, of, by_time=splits)
    if of.name not in found:
        return f"No estimate for later rows: DATA must have more rows, or more distinct values of {column}."
    title = nearlabel.metrics.evaluation.title_of(metric)
    among = f"among rows like these {scores[of.name]:.4f}, " if of.name in scores else ""
    return f"{title}: {among}on later rows {found[of.name]:.4f} (three fits, each to the rows before, by {column})."


def _chosen(plan: Plan, data: Dataset, order: Any) -> tuple[Chosen, bool]:
    """Return the result of the selection, or the named candidate as the only one, and whether Ctrl-C ended it."""
    if isinstance(plan, nearlabel.experiments.Candidate):
        return nearlabel.experiments.ChosenNeighbors(plan, nan, nan, 1), False
    with _console.progress_bar(f"methods for {data.name}"), _training.stoppable() as is_stopped:
        return plan.run(data, order=order), is_stopped()


def _evaluated(arguments: argparse.Namespace, chosen: Chosen, data: Dataset, *, without_copies: bool) -> Tuned | None:
    """Evaluate a candidate on held-out samples, and find its number of neighbours; None if the selection did that."""
    if _training.is_mixture(chosen.candidate):
        return None
    if chosen.scores and not without_copies and arguments.validate == _arguments.LOO:
        return None
    tuning = replace(_tuning(arguments, chosen.candidate), without_copies=without_copies)
    with _console.progress_bar(f"models of {data.name}") as progress:
        return tuning.run(data, progress=progress)


def _scores_by_folds(candidate: Any, data: Dataset, arguments: argparse.Namespace) -> tuple[Mapping[str, float], str]:
    """Return all metrics of a mixture on folds, and how they were measured."""
    from nearlabel.selection import mixed

    with _console.progress_bar(f"folds of {data.name}"):
        metric = nearlabel.experiments.make_metric(_imports.metric(arguments.metric))
        return mixed.scores_by_folds(candidate, data, arguments.validate, metric)


def _left_out(left_out: Sequence[str], arguments: argparse.Namespace, *, is_stopped: bool) -> str:
    """Return a line on the methods that were not tried, or not on all rows, and how to try them; empty if all were."""
    if not left_out:
        return ""
    when = "Ctrl-C" if is_stopped else f"the time limit of {arguments.time_limit:g} seconds"
    more_time = "the same command with" if is_stopped else f"--time-limit {10 * arguments.time_limit:g}"
    hint = f" Hint: {more_time} --force tries more."
    names = list(dict.fromkeys(left_out))
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"Left out at {when}: {', '.join(names[:_NAMED])}{more}.{hint}"


def _tuning(arguments: argparse.Namespace, candidate: nearlabel.experiments.Candidate) -> nearlabel.experiments.Tuning:
    """Return what evaluates a candidate, and finds its number of neighbours if it has none yet."""
    return nearlabel.experiments.Tuning(
        methods={candidate.method: candidate.method_object or candidate.method},
        n_neighbors=MOST if candidate.n_neighbors is None else (candidate.n_neighbors,),
        scales=(candidate.scale,),
        searches={candidate.search or "exact": candidate.search_object or candidate.search or "exact"},
        metric=_imports.metric(arguments.metric),
        cv=_arguments.LOO if arguments.validate == NONE else arguments.validate,
        impute=candidate.impute,
        out_of_range=candidate.out_of_range,
    )


def _measured(chosen: Chosen, tuned: Tuned | None) -> str:
    """Return how the scores were measured; those of a selected method are a little optimistic."""
    measured = chosen.measured if tuned is None else tuned.measured
    return measured + "; method selected on the same rows" * (chosen.n_candidates > 1)


def _in_words(metric: str, chosen: Chosen, tuned: Tuned | None) -> str:
    """Return which models the model was selected from; empty if nothing was selected."""
    title = nearlabel.metrics.evaluation.title_of(metric)
    if chosen.n_candidates > 1:
        values = f"{chosen.score:.4f}, cross-fitted {chosen.crossfit_score:.4f}"
        return f"the best of {chosen.n_candidates} by {title}: {values}"
    if tuned is None or len(tuned.trials) == 1:
        return ""
    return f"the best of {len(tuned.trials)} by {title}"
