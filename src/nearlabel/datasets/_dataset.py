"""What every reader gives back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from nearlabel.utils.types import Matrix


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features, label sets and their names.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Float64; sparse when the file is sparse. A nominal feature holds the position of its value in the declaration;
        a missing value is NaN.
    Y : ndarray or csr_array of shape (n_samples, n_labels)
        The indicator matrix, int64; sparse when the file is sparse. Only where the file has missing label values is it
        float64, with NaN there; estimators refuse those.
    feature_names : tuple of str of length n_features
    label_names : tuple of str of length n_labels
    name : str
    feature_kinds : tuple of str of length n_features, default=()
        What each column of X holds: "number", "category", "text" or "date"; empty if all hold numbers. Else X may be an
        array of objects, as `read_table` describes it, for `nearlabel.preprocessing.MixedFeaturesEncoder`.

    Raises
    ------
    ValueError
        If rows, columns and names do not agree in number, or two labels have the same name.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.datasets import Dataset
    >>> Dataset(np.zeros((2, 1)), np.eye(2, dtype=np.int64), ("width",), ("red", "blue"), "toy")
    Dataset 'toy': 2 rows, 1 feature, 2 labels (dense)
    """

    X: Matrix
    Y: Matrix
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    name: str
    feature_kinds: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        rows, features = self.X.shape
        if self.Y.shape[0] != rows:
            raise ValueError(f"Y must have as many rows as X, {rows}, got {self.Y.shape[0]}.")
        if len(self.feature_names) != features:
            raise ValueError(f"feature_names must contain {features} names, got {len(self.feature_names)}.")
        if self.feature_kinds and len(self.feature_kinds) != features:
            raise ValueError(f"feature_kinds must be empty or contain {features}, got {len(self.feature_kinds)}.")
        if len(self.label_names) != self.Y.shape[1]:
            raise ValueError(f"label_names must contain {self.Y.shape[1]} names, got {len(self.label_names)}.")
        if len(set(self.label_names)) < len(self.label_names):
            name, _ = Counter(self.label_names).most_common(1)[0]
            raise ValueError(f"label_names must be distinct, got {name!r} twice.")

    def __repr__(self) -> str:
        rows, features = self.X.shape
        counts = (_count(rows, "row"), _count(features, "feature"), _count(len(self.label_names), "label"))
        storage = "sparse" if hasattr(self.X, "indptr") else "dense"
        return f"Dataset {self.name!r}: {', '.join(counts)} ({storage})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
