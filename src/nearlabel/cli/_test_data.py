"""A split of one's own: training data in DATA, test data in another file, matched by name."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.cli import _console, _data, _missing
from nearlabel.cli._copies import has_copies
from nearlabel.cli._matched_data import match_to, with_features
from nearlabel.cli.arguments.data import TEST_DATA
from nearlabel.datasets import Dataset
from nearlabel.datasets.tables import NumberedNames, are_numbered, column_names_of
from nearlabel.experiments import copied_rows
from nearlabel.metrics import score_all
from nearlabel.metrics.evaluation import named_without_copies
from nearlabel.persistence import DataSummary
from nearlabel.utils.estimators import label_scores, response_method_of
from nearlabel.utils.partial_labels import PartialLabels


def open_test_data(arguments: argparse.Namespace, training: Dataset) -> Dataset | None:
    """Return the test data, with the features and labels of the training data in their order; None if none are named.

    Raises
    ------
    ValueError
        If a feature or a label is missing (of tags, all labels), or a feature is not finite and not imputed.
    """
    if arguments.test_data is None:
        return None
    test = _data.open_data(_of_test_data(arguments, training))
    if "impute" in arguments:  # a report fits nothing
        _missing.check_finite(arguments.test_data, test, imputes=_missing.imputation(arguments) is not None)
    with _told_of_test_data():
        matched, notes = match_to(
            _names_of(training), _widened(test, training.feature_names), tags=_data.has_tags(arguments)
        )
    _console.print_notes(notes)
    return matched


def open_test_rows(arguments: argparse.Namespace, training: Dataset) -> Dataset | None:
    """Return the test data, with the features of the training data in their order, whatever their values and labels.

    Raises
    ------
    ValueError
        If a feature is missing.
    """
    if arguments.test_data is None:
        return None
    test = _data.open_data(_of_test_data(arguments, training))
    with _told_of_test_data():
        return with_features(_names_of(training), _widened(test, training.feature_names))


def _of_test_data(arguments: argparse.Namespace, training: Dataset) -> argparse.Namespace:
    """Return arguments that read the test data: of a table, the features and labels of the training data only.

    Columns that are ignored, saved or used as groups in the training data may be missing.
    """
    data = arguments.test_data
    arguments = argparse.Namespace(**vars(arguments) | {"data": data, "groups": None})
    known = column_names_of(Path(data)) if _data.is_file(data) else None
    names = training.feature_names
    if known is None or (are_numbered(names) and not set(names) <= set(known)):  # features are found by position
        return arguments
    features = {*names, *(name.rpartition("[")[0] for name in names)}  # embedding[0] is in the column embedding
    others = tuple(name for name in known if name not in features and not _data.is_label(arguments, name))
    return argparse.Namespace(**vars(arguments) | {"ignore": others or None})


def _names_of(training: Dataset) -> DataSummary:
    names = training.feature_names
    return DataSummary(
        features=len(training.feature_names),
        labels=len(training.label_names),
        feature_names=None if isinstance(names, NumberedNames) else tuple(names),
        label_names=tuple(training.label_names),
    )


@contextmanager
def _told_of_test_data() -> Iterator[None]:
    """Report errors with the name of the option."""
    try:
        yield
    except ValueError as error:
        told = str(error).replace("DATA", TEST_DATA, 1).replace("the model", "the training data")
        raise ValueError(told) from error


def _widened(test: Dataset, names: Sequence[str]) -> Dataset:
    """Return the rows of a svmlight file, which ends at the last feature that it has, with all features."""
    if not (sparse.issparse(test.X) and are_numbered(test.feature_names) and are_numbered(names)):
        return test
    X = test.X.copy()
    X.resize((X.shape[0], len(names)))
    return replace(test, X=X, feature_names=names, feature_kinds=())  # all are numbers


def scores_on(model: Any, test: Dataset, training: Dataset) -> Mapping[str, float]:
    """Return the metrics of a fitted model on test data that are defined, also without copies of training samples."""
    truth = PartialLabels.of(test.Y).with_nan()
    labels = model.predict(test.X)
    scores = label_scores(model, test.X, truth.shape[1], response_method_of(model))
    values = score_all(truth, labels, scores)
    new = ~copied_rows(training, test) if has_copies((training, test)) else np.zeros(len(scores), dtype=bool)
    if new.any():
        values |= named_without_copies(score_all(truth[new], labels[new], scores[new]))
    return {name: float(value) for name, value in values.items() if np.isfinite(value)}
