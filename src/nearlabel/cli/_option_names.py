"""What an unknown option may mean: the words of the field and of other programs for options, and where these are."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from nearlabel.cli import _console

# Options, of which a command has one or two, and other words for them. The options of a row also replace each other.
SYNONYMS: Mapping[tuple[str, ...], tuple[str, ...]] = {
    ("cv", "validate"): (
        "cross-val", "cross-validate", "cross-validation", "crossval", "fold", "folds", "k-fold", "k-folds", "kfold",
        "kfolds", "n-fold", "n-folds", "n-splits", "nfolds", "splits", "validation-folds",
    ),
    ("k",): (
        "k-neighbors", "k-neighbours", "n-neighbors", "n-neighbours", "neighbors", "neighbours", "nn", "num-neighbors",
        "num-neighbours",
    ),
    ("seed",): ("random-seed", "random-state", "rng", "rng-seed"),
    ("metric", "metrics"): ("measure", "measures", "objective", "score", "scorer", "scores", "scoring"),
    ("labels-column", "labels"): (
        "class", "class-column", "classes", "label-columns", "tag", "tag-column", "tags",
        "tags-column", "target", "target-column", "targets", "y",
    ),
    ("labels-separator",): ("delim", "delimiter", "sep", "separator", "tag-separator"),
    ("labels-prefix",): ("prefix", "tag-prefix", "target-prefix"),
    ("unknown",): ("missing-label", "missing-value", "na-value", "na-values", "null-value"),
    ("id", "ids"): ("id-col", "id-column", "index", "index-col", "index-column", "key"),
    ("text",): ("text-col", "text-column", "text-columns", "texts"),
    ("categorical",): ("cat", "categories", "category", "category-columns", "nominal"),
    ("date",): ("date-column", "date-columns", "dates", "time", "timestamp"),
    ("ignore",): ("drop", "drop-columns", "except", "exclude", "ignore-columns", "omit", "skip"),
    ("out",): ("destination", "model-file", "model-out", "o", "output", "output-file", "save", "save-model", "to"),
    ("figure",): ("chart", "image", "plot"),
    ("format",): ("csv", "json", "output-format"),
    ("jobs",): ("cores", "j", "n-jobs", "n-workers", "njobs", "parallel", "processes", "threads", "workers"),
    ("test-data",): ("holdout", "test-file", "test-set", "validation", "validation-data", "validation-file"),
    ("groups",): ("group", "group-by", "group-column", "group-key"),
    ("split-by",): ("sort-by", "split", "time-column", "time-split"),
    ("impute",): ("fill-missing", "fill-na", "fillna", "imputation", "imputer", "missing", "na", "nan"),
    ("scale", "scales"): (
        "normalization", "normalize", "scaler", "scaling", "standardise", "standardize", "standardization",
    ),
    ("search",): ("ann", "distance", "distance-metric", "index-type", "similarity"),
    ("thresholds",): ("cut-off", "cutoff", "decision-threshold", "threshold"),
    ("method", "methods"): (
        "algo", "algorithm", "algorithms", "classifier", "classifiers", "estimator", "estimators", "learner", "model",
        "models", "weights",
    ),
    ("calibrate",): ("calibration", "calibrator"),
    ("time-limit",): ("budget", "max-seconds", "max-time", "time-budget", "timeout"),
    ("input-format",): ("file-format", "file-type", "input-type"),
    ("trusted",): ("allow", "trust", "unsafe"),
    ("force",): ("clobber", "overwrite", "yes"),
    ("dry-run",): ("check-only", "dryrun", "no-write", "plan", "preview", "simulate"),
    ("quiet",): ("no-progress", "silent"),
    ("debug",): ("trace", "traceback", "verbose"),
}  # fmt: skip
# Of options that name the features to use, where ours names the columns to leave out.
_REVERSED = ("columns", "feature-columns", "features", "keep", "use-columns", "usecols")
_MOST = 2  # options that are proposed
_MOST_COMMANDS = 3  # that are named


def meant(word: str, options: Sequence[str], elsewhere: Mapping[str, Iterable[str]]) -> str:
    """Return a remark on an unknown option: what may be meant, or which commands have it; empty if nothing is like it.

    `options` are those of the command (``--k``), `elsewhere` those of each command.
    """
    name = word.partition("=")[0].lstrip("-").lower().replace("_", "-")
    if name in _REVERSED and "--ignore" in options:
        return " (did you mean --ignore? It names the columns that are not features)"
    words = _options_for(name)
    near = difflib.get_close_matches(f"--{name}", options, n=1, cutoff=0.8)
    found = list(dict.fromkeys(option for option in (*words, *near) if option in options))[:_MOST]
    if found:
        return f" (did you mean {' or '.join(found)}?)"
    places = {option: [command for command, has in elsewhere.items() if option in has] for option in words}
    if places[words[0]]:
        places = {words[0]: places[words[0]]}
    remarks = [f"{option} is an option of {_listed(at)}" for option, at in places.items() if at]
    return f" ({'; '.join(remarks)})" if remarks else ""


def _options_for(name: str) -> list[str]:
    """Return the options, of any command, that a word may mean, the same word first."""
    rows = (options for options, words in SYNONYMS.items() if name in options or name in words)
    of_words = [f"--{option}" for options in rows for option in options]
    return list(dict.fromkeys([f"--{name}", *of_words, *_console.options_named(name)]))


def _listed(commands: Sequence[str]) -> str:
    if len(commands) > _MOST_COMMANDS:
        return f"{', '.join(commands[:_MOST_COMMANDS])} and others"
    return " and ".join(filter(None, [", ".join(commands[:-1]), commands[-1]]))
