"""Out-of-sample label sets and scores, by leave-one-out or by folds."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone

from nearlabel import out_of_sample
from nearlabel.decision import cut
from nearlabel.experiments._advice import without_advice
from nearlabel.experiments._copies import have_copies, in_small_groups
from nearlabel.experiments._methods import MethodSpec
from nearlabel.experiments._parts import Part
from nearlabel.experiments._preparing import prepared_by
from nearlabel.experiments._searches import make_search
from nearlabel.thresholds import ThresholdStrategy
from nearlabel.utils.types import BoolArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense


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


class HoldingOut(Protocol):
    """A way to hold out samples of a data set, with one scaling of its features."""

    name: str
    most_neighbors: int

    def answer(self, spec: MethodSpec, n_neighbors: int | None, search: Any, search_name: str) -> Answer:
        """Return out-of-sample predictions for every sample, by a method without thresholds.

        The neighbours that a search finds are stored under its name.
        """
        ...

    def without_copies(self, copies: IntArray) -> tuple[HoldingOut, BoolArray]:
        """Return the way to hold out samples together with their copies, and for which samples it is possible.

        `copies` (n_samples,) has the same number for equal samples.
        """
        ...


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
        """Return the method's own leave-one-out label sets and scores."""
        known = _neighbors(self._rows, spec, search, search_name, self._to_find)
        return _dense_answer(self._rows, spec.classifier(n_neighbors, known))

    def without_copies(self, copies: IntArray) -> tuple[LeaveOneOut, BoolArray]:
        """Return the same with the copies of each sample left out too, using the neighbours already found."""
        groups, rows = in_small_groups(copies)
        other = LeaveOneOut(self._X, self._Y, self._steps, 0, groups)
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
