"""The effects of correcting a cell on the leave-one-out predictions of the other rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from nearlabel.audit._model import Answer, AuditedModel
from nearlabel.audit._scores import Cells
from nearlabel.lazy import LeftOut
from nearlabel.utils.cells import cells_of
from nearlabel.utils.types import BoolArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense


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
