"""Binary relevance, and subset mapping of its predictions to label sets that occur in training."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from sklearn.utils import check_random_state

from nearlabel.base import MetaClassifier, WithOptionalProbabilities
from nearlabel.labels import labelsets_by_frequency
from nearlabel.statistics.label_probabilities import LabelProbabilities, chosen_classifier
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense


class BinaryRelevance(MetaClassifier, WithOptionalProbabilities):
    """Predict each label with its own classifier.

    Like scikit-learn's `OneVsRestClassifier`, but scores are one array for every classifier, labels with one class
    cause no warning, and predictions come in the container of y.

    Parameters
    ----------
    estimator : binary classifier, default=None
        Cloned and fitted to each label; a regressor raises an error. If it has no `predict_proba`, its decision values
        are calibrated by Platt's sigmoid in five-fold cross-validation. None: ``LinearSVC(dual=False)``, a linear
        support vector machine. The default's models of all labels are fitted together, which is several times faster,
        and to the exact optimum, while scikit-learn stops at a tolerance of 1e-4. If n_samples · n_features² is more
        than 1,500 times the number of nonzero values (many or sparse features), scikit-learn fits them one by one.
    probability : bool, default=True
        Whether there is a `predict_proba`. False avoids the cross-validation, which takes most of the time to fit; an
        estimator with its own `predict_proba` needs no cross-validation.
    random_state : int, RandomState or None, default=None
        Splits the samples into folds for calibration, and is passed to the estimator if it has none of its own.
    n_jobs : int, default=None
        Number of labels fitted in parallel.

    Attributes
    ----------
    estimators_ : list of length n_labels
        The fitted classifier of each label; a float, 0 or 1, for a label with one class.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    Notes
    -----
    `predict` uses each classifier's own predictions. A support vector machine predicts by the sign of its decision
    value, which does not always agree with a calibrated probability above one half.

    The default classifier needs features centred near zero and of similar scale; pass ``make_pipeline(StandardScaler(),
    LinearSVC(dual=False))`` if they are not.

    If cells of y are unknown, each label's classifier is fitted to the samples in which the label is known, with their
    weights. A label that is unknown in all samples has probability 0.

    References
    ----------
    G. Tsoumakas, I. Katakis. Multi-label classification: an overview. International Journal of Data Warehousing and
    Mining 3(3), 2007.

    Examples
    --------
    >>> from nearlabel.transformation import BinaryRelevance
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0], [1, 0], [0, 0], [0, 0]]
    >>> BinaryRelevance().fit(X, y).predict([[0.5], [4.5]])
    array([[1, 0],
           [0, 0]])
    """

    _takes_constant_labels = _takes_unknown = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        probability: bool = True,
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.probability = probability
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_random_state(self.random_state)

    def _base_estimator(self) -> Any:
        return chosen_classifier(self.estimator)

    def _learn(self, X: Matrix, labels: Matrix, unknown: Matrix | None = None, **params: Any) -> None:
        super()._learn(X, labels)
        random = check_random_state(self.random_state)
        settings = {"n_jobs": self.n_jobs, "probability": self.probability, **params}
        if unknown is None:
            self._probabilities = LabelProbabilities.fit(self.estimator, X, labels, random, **settings)
        else:
            self._probabilities = LabelProbabilities.fit_known(self.estimator, X, labels, unknown, random, **settings)
        self.estimators_ = list(self._probabilities.classifiers)

    def _score(self, X: Matrix) -> FloatArray:
        return self._probabilities.predict(X)

    def _decide(self, X: Matrix) -> Matrix:
        return self._probabilities.decide(X)


class SMBR(BinaryRelevance):
    """Predict by binary relevance, then map to the nearest training label set in Hamming distance.

    Subset mapping (Schapire and Singer 1999; Read et al. 2011): only label sets that occur in training are predicted.
    Among equally near label sets, the most frequent is predicted, then the one that occurs first.

    Parameters
    ----------
    estimator : binary classifier, default=None
        Cloned and fitted to each label; see `BinaryRelevance`.
    probability : bool, default=True
        Whether there is a `predict_proba`; see `BinaryRelevance`.
    random_state : int, RandomState or None, default=None
        Splits the samples into folds for calibration, and is passed to the estimator if it has none of its own.
    n_jobs : int, default=None
        Number of labels fitted in parallel.

    Attributes
    ----------
    labelsets_ : ndarray or CSR array of shape (n_labelsets, n_labels)
        Distinct training label sets, most frequent first.

    See Also
    --------
    BinaryRelevance : The base method, with its other attributes.
    nearlabel.lazy.NLDD : Also uses the distance between features.

    Notes
    -----
    The default classifier needs features centred near zero and of similar scale; pass ``make_pipeline(StandardScaler(),
    LinearSVC(dual=False))`` if they are not.

    References
    ----------
    R. E. Schapire, Y. Singer. Improved boosting algorithms using confidence-rated predictions. Machine Learning 37,
    1999.

    J. Read, B. Pfahringer, G. Holmes, E. Frank. Classifier chains for multi-label classification. Machine Learning 85,
    2011.

    Examples
    --------
    >>> from nearlabel.transformation import SMBR
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 1], [1, 1], [0, 0], [0, 0]]
    >>> SMBR().fit(X, y).predict([[0.5], [4.5]])
    array([[1, 1],
           [0, 0]])
    """

    _takes_unknown = False  # an incompletely known label set does not count as one that occurs

    def _learn(self, X: Matrix, labels: Matrix, unknown: Matrix | None = None, **params: Any) -> None:
        super()._learn(X, labels, unknown, **params)
        self.labelsets_, _ = labelsets_by_frequency(labels, params.get("sample_weight"))

    def _decide(self, X: Matrix) -> Matrix:
        return self._nearest_labelsets(super()._decide(X))

    def _nearest_labelsets(self, decided: IntArray) -> Matrix:
        sizes = np.asarray(self.labelsets_.sum(axis=1))
        nearest = np.empty(len(decided), dtype=np.int64)
        for block in row_blocks(len(decided), 16 * len(sizes)):
            # Hamming distance: |y| + |z| - 2 y·z; the size of the prediction is the same for all.
            shared = as_dense(self.labelsets_ @ sparse.csc_array(decided[block].T)).T
            nearest[block] = np.argmin(sizes - 2 * shared, axis=1)
        return self.labelsets_[nearest]
