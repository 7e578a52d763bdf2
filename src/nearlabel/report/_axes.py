"""The frame of a figure in SVG: two axes with ticks, sized to be read on a phone."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nearlabel.report._markup import Markup, element, join

WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 8, 36
CHARACTER = 6.7  # width of most letters, in a broad font

Point = tuple[float, float]


@dataclass(frozen=True)
class Axes:
    """What maps values to places.

    Parameters
    ----------
    x, y : tuple of float
        Lowest and highest value.
    height : int, default=250
        Of the whole figure.
    """

    x: tuple[float, float]
    y: tuple[float, float]
    height: int = HEIGHT

    def place(self, point: Point) -> Point:
        """Return where a point lies."""
        across = (point[0] - self.x[0]) / (self.x[1] - self.x[0])
        up = (point[1] - self.y[0]) / (self.y[1] - self.y[0])
        return LEFT + across * (WIDTH - LEFT - RIGHT), self.height - BOTTOM - up * (self.height - BOTTOM - TOP)

    def line(self, points: Iterable[Point], *, class_: str) -> Markup:
        """Return a line through points."""
        return element("polyline", points=self._places(points), class_=class_)

    def area(self, points: Iterable[Point], *, class_: str) -> Markup:
        """Return an area within points."""
        return element("path", d=f"M{self._places(points)}Z", class_=class_)

    def dot(self, point: Point, *, class_: str, radius: float = 3.0) -> Markup:
        """Return a dot."""
        x, y = self.place(point)
        return element("circle", cx=x, cy=y, r=radius, class_=class_)

    def text(self, point: Point, words: str, *, class_: str, offset: Point = (0.0, 0.0)) -> Markup:
        """Return words beside a point."""
        x, y = self.place(point)
        return element("text", words, x=x + offset[0], y=y + offset[1], class_=class_)

    def frame(self, x_ticks: Sequence[float], y_ticks: Sequence[float], x_title: str, y_title: str) -> Markup:
        """Return grid, ticks and titles."""
        across = [self._tick((x, self.y[0]), x, (0.0, 15.0), "tx") for x in x_ticks]
        up = [self._grid(y) + self._tick((self.x[0], y), y, (-6.0, 3.5), "ty") for y in y_ticks]
        axis = self.line([(self.x[0], self.y[0]), (self.x[1], self.y[0])], class_="axis")
        centre = (LEFT + WIDTH - RIGHT) / 2, (TOP + self.height - BOTTOM) / 2
        titles = [
            element("text", x_title, x=centre[0], y=float(self.height - 4), class_="tx"),
            element("text", y_title, x=0, y=0, class_="tx", transform=f"translate(10 {centre[1]:.0f}) rotate(-90)"),
        ]
        return join(*map(Markup, up), *across, axis, *titles)

    def _grid(self, y: float) -> Markup:
        return self.line([(self.x[0], y), (self.x[1], y)], class_="grid")

    def _tick(self, point: Point, value: float, offset: Point, class_: str) -> Markup:
        return self.text(point, f"{value:g}", class_=class_, offset=offset)

    def _places(self, points: Iterable[Point]) -> str:
        return " ".join(f"{x:.1f},{y:.1f}" for x, y in map(self.place, points))


def picture(title: str, description: str, *parts: Markup, width: int = WIDTH, height: int = HEIGHT) -> Markup:
    """Return an SVG picture that says what it shows."""
    head = element("title", title), element("desc", description)
    wide = "wide" if width != WIDTH else None  # scrolls in its box; all others shrink and grow with the page
    box = f"0 0 {width} {height}"
    return element("svg", *head, *parts, viewBox=box, role="img", width=width, height=height, class_=wide)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round numbers from low to high, at most so many.

    Examples
    --------
    >>> ticks(0.0, 1.0), ticks(0.21, 0.31, 5), ticks(1, 30)
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.22, 0.24, 0.26, 0.28, 0.3], [5.0, 10.0, 15.0, 20.0, 25.0, 30.0])
    """
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for step in (power * factor for factor in (1, 2, 2.5, 5, 10, 20)):
        first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
        if last - first < most:
            return [round(number * step, 12) for number in range(first, last + 1)]
    return [low, high]


def widened(values: Iterable[float]) -> tuple[float, float]:
    """Return the range of some values with a little room; of equal ones with more."""
    some = list(values)
    low, high = min(some), max(some)
    room = 0.04 * (high - low) or max(abs(high), 1.0) * 0.05
    return low - room, high + room
