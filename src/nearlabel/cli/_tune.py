"""``nearlabel tune``: the best of many models for a data set."""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import nearlabel
from nearlabel.cli import _arguments, _console, _data, _imports, _matched_data, _model, _training, _understood
from nearlabel.utils.names import LEADERBOARD_METHODS, METHODS, SCALES, SEARCHES, THRESHOLDS

SUMMARY = "select the best of many models for a data set"
EXAMPLES = (
    "nearlabel tune multidigits --k 1-30 --out best.skops",
    "nearlabel tune songs.csv --labels mood_calm,mood_sad,mood_wild --ignore id,title --out songs.skops",
)
LOADS = ("comparison", "datasets", "experiments", "metrics", "models", "persistence")


# Text, since the help page loads no room.
Dataset: TypeAlias = "nearlabel.datasets.Dataset"
Line: TypeAlias = "nearlabel.experiments.Line"
Trial: TypeAlias = "nearlabel.experiments.Trial"
Tuned: TypeAlias = "nearlabel.experiments.Tuned"


class Usual(NamedTuple):
    """What is tried unless options name it."""

    methods: tuple[str, ...]
    scales: tuple[str, ...]
    searches: tuple[str, ...]


_COSINE = "exact:metric=cosine"
OF_NUMBERS = Usual(LEADERBOARD_METHODS, ("none", "minmax"), ("exact", _COSINE))
OF_MIXED = Usual(LEADERBOARD_METHODS, ("minmax", "standard"), ("exact",))
OF_TEXTS = Usual(  # the other methods take minutes for thousands of words
    (
        "brknn:weights=distance@micro-f",
        "mlknn@micro-f",
        "brknn:weights=similarity-2@micro-f",
        "svm:C=0.25@micro-f",
        "svm:C=1@micro-f",
        "mlmlm:scale=none:metric=cosine@micro-f",
        "br:estimator=logistic@micro-f",
    ),
    ("tfidf", "minmax"),
    (_COSINE,),
)
MOST = 30  # numbers of neighbours, as far as the rows allow
SECONDS = 300


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _data.add_data_options(parser)
    _data.add_kept_options(parser)
    _data.add_kind_options(parser)
    _model.add_file_options(parser)
    _add_candidate_options(parser)
    _add_choice_options(parser)
    _console.add_format_option(parser)
    parser.set_defaults(check=_check)


def _add_candidate_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the models to try."""
    parser.add_argument(
        "--methods",
        type=_arguments.some_names,
        default=LEADERBOARD_METHODS,
        help=f"comma-separated, of {', '.join(METHODS)}, or package.module:Class, which runs its code, as in nearlabel"
        " evaluate; default:"
        f" {','.join(OF_NUMBERS.methods)}, or if there are texts {','.join(OF_TEXTS.methods)}",
    )
    parser.add_argument(
        "--k", type=_arguments.numbers, default=MOST, help="numbers of neighbours: 10, 1-30 or 5,10,20; default: 1-30"
    )
    parser.add_argument(
        "--scales",
        type=_arguments.some_names,
        help=f"comma-separated, of {', '.join(SCALES)}; default: {','.join(OF_NUMBERS.scales)}, or"
        f" {','.join(OF_MIXED.scales)} if there are columns of other kinds, {','.join(OF_TEXTS.scales)} if there are"
        " texts: tfidf compares these alone",
    )
    _data.add_impute_option(parser)
    _data.add_range_option(parser)
    _data.add_groups_option(parser)
    _data.add_test_data_option(parser, used="to evaluate the best model on")
    parser.add_argument(
        "--search",
        type=_arguments.some_names,
        help=f"comma-separated, of {', '.join(SEARCHES)}, with options such as the distance, or package.module:Class,"
        f" which runs its code; default: {','.join(OF_NUMBERS.searches)}, or {','.join(OF_MIXED.searches)} if there are"
        f" columns of other kinds, {','.join(OF_TEXTS.searches)} if there are texts",
    )
    parser.add_argument(
        "--thresholds",
        type=_arguments.some_names,
        default=("none",),
        help="comma-separated, for methods that name none after an @: none, numbers from 0 to 1,"
        f" {', '.join(THRESHOLDS)}; default: none",
    )
    _training.add_updatable_option(parser)


def _add_choice_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the selection, and its time limit."""
    parser.add_argument(
        "--metric",
        default="micro_f1",
        metavar="NAME",
        help="metric used to select the best: one of the catalogue, or package.module:function, which runs its code;"
        " default: micro_f1",
    )
    parser.add_argument(
        "--cv",
        type=_arguments.folds_or(_arguments.LOO),
        default=_arguments.LOO,
        metavar="{loo,N}",
        help="leave-one-out (five folds for methods that do not support it), or N shuffled folds; default: loo",
    )
    parser.add_argument(
        "--time-limit",
        type=_arguments.seconds,
        default=SECONDS,
        metavar="SECONDS",
        help="time limit for reading DATA and trying models; models not tried by then are left out; fitting and saving"
        f" the model of --out take extra time; default: {SECONDS}",
    )
    parser.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="file of the finished trials: the same command resumes there, also with another --out, --time-limit or"
        " --format; default: none",
    )


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options of the saved model if none is saved."""
    if arguments.file is not None:
        return
    if arguments.test_data is not None:
        raise ValueError("--test-data must go with --out: the saved model is evaluated on them.")
    for option in ("id", "show"):
        if getattr(arguments, option) is not None:
            raise ValueError(f"--{option} must go with --out: the saved model contains these columns.")


_SAMPLE_ROWS = 2_000  # on which every line is tried first, of three times as many
_LEAST_SECONDS = 0.1


def main(arguments: argparse.Namespace) -> int:
    """Evaluate all models, save the best, print the scores."""
    start = time.monotonic()
    _data.check_output(arguments.state, "--state")
    _training.check_file(arguments.file, force=arguments.force)
    tuning = _tuning(arguments)
    keep = _model.open_kept(arguments)
    data = _data.open_training_data(_model.without_kept(arguments))
    test = _matched_data.open_test_data(arguments, data)
    usual = arguments.methods == LEADERBOARD_METHODS
    tuning = replace(tuning, methods=_data.narrowed(tuning.methods, data, by_default=usual))
    by_neighbors = any(nearlabel.experiments.MethodSpec.of(method).has_neighbors for method in tuning.methods.values())
    _data.print_severe(data, scales=tuning.scales, searches=tuning.searches, by_neighbors=by_neighbors)
    if arguments.dry_run:
        tuning.check(data, state=arguments.state)
        tried, shown = _understood.tried_by(tuning), _model.without_kept(arguments)
        _understood.print_plan(shown, data, tried, n_fitted=data.X.shape[0], test=test)
        return 0
    tuned, is_stopped = _tuned(tuning, data, arguments, start)
    verdict = verdict_of(tuned)
    kept = None  # or in its file before anything is printed, since a reader of the table may close it early
    if arguments.file is not None:
        kept = _training.KeptModel.of(
            tuned.best,
            data,
            arguments,
            scores=tuned.scores,
            measured=tuned.measured,
            test=test,
            keep=keep,
        )
    if arguments.format == "json":
        _console.print_json(_plain(tuned, verdict))
    elif arguments.format == "csv":
        _console.print_csv(as_records(tuned))
    else:
        _print(tuned, data, verdict)
        _print_model(kept, tuned, data, arguments)
    return _training.exit_code(is_stopped, len(tuned.trials), sum(of.is_late for of in tuned.left_out), arguments.file)


def _tuning(arguments: argparse.Namespace) -> nearlabel.experiments.Tuning:
    """Return the tuning that the options request."""
    kinds = _data.kinds_of_columns(arguments)
    usual = OF_TEXTS if "text" in kinds else OF_MIXED if kinds else OF_NUMBERS
    are_usual = arguments.methods == LEADERBOARD_METHODS
    texts = _with_thresholds(usual.methods if are_usual else arguments.methods, arguments.thresholds)
    methods = _imports.by_text("methods", _imports.method, texts)
    if arguments.updatable and are_usual:
        methods = {text: method for text, method in methods.items() if _training.is_updatable(method)}
    elif arguments.updatable:
        for text, method in methods.items():
            _training.check_updatable(text, method)
    return nearlabel.experiments.Tuning(
        methods=methods,
        n_neighbors=arguments.k,
        scales=arguments.scales or usual.scales,
        searches=_imports.by_text("searches", _imports.search, arguments.search or usual.searches),
        metric=_imports.metric(arguments.metric),
        cv=arguments.cv,
        impute=_data.imputation(arguments),
        out_of_range=arguments.out_of_range,
        sample_rows=_SAMPLE_ROWS,
        size_of=size_in_file,
        one_scaling=True,
        mix=not arguments.updatable,
    )


def _tuned(
    tuning: nearlabel.experiments.Tuning, data: Dataset, arguments: argparse.Namespace, start: float
) -> tuple[Tuned, bool]:
    """Try what there is time for since `start`; return the results, and whether Ctrl-C ended it."""
    left = arguments.time_limit - (time.monotonic() - start)
    tuning = replace(tuning, without_copies=_matched_data.has_copies(data), time_limit=max(left, _LEAST_SECONDS))
    with _console.progress_bar(f"models of {data.name}") as progress, _training.stoppable() as is_stopped:
        return tuning.run(data, progress=progress, state=arguments.state), is_stopped()


def _with_thresholds(methods: Iterable[str], thresholds: Sequence[str]) -> tuple[str, ...]:
    """Return each method with each of the thresholds; methods that already have thresholds are unchanged."""
    each = ((method, name) for method in methods for name in thresholds)
    specs = (method if name == "none" or "@" in method else f"{method}@{name}" for method, name in each)
    return tuple(dict.fromkeys(specs))


def _plain(tuned: Tuned, verdict: str) -> dict[str, Any]:
    left_out = [{**line._asdict(), "reason": reason} for line, reason in tuned.left_out]
    return {
        "metric": tuned.metric,
        "scores": tuned.scores,
        "measured": tuned.measured,
        "mixture": _mixture(tuned),
        "n_samples": tuned.n_samples,
        "verdict": verdict,
        "trials": as_records(tuned),
        "left_out": left_out,
    }


def _mixture(tuned: Tuned) -> list[dict[str, Any]] | None:
    """Return weight and candidate of each part of the mixture, or None."""
    if tuned.mixture is None:
        return None
    names = ("method", "n_neighbors", "scale", "search")
    return [{"weight": weight, **{name: getattr(of, name) for name in names}} for weight, of in tuned.mixture.parts]


def _print(tuned: Tuned, data: Dataset, verdict: str) -> None:
    """Print the leaderboard, the metric of the selection, and the verdict."""
    print_leaderboard(tuned, data)
    values = {"nested cross-validation": tuned.scores.get(tuned.metric)}
    if _matched_data.are_told(tuned.scores):
        values["without copies"] = tuned.scores.get(f"{tuned.metric}{nearlabel.metrics.evaluation.WITHOUT_COPIES}")
    honest = "".join(f"; {words}: {value:.4f}" for words, value in values.items() if value is not None)
    best, title = tuned.trials[0], nearlabel.metrics.evaluation.title_of(tuned.metric)
    if tuned.mixture is None:
        _console.print_text(f"Selected for its {title} of {best.value:.4f}{honest}.")
    else:
        alone = f"{best.candidate.method} alone has {best.value:.4f}"
        _console.print_text(f"Selected: the mixture {tuned.mixture.method} for its {title}{honest}; {alone}.")
    if verdict:
        _console.print_text(verdict)


def _print_model(kept: _training.KeptModel | None, tuned: Tuned, data: Dataset, arguments: argparse.Namespace) -> None:
    """Print the model that was saved, or how to save one."""
    if kept is not None:
        kept.print()
        return
    if _matched_data.are_told(tuned.scores):
        _matched_data.print_share(data, _matched_data.OF_ROWS)
    _console.print_text(_hint(tuned.best, arguments))


def _hint(best: nearlabel.experiments.Candidate, arguments: argparse.Namespace) -> str:
    """Return how to save the best model without trying all again."""
    if _training.is_mixture(best):
        return "Hint: the same command with --out best.skops saves the mixture; --state FILE avoids trying all again."
    if arguments.state is not None:
        return "Hint: the same command with --out best.skops saves the best model without trying again."
    return (
        f"Hint: nearlabel fit {arguments.data} {_training.fit_options(best)} --out best.skops,"
        " with the options that describe DATA, saves the best model."
    )


# The leaderboard of ``nearlabel tune``: a line for each method, scaling and search that was tried.

_SHOWN = 20
_EXACT = "exact"


def size_in_file(model: Any) -> int | None:
    """Return how many bytes the file of a model has; None for one that cannot be saved."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has types to trust: the user learns this on saving
        try:
            return nearlabel.persistence.save_model(model, Path(folder) / "model.skops").stat().st_size
        except (ImportError, ValueError, TypeError):
            return None


def as_records(tuned: Tuned) -> list[dict[str, Any]]:
    """Return every trial, best first, flat."""
    return [_record(trial, tuned) for trial in tuned.trials]


def print_leaderboard(tuned: Tuned, data: Dataset) -> None:
    """Print each method, scaling and search with its best number of neighbours, and what was left out."""
    best = tuned.best_of_lines
    thresholds = _common_thresholds(best)
    rows = [_row(line, trial, tuned, thresholds) for line, trial in list(best.items())[:_SHOWN]]
    value = nearlabel.metrics.evaluation.title_of(tuned.metric)
    columns = ("method", "features", "k", value, "±", "fit s", "pred. s", "MB")
    _console.print_table(_title(tuned, data, thresholds), columns, rows, left=2)
    if len(best) > _SHOWN:
        _console.print_text(f"... and {len(best) - _SHOWN} more lines: --format csv has all.")
    _print_ways_to_update(best, thresholds)
    _print_left_out(tuned)


def _print_ways_to_update(lines: Mapping[Line, Trial], thresholds: str) -> None:
    """Print which methods can be updated: a column of the table would not fit into 80 characters."""
    ways: dict[str, dict[str, None]] = {}
    for line, trial in lines.items():
        ways.setdefault(_way(trial), {})[_short_method(line.method, thresholds)] = None
    known = [f"{way}: {', '.join(ways[way])}" for way in nearlabel.models.refits.WAYS if way in ways]
    _console.print_text(f"Can be updated: {'; '.join(known)}.")


def _title(tuned: Tuned, data: Dataset, thresholds: str) -> str:
    n_rows = data.X.shape[0]
    sample = f" on {tuned.n_samples} of {n_rows} rows" if tuned.n_samples not in (None, n_rows) else ""
    cut = f", thresholds {thresholds}" if thresholds else ""
    return f"{data.name}: {len(tuned.trials)} models{sample}{cut}; each line with its best k"


def _print_left_out(tuned: Tuned) -> None:
    """Print which lines were left out for each reason."""
    by_reason: dict[str, list[str]] = {}
    for line, reason in tuned.left_out:
        by_reason.setdefault(reason, []).append(f"{line.method} ({_features(line)})")
    for reason, lines in by_reason.items():
        _console.print_text(f"Left out: {', '.join(lines)}: {reason}.")


def _common_thresholds(lines: dict[Line, Trial]) -> str:
    """Return the thresholds that most lines have, which are printed once."""
    ((thresholds, n_lines),) = Counter(line.method.partition("@")[2] for line in lines).most_common(1)
    return thresholds if 2 * n_lines > len(lines) else ""


def _row(line: Line, trial: Trial, tuned: Tuned, thresholds: str) -> tuple[str, ...]:
    k = "" if trial.candidate.n_neighbors is None else str(trial.candidate.n_neighbors)
    cost = tuned.costs.get(line)
    seconds = ("", "") if cost is None else (_short(cost.fit_seconds), _short(cost.predict_seconds))
    size = "" if cost is None or cost.n_bytes is None else _short(cost.n_bytes / 1e6)
    spread = f"{_spread(trial):.3f}".removeprefix("0")
    return _short_method(line.method, thresholds), _features(line), k, f"{trial.value:.4f}", spread, *seconds, size


def _short_method(method: str, thresholds: str) -> str:
    """Return a method without the names of its options, and without the thresholds that most methods have."""
    method, at, own = method.partition("@")
    method = ":".join(option.rpartition("=")[2] for option in method.split(":"))
    if not thresholds:
        return f"{method}{at}{own}"
    return method if own == thresholds else f"{method}@{own or 'own'}"


def _way(trial: Trial) -> str:
    """Return how the model of a trial can be updated: yes, by refit, or no."""
    return str(nearlabel.models.way_to_update(trial.candidate.make()))


def _features(line: Line) -> str:
    """Return the scaling of the features and the metric of the search, if they are not the defaults."""
    search = "" if line.search in (None, _EXACT) else str(line.search).removeprefix(f"{_EXACT}:metric=")
    if not search:
        return line.scale
    return search if line.scale == "none" else f"{line.scale} {search}"


def _short(value: float) -> str:
    """Return two or three digits: 0.12, 1.2, 45, 789."""
    return f"{value:.{2 if value < 1 else 1 if value < 10 else 0}f}"


def _spread(trial: Trial) -> float:
    """Return the standard deviation over the parts on which the metric is defined."""
    import numpy as np

    values = np.array(trial.values)
    values = values[np.isfinite(values)]
    return float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def _record(trial: Trial, tuned: Tuned) -> dict[str, Any]:
    of, cost = trial.candidate, tuned.costs.get(nearlabel.experiments.Line.of(trial.candidate))
    return {
        "method": of.method,
        "n_neighbors": of.n_neighbors,
        "scale": of.scale,
        "search": of.search,
        tuned.metric: trial.value,
        "spread": _spread(trial),
        "held_out": trial.held_out,
        "fit_seconds": None if cost is None else cost.fit_seconds,
        "predict_seconds": None if cost is None else cost.predict_seconds,
        "n_bytes": None if cost is None else cost.n_bytes,
        "can_be_updated": _way(trial),
    }


# A sentence on whether neighbours are best for some data.

_ALPHA = 0.05
_LEAST_GAIN = 5e-5  # what four digits show
_UNLIKE = "; folds train on fewer rows than leave-one-out, --cv 5 treats both in the same way"


def verdict_of(tuned: Tuned) -> str:
    """Return a sentence on the best method by neighbours and the best other one; empty unless there are both.

    They are compared by the corrected t-test on the parts of the rows. A mixture contains both, so it belongs to
    neither kind; if it is ahead of both, the sentence reports it.
    """
    from nearlabel.selection.candidates import spec_of

    best: dict[bool, Trial] = {}  # by whether it is by neighbours
    for trial in tuned.trials:
        spec = spec_of(trial.candidate)
        if not spec.mixes_neighbors:
            best.setdefault(spec.is_lazy, trial)
    if len(best) < 2:
        return ""
    first, ahead = tuned.trials[0], next(iter(best.values()))  # in the order of the trials
    sentence = _of_two(best[True], best[False], tuned)
    gain = abs(first.value - ahead.value)
    if first is ahead or gain < _LEAST_GAIN:
        return sentence
    mixture = f"A mixture of both, {first.candidate.method}, is the best"
    return f"{sentence} {mixture}, {gain:.4f} ahead of {ahead.candidate.method}."


def _of_two(lazy: Trial, other: Trial, tuned: Tuned) -> str:
    """Return a sentence on the best trials of both kinds."""
    gain = abs(lazy.value - other.value)
    if gain < _LEAST_GAIN:
        return f"Neighbours are as good as others here: {lazy.candidate.method} and {other.candidate.method}."
    ahead, behind = (lazy, other) if tuned.trials.index(lazy) < tuned.trials.index(other) else (other, lazy)
    metric = nearlabel.metrics.evaluation.title_of(tuned.metric)
    by = f"{gain:.4f} {metric}, {_noise(ahead, behind, tuned.metric)}"
    if ahead is other:
        return (
            f"{other.candidate.method} is better here than the best neighbour method, {lazy.candidate.method}, by {by};"
            " neighbours explain their predictions."
        )
    unlike = "" if lazy.held_out == other.held_out else _UNLIKE
    return f"Neighbours are best here: {lazy.candidate.method} is ahead of {other.candidate.method} by {by}{unlike}."


def _noise(ahead: Trial, behind: Trial, metric: str) -> str:
    """Return whether one trial is better than another by more than noise."""
    import numpy as np

    values, greater_is_better = np.array([ahead.values, behind.values]).T, ahead.value > behind.value
    methods, overlap = ("ahead", "behind"), 1 / (len(values) - 1)
    pairs = nearlabel.comparison.PairedValues("", metric, methods, values, overlap, greater_is_better)
    tests = nearlabel.comparison.paired_tests(pairs, "corrected-t")
    if not tests or not np.isfinite(tests[0].p_value):
        return f"which {len(values)} parts of the rows cannot distinguish from noise"
    p_value, is_better = tests[0].p_value, tests[0].better == "ahead"
    words = "significant" if p_value < _ALPHA and is_better else "not significant"
    return f"{words} (p = {p_value:.2g}, corrected t-test on {len(values)} parts of the rows)"
