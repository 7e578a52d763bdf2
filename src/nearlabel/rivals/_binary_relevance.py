"""Binary relevance, subset mapping of its predictions (SMBR), and the ensemble of binary relevance."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from nearlabel.labels import labelsets_by_frequency
from nearlabel.models import MetaClassifier, WithOptionalProbabilities, WithProbabilities
from nearlabel.models.decision import cut
from nearlabel.rivals._mixture_explanation import explain_linear, is_linear
from nearlabel.solvers.label_probabilities import LabelProbabilities, chosen_classifier, seeded_classifier
from nearlabel.thresholds import PCut
from nearlabel.utils.estimators import available_if, params_of_samples
from nearlabel.utils.frames import framed
from nearlabel.utils.naming import registered
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, check_choice, check_flag, check_integer, check_positive, row_blocks


class AroundClassifier(MetaClassifier):
    """A method around a classifier of one target, by default a linear SVM, that draws random numbers."""

    random_state: int | RandomState | None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_random_state(self.random_state)

    def _base_estimator(self) -> Any:
        return chosen_classifier(self.estimator)


class AroundCalibrated(AroundClassifier, WithOptionalProbabilities):
    """A method around a classifier whose decision values are calibrated if probabilities are wanted."""

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


@registered("method", "br")
class BinaryRelevance(AroundCalibrated):
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
        Whether there is a `predict_proba`. False avoids the cross-validation, which takes most of the time to fit, and
        gives a `decision_function` if the estimator has one; an estimator with its own `predict_proba` needs no
        cross-validation.
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
    >>> from nearlabel.rivals import BinaryRelevance
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0], [1, 0], [0, 0], [0, 0]]
    >>> BinaryRelevance().fit(X, y).predict([[0.5], [4.5]])
    array([[1, 0],
           [0, 0]])
    """

    _takes_constant_labels = _takes_unknown = True

    def _learn(self, X: Matrix, labels: Matrix, unknown: Matrix | None = None, **params: Any) -> None:
        super()._learn(X, labels)
        random = check_random_state(self.random_state)
        settings = {"n_jobs": self.n_jobs, "probability": self.probability, **params}
        self._probabilities = LabelProbabilities.fit(self.estimator, X, labels, random, unknown=unknown, **settings)
        self.estimators_ = list(self._probabilities.classifiers)

    def _has_decisions(self) -> bool:
        if getattr(self, "_probability", self.probability) or not hasattr(self._base_estimator(), "decision_function"):
            raise AttributeError("decision_function needs probability=False and an estimator that has it.")
        return True

    @available_if(_has_decisions)
    @framed
    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the decision value of every label; available only with ``probability=False``.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries,)
            One array; a label with one class is 1 or -1. For a one-dimensional y, the value of its second class.
        """
        return self._container.decisions(self._probabilities.decision_values(self._queries(X)))

    def _explains_linearly(self) -> bool:
        return self._has_decisions() and is_linear(self)

    explain = available_if(_explains_linearly)(explain_linear)

    def _score(self, X: Matrix) -> FloatArray:
        return self._probabilities.predict(X)

    def _decide(self, X: Matrix) -> Matrix:
        return self._probabilities.decide(X)


@registered("method", "svm")
def support_vectors(*, C: float = 1.0, random_state: Any = None) -> BinaryRelevance:
    """Return linear support vector machines whose scores are decision values, without the folds of Platt's sigmoid."""
    return BinaryRelevance(LinearSVC(C=C, random_state=random_state), probability=False)


@registered("method", "smbr")
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
    >>> from nearlabel.rivals import SMBR
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
        nearest = []
        for block in row_blocks(len(decided), 16 * len(sizes)):
            # Hamming distance: |y| + |z| - 2 y·z; the size of the prediction is the same for all.
            shared = as_dense(self.labelsets_ @ sparse.csc_array(decided[block].T)).T
            nearest.append(np.argmin(sizes - 2 * shared, axis=1))
        return self.labelsets_[np.concatenate(nearest)]


# The base class of ensembles of chains and of binary relevance: models of resampled data vote on each label.

_VOTES = {"hard": "predict", "soft": "predict_proba"}


class ResampledEnsemble(AroundClassifier, WithProbabilities):
    """Multi-label models, each fitted to its own random samples; the score of a label is the mean of their votes.

    A subclass defines the kind of model in `_model`.
    """

    _dense_in_fit = ("samples", "labels")

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 10,
        max_samples: float = 0.67,
        bootstrap: bool = False,
        voting: str = "hard",
        threshold: float | str = 0.5,
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.bootstrap = bootstrap
        self.voting = voting
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        check_integer("n_estimators", self.n_estimators, low=1)
        if check_positive("max_samples", self.max_samples) > 1:
            raise ValueError(f"max_samples must be a share of the samples, at most 1, got {self.max_samples}.")
        check_flag("bootstrap", self.bootstrap)
        check_choice("voting", self.voting, _VOTES)
        _check_threshold(self.threshold)
        super()._check_parameters()

    @abstractmethod
    def _model(self, estimator: Any, labels: IntArray, seed: int, random: RandomState) -> Any:
        """Return an unfitted multi-label model, made of a binary classifier."""

    def _learn(self, X: Matrix, labels: Matrix, **params: Any) -> None:
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_estimators)
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(self._fitted_model)(X, labels, int(seed), params) for seed in seeds
        )
        self.threshold_ = self._fitted_threshold(X, labels, params.get("sample_weight"))

    def _fitted_model(self, X: Matrix, labels: Matrix, seed: int, params: Mapping[str, Any]) -> Any:
        """Fit one model to its own random samples; a label with one class among them is constant for the model."""
        random = RandomState(seed)
        rows = self._rows(X.shape[0], random)
        known = as_dense(labels[rows])
        classifier = seeded_classifier(self._base_estimator(), seed, probability=self.voting == "soft")
        model = self._model(classifier, known, seed, random)
        return model._fit(X[rows], known, **params_of_samples(params, rows, X.shape[0]))

    def _rows(self, n_samples: int, random: RandomState) -> IntArray:
        n_rows = max(1, round(self.max_samples * n_samples))
        drawn = random.randint(n_samples, size=n_rows) if self.bootstrap else random.permutation(n_samples)[:n_rows]
        return np.sort(drawn)  # all samples, in their original order

    def _fitted_threshold(self, X: Matrix, labels: Matrix, sample_weight: FloatArray | None) -> float:
        if self.threshold != "cardinality":
            return float(self.threshold)
        return float(PCut(per_label=False).fit(self._score(X), labels, sample_weight).thresholds_[0])

    def _score(self, X: Matrix) -> FloatArray:
        total = np.zeros((X.shape[0], len(self._varying)))
        for model in self.estimators_:
            total += getattr(model, _VOTES[self.voting])(X)
        return total / len(self.estimators_)

    def _decide(self, X: Matrix) -> Matrix:
        return cut(self._score(X), self.threshold_)


def _check_threshold(threshold: object) -> None:
    if isinstance(threshold, str):
        check_choice("threshold", threshold, {"cardinality"})
    elif check_positive("threshold", threshold) > 1:
        raise ValueError(f"threshold must be 'cardinality' or a number above 0, at most 1, got {threshold}.")


# Ensemble of binary relevance (Read, Pfahringer, Holmes and Frank, Machine Learning 2011).


@registered("method", "ebr")
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
        The fitted models, see `nearlabel.rivals.BinaryRelevance`. They are fitted to the labels that have both
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
    nearlabel.rivals.BinaryRelevance : A single model, trained on all samples.

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
    >>> from nearlabel.rivals import EnsembleOfBinaryRelevance
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> ensemble = EnsembleOfBinaryRelevance(max_samples=1.0, random_state=0).fit(X, y)
    >>> ensemble.predict([[0.5], [4.5]])
    array([[1, 0],
           [0, 1]])
    """

    def _model(self, estimator: Any, labels: IntArray, seed: int, random: RandomState) -> Any:
        return BinaryRelevance(estimator, probability=self.voting == "soft", random_state=seed)
