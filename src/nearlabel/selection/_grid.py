"""The grid of a tuning: methods with numbers of neighbours, scalings and searches, and which of them share a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from scipy import sparse
from sklearn.base import clone

from nearlabel.datasets import Dataset
from nearlabel.lazy import MLMLM, NeighborsSweep
from nearlabel.models import out_of_sample
from nearlabel.models.decision import cut
from nearlabel.models.out_of_sample import largest_group, of_groups, rows_of, splitter_of
from nearlabel.preprocessing import CLIP, OutOfRange
from nearlabel.rivals.clustering_trees import ClusteringTrees
from nearlabel.selection.candidates import EXACT, Candidate, Line
from nearlabel.selection.data import Columns, groups_of_copies, have_copies, in_small_groups, preparation, prepared_by
from nearlabel.selection.methods import MethodSpec, sharing_a_fit
from nearlabel.selection.specs import N_FOLDS, Part, make_search
from nearlabel.thresholds import ThresholdStrategy
from nearlabel.utils.messages import without_advice
from nearlabel.utils.targets import PartialLabels, has_unknown
from nearlabel.utils.types import BoolArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

_COSINE = "exact:metric=cosine"
_FEW = 3  # numbers of neighbours tried from a range, for methods that need a fit for each
_BY_FEATURE = ("none", "minmax", "standard")  # scalings that shift and divide each feature


class Fitting(NamedTuple):
    """Methods that share a fit (they differ only in thresholds), with some numbers of neighbours.

    Parameters
    ----------
    specs : dict of str to MethodSpec
        The methods, by name.
    numbers : sequence of int, or (None,)
        Numbers of neighbours to try.
    scale, search : str, str or None
        Names of the scaling and of the search.
    search_object : object
        The object of the search's name.
    by : HoldingOut
        How samples are held out.
    copy_of : str
        Reason why it is skipped as a copy of another one; empty if it must be fitted.
    """

    specs: dict[str, MethodSpec]
    numbers: Sequence[int | None]
    scale: str
    search: str | None
    search_object: Any
    by: HoldingOut
    copy_of: str

    @property
    def lines(self) -> list[Line]:
        """One line for each method."""
        return [Line(name, self.scale, self.search) for name in self.specs]

    def answer(self, by: HoldingOut, n_neighbors: int | None) -> Answer:
        """Return the predictions for held-out samples, without thresholds."""
        spec = next(iter(self.specs.values()))
        return by.answer(spec, n_neighbors, self.search_object, self.search or EXACT)


@dataclass(frozen=True)
class Grid:
    """All candidates of a `Tuning`; the fields are as there, with an object for each name."""

    methods: dict[str, Any]
    n_neighbors: int | tuple[int, ...]
    scales: tuple[str, ...]
    searches: dict[str, Any]
    cv: str | int
    impute: str | None
    out_of_range: OutOfRange = CLIP

    @cached_property
    def specs(self) -> dict[str, MethodSpec]:
        """The methods as specifications."""
        return {name: MethodSpec.of(method) for name, method in self.methods.items()}

    def candidate(self, method: str, n_neighbors: int | None, scale: str, search: str | None) -> Candidate:
        """Return a candidate, with the objects of names that are not nearlabel's own."""
        of_method = self.methods[method]
        of_search = None if search is None else self.searches[search]
        return Candidate(
            method,
            n_neighbors,
            scale,
            search,
            method_object=None if of_method == method else of_method,
            search_object=None if of_search == search else of_search,
            impute=self.impute,
            out_of_range=self.out_of_range,
        )

    def tried(self, method: str, n_neighbors: int | None, scale: str, search: str | None) -> Candidate:
        """Return a candidate that a file names as tried; raise ValueError or LookupError unless it is in this grid."""
        spec, numbers = self.specs[method], self.n_neighbors
        is_number = type(n_neighbors) is int and (
            n_neighbors in numbers if isinstance(numbers, tuple) else 1 <= n_neighbors <= numbers
        )
        searches = self.searches if spec.shares_search else (None,)
        if scale not in self.scales or search not in searches or is_number != spec.has_neighbors:
            raise ValueError(f"{method} was not tried with {n_neighbors}, {scale} and {search}")
        return self.candidate(method, n_neighbors, scale, search)

    def fittings(self, samples: Samples) -> list[Fitting]:
        """Return the necessary fits, method by method; methods that differ only in their thresholds share a fit."""
        held_out = {scale: self._held_out(samples, scale) for scale in self.scales}
        copies = _copied_scales({scale: left_out for scale, (left_out, _) in held_out.items()})
        fittings = []
        for specs in sharing_a_fit(self.specs):
            spec = next(iter(specs.values()))
            for scale, (left_out, folds) in held_out.items():
                by: HoldingOut = left_out if self.cv == LOO and spec.has_left_out_scores else folds
                numbers = self._numbers(by, samples.Y.shape[0]) if spec.has_neighbors else (None,)
                for search in self.searches if spec.shares_search else (None,):
                    copy_of = copies[scale] or self._copied_by_method(spec, scale, search, left_out)
                    search_object = EXACT if search is None else self.searches[search]
                    fittings.append(Fitting(specs, numbers, scale, search, search_object, by, copy_of))
        return fittings

    def _held_out(self, samples: Samples, scale: str) -> tuple[LeaveOneOut, Folds]:
        data, Y, parts, copies = samples
        n_more = 0 if copies is None else largest_group(in_small_groups(copies)[0]) - 1
        largest = max(self.n_neighbors) if isinstance(self.n_neighbors, tuple) else self.n_neighbors
        steps = preparation(Columns.of(data), self.impute, scale, self.out_of_range)
        left_out = LeaveOneOut(data.X, Y, steps, largest + n_more, data.groups)
        # Only calibration leaves groups out inside a fold, which needs more neighbours.
        groups = data.groups if any(spec.calibration for spec in self.specs.values()) else None
        return left_out, Folds(data.X, Y, steps, parts, largest, groups)

    def _numbers(self, by: HoldingOut, n_rows: int) -> Sequence[int]:
        """Return the numbers of neighbours to try; fewer of a range if each needs a fit."""
        most = by.most_neighbors
        if most < 1:
            raise ValueError(f"data must have more samples, so that some can be held out, got {n_rows}.")
        if isinstance(self.n_neighbors, tuple):
            if max(self.n_neighbors) > most:
                raise ValueError(
                    f"n_neighbors must be at most {most} where some of {n_rows} rows are held out,"
                    f" got {max(self.n_neighbors)}."
                )
            return self.n_neighbors
        last = min(self.n_neighbors, most)
        step = max(1, last // _FEW) if isinstance(by, Folds) and self.cv == LOO and last > 2 * _FEW else 1
        return range(step, last + 1, step)

    def _copied_by_method(self, spec: MethodSpec, scale: str, search: str | None, left_out: LeaveOneOut) -> str:
        """Return the reason why a method gives the same result with another scaling or search; empty if it does not."""
        first = next((one for one in self.scales if one in _BY_FEATURE), scale)
        if isinstance(spec.method.prototype, ClusteringTrees) and scale in _BY_FEATURE and scale != first:
            return f"the same as with scaling {first}, as trees depend only on the order of values"
        if _scales_itself(spec.method.prototype) and scale in _BY_FEATURE and scale != first:
            return f"the same as with scaling {first}, as the method divides features by their ranges"
        if search == _COSINE and EXACT in self.searches and left_out.has_unit_rows:
            return "the same as with the Euclidean distance, as all samples have norm 1"
        return ""


def _scales_itself(method: Any) -> bool:
    """Return whether a method divides features by their ranges and is invariant to shifts."""
    return isinstance(method, MLMLM) and (method.scale, method.metric) == ("minmax", "euclidean")


def _copied_scales(left_out: Mapping[str, LeaveOneOut]) -> dict[str, str]:
    """Return why each scaling is left out (an earlier one gives the same features); empty if it is not."""
    copied: dict[str, str] = {}
    for scale, rows in left_out.items():
        same = (other for other in copied if not copied[other] and _are_equal(left_out[other].prepared, rows.prepared))
        copied[scale] = next((f"the same as with scaling {other}, as the features are the same" for other in same), "")
    return copied


def _are_equal(first: Matrix, second: Matrix) -> bool:
    if sparse.issparse(first) or sparse.issparse(second):
        return bool((sparse.csr_array(first) != sparse.csr_array(second)).nnz == 0)
    return bool(np.array_equal(first, second))


# Out-of-sample label sets and scores, by leave-one-out or by folds.


class Answer(NamedTuple):
    """The out-of-sample predictions of every sample: dense arrays (n_samples, n_labels)."""

    labels: Any
    scores: Any

    def decided(self, thresholds: ThresholdStrategy | float | None, Y: Matrix, parts: Sequence[IntArray]) -> Any:
        """Return label sets by the method's own rule, by one threshold, or by a strategy tuned without each part."""
        if thresholds is None:
            return self.labels
        if not isinstance(thresholds, ThresholdStrategy):
            return cut(self.scores, thresholds)
        decided = np.empty_like(self.labels)
        for part in parts:
            others = np.delete(np.arange(len(decided)), part)
            strategy = clone(thresholds).fit(self.scores[others], Y[others])
            decided[part] = as_dense(strategy.predict(self.scores[part]))
        return decided


class LeaveOneOut:
    """Each sample is predicted from all others, or from all other groups, without a refit.

    The preparation of features is fitted to all samples.
    """

    def __init__(
        self, X: Matrix, Y: Matrix, steps: list[Any], n_neighbors: int, groups: IntArray | None = None
    ) -> None:
        self._X, self._Y, self._steps, self._groups = X, Y, steps, groups
        self.name = "leave-one-out" if groups is None else "leave-one-group-out"
        self.most_neighbors = Y.shape[0] - 1 - out_of_sample.largest_group(groups)
        self._to_find = n_neighbors + out_of_sample.largest_group(groups)
        self._sweeps: dict[tuple[Part, str], NeighborsSweep] = {}

    @property
    def prepared(self) -> Matrix:
        """The features, prepared by a fit to all samples."""
        return self._rows.X

    @cached_property
    def has_unit_rows(self) -> bool:
        """Whether all samples have norm 1, so that cosine and Euclidean distance give the same order."""
        X = self.prepared
        squares = X.multiply(X) if sparse.issparse(X) else np.square(X)
        return bool(np.allclose(np.asarray(squares.sum(axis=1)), 1.0, rtol=0, atol=1e-12))

    @cached_property
    def _rows(self) -> out_of_sample.LeaveOneOut:
        return out_of_sample.LeaveOneOut(prepared_by(self._steps, self._X)[0], self._Y, self._groups)

    def answer(self, spec: MethodSpec, n_neighbors: int | None, search: Any, search_name: str) -> Answer:
        """Return the leave-one-out label sets and scores of a method without thresholds.

        The neighbours that a search finds are stored under its name.
        """
        known = _neighbors(self._rows, spec, search, search_name, self._to_find)
        if n_neighbors is None or not self._is_swept(spec):
            return _dense_answer(self._rows, spec.classifier(n_neighbors, known))
        with without_advice():
            labels, scores = self._sweep(spec, known, search_name).answer(n_neighbors)
        return Answer(as_dense(labels), scores)

    def _is_swept(self, spec: MethodSpec) -> bool:
        """Return whether one fit of the method serves all numbers of neighbours."""
        return spec.sampler is None and NeighborsSweep.serves(spec.method.prototype) and not has_unknown(self._Y)

    def _sweep(self, spec: MethodSpec, known: Any, search_name: str) -> NeighborsSweep:
        """Return the predictions of a method for all numbers of neighbours."""
        key = spec.method, search_name
        if key not in self._sweeps:
            most = min(known.n_neighbors_known - largest_group(self._groups), self.most_neighbors)
            model, (X, Y) = spec.classifier(None, known), (self._rows.X, self._rows.y)
            self._sweeps[key] = NeighborsSweep.left_out(model, X, Y, [most], groups=self._groups)
        return self._sweeps[key]

    def without_copies(self, copies: IntArray) -> tuple[LeaveOneOut, BoolArray]:
        """Return the same with the copies of each sample left out too, and for which samples this is possible.

        `copies` (n_samples,) has the same number for equal samples. The neighbours already found, if any, are used.
        """
        groups, rows = in_small_groups(copies)
        other = LeaveOneOut(self._X, self._Y, self._steps, self._to_find, groups)
        other._rows = self._rows.by_groups(groups)
        return other, rows


class Folds:
    """Each sample is predicted by a fit to the other folds, including the preparation of features."""

    def __init__(
        self,
        X: Matrix,
        Y: Matrix,
        steps: list[Any],
        parts: Sequence[IntArray],
        n_neighbors: int,
        groups: IntArray | None = None,
    ) -> None:
        self._X, self._Y, self._steps, self._parts, self._groups = X, Y, steps, parts, groups
        self.name = f"{len(parts)}-fold cross-validation"
        self.most_neighbors = Y.shape[0] - max(map(len, parts)) - 1
        self._to_find = n_neighbors + out_of_sample.largest_group(groups)
        self._folds: dict[Part | None, list[out_of_sample.Fold]] = {}

    def answer(self, spec: MethodSpec, n_neighbors: int | None, search: Any, search_name: str) -> Answer:
        """Return the predictions from a fit for each fold."""
        if spec.selection not in self._folds:
            self._folds[spec.selection] = [self._fold(spec, part) for part in self._parts]
        folds = self._folds[spec.selection]
        known = [_neighbors(fold, spec, search, search_name, self._to_find) for fold in folds]
        answers = [
            _dense_answer(fold, spec.classifier(n_neighbors, k), **self._held_out_groups(spec, part))
            for fold, k, part in zip(folds, known, self._parts, strict=True)
        ]
        order = np.argsort(np.concatenate(self._parts))
        labels, scores = (np.vstack(arrays)[order] for arrays in zip(*answers, strict=True))
        return Answer(labels, scores)

    def without_copies(self, copies: IntArray) -> tuple[Folds, BoolArray]:
        """Return the same object for samples that have no copy in another fold: their fits did not include a copy."""
        rows = np.ones(len(copies), dtype=bool)
        for part in self._parts:
            rows[part] = ~have_copies(copies, np.delete(np.arange(len(copies)), part), part)
        return self, rows

    def _held_out_groups(self, spec: MethodSpec, part: IntArray) -> dict[str, Any]:
        """Return the groups of the training samples for a method that uses held-out samples in its fit."""
        if spec.calibration is None or self._groups is None:
            return {}
        return out_of_sample.of_groups(np.delete(self._groups, part))

    def _fold(self, spec: MethodSpec, part: IntArray) -> out_of_sample.Fold:
        others = np.delete(np.arange(self._Y.shape[0]), part)
        rows, held = prepared_by(self._steps, self._X[others], self._X[part])
        selector = spec.selector()
        if selector is not None:
            selector.fit(rows, self._Y[others])
            rows, held = selector.transform(rows), selector.transform(held)
        return out_of_sample.Fold(rows, self._Y[others], held)


HoldingOut: TypeAlias = LeaveOneOut | Folds  # how samples are held out, with one scaling of the features


def _neighbors(rows: Any, spec: MethodSpec, search: Any, name: str, to_find: int) -> Any:
    """Return the neighbours found by a shared search, for all methods and all smaller numbers of neighbours.

    If labels are unknown, the method searches itself.
    """
    return rows.neighbors(make_search(search), to_find, name) if spec.has_neighbors else None


def _dense_answer(rows: Any, classifier: Any, **params: Any) -> Answer:
    """Return the predictions of a classifier for samples on which it was not trained."""
    with without_advice():
        labels, scores = rows.answer(classifier, **params)
    return Answer(as_dense(labels), scores)


# The samples on which a tuning evaluates candidates, and their split into parts.

LOO = "loo"


class Samples(NamedTuple):
    """A data set, its label sets with NaN in unknown cells, and the parts for evaluating selections and thresholds.

    `copies` (n_samples,) has the same number for equal samples; None if no metrics without copies are requested.
    """

    data: Dataset
    Y: Matrix
    parts: list[IntArray]
    copies: IntArray | None

    @classmethod
    def of(cls, data: Dataset, cv: str | int, *, without_copies: bool) -> Self:
        """Return a data set split into parts; groups are never split, so copies are not searched then."""
        Y = PartialLabels.of(data.Y).with_nan()
        copies = groups_of_copies(data.X) if without_copies and data.groups is None else None
        return cls(data, Y, parts_of(data.name, Y.shape[0], data.groups, cv), copies)


def parts_of(name: str, n_rows: int, groups: IntArray | None, cv: str | int) -> list[IntArray]:
    """Return the sample indices of each fold; selections and thresholds are evaluated on the same parts."""
    n_units, units = (n_rows, "rows") if groups is None else (len(np.unique(groups)), "groups")
    if n_units < 2:
        raise ValueError(f"{name!r} must have at least 2 {units} for some to be held out, got {n_units}.")
    n_parts = min(N_FOLDS, n_units) if cv == LOO else int(cv)
    if n_parts > n_units:
        raise ValueError(f"cv must be at most the {n_units} {units} of {name}, got {n_parts}.")
    splitter = splitter_of(n_parts, n_rows, 0, groups)
    return [part for _, part in splitter.split(np.zeros((n_rows, 1)), **of_groups(groups))]


def drawn(data: Dataset, n_rows: int) -> Dataset:
    """Return a random sample of the rows, always the same."""
    rows = np.sort(np.random.default_rng(0).permutation(data.X.shape[0])[:n_rows])
    groups = None if data.groups is None else np.unique(data.groups[rows], return_inverse=True)[1]
    return replace(data, X=rows_of(data.X, rows), Y=rows_of(data.Y, rows), groups=groups)
