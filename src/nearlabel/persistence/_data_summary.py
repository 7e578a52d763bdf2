"""Summary of the training data of a model: counts, names and digests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from reprlib import repr as shortened
from typing import Any

import joblib
import numpy as np
from scipy import sparse

from nearlabel import labels
from nearlabel.datasets import Dataset
from nearlabel.datasets.tables import NumberedNames
from nearlabel.utils.containers import check_row_names, checked_container
from nearlabel.utils.targets import PartialLabels, partial_labels_and_names
from nearlabel.utils.types import MatrixLike


@dataclass(frozen=True, kw_only=True)
class DataSummary:
    """Counts, names and digests of training data; None where unknown.

    Parameters
    ----------
    name : str, default=None
        Name of the data set.
    rows : int, default=None
        Number of training samples.
    features : int, default=None
        Number of columns of X.
    labels : int, default=None
        Number of columns of Y.
    feature_names : tuple of str of length `features`, default=None
        Names of the columns of X, if they had names.
    label_names : tuple of str of length `labels`, default=None
        Names of the labels; their indices if they had no names.
    label_counts : tuple of int of length `labels`, default=None
        Number of training samples that are known to have each label.
    unknown_cells : int, default=None
        Number of unknown cells of Y, if there are any.
    cardinality : float, default=None
        Mean number of labels per sample, computed on known cells as in `nearlabel.labels.cardinality`.
    density : float, default=None
        Cardinality divided by the number of labels.
    digest_X, digest_Y : str, default=None
        Hashes of the values of X and Y. They differ between dense and sparse, float64 and float32.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.persistence import DataSummary
    >>> summary = DataSummary.of_data(load_multidigits())
    >>> summary.rows, summary.features, summary.labels, summary.cardinality
    (2000, 81, 10, 1.9445)
    """

    name: str | None = None
    rows: int | None = None
    features: int | None = None
    labels: int | None = None
    feature_names: tuple[str, ...] | None = None
    label_names: tuple[str, ...] | None = None
    label_counts: tuple[int, ...] | None = None
    unknown_cells: int | None = None
    cardinality: float | None = None
    density: float | None = None
    digest_X: str | None = None  # noqa: N815 - X and Y are the field's names for matrices
    digest_Y: str | None = None  # noqa: N815

    @classmethod
    def of_data(cls, data: Dataset | tuple[MatrixLike, MatrixLike]) -> DataSummary:
        """Describe training data.

        Parameters
        ----------
        data : Dataset or tuple (X, Y)
            Samples, in a form that a classifier or a pipeline accepts, and their label sets.

        Returns
        -------
        DataSummary
            The summary, with everything that is known of the data.

        Raises
        ------
        TypeError
            If `data` is neither.
        ValueError
            If Y is not an indicator matrix or has another number of rows than X.
        """
        if isinstance(data, Dataset):
            data = data.with_arrays()
            # Default names are only numbers, of which there may be a billion.
            features = None if isinstance(data.feature_names, NumberedNames) else tuple(data.feature_names)
            names = {"name": data.name, "feature_names": features, "label_names": tuple(data.label_names)}
            return cls(**_figures(data.X, data.Y) | names)
        if not isinstance(data, tuple) or len(data) != 2:
            raise TypeError(f"data must be a Dataset or a tuple (X, Y), got {type(data).__name__}.")
        return cls(**_figures(*data))

    @classmethod
    def of_label_sets(cls, Y: MatrixLike) -> DataSummary:
        """Describe training data by their label sets only.

        Parameters
        ----------
        Y : array-like or sparse container of shape (n_samples, n_labels)
            An indicator matrix, with NaN where a cell is unknown.

        Returns
        -------
        DataSummary
            The summary, with the statistics of the labels.
        """
        return cls(**_label_figures(PartialLabels.of(Y)))

    @classmethod
    def of_model(cls, model: Any) -> DataSummary:
        """Describe training data from the model that was fitted to them.

        Parameters
        ----------
        model : fitted estimator
            Any fitted model. For a pipeline, the first step gives the features, the last step the samples and the
            labels. Inner estimators of other models are ignored, since they may be fitted to other samples.

        Returns
        -------
        DataSummary
            The summary, with the number of samples if the model is a lazy classifier or a search, and with the numbers
            and names of features and labels as far as the model stores them.
        """
        last = model.steps[-1][1] if hasattr(model, "steps") else model
        names = getattr(last, "label_names_", None)
        return cls(
            rows=_whole(getattr(getattr(last, "search_", last), "n_samples_fit_", None)),
            features=_whole(getattr(model, "n_features_in_", None)),
            labels=None if names is None else len(names),
            feature_names=_texts(getattr(model, "feature_names_in_", None)),
            label_names=_texts(names),
        )

    def completed_by(self, known: DataSummary) -> DataSummary:
        """Fill in missing values from a model.

        Parameters
        ----------
        known : DataSummary
            The result of `of_model`.

        Returns
        -------
        DataSummary
            This summary, with values of `known` where it has none.

        Raises
        ------
        ValueError
            If the two contradict each other, so that the model was not fitted to these data.
        """
        for what in ("rows", "features", "labels", "feature_names", "label_names"):
            told, there = getattr(self, what), getattr(known, what)
            if not (_says_nothing(told) or _says_nothing(there) or told == there):
                raise ValueError(
                    f"data must be those of the fitted model, with {what.replace('_', ' ')} {shortened(there)},"
                    f" got {shortened(told)}."
                )
        missing = {what: value for what, value in vars(known).items() if _says_nothing(getattr(self, what))}
        return replace(self, **{what: value for what, value in missing.items() if value is not None})


def _figures(X: Any, Y: MatrixLike) -> dict[str, Any]:
    check_row_names(X=X, y=Y)
    X = checked_container("X", X)
    parts, names = partial_labels_and_names(Y)
    Y_ = parts.with_nan()
    shape = np.shape(X)
    n_rows = shape[0] if shape else len(X)
    if n_rows != Y_.shape[0]:
        raise ValueError(f"data must have as many rows in X as in Y, got {n_rows} and {Y_.shape[0]}.")
    return {
        "rows": int(n_rows),
        "features": int(shape[1]) if len(shape) == 2 else None,
        "feature_names": _texts(getattr(X, "columns", None)),
        "label_names": _texts(names),
        **_label_figures(parts),
        "digest_X": _digest(X),
        "digest_Y": _digest(Y_),
    }


def _label_figures(parts: PartialLabels) -> dict[str, Any]:
    Y, unknown = parts.with_nan(), parts.unknown
    return {
        "labels": int(Y.shape[1]),
        "label_counts": tuple(np.asarray(parts.labels.sum(axis=0)).ravel().astype(int).tolist()),
        "unknown_cells": None if unknown is None else int(unknown.sum()),
        "cardinality": float(labels.cardinality(Y)),
        "density": float(labels.density(Y)),
    }


def _says_nothing(value: Any) -> bool:
    """Return whether a value is unknown, or consists of default names, which are numbers."""
    return value is None or (isinstance(value, tuple) and value == tuple(map(str, range(len(value)))))


def _whole(number: Any) -> int | None:
    return None if number is None else int(number)


def _texts(names: Any) -> tuple[str, ...] | None:
    return None if names is None else tuple(str(name) for name in names)


def _digest(values: Any) -> str:
    """Return a hash of the values of a matrix, a data frame or a list of texts."""
    if sparse.issparse(values):
        rows = sparse.csr_array(values, copy=True)
        rows.sum_duplicates()
        indices = rows.indptr.astype(np.int64), rows.indices.astype(np.int64)
        return str(joblib.hash((rows.shape, *indices, rows.data)))
    array = np.asarray(values)
    if array.dtype.kind == "O":  # texts and mixed columns: their values, not their addresses in memory
        return str(joblib.hash(array.tolist()))
    return str(joblib.hash(np.ascontiguousarray(array)))
