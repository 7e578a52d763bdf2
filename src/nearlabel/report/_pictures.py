"""Samples that are small images, with features named by row and column, such as ``pixel_0_3``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from nearlabel.utils.types import IntArray, Matrix
from nearlabel.utils.validation import as_dense

_NAME = re.compile(r"(.*?)_?(\d+)_(\d+)")
_MOST_PIXELS = 1024  # so that a few hundred samples and their neighbours fit a page
_DIGITS = "0123456789abcdef"


@dataclass(frozen=True, eq=False)
class Pictures:
    """Drawing of samples as images.

    Parameters
    ----------
    height, width : int
        Size of an image.
    columns : ndarray of shape (height * width,)
        Columns of X, row by row of the image.
    low, high : float
        Smallest and largest value.
    """

    height: int
    width: int
    columns: IntArray
    low: float
    high: float

    @classmethod
    def of(cls, X: Matrix, names: Sequence[str]) -> Self | None:
        """Return the drawing for samples X (n_samples, n_features); None if the names are not those of pixels."""
        found = [_NAME.fullmatch(name) for name in names]
        places = [(one[1], int(one[2]), int(one[3])) for one in found if one]
        order = sorted(range(len(places)), key=places.__getitem__)
        grid = sorted({line for _, line, _ in places}), sorted({column for _, _, column in places})
        height, width = len(grid[0]), len(grid[1])
        whole = len(places) == len(names) == height * width == len(set(places)) <= _MOST_PIXELS
        if not whole or min(height, width) < 2 or len({prefix for prefix, _, _ in places}) != 1:
            return None
        return cls(height, width, np.array(order, dtype=np.intp), float(X.min()), float(X.max()))

    def draw(self, X: Matrix) -> list[str]:
        """Return each sample as one hexadecimal digit per pixel, 0 for the smallest value and f for the largest."""
        span = self.high - self.low or 1.0
        levels = np.clip(np.rint((as_dense(X)[:, self.columns] - self.low) / span * 15), 0, 15).astype(np.intp)
        return ["".join(_DIGITS[level] for level in row) for row in levels.tolist()]
