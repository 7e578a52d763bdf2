"""One estimator that chooses method, distance, number of neighbours and thresholds together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, check_random_state, indexable
from sklearn.utils.validation import check_is_fitted

from nearlabel.lazy import Explanation
from nearlabel.metrics import MetricLike, get_metric
from nearlabel.models import explain, updates
from nearlabel.models.out_of_sample import Fold, LeaveOneOut, largest_group, ranks_of
from nearlabel.models.selector import Budget
from nearlabel.neighbors import UselessNeighborsWarning
from nearlabel.selection._display import ShownChoice
from nearlabel.selection._spaces import Space, is_mixed, spaces_of
from nearlabel.selection._trials import (
    MethodInSpace,
    Schedule,
    TrainingSamples,
    Trials,
    check_methods,
    drawn,
    fitted_model,
    held_out_in,
    joined_tables,
    methods_in,
    most_asked,
    nested_score,
    next_plan,
    try_numbers,
)
from nearlabel.thresholds import ThresholdStrategy, strategy_for
from nearlabel.utils.containers import check_row_names, checked_container
from nearlabel.utils.estimators import available_if, refusing_others, score
from nearlabel.utils.frames import FrameOutput, framed
from nearlabel.utils.messages import as_part
from nearlabel.utils.one_step import all_or_nothing, take_over
from nearlabel.utils.progress import reported
from nearlabel.utils.tags import predict_labels
from nearlabel.utils.targets import LabelContainer, check_target, remember_target, with_multilabel_target
from nearlabel.utils.types import FloatArray, IntArray, LabelSets, MatrixLike
from nearlabel.utils.validation import check_groups, check_integer, check_positive, check_rows

AUTO = "auto"
_FIRST_SAMPLES, _LEAST_SAMPLES, _FIRST_CELLS = 2_500, 1_000, 2**20  # of the first round; cells are samples times labels
_EACH_NUMBER_FIRST = 2  # every second number of neighbours in the first round
_MOST_LATER = 3  # jobs of a second round that are expected while the first is running


def _can_be_updated(classifier: Any) -> bool:
    if updates.can_be_updated(getattr(classifier, "best_estimator_", None)):
        return True
    raise AttributeError("best_estimator_ must be fitted, and be a method by votes of neighbours or MLMLM.")


class NeighborsClassifierCV(ShownChoice, FrameOutput, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Choose method, distance, number of neighbours and thresholds together, for the best predictions by neighbours.

    Each candidate predicts each training sample from all others (leave-one-out, which needs no refit). On these scores
    the thresholds are optimised for `scoring`. The candidate of the best value is fitted to all samples, with its
    thresholds. One search for each scaling and metric serves all methods and numbers of neighbours.

    More than 5,000 samples (2,000 if labels are many) are tried in two rounds: all candidates on 2,500 (1,000), with
    every second number of neighbours; then the best eight, with the numbers around theirs, on all or `max_samples`.

    Parameters
    ----------
    scoring : str, callable or Metric, default="micro_f1"
        The metric to optimise, as in `nearlabel.metrics.get_metric`. A metric of scores, such as "ranking_loss",
        selects the candidate; the thresholds are then those of best micro F1.
    methods : "auto", sequence of classifiers, or mapping of str to classifier, default="auto"
        Methods with leave-one-out predictions. Their parameters `n_neighbors` and `search`, or `metric`, are set if
        they exist. "auto": `BRkNN`, `MLkNN`, `BRkNN` with weights by distance, and by kernels: `SimilarityWeights` for
        the cosine, `GaussianWeights` for the Euclidean distance except of words, of 1, 2, 4 and 8; and `MLMLM`, on
        min-max scaled features by the Euclidean distance, up to 2²⁵ cells of y, and only if it is better by more than
        0.0005: votes are easier to read and faster to update.
    n_neighbors : "auto" or sequence of int, default="auto"
        Numbers to try, to half of the samples. "auto": 1, 2, 3, 5, 7, 10, 14, 20, 30, 45, 60, 90; kernels: 25, 75, 200.
    scales : "auto", sequence of str, or mapping of str to transformer, default="auto"
        How features are transformed: names that `nearlabel.preprocessing.FeatureScaler` knows, or unfitted transformers
        (None: nothing), such as a pipeline with a feature selection. "auto": minmax and standard; for words (no value
        below 0, three in four 0) minmax and tfidf. Columns of several kinds go through `MixedFeaturesEncoder`; missing
        numbers become the median. Numbers outside the training range are moved to its nearest end, except words;
        ``{"minmax": FeatureScaler("minmax")}`` keeps them.
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
        Seconds after which no further method or distance is tried; the first always is. In the second round, after the
        best of the first, none is tried that would take longer than what is left, by its time in the first. The method
        in progress, and the fit of the best, may exceed the limit. None: no limit, the same choice on every machine.
    nested : int, default=None
        Number of folds in which the whole choice is repeated without the fold, for `nested_score_`. None: no such
        score.
    random_state : int, RandomState or None, default=0
        Draws samples for the choice and assigns them to parts and folds; is passed to no method.
    verbose : int, default=1
        1: a fit of more than ten seconds shows a bar in a notebook or terminal, elsewhere a few lines. 0: silent.

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
        "method", "scale", "metric", "n_neighbors" (0 for a method without), "score", "rank" (1 is best; a second round
        comes before the first), and "n_samples" of the round, in the order of trying.
    n_candidates_ : int
        Number of candidates tried, each counted once.
    left_out_ : list of str
        Methods, each with scaling and metric, that `time_limit` left out of a round.
    timed_out_ : bool
        Whether there are any.
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

    classes_: NDArray[Any]
    label_names_: NDArray[Any]
    _container: LabelContainer
    verbose = 1  # of models from files without it

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
        verbose: int = 1,
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
        self.verbose = verbose

    @refusing_others
    @all_or_nothing
    def fit(
        self, X: MatrixLike, y: MatrixLike, groups: ArrayLike | None = None, *, order: ArrayLike | None = None
    ) -> Self:
        """Choose, and fit the best candidate.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples; a data frame may have columns of several kinds.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1, one label of two classes, or the tags of each sample.
        groups : array-like of shape (n_samples,), default=None
            Names of the samples' groups: samples are predicted from other groups only. None: each sample is a group.
        order : array-like of shape (n_samples,), default=None
            Numbers or dates (text: ISO 8601) that order samples. Candidates, and steps before them, then learn on the
            earlier four fifths, and the later fifth selects the best. It is fitted to all samples, with thresholds by
            leave-one-out of the later half. Equal dates stay together; added samples come last. None: leave-one-out.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X, y, groups or order are malformed, their lengths differ, a parameter is out of range, there are fewer
            than two samples, groups or dates, order goes with groups or nested, or no candidate defines `scoring`.
        TypeError
            If a parameter is of a wrong type, or a method has no leave-one-out answers.
        """
        with reported(type(self).__name__, check_integer("verbose", self.verbose, low=0)):
            self._fit(X, y, groups, order)
        return self

    def _fit(self, X: MatrixLike, y: MatrixLike, groups: ArrayLike | None, order: ArrayLike | None) -> Trials:
        """Fit; return the trials that the choice was made from."""
        self._check_parameters()
        check_row_names(X=X, y=y, groups=groups, order=order)
        target = check_target(self, y)
        X = checked_container("X", X)
        self._is_mixed = is_mixed(X)
        X, _ = indexable(X if self._is_mixed else check_rows(self, X), target.labels)
        remember_target(self, target)
        numbers = None if groups is None else check_groups(groups, target.labels.shape[0])
        n_units = target.labels.shape[0] if numbers is None else len(np.unique(numbers))
        if n_units < 2:
            what = f"n_samples={n_units}" if groups is None else f"{n_units} of them"
            raise ValueError(f"there must be at least 2 samples, or groups, to leave one out, got {what}.")
        ranks = None if order is None else ranks_of(order, target.labels.shape[0])
        if ranks is not None and (groups is not None or self.nested is not None):
            raise ValueError("order must go without groups and nested, got both.")
        random, samples = check_random_state(self.random_state), TrainingSamples(X, target.labels, numbers, ranks)
        with as_part(0, 1 / (1 + (self.nested or 0))):
            trials, some = self._choose(samples, random, Budget(self.time_limit))
            self.crossfit_score_ = trials.crossfit(None if numbers is None else numbers[some])
            self._fit_best(trials, samples, is_tuned_again=ranks is None and len(some) < target.labels.shape[0])
        self.__dict__.pop("nested_score_", None)  # of an earlier fit
        if self.nested is not None:
            self.nested_score_ = nested_score(self, samples)
        return trials

    @framed
    def predict(self, X: MatrixLike) -> LabelSets:
        """Return the label set of every sample.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Samples.

        Returns
        -------
        labels : ndarray or CSR of shape (n_queries, n_labels) or (n_queries,)
            Indicator matrix in the container and of the dtype that y had in `fit`; an array where y was a data frame
            or tags, CSR if the tags are many. For a one-dimensional y, the predicted classes.
        """
        queries = self._queries(X)
        return self._container.wrap(self.best_estimator_.predict(queries))

    predict_labels = predict_labels
    score = score

    @framed
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
        """
        queries = self._queries(X)
        return explain(self.best_estimator_, queries, label_names=self.label_names_.tolist())

    @available_if(_can_be_updated)
    @refusing_others
    def partial_fit(self, X: MatrixLike, y: MatrixLike, classes: ArrayLike | None = None) -> Self:
        """Add training samples to the best candidate; the choice stays, and the thresholds are stale until `retune`.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_added, n_features)
            New training samples, as `predict` takes them.
        y : array-like, data frame or sparse container of shape (n_added, n_labels) or (n_added,)
            Their label sets; see `nearlabel.lazy.MLkNN.partial_fit`.
        classes : array-like, default=None
            Names of labels that may occur later; see there.

        Returns
        -------
        self
        """
        return take_over(self, updates.with_added(self, "best_estimator_", self._queries(X), y, classes)[0])

    @available_if(_can_be_updated)
    def forget(self, rows: ArrayLike) -> Self:
        """Remove training samples from the best candidate; the thresholds are stale until `retune`.

        Parameters
        ----------
        rows : array-like of shape (n_removed,)
            Row numbers of training samples, each once.

        Returns
        -------
        self
        """
        updates.forget(self.best_estimator_, rows)
        return self

    @available_if(_can_be_updated)
    def retune(self) -> Self:
        """Tune the thresholds of the best candidate again; the choice stays."""
        updates.retune(self.best_estimator_)
        return self

    @property
    def changes_(self) -> dict[str, Any]:
        """The numbers of samples added and removed since `fit`, and the names of new labels."""
        known = updates.attribute_of_part(self.best_estimator_, "changes_")
        return {**known, "new_labels": self.label_names_[known["new_labels"]].tolist()}

    @property
    def thresholds_stale_(self) -> bool:
        """Whether samples were added or removed since the thresholds were tuned."""
        return bool(updates.attribute_of_part(self.best_estimator_, "thresholds_stale_"))

    def _queries(self, X: MatrixLike) -> MatrixLike:
        """Check samples for the best estimator."""
        check_is_fitted(self)
        return X if self._is_mixed else check_rows(self, X, reset=False)

    def _choose(self, samples: TrainingSamples, random: RandomState, budget: Budget) -> tuple[Trials, IntArray]:
        """Try all candidates on some samples, and the best of them on more; return the last trials, and their samples.

        One round is on `max_samples` or all; where they are many, another one on fewer comes before.
        """
        spaces, rounds = spaces_of(samples.X, self.scales, self.metrics), self._rounds(samples, random)
        n_cells = len(rounds[0]) * samples.labels.shape[1]
        step = _EACH_NUMBER_FIRST if len(rounds) > 1 and isinstance(self.n_neighbors, str) else 1
        first = partial(self._numbers, n_samples=len(rounds[0]), groups=samples.groups)
        every = [(tried, first(tried)[::step]) for tried in methods_in(spaces, self.methods, n_cells)]
        plan: Schedule = [(tried, numbers) for tried, numbers in every if numbers]
        tables: list[dict[str, NDArray[Any]]] = []
        self.left_out_: list[str] = []
        for some in rounds:
            if some is rounds[-1]:
                plan = self._with_others(plan, spaces, len(some) * samples.labels.shape[1])
            later = [(tried.place, len(rounds[-1])) for tried, _ in plan[:_MOST_LATER] if some is not rounds[-1]]
            trials = self._try(plan, samples.some(some), budget, is_first=not tables, later=later)
            if not trials.all:  # there is no time for more samples
                break
            tables.append(trials.table())
            last, chosen_on = trials, some
            n_cells = len(rounds[-1]) * samples.labels.shape[1]
            numbers_of = partial(self._numbers, n_samples=samples.labels.shape[0], groups=samples.groups)
            plan = next_plan(trials, numbers_of, n_cells=n_cells)
        self.timed_out_ = bool(self.left_out_)
        self.cv_results_ = joined_tables(tables)
        names = ("method", "scale", "metric", "n_neighbors")
        self.n_candidates_ = len(set(zip(*(self.cv_results_[name].tolist() for name in names), strict=True)))
        return last, chosen_on

    def _rounds(self, samples: TrainingSamples, random: RandomState) -> list[IntArray]:
        """Return the samples of each round."""
        n_samples, n_labels = samples.labels.shape
        first = max(_LEAST_SAMPLES, min(_FIRST_SAMPLES, _FIRST_CELLS // n_labels))
        is_small = min(n_samples, self.max_samples) <= 2 * first
        asks_for_many = not isinstance(self.n_neighbors, str) and 2 * max(self.n_neighbors) > first
        sizes = [self.max_samples] if is_small or asks_for_many else [first, self.max_samples]
        return [drawn(n_samples, samples.groups, random, most) for most in sizes]

    def _try(
        self,
        plan: Schedule,
        samples: TrainingSamples,
        budget: Budget,
        *,
        is_first: bool,
        later: Sequence[tuple[Any, int]],
    ) -> Trials:
        """Try methods with numbers of neighbours, each space with one search, as long as there is time.

        The first method of the first round is tried in any case, that of the second, the best of the first, if time is
        left; `later` are jobs of the next round.
        """
        strategy = strategy_for(self.scoring) if self.strategy is None else self.strategy
        trials = Trials(samples.judged, get_metric(self.scoring), strategy, keeps_families=self._mixes)
        trials.groups = samples.groups
        jobs = [(tried.place, samples.labels.shape[0]) for tried, _ in plan]
        most_in = most_asked(plan)
        prepared: dict[int, LeaveOneOut | Fold] = {}  # of the space in use
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UselessNeighborsWarning)  # the best candidate warns when it is fitted
            for number, ((tried, numbers), job) in enumerate(zip(plan, jobs, strict=True)):
                is_needed = not trials.all and (is_first or not budget.is_spent)
                if not (is_needed or budget.allows(*job)):
                    self.left_out_.append(f"{tried.name} ({tried.space.scale}, {tried.space.metric})")
                    continue
                with budget.measuring(*job, later=[*jobs[number + 1 :], *later]):
                    if (place := tried.place[1]) not in prepared:
                        prepared = {place: held_out_in(tried.space, samples, stored=trials.takes_stored)}
                    if not self._try_other(tried, prepared[place], trials, budget):
                        try_numbers(tried, numbers, prepared[place], trials, most_in[place])
        return trials

    _mixes = False

    def _with_others(self, plan: Schedule, spaces: Sequence[Space], n_cells: int) -> Schedule:
        """Return the plan of the last round with methods that are no neighbours."""
        return plan

    def _try_other(self, tried: MethodInSpace, held_out: LeaveOneOut | Fold, trials: Trials, budget: Budget) -> bool:
        """Return whether a method is none of neighbours; then offer its scores."""
        return False

    def _numbers(self, tried: MethodInSpace, n_samples: int, groups: IntArray | None) -> list[int]:
        """Return the numbers of neighbours to try, ascending, as far as the samples allow."""
        if isinstance(self.n_neighbors, str):
            return [k for k in tried.usual_numbers if k <= max(1, (n_samples - largest_group(groups)) // 2)]
        return sorted({check_integer("n_neighbors", k, low=1) for k in self.n_neighbors})

    def _fit_best(self, trials: Trials, samples: TrainingSamples, *, is_tuned_again: bool) -> None:
        """Fit the best candidate to all samples, with its thresholds, which may be tuned again on all of them."""
        of_best = trials.best, trials.best_model, trials.best_scores
        self.best_estimator_ = fitted_model(of_best, trials.labels, samples, is_tuned_again=is_tuned_again)
        self.best_params_, self.best_score_ = trials.best.params, trials.best.value
        self._take_features()

    def _take_features(self) -> None:
        """Copy the attributes of the features from the best estimator, whose steps check them."""
        for name in ("n_features_in_", "feature_names_in_") if self._is_mixed else ():
            setattr(self, name, getattr(self.best_estimator_, name, None))

    def _check_parameters(self) -> None:
        get_metric(self.scoring)
        check_integer("max_samples", self.max_samples, low=2)
        if self.time_limit is not None:
            check_positive("time_limit", self.time_limit)
        if self.nested is not None:
            check_integer("nested", self.nested, low=2)
        for name in ("methods", "n_neighbors", "scales", "metrics"):
            if (isinstance(value := getattr(self, name), str) and value != AUTO) or not hasattr(value, "__len__"):
                raise ValueError(f"{name} must be 'auto' or a list, got {value!r}.")
            if not len(value):
                raise ValueError(f"{name} must name at least one, got none.")
        if self.strategy is not None and not isinstance(self.strategy, ThresholdStrategy):
            raise TypeError(f"strategy must be a ThresholdStrategy, such as MicroFOptimum(), got {self.strategy!r}.")
        check_methods(self.methods)

    def __sklearn_tags__(self) -> Tags:
        """Declare the target, and that X may be sparse and contain NaN."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return with_multilabel_target(tags)
