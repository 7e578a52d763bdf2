"""Any classifier with other thresholds: given ones, or tuned on scores of rows it was not trained on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import Tags, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from nearlabel._responses import RESPONSE_METHODS
from nearlabel._typing import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel._validation import (
    LabelContainer,
    as_label_matrix,
    as_score_matrix,
    check_choice,
    check_integer,
    label_names_of,
)
from nearlabel.decision import cut, within_sizes
from nearlabel.thresholds._cross_val import (
    OneClass,
    Scorer,
    method_of,
    rows_of_params,
    score_folds,
    splits_of,
    splitter_of,
)
from nearlabel.thresholds._micro_f import MicroFOptimum
from nearlabel.thresholds._strategy import ThresholdStrategy, check_weights

_MOST_FOLDS_JUDGED = 100  # each is one more run of the strategy


def _has(method: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(self.estimator, method)


class _ThresholdsClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator, ABC):
    """What a classifier with thresholds of its own does: score by the inner one, decide, bound the label sets."""

    estimator: Any
    response_method: str
    at_least: int
    at_most: int | None

    def fit(self, X: MatrixLike, Y: MatrixLike, **params: Any) -> Self:
        """Fit the inner classifier and settle the thresholds.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training rows, as the inner classifier takes them.
        Y : array-like, data frame or sparse container of shape (n_samples, n_labels)
            Label sets as an indicator matrix of 0 and 1.
        **params : dict
            Metadata such as `sample_weight` and `groups`, routed to whoever requested it (scikit-learn's metadata
            routing must be enabled).

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If Y is malformed, the lengths differ, a parameter is out of range, the inner classifier has no scores, or
            metadata comes while routing is disabled.
        TypeError
            If a parameter is of the wrong type.
        """
        if Y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        labels = as_label_matrix(Y)
        X, _ = indexable(X, labels)
        self._check_parameters(labels.shape[1])
        if params.get("sample_weight") is not None:
            check_consistent_length(labels, params["sample_weight"])
        if params and not get_config()["enable_metadata_routing"]:
            raise ValueError(
                f"fit takes {sorted(params)} only if metadata routing is enabled."
                " Hint: sklearn.set_config(enable_metadata_routing=True), and set_fit_request on who should get it."
            )
        self._container = LabelContainer.of(Y)
        self.classes_ = np.tile([0, 1], (labels.shape[1], 1))
        self.label_names_ = label_names_of(Y, labels.shape[1])
        self._fit(X, self._container.wrap(labels), process_routing(self, "fit", **params))
        self._take_from(self.estimator_, "n_features_in_", "feature_names_in_")
        return self

    def predict(self, X: MatrixLike) -> Matrix:
        """Return the label set of every row.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Rows.

        Returns
        -------
        labels : ndarray or CSR of shape (n_queries, n_labels)
            Indicator matrix in the kind of container, and of the type, that Y had in `fit`; a data frame gives an
            array.
        """
        check_is_fitted(self)
        scores = self._scores(X, self.response_method_)
        labels = within_sizes(self._decide(scores), scores, at_least=self.at_least, at_most=self.at_most)
        return self._container.wrap(labels)

    @available_if(_has("predict_proba"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the inner classifier's probabilities as one array.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels)
            One array, whatever shape the inner classifier answers in.
        """
        return self._scores(X, "predict_proba")

    @available_if(_has("decision_function"))  # type: ignore[untyped-decorator]  # scikit-learn has no types
    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the inner classifier's decision values as one array.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Rows.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels)
            Decision values; minus or plus infinity for a label of one class in the training rows.
        """
        return self._scores(X, "decision_function")

    @abstractmethod
    def _fit(self, X: MatrixLike, Y: Matrix, routed: Any) -> None:
        """Set `estimator_`, and what `_decide` needs."""

    @abstractmethod
    def _decide(self, scores: NDArray[Any]) -> Matrix:
        """Return the label sets (n_queries, n_labels) of scores."""

    def _scores(self, X: MatrixLike, method: str) -> NDArray[Any]:
        check_is_fitted(self)
        return Scorer(self.estimator_, method, self._one_class).scores(X)

    def _keep(self, scorer: Scorer) -> None:
        self.estimator_, self.response_method_, self._one_class = scorer

    def _take_from(self, part: Any, *names: str) -> None:
        """Take over what a fitted part knows, and forget what one of an earlier fit did."""
        for name in names:
            if hasattr(part, name):
                setattr(self, name, getattr(part, name))
            elif hasattr(self, name):
                delattr(self, name)

    def _check_parameters(self, n_labels: int) -> None:
        check_choice("response_method", self.response_method, {"auto", *RESPONSE_METHODS})
        least = check_integer("at_least", self.at_least, low=0)
        if self.at_most is not None:
            check_integer("at_most", self.at_most, low=least)
        if least > n_labels:
            raise ValueError(f"at_least must be at most the {n_labels} labels, got {least}.")

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed.

        Returns
        -------
        MetadataRouter
            The inner classifier's `fit` gets what it requested.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=to_fit)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that the target is an indicator matrix; the rest is as the inner classifier has it."""
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        tags.classifier_tags.multi_label = True
        tags.classifier_tags.multi_class = False
        return tags


class FixedThresholdsClassifier(_ThresholdsClassifier):
    """A classifier with given thresholds.

    scikit-learn's `FixedThresholdClassifier` for many labels.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier with `predict_proba` or `decision_function`; cloned in `fit`. One that is fitted
        already is kept if wrapped in `sklearn.frozen.FrozenEstimator`.
    thresholds : float, array-like of shape (n_labels,) or "auto", default="auto"
        A label is chosen where its score is at least this. "auto": 0.5 for probabilities, 0 for decision values.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Which scores; "auto" takes probabilities if there are any.
    at_least : int, default=0
        A row with fewer labels gets those of highest score besides.
    at_most : int, default=None
        A row with more labels keeps those of highest score.

    Attributes
    ----------
    estimator_ : classifier
        The fitted inner classifier.
    thresholds_ : ndarray of shape (n_labels,)
        The thresholds.
    response_method_ : str
        Which scores are cut.
    classes_ : ndarray of shape (n_labels, 2)
        The classes 0 and 1 of each label.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame Y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features, if the inner classifier tells it.

    Examples
    --------
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.thresholds import FixedThresholdsClassifier
    >>> X, Y = [[0], [1], [2], [9]], [[1, 0], [1, 1], [0, 1], [0, 0]]
    >>> FixedThresholdsClassifier(BRkNN(3), [0.7, 0.3]).fit(X, Y).predict([[1]])
    array([[0, 1]])
    """

    def __init__(
        self,
        estimator: Any,
        thresholds: ArrayLike = "auto",
        *,
        response_method: str = "auto",
        at_least: int = 0,
        at_most: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.thresholds = thresholds
        self.response_method = response_method
        self.at_least = at_least
        self.at_most = at_most

    def _fit(self, X: MatrixLike, Y: Matrix, routed: Any) -> None:
        thresholds = self._given_thresholds(Y.shape[1])
        method = method_of(self.estimator, self.response_method)
        self._keep(Scorer.fit(self.estimator, method, X, Y, routed.estimator.fit))
        middle = 0.5 if method == "predict_proba" else 0.0
        self.thresholds_ = np.full(Y.shape[1], middle) if thresholds is None else thresholds

    def _given_thresholds(self, n_labels: int) -> FloatArray | None:
        if isinstance(self.thresholds, str) and self.thresholds == "auto":
            return None
        try:
            given = np.asarray(self.thresholds, dtype=np.float64)
            thresholds: FloatArray = np.broadcast_to(given, n_labels).copy()
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"thresholds must be 'auto', a number or one for each of {n_labels} labels, got {self.thresholds!r}."
            ) from error
        if np.isnan(thresholds).any() or given.shape not in ((), (n_labels,)):
            raise ValueError(f"thresholds must be {n_labels} numbers that are not NaN, got {self.thresholds!r}.")
        return thresholds

    def _decide(self, scores: NDArray[Any]) -> Matrix:
        return cut(as_score_matrix(scores), self.thresholds_)


class TunedThresholdsClassifierCV(_ThresholdsClassifier):
    """A classifier whose thresholds are tuned on scores of rows that it was not trained on.

    scikit-learn's `TunedThresholdClassifierCV` for many labels: it scores the rows by cross-validation, pools the
    scores of all folds, lets a strategy learn its thresholds on them, and fits the classifier to all rows.
    scikit-learn's averages the objective over the folds and tries 100 thresholds; here the strategy sees all scores,
    and every cut.

    Parameters
    ----------
    estimator : classifier
        Any multi-label classifier with `predict_proba` or `decision_function`, of this library or another.
    strategy : ThresholdStrategy, default=None
        Learns from the pooled scores. None: `MicroFOptimum()`.
    cv : int, "loo", "prefit", splitter or iterable of (training, validation) rows, default=5
        How rows are scored. An int: so many folds, of consecutive rows unless `random_state` is given. "loo": by the
        leave-one-out scores that a lazy classifier of this library has, alone or as the last step of a pipeline (whose
        other steps have then seen the row): no refit. "prefit": by the classifier as it is, which must be fitted, on
        other rows than these; it is not refitted.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        Which scores; "auto" takes probabilities if there are any.
    refit : bool, default=True
        Whether to fit the classifier to all rows in the end. False keeps the one that scored a single split. Without
        meaning for "loo" (which fits to all rows) and "prefit".
    n_jobs : int, default=None
        Folds fitted at a time; results do not depend on it.
    random_state : int, RandomState or None, default=None
        Shuffles the rows before they are cut into folds, if `cv` is an int. None: no shuffle, the same folds each time.
    at_least : int, default=0
        A row with fewer labels gets those of highest score besides.
    at_most : int, default=None
        A row with more labels keeps those of highest score.

    Attributes
    ----------
    estimator_ : classifier
        The fitted inner classifier.
    strategy_ : ThresholdStrategy
        The fitted strategy.
    thresholds_ : ndarray of shape (n_labels,)
        Its thresholds, if it has any (`RCut`, `MCut` and `ExpectedF` decide row by row).
    objective_ : float
        What it reached on the pooled scores, if it optimises a measure: an optimistic figure.
    cv_results_ : dict
        The spread over folds. Each fold in turn is judged by thresholds tuned on the scores of all other rows:
        "test_objective" (n_folds,), "mean_test_objective", "std_test_objective", "pooled_test_objective" (of the
        decisions of all folds together, for folds so small that their mean says little), and "thresholds" (n_folds,
        n_labels) if the strategy has any. Empty for "loo", "prefit", a single split, more than 100 folds, a strategy
        that optimises no measure, and where a fold is without weight or leaves no other rows.
    response_method_ : str
        Which scores are cut.
    classes_ : ndarray of shape (n_labels, 2)
        The classes 0 and 1 of each label.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame Y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features, if the inner classifier tells it.

    Notes
    -----
    `at_least` and `at_most` act on predictions and are not seen while the thresholds are tuned. A label of which the
    training rows show one class has a decision value of minus or plus infinity here, since scikit-learn's are
    meaningless then; not of a classifier that was fitted before ("prefit", or in a `FrozenEstimator`). Y reaches the
    classifier in its own container: one that takes no sparse Y needs a dense one. For a grid over
    ``strategy__beta`` give a strategy. With scikit-learn's metadata routing, `estimator`, `strategy` and the splitter
    get what they requested.

    See Also
    --------
    FixedThresholdsClassifier : Thresholds that are known.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.metrics import micro_f1
    >>> from nearlabel.thresholds import TunedThresholdsClassifierCV
    >>> digits = load_multidigits()
    >>> X, Y = digits.X[:1500], digits.Y[:1500]
    >>> tuned = TunedThresholdsClassifierCV(MLkNN(), cv="loo").fit(X, Y)
    >>> plain = MLkNN().fit(X, Y)
    >>> [round(micro_f1(digits.Y[1500:], model.predict(digits.X[1500:])), 3) for model in (plain, tuned)]
    [0.684, 0.701]
    """

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

    def _check_parameters(self, n_labels: int) -> None:
        super()._check_parameters(n_labels)
        if self.strategy is not None and not isinstance(self.strategy, ThresholdStrategy):
            raise TypeError(f"strategy must be a ThresholdStrategy, such as MicroFOptimum(), got {self.strategy!r}.")
        if isinstance(self.cv, str):
            check_choice("cv", self.cv, {"loo", "prefit"})

    def _fit(self, X: MatrixLike, Y: Matrix, routed: Any) -> None:
        folds = self._score_rows(X, Y, routed)
        scores, labels, weights = folds.pooled()
        self.strategy_ = self._new_strategy().fit(scores, labels, **weights)
        self._take_from(self.strategy_, "thresholds_", "objective_")
        judges = not np.isnan(getattr(self.strategy_, "objective_", np.nan))
        self.cv_results_ = folds.judged(self._new_strategy()) if judges else {}

    def _new_strategy(self) -> ThresholdStrategy:
        return MicroFOptimum() if self.strategy is None else clone(self.strategy)

    def _decide(self, scores: NDArray[Any]) -> Matrix:
        return self.strategy_.predict(scores)

    def _score_rows(self, X: MatrixLike, Y: Matrix, routed: Any) -> _Folds:
        """Fit the classifier and return scores of rows that it, or its like, was not trained on."""
        n_samples, n_labels = Y.shape
        everything = [np.arange(n_samples)]
        method = method_of(self.estimator, self.response_method)
        if self.cv == "prefit":
            self._keep(Scorer(self.estimator, method, OneClass.none(n_labels)))
            return _Folds(everything, [self._scores(X, method)], Y, routed.strategy.fit)
        if isinstance(self.cv, str):
            self._keep(Scorer.fit(self.estimator, method, X, Y, routed.estimator.fit))
            return _Folds(everything, [self._leave_one_out_scores()], Y, routed.strategy.fit)
        splits = splits_of(splitter_of(self.cv, n_samples, self.random_state), X, Y, **routed.splitter.split)
        if not self.refit and len(splits) > 1:
            raise ValueError(
                f"refit must be True if cv makes several splits, got {self.refit} and {len(splits)} splits."
            )
        to_fit, keep = routed.estimator.fit, not self.refit
        scored = score_folds(self.estimator, method, X, Y, splits, params=to_fit, n_jobs=self.n_jobs, keep=keep)
        of_split = scored[0][1]
        self._keep(Scorer.fit(self.estimator, method, X, Y, to_fit) if of_split is None else of_split)
        return _Folds([rows for _, rows in splits], [scores for scores, _ in scored], Y, routed.strategy.fit)

    def _leave_one_out_scores(self) -> FloatArray:
        last = self.estimator_
        while hasattr(last, "steps") or hasattr(last, "best_estimator_"):
            last = last.steps[-1][1] if hasattr(last, "steps") else last.best_estimator_
        if not hasattr(last, "loo_predict_proba") or self.response_method_ != "predict_proba":
            raise ValueError(
                f"cv='loo' needs probabilities of a classifier with loo_predict_proba, as nearlabel.lazy has them,"
                f" got {self.response_method_} of {type(last).__name__}. Hint: cv=LeaveOneOut() serves any classifier."
            )
        scores: FloatArray = last.loo_predict_proba()
        return scores

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed.

        Returns
        -------
        MetadataRouter
            `fit` of the inner classifier and of the strategy, and `split` of the splitter, get what they requested.
        """
        to_fit = MethodMapping().add(caller="fit", callee="fit")
        router = super().get_metadata_routing().add(strategy=self._new_strategy(), method_mapping=to_fit)
        return router.add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))


class _Folds:
    """Scores of the validation rows of each fold."""

    def __init__(self, rows: list[IntArray], scores: list[NDArray[Any]], Y: Matrix, params: dict[str, Any]) -> None:
        self.rows = np.concatenate(rows)
        self.fold = np.repeat(np.arange(len(rows)), [len(part) for part in rows])
        self.scores = scores[0] if len(scores) == 1 else np.vstack(scores)
        self.labels = as_label_matrix(Y)
        self.params = params

    def pooled(self, places: Any = slice(None)) -> tuple[NDArray[Any], Matrix, dict[str, Any]]:
        """Return scores, label sets and metadata, of all that was scored or of some of it."""
        rows = self.rows[places]
        return self.scores[places], self.labels[rows], rows_of_params(self.params, rows, self.labels.shape[0])

    def judged(self, strategy: ThresholdStrategy) -> dict[str, Any]:
        """Return what thresholds tuned without the rows of a fold reach on them."""
        n_folds = self.fold[-1] + 1
        if n_folds == 1 or n_folds > _MOST_FOLDS_JUDGED:
            return {}
        tuned = [clone(strategy) for _ in range(n_folds)]
        reached, predicted = np.full(n_folds, np.nan), np.empty(self.scores.shape, dtype=np.int64)
        for fold, one in enumerate(tuned):
            judged = self.fold == fold
            others = ~np.isin(self.rows, self.rows[judged])
            if not others.any() or not (self._has_weight(judged) and self._has_weight(others)):
                return {}
            scores, labels, params = self.pooled(others)
            one.fit(scores, labels, **params)
            predicted[judged] = one.predict(self.scores[judged])
            scores, labels, params = self.pooled(judged)
            reached[fold] = one.score(scores, labels, **params)
        _, labels, params = self.pooled()
        weights = check_weights(params.get("sample_weight"), labels)
        results: dict[str, Any] = {
            "test_objective": reached,
            "mean_test_objective": float(reached.mean()),
            "std_test_objective": float(reached.std()),
            "pooled_test_objective": tuned[0]._reached(labels, predicted, weights),
        }
        if hasattr(tuned[0], "thresholds_"):
            results["thresholds"] = np.stack([one.thresholds_ for one in tuned])
        return results

    def _has_weight(self, places: Any) -> bool:
        weights = self.params.get("sample_weight")
        return weights is None or bool(np.asarray(weights)[self.rows[places]].any())
