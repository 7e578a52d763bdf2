"""``nearlabel examine``: what in a data set keeps neighbours from being good ones."""

from __future__ import annotations

import argparse

from nearlabel.cli import _console, _data, _missing, _test_data
from nearlabel.cli._columns import usual_scale
from nearlabel.cli._first_look import mended
from nearlabel.datasets import Dataset, Examination, Finding, examine
from nearlabel.experiments import make_preparation, make_search, usual_search
from nearlabel.utils.validation import check_integer

_COLUMNS = ("severity", "kind", "sentence", "remedy", "evidence")


def main(arguments: argparse.Namespace) -> None:
    """Print the findings."""
    check_integer("--k", arguments.k, low=1)
    data = _data.open_data(arguments)
    test = _test_data.open_test_rows(arguments, data)
    scale = arguments.scale or usual_scale(arguments)
    impute = _missing.imputation(arguments)
    search = usual_search(scale) if arguments.search is None else arguments.search
    with _console.progress_bar(f"neighbours of {data.name}"):
        found = examine(
            data,
            X_test=test,
            transformer=make_preparation(data, impute=impute, scale=scale),
            search=False if search == "none" else make_search(search),
            n_neighbors=arguments.k,
        )
    hidden = mended((scale,), (search,)) | ({"missing_values"} if impute else set())
    shown = Examination([finding for finding in found if finding.kind not in hidden], found.notes)
    _print(data, shown, arguments.format)


def _print(data: Dataset, found: Examination, format_: str) -> None:
    if format_ == "json":
        of_data = {"name": data.name, "rows": data.X.shape[0], "features": data.X.shape[1], "labels": data.Y.shape[1]}
        _console.print_json(of_data | {"findings": found.to_records(), "notes": list(found.notes)})
    elif format_ == "csv":
        _console.print_csv([_of(finding) for finding in found], columns=_COLUMNS)
    else:
        rows, features = (f"{number:,}" for number in data.X.shape)
        _console.print_lines(f"{data.name}: {rows} rows, {features} features, {data.Y.shape[1]:,} labels\n\n{found}")


def _of(finding: Finding) -> dict[str, str]:
    evidence = "; ".join(f"{name}={value}" for name, value in finding.evidence.items())
    return {name: getattr(finding, name) for name in _COLUMNS[:-1]} | {"evidence": evidence}
