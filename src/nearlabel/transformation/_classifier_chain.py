"""A classifier chain (Read, Pfahringer, Holmes and Frank, Machine Learning 2011)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from nearlabel.base import MetaClassifier, WithOptionalProbabilities
from nearlabel.statistics.label_probabilities import chosen_classifier, seeded_classifier
from nearlabel.utils.response_methods import label_scores
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense


class ClassifierChain(MetaClassifier, WithOptionalProbabilities):
    """Decide one label after the other, each by a binary classifier that sees the labels before it as features.

    In training these features are the true labels, in prediction those that the chain has predicted itself. The same
    chain as scikit-learn's `ClassifierChain`, with scores for any classifier, sparse y, label names, and labels of one
    class without an error.

    Parameters
    ----------
    estimator : binary classifier, default=None
        Cloned and fitted to each label. One without `predict_proba` gets its decision values calibrated by Platt's
        sigmoid on a five-fold cross-validation. None: ``LinearSVC(dual=False)``, a linear support vector machine.
    order : array-like of shape (n_labels,) or "random", default=None
        The columns of y in the order of the chain; "random": an order drawn by `random_state`. None: as in y.
    probability : bool, default=True
        Whether there is a `predict_proba`. False saves the cross-validation, five sixths of the time to fit; an
        estimator that has `predict_proba` needs none.
    random_state : int, RandomState or None, default=None
        Draws the order, deals rows out for calibration, and is given to the estimator if that has none of its own.

    Attributes
    ----------
    estimators_ : list of length n_varying_labels
        The fitted classifiers in the order of the chain, of the labels that have both classes; not there if none has.
    order_ : ndarray of shape (n_varying_labels,)
        The column of y that each of them decides.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    nearlabel.ensemble.EnsembleOfClassifierChains : Many chains of random orders, which depends less on the order.
    BinaryRelevance : Each label without the others.

    Notes
    -----
    A label with one class in the training data is left out of the chain and predicted as it is.

    The default classifier wants features near zero and of similar scale; give
    ``make_pipeline(StandardScaler(), LinearSVC(dual=False))`` where they are not.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank. Classifier chains for multi-label classification. Machine Learning 85,
    2011.

    Examples
    --------
    >>> from nearlabel.transformation import ClassifierChain
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> chain = ClassifierChain(order=[1, 0]).fit(X, y)
    >>> chain.predict([[0.5], [4.5]])
    array([[1, 0],
           [0, 1]])
    >>> chain.order_.tolist()
    [1, 0]
    """

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
        super()._check_parameters()
        if isinstance(self.order, str) and self.order != "random":
            raise ValueError(f"order must be a permutation of the labels, 'random' or None, got {self.order!r}.")
        check_random_state(self.random_state)

    def _base_estimator(self) -> Any:
        return chosen_classifier(self.estimator)

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
        """Return the places of the labels of the chain among those that have both classes."""
        return np.searchsorted(self._varying, self.order_)

    def _steps(self, X: Matrix) -> Iterator[_Step]:
        """Go along the chain, what each classifier decides being a feature of the next."""
        decided = np.zeros((X.shape[0], len(self.estimators_)))
        for place, (column, classifier) in enumerate(zip(self._columns, self.estimators_, strict=True)):
            features = _beside(X, decided[:, :place])
            decided[:, place] = classifier.predict(features)
            yield _Step(column, classifier, features, decided[:, place])

    def _decide(self, X: Matrix) -> Matrix:
        labels = np.empty((X.shape[0], len(self.estimators_)), dtype=np.int64)
        for step in self._steps(X):
            labels[:, step.column] = step.decided
        return labels

    def _score(self, X: Matrix) -> FloatArray:
        scores = np.empty((X.shape[0], len(self.estimators_)))
        for step in self._steps(X):
            scores[:, step.column] = label_scores(step.classifier, step.features, 1, "predict_proba")[:, 0]
        return scores


class _Step(NamedTuple):
    """A link of the chain: a label, its fitted classifier, the features that it sees, and what it decides."""

    column: int
    classifier: Any
    features: Matrix
    decided: FloatArray  # (n_queries,)


def _beside(X: Matrix, labels: Any) -> Matrix:
    """Return features with labels as further columns."""
    return sparse.hstack((X, labels), format="csr") if sparse.issparse(X) else np.hstack((X, labels))
