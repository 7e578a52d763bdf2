"""Checks of y: label sets of any container as an indicator matrix, their names, and the way back."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.utils import Tags

from nearlabel.utils.containers import without_sparse_frame
from nearlabel.utils.types import CSR, FloatArray, LabelSets, LabelType, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, is_dask_array

_SETS_HINT = (
    " Hint: classifiers accept lists of tags if all tags are str;"
    " sklearn.preprocessing.MultiLabelBinarizer makes an indicator matrix from any labels."
)
UNKNOWN_HINT = " Hint: BRkNN, BRkNNa, BRkNNb, MLkNN and BinaryRelevance learn from the known cells only."
NEGATIVE_HINT = " Hint: 0 means that a label does not apply, NaN that it is unknown."


class UnknownCellsError(ValueError):
    """Label sets have unknown cells, but all cells must be known."""

    def __init__(self, name: str, n_cells: int) -> None:
        super().__init__(f"{name} must contain 0 and 1 only, got NaN or not a number in {n_cells} cells.")
        self.n_cells = n_cells


def as_label_matrix(y: MatrixLike, *, name: str = "y", dtype: LabelType | None = np.int64) -> Matrix:
    """Return label sets as an indicator matrix: a dense array of a type or, for sparse input, a canonical CSR array.

    A dense array of that type is returned without a copy, and a byte array as a view if int8 is possible: copy the
    result before storing it. Sums of int8 must be computed in int64, as numpy's `sum` does; products do not.

    Parameters
    ----------
    y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Contains 0 and 1 (or False and True) only. A data frame with sparse columns is sparse input.
    name : str, default="y"
        Name in messages.
    dtype : type, default=np.int64
        np.int64; np.int8, for one byte per cell; or None: int8 for bytes and booleans, otherwise int64.

    Raises
    ------
    ValueError
        If y is not two-dimensional, has no labels, or contains anything but 0 and 1.
    """
    y = without_sparse_frame(y)
    if sparse.issparse(y):
        return _as_sparse_labels(y, name).astype(dtype or np.int64)
    labels = _as_dense_labels(y, name)
    if labels.dtype.itemsize == 1 and dtype is not np.int64:
        return labels.view(np.int8)
    return labels.astype(dtype or np.int64, copy=False)


def _as_sparse_labels(y: Any, name: str) -> CSR:
    labels = sparse.csr_array(y, copy=True)
    labels.sum_duplicates()
    labels.eliminate_zeros()
    _check_label_shape(labels.shape, name)
    if labels.dtype.kind == "f" and np.isnan(labels.data).any():
        raise UnknownCellsError(name, int(np.isnan(labels.data).sum()))
    _check_zero_one(labels.data, name)
    return labels


def _as_dense_labels(y: Any, name: str) -> Matrix:
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise ValueError(
            f"{name} must be an indicator matrix (n_samples, n_labels), got rows of unequal length."
            f"{_other_than_tag(y)}{_SETS_HINT}"
        ) from error
    if labels.ndim == 1 and labels.dtype.kind == "f" and (labels != np.round(labels)).any():
        raise ValueError(f"{name} must be an indicator matrix of 0 and 1, got a continuous target.")
    _check_label_shape(labels.shape, name, labels.dtype.kind)
    if labels.dtype.kind == "O":  # data frames with several types or nullable types
        labels = np.frompyfunc(_as_number, 1, 1)(labels).astype(np.float64)
    if labels.dtype.kind not in "buif":
        hint = _SETS_HINT if labels.dtype.kind == "U" else ""
        raise ValueError(f"{name} must contain 0 and 1 only, got values of type {labels.dtype}.{hint}")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise UnknownCellsError(name, int(np.isnan(labels).sum()))
    _check_zero_one(labels, name)
    return labels


def _other_than_tag(y: Any) -> str:
    """Return a sentence on the first row that is not a list of str, if y contains text and so seems to be tags."""
    rows = list(y)
    if not any(isinstance(tag, str) for row in rows if isinstance(row, _SETS) for tag in row):
        return ""
    for number, row in enumerate(rows):
        if not isinstance(row, _SETS):
            return f" Row {number} is not a list of tags: {row!r}."
        wrong = [tag for tag in row if not isinstance(tag, str)]
        if wrong:
            return f" Row {number} has a tag that is not a str: {wrong[0]!r}."
    return ""


def _as_number(value: object) -> float:
    """Return a number unchanged, anything else (None, pandas' NA, text) as NaN."""
    return float(value) if isinstance(value, (numbers.Real, np.bool_)) else np.nan


def _check_label_shape(shape: tuple[int, ...], name: str, kind: str = "") -> None:
    if len(shape) != 2:
        hint = _SETS_HINT if kind == "O" else " Hint: a single label is one column, y.reshape(-1, 1)."
        raise ValueError(f"{name} must be an indicator matrix of shape (n_samples, n_labels), got shape {shape}.{hint}")
    if shape[1] == 0:
        raise ValueError(f"{name} must have at least one label, got shape {shape}.")


def _check_zero_one(values: Any, name: str) -> None:
    if values.dtype.kind in "bui" and values.size and values.min() >= 0 and values.max() <= 1:
        return  # half the time of the general case, and no copy
    wrong = values[(values != 0) & (values != 1)]
    if len(wrong):
        kind = " Is it a continuous target?" if (wrong != np.round(wrong)).any() else ""
        hint = NEGATIVE_HINT if wrong[0] == -1 else kind
        raise ValueError(f"{name} must contain 0 and 1 only, got {wrong[0]}.{hint}")


@dataclass(frozen=True, eq=False)
class LabelContainer:
    """The form of y, to return predictions and scores in the same form."""

    kind: type | None  # csr_array or csr_matrix; None for dense
    dtype: np.dtype[Any]
    classes: NDArray[Any] | None = None  # classes of a one-dimensional y, sorted: one or two

    @classmethod
    def of(cls, y: MatrixLike) -> LabelContainer:
        """Return the form of an indicator matrix: dense (arrays, lists, data frames), sparse array or sparse matrix."""
        if sparse.issparse(y):
            kind = sparse.csr_array if isinstance(y, sparse.sparray) else sparse.csr_matrix
            return cls(kind, y.dtype)
        dtype = np.asarray(y).dtype
        return cls(None, dtype if dtype.kind in "buif" else np.dtype(np.int64))

    def wrap(self, labels: Matrix) -> LabelSets:
        """Return label sets (n_samples, n_labels) in the container and dtype of y, or as the classes of a 1-D y."""
        if self.classes is not None:
            # A y with one class has no second class to predict.
            return self.classes.take(as_dense(labels)[:, 0], mode="clip")
        if self.kind is None:
            return as_dense(labels).astype(self.dtype, copy=False)
        return self.kind(labels, dtype=self.dtype)

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return scores (n_samples, n_labels) as a result of `predict_proba`: one column for each class of a 1-D y."""
        if self.classes is None:
            return scores
        if len(self.classes) == 1:
            return np.ones_like(scores)
        return np.hstack([1 - scores, scores])

    def decisions(self, scores: FloatArray) -> FloatArray:
        """Return scores (n_samples, n_labels) as a result of `decision_function`: (n_samples,) for a 1-D y."""
        return scores if self.classes is None else scores[:, 0]


class Target(NamedTuple):
    """A checked y: its label sets, its form, and the names of its labels."""

    labels: Matrix  # (n_samples, n_labels), dense or CSR
    container: LabelContainer
    names: NDArray[Any]  # (n_labels,)


def check_target(estimator: object, y: MatrixLike, *, dtype: LabelType = np.int64) -> Target:
    """Return the checked target: an indicator matrix, tags, or a 1-D y of two classes as one label.

    The label sets have a type that `as_label_matrix` returns.

    Raises
    ------
    ValueError
        If y is missing or none of these.
    """
    require_labels(estimator, y)
    if is_dask_array(y):
        y = y.compute()
    tags = tags_of(y)
    if tags is not None:
        labels, names = tag_matrix(tags, dtype)
        return Target(labels, LabelContainer(None, np.dtype(np.int64)), names)
    matrix = without_sparse_frame(y)
    column = _as_column(matrix)
    if column is None:
        try:
            labels = as_label_matrix(matrix, dtype=dtype)
        except UnknownCellsError as error:
            raise refusal_of_unknown(estimator, error.n_cells) from error
        return Target(labels, LabelContainer.of(matrix), label_names_of(y, labels.shape[1]))
    classes = _classes_of(column)
    # The label is the second class; with only one class, no sample has the label.
    labels = (column == classes[-1]).astype(dtype) if len(classes) == 2 else np.zeros(len(column), dtype=dtype)
    return Target(labels.reshape(-1, 1), LabelContainer(None, column.dtype, classes), name_of_column(y))


def name_of_column(y: MatrixLike) -> NDArray[Any]:
    """Return the name of the only label of a one-dimensional y, as an array (1,): the name of a series, or else 0."""
    name = getattr(y, "name", None)
    return np.array([name]) if isinstance(name, str) and name else np.arange(1)


def refusal_of_unknown(estimator: object, n_cells: int) -> ValueError:
    """Return the error of a classifier that cannot learn from label sets with unknown cells."""
    return ValueError(f"y must have no unknown cells for {type(estimator).__name__}, got {n_cells}.{UNKNOWN_HINT}")


def tags_of(y: MatrixLike) -> list[Collection[str]] | None:
    """Return the tags of each sample if y is a sequence of lists, tuples, sets or arrays of str; otherwise None."""
    if sparse.issparse(y) or getattr(y, "ndim", 1) != 1 or isinstance(y, str | dict) or not isinstance(y, Iterable):
        return None
    if hasattr(y, "column_names"):  # a pyarrow.Table iterates over its columns
        return None
    as_list = getattr(y, "to_pylist", getattr(y, "to_list", None))  # of pyarrow; of pandas and polars
    rows = list(y) if as_list is None else as_list()
    if not all(isinstance(row, _SETS) for row in rows) or not any(len(row) for row in rows):
        return None
    return rows if all(isinstance(tag, str) for row in rows for tag in row) else None


def tag_matrix(tags: Collection[Collection[str]], dtype: LabelType = np.int64) -> tuple[Matrix, NDArray[Any]]:
    """Return the indicator matrix (n_samples, n_labels) of tags, and their names in alphabetical order."""
    binarizer = MultiLabelBinarizer(sparse_output=True)
    labels = binarizer.fit_transform(tags).astype(dtype).toarray()
    return labels, binarizer.classes_.astype(object)


def labels_and_names(y: MatrixLike, *, name: str = "y") -> tuple[Matrix, NDArray[Any]]:
    """Return label sets as an indicator matrix, and the label names: tags, columns of a data frame, or numbers.

    Raises
    ------
    ValueError
        If y is neither an indicator matrix nor tags.
    """
    tags = tags_of(y)
    if tags is not None:
        return tag_matrix(tags)
    labels = as_label_matrix(y, name=name)
    return labels, label_names_of(y, labels.shape[1])


def names_of_labels(labels: Matrix, names: NDArray[Any]) -> list[tuple[Any, ...]]:
    """Return the label names of each sample, in the order of the columns of an indicator matrix."""
    rows = sparse.csr_array(labels)
    rows.sort_indices()
    return [tuple(names[some].tolist()) for some in np.split(rows.indices, rows.indptr[1:-1])]


def _as_column(y: MatrixLike) -> NDArray[Any] | None:
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


_SETS = (list, tuple, set, frozenset, np.ndarray)
_COLLECTIONS = (*_SETS, dict)


def _classes_of(column: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted classes of a one-dimensional y, one or two; raise ValueError if it cannot be one label."""
    if column.dtype.kind == "f" and not np.isfinite(column).all():
        raise ValueError(f"y must not contain NaN or infinity, got {column[~np.isfinite(column)][0]}.{UNKNOWN_HINT}")
    if column.dtype.kind == "f" and (column != np.round(column)).any():
        raise ValueError("y must contain two classes if it is one-dimensional, got a continuous target.")
    if column.dtype.kind == "c":
        raise ValueError("y must contain two classes if it is one-dimensional. Complex data not supported.")
    if column.dtype.kind not in "buifUO" or (column.dtype.kind == "O" and not all(isinstance(v, str) for v in column)):
        raise ValueError(
            f"y must contain numbers, booleans or strings if it is one-dimensional, got values of type {column.dtype}."
        )
    classes: NDArray[Any] = np.unique(column)
    if len(classes) > 2:
        raise ValueError(
            f"y must contain two classes if it is one-dimensional, got {len(classes)}. Only binary classification is"
            " supported in one column. Hint: sklearn.preprocessing.LabelBinarizer makes a column for each class,"
            " MultiLabelBinarizer one for each label of sets or lists."
        )
    return classes


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
    predicted = self.predict(X)
    if self._container.classes is not None:
        return [(one,) for one in predicted.tolist()]
    return names_of_labels(predicted, self.label_names_)


def remember_target(estimator: Any, target: Target) -> None:
    """Set the fitted attributes of every classifier that depend on y: its form, the classes and the label names.

    `classes_` of an indicator matrix are the column numbers. They are Python integers in an array of objects because
    scikit-learn would take a one-dimensional array of two integers, or of one, for the classes of a single label.
    """
    estimator._container = target.container
    classes, n_labels = target.container.classes, target.labels.shape[1]
    estimator.classes_ = np.arange(n_labels).astype(object) if classes is None else classes
    estimator.label_names_ = target.names


def require_labels(estimator: object, y: MatrixLike | None) -> None:
    """Raise ValueError, in scikit-learn's words, if there are no label sets."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")


def with_multilabel_target(tags: Tags) -> Tags:
    """Return tags for a target that is an indicator matrix, or one column of two classes."""
    tags.target_tags.multi_output = True
    tags.classifier_tags.multi_label = True
    tags.classifier_tags.multi_class = False
    return tags


def label_names_of(y: MatrixLike, n_labels: int) -> NDArray[Any]:
    """Return the column names of a data frame or table, else 0 .. n_labels - 1.

    Raises
    ------
    ValueError
        If two names are equal, or equal as text, which is how files store them.
    """
    # pyarrow calls the names `column_names`; its `columns` are the data.
    columns = getattr(y, "column_names", getattr(y, "columns", None))
    if columns is None:
        return np.arange(n_labels)
    name, count = Counter(map(str, columns)).most_common(1)[0]
    if count > 1:
        raise ValueError(f"y must have distinct column names, got {name!r} twice.")
    return np.asarray(columns)


def each_once(name: str, values: object) -> tuple[Any, ...]:
    """Return the values as a tuple; raise an error if it is empty or has duplicates."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a tuple, got {values!r}. Hint: ({values!r},).")
    each = tuple(values)
    if not each or len(set(each)) != len(each):
        raise ValueError(f"{name} must name at least one, each once, got {each}.")
    return each
