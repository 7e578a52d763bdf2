"""Open data with the features and labels of a model, found by name, in its order."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import sparse

from nearlabel.cli import _data
from nearlabel.cli._columns import options_of_kinds
from nearlabel.datasets import Dataset
from nearlabel.datasets.tables import FeatureMatch, NumberedNames, are_numbered, attribute_of, columns_of_model
from nearlabel.persistence import DataSummary
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import IntArray, Matrix

_MOST_NAMED = 5


def open_matched(
    arguments: argparse.Namespace, model: DataSummary, kinds: Sequence[str] = ()
) -> tuple[Dataset, list[str]]:
    """Return DATA with the features, of these kinds, and labels of a model, and notes for the user."""
    arguments = with_columns_of(model, arguments, kinds)
    return match_to(model, _data.open_data(arguments), tags=_data.has_tags(arguments))


def with_columns_of(model: DataSummary, arguments: argparse.Namespace, kinds: Sequence[str] = ()) -> argparse.Namespace:
    """Return arguments that describe the columns of a table.

    Labels are those that the model names, if the arguments do not name any. `kinds` are those of the model's features,
    empty if all are numbers.
    """
    _data.check_file(arguments.data)
    of_names = dict(zip(model.feature_names or (), kinds, strict=False))
    arguments = argparse.Namespace(**vars(arguments) | options_of_kinds(of_names))
    says_labels = any(getattr(arguments, option) is not None for option in ("labels", "labels_prefix", "labels_column"))
    features, labels = model.feature_names, model.label_names
    if says_labels or not features or not labels or are_numbered(features) or not _data.is_file(arguments.data):
        return arguments
    found = columns_of_model(
        Path(arguments.data),
        features,
        labels,
        separator=arguments.labels_separator,
        ignore=arguments.ignore or (),
        kinds=of_names,
    )
    return argparse.Namespace(**vars(arguments) | found)


def match_to(model: DataSummary, data: Dataset, *, tags: bool = False) -> tuple[Dataset, list[str]]:
    """Return data with the features and labels of a model, and notes for the user.

    Features and labels are matched by name, or by position if the model has no names. Labels unknown to the model are
    left out. The data must have every label of the model, unless labels are `tags`: then a missing label is one that no
    row has.

    Raises
    ------
    ValueError
        If a feature or a label is missing (of tags, all labels), or, without names, their numbers differ.
    """
    data = with_features(model, data)
    names = model.label_names
    if names is None or (are_numbered(names) and not (tags and set(names) & set(data.label_names))):
        _check_number("labels", model.labels, data.label_names)
        return data, []
    positions = _positions(names, data.label_names)
    lacking = [name for name, position in zip(names, positions, strict=True) if position < 0]
    _check_labels(lacking, names, data.label_names, tags=tags)
    known = set(names)
    unknown = [name for name in data.label_names if name not in known]
    notes = [f"No row of the data has the label {_some(lacking)}."] if lacking else []
    notes += [f"Labels unknown to the model are left out: {_some(unknown)}."] if unknown else []
    return replace(data, Y=_columns(data.Y, positions), label_names=names), notes


def open_with_new_labels(
    arguments: argparse.Namespace, model: DataSummary, kinds: Sequence[str] = ()
) -> tuple[Dataset, Sequence[str] | None]:
    """Return DATA with the features and labels of a model and, after these, labels that are new to it; and all names.

    Raises
    ------
    ValueError
        If a feature or a label is missing; if labels are tags, none of the model's is required.
    """
    arguments = with_columns_of(model, arguments, kinds)
    data = with_features(model, _data.open_data(arguments))
    names, tags = model.label_names, _data.has_tags(arguments)
    if names is None or (are_numbered(names) and not tags):
        if model.labels is not None and len(data.label_names) < model.labels:
            _check_number("labels", model.labels, data.label_names)
        return data, names if names is None else data.label_names
    known = set(names)
    every = (*names, *(name for name in data.label_names if name not in known))
    positions = _positions(every, data.label_names)
    lacking = [name for name, position in zip(names, positions, strict=False) if position < 0]
    if not tags:
        _check_labels(lacking, names, data.label_names, tags=False)
    return replace(data, Y=_columns(data.Y, positions), label_names=every), every


def with_features(model: DataSummary, data: Dataset) -> Dataset:
    """Return data with the features of a model, in its order."""
    names = features_among(model, data.feature_names)
    if names == data.feature_names:
        return data
    if data.X.dtype.kind == "O":  # cells of several kinds: each column is a feature
        places = _positions(names, data.feature_names)
        kinds = tuple(data.feature_kinds[place] for place in places)
        return replace(data, X=data.X[:, places], feature_names=names, feature_kinds=kinds)
    if isinstance(data.feature_names, NumberedNames) and are_numbered(names):
        return replace(data, X=data.X[:, : len(names)], feature_names=names, feature_kinds=())  # all are numbers
    match = FeatureMatch("DATA", data.feature_names, data.feature_kinds, names)
    return replace(data, X=match.take(data.X), feature_names=names, feature_kinds=match.kinds)


def features_among(model: DataSummary, known: Sequence[str]) -> Sequence[str]:
    """Return the names in the data of the features of a model, in the order of the model.

    For a model fitted to an array, which has no names, these are the columns named by number, as in a svmlight file,
    else all columns, by position.
    """
    names = model.feature_names or NumberedNames(model.features or 0)
    if isinstance(known, NumberedNames) and are_numbered(names) and len(names) <= len(known):
        return names or known
    # A file may declare some categories of an attribute only: the others are in no row.
    there = {*known, *(f"{attribute_of(name)}=" for name in known if "=" in name)}
    lacking = [name for name in names if name not in there and f"{attribute_of(name)}=" not in there]
    if names and not lacking:
        return names
    if not are_numbered(names):
        raise ValueError(f"DATA must have the features of the model, got none named {_some(lacking)}.")
    _check_number("features", model.features, known, " Hint: --ignore and --labels leave columns out.")
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


def _positions(names: Sequence[str], among: Sequence[str]) -> IntArray:
    """Return the position of each name, -1 if it is missing."""
    where = {name: position for position, name in enumerate(among)}
    return np.array([where.get(name, -1) for name in names], dtype=np.intp)


def _columns(Y: Matrix, positions: IntArray) -> Matrix:
    """Return columns of Y; -1 is a tag that no row has, which is appended: unknown where other tags are, else 0."""
    absent = np.zeros((Y.shape[0], 1), dtype=Y.dtype)
    unknown = PartialLabels.of(Y, dtype=None).unknown
    if unknown is not None:
        absent[np.asarray(unknown.sum(axis=1)).ravel() > 0] = np.nan
    if sparse.issparse(Y):
        return sparse.hstack([Y, sparse.csr_array(absent)], format="csr")[:, positions]
    return np.hstack([Y, absent])[:, positions]


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(map(repr, names[:_MOST_NAMED])) + (f" and {more} more" if more > 0 else "")
