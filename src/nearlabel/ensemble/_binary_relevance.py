"""Ensemble of binary relevance (Read, Pfahringer, Holmes and Frank, Machine Learning 2011)."""

from __future__ import annotations

from typing import Any

from numpy.random import RandomState

from nearlabel.ensemble._resampled import ResampledEnsemble
from nearlabel.transformation import BinaryRelevance
from nearlabel.utils.types import IntArray


class EnsembleOfBinaryRelevance(ResampledEnsemble):
    """Let several binary relevance models vote, each trained on random rows (EBR).

    The same as `EnsembleOfClassifierChains`, but each label is decided without the others: what is between the two
    comes from the chains.

    Parameters
    ----------
    estimator : binary classifier, default=None
        Cloned and fitted to each label of each model. None: ``LinearSVC(dual=False)``, a linear support vector machine.
    n_estimators : int, default=10
        Number of models.
    max_samples : float, default=0.67
        Share of the rows that a model is trained on.
    bootstrap : bool, default=False
        Whether the rows are drawn with replacement.
    voting : {"hard", "soft"}, default="hard"
        "hard": the score of a label is the share of models that predict it. "soft": the mean of their probabilities; a
        classifier without `predict_proba` gets its decision values calibrated by Platt's sigmoid on a five-fold
        cross-validation.
    threshold : float or "cardinality", default=0.5
        A label is predicted if its score is at least this, above 0 and at most 1. "cardinality": the one that predicts,
        on the training samples, as many labels as they have, or as near to that as equal scores allow.
    random_state : int, RandomState or None, default=None
        Draws rows, deals them out for calibration, and is given to the estimator if that has none of its own.
    n_jobs : int, default=None
        Number of models fitted in parallel.

    Attributes
    ----------
    estimators_ : list of length n_estimators
        The fitted models, see `nearlabel.transformation.BinaryRelevance`. Their labels are those with both classes, so
        column l of their y is the l-th of these.
    threshold_ : float
        The threshold.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    EnsembleOfClassifierChains : The same with chains; its notes hold here too.
    nearlabel.transformation.BinaryRelevance : A single model, on all rows.

    Notes
    -----
    The default classifier wants features near zero and of similar scale; give
    ``make_pipeline(StandardScaler(), LinearSVC(dual=False))`` where they are not.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank. Classifier chains for multi-label classification. Machine Learning 85,
    2011.

    Examples
    --------
    >>> from nearlabel.ensemble import EnsembleOfBinaryRelevance
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> ensemble = EnsembleOfBinaryRelevance(max_samples=1.0, random_state=0).fit(X, y)
    >>> ensemble.predict([[0.5], [4.5]])
    array([[1, 0],
           [0, 1]])
    """

    def _model(self, estimator: Any, labels: IntArray, seed: int, random: RandomState) -> Any:
        return BinaryRelevance(estimator, probability=self.voting == "soft", random_state=seed)
