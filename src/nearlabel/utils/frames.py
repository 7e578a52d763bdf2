"""Predictions and scores as data frames with the names of the labels, for users who ask by `set_output`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Self, TypeVar, cast

import numpy as np
from scipy import sparse

from nearlabel.utils.containers import gathered, is_dask_array, is_frame, without_sparse_frame
from nearlabel.utils.naming import import_optional
from nearlabel.utils.types import LabelSets, Matrix, MatrixLike
from nearlabel.utils.validation import check_choice

_Answers = TypeVar("_Answers", bound=Callable[..., Any])
_KINDS = ("default", "pandas", "polars")


class FrameOutput:
    """A classifier whose methods with `framed` return arrays, or data frames after `set_output`."""

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `predict`, `predict_proba` and `decision_function` return.

        The columns of a frame have the names of the labels, and those of probabilities of a one-dimensional y the names
        of its classes; one-dimensional results become a Series. The rows of pandas have the index of X, if it is a
        pandas data frame. A clone of this classifier, such as a grid search or a classifier around it fits, returns
        arrays again, and results for a dask array stay dask arrays.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"}, default=None
            As for scikit-learn's transformers: "default" returns arrays, None changes nothing.

        Returns
        -------
        self
            The classifier.

        Raises
        ------
        ImportError
            If the library is not installed.
        """
        if transform is not None:
            check_choice("transform", transform, _KINDS)
            if transform != "default":
                _library(transform)  # an error now, if it is not installed
            self._output = transform
        return self


def framed(method: _Answers) -> _Answers:
    """Return a method of X, of a `FrameOutput`, whose array becomes the frame that the user has chosen."""

    @wraps(method)
    def answer(self: Any, X: MatrixLike) -> Any:
        values, kind = method(self, X), getattr(self, "_output", "default")
        if kind == "default" or is_dask_array(values) or is_frame(values):  # a frame: of a method that calls another
            return values
        return _frame_of(values, kind, self, X)

    return cast(_Answers, answer)


def plain(values: Any) -> LabelSets:
    """Return what a classifier returned, label sets or scores, as an array or CSR array in memory."""
    values = without_sparse_frame(gathered(values))
    return values if sparse.issparse(values) or isinstance(values, np.ndarray) else np.asarray(values)


def plain_labels(classifier: Any, X: MatrixLike) -> LabelSets:
    """Return the label sets of X as an array or CSR array in memory, whatever the classifier returns to its user."""
    return plain(classifier.predict(X))


def _library(kind: str) -> Any:
    if kind == "pandas":
        return import_optional("pandas", extra="frames", purpose='set_output(transform="pandas")')
    return import_optional("polars", extra="polars", purpose='set_output(transform="polars")')


def _frame_of(values: Matrix, kind: str, classifier: Any, X: MatrixLike) -> Any:
    """Return values (n_queries, n_labels), (n_queries, n_classes) or (n_queries,) as a frame or series."""
    labels, classes = classifier.label_names_, classifier.classes_
    names = (labels if values.ndim == 1 or values.shape[1] == len(labels) else classes).tolist()
    library = _library(kind)
    if kind == "pandas":
        return _of_pandas(library, values, names, X.index if hasattr(X, "iloc") else None)
    if sparse.issparse(values):
        raise ValueError(
            'y must be dense for set_output(transform="polars"), which has no sparse columns, got a sparse y, or many'
            " tags, in fit."
            ' Hint: set_output(transform="pandas") has.'
        )
    if values.ndim == 1:
        return library.Series(str(names[0]), values.tolist())
    return library.DataFrame(values.astype(values.dtype.newbyteorder("=")), schema=list(map(str, names)))


def _of_pandas(pandas: Any, values: Matrix, names: list[Any], index: Any) -> Any:
    if sparse.issparse(values):
        return pandas.DataFrame.sparse.from_spmatrix(values, index=index, columns=names)
    if values.ndim == 1:
        return pandas.Series(values, index=index, name=names[0])
    return pandas.DataFrame(values, index=index, columns=names)
