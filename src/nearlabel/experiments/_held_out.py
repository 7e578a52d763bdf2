"""Label sets and scores of rows by models that have not seen them: leave-one-out, or by folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import clone

from nearlabel.decision import cut
from nearlabel.experiments._feature_scaler import FeatureScaler
from nearlabel.experiments._methods import MethodSpec
from nearlabel.experiments._searches import make_search
from nearlabel.neighbors import PrecomputedNeighbors
from nearlabel.thresholds import ThresholdStrategy
from nearlabel.utils.response_methods import label_scores, response_method_of
from nearlabel.utils.types import IntArray, Matrix
from nearlabel.utils.validation import as_dense


class Answer(NamedTuple):
    """What is said of every row by a model without it: dense arrays (n_samples, n_labels)."""

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

    def answer(self, spec: MethodSpec, n_neighbors: int | None, search: str) -> Answer:
        """Answer for every row by a method without thresholds that has not seen the row."""
        ...


class _Found:
    """Neighbours by name of the search; one search serves every method and every smaller number of neighbours."""

    def __init__(self, find: Callable[..., PrecomputedNeighbors]) -> None:
        self._find = find
        self._found: dict[str, PrecomputedNeighbors] = {}

    def by(self, search: str) -> PrecomputedNeighbors:
        if search not in self._found:
            self._found[search] = self._find(make_search(search))
        return self._found[search]


class LeaveOneOut:
    """Each row is answered for by all others, without a refit; the scaling has seen it."""

    name = "leave-one-out"

    def __init__(self, X: Matrix, Y: Matrix, scale: str, n_neighbors: int) -> None:
        self._X, self._Y, self._scale = X, Y, scale
        self.most_neighbors = Y.shape[0] - 2
        self._to_find = min(n_neighbors + 1, Y.shape[0] - 1)
        self._found = _Found(self._find)

    @cached_property
    def _rows(self) -> Matrix:
        return scaled(self._scale, self._X, self._Y)[0]

    def _find(self, search: Any) -> PrecomputedNeighbors:
        return PrecomputedNeighbors.from_search(search, self._rows, n_neighbors=self._to_find, check_rows=False)

    def answer(self, spec: MethodSpec, n_neighbors: int | None, search: str) -> Answer:
        """Answer by the method's own leave-one-out label sets and scores."""
        model = _fitted(spec.classifier(n_neighbors, self._found.by(search)), self._rows, self._Y)
        return Answer(as_dense(model.loo_predict()), model.loo_predict_proba())


class Folds:
    """Each row is answered for by a fit to the rows of other folds, scaling and selection of features included."""

    def __init__(self, X: Matrix, Y: Matrix, scale: str, parts: Sequence[IntArray], n_neighbors: int) -> None:
        self._X, self._Y, self._scale, self._parts = X, Y, scale, parts
        self.name = f"{len(parts)}-fold cross-validation"
        self.most_neighbors = Y.shape[0] - max(map(len, parts)) - 1
        self._n_neighbors = n_neighbors
        self._folds: dict[str, list[_Fold]] = {}

    def answer(self, spec: MethodSpec, n_neighbors: int | None, search: str) -> Answer:
        """Answer by a fit for each fold."""
        key = repr(spec.selection)
        if key not in self._folds:
            self._folds[key] = [self._fold(spec, part) for part in self._parts]
        answers = [fold.answer(spec, n_neighbors, search) for fold in self._folds[key]]
        order = np.argsort(np.concatenate(self._parts))
        labels, scores = (np.vstack(arrays)[order] for arrays in zip(*answers, strict=True))
        return Answer(labels, scores)

    def _fold(self, spec: MethodSpec, part: IntArray) -> _Fold:
        others = np.delete(np.arange(self._Y.shape[0]), part)
        rows, held = scaled(self._scale, self._X[others], self._Y[others], self._X[part])
        selector = spec.selector()
        if selector is not None:
            selector.fit(rows, self._Y[others])
            rows, held = selector.transform(rows), selector.transform(held)
        return _Fold(rows, self._Y[others], held, self._n_neighbors)


class _Fold:
    """Rows to learn from, and rows held out."""

    def __init__(self, rows: Matrix, Y: Matrix, held: Matrix, n_neighbors: int) -> None:
        self._rows, self._Y, self._held = rows, Y, held
        self._to_find = min(n_neighbors + 1, rows.shape[0] - 1)
        self._found = _Found(self._find)

    def _find(self, search: Any) -> PrecomputedNeighbors:
        queries = {"n_neighbors": self._to_find, "check_rows": False}
        return PrecomputedNeighbors.from_search(search, self._rows, self._held, **queries)

    def answer(self, spec: MethodSpec, n_neighbors: int | None, search: str) -> Answer:
        """Answer for the rows held out."""
        known = self._found.by(search) if spec.has_neighbors else None
        model = _fitted(spec.classifier(n_neighbors, known), self._rows, self._Y)
        method = response_method_of(model)
        scores = label_scores(model, self._held, self._Y.shape[1], method)
        return Answer(as_dense(model.predict(self._held)), scores)


def scaled(scale: str, X: Matrix, Y: Matrix, *others: Matrix) -> list[Matrix]:
    """Return rows, and other rows, scaled by what the first say."""
    if scale == "none":
        return [X, *others]
    scaler = FeatureScaler(scale).fit(X, Y)
    return [scaler.transform(rows) for rows in (X, *others)]


def _fitted(model: Any, X: Matrix, Y: Matrix) -> Any:
    with warnings.catch_warnings():
        # Who tries several sees in the table what they do.
        warnings.filterwarnings("ignore", message="formulas='printed' predicts next to no label")
        return model.fit(X, Y)
