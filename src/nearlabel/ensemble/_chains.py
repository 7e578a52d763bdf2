"""Ensemble of classifier chains (Read, Pfahringer, Holmes and Frank, Machine Learning 2011)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import RandomState

from nearlabel.ensemble._resampled import ResampledEnsemble
from nearlabel.transformation import ClassifierChain
from nearlabel.utils.types import IntArray


class EnsembleOfClassifierChains(ResampledEnsemble):
    """Combine the votes of classifier chains, each with a random label order and a random subset of samples (ECC).

    A chain predicts one label after the other with a binary classifier that gets the earlier labels as features: the
    true labels in training, its own predictions in prediction.

    Parameters
    ----------
    estimator : binary classifier, default=None
        Cloned and fitted to each label of each chain. None: ``LinearSVC(dual=False)``, a linear support vector machine.
    n_estimators : int, default=10
        Number of chains.
    max_samples : float, default=0.67
        Share of the samples on which each chain is trained.
    bootstrap : bool, default=False
        Whether the samples are drawn with replacement.
    voting : {"hard", "soft"}, default="hard"
        "hard": the score of a label is the share of chains that predict it. "soft": the mean of their probabilities; if
        a classifier has no `predict_proba`, its decision values are calibrated by Platt's sigmoid in five-fold
        cross-validation. In both cases the features that a chain adds are predicted labels.
    threshold : float or "cardinality", default=0.5
        A label is predicted if its score is at least this, above 0 and at most 1. "cardinality": the threshold at which
        the number of labels predicted for the training samples equals the true number, or is as near to it as equal
        scores allow.
    random_state : int, RandomState or None, default=None
        Draws samples and orders, splits the samples into folds for calibration, and is passed to the estimator if it
        has none of its own.
    n_jobs : int, default=None
        Number of chains fitted in parallel.

    Attributes
    ----------
    estimators_ : list of length n_estimators
        The fitted chains, see `nearlabel.transformation.ClassifierChain`. They are fitted to the labels that have both
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
    EnsembleOfBinaryRelevance : The same without chains.
    nearlabel.transformation.ClassifierChain : A single chain, trained on all samples, in a given order.

    Notes
    -----
    The defaults are those of MEKA, except for the threshold, which MEKA calibrates. MULAN draws a bootstrap sample of
    the full size and averages confidences (``max_samples=1.0, bootstrap=True, voting="soft"``).

    Read et al. choose the threshold so that the label cardinality of all test predictions matches that of the training
    samples. Here the threshold is learnt in training, so that predictions do not depend on the other queries. If the
    classifier memorises its training samples, "cardinality" is not informative: pass a number instead.

    A label that has one class in the samples of a chain is left out of that chain, which votes for that class.

    The default classifier needs features centred near zero and of similar scale; pass ``make_pipeline(StandardScaler(),
    LinearSVC(dual=False))`` if they are not.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank. Classifier chains for multi-label classification. Machine Learning 85,
    2011.

    Examples
    --------
    >>> from nearlabel.ensemble import EnsembleOfClassifierChains
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> ensemble = EnsembleOfClassifierChains(max_samples=1.0, random_state=0).fit(X, y)
    >>> ensemble.predict([[0.5], [4.5]])
    array([[1, 0],
           [0, 1]])
    """

    def _model(self, estimator: Any, labels: IntArray, seed: int, random: RandomState) -> Any:
        varies = np.ptp(labels, axis=0) > 0
        varying, constant = np.flatnonzero(varies), np.flatnonzero(~varies)
        order = np.append(varying[random.permutation(len(varying))], constant)
        return ClassifierChain(estimator, order=order, probability=self.voting == "soft", random_state=seed)
