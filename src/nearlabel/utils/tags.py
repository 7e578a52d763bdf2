"""Tags, and one-dimensional y: recognised, checked, and made columns; names of predicted labels."""

from __future__ import annotations

import numbers
import unicodedata
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

from nearlabel.utils.codes import CELLS_HINT, SETS_HINT, cells_hint, refuse_codes, warn_of_cells
from nearlabel.utils.containers import is_frame, is_missing, refuse_sparse_rows
from nearlabel.utils.frames import plain_labels
from nearlabel.utils.messages import AdviceWarning
from nearlabel.utils.types import CSR, BoolArray, LabelType, Matrix, MatrixLike
from nearlabel.utils.validation import BLOCK_BYTES

SETS = (list, tuple, set, frozenset, np.ndarray)
_COLLECTIONS = (*SETS, dict)


_ONE_COLUMN_HINT = (
    " Hint: sklearn.preprocessing.LabelBinarizer makes a column for each class, MultiLabelBinarizer one for each label"
    " of sets or lists."
)
UNKNOWN_HINT = " Hint: BRkNN, BRkNNa, BRkNNb, MLkNN and BinaryRelevance learn from the known cells only."


def tags_of(y: MatrixLike) -> list[Collection[str]] | None:
    """Return the tags of each sample if y is a sequence of lists, tuples, sets or arrays of str; otherwise None."""
    if sparse.issparse(y) or getattr(y, "ndim", 1) != 1 or isinstance(y, str | dict) or not isinstance(y, Iterable):
        return None
    if hasattr(y, "column_names"):  # a pyarrow.Table iterates over its columns
        return None
    as_list = getattr(y, "to_pylist", getattr(y, "to_list", None))  # of pyarrow; of pandas and polars
    rows = list(y) if as_list is None else as_list()
    if not all(isinstance(row, SETS) for row in rows) or not any(len(row) for row in rows):
        return None
    if not all(isinstance(tag, str) for row in rows for tag in row):
        return None
    return rows if any(is_tag(tag) for row in rows for tag in row) else None


def is_tag(text: str) -> bool:
    """Return whether a text is a tag: an empty one, or one of blanks, is none, as in files."""
    return bool(text.strip())


def tags_or_none(y: MatrixLike) -> list[Any] | None:
    """Return the samples of a y of tags, which are lists of str or None; return None for any other y."""
    usual = 2 if is_frame(y) else 1  # of containers without this information: a polars frame, a list
    if sparse.issparse(y) or getattr(y, "ndim", usual) != 1:
        return None
    rows = list(getattr(y, "to_pylist", getattr(y, "to_list", lambda: y))())  # pyarrow; pandas and polars
    tags = [None if is_missing(row) else row for row in rows]
    there = [row for row in tags if row is not None]
    are_lists = all(isinstance(row, SETS) for row in there)
    return tags if are_lists and all(isinstance(tag, str) for row in there for tag in row) else None


def other_than_tag(y: Any) -> str:
    """Return a hint, after a sentence on the first row that is not a list of str if y seems to be tags."""
    rows = list(y)
    if any(isinstance(row, Mapping) for row in rows) or any(
        isinstance(tag, Mapping) for row in rows if isinstance(row, SETS) for tag in row
    ):
        return CELLS_HINT
    if not any(isinstance(tag, str) for row in rows if isinstance(row, SETS) for tag in row):
        return SETS_HINT
    for number, row in enumerate(rows):
        if not isinstance(row, SETS):
            return f" Row {number} is not a list of tags: {row!r}.{SETS_HINT}"
        wrong = [tag for tag in row if not isinstance(tag, str)]
        if wrong:
            return f" Row {number} has a tag that is not a str: {wrong[0]!r}.{SETS_HINT}"
    return SETS_HINT


def tag_matrix(tags: Collection[Collection[str]], dtype: LabelType = np.int64) -> tuple[Matrix, NDArray[Any]]:
    """Return the indicator matrix (n_samples, n_labels) of tags, in its storage, and their names in alphabetical order.

    Empty texts are no tags.

    Raises
    ------
    ValueError
        If the tags are codes of an indicator matrix, such as "yes" and "no".
    """
    refuse_codes(tags)
    binarizer = MultiLabelBinarizer(sparse_output=True)
    labels = sparse.csr_array(binarizer.fit_transform(tags), dtype=dtype)
    labels.sort_indices()
    names = binarizer.classes_.astype(object)
    are_tags = np.array([is_tag(name) for name in names], dtype=np.bool_)
    if not are_tags.all():
        labels, names = labels[:, are_tags], names[are_tags]
    _warn_of_look_alikes(names.tolist())
    return in_its_storage(labels), names


def tags_in_columns(tags: list[Collection[str]], names: Sequence[str], of: str) -> Matrix:
    """Return the indicator matrix (n_samples, n_labels) of tags in the columns of names; warn of tags without one."""
    known = set(names)
    refused = Counter(tag for row in tags for tag in set(row) - known if is_tag(tag))
    if refused:
        some = ", ".join(map(repr, [tag for tag, _ in refused.most_common(3)])) + (", ..." if len(refused) > 3 else "")
        warnings.warn(
            f"{of} does not know {len(refused)} of the tags of y, {some}, which samples have {refused.total()} times:"
            " they are left out. Hint: metrics of label sets count them as missed.",
            AdviceWarning,
            stacklevel=4,
        )
    binarizer = MultiLabelBinarizer(classes=list(names), sparse_output=True)
    return in_its_storage(sparse.csr_array(binarizer.fit_transform([known.intersection(row) for row in tags])))


def in_its_storage(labels: CSR) -> Matrix:
    """Return label sets, as CSR if a dense array would be large and nearly empty."""
    cells = labels.shape[0] * labels.shape[1]
    return labels if 8 * cells > BLOCK_BYTES and 10 * labels.nnz < cells else labels.toarray()


def among_unknown(labels: Matrix, unknown: BoolArray) -> Matrix:
    """Return the label sets of all samples (n_samples, n_labels), given those of the known ones; the others are 0."""
    shape = len(unknown), labels.shape[1]
    if not sparse.issparse(labels):
        every = np.zeros(shape, dtype=labels.dtype)
        every[~unknown] = labels
        return every
    counts = np.zeros(len(unknown), dtype=labels.indptr.dtype)
    counts[~unknown] = np.diff(labels.indptr)
    return sparse.csr_array((labels.data, labels.indices, np.append(0, np.cumsum(counts))), shape=shape)


def rows_mask(unknown: BoolArray, labels: Matrix) -> Matrix:
    """Return the mask in which all cells of some rows (n_samples,) are true, in the storage of the label sets."""
    n_labels = labels.shape[1]
    if not sparse.issparse(labels):
        return np.repeat(unknown[:, np.newaxis], n_labels, axis=1)
    columns = np.tile(np.arange(n_labels), np.count_nonzero(unknown))
    ends = np.append(0, np.cumsum(n_labels * unknown))
    return sparse.csr_array((np.ones(len(columns), dtype=np.bool_), columns, ends), shape=labels.shape)


def _warn_of_look_alikes(names: list[str]) -> None:
    """Warn if two tags look the same: composed and decomposed letters, and blanks around a tag."""
    seen: dict[str, str] = {}
    for name in names:
        plain = unicodedata.normalize("NFC", name).strip()
        if plain in seen:
            hint = "Hint: unicodedata.normalize('NFC', tag).strip() makes them one."
            warnings.warn(f"Two tags look the same: {seen[plain]!a} and {name!a}. {hint}", UserWarning, stacklevel=4)
            return
        seen[plain] = name


def names_of_labels(labels: Matrix, names: NDArray[Any]) -> list[tuple[Any, ...]]:
    """Return the label names of each sample, in the order of the columns of an indicator matrix."""
    if sparse.issparse(labels):
        rows = sparse.csr_array(labels)
        rows.sort_indices()
        columns, ends = rows.indices, rows.indptr
    else:
        of_entries, columns = np.nonzero(labels)
        ends = np.searchsorted(of_entries, np.arange(len(labels) + 1))
    each = names[columns].tolist()
    return [tuple(each[start:end]) for start, end in pairwise(ends.tolist())]


def predict_labels(self: Any, X: MatrixLike) -> list[tuple[Any, ...]]:
    """Predict the names of each sample's labels.

    Parameters
    ----------
    X : array-like, data frame or sparse container of shape (n_queries, n_features)
        Queries.

    Returns
    -------
    labels : list of tuple, of length n_queries
        Names from `label_names_`, in their order: tags, column names of a data frame, or column numbers. For a
        one-dimensional y, the predicted class.
    """
    labels = plain_labels(self, X)
    if self._container.classes is not None:
        return [(one,) for one in labels.tolist()]
    return names_of_labels(labels, self.label_names_)


def as_column(y: MatrixLike) -> NDArray[Any] | None:
    """Return a one-dimensional y of single values as an array; return None for any other y."""
    if sparse.issparse(y):
        return None
    try:
        column = np.asarray(y)
    except ValueError:  # rows of unequal length
        return None
    if column.ndim != 1 or (column.dtype.kind == "O" and any(isinstance(value, _COLLECTIONS) for value in column[:1])):
        return None
    if column.dtype.kind == "U" and isinstance(y, list | tuple) and not all(isinstance(value, str) for value in y):
        raise ValueError("y must contain classes of one type if it is one-dimensional, got text and others.")
    if column.dtype.kind == "O" and all(isinstance(value, numbers.Real | np.bool_) for value in column):
        return np.array(column.tolist())  # pandas' nullable types
    return column


def classes_of(column: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted classes of a one-dimensional y, one or two; raise ValueError if it cannot be one label."""
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        raise ValueError(f"y must not contain NaN or infinity, got {column[~np.isfinite(column)][0]}.{UNKNOWN_HINT}")
    if column.dtype.kind == "f" and (column != np.round(column)).any():
        raise ValueError("y must contain two classes if it is one-dimensional, got a continuous target.")
    if column.dtype.kind == "c":
        raise ValueError("y must contain two classes if it is one-dimensional. Complex data not supported.")
    if column.dtype.kind not in "buifUO" or (column.dtype.kind == "O" and not all(isinstance(v, str) for v in column)):
        kinds = " and ".join(sorted({type(value).__name__ for value in column.tolist()}))
        hint = cells_hint([value for value in column.tolist() if isinstance(value, str)])
        raise ValueError(
            "y must contain numbers, booleans or strings if it is one-dimensional, got values of type"
            f" {column.dtype}: {kinds}.{hint}"
        )
    classes: NDArray[Any] = np.unique(column)
    are_texts = column.dtype.kind in "UO"
    if len(classes) > 2:
        hint = (cells_hint(classes.tolist()) if are_texts else "") or _ONE_COLUMN_HINT
        raise ValueError(
            f"y must contain two classes if it is one-dimensional, got {len(classes)}. Only binary classification is"
            f" supported in one column.{hint}"
        )
    if len(classes) == 2 and are_texts:
        warn_of_cells(classes.tolist())
    return classes


def column_name(y: MatrixLike) -> NDArray[Any]:
    """Return the name of the only label of a one-dimensional y, as an array (1,): the name of a series, or else 0."""
    name = getattr(y, "name", None)
    return np.array([name]) if isinstance(name, str) and name else np.arange(1)


def objects_of(y: MatrixLike) -> NDArray[Any] | None:
    """Return the values or tags of a one-dimensional y, with None for masked ones; None if y is a matrix."""
    if sparse.issparse(y) or isinstance(y, str | dict) or not isinstance(y, Iterable):
        return None
    if len(getattr(y, "shape", (0,))) != 1 or hasattr(y, "column_names"):
        return None
    refuse_sparse_rows("y", y)
    if isinstance(y, np.ndarray) and y.dtype.kind != "O" and not np.ma.isMaskedArray(y):
        return y
    as_list = getattr(y, "to_pylist", getattr(y, "to_list", getattr(y, "tolist", None)))  # None where masked
    values = list(y) if as_list is None else as_list()
    rows = [value for value in values if isinstance(value, Collection) and not isinstance(value, str | bytes)]
    if rows and tags_of(rows) is None:
        return None
    return np.fromiter(values, dtype=object, count=len(values))
