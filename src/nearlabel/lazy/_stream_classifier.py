"""A classifier of a stream of samples, which predicts before it learns and stores a bounded number of samples."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_consistent_length

from nearlabel.lazy._mlknn import MLkNN
from nearlabel.lazy._streams import KeptRows, Prequential, Watch, changing_in_one_step, f1_of_rows, nearest_learnt
from nearlabel.metrics.counts import Comparison
from nearlabel.models import explain, updates
from nearlabel.models.explanation import Explanation
from nearlabel.utils import targets
from nearlabel.utils.containers import check_row_names
from nearlabel.utils.estimators import available_if, refusing_others, score
from nearlabel.utils.frames import FrameOutput, framed
from nearlabel.utils.one_step import all_or_nothing
from nearlabel.utils.tags import predict_labels
from nearlabel.utils.types import FloatArray, IntArray, LabelSets, Matrix, MatrixLike
from nearlabel.utils.validation import check_choice, check_integer, check_positive, check_row_numbers, check_rows


def _has(method: str) -> Callable[[Any], bool]:
    return lambda self: hasattr(self._base_estimator(), method)


class StreamClassifier(FrameOutput, ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Predict, then learn, then forget: a lazy classifier of the latest, or the most useful, samples of a stream.

    `partial_fit` first predicts the new samples with the present model, and compares the predictions with their label
    sets: these are the prequential scores, from which drift is detected. Then it adds the samples, and removes others
    so that at most `max_rows` remain. The model always equals, to the bit, a fit to the remaining samples.

    Parameters
    ----------
    estimator : classifier, default=None
        A lazy classifier that can be updated (`nearlabel.models.updates`), such as `BRkNN` or `MLkNN`, a pipeline that
        ends in one, or thresholds tuned for one. None: `MLkNN()`. Steps of a pipeline are fitted to the first
        samples and then do not change; thresholds and a chosen number of neighbours do not change until
        ``updates.retune(stream.estimator_)``.
    max_rows : int, default=10000
        Largest number of samples after each call, more than `n_neighbors`. `partial_fit` needs memory for its new
        samples in addition.
    forgetting : {"oldest", "least_useful"}, default="oldest"
        Which samples are removed when there are too many. "oldest": those that came first. "least_useful": those whose
        label sets agreed less with the true ones than those of other neighbours, see Notes.
    min_rows : int, default=50
        Number of samples that `partial_fit` collects before the first model: `max_rows` if that is less, and more if
        the estimator needs more for its `n_neighbors`. Until then there are no predictions and no scores.
    drift_window : int, default=200
        Number of samples of a window that is compared with earlier windows.
    drift_alpha : float, default=0.01
        The share of windows that may be called drift when there is none.

    Attributes
    ----------
    estimator_ : classifier
        The model of the remaining samples.
    kept_ : ndarray of int of shape (n_kept,)
        The remaining samples, numbered from 0 in the order in which they came; ascending.
    changes_ : dict
        "added" and "forgotten", the numbers of samples added and removed since the first model, and "new_labels".
    thresholds_stale_ : bool
        Whether samples were added or removed since thresholds inside were tuned.
    n_samples_seen_ : int
        Number of all samples so far, with those of `fit`.
    prequential_ : dict of str to number
        Of the samples that were predicted before they were learnt: "n_samples", "micro_f1", "example_f1" (the mean F1
        of a sample, 1 where nothing was predicted and nothing true) and "hamming_loss"; nan before there are any.
    drift_ : Drift or None
        Loss, 1 minus a sample's F1, in the last full window compared with all earlier windows since the last drift.
    novelty_ : Drift or None
        Novelty in the last full window compared with 1/2: the share of stored samples that were nearer to their
        neighbours when they came than the new sample is. It needs no labels: it shows that features change.
    drifts_ : list of int
        Number of samples so far, each time that `drift_` was found.
    classes_ : ndarray of shape (n_labels,)
        Column numbers of y, Python integers; the sorted classes of a one-dimensional y.
    label_names_ : ndarray of shape (n_labels,)
        Column names of the data frame y, tags, or column numbers.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    nearlabel.lazy.MLkNN.partial_fit : The same without scores and a limit, also for samples of any age.

    Notes
    -----
    *Usefulness.* Each predicted sample has `n_neighbors` neighbours. A neighbour's agreement is the F1 of its label set
    with the true one. Its agreement minus the mean agreement of these neighbours is added to its balance; balances fade
    by the factor exp(-n / max_rows) while n samples come. The samples of least balance are removed, among equal ones
    the oldest; samples that have just come stay. So a sample that has never been a neighbour keeps the balance 0: it is
    removed after all harmful and before all useful ones.

    *Drift* is found at the end of a window if its mean loss exceeds that of all earlier windows by more than
    ``sqrt(log(1 / drift_alpha) / 2 * (1 / n_window + 1 / n_before))``, a bound by Hoeffding for losses of any
    distribution. So without drift at most the share `drift_alpha` of the windows is called drift; usually it is much
    less. After drift, windows are compared with the one in which it was found. Novelty has the same rule with 1/2 and
    without the last term, which is right for samples from the same distribution. Its mean is at most 1/2 while the
    memory fills, as neighbours get nearer, and it begins when `drift_window` stored samples have come by `partial_fit`.
    Drift has no other consequences; call `forget` to remove the samples before it.

    *Cost.* A new sample is searched for three times: to predict it, to update the balances of its neighbours, and to
    learn it.

    References
    ----------
    A. P. Dawid: Statistical theory: the prequential approach. Journal of the Royal Statistical Society A 147, 1984.

    W. Hoeffding: Probability inequalities for sums of bounded random variables. JASA 58, 1963.

    M. Roseberry, B. Krawczyk, A. Cano: Multi-label punitive kNN with self-adjusting memory for drifting data streams.
    ACM TKDD 13(6), 2019. (There, samples that vote wrongly too often are removed; here, those that vote worse than
    others.)

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import StreamClassifier
    >>> digits = load_multidigits()
    >>> stream = StreamClassifier(max_rows=300)
    >>> for start in range(0, 600, 20):
    ...     rows = slice(start, start + 20)
    ...     stream = stream.partial_fit(digits.X[rows], digits.Y[rows])
    >>> len(stream.kept_), stream.n_samples_seen_, stream.prequential_["n_samples"]
    (300, 600, 540)
    """

    drifts_: list[int]
    classes_: NDArray[Any]
    label_names_: NDArray[Any]
    _container: targets.LabelContainer
    _labels: Matrix  # of the remaining or the collected samples
    _rows: KeptRows
    _waiting: list[Matrix]  # collected samples

    def __init__(
        self,
        estimator: Any = None,
        *,
        max_rows: int = 10_000,
        forgetting: str = "oldest",
        min_rows: int = 50,
        drift_window: int = 200,
        drift_alpha: float = 0.01,
    ) -> None:
        self.estimator = estimator
        self.max_rows = max_rows
        self.forgetting = forgetting
        self.min_rows = min_rows
        self.drift_window = drift_window
        self.drift_alpha = drift_alpha

    @refusing_others
    @all_or_nothing
    def fit(self, X: MatrixLike, y: MatrixLike) -> Self:
        """Begin a stream with these samples, which are learnt without being predicted.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_samples, n_features)
            Training samples. If there are more than `max_rows`, the last are used.
        y : array-like, data frame or sparse container of shape (n_samples, n_labels) or (n_samples,)
            Their label sets as an indicator matrix of 0 and 1, one label of two classes, or the tags of each sample.
            All cells must be known.

        Returns
        -------
        self
            The classifier.

        Raises
        ------
        ValueError
            If X or y is malformed, their lengths differ, there are too few samples for the estimator, or a parameter is
            out of range.
        TypeError
            If a parameter is of a wrong type, or the estimator cannot be updated.
        """
        self._check_parameters()
        self._start(*self._arriving(X, y, None, first=True))
        return self

    @refusing_others
    @changing_in_one_step
    def partial_fit(self, X: MatrixLike, y: MatrixLike, classes: ArrayLike | None = None) -> Self:
        """Predict new samples, score the predictions, learn the samples, and remove old ones if there are too many.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_new, n_features)
            New samples, in the order in which they came. All are predicted before any is learnt. If there are more than
            `max_rows`, the last are learnt.
        y : array-like, data frame or sparse container of shape (n_new, n_labels) or (n_new,)
            Their label sets, in the form of the first call. They may contain new labels, as in
            `nearlabel.lazy.MLkNN.partial_fit`; for the scores these are labels that were not predicted.
        classes : array-like, default=None
            Names of labels, or the classes of a one-dimensional y, that may appear later.

        Returns
        -------
        self
            The classifier with these samples.

        Raises
        ------
        ValueError
            If X or y is malformed or does not fit the earlier samples and labels, or a parameter is out of range. Then
            nothing has changed.
        TypeError
            If a parameter is of a wrong type, or the estimator cannot be updated.
        """
        self._check_parameters()
        rows, joined = self._arriving(X, y, classes, first=not hasattr(self, "_labels"))
        if hasattr(self, "estimator_"):
            self._answer_and_learn(rows, joined)
        else:
            self._gather(rows, joined)
        return self

    @changing_in_one_step
    def forget(self, rows: ArrayLike) -> Self:
        """Remove samples, for instance all that came before a drift.

        Parameters
        ----------
        rows : array-like of int of shape (n_removed,)
            Places in `kept_`, each once.

        Returns
        -------
        self
            The classifier without these samples.

        Raises
        ------
        ValueError
            If a place is unknown or comes twice, or too few samples would be left for `n_neighbors`. Then nothing has
            changed.
        sklearn.exceptions.NotFittedError
            If no model has been fitted yet.
        """
        self._require_model()
        gone = check_row_numbers("rows", rows, len(self._rows))
        updates.forget(self.estimator_, gone)
        self._drop(gone)
        return self

    @framed
    def predict(self, X: MatrixLike) -> LabelSets:
        """Return the label set of every query, predicted from the remaining samples.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        labels : ndarray or CSR of shape (n_queries, n_labels) or (n_queries,)
            Indicator matrix in the container and of the dtype that y had at first; an array where y was a data frame
            or tags, CSR if its columns were sparse or tags many. For a one-dimensional y, the predicted classes.
        """
        queries = self._queries(X)
        found: LabelSets = self.estimator_.predict(queries)
        return found

    @available_if(_has("predict_proba"))
    @framed
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the score of every label, in [0, 1].

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        scores : ndarray of shape (n_queries, n_labels) or (n_queries, n_classes)
            As the estimator's.
        """
        queries = self._queries(X)
        scores: FloatArray = self.estimator_.predict_proba(queries)
        return scores

    def explain(self, X: MatrixLike) -> list[Explanation]:
        """Explain the label set of every query.

        Parameters
        ----------
        X : array-like, data frame or sparse container of shape (n_queries, n_features)
            Queries.

        Returns
        -------
        list of nearlabel.lazy.Explanation
            One for each query; the numbers of neighbours are places in `kept_`.
        """
        queries = self._queries(X)
        return explain(self.estimator_, queries, label_names=self.label_names_.tolist())

    @property
    def kept_(self) -> IntArray:
        """The remaining samples, by their number in the stream."""
        return self._rows.number

    @property
    def changes_(self) -> dict[str, Any]:
        """How many samples were added and removed since the first model, and which labels are new."""
        known = updates.updated_part(self.estimator_).changes_
        n_new = len(known["new_labels"])
        return {**known, "new_labels": self.label_names_.tolist()[len(self.label_names_) - n_new :]}

    @property
    def thresholds_stale_(self) -> bool:
        """Whether samples were added or removed since thresholds inside were tuned."""
        return bool(getattr(updates.updated_part(self.estimator_), "thresholds_stale_", False))

    predict_labels = predict_labels
    score = score

    def _arriving(
        self, X: MatrixLike, y: MatrixLike, classes: ArrayLike | None, *, first: bool
    ) -> tuple[Matrix, updates.Labelled]:
        """Check new samples, and return them with the label sets of all remaining or collected ones, theirs below."""
        check_row_names(X=X, y=y)
        rows = check_rows(self, X, reset=first)
        if first:
            target = targets.check_target(self, y, dtype=np.int8)
            known = updates.Labelled(target.labels[:0], target.container, target.names)
            new = updates.Labelled(*target, by_place=True)
        else:
            known = updates.Labelled(self._labels, self._container, self.label_names_)
            new = known.arriving(self, y)
        if new.unknown is not None:
            raise targets.refusal_of_unknown(self, int(new.unknown.sum()))
        check_consistent_length(rows, new.labels)
        return rows, known.joined(new, classes)

    def _gather(self, rows: Matrix, joined: updates.Labelled) -> None:
        """Store rows until they are enough for a model."""
        waiting = [*getattr(self, "_waiting", ()), rows]
        n_enough = min(self.max_rows, max(self.min_rows, self._n_neighbors_asked() + 1))
        if joined.labels.shape[0] >= n_enough:
            any_sparse = any(map(sparse.issparse, waiting))
            self._start(sparse.vstack(waiting, format="csr") if any_sparse else np.vstack(waiting), joined)
        else:
            self._begin(joined)
            self._waiting = waiting

    def _start(self, rows: Matrix, joined: updates.Labelled) -> None:
        """Fit the first model, and forget everything of an earlier stream."""
        n_rows = rows.shape[0]
        n_skipped = max(0, n_rows - self.max_rows)
        y = joined.container.wrap(joined.labels[n_skipped:])
        self.estimator_ = clone(self._base_estimator()).fit(rows[n_skipped:], y)
        self._begin(joined)
        self._drop(np.arange(n_skipped))

    def _begin(self, joined: updates.Labelled) -> None:
        """Set everything except the model to its state after rows that were not predicted."""
        n_rows = joined.labels.shape[0]
        self._remember(joined)
        self._waiting = []
        self._rows, self.n_samples_seen_ = KeptRows.first(n_rows), n_rows
        self._scores = Prequential()
        self._losses = Watch(self.drift_window, self.drift_alpha)
        self._novelties = Watch(self.drift_window, self.drift_alpha, expected=0.5)
        self.drifts_ = []
        self._report()

    def _answer_and_learn(self, rows: Matrix, joined: updates.Labelled) -> None:
        n_old, n_new = len(self._rows), rows.shape[0]
        before, truth = joined.labels[:n_old], joined.labels[n_old:]
        answered = Comparison.of(truth, self._predicted(rows, joined))
        near = nearest_learnt(self.estimator_, rows)
        n_skipped = max(0, n_new - self.max_rows)
        y = joined.container.wrap(truth[n_skipped:])
        updates.partial_fit(self.estimator_, rows[n_skipped:], y, classes=joined.container.classes)
        distances = near.mean_distances()
        self._judge(answered, distances)
        if self.forgetting == "least_useful":
            self._rows = self._rows.weighed(math.exp(-n_new / self.max_rows), near.indices, before, truth)
        self._rows = self._rows.with_new(np.arange(self.n_samples_seen_, self.n_samples_seen_ + n_new), distances)
        self.n_samples_seen_ += n_new
        self._remember(joined)
        self._drop(np.arange(n_old, n_old + n_skipped))
        self._make_room(n_old)

    def _predicted(self, rows: Matrix, joined: updates.Labelled) -> Matrix:
        """Return the label sets that the present model predicts, with a column for each label."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", updates.StaleThresholdsWarning)  # rows come all the time
            found = self.estimator_.predict(rows)
        classes = joined.container.classes
        if classes is not None:
            return ((found == classes[-1]) & (len(classes) == 2)).astype(np.int8)[:, np.newaxis]
        labels = targets.as_label_matrix(found, dtype=np.int8)
        return updates.in_columns(labels, np.arange(labels.shape[1]), len(joined.names))

    def _judge(self, answered: Comparison, distances: FloatArray) -> None:
        """Add the predictions for new samples, and the distances to their neighbours, to all figures."""
        counts = answered.per_example
        self._scores = self._scores.with_rows(counts)
        self.drifts_ += [self.n_samples_seen_ + n_rows for n_rows in self._losses.add(1 - f1_of_rows(counts))]
        self._novelties.add(self._rows.novelty(distances, least=self.drift_window))
        self._report()

    def _report(self) -> None:
        self.prequential_ = self._scores.figures()
        self.drift_, self.novelty_ = self._losses.last, self._novelties.last

    def _make_room(self, n_old: int) -> None:
        """Remove as many of the old rows, which come first, as there are rows too many."""
        n_over = len(self._rows) - self.max_rows
        if n_over > 0:
            old = self._rows.without(np.arange(n_old, len(self._rows)))
            gone = old.least_useful(n_over) if self.forgetting == "least_useful" else np.arange(n_over)
            updates.forget(self.estimator_, gone)
            self._drop(gone)

    def _drop(self, gone: IntArray) -> None:
        """Remove the facts about rows, by their places."""
        self._labels = self._labels[np.delete(np.arange(len(self._rows)), gone)]
        self._rows = self._rows.without(gone)

    def _remember(self, joined: updates.Labelled) -> None:
        """Set the label sets of the remaining rows, the form of y and the names of the labels."""
        targets.remember_target(self, targets.Target(joined.labels, joined.container, joined.names))
        self._labels = joined.labels

    def _base_estimator(self) -> Any:
        return MLkNN() if self.estimator is None else self.estimator

    def _n_neighbors_asked(self) -> int:
        """Return the number of neighbours, 0 if it is to be chosen or not known."""
        n_neighbors = getattr(self._base_estimator(), "n_neighbors", 0)
        return int(n_neighbors) if isinstance(n_neighbors, numbers.Integral) else 0

    def _check_parameters(self) -> None:
        most = check_integer("max_rows", self.max_rows, low=2)
        check_integer("min_rows", self.min_rows, low=1)
        check_choice("forgetting", self.forgetting, ("least_useful", "oldest"))
        check_integer("drift_window", self.drift_window, low=1)
        if check_positive("drift_alpha", self.drift_alpha) >= 1:
            raise ValueError(f"drift_alpha must be less than 1, got {self.drift_alpha}.")
        estimator = self._base_estimator()
        if not updates.can_be_updated(estimator) or not _has_neighbors(estimator):
            raise TypeError(
                "estimator must be a method by votes of neighbours, such as MLkNN, or a pipeline or thresholds around"
                f" one, got {type(estimator).__name__}."
            )
        if most <= self._n_neighbors_asked():
            raise ValueError(
                f"max_rows must be more than the n_neighbors={estimator.n_neighbors} of the estimator, got {most}."
            )

    def _queries(self, X: MatrixLike) -> Matrix:
        self._require_model()
        return check_rows(self, X, reset=False)

    def _require_model(self) -> None:
        if not hasattr(self, "estimator_"):
            n_waiting = self._labels.shape[0] if hasattr(self, "_labels") else 0
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet: it has collected {n_waiting} samples of min_rows="
                f"{self.min_rows}. Hint: call fit, or partial_fit with more samples."
            )

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a model: collected rows are none."""
        return hasattr(self, "estimator_")

    def __sklearn_tags__(self) -> Tags:
        """Declare to scikit-learn that the target is an indicator matrix; X is as the estimator takes it."""
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._base_estimator()).input_tags
        return targets.with_multilabel_target(tags)


def _has_neighbors(estimator: Any) -> bool:
    """Return whether an unfitted estimator, or what is inside its pipelines and thresholds, searches neighbours."""
    while not hasattr(estimator, "n_neighbors") and (hasattr(estimator, "steps") or hasattr(estimator, "estimator")):
        estimator = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator.estimator
    return hasattr(estimator, "n_neighbors")
