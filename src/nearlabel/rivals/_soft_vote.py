"""The soft vote of several multi-label classifiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils.metaestimators import _BaseComposition

from nearlabel.metrics import MetricLike
from nearlabel.rivals._mixture import AUTO, PER_LABEL, Mixture
from nearlabel.rivals._mixture_explanation import explain, leaf_shares_of
from nearlabel.thresholds import ThresholdStrategy
from nearlabel.utils.estimators import available_if, refusing_others
from nearlabel.utils.types import FloatArray, Matrix, MatrixLike


def _is_sum(self: SoftVote) -> bool:
    if self.space != "probability":
        raise AttributeError(f"explain needs space='probability', got {self.space!r}: logits are not shared out.")
    return True


class SoftVote(Mixture, _BaseComposition):
    """Average the probabilities of several multi-label classifiers, with jointly tuned weights and thresholds.

    scikit-learn's `VotingClassifier` supports one label only. This classifier also learns the weights: it tries
    several, each with its best thresholds, and uses the best by `scoring` on held-out scores.

    Parameters
    ----------
    estimators : list of (str, multi-label classifier) pairs
        At least two, each with `predict_proba`, under names of your choice. Wrap a classifier of one label in
        `BinaryRelevance`.
    weights : {"auto", "per_label"} or array-like of shape (n_estimators,), default="auto"
        "auto": multiples of 1/20 that sum to 1, the same for all labels. For two classifiers all 21 are tried; for
        more, steps of 1/4 and then, from the best, moves of 1/20 until none improves the metric. Ties go to the weights
        that are nearest to equal, then to those with more weight on the first classifier. "per_label": for each label
        the weights with the lowest log loss, and the weights of "auto" for labels with fewer than 50 positives or
        negatives; this rarely improves the predictions. Numbers: at least 0; they are normalised to sum to 1.
    space : {"probability", "logit"}, default="probability"
        What is averaged. Logits: of probabilities that are clipped to 1 / (2 n_samples) from 0 and 1; the average is
        turned back into probabilities.
    scoring : str, callable or Metric, default="micro_f1"
        Metric by which weights are selected: any value that `nearlabel.metrics.get_metric` accepts.
    strategy : ThresholdStrategy, default=None
        Learns the thresholds for each choice of weights. None: the strategy that matches `scoring`.
    cv : int, splitter or iterable of (training, validation) indices, default=5
        Cross-validation for classifiers without leave-one-out scores, with the same folds for all of them. An int:
        number of folds, of consecutive samples unless `random_state` is given.
    n_jobs : int, default=None
        Number of folds fitted in parallel.
    random_state : int, RandomState or None, default=None
        Shuffles the samples before they are split into folds, if `cv` is an int.

    Attributes
    ----------
    estimators_ : list of classifier
        The classifiers, fitted to all samples.
    weights_ : ndarray of shape (n_estimators,) or (n_labels, n_estimators)
        The weights, which sum to 1; one row per label with "per_label".
    strategy_ : ThresholdStrategy
        The fitted strategy.
    thresholds_ : ndarray of shape (n_labels,)
        Its thresholds, if it has any.
    objective_ : float
        The value of `scoring` that weights and thresholds reach on the scores on which they were tuned. This value is
        optimistic.
    cv_results_ : dict of str to ndarray
        "weights" (n_tried, n_estimators), and the value of `scoring` for each of them with its best thresholds. Empty
        if weights are given.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features, if the classifiers know it.

    See Also
    --------
    NeighborInterpolation : A model and neighbours, with explanations.

    Notes
    -----
    A classifier with `loo_predict_proba`, such as those of `nearlabel.lazy`, is scored by leave-one-out; any other
    classifier, and every pipeline, is fitted once more for each fold. To use a fitted classifier, wrap it in
    scikit-learn's `FrozenEstimator` and pass its scores in ``fit(X, y, scores=...)``.

    References
    ----------
    D. H. Wolpert. Stacked generalization. Neural Networks 5, 1992: weights from scores out of sample. Thresholds found
    together with the weights, and weights for each label, are this library's.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.rivals import RandomForestPCT, SoftVote
    >>> from nearlabel.lazy import BRkNN, MLkNN
    >>> digits = load_multidigits()
    >>> parts = [("forest", RandomForestPCT(10, random_state=0)), ("brknn", BRkNN()), ("mlknn", MLkNN())]
    >>> vote = SoftVote(parts, cv=3).fit(digits.X[:300], digits.Y[:300])
    >>> float(vote.weights_.sum()), vote.thresholds_.shape
    (1.0, (10,))
    """

    def __init__(
        self,
        estimators: Sequence[tuple[str, Any]],
        weights: ArrayLike | str = AUTO,
        *,
        space: str = "probability",
        scoring: MetricLike = "micro_f1",
        strategy: ThresholdStrategy | None = None,
        cv: Any = 5,
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
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
        scores: Mapping[str, Any] | None = None,
    ) -> Self:
        """Fit all classifiers, and select weights and thresholds.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples, in a form that all classifiers accept.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1; a label with one class is no error. A one-dimensional y is one
            label: its two classes may be any numbers, booleans or strings, and predictions are one-dimensional too.
            Or the tags of each row, a list, tuple or set of texts: the labels are the distinct tags.
        groups : array-like of shape (n_samples,), default=None
            Group of each sample: the scores of a sample come from fits to other groups.
        scores : dict of str to array-like of shape (n_samples, n_labels), default=None
            Probabilities of these samples, by name of classifier, from a fit that was not trained on them. Such a
            classifier is not cross-validated.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X or y is malformed, their lengths differ, a parameter is out of range, a classifier has no
            `predict_proba` or supports one label only, or a fitted classifier comes without scores.
        TypeError
            If a parameter is of a wrong type.
        """
        return self._fit(X, y, groups, scores or {})

    explain = available_if(_is_sum)(explain)

    def _keep_samples(self, X: MatrixLike, labels: Matrix) -> None:
        self._training_labels = sparse.csr_array(labels)
        self._leaf_shares = [leaf_shares_of(part, X) for part in self.estimators_]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, including those of the classifiers.

        Parameters
        ----------
        deep : bool, default=True
            Whether to list the classifiers by name, and their parameters as ``name__parameter``.

        Returns
        -------
        dict
            Parameters by name.
        """
        params: dict[str, Any] = self._get_params("estimators", deep=deep)
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, including those of the classifiers.

        Parameters
        ----------
        **params : dict
            Parameters by the names that `get_params` lists.

        Returns
        -------
        self
            The same object.
        """
        self._set_params("estimators", **params)
        return self

    def _parts(self) -> list[tuple[str, Any]]:
        parts = self.estimators
        if not isinstance(parts, list | tuple) or len(parts) < 2 or not all(map(_is_pair, parts)):
            raise ValueError(f"estimators must be a list of at least two (name, classifier) pairs, got {parts!r}.")
        self._validate_names([name for name, _ in parts])
        return list(parts)

    def _given_weights(self) -> FloatArray | str:
        if isinstance(self.weights, str) and self.weights in (AUTO, PER_LABEL):
            return self.weights
        try:
            weights = np.asarray(self.weights, dtype=np.float64)
        except (TypeError, ValueError):
            weights = np.empty(0)
        if weights.shape != (len(self.estimators),) or not (weights.min() >= 0 and 0 < weights.sum() < np.inf):
            raise ValueError(
                f"weights must be 'auto', 'per_label' or {len(self.estimators)} numbers, at least 0 and not all 0,"
                f" got {self.weights!r}."
            )
        return np.asarray(weights / weights.sum())


def _is_pair(part: Any) -> bool:
    return isinstance(part, list | tuple) and len(part) == 2 and isinstance(part[0], str)
