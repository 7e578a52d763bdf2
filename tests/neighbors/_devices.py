"""Devices for tests: numpy in the place of an accelerator, and ones that err as much as they may."""

import numpy as np

from nearlabel.neighbors.optional import _device


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

    def ready(self, factor):
        return factor

    def send(self, factor):
        return self.put(factor)

    def get(self, array):
        return np.asarray(array)

    def product(self, left, right):
        return left @ right.T

    def greatest(self, values, axis):
        return values.max(axis=axis)

    def merged(self, kept, values):
        return -np.sort(-np.hstack([kept, values.T]), axis=1)[:, : kept.shape[1]]

    def joined(self, arrays, axis):
        return np.concatenate(list(arrays), axis=axis)

    def nonzero(self, mask):
        return np.nonzero(mask)


class CountingDevice(NumpyDevice):
    """Counts what makes the processor wait for the device, and the pairs of rows that are multiplied."""

    def __init__(self, **options):
        super().__init__(**options)
        self.n_waits = self.n_products = self.n_pairs = 0

    def get(self, array):
        self.n_waits += 1
        return super().get(array)

    def nonzero(self, mask):
        self.n_waits += 1  # how many there are
        return super().nonzero(mask)

    def product(self, left, right):
        self.n_products += 1
        self.n_pairs += len(left) * len(right)
        return super().product(left, right)


class OutsideArray:
    """A factor that is not on the device yet."""

    def __init__(self, values):
        rounded = _device.eight_bits(values)
        assert np.array_equal(rounded, values) or _device.parts is keep_points, "a factor has eight bits"
        self.values, self.nbytes = values, values.nbytes

    def __getitem__(self, which):
        return OutsideArray(self.values[which])


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
    """Puts scores off by `share` of all that rounding and sums may cost, up or down by chance.

    It claims to keep four bits of a coordinate, or eight of two pieces, which it knows by their width: rows have five
    features or more. `keep_points` gives it the points, so that all errors are its own: |q| |xr| + |qr| (|x| + |xr|),
    and 2^-22 of all absolute values for each term.
    """

    def __init__(self, n_features, share=0.99, **options):
        super().__init__(**options)
        self.share, self.n_features = share, n_features

    def product(self, left, right):
        left, right = left.astype(np.float64), right.astype(np.float64)
        n_pieces = 1 if left.shape[1] <= -(-(self.n_features + 8) // 16) * 16 else 2
        (x, xr), (q, qr) = (self._lengths(of[:, : self.n_features], n_pieces) for of in (left, right))
        of_rests = np.outer(xr, q) + np.outer(x + xr, qr)
        of_sums = left.shape[1] * 2.0**-22 * (np.abs(left) @ np.abs(right).T)
        signs = np.random.default_rng(0).choice([-1, 1], of_sums.shape)
        return (left @ right.T + self.share * signs * (of_rests + of_sums)).astype(np.float32)

    @staticmethod
    def _lengths(points, n_pieces):
        return np.linalg.norm(points, axis=1), np.linalg.norm(rests_of(points, n_pieces), axis=1)


def rests_of(points, n_pieces):
    """What rounding to four bits a piece drops."""
    fractions, exponents = np.frexp(points)
    steps = 16**n_pieces
    return points - np.ldexp(np.rint(fractions * steps) / steps, exponents)


def keep_points(points, n_pieces):
    """Take the place of `parts`: points in float32, and the norms of what a hostile device claims to drop."""
    rests = rests_of(points, n_pieces)
    squares, left = (np.einsum("ij,ij->i", of, of) for of in (points, rests))
    pieces = [points.astype(np.float32), *[np.zeros(points.shape, dtype=np.float32)] * (n_pieces - 1)]
    return pieces, squares, np.sqrt(squares) * (1 + 2**-30), np.sqrt(left) * (1 + 2**-30)
