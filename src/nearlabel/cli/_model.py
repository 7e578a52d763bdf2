"""MODEL on the command line: a file that fit, tune or save_model wrote, and the features of DATA in its order."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from nearlabel.cli import _data
from nearlabel.cli._columns import encoder_of, kinds_of_model
from nearlabel.cli._matched_data import features_among, with_features
from nearlabel.cli._missing import not_finite
from nearlabel.datasets import RowBlock, open_rows
from nearlabel.datasets.tables import NumberedNames, are_numbered
from nearlabel.persistence import ModelCard, load_model, read_card
from nearlabel.utils.types import Matrix
from nearlabel.utils.validation import numbers_of, without_missing

_BLOCK_CELLS = 2**20  # rows of a block times their features or labels, whichever are more
_NOT_FINITE = re.compile("(contains?|got) (NaN|infinity)", re.IGNORECASE)  # in the words of scikit-learn


class OpenModel(NamedTuple):
    """A model, its card, and the names of its features and labels."""

    model: Any
    card: ModelCard
    feature_names: Sequence[str]
    label_names: tuple[str, ...]

    @property
    def feature_kinds(self) -> tuple[str, ...]:
        """The kinds of the features; empty if all are numbers."""
        return kinds_of_model(self.model)

    @property
    def block_rows(self) -> int:
        """Number of rows predicted at a time."""
        return max(1, _BLOCK_CELLS // max(len(self.feature_names), len(self.label_names)))


def open_model(arguments: argparse.Namespace) -> OpenModel:
    """Load the model of the arguments."""
    card = read_card(arguments.model)
    foreign = [name for name in card.foreign_types if name not in arguments.trusted]
    if foreign:
        raise ValueError(
            f"--trusted must name the types in {arguments.model} that are not trusted by default, got none of"
            f" {', '.join(foreign)}. Hint: --trusted {','.join(card.foreign_types)}, if you know who made the file."
        )
    model = load_model(arguments.model, trusted=arguments.trusted)
    return OpenModel(model, card, _feature_names(arguments.model, card), _label_names(arguments.model, model, card))


def _feature_names(path: str, card: ModelCard) -> Sequence[str]:
    """Return the names of the features; their numbers if the model has no names."""
    if card.data.feature_names is None and card.data.features is None:
        raise ValueError(
            f"{path} must contain the number of features, got a card without it. Hint: save_model(..., data=data)."
        )
    return card.data.feature_names or NumberedNames(card.data.features or 0)


def _label_names(path: str, model: Any, card: ModelCard) -> tuple[str, ...]:
    last = model[-1] if isinstance(model, Pipeline) else model
    names = card.data.label_names or getattr(last, "label_names_", None)
    if names is None:
        raise ValueError(
            f"{path} must contain the names of the labels, got a card without them. Hint: save_model(..., data=data)."
        )
    return tuple(map(str, names))


def open_blocks(arguments: argparse.Namespace, model: OpenModel, *, id_column: str | None = None) -> Iterable[RowBlock]:
    """Return the rows of DATA in blocks, with the features of the model, matched by name or else by position."""
    _data.check_file(arguments.data)
    if _data.is_file(arguments.data):
        names = _names_in_file(arguments, model, id_column)
        return open_rows(
            arguments.data,
            names,
            id_column=id_column,
            block_rows=model.block_rows,
            decimal=arguments.decimal or ".",
            feature_kinds=model.feature_kinds,
        )
    if id_column is not None:
        raise ValueError(f"--id must go with a file, got {arguments.data!r}, whose rows have numbers only.")
    return _blocks(with_features(model.card.data, _data.open_data(arguments)).X, model.block_rows)


def _names_in_file(arguments: argparse.Namespace, model: OpenModel, id_column: str | None) -> Sequence[str]:
    """Return the names in the file of the features of the model."""
    if not are_numbered(model.feature_names):
        return model.feature_names
    known = _data.feature_names(arguments, id_column)
    return model.feature_names if known is None else features_among(model.card.data, known)


def _blocks(X: Matrix, block_rows: int) -> Iterator[RowBlock]:
    for start in range(0, X.shape[0], block_rows):
        rows = X[start : start + block_rows]
        yield RowBlock(rows, None, (start + rows.shape[0]) / X.shape[0])


@contextmanager
def asking(model: OpenModel, data: str, X: Matrix, *, first: int) -> Iterator[None]:
    """Name the file, line and column of a missing or infinite value that the model refuses.

    `first` is the number of the first row of X in DATA.
    """
    try:
        yield
    except ValueError as error:
        refused = _without_imputed(model.model, X) if _NOT_FINITE.search(str(error)) else None
        problem = None if refused is None else not_finite(data, refused, model.feature_names, first=first)
        if problem is None:
            raise
        raise ValueError(f"{problem}.") from error


def _without_imputed(model: Any, X: Matrix) -> Matrix:
    """Return X without the missing values that the model imputes."""
    encoder = encoder_of(model)
    imputes = isinstance(model, Pipeline) and isinstance(model[0], SimpleImputer)
    if encoder is not None:
        imputes = encoder.missing_numbers != "distance"
    return without_missing(numbers_of(X)) if imputes else X
