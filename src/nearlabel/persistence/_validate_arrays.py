"""Validate parts of a model that compiled code uses without checks.

scipy does not check the indices of a sparse matrix, and numpy does not check the position of a random generator: forged
values would read memory outside the array.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

# For each bit generator: the keys of the array position in its state, and the largest valid position.
_POSITIONS = {"MT19937": ("state", "pos", 624), "Philox": (None, "buffer_pos", 4)}


def validate_arrays(part: Any) -> Any:
    """Return a part unchanged; raise ValueError for a sparse matrix or random generator with invalid positions."""
    if sparse.issparse(part) and hasattr(part, "check_format"):
        part.check_format(full_check=True)  # by default scipy checks lengths only
    elif isinstance(part, np.random.RandomState):
        _validate_position(part.get_state(legacy=False))
    elif isinstance(part, np.random.Generator):
        _validate_position(part.bit_generator.state)
    return part


def _validate_position(state: Any) -> None:
    within, field, end = _POSITIONS.get(state["bit_generator"], (None, "", 0))
    position = (state if within is None else state[within]).get(field, 0)
    if not 0 <= position <= end:
        raise ValueError(f"a random generator has position {position} of {end}")
