"""The base class of mixtures: probabilities of several classifiers, with weights tuned out of sample."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, permutations
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.validation import check_is_fitted

from nearlabel.metrics import MetricLike, get_metric, score_all
from nearlabel.models.out_of_sample import Needs, left_out_answer, of_groups, prefit_answer, splits_of, splitter_of
from nearlabel.thresholds import ThresholdStrategy, strategy_for
from nearlabel.thresholds._cross_val import Scorer, score_folds  # parts are fitted and scored in the same way
from nearlabel.thresholds.best_value import BestThresholds
from nearlabel.utils.containers import check_row_names, checked_container
from nearlabel.utils.estimators import as_label_scores, score
from nearlabel.utils.frames import FrameOutput, framed
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.tags import predict_labels
from nearlabel.utils.targets import LabelContainer, check_target, remember_target, with_multilabel_target
from nearlabel.utils.types import FloatArray, IntArray, LabelSets, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, as_score_matrix, check_choice, check_groups

AUTO, PER_LABEL = "auto", "per_label"
_METHOD = "predict_proba"
_LEAST_EACH = 50  # minimum of positives and of negatives for a label to get its own weights
_LEAST_PROBABILITY = 1e-15  # in the log loss


class Mixture(FrameOutput, ClassifierMixin, MetaEstimatorMixin, BaseEstimator, ABC):
    """Mix the probabilities of several classifiers (parts) and apply thresholds; weights and thresholds are learnt.

    A subclass defines the parts and returns the weights that the user gave.
    """

    space: str
    scoring: MetricLike
    strategy: ThresholdStrategy | None
    cv: Any
    n_jobs: int | None
    random_state: int | RandomState | None

    # Declared for type checkers: other functions set these attributes.
    classes_: NDArray[Any]
    label_names_: NDArray[Any]
    _container: LabelContainer

    @framed
    def predict(self, X: MatrixLike) -> LabelSets:
        """Predict the label set of every sample from the mixed probabilities and the thresholds.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        labels : ndarray or CSR of shape (n_queries, n_labels) or (n_queries,)
            Indicator matrix in the container and of the dtype that y had in `fit`; an array where y was a data frame
            or tags, CSR if its columns were sparse or tags many. For a one-dimensional y, the predicted classes.
        """
        scores = self._score(X)  # which needs a fit
        labels = self.strategy_.predict(scores)
        return self._container.wrap(labels)

    predict_labels = predict_labels
    score = score

    @framed
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the mixed probability of every label.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries. A part with weight 0 for all labels is not called.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries, n_classes)
            One array; for a one-dimensional y, one column per class.
        """
        scores = self._score(X)
        return self._container.probabilities(scores)

    @abstractmethod
    def _parts(self) -> list[tuple[str, Any]]:
        """Return the unfitted parts, at least two, by name."""

    @abstractmethod
    def _given_weights(self) -> FloatArray | str:
        """Return weights (n_parts,) that sum to 1, "auto" or "per_label"; raise an error for anything else."""

    @all_or_nothing
    def _fit(self, X: MatrixLike, y: MatrixLike, groups: ArrayLike | None, scores: Mapping[str, Any]) -> Self:
        check_row_names(X=X, y=y, groups=groups)
        target = check_target(self, y)
        X, _ = indexable(checked_container("X", X), target.labels)
        self._check_parameters()
        given = self._given_weights()
        own = _own_scores(self._parts(), scores, target.labels.shape)
        remember_target(self, target)
        # Internally a one-dimensional y is one column; only the predictions are one-dimensional.
        y = target.labels if self._container.classes is not None else self._container.wrap(target.labels)
        names = None if groups is None else check_groups(groups, y.shape[0])
        self._least = 0.5 / max(y.shape[0], 1)
        rows, unseen = self._fit_parts(own, X, y, names)
        self._learn([self._as_terms(of_part) for of_part in unseen], target.labels[rows], given)
        self._take_features()
        self._keep_samples(X, target.labels)
        return self

    def _handed(
        self, fitted: Sequence[Any], X: MatrixLike, labels: Matrix, strategy: ThresholdStrategy, value: float
    ) -> Self:
        """Return the mixture of fitted parts, with thresholds fitted to its scores, and the value that they reach."""
        remember_target(self, check_target(self, labels))
        self._least = 0.5 / max(labels.shape[0], 1)
        self.estimators_, self.weights_ = list(fitted), np.asarray(self._given_weights())
        self._decide_by(strategy, value)
        self._take_features()
        self._keep_samples(X, labels)
        return self

    def _keep_samples(self, X: MatrixLike, labels: Matrix) -> None:
        """Store what explanations need of the training samples."""

    def _fit_parts(
        self, own: Mapping[str, FloatArray], X: MatrixLike, y: Matrix, groups: IntArray | None
    ) -> tuple[IntArray, list[FloatArray]]:
        """Fit the parts to all samples; return sample indices, and each part's out-of-sample scores of them."""
        parts = self._parts()
        splits = []
        if any(_needs_folds(*part, own) for part in parts):
            splitter = splitter_of(self.cv, y.shape[0], self.random_state, groups)
            splits = splits_of(splitter, X, y, **of_groups(groups))  # the same for all parts
        self.estimators_ = [Scorer.fit(part, _METHOD, X, y, {}).classifier for _, part in parts]
        rows = np.concatenate([validation for _, validation in splits]) if splits else np.arange(y.shape[0])
        unseen = []
        for (name, part), fitted in zip(parts, self.estimators_, strict=True):
            if _needs_folds(name, part, own):
                folds = score_folds(part, _METHOD, X, y, splits, n_jobs=self.n_jobs)
                unseen.append(np.vstack([of_fold for of_fold, _ in folds]))
            else:
                answer = own.get(name)
                if answer is None:
                    answer = left_out_answer(fitted, y.shape[1], Needs(labels=False), groups).scores
                unseen.append(answer[rows])
        return rows, unseen

    def _learn(self, terms: list[FloatArray], labels: Matrix, given: FloatArray | str) -> None:
        """Select weights, then thresholds."""
        self.cv_results_ = {}
        metric = get_metric(self.scoring)
        if isinstance(given, str):
            best, sign = BestThresholds(labels, metric, self._new_strategy()), 1 if metric.greater_is_better else -1
            search = search_weights(lambda weights: sign * best.tuned(self._mean(terms, weights))[1], len(terms))
            self.cv_results_ = {"weights": search.weights, metric.name: sign * search.values}
            given = search.best if given == AUTO else self._weights_per_label(terms, labels, search.best)
        self.weights_ = given
        mixed = self._mean(terms, self.weights_)
        strategy = self._new_strategy().fit(mixed, labels)
        self._decide_by(strategy, score_all(labels, strategy.predict(mixed), mixed, [metric])[metric.name])

    def _decide_by(self, strategy: ThresholdStrategy, value: float) -> None:
        """Take a fitted strategy, and the value that it reaches."""
        self.strategy_, self.objective_ = strategy, value
        self.__dict__.pop("thresholds_", None)
        if hasattr(strategy, "thresholds_"):
            self.thresholds_ = strategy.thresholds_

    def _weights_per_label(self, terms: list[FloatArray], labels: Matrix, otherwise: FloatArray) -> FloatArray:
        """Return weights (n_labels, n_parts) by each label's log loss; common weights for labels with few samples."""
        weights = np.tile(otherwise, (labels.shape[1], 1))
        n_positive = np.asarray(labels.sum(axis=0)).reshape(-1)
        for label in np.flatnonzero(np.minimum(n_positive, labels.shape[0] - n_positive) >= _LEAST_EACH):
            truth = as_dense(labels[:, [label]])[:, 0] == 1
            weights[label] = self._best_for([part[:, label] for part in terms], truth)
        return weights

    def _best_for(self, terms: list[FloatArray], truth: NDArray[Any]) -> FloatArray:
        def value(weights: FloatArray) -> float:
            mixed = self._mean(terms, weights)
            right = np.where(truth, mixed, 1 - mixed)
            return float(np.log(np.maximum(right, _LEAST_PROBABILITY)).mean())

        return search_weights(value, len(terms)).best

    def _new_strategy(self) -> ThresholdStrategy:
        return strategy_for(self.scoring) if self.strategy is None else clone(self.strategy)

    def _as_terms(self, probabilities: FloatArray) -> FloatArray:
        """Return the terms of one part in the mean: probabilities, or their logits, clipped so that they are finite."""
        if self.space == "probability":
            return np.asarray(probabilities, dtype=np.float64)
        return np.asarray(logit(np.clip(probabilities, self._least, 1 - self._least)))

    def _mean(self, terms: Sequence[FloatArray], weights: FloatArray) -> FloatArray:
        """Return the probabilities, the weighted mean of the terms of all parts.

        The last axis of `weights` is that of the parts. A part whose weights are all 0 is ignored, even if its terms
        are not finite.
        """
        total: Any = sum(weights[..., place] * part for place, part in enumerate(terms) if weights[..., place].any())
        return np.asarray(total if self.space == "probability" else expit(total))

    def _score(self, X: MatrixLike) -> FloatArray:
        check_is_fitted(self)
        used = np.flatnonzero(self.weights_.reshape(-1, len(self.estimators_)).any(axis=0)).tolist()
        return self._mean([self._terms(place, X) for place in used], self.weights_[..., used])

    def _terms(self, place: int, X: MatrixLike) -> FloatArray:
        """Return the terms of one part in the mean, (n_queries, n_labels)."""
        needs, n_labels = Needs(labels=False), len(self.label_names_)
        return self._as_terms(prefit_answer(self.estimators_[place], X, n_labels, needs, _METHOD).scores)

    def _check_parameters(self) -> None:
        self._given_weights()
        check_choice("space", self.space, {"probability", "logit"})
        get_metric(self.scoring)
        if self.strategy is not None and not isinstance(self.strategy, ThresholdStrategy):
            raise TypeError(f"strategy must be a ThresholdStrategy, such as MicroFOptimum(), got {self.strategy!r}.")
        for name, part in self._parts():
            if not hasattr(part, _METHOD):
                raise ValueError(
                    f"{name} must have predict_proba, got {type(part).__name__}. Hint:"
                    " nearlabel.rivals.BinaryRelevance calibrates the decision values of classifiers of one"
                    " label."
                )

    def _take_features(self) -> None:
        """Copy the parts' attributes of the features, and delete those of an earlier fit."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            for part in self.estimators_:
                if hasattr(part, name):
                    setattr(self, name, getattr(part, name))
                    break

    def __sklearn_tags__(self) -> Tags:
        """Declare the target, and the kinds of X that all parts accept."""
        tags = super().__sklearn_tags__()
        inputs = [get_tags(part).input_tags for _, part in self._parts()]
        tags.input_tags.sparse = all(part.sparse for part in inputs)
        tags.input_tags.allow_nan = all(part.allow_nan for part in inputs)
        return with_multilabel_target(tags)


def _needs_folds(name: str, part: Any, own: Mapping[str, FloatArray]) -> bool:
    """Whether a part is cross-validated. A pipeline is: its other steps may have learnt from a left-out sample."""
    return name not in own and not hasattr(part, "loo_predict_proba")


def _own_scores(
    parts: Sequence[tuple[str, Any]], scores: Mapping[str, Any], shape: tuple[int, int]
) -> dict[str, FloatArray]:
    """Return the user's scores, checked; raise for unknown parts, and for a fitted part without scores."""
    names = [name for name, _ in parts]
    unknown = sorted(set(scores) - set(names))
    if unknown:
        raise ValueError(f"scores must have keys among {names}, got {unknown}.")
    for name, part in parts:
        if isinstance(part, FrozenEstimator) and name not in scores:
            raise ValueError(
                f"{name} must come with scores of the rows that it was not trained on, got a FrozenEstimator without."
                " Hint: give them to fit; where it was trained on other rows than X, they are its predict_proba(X)."
            )
    return {name: _checked_scores(name, scores[name], part, shape) for name, part in parts if name in scores}


def _checked_scores(name: str, scores: Any, part: Any, shape: tuple[int, int]) -> FloatArray:
    """Return scores given by the user as an array of probabilities (n_samples, n_labels)."""
    scores = as_label_scores(checked_container(f"scores of {name}", scores), part, shape[1], _METHOD)
    matrix: FloatArray = as_score_matrix(scores, name=f"scores of {name}")
    if matrix.shape != shape:
        raise ValueError(f"scores of {name} must be of the {shape[0]} rows of X, got {matrix.shape[0]}.")
    if matrix.size and not (matrix.min() >= 0 and matrix.max() <= 1):
        raise ValueError(f"scores of {name} must be probabilities, got values from {matrix.min()} to {matrix.max()}.")
    return matrix


# A search for the best weights, among multiples of 1/20 that sum to 1.

STEPS = 20
_COARSE = 4  # a step of 1/4, for more than two weights


class WeightSearch(NamedTuple):
    """The best of the weights that were tried (n_weights,), all of them, ascending by the first, and their values."""

    best: FloatArray
    weights: FloatArray
    values: FloatArray


def search_weights(value: Callable[[FloatArray], float], n_weights: int) -> WeightSearch:
    """Return the weights with the largest value.

    With two weights, all multiples of 1/20 are tried. With more, the multiples of 1/4; then, from the best, moves of
    1/20 from one weight to another, until no move improves the value. NaN is worse than any number. Ties go to the
    weights that are nearest to equal, then to those with more weight on the first. Weights are stored as integer
    numbers of twentieths, so that comparisons are exact.
    """
    tried: dict[tuple[int, ...], float] = {}

    def rank(weights: tuple[int, ...]) -> tuple[float, int, tuple[int, ...]]:
        from_equal = sum((n_weights * weight - STEPS) ** 2 for weight in weights)
        return -np.inf if np.isnan(tried[weights]) else tried[weights], -from_equal, weights

    new = list(_simplex(n_weights, STEPS if n_weights == 2 else _COARSE))
    while new:
        tried |= {weights: value(np.array(weights) / STEPS) for weights in new}
        best = max(tried, key=rank)
        new = [weights for weights in _moves(best) if weights not in tried] if n_weights > 2 else []
    order = sorted(tried)
    values = np.array([tried[weights] for weights in order])
    return WeightSearch(np.array(best) / STEPS, np.array(order) / STEPS, values)


def _simplex(n_weights: int, n_steps: int) -> Iterator[tuple[int, ...]]:
    """Yield all weights that are multiples of 1 / n_steps, in twentieths (stars and bars)."""
    for bars in combinations(range(n_steps + n_weights - 1), n_weights - 1):
        ends = np.array([-1, *bars, n_steps + n_weights - 1])
        yield tuple(((np.diff(ends) - 1) * (STEPS // n_steps)).tolist())


def _moves(weights: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the weights with one twentieth moved from one weight to another."""
    for giving, taking in permutations(range(len(weights)), 2):
        if weights[giving]:
            moved = list(weights)
            moved[giving] -= 1
            moved[taking] += 1
            yield tuple(moved)
