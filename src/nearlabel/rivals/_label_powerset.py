"""Label powerset: each label set that occurs is one class; and RAkEL, label powersets on small sets of labels."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from math import ceil, comb
from typing import Any

import numpy as np
from numpy.random import RandomState
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.random import sample_without_replacement

from nearlabel.labels import labelsets_by_frequency
from nearlabel.models import WithProbabilities
from nearlabel.rivals._binary_relevance import AroundCalibrated, AroundClassifier
from nearlabel.solvers.label_probabilities import Temperature, with_seed
from nearlabel.utils.estimators import RESPONSE_METHODS, response_method_of
from nearlabel.utils.naming import registered
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, check_choice, check_integer, row_blocks

_MANY_CLASSES = "The number of unique classes is greater than 50%"  # scikit-learn takes that for a regression target


@registered("method", "lp")
class LabelPowerset(AroundCalibrated):
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
    nearlabel.rivals.RAkELo : Many label powersets on few labels each, for data with too many label sets.

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
    >>> from nearlabel.rivals import LabelPowerset
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 1], [1, 1], [0, 1], [0, 1]]
    >>> LabelPowerset().fit(X, y).predict([[0.5], [4.5]])
    array([[1, 1],
           [0, 1]])
    """

    _takes_constant_labels = True

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
        estimator = with_seed(self._base_estimator(), seed)
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


# RAkEL: label powersets on random small sets of labels (Tsoumakas and Vlahavas 2007; with Katakis 2011).


class _OnLabelSubsets(AroundClassifier, WithProbabilities):
    """Label powersets on subsets of the labels; the score of a label is the mean prediction of its models."""

    _takes_constant_labels = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        labelset_size: int = 3,
        voting: str = "hard",
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.labelset_size = labelset_size
        self.voting = voting
        self.random_state = random_state
        self.n_jobs = n_jobs

    @abstractmethod
    def _draw(self, n_labels: int, random: RandomState) -> list[IntArray]:
        """Return subsets of ``range(n_labels)``."""

    def _check_parameters(self) -> None:
        check_integer("labelset_size", self.labelset_size, low=1)
        check_choice("voting", self.voting, {"hard", "soft"})
        super()._check_parameters()

    def _learn(self, X: Matrix, labels: Matrix, **params: Any) -> None:
        random = check_random_state(self.random_state)
        self.subsets_ = self._draw(labels.shape[1], random)
        seeds = random.randint(np.iinfo(np.int32).max, size=len(self.subsets_))
        self._answer = "predict_proba" if self.voting == "soft" else "predict"
        columns = labels.tocsc() if sparse.issparse(labels) else labels
        self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(self._powerset(int(seed))._fit)(X, as_dense(columns[:, subset]), **params)
            for subset, seed in zip(self.subsets_, seeds, strict=True)
        )

    def _powerset(self, seed: int) -> LabelPowerset:
        return LabelPowerset(self.estimator, probability=self.voting == "soft", random_state=seed)

    def _score(self, X: Matrix) -> FloatArray:
        votes, voters = np.zeros((X.shape[0], len(self.label_names_))), np.zeros(len(self.label_names_))
        for subset, model in zip(self.subsets_, self.estimators_, strict=True):
            votes[:, subset] += getattr(model, self._answer)(X)
            voters[subset] += 1
        return np.where(voters > 0, votes / np.maximum(voters, 1), self._carried_by_all)


@registered("method", "rakelo")
class RAkELo(_OnLabelSubsets):
    """Predict labels by the votes of label powersets on overlapping random subsets of k labels.

    Each of M distinct random subsets gets its own label powerset. The score of a label is the share of votes for it
    among the models whose subset contains it; the label is predicted if the share is at least one half.

    Parameters
    ----------
    estimator : multi-class classifier, default=None
        The classifier of each label powerset, whose classes are label sets of a few labels. None:
        ``LinearSVC(dual=False)``, a linear support vector machine; see `nearlabel.rivals.LabelPowerset`.
    labelset_size : int, default=3
        Number of labels k in a subset; all labels if there are fewer.
    n_estimators : int, default=None
        Number of subsets M; all subsets if there are fewer. None: twice the number of labels.
    voting : {"hard", "soft"}, default="hard"
        A model's vote for each of its labels: "hard", 0 or 1, by the label set that it predicts, as in the paper;
        "soft", its probability of the label.
    random_state : int, RandomState or None, default=None
        Draws the subsets; passed to the label powersets.
    n_jobs : int, default=None
        Number of models fitted in parallel.

    Attributes
    ----------
    subsets_ : list of length M of ndarray of shape (labelset_size,)
        Label indices of each subset, ascending.
    estimators_ : list of length M
        The fitted `LabelPowerset` of each subset.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    RAkELd : Subsets that do not overlap.

    Notes
    -----
    The paper draws all subsets at random, so a label may be in no subset; Mulan then never predicts it. Here the labels
    are first assigned in random order, k to a subset; the last subset is filled up with the labels that were assigned
    first. Each of these subsets contains a label that no other of them contains, so all are distinct. The remaining
    subsets are drawn at random; duplicates are drawn again. So each label is covered if ``M * k >= n_labels``. With
    fewer subsets, a warning names the labels in no subset; they are predicted only if all training samples carry them.

    With tied votes the label is predicted, as in Mulan.

    If the classifier has no `predict_proba`, as the default, soft votes take about six times as long as hard votes:
    each model is fitted five more times for calibration.

    The default classifier needs features centred near zero and of similar scale; pass ``make_pipeline(StandardScaler(),
    LinearSVC(dual=False))`` if they are not.

    References
    ----------
    G. Tsoumakas, I. Vlahavas. Random k-labelsets: an ensemble method for multilabel classification. European Conference
    on Machine Learning, 2007.

    G. Tsoumakas, I. Katakis, I. Vlahavas. Random k-labelsets for multilabel classification. IEEE Transactions on
    Knowledge and Data Engineering 23(7), 2011.

    Examples
    --------
    >>> from nearlabel.rivals import RAkELo
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]]
    >>> rakel = RAkELo(labelset_size=2, random_state=0).fit(X, y)
    >>> len(rakel.subsets_)
    3
    >>> rakel.predict([[0.5], [4.5]])
    array([[1, 1, 0],
           [0, 1, 1]])
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        labelset_size: int = 3,
        n_estimators: int | None = None,
        voting: str = "hard",
        random_state: int | RandomState | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            estimator, labelset_size=labelset_size, voting=voting, random_state=random_state, n_jobs=n_jobs
        )
        self.n_estimators = n_estimators

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.n_estimators is not None:
            check_integer("n_estimators", self.n_estimators, low=1)

    def _draw(self, n_labels: int, random: RandomState) -> list[IntArray]:
        n_subsets = 2 * n_labels if self.n_estimators is None else self.n_estimators
        subsets = _covering_subsets(n_labels, min(self.labelset_size, n_labels), n_subsets, random)
        uncovered = np.setdiff1d(np.arange(n_labels), np.concatenate(subsets))
        if len(uncovered):
            warnings.warn(
                f"n_estimators={n_subsets} subsets of labelset_size={self.labelset_size} cannot cover all"
                f" {n_labels} labels: {self.label_names_[uncovered].tolist()} are in no subset and are not learned.",
                UserWarning,
                stacklevel=6,
            )
        return subsets


@registered("method", "rakeld")
class RAkELd(_OnLabelSubsets):
    """Predict labels by label powersets on a random partition of the labels into parts of k labels.

    Parameters
    ----------
    estimator : multi-class classifier, default=None
        The classifier of each label powerset, whose classes are label sets of a few labels. None:
        ``LinearSVC(dual=False)``, a linear support vector machine; see `nearlabel.rivals.LabelPowerset`.
    labelset_size : int, default=3
        Number of labels k in a part; all labels if there are fewer.
    voting : {"hard", "soft"}, default="hard"
        "hard": the label sets that the models predict, as in the paper; scores are 0 and 1. "soft": scores are the
        models' probabilities of their labels, and labels with at least one half are predicted.
    random_state : int, RandomState or None, default=None
        Draws the partition; passed to the label powersets.
    n_jobs : int, default=None
        Number of models fitted in parallel.

    Attributes
    ----------
    subsets_ : list of ndarray
        Label indices of each part, ascending.
    estimators_ : list
        The fitted `LabelPowerset` of each part.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    RAkELo : Subsets that overlap, and votes.

    Notes
    -----
    If k does not divide the number of labels, the last part has fewer labels; a single remaining label joins the last
    part, as in Mulan (in the paper it forms its own part).

    If the classifier has no `predict_proba`, as the default, soft votes take about six times as long as hard votes:
    each model is fitted five more times for calibration.

    The default classifier needs features centred near zero and of similar scale; pass ``make_pipeline(StandardScaler(),
    LinearSVC(dual=False))`` if they are not.

    References
    ----------
    G. Tsoumakas, I. Katakis, I. Vlahavas. Random k-labelsets for multilabel classification. IEEE Transactions on
    Knowledge and Data Engineering 23(7), 2011.

    Examples
    --------
    >>> from nearlabel.rivals import RAkELd
    >>> X, y = [[0.0], [1.0], [4.0], [5.0]], [[1, 1, 0], [1, 1, 0], [0, 1, 1], [0, 1, 1]]
    >>> RAkELd(labelset_size=2, random_state=0).fit(X, y).predict([[0.5], [4.5]])
    array([[1, 1, 0],
           [0, 1, 1]])
    """

    def _draw(self, n_labels: int, random: RandomState) -> list[IntArray]:
        return _partition(n_labels, self.labelset_size, random)


def _covering_subsets(n_labels: int, size: int, n_subsets: int, random: RandomState) -> list[IntArray]:
    """Return distinct random subsets, at most all there are; if there are enough, they cover all labels."""
    n_subsets = min(n_subsets, comb(n_labels, size))
    dealt = np.resize(random.permutation(n_labels), (ceil(n_labels / size), size))  # repeats once all labels are used
    subsets = dict.fromkeys(tuple(sorted(subset)) for subset in dealt[:n_subsets].tolist())
    while len(subsets) < n_subsets:
        drawn = sample_without_replacement(n_labels, size, random_state=random)
        subsets[tuple(sorted(drawn.tolist()))] = None
    return [np.array(subset) for subset in subsets]


def _partition(n_labels: int, size: int, random: RandomState) -> list[IntArray]:
    """Return random disjoint parts that contain each label once."""
    starts = np.arange(size, n_labels, size)
    if n_labels % size == 1:
        starts = starts[:-1]  # a single remaining label joins the last part
    return [np.sort(part) for part in np.split(random.permutation(n_labels), starts)]
