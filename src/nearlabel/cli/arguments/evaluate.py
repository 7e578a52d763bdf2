"""Arguments of ``nearlabel evaluate``."""

from __future__ import annotations

import argparse
from pathlib import Path

from nearlabel.cli._console import FORMATS
from nearlabel.cli.arguments.data import (
    add_data_options,
    add_groups_option,
    add_impute_option,
    add_kind_options,
    add_test_data_option,
)
from nearlabel.cli.arguments.parsing import any_names, numbers, some_names
from nearlabel.cli.arguments.registered import (
    ESTIMATORS,
    METHODS,
    NEIGHBOR_METHODS,
    SAMPLERS,
    SCALES,
    SEARCHES,
    SELECTIONS,
    TESTS,
    THRESHOLDS,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_data_options(parser)
    add_kind_options(parser)
    _add_methods(parser)
    _add_folds(parser)
    _add_preparation(parser)
    _add_measures(parser)
    _add_output(parser)
    parser.set_defaults(check=_check)


def _add_methods(parser: argparse.ArgumentParser) -> None:
    """Add the methods to compare."""
    parser.add_argument(
        "--methods",
        type=any_names,
        default=NEIGHBOR_METHODS,
        help=f"comma-separated, of {', '.join(METHODS)}, or all; with options after a colon (lpknn:ties=first),"
        f" thresholds after an @ (mlknn@micro-f), and before a + a feature selection ({', '.join(SELECTIONS)}:"
        f" igs+mlknn) or a sampler of training data ({', '.join(SAMPLERS)}: mlsmote+mlknn). The option estimator of"
        f" some methods is one of {', '.join(ESTIMATORS)}. Instead of a name you can give"
        " package.module:Class or ./file.py:Class, which executes the code of that module;"
        f" default: {','.join(NEIGHBOR_METHODS)}",
    )
    parser.add_argument(
        "--thresholds",
        type=some_names,
        default=(),
        help="comma-separated; compare each method with its own decision and with each of these thresholds: a number"
        f" for all labels (0.3), or tuned on held-out scores: {', '.join(THRESHOLDS)} (options after a colon:"
        " micro-f:beta=2); default: none",
    )
    parser.add_argument(
        "--k", type=numbers, default=(10,), help="numbers of neighbours: 10, 1-30 or 5,10,20; default: 10"
    )


def _add_folds(parser: argparse.ArgumentParser) -> None:
    """Add the options of the folds and test data."""
    parser.add_argument(
        "--cv", default=None, help="number of shuffled folds, or 'given' for the catalogue's split; default: 10"
    )
    add_test_data_option(parser, used="to compare the methods on instead of folds of DATA")
    parser.add_argument(
        "--stratify",
        type=_order,
        nargs="?",
        const=1,
        default=None,
        metavar="{1,2}",
        help="stratify the folds by label, or with 2 by pairs of labels; default: plain shuffled folds",
    )


def _add_preparation(parser: argparse.ArgumentParser) -> None:
    """Add the options of the preparation."""
    parser.add_argument(
        "--scale",
        choices=SCALES,
        default=None,
        help="how to scale numbers (fitted on the training part of each fold); default: none, or minmax if there are"
        " columns of other kinds",
    )
    add_impute_option(parser)
    add_groups_option(parser)
    parser.add_argument("--seed", type=int, default=0, help="random seed of the shuffle; default: 0")


def _add_measures(parser: argparse.ArgumentParser) -> None:
    """Add the metrics, searches and tests."""
    parser.add_argument(
        "--search",
        type=some_names,
        default=(),
        metavar="SEARCH",
        help="comma-separated; run each method with the exact search and with each of these, and print the difference:"
        f" {', '.join(SEARCHES)} (options after a colon: faiss-ivf:n_probe=4), or package.module:Class;"
        " default: exact, not compared",
    )
    parser.add_argument(
        "--metrics",
        type=any_names,
        default=None,
        help="comma-separated, of the catalogue, with options after a colon (precision_at_k:k=3, roc_auc), or"
        " package.module:function; default: all without options, or micro_f1 with --search",
    )
    parser.add_argument(
        "--per-label",
        action="store_true",
        help="also print the metrics of each label and method: counts, precision, recall and F1 over all test samples"
        " together; ROC-AUC and average precision as means over the folds in which the label has both classes; with"
        " --format csv print only these",
    )
    parser.add_argument(
        "--per-row",
        action="store_true",
        help="also save the predicted label sets of the test samples in the folder of --out, for nearlabel compare"
        " --rows",
    )
    parser.add_argument(
        "--test",
        choices=(*TESTS, "none"),
        default=None,
        help="significance test over the folds (test data: see --test-data): print below the table which methods are"
        " significantly better than others; see nearlabel compare; default: corrected-t if there are several methods"
        " and folds",
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    """Add the options of the output."""
    parser.add_argument("--out", type=Path, default=None, help="folder for the records; the same command resumes there")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes; default: 1")
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")


def _check(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    _check_split(arguments)
    _check_per_label(arguments)
    _check_per_row(arguments)


def _check_split(arguments: argparse.Namespace) -> None:
    """Refuse options of folds where training and test data are given."""
    if arguments.test_data is not None and arguments.cv is not None:
        raise ValueError(f"--cv must not go with --test-data, which replaces the folds, got {arguments.cv}.")
    if is_split(arguments) and arguments.stratify is not None:
        option = "--cv given" if arguments.test_data is None else "--test-data"
        raise ValueError(f"--stratify must go with a number of folds, got {option}.")


def _check_per_label(arguments: argparse.Namespace) -> None:
    """Refuse too many tables of labels, and tables of searches, which are compared by means."""
    if not arguments.per_label:
        return
    if arguments.search:
        raise ValueError(f"--per-label must not go with --search, got {','.join(arguments.search)}.")
    if arguments.format == "table" and len(arguments.k) > 1:
        raise ValueError(
            f"--per-label must go with one number of neighbours, got {len(arguments.k)}. Hint: --format csv has all."
        )


def _check_per_row(arguments: argparse.Namespace) -> None:
    """Refuse to save label sets without a folder, or of searches."""
    if arguments.per_row and (arguments.out is None or arguments.search):
        got = "no --out" if arguments.out is None else f"--search {','.join(arguments.search)}"
        raise ValueError(f"--per-row must go with --out, where the label sets are saved, and no --search, got {got}.")


def is_split(arguments: argparse.Namespace) -> bool:
    """Return whether training and test data are given, so that there is one fold."""
    return arguments.cv == "given" or arguments.test_data is not None


def _order(text: str) -> int:
    if text not in ("1", "2"):
        raise argparse.ArgumentTypeError(f"must be 1 or 2 if a word follows it, got {text!r}; put DATA before it")
    return int(text)
