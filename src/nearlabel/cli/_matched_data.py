"""Data matched by name: the features and labels of a model, and test data in another file."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import nearlabel
from nearlabel.cli import _console, _data

# Text, since the help page loads no room.
Dataset: TypeAlias = "nearlabel.datasets.Dataset"

_MOST_NAMED = 5


class Matching(NamedTuple):
    """Data with the features and labels of a model, in its order.

    Parameters
    ----------
    model : DataSummary
        Summary of the training data on the model's card.
    kinds : sequence of str
        Kinds of the model's features, empty if all are numbers.
    kept : sequence of str
        Columns that the model saves, which are not taken for its labels.
    labels_column : tuple of str
        Columns whose tags were the labels of the fit, empty if unknown.
    """

    model: nearlabel.persistence.DataSummary
    kinds: Sequence[str] = ()
    kept: Sequence[str] = ()
    labels_column: tuple[str, ...] = ()

    def open(self, arguments: argparse.Namespace) -> tuple[Dataset, list[str]]:
        """Return DATA with the features and labels of the model, and notes for the user."""
        arguments = self.columns_of(arguments)
        return self.match(_data.open_data(arguments), tags=_data.has_tags(arguments))

    def columns_of(self, arguments: argparse.Namespace) -> argparse.Namespace:
        """Return arguments that describe the columns of a table.

        Labels are those that the model names, if the arguments do not name any: as columns, or as tags, in the columns
        of the fit if DATA has them.
        """
        _data.check_file(arguments.data)
        features, labels, tables = self.model.feature_names, self.model.label_names, nearlabel.datasets.tables
        of_names = dict(zip(features or (), self.kinds, strict=False))
        arguments = _data.changed(arguments, **_data.options_of_kinds(of_names))
        given = (arguments.labels, arguments.labels_prefix, arguments.labels_column)
        says_labels = any(option is not None for option in given)
        if not features or not labels or tables.are_numbered(features) or not _data.is_file(arguments.data):
            return arguments
        if says_labels:
            return _without_others(arguments, features)
        ignore, separator = arguments.ignore or (), arguments.labels_separator
        if self._has_tag_columns(arguments):
            one, *more = self.labels_column
            return _without_others(_data.changed(arguments, labels_column=(one, *more) if more else one), features)
        # A saved column may be one of the labels, since all of them are asked for, but not a guess.
        found = tables.columns_of_model(
            Path(arguments.data), features, labels, self.kept, separator=separator, ignore=ignore, kinds=of_names
        )
        if "labels_column" in found:
            guess = f"Labels are read from the column {found['labels_column']!r}, most of whose tags the model knows."
            _console.print_notes([f"{guess} Hint: --labels-column names another."])
        return _data.changed(arguments, **found)

    def _has_tag_columns(self, arguments: argparse.Namespace) -> bool:
        """Return whether DATA has the column of the fit's tags, or some of its columns."""
        names = set(_data.column_names(arguments.data) or ()).difference(arguments.ignore or ())
        return any(nearlabel.datasets.tables.is_among(name, self.labels_column) for name in names)

    def match(self, data: Dataset, *, tags: bool = False) -> tuple[Dataset, list[str]]:
        """Return data with the features and labels of the model, and notes for the user.

        Features and labels are matched by name, or by position if the model has no names. Labels unknown to the model
        are left out. The data must have every label of the model, unless labels are `tags`: then a missing label is one
        that no row has.

        Raises
        ------
        ValueError
            If a feature or a label is missing (of tags, all labels), or, without names, their numbers differ.
        """
        data, names = self.with_features(data), self.model.label_names
        are_numbered = nearlabel.datasets.tables.are_numbered
        if names is None or (are_numbered(names) and not (tags and set(names) & set(data.label_names))):
            _check_number("labels", self.model.labels, data.label_names)
            return data, []
        positions = _positions(names, data.label_names)
        lacking = [name for name, position in zip(names, positions, strict=True) if position < 0]
        _check_labels(lacking, names, data.label_names, tags=tags)
        known = set(names)
        unknown = [name for name in data.label_names if name not in known]
        notes = [f"No row of the data has the label {_some(lacking)}."] if lacking else []
        notes += [f"Labels unknown to the model are left out: {_some(unknown)}."] if unknown else []
        return replace(data, Y=_columns(data.Y, positions), label_names=names), notes

    def open_with_new_labels(self, arguments: argparse.Namespace) -> tuple[Dataset, Sequence[str] | None]:
        """Return DATA with the features and labels of the model, after these its new labels; and all names.

        Raises
        ------
        ValueError
            If a feature or a label is missing; if labels are tags, none of the model's is required.
        """
        arguments = self.columns_of(arguments)
        with nearlabel.datasets.tables.needing_no_tag():
            data = self.with_features(_data.open_data(arguments))
        names, tags = self.model.label_names, _data.has_tags(arguments)
        if names is None or (nearlabel.datasets.tables.are_numbered(names) and not tags):
            if self.model.labels is not None and len(data.label_names) < self.model.labels:
                _check_number("labels", self.model.labels, data.label_names)
            return data, names if names is None else data.label_names
        known = set(names)
        every = (*names, *(name for name in data.label_names if name not in known))
        positions = _positions(every, data.label_names)
        lacking = [name for name, position in zip(names, positions, strict=False) if position < 0]
        if not tags:
            _check_labels(lacking, names, data.label_names, tags=False)
        return replace(data, Y=_columns(data.Y, positions), label_names=every), every

    def with_features(self, data: Dataset) -> Dataset:
        """Return data with the features of the model, in its order."""
        names = self.features_among(data.feature_names)
        if names == data.feature_names:
            return data
        if data.X.dtype.kind == "O":  # cells of several kinds: each column is a feature
            places = _positions(names, data.feature_names)
            kinds = tuple(data.feature_kinds[place] for place in places)
            return replace(data, X=data.X[:, places], feature_names=names, feature_kinds=kinds)
        tables = nearlabel.datasets.tables
        if isinstance(data.feature_names, tables.NumberedNames) and tables.are_numbered(names):
            return replace(data, X=data.X[:, : len(names)], feature_names=names, feature_kinds=())  # all are numbers
        match = tables.FeatureMatch("DATA", data.feature_names, data.feature_kinds, names)
        return replace(data, X=match.take(data.X), feature_names=names, feature_kinds=match.kinds)

    def features_among(self, known: Sequence[str]) -> Sequence[str]:
        """Return the names in the data of the features of the model, in its order.

        For a model fitted to an array, which has no names, these are the columns named by number, as in a svmlight
        file, else all columns, by position.
        """
        tables = nearlabel.datasets.tables
        names = self.model.feature_names or tables.NumberedNames(self.model.features or 0)
        if isinstance(known, tables.NumberedNames) and tables.are_numbered(names) and len(names) <= len(known):
            return names or known
        # A file may declare some categories of an attribute only: the others are in no row.
        there = {*known, *(f"{tables.attribute_of(name)}=" for name in known if "=" in name)}
        lacking = [name for name in names if name not in there and f"{tables.attribute_of(name)}=" not in there]
        if names and not lacking:
            return names
        if not tables.are_numbered(names):
            raise ValueError(f"DATA must have the features of the model, got none named {_some(lacking)}.")
        _check_number("features", self.model.features, known, " Hint: --ignore and --labels leave columns out.")
        return known


def _check_number(what: str, number: int | None, names: Sequence[str], hint: str = "") -> None:
    if number is not None and number != len(names):
        raise ValueError(f"DATA must have the {number} {what} of the model, got {len(names)}.{hint}")


def _check_labels(lacking: Sequence[str], names: Sequence[str], known: Sequence[str], *, tags: bool) -> None:
    """Raise ValueError if a label column is missing, or the model knows none of the tags."""
    if lacking and not tags:
        hint = "Hint: --labels or --labels-prefix must name all; a label without samples needs a column of zeros."
        raise ValueError(f"DATA must have every label of the model, got none named {_some(lacking)}. {hint}")
    if len(lacking) == len(names):
        hint = "Hint: --labels-separator sets the separator."
        expected = f"tags that are known to the model, such as {_some(names)}"
        raise ValueError(f"DATA must have {expected}, got {_some(known)}. {hint}")


def _positions(names: Sequence[str], among: Sequence[str]) -> Any:
    """Return the position of each name, -1 if it is missing."""
    import numpy as np

    where = {name: position for position, name in enumerate(among)}
    return np.array([where.get(name, -1) for name in names], dtype=np.intp)


def _columns(Y: Any, positions: Any) -> Any:
    """Return columns of Y; -1 is a tag that no row has, which is appended: unknown where other tags are, else 0."""
    import numpy as np
    from scipy import sparse

    from nearlabel.utils.targets import PartialLabels

    absent = np.zeros((Y.shape[0], 1), dtype=Y.dtype)
    unknown = PartialLabels.of(Y, dtype=None).unknown if Y.shape[1] else None
    if unknown is not None:
        absent[np.asarray(unknown.sum(axis=1)).ravel() > 0] = np.nan
    if sparse.issparse(Y):
        return sparse.hstack([Y, sparse.csr_array(absent)], format="csr")[:, positions]
    return np.hstack([Y, absent])[:, positions]


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(map(repr, names[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")


# A split of one's own: training data in DATA, test data in another file, matched by name.


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
        _data.check_finite(arguments.test_data, test, imputes=_data.imputation(arguments) is not None)
    with _told_of_test_data():
        matched, notes = _matching_of(training).match(
            _widened(test, training.feature_names), tags=_data.has_tags(arguments)
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
        return _matching_of(training).with_features(_widened(test, training.feature_names))


def _of_test_data(arguments: argparse.Namespace, training: Dataset) -> argparse.Namespace:
    """Return arguments that read the test data: of a table, the features and labels of the training data only.

    Columns that are ignored, saved or used as groups in the training data may be missing.
    """
    data = arguments.test_data
    arguments = _data.changed(arguments, data=data, groups=None)
    known, names = _data.column_names(data), training.feature_names
    if known is None:
        return arguments
    if nearlabel.datasets.tables.are_numbered(names) and not set(names) <= set(known):
        return arguments  # features are found by position
    return _without_others(arguments, names)


def _without_others(arguments: argparse.Namespace, names: Sequence[str]) -> argparse.Namespace:
    """Return arguments that leave out columns of DATA that are neither these features nor labels."""
    features = {*names, *(name.rpartition("[")[0] for name in names)}  # embedding[0] is in the column embedding
    known = _data.column_names(arguments.data) or ()
    others = tuple(name for name in known if name not in features and not _data.is_label(arguments, name))
    return _data.changed(arguments, ignore=others or None)


def _matching_of(training: Dataset) -> Matching:
    features, labels = training.feature_names, tuple(training.label_names)
    names = None if isinstance(features, nearlabel.datasets.tables.NumberedNames) else tuple(features)
    summary = nearlabel.persistence.DataSummary
    return Matching(summary(features=len(features), labels=len(labels), feature_names=names, label_names=labels))


@contextmanager
def _told_of_test_data() -> Iterator[None]:
    """Report errors with the name of the option."""
    try:
        yield
    except ValueError as error:
        told = str(error).replace("DATA", _data.TEST_DATA, 1).replace("the model", "the training data")
        raise ValueError(told) from error


def _widened(test: Dataset, names: Sequence[str]) -> Dataset:
    """Return the rows of a svmlight file, which ends at the last feature that it has, with all features."""
    from scipy import sparse

    if not (sparse.issparse(test.X) and all(map(nearlabel.datasets.tables.are_numbered, (test.feature_names, names)))):
        return test
    X = test.X.copy()
    X.resize((X.shape[0], len(names)))
    return replace(test, X=X, feature_names=names, feature_kinds=())  # all are numbers


def scores_on(model: Any, test: Dataset, training: Dataset) -> Mapping[str, float]:
    """Return the metrics of a fitted model on test data that are defined, also without copies of training samples."""
    import numpy as np

    from nearlabel.utils.estimators import label_scores, response_method_of
    from nearlabel.utils.targets import PartialLabels

    truth = PartialLabels.of(test.Y).with_nan()
    labels = model.predict(test.X)
    scores = label_scores(model, test.X, truth.shape[1], response_method_of(model))
    values = nearlabel.metrics.score_all(truth, labels, scores)
    if has_copies((training, test)):
        new = ~nearlabel.experiments.copied_rows(training, test)
        if new.any():
            of_new = nearlabel.metrics.score_all(truth[new], labels[new], scores[new])
            values |= nearlabel.metrics.evaluation.named_without_copies(of_new)
    return {name: float(value) for name, value in values.items() if np.isfinite(value)}


# Metrics without exact copies, in addition to the requested ones, if there are more than a few copies.

_LEAST_SHARE = 0.01  # more than this; the doctor warns from there on
_LEAST_ROWS = 50  # shares of fewer rows are too noisy
OF_TEST_ROWS = "only test samples without a copy in the training data"
OF_ROWS = "no sample is scored by a model fitted to an identical sample"


def has_copies(problem: nearlabel.experiments.Problem) -> bool:
    """Return whether to print metrics without copies: if many samples are copies, and there are no groups."""
    training = problem[0] if isinstance(problem, tuple) else problem
    if training.groups is not None or training.X.shape[0] < _LEAST_ROWS:
        return False
    return nearlabel.experiments.share_of_copies(problem) > _LEAST_SHARE


def are_told(metrics: Iterable[str]) -> bool:
    """Return whether some metrics are without copies, and the command is not quiet."""
    ending = nearlabel.metrics.evaluation.WITHOUT_COPIES
    return not _console.is_quiet() and any(metric.endswith(ending) for metric in metrics)


def print_share(problem: nearlabel.experiments.Problem, how: str, *, page: _console.Page = _console.SCREEN) -> None:
    """Print the share of rows that are copies, and how the metrics without copies were computed."""
    share = 100 * nearlabel.experiments.share_of_copies(problem)
    page.print_text(f"{share:.1f} % of the rows are copies of others. Without copies: {how}.")


def split_copies(
    cells: Iterable[nearlabel.experiments.Cell],
) -> tuple[list[nearlabel.experiments.Cell], list[nearlabel.experiments.Cell]]:
    """Return the figures that were asked for, and those without copies, named as such by their data set."""
    ending = nearlabel.metrics.evaluation.WITHOUT_COPIES
    asked, without = [], []
    for cell in cells:
        metric = cell.metric.removesuffix(ending)
        if metric == cell.metric:
            asked.append(cell)
        else:
            without.append(replace(cell, dataset=f"{cell.dataset}, without copies", metric=metric))
    return asked, without
