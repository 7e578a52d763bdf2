"""A multi-label data set made from scikit-learn's handwritten digits; it needs no file and no network."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits

from nearlabel.datasets._dataset import Dataset, check_as_frame
from nearlabel.utils.types import FloatArray

N_SAMPLES = 2000
SCAN = 8  # pixels a side of one digit
JITTER = 1  # largest number of pixels by which a scan is moved down and right
CANVAS = SCAN + JITTER  # pixels a side; larger would only add pixels that are always 0
SEED = 2007

_SIZE_SHARES = (0.3, 0.45, 0.25)  # of label sets of one, two and three digits


def load_multidigits(*, as_frame: bool = False) -> Dataset:
    """Make the embedded data set: pictures with one to three overlapping digits.

    Rule. A label set has one, two or three digits with probability 0.30, 0.45, 0.25. Its first digit d has probability
    proportional to 10 - d. Each further digit e is drawn from the digits not in the set yet, with a weight that is the
    product over the digits d in the set of: 0 if d + e = 10, 12 if d and e are a couple (0 and 1, 2 and 3, ..., 8 and
    9), else 1. So couples are frequent and 1 with 9, 2 with 8, 3 with 7, 4 with 6 never occur. For each digit one of
    its scans of 8x8 pixels is drawn (`sklearn.datasets.load_digits`, values 0 to 16) and placed on a canvas of 9x9
    pixels, 0 or 1 pixel down and 0 or 1 pixel right; where scans overlap the larger value is used. The random numbers
    are those of ``numpy.random.RandomState(2007)``, whose stream is frozen, so the data never change.

    Parameters
    ----------
    as_frame : bool, default=False
        Whether X and Y are pandas data frames with the names of features and labels, which classifiers fitted to them
        then use, as with `Dataset.with_frames`.

    Returns
    -------
    Dataset
        X (2000, 81), float64 from 0 to 16, the canvas row by row; Y (2000, 10), the digits present.

    Raises
    ------
    ImportError
        If `as_frame` and pandas (extra ``frames``) is not installed.

    Examples
    --------
    >>> from nearlabel.datasets import load_multidigits
    >>> digits = load_multidigits()
    >>> digits
    Dataset 'multidigits': 2000 rows, 81 features, 10 labels (dense)
    """
    check_as_frame(as_frame)
    random = np.random.RandomState(SEED)
    scans, digits = load_digits(return_X_y=True)
    pictures = scans.reshape(-1, SCAN, SCAN)
    scans_of = [np.flatnonzero(digits == digit) for digit in range(10)]
    affinity = _affinity()
    X = np.zeros((N_SAMPLES, CANVAS, CANVAS))
    Y = np.zeros((N_SAMPLES, 10), dtype=np.int64)
    for row in range(N_SAMPLES):
        labelset = _draw_labelset(random, affinity)
        Y[row, labelset] = 1
        for digit in labelset:
            scan = scans_of[digit][_draw(random, np.ones(len(scans_of[digit])))]
            _overlay(X[row], pictures[scan], random)
    pixels = tuple(f"pixel_{line}_{column}" for line in range(CANVAS) for column in range(CANVAS))
    names = tuple(map(str, range(10)))
    data = Dataset(X.reshape(N_SAMPLES, -1), Y, pixels, names, "multidigits", source="sklearn.datasets.load_digits")
    return data.with_frames() if as_frame else data


def _affinity() -> FloatArray:
    """Return the weights (10, 10) with which one digit draws another."""
    first, second = np.indices((10, 10))
    weights = np.where(first // 2 == second // 2, 12.0, 1.0)
    weights[(first + second == 10) | (first == second)] = 0
    return weights


def _draw_labelset(random: np.random.RandomState, affinity: FloatArray) -> list[int]:
    size = 1 + _draw(random, np.array(_SIZE_SHARES))
    labelset = [_draw(random, np.arange(10.0, 0.0, -1.0))]
    while len(labelset) < size:
        labelset.append(_draw(random, affinity[labelset].prod(axis=0)))
    return labelset


def _draw(random: np.random.RandomState, weights: FloatArray) -> int:
    """Return an index with probability proportional to its weight, from one uniform number."""
    cumulated = np.cumsum(weights)
    return int(np.searchsorted(cumulated, random.random_sample() * cumulated[-1], side="right"))


def _overlay(canvas: FloatArray, scan: FloatArray, random: np.random.RandomState) -> None:
    """Place a scan on the canvas in place, off its corner by the jitter."""
    top, left = np.floor(random.random_sample(2) * (JITTER + 1)).astype(np.intp)
    part = canvas[top : top + SCAN, left : left + SCAN]
    np.maximum(part, scan, out=part)
