"""The base class of the samplers: checks of X and y, and results in the containers of X and y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_consistent_length, validate_data

from nearlabel.resampling._containers import labels_like, rows_like
from nearlabel.utils.problems import check_partial_target
from nearlabel.utils.types import IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_rows, is_dask_array, refusal_of_unknown, require_labels


class Resampled(NamedTuple):
    """The result of a sampler for n_samples rows: first rows taken from them, then synthetic ones."""

    source: IntArray  # (n_taken,): the row that each is a copy of; a row may come several times
    labels: Matrix | None = None  # (n_taken + n_synthetic, n_labels); None: the label sets of the sources
    synthetic: Matrix | None = None  # (n_synthetic, n_features), dense or CSR as the rows
    seeds: IntArray | None = None  # (n_synthetic,): the row that each synthetic one was made from


class Sampler(BaseEstimator, ABC):
    """Make other training samples from the given ones, like imbalanced-learn's samplers, for label matrices.

    A subclass stores its parameters, `random_state` among them if it draws, and defines `_resample`, which gets checked
    rows and label sets, each dense or CSR.
    """

    _reads_features: ClassVar[bool] = True  # else X may contain anything: texts, categories, missing values
    # Leave-one-out predictions, of groups too, are nearly those of refits: not if rows are deleted, as some of a
    # group may stay, nor where a row is made of several, because it is left out with its seed only.
    _stands_for_refits: ClassVar[bool] = True
    _names_seeds: ClassVar[bool] = True  # else rows are made of several, none of which can be left out

    random_state: int | RandomState | None = None
    sample_indices_: IntArray
    seed_indices_: IntArray
    label_names_: NDArray[Any]
    n_features_in_: int

    def fit_resample(self, X: MatrixLike, y: MatrixLike) -> tuple[MatrixLike, MatrixLike]:
        """Return other samples and their label sets, made from the given ones.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1, one label of two classes, or the tags of each sample, a list,
            tuple or set of texts.

        Returns
        -------
        X_resampled : array, data frame or CSR of shape (n_resampled, n_features)
            In the container of X; sparse samples become CSR, lists an array. Samples taken from X come first, then
            synthetic ones. A data frame keeps its index if samples were only deleted, and is renumbered if some were
            added.
        y_resampled : array, data frame, CSR or list of shape (n_resampled, n_labels) or (n_resampled,)
            In the container and of the type of y; tags as lists, in alphabetical order.

        Raises
        ------
        ValueError
            If X or y is malformed, their lengths differ, cells of y are unknown, or a parameter is out of range.
        TypeError
            If a parameter is of a wrong type.
        """
        self._check_parameters()
        require_labels(self, y)
        rows = self._checked_rows(X)
        target, unknown = check_partial_target(self, y)
        if unknown is not None:
            raise refusal_of_unknown(self, int(unknown.sum()))
        check_consistent_length(rows, target.labels)
        made = self._resample(rows, target.labels, check_random_state(self.random_state))
        n_synthetic = 0 if made.synthetic is None else made.synthetic.shape[0]
        self.label_names_ = target.names
        self.sample_indices_ = np.append(made.source, np.full(n_synthetic, -1)).astype(np.intp)
        self.seed_indices_ = np.append(made.source, [] if made.seeds is None else made.seeds).astype(np.intp)
        labels = target.labels[made.source] if made.labels is None else made.labels
        resampled = rows_like(X, rows, made.source, made.synthetic)
        return resampled, labels_like(y, target, labels, self.sample_indices_)

    def fit(self, X: MatrixLike, y: MatrixLike) -> Self:
        """Resample and store only the origin of each row; use `fit_resample` to get the samples.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Their label sets, as for `fit_resample`.

        Returns
        -------
        self
            The sampler with `sample_indices_` and `seed_indices_`.

        Raises
        ------
        ValueError
            As `fit_resample`.
        TypeError
            As `fit_resample`.
        """
        self.fit_resample(X, y)
        return self

    @abstractmethod
    def _resample(self, X: Matrix, labels: Matrix, random: RandomState) -> Resampled:
        """Return which of the rows (n_samples, n_features) to take, and which to add."""

    def _check_parameters(self) -> None:
        """Raise unless the sampler's own parameters are valid."""

    def _checked_rows(self, X: MatrixLike) -> Matrix:
        """Return X as an array or CSR: of numbers if the sampler reads features, else of anything."""
        if self._reads_features or is_dask_array(X):  # which `check_rows` rejects
            return check_rows(self, X)
        return validate_data(self, X, accept_sparse="csr", dtype=None, ensure_all_finite=False)

    def __sklearn_tags__(self) -> Tags:
        """Declare that y is needed and may be an indicator matrix, and that X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = not self._reads_features
        tags.input_tags.string = not self._reads_features
        return tags
