"""Columns of categories, dates and texts encoded by what the training rows say."""

from __future__ import annotations

from collections.abc import Sequence

from nearlabel.datasets import Dataset
from nearlabel.preprocessing import MixedFeaturesEncoder
from nearlabel.utils.types import Matrix


def kinds_of_cells(data: Dataset) -> tuple[str, ...]:
    """Return the kinds of the columns if X holds cells to be encoded; empty if it holds numbers."""
    return data.feature_kinds if data.X.dtype.kind == "O" else ()


def make_encoder(kinds: Sequence[str], impute: str | None, scale: str) -> MixedFeaturesEncoder:
    """Return the encoder of columns of these kinds, which also imputes and scales numbers and dates.

    Without `impute` a missing number stays missing, so that the method refuses it.
    """
    if scale == "tfidf":
        raise ValueError("scale must be one of none, minmax, standard with columns of several kinds, got 'tfidf'.")
    categories, texts, dates = (
        [place for place, of_column in enumerate(kinds) if of_column == kind] for kind in ("category", "text", "date")
    )
    return MixedFeaturesEncoder(
        categorical=categories, text=texts, dates=dates, scale=scale, missing_numbers=impute or "distance"
    )


def encoded(kinds: Sequence[str], impute: str | None, scale: str, training: Matrix, *others: Matrix) -> list[Matrix]:
    """Return training rows of cells, and other rows, as numbers.

    Parameters
    ----------
    kinds : sequence of str of length n_columns
        "number", "category", "text" or "date".
    impute : {None, "mean", "median", "most_frequent"}
        What takes the place of missing numbers and dates.
    scale : {"none", "minmax", "standard"}
        How numbers and dates are scaled.
    training, *others : ndarray of object of shape (n_rows, n_columns)
        Rows.

    Returns
    -------
    list of ndarray or CSR array of shape (n_rows, n_features)
        The rows.
    """
    encoder = make_encoder(kinds, impute, scale)
    rows = encoder.fit_transform(training)
    return [rows, *map(encoder.transform, others)]
