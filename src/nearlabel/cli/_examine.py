"""``nearlabel examine``: what in a data set keeps neighbours from being good ones."""

from __future__ import annotations

import argparse

import nearlabel
from nearlabel.cli import _console, _data, _imports, _matched_data
from nearlabel.utils.names import SCALES, SEARCHES

SUMMARY = "find problems in a data set that make neighbours worse"
EXAMPLES = ("nearlabel examine yeast", "nearlabel examine songs.csv --labels-prefix mood_ --ignore id,title")
LOADS = ("datasets", "experiments")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    _data.add_data_options(parser)
    _data.add_kind_options(parser)
    parser.add_argument(
        "--test-data", metavar="DATA", help="samples to predict; those that are also in DATA are counted"
    )
    parser.add_argument("--k", type=int, default=10, help="number of neighbours used to find hubs; default: 10")
    parser.add_argument(
        "--scale",
        choices=SCALES,
        help="how to scale numbers before the search; default: none, or minmax if there are columns of other kinds",
    )
    _data.add_impute_option(parser)
    parser.add_argument(
        "--search",
        metavar="SEARCH",
        help=f"one of {', '.join(SEARCHES)}, package.module:Class, which runs its code, or none, which skips the checks"
        " of neighbours; default: exact, or exact:metric=cosine with --scale tfidf",
    )
    _console.add_format_option(parser)


_COLUMNS = ("severity", "kind", "sentence", "remedy", "evidence")


def main(arguments: argparse.Namespace) -> None:
    """Print the findings."""
    _data.check_number("--k", arguments.k)
    data = _data.open_data(arguments)
    test = _matched_data.open_test_rows(arguments, data)
    scale = arguments.scale or _data.usual_scale(arguments)
    impute = _data.imputation(arguments)
    search = nearlabel.experiments.usual_search(scale) if arguments.search is None else arguments.search
    with _console.progress_bar(f"neighbours of {data.name}"):
        found = nearlabel.datasets.examine(
            data,
            X_test=test,
            transformer=nearlabel.experiments.make_preparation(data, impute=impute, scale=scale),
            search=False if search == "none" else nearlabel.experiments.make_search(_imports.search(search)),
            n_neighbors=arguments.k,
        )
    hidden = _data.mended((scale,), (search,)) | ({"missing_values"} if impute else set())
    shown = nearlabel.datasets.Examination([finding for finding in found if finding.kind not in hidden], found.notes)
    _print(data, shown, arguments.format)


def _print(data: nearlabel.datasets.Dataset, found: nearlabel.datasets.Examination, format_: str) -> None:
    if format_ == "json":
        of_data = {"name": data.name, "rows": data.X.shape[0], "features": data.X.shape[1], "labels": data.Y.shape[1]}
        _console.print_json(of_data | {"findings": found.to_records(), "notes": list(found.notes)})
    elif format_ == "csv":
        _console.print_csv([_of(finding) for finding in found], columns=_COLUMNS)
    else:
        rows, features = (f"{number:,}" for number in data.X.shape)
        head = f"{data.name}: {rows} rows, {features} features, {data.Y.shape[1]:,} labels"
        _console.print_lines(head, "", *str(found).split("\n"))


def _of(finding: nearlabel.datasets.Finding) -> dict[str, str]:
    evidence = "; ".join(f"{name}={value}" for name, value in finding.evidence.items())
    return {name: getattr(finding, name) for name in _COLUMNS[:-1]} | {"evidence": evidence}
