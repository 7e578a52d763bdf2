"""One pass over all cells: the most suspicious ones, scores of samples, issues, and wrong predictions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from nearlabel.audit._model import Answer
from nearlabel.audit._scores import (
    Block,
    Cells,
    confident_sums,
    issues_of,
    most_suspicious,
    prior_odds,
    row_quality,
    self_confidence,
    thresholds_of,
)
from nearlabel.neighbors import label_votes
from nearlabel.neighbors.contract import vote_weights
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import CSR, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense


class Look(NamedTuple):
    """The results of a pass over all cells."""

    cells: Cells  # the most suspicious
    quality: FloatArray  # (n_rows,): lower is more suspicious
    issues: CSR  # (n_rows, n_labels): 1 where confident learning marks a cell as wrong
    missed: CSR  # (n_rows, n_labels): 1 where a label was given and is not predicted
    added: CSR  # (n_rows, n_labels): 1 where a label is predicted and was not given


def look_at_cells(
    answers: Iterable[Answer],
    given: PartialLabels,
    neighbors: tuple[FloatArray, IntArray],
    n_cells: int,
    prior: FloatArray | None,
) -> Look:
    """Read leave-one-out predictions twice: for thresholds of confidence, then for cells.

    With `prior` cells are ordered by odds over it, else by self-confidence.
    """
    thresholds = _thresholds(answers, given)
    parts: list[tuple[FloatArray, CSR, CSR, CSR]] = []

    def blocks() -> Iterator[Block]:
        for rows, predicted, scores in answers:
            own = given.rows(rows)
            labels = own.with_nan()
            quality = self_confidence(scores, labels)
            issues = sparse.csr_array(issues_of(quality, labels, thresholds))
            ordered = quality if prior is None else prior_odds(scores, labels, prior=prior)
            parts.append((row_quality(ordered), issues, *_errors(own, predicted)))
            shares = _shares(given, neighbors[0][rows], neighbors[1][rows])
            yield Block(int(rows[0]), scores, labels, shares)

    cells = most_suspicious(blocks(), n_cells, prior=prior)
    quality, issues, missed, added = zip(*parts, strict=True)
    return Look(
        cells, np.concatenate(quality), *(sparse.vstack(some, format="csr") for some in (issues, missed, added))
    )


def _thresholds(answers: Iterable[Answer], given: PartialLabels) -> FloatArray:
    sums: Any = 0.0
    counts: Any = 0
    for rows, _, scores in answers:
        labels = given.rows(rows).with_nan()
        of_block = confident_sums(self_confidence(scores, labels), labels)
        sums, counts = sums + of_block[0], counts + of_block[1]
    return thresholds_of(sums, counts)


def _errors(given: PartialLabels, predicted: Matrix) -> tuple[CSR, CSR]:
    """Return where a known label was missed, and where one was added, each as CSR of 0 and 1."""
    labels, found = (sparse.csr_array(one, dtype=np.int8) for one in (given.labels, predicted))
    both = labels.multiply(found)
    missed, added = sparse.csr_array(labels - both), sparse.csr_array(found - both)
    if given.unknown is not None:
        added = sparse.csr_array(added - added.multiply(sparse.csr_array(given.unknown, dtype=np.int8)))
    for errors in (missed, added):
        errors.eliminate_zeros()
    return missed, added


def _shares(given: PartialLabels, distances: FloatArray, indices: IntArray) -> FloatArray:
    """Return the share of the neighbours that carry each label, by inverse distance, among those that know it."""
    weights = vote_weights(distances, "distance")
    carried = as_dense(label_votes(indices, given.labels, weights)).astype(np.float64)
    total: Any = weights.sum(axis=1, keepdims=True)
    if given.unknown is not None:
        total = total - as_dense(label_votes(indices, sparse.csr_array(given.unknown, dtype=np.int8), weights))
    known = total > 1e-9  # the rest of a sum of weights may be a rounding error
    shares = np.divide(carried, total, out=np.full(carried.shape, 0.5), where=np.broadcast_to(known, carried.shape))
    clipped: FloatArray = np.clip(shares, 0.0, 1.0)
    return clipped
