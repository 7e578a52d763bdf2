"""Samples with mixed columns encoded so that the Euclidean distance compares each column in the right way."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from nearlabel.preprocessing._columns import ColumnReader, OverlapEncoder, TextEncoder
from nearlabel.preprocessing._training_range import CLIP, KEEP, OutOfRange, TrainingRange, check_out_of_range
from nearlabel.utils.characters import check_whole
from nearlabel.utils.containers import checked_container, columns_of, is_frame, kind_of
from nearlabel.utils.messages import shortened
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.types import AnyArray, BoolArray, FloatArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_choice, check_flag

_SCALES = {"minmax", "standard", "robust", "none"}
_MISSING_NUMBERS = {"median", "mean", "most_frequent", "distance"}
_MISSING_CATEGORIES = {"different", "category"}
_KINDS = {"numbers": "number", "dates": "date", "categories": "category", "text": "text"}  # of columns, by group
_RANGE = "range"  # the step that knows the range
_LONGEST_HINT = 200
_FEW_ROWS = 20  # this few rows may well differ in each category
_SPARSE_BELOW = {True: 1.0, False: 0.0, "auto": 0.3}  # share of non-zeros; as scikit-learn's ColumnTransformer


class MixedFeaturesEncoder(TransformerMixin, BaseEstimator):
    """Encode numbers, categories, dates and texts so that the plain Euclidean distance compares them properly.

    The squared distance of two samples is a sum over the columns. By default it is that of HEOM, the heterogeneous
    Euclidean-overlap metric [1]_: numbers differ by ``|u - v| / range``, where the range is that of the training
    samples (0 if a column is constant); categories differ by 0 if they are equal and by 1 if not. So every exact
    search, and every estimator based on the Euclidean distance, can compare mixed columns.

    In HEOM, a missing value is at distance 1 from all values and from all other missing values. Categories and texts
    are encoded that way here. No coordinates can do so for numbers: they are imputed, or stay missing for a search that
    handles missing values (``missing_numbers="distance"``).

    Parameters
    ----------
    categorical : "auto" or sequence of str or int, default="auto"
        Names or positions of columns of categories. "auto": columns of texts, booleans and of categorical type; in
        arrays of objects, columns with any value that is no number. Integers are numbers unless their columns are
        listed here.
    text : sequence of str or int, default=()
        Columns of texts to compare by their words. Those of a sample are joined to one text: so a word of a title is
        the same as in a body. The squared distance of two texts is 1 - cosine of their tf-idf. A text that is missing,
        or has no word that occurs in training, is at distance 1 from all others.
    dates : sequence of str or int, default=()
        Columns of dates or times, or of texts such as 2026-01-31, to compare as numbers of days. Dates in any other
        column raise an error.
    scale : {"minmax", "standard", "robust", "none"}, default="minmax"
        The divisor of numbers and dates: their range, standard deviation, interquartile range, or none.
    out_of_range : {"clip", "keep"} or float, default="clip"
        What happens to numbers and dates outside the range of the training samples: "clip": they are moved to its
        nearest end, so that with ``scale="minmax"`` none differs by more than 1; "keep": nothing, as in HEOM; a number
        c: they are moved to the end of a range that is wider by c times its width on each side. Missing ones stay
        missing.
    missing_numbers : {"median", "mean", "most_frequent", "distance"}, default="median"
        Replacement of a missing number or date, or "distance": it stays NaN for a search that accepts it, such as
        ``ExactNeighbors("heom")``, in which it is at distance 1 from all values.
    missing_categories : {"different", "category"}, default="different"
        Whether a missing category differs from all others, or all missing ones are one category.
    text_encoder : object with `fit` and `transform`, or callable, default=None
        Turns a list of texts into rows, sparse or dense, which are scaled to equal length; a function, such as the
        `encode` of a language model, needs no fit. None: scikit-learn's ``TfidfVectorizer(sublinear_tf=True)``, in
        which a word that is repeated counts a little more, and not as often as it occurs.
    weights : mapping of str to float, default=None
        Factors for the squared distances of "numbers", "dates", "categories" and "text"; the default of each is 1.
    sparse_output : bool or "auto", default="auto"
        Whether `transform` gives a CSR array. "auto": if less than 30 % of the training samples' values are not zero.
    feature_names : sequence of str, default=None
        Names of the columns of an array in messages and `get_feature_names_out`. None: their numbers.

    Attributes
    ----------
    groups_ : dict of str to list of int
        Positions of the columns that are "numbers", "dates", "categories" and "text".
    transformer_ : ColumnTransformer
        The fitted parts, a pipeline for each group.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if all are strings.

    See Also
    --------
    nearlabel.neighbors.ExactNeighbors : The search; its metric "heom" takes missing numbers.

    Notes
    -----
    ``fit_transform(X)`` is not ``fit(X).transform(X)`` where categories or texts are missing: each missing cell of the
    training samples is at distance 1 from each other, which takes one column per cell; queries share one such column,
    since queries are not compared with each other. Pipelines do this correctly. (scikit-learn's `TargetEncoder` has two
    encodings for a similar reason.)

    A category has two columns with 1/2 each, not one with 1/√2: so sums of squares have no rounding, and equal
    distances are equal to the last bit. A category that training samples lack is at distance 1 from all of theirs.

    References
    ----------
    .. [1] D. R. Wilson, T. R. Martinez: Improved Heterogeneous Distance Functions. Journal of Artificial Intelligence
       Research 6, 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.preprocessing import MixedFeaturesEncoder
    >>> X = np.array([[20, "red"], [30, "red"], [25, None], [60, "blue"]], dtype=object)
    >>> encoder = MixedFeaturesEncoder()
    >>> encoded = encoder.fit_transform(X)
    >>> np.sum((encoded - encoded[0]) ** 2, axis=1).tolist()  # 10/40 squared; 5/40 squared and 1; 1 and 1
    [0.0, 0.0625, 1.015625, 2.0]
    >>> encoder.groups_
    {'numbers': [0], 'categories': [1]}
    >>> encoder.is_out_of_range(np.array([[70, "red"]], dtype=object)).tolist()  # 70 becomes 60
    [[True, False]]
    >>> model = make_pipeline(MixedFeaturesEncoder(), BRkNN(1)).fit(X, [[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> model.predict(np.array([[21, "green"]], dtype=object))
    array([[1, 0]])
    """

    out_of_range: OutOfRange = KEEP  # of encoders that were saved before there were ranges

    def __init__(
        self,
        *,
        categorical: Any = "auto",
        text: Any = (),
        dates: Any = (),
        scale: str = "minmax",
        out_of_range: OutOfRange = CLIP,
        missing_numbers: str = "median",
        missing_categories: str = "different",
        text_encoder: Any = None,
        weights: Mapping[str, float] | None = None,
        sparse_output: bool | Literal["auto"] = "auto",
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.categorical = categorical
        self.text = text
        self.dates = dates
        self.scale = scale
        self.out_of_range = out_of_range
        self.missing_numbers = missing_numbers
        self.missing_categories = missing_categories
        self.text_encoder = text_encoder
        self.weights = weights
        self.sparse_output = sparse_output
        self.feature_names = feature_names

    def fit(self, X: MatrixLike, y: object = None) -> Self:
        """Learn ranges, categories and words.

        Parameters
        ----------
        X : array-like, data frame or Arrow table of shape (n_samples, n_columns)
            Training samples.
        y : None
            Not used.

        Returns
        -------
        self
            The fitted encoder.

        Raises
        ------
        ValueError
            If a column is unknown, named twice, without any value or not of its kind, or a parameter is out of range.
        TypeError
            If a parameter is of a wrong type, or X is sparse.
        """
        self.fit_transform(X)
        return self

    @all_or_nothing
    def fit_transform(self, X: MatrixLike, y: object = None) -> Matrix:
        """Learn from training samples and encode them.

        Parameters
        ----------
        X : array-like, data frame or Arrow table of shape (n_samples, n_columns)
            Training samples.
        y : None
            Not used.

        Returns
        -------
        ndarray or CSR array of shape (n_samples, n_features_out)
            The encoded samples. `transform` encodes missing categories and texts in another way, for queries.

        Raises
        ------
        ValueError
            If a column is unknown, named twice, without any value or not of its kind, or a parameter is out of range.
        TypeError
            If a parameter is of a wrong type, or X is sparse.
        """
        self._check_parameters()
        X = self._table(X, reset=True)
        n_names = len(self._names())
        if n_names not in (0, self.n_features_in_):
            raise ValueError(f"feature_names must be {self.n_features_in_} names, one for each column, got {n_names}.")
        self.groups_ = self._grouped(X)
        with config_context(transform_output="default"):
            self.transformer_ = self._parts()
            encoded = self.transformer_.fit_transform(X)
        self._warn_of_identifiers(len(columns_of(X)[0]))
        return self._as_wanted(encoded)

    def transform(self, X: MatrixLike) -> Matrix:
        """Encode queries.

        Parameters
        ----------
        X : array-like, data frame or Arrow table of shape (n_queries, n_columns)
            Samples with the columns of the training samples.

        Returns
        -------
        ndarray or CSR array of shape (n_queries, n_features_out)
            The encoded samples.

        Raises
        ------
        ValueError
            If the columns are others, or have values of another kind.
        """
        check_is_fitted(self)
        columns = columns_of(self._table(X, reset=False))
        parts = [self._encoded(group, [columns[at] for at in places]) for group, places in self.groups_.items()]
        if self.transformer_.sparse_output_:
            return sparse.hstack(list(map(sparse.csr_array, parts)), format="csr")
        return self._as_wanted(np.hstack(list(map(as_dense, parts))))

    def is_out_of_range(self, X: MatrixLike) -> BoolArray:
        """Return which numbers and dates are outside the range of the training samples.

        Parameters
        ----------
        X : array-like, data frame or Arrow table of shape (n_queries, n_columns)
            Samples with the columns of the training samples.

        Returns
        -------
        outside : ndarray of bool of shape (n_queries, n_columns)
            The sum over the rows counts them by column. False for missing values, categories and texts, and for groups
            of weight 0.

        Raises
        ------
        ValueError
            If the columns are others, or have values of another kind.
        """
        check_is_fitted(self)
        columns = columns_of(self._table(X, reset=False))
        outside = np.zeros((len(columns[0]), len(columns)), dtype=bool)
        used = {group for group in ("numbers", "dates") if (self.weights or {}).get(group, 1) > 0}
        for group in used & set(self.groups_):
            steps, places = self.transformer_.named_transformers_[group].named_steps, self.groups_[group]
            if _RANGE in steps:  # not if it was saved before there were ranges
                outside[:, places] = steps[_RANGE].is_outside(steps["read"].read([columns[at] for at in places]))
        return outside

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Return the names of the encoded columns.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns; None: those of the training samples, else `feature_names`, else x0, x1, ...

        Returns
        -------
        ndarray of str
            The group and the name of the column, ``numbers__age``; for categories also the value,
            ``categories__colour_red`` and ``categories__colour_red (again)``; for texts the word, ``text__wheat``.
        """
        check_is_fitted(self)
        if input_features is None:
            input_features = self._names() or None
        return np.asarray(self.transformer_.get_feature_names_out(input_features))

    def _check_parameters(self) -> None:
        check_choice("scale", self.scale, _SCALES)
        check_choice("missing_numbers", self.missing_numbers, _MISSING_NUMBERS)
        check_choice("missing_categories", self.missing_categories, _MISSING_CATEGORIES)
        check_out_of_range(self.out_of_range)
        if self.sparse_output != "auto":
            check_flag("sparse_output", self.sparse_output)
        encoder = self.text_encoder
        if encoder is not None and not callable(encoder) and not hasattr(encoder, "transform"):
            raise TypeError(f"text_encoder must be a transformer of texts or a function, got {encoder!r}.")
        self._check_weights()

    def _check_weights(self) -> None:
        weights = {} if self.weights is None else self.weights
        if not isinstance(weights, Mapping) or not set(weights) <= set(_KINDS):
            raise ValueError(f"weights must be a mapping of some of {sorted(_KINDS)}, got {weights!r}.")
        for group, weight in weights.items():
            if not isinstance(weight, numbers.Real) or not 0 <= weight < np.inf:
                raise ValueError(f"weights must be finite numbers of at least 0, got {weight!r} for {group!r}.")
        if self.missing_numbers == "distance" and any(weights.get(group, 1) != 1 for group in ("numbers", "dates")):
            raise ValueError(
                "weights of numbers and dates must be 1 with missing_numbers='distance', where a missing one adds 1,"
                f" got {dict(weights)}. Hint: weights of the other groups have the same effect."
            )

    def _table(self, X: MatrixLike, *, reset: bool) -> Any:
        """Return a frame or table unchanged, any other container as a two-dimensional array; check the columns."""
        X = checked_container("X", X)
        if is_frame(X):
            names = list(getattr(X, "column_names", getattr(X, "columns", ())))
            check_whole("X", names)
            if len(set(names)) < len(names):
                again = next(name for name in names if names.count(name) > 1)
                raise ValueError(f"X must have columns of distinct names, got {again!r} {names.count(again)} times.")
            if not X.shape[0]:
                raise ValueError(f"X must have at least one row, got a {type(X).__name__} of shape {X.shape}.")
            return validate_data(self, X, skip_check_array=True, reset=reset)
        X = np.array(X, dtype=object) if isinstance(X, list | tuple) else X
        return validate_data(self, X, dtype=None, ensure_all_finite="allow-nan", reset=reset)

    def _grouped(self, X: Any) -> dict[str, list[int]]:
        """Return the positions of the columns of each group that has any."""
        declared = {"categories": ("categorical", self.categorical), "text": ("text", self.text)}
        declared["dates"] = ("dates", self.dates)
        group_of: dict[int, str] = {}
        for group, (parameter, which) in declared.items():
            for place in self._positions(parameter, which):
                if place in group_of:
                    raise ValueError(f"{parameter} must name each column once, got {self._name(place)} again.")
                group_of[place] = group
        for place, column in enumerate(columns_of(X)):
            if place not in group_of:
                group_of[place] = self._group_by_type(place, column)
        groups = {group: sorted(p for p, of in group_of.items() if of == group) for group in ("numbers", *declared)}
        return {group: places for group, places in groups.items() if places}

    def _group_by_type(self, place: int, column: Any) -> str:
        kind = kind_of(column)
        if kind == "date":
            raise ValueError(
                f"X must have numbers, categories or texts, got dates in column {self._name(place)}."
                f" Hint: dates=[{self._name(place)}] compares them as days."
            )
        return {"number": "numbers", "category": "categories"}[kind]

    def _positions(self, parameter: str, which: Any) -> Iterator[int]:
        if parameter == "categorical" and isinstance(which, str) and which == "auto":
            return
        if isinstance(which, str) or not isinstance(which, Iterable):
            raise TypeError(f"{parameter} must be a sequence of names or positions, got {which!r}. Hint: [{which!r}].")
        names = self._names()
        for column in which:
            if isinstance(column, str) and column in names:
                yield names.index(column)
            elif isinstance(column, int | np.integer) and 0 <= column < self.n_features_in_:
                yield int(column)
            else:
                known = shortened(", ".join(names), _LONGEST_HINT) or f"0 to {self.n_features_in_ - 1}"
                raise ValueError(f"{parameter} must name columns of X, got {column!r}. Hint: they are {known}.")

    def _names(self) -> list[str]:
        """Return the names of the columns; none for an array whose columns were not named."""
        return [str(name) for name in getattr(self, "feature_names_in_", self.feature_names or ())]

    def _name(self, place: int) -> str:
        names = self._names()
        return repr(names[place]) if names else str(place)

    def _parts(self) -> ColumnTransformer:
        """Return a pipeline for each group."""
        parts = [(group, self._pipeline(group, places), places) for group, places in self.groups_.items()]
        weights = {} if self.weights is None else self.weights
        factors = {name: float(np.sqrt(weights.get(name, 1))) for name, _, _ in parts}
        factors = {name: factor for name, factor in factors.items() if factor != 1}
        below = _SPARSE_BELOW[self.sparse_output]
        return ColumnTransformer(parts, sparse_threshold=below, transformer_weights=factors or None)

    def _pipeline(self, group: str, places: list[int]) -> Pipeline:
        read = ("read", ColumnReader(_KINDS[group], [self._name(place) for place in places]))
        if group == "categories":
            return Pipeline([read, ("overlap", OverlapEncoder(self.missing_categories))])
        if group == "text":
            encoder = TfidfVectorizer(sublinear_tf=True) if self.text_encoder is None else self.text_encoder
            return Pipeline([read, ("encode", TextEncoder(encoder))])
        impute = "passthrough" if self.missing_numbers == "distance" else SimpleImputer(strategy=self.missing_numbers)
        scalers = {"minmax": RangeScaler(), "standard": StandardScaler(), "robust": RobustScaler()}
        bound = (_RANGE, TrainingRange(self.out_of_range))
        return Pipeline([read, bound, ("impute", impute), ("scale", scalers.get(self.scale, "passthrough"))])

    def _encoded(self, group: str, columns: Sequence[Any]) -> Matrix:
        """Encode the columns of a group for queries.

        The parts of `transformer_` would check the values again at each step, which takes most of the time of one row.
        """
        steps = self.transformer_.named_transformers_[group].named_steps
        values = steps["read"].read(columns)
        if group in ("numbers", "dates"):
            values = steps[_RANGE].moved(values) if _RANGE in steps else values  # saved before there were ranges
            values = _scaled(_imputed(values, steps["impute"]), steps["scale"])
        else:
            values = steps["overlap" if group == "categories" else "encode"].encode(values)
        weights = self.transformer_.transformer_weights or {}
        return values * weights[group] if group in weights else values

    def _as_wanted(self, encoded: Matrix) -> Matrix:
        return sparse.csr_array(encoded) if sparse.issparse(encoded) or self.sparse_output is True else encoded

    def _warn_of_identifiers(self, n_rows: int) -> None:
        if "categories" not in self.groups_ or n_rows < _FEW_ROWS:
            return
        overlap = self.transformer_.named_transformers_["categories"]["overlap"]
        for place, known in zip(self.groups_["categories"], overlap.encoder_.categories_, strict=True):
            if len(known) > n_rows / 2:
                warnings.warn(
                    f"Column {self._name(place)} has {len(known)} categories in {n_rows} samples, like an identifier."
                    " Hint: leave it out, or list it in `text` to compare its words.",
                    UserWarning,
                    stacklevel=5,
                )

    def __sklearn_tags__(self) -> Tags:
        """Declare the kinds of X that are accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


# Numbers without missing values, divided by their range.


class RangeScaler(MinMaxScaler):
    """scikit-learn's `MinMaxScaler`, but a column that is constant in training becomes 0, and rounding stays small.

    `MinMaxScaler` multiplies by 1/range, then subtracts, which loses digits where values are far from zero for their
    range, as times in seconds are. `FeatureScaler` is for whole matrices, sparse ones too; this is for single dense
    columns, which may have missing values: NaN stays.
    """

    def transform(self, X: MatrixLike) -> FloatArray:
        """Return (X - least) / range; NaN stays."""
        check_is_fitted(self)
        return _scaled(validate_data(self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False), self)


def _imputed(values: FloatArray, imputer: Any) -> FloatArray:
    """Return numbers in which missing ones are replaced by a fitted `SimpleImputer`; "passthrough" keeps them."""
    return values if imputer == "passthrough" else np.where(np.isnan(values), imputer.statistics_, values)


def _scaled(values: FloatArray, scaler: Any) -> FloatArray:
    """Return the numbers that `scaler.transform` makes, to the bit; "passthrough" keeps them."""
    if isinstance(scaler, RangeScaler):
        values = (values - scaler.data_min_) / np.where(scaler.data_range_ > 0, scaler.data_range_, np.inf)
    elif isinstance(scaler, StandardScaler):
        values = (values - scaler.mean_) / scaler.scale_
    elif isinstance(scaler, RobustScaler):
        values = (values - scaler.center_) / scaler.scale_
    return values
