"""The number of neighbours with the best predictions for held-out samples, from one search: of all labels, or each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags

from nearlabel.lazy import LazyClassifier, MLkNN, Neighbors, NeighborsSweep
from nearlabel.metrics import Metric, MetricLike, get_metric
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS
from nearlabel.models import WithProbabilities
from nearlabel.models.out_of_sample import Fold, Needs, of_groups, rows_of, splits_of, splitter_of
from nearlabel.neighbors import NeighborGraph, PrecomputedNeighbors
from nearlabel.neighbors.votes import clone_search, takes_missing_values
from nearlabel.utils.containers import checked_container
from nearlabel.utils.estimators import refusing_others
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.targets import PartialLabels, check_partial_target, refusal_of_unknown, require_labels
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import check_choice, check_groups, check_integer


def tune_neighbors(
    estimator: Any,
    X: MatrixLike,
    y: MatrixLike,
    *,
    n_neighbors: int | Iterable[int] = 30,
    scoring: MetricLike | Sequence[MetricLike] = "micro_f1",
    cv: Any = None,
    groups: ArrayLike | None = None,
) -> Any:
    """Fit a lazy classifier with the number of neighbours that predicts held-out samples best.

    Each training sample is predicted as by a fit to all other samples: for every number of neighbours from a single
    search, without a refit, and with results identical to refitting (`loo_predict`, `loo_predict_proba`).

    Parameters
    ----------
    estimator : lazy classifier or Pipeline
        One with `n_neighbors`, or a pipeline that ends in one; is cloned.
    X : array-like, data frame or sparse container of shape (n_samples, n_features)
        Training samples.
    y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
        Label sets as an indicator matrix of 0 and 1, one label of two classes, or the tags of each sample.
    n_neighbors : int or iterable of int, default=30
        An int: every number from 1 up to it, or as far as the number of samples allows. An iterable: these numbers.
    scoring : str, Metric, callable or sequence of these, default="micro_f1"
        Metrics, as in `nearlabel.metrics.get_metric`; the first decides, the others are added to the table. Among the
        others may be "empty_predictions", the share of samples without a predicted label.
    cv : "loo", int, splitter or iterable of (training, validation) rows, default=None
        How samples are held out. None: "loo" where the classifier has leave-one-out predictions, else five folds of
        shuffled samples. "loo": one at a time; the other steps of a pipeline have then seen the sample. An int: this
        many folds, of consecutive samples. With folds, there is one search and one fit of the other steps for each
        fold; the predictions of all folds are scored together.
    groups : array-like of shape (n_samples,), default=None
        Names of groups of samples that are held out together, such as copies of a text or the images of one patient.
        "loo" leaves out whole groups, and needs as many additional neighbours as the largest group has samples: for few
        large groups ``cv=LeaveOneGroupOut()`` is better. An int or None makes folds of groups; a splitter gets the
        groups.

    Returns
    -------
    estimator : lazy classifier or Pipeline
        Fitted to all samples with the best number, the smallest of equally good ones, as its `n_neighbors`. The table
        is `cv_results_` of the classifier: "n_neighbors", and the values of each metric by its name, arrays
        (n_candidates,). The best value is optimistic: the samples that it is computed on chose the number.

    Raises
    ------
    TypeError
        If the estimator is no lazy classifier with `n_neighbors`, or `scoring` contains something that is no metric.
    ValueError
        If a number is out of range, a metric is unknown, `cv` is "loo" for a classifier without leave-one-out
        predictions, or X or y is malformed.

    See Also
    --------
    NeighborsPerLabel : A number of neighbours for each label.

    Notes
    -----
    scikit-learn's `GridSearchCV` searches again for each number and fold, and averages the folds.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import MLkNN
    >>> from nearlabel.selection import tune_neighbors
    >>> digits = load_multidigits()
    >>> tuned = tune_neighbors(MLkNN(), digits.X[:500], digits.Y[:500], n_neighbors=(1, 3, 5))
    >>> tuned.n_neighbors, tuned.cv_results_["micro_f1"].round(3).tolist()
    (3, [0.567, 0.598, 0.58])
    """
    metrics, X = _metrics(scoring), checked_container("X", X)
    tuned, classifier = _with_last_step(estimator)
    if cv is None and hasattr(classifier, "loo_predict"):
        cv = "loo"
    if isinstance(cv, str):
        _check_leaves_out(classifier, cv)
        rows = tuned[:-1].fit_transform(X, y) if _has_steps_before(tuned) else X
        NeighborsSweep.left_out(classifier, rows, y, n_neighbors, groups=groups).fit_best(metrics)
        classifier.set_params(n_neighbors=classifier.n_neighbors_)
        return tuned
    sweep = NeighborsSweep.on_folds(classifier, _folds(tuned, classifier, X, y, cv, groups), n_neighbors)
    table = sweep.table(metrics)
    classifier.set_params(n_neighbors=sweep.best(table, metrics[0]))
    tuned.fit(X, y)
    classifier.cv_results_ = table
    return tuned


def _check_leaves_out(classifier: Any, cv: str) -> None:
    """Raise ValueError unless cv is "loo" and the classifier has leave-one-out predictions."""
    if cv != "loo" or not hasattr(classifier, "loo_predict"):
        raise ValueError(
            f"cv must be a number of folds or a splitter for {type(classifier).__name__}, got {cv!r}."
            + (" It has no leave-one-out predictions." if cv == "loo" else "")
        )


def _folds(tuned: Any, classifier: Any, X: MatrixLike, y: MatrixLike, cv: Any, groups: ArrayLike | None) -> list[Fold]:
    """Return the folds, whose predictions are scored together; the other steps are fitted to each."""
    require_labels(tuned, y)
    (labels, container, _), unknown = check_partial_target(tuned, y)
    if unknown is not None and not classifier._takes_unknown:
        raise refusal_of_unknown(classifier, int(unknown.sum()))
    labels = PartialLabels(labels, unknown).with_nan()
    numbers = None if groups is None else check_groups(groups, labels.shape[0])
    splitter = splitter_of(5 if cv is None else cv, labels.shape[0], 0 if cv is None else None, numbers)
    splits = splits_of(splitter, X, labels if unknown is not None else container.wrap(labels), **of_groups(numbers))
    return [_fold(tuned, X, labels, *split) for split in splits]


def _fold(tuned: Any, X: MatrixLike, labels: Matrix, rows: Any, held: Any) -> Fold:
    """Return training and held-out samples and label sets, as a classifier behind the other steps gets them."""
    training, validation = rows_of(X, rows), rows_of(X, held)
    if _has_steps_before(tuned):
        steps = clone(tuned[:-1])
        training, validation = steps.fit_transform(training, labels[rows]), steps.transform(validation)
    return Fold(training, labels[rows], validation, labels[held])


def _has_steps_before(estimator: Any) -> bool:
    return isinstance(estimator, Pipeline) and len(estimator) > 1


def _with_last_step(estimator: Any) -> tuple[Any, LazyClassifier]:
    """Return a clone, and the lazy classifier in it."""
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not isinstance(last, LazyClassifier):
        raise TypeError(
            "estimator must be a lazy classifier with n_neighbors, or a pipeline that ends in one,"
            f" got {type(last).__name__}."
        )
    copy = clone(estimator)
    return copy, copy[-1] if isinstance(copy, Pipeline) else copy


def _metrics(scoring: MetricLike | Sequence[MetricLike]) -> list[MetricLike]:
    """Return the metrics, the first of which decides."""
    if isinstance(scoring, str | Metric) or callable(scoring):
        scoring = [scoring]
    elif not isinstance(scoring, Iterable):
        raise TypeError(f"scoring must be a metric or a list of metrics, got {scoring!r}.")
    metrics = list(scoring)
    if not metrics:
        raise ValueError("scoring must name at least one metric, got none.")
    if metrics[0] == EMPTY_PREDICTIONS:
        raise ValueError(f"scoring must begin with a metric that can decide, got {EMPTY_PREDICTIONS!r} first.")
    for metric in metrics:
        if metric != EMPTY_PREDICTIONS:
            get_metric(metric)
    return metrics


# A number of neighbours for each label (ML-k'sNN: a k of its own for every label).


class NeighborsPerLabel(WithProbabilities):
    """A lazy classifier with a number of neighbours of its own for each label.

    One search serves all: for each label, a clone of the classifier is fitted to this label alone with its own number
    of neighbours. With ``n_neighbors="auto"`` the numbers are those with the best leave-one-out predictions for the
    training samples, which are identical to refitting and need no refit.

    Parameters
    ----------
    estimator : MLkNN or BRkNN, default=None
        A method that decides each label by itself. None: `MLkNN()`.
    n_neighbors : "auto" or array-like of int of shape (n_labels,), default="auto"
        A number for each label; "auto" chooses them.
    max_neighbors : int, default=30
        "auto" tries every number from 1 up to it, as far as the number of samples allows.
    scoring : {"macro_f1", "micro_f1", "hamming_loss"}, default="macro_f1"
        The metric that "auto" optimises: the F1 of each label separately; F1 of all decisions together, whose global
        optimum over all choices of numbers is found; or each label's wrong decisions. The smallest of equally good
        numbers is chosen.

    Attributes
    ----------
    n_neighbors_ : ndarray of int of shape (n_labels,)
        The numbers.
    cv_results_ : dict of str to ndarray
        With "auto": "n_neighbors" (n_candidates,), and for the leave-one-out predictions "true_positives",
        "false_positives", "false_negatives" and "f1" (n_candidates, n_labels).
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, else 0 .. n_labels - 1.
    n_features_in_ : int
        Number of features.
    search_ : object
        The fitted search.

    See Also
    --------
    tune_neighbors : One number for all labels, by any metric.

    Notes
    -----
    The idea is that of ML-k'sNN; the numbers here are chosen by leave-one-out predictions of all training samples. Few
    samples decide the number of a rare label.

    References
    ----------
    J. M. Cuevas-Muñoz, N. García-Pedrajas: ML-k'sNN: Label Dependent k Values for Multi-Label k-Nearest Neighbor Rule.
    Mathematics 11(2), 275, 2023.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.selection import NeighborsPerLabel
    >>> digits = load_multidigits()
    >>> NeighborsPerLabel().fit(digits.X[:500], digits.Y[:500]).n_neighbors_.tolist()
    [13, 14, 4, 3, 9, 18, 8, 3, 25, 2]
    """

    _takes_constant_labels = True

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_neighbors: Any = "auto",
        max_neighbors: int = 30,
        scoring: str = "macro_f1",
    ) -> None:
        self.estimator = estimator
        self.n_neighbors = n_neighbors
        self.max_neighbors = max_neighbors
        self.scoring = scoring

    @refusing_others
    @all_or_nothing
    def fit(self, X: MatrixLike, y: MatrixLike, groups: ArrayLike | None = None) -> Self:
        """Fit the classifier to training samples and their label sets, and choose the numbers with "auto".

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Label sets as an indicator matrix of 0 and 1, or one label of two classes, as scikit-learn's binary
            classifiers take it. A label with one class is no error.
        groups : array-like of shape (n_samples,), default=None
            Names of groups of samples that "auto" leaves out together. None: each sample is its own group.

        Returns
        -------
        self
            The fitted classifier.

        Raises
        ------
        ValueError
            If X, y or groups are malformed, their lengths differ, or a parameter is out of range.
        TypeError
            If a parameter is of a wrong type.
        """
        return self._fit(X, y, groups=groups)

    def _check_parameters(self) -> None:
        check_choice("scoring", self.scoring, _OBJECTIVES)
        check_integer("max_neighbors", self.max_neighbors, low=1)
        if isinstance(self.n_neighbors, str) and self.n_neighbors != "auto":
            raise ValueError(f"n_neighbors must be an integer or 'auto', got {self.n_neighbors!r}.")
        if not getattr(self.estimator, "labels_are_independent", self.estimator is None):
            raise TypeError(
                "estimator must be a lazy classifier that decides each label by itself, MLkNN or BRkNN,"
                f" got {type(self.estimator).__name__}."
            )

    def _learn(self, X: Matrix, labels: Matrix, groups: ArrayLike | None = None) -> None:
        whole = clone(MLkNN() if self.estimator is None else self.estimator)
        self.search_ = clone_search(whole.search)
        self.search_.fit(X)
        auto = isinstance(self.n_neighbors, str)
        numbers = None if groups is None else check_groups(groups, labels.shape[0])
        largest = 1 if numbers is None else int(np.bincount(numbers).max())
        most = self.max_neighbors + largest if auto else int(self._given_numbers(labels).max())
        whole.set_params(search=self._known_neighbors(labels.shape[0], most))
        self.n_neighbors_ = self._chosen_numbers(whole, X, labels, numbers) if auto else self._given_numbers(labels)
        self._parts = []
        for k in np.unique(self.n_neighbors_):
            columns = np.flatnonzero(self.n_neighbors_ == k)
            self._parts.append((columns, clone(whole).set_params(n_neighbors=int(k)).fit(X, labels[:, columns])))

    def _known_neighbors(self, n_samples: int, most: int) -> PrecomputedNeighbors:
        """Search once for this many neighbours of the training samples, or as many as there are."""
        most = min(most, n_samples - 1, getattr(self.search_, "n_neighbors_known", most))
        if not most:  # a single sample
            return PrecomputedNeighbors(NeighborGraph(np.empty((1, 0)), np.empty((1, 0), dtype=np.intp)))
        return PrecomputedNeighbors(NeighborGraph(*self.search_.kneighbors(n_neighbors=most)))

    def _chosen_numbers(self, whole: Any, X: Matrix, labels: Matrix, groups: IntArray | None) -> IntArray:
        """Try every number on all labels at once, and take for each label its best."""
        sweep = NeighborsSweep.left_out(whole, X, labels, self.max_neighbors, groups=groups)
        counts = [_counts(truth, answer.labels) for _, truth, answer in sweep.answers(scores=False)]
        self.cv_results_ = {
            "n_neighbors": np.array(sweep.candidates),
            **_table(*np.array(counts).swapaxes(0, 1)),
        }
        best = _OBJECTIVES[self.scoring](self.cv_results_)
        return np.asarray(self.cv_results_["n_neighbors"][best])

    def _given_numbers(self, labels: Matrix) -> IntArray:
        """Return the numbers that were given, as an array."""
        numbers = np.asarray(self.n_neighbors)
        if numbers.shape != labels.shape[1:] or numbers.dtype.kind not in "iu":
            raise ValueError(
                f"n_neighbors must be 'auto' or {labels.shape[1]} integers, one a label,"
                f" got {numbers.dtype} of shape {numbers.shape}."
            )
        return numbers.astype(np.intp)

    def _neighbors(self, X: Matrix) -> Iterator[tuple[Any, Neighbors]]:
        """Yield the parts and their neighbours of the queries, from one search."""
        distances, indices = self.search_.kneighbors(X, int(self.n_neighbors_.max()))
        for _, part in self._parts:
            yield part, Neighbors(distances[:, : part.n_neighbors_], indices[:, : part.n_neighbors_])

    def _score(self, X: Matrix) -> FloatArray:
        return np.hstack([part._answer(some, Needs(labels=False)).scores for part, some in self._neighbors(X)])[
            :, self._places
        ]

    def _decide(self, X: Matrix) -> Matrix:
        parts = [part._answer(some, Needs(scores=False)).labels for part, some in self._neighbors(X)]
        stacked = sparse.hstack(parts, format="csr") if sparse.issparse(parts[0]) else np.hstack(parts)
        return stacked[:, self._places]

    def __sklearn_tags__(self) -> Tags:
        """Declare that X may contain NaN where the classifier's search allows it."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = takes_missing_values(self.estimator)
        return tags

    @property
    def _places(self) -> IntArray:
        """Return the place of each label among the columns of all parts."""
        return np.argsort(np.concatenate([columns for columns, _ in self._parts]))


def _counts(truth: Matrix, predicted: Matrix) -> IntArray:
    """Return true positives, false positives and false negatives of each label, (3, n_labels)."""
    truth, predicted = sparse.csr_array(truth), sparse.csr_array(predicted)
    n_true, n_predicted, n_both = (
        np.asarray(labels.sum(axis=0)).ravel() for labels in (truth, predicted, truth * predicted)
    )
    return np.array([n_both, n_predicted - n_both, n_true - n_both])


def _table(tp: IntArray, fp: IntArray, fn: IntArray) -> dict[str, NDArray[Any]]:
    """Return the counts (n_candidates, n_labels) by name, and F1, which is 0 without positives and predictions."""
    f1 = 2 * tp / np.maximum(2 * tp + fp + fn, 1)
    return {"true_positives": tp, "false_positives": fp, "false_negatives": fn, "f1": f1}


def _best_for_macro_f1(table: Mapping[str, NDArray[Any]]) -> IntArray:
    best: IntArray = table["f1"].argmax(axis=0)
    return best


def _best_for_hamming_loss(table: Mapping[str, NDArray[Any]]) -> IntArray:
    best: IntArray = (table["false_positives"] + table["false_negatives"]).argmin(axis=0)
    return best


def _best_for_micro_f1(table: Mapping[str, NDArray[Any]]) -> IntArray:
    """Maximise Σ 2tp / Σ (2tp + fp + fn) over one choice a label, by Dinkelbach's iteration."""
    doubled = 2 * table["true_positives"]
    size = doubled + table["false_positives"] + table["false_negatives"]
    value, reached = -1.0, 0.0
    while reached > value:
        value = reached
        best: IntArray = (doubled - value * size).argmax(axis=0)[np.newaxis]
        reached = np.take_along_axis(doubled, best, 0).sum() / max(np.take_along_axis(size, best, 0).sum(), 1)
    return np.asarray(best[0])


_OBJECTIVES: Mapping[str, Callable[[Mapping[str, NDArray[Any]]], IntArray]] = MappingProxyType(
    {"macro_f1": _best_for_macro_f1, "micro_f1": _best_for_micro_f1, "hamming_loss": _best_for_hamming_loss}
)
