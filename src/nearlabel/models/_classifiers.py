"""The base classes of the classifiers: checks of X and y, labels with one class, and the form of predictions.

A method that is not lazy defines two or three functions: learning, scores, and the label sets if these are not scores
above a threshold. `nearlabel.lazy` uses the same classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from nearlabel.models.decision import cut
from nearlabel.utils.containers import check_row_names, is_dask_array
from nearlabel.utils.estimators import (
    available_if,
    explaining_sparse,
    refusing_others,
    routed_to_estimator,
    score,
    without_zero_weights,
)
from nearlabel.utils.frames import FrameOutput, framed
from nearlabel.utils.messages import require_room, room_for, sized
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.tags import predict_labels
from nearlabel.utils.targets import CountedLabels, LabelContainer, check_problem, with_multilabel_target
from nearlabel.utils.types import FloatArray, IntArray, LabelSets, LabelType, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_feature_sizes, check_flag, check_rows

# Measured: LinearSVC and LogisticRegression(solver="liblinear"), both based on liblinear, do not terminate if a feature
# reaches 1e76 (scikit-learn rejects more than 1e30 for the second), nor if classes are equally frequent and the
# features that separate them are below 1e-163, so that their squares are 0.
_SMALLEST_OF_LIBLINEAR = 1e-150


class MultilabelClassifier(FrameOutput, ClassifierMixin, BaseEstimator, ABC):
    """The base class that checks input and returns predictions in the form of y; subclasses learn, score and decide.

    A subclass defines `_learn` and `_score`, and `_decide` unless labels with scores of at least `_threshold` are
    predicted. All three get checked arrays. They get at least one label, and only labels with both classes: this class
    removes the other labels before `_learn` and inserts them into the predictions, unless the subclass sets
    `_takes_constant_labels`.
    """

    _takes_constant_labels: ClassVar[bool] = False
    _takes_unknown: ClassVar[bool] = False  # `_learn` then has an argument `unknown`: the mask, or None
    _threshold: ClassVar[float] = 0.5
    _label_dtype: ClassVar[LabelType] = np.int64  # type of the label sets for `_learn`

    classes_: NDArray[Any]
    label_names_: NDArray[Any]
    n_features_in_: int
    _container: LabelContainer
    _varying: IntArray  # the labels passed to `_learn`
    _carried_by_all: IntArray  # for each label, 1 if all training samples have it, else 0

    @refusing_others
    @all_or_nothing
    def fit(self, X: MatrixLike, y: MatrixLike) -> Self:
        """Fit the classifier to training samples and their label sets.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1; labels with one class are allowed. A one-dimensional y is one
            label: its two classes may be any numbers, booleans or strings, and predictions are one-dimensional too. Or
            the tags of each sample, a list, tuple or set of str: the labels are the distinct tags. For methods that
            learn from known cells, NaN is an unknown cell, and None means unknown tags.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X or y is malformed, their lengths differ, or a parameter is out of range.
        TypeError
            If a parameter has the wrong type, or sample weights are passed.
        """
        return self._fit(X, y)

    def _fit(self, X: MatrixLike, y: MatrixLike, **params: Any) -> Self:
        """Check all input and learn; `params`, such as `sample_weight`, are passed to the subclass's `_learn`.

        Samples with weight 0 are dropped here, so that methods need not handle them.
        """
        self._check_parameters()
        check_row_names(X=X, y=y, **params)
        with self._afresh(), room_for(lambda: f"a fit to {_described(X, y)}", _HINT_OF_FIT):
            received = self._received(y)
            X, labels, unknown = check_problem(
                self,
                X,
                received,
                takes_unknown=self._takes_unknown,
                takes_dask=self._takes_dask,
                label_dtype=self._label_dtype,
            )
            if unknown is not None:
                params["unknown"] = unknown
            if params:
                X, labels, params = without_zero_weights(X, labels, params)
            self._check_sizes(X)
            is_counted = isinstance(received, CountedLabels) and received.target.labels is labels
            frequencies, n_known = received.frequencies if is_counted else _column_sums(labels), labels.shape[0]
            if unknown is not None:
                n_known = n_known - _column_sums(params["unknown"])
            constant = (frequencies == 0) | (frequencies == n_known)
            self._varying = np.flatnonzero(~constant | self._takes_constant_labels)
            self._carried_by_all = ((frequencies > 0) & (frequencies == n_known)).astype(np.int64)
            self._check_room(labels.shape[0], len(self._varying))
            if len(self._varying):
                self._learn(X, labels if self._all_vary else labels[:, self._varying], **params)
        return self

    @framed
    def predict(self, X: MatrixLike) -> LabelSets:
        """Predict the label set of every query.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        labels : ndarray or CSR of shape (n_queries, n_labels) or (n_queries,)
            Indicator matrix in the container and of the dtype that y had in `fit`; an array where y was a data frame
            or tags, CSR if its columns were sparse or tags many. For a one-dimensional y, the predicted classes.
            For a dask array X of queries, a dask array of such blocks, see `nearlabel.neighbors.DaskNeighbors`.
        """
        queries = self._queries(X)
        if is_dask_array(queries) and self._answers_in_tiles:
            return self._answer_in_tiles(queries, "predict")
        with self._room_for("label sets", queries):
            if self._all_vary:
                return self._container.wrap(self._decide(queries))
            labels: IntArray = np.tile(self._carried_by_all, (queries.shape[0], 1))
            if len(self._varying):
                labels[:, self._varying] = as_dense(self._decide(queries))
            return self._container.wrap(labels)

    predict_labels = predict_labels
    score = score

    @abstractmethod
    def _learn(self, X: Matrix, labels: Matrix) -> None:
        """Learn from samples (n_samples, n_features) and label sets (n_samples, n_labels), each dense or CSR."""

    @abstractmethod
    def _score(self, X: Matrix) -> FloatArray:
        """Return dense scores (n_queries, n_labels)."""

    def _decide(self, X: Matrix) -> Matrix:
        """Return label sets (n_queries, n_labels), dense or CSR."""
        return cut(self._score(X), self._threshold)

    def _check_parameters(self) -> None:
        """Raise an error unless the method's own parameters are valid."""

    def _check_sizes(self, X: Matrix) -> None:
        """Raise ValueError if features are so large that the method would not terminate, or would overflow."""

    # The sides, "samples" or "labels", of a dense matrix that no fit can do without.
    _dense_in_fit: ClassVar[tuple[str, ...]] = ()

    def _check_room(self, n_samples: int, n_labels: int) -> None:
        """Raise an error before the work begins."""
        sides = {"samples": n_samples, "labels": n_labels}
        shape, what = [sides[name] for name in self._dense_in_fit], f"a dense matrix in {type(self).__name__}"
        require_room(what, shape, self._dense_in_fit, _HINT_OF_LABELS)

    def _received(self, y: MatrixLike) -> Any:
        """Return y unchanged; a subclass may let others check it where it is stored."""
        return y

    @property
    def _answers_in_tiles(self) -> bool:
        """Whether workers predict queries that are a dask array, tile by tile, by `_answer_in_tiles`."""
        return False

    def _answer_in_tiles(self, queries: Matrix, method: str) -> Any:
        """Return the result of "predict" or "predict_proba" as a dask array."""
        raise NotImplementedError

    @contextmanager
    def _afresh(self) -> Iterator[None]:
        """Delete all attributes that an earlier `fit` set.

        Other attributes are kept: scikit-learn may store some on the object, such as metadata requests.
        """
        for name in getattr(self, "_learnt", ()):
            self.__dict__.pop(name, None)
        before = set(vars(self))
        try:
            yield
        finally:
            self._learnt = sorted(set(vars(self)) - before)

    def _queries(self, X: MatrixLike) -> Matrix:
        """Check the queries, and return them in the form for `_score` and `_decide`."""
        check_is_fitted(self)
        self._check_parameters()
        return check_rows(self, X, reset=False, takes_dask=self._takes_dask)

    def _room_for(self, what: str, queries: Matrix) -> AbstractContextManager[None]:
        """Name the predictions of queries in a MemoryError; scores, which are dense, are not begun without room."""
        shape = queries.shape[0], self._n_labels
        hint = "predict blocks of queries, and fit a sparse y if there are many labels; lazy methods have predict_topk"
        if what == "scores":
            require_room(what, shape, ("queries", "labels"), hint)
        return room_for(lambda: f"{what} of {sized(shape, 'queries', 'labels')}", hint)

    @property
    def _takes_dask(self) -> bool:
        """Whether X may be a dask array, which is then not gathered."""
        return False

    @property
    def _n_labels(self) -> int:
        """Number of columns of y; `classes_` has two entries if y was one-dimensional."""
        return len(self.label_names_)

    @property
    def _all_vary(self) -> bool:
        """Whether no label was removed before `_learn`."""
        return len(self._varying) == len(self._carried_by_all)

    def __sklearn_tags__(self) -> Tags:
        """Declare the target and that X may be sparse."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return with_multilabel_target(tags)


_HINT_OF_FIT = "float32 features, sparse y, or a store (nearlabel.datasets.write_store) need less; or fit fewer samples"
_HINT_OF_LABELS = "MLkNN and BRkNN with a sparse y need memory for the labels that samples have; or fit fewer labels"


def _described(X: MatrixLike, y: MatrixLike) -> str:
    shapes = {name: "x".join(map(str, np.shape(of))) for name, of in (("X", X), ("y", y)) if hasattr(of, "shape")}
    return " and ".join(f"{name} of shape {shape}" for name, shape in shapes.items()) or "X and y"


def _column_sums(cells: Matrix) -> IntArray:
    return np.asarray(cells.sum(axis=0)).reshape(-1)


class WeightedClassifier(MultilabelClassifier):
    """A classifier whose `_learn` accepts `sample_weight`, (n_samples,) or None, all above 0."""

    @all_or_nothing
    def fit(self, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from training samples and their label sets.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1, or one label of two classes, as in scikit-learn's binary
            classifiers. Labels with one class are allowed. Or the tags of each sample, a list, tuple or set of str: the
            labels are the distinct tags.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights, at least 0: a sample with weight 2 counts as two samples, a sample with weight 0 is ignored.
            None: all weights are 1.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X, y or the weights are malformed, their lengths differ, or a parameter is out of range.
        TypeError
            If a parameter has the wrong type.
        """
        return self._fit(X, y, sample_weight=sample_weight)


class MetaClassifier(MultilabelClassifier):
    """A classifier built from clones of `estimator`, whose `fit` gets the sample weights and all metadata routed to it.

    `_learn` gets the metadata as keyword arguments, and passes the part for its samples to each clone.
    """

    estimator: Any
    # The base estimator requests weights by `set_fit_request`.
    __metadata_request__fit: ClassVar[dict[str, str]] = {"sample_weight": UNUSED}

    @all_or_nothing
    def fit(self, X: MatrixLike, y: MatrixLike, sample_weight: ArrayLike | None = None, **params: Any) -> Self:
        """Fit clones of the base estimator to training samples and transformed label sets.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1, or one label of two classes, as in scikit-learn's binary
            classifiers. Labels with one class are allowed. Or the tags of each sample, a list, tuple or set of str: the
            labels are the distinct tags.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights, at least 0, for a base estimator whose `fit` supports them; samples with weight 0 are left
            out. None: no weights are passed.
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
            If X, y or the weights are malformed, their lengths differ, a parameter is out of range, weights are given
            and the base estimator does not support them, or other metadata is given while routing is disabled.
        TypeError
            If a parameter has the wrong type.
        """
        if sample_weight is not None:
            params["sample_weight"] = sample_weight
        estimator = self._base_estimator()
        with explaining_sparse(estimator, X):
            return self._fit(X, y, **routed_to_estimator(self, estimator, params))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed.

        Returns
        -------
        MetadataRouter
            `fit` of the base estimator gets the metadata that it requested; the default estimator gets `sample_weight`.
        """
        estimator = self._base_estimator()
        if self.estimator is None and get_config()["enable_metadata_routing"] and hasattr(estimator, "set_fit_request"):
            estimator.set_fit_request(sample_weight=True)  # users have no access to it
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=estimator, method_mapping=mapping)

    def _check_sizes(self, X: Matrix) -> None:
        estimator = self._base_estimator()
        is_logistic = isinstance(estimator, LogisticRegression) and estimator.solver == "liblinear"
        if is_logistic or isinstance(estimator, LinearSVC):
            check_feature_sizes(X, type(estimator).__name__, smallest=_SMALLEST_OF_LIBLINEAR)

    @abstractmethod
    def _base_estimator(self) -> Any:
        """Return `estimator`, or the default for None, in the form that is cloned and fitted."""


class WithProbabilities(MultilabelClassifier):
    """A classifier whose scores are probabilities or shares of votes; the default threshold is one half."""

    @framed
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the score of every label, in [0, 1].

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries, n_classes)
            One array, never a list; column l is the score that label l applies, 0 or 1 for a label with one class. For
            a one-dimensional y, one column per class. For a dask array X of queries, a dask array, see
            `nearlabel.neighbors.DaskNeighbors`.
            float64 also for float32 X: rounded to float32, seven of ten votes would miss a threshold of 0.7.
        """
        queries = self._queries(X)
        if is_dask_array(queries) and self._answers_in_tiles:
            of_files: FloatArray = self._answer_in_tiles(queries, "predict_proba")
            return of_files
        with self._room_for("scores", queries):
            if self._all_vary:
                return self._container.probabilities(self._score(queries))
            scores = np.tile(self._carried_by_all.astype(np.float64), (queries.shape[0], 1))
            if len(self._varying):
                scores[:, self._varying] = self._score(queries)
            return self._container.probabilities(scores)


class WithOptionalProbabilities(WithProbabilities):
    """A classifier that has probabilities only if it was fitted with ``probability=True``."""

    probability: bool

    def _has_probabilities(self) -> bool:
        if not getattr(self, "_probability", self.probability):
            raise AttributeError("predict_proba needs probability=True.")
        return True

    @available_if(_has_probabilities)
    @framed
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probability of every label; available only with ``probability=True``.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries, n_classes)
            One array, never a list; column l is the probability of label l, 0 or 1 for a label with one class. For a
            one-dimensional y, one column per class.
        """
        return super().predict_proba(X)

    def _check_parameters(self) -> None:
        check_flag("probability", self.probability)

    def _learn(self, X: Matrix, labels: Matrix) -> None:
        self._probability = self.probability


class WithDecisions(MultilabelClassifier):
    """A classifier whose scores are decision values, with threshold 0."""

    _threshold = 0.0

    @framed
    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the decision value of every label: a label is predicted if it is at least 0.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries,)
            One array, never a list; a label with one class is 1 above or below 0 and all other labels of the query. For
            a one-dimensional y, the decision value of its second class.
        """
        queries = self._queries(X)
        with self._room_for("scores", queries):
            if self._all_vary:
                return self._container.decisions(self._score(queries))
            scores = np.zeros((queries.shape[0], self._n_labels))
            if len(self._varying):
                scores[:, self._varying] = self._score(queries)
            # Label rankings need finite values: constant labels are first or last in every row.
            highest, lowest = scores.max(axis=1, keepdims=True) + 1, scores.min(axis=1, keepdims=True) - 1
            constant = np.setdiff1d(np.arange(self._n_labels), self._varying)
            scores[:, constant] = np.where(self._carried_by_all[constant] == 1, highest, lowest)
            return self._container.decisions(scores)
