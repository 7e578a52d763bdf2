"""A data set at a glance, for the command line: columns of each kind, first rows, and labels as a table has them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.datasets._dataset import Dataset, count_missing
from nearlabel.datasets._label_options import is_among
from nearlabel.datasets._nominal import AGAIN, attribute_of
from nearlabel.datasets._numbered_names import counts_of
from nearlabel.datasets._table import open_table
from nearlabel.datasets._written_tags import is_written
from nearlabel.utils.types import Matrix

_CELLS, _COLUMNS = 1000, 20  # of a table that are looked at


class Some(NamedTuple):
    """The first things of many, and how many there are."""

    first: tuple[Any, ...]
    n: int


class OfKind(NamedTuple):
    """The features of one kind, and their number of columns: a category of ARFF has several."""

    kind: str
    names: Some
    n_columns: int


def features_by_kind(data: Dataset, most: int) -> list[OfKind]:
    """Return the features of each kind, `most` of their names."""
    counts = counts_of(data.feature_kinds)
    if len(counts) == 1 and "category" not in counts:
        ((kind, n),) = counts.items()
        return [OfKind(kind, Some(tuple(data.feature_names[:most]), n), n)]
    found: dict[str, dict[str, None]] = {kind: {} for kind in counts}
    for name, kind in zip(data.feature_names, data.feature_kinds, strict=True):
        found[kind][attribute_of(name) if _is_coordinate(data, kind) else name] = None
    return [
        OfKind(kind, Some(tuple(islice(names, most)), len(names) if _is_coordinate(data, kind) else n), n)
        for (kind, n), names in zip(counts.items(), found.values(), strict=True)
    ]


def n_missing_features(data: Dataset) -> int:
    """Return how many cells of the features are missing, as in the file: a category of ARFF is one cell."""
    if not _is_coordinate(data, "category") or "category" not in data.feature_kinds:
        return count_missing(data.X)
    first: dict[tuple[str, str], int] = {}
    for place, (name, kind) in enumerate(zip(data.feature_names, data.feature_kinds, strict=True)):
        first.setdefault((kind, attribute_of(name) if kind == "category" else name), place)
    return count_missing(data.X[:, list(first.values())])


class FirstRow(NamedTuple):
    """A row: pairs of feature and value, the labels that it carries, and those that are unknown.

    A sparse row lists only features that are not 0; a category of ARFF has the value that applies.
    """

    features: Some
    labels: Some
    unknown: Some


def first_rows(data: Dataset, n_rows: int, most: int) -> Iterator[FirstRow]:
    """Yield the first rows of a data set of arrays, with at most as many features and labels of each."""
    for row in range(min(n_rows, data.X.shape[0])):
        values, places = _not_zero(data.Y, row)
        carried, unknown = places[values == 1], places[values != values]
        names = (Some(tuple(data.label_names[at] for at in of[:most].tolist()), len(of)) for of in (carried, unknown))
        yield FirstRow(_features(data, row, most), *names)


def _features(data: Dataset, row: int, most: int) -> Some:
    """Return pairs of feature and value."""
    names, kinds = data.feature_names, data.feature_kinds
    if sparse.issparse(data.X):
        cells, places = _not_zero(data.X, row)
    else:
        cells, places = data.X[row], np.arange(data.X.shape[1])
    if _is_coordinate(data, "category") and "category" in kinds:
        missing: set[str] = set()  # attributes, all of whose columns are missing
        told = (_is_told(names[at], kinds[at], cell, missing) for at, cell in zip(places, cells, strict=True))
        kept = np.flatnonzero(np.fromiter(told, dtype=bool))
        cells, places = cells[kept], places[kept]
    shown = zip(places[:most].tolist(), cells[:most].tolist(), strict=True)
    return Some(tuple(_pair(names[at], cell, _is_coordinate(data, kinds[at])) for at, cell in shown), len(places))


def _is_coordinate(data: Dataset, kind: str) -> bool:
    """Return whether a column of a kind is one of several of a category, named ``attribute=value``."""
    return kind == "category" and data.X.dtype.kind != "O"


def _is_told(name: str, kind: str, cell: float, missing: set[str]) -> bool:
    """Return whether a column is that of the value that applies, or the first of a missing one; or of no category."""
    if kind != "category":
        return True
    if cell == cell:
        return cell != 0 and not name.endswith(AGAIN)
    is_first = attribute_of(name) not in missing
    missing.add(attribute_of(name))
    return is_first


def _pair(name: str, cell: Any, is_coordinate: bool) -> tuple[str, Any]:
    """Return a feature and its value as in the file."""
    if not is_coordinate:
        return name, cell
    attribute, _, value = name.partition("=")
    return attribute, value if cell == cell else None


def _not_zero(matrix: Matrix, row: int) -> tuple[Any, Any]:
    """Return the values of a row that are not 0, NaN among them, and their columns, in order."""
    if not sparse.issparse(matrix):
        places = np.flatnonzero(matrix[row])
        return matrix[row, places], places
    one = sparse.csr_array(matrix[[row]])
    one.sort_indices()
    return one.data[one.data != 0], one.indices[one.data != 0]


class WrittenLabels(NamedTuple):
    """Distinct cells of labels in a table, whether some are empty, and whether a separator is in some."""

    cells: Some
    has_empty: bool
    is_split: bool


def written_labels(path: Path, columns: Sequence[str], separator: str | None, most: int) -> WrittenLabels:
    """Return how the first rows of a table write labels: `most` distinct cells; those that a separator splits first."""
    table = open_table(path)
    wanted = [name for name in table.columns if is_among(name, columns)][:_COLUMNS]
    found: dict[str, Any] = {}
    split: dict[str, Any] = {}
    has_empty = False
    for batch in islice(table.batches(wanted), min(1, len(wanted))):
        for cell in (cell for name in wanted for cell in batch.columns[name].slice(0, _CELLS).to_pylist()):
            if cell is None or cell == "":
                has_empty = True
                continue
            is_split = separator is not None and isinstance(cell, str) and separator in cell and not is_written(cell)
            (split if is_split else found).setdefault(repr(cell), cell)
    cells = [*split.values(), *found.values()]
    return WrittenLabels(Some(tuple(cells[:most]), len(cells)), has_empty, bool(split))
