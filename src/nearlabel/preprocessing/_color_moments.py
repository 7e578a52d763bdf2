"""Colour moments of images: mean and variance of each band of each block, in CIE Luv (Zhang and Zhou 2007)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags

from nearlabel.utils.types import FloatArray, IntArray
from nearlabel.utils.validation import check_integer

_BANDS = ("L", "u", "v")
_MOMENTS = ("mean", "variance")

# The sRGB primaries as CIE XYZ, and the white point D65 of the 2-degree observer: the constants of scikit-image.
_XYZ_OF_RGB = np.array([[0.412453, 0.357580, 0.180423], [0.212671, 0.715160, 0.072169], [0.019334, 0.119193, 0.950227]])
_WHITE = np.array([0.95047, 1.0, 1.08883])


class ColorMoments(TransformerMixin, BaseEstimator):
    """Describe each image by mean and variance of the colours in each block of a grid.

    An image is converted to CIE Luv, in which distances approximate perceived differences of colours, and divided into
    a grid of blocks. The features are the mean and the variance of L, u and v in each block: the means are a small copy
    of the image, the variances describe texture. A grid of 7 x 7 has 7 · 7 · 3 · 2 = 294 features, those of the image
    data in Zhang and Zhou (2007).

    Nothing is learnt from the training images: `transform` needs no fit.

    Parameters
    ----------
    grid : int or pair of int, default=7
        Number of rows and columns of blocks; a single number is both.

    See Also
    --------
    nearlabel.preprocessing.FeatureScaler : Scales features to a common range.

    Notes
    -----
    L is from 0 to 100, u from -83 to 175, v from -134 to 107, and variances reach thousands. Scale the features before
    a search: ``make_pipeline(ColorMoments(), MinMaxScaler(), MLkNN())``.

    Row i of a grid with r rows begins at pixel row ``floor(i · height / r)``, columns similarly. So each pixel is in
    one block, and the sizes of blocks differ by at most one row and one column. The variance is that of the pixels,
    divided by their number.

    The features are ordered by band, then block (row by row from the top left), then moment. The public data set
    `image` of the paper has this order. `scene` has all means of a band before its variances. (Both were scaled to
    [0, 1] column by column, so the order can be recognized, but not the unit.)

    References
    ----------
    M. R. Boutell, J. Luo, X. Shen, C. M. Brown: Learning multi-label scene classification. Pattern Recognition 37(9),
    2004.

    M.-L. Zhang, Z.-H. Zhou: ML-KNN: A lazy learning approach to multi-label learning. Pattern Recognition 40(7), 2007.

    Examples
    --------
    The left half of this image is white, the right half black:

    >>> import numpy as np
    >>> from nearlabel.preprocessing import ColorMoments
    >>> image = np.zeros((4, 6, 3), dtype=np.uint8)
    >>> image[:, :3] = 255
    >>> moments = ColorMoments(grid=(1, 2))
    >>> features = moments.transform([image])
    >>> dict(zip(moments.get_feature_names_out()[:4], features[0, :4].round().tolist()))
    {'L_0_0_mean': 100.0, 'L_0_0_variance': 0.0, 'L_0_1_mean': 0.0, 'L_0_1_variance': 0.0}
    """

    def __init__(self, grid: int | tuple[int, int] = 7) -> None:
        self.grid = grid

    def fit(self, X: object = None, y: object = None) -> Self:
        """Check the parameter; nothing is learnt.

        Parameters
        ----------
        X : None
            Not used.
        y : None
            Not used.

        Returns
        -------
        self
            The transformer.

        Raises
        ------
        TypeError
            If `grid` is neither an integer nor made of integers.
        ValueError
            If `grid` is smaller than 1, or not a pair.
        """
        self._shape()
        return self

    def transform(self, X: Iterable[Any]) -> FloatArray:
        """Return the features of images.

        Parameters
        ----------
        X : array-like of shape (n_images, height, width, 3), or iterable of images of shape (height, width, 3)
            RGB images: integers of 8 bits (0 to 255), or floating-point numbers from 0 to 1. Images of an iterable may
            differ in size; they are read one after the other.

        Returns
        -------
        features : ndarray of shape (n_images, n_features)
            Means and variances, in the order of `get_feature_names_out`.

        Raises
        ------
        TypeError
            If X is not a sequence of images, or `grid` is not an integer or a pair of integers.
        ValueError
            If there is no image, one is not of this form or has fewer pixels than the grid has rows or columns, or
            `grid` is smaller than 1.
        """
        shape = self._shape()
        features = [_moments(rgb, shape) for rgb in _images(X, shape)]
        if not features:
            # "0 sample(s)" is what scikit-learn's messages have.
            raise ValueError("X must have at least one image, got 0 sample(s).")
        return np.stack(features)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the features.

        Parameters
        ----------
        input_features : None
            Not used.

        Returns
        -------
        ndarray of str
            Band, row and column of the block, counted from 0 at the top left, and moment: ``L_0_0_mean``,
            ``L_0_0_variance``, ``L_0_1_mean``, ...
        """
        rows, columns = self._shape()
        names = [
            f"{band}_{row}_{column}_{moment}"
            for band in _BANDS
            for row in range(rows)
            for column in range(columns)
            for moment in _MOMENTS
        ]
        return np.array(names, dtype=object)

    def _shape(self) -> tuple[int, int]:
        """Return the numbers of rows and columns of blocks."""
        pair = self.grid if isinstance(self.grid, tuple | list) else (self.grid, self.grid)
        if len(pair) != 2:
            raise ValueError(f"grid must be an integer or a pair of integers, got {self.grid!r}.")
        return check_integer("grid", pair[0], low=1), check_integer("grid", pair[1], low=1)

    def __sklearn_tags__(self) -> Tags:
        """Declare that X is images, and that nothing is learnt from them."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags


def _images(X: Iterable[Any], grid: tuple[int, int]) -> Iterator[FloatArray]:
    """Yield each image as numbers from 0 to 1, of shape (height, width, 3)."""
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        raise TypeError(f"X must be an array or a sequence of images, got {type(X).__name__}.")
    if isinstance(X, np.ndarray) and X.ndim == 3 and X.shape[2] == 3:
        raise ValueError(f"X must be a sequence of images, got one image of shape {X.shape}. Hint: [X].")
    for number, image in enumerate(X):
        yield _rgb(np.asarray(image), f"image {number} of X", grid)


def _rgb(image: Any, name: str, grid: tuple[int, int]) -> FloatArray:
    """Return an RGB image as numbers from 0 to 1; raise ValueError unless it is one that has enough pixels."""
    if image.ndim != 3 or image.shape[2] != 3:
        raise ValueError(
            f"{name} must be RGB of shape (height, width, 3), got shape {image.shape}.{_shape_hint(image.shape)}"
        )
    if image.shape[0] < grid[0] or image.shape[1] < grid[1]:
        raise ValueError(f"{name} must have a pixel for each block of the grid {grid}, got shape {image.shape}.")
    if image.dtype == np.uint8:
        return np.asarray(image / 255.0)
    if image.dtype.kind != "f":
        raise ValueError(
            f"{name} must be uint8 from 0 to 255 or floating-point numbers from 0 to 1, got {image.dtype}."
            " Hint: image.astype(np.uint8), if its values are 0 to 255."
        )
    if not (image.min() >= 0 and image.max() <= 1):  # NaN neither
        raise ValueError(
            f"{name} must be from 0 to 1 in floating-point numbers, got {float(image.min())} to {float(image.max())}."
            " Hint: divide by 255, or np.clip(image, 0, 1) after resizing."
        )
    return np.asarray(image, dtype=np.float64)


def _shape_hint(shape: tuple[int, ...]) -> str:
    """Return how an image of some other form becomes RGB."""
    if len(shape) == 3 and shape[2] == 4:
        return " Hint: image[..., :3] drops the transparency."
    if len(shape) == 2 or (len(shape) == 3 and shape[2] == 1):
        return " Hint: np.stack([image] * 3, axis=-1) makes a grey image of shape (height, width) RGB."
    return ""


def _luv(rgb: FloatArray) -> FloatArray:
    """Return colours (..., 3) from sRGB, from 0 to 1, to CIE 1976 L*, u*, v*."""
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    xyz = linear @ _XYZ_OF_RGB.T
    Y = xyz[..., 1]
    lightness = np.where(Y > (6 / 29) ** 3, 116 * np.cbrt(Y) - 16, (29 / 3) ** 3 * Y)
    chromaticity = _chromaticity(xyz) - _chromaticity(_WHITE)
    return np.concatenate([lightness[..., np.newaxis], 13 * lightness[..., np.newaxis] * chromaticity], axis=-1)


def _chromaticity(xyz: FloatArray) -> FloatArray:
    """Return u' and v'; 0 of black, whose L of 0 makes u and v 0."""
    total = xyz @ [1.0, 15.0, 3.0]
    return np.asarray(xyz[..., :2] * [4.0, 9.0] / np.where(total == 0, 1.0, total)[..., np.newaxis])


def _moments(rgb: FloatArray, grid: tuple[int, int]) -> FloatArray:
    """Return mean and variance of each band in each block of an image, by band, block and moment."""
    luv = _luv(rgb)
    ends = [np.arange(parts + 1) * size // parts for parts, size in zip(grid, luv.shape[:2], strict=True)]
    starts, sizes = [end[:-1] for end in ends], [np.diff(end) for end in ends]
    means = _block_means(luv, starts, sizes)
    deviations = luv - np.repeat(np.repeat(means, sizes[0], axis=0), sizes[1], axis=1)
    variances = _block_means(deviations**2, starts, sizes)
    return np.stack([means, variances], axis=-1).transpose(2, 0, 1, 3).ravel()


def _block_means(values: FloatArray, starts: list[IntArray], sizes: list[IntArray]) -> FloatArray:
    """Return the mean of each block, (n_rows, n_columns, n_bands)."""
    sums = np.add.reduceat(np.add.reduceat(values, starts[0], axis=0), starts[1], axis=1)
    return np.asarray(sums / np.multiply.outer(*sizes)[..., np.newaxis])
