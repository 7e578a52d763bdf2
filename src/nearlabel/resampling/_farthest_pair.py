"""Sets of rows divided by their farthest pair: each row joins the nearer of the two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from nearlabel.neighbors.squared_distances import SquaredDistances
from nearlabel.utils.types import BoolArray, FloatArray, IntArray, Matrix

_MOST_KEPT = 2**25  # distances of waiting parts, together: a quarter of a gigabyte


@dataclass
class Part:
    """A set of rows, ascending; with the squared distances of all their pairs, if they are available."""

    rows: IntArray
    distances: FloatArray | None = None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.rows)

    def taking(self, chosen: BoolArray) -> Part:
        """Return some of the rows."""
        kept = None if self.distances is None else self.distances[chosen][:, chosen]
        return Part(self.rows[chosen], kept)


class Pair(NamedTuple):
    """Two rows by their places in a part, the lower first, and their squared distance."""

    distance: float
    first: int
    second: int


class FarthestPairs:
    """Find the farthest pair of a part, and divide the part by it.

    Among equally far pairs the one with the lowest first row is used, then that with the lowest second. In a part of
    more than `exact_up_to` rows the pair is that at which a walk ends: from the first row to the row farthest from it,
    from there to the farthest, while the distance grows. Its distance is at least half of the largest, as every
    distance is at most the sum of those of its two rows to a third.
    """

    def __init__(self, X: Matrix, exact_up_to: int) -> None:
        self.distances = SquaredDistances(X)
        self.exact_up_to = exact_up_to

    def pair(self, part: Part) -> Pair:
        """Return the farthest pair; the distances are stored in a part that is small enough."""
        if len(part) > self.exact_up_to:
            return self._walk(part.rows)
        if part.distances is None:
            part.distances = self.distances.among(part.rows)
        first, second = divmod(int(part.distances.argmax()), len(part))
        return Pair(float(part.distances[first, second]), first, second)

    def halves(self, part: Part, pair: Pair) -> tuple[Part, Part]:
        """Return the rows at least as near to the pair's first row as to its second, and the others."""
        if part.distances is not None:
            to_first, to_second = part.distances[pair.first], part.distances[pair.second]
        else:
            to_first, to_second = (
                self.distances.from_row(part.rows[one], part.rows) for one in (pair.first, pair.second)
            )
        is_first = to_first <= to_second
        return part.taking(is_first), part.taking(~is_first)

    def _walk(self, rows: IntArray) -> Pair:
        here, there, distance = 0, 0, -1.0
        while True:
            distances = self.distances.from_row(rows[there], rows)
            farthest = int(distances.argmax())
            if distances[farthest] <= distance:
                return Pair(distance, min(here, there), max(here, there))
            here, there, distance = there, farthest, float(distances[farthest])


def divide_until(pairs: FarthestPairs, n_rows: int, is_done: Callable[[IntArray], bool]) -> list[IntArray]:
    """Return parts of all rows, each divided until it is done or all its rows are equal."""
    waiting, done = [Part(np.arange(n_rows))], []
    while waiting:
        part = waiting.pop()
        pair = None if is_done(part.rows) else pairs.pair(part)
        if pair is None or pair.distance == 0:
            done.append(part.rows)
        else:
            waiting += pairs.halves(part, pair)
    return done


def divide_into(
    pairs: FarthestPairs, n_rows: int, n_parts: int, urgency: Callable[[Part, Pair], tuple[float, ...]]
) -> list[IntArray]:
    """Return `n_parts` parts of all rows, made by dividing the most urgent part, one after the other.

    Among equally urgent parts the one with the lowest row is next. Where rows are equal there may be fewer parts.
    """
    waiting: list[tuple[tuple[float, ...], int, Part, Pair]] = []
    undivided: list[IntArray] = []
    n_kept = 0

    def wait(part: Part) -> int:
        """Add a part to the queue that it belongs to; return how many distances it stores."""
        pair = pairs.pair(part)
        if pair.distance == 0:
            undivided.append(part.rows)
            return 0
        key = tuple(-value for value in urgency(part, pair))
        if n_kept + len(part) ** 2 > _MOST_KEPT:
            part.distances = None
        heappush(waiting, (key, int(part.rows[0]), part, pair))
        return _n_kept(part)

    n_kept += wait(Part(np.arange(n_rows)))
    while waiting and len(waiting) + len(undivided) < n_parts:
        _, _, part, pair = heappop(waiting)
        n_kept -= _n_kept(part)
        for half in pairs.halves(part, pair):
            n_kept += wait(half)
    return undivided + [part.rows for _, _, part, _ in waiting]


def _n_kept(part: Part) -> int:
    return 0 if part.distances is None else part.distances.size
