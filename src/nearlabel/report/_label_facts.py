"""Facts of label sets for a report: statistics, label frequencies and co-occurrence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nearlabel import labels
from nearlabel.utils.partial_labels import PartialLabels
from nearlabel.utils.types import MatrixLike
from nearlabel.utils.validation import as_dense


def labelset_facts(y: MatrixLike, names: Sequence[str], *, most_paired: int = 40) -> dict[str, Any]:
    """Return the facts of label sets in a report.

    Parameters
    ----------
    y : indicator matrix of shape (n_samples, n_labels)
        Dense or sparse; NaN in unknown cells.
    names : sequence of str of length n_labels
        Names of the labels.
    most_paired : int, default=40
        Maximum number of labels of which all pairs are counted.

    Returns
    -------
    dict
        ``figures``, those of `nearlabel.labels.describe`, undefined ones None; ``counts``, rows of each label; and
        ``co_occurrence``: ``names`` of the most frequent labels that occur, most frequent first, ties by column, and
        ``counts``, the number of samples of each pair of them.

    Raises
    ------
    ValueError
        If y is not an indicator matrix or has no rows.

    Examples
    --------
    >>> from nearlabel.report._label_facts import labelset_facts
    >>> facts = labelset_facts([[1, 0, 1], [1, 0, 0]], ["red", "green", "blue"])
    >>> facts["counts"], facts["co_occurrence"]
    ([2, 0, 1], {'names': ['red', 'blue'], 'counts': [[2, 1], [1, 1]]})
    """
    matrix = PartialLabels.of(y).with_nan()
    most = labels.most_frequent(matrix, most_paired)
    pairs = as_dense(labels.co_occurrence(matrix[:, most])).tolist() if len(most) else []
    return {
        "figures": {name: finite(value) for name, value in labels.describe(matrix).items()},
        "counts": labels.frequencies(matrix).tolist(),
        "co_occurrence": {"names": [str(names[label]) for label in most], "counts": pairs},
    }


def finite(value: float | None) -> float | None:
    """Return a finite number, or None, since JSON has no other numbers."""
    return value if value is not None and np.isfinite(value) else None
