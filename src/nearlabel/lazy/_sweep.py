"""Held-out answers for many numbers of neighbours, and the number that does best by them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from nearlabel.metrics import CATALOGUE
from nearlabel.metrics.evaluation import EMPTY_PREDICTIONS, score_and_count
from nearlabel.neighbors import PrecomputedNeighbors
from nearlabel.utils.types import FloatArray, Matrix
from nearlabel.utils.validation import as_dense

AUTO = "auto"
CANDIDATES = range(1, 31)  # numbers of neighbours that "auto" chooses from
SCORING = "micro_f1"  # by which it chooses
N_FOLDS = 5  # where a method has no leave-one-out answers


def is_auto(n_neighbors: object) -> bool:
    """Tell whether the number of neighbours is to be chosen; raise ValueError on any other word."""
    if isinstance(n_neighbors, str) and n_neighbors != AUTO:
        raise ValueError(f"n_neighbors must be an integer or {AUTO!r}, got {n_neighbors!r}.")
    return isinstance(n_neighbors, str)


class HeldOut(NamedTuple):
    """Label sets and scores of rows by classifiers that have not seen them; None where not asked for."""

    n_neighbors: int
    truth: Matrix
    predicted: Matrix | None
    scores: FloatArray | None


class Needs(NamedTuple):
    """What measures need."""

    prediction: bool
    score: bool

    @classmethod
    def of(cls, metrics: Iterable[str]) -> Needs:
        """Return what measures of the catalogue and counts of predictions need."""
        needed = {"prediction" if name == EMPTY_PREDICTIONS else CATALOGUE[name].needs for name in metrics}
        return cls("prediction" in needed, "score" in needed)


def left_out(classifier: Any, X: Matrix, labels: Matrix, candidates: Iterable[int], needs: Needs) -> Iterator[HeldOut]:
    """Answer for each training row without it: a fitted `LeaveOneOut` that knows enough neighbours of each."""
    for k in candidates:
        classifier._use_neighbors(k, X, labels)
        predicted = classifier._decide_left_out() if needs.prediction else None
        yield HeldOut(k, labels, predicted, classifier._score_left_out() if needs.score else None)


class Fold(NamedTuple):
    """Rows and label sets to learn from, rows held out with their label sets, and the neighbours of both."""

    rows: Matrix
    labels: Matrix
    held: Matrix
    truth: Matrix
    known: PrecomputedNeighbors

    @classmethod
    def of(cls, rows: Matrix, labels: Matrix, held: Matrix, truth: Matrix, search: Any, most: int) -> Fold:
        """Search once for the `most` nearest neighbours."""
        known = PrecomputedNeighbors.from_search(search, rows, held, n_neighbors=most, check_rows=False)
        return cls(rows, labels, held, truth, known)

    def fit(self, classifier: Any, n_neighbors: int) -> Any:
        """Fit a clone with so many neighbours."""
        return clone(classifier).set_params(n_neighbors=n_neighbors, search=self.known).fit(self.rows, self.labels)


def held_out(classifier: Any, folds: Sequence[Fold], candidates: Iterable[int], needs: Needs) -> Iterator[HeldOut]:
    """Answer for each row held out by fits of the others."""
    truth = _stacked(fold.truth for fold in folds)
    for k in candidates:
        fitted = [(fold.fit(classifier, k), fold.held) for fold in folds]
        predicted = _stacked(model.predict(held) for model, held in fitted) if needs.prediction else None
        scores = np.vstack([model.predict_proba(held) for model, held in fitted]) if needs.score else None
        yield HeldOut(k, truth, predicted, scores)


def _stacked(parts: Iterable[Matrix]) -> Matrix:
    return np.vstack([as_dense(part) for part in parts])


def values_over(answers: Iterable[HeldOut], metrics: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the table over numbers of neighbours: "n_neighbors", and the values of each measure."""
    rows = [
        (answer.n_neighbors, score_and_count(answer.truth, answer.predicted, answer.scores, metrics))
        for answer in answers
    ]
    table: dict[str, NDArray[Any]] = {"n_neighbors": np.array([k for k, _ in rows])}
    return table | {name: np.array([values[name] for _, values in rows]) for name in metrics}


def best_of(table: Mapping[str, NDArray[Any]], metric: str) -> int:
    """Return the number of neighbours of the best value, of equal ones the smallest."""
    if np.isnan(table[metric]).all():
        raise ValueError(f"scoring must be a measure that these label sets define, got {metric!r}, which they do not.")
    direction = 1 if CATALOGUE[metric].greater_is_better else -1
    return int(table["n_neighbors"][np.nanargmax(direction * table[metric])])
