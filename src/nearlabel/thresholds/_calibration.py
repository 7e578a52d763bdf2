"""Calibration of label probabilities on held-out scores.

Probabilities are calibrated if, for example, three in ten of the samples with probability 0.3 for a label carry it.
`nearlabel.metrics` measures calibration by `brier_score`, `log_loss` and `calibration_bins`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.metadata_routing import MetadataRouter
from sklearn.utils.validation import check_is_fitted

from nearlabel.metrics.inputs import check_weights
from nearlabel.models.decision import cut
from nearlabel.solvers.score_maps import ScoreMap, fit_score_map
from nearlabel.thresholds._cross_val import (  # samples are scored in the same way
    HeldOutScores,
    HoldsRowsOut,
    explains_itself,  # a classifier around another one, like those with thresholds
)
from nearlabel.utils.containers import require_dense
from nearlabel.utils.estimators import available_if
from nearlabel.utils.frames import framed
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_score_matrix, check_choice

__all__ = ["CALIBRATIONS", "CalibratedLabels"]

CALIBRATIONS = ("sigmoid", "isotonic", "beta")


class CalibratedLabels(HoldsRowsOut):
    """A classifier whose probabilities are calibrated, label by label, on out-of-sample scores.

    The counterpart of scikit-learn's `CalibratedClassifierCV` (with ``ensemble=False``) for many labels. It scores the
    samples by leave-one-out or cross-validation, pools the scores, fits a map from scores to probabilities for each
    label, and fits the classifier to all samples. It works with any classifier that has probabilities or decision
    values; a lazy classifier of nearlabel has leave-one-out scores and is fitted only once.

    Parameters
    ----------
    estimator : multi-label classifier
        Any classifier that supports y of shape (n_samples, n_labels) and has `predict_proba` or `decision_function`,
        from nearlabel or another library. Wrap a classifier of one label in `BinaryRelevance`.
    method : {"sigmoid", "isotonic", "beta"}, default="sigmoid"
        The map. "sigmoid": a logistic regression on the decision value [1]_, or on the log-odds of the probability.
        "isotonic": a non-decreasing regression, linear between its steps [2]_. "beta": a logistic regression on ``ln
        p`` and ``-ln(1 - p)``, for probabilities only [3]_. All maps are non-decreasing.
    cv : int, "loo", "prefit", splitter or iterable of (training, validation) indices, default=5
        How samples are scored. An int: number of folds, of consecutive samples unless `random_state` is given. "loo":
        leave-one-out scores of a lazy classifier of nearlabel, alone or as the last step of a pipeline (whose other
        steps were fitted with the sample), without a refit. "prefit": scores of the given classifier, which must
        already be fitted, to other samples than these; it is not refitted.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        The scores to calibrate; "auto" uses probabilities if there are any.
    n_jobs : int, default=None
        Folds fitted at a time; results do not depend on it.
    random_state : int, RandomState or None, default=None
        Shuffles the samples before they are split into folds, if `cv` is an int. None: no shuffle, always the same
        folds.

    Attributes
    ----------
    estimator_ : classifier
        The fitted inner classifier.
    calibrators_ : list of length n_labels
        The map of each label; its method `predict` accepts scores of shape (n_queries,).
    response_method_ : str
        Name of the method whose scores are calibrated.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features, if the inner classifier has the attribute.

    Notes
    -----
    `predict` predicts the labels with a calibrated probability of at least one half, independent of the inner
    classifier's own rule. To optimise label sets for a metric, wrap this classifier in `TunedThresholdsClassifierCV`.

    For a label with n1 positives and n0 negatives the maps are fitted to the targets (n1 + 1) / (n1 + 2) and 1 / (n0 +
    2) instead of 1 and 0, as in Platt's method: a label with few positives is never certain, and a label without
    positives gets 1 / (n0 + 2). A label that is unknown in all samples gets 0. Probabilities of 0 and 1, which have no
    log-odds, are replaced by the midpoint to the nearest probability between them, or to 0.5.

    There are no leave-one-out predictions, since the maps are fitted with the score of each sample: evaluate this
    classifier by cross-validation. Unknown cells of y (NaN) are left out of a label's map; the inner classifier must
    support them. With ``fit(X, y, groups=...)`` the samples of a group are scored by classifiers that were not trained
    on the group, and ``sample_weight`` also weights the fit of the maps. With scikit-learn's metadata routing,
    `estimator` and the splitter also get the metadata that they requested.

    See Also
    --------
    nearlabel.thresholds.TunedThresholdsClassifierCV : Thresholds tuned on the same scores.
    nearlabel.metrics.calibration_bins : Measures the calibration of probabilities.

    References
    ----------
    .. [1] J. Platt: Probabilistic outputs for support vector machines. Advances in Large Margin Classifiers, 1999.
    .. [2] B. Zadrozny, C. Elkan: Transforming classifier scores into accurate multiclass probability estimates. KDD,
       2002.
    .. [3] M. Kull, T. Silva Filho, P. Flach: Beta calibration. AISTATS, 2017.

    Examples
    --------
    >>> from nearlabel.thresholds import CalibratedLabels
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import BRkNN
    >>> from nearlabel.metrics import log_loss
    >>> digits = load_multidigits()
    >>> X, y = digits.X[:1500], digits.Y[:1500]
    >>> plain, calibrated = BRkNN().fit(X, y), CalibratedLabels(BRkNN(), cv="loo").fit(X, y)
    >>> [round(log_loss(digits.Y[1500:], model.predict_proba(digits.X[1500:])), 2) for model in (plain, calibrated)]
    [0.45, 0.26]
    """

    _also_takes: ClassVar[tuple[str, ...]] = ("sample_weight",)
    # It weights the maps even if no inner estimator requests it.
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"sample_weight": None}

    calibrators_: list[ScoreMap]

    def __init__(
        self,
        estimator: Any,
        method: str = "sigmoid",
        *,
        cv: Any = 5,
        response_method: str = "auto",
        n_jobs: int | None = None,
        random_state: int | RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.response_method = response_method
        self.n_jobs = n_jobs
        self.random_state = random_state

    @framed
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the calibrated probability of every label.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        probabilities : ndarray of shape (n_queries, n_labels) or (n_queries, n_classes)
            One array; for a one-dimensional y, one column per class.
        """
        check_is_fitted(self)
        return self._container.probabilities(self.calibrated(self._scores(X, self.response_method_)))

    @available_if(explains_itself)
    def explain(
        self, X: MatrixLike, *, thresholds: ArrayLike | None = None, decide: Callable[..., Any] | None = None
    ) -> list[Any]:
        """Explain the label set of every query, if the inner classifier has `explain`, as those of `nearlabel.lazy`.

        The displayed scores are those of the inner classifier; decisions and flips are based on calibrated
        probabilities.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.
        thresholds : float or array-like of shape (n_labels,), default=None
            Thresholds of calibrated probabilities, instead of one half.
        decide : callable, default=None
            Function that returns label sets from calibrated probabilities (n_queries, n_labels), instead of thresholds.

        Returns
        -------
        list of nearlabel.lazy.Explanation
            The explanations of the inner classifier, with these decisions.
        """
        if decide is None:
            limits = 0.5 if thresholds is None else thresholds

            def decide(probabilities: FloatArray) -> Matrix:
                return cut(probabilities, limits)

        return self._explained(X, decide=lambda scores: decide(self.calibrated(scores)))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata is routed.

        Returns
        -------
        MetadataRouter
            `fit` of the inner classifier and `split` of the splitter get the metadata that they requested; `fit` of
            this classifier gets the weights.
        """
        return super().get_metadata_routing().add_self_request(self)

    def _check_parameters(self, n_labels: int) -> None:
        super()._check_parameters(n_labels)
        check_choice("method", self.method, CALIBRATIONS)

    def _fit(self, X: MatrixLike, y: Matrix, routed: Any, **direct: Any) -> None:
        weights = check_weights(direct.pop("sample_weight", None), y.shape[0])
        held_out = self._score_rows(self.estimator, X, y, routed, self._groups(y.shape[0], routed, direct))
        if self.method == "beta" and self.response_method_ != "predict_proba":
            raise ValueError(
                f"method must be 'sigmoid' or 'isotonic' for decision values, got {self.method!r}, which takes"
                " probabilities."
            )
        self._calibrate(held_out, PartialLabels.of(y), np.ones(y.shape[0]) if weights is None else weights)

    def _calibrate(self, held_out: HeldOutScores, truth: PartialLabels, weights: FloatArray) -> None:
        """Fit the map of each label to the known cells of held-out samples with a weight above 0."""
        rows = np.concatenate(held_out.rows)
        scores = as_score_matrix(np.vstack(held_out.scores)).astype(np.float64)
        labels, unknown = (None if part is None else sparse.csc_array(part[rows]) for part in truth)
        are_probabilities = self.response_method_ == "predict_proba"
        self.calibrators_ = []
        for label in range(scores.shape[1]):
            counts = weights[rows] > 0
            if unknown is not None:
                counts &= _column(unknown, label) == 0
            y = _column(labels, label)[counts]
            self.calibrators_.append(
                fit_score_map(
                    self.method, scores[counts, label], y, weights[rows][counts], are_probabilities=are_probabilities
                )
            )

    def calibrated(self, scores: NDArray[Any], labels: IntArray | None = None) -> FloatArray:
        """Return the calibrated probabilities of scores of the inner classifier.

        Parameters
        ----------
        scores : ndarray of shape (n_queries, n_labels)
            Scores of the kind `response_method_`.
        labels : ndarray of int, default=None
            Label indices of the columns; None: all.

        Returns
        -------
        probabilities : ndarray of shape (n_queries, n_labels)
        """
        require_dense("scores", scores)
        maps = self.calibrators_ if labels is None else [self.calibrators_[label] for label in labels]
        return np.column_stack([one.predict(scores[:, column]) for column, one in enumerate(maps)])

    def label_sets_of(self, scores: NDArray[Any]) -> Matrix:
        """Return the label sets predicted from scores of the inner classifier.

        Parameters
        ----------
        scores : ndarray of shape (n_queries, n_labels)
            Scores of the kind `response_method_`.

        Returns
        -------
        labels : ndarray of shape (n_queries, n_labels)
            Indicator matrix: a label is predicted if its calibrated probability is at least one half.
        """
        return cut(self.calibrated(scores), 0.5)


def _column(columns: Any, label: int) -> IntArray:
    """Return one column of a CSC array, dense."""
    return np.asarray(columns[:, [label]].toarray())[:, 0].astype(np.int64)
