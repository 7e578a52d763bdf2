"""Areas under the two curves of a ranking of cells, for many rankings (lines) at once.

A line is a sequence of cells to rank: the samples of a label, the labels of a sample, or all cells of the matrix. Both
areas are sums over the groups of equal scores, best first, of the weights of their positive and negative cells. A cell
with the score NaN is unknown, neither positive nor negative: it comes last, in a group of its own.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearlabel.metrics._lines import absent_columns, line_blocks
from nearlabel.metrics.inputs import dense_rows, is_sparse
from nearlabel.utils.types import BoolArray, FloatArray, Matrix


class Areas(NamedTuple):
    """Arrays of shape (n_lines,); a line that has only positive or only negative cells has areas of nan."""

    roc: FloatArray
    precision: FloatArray  # average precision: the area under the steps of precision over recall
    n_positive: FloatArray  # or the sum of their weights


def areas_of_lines(true: Matrix, scores: Matrix, weights: FloatArray | None) -> Areas:
    """Return the areas of each row of matrices (n_lines, n_cells); `weights` (n_cells,) are above 0."""
    sizes = np.ones(true.shape[1]) if weights is None else weights
    blocks = [_areas_of_block(true[lines], scores[lines], sizes) for lines in line_blocks(true, scores)]
    return Areas(*(np.concatenate(parts) for parts in zip(*blocks, strict=True)))


def transposed(matrix: Matrix) -> Matrix:
    """Return the columns of a matrix as lines."""
    return matrix.T.tocsr() if is_sparse(matrix) else matrix.T


def _areas_of_block(true: Matrix, scores: Matrix, sizes: FloatArray) -> Areas:
    """Return the areas of some lines; if sparse, the cells that are empty in all lines are merged into one."""
    absent = absent_columns(true, scores)[1:]
    if len(absent):
        kept = np.delete(np.arange(true.shape[1]), absent)
        stands_for_others = absent_columns(true[:, kept], scores[:, kept])
        sizes_kept = sizes[kept]
        sizes_kept[stands_for_others] += sizes[absent].sum()
        true, scores, sizes = true[:, kept], scores[:, kept], sizes_kept
    everything = slice(None)
    return _areas(dense_rows(true, everything).astype(bool), -dense_rows(scores, everything), sizes)


def _areas(positive: BoolArray, losses: FloatArray, sizes: FloatArray) -> Areas:
    order = np.argsort(losses, axis=1)
    sorted_losses = np.take_along_axis(losses, order, axis=1)
    is_last = np.ones(losses.shape, dtype=bool)  # of a group of equal scores
    is_last[:, :-1] = sorted_losses[:, 1:] != sorted_losses[:, :-1]
    line = np.nonzero(is_last)[0]
    is_hit = np.take_along_axis(positive, order, axis=1)
    sorted_sizes = sizes[order]
    hits, hits_before = _running_sums(is_hit * sorted_sizes, is_last, line)
    misses, misses_before = _running_sums(~(is_hit | np.isnan(sorted_losses)) * sorted_sizes, is_last, line)
    trapezoids = (misses - misses_before) * (hits + hits_before) / 2
    n_lines = len(positive)
    n_hits, n_misses = positive @ sizes, ~(positive | np.isnan(losses)) @ sizes
    with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 is nan
        steps = (hits - hits_before) * hits / (hits + misses)
        roc = np.bincount(line, trapezoids, minlength=n_lines) / (n_hits * n_misses)
        precision = np.where(n_misses > 0, np.bincount(line, steps, minlength=n_lines) / n_hits, np.nan)
    return Areas(roc, precision, n_hits)


def _running_sums(values: FloatArray, is_last: BoolArray, line: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the sums of each line up to the end of each group, and to the end of the group before it."""
    ends = np.cumsum(values, axis=1)[is_last]
    before = np.append(0.0, ends[:-1])
    before[np.append(True, line[1:] != line[:-1])] = 0.0
    return ends, before
