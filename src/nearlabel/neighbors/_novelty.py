"""Novel samples, unlike all training samples: conformal p-values of their distances to neighbours."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from nearlabel.neighbors.usual import usual_distances
from nearlabel.neighbors.votes import Neighbors, fitted_search, takes_missing_values
from nearlabel.utils.containers import require_dense
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.types import FloatArray, IntArray, MatrixLike
from nearlabel.utils.validation import check_n_neighbors, check_rows, check_share


class NoveltyDetector(OutlierMixin, BaseEstimator):
    """Find samples that are farther from their neighbours than nearly all training samples are from theirs.

    A classifier predicts labels for such samples from neighbours that are unlike them, so a person should review them.
    The p-value of a sample is a share: of the training samples and the sample itself, those whose mean distance to
    their `n_neighbors` nearest other training samples is at least the sample's own. If new samples are drawn like the
    training samples, at most the share `level` of them is called novel, in expectation over the draw of all samples,
    whatever the distribution and the metric.

    Parameters
    ----------
    n_neighbors : int, default=10
        Number of neighbours.
    level : float, default=0.01
        Samples with a p-value of at most this are novel; between 0 and 1. With fewer than 1 / level - 1 training
        samples no sample can be novel.
    search : object with `fit` and `kneighbors`, default=None
        Finds the neighbours, as in `nearlabel.lazy.MLkNN`. None: `ExactNeighbors()`.

    Attributes
    ----------
    search_ : object
        The fitted search.
    training_distances_ : ndarray of shape (n_samples,)
        Mean distance of each training sample to its neighbours, sorted.
    offset_ : float
        The number that `decision_function` subtracts: the least p-value of samples that are not novel.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    No samples need to be held out. If a new sample is added to the training samples, all of them are exchangeable, and
    so are their mean distances to the nearest others. Those of the training samples are at most as large as without the
    new sample, so the p-value here is at least the exact one. Anything else fitted to the training samples, such as a
    scaling, loosens this guarantee a little. A sample near training samples may still have other labels than they have.

    References
    ----------
    V. Vovk, A. Gammerman, G. Shafer: Algorithmic learning in a random world. Springer, 2005.
    R. Laxhammar, G. Falkman: Conformal prediction for distribution-independent anomaly detection in streaming vessel
    data. StreamKDD 2010.

    See Also
    --------
    nearlabel.models.novelty_detector : The detector of a fitted classifier, by its own neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from nearlabel.neighbors import NoveltyDetector
    >>> X = np.random.default_rng(0).normal(size=(500, 2))
    >>> detector = NoveltyDetector(level=0.05).fit(X)
    >>> detector.predict([[0.0, 0.0], [8.0, 8.0]])
    array([ 1, -1])
    >>> detector.p_values([[0.0, 0.0], [8.0, 8.0]]).round(3).tolist()
    [0.902, 0.002]
    """

    def __init__(self, n_neighbors: int = 10, level: float = 0.01, *, search: Any = None) -> None:
        self.n_neighbors = n_neighbors
        self.level = level
        self.search = search

    @all_or_nothing
    def fit(self, X: MatrixLike, y: Any = None) -> Self:
        """Find the neighbours of the training samples, each without itself.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : None
            Ignored.

        Returns
        -------
        self
            The fitted detector.

        Raises
        ------
        ValueError
            If X is malformed or has too few samples, or a parameter is out of range.
        TypeError
            If a parameter is of the wrong type.
        """
        check_share("level", self.level)
        rows = check_rows(self, X)
        check_n_neighbors(self.n_neighbors, rows.shape[0], leave_one_out=True)
        self.search_ = fitted_search(self.search, rows)
        self.training_distances_ = np.sort(self._distances(self.search_, None))
        return self

    def fit_predict(self, X: MatrixLike, y: Any = None) -> IntArray:
        """Fit, and return which training samples are novel compared with the others.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : None
            Ignored.

        Returns
        -------
        inside : ndarray of int of shape (n_samples,)
            -1 where the sample is novel, else 1: at most the share `level` of the samples is novel.
        """
        distances = self._distances(self.fit(X).search_, None)
        return self._inside(self._n_at_least(distances) / len(distances))

    def predict(self, X: MatrixLike) -> IntArray:
        """Return which samples are novel.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Samples.

        Returns
        -------
        inside : ndarray of int of shape (n_queries,)
            -1 where the sample is novel, else 1.
        """
        return self._inside(self.p_values(X))

    def p_values(self, X: MatrixLike) -> FloatArray:
        """Return how well each sample fits the training samples: a low value means badly.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Samples.

        Returns
        -------
        p_values : ndarray of shape (n_queries,)
            From 1 / (n_samples + 1) to 1.

        Raises
        ------
        ValueError
            If X is malformed or of another number of features than in `fit`.
        """
        check_is_fitted(self)
        distances = self._distances(self.search_, check_rows(self, X, reset=False))
        return (1 + self._n_at_least(distances)) / (1 + len(self.training_distances_))

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return how far p-values are above the level: below 0 where the sample is novel.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_queries,)
            ``p_values(X) - offset_``.
        """
        return self.p_values(X) - self.offset_

    score_samples = p_values  # scikit-learn's name of the deciding score

    @property
    def offset_(self) -> float:
        """The next float above the level, so that a p-value of the level is below it."""
        return float(np.nextafter(self.level, 1.0))

    @classmethod
    def around(cls, fitted: Any, level: float, distances: FloatArray | None = None) -> Self:
        """Return the detector of a classifier by neighbours, fitted to its training samples.

        Parameters
        ----------
        fitted : fitted classifier
            One with `search_` and `n_neighbors_`.
        level : float
            As in the class.
        distances : ndarray of shape (n_samples,), default=None
            Mean distances of the training samples, if they are known. None: the search finds them.

        Returns
        -------
        NoveltyDetector
            The fitted detector, which shares the search.
        """
        check_share("level", level)
        require_dense("distances", distances)
        detector = cls(fitted.n_neighbors_, level, search=fitted.search)
        detector.search_ = fitted.search_
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(fitted, name):
                setattr(detector, name, getattr(fitted, name))
        detector.training_distances_ = usual_distances(
            fitted.search_,
            fitted.n_neighbors_,
            lambda: detector._distances(fitted.search_, None) if distances is None else distances,
        )
        return detector

    def _distances(self, search: Any, X: Any) -> FloatArray:
        """Return the mean distance of samples, or of the training samples, to their neighbours."""
        return Neighbors(*search.kneighbors(X, self.n_neighbors)).mean_distances()

    def _n_at_least(self, distances: FloatArray) -> IntArray:
        """Return how many training samples are at least as far from their neighbours."""
        n_nearer = np.searchsorted(self.training_distances_, distances, side="left")
        return np.asarray(len(self.training_distances_) - n_nearer)

    def _inside(self, p_values: FloatArray) -> IntArray:
        return np.where(p_values < self.offset_, -1, 1)

    def __sklearn_tags__(self) -> Tags:
        """Declare the input that the search takes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = takes_missing_values(self.search)
        return tags
