"""``nearlabel report``: a run, or a model on some data, as one page."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import nearlabel
from nearlabel.cli import _arguments, _console, _data, _matched_data, _model

SUMMARY = "write an HTML report of a run or a model"
EXAMPLES = ("nearlabel report model.skops multidigits --out report.html",)
LOADS = ("datasets", "experiments", "persistence", "plots", "report")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "source",
        metavar="RUN|MODEL",
        type=Path,
        help="results folder (--out of evaluate or reproduce), or a folder of such folders; or file of a saved model",
    )
    _data.add_data_options(parser, optional=True)
    parser.add_argument(
        "--out",
        dest="file",
        type=_arguments.file_ending_in(".html", ".htm"),
        required=True,
        metavar="FILE",
        help="HTML page to write, ending in .html",
    )
    _data.add_test_data_option(parser, used="for a run with test data (evaluate --test-data)")
    parser.add_argument("--title", help="heading of the page; default: name of the run or model")
    parser.add_argument(
        "--training",
        metavar="DATA",
        help="for a model: its training data, to report problems in them and show pictures of the neighbours",
    )
    parser.add_argument(
        "--rows",
        type=_arguments.whole_number(1, "a whole number of at least 1"),
        default=200,
        metavar="N",
        help="for a model: maximum number of rows in the explorer; default: 200",
    )
    _model.add_trusted_option(parser, "for a model: additional types to trust when loading")


_OTHER_TRAINING = "--training must be the data that the model was fitted to, got different"


def main(arguments: argparse.Namespace) -> None:
    """Gather the facts and write the page."""
    _data.check_output(arguments.file, "--out")
    nearlabel.plots.check_matplotlib()  # better now than after the facts are computed
    if not arguments.source.exists():
        raise FileNotFoundError(
            f"RUN|MODEL must be a folder of records or the file of a model, got {arguments.source}, which is missing."
        )
    with _console.progress_bar("report"):
        facts = _of_run(arguments) if arguments.source.is_dir() else _of_model(arguments)
    _console.print_lines(f"Report: {nearlabel.report.write_report(facts, arguments.file, title=arguments.title)}")


def _of_run(arguments: argparse.Namespace) -> dict[str, Any]:
    for option in ("training", "trusted"):
        if getattr(arguments, option):
            raise ValueError(f"--{option} must go with a model, got a folder of records, {arguments.source}.")
    given = None if arguments.data is None else _given(arguments)

    def open_problem(name: str, is_split: bool) -> nearlabel.experiments.Problem | None:
        named = given[0] if isinstance(given, tuple) else given
        found = None if named is not None and named.name == name else _problem(name, is_split)
        return given if found is None else found

    return nearlabel.report.run_facts([arguments.source], open_problem=open_problem)


def _given(arguments: argparse.Namespace) -> nearlabel.experiments.Problem:
    """Return the data of a run, which may be a training and a test part, their columns of the kinds that it had."""
    kinds = nearlabel.experiments.records.kinds_of_columns(arguments.source).get(
        nearlabel.datasets.tables.name_of_data(Path(arguments.data)), {}
    )
    arguments = _data.changed(arguments, **_data.options_of_kinds(kinds))
    data = _data.open_data(arguments)
    test = _matched_data.open_test_data(arguments, data)
    return data if test is None else (data, test)


def _problem(name: str, is_split: bool) -> nearlabel.experiments.Problem | None:
    """Return a data set by its name, or its given parts; None if it is not on this machine."""
    if name != _data.EMBEDDED and (
        name not in nearlabel.datasets.catalogue() or not nearlabel.datasets.is_on_disk(name)
    ):
        return None  # a report downloads nothing that it was not asked for
    try:
        if name == _data.EMBEDDED:
            return nearlabel.datasets.load_multidigits()
        if is_split:
            return nearlabel.datasets.fetch_dataset(name, "train"), nearlabel.datasets.fetch_dataset(name, "test")
        return nearlabel.datasets.fetch_dataset(name)
    except (OSError, ImportError):
        return None


def _of_model(arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.data is None:
        raise ValueError("DATA must be given with a model, got none. Hint: nearlabel report MODEL DATA --out FILE.")
    if arguments.test_data is not None:
        raise ValueError("--test-data must go with a run. Hint: nearlabel report MODEL TEST --out FILE.")
    opened = _model.open_model(arguments.source, arguments.trusted)
    data, notes = opened.matching.open(arguments)
    seen = _is_training(opened.card, data)
    _console.print_notes(notes)
    training = data if seen else _training(arguments, opened)
    card, kept = json.loads(opened.card.to_json()), nearlabel.persistence.read_kept(arguments.source)
    with _model.asking(opened, arguments.data, data.X, first=0):
        facts = nearlabel.report.model_facts(
            opened.model,
            data,
            card=card,
            training=training,
            seen=seen,
            n_rows=arguments.rows,
            kept=kept,
            kept_of_data=None if seen else _model.kept_in(arguments, kept),
        )
    return facts | {"notes": notes}


def _training(arguments: argparse.Namespace, model: _model.OpenModel) -> nearlabel.datasets.Dataset | None:
    """Return what the model was fitted to, if it is given."""
    if arguments.training is None:
        return None
    card = model.card
    named = model.matching.columns_of(_data.changed(arguments, data=arguments.training))
    found = _data.open_data(named)
    try:
        data, _ = model.matching.match(found, tags=_data.has_tags(named))
    except ValueError as error:
        raise ValueError(f"{_OTHER_TRAINING} features or labels, {named.data}.") from error
    if card.data.digest_X is not None and not _is_training(card, data):
        raise ValueError(f"{_OTHER_TRAINING} rows, {named.data}.")
    return data


def _is_training(card: nearlabel.persistence.ModelCard, data: nearlabel.datasets.Dataset) -> bool:
    """Return whether these are the samples that the model was fitted to, their features in its order."""
    digest = card.data.digest_X
    return digest is not None and nearlabel.persistence.DataSummary.of_data(data).digest_X == digest
