"""A model's probabilities interpolated with the scores of neighbours."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import partial
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.linear_model import LogisticRegression

from nearlabel.decision import cut
from nearlabel.ensemble._mixed_explanation import BY_RULE, BY_THRESHOLDS, MODEL, NEIGHBORS, MixedExplainer
from nearlabel.ensemble._mixture import AUTO, PER_LABEL, Mixture
from nearlabel.lazy import MLMLM, Explanation
from nearlabel.metrics import MetricLike
from nearlabel.out_of_sample import rows_of
from nearlabel.thresholds import ThresholdStrategy
from nearlabel.transformation import BinaryRelevance
from nearlabel.utils.available_if import available_if
from nearlabel.utils.types import FloatArray, MatrixLike


def _explains(self: Any) -> bool:
    lazy = _steps_and_last(self._parts()[NEIGHBORS][1])[1]
    if hasattr(lazy, "explain"):
        return True
    raise AttributeError(f"neighbors must explain itself, got {type(lazy).__name__}. Hint: a method of nearlabel.lazy.")


class NeighborInterpolation(Mixture):
    """Mix the probabilities of a model with the scores of neighbours, by a weight that suits the thresholds.

    For those who have a good model, and want it to remember the training samples and to be explained by neighbours::

        score = weight_ · model + (1 - weight_) · neighbours        chosen: score >= threshold

    The weight is the best of 0, 0.05, ..., 1 by `scoring`, each with its best thresholds, on scores of rows that
    neither has seen: the model's by cross-validation, the neighbours' by leaving one out. Then both are fitted to all
    rows.

    Parameters
    ----------
    estimator : multi-label classifier, default=None
        The model: any classifier that takes y of shape (n_samples, n_labels) and has `predict_proba`. Put
        `BinaryRelevance` around a classifier of one label. None: logistic regression for each label.
    neighbors : multi-label classifier, default=None
        A method of `nearlabel.lazy`, or any other classifier with `predict_proba`; one without leave-one-out scores is
        cross-validated like the model. None: `MLMLM()`, which was the better partner on all five sets we tried.
    weight : float, "auto" or "per_label", default="auto"
        Of the model, from 0 to 1. "auto": the best for all labels; of equally good ones the nearest to 1/2, then the
        larger. "per_label": for each label the one of least log loss, and that of "auto" for labels with fewer than 50
        positives or negatives; it mostly lost on the sets we tried.
    space : {"probability", "logit"}, default="probability"
        What is averaged. Logits: of probabilities that are clipped to 1 / (2 n_samples) from 0 and 1; the average is
        turned back into probabilities.
    scoring : str, callable or Metric, default="micro_f1"
        What the weight is chosen by: what `nearlabel.metrics.get_metric` takes.
    strategy : ThresholdStrategy, default=None
        Learns the thresholds, for each weight. None: the one that is made for `scoring`.
    cv : int, splitter or iterable of (training, validation) rows, default=5
        How rows are scored by a part without leave-one-out scores. An int: number of folds, of consecutive rows unless
        `random_state` is given.
    n_jobs : int, default=None
        Number of folds fitted in parallel.
    random_state : int, RandomState or None, default=None
        Shuffles the samples before they are split into folds, if `cv` is an int.

    Attributes
    ----------
    weight_ : float or ndarray of shape (n_labels,)
        Of the model; that of each label with "per_label".
    weights_ : ndarray of shape (2,) or (n_labels, 2)
        Of the model and of the neighbours.
    estimators_ : list of classifier
        The model and the neighbours, fitted to all rows.
    strategy_ : ThresholdStrategy
        The fitted strategy.
    thresholds_ : ndarray of shape (n_labels,)
        Its thresholds, if it has any.
    objective_ : float
        The value of `scoring` that weight and thresholds reach on the scores that they were chosen by: optimistic.
    cv_results_ : dict of str to ndarray
        "weights" (21, 2), and the value of `scoring` for each, with the best thresholds. Empty if the weight is given.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features, if the parts know it.

    See Also
    --------
    SoftVote : More than two classifiers.

    Notes
    -----
    A pipeline is cross-validated even if it ends in a lazy method, since its other steps may have learnt from the row
    that is left out. If neighbours are searched in an embedding that was trained with the labels of these rows, their
    leave-one-out scores are optimistic: put the embedding into the pipeline.

    A model that is fitted already comes in scikit-learn's `FrozenEstimator`, with its scores in
    ``fit(X, y, model_scores=...)``: never those of rows it was trained on, by which it would get all the weight.

    The cost is that of both parts, one more fit of the model for each fold, and 21 times that of finding thresholds.

    References
    ----------
    X. Su, R. Wang, X. Dai. Contrastive learning-enhanced nearest neighbor mechanism for multi-label text
    classification. ACL 2022 (a fixed weight).

    D. H. Wolpert. Stacked generalization. Neural Networks 5, 1992 (weights from scores out of sample).

    The weight for each label, and its choice with the thresholds, are this library's.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.ensemble import NeighborInterpolation
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

    def fit(
        self,
        X: MatrixLike,
        y: MatrixLike,
        *,
        groups: ArrayLike | None = None,
        model_scores: Any = None,
    ) -> Self:
        """Fit model and neighbours, and choose weight and thresholds.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples, as both parts take them.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1; a label with one class is no error. A one-dimensional y is one
            label: its two classes may be any numbers, booleans or strings, and predictions are one-dimensional too.
            Or the tags of each row, a list, tuple or set of texts: the labels are the distinct tags.
        groups : array-like of shape (n_samples,), default=None
            Group of each sample: a row is scored by fits to other groups.
        model_scores : array-like of shape (n_samples, n_labels), default=None
            Probabilities of these rows by a fit of the model that has not seen them. None: by cross-validation.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X or y is malformed, their lengths differ, a parameter is out of range, a part has no `predict_proba` or
            takes one label only, or a model that is fitted already has no scores.
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
        """Explain the label set of every query by its neighbours, and by what the model adds.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.
        thresholds : float or array-like of shape (n_labels,), default=None
            Decide by these instead.
        decide : callable, default=None
            Decides instead: takes mixed scores (n, n_labels) and returns label sets of that shape.

        Returns
        -------
        list of Explanation
            That of the neighbours, with the columns `model_weight`, `model_score`, `neighbors_score`, and the mixed
            `score`. A flip is the change of votes that turns the decision while the model's score stays.
        """
        n_queries = len(self._score(X))  # first, for it checks that all is fitted
        steps, lazy = _steps_and_last(self.estimators_[NEIGHBORS])
        queries = X
        for step in steps:
            queries = step.transform(queries)
        explainer = self._explainer(lazy, thresholds, decide)
        each = (rows_of(queries, np.array([row])) for row in range(n_queries))
        return [explainer.explain(query, terms) for query, terms in zip(each, self._terms(MODEL, X), strict=True)]

    def _explainer(self, lazy: Any, thresholds: ArrayLike | None, decide: Callable[..., Any] | None) -> MixedExplainer:
        """Return what explains by the neighbours, and decides as asked; by the learnt thresholds if nothing is."""
        is_rule = decide is not None
        if decide is None and thresholds is None:
            decide, thresholds = self.strategy_.predict, getattr(self, "thresholds_", None)
            is_rule = thresholds is None
        values = np.nan if thresholds is None else np.asarray(thresholds, dtype=np.float64)
        shown = np.broadcast_to(values, len(self.label_names_))
        named = copy(lazy)
        named.label_names_ = self.label_names_  # it was fitted to an array, which has none
        return MixedExplainer(
            method=type(self).__name__,
            lazy=named,
            mean=self._mean,
            weights=self.weights_,
            decide=decide or partial(cut, thresholds=shown),
            thresholds=shown,
            words=BY_RULE if is_rule else BY_THRESHOLDS,
        )

    def _parts(self) -> list[tuple[str, Any]]:
        model, neighbors = self.estimator, self.neighbors
        if model is None:
            # Its solver is quick on sparse rows, and needs no random numbers.
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
    """Return the steps of pipelines, one inside another, that rows go through, and what they go to."""
    steps: list[Any] = []
    while hasattr(part, "steps"):
        steps += [step for _, step in part.steps[:-1] if step not in (None, "passthrough")]
        part = part.steps[-1][1]
    return steps, part
