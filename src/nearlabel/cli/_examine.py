"""``nearlabel examine``: what in a data set keeps neighbours from being good ones."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

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
        "--id", metavar="COLUMN", help="column of ids of DATA, which is no feature: ids that occur twice"
    )
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


_FIRST = 3  # ids, and rows, that a finding names
_COLUMNS = ("severity", "kind", "sentence", "remedy", "evidence")


def main(arguments: argparse.Namespace) -> None:
    """Print the findings."""
    _data.check_number("--k", arguments.k)
    ids = [] if arguments.id is None else _ids(arguments)
    if arguments.id is not None:
        arguments = _data.changed(arguments, ignore=(*(arguments.ignore or ()), arguments.id))
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
    own = [*_twice(ids), *(_untagged(data) if _data.has_tags(arguments) else [])]
    findings = [*own, *(finding for finding in found if finding.kind not in hidden)]
    shown = nearlabel.datasets.Examination(findings, found.notes)
    _print(data, shown, arguments.format)


def _ids(arguments: argparse.Namespace) -> list[str]:
    """Return the ids of the rows; a blank one is empty."""
    if _data.column_names(arguments.data) is None:
        raise ValueError(f"--id must go with a table, got {arguments.data!r}.")
    cells = _data.read_columns(arguments, {arguments.id: "--id"})[arguments.id]
    return ["" if cell is None else str(cell) for cell in cells]


def _twice(ids: list[str]) -> Iterator[nearlabel.datasets.Finding]:
    """Yield the finding of ids that several rows have."""
    rows: dict[str, list[int]] = {}
    for row, text in enumerate(ids):
        rows.setdefault(text, []).append(row)
    twice = {text: of for text, of in rows.items() if text and len(of) > 1}
    if not twice:
        return
    named = [f"{text!r} (rows {', '.join(map(str, of[:_FIRST]))})" for text, of in [*twice.items()][:_FIRST]]
    shown = ", ".join(named) + (f" and {len(twice) - _FIRST} more" if len(twice) > _FIRST else "")
    are = "1 id is" if len(twice) == 1 else f"{len(twice):,} ids are"
    yield nearlabel.datasets.Finding(
        "duplicate_ids",
        "warning",
        f"{are} in several rows, from 0: {shown}.",
        "Remove rows that are twice: update --replace and forget --ids change all rows of an id.",
        {"count": len(twice), "ids": shown},
    )


def _untagged(data: nearlabel.datasets.Dataset) -> Iterator[nearlabel.datasets.Finding]:
    """Yield the finding of rows whose labels are known, and that carry none."""
    import numpy as np

    sums = np.asarray(data.Y.sum(axis=1)).ravel()
    rows = np.flatnonzero(sums == 0)  # an unknown label is NaN
    if not len(rows):
        return
    first = ", ".join(map(str, rows[:_FIRST].tolist())) + (f" and {len(rows) - _FIRST:,} more" * (len(rows) > _FIRST))
    yield nearlabel.datasets.Finding(
        "rows_without_tags",
        "note",
        f"{len(rows):,} {'row has' if len(rows) == 1 else 'rows have'} no tag, from 0: {first}.",
        "A model learns that no label applies. If they are not labelled yet, leave them out, or name them with"
        " --unlabelled COLUMN=VALUE.",
        {"rows": len(rows), "first": first},
    )


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
