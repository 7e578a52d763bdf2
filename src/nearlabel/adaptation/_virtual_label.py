"""A virtual label against which a single label is ranked."""

from __future__ import annotations

import numpy as np

from nearlabel.utils.types import FloatArray, IntArray


def has_pairs(labels: IntArray) -> bool:
    """Return whether some row carries one label and lacks another."""
    return bool((labels != labels[:, :1]).any())


def with_virtual_label(labels: IntArray) -> IntArray:
    """Append the virtual label, carried by the rows without labels."""
    return np.column_stack([labels, 1 - labels[:, 0]])


def virtual_threshold(n_labels: int) -> FloatArray:
    """Return the size predictor whose threshold is the score of the virtual label, the last one."""
    return np.asarray(np.eye(n_labels + 1)[n_labels - 1])
