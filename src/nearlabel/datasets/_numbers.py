"""Many numbers out of text at once."""

from __future__ import annotations

import numpy as np

from nearlabel.utils.types import FloatArray

# A number as a pattern of bytes; possessive, since nothing after a number changes its digits.
NUMBER_PATTERN = rb"[-+]?+(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?+\d++)?+"


def parse_numbers(text: bytes, separator: str) -> FloatArray:
    """Return the numbers of a text; a pattern has shown that it contains nothing else."""
    # numpy makes one number out of blanks alone.
    return np.fromstring(text, sep=separator) if text.strip() else np.empty(0)
