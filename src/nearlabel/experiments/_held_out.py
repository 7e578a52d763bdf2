"""Label sets and scores of rows by models that have not seen them: leave-one-out, or by folds."""

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
    """The predictions for every row by a model without it: dense arrays (n_samples, n_labels)."""

    labels: Any
    scores: Any

    def decided(self, thresholds: ThresholdStrategy | float | None, Y: Matrix, parts: Sequence[IntArray]) -> Any:
        """Return the label sets by the method's own rule, one threshold, or a strategy tuned without each part."""
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
    """A way to hold out rows of one data set, its features in one scaling."""

    name: str
    most_neighbors: int

    def answer(self, spec: MethodSpec, n_neighbors: int | None, search: Any, search_name: str) -> Answer:
        """Answer for every row by a method without thresholds that has not seen the row.

        What a search finds is kept under its name.
        """
        ...

    def without_copies(self, copies: IntArray) -> tuple[HoldingOut, BoolArray]:
        """Return what answers for rows without their copies, which may be this object, and for which rows it can.

        `copies` (n_samples,) gives equal rows the same number.
        """
        ...


class LeaveOneOut:
    """Each row is answered for by all others, or all of other groups, without a refit.

    What is done to features is fitted to all rows.
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
        """The features, prepared by all rows."""
        return self._rows.X

    @cached_property
    def has_unit_rows(self) -> bool:
        """Whether all rows are of length 1, so that the cosine orders neighbours as the Euclidean distance does."""
        X = self.prepared
        squares = X.multiply(X) if sparse.issparse(X) else np.square(X)
        return bool(np.allclose(np.asarray(squares.sum(axis=1)), 1.0, rtol=0, atol=1e-12))

    @cached_property
    def _rows(self) -> out_of_sample.LeaveOneOut:
        return out_of_sample.LeaveOneOut(prepared_by(self._steps, self._X)[0], self._Y, self._groups)

    def answer(self, spec: MethodSpec, n_neighbors: int | None, search: Any, search_name: str) -> Answer:
        """Answer by the method's own leave-one-out label sets and scores."""
        known = _neighbors(self._rows, spec, search, search_name, self._to_find)
        return _dense_answer(self._rows, spec.classifier(n_neighbors, known))

    def without_copies(self, copies: IntArray) -> tuple[LeaveOneOut, BoolArray]:
        """Return the same with the copies of each row left out, too, by the neighbours that are known."""
        groups, rows = in_small_groups(copies)
        other = LeaveOneOut(self._X, self._Y, self._steps, 0, groups)
        other._rows = self._rows.by_groups(groups)
        return other, rows


class Folds:
    """Each row is answered for by a fit to the rows of other folds, what is done to features included."""

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
        """Answer by a fit for each fold."""
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
        """Return the same for rows that have no copy in another fold: no row of its own was in their fits."""
        rows = np.ones(len(copies), dtype=bool)
        for part in self._parts:
            rows[part] = ~have_copies(copies, np.delete(np.arange(len(copies)), part), part)
        return self, rows

    def _held_out_groups(self, spec: MethodSpec, part: IntArray) -> dict[str, Any]:
        """Return the groups of the rows that are fitted, for a method that holds some out meanwhile."""
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
    """Return what a search finds, if the method asks one: it serves every method and every smaller number.

    Where labels are unknown the method searches itself.
    """
    return rows.neighbors(make_search(search), to_find, name) if spec.has_neighbors else None


def _dense_answer(rows: Any, classifier: Any, **params: Any) -> Answer:
    """Ask for the answers of a classifier that has not seen the rows."""
    with without_advice():
        labels, scores = rows.answer(classifier, **params)
    return Answer(as_dense(labels), scores)
