"""The columns of any container, read as one kind of value."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from copy import copy
from itertools import count
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder, normalize
from sklearn.utils import check_array
from sklearn.utils.sparsefuncs_fast import inplace_csr_row_normalize_l1, inplace_csr_row_normalize_l2
from sklearn.utils.validation import check_is_fitted, validate_data

from nearlabel.utils.containers import NONE, as_array, check_exact, checked_container, columns_of, is_number, missing
from nearlabel.utils.types import CSR, AnyArray, BoolArray, FloatArray, IntArray, Matrix, MatrixLike

_MICROSECONDS_A_DAY = 86_400_000_000


class ColumnReader(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Read columns of any container as numbers, dates, categories or texts.

    Parameters
    ----------
    kind : {"number", "date", "category", "text"}
        "number" and "date" give float64 with NaN where a value is missing, dates as days since 1970; "category" gives
        objects with None where one is missing; "text" gives a list of strings, the cells of a row joined.
    names : sequence of str
        Names of the columns in messages.
    """

    def __init__(self, kind: str, names: Sequence[str]) -> None:
        self.kind = kind
        self.names = names

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Reject columns without any value."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: MatrixLike, y: object = None) -> Any:
        """Read training samples."""
        validate_data(self, X, skip_check_array=True)
        values = self._each(columns_of(X))
        for name, column in zip(self.names, values, strict=True):
            if _lack_all(self.kind, column):
                raise ValueError(
                    f"X must have a value in each column, got column {name} of {len(column)} missing ones."
                    " Hint: leave it out."
                )
        return self._joined(values)

    def transform(self, X: MatrixLike) -> Any:
        """Read rows."""
        return self.read(columns_of(X))

    def read(self, columns: Sequence[Any]) -> Any:
        """Read columns of any container, one for each name."""
        return self._joined(self._each(columns))

    def _each(self, columns: Sequence[Any]) -> list[AnyArray]:
        read, expected = _READERS[self.kind]
        values = []
        for name, column in zip(self.names, columns, strict=True):
            if self.kind == "number":
                check_exact("X", column)
            try:
                values.append(read(as_array(column)))
            except (TypeError, ValueError) as error:
                raise ValueError(f"X must have {expected} in column {name}: {error}") from error
        return values

    def _joined(self, values: Sequence[AnyArray]) -> Any:
        if self.kind == "text":
            return ["\n".join(filter(None, cells)) for cells in zip(*values, strict=True)]
        return np.column_stack(values)


def _lack_all(kind: str, column: Any) -> bool:
    """Return whether no cell of a column that was read has a value."""
    if kind == "text":
        return not any(map(str.strip, column))
    return bool((np.equal(column, NONE) if kind == "category" else np.isnan(column)).all())


def _numbers(values: AnyArray) -> FloatArray:
    if values.dtype.kind not in "biufO":
        raise ValueError(f"got values of type {values.dtype}.")
    if values.dtype.kind == "O":
        values = np.where(missing(values), np.nan, values)
    read: FloatArray = values.astype(np.float64)
    if np.isinf(read).any():
        raise ValueError("got infinity.")
    return read


def _days(values: AnyArray) -> FloatArray:
    if values.dtype.kind not in "MUO" or any(map(is_number, values[~missing(values)][:1])):
        raise ValueError(f"got values of type {values.dtype}.")
    if values.dtype.kind == "O":
        values = values.copy()
        values[missing(values)] = None
    since_1970 = values.astype("datetime64[us]")
    return np.where(np.isnat(since_1970), np.nan, since_1970.astype(np.int64) / _MICROSECONDS_A_DAY)


def _categories(values: AnyArray) -> AnyArray:
    lacking, objects = missing(values), values.astype(object)
    kinds = set(map(type, objects[~lacking]))
    unusable = sorted(kind.__name__ for kind in kinds if not issubclass(kind, Hashable))
    if unusable or len({issubclass(kind, str) for kind in kinds}) > 1:
        names = ", ".join(unusable or sorted(kind.__name__ for kind in kinds))
        raise TypeError(f"got values of type {names}. Hint: make all of them texts.")
    objects[lacking] = None
    return objects


def _texts(values: AnyArray) -> AnyArray:
    values = np.where(missing(values), "", values.astype(object))
    for value in values:
        if not isinstance(value, str):
            raise TypeError(f"got {value!r}.")
    return values


_READERS: dict[str, tuple[Callable[[AnyArray], AnyArray], str]] = {  # and what they expect
    "number": (_numbers, "numbers"),
    "date": (_days, "dates, or texts like 2026-01-31,"),
    "category": (_categories, "categories"),
    "text": (_texts, "texts"),
}


def _places_of(categories: Sequence[AnyArray]) -> list[dict[Any, int]]:
    """Return the column of each category, one dictionary for each column that is encoded."""
    starts = np.cumsum([0, *map(len, categories)]).tolist()
    return [dict(zip(known.tolist(), count(start))) for known, start in zip(categories, starts, strict=False)]


def _csr(values: FloatArray, places: IntArray, lengths: IntArray, n_columns: int) -> CSR:
    """Return rows of these numbers of entries, with 32-bit indices if possible."""
    kind = np.int32 if max(len(values), n_columns) <= np.iinfo(np.int32).max else np.int64
    ends = np.append(0, np.cumsum(lengths)).astype(kind)
    return sparse.csr_array((values, places.astype(kind, copy=False), ends), shape=(len(lengths), n_columns))


def _tfidf(vectorizer: TfidfVectorizer, texts: list[str]) -> CSR:
    """Return the rows of `vectorizer.transform`, to the bit, without the checks that take most of its time of a row."""
    rows = CountVectorizer.transform(vectorizer, texts)
    rows.data = rows.data.astype(np.result_type(rows.data, np.float32), copy=False)
    if vectorizer.sublinear_tf:
        rows.data = np.log(rows.data) + 1.0
    if vectorizer.use_idf:
        rows.data *= vectorizer.idf_[rows.indices]
    if vectorizer.norm is not None:
        (inplace_csr_row_normalize_l1 if vectorizer.norm == "l1" else inplace_csr_row_normalize_l2)(rows)
    return rows


# Encoders of values without an order: unequal or missing values are at distance 1.
#
# Each value is a direction of its own, of squared length 1/2, so that two unequal values are at the squared distance
# 1/2 + 1/2. A missing value is equal to no other: in training samples each missing cell gets a column of its own.
# Queries need one column for all of them, because queries are not compared with each other. So `fit_transform`
# differs from `transform`.


class Apart(TransformerMixin, BaseEstimator):
    """Give a direction of its own to each missing cell; a subclass encodes the others."""

    def fit(self, X: Any, y: object = None) -> Self:
        """Learn the known values, and count the missing ones."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: object = None) -> CSR:
        """Encode training samples: each missing cell is at distance 1 from all others."""
        known, lacking = self._learn(X)
        self._column_of_missing = np.nonzero(lacking)[1]
        self.n_missing_ = len(self._column_of_missing)
        return self._halves(known, lacking, lacking.shape[1] + np.arange(self.n_missing_))

    def transform(self, X: Any) -> CSR:
        """Encode queries: a missing or unseen value is at distance 1 from all training samples."""
        check_is_fitted(self)
        return self.encode(X)

    def encode(self, X: Any) -> CSR:
        """Encode queries, without a check."""
        known, lacking = self._encode(X)
        return self._halves(known, lacking, np.nonzero(lacking)[1])

    @abstractmethod
    def _learn(self, X: Any) -> tuple[Any, BoolArray]:
        """Learn from training samples and encode them: directions of known values, and which cells have none."""

    @abstractmethod
    def _encode(self, X: Any) -> tuple[Any, BoolArray]:
        """Encode queries in the same way."""

    @abstractmethod
    def _halves(self, known: Any, lacking: BoolArray, own: IntArray) -> CSR:
        """Return all columns with half of their squared length.

        Takes the column, after the known ones, of each cell that lacks a direction.
        """


class OverlapEncoder(Apart):
    """Encode categories so that the squared distance counts those that differ.

    Each category has two columns with 1/2, not one with 1/√2: so squared distances are whole numbers without rounding,
    and equal distances are exactly equal.

    Parameters
    ----------
    missing : {"different", "category"}, default="different"
        Whether a missing category differs from every other one, or is a category of its own.
    """

    def __init__(self, missing: str = "different") -> None:
        self.missing = missing

    def _learn(self, X: AnyArray) -> tuple[IntArray, BoolArray]:
        encoder = OneHotEncoder(handle_unknown="ignore").fit(X)
        if self.missing == "different" and any(None in known for known in encoder.categories_):
            known = [np.array([value for value in one if value is not None], object) for one in encoder.categories_]
            encoder = OneHotEncoder(categories=known, handle_unknown="ignore").fit(X)
        self.encoder_ = encoder
        self.__dict__.pop("_places", None)
        return self._encode(X)

    def _encode(self, X: AnyArray) -> tuple[IntArray, BoolArray]:
        """Return the column of each cell's category; `OneHotEncoder` would check each value."""
        if "_places" not in vars(self):
            self._places = _places_of(self.encoder_.categories_)
        columns = zip(self._places, X.T.tolist(), strict=True)
        known = np.array([[places.get(value, -1) for value in cells] for places, cells in columns], dtype=np.intp).T
        return known, known < 0

    def _halves(self, known: IntArray, lacking: BoolArray, own: IntArray) -> CSR:
        (n_rows, n_columns), n_known = known.shape, sum(map(len, self.encoder_.categories_))
        known[lacking] = n_known + own
        known.sort(axis=1)
        n_half = n_known + n_columns + self.n_missing_
        places = np.hstack([known, known + n_half]).ravel()
        return _csr(np.full(len(places), 0.5), places, np.full(n_rows, 2 * n_columns), 2 * n_half)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the places, which follow from the categories."""
        return {name: value for name, value in super().__getstate__().items() if name != "_places"}

    def get_feature_names_out(self, input_features: Any) -> AnyArray:
        """Return the names of the columns."""
        names = self.encoder_.get_feature_names_out(input_features).tolist()
        columns = [
            str(name) for name in (self.encoder_.feature_names_in_ if input_features is None else input_features)
        ]
        names += [f"{column} (unseen)" for column in columns]
        names += [f"{columns[at]} (missing {n})" for n, at in enumerate(self._column_of_missing)]
        return np.array([*names, *(f"{name} (again)" for name in names)], dtype=object)


class TextEncoder(Apart):
    """Encode texts so that the squared distance is 1 - cosine.

    Parameters
    ----------
    encoder : object with `fit` and `transform`, or callable
        Turns a list of texts into rows, one each.
    """

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder

    def _learn(self, X: list[str]) -> tuple[Matrix, BoolArray]:
        if type(self.encoder) is TfidfVectorizer:  # `fit` and `transform` would read the words twice
            self.encoder_ = clone(self.encoder)
            return self._directions(X, self.encoder_.fit_transform(X))
        self.encoder_ = clone(self.encoder).fit(X) if hasattr(self.encoder, "transform") else self.encoder
        return self._encode(X)

    def _encode(self, X: list[str]) -> tuple[Matrix, BoolArray]:
        self._restore()
        if type(self.encoder_) is TfidfVectorizer:
            return self._directions(X, _tfidf(self.encoder_, X))
        return self._directions(X, getattr(self.encoder_, "transform", self.encoder_)(X))

    def _directions(self, X: list[str], rows: Any) -> tuple[CSR, BoolArray]:
        if type(self.encoder_) is TfidfVectorizer:  # its rows are new and need no check
            rows = sparse.csr_array(rows)
            inplace_csr_row_normalize_l2(rows)
        else:
            rows = sparse.csr_array(normalize(self._checked(X, rows)))
        self.n_columns_ = rows.shape[1]
        return rows, np.diff(rows.indptr).reshape(-1, 1) == 0

    def _checked(self, X: list[str], rows: Any) -> Matrix:
        of = "the result of text_encoder"
        rows = check_array(checked_container(of, rows), accept_sparse="csr", input_name=of)
        if rows.shape[0] != len(X):
            raise ValueError(f"text_encoder must return a row for each of {len(X)} texts, got shape {rows.shape}.")
        return rows

    def _halves(self, known: CSR, lacking: BoolArray, own: IntArray) -> CSR:
        values, places, at = (
            known.data.astype(np.float64, copy=False),
            known.indices,
            known.indptr[:-1][lacking.ravel()],
        )
        if len(own):
            values, places = np.insert(values, at, 1.0), np.insert(places, at, self.n_columns_ + own)
        n_columns = self.n_columns_ + 1 + self.n_missing_
        return _csr(values * np.sqrt(0.5), places, np.diff(known.indptr) + lacking.ravel(), n_columns)

    def __getstate__(self) -> dict[str, Any]:
        """Store the words of tf-idf as one text: a model file takes an entry, and time, for each item of a dict."""
        state = dict(super().__getstate__())
        encoder: Any = state.get("encoder_")
        if type(encoder) is TfidfVectorizer and hasattr(encoder, "vocabulary_"):
            words, without = encoder.vocabulary_, copy(encoder)
            del without.vocabulary_
            state |= {"encoder_": without, "_words": json.dumps(sorted(words, key=words.__getitem__))}
        return state

    def _restore(self) -> None:
        """Give the encoder of a file its words; not while the file is loaded, which must run no code of ours."""
        words = vars(self).get("_words")
        if words is not None:
            encoder: Any = self.encoder_
            encoder.vocabulary_ = {word: place for place, word in enumerate(json.loads(words))}
            self.__dict__.pop("_words", None)

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the columns."""
        self._restore()
        named = hasattr(self.encoder_, "get_feature_names_out")
        names = self.encoder_.get_feature_names_out() if named else range(self.n_columns_)
        return np.array([*map(str, names), "(empty)", *(f"(empty {n})" for n in range(self.n_missing_))], dtype=object)
