"""What would turn a decision: the least change of a label's votes, found by trying every number of votes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearlabel.lazy._plain import column_of
from nearlabel.utils.blocks import row_blocks
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix
from nearlabel.utils.validation import as_dense


def least_changes(decided: BoolArray, votes: IntArray) -> NDArray[Any]:
    """Return for each label the least change of its votes that turns the decision, or None.

    Takes what is decided at every number of votes (n_labels, n_counts), and the votes (n_labels,). Of a gain and a loss
    of as many votes it is the gain for a label that is not chosen, the loss for one that is.
    """
    now = decided[np.arange(len(votes)), votes][:, np.newaxis]
    change = np.arange(decided.shape[1]) - votes[:, np.newaxis]
    cost = 2 * np.abs(change) + (np.where(now, -change, change) < 0)
    cost[decided == now] = np.iinfo(cost.dtype).max
    best = cost.argmin(axis=1)[:, np.newaxis]
    changes = np.take_along_axis(change, best, axis=1).ravel().tolist()
    turns = (decided != now).any(axis=1).tolist()
    return column_of([one if possible else None for one, possible in zip(changes, turns, strict=True)])


def weights_at(carriers: IntArray, weights: FloatArray) -> FloatArray:
    """Return the summed weight of each label with 0 .. k votes, (n_labels, k + 1).

    Takes who carries each label (k, n_labels) and the weights (k,). Votes are gained from the heaviest neighbours that
    do not carry the label, and lost from the heaviest that do: so the fewest votes move the most weight.
    """
    weighed = np.broadcast_to(weights[:, np.newaxis], carriers.shape)
    order = np.lexsort((np.where(carriers, weighed, -weighed), 1 - carriers), axis=0)
    sums = np.cumsum(np.take_along_axis(weighed, order, axis=0), axis=0)
    return np.vstack([np.zeros((1, carriers.shape[1])), sums]).T


def decided_by(
    rule: Callable[[FloatArray], Matrix], scores: FloatArray, labels: IntArray, scores_at: FloatArray
) -> BoolArray:
    """Return what a rule decides on each label at every number of votes, (n_listed, n_counts).

    Takes the scores of all labels (n_labels,), the listed labels' column numbers (n_listed,) and scores at every number
    of votes (n_listed, n_counts). The rule sees label sets as a whole: one label's score is changed at a time.
    """
    n_counts = scores_at.shape[1]
    decided = np.empty(scores_at.size, dtype=np.bool_)
    for block in row_blocks(scores_at.size, 32 * len(scores)):
        each, own = np.arange(block.stop - block.start), labels[np.arange(block.start, block.stop) // n_counts]
        changed = np.tile(scores, (len(each), 1))
        changed[each, own] = scores_at.ravel()[block]
        decided[block] = as_dense(rule(changed))[each, own] == 1
    return decided.reshape(scores_at.shape)
