"""Interpolation of a model's probabilities with the scores of a neighbour method."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression

from nearlabel.lazy import MLMLM, Explanation
from nearlabel.metrics import MetricLike
from nearlabel.models.decision import cut
from nearlabel.models.out_of_sample import rows_of
from nearlabel.rivals._binary_relevance import BinaryRelevance
from nearlabel.rivals._mixture import AUTO, PER_LABEL, Mixture
from nearlabel.thresholds import ThresholdStrategy
from nearlabel.utils.containers import require_dense
from nearlabel.utils.estimators import available_if, refusing_others
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike, Table


def _explains(self: Any) -> bool:
    lazy = _steps_and_last(self._parts()[NEIGHBORS][1])[1]
    if hasattr(lazy, "explain"):
        return True
    raise AttributeError(f"neighbors must have `explain`, got {type(lazy).__name__}. Hint: a method of nearlabel.lazy.")


class NeighborInterpolation(Mixture):
    """Mix the probabilities of a model with the scores of neighbours; weight and thresholds are tuned together.

    For users who have a good model and want it to use the training samples directly and to be explained by neighbours::

        score = weight_ · model + (1 - weight_) · neighbours        predicted: score >= threshold

    The weight is the best of 0, 0.05, ..., 1 by `scoring`, each with its best thresholds. It is selected on
    out-of-sample scores: the model's by cross-validation, the neighbours' by leave-one-out. Then both are fitted to all
    samples.

    Parameters
    ----------
    estimator : multi-label classifier, default=None
        The model: any classifier that accepts y of shape (n_samples, n_labels) and has `predict_proba`. Wrap a
        classifier of one label in `BinaryRelevance`. None: logistic regression for each label.
    neighbors : multi-label classifier, default=None
        A method of `nearlabel.lazy`, or any other classifier with `predict_proba`; a classifier without leave-one-out
        scores is cross-validated like the model. None: `MLMLM()`, which gave better results on all five data sets we
        tried.
    weight : float, "auto" or "per_label", default="auto"
        Weight of the model, from 0 to 1. "auto": the best common weight for all labels; ties go to the weight nearest
        to 1/2, then to the larger one. "per_label": for each label the weight with the lowest log loss, and the weight
        of "auto" for labels with fewer than 50 positives or negatives; it was mostly worse on the data sets we tried.
    space : {"probability", "logit"}, default="probability"
        The values that are averaged. For "logit", probabilities are first clipped to 1 / (2 n_samples) from 0 and 1,
        and the average is converted back to probabilities.
    scoring : str, callable or Metric, default="micro_f1"
        Metric by which the weight is selected: any value that `nearlabel.metrics.get_metric` accepts.
    strategy : ThresholdStrategy, default=None
        Learns the thresholds for each weight. None: the strategy that matches `scoring`.
    cv : int, splitter or iterable of (training, validation) indices, default=5
        Cross-validation for a part without leave-one-out scores. An int: number of folds, of consecutive samples unless
        `random_state` is given.
    n_jobs : int, default=None
        Number of folds fitted in parallel.
    random_state : int, RandomState or None, default=None
        Shuffles the samples before they are split into folds, if `cv` is an int.

    Attributes
    ----------
    weight_ : float or ndarray of shape (n_labels,)
        Weight of the model; one for each label with "per_label".
    weights_ : ndarray of shape (2,) or (n_labels, 2)
        Weights of the model and of the neighbours.
    estimators_ : list of classifier
        The model and the neighbours, fitted to all samples.
    strategy_ : ThresholdStrategy
        The fitted strategy.
    thresholds_ : ndarray of shape (n_labels,)
        Its thresholds, if it has any.
    objective_ : float
        The value of `scoring` on the scores used for selecting weight and thresholds. It is optimistic.
    cv_results_ : dict of str to ndarray
        "weights" (21, 2), and the value of `scoring` for each of them with its best thresholds. Empty if the weight is
        given.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features, if the parts define it.

    See Also
    --------
    SoftVote : More than two classifiers.

    Notes
    -----
    A pipeline is cross-validated even if it ends in a lazy method, since its other steps may have learnt from the
    sample that is left out. If neighbours are searched in an embedding that was trained with the labels of these
    samples, their leave-one-out scores are optimistic: put the embedding into the pipeline.

    To use a fitted model, wrap it in scikit-learn's `FrozenEstimator` and pass its scores in ``fit(X, y,
    model_scores=...)``. Never pass scores of samples on which it was trained: it would get all the weight.

    The cost is that of fitting both parts, one more fit of the model for each fold, and 21 searches for thresholds.

    References
    ----------
    X. Su, R. Wang, X. Dai. Contrastive learning-enhanced nearest neighbor mechanism for multi-label text
    classification. ACL 2022 (a fixed weight).

    D. H. Wolpert. Stacked generalization. Neural Networks 5, 1992 (weights from scores out of sample).

    The weight for each label, and its choice with the thresholds, are this library's.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.rivals import NeighborInterpolation
    >>> from nearlabel.lazy import MLkNN
    >>> digits = load_multidigits()
    >>> model = NeighborInterpolation(neighbors=MLkNN()).fit(digits.X[:300], digits.Y[:300])
    >>> 0 <= model.weight_ <= 1, model.predict(digits.X[300:302]).shape
    (True, (2, 10))
    """

    def __init__(
        self,
        estimator: Any = None,
        neighbors: Any = None,
        weight: float | str = AUTO,
        *,
        space: str = "probability",
        scoring: MetricLike = "micro_f1",
        strategy: ThresholdStrategy | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.neighbors = neighbors
        self.weight = weight
        self.space = space
        self.scoring = scoring
        self.strategy = strategy
        self.cv = cv
        self.n_jobs = n_jobs
        self.random_state = random_state

    @refusing_others
    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        *,
        groups: ArrayLike | None = None,
        model_scores: Any = None,
    ) -> Self:
        """Fit model and neighbours, and select weight and thresholds.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples, in a form that both parts accept.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1; a label with one class is no error. A one-dimensional y is one
            label: its two classes may be any numbers, booleans or strings, and predictions are one-dimensional too.
            Or the tags of each row, a list, tuple or set of texts: the labels are the distinct tags.
        groups : array-like of shape (n_samples,), default=None
            Group of each sample: the scores of a sample come from fits to other groups.
        model_scores : array-like of shape (n_samples, n_labels), default=None
            Probabilities of these samples from a fit of the model that was not trained on them. None: by
            cross-validation.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X or y is malformed, their lengths differ, a parameter is out of range, a part has no `predict_proba` or
            supports one label only, or a fitted model comes without scores.
        TypeError
            If a parameter is of a wrong type.
        """
        return self._fit(X, y, groups, {} if model_scores is None else {"estimator": model_scores})

    @property
    def weight_(self) -> Any:
        """The weight of the model, or of each label (n_labels,)."""
        return self.weights_[..., MODEL] if self.weights_.ndim > 1 else float(self.weights_[MODEL])

    @available_if(_explains)
    def explain(
        self, X: MatrixLike, *, thresholds: ArrayLike | None = None, decide: Callable[..., Any] | None = None
    ) -> list[Explanation]:
        """Explain the label set of every query by its neighbours and the model's contribution.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.
        thresholds : float or array-like of shape (n_labels,), default=None
            Use these thresholds instead.
        decide : callable, default=None
            Predict with this function instead: it gets mixed scores (n, n_labels) and returns label sets of that shape.

        Returns
        -------
        list of Explanation
            The explanations of the neighbours, with the columns `model_weight`, `model_score`, `neighbors_score`, and
            the mixed `score`. A flip is the smallest change in votes that would change the prediction, with the model's
            score unchanged.
        """
        n_queries = len(self._score(X))  # first: it checks that the estimator is fitted
        steps, lazy = _steps_and_last(self.estimators_[NEIGHBORS])
        queries = X
        for step in steps:
            queries = step.transform(queries)
        explainer = self._explainer(lazy, thresholds, decide)
        each = (rows_of(queries, np.array([row])) for row in range(n_queries))
        return [explainer.explain(query, terms) for query, terms in zip(each, self._terms(MODEL, X), strict=True)]

    def _explainer(self, lazy: Any, thresholds: ArrayLike | None, decide: Callable[..., Any] | None) -> _Explainer:
        """Return the explainer, with the given thresholds or rule, or else the learnt thresholds."""
        words = BY_THRESHOLDS if decide is None else BY_RULE
        if decide is None and thresholds is None:
            decide, thresholds = self.strategy_.predict, getattr(self, "thresholds_", None)
            words = BY_RULE if thresholds is None else BY_THRESHOLDS
        require_dense("thresholds", thresholds)
        values = np.nan if thresholds is None else np.asarray(thresholds, dtype=np.float64)
        shown = np.broadcast_to(values, len(self.label_names_))
        named = copy(lazy)
        named.label_names_ = self.label_names_  # fitted to an array, without column names
        return _Explainer(self, named, decide or partial(cut, thresholds=shown), shown, words)

    def _mixed(self, model: FloatArray, neighbors: FloatArray, labels: Any = slice(None)) -> FloatArray:
        """Return the neighbours' scores (..., n_listed) mixed with the model's terms (n_labels,)."""
        weights = self.weights_[labels] if self.weights_.ndim > 1 else self.weights_
        return self._mean([np.broadcast_to(model[labels], neighbors.shape), self._as_terms(neighbors)], weights)

    def _parts(self) -> list[tuple[str, Any]]:
        model, neighbors = self.estimator, self.neighbors
        if model is None:
            # This solver is fast on sparse data and needs no random numbers.
            model = BinaryRelevance(LogisticRegression(solver="liblinear"))
        return [("estimator", model), ("neighbors", MLMLM() if neighbors is None else neighbors)]

    def _given_weights(self) -> FloatArray | str:
        weight = self.weight
        if isinstance(weight, str) and weight in (AUTO, PER_LABEL):
            return weight
        if not isinstance(weight, Real) or isinstance(weight, bool) or not 0 <= weight <= 1:
            raise ValueError(f"weight must be 'auto', 'per_label' or a number from 0 to 1, got {weight!r}.")
        return np.array([float(weight), 1 - float(weight)])


def _steps_and_last(part: Any) -> tuple[list[Any], Any]:
    """Return the transformers of nested pipelines, in order, and the final estimator."""
    steps: list[Any] = []
    while hasattr(part, "steps"):
        steps += [step for _, step in part.steps[:-1] if step not in (None, "passthrough")]
        part = part.steps[-1][1]
    return steps, part


# Explanations of mixed scores: those of the neighbours, with the model's contribution to each score.

MODEL, NEIGHBORS = 0, 1  # positions of the parts
BY_THRESHOLDS, BY_RULE = "score >= threshold", "by a rule on all scores of the query"
_MIXED = {
    "probability": "score = model_weight * model_score + (1 - model_weight) * neighbors_score",
    "logit": "score = model_weight * model_score + (1 - model_weight) * neighbors_score, each as a logit",
}


class _Explainer(NamedTuple):
    """Explains the mixed scores of a query by the neighbour method `lazy`.

    Parameters
    ----------
    mixture : NeighborInterpolation
        Mixes the scores.
    lazy : classifier
        The fitted neighbour method, which has `explain`.
    decide : callable
        Gets mixed scores (n, n_labels) and returns label sets.
    thresholds : ndarray of shape (n_labels,)
        Thresholds to show; NaN if another rule is used.
    words : str
        Description of the decision rule.
    """

    mixture: NeighborInterpolation
    lazy: Any
    decide: Callable[..., Any]
    thresholds: FloatArray
    words: str

    def explain(self, query: Matrix, model: FloatArray) -> Explanation:
        """Explain one query (1, n_features), given the model's terms (n_labels,)."""
        mixture = self.mixture
        explained: Explanation = self.lazy.explain(
            query, decide=lambda scores: self.decide(mixture._mixed(model, scores))
        )[0]
        listed = explained.labels["label"]
        columns = {**self._columns(explained.labels, model), "threshold": self.thresholds[listed]}
        before = [name for name in explained.shown if name not in (*columns, "flip")]
        after = [name for name in explained.shown if name == "flip"]
        return replace(
            explained,
            method=type(mixture).__name__,
            rule=f"{_MIXED[mixture.space]}; chosen: {self.words}",
            labels={**explained.labels, **columns},
            shown=[*before, *(name for name in columns if name != "score_at"), *after],
        )

    def _columns(self, of_neighbors: Table, model: FloatArray) -> dict[str, Any]:
        """Return the columns of the listed labels that replace or extend the neighbours' columns."""
        listed, mixture = of_neighbors["label"], self.mixture
        columns = {
            "model_weight": np.broadcast_to(mixture.weights_[..., MODEL], model.shape)[listed],
            "model_score": mixture._mean([model[listed]], np.ones(1)),
            "neighbors_score": of_neighbors["score"],
            "score": mixture._mixed(model, of_neighbors["score"], listed),
        }
        if "score_at" in of_neighbors:  # (n_listed, n_counts)
            columns["score_at"] = mixture._mixed(model, of_neighbors["score_at"].T, listed).T
        return columns
