"""Candidates of a choice: the spaces in which distances are computed, and the best thresholds of each one's scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from nearlabel.lazy import MLMLM, BRkNN, MLkNN, NeighborsSweep
from nearlabel.metrics import Metric, get_metric
from nearlabel.metrics.evaluation import Evaluation
from nearlabel.models.out_of_sample import (
    Fold,
    LeaveOneOut,
    Needs,
    largest_group,
    of_groups,
    rows_of,
    split_at,
    splits_of,
    splitter_of,
)
from nearlabel.models.selector import Criterion
from nearlabel.neighbors import ExactNeighbors, GaussianWeights, SimilarityWeights
from nearlabel.selection._spaces import Space, prepared_in
from nearlabel.thresholds import ThresholdStrategy, TunedThresholdsClassifierCV
from nearlabel.thresholds.best_value import BestThresholds, for_a_refit
from nearlabel.utils.messages import as_part
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import FloatArray, IntArray, Matrix, MatrixLike
from nearlabel.utils.validation import as_dense, as_score_matrix

NUMBERS = (1, 2, 3, 5, 7, 10, 14, 20, 30, 45, 60, 90)
KERNEL_NUMBERS = (25, 75, 200)
N_PARTS = 5
_VOTES = "votes"
_MOST_FINALISTS, _BYTES_OF_FINALISTS = 8, 2**28


class MethodInSpace(NamedTuple):
    """A method in a space: candidates that differ only in the number of neighbours."""

    name: str
    method: Any
    space: Space
    place: tuple[int, int]  # of the method, and of the space: lower ones win among equal values
    handicap: float = 0.0  # by how much it must be better than others to win

    @property
    def family(self) -> str:
        """The name of the family: all methods by votes are one; others are by their names without options."""
        return _VOTES if _takes_search(self.method.get_params(deep=False)) else self.name.partition(":")[0]

    @property
    def usual_numbers(self) -> tuple[int, ...]:
        """The numbers of neighbours to try if none are given; few by a kernel, whose weights fall with the distance."""
        weights = getattr(self.method, "weights", None)
        return KERNEL_NUMBERS if isinstance(weights, SimilarityWeights | GaussianWeights) else NUMBERS


class Trial(NamedTuple):
    """A candidate and its result.

    Parameters
    ----------
    tried : MethodInSpace
        The method and the space.
    n_neighbors : int or None
        The number of neighbours, if the method has one.
    rank : tuple
        The trial with the lowest rank wins: it begins with the loss and the handicap, infinite if the metric is
        undefined. Among equal values the larger number of neighbours wins.
    value : float
        The metric, with the best thresholds.
    strategy : ThresholdStrategy
        Fitted to all scores.
    """

    tried: MethodInSpace
    n_neighbors: int | None
    rank: tuple[Any, ...]
    value: float
    strategy: ThresholdStrategy

    @property
    def params(self) -> dict[str, Any]:
        """The candidate in words."""
        space = self.tried.space
        named = {"method": self.tried.name, "scale": space.scale, "metric": space.metric}
        return {**named, "n_neighbors": self.n_neighbors}


class Trials:
    """The trials, and the scores of the best few.

    Parameters
    ----------
    labels : ndarray or CSR of shape (n_samples, n_labels)
        True label sets, checked; all cells are known.
    metric : Metric
        The metric to optimise.
    strategy : ThresholdStrategy
        Finds thresholds; a clone is fitted to the scores of each candidate.

    Attributes
    ----------
    labels : ndarray or CSR of shape (n_samples, n_labels)
        As given.
    n_samples : int
        Number of samples.
    all : list of Trial
        In the order of trying.
    best_model : object
        The fitted model of the best trial.
    takes_stored : bool
        Whether scores may be `SparseScores`.
    best_of_families : dict of str to tuple
        The best trial of each family, its model and its scores; empty unless they are to be mixed.
    """

    def __init__(
        self, labels: Matrix, metric: Metric, strategy: ThresholdStrategy, *, keeps_families: bool = False
    ) -> None:
        self.labels, self._criterion = labels, Criterion(metric)
        self._thresholds = BestThresholds(labels, metric, strategy)
        self._keeps_families = keeps_families
        self.best_of_families: dict[str, tuple[Trial, Any, Any]] = {}
        self._finalists: list[tuple[tuple[Any, ...], Trial, Any]] = []
        self._largest = 1  # bytes of the scores of a candidate
        self.n_samples, self.takes_stored = labels.shape[0], self._thresholds.takes_stored
        self.all: list[Trial] = []
        self.best_model: Any = None
        self.mixed: Any = None  # scores of a mixture
        self.groups: IntArray | None = None  # of the samples

    def offer(self, tried: MethodInSpace, n_neighbors: int | None, model: Any, scores: Any) -> None:
        """Find the best thresholds for checked scores (n_samples, n_labels), and store the value that they reach."""
        strategy, value = self._thresholds.tuned(scores)
        rank = self._criterion.loss(value) + tried.handicap, *tried.place, -(n_neighbors or 0)
        trial = Trial(tried, n_neighbors, rank, value, strategy)
        self.all.append(trial)
        if np.isfinite(value) and self._keeps_families:
            known = self.best_of_families.get(tried.family)
            if known is None or rank < known[0].rank:
                self.best_of_families[tried.family] = trial, model, scores
        if np.isfinite(value):
            self._finalists.append((trial.rank, trial, scores))
            self._finalists.sort(key=itemgetter(0))
            self._largest = max(self._largest, scores.nbytes)
            del self._finalists[max(1, min(_MOST_FINALISTS, _BYTES_OF_FINALISTS // self._largest)) :]
            if self._finalists[0][1] is trial:
                self.best_model = model

    @property
    def best(self) -> Trial:
        """The best trial.

        Raises
        ------
        ValueError
            If the metric is undefined for all.
        """
        if not self._finalists:
            name = self._criterion.metric.name
            raise ValueError(f"scoring must be a metric that these label sets define, got {name!r}, which is not.")
        return self._finalists[0][1]

    @property
    def finalists(self) -> list[Trial]:
        """The best few trials, best first."""
        return [trial for _, trial, _ in self._finalists]

    @property
    def best_scores(self) -> Any:
        """The scores of the best trial."""
        return self._finalists[0][2]

    @property
    def final_scores(self) -> Any:
        """The scores by which thresholds were chosen: of the mixture if there is one, else of the best trial."""
        return self.best_scores if self.mixed is None else self.mixed

    def crossfit(self, groups: IntArray | None = None) -> float:
        """Return the value if each of five parts is decided by a choice among the best few on the other parts."""
        n_samples = self.labels.shape[0]
        n_units = n_samples if groups is None else int(groups.max()) + 1
        if n_units < N_PARTS:
            return float("nan")
        decided, scored, parts = [], [], []
        splitter = splitter_of(N_PARTS, n_samples, 0, groups)
        for others, part in splitter.split(np.zeros((n_samples, 1)), **of_groups(groups)):
            tuned = [self._thresholds.tuned(scores, others) for *_, scores in self._finalists]
            losses = [
                self._criterion.loss(value) + trial.tried.handicap
                for (_, value), trial in zip(tuned, self.finalists, strict=True)
            ]
            best = int(np.argmin(losses))
            scored.append(self._finalists[best][2][part])
            decided.append(self._thresholds.decided(tuned[best][0], scored[-1]))
            parts.append(part)
        order = np.argsort(np.concatenate(parts))
        if self.takes_stored:  # the metric needs no scores
            return self._thresholds.value(
                sparse.vstack(list(map(sparse.csr_array, decided)), format="csr")[order], None
            )
        return self._thresholds.value(np.vstack(list(map(as_dense, decided)))[order], np.vstack(scored)[order])

    def table(self) -> dict[str, NDArray[Any]]:
        """Return the trials as columns, in the order of trying."""
        ranks = [trial.rank for trial in self.all]
        rank = np.empty(len(ranks), dtype=np.intp)
        rank[sorted(range(len(ranks)), key=ranks.__getitem__)] = np.arange(1, len(ranks) + 1)
        return {
            "method": np.array([trial.tried.name for trial in self.all]),
            "scale": np.array([trial.tried.space.scale for trial in self.all]),
            "metric": np.array([trial.tried.space.metric for trial in self.all]),
            "n_neighbors": np.array([trial.n_neighbors or 0 for trial in self.all]),
            "score": np.array([trial.value for trial in self.all]),
            "rank": rank,
            "n_samples": np.full(len(ranks), self.n_samples),
        }


def joined_tables(tables: Sequence[dict[str, NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Return the trials of several rounds as columns; all of a later round rank before those of an earlier one."""
    n_later = np.cumsum([0, *(len(table["rank"]) for table in tables[:0:-1])])[::-1]
    ranked = [{**table, "rank": table["rank"] + n} for table, n in zip(tables, n_later, strict=True)]
    return {name: np.concatenate([table[name] for table in ranked]) for name in tables[0]}


# The rounds of a choice: which methods with which numbers of neighbours, on which samples.

Schedule: TypeAlias = list[tuple[MethodInSpace, Sequence[int]]]  # methods with the numbers of neighbours to try

VOTES = {"brknn": BRkNN(), "mlknn": MLkNN(), "brknn:weights=distance": BRkNN(weights="distance")}
POWERS, SHARPNESSES = (1.0, 2.0, 4.0, 8.0), (1.0, 2.0, 4.0, 8.0)
NOISE = 0.0005  # what a method that is harder to read and to update must gain
_MORE_NUMBERS = 2
MOST_DENSE_CELLS = 2**25
_MANY_CELLS, _CELLS_FOR_ONE = 2**20, 40


def next_plan(trials: Trials, numbers_of: Callable[[MethodInSpace], Sequence[int]], n_cells: int) -> Schedule:
    """Return the best candidates for a round on more samples, with the numbers around theirs.

    More samples favour more neighbours, so two larger numbers are tried, and one smaller. A method whose scores are
    dense is left out where cells, samples times labels, are many.
    """
    of_families = [trial for trial, *_ in trials.best_of_families.values()]
    best = list(dict.fromkeys([*trials.finalists, *of_families]))
    tried = {trial.tried.place: trial.tried for trial in best}
    plan: Schedule = []
    for place, method in tried.items():
        own = [trial.n_neighbors for trial in best if trial.tried.place == place and trial.n_neighbors]
        numbers = numbers_of(method)
        around = [k for i, k in enumerate(numbers) if set(own).intersection(numbers[max(0, i - _MORE_NUMBERS) : i + 2])]
        if own or n_cells <= MOST_DENSE_CELLS:
            plan.append((method, sorted({*own, *around})))
    spaces = list(dict.fromkeys(method.place[1] for method, _ in plan))
    return sorted(plan, key=lambda one: spaces.index(one[0].place[1]))  # each space once, that of the best first


def most_asked(plan: Schedule) -> dict[int, int]:
    """Return the largest number of neighbours of a plan in each space."""
    most: dict[int, int] = {}
    for tried, numbers in plan:
        most[tried.place[1]] = max([most.get(tried.place[1], 1), *numbers])
    return most


def drawn(n_samples: int, groups: IntArray | None, random: RandomState, most: int) -> IntArray:
    """Return at most that many samples, whole groups of them but at least two."""
    if n_samples <= most:
        return np.arange(n_samples)
    if groups is None:
        return np.sort(random.permutation(n_samples)[:most])
    order = random.permutation(groups.max() + 1)
    sizes = np.cumsum(np.bincount(groups)[order])
    return np.flatnonzero(np.isin(groups, order[: max(2, np.searchsorted(sizes, most, side="right"))]))


def as_stored(labels: Matrix) -> Matrix:
    """Return many label sets of few labels as CSR, whose scores are as few as there are votes."""
    n_cells = labels.shape[0] * labels.shape[1]
    if sparse.issparse(labels) or n_cells < _MANY_CELLS or n_cells < _CELLS_FOR_ONE * np.count_nonzero(labels):
        return labels
    return sparse.csr_array(labels)


def methods_in(spaces: Sequence[Space], methods: Any, n_cells: int) -> list[MethodInSpace]:
    """Return each method in each space; "auto": those that `NeighborsClassifierCV` tries.

    ML-MLM, whose scores are dense, is not tried where cells, samples times labels, are many.
    """
    if not isinstance(methods, str):
        named = methods if isinstance(methods, Mapping) else {str(one): one for one in methods}
        return [
            MethodInSpace(name, of, space, (order, place))
            for place, space in enumerate(spaces)
            for order, (name, of) in enumerate(named.items())
        ]
    every: list[MethodInSpace] = []
    for place, space in enumerate(spaces):
        tried = _usual_methods(space, has_cosine=any(other.metric == "cosine" for other in spaces))
        every += [MethodInSpace(name, of, space, (order, place)) for order, (name, of) in enumerate(tried.items())]
        if space.takes_all and n_cells <= MOST_DENSE_CELLS:
            every.append(MethodInSpace("mlmlm", MLMLM(scale="none"), space, (len(tried), place), NOISE))
    return every


def check_methods(methods: Any) -> None:
    """Raise TypeError if one of the methods has no leave-one-out predictions."""
    listed = [] if isinstance(methods, str) else methods.values() if isinstance(methods, Mapping) else methods
    for method in listed:
        if not hasattr(method, "loo_predict_proba"):
            raise TypeError(
                "methods must have leave-one-out predictions, as those of nearlabel.lazy,"
                f" got {type(method).__name__}. Hint: nearlabel.experiments.Tuning takes any classifier."
            )


def _usual_methods(space: Space, *, has_cosine: bool) -> dict[str, Any]:
    """Return the methods by votes to try in a space, by their texts; by kernels for its metric.

    Words, for which the cosine is tried too, have no kernel for the Euclidean distance.
    """
    methods: dict[str, Any] = dict(VOTES)
    if space.metric == "cosine":
        methods |= {f"brknn:weights=similarity-{power:g}": BRkNN(weights=SimilarityWeights(power)) for power in POWERS}
    elif space.metric == "euclidean" and not has_cosine:
        methods |= {f"brknn:weights=gaussian-{g:g}": BRkNN(weights=GaussianWeights(g)) for g in SHARPNESSES}
    return methods


class TrainingSamples(NamedTuple):
    """Samples of a choice, with the numbers of their groups, or the ranks by which they follow each other."""

    X: MatrixLike
    labels: Matrix
    groups: IntArray | None = None
    ranks: IntArray | None = None

    def some(self, rows: IntArray) -> TrainingSamples:
        """Return some of them; groups and ranks are numbered from 0."""
        numbers = [None if of is None else np.unique(of[rows], return_inverse=True)[1] for of in self[2:]]
        return TrainingSamples(rows_of(self.X, rows), self.labels[rows], *numbers)

    @property
    def judged(self) -> Matrix:
        """The label sets of those on which candidates are evaluated: all, or the later ones."""
        return self.labels if self.ranks is None else self.labels[split_at(self.ranks)[1]]


def held_out_in(space: Space, samples: TrainingSamples, *, stored: bool) -> LeaveOneOut | Fold:
    """Return the samples in a space: each is left out, or the later ones are; `stored`: as `SparseScores` permit."""
    X, labels, groups, ranks = samples
    if ranks is None:
        rows, _ = prepared_in(space, X, labels)
        return LeaveOneOut(rows, as_stored(labels) if stored else labels, groups)
    earlier, later = split_at(ranks)
    rows, steps = prepared_in(space, rows_of(X, earlier), labels[earlier])
    held_out = rows_of(X, later)
    for step in steps:
        held_out = step.transform(held_out)
    return Fold(rows, labels[earlier], held_out, labels[later])


def try_numbers(
    tried: MethodInSpace, numbers: Sequence[int], held_out: LeaveOneOut | Fold, trials: Trials, most: int
) -> None:
    """Offer the scores of a method with each number of neighbours, or once if it has none.

    All methods in a space share a search for `most` neighbours, and all numbers a fit where the method is a lazy
    classifier.
    """
    if isinstance(held_out, Fold):
        _try_on_later(tried, numbers, held_out, trials, most)
    else:
        _try_left_out(tried, numbers, held_out, trials, most)


def _try_on_later(tried: MethodInSpace, numbers: Sequence[int], fold: Fold, trials: Trials, most: int) -> None:
    """Offer the scores of the later samples by fits to the earlier ones."""
    if not _takes_search(tried.method.get_params(deep=False)):
        model = in_space(tried)
        trials.offer(tried, None, model, as_score_matrix(fold.answer(model, Needs(labels=False)).scores))
        return
    search = ExactNeighbors(metric=tried.space.metric)
    fold.neighbors(search, most)  # found once for all methods
    model = in_space(tried, numbers[-1], search)
    for k, _, answer in NeighborsSweep.on_folds(model, [fold], numbers).answers(labels=False):
        trials.offer(tried, k, model, answer.scores)


def _try_left_out(
    tried: MethodInSpace, numbers: Sequence[int], left_out: LeaveOneOut, trials: Trials, most: int
) -> None:
    """Offer the leave-one-out scores of all samples."""
    method, space = tried.method, tried.space
    if not _takes_search(method.get_params(deep=False)):
        model = in_space(tried)
        trials.offer(tried, None, model, _left_out_scores(model, left_out))
        return
    n_more = largest_group(left_out.groups)
    known = left_out.neighbors(ExactNeighbors(metric=space.metric), most + n_more, space.metric)
    others = left_out.y.shape[0] - n_more - getattr(method, "_asks_for_training_rows", 0)
    if NeighborsSweep.serves(method) and numbers[-1] <= others:
        model = in_space(tried, numbers[-1], known)
        sweep = NeighborsSweep.left_out(model, left_out.X, left_out.y, numbers, groups=left_out.groups)
        for k, _, answer in sweep.answers(labels=False, sparse=trials.takes_stored):
            trials.offer(tried, k, model, answer.scores)
        return
    for k in numbers:
        model = in_space(tried, k, known)
        trials.offer(tried, k, model, _left_out_scores(model, left_out))


def _left_out_scores(model: Any, left_out: LeaveOneOut) -> FloatArray:
    """Fit a model, and return its leave-one-out scores, checked, as it may be a user's."""
    if type(model) is MLMLM and left_out.groups is None:
        return model._fit_left_out(left_out.X, left_out.y)
    scores: FloatArray = as_score_matrix(left_out.answer(model, Needs(labels=False)).scores)
    return scores


def _takes_search(parameters: Mapping[str, Any]) -> bool:
    return "n_neighbors" in parameters and "search" in parameters


def in_space(tried: MethodInSpace, n_neighbors: int | None = None, search: Any = None) -> Any:
    """Return the method for its space: with a search and a number of neighbours, or with the metric."""
    method = clone(tried.method)
    parameters = method.get_params(deep=False)
    if _takes_search(parameters):
        return method.set_params(n_neighbors=n_neighbors, search=search)
    return method.set_params(metric=tried.space.metric) if "metric" in parameters else method


def settle(method: Any, fitted: Any) -> None:
    """Give an unfitted method the parameter that a fitted one has selected and that scales its scores."""
    if isinstance(method, MLMLM):
        method.set_params(power=fitted.power_)


def fitted_model(
    of_trial: tuple[Trial, Any, Any], judged: Matrix, samples: TrainingSamples, *, is_tuned_again: bool
) -> Any:
    """Return the model of a trial, given with its scores, fitted to all samples, after the steps of its space."""
    (trial, known_model, scores), (X, labels, groups, ranks) = of_trial, samples
    space, k = trial.tried.space, trial.n_neighbors
    method = in_space(trial.tried, k, ExactNeighbors(metric=space.metric))
    if ranks is not None:
        settle(method, known_model)
    cv = "loo" if hasattr(method, "loo_predict_proba") else N_PARTS
    model = TunedThresholdsClassifierCV(
        method, clone(trial.strategy), cv=cv, map_scores=True, random_state=None if cv == "loo" else 0
    )
    X, steps = prepared_in(space, X, labels)
    if ranks is not None and cv == "loo":
        model._fit_in_order(X, labels, ranks)
    elif is_tuned_again:
        model.fit(X, labels, **of_groups(groups))
    else:
        # Others know the neighbours of these samples only; with an order it learnt on the earlier ones, or on a draw.
        fitted = known_model if k is None and ranks is None and judged.shape[0] == labels.shape[0] else None
        strategy = trial.strategy if ranks is None else for_a_refit(trial.strategy, scores)
        model._handed(strategy, X, labels, fitted, on_rows_alone=groups is None and ranks is None)
        model._learn_map(scores, PartialLabels(judged, None))
    return make_pipeline(*steps, model) if steps else model


def nested_score(chooser: Any, samples: TrainingSamples) -> float:
    """Return the value of predictions for each fold by a choice without it."""
    X, labels, groups, _ = samples
    predicted, scores = np.empty(labels.shape, dtype=np.int64), np.empty(labels.shape)
    n_choices, splitter = 1 + chooser.nested, splitter_of(chooser.nested, labels.shape[0], 0, groups)
    splits = splits_of(splitter, np.zeros((labels.shape[0], 1)), labels, **of_groups(groups))
    for number, (others, part) in enumerate(splits, start=1):
        model = clone(chooser).set_params(nested=None)
        with as_part(number / n_choices, (number + 1) / n_choices):
            model.fit(rows_of(X, others), labels[others], None if groups is None else groups[others])
        predicted[part] = as_dense(model.best_estimator_.predict(rows_of(X, part)))
        scores[part] = model.best_estimator_.predict_proba(rows_of(X, part))
    metric = get_metric(chooser.scoring)
    return Evaluation.of(labels, [metric]).of_checked(predicted, scores)[metric.name]
