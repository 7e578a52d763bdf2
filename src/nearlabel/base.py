"""What the classifiers share that are not lazy: validation, labels of one class, the container of the answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from nearlabel.decision import cut
from nearlabel.utils.fit_params import routed_to_estimator, without_zero_weights
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_flag, check_problem, check_rows, with_multilabel_target


class MultilabelClassifier(ClassifierMixin, BaseEstimator, ABC):
    """From rows to labels: *learn*, *score* and *decide* are the subclass's, all else is here.

    A subclass defines `_learn` and `_score`, and `_decide` unless the label sets are the scores cut at `_threshold`.
    All three see checked input, and labels of both classes only, at least one: labels that all or no training rows
    carry are put back afterwards, unless `_takes_constant_labels`.
    """

    _takes_constant_labels: ClassVar[bool] = False
    _threshold: ClassVar[float] = 0.5

    def fit(self, X: MatrixLike, y: MatrixLike) -> Self:
        """Learn from training rows and their label sets.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training rows.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1. A label with one class is no error.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X or y is malformed, their lengths differ, or a parameter is out of range.
        TypeError
            If a parameter is of a wrong type.
        """
        return self._fit(X, y)

    def _fit(self, X: MatrixLike, y: MatrixLike, **params: Any) -> Self:
        """Check all input and learn; `params`, for instance `sample_weight`, are arguments of the subclass's `_learn`.

        A sample of weight 0 is dropped here, so that no method has to think of it.
        """
        self._check_parameters()
        with self._afresh():
            X, labels = check_problem(self, X, y)
            X, labels, params = without_zero_weights(X, labels, params)
            frequencies = np.asarray(labels.sum(axis=0)).reshape(-1)
            constant = (frequencies == 0) | (frequencies == labels.shape[0])
            self._varying = np.flatnonzero(~constant | self._takes_constant_labels)
            self._carried_by_all = (frequencies == labels.shape[0]).astype(np.int64)
            if len(self._varying):
                labels = labels if len(self._varying) == len(constant) else labels[:, self._varying]
                self._learn(X, labels, **params)
        return self

    def predict(self, X: MatrixLike) -> Matrix:
        """Return the label set of every query.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        labels : ndarray or CSR of shape (n_queries, n_labels)
            Indicator matrix in the kind of container, and of the type, that y had in `fit`; a data frame gives
            an array.
        """
        queries = self._queries(X)
        if self._all_vary:
            return self._container.wrap(self._decide(queries))
        labels: IntArray = np.tile(self._carried_by_all, (queries.shape[0], 1))
        if len(self._varying):
            labels[:, self._varying] = as_dense(self._decide(queries))
        return self._container.wrap(labels)

    @abstractmethod
    def _learn(self, X: Matrix, labels: Matrix) -> None:
        """Learn from rows (n_samples, n_features) and label sets (n_samples, n_labels), each dense or CSR."""

    @abstractmethod
    def _score(self, X: Matrix) -> FloatArray:
        """Return dense scores (n_queries, n_labels)."""

    def _decide(self, X: Matrix) -> Matrix:
        """Return label sets (n_queries, n_labels), dense or CSR."""
        return cut(self._score(X), self._threshold)

    def _check_parameters(self) -> None:
        """Raise unless the method's own parameters make sense."""

    @contextmanager
    def _afresh(self) -> Iterator[None]:
        """Delete what an earlier `fit` left, and take down what this one leaves; scikit-learn may keep more here."""
        for name in getattr(self, "_learnt", ()):
            self.__dict__.pop(name, None)
        before = set(vars(self))
        try:
            yield
        finally:
            self._learnt = sorted(set(vars(self)) - before)

    def _queries(self, X: MatrixLike) -> Matrix:
        check_is_fitted(self)
        self._check_parameters()
        return check_rows(self, X, reset=False)

    @property
    def _all_vary(self) -> bool:
        """Whether no label was taken out before learning."""
        return len(self._varying) == len(self.classes_)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that the target is an indicator matrix and sparse input is welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return with_multilabel_target(tags)


class WeightedClassifier(MultilabelClassifier):
    """A classifier whose `_learn` takes `sample_weight`, (n_samples,) or None, all above 0."""

    def fit(self, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from training samples and their label sets.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1. A label with one class is no error.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, at least 0: a sample of weight 2 counts as two samples, one of weight 0 as none.
            None: all weigh 1.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X, y or the weights are malformed, their lengths differ, or a parameter is out of range.
        TypeError
            If a parameter is of a wrong type.
        """
        return self._fit(X, y, sample_weight=sample_weight)


class MetaClassifier(MultilabelClassifier):
    """A classifier made of copies of `estimator`, whose `fit` gets the sample weights and all metadata routed to it.

    `_learn` takes that metadata as keyword arguments, and hands on to each copy the part that belongs to its samples.
    """

    estimator: Any
    # The weights are the base estimator's business: it says by `set_fit_request` whether it wants them.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"sample_weight": UNUSED}

    def fit(self, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Fit the base estimator to training samples and what is made of their label sets.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1. A label with one class is no error.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, at least 0, for a base estimator whose `fit` takes them; a sample of weight 0 is
            left out. None: no weights are passed on.
        **params : dict
            Other metadata, routed to the base estimator if it requested it; scikit-learn's metadata routing must be
            enabled.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X, y or the weights are malformed, their lengths differ, a parameter is out of range, the base estimator
            takes no weights and some are given, or there is other metadata while routing is disabled.
        TypeError
            If a parameter is of a wrong type.
        """
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        return self._fit(X, y, **routed_to_estimator(self, self._base_estimator(), params))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed.

        Returns
        -------
        MetadataRouter
            `fit` of the base estimator gets what it requested, the default one `sample_weight`.
        """
        estimator = self._base_estimator()
        if self.estimator is None and get_config()["enable_metadata_routing"] and hasattr(estimator, "set_fit_request"):
            estimator.set_fit_request(sample_weight=True)  # the user has no hold of it
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=estimator, method_mapping=mapping)

    @abstractmethod
    def _base_estimator(self) -> Any:
        """Return `estimator`, or what is taken for None, as it is cloned and fitted."""


class WithProbabilities(MultilabelClassifier):
    """A classifier whose scores are probabilities, or shares of votes, cut at one half."""

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the score of every label, in [0, 1].

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels)
            One array, never a list; column l is the score that label l applies, 0 or 1 for a label with one class.
        """
        queries = self._queries(X)
        if self._all_vary:
            return self._score(queries)
        scores = np.tile(self._carried_by_all.astype(np.float64), (queries.shape[0], 1))
        if len(self._varying):
            scores[:, self._varying] = self._score(queries)
        return scores


class WithOptionalProbabilities(WithProbabilities):
    """One that has probabilities only with ``probability=True``, as it was when it was fitted."""

    probability: bool

    def _has_probabilities(self) -> bool:
        if not getattr(self, "_probability", self.probability):
            raise AttributeError("predict_proba needs probability=True.")
        return True

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probability of every label; there only with ``probability=True``.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels)
            One array, never a list; column l is the probability of label l, 0 or 1 for a label with one class.
        """
        return super().predict_proba(X)

    def _check_parameters(self) -> None:
        check_flag("probability", self.probability)

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        self._probability = self.probability


class WithDecisions(MultilabelClassifier):
    """A classifier whose scores are decision values, cut at 0."""

    _threshold = 0.0

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the decision value of every label: a label is predicted if it is at least 0.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels)
            One array, never a list; a label with one class is 1 above or below all others of the row, and 0.
        """
        queries = self._queries(X)
        if self._all_vary:
            return self._score(queries)
        scores = np.zeros((queries.shape[0], len(self.classes_)))
        if len(self._varying):
            scores[:, self._varying] = self._score(queries)
        highest, lowest = scores.max(axis=1, keepdims=True) + 1, scores.min(axis=1, keepdims=True) - 1
        constant = np.setdiff1d(np.arange(len(self.classes_)), self._varying)
        scores[:, constant] = np.where(self._carried_by_all[constant] == 1, highest, lowest)
        return scores
