"""What every reader gives back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from nearlabel.utils.types import IntArray, Matrix

_KINDS = ("number", "flag", "category", "code", "text", "date")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features, label sets and their names.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Float64; sparse when the file is sparse. A missing value is NaN.
    Y : ndarray or csr_array of shape (n_samples, n_labels)
        The indicator matrix, int64; sparse when the file is sparse. Only where the file has missing label values is it
        float64, with NaN there; estimators refuse those.
    feature_names : tuple of str of length n_features
    label_names : tuple of str of length n_labels
    name : str
    feature_kinds : tuple of str of length n_features, default=()
        What each column of X holds; by default all are numbers.

        - ``"number"``: a number;
        - ``"flag"``: 1 or 0, of a nominal attribute of ARFF whose values are YES and NO, 1 and 0 or the like;
        - ``"category"``: 1/2 in the rows of one category, else 0. Each category has two such columns,
          ``attribute=value`` and ``attribute=value (again)``, so that the squared Euclidean distance between two
          categories is 1, exactly;
        - ``"code"``: the position of a category in the declaration of its attribute, from 0.

        If X is an array of objects, as `read_table` describes it for `nearlabel.preprocessing.MixedFeaturesEncoder`,
        its columns hold the cells themselves: "number", "category", "text" or "date".
    groups : ndarray of int of shape (n_samples,), default=None
        The number of each row's group, for whatever holds rows out: rows of a group, such as copies of a text or images
        of one patient, are held out together. None: each row by itself.

    Raises
    ------
    ValueError
        If rows, columns, names, groups and kinds do not agree in number, a kind is none of these, or two labels have
        the same name.

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
    groups: IntArray | None = None

    def __post_init__(self) -> None:
        rows, features = self.X.shape
        if self.Y.shape[0] != rows:
            raise ValueError(f"Y must have as many rows as X, {rows}, got {self.Y.shape[0]}.")
        if self.groups is not None and np.shape(self.groups) != (rows,):
            raise ValueError(f"groups must be of shape ({rows},), one for each row, got {np.shape(self.groups)}.")
        if len(self.feature_names) != features:
            raise ValueError(f"feature_names must contain {features} names, got {len(self.feature_names)}.")
        if set(self.feature_kinds) <= {"number"}:  # of any length, so that `dataclasses.replace` may change X
            object.__setattr__(self, "feature_kinds", ("number",) * features)
        if len(self.feature_kinds) != features:
            raise ValueError(f"feature_kinds must contain {features} kinds, got {len(self.feature_kinds)}.")
        if unknown := set(self.feature_kinds) - set(_KINDS):
            raise ValueError(f"feature_kinds must be some of {', '.join(_KINDS)}, got {min(unknown)!r}.")
        if len(self.label_names) != self.Y.shape[1]:
            raise ValueError(f"label_names must contain {self.Y.shape[1]} names, got {len(self.label_names)}.")
        if len(set(self.label_names)) < len(self.label_names):
            name, _ = Counter(self.label_names).most_common(1)[0]
            raise ValueError(f"label_names must be distinct, got {name!r} twice.")

    def with_features(self, columns: IntArray) -> Dataset:
        """Return the data set with some of the features.

        Parameters
        ----------
        columns : ndarray of int of shape (n_kept,)
            Their positions, in the order wanted.

        Returns
        -------
        Dataset
        """
        return replace(
            self,
            X=self.X[:, columns],
            feature_names=tuple(self.feature_names[column] for column in columns),
            feature_kinds=tuple(self.feature_kinds[column] for column in columns),
        )

    def __repr__(self) -> str:
        rows, features = self.X.shape
        counts = (_count(rows, "row"), _count(features, "feature"), _count(len(self.label_names), "label"))
        storage = "sparse" if hasattr(self.X, "indptr") else "dense"
        return f"Dataset {self.name!r}: {', '.join(counts)} ({storage})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
