"""The base class of classifiers around another one: checks, metadata, the form of y, and the inner scores."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nearlabel.metrics.truth import rows_with_known_cells
from nearlabel.thresholds._cross_val import Scorer, training_labels
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.problems import check_partial_target
from nearlabel.utils.response_methods import RESPONSE_METHODS
from nearlabel.utils.scoring import score
from nearlabel.utils.types import LabelSets, Matrix, MatrixLike
from nearlabel.utils.validation import (
    LabelContainer,
    check_choice,
    predict_labels,
    remember_target,
    require_labels,
    with_multilabel_target,
)


def explains_itself(self: Any) -> bool:
    """Return whether the inner classifier has `explain`, or raise AttributeError: for `available_if`."""
    if hasattr(self.estimator, "explain"):
        return True
    raise AttributeError(
        f"estimator must have explain, got {type(self.estimator).__name__}."
        " Hint: nearlabel.inspection.explain(model, X) also explains pipelines and searches."
    )


class AroundClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator, ABC):
    """A classifier around an inner one that learns from its scores how to predict label sets."""

    estimator: Any
    response_method: str

    _needs_no_routing: ClassVar[tuple[str, ...]] = ()  # metadata that `fit` takes for itself
    _only_decides: ClassVar[bool] = False  # whether it uses the scores of the inner classifier
    _also_takes: ClassVar[tuple[str, ...]] = ()  # metadata that `fit` uses itself, even if others request it too

    # Declared for type checkers: other functions set these attributes.
    estimator_: Any
    response_method_: str
    classes_: NDArray[Any]
    label_names_: NDArray[Any]
    n_features_in_: int
    _is_around_another: ClassVar[bool] = True  # for `explain` and others that look through it
    feature_names_in_: NDArray[Any]
    _container: LabelContainer

    def fit(self, X: MatrixLike, y: MatrixLike, **params: Any) -> Self:
        """Fit the inner classifier, and learn from its scores.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples, in a form that the inner classifier accepts.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1; a label with one class is allowed. A one-dimensional y is one
            label: its two classes may be any numbers, booleans or strings, and predictions are one-dimensional too. Or
            the tags of each sample, a list, tuple or set of strings: the labels are the distinct tags. NaN, None and
            similar values mark cells as unknown; the inner classifier must then accept NaN in y.
        **params : dict
            `groups` of shape (n_samples,), if the class uses held-out samples. Other metadata, such as `sample_weight`,
            is routed to the estimators that requested it (scikit-learn's metadata routing must be enabled).

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If y is malformed or has no known cell, the lengths differ, a parameter is out of range, the inner
            classifier supports one label only or has no scores, or metadata is passed while routing is disabled.
        TypeError
            If a parameter has the wrong type.
        """
        require_labels(self, y)
        target, unknown = check_partial_target(self, y, dtype=np.int8)  # checked here, and used in the form of y
        labels, truth = target.labels, PartialLabels(target.labels, unknown)
        rows_with_known_cells(truth, None)
        X, _ = indexable(X, labels)
        self._check_parameters(labels.shape[1])
        if params.get("sample_weight") is not None:
            check_consistent_length(labels, params["sample_weight"])
        routes = get_config()["enable_metadata_routing"]
        own = self._also_takes if routes else self._also_takes + self._needs_no_routing
        direct = {name: params[name] for name in own if name in params}
        if not routes:
            params = {name: value for name, value in params.items() if name not in direct}
        if params and not routes:
            raise ValueError(
                f"fit takes {sorted(params)} only if metadata routing is enabled."
                " Hint: sklearn.set_config(enable_metadata_routing=True), and set_fit_request"
                " on the estimators that should get it."
            )
        remember_target(self, target)
        y = training_labels(self._container, truth)
        self._fit(X, y, process_routing(self, "fit", **params), **direct)
        self._take_from(self.estimator_, "n_features_in_", "feature_names_in_")
        return self

    def predict(self, X: MatrixLike) -> LabelSets:
        """Predict the label set of every sample.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        labels : ndarray or CSR of shape (n_queries, n_labels) or (n_queries,)
            Indicator matrix with the container and dtype of y in `fit`; an array if y was a data frame, CSR if its
            columns were sparse. For a one-dimensional y, the predicted classes.
        """
        check_is_fitted(self)
        return self._container.wrap(self.label_sets_of(self._scores(X, self.response_method_)))

    predict_labels = predict_labels
    score = score

    @abstractmethod
    def _fit(self, X: MatrixLike, y: Matrix, routed: Any, **direct: Any) -> None:
        """Set `estimator_`, and the attributes that `label_sets_of` needs."""

    @abstractmethod
    def label_sets_of(self, scores: NDArray[Any]) -> Matrix:
        """Return the label sets (n_queries, n_labels) of inner scores."""

    def _explained(self, X: MatrixLike, **decided: Any) -> list[Any]:
        """Return the explanations of the inner classifier, with the given `thresholds` or `decide`."""
        inner = self.estimator_
        while getattr(inner, "_only_decides", False):  # its own decisions are not used
            inner = inner.estimator_
        inner = copy(inner)
        inner.label_names_ = self.label_names_  # fitted to an array, without column names
        explanations: list[Any] = inner.explain(X, **decided)
        return explanations

    def _scores(self, X: MatrixLike, method: str) -> NDArray[Any]:
        check_is_fitted(self)
        return Scorer(self.estimator_, method, self._one_class).scores(X)

    def _keep(self, scorer: Scorer) -> None:
        self.estimator_, self.response_method_, self._one_class = scorer

    def _take_from(self, part: Any, *names: str) -> None:
        """Copy attributes of a fitted part, and remove those that an earlier fit set and this part lacks."""
        for name in names:
            if hasattr(part, name):
                setattr(self, name, getattr(part, name))
            elif hasattr(self, name):
                delattr(self, name)

    def _check_parameters(self, n_labels: int) -> None:
        check_choice("response_method", self.response_method, {"auto", *RESPONSE_METHODS})

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed.

        Returns
        -------
        MetadataRouter
            The inner classifier's `fit` gets the metadata that it requested.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=to_fit)

    def __sklearn_tags__(self) -> Tags:
        """Declare that the target is an indicator matrix; the other tags are those of the inner classifier."""
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return with_multilabel_target(tags)
