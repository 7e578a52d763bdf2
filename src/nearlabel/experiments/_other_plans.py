"""Plans of searches and of thresholds.

Searches are compared with the exact search: missed neighbours, effect on metrics, and time.
"""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from nearlabel.experiments._folds import Fold, description, given_fold, stacked
from nearlabel.experiments._plan import Finder, Plan
from nearlabel.experiments._record_lines import Record
from nearlabel.experiments._summary import Cell, summarise
from nearlabel.lazy import BRkNN
from nearlabel.metrics import micro_f1
from nearlabel.neighbors import ExactNeighbors
from nearlabel.preprocessing import SCALES, check_scale
from nearlabel.selection.data import Problem, check_matrices, prepared
from nearlabel.selection.guests import by_name, check_searches, describe_object, described
from nearlabel.selection.methods import check_takes_unknown
from nearlabel.selection.specs import exact_search_for, make_search
from nearlabel.thresholds import FBR, MicroFOptimum, PillaiAscent, SCut, cross_val_scores
from nearlabel.utils.types import FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense, check_choice, check_integer, check_positive, each_once

# Metrics of a search, in addition to the metrics of a plan.
RECALL, SECONDS = "neighbor_recall", "search_seconds"


@dataclass(frozen=True)
class SearchPlan:
    """A comparison of methods with several searches, and with the exact search by the same distance.

    Its records have a key "search" in addition to those of a `Plan`, and two more metrics: "neighbor_recall", the mean
    share of the test samples' true neighbours that the search finds, and "search_seconds", the time to fit the training
    samples and to find the neighbours of training and test samples. Only the seconds differ from run to run.

    Parameters
    ----------
    plan : Plan
        The comparison; each of its methods must have a number of neighbours and no search of its own.
    searches : tuple of str or search, or mapping of str to them
        Searches as `make_search` accepts them. In a mapping you choose the names in the records. A search that is not
        nearlabel's own must pass `nearlabel.testing.check_search`.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown, a number is out of range, a method cannot share neighbours, or a search fails a check; in
        the last case the message begins with the name of the check.
    ImportError
        If a search needs a library that is not installed.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Plan, SearchPlan, run, search_costs
    >>> plan = Plan(methods=("brknn",), n_neighbors=(5,), cv=2, metrics=("hamming_loss",))
    >>> plan = SearchPlan(plan, ("exact:metric=manhattan",))
    >>> records = run(plan, {"multidigits": load_multidigits()})
    >>> sorted({record["metric"] for record in records})
    ['hamming_loss', 'neighbor_recall', 'search_seconds']
    """

    plan: Plan
    searches: Any  # __post_init__ makes it a dict: the search of each name

    def __post_init__(self) -> None:
        object.__setattr__(self, "searches", by_name("searches", self.searches))
        check_searches(self.searches)
        for name, search in self.searches.items():
            if name != search and name in map(exact_search_for, self.searches.values()):
                raise ValueError(f"searches must not give the name of the exact search to another one, got {name!r}.")
        for method in self.plan.methods:
            if not self.plan.spec_of(method).shares_search:
                raise ValueError(
                    f"methods must have n_neighbors and no search of their own to be compared by searches,"
                    f" got {method!r}."
                )

    @property
    def _run(self) -> dict[str, Any]:
        """The searches by name, each after the exact search with which it is compared."""
        run: dict[str, Any] = {}
        for name, search in self.searches.items():
            exact = exact_search_for(search)
            run.setdefault(exact, exact)
            run.setdefault(name, search)
        return run

    def folds(self, problems: Mapping[str, Problem]) -> Iterator[Fold]:
        """Yield every fold of every data set, in a fixed order; raise as `Plan.folds` does."""
        return self.plan.folds(problems)

    def describe(self, problems: Mapping[str, Problem]) -> dict[str, Any]:
        """Return the inputs that determine the records, except for the seconds."""
        descriptions = {name: describe_object(make_search(search)) for name, search in self.searches.items()}
        searches = described(self.searches, descriptions)
        plan = self.plan.describe(problems)
        objects = {**plan.get("objects", {}), "searches": searches}
        return plan | {"searches": list(self.searches)} | ({"objects": objects} if searches else {})

    def settings(self, fold: Fold) -> Iterator[Record]:
        """Yield the records of a fold in their order, still without values."""
        for search in self._run:
            for record in self.plan.settings(fold):
                yield record | {"search": search}
            for method in self.plan.methods:
                for k in self.plan.n_neighbors:
                    yield fold.label() | {"method": method, "n_neighbors": k, "metric": RECALL, "search": search}
                yield fold.label() | {"method": method, "n_neighbors": None, "metric": SECONDS, "search": search}

    def values(self, fold: Fold) -> Iterator[float | None]:
        """Yield the values of a fold's records."""
        first = fold.X[fold.training[:64]]
        _, some = self.plan.prepared(fold, fold.X[fold.training], first)
        # The first search of a process loads libraries; that time must not count for the first measurement.
        Finder(ExactNeighbors()).find(None, some, some, 1)
        finders: dict[str, Finder] = {}
        for name, search in self._run.items():
            finders[name] = Finder(make_search(search))
            exact = exact_search_for(search)
            yield from self.plan.values_by(finders[name], fold)
            for method in self.plan.methods:
                selection = self.plan.spec_of(method).selection
                true, found = (finders[each].found[selection].queries[0] for each in (exact, name))
                for k in self.plan.n_neighbors:
                    yield _recall(true.nearest(k), found.nearest(k))
                yield finders[name].seconds[selection]


def _recall(true: tuple[FloatArray, IntArray], found: tuple[FloatArray, IntArray]) -> float:
    """Return the mean share of true neighbours that are found; a neighbour as near as the last one counts as found.

    The arguments are distances and indices (n_queries, n_neighbors) of both. Distances of a user's search may be
    rounded differently, so a true neighbour is also recognised by its index.
    """
    as_near = found[0] <= true[0][:, -1:]
    among_true = (found[1][:, :, np.newaxis] == true[1][:, np.newaxis]).any(axis=2)
    return float(((as_near | among_true).sum(axis=1) / true[1].shape[1]).mean())


@dataclass(frozen=True)
class SearchCost:
    """The effect of a search on a method: metric, recall and time, as means over the folds.

    Parameters
    ----------
    dataset, method, search : str
        Names, as in the records.
    n_neighbors : int or "mean"
        Number of neighbours; "mean" for the mean over all of them.
    metric : str
        Name of the metric.
    exact, value, difference : float
        The metric with the exact search by the same distance, with this search, and their difference, this search minus
        exact.
    recall : float
        Share of the test samples' true neighbours that the search finds.
    exact_seconds, seconds : float
        Time of the exact search and of this search per fold, for all numbers of neighbours.
    """

    dataset: str
    method: str
    search: str
    n_neighbors: int | str
    metric: str
    exact: float
    value: float
    difference: float
    recall: float
    exact_seconds: float
    seconds: float


def search_costs(plan: SearchPlan, records: Iterable[Record]) -> list[SearchCost]:
    """Return the costs for each data set, method, search, number of neighbours (and their mean), and metric.

    Parameters
    ----------
    plan : SearchPlan
        The plan that was run.
    records : iterable of dict
        Its records.

    Returns
    -------
    list of SearchCost
        In the order of the methods, then of the searches.
    """
    by_search: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_search[record["search"]].append(record)
    cells = {search: {_key(cell): cell.mean for cell in summarise(of_it)} for search, of_it in by_search.items()}
    keys = dict.fromkeys(key for of_search in cells.values() for key in of_search if key[3] not in (RECALL, SECONDS))
    exact = {name: exact_search_for(search) for name, search in plan.searches.items()}
    lines = [
        _cost(key, search, exact[search], cells)
        for search in plan.searches
        for key in keys
        if key in cells[search] and key in cells[exact[search]]  # values may be undefined
    ]
    place = {method: number for number, method in enumerate(plan.plan.methods)}
    return sorted(lines, key=lambda line: (line.dataset, place[line.method]))


def _key(cell: Cell) -> tuple[str, str, Any, str]:
    return cell.dataset, cell.method, cell.n_neighbors, cell.metric


def _cost(
    key: tuple[str, str, Any, str], search: str, exact: str, cells: Mapping[str, Mapping[Any, float]]
) -> SearchCost:
    dataset, method, n_neighbors, metric = key
    true, found = cells[exact], cells[search]
    seconds = dataset, method, None, SECONDS
    recall = found[dataset, method, n_neighbors, RECALL]
    values = true[key], found[key], found[key] - true[key], recall, true[seconds], found[seconds]
    return SearchCost(dataset, method, search, n_neighbors, metric, *values)


# The protocol of Pillai, Fumera and Roli (ICPR 2012) for the evaluation of thresholds.


class GaussianKernel(TransformerMixin, BaseEstimator):
    """The kernel ``SVC(gamma="scale")`` of rows with the training samples, computed once for all labels."""

    def fit(self, X: Matrix, y: Any = None) -> Self:
        """Store the training samples, and gamma: 1 / (number of features · variance of X), or 1 where that is 0."""
        self.rows_, self.gamma_ = X, 1 / (X.shape[1] * as_dense(X).var() or 1)
        return self

    def transform(self, X: Matrix) -> FloatArray:
        """Return exp(-gamma |x - z|²) of each row of X and each training sample z."""
        return np.asarray(rbf_kernel(X, self.rows_, gamma=self.gamma_))


# Binary relevance with these. The score of kNN is the share of neighbours that carry the label.
CLASSIFIERS: Mapping[str, Callable[[ThresholdPlan], Any]] = MappingProxyType(
    {
        # The seed: with more features than samples, liblinear uses the samples in random order.
        "svm-linear": lambda plan: OneVsRestClassifier(LinearSVC(C=plan.C, random_state=plan.seed)),
        "svm-rbf": lambda plan: make_pipeline(
            GaussianKernel(), OneVsRestClassifier(SVC(C=plan.C, kernel="precomputed"))
        ),
        "knn": lambda plan: BRkNN(plan.n_neighbors),
    }
)

METRICS = (
    "validation_micro_f1", "test_micro_f1", "test_micro_f1_first_scan", "test_micro_f1_fbr0", "test_micro_f1_fbr1",
    "test_micro_f1_per_label", "n_scans", "n_evaluated", "evaluated_share",
)  # fmt: skip


@dataclass(frozen=True)
class ThresholdPlan:
    """Tune thresholds on pooled cross-validation scores, and evaluate them on the test samples, in several runs.

    The training samples are split into disjoint parts, and each run uses some of the parts. Thresholds are tuned on
    cross-validation scores of the samples of the run; a classifier fitted to all these samples scores the test samples.

    Parameters
    ----------
    methods : tuple of str
        Keys of `CLASSIFIERS`.
    n_parts, n_parts_used : int, default=10, 8
        Number of parts of the training samples, and number of parts in each run: run r leaves out part r and those that
        follow it.
    cv : int, default=5
        Number of shuffled folds, also for the folds of the pooled scores with which FBR selects its limit.
    scale : {"none", "minmax", "standard", "tfidf"}, default="none"
        Scaling of the features, fitted to the training samples of a run; as in `Plan`.
    n_neighbors : int, default=10
        Number of neighbours of kNN.
    C : float, default=1.0
        Parameter C of the SVM; the kernel's gamma is 1 / (number of features · variance of X).
    seed : int, default=0
        Seed of the parts, of the linear SVM's solver, and, with the number of the run, of its folds.
    first_folds : int, default=None
        Number of runs, for a preview; None: all.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown or a number out of range.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import ThresholdPlan, run
    >>> digits = load_multidigits()
    >>> parts = (digits.X[:1500], digits.Y[:1500]), (digits.X[1500:], digits.Y[1500:])
    >>> records = run(ThresholdPlan(("knn",), first_folds=1), {"multidigits": parts})
    >>> records[0]["method"], records[0]["metric"]
    ('knn', 'validation_micro_f1')
    """

    methods: tuple[str, ...]
    n_parts: int = 10
    n_parts_used: int = 8
    cv: int = 5
    scale: str = "none"
    n_neighbors: int = 10
    C: float = 1.0
    seed: int = 0
    first_folds: int | None = None  # None in records made before it was a choice, too

    def __post_init__(self) -> None:
        object.__setattr__(self, "methods", each_once("methods", self.methods))
        for name in self.methods:
            check_choice("method", name, CLASSIFIERS)
        for name, low in (("n_parts", 2), ("n_parts_used", 1), ("cv", 2), ("n_neighbors", 1), ("seed", 0)):
            object.__setattr__(self, name, check_integer(name, getattr(self, name), low=low))
        if self.n_parts_used >= self.n_parts:
            raise ValueError(f"n_parts_used must be smaller than n_parts={self.n_parts}, got {self.n_parts_used}.")
        if self.first_folds is not None:
            object.__setattr__(self, "first_folds", check_integer("first_folds", self.first_folds, low=1))
        check_choice("scale", self.scale, SCALES)
        object.__setattr__(self, "C", check_positive("C", self.C))

    def folds(self, problems: Mapping[str, Problem]) -> Iterator[Fold]:
        """Yield every run of every problem, in a fixed order.

        Raises
        ------
        ValueError
            If a problem has no given split, missing values, or too few training samples for the plan.
        """
        for name, problem in problems.items():
            if not isinstance(problem, tuple):
                raise ValueError(f"{name} must have a given training and test part for this protocol, got one set.")
            whole = given_fold(name, *problem)
            check_matrices(name, whole.X, whole.Y)
            check_takes_unknown(name, whole.Y, {method: CLASSIFIERS[method](self) for method in self.methods})
            check_scale(self.scale, whole.columns.kinds)
            runs = self._runs(name, whole.training)
            self._check_n_rows(name, min(len(rows) for rows in runs))
            for number, rows in enumerate(runs[: self.first_folds]):
                yield whole._replace(number=number, training=rows)

    def _runs(self, name: str, training: IntArray) -> list[IntArray]:
        """Return the training samples of each run: in run r those of the parts before part r, cyclically."""
        if self.n_parts > len(training):
            raise ValueError(
                f"n_parts must be at most the {len(training)} training samples of {name}, got {self.n_parts}."
            )
        parts = np.array_split(np.random.RandomState(self.seed).permutation(training), self.n_parts)
        used = range(-1, -1 - self.n_parts_used, -1)
        return [np.concatenate([parts[(run + i) % self.n_parts] for i in used]) for run in range(self.n_parts)]

    def _check_n_rows(self, name: str, n_rows: int) -> None:
        """Raise an error unless the smallest run has enough samples for its folds, and a fold has enough for kNN."""
        if self.cv > n_rows:
            raise ValueError(f"cv must be at most the {n_rows} training samples of a run of {name}, got {self.cv}.")
        in_fold = n_rows - math.ceil(n_rows / self.cv)
        if "knn" in self.methods and self.n_neighbors > in_fold:
            raise ValueError(
                f"n_neighbors must be at most the {in_fold} training samples of a fold of {name}, got"
                f" {self.n_neighbors}."
            )

    def describe(self, problems: Mapping[str, Problem]) -> dict[str, Any]:
        """Return what decides the records: the plan, the library's version and a digest of each problem."""
        return description(asdict(self), problems, {})

    def settings(self, fold: Fold) -> Iterator[Record]:
        """Yield the records of a run in order, without values."""
        for method in self.methods:
            for metric in METRICS:
                yield fold.label() | {"method": method, "n_neighbors": None, "metric": metric}

    def values(self, fold: Fold) -> Iterator[float | None]:
        """Yield the values of a run's records."""
        X, X_test = prepared(fold.columns, None, self.scale, fold.X[fold.training], fold.X[fold.test])
        Y, Y_test = fold.Y[fold.training], fold.Y[fold.test]
        everything = stacked(X, X_test), stacked(Y, Y_test)
        split = np.split(np.arange(everything[1].shape[0]), [len(fold.training)])
        splitter = KFold(self.cv, shuffle=True, random_state=self.seed + fold.number)
        for method in self.methods:
            classifier = CLASSIFIERS[method](self)
            with warnings.catch_warnings():
                # A rare label may be absent from a training part: cross_val_scores sets its decision value.
                warnings.filterwarnings("ignore", message="Label .* is present in all training examples")
                scores, rows = cross_val_scores(classifier, X, Y, cv=splitter)
                test_scores, _ = cross_val_scores(classifier, *everything, cv=[split])
            figures = self._judge(scores, Y[rows], test_scores, Y_test)
            yield from (figures[metric] for metric in METRICS)

    def _judge(self, scores: FloatArray, Y: Matrix, test_scores: FloatArray, Y_test: Matrix) -> dict[str, float]:
        """Return the metrics of one run and classifier."""
        optimum, ascent = MicroFOptimum().fit(scores, Y), PillaiAscent().fit(scores, Y)
        on_test = {
            "test_micro_f1": optimum,
            "test_micro_f1_first_scan": PillaiAscent(max_scans=1).fit(scores, Y),
            "test_micro_f1_fbr0": FBR(MicroFOptimum(), 0, cv=self.cv).fit(scores, Y),
            "test_micro_f1_fbr1": FBR(MicroFOptimum(), 1, cv=self.cv).fit(scores, Y),
            "test_micro_f1_per_label": SCut().fit(scores, Y),
        }
        figures = {name: micro_f1(Y_test, strategy.predict(test_scores)) for name, strategy in on_test.items()}
        return figures | {
            "validation_micro_f1": optimum.objective_,
            "n_scans": float(ascent.n_scans_),
            "n_evaluated": float(ascent.n_evaluated_),
            "evaluated_share": ascent.n_evaluated_ / (2 * (scores.shape[0] + 1) * scores.shape[1]),
        }
