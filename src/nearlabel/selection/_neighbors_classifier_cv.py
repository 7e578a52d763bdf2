"""One estimator that chooses method, distance, number of neighbours and thresholds together."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.utils import Tags, check_random_state, indexable
from sklearn.utils.validation import check_is_fitted

from nearlabel.lazy import MLMLM, BRkNN, Explanation, MLkNN, NeighborsSweep
from nearlabel.metrics import MetricLike, get_metric
from nearlabel.metrics.evaluation import Evaluation
from nearlabel.models import explain
from nearlabel.models.out_of_sample import LeaveOneOut, Needs, largest_group, of_groups, rows_of, splits_of, splitter_of
from nearlabel.models.selector import Budget
from nearlabel.neighbors import ExactNeighbors, UselessNeighborsWarning
from nearlabel.selection._trials import MethodInSpace, Space, Trials, fresh, is_mixed, spaces_of
from nearlabel.thresholds import FixedThresholdsClassifier, ThresholdStrategy, TunedThresholdsClassifierCV, strategy_for
from nearlabel.utils.estimators import score
from nearlabel.utils.tags import predict_labels
from nearlabel.utils.targets import LabelContainer, PartialLabels, check_target, remember_target, with_multilabel_target
from nearlabel.utils.types import FloatArray, IntArray, LabelSets, Matrix, MatrixLike
from nearlabel.utils.validation import (
    as_dense,
    as_score_matrix,
    check_groups,
    check_integer,
    check_positive,
    check_rows,
)

AUTO = "auto"
NUMBERS = (1, 2, 3, 5, 7, 10, 14, 20, 30, 45, 60, 90)
_ONE_SPACE = ("minmax", "euclidean")  # where "auto" tries methods whose cost grows faster than that of a search


class NeighborsClassifierCV(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Choose method, distance, number of neighbours and thresholds together, for the best predictions by neighbours.

    Each candidate predicts each training sample from all others (leave-one-out, which needs no refit). On these scores
    the thresholds are optimised for `scoring`. The candidate of the best value is fitted to all samples, with its
    thresholds. One search for each scaling and metric serves all methods and numbers of neighbours.

    Parameters
    ----------
    scoring : str, callable or Metric, default="micro_f1"
        The metric to optimise, as in `nearlabel.metrics.get_metric`. A metric of scores, such as "ranking_loss",
        selects the candidate; the thresholds are then those of best micro F1.
    methods : "auto", sequence of classifiers, or mapping of str to classifier, default="auto"
        Methods with leave-one-out predictions. Their parameters `n_neighbors` and `search`, or `metric`, are set if
        they exist. "auto": `BRkNN`, `MLkNN`, `BRkNN` with weights by distance, and `MLMLM`, the last on min-max scaled
        features by the Euclidean distance only.
    n_neighbors : "auto" or sequence of int, default="auto"
        Numbers of neighbours to try. "auto": 1, 2, 3, 5, 7, 10, 14, 20, 30, 45, 60 and 90, up to half of the samples.
    scales : "auto", sequence of str, or mapping of str to transformer, default="auto"
        How features are transformed: names that `nearlabel.preprocessing.FeatureScaler` knows, or unfitted transformers
        (None: nothing), such as a pipeline with a feature selection. "auto": minmax and standard; for words (no value
        below 0, three in four 0) minmax and tfidf. Columns of several kinds go through `MixedFeaturesEncoder`; missing
        numbers become the median.
    metrics : "auto" or sequence of str, default="auto"
        Distances, as in `ExactNeighbors`. "auto": euclidean; for words cosine too; for other features manhattan too if
        n_samples² · n_features is at most 4e9. A scale that "auto" names is tried with the metrics that often win with
        it: tfidf with cosine, standard with euclidean.
    strategy : ThresholdStrategy, default=None
        Finds the thresholds. None: `nearlabel.thresholds.strategy_for(scoring)`.
    max_samples : int, default=20000
        If there are more samples, this many are drawn for the choice, whole groups where there are groups; thresholds
        are then found again on all samples.
    time_limit : float, default=None
        Seconds after which no further method or distance is tried; the first always is. The one in progress, and the
        fit of the best, may exceed the limit. None: no limit.
    nested : int, default=None
        Number of folds in which the whole choice is repeated without the fold, for `nested_score_`. None: no such
        score.
    random_state : int, RandomState or None, default=0
        Draws samples for the choice and assigns them to parts and folds; is passed to no method.

    Attributes
    ----------
    best_estimator_ : estimator
        The best candidate, fitted to all samples: a classifier with thresholds, in a pipeline after the transformation
        of the features.
    best_params_ : dict
        "method", "scale", "metric" and "n_neighbors" (None for a method without) of the best candidate.
    best_score_ : float
        Its value on the leave-one-out scores that selected it: optimistic.
    crossfit_score_ : float
        The value if, for each of five parts of the samples, the choice among the best eight candidates and the
        thresholds is made on the other parts. Neighbours may be of any part: slightly optimistic. NaN if there are
        fewer than five samples.
    nested_score_ : float
        The value of the predictions for each fold by choices made without it: unbiased. Only with `nested`.
    cv_results_ : dict of str to ndarray of shape (n_candidates,)
        "method", "scale", "metric", "n_neighbors" (0 for a method without), "score", and "rank" (1 is best), in the
        order of trying.
    n_candidates_ : int
        Number of candidates tried.
    timed_out_ : bool
        Whether `time_limit` left some out.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, tags, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    tune_neighbors : The number of neighbours of one method, by any metric.
    nearlabel.experiments.Tuning : Also tries methods without neighbours.

    Notes
    -----
    If values are equal, the method that comes first in the list above wins, then the scale and metric tried first, then
    the larger number of neighbours. Scalings have seen each sample when its leave-one-out scores are computed, an
    effect of order 1 / n_samples. A transformer that learns from y has seen each label set, too, so that `best_score_`
    and `crossfit_score_` are more optimistic; `nested_score_` is not.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.metrics import micro_f1
    >>> from nearlabel.selection import NeighborsClassifierCV
    >>> digits = load_multidigits()
    >>> model = NeighborsClassifierCV().fit(digits.X[:500], digits.Y[:500])
    >>> model.best_params_["method"], round(micro_f1(digits.Y[1500:], model.predict(digits.X[1500:])), 2)
    ('mlmlm', 0.72)
    """

    # Declared for type checkers.
    classes_: NDArray[Any]
    label_names_: NDArray[Any]
    _container: LabelContainer

    def __init__(
        self,
        scoring: MetricLike = "micro_f1",
        *,
        methods: Any = AUTO,
        n_neighbors: Any = AUTO,
        scales: Any = AUTO,
        metrics: Any = AUTO,
        strategy: ThresholdStrategy | None = None,
        max_samples: int = 20_000,
        time_limit: float | None = None,
        nested: int | None = None,
        random_state: int | RandomState | None = 0,
    ) -> None:
        self.scoring = scoring
        self.methods = methods
        self.n_neighbors = n_neighbors
        self.scales = scales
        self.metrics = metrics
        self.strategy = strategy
        self.max_samples = max_samples
        self.time_limit = time_limit
        self.nested = nested
        self.random_state = random_state

    def fit(self, X: MatrixLike, y: MatrixLike, groups: ArrayLike | None = None) -> Self:
        """Choose, and fit the best candidate.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples; a data frame may have columns of several kinds.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1, one label of two classes, or the tags of each sample.
        groups : array-like of shape (n_samples,), default=None
            Names of the samples' groups: samples are predicted from other groups only. None: each sample is a group.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X, y or groups are malformed, their lengths differ, a parameter is out of range, there are fewer than two
            samples or groups, or `scoring` is undefined for all candidates.
        TypeError
            If a parameter is of a wrong type, or a method has no leave-one-out answers.
        """
        self._check_parameters()
        target = check_target(self, y)
        self._is_mixed = is_mixed(X)
        X, _ = indexable(X if self._is_mixed else check_rows(self, X), target.labels)
        remember_target(self, target)
        n_units = target.labels.shape[0] if groups is None else len(np.unique(np.asarray(groups)))
        if n_units < 2:
            what = f"n_samples={n_units}" if groups is None else f"{n_units} of them"
            raise ValueError(f"there must be at least 2 samples, or groups, to leave one out, got {what}.")
        numbers = None if groups is None else check_groups(groups, target.labels.shape[0])
        random = check_random_state(self.random_state)
        some = self._drawn(target.labels.shape[0], numbers, random)
        trials = self._choose(rows_of(X, some), target.labels[some], None if numbers is None else numbers[some])
        self.crossfit_score_ = trials.crossfit(None if numbers is None else numbers[some])
        self._fit_best(trials, X, target.labels, numbers, is_sample=len(some) < target.labels.shape[0])
        self.__dict__.pop("nested_score_", None)  # of an earlier fit
        if self.nested is not None:
            self.nested_score_ = self._nested_score(X, target.labels, numbers)
        return self

    def predict(self, X: MatrixLike) -> LabelSets:
        """Return the label set of every sample.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Samples.

        Returns
        -------
        labels : ndarray or CSR of shape (n_queries, n_labels) or (n_queries,)
            Indicator matrix in the container and of the dtype that y had in `fit`; an array where y was a data frame.
            For a one-dimensional y, the predicted classes.
        """
        queries = self._queries(X)
        return self._container.wrap(self.best_estimator_.predict(queries))

    predict_labels = predict_labels
    score = score

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probability of every label, mapped from the scores of the best candidate.

        The map is learnt on leave-one-out scores; it keeps the order of the scores of a label, and `predict` does not
        need it (`TunedThresholdsClassifierCV`).

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries, n_classes)
            One array; for a one-dimensional y, a column for each class.
        """
        queries = self._queries(X)
        return self._container.probabilities(np.asarray(self.best_estimator_.predict_proba(queries)))

    def explain(self, X: MatrixLike) -> list[Explanation]:
        """Explain the label set of every sample by the neighbours, or label sets, that the best candidate uses.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Samples.

        Returns
        -------
        list of Explanation
            One for each sample, with the thresholds.
        """
        queries = self._queries(X)
        return explain(self.best_estimator_, queries, label_names=self.label_names_.tolist())

    def _queries(self, X: MatrixLike) -> MatrixLike:
        """Check samples for the best estimator."""
        check_is_fitted(self)
        return X if self._is_mixed else check_rows(self, X, reset=False)

    def _choose(self, X: MatrixLike, labels: Matrix, groups: IntArray | None) -> Trials:
        """Try all candidates on some samples, each scaling and metric with one search."""
        strategy = strategy_for(self.scoring) if self.strategy is None else self.strategy
        trials = Trials(labels, get_metric(self.scoring), strategy)
        spaces = spaces_of(X, self.scales, self.metrics)
        numbers = self._numbers(labels.shape[0], groups)
        budget = Budget(self.time_limit)
        self.timed_out_ = False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UselessNeighborsWarning)  # the best candidate warns when it is fitted
            for tried, left_out in self._candidates(spaces, X, labels, groups):
                if trials.all and budget.is_spent:
                    self.timed_out_ = True
                    break
                _try_numbers(tried, numbers, left_out, trials)
        self.cv_results_ = trials.table()
        self.n_candidates_ = len(trials.all)
        return trials

    def _candidates(
        self, spaces: Sequence[Space], X: MatrixLike, labels: Matrix, groups: IntArray | None
    ) -> Iterator[tuple[MethodInSpace, LeaveOneOut]]:
        """Yield each method in each space, and the prepared samples."""
        for place, space in enumerate(spaces):
            rows = X
            for step in fresh(space):
                rows = step.fit_transform(rows, labels)
            left_out = LeaveOneOut(rows, labels, groups)
            for order, (name, method) in enumerate(self._methods(space).items()):
                yield MethodInSpace(name, method, space, (order, place)), left_out

    def _methods(self, space: Space) -> dict[str, Any]:
        if isinstance(self.methods, str):
            methods = {"brknn": BRkNN(), "mlknn": MLkNN(), "brknn:weights=distance": BRkNN(weights="distance")}
            if space[::2] == _ONE_SPACE:
                methods["mlmlm"] = MLMLM(scale="none")
            return methods
        if isinstance(self.methods, Mapping):
            return dict(self.methods)
        return {str(method): method for method in self.methods}

    def _numbers(self, n_samples: int, groups: IntArray | None) -> list[int]:
        """Return the numbers of neighbours to try, ascending, as far as the samples allow."""
        if isinstance(self.n_neighbors, str):
            return [k for k in NUMBERS if k <= max(1, (n_samples - largest_group(groups)) // 2)]
        return sorted({check_integer("n_neighbors", k, low=1) for k in self.n_neighbors})

    def _drawn(self, n_samples: int, groups: IntArray | None, random: RandomState) -> IntArray:
        """Return the samples that the choice sees, whole groups of them."""
        if n_samples <= self.max_samples:
            return np.arange(n_samples)
        if groups is None:
            return np.sort(random.permutation(n_samples)[: self.max_samples])
        order = random.permutation(groups.max() + 1)
        sizes = np.cumsum(np.bincount(groups)[order])
        return np.flatnonzero(np.isin(groups, order[: max(2, np.searchsorted(sizes, self.max_samples, side="right"))]))

    def _fit_best(
        self, trials: Trials, X: MatrixLike, labels: Matrix, groups: IntArray | None, *, is_sample: bool
    ) -> None:
        """Fit the best candidate to all samples, with its thresholds, found on all of them."""
        best = trials.best
        space, k = best.tried.space, best.n_neighbors
        model = _in_space(best.tried, k, ExactNeighbors(metric=space.metric))
        if is_sample or not hasattr(best.strategy, "thresholds_"):
            model = TunedThresholdsClassifierCV(model, clone(best.strategy), cv="loo", map_scores=True)
            params = of_groups(groups)
        else:
            if k is None:  # it is fitted to these samples; the others know the neighbours of these samples only
                model = FrozenEstimator(trials.best_model)
            model, params = FixedThresholdsClassifier(model, best.strategy.thresholds_), {}
        for step in (steps := fresh(space)):
            X = step.fit_transform(X, labels)
        model.fit(X, labels, **params)
        if not hasattr(model, "score_map_"):
            model._learn_map(trials.best_scores, PartialLabels(labels, None))
        self.best_estimator_ = make_pipeline(*steps, model) if steps else model
        self.best_params_, self.best_score_ = best.params, best.value
        if self._is_mixed:
            for name in ("n_features_in_", "feature_names_in_"):
                setattr(self, name, getattr(self.best_estimator_, name, None))

    def _nested_score(self, X: MatrixLike, labels: Matrix, groups: IntArray | None) -> float:
        """Return the value of predictions for each fold by a choice without it."""
        n_samples = labels.shape[0]
        predicted, scores = np.empty(labels.shape, dtype=np.int64), np.empty(labels.shape)
        splitter = splitter_of(self.nested, n_samples, 0, groups)
        for others, part in splits_of(splitter, np.zeros((n_samples, 1)), labels, **of_groups(groups)):
            model = clone(self).set_params(nested=None)
            model.fit(rows_of(X, others), labels[others], None if groups is None else groups[others])
            predicted[part] = as_dense(model.best_estimator_.predict(rows_of(X, part)))
            scores[part] = model.best_estimator_.predict_proba(rows_of(X, part))
        metric = get_metric(self.scoring)
        return Evaluation.of(labels, [metric]).of_checked(predicted, scores)[metric.name]

    def _check_parameters(self) -> None:
        get_metric(self.scoring)
        check_integer("max_samples", self.max_samples, low=2)
        if self.time_limit is not None:
            check_positive("time_limit", self.time_limit)
        if self.nested is not None:
            check_integer("nested", self.nested, low=2)
        for name in ("methods", "n_neighbors", "scales", "metrics"):
            value = getattr(self, name)
            if isinstance(value, str) and value != AUTO:
                raise ValueError(f"{name} must be 'auto' or a list, got {value!r}.")
            if not isinstance(value, str) and not len(value):
                raise ValueError(f"{name} must name at least one, got none.")
        if self.strategy is not None and not isinstance(self.strategy, ThresholdStrategy):
            raise TypeError(f"strategy must be a ThresholdStrategy, such as MicroFOptimum(), got {self.strategy!r}.")
        for method in [] if isinstance(self.methods, str) else _values(self.methods):
            if not hasattr(method, "loo_predict_proba"):
                raise TypeError(
                    "methods must have leave-one-out predictions, as those of nearlabel.lazy,"
                    f" got {type(method).__name__}. Hint: nearlabel.experiments.Tuning takes any classifier."
                )

    def __sklearn_tags__(self) -> Tags:
        """Declare the target, and that X may be sparse and contain NaN."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return with_multilabel_target(tags)


def _values(methods: Any) -> list[Any]:
    return list(methods.values()) if isinstance(methods, Mapping) else list(methods)


def _try_numbers(tried: MethodInSpace, numbers: Sequence[int], left_out: LeaveOneOut, trials: Trials) -> None:
    """Offer the scores of a method with each number of neighbours, or once if it has none.

    All methods in a space share a search, and all numbers a fit where the method is a lazy classifier.
    """
    _, method, space, _ = tried
    if not _takes_search(method.get_params(deep=False)):
        model = _in_space(tried)
        trials.offer(tried, None, model, _left_out_scores(model, left_out))
        return
    n_more = largest_group(left_out.groups)
    known = left_out.neighbors(ExactNeighbors(metric=space.metric), numbers[-1] + n_more, space.metric)
    most = left_out.y.shape[0] - n_more - getattr(method, "_asks_for_training_rows", 0)
    if NeighborsSweep.serves(method) and numbers[-1] <= most:
        model = _in_space(tried, numbers[-1], known)
        sweep = NeighborsSweep.left_out(model, left_out.X, left_out.y, numbers, groups=left_out.groups)
        for k, _, answer in sweep.answers(labels=False):
            trials.offer(tried, k, model, answer.scores)
        return
    for k in numbers:
        model = _in_space(tried, k, known)
        trials.offer(tried, k, model, _left_out_scores(model, left_out))


def _left_out_scores(model: Any, left_out: LeaveOneOut) -> FloatArray:
    """Fit a model, and return its leave-one-out scores, checked, as it may be a user's."""
    if type(model) is MLMLM and left_out.groups is None:
        return model._fit_left_out(left_out.X, left_out.y)
    scores: FloatArray = as_score_matrix(left_out.answer(model, Needs(labels=False)).scores)
    return scores


def _takes_search(parameters: Mapping[str, Any]) -> bool:
    return "n_neighbors" in parameters and "search" in parameters


def _in_space(tried: MethodInSpace, n_neighbors: int | None = None, search: Any = None) -> Any:
    """Return the method for its space: with a search and a number of neighbours, or with the metric."""
    method = clone(tried.method)
    parameters = method.get_params(deep=False)
    if _takes_search(parameters):
        return method.set_params(n_neighbors=n_neighbors, search=search)
    return method.set_params(metric=tried.space.metric) if "metric" in parameters else method
