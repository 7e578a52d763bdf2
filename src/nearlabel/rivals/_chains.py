"""Classifier chains, one and an ensemble (Read, Pfahringer, Holmes and Frank, Machine Learning 2011)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from nearlabel.models import WithOptionalProbabilities
from nearlabel.rivals._binary_relevance import AroundClassifier, ResampledEnsemble
from nearlabel.solvers.label_probabilities import seeded_classifier
from nearlabel.utils.estimators import label_scores
from nearlabel.utils.naming import registered
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense


@registered("method", "cc")
class ClassifierChain(AroundClassifier, WithOptionalProbabilities):
    """Predict one label after the other with binary classifiers that get the earlier labels as features.

    In training these features are the true labels; in prediction they are the labels that the chain has predicted. The
    same chain as scikit-learn's `ClassifierChain`, but with scores for every classifier, sparse y and label names;
    labels with one class raise no error.

    Parameters
    ----------
    estimator : binary classifier, default=None
        Cloned and fitted to each label. If it has no `predict_proba`, its decision values are calibrated by Platt's
        sigmoid in five-fold cross-validation. None: ``LinearSVC(dual=False)``, a linear support vector machine.
    order : array-like of shape (n_labels,) or "random", default=None
        The columns of y in the order of the chain; "random": an order drawn by `random_state`. None: as in y.
    probability : bool, default=True
        Whether there is a `predict_proba`. False avoids the cross-validation, which takes five sixths of the time to
        fit; an estimator with its own `predict_proba` needs no cross-validation.
    random_state : int, RandomState or None, default=None
        Draws the order, splits the samples into folds for calibration, and is passed to the estimator if it has none of
        its own.

    Attributes
    ----------
    estimators_ : list of length n_varying_labels
        The fitted classifiers in the order of the chain, of the labels that have both classes; absent if none has.
    order_ : ndarray of shape (n_varying_labels,)
        The column of y that each of them predicts.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    nearlabel.rivals.EnsembleOfClassifierChains : Many chains in random orders; depends less on the order.
    BinaryRelevance : Predicts each label independently of the others.

    Notes
    -----
    A label with one class in the training data is left out of the chain, and that class is predicted.

    The default classifier needs features centred near zero and of similar scale; pass ``make_pipeline(StandardScaler(),
    LinearSVC(dual=False))`` if they are not.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank. Classifier chains for multi-label classification. Machine Learning 85,
    2011.

    Examples
    --------
    >>> from nearlabel.rivals import ClassifierChain
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> chain = ClassifierChain(order=[1, 0]).fit(X, y)
    >>> chain.predict([[0.5], [4.5]])
    array([[1, 0],
           [0, 1]])
    >>> chain.order_.tolist()
    [1, 0]
    """

    _dense_in_fit = ("samples", "labels")

    def __init__(
        self,
        estimator: Any = None,
        *,
        order: ArrayLike | None = None,
        probability: bool = True,
        random_state: int | RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.order = order
        self.probability = probability
        self.random_state = random_state

    def _check_parameters(self) -> None:
        if isinstance(self.order, str) and self.order != "random":
            raise ValueError(f"order must be a permutation of the labels, 'random' or None, got {self.order!r}.")
        super()._check_parameters()

    def _learn(self, X: Matrix, labels: Matrix, **params: Any) -> None:
        super()._learn(X, labels)
        random = check_random_state(self.random_state)
        self.order_ = self._order(random)
        seed = int(random.randint(np.iinfo(np.int32).max))
        classifier = seeded_classifier(self._base_estimator(), seed, probability=self.probability)
        targets = as_dense(labels)[:, self._columns]
        features = _beside(X, targets)
        self.estimators_ = [
            clone(classifier).fit(features[:, : X.shape[1] + place], targets[:, place], **params)
            for place in range(targets.shape[1])
        ]

    def _order(self, random: RandomState) -> IntArray:
        """Return the labels that have both classes in the order of the chain."""
        if self.order is None:
            return self._varying.copy()
        if isinstance(self.order, str):
            return self._varying[random.permutation(len(self._varying))]
        order = np.asarray(self.order)
        if order.dtype.kind not in "iu" or not np.array_equal(np.sort(order), np.arange(len(self.label_names_))):
            raise ValueError(
                f"order must be a permutation of the labels 0 .. {len(self.label_names_) - 1}, 'random' or None,"
                f" got {self.order!r}."
            )
        return np.asarray(order[np.isin(order, self._varying)])

    @property
    def _columns(self) -> IntArray:
        """Return the positions of the chain's labels among the labels that have both classes."""
        return np.searchsorted(self._varying, self.order_)

    def _links(self, X: Matrix) -> Iterator[tuple[int, Any, Matrix, FloatArray]]:
        """Yield a column, its fitted classifier, the classifier's features and its predictions, (n_queries,).

        Each prediction becomes a feature of the next classifier.
        """
        decided = np.zeros((X.shape[0], len(self.estimators_)))
        for place, (column, classifier) in enumerate(zip(self._columns, self.estimators_, strict=True)):
            features = _beside(X, decided[:, :place])
            decided[:, place] = classifier.predict(features)
            yield column, classifier, features, decided[:, place]

    def _decide(self, X: Matrix) -> Matrix:
        labels = np.empty((X.shape[0], len(self.estimators_)), dtype=np.int64)
        for column, _, _, decided in self._links(X):
            labels[:, column] = decided
        return labels

    def _score(self, X: Matrix) -> FloatArray:
        scores = np.empty((X.shape[0], len(self.estimators_)))
        for column, classifier, features, _ in self._links(X):
            scores[:, column] = label_scores(classifier, features, 1, "predict_proba")[:, 0]
        return scores


def _beside(X: Matrix, labels: Any) -> Matrix:
    """Return features with labels as further columns."""
    return sparse.hstack((X, labels), format="csr") if sparse.issparse(X) else np.hstack((X, labels))


# Ensemble of classifier chains (Read, Pfahringer, Holmes and Frank, Machine Learning 2011).


@registered("method", "ecc")
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
        The fitted chains, see `nearlabel.rivals.ClassifierChain`. They are fitted to the labels that have both
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
    nearlabel.rivals.ClassifierChain : A single chain, trained on all samples, in a given order.

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
    >>> from nearlabel.rivals import EnsembleOfClassifierChains
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
