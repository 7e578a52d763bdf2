"""Ensemble of binary relevance (Read, Pfahringer, Holmes and Frank, Machine Learning 2011)."""

from __future__ import annotations

from typing import Any

from numpy.random import RandomState

from nearlabel.ensemble._resampled import ResampledEnsemble
from nearlabel.transformation import BinaryRelevance
from nearlabel.utils.types import IntArray


class EnsembleOfBinaryRelevance(ResampledEnsemble):
    """Combine the votes of binary relevance models, each trained on a random subset of the samples (EBR).

    The same as `EnsembleOfClassifierChains`, but each label is predicted independently of the others: any difference
    between the two is due to the chains.

    Parameters
    ----------
    estimator : binary classifier, default=None
        Cloned and fitted to each label of each model. None: ``LinearSVC(dual=False)``, a linear support vector machine.
    n_estimators : int, default=10
        Number of models.
    max_samples : float, default=0.67
        Share of the samples on which each model is trained.
    bootstrap : bool, default=False
        Whether the samples are drawn with replacement.
    voting : {"hard", "soft"}, default="hard"
        "hard": the score of a label is the share of models that predict it. "soft": the mean of their probabilities; if
        a classifier has no `predict_proba`, its decision values are calibrated by Platt's sigmoid in five-fold
        cross-validation.
    threshold : float or "cardinality", default=0.5
        A label is predicted if its score is at least this, above 0 and at most 1. "cardinality": the threshold at which
        the number of labels predicted for the training samples equals the true number, or is as near to it as equal
        scores allow.
    random_state : int, RandomState or None, default=None
        Draws samples, splits them into folds for calibration, and is passed to the estimator if it has none of its own.
    n_jobs : int, default=None
        Number of models fitted in parallel.

    Attributes
    ----------
    estimators_ : list of length n_estimators
        The fitted models, see `nearlabel.transformation.BinaryRelevance`. They are fitted to the labels that have both
        classes: column l of their y is the l-th of these.
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
    EnsembleOfClassifierChains : The same with chains; its notes apply here too.
    nearlabel.transformation.BinaryRelevance : A single model, trained on all samples.

    Notes
    -----
    The default classifier needs features centred near zero and of similar scale; pass ``make_pipeline(StandardScaler(),
    LinearSVC(dual=False))`` if they are not.

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
