"""Devices for tests: numpy in the place of an accelerator, and ones that err as much as they may."""

import numpy as np

from nearlabel.neighbors import _device_panels


class NumpyDevice:
    """The arrays of numpy."""

    def __init__(self, name="numpy", panel_rows=256, tile_queries=37, room=2**40):
        self.name, self.panel_rows, self.tile_queries, self._room = name, panel_rows, tile_queries, room
        self.put_bytes = []

    def room(self):
        return self._room

    def factor(self, values):
        return OutsideArray(values)

    def put(self, array):
        if not isinstance(array, OutsideArray):
            return array
        self.put_bytes.append(array.nbytes)
        return array.values

    def get(self, array):
        return np.asarray(array)

    def product(self, left, right):
        return left @ right.T

    def greatest(self, values, axis):
        return values.max(axis=axis)

    def kth_greatest(self, values, k):
        return np.partition(values, -k, axis=0)[-k]

    def nonzero(self, mask):
        return np.nonzero(mask)


class OutsideArray:
    """A factor that is not on the device yet."""

    def __init__(self, values):
        rounded = _device_panels.eight_bits(values)
        assert np.array_equal(rounded, values) or _device_panels.parts is keep_points, "a factor has eight bits"
        self.values, self.nbytes = values, values.nbytes


class TruncatingDevice(NumpyDevice):
    """Adds some products to the sum so far at once, aligned to the largest and cut off there, as matrix units do."""

    block = 4

    def product(self, left, right):
        left, right = left.astype(np.float64), right.astype(np.float64)
        sums = np.zeros((len(left), len(right)))
        for start in range(0, left.shape[1], self.block):
            some = slice(start, start + self.block)
            terms = np.concatenate([sums[..., np.newaxis], left[:, np.newaxis, some] * right[:, some]], axis=2)
            last_bit = np.ldexp(1.0, np.frexp(np.abs(terms).max(axis=2))[1] - 24)
            sums = np.trunc(terms / last_bit[..., np.newaxis]).sum(axis=2) * last_bit
            last_bit = np.ldexp(1.0, np.frexp(sums)[1] - 24)
            sums = np.trunc(sums / last_bit) * last_bit
        return sums.astype(np.float32)


class HostileDevice(NumpyDevice):
    """Puts scores off by `share` of what rounding to four bits may cost, up or down by chance.

    `keep_points` lets it have the points instead of the rounded ones, so that the errors are its own.
    """

    def __init__(self, n_features, share=0.99, **options):
        super().__init__(**options)
        self.share, self.n_features = share, n_features

    def product(self, left, right):
        left, right = left.astype(np.float64), right.astype(np.float64)
        one_piece = left.shape[1] <= -(-(self.n_features + 5) // 16) * 16
        start = self.n_features * (1 if one_piece else 3) + 3
        slack = left[:, start : start + 2] @ right[:, start : start + 2].T
        signs = np.random.default_rng(0).choice([-1, 1], slack.shape)
        return (left @ right.T + self.share * signs * slack).astype(np.float32)


def keep_points(points, n_pieces):
    """Take the place of `parts`: points in float32, and the norms of what rounding to four bits a piece drops."""
    fractions, exponents = np.frexp(points)
    steps = 16**n_pieces
    rests = points - np.ldexp(np.rint(fractions * steps) / steps, exponents)
    squares, left = (np.einsum("ij,ij->i", of, of) for of in (points, rests))
    pieces = [points.astype(np.float32), *[np.zeros(points.shape, dtype=np.float32)] * (n_pieces - 1)]
    return pieces, squares, np.sqrt(squares) * (1 + 2**-30), np.sqrt(left) * (1 + 2**-30)
