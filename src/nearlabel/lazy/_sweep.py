"""Out-of-sample predictions of a lazy classifier for many numbers of neighbours, from one search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold

from nearlabel.lazy import _engine
from nearlabel.lazy._counts import LeavingOut
from nearlabel.metrics import MetricLike, get_metric
from nearlabel.metrics.evaluation import Evaluation, metrics_of
from nearlabel.models.out_of_sample import Answer, Fold, Needs, join_answers
from nearlabel.models.selector import Criterion
from nearlabel.neighbors import RESERVE
from nearlabel.neighbors.votes import clone_search
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import IntArray, Matrix
from nearlabel.utils.validation import as_dense, check_groups, check_integer

AUTO = "auto"
MOST = 30  # the largest number of neighbours that "auto" tries
SCORING = "micro_f1"  # the metric by which it selects
N_FOLDS = 5  # if a method has no leave-one-out predictions


class AnswerOfK(NamedTuple):
    """Predictions of a classifier with a given number of neighbours for samples that it has not seen."""

    n_neighbors: int
    truth: Matrix  # (n_rows, n_labels)
    answer: Answer


class NeighborsSweep:
    """Predictions of a lazy classifier for samples that it has not seen, for each of many numbers of neighbours.

    Neighbours are searched once for all numbers. ``n_neighbors="auto"``, `tune_neighbors` and `NeighborsPerLabel` use
    it to select a number. Create it by `left_out` or `on_folds`.

    Parameters
    ----------
    classifier : lazy classifier
        The classifier that predicts.
    candidates : list of int
        The numbers of neighbours, ascending.
    ask : callable
        Takes a number and `Needs`; returns the true label sets and the `Answer`.
    use : callable, default=None
        Takes a number and fits `classifier` with it to all samples. None: the classifier is not fitted.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.lazy import MLkNN, NeighborsSweep
    >>> digits = load_multidigits()
    >>> sweep = NeighborsSweep.left_out(MLkNN(), digits.X[:500], digits.Y[:500], candidates=(1, 3, 5))
    >>> sweep.table(["micro_f1"])["micro_f1"].round(3).tolist()
    [0.567, 0.598, 0.58]
    """

    def __init__(
        self,
        classifier: Any,
        candidates: list[int],
        ask: Callable[[int, Needs], tuple[Matrix, Answer]],
        use: Callable[[int], None] | None = None,
    ) -> None:
        self.classifier, self.candidates, self._ask, self._use = classifier, candidates, ask, use

    @classmethod
    def left_out(
        cls,
        classifier: Any,
        X: Any,
        y: Any,
        candidates: int | Iterable[int] = MOST,
        *,
        groups: ArrayLike | None = None,
    ) -> NeighborsSweep:
        """Predict each training sample from all others, or from the samples of other groups, without a refit.

        Parameters
        ----------
        classifier : lazy classifier
            Is fitted in place; its `n_neighbors` is ignored. After the sweep it has the number of the last prediction.
        X, y : array-like, data frame or sparse container
            Training samples (n_samples, n_features) and label sets (n_samples, n_labels).
        candidates : int or iterable of int, default=30
            An int: every number from 1 to it, as far as the number of samples allows. An iterable: these numbers.
        groups : array-like of shape (n_samples,), default=None
            Group of each sample; None: each sample is its own group.

        Returns
        -------
        NeighborsSweep

        Raises
        ------
        ValueError
            If a number is out of range, X, y or groups are malformed, or the method has no leave-one-out predictions.
        """
        if not hasattr(classifier, "loo_predict"):
            raise ValueError(f"classifier must have leave-one-out predictions, got {type(classifier).__name__}.")
        sweeps: list[NeighborsSweep] = []

        def learn(X: Matrix, labels: Matrix) -> None:
            sweeps.append(cls._of_prepared(classifier, X, labels, candidates, groups))

        classifier.set_params(n_neighbors=AUTO)._fit(X, y, sweep=learn)
        return sweeps[0]

    @classmethod
    def within_fit(cls, classifier: Any, X: Matrix, labels: Matrix) -> NeighborsSweep:
        """Return the sweep of "auto" for a prepared classifier: leave-one-out if possible, else five folds.

        Parameters
        ----------
        classifier : lazy classifier
            In the middle of `fit`.
        X, labels : ndarray or CSR
            Checked training samples (n_samples, n_features) and label sets (n_samples, n_labels).

        Returns
        -------
        NeighborsSweep

        Raises
        ------
        ValueError
            If too few samples remain when some are held out.
        """
        if hasattr(classifier, "loo_predict"):
            return cls._of_prepared(classifier, X, labels, MOST)
        n_samples = labels.shape[0]
        if n_samples < 2:
            raise _too_few(n_samples)
        splits = KFold(min(N_FOLDS, n_samples), shuffle=True, random_state=0).split(labels)
        sweep = cls.on_folds(classifier, [Fold.of(X, labels, *split) for split in splits], MOST)
        sweep._use = lambda k: classifier._use_neighbors(k, X)
        return sweep

    @classmethod
    def on_folds(cls, classifier: Any, folds: Sequence[Fold], candidates: int | Iterable[int]) -> NeighborsSweep:
        """Predict the held-out samples of each fold by fits to the others; the predictions of all folds are joined.

        Parameters
        ----------
        classifier : lazy classifier
            Cloned for each fold and number.
        folds : sequence of Fold
            Training samples, held-out samples and their true label sets.
        candidates : int or iterable of int
            See `left_out`.

        Returns
        -------
        NeighborsSweep

        Raises
        ------
        ValueError
            If a number is out of range.
        """
        truths = [as_dense(fold.truth) for fold in folds]
        most = min(fold.y.shape[0] for fold in folds) - 1  # training samples are searched too
        numbers = candidates_of(candidates, most, sum(map(len, truths)))
        truth = np.vstack(truths)
        search = clone_search(classifier.search)

        def ask(k: int, needs: Needs) -> tuple[Matrix, Answer]:
            known = [fold.neighbors(search, numbers[-1]) for fold in folds]
            models = [clone(classifier).set_params(n_neighbors=k, search=neighbors) for neighbors in known]
            return truth, join_answers(fold.answer(model, needs) for fold, model in zip(folds, models, strict=True))

        return cls(classifier, numbers, ask)

    @classmethod
    def _of_prepared(
        cls,
        classifier: Any,
        X: Matrix,
        labels: Matrix,
        candidates: int | Iterable[int],
        names: ArrayLike | None = None,
    ) -> NeighborsSweep:
        """Search once for as many neighbours of the training samples as leaving a group out needs; store them."""
        n_samples, one_more = labels.shape[0], int(classifier._asks_for_training_rows)
        groups = _engine.Groups.of(np.arange(n_samples) if names is None else check_groups(names, n_samples))
        known = min(getattr(classifier.search_, "n_neighbors_known", n_samples - 1), n_samples - 1)
        numbers = candidates_of(candidates, known - one_more - groups.largest + 1, n_samples)
        if classifier._cells is not None:
            return cls._of_known_cells(classifier, labels, numbers, groups)
        training = classifier._training_neighbors(numbers[-1] + groups.largest - 1)
        others = groups.others_of(training, numbers[-1])
        units: Any = classifier._units() if classifier.counts_rows else None

        def use(k: int, counts: IntArray | None = None) -> None:
            kept = training.nearest(k + 1 + RESERVE) if classifier._asks_for_training_rows else None
            classifier._use_neighbors(k, X, kept, counts)

        def ask(k: int, needs: Needs) -> tuple[Matrix, Answer]:
            if not classifier.counts_rows:
                use(k)
                return labels, _engine.answer(classifier, others.nearest(k), needs, groups)
            leaving_out = LeavingOut.of(units, training.nearest(k + groups.largest), k, groups)
            use(k, leaving_out.counts)
            return labels, _engine.answer_from_counts(classifier, leaving_out, needs)

        use(numbers[-1])  # so that it is fitted before the first prediction
        return cls(classifier, numbers, ask, use)

    @classmethod
    def _of_known_cells(
        cls, classifier: Any, labels: Matrix, numbers: list[int], groups: _engine.Groups
    ) -> NeighborsSweep:
        """Predict where some cells are unknown: the true label sets then have NaN there."""
        cells = classifier._cells
        training = cells.training(classifier, numbers[-1] + groups.largest)
        truth = PartialLabels(labels, cells.unknown(labels)).with_nan()

        def use(k: int) -> None:
            cells.use(classifier, k, training)

        def ask(k: int, needs: Needs) -> tuple[Matrix, Answer]:
            use(k)
            return truth, cells.answer_left_out(classifier, needs._replace(sparse=False), groups, training)

        use(numbers[-1])
        return cls(classifier, numbers, ask, use)

    def answers(self, *, labels: bool = True, scores: bool = True, sparse: bool = False) -> Iterator[AnswerOfK]:
        """Yield the predictions for each number of neighbours, ascending.

        Parameters
        ----------
        labels, scores : bool, default=True
            Whether label sets and scores are needed; those that are not needed may be None.
        sparse : bool, default=False
            Whether the scores of a sparse y may be `SparseScores`, where leaving one out gives them.

        Yields
        ------
        AnswerOfK
            The number, the true label sets, with NaN if a cell is unknown, and the predictions.
        """
        for k in self.candidates:
            yield AnswerOfK(k, *self._ask(k, Needs(labels, scores, sparse)))

    def answer(self, n_neighbors: int) -> Answer:
        """Return the predictions for one number of neighbours, at most the largest candidate.

        Parameters
        ----------
        n_neighbors : int
            Any number, not only a candidate.

        Returns
        -------
        Answer
            Label sets, in the form of those of `loo_predict`, and scores.
        """
        labels, scores = self._ask(n_neighbors, Needs())[1]
        return Answer(self.classifier._container.wrap(labels), scores)

    @staticmethod
    def serves(method: Any) -> bool:
        """Return whether `left_out` replaces the fits of a method with each number of neighbours.

        Parameters
        ----------
        method : classifier
            Any classifier.

        Returns
        -------
        bool
            True for our lazy classifiers with leave-one-out predictions that draw no random numbers; a user's class may
            have public methods of its own.
        """
        is_ours = type(method).__module__.startswith("nearlabel.lazy.") and hasattr(method, "counts_rows")
        return is_ours and hasattr(method, "loo_predict") and not hasattr(method, "random_state")

    def table(self, metrics: Sequence[MetricLike] = (SCORING,)) -> dict[str, NDArray[Any]]:
        """Return the value of each metric for each number of neighbours.

        Parameters
        ----------
        metrics : sequence of str or Metric, default=("micro_f1",)
            Any values that `nearlabel.metrics.get_metric` takes, and "empty_predictions", the share of samples without
            a predicted label.

        Returns
        -------
        dict of str to ndarray of shape (n_candidates,)
            "n_neighbors", and the values by the name of the metric.
        """
        known = metrics_of(metrics)
        needed = {metric.needs for metric in known}
        evaluation, rows = None, []
        for _, truth, answer in self.answers(labels="prediction" in needed, scores="score" in needed):
            evaluation = evaluation or Evaluation.of(truth, known)  # every number has the same true label sets
            rows.append(evaluation.values(*answer))
        columns = {name: np.array([values[name] for values in rows]) for name in rows[0]}
        return {"n_neighbors": np.array(self.candidates), **columns}

    @staticmethod
    def best(table: Mapping[str, NDArray[Any]], metric: MetricLike = SCORING) -> int:
        """Return the number of neighbours with the best value in a table, the smallest if several are equal.

        Parameters
        ----------
        table : dict of str to ndarray
            Result of `table`.
        metric : str or Metric, default="micro_f1"
            A metric of the table.

        Returns
        -------
        int

        Raises
        ------
        ValueError
            If the metric is undefined for all numbers.
        """
        known = get_metric(metric)
        best = Criterion(known).first_best(table[known.name])
        if best is None:
            raise ValueError(f"scoring must be a metric that is defined for these label sets, got {known.name!r}.")
        return int(table["n_neighbors"][best])

    def fit_best(
        self, metrics: Sequence[MetricLike] = (SCORING,), value: Callable[[Matrix, Matrix], float] | None = None
    ) -> None:
        """Fit the classifier with the best number of neighbours by the first metric, or by a function of the scores.

        This sets `n_neighbors_` to the number and `cv_results_` to the table. Not possible for a sweep on folds.

        Parameters
        ----------
        metrics : sequence of str or Metric, default=("micro_f1",)
            See `table`.
        value : callable, default=None
            Replaces the metrics: takes true label sets and scores, both (n_samples, n_labels), and returns a number;
            larger is better.

        Raises
        ------
        ValueError
            If the first metric is undefined for all numbers.
        """
        if self._use is None:
            raise ValueError("fit_best needs a sweep that leaves one out; one on folds has no classifier of all rows.")
        if value is None:
            table = self.table(metrics)
            best = self.best(table, metrics[0])
        else:
            asked = self.answers(labels=False)
            # In bytes, the products of a user's function could overflow.
            values = [value(_as_numbers(truth), answer.scores) for _, truth, answer in asked]
            table = {"n_neighbors": np.array(self.candidates), "value": np.array(values)}
            best = int(table["n_neighbors"][table["value"].argmax()])
        self._use(best)
        self.classifier.cv_results_ = table


def candidates_of(n_neighbors: int | Iterable[int], most: int, n_samples: int) -> list[int]:
    """Return the numbers of neighbours to try, where fits without the held-out samples allow at most `most`."""
    if most < 1:
        raise _too_few(n_samples)
    if isinstance(n_neighbors, Iterable) and not isinstance(n_neighbors, str):
        candidates = sorted({check_integer("n_neighbors", k, low=1) for k in n_neighbors})
    else:
        candidates = list(range(1, min(check_integer("n_neighbors", n_neighbors, low=1), most) + 1))
    if not candidates:
        raise ValueError("n_neighbors must name at least one number, got none.")
    if candidates[-1] > most:
        raise ValueError(f"n_neighbors must be at most {most} where rows are held out, got {candidates[-1]}.")
    return candidates


def _as_numbers(truth: Matrix) -> Matrix:
    return truth if truth.dtype.kind == "f" else truth.astype(np.int64, copy=False)


def _too_few(n_samples: int) -> ValueError:
    return ValueError(f"X must have more samples to leave some out and find neighbours, got n_samples={n_samples}.")
