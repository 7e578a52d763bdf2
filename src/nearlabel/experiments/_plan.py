"""A comparison of methods over numbers of neighbours."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from nearlabel.datasets import Dataset
from nearlabel.experiments import _folds
from nearlabel.experiments._record_lines import Record
from nearlabel.experiments._summary import table_of_fold
from nearlabel.metrics import CATALOGUE, Metric, label_propensities
from nearlabel.metrics.catalogue import needs_propensities
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS, PER_LABEL, PER_ROW, WITHOUT_COPIES, Evaluation, metrics_of
from nearlabel.models.decision import cut
from nearlabel.models.out_of_sample import largest_group, of_groups, splitter_of
from nearlabel.neighbors import PrecomputedNeighbors
from nearlabel.preprocessing import SCALES, check_scale
from nearlabel.selection import IterativeStratifiedKFold
from nearlabel.selection._stratified_folds import check_order  # as IterativeStratifiedKFold
from nearlabel.selection.data import (
    Problem,
    check_impute,
    check_matrices,
    groups_of_copies,
    have_copies,
    prepared,
)
from nearlabel.selection.guests import by_name, describe_object, described, direction_of, read_metrics, skipped_on
from nearlabel.selection.methods import MethodSpec, check_takes_unknown, sharing_a_fit
from nearlabel.selection.specs import N_FOLDS, Part, make_search, usual_search
from nearlabel.thresholds import CalibratedLabels, ThresholdStrategy, cross_val_scores
from nearlabel.utils.estimators import label_scores, response_method_of
from nearlabel.utils.messages import without_advice
from nearlabel.utils.targets import PartialLabels, has_unknown
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix, NeighborSearch
from nearlabel.utils.validation import check_choice, check_integer, each_once


@dataclass(frozen=True)
class Plan:
    """A comparison of methods over numbers of neighbours.

    Parameters
    ----------
    methods : tuple of str or estimator, or mapping of str to them
        Methods as `make_method` accepts them: texts such as ``"mlknn@micro-f"``, multi-label classifiers, or
        `MethodSpec`. In a mapping you choose the names in the records; in a tuple the name of an object is its
        representation. A classifier with a parameter `n_neighbors` is run with each number. If its parameter `search`
        is None, it uses the neighbours of one search for all methods. Other classifiers are fitted unchanged. A
        classifier that is not nearlabel's own must pass `nearlabel.testing.check_multilabel_estimator`.
    n_neighbors : tuple of int
        Numbers of neighbours; one search per fold, and per selection of features, is enough for all. A method without a
        number of neighbours is run once per fold; its records have None.
    cv : int, default=10
        Number of shuffled folds; not used for a data set with a given split.
    scale : {"none", "minmax", "standard", "tfidf"}, default="none"
        Scaling of the features, fitted to the training part. With "tfidf", methods that share a search use the cosine
        distance, otherwise the Euclidean distance: see `usual_search`.
    seeds : tuple of int, default=(0,)
        Seeds of the shuffles; each gives one complete cross-validation.
    metrics : tuple of str, callable or Metric, or mapping of str to them, default: all of the catalogue
        Metrics as `nearlabel.metrics.get_metric` accepts them, and "empty_predictions", the share of samples without
        predicted labels. A metric that is not nearlabel's own must pass `nearlabel.testing.check_metric`; its records
        contain `greater_is_better`.
    first_folds : int, default=None
        Run only that many folds of each shuffle, for a quick preview; None: all.
    stratify : {None, 1, 2}, default=None
        Order of `IterativeStratifiedKFold`: folds with balanced labels (1), or balanced pairs of labels (2); not used
        for a data set with a given split. None: `KFold`.
    impute : {None, "mean", "median", "most_frequent"}, default=None
        Statistic of the training part that replaces missing features before scaling. None: missing features raise an
        error.
    without_copies : bool, default=None
        Whether each metric is also computed on the test samples that are not equal to a training sample, with the same
        predictions. In these records the metric's name ends with "_without_copies"; the value is None if there is no
        such sample.
    per_label : bool, default=None
        Whether to save the metrics of each label too: one more record for each method and number of neighbours, with
        the metric "per_label" and a table in place of a value. `summarise_labels` reads them.
    per_row : bool, default=None
        Whether to save the label sets of the test samples too: one more record for each method and number of
        neighbours, with the metric "per_row" and a table in place of a value. `nearlabel.comparison.compare_rows` reads
        them.

    Raises
    ------
    ValueError, TypeError
        If a name is unknown, a number is out of range, or an object fails a check of `nearlabel.testing`; in the last
        case the message begins with the name of the check.

    Notes
    -----
    The checks of a user's object run once per process, when the plan is created. No check starts after 1 second; run
    `check_multilabel_estimator` in your own tests to run all checks. To skip checks, set an attribute
    `expected_failed_checks` of your class or function, a dict from names of checks to reasons.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> from nearlabel.experiments import Plan, run
    >>> from nearlabel.lazy import MLkNN
    >>> def share_of_agreeing_cells(y_true, y_pred):
    ...     return float((y_true == y_pred).mean())
    >>> methods = {"smooth": MLkNN(smoothing=3), "mlknn": "mlknn"}
    >>> plan = Plan(methods, n_neighbors=(10,), cv=2, metrics={"agreeing": share_of_agreeing_cells})
    >>> [(r["method"], r["metric"]) for r in run(plan, [load_multidigits()])][:2]
    [('smooth', 'agreeing'), ('mlknn', 'agreeing')]
    """

    methods: Any  # after __post_init__ a dict: the object of each name
    n_neighbors: Sequence[int]
    cv: int = 10
    scale: str = "none"
    seeds: Sequence[int] = (0,)
    metrics: Any = (*CATALOGUE, EMPTY_PREDICTIONS)
    first_folds: int | None = None
    stratify: int | None = None  # also None in older records, from before this option
    impute: str | None = None  # as stratify
    without_copies: bool | None = None  # as stratify
    per_label: bool | None = None  # as stratify
    per_row: bool | None = None  # as stratify

    def __post_init__(self) -> None:
        object.__setattr__(self, "methods", by_name("methods", self.methods))
        object.__setattr__(self, "metrics", by_name("metrics", self.metrics))
        for name, low in (("n_neighbors", 1), ("seeds", 0)):
            # Python integers: numpy's cannot be written as JSON.
            numbers = (check_integer(name, number, low=low) for number in each_once(name, getattr(self, name)))
            object.__setattr__(self, name, tuple(numbers))
        object.__setattr__(self, "cv", check_integer("cv", self.cv, low=2))
        if self.first_folds is not None:
            object.__setattr__(self, "first_folds", check_integer("first_folds", self.first_folds, low=1))
        if self.stratify is not None:
            object.__setattr__(self, "stratify", check_order("stratify", self.stratify))
        for name, spec in self._specs.items():
            spec.check(name)
        check_choice("scale", self.scale, SCALES)
        check_impute(self.impute)
        self._metrics  # noqa: B018 - raises an error unless it is a metric

    def folds(self, problems: Mapping[str, Problem]) -> Iterator[_folds.Fold]:
        """Yield every fold of every problem, in a fixed order.

        Raises
        ------
        ValueError
            If a problem has too few samples for the plan, missing values or no indicator matrix, or its training
            samples have unknown labels and a method does not support them.
        """
        for name, problem in problems.items():
            folds = [_folds.given_fold(name, *problem)] if isinstance(problem, tuple) else self._shuffled(name, problem)
            check_matrices(name, folds[0].X, folds[0].Y, impute=self.impute)
            training = folds[0].training if isinstance(problem, tuple) else slice(None)
            check_takes_unknown(name, folds[0].Y[training], self._specs)
            check_scale(self.scale, folds[0].columns.kinds)
            largest = max(largest_group(fold.groups) for fold in folds)
            self._check_n_neighbors(name, min(len(fold.training) for fold in folds), largest)
            yield from self._with_copies(folds) if self.without_copies else folds

    def _with_copies(self, folds: Sequence[_folds.Fold]) -> Iterator[_folds.Fold]:
        """Yield the folds of one problem, with the test samples that equal a training sample."""
        groups = groups_of_copies(folds[0].X)
        for fold in folds:
            yield fold._replace(copied=have_copies(groups, fold.training, fold.test))

    @cached_property
    def _specs(self) -> dict[str, MethodSpec]:
        return {name: MethodSpec.of(method) for name, method in self.methods.items()}

    def spec_of(self, method: str) -> MethodSpec:
        """Return the specification of a method by its name."""
        return self._specs[method]

    @cached_property
    def _metrics(self) -> dict[str, Metric | str]:
        return read_metrics(self.metrics)

    def _numbers(self, spec: MethodSpec) -> Sequence[int | None]:
        """Return the numbers of neighbours of a method."""
        return self.n_neighbors if spec.has_neighbors else (None,)

    def _check_n_neighbors(self, name: str, n_rows: int, largest: int) -> None:
        """Raise an error unless the smallest training part has enough samples, without those left out for tuning."""
        for method, spec in self._specs.items():
            left_out = 0
            if spec.is_tuned:
                left_out = largest if spec.has_left_out_scores else math.ceil(n_rows / N_FOLDS)
            if spec.has_neighbors and max(self.n_neighbors) >= n_rows - left_out:
                less = f" minus the {left_out} left out to tune {method}" if left_out else ""
                raise ValueError(
                    f"n_neighbors must be smaller than the {n_rows} training samples of a fold of {name}{less},"
                    f" got {max(self.n_neighbors)}."
                )

    def _shuffled(self, name: str, problem: Dataset) -> list[_folds.Fold]:
        if self.cv > problem.Y.shape[0]:
            raise ValueError(f"cv must be at most the {problem.Y.shape[0]} rows of {name}, got {self.cv}.")
        return [
            _folds.shuffled_fold(name, problem, seed, number, *split)
            for seed in self.seeds
            for number, split in enumerate(self._splits(problem, seed))
            if self.first_folds is None or number < self.first_folds
        ]

    def _splits(self, problem: Dataset, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
        if self.stratify is None:
            splitter = splitter_of(self.cv, problem.Y.shape[0], seed, problem.groups)
        else:
            splitter = IterativeStratifiedKFold(self.cv, order=self.stratify, shuffle=True, random_state=seed)
        splits: Iterator[tuple[IntArray, IntArray]] = splitter.split(problem.Y, problem.Y, **of_groups(problem.groups))
        return splits

    def describe(self, problems: Mapping[str, Problem]) -> dict[str, Any]:
        """Return the inputs that determine the records: plan, library version and a digest of each problem."""
        settings = {field.name: getattr(self, field.name) for field in fields(self)}
        names = {"methods": list(self.methods), "metrics": list(self.metrics)}
        return _folds.description(settings | names, problems, self.objects)

    @property
    def objects(self) -> dict[str, dict[str, str]]:
        """Descriptions of objects that are not nearlabel's own, for the plan on disk."""
        methods = {name: spec.description for name, spec in self._specs.items()}
        metrics = {name: describe_object(metric) for name, metric in self._metrics.items()}
        found = {"methods": described(self.methods, methods), "metrics": described(self.metrics, metrics)}
        return {kind: of_kind for kind, of_kind in found.items() if of_kind}

    def settings(self, fold: _folds.Fold) -> Iterator[Record]:
        """Yield the records of a fold in order, without values."""
        told = {
            name: direction_of(metric) | skipped_on(metric, fold.Y[fold.test]) for name, metric in self._metrics.items()
        }
        for method, spec in self._specs.items():
            for k in self._numbers(spec):
                for name, of_metric in told.items():
                    yield fold.label() | {"method": method, "n_neighbors": k, "metric": name} | of_metric
                for name in () if fold.copied is None else self._metrics:
                    yield fold.label() | {"method": method, "n_neighbors": k, "metric": f"{name}{WITHOUT_COPIES}"}
                for name, is_kept in ((PER_LABEL, self.per_label), (PER_ROW, self.per_row)):
                    if is_kept:
                        yield fold.label() | {"method": method, "n_neighbors": k, "metric": name}

    def values(self, fold: _folds.Fold) -> Iterator[Any]:
        """Yield the values of a fold's records, or the table of a record without a value.

        One search is enough for all methods and numbers of neighbours on the same features, and one fit for all
        thresholds of a method.
        """
        yield from self.values_by(Finder(make_search(usual_search(self.scale))), fold)

    def values_by(self, finder: Finder, fold: _folds.Fold) -> Iterator[Any]:
        """Yield the values as `values` does, with the neighbours from a given search."""
        X, X_test = self.prepared(fold, fold.X[fold.training], fold.X[fold.test])
        Y, Y_test = fold.Y[fold.training], fold.Y[fold.test]
        found: dict[tuple[str, int | None], list[Any]] = {}
        for selection, specs in self._by_selection().items():
            selected = _selected(selection, X, Y, X_test)
            neighbors: NeighborSearch | None = None
            if any(spec.shares_search for spec in specs.values()):
                n_neighbors = self._n_neighbors_to_find(X.shape[0], fold.groups)
                neighbors = finder.find(selection, *selected, n_neighbors)
            if has_unknown(Y):  # each label has its own neighbours, which may be farther than those found
                neighbors = finder.search
            answers = self._label_sets(*selected, X, Y, specs, finder.search, neighbors, fold.groups)
            for method, k, labels, fitted in answers:
                found[method, k] = list(self._scores(labels, fitted, Y_test))
                if fold.copied is not None:
                    found[method, k] += self._scores(labels, fitted, Y_test, ~fold.copied)
                if self.per_label:
                    found[method, k].append(table_of_fold(fold.label_names, Y_test, labels, fitted.test_scores))
                if self.per_row:
                    found[method, k].append(rows_of_fold(fold, labels))
        for method, spec in self._specs.items():
            for k in self._numbers(spec):
                yield from found[method, k]

    def prepared(self, fold: _folds.Fold, training: Matrix, test: Matrix) -> tuple[Matrix, Matrix]:
        """Return training and test samples imputed and scaled, or encoded, by statistics of the training samples."""
        rows, test_rows = prepared(fold.columns, self.impute, self.scale, training, test)
        return rows, test_rows

    def _by_selection(self) -> dict[Part | None, dict[str, MethodSpec]]:
        """Return the methods by selection of features."""
        groups: dict[Part | None, dict[str, MethodSpec]] = {}
        for method, spec in self._specs.items():
            groups.setdefault(spec.selection, {})[method] = spec
        return groups

    def _n_neighbors_to_find(self, n_rows: int, groups: IntArray | None) -> int:
        """Return the number of neighbours to find, with as many more as leaving out a sample or a group needs."""
        return min(max(self.n_neighbors) + largest_group(groups), n_rows - 1)

    def _label_sets(
        self,
        X: Matrix,
        X_test: Matrix,
        unselected: Matrix,
        Y: Matrix,
        specs: Mapping[str, MethodSpec],
        search: NeighborSearch,
        neighbors: NeighborSearch | None,
        groups: IntArray | None,
    ) -> Iterator[tuple[str, int | None, Matrix, _Fitted]]:
        """Yield the predictions of methods that share selected features, each with every number of neighbours.

        `neighbors` are the neighbours of X and X_test, or the search itself.
        """
        for sharing in sharing_a_fit(specs):
            spec = next(iter(sharing.values()))
            for k in self._numbers(spec):
                left_out = None if spec.has_left_out_scores else (spec.make_untuned(k, search), unselected)
                fitted = _Fitted(spec.classifier(k, neighbors), X, Y, X_test, left_out, groups)
                for method, other in sharing.items():
                    yield method, k, fitted.labels(other.thresholds), fitted

    def _scores(
        self, labels: Matrix, fitted: _Fitted, Y: Matrix, rows: BoolArray | slice = slice(None)
    ) -> Iterator[float | None]:
        """Yield the value of each metric, in order, on samples of a fold's test part; None if it is undefined."""
        metrics = list(self._metrics.values())
        if not isinstance(rows, slice) and not rows.any():
            yield from [None] * len(metrics)
            return
        ours = [metric for metric in metrics if isinstance(metric, Metric)]
        scores = fitted.test_scores[rows] if any(metric.needs == "score" for metric in ours) else None
        propensities = fitted.propensities if any(map(needs_propensities, ours)) else None
        evaluation = Evaluation.of(Y[rows], metrics_of(metrics))
        values = evaluation.values(labels[rows], scores, propensities=propensities)
        for value in values.values():
            yield value if np.isfinite(value) else None


class Finder:
    """Finds the neighbours shared by methods on the same features once, and stores them and the time taken.

    Parameters
    ----------
    search : object with `fit` and `kneighbors`
        The search; cloned for each selection of features.
    """

    def __init__(self, search: NeighborSearch) -> None:
        self.search = search
        self.found: dict[Part | None, PrecomputedNeighbors] = {}
        self.seconds: dict[Part | None, float] = {}

    def find(self, selection: Part | None, X: Matrix, X_test: Matrix, n_neighbors: int) -> PrecomputedNeighbors:
        """Return the nearest training samples of the training samples and of the test samples.

        `selection` identifies the selection of features; None: all features.
        """
        search = clone(self.search, safe=False)
        start = time.perf_counter()
        found = PrecomputedNeighbors.from_search(search, X, X_test, n_neighbors=n_neighbors, check_rows=False)
        self.seconds[selection] = time.perf_counter() - start
        self.found[selection] = found
        return found


def _selected(selection: Part | None, X: Matrix, Y: Matrix, X_test: Matrix) -> tuple[Matrix, Matrix]:
    """Return training and test samples with selected features; the selection is fitted to the training samples."""
    if selection is None:
        return X, X_test
    selector = selection.make().fit(X, Y)
    return selector.transform(X), selector.transform(X_test)


class _Fitted:
    """A fitted classifier, with the scores shared by methods that differ only in thresholds."""

    def __init__(
        self,
        classifier: Any,
        X: Matrix,
        Y: Matrix,
        X_test: Matrix,
        left_out: tuple[Any, Matrix] | None,
        groups: IntArray | None,
    ) -> None:
        # A classifier that holds out samples while it is fitted also holds out groups.
        held_out = of_groups(groups) if isinstance(classifier, CalibratedLabels) else {}
        with without_advice():
            self.classifier = classifier.fit(X, Y, **held_out)
        self.Y, self.X_test, self._groups = Y, X_test, groups
        self._left_out = left_out  # the unfitted classifier and the training data, if a refit is needed

    @cached_property
    def test_scores(self) -> Any:
        """Scores of the test samples."""
        method = response_method_of(self.classifier)
        return label_scores(self.classifier, self.X_test, self.Y.shape[1], method)

    @cached_property
    def propensities(self) -> FloatArray:
        """Propensities of the labels, from the training label sets."""
        return label_propensities(self.Y)

    @cached_property
    def left_out(self) -> tuple[Any, Matrix]:
        """Out-of-sample scores of the training samples, by leave-one-out or five folds, and their label sets."""
        if self._left_out is None:
            return self.classifier.loo_predict_proba(**of_groups(self._groups)), self.Y
        estimator, X = self._left_out
        splitter = splitter_of(N_FOLDS, X.shape[0], 0, self._groups)
        splits = list(splitter.split(X, self.Y, **of_groups(self._groups)))
        with without_advice():
            scores, rows = cross_val_scores(estimator, X, self.Y, cv=splits)
        return scores, self.Y[rows]

    def labels(self, thresholds: ThresholdStrategy | float | None) -> Matrix:
        """Return the label sets of the test samples, by the method's own rule, one threshold, or tuned thresholds."""
        if thresholds is None:
            return self.classifier.predict(self.X_test)
        if isinstance(thresholds, ThresholdStrategy):
            return clone(thresholds).fit(*self.left_out).predict(self.test_scores)
        return cut(self.test_scores, thresholds)


# The label sets of the test samples of a fold, as a table of a record, to compare two methods sample by sample.


def rows_of_fold(fold: _folds.Fold, labels: Matrix) -> dict[str, Any]:
    """Return indices, true and predicted label sets of the test samples; label sets are ascending label indices.

    A sample's index is its row in the data set, or in the test part of a given split. Unknown labels are listed too.
    """
    truth = PartialLabels.of(fold.Y[fold.test])
    first = len(fold.training) if fold.seed is None else 0
    return {
        "label": list(fold.label_names),
        "row": (fold.test - first).tolist(),
        "true": _label_numbers(truth.labels),
        "predicted": _label_numbers(labels),
        **({} if truth.unknown is None else {"unknown": _label_numbers(truth.unknown)}),
    }


def _label_numbers(labels: Matrix) -> list[list[int]]:
    rows = sparse.csr_array(labels)
    rows.eliminate_zeros()
    rows.sort_indices()
    return [numbers.tolist() for numbers in np.split(rows.indices, rows.indptr[1:-1])]
