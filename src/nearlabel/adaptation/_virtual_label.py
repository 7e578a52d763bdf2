"""A virtual label, so that a lone label has one to be ranked against."""

from __future__ import annotations

import numpy as np

from nearlabel.utils.types import FloatArray, IntArray


def has_pairs(labels: IntArray) -> bool:
    """Tell whether some row carries one label and lacks another."""
    return bool((labels != labels[:, :1]).any())


def with_virtual_label(labels: IntArray) -> IntArray:
    """Add the label of the rows that carry no other, as the last."""
    return np.column_stack([labels, 1 - labels[:, 0]])


def virtual_threshold(n_labels: int) -> FloatArray:
    """Return the size predictor whose threshold is the score of the last label."""
    return np.asarray(np.eye(n_labels + 1)[n_labels - 1])
