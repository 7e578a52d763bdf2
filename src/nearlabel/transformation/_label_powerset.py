"""Label powerset: each label set that occurs is one class."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.random import RandomState
from sklearn.dummy import DummyClassifier
from sklearn.utils import check_random_state, get_tags

from nearlabel.base import MetaClassifier, WithOptionalProbabilities
from nearlabel.labels import labelsets_by_frequency
from nearlabel.statistics.label_probabilities import chosen_classifier, with_seed
from nearlabel.statistics.temperature import Temperature
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.response_methods import RESPONSE_METHODS, response_method_of
from nearlabel.utils.types import FloatArray, Matrix

_MANY_CLASSES = "The number of unique classes is greater than 50%"  # scikit-learn takes that for a regression target


class LabelPowerset(MetaClassifier, WithOptionalProbabilities):
    """Predict the whole label set with one multi-class classifier.

    Each distinct training label set is a class; the label set of the predicted class is predicted. The probability of a
    label is the sum of the probabilities of the label sets that contain it.

    Parameters
    ----------
    estimator : multi-class classifier, default=None
        Cloned and fitted to the classes. If it has no `predict_proba`, its decision values are turned into
        probabilities by temperature scaling: a softmax with one slope, fitted in five-fold cross-validation. None:
        ``LinearSVC(dual=False)``, a linear support vector machine, one class against the rest.
    probability : bool, default=True
        Whether there is a `predict_proba`. False avoids the cross-validation, which takes four fifths of the time to
        fit; an estimator with its own `predict_proba` needs no cross-validation.
    random_state : int, RandomState or None, default=None
        Splits the samples into folds, and is passed to the estimator if it has none of its own.
    n_jobs : int, default=None
        Number of folds fitted in parallel.

    Attributes
    ----------
    labelsets_ : ndarray or CSR array of shape (n_labelsets, n_labels)
        Distinct training label sets, most frequent first, then by their first sample; row c is the label set of class
        c.
    estimator_ : classifier
        The fitted multi-class classifier; a `DummyClassifier` if all training samples have the same label set.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    nearlabel.ensemble.RAkELo : Many label powersets on few labels each, for data with too many label sets.

    Notes
    -----
    `predict` returns the most probable label set, which may differ from the set of labels with probability above one
    half. The estimator breaks ties; scikit-learn's estimators take the first of equal classes, which is the more
    frequent label set. The numbering of the classes does not depend on the order of the labels, so neither do the
    predictions.

    The default classifier needs features centred near zero and of similar scale; pass ``make_pipeline(StandardScaler(),
    LinearSVC(dual=False))`` if they are not.

    References
    ----------
    G. Tsoumakas, I. Katakis. Multi-label classification: an overview. International Journal of Data Warehousing and
    Mining 3(3), 2007.

    G. Tsoumakas, I. Katakis, I. Vlahavas. Mining multi-label data. Data Mining and Knowledge Discovery Handbook,
    Springer, 2010. (Probabilities of labels.)

    C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger. On calibration of modern neural networks. International Conference on
    Machine Learning, 2017. (Temperature scaling.)

    Examples
    --------
    >>> from nearlabel.transformation import LabelPowerset
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 1], [1, 1], [0, 1], [0, 1]]
    >>> LabelPowerset().fit(X, y).predict([[0.5], [4.5]])
    array([[1, 1],
           [0, 1]])
    """

    _takes_constant_labels = True

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

    def _learn(self, X: Matrix, labels: Matrix, **params: Any) -> None:
        super()._learn(X, labels)
        classifier = self._classifier()
        self.labelsets_, classes = labelsets_by_frequency(labels, params.get("sample_weight"))
        self._check_multiclass()
        if self.labelsets_.shape[0] == 1:
            classifier, params = DummyClassifier(), {}  # most classifiers refuse a single class
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=_MANY_CLASSES, category=UserWarning)
            self.estimator_ = classifier.fit(X, classes, **params)

    def _check_multiclass(self) -> None:
        """Raise ValueError if the classifier's tags allow two classes only, and there are more."""
        estimator = self._base_estimator()
        tags = get_tags(estimator).classifier_tags if hasattr(estimator, "__sklearn_tags__") else None
        if tags is not None and not tags.multi_class and self.labelsets_.shape[0] > 2:
            raise ValueError(
                f"estimator must be a multi-class classifier, got {type(estimator).__name__}, which takes two classes;"
                f" y has {self.labelsets_.shape[0]} label sets. Hint: sklearn.multiclass.OneVsRestClassifier around it,"
                " or a classifier of several classes such as LogisticRegression."
            )

    def _classifier(self) -> Any:
        """Return the classifier to fit, with `predict_proba` if requested."""
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        estimator = with_seed(chosen_classifier(self.estimator), seed)
        method = response_method_of(estimator, RESPONSE_METHODS if self.probability else ("predict",))
        return Temperature(estimator, seed, self.n_jobs) if method == "decision_function" else estimator

    def _decide(self, X: Matrix) -> Matrix:
        return self.labelsets_[self.estimator_.predict(X)]

    def _score(self, X: Matrix) -> FloatArray:
        scores = np.empty((X.shape[0], len(self.label_names_)))
        for block in row_blocks(len(scores), 16 * self.labelsets_.shape[0]):
            scores[block] = self.estimator_.predict_proba(X[block]) @ self.labelsets_
        scores[:, self._carried_by_all == 1] = 1.0  # up to rounding they do
        return np.minimum(scores, 1.0)
