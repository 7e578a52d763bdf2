"""Ensemble of classifier chains (Read, Pfahringer, Holmes and Frank, Machine Learning 2011)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import RandomState

from nearlabel.ensemble._resampled import ResampledEnsemble
from nearlabel.transformation import ClassifierChain
from nearlabel.utils.types import IntArray


class EnsembleOfClassifierChains(ResampledEnsemble):
    """Let several classifier chains vote, each with labels in a random order and trained on random rows (ECC).

    A chain decides one label after the other by a binary classifier that sees the labels before as features: the true
    ones in training, those it predicted itself when it predicts.

    Parameters
    ----------
    estimator : binary classifier, default=None
        Cloned and fitted to each label of each chain. None: ``LinearSVC(dual=False)``, a linear support vector machine.
    n_estimators : int, default=10
        Number of chains.
    max_samples : float, default=0.67
        Share of the rows that a chain is trained on.
    bootstrap : bool, default=False
        Whether the rows are drawn with replacement.
    voting : {"hard", "soft"}, default="hard"
        "hard": the score of a label is the share of chains that predict it. "soft": the mean of their probabilities; a
        classifier without `predict_proba` gets its decision values calibrated by Platt's sigmoid on a five-fold
        cross-validation. In both, what a chain passes on as a feature is a predicted label.
    threshold : float or "cardinality", default=0.5
        A label is predicted if its score is at least this, above 0 and at most 1. "cardinality": the one that predicts,
        on the training samples, as many labels as they have, or as near to that as equal scores allow.
    random_state : int, RandomState or None, default=None
        Draws rows and orders, deals rows out for calibration, and is given to the estimator if that has none of its
        own.
    n_jobs : int, default=None
        Number of chains fitted in parallel.

    Attributes
    ----------
    estimators_ : list of length n_estimators
        The fitted chains, see `nearlabel.transformation.ClassifierChain`. Their labels are those with both classes, so
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
    EnsembleOfBinaryRelevance : The same without chains.
    nearlabel.transformation.ClassifierChain : A single chain, on all rows, in a given order.

    Notes
    -----
    The defaults are those of MEKA, but for the threshold, which MEKA calibrates; MULAN draws as many rows as there are,
    with replacement, and averages confidences (``max_samples=1.0, bootstrap=True, voting="soft"``).

    Read et al. bring the cardinality of the predictions for the test samples to that of the training samples; here the
    threshold is learnt in training, so that each query is answered by itself. A classifier that learns its training
    samples by heart makes the training cardinality say little: then give a number.

    A label that has one class in the rows of a chain is left out of that chain, which votes for that class.

    The default classifier wants features near zero and of similar scale; give
    ``make_pipeline(StandardScaler(), LinearSVC(dual=False))`` where they are not.

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
