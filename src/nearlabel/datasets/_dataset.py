"""The data set that every reader returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape

import numpy as np

from nearlabel.datasets._frames import (
    features_of_frame,
    frame_of_features,
    frame_of_labels,
    is_frame,
    labels_of_frame,
)
from nearlabel.datasets._numbered_names import NumberedNames, SameTexts, counts_of
from nearlabel.datasets._summary import counted, storage_of, tables_of
from nearlabel.utils.types import IntArray, Matrix

_KINDS = ("number", "flag", "category", "code", "text", "date")


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Features, label sets and their names.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Float64; sparse when the file is sparse. A missing value is NaN. With ``as_frame=True`` of a loader, or after
        `with_frames`, a pandas data frame, as is Y.
    Y : ndarray or csr_array of shape (n_samples, n_labels)
        The indicator matrix, int64; sparse when the file is sparse. If some cells are unknown it is float64, with NaN
        in these cells (stored explicitly in a sparse matrix): metrics, and methods that accept such Y, use the known
        cells.
    feature_names : sequence of str of length n_features
    label_names : sequence of str of length n_labels
        Tuples, or, for columns that are known by number only, sequences that make each name on request. These are
        equal to the tuples.
    name : str
    feature_kinds : sequence of str of length n_features, default=()
        The kind of each column of X; by default all are numbers.

        - ``"number"``: a number;
        - ``"flag"``: 1 or 0, of a nominal attribute of ARFF whose values are YES and NO, 1 and 0 or similar;
        - ``"category"``: 1/2 in the rows of one category, else 0. Each category has two such columns,
          ``attribute=value`` and ``attribute=value (again)``, so that the squared Euclidean distance between two
          categories is 1, exactly;
        - ``"code"``: the position of a category in the declaration of its attribute, from 0.

        If X is an array of objects, as `read_table` describes it for `nearlabel.preprocessing.MixedFeaturesEncoder`,
        its columns contain the cells themselves: "number", "category", "text" or "date".
    groups : ndarray of int of shape (n_samples,), default=None
        The number of each sample's group: samples of a group, such as copies of a text or images of one patient, are
        held out together. None: each sample by itself.
    source : str, default=""
        The origin of the data, for people: the path of the file as given, or the publication to cite.

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
    feature_names: Sequence[str]
    label_names: Sequence[str]
    name: str
    feature_kinds: Sequence[str] = ()
    groups: IntArray | None = None
    source: str = ""

    def __post_init__(self) -> None:
        rows, features = self.X.shape
        if self.Y.shape[0] != rows:
            raise ValueError(f"Y must have as many rows as X, {rows}, got {self.Y.shape[0]}.")
        if self.groups is not None and np.shape(self.groups) != (rows,):
            raise ValueError(f"groups must be of shape ({rows},), one for each row, got {np.shape(self.groups)}.")
        if len(self.feature_names) != features:
            raise ValueError(f"feature_names must contain {features} names, got {len(self.feature_names)}.")
        kinds = set(counts_of(self.feature_kinds))
        if kinds <= {"number"}:  # of any length, so that `dataclasses.replace` may change X
            object.__setattr__(self, "feature_kinds", SameTexts("number", features))
        if len(self.feature_kinds) != features:
            raise ValueError(f"feature_kinds must contain {features} kinds, got {len(self.feature_kinds)}.")
        if unknown := kinds - set(_KINDS):
            raise ValueError(f"feature_kinds must be some of {', '.join(_KINDS)}, got {min(unknown)!r}.")
        if len(self.label_names) != self.Y.shape[1]:
            raise ValueError(f"label_names must contain {self.Y.shape[1]} names, got {len(self.label_names)}.")
        are_distinct = isinstance(self.label_names, NumberedNames)
        if not are_distinct and len(set(self.label_names)) < len(self.label_names):
            name, _ = Counter(self.label_names).most_common(1)[0]
            raise ValueError(f"label_names must be distinct, got {name!r} twice.")

    def with_features(self, columns: IntArray) -> Dataset:
        """Return the data set with some of the features.

        Parameters
        ----------
        columns : ndarray of int of shape (n_kept,)
            Their positions, in the desired order.

        Returns
        -------
        Dataset
        """
        return replace(
            self,
            X=(self.X.iloc if is_frame(self.X) else self.X)[:, columns],
            feature_names=tuple(self.feature_names[column] for column in columns),
            feature_kinds=tuple(self.feature_kinds[column] for column in columns),
        )

    def with_frames(self) -> Dataset:
        """Return the data set with X and Y as pandas data frames, so that classifiers learn the names.

        Numbers share the memory of the arrays. Sparse X and Y become frames of sparse columns. Cells of kind "category"
        and "code" become pandas' categories, dates ``datetime64``; categories that an ARFF reader has turned into
        coordinates stay numbers, so that every classifier takes them.

        Returns
        -------
        Dataset
            The data set with frames; existing frames are unchanged.

        Raises
        ------
        ImportError
            If pandas (extra ``frames``) is not installed.
        ValueError
            If two features have the same name.

        See Also
        --------
        with_arrays : The reverse.

        Examples
        --------
        >>> from nearlabel.datasets import load_multidigits
        >>> from nearlabel.lazy import MLkNN
        >>> digits = load_multidigits().with_frames()
        >>> digits.Y.columns.tolist()[:3]
        ['0', '1', '2']
        >>> model = MLkNN().fit(digits.X, digits.Y)
        >>> model.predict_labels(digits.X[:2])
        [('0', '1'), ('2',)]
        """
        X = frame_of_features(self.X, self.feature_names, self.feature_kinds)
        return replace(self, X=X, Y=frame_of_labels(self.Y, self.label_names))

    def with_arrays(self) -> Dataset:
        """Return the data set with X and Y as arrays, dense or CSR.

        Returns
        -------
        Dataset
            The data set with arrays; existing arrays are unchanged.

        See Also
        --------
        with_frames : The reverse.
        """
        return replace(self, X=features_of_frame(self.X, self.feature_kinds), Y=labels_of_frame(self.Y))

    def __repr__(self) -> str:
        rows, features = self.X.shape
        counts = (counted(rows, "row"), counted(features, "feature"), counted(len(self.label_names), "label"))
        return f"Dataset {self.name!r}: {', '.join(counts)} ({storage_of(self.X)})"

    def __str__(self) -> str:
        lines = [repr(self), *(line for table in tables_of(self) for line in ["", *table.as_text()])]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook."""
        return f"<div><p>{escape(repr(self))}</p>{''.join(table.as_html() for table in tables_of(self))}</div>"
