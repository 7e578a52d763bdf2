"""The data set that every reader returns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.datasets._numbered_names import NumberedNames, SameTexts, counts_of
from nearlabel.utils import characters
from nearlabel.utils.containers import checked_container, is_sparse_frame, without_sparse_frame
from nearlabel.utils.messages import ParameterError
from nearlabel.utils.naming import import_optional
from nearlabel.utils.tables import Grid, grid, html_of
from nearlabel.utils.types import AnyArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import check_flag, row_blocks

SUBSETS = ("all", "train", "test")  # of a data set with a published split
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
    sample_weight : ndarray of shape (n_samples,), default=None
        The weights of the samples in an ARFF file, for the parameter `sample_weight` of ``fit``; None: all are 1. What
        takes a data set and no weights refuses one that has them: ``dataclasses.replace(data, sample_weight=None)``
        leaves them out, as does ``ignore=["sample_weight"]`` of the readers.

    Raises
    ------
    ValueError
        If rows, columns, names, groups, weights and kinds do not agree in number, a kind is none of these, two labels
        have the same name, or a name has half a character (a lone surrogate).

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
    sample_weight: FloatArray | None = None

    def __post_init__(self) -> None:
        for name in ("X", "Y"):
            object.__setattr__(self, name, checked_container(name, getattr(self, name)))
        rows, features = self.X.shape
        if self.Y.shape[0] != rows:
            raise ValueError(f"Y must have as many rows as X, {rows}, got {self.Y.shape[0]}.")
        if self.groups is not None and np.shape(self.groups) != (rows,):
            raise ValueError(f"groups must be of shape ({rows},), one for each row, got {np.shape(self.groups)}.")
        if self.sample_weight is not None and np.shape(self.sample_weight) != (rows,):
            got = np.shape(self.sample_weight)
            raise ValueError(f"sample_weight must be of shape ({rows},), one for each row, got {got}.")
        object.__setattr__(self, "source", characters.shown(self.source))
        for what in ("feature_names", "label_names"):
            if not isinstance(getattr(self, what), NumberedNames):
                characters.check_whole(what, getattr(self, what))
        characters.check_whole("name", [self.name])
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
        X, Y = features_of_frame(self.X, self.feature_kinds), labels_of_frame(self.Y)
        return self if X is self.X and Y is self.Y else replace(self, X=X, Y=Y)

    def __repr__(self) -> str:
        rows, features = self.X.shape
        counts = (counted(rows, "row"), counted(features, "feature"), counted(len(self.label_names), "label"))
        return f"Dataset {self.name!r}: {', '.join(counts)} ({storage_of(self.X)})"

    def __str__(self) -> str:
        lines = [repr(self), *(line for table in tables_of(self) for line in ["", *table.as_text()])]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook."""
        return html_of(repr(self), *tables_of(self))


def check_unweighted(data: Dataset) -> None:
    """Raise ValueError if a data set has weights; called where every sample counts once."""
    if data.sample_weight is not None:
        got = f"weights {_span_of(data.sample_weight)}"
        problem = f"{data.name} must have no weights of rows here, where each row counts once, got {got}."
        hint = "Hint: {ignore} ignores them; the fit of some classifiers takes them as sample_weight."
        raise ParameterError(f"{{problem}} {hint}", {"ignore": ["sample_weight"]}, {"problem": problem})


# A summary of a data set: the tables that it prints, and shows in a notebook.

_NONE = np.array(None)
_SHOWN = 10  # labels


def counted(number: int, noun: str) -> str:
    """Return a number and a noun in its form."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def storage_of(X: Any) -> str:
    """Return in words how the rows are stored."""
    frame = is_frame(X)
    is_sparse = is_sparse_frame(X) if frame else sparse.issparse(X)
    return ("sparse" if is_sparse else "dense") + (" data frame" if frame else "")


def tables_of(data: Any) -> tuple[Grid, Grid]:
    """Return the facts of a `Dataset`, and its most frequent labels."""
    labels = labels_of_frame(data.Y)
    unknown = _unknown(labels)
    known = labels.shape[0] - np.asarray(unknown.sum(axis=0)).reshape(-1)
    return _facts(data, labels, known, unknown), _most_frequent(data.label_names, _rows_of_labels(labels), known)


def _facts(data: Any, labels: Matrix, known: IntArray, unknown: Matrix) -> Grid:
    """Return names and values; a fact that most data sets lack is listed only if it exists.

    `known` (n_labels,) is the number of rows of which it is known whether they carry each label.
    """
    (n_rows, n_labels), n_features = labels.shape, len(data.feature_names)
    cardinality = float((_rows_of_labels(labels) / np.maximum(1, known)).sum())
    n_missing, n_unknown = count_missing(data.X), int(unknown.sum())
    n_useless = int((np.asarray(unknown.sum(axis=1)) == n_labels).sum()) if n_unknown else 0
    facts = {
        "name": data.name,
        "source": data.source,
        "rows": str(n_rows),
        "groups of rows": "" if data.groups is None else str(len(np.unique(data.groups))),
        "weights of rows": _span_of(data.sample_weight),
        "features": str(n_features),
        "kinds of features": ", ".join(f"{kind} ({n})" for kind, n in counts_of(data.feature_kinds).most_common()),
        "missing values": f"{n_missing} ({n_missing / max(1, n_rows * n_features):.2%} of all)" if n_missing else "0",
        "labels": str(n_labels),
        "label cardinality": f"{cardinality:.4g}",
        "label density": f"{cardinality / max(1, n_labels):.4g}",
        "unknown labels": f"{n_unknown} ({n_unknown / (n_rows * n_labels):.2%} of all cells)" if n_unknown else "",
        "rows without a known label": str(n_useless) if n_useless else "",
    }
    return Grid([("fact", "value"), *(fact for fact in facts.items() if fact[1])], [False, False], "")


def _span_of(weights: FloatArray | None) -> str:
    return "" if weights is None else f"from {weights.min():.4g} to {weights.max():.4g}"


def _most_frequent(names: Sequence[str], rows: IntArray, known: IntArray) -> Grid:
    """Return the table of the labels; shares are those among the rows where a label is known."""
    order = np.argsort(-rows, kind="stable")
    shares = (rows / np.maximum(1, known))[order]
    shown = np.full(len(names), "", dtype=np.object_)  # there may be millions of names, of which few are needed
    shown[:_SHOWN] = [names[label] for label in order[:_SHOWN].tolist()]
    table = {"name": shown, "rows": rows[order], "share": shares}
    return grid(table, list(table), "labels", at_most=_SHOWN)


def _rows_of_labels(labels: Matrix) -> IntArray:
    """Return how many rows are known to carry each label."""
    return np.asarray((labels == 1).sum(axis=0)).reshape(-1)


def _unknown(labels: Matrix) -> Matrix:
    """Return which cells are unknown."""
    if not sparse.issparse(labels):
        return labels != labels
    return sparse.csr_array((np.isnan(labels.data), labels.indices, labels.indptr), shape=labels.shape)


def count_missing(matrix: Any) -> int:
    """Return how many cells are NaN, None or missing values of pandas."""
    matrix = without_sparse_frame(matrix)
    if is_frame(matrix):
        return int(matrix.isna().sum().sum())
    values = matrix.data if sparse.issparse(matrix) else matrix
    if values.dtype.kind not in "fO":
        return 0
    n_bytes = values.itemsize * (values.shape[1] if values.ndim == 2 else 1)
    return sum(_n_missing_cells(values[block]) for block in row_blocks(len(values), n_bytes))


def _n_missing_cells(cells: Any) -> int:
    missing = cells != cells if cells.dtype.kind == "f" else np.not_equal(cells, cells) | np.equal(cells, _NONE)
    return int(np.count_nonzero(missing))


# The matrices of a data set as data frames of pandas, with the names of the columns, and back.

_MOST_COLUMNS = 1_000_000  # each is an object of pandas


def check_as_frame(as_frame: object) -> None:
    """Raise unless `as_frame` is a flag and pandas is installed if needed: before a file is read."""
    check_flag("as_frame", as_frame)
    if as_frame:
        _pandas()


def is_frame(matrix: Any) -> bool:
    """Return whether a matrix of a data set is a data frame."""
    return hasattr(matrix, "iloc")


def frame_of_features(X: Any, names: Sequence[str], kinds: Sequence[str]) -> Any:
    """Return features as a data frame: cells and codes of categories as pandas' categories, dates as its dates."""
    if is_frame(X):
        return X
    if sparse.issparse(X) or (X.dtype.kind != "O" and "code" not in kinds):
        return _frame_of(X, names, "feature_names")
    _check_distinct(names, "feature_names")
    read = _cells_of if X.dtype.kind == "O" else _numbers_of
    return _pandas().DataFrame({name: read(*pair) for name, *pair in zip(names, X.T, kinds, strict=True)})


def frame_of_labels(Y: Any, names: Sequence[str]) -> Any:
    """Return an indicator matrix as a data frame."""
    return Y if is_frame(Y) else _frame_of(Y, names, "label_names")


def features_of_frame(frame: Any, kinds: Sequence[str]) -> Matrix:
    """Return the features behind `frame_of_features`; an array is unchanged."""
    if not is_frame(frame) or is_sparse_frame(frame):
        return without_sparse_frame(frame)
    if all(dtype == np.float64 for dtype in frame.dtypes):
        return frame.to_numpy()
    return np.column_stack([_values_of(frame.iloc[:, place], kind) for place, kind in enumerate(kinds)])


def labels_of_frame(frame: Any) -> Matrix:
    """Return the labels behind `frame_of_labels`; an array is unchanged. Missing values of pandas become NaN."""
    matrix = without_sparse_frame(frame)
    if not is_frame(matrix):
        return matrix
    values: Matrix = matrix.to_numpy()
    return values if values.dtype.kind != "O" else matrix.to_numpy(dtype=np.float64, na_value=np.nan)


def _frame_of(matrix: Matrix, names: Sequence[str], what: str) -> Any:
    """Return a frame of columns of one type; a dense one shares the memory of the matrix."""
    _check_distinct(names, what)
    if sparse.issparse(matrix):
        return _pandas().DataFrame.sparse.from_spmatrix(matrix, columns=list(names))
    return _pandas().DataFrame(matrix, columns=list(names), copy=False)


def _check_distinct(names: Sequence[str], what: str) -> None:
    if len(names) > _MOST_COLUMNS:
        problem = f"{what} of data frames must be at most {_MOST_COLUMNS}, got {len(names)}."
        raise ValueError(f"{problem} Hint: as_frame=False.")
    if len(set(names)) < len(names):
        name, _ = Counter(names).most_common(1)[0]
        raise ValueError(f"{what} must be distinct in a data frame, got {name!r} twice. Hint: as_frame=False.")


def _cells_of(cells: AnyArray, kind: str) -> Any:
    """Return a column of an array of objects by its kind."""
    if kind == "category":
        return _pandas().Categorical(cells)
    if kind == "date":
        return np.where(np.equal(cells, cells), cells, _NONE).astype("datetime64[us]")
    return cells if kind == "text" else _numbers_of(cells.astype(np.float64), kind)


def _numbers_of(values: AnyArray, kind: str) -> Any:
    """Return a column of numbers; codes become categories, a category in other numbers is a coordinate."""
    if kind != "code":
        return values
    codes = np.where(np.isnan(values), -1, values).astype(np.intp)
    return _pandas().Categorical.from_codes(codes, categories=np.arange(codes.max(initial=-1) + 1))


def _values_of(column: Any, kind: str) -> AnyArray:
    """Return a column of a frame as numbers or, if some of its cells are none, as objects."""
    if kind in ("text", "date") or (kind == "category" and column.dtype.kind == "O"):
        missing = np.array(np.nan, dtype=object) if kind == "date" else _NONE
        return np.where(column.isna(), missing, column.astype(object))
    values: AnyArray = column.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _pandas() -> Any:
    return import_optional("pandas", extra="frames", purpose="as_frame=True")
