"""A classifier whose thresholds are tuned on scores of held-out samples."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from nearlabel.models.decision import SparseScores
from nearlabel.models.out_of_sample import later_half
from nearlabel.models.updates import attribute_of_part
from nearlabel.thresholds import _updates
from nearlabel.thresholds._cross_val import HeldOutScores, HoldsRowsOut, OneClass, Scorer, method_of, rows_of_params
from nearlabel.thresholds._fixed import WithThresholds
from nearlabel.thresholds._micro_f import MicroFOptimum
from nearlabel.thresholds._risk_control import RiskControl, lower_first
from nearlabel.thresholds._strategy import ByThresholds, ThresholdStrategy, check_weights, checked_scores, counted_rows
from nearlabel.thresholds.best_value import FEWEST, sharing_one
from nearlabel.utils.estimators import available_if
from nearlabel.utils.messages import AdviceWarning
from nearlabel.utils.targets import PartialLabels, check_target, remember_target
from nearlabel.utils.types import IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense

_MOST_FOLDS_JUDGED = 100  # each is one more run of the strategy


class TunedThresholdsClassifierCV(HoldsRowsOut, WithThresholds):
    """A classifier whose thresholds are tuned on scores of held-out samples.

    The equivalent of scikit-learn's `TunedThresholdClassifierCV` for many labels. It scores the samples by
    cross-validation, pools the scores of all folds, fits a strategy to them, and fits the classifier to all samples.
    scikit-learn averages the objective over the folds and tries 100 thresholds; here the strategy uses the scores of
    all folds together, and every possible threshold.

    Parameters
    ----------
    estimator : multi-label classifier
        Any classifier that takes y of shape (n_samples, n_labels) and has `predict_proba` or `decision_function`, of
        this library or another. Wrap a classifier of one label in `BinaryRelevance`.
    strategy : ThresholdStrategy, default=None
        The strategy, fitted to the pooled scores. None: `MicroFOptimum()`.
    cv : int, "loo", "prefit", splitter or iterable of (training, validation) rows, default=5
        How samples are scored. An int: number of folds, of consecutive samples unless `random_state` is given. A single
        split: labels with fewer than 10 positives on one of its sides share one threshold (Notes). "loo":
        by the leave-one-out scores of a lazy classifier of this library, without a refit; the classifier may be the
        last step of a pipeline, whose other steps are then fitted to all samples. "prefit": by the given classifier,
        which must already be fitted to other samples, and is not refitted. If the samples are ordered by their labels,
        pass `random_state`: folds of consecutive samples then give wrong thresholds, and `fit` warns.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Which scores to use; "auto": probabilities if the classifier has them, else decision values.
    refit : bool, default=True
        Whether to fit the classifier to all samples at the end. False, for a single split, keeps the classifier that
        scored it. Ignored for "loo" (always fitted to all samples) and "prefit".
    n_jobs : int, default=None
        Number of folds fitted in parallel; results do not depend on it.
    random_state : int, RandomState or None, default=None
        Shuffles the samples before they are split into folds, if `cv` is an int. None: no shuffle, the same folds each
        time.
    at_least : int, default=0
        Least number of labels of a sample: if fewer are predicted, those with the next highest scores are added.
    at_most : int, default=None
        Largest number of labels of a sample: if more are predicted, those with the highest scores are kept.
    map_scores : bool, default=False
        Whether `predict_proba` returns probabilities that are mapped from the scores, so that people can read them: of
        the samples with 0.3, about three in ten have the label. Label sets are the same. False: the inner classifier's
        own probabilities, whatever their meaning.

    Attributes
    ----------
    estimator_ : classifier
        The fitted inner classifier.
    strategy_ : ThresholdStrategy
        The fitted strategy.
    thresholds_ : ndarray of shape (n_labels,)
        The strategy's thresholds, if it has any (`RCut`, `MCut` and `ExpectedF` decide for each sample).
    score_map_ : JointMap
        The map from scores to probabilities, learnt on the pooled scores, if `map_scores`.
    mapped_thresholds_ : ndarray of shape (n_labels,)
        The thresholds on the scale of `predict_proba`.
    objective_ : float
        The value of its metric on the pooled scores, if it optimises one. This value is optimistic.
    cv_results_ : dict
        Results of each fold, evaluated with thresholds tuned on the scores of all other folds: "test_objective"
        (n_folds,), "mean_test_objective", "std_test_objective", "pooled_test_objective" (of the decisions of all folds
        together; more precise if folds are small, often too low if many labels have few positives: a fold with fewer of
        them has a classifier that saw more, whose scores are higher), and "thresholds" (n_folds, n_labels) if the
        strategy has any. Empty for "loo", "prefit", a single split, more than 100 folds, and a strategy that optimises
        no metric; also if a fold has no weight, no known cell, or leaves no other samples.
    response_method_ : str
        The method whose scores are compared with the thresholds.
    promise_ : str
        The guarantee of a `RiskControl` on new samples, as a sentence; empty for other strategies.
    thresholds_stale_ : bool
        Whether samples were added or removed since the thresholds were tuned; the first `predict` then warns
        (`StaleThresholdsWarning`).
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features, if the inner classifier has the attribute.

    Notes
    -----
    For a lazy classifier with ``n_neighbors="auto"``, alone or at the end of a pipeline, the number of neighbours and
    the thresholds are selected together: the number whose leave-one-out scores reach the best value with thresholds of
    this strategy. (If the strategy optimises no metric, the classifier selects the number.)

    With a single split and `refit`, thresholds are those of a classifier that saw fewer samples. The scores of a label
    with two positives are nearly equal, and a third one lifts all of them above a threshold in their midst. So labels
    with fewer than 10 positives among the training or the validation samples share one threshold, the best for all
    labels by the metric of the strategy (as by `GlobalCut`), and `fit` warns (`AdviceWarning`). `FBR` and strategies
    without a metric or of your own are exempt.

    `at_least` and `at_most` apply to predictions only, not while the thresholds are tuned. A label with one class in
    the training samples gets a decision value of minus or plus infinity, because scikit-learn's value is then
    meaningless; not if the classifier was fitted before ("prefit", or in a `FrozenEstimator`). The classifier gets y in
    its own container; a classifier that takes no sparse y needs a dense one. If y has unknown cells, the classifier
    gets NaN, and tuning and evaluation use the known cells only. To search a grid over ``strategy__beta``, pass a
    strategy. ``fit(X, y, groups=...)`` scores the samples of a group by classifiers that were not fitted to any of
    them: "loo" leaves out groups, an int makes folds of groups, a splitter gets the groups. With scikit-learn's
    metadata routing, `estimator`, `strategy` and the splitter get what they requested.

    With `map_scores` the map is learnt on all known cells of the pooled scores: a weighted mean of a logistic curve
    of lowest log loss and of an isotonic regression, both in the log-odds of the probabilities (or in the decision
    values, standardised). It increases and is the same for all labels, so no order of scores changes; decisions are on
    the raw scores. `partial_fit` and `forget` keep the map, `retune` learns it again.

    See Also
    --------
    FixedThresholdsClassifier : Thresholds given by the user.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.metrics import micro_f1
    >>> from nearlabel.thresholds import TunedThresholdsClassifierCV
    >>> digits = load_multidigits()
    >>> X, y = digits.X[:1500], digits.Y[:1500]
    >>> tuned = TunedThresholdsClassifierCV(MLkNN(), cv="loo").fit(X, y)
    >>> plain = MLkNN().fit(X, y)
    >>> [round(micro_f1(digits.Y[1500:], model.predict(digits.X[1500:])), 3) for model in (plain, tuned)]
    [0.684, 0.701]
    """

    strategy_: ThresholdStrategy
    thresholds_stale_: bool
    objective_: float
    cv_results_: dict[str, Any]
    _ranks: IntArray | None = None  # of the samples, if they follow each other

    def __init__(
        self,
        estimator: Any,
        strategy: ThresholdStrategy | None = None,
        *,
        cv: Any = 5,
        response_method: str = "auto",
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
        at_least: int = 0,
        at_most: int | None = None,
        map_scores: bool = False,
    ) -> None:
        self.estimator = estimator
        self.strategy = strategy
        self.cv = cv
        self.response_method = response_method
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.at_least = at_least
        self.at_most = at_most
        self.map_scores = map_scores

    def _check_parameters(self, n_labels: int) -> None:
        super()._check_parameters(n_labels)
        if self.strategy is not None and not isinstance(self.strategy, ThresholdStrategy):
            raise TypeError(f"strategy must be a ThresholdStrategy, such as MicroFOptimum(), got {self.strategy!r}.")
        if isinstance(self.strategy, RiskControl) and (self.at_least > 0 or self.at_most is not None):
            raise ValueError(
                "at_least and at_most must be 0 and None with RiskControl, whose guarantee is for the thresholds alone,"
                f" got {self.at_least} and {self.at_most}."
            )

    def _fit(self, X: MatrixLike, y: Matrix, routed: Any, **direct: Any) -> None:
        groups = self._groups(y.shape[0], routed, direct)
        estimator, strategy = self.estimator, self._new_strategy()
        if self.cv != "prefit":
            estimator = _updates.choosing_together(estimator, strategy)
        stored = strategy._takes_stored and not routed.strategy.fit
        held_out = self._score_rows(estimator, X, y, routed, groups, refit=self.refit, stored=stored)
        self._can_promise = held_out.unseen and groups is None
        folds = Folds(strategy, held_out, y, routed.strategy.fit)
        self._ranks = self.__dict__.pop("_ranks_to_come", None)
        self._decide_by(folds.chosen(self._ranks), on_rows_alone=groups is None and not routed.strategy.fit)
        _updates.as_given(self.estimator_)
        self.__dict__.pop("score_map_", None)  # of an earlier fit
        if self.map_scores:
            self._learn_map(*folds.held_out())
        judges = not np.isnan(getattr(self.strategy_, "objective_", np.nan))
        self.cv_results_ = folds.judged() if judges else {}

    def _fit_in_order(self, X: MatrixLike, y: Matrix, ranks: IntArray) -> Self:
        """Fit, with ``cv="loo"``, to samples that follow each other; thresholds are those of the later half."""
        self._ranks_to_come = ranks
        try:
            return self.fit(X, y)
        finally:
            self.__dict__.pop("_ranks_to_come", None)  # after an error they must not order the next fit

    def _tune_again(self, scores: Any, y: Matrix) -> None:
        """Tune the thresholds on leave-one-out scores of the present samples, as `fit` does."""
        held_out = HeldOutScores([np.arange(y.shape[0])], [scores])
        self._decide_by(Folds(self._new_strategy(), held_out, y, {}).chosen(self._ranks), on_rows_alone=True)

    def _decide_by(self, strategy: ThresholdStrategy, *, on_rows_alone: bool) -> None:
        """Take a strategy that was fitted to the scores of the samples, without groups and weights or with some."""
        self.strategy_ = strategy
        self._take_from(strategy, "thresholds_", "objective_")
        self.thresholds_stale_, self._tuned_on_rows_alone = False, on_rows_alone

    def _handed(
        self, strategy: ThresholdStrategy, X: MatrixLike, labels: Matrix, fitted: Any, *, on_rows_alone: bool
    ) -> Self:
        """Return what `fit` makes with ``cv="loo"``, for a strategy that is fitted to these scores already.

        So is the inner classifier, or None.
        """
        method = method_of(self.estimator, self.response_method)
        remember_target(self, check_target(self, labels))
        of_fitted = Scorer(fitted, method, OneClass.of(labels))
        self._keep(Scorer.fit(self.estimator, method, X, labels, {}) if fitted is None else of_fitted)
        self._decide_by(strategy, on_rows_alone=on_rows_alone)
        self._can_promise, self.cv_results_ = False, {}
        self._take_from(self.estimator_, "n_features_in_", "feature_names_in_")
        return self

    @property
    def promise_(self) -> str:
        """The guarantee of a `RiskControl` on new samples, as a sentence; empty for other strategies.

        It begins with "Approximately" unless the thresholds were learnt on samples that were held out of the fit (cv
        "prefit", or the single split of a splitter with ``refit=False``) and that have no groups.
        """
        check_is_fitted(self)
        if not isinstance(self.strategy_, RiskControl):
            return ""
        promise = self.strategy_.promise
        if self.thresholds_stale_:
            return f"No longer valid, because samples were added or removed: {lower_first(promise)}"
        return promise if self._can_promise else f"Approximately: {lower_first(promise)}"

    partial_fit = available_if(_updates.can_be_updated)(_updates.partial_fit)
    forget = available_if(_updates.can_be_updated)(_updates.forget)
    retune = available_if(_updates.can_be_updated)(_updates.retune)

    @property
    def changes_(self) -> dict[str, Any]:
        """The changes of the inner classifier's samples since `fit`, with the names of new labels."""
        known: dict[str, Any] = attribute_of_part(self.estimator_, "changes_")
        return {**known, "new_labels": self.label_names_[known["new_labels"]].tolist()}

    def _new_strategy(self) -> ThresholdStrategy:
        return MicroFOptimum() if self.strategy is None else clone(self.strategy)

    def _decide(self, scores: NDArray[Any]) -> Matrix:
        _updates.warn_if_stale(self)
        return self.strategy_._decide(scores) if isinstance(scores, SparseScores) else self.strategy_.predict(scores)

    @property
    def cuts_only(self) -> bool:
        return super().cuts_only and isinstance(self.strategy_, ByThresholds)

    @property
    def _decides_stored(self) -> bool:
        return super()._decides_stored and self.strategy_._is_ours  # a user's class may have a `predict` of its own

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed.

        Returns
        -------
        MetadataRouter
            `fit` of the inner classifier and of the strategy, and `split` of the splitter, get what they requested.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        return super().get_metadata_routing().add(strategy=self._new_strategy(), method_mapping=to_fit)


class Folds:
    """Scores of the validation samples of each fold, and strategies that learn from them."""

    def __init__(self, strategy: ThresholdStrategy, held_out: HeldOutScores, y: Matrix, params: dict[str, Any]) -> None:
        self.strategy, self.params, self._learnt_on = strategy, params, held_out.learnt
        self.rows = np.concatenate(held_out.rows)
        self.fold = np.repeat(np.arange(len(held_out.rows)), [len(part) for part in held_out.rows])
        scores: Any = held_out.scores[0] if len(held_out.scores) == 1 else np.vstack(held_out.scores)
        self.scores: Any = scores if isinstance(scores, SparseScores) else checked_scores(scores)
        self.truth = PartialLabels.of(y)
        # A user's class may have methods and metadata of its own.
        self.takes_checked = strategy._is_ours and set(params) <= {"sample_weight"}
        if self.takes_checked:
            strategy._check_parameters()

    def chosen(self, ranks: IntArray | None) -> ThresholdStrategy:
        """Return the strategy that decides: fitted to all scored samples, or with ranks to the later half."""
        if ranks is not None:
            return self._of_later(np.flatnonzero(np.isin(self.rows, later_half(ranks))))
        return self.learnt() if self._learnt_on is None else self._for_a_refit(self._learnt_on)

    def _of_later(self, later: IntArray) -> ThresholdStrategy:
        """Fit a clone to the later samples; labels with few positives there have the thresholds of all samples."""
        strategy = self.learnt(later)
        if isinstance(strategy, ByThresholds):
            scores, truth, _ = self._pooled(later)
            rare = as_dense(truth.labels.sum(axis=0)) < FEWEST
            strategy.thresholds_ = np.where(rare, self.learnt().thresholds_, strategy.thresholds_)
            if hasattr(strategy, "objective_"):
                strategy.objective_ = strategy._reached(truth, strategy._decide(scores), None)
        return strategy

    def learnt(self, places: Any = slice(None)) -> ThresholdStrategy:
        """Fit a clone of the strategy to all scored samples or to some of them."""
        strategy: ThresholdStrategy = clone(self.strategy)
        scores, truth, params = self._pooled(places)
        if self.takes_checked:
            return strategy._fit_checked(*counted_rows(scores, truth, params.get("sample_weight")))
        return strategy.fit(scores, truth.with_nan(), **params)

    def _for_a_refit(self, learnt: IntArray) -> ThresholdStrategy:
        """Fit a clone to all scored samples; rare labels share a threshold, given the rows of their classifier."""
        strategy = self.learnt()
        scores, truth, weights = counted_rows(*self.held_out())
        rare = sharing_one(strategy, scores, truth, weights, as_dense(self.truth.labels[learnt].sum(axis=0)))
        if rare is not None and rare.any():
            warnings.warn(
                f"labels must have at least {FEWEST} positives on both sides of a single split for thresholds of their"
                f" own, got {rare.sum()} of {len(rare)} with fewer, which share one. Hint: cv=5 with random_state=0"
                " tunes all on more samples; refit=False keeps the classifier of the split.",
                AdviceWarning,
                stacklevel=5,  # where fit was called
            )
        return strategy

    def held_out(self) -> tuple[NDArray[Any], PartialLabels, Any]:
        """Return all scores, with the label sets and weights of their samples."""
        scores, truth, params = self._pooled(slice(None))
        return scores, truth, params.get("sample_weight")

    def judged(self) -> dict[str, Any]:
        """Return the metric on each fold, with thresholds tuned on the other folds."""
        n_folds = self.fold[-1] + 1
        if n_folds == 1 or n_folds > _MOST_FOLDS_JUDGED:
            return {}
        tuned, reached = [], np.full(n_folds, np.nan)
        predicted = np.empty(self.scores.shape, dtype=np.int64)
        for fold in range(n_folds):
            judged = self.fold == fold
            others = ~np.isin(self.rows, self.rows[judged])
            if not (self._counts(judged) and self._counts(others)):
                return {}
            tuned.append(self.learnt(others))
            predicted[judged], reached[fold] = self._decided(tuned[-1], judged)
        _, truth, params = self._pooled(slice(None))
        weights = check_weights(params.get("sample_weight"), truth.labels)
        results: dict[str, Any] = {
            "test_objective": reached,
            "mean_test_objective": float(reached.mean()),
            "std_test_objective": float(reached.std()),
            "pooled_test_objective": tuned[0]._reached(truth, predicted, weights),
        }
        if hasattr(tuned[0], "thresholds_"):
            results["thresholds"] = np.stack([one.thresholds_ for one in tuned])
        return results

    def _decided(self, strategy: ThresholdStrategy, places: Any) -> tuple[NDArray[Any], float]:
        """Return the label sets of some samples by a fitted strategy, and the value that they reach."""
        scores, truth, params = self._pooled(places)
        if self.takes_checked:
            predicted = strategy._decide(scores)
            weights = check_weights(params.get("sample_weight"), truth.labels)
            return predicted, strategy._reached(truth, predicted, weights)
        return strategy.predict(scores), strategy.score(scores, truth.with_nan(), **params)

    def _pooled(self, places: Any) -> tuple[NDArray[Any], PartialLabels, dict[str, Any]]:
        """Return scores, label sets and metadata of some of the scored samples."""
        rows = self.rows[places]
        params = rows_of_params(self.params, rows, self.truth.labels.shape[0])
        return self.scores[places], self.truth.rows(rows), params

    def _counts(self, places: Any) -> bool:
        """Return whether some sample has weight and a known cell."""
        rows, unknown = self.rows[places], self.truth.unknown
        counts = np.ones(len(rows), dtype=np.bool_)
        if unknown is not None:
            counts = unknown[rows].sum(axis=1) < unknown.shape[1]
        weights = self.params.get("sample_weight")
        return bool(counts.any() if weights is None else np.asarray(weights)[rows][counts].any())
