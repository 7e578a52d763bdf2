"""The parts of a model that an audit uses: leave-one-out results, the neighbours behind them, and names of labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from nearlabel.audit._scores import Cells
from nearlabel.lazy import LazyClassifier, LeftOut
from nearlabel.models.decision import cut
from nearlabel.thresholds import CalibratedLabels
from nearlabel.utils.arrays import cells_of, row_blocks
from nearlabel.utils.targets import PartialLabels
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense

Answer: TypeAlias = tuple[IntArray, Matrix, FloatArray]  # numbers of rows, their label sets, their scores

_MOST_KEPT = 2**26  # cells whose scores are stored for a second pass


@dataclass(frozen=True)
class AuditedModel:
    """A fitted method by votes, the parts around it that decide, and the names of the labels."""

    lazy: LazyClassifier
    thresholds: Any  # a classifier of `nearlabel.thresholds`, or None
    calibrations: tuple[CalibratedLabels, ...]  # the innermost first; with neither the method decides
    label_names: NDArray[Any]

    @classmethod
    def of(cls, model: Any) -> AuditedModel:
        """Look into pipelines, searches, thresholds and calibration; TypeError unless they contain a method by votes.

        The outermost thresholds decide, unless calibration is around them, and the outermost names are the user's: the
        inner parts were fitted to an array.
        """
        thresholds = names = None
        calibrations: tuple[CalibratedLabels, ...] = ()
        part = model
        while not isinstance(part, LazyClassifier):
            if isinstance(part, CalibratedLabels):
                calibrations = (part, *calibrations)
            elif thresholds is None and not calibrations and hasattr(part, "label_sets_of"):
                thresholds = part
            names = getattr(part, "label_names_", names) if names is None else names
            part = _inside(part, model)
        check_is_fitted(part)
        if not hasattr(part, "loo_with_neighbors"):
            raise _no_votes(model, part)
        return cls(part, thresholds, calibrations, part.label_names_ if names is None else names)

    @property
    def given(self) -> PartialLabels:
        """The label sets of the training samples."""
        return PartialLabels.of(self.lazy.training_labels(), dtype=None)

    @property
    def is_by_label(self) -> bool:
        """Whether each decision on a label depends only on its own votes and its own threshold."""
        return self.lazy.labels_are_independent and (self.thresholds is None or self.thresholds.cuts_only)

    def answers(self, left_out: LeftOut, listed: IntArray | None = None) -> Iterator[Answer]:
        """Yield leave-one-out results, calibrated, with the thresholds if there are any; of the `listed` labels."""
        for rows, labels, scores in left_out.answers():
            p = scores
            for calibration in self.calibrations:
                p = calibration.calibrated(p, listed)
            yield rows, (labels if p is scores and self.thresholds is None else self._decide(p, listed)), p

    def of_scores(self, scores: FloatArray) -> Iterator[Answer]:
        """Yield results from given scores, with the thresholds, or one half."""
        for block in row_blocks(len(scores), 64 * scores.shape[1]):
            yield np.arange(block.start, block.stop), self._decide(scores[block], None), scores[block]

    def _decide(self, scores: FloatArray, listed: IntArray | None) -> Matrix:
        if self.thresholds is None:
            return cut(scores, 0.5)
        if listed is None:
            return self.thresholds.label_sets_of(scores)
        labels: Matrix = cut(scores, self.thresholds.thresholds_[listed])
        return labels


class RememberedAnswers:
    """Leave-one-out results for more than one pass: stored where they are few, else computed again."""

    def __init__(self, make: Callable[[], Iterator[Answer]], n_cells: int) -> None:
        self._make = make
        self._kept = list(make()) if n_cells <= _MOST_KEPT else None

    def __iter__(self) -> Iterator[Answer]:
        """Yield numbers of rows, label sets and scores."""
        return iter(self._make() if self._kept is None else self._kept)


def _inside(part: Any, model: Any) -> Any:
    """Return the deciding part of a part of a model; TypeError if it was fitted to other rows than the model was."""
    if any(hasattr(step, "fit_resample") for step in _samplers_in(part)):
        raise TypeError(
            "model must be fitted to the samples that are audited, not to resampled ones with other numbers, got"
            f" {type(part).__name__}. Hint: audit a method that was fitted without the sampler."
        )
    if isinstance(part, Pipeline):
        return part[-1]
    for name in ("best_estimator_", "estimator_", "estimator"):
        if hasattr(part, name) and (name != "estimator" or isinstance(part, FrozenEstimator)):
            return getattr(part, name)
    if isinstance(part, BaseEstimator):
        check_is_fitted(part)
    raise _no_votes(model, part)


def _samplers_in(part: Any) -> list[Any]:
    """Return the samplers that may have changed the rows before a fit."""
    return [step for _, step in part.steps] if isinstance(part, Pipeline) else [getattr(part, "sampler", None)]


def _no_votes(model: Any, part: Any) -> TypeError:
    got, inner = type(model).__name__, type(part).__name__
    return TypeError(
        "model must be a method by votes of neighbours, such as MLkNN, or a pipeline, a search of parameters or"
        f" thresholds around one, got {got if got == inner else f'{got} around {inner}'}. Hint: to audit with scores of"
        " any other model, pass them: audit(BRkNN().fit(X, y), scores=...)."
    )


# The effects of correcting a cell on the leave-one-out predictions of the other rows.


def effects_of(
    model: AuditedModel, left_out: LeftOut, answers: Iterable[Answer], cells: Cells
) -> list[tuple[int, int]]:
    """Return for each cell how many other predictions of its label become right, and wrong, if only it is corrected.

    The predictions are those of a fit to the corrected label sets; `answers` are those of the present fit. Where each
    label is decided by its own votes, cells of different labels are corrected together, with the same effects as one by
    one.
    """
    labels = model.given.labels
    touched = np.unique(cells.labels)
    wrong = _is_wrong(((rows, predicted[:, touched], None) for rows, predicted, _ in answers), labels[:, touched])
    effects: dict[int, tuple[int, int]] = {}
    for together in _rounds(cells.labels, alone=not model.is_by_label):
        rows, columns = cells.rows[together], cells.labels[together]
        listed = columns if model.is_by_label else None
        places = np.arange(len(columns)) if model.is_by_label else columns
        corrected = _corrected(labels if listed is None else labels[:, listed], rows, places)
        is_wrong = _is_wrong(model.answers(left_out.relabelled(corrected), listed), corrected)
        before = wrong[:, np.searchsorted(touched, columns)]
        for at, cell in enumerate(together.tolist()):
            others = np.arange(labels.shape[0]) != rows[at]
            now, then = before[others, at], is_wrong[others, places[at]]
            effects[cell] = int((now & ~then).sum()), int((then & ~now).sum())
    return [effects[cell] for cell in range(len(cells.rows))]


def _rounds(labels: IntArray, *, alone: bool) -> list[IntArray]:
    """Return places of cells to be corrected together, ordered by label: no two of one label."""
    if alone:
        return [np.array([place]) for place in range(len(labels))]
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], labels[order])
    nth = np.arange(len(labels)) - starts  # of the cells of this label
    return [order[nth == number] for number in range(nth.max(initial=-1) + 1)]


def _corrected(labels: Matrix, rows: IntArray, columns: IntArray) -> Matrix:
    """Return label sets with these cells changed."""
    change = 1 - 2 * cells_of(labels, rows, columns).astype(np.int8)
    changed = labels + sparse.csr_array((change, (rows, columns)), shape=labels.shape)
    return sparse.csr_array(changed) if sparse.issparse(labels) else np.asarray(changed)


def _is_wrong(answers: Iterable[tuple[IntArray, Matrix, Any]], labels: Matrix) -> BoolArray:
    wrong = np.empty(labels.shape, dtype=np.bool_)
    for rows, predicted, _ in answers:
        wrong[rows] = as_dense(predicted) != as_dense(labels[rows])
    return wrong
