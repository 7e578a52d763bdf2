"""Classifiers around another one: held-out scores of that one, checks, metadata, and the form of y."""

from __future__ import annotations

from abc import ABC, abstractmethod
from copy import copy
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import GroupKFold
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nearlabel.metrics.inputs import rows_with_known_cells
from nearlabel.models import out_of_sample
from nearlabel.utils.containers import check_row_names, checked_container
from nearlabel.utils.estimators import RESPONSE_METHODS, requiring_multilabel, response_method_of, score
from nearlabel.utils.frames import FrameOutput, framed
from nearlabel.utils.messages import require_room
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.tags import predict_labels
from nearlabel.utils.targets import (
    LabelContainer,
    PartialLabels,
    check_partial_target,
    remember_target,
    require_labels,
    with_multilabel_target,
)
from nearlabel.utils.types import BoolArray, IntArray, LabelSets, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_choice, check_groups


def cross_val_scores(
    estimator: Any,
    X: MatrixLike,
    y: MatrixLike,
    *,
    cv: Any = 5,
    response_method: str = "auto",
    n_jobs: int | None = None,
    random_state: int | RandomState | None = None,
) -> tuple[NDArray[Any], IntArray]:
    """Return held-out scores, as one array, to which strategies can be fitted.

    `TunedThresholdsClassifierCV` calls it first; use it to compare strategies on the same scores. scikit-learn's
    `cross_val_predict` returns the classifier's own shape, and accepts only a dense y and splits that are partitions.

    Parameters
    ----------
    estimator : multi-label classifier
        Any classifier that supports y of shape (n_samples, n_labels) and has `predict_proba` or `decision_function`;
        cloned for each fold.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Samples.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels)
        Label sets as an indicator matrix of 0 and 1; with NaN for unknown cells if the classifier supports them.
    cv : int, splitter or iterable of (training, validation) indices, default=5
        An int: the number of folds, of consecutive samples unless `random_state` is given. Warns if the labels of these
        folds differ far more than by chance.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Which scores to use; "auto": probabilities if the classifier has them, else decision values.
    n_jobs : int, default=None
        Number of folds fitted in parallel.
    random_state : int, RandomState or None, default=None
        Shuffles the samples before they are split into folds, if `cv` is an int.

    Returns
    -------
    scores : ndarray of shape (n_scored, n_labels)
        Scores of all folds, concatenated.
    rows : ndarray of int of shape (n_scored,)
        Indices of the scored samples: ``y[rows]`` are their label sets.

    Raises
    ------
    ValueError
        If y is malformed, the lengths differ, there are too few samples, or the classifier supports one label only or
        has no scores.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.thresholds import MicroFOptimum, SCut, cross_val_scores
    >>> digits = load_multidigits()
    >>> scores, rows = cross_val_scores(BRkNN(), digits.X, digits.Y)
    >>> [round(strategy.fit(scores, digits.Y[rows]).objective_, 3) for strategy in (MicroFOptimum(), SCut())]
    [0.706, 0.652]
    """
    check_choice("response_method", response_method, {"auto", *RESPONSE_METHODS})
    check_row_names(X=X, y=y)
    truth = PartialLabels.of(y)
    X, _ = indexable(checked_container("X", X), truth.labels)
    wrapped = training_labels(LabelContainer.of(y), truth)
    splits = out_of_sample.splits_of(out_of_sample.splitter_of(cv, wrapped.shape[0], random_state), X, wrapped)
    method = method_of(estimator, response_method)
    scored = score_folds(estimator, method, X, wrapped, splits, n_jobs=n_jobs)
    return np.vstack([scores for scores, _ in scored]), np.concatenate([validation for _, validation in splits])


def training_labels(container: LabelContainer, truth: PartialLabels) -> Matrix:
    """Return label sets for an inner classifier: in the container of y, with NaN in unknown cells.

    A one-dimensional y becomes one column; only the predictions are one-dimensional.
    """
    if truth.unknown is not None:
        matrix = truth.with_nan()
        return matrix if container.kind is None else container.kind(matrix)
    return container.wrap(truth.labels) if container.classes is None else truth.labels.astype(np.int64)


def method_of(estimator: Any, response_method: str) -> str:
    """Return the method for scores, from the unfitted classifier, so that all folds use the same one.

    A fitted OneVsRestClassifier has `predict_proba` or not depending on its first label in that fold.
    """
    return response_method_of(estimator, RESPONSE_METHODS if response_method == "auto" else (response_method,))


class OneClass(NamedTuple):
    """Masks (n_labels,) of labels that no or all training samples carry, without labels unknown in all samples.

    Their decision values have no meaning (scikit-learn's OneVsRestClassifier returns 0 or 1, which may be above all
    other scores), so their score is set to minus or plus infinity.
    """

    never: BoolArray
    always: BoolArray

    @classmethod
    def of(cls, labels: Matrix) -> OneClass:
        """Return the masks for checked training label sets (n_samples, n_labels), from the known cells."""
        has_integers = isinstance(labels, np.ndarray) and labels.dtype.kind in "iu"
        truth = PartialLabels(labels, None) if has_integers else PartialLabels.of(labels)
        carriers = truth.labels.sum(axis=0)
        n_known = truth.labels.shape[0] - (0 if truth.unknown is None else truth.unknown.sum(axis=0))
        return cls(carriers == 0, (carriers > 0) & (carriers == n_known))

    @classmethod
    def none(cls, n_labels: int) -> OneClass:
        """Return empty masks, since the training labels of an already fitted classifier are unknown."""
        nothing = np.zeros(n_labels, dtype=np.bool_)
        return cls(nothing, nothing)

    def with_infinities(self, scores: NDArray[Any], method: str) -> NDArray[Any]:
        """Return scores (n_queries, n_labels), with infinities for these labels if they are decision values."""
        if method != "decision_function" or not (self.never | self.always).any():
            return scores
        return np.where(self.always, np.inf, np.where(self.never, -np.inf, scores))


class Scorer(NamedTuple):
    """A fitted classifier, the method for its scores, and its labels with one class."""

    classifier: Any
    method: str
    one_class: OneClass

    @classmethod
    def fit(
        cls, estimator: Any, method: str, X: MatrixLike, y: Matrix, params: dict[str, Any], rows: IntArray | None = None
    ) -> Scorer:
        """Fit a clone to some samples; None: to all."""
        if rows is not None:
            params = rows_of_params(params, rows, y.shape[0])
            X, y = out_of_sample.rows_of(X, rows), y[rows]
        # A single-label classifier needs it in the form of scikit-learn's binary targets.
        only_binary = y.shape[1] == 1 and not get_tags(estimator).target_tags.multi_output
        with requiring_multilabel(estimator):
            classifier = clone(estimator).fit(X, as_dense(y)[:, 0] if only_binary else y, **params)
        frozen = isinstance(classifier, FrozenEstimator)  # trained on other samples
        return cls(classifier, method, OneClass.none(y.shape[1]) if frozen else OneClass.of(y))

    def scores(self, X: MatrixLike, *, stored: bool = False) -> NDArray[Any]:
        """Return scores (n_queries, n_labels); with `stored` they may be `SparseScores`."""
        n_labels, only_scores = len(self.one_class.never), out_of_sample.Needs(labels=False, sparse=stored)
        answer = out_of_sample.prefit_answer(self.classifier, X, n_labels, only_scores, self.method)
        return self.one_class.with_infinities(answer.scores, self.method)


def score_folds(
    estimator: Any,
    method: str,
    X: MatrixLike,
    y: Matrix,
    splits: list[tuple[IntArray, IntArray]],
    *,
    params: dict[str, Any] | None = None,
    n_jobs: int | None = None,
    keep: bool = False,
) -> list[tuple[NDArray[Any], Scorer | None]]:
    """Return the scores of each fold's validation samples, and the fitted classifier if `keep`."""
    # scikit-learn's own Parallel also sends its configuration, such as metadata routing, to the workers.
    scored: list[tuple[NDArray[Any], Scorer | None]] = Parallel(n_jobs=n_jobs)(
        delayed(_score_fold)(estimator, method, X, y, split, params or {}, keep) for split in splits
    )
    return scored


def _score_fold(
    estimator: Any,
    method: str,
    X: MatrixLike,
    y: Matrix,
    split: tuple[IntArray, IntArray],
    params: dict[str, Any],
    keep: bool,
) -> tuple[NDArray[Any], Scorer | None]:
    training, validation = split
    scorer = Scorer.fit(estimator, method, X, y, params, training)
    return scorer.scores(out_of_sample.rows_of(X, validation)), scorer if keep else None


def rows_of_params(params: dict[str, Any], rows: IntArray, n_samples: int) -> dict[str, Any]:
    """Return metadata for some samples: values with one entry per sample are indexed."""

    def is_of_rows(value: Any) -> bool:
        if hasattr(value, "shape"):
            return len(value.shape) > 0 and value.shape[0] == n_samples
        return isinstance(value, list | tuple) and len(value) == n_samples

    return {name: out_of_sample.rows_of(value, rows) if is_of_rows(value) else value for name, value in params.items()}


# The base class of classifiers around another one: checks, metadata, the form of y, and the inner scores.


def explains_itself(self: Any) -> bool:
    """Return whether the inner classifier has `explain`, or raise AttributeError: for `available_if`."""
    if hasattr(self.estimator, "explain"):
        return True
    raise AttributeError(
        f"estimator must have explain, got {type(self.estimator).__name__}."
        " Hint: nearlabel.models.explain(model, X) also explains pipelines and searches."
    )


class AroundClassifier(FrameOutput, ClassifierMixin, MetaEstimatorMixin, BaseEstimator, ABC):
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

    @all_or_nothing
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
        check_row_names(X=X, y=y, sample_weight=params.get("sample_weight"), groups=params.get("groups"))
        target, unknown = check_partial_target(self, y, dtype=np.int8)  # checked here, and used in the form of y
        labels, truth = target.labels, PartialLabels(target.labels, unknown)
        rows_with_known_cells(truth, None)
        X, _ = indexable(checked_container("X", X), labels)
        self._check_parameters(labels.shape[1])
        if params.get("sample_weight") is not None:
            check_consistent_length(labels, params["sample_weight"])
        routes = get_config()["enable_metadata_routing"]
        own = self._also_takes if routes else self._also_takes + self._needs_no_routing
        direct = {name: params[name] for name in own if name in params}
        self._fitted_to_rows_alone = all(value is None for value in params.values())
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

    @framed
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
        scores = self._scores(X, self.response_method_, stored=self._decides_stored)
        return self._container.wrap(self.label_sets_of(scores))

    predict_labels = predict_labels
    score = score

    @abstractmethod
    def _fit(self, X: MatrixLike, y: Matrix, routed: Any, **direct: Any) -> None:
        """Set `estimator_`, and the attributes that `label_sets_of` needs."""

    @abstractmethod
    def label_sets_of(self, scores: NDArray[Any]) -> Matrix:
        """Return the label sets (n_queries, n_labels) of inner scores."""

    @property
    def _keeps_rows_inside(self) -> bool:
        """Whether the inner classifier is fitted to all samples, and to nothing else: then a refit needs no others."""
        return not hasattr(self, "estimator_") or getattr(self, "_fitted_to_rows_alone", False)

    def _explained(self, X: MatrixLike, **decided: Any) -> list[Any]:
        """Return the explanations of the inner classifier, with the given `thresholds` or `decide`."""
        inner = self.estimator_
        while getattr(inner, "_only_decides", False):  # its own decisions are not used
            inner = inner.estimator_
        inner = copy(inner)
        inner.label_names_ = self.label_names_  # fitted to an array, without column names
        explanations: list[Any] = inner.explain(X, **decided)
        return explanations

    @property
    def _decides_stored(self) -> bool:
        """Whether `label_sets_of` takes `SparseScores`."""
        return False

    def _scores(self, X: MatrixLike, method: str, *, stored: bool = False) -> NDArray[Any]:
        check_is_fitted(self)
        return Scorer(self.estimator_, method, self._one_class).scores(X, stored=stored)

    def _keep(self, scorer: Scorer) -> None:
        self.estimator_, self.response_method_, self._one_class = scorer

    def _take_from(self, part: Any, *names: str) -> None:
        """Copy attributes of a fitted part, and remove those that an earlier fit set and this part lacks."""
        for name in names:
            self.__dict__.pop(name, None)
            if hasattr(part, name):
                setattr(self, name, getattr(part, name))

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


_HINT_OF_SCORES = "thresholds by cv='loo' with MLkNN or BRkNN, a sparse y, and MicroFOptimum or SCut need few scores"


class HeldOutScores(NamedTuple):
    """The indices of each fold's held-out samples, and their scores (n_held_out, n_labels)."""

    rows: list[IntArray]
    scores: list[NDArray[Any]]
    unseen: bool = False  # whether the final classifier was not fitted to these samples
    learnt: IntArray | None = None  # the training samples of a single split, if the final classifier is another one


class HoldsRowsOut(AroundClassifier):
    """A classifier around another one that learns from held-out scores, according to `cv`."""

    cv: Any
    n_jobs: int | None
    random_state: int | RandomState | None

    _needs_no_routing = ("groups",)

    def _check_parameters(self, n_labels: int) -> None:
        super()._check_parameters(n_labels)
        if isinstance(self.cv, str):
            check_choice("cv", self.cv, {"loo", "prefit"})

    @property
    def _keeps_rows_inside(self) -> bool:
        is_prefit = isinstance(self.cv, str) and self.cv == "prefit"
        return super()._keeps_rows_inside and not is_prefit and getattr(self, "refit", True)

    def _groups(self, n_samples: int, routed: Any, direct: dict[str, Any]) -> IntArray | None:
        """Return the group number of each sample, or None if there are no groups."""
        names = (dict(routed.splitter.split) | direct).get("groups")
        return None if names is None else check_groups(names, n_samples)

    def _score_rows(
        self,
        estimator: Any,
        X: MatrixLike,
        y: Matrix,
        routed: Any,
        groups: IntArray | None,
        *,
        refit: bool = True,
        stored: bool = False,
    ) -> HeldOutScores:
        """Fit and store the classifier, and return out-of-sample scores; with `stored` they may be `SparseScores`."""
        n_samples, n_labels = y.shape
        if not (stored and sparse.issparse(y) and isinstance(self.cv, str)):
            require_room("held-out scores", y.shape, ("samples", "labels"), _HINT_OF_SCORES)
        everything = [np.arange(n_samples)]
        method = method_of(self.estimator, self.response_method)
        if self.cv == "prefit":
            self._keep(Scorer(self.estimator, method, OneClass.none(n_labels)))
            return HeldOutScores(everything, [self._scores(X, method)], unseen=True)
        to_fit = dict(routed.estimator.fit)
        if isinstance(self.estimator, HoldsRowsOut) and not get_config()["enable_metadata_routing"]:
            # It leaves them out of its own scores, too; with routing they are in there.
            to_fit |= out_of_sample.of_groups(groups)
        if isinstance(self.cv, str) and hasattr(estimator, "_fit_left_out") and groups is None and not to_fit:
            classifier = clone(estimator)  # whose fit computes the scores
            scores = classifier._fit_left_out(X, y)
            self._keep(Scorer(classifier, method, OneClass.of(y)))
            return HeldOutScores(everything, [scores])
        if isinstance(self.cv, str):
            self._keep(Scorer.fit(estimator, method, X, y, to_fit))
            rows, scores = out_of_sample.left_out_scores(self.estimator_, y.shape, groups, to_fit, stored=stored)
            return HeldOutScores([rows], [scores])
        splitter = out_of_sample.splitter_of(self.cv, n_samples, self.random_state, groups)
        to_split = dict(routed.splitter.split) | out_of_sample.of_groups(groups)
        splits = out_of_sample.splits_of(splitter, X, y, **to_split)
        if not refit and len(splits) > 1:
            raise ValueError(f"refit must be True if cv makes several splits, got {refit} and {len(splits)} splits.")
        scored = score_folds(estimator, method, X, y, splits, params=to_fit, n_jobs=self.n_jobs, keep=not refit)
        of_split = scored[0][1]
        self._keep(Scorer.fit(estimator, method, X, y, to_fit) if of_split is None else of_split)
        unseen = not refit and not np.isin(*splits[0]).any()
        learnt = splits[0][0] if refit and len(splits) == 1 else None
        return HeldOutScores([rows for _, rows in splits], [scores for scores, _ in scored], unseen, learnt)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed.

        Returns
        -------
        MetadataRouter
            `fit` of the inner classifier and `split` of the splitter get the metadata that they requested.
        """
        splitter = GroupKFold() if isinstance(self.cv, str | int | np.integer) else self.cv  # others know groups, too
        to_split = MethodMapping().add(caller="fit", callee="split")
        return super().get_metadata_routing().add(splitter=splitter, method_mapping=to_split)
