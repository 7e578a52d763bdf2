"""Binary relevance, and its predictions moved to label sets that occur (subset mapping)."""

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
    """Predict each label by its own classifier.

    As scikit-learn's `OneVsRestClassifier`, with scores as one array whatever the classifier, labels of one class
    without a warning, and predictions in the container of y.

    Parameters
    ----------
    estimator : binary classifier, default=None
        Cloned and fitted to each label; a regressor is refused. One without `predict_proba` gets its decision values
        calibrated by Platt's sigmoid on a five-fold cross-validation. None: ``LinearSVC(dual=False)``, a linear support
        vector machine. Those of all labels are then fitted together, which is several times as fast, and exactly, where
        scikit-learn stops at a tolerance of 1e-4; only on features so many or so sparse that n_samples · n_features² is
        more than 1,500 times the number of values that are not 0 they are fitted one by one, by scikit-learn.
    probability : bool, default=True
        Whether there is a `predict_proba`. False saves the cross-validation, most of the time to fit; an
        estimator that has `predict_proba` needs none.
    random_state : int, RandomState or None, default=None
        Deals rows out for calibration, and is given to the estimator if that has none of its own.
    n_jobs : int, default=None
        Labels fitted at a time.

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
    `predict` takes each classifier's own decision. A support vector machine decides by the sign of its decision value,
    which is not always where the calibrated probability exceeds one half.

    The default classifier wants features near zero and of similar scale; give
    ``make_pipeline(StandardScaler(), LinearSVC(dual=False))`` where they are not.

    Where cells of y are unknown, each label's classifier is fitted to the rows that know it, with their weights. A
    label that no row knows has probability 0.

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
    """Binary relevance, then the training label set that is nearest to the prediction in Hamming distance.

    Subset mapping (Schapire and Singer 1999; Read et al. 2011): only label sets that occur are predicted. Of label sets
    equally near the more frequent is taken, then the one that occurs first.

    Parameters
    ----------
    estimator : binary classifier, default=None
        Cloned and fitted to each label; see `BinaryRelevance`.
    probability : bool, default=True
        Whether there is a `predict_proba`; see `BinaryRelevance`.
    random_state : int, RandomState or None, default=None
        Deals rows out for calibration, and is given to the estimator if that has none of its own.
    n_jobs : int, default=None
        Labels fitted at a time.

    Attributes
    ----------
    labelsets_ : ndarray or CSR array of shape (n_labelsets, n_labels)
        Distinct training label sets, most frequent first.

    See Also
    --------
    BinaryRelevance : The base method, with its other attributes.
    nearlabel.lazy.NLDD : Takes the distance in the features into account.

    Notes
    -----
    The default classifier wants features near zero and of similar scale; give
    ``make_pipeline(StandardScaler(), LinearSVC(dual=False))`` where they are not.

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

    _takes_unknown = False  # a label set of which some labels are unknown is none that occurs

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
